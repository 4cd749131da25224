-- Reports on usage, over the figures by hour, day and month.
--
-- Called by: api.report.

create function internal.report_usage(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_by constant text[] := internal.report_by(p_request, '{account,user,partition,qos}', 'account');
begin
	return internal.report_answer('usage', 'CPU hours allocated', p_request, v_by, 'cpu_h', jsonb_build_array(
			internal.report_column('cpu_h', 'CPU HOURS', 'h', 'CPU-hours allocated, used or not.'),
			internal.report_column('percent', 'SHARE', 'percent', 'Of the CPU-hours of all rows.'),
			internal.report_column('gpu_h', 'GPU HOURS', 'h', 'GPU-hours allocated.'),
			internal.report_column('mem_gb_h', 'GIB HOURS', 'h', 'GiB-hours of memory allocated.'),
			internal.report_column('steps', 'STEPS', 'count', 'Steps that ended.')),
		internal.report_rows(p_uid, p_user, p_request, v_by, $m$
			sum(u.cpu_s) / 3600 as cpu_h,
				100 * sum(u.cpu_s) / nullif(sum(sum(u.cpu_s)) over (), 0) as percent,
			coalesce((acct.gres_sum(u.gres_s) ->> 'gpu')::numeric, 0) / 3600 as gpu_h,
				sum(u.mem_mb_s) / 1024 / 3600 as mem_gb_h,
			sum(u.steps_ended) as steps$m$, 'cpu_h'));
end $$;
comment on function internal.report_usage(int, text, jsonb) is 'Report: CPU-hours, GPU-hours and GiB-hours held. See api.report.';

create function internal.report_efficiency(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_by constant text[] := internal.report_by(p_request, '{account,user,partition,qos}', 'user');
begin
	return internal.report_answer('efficiency', 'CPU hours used, of those allocated', p_request, v_by, 'percent',
		jsonb_build_array(
			internal.report_column('held_h', 'ALLOCATED H', 'h', 'CPU-hours allocated, of those whose use was measured.'),
			internal.report_column('used_h', 'USED H', 'h', 'CPU-hours that processes used.'),
			internal.report_column('percent', 'USED', 'percent', 'Used, of allocated.'),
			internal.report_column('waste_h', 'UNUSED H', 'h', 'CPU-hours allocated and not used.'),
			internal.report_column('energy_kwh', 'KWH', 'number', 'Energy used, where nodes could tell, in kWh.'),
			internal.report_column('carbon_kg', 'KG CO2E', 'number', 'CO2 equivalent emitted for it, in kg.')),
		internal.report_rows(p_uid, p_user, p_request, v_by, $m$
			sum(u.cpu_measured_s) / 3600 as held_h, sum(u.cpu_used_s) / 3600 as used_h,
			100 * sum(u.cpu_used_s) / nullif(sum(u.cpu_measured_s), 0) as percent,
			(sum(u.cpu_measured_s) - sum(u.cpu_used_s)) / 3600 as waste_h,
			sum(u.energy_j) / 3600000 as energy_kwh, sum(u.carbon_g) / 1000 as carbon_kg$m$, 'waste_h'));
end $$;
comment on function internal.report_efficiency(int, text, jsonb) is
	'Report: CPU time used as a part of CPU time held, the most wasteful first, with energy and carbon. See api.report.';

create function internal.report_wait(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_by constant text[] := internal.report_by(p_request, '{account,user,partition,qos}', 'partition');
begin
	return internal.report_answer('wait', 'How long steps waited for resources', p_request, v_by, 'mean_s', jsonb_build_array(
			internal.report_column('steps', 'STEPS', 'count', 'Steps that had started, by when they ended.'),
			internal.report_column('mean_s', 'MEAN WAIT', 's',
			'Seconds from the moment that nothing but resources stood in the way to the start, the mean.'),
			internal.report_column('total_h', 'TOTAL H', 'h', 'All of them together, in hours.')),
		internal.report_rows(p_uid, p_user, p_request, v_by, $m$
			sum(u.steps_waited) as steps, sum(u.wait_s) / nullif(sum(u.steps_waited), 0) as mean_s,
				sum(u.wait_s) / 3600 as total_h$m$, 'mean_s'));
end $$;
comment on function internal.report_wait(int, text, jsonb) is
	'Report: how long steps waited, from eligible to started. See api.report.';

create function internal.report_top(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_by constant text[] := internal.report_by(p_request, '{account,user,partition,qos}', 'user');
begin
	return internal.report_answer('top', 'Most CPU hours allocated', p_request, v_by, 'cpu_h', jsonb_build_array(
			internal.report_column('cpu_h', 'CPU HOURS', 'h', 'CPU-hours allocated, used or not.'),
			internal.report_column('used', 'USED', 'percent', 'CPU time used, of what was allocated and measured.'),
			internal.report_column('steps', 'STEPS', 'count', 'Steps that ended.'),
			internal.report_column('failed', 'FAILED', 'percent',
			'Of them, those that failed, ran over their time or memory, or lost a node.')),
		internal.report_rows(p_uid, p_user, jsonb_build_object('limit', 10) || p_request, v_by, $m$
			sum(u.cpu_s) / 3600 as cpu_h,
				100 * sum(u.cpu_used_s) / nullif(sum(u.cpu_measured_s), 0) as used,
			sum(u.steps_ended) as steps,
				100 * sum(u.steps_failed) / nullif(sum(u.steps_ended), 0) as failed$m$, 'cpu_h'));
end $$;
comment on function internal.report_top(int, text, jsonb) is
	'Report: the users, accounts or other groups that held most, ten or as many as the request''s limit. See api.report.';

create function internal.report_causes(p_uid int, p_user text, p_request jsonb, p_from timestamptz, p_until timestamptz)
	returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_users constant text[] := internal.request_list(p_request, 'user');
	v_accounts constant text[] := internal.request_accounts(p_request);
	v_qos constant text[] := internal.request_list(p_request, 'qos');
	v_partitions constant text[] := internal.request_list(p_request, 'partition');
	v_all constant boolean := internal.sees_all(p_uid, p_user);
	v_own constant text[] := internal.report_accounts(p_user);
begin
	return (
	select coalesce(jsonb_agg(to_jsonb(c)), '[]')
	from (
		select coalesce(t.cause, '') as cause, t.state, count(*) as attempts, count(distinct j.job_id) as jobs,
			count(distinct j.user_name) as users, coalesce(sum(l.cpu_held_s), 0) / 3600 as lost_h, max(j.job_id) as example
		from job j
		join attempt t on t.job_id = j.job_id and t.attempt > 0
		cross join lateral (
			select sum(acct.cpu_held_s(a.cpus, a.started_at, a.ended_at, a.without_cpus)) as cpu_held_s
			from allocation a
			where a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt
		) l
		-- Read the jobs that were live in this time, by their indexes on times; attempts have no such index.
		where j.submit_at < p_until and (j.ended_at >= p_from or j.ended_at is null)
			and t.ended_at >= p_from and t.ended_at < p_until and t.state not in ('completed', 'skipped')
			and (v_all or j.uid = p_uid or j.account = any (v_own))
			and (v_users is null or j.user_name = any (v_users))
			and (v_accounts is null or j.account = any (v_accounts))
			and (v_qos is null or j.qos = any (v_qos))
			and (v_partitions is null or exists (
				select from internal.usage_step s
				where s.job_id = t.job_id and s.step_id = t.step_id and s.partition = any (v_partitions)))
		group by t.cause, t.state
		order by attempts desc, t.cause, t.state
		limit internal.request_int(p_request, 'limit')
	) c);
end $$;
comment on function internal.report_causes(int, text, jsonb, timestamptz, timestamptz) is
	'The attempts that ended between p_from and p_until without completing, by cause and state; see '
	'internal.report_failures.';

create function internal.report_failures(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_by constant text[] := internal.report_by(p_request, '{account,user,partition,qos,cause}', 'cause');
	v_span record;
begin
	if v_by = '{cause}' then
		select * into v_span from internal.report_span(p_request);
		if v_span.period is not null then
			raise exception 'failures by cause cannot be split into periods' using errcode = 'RT422',
				hint = 'Say --period=none, or --by=account, for example.';
		end if;
		return internal.report_answer('failures', 'Attempts that did not complete, by cause', p_request, v_by, 'attempts',
			jsonb_build_array(
			internal.report_column('state', 'STATE', 'text', 'State they ended in.'),
			internal.report_column('attempts', 'ATTEMPTS', 'count',
				'Attempts, also of steps that completed when they ran again.'),
			internal.report_column('jobs', 'JOBS', 'count', 'Jobs of which they were.'),
			internal.report_column('users', 'USERS', 'count', 'Users whose they were.'),
			internal.report_column('lost_h', 'CPU HOURS', 'h', 'CPU-hours allocated to them, as in acct.failure.'),
			internal.report_column('example', 'EXAMPLE', 'text', 'The latest job of them.')),
			internal.report_causes(p_uid, p_user, p_request, v_span.from_at, v_span.until_at));
	end if;
	if 'cause' = any (v_by) then
		raise exception 'a report of failures by cause cannot be grouped by a second key' using errcode = 'RT422';
	end if;
	return internal.report_answer('failures', 'Steps that did not complete', p_request, v_by, 'percent', jsonb_build_array(
			internal.report_column('steps', 'STEPS', 'count', 'Steps that ended.'),
			internal.report_column('failed', 'FAILED', 'count',
			'Those that failed, ran over their time or memory, or lost a node.'),
			internal.report_column('cancelled', 'CANCELLED', 'count',
			'Those that were taken back, preempted, skipped, or could never start.'),
			internal.report_column('percent', 'SHARE', 'percent', 'Failed, of all.')),
		internal.report_rows(p_uid, p_user, p_request, v_by, $m$
			sum(u.steps_ended) as steps, sum(u.steps_failed) as failed, sum(u.steps_cancelled) as cancelled,
			100 * sum(u.steps_failed) / nullif(sum(u.steps_ended), 0) as percent$m$, 'failed'));
end $$;
comment on function internal.report_failures(int, text, jsonb) is
	'Report: attempts that did not complete, by cause or by account, user and so on. See api.report.';

create function internal.report_nodes(p_request jsonb, p_by text[]) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_span record := internal.report_span(p_request);
	-- Hours are those of UTC, days and months those of the site.
	v_hours boolean := v_span.grain = 'hour';
	v_clock text := case when v_hours then 'UTC' else v_span.zone end;
	v_keys text := concat_ws(', ', case when v_span.period = 'hour' then 'b.at as hour'
		when v_span.period is not null then format('(b.at at time zone $3)::date as %I', v_span.period) end,
		case p_by[1] when 'node' then 'b.node' when 'partition' then 'p.partition' end);
	v_rows jsonb;
begin
	-- Tables, keys and the join with partitions depend on the length of the periods and on the grouping (p_by).
	execute format($q$
		with bucket as (
			select g.local at time zone $3 as at, least((g.local + interval '1 %1$s') at time zone $3, $2) as until_at
			from generate_series(date_trunc(%1$L, $1 at time zone $3),
				($2 - interval '1 microsecond') at time zone $3, '1 %1$s') g (local)
		), used as (
			select %2$s as at, u.node, sum(u.cpu_s) as cpu_s from acct.node_usage_%1$s u
			where u.%1$s >= %3$s and u.%1$s < %4$s
			group by 1, 2
		), there as (
			select b.at, n.node, sum(n.cpus * h.hours) as cpu_h,
				sum(n.cpus * h.hours) filter (where n.state in ('unknown', 'down', 'invalid')) as down_h,
				sum(n.cpus * h.hours) filter (where n.state = 'drain') as drain_h
			from bucket b
			join acct.node_state n on n.from_at < b.until_at and n.until_at > b.at
				and ($4 is null or n.node in (select m.name from node m
					join partition_node p on p.node_id = m.node_id where p.partition = any ($4)))
			cross join lateral (select extract(epoch from least(n.until_at, b.until_at)
				- greatest(n.from_at, b.at)) / 3600 as hours) h
			group by b.at, n.node
		)
		select coalesce(jsonb_agg(to_jsonb(t)), '[]')
		from (
			select %5$s coalesce(sum(u.cpu_s), 0) / 3600 as cpu_h,
				coalesce(sum(b.down_h), 0) as down_h, coalesce(sum(b.drain_h), 0) as drain_h,
				sum(b.cpu_h) as capacity_h,
				100 * coalesce(sum(u.cpu_s), 0) / 3600 / nullif(sum(b.cpu_h), 0) as percent
			from there b
			left join used u on u.at = b.at and u.node = b.node
			%6$s
			%7$s
			limit $5
		) t$q$,
		v_span.grain, case when v_hours then 'u.hour' else format('u.%I::timestamp at time zone $3', v_span.grain) end,
		case when v_hours then '$1' else '($1 at time zone $3)::date' end,
		case when v_hours then '$2' else '($2 at time zone $3)' end,
		nullif(v_keys, '') || ',', case when p_by = '{partition}' then 'join node n on n.name = b.node '
			'join partition_node p on p.node_id = n.node_id and ($4 is null or p.partition = any ($4))' end,
		(select 'group by ' || k || ' order by ' || k
		from (select string_agg(x::text, ', ') as k
		from generate_series(1, cardinality(p_by) + (v_span.period is not null)::int) x) t))
	into v_rows using v_span.from_at, v_span.until_at, v_clock, internal.request_list(p_request, 'partition'),
		internal.request_int(p_request, 'limit');
	return v_rows;
end $$;
comment on function internal.report_nodes(jsonb, text[]) is
	'Rows of utilization for a request: for each period and group, the CPU-hours held, down and drained, and all CPU-hours '
	'that the nodes had.';

create function internal.report_utilization(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_by constant text[] := internal.report_by(p_request, '{node,partition}', 'node');
	v_whose text;
begin
	if cardinality(v_by) > 1 then
		raise exception 'utilization can be grouped by node or by partition, not by both' using errcode = 'RT422';
	end if;
	select k into v_whose from unnest('{user,account,qos}'::text[]) k
		where internal.request_list(p_request, k) is not null limit 1;
	if found then
		raise exception 'utilization is of nodes, whoever uses them, so it takes no "%"',
			v_whose using errcode = 'RT422', hint = 'See "rota report usage".';
	end if;
	return internal.report_answer('utilization', 'CPU hours allocated, of those available', p_request, v_by, 'percent',
		jsonb_build_array(
		internal.report_column('cpu_h', 'CPU HOURS', 'h', 'CPU-hours allocated.'),
		internal.report_column('down_h', 'DOWN', 'h',
		'CPU-hours of nodes that were down, invalid or had never been seen.'),
		internal.report_column('drain_h', 'DRAINED', 'h',
		'CPU-hours of nodes that took no new steps; what still ran there is in those allocated, too.'),
		internal.report_column('capacity_h', 'AVAILABLE', 'h',
		'CPU-hours there were, whatever the nodes'' state: the CPUs they had then.'),
		internal.report_column('percent', 'ALLOCATED', 'percent', 'Allocated, of those available.')),
		internal.report_nodes(p_request, v_by));
end $$;
comment on function internal.report_utilization(int, text, jsonb) is
	'Report: CPU-hours held, down and drained, as parts of those that nodes had. By partition, or for one partition, it '
	'covers the nodes that are in the partition now. It shows no jobs, so every user may have it. See api.report.';
