-- The one locking rule: whoever changes steps first locks their jobs here, in order of id, together with every job that a
-- cascade of dependencies can reach; after that nodes, in order of id. Two writers then never wait for each other in a ring.
create function api.job_lock(p_jobs bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_reached bigint[];
begin
	with recursive reached (job_id) as (
		select unnest(p_jobs)
		union
		select e.job_id
		from reached r
		join step_edge e on e.peer_job_id = r.job_id and e.peer_job_id <> e.job_id and e.state = 'waiting'
	)
	select array_agg(r.job_id) into v_reached from reached r;
	perform 1 from job j where j.job_id = any (v_reached) order by j.job_id for no key update;
end $$;
comment on function api.job_lock(bigint[]) is 'Lock jobs, and all that depend on them, in order of id. Internal.';
