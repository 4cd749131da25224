-- Runs of the programs that power and boot nodes.
create view acct.power_run with (security_barrier) as
select r.run_id, r.node_id, r.node, r.action, r.made_by, r.made_at, r.tries, r.began_at, r.ended_at, r.status,
	r.code, r.message, r.output
from rota.power_run r
where (select a.reads_all from acct.me a);
comment on view acct.power_run is
	'Runs of the programs that power, boot and prepare nodes, one row for each node and stage of a change; for analysts.';
comment on column acct.power_run.run_id is 'Number of the run; later runs have higher numbers.';
comment on column acct.power_run.node_id is 'Key of the node, which may have been deleted since.';
comment on column acct.power_run.node is 'Name of the node.';
comment on column acct.power_run.action is 'off, on, reboot, undo, prepare or verify: which program ran, and for what.';
comment on column acct.power_run.made_by is
	'Who asked for the run: a user''s name, nodemgrd (an idle node) or schedule (a step needs the node).';
comment on column acct.power_run.made_at is 'When the run was asked for.';
comment on column acct.power_run.tries is 'How often a runnerd has taken the run: again after a runnerd died.';
comment on column acct.power_run.began_at is 'When a runnerd last took the run; null: none has.';
comment on column acct.power_run.ended_at is 'When the run ended; null: not ended.';
comment on column acct.power_run.status is
	'done: the program succeeded; failed: the program failed; dropped: the run was no longer needed before it began; null: '
	'not ended.';
comment on column acct.power_run.code is 'Exit code of the program; null: none.';
comment on column acct.power_run.message is 'Why the run failed or was dropped; null: neither.';
comment on column acct.power_run.output is 'Last part of what the program printed.';
