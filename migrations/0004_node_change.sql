-- Changes of nodes: power on and off, reboots, images and preparations, changes of many nodes in turn, health checks.

create table rota.node_idle (
	node_id int primary key,
	used_version text not null,
	since timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
comment on table rota.node_idle is
	'Nodes that may be powered off and that nothing holds, while the setting power_off_idle_s is not 0; written by nodemgrd.';
comment on column rota.node_idle.node_id is 'Node that is idle; it may have been deleted since.';
comment on column rota.node_idle.used_version is
	'Version of the row of the node in rota.node_used (xmin and ctid): another one means that the node was used meanwhile, '
	'however shortly.';
comment on column rota.node_idle.since is 'Since when it is idle, as nodemgrd has seen.';

create table rota.power_run (
	run_id bigint generated always as identity primary key,
	node_id int not null,
	node text not null,
	action text not null
		constraint power_run_action_is_known check (action in ('off', 'on', 'reboot', 'undo', 'prepare', 'verify')),
	made_by text not null,
	made_at timestamptz not null default clock_timestamp(),
	tries int not null default 0,
	began_at timestamptz,
	ended_at timestamptz,
	status text check (status in ('done', 'failed', 'dropped')),
	code int,
	message text,
	output text,
	constraint power_run_is_over_or_not check ((ended_at is null) = (status is null))
);
create unique index power_run_open on rota.power_run (node_id) where ended_at is null;
create index power_run_by_node on rota.power_run (node_id, run_id);
create index power_run_by_end on rota.power_run (ended_at) where ended_at is not null;
comment on table rota.power_run is
	'Runs of the programs that power, boot and prepare nodes, one row for each node and stage of a change.';
comment on column rota.power_run.run_id is 'Number of the run.';
comment on column rota.power_run.node_id is 'Node that the program powers; it may have been deleted since.';
comment on column rota.power_run.node is 'Name of the node, the argument of the program.';
comment on column rota.power_run.action is 'off, on, reboot, undo, prepare or verify: which program runs, and for what.';
comment on column rota.power_run.made_by is
	'Who asked for it: a user''s name, nodemgrd (an idle node) or schedule (a step needs it).';
comment on column rota.power_run.made_at is 'When it was asked for.';
comment on column rota.power_run.tries is 'How often a runnerd has taken it: again after a runnerd died.';
comment on column rota.power_run.began_at is 'When a runnerd took it last; null: none has.';
comment on column rota.power_run.ended_at is 'When it was over; null: it is not.';
comment on column rota.power_run.status is
	'done: the program succeeded; failed: it did not; dropped: it was not needed any more before it began; null: it is not over.';
comment on column rota.power_run.code is 'Exit code of the program; null: it has none.';
comment on column rota.power_run.message is 'Why it failed or was dropped; null: it was not.';
comment on column rota.power_run.output is 'Last part of what the program printed.';

create table rota.node_off (
	node_id int not null,
	node text not null,
	off_at timestamptz not null,
	on_at timestamptz,
	idle_watts int,
	primary key (node_id, off_at),
	constraint node_off_ends_later check (on_at >= off_at)
);
create unique index node_off_open on rota.node_off (node_id) where on_at is null;
create index node_off_by_end on rota.node_off (on_at);
comment on table rota.node_off is 'Times in which nodes were off, after they had been powered off.';
comment on column rota.node_off.node_id is 'Node that was off; it may have been deleted since.';
comment on column rota.node_off.node is 'Name of the node.';
comment on column rota.node_off.off_at is 'When its power became off.';
comment on column rota.node_off.on_at is 'When it was asked to power on, or came by itself; null: it is off.';
comment on column rota.node_off.idle_watts is
	'Power in watts that it would have taken on and idle (rota.node.idle_watts) when it went off; null: not known.';
insert into rota.node_off (node_id, node, off_at)
select n.node_id, n.name, n.power_at from rota.node n
where n.power = 'off' and n.power_at is not null;

create table rota.node_reboot (
	reboot_id bigint generated always as identity primary key,
	node_id int not null,
	node text not null,
	reason text not null,
	made_by text not null,
	made_at timestamptz not null default clock_timestamp(),
	asap boolean not null,
	next_state text constraint node_reboot_next_is_known check (next_state in ('resume', 'down')),
	state text not null default 'waiting'
		constraint node_reboot_state_is_known check (state in ('waiting', 'undoing', 'running', 'booting', 'preparing',
			'verifying', 'done', 'failed', 'cancelled')),
	drained boolean not null default false,
	drained_for text,
	boot_id text,
	run_id bigint,
	began_at timestamptz,
	issued_at timestamptz,
	ended_at timestamptz,
	message text,
	image text,
	undo rota.prep_asked,
	boots boolean not null default true,
	prep rota.prep_asked,
	stage_at timestamptz,
	constraint node_reboot_has_begun
		check (state in ('waiting', 'failed', 'cancelled') or (began_at is not null and run_id is not null)),
	constraint node_reboot_is_over_or_not check ((ended_at is null) = (state not in ('done', 'failed', 'cancelled'))),
	constraint node_reboot_changes_something check (boots or (image is null and (undo is not null or prep is not null)))
);
create unique index node_reboot_open on rota.node_reboot (node_id) where ended_at is null;
create index node_reboot_by_node on rota.node_reboot (node_id, reboot_id);
create index node_reboot_by_end on rota.node_reboot (ended_at) where ended_at is not null;
comment on table rota.node_reboot is
	'Changes of nodes, one row for each node: reboots that operators asked for, and changes of the image or the preparation.';
comment on column rota.node_reboot.reboot_id is 'Number of the reboot.';
comment on column rota.node_reboot.node_id is 'Node that is rebooted; it may have been deleted since.';
comment on column rota.node_reboot.node is 'Name of the node.';
comment on column rota.node_reboot.reason is 'Why it is rebooted.';
comment on column rota.node_reboot.made_by is
	'Who asked for it: a user''s name, schedule (a step needs the image) or nodemgrd (back to the default image).';
comment on column rota.node_reboot.made_at is 'When it was asked for.';
comment on column rota.node_reboot.asap is
	'Whether nothing new starts on the node before it is rebooted; else it is rebooted when it happens to be idle.';
comment on column rota.node_reboot.next_state is
	'resume: the node serves afterwards, even if it was drained before; down: it stays drained; null: it is as it was before.';
comment on column rota.node_reboot.state is
	'waiting: for the node to be idle; undoing: the program that takes a preparation back is due or runs; running: the program '
	'that boots the node; booting: that has succeeded; preparing: the program that prepares the node; verifying: the program '
	'that verifies it; done: the node is as it was to be; failed: it is not; cancelled: before a program was due.';
comment on column rota.node_reboot.drained is 'Whether the reboot has drained the node, which was not drained before.';
comment on column rota.node_reboot.drained_for is 'Why the node was drained when the reboot was asked for; null: it was not.';
comment on column rota.node_reboot.boot_id is
	'Boot id of the node when the program became due; null: it had never registered, or the program is not due yet.';
comment on column rota.node_reboot.run_id is 'Run of the program (rota.power_run); null: it is not due yet.';
comment on column rota.node_reboot.began_at is 'When the node was idle and the program became due; null: it is not due yet.';
comment on column rota.node_reboot.issued_at is 'When the program of the present stage had succeeded; null: it has not.';
comment on column rota.node_reboot.ended_at is 'When it was over; null: it is not.';
comment on column rota.node_reboot.message is 'Why it failed or was cancelled; null: it was not.';
comment on column rota.node_reboot.image is 'Image with which the node has to come back; null: any.';
comment on column rota.node_reboot.undo is 'Preparation of the node that is taken back first; null: none.';
comment on column rota.node_reboot.boots is 'Whether the node is booted.';
comment on column rota.node_reboot.prep is 'Preparation that the node has afterwards, with its arguments; null: none is made.';
comment on column rota.node_reboot.stage_at is 'When the program of the present stage became due; null: none has.';
create function rota.node_reboot_moved() returns trigger
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_wrong record;
begin
	select n.node, o.state as was, n.state into v_wrong
	from old_reboot o
	join new_reboot n on n.reboot_id = o.reboot_id
	where o.state <> n.state and (o.state, n.state) not in (
		('waiting', 'undoing'), ('waiting', 'running'), ('waiting', 'preparing'), ('waiting', 'failed'), ('waiting', 'cancelled'),
		('undoing', 'running'), ('undoing', 'preparing'), ('undoing', 'done'), ('undoing', 'failed'),
		('running', 'booting'), ('running', 'failed'), ('booting', 'preparing'), ('booting', 'done'), ('booting', 'failed'),
		('preparing', 'verifying'), ('preparing', 'done'), ('preparing', 'failed'), ('verifying', 'done'),
		('verifying', 'failed'))
	limit 1;
	if found then
		raise exception 'change of node "%" does not go from % to %', v_wrong.node, v_wrong.was, v_wrong.state
			using errcode = '23514', constraint = 'node_reboot_moves', table = 'node_reboot', schema = 'rota';
	end if;
	return null;
end $$;
comment on function rota.node_reboot_moved() is 'Trigger function: refuses a change of the state of a reboot that there is not.';
create trigger node_reboot_moves after update on rota.node_reboot referencing old table as old_reboot new table as new_reboot
	for each statement execute function rota.node_reboot_moved();

create table rota.rolling_change (
	change_id bigint generated always as identity primary key,
	image text,
	reason text not null,
	at_most int not null constraint rolling_change_goes_on check (at_most > 0),
	failures_most int not null constraint rolling_change_stops check (failures_most > 0),
	made_by text not null,
	made_at timestamptz not null default clock_timestamp(),
	state text not null default 'running' constraint rolling_change_state_is_known
		check (state in ('running', 'done', 'stopped', 'cancelled')),
	ended_at timestamptz,
	message text,
	constraint rolling_change_is_over_or_not check ((ended_at is null) = (state = 'running'))
);
create index rolling_change_open on rota.rolling_change (change_id) where ended_at is null;
comment on table rota.rolling_change is 'Changes that go over many nodes, some at a time: reboots, or a new default image.';
comment on column rota.rolling_change.change_id is 'Number of the change.';
comment on column rota.rolling_change.image is
	'Image that the nodes get, which becomes their default one; null: they are only booted again.';
comment on column rota.rolling_change.reason is 'Why the nodes are changed.';
comment on column rota.rolling_change.at_most is 'Most nodes that are out of use for it at a time.';
comment on column rota.rolling_change.failures_most is 'Failures after which no more nodes are changed.';
comment on column rota.rolling_change.made_by is 'Who asked for it: a user''s name.';
comment on column rota.rolling_change.made_at is 'When it was asked for.';
comment on column rota.rolling_change.state is
	'running: nodes are to be changed; done: all are over; stopped: too many have failed; cancelled: by an operator.';
comment on column rota.rolling_change.ended_at is 'When no more nodes were to be changed; null: some are.';
comment on column rota.rolling_change.message is 'Why it was stopped or cancelled; null: it was not.';

create table rota.rolling_node (
	change_id bigint not null references rota.rolling_change (change_id) on delete cascade,
	node_id int not null,
	node text not null,
	state text not null default 'waiting'
		constraint rolling_node_state_is_known check (state in ('waiting', 'changing', 'done', 'failed', 'cancelled')),
	reboot_id bigint,
	primary key (change_id, node_id),
	constraint rolling_node_has_begun check (state <> 'changing' or reboot_id is not null)
);
create unique index rolling_node_open on rota.rolling_node (node_id) where state in ('waiting', 'changing');
create index rolling_node_by_reboot on rota.rolling_node (reboot_id);
comment on table rota.rolling_node is 'Nodes of rolling changes. A node is in one at a time that is not over.';
comment on column rota.rolling_node.change_id is 'Number of the rolling change.';
comment on column rota.rolling_node.node_id is 'Node that is changed; it may have been deleted since.';
comment on column rota.rolling_node.node is 'Name of the node.';
comment on column rota.rolling_node.state is
	'waiting: for its turn; changing: its own change has begun (rota.node_reboot); done, failed: so it has ended; cancelled: it '
	'has not begun, or somebody took it back.';
comment on column rota.rolling_node.reboot_id is 'The change of the node (rota.node_reboot); null: none was needed yet.';

-- Checks of the health of nodes.
create table rota.node_check (
	name text primary key constraint node_check_has_name check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
	program text not null constraint node_check_program_has_name check (program ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
	period_s int not null default 300 constraint node_check_has_period check (period_s > 0),
	timeout_s int not null default 60 constraint node_check_ends check (timeout_s > 0),
	action text not null default 'report' constraint node_check_action_is_known check (action in ('report', 'drain', 'resume')),
	feature text constraint node_check_feature_has_name check (feature ~ '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$')
);
comment on table rota.node_check is 'Checks of the health of nodes: programs of the site that run for each node again and again.';
comment on column rota.node_check.name is 'Name of the check.';
comment on column rota.node_check.program is 'Program in hooks.node_folder that checks a node (check NODE NAME).';
comment on column rota.node_check.period_s is 'Seconds from the end of a run for a node to the next one.';
comment on column rota.node_check.timeout_s is 'Seconds after which the program is killed; that says nothing about the node.';
comment on column rota.node_check.action is
	'What it may do. report: nothing but this; drain: drain a node that is not healthy; resume: the same, '
	'and resume it when it is healthy again.';
comment on column rota.node_check.feature is 'Feature of the nodes that are checked; null: all nodes are.';

create table rota.node_health (
	health_id bigint generated always as identity primary key,
	node_id int not null references rota.node (node_id) on delete cascade,
	name text not null references rota.node_check (name) on delete cascade,
	state text not null default 'unknown' constraint node_health_state_is_known
		check (state in ('unknown', 'healthy', 'unhealthy', 'error')),
	since timestamptz not null default clock_timestamp(),
	message text,
	runs bigint not null default 0,
	ran_s double precision not null default 0,
	checked_at timestamptz,
	due_at timestamptz not null,
	began_at timestamptz,
	unique (name, node_id)
) with (fillfactor = 50);
create index node_health_due on rota.node_health (due_at);
create index node_health_by_node on rota.node_health (node_id);
comment on table rota.node_health is 'What the latest run of each check said about each node.';
comment on column rota.node_health.health_id is 'Number of the pair of check and node.';
comment on column rota.node_health.node_id is 'Node that is checked.';
comment on column rota.node_health.name is 'Name of the check.';
comment on column rota.node_health.state is
	'unknown: no run has ended; healthy, unhealthy: the program says so by exit code 0 or 1; error: it ended otherwise, '
	'which says nothing about the node.';
comment on column rota.node_health.since is 'Since when it is in this state.';
comment on column rota.node_health.message is 'First line that the program printed, or why it failed; null: nothing.';
comment on column rota.node_health.runs is 'Runs that have ended.';
comment on column rota.node_health.ran_s is 'Seconds that these runs took together.';
comment on column rota.node_health.checked_at is 'When the latest run ended; null: none has.';
comment on column rota.node_health.due_at is 'When the next run is due; that of a run under way is over.';
comment on column rota.node_health.began_at is 'When a runnerd took the run that is under way; null: none is.';

create table rota.node_health_event (
	event_id bigint generated always as identity primary key,
	at timestamptz not null default clock_timestamp(),
	node_id int not null,
	node text not null,
	name text not null,
	from_state text not null,
	to_state text not null,
	message text
);
create index node_health_event_by_node on rota.node_health_event (node_id, event_id);
create index node_health_event_by_time on rota.node_health_event (at);
comment on table rota.node_health_event is 'Changes of what checks say about nodes.';
comment on column rota.node_health_event.event_id is 'Number of the event; later ones have higher numbers.';
comment on column rota.node_health_event.at is 'When a run ended with another result than the one before.';
comment on column rota.node_health_event.node_id is 'Node that was checked; it may have been deleted since.';
comment on column rota.node_health_event.node is 'Name of the node.';
comment on column rota.node_health_event.name is 'Name of the check, which may have been deleted since.';
comment on column rota.node_health_event.from_state is 'State of before, as in rota.node_health.';
comment on column rota.node_health_event.to_state is 'State afterwards.';
comment on column rota.node_health_event.message is 'First line that the program printed, or why it failed; null: nothing.';
