-- The resources that steps asked for, and why steps waited.
create view internal.acct_request as
select r.job_id, r.step_id, r.name as step, j.user_name, j.account, j.qos, r.partition, a.size as array_size, r.nodes_min,
	r.ntasks, r.cpus_per_task, r.ntasks::bigint * r.cpus_per_task as cpus_requested,
	acct.mem_requested_mb(r.mem_mb, r.mem_per_cpu_mb, r.nodes_min, r.ntasks, r.cpus_per_task) as mem_requested_mb,
	nullif(r.gres, '{}') as gres_requested, nullif(r.licenses, '{}') as licenses,
	nullif(r."constraint", '') as node_constraint, r.time_limit_s, r.begin_at, r.deadline_at, j.submit_at, r.image, r.prep
from rota.step_request r
join rota.job j on j.job_id = r.job_id
left join rota.step_array a on a.job_id = r.job_id and a.step_id = r.step_id;
select internal.owner_view('request');
comment on view acct.request is
	'Requests of steps, one row each: the resources asked for. An array has one row, which is the request of each of its '
	'elements.';
comment on column acct.request.job_id is 'Number of the job.';
comment on column acct.request.step_id is 'Number of the step in its job; of an array, the array''s number.';
comment on column acct.request.step is 'Name of the step in the script.';
comment on column acct.request.user_name is 'Login name of the job''s owner.';
comment on column acct.request.account is 'Account that pays; null: none.';
comment on column acct.request.qos is 'Quality of service of the job.';
comment on column acct.request.partition is 'Partition that was asked for.';
comment on column acct.request.array_size is
	'Number of elements of the array, each of which asks for the resources of this row; null: not an array.';
comment on column acct.request.nodes_min is 'Lowest number of nodes asked for.';
comment on column acct.request.ntasks is 'Number of tasks asked for, over all nodes.';
comment on column acct.request.cpus_per_task is 'CPUs asked for each task.';
comment on column acct.request.cpus_requested is 'CPUs asked for, over all nodes.';
comment on column acct.request.mem_requested_mb is 'Memory asked for, over all nodes, in MiB; null: none.';
comment on column acct.request.gres_requested is 'Generic resources asked for on each node: {"gpu": 2}; null: none.';
comment on column acct.request.licenses is 'Licences asked for: {"matlab": 1}; null: none.';
comment on column acct.request.node_constraint is 'Features that the step''s nodes must have; null: none.';
comment on column acct.request.image is 'Image that the step''s nodes must have; null: the default image of each node.';
comment on column acct.request.prep is
	'Preparation that the step''s nodes must have, with its arguments, as NAME:ARGS; null: none.';
comment on column acct.request.time_limit_s is 'Time limit in seconds; 0: none; null: that of the partition.';
comment on column acct.request.begin_at is 'Time before which the step may not start; null: none.';
comment on column acct.request.deadline_at is 'Time by which the step should have ended (--deadline); null: none.';
comment on column acct.request.submit_at is 'When the job of the step was submitted.';

-- Reasons why a pending step waits: before it is eligible, its own edges and dates; holds; limits, which the steps of a queue
-- line reach together; and the reason that the scheduler gives (rota.plan), which is missing for steps far back in the queue.
create view internal.wait_peer as
select e.job_id, e.step_id, e.edge, e.kind, e.state, e.resolved_at,
	e.peer_job_id || coalesce('.' || r.name || coalesce('[' || p.array_index || ']', ''), '') as label
from rota.step_edge e
left join rota.step p on p.job_id = e.peer_job_id and p.step_id = e.peer_step_id
left join rota.step_request r on r.job_id = p.job_id and r.step_id = p.request_id;
comment on view internal.wait_peer is 'Edges with the label of the peer: 812.solve, or 812 if the peer is a whole job.';

create view internal.wait_before as
select s.job_id, s.step_id, j.submit_at as from_at, f.eligible_at as until_at, f.reason,
	-- While a step waits: one of the peers that it waits for. Afterwards: the peer that met its condition last, or first if
	-- any one peer was enough.
	case
	when f.reason = 'dependency'
	then (select p.label from internal.wait_peer p
		where p.job_id = s.job_id and p.step_id = s.request_id and p.kind = 'after'
			and (p.state = 'waiting') = (f.eligible_at is null)
		order by case when q.deps_any and p.state = 'met' then p.resolved_at end, p.resolved_at desc, p.edge
		limit 1) end as blocker
from rota.step s
join rota.job j on j.job_id = s.job_id
join rota.step_request q on q.job_id = s.job_id and q.step_id = s.request_id
left join rota.attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = 1
cross join lateral (
	select case when s.ended_at is null and q.begin_at > now() then null
		else coalesce(t.eligible_at, t.ordered_at, least(greatest(s.eligible_at, q.begin_at), s.ended_at)) end as eligible_at,
		case
		when exists (select from rota.step_edge e
			where e.job_id = s.job_id and e.step_id = s.request_id and e.kind = 'after') then 'dependency'
		when q.begin_at is not null then 'begin' end as reason
) f
where s.array_index is null and f.reason is not null and coalesce(f.eligible_at, now()) - j.submit_at >= interval '1 second';
comment on view internal.wait_before is
	'Waits of steps for their own edges and dates, one row each, from the submission until the step was first eligible.';

create view internal.wait_again as
select t.job_id, t.step_id, b.from_at, u.until_at, case when p.label is null then 'begin' else 'dependency' end as reason,
	p.label as blocker
from rota.attempt t
join rota.step s on s.job_id = t.job_id and s.step_id = t.step_id
left join rota.attempt n on n.job_id = t.job_id and n.step_id = t.step_id and n.attempt = t.attempt + 1
cross join lateral (
	select case when n.attempt is not null then least(n.eligible_at, n.ordered_at)
		when s.ended_at is not null or s.begin_at <= now() then least(s.begin_at, s.ended_at) end as until_at
) u
cross join lateral (
	-- A step that had ended and that a command ran again waits from that command on.
	select greatest(t.ended_at, (select max(e.at) from rota.event e
		where e.job_id = t.job_id and e.step_id = t.step_id and e.event = 'rerun' and e.at <= u.until_at)) as from_at
	where u.until_at > t.ended_at
	offset 0 -- by key, and only for steps that waited
) b
left join lateral (
	select x.label from internal.wait_peer x
	where x.job_id = t.job_id and x.step_id = s.request_id and x.kind = 'after' and x.resolved_at > b.from_at
		and x.resolved_at <= u.until_at
	order by x.resolved_at desc, x.edge
	limit 1
) p on true
where t.attempt > 0 and u.until_at >= b.from_at + interval '1 second';
comment on view internal.wait_again is
	'Waits of steps between two attempts until they were eligible again, one row each: for the delay before a retry, or for '
	'their peers.';

create view internal.hold_start as
select s.job_id, s.step_id, coalesce(h.at, r.at, j.submit_at) as held_at
from rota.step s
join rota.job j on j.job_id = s.job_id
cross join lateral (
	-- Find the latest event that ended an earlier hold of the step.
	select coalesce(max(e.event_id), 0) as event_id from rota.event e
	where e.job_id = s.job_id and e.step_id = s.step_id and e.event in ('release', 'rerun')
	offset 0 -- by key
) o
cross join lateral (
	select min(e.at) as at from rota.event e
	where e.job_id = s.job_id and e.step_id = s.step_id and e.event = 'hold' and e.event_id > o.event_id
	offset 0 -- by key
) h
cross join lateral (
	-- jobmgrd holds a step when its attempt has ended.
	select max(e.at) as at from rota.event e
	where e.job_id = s.job_id and e.step_id = s.step_id and s.held = 'system' and e.to_state = 'pending'
		and e.from_state <> 'pending' and e.event_id > o.event_id
	offset 0 -- by key
) r
where s.held <> '';
comment on view internal.hold_start is
	'Steps that are on hold, or were when they ended, with the begin of the hold: by a command, by jobmgrd, or by the '
	'script.';

create view internal.wait_held as
select h.job_id, h.step_id, h.held_at as from_at, s.ended_at as until_at
from internal.hold_start h
join rota.step s on s.job_id = h.job_id and s.step_id = h.step_id
where coalesce(s.ended_at, now()) - h.held_at >= interval '1 second';
comment on view internal.wait_held is
	'Holds in internal.hold_start that lasted a second or longer. Holds that were lifted are in rota.wait_reason.';

create view internal.wait_limited as
select w.job_id, w.step_id, greatest(l.from_at, w.from_at) as from_at,
	nullif(least(coalesce(l.until_at, 'infinity'), w.until_at), 'infinity') as until_at, l.reached
from (
	select s.job_id, s.step_id, s.association_id, s.queue, t.eligible_at as from_at, t.ordered_at as until_at
	from rota.attempt t
	join rota.step s on s.job_id = t.job_id and s.step_id = t.step_id
	where t.attempt > 0 and s.array_index is null
	union all
	-- Steps that wait, or that ended without another attempt.
	select s.job_id, s.step_id, s.association_id, s.queue, greatest(s.eligible_at, s.begin_at),
		coalesce(s.ended_at, 'infinity')
	from rota.step s
	where (s.state = 'pending' or (s.attempt = 0 and s.ended_at is not null)) and s.deps_waiting = 0 and s.held = ''
		and s.array_index is null and not s.is_array and (s.begin_at is null or s.begin_at <= coalesce(s.ended_at, now()))
	union all
	-- An array waits until its last element is started.
	select s.job_id, s.step_id, s.association_id, s.queue, s.eligible_at, coalesce(e.ordered_at, s.ended_at, 'infinity')
	from rota.step s
	cross join lateral (
		select max(t.ordered_at) as ordered_at
		from rota.step_array a
		join rota.step e on e.job_id = a.job_id and e.request_id = a.step_id
		join rota.attempt t on t.job_id = e.job_id and t.step_id = e.step_id and t.attempt = 1
		where a.job_id = s.job_id and a.step_id = s.step_id and (a.next >= a.size or s.ended_at is not null)
	) e
	where s.is_array
) w
join rota.line_limited l on l.association_id = w.association_id and l.partition = w.queue and l.from_at < w.until_at
	and coalesce(l.until_at, 'infinity') > w.from_at;
comment on view internal.wait_limited is 'Waits of eligible steps while a limit kept their queue line from starting any step.';

create view internal.wait_unseen as
select w.job_id, w.step_id, greatest(s.eligible_at, case when s.begin_at <= now() then s.begin_at end,
	(select max(t.ended_at) from rota.attempt t
		where t.job_id = w.job_id and t.step_id = w.step_id and t.ended_at < 'infinity'),
	(select max(x.until_at) from rota.wait_reason x where x.job_id = w.job_id and x.step_id = w.step_id)) as from_at,
	coalesce(w.reason, case when p.state in ('down', 'inactive') then 'partition' else 'priority' end) as reason,
	case
	when w.reason = 'dependency'
	then (select e.label from internal.wait_peer e
		where e.job_id = w.job_id and e.step_id = s.request_id and e.state = 'waiting'
		order by e.edge
		limit 1) end as blocker
from (
	select f.job_id, f.step_id, null as reason, f.association_id, f.partition from internal.waiting f
	union all
	select b.job_id, b.step_id, null, b.association_id, b.partition from internal.begun b
	union all
	select s.job_id, s.step_id, case when a.by_corr then 'dependency' else 'array_limit' end, null, null
	from live.step s
	join live.step_array a on a.job_id = s.job_id and a.step_id = s.step_id
	where s.is_array and s.ended_at is null and s.held = '' and s.deps_waiting = 0
		and case when a.by_corr then s.state = 'pending' else a.next < a.size and a.running >= a.max_running end
	union all
	-- After an attempt, the step is to run again later, or waits for its peers again. internal.wait_before has the waits
	-- before the first attempt.
	select s.job_id, s.step_id, case when s.deps_waiting > 0 then 'dependency' else 'begin' end, null, null
	from live.step s
	where s.state = 'pending' and s.held = '' and (s.deps_waiting > 0 or s.begin_at > now())
		and not exists (select from internal.wait_before b
			where b.job_id = s.job_id and b.step_id = s.step_id and b.until_at is null)
) w
join rota.step s on s.job_id = w.job_id and s.step_id = w.step_id
left join rota.partition p on p.partition = w.partition
where not exists (select from rota.plan x where x.job_id = w.job_id and x.step_id = w.step_id)
	and not exists (select from rota.line_limited l
		where l.association_id = w.association_id and l.partition = w.partition and l.until_at is null);
comment on view internal.wait_unseen is
	'Waiting steps without a row in the other views. The scheduler gives no reason for steps beyond its scan limit, for '
	'steps of partitions that are down, and for arrays at their limit of running elements. Steps that are to run again '
	'wait for a time or for their peers.';

create view internal.wait_short as
select w.job_id, w.step_id, w.from_at, w.until_at, w.reason
from (
	select t.job_id, t.step_id, greatest(t.eligible_at, b.ended_at) as from_at, t.ordered_at as until_at,
		'priority' as reason, s.association_id, s.queue
	from rota.attempt t
	join rota.step s on s.job_id = t.job_id and s.step_id = t.step_id and (s.array_index is null or t.attempt > 1)
	left join rota.attempt b on b.job_id = t.job_id and b.step_id = t.step_id and b.attempt = t.attempt - 1
	where t.attempt > 0
	union all
	-- An array waits until its last element is started.
	select s.job_id, s.step_id, s.eligible_at, e.ordered_at,
		case when a.max_running < a.size then 'array_limit' else 'priority' end, s.association_id, s.queue
	from rota.step s
	join rota.step_array a on a.job_id = s.job_id and a.step_id = s.step_id and (a.next >= a.size or s.ended_at is not null)
	cross join lateral (
		select max(t.ordered_at) as ordered_at
		from rota.step x
		join rota.attempt t on t.job_id = x.job_id and t.step_id = x.step_id and t.attempt = 1
		where x.job_id = s.job_id and x.request_id = s.step_id
	) e
	where s.is_array
	union all
	-- Include steps that were cancelled before they started.
	select s.job_id, s.step_id, greatest(s.eligible_at, s.begin_at), s.ended_at, 'priority', s.association_id, s.queue
	from rota.step s
	where s.state = 'cancelled' and s.attempt = 0 and s.deps_waiting = 0 and s.held = '' and not s.is_array
) w
where w.until_at - w.from_at >= interval '1 second'
	and not exists (select from rota.wait_reason x
		where x.job_id = w.job_id and x.step_id = w.step_id and x.from_at < w.until_at and x.until_at > w.from_at)
	and not exists (select from rota.line_limited l
		where l.association_id = w.association_id and l.partition = w.queue and l.from_at < w.until_at
			and coalesce(l.until_at, 'infinity') > w.from_at);
comment on view internal.wait_short is
	'Ended waits of a second or longer without a row elsewhere: the scheduler started the step before it gave a reason. The '
	'scheduler reads the head of a long queue more often than the rest, so these steps first waited for the steps before '
	'them.';

create view internal.acct_wait_reason as
select w.job_id, w.step_id, r.name as step, j.user_name, j.account, j.qos, r.partition, w.from_at, w.until_at,
	extract(epoch from coalesce(w.until_at, now()) - w.from_at)::double precision as wait_s, w.reason, w.blocker,
	substring(w.blocker from '^\d+')::bigint as blocker_job_id
from (
	select x.job_id, x.step_id, x.from_at, x.until_at, x.reason, x.blocker from rota.wait_reason x
	union all
	select p.job_id, p.step_id, p.since, null, p.reason, p.blocker from rota.plan p
	union all
	select b.job_id, b.step_id, b.from_at, b.until_at, b.reason, b.blocker from internal.wait_before b
	union all
	select a.job_id, a.step_id, a.from_at, a.until_at, a.reason, a.blocker from internal.wait_again a
	union all
	select h.job_id, h.step_id, h.from_at, h.until_at, 'held', null from internal.wait_held h
	union all
	select l.job_id, l.step_id, l.from_at, l.until_at, 'limit', l.reached from internal.wait_limited l
	union all
	select u.job_id, u.step_id, u.from_at, null, u.reason, u.blocker from internal.wait_unseen u
	union all
	select s.job_id, s.step_id, s.from_at, s.until_at, s.reason, null from internal.wait_short s
) w
join rota.step s on s.job_id = w.job_id and s.step_id = w.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = w.job_id;
select internal.owner_view('wait_reason');
comment on view acct.wait_reason is
	'Why steps waited and wait, one row for each reason and the time that it lasted, if that was a second or longer. Each '
	'wait of a second or longer has a row; the time before the scheduler gave its first reason counts for that reason. A '
	'step that waits now has a row without until_at. Holds and limits may overlap with other reasons.';
comment on column acct.wait_reason.job_id is 'Number of the job.';
comment on column acct.wait_reason.step_id is
	'Number of the step in its job; for elements of an array that had not started, the array''s number.';
comment on column acct.wait_reason.step is 'Name of the step in the script.';
comment on column acct.wait_reason.user_name is 'Login name of the job''s owner.';
comment on column acct.wait_reason.account is 'Account that pays; null: none.';
comment on column acct.wait_reason.qos is 'Quality of service of the job.';
comment on column acct.wait_reason.partition is 'Partition that was asked for.';
comment on column acct.wait_reason.from_at is 'When the wait for this reason began.';
comment on column acct.wait_reason.until_at is 'When the wait for this reason ended; null: not ended.';
comment on column acct.wait_reason.wait_s is 'Seconds from from_at to until_at, or to now.';
comment on column acct.wait_reason.reason is
	'Reason: dependency or begin (--begin, or the delay before a retry) before the step was eligible; held; then resources, '
	'priority, partition, license, node, peer, deadline, limit, array_limit, maintenance, reservation or power.';
comment on column acct.wait_reason.blocker is
	'The step (its label) or job (its number) for which the step waited, or the limit that was reached, in words; null: none '
	'known. Of several dependencies, one that is not met yet; afterwards the one that was met last.';
comment on column acct.wait_reason.blocker_job_id is
	'Number of the job for which, or for whose step, the step waited; null: none.';
