-- Job numbers. jobmgrd reserves a number, makes the authenticators of the job's steps over it, and submits the job. So a copy of
-- the submission under another number has no valid authenticator.
--
-- Called by: the HTTP API of jobmgrd, before api.job_submit.
-- Invariants:
-- - A number is used once: rota.job has one row with it, and a number below live_from is refused.
-- - A number that is reserved and not used stays unused.
create function api.job_number(p_count int) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	if (p_count between 1 and 1000) is not true then
		raise exception 'cannot reserve % job numbers at once: the number must be from 1 to 1000', coalesce(p_count::text, 'null')
			using errcode = 'RT422';
	end if;
	perform internal.incarnation_check();
	return (select jsonb_agg(nextval('job_job_id_seq')) from generate_series(1, p_count));
end $$;
comment on function api.job_number(int) is 'Reserve p_count job numbers, 1 to 1000. Returns them as a rising list.';

create function internal.numbers_check(p_first bigint, p_last bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_wrong bigint;
	v_live boolean;
begin
	select case when not s.is_called or p_first <= a.numbered_after then p_first when p_last > s.last_value then p_last end,
		p_first >= f.job_id into v_wrong, v_live
	from job_job_id_seq s, authenticator a, live_from f;
	if v_wrong is not null then
		raise exception 'job number % was not reserved', v_wrong using errcode = 'RT409', hint = 'Reserve one: api.job_number.';
	elsif not v_live then
		raise exception 'the range of job number % is over', p_first using errcode = 'serialization_failure',
			hint = 'Reserve another one.';
	end if;
end $$;
comment on function internal.numbers_check(bigint, bigint) is
	'Refuse job numbers from p_first to p_last that were not reserved (RT409), or that were reserved so long ago that schema '
	'live has passed their range (40001: reserve others). The caller has already inserted the jobs, and its lock of table '
	'rota.job keeps internal.live_advance from passing a range meanwhile.';
