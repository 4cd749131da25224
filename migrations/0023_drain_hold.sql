-- How often attempts of a job had their node drained, so that a job that takes nodes out of use is held.
alter table rota.job add column drain_count int not null default 0;
comment on column rota.job.drain_count is
	'How often the end of an attempt of the job drained its node, since an operator last released the job.';

insert into rota.setting (name, value, kind, help) values
	('drain_hold_count', '3', 'int',
		'times the ends of attempts of one job may drain a node before the job is held until an operator releases it; '
		'0: any number');
