create view internal.acct_allocation as
select a.job_id, a.step_id, a.attempt, n.name as node, a.node_index, r.name as step, s.array_index, j.user_name, j.account, j.qos,
	coalesce(a.partition, r.partition) as partition, a.cpus, a.mem_mb,
	a.gres, a.licenses, a.tasks, a.started_at, a.ended_at,
	extract(epoch from coalesce(a.ended_at, now()) - a.started_at)::double precision as held_s,
	acct.cpu_held_s(a.cpus, a.started_at, coalesce(a.ended_at, now()), a.without_cpus)::double precision as cpu_held_s,
		a.peak_mb, a.cgroup_peak_mb,
	(a.cpu_usec / 1e6)::double precision as cpu_s, a.without_cpus, a.energy_j::double precision as energy_j,
	case when a.energy_j is not null
		then acct.carbon_g(a.energy_j, a.started_at, a.ended_at) end::double precision as carbon_g, a.given_back_at,
	a.without_gpus
from rota.allocation a
join rota.step s on s.job_id = a.job_id and s.step_id = a.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = a.job_id
join rota.node n on n.node_id = a.node_id;
select internal.owner_view('allocation');
comment on view acct.allocation is
	'Allocations: CPUs, memory and devices that attempts held on nodes, with begin and end, one row each. All usage figures '
	'of the cluster are computed from these rows.';
comment on column acct.allocation.job_id is 'Number of the job.';
comment on column acct.allocation.step_id is 'Number of the step in its job.';
comment on column acct.allocation.attempt is
	'Number of the attempt; 0: Rota kept the nodes for the step between two attempts on the same nodes.';
comment on column acct.allocation.node is 'Name of the node.';
comment on column acct.allocation.node_index is 'Place of the node among the attempt''s nodes; 0: the node that runs the script.';
comment on column acct.allocation.step is 'Name of the step in the script.';
comment on column acct.allocation.array_index is 'Index of an array element; null: not an element.';
comment on column acct.allocation.user_name is 'Login name of the job''s owner.';
comment on column acct.allocation.account is 'Account that pays; null: none.';
comment on column acct.allocation.qos is 'Quality of service of the job.';
comment on column acct.allocation.partition is 'Partition of the step when it held the allocation.';
comment on column acct.allocation.cpus is 'CPUs allocated on the node.';
comment on column acct.allocation.mem_mb is 'Memory allocated on the node, in MiB.';
comment on column acct.allocation.gres is 'Numbers of the allocated devices of each generic resource: {"gpu": [0, 3]}.';
comment on column acct.allocation.licenses is 'Licences of the step, on the row of its first node: {"matlab": 1}.';
comment on column acct.allocation.tasks is 'Tasks of the step on the node.';
comment on column acct.allocation.started_at is
	'When the attempt began to hold the allocation; null: its array element waits on the node for the CPUs of another '
	'element.';
comment on column acct.allocation.ended_at is
	'When the attempt stopped holding the allocation; null: it holds the allocation now.';
comment on column acct.allocation.held_s is 'Seconds for which the allocation was held.';
comment on column acct.allocation.cpu_held_s is
	'CPUs of the allocation times the seconds for which they were held: not while the step was suspended and had given '
	'them back.';
comment on column acct.allocation.peak_mb is 'Most memory on the node that counts against a limit, in MiB; null: unknown.';
comment on column acct.allocation.cgroup_peak_mb is
	'Most memory of the cgroup, cached pages of files included, in MiB; null: no cgroup.';
comment on column acct.allocation.cpu_s is 'CPU seconds used on the node, all processes; null: not counted.';
comment on column acct.allocation.without_cpus is
	'Periods in which the allocation had no CPUs, because its step was suspended and had given them back.';
comment on column acct.allocation.without_gpus is
	'Periods in which the allocation had no GPUs, because its step was suspended and had given them back; null: none.';
comment on column acct.allocation.energy_j is
	'Joules used on the node for this allocation: those of the whole node, times the part of its CPUs that the allocation '
	'held; null: unknown.';
comment on column acct.allocation.carbon_g is
	'Grams of CO2 equivalent emitted for energy_j, by acct.carbon_intensity; null: not known.';
comment on column acct.allocation.given_back_at is
	'When the running step gave the node back (rota shrink). The allocation lasted until ended_at; null: the step did not '
	'give the node back.';
