-- Moves of running steps: which steps can be moved, and at which cost, for the proposals of jobmgr/schedule/schedule_moves.c;
-- and the commit of the moves that the leader makes.
-- Invariants:
-- - The steps of a move are asked for checkpoints, and end only when these are complete.
-- - From the commit of the move on, a claim keeps what they free for the step that they make room for.
-- - Steps that move to empty a node have claims themselves, for the places to which they move. When another step waits, claims of
--   such steps that still run are given up, since each of these steps counts twice.
-- - If a step of a move is not saved, the claim is given up and the step stays. Steps of the same move that are saved after
--   that stay too: each checks for the claim when its checkpoint is complete. No session locks jobs of others for that.

create function internal.restore_cost(p_job bigint, p_step int) returns double precision
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (select avg(extract(epoch from c.restored_at - c.restoring_at)) from checkpoint c
		where c.job_id = p_job and c.step_id = p_step and c.restored_at is not null);
end $$;
comment on function internal.restore_cost(bigint, int) is
	'Mean seconds of the restarts from checkpoints of a step; null: there was none.';

create function internal.move_is_futile(p_job bigint, p_step int, p_attempt int) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (
		select max(c.failed_at) > clock_timestamp() - internal.checkpoint_wait() * 10 * 2 ^ least(count(*) - 1, 10)
		from checkpoint c
		where c.job_id = p_job and c.step_id = p_step and c.attempt = p_attempt and c.reason = 'move' and c.state = 'failed');
end $$;
comment on function internal.move_is_futile(bigint, int, int) is
	'Whether an attempt is not to be moved because it was lately asked for a checkpoint for a move and not saved: for '
	'ten times checkpoint_wait_s, and for twice as long after each further failure. Null: it never failed.';

create function internal.off_after_s(p_node int) returns double precision
language sql stable set search_path = rota, pg_temp as $$
	select case when n.power_saving and n.state = 'up' and n.power = 'on' and internal.setting_int('power_off_idle_s') > 0
		then internal.setting_int('power_off_idle_s') else 'infinity'::double precision end
	from node n where n.node_id = p_node;
$$;
comment on function internal.off_after_s(int) is
	'Seconds for which a node without work stays on before it is powered off; infinity: it is not powered off.';

create function internal.movable_steps() returns table (job_id bigint, step_id int, cost_s double precision,
	off_after_s double precision)
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select s.job_id, s.step_id, c.cost_s + coalesce(internal.restore_cost(s.job_id, s.step_id), c.cost_s),
		internal.off_after_s(a.node_id)
	from allocation a
	join step s on s.job_id = a.job_id and s.step_id = a.step_id and s.attempt = a.attempt and s.state = 'running'
		and s.end_wanted is null
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id and r.checkpoint is not null
		and r.requeue and r.with_set is null
	cross join lateral internal.checkpoint_cost(s.job_id, s.step_id) c
	where a.ended_at is null and a.attempt > 0 and a.node_index = 0 and a.started_at is not null and c.cost_s is not null
		and not exists (select from step_edge e where e.job_id = r.job_id and r.step_id in (e.step_id, e.peer_step_id)
			and e.kind in ('same_nodes', 'other_nodes'))
		and not exists (select from evacuation_move m where m.job_id = s.job_id and m.step_id = s.step_id
			and m.state in ('waiting', 'ending', 'queued'))
		and not exists (select from checkpoint o where o.job_id = s.job_id and o.step_id = s.step_id and o.attempt = s.attempt
			and o.state in ('asked', 'taking'))
		and internal.move_is_futile(s.job_id, s.step_id, s.attempt) is not true
	order by s.rank desc, s.job_id, s.step_id;
end $$;
comment on function internal.movable_steps() is
	'Running steps that can be saved and continue on other nodes. cost_s: measured seconds of a move, from the latest '
	'five checkpoints and all restarts from them; a step without a restart counts its checkpoint twice. Steps without a '
	'measured checkpoint are left out, and so are those of internal.move_is_futile. off_after_s: internal.off_after_s '
	'of its first node.';

create function internal.snapshot_moves() returns jsonb
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_movers constant jsonb := (select coalesce(jsonb_agg(to_jsonb(m)), '[]') from internal.movable_steps() m);
begin
	return jsonb_build_object('movers', v_movers, 'moving', internal.snapshot_requests(
		array(select (m ->> 'job_id')::bigint from jsonb_array_elements(v_movers) m),
		array(select (m ->> 'step_id')::int from jsonb_array_elements(v_movers) m)));
end $$;
comment on function internal.snapshot_moves() is
	'Steps that can be moved [{job_id, step_id, cost_s, off_after_s}], and the request of each when it starts again, as '
	'internal.snapshot_requests.';

create function api.schedule_movers() returns table (job_id bigint, step_id int, cost_s double precision,
	off_after_s double precision)
language sql stable security definer set search_path = live, rota, pg_temp as $$
	select m.job_id, m.step_id, m.cost_s, m.off_after_s from internal.movable_steps() m;
$$;
comment on function api.schedule_movers() is 'Running steps that can be moved, as internal.movable_steps returns them.';

create function internal.move_step(p_job bigint, p_step int, p_why text) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.preempt_withdraw(p_job, p_step);
	perform internal.step_move('schedule', array[internal.move_of(job_id => p_job, step_id => p_step,
		event => 'modify', cause => 'evacuated', message => p_why)]);
	perform internal.checkpoint_ask(p_job, p_step, 'move', 'schedule', p_why, 'requeue');
end $$;
comment on function internal.move_step(bigint, int, text) is
	'Ask a running step for a checkpoint, after which it is queued again (internal.checkpoint_follow). The caller has '
	'locked its job.';

create function internal.move_make(p_move jsonb) returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_empties constant int := (p_move ->> 'empties')::int;
	v_why constant text := coalesce('moved to empty node ' || (select n.name from node n where n.node_id = v_empties),
		'moved to make room for '
		|| internal.step_label((p_move #>> '{steps,0,job}')::bigint, (p_move #>> '{steps,0,step}')::int));
	v_waiting boolean;
	v_moving internal.attempt_key[];
	v_one internal.attempt_key;
begin
	if v_empties is not null then
		v_waiting := internal.off_after_s(v_empties) < 'infinity';
	else
		select bool_and(w.label is not null) into v_waiting
		from jsonb_to_recordset(p_move -> 'steps') x (job bigint, step int)
		cross join lateral internal.preempt_wait(x.job, x.step) w;
	end if;
	v_moving := array(
		select (x.job, x.step, x.attempt)::internal.attempt_key
		from jsonb_to_recordset(p_move -> 'moving') x (job bigint, step int, attempt int)
		join internal.movable_steps() m on m.job_id = x.job and m.step_id = x.step
		join step s on s.job_id = x.job and s.step_id = x.step and s.attempt = x.attempt
		order by x.job, x.step);
	if v_waiting is not true or v_moving = '{}' or cardinality(v_moving) <> jsonb_array_length(p_move -> 'moving') then
		return false;
	end if;
	-- A step has checkpoint_wait_s to begin its checkpoint, and as long again to finish it.
	perform internal.claim_add((
		select jsonb_agg(x || jsonb_build_object('grace_s', 2 * internal.setting_int('checkpoint_wait_s')))
		from jsonb_array_elements(p_move -> 'steps') x), p_move -> 'moving');
	foreach v_one in array v_moving loop
		perform internal.move_step(v_one.job_id, v_one.step_id, v_why);
	end loop;
	return true;
end $$;
comment on function internal.move_make(jsonb) is
	'Make one move: ask its steps for checkpoints, and write the claim. To empty a node (member empties), the claims '
	'are those of the moving steps. False: a step has changed, and nothing was done. The caller has locked the jobs.';

create function internal.move_key(p_one rota.checkpoint) returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select jsonb_build_array(jsonb_build_object('job', p_one.job_id, 'step', p_one.step_id, 'attempt', p_one.attempt));
$$;
comment on function internal.move_key(rota.checkpoint) is
	'The step of a checkpoint, in the form of rota.preempt_claim.moving.';

create function internal.move_is_wanted(p_one rota.checkpoint) returns boolean
language sql stable set search_path = live, rota, pg_temp as $$
	select exists (select from internal.claim_open c where c.moving @> internal.move_key(p_one));
$$;
comment on function internal.move_is_wanted(rota.checkpoint) is
	'Whether a step whose checkpoint is complete is still to move: its move has a claim. It has none if another step of '
	'the move was not saved, if the step that was to start has started elsewhere or was cancelled, or if the claim has '
	'expired.';

create function internal.move_unsaved(p_failed rota.checkpoint) returns void
language sql set search_path = live, rota, pg_temp as $$
	delete from preempt_claim c where c.moving @> internal.move_key(p_failed);
$$;
comment on function internal.move_unsaved(rota.checkpoint) is
	'A step of a move could not be saved, or ends for another reason: give up the claim of the move. The other steps of '
	'the move stay (internal.move_is_wanted).';

create function api.schedule_move(p_term bigint, p_moves jsonb) returns int
language plpgsql security definer set lock_timeout = '5s' set search_path = live, rota, pg_temp as $$
declare
	v_jobs bigint[] := array(select distinct (x ->> 'job')::bigint from jsonb_array_elements(p_moves) p
		cross join lateral jsonb_array_elements((p -> 'steps') || (p -> 'moving')) x);
	v_move jsonb;
	v_made int := 0;
begin
	perform internal.leader_check(p_term);
	v_jobs := internal.job_lock_free(v_jobs);
	for v_move in select x.value from jsonb_array_elements(p_moves) with ordinality x (value, nr) order by x.nr loop
		-- A move saves running steps and queues them again, for a waiting step or to empty a node. Stop at the first move
		-- with a job that another session has locked: later moves may need resources that this move frees. A later
		-- scheduling cycle proposes all of them again.
		exit when exists (select from jsonb_array_elements((v_move -> 'steps') || (v_move -> 'moving')) x
			where (x ->> 'job')::bigint <> all (v_jobs));
		exit when not internal.move_make(v_move);
		v_made := v_made + 1;
	end loop;
	notify rota_event;
	return v_made;
end $$;
comment on function api.schedule_move(bigint, jsonb) is
	'Make moves: [{steps: [{job, step, shares: [{node, cpus, mem_mb, gres, licenses}]}], moving: [{job, step, '
	'attempt}], empties: node}]. The steps in `moving` are asked for checkpoints, and queued again when these are '
	'complete. What they free is kept for `steps`; with `empties`, `steps` are the moving steps themselves. Answers the '
	'number of moves that were made: it stops at the first one that is not possible any more. RT412: no longer leader.';
