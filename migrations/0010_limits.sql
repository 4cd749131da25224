-- Limits of what may be queued: of all users together too, and known without counting the queue at each submission.

create table rota.submit_load (
	uid int primary key,
	steps bigint not null check (steps >= 0),
	last_job bigint not null,
	counted_at timestamptz not null default now()
) with (fillfactor = 50);
comment on table rota.submit_load is 'Live steps as they were counted last: of each user near enough to a limit, and of all.';
comment on column rota.submit_load.uid is 'The user; -1: all.';
comment on column rota.submit_load.steps is 'Live steps then, an array being one.';
comment on column rota.submit_load.last_job is 'The newest job that was counted; those behind it come on top.';
comment on column rota.submit_load.counted_at is 'When.';

insert into rota.setting (name, value, kind, help) values
	('max_submitted_all', '1000000', 'int', 'live steps that all users together may have; an array is one');
update rota.setting set value = '200000' where name = 'max_submitted' and value = '1000000';
update rota.setting set help = 'live steps that one user may have; an array is one' where name = 'max_submitted';
