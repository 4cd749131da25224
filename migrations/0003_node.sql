-- Nodes: images and preparations that they can have, their hardware, the part of it that is in use, their leases and
-- announcements. Licences.

create table rota.node_image (
	image text primary key constraint node_image_has_name check (image ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
	users text[] not null default '{}',
	accounts text[] not null default '{}',
	expected_s int not null default 600 constraint node_image_takes_time check (expected_s > 0),
	failures int not null default 0 constraint node_image_counts check (failures >= 0),
	program text constraint node_image_program_has_name check (program ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$')
);
comment on table rota.node_image is 'Images that nodes can be booted with.';
comment on column rota.node_image.image is 'Name of the image, an argument of the program hooks.reboot.';
comment on column rota.node_image.users is 'Users who may ask for it; they and accounts empty: everybody.';
comment on column rota.node_image.accounts is 'Accounts whose jobs may ask for it.';
comment on column rota.node_image.expected_s is 'Seconds that a node is expected to take until it serves with the image.';
comment on column rota.node_image.failures is 'Failures in a row to boot nodes with it.';
comment on column rota.node_image.program is 'Program in hooks.node_folder that boots nodes with it; null: hooks.reboot.';

-- A preparation with its arguments is one text, as a user writes it.
create domain rota.prep_asked as text constraint prep_has_name_and_arguments check (
	value ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}(:[!-,.-~][ -~]{0,199})?$');
comment on domain rota.prep_asked is
	'A preparation with its arguments, as NAME or NAME:ARGS: a line of 200 printable characters at most, '
	'which no program takes for an option.';

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
	version text,
	login text check (login ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,52}$'),
	login_next text check (login_next ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,52}$'),
	power text not null default 'on' constraint node_power_is_known check (power in ('on', 'powering_off', 'off', 'powering_on')),
	power_at timestamptz,
	power_saving boolean not null default true,
	image text constraint node_image_has_name check (image ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
	default_image text constraint node_default_image_exists references rota.node_image (image),
	prep rota.prep_asked,
	prep_verified boolean not null default true,
	idle_watts int constraint node_idle_watts_are_known check (idle_watts > 0)
) with (fillfactor = 50);
create index node_by_login on rota.node (login);
create index node_moving on rota.node (login_next) where login_next is not null;
create index node_powered on rota.node (node_id) where power <> 'on';
create index node_other_image on rota.node (node_id) where image <> default_image;
create index node_prepared on rota.node (node_id) where prep is not null;
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
comment on column rota.node.login is
	'Login of the process manager that speaks for the node: database role rota_node_LOGIN. Null: role rota_node, which process '
	'managers without logins of their own have in common.';
comment on column rota.node.login_next is
	'Login to which the node moves when it first registers, or renews its lease, with it; until then, both speak for the '
	'node. Null: it does not move.';
comment on column rota.node.power is
	'Power of the node. on: the scheduler uses it, if its state is up; powering_off: a program powers it off; off: it is silent, '
	'and powered on when a step needs it; powering_on: it was asked to power on, and has not registered yet.';
comment on column rota.node.power_at is 'When the power of the node last changed; null: it was always on.';
comment on column rota.node.power_saving is 'Whether the node may be powered off when it is idle.';
comment on column rota.node.image is 'Image that the node reported at the latest registration; null: it names none.';
comment on column rota.node.default_image is
	'Image that the node has when no step asks for another one; null: it is never booted with another image.';
comment on column rota.node.prep is 'Preparation of the node with its arguments, as NAME:ARGS; null: it has none.';
comment on column rota.node.prep_verified is
	'Whether the node has the preparation for certain: not while it is prepared, after a failure, and after another boot.';
comment on column rota.node.idle_watts is 'Power in watts that the node takes when it is on and idle; null: not known.';

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

-- The amounts in use on a node change with each scheduling decision and each report. They are in a table of their own, so that
-- the row in rota.node does not get a new version each time. Foreign keys of allocations and orders look that row up.
--
-- They are checked against the power of the node, as against its size: the commit of a start and the power-off exclude each other
-- by the lock of the node, and whoever forgets that fails here.
create type rota.node_used_checked as (cpus int, cpus_used int, mem_mb bigint, mem_used_mb bigint, is_on boolean);
comment on type rota.node_used_checked is 'The columns of rota.node_used that the constraint node_used_is_valid checks.';
create domain rota.node_used_valid as rota.node_used_checked
	constraint node_cpus_not_overbooked check ((value).cpus_used between 0 and (value).cpus)
	constraint node_mem_not_overbooked check ((value).mem_used_mb between 0 and (value).mem_mb)
	constraint node_off_has_no_use check ((value).is_on or ((value).cpus_used = 0 and (value).mem_used_mb = 0));
comment on domain rota.node_used_valid is
	'Open allocations hold no more CPUs and memory of a node than the node has, and none of a node that is not on.';
create table rota.node_used (
	node_id int primary key references rota.node on delete cascade,
	cpus int not null,
	mem_mb bigint not null,
	cpus_used int not null default 0,
	mem_used_mb bigint not null default 0,
	is_on boolean not null default true,
	constraint node_used_is_valid check (
		row(cpus, cpus_used, mem_mb, mem_used_mb, is_on)::rota.node_used_checked::rota.node_used_valid is distinct from null)
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
comment on column rota.node_used.is_on is
	'Whether the power of the node is on, copied from rota.node by the trigger function rota.node_sized.';
create function rota.node_sized() returns trigger
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
create trigger node_sized after insert or update of cpus, mem_mb, power on rota.node
	for each statement execute function rota.node_sized();
-- Let the trigger node_sized also fire when a dump is loaded with session_replication_role = replica.
alter table rota.node enable always trigger node_sized;

create table rota.node_prep (
	prep text primary key constraint node_prep_has_name check (prep ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
	users text[] not null default '{}',
	accounts text[] not null default '{}',
	program text not null constraint node_prep_program_has_name check (program ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
	verify text constraint node_prep_verify_has_name check (verify ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
	feature text constraint node_prep_feature_has_name check (feature ~ '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$'),
	expected_s int not null default 60 constraint node_prep_takes_time check (expected_s > 0),
	timeout_s int not null default 600 constraint node_prep_ends check (timeout_s > 0),
	failures int not null default 0 constraint node_prep_counts check (failures >= 0)
);
comment on table rota.node_prep is 'Preparations of nodes that steps can ask for.';
comment on column rota.node_prep.prep is 'Name of the preparation.';
comment on column rota.node_prep.users is 'Users who may ask for it; they and accounts empty: everybody.';
comment on column rota.node_prep.accounts is 'Accounts whose jobs may ask for it.';
comment on column rota.node_prep.program is
	'Program in hooks.node_folder that prepares a node (prepare NODE PREP ARGS), and takes that back (undo NODE PREP).';
comment on column rota.node_prep.verify is
	'Program in hooks.node_folder that verifies a prepared node (verify NODE PREP ARGS); '
	'null: the success of the other one is enough.';
comment on column rota.node_prep.feature is 'Feature of the nodes that can be prepared; null: all nodes can.';
comment on column rota.node_prep.expected_s is
	'Seconds that a node is expected to take until it is prepared, and until that is taken back.';
comment on column rota.node_prep.timeout_s is 'Seconds after which one of its programs is killed and counts as failed.';
comment on column rota.node_prep.failures is
	'Failures in a row to prepare nodes, with arguments that had worked before, or without any.';
-- A node names its preparation together with arguments, so no foreign key keeps the row.
create function rota.node_prep_kept() returns trigger
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_node text;
begin
	select n.name into v_node from old_prep o join node n on split_part(n.prep, ':', 1) = o.prep limit 1;
	if found then
		raise exception 'node "%" has a preparation that is deleted', v_node using errcode = '23503',
			constraint = 'node_prep_exists', table = 'node', schema = 'rota';
	end if;
	return null;
end $$;
comment on function rota.node_prep_kept() is 'Trigger function: keeps a preparation that a node has.';
create trigger node_prep_kept after delete on rota.node_prep referencing old table as old_prep
	for each statement execute function rota.node_prep_kept();

create table rota.node_prep_args (
	prep text not null constraint node_prep_args_prep_exists references rota.node_prep (prep) on delete cascade,
	args text not null,
	worked_at timestamptz,
	failed_at timestamptz,
	message text,
	primary key (prep, args),
	constraint node_prep_args_worked_or_failed
		check ((worked_at is null) = (failed_at is not null) and (failed_at is null) = (message is null))
);
create index node_prep_args_failed on rota.node_prep_args (prep, args) where failed_at is not null;
comment on table rota.node_prep_args is
	'Arguments of preparations that have worked, or that have failed before they ever worked, '
	'until the steps that ask for them have failed.';
comment on column rota.node_prep_args.prep is 'Name of the preparation.';
comment on column rota.node_prep_args.args is 'Arguments that users gave.';
comment on column rota.node_prep_args.worked_at is 'When a node was last prepared with them; null: none ever was.';
comment on column rota.node_prep_args.failed_at is 'When a node could not be prepared with them; null: they have worked.';
comment on column rota.node_prep_args.message is 'Why it could not; null: they have worked.';

create table rota.node_lease (
	node_id int primary key references rota.node on delete cascade,
	renewed_at timestamptz not null,
	expires_at timestamptz not null,
	lease_s int not null default 30 check (lease_s > 0),
	margin_s int not null default 60 check (margin_s >= 0),
	lost_at timestamptz,
	loss_ended_at timestamptz,
	orphans int not null default 0 check (orphans >= 0),
	notify_node_id int,
	inventory_wanted boolean not null default false
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
comment on column rota.node_lease.inventory_wanted is
	'Whether the lease is not renewed before the node has registered again, and so has said which attempts it has.';

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
create index node_event_failure on rota.node_event (at) where from_state = 'up' and to_state = 'down';
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
