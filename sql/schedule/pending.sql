-- The queue as the leader reads it. Limits are taken off here: a step that has to wait for one is not offered, so the
-- scheduler never has to know of them; arrays come with the room that is left for them.
--
-- It is read in two parts. schedule_queue says which steps may start, in which order, with the version of each one's row;
-- schedule_pending what each of them asks for. That changes with the row (what changes a request touches the row as well) or with the
-- stamp, so the leader keeps it, and asks for what is new only.
--
-- A long queue is not read as a whole for the few steps that a pass looks at: only the head of each partition's, and more where limits
-- leave too little of that. What a limit leaves of a step depends on those before it alone, so a longer head begins like a
-- shorter one; and all of a job has one rank, so a head that ends with a job does not cut an array in two.
create function api.pending_free(p_window bigint) returns setof api.offered
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	with free as materialized (
		select h.*, p.priority as place
		from partition p
		cross join lateral (
			-- Arrays are there for as long as they have elements left and room for one; what runs again counts as one of its array.
			select s.job_id, s.step_id, s.request_id, s.queue as partition, s.rank, s.xmin as version,
				case when s.is_array then a.size - a.next - cardinality(a.skip) else 1 end as wants, a.max_running - a.running as left_over
			from step s
			left join lateral (
				select x.* from step_array x
				where (s.is_array or s.step_id <> s.request_id) and x.job_id = s.job_id and x.step_id = s.request_id
				offset 0 -- not looked for where there is none
			) a on true
			where s.state = 'pending' and s.deps_waiting = 0 and s.held = '' and s.queue = p.partition and (s.begin_at is null or s.begin_at <= now())
				and (a.size is null or ((not s.is_array or (not a.by_corr and a.next < a.size)) and (a.max_running is null or a.running < a.max_running)))
			order by s.rank desc, s.job_id
			fetch first (p_window) rows with ties
		) h
		where p.state in ('up', 'drain')
		union all
		-- Arrays that have begun.
		select s.job_id, s.step_id, s.request_id, s.queue, s.rank, s.xmin, a.size - a.next - cardinality(a.skip), a.max_running - a.running, p.priority
		from step s
		join step_array a on a.job_id = s.job_id and a.step_id = s.step_id and not a.by_corr and a.next < a.size and (a.max_running is null or a.running < a.max_running)
		join partition p on p.partition = s.queue and p.state in ('up', 'drain')
		where s.state = 'running' and s.attempt = 0 and s.held = '' and s.deps_waiting = 0 and (s.begin_at is null or s.begin_at <= now())
	)
	select f.job_id, f.step_id, f.partition, f.place, f.rank, f.version, f.wants from free f where f.left_over is null
	union all
	-- Elements that run again come before those that never ran.
	select f.job_id, f.step_id, f.partition, f.place, f.rank, f.version, least(f.wants, f.left_over - f.before)::int
	from (
		select y.*, sum(y.wants) over (partition by y.job_id, y.request_id order by y.step_id = y.request_id, y.step_id) - y.wants as before
		from free y
		where y.left_over is not null
	) f
	where f.left_over > f.before;
end $$;
comment on function api.pending_free(bigint) is 'Steps that nothing but limits of users and resources keeps from starting: of each partition the first p_window by rank, and all of the last one''s job. Internal.';

create function api.pending_within(p_window bigint) returns setof api.offered
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	with free as materialized (
		select f.*, j.user_name, j.account, j.qos, m.max_running as account_max, q.max_running_per_user as qos_max
		from api.pending_free(p_window) f
		join job j on j.job_id = f.job_id
		join qos q on q.qos = j.qos
		left join association m on m.account = j.account and m.user_name = j.user_name
	), by_account as (
		select f.* from free f where f.account_max is null
		union all
		select f.job_id, f.step_id, f.partition, f.place, f.rank, f.version, least(f.room, f.account_max - f.busy - f.before)::int, f.user_name, f.account, f.qos,
			f.account_max, f.qos_max
		from (
			select f.*, coalesce(u.running, 0) as busy,
				sum(f.room) over (partition by f.account, f.user_name order by f.place desc, f.rank desc, f.job_id, f.step_id) - f.room as before
			from free f
			left join api.running_by_user() u on u.kind = 'account' and u.name = f.account and u.user_name = f.user_name
			where f.account_max is not null
		) f
		where f.account_max - f.busy > f.before
	)
	select f.job_id, f.step_id, f.partition, f.place, f.rank, f.version, f.room from by_account f where f.qos_max is null
	union all
	select f.job_id, f.step_id, f.partition, f.place, f.rank, f.version, least(f.room, f.qos_max - f.busy - f.before)::int
	from (
		select f.*, coalesce(u.running, 0) as busy,
			sum(f.room) over (partition by f.qos, f.user_name order by f.place desc, f.rank desc, f.job_id, f.step_id) - f.room as before
		from by_account f
		left join api.running_by_user() u on u.kind = 'qos' and u.name = f.qos and u.user_name = f.user_name
		where f.qos_max is not null
	) f
	where f.qos_max - f.busy > f.before;
end $$;
comment on function api.pending_within(bigint) is 'The same with limits of users taken off. Internal.';

create function api.pending_short(p_offered api.offered[], p_limit int, p_window bigint) returns boolean
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return exists (
		select from partition p
		where p.state in ('up', 'drain') and (select count(*) from unnest(p_offered) o where o.partition = p.partition) < p_limit
			and (select count(*) from (
				select from step s where s.state = 'pending' and s.deps_waiting = 0 and s.held = '' and s.queue = p.partition limit p_window) x) >= p_window);
end $$;
comment on function api.pending_short(api.offered[], int, bigint) is 'Whether a partition has more steps behind its head, of which less than p_limit may start. Internal.';

create function api.pending_offered(p_limit int, p_whole boolean) returns setof api.offered
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	c_all constant bigint := 1000000000000;
	v_window bigint := 2 * p_limit;
	v_offered api.offered[];
begin
	if not exists (select from qos q where q.max_running_per_user is not null) and not exists (select from association a where a.max_running is not null) then
		return query select * from api.pending_free(p_limit);
		return;
	end if;
	loop
		v_offered := array(select o::api.offered from api.pending_within(v_window) o);
		exit when not p_whole or v_window >= c_all or not api.pending_short(v_offered, p_limit, v_window);
		v_window := 4 * v_window;
	end loop;
	return query
	select x.job_id, x.step_id, x.partition, x.place, x.rank, x.version, x.room
	from (select o.*, row_number() over (partition by o.partition order by o.rank desc, o.job_id, o.step_id) as nr from unnest(v_offered) o) x
	where x.nr <= p_limit;
end $$;
comment on function api.pending_offered(int, boolean) is 'Of each partition the first p_limit steps that may start, limits taken off, and perhaps the rest of a job; p_whole false: fewer, where what may not start stands before them. Internal.';

create function api.schedule_queue(p_limit int, p_whole boolean default true) returns table (job_id bigint, step_id int, version xid, room int, stamp bigint)
language plpgsql stable security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	v_stamp bigint := (select sum(hashtextextended(x.row, 0)::numeric) % 1000000000000000 from (
		select concat_ws(' ', 'partition', p.partition, p.xmin) from partition p
		union all
		select concat_ws(' ', 'reservation', v.reservation_id, v.xmin) from reservation v) x (row));
begin
	return query
	select o.job_id, o.step_id, o.version, o.room, v_stamp
	from api.pending_offered(p_limit, p_whole) o
	order by o.place desc, o.rank desc, o.job_id, o.step_id;
end $$;
comment on function api.schedule_queue(int, boolean) is 'Of each partition the first p_limit steps that may start (and perhaps the rest of a job), limits taken off, all in the order of the queue, array heads with elements left among them (room: how many may start); p_whole false: where what may not start stands before them, those at the head alone. What schedule_pending says of a steady step holds for as long as version and stamp are the same.';

create function api.schedule_pending(p_jobs bigint[], p_steps int[])
returns table (job_id bigint, step_id int, request_id int, name text, array_index int, attempt int, partition text, user_name text, qos text, rank bigint,
	nodes_min int, nodes_max int, ntasks int, ntasks_per_node int, cpus_per_task int, mem_mb bigint, mem_per_cpu_mb bigint, gres jsonb,
	licenses jsonb, exclusive boolean, features text, nodelist text[], exclude text[], time_limit_s bigint, time_min_s bigint,
	deadline_at double precision, with_set int, with_count int, same_nodes int[], other_nodes int[], same_as_step int[], other_than_step int[],
	array_next int, array_size int, array_skip int[], admitted int[], steady boolean)
language plpgsql stable security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select s.job_id, s.step_id, s.request_id, r.name, s.array_index, s.attempt, r.partition, j.user_name, j.qos, s.rank,
		r.nodes_min, r.nodes_max, r.ntasks, r.ntasks_per_node, r.cpus_per_task, r.mem_mb,
		coalesce(r.mem_per_cpu_mb, case when r.mem_mb is null then p.default_mem_per_cpu_mb end), r.gres,
		r.licenses, r.exclusive, r."constraint", r.nodelist, r.exclude,
		coalesce(r.time_limit_s, p.default_time_s, p.max_time_s, 0), r.time_min_s, extract(epoch from r.deadline_at)::double precision,
		r.with_set, case when r.with_set is not null then (select count(*)::int from step_request w join step ws using (job_id, step_id)
			where w.job_id = r.job_id and w.with_set = r.with_set and ws.state = 'pending') end,
		peers.same_nodes, peers.other_nodes, peers.same_as_step, peers.other_than_step,
		a.next, a.size, a.skip,
		(select array_agg(v.reservation_id order by v.reservation_id) from reservation v where j.user_name = any (v.users) or j.account = any (v.accounts)),
		a.size is null and r.with_set is null and not b.bound
	from unnest(p_jobs, p_steps) with ordinality as o (job_id, step_id, nr)
	join step s on s.job_id = o.job_id and s.step_id = o.step_id
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	join job j on j.job_id = s.job_id
	join partition p on p.partition = r.partition
	left join lateral (select x.* from step_array x where s.is_array and x.job_id = s.job_id and x.step_id = s.step_id) a on true
	cross join lateral (select exists (
		select from step_edge e where e.job_id = r.job_id and e.step_id = r.step_id and e.kind in ('same_nodes', 'other_nodes')) as bound) b
	left join lateral (
		select
			(select array_agg(al.node_id order by al.node_index)
				from step_edge e
				join step ps on ps.job_id = e.peer_job_id and ps.step_id = e.peer_step_id
				join allocation al on al.job_id = ps.job_id and al.step_id = ps.step_id and al.attempt = ps.attempt and al.attempt > 0
				where e.job_id = r.job_id and e.step_id = r.step_id and e.kind = 'same_nodes' and e.gates) as same_nodes,
			(select array_agg(distinct al.node_id)
				from step_edge e
				join step ps on ps.job_id = e.peer_job_id and ps.request_id = e.peer_step_id
				join allocation al on al.job_id = ps.job_id and al.step_id = ps.step_id and al.attempt = ps.attempt and al.attempt > 0
				where e.job_id = r.job_id and e.step_id = r.step_id and e.kind = 'other_nodes' and e.gates) as other_nodes,
			(select array_agg(e.peer_step_id order by e.peer_step_id) from step_edge e
				where e.job_id = r.job_id and e.step_id = r.step_id and e.kind = 'same_nodes' and not e.gates) as same_as_step,
			(select array_agg(e.peer_step_id order by e.peer_step_id) from step_edge e
				where e.job_id = r.job_id and e.step_id = r.step_id and e.kind = 'other_nodes' and not e.gates) as other_than_step
		where b.bound
	) peers on true
	order by o.nr;
end $$;
comment on function api.schedule_pending(bigint[], int[]) is 'What these steps ask for, in the order given; admitted: the reservations that let it in; steady: nothing of that changes but with the step''s row and the stamp (api.schedule_queue).';
