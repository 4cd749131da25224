create function internal.array_index(p_indices jsonb, p_position int) returns int
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
	v_range jsonb;
	v_left int := p_position;
	v_count int;
begin
	for v_range in select jsonb_array_elements(p_indices) loop
		v_count := ((v_range ->> 1)::int - (v_range ->> 0)::int) / (v_range ->> 2)::int + 1;
		if v_left < v_count then
			return (v_range ->> 0)::int + v_left * (v_range ->> 2)::int;
		end if;
		v_left := v_left - v_count;
	end loop;
	return null;
end $$;
comment on function internal.array_index(jsonb, int) is
	'The index at a position of an array''s indices [[low, high, step], ...]; null: the position is after the last index.';

-- Ranges ascend and do not overlap (jobmgr/translate/option_array.c), so the range of an index or a position is found without
-- reading the others.
create function internal.array_spans(p_indices jsonb) returns internal.index_ranges
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
	select (array_agg(r.low order by r.nr), array_agg(r.high order by r.nr), array_agg(r.step order by r.nr),
		array_agg(r.before order by r.nr))::internal.index_ranges
	from (
		select v.nr, v.low, v.high, v.step,
			(sum((v.high - v.low) / v.step + 1) over (order by v.nr) - ((v.high - v.low) / v.step + 1))::int as before
		from (
			select x.nr, (x.value ->> 0)::int as low, (x.value ->> 1)::int as high, (x.value ->> 2)::int as step
			from jsonb_array_elements(p_indices) with ordinality x (value, nr)
		) v
	) r
$$;
comment on function internal.array_spans(jsonb) is
	'An array''s indices [[low, high, step], ...] in a form that is read once for many look-ups.';

create function internal.array_indices(p_spans internal.index_ranges, p_positions int[]) returns int[]
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
	select array_agg(case when n.index <= (p_spans).highs[n.at] then n.index end order by n.nr)
	from (
		select x.nr, x.at, (p_spans).lows[x.at] + (x.pos - (p_spans).befores[x.at]) * (p_spans).steps[x.at] as index
		from (select p.nr, p.pos,
			width_bucket(p.pos, (p_spans).befores) as at from unnest(p_positions) with ordinality p (pos, nr)) x
	) n
$$;
comment on function internal.array_indices(internal.index_ranges, int[]) is
	'The indices at positions of an array, in the same order; null in place of a position after the last index.';

create function internal.array_positions(p_spans internal.index_ranges, p_low int, p_high int) returns int[]
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
	select array_agg(case when x.index <= (p_spans).highs[x.at]
		and (x.index - (p_spans).lows[x.at]) % (p_spans).steps[x.at] = 0
		then (p_spans).befores[x.at] + (x.index - (p_spans).lows[x.at]) / (p_spans).steps[x.at] end order by x.index)
	from (select i.index, width_bucket(i.index, (p_spans).lows) as at from generate_series(p_low, p_high) i (index)) x
$$;
comment on function internal.array_positions(internal.index_ranges, int, int) is
	'The positions of all indices from p_low to p_high in an array, in order; null in place of an index that the array does '
	'not have.';

-- An element gets a row when it starts, or before that when an event applies to it alone. The row of an element that starts is
-- inserted in that state.
create function internal.array_expand(p_elements internal.element[], p_actor text, p_start_at timestamptz default null)
	returns setof internal.move_made
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	return query
	with made as (
		insert into step (job_id, step_id, request_id, association_id, queue, array_index, rank, begin_at, start_by,
			eligible_at, deps_waiting, held, held_reason, state, attempt, ordered_at)
		select h.job_id, h.step_id + 1 + v.pos, h.step_id, h.association_id, h.queue,
			coalesce(v.index, (a.indices #>> '{0,0}')::int + v.pos * (a.indices #>> '{0,2}')::int), h.rank, h.begin_at,
			h.start_by, case when not a.staged then h.eligible_at end, a.staged::int, h.held, h.held_reason, t.to_state,
			(t.event = 'start')::int, p_start_at
		from (select e.job_id, e.request_id, array_agg(distinct e.pos) as positions from unnest(p_elements) e group by 1, 2) w
		join step h on h.job_id = w.job_id and h.step_id = w.request_id
		join step_array a on a.job_id = h.job_id and a.step_id = h.step_id and a.rest_state is null
		-- Most arrays have one range, which needs no look-up. Several ranges are read once for all elements.
		cross join lateral unnest(w.positions, case when jsonb_array_length(a.indices) > 1
			then internal.array_indices(internal.array_spans(a.indices), w.positions) end) v (pos, index)
		join step_transition t on t.from_state = 'pending'
			and t.event = case when p_start_at is null then 'submit' else 'start' end
		-- By key: "not exists" would join with all steps of the job. The lock of the job keeps other sessions from inserting.
		where v.pos < a.size
			and (select o.step_id from step o where o.job_id = h.job_id and o.step_id = h.step_id + 1 + v.pos) is null
		returning step.job_id, step.step_id, step.request_id, step.array_index, step.attempt, step.state, step.deps_waiting
	), staged as (
		-- Elements of arrays that are staged element by element, which wait for nothing else.
		insert into staging (job_id, array_job_id, step_id, pool, capacity)
		select nextval('job_job_id_seq'), m.job_id, m.step_id, g.pool, g.capacity
		from made m join rota.staging g on m.deps_waiting = 1 and g.job_id = m.job_id
	), logged as (
		insert into event (job_id, step_id, attempt, at, from_state, event, to_state, actor)
		select m.job_id, m.step_id, m.attempt, coalesce(p_start_at, clock_timestamp()), 'pending',
			case m.attempt when 0 then 'submit' else 'start' end, m.state, p_actor
		from made m
	), taken as (
		select m.job_id, m.request_id, array_agg(m.step_id - m.request_id - 1) as positions
		from made m group by m.job_id, m.request_id
	), stepped as (
		-- next is the first position without a row; skip holds the positions after it that have rows.
		update step_array a
		set next = n.next,
			running = a.running + case when p_start_at is null then 0 else cardinality(t.positions) end,
			skip = array(select p from unnest(a.skip || t.positions) p where p >= n.next order by p)
		from taken t
		cross join lateral (
			select step_array_next.next from step_array sa
			cross join lateral (
				select coalesce(min(c.p), sa.size) as next
				from generate_series(sa.next,
					least(sa.size - 1, sa.next + cardinality(sa.skip) + cardinality(t.positions))) c (p)
				where c.p <> all (sa.skip) and c.p <> all (t.positions)
			) step_array_next
			where sa.job_id = t.job_id and sa.step_id = t.request_id
		) n
		where a.job_id = t.job_id and a.step_id = t.request_id
	)
	select m.job_id, m.step_id, m.request_id, m.array_index, m.attempt, 'pending',
		case m.attempt when 0 then 'submit' else 'start' end, m.state, false
	from made m;
end $$;
comment on function internal.array_expand(internal.element[], text, timestamptz) is
	'Make rows of array elements that have none yet: started with attempt 1 at p_start_at, or pending (null). Returns the '
	'elements that got a row. Elements of an array that is staged element by element wait for their data. The caller holds '
	'the job''s lock.';

-- after=X:corr: an element may start when the elements of its peers at its position have ended. Heads with other unresolved
-- dependencies wait with all their elements.
create function internal.correspond_pending(p_moved internal.move_made[], p_jobs bigint[])
	returns table (job_id bigint, request_id int, pos int, verdict text, message text)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	with head as (
		select e.job_id, e.step_id, null::int as pos
		from step_edge e
		where e.job_id = any (p_jobs) and e."condition" = 'corr'
		union
		select e.job_id, e.step_id, m.step_id - m.request_id - 1
		from unnest(p_moved) m
		join step_edge e on e.peer_job_id = m.job_id and e.peer_step_id = m.request_id and e."condition" = 'corr'
			and e.state = 'waiting'
		where m.array_index is not null
	), candidate as (
		select distinct h.job_id, h.step_id, p.step_id - p.request_id - 1 as pos
		from head h
		join step s on s.job_id = h.job_id and s.step_id = h.step_id and s.deps_waiting = 0
			and coalesce(s.ended_at, 'infinity') = 'infinity'
		join step_edge e on e.job_id = h.job_id and e.step_id = h.step_id and e."condition" = 'corr'
		join step p on p.job_id = e.peer_job_id and p.request_id = e.peer_step_id and p.array_index is not null
			and p.ended_at is not null
			and p.step_id between e.peer_step_id + 1 + coalesce(h.pos, 0)
				and e.peer_step_id + 1 + coalesce(h.pos, 2000000000 - e.peer_step_id)
	), judged as (
		select c.job_id, c.step_id, c.pos, count(*) as edges, count(p.ended_at) as ended,
			(array_agg(p order by v.verdict) filter (where v.verdict in ('failed', 'not_needed')))[1] as peer,
				min(v.verdict) filter (where v.verdict <> 'met') as verdict
		from candidate c
		join step_edge e on e.job_id = c.job_id and e.step_id = c.step_id and e."condition" = 'corr'
		left join step p on p.job_id = e.peer_job_id and p.step_id = e.peer_step_id + 1 + c.pos
		cross join lateral (select case when p.ended_at is not null then case p.state when 'completed' then 'met'
			else internal.edge_verdict('after', 'corr', p.state, p.cause, true, true) end end as verdict) v
		where not exists (select from step o where o.job_id = c.job_id and o.step_id = c.step_id + 1 + c.pos)
		group by c.job_id, c.step_id, c.pos
	)
	select j.job_id, j.step_id, j.pos, j.verdict, case when j.verdict is not null then
		internal.edge_text('after', 'corr', internal.step_label((j.peer).job_id, (j.peer).step_id), (j.peer).state,
			j.verdict) end
	from judged j
	where j.ended = j.edges or j.verdict is not null;
end $$;
comment on function internal.correspond_pending(internal.move_made[], bigint[]) is
	'Elements of after=X:corr arrays that have no row yet and may start, or (verdict: failed, not_needed; message: why) '
	'never will: those that correspond to elements in p_moved, and all of the jobs p_jobs.';

create function internal.correspond_over(p_jobs bigint[]) returns setof internal.move
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_over record;
begin
	-- A peer that is over has no more elements to wait for.
	update step_edge e
	set state = internal.edge_verdict('after', 'corr', p.state, p.cause, true, true), resolved_at = now()
	from step p
	where e.job_id = any (p_jobs) and e."condition" = 'corr' and e.state = 'waiting'
		and p.job_id = e.peer_job_id and p.step_id = e.peer_step_id and p.ended_at is not null;
	-- A step that corresponds to an element that never existed cannot start.
	for v_over in
		select a.job_id, a.step_id, min(internal.step_label(e.peer_job_id, e.peer_step_id)) as peer,
			bool_or(e.state = 'not_needed') and not bool_or(e.state = 'failed') as unneeded
		from step_edge e
		join step h on h.job_id = e.job_id and h.step_id = e.step_id and h.deps_waiting = 0
			and coalesce(h.ended_at, 'infinity') = 'infinity'
		join step_array a on a.job_id = h.job_id and a.step_id = h.step_id and a.next < a.size
		where e.job_id = any (p_jobs) and e."condition" = 'corr'
		group by a.job_id, a.step_id
		having bool_and(e.state <> 'waiting')
	loop
		return query select *
			from internal.array_give_up(v_over.job_id, v_over.step_id,
			case when v_over.unneeded then 'skip' else 'dependency_fail' end,
			case when v_over.unneeded then 'not_needed' else 'dependency' end,
			case when v_over.unneeded then 'not needed: ' || v_over.peer || ' was skipped'
			else 'can no longer be met: ' || v_over.peer || ' has ended without such an element' end);
	end loop;
end $$;
comment on function internal.correspond_over(bigint[]) is
	'Resolve the after=X:corr dependencies of jobs on steps that have ended, and end the elements without a counterpart. '
	'Returns the moves that follow.';

create function internal.array_correspond(p_moved internal.move_made[]) returns setof internal.move
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_jobs bigint[];
	v_due jsonb;
begin
	-- Check arrays with a dependency after=X:corr. If the step that changed is no array element, check all elements of such
	-- arrays in its job and in jobs that wait for it. If it is an element, check only the elements at the same position.
	select array_agg(distinct x.job_id) into v_jobs
	from (
		select m.job_id from unnest(p_moved) m where m.array_index is null
		union
		select e.job_id
		from unnest(p_moved) m
		join step_edge e on e.peer_job_id = m.job_id and e.peer_step_id = any (array[m.step_id, -1])
		where m.array_index is null
	) x
	where exists (select from step_edge e where e.job_id = x.job_id and e."condition" = 'corr');
	if v_jobs is null
		and not exists (select from unnest(p_moved) m
		join step_edge e on e.peer_job_id = m.job_id and e."condition" = 'corr' and e.state = 'waiting') then
		return;
	end if;
	select jsonb_agg(to_jsonb(d)) into v_due from internal.correspond_pending(p_moved, v_jobs) d;
	if v_due is not null then
		perform internal.array_expand(array(
			select (d.job_id, d.request_id, d.pos)::internal.element
				from jsonb_to_recordset(v_due) as d (job_id bigint, request_id int, pos int)), 'schedule');
		return query
			select d.job_id, d.request_id, 'expand', null::timestamptz, null::text, null::int, null::int, null::text
			from (select distinct d.job_id,
				d.request_id from jsonb_to_recordset(v_due) as d (job_id bigint, request_id int)) d
			join step h on h.job_id = d.job_id and h.step_id = d.request_id and h.state = 'pending'
			union all
			select d.job_id, d.request_id + 1 + d.pos,
				case d.verdict when 'failed' then 'dependency_fail' else 'skip' end, null,
				case d.verdict when 'failed' then 'dependency' else d.verdict end, null, null, d.message
			from jsonb_to_recordset(v_due) as d (job_id bigint, request_id int, pos int, verdict text, message text)
			where d.verdict is not null;
	end if;
	if v_jobs is not null then
		return query select * from internal.correspond_over(v_jobs);
	end if;
end $$;
comment on function internal.array_correspond(internal.move_made[]) is
	'Make the elements of after=X:corr arrays eligible, or fail them, when their corresponding elements have ended. p_moved: '
	'events that changed steps; a row with only a job stands for all steps of the job. Returns the moves that follow.';

create function internal.array_finish(p_job bigint, p_head int) returns setof internal.move
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	return query
	select p_job, p_head, t.event, null::timestamptz, w.cause, w.exit_code, w.signal, w.message
	from step_array a
	join step h on h.job_id = a.job_id and h.step_id = a.step_id and coalesce(h.ended_at, 'infinity') = 'infinity'
	cross join lateral (
		select x.state, x.cause, x.signal, x.message, max(x.exit_code) over () as exit_code
		from (
			select s.state, s.cause, s.exit_code, s.signal, s.message, s.step_id
			from step s
			where s.job_id = a.job_id and s.request_id = a.step_id and s.array_index is not null
			union all
			select a.rest_state, null, null, null, null, null where a.rest_state is not null
		) x
		join step_state st on st.state = x.state
		order by st.severity desc, x.cause = 'up_to_date' desc nulls last, x.step_id
		limit 1
	) w
	join step_transition t on t.from_state = h.state and t.to_state = w.state
	where a.job_id = p_job and a.step_id = p_head and a.completed + a.failed = a.size
	limit 1;
end $$;
comment on function internal.array_finish(bigint, int) is
	'The move that ends the head of an array, once all of its elements have ended: with the worst of their states.';

create function internal.array_give_up(p_job bigint, p_head int, p_event text, p_cause text, p_message text)
	returns setof internal.move
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_state text;
begin
	select t.to_state into strict v_state from step_transition t where t.from_state = 'pending' and t.event = p_event;
	update step_array a
	set failed = a.failed + case v_state when 'skipped' then 0 else a.size - a.next - cardinality(a.skip) end,
		completed = a.completed + case v_state when 'skipped' then a.size - a.next - cardinality(a.skip) else 0 end,
			next = a.size, skip = '{}', rest_state = v_state
	where a.job_id = p_job and a.step_id = p_head and a.next < a.size;
	return query
		select f.job_id, f.step_id, f.event, f.at, coalesce(f.cause, p_cause), f.exit_code, f.signal,
			coalesce(f.message, p_message)
		from internal.array_finish(p_job, p_head) f;
end $$;
comment on function internal.array_give_up(bigint, int, text, text, text) is
	'End the elements of an array that have no row, with the event p_event. Returns the move that ends the head of the array '
	'if no element is left.';
