-- Checkpoints: states of running steps that programs have saved, from which later attempts go on.

create table rota.checkpoint (
	job_id bigint not null,
	step_id int not null,
	generation int not null check (generation > 0),
	attempt int not null check (attempt > 0),
	driver text not null,
	driver_version text,
	state text not null default 'asked',
	reason text not null,
	asked_by text not null,
	why text,
	then_do text not null default 'continue' constraint checkpoint_then_is_known
		check (then_do in ('continue', 'requeue', 'end')),
	node text,
	path text,
	files int check (files >= 0),
	bytes bigint check (bytes >= 0),
	message text,
	asked_at timestamptz not null default clock_timestamp(),
	deadline_at timestamptz,
	taking_at timestamptz,
	complete_at timestamptz,
	failed_at timestamptz,
	restoring_at timestamptz,
	restored_at timestamptz,
	restores int not null default 0 check (restores >= 0),
	discarded_at timestamptz,
	needs jsonb,
	primary key (job_id, step_id, generation),
	constraint checkpoint_state_is_known
		check (state in ('asked', 'taking', 'complete', 'failed', 'restoring', 'restored', 'discarded')),
	constraint checkpoint_reason_is_known
		check (reason in ('user', 'operator', 'program', 'exit', 'interval', 'time_limit', 'preempt', 'evacuate',
			'maintenance', 'move')),
	constraint checkpoint_is_whole check (state not in ('complete', 'restoring', 'restored')
		or (complete_at is not null and path is not null and files is not null and bytes is not null)),
	constraint checkpoint_is_bounded check (state not in ('asked', 'taking') or deadline_at is not null)
) partition by range (job_id);
create index checkpoint_open on rota.checkpoint (deadline_at) where state in ('asked', 'taking');
comment on table rota.checkpoint is
	'Checkpoints of steps, one row for each generation. What programs have saved is in files of the owner; '
	'the digests of these files are in rota.checkpoint_file.';
comment on column rota.checkpoint.job_id is 'Job of the step.';
comment on column rota.checkpoint.step_id is 'Step that is checkpointed.';
comment on column rota.checkpoint.generation is 'Number of the checkpoint among those of the step, from 1.';
comment on column rota.checkpoint.attempt is 'Attempt that was asked for it.';
comment on column rota.checkpoint.driver is 'How it is taken: app: the program saves itself.';
comment on column rota.checkpoint.driver_version is 'Version of the program that takes it; null: not known.';
comment on column rota.checkpoint.state is
	'asked; taking: it is being written; complete: a later attempt can go on from it; failed: there is no such checkpoint, '
	'message says why; restoring: an attempt is starting from it; restored: one has started from it; '
	'discarded: its files are removed.';
comment on column rota.checkpoint.reason is
	'Why it is taken. user, operator: asked for; program: the program took it by itself; exit: it ended with exit code 85; '
	'interval; time_limit: the time limit comes near; preempt, evacuate, maintenance, move: its nodes are needed.';
comment on column rota.checkpoint.asked_by is 'Who asked for it: a user, the program, the node, or scheduler.';
comment on column rota.checkpoint.why is 'What they said about it; null: nothing.';
comment on column rota.checkpoint.then_do is
	'What becomes of the attempt once the checkpoint is complete: continue; requeue: it ends, and the step is queued again; '
	'end: the step ends.';
comment on column rota.checkpoint.node is 'Node on which it was taken; null: not yet.';
comment on column rota.checkpoint.path is 'Folder of its files; null: not complete.';
comment on column rota.checkpoint.files is 'Number of its files; null: not complete.';
comment on column rota.checkpoint.bytes is 'Bytes of its files; null: not complete.';
comment on column rota.checkpoint.message is 'Why it failed, or was not used; null: it was not.';
comment on column rota.checkpoint.asked_at is 'When it was asked for.';
comment on column rota.checkpoint.deadline_at is
	'When it has failed if it was not begun, or not completed, by then; null: nobody waits for it.';
comment on column rota.checkpoint.taking_at is 'When it was begun; null: not yet.';
comment on column rota.checkpoint.complete_at is 'When it was complete; null: it is not.';
comment on column rota.checkpoint.failed_at is 'When it failed; null: it did not.';
comment on column rota.checkpoint.restoring_at is 'When an attempt last began to start from it; null: never.';
comment on column rota.checkpoint.restored_at is 'When an attempt last started from it; null: never.';
comment on column rota.checkpoint.restores is 'How many attempts have started from it.';
comment on column rota.checkpoint.discarded_at is 'When its files were removed; null: they are there, or there were none.';
comment on column rota.checkpoint.needs is
	'What a node must have that restarts it: cpu (instruction sets, each of them), and others, which must be equal, '
	'as kernel and dmtcp; null: nothing.';

create table rota.checkpoint_file (
	job_id bigint not null,
	step_id int not null,
	generation int not null,
	name text not null constraint checkpoint_file_has_name check (name !~ '(^|/)\.{0,2}(/|$)' and length(name) <= 1024),
	bytes bigint not null check (bytes >= 0),
	sha256 bytea not null constraint checkpoint_file_has_digest check (length(sha256) = 32),
	primary key (job_id, step_id, generation, name)
) partition by range (job_id);
comment on table rota.checkpoint_file is 'Files of complete checkpoints. An attempt starts only from files with these digests.';
comment on column rota.checkpoint_file.job_id is 'Job of the step.';
comment on column rota.checkpoint_file.step_id is 'Step that was checkpointed.';
comment on column rota.checkpoint_file.generation is 'Number of the checkpoint.';
comment on column rota.checkpoint_file.name is 'Path of the file in the folder of the checkpoint.';
comment on column rota.checkpoint_file.bytes is 'Size of the file.';
comment on column rota.checkpoint_file.sha256 is 'SHA-256 of the file.';

create table rota.checkpoint_start (
	job_id bigint not null,
	step_id int not null,
	attempt int not null check (attempt > 0),
	generation int not null check (generation >= 0),
	wanted_by text,
	started_at timestamptz,
	driver text,
	why text,
	unmet text,
	primary key (job_id, step_id, attempt)
) partition by range (job_id);
comment on table rota.checkpoint_start is 'From which checkpoints attempts start, or are to start.';
comment on column rota.checkpoint_start.job_id is 'Job of the step.';
comment on column rota.checkpoint_start.step_id is 'Step of the attempt.';
comment on column rota.checkpoint_start.attempt is 'Attempt that starts.';
comment on column rota.checkpoint_start.generation is 'Checkpoint that it starts from; 0: from the beginning.';
comment on column rota.checkpoint_start.wanted_by is 'User who chose the generation; null: it is the latest one.';
comment on column rota.checkpoint_start.started_at is
	'When the files were found to be whole, and the program began; null: not yet.';
comment on column rota.checkpoint_start.driver is 'Driver with which the program of the attempt was started; null: not yet.';
comment on column rota.checkpoint_start.why is 'Why --checkpoint=auto chose it; null: the step names its driver.';
comment on column rota.checkpoint_start.unmet is
	'What the node of the attempt lacked for its checkpoint, or why it could not read it, so the program did not start; '
	'null: nothing.';

create table rota.checkpoint_timer (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	interval_s double precision not null constraint checkpoint_timer_is_positive check (interval_s > 0),
	cost_s double precision,
	costs int not null,
	mtbf_s double precision not null,
	failures int not null,
	nodes int not null,
	next_at timestamptz not null,
	primary key (job_id, step_id)
);
create index checkpoint_timer_next on rota.checkpoint_timer (next_at);
comment on table rota.checkpoint_timer is
	'When the next checkpoint of a step with --checkpoint-interval=auto is asked for, and how its interval was worked out. '
	'The end of the attempt deletes the row. A row that is left over is deleted when its time comes.';
comment on column rota.checkpoint_timer.job_id is 'Job of the step.';
comment on column rota.checkpoint_timer.step_id is 'Step.';
comment on column rota.checkpoint_timer.attempt is 'Attempt that is checkpointed.';
comment on column rota.checkpoint_timer.interval_s is 'Seconds between checkpoints: sqrt(2 * cost_s * mtbf_s), by J. W. Young.';
comment on column rota.checkpoint_timer.cost_s is 'Mean seconds that its latest checkpoints took; null: none has been measured.';
comment on column rota.checkpoint_timer.costs is 'Number of these checkpoints.';
comment on column rota.checkpoint_timer.mtbf_s is 'Mean seconds between failures of its nodes.';
comment on column rota.checkpoint_timer.failures is
	'Failures of nodes in the last 90 days; 0: mtbf_s is assumed (setting checkpoint_mtbf_days).';
comment on column rota.checkpoint_timer.nodes is 'Number of its nodes.';
comment on column rota.checkpoint_timer.next_at is 'When the next checkpoint is asked for.';
