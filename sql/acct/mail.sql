create view acct.mail with (security_barrier) as
select m.mail_id, m.job_id, nullif(m.step_id, -1) as step_id, r.name as step, s.array_index, nullif(m.attempt, 0) as attempt,
	j.user_name, j.account, m.event, m.made_at,
	case when o.own then m.recipient end as recipient, m.tries, m.sent_at, m.due_at,
	case when o.own then m.message end as message
from rota.mail m
join rota.job j on j.job_id = m.job_id
cross join lateral (select (select a.reads_all from acct.me a) or j.user_name = current_user as own) o
left join rota.step s on s.job_id = m.job_id and s.step_id = m.step_id
left join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
where (select a.reads_all from acct.me a) or j.user_name = current_user
	or j.account = any ((select a.accounts from acct.me a)::text[]);
comment on view acct.mail is 'Mails about jobs (--mail-type), one row each: sent, still to be sent, or given up.';
comment on column acct.mail.mail_id is 'Number of the mail; later mails have higher numbers.';
comment on column acct.mail.job_id is 'Number of the job.';
comment on column acct.mail.step_id is
	'Step that the mail is about; of an array as a whole, its head; null: the mail is about the job.';
comment on column acct.mail.step is 'Name of the step in the script; null: the mail is about the job.';
comment on column acct.mail.array_index is 'Index of an array element; null: not an element.';
comment on column acct.mail.attempt is
	'Attempt that the mail is about; null: the mail is about the job, the array as a whole, or an element''s begin or end.';
comment on column acct.mail.user_name is 'Login name of the job''s owner.';
comment on column acct.mail.account is 'Account that pays; null: none.';
comment on column acct.mail.event is 'Event of --mail-type for which the mail is sent.';
comment on column acct.mail.made_at is 'When the event was recorded.';
comment on column acct.mail.recipient is 'Recipient of the mail; null: not tried yet, or the mail is somebody else''s.';
comment on column acct.mail.tries is 'How often Rota tried to send the mail.';
comment on column acct.mail.sent_at is 'When the mail program accepted the mail; null: not sent.';
comment on column acct.mail.due_at is 'When Rota next tries to send the mail; null: sent or given up.';
comment on column acct.mail.message is
	'Why the last try failed, or why the mail was given up; null: neither, or the mail is somebody else''s.';
