-- Requests for checkpoints of running steps, and what becomes of the steps.
--
-- Called by: sql/checkpoint/verb.sql for users, sql/checkpoint/report.sql for programs, and whoever needs the nodes of a step.
-- Invariants:
-- - The caller has locked the job (internal.job_lock).
-- - A step has at most one checkpoint that is asked or taking. This state ends with the complete checkpoint, with its failure at
--   its deadline, or with the attempt.
-- - then_do follows only a complete checkpoint of the step's present attempt. A failed checkpoint changes nothing of the step.

create function internal.checkpoint_refusal(p_step rota.step) returns text
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_how constant jsonb := (select r.checkpoint from step_request r
		where r.job_id = p_step.job_id and r.step_id = p_step.request_id);
begin
	return case
		when p_step.ended_at is not null then format('it has already ended (%s)', p_step.state)
		when p_step.attempt = 0 or p_step.state <> 'running' then format('it is not running (%s)', p_step.state)
		when p_step.end_wanted is not null then format('it is being ended (%s)', p_step.end_wanted)
		when v_how is null then 'it was not submitted with --checkpoint'
		end;
end $$;
comment on function internal.checkpoint_refusal(rota.step) is
	'Returns the reason why no checkpoint of a step can be asked for now; null: one can be asked for.';

create function internal.checkpoint_open(p_step rota.step) returns rota.checkpoint
language sql stable set search_path = rota, pg_temp as $$
	select c from checkpoint c
	where c.job_id = p_step.job_id and c.step_id = p_step.step_id and c.attempt = p_step.attempt
		and c.state in ('asked', 'taking');
$$;
comment on function internal.checkpoint_open(rota.step) is
	'The checkpoint of the present attempt of a step that is asked or taking; null: none.';

create function internal.checkpoint_wait() returns interval
language sql stable set search_path = live, rota, pg_temp as $$
	select make_interval(secs => internal.setting_int('checkpoint_wait_s'));
$$;
comment on function internal.checkpoint_wait() is
	'Time within which a program has to begin a checkpoint. It then has the same time again to complete the checkpoint.';

create function internal.checkpoint_next(p_job bigint, p_step int) returns int
language sql stable set search_path = rota, pg_temp as $$
	select coalesce(max(c.generation), 0) + 1 from checkpoint c where c.job_id = p_job and c.step_id = p_step;
$$;
comment on function internal.checkpoint_next(bigint, int) is 'The number of the next checkpoint of a step.';

create function internal.checkpoint_add(p_step rota.step, p_state text, p_reason text, p_by text, p_why text, p_then text)
returns int
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_generation constant int := internal.checkpoint_next(p_step.job_id, p_step.step_id);
begin
	insert into checkpoint (job_id, step_id, generation, attempt, driver, state, reason, asked_by, why, then_do,
		deadline_at, taking_at)
	select p_step.job_id, p_step.step_id, v_generation, p_step.attempt, r.checkpoint ->> 'driver', p_state, p_reason, p_by, p_why,
		p_then, now() + internal.checkpoint_wait(), case when p_state = 'taking' then clock_timestamp() end
	from step_request r
	where r.job_id = p_step.job_id and r.step_id = p_step.request_id;
	return v_generation;
end $$;
comment on function internal.checkpoint_add(rota.step, text, text, text, text, text) is
	'Write the row of a new checkpoint. Returns its generation.';

create function internal.checkpoint_ask(p_job bigint, p_step int, p_reason text, p_by text, p_why text, p_then text) returns int
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_step rota.step;
	v_open rota.checkpoint;
	v_generation int;
	-- If a checkpoint is under way, the later of the two wishes in this list counts.
	c_order constant text[] := array['continue', 'requeue', 'end'];
begin
	select s.* into v_step from rota.step s where s.job_id = p_job and s.step_id = p_step;
	if v_step.job_id is null or internal.checkpoint_refusal(v_step) is not null then
		return null;
	end if;
	v_open := internal.checkpoint_open(v_step);
	if v_open.generation is not null then
		update rota.checkpoint c
		set then_do = p_then, reason = p_reason, asked_by = p_by, why = p_why
		where c.job_id = p_job and c.step_id = p_step and c.generation = v_open.generation
			and (array_position(c_order, p_then) > array_position(c_order, c.then_do)
				-- A move (reason "move") may be given up, so a wish of equal strength replaces it.
				or p_then = c.then_do and c.reason = 'move');
		if found and v_open.reason = 'move' then
			perform internal.move_unsaved(v_open);
		end if;
		return v_open.generation;
	end if;
	v_generation := internal.checkpoint_add(v_step, 'asked', p_reason, p_by, p_why, p_then);
	perform internal.attempt_order('checkpoint', p_job, p_step, jsonb_build_object('generation', v_generation));
	notify rota_schedule; -- the leader reads the deadline
	notify rota_event;
	return v_generation;
end $$;
comment on function internal.checkpoint_ask(bigint, int, text, text, text, text) is
	'Ask the running attempt of a step for a checkpoint. p_reason: a reason of rota.checkpoint; p_by, p_why: who asks, '
	'and the reason given; p_then: what follows when it is complete: continue, requeue (the attempt ends and the step '
	'is queued again) or end. Answers the generation; if a checkpoint is under way, its generation, and the stronger '
	'p_then of both counts. Null: internal.checkpoint_refusal says why not. The row becomes complete or failed, with a '
	'notification on rota_event, and on rota_schedule if something follows. The caller has locked the job.';

create function internal.checkpoint_follow(p_done rota.checkpoint, p_ended boolean) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if p_done.then_do = 'end' then
		perform internal.steps_cancel(jsonb_build_array(jsonb_build_object('job_id', p_done.job_id, 'step_id', p_done.step_id)),
			p_done.asked_by, 'cancelled', format('ended after checkpoint %s, as %s wanted', p_done.generation, p_done.asked_by)
			|| coalesce(': ' || p_done.why, ''));
	elsif p_done.reason = 'move' and not p_ended and not internal.move_is_wanted(p_done) then
		update checkpoint c set then_do = 'continue'
		where c.job_id = p_done.job_id and c.step_id = p_done.step_id and c.generation = p_done.generation;
	elsif p_done.then_do = 'requeue' then
		update step s set end_wanted = 'requeue'
		where s.job_id = p_done.job_id and s.step_id = p_done.step_id and s.attempt = p_done.attempt and s.ended_at is null
			and s.end_wanted is null;
		if found and not p_ended then
			perform internal.attempt_order('kill', p_done.job_id, p_done.step_id, jsonb_build_object('cause', case
				when p_done.reason = 'preempt' then 'preempted' when p_done.reason in ('evacuate', 'move') then 'evacuated'
				when p_done.reason = 'maintenance' then 'maintenance' else 'checkpoint' end));
		end if;
	end if;
end $$;
comment on function internal.checkpoint_follow(rota.checkpoint, boolean) is
	'Apply to a step what was to follow its complete checkpoint (then_do). p_ended: the program of the step has ended '
	'already.';

create function internal.checkpoint_forget(p_job bigint, p_step int, p_generations int[]) returns void
language sql set search_path = rota, pg_temp as $$
	delete from checkpoint_file f where f.job_id = p_job and f.step_id = p_step and f.generation = any (p_generations);
$$;
comment on function internal.checkpoint_forget(bigint, int, int[]) is
	'Delete the rows of rota.checkpoint_file of checkpoints that can no longer be used.';

create function internal.checkpoint_fail(p_failed rota.checkpoint, p_message text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	update checkpoint c set state = 'failed', failed_at = clock_timestamp(), message = p_message
	where c.job_id = p_failed.job_id and c.step_id = p_failed.step_id and c.generation = p_failed.generation
		and c.state not in ('failed', 'discarded');
	if found and exists (select from attempt t where t.job_id = p_failed.job_id
		and t.step_id = p_failed.step_id and t.attempt = p_failed.attempt and t.ended_at is null and t.outcome is null) then
		perform internal.preempt_unsaved(p_failed) where p_failed.reason = 'preempt';
		perform internal.move_unsaved(p_failed) where p_failed.reason = 'move';
		-- An evacuation may wait for this checkpoint, which somebody else asked for.
		perform internal.evacuation_unsaved(p_failed) where p_failed.state in ('asked', 'taking');
	end if;
	if p_failed.complete_at is not null then
		perform internal.checkpoint_forget(p_failed.job_id, p_failed.step_id, array[p_failed.generation]);
	end if;
	if p_failed.then_do <> 'continue' then
		notify rota_schedule;
	end if;
	notify rota_event;
end $$;
comment on function internal.checkpoint_fail(rota.checkpoint, text) is
	'Mark a checkpoint as failed. Also for a complete checkpoint whose files have changed.';

create function internal.checkpoint_expired() returns bigint[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return array(select distinct c.job_id from checkpoint c where c.state in ('asked', 'taking') and c.deadline_at <= now());
end $$;
comment on function internal.checkpoint_expired() is 'Jobs with checkpoints that were not begun or completed by their deadline.';

create function internal.checkpoint_expire(p_jobs bigint[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	perform internal.checkpoint_fail(c, format(case c.state
		when 'taking' then 'the program began it and did not end it within %s'
		else 'the program did not save itself within %s; "rota checkpoint --done" says that it has' end,
		internal.text_count(internal.setting_int('checkpoint_wait_s'), 'second')))
	from checkpoint c
	where c.job_id = any (p_jobs) and c.state in ('asked', 'taking') and c.deadline_at <= now();
end $$;
comment on function internal.checkpoint_expire(bigint[]) is 'Fail the checkpoints of locked jobs whose deadline has passed.';

create function internal.checkpoint_saved(p_job bigint, p_step int, p_attempt int) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return exists (select from checkpoint c
		where c.job_id = p_job and c.step_id = p_step and c.attempt = p_attempt and c.complete_at is not null
			and c.state <> 'failed');
end $$;
comment on function internal.checkpoint_saved(bigint, int, int) is
	'Whether an attempt has left a checkpoint from which a later attempt can go on.';

create function internal.checkpoint_goes_on(p_how jsonb, p_result text, p_cause text, p_exit int, p_saved boolean) returns boolean
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select p_how is not null and (p_result = 'fail' and p_cause = 'exit' and p_exit = 85
		or p_result = 'timeout' and p_saved and p_how ? 'before_s');
$$;
comment on function internal.checkpoint_goes_on(jsonb, text, text, int, boolean) is
	'Whether a step is queued again after the end of an attempt: its program asked for that by exit code 85, or the attempt '
	'reached its time limit after it was saved, and its checkpoints are for running longer than the time limit (before_s).';

create function internal.checkpoint_close(p_closed internal.attempt_end[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.checkpoint_fail(c, 'the attempt ended before the checkpoint was complete')
	from unnest(p_closed) v
	join step s on s.job_id = v.job_id and s.step_id = v.step_id
	join rota.checkpoint c on c.job_id = s.job_id and c.step_id = s.step_id and c.attempt = s.attempt
		and c.state in ('asked', 'taking');
	delete from rota.checkpoint_timer t
	using unnest(p_closed) v
	join step s on s.job_id = v.job_id and s.step_id = v.step_id
	where t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt;
end $$;
comment on function internal.checkpoint_close(internal.attempt_end[]) is
	'Fail the incomplete checkpoints of attempts that have ended, and delete the timers of these attempts.';
