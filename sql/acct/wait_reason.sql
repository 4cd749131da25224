-- What steps asked for, and why they waited.
create view internal.acct_request as
select r.job_id, r.step_id, r.name as step, j.user_name, j.account, j.qos, r.partition, a.size as array_size, r.nodes_min,
	r.ntasks, r.cpus_per_task, r.ntasks::bigint * r.cpus_per_task as cpus_requested,
	acct.mem_requested_mb(r.mem_mb, r.mem_per_cpu_mb, r.nodes_min, r.ntasks, r.cpus_per_task) as mem_requested_mb,
	nullif(r.gres, '{}') as gres_requested, nullif(r.licenses, '{}') as licenses,
	nullif(r."constraint", '') as node_constraint, r.time_limit_s, r.begin_at, r.deadline_at, j.submit_at
from rota.step_request r
join rota.job j on j.job_id = r.job_id
left join rota.step_array a on a.job_id = r.job_id and a.step_id = r.step_id;
select internal.owner_view('request');
comment on view acct.request is 'What steps asked for, one row each; of an array, one row, for each of its elements.';
comment on column acct.request.job_id is 'Number of the job.';
comment on column acct.request.step_id is 'Number of the step in its job; of an array, that of the array.';
comment on column acct.request.step is 'Name of the step in the script.';
comment on column acct.request.user_name is 'Login name of the job''s owner.';
comment on column acct.request.account is 'Account that pays; null: none.';
comment on column acct.request.qos is 'Quality of service of the job.';
comment on column acct.request.partition is 'Partition that was asked for.';
comment on column acct.request.array_size is 'Elements of the array, each of which asks for this; null: not an array.';
comment on column acct.request.nodes_min is 'Lowest number of nodes.';
comment on column acct.request.ntasks is 'Tasks, over all nodes.';
comment on column acct.request.cpus_per_task is 'CPUs for each task.';
comment on column acct.request.cpus_requested is 'CPUs, over all nodes.';
comment on column acct.request.mem_requested_mb is 'Memory, over all nodes, in MiB; null: none.';
comment on column acct.request.gres_requested is 'Generic resources on each node: {"gpu": 2}; null: none.';
comment on column acct.request.licenses is 'Licences: {"matlab": 1}; null: none.';
comment on column acct.request.node_constraint is 'Features that its nodes must have; null: none.';
comment on column acct.request.time_limit_s is 'Time limit in seconds; 0: none; null: that of the partition.';
comment on column acct.request.begin_at is 'Before when it was not to start; null: no such time.';
comment on column acct.request.deadline_at is 'When it was to have ended; null: no such time.';
comment on column acct.request.submit_at is 'When its job was submitted.';

-- Before a step is eligible, its own edges, dates and holds keep it back; then the scheduler says what does (rota.plan). A hold
-- that is over has left no trace.
create view internal.acct_wait_reason as
select w.job_id, w.step_id, r.name as step, j.user_name, j.account, j.qos, r.partition, w.from_at, w.until_at,
	extract(epoch from coalesce(w.until_at, now()) - w.from_at)::double precision as wait_s, w.reason, w.blocker,
	substring(w.blocker from '^\d+')::bigint as blocker_job_id
from (
	select x.job_id, x.step_id, x.from_at, x.until_at, x.reason, x.blocker from rota.wait_reason x
	union all
	select p.job_id, p.step_id, p.since, null, p.reason, p.blocker from rota.plan p
	union all
	select s.job_id, s.step_id, o.submit_at, f.eligible_at as until_at,
		case
		when exists (select from rota.step_edge e
			where e.job_id = s.job_id and e.step_id = s.request_id and e.kind = 'after') then 'dependency'
		when s.held = '' and q.begin_at is not null then 'begin'
		else 'held' end, null
	from rota.step s
	join rota.job o on o.job_id = s.job_id
	join rota.step_request q on q.job_id = s.job_id and q.step_id = s.request_id
	left join rota.attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = 1
	cross join lateral (select case
		when s.ended_at is null and (s.held <> '' or q.begin_at > now()) then null
		else coalesce(t.eligible_at, t.ordered_at, greatest(s.eligible_at, q.begin_at), s.ended_at) end as eligible_at) f
	where s.array_index is null and coalesce(f.eligible_at, now()) - o.submit_at >= interval '1 second'
) w
join rota.step s on s.job_id = w.job_id and s.step_id = w.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = w.job_id;
select internal.owner_view('wait_reason');
comment on view acct.wait_reason is
	'Why steps waited, over time: one row for each reason and as long as it lasted, if that was a second at least. Until a '
	'step is eligible for the first time, it waits for what its script said.';
comment on column acct.wait_reason.job_id is 'Number of the job.';
comment on column acct.wait_reason.step_id is
	'Number of the step in its job; of an array, that of the array for the elements that had not started.';
comment on column acct.wait_reason.step is 'Name of the step in the script.';
comment on column acct.wait_reason.user_name is 'Login name of the job''s owner.';
comment on column acct.wait_reason.account is 'Account that pays; null: none.';
comment on column acct.wait_reason.qos is 'Quality of service of the job.';
comment on column acct.wait_reason.partition is 'Partition that was asked for.';
comment on column acct.wait_reason.from_at is 'From when it waited for this reason.';
comment on column acct.wait_reason.until_at is 'Until when; null: it still does.';
comment on column acct.wait_reason.wait_s is 'How long that was, in seconds, or is up to now.';
comment on column acct.wait_reason.reason is
	'Reason: dependency, begin or held before it was eligible; then resources, priority, partition, license, node, peer, '
	'deadline, limit, array_limit, maintenance or reservation.';
comment on column acct.wait_reason.blocker is 'Label of another step that it waited for; null: none known.';
comment on column acct.wait_reason.blocker_job_id is 'Number of the job of that step.';
