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

-- Make the partitions of the new tables for the ranges of jobs that exist.
select rota.range_complete();
