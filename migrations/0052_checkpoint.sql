-- Checkpoints: states of running steps that programs have saved, from which later attempts go on.
insert into rota.setting (name, value, kind, help) values
	('checkpoint_wait_s', '60', 'int',
		'seconds within which a program that is asked for a checkpoint has to begin it, and again to end it'),
	('checkpoint_pace_s', '30', 'int',
		'seconds from one start of a step to the next, if it has saved itself and ended with exit code 85'),
	('checkpoint_quota_mb', '0', 'int', 'MiB that all checkpoints of a user may have; 0: no limit');

alter table rota.step_request add column checkpoint jsonb;
comment on column rota.step_request.checkpoint is
	'How the step is checkpointed: driver, keep (generations that are kept) and before_s (seconds before its time limit at which '
	'it is checkpointed and queued again); null: it is not.';

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
select rota.range_complete();

alter domain rota.node_order_valid drop constraint node_order_is_known;
alter domain rota.node_order_valid add constraint node_order_is_known check ((value).kind in ('launch', 'go', 'end', 'kill',
	'signal', 'suspend', 'resume', 'limit', 'agent', 'agents', 'grow', 'shrink', 'node', 'listen', 'checkpoint'));
comment on column rota.node_order.kind is
	'Kind of order. launch: run an attempt (signed); go: start the tasks, since the other nodes are ready; end: '
	'finish the attempt; kill, signal, suspend, resume: act on its processes; limit: change its time limit; agent: start '
	'the agent of a step manager; agents: have the step manager call its agents; grow, shrink: a node of a growth has come to '
	'the attempt, or has gone; node: a node of the attempt has changed; listen: have the step manager listen for clients on '
	'other machines; checkpoint: have its program save itself.';
comment on column rota.node_order.args is
	'Arguments of the order: signal, cause, epilog, time_limit_s; of a launch request sample_s, the seconds between '
	'samples; of an order `agent` host and port of the step manager; of an order `checkpoint` the generation.';
