-- Allocations: what is held on nodes.
--
-- Invariants:
-- - rota.node_used, the used column of rota.license and the owners of rota.node_gres change in the transaction of the allocation,
--   so their constraints forbid to hold more than there is.

create function internal.node_lock(p_nodes int[]) returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	return (
		select coalesce(bool_and(x.state = 'up' and x.power = 'on'), true)
		from (select n.state, n.power from node n where n.node_id = any (p_nodes) order by n.node_id for no key update) x);
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
-- leader has read the ends and committed others. Such an allocation holds memory and no CPUs, and has not begun. The node starts
-- them in turn (procmgr/agent/agent_predispatch.c), each when an element ends there, mostly before the end is reported. All
-- elements of an array have the same number of CPUs. An element that starts takes those that were freed last before. CPUs
-- that are free after that are kept for the next elements, in the order in which the node starts them, and pass to another
-- element if that one starts before. Until an element is known to have started, its allocation has the moment at which the CPUs
-- became free, even if it was ordered later: an element that was ordered before may turn out to have taken them.
create function internal.slot_elements(p_ended internal.allocation_end[], p_begun internal.attempt_report[])
	returns setof internal.slot_element
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return query
	with ended as (
		select v.node_id, v.job_id, s.request_id, v.step_id, v.attempt, coalesce(v.at, now()) as ended_at,
			a.started_at, a.cpus_held > 0 as held,
			a.predispatched and a.phase = 'ordered' as kept,
			v.began_at is not null or a.phase <> 'ordered' as begun, coalesce(v.began_at, v.at) as began_at
		from unnest(p_ended) v
		join allocation a on a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt
			and a.node_id = v.node_id and coalesce(a.ended_at, 'infinity') = 'infinity'
		cross join lateral (select x.request_id from step x
			where x.job_id = v.job_id and x.step_id = v.step_id and x.array_index is not null offset 0) s -- by key
	), array_on_node as (
		select e.node_id, e.job_id, e.request_id from ended e
		union
		select v.node_id, v.job_id, s.request_id
		from unnest(p_begun) v
		cross join lateral (select x.request_id from step x
			where x.job_id = v.job_id and x.step_id = v.step_id offset 0) s -- by key
	)
	select * from ended
	union all
	select n.node_id, n.job_id, n.request_id, a.step_id, a.attempt, null, a.started_at, a.cpus_held > 0, true,
		a.phase <> 'ordered', b.began_at
	from array_on_node n
	join step_array r on r.job_id = n.job_id and r.step_id = n.request_id
	-- Live allocations of the node are few, while a job may have many.
	cross join lateral (select o.* from allocation o
		where o.node_id = n.node_id and o.ended_at is null and o.predispatched offset 0) a -- by node
	left join unnest(p_begun) b on b.job_id = a.job_id and b.step_id = a.step_id and b.attempt = a.attempt
		and b.node_id = a.node_id
	where a.job_id = n.job_id and a.step_id between r.step_id + 1 and r.step_id + r.size
		-- Not elements of which it was known that they run.
		and (a.started_at is null or a.phase = 'ordered' or b.job_id is not null)
		and not exists (select from ended e where e.job_id = a.job_id and e.step_id = a.step_id
			and e.attempt = a.attempt and e.node_id = a.node_id);
end $$;
comment on function internal.slot_elements(internal.allocation_end[], internal.attempt_report[]) is
	'Elements of arrays on nodes that free or take CPUs: those whose allocations end (p_ended), and the pre-dispatched ones '
	'that were not known to have started, some of which have (p_begun).';

create function internal.slot_moves(p_ended internal.allocation_end[], p_begun internal.attempt_report[])
	returns setof internal.slot_move
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return query
	with element as materialized (
		select * from internal.slot_elements(p_ended, p_begun)
	), moment as (
		-- Each row is a moment at which the CPUs of one element become free (1) or are taken by an element (-1). CPUs that are
		-- kept for an element are free until some element starts.
		select x.*, row_number() over o as nr, sum(x.free) over (o rows unbounded preceding) + (x.free < 0)::int as level
		from (
			select e.*, e.started_at as at, 1 as free from element e where e.held and e.kept
			union all
			select e.*, case when e.kept then e.ended_at else greatest(e.ended_at, e.started_at) end, 1
			from element e
			where e.ended_at is not null and case when e.kept then e.begun else e.held or e.started_at is null end
			union all
			select e.*, e.began_at, -1
			from element e
			where e.begun and e.began_at is not null
				and (e.ended_at is null or e.started_at is null or (e.held and e.kept))
		) x
		window o as (partition by x.node_id, x.job_id, x.request_id order by x.at, x.free desc)
	), paired as (
		-- Like brackets: an element takes the CPUs that became free last before it started and are not taken yet. At a level
		-- below 1, more elements run than have CPUs, as on virtual nodes. Such an element takes no CPUs and frees none.
		select m.*, lag(m.at) over o as free_at, lead(m.free) over o as behind
		from moment m
		window o as (partition by m.node_id, m.job_id, m.request_id, m.level order by m.nr)
	), kept as (
		-- CPUs that no element took are kept, those that became free first for the first element: its start may be reported
		-- later than the start of an element that started after it.
		select p.node_id, p.job_id, p.request_id, p.at,
			row_number() over (partition by p.node_id, p.job_id, p.request_id order by p.at) as nr
		from paired p
		where p.free > 0 and p.behind is null and p.level > 0
	), waiting as (
		select e.*, row_number() over (partition by e.node_id, e.job_id, e.request_id
			order by not e.begun, e.step_id) as nr
		from element e
		where e.ended_at is null and (not e.begun or e.began_at is null)
	), move as (
		select p.node_id, p.job_id, p.step_id, p.attempt, p.ended_at is not null as ended, true as begun, p.free_at
		from paired p
		where p.free < 0 and p.level > 0
		union all
		select w.node_id, w.job_id, w.step_id, w.attempt, false, w.begun, k.at
		from waiting w
		left join kept k on k.node_id = w.node_id and k.job_id = w.job_id and k.request_id = w.request_id and k.nr = w.nr
		where k.at is not null or w.held
	)
	select m.job_id, m.step_id, m.attempt, m.node_id, m.ended,
		case when m.free_at is not null then greatest(m.free_at, y.ordered_at) end
	from move m
	left join lateral (select x.ordered_at from attempt x where m.begun
		and x.job_id = m.job_id and x.step_id = m.step_id and x.attempt = m.attempt offset 0) y on true; -- by key
end $$;
comment on function internal.slot_moves(internal.allocation_end[], internal.attempt_report[]) is
	'Which pre-dispatched elements take over CPUs of their array, when allocations on nodes end (p_ended) and elements that '
	'were not known to have started have started there (p_begun).';

create function internal.slot_pass_on(p_moves internal.slot_move[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	with moved as (
		update allocation a
		set started_at = v.slot_at, cpus_held = case when v.slot_at is null then 0 else a.cpus end
		from unnest(p_moves) v
		join allocation o on o.job_id = v.job_id and o.step_id = v.step_id and o.attempt = v.attempt
			and o.node_id = v.node_id
		where not v.ended and a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt
			and a.node_id = v.node_id
			and coalesce(a.ended_at, 'infinity') = 'infinity'
			and a.started_at is distinct from v.slot_at
		returning a.node_id, a.cpus_held - o.cpus_held as cpus
	)
	update node_used u
	set cpus_used = u.cpus_used + m.cpus
	from (select m.node_id, sum(m.cpus) as cpus from moved m group by m.node_id) m
	where u.node_id = m.node_id and m.cpus <> 0;
end $$;
comment on function internal.slot_pass_on(internal.slot_move[]) is
	'Give pre-dispatched elements that have not ended the CPUs that internal.slot_moves found for them.';

create function internal.allocation_free(p_held internal.allocation_end[], p_begun internal.attempt_report[] default '{}')
	returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	-- Most nodes have no pre-dispatched elements. Then no array is looked at.
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
			-- A reservation has nothing on the node.
			gone_at = case when v.gone or a.attempt = 0 then x.ended_at else a.gone_at end,
			phase = case when v.gone or a.attempt = 0 then 'ended' else 'done' end,
			peak_mb = (u.used).peak_mb, cgroup_peak_mb = (u.used).cgroup_peak_mb, cpu_usec = (u.used).cpu_usec,
			system_usec = (u.used).system_usec, boot_at = coalesce(a.boot_at, v.boot_at),
			without_cpus = a.without_cpus * tstzmultirange(tstzrange(null, x.ended_at)),
			energy_j = internal.energy_share((u.used).node_uj, x.ended_at, a.node_id, a.cpus, x.started_at,
				x.ended_at, a.without_cpus)
		from (
			select v.*, o.cpus_held as held,
				-- An element that never started held nothing: the CPUs that were kept for it pass to another one.
				o.predispatched and o.phase = 'ordered' and v.began_at is null as unused,
				-- One that started may have taken CPUs that became free before those that were kept for it.
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
	'End open allocations, give back what they hold, or pass it on to pre-dispatched elements of their arrays, and note '
	'them for the usage figures. p_begun: as in internal.slot_moves. Ended allocations are left '
	'unchanged, so a call may be repeated. The caller holds the locks of nodes and licences.';

create function internal.allocation_unreserve(p_steps internal.attempt_key[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_reserved internal.allocation_end[] := array(
		select internal.allocation_end_of(job_id => v.job_id, step_id => v.step_id, attempt => 0,
			node_id => a.node_id, gone => true)
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
	-- A pre-dispatched element waits for CPUs of its node. It starts at once if enough CPUs became free since the leader decided.
	if exists (select from unnest(p_taken) v where v.predispatched) then
		v_taken := array(
			select internal.allocation_start_of(job_id => v.job_id, step_id => v.step_id, attempt => v.attempt,
				node_id => v.node_id, node_index => v.node_index, cpus => v.cpus, mem_mb => v.mem_mb, gres => v.gres,
				licenses => v.licenses, tasks => v.tasks, prolog_owner => v.prolog_owner, phase => v.phase,
				started_at => v.started_at, predispatched => v.predispatched,
				waits => v.waits or (v.predispatched and v.cpus_before + v.cpus > u.cpus - u.cpus_used))
			from (
				select x.*,
					sum(x.cpus) over (partition by x.node_id order by coalesce(x.predispatched, false),
					x.job_id, x.step_id) - x.cpus as cpus_before from unnest(p_taken) x
			) v
			join node_used u on u.node_id = v.node_id);
	end if;
	insert into allocation (job_id, step_id, attempt, node_id, node_index, cpus, mem_mb, gres, licenses, tasks, prolog_owner,
		phase, cpus_held, started_at, predispatched)
	-- What is taken begins under the nodes' locks, so after the end of what held it before, whichever transaction began
	-- first.
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
	'Keep what the ended steps held for their followers on the same nodes.';
