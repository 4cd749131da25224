-- Limits of what may be used, of whomever, in one table; who asks, on each step's row, so that the queue can be read by it; shares.

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
	check ((measure = 'cpu_minutes') = (period <> '')),
	check (not each_user or user_name is null),
	unique nulls not distinct (account, user_name, qos, partition, each_user, measure, period),
	foreign key (account, user_name) references rota.association on delete cascade
);
create index usage_limit_by_user on rota.usage_limit (user_name);
comment on table rota.usage_limit is 'How much may be used at once, or in a period: of all steps that fit account, user, quality of service and partition together. A change is a new row.';
comment on column rota.usage_limit.limit_id is 'Key; never reused.';
comment on column rota.usage_limit.account is 'Of steps of this account and of all below it; null: of any.';
comment on column rota.usage_limit.user_name is 'Of steps of this user; null: of any.';
comment on column rota.usage_limit.qos is 'Of steps under this quality of service; null: under any.';
comment on column rota.usage_limit.partition is 'Of steps in this partition; null: in any.';
comment on column rota.usage_limit.each_user is 'Whether it holds for each user by itself, not for all of them together.';
comment on column rota.usage_limit.measure is
	'What is limited: running (steps under way), submitted (live steps), cpus, nodes and gres/KIND (held at once), cpu_minutes (CPU-minutes held in a period), time (seconds of the time limit of one step).';
comment on column rota.usage_limit.period is 'Of cpu_minutes: the calendar day, week, month or year in the site''s time zone, or so many days up to today, like 30days; empty: no period.';
comment on column rota.usage_limit.most is 'How much of it, in its unit.';

insert into rota.usage_limit (qos, each_user, measure, most)
select q.qos, true, 'running', q.max_running_per_user from rota.qos q where q.max_running_per_user is not null
union all
select q.qos, false, 'time', q.max_time_s from rota.qos q where q.max_time_s is not null;
insert into rota.usage_limit (account, user_name, measure, most)
select a.account, a.user_name, 'running', a.max_running from rota.association a where a.max_running is not null;
alter table rota.qos drop column max_running_per_user, drop column max_time_s;
alter table rota.association drop column max_running;

alter table rota.account add column shares int not null default 1 check (shares >= 0);
comment on column rota.account.shares is 'Its part of what its parent may use, among the accounts and users there; 0: none.';
alter table rota.association add column shares int not null default 1 check (shares >= 0);
comment on column rota.association.shares is 'The user''s part of what the account may use, among its users and the accounts below it; 0: none.';

create table rota.claimant (
	claimant_id int generated always as identity primary key,
	user_name text not null,
	account text,
	qos text not null,
	gres text not null default '',
	boost_ms bigint,
	unique nulls not distinct (user_name, account, qos, gres)
);
comment on table rota.claimant is 'Who asks, as far as limits and shares tell steps apart: steps of one claimant, in one partition, are under the same limits and keep their order among each other.';
comment on column rota.claimant.claimant_id is 'Key; never reused, as rows are never deleted.';
comment on column rota.claimant.user_name is 'Owner''s login name.';
comment on column rota.claimant.account is 'Account that pays; null: none.';
comment on column rota.claimant.qos is 'Quality of service.';
comment on column rota.claimant.gres is 'Kinds of generic resources that the steps ask for, in order, with commas; empty: none.';
comment on column rota.claimant.boost_ms is 'By how much its steps come forward in the queue for its fair share, in milliseconds of waiting; null: not computed yet.';

create table rota.share_state (
	one boolean primary key default true check (one),
	computed_at timestamptz
);
comment on table rota.share_state is 'When the fair share of claimants was computed: one row.';
comment on column rota.share_state.one is 'There is one row.';
comment on column rota.share_state.computed_at is 'When; null: it is to be computed.';
insert into rota.share_state default values;

alter table rota.step add column claimant_id int not null default 0;
comment on column rota.step.claimant_id is 'Who asks for it, in rota.claimant; 0: it had ended before that was kept here.';
insert into rota.claimant (user_name, account, qos, gres)
select distinct j.user_name, j.account, j.qos, coalesce(g.kinds, '')
from rota.step s
join rota.job j on j.job_id = s.job_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
cross join lateral (select string_agg(k, ',' order by k) as kinds from jsonb_object_keys(r.gres) k) g
where s.ended_at is null;
update rota.step s
set claimant_id = c.claimant_id
from rota.job j, rota.step_request r, rota.claimant c
where s.ended_at is null and j.job_id = s.job_id and r.job_id = s.job_id and r.step_id = s.request_id and c.user_name = j.user_name
	and c.account is not distinct from j.account and c.qos = j.qos
	and c.gres = coalesce((select string_agg(k, ',' order by k) from jsonb_object_keys(r.gres) k), '');
create index step_claim on rota.step (queue, claimant_id, rank desc, job_id, step_id)
	where state = 'pending' and deps_waiting = 0 and held = '';

-- What an account has submitted is counted by this.
create index job_by_account on rota.job (account, job_id) where ended_at is null;

insert into rota.setting (name, value, kind, help) values
	('fair_share_weight_s', '0', 'int', 'seconds of waiting that the full range of the fair share factor weighs; 0: fair share is off'),
	('fair_share_half_life_s', '604800', 'int', 'seconds after which use counts half for fair share'),
	('fair_share_period_s', '60', 'int', 'seconds for which fair share factors are kept before they are computed anew');
