-- Effects of the start or end of a step on the steps that wait for it. The functions return the moves that follow
-- (dependency_fail, ends of array heads), which internal.step_move applies in turn.

-- The rule of dependencies, in one place (docs/submitting.md has it as a table). Success is "completed", and "skipped" as up to
-- date, as make sees it. A step that was not needed skips what waits for its success, its failure or its nodes: that branch is
-- not needed either.
create function internal.edge_verdict(p_kind text, p_condition text, p_state text, p_cause text, p_started boolean,
	p_placed boolean) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return case
		when p_kind <> 'after' and p_placed then 'met'
		when p_kind = 'after' and p_condition = 'start' and p_started then 'met'
		when p_state is null then null
		-- A peer that ended without ever having nodes is on no node, so other_nodes is met.
		when p_kind = 'other_nodes' or (p_kind = 'after' and p_condition in ('any', 'teardown')) then 'met'
		when p_kind = 'after' and (p_state = 'completed' or (p_state = 'skipped' and p_cause = 'up_to_date')) then
			case p_condition when 'fail' then 'not_needed' else 'met' end
		when p_state = 'skipped' then 'not_needed'
		when p_kind = 'after' and p_condition = 'fail' then 'met'
		else 'failed' end;
end $$;
comment on function internal.edge_verdict(text, text, text, text, boolean, boolean) is
	'The state of an edge after its peer has ended in a state (null: it has not) with a cause, had started, and had been '
	'placed on nodes: met, failed, not_needed; null: the edge waits. A peer of an edge with condition teardown has ended '
	'only if internal.staging_is_over says so, too.';

create function internal.edge_text(p_kind text, p_condition text, p_peer text, p_state text, p_verdict text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return case p_verdict when 'not_needed' then 'not needed: ' else 'can no longer be met: ' end || p_peer || case
		when p_state = 'skipped' then ' was skipped'
		when p_verdict = 'not_needed' then ' did not fail'
		when p_kind = 'same_nodes' then ' never had nodes to be the same as'
		when p_kind = 'with' or p_condition = 'start' then ' never started'
		else ' ended ' || p_state end;
end $$;
comment on function internal.edge_text(text, text, text, text, text) is
	'The reason why an edge is failed or not_needed, as text: its kind and condition, the label and the state of its peer.';

create function internal.edge_resolve(p_edges jsonb) returns setof internal.move
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	return query
	with settled as (
		update step_edge e
		set state = v.state, resolved_at = now()
		from jsonb_to_recordset(p_edges) as v (job_id bigint, step_id int, edge int, state text, peer_state text)
		where e.job_id = v.job_id and e.step_id = v.step_id and e.edge = v.edge and e.state = 'waiting'
		returning e.job_id, e.step_id, e.edge, e.kind, e.state, e.gates, e.kind = 'after' as ordered, e.peer_job_id,
			e.peer_step_id, e."condition", v.peer_state
	), counted as (
		select s.job_id, s.step_id,
			count(*) filter (where s.ordered and s.gates and s.state = 'met') as after_met,
			count(*) filter (where s.ordered and s.state in ('failed', 'not_needed')) as after_over,
			count(*) filter (where not s.ordered and s.gates and s.state = 'met') as peer_met,
			count(*) filter (where not s.ordered and s.state in ('failed', 'not_needed')) as peer_over,
			count(*) filter (where s.state = 'failed') as failed,
			-- "can no longer be met" comes before "not needed".
			min(case when s.state <> 'met'
				then internal.edge_text(s.kind, s."condition",
				coalesce(internal.step_label(s.peer_job_id, s.peer_step_id), 'job ' || s.peer_job_id),
				s.peer_state, s.state) end) as message
		from settled s
		group by s.job_id, s.step_id
	), judged as (
		select c.*, r.deps_any,
			-- Edges that "?" joins are alternatives. If all are resolved and none is met, one failed edge means that the
			-- step cannot run.
			c.failed > 0
				or (r.deps_any and c.peer_over = 0
				and exists (select from step_edge o
				where o.job_id = c.job_id and o.step_id = c.step_id and o.state = 'failed')) as bad,
			-- Of edges that "?" joins, the first one met is enough; the rest no longer matter. This statement's
			-- snapshot still shows this call's edges as waiting.
			r.deps_any and exists (select from step_edge o where o.job_id = c.job_id and o.step_id = c.step_id
				and o.kind = 'after' and o.gates and o.state = 'met') as met_before,
			(select count(*) from step_edge o where r.deps_any and o.job_id = c.job_id and o.step_id = c.step_id
				and o.kind = 'after' and o.gates and o.state = 'waiting') as still_waiting
		from counted c
		join step_request r on r.job_id = c.job_id and r.step_id = c.step_id
	), released as (
		update step s
		set deps_waiting = s.deps_waiting - j.met,
			-- Only once: the step did not wait for an edge that is met later ("?"), or after its end.
			eligible_at = case when s.ended_at is null and s.deps_waiting > 0 and s.deps_waiting = j.met then now()
				else s.eligible_at end
		from (
			select x.job_id, x.step_id, x.peer_met + case when not x.deps_any then x.after_met
				when x.after_met > 0 and not x.met_before then 1 else 0 end as met
			from judged x
		) j
		where s.job_id = j.job_id and s.step_id = j.step_id
	)
	select j.job_id, j.step_id, case when j.bad then 'dependency_fail' else 'skip' end, null::timestamptz,
		case when j.bad then 'dependency' else 'not_needed' end,
		null::int, null::int, j.message
	from judged j
	-- Peers skip only a step that has not started, or the head of an array. A live step is skipped only by its own node
	-- (outputs up to date).
	join step s on s.job_id = j.job_id and s.step_id = j.step_id and (s.state = 'pending' or s.attempt = 0)
	where j.peer_over > 0
		or (not j.deps_any and j.after_over > 0)
		or (j.deps_any and j.after_met = 0 and not j.met_before and j.after_over = j.still_waiting and j.after_over > 0);
	-- Not only an end makes steps eligible: the start of a peer does, too (--after=x:start).
	notify rota_schedule;
end $$;
comment on function internal.edge_resolve(jsonb) is
	'Mark edges [{job_id, step_id, edge, state, peer_state}] as met, failed or not_needed, and count down the waiting edges '
	'of their steps. Returns the moves of steps that can no longer start, or need not.';

create function internal.step_resolve_start(p_moved internal.move_made[]) returns setof internal.move
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	return query
	-- The placement of a peer decides on which nodes steps may run; "after:start" waits for the start of the peer's first
	-- task.
	select m.*
	from unnest(p_moved) as v
	cross join lateral (
		select jsonb_agg(jsonb_build_object('job_id', e.job_id, 'step_id', e.step_id, 'edge', e.edge, 'state',
			'met')) as edges
		from step_edge e
		where e.peer_job_id = v.job_id and e.peer_step_id = any (array[v.step_id, -1]) and e.state = 'waiting'
			and ((v.event in ('start', 'expand') and e.kind in ('same_nodes', 'other_nodes', 'with'))
				or (v.event in ('run', 'expand') and e.kind = 'after' and e."condition" = 'start'))
	) found
	cross join lateral internal.edge_resolve(found.edges) m
	where found.edges is not null;
end $$;
comment on function internal.step_resolve_start(internal.move_made[]) is
	'The moves of steps that follow from the start of their peers.';

-- A job counts down the steps of its script, and ends with the last one.
create function internal.job_end(p_final internal.move_made[]) returns bigint[]
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_over bigint[];
	v_mail bigint[];
	v_staging bigint[];
begin
	with ended as (
		select v.job_id, count(*) as n from unnest(p_final) v group by v.job_id
	), counted as (
		update job j
		set steps_left = j.steps_left - e.n,
			ended_at = case when j.steps_left = e.n then now() end,
			state = case when j.steps_left = e.n then w.state end,
			exit_code = case when j.steps_left = e.n then w.exit_code end,
			signal = case when j.steps_left = e.n then w.signal end,
			cause = case when j.steps_left = e.n then w.cause end
		from ended e
		join job b on b.job_id = e.job_id
		left join lateral (
			select s.state, s.signal, s.cause, max(s.exit_code) over () as exit_code
			from step_request r
			join step s on s.job_id = r.job_id and s.step_id = r.step_id
			join step_state st on st.state = s.state
			where b.steps_left = e.n and r.job_id = e.job_id
			-- If all steps of a job were skipped and one of them was up to date, the job is completed.
			order by st.severity desc, s.cause = 'up_to_date' desc nulls last, s.step_id
			limit 1
		) w on true
		where j.job_id = e.job_id
		returning j.job_id, j.ended_at, j.mail_type, j.staging
	)
	select array_agg(c.job_id), array_agg(c.job_id) filter (where c.mail_type is not null),
		array_agg(c.job_id) filter (where c.staging)
	into v_over, v_mail, v_staging
	from counted c
	where c.ended_at is not null;
	if v_staging is not null then
		perform internal.staging_end(v_staging);
	end if;
	if v_mail is not null then
		perform internal.mail_job(v_mail, false);
	end if;
	if v_over is not null then
		perform internal.trigger_jobs(v_over, 'job_end');
	end if;
	return v_over;
end $$;
comment on function internal.job_end(internal.move_made[]) is
	'Subtract ended steps of scripts from the counts of their jobs. Returns the jobs that are over now.';

create function internal.array_count(p_final internal.move_made[]) returns internal.attempt_key[]
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_over internal.attempt_key[];
	v_staged boolean;
begin
	with ended as (
		select v.job_id, v.request_id, count(*) filter (where v.to_state in ('completed', 'skipped')) as ok,
			count(*) as n, count(*) filter (where v.from_state <> 'pending') as ran
		from unnest(p_final) v
		where v.array_index is not null
		group by v.job_id, v.request_id
	), counted as (
		update step_array a
		set completed = a.completed + e.ok, failed = a.failed + e.n - e.ok, running = a.running - e.ran
		from ended e
		where a.job_id = e.job_id and a.step_id = e.request_id
		returning a.job_id, a.step_id, a.completed + a.failed = a.size as over, a.staged
	)
	select array_agg((c.job_id, c.step_id, 0)::internal.attempt_key) filter (where c.over), bool_or(c.staged)
	into v_over, v_staged
	from counted c;
	if v_staged then
		perform internal.staging_end_elements(p_final);
	end if;
	return v_over;
end $$;
comment on function internal.array_count(internal.move_made[]) is
	'Count ended elements at the heads of their arrays, and have the elements'' own data staged out. Returns the heads whose '
	'last element has ended.';

create function internal.step_resolve_end(p_final internal.move_made[], p_bound boolean) returns setof internal.move
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_script internal.move_made[] := array(select v::internal.move_made from unnest(p_final) v where v.array_index is null);
	v_over internal.attempt_key[];
	v_edges jsonb;
	v_jobs bigint[];
begin
	-- The head of an array ends with the worst state of its elements when the last element has ended.
	v_over := internal.array_count(p_final);
	if v_over is not null then
		return query select m.* from unnest(v_over) o cross join lateral internal.array_finish(o.job_id, o.step_id) m;
	end if;
	if v_script = '{}' then
		return;
	end if;
	v_jobs := internal.job_end(v_script);
	perform internal.trigger_steps(v_script);
	if not p_bound then
		return;
	end if;

	-- Edges whose peer is a step, or a whole job, that has ended.
	select jsonb_agg(jsonb_build_object('job_id', e.job_id, 'step_id', e.step_id, 'edge', e.edge, 'peer_state', p.state,
			'state', internal.edge_verdict(e.kind, e."condition", p.state, p.cause, p.started, p.placed)))
	into v_edges
	from (
		select s.job_id, s.step_id, s.state, s.cause, s.started_at is not null as started,
			-- ordered_at is that of this run: "rota requeue" begins another one.
			s.ordered_at is not null or s.started_at is not null as placed
		from unnest(v_script) v
		join step s on s.job_id = v.job_id and s.step_id = v.step_id
		union all
		select j.job_id, -1, j.state, j.cause,
			exists (select from step s where s.job_id = j.job_id and s.started_at is not null), true from job j
			where j.job_id = any (v_jobs)
	) p
	join step_edge e on e.peer_job_id = p.job_id and e.peer_step_id = p.step_id and e.state = 'waiting'
	-- Edges with condition corr are resolved element by element; see internal.array_correspond.
	where e."condition" <> 'corr' and (e.kind <> 'with' or not p.placed)
		and (e."condition" <> 'teardown' or internal.staging_is_over(p.job_id));
	if v_edges is not null then
		return query select * from internal.edge_resolve(v_edges);
	end if;

	-- A step that never started fails those that were to start with it; the edge may have either direction.
	return query
	select o.job_id, o.step_id, case s.state when 'skipped' then 'skip' else 'dependency_fail' end, null::timestamptz,
		case s.state when 'skipped' then 'not_needed' else 'dependency' end, null::int, null::int,
		'was to start with ' || internal.step_label(s.job_id, s.step_id) || ', which ' || case s.state
		when 'skipped' then 'was not needed' else 'never started' end
	from unnest(v_script) v
	join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.ordered_at is null and s.started_at is null
	join step_request r on r.job_id = s.job_id and r.step_id = s.step_id and r.with_set is not null
	join step_request q on q.job_id = r.job_id and q.with_set = r.with_set and q.step_id <> r.step_id
	join step o on o.job_id = q.job_id and o.step_id = q.step_id and o.state = 'pending' and o.ordered_at is null;
end $$;
comment on function internal.step_resolve_end(internal.move_made[], boolean) is
	'The moves that follow from the end of steps: for their arrays, their jobs, and, if a step has edges or is the peer of '
	'one (p_bound), the steps that wait for them.';
