-- Upkeep of nodes: changes, health checks and power saving, and what they cost.
create view acct.node_health with (security_barrier) as
select n.name as node, h.name, h.state, h.since, h.message, h.checked_at, h.runs, h.ran_s, c.action
from rota.node_health h
join rota.node n on n.node_id = h.node_id
join rota.node_check c on c.name = h.name
where (select a.reads_all from acct.me a);
comment on view acct.node_health is
	'Health of nodes, one row for each node and check, from the latest run of the check; for analysts.';
comment on column acct.node_health.node is 'Name of the node.';
comment on column acct.node_health.name is 'Name of the check.';
comment on column acct.node_health.state is
	'State of the node by the check. unknown: no run has ended; healthy, unhealthy: the check''s program says so; error: the '
	'program ended otherwise, which says nothing about the node.';
comment on column acct.node_health.since is 'Since when the node has had this state by this check.';
comment on column acct.node_health.message is 'First line that the program printed, or why the program failed; null: neither.';
comment on column acct.node_health.checked_at is 'When the latest run of the check ended; null: none has.';
comment on column acct.node_health.runs is 'Number of runs of the check on the node that have ended.';
comment on column acct.node_health.ran_s is 'Seconds that all runs of the check on the node took together.';
comment on column acct.node_health.action is 'What the check may do: report, drain, or resume (drain and resume).';

create view acct.node_health_event with (security_barrier) as
select e.event_id, e.at, e.node_id, e.node, e.name, e.from_state, e.to_state, e.message
from rota.node_health_event e
where (select a.reads_all from acct.me a);
comment on view acct.node_health_event is 'Changes of the states that checks gave to nodes, one row each; for analysts.';
comment on column acct.node_health_event.event_id is 'Number of the event; later events have higher numbers.';
comment on column acct.node_health_event.at is 'When the run of the check ended that changed the state.';
comment on column acct.node_health_event.node_id is 'Key of the node, which may have been deleted since.';
comment on column acct.node_health_event.node is 'Name of the node.';
comment on column acct.node_health_event.name is 'Name of the check, which may have been deleted since.';
comment on column acct.node_health_event.from_state is 'State before the change, as in acct.node_health.';
comment on column acct.node_health_event.to_state is 'State after the change.';
comment on column acct.node_health_event.message is
	'First line that the program printed, or why the program failed; null: neither.';

create view acct.node_upkeep with (security_barrier) as
select x.node_id, x.node, x.kind, x.name, x.state, x.made_by, x.began_at, x.ended_at,
	extract(epoch from coalesce(x.ended_at, now()) - x.began_at) as seconds,
	case when x.kind <> 'off' then extract(epoch from coalesce(x.ended_at, now()) - x.began_at) * n.cpus end as cpu_s,
	case when x.kind = 'off' then extract(epoch from coalesce(x.ended_at, now()) - x.began_at) * x.idle_watts end as saved_j,
	x.message
from (
	select r.node_id, r.node,
		case when not r.boots then 'preparation' when r.image is not null then 'image' else 'reboot' end as kind,
		case when not r.boots then coalesce(r.prep, r.undo) else r.image end as name, r.state, r.made_by, r.began_at, r.ended_at,
		null::int as idle_watts, r.message
	from rota.node_reboot r
	where r.began_at is not null
	union all
	select o.node_id, o.node, 'off', null, case when o.on_at is null then 'off' else 'on' end, null, o.off_at,
		o.on_at, o.idle_watts, null
	from rota.node_off o
	union all
	select e.node_id, e.node, 'drain', split_part(e.actor, ':', 2), e.to_state, e.actor, e.at,
		(select min(f.at) from rota.node_event f where f.node_id = e.node_id and f.node_event_id > e.node_event_id),
		null, e.reason
	from rota.node_event e
	where e.to_state = 'drain' and e.actor like 'check:%'
) x
left join rota.node n on n.node_id = x.node_id
where (select a.reads_all from acct.me a);
comment on view acct.node_upkeep is
	'Times in which nodes were out of use for upkeep, or off, one row each: changes, drains by checks, power saving; for '
	'analysts.';
comment on column acct.node_upkeep.node_id is 'Key of the node, which may have been deleted since.';
comment on column acct.node_upkeep.node is 'Name of the node.';
comment on column acct.node_upkeep.kind is
	'reboot, image, preparation: the node was changed, and no step ran on it; drain: a check drained the node, until its '
	'state changed again; off: its power was off.';
comment on column acct.node_upkeep.name is 'The image, preparation or check; null: the kind has none.';
comment on column acct.node_upkeep.state is
	'State of the change (acct.node_reboot); of a drain: drain; of a time off: off, or on when it is over.';
comment on column acct.node_upkeep.made_by is
	'Who asked for the change, as in acct.node_reboot; of a drain: the check; null: power saving or an operator '
	'(acct.power_run).';
comment on column acct.node_upkeep.began_at is 'When the time out of use began.';
comment on column acct.node_upkeep.ended_at is 'When the time out of use ended; null: it has not ended.';
comment on column acct.node_upkeep.seconds is 'Seconds from began_at to ended_at, or up to now.';
comment on column acct.node_upkeep.cpu_s is
	'CPU seconds lost: the seconds times the CPUs that the node has now; null: the node was off, or has been deleted.';
comment on column acct.node_upkeep.saved_j is
	'Energy saved in joules: what the node would have used idle; null: the node was not off, or its idle power is not known.';
comment on column acct.node_upkeep.message is
	'Why a change failed or was cancelled, or why the node was drained; null: none of these.';
