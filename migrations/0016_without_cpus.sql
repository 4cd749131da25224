-- CPUs that a suspended step gives back are not charged to it.
alter table rota.allocation add column without_cpus tstzmultirange not null default '{}';
comment on column rota.allocation.without_cpus is
	'Times at which the allocation held no CPUs, because its step was suspended and had given them back. Without an upper '
	'bound: since then.';
update rota.allocation a
set without_cpus = tstzmultirange(tstzrange(t.suspended_at, null))
from rota.attempt t
where t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt and t.suspended_at is not null
	and a.ended_at is null and a.cpus_held = 0 and a.started_at is not null;
