-- The daemons of the instance, which of them leads, and what the scheduler expects.

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
	'Who schedules, and who runs the hooks of the controller. Each transaction of theirs names its term; that of a former '
	'leader matches no row.';
comment on column rota.leader.name is 'What is led: schedule (by a jobmgrd), hook (by a runnerd).';
comment on column rota.leader.term is 'Counts up with each new leader.';
comment on column rota.leader.owner is 'Application name and backend pid of the leader.';
comment on column rota.leader.since is 'Since when it leads.';
comment on column rota.leader.backend_pid is 'The leader''s session: with backend_start, the same one for all time.';
comment on column rota.leader.backend_start is 'When that session began.';
comment on column rota.leader.lease is 'How long the leader may be silent before another daemon may claim the next term.';
comment on column rota.leader.prolog is 'Of the scheduling leader: whether attempts have a controller prolog.';
comment on column rota.leader.epilog is 'The same of the controller epilog.';
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
comment on table rota.daemon is 'The processes of the instance, as each registered at its start.';
comment on column rota.daemon.role is 'Program: jobmgrd, procmgrd, nodemgrd.';
comment on column rota.daemon.name is 'Which one: a host, or a node.';
comment on column rota.daemon.pid is 'Process id on its host.';
comment on column rota.daemon.host is 'Host that its connection comes from; null: a Unix socket.';
comment on column rota.daemon.version is 'Its version.';
comment on column rota.daemon.backend_pid is 'PostgreSQL backend that serves it, by which it is known to be connected.';
comment on column rota.daemon.started_at is 'When it registered.';
comment on column rota.daemon.seen_at is 'When it last called.';

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
comment on table rota.plan is 'What the latest scheduling cycle expects of the steps that it examined and did not start.';
comment on column rota.plan.job_id is 'The job.';
comment on column rota.plan.step_id is 'The step.';
comment on column rota.plan.expected_at is 'Expected start; null: not computed.';
comment on column rota.plan.nodes is 'Nodes it is expected on.';
comment on column rota.plan.reason is
	'Why it waits: resources, priority, partition, license, node, peer, deadline, limit, array_limit, maintenance, '
	'reservation.';
comment on column rota.plan.blocker is 'Label of the step that it waits for; null: none known.';
comment on column rota.plan.message is 'The reason in words.';
comment on column rota.plan.made_at is 'When that was computed.';
