-- The constraints --same-nodes and --other-nodes between steps.
--
-- Invariants:
-- - An edge binds both of its ends, at every attempt: a step that runs again keeps to the nodes of its peers, or off them,
--   whether the peer runs or has ended.
-- - A step that waits is on no nodes.
-- - The edge of another user's job does not bind the step that it names, because it could keep that step from running again.

-- Peers may have ended long ago, so the few steps with peers read all ranges.
create function internal.peer_same(p_job bigint, p_step int) returns int[]
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return coalesce((
		-- A step with --same-nodes keeps to the nodes on which its peer ran last. If a set of such steps runs again, the
		-- scheduler places all of it together.
		select array_agg(a.node_id order by a.node_index)
		from step_edge e
		join step s on s.job_id = e.peer_job_id and s.step_id = e.peer_step_id and (e.gates or s.state <> 'pending')
		join allocation a on a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = s.attempt and a.attempt > 0
		where e.job_id = p_job and e.step_id = p_step and e.kind = 'same_nodes'
	), (
		-- One successor is enough: each ran on the same nodes.
		select t.node_ids
		from step_edge e
		join step s on s.job_id = e.job_id and s.request_id = e.step_id and s.state <> 'pending'
		join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt
		where e.peer_job_id = p_job and e.peer_step_id = p_step and e.kind = 'same_nodes'
		order by s.ended_at is not null, s.job_id, s.step_id
		limit 1
	));
end $$;
comment on function internal.peer_same(bigint, int) is
	'The nodes on which a step of a script must run because of --same-nodes, its own or that of other steps, in order; null: '
	'any nodes.';

create function internal.peer_other(p_job bigint, p_step int) returns int[]
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select array_agg(distinct n)
		from (
			select e.peer_job_id as job_id, e.peer_step_id as step_id from step_edge e
				where e.job_id = p_job and e.step_id = p_step and e.kind = 'other_nodes'
			union
			select e.job_id, e.step_id
			from step_edge e
			join job j on j.job_id = e.job_id
			where e.peer_job_id = p_job and e.peer_step_id = p_step and e.kind = 'other_nodes'
				and j.uid = (select o.uid from job o where o.job_id = p_job)
		) p
		join step s on s.job_id = p.job_id and s.request_id = p.step_id and s.state <> 'pending'
		join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt
		cross join lateral unnest(t.node_ids) n);
end $$;
comment on function internal.peer_other(bigint, int) is
	'The nodes on which a step of a script must not run because of --other-nodes, its own or that of other steps; null: '
	'none.';

-- The leader's snapshot may be one commit old, and it does not compare the steps of one cycle with each other: of two peers that
-- conflict, the first one starts. The row of the other one is updated, so that the leader reads it again.
create function internal.peer_reserve(p_decided internal.start_decision[]) returns internal.start_decision[]
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_one internal.start_decision;
	v_bound internal.start_decision[] := '{}';
	v_same int[];
	v_over jsonb := '{}';
begin
	foreach v_one in array p_decided loop
		continue when not coalesce(v_one.bound, false);
		v_same := internal.peer_same(v_one.job_id, v_one.request_id);
		if v_one.node_ids && internal.peer_other(v_one.job_id, v_one.request_id)
			or not (v_one.node_ids @> v_same and v_one.node_ids <@ v_same) or exists (
			select from (
				select e.peer_job_id as job_id, e.peer_step_id as step_id, e.kind
				from step_edge e
				where e.job_id = v_one.job_id and e.step_id = v_one.request_id and e.gates
				union all
				select e.job_id, e.step_id, e.kind
				from step_edge e
				where e.peer_job_id = v_one.job_id and e.peer_step_id = v_one.request_id and e.gates
			) p
			join unnest(v_bound) o on o.job_id = p.job_id and o.request_id = p.step_id
			where case p.kind when 'other_nodes' then o.node_ids && v_one.node_ids
				when 'same_nodes' then not (o.node_ids @> v_one.node_ids and o.node_ids <@ v_one.node_ids) end
		) then
			v_over := v_over || jsonb_build_object(v_one.job_id || '.' || v_one.step_id, null);
		else
			v_bound := v_bound || v_one;
		end if;
	end loop;
	if v_over = '{}' then
		return p_decided;
	end if;
	update step s
	set held = s.held
	from unnest(p_decided) v
	where v_over ? (v.job_id || '.' || v.step_id) and s.job_id = v.job_id and s.step_id = case
		when v.attempt = 1 then v.request_id else v.step_id end;
	notify rota_schedule;
	return array(select v::internal.start_decision from unnest(p_decided) v
		where not v_over ? (v.job_id || '.' || v.step_id));
end $$;
comment on function internal.peer_reserve(internal.start_decision[]) is
	'Of starts in order, those that --same-nodes and --other-nodes allow, given the steps that run, have run, and start '
	'before them. The caller holds the locks of jobs and the leader''s row.';
