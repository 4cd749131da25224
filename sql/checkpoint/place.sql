-- On which nodes a step that runs again cannot go on from its checkpoint.
--
-- Called by: api.schedule_pending, so that the step is not placed there, and internal.why_step.
-- Invariants:
-- - What nodes have is what their agents found when they registered (rota.node.found, member restart). A node that says nothing
--   of it is left in: the attempt finds out there.

create function internal.need_lacking(p_needs jsonb, p_has jsonb) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select case n.key when 'cpu' then 'a CPU with ' || (select string_agg(w, ' ' order by w)
			from unnest(string_to_array(n.value, ' ')) w
			where w <> all (string_to_array(coalesce(p_has ->> 'cpu', ''), ' ')))
		else n.key || ' ' || n.value end
	from jsonb_each_text(p_needs) n
	where case n.key when 'cpu' then not string_to_array(n.value, ' ') <@ string_to_array(coalesce(p_has ->> 'cpu', ''), ' ')
		else n.value is distinct from p_has ->> n.key end
	order by n.key <> 'dmtcp', n.key
	limit 1;
$$;
comment on function internal.need_lacking(jsonb, jsonb) is
	'The first need of a checkpoint (rota.checkpoint.needs) that a node with this does not meet, as text; null: it meets all.';

create function internal.checkpoint_unread(p_from rota.checkpoint) returns table (node text, message text)
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return query
	select distinct on (x.name) x.name, s.unmet
	from checkpoint_start s
	join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt
	cross join lateral unnest(t.nodes) x (name)
	where s.job_id = p_from.job_id and s.step_id = p_from.step_id and s.generation = p_from.generation and s.unmet is not null
		and t.ended_at > now() - make_interval(secs => internal.setting_int('checkpoint_avoid_s'))
	order by x.name, s.attempt desc;
end $$;
comment on function internal.checkpoint_unread(rota.checkpoint) is
	'Nodes on which attempts could lately not go on from a checkpoint, and why: it is not visible there, or its driver said so.';

create function internal.checkpoint_misfits(p_job bigint, p_step int)
	returns table (generation int, node text, lacks text, found_out boolean)
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
declare
	v_from rota.checkpoint;
	v_queue constant text := (select s.queue from step s where s.job_id = p_job and s.step_id = p_step);
begin
	select c.* into v_from from internal.checkpoint_eligible(p_job, p_step) c order by c.generation desc limit 1;
	if v_from.generation is null then
		return;
	end if;
	return query
	with fixed as (
		select n.name, internal.need_lacking(v_from.needs, n.found -> 'restart') as lacks
		from partition_node p
		join node n on n.node_id = p.node_id and n.found ? 'restart'
		where p.partition = v_queue and v_from.needs is not null
	), unread as (
		select u.node, u.message from internal.checkpoint_unread(v_from) u
		where not exists (select from fixed f where f.name = u.node and f.lacks is not null)
	)
	select v_from.generation, f.name, f.lacks, false from fixed f where f.lacks is not null
	union all
	-- Where no other node is left, these are tried again, until the step is held.
	select v_from.generation, u.node, u.message, true
	from unread u
	where exists (select from partition_node p
		join node n on n.node_id = p.node_id and n.state = 'up'
		where p.partition = v_queue and n.name not in (select x.node from unread x)
			and n.name not in (select f.name from fixed f where f.lacks is not null));
end $$;
comment on function internal.checkpoint_misfits(bigint, int) is
	'Nodes of its partition on which a step cannot go on from the checkpoint that its next attempt starts from (generation), and '
	'what they lack. found_out: an attempt found it out there.';

create function internal.why_misfits(p_job bigint, p_step int) returns setof jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	select internal.why_row('checkpoint', format(case
		when m.found_out then 'not tried again on %2$s for a while: checkpoint %1$s: %3$s'
		else 'checkpoint %s cannot go on on %s: it needs %s' end, m.generation, string_agg(m.node, ',' order by m.node), m.lacks),
		null, null)
	from internal.checkpoint_misfits(p_job, p_step) m
	group by m.generation, m.lacks, m.found_out;
end $$;
comment on function internal.why_misfits(bigint, int) is 'The nodes on which a step that waits cannot go on from its checkpoint.';
