-- Every event of a step passes through here, except `rerun` (sql/job/job_requeue.sql), which has no immediate effect on other
-- steps: internal.step_move writes the states, then applies the events of other steps that follow, until no more follow.
--
-- Invariants:
-- - The loop ends: each round either finds no moves, or takes steps to final states. The number of steps is finite, and no move
--   leaves a final state.
create function internal.step_move(p_actor text, p_moves internal.move[]) returns setof internal.move_made
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_moves internal.move[] := p_moves;
	v_written internal.move_made[];
	v_final internal.move_made[];
	v_script internal.move_made[];
	v_started internal.move_made[];
	v_bound boolean;
begin
	while cardinality(v_moves) > 0 loop
		v_written := array(select w::internal.move_made from internal.step_write(p_actor, v_moves) w);
		exit when v_written = '{}';
		return query select w.* from unnest(v_written) w;
		select array_agg(w::internal.move_made) filter (where w.final),
			array_agg(w::internal.move_made) filter (where w.final and w.array_index is null),
			array_agg(w::internal.move_made) filter (where w.event in ('start', 'run', 'expand')
			and w.array_index is null)
		into v_final, v_script, v_started
		from unnest(v_written) w;
		v_moves := '{}';
		-- Most jobs have no edges to or from them: then no event of another step follows. A submission that adds an edge
		-- waits for their locks.
		v_bound := exists (
			select from (select distinct w.job_id from unnest(v_written) w) j
			where exists (select from step_edge e where e.job_id = j.job_id offset 0) -- by key
				or exists (select from step_edge e where e.peer_job_id = j.job_id offset 0)); -- by key
		if v_bound and v_started is not null then
			v_moves := v_moves || array(select m::internal.move from internal.step_resolve_start(v_started) m);
		end if;
		if v_final is not null then
			v_moves := v_moves || array(select m::internal.move from internal.step_resolve_end(v_final, v_bound) m);
		end if;
		-- Nothing is reserved for elements, and a job group is over when the heads of its arrays are.
		if v_bound and v_script is not null then
			perform internal.allocation_unreserve(array(select (w.job_id, w.step_id, 0)::internal.attempt_key
				from unnest(v_script) w));
		end if;
		if v_script is not null then
			perform internal.group_close(v_script);
		end if;
		if v_bound then
			v_moves := v_moves || array(select m::internal.move from internal.array_correspond(v_written) m);
		end if;
	end loop;
end $$;
comment on function internal.step_move(text, internal.move[]) is
	'Apply events to steps, with all events of other steps that follow. Returns every event that was applied. Events that '
	'the state machine does not allow are left out. The caller holds internal.job_lock.';
