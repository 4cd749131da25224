-- What the leader reads for a pass. Plain reads: the commit finds out whether they still hold.

create function api.schedule_nodes()
returns table (node_id int, name text, cpus int, cpus_used int, mem_mb bigint, mem_used_mb bigint, state text, features text[],
	gres jsonb, gres_total jsonb, weight int)
language sql stable security definer set search_path = rota, pg_temp as $$
	select n.node_id, n.name, n.cpus, n.cpus_used, n.mem_mb, n.mem_used_mb, n.state, n.features, coalesce(g.free, '{}'), coalesce(g.total, '{}'), n.weight
	from node n
	left join (
		select x.node_id, jsonb_object_agg(x.gres, x.free) as free, jsonb_object_agg(x.gres, x.total) as total
		from (
			select u.node_id, u.gres, coalesce(jsonb_agg(u.unit order by u.unit) filter (where u.job_id is null), '[]') as free, count(*) as total
			from node_gres u
			group by u.node_id, u.gres
		) x
		group by x.node_id
	) g on g.node_id = n.node_id
	order by n.node_id;
$$;
comment on function api.schedule_nodes() is 'All nodes with what they have and what is used; gres: {"gpu": [free units]}.';

create function api.schedule_partitions()
returns table (partition text, priority int, state text, max_time_s bigint, default_time_s bigint, max_nodes int, node_ids int[])
language sql stable security definer set search_path = rota, pg_temp as $$
	select p.partition, p.priority, p.state, p.max_time_s, p.default_time_s, p.max_nodes,
		array(select pn.node_id from partition_node pn where pn.partition = p.partition order by pn.node_id)
	from partition p
	order by p.priority desc, p.partition;
$$;
comment on function api.schedule_partitions() is 'All partitions with their nodes.';

create function api.schedule_licenses() returns table (license text, total int, used int)
language sql stable security definer set search_path = rota, pg_temp as $$
	select l.license, l.total, l.used from license l;
$$;
comment on function api.schedule_licenses() is 'All licences.';

create function api.schedule_running()
returns table (job_id bigint, step_id int, attempt int, node_id int, cpus int, mem_mb bigint, gres jsonb, ends_at double precision,
	kept boolean, kept_for int, licenses jsonb, partition text)
language sql stable security definer set search_path = rota, pg_temp as $$
	select a.job_id, a.step_id, a.attempt, a.node_id, a.cpus_held, a.mem_mb, a.gres,
		case when t.time_limit_s > 0 then extract(epoch from coalesce(t.started_at, t.ordered_at)) + t.time_limit_s + t.suspended_s end,
		a.attempt = 0, case when a.attempt = 0 then a.step_id end, a.licenses, r.partition
	from allocation a
	join step s on s.job_id = a.job_id and s.step_id = a.step_id
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	left join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt
	where a.ended_at is null;
$$;
comment on function api.schedule_running() is 'Open allocations, and when each is to end (epoch seconds, null: no limit); kept ones are for step kept_for.';

create function api.schedule_pending(p_limit int)
returns table (job_id bigint, step_id int, request_id int, name text, array_index int, attempt int, partition text, user_name text, qos text, rank bigint,
	nodes_min int, nodes_max int, ntasks int, ntasks_per_node int, cpus_per_task int, mem_mb bigint, mem_per_cpu_mb bigint, gres jsonb,
	licenses jsonb, exclusive boolean, "constraint" text, nodelist text[], exclude text[], time_limit_s bigint, time_min_s bigint,
	deadline_at double precision, with_set int, with_count int, same_nodes int[], other_nodes int[], same_as_step int, other_than_step int[],
	array_next int, array_size int, array_room int, array_skip int[])
language sql stable security definer set search_path = rota, pg_temp as $$
	select s.job_id, s.step_id, s.request_id, r.name, s.array_index, s.attempt, r.partition, j.user_name, j.qos, s.rank,
		r.nodes_min, r.nodes_max, r.ntasks, r.ntasks_per_node, r.cpus_per_task, r.mem_mb,
		coalesce(r.mem_per_cpu_mb, case when r.mem_mb is null then p.default_mem_per_cpu_mb end), r.gres,
		r.licenses, r.exclusive, r."constraint", r.nodelist, r.exclude,
		coalesce(r.time_limit_s, p.default_time_s, p.max_time_s, 0), r.time_min_s, extract(epoch from r.deadline_at)::double precision,
		r.with_set, case when r.with_set is not null then (select count(*)::int from step_request w join step ws using (job_id, step_id)
			where w.job_id = r.job_id and w.with_set = r.with_set and ws.state = 'pending') end,
		peers.same_nodes, peers.other_nodes, peers.same_as_step, peers.other_than_step,
		a.next, a.size,
		case when a.size is not null and not a.by_corr then least(coalesce(a.max_running - a.running, a.size), a.size) when a.by_corr then 0 end, a.skip
	from step s
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	join job j on j.job_id = s.job_id
	join partition p on p.partition = r.partition and p.state in ('up', 'drain')
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
			(select min(e.peer_step_id) from step_edge e
				where e.job_id = r.job_id and e.step_id = r.step_id and e.kind = 'same_nodes' and not e.gates) as same_as_step,
			(select array_agg(e.peer_step_id) from step_edge e
				where e.job_id = r.job_id and e.step_id = r.step_id and e.kind = 'other_nodes' and not e.gates) as other_than_step
	) peers on true
	where s.deps_waiting = 0 and s.held = '' and (s.begin_at is null or s.begin_at <= now())
		and ((s.state = 'pending' and a.size is null)
			or (a.size is not null and s.ended_at is null and not a.by_corr and a.next < a.size))
	order by p.priority desc, s.rank desc, s.job_id, s.step_id
	limit p_limit;
$$;
comment on function api.schedule_pending(int) is 'Eligible steps in the order of the queue, array heads with elements left among them, p_limit at most.';

create function api.schedule_launch(p_jobs bigint[], p_requests int[])
returns table (job_id bigint, request_id int, uid int, gid int, user_name text, script_hash text, environment_hash text, spec text, auth text,
	job_name text, name text, account text, array_size int, group_name text)
language sql stable security definer set search_path = rota, pg_temp as $$
	select j.job_id, r.step_id, j.uid, j.gid, j.user_name, encode(j.script_hash, 'hex'), encode(j.environment_hash, 'hex'), r.spec,
		encode(r.auth, 'hex'), j.name, r.name, j.account, a.size, r.group_name
	from (select distinct v.job_id, v.step_id from unnest(p_jobs, p_requests) as v (job_id, step_id)) v
	join step_request r on r.job_id = v.job_id and r.step_id = v.step_id
	join job j on j.job_id = r.job_id
	left join step_array a on a.job_id = r.job_id and a.step_id = r.step_id;
$$;
comment on function api.schedule_launch(bigint[], int[]) is 'What the signer needs of steps that are to start; it checks auth before it signs.';
