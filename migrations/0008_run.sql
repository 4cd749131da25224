-- What happened: attempts, allocations, ends of tasks, hooks on nodes, and the event log.

create type rota.attempt_checked as (attempt int, state text, ended_at timestamptz);
comment on type rota.attempt_checked is 'The columns of rota.attempt that the constraint attempt_is_valid checks.';
-- format() writes final states of rota.step_state into the check, which cannot read tables. An attempt was started, so no
-- dependency of it failed.
do $$
begin
	execute format($sql$create domain rota.attempt_valid as rota.attempt_checked constraint attempt_is_valid check (
		(value).attempt >= 1
		and (value).state in (%s)
		and ((value).ended_at is null) = ((value).state is null))$sql$, (
			select string_agg(quote_literal(s.state), ', ' order by array_position('{completed}', s.state) nulls last,
				s.severity)
			from rota.step_state s
			where s.stage = 'final' and s.state <> 'dependency_failed'));
end $$;
comment on domain rota.attempt_valid is
	'An attempt ends in one of the states in which a started step can end, and has none before.';
create table rota.attempt (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	state text,
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
	ends_on_node_loss boolean not null default false,
	pause_clock bigint,
	primary key (job_id, step_id, attempt),
	constraint attempt_is_valid check (
		row(attempt, state, ended_at)::rota.attempt_checked::rota.attempt_valid is distinct from null)
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
comment on column rota.attempt.ends_on_node_loss is
	'Node-loss policy: whether a node that loses its lease ends the attempt by itself; false: the attempt goes on, and the '
	'step does not run again before the node is back or declared dead.';
comment on column rota.attempt.pause_clock is
	'The first node''s clock (microseconds since its boot) at the latest suspension or continuation that was applied. '
	'Earlier records are ignored.';

create type rota.allocation_checked as (attempt int, tasks int, cpus int, cpus_held int, mem_mb bigint, phase text);
comment on type rota.allocation_checked is 'The columns of rota.allocation that the constraint allocation_is_valid checks.';
create domain rota.allocation_valid as rota.allocation_checked
	constraint allocation_is_valid check (
		least((value).attempt, (value).tasks, (value).cpus, (value).cpus_held, (value).mem_mb) >= 0
		and (value).cpus_held <= (value).cpus
		and (value).phase in ('reserved', 'ordered', 'prolog', 'ready', 'running', 'done', 'ended'));
comment on domain rota.allocation_valid is
	'No amount is negative, no more CPUs are held than allocated, and the phase is a known one.';
create table rota.allocation (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	node_id int not null references rota.node,
	node_index int not null,
	cpus int not null,
	mem_mb bigint not null,
	gres jsonb not null default '{}',
	licenses jsonb not null default '{}',
	tasks int not null,
	prolog_owner boolean not null default true,
	phase text not null default 'ordered',
	cpus_held int not null,
	started_at timestamptz default now(),
	ended_at timestamptz,
	gone_at timestamptz,
	peak_mb bigint,
	cpu_usec bigint,
	lost_at timestamptz,
	partition text,
	primary key (job_id, step_id, attempt, node_id),
	constraint allocation_is_valid check (
		row(attempt, tasks, cpus, cpus_held, mem_mb, phase)::rota.allocation_checked::rota.allocation_valid
			is distinct from null)
) partition by range (job_id);
create index allocation_open on rota.allocation (node_id) where ended_at is null or (prolog_owner and gone_at is null);
comment on table rota.allocation is
	'What an attempt holds on a node, and from when to when. All usage figures are computed from these rows.';
comment on column rota.allocation.job_id is 'The job.';
comment on column rota.allocation.step_id is 'The step that holds it.';
comment on column rota.allocation.attempt is 'The attempt; 0: reserved on the same nodes for a step that follows there.';
comment on column rota.allocation.node_id is 'The node.';
comment on column rota.allocation.node_index is 'Index of the node among those of the attempt; 0: the one that runs the script.';
comment on column rota.allocation.cpus is 'CPUs held.';
comment on column rota.allocation.mem_mb is 'Memory held, in MiB.';
comment on column rota.allocation.gres is 'Devices of generic resources held: {"gpu": [0, 3]}.';
comment on column rota.allocation.licenses is 'Licences held by the step, on the row of its first node.';
comment on column rota.allocation.tasks is 'Tasks of the step on this node.';
comment on column rota.allocation.prolog_owner is
	'Whether the prolog and the epilog of its job group run with it on this node; true without a group.';
comment on column rota.allocation.phase is 'How far the attempt is on the node; reserved: attempt 0.';
comment on column rota.allocation.cpus_held is 'CPUs it holds now: 0 while it is suspended or pre-dispatched.';
comment on column rota.allocation.started_at is
	'From when it is held; null: it is pre-dispatched, and takes the CPUs of the next element of its array that ends on the '
	'node.';
comment on column rota.allocation.ended_at is 'Until when; null: it is held now.';
comment on column rota.allocation.gone_at is
	'When nothing of it was left on the node; later than ended_at where the epilog of a group waits.';
comment on column rota.allocation.peak_mb is 'Highest memory use on the node, in MiB; null: unknown.';
comment on column rota.allocation.cpu_usec is 'CPU time used on the node, in microseconds; null: unknown.';
comment on column rota.allocation.lost_at is
	'When it was given up with its node. Later reports of it go to rota.rejected_report and change nothing.';
comment on column rota.allocation.partition is
	'Partition in which it was held, where its step has been moved to another one since; null: that of its step.';

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

create type rota.event_checked as (from_state text, event text, to_state text);
comment on type rota.event_checked is 'The columns of rota.event that the constraint event_is_valid checks.';
-- format() writes the rows of rota.step_transition into the check, which cannot read tables. The most frequent events come first.
do $$
begin
	execute format($sql$create domain rota.event_valid as rota.event_checked constraint event_is_valid check (
		(value).from_state || ' ' || (value).event || ' ' || (value).to_state in (%s))$sql$, (
			select string_agg(quote_literal(concat_ws(' ', t.from_state, t.event, t.to_state)), ', '
				order by array_position('{submit,start,complete,run,prolog,end,fail,cancel}', t.event) nulls last,
					t.event, t.from_state)
			from rota.step_transition t));
end $$;
comment on domain rota.event_valid is 'An event leads from a state to a state as rota.step_transition says.';
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
	constraint event_is_valid check (
		row(from_state, event, to_state)::rota.event_checked::rota.event_valid is distinct from null)
) partition by range (job_id);
comment on table rota.event is 'Every transition that happened, append-only; a check keeps it to the state machine.';
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
comment on column rota.event.xid is
	'Transaction that wrote it; readers take those below their snapshot''s xmin and miss nothing that commits late.';
