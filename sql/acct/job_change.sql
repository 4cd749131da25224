create view acct.job_change with (security_barrier) as
select c.job_id, c.change, c.at, c.made_by, j.user_name, j.account, c.field,
	case when o.own then c.before end as before, case when o.own then c.after end as after
from rota.job_change c
join rota.job j on j.job_id = c.job_id
-- As in acct.job: only the owner and administrators see changes, which may have comments and paths.
cross join lateral (select j.user_name = current_user or (select pg_has_role('rota_admin', 'member')) as own) o
where (select a.reads_all from acct.me a) or j.user_name = current_user
	or j.account = any ((select a.accounts from acct.me a)::text[]);
comment on view acct.job_change is
	'Fields of jobs that the site''s script job_submit has set, one row for each change of a field.';
comment on column acct.job_change.job_id is 'Number of the job.';
comment on column acct.job_change.change is 'Number of the change in its job, from 1.';
comment on column acct.job_change.at is 'When the script made the change.';
comment on column acct.job_change.made_by is
	'Function of the script that made the change: job_submit, when the job was submitted; job_modify, when somebody modified '
	'it.';
comment on column acct.job_change.user_name is 'Login name of the job''s owner.';
comment on column acct.job_change.account is 'Account that pays; null: none.';
comment on column acct.job_change.field is
	'The field that was set, as the script calls it; environment.NAME: a variable; admin_comment: a comment of the site.';
comment on column acct.job_change.before is
	'Value of the field before the change; null: none, a variable, or you are neither the job''s owner nor an administrator.';
comment on column acct.job_change.after is
	'Value that the script has set; null: it removed what the user asked for, or you are neither the job''s owner nor an '
	'administrator.';
