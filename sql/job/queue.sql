create function api.queue_pick(p_uid int, p_caller text, p_all_seen boolean, p_user text, p_states text[], p_ended boolean, p_limit int) returns bigint[]
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_live bigint[];
	v_ended bigint[];
begin
	-- Live jobs have an index of their own; history is read only when asked for, newest first, of one user by an index of its own.
	select array_agg(j.job_id) into v_live
	from job j
	where j.ended_at is null and (p_user is null or j.user_name = p_user) and (p_all_seen or j.uid = p_uid);
	if not p_ended then
		return v_live;
	elsif p_user is null and p_all_seen then
		v_ended := array(select j.job_id from job j where j.ended_at is not null and j.state = any (p_states) order by j.job_id desc limit p_limit);
	else
		v_ended := array(
			select j.job_id from job j
			where j.user_name = coalesce(p_user, p_caller)
				and j.ended_at is not null and j.state = any (p_states) and (p_all_seen or j.uid = p_uid)
			order by j.job_id desc limit p_limit);
	end if;
	return v_live || v_ended;
end $$;
comment on function api.queue_pick(int, text, boolean, text, text[], boolean, int) is
	'Jobs for the queue: live ones, and (p_ended) those that ended in one of p_states, p_limit at most. Internal.';

create function api.job_queue(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	v_states text[] := api.request_states(p_request);
	v_partitions text[] := api.request_list(p_request, 'partition');
	v_limit int := api.request_int(p_request, 'limit');
	v_all boolean := api.sees_all(p_uid, p_user);
	v_jobs bigint[];
	v_answer jsonb;
begin
	if api.request_list(p_request, 'jobs') is not null then
		v_jobs := array(select distinct t.job_id from api.job_target(p_uid, p_user, p_request, false) t);
	else
		v_jobs := api.queue_pick(p_uid, p_user, v_all, api.request_text(p_request, 'user'), coalesce(v_states, array(select s.state from step_state s)),
			api.request_bool(p_request, 'all') or exists (select from step_state s where s.stage = 'final' and s.state = any (v_states)), coalesce(v_limit, 1000));
	end if;
	select jsonb_agg(x.facts order by x.job_id) into v_answer
	from (
		select s.job_id, s.facts
		from api.job_summary(v_jobs) s
		where (v_states is null or s.state = any (v_states)) and (v_partitions is null or s.partitions && v_partitions)
		order by s.job_id desc
		limit v_limit
	) x;
	return jsonb_build_object('jobs', coalesce(v_answer, '[]'));
end $$;
comment on function api.job_queue(int, text, jsonb) is
	'Jobs in one line each, the live ones unless all is true or states names a final one. Request {user, states, partition, jobs, all, limit}. Answer {jobs: [...]}.';
