-- Reports about the same jobs wait for each other, each for a lock on the jobs' rows; and what a report costs depends little on how much
-- is in it. One that would wait is left here, so that whoever has the lock next settles all of them at once.
create unlogged table rota.report_left (
	left_id bigint generated always as identity primary key,
	node_id int,
	job_ids bigint[] not null,
	told_at timestamptz not null default now(),
	report jsonb not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
alter table rota.report_left alter column report set storage external;
comment on table rota.report_left is 'Reports of nodes that wait to be settled; a row goes when it is. Not logged: until then its node tells it again whenever it has to.';
comment on column rota.report_left.left_id is 'Order of coming.';
comment on column rota.report_left.node_id is 'The node, or one of those whose process manager told it.';
comment on column rota.report_left.job_ids is 'Jobs that it is about.';
comment on column rota.report_left.told_at is 'When it was told: its ages count from here.';
comment on column rota.report_left.report is 'The report, as api.node_report takes it.';
