create function api.acct_steps(p_job bigint, p_steps boolean) returns setof jsonb
language sql stable set search_path = rota, pg_temp as $$
	with one as (
		select s.step_id, s.array_index, r.name, r.partition, s.state, s.exit_code, s.signal, s.cause, s.started_at, s.ended_at, s.attempt, r.ntasks,
			r.ntasks::bigint * r.cpus_per_task as cpus_asked, a.size is not null as is_array, l.cpus, l.nodes, e.*
		from step s
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		left join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
		left join lateral (
			select sum(x.cpus) as cpus, array_agg(n.name order by x.node_index) as nodes
			from allocation x join node n on n.node_id = x.node_id
			where x.job_id = s.job_id and x.step_id = s.step_id and x.attempt = s.attempt and x.attempt > 0
		) l on true
		left join lateral (
			select sum(coalesce(x.user_usec, 0) + coalesce(x.system_usec, 0)) as cpu_usec, max(x.max_rss_kb) as max_rss_kb, sum(x.read_bytes)::bigint as read_bytes,
				sum(x.write_bytes)::bigint as write_bytes
			from task_end x
			where x.job_id = s.job_id and x.step_id = s.step_id and x.attempt = s.attempt
		) e on true
		where s.job_id = p_job
	)
	select jsonb_build_object('step', o.name, 'step_id', o.step_id, 'label', p_job || '.' || o.name || coalesce('[' || o.array_index || ']', ''), 'partition', o.partition,
		'state', o.state, 'exit_code', o.exit_code, 'signal', o.signal, 'cause', o.cause, 'started_at', o.started_at, 'ended_at', o.ended_at,
		'elapsed_s', extract(epoch from coalesce(o.ended_at, now()) - o.started_at)::bigint, 'cpus', coalesce(o.cpus, o.cpus_asked),
		'cpu_s', round(o.cpu_usec / 1e6, 3), 'max_rss_kb', o.max_rss_kb, 'nodes', coalesce(array_to_string(o.nodes, ','), ''), 'attempts', o.attempt,
		'ntasks', o.ntasks, 'read_bytes', o.read_bytes, 'write_bytes', o.write_bytes)
	from one o
	where p_steps
	union all
	select jsonb_build_object('step', null, 'step_id', null, 'partition', string_agg(distinct o.partition, ','), 'cpus', max(coalesce(o.cpus, o.cpus_asked)),
		'cpu_s', round(sum(o.cpu_usec) / 1e6, 3), 'max_rss_kb', max(o.max_rss_kb),
		'nodes', coalesce((select string_agg(distinct x, ',') from one p cross join unnest(p.nodes) x), ''), 'attempts', sum(o.attempt),
		'ntasks', sum(o.ntasks) filter (where not o.is_array), 'read_bytes', sum(o.read_bytes), 'write_bytes', sum(o.write_bytes))
	from one o
	having not p_steps;
$$;
comment on function api.acct_steps(bigint, boolean) is 'What a job used: a row for each step and element, or (p_steps false) one for all. Internal.';

create function api.job_acct(p_uid int, p_user text, p_request jsonb) returns jsonb
language sql stable security definer set search_path = rota, pg_temp as $$
	with wish as (
		select api.request_time(p_request, 'since') as since, api.request_time(p_request, 'until') as until,
			api.request_states(p_request) as states, api.request_list(p_request, 'user') as users,
			api.request_list(p_request, 'qos') as qoses, api.request_list(p_request, 'name') as names, api.request_list(p_request, 'nodes') as nodes,
			api.request_list(p_request, 'account') as accounts, api.request_list(p_request, 'partition') as partitions
	), picked as (
		-- Jobs that were there at any time between since and until; those named, whenever they were.
		select j.* from wish w cross join job j
		where api.request_list(p_request, 'jobs') is null and j.ended_at >= coalesce(w.since, '-infinity') and j.submit_at < coalesce(w.until, 'infinity')
		union all
		select j.* from wish w cross join job j
		where api.request_list(p_request, 'jobs') is null and j.ended_at is null and j.submit_at < coalesce(w.until, 'infinity')
		union all
		select j.* from job j
		where j.job_id in (select t.job_id from api.job_target(p_uid, p_user, case when api.request_list(p_request, 'jobs') is not null then p_request end, false) t
			where api.request_list(p_request, 'jobs') is not null)
	), chosen as (
		select p.* from picked p cross join wish w
		where (p.uid = p_uid or (select api.sees_all(p_uid, p_user)))
			and (w.users is null or p.user_name = any (w.users)) and (w.accounts is null or p.account = any (w.accounts))
			and (w.qoses is null or p.qos = any (w.qoses)) and (w.names is null or p.name = any (w.names))
			and (w.nodes is null or exists (select from allocation l join node n on n.node_id = l.node_id where l.job_id = p.job_id and n.name = any (w.nodes)))
			and (w.partitions is null or exists (select from step_request r where r.job_id = p.job_id and r.partition = any (w.partitions)))
			and (w.states is null or coalesce(p.state, case when p.started_at is null then 'pending' else 'running' end) = any (w.states)
				or (api.request_bool(p_request, 'steps') and exists (select from step s where s.job_id = p.job_id and s.state = any (w.states))))
		order by p.job_id desc
		limit coalesce(api.request_int(p_request, 'limit'), 10000)
	), told as (
		select c.job_id, u.facts ->> 'step_id' as step_id, jsonb_build_object('job_id', c.job_id, 'label', c.job_id::text, 'name', c.name, 'user', c.user_name,
			'account', c.account, 'qos', c.qos, 'submit_at', c.submit_at,
			'state', coalesce(c.state, case when c.started_at is null then 'pending' else 'running' end),
			'exit_code', c.exit_code, 'signal', c.signal, 'cause', c.cause, 'started_at', c.started_at, 'ended_at', c.ended_at,
			'elapsed_s', extract(epoch from coalesce(c.ended_at, now()) - c.started_at)::bigint) || u.facts as facts
		from chosen c
		cross join lateral api.acct_steps(c.job_id, api.request_bool(p_request, 'steps')) u (facts)
	)
	select jsonb_build_object('rows', coalesce(jsonb_agg(t.facts order by t.job_id, t.step_id::int), '[]'))
	from told t
	cross join wish w
	where w.states is null or t.facts ->> 'state' = any (w.states);
$$;
comment on function api.job_acct(int, text, jsonb) is
	'What ran, when, and what it used. Request {user, account, qos, name, nodes, states, partition, since, until, jobs, limit, steps}. Answer {rows: [...]}, one a job, or with steps one for each step.';
