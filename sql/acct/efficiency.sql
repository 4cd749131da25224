-- How much of the held resources steps used, and which resources failed attempts held.
create view internal.acct_efficiency as
select s.job_id, s.step_id, r.name as step, s.array_index, j.user_name, j.account, j.qos, r.partition, s.state, s.ended_at,
	s.cpu_measured_s as cpu_held_s, s.cpu_usec / 1e6::numeric as cpu_used_s,
	s.cpu_measured_s - s.cpu_usec / 1e6::numeric as cpu_unused_s,
	s.cpu_usec / 1e6::numeric / nullif(s.cpu_measured_s, 0) as cpu_efficiency, h.mem_held_mb, s.peak_mb as mem_peak_mb,
	s.peak_mb::numeric / nullif(h.mem_held_mb, 0) as mem_efficiency, h.mem_unused_mb_s, s.gpu_held_s,
	(select avg((g.value ->> 2)::numeric / nullif((g.value ->> 3)::numeric, 0)) / 100
		from rota.sample_total x cross join lateral jsonb_each(x.gauges) g
		where x.job_id = s.job_id and x.step_id = s.step_id and x.task = -1 and g.key ~ '^gpu[0-9]+\.util$')
		as gpu_efficiency, s.energy_j, s.carbon_g
from internal.step_figures s
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = s.job_id
cross join lateral (
	select max(a.mem_mb) filter (where a.peak_mb is not null and a.mem_mb > 0) as mem_held_mb,
		sum(greatest(a.mem_mb - a.peak_mb, 0) * p.s) as mem_unused_mb_s
	from rota.allocation a
	cross join lateral (select extract(epoch from a.ended_at - a.started_at) as s) p
	where a.job_id = s.job_id and a.step_id = s.step_id and a.attempt > 0
) h
where s.ended_at is not null and not s.is_array;
select internal.owner_view('efficiency');
comment on view acct.efficiency is
	'Steps that have ended, one row each, with how much of the held resources they used, over all attempts. Null: not '
	'measured.';
comment on column acct.efficiency.job_id is 'Number of the job.';
comment on column acct.efficiency.step_id is 'Number of the step in its job.';
comment on column acct.efficiency.step is 'Name of the step in the script.';
comment on column acct.efficiency.array_index is 'Index of an array element; null: not an element.';
comment on column acct.efficiency.user_name is 'Login name of the job''s owner.';
comment on column acct.efficiency.account is 'Account that pays; null: none.';
comment on column acct.efficiency.qos is 'Quality of service of the job.';
comment on column acct.efficiency.partition is 'Partition of the step.';
comment on column acct.efficiency.state is 'State in which the step ended.';
comment on column acct.efficiency.ended_at is 'When the step ended.';
comment on column acct.efficiency.cpu_held_s is 'CPU-seconds held by attempts whose use was measured.';
comment on column acct.efficiency.cpu_used_s is 'CPU-seconds that the processes of the step used.';
comment on column acct.efficiency.cpu_unused_s is 'CPU-seconds held and not used.';
comment on column acct.efficiency.cpu_efficiency is 'CPU time used as a part of the CPU time held; 1: all of it.';
comment on column acct.efficiency.mem_held_mb is
	'Memory held on one node, in MiB, the highest if nodes differ; null: the step held none, or its use was not measured.';
comment on column acct.efficiency.mem_peak_mb is
	'Most memory on a node that counts against a limit (anonymous and shared memory, not pages of files), in MiB.';
comment on column acct.efficiency.mem_efficiency is 'Highest memory used as a part of the memory held; 1: all of it.';
comment on column acct.efficiency.mem_unused_mb_s is 'MiB-seconds of memory that the step held beyond its highest use.';
comment on column acct.efficiency.gpu_held_s is 'GPU seconds held; null: none.';
comment on column acct.efficiency.gpu_efficiency is
	'Mean of the gauges gpuN.util in the step''s samples, from 0 to 1, over all its GPUs and attempts; null: no such gauge.';
comment on column acct.efficiency.energy_j is
	'Joules used for the step, summed over its nodes: those of the whole node, times the part of its CPUs that the step '
	'held; null: unknown.';
comment on column acct.efficiency.carbon_g is
	'Grams of CO2 equivalent emitted for energy_j, by acct.carbon_intensity; null: not known.';

create view internal.acct_failure as
select t.job_id, t.step_id, t.attempt, r.name as step, s.array_index, j.user_name, j.account, j.qos, r.partition, t.state,
	t.cause, t.message, t.exit_code, t.signal,
	t.started_at, t.ended_at, s.attempt > t.attempt as ran_again, h.cpu_held_s, h.node_s
from rota.attempt t
join rota.step s on s.job_id = t.job_id and s.step_id = t.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = t.job_id
cross join lateral (
	select sum(acct.cpu_held_s(a.cpus, a.started_at, a.ended_at, a.without_cpus)) as cpu_held_s,
		sum(extract(epoch from a.ended_at - a.started_at)) as node_s
	from rota.allocation a
	where a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt
) h
where t.state not in ('completed', 'skipped');
select internal.owner_view('failure');
comment on view acct.failure is
	'Attempts that did not complete, one row each, with the resources that they held. Steps that completed in a later '
	'attempt are included.';
comment on column acct.failure.job_id is 'Number of the job.';
comment on column acct.failure.step_id is 'Number of the step in its job.';
comment on column acct.failure.attempt is 'Number of the attempt, from 1.';
comment on column acct.failure.step is 'Name of the step in the script.';
comment on column acct.failure.array_index is 'Index of an array element; null: not an element.';
comment on column acct.failure.user_name is 'Login name of the job''s owner.';
comment on column acct.failure.account is 'Account that pays; null: none.';
comment on column acct.failure.qos is 'Quality of service of the job.';
comment on column acct.failure.partition is 'Partition of the step.';
comment on column acct.failure.state is 'State in which the attempt ended.';
comment on column acct.failure.cause is 'What ended the attempt; see acct.step.cause.';
comment on column acct.failure.message is 'Why the attempt failed, in words.';
comment on column acct.failure.exit_code is
	'Highest exit code of the attempt''s tasks, 0 to 255; '
	'null: unknown, or no task has started.';
comment on column acct.failure.signal is 'Signal that ended a task of the attempt; null: none.';
comment on column acct.failure.started_at is 'When the first task of the attempt started; null: no task started.';
comment on column acct.failure.ended_at is 'When the attempt ended.';
comment on column acct.failure.ran_again is 'Whether the step ran again after the attempt.';
comment on column acct.failure.cpu_held_s is 'CPU-seconds that were allocated to the attempt.';
comment on column acct.failure.node_s is 'Node-seconds that the attempt held: two nodes for one second are two.';
