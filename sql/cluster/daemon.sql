create function api.daemon_register(p_role text, p_name text, p_pid int, p_version text) returns void
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	if pg_has_role(session_user, 'rota_nodes', 'usage') and not pg_has_role(session_user, 'rota_owner', 'usage')
		and (p_role <> 'procmgrd' or nullif(internal.session_login(), '') <> p_name
			and not exists (select from node n where n.name = p_name)) then
		raise exception 'role "%" is not that of % "%"', session_user, p_role, p_name using errcode = '28000';
	elsif p_role <> (case session_user
			when 'rota_runner' then 'runnerd'
			when 'rota_nodemgr' then 'nodemgrd'
			when 'rota_credd' then 'rota-credd'
			when 'rota_jobmgr_leader' then 'jobmgrd' end) then
		raise exception 'role "%" is not that of %', session_user, p_role using errcode = '28000';
	elsif p_role = 'procmgrd' then
		perform internal.node_need(array(select n.node_id from node n where n.name = p_name));
	end if;
	insert into daemon as d (role, name, pid, host, version, backend_pid)
	values (p_role, p_name, p_pid, host(inet_client_addr()), p_version, pg_backend_pid())
	on conflict (role, name) do update
	set pid = excluded.pid, host = excluded.host, version = excluded.version, backend_pid = excluded.backend_pid,
		seen_at = now(),
		started_at = case when d.pid = excluded.pid then d.started_at else now() end,
		certificate_ends_at = case when d.pid = excluded.pid then d.certificate_ends_at end;
end $$;
comment on function api.daemon_register(text, text, int, text) is
	'Register a daemon: program, name, process id, version. A daemon calls this at each connection. 28000: the role of the '
	'session may not act as this daemon.';

create function api.daemon_certificate(p_name text, p_ends_at timestamptz) returns boolean
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	update daemon d
	set certificate_ends_at = p_ends_at
	where d.role = 'jobmgrd' and d.name = p_name and d.certificate_ends_at is distinct from p_ends_at;
	return exists (select from daemon d where d.role = 'jobmgrd' and d.name = p_name);
end $$;
comment on function api.daemon_certificate(text, timestamptz) is
	'Store when the certificate of a jobmgrd expires. Returns whether that jobmgrd is registered. jobmgrd calls this '
	'periodically.';

create function internal.daemon_tidy() returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	-- A daemon registers only when it starts: as long as it is connected to the database, it counts as seen.
	update daemon d
	set seen_at = now()
	where d.seen_at < now() - interval '1 hour'
		and exists (select from pg_stat_activity b where b.pid = d.backend_pid and b.usename like 'rota\_%');
	delete from daemon d
	where not exists (select from pg_stat_activity b where b.pid = d.backend_pid and b.usename like 'rota\_%')
		and case d.role
			when 'procmgrd' then not exists (select from node n where d.name in (n.name, n.login))
			-- A restored database names those that have not connected to it (internal.lacks_keepers), however old its copy is.
			when 'rota-credd' then greatest(d.seen_at, (select i.began_at from internal.incarnation_now() i))
				< now() - interval '1 day'
			else d.seen_at < now() - interval '1 day' end;
end $$;
comment on function internal.daemon_tidy() is
	'Delete the rows of daemons that have not been connected for a day, and of process managers of deleted nodes. Process '
	'managers of nodes that exist keep their rows, with their addresses (internal.address_nodes).';
