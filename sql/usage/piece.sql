-- Pieces of which usage figures are sums: each allocation, cut at the hours and at the days of the site. The stored figures, the
-- recent usage that these lack, and the audit sum up these same rows.

create function acct.range_s(p_ranges tstzmultirange) returns numeric
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
begin
	return (select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0) from unnest(p_ranges) r);
end $$;
comment on function acct.range_s(tstzmultirange) is 'Total length of these time ranges, in seconds.';

create function acct.cpu_held_s(p_cpus int, p_from timestamptz, p_until timestamptz, p_without tstzmultirange) returns numeric
language sql immutable parallel safe
-- The body is bound when the function is created, and is inlined into queries: it is computed for every row of the history.
return p_cpus * case when isempty(p_without) then extract(epoch from p_until - p_from)
	else extract(epoch from p_until - p_from) - acct.range_s(
		p_without * tstzmultirange(tstzrange(p_from, greatest(p_from, p_until)))) end;
comment on function acct.cpu_held_s(int, timestamptz, timestamptz, tstzmultirange) is
	'CPU-seconds that an allocation of p_cpus CPUs held from p_from until p_until, without the times p_without in which it '
	'had given them back.';

create function acct.cpu_used_before(p_cpu_s numeric, p_from timestamptz, p_until timestamptz, p_hours bigint[], p_at timestamptz)
	returns numeric
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
	select case
	when p_at >= p_until then p_cpu_s
	when p_at <= p_from then 0
	when p_hours is null then round(p_cpu_s * extract(epoch from p_at - p_from) / extract(epoch from p_until - p_from), 6)
	else (
		select round((coalesce((select sum(h) from unnest(p_hours[:x.nr]) h), 0)
			+ p_hours[x.nr + 1] * extract(epoch from p_at - x.begins_at)
			/ nullif(extract(epoch from x.ends_at - x.begins_at), 0)) / 1e6, 6)
		from (
			select nr, greatest(p_from, date_trunc('hour', p_at, 'UTC')) as begins_at,
				least(p_until, date_trunc('hour', p_at, 'UTC') + interval '1 hour') as ends_at
			from (select (extract(epoch from date_trunc('hour', p_at, 'UTC') - date_trunc('hour', p_from, 'UTC'))
				/ 3600)::int as nr) n
		) x)
	end;
$$;
comment on function acct.cpu_used_before(numeric, timestamptz, timestamptz, bigint[], timestamptz) is
	'Of the CPU-seconds that an allocation used from p_from until p_until, those used before p_at: by its use in each hour '
	'(p_hours, as rota.allocation.cpu_hours), evenly within an hour, and evenly over all if p_hours is null.';

create function acct.mem_requested_mb(p_mem_mb bigint, p_mem_per_cpu_mb bigint, p_nodes int, p_tasks int, p_cpus_per_task int)
	returns bigint
language sql immutable parallel safe
return coalesce(p_mem_mb * p_nodes, p_mem_per_cpu_mb * p_tasks * p_cpus_per_task);
comment on function acct.mem_requested_mb(bigint, bigint, int, int, int) is
	'Memory that a step asks for over all nodes, in MiB, from the memory for each node or for each CPU; null: it asks for '
	'none.';

create function acct.slurm_tres(p_cpus bigint, p_mem_mb numeric, p_nodes bigint, p_gres jsonb) returns text
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
	return concat_ws(',', 'cpu=' || p_cpus, 'mem=' || p_mem_mb || 'M', 'node=' || p_nodes,
		(select string_agg('gres/' || g.key || '=' || g.value, ',' order by g.key) from jsonb_each_text(p_gres) g));
end $$;
comment on function acct.slurm_tres(bigint, numeric, bigint, jsonb) is
	'Resources as Slurm writes them, cpu=2,mem=100M,node=1,gres/gpu=4; p_gres: total number of devices, {"gpu": 4}.';

create function acct.gres_units(p_gres jsonb, p_seconds numeric) returns jsonb
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
begin
	return (select jsonb_object_agg(g.key, jsonb_array_length(g.value) * p_seconds) from jsonb_each(p_gres) g);
end $$;
comment on function acct.gres_units(jsonb, numeric) is
	'Device-seconds {"gpu": 7200} of the devices {"gpu": [0, 3]} held for p_seconds seconds.';

create function acct.gres_held(p_gres jsonb, p_from timestamptz, p_until timestamptz, p_without tstzmultirange) returns jsonb
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
	return (select jsonb_object_agg(g.key, acct.cpu_held_s(jsonb_array_length(g.value), p_from, p_until,
		case when g.key = 'gpu' then coalesce(p_without, '{}') else '{}' end)) from jsonb_each(p_gres) g);
end $$;
comment on function acct.gres_held(jsonb, timestamptz, timestamptz, tstzmultirange) is
	'Device-seconds {"gpu": 7200} of the devices {"gpu": [0, 3]} held from p_from until p_until, of GPUs without the times '
	'p_without in which they were given back.';

create function acct.gres_scaled(p_gres jsonb, p_seconds numeric) returns jsonb
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
begin
	return (select jsonb_object_agg(g.key, g.value::numeric * p_seconds) from jsonb_each_text(p_gres) g);
end $$;
comment on function acct.gres_scaled(jsonb, numeric) is
	'Device-seconds {"gpu": 7200} of a number of devices {"gpu": 2} held for p_seconds seconds.';

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
comment on function acct.gres_add(jsonb, jsonb) is 'Sum of two JSON objects with amounts by name, {"gpu": 7200}.';

create aggregate acct.gres_sum(jsonb) (sfunc = acct.gres_add, stype = jsonb, initcond = '{}', parallel = safe,
	combinefunc = acct.gres_add);
comment on aggregate acct.gres_sum(jsonb) is
	'Aggregate: sum of JSON objects with amounts by name, {"gpu": 7200}; nulls do not count.';

create type internal.usage_row as (
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
	energy_hours jsonb,
	steps_ended bigint,
	steps_completed bigint,
	steps_failed bigint,
	steps_cancelled bigint,
	steps_waited bigint,
	wait_s numeric
);
comment on type internal.usage_row is
	'A row that is added to the usage figures: columns of rota.usage_hour and the similar tables. Null: nothing to add.';

-- rota.step.queue is empty for steps that are in no queue; their partition is that of the request.
create view internal.usage_step as
select s.job_id, s.step_id, s.is_array, s.state, s.eligible_at, s.started_at, s.ended_at, coalesce(j.account, '') as account,
	j.user_name, j.qos,
	coalesce(nullif(s.queue, ''), (select r.partition from rota.step_request r
	where r.job_id = s.job_id and r.step_id = s.request_id)) as partition
from rota.step s
join rota.job j on j.job_id = s.job_id;
comment on view internal.usage_step is 'Steps, one row each, with user, account and partition; account empty: none.';

-- Without `offset 0`, the planner could join whole tables and read all history to find live allocations.
create view internal.usage_held as
select a.job_id, a.step_id, a.attempt, a.node_id, w.account, w.user_name, coalesce(a.partition, w.partition) as partition, w.qos,
	a.cpus, a.mem_mb, nullif(a.gres, '{}') as gres, a.without_cpus, a.without_gpus, a.started_at, a.ended_at,
		greatest(coalesce(a.ended_at, now()), a.started_at) as until,
	a.cpu_usec / 1e6::numeric as cpu_used_s, a.cpu_hours, a.energy_j
from rota.allocation a
cross join lateral (select s.account, s.user_name, s.qos, s.partition from internal.usage_step s
	where s.job_id = a.job_id and s.step_id = a.step_id offset 0) w; -- by key
comment on view internal.usage_held is
	'Allocations, one row each, with the resources that they held, and the user and account of their steps.';

-- Resources held and resources used, in one query, so that allocations are looked up once for both.
create view internal.usage_part as
select h.job_id, h.step_id, h.attempt, h.started_at, h.ended_at, x.used, x.hour, x.day,
	x.day - extract(day from x.day)::int + 1 as month, h.node_id, h.account,
	h.user_name, h.partition, h.qos,
	case when not x.used then acct.cpu_held_s(h.cpus, x.begins_at, x.ends_at, h.without_cpus) end as cpu_s,
	case when not x.used then x.s end as node_s, case when not x.used then h.mem_mb * x.s end as mem_mb_s,
	case when not x.used then case when h.without_gpus is null then acct.gres_units(h.gres, x.s)
		else acct.gres_held(h.gres, x.begins_at, x.ends_at, h.without_gpus) end end as gres_s,
	case
	when not x.used then null
	when x.begins_at = h.started_at and x.ends_at = h.until then h.cpu_used_s
	else acct.cpu_used_before(h.cpu_used_s, h.started_at, h.until, h.cpu_hours, x.ends_at)
		- acct.cpu_used_before(h.cpu_used_s, h.started_at, h.until, h.cpu_hours, x.begins_at)
	end as cpu_used_s,
	case when x.used then acct.cpu_held_s(h.cpus, x.begins_at, x.ends_at, h.without_cpus) end as cpu_measured_s,
	case when x.used and h.energy_j is not null then jsonb_build_object(extract(hour from x.hour at time zone 'UTC'),
		round(h.energy_j * coalesce(x.s / nullif(extract(epoch from h.until - h.started_at), 0), 1), 6)) end
		as energy_hours
from (select z.time_zone as zone from rota.usage_state z) z
cross join internal.usage_held h
cross join lateral (
	select u.used, g.hour, d.day, extract(epoch from c.ends_at - c.begins_at) as s, c.begins_at, c.ends_at
	-- generate_series in the select list: as a function in FROM, it would fill a table for each row, mostly with one hour.
	from (
		select generate_series(date_trunc('hour', h.started_at, 'UTC'),
			greatest(h.started_at, h.until - interval '1 microsecond'), interval '1 hour') as hour
	) g
	cross join lateral (select greatest(h.started_at, g.hour) as begins_at,
		least(h.until, g.hour + interval '1 hour') as ends_at) p
	cross join lateral (
		select (p.begins_at at time zone z.zone)::date as first,
			(greatest(p.begins_at, p.ends_at - interval '1 microsecond') at time zone z.zone)::date as last
	) l
	-- If the site's days do not begin on a full hour (UTC), an hour may belong to two of them.
	cross join lateral (select l.first + generate_series(0, l.last - l.first) as day) d
	cross join lateral (
		select case when l.first = l.last then p.begins_at
			else greatest(p.begins_at, d.day::timestamp at time zone z.zone) end as begins_at,
			case when l.first = l.last then p.ends_at
			else least(p.ends_at, (d.day + 1)::timestamp at time zone z.zone) end as ends_at
	) c
	-- CPU time held is the CPUs times their duration. CPU time used is known only when the allocation has ended, so it may be
	-- added up later.
	cross join lateral (
		select unnest(case when h.ended_at is not null and h.cpu_used_s is not null then '{f,t}'
			else '{f}' end::boolean[]) as used
	) u
) x;
comment on view internal.usage_part is
	'Allocations, cut at each full hour (UTC) and at each midnight of the site, one row for each piece: the resources held, '
	'and (used) the use of those that have ended, if it is known.';

create view internal.usage_piece as
select p.job_id, p.step_id, p.attempt, p.started_at, p.ended_at, p.hour, p.day, p.month, p.node_id, p.account, p.user_name,
	p.partition, p.qos,
	p.cpu_s, p.node_s, p.mem_mb_s, p.gres_s
from internal.usage_part p
where not p.used;
comment on view internal.usage_piece is
	'Allocations, cut at each full hour (UTC) and at each midnight of the site, one row for each piece.';

create view internal.usage_used as
select p.job_id, p.step_id, p.attempt, p.ended_at, p.hour, p.day, p.month, p.node_id, p.account, p.user_name, p.partition, p.qos,
	p.cpu_used_s, p.cpu_measured_s, p.energy_hours
from internal.usage_part p
where p.used;
comment on view internal.usage_used is
	'Resource use of allocations that have ended, if it is known, cut at each full hour (UTC) and at each midnight of the '
	'site, one row for each piece.';

create view internal.usage_end as
select s.job_id, s.step_id, s.ended_at, date_trunc('hour', s.ended_at, 'UTC') as hour, d.day,
	d.day - extract(day from d.day)::int + 1 as month, null::int as node_id,
	s.account, s.user_name, s.partition, s.qos, 1::bigint as steps_ended,
	(s.state = 'completed')::int::bigint as steps_completed,
	(s.state in ('failed', 'timeout', 'out_of_memory', 'node_fail', 'deadline'))::int::bigint as steps_failed,
	(s.state in ('cancelled', 'preempted', 'dependency_failed', 'skipped'))::int::bigint as steps_cancelled,
	(s.started_at is not null)::int::bigint as steps_waited,
	extract(epoch from greatest(s.started_at - s.eligible_at, interval '0')) as wait_s
from internal.usage_step s
cross join lateral (select (s.ended_at at time zone (select z.time_zone from rota.usage_state z))::date as day) d
-- The head row of an array is left out: its elements have rows of their own.
where not s.is_array;
comment on view internal.usage_end is
	'Ends of steps, one row for each step (ended_at null: not ended), with hour, day and month.';

create view internal.usage_pending_key as
select d.pending_id, d.held, d.used, d.rebuild, k.job_id, k.step_id, k.attempt, k.node_id
from rota.usage_pending d
cross join lateral unnest(d.job_ids, d.step_ids, d.attempts, d.node_ids) k (job_id, step_id, attempt, node_id);
comment on view internal.usage_pending_key is 'The keys in rota.usage_pending, one row for each attempt and node.';

create view internal.usage_pending_piece as
select p.*
from internal.usage_pending_key k
cross join lateral (
	select * from internal.usage_piece p
	where p.job_id = k.job_id and p.step_id = k.step_id and p.attempt = k.attempt and p.node_id = k.node_id
	offset 0 -- by key
) p
where k.held and not k.rebuild;
comment on view internal.usage_pending_piece is
	'Allocations that have ended and that the usage figures do not contain yet, cut at each full hour (UTC) and at each '
	'midnight of the site, one row for each piece.';
