-- Nodes on which a step that runs again cannot go on from its checkpoint.
--
-- Called by: api.schedule_pending, so that the step is not placed there, and internal.why_step.
-- Invariants:
-- - The needs of a driver script:NAME are compared by the attempt, apart from names of nodes: no node has registered such facts.
-- - The facts of nodes are those that their agents found when they registered (rota.node.found, member restart). A node without
--   such facts stays a candidate: the attempt finds out there.

create function internal.need_lacking(p_needs jsonb, p_has jsonb) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select case n.key when 'cpu' then 'a CPU with ' || (select string_agg(w, ' ' order by w)
			from unnest(string_to_array(n.value, ' ')) w
			where w <> all (string_to_array(coalesce(p_has ->> 'cpu', ''), ' ')))
		else n.key || ' ' || n.value end
	from jsonb_each_text(p_needs) n
	where case n.key when 'cpu' then not string_to_array(n.value, ' ') <@ string_to_array(coalesce(p_has ->> 'cpu', ''), ' ')
		else n.value is distinct from p_has ->> n.key end
	order by n.key in ('cpu', 'kernel'), n.key
	limit 1;
$$;
comment on function internal.need_lacking(jsonb, jsonb) is
	'The first need of a checkpoint (rota.checkpoint.needs) that a node with the facts p_has does not meet, as text; null: '
	'the node meets all needs.';

create function internal.checkpoint_unread(p_from rota.checkpoint) returns table (node text, message text)
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return query
	select distinct on (t.nodes[1]) t.nodes[1], s.unmet
	from checkpoint_start s
	join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt
	where s.job_id = p_from.job_id and s.step_id = p_from.step_id and s.generation = p_from.generation and s.unmet is not null
		and t.ended_at > now() - make_interval(secs => internal.setting_int('checkpoint_avoid_s'))
	order by t.nodes[1], s.attempt desc;
end $$;
comment on function internal.checkpoint_unread(rota.checkpoint) is
	'Nodes on which attempts could recently not go on from a checkpoint, and why: its files are not visible on the node, or '
	'its driver failed. The first node of an attempt is the one that reads the checkpoint.';

create function internal.checkpoint_memory(p_from rota.checkpoint, out needed_mb bigint, out asks boolean)
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_image_mb bigint;
begin
	if not exists (select from internal.checkpoint_driver d where d.prefix = p_from.driver and d.has_memory) then
		return;
	end if;
	v_image_mb := (p_from.bytes - coalesce((select f.bytes from checkpoint_file f
		where f.job_id = p_from.job_id and f.step_id = p_from.step_id and f.generation = p_from.generation
			and f.name = '.rota-tmpdir.tar'), 0)) / 1048576;
	select x.needed_mb, x.asked_mb > 0 into needed_mb, asks
	from step s
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	join partition p on p.partition = s.queue
	join allocation a on a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = p_from.attempt and a.node_index = 0
	left join node h on h.node_id = a.node_id
	-- An image may be larger than the memory that the program could have, as parts of it are shared: that much is enough.
	cross join lateral (select least(v_image_mb, coalesce(nullif(a.mem_mb, 0), h.mem_mb)) as needed_mb,
		case when r.exclusive then 0 else coalesce(r.mem_mb, coalesce(r.mem_per_cpu_mb, p.default_mem_per_cpu_mb)
			* greatest(r.cpus_per_task, a.cpus), 0) end as asked_mb) x
	-- A step that asks for enough gets enough wherever it is placed, so its nodes are not read.
	where s.job_id = p_from.job_id and s.step_id = p_from.step_id and x.asked_mb < x.needed_mb;
end $$;
comment on function internal.checkpoint_memory(rota.checkpoint) is
	'The memory that a checkpoint restores, if its step does not get as much on each node. asks: the step asks for an amount, '
	'which is less, so no node gives it enough; otherwise it gets all memory of its nodes. Null: the step gets enough.';

create function internal.node_kinds(p_queues text[]) returns table (queue text, has jsonb, mem_mb bigint, nodes text[])
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select p.partition, n.found -> 'restart', n.mem_mb::bigint, array_agg(n.name)
	from partition_node p
	join node n on n.node_id = p.node_id
	where p.partition = any (p_queues)
	group by p.partition, n.found -> 'restart', n.mem_mb;
end $$;
comment on function internal.node_kinds(text[]) is
	'The nodes of partitions by what checkpoints need of them: facts (null: the node has none) and memory. Nodes have few kinds '
	'of hardware and software.';

create function internal.nodes_remain(p_job bigint, p_step int, p_without text[]) returns boolean
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return (
		select count(*) >= min(r.nodes_min)
		from step s
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		join partition_node p on p.partition = s.queue
		join node n on n.node_id = p.node_id and n.state = 'up'
		where s.job_id = p_job and s.step_id = p_step and (r.nodelist = '{}' or n.name = any (r.nodelist))
			and n.name <> all (r.exclude) and n.name <> all (p_without));
end $$;
comment on function internal.nodes_remain(bigint, int, text[]) is
	'Whether a step still has enough nodes that are up, of those that it may run on, without p_without; null: no such node.';

create function internal.checkpoint_fixed(p_jobs bigint[], p_steps int[])
	returns table (job_id bigint, step_id int, latest rota.checkpoint, nodes text[], lacks text)
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	with latest as materialized (
		select o.job_id, o.step_id, s.queue, c.latest, case when c.driver not like 'script:%' then c.needs end as needs,
			case when c.driver like 'script:%' then string_to_array(c.needs ->> 'nodes', ',') end as bound, m.needed_mb, m.asks
		from unnest(p_jobs, p_steps) as o (job_id, step_id)
		join step s on s.job_id = o.job_id and s.step_id = o.step_id
		cross join lateral (select e::rota.checkpoint as latest, e.driver, e.needs
			from internal.checkpoint_eligible(o.job_id, o.step_id) e order by e.generation desc limit 1) c
		cross join lateral internal.checkpoint_memory(c.latest) m
	), kinds as materialized ( -- read once for all steps
		select k.* from internal.node_kinds(array(select distinct l.queue from latest l
			where l.needs is not null or l.bound is not null or l.needed_mb is not null)) k
	), asked as materialized ( -- steps have few needs
		select row_number() over () as nr, x.needs, x.queue
		from (select distinct l.needs, l.queue from latest l where l.needs is not null) x
	), matched as materialized (
		select a.nr, k.nodes, internal.need_lacking(a.needs, k.has) as lacks
		from asked a join kinds k on k.queue = a.queue and k.has is not null
	), lacking as materialized (
		select a.needs, a.queue, m.lacks, m.nodes
		from asked a
		join (select m.nr, m.lacks, array_agg(y.node) as nodes
			from matched m cross join lateral unnest(m.nodes) y (node)
			where m.lacks is not null
			group by m.nr, m.lacks) m on m.nr = a.nr
	), small as materialized ( -- for each amount of memory, the nodes that have no more
		select k.queue, k.mem_mb, array_agg(y.node) as nodes
		from (select distinct k.queue, k.mem_mb from kinds k where exists (select from latest l where l.needed_mb is not null)) k
		join kinds s on s.queue = k.queue and s.mem_mb <= k.mem_mb
		cross join lateral unnest(s.nodes) y (node)
		group by k.queue, k.mem_mb
	), found as materialized (
		select l.job_id, l.step_id, x.nodes, x.lacks
		from latest l join lacking x on x.needs = l.needs and x.queue = l.queue
		union all
		select l.job_id, l.step_id, x.nodes, format('%s MiB of memory', l.needed_mb)
		from latest l
		cross join lateral (select y.nodes from small y
			where y.queue = l.queue and (l.asks or y.mem_mb < l.needed_mb) order by y.mem_mb desc limit 1) x
		union all
		select l.job_id, l.step_id, x.nodes, 'nodes ' || array_to_string(l.bound, ',')
		from latest l
		cross join lateral (select array_agg(y.node) as nodes
			from kinds k cross join lateral unnest(k.nodes) y (node)
			where k.queue = l.queue and y.node <> all (l.bound)) x
		where l.bound is not null and x.nodes is not null
	)
	select l.job_id, l.step_id, l.latest, f.nodes, f.lacks
	from latest l left join found f on f.job_id = l.job_id and f.step_id = l.step_id;
end $$;
comment on function internal.checkpoint_fixed(bigint[], int[]) is
	'Steps with the checkpoint from which their next attempt starts, and the nodes of their partitions that lack what it needs: '
	'facts, memory, or a name to which a driver of the site is bound. One row for each need that is lacking; nodes null: none '
	'is.';

create function internal.checkpoint_misfits(p_jobs bigint[], p_steps int[])
	returns table (job_id bigint, step_id int, generation int, nodes text[], lacks text, found_out boolean)
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	with fixed as materialized (
		select f.job_id, f.step_id, f.latest, (f.latest).generation, f.nodes, f.lacks
		from internal.checkpoint_fixed(p_jobs, p_steps) f
	), unread as materialized (
		select l.job_id, l.step_id, (l.latest).generation, u.node, u.message, x.nodes as without
		from (select distinct on (f.job_id, f.step_id) f.* from fixed f order by f.job_id, f.step_id) l
		cross join lateral internal.checkpoint_unread(l.latest) u
		left join lateral (select array_agg(y.node) as nodes from fixed f cross join lateral unnest(f.nodes) y (node)
			where f.job_id = l.job_id and f.step_id = l.step_id) x on true
		where u.node <> all (coalesce(x.nodes, '{}'))
	)
	select f.job_id, f.step_id, f.generation, f.nodes, f.lacks, false from fixed f where f.nodes is not null
	union all
	select u.job_id, u.step_id, u.generation, array_agg(u.node order by u.node), u.message, true
	from unread u
	-- If too few other nodes are left, such nodes are tried again, until the step is put on hold.
	where internal.nodes_remain(u.job_id, u.step_id, coalesce(u.without, '{}')
		|| array(select y.node from unread y where y.job_id = u.job_id and y.step_id = u.step_id))
	group by u.job_id, u.step_id, u.generation, u.message;
end $$;
comment on function internal.checkpoint_misfits(bigint[], int[]) is
	'Nodes of their partitions on which steps cannot go on from the checkpoint (generation) from which their next attempt '
	'starts, and what these nodes lack. found_out: an attempt on the node found that out.';

create function internal.why_misfits(p_job bigint, p_step int) returns setof jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	select internal.why_row('checkpoint', format(case
		when m.found_out then 'not tried again on %2$s for a while: checkpoint %1$s: %3$s'
		else 'checkpoint %s cannot go on on %s: it needs %s' end, m.generation,
		(select string_agg(y.node, ',' order by y.node) from unnest(m.nodes) y (node)), m.lacks),
		null, null)
	from internal.checkpoint_misfits(array[p_job], array[p_step]) m;
end $$;
comment on function internal.why_misfits(bigint, int) is
	'The nodes on which a waiting step cannot go on from its checkpoint, one JSON object each.';
