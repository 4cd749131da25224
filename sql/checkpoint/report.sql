-- Reports of rota-checkpoint, which runs on the node as the owner of the job: from which checkpoint an attempt starts, and which
-- checkpoints the attempt has taken.
--
-- Invariants:
-- - A report changes only rows of steps of its sender, and only for the present attempt of the step. A report of an earlier
--   attempt is refused, so checkpoints that a lost node still saves never count.
-- - A checkpoint becomes complete in one transaction, with the digests of all of its files. Files alone are never a checkpoint.
-- - Users may report anything about their own files.

create function internal.checkpoint_usable(p_job bigint, p_step int) returns setof rota.checkpoint
language sql stable set search_path = rota, pg_temp as $$
	select * from checkpoint c
	where c.job_id = p_job and c.step_id = p_step and c.state in ('complete', 'restoring', 'restored');
$$;
comment on function internal.checkpoint_usable(bigint, int) is 'The checkpoints of a step that an attempt can start from.';

create function internal.checkpoint_eligible(p_job bigint, p_step int) returns setof rota.checkpoint
language sql stable set search_path = rota, pg_temp as $$
	select u.*
	from internal.checkpoint_usable(p_job, p_step) u
	left join (
		select s.attempt, s.generation from checkpoint_start s
		where s.job_id = p_job and s.step_id = p_step and s.wanted_by is not null
		order by s.attempt desc
		limit 1) w on true
	where w.attempt is null or u.attempt >= w.attempt or u.generation <= w.generation;
$$;
comment on function internal.checkpoint_eligible(bigint, int) is
	'The checkpoints of a step from which an attempt may start unless the user names one. If the user has chosen a '
	'generation, higher generations that are older than this choice are left out: the user wanted to go on from before them.';

create function internal.checkpoint_json(p_one rota.checkpoint) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return jsonb_build_object('generation', p_one.generation, 'path', p_one.path, 'driver', p_one.driver,
		'needs', p_one.needs, 'files', (
			select coalesce(jsonb_agg(jsonb_build_object('name', f.name, 'bytes', f.bytes, 'sha256', encode(f.sha256, 'hex'))
			order by f.name), '[]')
		from checkpoint_file f
		where f.job_id = p_one.job_id and f.step_id = p_one.step_id and f.generation = p_one.generation));
end $$;
comment on function internal.checkpoint_json(rota.checkpoint) is
	'A checkpoint with its files: {generation, path, driver, needs, files: [{name, bytes, sha256}]}.';

create function internal.checkpoint_hosts(p_step rota.step) returns jsonb
language sql stable set search_path = live, rota, pg_temp as $$
	select jsonb_build_object('hosts', jsonb_agg(n.address order by i.nr))
	from attempt t
	cross join unnest(t.node_ids) with ordinality i (node_id, nr)
	join node n on n.node_id = i.node_id
	where t.job_id = p_step.job_id and t.step_id = p_step.step_id and t.attempt = p_step.attempt
		and cardinality(t.node_ids) > 1
	having count(*) > 0;
$$;
comment on function internal.checkpoint_hosts(rota.step) is
	'The hosts of the nodes of the present attempt of a step, in their order: {hosts}; null: it has one node.';

create function internal.checkpoint_begin(p_step rota.step, p_below int) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_from checkpoint;
begin
	select c.* into v_from
	from internal.checkpoint_eligible(p_step.job_id, p_step.step_id) c
	where c.generation < p_below
	order by c.generation desc
	limit 1;
	update checkpoint c set state = 'restoring', restoring_at = clock_timestamp()
	where c.job_id = v_from.job_id and c.step_id = v_from.step_id and c.generation = v_from.generation;
	insert into checkpoint_start (job_id, step_id, attempt, generation)
	values (p_step.job_id, p_step.step_id, p_step.attempt, coalesce(v_from.generation, 0))
	on conflict (job_id, step_id, attempt) do update set generation = excluded.generation;
	perform internal.checkpoint_timer_set(p_step);
	return jsonb_build_object('wait_s', internal.setting_int('checkpoint_wait_s'),
		'kept', (select coalesce(jsonb_agg(c.generation), '[]')
			from internal.checkpoint_usable(p_step.job_id, p_step.step_id) c))
		|| coalesce(internal.checkpoint_hosts(p_step), '{}')
		|| case when v_from.generation is null then '{"generation": 0}' else internal.checkpoint_json(v_from) end;
end $$;
comment on function internal.checkpoint_begin(rota.step, int) is
	'Choose from which checkpoint the present attempt of a step starts: the generation that was asked for, or the latest, or '
	'one before a damaged one (p_below). Returns the checkpoint as internal.checkpoint_json does; generation 0: the attempt '
	'starts from the beginning; kept: all generations that still exist; wait_s: seconds within which the checkpoint is to be '
	'restored; hosts: as internal.checkpoint_hosts.';

create function internal.checkpoint_restart_end(p_step rota.step, p_generation int) returns boolean
language plpgsql set search_path = rota, pg_temp as $$
begin
	if not exists (select from checkpoint_start s
		where s.job_id = p_step.job_id and s.step_id = p_step.step_id and s.attempt = p_step.attempt
			and s.generation = p_generation and s.started_at is not null) then
		return false;
	end if;
	update step s set end_wanted = 'requeue'
	where s.job_id = p_step.job_id and s.step_id = p_step.step_id and s.end_wanted is null;
	if found then
		perform internal.attempt_order('kill', p_step.job_id, p_step.step_id, '{"cause": "checkpoint"}');
		notify rota_schedule;
	end if;
	return true;
end $$;
comment on function internal.checkpoint_restart_end(rota.step, int) is
	'End the present attempt of a step if its program already starts from this checkpoint; the step is queued again. Returns '
	'false if the program does not.';

create function internal.checkpoint_refuse(p_step rota.step, p_one rota.checkpoint, p_message text) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
begin
	perform internal.checkpoint_fail(p_one, p_message);
	if internal.checkpoint_restart_end(p_step, p_one.generation) then
		return '{}'; -- the next attempt starts from an earlier one
	end if;
	return internal.checkpoint_begin(p_step, p_one.generation);
end $$;
comment on function internal.checkpoint_refuse(rota.step, rota.checkpoint, text) is
	'Report that the present attempt of a step cannot start from a checkpoint: its files have changed, or its driver could '
	'not restore the program. Answer as internal.checkpoint_begin: the checkpoint from which to start instead; {}: the '
	'attempt ends, and the step is queued again.';

create function internal.checkpoint_began(p_step rota.step, p_driver text, p_why text) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
begin
	with started as (
		update checkpoint_start s set started_at = clock_timestamp(), driver = left(p_driver, 100),
			why = nullif(left(p_why, 400), '')
		where s.job_id = p_step.job_id and s.step_id = p_step.step_id and s.attempt = p_step.attempt and s.started_at is null
		returning s.generation
	)
	update checkpoint c set state = 'restored', restored_at = clock_timestamp(), restores = c.restores + 1
	from started
	where c.job_id = p_step.job_id and c.step_id = p_step.step_id and c.generation = started.generation and c.state = 'restoring';
	return '{}';
end $$;
comment on function internal.checkpoint_began(rota.step, text, text) is
	'Report that the files from which the present attempt starts are whole, and that its program begins, with this driver. '
	'p_why: why driver auto chose it.';

create function internal.checkpoint_unmet(p_step rota.step, p_generation int, p_message text) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
begin
	update checkpoint_start s set unmet = p_message
	where s.job_id = p_step.job_id and s.step_id = p_step.step_id and s.attempt = p_step.attempt;
	perform internal.checkpoint_restart_end(p_step, p_generation);
	return '{}';
end $$;
comment on function internal.checkpoint_unmet(rota.step, int, text) is
	'Report that the node of the present attempt lacks what its checkpoint needs, or could not restore all of its tasks. The '
	'attempt ends by itself, or is ended if its program already starts, and internal.why_step names the reason.';

create function internal.checkpoint_take(p_step rota.step, p_reason text) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_open constant checkpoint := internal.checkpoint_open(p_step);
	c_wait constant int := internal.setting_int('checkpoint_wait_s');
begin
	if v_open.generation is null then
		return jsonb_build_object('wait_s', c_wait,
			'generation', internal.checkpoint_add(p_step, 'taking', coalesce(p_reason, 'program'),
				case p_reason when 'interval' then 'node' when 'time_limit' then 'node' else 'program' end, null,
				case p_reason when 'time_limit' then 'requeue' else 'continue' end));
	end if;
	update checkpoint c
	set state = 'taking', taking_at = coalesce(c.taking_at, clock_timestamp()), deadline_at = now() + internal.checkpoint_wait()
	where c.job_id = v_open.job_id and c.step_id = v_open.step_id and c.generation = v_open.generation and c.state = 'asked';
	return jsonb_build_object('wait_s', c_wait, 'generation', v_open.generation);
end $$;
comment on function internal.checkpoint_take(rota.step, text) is
	'Report that the program of a step begins to save itself: because of the request that is under way, a signal of its node '
	'(p_reason), or by itself. Answer {generation, wait_s: seconds within which the checkpoint is to be complete}.';

create function internal.checkpoint_over_quota(p_uid int, p_bytes bigint) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_most constant bigint := internal.setting_int('checkpoint_quota_mb') * 1048576::bigint;
	v_has bigint;
begin
	if v_most = 0 then
		return null;
	end if;
	select coalesce(sum(c.bytes), 0) into v_has
	from checkpoint c
	join job j on j.job_id = c.job_id and j.uid = p_uid
	where c.state in ('complete', 'restoring', 'restored');
	return case when v_has + p_bytes > v_most
		then format('your checkpoints would have %s MiB, and %s are allowed: "rota checkpoint discard" '
			'removes others', (v_has + p_bytes) / 1048576 + 1, v_most / 1048576) end;
end $$;
comment on function internal.checkpoint_over_quota(int, bigint) is
	'Returns the reason why a user may not have p_bytes more bytes of checkpoints; null: the user may.';

create function internal.checkpoint_thin(p_step rota.step) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_keep constant int := (select coalesce((r.checkpoint ->> 'keep')::int, 2) from step_request r
		where r.job_id = p_step.job_id and r.step_id = p_step.request_id);
	v_gone int[];
begin
	with thinned as (
		update checkpoint c set state = 'discarded', discarded_at = clock_timestamp()
		where c.job_id = p_step.job_id and c.step_id = p_step.step_id and c.generation in (
			select u.generation from internal.checkpoint_usable(p_step.job_id, p_step.step_id) u
			order by u.generation in (
				select e.generation from internal.checkpoint_eligible(p_step.job_id, p_step.step_id) e) desc,
				u.generation desc offset v_keep)
		returning c.generation
	)
	select coalesce(array_agg(t.generation order by t.generation), '{}') into v_gone from thinned t;
	perform internal.checkpoint_forget(p_step.job_id, p_step.step_id, v_gone) where v_gone <> '{}';
	return jsonb_build_object('discard', v_gone);
end $$;
comment on function internal.checkpoint_thin(rota.step) is
	'Discard the oldest checkpoints of a step beyond the number that the step keeps. Answer {discard: generations whose '
	'files are to be removed}.';

create function internal.checkpoint_complete(p_uid int, p_step rota.step, p_one rota.checkpoint, p_request jsonb) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_bytes constant bigint := (select coalesce(sum((f ->> 'bytes')::bigint), 0)
		from jsonb_array_elements(p_request -> 'files') f);
	v_over constant text := internal.checkpoint_over_quota(p_uid, v_bytes);
begin
	if p_one.complete_at is not null then
		return internal.checkpoint_thin(p_step); -- the answer of the first report was lost
	elsif v_over is not null then
		perform internal.checkpoint_fail(p_one, v_over);
		return jsonb_build_object('failed', v_over);
	end if;
	insert into checkpoint_file (job_id, step_id, generation, name, bytes, sha256)
	select p_one.job_id, p_one.step_id, p_one.generation, f ->> 'name', (f ->> 'bytes')::bigint, decode(f ->> 'sha256', 'hex')
	from jsonb_array_elements(p_request -> 'files') f;
	update checkpoint c
	set state = 'complete', complete_at = clock_timestamp(), taking_at = coalesce(c.taking_at, clock_timestamp()),
		failed_at = null, message = null, node = p_request ->> 'node', path = p_request ->> 'path',
		driver = coalesce(left(p_request ->> 'driver', 100), c.driver), driver_version = left(p_request ->> 'version', 100),
		needs = p_request -> 'needs', files = jsonb_array_length(p_request -> 'files'), bytes = v_bytes
	where c.job_id = p_one.job_id and c.step_id = p_one.step_id and c.generation = p_one.generation;
	-- Whoever asked for a checkpoint that is complete too late has seen it fail, and has acted on that.
	if p_one.state in ('asked', 'taking') then
		perform internal.checkpoint_follow(p_one, internal.request_bool(p_request, 'ended'));
	end if;
	if p_one.then_do <> 'continue' then
		notify rota_schedule;
	end if;
	perform internal.checkpoint_timer_set(p_step);
	notify rota_event;
	return internal.checkpoint_thin(p_step);
end $$;
comment on function internal.checkpoint_complete(int, rota.step, rota.checkpoint, jsonb) is
	'Report that a checkpoint is complete, with its files, and apply what was to follow. Answer as internal.checkpoint_thin, '
	'or {failed: why the checkpoint is not complete}.';

create function internal.checkpoint_over(p_step rota.step) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
begin
	update checkpoint c set state = 'discarded', discarded_at = clock_timestamp()
	where c.job_id = p_step.job_id and c.step_id = p_step.step_id and c.state in ('complete', 'restoring', 'restored');
	delete from checkpoint_file f where f.job_id = p_step.job_id and f.step_id = p_step.step_id;
	return '{}';
end $$;
comment on function internal.checkpoint_over(rota.step) is
	'Report that the program of a step has ended well, so the files of its checkpoints are removed.';

create function internal.checkpoint_step(p_uid int, p_request jsonb) returns rota.step
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_job constant bigint := internal.request_int(p_request, 'job', 9223372036854775807);
	v_attempt constant int := internal.request_int(p_request, 'attempt');
	v_step step;
begin
	if exists (select from job j where j.job_id = v_job and j.uid = p_uid) then
		perform internal.job_lock(array[v_job]);
		select s.* into v_step
		from step s
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id and r.checkpoint is not null
		where s.job_id = v_job and s.step_id = internal.request_int(p_request, 'step_id');
	end if;
	if v_step.job_id is null then
		raise exception 'job % has no such step of yours with --checkpoint', coalesce(v_job::text, '') using errcode = 'RT404';
	elsif v_step.attempt is distinct from v_attempt or v_step.ended_at is not null or v_step.state = 'pending' then
		raise exception 'attempt % of %.% is over', coalesce(v_attempt::text, ''), v_job, v_step.step_id using errcode = 'RT409',
			hint = 'A later attempt goes on from the latest complete checkpoint.';
	end if;
	return v_step;
end $$;
comment on function internal.checkpoint_step(int, jsonb) is
	'The step that a report {job, step_id, attempt} of user p_uid is about, its job locked. RT404: the user has no such '
	'step; RT409: the report is not of the step''s present attempt.';

create function internal.checkpoint_check(p_request jsonb) returns void
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	if jsonb_typeof(p_request -> 'files') is distinct from 'array'
		or jsonb_array_length(p_request -> 'files') not between 1 and 10000 then
		raise exception 'a checkpoint must have 1 to 10000 files' using errcode = 'RT422',
			hint = 'Write many small files into one.';
	elsif exists (select from jsonb_array_elements(p_request -> 'files') f
		where coalesce(f ->> 'name', '') ~ '(^|/)\.{0,2}(/|$)' or octet_length(f ->> 'name') > 1024
			or coalesce(f ->> 'bytes', '') !~ '^[0-9]{1,18}$' or coalesce(f ->> 'sha256', '') !~ '^[0-9a-f]{64}$') then
		raise exception 'each file of a checkpoint needs a name below its folder, bytes and sha256' using errcode = 'RT422';
	elsif coalesce(p_request ->> 'path', '') !~ '^/' or not internal.is_line(p_request ->> 'path') then
		raise exception 'a checkpoint needs the absolute path of its folder' using errcode = 'RT422';
	elsif jsonb_typeof(p_request -> 'needs') <> 'object' or length(p_request ->> 'needs') > 8192 then
		raise exception 'the needs of a checkpoint must be an object of at most 8 KiB' using errcode = 'RT422';
	elsif not exists (select from node n where n.name = p_request ->> 'node') then
		raise exception 'there is no node "%"', coalesce(p_request ->> 'node', '') using errcode = 'RT422';
	end if;
end $$;
comment on function internal.checkpoint_check(jsonb) is 'Refuse (RT422) a report of a complete checkpoint that is malformed.';

create function api.checkpoint_report(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_action constant text := coalesce(internal.request_text(p_request, 'action'), '');
	v_message constant text := coalesce(left(internal.request_text(p_request, 'message'), 400), 'its program says no more');
	v_reason constant text := internal.request_text(p_request, 'reason');
	v_step step;
	v_one checkpoint;
begin
	if v_action not in ('begin', 'began', 'refused', 'unmet', 'take', 'complete', 'failed', 'over') then
		raise exception 'no report is called "%"', v_action using errcode = 'RT422',
			hint = 'rota-checkpoint makes these reports.';
	elsif v_reason is not null and v_reason not in ('exit', 'interval', 'time_limit') then
		raise exception 'no checkpoint is taken for reason "%"', v_reason using errcode = 'RT422';
	elsif v_action = 'complete' then
		perform internal.checkpoint_check(p_request);
	end if;
	v_step := internal.checkpoint_step(p_uid, p_request);
	select c.* into v_one from checkpoint c
	where c.job_id = v_step.job_id and c.step_id = v_step.step_id and c.generation = internal.request_int(p_request, 'generation')
		and (c.attempt = v_step.attempt or v_action in ('refused', 'unmet'));
	if v_action in ('refused', 'complete', 'failed') and v_one.generation is null then
		raise exception 'attempt % takes no checkpoint %', v_step.attempt, coalesce(p_request ->> 'generation', '')
			using errcode = 'RT404';
	end if;
	if v_action = 'failed' then
		perform internal.checkpoint_fail(v_one, v_message);
	end if;
	return case v_action
		when 'begin' then internal.checkpoint_begin(v_step, 2147483647)
		when 'began' then internal.checkpoint_began(v_step, internal.request_text(p_request, 'driver'),
			internal.request_text(p_request, 'why'))
		when 'refused' then internal.checkpoint_refuse(v_step, v_one, v_message)
		when 'unmet' then internal.checkpoint_unmet(v_step, v_one.generation, v_message)
		when 'take' then internal.checkpoint_take(v_step, v_reason)
		when 'complete' then internal.checkpoint_complete(p_uid, v_step, v_one, p_request)
		when 'over' then internal.checkpoint_over(v_step)
		else '{}' end;
end $$;
comment on function api.checkpoint_report(int, text, jsonb) is
	'Report of rota-checkpoint about a step of the caller. Request {job, step_id, attempt, node, action, ...}. Actions: '
	'begin: asks from which checkpoint the attempt starts, answer as internal.checkpoint_begin; refused {generation, '
	'message}: this checkpoint is damaged, or the program was not restored from it, answer as internal.checkpoint_refuse; '
	'unmet {message}: the node lacks what the checkpoint needs; began {driver, why}: the program starts. take {reason}: the '
	'program saves itself, answer {generation}; complete {generation, path, files: [{name, bytes, sha256}], driver, version, '
	'needs, ended}: the program has saved itself, answer {discard} or {failed}; failed {generation, message}: it could not; '
	'over: the step ended well and the files are removed. RT404: no such step of the caller; RT409: the attempt is over.';
