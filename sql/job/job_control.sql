-- What owners and operators do to steps: cancel, hold, release, suspend, resume, signal.

create function api.control_begin(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_target jsonb;
begin
	-- It is kept with every step.
	if length(p_request ->> 'reason') > 1000 or p_request ->> 'reason' ~ '[[:cntrl:]]' then
		raise exception 'a reason is a line of 1000 characters at most' using errcode = 'RT422';
	end if;
	select jsonb_agg(to_jsonb(t)) into v_target from api.job_target(p_uid, p_user, p_request, true) t;
	perform api.job_lock(array(select distinct (v ->> 'job_id')::bigint from jsonb_array_elements(v_target) v));
	perform api.plan_for(jsonb_array_length(v_target));
	-- Elements named one by one become rows, so that something can befall them.
	perform api.array_expand(array(
		select (v.job_id, v.step_id - 1 - v.pos, v.pos)::api.element
		from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int, pos int)
		join step h on h.job_id = v.job_id and h.step_id = v.step_id - 1 - v.pos and h.ended_at is null
		where v.pos is not null), p_user);
	-- An array means its elements too.
	return (
		select jsonb_agg(distinct jsonb_build_object('job_id', x.job_id, 'step_id', x.step_id))
		from (
			select v.job_id, v.step_id from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
			union
			select s.job_id, s.step_id from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
			join step_array a on a.job_id = v.job_id and a.step_id = v.step_id
			join step s on s.job_id = v.job_id and s.request_id = v.step_id and s.array_index is not null and s.ended_at is null
		) x);
end $$;
comment on function api.control_begin(int, text, jsonb) is 'Check and lock what a request names: [{job_id, step_id}], elements of arrays included. Internal.';

create function api.control_answer(p_done jsonb) returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	select jsonb_build_object('steps', coalesce(jsonb_agg(jsonb_build_object('label', api.step_label(v.job_id, v.step_id),
		'state', s.state, 'action', v.action) order by v.job_id, v.step_id), '[]'))
	from jsonb_to_recordset(p_done) as v (job_id bigint, step_id int, action text)
	join step s on s.job_id = v.job_id and s.step_id = v.step_id;
$$;
comment on function api.control_answer(jsonb) is 'The answer of a controlling verb, from [{job_id, step_id, action}]. Internal.';

create function api.job_cancel(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_target jsonb := api.control_begin(p_uid, p_user, p_request);
	v_message text := 'cancelled by ' || p_user || coalesce(': ' || (p_request ->> 'reason'), '');
	v_done jsonb;
	v_one record;
begin
	select jsonb_agg(jsonb_build_object('job_id', s.job_id, 'step_id', s.step_id, 'action',
		case when s.ended_at is not null then 'already ended' when s.state = 'pending' or s.attempt = 0 then 'cancelled' else 'ending' end))
	into v_done
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	join step s on s.job_id = v.job_id and s.step_id = v.step_id;
	-- Of what runs, who wanted its end and why is kept now: its end is told by its node, which knows neither.
	perform api.step_move(p_user, array(
		select (s.job_id, s.step_id, 'modify', null, null, null, null, v_message)::api.move
		from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
		join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.ended_at is null and s.state <> 'pending' and s.attempt > 0
			and s.end_wanted is distinct from 'cancel'));
	update step s
	set end_wanted = 'cancel'
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	where s.job_id = v.job_id and s.step_id = v.step_id and s.ended_at is null and s.state <> 'pending' and s.attempt > 0;
	for v_one in
		select s.job_id, s.step_id from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
		join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.end_wanted = 'cancel' and s.ended_at is null
		order by s.job_id, s.step_id
	loop
		perform api.attempt_order('kill', v_one.job_id, v_one.step_id, '{"cause": "cancelled"}');
	end loop;
	-- Steps that wait for others first, so that none of them is seen as a failed dependency; then heads, then the rest.
	perform api.step_move(p_user, array(
		select m.move from (
			select (s.job_id, s.step_id, 'cancel', null, 'cancelled', null, null, v_message)::api.move as move, r.topo, s.step_id
			from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
			join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.state = 'pending'
			join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
			left join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
			where a.size is null or a.running + a.completed + a.failed = 0
		) m order by m.topo desc, m.step_id));
	perform api.step_move(p_user, array(
		select m::api.move
		from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
		join step_array a on a.job_id = v.job_id and a.step_id = v.step_id and a.next < a.size
		join step h on h.job_id = a.job_id and h.step_id = a.step_id and h.ended_at is null
		cross join lateral api.array_give_up(a.job_id, a.step_id, 'cancel', 'cancelled', v_message) m));
	notify rota_schedule;
	notify rota_event;
	return api.control_answer(v_done);
end $$;
comment on function api.job_cancel(int, text, jsonb) is
	'End steps: pending ones at once, live ones by SIGTERM and SIGKILL on their nodes. Request {jobs, reason}. Answer {steps: [{label, state, action}]}.';

create function api.job_hold(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_target jsonb := api.control_begin(p_uid, p_user, p_request);
	v_by text := case when api.caller_role(p_uid, p_user) = 'user' then 'user' else
		case when p_request ->> 'as' = 'user' then 'user' else 'admin' end end;
	v_done jsonb;
begin
	-- The owner's own hold is the owner's to lift, whatever else the owner may be.
	with held as (
		update step s
		set held = case when j.uid = p_uid then 'user' else v_by end, held_reason = coalesce(p_request ->> 'reason', 'held by ' || p_user)
		from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int), job j
		where s.job_id = v.job_id and s.step_id = v.step_id and j.job_id = s.job_id and s.ended_at is null
			and (s.state = 'pending' or s.attempt = 0) and s.held in ('', 'user')
		returning s.job_id, s.step_id
	)
	select jsonb_agg(jsonb_build_object('job_id', v.job_id, 'step_id', v.step_id,
		'action', case when h.job_id is not null then 'held' else 'left as it is' end))
	into v_done
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	left join held h on h.job_id = v.job_id and h.step_id = v.step_id;
	perform api.allocation_unkeep(array(select (v.job_id, v.step_id, 0)::api.attempt_key from jsonb_to_recordset(v_done) as v (job_id bigint, step_id int)));
	perform api.step_move(p_user, array(select (v.job_id, v.step_id, 'hold', null, null, null, null, null)::api.move
		from jsonb_to_recordset(v_done) as v (job_id bigint, step_id int, action text) where v.action = 'held'));
	notify rota_schedule;
	notify rota_event;
	return api.control_answer(v_done);
end $$;
comment on function api.job_hold(int, text, jsonb) is 'Keep steps from starting. Request {jobs, reason}. Answer {steps: [{label, state, action}]}.';

create function api.job_release(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_target jsonb := api.control_begin(p_uid, p_user, p_request);
	v_done jsonb;
begin
	if api.caller_role(p_uid, p_user) = 'user' and exists (
		select from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
		join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.held = 'admin'
	) then
		raise exception 'held by an operator' using errcode = 'RT403', hint = 'Ask an operator to release it.';
	end if;
	with released as (
		update step s
		set held = '', held_reason = null
		from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
		where s.job_id = v.job_id and s.step_id = v.step_id and s.held <> '' and s.ended_at is null
		returning s.job_id, s.step_id
	)
	select jsonb_agg(jsonb_build_object('job_id', v.job_id, 'step_id', v.step_id,
		'action', case when r.job_id is not null then 'released' else 'left as it is' end))
	into v_done
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	left join released r on r.job_id = v.job_id and r.step_id = v.step_id;
	perform api.step_move(p_user, array(select (v.job_id, v.step_id, 'release', null, null, null, null, null)::api.move
		from jsonb_to_recordset(v_done) as v (job_id bigint, step_id int, action text) where v.action = 'released'));
	notify rota_schedule;
	notify rota_event;
	return api.control_answer(v_done);
end $$;
comment on function api.job_release(int, text, jsonb) is 'Let held steps start again. Request {jobs}. Answer {steps: [{label, state, action}]}.';

create function api.job_suspend(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_target jsonb := api.control_begin(p_uid, p_user, p_request);
begin
	perform api.attempt_order('suspend', s.job_id, s.step_id, '{}')
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.state = 'running' and s.attempt > 0;
	update step s set resume_wanted = false
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	where s.job_id = v.job_id and s.step_id = v.step_id and s.resume_wanted;
	return api.control_answer((
		select jsonb_agg(jsonb_build_object('job_id', s.job_id, 'step_id', s.step_id,
			'action', case when s.state = 'running' and s.attempt > 0 then 'suspending' else 'left as it is' end))
		from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
		join step s on s.job_id = v.job_id and s.step_id = v.step_id));
end $$;
comment on function api.job_suspend(int, text, jsonb) is 'Stop the processes of running steps. Request {jobs}. Answer {steps: [{label, state, action}]}.';

create function api.job_resume(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_target jsonb := api.control_begin(p_uid, p_user, p_request);
	v_done jsonb;
begin
	update step s set resume_wanted = true
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	where s.job_id = v.job_id and s.step_id = v.step_id and s.attempt > 0
		-- One whose processes are being stopped just now goes on after that.
		and s.state in ('running', 'suspended');
	perform api.resume_lock(v_target);
	select jsonb_agg(jsonb_build_object('job_id', v.job_id, 'step_id', v.step_id,
		'action', case when not s.resume_wanted or s.state <> 'suspended' then 'left as it is' when api.step_resume(v.job_id, v.step_id) then 'resuming' else 'resumes when its CPUs are free' end))
	into v_done
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	join step s on s.job_id = v.job_id and s.step_id = v.step_id;
	notify rota_schedule;
	return api.control_answer(v_done);
end $$;
comment on function api.job_resume(int, text, jsonb) is 'Let suspended steps go on, now or as soon as their CPUs are free. Request {jobs}. Answer {steps: [{label, state, action}]}.';

create function api.signal_number(p_signal text) returns int
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select case when p_signal ~ '^[0-9]{1,2}$' then case when p_signal::int between 1 and 64 then p_signal::int end
		else array_position(array['HUP', 'INT', 'QUIT', 'ILL', 'TRAP', 'ABRT', 'BUS', 'FPE', 'KILL', 'USR1', 'SEGV', 'USR2', 'PIPE', 'ALRM', 'TERM', 'STKFLT',
			'CHLD', 'CONT', 'STOP', 'TSTP', 'TTIN', 'TTOU', 'URG', 'XCPU', 'XFSZ', 'VTALRM', 'PROF', 'WINCH', 'IO', 'PWR', 'SYS'],
			regexp_replace(upper(p_signal), '^SIG', '')) end;
$$;
comment on function api.signal_number(text) is 'Number of a signal given by name or number, as Linux counts them; null: there is no such signal. Internal.';

create function api.job_signal(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_target jsonb := api.control_begin(p_uid, p_user, p_request);
	v_signal int := api.signal_number(p_request ->> 'signal');
begin
	if v_signal is null then
		raise exception '"%" is not a signal', coalesce(p_request ->> 'signal', '') using errcode = 'RT422', hint = 'Give a name like USR1, or a number from 1 to 64.';
	end if;
	perform api.attempt_order('signal', s.job_id, s.step_id, jsonb_build_object('signal', v_signal))
	from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
	join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.state in ('running', 'suspended') and s.attempt > 0;
	return api.control_answer((
		select jsonb_agg(jsonb_build_object('job_id', s.job_id, 'step_id', s.step_id,
			'action', case when s.state in ('running', 'suspended') and s.attempt > 0 then 'signalled' else 'left as it is' end))
		from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
		join step s on s.job_id = v.job_id and s.step_id = v.step_id));
end $$;
comment on function api.job_signal(int, text, jsonb) is 'Send a signal to every process of running steps. Request {jobs, signal: name or number}. Answer {steps: [{label, state, action}]}.';
