-- Evacuations: what runs on nodes is moved off them; and moves of single jobs.
insert into rota.setting (name, value, kind, help) values
	('evacuate_wait_s', '604800', 'int',
		'seconds after which an evacuation without an end of its own no longer waits for what runs on its nodes'),
	('evacuate_days', '365', 'int', 'days for which evacuations are kept after their end');

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
	action text not null constraint evacuation_move_action_is_known check (action in ('move', 'cancel', 'wait', 'leave')),
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
	'move: it is queued again; cancel: it is cancelled; wait: it runs to its end; leave: it is not waited for.';
comment on column rota.evacuation_move.state is
	'waiting: nothing was asked of it yet; ending: it has the order to end; queued: it waits for other nodes; moved: it runs '
	'there; ended: its step has ended; left: the evacuation was over before.';
comment on column rota.evacuation_move.asked_at is 'When it got the order to end; null: it did not.';
comment on column rota.evacuation_move.ended_at is 'When it was moved, ended or left; null: it is not.';
comment on column rota.evacuation_move.to_nodes is 'Names of the nodes on which its step started again; null: it did not.';
