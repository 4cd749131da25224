-- audit.sql - invariants of an instance's rows that hold after any fault. Each row of the result is a violation: what, who,
-- detail.
--
--	psql -X -h HOME/run -d rota -U postgres -v ON_ERROR_STOP=1 -At -f audit.sql
--
-- It is one statement that only reads, so it sees one snapshot. From the rows that record events (event, attempt, allocation,
-- task_end) it computes what the columns of the present state must be. By default it expects an instance without unfinished work;
-- with -v live=1 it leaves out the rules that hold only then, so that a working instance, or a copy of one, can be audited too.
-- It takes
-- the present sizes
-- of the nodes.
\set QUIET on
\if :{?live}
\else
\set live 0
\endif
set search_path = rota, pg_temp;

with final as (
	select state from step_state where stage = 'final'
),
-- The transitions of each step, in order.
move as (
	select e.*, lag(e.to_state) over w as before, lead(e.at) over w as until, row_number() over w as nr, lead(e.event_id) over w is null as last
	from event e
	window w as (partition by e.job_id, e.step_id order by e.event_id)
),
-- Allocated resources of each node over time. Where one allocation ends and another begins at the same time, the end counts
-- first.
flow as (
	select a.node_id, a.started_at as at, a.cpus, a.mem_mb from allocation a
	union all
	select a.node_id, a.ended_at, -a.cpus, -a.mem_mb from allocation a where a.ended_at is not null
	union all
	select a.node_id, x.at, x.cpus, 0
	from allocation a
	cross join lateral unnest(a.without_cpus) r
	cross join lateral (values (lower(r), -a.cpus), (upper(r), a.cpus)) x (at, cpus)
	where x.at is not null
),
moment as (
	select f.node_id, f.at, sum(sum(f.cpus)) over w as cpus, sum(sum(f.mem_mb)) over w as mem_mb
	from flow f
	group by f.node_id, f.at
	window w as (partition by f.node_id order by f.at)
),
unit as (
	-- A suspended step may have given its GPUs back for a time.
	select a.job_id, a.step_id, a.attempt, a.node_id, g.key as gres, u.value::int as unit, lower(r) as started_at,
		coalesce(upper(r), 'infinity') as ended_at, upper_inf(r) as open
	from allocation a
	cross join lateral jsonb_each(a.gres) g
	cross join lateral jsonb_array_elements_text(g.value) u
	cross join lateral unnest(tstzmultirange(tstzrange(a.started_at, a.ended_at))
		- case when g.key = 'gpu' then coalesce(a.without_gpus, '{}') else '{}' end) r
),
licence as (
	select f.license, f.at, sum(sum(f.n)) over (partition by f.license order by f.at) as n
	from (
		select l.key as license, x.at, x.sign * l.value::int as n
		from allocation a
		cross join lateral jsonb_each_text(a.licenses) l
		cross join lateral (values (a.started_at, 1), (a.ended_at, -1)) x (at, sign)
		where x.at is not null
	) f
	group by f.license, f.at
),
violation (what, who, detail) as (
	-- No resource was allocated twice at any time.
	select 'overbooked: more CPUs than the node has', n.name, format('%s of %s at %s', m.cpus, n.cpus, m.at)
	from moment m join node n on n.node_id = m.node_id where m.cpus > n.cpus
	union all
	select 'held of a node that was not on', internal.step_label(a.job_id, a.step_id), format('attempt %s on %s, %s to %s, which was %s from %s', a.attempt, n.name,
		a.started_at, a.ended_at, p.to_state, p.at)
	from (select e.node_id, e.to_state, e.at, lead(e.at, 1, 'infinity') over (partition by e.node_id order by e.node_event_id) as until_at from node_event e) p
	join allocation a on a.node_id = p.node_id and a.started_at < p.until_at and coalesce(a.ended_at, 'infinity') > p.at
	join node n on n.node_id = p.node_id
	where p.to_state in ('powering_off', 'off', 'powering_on')
	union all
	select 'held of a node that was rebooted', internal.step_label(a.job_id, a.step_id), format('attempt %s on %s, %s to %s, which was rebooted from %s to %s', a.attempt, r.node,
		a.started_at, a.ended_at, r.began_at, r.ended_at)
	from node_reboot r
	join allocation a on a.node_id = r.node_id and a.started_at < coalesce(r.ended_at, 'infinity') and coalesce(a.ended_at, 'infinity') > r.began_at
	union all
	select 'overbooked: more memory than the node has', n.name, format('%s of %s MiB at %s', m.mem_mb, n.mem_mb, m.at)
	from moment m join node n on n.node_id = m.node_id where m.mem_mb > n.mem_mb
	union all
	select 'overbooked: one unit, two holders', n.name, format('%s %s: %s.%s attempt %s and %s.%s attempt %s', u.gres, u.unit,
		u.job_id, u.step_id, u.attempt, v.job_id, v.step_id, v.attempt)
	from unit u
	join unit v on v.node_id = u.node_id and v.gres = u.gres and v.unit = u.unit and u.started_at < v.ended_at and v.started_at < u.ended_at
		and (u.job_id, u.step_id, u.attempt) < (v.job_id, v.step_id, v.attempt)
	join node n on n.node_id = u.node_id
	union all
	select 'overbooked: more licences than there are', l.license, format('%s of %s at %s', x.n, l.total, x.at)
	from licence x join license l on l.license = x.license where x.n > l.total
	-- Counters of used resources are the sums of the open allocations.
	union all
	select 'the node''s used columns are not the sum of its open allocations', n.name,
		format('cpus %s, held %s; memory %s MiB, held %s', u.cpus_used, h.cpus, u.mem_used_mb, h.mem_mb)
	from node n
	join node_used u on u.node_id = n.node_id
	cross join lateral (select coalesce(sum(a.cpus_held), 0) as cpus, coalesce(sum(a.mem_mb), 0) as mem_mb
		from allocation a where a.node_id = n.node_id and a.ended_at is null) h
	where (u.cpus_used, u.mem_used_mb) is distinct from (h.cpus, h.mem_mb)
	union all
	select 'the licences used are not the sum of the open allocations', l.license, format('used %s, held %s', l.used, h.n)
	from license l
	cross join lateral (select coalesce(sum(x.value::int), 0) as n from allocation a cross join lateral jsonb_each_text(a.licenses) x
		where a.ended_at is null and x.key = l.license) h
	where l.used <> h.n
	union all
	select 'a unit''s holder is not the open allocation that has it', n.name, format('%s %s', coalesce(g.gres, u.gres), coalesce(g.unit, u.unit))
	from (select * from node_gres where job_id is not null) g
	full join (select * from unit where open) u on u.node_id = g.node_id and u.gres = g.gres and u.unit = g.unit
	join node n on n.node_id = coalesce(g.node_id, u.node_id)
	where (g.job_id, g.step_id, g.attempt) is distinct from (u.job_id, u.step_id, u.attempt)
	union all
	select 'the usage of a step is not the sum of its allocations', s.label, format('%s s, allocations %s s', s.cpu_held_s, h.held_s)
	from acct.step s
	cross join lateral (select coalesce(sum(a.cpu_held_s), 0) as held_s from acct.allocation a
		where a.job_id = s.job_id and a.step_id = s.step_id and a.attempt > 0) h
	where abs(s.cpu_held_s - h.held_s) > 1e-3
	-- References that no foreign key checks, because they are looked up when they are written.
	union all
	select 'a step of no request', internal.step_label(s.job_id, s.step_id), format('request %s', s.request_id)
	from step s left join step_request r on r.job_id = s.job_id and r.step_id = s.request_id left join job j on j.job_id = r.job_id
	where j.job_id is null
	union all
	select 'an edge of no step, or of one that stands elsewhere', internal.step_label(e.job_id, e.step_id), format('edge %s, position %s', e.edge, e.topo)
	from step_edge e left join step_request r on r.job_id = e.job_id and r.step_id = e.step_id and r.topo = e.topo
	where r.job_id is null
	-- The transitions of each step form one chain that leads to the step's state, and reach a final state once, and once more
	-- after each requeue of its job.
	union all
	select 'a move begins where the one before did not end', internal.step_label(m.job_id, m.step_id), format('%s: %s from %s, was %s', m.event_id, m.event, m.from_state, m.before)
	from move m where m.from_state <> coalesce(m.before, 'pending')
	union all
	select 'the log does not end in the step''s state', internal.step_label(s.job_id, s.step_id), format('%s, log %s', s.state, m.to_state)
	from step s left join move m on m.job_id = s.job_id and m.step_id = s.step_id and m.last
	where s.state is distinct from m.to_state
	union all
	select 'not exactly one end of a final step', internal.step_label(s.job_id, s.step_id), format('%s ends, %s requeues', ends, reruns)
	from (
		select s.job_id, s.step_id, count(m.event_id) filter (where m.to_state in (select state from final)) as ends,
			count(m.event_id) filter (where m.event = 'rerun') as reruns
		from step s
		left join move m on m.job_id = s.job_id and m.step_id = s.step_id
		where s.state in (select state from final)
		group by s.job_id, s.step_id
	) s
	where ends <> reruns + 1
	union all
	select 'a step has an end without being final, or the other way round', internal.step_label(s.job_id, s.step_id), format('%s, ended at %s', s.state, s.ended_at)
	from step s where (s.ended_at is not null) <> (s.state in (select state from final))
	-- Attempts of a step: numbered from 1 to n, each started once, one after the other, and ended when the step has ended.
	union all
	select 'attempts are not numbered from 1 to the step''s', internal.step_label(s.job_id, s.step_id), format('step at %s; %s rows, highest %s', s.attempt, count(t.attempt), max(t.attempt))
	from step s left join attempt t on t.job_id = s.job_id and t.step_id = s.step_id
	group by s.job_id, s.step_id, s.attempt
	having count(t.attempt) <> s.attempt or coalesce(max(t.attempt), 0) <> s.attempt
	union all
	select 'not exactly one start of an attempt', internal.step_label(t.job_id, t.step_id), format('attempt %s: %s starts', t.attempt, count(m.event_id))
	from attempt t
	left join move m on m.job_id = t.job_id and m.step_id = t.step_id and m.attempt = t.attempt and m.event = 'start'
	group by t.job_id, t.step_id, t.attempt
	having count(m.event_id) <> 1
	union all
	select 'an attempt was placed before the one before had ended', internal.step_label(t.job_id, t.step_id), format('attempt %s at %s, attempt %s ended at %s',
		t.attempt, t.ordered_at, p.attempt, coalesce(p.ended_at::text, 'never'))
	from attempt t
	join attempt p on p.job_id = t.job_id and p.step_id = t.step_id and p.attempt = t.attempt - 1
	where p.ended_at is null or p.ended_at > t.ordered_at
	union all
	select 'a step that is not live has a live attempt, or the other way round', internal.step_label(s.job_id, s.step_id), format('%s, attempt %s', s.state, t.attempt)
	from step s
	left join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.ended_at is null
	left join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
	join step_state x on x.state = s.state
	where a.size is null and (x.stage = 'live') <> (t.attempt is not null)
	union all
	select 'an attempt that runs again without a reason', internal.step_label(t.job_id, t.step_id), format('attempt %s: %s %s', t.attempt, t.state, t.cause)
	from attempt t
	join step s on s.job_id = t.job_id and s.step_id = t.step_id and s.attempt > t.attempt
	where t.state = 'completed' or t.cause is null
	-- Allocations of an attempt: one for each of its nodes, from the start of the attempt to its end.
	union all
	select 'not one allocation for each node of the attempt', internal.step_label(t.job_id, t.step_id), format('attempt %s: %s nodes, %s allocations', t.attempt, cardinality(t.node_ids), h.n)
	from attempt t
	cross join lateral (select count(*) as n, array_agg(a.node_id order by a.node_index) as nodes from allocation a
		where a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt) h
	where h.nodes is distinct from t.node_ids
	union all
	select 'allocations do not span their attempt', internal.step_label(t.job_id, t.step_id), format('attempt %s: %s to %s, allocations %s to %s',
		t.attempt, t.ordered_at, t.ended_at, h.started_at, h.ended_at)
	from attempt t
	-- CPUs reserved for a pre-dispatched element may have been free since before the element was ordered.
	cross join lateral (select min(a.started_at) filter (where not (a.predispatched and a.phase = 'ordered' and a.ended_at is null)) as started_at,
		max(a.ended_at) as ended_at, count(*) filter (where a.ended_at is null) as open from allocation a
		where a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt) h
	join step s on s.job_id = t.job_id and s.step_id = t.step_id
	-- Pre-dispatched elements of arrays are excepted, as are steps sent ahead that were given back and so held nothing.
	where h.started_at < t.ordered_at
		or (h.started_at > t.ordered_at and (cardinality(t.node_ids) > 1 or (s.array_index is null and h.started_at is distinct from h.ended_at)))
		or (h.started_at is null and h.open = 0) or (t.ended_at is not null and (h.open > 0 or h.ended_at <> t.ended_at))
	union all
	-- Times of attempts, of their nodes' reports and of their tasks are in order. A lost node may have gone on for a while.
	select 'the times of an attempt are out of order', internal.step_label(t.job_id, t.step_id), format('attempt %s: placed %s, started %s, done %s, ended %s',
		t.attempt, t.ordered_at, t.started_at, t.done_at, t.ended_at)
	from attempt t
	where t.started_at < t.ordered_at or t.done_at < t.started_at or t.done_at < t.ordered_at or t.ended_at < t.done_at or t.ended_at < t.started_at
	union all
	select 'what a node reported of an attempt is out of order', internal.step_label(m.job_id, m.step_id), format('attempt %s: %s at %s, before that %s at %s',
		m.attempt, m.event, m.at, m.event_before, m.at_before)
	from (select x.*, lag(x.event) over o as event_before, lag(x.at) over o as at_before from event x
		where x.actor = 'node' or x.actor like 'node:%' window o as (partition by x.job_id, x.step_id, x.attempt order by x.event_id)) m
	where m.at < m.at_before
	union all
	select 'a task ran while nothing was held for it', internal.step_label(e.job_id, e.step_id), format('attempt %s task %s: %s to %s, held %s to %s',
		e.attempt, e.task, e.started_at, e.ended_at, a.started_at, a.ended_at)
	from task_end e
	join allocation a on a.job_id = e.job_id and a.step_id = e.step_id and a.attempt = e.attempt and a.node_id = e.node_id
	where a.lost_at is null and (e.started_at < a.started_at or e.ended_at > a.ended_at)
	union all
	select 'a task started before its attempt', internal.step_label(e.job_id, e.step_id), format('attempt %s task %s: %s, attempt %s', e.attempt, e.task,
		e.started_at, t.started_at)
	from task_end e
	join attempt t on t.job_id = e.job_id and t.step_id = e.step_id and t.attempt = e.attempt and cardinality(t.node_ids) = 1
	join allocation a on a.job_id = e.job_id and a.step_id = e.step_id and a.attempt = e.attempt and a.lost_at is null
	where e.started_at < t.started_at
	union all
	select 'a hook ran while its attempt was not on the node', internal.step_label(h.job_id, h.step_id), format('attempt %s: %s until %s for %s us, there %s to %s',
		h.attempt, h.hook, h.ended_at, h.usec, a.started_at, a.gone_at)
	from hook_run h
	join allocation a on a.job_id = h.job_id and a.step_id = h.step_id and a.attempt = h.attempt and a.node_id = h.node_id
	where a.lost_at is null and (h.ended_at - h.usec * interval '1 us' < a.started_at or h.ended_at > a.gone_at)
	union all
	select 'an allocation of no attempt', internal.step_label(a.job_id, a.step_id), format('attempt %s', a.attempt)
	from allocation a
	left join attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt
	where a.attempt > 0 and t.attempt is null
	-- Every task of a completed step has ended with exit code 0, apart from tasks on nodes without which the step went on
	-- (--no-kill, rota
	-- shrink).
	union all
	select 'completed, but not all of its tasks ended well', internal.step_label(t.job_id, t.step_id), format('attempt %s: %s of %s tasks', t.attempt, h.ok, h.tasks)
	from attempt t
	join step s on s.job_id = t.job_id and s.step_id = t.step_id
	join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	-- Tasks of a step with several tasks need no end on nodes that were lost or given back. A single task needs one, even if its
	-- node is lost later.
	cross join lateral (
		select case when o.per_task then o.ok_here else o.ok end as ok, case when o.per_task then o.tasks_here else 1 end as tasks
		from (
			select internal.spec_field(r.spec, 'per_task') = '1' as per_task, coalesce(sum(x.ok), 0) as ok,
				coalesce(sum(x.ok) filter (where a.lost_at is null and a.given_back_at is null), 0) as ok_here,
				coalesce(sum(a.tasks) filter (where a.lost_at is null and a.given_back_at is null), 0) as tasks_here
			from allocation a
			cross join lateral (select count(*) as ok from task_end e where e.job_id = a.job_id and e.step_id = a.step_id and e.attempt = a.attempt
				and e.node_id = a.node_id and e.exit_code = 0 and e.signal is null) x
			where a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt
		) o
	) h
	-- The task of a growth may be killed before it can succeed, when the attempt that it grows has ended.
	where t.state = 'completed' and (h.ok <> h.tasks or t.started_at is null) and t.cause is distinct from 'grown_ended'
	union all
	select 'completed, but its last attempt did not', internal.step_label(s.job_id, s.step_id), format('attempt %s: %s', s.attempt, t.state)
	from step s
	left join step_array a on a.job_id = s.job_id and a.step_id = s.step_id
	left join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt
	where s.state = 'completed' and a.size is null and t.state is distinct from 'completed'
	-- A node that was given back belonged to an attempt that went on, and was not its first node.
	union all
	select 'a node was given back that its attempt did not have then', internal.step_label(a.job_id, a.step_id), format('attempt %s: %s held %s to %s, given back at %s',
		a.attempt, n.name, a.started_at, a.ended_at, a.given_back_at)
	from allocation a
	join node n on n.node_id = a.node_id
	where a.given_back_at < a.started_at or (:live = 0 and a.given_back_at is not null and a.ended_at is null)
	-- Counters of arrays and jobs agree with the states of their steps.
	union all
	select 'an array does not count its elements', internal.step_label(a.job_id, a.step_id), format('running %s, is %s; completed %s, is %s; failed %s, is %s; size %s',
		a.running, h.running, a.completed, h.completed, a.failed, h.failed, a.size)
	from step_array a
	join step s on s.job_id = a.job_id and s.step_id = a.step_id
	cross join lateral (
		select count(t.attempt) as running, count(*) filter (where e.state = 'completed') as completed,
			count(*) filter (where e.ended_at is not null and e.state <> 'completed') as failed, count(*) as n
		from step e
		left join attempt t on t.job_id = e.job_id and t.step_id = e.step_id and t.ended_at is null
		where e.job_id = a.job_id and e.request_id = a.step_id and e.array_index is not null
	) h
	where a.running <> h.running or a.completed <> h.completed or (a.rest_state is null and a.failed <> h.failed) or a.failed < h.failed
		or h.n > a.size
		-- An array that ended before any element began has no elements to count.
		or (s.ended_at is not null) <> (a.completed + a.failed = a.size) and not (s.ended_at is not null and h.n = 0 and a.completed + a.failed = 0)
	union all
	select 'elements of an array share an index', internal.step_label(s.job_id, s.request_id), format('[%s] %s times', s.array_index, count(*))
	from step s where s.array_index is not null group by s.job_id, s.request_id, s.array_index having count(*) > 1
	union all
	select 'a job does not count its steps', j.job_id::text, format('total %s, is %s; left %s, is %s; ended at %s', j.steps_total, h.n, j.steps_left, h.live, j.ended_at)
	from job j
	cross join lateral (
		select count(*) as n, count(*) filter (where s.ended_at is null) as live
		from step_request r join step s on s.job_id = r.job_id and s.step_id = r.step_id where r.job_id = j.job_id
	) h
	where j.steps_total <> h.n or j.steps_left <> h.live or (j.ended_at is null) <> (h.live > 0)
	union all
	select 'a job''s state is not the worst of its steps''', j.job_id::text, format('%s, worst %s', j.state, w.state)
	from job j
	cross join lateral (
		select s.state from step_request r
		join step s on s.job_id = r.job_id and s.step_id = r.step_id
		join step_state x on x.state = s.state
		where r.job_id = j.job_id order by x.severity desc limit 1
	) w
	where j.ended_at is not null and j.state is distinct from w.state
	-- Peers: no step was placed before the steps that it waits for had ended, or without the steps that it starts with.
	union all
	select 'placed before the step it waits for had ended so', internal.step_label(e.job_id, e.step_id), format('edge %s on %s.%s: %s %s, ended at %s, placed at %s',
		e.edge, e.peer_job_id, e.peer_step_id, e."condition", p.state, p.ended_at, t.ordered_at)
	from step_edge e
	join step_request r on r.job_id = e.job_id and r.step_id = e.step_id and not r.deps_any
	-- A step that was sent ahead and has not begun, or never has, waits on its node for the step before.
	join attempt t on t.job_id = e.job_id and t.step_id = e.step_id and t.attempt = 1
		and not (t.started_at is null and t.cause in ('withdrawn', 'node_lost'))
		and not exists (select from step_ahead x where x.job_id = t.job_id and x.step_id = t.step_id and x.attempt = t.attempt)
	left join lateral (
		select s.state, s.ended_at from step s where e.peer_step_id >= 0 and s.job_id = e.peer_job_id and s.step_id = e.peer_step_id
		union all
		select j.state, j.ended_at from job j where e.peer_step_id < 0 and j.job_id = e.peer_job_id
	) p on true
	where e.kind = 'after' and e.gates and ((e."condition" in ('ok', 'any', 'fail', 'teardown') and (p.ended_at is null or p.ended_at > t.ordered_at))
		or (e."condition" = 'ok' and p.state <> 'completed') or (e."condition" = 'fail' and p.state = 'completed'))
	union all
	select 'steps that go together were placed apart', internal.step_label(r.job_id, min(r.step_id)), format('in %s decisions', count(distinct m.xid))
	from step_request r
	join step s on s.job_id = r.job_id and s.step_id = r.step_id
	left join move m on m.job_id = s.job_id and m.step_id = s.step_id and m.event = 'start' and m.attempt = 1
	where r.with_set is not null
	group by r.job_id, r.with_set
	having count(distinct m.xid) > 1 or count(m.xid) not in (0, count(*))
	union all
	select 'a key stands for a job that is not there', k.client_key, k.job_id::text
	from client_key k left join job j on j.job_id = k.job_id where j.job_id is null
	union all
	select 'one submission made several jobs', j.retry_key::text, string_agg(j.job_id::text, ' ' order by j.job_id)
	from job j where j.retry_key is not null group by j.uid, j.retry_key having count(*) > 1
	union all
	select 'tasks started without their controller prolog', internal.step_label(h.job_id, h.step_id), format('attempt %s: %s', h.attempt, h.message)
	from controller_hook h
	join attempt t on t.job_id = h.job_id and t.step_id = h.step_id and t.attempt = h.attempt
	where h.hook = 'controller_prolog' and h.exit_code is distinct from 0 and t.started_at is not null
	union all
	select 'tasks started before their controller prolog ended', internal.step_label(h.job_id, h.step_id), format('attempt %s', h.attempt)
	from hook_pending h
	join attempt t on t.job_id = h.job_id and t.step_id = h.step_id and t.attempt = h.attempt
	where h.hook = 'controller_prolog' and t.started_at is not null
	union all
	select 'usage figures are not what was held', u.figures, concat_ws(' ', u.key, u.added_up, u.raw)
	from acct.usage_audit('2000-01-01', '2100-01-01') u where :live = 0
	union all
	select 'checkpoint without its files', internal.step_label(c.job_id, c.step_id), format('generation %s has %s of %s files', c.generation, f.files, c.files)
	from checkpoint c
	cross join lateral (select count(*) as files, sum(x.bytes) as bytes from checkpoint_file x
		where x.job_id = c.job_id and x.step_id = c.step_id and x.generation = c.generation) f
	where c.state in ('complete', 'restoring', 'restored') and (f.files, f.bytes) is distinct from (c.files, c.bytes)
	union all
	select 'start from a checkpoint that was not complete', internal.step_label(s.job_id, s.step_id), format('attempt %s from %s', s.attempt, s.generation)
	from checkpoint_start s
	where s.started_at is not null and s.generation > 0 and not exists (select from checkpoint c
		where c.job_id = s.job_id and c.step_id = s.step_id and c.generation = s.generation and c.attempt < s.attempt and c.complete_at <= s.started_at)
	union all
	-- The leader asks the node after a minute, and the node answers within its lease.
	select 'a step is to start, and its node has nothing of it', internal.step_label(a.job_id, a.step_id), format('attempt %s on %s, placed %s', a.attempt, n.name, t.ordered_at)
	from attempt t
	join allocation a on a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt and a.phase = 'ordered' and a.ended_at is null
	join node n on n.node_id = a.node_id
	join node_lease l on l.node_id = a.node_id and l.lost_at is null and l.expires_at > now()
	where t.ended_at is null and t.ordered_at < now() - interval '3 minutes'
		and not exists (select from node_order o where o.node_id = a.node_id and o.kind = 'launch' and o.job_id = a.job_id
			and a.step_id = any (o.step_id || o.also) and o.attempt = a.attempt)
	-- From here on: rules that hold when no work is left.
	union all
	select 'not over: checkpoint', internal.step_label(c.job_id, c.step_id), format('generation %s is %s', c.generation, c.state)
	from checkpoint c where :live = 0 and c.state in ('asked', 'taking')
	union all
	select 'not over: hook', internal.step_label(h.job_id, h.step_id), format('%s of attempt %s', h.hook, h.attempt)
	from hook_pending h where :live = 0
	union all
	select 'not over: job', j.job_id::text, format('%s of %s steps left', j.steps_left, j.steps_total)
	from job j where :live = 0 and j.ended_at is null
	union all
	select 'not over: step', internal.step_label(s.job_id, s.step_id), concat_ws(', ', s.state, 'attempt ' || s.attempt, nullif(s.held, ''), s.held_reason)
	from step s where :live = 0 and s.ended_at is null
	union all
	select 'not over: attempt', internal.step_label(t.job_id, t.step_id), format('attempt %s on %s', t.attempt, array_to_string(t.nodes, ','))
	from attempt t where :live = 0 and t.ended_at is null
	union all
	select 'not over: allocation', internal.step_label(a.job_id, a.step_id), format('attempt %s on %s, %s', a.attempt, n.name, a.phase)
	from allocation a join node n on n.node_id = a.node_id where :live = 0 and (a.ended_at is null or (a.prolog_owner and a.gone_at is null and a.attempt > 0))
	union all
	select 'not over: step that was sent ahead', internal.step_label(x.job_id, x.step_id), format('attempt %s', x.attempt) from step_ahead x where :live = 0
	union all
	select 'not over: growth', g.job_id::text, format('of %s attempt %s', internal.step_label(g.grown_job_id, g.grown_step_id), g.grown_attempt)
	from growth g where :live = 0 and g.closed_at is null
	union all
	select 'not over: node of a growth', internal.step_label(g.job_id, g.step_id), n.name
	from growth_node g join node n on n.node_id = g.node_id where :live = 0 and g.gone_at is null
	union all
	select 'not over: node in use', n.name, format('%s CPUs, %s MiB', u.cpus_used, u.mem_used_mb)
	from node n join node_used u on u.node_id = n.node_id where :live = 0 and (u.cpus_used <> 0 or u.mem_used_mb <> 0)
	union all
	select 'not over: unit in use', n.name, format('%s %s', g.gres, g.unit)
	from node_gres g join node n on n.node_id = g.node_id where :live = 0 and g.job_id is not null
	union all
	select 'not over: licence in use', l.license, l.used::text
	from license l where :live = 0 and l.used <> 0
	union all
	select 'not over: order on its way', n.name, format('%s of %s attempt %s', o.kind, internal.step_label(o.job_id, o.step_id), o.attempt)
	from node_order o join node n on n.node_id = o.node_id where :live = 0
	union all
	select 'not over: text of an order', internal.step_label(l.job_id, l.step_id), format('attempt %s', l.attempt) from launch_text l where :live = 0
)
select what, who, detail from violation order by what, who, detail;
