-- History of steps: attempts, allocations, ends of tasks, prologs and epilogs on nodes, and the event log.

create type rota.attempt_checked as (attempt int, state text, ended_at timestamptz);
comment on type rota.attempt_checked is 'The columns of rota.attempt that the constraint attempt_is_valid checks.';
-- format() writes final states of rota.step_state into the check, since a check cannot read tables. State dependency_failed is
-- left out, because the dependencies of a started attempt did not fail.
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
	'An attempt that has ended is in a final state in which a started step can end. An attempt that has not ended has '
	'no state.';
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
	clamped boolean not null default false,
	eligible_at timestamptz,
	primary key (job_id, step_id, attempt),
	constraint attempt_is_valid check (
		row(attempt, state, ended_at)::rota.attempt_checked::rota.attempt_valid is distinct from null),
	constraint attempt_times_are_in_order check (not (
		started_at < ordered_at or done_at < ordered_at or done_at < started_at or ended_at < ordered_at
		or ended_at < started_at or ended_at < done_at))
) partition by range (job_id);
create unique index attempt_one_live on rota.attempt (job_id, step_id) where ended_at is null;
comment on table rota.attempt is 'Attempts: each is one run of a step. A step has at most one live attempt.';
comment on column rota.attempt.job_id is 'Job of the step that the attempt runs.';
comment on column rota.attempt.step_id is 'Step that the attempt runs.';
comment on column rota.attempt.attempt is 'Number of the attempt among those of its step, from 1.';
comment on column rota.attempt.state is 'Final state of the attempt; null: it is live.';
comment on column rota.attempt.time_limit_s is 'Time limit of the attempt in seconds; 0: none.';
comment on column rota.attempt.node_ids is 'Nodes of the attempt, the one that runs the script first.';
comment on column rota.attempt.nodes is 'Names of the attempt''s nodes, in the order of node_ids.';
comment on column rota.attempt.ordered_at is 'When the scheduler placed the attempt.';
comment on column rota.attempt.started_at is 'When the first task of the attempt started.';
comment on column rota.attempt.suspended_at is 'Since when the attempt is suspended; null: it is not.';
comment on column rota.attempt.suspended_s is 'Seconds for which the attempt was suspended in earlier suspensions.';
comment on column rota.attempt.done_at is 'When the last task of the attempt ended.';
comment on column rota.attempt.ended_at is 'When all nodes of the attempt had reported its end; null: the attempt is live.';
comment on column rota.attempt.outcome is 'Event as which the end of the attempt will count, once known.';
comment on column rota.attempt.exit_code is 'Highest exit code of the attempt''s tasks.';
comment on column rota.attempt.signal is 'Signal that ended a task of the attempt; null: none.';
comment on column rota.attempt.cause is 'What ended the attempt; the values are those of rota.step.cause.';
comment on column rota.attempt.message is 'Cause of the attempt''s end in words.';
comment on column rota.attempt.session_id is 'Session id of the attempt''s first task on its first node.';
comment on column rota.attempt.ends_on_node_loss is
	'Node-loss policy: whether a node that loses its lease ends the attempt by itself; false: the attempt goes on, '
	'and the step does not run again before the node is back or declared dead.';
comment on column rota.attempt.pause_clock is
	'Clock of the attempt''s first node (microseconds since its boot) at the latest suspension or resumption that was '
	'applied. Earlier records are ignored.';
comment on column rota.attempt.clamped is
	'Whether a time of the attempt was moved to keep the order of its times: clocks of its nodes disagreed.';
comment on column rota.attempt.eligible_at is
	'When nothing but resources stood in the way of the attempt any more; null: not known.';

create type rota.allocation_checked as (attempt int, tasks int, cpus int, cpus_held int, mem_mb bigint, phase text);
comment on type rota.allocation_checked is 'The columns of rota.allocation that the constraint allocation_is_valid checks.';
create domain rota.allocation_valid as rota.allocation_checked
	constraint allocation_is_valid check (
		least((value).attempt, (value).tasks, (value).cpus, (value).cpus_held, (value).mem_mb) >= 0
		and (value).cpus_held <= (value).cpus
		and (value).phase in ('reserved', 'ordered', 'prolog', 'ready', 'running', 'done', 'ended'));
comment on domain rota.allocation_valid is
	'No amount of an allocation is negative, it holds no more CPUs than allocated, and its phase has a known value.';
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
	cgroup_peak_mb bigint,
	cpu_usec bigint,
	lost_at timestamptz,
	partition text,
	boot_at timestamptz,
	predispatched boolean not null default false,
	without_cpus tstzmultirange not null default '{}',
	peak_mb bigint,
	system_usec bigint,
	cpu_hours bigint[],
	energy_j numeric,
	given_back_at timestamptz,
	primary key (job_id, step_id, attempt, node_id),
	constraint allocation_is_valid check (
		row(attempt, tasks, cpus, cpus_held, mem_mb, phase)::rota.allocation_checked::rota.allocation_valid
			is distinct from null),
	constraint allocation_times_are_in_order check (not (ended_at < started_at or gone_at < ended_at)),
	constraint allocation_first_is_kept check (given_back_at is null or node_index > 0)
) partition by range (job_id);
create index allocation_open on rota.allocation (node_id) where ended_at is null or (prolog_owner and gone_at is null);
comment on table rota.allocation is
	'Allocations: what an attempt holds on a node, and from when to when. All usage figures are computed from these '
	'rows.';
comment on column rota.allocation.job_id is 'Job of the step that holds the allocation.';
comment on column rota.allocation.step_id is 'Step that holds the allocation.';
comment on column rota.allocation.attempt is
	'Attempt that holds the allocation; 0: it is reserved for a step that follows on the same nodes.';
comment on column rota.allocation.node_id is 'Node on which the resources are held.';
comment on column rota.allocation.node_index is
	'Index of the node among the nodes of the attempt; 0: the node that runs the script.';
comment on column rota.allocation.cpus is 'CPUs of the allocation.';
comment on column rota.allocation.mem_mb is 'Memory of the allocation, in MiB.';
comment on column rota.allocation.gres is 'Devices of generic resources in the allocation, for example {"gpu": [0, 3]}.';
comment on column rota.allocation.licenses is 'Licences that the step holds, in the allocation on its first node.';
comment on column rota.allocation.tasks is 'Tasks of the step on this node.';
comment on column rota.allocation.prolog_owner is
	'Whether the attempt runs the prolog and epilog of its job group on this node; true if the step has no group.';
comment on column rota.allocation.phase is
	'Phase of the attempt on the node: reserved (attempt 0), ordered, prolog, ready, running, done, ended.';
comment on column rota.allocation.cpus_held is
	'CPUs that the allocation holds now: 0 while the attempt is suspended or pre-dispatched.';
comment on column rota.allocation.started_at is
	'When the allocation began; null: the attempt is pre-dispatched, and takes the CPUs of the next element of its '
	'array that ends on the node.';
comment on column rota.allocation.ended_at is 'When the allocation ended; null: it is held now.';
comment on column rota.allocation.gone_at is
	'When nothing of the attempt was left on the node; later than ended_at if the epilog of a job group waits.';
comment on column rota.allocation.cgroup_peak_mb is
	'Most memory of the attempt''s cgroup on the node, cached pages of files included, in MiB; null: no cgroup.';
comment on column rota.allocation.cpu_usec is
	'CPU time of all processes of the attempt on the node, in microseconds: as the cgroup counted it, or without a cgroup '
	'the sum of all processes that were waited for. Of a node that was lost, what was known. Null: unknown.';
comment on column rota.allocation.lost_at is
	'When the allocation was given up because its node was lost; null: it was not. Later reports about it go to '
	'rota.rejected_report and change nothing.';
comment on column rota.allocation.partition is
	'Partition of the allocation, if its step has been moved to another partition since; null: the partition of the '
	'step.';
comment on column rota.allocation.boot_at is
	'Time at which the clock of the node was 0, by the clock of the database, as estimated when the attempt was first '
	'reported from there. All times of the attempt on the node are computed with it, so that their differences are those '
	'of one clock. Null: nothing was reported yet.';
comment on column rota.allocation.predispatched is
	'Whether the attempt was pre-dispatched: it takes over the CPUs of another element of its array.';
comment on column rota.allocation.without_cpus is
	'Times at which the allocation held no CPUs, because its step was suspended and had given them back. Without an upper '
	'bound: since then.';
comment on column rota.allocation.peak_mb is
	'Most memory of the attempt on the node that counts against a limit, in MiB: anonymous and shared memory as it was '
	'measured now and then, or the largest process if that is more; at most the peak of its cgroup. Null: unknown.';
comment on column rota.allocation.system_usec is 'Part of cpu_usec that was spent in the kernel, in microseconds; null: unknown.';
comment on column rota.allocation.cpu_hours is
	'CPU time used in each hour (UTC) that the allocation touches, in microseconds, by its samples; null: within one hour, or '
	'without samples, so used evenly.';
comment on column rota.allocation.energy_j is
	'Energy that the attempt used on the node, in joules: that of the whole node meanwhile, by its part of the CPUs. Null: '
	'unknown.';
comment on column rota.allocation.given_back_at is
	'When the running step gave this node back (rota shrink); null: it did not. '
	'How the attempt ended on the node then does not decide how the attempt ends.';

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
	rchar bigint,
	wchar bigint,
	voluntary_switches bigint,
	involuntary_switches bigint,
	read_bytes bigint,
	write_bytes bigint,
	primary key (job_id, step_id, attempt, task)
) partition by range (job_id);
comment on table rota.task_end is
	'Ends of tasks, with the resource use that the kernel counted for each task. Null: unknown.';
comment on column rota.task_end.job_id is 'Job of the task''s step.';
comment on column rota.task_end.step_id is 'Step of the task.';
comment on column rota.task_end.attempt is 'Attempt of the task.';
comment on column rota.task_end.task is 'Rank of the task, from 0.';
comment on column rota.task_end.node_id is 'Node on which the task ran.';
comment on column rota.task_end.pid is 'Process id of the task on its node.';
comment on column rota.task_end.started_at is 'When the task started.';
comment on column rota.task_end.ended_at is 'When the task ended.';
comment on column rota.task_end.exit_code is
	'Exit code of the task, 0 to 255; null: a signal ended it, or it never started.';
comment on column rota.task_end.signal is 'Signal that ended the task; null: none.';
comment on column rota.task_end.cause is 'What ended the task; the values are those of rota.step.cause.';
comment on column rota.task_end.user_usec is 'CPU time of the task in user mode, in microseconds.';
comment on column rota.task_end.system_usec is 'CPU time of the task in the kernel, in microseconds.';
comment on column rota.task_end.max_rss_kb is 'Highest resident memory of one process of the task, in KiB.';
comment on column rota.task_end.minor_faults is 'Page faults of the task without I/O.';
comment on column rota.task_end.major_faults is 'Page faults of the task with I/O.';
comment on column rota.task_end.rchar is 'Bytes that read calls of the task returned, from any file, pipe or socket.';
comment on column rota.task_end.wchar is 'Bytes that the task passed to write calls, to any file, pipe or socket.';
comment on column rota.task_end.voluntary_switches is 'Voluntary context switches of the task.';
comment on column rota.task_end.involuntary_switches is 'Involuntary context switches of the task.';
comment on column rota.task_end.read_bytes is 'Bytes that were read from storage for the task.';
comment on column rota.task_end.write_bytes is 'Bytes that the task caused to be written to storage.';

create table rota.hook_run (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	node_id int not null,
	hook text not null check (hook in ('site_prolog', 'user_prolog', 'user_epilog', 'site_epilog', 'stage_in', 'stage_out')),
	ended_at timestamptz not null,
	exit_code int,
	signal int,
	usec bigint,
	output text,
	primary key (job_id, step_id, attempt, node_id, hook)
) partition by range (job_id);
comment on table rota.hook_run is 'Runs of prologs and epilogs on nodes.';
comment on column rota.hook_run.job_id is 'Job for which the prolog or epilog ran.';
comment on column rota.hook_run.step_id is 'Step for which the prolog or epilog ran.';
comment on column rota.hook_run.attempt is 'Attempt for which the prolog or epilog ran.';
comment on column rota.hook_run.node_id is 'Node on which the prolog or epilog ran.';
comment on column rota.hook_run.hook is
	'Which program ran: site_prolog, user_prolog, user_epilog or site_epilog; stage_in or stage_out: rota-mover.';
comment on column rota.hook_run.ended_at is 'When the prolog or epilog ended.';
comment on column rota.hook_run.exit_code is 'Exit code of the prolog or epilog; null: a signal ended it.';
comment on column rota.hook_run.signal is 'Signal that ended the prolog or epilog; null: none.';
comment on column rota.hook_run.usec is 'How long the prolog or epilog ran, in microseconds.';
comment on column rota.hook_run.output is 'Last part of what the prolog or epilog printed.';

create type rota.event_checked as (from_state text, event text, to_state text);
comment on type rota.event_checked is 'The columns of rota.event that the constraint event_is_valid checks.';
-- format() writes the rows of rota.step_transition into the check, since a check cannot read tables. The most frequent events
-- come first.
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
comment on table rota.event is
	'Events: the transitions of steps that happened, append-only. A check admits only transitions of the state '
	'machine.';
comment on column rota.event.job_id is 'Job of the step.';
comment on column rota.event.event_id is 'Number of the event, in the order of insertion.';
comment on column rota.event.step_id is 'Step whose state changed.';
comment on column rota.event.attempt is 'Latest attempt of the step at the time of the event; 0: none.';
comment on column rota.event.at is 'When the event happened, by the clock of the database.';
comment on column rota.event.from_state is 'State of the step before the event.';
comment on column rota.event.event is 'Name of the event, as in rota.step_transition.';
comment on column rota.event.to_state is 'State of the step after the event.';
comment on column rota.event.actor is 'Who caused the event: a user''s name, schedule, or node:NAME.';
comment on column rota.event.cause is 'Why the event happened; the values are those of rota.step.cause.';
comment on column rota.event.detail is 'More about the event, in words.';
comment on column rota.event.xid is
	'Transaction that wrote the event. Readers take only events of transactions below the xmin of their snapshot, so '
	'they miss none that commits late.';
