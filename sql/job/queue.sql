create function api.queue_ended(p_request jsonb) returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select api.request_bool(p_request, 'all')
		or exists (select from step_state s where s.stage = 'final' and s.state = any (api.request_states(p_request)));
$$;
comment on function api.queue_ended(jsonb) is 'Whether a request for the queue asks for jobs that have ended. Internal.';

create function api.job_queue(p_uid int, p_user text, p_request jsonb) returns jsonb
language sql stable security definer set search_path = rota, pg_temp as $$
	with picked as (
		-- Live jobs have an index of their own; history is read only when asked for, newest first.
		select j.job_id
		from job j
		where api.request_list(p_request, 'jobs') is null and j.ended_at is null
			and ((select api.request_text(p_request, 'user')) is null or j.user_name = (select api.request_text(p_request, 'user')))
		union all
		(select j.job_id
		from job j
		where api.request_list(p_request, 'jobs') is null and api.queue_ended(p_request) and api.request_text(p_request, 'user') is null
			and j.ended_at is not null and j.state = any ((select coalesce(api.request_states(p_request), array(select s.state from step_state s)))::text[])
		order by j.job_id desc
		limit coalesce(api.request_int(p_request, 'limit'), 1000))
		union all
		(select j.job_id
		from job j
		where api.request_list(p_request, 'jobs') is null and api.queue_ended(p_request)
			and j.user_name = (select api.request_text(p_request, 'user'))
			and j.ended_at is not null and j.state = any ((select coalesce(api.request_states(p_request), array(select s.state from step_state s)))::text[])
		order by j.job_id desc
		limit coalesce(api.request_int(p_request, 'limit'), 1000))
		union all
		select distinct t.job_id
		from api.job_target(p_uid, p_user, case when api.request_list(p_request, 'jobs') is not null then p_request end, false) t
		where api.request_list(p_request, 'jobs') is not null
	), seen as (
		select array_agg(p.job_id) as jobs
		from picked p
		join job j on j.job_id = p.job_id
		where j.uid = p_uid or (select api.sees_all(p_uid, p_user))
	), listed as (
		select s.job_id, s.facts
		from seen
		cross join lateral api.job_summary(seen.jobs) s
		where (api.request_states(p_request) is null or s.state = any (api.request_states(p_request)))
			and (api.request_list(p_request, 'partition') is null or s.partitions && api.request_list(p_request, 'partition'))
		order by s.job_id desc
		limit api.request_int(p_request, 'limit')
	)
	select jsonb_build_object('jobs', coalesce(jsonb_agg(l.facts order by l.job_id), '[]')) from listed l;
$$;
comment on function api.job_queue(int, text, jsonb) is
	'Jobs in one line each, the live ones unless all is true or states names a final one. Request {user, states, partition, jobs, all, limit}. Answer {jobs: [...]}.';
