-- Staging: functions of burst_buffer.lua that bring a job's data in before it starts and take it out after it has ended, pools of
-- space that these functions hand out, and transfers that scripts ask for.

create table rota.staging_transition (
	from_state text not null,
	event text not null,
	to_state text not null,
	function text,
	hurry boolean,
	primary key (from_state, event),
	constraint staging_state_is_known check (to_state in ('pending', 'setup', 'staging_in', 'staged', 'pre_run', 'running',
		'post_run', 'staging_out', 'teardown', 'complete', 'failed', 'array')),
	constraint staging_function_is_known check (function in ('setup', 'data_in', 'test_data_in', 'real_size', 'paths', 'pre_run',
		'post_run', 'data_out', 'test_data_out', 'job_teardown'))
);
comment on table rota.staging_transition is
	'The states of a job''s data. In from_state, event leads to to_state. A transition that is not in this table cannot happen.';
comment on column rota.staging_transition.from_state is 'State before the event.';
comment on column rota.staging_transition.event is
	'What happens. The name of a function: it has succeeded. begin: the job waits for nothing else; place: its first step has '
	'nodes; end: its last step has ended; abort: the same, before the job ran; fail: a function has failed; fail_teardown: '
	'the same, where the site wants a teardown at once; fail_kept: the same, where steps have run with the data; '
	'interrupted: its runnerd has gone; give_up: the last try of a teardown has failed; retry: somebody has asked for another '
	'try; hurry: stage-out is not wanted; rerun: the job is requeued, or goes on; rerun_array: the same, of an array; '
	'measure: test_data_in of a job with space of a pool has succeeded.';
comment on column rota.staging_transition.to_state is 'State after the event.';
comment on column rota.staging_transition.function is 'Function that is due with the event; null: none.';
comment on column rota.staging_transition.hurry is
	'Value that the event gives to the column hurry of rota.staging; null: the value stays.';
insert into rota.staging_transition (from_state, event, to_state, function, hurry) values
	('pending', 'begin', 'setup', 'setup', false),
	('pending', 'job_teardown', 'pending', null, null),
	('pending', 'interrupted', 'pending', 'job_teardown', true),
	('pending', 'end', 'complete', null, null),
	('pending', 'abort', 'teardown', 'job_teardown', true),
	('setup', 'setup', 'staging_in', 'data_in', null),
	('staging_in', 'data_in', 'staging_in', 'test_data_in', null),
	('staging_in', 'test_data_in', 'staging_in', 'paths', null),
	('staging_in', 'measure', 'staging_in', 'real_size', null),
	('staging_in', 'real_size', 'staging_in', 'paths', null),
	('staging_in', 'paths', 'staged', null, null),
	('staged', 'place', 'pre_run', 'pre_run', null),
	('pre_run', 'pre_run', 'running', null, null),
	('pre_run', 'interrupted', 'pre_run', 'pre_run', null),
	('pre_run', 'fail', 'pending', 'job_teardown', true),
	('pre_run', 'fail_teardown', 'pending', 'job_teardown', true),
	('running', 'end', 'post_run', 'post_run', null),
	('running', 'hurry', 'teardown', 'job_teardown', true),
	('post_run', 'post_run', 'staging_out', 'data_out', null),
	('staging_out', 'data_out', 'staging_out', 'test_data_out', null),
	('staging_out', 'test_data_out', 'teardown', 'job_teardown', false),
	('teardown', 'job_teardown', 'complete', null, null),
	('teardown', 'give_up', 'complete', null, null),
	('teardown', 'interrupted', 'teardown', 'job_teardown', null),
	('failed', 'job_teardown', 'failed', null, null),
	('failed', 'interrupted', 'failed', 'job_teardown', null),
	('failed', 'retry', 'pending', 'job_teardown', true),
	('complete', 'rerun', 'pending', null, false),
	('array', 'end', 'complete', null, null),
	('complete', 'rerun_array', 'array', null, false),
	-- A job whose stage-out failed goes on with the data that is still staged: to stage that out again, or to run steps again
	-- with it. Results of its earlier steps may be in that data. So a failure or a cancel before they run does not tear it down.
	('post_run', 'rerun', 'staged', null, false),
	('staging_out', 'rerun', 'staged', null, false),
	('staged', 'end', 'post_run', 'post_run', null),
	('pre_run', 'end', 'post_run', 'post_run', null),
	('pre_run', 'fail_kept', 'staged', null, null);
-- A stage-in that failed or was interrupted begins anew, after a teardown. A stage-out goes on from post_run.
insert into rota.staging_transition (from_state, event, to_state, function, hurry)
select s.state, e.event, e.to_state, e.function, e.hurry
from (values ('setup'), ('staging_in')) s (state)
cross join (values ('fail', 'failed', null, null), ('fail_teardown', 'failed', 'job_teardown', true),
	('interrupted', 'pending', 'job_teardown', true)) e (event, to_state, function, hurry)
union all
select s.state, e.event, coalesce(e.to_state, s.state), e.function, e.hurry
from (values ('post_run'), ('staging_out')) s (state)
cross join (values ('fail', null, null, null), ('fail_teardown', 'teardown', 'job_teardown', false),
	('interrupted', 'post_run', 'post_run', null), ('retry', 'post_run', 'post_run', null),
	('hurry', 'teardown', 'job_teardown', true)) e (event, to_state, function, hurry)
union all
select s.state, 'abort', 'teardown', 'job_teardown', true
from (values ('setup'), ('staging_in'), ('staged'), ('pre_run'), ('failed')) s (state);

-- Elements of an array whose data is staged for themselves. The row of the array's job has the directives and says how far all of
-- it is; an element gets a row when it is one of the next to be staged in, so an array makes one row when it is submitted.
create table rota.staging (
	job_id bigint primary key,
	state text not null default 'pending',
	directives text,
	inserted text,
	variables text[] not null default '{}',
	hurry boolean not null default false,
	next_function text,
	message text,
	made_at timestamptz not null default clock_timestamp(),
	setup_at timestamptz,
	staged_at timestamptz,
	pre_run_at timestamptz,
	running_at timestamptz,
	post_run_at timestamptz,
	teardown_at timestamptz,
	ended_at timestamptz,
	pool text,
	capacity bigint,
	taken bigint,
	array_job_id bigint,
	step_id int,
	constraint staging_element_is_whole check ((array_job_id is null) = (step_id is null)),
	constraint staging_directives_are_once check ((directives is null) = (array_job_id is not null)),
	constraint staging_directives_are_short check (octet_length(directives) between 1 and 65536),
	constraint staging_is_over_or_not check ((state = 'complete') = (ended_at is not null)),
	constraint staging_capacity_is_positive check (capacity > 0),
	constraint staging_capacity_has_pool check ((pool is null) = (capacity is null)),
	constraint staging_taken_is_asked check (taken is null or (taken >= capacity and ended_at is null))
) partition by range (job_id);
create index staging_live on rota.staging (state, job_id) where ended_at is null;
create index staging_element on rota.staging (array_job_id, step_id) where array_job_id is not null;
create index staging_element_live on rota.staging (array_job_id, state) where array_job_id is not null and ended_at is null;
comment on table rota.staging is
	'Jobs with directives for burst_buffer.lua: one row each, with the state of their data; and a row for each element of an '
	'array that has been, or is next to be, staged in. rota.staging_transition has the moves.';
comment on column rota.staging.job_id is
	'Job whose data is staged; of an element, a number of its own, which no job has.';
comment on column rota.staging.state is
	'pending: waits as the job does; setup, staging_in: functions before the job run; staged: the job may start; pre_run: its '
	'first step has nodes; running: the job runs; post_run, staging_out: functions after the job run; teardown; complete; '
	'failed: stage-in failed, the job is held; array: each element of the job has a row of its own.';
comment on column rota.staging.directives is
	'Lines of directives, those of --bb and --bbf first; null: of an element, whose job has them.';
comment on column rota.staging.inserted is
	'Lines of --bb and --bbf, which burst_buffer.lua finds after the first line of the script; null: none.';
comment on column rota.staging.variables is
	'Environment variables for the steps of the job, NAME=value, which the function paths wrote.';
comment on column rota.staging.hurry is
	'Third argument of the next job_teardown: the job did not run, or stage-out is not wanted.';
comment on column rota.staging.next_function is
	'Function that is due when the one under way, which is being killed, has ended; null: none.';
comment on column rota.staging.message is 'Why a function failed, the latest time; null: none has failed.';
comment on column rota.staging.made_at is 'When the job was submitted.';
comment on column rota.staging.setup_at is 'When setup last became due; null: never.';
comment on column rota.staging.staged_at is 'When stage-in was last complete; null: never.';
comment on column rota.staging.pre_run_at is 'When pre_run last became due; null: never.';
comment on column rota.staging.running_at is 'When pre_run had last succeeded; null: never.';
comment on column rota.staging.post_run_at is 'When post_run first became due after the latest run; null: never.';
comment on column rota.staging.teardown_at is 'When the last job_teardown became due; null: never.';
comment on column rota.staging.ended_at is 'When all of it was over; null: it is not.';
comment on column rota.staging.pool is 'Pool of which the job asks for space; null: none.';
comment on column rota.staging.capacity is 'Bytes of the pool that the job asks for, in whole pieces; null: none.';
comment on column rota.staging.taken is
	'Bytes of the pool that the job has, from its setup to the end of its teardown; null: none. '
	'More than it asked for: real_size said so.';
comment on column rota.staging.array_job_id is 'Of an element: its job; null: the row is that of a job.';
comment on column rota.staging.step_id is 'Of an element: its step; null: the row is that of a job.';

create table rota.staging_call (
	call_id bigint generated always as identity,
	job_id bigint not null,
	function text not null,
	hurry boolean not null default false,
	tries int not null default 1,
	due_at timestamptz not null default clock_timestamp(),
	first_at timestamptz,
	began_at timestamptz,
	ended_at timestamptz,
	unwanted boolean not null default false,
	rc int,
	usec bigint,
	message text,
	output text,
	primary key (job_id, call_id)
) partition by range (job_id);
create unique index staging_call_is_one on rota.staging_call (job_id) where ended_at is null;
create index staging_call_open on rota.staging_call (due_at) where ended_at is null;
comment on table rota.staging_call is
	'Calls of functions of burst_buffer.lua by runnerd: due, under way and ended. A job has one at a time that has not ended.';
comment on column rota.staging_call.call_id is 'Number of the call, in the order of making.';
comment on column rota.staging_call.job_id is 'Job for which the function is called.';
comment on column rota.staging_call.function is 'Name of the function, without slurm_bb_.';
comment on column rota.staging_call.hurry is 'Third argument of the function job_teardown.';
comment on column rota.staging_call.tries is 'Which try of a teardown it is, from 1.';
comment on column rota.staging_call.due_at is 'From when on the function is to be called, or called again to poll.';
comment on column rota.staging_call.first_at is 'When the first of several polls began; null: none has begun.';
comment on column rota.staging_call.began_at is 'When a runnerd took the call; null: it has not begun.';
comment on column rota.staging_call.ended_at is 'When its end was reported; null: it has not ended.';
comment on column rota.staging_call.unwanted is 'Its job has ended, or stage-out is not wanted any more: it is killed.';
comment on column rota.staging_call.rc is
	'What the function returned, 0 or -1; null: it has not ended, or did not run to its end.';
comment on column rota.staging_call.usec is 'How long it ran, in microseconds; null: it has not ended, or was not run.';
comment on column rota.staging_call.message is 'The function''s message, or how it failed; null: neither.';
comment on column rota.staging_call.output is 'Last part of what the script printed.';

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

create table rota.transfer (
	job_id bigint not null,
	transfer int not null,
	direction text not null check (direction in ('in', 'out', 'drop')),
	mode text not null check (mode in ('copy', 'rsync', 'link', 'command')),
	on_fail text not null check (on_fail in ('keep', 'out', 'drop')),
	source text not null,
	destination text not null,
	checksum boolean not null,
	reuse boolean not null,
	prefer boolean not null,
	step_id int,
	for_job bigint,
	for_transfer int,
	primary key (job_id, transfer)
) partition by range (job_id);
create index transfer_prefer on rota.transfer (job_id) where prefer;
create index transfer_to on rota.transfer (md5(destination)) where direction = 'in';
comment on table rota.transfer is
	'Transfers that the scripts of jobs ask for: lines stage-in and stage-out, and the drop of $ROTA_SCRATCH.';
comment on column rota.transfer.job_id is 'Job whose script has the line.';
comment on column rota.transfer.transfer is 'Number of the line among the transfers of the job, from 1.';
comment on column rota.transfer.direction is 'in: before the steps; out: after them; drop: the folder of the job is removed.';
comment on column rota.transfer.mode is 'How: copy, rsync, link or command.';
comment on column rota.transfer.on_fail is
	'What becomes of the data when the job fails: keep, out (it is transferred all the same) or drop.';
comment on column rota.transfer.source is 'Path of the source; of a drop, the folder.';
comment on column rota.transfer.destination is 'Path of the destination; empty for a drop.';
comment on column rota.transfer.checksum is 'Source and destination are read again and compared.';
comment on column rota.transfer.reuse is 'Nothing is transferred where an earlier transfer of the same source is still there.';
comment on column rota.transfer.prefer is
	'The steps are placed on nodes that have this data, if such nodes are free: of a stage-in by the nodes of the steps.';
comment on column rota.transfer.step_id is 'Step that makes it; null: the nodes of the job''s steps make it, each for itself.';
comment on column rota.transfer.for_job is 'Job whose transfer this makes again, and reports to; null: it is the job''s own.';
comment on column rota.transfer.for_transfer is 'Number of the repeated transfer in for_job; null: this transfer repeats none.';

create table rota.transfer_run (
	job_id bigint not null,
	transfer int not null,
	place text not null,
	state text not null check (state in ('running', 'done', 'reused', 'failed', 'kept', 'dropped')),
	by_job bigint not null,
	step_id int not null,
	attempt int not null,
	node text not null,
	tries int not null default 1,
	print text,
	files bigint check (files >= 0),
	bytes bigint check (bytes >= 0),
	checksum text,
	message text,
	first_at timestamptz not null default clock_timestamp(),
	began_at timestamptz not null default clock_timestamp(),
	ended_at timestamptz,
	target text,
	primary key (job_id, transfer, place),
	constraint transfer_run_is_over_or_not check ((state = 'running') = (ended_at is null))
) partition by range (job_id);
create index transfer_run_to on rota.transfer_run (target, began_at) where target is not null;
comment on table rota.transfer_run is 'What became of transfers, as rota-mover reports it, which runs as the owner of the job.';
comment on column rota.transfer_run.job_id is 'Job of the transfer.';
comment on column rota.transfer_run.transfer is 'Number of the transfer.';
comment on column rota.transfer_run.place is
	'Node that has the data in a folder of its own; empty: all nodes have the same folder.';
comment on column rota.transfer_run.state is
	'running; done; reused: the data was there; failed; kept: it was to be dropped, and something has failed; dropped.';
comment on column rota.transfer_run.by_job is 'Job that made it the latest time: its own, or one of rota stage retry.';
comment on column rota.transfer_run.step_id is 'Step of by_job that made the transfer the latest time.';
comment on column rota.transfer_run.attempt is 'Attempt of step_id that made the transfer the latest time.';
comment on column rota.transfer_run.node is 'Node on which it was made the latest time.';
comment on column rota.transfer_run.tries is 'How often it was begun.';
comment on column rota.transfer_run.print is 'Digest of names, sizes and times of the source''s files; null: not known.';
comment on column rota.transfer_run.files is 'Files on the side of the job at the end; null: it has not ended well.';
comment on column rota.transfer_run.bytes is 'Bytes in the transferred files; null: the transfer has not ended well.';
comment on column rota.transfer_run.checksum is 'SHA-256 over the names and contents of the files, hex; null: not asked for.';
comment on column rota.transfer_run.message is 'Why it failed; null: it did not.';
comment on column rota.transfer_run.first_at is 'When it was first begun.';
comment on column rota.transfer_run.began_at is 'When it was begun the latest time.';
comment on column rota.transfer_run.ended_at is 'When its end was reported; null: it has not ended, or its program was killed.';
comment on column rota.transfer_run.target is
	'Of a stage-in: SHA-256 of its owner, place and destination, hex (internal.transfer_target); null: it is none.';
