-- Settings of the site, and the log of administrative changes.

create table rota.setting (
	name text primary key,
	value text not null,
	kind text not null check (kind in ('int', 'bool', 'text')),
	help text not null
);
comment on table rota.setting is 'Settings of the site, changed by "rota admin setting change".';
comment on column rota.setting.name is 'Name of the setting.';
comment on column rota.setting.value is 'Value of the setting, as text.';
comment on column rota.setting.kind is 'Type of the value: int, bool (true or false) or text.';
comment on column rota.setting.help is 'What the setting does, with the unit of its value.';
insert into rota.setting (name, value, kind, help) values
	-- The site, its readers and the database.
	('time_zone', current_setting('TimeZone'), 'text',
		'time zone of the site: its days and months are those of the usage figures; "rota admin usage rebuild" adds up '
		'anew by it'),
	('queue_visible', 'true', 'bool',
		'whether users see the jobs of others in lists; scripts and environments stay private either way'),
	('range_size', '1000000', 'int', 'jobs in one range partition of the big tables'),
	('reader_transaction_s', '600', 'int',
		'seconds that a transaction of an analyst or reader may last, whatever it does; then its session is ended; '
		'0: any time'),
	('reader_statement_s', '360', 'int',
		'seconds that a statement of an analyst or reader may take, whatever the session sets; then its session is ended; '
		'0: any time'),
	('reader_idle_s', '90', 'int',
		'seconds for which a transaction of an analyst or reader may be idle, whatever the session sets; then its session '
		'is ended; 0: any time'),
	('reader_sessions', '50', 'int',
		'database sessions that all analysts and readers together may have; those beyond are ended, of who has most first; '
		'0: any number'),
	('notify_queue_percent', '5', 'int',
		'percent of the server''s queue of notifications; when it is fuller, transactions of those who read are ended, as '
		'they may keep it from being emptied; 0: never'),
	-- Submission.
	('max_submitted', '200000', 'int', 'live steps that one user may have; an array is one'),
	('max_submitted_all', '1000000', 'int', 'live steps that all users together may have; an array is one'),
	('max_script_bytes', '4194304', 'int', 'largest script, in bytes'),
	('max_steps', '10000', 'int', 'most steps of one script'),
	('max_edges', '100000', 'int', 'most peer constraints of one script'),
	('max_array', '10000000', 'int', 'most elements of one array'),
	-- The queue.
	('age_weight_s', '3600', 'int', 'seconds of waiting that weigh as much as one point of priority'),
	('fair_share_weight_s', '0', 'int',
		'seconds of waiting that the full range of the fair share factor weighs; 0: fair share is off'),
	('fair_share_half_life_s', '604800', 'int', 'seconds after which use counts half for fair share'),
	('fair_share_period_s', '60', 'int', 'seconds for which fair share factors are kept before they are computed anew'),
	('requeue_max', '5', 'int', 'requeues after which a step is held'),
	('requeue_delay_s', '2', 'int', 'seconds before a requeued or retried step may start again'),
	('drain_hold_count', '3', 'int',
		'times the ends of attempts of one job may drain a node before the job is held until an operator releases it; '
		'0: any number'),
	('preempt_hold_s', '300', 'int',
		'seconds after the grace for which what preempted steps free is kept for the step that preempted them'),
	-- Nodes.
	('flap_count', '3', 'int',
		'times a node may go down within flap_window_s before it is drained when it comes back; 0: any number'),
	('flap_window_s', '3600', 'int', 'seconds for flap_count'),
	('power_off_idle_s', '0', 'int', 'seconds for which a node must be idle before it is powered off; 0: none is'),
	('power_on_timeout_s', '600', 'int',
		'seconds within which a node must register after it was asked to power on; then it is down, and what waited goes '
		'elsewhere'),
	('power_off_timeout_s', '300', 'int',
		'seconds after which a node that still renews its lease although it was powered off counts as on again'),
	('power_run_days', '30', 'int', 'days for which runs of the programs that power nodes are kept after their end'),
	('reboot_timeout_s', '1800', 'int',
		'seconds within which a node must register with another boot after its reboot began; then the reboot has failed'),
	('reboot_days', '365', 'int', 'days for which reboots of nodes are kept after their end'),
	('image_failures', '3', 'int',
		'failures in a row after which no more nodes get an image or a preparation, and steps that ask for it are held; 0: none'),
	('image_idle_s', '300', 'int',
		'seconds for which a node keeps an image that is not its default, or a preparation, that no step waits for'),
	('check_drained_percent', '10', 'int',
		'most percent of all nodes that are drained by checks at a time, one node at least; a failed check only reports then'),
	('evacuate_wait_s', '604800', 'int',
		'seconds after which an evacuation without an end of its own no longer waits for what runs on its nodes'),
	('evacuate_days', '365', 'int', 'days for which evacuations are kept after their end'),
	-- Samples and rejected reports.
	('sample_min_s', '5', 'int', 'fewest seconds between samples that a step may ask for'),
	('sample_days', '30', 'int', 'days for which samples are kept; maxima, means and last figures are kept with the job'),
	('rejected_report_days', '30', 'int', 'days for which reports are kept that came late or fitted nothing'),
	-- Mail and triggers.
	('mail_tries', '5', 'int', 'how often a mail is tried before it is given up'),
	('mail_retry_s', '60', 'int', 'seconds before a failed mail is tried again; twice as many after each further failure'),
	('mail_hours', '24', 'int', 'hours after its event when a mail is given up'),
	('mail_job_max', '100', 'int', 'mails sent about one job; the rest is given up'),
	('trigger_tries', '10', 'int', 'how often the delivery of a trigger is tried before it is given up'),
	('trigger_retry_s', '1', 'int', 'seconds before a failed delivery is tried again; twice as many after each further failure'),
	('trigger_retry_max_s', '300', 'int', 'most seconds between two tries of a delivery'),
	('trigger_max', '100', 'int', 'triggers that one user may have'),
	('trigger_run_days', '30', 'int', 'days for which deliveries of triggers are kept after their end'),
	('webhook_hosts', '', 'text',
		'host names, separated by commas, to which webhooks of users may be sent; empty: none. Those of administrators may be '
		'sent to any host'),
	-- Credentials.
	('credential_max', '32', 'int', 'credentials that one user may have'),
	('credential_key', '1', 'int', 'number of the key with which rota-credd seals; "rota admin cred rotate" raises it'),
	('credential_warn_hours', '24', 'int',
		'hours before the end of a credential when users whose steps outlive it get mail; 0: no such mail'),
	('credential_uploads', '600', 'int',
		'uploads of credentials that one user may make within an hour, those of --cred=NAME:forward included'),
	('credential_grants', '100', 'int', 'users to whom one credential may be granted'),
	-- Checkpoints.
	('checkpoint_wait_s', '60', 'int',
		'seconds within which a program that is asked for a checkpoint has to begin it, and again to end it'),
	('checkpoint_pace_s', '30', 'int',
		'seconds from one start of a step to the next, if it has saved itself and ended with exit code 85'),
	('checkpoint_quota_mb', '0', 'int', 'MiB that all checkpoints of a user may have; 0: no limit'),
	('checkpoint_interval_s', '1800', 'int',
		'seconds between checkpoints with --checkpoint-interval=auto, as long as none of the step has been measured'),
	('checkpoint_mtbf_days', '365', 'int',
		'mean time between failures of a node, in days, for --checkpoint-interval=auto, if no node has failed in the last '
		'90 days'),
	('checkpoint_avoid_s', '300', 'int',
		'seconds for which a step does not start again on a node that could not read its checkpoint'),
	('stage_ahead', '10', 'int',
		'elements of one array that are staged in, or have failed to be, before they have nodes; 1 at least');

create function rota.never_deleted() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
	raise exception 'rows of "%" are never %', tg_table_name, case tg_op when 'UPDATE' then 'changed' else 'deleted' end
		using errcode = '23001', hint = 'Retention detaches whole partitions.';
end $$;
comment on function rota.never_deleted() is 'Trigger function: refuses DELETE, TRUNCATE or UPDATE of rows that stay for ever.';

create table rota.admin_event (
	admin_event_id bigint generated always as identity primary key,
	at timestamptz not null default clock_timestamp(),
	actor text not null,
	object text not null,
	action text not null,
	name text not null,
	given jsonb not null,
	before jsonb,
	after jsonb
);
create index admin_event_by_object on rota.admin_event (object, name, at);
comment on table rota.admin_event is
	'Changes of objects by administrators, and database sessions that Rota ended: one row each, append-only.';
comment on column rota.admin_event.admin_event_id is 'Key; later changes have higher ids.';
comment on column rota.admin_event.at is 'When the change was made.';
comment on column rota.admin_event.actor is
	'Login name of the user who made the change; of a session that was ended, the role of the daemon that did it.';
comment on column rota.admin_event.object is
	'Kind of object that was changed: partition, node, account, user, qos, license, setting, reservation, range, usage; session: '
	'a database session was ended.';
comment on column rota.admin_event.action is
	'What was done to the object: create, change, delete, drain, resume, dead, detach, drop, rebuild or end.';
comment on column rota.admin_event.name is
	'Name of the object that was changed; of a session, its login, or the name of the daemon.';
comment on column rota.admin_event.given is
	'Keys and values of the change, as the user gave them; of a session, the reason, and how many were ended for it at a time. '
	'Further ones of the same login and reason within a minute have no row.';
comment on column rota.admin_event.before is 'Row of the object before the change; null: the object did not exist.';
comment on column rota.admin_event.after is 'Row of the object after the change; null: the object does not exist any more.';
create trigger admin_event_never_deleted before delete or truncate on rota.admin_event
	for each statement execute function rota.never_deleted();
create trigger admin_event_never_changed before update on rota.admin_event
	for each statement execute function rota.never_deleted();
