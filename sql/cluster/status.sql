create function api.instance_status(p_uid int, p_user text, p_request jsonb) returns jsonb
language sql stable security definer set search_path = rota, pg_temp as $$
	with process as (
		select d.*, b.pid is not null as connected,
			-- Each jobmgrd registers on the connection on which it leads.
			d.role = 'jobmgrd' and internal.leader_lives()
				and exists (select from leader l
					where l.backend_pid = d.backend_pid and l.backend_start <= d.seen_at) as leader
		from daemon d
		left join pg_stat_activity b on b.pid = d.backend_pid and b.usename like 'rota\_%'
	)
	select jsonb_build_object(
		'processes',
			(select coalesce(jsonb_agg(jsonb_build_object('role', p.role, 'name', p.name, 'pid', p.pid, 'node',
			case when p.role = 'procmgrd' then p.name end,
			'host', p.host, 'version', p.version,
			'started_at', p.started_at, 'seen_at', case when p.connected then now() else p.seen_at end, 'connected',
			p.connected, 'leader', p.leader)
			|| case when p.certificate_ends_at is null then '{}' else jsonb_build_object(
				'certificate_ends_at', p.certificate_ends_at, 'certificate_days_left',
				floor(extract(epoch from p.certificate_ends_at - now()) / 86400)::int) end
			order by p.role, p.name), '[]') from process p),
		'database',
			jsonb_build_object('version', current_setting('server_version'), 'size',
			pg_database_size(current_database()),
			'migration', (select m.name from schema_migration m order by m.version desc limit 1)),
		'jobs',
			(select jsonb_build_object('pending', count(*) filter (where j.started_at is null), 'running',
			count(*) filter (where j.started_at is not null))
			from job j where j.ended_at is null))
		|| case when internal.caller_role(p_uid, p_user) = 'user' then '{}' else jsonb_build_object('sessions_ended',
			(select coalesce(jsonb_agg(to_jsonb(s) order by s.last_at desc), '[]')
			from (select e.name, e.given ->> 'reason' as reason, max(e.at) as last_at
				from admin_event e
				where e.object = 'session' and e.at > now() - interval '1 day'
				group by e.name, e.given ->> 'reason') s)) end;
$$;
comment on function api.instance_status(int, text, jsonb) is
	'The processes of the instance, the database, the numbers of waiting and running jobs, and (to operators and '
	'administrators) the database sessions that were ended in the last day. A process that serves HTTPS has '
	'certificate_ends_at and certificate_days_left, negative after the certificate has expired. Answer {processes, database, '
	'jobs, sessions_ended}.';
