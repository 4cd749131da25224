-- What usage figures are made of: each allocation cut at the hours, and at the days of the site. Rollups, what is not in them yet, and
-- the audit all add up these same rows, so they can differ only by which rows they take.

create function acct.gres_units(p_gres jsonb, p_seconds numeric) returns jsonb
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
begin
	return (select jsonb_object_agg(g.key, jsonb_array_length(g.value) * p_seconds) from jsonb_each(p_gres) g);
end $$;
comment on function acct.gres_units(jsonb, numeric) is 'Unit-seconds of generic resources {"gpu": [0, 3]} held for so many seconds: {"gpu": 7200}. Internal.';

create function acct.gres_add(p_one jsonb, p_other jsonb) returns jsonb
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
begin
	if p_one = '{}' or p_other = '{}' then
		return p_one || p_other;
	end if;
	return (
		select jsonb_object_agg(x.key, x.n)
		from (
			select y.key, sum(y.value::numeric) as n
			from (select * from jsonb_each_text(p_one) union all select * from jsonb_each_text(p_other)) y
			group by y.key
		) x);
end $$;
comment on function acct.gres_add(jsonb, jsonb) is 'Sum of unit-seconds, kind by kind. Internal.';

create aggregate acct.gres_sum(jsonb) (sfunc = acct.gres_add, stype = jsonb, initcond = '{}', parallel = safe, combinefunc = acct.gres_add);
comment on aggregate acct.gres_sum(jsonb) is 'Sum of unit-seconds, kind by kind; nulls do not count. Internal.';

create type api.usage_key as (job_id bigint, step_id int, attempt int, node_id int);
comment on type api.usage_key is 'Names an allocation; or, without attempt and node, the end of a step.';

create type api.usage_row as (
	hour timestamptz,
	day date,
	month date,
	node_id int,
	account text,
	user_name text,
	partition text,
	qos text,
	cpu_s numeric,
	node_s numeric,
	mem_mb_s numeric,
	gres_s jsonb,
	cpu_used_s numeric,
	cpu_measured_s numeric,
	steps_ended bigint,
	steps_completed bigint,
	steps_failed bigint,
	steps_cancelled bigint,
	steps_waited bigint,
	wait_s numeric
);
comment on type api.usage_row is 'What is added up to usage figures: columns of rota.usage_hour and its likes. Null: nothing to add.';

-- Whose it was is asked for by key, allocation by allocation ("offset 0" keeps it so): a planner that joined whole tables would read all
-- history for what runs now.
create view api.usage_held as
select a.job_id, a.step_id, a.attempt, a.node_id, w.account, w.user_name, coalesce(a.partition, w.partition) as partition, w.qos,
	a.cpus, a.mem_mb, nullif(a.gres, '{}') as gres, a.started_at, a.ended_at, greatest(coalesce(a.ended_at, now()), a.started_at) as until,
	a.cpu_usec / 1e6::numeric as cpu_used_s,
	case when a.cpu_usec is not null then a.cpus * extract(epoch from a.ended_at - a.started_at) end as cpu_measured_s
from rota.allocation a
cross join lateral (
	select coalesce(j.account, '') as account, j.user_name, j.qos, r.partition
	from rota.step s
	join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
	join rota.job j on j.job_id = s.job_id
	where s.job_id = a.job_id and s.step_id = a.step_id
	offset 0
) w;
comment on view api.usage_held is 'What was held, and by whom. Internal.';

create view api.usage_hour_piece as
select h.job_id, h.step_id, h.attempt, h.started_at, h.ended_at, g.hour, null::date as day, null::date as month, h.node_id, h.account, h.user_name, h.partition, h.qos,
	h.cpus * p.s as cpu_s, p.s as node_s, h.mem_mb * p.s as mem_mb_s, acct.gres_units(h.gres, p.s) as gres_s,
	case when p.last then h.cpu_used_s end as cpu_used_s, case when p.last then h.cpu_measured_s end as cpu_measured_s
from api.usage_held h
cross join lateral generate_series(date_trunc('hour', h.started_at, 'UTC'), h.until, interval '1 hour') g (hour)
cross join lateral (
	select extract(epoch from least(h.until, g.hour + interval '1 hour') - greatest(h.started_at, g.hour)) as s, h.ended_at < g.hour + interval '1 hour' as last
) p;
comment on view api.usage_hour_piece is 'Allocations, a row for each full hour (UTC) that they reach into. Internal.';

create view api.usage_day_piece as
select h.job_id, h.step_id, h.attempt, h.started_at, h.ended_at, null::timestamptz as hour, g.at::date as day, date_trunc('month', g.at)::date as month, h.node_id, h.account,
	h.user_name, h.partition, h.qos,
	h.cpus * p.s as cpu_s, p.s as node_s, h.mem_mb * p.s as mem_mb_s, acct.gres_units(h.gres, p.s) as gres_s,
	case when p.last then h.cpu_used_s end as cpu_used_s, case when p.last then h.cpu_measured_s end as cpu_measured_s
from rota.usage_state z
cross join api.usage_held h
cross join lateral generate_series(date_trunc('day', h.started_at at time zone z.time_zone), h.until at time zone z.time_zone, interval '1 day') g (at)
cross join lateral (select g.at at time zone z.time_zone as begins_at, (g.at + interval '1 day') at time zone z.time_zone as ends_at) d
cross join lateral (
	select extract(epoch from least(h.until, d.ends_at) - greatest(h.started_at, d.begins_at)) as s, h.ended_at < d.ends_at as last
) p;
comment on view api.usage_day_piece is 'Allocations, a row for each day of the site that they reach into, be it of 23, 24 or 25 hours. Internal.';

create view api.usage_end as
select s.job_id, s.step_id, s.ended_at, date_trunc('hour', s.ended_at, 'UTC') as hour, d.day, date_trunc('month', d.day)::date as month, null::int as node_id,
	coalesce(j.account, '') as account, j.user_name, coalesce(nullif(s.queue, ''), r.partition) as partition, j.qos, 1::bigint as steps_ended,
	(s.state = 'completed')::int::bigint as steps_completed,
	(s.state in ('failed', 'timeout', 'out_of_memory', 'node_fail', 'deadline'))::int::bigint as steps_failed,
	(s.state in ('cancelled', 'preempted', 'dependency_failed'))::int::bigint as steps_cancelled,
	(s.started_at is not null)::int::bigint as steps_waited, extract(epoch from greatest(s.started_at - s.eligible_at, interval '0')) as wait_s
from rota.usage_state z
cross join rota.step s
cross join lateral (select (s.ended_at at time zone z.time_zone)::date as day) d
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = s.job_id
-- The row of an array is none of its elements.
where s.array_index is not null or not exists (select from rota.step_array a where a.job_id = s.job_id and a.step_id = s.step_id);
comment on view api.usage_end is 'Ends of steps (ended_at null: to come), with their hour, day and month. Internal.';

create view api.usage_due_key as
select d.due_id, d.rebuild, k.job_id, k.step_id, k.attempt, k.node_id
from rota.usage_due d
cross join lateral unnest(d.job_ids, d.step_ids, d.attempts, d.node_ids) k (job_id, step_id, attempt, node_id);
comment on view api.usage_due_key is 'What is in rota.usage_due, one by one. Internal.';
