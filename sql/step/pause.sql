-- Suspend and resume. A suspended step gives back its CPUs, unless the user keeps them, those licences that the step is to give
-- up, and its GPUs if its programs have left them. It never gives back its memory, as stopped processes keep theirs.
create function internal.step_suspended(p_job bigint, p_step int, p_attempt int, p_at timestamptz, p_left boolean) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update attempt t set suspended_at = p_at
	where t.job_id = p_job and t.step_id = p_step and t.attempt = p_attempt and t.suspended_at is null and t.ended_at is null;
	if not found then
		return;
	end if;
	perform internal.step_move('node', array[internal.move_of(job_id => p_job, step_id => p_step, event => 'suspend',
		at => p_at)]);
	perform internal.node_lock(array(select a.node_id from allocation a
		where a.job_id = p_job and a.step_id = p_step and a.attempt = p_attempt));
	perform internal.license_lock(array[(p_job, p_step, p_attempt)::internal.attempt_key]);
	with given as (
		update allocation a
		set cpus_held = 0, started_at = coalesce(a.started_at, p_at), -- the element no longer waits for CPUs of its array
			without_cpus = a.without_cpus + tstzmultirange(tstzrange(greatest(p_at, a.started_at), null))
		from allocation o, step s, step_request r
		where a.job_id = p_job and a.step_id = p_step and a.attempt = p_attempt and a.ended_at is null
			and o.job_id = a.job_id and o.step_id = a.step_id and o.attempt = a.attempt and o.node_id = a.node_id
			and s.job_id = a.job_id and s.step_id = a.step_id and r.job_id = s.job_id and r.step_id = s.request_id
			and not coalesce((r.keep ->> 'cpus')::boolean, false)
		returning a.node_id, o.cpus_held
	)
	update node_used n set cpus_used = n.cpus_used - g.cpus_held from given g where n.node_id = g.node_id;
	update license l
	set used = l.used - (x.value)::int
	from allocation a
	join step s on s.job_id = a.job_id and s.step_id = a.step_id
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id and r.keep ->> 'licenses' = 'false'
	cross join lateral jsonb_each_text(a.licenses) x
	where a.job_id = p_job and a.step_id = p_step and a.attempt = p_attempt and a.ended_at is null and l.license = x.key;
	update allocation a
	set licenses = '{}'
	from step s, step_request r
	where a.job_id = p_job and a.step_id = p_step and a.attempt = p_attempt and a.ended_at is null
		and s.job_id = a.job_id and s.step_id = a.step_id and r.job_id = s.job_id and r.step_id = s.request_id
			and r.keep ->> 'licenses' = 'false';
	if p_left then
		perform internal.devices_leave(p_job, p_step, p_attempt, p_at);
	end if;
	notify rota_schedule;
end $$;
comment on function internal.step_suspended(bigint, int, int, timestamptz, boolean) is
	'Record that the processes of an attempt have been stopped: the step is suspended and gives back the resources that it '
	'does not keep. p_left: its programs have left its GPUs.';

create function internal.resume_lock(p_steps jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.node_lock(array(
		select a.node_id
		from jsonb_to_recordset(p_steps) as v (job_id bigint, step_id int)
		join step s on s.job_id = v.job_id and s.step_id = v.step_id and s.state = 'suspended'
		join allocation a on a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = s.attempt
			and coalesce(a.ended_at, 'infinity') = 'infinity'));
	perform internal.license_lock(array(select (v.job_id, v.step_id, null)::internal.attempt_key
		from jsonb_to_recordset(p_steps) as v (job_id bigint, step_id int)));
end $$;
comment on function internal.resume_lock(jsonb) is
	'Lock the nodes and licences that steps [{job_id, step_id}] need to resume, all at once and in order, before '
	'internal.step_resume for each step.';

create function internal.step_resume(p_job bigint, p_step int) returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_attempt int;
	v_licenses jsonb;
	-- The CPUs of the step are found free under the locks, perhaps after a wait for these: they are held from then on.
	v_at timestamptz;
begin
	select s.attempt, r.licenses into v_attempt, v_licenses
	from step s join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	where s.job_id = p_job and s.step_id = p_step and s.state = 'suspended';
	if not found then
		return false;
	end if;
	if exists (
		select from allocation a join node_used n on n.node_id = a.node_id
		where a.job_id = p_job and a.step_id = p_step and a.attempt = v_attempt and a.ended_at is null
			and n.cpus_used + a.cpus - a.cpus_held + internal.claim_cpus(a.node_id) > n.cpus
	) or exists (
		select from allocation a
		cross join lateral jsonb_each_text(v_licenses) x
		join license l on l.license = x.key
		where a.job_id = p_job and a.step_id = p_step and a.attempt = v_attempt and a.node_index = 0 and a.licenses = '{}'
			and l.used + x.value::int > l.total
	) or not internal.devices_are_free(p_job, p_step, v_attempt) then
		return false;
	end if;
	v_at := clock_timestamp();
	update node_used n set cpus_used = n.cpus_used + a.cpus - a.cpus_held
	from allocation a
	where a.job_id = p_job and a.step_id = p_step and a.attempt = v_attempt and a.ended_at is null and n.node_id = a.node_id;
	update license l set used = l.used + x.value::int
	from allocation a cross join lateral jsonb_each_text(v_licenses) x
	where a.job_id = p_job and a.step_id = p_step and a.attempt = v_attempt and a.node_index = 0 and a.licenses = '{}'
		and l.license = x.key;
	update allocation a
	set cpus_held = a.cpus, started_at = coalesce(a.started_at, v_at),
		without_cpus = a.without_cpus * tstzmultirange(tstzrange(null, v_at)),
		licenses = case when a.node_index = 0 then v_licenses else a.licenses end
	where a.job_id = p_job and a.step_id = p_step and a.attempt = v_attempt and a.ended_at is null;
	perform internal.pause_end(p_job, p_step, v_attempt, v_at);
	perform internal.step_move('schedule', array[internal.move_of(job_id => p_job, step_id => p_step,
		event => 'resume', at => v_at)]);
	perform internal.attempt_order('resume', p_job, p_step, internal.devices_return(p_job, p_step, v_attempt, v_at));
	notify rota_event;
	return true;
end $$;
comment on function internal.step_resume(bigint, int) is
	'Resume a suspended step if its CPUs, licences and GPUs are free. Returns whether they were. The caller has called '
	'internal.resume_lock.';
