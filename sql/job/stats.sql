-- Resource use of steps: samples taken while they ran, and the figures that nodes counted at their end.
create view internal.sample_means as
select x.*,
	case when x.cpu_usec >= x.cpu_usec_first
		then (x.cpu_usec - x.cpu_usec_first)::double precision / nullif(x.clock - x.first_clock, 0) end as cpus_mean,
	case when x.read_bytes >= x.read_bytes_first
		then (x.read_bytes - x.read_bytes_first) * 1e6::double precision / nullif(x.clock - x.first_clock, 0) end
		as read_rate_mean,
	case when x.write_bytes >= x.write_bytes_first
		then (x.write_bytes - x.write_bytes_first) * 1e6::double precision / nullif(x.clock - x.first_clock, 0) end
		as write_rate_mean
from rota.sample_total x;
comment on view internal.sample_means is
	'Sums of the samples of attempts and tasks on one node, with the mean rates of counters, one row each; null: unknown.';

create view internal.step_stats as
select t.job_id, t.step_id, t.attempt, t.node_ids, coalesce(m.samples, 0) as samples, coalesce(m.nodes, 0) as nodes_sampled,
	m.first_at, m.last_at,
	-- The CPU time that nodes counted at the end of the attempt; before that, the CPU time of the latest samples.
	trim_scale(coalesce(t.cpu_usec, m.cpu_usec) / 1e6) as cpu_s,
	m.cpus_last, m.cpus_mean, m.cpus_max, m.rss_kb_last, m.rss_kb_mean, m.rss_kb_max, m.swap_kb_last, m.swap_kb_mean,
	m.swap_kb_max,
	t.peak_mb, t.cgroup_peak_mb, t.max_rss_kb,
	coalesce(case when t.ended_at is not null then e.minor_faults end, m.minor_faults) as minor_faults,
	coalesce(case when t.ended_at is not null then e.major_faults end, m.major_faults) as major_faults,
	coalesce(case when t.ended_at is not null then t.rchar end, m.rchar) as rchar,
	coalesce(case when t.ended_at is not null then t.wchar end, m.wchar) as wchar,
	coalesce(case when t.ended_at is not null then t.read_bytes end, m.read_bytes) as read_bytes,
	coalesce(case when t.ended_at is not null then t.write_bytes end, m.write_bytes) as write_bytes,
	m.read_rate_last, m.read_rate_mean, m.read_rate_max, m.write_rate_last, m.write_rate_mean, m.write_rate_max,
	m.processes_last, m.processes_mean, m.processes_max, m.threads_last, m.threads_mean, m.threads_max, m.gauges
from internal.attempt_figures t
left join lateral (
	select sum(x.minor_faults)::bigint as minor_faults, sum(x.major_faults)::bigint as major_faults
	from rota.task_end x
	where x.job_id = t.job_id and x.step_id = t.step_id and x.attempt = t.attempt
) e on true
left join lateral (
	select max(x.samples) as samples, count(*) as nodes, min(x.first_at) as first_at, max(x.last_at) as last_at,
		case when count(x.cpu_usec) = count(*) then sum(x.cpu_usec) end as cpu_usec,
		case when count(x.cpu_rate) = count(*) then sum(x.cpu_rate) end as cpus_last,
		case when count(x.cpu_rate_max) = count(*) then sum(x.cpus_mean) end as cpus_mean,
		case when count(x.cpu_rate_max) = count(*) then sum(x.cpu_rate_max) end as cpus_max,
		case when count(x.rss_kb) = count(*) then sum(x.rss_kb)::bigint end as rss_kb_last,
		case when count(x.rss_kb_sum) = count(*) then sum(x.rss_kb_sum / x.samples)::bigint end as rss_kb_mean,
		case when count(x.rss_kb_max) = count(*) then sum(x.rss_kb_max)::bigint end as rss_kb_max,
		case when count(x.swap_kb) = count(*) then sum(x.swap_kb)::bigint end as swap_kb_last,
		case when count(x.swap_kb_sum) = count(*) then sum(x.swap_kb_sum / x.samples)::bigint end as swap_kb_mean,
		case when count(x.swap_kb_max) = count(*) then sum(x.swap_kb_max)::bigint end as swap_kb_max,
		case when count(x.minor_faults) = count(*) then sum(x.minor_faults)::bigint end as minor_faults,
		case when count(x.major_faults) = count(*) then sum(x.major_faults)::bigint end as major_faults,
		case when count(x.rchar) = count(*) then sum(x.rchar)::bigint end as rchar,
		case when count(x.wchar) = count(*) then sum(x.wchar)::bigint end as wchar,
		case when count(x.read_bytes) = count(*) then sum(x.read_bytes)::bigint end as read_bytes,
		case when count(x.write_bytes) = count(*) then sum(x.write_bytes)::bigint end as write_bytes,
		case when count(x.read_rate) = count(*) then sum(x.read_rate) end as read_rate_last,
		case when count(x.read_rate_max) = count(*) then sum(x.read_rate_mean) end as read_rate_mean,
		case when count(x.read_rate_max) = count(*) then sum(x.read_rate_max) end as read_rate_max,
		case when count(x.write_rate) = count(*) then sum(x.write_rate) end as write_rate_last,
		case when count(x.write_rate_max) = count(*) then sum(x.write_rate_mean) end as write_rate_mean,
		case when count(x.write_rate_max) = count(*) then sum(x.write_rate_max) end as write_rate_max,
		sum(x.processes) as processes_last, sum(x.processes_sum::double precision / x.samples) as processes_mean,
		sum(x.processes_max) as processes_max,
		sum(x.threads) as threads_last, sum(x.threads_sum::double precision / x.samples) as threads_mean,
		sum(x.threads_max) as threads_max,
		(select jsonb_object_agg(n.name || ':' || g.key, jsonb_build_object('last', g.value -> 0, 'max', g.value -> 1,
				'mean', round((g.value ->> 2)::numeric / (g.value ->> 3)::numeric, 3)))
			from rota.sample_total y join rota.node n on n.node_id = y.node_id
				cross join lateral jsonb_each(y.gauges) g
			where y.job_id = t.job_id and y.step_id = t.step_id and y.attempt = t.attempt and y.task = -1) as gauges
	from internal.sample_means x
	where x.job_id = t.job_id and x.step_id = t.step_id and x.attempt = t.attempt and x.task = -1
) m on true
where t.attempt > 0;
comment on view internal.step_stats is
	'Resource use of attempts, over all nodes, one row each; null: unknown. acct.step_stats has its columns.';

create view internal.task_stats as
select x.job_id, x.step_id, x.attempt, case when x.task >= 0 then x.task else x.only_task end as task, x.node_id, x.samples,
	x.first_at, x.last_at,
	trim_scale(x.cpu_usec / 1e6) as cpu_s, x.cpu_rate as cpus_last,
	x.cpus_mean, x.cpu_rate_max as cpus_max, x.rss_kb as rss_kb_last,
	(x.rss_kb_sum / x.samples)::bigint as rss_kb_mean, x.rss_kb_max,
	x.swap_kb as swap_kb_last,
	(x.swap_kb_sum / x.samples)::bigint as swap_kb_mean, x.swap_kb_max, x.minor_faults, x.major_faults, x.rchar, x.wchar,
	x.read_bytes, x.write_bytes,
	x.processes as processes_last, x.processes_sum::double precision / x.samples as processes_mean, x.processes_max,
	x.threads as threads_last, x.threads_sum::double precision / x.samples as threads_mean, x.threads_max
from internal.sample_means x
where x.task >= 0 or x.only_task is not null;
comment on view internal.task_stats is
	'Resource use of sampled tasks while they ran, one row each; null: unknown. acct.task_stats has its columns.';

create function internal.stats_sum(p_job bigint, p_step int) returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	select jsonb_build_object('cpu_s', trim_scale(sum(y.cpu_s)), 'peak_mb', max(y.peak_mb),
		'cgroup_peak_mb', max(y.cgroup_peak_mb), 'max_rss_kb', max(y.max_rss_kb),
		'minor_faults', sum(y.minor_faults), 'major_faults', sum(y.major_faults), 'rchar', sum(y.rchar), 'wchar', sum(y.wchar),
		'read_bytes', sum(y.read_bytes), 'write_bytes', sum(y.write_bytes))
	from internal.step_stats y
	where y.job_id = p_job and y.step_id = p_step;
$$;
comment on function internal.stats_sum(bigint, int) is
	'The figures of a step over its attempts, by the rules of sql/usage/figures.sql: amounts are summed, of peaks the '
	'highest counts.';

create function api.job_stats(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
	v_answer jsonb;
begin
	select jsonb_agg(to_jsonb(x) - 'node_ids'
		|| case when s.attempt > 1 then internal.stats_sum(s.job_id, s.step_id) else '{}' end
		|| jsonb_build_object('attempts', s.attempt, 'label', internal.step_label(x.job_id, x.step_id),
			'state', s.state, 'message', case when j.own then s.message end,
			'nodes',
				(select string_agg(n.name, ',' order by i.nr) from unnest(x.node_ids) with ordinality i (id, nr)
				join node n on n.node_id = i.id),
			'cpus', l.cpus, 'mem_mb', l.mem_mb, 'elapsed_s',
				extract(epoch from coalesce(l.done_at, s.ended_at, now()) - s.started_at), 'suspended_s',
				l.suspended_s + coalesce(extract(epoch from now() - l.suspended_at), 0),
			'tasks',
				(select coalesce(jsonb_agg(to_jsonb(k) - 'job_id' - 'step_id' - 'attempt' - 'node_id'
				|| jsonb_build_object('node', n.name) order by k.task), '[]')
				from internal.task_stats k join node n on n.node_id = k.node_id
				where k.job_id = x.job_id and k.step_id = x.step_id and k.attempt = x.attempt))
		order by x.job_id, x.step_id)
	into v_answer
	from (
		-- A named array stands for its elements.
		select distinct t.job_id, e.step_id
		from internal.job_target(p_uid, p_user, p_request, false) t
		join step e on e.job_id = t.job_id and (e.step_id = t.step_id or (t.pos is null and e.request_id = t.step_id))
	) t
	join step s on s.job_id = t.job_id and s.step_id = t.step_id and s.attempt > 0
	cross join lateral (select o.uid = p_uid or internal.caller_role(p_uid, p_user) <> 'user' as own from job o
		where o.job_id = t.job_id) j
	join internal.step_stats x on x.job_id = s.job_id and x.step_id = s.step_id and x.attempt = s.attempt
	-- One subquery for attempt and allocations: with more tables in this list,
	-- the planner would not look for the best order of them.
	left join lateral (select b.done_at, b.suspended_s, b.suspended_at, sum(a.cpus) as cpus, sum(a.mem_mb) as mem_mb
		from attempt b left join allocation a using (job_id, step_id, attempt)
		where b.job_id = s.job_id and b.step_id = s.step_id and b.attempt = s.attempt
		group by b.done_at, b.suspended_s, b.suspended_at) l on true;
	return jsonb_build_object('steps', coalesce(v_answer, '[]'));
end $$;
comment on function api.job_stats(int, text, jsonb) is
	'Resource use of steps, all attempts together; of the latest attempt also highest, mean and last values of its samples. '
	'Request {jobs}. Answer {steps: [{label, state, attempts, attempt, samples, cpu_s, cpus_max, rss_kb_max, ..., tasks: '
	'[...]}]}; null: unknown.';

create function internal.top_lines(p_uid int, p_users text[], p_nodes int[], p_jobs bigint[], p_steps jsonb)
returns table (label text, name text, "user" text, state text, started_at timestamptz, elapsed_s numeric,
	suspended_s numeric, sampled boolean,
	nodes text, node_ids int[], cpus bigint, mem_mb numeric, cpus_used numeric, cpu_s numeric, rss_kb numeric,
	swap_kb numeric, processes bigint, threads bigint, read_rate numeric, write_rate numeric, sampled_at timestamptz,
	age_s numeric, gauges jsonb)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	with live as materialized (
		select a.job_id, a.step_id, a.attempt, a.node_id, a.cpus, a.mem_mb
		from allocation a
		where a.ended_at is null and a.attempt > 0 and a.started_at is not null
			and (p_nodes is null or a.node_id = any (p_nodes)) and (p_jobs is null or a.job_id = any (p_jobs))
	)
	select l.job_id || '.' || r.name || coalesce('[' || s.array_index || ']', '') as label, j.name,
		j.user_name as "user", s.state, s.started_at,
		extract(epoch from coalesce(t.done_at, now()) - s.started_at) as elapsed_s,
		t.suspended_s::numeric + coalesce(extract(epoch from now() - t.suspended_at), 0) as suspended_s,
		coalesce(r.sample_s, p.sample_s, 0) > 0 as sampled,
		-- For one job or one node, each node of a step has a line of its own.
		string_agg(n.name, ',' order by n.name) as nodes, array_agg(l.node_id) as node_ids, sum(l.cpus) as cpus,
			nullif(sum(l.mem_mb), 0) as mem_mb,
		case when count(x.cpu_rate) = count(*) then round(sum(x.cpu_rate)::numeric, 3) end as cpus_used,
		case when count(x.cpu_usec) = count(*) then round(sum(x.cpu_usec) / 1e6, 3) end as cpu_s,
		case when count(x.rss_kb) = count(*) then sum(x.rss_kb) end as rss_kb,
		case when count(x.swap_kb) = count(*) then sum(x.swap_kb) end as swap_kb,
		case when count(x.processes) = count(*) then sum(x.processes) end as processes,
		case when count(x.threads) = count(*) then sum(x.threads) end as threads,
		case when count(x.read_rate) = count(*) then round(sum(x.read_rate)::numeric) end as read_rate,
		case when count(x.write_rate) = count(*) then round(sum(x.write_rate)::numeric) end as write_rate,
		min(x.last_at) as sampled_at, extract(epoch from now() - min(x.last_at)) as age_s,
		-- Keys are node names, since names of devices are unique on one node only.
		jsonb_object_agg(n.name,
			(select jsonb_object_agg(g.key, g.value -> 0)
			from jsonb_each(x.gauges) g)) filter (where x.gauges is not null) as gauges
	from live l
	join step s on s.job_id = l.job_id and s.step_id = l.step_id and s.attempt = l.attempt
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	join attempt t on t.job_id = l.job_id and t.step_id = l.step_id and t.attempt = l.attempt
	join job j on j.job_id = l.job_id
	left join partition p on p.partition = r.partition
	join node n on n.node_id = l.node_id
	left join sample_total x on x.job_id = l.job_id and x.step_id = l.step_id and x.attempt = l.attempt
		and x.node_id = l.node_id and x.task = -1
	where (p_uid is null or j.uid = p_uid) and (p_users is null or j.user_name = any (p_users))
		and (p_steps is null or p_steps ? (l.job_id || '.' || l.step_id)
			or (p_steps ->> (l.job_id || '.' || s.request_id))::boolean)
	group by l.job_id, l.step_id, r.name, r.sample_s, p.sample_s, s.array_index, j.name, j.user_name, s.state,
		s.started_at, t.done_at, t.suspended_at, t.suspended_s,
		case when p_nodes is not null or p_jobs is not null then l.node_id end;
end $$;
comment on function internal.top_lines(int, text[], int[], bigint[], jsonb) is
	'Present resource use of running steps, by their latest samples: steps of an owner, of users, on nodes, of jobs (null: '
	'all), and of these jobs the steps that p_steps names: {"job.step": true for all elements}. With nodes or jobs, a row '
	'for each node of a step. sampled: whether the nodes of the step take samples.';

create function api.job_top(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
	v_names text[] := internal.request_list(p_request, 'nodes');
	v_users text[] := internal.request_list(p_request, 'user');
	v_limit int := least(coalesce(internal.request_int(p_request, 'limit'), 1000), 10000);
	v_nodes int[];
	v_jobs bigint[];
	v_steps jsonb;
	v_looked int[];
	v_answer jsonb;
begin
	if v_names is not null then
		perform internal.object_need('node', v_names);
		v_nodes := array(select n.node_id from node n where n.name = any (v_names));
	end if;
	if internal.request_list(p_request, 'jobs') is not null then
		select array_agg(distinct t.job_id), jsonb_object_agg(t.job_id || '.' || t.step_id, t.pos is null) into v_jobs,
			v_steps
		from internal.job_target(p_uid, p_user, p_request, false) t;
	end if;
	with line as materialized (
		select * from internal.top_lines(case when not internal.sees_all(p_uid, p_user) then p_uid end, v_users,
			v_nodes, v_jobs, v_steps)
	), best as (
		select * from line r order by r.cpus_used desc nulls last, r.label, r.nodes limit v_limit
	)
	select jsonb_build_object('steps',
		coalesce(jsonb_agg(to_jsonb(b) - 'node_ids' order by b.cpus_used desc nulls last, b.label, b.nodes), '[]'),
		'total', (select count(*) from line), 'now', now()),
		array(select distinct n from best d, unnest(d.node_ids) n where d.sampled)
	into v_answer, v_looked
	from best b;
	perform internal.sample_poll(v_looked);
	return v_answer;
end $$;
comment on function api.job_top(int, text, jsonb) is
	'Present resource use of running steps, by their latest samples, most CPUs first. The request makes nodes without '
	'samples take some (internal.sample_poll). Request {jobs, nodes, user, limit}. Answer {steps: [{label, user, nodes, '
	'cpus, cpus_used, rss_kb, ..., age_s}], total, now}; null: unknown. With jobs or nodes, one entry for each node of a '
	'step.';
