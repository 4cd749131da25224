-- The daemons of the instance, the leading daemons, and the plan of the scheduler.

create table rota.leader (
	name text primary key,
	term bigint not null default 0,
	owner text,
	since timestamptz,
	backend_pid int,
	backend_start timestamptz,
	lease interval not null default '00:00:03',
	prolog boolean not null default false,
	epilog boolean not null default false
);
comment on table rota.leader is
	'The leading daemons: the jobmgrd that schedules, and the runnerd that runs the hooks of the controller. Their '
	'transactions name their term; the term of a former leader matches no row.';
comment on column rota.leader.name is 'What the daemon leads: schedule (a jobmgrd) or hook (a runnerd).';
comment on column rota.leader.term is 'Term of the leader; each new leader has a higher one.';
comment on column rota.leader.owner is 'Application name and backend pid of the leader.';
comment on column rota.leader.since is 'Since when the leader leads.';
comment on column rota.leader.backend_pid is
	'Pid of the leader''s PostgreSQL backend. Together with backend_start it identifies the session for all time.';
comment on column rota.leader.backend_start is 'When the session of the leader began.';
comment on column rota.leader.lease is 'How long the leader may be silent before another daemon may claim the next term.';
comment on column rota.leader.prolog is 'Of the scheduling leader: whether attempts have a controller prolog.';
comment on column rota.leader.epilog is 'Of the scheduling leader: whether attempts have a controller epilog.';
insert into rota.leader (name) values ('schedule'), ('hook');

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
comment on table rota.daemon is 'The processes of the instance, as each registered itself at its start.';
comment on column rota.daemon.role is 'Program of the daemon: jobmgrd, procmgrd, nodemgrd or runnerd.';
comment on column rota.daemon.name is 'Name of the daemon: that of a host or of a node.';
comment on column rota.daemon.pid is 'Process id of the daemon on its host.';
comment on column rota.daemon.host is 'Host from which the daemon is connected; null: it uses a Unix socket.';
comment on column rota.daemon.version is 'Version of the daemon.';
comment on column rota.daemon.backend_pid is
	'PostgreSQL backend that serves the daemon. It shows whether the daemon is connected.';
comment on column rota.daemon.started_at is 'When the daemon registered.';
comment on column rota.daemon.seen_at is 'When the daemon last called the database.';

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
comment on table rota.plan is
	'The plan: what the latest scheduling cycle expects of the steps that it examined and did not start.';
comment on column rota.plan.job_id is 'Job of the waiting step.';
comment on column rota.plan.step_id is 'Step that waits.';
comment on column rota.plan.expected_at is 'Expected start of the step; null: not computed.';
comment on column rota.plan.nodes is 'Nodes on which the step is expected to start.';
comment on column rota.plan.reason is
	'Why the step waits: resources, priority, partition, license, node, peer, deadline, limit, array_limit, '
	'maintenance, reservation.';
comment on column rota.plan.blocker is 'Label of another step that the step waits for; null: none known.';
comment on column rota.plan.message is 'Reason of the wait in words.';
comment on column rota.plan.made_at is 'When the plan of the step was computed.';
