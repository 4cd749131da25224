-- Peer constraints between steps, and the chain of steps that determined how long a job took.
create view internal.acct_edge as
select e.job_id, e.step_id, r.name as step, e.kind, e."condition", e.peer_job_id, nullif(e.peer_step_id, -1) as peer_step_id,
	p.name as peer, e.state, e.resolved_at,
	j.user_name, j.account
from rota.step_edge e
join rota.job j on j.job_id = e.job_id
join rota.step_request r on r.job_id = e.job_id and r.step_id = e.step_id
left join rota.step_request p on p.job_id = e.peer_job_id and p.step_id = e.peer_step_id;
select internal.owner_view('edge');
comment on view acct.edge is
	'Peer constraints between steps, one row each: which step waits for which peer, and since when it no longer waits.';
comment on column acct.edge.job_id is 'Job of the step that has the constraint.';
comment on column acct.edge.step_id is 'Step that has the constraint; of an array, its head.';
comment on column acct.edge.step is 'Name of the step that has the constraint, in its script.';
comment on column acct.edge.kind is
	'Kind of the constraint. after: order; with: started in one decision; same_nodes; other_nodes.';
comment on column acct.edge."condition" is 'For after: ok, any, fail, start, corr or teardown.';
comment on column acct.edge.peer_job_id is 'Number of the job of the peer.';
comment on column acct.edge.peer_step_id is 'Number of the peer step; null: the peer is a whole job.';
comment on column acct.edge.peer is 'Name of the peer step in its script; null: the peer is a whole job.';
comment on column acct.edge.state is
	'State of the constraint: waiting, met, failed (can never be met), or not_needed (the peer ended well, or was skipped).';
comment on column acct.edge.resolved_at is 'When the constraint was met, failed or became not_needed; null: waiting.';
comment on column acct.edge.user_name is 'Login name of the bound step''s owner.';
comment on column acct.edge.account is 'Account of the bound step''s job; null: none.';

create function acct.critical_path(p_job bigint)
returns table (nr int, step_id int, step text, after text, waited_s double precision, ran_s double precision,
	started_at timestamptz, ended_at timestamptz, last_index int)
language plpgsql stable set search_path = acct, pg_temp as $$
#variable_conflict use_column
begin
	return query
	with recursive whole as materialized (
		-- Use the start of an array's first element and the end of its last.
		select s.step, min(s.step_id) as step_id, min(s.started_at) as started_at,
			max(coalesce(s.ended_at, now())) as ended_at,
			(array_agg(s.array_index order by coalesce(s.ended_at, now()) desc,
			s.array_index desc) filter (where not s.is_array))[1] as last_index
		from step s
		where s.job_id = p_job
		group by s.step
	), back as (
		select 0 as up,
			w.* from (select * from whole x where x.started_at is not null order by x.ended_at desc,
			x.step_id desc limit 1) w
		union all
		-- The predecessor of a step is the step that ended last among those that it had to run after.
		select b.up + 1, p.*
		from back b
		cross join lateral (
			select w.*
			from edge e
			join whole w on w.step = e.peer
			where e.job_id = p_job and e.step_id = b.step_id and e.kind = 'after' and e.peer_job_id = p_job
				and w.started_at is not null
			order by w.ended_at desc, w.step_id desc
			limit 1
		) p
	)
	select (row_number() over w)::int, b.step_id, b.step, lag(b.step) over w,
		extract(epoch from b.started_at
			- coalesce(lag(b.ended_at) over w,
			(select j.submit_at from job j where j.job_id = p_job)))::double precision,
		extract(epoch from b.ended_at - b.started_at)::double precision, b.started_at, b.ended_at, b.last_index
	from back b
	window w as (order by b.up desc)
	order by 1;
end $$;
comment on function acct.critical_path(bigint) is
	'The steps that made a job take as long as it did, from its first to its last: each waited for the one before it '
	'(after; waited_s seconds from that one''s end, or from submission, to its start), and ran for ran_s seconds; of an '
	'array, from the start of its first element to the end of its last (last_index).';
