-- Requests of users and operators to take, list, restore and discard checkpoints.

create view internal.checkpoint_now as
select c.job_id, c.step_id, c.generation, j.user_name, j.account, r.name as step, s.array_index, c.attempt, c.driver,
	c.driver_version, c.state, c.reason, c.asked_by, c.why, c.then_do, c.node, c.path, c.files, c.bytes, c.message, c.asked_at,
	c.taking_at, c.complete_at, c.failed_at, c.restoring_at, c.restored_at, c.restores, c.discarded_at, c.needs,
	case when c.complete_at is not null then d.consistency end as consistency,
	(select f.bytes from rota.checkpoint_file f
		where f.job_id = c.job_id and f.step_id = c.step_id and f.generation = c.generation and f.name = '.rota-tmpdir.tar')
		as tmpdir_bytes,
	extract(epoch from c.complete_at - c.taking_at)::double precision as elapsed_s,
	-- Work that the checkpoint saves: since the checkpoint before, or since the start of the attempt.
	extract(epoch from c.taking_at - coalesce((select max(o.taking_at) from rota.checkpoint o
		where o.job_id = c.job_id and o.step_id = c.step_id and o.attempt = c.attempt and o.complete_at is not null
			and o.generation < c.generation), t.started_at))::double precision as saved_s
from rota.checkpoint c
join rota.job j on j.job_id = c.job_id
join rota.step s on s.job_id = c.job_id and s.step_id = c.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.attempt t on t.job_id = c.job_id and t.step_id = c.step_id and t.attempt = c.attempt
left join internal.checkpoint_driver d on d.prefix = split_part(c.driver, ':', 1);
comment on view internal.checkpoint_now is
	'Checkpoints, one row each, with the seconds that they cost and the seconds of work that they saved.';

create function api.job_checkpoint(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_target constant jsonb := internal.control_begin(p_uid, p_user, p_request);
	v_then constant text := case when internal.request_bool(p_request, 'end') then 'end' else 'continue' end;
	v_done jsonb;
begin
	select jsonb_agg(jsonb_build_object('job_id', a.job_id, 'step_id', a.step_id,
		'action', format('checkpoint %s is asked for', a.generation)))
	into v_done
	from (
		select s.job_id, s.step_id, internal.checkpoint_ask(s.job_id, s.step_id,
			case when j.uid = p_uid then 'user' else 'operator' end, p_user, p_request ->> 'reason', v_then) as generation
		from jsonb_to_recordset(v_target) as v (job_id bigint, step_id int)
		join step s on s.job_id = v.job_id and s.step_id = v.step_id
		join job j on j.job_id = s.job_id
		order by s.job_id, s.step_id
	) a
	where a.generation is not null;
	return internal.control_answer('checkpoint', v_target, v_done);
end $$;
comment on function api.job_checkpoint(int, text, jsonb) is
	'Have running steps save themselves, and end after that (end). Request {jobs, end, reason}, or a selection of jobs. '
	'Answer {steps: [{label, state, action, changed, failed}]}; api.checkpoint_list shows later whether the checkpoints are '
	'complete.';

create function internal.checkpoint_own(p_uid int, p_job bigint) returns void
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	if not exists (select from job j where j.job_id = p_job and j.uid = p_uid) then
		raise exception 'the checkpoints of job % belong to another user', p_job using errcode = 'RT403',
			hint = 'Only the owner of the job verifies or removes their files.';
	end if;
end $$;
comment on function internal.checkpoint_own(int, bigint) is
	'Refuse (RT403) all users but the owner of a job, who has written the paths of its checkpoints. For requests that open '
	'or remove files of checkpoints.';

create function api.checkpoint_list(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_named constant boolean := internal.request_list(p_request, 'jobs') is not null;
	v_all constant boolean := internal.request_bool(p_request, 'all');
	v_generation constant int := internal.request_int(p_request, 'generation');
	v_target jsonb;
	v_rows jsonb;
begin
	if v_named then
		select coalesce(jsonb_agg(to_jsonb(t)), '[]') into v_target from internal.job_target(p_uid, p_user, p_request, true) t;
	end if;
	if internal.request_bool(p_request, 'verify') then
		perform internal.checkpoint_own(p_uid, t.job_id) from jsonb_to_recordset(v_target) as t (job_id bigint);
	end if;
	select coalesce(jsonb_agg(to_jsonb(c) - '{user_name,account,found}'::text[]
		|| jsonb_build_object('label', internal.step_label(c.job_id, c.step_id), 'file_list',
			case when v_generation is not null and c.found = 1 then internal.checkpoint_json(x) -> 'files' end)
		order by c.job_id, c.step_id, c.generation), '[]')
	into v_rows
	from (
		select n.*, count(*) over () as found from internal.checkpoint_now n
		join job j on j.job_id = n.job_id
		where (v_generation is null or n.generation = v_generation)
			and case when v_named then exists (select from jsonb_to_recordset(v_target) as t (job_id bigint, step_id int)
					join step s on s.job_id = t.job_id and (s.step_id = t.step_id or s.request_id = t.step_id)
					where s.job_id = n.job_id and s.step_id = n.step_id)
				else j.uid = p_uid and (v_all or n.state not in ('failed', 'discarded')) end
		order by n.job_id desc, n.step_id, n.generation desc
		limit 1000) c
	join checkpoint x on x.job_id = c.job_id and x.step_id = c.step_id and x.generation = c.generation;
	return jsonb_build_object('checkpoints', v_rows, 'done', not (internal.request_bool(p_request, 'wait')
		and v_rows @? '$[*] ? (@.state == "asked" || @.state == "taking")'));
end $$;
comment on function api.checkpoint_list(int, text, jsonb) is
	'Checkpoints of the caller, or (for operators too) of named jobs and steps. Request {jobs, generation, all, wait, '
	'verify}. Without jobs: checkpoints that can be used or are under way; all: other ones too, the latest 1000. generation: '
	'this one only, with file_list if jobs names one step. verify: the caller opens the files, which only the owner may '
	'(RT403). Answer {checkpoints: [{...}], done}: the columns of acct.checkpoint; done is false while wait is true and a '
	'checkpoint is under way.';

create function internal.checkpoint_chosen(p_uid int, p_user text, p_request jsonb) returns rota.step
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_step step;
	v_count int;
begin
	select count(*) into v_count
	from internal.job_target(p_uid, p_user, p_request, true) t
	join step_request r on r.job_id = t.job_id and r.step_id = coalesce(t.step_id - 1 - t.pos, t.step_id)
		and r.checkpoint is not null;
	if v_count <> 1 then
		raise exception '% steps named that have checkpoints', v_count using errcode = 'RT422',
			hint = 'Name one step, as 812.solve or 812.draw[7].';
	end if;
	select s.* into v_step
	from internal.job_target(p_uid, p_user, p_request, true) t
	join step s on s.job_id = t.job_id and s.step_id = t.step_id
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id and r.checkpoint is not null;
	if v_step.is_array and internal.request_int(p_request, 'generation') is not null then
		raise exception 'each element of an array has checkpoints of its own' using errcode = 'RT422',
			hint = 'Name one element, as 812.draw[7].';
	end if;
	return v_step;
end $$;
comment on function internal.checkpoint_chosen(int, text, jsonb) is
	'The one step with checkpoints that a request names. RT422: none, or several, or a generation of an array.';

create function api.checkpoint_discard(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_step step := internal.checkpoint_chosen(p_uid, p_user, p_request);
	v_generation constant int := internal.request_int(p_request, 'generation');
	v_gone int[];
begin
	perform internal.checkpoint_own(p_uid, v_step.job_id);
	perform internal.job_lock(array[v_step.job_id]);
	select s.* into v_step from step s where s.job_id = v_step.job_id and s.step_id = v_step.step_id;
	if v_step.state <> 'pending' and v_step.ended_at is null and exists (select from checkpoint_start s
		where s.job_id = v_step.job_id and s.step_id = v_step.step_id and s.attempt = v_step.attempt
			and s.generation = coalesce(v_generation, s.generation) and s.generation > 0) then
		raise exception 'the step runs from this checkpoint, and may still read its files' using errcode = 'RT409';
	end if;
	with gone as (
		update checkpoint c set state = 'discarded', discarded_at = clock_timestamp()
		where c.job_id = v_step.job_id and c.step_id = v_step.step_id and c.state in ('complete', 'restoring', 'restored')
			and (v_generation is null or c.generation = v_generation)
		returning c.generation
	)
	select coalesce(array_agg(g.generation order by g.generation), '{}') into v_gone from gone g;
	perform internal.checkpoint_forget(v_step.job_id, v_step.step_id, v_gone);
	return jsonb_build_object('label', internal.step_label(v_step.job_id, v_step.step_id), 'discarded', v_gone);
end $$;
comment on function api.checkpoint_discard(int, text, jsonb) is
	'Discard checkpoints of a step of the caller, one generation or all. Request {jobs, generation}. Answer {label, '
	'discarded: generations}; the caller removes the files. RT403: the job is another user''s; RT409: the step runs from the '
	'checkpoint.';

create function internal.checkpoint_want(p_user text, p_step rota.step, p_generation int) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if p_generation > 0 and not exists (select from internal.checkpoint_usable(p_step.job_id, p_step.step_id) c
		where c.generation = p_generation) then
		raise exception 'step % has no checkpoint % that can be used',
			internal.step_label(p_step.job_id, p_step.step_id), p_generation using errcode = 'RT404',
			hint = format('"rota checkpoint list %s" lists them.', p_step.job_id);
	end if;
	insert into checkpoint_start (job_id, step_id, attempt, generation, wanted_by)
	values (p_step.job_id, p_step.step_id, p_step.attempt + 1, p_generation, p_user)
	on conflict (job_id, step_id, attempt) do update set generation = excluded.generation, wanted_by = excluded.wanted_by;
end $$;
comment on function internal.checkpoint_want(text, rota.step, int) is
	'Have the next attempt of a step start from this generation of its checkpoints; 0: from the beginning.';

create function api.job_restart(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_step step := internal.checkpoint_chosen(p_uid, p_user, p_request);
	v_generation constant int := internal.request_int(p_request, 'generation');
	v_to constant text[] := internal.request_nodes(p_request, 'to');
	v_job job;
	v_done record;
	v_action text := 'is queued already';
begin
	if v_step.is_array and v_to <> '{}' then
		raise exception 'each element of an array starts on nodes of its own' using errcode = 'RT422',
			hint = 'Name one element, as 812.draw[7].';
	end if;
	perform internal.requeue_lock(p_uid, p_user, jsonb_build_object('jobs', jsonb_build_array(v_step.job_id::text)));
	select j.* into v_job from job j where j.job_id = v_step.job_id;
	select s.* into v_step from step s where s.job_id = v_step.job_id and s.step_id = v_step.step_id;
	if v_step.state in ('completed', 'skipped') then
		raise exception 'the step has ended well (%)', v_step.state using errcode = 'RT409',
			hint = '"rota requeue" runs the job from the beginning.';
	elsif v_step.ended_at is null and v_step.state <> 'pending' then
		raise exception 'the step has not ended (%)', v_step.state using errcode = 'RT409',
			hint = '"rota checkpoint --end" saves and ends it.';
	end if;
	if v_generation is not null then
		perform internal.checkpoint_want(p_user, v_step, v_generation);
	end if;
	if v_step.ended_at is not null then
		v_done := internal.requeue_job(p_user, v_job, true, false);
		if not v_done.changed then
			raise exception 'job %: %', v_job.job_id, v_done.action using errcode = 'RT409';
		end if;
		v_action := v_done.action;
	end if;
	perform internal.move_want(p_user, v_step, v_to) where v_to <> '{}';
	notify rota_schedule;
	notify rota_event;
	return jsonb_build_object('label', internal.step_label(v_step.job_id, v_step.step_id), 'action', v_action, 'to', v_to,
		'generation', coalesce(v_generation,
			(select max(c.generation) from internal.checkpoint_eligible(v_step.job_id, v_step.step_id) c), 0));
end $$;
comment on function api.job_restart(int, text, jsonb) is
	'Have a step that ended or waits start from a checkpoint. A job that has ended is queued again with its failed steps. '
	'Request {jobs: one step, generation: default the latest, 0 the beginning, to: the only nodes on which the step starts}. '
	'Answer {label, action, to, generation}. RT404: no such checkpoint; RT409: the step runs, or ended well.';
