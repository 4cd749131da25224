-- What steps use while they run: samples, and their totals.

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
	read_bytes bigint,
	write_bytes bigint,
	processes int,
	threads int,
	gauges jsonb
) partition by range (at);
create index sample_of_step on rota.sample (job_id, step_id, attempt, at);
comment on table rota.sample is
	'What the processes of running steps used at a moment; one partition for each day (UTC). Null: unknown.';
comment on column rota.sample.at is 'When, by the database''s clock.';
comment on column rota.sample.job_id is 'The job.';
comment on column rota.sample.step_id is 'The step.';
comment on column rota.sample.attempt is 'The attempt.';
comment on column rota.sample.node_id is 'The node.';
comment on column rota.sample.task is 'Rank of a task, where a node has several; -1: all processes of the step on the node.';
comment on column rota.sample.cpu_usec is 'CPU time used so far, in microseconds.';
comment on column rota.sample.rss_kb is 'Resident memory, in KiB.';
comment on column rota.sample.swap_kb is 'Memory swapped out, in KiB.';
comment on column rota.sample.minor_faults is 'Page faults without I/O so far.';
comment on column rota.sample.major_faults is 'Page faults with I/O so far.';
comment on column rota.sample.read_bytes is 'Bytes read so far.';
comment on column rota.sample.write_bytes is 'Bytes written so far.';
comment on column rota.sample.processes is 'Processes.';
comment on column rota.sample.threads is 'Threads of them.';
comment on column rota.sample.gauges is 'Figures of the site''s plug-in for the units held, as in {"gpu0.util": 35}.';

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
	read_bytes bigint,
	read_bytes_first bigint,
	read_rate double precision,
	read_rate_max double precision,
	write_bytes bigint,
	write_bytes_first bigint,
	write_rate double precision,
	write_rate_max double precision,
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
	primary key (job_id, step_id, attempt, node_id, task)
) partition by range (job_id);
comment on table rota.sample_total is
	'Totals of the samples of an attempt on a node, which stay when the samples are dropped. The clock in it lets each '
	'sample count once. Null: unknown.';
comment on column rota.sample_total.job_id is 'The job.';
comment on column rota.sample_total.step_id is 'The step.';
comment on column rota.sample_total.attempt is 'The attempt.';
comment on column rota.sample_total.node_id is 'The node.';
comment on column rota.sample_total.task is
	'Rank of a task, where a node has several; -1: all processes of the step on the node.';
comment on column rota.sample_total.only_task is 'Rank of the task, where it is the only one on the node.';
comment on column rota.sample_total.samples is 'How many there were.';
comment on column rota.sample_total.first_clock is 'The first one, in microseconds of the node''s CLOCK_BOOTTIME.';
comment on column rota.sample_total.clock is 'The same of the latest sample. A sample that is not later was counted before.';
comment on column rota.sample_total.first_at is 'The first one, by the database''s clock.';
comment on column rota.sample_total.last_at is 'The last one.';
comment on column rota.sample_total.cpu_usec is 'CPU time used by the last one, in microseconds.';
comment on column rota.sample_total.cpu_usec_first is 'The same by the first one.';
comment on column rota.sample_total.cpu_rate is 'CPUs busy between the last two.';
comment on column rota.sample_total.cpu_rate_max is 'Most CPUs busy between any two.';
comment on column rota.sample_total.read_bytes is 'Bytes read by the last one.';
comment on column rota.sample_total.read_bytes_first is 'The same by the first one.';
comment on column rota.sample_total.read_rate is 'Bytes read each second between the last two.';
comment on column rota.sample_total.read_rate_max is 'Most bytes read each second between any two.';
comment on column rota.sample_total.write_bytes is 'Bytes written by the last one.';
comment on column rota.sample_total.write_bytes_first is 'The same by the first one.';
comment on column rota.sample_total.write_rate is 'Bytes written each second between the last two.';
comment on column rota.sample_total.write_rate_max is 'Most bytes written each second between any two.';
comment on column rota.sample_total.minor_faults is 'Page faults without I/O by the last one.';
comment on column rota.sample_total.major_faults is 'Page faults with I/O by the last one.';
comment on column rota.sample_total.rss_kb is 'Resident memory in the last one, in KiB.';
comment on column rota.sample_total.rss_kb_max is 'The most there was.';
comment on column rota.sample_total.rss_kb_sum is 'The sum of all; divided by samples: the mean.';
comment on column rota.sample_total.swap_kb is 'Memory swapped out in the last one, in KiB.';
comment on column rota.sample_total.swap_kb_max is 'The most there was.';
comment on column rota.sample_total.swap_kb_sum is 'The sum of all.';
comment on column rota.sample_total.processes is 'Processes in the last one.';
comment on column rota.sample_total.processes_max is 'The most there were.';
comment on column rota.sample_total.processes_sum is 'The sum of all.';
comment on column rota.sample_total.threads is 'Threads in the last one.';
comment on column rota.sample_total.threads_max is 'The most there were.';
comment on column rota.sample_total.threads_sum is 'The sum of all.';
comment on column rota.sample_total.gauges is
	'Of each figure of the site''s plug-in the last, the highest, the sum and the number of all: {"gpu0.util": [35, 80, '
	'1200, 20]}.';
