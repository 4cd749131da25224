-- Limits of analysts and readers that no session can lift.
insert into rota.setting (name, value, kind, help) values
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
		'they may keep it from being emptied; 0: never');
comment on table rota.admin_event is
	'Changes of objects by administrators, and database sessions that Rota ended: one row each, append-only.';
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
