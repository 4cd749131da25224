create function api.node_state_set(p_node int, p_state text, p_actor text, p_reason text) returns boolean
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_from text;
	v_name text;
begin
	select n.state, n.name into v_from, v_name from node n where n.node_id = p_node for no key update;
	if v_from = p_state and p_state <> 'drain' then
		return false;
	end if;
	update node
	set state = p_state, reason = case when p_state <> 'up' then p_reason end, reason_by = case when p_state <> 'up' then p_actor end,
		reason_at = case when p_state <> 'up' then now() end
	where node_id = p_node;
	insert into node_event (node_id, node, from_state, to_state, actor, reason) values (p_node, v_name, v_from, p_state, p_actor, p_reason);
	notify rota_schedule;
	notify rota_event;
	return true;
end $$;
comment on function api.node_state_set(int, text, text, text) is 'Change a node''s state and log it; whether anything changed. Internal.';

create function api.node_shortfall(p_node int) returns text
language sql stable set search_path = rota, pg_temp as $$
	select nullif(concat_ws('; ',
		case when (n.found ->> 'cpus')::int < n.cpus then format('%s cpus found, %s prescribed', n.found ->> 'cpus', n.cpus) end,
		case when (n.found ->> 'mem_mb')::bigint < n.mem_mb then format('%s MiB of memory found, %s prescribed', n.found ->> 'mem_mb', n.mem_mb) end,
		(select string_agg(format('%s %s found, %s prescribed', coalesce(n.found -> 'gres' ->> g.gres, '0'), g.gres, g.n), '; ')
			from (select u.gres, count(*) as n from node_gres u where u.node_id = n.node_id group by u.gres) g
			where n.found -> 'gres' ? g.gres and (n.found -> 'gres' ->> g.gres)::int < g.n)), '')
	from node n
	where n.node_id = p_node and n.hardware_check;
$$;
comment on function api.node_shortfall(int) is 'What a node has less of than prescribed, in words; null: nothing, or not to be checked. Internal.';

create function api.node_register(p_facts jsonb) returns table (node_id int, name text, lease_s int)
language plpgsql security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	v_one record;
	v_short text;
begin
	-- Another boot: what ran there before is gone, whatever the journal of that boot could not say. First, as jobs are locked
	-- before nodes.
	perform api.node_lost(array(
		select n.node_id
		from jsonb_to_recordset(p_facts -> 'nodes') as f (name text, boot_id text)
		join node n on n.name = f.name and n.boot_id <> f.boot_id), 'the node was rebooted');
	for v_one in
		select n.node_id, n.name, n.state, f.boot_id, f.version, f.address, f.found, f.lease_s
		from jsonb_to_recordset(p_facts -> 'nodes') as f (name text, boot_id text, version text, address text, found jsonb, lease_s int)
		join node n on n.name = f.name
		order by n.node_id
	loop
		update node n
		set boot_id = v_one.boot_id, version = v_one.version, address = v_one.address, found = v_one.found
		where n.node_id = v_one.node_id;
		insert into node_lease (node_id, renewed_at, expires_at)
		values (v_one.node_id, now(), now() + make_interval(secs => coalesce(v_one.lease_s, 30)))
		on conflict (node_id) do update set renewed_at = excluded.renewed_at, expires_at = excluded.expires_at;
		v_short := api.node_shortfall(v_one.node_id);
		if v_short is not null and v_one.state <> 'drain' then
			perform api.node_state_set(v_one.node_id, 'invalid', 'node:' || v_one.name, v_short);
		elsif v_short is null and v_one.state in ('unknown', 'down', 'invalid') then
			perform api.node_state_set(v_one.node_id, 'up', 'node:' || v_one.name, null);
		end if;
	end loop;
	return query
		select n.node_id, n.name, coalesce(f.lease_s, 30)
		from jsonb_to_recordset(p_facts -> 'nodes') as f (name text, lease_s int)
		join node n on n.name = f.name;
end $$;
comment on function api.node_register(jsonb) is
	'A process manager says which nodes it serves and what it found: {"nodes": [{name, boot_id, version, address, found, lease_s}]}. Answers the nodes known; a name without a row is not one.';

create function api.node_renew(p_nodes int[]) returns table (node_id int)
language sql security definer set search_path = rota, pg_temp as $$
	update node_lease l
	set renewed_at = now(), expires_at = now() + (l.expires_at - l.renewed_at)
	where l.node_id = any (p_nodes)
	returning l.node_id;
$$;
comment on function api.node_renew(int[]) is 'Renew the leases of nodes; answers those that have one.';

create function api.node_lost(p_nodes int[], p_reason text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_lost jsonb;
begin
	select jsonb_agg(distinct jsonb_build_object('job_id', a.job_id, 'step_id', a.step_id, 'attempt', a.attempt))
	into v_lost
	from allocation a
	where a.node_id = any (p_nodes) and a.ended_at is null and a.attempt > 0;
	if v_lost is not null then
		perform api.job_lock(array(select distinct (v ->> 'job_id')::bigint from jsonb_array_elements(v_lost) v));
		perform api.attempt_end_forced(v_lost, 'node_fail', 'node', p_reason, 'nodemgr');
	end if;
	-- Nothing is kept there for followers, and groups have no holder there any more.
	perform api.allocation_free((
		select jsonb_agg(jsonb_build_object('job_id', a.job_id, 'step_id', a.step_id, 'attempt', 0, 'node_id', a.node_id))
		from allocation a
		where a.node_id = any (p_nodes) and a.ended_at is null and a.attempt = 0));
	update allocation a
	set gone_at = now(), phase = 'ended'
	where a.node_id = any (p_nodes) and a.holder and a.gone_at is null and a.ended_at is not null;
end $$;
comment on function api.node_lost(int[], text) is 'End the attempts that lost nodes had, for the reason given. Internal.';

create function api.node_judge() returns table (node text, from_state text, to_state text, reason text)
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_lost int[];
	v_one record;
	v_reason text;
begin
	-- Drained nodes can be lost too; they stay drained.
	v_lost := array(
		select n.node_id from node n join node_lease l on l.node_id = n.node_id
		where l.expires_at < now() and (n.state in ('up', 'invalid') or exists (select from allocation a
			where a.node_id = n.node_id and a.ended_at is null and a.attempt > 0)));
	if v_lost <> '{}' then
		perform api.node_lost(v_lost, 'the node was not heard of any more');
	end if;
	for v_one in
		select n.node_id, n.name, n.state, l.renewed_at
		from node n
		join node_lease l on l.node_id = n.node_id
		where n.node_id = any (v_lost) and n.state in ('up', 'invalid')
		order by n.node_id
	loop
		v_reason := 'not heard of since ' || to_char(v_one.renewed_at, 'YYYY-MM-DD HH24:MI:SS');
		if api.node_state_set(v_one.node_id, 'down', 'nodemgrd', v_reason) then
			return query select v_one.name, v_one.state, 'down'::text, v_reason;
		end if;
	end loop;
	-- Back: a renewed lease on a node that was given up only for its silence.
	for v_one in
		select n.node_id, n.name, n.state from node n join node_lease l on l.node_id = n.node_id
		where l.expires_at >= now() and n.state = 'down' and n.reason_by = 'nodemgrd'
		order by n.node_id
	loop
		if api.node_shortfall(v_one.node_id) is null and api.node_state_set(v_one.node_id, 'up', 'nodemgrd', null) then
			return query select v_one.name, v_one.state, 'up'::text, null::text;
		end if;
	end loop;
end $$;
comment on function api.node_judge() is 'Look at leases: lost nodes go down with what ran there, nodes heard of again come up. Answers what changed.';
