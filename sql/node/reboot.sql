-- Reboots of nodes: those that operators ask for, and those for another image (sql/node/image.sql).
--
-- Called by: operators (api.reboot), nodemgrd (api.reboot_judge), and the end of the program hooks.reboot (internal.power_ended).
--
-- Invariants:
-- - A reboot changes under the lock of its node. The commit of a start holds it too (internal.node_lock), and the program becomes due
--   for a drained node that nothing holds, so nothing runs there when the node goes down.
-- - The program is a run like those that power nodes (rota.power_run). A node has one open run at most, whatever it does.
-- - A node that is drained for another reason than its reboot stays drained, unless the reboot is to resume it.

create function internal.reboot_reason(p_reboot rota.node_reboot) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select 'reboot: ' || (p_reboot).reason;
$$;
comment on function internal.reboot_reason(rota.node_reboot) is 'Why a node is drained that is being rebooted.';

create function internal.reboot_open(p_node int) returns rota.node_reboot
language sql stable set search_path = rota, pg_temp as $$
	select r from node_reboot r where r.node_id = p_node and r.ended_at is null;
$$;
comment on function internal.reboot_open(int) is 'The reboot of a node that is not over; null: there is none.';

create function internal.reboot_drain(p_reboot rota.node_reboot, p_actor text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if exists (select from node n where n.node_id = p_reboot.node_id and n.state = 'drain') then
		return;
	end if;
	perform internal.node_state_set(p_reboot.node_id, 'drain', p_actor, internal.reboot_reason(p_reboot));
	update node_reboot set drained = true where reboot_id = p_reboot.reboot_id;
end $$;
comment on function internal.reboot_drain(rota.node_reboot, text) is
	'Let nothing start on a node that is to be rebooted. The caller has locked the node.';

create function internal.reboot_is_booted(p_reboot rota.node_reboot) returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select exists (select from node n
		join node_lease l on l.node_id = n.node_id and l.lost_at is null and l.orphans = 0
		where n.node_id = (p_reboot).node_id and n.boot_id is distinct from (p_reboot).boot_id);
$$;
comment on function internal.reboot_is_booted(rota.node_reboot) is
	'Whether a node has registered with another boot than when its reboot began, and serves it.';

create function internal.reboot_verdict(p_reboot rota.node_reboot) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_late constant boolean := p_reboot.began_at < clock_timestamp() - make_interval(secs => internal.setting_int('reboot_timeout_s'));
begin
	if not exists (select from node n where n.node_id = p_reboot.node_id) then
		return 'deleted';
	elsif p_reboot.state = 'waiting' then
		return (select 'begin' from node n
			where n.node_id = p_reboot.node_id and n.power = 'on' and not internal.node_in_use(n.node_id)
				and not exists (select from power_run r where r.node_id = n.node_id and r.ended_at is null));
	elsif p_reboot.state = 'running' then
		-- A program that a runnerd has taken may still boot the node; its end is waited for.
		return (select 'not run' from power_run r where v_late and r.run_id = p_reboot.run_id and r.began_at is null);
	end if;
	return case when internal.reboot_is_booted(p_reboot) then 'booted' when v_late then 'late' end;
end $$;
comment on function internal.reboot_verdict(rota.node_reboot) is
	'What is to be done about a reboot that is not over. begin: the node is idle; booted: it is back; late, not run, deleted: the reboot '
	'has failed; null: nothing yet.';

create function internal.reboot_begin(p_reboot rota.node_reboot, p_actor text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_run bigint;
begin
	perform internal.reboot_drain(p_reboot, p_actor);
	insert into power_run (node_id, node, action, made_by) values (p_reboot.node_id, p_reboot.node, 'reboot', p_reboot.made_by)
	returning run_id into v_run;
	update node_reboot r
	set state = 'running', began_at = clock_timestamp(), run_id = v_run,
		boot_id = (select n.boot_id from node n where n.node_id = p_reboot.node_id)
	where r.reboot_id = p_reboot.reboot_id;
	notify rota_power;
end $$;
comment on function internal.reboot_begin(rota.node_reboot, text) is
	'Have the program run that boots an idle node. The caller has locked the node.';

create function internal.reboot_end(p_reboot rota.node_reboot, p_state text, p_message text) returns void
language sql set search_path = rota, pg_temp as $$
	update node_reboot set state = p_state, ended_at = clock_timestamp(), message = p_message where reboot_id = (p_reboot).reboot_id;
$$;
comment on function internal.reboot_end(rota.node_reboot, text, text) is 'A reboot is over.';

create function internal.reboot_fail(p_reboot rota.node_reboot, p_actor text, p_message text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	perform internal.reboot_end(p_reboot, 'failed', p_message);
	update node_image set failures = failures + 1 where image = p_reboot.image;
	-- A node that somebody has drained for another reason keeps that reason.
	perform internal.node_state_set(n.node_id, 'drain', p_actor, format('could not be rebooted%s: %s', ' with image ' || p_reboot.image, p_message))
	from node n
	where n.node_id = p_reboot.node_id and (n.state <> 'drain' or n.reason = internal.reboot_reason(p_reboot));
end $$;
comment on function internal.reboot_fail(rota.node_reboot, text, text) is
	'A reboot has failed: the node stays drained with the reason. The caller has locked the node.';

create function internal.reboot_finish(p_reboot rota.node_reboot, p_actor text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_node node;
	v_short text := internal.node_shortfall(p_reboot.node_id);
	v_own boolean;
begin
	select * into v_node from node n where n.node_id = p_reboot.node_id;
	if p_reboot.image <> coalesce(v_node.image, '') then
		v_short := concat_ws('; ', format('came back with %s', coalesce('image ' || v_node.image, 'no image')), v_short);
	end if;
	if v_short is not null then
		perform internal.reboot_fail(p_reboot, p_actor, v_short);
		return;
	end if;
	perform internal.reboot_end(p_reboot, 'done', null);
	update node_image set failures = 0 where image = p_reboot.image and failures > 0;
	v_own := p_reboot.drained and v_node.reason = internal.reboot_reason(p_reboot);
	if v_node.state <> 'drain'
		or not (v_own or (p_reboot.next_state is not distinct from 'resume' and v_node.reason is not distinct from p_reboot.drained_for)) then
		return; -- drained by somebody else
	elsif p_reboot.next_state = 'down' then
		perform internal.node_state_set(v_node.node_id, 'drain', p_actor, 'rebooted, to be checked: ' || p_reboot.reason) where v_own;
	else
		perform internal.node_resume(v_node, p_actor, 'rebooted');
	end if;
end $$;
comment on function internal.reboot_finish(rota.node_reboot, text) is
	'A node is back with another boot: it serves again, or stays drained, as was asked. The caller has locked the node.';

create function internal.reboot_settle(p_reboot rota.node_reboot) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_verdict constant text := internal.reboot_verdict(p_reboot);
	v_limit constant int := internal.setting_int('reboot_timeout_s');
begin
	case v_verdict
	when 'begin' then
		perform internal.reboot_begin(p_reboot, 'nodemgrd');
	when 'booted' then
		perform internal.reboot_finish(p_reboot, 'nodemgrd');
	when 'late' then
		perform internal.reboot_fail(p_reboot, 'nodemgrd', format('did not register with another boot within %s s', v_limit));
	when 'not run' then
		perform internal.power_drop(p_reboot.node_id, 'no runnerd has run it in time');
		perform internal.reboot_fail(p_reboot, 'nodemgrd', format('no runnerd ran hooks.reboot within %s s', v_limit));
	when 'deleted' then
		perform internal.power_drop(p_reboot.node_id, 'the node was deleted');
		perform internal.reboot_end(p_reboot, 'failed', 'the node was deleted');
	else
	end case;
end $$;
comment on function internal.reboot_settle(rota.node_reboot) is
	'Do what is to be done about a reboot now, if anything. The caller has locked the node.';

create function api.reboot_judge() returns table (node text, from_state text, to_state text, reason text)
language plpgsql security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	v_due int[];
	v_idle int[];
	v_node node;
	v_one node_reboot;
	v_was text;
begin
	if not exists (select from node_reboot r where r.ended_at is null) and not internal.image_judged()
		or not pg_try_advisory_xact_lock(hashtext('rota reboot_judge')) then
		return; -- there is nothing to do, or another nodemgrd does it
	end if;
	if internal.image_hold() then
		return; -- the next call goes on, with locks of its own
	end if;
	v_due := array(select r.node_id from node_reboot r where r.ended_at is null and internal.reboot_verdict(r) is not null);
	v_idle := array(select n.node_id from internal.image_idle() n);
	perform internal.node_lock(v_due || v_idle);
	for v_node in select n.* from node n where n.node_id = any (v_idle) order by n.node_id loop
		if internal.image_change(v_node, v_node.default_image, 'nodemgrd') then
			return query select n.name, v_node.state, n.state, n.reason from node n where n.node_id = v_node.node_id;
		end if;
	end loop;
	for v_one in select r.* from node_reboot r where r.node_id = any (v_due) and r.ended_at is null order by r.node_id loop
		select n.state into v_was from node n where n.node_id = v_one.node_id;
		perform internal.reboot_settle(v_one);
		return query
		select n.name, v_was, n.state, n.reason from node n where n.node_id = v_one.node_id and n.state <> v_was;
	end loop;
end $$;
comment on function api.reboot_judge() is
	'Have nodes booted that are to be rebooted and are idle, or are idle with another image than their default one; see which are back, '
	'or did not come in time; hold the steps that ask for an image that has failed too often. Answers which nodes changed their state.';

create function internal.reboot_ended(p_run rota.power_run) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_reboot node_reboot;
begin
	select * into v_reboot from node_reboot r where r.run_id = p_run.run_id and r.state = 'running';
	if p_run.status = 'failed' then
		perform internal.reboot_fail(v_reboot, 'runnerd', p_run.message) where v_reboot.reboot_id is not null;
	else
		update node_reboot set state = 'booting', issued_at = clock_timestamp() where reboot_id = v_reboot.reboot_id;
	end if;
end $$;
comment on function internal.reboot_ended(rota.power_run) is
	'Do what follows from the end of the program that boots a node. The caller has locked the node.';

create function internal.reboot_tidy() returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	delete from node_reboot r where r.ended_at < now() - make_interval(days => internal.setting_int('reboot_days'));
end $$;
comment on function internal.reboot_tidy() is 'Delete reboots that ended more than reboot_days ago.';

-- People.

create function internal.reboot_ask(p_node rota.node, p_user text, p_reason text, p_asap boolean, p_next text) returns boolean
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_open node_reboot := internal.reboot_open(p_node.node_id);
begin
	if p_node.power <> 'on' then
		raise exception 'node "%" is %', p_node.name, p_node.power using errcode = 'RT409',
			hint = 'Only a node that is on is rebooted: rota admin power on.';
	elsif v_open.reboot_id is null then
		insert into node_reboot (node_id, node, reason, made_by, asap, next_state, drained_for)
		values (p_node.node_id, p_node.name, p_reason, p_user, p_asap, p_next, case when p_node.state = 'drain' then p_node.reason end)
		returning * into v_open;
	elsif v_open.state <> 'waiting' then
		raise exception 'node "%" is being rebooted', p_node.name using errcode = 'RT409', hint = 'Repeat the command when it is back.';
	elsif (v_open.asap or not p_asap) and (p_reason, p_next) is not distinct from (v_open.reason, v_open.next_state) then
		return false;
	else
		raise exception 'node "%" is to be rebooted already: %', p_node.name, v_open.reason using errcode = 'RT409',
			hint = format('Cancel that first: rota admin node cancel-reboot %s.', p_node.name);
	end if;
	perform internal.reboot_drain(v_open, p_user) where p_asap;
	return true;
end $$;
comment on function internal.reboot_ask(rota.node, text, text, boolean, text) is
	'Have a node rebooted because an operator asks for it; whether anything changed. RT409: not now. The caller has locked the node.';

create function internal.reboot_cancel(p_node rota.node, p_user text, p_message text) returns boolean
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_open constant node_reboot := internal.reboot_open(p_node.node_id);
begin
	if v_open.reboot_id is null then
		return false;
	elsif v_open.state <> 'waiting' then
		raise exception 'node "%" is being rebooted', p_node.name using errcode = 'RT409',
			hint = 'Its program cannot be taken back: wait for its end, rota admin node reboots.';
	end if;
	perform internal.reboot_end(v_open, 'cancelled', p_message);
	perform internal.node_resume(p_node, p_user, null)
	where v_open.drained and p_node.state = 'drain' and p_node.reason = internal.reboot_reason(v_open);
	return true;
end $$;
comment on function internal.reboot_cancel(rota.node, text, text) is
	'Do not reboot a node after all; whether it was to be. RT409: its program is due. The caller has locked the node.';

create function internal.reboots_json(p_names text[]) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('reboot', r.reboot_id, 'node', r.node, 'state', r.state, 'reason', r.reason, 'made_by',
			r.made_by, 'made_at', r.made_at, 'asap', r.asap, 'next', r.next_state, 'began_at', r.began_at, 'issued_at', r.issued_at,
			'ended_at', r.ended_at, 'message', r.message) order by r.reboot_id desc), '[]')
		from (select x.* from node_reboot x where p_names is null or x.node = any (p_names) order by x.reboot_id desc limit 50) r);
end $$;
comment on function internal.reboots_json(text[]) is 'The last 50 reboots of nodes (of these nodes), the newest first.';

create function internal.reboot_check(p_uid int, p_user text, p_request jsonb) returns void
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_action constant text := coalesce(internal.request_text(p_request, 'action'), '');
	v_next constant text := internal.request_text(p_request, 'next');
begin
	if internal.caller_role(p_uid, p_user) = 'user' then
		raise exception 'you may not do this to the cluster' using errcode = 'RT403', hint = 'Only operators reboot nodes.';
	elsif v_action not in ('reboot', 'cancel', 'list') then
		raise exception 'there is no action "%"', v_action using errcode = 'RT422', hint = 'Actions are reboot, cancel and list.';
	elsif v_action <> 'list' and internal.request_text(p_request, 'nodes') is null then
		raise exception 'name the nodes' using errcode = 'RT422';
	elsif v_action <> 'reboot' and p_request ?| array['reason', 'asap', 'next'] then
		raise exception '"%" takes only the nodes', v_action using errcode = 'RT422';
	elsif v_action = 'reboot' and not internal.is_line(internal.request_text(p_request, 'reason')) is true then
		raise exception 'say why the nodes are rebooted' using errcode = 'RT422', hint = 'Give a reason of one line.';
	elsif v_next not in ('resume', 'down') then
		raise exception 'there is no state "%" after a reboot', v_next using errcode = 'RT422', hint = 'Next is resume or down.';
	elsif jsonb_typeof(p_request -> 'asap') <> 'boolean' then
		raise exception '"asap" is true or false' using errcode = 'RT422';
	end if;
end $$;
comment on function internal.reboot_check(int, text, jsonb) is 'Refuse a request for reboots that is not possible, or not by this user.';

create function api.reboot(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_action constant text := internal.request_text(p_request, 'action');
	v_hosts constant text := internal.request_text(p_request, 'nodes');
	v_names constant text[] := case when v_hosts is not null then array(select internal.hosts_expand(v_hosts)) end;
	v_one node;
	v_done boolean;
	v_changed text[] := '{}';
begin
	perform internal.reboot_check(p_uid, p_user, p_request);
	perform internal.object_need('node', v_names);
	if v_action = 'list' then
		return jsonb_build_object('reboots', internal.reboots_json(v_names));
	end if;
	perform internal.node_lock(array(select n.node_id from node n where n.name = any (v_names)));
	for v_one in select n.* from node n where n.name = any (v_names) order by n.node_id loop
		v_done := case v_action when 'cancel' then internal.reboot_cancel(v_one, p_user, 'cancelled by ' || p_user)
			else internal.reboot_ask(v_one, p_user, internal.request_text(p_request, 'reason'),
				coalesce((p_request -> 'asap')::boolean, false), internal.request_text(p_request, 'next')) end;
		v_changed := v_changed || case when v_done then array[v_one.name] else '{}' end;
	end loop;
	return jsonb_build_object('nodes', (
		select jsonb_agg(jsonb_build_object('node', n.name, 'state', n.state, 'reboot', (internal.reboot_open(n.node_id)).state, 'changed',
			n.name = any (v_changed)) order by array_position(v_names, n.name))
		from node n where n.name = any (v_names)));
end $$;
comment on function api.reboot(int, text, jsonb) is
	'Have nodes rebooted, or not after all, all or none of them, or list the last reboots; for operators. Request {action: reboot, cancel '
	'or list, nodes, reason, asap, next: resume or down}. Answer {nodes: [{node, state, reboot, changed}]} (reboot: waiting, running or '
	'booting; null: none) or {reboots: [{reboot, node, state, reason, made_by, made_at, asap, next, began_at, issued_at, ended_at, '
	'message}]}.';
