-- What nodes report: records of their journals, in order. A record counts for the very attempt and node it names; what was
-- reported before changes nothing, so a process manager that lost its connection simply says everything again.

create function api.report_run(p_records jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	-- The keeper is there, or the tasks are.
	update allocation a
	set phase = case when v.kind = 'run' then 'running' when v.kind = 'ready' then 'ready' else 'prolog' end
	from (select distinct on (x.job, x.step, x.attempt, x.node) x.*
		from jsonb_to_recordset(p_records) as x (node int, job bigint, step int, attempt int, kind text, seq int)
		where x.kind in ('keeper', 'ready', 'run')
		order by x.job, x.step, x.attempt, x.node, x.seq desc) v
	where a.job_id = v.job and a.step_id = v.step and a.attempt = v.attempt and a.node_id = v.node
		and (a.phase = 'ordered' or (a.phase in ('prolog', 'ready') and v.kind <> 'keeper'));
	update attempt t
	set started_at = coalesce(t.started_at, v.at), session_id = coalesce(t.session_id, v.session)
	from (select distinct on (x.job, x.step, x.attempt) x.*
		from jsonb_to_recordset(p_records) as x (node int, job bigint, step int, attempt int, kind text, at timestamptz, session int, seq int)
		where x.kind = 'run'
		order by x.job, x.step, x.attempt, x.seq) v
	where t.job_id = v.job and t.step_id = v.step and t.attempt = v.attempt;
	perform api.step_move('node', array(
		select (x.job, x.step, case x.kind when 'run' then 'run' else 'prolog' end, x.at, null, null, null, null)::api.move
		from (
			select y.*, bool_or(y.kind <> 'keeper') over (partition by y.job, y.step, y.attempt) as further
			from jsonb_to_recordset(p_records) as y (job bigint, step int, attempt int, kind text, at timestamptz, seq int)
			where y.kind in ('keeper', 'run', 'done')
		) x
		-- A step whose tasks start in the same report is not shown in its prolog.
		where x.kind = 'run' or (x.kind = 'keeper' and not x.further)
		order by x.seq));
	-- Steps over several nodes: when every node is ready, all are told to go.
	perform api.order_put((
		select jsonb_agg(jsonb_build_object('node_id', a.node_id, 'kind', 'go', 'job_id', a.job_id, 'step_id', a.step_id, 'attempt', a.attempt))
		from (select distinct x.job, x.step, x.attempt from jsonb_to_recordset(p_records) as x (job bigint, step int, attempt int, kind text)
			where x.kind = 'ready') v
		join allocation a on a.job_id = v.job and a.step_id = v.step and a.attempt = v.attempt
		where not exists (select from allocation o where o.job_id = v.job and o.step_id = v.step and o.attempt = v.attempt
			and o.phase in ('ordered', 'prolog'))));
end $$;
comment on function api.report_run(jsonb) is 'Records of kinds keeper, ready and run. Internal.';

create function api.report_pause(p_records jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_last record;
begin
	-- The first node speaks for the step.
	for v_last in
		select x.job, x.step, x.attempt, x.kind, x.at, x.clock
		from jsonb_to_recordset(p_records) as x (node int, job bigint, step int, attempt int, kind text, at timestamptz, clock bigint, seq int)
		join allocation a on a.job_id = x.job and a.step_id = x.step and a.attempt = x.attempt and a.node_id = x.node and a.node_index = 0
		where x.kind in ('suspended', 'resumed')
		order by x.seq
	loop
		-- What was told before is known by the node's clock: an attempt does not outlive a boot.
		update attempt t
		set pause_clock = v_last.clock
		where t.job_id = v_last.job and t.step_id = v_last.step and t.attempt = v_last.attempt
			and (t.pause_clock is null or v_last.clock is null or t.pause_clock < v_last.clock);
		continue when not found;
		if v_last.kind = 'suspended' then
			perform api.step_suspended(v_last.job, v_last.step, v_last.attempt, v_last.at);
		else
			update attempt t
			set suspended_s = t.suspended_s + extract(epoch from v_last.at - t.suspended_at), suspended_at = null
			where t.job_id = v_last.job and t.step_id = v_last.step and t.attempt = v_last.attempt and t.suspended_at is not null;
		end if;
	end loop;
end $$;
comment on function api.report_pause(jsonb) is 'Records of kinds suspended and resumed. Internal.';

create function api.report_task(p_records jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	insert into task_end (job_id, step_id, attempt, task, node_id, pid, started_at, ended_at, exit_code, signal, cause, user_usec, system_usec,
		max_rss_kb, minor_faults, major_faults, read_bytes, write_bytes, voluntary_switches, involuntary_switches)
	select x.job, x.step, x.attempt, x.task, x.node, nullif(x.pid, 0), x.started_at, x.at,
		case when coalesce(x.signal, 0) = 0 then nullif(x.exit, -1) end, nullif(x.signal, 0),
		coalesce(x.cause, 'exit'), nullif(x.user_usec, -1), nullif(x.system_usec, -1), nullif(x.max_rss_kb, -1), nullif(x.minflt, -1),
		nullif(x.majflt, -1), nullif(x.read_bytes, -1), nullif(x.write_bytes, -1), nullif(x.nvcsw, -1), nullif(x.nivcsw, -1)
	from jsonb_to_recordset(p_records) as x (node int, job bigint, step int, attempt int, kind text, at timestamptz, started_at timestamptz, task int, pid int,
		exit int, signal int, cause text, user_usec bigint, system_usec bigint, max_rss_kb bigint, minflt bigint, majflt bigint,
		read_bytes bigint, write_bytes bigint, nvcsw bigint, nivcsw bigint)
	where x.kind = 'task'
	on conflict do nothing;
	insert into hook_run (job_id, step_id, attempt, node_id, hook, ended_at, exit_code, signal, usec, output)
	select x.job, x.step, x.attempt, x.node, x.hook, x.at, nullif(x.exit, -1), nullif(x.signal, 0), x.usec, x.output
	from jsonb_to_recordset(p_records) as x (node int, job bigint, step int, attempt int, kind text, at timestamptz, hook text, exit int, signal int,
		usec bigint, output text)
	where x.kind = 'hook'
	on conflict do nothing;
end $$;
comment on function api.report_task(jsonb) is 'Records of kinds task and hook. Internal.';

create function api.report_done(p_records jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_done jsonb;
begin
	-- done: the tasks on one node have ended; refused: they never were. The first bad outcome of a node is the attempt's.
	select jsonb_agg(jsonb_build_object('job_id', x.job, 'step_id', x.step, 'attempt', x.attempt, 'node_id', x.node, 'at', x.at,
		-- Refused as too late, or because the node cannot: nothing was run, so another order may always follow.
		'outcome', case when x.kind = 'done' then x.outcome when x.retry = '1' then 'node_fail' else 'fail' end, 'exit', x.exit, 'signal', x.signal,
		'cause', case x.kind when 'refused' then 'refused' else x.cause end,
		'message', case x.kind when 'refused' then x.reason else x.message end, 'seq', x.seq))
	into v_done
	from jsonb_to_recordset(p_records) as x (node int, job bigint, step int, attempt int, kind text, at timestamptz, outcome text, exit int,
		signal int, cause text, message text, reason text, retry text, seq int)
	join allocation a on a.job_id = x.job and a.step_id = x.step and a.attempt = x.attempt and a.node_id = x.node
		and a.phase not in ('done', 'ended')
	where x.kind in ('done', 'refused');
	if v_done is null then
		return;
	end if;
	update allocation a
	set phase = 'done'
	from jsonb_to_recordset(v_done) as v (job_id bigint, step_id int, attempt int, node_id int)
	where a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.node_id = v.node_id;
	update attempt t
	set outcome = coalesce(t.outcome, v.outcome), cause = case when t.outcome is null and v.outcome is not null then v.cause else coalesce(t.cause, v.cause) end,
		message = case when t.outcome is null and v.outcome is not null then nullif(v.message, '') else coalesce(t.message, nullif(v.message, '')) end,
		exit_code = greatest(t.exit_code, v.exit), signal = coalesce(t.signal, v.signal), done_at = greatest(t.done_at, v.at)
	from (
		select x.job_id, x.step_id, x.attempt,
			(array_agg(x.outcome order by x.seq) filter (where x.outcome <> 'complete'))[1] as outcome,
			coalesce((array_agg(x.cause order by x.seq) filter (where x.outcome <> 'complete'))[1], min(x.cause)) as cause,
			coalesce((array_agg(x.message order by x.seq) filter (where x.outcome <> 'complete'))[1], min(x.message)) as message,
			max(nullif(x.exit, -1)) as exit, max(nullif(x.signal, 0)) as signal, max(x.at) as at
		from jsonb_to_recordset(v_done) as x (job_id bigint, step_id int, attempt int, outcome text, cause text, message text, exit int, signal int, at timestamptz, seq int)
		group by x.job_id, x.step_id, x.attempt
	) v
	where t.job_id = v.job_id and t.step_id = v.step_id and t.attempt = v.attempt and t.ended_at is null;
	-- Over several nodes: when any went wrong, the others are ended. Else those that only hold their place are let go, when the
	-- one node with the script is done, or every node with tasks.
	perform api.order_put((
		select jsonb_agg(jsonb_build_object('node_id', o.node_id, 'kind', case when t.outcome is null then 'end' else 'kill' end,
			'job_id', o.job_id, 'step_id', o.step_id, 'attempt', o.attempt, 'args', jsonb_build_object('epilog', 1, 'cause', coalesce(t.cause, ''))))
		from (select distinct x.job_id, x.step_id, x.attempt from jsonb_to_recordset(v_done) as x (job_id bigint, step_id int, attempt int)) v
		join attempt t on t.job_id = v.job_id and t.step_id = v.step_id and t.attempt = v.attempt and cardinality(t.node_ids) > 1 and t.ended_at is null
		join step s on s.job_id = t.job_id and s.step_id = t.step_id
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		cross join lateral (select coalesce(api.spec_field(r.spec, 'per_task'), '0') = '1' as per_task) p
		join allocation o on o.job_id = t.job_id and o.step_id = t.step_id and o.attempt = t.attempt and o.phase not in ('done', 'ended')
		where t.outcome is not null or not exists (
			select from allocation w
			where w.job_id = t.job_id and w.step_id = t.step_id and w.attempt = t.attempt and w.phase not in ('done', 'ended')
				and case when p.per_task then w.tasks > 0 else w.node_index = 0 end)));
	-- In a job group the nodes are free from now on, though the holder stays for the epilog; and after a refusal.
	perform api.allocation_free((
		select jsonb_agg(jsonb_build_object('job_id', v.job_id, 'step_id', v.step_id, 'attempt', v.attempt, 'node_id', v.node_id, 'at', v.at))
		from jsonb_to_recordset(v_done) as v (job_id bigint, step_id int, attempt int, node_id int, at timestamptz, cause text)
		join step s on s.job_id = v.job_id and s.step_id = v.step_id
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		where r.group_name is not null or v.cause = 'refused'));
	update allocation a
	set gone_at = v.at, phase = 'ended'
	from jsonb_to_recordset(v_done) as v (job_id bigint, step_id int, attempt int, node_id int, at timestamptz, cause text)
	where v.cause = 'refused' and a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.node_id = v.node_id;
end $$;
comment on function api.report_done(jsonb) is 'Records of kinds done and refused. Internal.';

create function api.report_end(p_records jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_end jsonb;
begin
	select jsonb_agg(jsonb_build_object('job_id', x.job, 'step_id', x.step, 'attempt', x.attempt, 'node_id', x.node, 'at', x.at,
		'peak_mb', nullif(x.peak_mb, -1), 'cpu_usec', nullif(x.cpu_usec, -1)))
	into v_end
	from jsonb_to_recordset(p_records) as x (node int, job bigint, step int, attempt int, kind text, at timestamptz, peak_mb bigint, cpu_usec bigint)
	where x.kind = 'end';
	if v_end is null then
		return;
	end if;
	-- A keeper that is gone without having said how its tasks ended: they are lost.
	update attempt t
	set outcome = coalesce(t.outcome, 'node_fail'), cause = coalesce(t.cause, 'node'), message = coalesce(t.message, 'a node did not say how the tasks ended')
	from jsonb_to_recordset(v_end) as v (job_id bigint, step_id int, attempt int, node_id int)
	join allocation a on a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.node_id = v.node_id and a.phase not in ('done', 'ended')
	where t.job_id = v.job_id and t.step_id = v.step_id and t.attempt = v.attempt and t.ended_at is null;
	perform api.allocation_free(v_end);
	update allocation a
	set gone_at = greatest(v.at, a.ended_at), phase = 'ended', peak_mb = v.peak_mb, cpu_usec = v.cpu_usec
	from jsonb_to_recordset(v_end) as v (job_id bigint, step_id int, attempt int, node_id int, at timestamptz, peak_mb bigint, cpu_usec bigint)
	where a.job_id = v.job_id and a.step_id = v.step_id and a.attempt = v.attempt and a.node_id = v.node_id and a.gone_at is null;
end $$;
comment on function api.report_end(jsonb) is 'Records of kind end: nothing of the attempt is left on the node. Internal.';

create function api.report_drain(p_records jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_drain record;
begin
	for v_drain in
		select v.node as node_id, min(v.drain) as reason from jsonb_to_recordset(p_records) as v (node int, kind text, drain text)
		where v.drain <> '' and v.kind in ('refused', 'end') group by v.node order by v.node
	loop
		perform api.node_state_set(v_drain.node_id, 'drain', 'procmgrd', v_drain.reason);
	end loop;
end $$;
comment on function api.report_drain(jsonb) is 'Nodes whose records say why they should take no more steps. Internal.';

create function api.node_report(p_report jsonb) returns int
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_known jsonb;
	v_stray jsonb;
begin
	perform api.job_lock(array(
		select distinct x.job from jsonb_to_recordset(p_report -> 'records') as x (job bigint)));
	perform api.node_lock(array(
		select distinct n
		from (select distinct x.job, x.step, x.attempt from jsonb_to_recordset(p_report -> 'records') as x (job bigint, step int, attempt int)) x
		join attempt t on t.job_id = x.job and t.step_id = x.step and t.attempt = x.attempt and t.ended_at is null
		cross join lateral unnest(t.node_ids) n));
	perform api.license_lock((select jsonb_agg(distinct jsonb_build_object('job_id', x.job, 'step_id', x.step))
		from jsonb_to_recordset(p_report -> 'records') as x (job bigint, step int)));
	-- Ages become times of the database's clock; records of attempts that are over on their node have been heard before. Attempts
	-- given up with their node, or unknown, are strays: they change nothing, and what still runs of them is killed.
	select jsonb_agg(r.value || jsonb_build_object('seq', r.nr, 'at', now() - make_interval(secs => (r.value ->> 'age_us')::double precision / 1e6),
			'started_at', now() - make_interval(secs => (r.value ->> 'started_age_us')::double precision / 1e6)) order by r.nr)
			filter (where a.gone_at is null and a.job_id is not null
				-- Of an attempt that is over, only what its group's holder still has to say.
				and (t.ended_at is null or r.value ->> 'kind' in ('end', 'hook', 'task')) and r.value ->> 'kind' <> 'late'),
		-- What was for an attempt that is over (late), or an order for it (refused), changed nothing on the node.
		jsonb_agg(r.value) filter (where a.job_id is null or a.lost_at is not null or r.value ->> 'kind' = 'late'
			or (t.ended_at is not null and t.cause <> 'refused' and r.value ->> 'kind' = 'refused'))
	into v_known, v_stray
	from jsonb_array_elements(p_report -> 'records') with ordinality as r (value, nr)
	left join allocation a on a.job_id = (r.value ->> 'job')::bigint and a.step_id = (r.value ->> 'step')::int
		and a.attempt = (r.value ->> 'attempt')::int and a.node_id = (r.value ->> 'node')::int
	left join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt;
	if v_stray is not null then
		insert into stray (actor, what) values ('node', v_stray);
		perform api.order_put((
			select jsonb_agg(distinct jsonb_build_object('node_id', x.node, 'kind', 'kill', 'job_id', x.job, 'step_id', x.step, 'attempt', x.attempt,
				'args', jsonb_build_object('cause', 'node_lost')))
			from jsonb_to_recordset(v_stray) as x (node int, job bigint, step int, attempt int, kind text)
			join node n on n.node_id = x.node
			where x.kind in ('keeper', 'ready', 'run')
				and not exists (select from jsonb_to_recordset(v_stray) as e (node int, job bigint, step int, attempt int, kind text)
					where e.node = x.node and e.job = x.job and e.step = x.step and e.attempt = x.attempt and e.kind = 'end')
				and not exists (select from node_order o where o.node_id = x.node and o.kind = 'kill' and o.job_id = x.job and o.step_id = x.step
					and o.attempt = x.attempt)));
	end if;
	delete from node_order o where o.order_id in (select x::bigint from jsonb_array_elements_text(p_report -> 'orders_done') x);
	if v_known is null then
		return 0;
	end if;
	perform api.report_run(v_known);
	perform api.report_pause(v_known);
	perform api.report_task(v_known);
	perform api.report_done(v_known);
	perform api.report_end(v_known);
	perform api.report_drain(v_known);
	-- Tasks over, epilog still at work: seen as ending.
	perform api.step_move('node', array(
		select (x.job, x.step, 'end', x.at, null, null, null, null)::api.move
		from jsonb_to_recordset(v_known) as x (node int, job bigint, step int, attempt int, kind text, at timestamptz)
		where x.kind = 'done'
			and not exists (select from allocation a where a.job_id = x.job and a.step_id = x.step and a.attempt = x.attempt and a.phase not in ('done', 'ended'))
			and exists (select from allocation a where a.job_id = x.job and a.step_id = x.step and a.attempt = x.attempt and a.ended_at is null)));
	perform api.attempt_close((
		select jsonb_agg(distinct jsonb_build_object('job_id', x.job, 'step_id', x.step, 'attempt', x.attempt))
		from jsonb_to_recordset(v_known) as x (job bigint, step int, attempt int, kind text)
		where x.kind in ('done', 'refused', 'end')), 'node');
	notify rota_event;
	return jsonb_array_length(v_known);
end $$;
comment on function api.node_report(jsonb) is
	'Records of a node''s journal and orders it has taken: {"records": [{node, job, step, attempt, kind, age_us, ...}], "orders_done": [id]}. Idempotent. Answers how many records were news.';
