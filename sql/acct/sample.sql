create view internal.acct_sample as
select x.job_id, x.step_id, x.attempt, r.name as step, s.array_index, j.user_name, j.account, r.partition, n.name as node,
	nullif(x.task, -1) as task, x.at,
	(x.cpu_usec / 1e6)::double precision as cpu_s, x.rss_kb, x.swap_kb, x.minor_faults, x.major_faults, x.rchar, x.wchar,
	x.read_bytes, x.write_bytes, x.processes, x.threads, x.gauges
from rota.sample x
join rota.step s on s.job_id = x.job_id and s.step_id = x.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = x.job_id
join rota.node n on n.node_id = x.node_id;
select internal.owner_view('sample');
comment on view acct.sample is
	'Samples of what running steps used, one row for each node (or task) and time. Rota keeps them for as many days as the '
	'setting sample_days says. Null: unknown.';
comment on column acct.sample.job_id is 'Number of the job.';
comment on column acct.sample.step_id is 'Number of the step in its job.';
comment on column acct.sample.attempt is 'Number of the attempt; the first one is 1.';
comment on column acct.sample.step is 'Name of the step in the script.';
comment on column acct.sample.array_index is 'Index of an array element; null: not an element.';
comment on column acct.sample.user_name is 'Login name of the job''s owner.';
comment on column acct.sample.account is 'Account that pays; null: none.';
comment on column acct.sample.partition is 'Partition of the step.';
comment on column acct.sample.node is 'Name of the node.';
comment on column acct.sample.task is
	'Rank of the task that was sampled, if a node runs several; null: the sample is of all processes of the step on the '
	'node.';
comment on column acct.sample.at is 'When the sample was taken.';
comment on column acct.sample.cpu_s is 'CPU seconds used from the start to the sample.';
comment on column acct.sample.rss_kb is 'Resident memory of the processes, in KiB.';
comment on column acct.sample.swap_kb is 'Memory swapped out, in KiB.';
comment on column acct.sample.minor_faults is 'Page faults without I/O from the start to the sample.';
comment on column acct.sample.major_faults is 'Page faults with I/O from the start to the sample.';
comment on column acct.sample.rchar is 'Bytes that read calls of the processes returned from the start to the sample.';
comment on column acct.sample.wchar is 'Bytes that the processes passed to write calls from the start to the sample.';
comment on column acct.sample.read_bytes is 'Bytes that the processes read from storage from the start to the sample.';
comment on column acct.sample.write_bytes is 'Bytes that the processes wrote to storage from the start to the sample.';
comment on column acct.sample.processes is 'Number of processes at the time of the sample.';
comment on column acct.sample.threads is 'Number of threads of all processes.';
comment on column acct.sample.gauges is 'Values of the site''s plug-in for the devices held: {"gpu0.util": 35}.';

create view internal.acct_step_stats as
select x.job_id, x.step_id, x.attempt, r.name as step, s.array_index, j.user_name, j.account, r.partition,
	x.samples, x.nodes_sampled, x.first_at, x.last_at, x.cpu_s::double precision as cpu_s, x.cpus_last, x.cpus_mean,
		x.cpus_max,
	x.rss_kb_last, x.rss_kb_mean, x.rss_kb_max, x.swap_kb_last, x.swap_kb_mean, x.swap_kb_max, x.peak_mb,
	x.cgroup_peak_mb, x.max_rss_kb, x.minor_faults, x.major_faults, x.rchar, x.wchar, x.read_bytes, x.write_bytes,
	x.read_rate_last, x.read_rate_mean, x.read_rate_max,
	x.write_rate_last, x.write_rate_mean, x.write_rate_max,
	x.processes_last, x.processes_mean, x.processes_max, x.threads_last, x.threads_mean, x.threads_max, x.gauges
from internal.step_stats x
join rota.step s on s.job_id = x.job_id and s.step_id = x.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = x.job_id;
select internal.owner_view('step_stats');
comment on view acct.step_stats is
	'Resource use of attempts, one row each: highest, mean and last values of their samples, and what nodes counted at the '
	'end. Null: unknown.';
comment on column acct.step_stats.job_id is 'Number of the job.';
comment on column acct.step_stats.step_id is 'Number of the step in its job.';
comment on column acct.step_stats.attempt is 'Number of the attempt; the first one is 1.';
comment on column acct.step_stats.step is 'Name of the step in the script.';
comment on column acct.step_stats.array_index is 'Index of an array element; null: not an element.';
comment on column acct.step_stats.user_name is 'Login name of the job''s owner.';
comment on column acct.step_stats.account is 'Account that pays; null: none.';
comment on column acct.step_stats.partition is 'Partition of the step.';
comment on column acct.step_stats.samples is 'Number of samples on the node that has most; 0: none.';
comment on column acct.step_stats.nodes_sampled is 'Number of nodes that have samples of the attempt.';
comment on column acct.step_stats.first_at is 'When the first sample was taken.';
comment on column acct.step_stats.last_at is 'When the last sample was taken.';
comment on column acct.step_stats.cpu_s is 'CPU seconds used: as the nodes counted them at the end, or by the last sample.';
comment on column acct.step_stats.cpus_last is 'CPUs busy between the last two samples.';
comment on column acct.step_stats.cpus_mean is 'CPUs busy on average, from the first sample to the last.';
comment on column acct.step_stats.cpus_max is
	'Most CPUs busy between two samples: the highest value of each node, summed over the nodes.';
comment on column acct.step_stats.rss_kb_last is 'Resident memory on all nodes in the last sample, in KiB.';
comment on column acct.step_stats.rss_kb_mean is 'Mean resident memory on all nodes, in KiB.';
comment on column acct.step_stats.rss_kb_max is
	'Most resident memory in a sample, in KiB: the highest value of each node, summed over the nodes.';
comment on column acct.step_stats.swap_kb_last is 'Memory swapped out on all nodes in the last sample, in KiB.';
comment on column acct.step_stats.swap_kb_mean is 'Mean memory swapped out on all nodes, in KiB.';
comment on column acct.step_stats.swap_kb_max is
	'Most memory swapped out in a sample, in KiB: the highest value of each node, summed over the nodes.';
comment on column acct.step_stats.peak_mb is 'Most memory on one node that counts against a limit, in MiB.';
comment on column acct.step_stats.cgroup_peak_mb is
	'Most memory of the cgroup on one node, cached pages of files included, in MiB.';
comment on column acct.step_stats.max_rss_kb is 'Highest resident memory of one process of an ended task, in KiB.';
comment on column acct.step_stats.minor_faults is 'Page faults of the processes without I/O.';
comment on column acct.step_stats.major_faults is 'Page faults of the processes with I/O.';
comment on column acct.step_stats.rchar is 'Bytes that read calls of the processes returned.';
comment on column acct.step_stats.wchar is 'Bytes that the processes passed to write calls.';
comment on column acct.step_stats.read_bytes is 'Bytes that the processes read from storage.';
comment on column acct.step_stats.write_bytes is 'Bytes that the processes wrote to storage.';
comment on column acct.step_stats.read_rate_last is 'Bytes read from storage each second between the last two samples.';
comment on column acct.step_stats.read_rate_mean is 'Bytes read from storage each second on average.';
comment on column acct.step_stats.read_rate_max is 'Most bytes read from storage each second between two samples.';
comment on column acct.step_stats.write_rate_last is 'Bytes written to storage each second between the last two samples.';
comment on column acct.step_stats.write_rate_mean is 'Bytes written to storage each second on average.';
comment on column acct.step_stats.write_rate_max is 'Most bytes written to storage each second between two samples.';
comment on column acct.step_stats.processes_last is 'Processes on all nodes in the last sample.';
comment on column acct.step_stats.processes_mean is 'Mean number of processes on all nodes.';
comment on column acct.step_stats.processes_max is
	'Most processes in a sample: the highest number of each node, summed over the nodes.';
comment on column acct.step_stats.threads_last is 'Threads on all nodes in the last sample.';
comment on column acct.step_stats.threads_mean is 'Mean number of threads on all nodes.';
comment on column acct.step_stats.threads_max is
	'Most threads in a sample: the highest number of each node, summed over the nodes.';
comment on column acct.step_stats.gauges is
	'Values of the site''s plug-in by node and device: {"n1:gpu0.util": {"last", "mean", "max"}}.';

create view internal.acct_task_stats as
select x.job_id, x.step_id, x.attempt, x.task, r.name as step, s.array_index, j.user_name, j.account, r.partition, n.name as node,
	x.samples, x.first_at, x.last_at, x.cpu_s::double precision as cpu_s, x.cpus_last, x.cpus_mean, x.cpus_max,
	x.rss_kb_last, x.rss_kb_mean, x.rss_kb_max, x.swap_kb_last, x.swap_kb_mean, x.swap_kb_max,
	x.minor_faults, x.major_faults, x.rchar, x.wchar, x.read_bytes, x.write_bytes,
	x.processes_last, x.processes_mean, x.processes_max,
	x.threads_last, x.threads_mean, x.threads_max
from internal.task_stats x
join rota.step s on s.job_id = x.job_id and s.step_id = x.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = x.job_id
join rota.node n on n.node_id = x.node_id;
select internal.owner_view('task_stats');
comment on view acct.task_stats is
	'Resource use of tasks while they ran, one row each, from samples; acct.task has what the kernel counted at their end. '
	'Null: unknown.';
comment on column acct.task_stats.job_id is 'Number of the job.';
comment on column acct.task_stats.step_id is 'Number of the step in its job.';
comment on column acct.task_stats.attempt is 'Number of the attempt; the first one is 1.';
comment on column acct.task_stats.task is 'Rank of the task, from 0.';
comment on column acct.task_stats.step is 'Name of the step in the script.';
comment on column acct.task_stats.array_index is 'Index of an array element; null: not an element.';
comment on column acct.task_stats.user_name is 'Login name of the job''s owner.';
comment on column acct.task_stats.account is 'Account that pays; null: none.';
comment on column acct.task_stats.partition is 'Partition of the step.';
comment on column acct.task_stats.node is 'Name of the node on which the task ran.';
comment on column acct.task_stats.samples is 'Number of samples of the task.';
comment on column acct.task_stats.first_at is 'When the first sample was taken.';
comment on column acct.task_stats.last_at is 'When the last sample was taken.';
comment on column acct.task_stats.cpu_s is 'CPU seconds that the task had used at the last sample.';
comment on column acct.task_stats.cpus_last is 'CPUs busy between the last two samples.';
comment on column acct.task_stats.cpus_mean is 'CPUs busy on average, from the first sample to the last.';
comment on column acct.task_stats.cpus_max is 'Most CPUs busy between two samples.';
comment on column acct.task_stats.rss_kb_last is 'Resident memory in the last sample, in KiB.';
comment on column acct.task_stats.rss_kb_mean is 'Mean resident memory, in KiB.';
comment on column acct.task_stats.rss_kb_max is 'Most resident memory in a sample, in KiB.';
comment on column acct.task_stats.swap_kb_last is 'Memory swapped out in the last sample, in KiB.';
comment on column acct.task_stats.swap_kb_mean is 'Mean memory swapped out, in KiB.';
comment on column acct.task_stats.swap_kb_max is 'Most memory swapped out in a sample, in KiB.';
comment on column acct.task_stats.minor_faults is 'Page faults of the processes without I/O.';
comment on column acct.task_stats.major_faults is 'Page faults of the processes with I/O.';
comment on column acct.task_stats.rchar is 'Bytes that read calls of the processes returned.';
comment on column acct.task_stats.wchar is 'Bytes that the processes passed to write calls.';
comment on column acct.task_stats.read_bytes is 'Bytes that the processes read from storage.';
comment on column acct.task_stats.write_bytes is 'Bytes that the processes wrote to storage.';
comment on column acct.task_stats.processes_last is 'Processes in the last sample.';
comment on column acct.task_stats.processes_mean is 'Mean number of processes over the samples.';
comment on column acct.task_stats.processes_max is 'Highest number of processes in a sample.';
comment on column acct.task_stats.threads_last is 'Threads in the last sample.';
comment on column acct.task_stats.threads_mean is 'Mean number of threads over the samples.';
comment on column acct.task_stats.threads_max is 'Highest number of threads in a sample.';

create view internal.acct_job_stats as
select j.job_id, j.name, j.user_name, j.account, x.samples, x.cpu_s, x.cpus_max, x.rss_kb_mean, x.rss_kb_max, x.swap_kb_max,
	x.peak_mb, x.cgroup_peak_mb, x.max_rss_kb,
	x.minor_faults, x.major_faults, x.rchar, x.wchar, x.read_bytes, x.write_bytes, x.processes_max, x.threads_max, x.last_at
from rota.job j
left join lateral (
	select sum(y.samples)::bigint as samples, sum(y.cpu_s)::double precision as cpu_s, max(y.cpus_max) as cpus_max,
		(sum(y.rss_kb_mean * y.samples) / nullif(sum(y.samples) filter (where y.rss_kb_mean is not null),
			0))::bigint as rss_kb_mean,
		max(y.rss_kb_max) as rss_kb_max, max(y.swap_kb_max) as swap_kb_max, max(y.peak_mb) as peak_mb,
			max(y.cgroup_peak_mb) as cgroup_peak_mb,
			max(y.max_rss_kb) as max_rss_kb,
		sum(y.minor_faults)::bigint as minor_faults, sum(y.major_faults)::bigint as major_faults,
			sum(y.rchar)::bigint as rchar, sum(y.wchar)::bigint as wchar, sum(y.read_bytes)::bigint as read_bytes,
		sum(y.write_bytes)::bigint as write_bytes, max(y.processes_max) as processes_max,
			max(y.threads_max) as threads_max, max(y.last_at) as last_at
	from internal.step_stats y
	where y.job_id = j.job_id
) x on true;
select internal.owner_view('job_stats');
comment on view acct.job_stats is 'Resource use of jobs, one row each, over all steps and attempts. Null: unknown.';
comment on column acct.job_stats.job_id is 'Number of the job.';
comment on column acct.job_stats.name is 'Name of the job.';
comment on column acct.job_stats.user_name is 'Login name of the job''s owner.';
comment on column acct.job_stats.account is 'Account that pays; null: none.';
comment on column acct.job_stats.samples is 'Number of samples of all steps and attempts.';
comment on column acct.job_stats.cpu_s is 'CPU seconds used by all attempts whose use is known.';
comment on column acct.job_stats.cpus_max is 'Most CPUs that one step had busy between two samples.';
comment on column acct.job_stats.rss_kb_mean is 'Mean resident memory of the job''s steps while they ran, from samples, in KiB.';
comment on column acct.job_stats.rss_kb_max is
	'Most resident memory of one step, in KiB: the highest value of each node, summed over the nodes.';
comment on column acct.job_stats.swap_kb_max is
	'Most memory of one step swapped out, in KiB: the highest value of each node, summed over the nodes.';
comment on column acct.job_stats.peak_mb is 'Most memory of one step on one node that counts against a limit, in MiB.';
comment on column acct.job_stats.cgroup_peak_mb is
	'Most memory of the cgroup on one node, cached pages of files included, in MiB.';
comment on column acct.job_stats.max_rss_kb is 'Highest resident memory of one process of an ended task, in KiB.';
comment on column acct.job_stats.minor_faults is 'Page faults of the processes without I/O.';
comment on column acct.job_stats.major_faults is 'Page faults of the processes with I/O.';
comment on column acct.job_stats.rchar is 'Bytes that read calls of the processes returned.';
comment on column acct.job_stats.wchar is 'Bytes that the processes passed to write calls.';
comment on column acct.job_stats.read_bytes is 'Bytes that the processes read from storage.';
comment on column acct.job_stats.write_bytes is 'Bytes that the processes wrote to storage.';
comment on column acct.job_stats.processes_max is 'Most processes of one step.';
comment on column acct.job_stats.threads_max is 'Most threads of one step.';
comment on column acct.job_stats.last_at is 'When the last sample was taken.';
