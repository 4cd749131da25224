-- Answers that may be old: while no server can be written to, jobmgrd sends requests that only read to a standby.
--
-- Called by: jobmgrd, for requests that say "stale_ok", on a session to any server that can be read.
create function api.stale_answer(p_uid int, p_user text, p_request jsonb, p_function text) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	-- A standby that has received nothing since its start does not know the time of its last change.
	v_as_of constant timestamptz := case when pg_is_in_recovery() then pg_last_xact_replay_timestamp() else now() end;
	v_answer jsonb;
begin
	if p_function is null
		or p_function <> all ('{job_queue,job_show,job_stats,job_script,job_why,job_acct,node_list,report}') then
		raise exception 'function "%" is not for answers that may be old', p_function using errcode = 'RT422';
	end if;
	-- One wrapper serves all of these functions, since their signatures are the same.
	execute format('select to_jsonb(api.%I($1, $2, $3))', p_function) into v_answer using p_uid, p_user, p_request;
	return v_answer || jsonb_build_object('stale', jsonb_build_object('as_of', v_as_of,
		'age_s', round(greatest(extract(epoch from clock_timestamp() - v_as_of), 0), 1), 'standby', pg_is_in_recovery()));
end $$;
comment on function api.stale_answer(int, text, jsonb, text) is
	'The answer of a function that only reads, with the member stale: as_of, the time of the last change that this server '
	'has (null: unknown), and age_s, how many seconds ago that was. RT422: p_function may not be called this way.';
