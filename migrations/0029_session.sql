-- Sessions: sub-steps with a terminal. The step manager reports who is attached and when keys were last typed.
create table rota.session (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	substep int not null,
	name text,
	idle_timeout_s int,
	attached jsonb not null default '[]',
	last_key_at timestamptz,
	last_output_at timestamptz,
	reported_at timestamptz not null,
	primary key (job_id, step_id, attempt, substep),
	constraint session_number_is_positive check (substep >= 1),
	constraint session_idle_timeout_is_not_negative check (idle_timeout_s >= 0),
	constraint session_attached_is_short_list check (jsonb_typeof(attached) = 'array' and jsonb_array_length(attached) <= 16),
	constraint session_name_is_short check (length(name) <= 256)
) partition by range (job_id);
comment on table rota.session is
	'Sessions: sub-steps with a terminal, one row each. All of it is the word of the user, whose step manager reports it. '
	'What a session holds is in rota.substep. Null: unknown.';
comment on column rota.session.job_id is 'Job of the sub-step.';
comment on column rota.session.step_id is 'Step inside whose allocation the sub-step runs.';
comment on column rota.session.attempt is 'Attempt inside whose allocation the sub-step runs.';
comment on column rota.session.substep is 'Number of the sub-step in its attempt, from 1.';
comment on column rota.session.name is 'Name of the session.';
comment on column rota.session.idle_timeout_s is 'Seconds without keys and output after which the session is ended; 0: none.';
comment on column rota.session.attached is
	'Who was attached at reported_at, at most 16: [{"user": login name, "host": name of the client''s host, "since": time}].';
comment on column rota.session.last_key_at is 'When a key was last typed; null: never in this run.';
comment on column rota.session.last_output_at is 'When output was last written; null: never in this run.';
comment on column rota.session.reported_at is 'When the step manager wrote the record from which the row is.';
comment on column rota.substep.cause is
	'What ended the sub-step: exit, signal, launch, time_limit, idle_timeout, cancelled, bad_exit, dependency, lost or '
	'allocation_ended.';

create or replace function rota.range_options(p_table text) returns text
language sql immutable set search_path = rota, pg_temp as $$
	-- Half of each page stays free for new versions of rows that change while a step runs. Autovacuum runs after a number of
	-- dead rows that hardly grows with the table, because an index over live rows keeps its largest size. Jobs and arrays
	-- have a lower threshold, since there are fewer of them than steps.
	select format('fillfactor = 50, autovacuum_vacuum_threshold = %s, autovacuum_vacuum_scale_factor = 0.001, '
		'vacuum_index_cleanup = on', x.threshold)
	from (values
		('step', 2000), ('attempt', 2000), ('allocation', 2000), ('sample_total', 2000), ('job', 500), ('step_array', 500),
		('substep_total', 500), ('session', 500)
	) x (name, threshold)
	where x.name = p_table;
$$;

create or replace function rota.range_parts(p_from bigint, p_to bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_table text;
begin
	foreach v_table in array array['job', 'step_request', 'step', 'step_array', 'step_edge', 'attempt', 'allocation',
		'task_end', 'substep', 'substep_total', 'session',
		'hook_run', 'controller_hook', 'mail', 'sample_total', 'wait_reason', 'event']
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

-- The ranges that are there already.
do $$
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
