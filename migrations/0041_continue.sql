-- A job whose stage-out failed goes on with the data that is still staged: to stage that out again, or to run steps again with
-- it. Results of its earlier steps may be in that data. So a failure or a cancel before they run does not tear it down.
insert into rota.staging_transition (from_state, event, to_state, function, hurry) values
	('post_run', 'rerun', 'staged', null, false),
	('staging_out', 'rerun', 'staged', null, false),
	('staged', 'end', 'post_run', 'post_run', null),
	('pre_run', 'end', 'post_run', 'post_run', null),
	('pre_run', 'fail_kept', 'staged', null, null);
comment on column rota.staging_transition.event is
	'What happens. The name of a function: it has succeeded. begin: the job waits for nothing else; place: its first step has '
	'nodes; end: its last step has ended; abort: the same, before the job ran; fail: a function has failed; fail_teardown: '
	'the same, where the site wants a teardown at once; fail_kept: the same, where steps have run with the data; '
	'interrupted: its runnerd has gone; give_up: the last try of a teardown has failed; retry: somebody has asked for another '
	'try; hurry: stage-out is not wanted; rerun: the job is requeued, or goes on.';
