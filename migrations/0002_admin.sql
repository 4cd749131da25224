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
	('queue_visible', 'true', 'bool',
		'whether users see the jobs of others in lists; scripts and environments stay private either way'),
	('requeue_max', '5', 'int', 'requeues after which a step is held'),
	('requeue_delay_s', '2', 'int', 'seconds before a requeued or retried step may start again'),
	('age_weight_s', '3600', 'int', 'seconds of waiting that weigh as much as one point of priority'),
	('max_submitted', '200000', 'int', 'live steps that one user may have; an array is one'),
	('max_submitted_all', '1000000', 'int', 'live steps that all users together may have; an array is one'),
	('max_script_bytes', '4194304', 'int', 'largest script, in bytes'),
	('max_steps', '10000', 'int', 'most steps of one script'),
	('max_edges', '100000', 'int', 'most peer constraints of one script'),
	('max_array', '10000000', 'int', 'most elements of one array'),
	('range_size', '1000000', 'int', 'jobs in one range partition of the big tables'),
	('flap_count', '3', 'int',
		'times a node may go down within flap_window_s before it is drained when it comes back; 0: any number'),
	('flap_window_s', '3600', 'int', 'seconds for flap_count'),
	('fair_share_weight_s', '0', 'int',
		'seconds of waiting that the full range of the fair share factor weighs; 0: fair share is off'),
	('fair_share_half_life_s', '604800', 'int', 'seconds after which use counts half for fair share'),
	('fair_share_period_s', '60', 'int', 'seconds for which fair share factors are kept before they are computed anew'),
	('reader_transaction_s', '600', 'int',
		'seconds that a transaction of an analyst or reader may last, whatever it does; then its session is ended; '
		'0: any time'),
	('sample_min_s', '5', 'int', 'fewest seconds between samples that a step may ask for'),
	('sample_days', '30', 'int', 'days for which samples are kept; maxima, means and last figures are kept with the job'),
	('rejected_report_days', '30', 'int', 'days for which reports are kept that came late or fitted nothing'),
	('mail_tries', '5', 'int', 'how often a mail is tried before it is given up'),
	('mail_retry_s', '60', 'int', 'seconds before a failed mail is tried again; twice as many after each further failure'),
	('mail_hours', '24', 'int', 'hours after its event when a mail is given up'),
	('mail_job_max', '100', 'int', 'mails sent about one job; the rest is given up'),
	('time_zone', current_setting('TimeZone'), 'text',
		'time zone of the site: its days and months are those of the usage figures; "rota admin usage rebuild" adds up '
		'anew by it');

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
comment on table rota.admin_event is 'Changes of objects by administrators: one row each, append-only.';
comment on column rota.admin_event.admin_event_id is 'Key; later changes have higher ids.';
comment on column rota.admin_event.at is 'When the change was made.';
comment on column rota.admin_event.actor is 'Login name of the user who made the change.';
comment on column rota.admin_event.object is
	'Kind of object that was changed: partition, node, account, user, qos, license, setting, reservation.';
comment on column rota.admin_event.action is 'What was done to the object: create, change, delete, drain, resume or dead.';
comment on column rota.admin_event.name is 'Name of the object that was changed.';
comment on column rota.admin_event.given is 'Keys and values of the change, as the user gave them.';
comment on column rota.admin_event.before is 'Row of the object before the change; null: the object did not exist.';
comment on column rota.admin_event.after is 'Row of the object after the change; null: the object does not exist any more.';
create trigger admin_event_never_deleted before delete or truncate on rota.admin_event
	for each statement execute function rota.never_deleted();
create trigger admin_event_never_changed before update on rota.admin_event
	for each statement execute function rota.never_deleted();
