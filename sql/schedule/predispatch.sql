-- Pre-dispatch: elements of an array are ordered to a node before it has CPUs for them, so that short elements leave no gaps. The
-- node starts them in turn (procmgr/agent/agent_predispatch.c), each when an element of the array ends there, mostly before the
-- end is reported. A slot is the CPUs of one element; all elements of an array have the same number of CPUs.
-- Called by: allocation.sql, report_end.sql, node/report.sql, preempt.sql, node/evacuate.sql; the leader (api.schedule_withdraw).
-- Invariants:
-- - The allocation of such an element holds memory and no CPUs until the element is known to have started, or has a free slot.
-- - An element that starts takes the slot that became free last before. Slots that are free after that are kept for the next
--   elements, in the order in which the node starts them. A slot passes to another element if that one starts before.
-- - An element has its slot from the time at which the slot became free, even if the element was ordered later: until it is known
--   to have started, an element that was ordered before may turn out to have taken the slot.
-- - An order "withdraw" ends nothing. The node refuses the elements that it has not started (cause withdrawn), and they are
--   queued again when the node has reported that. So an element never runs on two nodes.

create function internal.slot_elements(p_ended internal.allocation_end[], p_begun internal.attempt_report[])
	returns setof internal.slot_element
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return query
	with ended as (
		select v.node_id, v.job_id, s.request_id, v.step_id, v.attempt, coalesce(v.at, now()) as ended_at,
			a.started_at, a.cpus_held > 0 as held,
			a.predispatched and a.phase = 'ordered' as kept,
			v.began_at is not null or a.phase <> 'ordered' as begun, coalesce(v.began_at, v.at) as began_at
		from unnest(p_ended) v
		join allocation a on a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt
			and a.node_id = v.node_id and coalesce(a.ended_at, 'infinity') = 'infinity'
		cross join lateral (select x.request_id from step x
			where x.job_id = v.job_id and x.step_id = v.step_id and x.array_index is not null offset 0) s -- by key
	), array_on_node as (
		select e.node_id, e.job_id, e.request_id from ended e
		union
		select v.node_id, v.job_id, s.request_id
		from unnest(p_begun) v
		cross join lateral (select x.request_id from step x
			where x.job_id = v.job_id and x.step_id = v.step_id offset 0) s -- by key
	)
	select * from ended
	union all
	select n.node_id, n.job_id, n.request_id, a.step_id, a.attempt, null, a.started_at, a.cpus_held > 0, true,
		a.phase <> 'ordered', b.began_at
	from array_on_node n
	join step_array r on r.job_id = n.job_id and r.step_id = n.request_id
	-- Live allocations of the node are few, while a job may have many.
	cross join lateral (select o.* from allocation o
		where o.node_id = n.node_id and o.ended_at is null and o.predispatched offset 0) a -- by node
	left join unnest(p_begun) b on b.job_id = a.job_id and b.step_id = a.step_id and b.attempt = a.attempt
		and b.node_id = a.node_id
	where a.job_id = n.job_id and a.step_id between r.step_id + 1 and r.step_id + r.size
		-- Elements that were known to run have their slots already.
		and (a.started_at is null or a.phase = 'ordered' or b.job_id is not null)
		and not exists (select from ended e where e.job_id = a.job_id and e.step_id = a.step_id
			and e.attempt = a.attempt and e.node_id = a.node_id);
end $$;
comment on function internal.slot_elements(internal.allocation_end[], internal.attempt_report[]) is
	'Elements of arrays on nodes that free or take CPUs: those whose allocations end (p_ended), and the pre-dispatched ones '
	'that were not known to have started, some of which have (p_begun).';

create function internal.slot_moves(p_ended internal.allocation_end[], p_begun internal.attempt_report[])
	returns setof internal.slot_move
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return query
	with element as materialized (
		select * from internal.slot_elements(p_ended, p_begun)
	), moment as (
		-- Each row is a time at which a slot becomes free (1) or is taken by an element (-1). A slot that is kept for an element
		-- is free until some element starts.
		select x.*, row_number() over o as nr, sum(x.free) over (o rows unbounded preceding) + (x.free < 0)::int as level
		from (
			select e.*, e.started_at as at, 1 as free from element e where e.held and e.kept
			union all
			select e.*, case when e.kept then e.ended_at else greatest(e.ended_at, e.started_at) end, 1
			from element e
			where e.ended_at is not null and case when e.kept then e.begun else e.held or e.started_at is null end
			union all
			select e.*, e.began_at, -1
			from element e
			where e.begun and e.began_at is not null
				and (e.ended_at is null or e.started_at is null or (e.held and e.kept))
		) x
		window o as (partition by x.node_id, x.job_id, x.request_id order by x.at, x.free desc)
	), paired as (
		-- As brackets are paired: an element takes the slot that became free last before it started and is not taken yet. At a
		-- level below 1, more elements run than there are slots, as on virtual nodes. Such an element takes and frees no slot.
		select m.*, lag(m.at) over o as free_at, lead(m.free) over o as behind
		from moment m
		window o as (partition by m.node_id, m.job_id, m.request_id, m.level order by m.nr)
	), kept as (
		-- Slots that no element took are kept. The first element gets the slot that became free first: its start may be reported
		-- later than the start of an element that started after it.
		select p.node_id, p.job_id, p.request_id, p.at,
			row_number() over (partition by p.node_id, p.job_id, p.request_id order by p.at) as nr
		from paired p
		where p.free > 0 and p.behind is null and p.level > 0
	), waiting as (
		select e.*, row_number() over (partition by e.node_id, e.job_id, e.request_id
			order by not e.begun, e.step_id) as nr
		from element e
		where e.ended_at is null and (not e.begun or e.began_at is null)
	), move as (
		select p.node_id, p.job_id, p.step_id, p.attempt, p.ended_at is not null as ended, true as begun, p.free_at
		from paired p
		where p.free < 0 and p.level > 0
		union all
		select w.node_id, w.job_id, w.step_id, w.attempt, false, w.begun, k.at
		from waiting w
		left join kept k on k.node_id = w.node_id and k.job_id = w.job_id and k.request_id = w.request_id and k.nr = w.nr
		where k.at is not null or w.held
	)
	select m.job_id, m.step_id, m.attempt, m.node_id, m.ended,
		case when m.free_at is not null then greatest(m.free_at, y.ordered_at) end
	from move m
	left join lateral (select x.ordered_at from attempt x where m.begun
		and x.job_id = m.job_id and x.step_id = m.step_id and x.attempt = m.attempt offset 0) y on true; -- by key
end $$;
comment on function internal.slot_moves(internal.allocation_end[], internal.attempt_report[]) is
	'Which pre-dispatched elements take over CPUs of their array, when allocations on nodes end (p_ended) and elements that '
	'were not known to have started have started there (p_begun).';

create function internal.slot_pass_on(p_moves internal.slot_move[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	with moved as (
		update allocation a
		set started_at = v.slot_at, cpus_held = case when v.slot_at is null then 0 else a.cpus end
		from unnest(p_moves) v
		join allocation o on o.job_id = v.job_id and o.step_id = v.step_id and o.attempt = v.attempt
			and o.node_id = v.node_id
		where not v.ended and a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt
			and a.node_id = v.node_id
			and coalesce(a.ended_at, 'infinity') = 'infinity'
			and a.started_at is distinct from v.slot_at
		returning a.node_id, a.cpus_held - o.cpus_held as cpus
	)
	update node_used u
	set cpus_used = u.cpus_used + m.cpus
	from (select m.node_id, sum(m.cpus) as cpus from moved m group by m.node_id) m
	where u.node_id = m.node_id and m.cpus <> 0;
end $$;
comment on function internal.slot_pass_on(internal.slot_move[]) is
	'Give pre-dispatched elements that have not ended the CPUs that internal.slot_moves found for them.';

create function internal.slot_wait(p_taken internal.allocation_start[]) returns internal.allocation_start[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return array(
		select internal.allocation_start_of(job_id => v.job_id, step_id => v.step_id, attempt => v.attempt,
			node_id => v.node_id, node_index => v.node_index, cpus => v.cpus, mem_mb => v.mem_mb, gres => v.gres,
			licenses => v.licenses, tasks => v.tasks, prolog_owner => v.prolog_owner, phase => v.phase,
			started_at => v.started_at, predispatched => v.predispatched,
			waits => v.waits or (v.predispatched and v.cpus_before + v.cpus > u.cpus - u.cpus_used))
		from (
			select x.*,
				sum(x.cpus) over (partition by x.node_id order by coalesce(x.predispatched, false),
				x.job_id, x.step_id) - x.cpus as cpus_before from unnest(p_taken) x
		) v
		join node_used u on u.node_id = v.node_id);
end $$;
comment on function internal.slot_wait(internal.allocation_start[]) is
	'Allocations that begin, with waits set for those pre-dispatched elements for which their nodes have no CPUs now. The '
	'others start at once, since an element has ended after the decision. The caller holds the locks of the nodes.';

create function internal.slot_boot(p_node int, p_job bigint, p_steps int[], p_began bigint[], p_ended bigint[])
	returns timestamptz
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (
		with turn as (
			-- The number of elements that have begun, less those that have ended, at each time of the node's clock.
			select s.request_id, x.us, x.n, sum(x.n) over (partition by s.request_id order by x.us, x.n) as begun
			from unnest(p_steps, p_began, p_ended) v (step_id, began_us, end_us)
			cross join lateral (select o.request_id from step o
				where o.job_id = p_job and o.step_id = v.step_id and o.array_index is not null offset 0) s -- by key
			cross join lateral (values (v.began_us, 1), (v.end_us, -1)) x (us, n)
			where x.us is not null
		), kept as (
			select n.request_id, array_agg(a.started_at order by a.started_at) as since
			from (select distinct t.request_id from turn t) n
			join step_array r on r.job_id = p_job and r.step_id = n.request_id
			cross join lateral (select o.* from allocation o
				where o.node_id = p_node and o.ended_at is null and o.predispatched offset 0) a -- by node
			where a.job_id = p_job and a.step_id between r.step_id + 1 and r.step_id + r.size and a.phase = 'ordered'
				and a.started_at is not null
			group by n.request_id
		)
		-- Elements that begin take the slots of those that end in this report. The remaining ones have slots that were free
		-- before the report, at the earliest those that became free first.
		select max(k.since[t.begun] - t.us * interval '1 microsecond')
		from turn t
		join kept k on k.request_id = t.request_id
		where t.n > 0);
end $$;
comment on function internal.slot_boot(int, bigint, int[], bigint[], bigint[]) is
	'The earliest boot_at (internal.report_digest) for pre-dispatched elements of a job on a node with which each of them '
	'starts when a slot of its array is free. p_steps: steps in a report; p_began: when each started, null if that was '
	'known before; p_ended: when it ended. Both are microseconds of the node''s clock.';

create function internal.predispatch_withdraw(p_job bigint, p_step int) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	-- The element may have begun, with its report under way. It then ends, and is queued again only if it may run again.
	update step s set end_wanted = 'requeue'
	from step_request r
	where s.job_id = p_job and s.step_id = p_step and r.job_id = s.job_id and r.step_id = s.request_id and r.requeue;
	perform internal.attempt_order('kill', p_job, p_step, '{"cause": "withdrawn"}');
end $$;
comment on function internal.predispatch_withdraw(bigint, int) is
	'Queue a pre-dispatched element, or a step that was sent ahead, again. If it has begun, it is killed, and is queued '
	'again if it may run again. The caller has locked its job.';

-- Pre-dispatched elements would take the CPUs of a victim of their array. The caller orders the end of the victim after this, so
-- no element begins when the victim ends.
create function internal.preempt_withdraw(p_job bigint, p_step int) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_one record;
begin
	for v_one in
		select distinct e.job_id, e.step_id
		from step s
		join allocation a on a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = s.attempt and a.ended_at is null
		cross join lateral (select o.* from allocation o
			where o.node_id = a.node_id and o.ended_at is null and o.predispatched and o.phase = 'ordered' offset 0) o -- by node
		join step e on e.job_id = o.job_id and e.step_id = o.step_id and e.attempt = o.attempt and e.request_id = s.request_id
			and e.end_wanted is null
		where s.job_id = p_job and s.step_id = p_step and o.job_id = p_job and o.step_id <> p_step
			and not exists (select from node_order k
				where k.node_id = o.node_id and k.kind = 'kill' and k.job_id = o.job_id and k.step_id = o.step_id
					and k.attempt = o.attempt)
		order by e.step_id desc
	loop
		perform internal.predispatch_withdraw(v_one.job_id, v_one.step_id);
	end loop;
end $$;
comment on function internal.preempt_withdraw(bigint, int) is
	'Queue the pre-dispatched elements of a victim''s array on its nodes again.';

create function api.schedule_withdraw(p_term bigint, p_jobs bigint[], p_requests int[], p_nodes int[]) returns int
language plpgsql security definer set lock_timeout = '5s' set search_path = live, rota, pg_temp as $$
declare
	v_orders jsonb;
begin
	perform internal.leader_check(p_term);
	select jsonb_agg(jsonb_build_object('node_id', h.node_id, 'kind', 'withdraw', 'job_id', h.job_id, 'step_id', h.steps[1],
		'attempt', h.attempt, 'also', h.steps[2:]))
	into v_orders
	from (
		select v.node_id, v.job_id, a.attempt, array_agg(a.step_id order by a.step_id) as steps
		from unnest(p_jobs, p_requests, p_nodes) v (job_id, request_id, node_id)
		join step_array r on r.job_id = v.job_id and r.step_id = v.request_id
		cross join lateral (select o.* from allocation o
			where o.node_id = v.node_id and o.ended_at is null and o.predispatched and o.phase = 'ordered' offset 0) a -- by node
		join step s on s.job_id = a.job_id and s.step_id = a.step_id and s.end_wanted is null
		where a.job_id = v.job_id and a.step_id between r.step_id + 1 and r.step_id + r.size
		group by v.node_id, v.job_id, a.attempt
	) h
	where not exists (select from node_order o
		where o.node_id = h.node_id and o.kind = 'withdraw' and o.job_id = h.job_id and o.attempt = h.attempt
			and o.step_id || o.also @> h.steps);
	perform internal.order_put(v_orders);
	return coalesce((select sum(1 + jsonb_array_length(x -> 'also')) from jsonb_array_elements(v_orders) x), 0);
end $$;
comment on function api.schedule_withdraw(bigint, bigint[], int[], int[]) is
	'Have nodes give back pre-dispatched elements that they have not started. Answers the number of elements that the new '
	'orders name. RT412: no longer leader.';
