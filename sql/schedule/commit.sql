-- What the leader writes. It waits for nobody's locks for long: a pass that gives up is repeated, and in between the leader says
-- that it lives and sees who holds them (api.session_judge).
-- The whole decision of a pass in one transaction: states, attempts, allocations, orders, bells.
create function api.schedule_commit(p_term bigint, p_starts jsonb, p_orders jsonb)
returns table (job_id bigint, step_id int, attempt int)
language plpgsql security definer set lock_timeout = '5s' set search_path = rota, pg_temp as $$
#variable_conflict use_column
declare
	v_jobs bigint[];
	v_nodes int[];
	v_elements jsonb;
	v_began jsonb;
	v_keys jsonb;
	v_starts jsonb;
	v_taken jsonb;
	v_at timestamptz;
begin
	perform api.leader_check(p_term);
	select array_agg(distinct v.job) into v_jobs from jsonb_to_recordset(p_starts) as v (job bigint);
	perform api.job_lock(v_jobs);
	v_nodes := array(select distinct n::int from jsonb_array_elements(p_starts) v cross join lateral jsonb_array_elements_text(v -> 'nodes') n);
	perform api.node_lock(v_nodes);
	v_at := clock_timestamp(); -- see api.allocation_take
	if exists (select from node n where n.node_id = any (v_nodes) and n.state <> 'up') then
		raise exception 'a node does not serve any more' using errcode = '40001', hint = 'Read again and decide anew.';
	end if;

	-- Array elements become rows now.
	select jsonb_agg(jsonb_build_object('job_id', v.job, 'request_id', v.request, 'pos', v."position"))
	into v_elements
	from jsonb_to_recordset(p_starts) as v (job bigint, request int, "position" int)
	join step h on h.job_id = v.job and h.step_id = v.request and h.ended_at is null and h.held = ''
	where v."position" is not null;
	if v_elements is not null then
		perform api.array_expand(v_elements, 'schedule');
		perform api.step_move('schedule', array(
			select (h.job_id, h.step_id, 'expand', null, null, null, null, null)::api.move
			from (select distinct x.job_id, x.request_id from jsonb_to_recordset(v_elements) as x (job_id bigint, request_id int)) e
			join step h on h.job_id = e.job_id and h.step_id = e.request_id and h.state = 'pending'));
	end if;

	-- A start counts only for the very attempt it was decided for, of a step that is still free to go.
	select jsonb_agg(to_jsonb(m)) into v_began
	from api.step_move('schedule', array(
		select (s.job_id, s.step_id, 'start', null, null, null, null, null)::api.move
		from jsonb_to_recordset(p_starts) as v (job bigint, step int, attempt int)
		join step s on s.job_id = v.job and s.step_id = v.step and s.state = 'pending' and s.attempt + 1 = v.attempt
			and s.held = '' and s.deps_waiting = 0)) m
	where m.event = 'start';
	if v_began is null then
		return;
	end if;
	-- Of the decision, from here on, only what began.
	select jsonb_object_agg((b ->> 'job_id') || '.' || (b ->> 'step_id'), null) into v_keys from jsonb_array_elements(v_began) b;
	select jsonb_agg(v) into v_starts from jsonb_array_elements(p_starts) v where v_keys ? ((v ->> 'job') || '.' || (v ->> 'step'));
	perform api.outage_check(v_starts);
	if exists (
		select from jsonb_to_recordset(v_began) as b (job_id bigint, step_id int)
		join step_request r on r.job_id = b.job_id and r.step_id = b.step_id and r.with_set is not null
		join step_request o on o.job_id = r.job_id and o.with_set = r.with_set
		join step s on s.job_id = o.job_id and s.step_id = o.step_id and s.state = 'pending'
	) then
		raise exception 'a step would start without its peers' using errcode = '40001', hint = 'Read again and decide anew.';
	end if;

	perform api.allocation_unkeep(v_began);
	perform api.allocation_unkeep((select jsonb_agg(jsonb_build_object('job_id', s.job_id, 'step_id', s.request_id))
		from jsonb_to_recordset(v_began) as b (job_id bigint, step_id int)
		join step s on s.job_id = b.job_id and s.step_id = b.step_id and s.array_index is not null));

	insert into attempt (job_id, step_id, attempt, ordered_at, time_limit_s, fence, node_ids, nodes)
	select v.job, v.step, v.attempt, v_at, v.time_limit_s, coalesce(v.fence, false), v.nodes,
		array(select n.name from unnest(v.nodes) with ordinality as x (id, nr) join node n on n.node_id = x.id order by x.nr)
	from jsonb_to_recordset(v_starts) as v (job bigint, step int, attempt int, time_limit_s bigint, fence boolean, nodes int[]);

	select jsonb_agg(jsonb_build_object('job_id', v.job, 'step_id', v.step, 'attempt', v.attempt, 'node_id', al.value -> 'node',
			'node_index', al.nr - 1, 'cpus', al.value -> 'cpus', 'mem_mb', al.value -> 'mem_mb', 'gres', al.value -> 'gres',
			'licenses', case when al.nr = 1 then r.licenses else '{}'::jsonb end,
			'tasks', al.value -> 'tasks', 'holder', coalesce(al.value -> 'holder', 'true'), 'phase', 'ordered', 'started_at', v_at))
	into v_taken
	from jsonb_to_recordset(v_starts) as v (job bigint, step int, request int, attempt int, allocations jsonb)
	join step_request r on r.job_id = v.job and r.step_id = v.request
	cross join lateral jsonb_array_elements(v.allocations) with ordinality as al (value, nr);
	perform api.allocation_take(v_taken);

	update step_array a
	set running = a.running + e.n
	from (select s.job_id, s.request_id, count(*) as n
		from jsonb_to_recordset(v_began) as b (job_id bigint, step_id int)
		join step s on s.job_id = b.job_id and s.step_id = b.step_id and s.array_index is not null
		group by s.job_id, s.request_id) e
	where a.job_id = e.job_id and a.step_id = e.request_id;
	update job j set started_at = now()
	where j.job_id in (select b.job_id from jsonb_to_recordset(v_began) as b (job_id bigint)) and j.started_at is null;
	delete from plan p using jsonb_to_recordset(v_began) as b (job_id bigint, step_id int) where p.job_id = b.job_id and p.step_id = b.step_id;

	perform api.order_put((
		select jsonb_agg(jsonb_build_object('node_id', o.node, 'kind', 'launch', 'job_id', o.job, 'step_id', o.step, 'attempt', o.attempt,
			'body', o.body, 'signature', o.signature))
		from jsonb_to_recordset(p_orders) as o (job bigint, step int, attempt int, node int, body text, signature text)
		where v_keys ? (o.job || '.' || o.step)));
	notify rota_event;
	return query select b.* from jsonb_to_recordset(v_began) as b (job_id bigint, step_id int, attempt int);
end $$;
comment on function api.schedule_commit(bigint, jsonb, jsonb) is
	'Start steps as decided and send their signed orders; answers those really started. RT412: deposed; 23514, 40001: something is no longer as it was read, decide anew.';

create function api.schedule_refuse(p_term bigint, p_jobs bigint[], p_steps int[], p_reasons text[]) returns void
language plpgsql security definer set lock_timeout = '5s' set search_path = rota, pg_temp as $$
begin
	perform api.leader_check(p_term);
	perform api.job_lock(p_jobs);
	-- Elements share what their array asks for: all that has not started goes with it.
	perform api.step_move('schedule', array(
		select (s.job_id, s.step_id, 'refuse', null, 'refused', null, null, v.reason)::api.move
		from unnest(p_jobs, p_steps, p_reasons) as v (job_id, step_id, reason)
		join step s on s.job_id = v.job_id and s.request_id = v.step_id and s.state = 'pending'
		left join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
		where a.size is null));
	perform api.step_move('schedule', array(
		select m::api.move
		from unnest(p_jobs, p_steps, p_reasons) as v (job_id, step_id, reason)
		join step h on h.job_id = v.job_id and h.step_id = v.step_id and h.ended_at is null
		cross join lateral api.array_give_up(v.job_id, v.step_id, 'refuse', 'refused', v.reason) m));
	notify rota_event;
end $$;
comment on function api.schedule_refuse(bigint, bigint[], int[], text[]) is 'End steps whose authenticator does not fit what is stored: they are not run.';

create function api.schedule_plan(p_term bigint, p_plan jsonb) returns void
language plpgsql security definer set lock_timeout = '5s' set search_path = rota, pg_temp as $$
begin
	perform api.leader_check(p_term);
	with said as (
		select v.job as job_id, v.step as step_id, to_timestamp(v.expected_at) as expected_at,
			coalesce(v.nodes, '{}') as nodes, v.reason, v.blocker, v.message
		from jsonb_to_recordset(p_plan) as v (job bigint, step int, expected_at double precision, nodes int[], reason text, blocker text, message text)
	), gone as (
		delete from plan p where not exists (select from said s where s.job_id = p.job_id and s.step_id = p.step_id)
	)
	insert into plan as p (job_id, step_id, expected_at, nodes, reason, blocker, message)
	select s.job_id, s.step_id, s.expected_at, s.nodes, s.reason, s.blocker, s.message from said s
	on conflict (job_id, step_id) do update
	set expected_at = excluded.expected_at, nodes = excluded.nodes, reason = excluded.reason, blocker = excluded.blocker,
		message = excluded.message, made_at = now()
	where (p.expected_at, p.nodes, p.reason, p.blocker, p.message)
		is distinct from (excluded.expected_at, excluded.nodes, excluded.reason, excluded.blocker, excluded.message);
end $$;
comment on function api.schedule_plan(bigint, jsonb) is 'Replace the plan by what this pass expects; rows that say the same stay untouched.';

create function api.schedule_tick(p_term bigint) returns table (now double precision, next_at double precision)
language plpgsql security definer set lock_timeout = '5s' set search_path = rota, pg_temp as $$
declare
	v_due bigint[];
	v_ending bigint[];
	v_drained int[];
	v_one record;
	v_next timestamptz;
begin
	perform api.leader_check(p_term);
	v_ending := array(select o.job_id from api.outage_attempts() o);
	-- All locks at once, in order.
	perform api.job_lock(array(
		select s.job_id from step s where s.start_by <= now() and s.ended_at is null and (s.state = 'pending' or (s.state = 'running' and s.attempt = 0))
		union
		select s.job_id from step s where s.resume_wanted and s.state = 'suspended'
		union
		select unnest(v_ending)));
	v_drained := array(select n.node_id from node_notice n where n.kind = 'drain' and n.at <= now());
	perform api.node_lock(array(
		select unnest(v_drained)
		union
		select a.node_id
		from step s join allocation a on a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = s.attempt and a.ended_at is null
		where s.resume_wanted and s.state = 'suspended'));
	perform api.outage_begin(v_ending, v_drained);
	-- Deadlines: a step that waits past the moment from which it could still end in time will not start any more.
	select array_agg(distinct s.job_id) into v_due
	from step s
	where s.start_by <= now() and s.ended_at is null and (s.state = 'pending' or (s.state = 'running' and s.attempt = 0));
	if v_due is not null then
		perform api.step_move('schedule', array(
			select (s.job_id, s.step_id, 'deadline', null, 'deadline', null, null, 'could not end before its deadline')::api.move
			from step s
			left join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
			where s.job_id = any (v_due) and s.state = 'pending' and a.size is null and s.start_by <= now() and s.ended_at is null));
		perform api.step_move('schedule', array(
			select m::api.move
			from step s
			join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
			cross join lateral api.array_give_up(s.job_id, s.step_id, 'deadline', 'deadline', 'could not end before its deadline') m
			where s.job_id = any (v_due) and s.ended_at is null and a.next < a.size and s.start_by <= now()));
		notify rota_event;
	end if;
	-- Suspended steps that are to go on, oldest first, where their CPUs are free again.
	perform api.resume_lock((select jsonb_agg(jsonb_build_object('job_id', s.job_id, 'step_id', s.step_id))
		from step s where s.resume_wanted and s.state = 'suspended'));
	for v_one in
		select s.job_id, s.step_id from step s where s.resume_wanted and s.state = 'suspended' order by s.rank desc, s.job_id, s.step_id
	loop
		perform api.step_resume(v_one.job_id, v_one.step_id);
	end loop;
	select least(
		(select min(s.begin_at) from step s where s.begin_at > now() and s.state = 'pending'),
		(select min(s.start_by) from step s where s.start_by > now() and s.ended_at is null),
		api.outage_next())
	into v_next;
	return query select extract(epoch from now())::double precision, extract(epoch from v_next)::double precision;
end $$;
comment on function api.schedule_tick(bigint) is 'Moves that only time brings: deadlines, resumes, outages. Answers the database''s time and when the next one is due (epoch seconds), null: none is known.';
