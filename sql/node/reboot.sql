-- Changes of nodes: reboots that operators ask for, and changes to another setup (sql/node/setup.sql). A change takes back a
-- preparation, boots the node, prepares it and has that verified, without the stages that it does not need. Each stage runs a
-- program of the site.
--
-- Called by: operators (api.reboot), nodemgrd (api.reboot_judge), and the ends of the programs (internal.power_ended).
--
-- Invariants:
-- - A change moves under the lock of its node. The commit of a start takes that lock too (internal.node_lock), and the program
--   becomes due only for a drained node without allocations, so no step runs there when the node goes down.
-- - The program is a run like those that power nodes (rota.power_run). A node has one open run at most, of any kind.
-- - A node that is drained for another reason than its reboot stays drained, unless the reboot is to resume it.

create function internal.reboot_reason(p_reboot rota.node_reboot) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select case when (p_reboot).boots then 'reboot: ' else 'change: ' end || (p_reboot).reason;
$$;
comment on function internal.reboot_reason(rota.node_reboot) is 'Reason that a node shows while its change drains it.';

create function internal.reboot_open(p_node int) returns rota.node_reboot
language sql stable set search_path = rota, pg_temp as $$
	select r from node_reboot r where r.node_id = p_node and r.ended_at is null;
$$;
comment on function internal.reboot_open(int) is 'The change of a node that is not over; null: none.';

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
	'Drain a node that is to be changed, so that no step starts on it. The caller has locked the node.';

create function internal.reboot_is_ready(p_reboot rota.node_reboot) returns boolean
language sql stable set search_path = rota, pg_temp as $$
	select exists (select from node n
		join node_lease l on l.node_id = n.node_id and l.lost_at is null and l.orphans = 0
		where n.node_id = (p_reboot).node_id
			and ((p_reboot).state <> 'booting' or n.boot_id is distinct from (p_reboot).boot_id));
$$;
comment on function internal.reboot_is_ready(rota.node_reboot) is
	'Whether a node renews its lease and has no attempt left to end; after a boot, whether it has registered with another '
	'boot id.';

create function internal.reboot_verdict(p_reboot rota.node_reboot) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_late constant boolean :=
		p_reboot.stage_at < clock_timestamp() - make_interval(secs => internal.setting_int('reboot_timeout_s'));
begin
	if not exists (select from node n where n.node_id = p_reboot.node_id) then
		return 'deleted';
	elsif p_reboot.state = 'waiting' then
		return (select 'begin' from node n
			where n.node_id = p_reboot.node_id and n.power = 'on' and not internal.node_in_use(n.node_id)
				and not exists (select from power_run r where r.node_id = n.node_id and r.ended_at is null));
	elsif p_reboot.issued_at is null then
		-- A program that a runnerd has taken may still change the node, so wait for its end.
		return (select 'not run' from power_run r where v_late and r.run_id = p_reboot.run_id and r.began_at is null);
	end if;
	return case when internal.reboot_is_ready(p_reboot) then 'ready' when v_late then 'late' end;
end $$;
comment on function internal.reboot_verdict(rota.node_reboot) is
	'What is due for a change that is not over. begin: the node is idle; ready: the node is ready after a stage; late, not '
	'run, deleted: the change has failed; null: nothing yet.';

create function internal.reboot_expected(p_reboot rota.node_reboot) returns bigint
language sql stable set search_path = rota, pg_temp as $$
	select coalesce((select i.expected_s from node_image i where i.image = (p_reboot).image), 0)::bigint
		+ coalesce((select sum(p.expected_s) from unnest(array[(p_reboot).undo, (p_reboot).prep]::text[]) x (prep)
			join node_prep p on p.prep = internal.prep_name(x.prep)), 0)
	where (p_reboot).node_id is not null;
$$;
comment on function internal.reboot_expected(rota.node_reboot) is
	'Seconds that a change to another setup is expected to take; null: not such a change.';

create function internal.reboot_next(p_reboot rota.node_reboot) returns text
language sql stable set search_path = rota, pg_temp as $$
	select t.state
	from (values (1, 'undoing', (p_reboot).undo is not null), (2, 'running', (p_reboot).boots), (3, 'booting', (p_reboot).boots),
		(4, 'preparing', (p_reboot).prep is not null),
		(5, 'verifying', exists (select from node_prep p
			where p.prep = internal.prep_name((p_reboot).prep) and p.verify is not null)),
		(6, 'done', true)) as t (nr, state, is_needed)
	where t.is_needed
		and t.nr > coalesce(array_position(array['undoing', 'running', 'booting', 'preparing', 'verifying'], (p_reboot).state), 0)
	order by t.nr
	limit 1;
$$;
comment on function internal.reboot_next(rota.node_reboot) is 'The state of a change after the present one, if no stage fails.';

create function internal.reboot_go_on(p_reboot rota.node_reboot, p_actor text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_state constant text := internal.reboot_next(p_reboot);
	v_run bigint;
begin
	-- The lock keeps the preparation from being deleted until the row of the node names it.
	perform from node_prep p where v_state = 'preparing' and p.prep = internal.prep_name(p_reboot.prep) for key share;
	if v_state = 'done' then
		perform internal.reboot_finish(p_reboot, p_actor);
		return;
	elsif v_state = 'preparing' and not found then
		perform internal.reboot_fail(p_reboot, p_actor,
			format('there is no preparation "%s" any more', internal.prep_name(p_reboot.prep)));
		return;
	end if;
	insert into power_run (node_id, node, action, made_by)
	values (p_reboot.node_id, p_reboot.node, case v_state when 'undoing' then 'undo' when 'running' then 'reboot'
		when 'preparing' then 'prepare' else 'verify' end, p_reboot.made_by)
	returning run_id into v_run;
	update node_reboot r
	set state = v_state, began_at = coalesce(r.began_at, clock_timestamp()), stage_at = clock_timestamp(), issued_at = null,
		run_id = v_run, boot_id = (select n.boot_id from node n where n.node_id = p_reboot.node_id)
	where r.reboot_id = p_reboot.reboot_id;
	update node n set prep = coalesce(p_reboot.prep, n.prep), prep_verified = false
	where n.node_id = p_reboot.node_id and v_state = 'preparing';
	update node n set prep_verified = false where n.node_id = p_reboot.node_id and v_state = 'undoing';
	notify rota_power;
end $$;
comment on function internal.reboot_go_on(rota.node_reboot, text) is
	'Make the program of the next stage of a change due, or end the change after the last stage. The caller has locked the '
	'node.';

create function internal.reboot_begin(p_reboot rota.node_reboot, p_actor text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	perform internal.reboot_drain(p_reboot, p_actor);
	perform internal.reboot_go_on(r, p_actor) from node_reboot r where r.reboot_id = p_reboot.reboot_id;
end $$;
comment on function internal.reboot_begin(rota.node_reboot, text) is
	'Begin the change of an idle node, a reboot or another setup: drain the node, and make the program of the first stage '
	'due. The caller has locked the node.';

create function internal.reboot_end(p_reboot rota.node_reboot, p_state text, p_message text) returns void
language sql set search_path = rota, pg_temp as $$
	update node_reboot set state = p_state, ended_at = clock_timestamp(), message = p_message
	where reboot_id = (p_reboot).reboot_id;
	select internal.rolling_ended(p_reboot, p_state);
$$;
comment on function internal.reboot_end(rota.node_reboot, text, text) is
	'End the change of a node: its state becomes p_state. The caller has locked the node.';

create function internal.reboot_resume(p_reboot rota.node_reboot, p_actor text, p_reason text) returns void
language sql set search_path = rota, pg_temp as $$
	select internal.node_resume(n, p_actor, p_reason)
	from node n
	where n.node_id = (p_reboot).node_id and (p_reboot).drained and n.state = 'drain'
		and n.reason = internal.reboot_reason(p_reboot);
$$;
comment on function internal.reboot_resume(rota.node_reboot, text, text) is
	'Resume a node that only its change has drained. The caller has locked the node.';

-- A failure counts against the arguments, if they have never worked; otherwise against the node, and perhaps the image or
-- preparation.
create function internal.reboot_fail(p_reboot rota.node_reboot, p_actor text, p_message text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_prepares constant boolean := p_reboot.state in ('preparing', 'verifying');
	v_prep constant text := case when v_prepares then p_reboot.prep when p_reboot.state = 'undoing' then p_reboot.undo end;
begin
	perform internal.reboot_end(p_reboot, 'failed', p_message);
	if v_prepares and not internal.prep_is_tried(v_prep)
		and exists (select from power_run r where r.run_id = p_reboot.run_id and r.began_at is not null) then
		insert into node_prep_args (prep, args, failed_at, message)
		values (internal.prep_name(v_prep), internal.prep_args(v_prep), clock_timestamp(), p_message)
		on conflict do nothing;
		perform internal.reboot_resume(p_reboot, p_actor, null);
		return;
	end if;
	update node_image set failures = failures + 1 where image = p_reboot.image and v_prep is null;
	update node_prep set failures = failures + 1 where prep = internal.prep_name(v_prep) and internal.prep_is_tried(v_prep);
	-- A node that somebody has drained for another reason keeps that reason.
	perform internal.node_state_set(n.node_id, 'drain', p_actor, format('could not be %s: %s',
		case when v_prepares then 'prepared with ' || v_prep when v_prep is not null then 'cleared of preparation ' || v_prep
		else concat_ws(' with image ', 'rebooted', p_reboot.image) end, p_message))
	from node n
	where n.node_id = p_reboot.node_id and (n.state <> 'drain' or n.reason = internal.reboot_reason(p_reboot));
end $$;
comment on function internal.reboot_fail(rota.node_reboot, text, text) is
	'Record that a change has failed: the node stays drained with the reason, or is resumed if the arguments were wrong. The '
	'caller has locked the node.';

create function internal.reboot_mismatch(p_reboot rota.node_reboot) returns text
language sql stable set search_path = rota, pg_temp as $$
	select nullif(concat_ws('; ',
		case when (p_reboot).state <> 'undoing' and (p_reboot).image <> coalesce(n.image, '')
			then format('came back with %s', coalesce('image ' || n.image, 'no image')) end,
		internal.node_shortfall(n.node_id)), '')
	from node n
	where n.node_id = (p_reboot).node_id;
$$;
comment on function internal.reboot_mismatch(rota.node_reboot) is
	'In what a changed node differs from its prescribed setup, as text; null: no difference.';

create function internal.reboot_finish(p_reboot rota.node_reboot, p_actor text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_node node;
	v_own boolean;
begin
	perform internal.reboot_end(p_reboot, 'done', null);
	update node_image set failures = 0 where image = p_reboot.image and failures > 0;
	update node_prep set failures = 0 where prep = internal.prep_name(p_reboot.prep) and failures > 0;
	insert into node_prep_args as a (prep, args, worked_at)
	select internal.prep_name(p_reboot.prep), internal.prep_args(p_reboot.prep), clock_timestamp()
	where internal.prep_args(p_reboot.prep) <> ''
	on conflict (prep, args) do update set worked_at = excluded.worked_at, failed_at = null, message = null;
	update node set prep_verified = true where node_id = p_reboot.node_id and p_reboot.prep is not null;
	select * into v_node from node n where n.node_id = p_reboot.node_id;
	v_own := p_reboot.drained and v_node.reason = internal.reboot_reason(p_reboot);
	if v_node.state <> 'drain'
		or not (v_own or (p_reboot.next_state is not distinct from 'resume'
			and v_node.reason is not distinct from p_reboot.drained_for)) then
		return; -- another user has drained the node
	elsif p_reboot.next_state = 'down' then
		perform internal.node_state_set(v_node.node_id, 'drain', p_actor, 'rebooted, to be checked: ' || p_reboot.reason)
		where v_own;
	else
		perform internal.node_resume(v_node, p_actor, case when p_reboot.boots then 'rebooted' end);
	end if;
end $$;
comment on function internal.reboot_finish(rota.node_reboot, text) is
	'End a change that has succeeded: resume the node, or leave it drained, as was asked. The caller has locked the node.';

create function internal.reboot_settle(p_reboot rota.node_reboot) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_verdict constant text := internal.reboot_verdict(p_reboot);
	v_limit constant int := internal.setting_int('reboot_timeout_s');
	v_wrong text;
begin
	case v_verdict
	when 'begin' then
		perform internal.reboot_begin(p_reboot, 'nodemgrd');
	when 'ready' then
		v_wrong := internal.reboot_mismatch(p_reboot);
		if v_wrong is not null then
			perform internal.reboot_fail(p_reboot, 'nodemgrd', v_wrong);
		else
			perform internal.reboot_go_on(p_reboot, 'nodemgrd');
		end if;
	when 'late' then
		perform internal.reboot_fail(p_reboot, 'nodemgrd', format('did not %s within %s s',
			case p_reboot.state when 'booting' then 'register with another boot' else 'serve again' end, v_limit));
	when 'not run' then
		perform internal.power_drop(p_reboot.node_id, 'no runnerd has run it in time');
		perform internal.reboot_fail(p_reboot, 'nodemgrd', format('no runnerd ran %s within %s s',
			case p_reboot.state when 'running' then 'hooks.reboot' else 'the program of the preparation' end, v_limit));
	when 'deleted' then
		perform internal.power_drop(p_reboot.node_id, 'the node was deleted');
		perform internal.reboot_end(p_reboot, 'failed', 'the node was deleted');
	else
	end case;
end $$;
comment on function internal.reboot_settle(rota.node_reboot) is
	'Apply what is due for a change now (internal.reboot_verdict), if anything. The caller has locked the node.';

create function api.reboot_judge() returns table (node text, from_state text, to_state text, reason text)
language plpgsql security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	v_due int[];
	v_idle int[];
	v_failed bigint[];
	v_next int[];
	v_node node;
	v_one node_reboot;
	v_was text;
begin
	perform internal.check_plan();
	if not exists (select from node_reboot r where r.ended_at is null) and not internal.setup_judged()
		and not internal.rolling_is_open()
		or not pg_try_advisory_xact_lock(hashtext('rota reboot_judge')) then
		return; -- nothing is due, or another nodemgrd does it
	end if;
	if internal.setup_refuse() or internal.setup_hold() then
		return; -- the next call goes on, with locks of its own
	end if;
	v_due := array(select r.node_id from node_reboot r where r.ended_at is null and internal.reboot_verdict(r) is not null);
	v_idle := array(select n.node_id from internal.setup_idle() n);
	v_failed := internal.rolling_failed();
	v_next := internal.rolling_next();
	perform internal.node_lock(v_due || v_idle || v_next || internal.rolling_nodes(v_failed));
	perform internal.rolling_judge(v_failed, v_next);
	for v_node in select n.* from node n where n.node_id = any (v_idle) order by n.node_id loop
		if internal.setup_change(v_node, coalesce(v_node.default_image, v_node.image), null, 'nodemgrd') then
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
	'Continue the changes of nodes. Begin those of idle nodes that are to be rebooted, or that have another setup than their '
	'default one and are not needed with it; find nodes that are ready for the next stage, or late; hold or end the steps '
	'that cannot have their setup. Returns the nodes whose state changed.';

create function internal.reboot_ended(p_run rota.power_run) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_reboot node_reboot;
begin
	select * into v_reboot from node_reboot r where r.run_id = p_run.run_id and r.ended_at is null;
	if p_run.status = 'failed' then
		perform internal.reboot_fail(v_reboot, 'runnerd', p_run.message) where v_reboot.reboot_id is not null;
		return;
	end if;
	update node set prep = null, prep_verified = true where node_id = v_reboot.node_id and v_reboot.state = 'undoing';
	update node_reboot
	set state = case state when 'running' then 'booting' else state end, issued_at = clock_timestamp()
	where reboot_id = v_reboot.reboot_id
	returning * into v_reboot;
	perform internal.reboot_settle(v_reboot) where v_reboot.reboot_id is not null;
end $$;
comment on function internal.reboot_ended(rota.power_run) is
	'Apply the end of the program of a stage to its change. The caller has locked the node.';

create function internal.reboot_tidy() returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	delete from node_reboot r where r.ended_at < now() - make_interval(days => internal.setting_int('reboot_days'));
	delete from node_prep_args a where a.worked_at < now() - make_interval(days => internal.setting_int('reboot_days'));
end $$;
comment on function internal.reboot_tidy() is
	'Delete changes of nodes that ended longer ago than the setting reboot_days says, and arguments of preparations that '
	'have not been used since.';

-- Requests of users and operators.

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
		values (p_node.node_id, p_node.name, p_reason, p_user, p_asap, p_next,
			case when p_node.state = 'drain' then p_node.reason end)
		returning * into v_open;
	elsif v_open.state <> 'waiting' then
		raise exception 'node "%" is being rebooted', p_node.name using errcode = 'RT409',
			hint = 'Repeat the command when it is back.';
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
	'Have a node rebooted because an operator asks for it. Returns whether anything changed. RT409: not possible now. The '
	'caller has locked the node.';

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
	perform internal.reboot_resume(v_open, p_user, null);
	return true;
end $$;
comment on function internal.reboot_cancel(rota.node, text, text) is
	'Cancel the reboot of a node. Returns whether there was one to cancel. RT409: its program is due already. The caller has '
	'locked the node.';

create function internal.reboots_json(p_names text[]) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('reboot', r.reboot_id, 'node', r.node, 'state', r.state, 'reason', r.reason,
			'made_by', r.made_by, 'made_at', r.made_at, 'asap', r.asap, 'next', r.next_state, 'image', r.image, 'undo', r.undo,
			'prep', r.prep, 'began_at', r.began_at, 'issued_at', r.issued_at, 'ended_at', r.ended_at,
			'message', r.message) order by r.reboot_id desc), '[]')
		from (
			select x.* from node_reboot x where p_names = '{}' or x.node = any (p_names) order by x.reboot_id desc limit 50) r);
end $$;
comment on function internal.reboots_json(text[]) is
	'The last 50 changes of these nodes ({}: of any), the newest first, as a JSON list.';

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
		raise exception '"asap" must be true or false' using errcode = 'RT422';
	end if;
end $$;
comment on function internal.reboot_check(int, text, jsonb) is
	'Refuse a request for reboots that is malformed, or that this user may not make.';

create function api.reboot(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_action constant text := internal.request_text(p_request, 'action');
	v_names text[];
	v_one node;
	v_done boolean;
	v_changed text[] := '{}';
begin
	perform internal.reboot_check(p_uid, p_user, p_request);
	v_names := internal.request_nodes(p_request, 'nodes');
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
		select jsonb_agg(jsonb_build_object('node', n.name, 'state', n.state, 'reboot', (internal.reboot_open(n.node_id)).state,
			'changed', n.name = any (v_changed)) order by array_position(v_names, n.name))
		from node n where n.name = any (v_names)));
end $$;
comment on function api.reboot(int, text, jsonb) is
	'Have nodes rebooted, or cancel their reboots, all or none of them, or list the last reboots; for operators. Request '
	'{action: reboot, cancel or list, nodes, reason, asap, next: resume or down}. Answer {nodes: [{node, state, reboot, '
	'changed}]} (reboot: waiting, running or booting; null: none) or {reboots: [{reboot, node, state, reason, made_by, '
	'made_at, asap, next, began_at, issued_at, ended_at, message}]}.';
