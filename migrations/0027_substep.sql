-- Sub-steps: what a job runs inside its allocation, as its step manager reports it.
create table rota.substep (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	substep int not null,
	name text,
	command text,
	tasks int,
	cpus int,
	mem_mb bigint,
	gres text,
	after_text text,
	priority int,
	retry int,
	runs int not null default 0,
	state text not null,
	exit_code int,
	signal int,
	cause text,
	node text,
	queued_at timestamptz,
	started_at timestamptz,
	ended_at timestamptz,
	elapsed_usec bigint,
	user_usec bigint,
	system_usec bigint,
	max_rss_kb bigint,
	minor_faults bigint,
	major_faults bigint,
	rchar bigint,
	wchar bigint,
	read_bytes bigint,
	write_bytes bigint,
	voluntary_switches bigint,
	involuntary_switches bigint,
	tasks_failed int,
	primary key (job_id, step_id, attempt, substep),
	constraint substep_number_is_positive check (substep >= 1),
	constraint substep_state_is_known check (state in ('waiting', 'running', 'completed', 'failed', 'timeout', 'cancelled',
		'skipped', 'dependency_failed')),
	constraint substep_has_end_in_final_state check ((ended_at is null) = (state in ('waiting', 'running'))),
	constraint substep_texts_are_short check (length(command) <= 256 and length(name) <= 256 and length(gres) <= 256
		and length(after_text) <= 256 and length(node) <= 256)
) partition by range (job_id);
comment on table rota.substep is
	'Sub-steps: what a job ran inside its allocation, one row each. All of it is the word of the user, whose step manager '
	'reports it. Nothing is charged or scheduled by it. Null: unknown.';
comment on column rota.substep.job_id is 'Job of the sub-step.';
comment on column rota.substep.step_id is 'Step inside whose allocation the sub-step ran.';
comment on column rota.substep.attempt is 'Attempt inside whose allocation the sub-step ran.';
comment on column rota.substep.substep is 'Number of the sub-step in its attempt, from 1.';
comment on column rota.substep.name is 'Name of the sub-step.';
comment on column rota.substep.command is 'Program and arguments of the sub-step, the first 256 characters.';
comment on column rota.substep.tasks is 'Number of tasks of the sub-step.';
comment on column rota.substep.cpus is 'CPUs that the step manager set aside for the sub-step.';
comment on column rota.substep.mem_mb is 'Memory that the step manager set aside for the sub-step, in MiB; 0: none.';
comment on column rota.substep.gres is 'Generic resources of the sub-step, such as gpu:2; null: none.';
comment on column rota.substep.after_text is 'Sub-steps that the sub-step waits for, as given: 3:ok,4:any; null: none.';
comment on column rota.substep.priority is 'Priority of the sub-step; higher ones start first.';
comment on column rota.substep.retry is 'How often the sub-step may run again if it fails.';
comment on column rota.substep.runs is 'How often the sub-step was started.';
comment on column rota.substep.state is
	'State of the sub-step: waiting, running, completed, failed, timeout, cancelled, skipped or dependency_failed.';
comment on column rota.substep.exit_code is 'Highest exit code of the sub-step''s tasks; null: none ended with one.';
comment on column rota.substep.signal is 'First signal that ended a task of the sub-step; null: none.';
comment on column rota.substep.cause is
	'What ended the sub-step: exit, signal, launch, time_limit, cancelled, bad_exit, dependency or lost.';
comment on column rota.substep.node is 'Node on which the sub-step ran last, as the step manager names it.';
comment on column rota.substep.queued_at is 'When the sub-step was queued.';
comment on column rota.substep.started_at is 'When the last run of the sub-step started; null: it has not started.';
comment on column rota.substep.ended_at is 'When the sub-step ended; null: no end was reported.';
comment on column rota.substep.elapsed_usec is
	'Microseconds from the start of the last run to the end, by the clock of the node; null: it never started or has not ended.';
comment on column rota.substep.user_usec is 'CPU time of the sub-step in user mode, in microseconds.';
comment on column rota.substep.system_usec is 'CPU time of the sub-step in the kernel, in microseconds.';
comment on column rota.substep.max_rss_kb is 'Highest resident memory of one process of the sub-step, in KiB.';
comment on column rota.substep.minor_faults is 'Page faults of the sub-step without I/O.';
comment on column rota.substep.major_faults is 'Page faults of the sub-step with I/O.';
comment on column rota.substep.rchar is 'Bytes that read calls of the sub-step returned.';
comment on column rota.substep.wchar is 'Bytes that the sub-step passed to write calls.';
comment on column rota.substep.read_bytes is 'Bytes that the sub-step read from storage.';
comment on column rota.substep.write_bytes is 'Bytes that the sub-step wrote to storage.';
comment on column rota.substep.voluntary_switches is 'Voluntary context switches of the sub-step.';
comment on column rota.substep.involuntary_switches is 'Involuntary context switches of the sub-step.';
comment on column rota.substep.tasks_failed is 'Number of the sub-step''s tasks that failed.';

create table rota.substep_total (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	waiting int not null default 0,
	running int not null default 0,
	ended int not null default 0,
	failed int not null default 0,
	cpu_usec bigint,
	primary key (job_id, step_id, attempt),
	constraint substep_total_is_not_negative check (least(waiting, running, ended - failed, failed) >= 0)
) partition by range (job_id);
comment on table rota.substep_total is
	'Totals of rota.substep for each attempt that has sub-steps, so that views of steps need not count them. '
	'api.node_substep_report keeps them.';
comment on column rota.substep_total.job_id is 'Job of the attempt.';
comment on column rota.substep_total.step_id is 'Step of the attempt.';
comment on column rota.substep_total.attempt is 'Attempt of the sub-steps.';
comment on column rota.substep_total.waiting is 'Number of sub-steps that were last reported as waiting.';
comment on column rota.substep_total.running is 'Number of sub-steps that were last reported as running.';
comment on column rota.substep_total.ended is 'Number of sub-steps that have ended, failed ones included.';
comment on column rota.substep_total.failed is 'Number of sub-steps that ended as failed or timeout.';
comment on column rota.substep_total.cpu_usec is
	'CPU time of the ended sub-steps, in microseconds; null: unknown of all of them.';

create or replace function rota.range_options(p_table text) returns text
language sql immutable set search_path = rota, pg_temp as $$
	-- Half of each page stays free for new versions of rows that change while a step runs. Autovacuum runs after a number of
	-- dead rows that hardly grows with the table, because an index over live rows keeps its largest size. Jobs and arrays
	-- have a lower threshold, since there are fewer of them than steps.
	select format('fillfactor = 50, autovacuum_vacuum_threshold = %s, autovacuum_vacuum_scale_factor = 0.001, '
		'vacuum_index_cleanup = on', x.threshold)
	from (values
		('step', 2000), ('attempt', 2000), ('allocation', 2000), ('sample_total', 2000), ('job', 500), ('step_array', 500),
		('substep_total', 500)
	) x (name, threshold)
	where x.name = p_table;
$$;

create or replace function rota.range_parts(p_from bigint, p_to bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_table text;
begin
	-- A table to which others refer comes before them.
	for v_table in
		select c.relname::text
		from pg_partitioned_table p
		join pg_class c on c.oid = p.partrelid and c.relnamespace = 'rota'::regnamespace
		join pg_attribute a on a.attrelid = c.oid and a.attnum = p.partattrs[0] and a.attname = 'job_id'
		order by array_position('{job,step_request,step,step_array,step_edge,attempt,allocation}', c.relname::text) nulls last,
			c.relname
	loop
		if to_regclass(format('rota.%I', v_table || '_' || p_from)) is not null then
			continue;
		end if;
		-- The partition is created first and then attached, because attaching does not block sessions that read or write
		-- the partitioned table.
		execute format('create table rota.%I (like rota.%I including all excluding identity)%s', v_table || '_' || p_from,
			v_table, ' with (' || rota.range_options(v_table) || ')');
		execute format('alter table rota.%I attach partition rota.%I for values from (%s) to (%s)', v_table,
			v_table || '_' || p_from, p_from, p_to);
		perform rota.guard_rows(v_table || '_' || p_from);
	end loop;
end $$;

create function rota.range_complete() returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_range record;
begin
	for v_range in
		select b.bounds[1]::bigint as from_job, b.bounds[2]::bigint as to_job
		from pg_inherits i
		join pg_class c on c.oid = i.inhrelid
		cross join lateral (select regexp_match(pg_get_expr(c.relpartbound, c.oid),
			'FROM \(''?(\d+)''?\) TO \(''?(\d+)''?\)') as bounds) b
		where i.inhparent = 'rota.job'::regclass
	loop
		perform rota.range_parts(v_range.from_job, v_range.to_job);
	end loop;
end $$;
comment on function rota.range_complete() is
	'Make the partitions that new tables lack in the ranges that are there. A migration that makes a table with ranges calls it.';
select rota.range_complete();
