-- The staging of a job's data as users see it, and what administrators may do about it.

create function internal.staging_out_text(p_job bigint) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return case when internal.staging_stuck(p_job) is null then 'its data is being staged out'
		else format('stage-out has failed; use "rota continue %s" or "rota cancel --hurry %s"',
			(internal.staging_owners(array[p_job]))[1], internal.staging_label(p_job)) end;
end $$;
comment on function internal.staging_out_text(bigint) is
	'State of the stage-out of a job''s data, as text; if the stage-out has failed, with what to do next.';

create function internal.staging_array_text(p_job bigint) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return concat_ws(': ', 'each element has its data staged for itself', (
		select string_agg(format('%s %s', x.count, x.state), ', ' order by x.count desc, x.state)
		from (select e.state, count(*) from staging e
			where e.array_job_id = p_job and e.ended_at is null group by e.state) x));
end $$;
comment on function internal.staging_array_text(bigint) is
	'State of the staging of an array''s elements, as text: the number of elements in each state.';

create function internal.staging_text(p_staging rota.staging) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_call staging_call;
begin
	select * into v_call from staging_call c where c.job_id = p_staging.job_id and c.ended_at is null;
	return concat_ws(', ', case p_staging.state
		when 'pending' then 'its data is to be staged in'
		when 'setup' then 'its data is being staged in'
		when 'staging_in' then 'its data is being staged in'
		when 'staged' then 'its data is staged'
		when 'failed' then 'stage-in has failed'
		when 'post_run' then internal.staging_out_text(p_staging.job_id)
		when 'staging_out' then internal.staging_out_text(p_staging.job_id)
		when 'array' then internal.staging_array_text(p_staging.job_id)
		else p_staging.state end,
		case when v_call.began_at is not null then format('%s of burst_buffer.lua since %s', v_call.function,
			to_char(v_call.began_at, 'YYYY-MM-DD HH24:MI:SS TZ'))
		when v_call.function is not null then v_call.function || ' of burst_buffer.lua is due' end, p_staging.message);
end $$;
comment on function internal.staging_text(rota.staging) is 'State of the staging of a job''s data, as text.';

create function internal.staging_veil(p_text text, p_own boolean) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select case when p_own then p_text
		else regexp_replace(p_text, 'burst_buffer\.lua: ([a-z_]+): .*', 'burst_buffer.lua: \1 failed') end;
$$;
comment on function internal.staging_veil(text, boolean) is
	'A text about the data of a job. The message of a failed function may name files, so it is only for the owner and '
	'operators (p_own).';

create function internal.why_staging(p_job bigint, p_step int) returns setof jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	select coalesce(internal.pool_why(g.job_id), internal.why_row('staging', internal.staging_text(g), null, null))
	from staging g
	join step s on s.job_id = p_job and s.step_id = p_step
	where g.job_id = internal.staging_of(p_job, p_step) and g.state in ('pending', 'setup', 'staging_in', 'failed')
		and s.deps_waiting > 0;
end $$;
comment on function internal.why_staging(bigint, int) is 'The conditions of "why" for a step that waits for its data.';

create function internal.why_staging_out(p_job bigint, p_own boolean) returns setof jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	select internal.why_row('staging', internal.staging_veil(internal.staging_text(g), p_own), null, null)
	from staging g
	where g.job_id = p_job and g.state in ('post_run', 'staging_out', 'teardown', 'array');
end $$;
comment on function internal.why_staging_out(bigint, boolean) is
	'The state of the data of a job or an element that has ended, as a condition of "why". p_own: the owner or an '
	'operator asks.';

create function internal.why_teardown(p_job bigint, p_label text, p_state text) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_staging constant text := (select g.state from staging g where g.job_id = p_job and g.ended_at is null);
begin
	return format('waits for %s to end, and for its data to be torn down (%s)', p_label, concat_ws(', ', p_state, v_staging,
		case when internal.staging_stuck(p_job) is not null
			then format('which failed: "rota continue %1$s" or "rota cancel --hurry %1$s" ends that', p_job) end));
end $$;
comment on function internal.why_teardown(bigint, text, text) is
	'The condition of "why" for a step that waits for the teardown of the data of another job, whose label and state '
	'are given.';

create function internal.staging_calls_json(p_job bigint, p_own boolean) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('function', c.function, 'hurry', c.hurry, 'try', c.tries, 'due_at',
			c.due_at, 'began_at', c.began_at, 'ended_at', c.ended_at, 'rc', c.rc, 'elapsed_s', round(c.usec / 1e6, 3),
			'message', c.message, 'output', case when p_own then c.output end) order by c.call_id), '[]')
		from staging_call c where c.job_id = p_job);
end $$;
comment on function internal.staging_calls_json(bigint, boolean) is
	'Calls of functions of burst_buffer.lua for a job; p_own: with their output.';

create function internal.staging_elements_json(p_job bigint, p_own boolean, p_calls boolean) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	c_most constant int := 100;
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('label', internal.step_label(g.array_job_id, g.step_id), 'number', g.job_id,
			'state', g.state, 'message', case when p_own then g.message end, 'text',
			case when p_own then internal.staging_text(g) end,
			'calls', case when p_own and p_calls then internal.staging_calls_json(g.job_id, true) end) order by g.step_id), '[]')
		from (
			select e.* from staging e where e.array_job_id = p_job
			order by e.ended_at desc nulls first, e.step_id limit c_most) g);
end $$;
comment on function internal.staging_elements_json(bigint, boolean, boolean) is
	'The data of at most 100 elements of an array: all that are not over, then the latest of the others. p_own: with '
	'the parts that only the owner may see; p_calls: with the calls of functions.';

create function internal.staging_json(p_job bigint, p_own boolean) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select jsonb_build_object('state', g.state, 'directives', case when p_own then g.directives end, 'message',
			case when p_own then g.message end, 'pool', case when p_own then g.pool end,
			'capacity', case when p_own then g.capacity end, 'taken', case when p_own then g.taken end,
			'staged_at', g.staged_at, 'ended_at', g.ended_at, 'calls',
			case when p_own then internal.staging_calls_json(p_job, true) end)
			|| case when exists (select from step_array a where a.job_id = p_job and a.staged)
				then jsonb_build_object('elements', internal.staging_elements_json(p_job, p_own, p_own)) else '{}' end
		from staging g where g.job_id = p_job);
end $$;
comment on function internal.staging_json(bigint, boolean) is
	'The data of a job, for "show"; p_own: with the parts that only the owner may see.';

create function internal.hook_list_json(p_job bigint) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('job_id', g.job_id, 'label', internal.staging_label(g.job_id),
			'user', j.user_name, 'state', g.state, 'text', internal.staging_text(g), 'message', g.message,
			'calls', case when p_job is not null then internal.staging_calls_json(g.job_id, true) end,
			'elements', case when p_job is not null and g.step_id is null and exists (
				select from step_array a where a.job_id = g.job_id and a.staged)
				then internal.staging_elements_json(g.job_id, true, true) end)
			order by coalesce(g.array_job_id, g.job_id), g.step_id nulls first), '[]')
		from staging g
		join job j on j.job_id = coalesce(g.array_job_id, g.job_id)
		where case when p_job is null then g.ended_at is null else g.job_id = p_job end);
end $$;
comment on function internal.hook_list_json(bigint) is
	'Staging of the job p_job, or of the element with this number, with calls of functions; null: all staging that is '
	'not over, without calls.';

create function internal.hook_retry_one(p_job bigint) returns text
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_staging staging;
begin
	select * into v_staging from staging g where g.job_id = p_job;
	if exists (select from staging_call c where c.job_id = p_job and c.ended_at is null) then
		return null;
	elsif v_staging.state = 'failed' then
		update step s set held = '', held_reason = null
		from internal.staged_step v
		where v.staging_id = p_job and v.state = 'pending' and v.held = 'system'
			and s.job_id = v.job_id and s.step_id = v.step_id;
		perform internal.step_move('operator', array(
			select internal.move_of(job_id => s.job_id, step_id => s.step_id, event => 'release')
			from internal.staged_step s where s.staging_id = p_job and s.state = 'pending'));
	end if;
	return internal.staging_move(p_job, 'retry');
end $$;
comment on function internal.hook_retry_one(bigint) is
	'Try the failed stage-in or stage-out of a job or an element again. Answers the new state; null: it has not failed.';

create function internal.hook_retry(p_job bigint) returns text
language plpgsql set search_path = rota, pg_temp as $$
begin
	perform internal.job_lock(internal.staging_owners(array[p_job]));
	notify rota_hook;
	return (select max(internal.hook_retry_one(x)) from internal.staging_rows(p_job) x);
end $$;
comment on function internal.hook_retry(bigint) is
	'Try the failed stage-in or stage-out again, of a job, of its elements, or of one element. Answers a new state; '
	'null: none has failed.';

create function api.hook_admin(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_action constant text := coalesce(internal.request_text(p_request, 'action'), '');
	v_job constant bigint := internal.request_int(p_request, 'job', 9223372036854775807);
	v_state text;
begin
	if v_action = 'pools' then
		return internal.pool_list_json();
	elsif internal.caller_role(p_uid, p_user) = 'user' then
		raise exception 'only operators and administrators see the calls of hooks' using errcode = 'RT403',
			hint = 'rota show JOB has those of your own jobs.';
	elsif v_action not in ('list', 'show', 'retry') then
		raise exception 'a hook has no action "%"', v_action using errcode = 'RT422',
			hint = 'Actions are list, show, retry and pools.';
	elsif v_action = 'list' then
		return jsonb_build_object('hooks', internal.hook_list_json(null));
	elsif v_job is null or not exists (select from staging g where g.job_id = v_job) then
		raise exception 'no job % has directives for burst_buffer.lua', coalesce(v_job::text, '') using errcode = 'RT404',
			hint = 'rota admin hook list';
	elsif v_action = 'retry' then
		v_state := internal.hook_retry(v_job);
		if v_state is null then
			raise exception 'nothing of job % has failed: %', v_job,
				(select internal.staging_text(g) from staging g where g.job_id = v_job) using errcode = 'RT409';
		end if;
	end if;
	return jsonb_build_object('hooks', internal.hook_list_json(v_job));
end $$;
comment on function api.hook_admin(int, text, jsonb) is
	'Staging of jobs. Request {action, job}; job: number of a job, or the own number of an element. Actions of operators: '
	'"list": all jobs whose staging is not over; "show": one job with the calls of its functions; "retry": repeat what '
	'failed for a job, and answer as "show". Their answer is {hooks: [{job_id, label, user, state, text, message, calls, '
	'elements}]}. Action of everybody: "pools", answered as internal.pool_list_json. RT403: the caller is no operator; '
	'RT404: the job has no directives; RT409: nothing of the job has failed.';
