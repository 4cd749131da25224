create view internal.acct_job as
select j.job_id, j.name, j.user_name, j.account, j.qos, j.priority, j.nice,
	coalesce(j.state, case when j.started_at is null then 'pending' else 'running' end) as state,
	j.submit_at, j.started_at, j.ended_at,
	extract(epoch from j.started_at - j.submit_at)::double precision as wait_s,
	extract(epoch from coalesce(j.ended_at, now()) - j.started_at)::double precision as elapsed_s,
	j.exit_code, j.signal, j.cause, j.steps_total, j.steps_total - j.steps_left as steps_ended,
	case when o.own then j.workdir end as workdir, case when o.own then j.comment end as comment,
	case when o.own then j.submit_line end as submit_line
from rota.job j
-- Administrators see folders, comments and command lines too, as operators do with `rota show`.
cross join lateral (select j.user_name = current_user or (select pg_has_role('rota_admin', 'member')) as own) o;
select internal.owner_view('job');
comment on view acct.job is 'Jobs, one row each.';
comment on column acct.job.job_id is 'Number of the job, never reused.';
comment on column acct.job.name is 'Name that the job''s owner gave it.';
comment on column acct.job.user_name is 'Login name of the job''s owner.';
comment on column acct.job.account is 'Account that pays; null: none.';
comment on column acct.job.qos is 'Quality of service of the job.';
comment on column acct.job.priority is 'Points of priority given by an operator.';
comment on column acct.job.nice is 'Points of priority that the owner gave up.';
comment on column acct.job.state is
	'Worst state of the job''s steps once it has ended; before that pending (no step was started) or running.';
comment on column acct.job.submit_at is 'When the job was submitted.';
comment on column acct.job.started_at is 'When the first step of the job was started; null: none was.';
comment on column acct.job.ended_at is 'When the last step of the job ended; null: not ended.';
comment on column acct.job.wait_s is 'Seconds from the submission of the job to its first start.';
comment on column acct.job.elapsed_s is
	'Seconds from the first start of the job to its end, or to now. Waits between steps and epilogs are included.';
comment on column acct.job.exit_code is
	'Highest exit code of the job''s steps, 0 to 255; '
	'null: unknown, or none of their tasks has started.';
comment on column acct.job.signal is 'Signal that ended the step with the worst state; null: none.';
comment on column acct.job.cause is
	'What ended the step with the worst state: exit, signal, time_limit, out_of_memory, cancelled, not_needed, and so on.';
comment on column acct.job.steps_total is 'Number of steps in the script of the job; an array counts as one.';
comment on column acct.job.steps_ended is 'Number of steps, of steps_total, that have ended.';
comment on column acct.job.workdir is
	'Working directory of the job''s tasks; null: you are neither its owner nor an administrator.';
comment on column acct.job.comment is
	'Comment of the job''s owner; null: none, or you are neither its owner nor an administrator.';
comment on column acct.job.submit_line is
	'Command line of its submission, quoted for a shell, as the program of its owner reported it; cut with "..." at 4096 bytes; '
	'null: none was reported, or you are neither its owner nor an administrator.';
