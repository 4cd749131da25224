-- When the certificate ends with which a jobmgrd serves HTTPS, so that `rota status` shows it.
alter table rota.daemon add column certificate_ends_at timestamptz;
comment on column rota.daemon.certificate_ends_at is
	'When the certificate ends with which the daemon, a jobmgrd, serves HTTPS; null: it serves none, or has not reported it yet.';
