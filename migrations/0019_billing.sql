-- Tables of billing: weights of resources, prices of billing units, grants of accounts. Two new measures of limits:
-- device-minutes of a generic resource in a period, and billing units in a period.
alter table rota.usage_limit
	drop constraint usage_limit_measure_check,
	drop constraint usage_limit_period_fits_measure,
	add constraint usage_limit_measure_check check (measure ~
		'^(running|submitted|cpus|nodes|cpu_minutes|billing|time|(gres|gres_minutes)/[A-Za-z][A-Za-z0-9_.-]*)$'),
	add constraint usage_limit_period_fits_measure check (
		(measure ~ '^(cpu_minutes$|billing$|gres_minutes/)') = (period <> ''));
comment on column rota.usage_limit.measure is
	'Quantity that is limited: running (running steps), submitted (live steps), cpus, nodes and gres/KIND (held at '
	'once), cpu_minutes (CPU-minutes held in a period), gres_minutes/KIND (device-minutes held in a period), billing '
	'(billing units of a period), time (time limit of one step in seconds).';
comment on column rota.usage_limit.period is
	'Period of a limit of cpu_minutes, gres_minutes/KIND or billing: day, week, month or year (by the calendar, in the '
	'site''s time zone), or a number of days up to today, like 30days. Empty for other measures.';

create table rota.billing_weight (
	partition text references rota.partition on delete cascade,
	from_month date not null constraint billing_weight_starts_a_month check (extract(day from from_month) = 1),
	cpu numeric not null check (cpu >= 0),
	mem_gib numeric not null check (mem_gib >= 0),
	node numeric not null check (node >= 0),
	gres jsonb not null default '{}',
	primary key (partition, from_month)
);
comment on table rota.billing_weight is
	'How many billing units an hour of each resource counts in a partition, from a month on. A partition without a row counts '
	'one unit for each CPU-hour. Months are those of the site''s time zone.';
comment on column rota.billing_weight.partition is 'Partition in which the weights hold.';
comment on column rota.billing_weight.from_month is
	'First day of the month from which the weights hold, until there is a row with a later month.';
comment on column rota.billing_weight.cpu is 'Billing units of a CPU-hour.';
comment on column rota.billing_weight.mem_gib is 'Billing units of one GiB of memory, held for an hour.';
comment on column rota.billing_weight.node is 'Billing units of a node-hour, held whole or in part.';
comment on column rota.billing_weight.gres is
	'Billing units of a device-hour of each generic resource, as in {"gpu": 20}; 0 for kinds that are not there.';

create table rota.price (
	price text primary key check (price ~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
	account text references rota.account on delete cascade,
	from_month date not null constraint price_starts_a_month check (extract(day from from_month) = 1),
	per_unit numeric not null check (per_unit >= 0),
	currency text not null default 'EUR' check (currency ~ '^[A-Z]{3}$'),
	constraint price_is_unique unique nulls not distinct (account, from_month)
);
comment on table rota.price is
	'What a billing unit costs, from a month on. The price of the nearest account above holds, then the one of no account.';
comment on column rota.price.price is 'Name of the price.';
comment on column rota.price.account is 'The price holds for this account and all accounts below it; null: for all others.';
comment on column rota.price.from_month is
	'First day of the month from which the price holds, until the same account has one with a later month.';
comment on column rota.price.per_unit is 'Cost of one billing unit, in the currency.';
comment on column rota.price.currency is 'Currency of the price, by its code of three letters (ISO 4217).';

create table rota.account_grant (
	grant_id int generated always as identity unique,
	name text primary key check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
	account text not null references rota.account on delete cascade,
	units bigint not null check (units >= 0),
	first_day date not null,
	last_day date not null,
	carry_over bigint not null default 0 check (carry_over >= 0),
	at_end text not null default 'refuse' check (at_end in ('refuse', 'low_priority')),
	constraint account_grant_ends_after_it_starts check (last_day >= first_day),
	constraint account_grant_starts_once unique (account, first_day)
);
comment on table rota.account_grant is
	'Billing units that an account and all accounts below it may use in a time. The grants of one account do not overlap: '
	'api.admin_change refuses that.';
comment on column rota.account_grant.grant_id is 'Number of the grant; never reused.';
comment on column rota.account_grant.name is 'Name of the grant.';
comment on column rota.account_grant.account is 'Account that has the grant.';
comment on column rota.account_grant.units is 'Billing units granted, without those carried over.';
comment on column rota.account_grant.first_day is 'First day of the grant, in the site''s time zone.';
comment on column rota.account_grant.last_day is 'Last day of the grant, in the site''s time zone.';
comment on column rota.account_grant.carry_over is
	'How many unused units the account''s next grant gets at most when this one is over. Units that were themselves carried '
	'over are not carried over again.';
comment on column rota.account_grant.at_end is
	'What happens when the units are used or the last day is over. refuse: the account''s steps do not start, and new ones '
	'are refused. low_priority: its steps come after those of all others.';
