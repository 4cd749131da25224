-- Partitions of nodes, and reservations of nodes.

create table rota.partition (
	partition text primary key check (partition ~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
	state text not null default 'up' check (state in ('up', 'down', 'drain', 'inactive')),
	is_default boolean not null default false,
	priority int not null default 0,
	max_time_s bigint check (max_time_s > 0),
	default_time_s bigint check (default_time_s > 0),
	max_nodes int check (max_nodes > 0),
	default_mem_per_cpu_mb bigint check (default_mem_per_cpu_mb > 0),
	allow_users text[],
	allow_groups text[],
	allow_accounts text[],
	sample_s int not null default 30 check (sample_s between 0 and 86400),
	idle_timeout_s int,
	keep_idle int not null default 0 constraint partition_keeps_some check (keep_idle >= 0),
	tier int not null default 0 constraint partition_tier_is_small check (tier between -20 and 20),
	preempt text not null default 'off'
		constraint partition_preempt_is_known check (preempt in ('off', 'requeue', 'checkpoint', 'suspend', 'cancel')),
	preempt_after_s int constraint partition_preempt_after_is_positive check (preempt_after_s > 0),
	preempt_grace_s int constraint partition_preempt_grace_is_a_time check (preempt_grace_s between 1 and 86400),
	credentials text
		constraint partition_credentials check (credentials ~ '^[a-z][a-z0-9_-]{0,30}(,[a-z][a-z0-9_-]{0,30}){0,15}$'),
	preempt_otherwise text not null default 'requeue'
		constraint partition_preempt_otherwise_is_known check (preempt_otherwise in ('spare', 'requeue', 'cancel')),
	constraint partition_idle_timeout_is_positive check (idle_timeout_s > 0)
);
create unique index partition_one_default on rota.partition (is_default) where is_default;
comment on table rota.partition is
	'Partitions: sets of nodes, which may overlap, with limits and access rules, in which steps queue.';
comment on column rota.partition.partition is 'Name of the partition.';
comment on column rota.partition.state is
	'State of the partition. up: accepts and starts steps; down: accepts steps and starts none; drain: starts the '
	'queued steps and accepts no new ones; inactive: neither accepts nor starts steps.';
comment on column rota.partition.is_default is
	'Whether jobs that name no partition go to this partition; at most one is the default.';
comment on column rota.partition.priority is
	'Priority of the partition; the scheduler serves partitions of higher priority first.';
comment on column rota.partition.max_time_s is 'Longest time limit of a step in the partition, in seconds; null: none.';
comment on column rota.partition.default_time_s is 'Time limit of steps that ask for none, in seconds; null: max_time_s.';
comment on column rota.partition.max_nodes is 'Most nodes of one step in the partition; null: all nodes.';
comment on column rota.partition.default_mem_per_cpu_mb is
	'Memory per CPU of steps that ask for no memory, in MiB; null: the memory of such steps is not tracked.';
comment on column rota.partition.allow_users is 'Login names of users who may use the partition; null: all users.';
comment on column rota.partition.allow_groups is 'Unix groups whose members may use the partition; null: all users.';
comment on column rota.partition.allow_accounts is 'Accounts that may use the partition; null: all accounts.';
comment on column rota.partition.sample_s is
	'Seconds between samples of the resource use of steps in the partition, unless a step asks for another interval; '
	'0: no samples.';
comment on column rota.partition.idle_timeout_s is
	'Seconds without keys and output after which a session in the partition is ended, for steps that start from now on; '
	'null: never.';
comment on column rota.partition.keep_idle is 'Idle nodes of the partition that stay on, although others are powered off.';
comment on column rota.partition.tier is
	'Tier of the partition. That of a step is the sum of the tiers of its partition and its quality of service. Steps of higher '
	'tiers go first, and may preempt those of lower ones.';
comment on column rota.partition.preempt is
	'What becomes of a step in the partition that is preempted. off: it is never preempted; requeue: it is queued again, or '
	'cancelled if it must not run again; checkpoint: it is saved first, and goes on from there; suspend: it is suspended, '
	'and goes on later; cancel: it ends.';
comment on column rota.partition.preempt_after_s is
	'Seconds that a step runs, each time that it starts, before it may be preempted; null: none.';
comment on column rota.partition.preempt_grace_s is
	'Seconds between SIGTERM and SIGKILL when a step is preempted; null: those of the node (node.grace).';
comment on column rota.partition.credentials is
	'Names of credentials that steps get that do not say --cred, and whose owners have no default of their own; null: none.';
comment on column rota.partition.preempt_otherwise is
	'With checkpoint and suspend, what becomes of a step that cannot be saved or suspended, or was not saved in time. spare: it '
	'is not preempted; requeue, cancel: as in preempt.';

create table rota.partition_node (
	partition text not null references rota.partition on delete cascade,
	node_id int not null references rota.node on delete cascade,
	primary key (partition, node_id)
);
comment on table rota.partition_node is 'Nodes of each partition.';
comment on column rota.partition_node.partition is 'Partition that has the node.';
comment on column rota.partition_node.node_id is 'Node that is in the partition.';

create table rota.reservation (
	reservation_id int generated always as identity primary key,
	name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
	starts_at timestamptz not null check (isfinite(starts_at)),
	ends_at timestamptz not null check (isfinite(ends_at)),
	recurs interval,
	time_zone text not null default current_setting('TimeZone'),
	users text[] not null default '{}',
	accounts text[] not null default '{}',
	end_steps boolean not null default false,
	reason text check (reason !~ '[[:cntrl:]]' and length(reason) <= 1000),
	created_by text not null,
	created_at timestamptz not null default now(),
	constraint reservation_ends_after_its_start check (ends_at > starts_at),
	constraint reservation_recurs_after_its_end check (recurs > interval '0' and ends_at - starts_at <= recurs)
);
comment on table rota.reservation is
	'Reservations: times in which nodes are kept free for maintenance, or for a list of users and accounts. No other '
	'step starts on these nodes if its time limit reaches into such a time.';
comment on column rota.reservation.reservation_id is 'Key of the reservation; never reused.';
comment on column rota.reservation.name is 'Name of the reservation.';
comment on column rota.reservation.starts_at is 'When the reservation begins; if it recurs, when it first begins.';
comment on column rota.reservation.ends_at is 'When the reservation ends; if it recurs, when it first ends.';
comment on column rota.reservation.recurs is
	'Interval after which the reservation recurs; null: it does not. Days, weeks and months are those of time_zone, '
	'so the hour of the day stays.';
comment on column rota.reservation.time_zone is 'Time zone in which a recurring reservation is computed.';
comment on column rota.reservation.users is
	'Login names of users whose steps may run in the reservation if they ask for it (--reservation).';
comment on column rota.reservation.accounts is
	'Accounts whose steps may run in the reservation if they ask for it (--reservation).';
comment on column rota.reservation.end_steps is
	'Whether steps that still run on the nodes when the reservation begins are ended; false: they run to their own '
	'end.';
comment on column rota.reservation.reason is 'Why the reservation was made, for people.';
comment on column rota.reservation.created_by is 'Login name of the user who made the reservation.';
comment on column rota.reservation.created_at is 'When the reservation was made.';

create table rota.reservation_node (
	reservation_id int not null references rota.reservation on delete cascade,
	node_id int not null references rota.node on delete cascade,
	primary key (reservation_id, node_id)
);
create index reservation_node_by_node on rota.reservation_node (node_id);
comment on table rota.reservation_node is 'Nodes of each reservation.';
comment on column rota.reservation_node.reservation_id is 'Reservation that has the node.';
comment on column rota.reservation_node.node_id is 'Node that is reserved.';
