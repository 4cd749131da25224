-- Edges of the steps of a submission: to each other and to steps of earlier jobs, for dependencies, common starts and nodes.
--
-- Called by: internal.submit (job_submit.sql).

create function internal.edge_peer(p_uid int, p_user text, p_script text, p_line int, p_new bigint, p_kind text, p_condition text,
	p_job bigint, p_name text) returns int
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_step int;
begin
	-- The script named the number before the new job had it.
	if p_job = p_new then
		raise exception 'there is no job %', p_job using errcode = 'RT404';
	end if;
	-- A step that follows on the same nodes gets them before all other steps, so both jobs must have the same owner.
	perform internal.job_target(p_uid, p_user,
		jsonb_build_object('jobs', jsonb_build_array(concat_ws('.', p_job::text, p_name))), p_kind = 'same_nodes');
	if p_name is not null then
		select r.step_id into v_step from step_request r where r.job_id = p_job and r.name = p_name;
	elsif p_kind = 'after' and p_condition is distinct from 'corr' then
		return -1;
	else
		-- `corr` and constraints on nodes need exactly one peer step.
		select case count(*) when 1 then min(r.step_id) end into v_step from step_request r where r.job_id = p_job;
		if v_step is null then
			perform internal.submit_refuse(p_script, p_line, translate(p_kind, '_', '-'),
				format('job %1$s has several steps; name one, as %1$s.STEP', p_job), null);
		end if;
	end if;
	return v_step;
exception when sqlstate 'RT404' or sqlstate 'RT403' then
	perform internal.submit_refuse(p_script, p_line, translate(p_kind, '_', '-'), sqlerrm, null);
end $$;
comment on function internal.edge_peer(int, text, text, int, bigint, text, text, bigint, text) is
	'The step of another job that an edge of the new job p_new names; -1: the whole job. For "corr" and for kinds about '
	'nodes, a whole job means its only step.';

create function internal.submit_edges(p_uid int, p_user text, p_script text, p_job bigint, p_steps internal.planned_step[],
	p_edges jsonb) returns rota.step_edge[]
language plpgsql set search_path = rota, pg_temp set enable_hashjoin = on set plan_cache_mode = force_custom_plan as $$
begin
	return (
	with own as materialized (
		select s.step_id, s.topo, s.with_set from unnest(p_steps) s
	)
	select array_agg((p_job, e.step_id, e.edge, e.kind, x.peer_job, x.peer_step, coalesce(e."condition", 'ok'), r.topo,
		-- By key, and only for other jobs.
		case when e.peer_job is null then p.topo
			else (select q.topo from step_request q where q.job_id = e.peer_job and q.step_id = x.peer_step) end,
		e.kind <> 'with' and coalesce(e."condition", 'ok') <> 'corr'
			and not (e.kind in ('same_nodes', 'other_nodes') and e.peer_job is null and r.with_set is not null
				and r.with_set is not distinct from p.with_set),
		'waiting', null, e.line)::step_edge)
	from (
		select e.*, row_number() over (partition by e.step_id) as edge
		from jsonb_to_recordset(p_edges) as e (step_id int, kind text, peer_job bigint, peer_step int, peer_name text,
			"condition" text, line int)
	) e
	join own r on r.step_id = e.step_id
	left join own p on p.step_id = e.peer_step and e.peer_job is null
	cross join lateral (
		select coalesce(e.peer_job, p_job) as peer_job,
			case when e.peer_job is null then e.peer_step
				else internal.edge_peer(p_uid, p_user, p_script, e.line, p_job, e.kind, e."condition", e.peer_job,
				e.peer_name) end as peer_step
	) x);
end $$;
comment on function internal.submit_edges(int, text, text, bigint, internal.planned_step[], jsonb) is
	'The edges of the steps of a new job, as rows of rota.step_edge.';

create function internal.submit_waits(p_steps internal.planned_step[], p_edges rota.step_edge[]) returns jsonb
language plpgsql set search_path = rota, pg_temp set enable_hashjoin = on set plan_cache_mode = force_custom_plan as $$
begin
	return (
		select jsonb_object_agg(s.step_id, case when s.deps_any then least(n.after, 1) else n.after end + n.others)
		from unnest(p_steps) s
		join (
			select e.step_id, count(*) filter (where e.kind = 'after') as after,
				count(*) filter (where e.kind <> 'after') as others
			from unnest(p_edges) e
			where e.gates
			group by e.step_id
		) n on n.step_id = s.step_id);
end $$;
comment on function internal.submit_waits(internal.planned_step[], rota.step_edge[]) is
	'Number of its edges for which each step of a new job waits: {step_id: number}; a step that waits for none is left out.';

create function internal.submit_singleton(p_uid int, p_name text, p_edges jsonb) returns jsonb
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	-- Submissions of singletons go one after the other, so that the second sees the first.
	perform pg_advisory_xact_lock(hashtextextended('rota singleton ' || p_uid || ' ' || p_name, 0));
	return (
		select coalesce(jsonb_agg(x.edge), '[]')
		from (
			select e as edge from jsonb_array_elements(p_edges) e where e ->> 'condition' is distinct from 'singleton'
			union all
			select e || jsonb_build_object('condition', 'any', 'peer_job', j.job_id)
			from jsonb_array_elements(p_edges) e
			cross join (select j.job_id from job j
				where j.uid = p_uid and j.name = p_name and j.ended_at is null order by j.job_id) j
			where e ->> 'condition' = 'singleton'
		) x);
end $$;
comment on function internal.submit_singleton(int, text, jsonb) is
	'The edges of a new job, with those of a singleton to all live jobs of its owner that have the same name.';

create function internal.submit_peers_lock(p_edges jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	-- Edges to other jobs are resolved against history at once; edges within this job wait. The share lock keeps a peer from
	-- ending between this look-up and the commit, since the peer's transaction could not see the edge.
	perform 1 from job j
	where j.job_id in (select e.peer_job from jsonb_to_recordset(p_edges) as e (peer_job bigint))
	order by j.job_id
	for share;
end $$;
comment on function internal.submit_peers_lock(jsonb) is
	'Lock the jobs that edges of a new job name, so that they do not end until the new job is stored.';

create function internal.submit_bonds(p_job bigint, p_script text, p_edges rota.step_edge[], p_try bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	insert into step_edge (job_id, step_id, edge, kind, peer_job_id, peer_step_id, "condition", topo, peer_topo, gates, state,
		resolved_at, line)
	select e.job_id, e.step_id, e.edge, e.kind, e.peer_job_id, e.peer_step_id, e."condition", e.topo, e.peer_topo, e.gates,
		e.state, e.resolved_at, e.line
	from unnest(p_edges) e;
	if exists (select from unnest(p_edges) e where e.kind = 'same_nodes' or e."condition" = 'corr') then
		perform internal.submit_check_peers(p_job, p_script);
	end if;
	-- These calls refuse no job, so a dry run skips them.
	if p_try is null
		and exists (select from unnest(p_edges) e where e.peer_job_id <> p_job or e."condition" = 'corr') then
		perform internal.submit_bind(p_edges);
		perform internal.submit_resolve(p_job);
	end if;
end $$;
comment on function internal.submit_bonds(bigint, text, rota.step_edge[], bigint) is
	'Write the edges of a new job and resolve those whose peers have ended; p_try: not null if the job is only tried.';

create function internal.submit_check_peers(p_job bigint, p_script text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_bad record;
begin
	with bound as materialized (
		select * from step_edge e where e.job_id = p_job and (e.kind = 'same_nodes' or e."condition" = 'corr')
	)
	select e.line, case e.kind when 'same_nodes' then 'same-nodes' else 'after' end as option,
		case
			when e.kind = 'same_nodes'
			and pa.size is not null then format('"%s" is an array, which has no one set of nodes', p.name)
			when e.kind = 'same_nodes'
			then format('"%s" and "%s" use the same nodes with different images or preparations', r.name, p.name)
			when a.size is null or pa.size is null then format('"%s" and "%s" must both be arrays', r.name, p.name)
			else format('"%s" and "%s" have different indices', r.name, p.name) end as message
	into v_bad
	from bound e
	join step_request r on r.job_id = e.job_id and r.step_id = e.step_id
	left join step_request p on p.job_id = e.peer_job_id and p.step_id = e.peer_step_id
	left join step_array a on a.job_id = e.job_id and a.step_id = e.step_id
	left join step_array pa on pa.job_id = e.peer_job_id and pa.step_id = e.peer_step_id
	where (e.kind = 'same_nodes' and (pa.size is not null
		or (p.step_id is not null and (r.image, r.prep) is distinct from (p.image, p.prep))))
		or (e."condition" = 'corr' and (a.indices is distinct from pa.indices or a.size is null))
	order by e.step_id
	limit 1;
	if found then
		perform internal.submit_refuse(p_script, v_bad.line, v_bad.option, v_bad.message, null);
	end if;
end $$;
comment on function internal.submit_check_peers(bigint, text) is
	'Refuse peer constraints that cannot be met, as only the stored rows show.';

-- The leader caches what it has read of a step until its row changes. The share lock of the peer's job keeps all other sessions
-- from this row.
create function internal.submit_bind(p_edges rota.step_edge[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	with peer as materialized (
		select s.job_id, s.step_id
		from (select distinct e.peer_job_id, e.peer_step_id from unnest(p_edges) e
			where e.kind in ('same_nodes', 'other_nodes') and e.peer_job_id <> e.job_id) p
		join step s on s.job_id = p.peer_job_id and s.request_id = p.peer_step_id and s.ended_at is null
			and (s.state = 'pending' or s.is_array)
		order by s.job_id, s.step_id
		for no key update of s
	)
	update step s set held = s.held from peer p where s.job_id = p.job_id and s.step_id = p.step_id;
end $$;
comment on function internal.submit_bind(rota.step_edge[]) is
	'Have the leader read again those steps of other jobs that a new job binds to its own by --same-nodes or --other-nodes: '
	'they may run again.';

create function internal.submit_resolve(p_job bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_due jsonb;
begin
	select jsonb_agg(jsonb_build_object('job_id', e.job_id, 'step_id', e.step_id, 'edge', e.edge, 'peer_state', p.state,
		'state', v.state))
	into v_due
	from step_edge e
	cross join lateral (
		select case when s.ended_at is not null then s.state end as state, s.cause, s.started_at is not null as started,
			-- As in internal.step_resolve_end.
			s.ordered_at is not null or s.started_at is not null as placed
		from step s where s.job_id = e.peer_job_id and s.step_id = e.peer_step_id
		union all
		select j.state, j.cause, exists (select from step s where s.job_id = j.job_id and s.started_at is not null),
			j.started_at is not null
		from job j where j.job_id = e.peer_job_id and e.peer_step_id = -1
	) p
	cross join lateral (select internal.edge_verdict(e.kind, e."condition", p.state, p.cause, p.started, p.placed) as state) v
	where e.job_id = p_job and e.state = 'waiting' and e."condition" <> 'corr' and v.state is not null
		and (e."condition" <> 'teardown' or internal.staging_is_over(e.peer_job_id));
	perform internal.step_move('schedule', array(select m::internal.move from internal.edge_resolve(v_due) m));
	perform internal.step_move('schedule',
		array(select m::internal.move
		from internal.array_correspond(array[(p_job, null, null, null, null, null, null, null,
		null)::internal.move_made]) m));
end $$;
comment on function internal.submit_resolve(bigint) is
	'Resolve the edges of a new job, or of one that runs again, by the states of their peers.';
