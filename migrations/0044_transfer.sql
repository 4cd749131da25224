-- Transfers: lines stage-in and stage-out of scripts, and what became of each.
create table rota.transfer (
	job_id bigint not null,
	transfer int not null,
	direction text not null check (direction in ('in', 'out', 'drop')),
	mode text not null check (mode in ('copy', 'rsync', 'link', 'command')),
	on_fail text not null check (on_fail in ('keep', 'out', 'drop')),
	source text not null,
	destination text not null,
	checksum boolean not null,
	reuse boolean not null,
	prefer boolean not null,
	step_id int,
	for_job bigint,
	for_transfer int,
	primary key (job_id, transfer)
) partition by range (job_id);
create index transfer_prefer on rota.transfer (job_id) where prefer;
create index transfer_to on rota.transfer (md5(destination)) where direction = 'in';
comment on table rota.transfer is
	'Transfers that the scripts of jobs ask for: lines stage-in and stage-out, and the drop of $ROTA_SCRATCH.';
comment on column rota.transfer.job_id is 'Job whose script has the line.';
comment on column rota.transfer.transfer is 'Number of the line among the transfers of the job, from 1.';
comment on column rota.transfer.direction is 'in: before the steps; out: after them; drop: the folder of the job is removed.';
comment on column rota.transfer.mode is 'How: copy, rsync, link or command.';
comment on column rota.transfer.on_fail is
	'What becomes of the data when the job fails: keep, out (it is transferred all the same) or drop.';
comment on column rota.transfer.source is 'Path of the source; of a drop, the folder.';
comment on column rota.transfer.destination is 'Path of the destination; empty for a drop.';
comment on column rota.transfer.checksum is 'Source and destination are read again and compared.';
comment on column rota.transfer.reuse is 'Nothing is transferred where an earlier transfer of the same source is still there.';
comment on column rota.transfer.prefer is
	'The steps are placed on nodes that have this data, if such nodes are free: of a stage-in by the nodes of the steps.';
comment on column rota.transfer.step_id is 'Step that makes it; null: the nodes of the job''s steps make it, each for itself.';
comment on column rota.transfer.for_job is 'Job whose transfer this makes again, and reports to; null: it is the job''s own.';
comment on column rota.transfer.for_transfer is 'Number of the repeated transfer in for_job; null: this transfer repeats none.';

create table rota.transfer_run (
	job_id bigint not null,
	transfer int not null,
	place text not null,
	state text not null check (state in ('running', 'done', 'reused', 'failed', 'kept', 'dropped')),
	by_job bigint not null,
	step_id int not null,
	attempt int not null,
	node text not null,
	tries int not null default 1,
	print text,
	files bigint check (files >= 0),
	bytes bigint check (bytes >= 0),
	checksum text,
	message text,
	first_at timestamptz not null default clock_timestamp(),
	began_at timestamptz not null default clock_timestamp(),
	ended_at timestamptz,
	primary key (job_id, transfer, place),
	constraint transfer_run_is_over_or_not check ((state = 'running') = (ended_at is null))
) partition by range (job_id);
comment on table rota.transfer_run is 'What became of transfers, as rota-mover reports it, which runs as the owner of the job.';
comment on column rota.transfer_run.job_id is 'Job of the transfer.';
comment on column rota.transfer_run.transfer is 'Number of the transfer.';
comment on column rota.transfer_run.place is
	'Node that has the data in a folder of its own; empty: all nodes have the same folder.';
comment on column rota.transfer_run.state is
	'running; done; reused: the data was there; failed; kept: it was to be dropped, and something has failed; dropped.';
comment on column rota.transfer_run.by_job is 'Job that made it the latest time: its own, or one of rota stage retry.';
comment on column rota.transfer_run.step_id is 'Step of by_job that made the transfer the latest time.';
comment on column rota.transfer_run.attempt is 'Attempt of step_id that made the transfer the latest time.';
comment on column rota.transfer_run.node is 'Node on which it was made the latest time.';
comment on column rota.transfer_run.tries is 'How often it was begun.';
comment on column rota.transfer_run.print is 'Digest of names, sizes and times of the source''s files; null: not known.';
comment on column rota.transfer_run.files is 'Files on the side of the job at the end; null: it has not ended well.';
comment on column rota.transfer_run.bytes is 'Bytes in the transferred files; null: the transfer has not ended well.';
comment on column rota.transfer_run.checksum is 'SHA-256 over the names and contents of the files, hex; null: not asked for.';
comment on column rota.transfer_run.message is 'Why it failed; null: it did not.';
comment on column rota.transfer_run.first_at is 'When it was first begun.';
comment on column rota.transfer_run.began_at is 'When it was begun the latest time.';
comment on column rota.transfer_run.ended_at is 'When its end was reported; null: it has not ended, or its program was killed.';
select rota.range_complete();

alter table rota.hook_run drop constraint hook_run_hook_check;
alter table rota.hook_run add constraint hook_run_hook_check
	check (hook in ('site_prolog', 'user_prolog', 'user_epilog', 'site_epilog', 'stage_in', 'stage_out'));
comment on column rota.hook_run.hook is
	'Which program ran: site_prolog, user_prolog, user_epilog or site_epilog; stage_in or stage_out: rota-mover.';
