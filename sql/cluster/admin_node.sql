-- Requests of "rota admin node" that change states: drain, resume, failing and dead, the announcements about nodes, and the check
-- of their hardware.
--
-- Called by: internal.admin_one (admin.sql).

create function internal.admin_node_state(p_user text, p_name text, p_action text, p_set jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_node node;
begin
	if p_action = 'dead' then
		perform internal.node_dead(p_user, p_name, p_set ->> '+reason');
		return;
	end if;
	select * into v_node from node n where n.name = p_name for no key update;
	if p_action = 'drain' then
		if p_set ->> '+reason' is null then
			raise exception 'say why node "%" is drained', p_name using errcode = 'RT422', hint = 'Give a reason.';
		elsif p_set ->> '+deadline' is not null then
			perform internal.admin_notice(p_user, v_node, 'drain', p_set ->> '+reason',
				(p_set ->> '+deadline')::timestamptz, coalesce((p_set ->> '+end_steps')::boolean, false));
			return;
		elsif p_set ->> '+end_steps' = 'true' then
			raise exception 'a drain of node "%" that ends its steps needs a deadline', p_name using errcode = 'RT422',
				hint = 'Give --deadline; "now" will do.';
		end if;
		delete from node_notice n where n.node_id = v_node.node_id and n.kind = 'drain';
		if v_node.state <> 'drain' or v_node.reason is distinct from p_set ->> '+reason' then
			perform internal.node_state_set(v_node.node_id, 'drain', p_user, p_set ->> '+reason');
		end if;
		return;
	end if;
	delete from node_notice n where n.node_id = v_node.node_id and n.kind = 'drain';
	-- Refuses a node that is being rebooted.
	perform internal.reboot_cancel(v_node, p_user, 'the node was resumed by ' || p_user)
	from internal.reboot_open(v_node.node_id) r
	where r.drained or r.state <> 'waiting';
	select * into v_node from node n where n.name = p_name;
	-- A node that could not be powered on is both off and down.
	if v_node.state not in ('drain', 'invalid') and (v_node.state <> 'down' or v_node.power = 'on') then
		return;
	end if;
	perform internal.node_resume(v_node, p_user, null);
end $$;
comment on function internal.admin_node_state(text, text, text, jsonb) is
	'Drain a node, now or at a deadline, resume it, or declare it dead.';

create function internal.admin_notice(p_user text, p_node rota.node, p_kind text, p_reason text, p_at timestamptz,
	p_end_steps boolean) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if p_kind = 'drain' and p_node.state = 'drain' then
		raise exception 'node "%" is drained already', p_node.name using errcode = 'RT409', hint = 'Resume it first.';
	end if;
	insert into node_notice as n (node_id, kind, at, reason, actor, end_steps)
	values (p_node.node_id, p_kind, p_at, p_reason, p_user, p_end_steps)
	on conflict (node_id, kind) do update
	set at = excluded.at, reason = excluded.reason, actor = excluded.actor, end_steps = excluded.end_steps, said_at = now()
	where (n.at, n.reason, n.end_steps) is distinct from (excluded.at, excluded.reason, excluded.end_steps);
end $$;
comment on function internal.admin_notice(text, rota.node, text, text, timestamptz, boolean) is
	'Store an announcement about a node (rota.node_notice).';

create function internal.admin_failing(p_user text, p_name text, p_set jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_node node;
	v_old node_notice;
begin
	if not p_set ?| array['+failing', '+failing_at'] then
		return;
	end if;
	select * into v_node from node n where n.name = p_name for no key update;
	select * into v_old from node_notice n where n.node_id = v_node.node_id and n.kind = 'failing';
	if p_set ? '+failing' and p_set ->> '+failing' is null then
		delete from node_notice n where n.node_id = v_node.node_id and n.kind = 'failing';
		return;
	elsif not p_set ? '+failing' and v_old.node_id is null then
		raise exception 'a reason is missing: what is wrong with node "%"', p_name using errcode = 'RT422',
			hint = 'Give "failing" a reason.';
	end if;
	perform internal.admin_notice(p_user, v_node, 'failing', coalesce(p_set ->> '+failing', v_old.reason),
		case when p_set ? '+failing_at' then (p_set ->> '+failing_at')::timestamptz else v_old.at end, false);
end $$;
comment on function internal.admin_failing(text, text, jsonb) is 'Mark a node as failing, or remove that mark.';

create function internal.node_judge_hardware(p_name text, p_user text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_node node;
	v_short text;
begin
	select * into v_node from node n where n.name = p_name;
	v_short := internal.node_shortfall(v_node.node_id);
	if v_node.state = 'up' and v_short is not null then
		perform internal.node_state_set(v_node.node_id, 'invalid', p_user, v_short);
	elsif v_node.state = 'invalid' and v_short is null then
		perform internal.node_state_set(v_node.node_id, 'up', p_user, null);
	end if;
end $$;
comment on function internal.node_judge_hardware(text, text) is
	'Move a node between the states up and invalid after its configuration has changed.';
