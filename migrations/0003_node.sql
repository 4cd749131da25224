-- Nodes, what they have and what of it is in use, their leases and notices, and licences.

create table rota.node (
	node_id int generated always as identity primary key,
	name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
	cpus int not null check (cpus between 1 and 65536),
	mem_mb bigint not null check (mem_mb >= 0),
	features text[] not null default '{}',
	weight int not null default 1,
	hardware_check boolean not null default true,
	state text not null default 'unknown' check (state in ('unknown', 'up', 'down', 'drain', 'invalid')),
	reason text,
	reason_by text,
	reason_at timestamptz,
	found jsonb,
	boot_id text,
	address text,
	version text
) with (fillfactor = 50);
comment on table rota.node is 'A machine (or a part of one) that runs steps, served by one process manager.';
comment on column rota.node.node_id is 'Key; never reused.';
comment on column rota.node.name is 'Name that its process manager registers with.';
comment on column rota.node.cpus is 'CPUs that may be allocated, as configured.';
comment on column rota.node.mem_mb is 'Memory that may be allocated, in MiB.';
comment on column rota.node.features is 'Features that --constraint can ask for.';
comment on column rota.node.weight is 'Nodes of lower weight are used first.';
comment on column rota.node.hardware_check is 'Whether a node that has less than configured is taken out of use (state invalid).';
comment on column rota.node.state is
	'unknown: never registered; up: serves; down: lost; drain: no new steps, by an operator or a failed prolog or epilog; '
	'invalid: less found than configured.';
comment on column rota.node.reason is 'Why it is not up.';
comment on column rota.node.reason_by is 'Who set the state: a user''s name or a daemon.';
comment on column rota.node.reason_at is 'When the state was set.';
comment on column rota.node.found is 'Hardware as its process manager found it: cpus, cores, sockets, mem_mb, arch, os.';
comment on column rota.node.boot_id is 'The kernel''s boot id at the last registration.';
comment on column rota.node.address is 'Host name of the machine.';
comment on column rota.node.version is 'Version of its process manager.';

-- What is in use on a node changes with each decision and each report. It is a table of its own, so that the row of the node,
-- which each allocation and order looks up by its foreign key, has no new version each time.
create type rota.node_used_checked as (cpus int, cpus_used int, mem_mb bigint, mem_used_mb bigint);
comment on type rota.node_used_checked is 'The columns of rota.node_used that the constraint node_used_is_valid checks.';
create domain rota.node_used_valid as rota.node_used_checked
	constraint node_cpus_not_overbooked check ((value).cpus_used between 0 and (value).cpus)
	constraint node_mem_not_overbooked check ((value).mem_used_mb between 0 and (value).mem_mb);
comment on domain rota.node_used_valid is 'No more of a node is in use than it has.';
create table rota.node_used (
	node_id int primary key references rota.node on delete cascade,
	cpus int not null,
	mem_mb bigint not null,
	cpus_used int not null default 0,
	mem_used_mb bigint not null default 0,
	constraint node_used_is_valid check (
		row(cpus, cpus_used, mem_mb, mem_used_mb)::rota.node_used_checked::rota.node_used_valid is distinct from null)
) with (fillfactor = 50);
comment on table rota.node_used is
	'What open allocations hold on each node; written under the lock of the node''s row (internal.node_lock).';
comment on column rota.node_used.node_id is 'The node.';
comment on column rota.node_used.cpus is 'CPUs it has, as in rota.node (rota.node_sized).';
comment on column rota.node_used.mem_mb is 'Memory it has, likewise, in MiB.';
comment on column rota.node_used.cpus_used is 'CPUs held by open allocations.';
comment on column rota.node_used.mem_used_mb is 'Memory held by open allocations, in MiB.';
create function rota.node_sized() returns trigger
language plpgsql set search_path = rota, pg_temp as $$
begin
	insert into node_used as u (node_id, cpus, mem_mb)
	select n.node_id, n.cpus, n.mem_mb
	from node n
	where not exists (select from node_used o where o.node_id = n.node_id and o.cpus = n.cpus and o.mem_mb = n.mem_mb)
	on conflict (node_id) do update set cpus = excluded.cpus, mem_mb = excluded.mem_mb;
	return null;
end $$;
comment on function rota.node_sized() is
	'Trigger function: copies the size of nodes to rota.node_used, where a check compares it with what is in use.';
create trigger node_sized after insert or update of cpus,
	mem_mb on rota.node for each statement execute function rota.node_sized();
-- It also fires where a dump is loaded with session_replication_role = replica.
alter table rota.node enable always trigger node_sized;

create table rota.node_lease (
	node_id int primary key references rota.node on delete cascade,
	renewed_at timestamptz not null,
	expires_at timestamptz not null,
	lease_s int not null default 30 check (lease_s > 0),
	margin_s int not null default 60 check (margin_s >= 0),
	lost_at timestamptz,
	loss_ended_at timestamptz,
	orphans int not null default 0 check (orphans >= 0),
	notify_node_id int
) with (fillfactor = 50);
comment on table rota.node_lease is
	'Until when each node counts as alive; renewed by its process manager, which counts its own lease from before it asked, '
	'so that ends first.';
comment on column rota.node_lease.node_id is 'The node.';
comment on column rota.node_lease.renewed_at is 'When it was last renewed.';
comment on column rota.node_lease.expires_at is 'When it counts as lost.';
comment on column rota.node_lease.lease_s is 'Seconds that a renewal lasts, as the node registered it.';
comment on column rota.node_lease.margin_s is
	'Seconds after the end of the lease in which the node ends the tasks of steps that end on node loss, as the node '
	'registered it.';
comment on column rota.node_lease.lost_at is
	'Since when the node counts as lost; null: alive. A lost lease is not renewed; a registration begins another one.';
comment on column rota.node_lease.loss_ended_at is
	'When the attempts that the node ends by itself were ended here; null: not yet, or the node is not lost.';
comment on column rota.node_lease.orphans is
	'Orphaned attempts: those given up here that the node still had at its latest registration. The node serves again when '
	'there are none.';
comment on column rota.node_lease.notify_node_id is
	'The node whose channel gets NOTIFY for this one: of the nodes that its process manager registered with it, the one '
	'with the lowest number. Null: itself.';

create table rota.node_event (
	node_event_id bigint generated always as identity primary key,
	node_id int not null,
	node text not null,
	at timestamptz not null default clock_timestamp(),
	from_state text not null,
	to_state text not null,
	actor text not null,
	reason text
);
create index node_event_by_node on rota.node_event (node_id, at);
comment on table rota.node_event is 'Every change of a node''s state, append-only.';
comment on column rota.node_event.node_event_id is 'Order of the changes.';
comment on column rota.node_event.node_id is 'The node (which may have been deleted since).';
comment on column rota.node_event.node is 'Its name then.';
comment on column rota.node_event.at is 'When.';
comment on column rota.node_event.from_state is 'State before.';
comment on column rota.node_event.to_state is 'State after.';
comment on column rota.node_event.actor is 'Who did it: a user''s name or a daemon.';
comment on column rota.node_event.reason is 'Why.';

create table rota.node_gres (
	node_id int not null references rota.node on delete cascade,
	gres text not null check (gres ~ '^[A-Za-z][A-Za-z0-9_.-]*$'),
	unit int not null check (unit >= 0),
	job_id bigint,
	step_id int,
	attempt int,
	primary key (node_id, gres, unit),
	constraint node_gres_holder_is_whole check (num_nulls(job_id, step_id, attempt) in (0, 3))
) with (fillfactor = 70);
comment on table rota.node_gres is
	'Devices of generic resources, one row each. A device belongs to one step or to none, so it cannot be allocated twice.';
comment on column rota.node_gres.node_id is 'The node that has it.';
comment on column rota.node_gres.gres is 'Kind, for example gpu.';
comment on column rota.node_gres.unit is 'Number of the device on its node, from 0.';
comment on column rota.node_gres.job_id is 'Job of the step that holds it; null: free.';
comment on column rota.node_gres.step_id is 'Step that holds it.';
comment on column rota.node_gres.attempt is 'Attempt that holds it; 0: reserved for a step that follows on the same node.';

create table rota.node_notice (
	node_id int not null references rota.node on delete cascade,
	kind text not null check (kind in ('drain', 'failing')),
	at timestamptz check (isfinite(at)),
	reason text not null check (reason !~ '[[:cntrl:]]' and length(reason) <= 1000),
	actor text not null,
	said_at timestamptz not null default now(),
	end_steps boolean not null default false,
	primary key (node_id, kind),
	constraint node_notice_drain_has_a_time check (kind = 'failing' or at is not null),
	constraint node_notice_only_drain_ends_steps check (kind = 'drain' or not end_steps)
);
comment on table rota.node_notice is
	'Announcements about a node: drain, it is to be drained at a deadline; failing, it is expected to fail.';
comment on column rota.node_notice.node_id is 'The node.';
comment on column rota.node_notice.kind is
	'drain: steps start only where they end before that time, then it is drained; failing: it is used last.';
comment on column rota.node_notice.at is 'When; null (failing only): at any time.';
comment on column rota.node_notice.reason is 'Why.';
comment on column rota.node_notice.actor is 'Login name of who announced it.';
comment on column rota.node_notice.said_at is 'When it was announced.';
comment on column rota.node_notice.end_steps is 'drain: whether steps that still run at that time are ended.';

create table rota.license (
	license text primary key check (license ~ '^[A-Za-z][A-Za-z0-9_.-]*$'),
	total int not null check (total >= 0),
	used int not null default 0,
	constraint license_not_overbooked check (used between 0 and total)
);
comment on table rota.license is 'Licences that steps take while they run.';
comment on column rota.license.license is 'Name.';
comment on column rota.license.total is 'How many there are.';
comment on column rota.license.used is 'How many are in use; never above total.';
