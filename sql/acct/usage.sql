-- Usage by hour, day and month, up to now: the figures that api.usage_roll has added up, and what it has not added up yet
-- (internal.usage_recent). Readers see usage of their own jobs and of the accounts that they coordinate, and all usage of nodes.

create view internal.usage_recent as
select p.hour, p.day, p.month, p.node_id, p.account, p.user_name, p.partition, p.qos, p.cpu_s, p.node_s, p.mem_mb_s, p.gres_s,
	null::numeric as cpu_used_s, null::numeric as cpu_measured_s, null::jsonb as energy_hours
from internal.usage_piece p
where p.ended_at is null
union all
select p.hour, p.day, p.month, p.node_id, p.account, p.user_name, p.partition, p.qos, p.cpu_s, p.node_s, p.mem_mb_s, p.gres_s,
	null, null, null
from internal.usage_pending_piece p
union all
select u.hour, u.day, u.month, u.node_id, u.account, u.user_name, u.partition, u.qos, null, null, null, null,
	u.cpu_used_s, u.cpu_measured_s, u.energy_hours
from internal.usage_pending_key k
cross join lateral (
	select * from internal.usage_used u
	where u.job_id = k.job_id and u.step_id = k.step_id and u.attempt = k.attempt and u.node_id = k.node_id
	offset 0 -- by key
) u
where k.used and not k.rebuild;
comment on view internal.usage_recent is
	'Allocations that the usage figures do not contain yet, with their time and use: live ones up to now, and ended ones '
	'that wait in rota.usage_pending. Null: nothing to add.';

create view internal.usage_recent_end as
select e.hour, e.day, e.month, e.account, e.user_name, e.partition, e.qos, e.steps_ended, e.steps_completed, e.steps_failed,
	e.steps_cancelled, e.steps_waited, e.wait_s
from internal.usage_pending_key k
cross join lateral (
	select * from internal.usage_end e
	where e.job_id = k.job_id and e.step_id = k.step_id
	offset 0 -- by key
) e
where not k.rebuild and k.node_id is null;
comment on view internal.usage_recent_end is
	'Ends of steps that wait in rota.usage_pending and that the usage figures do not contain yet.';

create view acct.usage_hour with (security_barrier) as
select x.hour, nullif(x.account, '') as account, x.user_name, x.partition, x.qos,
	coalesce(sum(x.cpu_s), 0) as cpu_s, coalesce(sum(x.node_s), 0) as node_s, coalesce(sum(x.mem_mb_s), 0) as mem_mb_s,
	acct.gres_sum(x.gres_s) as gres_s, coalesce(sum(x.cpu_used_s), 0) as cpu_used_s,
	coalesce(sum(x.cpu_measured_s), 0) as cpu_measured_s, coalesce(sum(x.steps_ended), 0) as steps_ended,
	coalesce(sum(x.steps_completed), 0) as steps_completed, coalesce(sum(x.steps_failed), 0) as steps_failed,
	coalesce(sum(x.steps_cancelled), 0) as steps_cancelled, coalesce(sum(x.steps_waited), 0) as steps_waited,
	coalesce(sum(x.wait_s), 0) as wait_s,
	acct.energy_j(nullif(acct.gres_sum(x.energy_hours) filter (where x.energy_hours <> '{}'), '{}')) as energy_j,
	acct.carbon_g(nullif(acct.gres_sum(x.energy_hours) filter (where x.energy_hours <> '{}'), '{}'),
		(x.hour at time zone (select z.time_zone from rota.usage_state z))::date) as carbon_g
from (
	select hour, account, user_name, partition, qos, cpu_s, node_s, mem_mb_s, gres_s, cpu_used_s, cpu_measured_s,
		energy_hours, steps_ended, steps_completed, steps_failed, steps_cancelled, steps_waited, wait_s
	from rota.usage_hour
	union all
	select hour, account, user_name, partition, qos, cpu_s, node_s, mem_mb_s, gres_s, cpu_used_s, cpu_measured_s,
		energy_hours, null, null, null, null, null, null
	from internal.usage_recent
	union all
	select hour, account, user_name, partition, qos, null, null, null, null, null, null, null, steps_ended, steps_completed,
		steps_failed, steps_cancelled, steps_waited, wait_s
	from internal.usage_recent_end
) x
where (select m.reads_all from acct.me m) or x.user_name = current_user
	or x.account = any ((select m.accounts from acct.me m)::text[])
group by x.hour, nullif(x.account, ''), x.user_name, x.partition, x.qos;
comment on view acct.usage_hour is
	'Usage of accounts, users, partitions and qualities of service, hour by hour. It includes allocations that have just '
	'ended, and live ones up to now.';

create view acct.usage_day with (security_barrier) as
select x.day, nullif(x.account, '') as account, x.user_name, x.partition, x.qos,
	coalesce(sum(x.cpu_s), 0) as cpu_s, coalesce(sum(x.node_s), 0) as node_s, coalesce(sum(x.mem_mb_s), 0) as mem_mb_s,
	acct.gres_sum(x.gres_s) as gres_s, coalesce(sum(x.cpu_used_s), 0) as cpu_used_s,
	coalesce(sum(x.cpu_measured_s), 0) as cpu_measured_s, coalesce(sum(x.steps_ended), 0) as steps_ended,
	coalesce(sum(x.steps_completed), 0) as steps_completed, coalesce(sum(x.steps_failed), 0) as steps_failed,
	coalesce(sum(x.steps_cancelled), 0) as steps_cancelled, coalesce(sum(x.steps_waited), 0) as steps_waited,
	coalesce(sum(x.wait_s), 0) as wait_s,
	acct.energy_j(nullif(acct.gres_sum(x.energy_hours) filter (where x.energy_hours <> '{}'), '{}')) as energy_j,
	acct.carbon_g(nullif(acct.gres_sum(x.energy_hours) filter (where x.energy_hours <> '{}'), '{}'),
		x.day) as carbon_g
from (
	select day, account, user_name, partition, qos, cpu_s, node_s, mem_mb_s, gres_s, cpu_used_s, cpu_measured_s,
		energy_hours, steps_ended, steps_completed, steps_failed, steps_cancelled, steps_waited, wait_s
	from rota.usage_day
	union all
	select day, account, user_name, partition, qos, cpu_s, node_s, mem_mb_s, gres_s, cpu_used_s, cpu_measured_s,
		energy_hours, null, null, null, null, null, null
	from internal.usage_recent
	union all
	select day, account, user_name, partition, qos, null, null, null, null, null, null, null, steps_ended, steps_completed,
		steps_failed, steps_cancelled, steps_waited, wait_s
	from internal.usage_recent_end
) x
where (select m.reads_all from acct.me m) or x.user_name = current_user
	or x.account = any ((select m.accounts from acct.me m)::text[])
group by x.day, nullif(x.account, ''), x.user_name, x.partition, x.qos;
comment on view acct.usage_day is
	'Usage of accounts, users, partitions and qualities of service, day by day. It includes allocations that have just '
	'ended, and live ones up to now.';

create view acct.usage_month with (security_barrier) as
select x.month, nullif(x.account, '') as account, x.user_name, x.partition, x.qos,
	coalesce(sum(x.cpu_s), 0) as cpu_s, coalesce(sum(x.node_s), 0) as node_s, coalesce(sum(x.mem_mb_s), 0) as mem_mb_s,
	acct.gres_sum(x.gres_s) as gres_s, coalesce(sum(x.cpu_used_s), 0) as cpu_used_s,
	coalesce(sum(x.cpu_measured_s), 0) as cpu_measured_s, coalesce(sum(x.steps_ended), 0) as steps_ended,
	coalesce(sum(x.steps_completed), 0) as steps_completed, coalesce(sum(x.steps_failed), 0) as steps_failed,
	coalesce(sum(x.steps_cancelled), 0) as steps_cancelled, coalesce(sum(x.steps_waited), 0) as steps_waited,
	coalesce(sum(x.wait_s), 0) as wait_s,
	acct.energy_j(nullif(acct.gres_sum(x.energy_hours) filter (where x.energy_hours <> '{}'), '{}')) as energy_j,
	acct.carbon_g(nullif(acct.gres_sum(x.energy_hours) filter (where x.energy_hours <> '{}'), '{}'),
		x.month) as carbon_g
from (
	select month, account, user_name, partition, qos, cpu_s, node_s, mem_mb_s, gres_s, cpu_used_s, cpu_measured_s,
		energy_hours, steps_ended, steps_completed, steps_failed, steps_cancelled, steps_waited, wait_s
	from rota.usage_month
	union all
	select month, account, user_name, partition, qos, cpu_s, node_s, mem_mb_s, gres_s, cpu_used_s, cpu_measured_s,
		energy_hours, null, null, null, null, null, null
	from internal.usage_recent
	union all
	select month, account, user_name, partition, qos, null, null, null, null, null, null, null, steps_ended, steps_completed,
		steps_failed, steps_cancelled, steps_waited, wait_s
	from internal.usage_recent_end
) x
where (select m.reads_all from acct.me m) or x.user_name = current_user
	or x.account = any ((select m.accounts from acct.me m)::text[])
group by x.month, nullif(x.account, ''), x.user_name, x.partition, x.qos;
comment on view acct.usage_month is
	'Usage of accounts, users, partitions and qualities of service, month by month. It includes allocations that have just '
	'ended, and live ones up to now.';

create view acct.node_usage_hour with (security_barrier) as
select x.hour, n.name as node,
	coalesce(sum(x.cpu_s), 0) as cpu_s, coalesce(sum(x.node_s), 0) as node_s, coalesce(sum(x.mem_mb_s), 0) as mem_mb_s,
	acct.gres_sum(x.gres_s) as gres_s, coalesce(sum(x.cpu_used_s), 0) as cpu_used_s,
	coalesce(sum(x.cpu_measured_s), 0) as cpu_measured_s,
	acct.energy_j(nullif(acct.gres_sum(x.energy_hours) filter (where x.energy_hours <> '{}'), '{}')) as energy_j,
	acct.carbon_g(nullif(acct.gres_sum(x.energy_hours) filter (where x.energy_hours <> '{}'), '{}'),
		(x.hour at time zone (select z.time_zone from rota.usage_state z))::date) as carbon_g
from (
	select hour, node_id, cpu_s, node_s, mem_mb_s, gres_s, cpu_used_s, cpu_measured_s, energy_hours
	from rota.node_usage_hour
	union all
	select hour, node_id, cpu_s, node_s, mem_mb_s, gres_s, cpu_used_s, cpu_measured_s, energy_hours
	from internal.usage_recent
) x
join rota.node n on n.node_id = x.node_id
group by x.hour, n.name;
comment on view acct.node_usage_hour is
	'Usage of each node, hour by hour. It includes allocations that have just ended, and live ones up to now.';

create view acct.node_usage_day with (security_barrier) as
select x.day, n.name as node,
	coalesce(sum(x.cpu_s), 0) as cpu_s, coalesce(sum(x.node_s), 0) as node_s, coalesce(sum(x.mem_mb_s), 0) as mem_mb_s,
	acct.gres_sum(x.gres_s) as gres_s, coalesce(sum(x.cpu_used_s), 0) as cpu_used_s,
	coalesce(sum(x.cpu_measured_s), 0) as cpu_measured_s,
	acct.energy_j(nullif(acct.gres_sum(x.energy_hours) filter (where x.energy_hours <> '{}'), '{}')) as energy_j,
	acct.carbon_g(nullif(acct.gres_sum(x.energy_hours) filter (where x.energy_hours <> '{}'), '{}'),
		x.day) as carbon_g
from (
	select day, node_id, cpu_s, node_s, mem_mb_s, gres_s, cpu_used_s, cpu_measured_s, energy_hours
	from rota.node_usage_day
	union all
	select day, node_id, cpu_s, node_s, mem_mb_s, gres_s, cpu_used_s, cpu_measured_s, energy_hours
	from internal.usage_recent
) x
join rota.node n on n.node_id = x.node_id
group by x.day, n.name;
comment on view acct.node_usage_day is
	'Usage of each node, day by day. It includes allocations that have just ended, and live ones up to now.';

create view acct.node_usage_month with (security_barrier) as
select x.month, n.name as node,
	coalesce(sum(x.cpu_s), 0) as cpu_s, coalesce(sum(x.node_s), 0) as node_s, coalesce(sum(x.mem_mb_s), 0) as mem_mb_s,
	acct.gres_sum(x.gres_s) as gres_s, coalesce(sum(x.cpu_used_s), 0) as cpu_used_s,
	coalesce(sum(x.cpu_measured_s), 0) as cpu_measured_s,
	acct.energy_j(nullif(acct.gres_sum(x.energy_hours) filter (where x.energy_hours <> '{}'), '{}')) as energy_j,
	acct.carbon_g(nullif(acct.gres_sum(x.energy_hours) filter (where x.energy_hours <> '{}'), '{}'),
		x.month) as carbon_g
from (
	select month, node_id, cpu_s, node_s, mem_mb_s, gres_s, cpu_used_s, cpu_measured_s, energy_hours
	from rota.node_usage_month
	union all
	select month, node_id, cpu_s, node_s, mem_mb_s, gres_s, cpu_used_s, cpu_measured_s, energy_hours
	from internal.usage_recent
) x
join rota.node n on n.node_id = x.node_id
group by x.month, n.name;
comment on view acct.node_usage_month is
	'Usage of each node, month by month. It includes allocations that have just ended, and live ones up to now.';

-- Give each column of these views the comment of the same column of the usage table.
do $$
declare
	v_column record;
begin
	for v_column in
		select v.view, a.attname as name,
			case a.attname when 'node' then 'Name of the node.' when 'account' then 'Account that pays; null: none.'
			when 'energy_j' then 'Joules used by allocations that have ended, where the node could tell; null: none could.'
			when 'carbon_g' then 'Grams of CO2 equivalent emitted for energy_j; null: no intensity is known.'
			else col_description(t.attrelid, t.attnum) end as meaning
		from unnest(array['usage_hour', 'usage_day', 'usage_month', 'node_usage_hour', 'node_usage_day',
			'node_usage_month'])
			v (view)
		join pg_attribute a on a.attrelid = format('acct.%I', v.view)::regclass and a.attnum > 0
		left join pg_attribute t on t.attrelid = format('rota.%I', v.view)::regclass and t.attname = a.attname
	loop
		execute format('comment on column acct.%I.%I is %L', v_column.view, v_column.name, v_column.meaning);
	end loop;
end $$;
