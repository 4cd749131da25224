-- What runnerd does: controller prologs and epilogs, and mail.

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
	'Controller prologs and epilogs that have not ended. While an attempt has its prolog here, none of its orders is sent.';
comment on column rota.hook_pending.hook_id is 'Order of making; those of one step run one after the other.';
comment on column rota.hook_pending.job_id is 'The job.';
comment on column rota.hook_pending.step_id is 'The step.';
comment on column rota.hook_pending.attempt is 'The attempt.';
comment on column rota.hook_pending.hook is 'Which one.';
comment on column rota.hook_pending.due_at is 'Since when it is to run.';

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
	'Each controller prolog and epilog that has ended; of one that was run again, the last run.';
comment on column rota.controller_hook.job_id is 'The job.';
comment on column rota.controller_hook.step_id is 'The step.';
comment on column rota.controller_hook.attempt is 'The attempt.';
comment on column rota.controller_hook.hook is 'Which one.';
comment on column rota.controller_hook.due_at is 'Since when it was to run.';
comment on column rota.controller_hook.ended_at is 'When its end was reported.';
comment on column rota.controller_hook.exit_code is 'Exit code; null: ended by a signal, or not run.';
comment on column rota.controller_hook.signal is 'Signal that ended it; null: none.';
comment on column rota.controller_hook.usec is 'How long it ran, in microseconds; null: not at all.';
comment on column rota.controller_hook.message is 'How it failed, in words; null: it did not.';
comment on column rota.controller_hook.output is 'End of what it printed.';

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
comment on table rota.mail is 'Mail about jobs: made in the transaction of its event, sent by runnerd.';
comment on column rota.mail.mail_id is 'Order of making.';
comment on column rota.mail.job_id is 'The job.';
comment on column rota.mail.step_id is 'The step that it is about; for an array as a whole, its head; -1: the job.';
comment on column rota.mail.attempt is 'The attempt that it is about; 0: the job, or the array as a whole.';
comment on column rota.mail.event is 'Event of --mail-type for which it is sent.';
comment on column rota.mail.made_at is 'When the event was recorded.';
comment on column rota.mail.due_at is 'From when on it may be sent, or sent again; null: it was sent or given up.';
comment on column rota.mail.tries is 'How often a runnerd has begun to send it.';
comment on column rota.mail.recipient is 'To whom it was sent, or was to be sent, with its last try.';
comment on column rota.mail.sent_at is 'When the mail program had accepted it; null: not sent.';
comment on column rota.mail.message is 'Why its last try failed, or why it was given up; null: no failure.';

create table rota.mail_watch (
	job_id bigint primary key
);
comment on table rota.mail_watch is
	'Live jobs with mail for something that is no transition of the job: shares of a time limit, and elements of arrays.';
comment on column rota.mail_watch.job_id is 'The job.';
