-- What pending steps request. The leader reads it for those steps of the queue (pending.sql) whose request it has not cached.
-- Invariants:
-- - An answer with `steady` stays valid as long as version and stamp of the step's row do not change.
-- - Nothing is read about peers, limits, moves or checkpoints where the site or the step has none.

create function internal.pending_tops(p_jobs bigint[], p_steps int[]) returns jsonb
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	-- Most clusters have no limits.
	return case when internal.is_limited() then (
		select jsonb_object_agg(t.association_id || ' ' || t.partition, t.tops) from internal.limit_tops(array(
			select distinct (s.association_id, s.queue)::internal.queue_line
			from unnest(p_jobs, p_steps) as o (job_id, step_id)
			join step s on s.job_id = o.job_id and s.step_id = o.step_id)) t) end;
end $$;
comment on function internal.pending_tops(bigint[], int[]) is
	'For each association and partition of steps ("association partition"), the lowest limit of each measure; null: '
	'there are no limits.';

create function internal.pending_peers(p_job bigint, p_step int, out same_nodes int[], out other_nodes int[],
	out same_as_step int[], out other_than_step int[])
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	same_nodes := internal.peer_same(p_job, p_step);
	other_nodes := internal.peer_other(p_job, p_step);
	select array_agg(e.peer_step_id order by e.peer_step_id) filter (where e.kind = 'same_nodes'),
		array_agg(e.peer_step_id order by e.peer_step_id) filter (where e.kind = 'other_nodes')
	into same_as_step, other_than_step
	from step_edge e
	where e.job_id = p_job and e.step_id = p_step and e.kind in ('same_nodes', 'other_nodes') and not e.gates;
end $$;
comment on function internal.pending_peers(bigint, int) is
	'Where the peers of a step let it start: same_nodes and other_nodes are nodes of peers that have started; '
	'same_as_step and other_than_step are steps of its job that start in the same decision.';

create function internal.pending_misfits(p_jobs bigint[], p_steps int[])
	returns table (job_id bigint, step_id int, nodes text[])
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
declare
	v_jobs bigint[];
	v_steps int[];
begin
	if not exists (select from checkpoint) then
		return;
	end if;
	select array_agg(s.job_id), array_agg(s.step_id) into v_jobs, v_steps
	from unnest(p_jobs, p_steps) as o (job_id, step_id)
	join step s on s.job_id = o.job_id and s.step_id = o.step_id and s.attempt > 0
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id and r.checkpoint is not null;
	if v_jobs is not null then
		return query
		select x.job_id, x.step_id, array_agg(y.node)
		from internal.checkpoint_misfits(v_jobs, v_steps) x
		cross join lateral unnest(x.nodes) y (node)
		group by x.job_id, x.step_id;
	end if;
end $$;
comment on function internal.pending_misfits(bigint[], int[]) is
	'Nodes on which steps cannot continue from their checkpoints.';

create type internal.pending_step as (
	job_id bigint, step_id int, request_id int, name text, array_index int, attempt int, partition text, user_name text, qos
	text, rank bigint, nodes_min int, nodes_max int, ntasks int, ntasks_per_node int, cpus_per_task int, mem_mb bigint,
	mem_per_cpu_mb bigint, gres jsonb, licenses jsonb, exclusive boolean, features text, nodelist text[], exclude text[],
	time_limit_s bigint, time_min_s bigint, deadline_at double precision, with_set int, with_count int, same_nodes int[],
	other_nodes int[], same_as_step int[], other_than_step int[], array_size int, admitted int[], reservation int,
	data_nodes int[], steady boolean, image text, tier int, prep text, variables text);
comment on type internal.pending_step is 'The request of a step, as api.schedule_pending returns it.';

create function api.schedule_pending(p_jobs bigint[], p_steps int[]) returns setof internal.pending_step
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
declare
	v_tops jsonb := internal.pending_tops(p_jobs, p_steps);
	v_moves constant boolean := internal.move_is_on();
	v_data constant bigint[] := (select array_agg(distinct t.job_id) from transfer t where t.prefer and t.job_id = any (p_jobs));
begin
	return query
	select s.job_id, s.step_id, s.request_id, r.name, s.array_index, s.attempt, r.partition, j.user_name, j.qos, s.rank,
		r.nodes_min,
		-- The most nodes that limits allow, if that is less than the step asks for at most.
		case when z.nodes < coalesce(r.nodes_max, greatest(r.ntasks, r.nodes_min)) then z.nodes else r.nodes_max end as nodes_max,
		r.ntasks, r.ntasks_per_node, r.cpus_per_task, case r.mem_mb when 0 then -1 else r.mem_mb end as mem_mb,
		coalesce(r.mem_per_cpu_mb, case when r.mem_mb is null then p.default_mem_per_cpu_mb end) as mem_per_cpu_mb,
		r.gres, r.licenses, r.exclusive,
		case when r.prep is null then r."constraint" else internal.setup_constraint(r."constraint", r.prep) end as features,
		case when v_moves then coalesce(v.nodelist, r.nodelist) else r.nodelist end as nodelist,
		case when v_moves then r.exclude || v.exclude else r.exclude end || m.nodes as exclude,
		coalesce(z.time_limit_s, r.time_limit_s, p.default_time_s, p.max_time_s, 0) as time_limit_s, r.time_min_s,
		extract(epoch from r.deadline_at)::double precision as deadline_at, r.with_set,
		case when r.with_set is not null then (
			select count(*)::int from step_request w join step ws using (job_id, step_id)
			where w.job_id = r.job_id and w.with_set = r.with_set and ws.state = 'pending') end as with_count,
		peers.same_nodes, peers.other_nodes, peers.same_as_step, peers.other_than_step, a.size as array_size,
		case when e.reservation_id is not null then array[e.reservation_id] end as admitted,
		case when r.reservation is not null then coalesce(e.reservation_id, -1) end as reservation,
		case when j.job_id = any (v_data) then internal.transfer_nodes(j.job_id, j.uid) end as data_nodes,
		r.with_set is null and not b.bound and (not v_moves or v.nodelist is null) and m.nodes is null as steady, r.image,
		internal.rank_tier(s.rank) + p.tier as tier, r.prep,
		case when j.staging and s.array_index is not null
			then internal.staging_fields(internal.staging_of(j.job_id, s.step_id)) end as variables
	from unnest(p_jobs, p_steps) with ordinality as o (job_id, step_id, nr)
	join step s on s.job_id = o.job_id and s.step_id = o.step_id
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	join job j on j.job_id = s.job_id
	join partition p on p.partition = r.partition
	left join lateral (select (x.size).nodes, (x.size).time_limit_s
		from (select internal.size_asked(v_tops -> (s.association_id || ' ' || s.queue), r.nodes_min, r.nodes_max,
			r.ntasks, r.cpus_per_task, r.mem_mb, r.mem_per_cpu_mb, r.gres, r.exclusive, r.time_limit_s, p)
			as size where v_tops ? (s.association_id || ' ' || s.queue) offset 0) x) z on true -- once a row
	left join lateral (select v.reservation_id from reservation v
		where r.reservation is not null and v.name = r.reservation
			and (j.user_name = any (v.users) or j.account = any (v.accounts))) e on true
	left join lateral (select x.* from internal.move_nodes(s.job_id, s.step_id, r.nodelist) x
		where v_moves offset 0) v on true -- once a row, and only where anything is moved
	left join internal.pending_misfits(p_jobs, p_steps) m on m.job_id = s.job_id and m.step_id = s.step_id
	left join step_array a on s.is_array and a.job_id = s.job_id and a.step_id = s.step_id
	cross join lateral (select exists (
		select from step_edge e
			where e.job_id = r.job_id and e.step_id = r.step_id and e.kind in ('same_nodes', 'other_nodes'))
		-- A step that names a reservation has waited for its first start. Only steps that run again, and elements, can
		-- find the node in use.
		or case when s.attempt > 0 or s.requeues > 0 or s.is_array or s.step_id <> s.request_id then exists (
			select from step_edge e
				where e.peer_job_id = r.job_id and e.peer_step_id = r.step_id
				and e.kind in ('same_nodes', 'other_nodes')) else false end as bound) b
	left join lateral (select x.* from internal.pending_peers(r.job_id, r.step_id) x
		where b.bound offset 0) peers on true -- once a row, and only where b.bound
	order by o.nr;
end $$;
comment on function api.schedule_pending(bigint[], int[]) is
	'The requests of these steps, in the order given. admitted: the reservations that admit the step; reservation: the '
	'one that it asks for (-1: it does not exist, or does not admit the step); data_nodes: nodes that had data of the '
	'job at this time; steady: everything but data_nodes changes only with the steps row and the stamp '
	'(api.schedule_queue); variables: of an element whose job has directives for burst_buffer.lua, as fields.';
