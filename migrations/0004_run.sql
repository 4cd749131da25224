-- What happened: attempts, allocations, tasks, hooks, the event log; and what is on its way to the nodes.

create table rota.attempt (
	job_id bigint not null,
	step_id int not null,
	attempt int not null check (attempt >= 1),
	state text references rota.step_state,
	time_limit_s bigint not null,
	node_ids int[] not null,
	nodes text[] not null,
	ordered_at timestamptz not null default now(),
	started_at timestamptz,
	suspended_at timestamptz,
	suspended_s double precision not null default 0,
	done_at timestamptz,
	ended_at timestamptz,
	outcome text,
	exit_code int,
	signal int,
	cause text,
	message text,
	session_id int,
	primary key (job_id, step_id, attempt),
	foreign key (job_id, step_id) references rota.step (job_id, step_id),
	check ((ended_at is null) = (state is null))
) partition by range (job_id);
create unique index attempt_one_live on rota.attempt (job_id, step_id) where ended_at is null;
comment on table rota.attempt is 'One run of a step. A step has one live attempt at most.';
comment on column rota.attempt.job_id is 'The job.';
comment on column rota.attempt.step_id is 'The step.';
comment on column rota.attempt.attempt is 'Number of the run, from 1.';
comment on column rota.attempt.state is 'How it ended; null: live.';
comment on column rota.attempt.time_limit_s is 'Its time limit in seconds; 0: none.';
comment on column rota.attempt.node_ids is 'Its nodes, the one that runs the script first.';
comment on column rota.attempt.nodes is 'Their names.';
comment on column rota.attempt.ordered_at is 'When the scheduler placed it.';
comment on column rota.attempt.started_at is 'When its first task started.';
comment on column rota.attempt.suspended_at is 'Since when it is suspended; null: it is not.';
comment on column rota.attempt.suspended_s is 'Seconds that it was suspended before.';
comment on column rota.attempt.done_at is 'When its last task ended.';
comment on column rota.attempt.ended_at is 'When all of its nodes had finished with it; null: live.';
comment on column rota.attempt.outcome is 'The event that its end is to be, once known.';
comment on column rota.attempt.exit_code is 'Highest exit code of its tasks.';
comment on column rota.attempt.signal is 'Signal that ended a task of it.';
comment on column rota.attempt.cause is 'What ended it; see rota.step.cause.';
comment on column rota.attempt.message is 'The cause in words.';
comment on column rota.attempt.session_id is 'Session id of its first task on its first node.';

create table rota.allocation (
	job_id bigint not null,
	step_id int not null,
	attempt int not null check (attempt >= 0),
	node_id int not null references rota.node,
	node_index int not null,
	cpus int not null check (cpus >= 0),
	mem_mb bigint not null check (mem_mb >= 0),
	gres jsonb not null default '{}',
	licenses jsonb not null default '{}',
	tasks int not null check (tasks >= 0),
	holder boolean not null default true,
	phase text not null default 'ordered' check (phase in ('kept', 'ordered', 'prolog', 'ready', 'running', 'done', 'ended')),
	cpus_held int not null,
	started_at timestamptz not null default now(),
	ended_at timestamptz,
	gone_at timestamptz,
	peak_mb bigint,
	cpu_usec bigint,
	primary key (job_id, step_id, attempt, node_id),
	check (cpus_held between 0 and cpus)
) partition by range (job_id);
create index allocation_open on rota.allocation (node_id) where ended_at is null;
create index allocation_held on rota.allocation (job_id, step_id) where holder and gone_at is null;
comment on table rota.allocation is 'What an attempt holds on a node, and from when to when: the ground of all usage figures.';
comment on column rota.allocation.job_id is 'The job.';
comment on column rota.allocation.step_id is 'The step that holds it.';
comment on column rota.allocation.attempt is 'The attempt; 0: kept on the very nodes for a step that is to follow there.';
comment on column rota.allocation.node_id is 'The node.';
comment on column rota.allocation.node_index is 'Place of the node among the attempt''s; 0: the one that runs the script.';
comment on column rota.allocation.cpus is 'CPUs held.';
comment on column rota.allocation.mem_mb is 'Memory held, in MiB.';
comment on column rota.allocation.gres is 'Units of generic resources held: {"gpu": [0, 3]}.';
comment on column rota.allocation.licenses is 'Licences held by the step, on the row of its first node.';
comment on column rota.allocation.tasks is 'Tasks of the step on this node.';
comment on column rota.allocation.holder is 'Whether the prolog and the epilog of its job group run with it on this node; true without a group.';
comment on column rota.allocation.phase is 'How far the node is with it.';
comment on column rota.allocation.cpus_held is 'CPUs it holds just now: 0 while it is suspended.';
comment on column rota.allocation.started_at is 'From when it is held.';
comment on column rota.allocation.ended_at is 'Until when; null: it is held now.';
comment on column rota.allocation.gone_at is 'When nothing of it was left on the node; later than ended_at where a group''s epilog waits.';
comment on column rota.allocation.peak_mb is 'Highest memory use on the node, in MiB; null: unknown.';
comment on column rota.allocation.cpu_usec is 'CPU time used on the node, in microseconds; null: unknown.';

create table rota.task_end (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	task int not null check (task >= 0),
	node_id int not null,
	pid int,
	started_at timestamptz,
	ended_at timestamptz not null,
	exit_code int,
	signal int,
	cause text not null,
	user_usec bigint,
	system_usec bigint,
	max_rss_kb bigint,
	minor_faults bigint,
	major_faults bigint,
	read_bytes bigint,
	write_bytes bigint,
	voluntary_switches bigint,
	involuntary_switches bigint,
	primary key (job_id, step_id, attempt, task)
) partition by range (job_id);
comment on table rota.task_end is 'The end of each task, with what the kernel counted for it. Null: unknown.';
comment on column rota.task_end.job_id is 'The job.';
comment on column rota.task_end.step_id is 'The step.';
comment on column rota.task_end.attempt is 'The attempt.';
comment on column rota.task_end.task is 'Rank of the task, from 0.';
comment on column rota.task_end.node_id is 'Node it ran on.';
comment on column rota.task_end.pid is 'Process id there.';
comment on column rota.task_end.started_at is 'When it started.';
comment on column rota.task_end.ended_at is 'When it ended.';
comment on column rota.task_end.exit_code is 'Exit code, 0 to 255; null: ended by a signal or never started.';
comment on column rota.task_end.signal is 'Signal that ended it; null: none.';
comment on column rota.task_end.cause is 'What ended it; see rota.step.cause.';
comment on column rota.task_end.user_usec is 'CPU time in user mode, in microseconds.';
comment on column rota.task_end.system_usec is 'CPU time in the kernel, in microseconds.';
comment on column rota.task_end.max_rss_kb is 'Highest resident memory of one of its processes, in KiB.';
comment on column rota.task_end.minor_faults is 'Page faults without I/O.';
comment on column rota.task_end.major_faults is 'Page faults with I/O.';
comment on column rota.task_end.read_bytes is 'Bytes read from storage.';
comment on column rota.task_end.write_bytes is 'Bytes written to storage.';
comment on column rota.task_end.voluntary_switches is 'Voluntary context switches.';
comment on column rota.task_end.involuntary_switches is 'Involuntary context switches.';

create table rota.hook_run (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	node_id int not null,
	hook text not null check (hook in ('site_prolog', 'user_prolog', 'user_epilog', 'site_epilog')),
	ended_at timestamptz not null,
	exit_code int,
	signal int,
	usec bigint,
	output text,
	primary key (job_id, step_id, attempt, node_id, hook)
) partition by range (job_id);
comment on table rota.hook_run is 'Each prolog and epilog that ran.';
comment on column rota.hook_run.job_id is 'The job.';
comment on column rota.hook_run.step_id is 'The step.';
comment on column rota.hook_run.attempt is 'The attempt.';
comment on column rota.hook_run.node_id is 'Node it ran on.';
comment on column rota.hook_run.hook is 'Which one.';
comment on column rota.hook_run.ended_at is 'When it ended.';
comment on column rota.hook_run.exit_code is 'Exit code; null: ended by a signal.';
comment on column rota.hook_run.signal is 'Signal that ended it; null: none.';
comment on column rota.hook_run.usec is 'How long it ran, in microseconds.';
comment on column rota.hook_run.output is 'End of what it printed.';

create table rota.event (
	job_id bigint not null,
	event_id bigint generated always as identity,
	step_id int not null,
	attempt int not null,
	at timestamptz not null default clock_timestamp(),
	from_state text not null,
	event text not null,
	to_state text not null,
	actor text not null,
	cause text,
	detail text,
	xid xid8 not null default pg_current_xact_id(),
	primary key (job_id, event_id),
	foreign key (from_state, event, to_state) references rota.step_transition (from_state, event, to_state)
) partition by range (job_id);
comment on table rota.event is 'Every transition that happened, append-only; the foreign key keeps it to the state machine.';
comment on column rota.event.job_id is 'The job.';
comment on column rota.event.event_id is 'Order of insertion.';
comment on column rota.event.step_id is 'The step.';
comment on column rota.event.attempt is 'Its attempt then.';
comment on column rota.event.at is 'When, by the database''s clock.';
comment on column rota.event.from_state is 'State before.';
comment on column rota.event.event is 'What happened.';
comment on column rota.event.to_state is 'State after.';
comment on column rota.event.actor is 'Who did it: a user''s name, schedule, or node:NAME.';
comment on column rota.event.cause is 'Why; see rota.step.cause.';
comment on column rota.event.detail is 'More, in words.';
comment on column rota.event.xid is 'Transaction that wrote it; readers take those below their snapshot''s xmin and miss nothing that commits late.';

create table rota.stray (
	stray_id bigint generated always as identity primary key,
	at timestamptz not null default clock_timestamp(),
	actor text not null,
	what jsonb not null
);
comment on table rota.stray is 'Reports that came late or fitted nothing: they changed nothing and are kept here.';
comment on column rota.stray.stray_id is 'Order of arrival.';
comment on column rota.stray.at is 'When.';
comment on column rota.stray.actor is 'Who sent it.';
comment on column rota.stray.what is 'What it said.';

create table rota.node_order (
	order_id bigint generated always as identity primary key,
	node_id int not null references rota.node on delete cascade,
	kind text not null check (kind in ('launch', 'go', 'end', 'kill', 'signal', 'suspend', 'resume')),
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	body text,
	signature bytea,
	args jsonb not null default '{}',
	made_at timestamptz not null default now(),
	check ((kind = 'launch') = (body is not null and signature is not null))
);
create index node_order_by_node on rota.node_order (node_id, order_id);
comment on table rota.node_order is 'Orders on their way to nodes; a row goes when its node has taken it.';
comment on column rota.node_order.order_id is 'Order of making.';
comment on column rota.node_order.node_id is 'The node.';
comment on column rota.node_order.kind is 'launch: run an attempt (signed); go: its peers are ready; end: finish; kill, signal, suspend, resume.';
comment on column rota.node_order.job_id is 'The job.';
comment on column rota.node_order.step_id is 'The step.';
comment on column rota.node_order.attempt is 'The attempt.';
comment on column rota.node_order.body is 'Text of a launch order.';
comment on column rota.node_order.signature is 'Ed25519 over it, by jobmgrd.';
comment on column rota.node_order.args is 'Arguments of the others: signal, cause, epilog.';
comment on column rota.node_order.made_at is 'When.';

create table rota.plan (
	job_id bigint not null,
	step_id int not null,
	expected_at timestamptz,
	nodes int[] not null default '{}',
	reason text not null,
	blocker text,
	message text not null,
	made_at timestamptz not null default now(),
	primary key (job_id, step_id)
);
comment on table rota.plan is 'What the latest scheduling pass expects of the steps it looked at and did not start.';
comment on column rota.plan.job_id is 'The job.';
comment on column rota.plan.step_id is 'The step.';
comment on column rota.plan.expected_at is 'Expected start; null: not computed.';
comment on column rota.plan.nodes is 'Nodes it is expected on.';
comment on column rota.plan.reason is 'Why it waits: resources, priority, partition, license, node, peer, deadline, limit, array_limit.';
comment on column rota.plan.blocker is 'Label of the step in its way; null: none known.';
comment on column rota.plan.message is 'The reason in words.';
comment on column rota.plan.made_at is 'When that was found.';
