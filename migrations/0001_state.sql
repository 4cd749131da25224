-- The states of a step and the transitions between them. The domains rota.step_valid, rota.attempt_valid and rota.event_valid are
-- made from the rows of these tables, so a state or a transition is written only once.

create table rota.step_state (
	state text primary key,
	stage text not null check (stage in ('waiting', 'live', 'final')),
	severity int not null unique,
	spec_name text,
	help text not null
);
comment on table rota.step_state is 'The states in which a step can be.';
comment on column rota.step_state.state is 'Name of the state.';
comment on column rota.step_state.stage is
	'waiting: holds no node; live: holds its allocation; final: the end, which only the requeue of its job leaves.';
comment on column rota.step_state.severity is
	'Order in which states of steps decide the state of an array or a job: the highest one wins.';
comment on column rota.step_state.spec_name is 'Name of the state in the Job Manager Spec; null: the same as state.';
comment on column rota.step_state.help is 'Meaning of the state, for people.';
insert into rota.step_state (state, stage, severity, spec_name, help) values
	('skipped', 'final', 5, null, 'it need not run: what it was meant for did not happen, or its outputs are up to date'),
	('completed', 'final', 10, null, 'every task ended with exit code 0'),
	('dependency_failed', 'final', 20, null, 'a step it waits for ended so that it can never start'),
	('cancelled', 'final', 30, null, 'ended by its owner or an operator'),
	('preempted', 'final', 40, null, 'ended to make room for another step'),
	('deadline', 'final', 50, null, 'could not end before its deadline'),
	('timeout', 'final', 60, 'timed out', 'ran into its time limit'),
	('failed', 'final', 70, null, 'a task ended with another exit code than 0, or by a signal, or could not be launched'),
	('out_of_memory', 'final', 80, null, 'the kernel ended it at its memory limit'),
	('node_fail', 'final', 90, 'node failed', 'a node it ran on was lost'),
	('pending', 'waiting', 100, null, 'waits: for a dependency, for nodes, for a time, or is held'),
	('ending', 'live', 110, 'poststart', 'its tasks have ended, the epilog runs'),
	('starting', 'live', 120, 'started', 'placed on nodes, launch ordered'),
	('prolog', 'live', 130, 'prestart', 'the prolog runs on its nodes'),
	('suspended', 'live', 140, null, 'stopped; its CPUs are given back'),
	('running', 'live', 150, null, 'its tasks run');

create table rota.step_transition (
	from_state text not null references rota.step_state,
	event text not null,
	to_state text not null references rota.step_state,
	primary key (from_state, event),
	unique (from_state, event, to_state)
);
comment on table rota.step_transition is
	'The state machine of steps. In from_state, event leads to to_state. A transition that is not in this table '
	'cannot happen.';
comment on column rota.step_transition.from_state is
	'State of the step before the event. The submission of a step is an event from pending to pending.';
comment on column rota.step_transition.event is 'Event that causes the transition.';
comment on column rota.step_transition.to_state is 'State of the step after the event.';
insert into rota.step_transition (from_state, event, to_state) values
	('pending', 'submit', 'pending'),
	('pending', 'start', 'starting'),
	('pending', 'expand', 'running'),
	('pending', 'dependency_fail', 'dependency_failed'),
	('pending', 'refuse', 'failed'),
	('pending', 'hold', 'pending'),
	('pending', 'release', 'pending'),
	('starting', 'prolog', 'prolog'),
	('starting', 'run', 'running'),
	('prolog', 'run', 'running'),
	('running', 'suspend', 'suspended'),
	('suspended', 'resume', 'running'),
	('starting', 'end', 'ending'),
	('prolog', 'end', 'ending'),
	('running', 'end', 'ending'),
	('suspended', 'end', 'ending'),
	-- The head of an array is in state running while its elements start and end. An event of elements that have no row of
	-- their own is recorded for the head.
	('running', 'hold', 'running'),
	('running', 'release', 'running'),
	('running', 'dependency_fail', 'dependency_failed');
-- A step can end from each state that is not final: a report may cover the whole run of a short step.
insert into rota.step_transition (from_state, event, to_state)
select s.state, e.event, e.to_state
from rota.step_state s
cross join lateral (values ('complete', 'completed'), ('skip', 'skipped'), ('fail', 'failed'), ('timeout', 'timeout'),
	('oom', 'out_of_memory'), ('preempt', 'preempted'), ('node_fail', 'node_fail'),
	('cancel', 'cancelled'), ('deadline', 'deadline'), ('modify', s.state)) as e (event, to_state)
where s.stage <> 'final';
-- A step whose attempt ended without a result goes back into the queue.
insert into rota.step_transition (from_state, event, to_state)
select s.state, e.event, 'pending'
from rota.step_state s
cross join (values ('requeue'), ('prolog_fail')) as e (event)
where s.stage = 'live';
-- A step of a job that has ended may be requeued. The event rerun is the only one that leaves a final state.
insert into rota.step_transition (from_state, event, to_state)
select s.state, 'rerun', 'pending' from rota.step_state s where s.stage = 'final';
