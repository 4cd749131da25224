-- When limits kept queue lines from starting steps, so that it is known of each step how long it waited for a limit.
create table rota.line_limited (
	association_id int not null references rota.association_share on delete cascade,
	partition text not null,
	from_at timestamptz not null,
	until_at timestamptz,
	reached text not null,
	primary key (association_id, partition, from_at),
	constraint line_limited_takes_time check (until_at >= from_at)
);
create unique index line_limited_open on rota.line_limited (association_id, partition) where until_at is null;
comment on table rota.line_limited is
	'Times in which a limit was reached, so that no step of a queue line started. Times with less than a minute between them '
	'are one. Times before all jobs that are left are deleted with the range of jobs.';
comment on column rota.line_limited.association_id is 'Association of the steps in the queue line.';
comment on column rota.line_limited.partition is 'Partition of the steps in the queue line.';
comment on column rota.line_limited.from_at is 'From when no step of the line could start.';
comment on column rota.line_limited.until_at is 'Until when; null: no step of the line can start now.';
comment on column rota.line_limited.reached is 'The limit that was reached, in words: steps of "alice".';
comment on table rota.wait_reason is
	'Why steps waited, and for how long: what rota.plan said of them for a second or longer and no longer says, and holds that '
	'were lifted.';
