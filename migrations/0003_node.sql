-- Nodes: their hardware, the part of it that is in use, their leases and announcements. Licences.

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
comment on column rota.node.node_id is 'Key of the node; never reused.';
comment on column rota.node.name is 'Name with which the process manager of the node registers.';
comment on column rota.node.cpus is 'CPUs of the node that may be allocated, as configured.';
comment on column rota.node.mem_mb is 'Memory of the node that may be allocated, in MiB, as configured.';
comment on column rota.node.features is 'Features of the node that --constraint can ask for.';
comment on column rota.node.weight is 'Weight of the node; the scheduler uses nodes of lower weight first.';
comment on column rota.node.hardware_check is
	'Whether the node is taken out of use (state invalid) if it has less hardware than configured.';
comment on column rota.node.state is
	'State of the node. unknown: never registered; up: runs steps; down: lost; drain: gets no new steps, because of '
	'an operator or a failed prolog or epilog; invalid: has less hardware than configured.';
comment on column rota.node.reason is 'Why the node is not up.';
comment on column rota.node.reason_by is 'Who set the state of the node: a user''s name or a daemon.';
comment on column rota.node.reason_at is 'When the state of the node was set.';
comment on column rota.node.found is
	'Hardware of the node as its process manager found it: cpus, cores, sockets, mem_mb, arch, os.';
comment on column rota.node.boot_id is 'Boot id of the node''s kernel at the latest registration.';
comment on column rota.node.address is 'Host name of the machine that the node is on.';
comment on column rota.node.version is 'Version of the node''s process manager.';

-- The amounts in use on a node change with each scheduling decision and each report. They are in a table of their own, so that
-- the row in rota.node does not get a new version each time. Foreign keys of allocations and orders look that row up.
create type rota.node_used_checked as (cpus int, cpus_used int, mem_mb bigint, mem_used_mb bigint);
comment on type rota.node_used_checked is 'The columns of rota.node_used that the constraint node_used_is_valid checks.';
create domain rota.node_used_valid as rota.node_used_checked
	constraint node_cpus_not_overbooked check ((value).cpus_used between 0 and (value).cpus)
	constraint node_mem_not_overbooked check ((value).mem_used_mb between 0 and (value).mem_mb);
comment on domain rota.node_used_valid is 'Open allocations hold no more CPUs and memory of a node than the node has.';
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
comment on column rota.node_used.node_id is 'Node whose use this row counts.';
comment on column rota.node_used.cpus is
	'CPUs that the node has, copied from rota.node by the trigger function rota.node_sized.';
comment on column rota.node_used.mem_mb is
	'Memory that the node has, in MiB, copied from rota.node by the trigger function rota.node_sized.';
comment on column rota.node_used.cpus_used is 'CPUs of the node that open allocations hold.';
comment on column rota.node_used.mem_used_mb is 'Memory of the node that open allocations hold, in MiB.';
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
	'Trigger function: copies CPUs and memory of nodes to rota.node_used, where a check compares them with the '
	'amounts in use.';
create trigger node_sized after insert or update of cpus,
	mem_mb on rota.node for each statement execute function rota.node_sized();
-- Let the trigger node_sized also fire when a dump is loaded with session_replication_role = replica.
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
	'The lease of each node: the time until which the node counts as alive. The node''s process manager renews the '
	'lease. It counts its own copy of the lease from before its request, so that copy ends first.';
comment on column rota.node_lease.node_id is 'Node that has the lease.';
comment on column rota.node_lease.renewed_at is 'When the lease was last renewed.';
comment on column rota.node_lease.expires_at is 'When the lease ends and the node counts as lost.';
comment on column rota.node_lease.lease_s is 'Seconds for which a renewal of the lease lasts, as the node registered them.';
comment on column rota.node_lease.margin_s is
	'Seconds after the end of the lease within which the node kills the tasks of steps that end on node loss, as the '
	'node registered them.';
comment on column rota.node_lease.lost_at is
	'Since when the node counts as lost; null: it is alive. A lost lease is not renewed; a registration of the node '
	'begins a new lease.';
comment on column rota.node_lease.loss_ended_at is
	'When the database ended the attempts that a lost node ends by itself; null: not yet, or the node is not lost.';
comment on column rota.node_lease.orphans is
	'Number of orphaned attempts: attempts that the database had ended and the node still had at its latest '
	'registration. The node gets steps again when there are none.';
comment on column rota.node_lease.notify_node_id is
	'The node whose channel gets NOTIFY for this node: of all nodes that the same process manager registered, the one '
	'with the lowest number. Null: this node itself.';

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
comment on column rota.node_event.node_event_id is 'Key; later changes have higher ids.';
comment on column rota.node_event.node_id is 'Node whose state changed; it may have been deleted since.';
comment on column rota.node_event.node is 'Name of the node when its state changed.';
comment on column rota.node_event.at is 'When the state of the node changed.';
comment on column rota.node_event.from_state is 'State of the node before the change.';
comment on column rota.node_event.to_state is 'State of the node after the change.';
comment on column rota.node_event.actor is 'Who changed the state of the node: a user''s name or a daemon.';
comment on column rota.node_event.reason is 'Why the state of the node changed.';

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
comment on column rota.node_gres.node_id is 'Node that has the device.';
comment on column rota.node_gres.gres is 'Kind of the device, for example gpu.';
comment on column rota.node_gres.unit is 'Number of the device on its node, from 0.';
comment on column rota.node_gres.job_id is 'Job of the step that holds the device; null: the device is free.';
comment on column rota.node_gres.step_id is 'Step that holds the device; null: the device is free.';
comment on column rota.node_gres.attempt is
	'Attempt that holds the device; 0: it is reserved for a step that follows on the same node; null: the device is '
	'free.';

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
	'Announcements about nodes. drain: the node will be drained at a given time; failing: the node is expected to '
	'fail.';
comment on column rota.node_notice.node_id is 'Node that the announcement is about.';
comment on column rota.node_notice.kind is
	'drain: only steps that end before the announced time start on the node, and then the node is drained; failing: '
	'the scheduler uses the node last.';
comment on column rota.node_notice.at is
	'When the node will be drained or is expected to fail; null (failing only): at any time.';
comment on column rota.node_notice.reason is 'Why the node will be drained or is expected to fail.';
comment on column rota.node_notice.actor is 'Login name of the user who made the announcement.';
comment on column rota.node_notice.said_at is 'When the announcement was made.';
comment on column rota.node_notice.end_steps is
	'Of kind drain: whether steps that still run on the node at the announced time are ended.';

create table rota.license (
	license text primary key check (license ~ '^[A-Za-z][A-Za-z0-9_.-]*$'),
	total int not null check (total >= 0),
	used int not null default 0,
	constraint license_not_overbooked check (used between 0 and total)
);
comment on table rota.license is 'Licences that steps take while they run.';
comment on column rota.license.license is 'Name of the licence.';
comment on column rota.license.total is 'Number of licences of this name.';
comment on column rota.license.used is 'Number of licences of this name in use; never above total.';
