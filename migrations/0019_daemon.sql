-- The daemons of the instance, the leading daemons, the plan of the scheduler with its history, and the incarnations of the
-- database.

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
	certificate_ends_at timestamptz,
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
comment on column rota.daemon.certificate_ends_at is
	'When the certificate ends with which the daemon, a jobmgrd, serves HTTPS; null: it serves none, or has not reported it yet.';

create table rota.plan (
	job_id bigint not null,
	step_id int not null,
	expected_at timestamptz,
	nodes int[] not null default '{}',
	reason text not null,
	blocker text,
	message text not null,
	made_at timestamptz not null default now(),
	since timestamptz not null default now(),
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
	'maintenance, reservation, power, image, prep.';
comment on column rota.plan.blocker is 'Label of another step that the step waits for; null: none known.';
comment on column rota.plan.message is 'Reason of the wait in words.';
comment on column rota.plan.made_at is 'When the plan of the step was computed.';
comment on column rota.plan.since is 'Since when the step has waited for this reason and blocker.';

create table rota.wait_reason (
	job_id bigint not null,
	step_id int not null,
	from_at timestamptz not null,
	until_at timestamptz not null,
	reason text not null,
	blocker text,
	primary key (job_id, step_id, from_at),
	constraint wait_reason_takes_time check (until_at > from_at)
) partition by range (job_id);
create index wait_reason_by_time on rota.wait_reason using brin (until_at);
comment on table rota.wait_reason is
	'Why steps waited, and for how long: what rota.plan said of them for a second or longer and no longer says, and holds that '
	'were lifted.';
comment on column rota.wait_reason.job_id is 'Job of the step that waited.';
comment on column rota.wait_reason.step_id is 'Step that waited; of an array, the array for the elements that had not started.';
comment on column rota.wait_reason.from_at is 'From when the step waited for this reason.';
comment on column rota.wait_reason.until_at is 'Until when the step waited for this reason.';
comment on column rota.wait_reason.reason is 'Reason of the wait, as in rota.plan.reason.';
comment on column rota.wait_reason.blocker is 'Label of another step that the step waited for; null: none known.';

create table rota.incarnation (
	incarnation int primary key,
	timeline bigint not null,
	began_at timestamptz not null default clock_timestamp(),
	made_by text not null,
	reason text not null,
	job_after bigint not null,
	job_from bigint not null,
	accepts_before timestamptz,
	event_from bigint,
	constraint incarnation_raises_numbers check (job_from > job_after)
);
comment on table rota.incarnation is
	'Incarnations of the database, one row each; the one with the highest number is the present one. Another one begins when the '
	'database is promoted or restored. It gives out only numbers that no earlier one has given out.';
comment on column rota.incarnation.incarnation is 'Number of the incarnation, from 1.';
comment on column rota.incarnation.timeline is 'Timeline of PostgreSQL in which it began; each promotion begins another one.';
comment on column rota.incarnation.began_at is 'When it was noticed.';
comment on column rota.incarnation.made_by is 'Database role of the session that noticed it.';
comment on column rota.incarnation.reason is 'How it was noticed.';
comment on column rota.incarnation.job_after is 'Highest job number that the database had then given out, as far as it knew.';
comment on column rota.incarnation.job_from is 'First job number that it gives out.';
comment on column rota.incarnation.accepts_before is
	'Incarnations that began before this moment, and that this database lacks, no longer count: an administrator has accepted it '
	'without them; null: it began in another way.';
comment on column rota.incarnation.event_from is 'Lowest number of its events; null: all, as it is the first one.';
insert into rota.incarnation (incarnation, timeline, made_by, reason, job_after, job_from)
values (1, ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint, session_user, 'first', 0, 1);

create table rota.incarnation_refused (
	role text primary key,
	application text not null,
	incarnation int not null,
	timeline bigint not null,
	began_at timestamptz not null,
	refused_at timestamptz not null default clock_timestamp()
);
comment on table rota.incarnation_refused is
	'Who has refused this database, since it has seen a newer incarnation than this one has; the latest of each database role.';
comment on column rota.incarnation_refused.role is 'Database role of the session.';
comment on column rota.incarnation_refused.application is 'Name that the session gives itself.';
comment on column rota.incarnation_refused.incarnation is 'Newest incarnation that it says it has seen.';
comment on column rota.incarnation_refused.timeline is 'Timeline of PostgreSQL of that incarnation.';
comment on column rota.incarnation_refused.began_at is 'When that incarnation began.';
comment on column rota.incarnation_refused.refused_at is 'When the session last refused.';
