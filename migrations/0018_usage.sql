-- Use of resources by hour, day and month, and what it costs. Each transaction that ends steps or allocations notes them in
-- rota.usage_pending. api.usage_roll adds them up later, exactly once.

create type rota.usage_pending_checked as (job_ids bigint[], step_ids int[], attempts int[], node_ids int[], held boolean,
	used boolean);
comment on type rota.usage_pending_checked is
	'The columns of rota.usage_pending that the constraint usage_pending_is_valid checks.';
create domain rota.usage_pending_valid as rota.usage_pending_checked
	constraint usage_pending_is_valid check (
		cardinality((value).step_ids) = cardinality((value).job_ids)
		and num_nulls((value).attempts, (value).node_ids) in (0, 2)
		and ((value).held or (value).used) = ((value).node_ids is not null)
		and cardinality((value).attempts) = cardinality((value).job_ids)
		and cardinality((value).node_ids) = cardinality((value).job_ids));
comment on domain rota.usage_pending_valid is
	'A row has either ended steps, or allocations whose time or use is to be added up. Its arrays have equal lengths.';
create table rota.usage_pending (
	pending_id bigint generated always as identity primary key,
	job_ids bigint[] not null,
	step_ids int[] not null,
	attempts int[],
	node_ids int[],
	held boolean not null default false,
	used boolean not null default false,
	rebuild boolean not null default false,
	constraint usage_pending_is_valid check (
		row(job_ids, step_ids, attempts, node_ids, held, used)::rota.usage_pending_checked::rota.usage_pending_valid
			is distinct from null)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_threshold = -1);
comment on table rota.usage_pending is
	'Steps and allocations that have ended and are not in the usage figures yet: a row for each transaction that '
	'ended some, and during a rebuild rows for those that had ended before. The transaction that adds a row up '
	'deletes it.';
comment on column rota.usage_pending.pending_id is
	'Position of the row in the order of adding up: rows of new ends from 1 up; after them rows of a rebuild, from -1 '
	'down.';
comment on column rota.usage_pending.job_ids is 'Job of each step or allocation.';
comment on column rota.usage_pending.step_ids is 'Step, or step of each allocation.';
comment on column rota.usage_pending.attempts is 'Attempt of each allocation; null: the row has steps that ended.';
comment on column rota.usage_pending.node_ids is 'Node of each allocation; null: the row has steps that ended.';
comment on column rota.usage_pending.held is
	'Whether the allocations have ended, so that the resources held by them are to be added up.';
comment on column rota.usage_pending.used is
	'Whether the use of the allocations has become known, because nothing of them is left on their nodes, so that it '
	'is to be added up.';
comment on column rota.usage_pending.rebuild is
	'Whether the row had been added up before and is added up again by a rebuild. Views leave it out until then.';

create table rota.usage_state (
	one boolean primary key default true check (one),
	time_zone text not null,
	rebuild_at timestamptz
);
comment on table rota.usage_state is 'State of the usage figures, in one row.';
comment on column rota.usage_state.one is 'Always true: the table has only one row.';
comment on column rota.usage_state.time_zone is
	'Time zone by which days and months are added up. A change of the setting time_zone takes effect at the next '
	'rebuild.';
comment on column rota.usage_state.rebuild_at is
	'When a rebuild of the usage figures was requested; null: none was, or it has begun (rota.usage_pending.rebuild).';
insert into rota.usage_state (time_zone) values (current_setting('TimeZone'));

create table rota.usage_hour (
	hour timestamptz not null,
	account text not null,
	user_name text not null,
	partition text not null,
	qos text not null,
	cpu_s numeric not null default 0,
	node_s numeric not null default 0,
	mem_mb_s numeric not null default 0,
	gres_s jsonb not null default '{}',
	cpu_used_s numeric not null default 0,
	cpu_measured_s numeric not null default 0,
	steps_ended bigint not null default 0,
	steps_completed bigint not null default 0,
	steps_failed bigint not null default 0,
	steps_cancelled bigint not null default 0,
	steps_waited bigint not null default 0,
	wait_s numeric not null default 0,
	energy_hours jsonb not null default '{}',
	primary key (hour, account, user_name, partition, qos)
) with (fillfactor = 80);
create index usage_hour_by_account on rota.usage_hour (nullif(account, ''), hour);
comment on table rota.usage_hour is
	'Use of resources by account, user, partition and quality of service in each hour, of steps and allocations that '
	'have ended and are not in rota.usage_pending any more.';
comment on column rota.usage_hour.hour is 'Start of the hour, a full hour in UTC.';
comment on column rota.usage_hour.account is 'Account that pays for the use; empty: none.';
comment on column rota.usage_hour.user_name is 'Login name of the owner of the steps.';
comment on column rota.usage_hour.partition is 'Partition of the steps.';
comment on column rota.usage_hour.qos is 'Quality of service of the steps.';
comment on column rota.usage_hour.cpu_s is 'CPU-seconds held by allocations.';
comment on column rota.usage_hour.node_s is
	'Node-seconds in which allocations held anything: two nodes held for one second are two.';
comment on column rota.usage_hour.mem_mb_s is 'MiB-seconds of memory held by allocations.';
comment on column rota.usage_hour.gres_s is 'Device-seconds of generic resources held by allocations, as in {"gpu": 7200}.';
comment on column rota.usage_hour.cpu_used_s is
	'CPU-seconds used by allocations that have ended, where their use is known: what they used in the period.';
comment on column rota.usage_hour.cpu_measured_s is
	'CPU-seconds held in the period by the allocations that cpu_used_s counts.';
comment on column rota.usage_hour.steps_ended is
	'Steps that ended in the period. Elements of an array count, the array does not.';
comment on column rota.usage_hour.steps_completed is 'Steps that ended in the period in state completed.';
comment on column rota.usage_hour.steps_failed is
	'Steps that ended in the period by a failure of their own, by a limit or with their node.';
comment on column rota.usage_hour.steps_cancelled is
	'All other steps that ended in the period: cancelled, preempted, skipped, or never able to start.';
comment on column rota.usage_hour.steps_waited is 'Steps that ended in the period and had started.';
comment on column rota.usage_hour.wait_s is
	'Seconds that the steps counted in steps_waited had waited, from when they were eligible to their start.';
comment on column rota.usage_hour.energy_hours is
	'Joules used in each hour of the day (UTC) by allocations that have ended and whose energy is known, as in '
	'{"13": 7200}.';

create table rota.usage_day (like rota.usage_hour including all excluding indexes) with (fillfactor = 80);
alter table rota.usage_day rename hour to day;
alter table rota.usage_day alter day type date;
alter table rota.usage_day add primary key (day, account, user_name, partition, qos);
create index usage_day_by_account on rota.usage_day (nullif(account, ''), day);
comment on table rota.usage_day is
	'Use of resources by account, user, partition and quality of service on each day, as rota.usage_hour has it for '
	'hours.';
comment on column rota.usage_day.day is 'The day, in the time zone of the site.';

create table rota.usage_month (like rota.usage_day including all excluding indexes) with (fillfactor = 80);
alter table rota.usage_month rename day to month;
alter table rota.usage_month add primary key (month, account, user_name, partition, qos);
comment on table rota.usage_month is
	'Use of resources by account, user, partition and quality of service in each month, as rota.usage_hour has it for '
	'hours.';
comment on column rota.usage_month.month is 'First day of the month, in the time zone of the site.';

create table rota.node_usage_hour (
	hour timestamptz not null,
	node_id int not null,
	cpu_s numeric not null default 0,
	node_s numeric not null default 0,
	mem_mb_s numeric not null default 0,
	gres_s jsonb not null default '{}',
	cpu_used_s numeric not null default 0,
	cpu_measured_s numeric not null default 0,
	energy_hours jsonb not null default '{}',
	primary key (hour, node_id)
) with (fillfactor = 80);
comment on table rota.node_usage_hour is
	'Use of each node in each hour, by allocations that have ended and are not in rota.usage_pending any more.';
comment on column rota.node_usage_hour.hour is 'Start of the hour, a full hour in UTC.';
comment on column rota.node_usage_hour.node_id is 'Node whose use is counted.';
comment on column rota.node_usage_hour.cpu_s is 'CPU-seconds held by allocations.';
comment on column rota.node_usage_hour.node_s is 'Seconds in which allocations held anything on the node.';
comment on column rota.node_usage_hour.mem_mb_s is 'MiB-seconds of memory held by allocations.';
comment on column rota.node_usage_hour.gres_s is
	'Device-seconds of generic resources held by allocations, as in {"gpu": 7200}.';
comment on column rota.node_usage_hour.cpu_used_s is
	'CPU-seconds used by allocations that have ended, where their use is known: what they used in the period.';
comment on column rota.node_usage_hour.cpu_measured_s is
	'CPU-seconds held in the period by the allocations that cpu_used_s counts.';
comment on column rota.node_usage_hour.energy_hours is
	'Joules used in each hour of the day (UTC) by allocations that have ended and whose energy is known, as in '
	'{"13": 7200}.';

create table rota.node_usage_day (like rota.node_usage_hour including all excluding indexes) with (fillfactor = 80);
alter table rota.node_usage_day rename hour to day;
alter table rota.node_usage_day alter day type date;
alter table rota.node_usage_day add primary key (day, node_id);
comment on table rota.node_usage_day is 'Use of each node on each day, as rota.node_usage_hour has it for hours.';
comment on column rota.node_usage_day.day is 'The day, in the time zone of the site.';

create table rota.node_usage_month (like rota.node_usage_day including all excluding indexes) with (fillfactor = 80);
alter table rota.node_usage_month rename day to month;
alter table rota.node_usage_month add primary key (month, node_id);
comment on table rota.node_usage_month is 'Use of each node in each month, as rota.node_usage_hour has it for hours.';
comment on column rota.node_usage_month.month is 'First day of the month, in the time zone of the site.';

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

create table rota.carbon_intensity (
	name text primary key check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
	from_month date not null unique constraint carbon_intensity_starts_a_month check (extract(day from from_month) = 1),
	g_per_kwh numeric[] not null check (array_ndims(g_per_kwh) = 1 and cardinality(g_per_kwh) = 24
		and array_position(g_per_kwh, null) is null and 0 <= all (g_per_kwh))
);
comment on table rota.carbon_intensity is
	'Carbon emitted for electricity by the hour of the day, from a month on. Months are those of the site''s time zone.';
comment on column rota.carbon_intensity.name is 'Name of the row.';
comment on column rota.carbon_intensity.from_month is
	'First day of the month from which the intensities hold, until there is a row with a later month.';
comment on column rota.carbon_intensity.g_per_kwh is
	'Grams of CO2 equivalent for each kWh: 24 numbers, of the hours of the day in UTC, the first one from 0:00 to 1:00.';
