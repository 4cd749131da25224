create view acct.node with (security_barrier) as
select n.node_id, n.name as node, n.state, n.reason, n.reason_by, n.reason_at, n.cpus, n.cpus_used, n.mem_mb, n.mem_used_mb,
	(select jsonb_object_agg(g.gres, g.units) from (select x.gres, count(*) as units from rota.node_gres x where x.node_id = n.node_id group by x.gres) g) as gres,
	n.features, array(select p.partition from rota.partition_node p where p.node_id = n.node_id order by p.partition) as partitions,
	l.renewed_at as seen_at, n.version
from rota.node n
left join rota.node_lease l on l.node_id = n.node_id;
comment on view acct.node is 'Nodes as they are now.';
comment on column acct.node.node_id is 'Key; never reused.';
comment on column acct.node.node is 'Name.';
comment on column acct.node.state is 'unknown, up, down, drain or invalid.';
comment on column acct.node.reason is 'Why it is not up.';
comment on column acct.node.reason_by is 'Who said so.';
comment on column acct.node.reason_at is 'When that was said.';
comment on column acct.node.cpus is 'CPUs that may be allocated.';
comment on column acct.node.cpus_used is 'CPUs allocated now.';
comment on column acct.node.mem_mb is 'Memory that may be allocated, in MiB.';
comment on column acct.node.mem_used_mb is 'Memory allocated now, in MiB.';
comment on column acct.node.gres is 'Generic resources it has: {"gpu": 2}; null: none.';
comment on column acct.node.features is 'Its features.';
comment on column acct.node.partitions is 'Partitions it is in.';
comment on column acct.node.seen_at is 'When it was last heard of.';
comment on column acct.node.version is 'Version of its process manager.';

create view acct.node_event with (security_barrier) as
select e.node_event_id, e.at, e.node_id, e.node, e.from_state, e.to_state, e.actor, e.reason from rota.node_event e;
comment on view acct.node_event is 'Every change of a node''s state.';
comment on column acct.node_event.node_event_id is 'Order of the changes.';
comment on column acct.node_event.at is 'When.';
comment on column acct.node_event.node_id is 'Key of the node, which may have been deleted since.';
comment on column acct.node_event.node is 'Its name then.';
comment on column acct.node_event.from_state is 'State before.';
comment on column acct.node_event.to_state is 'State after.';
comment on column acct.node_event.actor is 'Who did it: a user''s name or a daemon.';
comment on column acct.node_event.reason is 'Why.';
