-- Limits of use, associations with their fair share, and counts of live steps for limits on submission.

create table rota.usage_limit (
	limit_id int generated always as identity primary key,
	account text references rota.account on delete cascade,
	user_name text,
	qos text references rota.qos on delete cascade,
	partition text references rota.partition on delete cascade,
	each_user boolean not null default false,
	measure text not null
		check (measure ~ '^(running|submitted|cpus|nodes|cpu_minutes|billing|time|(gres|gres_minutes)/[A-Za-z][A-Za-z0-9_.-]*)$'),
	period text not null default '' check (period ~ '^(|day|week|month|year|[1-9][0-9]{0,2}days)$'),
	most bigint not null check (most >= 0),
	constraint usage_limit_is_unique unique nulls not distinct (account, user_name, qos, partition, each_user, measure, period),
	foreign key (account, user_name) references rota.association on delete cascade,
	constraint usage_limit_period_fits_measure check ((measure ~ '^(cpu_minutes$|billing$|gres_minutes/)') = (period <> '')),
	constraint usage_limit_each_user_names_no_user check (not each_user or user_name is null)
);
create index usage_limit_by_user on rota.usage_limit (user_name);
comment on table rota.usage_limit is
	'Limits of use, at once or in a period. A limit holds for all steps together that fit account, user, quality of '
	'service and partition. Changing a limit makes a new row.';
comment on column rota.usage_limit.limit_id is 'Key of the limit; never reused.';
comment on column rota.usage_limit.account is
	'The limit holds for steps of this account and of all accounts below it; null: of any account.';
comment on column rota.usage_limit.user_name is 'The limit holds for steps of this user; null: of any user.';
comment on column rota.usage_limit.qos is 'The limit holds for steps with this quality of service; null: with any.';
comment on column rota.usage_limit.partition is 'The limit holds for steps in this partition; null: in any partition.';
comment on column rota.usage_limit.each_user is
	'Whether the limit holds for each user separately, not for all users together.';
comment on column rota.usage_limit.measure is
	'Quantity that is limited: running (running steps), submitted (live steps), cpus, nodes and gres/KIND (held at '
	'once), cpu_minutes (CPU-minutes held in a period), gres_minutes/KIND (device-minutes held in a period), billing '
	'(billing units of a period), time (time limit of one step in seconds).';
comment on column rota.usage_limit.period is
	'Period of a limit of cpu_minutes, gres_minutes/KIND or billing: day, week, month or year (by the calendar, in the '
	'site''s time zone), or a number of days up to today, like 30days. Empty for other measures.';
comment on column rota.usage_limit.most is 'Highest value that the limited quantity may have, in its own unit.';

create table rota.association_share (
	association_id int generated always as identity primary key,
	user_name text not null,
	account text,
	qos text not null,
	gres text not null default '',
	boost_ms bigint,
	unique nulls not distinct (user_name, account, qos, gres)
);
comment on table rota.association_share is
	'Associations: sets of steps of one owner, account, quality of service and kinds of generic resources. Steps of '
	'one association in one partition are under the same limits and keep their order.';
comment on column rota.association_share.association_id is
	'Key of the association; never reused, as rows are never deleted.';
comment on column rota.association_share.user_name is 'Login name of the owner of the steps.';
comment on column rota.association_share.account is 'Account that pays for the steps; null: none.';
comment on column rota.association_share.qos is 'Quality of service of the steps.';
comment on column rota.association_share.gres is
	'Kinds of generic resources that the steps ask for, sorted and separated by commas; empty: none.';
comment on column rota.association_share.boost_ms is
	'Milliseconds of waiting by which fair share moves steps of the association forward in the queue; null: not '
	'computed yet.';

create table rota.share_state (
	one boolean primary key default true check (one),
	computed_at timestamptz
);
comment on table rota.share_state is 'The time at which the fair share of associations was last computed, in one row.';
comment on column rota.share_state.one is 'Always true: the table has only one row.';
comment on column rota.share_state.computed_at is 'When fair share was last computed; null: it has to be computed.';
insert into rota.share_state default values;

create table rota.submit_load (
	uid int primary key,
	steps bigint not null check (steps >= 0),
	last_job bigint not null,
	counted_at timestamptz not null default now()
) with (fillfactor = 50);
comment on table rota.submit_load is
	'Number of live steps at the latest count, for each user who is near a limit of submitted steps, and for all '
	'users together.';
comment on column rota.submit_load.uid is 'Uid of the user; -1: all users together.';
comment on column rota.submit_load.steps is 'Live steps at the latest count; an array counts as one.';
comment on column rota.submit_load.last_job is
	'Newest job of the latest count. Steps of later jobs are counted and added when needed.';
comment on column rota.submit_load.counted_at is 'When the live steps were last counted.';

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
