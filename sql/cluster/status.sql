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
			order by p.role, p.name), '[]') from process p),
		'database',
			jsonb_build_object('version', current_setting('server_version'), 'size',
			pg_database_size(current_database()),
			'migration', (select m.name from schema_migration m order by m.version desc limit 1)),
		'jobs',
			(select jsonb_build_object('pending', count(*) filter (where j.started_at is null), 'running',
			count(*) filter (where j.started_at is not null))
			from job j where j.ended_at is null));
$$;
comment on function api.instance_status(int, text, jsonb) is
	'The processes of the instance, the database, and how many jobs wait and run. Answer {processes, database, jobs}.';
