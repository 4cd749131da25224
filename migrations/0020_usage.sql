-- What was used, added up by hour, day and month. What ended is noted by whoever ends it, in the same transaction, and added up a little
-- later, exactly once: by whom, for how long, on what.

insert into rota.setting (name, value, kind, help) values
	('time_zone', current_setting('TimeZone'), 'text', 'time zone of the site: its days and months are those of the usage figures; "rota admin usage rebuild" adds up anew by it');

create table rota.usage_due (
	due_id bigint generated always as identity primary key,
	job_ids bigint[] not null,
	step_ids int[] not null,
	attempts int[],
	node_ids int[],
	held boolean not null default false,
	used boolean not null default false,
	rebuild boolean not null default false,
	check (cardinality(step_ids) = cardinality(job_ids)),
	check (num_nulls(attempts, node_ids) in (0, 2)),
	check ((held or used) = (node_ids is not null)),
	check (cardinality(attempts) = cardinality(job_ids) and cardinality(node_ids) = cardinality(job_ids))
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_threshold = -1);
comment on table rota.usage_due is 'What has ended and is not in the usage figures yet: a row for each transaction that ended something. It goes in the transaction that adds it up.';
comment on column rota.usage_due.due_id is 'Order of making.';
comment on column rota.usage_due.job_ids is 'Job of each.';
comment on column rota.usage_due.step_ids is 'Step of each.';
comment on column rota.usage_due.attempts is 'Of allocations, the attempt of each. Null: the row names steps that have reached their end.';
comment on column rota.usage_due.node_ids is 'The node of each, likewise.';
comment on column rota.usage_due.held is 'Allocations that have ended: what was held.';
comment on column rota.usage_due.used is 'Allocations whose use has become known, when nothing was left of them on the node: what was used.';
comment on column rota.usage_due.rebuild is 'Whether it had been added up before, and is again. Views leave it out until then.';

create table rota.usage_state (
	one boolean primary key default true check (one),
	time_zone text not null,
	rebuild_at timestamptz
);
comment on table rota.usage_state is 'How the usage figures are made: one row.';
comment on column rota.usage_state.one is 'There is one row.';
comment on column rota.usage_state.time_zone is 'Time zone by which days and months are added up; another setting counts from the next rebuild on.';
comment on column rota.usage_state.rebuild_at is 'When it was asked for that all be added up anew; null: that has begun, see rota.usage_due.rebuild.';
-- What had ended before this was kept is added up as in a rebuild.
insert into rota.usage_state (time_zone, rebuild_at)
select current_setting('TimeZone'), case when exists (select from rota.job) then now() end;

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
comment on table rota.usage_hour is 'What accounts, users, partitions and qualities of service used, hour by hour; of what has ended and is not in rota.usage_due any more.';
comment on column rota.usage_hour.hour is 'Start of the hour, a full one in UTC.';
comment on column rota.usage_hour.account is 'Account that pays; empty: none.';
comment on column rota.usage_hour.user_name is 'Owner''s login name.';
comment on column rota.usage_hour.partition is 'Partition.';
comment on column rota.usage_hour.qos is 'Quality of service.';
comment on column rota.usage_hour.cpu_s is 'CPU-seconds held.';
comment on column rota.usage_hour.node_s is 'Seconds in which something was held on a node: two nodes held for one second are two.';
comment on column rota.usage_hour.mem_mb_s is 'MiB-seconds of memory held.';
comment on column rota.usage_hour.gres_s is 'Unit-seconds of generic resources held: {"gpu": 7200}.';
comment on column rota.usage_hour.cpu_used_s is 'CPU-seconds that processes used, of allocations that ended in the period and were measured.';
comment on column rota.usage_hour.cpu_measured_s is 'CPU-seconds held by these same allocations, from their first moment to their last.';
comment on column rota.usage_hour.steps_ended is 'Steps that ended in the period; elements count, their array does not.';
comment on column rota.usage_hour.steps_completed is 'Those of them that completed.';
comment on column rota.usage_hour.steps_failed is 'Those that failed, by themselves, by a limit or with their node.';
comment on column rota.usage_hour.steps_cancelled is 'The rest: cancelled, preempted, or never able to start.';
comment on column rota.usage_hour.steps_waited is 'Those that had started.';
comment on column rota.usage_hour.wait_s is 'Seconds that these had waited, from when they were eligible to their start.';

create table rota.usage_day (like rota.usage_hour including all) with (fillfactor = 80);
alter table rota.usage_day rename hour to day;
alter table rota.usage_day alter day type date;
comment on table rota.usage_day is 'The same day by day.';
comment on column rota.usage_day.day is 'The day, in the site''s time zone.';
create table rota.usage_month (like rota.usage_day including all) with (fillfactor = 80);
alter table rota.usage_month rename day to month;
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
comment on table rota.node_usage_hour is 'What was used of each node, hour by hour; of what has ended and is not in rota.usage_due any more.';
comment on column rota.node_usage_hour.hour is 'Start of the hour, a full one in UTC.';
comment on column rota.node_usage_hour.node_id is 'The node.';
comment on column rota.node_usage_hour.cpu_s is 'CPU-seconds held.';
comment on column rota.node_usage_hour.node_s is 'Seconds in which something was held on a node: two nodes held for one second are two.';
comment on column rota.node_usage_hour.mem_mb_s is 'MiB-seconds of memory held.';
comment on column rota.node_usage_hour.gres_s is 'Unit-seconds of generic resources held: {"gpu": 7200}.';
comment on column rota.node_usage_hour.cpu_used_s is 'CPU-seconds that processes used, of allocations that ended in the period and were measured.';
comment on column rota.node_usage_hour.cpu_measured_s is 'CPU-seconds held by these same allocations, from their first moment to their last.';

create table rota.node_usage_day (like rota.node_usage_hour including all) with (fillfactor = 80);
alter table rota.node_usage_day rename hour to day;
alter table rota.node_usage_day alter day type date;
comment on table rota.node_usage_day is 'The same day by day.';
comment on column rota.node_usage_day.day is 'The day, in the site''s time zone.';
create table rota.node_usage_month (like rota.node_usage_day including all) with (fillfactor = 80);
alter table rota.node_usage_month rename day to month;
comment on table rota.node_usage_month is 'The same month by month.';
comment on column rota.node_usage_month.month is 'First day of the month, in the site''s time zone.';

-- Of arrays that had ended before rota.step.is_array was kept.
update rota.step s set is_array = true from rota.step_array a where not s.is_array and a.job_id = s.job_id and a.step_id = s.step_id;

-- A step that moves to another partition between two attempts takes its history along; what it held before was held there.
alter table rota.allocation add column partition text;
comment on column rota.allocation.partition is 'Partition in which it was held, where its step has been moved to another one since; null: that of its step.';

-- Who reads their own accounting in SQL.
alter table rota.person add column reader boolean not null default false;
comment on column rota.person.reader is 'Whether a database login of this name reads schema acct: own rows, and those of accounts that it coordinates.';

-- Who looks after an account besides its administrators.
create table rota.coordinator (
	account text not null references rota.account on delete cascade,
	user_name text not null,
	primary key (account, user_name)
);
comment on table rota.coordinator is 'Who sees the accounting of an account, and of all accounts below it.';
comment on column rota.coordinator.account is 'The account.';
comment on column rota.coordinator.user_name is 'Login name of who sees it.';
