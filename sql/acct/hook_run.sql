-- Everything of the site's that ran, of all kinds, for questions that are not about one kind.
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
	'Everything of the site''s that ran, or is to run, one row each: prologs and epilogs, functions of burst_buffer.lua, '
	'deliveries of triggers, mails, and programs that power, boot and prepare nodes. The views of each kind have more columns.';
comment on column acct.hook_run.kind is
	'hook (acct.hook), burst_buffer (acct.staging_call), trigger (acct.trigger_run), mail (acct.mail) or power (acct.power_run).';
comment on column acct.hook_run.function is
	'Which prolog or epilog, function, action on a node, or event that a trigger or mail is about.';
comment on column acct.hook_run.job_id is 'Number of the job; null: it is about no job.';
comment on column acct.hook_run.step_id is 'Number of the step in its job; null: it is not about one step.';
comment on column acct.hook_run.attempt is 'Number of the attempt; null: it is not about one attempt.';
comment on column acct.hook_run.node is 'The node where it ran, or that it is about; null: neither.';
comment on column acct.hook_run.user_name is 'Login name of the owner of the job or the trigger; null: nobody''s.';
comment on column acct.hook_run.account is 'Account that pays for the job; null: none.';
comment on column acct.hook_run.started_at is 'When it began, of several tries the last one; null: it has not, or it is a mail.';
comment on column acct.hook_run.ended_at is 'When it ended; null: it has not, or it is a mail that was given up.';
comment on column acct.hook_run.elapsed_s is 'Seconds that it ran; null: not known.';
comment on column acct.hook_run.tries is 'How often it was tried, of a function which try it is; null: it is tried once.';
comment on column acct.hook_run.success is 'Whether it succeeded; null: it is not over, or was not needed any more.';
comment on column acct.hook_run.message is 'How it failed; null: it has not, or you may not see that.';
