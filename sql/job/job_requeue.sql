-- Requeue of jobs that have ended: their steps wait again, as the next attempts of the same job. Attempts, events and allocations
-- stay as they are. The ends of the steps are taken out of the usage figures, because a step ends once there.
--
-- To continue a job is to requeue the steps that failed, with the data as it is: data that is still staged is not staged in
-- again, and if only the staging of a job failed, only the staging is tried again.

create function internal.requeue_steps(p_job bigint, p_failed boolean) returns int[]
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return array(
		with recursive script as materialized (
			select s.step_id, s.state not in ('completed', 'skipped') or not p_failed as again,
				s.state = 'skipped' and s.cause = 'not_needed' as unneeded
			from step_request r join step s on s.job_id = r.job_id and s.step_id = r.step_id
			where r.job_id = p_job
		), chosen (step_id) as (
			select s.step_id from script s where s.again
			union
			-- A step that was not needed is evaluated again if a step that it depends on runs again.
			select s.step_id
			from chosen c
			join step_edge e on e.job_id = p_job and e.peer_job_id = p_job and e.peer_step_id = c.step_id
			join script s on s.step_id = e.step_id and s.unneeded
		)
		select c.step_id from chosen c order by 1);
end $$;
comment on function internal.requeue_steps(bigint, boolean) is
	'The steps of an ended job''s script that a requeue runs again: all, or (p_failed) those that did not complete and '
	'those that were skipped after them.';

create function internal.requeue_refusal(p_job rota.job, p_steps int[], p_staged boolean) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return case
		when p_job.ended_at is null then format('it has not ended (%s)', internal.job_state(p_job))
		when p_job.staging and exists (select from internal.staging_rows(p_job.job_id) x (id)
			join staging g on g.job_id = x.id and g.ended_at is null
			where case when p_staged then g.step_id is not null and internal.staging_stuck(g.job_id) is null else true end)
			then 'burst_buffer.lua still stages its data out'
		when p_steps = '{}' then format('nothing of it failed (%s)', p_job.state)
		when not exists (select from live.job j where j.job_id = p_job.job_id)
			then 'it is too old: submit its script again ("rota show --script")'
		when not exists (select from script s where s.hash = p_job.script_hash)
			or not exists (select from environment n where n.hash = p_job.environment_hash)
			then 'its script or its environment has been removed: submit it again'
		-- Refuse an array whose peers are not over. Its elements that have rows would run again without waiting for these peers.
		else (select format('"%s" is an array that waits for steps that would run again: submit it again', r.name)
			from step_edge e
			join step_array a on a.job_id = e.job_id and a.step_id = e.step_id
			join step_request r on r.job_id = e.job_id and r.step_id = e.step_id
			where e.job_id = p_job.job_id and e.kind = 'after' and e.step_id = any (p_steps)
				and (e."condition" = 'corr' or (e.peer_job_id = p_job.job_id and e.peer_step_id = any (p_steps))
					or exists (select from job q
						where q.job_id = e.peer_job_id and q.job_id <> e.job_id and q.ended_at is null))
				and exists (select from step s
					where s.job_id = a.job_id and s.request_id = a.step_id and s.array_index is not null)
			order by e.step_id
			limit 1) end;
end $$;
comment on function internal.requeue_refusal(rota.job, int[], boolean) is
	'Returns the reason why an ended job cannot be requeued, if these steps would run again; null: it can. p_staged: the '
	'steps would run with the data that is staged.';

create function internal.requeue_elements(p_job bigint, p_steps int[], p_failed boolean) returns int[]
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_elements int[] := array(
		select s.step_id
		from step s
		where s.job_id = p_job and s.request_id = any (p_steps) and s.array_index is not null
			and (s.state not in ('completed', 'skipped') or not p_failed));
begin
	update step_array a
	set completed = n.completed, failed = 0, running = 0, rest_state = null,
		next = n.next, skip = array(select r.pos from unnest(n.rows) r (pos) where r.pos >= n.next order by r.pos)
	from (
		-- next is the first position without a row in rota.step.
		select x.*,
			coalesce((select min(r.nr) - 1 from unnest(x.rows) with ordinality r (pos, nr) where r.pos <> r.nr - 1),
			cardinality(x.rows))::int as next
		from (
			select o.step_id,
				coalesce(array_agg(s.step_id - s.request_id - 1
				order by s.step_id) filter (where s.array_index is not null), '{}') as rows,
				count(*) filter (where s.array_index is not null and p_failed
				and s.state in ('completed', 'skipped')) as completed
			from step_array o
			join step s on s.job_id = o.job_id and s.request_id = o.step_id
			where o.job_id = p_job and o.step_id = any (p_steps)
			group by o.step_id
		) x
	) n
	where a.job_id = p_job and a.step_id = n.step_id;
	return v_elements;
end $$;
comment on function internal.requeue_elements(bigint, int[], boolean) is
	'Set the counts of the arrays among ended steps back to waiting. Returns their elements that have rows and run again: '
	'all, or (p_failed) those that did not end well.';

create function internal.requeue_edges(p_job bigint, p_steps int[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	update step_edge e set state = 'waiting', resolved_at = null
		where e.job_id = p_job and e.step_id = any (p_steps) and e."condition" <> 'corr';
	update step s
	set deps_waiting = n.waits, eligible_at = case when n.waits = 0 then now() end
	from (
		select r.step_id,
			case when r.deps_any then least(count(*) filter (where e.kind = 'after'), 1)
			else count(*) filter (where e.kind = 'after') end
			+ count(*) filter (where e.kind <> 'after') as waits
		from step_request r
		left join step_edge e on e.job_id = r.job_id and e.step_id = r.step_id and e.gates
		where r.job_id = p_job and r.step_id = any (p_steps)
		group by r.step_id, r.deps_any
	) n
	where s.job_id = p_job and s.step_id = n.step_id;
end $$;
comment on function internal.requeue_edges(bigint, int[]) is
	'Have the dependencies of steps, and the other edges to their peers, wait again.';

create function internal.requeue_one(p_user text, p_job bigint, p_steps int[], p_failed boolean) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_all int[] := p_steps || internal.requeue_elements(p_job, p_steps, p_failed);
begin
	perform internal.usage_undo(p_job, v_all);
	-- step_write only makes these steps pending. submit_resolve below resolves the effects on other steps, after steps_left
	-- counts the steps again and their dependencies wait again.
	perform internal.step_write(p_user,
		array(select internal.move_of(job_id => p_job, step_id => x, event => 'rerun',
			message => 'requeued by ' || p_user)
		from unnest(v_all) x));
	update step s
	set retries = 0, requeues = 1, held = '', held_reason = null, begin_at = null, ordered_at = null, started_at = null,
		exit_code = null, signal = null, cause = null, message = null,
		end_wanted = null, resume_wanted = false, eligible_at = now()
	where s.job_id = p_job and s.step_id = any (v_all);
	update job j
	set steps_left = cardinality(p_steps), ended_at = null, state = null, exit_code = null, signal = null, cause = null,
		started_at = case when cardinality(p_steps) < j.steps_total then j.started_at end
	where j.job_id = p_job;
	perform internal.requeue_edges(p_job, p_steps);
	perform internal.staging_rerun(p_job);
	perform internal.submit_resolve(p_job);
	-- Elements get rows when they start, so an array with a row for an element has begun.
	perform internal.step_move(p_user, array(
		select internal.move_of(job_id => h.job_id, step_id => h.step_id, event => 'expand')
		from step h
		where h.job_id = p_job and h.step_id = any (p_steps) and h.is_array and h.state = 'pending' and h.deps_waiting = 0
			and exists (select from step s
				where s.job_id = h.job_id and s.request_id = h.step_id and s.array_index is not null)));
	perform internal.drain_hold(array[p_job], p_user);
end $$;
comment on function internal.requeue_one(text, bigint, int[], boolean) is 'Requeue steps of an ended job: they become pending.';

create function internal.requeue_lock(p_uid int, p_user text, p_request jsonb) returns bigint[]
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_jobs bigint[];
begin
	if exists (select from jsonb_array_elements_text(p_request -> 'jobs') x where x !~ '^[0-9]+$') then
		raise exception 'only whole jobs can be requeued or continued, not steps' using errcode = 'RT422',
			hint = 'Name the number of the job; "rota continue" runs only its failed steps again.';
	end if;
	v_jobs := array(select distinct t.job_id from internal.job_target(p_uid, p_user, p_request, true) t order by 1);
	-- Other jobs on which the steps depend could end meanwhile, so they are locked too, all in order.
	perform 1 from job j
	where j.job_id = any (v_jobs) or j.job_id in (select e.peer_job_id from step_edge e where e.job_id = any (v_jobs))
	order by j.job_id
	for no key update;
	return v_jobs;
end $$;
comment on function internal.requeue_lock(int, text, jsonb) is
	'The jobs of a request that the user may requeue, locked with those that they depend on.';

create function internal.requeue_job(p_user text, p_job rota.job, p_failed boolean, p_continue boolean,
	out changed boolean, out action text)
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_steps constant int[] := internal.requeue_steps(p_job.job_id, p_failed);
	v_stuck constant text := case when p_continue and p_job.staging then internal.staging_stuck(p_job.job_id) end;
	v_most bigint;
begin
	if v_stuck = 'failed' or (v_stuck is not null and v_steps = '{}') then
		perform internal.hook_retry(p_job.job_id);
		changed := true;
		action := case when v_stuck = 'failed' then 'its data is staged in again' else 'its data is staged out again' end;
		return;
	end if;
	action := internal.requeue_refusal(p_job, v_steps, v_stuck is not null);
	changed := action is null;
	if not changed then
		action := 'not changed: ' || action;
		return;
	end if;
	v_most := coalesce(internal.submit_fits(-1, cardinality(v_steps)), internal.submit_fits(p_job.uid, cardinality(v_steps)));
	if v_most is not null then
		raise exception 'there would be more than % live steps', v_most using errcode = 'RT429',
			hint = 'Wait until some have ended.';
	end if;
	perform internal.requeue_one(p_user, p_job.job_id, v_steps, p_failed);
	-- Try the failed stage-out of completed elements again, which do not run again.
	perform internal.hook_retry_one(x) from internal.staging_rows(p_job.job_id) x where v_stuck is not null and x <> p_job.job_id;
	update growth g set closed_at = null where g.job_id = p_job.job_id; -- its nodes come again, or it ends at once
	action := format('queued again (%s of %s%s)', cardinality(v_steps), internal.text_count(p_job.steps_total, 'step'),
		case when v_stuck is not null then '; its data is still staged' else '' end);
end $$;
comment on function internal.requeue_job(text, rota.job, boolean, boolean) is
	'Requeue a locked job, or (p_continue) continue it. Returns whether that changed the job, and the text to be printed.';

create function internal.requeue_all(p_uid int, p_user text, p_request jsonb, p_failed boolean, p_continue boolean) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_jobs constant bigint[] := internal.requeue_lock(p_uid, p_user, p_request);
	v_answer jsonb := '[]';
	v_job job;
	v_done record;
begin
	for v_job in select j.* from job j where j.job_id = any (v_jobs) order by j.job_id loop
		v_done := internal.requeue_job(p_user, v_job, p_failed, p_continue);
		v_answer := v_answer || jsonb_build_array(jsonb_build_object('label', v_job.job_id::text, 'state',
			coalesce(v_job.state, 'running'), 'failed', not v_done.changed, 'changed', v_done.changed, 'action', v_done.action));
	end loop;
	notify rota_schedule;
	notify rota_event;
	return jsonb_build_object('steps', v_answer);
end $$;
comment on function internal.requeue_all(int, text, jsonb, boolean, boolean) is
	'Requeue the jobs of a request, or (p_continue) continue them. Returns the answer, one row for each job.';

create function api.job_requeue(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	return internal.requeue_all(p_uid, p_user, p_request, internal.request_bool(p_request, 'failed'), false);
end $$;
comment on function api.job_requeue(int, text, jsonb) is
	'Run ended jobs again, as new attempts of their steps: all steps, or with failed those that did not complete and those '
	'that were skipped after them. Request {jobs, failed}. Answer {steps: [{label, state, action, changed, failed}]}, one '
	'for each job.';

create function api.job_continue(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	return internal.requeue_all(p_uid, p_user, p_request, true, true);
end $$;
comment on function api.job_continue(int, text, jsonb) is
	'Have jobs that failed go on: steps that did not complete, and steps that were skipped after them, run again with the '
	'data that is still staged; a stage-in or stage-out that failed is tried again. Request {jobs}. Answer as '
	'api.job_requeue.';
