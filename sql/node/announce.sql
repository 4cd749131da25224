-- Orders `node`, which report changes of nodes to the attempts that have these nodes.
--
-- Called by: whatever changes the state of nodes, their notices, reservations or time limits; internal.attempt_lost; reports of
-- the end of tasks, and calls of step managers.
--
-- Invariants:
-- - An order carries the present state, so a repeated or late order does no harm: the keeper ignores a state that it has already.
-- - A node that an attempt has lost stays lost for the attempt. About a node that it gave back, the attempt gets only the report
--   that the node has left.

create function internal.node_outlook(p_node int, p_ends_at timestamptz) returns table (state text, reason text)
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	select case when n.state in ('drain', 'invalid') then 'drained' when w.message is not null then 'leaving' else 'up' end,
		coalesce(case when n.state in ('drain', 'invalid') then n.reason else w.message end, '')
	from node n
	left join lateral (
		select x.message from internal.node_warnings(array[p_node]) x
		where x.kind in ('failing', 'drain') or x.kind = 'maintenance' and x.starts_at < p_ends_at
		order by x.starts_at nulls first
		limit 1) w on true
	-- Do not report a node without a lease: it may be back before it is lost.
	where n.node_id = p_node and n.state in ('up', 'drain', 'invalid');
end $$;
comment on function internal.node_outlook(int, timestamptz) is
	'The state of a node for an attempt that may use it until p_ends_at: up, drained, or leaving (an outage is expected '
	'before then, or the node is failing); no row: nothing to report yet.';

create function internal.attempt_listeners(p_job bigint, p_step int, p_attempt int) returns int[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return array(
		select a.node_id
		from attempt t
		join step s on s.job_id = t.job_id and s.step_id = t.step_id
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		join allocation a on a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt and a.ended_at is null
			and a.lost_at is null
		where t.job_id = p_job and t.step_id = p_step and t.attempt = p_attempt
			and (a.node_id = t.node_ids[1] or internal.spec_field(r.spec, 'notify') is not null)
		order by a.node_index);
end $$;
comment on function internal.attempt_listeners(bigint, int, int) is
	'The nodes of a live attempt to which its orders `node` are sent: the first node, where its step manager runs, and with '
	'--notify all nodes.';

create function internal.node_announce(p_nodes int[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	perform internal.order_put((
		select jsonb_agg(jsonb_build_object('node_ids', l.node_ids, 'kind', 'node', 'job_id', a.job_id, 'step_id', a.step_id,
			'attempt', a.attempt, 'args', jsonb_build_object('name', n.name, 'state', o.state, 'reason', o.reason))
			order by a.job_id, a.step_id, a.node_id)
		from (select x.* from allocation x
			where x.node_id = any (p_nodes) and x.ended_at is null and x.cpus_held > 0 and x.attempt > 0
				and x.given_back_at is null offset 0) a -- by node
		join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt and t.outcome is null
		join node n on n.node_id = a.node_id
		cross join lateral internal.node_outlook(a.node_id, case when t.time_limit_s = 0 then 'infinity'
			else coalesce(t.started_at, t.ordered_at) + make_interval(secs => t.time_limit_s + t.suspended_s) end) o
		cross join lateral (select internal.attempt_listeners(a.job_id, a.step_id, a.attempt) as node_ids) l
		where l.node_ids <> '{}'));
end $$;
comment on function internal.node_announce(int[]) is
	'Send the live attempts on these nodes the state of the nodes, by orders `node`. Call this after each change of the '
	'nodes.';

create function internal.node_leave(p_attempts internal.attempt_key[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	-- If no attempt has sub-steps on several nodes, the table is empty.
	if not exists (select from step_agents) then
		return;
	end if;
	perform internal.order_put((
		select jsonb_agg(jsonb_build_object('node_id', h.node_id, 'kind', 'node', 'job_id', a.job_id, 'step_id', a.step_id,
			'attempt', a.attempt, 'args', jsonb_build_object('name', n.name, 'state', 'left', 'reason',
				case when a.given_back_at is null then 'its tasks have ended' else 'given back by rota shrink' end))
			order by a.job_id, a.step_id, a.attempt, a.node_id)
		from (select distinct p.job_id, p.step_id, p.attempt from unnest(p_attempts) p) k
		join step_agents g on g.job_id = k.job_id and g.step_id = k.step_id and g.attempt = k.attempt
		join attempt t on t.job_id = k.job_id and t.step_id = k.step_id and t.attempt = k.attempt
			and t.state is null and t.outcome is null
		join allocation h on h.job_id = k.job_id and h.step_id = k.step_id and h.attempt = k.attempt and h.node_id = t.node_ids[1]
			and h.phase not in ('done', 'ended') and h.ended_at is null
		join allocation a on a.job_id = k.job_id and a.step_id = k.step_id and a.attempt = k.attempt and a.node_id <> h.node_id
			and a.phase in ('done', 'ended') and (a.lost_at is null or a.given_back_at is not null)
		join node n on n.node_id = a.node_id
		having count(*) > 0));
end $$;
comment on function internal.node_leave(internal.attempt_key[]) is
	'Report to the first nodes of these attempts, if their step managers have called agents, which of the other nodes have '
	'left: because their tasks have ended (--run=tasks), or because they were given back. A step manager ignores repeated '
	'reports.';

create function internal.agents_note(p_attempts internal.attempt_key[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	insert into step_agents (job_id, step_id, attempt)
	select k.job_id, k.step_id, k.attempt from unnest(p_attempts) k
	on conflict do nothing;
	if not found then
		return;
	end if;
	delete from step_agents g
	where (g.job_id, g.step_id, g.attempt) in (
		select o.job_id, o.step_id, o.attempt from step_agents o
		where not exists (select from attempt t where t.job_id = o.job_id and t.step_id = o.step_id and t.attempt = o.attempt
			and t.state is null)
		order by o.job_id, o.step_id, o.attempt
		limit 1000 for update skip locked);
end $$;
comment on function internal.agents_note(internal.attempt_key[]) is
	'Record that the step managers of these running attempts have called agents. Deletes rows of attempts that have ended.';
