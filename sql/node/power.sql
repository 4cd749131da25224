-- Power of nodes: which nodes are powered off and on, when, and what follows from a failure.
--
-- Called by: nodemgrd (api.power_judge), the leader (api.schedule_power), operators (api.power), power_run.sql, and the
-- registration of nodes.
--
-- Invariants:
-- - The power of a node changes under the lock of its row. The commit of a start holds it too (internal.node_lock), so a node
--   that is not on has no open allocation.
-- - A node is off when hooks.power_off has succeeded and its lease has run out, so the node no longer runs.
-- - A node has one open run of a program at most (power_run.sql).

create function internal.node_shown(p_state text, p_power text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select case when p_power = 'on' or p_state in ('down', 'drain', 'invalid') then p_state else p_power end;
$$;
comment on function internal.node_shown(text, text) is
	'The state of a node for users: its power if that is not on, unless the node''s own state keeps it from being used '
	'anyway.';

create function internal.power_set(p_node int, p_power text, p_actor text, p_reason text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_node node;
begin
	select * into v_node from node n where n.node_id = p_node;
	update node set power = p_power, power_at = clock_timestamp() where node_id = p_node;
	update node_off set on_at = clock_timestamp() where node_id = p_node and on_at is null;
	-- A node that could not be powered on is off, too. It gets no row here, since its consumption is not known.
	insert into node_off (node_id, node, off_at, idle_watts)
	select p_node, v_node.name, clock_timestamp(), v_node.idle_watts where p_power = 'off' and v_node.power = 'powering_off';
	insert into node_event (node_id, node, from_state, to_state, actor, reason)
	select p_node, v_node.name, x.from_state, x.to_state, p_actor, p_reason
	from (select internal.node_shown(v_node.state, v_node.power) as from_state,
		internal.node_shown(v_node.state, p_power) as to_state) x
	where x.from_state <> x.to_state;
	notify rota_schedule;
	notify rota_event;
end $$;
comment on function internal.power_set(int, text, text, text) is
	'Change the power of a node, and write a node event if the shown state changes. The caller has locked the node.';

create function internal.power_begin(p_node int, p_action text, p_actor text) returns boolean
language plpgsql set search_path = rota, pg_temp as $$
begin
	insert into power_run (node_id, node, action, made_by)
	select n.node_id, n.name, p_action, p_actor from node n where n.node_id = p_node
	on conflict (node_id) where ended_at is null do nothing;
	if not found then
		return false;
	end if;
	perform internal.power_set(p_node, 'powering_' || p_action, p_actor, null);
	notify rota_power;
	return true;
end $$;
comment on function internal.power_begin(int, text, text) is
	'Have a node powered off or on (p_action). Returns false if an earlier program still runs for the node. The caller has '
	'locked the node.';

create function internal.power_drop(p_node int, p_message text) returns boolean
language plpgsql set search_path = rota, pg_temp as $$
begin
	update power_run r
	set ended_at = clock_timestamp(), status = 'dropped', message = p_message
	where r.node_id = p_node and r.ended_at is null and r.began_at is null;
	return found;
end $$;
comment on function internal.power_drop(int, text) is
	'End the open run of a node, unless a runnerd has taken it. Returns whether the run was ended.';

create function internal.power_keep(p_node int, p_actor text) returns boolean
language plpgsql set search_path = rota, pg_temp as $$
begin
	-- A node without a lease is not kept: api.node_judge leaves it out while its power changes. It is powered off first.
	if not exists (select from node_lease l where l.node_id = p_node and l.lost_at is null)
		or not internal.power_drop(p_node, 'the node was needed again') then
		return false;
	end if;
	perform internal.power_set(p_node, 'on', p_actor, null);
	return true;
end $$;
comment on function internal.power_keep(int, text) is
	'Leave a node on that was to be powered off. Returns false if the program has begun, or the node is silent. The caller '
	'has locked the node.';

create function internal.power_fail(p_node int, p_actor text, p_reason text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	perform internal.node_state_set(n.node_id, 'down', p_actor, p_reason) from node n
	where n.node_id = p_node and n.state <> 'drain';
	perform internal.power_set(p_node, 'off', p_actor, p_reason);
end $$;
comment on function internal.power_fail(int, text, text) is
	'Record that a node could not be powered on: it is down until it registers or an operator resumes it. The caller has '
	'locked the node.';

create function internal.power_registered(p_nodes int[]) returns int[]
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_woken int[];
begin
	if not exists (select from node n where n.node_id = any (p_nodes) and n.power in ('off', 'powering_on')) then
		return '{}';
	end if;
	v_woken := array(
		select n.node_id from node n where n.node_id = any (p_nodes) and n.power in ('off', 'powering_on') order by n.node_id);
	perform internal.power_drop(n.node_id, 'the node has registered'),
		internal.power_set(n.node_id, 'on', 'node:' || n.name, null)
	from node n where n.node_id = any (v_woken);
	return v_woken;
end $$;
comment on function internal.power_registered(int[]) is
	'Handle the registration of nodes: those that were to be powered on, and those that were off and came by themselves, are '
	'on now. Returns the nodes whose power changed. The caller has locked the nodes.';

create function internal.node_in_use(p_node int) returns boolean
language sql stable set search_path = live, rota, pg_temp as $$
	select exists (select from allocation a
		where a.node_id = p_node and (a.ended_at is null or (a.prolog_owner and a.gone_at is null)));
$$;
comment on function internal.node_in_use(int) is
	'Whether an attempt holds resources of a node, or the epilog of a job group is still to run on it.';

create function internal.power_note_idle() returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	delete from node_idle i
	where not exists (select from node n
		where n.node_id = i.node_id and n.state = 'up' and n.power = 'on' and n.power_saving
			and not internal.node_in_use(n.node_id));
	insert into node_idle as i (node_id, used_version)
	select n.node_id, v.used_version
	from node n
	join node_used u on u.node_id = n.node_id
	cross join lateral (select concat_ws(' ', u.xmin, u.ctid) as used_version) v
	where n.state = 'up' and n.power = 'on' and n.power_saving and not internal.node_in_use(n.node_id)
		and not exists (select from node_idle o where o.node_id = n.node_id and o.used_version = v.used_version)
	order by n.node_id
	on conflict (node_id) do update set used_version = excluded.used_version, since = excluded.since;
end $$;
comment on function internal.power_note_idle() is 'Record which nodes are idle, and since when.';

create function internal.power_boot_s(p_node int) returns int
language sql stable set search_path = rota, pg_temp as $$
	select coalesce(max(ceil(extract(epoch from e.at - b.at)))::int, internal.setting_int('power_on_timeout_s'))
	from (
		select o.at from node_event o
		where o.node_id = p_node and o.from_state = 'powering_on' and o.to_state = 'up'
		order by o.at desc
		limit 3
	) e
	cross join lateral (
		select max(o.at) as at from node_event o
		where o.node_id = p_node and o.to_state = 'powering_on' and o.at < e.at
	) b;
$$;
comment on function internal.power_boot_s(int) is
	'Seconds from the order to power a node on until it is up: the longest of its last three power-ons, or the longest '
	'time allowed if there was none.';

create function internal.power_ahead() returns int[]
language sql volatile set search_path = rota, pg_temp as $$
	with off as materialized (
		select n.node_id, internal.power_boot_s(n.node_id) as boot_s
		from node n
		where n.state = 'up' and n.power in ('off', 'powering_off')
	)
	select coalesce(array_agg(o.node_id), '{}')
	from off o
	join internal.power_wanted((select make_interval(secs => max(x.boot_s)) from off x)) w on w.node_id = o.node_id
		and w.at < clock_timestamp() + make_interval(secs => o.boot_s);
$$;
comment on function internal.power_ahead() is
	'Nodes that are not on, and that have to be powered on now to be up when steps are expected to start on them.';

create function internal.power_idle(p_idle_s int) returns int[]
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_idle constant int[] := array(select i.node_id from node_idle i);
	v_chosen int[] := '{}';
	v_node int;
begin
	for v_node in
		with idle as materialized (
			select i.node_id, i.since, p_idle_s + internal.power_boot_s(i.node_id) as away_s
			from node_idle i
			join node_lease l on l.node_id = i.node_id and l.lost_at is null
			where i.since < clock_timestamp() - make_interval(secs => p_idle_s)
		)
		select i.node_id
		from idle i
		-- A node that is needed soon has no time to be off.
		left join internal.power_wanted((select make_interval(secs => max(x.away_s)) from idle x)) w on w.node_id = i.node_id
			and w.at < clock_timestamp() + make_interval(secs => i.away_s)
		where w.node_id is null
		order by i.since, i.node_id
	loop
		continue when exists (
			select from partition_node m
			join partition p on p.partition = m.partition and p.keep_idle > 0
			where m.node_id = v_node and p.keep_idle > (select count(*) from partition_node o
				where o.partition = p.partition and o.node_id = any (v_idle) and o.node_id <> v_node
					and o.node_id <> all (v_chosen)));
		v_chosen := v_chosen || v_node;
	end loop;
	return v_chosen;
end $$;
comment on function internal.power_idle(int) is
	'Nodes that have been idle for p_idle_s seconds, that no partition keeps on, and that the plan does not need soon; the '
	'longest idle ones first.';

create function internal.power_verdict(p_node rota.node) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_run power_run;
begin
	if p_node.power = 'powering_on' then
		return case when p_node.power_at < clock_timestamp() - make_interval(secs => internal.setting_int('power_on_timeout_s'))
			then 'failed' end;
	elsif p_node.power <> 'powering_off' then
		return null;
	end if;
	select * into v_run from power_run r where r.node_id = p_node.node_id order by r.run_id desc limit 1;
	return case when v_run.ended_at is null then null
		when not exists (select from node_lease l where l.node_id = p_node.node_id and l.lost_at is null) then 'off'
		when v_run.ended_at < clock_timestamp() - make_interval(secs => internal.setting_int('power_off_timeout_s'))
			then 'on' end;
end $$;
comment on function internal.power_verdict(rota.node) is
	'Time-driven result for a node whose power is changing. off: the node is silent; on: it did not go silent in time; '
	'failed: it did not come up in time; null: none yet.';

create function internal.power_settle(p_node rota.node) returns text
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_verdict constant text := internal.power_verdict(p_node);
	v_reason text;
begin
	if v_verdict = 'failed' then
		v_reason := format('did not register within %s s of being powered on%s', internal.setting_int('power_on_timeout_s'),
			case when internal.power_drop(p_node.node_id, 'no runnerd has run it in time')
				then ': no runnerd ran hooks.power_on' else '' end);
		perform internal.power_fail(p_node.node_id, 'nodemgrd', v_reason);
	elsif v_verdict is not null then
		v_reason := case when v_verdict = 'on' then format('still renews its lease %s s after hooks.power_off succeeded',
			internal.setting_int('power_off_timeout_s')) end;
		perform internal.power_set(p_node.node_id, v_verdict, 'nodemgrd', v_reason);
	end if;
	return v_reason;
end $$;
comment on function internal.power_settle(rota.node) is
	'Apply the time-driven result of a node whose power is changing (internal.power_verdict). Returns why the change failed, '
	'or null. The caller has locked the node.';

create function internal.power_wake(p_node rota.node) returns boolean
language plpgsql set search_path = rota, pg_temp as $$
begin
	return case when p_node.power = 'off' then internal.power_begin(p_node.node_id, 'on', 'schedule')
		else internal.power_keep(p_node.node_id, 'schedule') end;
end $$;
comment on function internal.power_wake(rota.node) is
	'Have a node powered on if it is off, or left on if it is being powered off. Returns whether that was done. The caller '
	'has locked the node.';

create function api.power_judge() returns table (node text, from_state text, to_state text, reason text)
language plpgsql security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	v_idle_s constant int := internal.setting_int('power_off_idle_s');
	v_due int[];
	v_idle int[] := '{}';
	v_ahead int[];
	v_one node;
	v_reason text;
begin
	if v_idle_s = 0 and not exists (select from node n where n.power <> 'on')
		or not pg_try_advisory_xact_lock(hashtext('rota power_judge')) then
		return; -- nothing is due, or another nodemgrd does it
	end if;
	v_ahead := internal.power_ahead();
	if v_idle_s > 0 then
		perform internal.power_note_idle();
		v_idle := internal.power_idle(v_idle_s);
	end if;
	v_due := array(select n.node_id from node n where n.power <> 'on' and internal.power_verdict(n) is not null);
	perform internal.node_lock(v_due || v_idle || v_ahead);
	for v_one in select n.* from node n where n.node_id = any (v_due || v_idle || v_ahead) order by n.node_id loop
		v_reason := null;
		if v_one.power <> 'on' then
			v_reason := internal.power_settle(v_one);
			perform internal.power_wake(n) from node n
			where n.node_id = v_one.node_id and n.node_id = any (v_ahead) and n.state = 'up'
				and n.power in ('off', 'powering_off');
		elsif v_one.node_id = any (v_idle) and v_one.state = 'up' and not internal.node_in_use(v_one.node_id) then
			perform internal.power_begin(v_one.node_id, 'off', 'nodemgrd');
		end if;
		return query
		select n.name, x.was, x.becomes, v_reason
		from node n
		cross join lateral (
			select internal.node_shown(v_one.state, v_one.power) as was, internal.node_shown(n.state, n.power) as becomes) x
		where n.node_id = v_one.node_id and x.was <> x.becomes;
	end loop;
end $$;
comment on function api.power_judge() is
	'Power nodes off that have been idle for power_off_idle_s seconds, and on that the plan needs, early enough to be '
	'up in time. Find nodes that have gone off, and those that did not come up or go off in time. Answers the changes. '
	'With the setting 0 and all nodes on, it does nothing.';

create function api.schedule_power(p_term bigint, p_nodes int[]) returns int
language plpgsql security definer set lock_timeout = '5s' set search_path = rota, pg_temp as $$
declare
	v_one node;
	v_asked int := 0;
begin
	perform internal.leader_check(p_term);
	perform internal.node_lock(p_nodes);
	for v_one in
		select n.* from node n
		where n.node_id = any (p_nodes) and n.state = 'up' and n.power in ('off', 'powering_off') order by n.node_id
	loop
		v_asked := v_asked + internal.power_wake(v_one)::int;
	end loop;
	return v_asked;
end $$;
comment on function api.schedule_power(bigint, int[]) is
	'Have nodes powered on on which steps are to start. A node that is being powered off stays on if the program has not '
	'begun; otherwise it is powered on when it is off. Returns how many nodes. RT412: no longer leader.';

create function internal.power_by_hand(p_node rota.node, p_action text, p_user text) returns boolean
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_other constant text := case p_action when 'on' then 'off' else 'on' end;
begin
	if p_node.power in (p_action, 'powering_' || p_action)
		-- A lost node may be on or off.
		and (p_node.power <> 'on' or exists (select from node_lease l
			where l.node_id = p_node.node_id and l.lost_at is null)) then
		return false;
	elsif p_node.power = 'powering_off' and internal.power_keep(p_node.node_id, p_user) then
		return true;
	elsif p_node.power = 'powering_' || v_other then
		raise exception 'node "%" is being powered %', p_node.name, v_other using errcode = 'RT409',
			hint = format('Repeat the command when it is %s.', v_other);
	elsif p_action = 'off' and (internal.reboot_open(p_node.node_id)).reboot_id is not null then
		raise exception 'node "%" is to be rebooted', p_node.name using errcode = 'RT409',
			hint = format('Cancel that, or repeat the command when it is back: rota admin node cancel-reboot %s.', p_node.name);
	elsif p_action = 'off' and internal.node_in_use(p_node.node_id) then
		raise exception 'node "%" is in use', p_node.name using errcode = 'RT409',
			hint = 'Drain it, and repeat the command when its steps have ended.';
	elsif not internal.power_begin(p_node.node_id, p_action, p_user) then
		raise exception 'the program that was to power node "%" still runs', p_node.name using errcode = 'RT409',
			hint = 'Repeat the command when it has ended: rota admin power list.';
	end if;
	return true;
end $$;
comment on function internal.power_by_hand(rota.node, text, text) is
	'Power a node on or off because an operator asks for it. Returns whether anything changed. RT409: not possible now. The '
	'caller has locked the node.';

create function api.power(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_action constant text := coalesce(internal.request_text(p_request, 'action'), '');
	v_names text[];
	v_one node;
	v_changed text[] := '{}';
begin
	if internal.caller_role(p_uid, p_user) = 'user' then
		raise exception 'you may not do this to the cluster' using errcode = 'RT403', hint = 'Only operators power nodes.';
	elsif v_action not in ('on', 'off', 'list') then
		raise exception 'there is no action "%"', v_action using errcode = 'RT422', hint = 'Actions are on, off and list.';
	elsif v_action <> 'list' and internal.request_text(p_request, 'nodes') is null then
		raise exception 'name the nodes' using errcode = 'RT422';
	end if;
	v_names := internal.request_nodes(p_request, 'nodes');
	if v_action = 'list' then
		return jsonb_build_object('runs', internal.power_runs_json(v_names));
	end if;
	perform internal.node_lock(array(select n.node_id from node n where n.name = any (v_names)));
	for v_one in select n.* from node n where n.name = any (v_names) order by n.node_id loop
		if internal.power_by_hand(v_one, v_action, p_user) then
			v_changed := v_changed || v_one.name;
		end if;
	end loop;
	return jsonb_build_object('nodes', (
		select jsonb_agg(jsonb_build_object('node', n.name, 'state', internal.node_shown(n.state, n.power), 'power', n.power,
			'changed', n.name = any (v_changed)) order by array_position(v_names, n.name))
		from node n where n.name = any (v_names)));
end $$;
comment on function api.power(int, text, jsonb) is
	'Power nodes on or off, all or none of them, or list the last runs of the programs that do it; for operators. Request '
	'{action, nodes}. Answer {nodes: [{node, state, power, changed}]} or {runs: [{run, node, action, made_by, made_at, '
	'tries, began_at, ended_at, status, code, message, output}]}.';
