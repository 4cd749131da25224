-- Resource use of attempts and steps. All views and reports take their figures from here, so that they agree.
--
-- Invariants:
-- - A figure of a step is over all its attempts: amounts are summed, and of peaks the highest counts. An attempt's figure is its
--   own.
-- - CPU time is the CPU time of all processes. A node reports it when an attempt has ended on the node.
-- - An unknown figure adds nothing to a sum. A sum of unknown figures only is null.
-- - CPUs, memory and nodes of a step are those of its latest attempt.

create function internal.figures_known(p_job bigint, p_step int, p_attempt int, p_node int) returns internal.node_figures
language sql stable set search_path = rota, pg_temp as $$
	select internal.node_figures_of(peak_mb => greatest(t.peak_mb, (m.rss_kb_max + 1023) / 1024),
		cpu_usec => greatest(t.cpu_usec, m.cpu_usec), system_usec => t.system_usec)
	from (
		select sum(e.user_usec + e.system_usec)::bigint as cpu_usec, sum(e.system_usec)::bigint as system_usec,
			(max(e.max_rss_kb) + 1023) / 1024 as peak_mb
		from task_end e
		where e.job_id = p_job and e.step_id = p_step and e.attempt = p_attempt and e.node_id = p_node
	) t
	left join sample_total m on m.job_id = p_job and m.step_id = p_step and m.attempt = p_attempt and m.node_id = p_node
		and m.task = -1;
$$;
comment on function internal.figures_known(bigint, int, int, int) is
	'Resource use of an attempt on a node that does not report its end: from its ended tasks and its latest sample.';

create function internal.figures_complete(p_reported internal.node_figures, p_job bigint, p_step int, p_attempt int, p_node int)
	returns internal.node_figures
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_known internal.node_figures;
begin
	-- Only a keeper knows the system time, and then its report is complete.
	if p_reported.system_usec is not null then
		return p_reported;
	end if;
	v_known := internal.figures_known(p_job, p_step, p_attempt, p_node);
	return internal.node_figures_of(peak_mb => coalesce(p_reported.peak_mb, v_known.peak_mb),
		cgroup_peak_mb => p_reported.cgroup_peak_mb, cpu_usec => greatest(p_reported.cpu_usec, v_known.cpu_usec),
		system_usec => coalesce(p_reported.system_usec, v_known.system_usec), node_uj => p_reported.node_uj);
end $$;
comment on function internal.figures_complete(internal.node_figures, bigint, int, int, int) is
	'Resource use of an attempt on a node, as the node reported it at the end (null: it did not), completed by '
	'internal.figures_known. After the death of a keeper, the launcher reports what the cgroup has counted, if there is one.';

create view internal.attempt_figures as
select t.*, l.node_count, l.cpus, l.mem_mb, l.gpus,
	(select jsonb_object_agg(g.gres, g.units) from (
		select x.key as gres, sum(jsonb_array_length(x.value)) as units
		from rota.allocation l cross join lateral jsonb_each(l.gres) x
		where l.job_id = t.job_id and l.step_id = t.step_id and l.attempt = t.attempt
		group by x.key) g) as gres,
	l.cpu_held_s, l.gpu_held_s, l.cpu_measured_s, l.cpu_usec, l.system_usec, l.energy_j, l.carbon_g,
	l.peak_mb, l.cgroup_peak_mb, e.max_rss_kb, e.ave_rss_kb, e.rchar, e.wchar, e.read_bytes, e.write_bytes
from rota.attempt t
left join lateral (
	select count(*) as node_count, sum(x.cpus) as cpus, sum(x.mem_mb) as mem_mb,
		sum(jsonb_array_length(x.gres -> 'gpu')) as gpus,
		sum(acct.cpu_held_s(jsonb_array_length(x.gres -> 'gpu'), x.started_at, coalesce(x.ended_at, now()),
			coalesce(x.without_gpus, '{}'))) as gpu_held_s,
		sum(acct.cpu_held_s(x.cpus, x.started_at, coalesce(x.ended_at, now()), x.without_cpus)) as cpu_held_s,
		sum(acct.cpu_held_s(x.cpus, x.started_at, x.ended_at, x.without_cpus))
			filter (where x.cpu_usec is not null) as cpu_measured_s,
		sum(x.cpu_usec) as cpu_usec, sum(x.system_usec) as system_usec, max(x.peak_mb) as peak_mb,
		max(x.cgroup_peak_mb) as cgroup_peak_mb, sum(x.energy_j) as energy_j,
		sum(case when x.energy_j is not null then acct.carbon_g(x.energy_j, x.started_at, x.ended_at) end) as carbon_g
	from rota.allocation x
	where x.job_id = t.job_id and x.step_id = t.step_id and x.attempt = t.attempt
) l on true
left join lateral (
	select max(x.max_rss_kb) as max_rss_kb, avg(x.max_rss_kb)::bigint as ave_rss_kb, sum(x.rchar)::bigint as rchar,
		sum(x.wchar)::bigint as wchar, sum(x.read_bytes)::bigint as read_bytes, sum(x.write_bytes)::bigint as write_bytes
	from rota.task_end x
	where x.job_id = t.job_id and x.step_id = t.step_id and x.attempt = t.attempt
) e on true
where t.attempt > 0;
comment on view internal.attempt_figures is
	'Attempts, one row each, with the resources that each held and used, over all its nodes. cpu_measured_s: the part of '
	'cpu_held_s of which the use is known; peaks: of the node that has most; ave_rss_kb: mean of the tasks'' max_rss_kb. '
	'Null: unknown, or no such device.';

create view internal.step_figures as
select s.*, l.node_count, l.cpus, l.mem_mb, l.gpus,
	(select jsonb_object_agg(g.gres, g.units) from (
		select x.key as gres, sum(jsonb_array_length(x.value)) as units
		from rota.allocation l cross join lateral jsonb_each(l.gres) x
		where l.job_id = s.job_id and l.step_id = s.step_id and l.attempt = s.attempt and l.attempt > 0
			and s.ordered_at is not null
		group by x.key) g) as gres,
	l.cpu_held_s, l.gpu_held_s, l.cpu_measured_s, l.cpu_usec, l.system_usec, l.energy_j, l.carbon_g,
	l.peak_mb, l.cgroup_peak_mb, e.max_rss_kb, e.ave_rss_kb, e.rchar, e.wchar, e.read_bytes, e.write_bytes
from rota.step s
left join lateral (
	select count(*) filter (where x.attempt = s.attempt and s.ordered_at is not null) as node_count,
		sum(x.cpus) filter (where x.attempt = s.attempt and s.ordered_at is not null) as cpus,
		sum(x.mem_mb) filter (where x.attempt = s.attempt and s.ordered_at is not null) as mem_mb,
		sum(jsonb_array_length(x.gres -> 'gpu')) filter (where x.attempt = s.attempt and s.ordered_at is not null) as gpus,
		sum(acct.cpu_held_s(jsonb_array_length(x.gres -> 'gpu'), x.started_at, coalesce(x.ended_at, now()),
			coalesce(x.without_gpus, '{}'))) as gpu_held_s,
		sum(acct.cpu_held_s(x.cpus, x.started_at, coalesce(x.ended_at, now()), x.without_cpus)) as cpu_held_s,
		sum(acct.cpu_held_s(x.cpus, x.started_at, x.ended_at, x.without_cpus))
			filter (where x.cpu_usec is not null) as cpu_measured_s,
		sum(x.cpu_usec) as cpu_usec, sum(x.system_usec) as system_usec, max(x.peak_mb) as peak_mb,
		max(x.cgroup_peak_mb) as cgroup_peak_mb, sum(x.energy_j) as energy_j,
		sum(case when x.energy_j is not null then acct.carbon_g(x.energy_j, x.started_at, x.ended_at) end) as carbon_g
	from rota.allocation x
	where x.job_id = s.job_id and x.step_id = s.step_id and x.attempt > 0
) l on true
left join lateral (
	select max(x.max_rss_kb) as max_rss_kb, avg(x.max_rss_kb)::bigint as ave_rss_kb, sum(x.rchar)::bigint as rchar,
		sum(x.wchar)::bigint as wchar, sum(x.read_bytes)::bigint as read_bytes, sum(x.write_bytes)::bigint as write_bytes
	from rota.task_end x
	where x.job_id = s.job_id and x.step_id = s.step_id
) e on true;
comment on view internal.step_figures is
	'Steps and elements, one row each, with the resources that each held and used, all attempts together; node_count, cpus, '
	'mem_mb, gpus, gres: of the latest attempt, unless that was before a requeue. Other columns as in '
	'internal.attempt_figures.';
