-- Elements of an array whose data is staged for themselves. The row of the array's job has the directives and says how far all of
-- it is; an element gets a row when it is one of the next to be staged in, so an array makes one row when it is submitted.
alter table rota.staging
	alter column directives drop not null,
	add column array_job_id bigint,
	add column step_id int,
	add constraint staging_element_is_whole check ((array_job_id is null) = (step_id is null)),
	add constraint staging_directives_are_once check ((directives is null) = (array_job_id is not null));
create index staging_element on rota.staging (array_job_id, step_id) where array_job_id is not null;
create index staging_element_live on rota.staging (array_job_id, state) where array_job_id is not null and ended_at is null;
comment on table rota.staging is
	'Jobs with directives for burst_buffer.lua: one row each, with the state of their data; and a row for each element of an '
	'array that has been, or is next to be, staged in. rota.staging_transition has the moves.';
comment on column rota.staging.job_id is
	'Job whose data is staged; of an element, a number of its own, which no job has.';
comment on column rota.staging.array_job_id is 'Of an element: its job; null: the row is that of a job.';
comment on column rota.staging.step_id is 'Of an element: its step; null: the row is that of a job.';
comment on column rota.staging.directives is
	'Lines of directives, those of --bb and --bbf first; null: of an element, whose job has them.';
comment on column rota.staging.state is
	'pending: waits as the job does; setup, staging_in: functions before the job run; staged: the job may start; pre_run: its '
	'first step has nodes; running: the job runs; post_run, staging_out: functions after the job run; teardown; complete; '
	'failed: stage-in failed, the job is held; array: each element of the job has a row of its own.';

alter table rota.staging_transition drop constraint staging_state_is_known;
alter table rota.staging_transition add constraint staging_state_is_known check (to_state in ('pending', 'setup', 'staging_in',
	'staged', 'pre_run', 'running', 'post_run', 'staging_out', 'teardown', 'complete', 'failed', 'array'));
insert into rota.staging_transition (from_state, event, to_state, function, hurry) values
	('array', 'end', 'complete', null, null),
	('complete', 'rerun_array', 'array', null, false);
comment on column rota.staging_transition.event is
	'What happens. The name of a function: it has succeeded. begin: the job waits for nothing else; place: its first step has '
	'nodes; end: its last step has ended; abort: the same, before the job ran; fail: a function has failed; fail_teardown: '
	'the same, where the site wants a teardown at once; fail_kept: the same, where steps have run with the data; '
	'interrupted: its runnerd has gone; give_up: the last try of a teardown has failed; retry: somebody has asked for another '
	'try; hurry: stage-out is not wanted; rerun: the job is requeued, or goes on; rerun_array: the same, of an array; '
	'measure: test_data_in of a job with space of a pool has succeeded.';

alter table rota.step_array add column staged boolean not null default false;
comment on column rota.step_array.staged is
	'Whether elements get rows when they are next to be staged in, and wait for their data, instead of when they start.';

insert into rota.setting (name, value, kind, help) values
	('stage_ahead', '10', 'int',
		'elements of one array that are staged in, or have failed to be, before they have nodes; 1 at least');
