-- Samples of the resource use of running steps, as nodes report them. Each sample counts once: the clock of its node shows
-- whether it was reported before.

create function internal.gauges_join(p_before jsonb, p_now jsonb) returns jsonb
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	if p_before is null or p_now is null then
		return coalesce(p_before, p_now);
	end if;
	return p_before || (
		select jsonb_object_agg(n.key, case when b.value is null then n.value else jsonb_build_array(n.value -> 0,
			greatest((b.value ->> 1)::numeric, (n.value ->> 1)::numeric),
				(b.value ->> 2)::numeric + (n.value ->> 2)::numeric,
			(b.value ->> 3)::int + (n.value ->> 3)::int) end)
		from jsonb_each(p_now) n
		left join jsonb_each(p_before) b on b.key = n.key);
end $$;
comment on function internal.gauges_join(jsonb, jsonb) is
	'Merge two summaries {"gpu0.util": [last, highest, sum, count]}, the later one second.';

create function internal.gauges_of(p_gres jsonb, p_figures jsonb) returns jsonb
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	if p_figures is null or p_gres = '{}' then
		return null;
	end if;
	return (
		select jsonb_object_agg(f.key, f.value)
		from jsonb_each(p_gres) g
		cross join lateral jsonb_array_elements_text(g.value) u
		join jsonb_each(p_figures) f on split_part(f.key, '.', 1) = g.key || u and jsonb_typeof(f.value) = 'number');
end $$;
comment on function internal.gauges_of(jsonb, jsonb) is
	'Of the values of a node''s plug-in, {"gpu0.util": 35}, those of the devices that are held, {"gpu": [0, 3]}; null: none.';

create function internal.sample_rate(p_before bigint, p_now bigint, p_usec bigint) returns double precision
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	-- A counter can decrease, for example when a process ends. Then the rate between the samples is unknown.
	return case when p_usec > 0 and p_now >= p_before then (p_now - p_before) * 1e6 / p_usec end;
end $$;
comment on function internal.sample_rate(bigint, bigint, bigint) is
	'Increase of a counter per second, from two values that are p_usec microseconds apart.';

create function api.node_sampled(p_node int)
returns table (job_id bigint, step_id int, attempt int, sample_s int, first_task int, tasks int, units boolean)
language sql stable security definer set search_path = live, rota, pg_temp as $$
	select internal.node_need(array[p_node]);
	select a.job_id, a.step_id, a.attempt, coalesce(r.sample_s, p.sample_s),
		case when s.per_task then (
			select coalesce(sum(b.tasks), 0)::int from allocation b
			where b.job_id = a.job_id and b.step_id = a.step_id and b.attempt = a.attempt
				and b.node_index < a.node_index) else 0 end,
		case when s.per_task then a.tasks else (a.node_index = 0)::int end, a.gres <> '{}'
	from allocation a
	join step t on t.job_id = a.job_id and t.step_id = a.step_id
	join step_request r on r.job_id = t.job_id and r.step_id = t.request_id
	join partition p on p.partition = r.partition
	cross join lateral (select coalesce(internal.spec_field(r.spec, 'per_task'), '0') = '1' as per_task) s
	where a.node_id = p_node and a.ended_at is null and a.attempt > 0 and a.phase in ('running', 'prolog', 'ordered', 'ready')
		and coalesce(r.sample_s, p.sample_s) > 0;
$$;
comment on function api.node_sampled(int) is
	'Attempts on a node that are to be sampled, for a process manager that has just started. sample_s: seconds between '
	'samples; tasks: number of processes of the step on the node, from rank first_task on; units: whether the attempt has '
	'generic resources. 28000: the session does not speak for the node.';

create function internal.sample_put(p_node int, p_clock bigint, p_at timestamptz, p_figures jsonb, p_steps jsonb, p_poll boolean)
	returns int
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_new int;
begin
	with said as (
		select x.*, case when x.task = -1 then internal.gauges_of(
			case when upper_inf(a.without_gpus) then a.gres - 'gpu' else a.gres end, p_figures) end as gauges
		from jsonb_to_recordset(p_steps) as x (job bigint, step int, attempt int, task int, only_task int,
			cpu_usec bigint, rss_kb bigint, swap_kb bigint, minor_faults bigint, major_faults bigint, rchar bigint,
			wchar bigint, read_bytes bigint, write_bytes bigint, processes int, threads int)
		join allocation a on a.job_id = x.job and a.step_id = x.step and a.attempt = x.attempt and a.node_id = p_node
			and a.lost_at is null
	), counted as (
		insert into sample_total as t (job_id, step_id, attempt, node_id, task, only_task, first_clock, clock, first_at,
			last_at, cpu_usec, cpu_usec_first, rchar, wchar,
			read_bytes, read_bytes_first, write_bytes, write_bytes_first, minor_faults, major_faults, rss_kb,
			rss_kb_max, rss_kb_sum, swap_kb, swap_kb_max,
			swap_kb_sum, processes, processes_max, processes_sum, threads, threads_max, threads_sum, gauges)
		select s.job, s.step, s.attempt, p_node, s.task, s.only_task, p_clock, p_clock, p_at, p_at, s.cpu_usec,
			s.cpu_usec, s.rchar, s.wchar,
			s.read_bytes, s.read_bytes, s.write_bytes, s.write_bytes, s.minor_faults, s.major_faults, s.rss_kb,
			s.rss_kb, s.rss_kb, s.swap_kb, s.swap_kb,
			s.swap_kb, s.processes, s.processes, s.processes, s.threads, s.threads, s.threads,
			(select jsonb_object_agg(g.key, jsonb_build_array(g.value, g.value, g.value, 1))
			from jsonb_each(s.gauges) g)
		from said s
		order by s.job, s.step, s.attempt, s.task
		on conflict (job_id, step_id, attempt, node_id, task) do update
		-- A sample that is taken because a user watches, except the very first one, sets the last and the highest values
		-- only: a mean needs samples at equal intervals.
		set samples = t.samples + (not p_poll)::int, clock = excluded.clock, last_at = excluded.last_at,
			only_task = coalesce(excluded.only_task, t.only_task),
			cpu_usec = excluded.cpu_usec,
			cpu_rate = internal.sample_rate(t.cpu_usec, excluded.cpu_usec, excluded.clock - t.clock) / 1e6,
			cpu_rate_max = greatest(t.cpu_rate_max,
			internal.sample_rate(t.cpu_usec, excluded.cpu_usec, excluded.clock - t.clock) / 1e6),
			rchar = excluded.rchar, wchar = excluded.wchar, read_bytes = excluded.read_bytes,
			read_rate = internal.sample_rate(t.read_bytes, excluded.read_bytes, excluded.clock - t.clock),
			read_rate_max = greatest(t.read_rate_max,
			internal.sample_rate(t.read_bytes, excluded.read_bytes, excluded.clock - t.clock)),
			write_bytes = excluded.write_bytes,
			write_rate = internal.sample_rate(t.write_bytes, excluded.write_bytes, excluded.clock - t.clock),
			write_rate_max = greatest(t.write_rate_max,
			internal.sample_rate(t.write_bytes, excluded.write_bytes, excluded.clock - t.clock)),
			minor_faults = excluded.minor_faults, major_faults = excluded.major_faults,
			-- A mean of which a part is unknown is unknown: null stays null.
			rss_kb = excluded.rss_kb, rss_kb_max = greatest(t.rss_kb_max, excluded.rss_kb),
				rss_kb_sum = t.rss_kb_sum + case when p_poll then 0 else excluded.rss_kb end,
			swap_kb = excluded.swap_kb, swap_kb_max = greatest(t.swap_kb_max, excluded.swap_kb),
				swap_kb_sum = t.swap_kb_sum + case when p_poll then 0 else excluded.swap_kb end,
			processes = excluded.processes, processes_max = greatest(t.processes_max, excluded.processes),
				processes_sum = t.processes_sum + case when p_poll then 0 else excluded.processes end,
			threads = excluded.threads, threads_max = greatest(t.threads_max, excluded.threads),
				threads_sum = t.threads_sum + case when p_poll then 0 else excluded.threads end,
			gauges = internal.gauges_join(t.gauges, excluded.gauges)
		where t.clock < excluded.clock
		returning t.job_id, t.step_id, t.attempt, t.task, not p_poll or t.first_clock = t.clock as counts
	), put as (
		-- Samples of a day without a partition are old enough to be dropped.
		insert into sample (at, job_id, step_id, attempt, node_id, task, cpu_usec, rss_kb, swap_kb, minor_faults,
			major_faults, rchar, wchar, read_bytes, write_bytes,
			processes, threads, gauges)
		select p_at, s.job, s.step, s.attempt, p_node, s.task, s.cpu_usec, s.rss_kb, s.swap_kb, s.minor_faults,
			s.major_faults, s.rchar, s.wchar, s.read_bytes, s.write_bytes,
			s.processes, s.threads, s.gauges
		from said s
		join counted c on c.job_id = s.job and c.step_id = s.step and c.attempt = s.attempt and c.task = s.task
		where c.counts and to_regclass('rota.sample_' || to_char(p_at at time zone 'UTC', 'YYYYMMDD')) is not null
	)
	select count(*) into v_new from counted;
	return v_new;
end $$;
comment on function internal.sample_put(int, bigint, timestamptz, jsonb, jsonb, boolean) is
	'Store samples that were taken on a node at one moment. Returns the number of new ones. p_poll: taken because a user '
	'watches, so only the current values are kept, unless there were none before.';

create function api.node_sample(p_report jsonb) returns int
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_round record;
	v_new int := 0;
begin
	perform internal.node_need(array[(p_report ->> 'node')::int]);
	for v_round in
		select x.clock, x.figures, x.steps, coalesce(x.look, false) as look
		from jsonb_to_recordset(p_report -> 'rounds') as x (clock bigint, look boolean, figures jsonb,
			steps jsonb)
		order by x.clock
	loop
		v_new := v_new + internal.sample_put((p_report ->> 'node')::int, v_round.clock,
			least(now(), internal.report_boot(p_report) + v_round.clock * interval '1 microsecond'), v_round.figures,
			v_round.steps, v_round.look);
	end loop;
	return v_new;
end $$;
comment on function api.node_sample(jsonb) is
	'Store samples of steps on a node: {"node", "boot_us", "rounds": [{"clock", "look", "figures": {"gpu0.util": 35}, '
	'"steps": [{job, step, attempt, task, only_task, cpu_usec, rss_kb, ...}]}]}. look: taken because a user watches '
	'(internal.sample_poll), which counts as a sample only if it is the first one. A repeated sample changes nothing. '
	'Returns the number of new samples. 28000: the session does not speak for the node.';

create function internal.sample_poll(p_nodes int[]) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
	perform pg_notify('rota_look_' || n, '') from unnest(p_nodes) n;
end $$;
comment on function internal.sample_poll(int[]) is
	'Notify process managers that a user watches the steps on these nodes: each takes samples every second, for ten seconds. '
	'The caller repeats this while the user watches.';
