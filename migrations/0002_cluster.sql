-- The cluster: nodes and what they have, partitions, and who may use them.

create table rota.node (
	node_id int generated always as identity primary key,
	name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
	cpus int not null check (cpus between 1 and 65536),
	mem_mb bigint not null check (mem_mb >= 0),
	features text[] not null default '{}',
	weight int not null default 1,
	hardware_check boolean not null default true,
	state text not null default 'unknown' check (state in ('unknown', 'up', 'down', 'drain', 'invalid')),
	reason text,
	reason_by text,
	reason_at timestamptz,
	found jsonb,
	boot_id text,
	address text,
	version text,
	cpus_used int not null default 0,
	mem_used_mb bigint not null default 0,
	constraint node_cpus_not_overbooked check (cpus_used between 0 and cpus),
	constraint node_mem_not_overbooked check (mem_used_mb between 0 and mem_mb)
) with (fillfactor = 50);
comment on table rota.node is 'A machine (or a part of one) that runs steps, served by one process manager.';
comment on column rota.node.node_id is 'Key; never reused.';
comment on column rota.node.name is 'Name that its process manager registers with.';
comment on column rota.node.cpus is 'CPUs that may be allocated; what is prescribed, not what was found.';
comment on column rota.node.mem_mb is 'Memory that may be allocated, in MiB.';
comment on column rota.node.features is 'Words that --constraint can ask for.';
comment on column rota.node.weight is 'Nodes of lower weight are used first.';
comment on column rota.node.hardware_check is 'Whether a node on which less is found than prescribed is kept out of use (state invalid).';
comment on column rota.node.state is 'unknown: never seen; up: serves; down: lost; drain: no new steps, by an operator or a failed prolog or epilog; invalid: less than prescribed.';
comment on column rota.node.reason is 'Why it is not up.';
comment on column rota.node.reason_by is 'Who said so: a user''s name or a daemon.';
comment on column rota.node.reason_at is 'When that was said.';
comment on column rota.node.found is 'Hardware as its process manager found it: cpus, cores, sockets, mem_mb, arch, os.';
comment on column rota.node.boot_id is 'The kernel''s boot id at the last registration.';
comment on column rota.node.address is 'Host name of the machine.';
comment on column rota.node.version is 'Version of its process manager.';
comment on column rota.node.cpus_used is 'CPUs of its open allocations; never above cpus.';
comment on column rota.node.mem_used_mb is 'Memory of its open allocations, in MiB; never above mem_mb.';

create table rota.node_lease (
	node_id int primary key references rota.node on delete cascade,
	renewed_at timestamptz not null,
	expires_at timestamptz not null
) with (fillfactor = 50);
comment on table rota.node_lease is 'Until when each node counts as alive; renewed by its process manager.';
comment on column rota.node_lease.node_id is 'The node.';
comment on column rota.node_lease.renewed_at is 'When it was last heard of.';
comment on column rota.node_lease.expires_at is 'When it counts as lost.';

create table rota.node_event (
	node_event_id bigint generated always as identity primary key,
	node_id int not null,
	node text not null,
	at timestamptz not null default clock_timestamp(),
	from_state text not null,
	to_state text not null,
	actor text not null,
	reason text
);
create index node_event_by_node on rota.node_event (node_id, at);
comment on table rota.node_event is 'Every change of a node''s state, append-only.';
comment on column rota.node_event.node_event_id is 'Order of the changes.';
comment on column rota.node_event.node_id is 'The node (which may have been deleted since).';
comment on column rota.node_event.node is 'Its name then.';
comment on column rota.node_event.at is 'When.';
comment on column rota.node_event.from_state is 'State before.';
comment on column rota.node_event.to_state is 'State after.';
comment on column rota.node_event.actor is 'Who did it: a user''s name or a daemon.';
comment on column rota.node_event.reason is 'Why.';

create table rota.node_gres (
	node_id int not null references rota.node on delete cascade,
	gres text not null check (gres ~ '^[A-Za-z][A-Za-z0-9_.-]*$'),
	unit int not null check (unit >= 0),
	job_id bigint,
	step_id int,
	attempt int,
	primary key (node_id, gres, unit),
	check (num_nulls(job_id, step_id, attempt) in (0, 3))
) with (fillfactor = 70);
comment on table rota.node_gres is 'Generic resources, one row a unit: a unit has one holder or none, so it cannot be allocated twice.';
comment on column rota.node_gres.node_id is 'The node that has it.';
comment on column rota.node_gres.gres is 'Kind, for example gpu.';
comment on column rota.node_gres.unit is 'Number of the unit on its node, from 0.';
comment on column rota.node_gres.job_id is 'Job of the step that holds it; null: free.';
comment on column rota.node_gres.step_id is 'Step that holds it.';
comment on column rota.node_gres.attempt is 'Attempt that holds it; 0: kept for a step that is to follow on the same node.';

create table rota.license (
	license text primary key check (license ~ '^[A-Za-z][A-Za-z0-9_.-]*$'),
	total int not null check (total >= 0),
	used int not null default 0,
	constraint license_not_overbooked check (used between 0 and total)
);
comment on table rota.license is 'Licences that steps take while they run.';
comment on column rota.license.license is 'Name.';
comment on column rota.license.total is 'How many there are.';
comment on column rota.license.used is 'How many are taken; never above total.';

create table rota.account (
	account text primary key check (account ~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
	parent text references rota.account,
	description text
);
comment on table rota.account is 'Who pays: accounts form a tree.';
comment on column rota.account.account is 'Name.';
comment on column rota.account.parent is 'The account above; null: the top.';
comment on column rota.account.description is 'For people.';

create table rota.qos (
	qos text primary key check (qos ~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
	priority int not null default 0,
	max_time_s bigint check (max_time_s > 0),
	max_running_per_user int check (max_running_per_user > 0)
);
comment on table rota.qos is 'Qualities of service a job can ask for.';
comment on column rota.qos.qos is 'Name.';
comment on column rota.qos.priority is 'Points of priority that it adds.';
comment on column rota.qos.max_time_s is 'Longest time limit in seconds; null: no limit of its own.';
comment on column rota.qos.max_running_per_user is 'Steps of one user that may run under it at once; null: any number.';
insert into rota.qos (qos, priority) values ('normal', 0);

create table rota.person (
	user_name text primary key,
	role text not null default 'user' check (role in ('user', 'operator', 'admin')),
	default_account text references rota.account,
	analyst boolean not null default false
);
comment on table rota.person is 'Users with something special about them; anyone else is an ordinary user.';
comment on column rota.person.user_name is 'Login name.';
comment on column rota.person.role is 'user: own jobs; operator: all jobs; admin: all jobs and the cluster.';
comment on column rota.person.default_account is 'Account of jobs that name none.';
comment on column rota.person.analyst is 'Whether a database login of this name reads schema acct.';

create table rota.association (
	account text not null references rota.account on delete cascade,
	user_name text not null,
	max_running int check (max_running > 0),
	primary key (account, user_name)
);
comment on table rota.association is 'Who may use an account. An account without any row is open to all.';
comment on column rota.association.account is 'The account.';
comment on column rota.association.user_name is 'Who may use it.';
comment on column rota.association.max_running is 'Steps that this user may run on it at once; null: any number.';

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
	allow_accounts text[]
);
create unique index partition_one_default on rota.partition (is_default) where is_default;
comment on table rota.partition is 'A queue: a set of nodes (sets may overlap), limits and who may use it.';
comment on column rota.partition.partition is 'Name.';
comment on column rota.partition.state is 'up: accepts and starts; down: accepts, starts nothing; drain: starts what is there, accepts nothing; inactive: neither.';
comment on column rota.partition.is_default is 'Whether jobs that name no partition go here; one at most.';
comment on column rota.partition.priority is 'Partitions of higher priority are served first.';
comment on column rota.partition.max_time_s is 'Longest time limit in seconds; null: none.';
comment on column rota.partition.default_time_s is 'Time limit of steps that name none, in seconds; null: max_time_s.';
comment on column rota.partition.max_nodes is 'Most nodes of one step; null: all.';
comment on column rota.partition.default_mem_per_cpu_mb is 'Memory per CPU of steps that name none, in MiB; null: memory is not tracked for them.';
comment on column rota.partition.allow_users is 'Login names that may use it; null: all.';
comment on column rota.partition.allow_groups is 'Unix groups whose members may use it; null: all.';
comment on column rota.partition.allow_accounts is 'Accounts that may use it; null: all.';

create table rota.partition_node (
	partition text not null references rota.partition on delete cascade,
	node_id int not null references rota.node on delete cascade,
	primary key (partition, node_id)
);
comment on table rota.partition_node is 'Which nodes a partition has.';
comment on column rota.partition_node.partition is 'The partition.';
comment on column rota.partition_node.node_id is 'A node of it.';

create table rota.leader (
	name text primary key,
	term bigint not null default 0,
	holder text,
	since timestamptz
);
insert into rota.leader (name) values ('schedule');
comment on table rota.leader is 'Which jobmgrd schedules. Each scheduling transaction names its term; a former leader''s matches no row.';
comment on column rota.leader.name is 'What is led; one row, schedule.';
comment on column rota.leader.term is 'Counts up with each new leader.';
comment on column rota.leader.holder is 'Application name and backend pid of the leader.';
comment on column rota.leader.since is 'Since when it leads.';

create table rota.daemon (
	role text not null,
	name text not null,
	pid int not null,
	host text,
	version text not null,
	backend_pid int,
	started_at timestamptz not null default now(),
	seen_at timestamptz not null default now(),
	primary key (role, name)
);
comment on table rota.daemon is 'The processes of the instance, as each one said at its start.';
comment on column rota.daemon.role is 'Program: jobmgrd, procmgrd, nodemgrd.';
comment on column rota.daemon.name is 'Which one: a host, or a node.';
comment on column rota.daemon.pid is 'Process id on its host.';
comment on column rota.daemon.host is 'Where its connection comes from; null: a Unix socket.';
comment on column rota.daemon.version is 'Its version.';
comment on column rota.daemon.backend_pid is 'PostgreSQL backend that serves it, by which it is known to be connected.';
comment on column rota.daemon.started_at is 'When it registered.';
comment on column rota.daemon.seen_at is 'When it was last heard of.';
