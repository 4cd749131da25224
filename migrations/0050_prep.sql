-- Preparations of nodes: a step asks for one, with arguments, and an idle node is prepared by a program of the site first. Images
-- and preparations together are the setup of a node, and one change brings a node to another setup.
update rota.setting
set help = 'failures in a row after which no more nodes get an image or a preparation, and steps that ask for it are held; '
	'0: none'
where name = 'image_failures';
update rota.setting
set help = 'seconds for which a node keeps an image that is not its default, or a preparation, that no step waits for'
where name = 'image_idle_s';

alter table rota.node_image
	add column program text constraint node_image_program_has_name check (program ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$');
comment on column rota.node_image.program is 'Program in hooks.node_folder that boots nodes with it; null: hooks.reboot.';

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

-- A preparation with its arguments is one text, as a user writes it.
create domain rota.prep_asked as text constraint prep_has_name_and_arguments check (
	value ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}(:[!-,.-~][ -~]{0,199})?$');
comment on domain rota.prep_asked is
	'A preparation with its arguments, as NAME or NAME:ARGS: a line of 200 printable characters at most, '
	'which no program takes for an option.';

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

alter table rota.node
	add column prep rota.prep_asked,
	add column prep_verified boolean not null default true;
comment on column rota.node.prep is 'Preparation of the node with its arguments, as NAME:ARGS; null: it has none.';
comment on column rota.node.prep_verified is
	'Whether the node has the preparation for certain: not while it is prepared, after a failure, and after another boot.';
create index node_prepared on rota.node (node_id) where prep is not null;

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

-- Text: a column of a domain with a check would have the whole table rewritten. internal.submit_check_prep checks it.
alter table rota.step_request add column prep text;
create index step_request_prep on rota.step_request (prep) where prep is not null;
comment on column rota.step_request.prep is
	'Preparation of its nodes that the step asks for, with its arguments, as NAME:ARGS; null: none.';

alter table rota.power_run drop constraint power_run_action_is_known,
	add constraint power_run_action_is_known check (action in ('off', 'on', 'reboot', 'undo', 'prepare', 'verify'));
comment on table rota.power_run is
	'Runs of the programs that power, boot and prepare nodes, one row for each node and stage of a change.';
comment on column rota.power_run.action is 'off, on, reboot, undo, prepare or verify: which program runs, and for what.';

alter table rota.node_reboot
	add column undo rota.prep_asked,
	add column boots boolean not null default true,
	add column prep rota.prep_asked,
	add column stage_at timestamptz,
	drop constraint node_reboot_state_is_known,
	drop constraint node_reboot_is_over_or_not,
	drop constraint node_reboot_has_begun,
	add constraint node_reboot_state_is_known check (
		state in ('waiting', 'undoing', 'running', 'booting', 'preparing', 'verifying', 'done', 'failed', 'cancelled')),
	add constraint node_reboot_is_over_or_not check ((ended_at is null) = (state not in ('done', 'failed', 'cancelled'))),
	add constraint node_reboot_has_begun
		check (state in ('waiting', 'failed', 'cancelled') or (began_at is not null and run_id is not null)),
	add constraint node_reboot_changes_something check (boots or (image is null and (undo is not null or prep is not null)));
comment on table rota.node_reboot is
	'Changes of nodes, one row for each node: reboots that operators asked for, and changes of the image or the preparation.';
comment on column rota.node_reboot.undo is 'Preparation of the node that is taken back first; null: none.';
comment on column rota.node_reboot.boots is 'Whether the node is booted.';
comment on column rota.node_reboot.prep is 'Preparation that the node has afterwards, with its arguments; null: none is made.';
comment on column rota.node_reboot.stage_at is 'When the program of the present stage became due; null: none has.';
comment on column rota.node_reboot.state is
	'waiting: for the node to be idle; undoing: the program that takes a preparation back is due or runs; running: the program '
	'that boots the node; booting: that has succeeded; preparing: the program that prepares the node; verifying: the program '
	'that verifies it; done: the node is as it was to be; failed: it is not; cancelled: before a program was due.';
comment on column rota.node_reboot.issued_at is 'When the program of the present stage had succeeded; null: it has not.';

create or replace function rota.node_reboot_moved() returns trigger
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_wrong record;
begin
	select n.node, o.state as was, n.state into v_wrong
	from old_reboot o
	join new_reboot n on n.reboot_id = o.reboot_id
	where o.state <> n.state and (o.state, n.state) not in (
		('waiting', 'undoing'), ('waiting', 'running'), ('waiting', 'preparing'), ('waiting', 'failed'), ('waiting', 'cancelled'),
		('undoing', 'running'), ('undoing', 'preparing'), ('undoing', 'done'), ('undoing', 'failed'),
		('running', 'booting'), ('running', 'failed'), ('booting', 'preparing'), ('booting', 'done'), ('booting', 'failed'),
		('preparing', 'verifying'), ('preparing', 'done'), ('preparing', 'failed'), ('verifying', 'done'),
		('verifying', 'failed'))
	limit 1;
	if found then
		raise exception 'change of node "%" does not go from % to %', v_wrong.node, v_wrong.was, v_wrong.state
			using errcode = '23514', constraint = 'node_reboot_moves', table = 'node_reboot', schema = 'rota';
	end if;
	return null;
end $$;

comment on column rota.plan.reason is
	'Why the step waits: resources, priority, partition, license, node, peer, deadline, limit, array_limit, '
	'maintenance, reservation, power, image, prep.';

-- Changes of nodes that are under way while this migration runs get a begin of their present stage.
update rota.node_reboot set stage_at = began_at where ended_at is null;
