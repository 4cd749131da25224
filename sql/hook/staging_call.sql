-- Calls of functions of burst_buffer.lua: runnerd reads here what to call, and reports how calls ended.
-- Invariants:
-- - One runnerd at a time leads (api.leader_claim with the name hook). If a call has begun and the leader does not have it,
--   the runnerd that had it has gone, and so has the process: the call counts as interrupted.
-- - Reporting the end of a call again changes nothing.

create function internal.staging_leader(p_term bigint, p_lock boolean) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if p_lock then
		perform from leader l where l.name = 'hook' and l.term = p_term for no key update;
	else
		perform from leader l where l.name = 'hook' and l.term = p_term;
	end if;
	if not found then
		raise exception 'the leadership of term % has passed to another process', p_term using errcode = 'RT412',
			hint = 'Another runnerd leads now.';
	end if;
end $$;
comment on function internal.staging_leader(bigint, boolean) is
	'Fail with RT412 unless the term is that of the leading runnerd. p_lock: no other runnerd can become leader before '
	'the transaction ends.';

create function internal.staging_next(p_job bigint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.staging_call_make(p_job, s.next_function, s.hurry) from staging s
	where s.job_id = p_job and s.next_function is not null;
	update staging s set next_function = null where s.job_id = p_job and s.next_function is not null;
end $$;
comment on function internal.staging_next(bigint) is
	'A call that was no longer needed has ended: make the call that is needed due.';

create function internal.staging_interrupted(p_have bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_calls bigint[];
	v_jobs bigint[];
	v_call record;
begin
	select array_agg(c.call_id), array_agg(c.job_id) into v_calls, v_jobs
	from staging_call c
	where c.ended_at is null and c.began_at is not null and c.call_id <> all (p_have);
	if v_calls is null then
		return;
	end if;
	perform internal.job_lock(internal.staging_owners(v_jobs));
	for v_call in
		update staging_call c set ended_at = clock_timestamp(), message = 'interrupted: its runnerd ended'
		where c.job_id = any (v_jobs) and c.call_id = any (v_calls) and c.ended_at is null and c.began_at is not null
		returning c.job_id, c.unwanted
	loop
		if v_call.unwanted then
			perform internal.staging_next(v_call.job_id);
		else
			perform internal.staging_move(v_call.job_id, 'interrupted');
		end if;
	end loop;
end $$;
comment on function internal.staging_interrupted(bigint[]) is
	'Calls that have begun and that the leader does not have (p_have) have ended with their runnerd: do what follows.';

create function internal.staging_wanted(p_job bigint, p_function text, p_unwanted boolean) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return not p_unwanted and (p_function <> 'pre_run' or exists (
		select from internal.staged_step v
		join hook_pending h on h.job_id = v.job_id and h.step_id = v.step_id
		where v.staging_id = p_job and h.hook = 'pre_run' and internal.hook_wanted(h.job_id, h.step_id, h.attempt)));
end $$;
comment on function internal.staging_wanted(bigint, text, boolean) is
	'Whether a call is still needed: its job has not ended otherwise, and for pre_run, some attempt is still to start.';

create function internal.slurm_state(p_state text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return case
		when p_state in ('starting', 'prolog') then 'CONFIGURING'
		when p_state = 'ending' then 'COMPLETING'
		when p_state = 'skipped' then 'COMPLETED'
		when p_state = 'dependency_failed' then 'CANCELLED'
		else upper(p_state) end;
end $$;
comment on function internal.slurm_state(text) is 'Slurm''s name for the state of a job.';

create function internal.slurm_staging(p_state text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select case p_state
		when 'setup' then 'staging-in'
		when 'failed' then 'staging-in'
		when 'staged' then 'staged-in'
		else replace(p_state, '_', '-') end;
$$;
comment on function internal.slurm_staging(text) is 'Slurm''s name for the state of a job''s data.';

create function internal.staging_job_info(p_job bigint) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select jsonb_strip_nulls(jsonb_build_object('job_id', g.job_id, 'array_job_id', g.array_job_id, 'array_task_id',
			e.array_index, 'user_id', j.uid, 'group_id', j.gid,
			'user_name', j.user_name, 'account', j.account, 'name', j.name, 'qos', j.qos, 'comment', j.comment,
			'work_dir', j.workdir, 'submit_time', floor(extract(epoch from j.submit_at)),
			'start_time', floor(extract(epoch from case when e.job_id is null then j.started_at else e.started_at end)),
			'end_time', floor(extract(epoch from case when e.job_id is null then j.ended_at else e.ended_at end)),
			'job_state', internal.slurm_state(coalesce(e.state, j.state, internal.job_state(j))),
			'exit_code', case when e.job_id is null then j.exit_code else e.exit_code end,
			'burst_buffer', d.directives, 'burst_buffer_state', internal.slurm_staging(g.state), 'partition', r.partition,
			'nodes', n.nodes, 'num_nodes', n.count))
		from staging g
		join staging d on d.job_id = coalesce(g.array_job_id, g.job_id)
		join job j on j.job_id = d.job_id
		join step_request r on r.job_id = j.job_id
			and r.step_id = (select min(x.step_id) from step_request x where x.job_id = j.job_id)
		left join step e on e.job_id = g.array_job_id and e.step_id = g.step_id
		cross join lateral (
			select string_agg(distinct x, ',') as nodes, count(distinct x) as count
			from step s
			join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt and t.attempt > 0
			cross join lateral unnest(t.nodes) x
			where s.job_id = j.job_id and s.step_id between coalesce(g.step_id, 0) and coalesce(g.step_id, 2147483647)
		) n
		where g.job_id = p_job);
end $$;
comment on function internal.staging_job_info(bigint) is
	'The argument job_info of functions of burst_buffer.lua: properties of a job or an element, named as in Slurm.';

create function api.staging_take(p_term bigint, p_have bigint[], p_limit int, p_poll boolean)
returns table (call_id bigint, function text, wanted boolean, job_id bigint, uid int, gid int, hurry boolean, polled_s int,
	script bytea, inserted text, job_info jsonb, pool text, size bigint)
language plpgsql security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
declare
	v_ready bigint[];
begin
	perform internal.staging_leader(p_term, false);
	if not exists (select from staging g where g.ended_at is null) then
		return;
	end if;
	-- The runnerd that led before may still run the same calls.
	perform internal.staging_leader(p_term, true);
	v_ready := internal.staging_owners(internal.staging_ready()) || array(select r.job_id from internal.staging_room r);
	-- Lock all jobs at once, in order of id. The functions called below lock them again.
	perform internal.job_lock(v_ready || internal.staging_owners(array(
		select c.job_id from staging_call c where c.ended_at is null and c.began_at is not null and c.call_id <> all (p_have))));
	perform internal.staging_interrupted(p_have);
	if v_ready <> '{}' then
		perform internal.staging_ahead(v_ready);
		perform internal.staging_begin(v_ready);
	end if;
	return query
	with due as (
		select c.call_id, c.job_id, internal.staging_wanted(c.job_id, c.function, c.unwanted) as wanted,
			c.began_at is not null as runs
		from staging_call c
		where c.ended_at is null and ((c.began_at is null and c.due_at <= clock_timestamp())
			or (p_poll and c.call_id = any (p_have)))
		order by c.began_at is null, c.due_at
		limit p_limit + cardinality(p_have)
	), chosen as (
		(select d.* from due d where d.runs and not d.wanted)
		union all
		(select d.* from due d where not d.runs limit p_limit)
	), taken as (
		update staging_call c
		set began_at = coalesce(c.began_at, clock_timestamp()), first_at = coalesce(c.first_at, clock_timestamp())
		from chosen d
		where c.job_id = d.job_id and c.call_id = d.call_id and c.ended_at is null
		returning c.*, d.wanted
	)
	select t.call_id, t.function, t.wanted, g.job_id, j.uid, j.gid, t.hurry,
		floor(extract(epoch from clock_timestamp() - t.first_at))::int, s.body, d.inserted,
		internal.staging_job_info(g.job_id), coalesce(g.pool, '(null)'), coalesce(g.taken, 0)
	from taken t
	join staging g on g.job_id = t.job_id
	join staging d on d.job_id = coalesce(g.array_job_id, g.job_id)
	join job j on j.job_id = d.job_id
	join script s on s.hash = j.script_hash
	order by t.call_id;
end $$;
comment on function api.staging_take(bigint, bigint[], int, boolean) is
	'Take calls of functions that are due, with their arguments: p_limit at most. p_have: calls that the leading runnerd already '
	'makes. A call that has begun and is not in p_have is interrupted. The argument job_id of an element is its own number. '
	'polled_s: seconds for which the call has been polled. Without wanted, runnerd reports the call and does not make it. '
	'p_poll: also return calls of p_have that are no longer wanted. '
	'Begins the stage-in of jobs that wait for nothing else. RT412: no longer leader.';

create function internal.staging_attempts(p_job bigint, p_message text) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	-- After a failure all attempts, otherwise those that are to end.
	v_stop bigint[] := array(
		select h.hook_id from internal.staged_step v
		join hook_pending h on h.job_id = v.job_id and h.step_id = v.step_id
		where v.staging_id = p_job and h.hook = 'pre_run'
			and (p_message is not null or not internal.hook_wanted(h.job_id, h.step_id, h.attempt)));
	v_node int;
begin
	if v_stop <> '{}' then
		perform internal.hook_stop(v_stop, array_fill(coalesce(p_message, 'cancelled'), array[cardinality(v_stop)]));
	end if;
	for v_node in
		with gone as (
			delete from hook_pending h
			using internal.staged_step v
			where v.staging_id = p_job and h.job_id = v.job_id and h.step_id = v.step_id and h.hook = 'pre_run'
			returning h.*
		)
		select distinct coalesce(l.notify_node_id, n.node_id)
		from gone g
		join attempt t on t.job_id = g.job_id and t.step_id = g.step_id and t.attempt = g.attempt
			and coalesce(t.ended_at, 'infinity') = 'infinity'
		cross join lateral unnest(t.node_ids) n (node_id)
		left join node_lease l on l.node_id = n.node_id
	loop
		perform pg_notify('rota_node_' || v_node, '');
	end loop;
end $$;
comment on function internal.staging_attempts(bigint, text) is
	'The call of pre_run of a job has ended: send the launch requests of its attempts. If the call failed (p_message: why), '
	'queue the steps again.';

create function internal.staging_variables(p_job bigint, p_text text) returns text
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	-- The variables are part of the launch request, which is one message of at most 128 KiB to the launcher.
	c_most constant int := 32768;
	v_lines text[] := array(select l from string_to_table(p_text, E'\n') l where l <> '');
	v_bad int;
begin
	select l.nr into v_bad from unnest(v_lines) with ordinality l (line, nr)
	where l.line !~ '^[A-Za-z_][A-Za-z0-9_]*=' order by l.nr limit 1;
	if v_bad is not null then
		return format('line %s of the path file is not NAME=value', v_bad);
	elsif cardinality(v_lines) > 1000 then
		return format('the path file has %s variables; at most 1000 are allowed', cardinality(v_lines));
	elsif octet_length(p_text) > c_most then
		return format('the path file has %s bytes; at most %s are allowed', octet_length(p_text), c_most);
	end if;
	update staging g set variables = v_lines where g.job_id = p_job;
	return null;
end $$;
comment on function internal.staging_variables(bigint, text) is
	'Store the variables that the function paths wrote as lines NAME=value. Answers why they are refused, or null.';

create function internal.staging_fail(p_call rota.staging_call, p_message text, p_teardown boolean) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	c_tries constant int := 3;
	c_pause constant interval := '10 s';
	-- If no attempt is to start any more, pre_run was killed for that, which is no failure.
	v_reason constant text := case when internal.staging_wanted(p_call.job_id, p_call.function, false)
		then format('burst_buffer.lua: %s: %s', p_call.function, coalesce(p_message, 'failed')) end;
	v_kept constant boolean := p_call.function = 'pre_run' and internal.staging_has_run(p_call.job_id);
	v_to text;
begin
	if p_call.function = 'job_teardown' then
		if p_call.tries < c_tries then
			update staging g set message = v_reason where g.job_id = p_call.job_id;
			perform internal.staging_call_make(p_call.job_id, 'job_teardown', p_call.hurry, p_call.tries + 1,
				clock_timestamp() + c_pause);
		elsif internal.staging_move(p_call.job_id, 'give_up', v_reason) is null then
			perform internal.staging_move(p_call.job_id, 'job_teardown', v_reason);
		end if;
		return;
	end if;
	v_to := internal.staging_move(p_call.job_id, case when v_kept then 'fail_kept' when p_teardown then 'fail_teardown'
		else 'fail' end, v_reason);
	if v_to = 'failed' then
		perform internal.staging_hold(p_call.job_id, v_reason);
	elsif p_call.function = 'pre_run' then
		perform internal.staging_attempts(p_call.job_id, v_reason);
		perform internal.staging_gate(p_call.job_id) where not v_kept;
	end if;
end $$;
comment on function internal.staging_fail(rota.staging_call, text, boolean) is
	'A function has failed. A teardown is tried 3 times, 10 s apart. A stage-in holds the job. A pre_run queues the '
	'steps of the job again, and the data stays if some steps have run with it. After the run, the data stays or, with '
	'p_teardown, is torn down.';

create function internal.staging_done(p_call rota.staging_call, p_result text, p_teardown boolean) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_bad text := case when p_call.function = 'paths' then internal.staging_variables(p_call.job_id, coalesce(p_result, '')) end;
	v_to text;
begin
	if v_bad is not null then
		perform internal.staging_fail(p_call, v_bad, p_teardown);
		return;
	end if;
	if p_call.function = 'real_size' then
		perform internal.pool_grow(p_call.job_id, p_result);
	end if;
	if p_call.function = 'pre_run' then
		-- End attempts that were cancelled meanwhile first. If none is left, the job or element has not run.
		perform internal.staging_attempts(p_call.job_id, null);
	end if;
	v_to := internal.staging_move(p_call.job_id, case when p_call.function = 'test_data_in'
		and exists (select from staging g where g.job_id = p_call.job_id and g.pool is not null) then 'measure'
		else p_call.function end);
	perform internal.staging_release(p_call.job_id) where v_to = 'staged';
end $$;
comment on function internal.staging_done(rota.staging_call, text, boolean) is
	'A function has succeeded. p_result: the variables that paths wrote, or the answer of real_size.';

create function internal.staging_report_one(p_call rota.staging_call, p_busy boolean, p_result text, p_poll_s int,
	p_teardown boolean) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if p_busy and p_call.rc = 0 and p_call.function like 'test\_%' and not p_call.unwanted then
		update staging_call c
		set began_at = null, due_at = clock_timestamp() + make_interval(secs => p_poll_s), output = p_call.output
		where c.job_id = p_call.job_id and c.call_id = p_call.call_id;
		return;
	end if;
	update staging_call c
	set began_at = coalesce(c.began_at, clock_timestamp()), ended_at = clock_timestamp(), rc = p_call.rc, usec = p_call.usec,
		message = p_call.message, output = nullif(p_call.output, '')
	where c.job_id = p_call.job_id and c.call_id = p_call.call_id and c.ended_at is null;
	if not found then
		return; -- the report names the call twice
	elsif p_call.unwanted then
		perform internal.staging_next(p_call.job_id);
	elsif p_call.rc = 0 then
		perform internal.staging_done(p_call, p_result, p_teardown);
	else
		perform internal.staging_fail(p_call, p_call.message, p_teardown);
	end if;
end $$;
comment on function internal.staging_report_one(rota.staging_call, boolean, text, int, boolean) is
	'Store the end of one call, whose row has rc, usec, message and output as reported, and make the next call due.';

create function internal.staging_lock(p_calls bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_attempts internal.attempt_key[];
begin
	perform internal.job_lock(internal.staging_owners(array(
		select c.job_id from staging_call c where c.call_id = any (p_calls) and c.ended_at is null)));
	-- A report may end attempts only if it has calls of pre_run, so most reports lock no nodes. internal.hook_stop locks
	-- the nodes of a single attempt.
	v_attempts := array(
		select (h.job_id, h.step_id, h.attempt)::internal.attempt_key
		from staging_call c
		join internal.staged_step s on s.staging_id = c.job_id
		join hook_pending h on h.job_id = s.job_id and h.step_id = s.step_id and h.hook = 'pre_run'
		where c.call_id = any (p_calls) and c.ended_at is null and c.function = 'pre_run');
	if cardinality(v_attempts) > 1 then
		perform internal.node_lock(array(
			select distinct n
			from unnest(v_attempts) v
			join attempt t on t.job_id = v.job_id and t.step_id = v.step_id and t.attempt = v.attempt
			cross join lateral unnest(t.node_ids) n));
		perform internal.license_lock(v_attempts);
	end if;
end $$;
comment on function internal.staging_lock(bigint[]) is
	'Lock the jobs of these calls, and the nodes and licences of attempts that may end with the calls: all at once, in '
	'order.';

create function api.staging_report(p_term bigint, p_calls bigint[], p_rcs int[], p_busy boolean[], p_usecs bigint[],
	p_messages text[], p_outputs text[], p_results text[], p_poll_s int, p_teardown boolean) returns void
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_one record;
	v_call rota.staging_call;
begin
	perform internal.staging_leader(p_term, true);
	perform internal.staging_lock(p_calls);
	for v_one in
		select c as call, v.*
		from unnest(p_calls, p_rcs, p_busy, p_usecs, p_messages, p_outputs, p_results)
			as v (call_id, rc, busy, usec, message, output, result)
		join rota.staging_call c on c.call_id = v.call_id and c.ended_at is null
		order by v.call_id
	loop
		v_call := v_one.call;
		v_call.rc := v_one.rc;
		v_call.usec := v_one.usec;
		v_call.message := v_one.message;
		v_call.output := v_one.output;
		perform internal.staging_report_one(v_call, v_one.busy, v_one.result, p_poll_s, p_teardown);
	end loop;
	notify rota_event;
end $$;
comment on function api.staging_report(bigint, bigint[], int[], boolean[], bigint[], text[], text[], text[], int, boolean) is
	'How calls ended: the return value of each function (null: it did not run to its end), whether it is to be polled '
	'again in p_poll_s seconds, microseconds, message, output, and as result the variables of paths or the answer of '
	'real_size. p_teardown: a failure tears the data down at once. Reporting an end again changes nothing. RT412: no '
	'longer leader.';
