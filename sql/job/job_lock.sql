-- The locking rule. A transaction that changes steps first locks their jobs here, in order of id, with every job that a cascade
-- of dependencies can reach; after that nodes, in order of id. So two writers never wait for each other in a circle.
create function internal.job_reached(p_jobs bigint[]) returns bigint[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return array(
		with recursive reached (job_id) as (
			select unnest(p_jobs)
			union
			select e.job_id
			from reached r
			join step_edge e on e.peer_job_id = r.job_id and e.peer_job_id <> e.job_id and e.state = 'waiting'
		)
		select r.job_id from reached r);
end $$;
comment on function internal.job_reached(bigint[]) is 'The given jobs, and all jobs that depend on them.';

create function internal.job_lock(p_jobs bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_reached constant bigint[] := internal.job_reached(p_jobs);
begin
	perform 1 from job j where j.job_id = any (v_reached) order by j.job_id for no key update;
end $$;
comment on function internal.job_lock(bigint[]) is 'Lock jobs, and all jobs that depend on them, in order of id.';

create function internal.job_lock_now(p_jobs bigint[]) returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_reached constant bigint[] := internal.job_reached(p_jobs);
	v_count int;
begin
	perform 1 from job j where j.job_id = any (v_reached) order by j.job_id for no key update skip locked;
	get diagnostics v_count = row_count;
	return v_count = cardinality(v_reached);
end $$;
comment on function internal.job_lock_now(bigint[]) is
	'Lock like internal.job_lock, but without waiting. Returns false if another session has locked some of the jobs, or they '
	'do not exist.';

-- For the leader, which delays all steps while it waits: other sessions lock a job for as long as their reports or requests take.
create function internal.job_lock_soon(p_jobs bigint[]) returns void
language plpgsql set lock_timeout = '250ms' set search_path = live, rota, pg_temp as $$
begin
	perform internal.job_lock(p_jobs);
end $$;
comment on function internal.job_lock_soon(bigint[]) is
	'Lock like internal.job_lock, but fail with 55P03 if another session has a job locked for longer than a quarter of a '
	'second.';

create function internal.job_lock_free(p_jobs bigint[]) returns bigint[]
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_free bigint[];
begin
	if internal.job_lock_now(p_jobs) then
		return p_jobs;
	end if;
	-- A session that has locked a job which depends on another job has locked the other job too. A job that is locked here
	-- and left out of the answer stays locked until the transaction ends.
	v_free := array(
		select j.job_id from job j
			where j.job_id = any (internal.job_reached(p_jobs)) order by j.job_id for no key update skip locked);
	return array(
		select v.job_id from unnest(p_jobs) v (job_id) where internal.job_reached(array[v.job_id]) <@ v_free);
end $$;
comment on function internal.job_lock_free(bigint[]) is
	'Lock jobs, and all jobs that depend on them, without waiting. Returns the jobs that no other session has locked.';
