-- Trial submission: all rows of a job are written as in a submission, and rolled back. Sequences do not roll back, so a trial
-- takes no number from them: its job has a number from the end of the last range, and events are not written.

create function internal.try_number() returns bigint
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	-- No submission gets the last numbers of the last range, because api.range_ensure makes a new range before that. The
	-- number depends on the process id, so that trials in different sessions do not wait for each other.
	return (select max(r.to_job) from internal.range_bounds() r) - 1
		- pg_backend_pid() % least(internal.setting_int('range_size'), 10000);
end $$;
comment on function internal.try_number() is 'A job number that no job has, for a job that is rolled back.';

create function api.job_try(p_uid int, p_gid int, p_user text, p_plan jsonb, p_script bytea, p_environment bytea) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	perform set_config('rota.try', internal.try_number()::text, true); -- rolled back with the rows of the trial
	-- internal.submit() returns here only if it would make no job; otherwise it raises an exception.
	return internal.submit(p_uid, p_gid, p_user, p_plan, p_script, p_environment) - 'job_id';
exception when sqlstate 'RT200' then
	return jsonb_build_object('steps', jsonb_array_length(p_plan -> 'steps'), 'known', false, 'cost',
		internal.plan_cost(p_user, p_plan));
end $$;
comment on function api.job_try(int, int, text, jsonb, bytea, bytea) is
	'Check whether api.job_submit would accept this job. Returns its answer without a job and with its cost '
	'(internal.plan_cost), or fails with its error. Nothing is stored, and no number of a sequence is used.';
