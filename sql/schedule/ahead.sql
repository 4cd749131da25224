-- Steps that are sent ahead: the launch request of a step goes to the node of the step that it waits for, its predecessor,
-- while that one runs. The node starts the step when the predecessor has completed, with or without the database.
-- Called by: the leader where node.ahead is above 0 (jobmgr/lead/lead_cycle_ahead.c); the end of allocations and attempts.
-- Invariants:
-- - A step that is sent ahead has an attempt and an allocation like a pre-dispatched element: it holds memory and no CPUs.
-- - It takes over the CPUs of its predecessor when the allocation of the predecessor ends, so no other step gets them in
--   between. From then on its row is as if the step had been placed at that time.
-- - If the predecessor does not complete, the node gives the step back (cause withdrawn), and the step waits for its
--   dependency again.
create view internal.ahead_offer as
select distinct on (a.job_id, a.step_id) b.job_id, b.step_id, b.attempt + 1 as attempt, a.step_id as after_step,
	a.attempt as after_attempt, a.node_id, n.name as node, r.cpus_per_task as cpus, m.mem_mb, h.hold_s,
	coalesce(y.depth, 0) + 1 as depth, b.rank, pt.priority, l.time_limit_s
from live.allocation a
join live.step p on p.job_id = a.job_id and p.step_id = a.step_id and p.attempt = a.attempt and p.end_wanted is null
	and p.array_index is null
join live.attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt and t.outcome is null
	and t.ended_at is null and t.suspended_at is null and t.done_at is null and cardinality(t.node_ids) = 1
join live.step_request q on q.job_id = p.job_id and q.step_id = p.step_id and q.group_name is null and q.checkpoint is null
	and not q.eternal
join live.step_edge e on e.peer_job_id = a.job_id and e.peer_step_id = a.step_id and e.job_id = a.job_id and e.kind = 'after'
	and e."condition" = 'ok' and e.gates and e.state = 'waiting'
join live.step b on b.job_id = e.job_id and b.step_id = e.step_id and b.state = 'pending' and b.deps_waiting = 1
	and b.held = '' and not b.is_array and (b.begin_at is null or b.begin_at <= now())
-- The step asks for no more than the predecessor, so the predecessor's node suits it.
join live.step_request r on r.job_id = b.job_id and r.step_id = b.step_id and r.nodes_min = 1 and r.ntasks = 1
	and r.gres = '{}' and r.licenses = '{}' and not r.exclusive and r.mem_mb is distinct from 0
	and r.partition = q.partition and r."constraint" = q."constraint" and r.nodelist = q.nodelist and r.exclude = q.exclude
	and r.deadline_at is null and r.time_min_s is null and r.group_name is null and not r.deps_any and r.with_set is null
	and r.checkpoint is null and not r.eternal
	and num_nonnulls(r.reservation, q.reservation, r.image, q.image, r.prep, q.prep) = 0
	and r.cpus_per_task <= a.cpus
join live.job j on j.job_id = b.job_id and not j.staging and not j.credentials
join rota.partition pt on pt.partition = r.partition and pt.state = 'up'
join rota.node n on n.node_id = a.node_id and n.state = 'up' and n.power = 'on'
	-- A process manager of an older version would start the step at once. One of virtual nodes cannot hold steps.
	and n.found ? 'ahead'
join rota.node_used u on u.node_id = a.node_id
left join rota.step_ahead y on y.job_id = a.job_id and y.step_id = a.step_id
cross join lateral (select coalesce(r.mem_mb, coalesce(r.mem_per_cpu_mb, pt.default_mem_per_cpu_mb) * r.cpus_per_task, 0)
	as mem_mb) m
cross join lateral (select coalesce(r.time_limit_s, pt.default_time_s, pt.max_time_s, 0) as time_limit_s) l
-- hold_s reaches beyond the end of the predecessor, unless that is suspended meanwhile.
cross join lateral (select least(86400, coalesce(y.hold_s, 0)
	+ case when t.time_limit_s between 1 and 86400 then t.time_limit_s + 600 else 86400 end)::int as hold_s) h
where a.ended_at is null and a.attempt > 0 and a.phase in ('ordered', 'prolog', 'ready', 'running')
	and (a.cpus_held = a.cpus or y.job_id is not null) and coalesce(y.depth, 0) < 8
	and m.mem_mb <= least(a.mem_mb, u.mem_mb - u.mem_used_mb)
	and (coalesce(pt.max_time_s, 0) = 0 or l.time_limit_s between 1 and pt.max_time_s)
	and not exists (select from live.step_edge o where o.job_id = b.job_id and o.step_id = b.step_id
		and (o.kind <> 'after' or (o.state = 'waiting' and o.edge <> e.edge)))
	-- A step with --same-nodes keeps the nodes of the predecessor for itself.
	and not exists (select from live.step_edge o where o.peer_job_id = b.job_id and o.peer_step_id in (a.step_id, b.step_id)
		and o.kind <> 'after')
	and not exists (select from rota.step_ahead x where x.job_id = a.job_id and x.after_step = a.step_id)
	and not exists (select from rota.transfer x where x.job_id = b.job_id)
	and not exists (select from rota.growth x where x.job_id = b.job_id)
	and not exists (select from rota.node_notice x where x.node_id = a.node_id)
	-- A step that is being moved must start on other nodes.
	and not exists (select from rota.evacuation_move x where x.job_id = b.job_id and x.step_id = b.step_id
		and x.state in ('ending', 'queued'))
	-- A step that was given back is sent ahead again after a minute at the earliest.
	and not exists (select from live.attempt x where x.job_id = b.job_id and x.step_id = b.step_id and x.attempt = b.attempt
		and x.cause = 'withdrawn' and x.ended_at > now() - interval '1 minute')
order by a.job_id, a.step_id, b.step_id;
comment on view internal.ahead_offer is
	'Steps that may be sent ahead, one for each predecessor. Each waits for nothing but the completion of its '
	'predecessor, a step of the same job that runs on one node or was itself sent ahead there. attempt: the number that '
	'the attempt would get; cpus, mem_mb: what the step would hold on the node; hold_s, depth: as in rota.step_ahead; '
	'rank, priority: for its place in the queue; time_limit_s: 0 is no limit.';

create function internal.ahead_withdraw(p_first bigint, p_step int, p_open boolean) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.order_put((
		select jsonb_agg(jsonb_build_object('node_id', x.node_id, 'kind', 'withdraw', 'job_id', x.job_id, 'step_id', x.step_id,
			'attempt', x.attempt))
		from step_ahead x
		join step b on b.job_id = x.job_id and b.step_id = x.step_id and b.end_wanted is null
		join step_request r on r.job_id = b.job_id and r.step_id = b.step_id
		join partition pt on pt.partition = r.partition
		join node n on n.node_id = x.node_id
		where (not p_open or n.state <> 'up' or pt.state not in ('up', 'drain')
				or not internal.ahead_precedes(b.rank, pt.priority, b.job_id, b.step_id, p_first, p_step))
			and not exists (select from node_order o where o.node_id = x.node_id and o.kind = 'withdraw'
				and o.job_id = x.job_id and o.step_id = x.step_id and o.attempt = x.attempt)
		having count(*) > 0));
end $$;
comment on function internal.ahead_withdraw(bigint, int, boolean) is
	'Have nodes give back steps that were sent ahead: without p_open all of them, otherwise those that the queue has '
	'after its first step that waits for resources (p_first, p_step; null: none waits), and those whose node or '
	'partition starts nothing.';

create function internal.ahead_precedes(p_rank bigint, p_priority int, p_job bigint, p_step int, p_first bigint, p_first_step int)
	returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	-- The same order as in api.schedule_queue.
	return coalesce((
		select (internal.rank_tier(p_rank), p_priority, p_rank, -p_job, -p_step)
			>= (internal.rank_tier(s.rank), pt.priority, s.rank, -s.job_id, -s.step_id)
		from step s
		join partition pt on pt.partition = s.queue
		where s.job_id = p_first and s.step_id = p_first_step), true);
end $$;
comment on function internal.ahead_precedes(bigint, int, bigint, int, bigint, int) is
	'Whether the queue has a step before its first step that waits for resources (p_first, p_first_step; null: none '
	'waits).';

create function api.schedule_ahead(p_term bigint, p_first bigint, p_step int)
returns table (job_id bigint, step_id int, after_step int, after_attempt int, node_id int, node text, cpus int, mem_mb bigint,
	hold_s int)
language plpgsql security definer set lock_timeout = '5s' set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
declare
	-- A limit is checked when a step starts, and an outage when the leader places it. A step that is sent ahead passes neither.
	v_open constant boolean := p_step is distinct from -1 and not internal.is_limited()
		and not exists (select from api.schedule_outages());
begin
	perform internal.leader_check(p_term);
	if exists (select from step_ahead) then
		perform internal.ahead_withdraw(p_first, p_step, v_open);
	end if;
	if not v_open then
		return;
	end if;
	return query
	select o.job_id, o.step_id, o.after_step, o.after_attempt, o.node_id, o.node, o.cpus, o.mem_mb, o.hold_s
	from internal.ahead_offer o
	where internal.ahead_precedes(o.rank, o.priority, o.job_id, o.step_id, p_first, p_step)
	order by o.job_id, o.step_id
	limit 500;
end $$;
comment on function api.schedule_ahead(bigint, bigint, int) is
	'The steps that may be sent ahead now (internal.ahead_offer); none while there are limits or an outage. Before, the '
	'steps that may not stay on their nodes are withdrawn (internal.ahead_withdraw). p_first, p_step: the first step of '
	'the queue that waits for resources, null: none; p_step of -1: no step may be sent ahead, and all that were are '
	'withdrawn. RT412: no longer leader.';

create function api.schedule_ahead_commit(p_term bigint, p_starts jsonb, p_orders jsonb)
returns table (job_id bigint, step_id int, attempt int)
language plpgsql security definer set lock_timeout = '5s' set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
declare
	v_start constant jsonb := p_starts -> 0;
	v_job constant bigint := v_start ->> 'job';
	v_offer internal.ahead_offer;
	v_decided internal.start_decision;
	v_at timestamptz;
begin
	perform internal.leader_check(p_term);
	if internal.job_lock_free(array[v_job]) = '{}' then
		return;
	end if;
	-- Read the offer again under the locks: the predecessor may have ended, or the step may have changed.
	if not internal.node_lock(array[(v_start #>> '{allocations,0,node}')::int]) then
		return;
	end if;
	select o.* into v_offer from internal.ahead_offer o
	where o.job_id = v_job and o.step_id = (v_start ->> 'step')::int and o.attempt = (v_start ->> 'attempt')::int
		and o.after_step = (v_start ->> 'after')::int and o.after_attempt = (v_start ->> 'after_attempt')::int
		and o.node_id = (v_start #>> '{allocations,0,node}')::int
		-- The signed launch request has these values.
		and o.cpus = (v_start #>> '{allocations,0,cpus}')::int and o.mem_mb = (v_start #>> '{allocations,0,mem_mb}')::bigint
		and o.time_limit_s = (v_start ->> 'time_limit_s')::bigint;
	if v_offer.job_id is null then
		return;
	end if;
	v_at := clock_timestamp();
	perform internal.step_move('schedule', array[internal.move_of(job_id => v_job, step_id => v_offer.step_id,
		event => 'start', at => v_at)]);
	v_decided := (v_job, v_offer.step_id, v_offer.step_id, null, v_offer.attempt, (v_start ->> 'time_limit_s')::bigint,
		(v_start ->> 'ends_on_node_loss')::boolean, array[v_offer.node_id], null, false)::internal.start_decision;
	perform internal.attempt_write(array[v_decided], v_at);
	perform internal.allocation_take(array[internal.allocation_start_of(job_id => v_job, step_id => v_offer.step_id,
		attempt => v_offer.attempt, node_id => v_offer.node_id, node_index => 0, cpus => v_offer.cpus, mem_mb => v_offer.mem_mb,
		tasks => 1, phase => 'ordered', predispatched => true, waits => true)], true);
	insert into step_ahead (job_id, step_id, attempt, node_id, after_step, after_attempt, hold_s, depth)
	values (v_job, v_offer.step_id, v_offer.attempt, v_offer.node_id, v_offer.after_step, v_offer.after_attempt, v_offer.hold_s,
		v_offer.depth);
	perform internal.order_put(p_orders);
	notify rota_schedule; -- the step that waits for this one may be sent ahead now
	notify rota_event;
	return query select v_job, v_offer.step_id, v_offer.attempt;
end $$;
comment on function api.schedule_ahead_commit(bigint, jsonb, jsonb) is
	'Send one step ahead that api.schedule_ahead has offered. p_starts and p_orders are as in api.schedule_commit, with '
	'the predecessor in the members after and after_attempt. Answers no row if the offer is not valid any more. RT412: '
	'no longer leader.';

create function internal.ahead_moves(p_held internal.allocation_end[]) returns internal.slot_move[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return array(
		with recursive chain as (
			select x.job_id, x.step_id, x.attempt, x.node_id, o.cpus_held as cpus,
				greatest(coalesce(v.at, now()), o.started_at) as free_at
			from unnest(p_held) v
			join step_ahead x on x.job_id = v.job_id and x.after_step = v.step_id and x.after_attempt = v.attempt
				and x.node_id = v.node_id
			-- A predecessor that ends while it is suspended has no CPUs.
			join allocation o on o.job_id = v.job_id and o.step_id = v.step_id and o.attempt = v.attempt
				and o.node_id = v.node_id and o.ended_at is null and o.cpus_held > 0
			union all
			select x.job_id, x.step_id, x.attempt, x.node_id, c.cpus, greatest(coalesce(v.at, now()), c.free_at)
			from chain c
			join unnest(p_held) v on v.job_id = c.job_id and v.step_id = c.step_id and v.attempt = c.attempt
				and v.node_id = c.node_id
			join step_ahead x on x.job_id = v.job_id and x.after_step = v.step_id and x.after_attempt = v.attempt
				and x.node_id = v.node_id
		)
		select (c.job_id, c.step_id, c.attempt, c.node_id, exists (select from unnest(p_held) v
			where v.job_id = c.job_id and v.step_id = c.step_id and v.attempt = c.attempt and v.node_id = c.node_id),
			-- The end that is assumed of a lost predecessor may be before the step was sent.
			greatest(c.free_at, t.ordered_at))::internal.slot_move
		from chain c
		join attempt t on t.job_id = c.job_id and t.step_id = c.step_id and t.attempt = c.attempt
		join allocation a on a.job_id = c.job_id and a.step_id = c.step_id and a.attempt = c.attempt and a.node_id = c.node_id
			and a.ended_at is null and a.started_at is null and a.cpus <= c.cpus);
end $$;
comment on function internal.ahead_moves(internal.allocation_end[]) is
	'The CPUs that steps which were sent ahead take over from their predecessors, whose allocations end.';

create function internal.ahead_pass(p_closed internal.attempt_end[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	with passed as (
		delete from step_ahead x
		using unnest(p_closed) c, allocation a
		where x.job_id = c.job_id and x.after_step = c.step_id and c.event = 'complete'
			and a.job_id = x.job_id and a.step_id = x.step_id and a.attempt = x.attempt and a.node_id = x.node_id
			and a.started_at is not null
		returning x.*, c.at
	), held as (
		update allocation a set predispatched = false
		from passed x
		where a.job_id = x.job_id and a.step_id = x.step_id and a.attempt = x.attempt and a.node_id = x.node_id
	), placed as (
		-- The predecessor may have completed before the step was sent, with its report still under way.
		update attempt t
		set ordered_at = least(greatest(x.at, t.ordered_at), t.started_at, t.done_at, t.ended_at),
			eligible_at = least(x.at, t.started_at, t.done_at, t.ended_at)
		from passed x
		where t.job_id = x.job_id and t.step_id = x.step_id and t.attempt = x.attempt
		returning t.job_id, t.step_id, t.attempt, t.ordered_at, t.eligible_at
	), stepped as (
		update step s
		set ordered_at = p.ordered_at, eligible_at = p.eligible_at
		from placed p
		where s.job_id = p.job_id and s.step_id = p.step_id and s.attempt = p.attempt
	)
	-- A process manager that is started later has not seen the predecessor complete, so the order must not name it.
	update node_order o
	set args = o.args - '{after,after_attempt,hold_s}'::text[]
	from passed x
	where o.node_id = x.node_id and o.kind = 'launch' and o.job_id = x.job_id and o.step_id = x.step_id
		and o.attempt = x.attempt;
end $$;
comment on function internal.ahead_pass(internal.attempt_end[]) is
	'Make steps that were sent ahead, and whose predecessors have completed, ordinary steps that were placed at that '
	'time.';

create function internal.ahead_close(p_closed internal.attempt_end[], p_actor text) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_back internal.attempt_key[];
begin
	perform internal.ahead_pass(p_closed);
	with gone as (
		delete from step_ahead x
		using unnest(p_closed) c
		where x.job_id = c.job_id and x.step_id = c.step_id
		returning x.job_id, x.step_id, x.attempt
	)
	select array_agg((g.job_id, g.step_id, g.attempt)::internal.attempt_key) into v_back from gone g;
	if v_back is null then
		return;
	end if;
	-- The predecessor may have failed while the node still held the step. Then the step can never run.
	perform internal.step_move(p_actor, array(
		select internal.move_of(job_id => s.job_id, step_id => s.step_id,
			event => case when bool_or(e.state = 'failed') then 'dependency_fail' else 'skip' end,
			cause => case when bool_or(e.state = 'failed') then 'dependency' else 'not_needed' end,
			message => min(internal.edge_text(e.kind, e."condition", internal.step_label(e.peer_job_id, e.peer_step_id),
				p.state, e.state)))
		from unnest(v_back) v
		join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.state = 'pending'
		join step_edge e on e.job_id = s.job_id and e.step_id = s.step_id and e.gates and e.state in ('failed', 'not_needed')
		join step p on p.job_id = e.peer_job_id and p.step_id = e.peer_step_id
		group by s.job_id, s.step_id));
end $$;
comment on function internal.ahead_close(internal.attempt_end[], text) is
	'Attempts have ended: update the steps that were sent ahead to wait for them, and those that were themselves sent '
	'ahead. The caller holds the locks of their jobs.';
