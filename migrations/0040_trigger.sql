-- Triggers: what runnerd does when a job, a step, a node or the queue changes, and each delivery of it.
insert into rota.setting (name, value, kind, help) values
	('trigger_tries', '10', 'int', 'how often the delivery of a trigger is tried before it is given up'),
	('trigger_retry_s', '1', 'int', 'seconds before a failed delivery is tried again; twice as many after each further failure'),
	('trigger_retry_max_s', '300', 'int', 'most seconds between two tries of a delivery'),
	('trigger_max', '100', 'int', 'triggers that one user may have'),
	('trigger_run_days', '30', 'int', 'days for which deliveries of triggers are kept after their end'),
	('webhook_hosts', '', 'text',
		'host names, separated by commas, to which webhooks of users may be sent; empty: none. Those of administrators may be '
		'sent to any host');

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
