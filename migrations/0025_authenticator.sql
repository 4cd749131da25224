-- Authenticators of steps cover the number of their job from now on.
create table rota.authenticator (
	numbered_after bigint not null,
	only_row boolean primary key default true check (only_row)
);
comment on table rota.authenticator is 'What the authenticators of steps cover. The row never changes.';
comment on column rota.authenticator.numbered_after is
	'The authenticators of jobs with higher numbers cover the job''s number, those of the others do not: they were made before.';
comment on column rota.authenticator.only_row is 'Always true: the table has only one row.';
insert into rota.authenticator (numbered_after)
select case when s.is_called then s.last_value else s.last_value - 1 end from rota.job_job_id_seq s;
