-- Samples of the resource use of running steps, and totals of the samples.

create table rota.sample (
	at timestamptz not null,
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	node_id int not null,
	task int not null check (task >= '-1'::integer),
	cpu_usec bigint,
	rss_kb bigint,
	swap_kb bigint,
	minor_faults bigint,
	major_faults bigint,
	processes int,
	threads int,
	gauges jsonb,
	rchar bigint,
	wchar bigint,
	read_bytes bigint,
	write_bytes bigint
) partition by range (at);
create index sample_of_step on rota.sample (job_id, step_id, attempt, at);
comment on table rota.sample is
	'Samples: resource use of the processes of running steps at a moment. One partition for each day (UTC). Null: '
	'unknown.';
comment on column rota.sample.at is 'When the sample was taken, by the clock of the database.';
comment on column rota.sample.job_id is 'Job of the sampled step.';
comment on column rota.sample.step_id is 'Step that was sampled.';
comment on column rota.sample.attempt is 'Attempt that was sampled.';
comment on column rota.sample.node_id is 'Node on which the sample was taken.';
comment on column rota.sample.task is
	'Rank of the sampled task, if the step has several tasks on the node; -1: all processes of the step on the node '
	'together.';
comment on column rota.sample.cpu_usec is 'CPU time that the processes had used so far, in microseconds.';
comment on column rota.sample.rss_kb is 'Resident memory of the processes, in KiB.';
comment on column rota.sample.swap_kb is 'Memory of the processes that is swapped out, in KiB.';
comment on column rota.sample.minor_faults is 'Page faults without I/O of the processes so far.';
comment on column rota.sample.major_faults is 'Page faults with I/O of the processes so far.';
comment on column rota.sample.processes is 'Number of processes.';
comment on column rota.sample.threads is 'Number of threads of all processes together.';
comment on column rota.sample.gauges is
	'Figures that the site''s sample command gave for the devices of the step, as in {"gpu0.util": 35}.';
comment on column rota.sample.rchar is 'Bytes that read calls had returned so far.';
comment on column rota.sample.wchar is 'Bytes that had been passed to write calls so far.';
comment on column rota.sample.read_bytes is 'Bytes that had been read from storage so far.';
comment on column rota.sample.write_bytes is 'Bytes that had been written to storage so far.';

create table rota.sample_total (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	node_id int not null,
	task int not null check (task >= '-1'::integer),
	only_task int,
	samples int not null default 1,
	first_clock bigint not null,
	clock bigint not null,
	first_at timestamptz not null,
	last_at timestamptz not null,
	cpu_usec bigint,
	cpu_usec_first bigint,
	cpu_rate double precision,
	cpu_rate_max double precision,
	minor_faults bigint,
	major_faults bigint,
	rss_kb bigint,
	rss_kb_max bigint,
	rss_kb_sum numeric,
	swap_kb bigint,
	swap_kb_max bigint,
	swap_kb_sum numeric,
	processes int,
	processes_max int,
	processes_sum bigint,
	threads int,
	threads_max int,
	threads_sum bigint,
	gauges jsonb,
	rchar bigint,
	wchar bigint,
	read_bytes bigint,
	read_bytes_first bigint,
	read_rate double precision,
	read_rate_max double precision,
	write_bytes bigint,
	write_bytes_first bigint,
	write_rate double precision,
	write_rate_max double precision,
	primary key (job_id, step_id, attempt, node_id, task)
) partition by range (job_id);
comment on table rota.sample_total is
	'Totals of the samples of an attempt on a node, which are kept when the samples are dropped. The column clock '
	'ensures that each sample counts once. Null: unknown.';
comment on column rota.sample_total.job_id is 'Job of the sampled step.';
comment on column rota.sample_total.step_id is 'Step that was sampled.';
comment on column rota.sample_total.attempt is 'Attempt that was sampled.';
comment on column rota.sample_total.node_id is 'Node on which the samples were taken.';
comment on column rota.sample_total.task is
	'Rank of the sampled task, if the step has several tasks on the node; -1: all processes of the step on the node '
	'together.';
comment on column rota.sample_total.only_task is 'Rank of the task, if it is the only task of the step on the node.';
comment on column rota.sample_total.samples is 'Number of samples.';
comment on column rota.sample_total.first_clock is
	'Time of the first sample, in microseconds of the node''s CLOCK_BOOTTIME.';
comment on column rota.sample_total.clock is
	'Time of the latest sample, in microseconds of the node''s CLOCK_BOOTTIME. A sample that is not later was counted '
	'before.';
comment on column rota.sample_total.first_at is 'Time of the first sample, by the clock of the database.';
comment on column rota.sample_total.last_at is 'Time of the latest sample, by the clock of the database.';
comment on column rota.sample_total.cpu_usec is 'CPU time used up to the latest sample, in microseconds.';
comment on column rota.sample_total.cpu_usec_first is 'CPU time used up to the first sample, in microseconds.';
comment on column rota.sample_total.cpu_rate is 'Mean number of busy CPUs between the latest two samples.';
comment on column rota.sample_total.cpu_rate_max is 'Highest mean number of busy CPUs between two consecutive samples.';
comment on column rota.sample_total.minor_faults is 'Page faults without I/O up to the latest sample.';
comment on column rota.sample_total.major_faults is 'Page faults with I/O up to the latest sample.';
comment on column rota.sample_total.rss_kb is 'Resident memory in the latest sample, in KiB.';
comment on column rota.sample_total.rss_kb_max is 'Highest resident memory in any sample, in KiB.';
comment on column rota.sample_total.rss_kb_sum is
	'Sum of resident memory over all samples, in KiB; divided by samples it is the mean.';
comment on column rota.sample_total.swap_kb is 'Memory swapped out in the latest sample, in KiB.';
comment on column rota.sample_total.swap_kb_max is 'Most memory swapped out in any sample, in KiB.';
comment on column rota.sample_total.swap_kb_sum is 'Sum of memory swapped out over all samples, in KiB.';
comment on column rota.sample_total.processes is 'Number of processes in the latest sample.';
comment on column rota.sample_total.processes_max is 'Highest number of processes in any sample.';
comment on column rota.sample_total.processes_sum is 'Sum of the number of processes over all samples.';
comment on column rota.sample_total.threads is 'Number of threads in the latest sample.';
comment on column rota.sample_total.threads_max is 'Highest number of threads in any sample.';
comment on column rota.sample_total.threads_sum is 'Sum of the number of threads over all samples.';
comment on column rota.sample_total.gauges is
	'For each figure of the site''s sample command: its latest value, highest value, sum and number of values, as in '
	'{"gpu0.util": [35, 80, 1200, 20]}.';
comment on column rota.sample_total.rchar is 'Bytes that read calls had returned up to the latest sample.';
comment on column rota.sample_total.wchar is 'Bytes passed to write calls up to the latest sample.';
comment on column rota.sample_total.read_bytes is 'Bytes read from storage up to the latest sample.';
comment on column rota.sample_total.read_bytes_first is 'Bytes read from storage up to the first sample.';
comment on column rota.sample_total.read_rate is 'Bytes read from storage each second between the latest two samples.';
comment on column rota.sample_total.read_rate_max is
	'Most bytes read from storage each second between two consecutive samples.';
comment on column rota.sample_total.write_bytes is 'Bytes written to storage up to the latest sample.';
comment on column rota.sample_total.write_bytes_first is 'Bytes written to storage up to the first sample.';
comment on column rota.sample_total.write_rate is 'Bytes written to storage each second between the latest two samples.';
comment on column rota.sample_total.write_rate_max is
	'Most bytes written to storage each second between two consecutive samples.';
