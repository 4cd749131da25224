create view acct.node with (security_barrier) as
select n.node_id, n.name as node,
	case when n.power = 'on' or n.state in ('down', 'drain', 'invalid') then n.state else n.power end as state,
	n.reason, n.reason_by, n.reason_at, n.cpus, u.cpus_used, n.mem_mb, u.mem_used_mb,
	(select jsonb_object_agg(g.gres, g.units)
		from (select x.gres, count(*) as units from rota.node_gres x
		where x.node_id = n.node_id group by x.gres) g) as gres,
	n.features,
		array(select p.partition from rota.partition_node p
		where p.node_id = n.node_id order by p.partition) as partitions,
	l.renewed_at as seen_at, n.version, n.power, n.power_at, n.image, n.default_image, n.prep, n.prep_verified
from rota.node n
join rota.node_used u on u.node_id = n.node_id
left join rota.node_lease l on l.node_id = n.node_id;
comment on view acct.node is 'Nodes as they are now.';
comment on column acct.node.node_id is 'Key of the node, never reused.';
comment on column acct.node.node is 'Name of the node.';
comment on column acct.node.state is
	'unknown, up, down, drain or invalid. If the node is up but its power is not on: powering_off, off or powering_on.';
comment on column acct.node.reason is 'Why the node is not up.';
comment on column acct.node.reason_by is 'User or daemon that gave the reason.';
comment on column acct.node.reason_at is 'When the reason was given.';
comment on column acct.node.cpus is 'CPUs that may be allocated.';
comment on column acct.node.cpus_used is 'CPUs of the node that are allocated now.';
comment on column acct.node.mem_mb is 'Memory that may be allocated, in MiB.';
comment on column acct.node.mem_used_mb is 'Memory allocated now, in MiB.';
comment on column acct.node.gres is 'Generic resources of the node: {"gpu": 2}; null: none.';
comment on column acct.node.features is 'Features of the node.';
comment on column acct.node.partitions is 'Partitions that the node is in.';
comment on column acct.node.seen_at is 'When the lease of the node was last renewed.';
comment on column acct.node.version is 'Version of the node''s process manager.';
comment on column acct.node.power is 'Power of the node: on, powering_off, off or powering_on.';
comment on column acct.node.power_at is 'When the power of the node last changed; null: the node was always on.';
comment on column acct.node.image is 'Image that the node reported at its latest registration; null: the node reported none.';
comment on column acct.node.default_image is
	'Image of the node while no step asks for another one; null: Rota never boots the node with another image.';
comment on column acct.node.prep is 'Preparation of the node with its arguments, as NAME:ARGS; null: none.';
comment on column acct.node.prep_verified is 'Whether the node has the preparation for certain; true also without a preparation.';

create view acct.node_event with (security_barrier) as
select e.node_event_id, e.at, e.node_id, e.node, e.from_state, e.to_state, e.actor, e.reason from rota.node_event e;
comment on view acct.node_event is 'Every change of a node''s state.';
comment on column acct.node_event.node_event_id is 'Changes of the states of nodes, one row each.';
comment on column acct.node_event.at is 'When the state of the node changed.';
comment on column acct.node_event.node_id is 'Key of the node, which may have been deleted since.';
comment on column acct.node_event.node is 'Name that the node had at that time.';
comment on column acct.node_event.from_state is 'State of the node before.';
comment on column acct.node_event.to_state is 'State of the node after.';
comment on column acct.node_event.actor is 'User or daemon that changed the state.';
comment on column acct.node_event.reason is 'Why the state of the node changed.';

create view acct.node_change with (security_barrier) as
select e.admin_event_id as node_change_id, e.at, e.name as node, e.actor, e.action, (e.before ->> 'cpus')::int as cpus_before,
	(e.after ->> 'cpus')::int as cpus,
	(e.before ->> 'mem_mb')::bigint as mem_mb_before, (e.after ->> 'mem_mb')::bigint as mem_mb
from rota.admin_event e
where e.object = 'node';
comment on view acct.node_change is 'Changes of the configuration of nodes, one row each.';
comment on column acct.node_change.node_change_id is 'Number of the change; later changes have higher numbers.';
comment on column acct.node_change.at is 'When the change was made.';
comment on column acct.node_change.node is 'Name of the node.';
comment on column acct.node_change.actor is 'Login name of the administrator who made the change.';
comment on column acct.node_change.action is 'create, change, delete, drain, resume or dead.';
comment on column acct.node_change.cpus_before is 'CPUs that could be allocated before the change; null: there was no such node.';
comment on column acct.node_change.cpus is 'CPUs that can be allocated after the change; null: the node is gone.';
comment on column acct.node_change.mem_mb_before is 'Memory that could be allocated before the change, in MiB.';
comment on column acct.node_change.mem_mb is 'Memory that can be allocated after the change, in MiB.';

create view acct.node_warning with (security_barrier) as
select n.name as node, w.node_id, w.kind, w.starts_at, w.ends_at, w.reason, w.actor, w.message as message
from internal.node_warning w
join rota.node n on n.node_id = w.node_id;
comment on view acct.node_warning is
	'Warnings about nodes, one row for each node and cause. A warning says that the node is unusable, is expected to fail, or '
	'will be drained, or names its next maintenance. A join with acct.allocation where ended_at is null shows the running '
	'steps that a warning concerns.';
comment on column acct.node_warning.node is 'Name of the node.';
comment on column acct.node_warning.node_id is 'Key of the node.';
comment on column acct.node_warning.kind is
	'failing: the node is expected to fail; drain: the node will be drained; maintenance: a reservation takes the node; down, '
	'drained, invalid: the state of the node.';
comment on column acct.node_warning.starts_at is 'When the cause began or will begin; null: not known.';
comment on column acct.node_warning.ends_at is 'End of the maintenance; null: another kind of warning.';
comment on column acct.node_warning.reason is 'Reason of the warning.';
comment on column acct.node_warning.actor is 'User or daemon that caused the warning.';
comment on column acct.node_warning.message is 'The whole warning as a sentence.';

create view acct.reservation with (security_barrier) as
select r.name as reservation, t.starts_at, t.ends_at, r.recurs, r.time_zone,
	array(select n.name from rota.reservation_node rn join rota.node n on n.node_id = rn.node_id
		where rn.reservation_id = r.reservation_id order by n.name) as nodes,
	r.users, r.accounts, r.end_steps, r.reason, r.created_by, r.created_at
from rota.reservation r
join internal.reservation_time t on t.reservation_id = r.reservation_id;
comment on view acct.reservation is
	'Reservations of nodes, one row for each period that is not over. A recurring reservation has a row for each period of the '
	'next 31 days, and at least two rows.';
comment on column acct.reservation.reservation is 'Name of the reservation.';
comment on column acct.reservation.starts_at is 'When the reservation begins.';
comment on column acct.reservation.ends_at is 'When the reservation ends.';
comment on column acct.reservation.recurs is 'Interval at which the reservation recurs; null: the reservation has one period.';
comment on column acct.reservation.time_zone is 'Time zone of the times at which a recurring reservation begins.';
comment on column acct.reservation.nodes is 'Nodes that are reserved.';
comment on column acct.reservation.users is 'Users whose steps may run on the reserved nodes.';
comment on column acct.reservation.accounts is 'Accounts whose steps may run on the reserved nodes.';
comment on column acct.reservation.end_steps is
	'Whether Rota ends other steps that still run on the nodes when the reservation begins.';
comment on column acct.reservation.reason is 'Why the nodes are reserved.';
comment on column acct.reservation.created_by is 'Login name of the administrator who made the reservation.';
comment on column acct.reservation.created_at is 'When the reservation was made.';
