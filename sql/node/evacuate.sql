-- Evacuations: nodes are drained and their steps moved to other nodes.
--
-- Called by: operators (api.evacuate), nodemgrd (api.evacuation_judge), and move.sql for single jobs.
-- Invariants:
-- - The first commit writes a row for each step that is to move. If a call skips a step, because another session has locked its
--   job or because the call dies, the next call of api.evacuation_judge asks that step.
-- - Nodes are drained under their locks before their steps are read, so no step starts there afterwards.
-- - A step is asked to end once. It is then queued again like any other step, for the nodes that internal.move_nodes answers.

create function internal.evacuation_is_of(p_job bigint, p_step int, p_request int, p_steps internal.attempt_key[]) returns boolean
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select exists (select from unnest(p_steps) v where v.job_id = p_job and v.step_id in (p_step, p_request));
$$;
comment on function internal.evacuation_is_of(bigint, int, int, internal.attempt_key[]) is
	'Whether p_steps, the steps that are to be moved, include a step, or the array (p_request) of which the step is an '
	'element.';

create function internal.evacuation_steps(p_nodes int[], p_steps internal.attempt_key[], p_parallel text, p_no_checkpoint text)
returns table (job_id bigint, step_id int, attempt int, nodes text[], action text)
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select s.job_id, s.step_id, s.attempt, t.nodes, case
		when s.end_wanted is not null or s.state = 'ending' then 'wait'
		-- A pre-dispatched element, or a step that was sent ahead, has not begun.
		when a.started_at is null then 'move'
		when cardinality(t.node_ids) > 1 and p_parallel <> 'move' then p_parallel
		when r.checkpoint is not null and s.state = 'running' then 'checkpoint'
		when p_no_checkpoint = 'requeue' and r.requeue then 'move'
		when p_no_checkpoint = 'cancel' then 'cancel'
		else 'wait' end
	from (
		-- Steps on the nodes, or steps of the jobs in p_steps.
		select distinct on (o.job_id, o.step_id) o.job_id, o.step_id, o.attempt, o.started_at
		from allocation o
		where o.ended_at is null and o.attempt > 0 and (o.node_id = any (p_nodes)
			or o.job_id = any (array(select v.job_id from unnest(p_steps) v)))
		order by o.job_id, o.step_id, o.started_at nulls last
	) a
	join step s on s.job_id = a.job_id and s.step_id = a.step_id and s.attempt = a.attempt
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt
	where p_steps = '{}' or internal.evacuation_is_of(s.job_id, s.step_id, s.request_id, p_steps);
end $$;
comment on function internal.evacuation_steps(int[], internal.attempt_key[], text, text) is
	'The attempts that run on nodes, or those of steps (internal.evacuation_is_of), each with the action that the evacuation '
	'takes, as in rota.evacuation_move.';

create function internal.evacuation_without(p_evacuation bigint, p_job bigint, p_step int) returns text
language sql stable set search_path = rota, pg_temp as $$
	select case
		when e.no_checkpoint = 'cancel' then 'cancel'
		when e.no_checkpoint = 'requeue' and r.requeue then 'move'
		when e.by_at <= now() then case when r.requeue then 'move' else 'cancel' end
		when e.nodes = '{}' then 'leave' -- as in internal.evacuation_begin
		else 'wait' end
	from evacuation e, step s
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	where e.evacuation_id = p_evacuation and s.job_id = p_job and s.step_id = p_step;
$$;
comment on function internal.evacuation_without(bigint, bigint, int) is
	'The action, as in rota.evacuation_move, for a step that the evacuation could not have saved.';

create function internal.evacuation_end(p_evacuation bigint, p_move rota.evacuation_move, p_actor text) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_begun constant boolean := exists (select from allocation a where a.job_id = p_move.job_id and a.step_id = p_move.step_id
		and a.attempt = p_move.attempt and a.ended_at is null and a.started_at is not null);
	v_action text := p_move.action;
begin
	perform internal.preempt_withdraw(p_move.job_id, p_move.step_id) where v_begun;
	if v_action = 'checkpoint' and internal.checkpoint_ask(p_move.job_id, p_move.step_id, 'evacuate', p_actor,
		'evacuation ' || p_evacuation, 'requeue') is null then
		v_action := internal.evacuation_without(p_evacuation, p_move.job_id, p_move.step_id);
	end if;
	update evacuation_move m
	set action = v_action, state = case when v_action in ('wait', 'leave') then 'waiting' else 'ending' end,
		asked_at = clock_timestamp()
	where (m.evacuation_id, m.job_id, m.step_id, m.attempt) = (p_evacuation, p_move.job_id, p_move.step_id, p_move.attempt);
	if v_action in ('wait', 'leave') then
		return;
	end if;
	perform internal.step_move(p_actor, array[internal.move_of(job_id => p_move.job_id, step_id => p_move.step_id,
		event => 'modify', cause => 'evacuated',
		message => format('%s: evacuation %s', case v_action when 'cancel' then 'cancelled' else 'moved to other nodes' end,
			p_evacuation))]);
	if v_action = 'move' and not v_begun then
		perform internal.predispatch_withdraw(p_move.job_id, p_move.step_id);
	elsif v_action <> 'checkpoint' then
		update step s set end_wanted = case v_action when 'cancel' then 'cancel' else 'requeue' end
		where s.job_id = p_move.job_id and s.step_id = p_move.step_id;
		perform internal.attempt_order('kill', p_move.job_id, p_move.step_id, '{"cause": "evacuated"}');
	end if;
end $$;
comment on function internal.evacuation_end(bigint, rota.evacuation_move, text) is
	'Ask a step of an evacuation to end. The caller has locked its job.';

create function internal.evacuation_ask(p_evacuation bigint, p_jobs bigint[], p_actor text) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_one evacuation_move;
begin
	for v_one in
		select m.*
		from evacuation_move m
		join step s on s.job_id = m.job_id and s.step_id = m.step_id and s.attempt = m.attempt and s.end_wanted is null
			and s.ended_at is null and s.state not in ('pending', 'ending')
		where m.evacuation_id = p_evacuation and m.state = 'waiting' and m.action in ('checkpoint', 'move', 'cancel')
		and m.job_id = any (p_jobs)
		order by m.job_id, m.step_id desc
	loop
		perform internal.evacuation_end(p_evacuation, v_one, p_actor);
	end loop;
end $$;
comment on function internal.evacuation_ask(bigint, bigint[], text) is
	'Ask the steps of an evacuation to end that are to move and whose jobs (p_jobs) the caller has locked.';

create function internal.evacuation_unsaved(p_failed rota.checkpoint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	-- nodemgrd continues with the evacuation.
	update evacuation_move m
	set state = 'waiting', action = internal.evacuation_without(m.evacuation_id, m.job_id, m.step_id)
	from step s
	where m.job_id = p_failed.job_id and m.step_id = p_failed.step_id and m.attempt = p_failed.attempt and m.action = 'checkpoint'
		and m.state = 'ending' and s.job_id = m.job_id and s.step_id = m.step_id and s.end_wanted is null;
end $$;
comment on function internal.evacuation_unsaved(rota.checkpoint) is
	'The checkpoint of a step that is moved has failed: the evacuation treats the step as no_checkpoint says.';

create function internal.evacuation_progress(p_evacuation bigint) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update evacuation_move m
	set state = x.state, ended_at = case when x.state <> 'queued' then clock_timestamp() end,
		to_nodes = case when x.state = 'moved' then x.nodes end
	from (
		select v.job_id, v.step_id, v.attempt, n.nodes,
			case when s.job_id is null or (s.ended_at is not null and s.attempt <= v.attempt) then 'ended'
				when s.attempt > v.attempt then 'moved' else 'queued' end as state
		from evacuation_move v
		left join step s on s.job_id = v.job_id and s.step_id = v.step_id
		left join attempt n on n.job_id = s.job_id and n.step_id = s.step_id and n.attempt = s.attempt
		where v.evacuation_id = p_evacuation and v.state in ('waiting', 'ending', 'queued')
			and not exists (select from allocation a
				where a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.ended_at is null)
	) x
	where m.evacuation_id = p_evacuation and m.job_id = x.job_id and m.step_id = x.step_id and m.attempt = x.attempt
		and m.state <> x.state;
end $$;
comment on function internal.evacuation_progress(bigint) is
	'Note which steps of an evacuation have left their nodes, and where they run now.';

create function internal.evacuation_close(p_evacuation bigint, p_state text, p_message text) returns void
language sql set search_path = rota, pg_temp as $$
	update evacuation_move m set state = 'left', ended_at = clock_timestamp()
	where m.evacuation_id = p_evacuation and m.state = 'waiting';
	update evacuation e set state = p_state, ended_at = clock_timestamp(), message = p_message
	where e.evacuation_id = p_evacuation and e.state = 'open';
$$;
comment on function internal.evacuation_close(bigint, text, text) is
	'End an evacuation. Steps that have not been asked to end stay.';

create function internal.evacuation_left(p_evacuation bigint) returns text
language sql stable set search_path = rota, pg_temp as $$
	select string_agg(internal.step_label(m.job_id, m.step_id), ', ' order by m.job_id, m.step_id)
	from evacuation_move m
	where m.evacuation_id = p_evacuation and m.state in ('waiting', 'ending') and m.action <> 'leave';
$$;
comment on function internal.evacuation_left(bigint) is 'The steps that an evacuation still waits for, as text; null: none.';

create function internal.evacuation_settle(p_one rota.evacuation) returns text
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_jobs bigint[];
	v_left text;
begin
	if p_one.by_at <= now() then
		-- At the deadline, a step that can save itself and was not asked yet is asked for a checkpoint. The others end.
		update evacuation_move m
		set action = case when r.checkpoint is not null and s.state = 'running' and m.asked_at is null then 'checkpoint'
			when r.requeue then 'move' else 'cancel' end
		from step s
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		where m.evacuation_id = p_one.evacuation_id and m.state = 'waiting' and m.action = 'wait'
			and s.job_id = m.job_id and s.step_id = m.step_id;
	end if;
	-- A step that was suspended and runs again is asked for a checkpoint, if it has --checkpoint.
	update evacuation_move m set action = 'checkpoint'
	from step s
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	where m.evacuation_id = p_one.evacuation_id and m.state = 'waiting' and m.action = 'wait' and m.asked_at is null
		and (cardinality(m.nodes) = 1 or p_one.parallel = 'move') and s.job_id = m.job_id and s.step_id = m.step_id
		and s.attempt = m.attempt and s.state = 'running' and s.end_wanted is null and r.checkpoint is not null;
	v_jobs := internal.job_lock_free(array(select distinct m.job_id from evacuation_move m
		where m.evacuation_id = p_one.evacuation_id and m.state = 'waiting' and m.action in ('checkpoint', 'move', 'cancel')));
	perform internal.evacuation_ask(p_one.evacuation_id, v_jobs, p_one.made_by);
	perform internal.evacuation_progress(p_one.evacuation_id);
	v_left := internal.evacuation_left(p_one.evacuation_id);
	if v_left is null then
		perform internal.evacuation_close(p_one.evacuation_id, 'done', null);
		return 'done';
	elsif p_one.by_at is null and p_one.made_at < now() - make_interval(secs => internal.setting_int('evacuate_wait_s')) then
		perform internal.evacuation_close(p_one.evacuation_id, 'late', 'still there: ' || v_left);
		return 'late';
	end if;
	return null;
end $$;
comment on function internal.evacuation_settle(rota.evacuation) is
	'Ask the steps of an open evacuation that are due for a checkpoint, or to end. At its deadline, steps with action wait '
	'are due, too. Returns the final state of the evacuation (done or late) if it is over, else null.';

create function api.evacuation_judge() returns table (evacuation_id bigint, nodes text, state text, message text)
language plpgsql security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	c_most constant int := 100;
	v_one evacuation;
begin
	perform internal.failing_save();
	if not exists (select from evacuation e where e.ended_at is null)
		and not exists (select from evacuation_move m where m.state in ('waiting', 'ending', 'queued'))
		or not pg_try_advisory_xact_lock(hashtext('rota evacuation_judge')) then
		return; -- nothing is due, or another nodemgrd does it
	end if;
	-- A random choice: if there are more than one call takes, each has its turn.
	perform internal.evacuation_progress(x.evacuation_id)
	from (select m.evacuation_id from evacuation_move m join evacuation e on e.evacuation_id = m.evacuation_id
		where m.state in ('waiting', 'ending', 'queued') and e.ended_at is not null
		group by m.evacuation_id order by random() limit c_most) x;
	for v_one in select e.* from evacuation e where e.ended_at is null order by random() limit c_most loop
		if internal.evacuation_settle(v_one) is not null then
			return query
			select e.evacuation_id, array_to_string(e.nodes, ','), e.state, e.message from evacuation e
			where e.evacuation_id = v_one.evacuation_id;
		end if;
	end loop;
	delete from evacuation e where e.ended_at < now() - make_interval(days => internal.setting_int('evacuate_days'));
end $$;
comment on function api.evacuation_judge() is
	'Ask steps on failing nodes for checkpoints (internal.failing_save), and go on with evacuations, 100 a call: ask steps to '
	'end that are to move, note which have left their nodes. '
	'Answers those that are over.';

-- Requests of operators and owners.

create function internal.evacuation_read(p_user text, p_request jsonb) returns rota.evacuation
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_one evacuation;
begin
	v_one.nodes := internal.request_nodes(p_request, 'nodes');
	v_one.to_nodes := internal.request_nodes(p_request, 'to');
	v_one.not_nodes := internal.request_nodes(p_request, 'exclude');
	v_one.parallel := coalesce(internal.request_text(p_request, 'parallel'), 'move');
	v_one.no_checkpoint := coalesce(internal.request_text(p_request, 'no_checkpoint'), 'wait');
	v_one.by_at := internal.request_time(p_request, 'by');
	v_one.made_by := p_user;
	if v_one.parallel not in ('wait', 'move', 'leave') then
		raise exception '"%" is no value for "parallel"', v_one.parallel using errcode = 'RT422',
			hint = 'Use wait, move or leave.';
	elsif v_one.no_checkpoint not in ('wait', 'requeue', 'cancel') then
		raise exception '"%" is no value for "no_checkpoint"', v_one.no_checkpoint using errcode = 'RT422',
			hint = 'Use wait, requeue or cancel.';
	elsif v_one.by_at <= now() then
		raise exception '"by" is over already: %', v_one.by_at using errcode = 'RT422',
			hint = 'Leave it out to wait, or use no_checkpoint=requeue.';
	elsif v_one.to_nodes && (v_one.nodes || v_one.not_nodes) then
		raise exception 'node "%" is a destination, so it cannot be evacuated or excluded',
			(select x from unnest(v_one.to_nodes) x where x = any (v_one.nodes || v_one.not_nodes) limit 1)
			using errcode = 'RT422';
	end if;
	return v_one;
end $$;
comment on function internal.evacuation_read(text, jsonb) is
	'The evacuation that a request describes. RT422 names the wrong member.';

create function internal.evacuation_plan(p_one rota.evacuation, p_steps internal.attempt_key[]) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('label', internal.step_label(v.job_id, v.step_id), 'user', j.user_name,
			'state', s.state, 'nodes', v.nodes, 'action', v.action) order by v.job_id, v.step_id), '[]')
		from internal.evacuation_steps(array(select n.node_id from node n where n.name = any (p_one.nodes)), p_steps,
			p_one.parallel, p_one.no_checkpoint) v
		join step s on s.job_id = v.job_id and s.step_id = v.step_id
		join job j on j.job_id = v.job_id);
end $$;
comment on function internal.evacuation_plan(rota.evacuation, internal.attempt_key[]) is
	'The steps that an evacuation would move, with the action for each.';

create function internal.evacuation_check(p_nodes text[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_open evacuation;
begin
	select e.* into v_open from evacuation e where e.state = 'open' and e.nodes && p_nodes order by e.evacuation_id limit 1;
	if v_open.evacuation_id is not null then
		raise exception 'node "%" is being evacuated already: evacuation %', (select x from unnest(v_open.nodes) x
			where x = any (p_nodes) limit 1), v_open.evacuation_id using errcode = 'RT409',
			hint = format('Cancel that first: rota admin node cancel-evacuation %s.', v_open.evacuation_id);
	end if;
end $$;
comment on function internal.evacuation_check(text[]) is 'Refuse nodes that are being evacuated.';

create function internal.evacuation_begin(p_one rota.evacuation, p_steps internal.attempt_key[]) returns bigint
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_nodes constant int[] := array(select n.node_id from node n where n.name = any (p_one.nodes) order by n.node_id);
	v_locked bigint[] := array(select distinct v.job_id from internal.evacuation_steps(v_nodes, p_steps, 'move', 'wait') v);
	v_drained int[];
	v_id bigint;
begin
	perform internal.job_lock(v_locked);
	perform internal.node_lock(v_nodes);
	perform internal.evacuation_check(p_one.nodes);
	v_drained := array(select n.node_id from node n where n.node_id = any (v_nodes) and n.state = 'up' order by n.node_id);
	insert into evacuation (nodes, drained, parallel, no_checkpoint, to_nodes, not_nodes, by_at, made_by)
	values (p_one.nodes, v_drained, p_one.parallel, p_one.no_checkpoint, p_one.to_nodes, p_one.not_nodes,
		p_one.by_at, p_one.made_by)
	returning evacuation_id into v_id;
	perform internal.node_state_set(d, 'drain', p_one.made_by, 'evacuation ' || v_id) from unnest(v_drained) d;
	insert into evacuation_move (evacuation_id, job_id, step_id, attempt, nodes, action)
	-- A move of a job leaves steps alone that cannot be moved now; an evacuation waits for them.
	select v_id, v.job_id, v.step_id, v.attempt, v.nodes,
		case when v.action = 'wait' and p_one.nodes = '{}' then 'leave' else v.action end
	from internal.evacuation_steps(v_nodes, p_steps, p_one.parallel, p_one.no_checkpoint) v;
	perform internal.evacuation_ask(v_id, v_locked, p_one.made_by);
	if internal.evacuation_left(v_id) is null then
		perform internal.evacuation_close(v_id, 'done', null);
	end if;
	notify rota_event;
	return v_id;
end $$;
comment on function internal.evacuation_begin(rota.evacuation, internal.attempt_key[]) is
	'Drain the nodes of an evacuation and ask those steps to end that move at once. Returns the number of the evacuation.';

create function internal.evacuation_cancel(p_evacuation bigint, p_user text) returns boolean
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_one evacuation;
	v_node node;
begin
	select e.* into v_one from evacuation e where e.evacuation_id = p_evacuation;
	if v_one.evacuation_id is null then
		raise exception 'there is no evacuation %', p_evacuation using errcode = 'RT404',
			hint = 'List them: rota admin node evacuations.';
	elsif v_one.state <> 'open' then
		return false;
	end if;
	perform internal.node_lock(v_one.drained);
	-- Another call may have closed the evacuation meanwhile.
	perform from evacuation e where e.evacuation_id = p_evacuation and e.state = 'open' for update;
	if not found then
		return false;
	end if;
	perform internal.evacuation_close(p_evacuation, 'cancelled', 'cancelled by ' || p_user);
	for v_node in
		select n.* from node n
		where n.node_id = any (v_one.drained) and n.state = 'drain' and n.reason = 'evacuation ' || p_evacuation
	loop
		perform internal.node_resume(v_node, p_user, null);
	end loop;
	return true;
end $$;
comment on function internal.evacuation_cancel(bigint, text) is
	'Cancel an evacuation, and resume the nodes that it drained. Steps that were not asked to end run on. Answers whether the '
	'evacuation was open.';

create function internal.evacuations_json(p_names text[]) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('evacuation', e.evacuation_id, 'nodes', e.nodes, 'state', e.state,
			'made_by', e.made_by, 'made_at', e.made_at, 'by', e.by_at, 'ended_at', e.ended_at, 'message', e.message, 'moves', (
				select coalesce(jsonb_agg(jsonb_build_object('label', internal.step_label(m.job_id, m.step_id),
					'action', m.action, 'state', m.state, 'nodes', m.nodes, 'to_nodes', m.to_nodes,
					'asked_at', m.asked_at, 'ended_at', m.ended_at) order by m.job_id, m.step_id), '[]')
				from evacuation_move m where m.evacuation_id = e.evacuation_id)) order by e.evacuation_id desc), '[]')
		from (select x.* from evacuation x where p_names = '{}' or x.nodes && p_names order by x.evacuation_id desc limit 50) e);
end $$;
comment on function internal.evacuations_json(text[]) is
	'The last 50 evacuations (of these nodes), the newest first, as a JSON list.';

create function api.evacuate(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_action constant text := coalesce(internal.request_text(p_request, 'action'), '');
	v_one evacuation;
begin
	if internal.caller_role(p_uid, p_user) = 'user' then
		raise exception 'you may not do this to the cluster' using errcode = 'RT403', hint = 'Only operators evacuate nodes.';
	elsif v_action = 'list' then
		return jsonb_build_object('evacuations', internal.evacuations_json(internal.request_nodes(p_request, 'nodes')));
	elsif v_action = 'cancel' then
		return jsonb_build_object('changed',
			internal.evacuation_cancel(internal.request_int(p_request, 'evacuation', 9007199254740991), p_user));
	elsif v_action <> 'evacuate' then
		raise exception 'there is no action "%"', v_action using errcode = 'RT422',
			hint = 'Actions are evacuate, list and cancel.';
	elsif internal.request_text(p_request, 'nodes') is null then
		raise exception 'name the nodes' using errcode = 'RT422';
	end if;
	v_one := internal.evacuation_read(p_user, p_request);
	perform internal.evacuation_check(v_one.nodes);
	return jsonb_build_object('plan', internal.evacuation_plan(v_one, '{}'), 'nodes', v_one.nodes,
		'evacuation', case when not internal.request_bool(p_request, 'dry_run') then internal.evacuation_begin(v_one, '{}') end);
end $$;
comment on function api.evacuate(int, text, jsonb) is
	'Evacuate nodes, list evacuations, or cancel one; for operators. Request {action: evacuate, list or cancel, nodes, '
	'parallel: wait, move or leave, no_checkpoint: wait, requeue or cancel, to, exclude, by, dry_run, evacuation}. '
	'Answer {plan: [{label, user, state, nodes, action}], nodes, evacuation} (null: nothing was done), '
	'{evacuations: [{evacuation, nodes, state, made_by, made_at, by, ended_at, message, moves}]} or {changed}.';
