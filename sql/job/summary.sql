-- A job in one line, for lists: its state, derived from its steps, and the facts that go with it.
create function api.step_reason(p_state text, p_attempt int, p_held text, p_deps_waiting int, p_begin_at timestamptz, p_partition_state text,
	p_plan text, p_end_wanted text, p_resume_wanted boolean, p_cause text, p_lost boolean) returns text
language sql stable set search_path = rota, pg_temp as $$
	select case
		when p_state = 'completed' then null
		when p_state not in ('pending', 'starting', 'prolog', 'running', 'suspended', 'ending') then p_cause
		when p_lost then 'node_lost'
		when p_state <> 'pending' and p_end_wanted is not null then p_end_wanted
		when p_state = 'suspended' and p_resume_wanted then 'resuming'
		when p_state <> 'pending' then null
		when p_held <> '' then 'held'
		when p_deps_waiting > 0 then 'dependency'
		when p_begin_at > now() then 'begin'
		when p_partition_state not in ('up', 'drain') then 'partition'
		else coalesce(p_plan, 'scheduler') end;
$$;
comment on function api.step_reason(text, int, text, int, timestamptz, text, text, text, boolean, text, boolean) is
	'In a word, why a step is not running, or how it ended; null: nothing to say. "scheduler": not looked at yet. Internal.';

create function api.full_limits() returns table (kind text, name text, user_name text)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select u.kind, u.name, u.user_name
	from api.running_by_user() u
	left join qos q on u.kind = 'qos' and q.qos = u.name
	left join association a on u.kind = 'account' and a.account = u.name and a.user_name = u.user_name
	where u.running >= coalesce(q.max_running_per_user, a.max_running);
end $$;
comment on function api.full_limits() is 'Whose steps are not handed to the scheduler just now: kind ("qos" or "account"), its name, and the user. Internal.';

create function api.job_summary(p_jobs bigint[])
returns table (job_id bigint, state text, partitions text[], facts jsonb)
language sql stable set search_path = rota, pg_temp as $$
	with full_limit as materialized (
		-- Asked for only where a step waits unlooked at.
		select * from api.full_limits()
	), one as (
		select x.*, st.severity, st.stage,
			api.step_reason(x.state, x.attempt, x.held, x.deps_waiting, x.begin_at, x.partition_state, x.plan, x.end_wanted, x.resume_wanted, x.cause,
				st.stage = 'live' and (select exists (select from node_lease l where l.lost_at is not null)) and api.step_lost(x.job_id, x.step_id, x.attempt) is not null) as reason
		from (
			select r.job_id, r.step_id, r.partition, r.ntasks::bigint * r.cpus_per_task as cpus, s.attempt, s.held, s.deps_waiting, s.begin_at,
				s.end_wanted, s.resume_wanted, s.cause, p.state as partition_state, pl.reason as plan, pl.expected_at,
				coalesce(r.time_limit_s, p.default_time_s, p.max_time_s, 0) as time_limit_s,
				-- The head of an array none of whose elements runs waits like them.
				case when a.running = 0 and s.state = 'running' then 'pending' else s.state end as state
			from unnest(p_jobs) as v (job_id)
			join step_request r on r.job_id = v.job_id
			join step s on s.job_id = r.job_id and s.step_id = r.step_id
			left join step_array a on a.job_id = r.job_id and a.step_id = r.step_id
			left join partition p on p.partition = r.partition
			left join plan pl on pl.job_id = r.job_id and pl.step_id = r.step_id
		) x
		join step_state st on st.state = x.state
	), steps as (
		select o.job_id, array_agg(distinct o.partition) as partitions, max(o.cpus) as cpus, bool_or(o.time_limit_s = 0) as unlimited, max(o.time_limit_s) as time_limit_s,
			(array_agg(o.state order by o.severity desc))[1] as state,
			-- What stands in the way of a step that waits for no other one says most.
			(array_agg(o.reason order by o.severity desc, o.reason is null, o.reason = 'dependency', o.step_id))[1] as reason,
			count(*) filter (where o.stage = 'final') as done, count(*) filter (where o.stage = 'live') as running,
			count(*) filter (where o.stage = 'final' and o.state <> 'completed') as failed,
			min(o.expected_at) filter (where o.stage = 'waiting') as expected_at
		from one o
		group by o.job_id
	)
	select j.job_id, coalesce(j.state, s.state), s.partitions, jsonb_build_object(
		'job_id', j.job_id, 'name', j.name, 'user', j.user_name, 'account', j.account, 'partition', array_to_string(s.partitions, ','), 'qos', j.qos,
		'state', coalesce(j.state, s.state),
		'reason', case when j.ended_at is null and s.reason = 'scheduler' and exists (select from full_limit f where f.user_name = j.user_name
				and f.name = case f.kind when 'qos' then j.qos else j.account end) then 'limit'
			when j.ended_at is null then s.reason when j.state <> 'completed' then j.cause end,
		'submit_at', j.submit_at, 'started_at', j.started_at, 'ended_at', j.ended_at, 'expected_at', case when j.ended_at is null then s.expected_at end,
		'time_limit_s', case when s.unlimited then 0 else s.time_limit_s end,
		-- Of a job all of whose steps wait (again), no time runs.
		'elapsed_s', case when j.ended_at is not null or s.done + s.running > 0 then extract(epoch from coalesce(j.ended_at, now()) - j.started_at)::bigint end,
		'nodes', coalesce(l.nodes, ''), 'node_count', coalesce(l.node_count, 0), 'cpus', coalesce(l.cpus, s.cpus),
		'priority', j.priority - j.nice + q.priority,
		'steps_total', j.steps_total, 'steps_done', s.done, 'steps_running', s.running, 'steps_failed', s.failed)
	from steps s
	join job j on j.job_id = s.job_id
	join qos q on q.qos = j.qos
	left join lateral (
		-- Where it runs now; for a job that is over, where it ran.
		select string_agg(distinct n.name, ',') as nodes, count(distinct n.node_id) as node_count, sum(al.cpus) filter (where t.ended_at is null) as cpus
		from (
			select t.job_id, t.step_id, t.attempt, t.ended_at from attempt t where t.job_id = j.job_id and t.ended_at is null
			union all
			select t.job_id, t.step_id, t.attempt, t.ended_at from attempt t where t.job_id = j.job_id and j.ended_at is not null
		) t
		join allocation al on al.job_id = t.job_id and al.step_id = t.step_id and al.attempt = t.attempt
		join node n on n.node_id = al.node_id
	) l on true;
$$;
comment on function api.job_summary(bigint[]) is 'Jobs in one line each, with the facts that api.job_queue answers; in no order. Internal.';
