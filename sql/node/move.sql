-- Moves of single jobs, and the nodes on which a moved step may start.
--
-- Called by: owners of jobs (api.job_migrate, api.job_restart); the leader when it reads the queue (internal.move_nodes).
-- Invariants:
-- - A move is a row of rota.evacuation that names no nodes (evacuate.sql): it ends steps and drains nothing.
-- - A row of rota.evacuation_move in the states ending and queued restricts the nodes of its step. When the step has started
--   elsewhere, internal.evacuation_progress changes the state, and the restriction is over.

create function internal.move_is_on() returns boolean
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return exists (select from evacuation_move m where m.state in ('ending', 'queued'));
end $$;
comment on function internal.move_is_on() is 'Whether any step waits for its new nodes.';

create function internal.move_nodes(p_job bigint, p_step int, p_nodelist text[], out nodelist text[], out exclude text[])
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	select case
		when e.to_nodes = '{}' then p_nodelist
		when p_nodelist = '{}' or not p_nodelist && e.to_nodes then e.to_nodes
		else array(select x from unnest(p_nodelist) x where x = any (e.to_nodes)) end, e.not_nodes
	into nodelist, exclude
	from evacuation_move m
	join evacuation e on e.evacuation_id = m.evacuation_id and e.state <> 'cancelled'
	where m.job_id = p_job and m.step_id = p_step and m.state in ('ending', 'queued')
	order by m.evacuation_id desc
	limit 1;
end $$;
comment on function internal.move_nodes(bigint, int, text[]) is
	'nodelist: the nodes on which a moved step may start, of those that it asks for; exclude: the nodes on which it may not. '
	'Null: the step is not being moved.';

create function internal.move_want(p_user text, p_step rota.step, p_to text[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_id bigint;
begin
	insert into evacuation (nodes, parallel, no_checkpoint, to_nodes, made_by, state, ended_at)
	values ('{}', 'move', 'requeue', p_to, p_user, 'done', clock_timestamp())
	returning evacuation_id into v_id;
	insert into evacuation_move (evacuation_id, job_id, step_id, attempt, nodes, action, state)
	values (v_id, p_step.job_id, p_step.step_id, p_step.attempt, coalesce((select t.nodes from attempt t
		where t.job_id = p_step.job_id and t.step_id = p_step.step_id and t.attempt = p_step.attempt), '{}'), 'move', 'queued');
	-- The update changes nothing but the version of the row, by which the leader sees that it must read the step again.
	update step s set attempt = s.attempt where s.job_id = p_step.job_id and s.step_id = p_step.step_id;
end $$;
comment on function internal.move_want(text, rota.step, text[]) is
	'Let the next attempt of a step start only on these nodes. The step waits or is being queued again, and the caller has '
	'locked its job.';

create function internal.migrate_check(p_steps internal.attempt_key[], p_plan jsonb) returns void
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_moving record;
begin
	select internal.step_label(m.job_id, m.step_id) as label, m.evacuation_id into v_moving
	from evacuation_move m
	join evacuation e on e.evacuation_id = m.evacuation_id
	join step s on s.job_id = m.job_id and s.step_id = m.step_id and s.attempt = m.attempt and s.ended_at is null
	where internal.evacuation_is_of(s.job_id, s.step_id, s.request_id, p_steps)
		and m.state in ('waiting', 'ending', 'queued') and m.action <> 'leave'
		-- A step that an evacuation of nodes has not asked to end yet may be moved.
		and (e.nodes = '{}' or m.state <> 'waiting')
	order by m.job_id, m.step_id, m.evacuation_id
	limit 1;
	if v_moving.label is not null then
		raise exception 'step % is being moved already: evacuation %', v_moving.label, v_moving.evacuation_id
			using errcode = 'RT409', hint = 'Move it again when it has started on another node.';
	elsif not exists (select from jsonb_array_elements(p_plan) x where x ->> 'action' in ('move', 'checkpoint')) then
		raise exception 'nothing of the jobs that you name can be moved' using errcode = 'RT409',
			hint = 'A step can be moved while it runs, if it has no order to end and may run again (not --no-requeue).';
	end if;
end $$;
comment on function internal.migrate_check(internal.attempt_key[], jsonb) is
	'Refuse to move steps if one of them is being moved already, or nothing would move (RT409).';

create function api.job_migrate(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_steps constant internal.attempt_key[] := array(select (t.job_id, t.step_id, null)::internal.attempt_key
		from internal.job_target(p_uid, p_user, p_request, true) t);
	v_one evacuation := internal.evacuation_read(p_user, (p_request - '{nodes,by}'::text[])
		|| '{"no_checkpoint": "requeue", "parallel": "move"}');
	v_plan jsonb;
begin
	perform internal.job_lock(array(select distinct v.job_id from unnest(v_steps) v))
	where not internal.request_bool(p_request, 'dry_run');
	-- If the request names no nodes to move to, the steps may start anywhere but on the nodes on which they are.
	if v_one.to_nodes = '{}' then
		v_one.not_nodes := v_one.not_nodes || array(select distinct n
			from internal.evacuation_steps('{}', v_steps, 'move', 'requeue') v cross join lateral unnest(v.nodes) n order by n);
	end if;
	v_plan := internal.evacuation_plan(v_one, v_steps);
	perform internal.migrate_check(v_steps, v_plan);
	return jsonb_build_object('plan', v_plan, 'nodes', v_one.nodes,
		'evacuation', case when not internal.request_bool(p_request, 'dry_run')
			then internal.evacuation_begin(v_one, v_steps) end);
end $$;
comment on function api.job_migrate(int, text, jsonb) is
	'Move steps that run, or all of a job, to other nodes: they are queued again, and start only on the nodes of "to", and not '
	'on those of "exclude" (without "to": nor where they were). Request {jobs, to, exclude, dry_run}. Answer as evacuate. '
	'RT409: internal.migrate_check.';
