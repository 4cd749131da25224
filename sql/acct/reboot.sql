-- Changes of nodes: reboots, images and preparations.
create view acct.node_reboot with (security_barrier) as
select r.reboot_id, r.node_id, r.node, r.state, r.reason, r.made_by, r.made_at, r.asap, r.next_state, r.drained, r.run_id,
	r.began_at, r.issued_at, r.ended_at, extract(epoch from r.ended_at - r.began_at) as out_s, r.message, r.image, r.boots,
	r.undo, r.prep
from rota.node_reboot r
where (select a.reads_all from acct.me a);
comment on view acct.node_reboot is
	'Changes of nodes, one row for each node: reboots that operators asked for, and changes of the image or the preparation; '
	'for analysts.';
comment on column acct.node_reboot.reboot_id is 'Number of the reboot; later ones have higher numbers.';
comment on column acct.node_reboot.node_id is 'Key of the node, which may have been deleted since.';
comment on column acct.node_reboot.node is 'Name of the node.';
comment on column acct.node_reboot.state is
	'waiting: for the node to be idle; undoing: its preparation is taken back; running: the program that boots it is due or '
	'runs; booting: that has succeeded; preparing, verifying: it is prepared, and that is verified; done: it is as it was to be; '
	'failed: it is not; cancelled: before a program was due.';
comment on column acct.node_reboot.reason is 'Why it is rebooted.';
comment on column acct.node_reboot.made_by is
	'Who asked for it: a user''s name, schedule (a step needs it) or nodemgrd (back to the default setup).';
comment on column acct.node_reboot.made_at is 'When it was asked for.';
comment on column acct.node_reboot.asap is
	'Whether nothing new starts on the node before it is rebooted; else it is rebooted when it happens to be idle.';
comment on column acct.node_reboot.next_state is
	'resume: the node serves afterwards, even if it was drained before; down: it stays drained; null: it is as it was before.';
comment on column acct.node_reboot.drained is 'Whether the reboot has drained the node, which was not drained before.';
comment on column acct.node_reboot.run_id is 'Run of the latest program (acct.power_run); null: none is due yet.';
comment on column acct.node_reboot.began_at is 'When the node was idle and the program became due; null: it is not due yet.';
comment on column acct.node_reboot.issued_at is 'When the latest program had succeeded; null: it has not.';
comment on column acct.node_reboot.ended_at is 'When it was over; null: it is not.';
comment on column acct.node_reboot.out_s is
	'Seconds from began_at to ended_at: for so long the node was out of use while nothing ran there; null: it is not over.';
comment on column acct.node_reboot.message is 'Why it failed or was cancelled; null: it was not.';
comment on column acct.node_reboot.image is 'Image with which the node has to come back; null: any.';
comment on column acct.node_reboot.boots is 'Whether the node is booted.';
comment on column acct.node_reboot.undo is 'Preparation that is taken back first; null: none.';
comment on column acct.node_reboot.prep is 'Preparation that is made, with its arguments, as NAME:ARGS; null: none.';
