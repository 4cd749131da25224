-- Runs of the programs that power and boot nodes.
create view acct.power_run with (security_barrier) as
select r.run_id, r.node_id, r.node, r.action, r.made_by, r.made_at, r.tries, r.began_at, r.ended_at, r.status,
	r.code, r.message, r.output
from rota.power_run r
where (select a.reads_all from acct.me a);
comment on view acct.power_run is
	'Runs of the programs that power, boot and prepare nodes, one row for each node and stage of a change; for analysts.';
comment on column acct.power_run.run_id is 'Number of the run; later ones have higher numbers.';
comment on column acct.power_run.node_id is 'Key of the node, which may have been deleted since.';
comment on column acct.power_run.node is 'Name of the node.';
comment on column acct.power_run.action is 'off, on, reboot, undo, prepare or verify: which program ran, and for what.';
comment on column acct.power_run.made_by is
	'Who asked for it: a user''s name, nodemgrd (an idle node) or schedule (a step needs it).';
comment on column acct.power_run.made_at is 'When the run was asked for.';
comment on column acct.power_run.tries is 'How often a runnerd has taken it: again after a runnerd died.';
comment on column acct.power_run.began_at is 'When a runnerd took it last; null: none has.';
comment on column acct.power_run.ended_at is 'When the run was over; null: it is not.';
comment on column acct.power_run.status is
	'done: the program succeeded; failed: it did not; dropped: it was not needed any more before it began; null: it is not over.';
comment on column acct.power_run.code is 'Exit code of the program; null: it has none.';
comment on column acct.power_run.message is 'Why the run failed or was dropped; null: it was not.';
comment on column acct.power_run.output is 'Last part of what the program printed.';
