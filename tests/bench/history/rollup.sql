-- rollup.sql - adds up the usage figures of a whole history at once. api.usage_rebuild has nodemgrd add them up in the background, row by row,
-- beside a working instance. This script adds them up table by table. It needs a database in which nothing runs, usage tables that are empty,
-- and a site whose days begin at full hours of UTC. acct.usage_audit says whether the figures are the same.
\set QUIET on
\set ON_ERROR_STOP on
set search_path = rota, pg_temp;
set work_mem = '512MB';
begin;
-- Account, user, partition and QOS of each step, by joins of whole tables.
create temp table owner on commit drop as
select s.job_id, s.step_id, coalesce(j.account, '') as account, j.user_name, coalesce(nullif(s.queue, ''), r.partition) as partition, j.qos
from step s
join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join job j on j.job_id = s.job_id;
create temp table held on commit drop as
select a.node_id, o.account, o.user_name, coalesce(a.partition, o.partition) as partition, o.qos, a.cpus, a.mem_mb, nullif(a.gres, '{}') as gres, a.started_at, a.ended_at,
	a.cpu_usec / 1e6::numeric as cpu_used_s, a.cpu_hours, a.energy_j
from allocation a
join owner o on o.job_id = a.job_id and o.step_id = a.step_id
where a.ended_at is not null;
create temp table by_end on commit drop as
select date_trunc('hour', e.ended_at, 'UTC') as hour, o.account, o.user_name, o.partition, o.qos, count(*) as steps_ended, count(*) filter (where e.state = 'completed') as steps_completed,
	count(*) filter (where e.state in ('failed', 'timeout', 'out_of_memory', 'node_fail', 'deadline')) as steps_failed,
	count(*) filter (where e.state in ('cancelled', 'preempted', 'dependency_failed', 'skipped')) as steps_cancelled, count(e.started_at) as steps_waited,
	sum(extract(epoch from greatest(e.started_at - e.eligible_at, interval '0'))) as wait_s
from step e
join owner o on o.job_id = e.job_id and o.step_id = e.step_id
where e.ended_at is not null and not e.is_array
group by 1, 2, 3, 4, 5;
create temp view piece as
select p.hour, h.node_id, h.account, h.user_name, h.partition, h.qos, h.cpus, h.mem_mb, h.gres, extract(epoch from p.ends_at - p.begins_at) as s,
	case when g.last = 0 then h.cpu_used_s else acct.cpu_used_before(h.cpu_used_s, h.started_at, h.ended_at, h.cpu_hours, p.ends_at)
		- acct.cpu_used_before(h.cpu_used_s, h.started_at, h.ended_at, h.cpu_hours, p.begins_at) end as cpu_used_s,
	case when h.cpu_used_s is not null then h.cpus * extract(epoch from p.ends_at - p.begins_at) end as cpu_measured_s,
	case when h.energy_j is not null then jsonb_build_object(extract(hour from p.hour at time zone 'UTC'), round(h.energy_j
		* coalesce(extract(epoch from p.ends_at - p.begins_at) / nullif(extract(epoch from h.ended_at - h.started_at), 0), 1), 6)) end as energy_hours
from held h
cross join lateral (select (extract(epoch from date_trunc('hour', h.ended_at, 'UTC') - date_trunc('hour', h.started_at, 'UTC')) / 3600)::int as last) l
cross join lateral (select n, l.last from generate_series(0, l.last) n) g
cross join lateral (select date_trunc('hour', h.started_at, 'UTC') + g.n * interval '1 hour' as hour) w
cross join lateral (select w.hour, greatest(h.started_at, w.hour) as begins_at, least(h.ended_at, w.hour + interval '1 hour') as ends_at) p;
insert into usage_hour (hour, account, user_name, partition, qos, cpu_s, node_s, mem_mb_s, gres_s, cpu_used_s, cpu_measured_s, energy_hours, steps_ended, steps_completed,
	steps_failed, steps_cancelled, steps_waited, wait_s)
select hour, account, user_name, partition, qos, coalesce(h.cpu_s, 0), coalesce(h.node_s, 0), coalesce(h.mem_mb_s, 0), coalesce(h.gres_s, '{}'), coalesce(h.cpu_used_s, 0),
	coalesce(h.cpu_measured_s, 0), coalesce(h.energy_hours, '{}'), coalesce(e.steps_ended, 0), coalesce(e.steps_completed, 0), coalesce(e.steps_failed, 0), coalesce(e.steps_cancelled, 0),
	coalesce(e.steps_waited, 0), coalesce(e.wait_s, 0)
from (
	select p.hour, p.account, p.user_name, p.partition, p.qos, sum(p.cpus * p.s) as cpu_s, sum(p.s) as node_s, sum(p.mem_mb * p.s) as mem_mb_s,
		acct.gres_sum(acct.gres_units(p.gres, p.s)) as gres_s, sum(p.cpu_used_s) as cpu_used_s, sum(p.cpu_measured_s) as cpu_measured_s,
		acct.gres_sum(p.energy_hours) as energy_hours
	from piece p
	group by 1, 2, 3, 4, 5
) h
full join by_end e using (hour, account, user_name, partition, qos)
-- In the order of time, as a working instance writes them.
order by hour;
insert into node_usage_hour (hour, node_id, cpu_s, node_s, mem_mb_s, gres_s, cpu_used_s, cpu_measured_s, energy_hours)
select p.hour, p.node_id, sum(p.cpus * p.s), sum(p.s), sum(p.mem_mb * p.s), acct.gres_sum(acct.gres_units(p.gres, p.s)), coalesce(sum(p.cpu_used_s), 0), coalesce(sum(p.cpu_measured_s), 0),
	acct.gres_sum(p.energy_hours)
from piece p
group by 1, 2
order by 1, 2;
-- Add up days and months from the hours.
do $$
declare
	v record;
begin
	for v in
		select c.kind || '_' || n.period as into_table, n.period, c.kind || '_hour' as from_table, array_to_string(k.keys[2:], ', ') as keys, array_to_string(k.measures, ', ') as measures,
			internal.usage_sums(k.measures) as sums
		from unnest(array['usage', 'node_usage']) c (kind)
		cross join unnest(array['day', 'month']) n (period)
		cross join lateral internal.usage_columns(c.kind || '_hour') k
	loop
		execute format('insert into rota.%1$I (%2$s, %3$s, %4$s) select date_trunc(%2$L, x.hour at time zone z.time_zone)::date, %3$s, %5$s
			from rota.%6$I x cross join rota.usage_state z group by 1, %3$s order by 1', v.into_table, v.period, v.keys, v.measures, v.sums, v.from_table);
	end loop;
end $$;
commit;
vacuum analyze usage_hour, usage_day, usage_month, node_usage_hour, node_usage_day, node_usage_month;
