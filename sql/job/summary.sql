-- One line for each job, for lists: its state, derived from its steps, and related facts.

-- The head of an array stands for its elements in the queue while it has elements without rows that may start (see
-- internal.waiting); after that, its elements with rows do.
create function internal.array_row(p_array rota.step_array) returns int
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select e.step_id
		from step e
		where e.job_id = p_array.job_id and e.step_id between p_array.step_id + 1 and p_array.step_id + p_array.size
			and e.ended_at is null and e.state = 'pending'
		order by e.held <> '', coalesce(e.begin_at > now(), false), e.step_id
		limit 1);
end $$;
comment on function internal.array_row(rota.step_array) is
	'Of the elements of an array that have rows and wait, the one that is nearest to its start; null: none.';

create function internal.array_waits(p_job bigint, p_step int) returns text
-- Lists are read with custom plans, which are made for each statement (internal.plan_for). In this function, that would be one
-- for each array.
language plpgsql stable set search_path = rota, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
	v_array step_array;
	v_row int;
begin
	select * into v_array from step_array a where a.job_id = p_job and a.step_id = p_step
		and (a.by_corr or a.staged or a.next = a.size);
	if not found then
		return null;
	end if;
	v_row := internal.array_row(v_array); -- computed once, not for each row that is read to find it
	return coalesce((select f.waits from internal.step_facts f where f.job_id = p_job and f.step_id = v_row),
		case when v_array.by_corr then 'dependency' when v_array.staged then 'staging_in' end);
end $$;
comment on function internal.array_waits(bigint, int) is
	'The reason why an array waits whose head is not in the queue: that of its elements with rows; null: its head is in the '
	'queue.';

-- These are views, not functions: lists of thousands of jobs are made from them, and a view becomes part of the plan.
create view internal.step_facts as
select s.*, r.job_id as request_job_id, r.partition, r.ntasks::bigint * r.cpus_per_task as cpus, pl.expected_at,
	coalesce(r.time_limit_s, p.default_time_s, p.max_time_s, 0) as time_limit_s,
	case
		when s.held <> '' then 'held'
		when s.deps_waiting = 1 and (select exists (select from rota.staging where ended_at is null))
			and exists (select from rota.staging g
				where g.job_id = internal.staging_of(s.job_id, s.step_id)
					and g.state in ('pending', 'setup', 'staging_in', 'failed'))
			then case when s.begin_at > now() then 'begin'
				when internal.staging_of(s.job_id, s.step_id) = any ((select array_agg(l.job_id) from internal.staging_line l
					where not coalesce(l.pool is null or (l.may_fit and l.wanted <= l.free), false))::bigint[])
					then 'staging_pool'
				else 'staging_in' end
		when s.deps_waiting > 0 and (select exists (select from rota.transfer)) and exists (select
			from rota.step_edge e
			join rota.transfer t on t.job_id = s.job_id and t.step_id = e.peer_step_id and t.direction = 'in'
			where e.job_id = s.job_id and e.step_id = s.step_id and e.peer_job_id = s.job_id and e.state = 'waiting')
			then 'staging_in'
		when s.deps_waiting > 0 then 'dependency'
		when s.begin_at > now() then 'begin'
		when p.state not in ('up', 'drain') then 'partition'
		else coalesce(pl.reason, case when s.is_array then internal.array_waits(s.job_id, s.step_id) end,
			'scheduler') end as waits
from rota.step s
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
left join rota.partition p on p.partition = r.partition
left join rota.plan pl on pl.job_id = s.job_id and pl.step_id = s.step_id;
comment on view internal.step_facts is
	'Steps, heads of arrays and elements with their requests, one row each. request_job_id is job_id, so that both tables '
	'can be read from one job to another. waits: one word for what a pending step waits for; "scheduler": the scheduler has '
	'not considered the step yet.';

create view internal.step_now as
select s.job_id, s.step_id, st.state, st.severity, st.stage, s.association_id, s.queue, s.partition, s.cpus, s.expected_at,
	s.time_limit_s,
	case
		when st.state = 'completed' then null
		when st.stage = 'final' then s.cause
		when st.state = 'pending' then s.waits
		when (select exists (select from rota.node_lease l where l.lost_at is not null))
			and internal.step_lost(s.job_id, s.step_id, s.attempt) is not null then 'node_lost'
		when s.end_wanted is not null then s.end_wanted
		when st.state = 'suspended' and s.resume_wanted then 'resuming'
		when st.stage = 'live' and (select exists (select from rota.transfer)) then (
			select case t.direction when 'in' then 'staging_in' else 'staging_out' end
			from rota.transfer t
			where t.job_id = s.job_id and t.step_id = s.step_id) end as reason
from internal.step_facts s
left join rota.step_array a on a.job_id = s.job_id and a.step_id = s.step_id
-- The head of an array has the state of its waiting elements while none runs.
join rota.step_state st on st.state = case when a.running = 0 and s.state = 'running' then 'pending' else s.state end;
comment on view internal.step_now is
	'Steps, heads of arrays and elements, one row each: the state that users see and, as one word, why a step is not running '
	'or how it ended; null: nothing to say.';

create function internal.job_state(p_job rota.job) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	if p_job.started_at is null then
		return 'pending';
	end if;
	return (
		select n.state
		from (select r.step_id from step_request r where r.job_id = p_job.job_id offset 0) q -- by key
		cross join lateral (select n.state, n.severity from internal.step_now n
			where n.job_id = p_job.job_id and n.step_id = q.step_id offset 0) n -- by key
		order by n.severity desc
		limit 1);
end $$;
comment on function internal.job_state(rota.job) is
	'The state of a live job, as in internal.job_rows: the worst state of its steps.';

-- For internal.job_rows alone. The planner inlines this function, since its names are bound when it is created.
create function internal.job_steps(p_jobs bigint[])
returns table (job_id bigint, partitions text[], cpus bigint, unlimited boolean, time_limit_s bigint, state text, reason text,
	done bigint, running bigint, failed bigint, expected_at timestamptz)
language sql stable
begin atomic
	with full_line as materialized (
		-- Read only if no scheduling cycle has considered a waiting step yet.
		select * from internal.full_lines()
	), one as (
		select j.job_id, j.steps_total, n.step_id, n.partition, n.cpus, n.time_limit_s, n.state, n.severity, n.stage,
			n.expected_at,
			case
			when n.reason = 'scheduler'
			and exists (select from full_line f where f.association_id = n.association_id and f.partition = n.queue)
			then 'limit'
				else n.reason end as reason
		from unnest(p_jobs) as v (job_id)
		join rota.job j on j.job_id = v.job_id
		-- Read step by step of the script, so that the number of elements does not matter.
		cross join lateral (select q.step_id from rota.step_request q where q.job_id = j.job_id offset 0) q -- by key
		cross join lateral (select * from internal.step_now n
			where n.job_id = j.job_id and n.step_id = q.step_id offset 0) n -- by key
	)
	-- Most jobs have one step and need no aggregate.
	select o.job_id, array[o.partition] as partitions, o.cpus, o.time_limit_s = 0 as unlimited, o.time_limit_s,
		o.state, o.reason,
		(o.stage = 'final')::int::bigint as done, (o.stage = 'live')::int::bigint as running,
		(o.stage = 'final' and o.state not in ('completed', 'skipped'))::int::bigint as failed,
		case when o.stage = 'waiting' then o.expected_at end as expected_at
	from one o
	where o.steps_total = 1
	union all
	select o.job_id, array_agg(distinct o.partition), max(o.cpus), bool_or(o.time_limit_s = 0), max(o.time_limit_s),
		(array_agg(o.state order by o.severity desc))[1],
		-- Prefer the reason of a step that waits for no other step.
		(array_agg(o.reason order by o.severity desc, o.reason is null, o.reason = 'dependency', o.step_id))[1],
		count(*) filter (where o.stage = 'final'), count(*) filter (where o.stage = 'live'),
		count(*) filter (where o.stage = 'final' and o.state not in ('completed', 'skipped')),
		min(o.expected_at) filter (where o.stage = 'waiting')
	from one o
	where o.steps_total > 1
	group by o.job_id;
end;
comment on function internal.job_steps(bigint[]) is
	'One row for each job, with sums over its steps. time_limit_s: the longest one, if no step is unlimited.';

create function internal.job_rows(p_jobs bigint[])
returns table (job_id bigint, name text, user_name text, account text, partitions text[], qos text, state text, reason text,
	submit_at timestamptz,
	started_at timestamptz, ended_at timestamptz, expected_at timestamptz, time_limit_s bigint, elapsed_s numeric,
	suspended_s numeric, nodes text,
	node_count bigint, cpus bigint,
	priority int, steps_total int, steps_done bigint, steps_running bigint, steps_failed bigint)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	if coalesce(cardinality(p_jobs), 0) = 0 then
		return;
	end if;
	return query
	select j.job_id, j.name, j.user_name, j.account, s.partitions, j.qos, coalesce(j.state, s.state),
		coalesce(case when j.ended_at is null then s.reason when j.staging then internal.staging_out_reason(j.job_id) end,
			case when j.state <> 'completed' then j.cause end),
		j.submit_at, j.started_at, j.ended_at, case when j.ended_at is null then s.expected_at end,
		-- The time limit of a step that runs, or ran, may be shorter than the one that it requested (--time-min).
		case when j.steps_total = 1 and l.time_limit_s is not null then l.time_limit_s when s.unlimited then 0
			else s.time_limit_s end,
		-- If all steps of a job wait, also after a requeue, it has no run time.
		case when j.ended_at is not null or s.done + s.running > 0
		then extract(epoch from coalesce(j.ended_at, now()) - j.started_at) end,
		case when j.steps_total = 1 then coalesce(l.suspended_s, 0)::numeric else 0 end,
		coalesce(l.nodes, ''), coalesce(l.node_count, 0), coalesce(l.cpus, s.cpus), j.priority - j.nice + q.priority,
		j.steps_total, s.done, s.running, s.failed
	from internal.job_steps(p_jobs) s
	join job j on j.job_id = s.job_id
	join qos q on q.qos = j.qos
	left join lateral (
		-- The nodes on which the job runs or, if it has ended, ran. By key, job by job, and only for jobs that have started.
		select string_agg(distinct n.name, ',') as nodes, count(distinct n.node_id) as node_count,
			sum(al.cpus) filter (where t.ended_at is null and al.started_at is not null) as cpus,
			case when bool_or(t.time_limit_s = 0) then 0 else max(t.time_limit_s) end as time_limit_s,
			min(t.suspended_s + coalesce(extract(epoch from now() - t.suspended_at), 0)) as suspended_s
		from (
			select t.job_id, t.step_id, t.attempt, t.ended_at, t.time_limit_s, t.suspended_s,
				t.suspended_at from attempt t where t.job_id = j.job_id and t.ended_at is null and s.running > 0
			union all
			select t.job_id, t.step_id, t.attempt, t.ended_at, t.time_limit_s, t.suspended_s,
				t.suspended_at from attempt t where t.job_id = j.job_id and j.ended_at is not null
		) t
		join allocation al on al.job_id = t.job_id and al.step_id = t.step_id and al.attempt = t.attempt
		join node n on n.node_id = al.node_id
	) l on true;
end $$;
comment on function internal.job_rows(bigint[]) is 'Jobs in one row each, as columns; in no order.';

create function internal.job_summary(p_jobs bigint[])
returns table (job_id bigint, state text, partitions text[], facts jsonb)
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	select r.job_id, r.state, r.partitions, jsonb_build_object(
		'job_id', r.job_id, 'name', r.name, 'user', r.user_name, 'account', r.account, 'partition',
			array_to_string(r.partitions, ','), 'qos', r.qos,
		'state', r.state, 'reason', r.reason, 'submit_at', r.submit_at, 'started_at', r.started_at, 'ended_at',
			r.ended_at, 'expected_at', r.expected_at,
		'time_limit_s', r.time_limit_s, 'elapsed_s', r.elapsed_s, 'suspended_s', r.suspended_s, 'nodes', r.nodes,
		'node_count', r.node_count, 'cpus', r.cpus, 'priority', r.priority,
		'steps_total', r.steps_total, 'steps_done', r.steps_done, 'steps_running', r.steps_running, 'steps_failed',
			r.steps_failed)
	from internal.job_rows(p_jobs) r;
end $$;
comment on function internal.job_summary(bigint[]) is
	'Jobs in one row each, with the members that api.job_queue answers; in no order.';
