-- Power of nodes: idle nodes are powered off by a program of the site, and on again when a step needs them.
insert into rota.setting (name, value, kind, help) values
	('power_off_idle_s', '0', 'int', 'seconds for which a node must be idle before it is powered off; 0: none is'),
	('power_on_timeout_s', '600', 'int',
		'seconds within which a node must register after it was asked to power on; then it is down, and what waited goes '
		'elsewhere'),
	('power_off_timeout_s', '300', 'int',
		'seconds after which a node that still renews its lease although it was powered off counts as on again'),
	('power_run_days', '30', 'int', 'days for which runs of the programs that power nodes are kept after their end');

alter table rota.node
	add column power text not null default 'on' constraint node_power_is_known
		check (power in ('on', 'powering_off', 'off', 'powering_on')),
	add column power_at timestamptz,
	add column power_saving boolean not null default true;
create index node_powered on rota.node (node_id) where power <> 'on';
comment on column rota.node.power is
	'Power of the node. on: the scheduler uses it, if its state is up; powering_off: a program powers it off; off: it is silent, '
	'and powered on when a step needs it; powering_on: it was asked to power on, and has not registered yet.';
comment on column rota.node.power_at is 'When the power of the node last changed; null: it was always on.';
comment on column rota.node.power_saving is 'Whether the node may be powered off when it is idle.';

alter table rota.partition add column keep_idle int not null default 0
	constraint partition_keeps_some check (keep_idle >= 0);
comment on column rota.partition.keep_idle is 'Idle nodes of the partition that stay on, although others are powered off.';

comment on column rota.plan.reason is
	'Why the step waits: resources, priority, partition, license, node, peer, deadline, limit, array_limit, '
	'maintenance, reservation, power.';

-- Nodes change rarely; a trigger for each statement cannot name the column if it has both tables.
create function rota.node_power_moved() returns trigger
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_wrong record;
begin
	select n.name, o.power as was, n.power into v_wrong
	from old_node o
	join new_node n on n.node_id = o.node_id
	where o.power <> n.power
		and (o.power, n.power) not in (('on', 'powering_off'), ('powering_off', 'off'), ('powering_off', 'on'),
			('off', 'powering_on'), ('off', 'on'), ('powering_on', 'on'), ('powering_on', 'off'), ('on', 'powering_on'))
	limit 1;
	if found then
		raise exception 'power of node "%" does not go from % to %', v_wrong.name, v_wrong.was, v_wrong.power
			using errcode = '23514', constraint = 'node_power_moves', table = 'node', schema = 'rota';
	end if;
	return null;
end $$;
comment on function rota.node_power_moved() is 'Trigger function: refuses a change of the power of a node that there is not.';
create trigger node_power_moves after update on rota.node referencing old table as old_node new table as new_node
	for each statement execute function rota.node_power_moved();

-- What open allocations hold is checked against the power of the node, as against its size: the commit of a start and the
-- power-off exclude each other by the lock of the node, and whoever forgets that fails here.
alter table rota.node_used drop constraint node_used_is_valid, add column is_on boolean not null default true;
comment on column rota.node_used.is_on is
	'Whether the power of the node is on, copied from rota.node by the trigger function rota.node_sized.';
drop domain rota.node_used_valid;
drop type rota.node_used_checked;
create type rota.node_used_checked as (cpus int, cpus_used int, mem_mb bigint, mem_used_mb bigint, is_on boolean);
comment on type rota.node_used_checked is 'The columns of rota.node_used that the constraint node_used_is_valid checks.';
create domain rota.node_used_valid as rota.node_used_checked
	constraint node_cpus_not_overbooked check ((value).cpus_used between 0 and (value).cpus)
	constraint node_mem_not_overbooked check ((value).mem_used_mb between 0 and (value).mem_mb)
	constraint node_off_has_no_use check ((value).is_on or ((value).cpus_used = 0 and (value).mem_used_mb = 0));
comment on domain rota.node_used_valid is
	'Open allocations hold no more CPUs and memory of a node than the node has, and none of a node that is not on.';
alter table rota.node_used add constraint node_used_is_valid check (
	row(cpus, cpus_used, mem_mb, mem_used_mb, is_on)::rota.node_used_checked::rota.node_used_valid is distinct from null);
create or replace function rota.node_sized() returns trigger
language plpgsql set search_path = rota, pg_temp as $$
begin
	insert into node_used as u (node_id, cpus, mem_mb, is_on)
	select n.node_id, n.cpus, n.mem_mb, n.power = 'on'
	from node n
	where not exists (select from node_used o
		where o.node_id = n.node_id and o.cpus = n.cpus and o.mem_mb = n.mem_mb and o.is_on = (n.power = 'on'))
	on conflict (node_id) do update set cpus = excluded.cpus, mem_mb = excluded.mem_mb, is_on = excluded.is_on;
	return null;
end $$;
comment on function rota.node_sized() is
	'Trigger function: copies CPUs, memory and power of nodes to rota.node_used, where a check compares them with the '
	'amounts in use.';
drop trigger node_sized on rota.node;
create trigger node_sized after insert or update of cpus, mem_mb, power on rota.node
	for each statement execute function rota.node_sized();
alter table rota.node enable always trigger node_sized;

create table rota.node_idle (
	node_id int primary key,
	used_version text not null,
	since timestamptz not null default clock_timestamp()
) with (fillfactor = 50);
comment on table rota.node_idle is
	'Nodes that may be powered off and that nothing holds, while the setting power_off_idle_s is not 0; written by nodemgrd.';
comment on column rota.node_idle.node_id is 'Node that is idle; it may have been deleted since.';
comment on column rota.node_idle.used_version is
	'Version of the row of the node in rota.node_used (xmin and ctid): another one means that the node was used meanwhile, '
	'however shortly.';
comment on column rota.node_idle.since is 'Since when it is idle, as nodemgrd has seen.';

create table rota.power_run (
	run_id bigint generated always as identity primary key,
	node_id int not null,
	node text not null,
	action text not null check (action in ('off', 'on')),
	made_by text not null,
	made_at timestamptz not null default clock_timestamp(),
	tries int not null default 0,
	began_at timestamptz,
	ended_at timestamptz,
	status text check (status in ('done', 'failed', 'dropped')),
	code int,
	message text,
	output text,
	constraint power_run_is_over_or_not check ((ended_at is null) = (status is null))
);
create unique index power_run_open on rota.power_run (node_id) where ended_at is null;
create index power_run_by_node on rota.power_run (node_id, run_id);
create index power_run_by_end on rota.power_run (ended_at) where ended_at is not null;
comment on table rota.power_run is
	'Runs of the programs hooks.power_off and hooks.power_on, one row for each node and change of its power.';
comment on column rota.power_run.run_id is 'Number of the run.';
comment on column rota.power_run.node_id is 'Node that the program powers; it may have been deleted since.';
comment on column rota.power_run.node is 'Name of the node, the argument of the program.';
comment on column rota.power_run.action is 'off or on: which program runs.';
comment on column rota.power_run.made_by is
	'Who asked for it: a user''s name, nodemgrd (an idle node) or schedule (a step needs it).';
comment on column rota.power_run.made_at is 'When it was asked for.';
comment on column rota.power_run.tries is 'How often a runnerd has taken it: again after a runnerd died.';
comment on column rota.power_run.began_at is 'When a runnerd took it last; null: none has.';
comment on column rota.power_run.ended_at is 'When it was over; null: it is not.';
comment on column rota.power_run.status is
	'done: the program succeeded; failed: it did not; dropped: it was not needed any more before it began; null: it is not over.';
comment on column rota.power_run.code is 'Exit code of the program; null: it has none.';
comment on column rota.power_run.message is 'Why it failed or was dropped; null: it was not.';
comment on column rota.power_run.output is 'Last part of what the program printed.';
