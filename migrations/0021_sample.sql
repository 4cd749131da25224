-- What steps use while they run: samples, and what they come to.

alter table rota.partition add column sample_s int not null default 30 check (sample_s between 0 and 86400);
comment on column rota.partition.sample_s is 'Seconds between samples of what its steps use, where they do not say it themselves; 0: none are taken.';
alter table rota.step_request add column sample_s int check (sample_s between 0 and 86400);
comment on column rota.step_request.sample_s is 'Seconds between samples of what it uses; 0: none; null: as its partition has it.';

insert into rota.setting (name, value, kind, help) values
	('sample_min_s', '5', 'int', 'fewest seconds between samples that a step may ask for'),
	('sample_days', '30', 'int', 'days for which samples are kept; maxima, means and last figures are kept with the job');

comment on column rota.node_order.args is 'Arguments: signal, cause, epilog, time_limit_s; of a launch sample_s, the seconds between samples.';

create table rota.sample (
	at timestamptz not null,
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	node_id int not null,
	task int not null check (task >= -1),
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
comment on table rota.sample is 'What the processes of running steps used at a moment; one partition for each day (UTC). Null: unknown.';
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
	task int not null check (task >= -1),
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
comment on table rota.sample_total is 'What the samples of an attempt on a node come to, kept when they are dropped; and by its clock each sample counts once. Null: unknown.';
comment on column rota.sample_total.job_id is 'The job.';
comment on column rota.sample_total.step_id is 'The step.';
comment on column rota.sample_total.attempt is 'The attempt.';
comment on column rota.sample_total.node_id is 'The node.';
comment on column rota.sample_total.task is 'Rank of a task, where a node has several; -1: all processes of the step on the node.';
comment on column rota.sample_total.only_task is 'Rank of the task, where it is the only one on the node.';
comment on column rota.sample_total.samples is 'How many there were.';
comment on column rota.sample_total.first_clock is 'The first one, in microseconds of the node''s CLOCK_BOOTTIME.';
comment on column rota.sample_total.clock is 'The last one, the same way; what is not later was told before.';
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
comment on column rota.sample_total.gauges is 'Of each figure of the site''s plug-in the last, the highest, the sum and the number of all: {"gpu0.util": [35, 80, 1200, 20]}.';

create function rota.sample_range(p_day date) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_name text := 'sample_' || to_char(p_day, 'YYYYMMDD');
begin
	if to_regclass('rota.' || v_name) is not null then
		return;
	end if;
	-- Made first and attached then: so nobody who reads or writes samples is waited for.
	execute format('create table rota.%I (like rota.sample including all)', v_name);
	execute format('alter table rota.sample attach partition rota.%I for values from (%L) to (%L)', v_name,
		to_char(p_day, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(p_day + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
end $$;
comment on function rota.sample_range(date) is 'Make the partition for samples of a day (UTC), where it is missing.';

do $$
begin
	perform rota.sample_range((now() at time zone 'UTC')::date + n) from generate_series(0, 3) n;
end $$;

create or replace function rota.range_make(p_from bigint, p_to bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_table text;
	v_options text;
begin
	foreach v_table in array array['job', 'step_request', 'step', 'step_array', 'step_edge', 'attempt', 'allocation', 'task_end', 'hook_run',
		'controller_hook', 'sample_total', 'event']
	loop
		-- Rows that change while a step runs leave room on their pages for their next versions.
		v_options := case when v_table in ('step', 'step_array', 'attempt', 'allocation', 'job', 'sample_total')
			then ' with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)' else '' end;
		if to_regclass(format('rota.%I', v_table || '_' || p_from)) is not null then
			continue;
		end if;
		execute format('create table rota.%I partition of rota.%I for values from (%s) to (%s)%s', v_table || '_' || p_from, v_table, p_from, p_to, v_options);
		perform rota.forever(v_table || '_' || p_from);
	end loop;
end $$;
do $$
begin
	-- The bound of a partition reads: FOR VALUES FROM ('0') TO ('1000000').
	perform rota.range_make(x.bound[1]::bigint, x.bound[2]::bigint)
	from pg_inherits i
	join pg_class c on c.oid = i.inhrelid
	cross join lateral (select regexp_match(pg_get_expr(c.relpartbound, c.oid), $re$FROM \('([0-9]+)'\) TO \('([0-9]+)'\)$re$) as bound) x
	where i.inhparent = 'rota.job'::regclass;
end $$;
