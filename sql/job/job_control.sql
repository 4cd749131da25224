-- Requests of owners and operators that control steps: cancel, hold, release, suspend, resume, signal.

create function internal.control_begin(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_target jsonb;
	v_jobs bigint[];
begin
	-- The reason is stored with every step.
	if not internal.is_line(p_request ->> 'reason') then
		raise exception 'a reason is a line of 1000 characters at most' using errcode = 'RT422';
	end if;
	if internal.is_selection(p_request) then
		v_jobs := internal.change_candidates(p_uid, p_user, p_request);
		perform internal.job_lock(v_jobs);
		select coalesce(jsonb_agg(to_jsonb(t)), '[]') into v_target
			from internal.change_target(p_uid, p_user, p_request, v_jobs) t;
	else
		select coalesce(jsonb_agg(to_jsonb(t)), '[]'), array_agg(distinct t.job_id) into v_target,
			v_jobs from internal.change_target(p_uid, p_user, p_request) t;
		perform internal.job_lock(v_jobs);
	end if;
	perform internal.plan_for(jsonb_array_length(v_target));
	-- Named elements get rows, so that an event can apply to them.
	perform internal.array_expand(array(
		select (v.job_id, v.step_id - 1 - v.pos, v.pos)::internal.element
		from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int, pos int)
		join step h on h.job_id = v.job_id and h.step_id = v.step_id - 1 - v.pos and h.ended_at is null
		where v.pos is not null), p_user);
	-- A named array stands for its elements too.
	return coalesce((
		with named as (
			select v.job_id, v.step_id, not v.selected as named,
				case when v.whole_job then -1 else v.step_id end as of_step
			from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int, whole_job boolean, selected boolean)
		), meant as (
			select n.* from named n
			union all
			select s.job_id, s.step_id, n.named, n.of_step
			from named n
			join step_array a on a.job_id = n.job_id and a.step_id = n.step_id
			join step s on s.job_id = n.job_id and s.request_id = n.step_id and s.array_index is not null
				and s.ended_at is null
		)
		select jsonb_agg(jsonb_build_object('job_id', m.job_id, 'step_id', m.step_id, 'named', m.named, 'of_step',
			m.of_step))
		from (select m.job_id, m.step_id, bool_or(m.named) as named, max(m.of_step) as of_step from meant m group by 1,
			2) m), '[]');
end $$;
comment on function internal.control_begin(int, text, jsonb) is
	'Check and lock the steps that a request names or selects: [{job_id, step_id, named, of_step}], elements of arrays '
	'included. of_step: the step or element that the user named; -1: the user named the job.';

create function internal.control_refusal(p_verb text, p_step rota.step) returns text
language sql stable set search_path = rota, pg_temp as $$
	select 'not changed: ' || case
		when p_step.ended_at is not null then format('it has already ended (%s)', p_step.state)
		when p_verb = 'checkpoint' then internal.checkpoint_refusal(p_step)
		when p_verb = 'hold' and p_step.held <> '' then 'it is already held'
		when p_verb = 'hold' then format('it has already started (%s)', p_step.state)
		when p_verb = 'release' and p_step.held <> '' then 'it is held by an operator'
		when p_verb = 'release' then 'it is not held'
		when p_verb = 'suspend' and p_step.state = 'suspended' then 'it is already suspended'
		when p_step.state = 'pending' then 'it has not started (pending)'
		when p_verb = 'resume' then format('it is not suspended (%s)', p_step.state)
		else format('it is not running (%s)', p_step.state) end;
$$;
comment on function internal.control_refusal(text, rota.step) is
	'Returns the reason why a verb leaves a step unchanged, as text.';

create function internal.control_met(p_verb text, p_step rota.step) returns boolean
language sql immutable set search_path = rota, pg_temp as $$
	select case
		when p_verb = 'cancel' then true
		when p_step.ended_at is not null then false
		else (p_verb = 'hold' and p_step.held <> '') or p_verb = 'release'
			or (p_verb = 'suspend' and p_step.state = 'suspended')
			or (p_verb = 'resume' and p_step.state = 'running') end;
$$;
comment on function internal.control_met(text, rota.step) is
	'Whether a step that a verb leaves unchanged is already as the verb would make it: a repeated request is no failure.';

create function internal.control_answer(p_verb text, p_target jsonb, p_done jsonb) returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	with reported as (
		select t.job_id, t.step_id, t.named, t.of_step, s.state, d.action,
			d.action is not null or internal.control_met(p_verb, s) as met,
			coalesce(d.action, internal.control_refusal(p_verb, s)) as action_text
		from jsonb_to_recordset(p_target) as t (job_id bigint, step_id int, named boolean, of_step int)
		join step s on s.job_id = t.job_id and s.step_id = t.step_id
		left join jsonb_to_recordset(p_done) as d (job_id bigint, step_id int, action text) on d.job_id = t.job_id
			and d.step_id = t.step_id
	)
	select jsonb_build_object('steps',
		coalesce(jsonb_agg(jsonb_build_object('label', internal.step_label(x.job_id, x.step_id), 'state', x.state,
		-- If a job or an array is named as a whole, the request has succeeded if the verb could be applied to one of its
		-- steps.
		'action', x.action_text, 'changed', x.action is not null, 'failed', x.named and not x.any_met) order by x.job_id,
			x.step_id), '[]'))
	from (select t.*, bool_or(t.met) over (partition by t.job_id, t.of_step) as any_met from reported t) x;
$$;
comment on function internal.control_answer(text, jsonb, jsonb) is
	'The answer to a controlling verb: for each step of internal.control_begin, the action that was done (p_done [{job_id, '
	'step_id, action}]), or why none was done.';

create function internal.steps_cancel(p_target jsonb, p_actor text, p_cause text, p_message text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_one record;
	v_suspended jsonb;
begin
	-- Store now who asked for the end of a running step, and why: the node that reports the end knows neither.
	perform internal.step_move(p_actor, array(
		select internal.move_of(job_id => s.job_id, step_id => s.step_id, event => 'modify', message => p_message)
		from jsonb_to_recordset(p_target) as v (job_id bigint, step_id int)
		join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.ended_at is null and s.state <> 'pending'
			and s.attempt > 0
			and s.end_wanted is distinct from 'cancel'));
	with wanted as (
		update step s
		set end_wanted = 'cancel'
		from jsonb_to_recordset(p_target) as v (job_id bigint, step_id int)
		where s.job_id = v.job_id and s.step_id = v.step_id and s.ended_at is null and s.state <> 'pending' and s.attempt > 0
		returning s.job_id, s.step_id, s.state
	)
	select jsonb_agg(jsonb_build_object('job_id', w.job_id, 'step_id', w.step_id)) into v_suspended
	from wanted w where w.state = 'suspended';
	if v_suspended is not null then
		perform internal.devices_lock(v_suspended);
	end if;
	for v_one in
		select s.job_id, s.step_id, s.state from jsonb_to_recordset(p_target) as v (job_id bigint, step_id int)
		join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.end_wanted = 'cancel' and s.ended_at is null
		order by s.job_id, s.step_id
	loop
		perform internal.attempt_order('kill', v_one.job_id, v_one.step_id, jsonb_build_object('cause', p_cause)
			|| case when v_one.state = 'suspended' then internal.devices_regain(v_one.job_id, v_one.step_id) else '{}' end);
	end loop;
	-- A step is cancelled before the steps that it waits for. Otherwise it would end as dependency_failed. The head of an array
	-- is cancelled before its elements.
	perform internal.step_move(p_actor, array(
		select m.move from (
			select internal.move_of(job_id => s.job_id, step_id => s.step_id, event => 'cancel', cause => p_cause,
				message => p_message) as move,
				r.topo, s.step_id
			from jsonb_to_recordset(p_target) as v (job_id bigint, step_id int)
			join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.state = 'pending'
			join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
			left join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
			where a.size is null or a.running + a.completed + a.failed = 0
		) m order by m.topo desc, m.step_id));
	perform internal.step_move(p_actor, array(
		select m::internal.move
		from jsonb_to_recordset(p_target) as v (job_id bigint, step_id int)
		join step_array a on a.job_id = v.job_id and a.step_id = v.step_id and a.next < a.size
		join step h on h.job_id = a.job_id and h.step_id = a.step_id and h.ended_at is null
		cross join lateral internal.array_give_up(a.job_id, a.step_id, 'cancel', p_cause, p_message) m));
end $$;
comment on function internal.steps_cancel(jsonb, text, text, text) is
	'End steps [{job_id, step_id}]: pending ones and the waiting elements of arrays at once, live ones by an order `kill` with '
	'the cause. The caller has locked the jobs.';

create function internal.cancel_hurry(p_target jsonb) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
declare
	-- An array, which is step 0 of its job, stands for its elements too, also for those that have ended.
	v_rows jsonb := (
		select jsonb_agg(jsonb_build_object('job_id', v.job_id, 'step_id', v.step_id, 'row', r.id))
		from jsonb_to_recordset(p_target) as v (job_id bigint, step_id int)
		cross join lateral (
			select internal.staging_of(v.job_id, v.step_id)
			union
			select x from internal.staging_rows(v.job_id) x where v.step_id = 0) r (id));
	v_out bigint[] := internal.staging_hurry(array(
		select distinct v."row" from jsonb_to_recordset(v_rows) as v ("row" bigint)));
begin
	return coalesce((
		select jsonb_agg(distinct jsonb_build_object('job_id', v.job_id, 'step_id', v.step_id, 'action',
			'stage-out is given up'))
		from jsonb_to_recordset(v_rows) as v (job_id bigint, step_id int, "row" bigint)
		where v."row" = any (v_out)), '[]');
end $$;
comment on function internal.cancel_hurry(jsonb) is
	'Give up the stage-out of the jobs of steps [{job_id, step_id}]. Returns what was done to which steps, as '
	'internal.control_answer takes it.';

create function api.job_cancel(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_target jsonb := internal.control_begin(p_uid, p_user, p_request);
	v_message text := 'cancelled by ' || p_user || coalesce(': ' || (p_request ->> 'reason'), '');
	v_done jsonb;
begin
	select jsonb_agg(jsonb_build_object('job_id', s.job_id, 'step_id', s.step_id, 'action',
		case when s.state = 'pending' or s.attempt = 0 then 'cancelled' else 'ending' end))
	into v_done
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.ended_at is null;
	if internal.request_bool(p_request, 'hurry') then
		v_done := coalesce(v_done, '[]') || internal.cancel_hurry(v_target);
	end if;
	perform internal.steps_cancel(v_target, p_user, 'cancelled', v_message);
	notify rota_schedule;
	notify rota_event;
	return internal.control_answer('cancel', v_target, v_done);
end $$;
comment on function api.job_cancel(int, text, jsonb) is
	'End steps: pending ones at once, live ones by SIGTERM and SIGKILL on their nodes. A step that has ended is left '
	'unchanged, which is no failure. hurry: the data of the jobs is not staged out, and a stage-out under way is given up. '
	'Request {jobs, reason, hurry}, or a selection. Answer {steps: [{label, state, action, changed, failed}]}.';

create function api.job_hold(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_target jsonb := internal.control_begin(p_uid, p_user, p_request);
	v_by text := case when internal.caller_role(p_uid, p_user) = 'user' then 'user' else
		case when p_request ->> 'as' = 'user' then 'user' else 'admin' end end;
	v_done jsonb;
begin
	-- A hold by the owner is of kind "user", even if the owner is an operator, so that the owner can lift it.
	with held as (
		update step s
		set held = case when j.uid = p_uid then 'user' else v_by end,
			held_reason = coalesce(p_request ->> 'reason', 'held by ' || p_user)
		from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int), job j
		where s.job_id = v.job_id and s.step_id = v.step_id and j.job_id = s.job_id and s.ended_at is null
			and (s.state = 'pending' or s.attempt = 0) and s.held in ('', 'user')
		returning s.job_id, s.step_id
	)
	select coalesce(jsonb_agg(jsonb_build_object('job_id', h.job_id, 'step_id', h.step_id, 'action', 'held')), '[]')
		into v_done from held h;
	perform internal.allocation_unreserve(array(select (v.job_id, v.step_id, 0)::internal.attempt_key
		from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)));
	perform internal.step_move(p_user, array(select internal.move_of(job_id => v.job_id, step_id => v.step_id,
		event => 'hold')
		from jsonb_to_recordset(v_done) as v (job_id bigint, step_id int)));
	notify rota_schedule;
	notify rota_event;
	return internal.control_answer('hold', v_target, v_done);
end $$;
comment on function api.job_hold(int, text, jsonb) is
	'Keep steps from starting. Request {jobs, reason}, or a selection. Answer {steps: [{label, state, action, changed, '
	'failed}]}.';

create function api.job_release(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_user constant boolean := internal.caller_role(p_uid, p_user) = 'user';
	v_target jsonb := internal.control_begin(p_uid, p_user, p_request);
	v_done jsonb;
begin
	if v_user and exists (
		select from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int, named boolean)
		join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.held = 'admin'
		where v.named
	) then
		raise exception 'a step that you named is held by an operator' using errcode = 'RT403',
			hint = 'Ask an operator to release it.';
	end if;
	with released as (
		update step s
		set held = '', held_reason = null
		from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
		where s.job_id = v.job_id and s.step_id = v.step_id and s.held <> '' and s.ended_at is null
			and not (v_user and s.held = 'admin')
			and not (s.held = 'system' and internal.credential_step(s.job_id, s.request_id) is not null)
		returning s.job_id, s.step_id
	), kept as (
		-- internal.hold_start still has the holds: a statement does not see its own changes.
		insert into wait_reason (job_id, step_id, from_at, until_at, reason)
		select h.job_id, h.step_id, h.held_at, now(), 'held'
		from released r
		join internal.hold_start h on h.job_id = r.job_id and h.step_id = r.step_id
		where now() - h.held_at >= interval '1 second'
		on conflict do nothing
	)
	select coalesce(jsonb_agg(jsonb_build_object('job_id', r.job_id, 'step_id', r.step_id, 'action', 'released')), '[]')
		into v_done from released r;
	if not v_user then
		update job j
		set drain_count = 0
		from jsonb_to_recordset(v_done) as v (job_id bigint)
		where j.job_id = v.job_id and j.drain_count > 0;
	end if;
	perform internal.staging_retry(v_done) where exists (select from staging g where g.state = 'failed' and g.ended_at is null);
	perform internal.step_move(p_user,
		array(select internal.move_of(job_id => v.job_id, step_id => v.step_id, event => 'release')
		from jsonb_to_recordset(v_done) as v (job_id bigint, step_id int)));
	notify rota_schedule;
	notify rota_event;
	return internal.control_answer('release', v_target, v_done);
end $$;
comment on function api.job_release(int, text, jsonb) is
	'Let held steps start again. Request {jobs}, or a selection. Answer {steps: [{label, state, action, changed, failed}]}.';

create function api.job_suspend(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_target jsonb := internal.control_begin(p_uid, p_user, p_request);
begin
	perform internal.attempt_order('suspend', s.job_id, s.step_id, internal.suspend_args(s.job_id, s.step_id))
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.state = 'running' and s.attempt > 0;
	update step s set resume_wanted = false
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	where s.job_id = v.job_id and s.step_id = v.step_id and s.resume_wanted;
	perform internal.pause_forget(v_target) where exists (select from preempt_pause);
	return internal.control_answer('suspend', v_target, (
		select jsonb_agg(jsonb_build_object('job_id', s.job_id, 'step_id', s.step_id, 'action', 'suspending'))
		from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
		join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.state = 'running' and s.attempt > 0));
end $$;
comment on function api.job_suspend(int, text, jsonb) is
	'Stop the processes of running steps. Request {jobs}, or a selection. Answer {steps: [{label, state, action, changed, '
	'failed}]}.';

create function api.job_resume(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_target jsonb := internal.control_begin(p_uid, p_user, p_request);
	v_done jsonb;
begin
	update step s set resume_wanted = true
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	where s.job_id = v.job_id and s.step_id = v.step_id and s.attempt > 0
		-- A step whose processes are being stopped at this moment resumes after that.
		and s.state in ('running', 'suspended');
	perform internal.resume_lock(v_target);
	select jsonb_agg(jsonb_build_object('job_id', v.job_id, 'step_id', v.step_id,
		'action',
			case when internal.step_resume(v.job_id, v.step_id) then 'resuming'
			else 'resumes when ' || internal.devices_text(s.job_id, s.step_id, s.attempt) end))
	into v_done
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.resume_wanted and s.state = 'suspended';
	notify rota_schedule;
	return internal.control_answer('resume', v_target, v_done);
end $$;
comment on function api.job_resume(int, text, jsonb) is
	'Let suspended steps go on, now or as soon as their CPUs and GPUs are free. Request {jobs}, or a selection. Answer {steps: '
	'[{label, state, action, changed, failed}]}.';

create function internal.signal_number(p_signal text) returns int
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select case when p_signal ~ '^[0-9]{1,2}$' then case when p_signal::int between 1 and 64 then p_signal::int end
		else array_position(array['HUP', 'INT', 'QUIT', 'ILL', 'TRAP', 'ABRT', 'BUS', 'FPE', 'KILL', 'USR1', 'SEGV',
			'USR2', 'PIPE', 'ALRM', 'TERM', 'STKFLT',
			'CHLD', 'CONT', 'STOP', 'TSTP', 'TTIN', 'TTOU', 'URG', 'XCPU', 'XFSZ', 'VTALRM', 'PROF', 'WINCH', 'IO',
			'PWR', 'SYS'],
			regexp_replace(upper(p_signal), '^SIG', '')) end;
$$;
comment on function internal.signal_number(text) is
	'Number of a signal given by name or number, as Linux counts them; null: there is no such signal.';

create function api.job_signal(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_target jsonb := internal.control_begin(p_uid, p_user, p_request);
	v_signal int := internal.signal_number(p_request ->> 'signal');
begin
	if v_signal is null then
		raise exception '"%" is not a signal', coalesce(p_request ->> 'signal', '') using errcode = 'RT422',
			hint = 'Give a name like USR1, or a number from 1 to 64.';
	end if;
	perform internal.attempt_order('signal', s.job_id, s.step_id, jsonb_build_object('signal', v_signal))
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.state in ('running', 'suspended') and s.attempt > 0;
	return internal.control_answer('signal', v_target, (
		select jsonb_agg(jsonb_build_object('job_id', s.job_id, 'step_id', s.step_id, 'action', 'signalled'))
		from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
		join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.state in ('running', 'suspended')
			and s.attempt > 0));
end $$;
comment on function api.job_signal(int, text, jsonb) is
	'Send a signal to every process of running steps. Request {jobs, signal: name or number}, or a selection. Answer '
	'{steps: [{label, state, action, changed, failed}]}.';
