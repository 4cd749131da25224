-- Rolling changes: many nodes are rebooted or get another default image, some at a time, while the rest of the cluster runs
-- steps.
--
-- Called by: operators (api.rolling), nodemgrd (internal.rolling_judge by api.reboot_judge), and the end of the change of a node
-- (internal.reboot_end).
--
-- Invariants:
-- - The change of a single node is a row of rota.node_reboot, like a reboot that an operator asks for. Steps on the node end
--   first.
-- - A node whose change has not begun is left alone. The default image of a node changes with the end of its own change.
-- - The whole state of a rolling change is in its rows, so nothing is lost when a daemon dies.

create function internal.rolling_is_open() returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select exists (select from rolling_change c where c.ended_at is null);
$$;
comment on function internal.rolling_is_open() is 'Whether any rolling change is open.';

create function internal.rolling_next() returns int[]
language sql stable set search_path = live, rota, pg_temp as $$
	select coalesce(array_agg(x.node_id), '{}')
	from (
		select w.node_id, row_number() over (partition by w.change_id order by internal.node_in_use(w.node_id), w.node_id) as nr,
			c.at_most - (select count(*) from rolling_node o where o.change_id = c.change_id and o.state = 'changing') as slots
		from rolling_change c
		join rolling_node w on w.change_id = c.change_id and w.state = 'waiting'
		left join node n on n.node_id = w.node_id
		where c.ended_at is null
			and (n.node_id is null or (n.state in ('up', 'drain') and n.power = 'on'
				and (internal.reboot_open(n.node_id)).reboot_id is null))
	) x
	where x.nr <= x.slots;
$$;
comment on function internal.rolling_next() is
	'Nodes to be changed next, idle ones first: as many of each rolling change as may be out of use, less those that are. '
	'Nodes that are down, off or being changed otherwise wait.';

create function internal.rolling_begin(p_node int) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_change rolling_change;
	v_node node;
	v_reboot node_reboot;
begin
	select c.* into v_change from rolling_node w join rolling_change c using (change_id)
	where w.node_id = p_node and w.state = 'waiting' and c.ended_at is null;
	select * into v_node from node n where n.node_id = p_node;
	if v_change.change_id is null or (internal.reboot_open(p_node)).reboot_id is not null then
		return; -- cancelled, or changed otherwise meanwhile
	elsif v_node.node_id is null or v_node.image = v_change.image then
		-- The node was deleted, or has the wanted image already.
		update node set default_image = v_change.image where node_id = p_node and image = v_change.image;
		update rolling_node set state = case when v_node.node_id is null then 'cancelled' else 'done' end
		where change_id = v_change.change_id and node_id = p_node;
		return;
	end if;
	insert into node_reboot (node_id, node, reason, made_by, asap, image, undo, drained_for)
	values (p_node, v_node.name, v_change.reason, v_change.made_by, true, v_change.image, v_node.prep,
		case when v_node.state = 'drain' then v_node.reason end)
	returning * into v_reboot;
	update rolling_node set state = 'changing', reboot_id = v_reboot.reboot_id
	where change_id = v_change.change_id and node_id = p_node;
	perform internal.reboot_drain(v_reboot, v_change.made_by);
end $$;
comment on function internal.rolling_begin(int) is
	'Begin to change a node: no step starts on it any more, and it is changed when it is idle. The caller has locked the '
	'node.';

create function internal.rolling_ended(p_reboot rota.node_reboot, p_state text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	update rolling_node set state = p_state where reboot_id = p_reboot.reboot_id and state = 'changing';
	if found and p_state = 'done' and p_reboot.image is not null then
		update node set default_image = p_reboot.image where node_id = p_reboot.node_id;
	end if;
end $$;
comment on function internal.rolling_ended(rota.node_reboot, text) is
	'Handle the end of a node''s change. If it belonged to a rolling change that has succeeded, its image becomes the '
	'default image of the node. The caller has locked the node.';

create function internal.rolling_end(p_change bigint, p_state text, p_message text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	update rolling_change set state = p_state, message = p_message, ended_at = clock_timestamp()
	where change_id = p_change and ended_at is null;
	update rolling_node set state = 'cancelled' where change_id = p_change and state = 'waiting';
	-- Changes of nodes that have not begun are cancelled; a program that runs cannot be.
	perform internal.reboot_cancel(n, 'nodemgrd', p_message)
	from rolling_node w
	join node_reboot r on r.reboot_id = w.reboot_id and r.state = 'waiting'
	join node n on n.node_id = w.node_id
	where w.change_id = p_change and w.state = 'changing';
end $$;
comment on function internal.rolling_end(bigint, text, text) is
	'Close a rolling change: no more nodes are changed. The caller has locked those of its nodes that are not over '
	'(internal.rolling_nodes).';

create function internal.rolling_nodes(p_changes bigint[]) returns int[]
language sql stable set search_path = rota, pg_temp as $$
	select coalesce(array_agg(w.node_id), '{}') from rolling_node w
	where w.change_id = any (p_changes) and w.state in ('waiting', 'changing');
$$;
comment on function internal.rolling_nodes(bigint[]) is
	'Nodes of rolling changes whose own changes are not over. Their locks keep a node from beginning meanwhile.';

create function internal.rolling_failed() returns bigint[]
language sql stable set search_path = rota, pg_temp as $$
	select coalesce(array_agg(c.change_id), '{}')
	from rolling_change c
	where c.ended_at is null
		and c.failures_most <= (select count(*) from rolling_node w where w.change_id = c.change_id and w.state = 'failed');
$$;
comment on function internal.rolling_failed() is 'Rolling changes in which too many nodes have failed.';

create function internal.rolling_judge(p_failed bigint[], p_next int[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_one bigint;
	v_node int;
begin
	foreach v_one in array p_failed loop
		perform internal.rolling_end(v_one, 'stopped', internal.text_count(c.failures_most, 'node') || ' failed')
		from rolling_change c where c.change_id = v_one;
	end loop;
	foreach v_node in array p_next loop
		perform internal.rolling_begin(v_node);
	end loop;
	update rolling_change c
	set state = 'done', ended_at = clock_timestamp()
	where c.ended_at is null and not exists (select from rolling_node w
		where w.change_id = c.change_id and w.state in ('waiting', 'changing'));
end $$;
comment on function internal.rolling_judge(bigint[], int[]) is
	'Stop rolling changes that have failed (p_failed), begin to change the next nodes (p_next), and close rolling changes '
	'that are over. The caller has locked all these nodes.';

-- Requests of users and operators.

create function internal.rolling_most(p_text text, p_nodes int) returns int
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	if p_text !~ '^([1-9][0-9]{0,5}|[1-9][0-9]?%|100%)$' then
		raise exception '"%" is no number of nodes', p_text using errcode = 'RT422', hint = 'Give a number, or a share like 10%.';
	end if;
	return case when p_text like '%\%' then greatest(1, p_nodes * rtrim(p_text, '%')::int / 100) else p_text::int end;
end $$;
comment on function internal.rolling_most(text, int) is
	'Number of nodes that p_text means, out of p_nodes: a number as it is, a share such as 10% rounded down, but at least 1.';

create function internal.rolling_check(p_uid int, p_user text, p_request jsonb) returns void
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_action constant text := coalesce(internal.request_text(p_request, 'action'), '');
	v_image constant text := internal.request_text(p_request, 'image');
begin
	if internal.caller_role(p_uid, p_user) <> 'admin'
		and (v_action = 'start' or internal.caller_role(p_uid, p_user) = 'user') then
		raise exception 'you may not do this to the cluster' using errcode = 'RT403',
			hint = 'Only admins change all nodes; operators cancel that.';
	elsif v_action not in ('start', 'list', 'cancel') then
		raise exception 'there is no action "%"', v_action using errcode = 'RT422', hint = 'Actions are start, list and cancel.';
	elsif not coalesce(internal.request_text(p_request, 'change') ~ '^[1-9][0-9]{0,17}$', v_action <> 'cancel') then
		raise exception 'name the number of a rolling change' using errcode = 'RT422',
			hint = 'rota admin node changes lists them.';
	elsif v_action <> 'start' then
		return;
	elsif (v_image is not null) = coalesce(p_request -> 'reboot' = 'true', false) then
		raise exception 'a rolling change needs either an image or "reboot"' using errcode = 'RT422',
			hint = 'Write --image=NAME or --reboot.';
	elsif internal.request_text(p_request, 'at_most') is null then
		raise exception 'say how many nodes may be out of use at a time' using errcode = 'RT422',
			hint = 'Write --at-most=10% or --at-most=3.';
	elsif not internal.is_line(internal.request_text(p_request, 'reason')) then
		raise exception 'the reason must be one line' using errcode = 'RT422';
	elsif not coalesce(internal.request_text(p_request, 'failures') ~ '^[1-9][0-9]{0,5}$', true) then
		raise exception '"failures" must be a number of nodes, at least 1' using errcode = 'RT422';
	end if;
	perform internal.object_need('image', array[v_image]) where v_image is not null;
end $$;
comment on function internal.rolling_check(int, text, jsonb) is
	'Refuse a request for a rolling change that is malformed, or that this user may not make.';

create function internal.rolling_start(p_user text, p_request jsonb) returns bigint
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_hosts constant text := coalesce(internal.request_text(p_request, 'nodes'), 'all');
	v_image constant text := internal.request_text(p_request, 'image');
	v_names constant text[] := case
		when v_hosts = 'all' then array(select n.name from node n)
		else array(select distinct internal.hosts_expand(v_hosts)) end;
	v_wrong text;
	v_change bigint;
begin
	perform internal.object_need('node', v_names);
	if v_names = '{}' then
		raise exception 'there are no nodes to change' using errcode = 'RT409';
	end if;
	select n.name into v_wrong from node n
	where n.name = any (v_names) and v_image is not null and n.image is null order by n.name limit 1;
	if found then
		raise exception 'node "%" reports no image', v_wrong using errcode = 'RT409',
			hint = 'Set node.image_file there, or leave the node out: --nodes=LIST.';
	end if;
	insert into rolling_change (image, reason, at_most, failures_most, made_by)
	values (v_image,
		coalesce(internal.request_text(p_request, 'reason'), concat_ws(' ', 'rolling change', 'to image ' || v_image)),
		internal.rolling_most(internal.request_text(p_request, 'at_most'), cardinality(v_names)),
		coalesce(internal.request_text(p_request, 'failures')::int, 3), p_user)
	returning change_id into v_change;
	insert into rolling_node (change_id, node_id, node)
	select v_change, n.node_id, n.name from node n where n.name = any (v_names) order by n.node_id;
	return v_change;
exception when unique_violation then
	select w.node || ' ' || w.change_id into v_wrong from rolling_node w
	where w.node = any (v_names) and w.state in ('waiting', 'changing') order by w.node limit 1;
	raise exception 'node "%" is in rolling change % already', split_part(v_wrong, ' ', 1), split_part(v_wrong, ' ', 2)
		using errcode = 'RT409', hint = 'Wait for its end, or cancel it: rota admin node cancel-change.';
end $$;
comment on function internal.rolling_start(text, jsonb) is 'Store a new rolling change. Returns its number.';

create function internal.rolling_json(p_change bigint) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(to_jsonb(c) || jsonb_build_object('nodes', (
			select jsonb_object_agg(x.state, x.names)
			from (
				select w.state, jsonb_agg(w.node order by w.node_id) as names from rolling_node w
				where w.change_id = c.change_id
				group by w.state) x))
			order by c.change_id desc), '[]')
		from (
			select x.* from rolling_change x where p_change is null or x.change_id = p_change
			order by x.change_id desc limit 50) c);
end $$;
comment on function internal.rolling_json(bigint) is
	'A rolling change (null: the last 50, the newest first) as JSON, with its nodes by state.';

create function api.rolling(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_action constant text := internal.request_text(p_request, 'action');
	v_change bigint;
begin
	perform internal.rolling_check(p_uid, p_user, p_request);
	v_change := internal.request_text(p_request, 'change')::bigint;
	if v_action = 'start' then
		v_change := internal.rolling_start(p_user, p_request);
	elsif v_action = 'cancel' then
		perform internal.node_lock(internal.rolling_nodes(array[v_change]));
		if not exists (select from rolling_change c where c.change_id = v_change) then
			raise exception 'there is no rolling change %', v_change using errcode = 'RT404',
				hint = 'rota admin node changes lists them.';
		end if;
		perform internal.rolling_end(v_change, 'cancelled', 'cancelled by ' || p_user);
	end if;
	return jsonb_build_object('changes', internal.rolling_json(v_change));
end $$;
comment on function api.rolling(int, text, jsonb) is
	'Have many nodes booted again, or given another default image, some at a time; or cancel or list such changes. Operators '
	'may only cancel and list. Request {action: start, list or cancel, nodes (default all), image, reboot, at_most: a number '
	'or "10%", failures, reason, change}. Answer {changes: [{change_id, image, reason, at_most, failures_most, made_by, '
	'made_at, state, ended_at, message, nodes: {state: [node]}}]}.';
