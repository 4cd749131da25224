-- Incarnations of the database: a promoted standby or a restored copy may lack what an earlier server has answered.
create table rota.incarnation (
	incarnation int primary key,
	timeline bigint not null,
	began_at timestamptz not null default clock_timestamp(),
	made_by text not null,
	reason text not null,
	job_after bigint not null,
	job_from bigint not null,
	constraint incarnation_raises_numbers check (job_from > job_after)
);
comment on table rota.incarnation is
	'Incarnations of the database, one row each; the one with the highest number is the present one. Another one begins when the '
	'database is promoted or restored. It gives out only numbers that no earlier one has given out.';
comment on column rota.incarnation.incarnation is 'Number of the incarnation, from 1.';
comment on column rota.incarnation.timeline is 'Timeline of PostgreSQL in which it began; each promotion begins another one.';
comment on column rota.incarnation.began_at is 'When it was noticed.';
comment on column rota.incarnation.made_by is 'Database role of the session that noticed it.';
comment on column rota.incarnation.reason is 'How it was noticed.';
comment on column rota.incarnation.job_after is 'Highest job number that the database had then given out, as far as it knew.';
comment on column rota.incarnation.job_from is 'First job number that it gives out.';

insert into rota.incarnation (incarnation, timeline, made_by, reason, job_after, job_from)
select 1, ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint, session_user, 'first',
	x.last, x.last + 1
from (select case when s.is_called then s.last_value else s.last_value - 1 end as last from rota.job_job_id_seq s) x;

alter table rota.node_lease add column inventory_wanted boolean not null default false;
comment on column rota.node_lease.inventory_wanted is
	'Whether the lease is not renewed before the node has registered again, and so has said which attempts it has.';
