-- Checkpoints of steps.
create view internal.acct_checkpoint as
select n.job_id, n.step_id, n.generation, n.user_name, n.account, n.step, n.array_index, n.attempt, n.driver, n.driver_version,
	n.state, n.reason, n.asked_by, n.then_do, n.node, case when o.own then n.path end as path, n.files, n.bytes,
	case when o.own then n.message end as message, n.asked_at, n.taking_at, n.complete_at, n.failed_at, n.restoring_at,
	n.restored_at, n.restores, n.discarded_at, n.elapsed_s, n.saved_s, case when o.own then n.why end as why, n.needs,
	n.consistency, n.tmpdir_bytes
from internal.checkpoint_now n
-- As in acct.job: only the owner and administrators see messages and paths.
cross join lateral (select n.user_name = current_user or (select pg_has_role('rota_admin', 'member')) as own) o;
select internal.owner_view('checkpoint');
comment on view acct.checkpoint is
	'Checkpoints of steps, one row for each generation, with what each cost and what work it saved.';
comment on column acct.checkpoint.job_id is 'Number of the job.';
comment on column acct.checkpoint.step_id is 'Number of the step in the job.';
comment on column acct.checkpoint.generation is 'Number of the checkpoint among those of the step, from 1.';
comment on column acct.checkpoint.user_name is 'Login name of the job''s owner.';
comment on column acct.checkpoint.account is 'Account that pays; null: none.';
comment on column acct.checkpoint.step is 'Name of the step.';
comment on column acct.checkpoint.array_index is 'Index of the element; null: the step is no array.';
comment on column acct.checkpoint.attempt is 'Attempt of which the checkpoint was taken.';
comment on column acct.checkpoint.driver is 'Driver that took the checkpoint; app: the program saved itself.';
comment on column acct.checkpoint.driver_version is 'Version of the program that took the checkpoint; null: not complete.';
comment on column acct.checkpoint.state is
	'asked; taking; complete: an attempt can go on from the checkpoint; failed; restoring: an attempt is starting from it; '
	'restored: an attempt has started from it; discarded: its files are removed.';
comment on column acct.checkpoint.reason is
	'Why the checkpoint was taken: user, operator, program, exit, interval, time_limit, preempt, evacuate, maintenance, move or '
	'failing.';
comment on column acct.checkpoint.asked_by is 'Who asked for the checkpoint: a user, program, node or scheduler.';
comment on column acct.checkpoint.then_do is 'What the attempt was to do after the checkpoint: continue, requeue or end.';
comment on column acct.checkpoint.node is 'Node on which the checkpoint was taken; null: the checkpoint is not complete.';
comment on column acct.checkpoint.path is
	'Folder of the checkpoint''s files; null: not complete, or you are neither the job''s owner nor an administrator.';
comment on column acct.checkpoint.files is 'Number of its files; null: not complete.';
comment on column acct.checkpoint.bytes is 'Bytes of its files; null: not complete.';
comment on column acct.checkpoint.message is
	'Why the checkpoint failed or was not used; null: neither, or you are not its owner or an administrator.';
comment on column acct.checkpoint.asked_at is 'When the checkpoint was asked for.';
comment on column acct.checkpoint.taking_at is 'When the program began to take the checkpoint; null: not yet.';
comment on column acct.checkpoint.complete_at is 'When the checkpoint was complete; null: not complete.';
comment on column acct.checkpoint.failed_at is 'When the checkpoint failed; null: it did not fail.';
comment on column acct.checkpoint.restoring_at is 'When an attempt last began to start from the checkpoint; null: never.';
comment on column acct.checkpoint.restored_at is 'When an attempt last started from the checkpoint; null: never.';
comment on column acct.checkpoint.restores is 'How many attempts have started from the checkpoint.';
comment on column acct.checkpoint.discarded_at is
	'When Rota removed the checkpoint''s files; null: the files exist, or never existed.';
comment on column acct.checkpoint.elapsed_s is
	'Seconds from taking_at to complete_at: what the checkpoint cost; null: not complete.';
comment on column acct.checkpoint.saved_s is
	'Seconds of the attempt since the checkpoint before it, or since its start: the work that it saves; null: not begun.';
comment on column acct.checkpoint.why is
	'What those who asked for it said; null: nothing, or you are neither its owner nor an administrator.';
comment on column acct.checkpoint.needs is
	'What a node must have that an attempt goes on from it on: cpu (instruction sets), and others, as kernel and dmtcp, '
	'which must be equal; null: nothing, or not complete.';
comment on column acct.checkpoint.consistency is
	'Why its files are one state: program: the program says that it has saved itself; processes: all processes of the step '
	'were stopped at one moment; null: not complete, or not known.';
comment on column acct.checkpoint.tmpdir_bytes is
	'Bytes of .rota-tmpdir.tar, the one of its files that has the files of TMPDIR (--tmpdir); null: there is none, or the files '
	'were removed.';

-- Files of checkpoints that can be used.
create view internal.acct_checkpoint_file as
select f.job_id, f.step_id, f.generation, j.user_name, j.account, c.node, case when o.own then f.name end as name, f.bytes,
	case when o.own then encode(f.sha256, 'hex') end as sha256
from rota.checkpoint_file f
join rota.checkpoint c on c.job_id = f.job_id and c.step_id = f.step_id and c.generation = f.generation
join rota.job j on j.job_id = f.job_id
cross join lateral (select j.user_name = current_user or (select pg_has_role('rota_admin', 'member')) as own) o;
select internal.owner_view('checkpoint_file');
comment on view acct.checkpoint_file is 'Files of checkpoints, one row each, as long as the checkpoint can be used.';
comment on column acct.checkpoint_file.job_id is 'Number of the job.';
comment on column acct.checkpoint_file.step_id is 'Number of the step in the job.';
comment on column acct.checkpoint_file.generation is 'Number of the checkpoint among those of the step, from 1.';
comment on column acct.checkpoint_file.user_name is 'Login name of the job''s owner.';
comment on column acct.checkpoint_file.account is 'Account that pays; null: none.';
comment on column acct.checkpoint_file.node is 'Node that wrote the file.';
comment on column acct.checkpoint_file.name is
	'Path of the file in the folder of the checkpoint; null: you are neither the job''s owner nor an administrator.';
comment on column acct.checkpoint_file.bytes is 'Size of the file.';
comment on column acct.checkpoint_file.sha256 is
	'SHA-256 of the file, hex; null: you are neither the job''s owner nor an administrator.';
