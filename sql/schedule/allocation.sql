-- Allocations: what is held on nodes.
--
-- Invariants:
-- - rota.node_used, the used column of rota.license and the owners of rota.node_gres change in the transaction of the allocation,
--   so their constraints forbid to hold more than there is.

create function internal.node_lock(p_nodes int[]) returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	return (
		select coalesce(bool_and(x.state = 'up'), true)
		from (select n.state from node n where n.node_id = any (p_nodes) order by n.node_id for no key update) x);
end $$;
comment on function internal.node_lock(int[]) is
	'Lock nodes in order of id, after jobs (internal.job_lock); answers whether all of them serve.';

create function internal.license_lock(p_steps internal.attempt_key[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	-- Most clusters have no licences. Then no allocation is read.
	if not exists (select from license) then
		return;
	end if;
	perform 1 from license l
	where l.license in (
		select x.key
		from unnest(p_steps) as v
		join step s on s.job_id = v.job_id and s.step_id = v.step_id
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		cross join lateral jsonb_object_keys(r.licenses) x (key)
		where r.licenses <> '{}')
	order by l.license
	for no key update;
end $$;
comment on function internal.license_lock(internal.attempt_key[]) is
	'Lock the licences that steps ask for, whichever their attempt, in order of name, after nodes (internal.node_lock).';

-- Pre-dispatch: elements of an array are ordered to a node beyond its CPUs, as many as would otherwise run out of work before the
-- leader has read the ends and committed others. Such an allocation holds memory and no CPUs, and has not begun. The CPUs of an
-- element that ends pass to the next pre-dispatched one in the same transaction, so what is held on a node does not change and
-- never exceeds what it has. The node starts them in turn (procmgr/agent/agent_predispatch.c), mostly before the end is reported.
create function internal.allocation_pass_on(p_rooms internal.freed_slots[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	with next as (
		select x.job_id, x.step_id, x.attempt, x.node_id, greatest(v.free_at[v.n + 1 - x.nr], t.ordered_at) as at
		from unnest(p_rooms) v
		join step_array r on r.job_id = v.job_id and r.step_id = v.request_id
		cross join lateral (
			select a.job_id, a.step_id, a.attempt, a.node_id,
				row_number() over (order by a.phase = 'ordered', a.step_id) as nr
			-- Live allocations of the node are few, while a job may have many.
			from (select o.* from allocation o
				where o.node_id = v.node_id and o.ended_at is null and o.started_at is null
				and o.cpus_held = 0 offset 0) a -- by node
			where a.job_id = v.job_id and a.step_id between r.step_id + 1 and r.step_id + r.size
			-- First elements whose start was reported, then the others in the order in which the node starts
			-- them.
			order by a.phase = 'ordered', a.step_id
			limit v.n
		) x
		cross join lateral (select y.ordered_at from attempt y
			where y.job_id = x.job_id and y.step_id = x.step_id and y.attempt = x.attempt offset 0) t -- by key
	), begun as (
		update allocation a
		set started_at = n.at, cpus_held = a.cpus
		from next n
		where a.job_id = n.job_id and a.step_id = n.step_id and a.attempt = n.attempt and a.node_id = n.node_id
		returning a.node_id, a.cpus
	)
	update node_used u
	set cpus_used = u.cpus_used + b.cpus
	from (select b.node_id, sum(b.cpus) as cpus from begun b group by b.node_id) b
	where u.node_id = b.node_id;
end $$;
comment on function internal.allocation_pass_on(internal.freed_slots[]) is
	'Give what ended elements held to pre-dispatched ones of their arrays.';

create function internal.allocation_free(p_held internal.allocation_end[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_predispatched boolean := exists (
		select from (select distinct v.node_id from unnest(p_held) v) n
		join allocation a on a.node_id = n.node_id and a.ended_at is null and a.started_at is null);
	v_free_slots internal.freed_slots[];
begin
	with ended as (
		update allocation a
		set started_at = x.started_at, ended_at = x.ended_at, cpus_held = 0,
			-- A reservation has nothing on the node.
			gone_at = case when v.gone or a.attempt = 0 then x.ended_at else a.gone_at end,
			phase = case when v.gone or a.attempt = 0 then 'ended' else 'done' end,
			peak_mb = v.peak_mb, cpu_usec = v.cpu_usec
		from (
			select v.*, o.started_at as held_from, o.cpus_held as held,
				max(o.started_at) over (partition by v.node_id, v.job_id) as node_from
			from unnest(p_held) v
			join allocation o on o.job_id = v.job_id and o.step_id = v.step_id and o.attempt = v.attempt
				and o.node_id = v.node_id
		) v
		-- An element that was pre-dispatched until now and is reported as begun began when an element had ended that is
		-- reported as well, so not before any of those: the times of two reports differ.
		cross join lateral (select greatest(coalesce(v.at, now()),
			coalesce(v.held_from, v.node_from)) as ended_at offset 0) e -- once a row
		cross join lateral (
			select e.ended_at,
				coalesce(v.held_from,
				case when v.began_at is not null then least(greatest(v.began_at, v.node_from), e.ended_at)
				else e.ended_at end)
				as started_at offset 0) x -- once a row
		-- By key: with the plain condition, the planner would read all that is open.
		where a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.node_id = v.node_id
			and coalesce(a.ended_at, 'infinity') = 'infinity'
		returning a.job_id, a.step_id, a.attempt, a.node_id, a.ended_at, v.held as cpus_held, a.mem_mb, a.gres,
			a.licenses, a.cpu_usec is not null as used
	), due as (
		insert into usage_pending (job_ids, step_ids, attempts, node_ids, held, used)
		select array_agg(e.job_id), array_agg(e.step_id), array_agg(e.attempt), array_agg(e.node_id), true,
			e.used from ended e group by e.used
	), freed as (
		update node_used n
		set cpus_used = n.cpus_used - f.cpus, mem_used_mb = n.mem_used_mb - f.mem
		from (select e.node_id, sum(e.cpus_held) as cpus, sum(e.mem_mb) as mem from ended e group by e.node_id) f
		where n.node_id = f.node_id
	), returned as (
		update license l
		set used = l.used - f.n
		from (select x.key, sum(x.value::int) as n from ended e cross join lateral jsonb_each_text(e.licenses) x
			where e.licenses <> '{}' group by x.key) f
		where l.license = f.key
	), given as (
		update node_gres g
		set job_id = null, step_id = null, attempt = null
		from ended e
		where e.gres <> '{}' and g.node_id = e.node_id and g.job_id = e.job_id and g.step_id = e.step_id
			and g.attempt = e.attempt
	)
	-- As many as held CPUs. Pre-dispatched elements that are over had them in between, so the latest ends are when these
	-- became free.
	select array_agg(r::internal.freed_slots) into v_free_slots
	from (
		select e.node_id, e.job_id, s.request_id, count(*) filter (where e.cpus_held > 0)::int as n,
			array_agg(e.ended_at order by e.ended_at desc)
		from ended e
		cross join lateral (select x.request_id from step x
			where x.job_id = e.job_id and x.step_id = e.step_id offset 0) s -- by key
		where v_predispatched
		group by e.node_id, e.job_id, s.request_id
	) r
	where r.n > 0;
	if v_free_slots is not null then
		perform internal.allocation_pass_on(v_free_slots);
	end if;
end $$;
comment on function internal.allocation_free(internal.allocation_end[]) is
	'End open allocations, give back what they hold, or pass it on to pre-dispatched elements of their arrays, and note '
	'them for the usage figures. Ended ones are left unchanged, so a call may be repeated. The caller holds the locks of '
	'nodes and licences.';

create function internal.allocation_unreserve(p_steps internal.attempt_key[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_reserved internal.allocation_end[] := array(
		select (v.job_id, v.step_id, 0, a.node_id, null, true, null, null, null)::internal.allocation_end
		from unnest(p_steps) as v
		-- From the steps to their allocations: while statistics know of few allocations, reading all of them looks as
		-- cheap.
		cross join lateral (
			select o.node_id from allocation o
			where o.job_id = v.job_id and o.step_id = v.step_id and o.attempt = 0
				and coalesce(o.ended_at, 'infinity') = 'infinity' offset 0) a); -- by key
begin
	if v_reserved <> '{}' then
		perform internal.node_lock(array(select distinct v.node_id from unnest(v_reserved) v));
		perform internal.allocation_free(v_reserved);
	end if;
end $$;
comment on function internal.allocation_unreserve(internal.attempt_key[]) is
	'Release what is reserved on nodes for steps, whichever their attempt.';

create function internal.allocation_take(p_taken internal.allocation_start[], p_locked boolean default false) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_taken internal.allocation_start[] := p_taken;
	v_asked bigint;
	v_got bigint;
begin
	if not p_locked then
		perform internal.node_lock(array(select distinct v.node_id from unnest(p_taken) v));
	end if;
	perform internal.license_lock(array(select (v.job_id, v.step_id, v.attempt)::internal.attempt_key
		from unnest(p_taken) v));
	-- If an element has ended since the decision, a pre-dispatched one starts at once.
	if exists (select from unnest(p_taken) v where v.predispatched) then
		v_taken := array(
			select (v.job_id, v.step_id, v.attempt, v.node_id, v.node_index, v.cpus, v.mem_mb, v.gres, v.licenses,
				v.tasks, v.prolog_owner, v.phase, v.started_at,
				v.predispatched and v.cpus_before + v.cpus > u.cpus - u.cpus_used)::internal.allocation_start
			from (
				select x.*,
					sum(x.cpus) over (partition by x.node_id order by coalesce(x.predispatched, false),
					x.job_id, x.step_id) - x.cpus as cpus_before from unnest(p_taken) x
			) v
			join node_used u on u.node_id = v.node_id);
	end if;
	insert into allocation (job_id, step_id, attempt, node_id, node_index, cpus, mem_mb, gres, licenses, tasks, prolog_owner,
		phase, cpus_held, started_at)
	-- What is taken begins under the nodes' locks, so after the end of what held it before, whichever transaction began
	-- first.
	select v.job_id, v.step_id, v.attempt, v.node_id, v.node_index, v.cpus, v.mem_mb, coalesce(v.gres, '{}'),
		coalesce(v.licenses, '{}'),
		v.tasks, coalesce(v.prolog_owner, true), v.phase, case when v.predispatched then 0 else v.cpus end,
		case when not coalesce(v.predispatched, false) then coalesce(v.started_at, clock_timestamp()) end
	from unnest(v_taken) v;
	update node_used n
	set cpus_used = n.cpus_used + t.cpus, mem_used_mb = n.mem_used_mb + t.mem
	from (select v.node_id, sum(case when v.predispatched then 0 else v.cpus end) as cpus,
		sum(v.mem_mb) as mem from unnest(v_taken) v group by v.node_id) t
	where n.node_id = t.node_id;
	update license l
	set used = l.used + t.n
	from (select x.key, sum(x.value::int) as n from unnest(p_taken) v cross join lateral jsonb_each_text(v.licenses) x
		where v.licenses <> '{}' group by x.key) t
	where l.license = t.key;

	with asked as (
		select v.job_id, v.step_id, v.attempt, v.node_id, x.key as gres, u.unit::int as unit
		from unnest(p_taken) v
		cross join lateral jsonb_each(v.gres) x
		cross join lateral jsonb_array_elements_text(x.value) u (unit)
		where v.gres <> '{}'
	), held as (
		update node_gres g
		set job_id = a.job_id, step_id = a.step_id, attempt = a.attempt
		from asked a
		where g.node_id = a.node_id and g.gres = a.gres and g.unit = a.unit and g.job_id is null
		returning 1
	)
	select (select count(*) from asked), (select count(*) from held) into v_asked, v_got;
	if v_asked <> v_got then
		raise exception 'a device of a generic resource is allocated already' using errcode = '40001',
			hint = 'Read again and decide anew.';
	end if;
end $$;
comment on function internal.allocation_take(internal.allocation_start[], boolean) is
	'Open allocations, whose nodes the caller may have locked. Fails where a node, a licence or a device is not free '
	'(23514, 40001).';

-- same_nodes: when a step ends, what it held stays reserved for eligible followers that want the same nodes, as far as they need
-- it. Only for eligible ones, so nothing is reserved for a step that waits for another one.
create function internal.allocation_reserve(p_ended internal.move_made[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_follower record;
	v_taken internal.allocation_start[];
begin
	if not exists (select from unnest(p_ended) v
		join step_edge e on e.peer_job_id = v.job_id and e.peer_step_id = v.step_id and e.kind = 'same_nodes') then
		return;
	end if;
	for v_follower in
		select distinct f.job_id, f.step_id, e.peer_job_id, e.peer_step_id, r.cpus_per_task, r.ntasks, r.ntasks_per_node,
			r.mem_mb, r.mem_per_cpu_mb, r.exclusive
		from unnest(p_ended) v
		join step_edge e on e.peer_job_id = v.job_id and e.peer_step_id = v.step_id and e.kind = 'same_nodes'
		join step f on f.job_id = e.job_id and f.step_id = e.step_id and f.state = 'pending' and f.deps_waiting = 0
			and f.held = ''
		join step_request r on r.job_id = f.job_id and r.step_id = f.step_id and r.with_set is null
		where not exists (select from allocation k where k.job_id = f.job_id and k.step_id = f.step_id and k.attempt = 0)
		order by f.job_id, f.step_id
	loop
		select array_agg((v_follower.job_id, v_follower.step_id, 0, n.node_id, a.node_index, t.cpus,
				least(case v_follower.mem_mb when 0 then a.mem_mb
					else coalesce(v_follower.mem_mb, v_follower.mem_per_cpu_mb * t.cpus, 0) end,
					u.mem_mb - u.mem_used_mb, a.mem_mb),
				null, null, 0, null, 'reserved', null, null)::internal.allocation_start)
		into v_taken
		from step p
		join allocation a on a.job_id = p.job_id and a.step_id = p.step_id and a.attempt = p.attempt
		join node n on n.node_id = a.node_id and n.state = 'up'
		join node_used u on u.node_id = n.node_id
		cross join lateral (
			select least(case when v_follower.exclusive then a.cpus
				else v_follower.cpus_per_task * coalesce(v_follower.ntasks_per_node,
				greatest(1,
				v_follower.ntasks / (select count(*) from allocation c
				where c.job_id = a.job_id and c.step_id = a.step_id and c.attempt = a.attempt)::int)) end,
				a.cpus, u.cpus - u.cpus_used) as cpus
		) t
		where p.job_id = v_follower.peer_job_id and p.step_id = v_follower.peer_step_id and a.attempt > 0 and t.cpus > 0;
		if v_taken is not null then
			perform internal.allocation_take(v_taken);
		end if;
	end loop;
end $$;
comment on function internal.allocation_reserve(internal.move_made[]) is
	'Keep what the ended steps held for their followers on the same nodes.';
