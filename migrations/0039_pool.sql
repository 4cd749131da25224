-- Pools: space that functions of burst_buffer.lua hand out. Jobs take it at setup and give it back after their teardown.
create table rota.pool (
	name text primary key,
	quantity bigint not null,
	granularity bigint not null,
	changed_at timestamptz not null default clock_timestamp(),
	constraint pool_name_is_short check (octet_length(name) between 1 and 64),
	constraint pool_quantity_is_not_negative check (quantity >= 0),
	constraint pool_granularity_is_positive check (granularity > 0),
	constraint pool_has_at_most_4_eib check (quantity * granularity::numeric <= 4611686018427387904)
);
comment on table rota.pool is
	'Pools of space as the function pools of burst_buffer.lua last named them. '
	'What jobs have taken of a pool is in rota.staging.';
comment on column rota.pool.name is 'Name of the pool, which directives have after pool=.';
comment on column rota.pool.quantity is 'How many pieces of space the pool has; 0: the script does not name the pool any more.';
comment on column rota.pool.granularity is 'Bytes of a piece. What a job asks for is rounded up to pieces.';
comment on column rota.pool.changed_at is 'When a figure of the pool last changed.';

create table rota.pool_answer (
	one boolean primary key default true,
	failure text,
	changed_at timestamptz not null default clock_timestamp(),
	constraint pool_answer_is_one check (one)
);
comment on table rota.pool_answer is 'How the last call of the function pools of burst_buffer.lua ended, one row.';
comment on column rota.pool_answer.one is 'Always true: there is one row.';
comment on column rota.pool_answer.failure is 'Why the last call failed; null: it did not. A failure changes no pool.';
comment on column rota.pool_answer.changed_at is 'When calls began to fail or to succeed, or the reason changed.';
insert into rota.pool_answer default values;

alter table rota.staging
	add column pool text,
	add column capacity bigint,
	add column taken bigint,
	add constraint staging_capacity_is_positive check (capacity > 0),
	add constraint staging_capacity_has_pool check ((pool is null) = (capacity is null)),
	add constraint staging_taken_is_asked check (taken is null or (taken >= capacity and ended_at is null));
comment on column rota.staging.pool is 'Pool of which the job asks for space; null: none.';
comment on column rota.staging.capacity is 'Bytes of the pool that the job asks for, in whole pieces; null: none.';
comment on column rota.staging.taken is
	'Bytes of the pool that the job has, from its setup to the end of its teardown; null: none. '
	'More than it asked for: real_size said so.';

alter table rota.staging_transition drop constraint staging_function_is_known;
alter table rota.staging_transition add constraint staging_function_is_known
	check (function in ('setup', 'data_in', 'test_data_in', 'real_size', 'paths', 'pre_run', 'post_run', 'data_out',
		'test_data_out', 'job_teardown'));
insert into rota.staging_transition (from_state, event, to_state, function, hurry) values
	('staging_in', 'measure', 'staging_in', 'real_size', null),
	('staging_in', 'real_size', 'staging_in', 'paths', null);
comment on column rota.staging_transition.event is
	'What happens. The name of a function: it has succeeded. begin: the job waits for nothing else; place: its first step has '
	'nodes; end: its last step has ended; abort: the same, before the job ran; fail: a function has failed; fail_teardown: '
	'the same, where the site wants a teardown at once; interrupted: its runnerd has gone; give_up: the last try of a teardown '
	'has failed; retry: somebody has asked for another try; hurry: stage-out is not wanted; rerun: the job is requeued; measure: '
	'test_data_in of a job with space of a pool has succeeded.';
