-- The work of runnerd: controller prologs and epilogs, mail, and triggers.

create table rota.hook_pending (
	hook_id bigint generated always as identity primary key,
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	hook text not null check (hook in ('controller_prolog', 'controller_epilog', 'pre_run', 'credential')),
	due_at timestamptz not null default clock_timestamp(),
	unique (job_id, step_id, attempt, hook)
);
comment on table rota.hook_pending is
	'Controller prologs and epilogs that have not ended, and attempts that wait for pre_run of burst_buffer.lua. Orders of an '
	'attempt are not sent while its prolog or pre_run is in this table.';
comment on column rota.hook_pending.hook_id is
	'Number of the prolog or epilog in the order of making; those of one step run one after the other.';
comment on column rota.hook_pending.job_id is 'Job for which the prolog or epilog is to run.';
comment on column rota.hook_pending.step_id is 'Step for which the prolog or epilog is to run.';
comment on column rota.hook_pending.attempt is 'Attempt for which the prolog or epilog is to run.';
comment on column rota.hook_pending.hook is
	'What is to run: controller_prolog, controller_epilog, pre_run of burst_buffer.lua; credential: the boxes are to be sealed.';
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
	event text not null
		check (event in ('BEGIN', 'END', 'FAIL', 'REQUEUE', 'INVALID_DEPEND', 'STAGE_OUT', 'TIME_LIMIT',
			'TIME_LIMIT_90', 'TIME_LIMIT_80', 'TIME_LIMIT_50')),
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

create table rota.trigger (
	trigger_id bigint generated always as identity primary key,
	uid int not null,
	user_name text not null,
	event text not null
		check (event in ('job_start', 'job_end', 'step_fail', 'node_down', 'node_drained', 'node_up', 'queue_longer')),
	states text[],
	job_id bigint,
	jobs_of text,
	node text,
	longer_than int check (longer_than >= 0),
	is_longer boolean not null default false,
	action text not null check (action in ('program', 'webhook', 'mail')),
	target text not null,
	arguments text[] not null default '{}',
	secret text,
	made_at timestamptz not null default clock_timestamp(),
	removed_at timestamptz,
	constraint trigger_queue_has_a_length check ((event = 'queue_longer') = (longer_than is not null)),
	constraint trigger_webhook_has_a_secret check ((action = 'webhook') = (secret is not null))
);
create index trigger_live on rota.trigger (event, trigger_id) where removed_at is null;
comment on table rota.trigger is 'Triggers: one row each. A removed one stays, without its secret being used any more.';
comment on column rota.trigger.trigger_id is 'Number of the trigger.';
comment on column rota.trigger.uid is 'User id of its owner.';
comment on column rota.trigger.user_name is 'Login name of its owner.';
comment on column rota.trigger.event is
	'Event that fires it: job_start, job_end, step_fail, node_down, node_drained, node_up or queue_longer.';
comment on column rota.trigger.states is 'End states of the job or step for which it fires; null: all.';
comment on column rota.trigger.job_id is 'The only job for which it fires; null: not only one.';
comment on column rota.trigger.jobs_of is 'Login name of the user for whose jobs it fires; null: those of all users.';
comment on column rota.trigger.node is 'The only node for which it fires; null: every node.';
comment on column rota.trigger.longer_than is
	'Of queue_longer: number of waiting steps above which it fires; null: other events.';
comment on column rota.trigger.is_longer is 'The queue is longer, and it has fired: it fires again after the queue was shorter.';
comment on column rota.trigger.action is 'What is done: program, webhook or mail.';
comment on column rota.trigger.target is 'Path of the program, URL, or recipients of the mail.';
comment on column rota.trigger.arguments is 'Arguments of the program.';
comment on column rota.trigger.secret is
	'Key by which runnerd signs what it sends to the URL; no role can read the column. Null: it is no webhook.';
comment on column rota.trigger.made_at is 'When the trigger was made.';
comment on column rota.trigger.removed_at is 'When the trigger was removed; null: it was not.';

create table rota.trigger_run (
	run_id bigint generated always as identity primary key,
	trigger_id bigint not null references rota.trigger,
	payload jsonb not null,
	made_at timestamptz not null default clock_timestamp(),
	due_at timestamptz not null default clock_timestamp(),
	tries int not null default 0,
	began_at timestamptz,
	ended_at timestamptz,
	status text check (status in ('delivered', 'failed', 'removed')),
	code int,
	message text,
	output text,
	constraint trigger_run_is_over_or_not check ((ended_at is null) = (status is null))
);
create index trigger_run_open on rota.trigger_run (trigger_id, run_id) where ended_at is null;
create index trigger_run_due on rota.trigger_run (due_at) where ended_at is null;
create index trigger_run_by_trigger on rota.trigger_run (trigger_id, run_id);
create index trigger_run_by_end on rota.trigger_run (ended_at) where ended_at is not null;
comment on table rota.trigger_run is
	'Deliveries: one row for each time that a trigger has fired. Those of one trigger are made one after the other.';
comment on column rota.trigger_run.run_id is 'Number of the delivery, the same at each try.';
comment on column rota.trigger_run.trigger_id is 'Trigger that has fired.';
comment on column rota.trigger_run.payload is 'The event: what the body of a webhook has.';
comment on column rota.trigger_run.made_at is 'When the event was recorded.';
comment on column rota.trigger_run.due_at is 'From when on it is tried, or tried again.';
comment on column rota.trigger_run.tries is 'How often it was tried.';
comment on column rota.trigger_run.began_at is 'When a runnerd took it for the last try; null: it was not tried.';
comment on column rota.trigger_run.ended_at is 'When it was over; null: it is not.';
comment on column rota.trigger_run.status is 'delivered; failed: given up; removed: with its trigger; null: it is not over.';
comment on column rota.trigger_run.code is 'HTTP status or exit code of the last try; null: none came.';
comment on column rota.trigger_run.message is 'Why the last try failed; null: it did not.';
comment on column rota.trigger_run.output is 'Last part of what the program printed, or the server answered, at the last try.';
