-- The states of a job's data (burst_buffer.lua). Each move is one transaction with what leads to it,
-- and leaves the next call due.
--
-- Invariants:
-- - internal.staging_move is the only way to change rota.staging.state, and takes only moves of rota.staging_transition.
-- - Of a job, one call at a time has not ended. One under way that is not wanted any more is killed, and the next one is due when
--   its end is reported.
-- - A job without directives has no row here, and rota.job.staging is false: nothing of this file is called for it.

create function internal.staging_call_make(p_job bigint, p_function text, p_hurry boolean, p_try int default 1,
	p_due timestamptz default clock_timestamp()) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	insert into staging_call (job_id, function, hurry, tries, due_at) values (p_job, p_function, p_hurry, p_try, p_due);
	notify rota_hook;
end $$;
comment on function internal.staging_call_make(bigint, text, boolean, int, timestamptz) is 'Make a call of a function due.';

create function internal.staging_call_drop(p_job bigint) returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_open rota.staging_call; -- not that of schema live, which has a column more
begin
	select * into v_open from rota.staging_call c where c.job_id = p_job and c.ended_at is null;
	if not found then
		return true;
	elsif v_open.began_at is not null then
		update staging_call c set unwanted = true where c.job_id = p_job and c.call_id = v_open.call_id;
		notify rota_hook_end;
		return false;
	elsif v_open.first_at is null then
		delete from staging_call c where c.job_id = p_job and c.call_id = v_open.call_id;
	else
		update staging_call c set ended_at = clock_timestamp(), message = 'polled no more'
		where c.job_id = p_job and c.call_id = v_open.call_id;
	end if;
	return true;
end $$;
comment on function internal.staging_call_drop(bigint) is
	'Another function is due instead of the one that is: drop that, or have it killed if it is under way; whether none is left.';

create function internal.staging_write(p_job bigint, p_to rota.staging_transition, p_message text) returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update staging s
	set state = p_to.to_state, hurry = coalesce(p_to.hurry, s.hurry), next_function = null,
		message = case when p_to.event in ('begin', 'retry', 'rerun') then null else coalesce(p_message, s.message) end,
		setup_at = case when p_to.function = 'setup' then clock_timestamp() else s.setup_at end,
		staged_at = case when p_to.event = 'paths' then clock_timestamp() else s.staged_at end,
		pre_run_at = case when p_to.function = 'pre_run' then clock_timestamp() else s.pre_run_at end,
		running_at = case when p_to.to_state = 'running' then clock_timestamp() else s.running_at end,
		post_run_at = case when p_to.from_state = 'running' or p_to.event = 'end' then clock_timestamp() else s.post_run_at end,
		teardown_at = case when p_to.function = 'job_teardown' then clock_timestamp() else s.teardown_at end,
		ended_at = case when p_to.to_state = 'complete' then clock_timestamp() end,
		taken = case when p_to.event = 'begin' then s.capacity
			when p_to.event not in ('job_teardown', 'give_up') and p_to.to_state <> 'complete' then s.taken end
	where s.job_id = p_job;
	return (select s.hurry from staging s where s.job_id = p_job);
end $$;
comment on function internal.staging_write(bigint, rota.staging_transition, text) is
	'Write the row of a move that is allowed; its column hurry. Space of a pool is taken with setup, '
	'and given back after a teardown.';

create function internal.staging_is_over(p_job bigint) returns boolean
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return not exists (select from staging g where g.job_id = p_job and g.ended_at is null);
end $$;
comment on function internal.staging_is_over(bigint) is
	'Whether nothing is left to do with the data of a job that has ended; true for a job without directives.';

create function internal.staging_resolve(p_job bigint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_edges jsonb;
begin
	select jsonb_agg(jsonb_build_object('job_id', e.job_id, 'step_id', e.step_id, 'edge', e.edge,
		'peer_state', j.state, 'state', 'met'))
	into v_edges
	from step_edge e
	join job j on j.job_id = e.peer_job_id and j.ended_at is not null
	where e.peer_job_id = p_job and e.peer_step_id = -1 and e."condition" = 'teardown' and e.state = 'waiting';
	if v_edges is not null then
		perform internal.edge_resolve(v_edges); -- edges that are met have no moves follow
	end if;
end $$;
comment on function internal.staging_resolve(bigint) is
	'The data of a job is torn down: what waited for that does so no more. The caller has locked the job.';

create function internal.staging_move(p_job bigint, p_event text, p_message text default null) returns text
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_to staging_transition;
	v_hurry boolean;
begin
	select t.* into v_to
	from staging s
	join staging_transition t on t.from_state = s.state and t.event = p_event
	where s.job_id = p_job;
	if not found then
		return null;
	end if;
	v_hurry := internal.staging_write(p_job, v_to, p_message);
	if internal.staging_call_drop(p_job) then
		perform internal.staging_call_make(p_job, v_to.function, v_hurry) where v_to.function is not null;
	else
		update staging s set next_function = v_to.function where s.job_id = p_job;
	end if;
	if v_to.to_state = 'complete' then
		perform internal.staging_resolve(p_job);
		perform internal.mail_staged_out(p_job);
	end if;
	notify rota_event;
	return v_to.to_state;
end $$;
comment on function internal.staging_move(bigint, text, text) is
	'Apply an event to the data of a job, and leave the function due that follows; the state that it leads to; null: the event '
	'means nothing now. p_message: how a function failed. The caller has locked the job.';

create function internal.staging_submit(p_job bigint, p_script text, p_given jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	insert into staging (job_id, directives, inserted, pool, capacity)
	values (p_job, p_given ->> 'directives', p_given ->> 'inserted', p_given ->> 'pool', internal.pool_ask(p_script, p_given));
	perform internal.staging_gate(p_job);
	notify rota_hook;
end $$;
comment on function internal.staging_submit(bigint, text, jsonb) is
	'A new job, of a script of this name, has directives {directives, inserted, pool, capacity, line}: its steps wait until it '
	'is staged. RT422: the pool cannot have so much.';

create function internal.staging_gate(p_job bigint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update step s set deps_waiting = s.deps_waiting + 1, eligible_at = null where s.job_id = p_job and s.ended_at is null;
end $$;
comment on function internal.staging_gate(bigint) is 'Have the steps of a job wait for its data, as for one more dependency.';

create function internal.staging_release(p_job bigint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update step s
	set deps_waiting = s.deps_waiting - 1, eligible_at = case when s.deps_waiting = 1 then now() else s.eligible_at end
	where s.job_id = p_job and s.ended_at is null;
	notify rota_schedule;
end $$;
comment on function internal.staging_release(bigint) is 'The data of a job is staged: its steps wait for it no more.';

create function internal.staging_ready() returns bigint[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return array(
		select l.job_id
		from internal.staging_line l
		where l.pool is null or (l.may_fit and l.wanted <= l.free)
		order by l.nr
		limit 1000);
end $$;
comment on function internal.staging_ready() is
	'Jobs of which a step waits for nothing but its data, and for which there is space in their pools, in order.';

create function internal.staging_begin(p_jobs bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.job_lock(p_jobs);
	-- What was true before the lock may not be true any more.
	perform internal.staging_move(x, 'begin') from unnest(internal.staging_ready()) x where x = any (p_jobs);
end $$;
comment on function internal.staging_begin(bigint[]) is 'Begin the stage-in of jobs that are ready for it.';

create function internal.staging_place(p_decided internal.start_decision[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.staging_move(g.job_id, 'place')
	from staging g
	where g.job_id in (select v.job_id from unnest(p_decided) v) and g.state = 'staged';
	insert into hook_pending (job_id, step_id, attempt, hook)
	select v.job_id, v.step_id, v.attempt, 'pre_run'
	from unnest(p_decided) v
	join staging g on g.job_id = v.job_id and g.state = 'pre_run';
end $$;
comment on function internal.staging_place(internal.start_decision[]) is
	'Steps of jobs with staging have nodes: the first one makes pre_run due, and orders of all wait until it has ended.';

create function internal.staging_has_run(p_job bigint) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return coalesce((select g.running_at > g.staged_at from staging g where g.job_id = p_job), false);
end $$;
comment on function internal.staging_has_run(bigint) is
	'Steps of the job have run with the data that is staged now, so that it may have results.';

create function internal.staging_stuck(p_job bigint) returns text
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (
		select g.state
		from staging g
		where g.job_id = p_job and g.state in ('failed', 'post_run', 'staging_out')
			and not exists (select from staging_call c where c.job_id = g.job_id and c.ended_at is null));
end $$;
comment on function internal.staging_stuck(bigint) is
	'The state of a job''s data that stays as it is until somebody acts, because a function has failed; null: it does not.';

create function internal.staging_out_reason(p_job bigint) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select case when internal.staging_stuck(p_job) is null then 'staging_out' else 'stage_out_failed' end
		from staging g
		where g.job_id = p_job and g.ended_at is null and g.state in ('post_run', 'staging_out', 'teardown'));
end $$;
comment on function internal.staging_out_reason(bigint) is
	'In a word, what becomes of the data of a job that has ended; null: nothing, it is over.';

create function internal.staging_end(p_jobs bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.staging_move(g.job_id, case
		when g.state = 'running' and g.hurry then 'hurry'
		when g.state = 'running' then 'end'
		when g.state in ('staged', 'pre_run') and not g.hurry and internal.staging_has_run(g.job_id) then 'end'
		when g.state = 'pending'
			and not exists (select from staging_call c where c.job_id = g.job_id and c.ended_at is null) then 'end'
		else 'abort' end)
	from staging g
	where g.job_id = any (p_jobs);
end $$;
comment on function internal.staging_end(bigint[]) is 'The last steps of jobs with staging have ended.';

create function internal.staging_hold(p_job bigint, p_reason text) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update step s set held = 'system', held_reason = p_reason
	where s.job_id = p_job and s.state = 'pending' and s.held = '';
	perform internal.step_move('runner', array(
		select internal.move_of(job_id => s.job_id, step_id => s.step_id, event => 'hold', message => p_reason)
		from step s where s.job_id = p_job and s.state = 'pending'));
end $$;
comment on function internal.staging_hold(bigint, text) is 'Hold the steps of a job whose stage-in failed.';

create function internal.staging_retry(p_jobs bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.staging_move(g.job_id, 'retry') from staging g where g.job_id = any (p_jobs) and g.state = 'failed';
	notify rota_hook;
end $$;
comment on function internal.staging_retry(bigint[]) is
	'Jobs were released: where their stage-in had failed, it begins anew after a teardown. The caller has locked the jobs.';

create function internal.staging_hurry(p_jobs bigint[]) returns bigint[]
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_out bigint[] := array(select g.job_id from staging g
		where g.job_id = any (p_jobs) and g.state in ('post_run', 'staging_out'));
begin
	update staging g set hurry = true
	where g.job_id = any (p_jobs)
		and (g.state = 'running' or (g.state in ('staged', 'pre_run') and internal.staging_has_run(g.job_id)));
	perform internal.staging_move(x, 'hurry') from unnest(v_out) x;
	return v_out;
end $$;
comment on function internal.staging_hurry(bigint[]) is
	'Stage-out of these jobs is not wanted: what runs of it is killed, and teardown follows. Answers the jobs of which stage-out '
	'had begun. The caller has locked the jobs.';

create function internal.staging_rerun(p_job bigint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if internal.staging_move(p_job, 'rerun') = 'pending' then
		perform internal.staging_gate(p_job);
		notify rota_hook;
	end if;
end $$;
comment on function internal.staging_rerun(bigint) is
	'A job with staging is requeued: its data is staged in again, unless it is still staged.';

create function internal.staging_fields(p_job bigint) returns text
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (
		select string_agg(format(E'%s=%s:%s\n', v.nr, octet_length(v.line), v.line), '' order by v.nr)
		from staging g
		cross join lateral unnest(g.variables) with ordinality v (line, nr)
		where g.job_id = p_job);
end $$;
comment on function internal.staging_fields(bigint) is
	'The variables of a job''s data as fields that are named by their numbers, as launch requests have them; null: none.';
