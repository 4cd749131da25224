create function internal.tasks_json(p_job bigint, p_step int, p_attempt int) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
	select coalesce(jsonb_agg(jsonb_build_object('task', t.task, 'node', n.name, 'pid', t.pid, 'started_at', t.started_at,
		'ended_at', t.ended_at,
		'exit_code', t.exit_code, 'signal', t.signal, 'cause', t.cause, 'user_s', trim_scale(t.user_usec / 1e6),
		'system_s', trim_scale(t.system_usec / 1e6), 'max_rss_kb',
		t.max_rss_kb) order by t.task), '[]')
	from task_end t
	join node n on n.node_id = t.node_id
	where t.job_id = p_job and t.step_id = p_step and t.attempt = p_attempt);
end $$;
comment on function internal.tasks_json(bigint, int, int) is 'The ended tasks of an attempt, as a JSON list.';

create function internal.edges_json(p_job bigint, p_step int) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
	select coalesce(jsonb_agg(jsonb_build_object('label',
		coalesce(internal.step_label(e.peer_job_id, nullif(e.peer_step_id, -1)), e.peer_job_id::text),
		'kind', e.kind, 'condition', e."condition", 'state', e.state) order by e.edge), '[]')
	from step_edge e
	where e.job_id = p_job and e.step_id = p_step);
end $$;
comment on function internal.edges_json(bigint, int) is 'The peer constraints of a step, as a JSON list.';

create function internal.preempted_json(p_job bigint, p_step int, p_attempt int) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return coalesce((
		select jsonb_build_object('preempted_by', case when internal.setting_bool('queue_visible') or o.uid = j.uid
			then internal.step_label(e.by_job_id, e.by_step_id) else 'another job' end,
			'preempted_at', e.at, 'preempted_mode', e.mode)
		from preempted e
		join job j on j.job_id = e.job_id
		left join job o on o.job_id = e.by_job_id
		where e.job_id = p_job and e.step_id = p_step and e.attempt = p_attempt), '{}');
end $$;
comment on function internal.preempted_json(bigint, int, int) is
	'For which step an attempt was preempted, when, and how (rota.preempted.mode); empty: the attempt was not preempted. If '
	'users do not see the jobs of others (queue_visible), the step is not named.';

create function internal.attempt_json(p_attempt rota.attempt, p_state text, p_own boolean) returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	select jsonb_build_object('attempt', p_attempt.attempt, 'state', coalesce(p_attempt.state, p_state), 'nodes',
		array_to_string(p_attempt.nodes, ','),
		'started_at', p_attempt.started_at, 'ended_at', p_attempt.ended_at,
		'elapsed_s',
		extract(epoch from coalesce(p_attempt.done_at, p_attempt.ended_at, now()) - p_attempt.started_at),
		'suspended_s', p_attempt.suspended_s + coalesce(extract(epoch from now() - p_attempt.suspended_at), 0),
		'exit_code', p_attempt.exit_code, 'signal', p_attempt.signal, 'cause', p_attempt.cause, 'message',
		case when p_own then p_attempt.message end)
		|| case when p_attempt.state = 'completed' then '{}'
		else internal.preempted_json(p_attempt.job_id, p_attempt.step_id, p_attempt.attempt) end;
$$;
comment on function internal.attempt_json(rota.attempt, text, boolean) is
	'An attempt of a step, with the step that preempted it. p_state: the step''s state, which is that of a live attempt; p_own: '
	'with the members that only the owner and operators may see.';

create function internal.checkpoints_json(p_job bigint, p_step int) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('generation', c.generation, 'attempt', c.attempt, 'state', c.state,
			'reason', c.reason, 'asked_at', c.asked_at, 'complete_at', c.complete_at, 'bytes', c.bytes)
			order by c.generation), '[]')
		from (select o.* from checkpoint o where o.job_id = p_job and o.step_id = p_step order by o.generation desc limit 20) c);
end $$;
comment on function internal.checkpoints_json(bigint, int) is 'The latest 20 checkpoints of a step, as a JSON list.';

create function internal.element_json(p_array rota.step, p_counts rota.step_array, p_pos int) returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	select jsonb_build_object('step_id', p_array.step_id + 1 + p_pos, 'label',
		format('%s[%s]', internal.step_label(p_array.job_id, p_array.step_id), x.index),
		'state', case when p_array.ended_at is null then 'pending' else p_array.state end, 'array_index', x.index,
		'array', null,
		'attempt', 0, 'attempts', '[]'::jsonb, 'checkpoints', '[]'::jsonb, 'retries', 0, 'requeues', 0, 'started_at', null,
		'elapsed_s', null, 'exit_code', null, 'signal', null)
	from (select internal.array_index(p_counts.indices, p_pos) as index) x;
$$;
comment on function internal.element_json(rota.step, rota.step_array, int) is
	'The members of an element that differ from those of its array, for an element that has no row yet. p_pos: position of the '
	'element in the array.';

create function internal.substeps_json(p_job bigint, p_step int, p_attempt int, p_ended boolean) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
	select jsonb_build_object('waiting', case when p_ended then 0 else t.waiting end,
		'running', case when p_ended then 0 else t.running end,
		'ended', t.ended + case when p_ended then t.waiting + t.running else 0 end, 'failed', t.failed)
	from substep_total t
	where t.job_id = p_job and t.step_id = p_step and t.attempt = p_attempt);
end $$;
comment on function internal.substeps_json(bigint, int, int, boolean) is
	'How many sub-steps of an attempt wait, run, have ended, and how many of the ended ones have failed; null: the attempt has '
	'none. p_ended: the attempt has ended, and so have all of its sub-steps.';

create function internal.steps_shown(p_job bigint, p_steps int[], p_elements boolean) returns table (row_id int, step_id int)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select s.step_id, s.step_id from step_request r join step s on s.job_id = r.job_id and s.step_id = r.step_id
	where r.job_id = p_job and (p_steps is null or s.step_id = any (p_steps))
	union
	-- Include elements if they are requested. An element without a row is like its array, but has not begun.
	select s.step_id, s.step_id from step s
		where s.job_id = p_job and p_elements and s.array_index is not null
		and (p_steps is null or s.request_id = any (p_steps))
	union
	select coalesce(s.step_id, r.step_id), v.step_id
	from unnest(p_steps) as v (step_id)
	left join step s on s.job_id = p_job and s.step_id = v.step_id
	left join lateral (select max(a.step_id) as step_id from step_array a
		where a.job_id = p_job and a.step_id < v.step_id) r on true;
end $$;
comment on function internal.steps_shown(bigint, int[], boolean) is
	'The rows for internal.steps_json: steps and elements of a job. row_id: the row in which an element is found, its own or '
	'that of its array.';

create function internal.request_json(p_request rota.step_request, p_spec jsonb) returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	select jsonb_build_object('name', p_request.name, 'line', p_request.line, 'retry', p_request.retry, 'requeue',
		p_request.requeue, 'deadline_at', p_request.deadline_at, 'time_min_s', p_request.time_min_s,
		'ntasks', p_request.ntasks, 'cpus_per_task', p_request.cpus_per_task, 'nodes_min', p_request.nodes_min,
		'nodes_max', p_request.nodes_max, 'gres', p_request.gres, 'licenses', p_request.licenses,
		'constraint', nullif(p_request."constraint", ''), 'exclusive', p_request.exclusive,
		'nodelist', p_request.nodelist, 'exclude', p_request.exclude, 'partition', p_request.partition,
		'reservation', p_request.reservation, 'image', p_request.image, 'checkpoint', p_request.checkpoint,
		'eternal', p_request.eternal, 'prep', p_request.prep, 'group', p_request.group_name, 'deps_any', p_request.deps_any,
		'keep', p_request.keep, 'sample_s', p_request.sample_s,
		'workdir', p_spec ->> 'workdir', 'output', p_spec ->> 'output', 'error', p_spec ->> 'error',
		'input', p_spec ->> 'input', 'open_mode',
		case p_spec ->> 'append' when '1' then 'append' when '0' then 'truncate' end,
		'job_name', p_spec ->> 'job_name', 'prolog', p_spec ->> 'user_prolog', 'epilog', p_spec ->> 'user_epilog',
		'credentials', regexp_replace(p_spec ->> 'credentials', '([^,@]+)@([^,]+)', '\2/\1', 'g'),
		'tmpdir', p_spec ? 'tmpdir', 'if_changed', p_spec ->> 'if_changed', 'idle_timeout_s', (p_spec ->> 'idle_timeout_s')::int,
		'limit_signal', nullif(concat(case when p_spec ? 'signal_shell' then 'B:' end, p_spec ->> 'signal',
		'@' || coalesce(p_spec ->> 'signal_s', case when p_spec ? 'signal' then '0' end)), ''));
$$;
comment on function internal.request_json(rota.step_request, jsonb) is
	'The options of a step, as JSON for clients: those of its row, and those of its spec. p_spec: internal.spec_fields of '
	'the spec; null: the caller is not the owner, and gets those of the row only.';

create function internal.array_json(p_array rota.step_array) returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	select jsonb_build_object('size', p_array.size, 'next', p_array.next, 'running', p_array.running,
		'completed', p_array.completed, 'failed', p_array.failed, 'limit', p_array.max_running, 'indices', p_array.indices);
$$;
comment on function internal.array_json(rota.step_array) is
	'An array as JSON: its indices, its limit, and how many of its elements run, have completed or have failed.';

create function internal.checkpointing_json(p_job bigint, p_step int, p_attempt int, p_own boolean) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
	select jsonb_build_object('driver', c.driver, 'why', case when p_own then c.why end)
	from checkpoint_start c
	where c.job_id = p_job and c.step_id = p_step and c.attempt = p_attempt and c.driver is not null);
end $$;
comment on function internal.checkpointing_json(bigint, int, int, boolean) is
	'The driver that an attempt uses for checkpoints and, for the owner or an operator (p_own), why.';

create function internal.steps_json(p_job bigint, p_steps int[], p_elements boolean, p_own boolean) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
	with full_line as materialized (
		select * from internal.full_lines()
	)
	select coalesce(jsonb_agg(internal.request_json(r, f.spec) || jsonb_build_object(
		'step_id', s.step_id, 'label', internal.step_label(s.job_id, s.step_id), 'state', w.state,
		'held', nullif(s.held, ''), 'held_reason', internal.staging_veil(s.held_reason, p_own),
		'reason', case when w.reason = 'scheduler'
			and exists (select from full_line f where f.association_id = s.association_id and f.partition = s.queue)
			then 'limit' else w.reason end,
		'attempt', coalesce(t.attempt, 0), 'retries', s.retries, 'requeues', s.requeues, 'begin_at', s.begin_at, 'eligible_at',
		s.eligible_at, 'started_at', s.started_at, 'ended_at', s.ended_at, 'expected_at', pl.expected_at,
		'elapsed_s', extract(epoch from coalesce(t.done_at, s.ended_at, now()) - s.started_at), 'suspended_s',
		coalesce(t.suspended_s + coalesce(extract(epoch from now() - t.suspended_at), 0), 0),
		'time_limit_s', coalesce(t.time_limit_s, r.time_limit_s, p.default_time_s, p.max_time_s, 0),
		'exit_code', s.exit_code, 'signal', s.signal, 'cause', s.cause, 'message', case when p_own then s.message end,
		'nodes', coalesce(array_to_string(t.nodes, ','), ''), 'warnings',
		case when s.ended_at is null and t.attempt > 0 then internal.step_warnings(s.job_id, s.step_id, s.attempt)
		else '[]' end, 'cpus', coalesce(l.cpus, r.ntasks::bigint * r.cpus_per_task),
		'mem_mb', coalesce(l.mem_mb, r.mem_mb, r.mem_per_cpu_mb * r.ntasks * r.cpus_per_task),
		'checkpointing',
		case when r.checkpoint is not null then internal.checkpointing_json(s.job_id, s.step_id, t.attempt, p_own) end,
		'array_index', s.array_index,
		'array', case when a.size is not null then internal.array_json(a) end,
		'after', case when s.array_index is null then internal.edges_json(s.job_id, s.step_id) else '[]' end,
		'tasks', internal.tasks_json(s.job_id, s.step_id, t.attempt), 'hooks',
		internal.hooks_json(s.job_id, s.step_id, t.attempt, p_own),
		'checkpoints',
		case when r.checkpoint is not null then internal.checkpoints_json(s.job_id, s.step_id) else '[]' end,
		'checkpoint_timer',
		case when r.checkpoint ? 'interval' and s.ended_at is null then internal.checkpoint_timer_json(s.job_id, s.step_id) end,
		'substeps',
		case when t.attempt > 0
		then internal.substeps_json(s.job_id, s.step_id, s.attempt, t.state is not null) end,
		-- Most steps have one attempt, which was read already. After a requeue, there is none before the step starts again.
		'attempts',
		case when s.attempt > 1 or (s.attempt = 1 and s.ordered_at is null)
		then (select jsonb_agg(internal.attempt_json(a, w.state, p_own) order by a.attempt) from attempt a
			where a.job_id = p_job and a.step_id = s.step_id and a.attempt > 0)
		when t.attempt > 0 then jsonb_build_array(internal.attempt_json(t, w.state, p_own)) else '[]' end)
		|| case when o.step_id <> o.row_id then internal.element_json(s, a, o.step_id - o.row_id - 1) else '{}' end
			order by o.step_id), '[]')
	from internal.steps_shown(p_job, p_steps, p_elements) o
	join step s on s.job_id = p_job and s.step_id = o.row_id
	join step_request r on r.job_id = p_job and r.step_id = s.request_id
	cross join lateral (select case when p_own then internal.spec_fields(r.spec) end as spec offset 0) f -- once a row
	left join step_array a on a.job_id = p_job and a.step_id = s.step_id
	-- "limit 1" makes the planner find the step by key instead of starting with all steps.
	cross join lateral (select n.state, n.reason from internal.step_now n
		where n.job_id = p_job and n.step_id = s.step_id limit 1) w
	left join partition p on p.partition = r.partition
	left join plan pl on pl.job_id = p_job and pl.step_id = s.step_id
	left join attempt t on t.job_id = p_job and t.step_id = s.step_id and t.attempt = s.attempt and s.ordered_at is not null
	left join lateral (select sum(al.cpus) as cpus, sum(al.mem_mb) as mem_mb from allocation al
		where al.job_id = p_job and al.step_id = t.step_id and al.attempt = t.attempt) l on true);
end $$;
comment on function internal.steps_json(bigint, int[], boolean, boolean) is
	'The steps of a job (p_steps: these; null: all of the script). p_elements: with the elements of arrays; p_own: with the '
	'members that only the owner and operators may see.';

create function internal.job_changed(p_jobs bigint[], p_since text) returns boolean
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	-- The cursor is a snapshot: an event is new if the snapshot could not see it, however late it was committed. A
	-- transaction id from the future comes from the database that this one was restored from, and is not new.
	return exists (
		select from event e
		where e.job_id = any (p_jobs) and e.xid >= pg_snapshot_xmin(p_since::pg_snapshot)
			and not pg_visible_in_snapshot(e.xid, p_since::pg_snapshot)
			and e.xid <= pg_snapshot_xmax(pg_current_snapshot()));
exception when invalid_text_representation then
	raise exception '"%" is not a cursor', p_since using errcode = 'RT422', hint = 'Give the "cursor" of an answer.';
end $$;
comment on function internal.job_changed(bigint[], text) is 'Whether jobs have events that are newer than a cursor.';

create function api.job_show(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
	v_target jsonb;
	v_jobs bigint[];
	v_cursor text := pg_current_snapshot()::text;
	v_role text := internal.caller_role(p_uid, p_user);
	v_answer jsonb;
begin
	select jsonb_agg(to_jsonb(t)), array_agg(distinct t.job_id) into v_target,
		v_jobs from internal.job_target(p_uid, p_user, p_request, false) t;
	if internal.request_text(p_request, 'since') is not null and not internal.job_changed(v_jobs, p_request ->> 'since') then
		return jsonb_build_object('changed', false, 'cursor', v_cursor);
	end if;
	select jsonb_agg(s.facts || jsonb_build_object('uid', j.uid, 'gid', j.gid, 'exit_code', j.exit_code, 'signal', j.signal,
		'cause', j.cause,
			'nice', j.nice, 'own', x.own,
			-- Members that only the owner and administrators see.
			'script_name', case when x.own then j.script_name end, 'arguments',
				case when x.own then to_jsonb(j.arguments) end, 'submit_line',
				case when x.own then j.submit_line end, 'workdir', case when x.own then j.workdir end,
			'comment', case when x.own then j.comment end, 'mail_user', case when x.own then j.mail_user end,
				'mail_type', case when x.own then j.mail_type end,
			'changes', case when x.own then internal.job_changes_json(j.job_id) end,
			'staging', case when j.staging then internal.staging_json(j.job_id, x.own) end,
			'transfers', case when x.own then internal.transfers_json(j.job_id) end,
			'mails', case when x.own and j.mail_type is not null then internal.mails_json(j.job_id) end,
			'steps',
			internal.steps_json(j.job_id, case when not x.whole then x.steps end,
			internal.request_bool(p_request, 'elements'), x.own),
			'edges',
			(select coalesce(jsonb_agg(jsonb_build_object('from', e.peer_step_id, 'to', e.step_id, 'kind', e.kind,
			'condition', e."condition",
				'state', e.state) order by e.step_id, e.edge), '[]')
				from step_edge e where e.job_id = j.job_id and e.peer_job_id = j.job_id)) order by j.job_id)
	into v_answer
	from (
		select t.job_id, bool_or(t.whole_job) as whole, array_agg(t.step_id) as steps
		from jsonb_to_recordset(v_target) as t (job_id bigint, step_id int, whole_job boolean)
		group by t.job_id
	) t
	join job j on j.job_id = t.job_id
	cross join lateral (select j.uid = p_uid or v_role <> 'user' as own, t.whole, t.steps) x
	join internal.job_summary(v_jobs) s on s.job_id = j.job_id;
	return jsonb_build_object('changed', true, 'jobs', coalesce(v_answer, '[]'), 'cursor', v_cursor);
end $$;
comment on function api.job_show(int, text, jsonb) is
	'Jobs with their steps and edges. Request {jobs, elements, since}. Answer {jobs: [...], cursor}; with since, an earlier '
	'cursor: {changed: false, cursor} while nothing has happened.';
