-- Idle limits of sessions: of all sessions in a partition or with a quality of service, and which limit counts for a session.
alter table rota.partition add column idle_timeout_s int,
	add constraint partition_idle_timeout_is_positive check (idle_timeout_s > 0);
comment on column rota.partition.idle_timeout_s is
	'Seconds without keys and output after which a session in the partition is ended, for steps that start from now on; '
	'null: never.';

alter table rota.qos add column idle_timeout_s int,
	add constraint qos_idle_timeout_is_positive check (idle_timeout_s > 0);
comment on column rota.qos.idle_timeout_s is
	'Seconds without keys and output after which a session of a job with the quality of service is ended, for steps that '
	'start from now on; null: never.';

alter table rota.session add column idle_timeout_of text,
	add constraint session_idle_timeout_of_is_short check (length(idle_timeout_of) <= 256);
comment on column rota.session.idle_timeout_of is
	'Whose limit idle_timeout_s is: session, job, "partition NAME" or "qos NAME"; null: there is none.';
