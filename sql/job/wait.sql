-- Waiting for jobs. jobmgrd calls this at every notification for every waiting request, so it reads few rows: of a live job of
-- several steps it returns only whether any step has started.
create function api.job_wait(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
	v_plain boolean;
	v_answer jsonb;
begin
	-- Most requests name whole jobs of the caller by number, for which these rows are enough. Other requests are checked by
	-- internal.job_target.
	if jsonb_typeof(p_request -> 'jobs') = 'array' and jsonb_array_length(p_request -> 'jobs') between 1 and 1000 then
		select count(*) = count(*) filter (where j.uid = p_uid),
			jsonb_build_object('done', bool_and(j.ended_at is not null), 'jobs', jsonb_agg(jsonb_build_object(
			'job_id', j.job_id, 'state',
				coalesce(j.state,
				case when j.started_at is null or j.steps_total = 1 then internal.job_state(j)
				else 'running' end),
			'exit_code', j.exit_code, 'signal', j.signal, 'cause', j.cause) order by j.job_id))
		into v_plain, v_answer
		from (
			select distinct case when x ~ '^[0-9]{1,18}$' then x::bigint end as job_id
				from jsonb_array_elements_text(p_request -> 'jobs') x
		) n
		left join job j on j.job_id = n.job_id;
		if v_plain then
			return v_answer;
		end if;
	end if;
	return (
	with target as (
		select t.job_id, case when t.whole_job then null else t.step_id end as step_id, t.pos, t.index
		from internal.job_target(p_uid, p_user, p_request, false) t
		group by 1, 2, 3, 4
	), known as (
		select t.job_id, t.step_id,
			case
				when t.step_id is null
				then coalesce(j.state,
				case when j.started_at is null or j.steps_total = 1 then internal.job_state(j) else 'running' end)
				else coalesce(s.state, a.rest_state, 'pending') end as state,
			case when t.step_id is null then j.ended_at is not null
				else coalesce(s.ended_at is not null, h.ended_at is not null) end as ended,
			case when t.step_id is null then j.exit_code else s.exit_code end as exit_code,
			case when t.step_id is null then j.signal else s.signal end as signal,
			case when t.step_id is null then j.cause else coalesce(s.cause, h.cause) end as cause,
			case when t.step_id is not null then coalesce(internal.step_label(t.job_id, t.step_id),
				internal.step_label(h.job_id, h.step_id) || '[' || t.index || ']') end as label
		from target t
		join job j on j.job_id = t.job_id
		left join step s on s.job_id = t.job_id and s.step_id = t.step_id
		-- An element without a row has the state of its array.
		left join step h on h.job_id = t.job_id and h.step_id = t.step_id - 1 - t.pos
		left join step_array a on a.job_id = h.job_id and a.step_id = h.step_id
	)
	select jsonb_build_object('done', bool_and(k.ended), 'jobs',
		jsonb_agg(jsonb_strip_nulls(jsonb_build_object('step_id', k.step_id, 'label', k.label))
		|| jsonb_build_object('job_id', k.job_id, 'state', k.state, 'exit_code', k.exit_code, 'signal', k.signal, 'cause',
			k.cause)
		order by k.job_id, k.step_id nulls first))
	from known k);
end $$;
comment on function api.job_wait(int, text, jsonb) is
	'Whether jobs or steps have ended, and how. Request {jobs}. Answer {done, jobs: [{job_id, state, exit_code, signal, '
	'cause}]}; for a named step also step_id and label.';
