-- Expected failures: maintenance reservations, drains with a deadline, nodes that somebody expects to fail.

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
comment on table rota.reservation is 'Times in which nodes are kept free for maintenance: no step starts there whose time limit reaches into one.';
comment on column rota.reservation.reservation_id is 'Key; never reused.';
comment on column rota.reservation.name is 'Name.';
comment on column rota.reservation.starts_at is 'When it begins; the first time, where it recurs.';
comment on column rota.reservation.ends_at is 'When it ends; the first time, where it recurs.';
comment on column rota.reservation.recurs is 'After how long it comes again; null: it is once. Days, weeks and months are those of time_zone: the hour on the clock stays.';
comment on column rota.reservation.time_zone is 'Time zone whose clock a recurring one goes by.';
comment on column rota.reservation.users is 'Login names whose steps run there all the same.';
comment on column rota.reservation.accounts is 'Accounts whose steps run there all the same.';
comment on column rota.reservation.end_steps is 'Whether what still runs there when it begins is ended; else it goes on until its own end.';
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

create table rota.node_notice (
	node_id int not null references rota.node on delete cascade,
	kind text not null check (kind in ('drain', 'failing')),
	at timestamptz check (isfinite(at)),
	reason text not null check (reason !~ '[[:cntrl:]]' and length(reason) <= 1000),
	actor text not null,
	said_at timestamptz not null default now(),
	end_steps boolean not null default false,
	primary key (node_id, kind),
	check (kind = 'failing' or at is not null),
	check (kind = 'drain' or not end_steps)
);
comment on table rota.node_notice is 'What is to befall a node: drain, to be drained at a deadline; failing, somebody expects it to fail.';
comment on column rota.node_notice.node_id is 'The node.';
comment on column rota.node_notice.kind is 'drain: steps start only where they end before that time, then it is drained; failing: it is used last.';
comment on column rota.node_notice.at is 'When; null (failing only): at any time.';
comment on column rota.node_notice.reason is 'Why.';
comment on column rota.node_notice.actor is 'Login name of who said so.';
comment on column rota.node_notice.said_at is 'When that was said.';
comment on column rota.node_notice.end_steps is 'drain: whether what still runs there then is ended.';

comment on column rota.admin_event.object is 'Kind of object: partition, node, account, user, qos, license, setting, reservation.';
comment on column rota.plan.reason is 'Why it waits: resources, priority, partition, license, node, peer, deadline, limit, array_limit, maintenance.';
comment on column rota.step.cause is
	'What ended it: exit, signal, time_limit, out_of_memory, cancelled, preempted, deadline, launch, prolog, refused, node, node_lost, keeper_lost, shutdown, maintenance, dependency.';
