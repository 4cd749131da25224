-- Allocations: the resources that attempts hold on nodes.
--
-- Invariants:
-- - rota.node_used, the used column of rota.license and the owners of rota.node_gres change in the transaction of the allocation,
--   so that their constraints forbid to allocate more than exists.

create function internal.node_lock(p_nodes int[]) returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	return (
		select coalesce(bool_and(x.state = 'up' and x.power = 'on'), true)
		from (select n.state, n.power from node n where n.node_id = any (p_nodes) order by n.node_id for no key update) x);
end $$;
comment on function internal.node_lock(int[]) is
	'Lock nodes in order of id, after jobs (internal.job_lock). Returns whether steps may start on all of them.';

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
	'Lock the licences that steps ask for, in any attempt, in order of name, after nodes (internal.node_lock).';

create function internal.allocation_free(p_held internal.allocation_end[], p_begun internal.attempt_report[] default '{}')
	returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	-- Most nodes have no pre-dispatched elements. Then no array is read.
	v_moves internal.slot_move[] := case when p_begun <> '{}' or exists (
		select from (select distinct v.node_id from unnest(p_held) v) n
		join allocation a on a.node_id = n.node_id and a.ended_at is null and a.predispatched) then
			array(select m::internal.slot_move from internal.slot_moves(p_held, p_begun) m) end;
begin
	if v_moves is not null and exists (select from step_ahead) then
		v_moves := v_moves || internal.ahead_moves(p_held);
	end if;
	with ended as (
		update allocation a
		set started_at = x.started_at, ended_at = x.ended_at, cpus_held = 0,
			-- A reservation for a successor has no processes on the node.
			gone_at = case when v.gone or a.attempt = 0 then x.ended_at else a.gone_at end,
			phase = case when v.gone or a.attempt = 0 then 'ended' else 'done' end,
			peak_mb = (u.used).peak_mb, cgroup_peak_mb = (u.used).cgroup_peak_mb, cpu_usec = (u.used).cpu_usec,
			system_usec = (u.used).system_usec, boot_at = coalesce(a.boot_at, v.boot_at),
			without_cpus = a.without_cpus * tstzmultirange(tstzrange(null, x.ended_at)),
			energy_j = internal.energy_share((u.used).node_uj, x.ended_at, a.node_id, a.cpus, x.started_at,
				x.ended_at, a.without_cpus)
		from (
			select v.*, o.cpus_held as held,
				-- An element that never started held no CPUs: the CPUs that were kept for it pass to another
				-- element.
				o.predispatched and o.phase = 'ordered' and v.began_at is null as unused,
				-- An element that started may have taken CPUs that became free before those that were kept for
				-- it.
				case when m.slot_at is null then o.started_at else m.slot_at end as held_from
			from unnest(p_held) v
			join allocation o on o.job_id = v.job_id and o.step_id = v.step_id and o.attempt = v.attempt
				and o.node_id = v.node_id
			left join unnest(v_moves) m on m.job_id = v.job_id and m.step_id = v.step_id and m.attempt = v.attempt
				and m.node_id = v.node_id
		) v
		cross join lateral (
			select greatest(coalesce(v.at, now()), v.held_from) as ended_at offset 0) e -- once a row
		cross join lateral (
			select e.ended_at, case when v.unused then e.ended_at
				else least(v.held_from, e.ended_at) end as started_at
			offset 0) x -- once a row
		cross join lateral (
			select case when v.gone
				then internal.figures_complete(v.figures, v.job_id, v.step_id, v.attempt, v.node_id) end as used
			offset 0) u -- once a row
		-- With the plain condition ended_at is null, the planner would read all open allocations instead of finding these
		-- by key.
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
	)
	update node_gres g
	set job_id = null, step_id = null, attempt = null
	from ended e
	where e.gres <> '{}' and g.node_id = e.node_id and g.job_id = e.job_id and g.step_id = e.step_id
		and g.attempt = e.attempt;
	if v_moves is not null then
		perform internal.slot_pass_on(v_moves);
	end if;
end $$;
comment on function internal.allocation_free(internal.allocation_end[], internal.attempt_report[]) is
	'End open allocations and free their resources, or pass these on to pre-dispatched elements of the same arrays, and '
	'record the allocations for the usage figures. p_begun: as in internal.slot_moves. Ended allocations are left unchanged, '
	'so a call may be repeated. The caller holds the locks of nodes and licences.';

create function internal.allocation_unreserve(p_steps internal.attempt_key[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_reserved internal.allocation_end[] := array(
		select internal.allocation_end_of(job_id => v.job_id, step_id => v.step_id, attempt => 0,
			node_id => a.node_id, gone => true)
		from unnest(p_steps) as v
		-- The query goes from the steps to their allocations: while statistics show few allocations, reading all of them
		-- would look as cheap.
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
	'Free the resources that are reserved on nodes for steps, in any attempt.';

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
	if exists (select from unnest(p_taken) v where v.predispatched) then
		v_taken := internal.slot_wait(p_taken);
	end if;
	insert into allocation (job_id, step_id, attempt, node_id, node_index, cpus, mem_mb, gres, licenses, tasks, prolog_owner,
		phase, cpus_held, started_at, predispatched)
	-- Allocations begin under the nodes' locks, so after the end of earlier allocations of the same resources, whichever
	-- transaction began first.
	select v.job_id, v.step_id, v.attempt, v.node_id, v.node_index, v.cpus, v.mem_mb, coalesce(v.gres, '{}'),
		coalesce(v.licenses, '{}'),
		v.tasks, coalesce(v.prolog_owner, true), v.phase, case when v.waits then 0 else v.cpus end,
		case when not coalesce(v.waits, false) then coalesce(v.started_at, clock_timestamp()) end,
		coalesce(v.predispatched, false)
	from unnest(v_taken) v;
	update node_used n
	set cpus_used = n.cpus_used + t.cpus, mem_used_mb = n.mem_used_mb + t.mem
	from (select v.node_id, sum(case when v.waits then 0 else v.cpus end) as cpus,
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
	'Open allocations; p_locked: the caller has locked their nodes. Fails if a node, a licence or a device is not free '
	'(23514, 40001).';

-- same_nodes: when a step ends, its resources stay reserved for eligible successors that want the same nodes, as far as they need
-- them. Only for eligible successors, so nothing is reserved for a step that waits for another step.
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
		select array_agg(internal.allocation_start_of(job_id => v_follower.job_id, step_id => v_follower.step_id,
			attempt => 0, node_id => n.node_id, node_index => a.node_index, cpus => t.cpus,
			mem_mb => least(case v_follower.mem_mb when 0 then a.mem_mb
					else coalesce(v_follower.mem_mb, v_follower.mem_per_cpu_mb * t.cpus, 0) end,
					u.mem_mb - u.mem_used_mb, a.mem_mb), tasks => 0, phase => 'reserved'))
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
	'Reserve the resources of ended steps for their successors on the same nodes.';
