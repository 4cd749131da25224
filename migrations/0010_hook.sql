-- The work of runnerd: controller prologs and epilogs, and mail.

create table rota.hook_pending (
	hook_id bigint generated always as identity primary key,
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	hook text not null check (hook in ('controller_prolog', 'controller_epilog')),
	due_at timestamptz not null default clock_timestamp(),
	unique (job_id, step_id, attempt, hook)
);
comment on table rota.hook_pending is
	'Controller prologs and epilogs that have not ended. Orders of an attempt are not sent while its prolog is in '
	'this table.';
comment on column rota.hook_pending.hook_id is
	'Number of the prolog or epilog in the order of making; those of one step run one after the other.';
comment on column rota.hook_pending.job_id is 'Job for which the prolog or epilog is to run.';
comment on column rota.hook_pending.step_id is 'Step for which the prolog or epilog is to run.';
comment on column rota.hook_pending.attempt is 'Attempt for which the prolog or epilog is to run.';
comment on column rota.hook_pending.hook is 'Which one is to run: controller_prolog or controller_epilog.';
comment on column rota.hook_pending.due_at is 'Since when the prolog or epilog is to run.';

create table rota.controller_hook (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	hook text not null check (hook in ('controller_prolog', 'controller_epilog')),
	due_at timestamptz not null,
	ended_at timestamptz not null,
	exit_code int,
	signal int,
	usec bigint,
	message text,
	output text,
	primary key (job_id, step_id, attempt, hook)
) partition by range (job_id);
comment on table rota.controller_hook is
	'Controller prologs and epilogs that have ended. If one was run again, the row is about the last run.';
comment on column rota.controller_hook.job_id is 'Job for which the prolog or epilog ran.';
comment on column rota.controller_hook.step_id is 'Step for which the prolog or epilog ran.';
comment on column rota.controller_hook.attempt is 'Attempt for which the prolog or epilog ran.';
comment on column rota.controller_hook.hook is 'Which one ran: controller_prolog or controller_epilog.';
comment on column rota.controller_hook.due_at is 'Since when the prolog or epilog was to run.';
comment on column rota.controller_hook.ended_at is 'When the end of the prolog or epilog was reported.';
comment on column rota.controller_hook.exit_code is
	'Exit code of the prolog or epilog; null: a signal ended it, or it did not run.';
comment on column rota.controller_hook.signal is 'Signal that ended the prolog or epilog; null: none.';
comment on column rota.controller_hook.usec is 'How long the prolog or epilog ran, in microseconds; null: it did not run.';
comment on column rota.controller_hook.message is 'How the prolog or epilog failed, in words; null: it did not fail.';
comment on column rota.controller_hook.output is 'Last part of what the prolog or epilog printed.';

create table rota.mail (
	mail_id bigint generated always as identity,
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	event text not null check (event in ('BEGIN', 'END', 'FAIL', 'REQUEUE', 'INVALID_DEPEND', 'TIME_LIMIT', 'TIME_LIMIT_90',
		'TIME_LIMIT_80', 'TIME_LIMIT_50')),
	made_at timestamptz not null default clock_timestamp(),
	due_at timestamptz default clock_timestamp(),
	tries int not null default 0 check (tries >= 0),
	recipient text,
	sent_at timestamptz,
	message text,
	primary key (job_id, step_id, attempt, event),
	constraint mail_is_sent_or_due check (sent_at is null or due_at is null)
) partition by range (job_id);
create index mail_due on rota.mail (due_at) where due_at is not null;
create index mail_under_way on rota.mail (mail_id) where due_at is not null;
comment on table rota.mail is 'Mail about jobs. The transaction of an event makes the row, and runnerd sends the mail.';
comment on column rota.mail.mail_id is 'Number of the mail, in the order of making.';
comment on column rota.mail.job_id is 'Job that the mail is about.';
comment on column rota.mail.step_id is 'Step that the mail is about; for an array as a whole, its head; -1: the whole job.';
comment on column rota.mail.attempt is 'Attempt that the mail is about; 0: the whole job or array.';
comment on column rota.mail.event is 'Event of --mail-type for which the mail is sent.';
comment on column rota.mail.made_at is 'When the event of the mail was recorded.';
comment on column rota.mail.due_at is 'From when on the mail may be sent, or sent again; null: it was sent or given up.';
comment on column rota.mail.tries is 'How often a runnerd has begun to send the mail.';
comment on column rota.mail.recipient is 'Recipients of the mail at the latest try.';
comment on column rota.mail.sent_at is 'When the mail program accepted the mail; null: not sent.';
comment on column rota.mail.message is
	'Why the latest try to send the mail failed, or why the mail was given up; null: no failure.';

create table rota.mail_watch (
	job_id bigint primary key
);
comment on table rota.mail_watch is
	'Live jobs with mail for events that are not transitions of the job: shares of a time limit, and elements of '
	'arrays.';
comment on column rota.mail_watch.job_id is 'Job with mail for such events.';
