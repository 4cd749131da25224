-- Jobs that a request selects by their properties: {user, name, states, partition, account}. These are live jobs that the caller
-- may change. Together with "jobs", the properties narrow the list of jobs.
create function internal.is_selection(p_request jsonb) returns boolean
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
	v_key text;
	v_found boolean := false;
begin
	foreach v_key in array '{user,name,states,partition,account}'::text[] loop
		if coalesce(p_request -> v_key, 'null') = 'null' then
			continue;
		end if;
		-- An empty variable of a script would select everything.
		if coalesce(internal.request_list(p_request, v_key), '{""}') && '{""}' then
			raise exception '"%" is empty', v_key using errcode = 'RT422',
				hint = 'Leave it out, or say which jobs are meant.';
		end if;
		v_found := true;
	end loop;
	return v_found;
end $$;
comment on function internal.is_selection(jsonb) is 'Whether a request selects jobs by their properties.';

create function internal.jobs_selected(p_uid int, p_user text, p_request jsonb, p_among bigint[]) returns bigint[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_users constant text[] := internal.request_list(p_request, 'user');
	v_names constant text[] := internal.request_list(p_request, 'name');
	v_accounts constant text[] := internal.request_list(p_request, 'account');
	v_states constant text[] := internal.request_states(p_request);
	v_partitions constant text[] := internal.request_list(p_request, 'partition');
	v_all constant boolean := internal.caller_role(p_uid, p_user) <> 'user';
	v_jobs bigint[];
begin
	v_jobs := array(
		select j.job_id from job j
		where j.ended_at is null and (v_all or j.uid = p_uid) and (p_among is null or j.job_id = any (p_among))
			and (v_users is null or j.user_name = any (v_users)) and (v_names is null or j.name = any (v_names))
			and (v_accounts is null or j.account = any (v_accounts))
		order by j.job_id);
	if v_states is null and v_partitions is null then
		return v_jobs;
	end if;
	perform internal.plan_for(cardinality(v_jobs));
	return array(
		select r.job_id from internal.job_rows(v_jobs) r
		where (v_states is null or r.state = any (v_states)) and (v_partitions is null or r.partitions && v_partitions)
		order by r.job_id);
end $$;
comment on function internal.jobs_selected(int, text, jsonb, bigint[]) is
	'The jobs that a request selects, as they are now; p_among: only of these jobs; null: of all.';

create function internal.change_target(p_uid int, p_user text, p_request jsonb, p_among bigint[] default null)
returns table (job_id bigint, step_id int, pos int, whole_job boolean, selected boolean)
language plpgsql set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	v_jobs bigint[];
	v_named constant boolean := internal.request_list(p_request, 'jobs') is not null;
	-- The same limit as for jobs that are named (internal.job_target).
	c_steps constant int := 1000000;
begin
	if not internal.is_selection(p_request) then
		return query select t.job_id, t.step_id, t.pos, t.whole_job,
			false from internal.job_target(p_uid, p_user, p_request, true) t;
		return;
	end if;
	-- Jobs that are named must exist and belong to the caller, whether or not the selection matches them.
	if v_named then
		v_jobs := internal.jobs_selected(p_uid, p_user, p_request,
			array(select distinct t.job_id from internal.job_target(p_uid, p_user, p_request, true) t));
		return query
			select t.job_id, t.step_id, t.pos, t.whole_job, true
			from internal.job_target(p_uid, p_user, p_request, true) t
			where t.job_id = any (v_jobs) and (p_among is null or t.job_id = any (p_among));
		return;
	end if;
	v_jobs := internal.jobs_selected(p_uid, p_user, p_request, p_among);
	if v_jobs = '{}' then
		perform internal.request_known(p_uid, p_user, p_request);
	elsif (select sum(j.steps_total) from job j where j.job_id = any (v_jobs)) > c_steps then
		raise exception 'the jobs selected have more than % steps', c_steps using errcode = 'RT422',
			hint = 'Select fewer at a time.';
	end if;
	return query
		select s.job_id, s.step_id, null::int, true, true
		from step_request r
		join step s on s.job_id = r.job_id and s.step_id = r.step_id and s.ended_at is null
		where r.job_id = any (v_jobs);
end $$;
comment on function internal.change_target(int, text, jsonb, bigint[]) is
	'The steps that a changing request names or selects, after checking that the caller may change them; p_among: only steps '
	'of these jobs. Errors: RT404, RT403, RT422.';

-- State, partition, name and account of a job may change while a request waits for its locks. So a selection is evaluated after
-- the locks of all jobs that it may select.
create function internal.change_candidates(p_uid int, p_user text, p_request jsonb) returns bigint[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_users constant text[] := internal.request_list(p_request, 'user');
	v_all constant boolean := internal.caller_role(p_uid, p_user) <> 'user';
begin
	if internal.request_list(p_request, 'jobs') is not null then
		return array(select distinct t.job_id from internal.job_target(p_uid, p_user, p_request, true) t);
	end if;
	return array(
		select j.job_id from job j
			where j.ended_at is null and (v_all or j.uid = p_uid)
			and (v_users is null or j.user_name = any (v_users)));
end $$;
comment on function internal.change_candidates(int, text, jsonb) is
	'The jobs to lock before a selection is evaluated: the named jobs, or all live jobs of the selected users that the '
	'caller may change.';

create function api.job_select(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	v_jobs bigint[];
begin
	if not internal.is_selection(p_request) then
		raise exception 'nothing is selected' using errcode = 'RT422',
			hint = 'Select by user, name, states, partition or account.';
	end if;
	v_jobs := array(select distinct t.job_id from internal.change_target(p_uid, p_user, p_request) t);
	perform internal.plan_for(cardinality(v_jobs));
	return jsonb_build_object('jobs', coalesce((
		select jsonb_agg(jsonb_build_object('job_id', r.job_id, 'name', r.name, 'user', r.user_name, 'account', r.account,
			'partitions', r.partitions,
			'state', r.state) order by r.job_id)
		from internal.job_rows(v_jobs) r), '[]'));
end $$;
comment on function api.job_select(int, text, jsonb) is
	'The jobs that cancel, hold, release, signal and modify would change, by the same selection. Request {jobs, user, name, '
	'states, partition, account}. Answer {jobs: [{job_id, name, user, account, partitions, state}]}.';
