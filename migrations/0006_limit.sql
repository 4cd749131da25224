-- Limits of use, the associations that use counts for, and what the limits are compared with.

create table rota.usage_limit (
	limit_id int generated always as identity primary key,
	account text references rota.account on delete cascade,
	user_name text,
	qos text references rota.qos on delete cascade,
	partition text references rota.partition on delete cascade,
	each_user boolean not null default false,
	measure text not null check (measure ~ '^(running|submitted|cpus|nodes|cpu_minutes|time|gres/[A-Za-z][A-Za-z0-9_.-]*)$'),
	period text not null default '' check (period ~ '^(|day|week|month|year|[1-9][0-9]{0,2}days)$'),
	most bigint not null check (most >= 0),
	constraint usage_limit_is_unique unique nulls not distinct (account, user_name,
		qos, partition, each_user, measure, period),
	foreign key (account, user_name) references rota.association on delete cascade,
	constraint usage_limit_period_fits_measure check ((measure = 'cpu_minutes') = (period <> '')),
	constraint usage_limit_each_user_names_no_user check (not each_user or user_name is null)
);
create index usage_limit_by_user on rota.usage_limit (user_name);
comment on table rota.usage_limit is
	'How much may be used at once, or in a period: of all steps that fit account, user, quality of service and partition '
	'together. A change is a new row.';
comment on column rota.usage_limit.limit_id is 'Key; never reused.';
comment on column rota.usage_limit.account is 'Of steps of this account and of all below it; null: of any.';
comment on column rota.usage_limit.user_name is 'Of steps of this user; null: of any.';
comment on column rota.usage_limit.qos is 'Of steps under this quality of service; null: under any.';
comment on column rota.usage_limit.partition is 'Of steps in this partition; null: in any.';
comment on column rota.usage_limit.each_user is 'Whether it holds for each user by itself, not for all of them together.';
comment on column rota.usage_limit.measure is
	'What is limited: running (steps under way), submitted (live steps), cpus, nodes and gres/KIND (held at once), '
	'cpu_minutes (CPU-minutes held in a period), time (seconds of the time limit of one step).';
comment on column rota.usage_limit.period is
	'Of cpu_minutes: the calendar day, week, month or year in the site''s time zone, or so many days up to today, like '
	'30days; empty: no period.';
comment on column rota.usage_limit.most is 'How much of it, in its unit.';

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
	'Associations: the sets of steps that limits and fair share tell apart. Steps of one association in one partition are '
	'under the same limits and keep their order.';
comment on column rota.association_share.association_id is 'Key; never reused, as rows are never deleted.';
comment on column rota.association_share.user_name is 'Owner''s login name.';
comment on column rota.association_share.account is 'Account that pays; null: none.';
comment on column rota.association_share.qos is 'Quality of service.';
comment on column rota.association_share.gres is
	'Kinds of generic resources that the steps ask for, sorted, with commas; empty: none.';
comment on column rota.association_share.boost_ms is
	'By how much its steps come forward in the queue for its fair share, in milliseconds of waiting; null: not computed yet.';

create table rota.share_state (
	one boolean primary key default true check (one),
	computed_at timestamptz
);
comment on table rota.share_state is 'When the fair share of associations was computed: one row.';
comment on column rota.share_state.one is 'There is one row.';
comment on column rota.share_state.computed_at is 'When; null: it is to be computed.';
insert into rota.share_state default values;

create table rota.submit_load (
	uid int primary key,
	steps bigint not null check (steps >= 0),
	last_job bigint not null,
	counted_at timestamptz not null default now()
) with (fillfactor = 50);
comment on table rota.submit_load is 'Live steps as they were counted last: of each user near enough to a limit, and of all.';
comment on column rota.submit_load.uid is 'The user; -1: all.';
comment on column rota.submit_load.steps is 'Live steps then, an array being one.';
comment on column rota.submit_load.last_job is 'The newest job that was counted. The count of later jobs is added to it.';
comment on column rota.submit_load.counted_at is 'When.';
