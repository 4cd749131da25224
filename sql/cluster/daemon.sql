create function api.daemon_register(p_role text, p_name text, p_pid int, p_version text) returns void
language sql security definer set search_path = rota, pg_temp as $$
	insert into daemon as d (role, name, pid, host, version, backend_pid)
	values (p_role, p_name, p_pid, host(inet_client_addr()), p_version, pg_backend_pid())
	on conflict (role, name) do update
	set pid = excluded.pid, host = excluded.host, version = excluded.version, backend_pid = excluded.backend_pid, seen_at = now(),
		started_at = case when d.pid = excluded.pid then d.started_at else now() end;
$$;
comment on function api.daemon_register(text, text, int, text) is 'A daemon says that it is there: program, name, process id, version; at each connection anew.';
