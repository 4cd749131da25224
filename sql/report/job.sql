create function internal.report_job_columns() returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select jsonb_build_array(internal.report_column('label', 'STEP', 'text', 'The step.'),
		internal.report_column('state', 'STATE', 'text', 'Its state.'),
		internal.report_column('wait_s', 'WAITED', 's', 'Seconds from eligible to started.'),
		internal.report_column('elapsed_s', 'ELAPSED', 's',
			'Seconds from its start to the end of its last task, suspensions included.'),
		internal.report_column('cpus', 'CPUS', 'count', 'CPUs allocated.'),
		internal.report_column('cpu_s', 'CPU TIME', 's', 'CPU time used by all processes.'),
		internal.report_column('percent', 'USED', 'percent', 'CPU time used, of what was allocated.'),
		internal.report_column('peak_mb', 'PEAK', 'mib', 'Most memory on a node, MiB.'),
		internal.report_column('energy_kwh', 'KWH', 'number', 'Energy used, in kWh, if its nodes can tell.'),
		internal.report_column('carbon_kg', 'KG CO2E', 'number', 'CO2 equivalent emitted for it, in kg.'),
		internal.report_column('nodes', 'NODES', 'text', 'Nodes of its latest attempt.'));
$$;
comment on function internal.report_job_columns() is 'The columns of a report about one job, as JSON.';

create function internal.report_job_steps(p_job bigint, p_limit int) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (select coalesce(jsonb_agg(to_jsonb(s) order by s.step_id), '[]') from (
		select s.step_id, s.request_id, s.array_index, r.name || coalesce('[' || s.array_index || ']', '') as label,
			s.state, s.cause, s.is_array, s.eligible_at, s.started_at, s.ended_at,
			extract(epoch from s.started_at - s.eligible_at) as wait_s,
			case
			when not s.is_array
			then extract(epoch from coalesce(t.done_at, s.ended_at, now()) - s.started_at) end as elapsed_s,
			s.cpus, s.cpu_usec / 1e6 as cpu_s,
			case
			when s.ended_at is not null
			then 100 * s.cpu_usec / 1e6 / nullif(s.cpu_measured_s, 0) end as percent,
			s.peak_mb, s.energy_j / 3600000 as energy_kwh, s.carbon_g / 1000 as carbon_kg,
			array_to_string(t.nodes, ',') as nodes
		from internal.step_figures s
		join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		left join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt
			and s.ordered_at is not null
		where s.job_id = p_job
		order by s.step_id
		limit p_limit
	) s);
end $$;
comment on function internal.report_job_steps(bigint, int) is
	'The first p_limit steps and elements of a job: when each waited and ran (its latest attempt), and the resource use of '
	'all its attempts.';

create function internal.report_job_edges(p_job bigint) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (select coalesce(jsonb_agg(jsonb_build_object('from', p.name, 'to', r.name, 'kind', e.kind, 'condition',
		e."condition", 'state', e.state) order by e.step_id, e.edge), '[]')
		from step_edge e
		join step_request r on r.job_id = e.job_id and r.step_id = e.step_id
		join step_request p on p.job_id = e.peer_job_id and p.step_id = e.peer_step_id
		where e.job_id = p_job and e.peer_job_id = p_job);
end $$;
comment on function internal.report_job_edges(bigint) is
	'The peer constraints (dependencies and so on) between steps of one job.';

create function internal.checkpoint_from(p_job bigint, p_step int, p_attempt int) returns int
language sql stable set search_path = rota, pg_temp as $$
	select s.generation from checkpoint_start s
	where s.job_id = p_job and s.step_id = p_step and s.attempt = p_attempt and s.generation > 0 and s.started_at is not null;
$$;
comment on function internal.checkpoint_from(bigint, int, int) is
	'The checkpoint from which an attempt has gone on; null: it began the program.';

create function internal.report_job_held(p_job bigint, p_limit int) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (select coalesce(jsonb_agg(to_jsonb(a) || case when a.state = 'completed' then '{}'
		else internal.preempted_json(p_job, a.step_id, a.attempt) end order by a.started_at, a.step_id, a.node), '[]') from (
		select a.step_id, a.attempt, n.name as node, a.cpus, a.started_at, a.ended_at, t.state,
			internal.checkpoint_from(p_job, a.step_id, a.attempt) as from_generation
		from allocation a
		join node n on n.node_id = a.node_id
		left join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt
		where a.job_id = p_job and a.started_at is not null
			and a.attempt > 0 -- not what was reserved for a step that waited
		order by a.started_at, a.step_id, a.node_index
		limit p_limit
	) a);
end $$;
comment on function internal.report_job_held(bigint, int) is
	'The first p_limit allocations of a job: on which nodes and when its attempts held CPUs, from which checkpoints they went '
	'on, and which steps preempted them.';

create function internal.report_job_checkpoints(p_job bigint, p_limit int) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (select coalesce(jsonb_agg(to_jsonb(c) order by c.step_id, c.generation), '[]') from (
		select c.step_id, c.generation, c.attempt, c.node, c.complete_at, c.bytes
		from checkpoint c
		where c.job_id = p_job and c.complete_at is not null
		order by c.step_id, c.generation
		limit p_limit
	) c);
end $$;
comment on function internal.report_job_checkpoints(bigint, int) is
	'The first p_limit checkpoints of a job: when and on which nodes they were complete.';

create function internal.report_job(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_job bigint;
	v_limit constant int := coalesce(internal.request_int(p_request, 'limit'), 1000);
begin
	-- Refuses callers who may not see the job.
	select distinct t.job_id into v_job from internal.job_target(p_uid, p_user, p_request, false) t;
	if v_job is null then
		raise exception 'name the job of the report' using errcode = 'RT422';
	end if;
	return (
		select jsonb_build_object('report', 'job', 'title', format('Job %s: %s', j.job_id, j.name), 'job_id', j.job_id,
			'name', j.name, 'user', j.user_name, 'account', j.account, 'state',
			coalesce(j.state, case when j.started_at is null then 'pending' else 'running' end), 'submit_at',
			j.submit_at, 'started_at', j.started_at, 'ended_at', j.ended_at, 'now', now(),
			'columns', internal.report_job_columns(),
			'rows', internal.report_job_steps(v_job, v_limit),
			'edges', internal.report_job_edges(v_job),
			'requests',
				(select jsonb_agg(jsonb_build_object('name', r.name, 'step_id', r.step_id, 'topo', r.topo,
				'state', s.state) order by r.topo)
				from step_request r join step s on s.job_id = r.job_id and s.step_id = r.step_id
					where r.job_id = j.job_id),
			'attempts',
				(select coalesce(jsonb_agg(x.facts || jsonb_build_object('name', x.facts ->> 'step',
				'from_generation', internal.checkpoint_from(v_job, (x.facts ->> 'step_id')::int,
				(x.facts ->> 'attempt')::int))), '[]')
				from (
				select f.facts
					from internal.acct_attempts(j.job_id,
					j.uid = p_uid or internal.caller_role(p_uid, p_user) <> 'user', true) f (facts)
					limit v_limit
			) x),
			'held', internal.report_job_held(v_job, v_limit),
			'checkpoints', internal.report_job_checkpoints(v_job, v_limit))
		from job j where j.job_id = v_job);
end $$;
comment on function internal.report_job(int, text, jsonb) is
	'Report: the steps of a job, their dependencies, and on which nodes and when each ran. See api.report.';

create function api.report(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	c_reports constant text[] := '{usage,efficiency,wait,top,utilization,failures,energy,invoice,job}';
	v_report constant text := coalesce(internal.request_text(p_request, 'report'), '');
	v_answer jsonb;
begin
	if v_report <> all (c_reports) then
		raise exception 'there is no report "%"', v_report using errcode = 'RT422',
			hint = 'Reports: ' || array_to_string(c_reports, ', ') || '.';
	end if;
	execute format('select internal.report_%s($1, $2, $3)', v_report) into v_answer using p_uid, p_user, p_request;
	if v_answer -> 'rows' = '[]' then
		perform internal.request_known(p_uid, p_user, p_request);
	end if;
	return v_answer;
end $$;
comment on function api.report(int, text, jsonb) is
	'A report. Request {report, by, period, since, until, month, user, account, only, partition, qos, limit, jobs}. Answer '
	'{report, title, period, by, columns, rows, bar}, where each row is an object with the members that columns names. A '
	'report about a job also has {edges, requests, attempts, held, checkpoints}; attempts are those of steps that ran more '
	'than once.';
