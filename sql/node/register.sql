create function internal.node_state_set(p_node int, p_state text, p_actor text, p_reason text) returns boolean
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_node node;
	v_from text;
	v_to text;
begin
	select * into v_node from node n where n.node_id = p_node for no key update;
	if v_node.state = p_state and (p_state in ('up', 'unknown') or v_node.reason is not distinct from p_reason) then
		return false;
	end if;
	v_from := internal.node_shown(v_node.state, v_node.power);
	v_to := internal.node_shown(p_state, v_node.power);
	update node
	set state = p_state, reason = case when p_state <> 'up' then p_reason end,
		reason_by = case when p_state <> 'up' then p_actor end,
		reason_at = case when p_state <> 'up' then now() end
	where node_id = p_node;
	insert into node_event (node_id, node, from_state, to_state, actor, reason)
		values (p_node, v_node.name, v_from, v_to, p_actor, p_reason);
	perform internal.trigger_node(v_node.name, v_from, v_to, p_reason);
	perform internal.node_announce(array[p_node]);
	notify rota_schedule;
	notify rota_event;
	return true;
end $$;
comment on function internal.node_state_set(int, text, text, text) is
	'Change a node''s state and log the change. Returns whether anything changed.';

create function internal.node_shortfall(p_node int) returns text
language sql stable set search_path = live, rota, pg_temp as $$
	select nullif(concat_ws('; ',
		case
			when (n.found ->> 'cpus')::int < n.cpus
			then format('%s found, %s prescribed', internal.text_count((n.found ->> 'cpus')::int, 'CPU'), n.cpus) end,
		case
			when (n.found ->> 'mem_mb')::bigint < n.mem_mb
			then format('%s MiB of memory found, %s prescribed', n.found ->> 'mem_mb', n.mem_mb) end,
		(select string_agg(format('%s %s found, %s prescribed', coalesce(n.found -> 'gres' ->> g.gres, '0'), g.gres, g.n),
			'; ')
			from (select u.gres, count(*) as n from node_gres u where u.node_id = n.node_id group by u.gres) g
			where n.found -> 'gres' ? g.gres and (n.found -> 'gres' ->> g.gres)::int < g.n)), '')
	from node n
	where n.node_id = p_node and n.hardware_check;
$$;
comment on function internal.node_shortfall(int) is
	'Resources of which a node has less than configured, as text; null: none, or the node has hardware_check off.';

-- A node that comes back proves what still runs on it: it sends the names of the attempts in its spool folder, and of those about
-- which its journal has unreported records.
create function internal.node_inventory(p_facts jsonb)
returns table (node_id int, rebooted boolean, attempts jsonb, reported jsonb, orphans int)
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select n.node_id, n.boot_id is distinct from f.boot_id and n.boot_id is not null, f.attempts, coalesce(f.reported, '[]'),
		-- Number of attempts that the node has although the database has ended them or does not have them.
		(select count(*)::int from jsonb_array_elements_text(f.attempts) x (name)
			where not exists (select from allocation a
				where a.job_id = split_part(x.name, '.', 1)::bigint
				and a.step_id = split_part(x.name, '.', 2)::int
				and a.attempt = split_part(x.name, '.', 3)::int and a.node_id = n.node_id and a.gone_at is null))
	from jsonb_to_recordset(p_facts -> 'nodes') as f (name text, boot_id text, attempts jsonb, reported jsonb)
	join node n on n.name = f.name;
end $$;
comment on function internal.node_inventory(jsonb) is
	'Compares the attempts that nodes report at registration with those that the database has for them, one row for each '
	'node.';

create function internal.given_again_from(p_node int) returns timestamptz
language sql stable set search_path = live, rota, pg_temp as $$
	-- After a promotion, an incarnation begins before any step is started. A restored copy may have started steps before a node
	-- showed that it is one.
	select case when i.reason like 'a node has seen%' then least(pg_postmaster_start_time(), i.began_at) else i.began_at end
	from (select x.reason, x.began_at from incarnation x where x.incarnation > 1 order by x.incarnation desc limit 1) i
	join node_lease l on l.node_id = p_node and l.renewed_at < i.began_at;
$$;
comment on function internal.given_again_from(int) is
	'The time since when this database may have given numbers of attempts that the node knows from another server. '
	'Null: the node has registered in this incarnation.';

create function internal.node_missing(p_facts jsonb)
	returns table (node_id int, job_id bigint, step_id int, attempt int, message text)
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	-- After another boot: all attempts from before, even if the journal of that boot did not report their end. In the same
	-- boot: attempts that are neither in the spool nor in the journal nor on their way to the node. Prolog owners of a group,
	-- which hold no resources any more, are included.
	return query
	select a.node_id, a.job_id, a.step_id, a.attempt,
		case when p.rebooted then 'the node was rebooted' else 'the node has nothing of it any more' end
	from internal.node_inventory(p_facts) p
	join allocation a on a.node_id = p.node_id and a.attempt > 0
		and (a.ended_at is null or (a.prolog_owner and a.gone_at is null))
	cross join lateral (select a.job_id || '.' || a.step_id || '.' || a.attempt as name) k
	where p.rebooted or (p.attempts is not null and not p.attempts ? k.name and not p.reported ? k.name
		-- The launch request of an array is open while an element of it has not ended.
		and not (a.phase = 'ordered' and exists (select from node_order o
			where o.node_id = a.node_id and o.kind = 'launch' and o.job_id = a.job_id
				and a.step_id = any (o.step_id || o.also) and o.attempt = a.attempt)))
		-- The node has an attempt of this number that another server had given.
		or (a.phase = 'ordered' and (p.attempts || p.reported) ? k.name
			and (select t.ordered_at from attempt t
				where t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt)
				>= internal.given_again_from(a.node_id));
end $$;
comment on function internal.node_missing(jsonb) is 'Attempts that nodes should have and have not.';

create function internal.node_reclaim(p_facts jsonb, p_nodes int[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_jobs bigint[];
	v_one record;
begin
	-- If neither side has attempts, as for most nodes of a cluster that starts: in a new session, planning the rest takes
	-- longer than all other work of a registration.
	if not exists (select from allocation a where a.node_id = any (p_nodes) and a.attempt > 0
			and (a.ended_at is null or (a.prolog_owner and a.gone_at is null)))
		and not jsonb_path_exists(p_facts, '$.nodes[*].attempts[*]')
		and not jsonb_path_exists(p_facts, '$.nodes[*].reported[*]') then
		perform internal.node_lock(p_nodes);
		return;
	end if;
	v_jobs := array(select distinct m.job_id from internal.node_missing(p_facts) m);
	perform internal.job_lock(v_jobs);
	perform internal.node_lock(array(
		select unnest(p_nodes)
		union
		select x from internal.node_missing(p_facts) m
			join attempt t on t.job_id = m.job_id and t.step_id = m.step_id and t.attempt = m.attempt,
			unnest(t.node_ids) x));
	-- Read the state again under the locks. An attempt that has begun since the inventory is missing in it, and is well, unless
	-- the inventory has an earlier attempt of this number. The job of such an attempt is not locked here.
	if exists (select from internal.node_missing(p_facts) m join internal.node_inventory(p_facts) p on p.node_id = m.node_id
			where m.job_id <> all (v_jobs)
				and (p.attempts || p.reported) ? (m.job_id || '.' || m.step_id || '.' || m.attempt)) then
		raise exception 'the number of an attempt that the node has was given to another attempt meanwhile'
			using errcode = '40001', hint = 'Register again.';
	end if;
	for v_one in
		select m.message, jsonb_agg(to_jsonb(m) - 'message') as lost from internal.node_missing(p_facts) m
			where m.job_id = any (v_jobs) group by m.message
	loop
		perform internal.attempt_lost(v_one.lost, v_one.message, 'node');
		perform internal.prolog_owner_lost(v_one.lost);
	end loop;
	-- Attempts that nodes have, although the database has ended them or does not have them, are killed there.
	perform internal.order_put((
		select jsonb_agg(jsonb_build_object('node_id', p.node_id, 'kind', 'kill', 'job_id', k.job_id, 'step_id',
			k.step_id, 'attempt', k.attempt,
			'args', jsonb_build_object('cause', 'node_lost')))
		from internal.node_inventory(p_facts) p
		cross join lateral jsonb_array_elements_text(p.attempts) x (name)
		cross join lateral (select split_part(x.name, '.', 1)::bigint as job_id,
			split_part(x.name, '.', 2)::int as step_id, split_part(x.name, '.', 3)::int as attempt) k
		where p.orphans > 0
			and not exists (select from allocation a
				where a.job_id = k.job_id and a.step_id = k.step_id and a.attempt = k.attempt
				and a.node_id = p.node_id and a.gone_at is null)
			and not exists (select from node_order o
				where o.node_id = p.node_id and o.kind = 'kill' and o.job_id = k.job_id
				and o.step_id = k.step_id and o.attempt = k.attempt)));
end $$;
comment on function internal.node_reclaim(jsonb, int[]) is
	'End the attempts that registering nodes have lost, and order them to kill those that they should not have. Locks '
	'jobs, then nodes. 40001: an attempt of a job that is not locked is to end too.';

create function internal.node_flaps(p_node int) returns text
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_most int := internal.setting_int('flap_count');
	v_times text[];
begin
	-- Only losses since the last drain count, because an administrator who resumed the node has dealt with earlier ones.
	v_times := array(
		select to_char(e.at, 'YYYY-MM-DD HH24:MI:SS')
		from node_event e
		where e.node_id = p_node and e.to_state = 'down' and e.from_state <> 'down'
			and e.at > now() - make_interval(secs => internal.setting_int('flap_window_s'))
			and e.node_event_id > coalesce((select max(d.node_event_id) from node_event d
				where d.node_id = p_node and d.to_state = 'drain'), 0)
		order by e.node_event_id);
	return case when v_most > 0 and cardinality(v_times) >= v_most
		then format('went down %s times: %s', cardinality(v_times), array_to_string(v_times, ', ')) end;
end $$;
comment on function internal.node_flaps(int) is
	'Returns the reason why a node that was lost several times is to be drained; null: it is not to be drained.';

create function internal.node_admit(p_node rota.node, p_rebooted boolean, p_orphans int) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_actor constant text := 'node:' || p_node.name;
	v_short text;
	v_flaps text;
begin
	if p_rebooted and p_node.state = 'up' then
		perform internal.node_state_set(p_node.node_id, 'down', v_actor, 'rebooted');
	end if;
	v_short := internal.node_shortfall(p_node.node_id);
	v_flaps := internal.node_flaps(p_node.node_id);
	if p_orphans > 0 then
		perform internal.node_state_set(p_node.node_id, 'down', v_actor,
			format('orphaned attempts are being killed: %s left', p_orphans));
	elsif v_short is not null then
		perform internal.node_state_set(p_node.node_id, 'invalid', v_actor, v_short);
	elsif v_flaps is not null then
		perform internal.node_state_set(p_node.node_id, 'drain', v_actor, v_flaps);
	else
		perform internal.node_state_set(p_node.node_id, 'up', v_actor, case when p_rebooted then 'rebooted' end);
	end if;
end $$;
comment on function internal.node_admit(rota.node, boolean, int) is
	'Set the state of a node that registers, unless it is drained, by its boot, the number of orphaned attempts on it, its '
	'hardware, and how often it was lost.';

create function internal.node_resume(p_node rota.node, p_actor text, p_reason text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_short constant text := internal.node_shortfall(p_node.node_id);
	v_lease node_lease;
begin
	-- A node that is down comes back by itself when it has shown that no attempt is left on it.
	select * into v_lease from node_lease l where l.node_id = p_node.node_id;
	perform internal.node_state_set(p_node.node_id, case
		when p_node.found is null then 'unknown'
		when p_node.power <> 'on' then 'up'
		when v_lease.node_id is null or v_lease.lost_at is not null or v_lease.orphans > 0 then 'down'
		when v_short is not null then 'invalid'
		else 'up' end, p_actor,
		case when p_node.power <> 'on' then p_reason
		when v_lease.orphans > 0 then 'orphaned attempts are being killed'
		when v_lease.node_id is null or v_lease.lost_at is not null then 'no lease'
		else coalesce(v_short, p_reason) end);
end $$;
comment on function internal.node_resume(rota.node, text, text) is
	'Set the state of a node that is drained or invalid by its lease and hardware; p_reason: the reason to log if the new '
	'state is up. The caller has locked the node.';

create function internal.lease_begin(p_facts jsonb, p_unexpected jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	insert into node_lease as l (node_id, renewed_at, expires_at, lease_s, margin_s, orphans, notify_node_id)
	select n.node_id, now(), now() + make_interval(secs => coalesce(f.lease_s, 30)), coalesce(f.lease_s, 30),
		coalesce(f.margin_s, 60),
		coalesce((p_unexpected -> n.node_id::text ->> 'orphans')::int, 0), min(n.node_id) over ()
	from jsonb_to_recordset(p_facts -> 'nodes') as f (name text, lease_s int, margin_s int)
	join node n on n.name = f.name
	order by n.node_id
	on conflict (node_id) do update
	set renewed_at = excluded.renewed_at, expires_at = excluded.expires_at, lease_s = excluded.lease_s,
		margin_s = excluded.margin_s,
		orphans = excluded.orphans, notify_node_id = excluded.notify_node_id, lost_at = null, loss_ended_at = null,
		inventory_wanted = false;
end $$;
comment on function internal.lease_begin(jsonb, jsonb) is
	'Give leases to the nodes that register; p_unexpected: {node_id: {orphans}}, the number of orphaned attempts on a node.';

create function internal.report_deferred_drop(p_facts jsonb) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	-- The node repeats reports that were deferred on a lost connection and not applied. On this connection, the node still
	-- waits for the answer.
	delete from report_deferred o
	where o.deferred_id in (
		select l.deferred_id
		from jsonb_to_recordset(p_facts -> 'nodes') as f (name text)
		join node n on n.name = f.name
		join report_deferred l on l.node_id = n.node_id
			and l.reported_at < (select x.backend_start from pg_stat_get_activity(pg_backend_pid()) x)
		for update of l skip locked);
end $$;
comment on function internal.report_deferred_drop(jsonb) is
	'Delete the deferred reports of registering nodes, which the nodes repeat.';

create function api.node_register(p_facts jsonb) returns table (node_id int, name text, lease_s int, orphans int,
	server_us bigint)
language plpgsql security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
declare
	v_one record;
	v_unexpected jsonb;
	v_woken int[];
	v_nodes constant int[] := array(select n.node_id from jsonb_to_recordset(p_facts -> 'nodes') as f (name text)
		join node n on n.name = f.name);
begin
	perform internal.node_need(v_nodes);
	perform internal.node_reclaim(p_facts, v_nodes);
	perform internal.node_move(v_nodes);
	v_woken := internal.power_registered(v_nodes);
	-- A node that was powered on has booted, as expected.
	select coalesce(jsonb_object_agg(p.node_id, jsonb_build_object('rebooted', p.rebooted, 'orphans', p.orphans)), '{}')
		into v_unexpected
	from internal.node_inventory(p_facts) p
	where (p.rebooted and p.node_id <> all (v_woken)) or p.orphans > 0;
	update node n
	set boot_id = f.boot_id, version = f.version, address = f.address, found = f.found, image = f.image,
		-- A boot may have undone the preparation of the node.
		prep_verified = n.prep is null or (n.prep_verified and n.boot_id is not distinct from f.boot_id)
	from jsonb_to_recordset(p_facts -> 'nodes')
		as f (name text, boot_id text, version text, address text, found jsonb, image text)
	where n.name = f.name
		and (n.boot_id, n.version, n.address, n.found, n.image)
			is distinct from (f.boot_id, f.version, f.address, f.found, f.image);
	perform internal.lease_begin(p_facts, v_unexpected);
	-- A node that was up, was not rebooted and has no orphaned attempts keeps its state without a check.
	for v_one in
		select n as node, coalesce((o.unexpected ->> 'rebooted')::boolean, false) as rebooted,
			coalesce((o.unexpected ->> 'orphans')::int, 0) as orphans
		from jsonb_to_recordset(p_facts -> 'nodes') as f (name text)
		join node n on n.name = f.name
		cross join lateral (select v_unexpected -> n.node_id::text as unexpected) o
		where n.state <> 'drain'
			and (n.state <> 'up' or o.unexpected is not null or internal.node_shortfall(n.node_id) is not null
				or internal.node_flaps(n.node_id) is not null)
		order by n.node_id
	loop
		perform internal.node_admit(v_one.node, v_one.rebooted, v_one.orphans);
	end loop;
	perform internal.report_deferred_drop(p_facts);
	return query
		select n.node_id, n.name, l.lease_s, l.orphans, internal.clock_us()
		from jsonb_to_recordset(p_facts -> 'nodes') as f (name text)
		join node n on n.name = f.name
		join node_lease l on l.node_id = n.node_id;
end $$;
comment on function api.node_register(jsonb) is
	'Register the nodes of a process manager, with the hardware that it found and the attempts that it has: {"nodes": '
	'[{name, boot_id, version, address, found, image, lease_s, margin_s, attempts: ["812.0.1"], reported: [...]}]}; '
	'reported: attempts of which only the node''s journal has records. Returns one row for each node that exists (none for '
	'an unknown name), with the number of its orphaned attempts. A node may run steps when it has none; until then, it has '
	'to register again when they have ended. server_us: as in api.node_report. 28000: the session does not speak for all of '
	'the nodes. 40001: the node has to register again.';
