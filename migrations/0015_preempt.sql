-- What makes running steps leave their nodes: preemption, evacuations of nodes, and moves of single jobs.

create table rota.preempt_claim (
	claim_id bigint generated always as identity primary key,
	job_id bigint not null,
	step_id int not null,
	shares jsonb not null,
	made_at timestamptz not null default clock_timestamp(),
	until_at timestamptz not null,
	moving jsonb not null default '[]'
);
create index preempt_claim_by_step on rota.preempt_claim (job_id, step_id);
comment on table rota.preempt_claim is
	'What is kept for steps that wait for the end of steps that they have preempted, one row for each start that is to come.';
comment on column rota.preempt_claim.claim_id is 'Number of the claim.';
comment on column rota.preempt_claim.job_id is 'Job of the step that preempts.';
comment on column rota.preempt_claim.step_id is 'Step that preempts; of an array, its head.';
comment on column rota.preempt_claim.shares is
	'What is kept on each node: [{node, cpus, mem_mb, gres: {gpu: 2}, licenses: {matlab: 1}}], the licences on the first one.';
comment on column rota.preempt_claim.made_at is 'When the steps were preempted.';
comment on column rota.preempt_claim.until_at is 'When it is given up, if the step has not started.';
comment on column rota.preempt_claim.moving is
	'Steps [{job, step, attempt}] that are moved to make room for the step; it ends if one of them is not saved. '
	'Empty: steps were preempted.';

create table rota.preempted (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	by_job_id bigint not null,
	by_step_id int not null,
	mode text not null
		constraint preempted_mode_is_known check (mode in ('requeue', 'checkpoint', 'suspend', 'cancel', 'spared')),
	at timestamptz not null default clock_timestamp(),
	lost_s double precision not null,
	times int not null default 1,
	resumed_at timestamptz,
	primary key (job_id, step_id, attempt)
) partition by range (job_id);
comment on table rota.preempted is 'Attempts that were preempted.';
comment on column rota.preempted.job_id is 'Job of the attempt.';
comment on column rota.preempted.step_id is 'Step of the attempt.';
comment on column rota.preempted.attempt is 'Attempt that was ended.';
comment on column rota.preempted.by_job_id is 'Job for which it was ended.';
comment on column rota.preempted.by_step_id is 'Step for which it was ended; of an array, its head.';
comment on column rota.preempted.mode is
	'requeue: its step was to run again; checkpoint: it was to be saved first; suspend: it was suspended; cancel: its step was '
	'to end; spared: it was to be saved, was not in time, and runs on.';
comment on column rota.preempted.at is 'When it was decided.';
comment on column rota.preempted.lost_s is 'CPU seconds of work that were lost.';
comment on column rota.preempted.times is
	'How often it was preempted: more than once only by suspension. The row is about the last time.';
comment on column rota.preempted.resumed_at is 'When it went on after it was suspended; null: it was not, or has not gone on.';

create table rota.preempt_pause (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	by_job_id bigint not null,
	by_step_id int not null,
	made_at timestamptz not null default clock_timestamp(),
	primary key (job_id, step_id)
);
comment on table rota.preempt_pause is
	'Steps that are suspended by preemption, until they go on or end. '
	'A step that its owner suspends as well has no row: the owner resumes it.';
comment on column rota.preempt_pause.job_id is 'Job of the step.';
comment on column rota.preempt_pause.step_id is 'Step.';
comment on column rota.preempt_pause.attempt is 'Attempt that is suspended.';
comment on column rota.preempt_pause.by_job_id is 'Job for which it is suspended.';
comment on column rota.preempt_pause.by_step_id is 'Step for which it is suspended; of an array, its head.';
comment on column rota.preempt_pause.made_at is 'When it was decided.';

create table rota.evacuation (
	evacuation_id bigint generated always as identity primary key,
	nodes text[] not null,
	drained int[] not null default '{}',
	parallel text not null constraint evacuation_parallel_is_known check (parallel in ('wait', 'move', 'leave')),
	no_checkpoint text not null constraint evacuation_no_checkpoint_is_known
		check (no_checkpoint in ('wait', 'requeue', 'cancel')),
	to_nodes text[] not null default '{}',
	not_nodes text[] not null default '{}',
	by_at timestamptz,
	made_by text not null,
	made_at timestamptz not null default clock_timestamp(),
	state text not null default 'open' constraint evacuation_state_is_known
		check (state in ('open', 'done', 'late', 'cancelled')),
	ended_at timestamptz,
	message text,
	constraint evacuation_is_over_or_not check ((ended_at is null) = (state = 'open'))
);
create index evacuation_open on rota.evacuation (evacuation_id) where ended_at is null;
create index evacuation_by_end on rota.evacuation (ended_at) where ended_at is not null;
comment on table rota.evacuation is 'Evacuations of nodes, and moves of jobs, that somebody asked for.';
comment on column rota.evacuation.evacuation_id is 'Number of the evacuation.';
comment on column rota.evacuation.nodes is 'Names of the nodes that are evacuated; empty: a job is moved.';
comment on column rota.evacuation.drained is 'Those of the nodes that were drained for it.';
comment on column rota.evacuation.parallel is
	'What becomes of steps on several nodes. wait: they run to their end; move: the same as of others; '
	'leave: they are not waited for.';
comment on column rota.evacuation.no_checkpoint is
	'What becomes of steps that cannot be checkpointed. wait: they run to their end; requeue: they are queued again; '
	'cancel: they are cancelled.';
comment on column rota.evacuation.to_nodes is 'Names of the only nodes on which steps that were moved start again; empty: any.';
comment on column rota.evacuation.not_nodes is 'Names of nodes on which they do not start again.';
comment on column rota.evacuation.by_at is
	'When what still runs is queued again, or cancelled if it must not run again, whatever no_checkpoint and parallel say; '
	'null: never.';
comment on column rota.evacuation.made_by is 'Who asked for it.';
comment on column rota.evacuation.made_at is 'When it was asked for.';
comment on column rota.evacuation.state is
	'open: something is left on the nodes; done: nothing is; late: it no longer waits for what is left; '
	'cancelled: it was taken back.';
comment on column rota.evacuation.ended_at is 'When it was over; null: it is not.';
comment on column rota.evacuation.message is 'What was left, or who took it back; null: nothing to say.';

create table rota.evacuation_move (
	evacuation_id bigint not null references rota.evacuation on delete cascade,
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	nodes text[] not null,
	action text not null
		constraint evacuation_move_action_is_known check (action in ('checkpoint', 'move', 'cancel', 'wait', 'leave')),
	state text not null default 'waiting'
		constraint evacuation_move_state_is_known check (state in ('waiting', 'ending', 'queued', 'moved', 'ended', 'left')),
	asked_at timestamptz,
	ended_at timestamptz,
	to_nodes text[],
	primary key (evacuation_id, job_id, step_id, attempt)
);
create index evacuation_move_open on rota.evacuation_move (job_id, step_id) where state in ('waiting', 'ending', 'queued');
comment on table rota.evacuation_move is 'The steps of evacuations, one row for each attempt that ran on a node.';
comment on column rota.evacuation_move.evacuation_id is 'Evacuation.';
comment on column rota.evacuation_move.job_id is 'Job of the step.';
comment on column rota.evacuation_move.step_id is 'Step.';
comment on column rota.evacuation_move.attempt is 'Attempt that is to leave the node.';
comment on column rota.evacuation_move.nodes is 'Names of all nodes of the attempt.';
comment on column rota.evacuation_move.action is
	'checkpoint: it is saved and queued again; move: it is queued again; cancel: it is cancelled; wait: it runs to its end; '
	'leave: it is not waited for.';
comment on column rota.evacuation_move.state is
	'waiting: nothing was asked of it yet; ending: it has the order to end; queued: it waits for other nodes; moved: it runs '
	'there; ended: its step has ended; left: the evacuation was over before.';
comment on column rota.evacuation_move.asked_at is 'When it got the order to end; null: it did not.';
comment on column rota.evacuation_move.ended_at is 'When it was moved, ended or left; null: it is not.';
comment on column rota.evacuation_move.to_nodes is 'Names of the nodes on which its step started again; null: it did not.';
