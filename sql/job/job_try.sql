-- A submission that is only tried: all of it is written, as a submission would, and taken back.

create function api.job_try(p_uid int, p_gid int, p_user text, p_plan jsonb, p_script bytea, p_environment bytea) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_answer jsonb;
begin
	v_answer := api.job_submit(p_uid, p_gid, p_user, p_plan, p_script, p_environment);
	raise exception using errcode = 'RT200', message = 'tried';
exception when sqlstate 'RT200' then
	return v_answer - 'job_id';
end $$;
comment on function api.job_try(int, int, text, jsonb, bytea, bytea) is
	'Whether api.job_submit would take this: its answer without a job, of which nothing is left but that its number is gone; or its error.';
