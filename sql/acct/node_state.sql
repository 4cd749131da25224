-- The states of nodes as spans of time.
--
-- Invariants:
-- - The spans of a node do not overlap, and cover all the time in which the node existed.
create view acct.node_state with (security_barrier) as
with said as (
	select e.node, e.node_event_id as nr, e.at, e.from_state, e.to_state as state, e.reason, e.actor from rota.node_event e
	union all
	-- A node that was deleted and created again begins as unknown, not in the last state of the deleted one.
	select c.node, 0, c.at, null, 'unknown', null, c.actor from acct.node_change c
	where c.action = 'create' and exists (select from rota.node_event e where e.node = c.node)
), was as (
	select s.node, s.at as from_at, lead(s.at, 1, 'infinity') over (partition by s.node order by s.at, s.nr) as until_at,
		s.state, s.reason, s.actor
	from said s
	union all
	(select distinct on (s.node) s.node, '-infinity', s.at, s.from_state, null, null from said s order by s.node, s.at, s.nr)
	union all
	select n.name, '-infinity', 'infinity',
		case when n.power = 'on' or n.state in ('down', 'drain', 'invalid') then n.state else n.power end, n.reason, n.reason_by
	from rota.node n
		where not exists (select from said s where s.node = n.name)
), had as (
	select c.node, c.at as from_at,
		lead(c.at, 1, 'infinity') over (partition by c.node order by c.node_change_id) as until_at, c.cpus, c.mem_mb
	from acct.node_change c
	union all
	(select distinct on (c.node) c.node, '-infinity', c.at, c.cpus_before,
		c.mem_mb_before from acct.node_change c order by c.node, c.node_change_id)
	union all
	select n.name, '-infinity', 'infinity', n.cpus, n.mem_mb from rota.node n
		where not exists (select from acct.node_change c where c.node = n.name)
)
select w.node, greatest(w.from_at, h.from_at) as from_at, least(w.until_at, h.until_at) as until_at, w.state, w.reason, w.actor,
	h.cpus, h.mem_mb
from was w
join had h on h.node = w.node and h.from_at < w.until_at and h.until_at > w.from_at
where h.cpus is not null;
comment on view acct.node_state is 'Spans of time in which a node was in one state and had one size, one row each.';
comment on column acct.node_state.node is 'Name of the node, which may have been deleted since.';
comment on column acct.node_state.from_at is 'When the span began; -infinity: before the first record of the node.';
comment on column acct.node_state.until_at is 'When the span ended; infinity: the span lasts.';
comment on column acct.node_state.state is
	'State of the node: unknown (never seen), up, down, drain, invalid, powering_off, off or powering_on.';
comment on column acct.node_state.reason is 'Why the node was not up.';
comment on column acct.node_state.actor is 'User or daemon that set the state; null: not known.';
comment on column acct.node_state.cpus is 'CPUs of the node that could be allocated.';
comment on column acct.node_state.mem_mb is 'Memory of the node that could be allocated, in MiB.';
