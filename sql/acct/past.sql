-- Jobs, queue, nodes and use of the cluster at a moment of the past. The functions read the views of schema acct, so a user sees
-- the same rows of the past as of the present.

create function acct.jobs_between(p_from timestamptz, p_to timestamptz)
returns table (job_id bigint, user_name text, account text, qos text, submit_at timestamptz)
language plpgsql stable set search_path = acct, pg_temp as $$
begin
	-- Two queries with `union all`, so each can use an index on times.
	return query
	select j.job_id, j.user_name, j.account, j.qos, j.submit_at from job j where j.submit_at <= p_to and j.ended_at >= p_from
	union all
	select j.job_id, j.user_name, j.account, j.qos, j.submit_at from job j where j.submit_at <= p_to and j.ended_at is null;
end $$;
comment on function acct.jobs_between(timestamptz, timestamptz) is
	'Jobs that were submitted by p_to and had not ended before p_from. For one moment, give it twice.';

create function acct.queue_at(p_at timestamptz)
returns table (job_id bigint, step_id int, step text, array_index int, user_name text, account text, qos text, partition text,
	state text, attempt int,
	since timestamptz, submit_at timestamptz, nodes text, cpus bigint, cpus_requested bigint,
	mem_requested_mb bigint, gres_requested jsonb)
language plpgsql stable set search_path = acct, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select j.job_id, e.step_id, e.step, e.array_index, j.user_name, j.account, j.qos, e.partition, e.to_state, e.attempt,
		e.at, j.submit_at, a.nodes, a.cpus, q.cpus_requested, q.mem_requested_mb, q.gres_requested
	from acct.jobs_between(p_at, p_at) j
	cross join lateral (
		select distinct on (x.step_id) x.* from event x where x.job_id = j.job_id and x.at <= p_at order by x.step_id,
			x.event_id desc
	) e
	left join lateral (
		select string_agg(x.node, ',' order by x.node_index) as nodes, sum(case when x.without_cpus @> p_at then 0
			else x.cpus end) as cpus
		from allocation x
		where x.job_id = j.job_id and x.step_id = e.step_id and x.attempt = e.attempt and x.started_at <= p_at
			and coalesce(x.ended_at, 'infinity') > p_at
	) a on e.to_state <> 'pending'
	left join lateral (
		select r.cpus_requested, r.mem_requested_mb, r.gres_requested from request r
		where r.job_id = j.job_id and r.step = e.step
		offset 0 -- by key
	) q on true
	where e.to_state in ('pending', 'starting', 'prolog', 'running', 'suspended', 'ending')
	order by j.job_id, e.step_id;
end $$;
comment on function acct.queue_at(timestamptz) is
	'Steps that were submitted and not ended at the moment p_at, one row each: their state then, since when they were in it, '
	'the resources that they held (nodes, cpus; null: none) and the resources asked for. An element of an array has a row '
	'from its start on.';

create function acct.nodes_at(p_at timestamptz)
returns table (node text, state text, reason text, since timestamptz, cpus int, mem_mb bigint, steps bigint, cpus_held bigint,
	mem_mb_held bigint)
language plpgsql stable set search_path = acct, pg_temp as $$
#variable_conflict use_column
begin
	return query
	with held as (
		select x.node, count(distinct (x.job_id, x.step_id)) as steps, sum(case when x.without_cpus @> p_at then 0
			else x.cpus end) as cpus,
			sum(x.mem_mb)::bigint as mem_mb
		from acct.jobs_between(p_at, p_at) j
		-- Few jobs were live at p_at, so read the jobs first.
		cross join lateral (select * from allocation y
			where y.job_id = j.job_id and y.started_at <= p_at and coalesce(y.ended_at, 'infinity') > p_at
			offset 0) x -- by key
		group by x.node
	)
	select n.node, coalesce(was.to_state, becomes.from_state, n.state),
		case when was.node is null and becomes.node is null then n.reason else was.reason end, was.at,
		coalesce(had.cpus, gets.cpus_before, n.cpus), coalesce(had.mem_mb, gets.mem_mb_before, n.mem_mb),
		coalesce(h.steps, 0), coalesce(h.cpus, 0), coalesce(h.mem_mb, 0)
	from node n
	left join lateral (select x.* from node_event x
		where x.node_id = n.node_id and x.at <= p_at order by x.node_event_id desc limit 1) was on true
	left join lateral (select x.* from node_event x
		where x.node_id = n.node_id and x.at > p_at order by x.node_event_id limit 1) becomes on true
	left join lateral (select x.* from node_change x where x.node = n.node and x.at <= p_at order by x.at desc limit 1) had
		on true
	left join lateral (select x.* from node_change x where x.node = n.node and x.at > p_at order by x.at limit 1) gets on true
	left join held h on h.node = n.node
	-- Leave out nodes that were created after p_at, also those created again under an old name.
	where not exists (select from node_change x where x.node = n.node and x.at > p_at and x.action = 'create')
	order by n.node;
end $$;
comment on function acct.nodes_at(timestamptz) is
	'Nodes as they were at the moment p_at, one row each: state, reason and begin of the state (null: before the first '
	'record), configured cpus and mem_mb, and what the steps that you see held of these. Nodes that have been deleted since '
	'are left out.';

create function acct.whole_periods(p_unit text, p_range tstzrange, p_zone text) returns tstzmultirange
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
	-- The first begin of a period at or after the begin of the range, and the last begin at or before the end of the range.
	v_first timestamptz := date_trunc(p_unit, lower(p_range), p_zone);
	v_last constant timestamptz := date_trunc(p_unit, upper(p_range), p_zone);
begin
	if v_first < lower(p_range) then
		v_first := date_trunc(p_unit,
			(date_trunc(p_unit, lower(p_range) at time zone p_zone) + ('1 ' || p_unit)::interval) at time zone p_zone,
			p_zone);
	end if;
	return case when v_first < v_last then tstzmultirange(tstzrange(v_first, v_last)) else '{}' end;
end $$;
comment on function acct.whole_periods(text, tstzrange, text) is
	'The hours, days or months (p_unit) of a time zone that lie entirely in a range, as one range; empty: none.';

create function acct.usage_between(p_from timestamptz, p_to timestamptz)
returns table (account text, user_name text, partition text, qos text, cpu_s numeric, node_s numeric, mem_mb_s numeric,
	gres_s jsonb)
language plpgsql stable set search_path = acct, pg_temp as $$
#variable_conflict use_column
declare
	v_zone constant text := (select z.time_zone from site z);
	v_until constant timestamptz := greatest(p_to, p_from);
	-- Read whole months by month, whole days of the rest by day, whole hours of that rest by hour, and the remainder from the
	-- allocations.
	v_months tstzmultirange := acct.whole_periods('month', tstzrange(p_from, v_until), v_zone);
	v_days tstzmultirange := '{}';
	v_hours tstzmultirange := '{}';
	v_left tstzmultirange := tstzmultirange(tstzrange(p_from, v_until)) - v_months;
begin
	select v_days + coalesce(range_agg(x), '{}') into v_days from unnest(v_left) r
		cross join unnest(acct.whole_periods('day', r, v_zone)) x;
	v_left := v_left - v_days;
	select v_hours + coalesce(range_agg(x), '{}') into v_hours from unnest(v_left) r
		cross join unnest(acct.whole_periods('hour', r, 'UTC')) x;
	v_left := v_left - v_hours;
	return query
	select x.account, x.user_name, x.partition, x.qos, sum(x.cpu_s), sum(x.node_s), sum(x.mem_mb_s), acct.gres_sum(x.gres_s)
	from (
		select u.account, u.user_name, u.partition, u.qos, u.cpu_s, u.node_s, u.mem_mb_s, u.gres_s
		from unnest(v_months) r
		cross join lateral (select * from usage_month m
			where m.month >= (lower(r) at time zone v_zone)::date
			and m.month < (upper(r) at time zone v_zone)::date offset 0) u -- by key
		union all
		select u.account, u.user_name, u.partition, u.qos, u.cpu_s, u.node_s, u.mem_mb_s, u.gres_s
		from unnest(v_days) r
		cross join lateral (select * from usage_day d
			where d.day >= (lower(r) at time zone v_zone)::date
			and d.day < (upper(r) at time zone v_zone)::date offset 0) u -- by key
		union all
		select u.account, u.user_name, u.partition, u.qos, u.cpu_s, u.node_s, u.mem_mb_s, u.gres_s
		from unnest(v_hours) r
		cross join lateral (select * from usage_hour h
			where h.hour >= lower(r) and h.hour < upper(r) offset 0) u -- by key
		union all
		select a.account, a.user_name, a.partition, a.qos, acct.cpu_held_s(a.cpus, p.begins_at, p.ends_at,
			a.without_cpus),
			s.s, a.mem_mb * s.s,
			case when a.without_gpus is null then acct.gres_units(nullif(a.gres, '{}'), s.s)
				else acct.gres_held(nullif(a.gres, '{}'), p.begins_at, p.ends_at, a.without_gpus) end
		from unnest(v_left) r
		cross join lateral acct.jobs_between(lower(r), upper(r)) j
		cross join lateral (select * from allocation y
			where y.job_id = j.job_id and y.started_at < upper(r)
			and coalesce(y.ended_at, now()) > lower(r) offset 0) a -- by key
		cross join lateral (select greatest(a.started_at, lower(r)) as begins_at,
			least(coalesce(a.ended_at, now()), upper(r)) as ends_at) p
		cross join lateral (select extract(epoch from p.ends_at - p.begins_at) as s) s
	) x
	group by x.account, x.user_name, x.partition, x.qos
	order by 5 desc;
end $$;
comment on function acct.usage_between(timestamptz, timestamptz) is
	'Resources that steps held from p_from (included) to p_to (excluded), to the microsecond: CPU-seconds, node-seconds, '
	'MiB-seconds, device-seconds of generic resources. Of jobs that have left the database only whole hours are known: what '
	'they held in the first and last hour is missing if p_from or p_to cuts that hour.';
