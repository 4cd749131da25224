-- Job numbers. jobmgrd reserves a number, makes the authenticators of the job's steps over it, and submits the job. So a copy of the
-- submission under another number has no valid authenticator.
--
-- Called by: the HTTP API of jobmgrd, before api.job_submit.
-- Invariants:
-- - A number is used once: rota.job has one row of it, and a number below live_from is refused.
-- - A number that is reserved and not used stays unused.
create function api.job_number(p_count int) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	if (p_count between 1 and 1000) is not true then
		raise exception '% job numbers cannot be reserved at a time: 1 to 1000 can', coalesce(p_count::text, 'null') using errcode = 'RT422';
	end if;
	return (select jsonb_agg(nextval('job_job_id_seq')) from generate_series(1, p_count));
end $$;
comment on function api.job_number(int) is 'Reserve so many job numbers, 1 to 1000: a list of them, rising.';

create function internal.number_check(p_job bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_reserved boolean;
	v_live boolean;
begin
	select s.is_called and p_job > a.numbered_after and p_job <= s.last_value, p_job >= f.job_id into v_reserved, v_live
	from job_job_id_seq s, authenticator a, live_from f;
	if not v_reserved then
		raise exception 'job number % was not reserved', p_job using errcode = 'RT409', hint = 'Reserve one: api.job_number.';
	elsif not v_live then
		raise exception 'the range of job number % is over', p_job using errcode = 'serialization_failure',
			hint = 'Reserve another one.';
	end if;
end $$;
comment on function internal.number_check(bigint) is
	'Refuse a job whose number was not reserved (RT409), or so long ago that functions do not look at its range any more (40001). '
	'The row of the job is written already: its lock of table rota.job holds off internal.live_advance.';
