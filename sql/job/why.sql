-- Why a step waits, computed from facts: one condition for each unmet requirement (X4). In plpgsql, which caches its plans, as a
-- job may have many steps.
create function internal.why_row(p_kind text, p_message text, p_blocker text, p_expected_at timestamptz) returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select jsonb_build_object('kind', p_kind, 'message', p_message, 'blocker', p_blocker, 'expected_at', p_expected_at);
$$;
comment on function internal.why_row(text, text, text, timestamptz) is 'One condition of an answer to "why", as JSON.';

create function internal.why_peers(p_job bigint, p_step int) returns setof jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	select internal.why_row(case when e.kind = 'after' then 'dependency' else 'peer' end,
		case when r.deps_any and e.kind = 'after' then 'one of several: ' else '' end || case
			when e.kind = 'same_nodes' then format('waits to be placed on the nodes of %s (%s)', x.label, x.state)
			when e.kind = 'other_nodes'
				then format('waits to be placed on other nodes than %s (%s)', x.label, x.state)
			when e."condition" = 'corr' then format('its elements wait for those of %s (%s)', x.label, x.state)
			when e."condition" = 'start' then format('waits for %s to start (%s)', x.label, x.state)
			when e."condition" = 'fail' then format('waits for %s to fail (%s)', x.label, x.state)
			when e."condition" = 'teardown' then internal.why_teardown(e.peer_job_id, x.label, x.state)
			when e."condition" = 'any' and e.peer_step_id = -1
				and exists (select from job o join job p on p.uid = o.uid and p.name = o.name
				where o.job_id = e.job_id and p.job_id = e.peer_job_id)
					then format('waits for %s, which has its name, to end (%s)', x.label, x.state)
			when e."condition" = 'any' then format('waits for %s to end (%s)', x.label, x.state)
			else format('waits for %s to complete (%s)', x.label, x.state) end,
		x.label, x.expected_at)
	from step_edge e
	join step_request r on r.job_id = e.job_id and r.step_id = e.step_id
	cross join lateral (
		select internal.step_label(s.job_id, s.step_id) as label, s.state, pl.expected_at
		from step s
		left join plan pl on pl.job_id = s.job_id and pl.step_id = s.step_id
		where s.job_id = e.peer_job_id and s.step_id = e.peer_step_id
		union all
		select 'job ' || u.job_id, u.state, null from internal.job_summary(array[e.peer_job_id]) u
			where e.peer_step_id = -1
	) x
	where e.job_id = p_job and e.step_id = p_step and e.state = 'waiting' and e.kind <> 'with'
		and (e.gates or e."condition" = 'corr')
		and not (r.deps_any and e.kind = 'after'
			and exists (select from step_edge o where o.job_id = e.job_id and o.step_id = e.step_id
			and o.kind = 'after' and o.state = 'met'))
	union all
	-- Steps that have to start together with the step and cannot start yet.
	select internal.why_row('peer', format('starts together with %s, which waits (%s)',
		internal.step_label(o.job_id, o.step_id),
		case when o.held <> '' then 'held' when o.deps_waiting > 0 then 'dependency' else 'begin' end),
		internal.step_label(o.job_id, o.step_id), null)
	from step_request r
	join step_request q on q.job_id = r.job_id and q.with_set = r.with_set and q.step_id <> r.step_id
	join step o on o.job_id = q.job_id and o.step_id = q.step_id and o.state = 'pending'
		and (o.held <> '' or o.deps_waiting > 0 or o.begin_at > now())
	where r.job_id = p_job and r.step_id = p_step;
end $$;
comment on function internal.why_peers(bigint, int) is 'The unmet peer constraints of a step, as conditions of "why".';

create function internal.why_limits(p_job bigint, p_request int) returns setof jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	with member as materialized (
		-- Steps that start together count together against limits.
		select s.step_id = o.step_id as own, s.association_id, s.queue,
			case when o.with_set is null then 1 else coalesce(a.size - a.next - cardinality(a.skip), 1) end as wants,
			internal.size_asked(t.tops, r.nodes_min, r.nodes_max, r.ntasks, r.cpus_per_task, r.mem_mb,
			r.mem_per_cpu_mb, r.gres, r.exclusive, r.time_limit_s, p) as size
		from step_request o
		join step_request r on r.job_id = o.job_id and (r.step_id = o.step_id or r.with_set = o.with_set)
		join step s on s.job_id = r.job_id and s.step_id = r.step_id and (s.step_id = o.step_id or s.state = 'pending')
		join partition p on p.partition = r.partition
		left join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
		cross join lateral internal.limit_tops(array[(s.association_id, s.queue)::internal.queue_line]) t
		where o.job_id = p_job and o.step_id = p_request
	)
	select internal.why_row('limit',
		internal.limit_text(x.bound, x.need) || case x.others when 0 then ''
		when 1 then ' (with the one that it starts together with)'
			else format(' (with the %s that it starts together with)', x.others) end, null,
				case when internal.limit_has_period((x.bound).measure) and (x.bound).ends_at > now()
				then nullif((x.bound).ends_at, 'infinity') end)
	from (
		select (array_agg(b))[1] as bound, sum(m.wants * internal.limit_need(b.measure, m.size, b.ends_at)) as need,
			case when b.measure = 'time' then 0 else (select count(*) - 1 from member) end as others
		from internal.limit_bounds(array(select distinct (m.association_id, m.queue)::internal.queue_line
			from member m)) b
		join member m on m.association_id = b.association_id and m.queue = b.partition and (m.own or b.measure <> 'time')
		group by b.limit_id, b.whose, b.measure
	) x
	where x.need > 0 and (x.bound).held + x.need > (x.bound).most
	union all
	select internal.why_row('limit', format('%s of at most %s of the array run', a.running,
		internal.text_count(a.max_running, 'element')), null,
		null)
	from step_array a
	where a.job_id = p_job and a.step_id = p_request and a.running >= a.max_running
	union all
	select internal.why_row('license',
		format('needs %s of licence "%s", %s of %s are free', x.value, x.key, coalesce(l.total - l.used, 0),
		coalesce(l.total, 0)),
		(select internal.step_label(al.job_id, al.step_id) from allocation al
		where al.ended_at is null and al.licenses ? x.key limit 1), null)
	from step_request r
	cross join lateral jsonb_each_text(r.licenses) x
	left join license l on l.license = x.key
	where r.job_id = p_job and r.step_id = p_request and coalesce(l.total - l.used, 0) < x.value::int;
end $$;
comment on function internal.why_limits(bigint, int) is
	'The limits and licences that keep a step from starting, as conditions of "why".';

create function internal.why_grant(p_job bigint, p_step int) returns setof jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	select internal.why_row('priority', format('grant "%s" of account "%s" is %s, so the step comes after those of all others',
		g.name, g.account, case when internal.site_day() > g.last_day then 'over' when internal.site_day() < g.first_day
		then 'still to begin' else 'used up' end), null, null)
	from step s
	cross join lateral internal.limit_bounds(array[(s.association_id, s.queue)::internal.queue_line]) b
	join account_grant g on g.grant_id = -b.limit_id
	where s.job_id = p_job and s.step_id = p_step and b.measure = 'grant' and b.held >= b.most;
end $$;
comment on function internal.why_grant(bigint, int) is
	'The grants that are used up or over and give a step a low priority, as conditions of "why".';

create function internal.why_nodes(p_job bigint, p_request int) returns setof jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	select internal.why_row('node', format('%s: %s%s', string_agg(n.name, ',' order by n.node_id), n.state,
		coalesce(' (' || n.reason || ')', '')), null, null)
	from step_request r
	join partition_node pn on pn.partition = r.partition
	join node n on n.node_id = pn.node_id and n.state <> 'up'
	where r.job_id = p_job and r.step_id = p_request and n.name <> all (r.exclude)
		and (r.nodelist = '{}' or n.name = any (r.nodelist))
	group by n.state, n.reason;
end $$;
comment on function internal.why_nodes(bigint, int) is
	'The nodes on which a step could run and that cannot be used, with their reasons, as conditions of "why".';

create function internal.why_plan(p_job bigint, p_request int, p_plan rota.plan) returns setof jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	-- internal.why_limits reports licences and limits, with figures.
	if p_plan.reason is not null and not (p_plan.reason in ('limit', 'array_limit', 'license')
		and exists (select from internal.why_limits(p_job, p_request))) then
		return next internal.why_row(case
			when p_plan.reason in ('resources', 'priority', 'license', 'node', 'peer', 'deadline', 'limit', 'maintenance',
				'reservation', 'power', 'image', 'prep', 'partition') then p_plan.reason
			when p_plan.reason = 'array_limit' then 'limit'
			else 'resources' end, p_plan.message, p_plan.blocker, p_plan.expected_at);
	end if;
	if coalesce(p_plan.reason in ('resources', 'node'), true) then
		return query select * from internal.why_nodes(p_job, p_request);
	end if;
	if p_plan.reason is null and not exists (select from internal.why_limits(p_job, p_request)) then
		return next internal.why_row('priority',
			case when internal.leader_lives() then 'has not been looked at yet' else 'no job manager schedules just now' end,
			null, null);
	end if;
end $$;
comment on function internal.why_plan(bigint, int, rota.plan) is
	'Why a step that may start has not started, by the scheduler''s plan. p_plan: its row in rota.plan, or null.';

create function internal.why_begin(p_begin timestamptz, p_asked timestamptz, p_attempt int, p_retries int, p_retry int)
	returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	-- After an attempt, p_begin is the end of the delay before the next one, unless --begin was changed since.
	select internal.why_row('begin', format('not to start before %s%s', to_char(p_begin, 'YYYY-MM-DD HH24:MI:SS TZ'),
		case when p_attempt > 0 and p_begin is distinct from p_asked
		then format(': the delay before %s, as attempt %s',
			case when p_retries > 0 then format('retry %s of %s', p_retries, p_retry) else 'it runs again' end, p_attempt + 1)
		end), null, p_begin);
$$;
comment on function internal.why_begin(timestamptz, timestamptz, int, int, int) is
	'Why a step waits for the time p_begin: its owner asked for that time (p_asked), or it is the delay before another '
	'attempt.';

create function internal.why_step(p_job bigint, p_step int) returns setof jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	with one as (
		select s.*, r.partition, p.state as partition_state, r.retry, r.begin_at as asked_begin_at, pl as plan,
			x.free and a.size is null as eligible, case when x.free then internal.array_row(a) end as row_id
		from step s
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		left join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
			and (a.by_corr or a.staged or a.next = a.size)
		left join partition p on p.partition = r.partition
		left join plan pl on pl.job_id = s.job_id and pl.step_id = s.step_id
		cross join lateral (select s.held = '' and s.deps_waiting = 0 and (s.begin_at is null or s.begin_at <= now())
			and coalesce(p.state in ('up', 'drain'), false) as free) x
		where s.job_id = p_job and s.step_id = p_step
	)
	select internal.why_row('hold', format('held by %s',
		case o.held when 'user' then 'its owner' when 'admin' then 'an operator' else 'the job manager' end)
		|| coalesce(': ' || o.held_reason, ''), null, null)
	from one o where o.held <> ''
	union all
	select * from internal.why_peers(p_job, p_step)
	union all
	select internal.why_row('checkpoint',
		format('attempt %s could not go on from checkpoint %s on %s: %s', c.attempt, c.generation,
			array_to_string(t.nodes[1:4], ',') || case when cardinality(t.nodes) > 4
				then format(' and %s more', cardinality(t.nodes) - 4) else '' end, c.unmet), null, null)
	from one o
	join checkpoint_start c on c.job_id = o.job_id and c.step_id = o.step_id and c.attempt = o.attempt and c.unmet is not null
	join attempt t on t.job_id = c.job_id and t.step_id = c.step_id and t.attempt = c.attempt
	union all
	select m.* from one o cross join lateral internal.why_misfits(p_job, p_step) m where o.attempt > 0 and o.state = 'pending'
	union all
	select g.* from one o cross join lateral internal.why_staging(p_job, p_step) g where o.deps_waiting > 0
	union all
	select internal.why_begin(o.begin_at, o.asked_begin_at, o.attempt, o.retries, o.retry)
	from one o where o.begin_at > now()
	union all
	select internal.why_row('partition',
		case when o.partition_state is null then format('there is no partition "%s" any more', o.partition)
		else format('partition "%s" is %s', o.partition, o.partition_state) end, null, null)
	from one o where coalesce(o.partition_state in ('down', 'inactive'), true)
	union all
	select l.* from one o cross join lateral internal.why_limits(o.job_id, o.request_id) l where o.eligible
	union all
	select g.* from one o cross join lateral internal.why_grant(o.job_id, o.step_id) g
	where o.eligible and exists (select from account_grant)
	union all
	select w.* from one o cross join lateral internal.why_plan(o.job_id, o.request_id, o.plan) w where o.eligible
	union all
	-- An array without an element that may get a row waits for the same as its first element with a row.
	select w.* from one o cross join lateral internal.why_step(o.job_id, o.row_id) w where o.row_id is not null;
end $$;
comment on function internal.why_step(bigint, int) is 'All conditions that keep a waiting step from starting.';

create function internal.why_preempt(p_step rota.step, p_state text) returns setof jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	if p_state = 'pending' and exists (select from preempt_claim) then
		return query
		select internal.why_row('resources',
			format('%s on %s %s kept for it until the steps that %s',
				internal.text_count(n.cpus, 'CPU'), internal.text_count(n.nodes, 'node'),
				case when n.cpus = 1 then 'is' else 'are' end, case when n.moves then 'move for it have ended'
					else 'it has preempted have ended or are suspended' end), null, null)
		from (select bool_and(c.moving <> '[]') as moves, sum((x.value ->> 'cpus')::int) as cpus,
				count(distinct x.value ->> 'node') as nodes
			from internal.claim_open c
			cross join lateral jsonb_array_elements(c.shares) x
			where c.job_id = p_step.job_id and c.step_id = p_step.step_id) n
		where n.nodes > 0;
	elsif p_state not in ('pending', 'completed') and p_step.ended_at is null then
		return query
		select internal.why_row('preempted', format(case e.mode when 'suspend' then 'is suspended to make room for %s, and %s'
			else 'is being ended to make room for %s, and %s' end,
			internal.step_label(e.by_job_id, e.by_step_id),
			case e.mode when 'requeue' then 'will be queued again' when 'checkpoint' then 'will go on from a checkpoint'
				when 'suspend' then 'goes on when that holds no CPUs and its own CPUs, licences and GPUs are free'
				else 'will not run again' end),
			internal.step_label(e.by_job_id, e.by_step_id), null)
		from preempted e
		where e.job_id = p_step.job_id and e.step_id = p_step.step_id and e.attempt = p_step.attempt and e.mode <> 'spared'
			and (e.mode <> 'suspend' or exists (select from internal.pause_open o
				where o.job_id = e.job_id and o.step_id = e.step_id));
	end if;
end $$;
comment on function internal.why_preempt(rota.step, text) is
	'The step for which p_step is being ended or suspended, or the resources that are kept for p_step because it has '
	'preempted others.';

create function internal.why_running(p_step rota.step, p_array rota.step_array, p_state text, p_lost text) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_attempt attempt;
begin
	select * into v_attempt from attempt n
	where n.job_id = p_step.job_id and n.step_id = p_step.step_id and n.attempt = p_step.attempt;
	return internal.why_row('running', concat_ws(', ', p_state,
		'since ' || to_char(case when p_step.state = 'suspended' then v_attempt.suspended_at else p_step.started_at end,
			'YYYY-MM-DD HH24:MI:SS TZ'),
		'on ' || array_to_string(v_attempt.nodes, ','),
		case when p_array.size is not null then format('%s of %s run, %s ended', p_array.running,
			internal.text_count(p_array.size, 'element'), p_array.completed + p_array.failed) end,
		case when p_step.state <> 'suspended' then null
			when p_step.resume_wanted
			then 'goes on when ' || internal.devices_text(p_step.job_id, p_step.step_id, p_step.attempt)
			when exists (select from internal.devices_left(p_step.job_id, p_step.step_id, p_step.attempt))
			then 'has given its GPUs back' end,
		p_lost,
		case when p_step.end_wanted is not null then 'is being ended (' || p_step.end_wanted || ')' end), null, null);
end $$;
comment on function internal.why_running(rota.step, rota.step_array, text, text) is
	'Since when and on which nodes a step runs, as a condition of "why". p_array: its array, if it is one; p_lost: the '
	'effect of lost nodes on the step, as text.';

create function internal.why_ended(p_step rota.step, p_own boolean) returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	select internal.why_row('ended',
		concat_ws(', ', format('%s at %s', p_step.state, to_char(p_step.ended_at, 'YYYY-MM-DD HH24:MI:SS TZ')),
		case when p_step.exit_code > 0 or p_step.state = 'completed' then 'exit code ' || p_step.exit_code end,
		case when p_step.signal is not null then format('signal %s', p_step.signal) end,
		case when p_own then nullif(p_step.message, '') end,
		case when p_own then (
			select r.message from transfer_run r
			where r.job_id = p_step.job_id and r.step_id = p_step.step_id and r.state = 'failed'
			order by r.transfer, r.place limit 1) end), null, null);
$$;
comment on function internal.why_ended(rota.step, boolean) is
	'How a step ended, as a condition of "why". Only its owner and operators (p_own) get the message, which may name files.';

create function internal.why_veil(p_uid int, p_conditions jsonb) returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	select coalesce(jsonb_agg(case when c.value ->> 'kind' in ('resources', 'priority', 'license', 'preempted')
		and o.uid is distinct from p_uid
			then c.value || jsonb_build_object('blocker', null,
				'message',
					regexp_replace(c.value ->> 'message',
					'[0-9]+(\.[A-Za-z][A-Za-z0-9_-]*(\[[0-9]+\])?| step [0-9]+)', 'another job', 'g'))
		when c.value ->> 'kind' = 'staging' and c.value ->> 'blocker' is not null and o.uid is distinct from p_uid
			then c.value || jsonb_build_object('blocker', null, 'message',
				regexp_replace(c.value ->> 'message', 'job [0-9]+(\.[^ ,]+)?', 'another job', 'g'))
			else c.value end order by c.nr), '[]')
	from jsonb_array_elements(p_conditions) with ordinality as c (value, nr)
	left join job o on o.job_id = substring(c.value ->> 'blocker' from '^[0-9]{1,18}')::bigint;
$$;
comment on function internal.why_veil(int, jsonb) is
	'Conditions without the names of jobs of other users, if the caller may not see these jobs.';

create function api.job_why(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp set plan_cache_mode = force_generic_plan as $$
begin
	return (
	with target as (
		select t.job_id, t.step_id, t.pos, t.index, t.whole_job, s.ended_at,
			-- An element without a row waits for what its array waits for.
			case when s.step_id is null then t.step_id - 1 - t.pos else t.step_id end as row_id
		from internal.job_target(p_uid, p_user, p_request, false) t
		left join step s on s.job_id = t.job_id and s.step_id = t.step_id
	), shown as (
		select t.* from target t
		-- For a whole job: its steps that have not ended, or all steps if all have ended.
		where not t.whole_job or t.ended_at is null
			or not exists (select from target o where o.job_id = t.job_id and o.ended_at is null)
	), reported as (
		select t.job_id, t.step_id, x.state, case when s.step_id = t.step_id then internal.step_label(s.job_id, s.step_id)
				else internal.step_label(s.job_id, s.step_id) || '[' || t.index || ']' end as label,
			case
				when x.state = 'pending'
				then coalesce((select jsonb_agg(w || jsonb_build_object('message', internal.staging_veil(w ->> 'message', o.own)))
					from (select * from internal.why_step(s.job_id, s.step_id)
						union all select * from internal.why_preempt(s, x.state)) w (w)), '[]')
				when s.ended_at is not null
				then jsonb_build_array(internal.why_ended(s, o.own))
					|| coalesce((select jsonb_agg(w)
						from internal.why_staging_out(internal.staging_of(t.job_id, t.step_id), o.own) w), '[]')
				else jsonb_build_array(internal.why_running(s, a, x.state, coalesce(x.lost, x.unanswered)))
					|| coalesce((select jsonb_agg(w) from internal.why_preempt(s, x.state) w), '[]') end as conditions,
			pl.expected_at
		from shown t
		join step s on s.job_id = t.job_id and s.step_id = t.row_id
		join job j on j.job_id = t.job_id
		cross join lateral (select j.uid = p_uid or internal.caller_role(p_uid, p_user) <> 'user' as own) o
		left join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
		left join plan pl on pl.job_id = s.job_id and pl.step_id = s.step_id
		-- An array none of whose elements runs is pending, and so is an element that has not begun while others have.
		cross join lateral (select case
			when s.state <> 'pending' and s.ended_at is null
			and (s.step_id <> t.step_id or (a.running = 0 and s.state = 'running'))
				then 'pending' else s.state end as state,
			case when s.ended_at is null then internal.step_lost(s.job_id, s.step_id, s.attempt) end as lost,
			case when s.state = 'starting' then internal.step_unanswered(s.job_id, s.step_id, s.attempt) end as unanswered) x
	)
	select jsonb_build_object('steps', coalesce(jsonb_agg(jsonb_build_object('label', t.label, 'state', t.state,
		'conditions',
			case when (select internal.sees_all(p_uid, p_user)) then t.conditions
			else internal.why_veil(p_uid, t.conditions) end,
		'expected_at', case when t.state = 'pending' then t.expected_at end) order by t.job_id, t.step_id), '[]'))
	from reported t);
end $$;
comment on function api.job_why(int, text, jsonb) is
	'Why steps wait: one condition for each unmet requirement; for steps that run or have ended, how. Request {jobs}. Answer '
	'{steps: [{label, state, conditions: [{kind, message, blocker, expected_at}], expected_at}]}.';
