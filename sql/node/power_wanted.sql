-- Times at which nodes are needed: by the plan, and by steps with a begin time, which the plan does not have before that time.
--
-- Called by: sql/node/power.sql.
-- Invariants:
-- - The plan is read once, and steps with a begin time by their index, however many nodes there are.
-- - For each step with a begin time, as many idle nodes as it needs are chosen, those that are on first. Two steps do not share a
--   node.
-- - Only the scheduler knows which features nodes have, so a step with a constraint has only the nodes that it names.

create function internal.power_begins(p_within interval) returns table (node_id int, at timestamptz)
language sql stable set search_path = live, rota, pg_temp as $$
	with idle as materialized (
		select n.node_id, n.name, m.partition,
			row_number() over (partition by m.partition
				order by n.power <> 'on', n.power <> 'powering_on', n.weight, n.node_id) as nr
		from node n
		join partition_node m on m.node_id = n.node_id
		where n.state = 'up' and not internal.node_in_use(n.node_id)
	), coming as materialized (
		select q.partition, q.nodelist, q.exclude, q.nodes_min, s.begin_at,
			sum(q.nodes_min) over (partition by q.partition, q.nodelist = '{}'
				order by s.begin_at, s.job_id, s.step_id) - q.nodes_min as before
		from step s
		join step_request q on q.job_id = s.job_id and q.step_id = s.request_id and (q."constraint" = '' or q.nodelist <> '{}')
		where s.state = 'pending' and s.begin_at > now() and s.begin_at <= now() + p_within and s.held = ''
			and s.deps_waiting = 0
	)
	select i.node_id, min(c.begin_at)
	from coming c
	join idle i on i.partition = c.partition and i.name <> all (c.exclude)
		and case when c.nodelist = '{}' then i.nr > c.before and i.nr <= c.before + c.nodes_min else i.name = any (c.nodelist) end
	group by i.node_id;
$$;
comment on function internal.power_begins(interval) is
	'Idle nodes for the pending steps whose begin times are within p_within from now, one row each, with the begin time.';

create function internal.power_wanted(p_within interval) returns table (node_id int, at timestamptz)
language sql stable set search_path = rota, pg_temp as $$
	-- A step that waits until other nodes are powered on or changed starts on those nodes.
	select w.node_id, min(w.at)
	from (
		select x.node_id, case when p.reason in ('power', 'image', 'prep') then '-infinity' else p.expected_at end as at
		from plan p
		cross join lateral unnest(p.nodes) as x (node_id)
		union all
		select b.node_id, b.at from internal.power_begins(p_within) b
	) w
	where w.at is not null
	group by w.node_id;
$$;
comment on function internal.power_wanted(interval) is
	'Nodes that the plan, or steps with a begin time within p_within from now, need, one row each, with the first time at '
	'which they are needed; -infinity: now.';
