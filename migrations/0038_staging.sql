-- Staging: functions of burst_buffer.lua that bring a job's data in before it starts, and take it out after it has ended.
alter table rota.job add column staging boolean not null default false;
comment on column rota.job.staging is 'The job has directives for burst_buffer.lua, and so a row in rota.staging.';

create table rota.staging_transition (
	from_state text not null,
	event text not null,
	to_state text not null,
	function text,
	hurry boolean,
	primary key (from_state, event),
	constraint staging_state_is_known check (to_state in ('pending', 'setup', 'staging_in', 'staged', 'pre_run', 'running',
		'post_run', 'staging_out', 'teardown', 'complete', 'failed')),
	constraint staging_function_is_known check (function in ('setup', 'data_in', 'test_data_in', 'paths', 'pre_run', 'post_run',
		'data_out', 'test_data_out', 'job_teardown'))
);
comment on table rota.staging_transition is
	'The states of a job''s data. In from_state, event leads to to_state. A transition that is not in this table cannot happen.';
comment on column rota.staging_transition.from_state is 'State before the event.';
comment on column rota.staging_transition.event is
	'What happens. The name of a function: it has succeeded. begin: the job waits for nothing else; place: its first step has '
	'nodes; end: its last step has ended; abort: the same, before the job ran; fail: a function has failed; fail_teardown: '
	'the same, where the site wants a teardown at once; interrupted: its runnerd has gone; give_up: the last try of a teardown '
	'has failed; retry: somebody has asked for another try; hurry: stage-out is not wanted; rerun: the job is requeued.';
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
	('complete', 'rerun', 'pending', null, false);
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

create table rota.staging (
	job_id bigint primary key,
	state text not null default 'pending',
	directives text not null,
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
	constraint staging_directives_are_short check (octet_length(directives) between 1 and 65536),
	constraint staging_is_over_or_not check ((state = 'complete') = (ended_at is not null))
) partition by range (job_id);
create index staging_live on rota.staging (state, job_id) where ended_at is null;
comment on table rota.staging is
	'Jobs with directives for burst_buffer.lua: one row each, with the state of their data. '
	'rota.staging_transition has the moves.';
comment on column rota.staging.job_id is 'Job whose data is staged.';
comment on column rota.staging.state is
	'pending: waits as the job does; setup, staging_in: functions before the job run; staged: the job may start; pre_run: its '
	'first step has nodes; running: the job runs; post_run, staging_out: functions after the job run; teardown; complete; '
	'failed: stage-in failed, the job is held.';
comment on column rota.staging.directives is 'Lines of directives, those of --bb and --bbf first.';
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

-- Attempts that wait for pre_run stand in rota.hook_pending, as those that wait for a controller prolog do.
alter table rota.hook_pending drop constraint hook_pending_hook_check;
alter table rota.hook_pending add constraint hook_pending_hook_check
	check (hook in ('controller_prolog', 'controller_epilog', 'pre_run'));
comment on table rota.hook_pending is
	'Controller prologs and epilogs that have not ended, and attempts that wait for pre_run of burst_buffer.lua. Orders of an '
	'attempt are not sent while its prolog or pre_run is in this table.';
comment on column rota.hook_pending.hook is
	'Which one is to run: controller_prolog or controller_epilog; pre_run: the function of the job, which rota.staging_call has.';

-- Make the partitions of the new tables for the ranges of jobs that exist.
select rota.range_complete();
