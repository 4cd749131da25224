-- The state machine of a step, as rows. Every transition that ever happens is one of these: rota.event refers to them.

create table rota.step_state (
	state text primary key,
	stage text not null check (stage in ('waiting', 'live', 'final')),
	severity int not null unique,
	spec_name text,
	help text not null
);
comment on table rota.step_state is 'The states a step can be in (JM18).';
comment on column rota.step_state.state is 'Name of the state.';
comment on column rota.step_state.stage is 'waiting: holds no node; live: holds its allocation; final: the end, no transition leaves it.';
comment on column rota.step_state.severity is 'Order in which states of steps decide the state of an array or a job: the highest one wins.';
comment on column rota.step_state.spec_name is 'The word of the Job Manager Spec for it, where that differs.';
comment on column rota.step_state.help is 'What it means, for people.';

insert into rota.step_state (state, stage, severity, spec_name, help) values
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
comment on table rota.step_transition is 'The state machine: in from_state, event leads to to_state; what is not here cannot happen.';
comment on column rota.step_transition.from_state is 'State before; "pending" also stands for the moment of submission.';
comment on column rota.step_transition.event is 'What happened.';
comment on column rota.step_transition.to_state is 'State after.';

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
	-- The head of an array is running while its elements come and go; what befalls those that are no rows yet, befalls it.
	('running', 'hold', 'running'),
	('running', 'release', 'running'),
	('running', 'dependency_fail', 'dependency_failed');
-- Ends reach a step in any live state (a short step is reported started and ended in one go), a waiting one in some.
insert into rota.step_transition (from_state, event, to_state)
select s.state, e.event, e.to_state
from rota.step_state s
cross join (values ('complete', 'completed'), ('fail', 'failed'), ('timeout', 'timeout'), ('oom', 'out_of_memory'),
	('preempt', 'preempted'), ('node_fail', 'node_fail'), ('cancel', 'cancelled'), ('deadline', 'deadline')) as e (event, to_state)
where s.stage = 'live' or (s.state = 'pending' and e.event in ('cancel', 'deadline', 'complete', 'fail', 'timeout', 'oom', 'preempt', 'node_fail'));
insert into rota.step_transition (from_state, event, to_state)
select s.state, e.event, e.to_state
from rota.step_state s
cross join (values ('requeue', 'pending'), ('prolog_fail', 'pending')) as e (event, to_state)
where s.stage = 'live';
insert into rota.step_transition (from_state, event, to_state)
select state, 'modify', state from rota.step_state where stage <> 'final';
insert into rota.step_transition (from_state, event, to_state)
select state, 'end', 'ending' from rota.step_state where state in ('starting', 'prolog', 'running', 'suspended');

create table rota.setting (
	name text primary key,
	value text not null,
	kind text not null check (kind in ('int', 'bool', 'text')),
	help text not null
);
comment on table rota.setting is 'What a site decides; changed by "rota admin setting change".';
comment on column rota.setting.name is 'Name of the setting.';
comment on column rota.setting.value is 'Its value, as text.';
comment on column rota.setting.kind is 'What the text must be: int, bool (true or false) or text.';
comment on column rota.setting.help is 'What it does, with its unit.';
insert into rota.setting (name, value, kind, help) values
	('queue_visible', 'true', 'bool', 'whether users see the jobs of others in lists; scripts and environments stay private either way'),
	('requeue_max', '5', 'int', 'requeues after which a step is held'),
	('requeue_delay_s', '2', 'int', 'seconds before a requeued or retried step may start again'),
	('age_weight_s', '3600', 'int', 'seconds of waiting that weigh as much as one point of priority'),
	('max_submitted', '1000000', 'int', 'live steps one user may have'),
	('range_size', '1000000', 'int', 'jobs in one range partition of the big tables');
