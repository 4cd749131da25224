-- Reboots of nodes: a node is taken out of use, a program of the site boots it, and it serves again when it has
-- registered with a new boot id.
insert into rota.setting (name, value, kind, help) values
	('reboot_timeout_s', '1800', 'int',
		'seconds within which a node must register with another boot after its reboot began; then the reboot has failed'),
	('reboot_days', '365', 'int', 'days for which reboots of nodes are kept after their end');

alter table rota.power_run drop constraint power_run_action_check,
	add constraint power_run_action_is_known check (action in ('off', 'on', 'reboot'));
comment on table rota.power_run is
	'Runs of the programs hooks.power_off, hooks.power_on and hooks.reboot, '
	'one row for each node and change of its power or boot.';
comment on column rota.power_run.action is 'off, on or reboot: which program runs.';
comment on column rota.power_run.made_by is
	'Who asked for it: a user''s name, nodemgrd (an idle node) or schedule (a step needs it).';

create table rota.node_reboot (
	reboot_id bigint generated always as identity primary key,
	node_id int not null,
	node text not null,
	reason text not null,
	made_by text not null,
	made_at timestamptz not null default clock_timestamp(),
	asap boolean not null,
	next_state text constraint node_reboot_next_is_known check (next_state in ('resume', 'down')),
	state text not null default 'waiting'
		constraint node_reboot_state_is_known check (state in ('waiting', 'running', 'booting', 'done', 'failed', 'cancelled')),
	drained boolean not null default false,
	drained_for text,
	boot_id text,
	run_id bigint,
	began_at timestamptz,
	issued_at timestamptz,
	ended_at timestamptz,
	message text,
	constraint node_reboot_is_over_or_not check ((ended_at is null) = (state in ('waiting', 'running', 'booting'))),
	constraint node_reboot_has_begun
		check (state not in ('running', 'booting', 'done') or (began_at is not null and run_id is not null))
);
create unique index node_reboot_open on rota.node_reboot (node_id) where ended_at is null;
create index node_reboot_by_node on rota.node_reboot (node_id, reboot_id);
create index node_reboot_by_end on rota.node_reboot (ended_at) where ended_at is not null;
comment on table rota.node_reboot is 'Reboots of nodes that operators asked for, one row for each node.';
comment on column rota.node_reboot.reboot_id is 'Number of the reboot.';
comment on column rota.node_reboot.node_id is 'Node that is rebooted; it may have been deleted since.';
comment on column rota.node_reboot.node is 'Name of the node.';
comment on column rota.node_reboot.reason is 'Why it is rebooted.';
comment on column rota.node_reboot.made_by is 'Who asked for it: a user''s name.';
comment on column rota.node_reboot.made_at is 'When it was asked for.';
comment on column rota.node_reboot.asap is
	'Whether nothing new starts on the node before it is rebooted; else it is rebooted when it happens to be idle.';
comment on column rota.node_reboot.next_state is
	'resume: the node serves afterwards, even if it was drained before; down: it stays drained; null: it is as it was before.';
comment on column rota.node_reboot.state is
	'waiting: for the node to be idle; running: the program is due or runs; booting: the program has succeeded; done: the node '
	'has registered with another boot; failed: it has not, or the program failed; cancelled: before the program was due.';
comment on column rota.node_reboot.drained is 'Whether the reboot has drained the node, which was not drained before.';
comment on column rota.node_reboot.drained_for is 'Why the node was drained when the reboot was asked for; null: it was not.';
comment on column rota.node_reboot.boot_id is
	'Boot id of the node when the program became due; null: it had never registered, or the program is not due yet.';
comment on column rota.node_reboot.run_id is 'Run of the program (rota.power_run); null: it is not due yet.';
comment on column rota.node_reboot.began_at is 'When the node was idle and the program became due; null: it is not due yet.';
comment on column rota.node_reboot.issued_at is 'When the program had succeeded; null: it has not.';
comment on column rota.node_reboot.ended_at is 'When it was over; null: it is not.';
comment on column rota.node_reboot.message is 'Why it failed or was cancelled; null: it was not.';

create function rota.node_reboot_moved() returns trigger
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_wrong record;
begin
	select n.node, o.state as was, n.state into v_wrong
	from old_reboot o
	join new_reboot n on n.reboot_id = o.reboot_id
	where o.state <> n.state
		and (o.state, n.state) not in (('waiting', 'running'), ('waiting', 'failed'), ('waiting', 'cancelled'),
			('running', 'booting'), ('running', 'failed'), ('booting', 'done'), ('booting', 'failed'))
	limit 1;
	if found then
		raise exception 'reboot of node "%" does not go from % to %', v_wrong.node, v_wrong.was, v_wrong.state
			using errcode = '23514', constraint = 'node_reboot_moves', table = 'node_reboot', schema = 'rota';
	end if;
	return null;
end $$;
comment on function rota.node_reboot_moved() is 'Trigger function: refuses a change of the state of a reboot that there is not.';
create trigger node_reboot_moves after update on rota.node_reboot referencing old table as old_reboot new table as new_reboot
	for each statement execute function rota.node_reboot_moved();
