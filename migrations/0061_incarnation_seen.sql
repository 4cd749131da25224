-- Whoever has seen a newer incarnation of the database refuses a server that lacks it,
-- until an administrator accepts that server.
alter table rota.incarnation add column accepts_before timestamptz;
comment on column rota.incarnation.accepts_before is
	'Incarnations that began before this moment, and that this database lacks, no longer count: an administrator has accepted it '
	'without them; null: it began in another way.';
alter table rota.incarnation add column event_from bigint;
comment on column rota.incarnation.event_from is 'Lowest number of its events; null: it began before this was recorded.';

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
