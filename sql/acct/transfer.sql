-- Transfers of data that lines stage-in and stage-out of scripts ask for.
create view internal.transfer_now as
select t.job_id, t.transfer, coalesce(r.place, '') as place, j.user_name, j.account, t.direction, t.mode, t.on_fail,
	replace(t.source, '%N', coalesce(nullif(r.place, ''), '%N')) as source,
	replace(t.destination, '%N', coalesce(nullif(r.place, ''), '%N')) as destination, t.step_id,
	case
		when r.state = 'running' and not exists (select from rota.attempt a where a.job_id = r.by_job and a.step_id = r.step_id
			and a.attempt = r.attempt and a.state is null) then case when exists (select from rota.step s
			where s.job_id = r.by_job and s.step_id = r.step_id and s.attempt = r.attempt and s.end_wanted = 'cancel')
			then 'cancelled' else 'interrupted' end
		when r.state is not null then r.state
		when j.ended_at is null then 'pending'
		when t.direction = 'in' or j.started_at is null then 'skipped'
		else 'kept' end as state,
	r.by_job, r.node, r.tries, r.files, r.bytes, r.checksum, r.message, r.first_at, r.began_at, r.ended_at,
	extract(epoch from r.ended_at - r.began_at)::double precision as elapsed_s,
	(r.bytes / nullif(extract(epoch from r.ended_at - r.began_at), 0))::double precision as bytes_per_s
from rota.transfer t
join rota.job j on j.job_id = t.job_id
left join rota.transfer_run r on r.job_id = t.job_id and r.transfer = t.transfer
where t.for_job is null; -- one that makes another's again reports to that
comment on view internal.transfer_now is
	'Transfers with their state, one row for each, or one for each node that makes the transfer.';

create view internal.acct_transfer as
select n.job_id, n.transfer, n.place, n.user_name, n.account, n.direction, n.mode, n.on_fail,
	case when o.own then n.source end as source,
	case when o.own then n.destination end as destination, n.step_id, n.state, n.by_job, n.node, n.tries, n.files, n.bytes,
	n.checksum, case when o.own then n.message end as message, n.first_at, n.began_at, n.ended_at, n.elapsed_s, n.bytes_per_s
from internal.transfer_now n
-- As in acct.job: only the owner and administrators see paths.
cross join lateral (select n.user_name = current_user or (select pg_has_role('rota_admin', 'member')) as own) o;
select internal.owner_view('transfer');
comment on view acct.transfer is
	'Transfers of data by lines stage-in and stage-out, one row each, as the jobs of the owner report them.';
comment on column acct.transfer.job_id is 'Number of the job.';
comment on column acct.transfer.transfer is 'Number of the transfer among those of the job, from 1.';
comment on column acct.transfer.place is 'Node that has the data in a folder of its own; empty: all nodes have the same folder.';
comment on column acct.transfer.user_name is 'Login name of the job''s owner.';
comment on column acct.transfer.account is 'Account that pays; null: none.';
comment on column acct.transfer.direction is
	'in: before the steps; out: after the steps; drop: the folder of the job is removed.';
comment on column acct.transfer.mode is 'How: copy, rsync, link or command.';
comment on column acct.transfer.on_fail is 'What becomes of the data when the job fails: keep, out or drop.';
comment on column acct.transfer.source is 'Path of the source; null: you are neither its owner nor an administrator.';
comment on column acct.transfer.destination is 'Path of the destination; null: you are neither its owner nor an administrator.';
comment on column acct.transfer.step_id is 'Step that makes the transfer; null: the nodes of the job''s steps make it.';
comment on column acct.transfer.state is
	'pending; running; done; reused: the data was there already; failed; interrupted: the program of the transfer was '
	'killed; cancelled: killed by a cancel; kept: the data is still in the folder of the job, since something failed; '
	'dropped; skipped: the job ended before.';
comment on column acct.transfer.by_job is 'Job that last made the transfer; null: not begun.';
comment on column acct.transfer.node is 'Node on which the transfer was last made; null: not begun.';
comment on column acct.transfer.tries is 'How often the transfer was begun; null: never.';
comment on column acct.transfer.files is
	'Number of files on the job''s side at the end of the transfer; null: the transfer has not ended well.';
comment on column acct.transfer.bytes is 'Bytes in the transferred files; null: the transfer has not ended well.';
comment on column acct.transfer.checksum is 'SHA-256 over the names and contents of the files, hex; null: not asked for.';
comment on column acct.transfer.message is
	'Why the transfer failed; null: it did not, or you are neither the job''s owner nor an administrator.';
comment on column acct.transfer.first_at is 'When the transfer was first begun; null: never.';
comment on column acct.transfer.began_at is 'When the latest try of the transfer began; null: never.';
comment on column acct.transfer.ended_at is 'When the end of the transfer was reported; null: not ended.';
comment on column acct.transfer.elapsed_s is 'Seconds that the latest try of the transfer took; null: not ended.';
comment on column acct.transfer.bytes_per_s is
	'Bytes per second: bytes divided by elapsed_s; null: the transfer has not ended well.';
