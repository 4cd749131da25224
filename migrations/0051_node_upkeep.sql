-- Upkeep of nodes: changes that go over many nodes, some at a time; checks of the health of nodes; what idle nodes use.
insert into rota.setting (name, value, kind, help) values
	('check_drained_percent', '10', 'int',
		'most percent of all nodes that are drained by checks at a time, one node at least; a failed check only reports then');

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

-- What an idle node uses, to say what power saving saves.
alter table rota.node add column idle_watts int constraint node_idle_watts_are_known check (idle_watts > 0);
comment on column rota.node.idle_watts is 'Power in watts that the node takes when it is on and idle; null: not known.';
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
