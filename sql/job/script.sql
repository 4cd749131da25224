create function internal.environment_list(p_body bytea) returns jsonb
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
	v_list text[] := array[]::text[];
	v_from int := 1;
	v_to int;
begin
	-- NAME=value strings, each ended by a zero byte.
	for v_to in select i from generate_series(1, length(p_body)) i where get_byte(p_body, i - 1) = 0 loop
		v_list := v_list || convert_from(substring(p_body from v_from for v_to - v_from), 'UTF8');
		v_from := v_to + 1;
	end loop;
	return to_jsonb(v_list);
end $$;
comment on function internal.environment_list(bytea) is 'An environment as a JSON list of NAME=value.';

create function api.job_script(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	v_job bigint;
	v_answer jsonb;
begin
	select min(t.job_id) into v_job
		from internal.job_target(p_uid, p_user, p_request, true) t having count(distinct t.job_id) = 1;
	if not found then
		raise exception 'name one job' using errcode = 'RT422';
	end if;
	select jsonb_build_object('job_id', j.job_id, 'script_name', j.script_name, 'script', convert_from(s.body, 'UTF8'),
		'environment', internal.environment_list(e.body))
	into v_answer
	from job j
	join script s on s.hash = j.script_hash
	join environment e on e.hash = j.environment_hash
	where j.job_id = v_job and (j.uid = p_uid or internal.caller_role(p_uid, p_user) = 'admin');
	if not found then
		raise exception 'the script of job % is private', v_job using errcode = 'RT403',
			hint = 'Only its owner and admins may see it.';
	end if;
	return v_answer;
end $$;
comment on function api.job_script(int, text, jsonb) is
	'Script and environment of a job, for its owner and admins. Request {jobs: [one]}. Answer {job_id, script, script_name, '
	'environment: ["NAME=value"]}.';
