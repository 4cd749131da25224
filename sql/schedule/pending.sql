-- The queue as the leader reads it. Limits are taken off here: a step that has to wait for one is not offered, so the
-- scheduler never has to know of them; arrays come with the room that is left for them.
--
-- A long queue is not read as a whole for the few steps that a pass looks at: only its head, and more where limits leave too
-- little of that. What a limit leaves of a step depends on those before it alone, so a longer head begins like a shorter one; and
-- all of a job has one rank, so a head that ends with a job does not cut an array in two.
create function api.pending_free(p_window bigint)
returns table (job_id bigint, step_id int, request_id int, place int, rank bigint, user_name text, qos text, account text, wants int, array_max int,
	array_running int, account_max int, qos_max int)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	with pending as (
		select s.job_id, s.step_id, s.request_id, s.rank
		from step s
		where s.state = 'pending' and s.deps_waiting = 0 and s.held = '' and (s.begin_at is null or s.begin_at <= now())
		order by s.rank desc, s.job_id
		fetch first (p_window) rows with ties
	), begun as (
		-- Arrays that have begun and have elements left.
		select s.job_id, s.step_id, s.request_id, s.rank
		from step s
		where s.state = 'running' and s.attempt = 0 and s.held = '' and s.deps_waiting = 0 and (s.begin_at is null or s.begin_at <= now())
		order by s.rank desc, s.job_id
		fetch first (p_window) rows with ties
	), free as (
		select * from pending union all select * from begun
		order by rank desc, job_id
		fetch first (p_window) rows with ties
	)
	select f.job_id, f.step_id, f.request_id, p.priority, f.rank, j.user_name, j.qos, j.account,
		case when f.step_id = a.step_id then a.size - a.next - cardinality(a.skip) else 1 end,
		a.max_running, a.running, m.max_running, q.max_running_per_user
	from free f
	join job j on j.job_id = f.job_id
	join step_request r on r.job_id = f.job_id and r.step_id = f.request_id
	join partition p on p.partition = r.partition and p.state in ('up', 'drain')
	join qos q on q.qos = j.qos
	left join association m on m.account = j.account and m.user_name = j.user_name
	left join step_array a on a.job_id = f.job_id and a.step_id = f.request_id
	where f.step_id is distinct from a.step_id or (not a.by_corr and a.next < a.size);
end $$;
comment on function api.pending_free(bigint) is 'Steps that nothing but limits and resources keeps from starting, and the limits that hold for each: the first p_window by rank, and all of the last one''s job. Internal.';

create function api.pending_within(p_window bigint) returns table (job_id bigint, step_id int, request_id int, room int, place int, rank bigint)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	with free as (
		select * from api.pending_free(p_window)
	), by_array as (
		-- Elements that run again come before those that never ran.
		select f.*, f.wants::bigint as room from free f where f.array_max is null
		union all
		select f.job_id, f.step_id, f.request_id, f.place, f.rank, f.user_name, f.qos, f.account, f.wants, f.array_max, f.array_running, f.account_max, f.qos_max,
			least(f.wants, f.array_max - f.array_running - f.before)
		from (
			select y.*, sum(y.wants) over (partition by y.job_id, y.request_id order by y.step_id = y.request_id, y.step_id) - y.wants as before
			from free y
			where y.array_max is not null
		) f
		where f.array_max - f.array_running > f.before
	), by_account as (
		select f.job_id, f.step_id, f.request_id, f.place, f.rank, f.user_name, f.qos, f.qos_max, f.room from by_array f where f.account_max is null
		union all
		select f.job_id, f.step_id, f.request_id, f.place, f.rank, f.user_name, f.qos, f.qos_max, least(f.room, f.account_max - f.busy - f.before)
		from (
			select f.*, coalesce(u.running, 0) as busy,
				sum(f.room) over (partition by f.account, f.user_name order by f.place desc, f.rank desc, f.job_id, f.step_id) - f.room as before
			from by_array f
			left join api.running_by_user() u on u.kind = 'account' and u.name = f.account and u.user_name = f.user_name
			where f.account_max is not null
		) f
		where f.account_max - f.busy > f.before
	), by_qos as (
		select f.job_id, f.step_id, f.request_id, f.room, f.place, f.rank from by_account f where f.qos_max is null
		union all
		select f.job_id, f.step_id, f.request_id, least(f.room, f.qos_max - f.busy - f.before), f.place, f.rank
		from (
			select f.*, coalesce(u.running, 0) as busy,
				sum(f.room) over (partition by f.qos, f.user_name order by f.place desc, f.rank desc, f.job_id, f.step_id) - f.room as before
			from by_account f
			left join api.running_by_user() u on u.kind = 'qos' and u.name = f.qos and u.user_name = f.user_name
			where f.qos_max is not null
		) f
		where f.qos_max - f.busy > f.before
	)
	select f.job_id, f.step_id, f.request_id, f.room::int, f.place, f.rank from by_qos f;
end $$;
comment on function api.pending_within(bigint) is 'Of the head of the queue, what may start, limits taken off; room: of an array, how many elements. Internal.';

create function api.pending_offered(p_limit int, p_whole boolean) returns table (job_id bigint, step_id int, request_id int, room int, place int, rank bigint)
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	c_all constant bigint := 1000000000000;
	-- Where partitions differ in priority the queue is not in the order of rank alone.
	v_window bigint := case when (select count(distinct p.priority) from partition p where p.state in ('up', 'drain')) > 1 then c_all else 2 * p_limit end;
	v_given int := 0;
	v_more int;
begin
	loop
		return query
		select o.* from api.pending_within(v_window) o order by o.place desc, o.rank desc, o.job_id, o.step_id offset v_given limit p_limit - v_given;
		get diagnostics v_more = row_count;
		v_given := v_given + v_more;
		exit when v_given >= p_limit or v_window >= c_all or not p_whole
			or v_window > (select count(*) from (
				select from step s where s.state = 'pending' and s.deps_waiting = 0 and s.held = ''
				union all
				select from step s where s.state = 'running' and s.attempt = 0
				limit v_window) x);
		v_window := 4 * v_window;
	end loop;
end $$;
comment on function api.pending_offered(int, boolean) is 'The first p_limit steps that may start, limits taken off, in the order of the queue; p_whole false: fewer, where what may not start stands before them; room: of an array, how many elements. Internal.';

create function api.schedule_pending(p_limit int, p_whole boolean default true)
returns table (job_id bigint, step_id int, request_id int, name text, array_index int, attempt int, partition text, user_name text, qos text, rank bigint,
	nodes_min int, nodes_max int, ntasks int, ntasks_per_node int, cpus_per_task int, mem_mb bigint, mem_per_cpu_mb bigint, gres jsonb,
	licenses jsonb, exclusive boolean, features text, nodelist text[], exclude text[], time_limit_s bigint, time_min_s bigint,
	deadline_at double precision, with_set int, with_count int, same_nodes int[], other_nodes int[], same_as_step int[], other_than_step int[],
	array_next int, array_size int, array_room int, array_skip int[], admitted int[])
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
		a.next, a.size, case when a.size is not null then o.room end, a.skip,
		(select array_agg(v.reservation_id order by v.reservation_id) from reservation v where j.user_name = any (v.users) or j.account = any (v.accounts))
	from api.pending_offered(p_limit, p_whole) o
	join step s on s.job_id = o.job_id and s.step_id = o.step_id
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	join job j on j.job_id = s.job_id
	join partition p on p.partition = r.partition
	left join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
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
	) peers on true
	order by o.place desc, o.rank desc, o.job_id, o.step_id;
end $$;
comment on function api.schedule_pending(int, boolean) is 'Steps that may start, in the order of the queue, array heads with elements left among them, p_limit at most; p_whole false: where what may not start stands before them, those at the head alone; admitted: the reservations that let it in.';
