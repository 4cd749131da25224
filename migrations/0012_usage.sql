-- What was used, by hour, day and month. Each transaction that ends something notes it in rota.usage_pending; api.usage_roll adds
-- it up later, exactly once.

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
	'Either ended steps, or allocations whose time or use is to be added up; each with all of its key.';
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
	'What has ended and is not in the usage figures yet: a row for each transaction that ended something, and, during a '
	'rebuild, rows for what had ended before. A row goes in the transaction that adds it up.';
comment on column rota.usage_pending.pending_id is
	'The order in which rows are added up: what has just ended from 1 on; after that the rows of a rebuild, from -1 down.';
comment on column rota.usage_pending.job_ids is 'Job of each.';
comment on column rota.usage_pending.step_ids is 'Step of each.';
comment on column rota.usage_pending.attempts is
	'Of allocations, the attempt of each. Null: the row names steps that have reached their end.';
comment on column rota.usage_pending.node_ids is 'The node of each, likewise.';
comment on column rota.usage_pending.held is 'Allocations that have ended: what was held.';
comment on column rota.usage_pending.used is
	'Allocations whose use has become known, because nothing of them is left on the node.';
comment on column rota.usage_pending.rebuild is
	'Whether it had been added up before, and is again. Views leave it out until then.';

create table rota.usage_state (
	one boolean primary key default true check (one),
	time_zone text not null,
	rebuild_at timestamptz
);
comment on table rota.usage_state is 'How the usage figures are made: one row.';
comment on column rota.usage_state.one is 'There is one row.';
comment on column rota.usage_state.time_zone is
	'Time zone by which days and months are added up; another setting counts from the next rebuild on.';
comment on column rota.usage_state.rebuild_at is
	'When a rebuild was asked for; null: none, or it has begun (rota.usage_pending.rebuild).';
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
	primary key (hour, account, user_name, partition, qos)
) with (fillfactor = 80);
create index usage_hour_by_account on rota.usage_hour (nullif(account, ''), hour);
comment on table rota.usage_hour is
	'What accounts, users, partitions and qualities of service used, hour by hour; of what has ended and is not in '
	'rota.usage_pending any more.';
comment on column rota.usage_hour.hour is 'Start of the hour, a full one in UTC.';
comment on column rota.usage_hour.account is 'Account that pays; empty: none.';
comment on column rota.usage_hour.user_name is 'Owner''s login name.';
comment on column rota.usage_hour.partition is 'Partition.';
comment on column rota.usage_hour.qos is 'Quality of service.';
comment on column rota.usage_hour.cpu_s is 'CPU-seconds held.';
comment on column rota.usage_hour.node_s is
	'Seconds in which something was held on a node: two nodes held for one second are two.';
comment on column rota.usage_hour.mem_mb_s is 'MiB-seconds of memory held.';
comment on column rota.usage_hour.gres_s is 'Unit-seconds of generic resources held: {"gpu": 7200}.';
comment on column rota.usage_hour.cpu_used_s is
	'CPU-seconds that processes used, of allocations that ended in the period and were measured.';
comment on column rota.usage_hour.cpu_measured_s is
	'CPU-seconds held by these same allocations, from their first moment to their last.';
comment on column rota.usage_hour.steps_ended is 'Steps that ended in the period; elements count, their array does not.';
comment on column rota.usage_hour.steps_completed is 'Those of them that completed.';
comment on column rota.usage_hour.steps_failed is 'Those that failed, by themselves, by a limit or with their node.';
comment on column rota.usage_hour.steps_cancelled is 'The rest: cancelled, preempted, skipped, or never able to start.';
comment on column rota.usage_hour.steps_waited is 'Those that had started.';
comment on column rota.usage_hour.wait_s is 'Seconds that these had waited, from when they were eligible to their start.';

create table rota.usage_day (like rota.usage_hour including all excluding indexes) with (fillfactor = 80);
alter table rota.usage_day rename hour to day;
alter table rota.usage_day alter day type date;
alter table rota.usage_day add primary key (day, account, user_name, partition, qos);
create index usage_day_by_account on rota.usage_day (nullif(account, ''), day);
comment on table rota.usage_day is 'The same day by day.';
comment on column rota.usage_day.day is 'The day, in the site''s time zone.';
create table rota.usage_month (like rota.usage_day including all excluding indexes) with (fillfactor = 80);
alter table rota.usage_month rename day to month;
alter table rota.usage_month add primary key (month, account, user_name, partition, qos);
comment on table rota.usage_month is 'The same month by month.';
comment on column rota.usage_month.month is 'First day of the month, in the site''s time zone.';

create table rota.node_usage_hour (
	hour timestamptz not null,
	node_id int not null,
	cpu_s numeric not null default 0,
	node_s numeric not null default 0,
	mem_mb_s numeric not null default 0,
	gres_s jsonb not null default '{}',
	cpu_used_s numeric not null default 0,
	cpu_measured_s numeric not null default 0,
	primary key (hour, node_id)
) with (fillfactor = 80);
comment on table rota.node_usage_hour is
	'What was used of each node, hour by hour; of what has ended and is not in rota.usage_pending any more.';
comment on column rota.node_usage_hour.hour is 'Start of the hour, a full one in UTC.';
comment on column rota.node_usage_hour.node_id is 'The node.';
comment on column rota.node_usage_hour.cpu_s is 'CPU-seconds held.';
comment on column rota.node_usage_hour.node_s is
	'Seconds in which something was held on a node: two nodes held for one second are two.';
comment on column rota.node_usage_hour.mem_mb_s is 'MiB-seconds of memory held.';
comment on column rota.node_usage_hour.gres_s is 'Unit-seconds of generic resources held: {"gpu": 7200}.';
comment on column rota.node_usage_hour.cpu_used_s is
	'CPU-seconds that processes used, of allocations that ended in the period and were measured.';
comment on column rota.node_usage_hour.cpu_measured_s is
	'CPU-seconds held by these same allocations, from their first moment to their last.';

create table rota.node_usage_day (like rota.node_usage_hour including all excluding indexes) with (fillfactor = 80);
alter table rota.node_usage_day rename hour to day;
alter table rota.node_usage_day alter day type date;
alter table rota.node_usage_day add primary key (day, node_id);
comment on table rota.node_usage_day is 'The same day by day.';
comment on column rota.node_usage_day.day is 'The day, in the site''s time zone.';
create table rota.node_usage_month (like rota.node_usage_day including all excluding indexes) with (fillfactor = 80);
alter table rota.node_usage_month rename day to month;
alter table rota.node_usage_month add primary key (month, node_id);
comment on table rota.node_usage_month is 'The same month by month.';
comment on column rota.node_usage_month.month is 'First day of the month, in the site''s time zone.';
