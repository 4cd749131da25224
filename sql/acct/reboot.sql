-- Changes of nodes: reboots, images and preparations.
create view acct.node_reboot with (security_barrier) as
select r.reboot_id, r.node_id, r.node, r.state, r.reason, r.made_by, r.made_at, r.asap, r.next_state, r.drained, r.run_id,
	r.began_at, r.issued_at, r.ended_at, extract(epoch from r.ended_at - r.began_at) as out_s, r.message, r.image, r.boots,
	r.undo, r.prep
from rota.node_reboot r
where (select a.reads_all from acct.me a);
comment on view acct.node_reboot is
	'Changes of nodes, one row for each node and change: reboots that operators asked for, and changes of the image or the '
	'preparation; for analysts.';
comment on column acct.node_reboot.reboot_id is 'Number of the change; later changes have higher numbers.';
comment on column acct.node_reboot.node_id is 'Key of the node, which may have been deleted since.';
comment on column acct.node_reboot.node is 'Name of the node.';
comment on column acct.node_reboot.state is
	'State of the change. waiting: for the node to be idle; undoing: its preparation is taken back; running: the program '
	'that boots the node is due or runs; booting: that program has succeeded; preparing, verifying: the node is prepared, '
	'and that is verified; done: the node has the wanted setup; failed: it does not; cancelled: before a program was due.';
comment on column acct.node_reboot.reason is 'Reason of the change.';
comment on column acct.node_reboot.made_by is
	'Who asked for the change: a user''s name, schedule (a step needs it) or nodemgrd (back to the default setup).';
comment on column acct.node_reboot.made_at is 'When the change was asked for.';
comment on column acct.node_reboot.asap is
	'Whether no new step starts on the node before the reboot; if not, the node is rebooted when it happens to be idle.';
comment on column acct.node_reboot.next_state is
	'State of the node after the reboot. resume: steps may start, even if the node was drained before; down: it stays '
	'drained; null: as before.';
comment on column acct.node_reboot.drained is 'Whether the reboot drained the node, which was not drained before.';
comment on column acct.node_reboot.run_id is 'Run of the latest program (acct.power_run) for the change; null: none is due yet.';
comment on column acct.node_reboot.began_at is 'When the node was idle and the first program became due; null: not due yet.';
comment on column acct.node_reboot.issued_at is 'When the latest program succeeded; null: not yet.';
comment on column acct.node_reboot.ended_at is 'When the change was over; null: it is not over.';
comment on column acct.node_reboot.out_s is
	'Seconds from began_at to ended_at, in which no step could run on the node; null: the change is not over.';
comment on column acct.node_reboot.message is 'Why the change failed or was cancelled; null: neither.';
comment on column acct.node_reboot.image is 'Image that the node has to report after the boot; null: any.';
comment on column acct.node_reboot.boots is 'Whether the change boots the node.';
comment on column acct.node_reboot.undo is 'Preparation that is taken back first, before any other program runs; null: none.';
comment on column acct.node_reboot.prep is
	'Preparation that the change makes on the node, with its arguments, as NAME:ARGS; null: none.';
