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
	sample_s int not null default 30 check (sample_s between 0 and 86400)
);
create unique index partition_one_default on rota.partition (is_default) where is_default;
comment on table rota.partition is 'A queue: a set of nodes (sets may overlap), limits and who may use it.';
comment on column rota.partition.partition is 'Name.';
comment on column rota.partition.state is
	'up: accepts and starts; down: accepts, starts nothing; drain: starts what is there, accepts nothing; inactive: neither.';
comment on column rota.partition.is_default is 'Whether jobs that name no partition go here; one at most.';
comment on column rota.partition.priority is 'Partitions of higher priority are served first.';
comment on column rota.partition.max_time_s is 'Longest time limit in seconds; null: none.';
comment on column rota.partition.default_time_s is 'Time limit of steps that name none, in seconds; null: max_time_s.';
comment on column rota.partition.max_nodes is 'Most nodes of one step; null: all.';
comment on column rota.partition.default_mem_per_cpu_mb is
	'Memory per CPU of steps that name none, in MiB; null: memory is not tracked for them.';
comment on column rota.partition.allow_users is 'Login names that may use it; null: all.';
comment on column rota.partition.allow_groups is 'Unix groups whose members may use it; null: all.';
comment on column rota.partition.allow_accounts is 'Accounts that may use it; null: all.';
comment on column rota.partition.sample_s is
	'Seconds between samples of what its steps use, where a step does not ask for another interval; 0: no samples.';

create table rota.partition_node (
	partition text not null references rota.partition on delete cascade,
	node_id int not null references rota.node on delete cascade,
	primary key (partition, node_id)
);
comment on table rota.partition_node is 'Which nodes a partition has.';
comment on column rota.partition_node.partition is 'The partition.';
comment on column rota.partition_node.node_id is 'A node of it.';

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
	'Times in which nodes are reserved for maintenance or for a list of users and accounts. No other step starts there '
	'whose time limit reaches into such a time.';
comment on column rota.reservation.reservation_id is 'Key; never reused.';
comment on column rota.reservation.name is 'Name.';
comment on column rota.reservation.starts_at is 'When it begins; the first time, where it recurs.';
comment on column rota.reservation.ends_at is 'When it ends; the first time, where it recurs.';
comment on column rota.reservation.recurs is
	'Interval after which it recurs; null: it does not. Days, weeks and months are those of time_zone, so the hour of the '
	'day stays.';
comment on column rota.reservation.time_zone is 'Time zone in which a recurring reservation is computed.';
comment on column rota.reservation.users is 'Login names whose steps run there if they ask for it (--reservation).';
comment on column rota.reservation.accounts is 'Accounts whose steps run there if they ask for it (--reservation).';
comment on column rota.reservation.end_steps is
	'Whether steps that still run there when it begins are ended; false: they run to their own end.';
comment on column rota.reservation.reason is 'Why, for people.';
comment on column rota.reservation.created_by is 'Login name of who made it.';
comment on column rota.reservation.created_at is 'When it was made.';

create table rota.reservation_node (
	reservation_id int not null references rota.reservation on delete cascade,
	node_id int not null references rota.node on delete cascade,
	primary key (reservation_id, node_id)
);
create index reservation_node_by_node on rota.reservation_node (node_id);
comment on table rota.reservation_node is 'Which nodes a reservation has.';
comment on column rota.reservation_node.reservation_id is 'The reservation.';
comment on column rota.reservation_node.node_id is 'A node of it.';
