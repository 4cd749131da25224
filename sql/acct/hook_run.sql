-- Runs of all programs and functions of the site in one view, for questions that are not about one kind.
create view acct.hook_run with (security_barrier) as
select 'hook' as kind, h.hook as function, h.job_id, h.step_id, h.attempt, h.node, h.user_name, h.account,
	h.started_at, h.ended_at, h.elapsed_s, null::int as tries, coalesce(h.exit_code = 0, false) as success,
	case when h.signal is not null then 'signal ' || h.signal when h.exit_code <> 0 then 'exit code ' || h.exit_code end
		as message
from acct.hook h
union all
select 'burst_buffer', c.function, coalesce(c.array_job_id, c.job_id), null, null, null, c.user_name, c.account, c.began_at,
	c.ended_at, c.elapsed_s, c.tries, case when c.ended_at is not null then coalesce(c.rc = 0, false) end, c.message
from acct.staging_call c
union all
select 'trigger', t.event, (t.payload ->> 'job_id')::bigint, null, null, t.payload ->> 'node', t.user_name, null,
	t.began_at, t.ended_at, extract(epoch from t.ended_at - t.began_at)::double precision, t.tries,
	case t.status when 'delivered' then true when 'failed' then false end, t.message
from acct.trigger_run t
union all
select 'mail', m.event, m.job_id, m.step_id, m.attempt, null, m.user_name, m.account, null, m.sent_at, null, m.tries,
	case when m.sent_at is not null then true when m.due_at is null then false end, m.message
from acct.mail m
union all
select 'power', p.action, null, null, null, p.node, null, null, p.began_at, p.ended_at,
	extract(epoch from p.ended_at - p.began_at)::double precision, p.tries,
	case p.status when 'done' then true when 'failed' then false end, p.message
from acct.power_run p;
comment on view acct.hook_run is
	'Runs of the site''s programs and functions, past and to come, one row each: prologs and epilogs, functions of '
	'burst_buffer.lua, deliveries of triggers, mails, and programs that power, boot and prepare nodes. The view of each kind '
	'has more columns.';
comment on column acct.hook_run.kind is
	'hook (acct.hook), burst_buffer (acct.staging_call), trigger (acct.trigger_run), mail (acct.mail) or power (acct.power_run).';
comment on column acct.hook_run.function is
	'Which prolog or epilog, Lua function or action on a node; of a trigger or mail, the event.';
comment on column acct.hook_run.job_id is 'Number of the job; null: the run concerns no job.';
comment on column acct.hook_run.step_id is 'Number of the step in its job; null: the run does not concern one step.';
comment on column acct.hook_run.attempt is 'Number of the attempt; null: the run does not concern one attempt.';
comment on column acct.hook_run.node is 'Node on which the program ran, or which the run concerns; null: neither.';
comment on column acct.hook_run.user_name is 'Login name of the owner of the job or the trigger; null: no owner.';
comment on column acct.hook_run.account is 'Account that pays for the job; null: none.';
comment on column acct.hook_run.started_at is 'When the run began, of several tries the last one; null: not begun, or a mail.';
comment on column acct.hook_run.ended_at is 'When the run ended; null: not ended, or a mail that was given up.';
comment on column acct.hook_run.elapsed_s is 'Seconds that the run took; null: not known.';
comment on column acct.hook_run.tries is
	'How often the run was tried; of a function of burst_buffer.lua, the number of this try; null: tried once only.';
comment on column acct.hook_run.success is 'Whether the run succeeded; null: not ended, or no longer needed.';
comment on column acct.hook_run.message is 'How the run failed; null: it did not, or you may not see that.';
