create function internal.acct_steps(p_job bigint, p_steps boolean) returns setof jsonb
language sql stable set search_path = rota, pg_temp as $$
	with one as (
		select s.step_id, s.array_index, r.name, r.partition, s.state, s.exit_code, s.signal, s.cause, s.started_at,
			s.ended_at, t.done_at, s.attempt, r.ntasks,
			r.ntasks::bigint * r.cpus_per_task as cpus_asked, s.is_array, s.cpus, s.mem_mb, s.node_count, s.gres,
			t.nodes,
			acct.mem_requested_mb(r.mem_mb, r.mem_per_cpu_mb, r.nodes_min, r.ntasks, r.cpus_per_task)
				as mem_requested_mb,
			coalesce(t.time_limit_s, r.time_limit_s) as time_limit_s, s.eligible_at,
			(select sum(a.suspended_s + coalesce(extract(epoch from now() - a.suspended_at), 0)) from attempt a
				where a.job_id = s.job_id and a.step_id = s.step_id) as suspended_s,
			s.cpu_held_s, s.cpu_usec, s.system_usec, s.peak_mb, s.max_rss_kb, s.ave_rss_kb,
			s.rchar, s.wchar, s.read_bytes, s.write_bytes, s.energy_j
		from internal.step_figures s
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		left join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt
			and s.ordered_at is not null
		where s.job_id = p_job
	)
	select jsonb_build_object('step', o.name, 'step_id', o.step_id, 'label',
		p_job || '.' || o.name || coalesce('[' || o.array_index || ']', ''), 'partition', o.partition,
		'state', o.state, 'exit_code', o.exit_code, 'signal', o.signal, 'cause', o.cause, 'started_at', o.started_at,
		'ended_at', o.ended_at,
		'elapsed_s', extract(epoch from coalesce(o.done_at, o.ended_at, now()) - o.started_at), 'cpus',
		coalesce(o.cpus, o.cpus_asked),
		'cpu_s', trim_scale(o.cpu_usec / 1e6), 'max_rss_kb', o.max_rss_kb, 'nodes',
		coalesce(array_to_string(o.nodes, ','), ''), 'attempts', o.attempt,
		'ntasks', o.ntasks, 'rchar', o.rchar, 'wchar', o.wchar, 'read_bytes', o.read_bytes,
		'write_bytes', o.write_bytes, 'user_s', trim_scale((o.cpu_usec - o.system_usec) / 1e6),
		'system_s', trim_scale(o.system_usec / 1e6), 'cpu_held_s', trim_scale(o.cpu_held_s),
		'wait_s', extract(epoch from o.started_at - o.eligible_at), 'suspended_s', o.suspended_s,
		'time_limit_s', o.time_limit_s, 'mem_requested_mb', o.mem_requested_mb,
		'alloc_tres', case when o.cpus is not null then acct.slurm_tres(o.cpus, o.mem_mb, o.node_count, o.gres) end,
		'peak_mb', o.peak_mb, 'ave_rss_kb', o.ave_rss_kb, 'energy_j', o.energy_j)
	from one o
	where p_steps
	union all
	select jsonb_build_object('step', null, 'step_id', null, 'partition', string_agg(distinct o.partition, ','), 'cpus',
		max(coalesce(o.cpus, o.cpus_asked)),
		'cpu_s', trim_scale(sum(o.cpu_usec) / 1e6), 'max_rss_kb', max(o.max_rss_kb),
		'nodes', coalesce((select string_agg(distinct x, ',') from one p cross join unnest(p.nodes) x), ''), 'attempts',
		sum(o.attempt),
		'ntasks', sum(o.ntasks) filter (where not o.is_array), 'rchar', sum(o.rchar), 'wchar', sum(o.wchar),
		'read_bytes', sum(o.read_bytes), 'write_bytes', sum(o.write_bytes),
		'user_s', trim_scale((sum(o.cpu_usec) - sum(o.system_usec)) / 1e6),
		'system_s', trim_scale(sum(o.system_usec) / 1e6),
		'cpu_held_s', trim_scale(sum(o.cpu_held_s)), 'suspended_s', sum(o.suspended_s), 'peak_mb', max(o.peak_mb),
		'mem_requested_mb', max(o.mem_requested_mb), 'energy_j', sum(o.energy_j))
	from one o
	having not p_steps;
$$;
comment on function internal.acct_steps(bigint, boolean) is
	'Resource use of a job, all attempts together: one row for each step and element, or (p_steps false) one row for the '
	'job; CPUs and nodes are those of the latest attempt.';

create function internal.acct_attempts(p_job bigint, p_own boolean, p_repeated boolean) returns setof jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	select internal.attempt_json(t, s.state, p_own)
		|| jsonb_build_object('step', r.name, 'step_id', t.step_id, 'array_index', s.array_index,
		'label', internal.step_label(t.job_id, t.step_id), 'partition', r.partition, 'attempts', s.attempt, 'ntasks',
		r.ntasks, 'cpus', u.cpus, 'cpu_s', trim_scale(u.cpu_usec / 1e6), 'max_rss_kb', u.max_rss_kb, 'rchar', u.rchar,
		'wchar', u.wchar, 'read_bytes', u.read_bytes, 'write_bytes', u.write_bytes,
		'user_s', trim_scale((u.cpu_usec - u.system_usec) / 1e6), 'system_s', trim_scale(u.system_usec / 1e6),
		'cpu_held_s', trim_scale(u.cpu_held_s), 'wait_s', extract(epoch from t.started_at - t.eligible_at),
		'time_limit_s', t.time_limit_s,
		'mem_requested_mb',
		acct.mem_requested_mb(r.mem_mb, r.mem_per_cpu_mb, r.nodes_min, r.ntasks, r.cpus_per_task),
		'alloc_tres', acct.slurm_tres(u.cpus, u.mem_mb, u.node_count, u.gres), 'peak_mb', u.peak_mb,
		'ave_rss_kb', u.ave_rss_kb, 'energy_j', u.energy_j,
		-- The path of the output file, for those who may see it (docs/formats.md).
		'workdir', f.spec ->> 'workdir', 'job_name', f.spec ->> 'job_name', 'output', f.spec ->> 'output',
		'open_mode', case f.spec ->> 'append' when '1' then 'append' when '0' then 'truncate' end)
	from attempt t
	join step s on s.job_id = t.job_id and s.step_id = t.step_id
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	cross join lateral (select case when p_own then internal.spec_fields(r.spec) end as spec offset 0) f -- once a row
	join internal.attempt_figures u on u.job_id = t.job_id and u.step_id = t.step_id and u.attempt = t.attempt
	where t.job_id = p_job and t.attempt > 0 and (s.attempt > 1 or not p_repeated)
	order by t.step_id, t.attempt;
end $$;
comment on function internal.acct_attempts(bigint, boolean, boolean) is
	'The attempts of a job''s steps and elements, one row each, with their resource use. p_own: with the data that only the '
	'owner may see; p_repeated: only attempts of steps that ran more than once.';

-- A plain expression, which the planner inlines. tstzrange_subdiff is the only difference of two times that is a plain number of
-- seconds; date_part takes ten times as long.
create function internal.acct_seconds(p_from timestamptz, p_to timestamptz) returns text
language sql stable return coalesce(floor(tstzrange_subdiff(p_to, p_from))::bigint::text, '');
comment on function internal.acct_seconds(timestamptz, timestamptz) is
	'Whole seconds between two times, as text; empty: one time is null.';

create function internal.acct_lines(p_jobs bigint[]) returns text
-- Merge joins in key order: a hash join would copy each table.
language plpgsql stable set search_path = rota, pg_temp
	set enable_mergejoin = on set enable_hashjoin = off set enable_hashagg = off as $$
declare
	-- The list of jobs is sorted, up or down. Most jobs between its ends are in it, so tables are read from one end to the
	-- other in key order.
	v_from constant bigint := least(p_jobs[1], p_jobs[cardinality(p_jobs)]);
	v_to constant bigint := greatest(p_jobs[1], p_jobs[cardinality(p_jobs)]);
begin
	-- Join the list of jobs: for "= any (list)", planning time would grow with each of thousands of ids.
	return (
	select string_agg(l.line, E'\n')
	from (
		select concat_ws(E'\t', j.job_id, replace(replace(j.name, E'\t', ' '), E'\n', ' '), j.user_name,
			v.state || case when j.staging and internal.staging_out_reason(j.job_id) = 'stage_out_failed'
				then ', stage-out failed' else '' end, coalesce(j.exit_code::text, ''), coalesce(j.signal::text, ''),
			internal.acct_seconds(to_timestamp(0), j.started_at),
			case when v.state <> 'pending' or j.steps_left < j.steps_total
				then internal.acct_seconds(j.started_at, coalesce(j.ended_at, now())) else '' end,
			coalesce((case when x.several then m.cpu_usec else c.cpu_usec::bigint end)::text, ''),
			coalesce((case when x.several then m.max_rss_kb else e.max_rss_kb end)::text, ''),
			coalesce(m.nodes, array_to_string(t.nodes, ','), '')) as line
		from unnest(p_jobs) w (job_id)
		join job j on j.job_id = w.job_id and j.job_id between v_from and v_to
		join step s on s.job_id = j.job_id and s.step_id = 0 and s.job_id between v_from and v_to
		-- The condition on the attempt is written so that it is no join key: a merge join by job ids alone needs no sort.
		left join attempt t on t.job_id = s.job_id and t.step_id = 0 and (t.attempt = s.attempt) is true
			and s.ordered_at is not null and t.job_id between v_from and v_to
		left join (
			select u.job_id, max(u.max_rss_kb) as max_rss_kb
			from task_end u
			where u.step_id = 0 and u.job_id between v_from and v_to
				-- If many jobs between the listed ones are not in the list, look up each listed job.
				and (v_to - v_from < 8 * cardinality(p_jobs) or u.job_id = any (p_jobs))
			group by u.job_id
		) e on e.job_id = s.job_id
		left join (
			-- A sum of bigint is numeric, which takes longer than the rest of the query. As double precision,
			-- microseconds of 285 years are exact.
			select a.job_id, sum(a.cpu_usec::double precision) as cpu_usec
			from allocation a
			where a.step_id = 0 and a.attempt > 0 and a.job_id between v_from and v_to
				and (v_to - v_from < 8 * cardinality(p_jobs) or a.job_id = any (p_jobs))
			group by a.job_id
		) c on c.job_id = s.job_id
		-- Most jobs have one step, so that case is computed from the step.
		cross join lateral (select j.steps_total > 1 or s.is_array as several) x
		cross join lateral (select coalesce(j.state,
			case when x.several then internal.job_state(j) else s.state end) as state offset 0) v -- once a row
		left join lateral (
			select ((f.facts ->> 'cpu_s')::numeric * 1e6)::bigint as cpu_usec,
				(f.facts ->> 'max_rss_kb')::bigint as max_rss_kb, f.facts ->> 'nodes' as nodes
			from internal.acct_steps(j.job_id, false) f (facts)
			where x.several
			offset 0 -- once a row, and only where x.several
		) m on true
		order by j.job_id desc
	) l);
end $$;
comment on function internal.acct_lines(bigint[]) is
	'Accounting of jobs as text, one line for each job, the newest first; null: no job.';

create function internal.acct_asked(p_uid int, p_user text, p_request jsonb) returns internal.acct_filter
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_filter internal.acct_filter;
begin
	v_filter.uid := case when not internal.sees_all(p_uid, p_user) then p_uid end;
	v_filter.users := internal.request_list(p_request, 'user');
	v_filter.accounts := internal.request_accounts(p_request);
	v_filter.qoses := internal.request_list(p_request, 'qos');
	v_filter.names := internal.request_list(p_request, 'name');
	v_filter.nodes := internal.request_list(p_request, 'nodes');
	v_filter.partitions := internal.request_list(p_request, 'partition');
	v_filter.states := internal.request_states(p_request);
	v_filter.in_attempts := internal.request_bool(p_request, 'attempts');
	v_filter.in_steps := internal.request_bool(p_request, 'steps') or v_filter.in_attempts;
	v_filter.since := coalesce(internal.request_time(p_request, 'since'), '-infinity');
	v_filter.until := coalesce(internal.request_time(p_request, 'until'), 'infinity');
	return v_filter;
end $$;
comment on function internal.acct_asked(int, text, jsonb) is
	'The filter of accounting rows: the filter of the request, restricted to the jobs that the caller may see.';

create function internal.acct_jobs(p_filter internal.acct_filter, p_named bigint[], p_after bigint, p_limit int) returns bigint[]
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	-- With "after", jobs are read in the order of their numbers.
	v_onward constant boolean := p_after is not null and p_named is null;
	-- A live job has no final state, though some of its steps may.
	v_live constant boolean := p_filter.states is null or p_filter.in_steps
		or exists (select from step_state s where s.state = any (p_filter.states) and s.stage <> 'final');
	v_jobs bigint[];
begin
	-- The filter is the same for all sources of jobs, and each source has its own index to begin from.
	execute format($q$
		select array(
			select p.job_id
			from (%s) p
			where ($1.uid is null or p.uid = $1.uid) and ($1.users is null or p.user_name = any ($1.users))
				and ($1.accounts is null or p.account = any ($1.accounts))
				and ($1.qoses is null or p.qos = any ($1.qoses)) and ($1.names is null or p.name = any ($1.names))
				and ($1.nodes is null
					or exists (select from allocation l join node n on n.node_id = l.node_id
					where l.job_id = p.job_id and n.name = any ($1.nodes)))
				and ($1.partitions is null
					or exists (select from step_request r
					where r.job_id = p.job_id and r.partition = any ($1.partitions)))
				and ($1.states is null or coalesce(p.state, internal.job_state(p)) = any ($1.states)
					or ($1.in_steps and exists (select from step s
						where s.job_id = p.job_id and s.state = any ($1.states)))
					or ($1.in_attempts and exists (select from attempt t
						where t.job_id = p.job_id and t.state = any ($1.states))))
			order by p.job_id %s
			limit $4)$q$,
		case
			when v_onward then 'select j.* from job j where j.job_id > $3 and j.submit_at < $1.until '
				'and coalesce(j.ended_at, ''infinity'') >= $1.since'
			when p_named is not null then 'select j.* from job j where j.job_id = any ($2) '
				'and j.submit_at < $1.until and coalesce(j.ended_at, ''infinity'') >= $1.since'
			else 'select j.* from job j where j.ended_at >= $1.since and j.submit_at < $1.until'
				|| case when v_live then ' union all select j.* from job j where j.ended_at is null '
				'and j.submit_at < $1.until' else '' end
		end, case when v_onward then '' else 'desc' end)
	into v_jobs using p_filter, p_named, p_after, p_limit;
	return v_jobs;
end $$;
comment on function internal.acct_jobs(internal.acct_filter, bigint[], bigint, int) is
	'The jobs that a filter admits, p_limit at most. From p_named, if given; with p_after, from the jobs after that number, '
	'the oldest first; otherwise the newest first.';

create function internal.acct_rows(p_jobs bigint[], p_states text[], p_steps boolean, p_attempts boolean, p_uid int, p_user text)
	returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_operator constant boolean := internal.caller_role(p_uid, p_user) <> 'user';
begin
	return (
	select jsonb_agg(t.facts order by t.job_id, t.step_id::int, (t.facts ->> 'attempt')::int)
	from (
		select c.job_id, u.facts ->> 'step_id' as step_id,
			jsonb_build_object('job_id', c.job_id, 'label', c.job_id::text, 'name', c.name, 'user', c.user_name,
			'account', c.account, 'qos', c.qos, 'priority', c.priority - c.nice, 'submit_at', c.submit_at,
			'wait_s', extract(epoch from c.started_at - c.submit_at),
			'submit_line', case when c.uid = p_uid or v_operator then c.submit_line end,
			'state', v.state, 'staging', case when c.staging
				then (select coalesce(internal.staging_out_reason(c.job_id), g.state) from staging g
				where g.job_id = c.job_id) end,
			'exit_code', c.exit_code, 'signal', c.signal, 'cause', c.cause, 'started_at', c.started_at, 'ended_at',
			c.ended_at,
			'elapsed_s',
			case
			when v.state <> 'pending'
			or c.steps_left < c.steps_total
			then extract(epoch from coalesce(c.ended_at, now()) - c.started_at) end) || u.facts as facts
		from job c
		cross join lateral (select coalesce(c.state, internal.job_state(c)) as state offset 0) v -- once a row
		cross join lateral (
			select x from internal.acct_steps(c.job_id, p_steps) x where not p_attempts
			union all
			select x from internal.acct_attempts(c.job_id, c.uid = p_uid or v_operator, false) x where p_attempts
		) u (facts)
		where c.job_id = any (p_jobs)
	) t
	where p_states is null or t.facts ->> 'state' = any (p_states));
end $$;
comment on function internal.acct_rows(bigint[], text[], boolean, boolean, int, text) is
	'Accounting rows of jobs: one for each job, step (p_steps) or attempt (p_attempts) that is in one of the states (null: '
	'any).';

create function internal.acct_substeps(p_jobs bigint[], p_states text[], p_substep bigint, p_uid int, p_user text) returns json
-- Use json, not jsonb: a job may have more sub-steps than one jsonb can hold.
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_operator constant boolean := internal.caller_role(p_uid, p_user) <> 'user';
begin
	return (
	select json_agg(json_build_object('job_id', v.job_id, 'label', internal.step_label(v.job_id, v.step_id), 'step', v.step,
		'step_id', v.step_id, 'array_index', v.array_index, 'attempt', v.attempt, 'substep', v.substep,
		'substep_name', v.name, 'user', v.user_name, 'account', v.account,
		'command', case when j.uid = p_uid or v_operator then u.command end, 'state', v.state, 'exit_code', v.exit_code,
		'signal', v.signal, 'cause', v.cause, 'queued_at', v.queued_at, 'started_at', v.started_at,
		'ended_at', v.ended_at, 'wait_s', v.wait_s, 'elapsed_s', v.elapsed_s, 'cpus', v.cpus, 'ntasks', v.tasks,
		'tasks_failed', v.tasks_failed, 'mem_requested_mb', v.mem_mb, 'gres', v.gres, 'after', v.after,
		'priority', v.priority, 'retry', v.retry, 'runs', v.runs, 'nodes', v.node,
		'cpu_s', v.user_cpu_s + v.system_cpu_s, 'user_s', v.user_cpu_s, 'system_s', v.system_cpu_s,
		'max_rss_kb', v.max_rss_kb, 'rchar', v.rchar, 'wchar', v.wchar, 'read_bytes', v.read_bytes,
		'write_bytes', v.write_bytes) order by v.job_id, v.step_id, v.attempt, v.substep)
	from internal.acct_substep v
	join substep u on u.job_id = v.job_id and u.step_id = v.step_id and u.attempt = v.attempt and u.substep = v.substep
	join job j on j.job_id = v.job_id
	where v.job_id = any (p_jobs) and (p_states is null or v.state = any (p_states))
		and (p_substep is null or v.substep = p_substep));
end $$;
comment on function internal.acct_substeps(bigint[], text[], bigint, int, text) is
	'Sub-steps of jobs, a row for each that is in one of the states (null: any) and has the number p_substep (null: any). '
	'Only the owner and operators see the command.';

create function internal.acct_sessions(p_jobs bigint[], p_states text[]) returns json
-- The states are filtered last, since a job has few sessions.
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
	select json_agg(json_build_object('job_id', v.job_id, 'label', internal.step_label(v.job_id, v.step_id), 'step', v.step,
		'step_id', v.step_id, 'array_index', v.array_index, 'attempt', v.attempt, 'substep', v.substep, 'session', v.name,
		'user', v.user_name, 'account', v.account, 'state', v.state, 'cause', v.cause, 'started_at', v.started_at,
		'ended_at', v.ended_at, 'elapsed_s', v.elapsed_s, 'cpus', v.cpus, 'mem_requested_mb', v.mem_mb, 'gres', v.gres,
		'nodes', v.node, 'attached', (
			select string_agg((p.value ->> 'user') || '@' || (p.value ->> 'host'), ',' order by p.nr)
			from jsonb_array_elements(v.attached) with ordinality p (value, nr)),
		'attached_list', v.attached, 'last_key_at', v.last_key_at, 'last_output_at', v.last_output_at, 'idle_s', v.idle_s,
		'idle_timeout_s', v.idle_timeout_s, 'idle_timeout_of', v.idle_timeout_of)
			order by v.job_id, v.step_id, v.attempt, v.substep)
	from internal.acct_session v
	where v.job_id = any (p_jobs) and (p_states is null or v.state = any (p_states)));
end $$;
comment on function internal.acct_sessions(bigint[], text[]) is
	'Sessions of jobs, a row for each whose sub-step is in one of the states (null: any).';

create function internal.acct_answer(p_rows json, p_next bigint) returns json
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return case when p_next is not null then json_build_object('rows', coalesce(p_rows, '[]'), 'next', p_next)
		else json_build_object('rows', coalesce(p_rows, '[]')) end;
end $$;
comment on function internal.acct_answer(json, bigint) is
	'Returns an answer with the rows and, as next, the job after which the client is to read on. p_next null: no rows are left.';

create function api.job_acct(p_uid int, p_user text, p_request jsonb) returns json
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	v_filter internal.acct_filter := internal.acct_asked(p_uid, p_user, p_request);
	v_limit constant int := coalesce(internal.request_int(p_request, 'limit'), 10000);
	v_after constant bigint := internal.request_int(p_request, 'after', 9223372036854775807);
	v_sessions constant boolean := internal.request_bool(p_request, 'sessions');
	v_substeps constant boolean := not v_sessions and internal.request_bool(p_request, 'substeps');
	v_states constant text[] := v_filter.states;
	v_named bigint[];
	v_jobs bigint[];
begin
	-- Let the planner join a long list of jobs by hash with a scan of a whole table, where that is cheaper.
	perform internal.plan_for(1000), set_config('enable_hashjoin', 'on', true), set_config('enable_seqscan', 'on', true);
	if internal.request_list(p_request, 'jobs') is not null then
		v_named := array(select t.job_id from internal.job_target(p_uid, p_user, p_request, false) t);
	end if;
	if v_sessions and v_named is null and v_after is null then
		-- Few jobs have sessions, so begin with sessions: then a limit on jobs hides none.
		v_named := array(select distinct o.job_id from session o join job j on j.job_id = o.job_id
			where j.ended_at is null or v_filter.states is distinct from '{running}');
	end if;
	if v_substeps or v_sessions then
		v_filter.states := null; -- the states are those of sub-steps
	end if;
	v_jobs := internal.acct_jobs(v_filter, v_named, v_after, v_limit);
	if v_jobs = '{}' and coalesce(v_after, 0) = 0 then
		perform internal.request_known(p_uid, p_user, p_request);
	end if;
	if internal.request_bool(p_request, 'lines') then
		return json_build_object('lines', coalesce(internal.acct_lines(v_jobs), ''));
	end if;
	return internal.acct_answer(case when v_sessions then internal.acct_sessions(v_jobs, v_states)
		when v_substeps then internal.acct_substeps(v_jobs, v_states, internal.request_int(p_request, 'substep'), p_uid, p_user)
		else internal.acct_rows(v_jobs, v_states, v_filter.in_steps, v_filter.in_attempts, p_uid, p_user)::json end,
		case when v_after is not null and cardinality(v_jobs) = v_limit then v_jobs[v_limit] end);
end $$;
comment on function api.job_acct(int, text, jsonb) is
	'Accounting: what ran, when, and its resource use. Request {user, account, only, qos, name, nodes, states, partition, '
	'since, until, jobs, limit, steps, attempts, substeps, substep, sessions, lines, after}. after: a job; the answer has '
	'the jobs after it, the oldest first, and next, the job to give as after in the next request while there are more. '
	'Answer {rows: [...]}: one for each job, or with steps for each step, with attempts for each attempt, with substeps for '
	'each sub-step (states: those of sub-steps; substep: only those with this number), with sessions for each session '
	'(states: those of its sub-step). With lines, the answer is {lines}: one line for each job, the newest first, of its '
	'number, name, user, state (with ", stage-out failed" if the data stays because of that), exit code, signal, start '
	'(seconds since 1970), run time in seconds, microseconds of CPU, most memory (KiB), nodes, separated by tabs, empty if '
	'unknown. CPU time and memory are those of all attempts; nodes count the CPU time of all processes at the end of an '
	'attempt.';
