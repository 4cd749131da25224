-- Compares the usage figures with the allocations and ends of steps from which they are computed, and these rows with the CPUs
-- that nodes have and the times at which tasks ran.

-- Sums of allocations cannot prove that the allocations are right. Two other sources can: the sizes of nodes and the times of
-- tasks.
create function internal.usage_witness(p_from timestamptz, p_to timestamptz)
	returns table (figures text, key jsonb, added_up jsonb, raw jsonb)
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	with held as materialized (
		select a.* from allocation a where a.started_at < p_to and coalesce(a.ended_at, 'infinity') > p_from
	), flow as (
		select h.node_id, h.started_at as at, h.cpus, h.mem_mb from held h
		union all
		select h.node_id, h.ended_at, -h.cpus, -h.mem_mb from held h where h.ended_at is not null
		union all
		select h.node_id, x.at, x.cpus, 0
		from held h
		cross join lateral unnest(h.without_cpus) r
		cross join lateral (values (lower(r), -h.cpus), (upper(r), h.cpus)) x (at, cpus)
		where x.at is not null
	), moment as (
		-- Sum up allocations that begin and end at the same moment: CPUs of one that ends may pass to one that begins.
		select f.node_id, f.at, sum(sum(f.cpus)) over o as cpus, sum(sum(f.mem_mb)) over o as mem_mb
		from flow f
		group by f.node_id, f.at
		window o as (partition by f.node_id order by f.at)
	)
	select 'node_size', jsonb_build_object('node', n.name, 'at', m.at), 
		jsonb_build_object('cpus', m.cpus, 'mem_mb', m.mem_mb), jsonb_build_object('cpus', s.cpus, 'mem_mb', s.mem_mb)
	from moment m
	join node n on n.node_id = m.node_id
	-- Steps may hold more CPUs than a node has for a while after the node was made smaller.
	cross join lateral (select max(x.cpus) as cpus, max(x.mem_mb) as mem_mb from acct.node_state x
		where x.node = n.name and x.from_at < p_to and x.until_at > p_from offset 0) s -- once a row
	where m.cpus > s.cpus or m.mem_mb > s.mem_mb
	union all
	select 'task_end', jsonb_build_object('job_id', e.job_id, 'step_id', e.step_id, 'attempt', e.attempt, 'task', e.task),
		jsonb_build_object('started_at', h.started_at, 'ended_at', h.ended_at),
		jsonb_build_object('started_at', e.started_at, 'ended_at', e.ended_at)
	from held h
	join task_end e on e.job_id = h.job_id and e.step_id = h.step_id and e.attempt = h.attempt and e.node_id = h.node_id
	-- Of a lost node, nobody knows until when its tasks ran.
	where h.lost_at is null and (e.started_at < h.started_at or e.ended_at > h.ended_at);
end $$;
comment on function internal.usage_witness(timestamptz, timestamptz) is
	'Contradictions from p_from to p_to, one row each: moments at which steps held more on a node than the node has '
	'(figures: node_size), and tasks that ran while their step held nothing (task_end). added_up: what the allocations say; '
	'raw: the size of the node, the time of the task.';

create function internal.usage_compare() returns text
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_one record;
	v_compare text;
begin
	for v_one in
		select kind || '_' || period as name, kind = 'node_usage' as of_nodes, array_to_string(c.keys, ', ') as keys,
			c.measures,
			case period
				when 'hour'
					then '%1$s.hour >= $1::timestamp at time zone z.time_zone and %1$s.hour < '
						'$2::timestamp at time zone z.time_zone'
				when 'day' then '%1$s.day >= $1 and %1$s.day < $2'
				else '%1$s.month >= $1 and %1$s.month + interval ''1 month'' <= $2' end
			|| ' and not $3 && tstzrange(' || case period
				when 'hour' then '%1$s.hour, %1$s.hour + interval ''1 hour'''
				when 'day'
					then '%1$s.day::timestamp at time zone z.time_zone, (%1$s.day + interval ''1 day'') at '
						'time zone z.time_zone'
				else '%1$s.month::timestamp at time zone z.time_zone, (%1$s.month + interval ''1 month'') at '
					'time zone z.time_zone' end || ')' as within,
			-- A missing row equals a row of zeros, such as the row of an allocation that took no time.
			(select string_agg(format('coalesce(%%1$s.%I, %L)', m,
				case when m = any (internal.usage_named()) then '{}' else '0' end), ', ' order by nr)
				from unnest(c.measures) with ordinality u (m, nr)) as compared
		from unnest(array['usage', 'node_usage']) kind
		cross join unnest(array['hour', 'day', 'month']) period
		cross join lateral internal.usage_columns(kind || '_' || period) c
	loop
		v_compare := concat_ws(' union all ', v_compare, format($compare$
			select %1$L, to_jsonb(k), to_jsonb(m), to_jsonb(r)
			from (select t.* from usage_state z cross join %1$I t where %2$s) m
			full
				join (select %3$s, %4$s from usage_state z cross join raw x where %5$s and %6$s group by %3$s) r
				using (%3$s)
			cross join lateral (select %3$s) k
			where (%7$s) is distinct from (%8$s)$compare$,
			v_one.name, format(v_one.within, 't'), v_one.keys, internal.usage_sums(v_one.measures),
			format(v_one.within, 'x'),
			case when v_one.of_nodes then 'node_id is not null' else 'true' end,
			format(v_one.compared, 'm'), format(v_one.compared, 'r')));
	end loop;
	return v_compare;
end $$;
comment on function internal.usage_compare() is
	'Text of a query that compares each usage table with "raw", the figures that acct.usage_audit computes anew in its WITH '
	'clause. $1 and $2 are the days, from the first (included) to the last (excluded). $3: times that are not compared.';

create function acct.usage_audit(p_from date, p_to date) returns table (figures text, key jsonb, added_up jsonb, raw jsonb)
-- jit = off: compiling would take longer than it saves.
language plpgsql stable security definer set search_path = rota, pg_temp set jit = off as $$
declare
	-- Part of the usage in these periods is of dropped jobs, so it cannot be computed again.
	v_gone constant tstzmultirange := (select coalesce(range_agg(g.during), '{}') from internal.range_gone() g);
begin
	-- One statement reads the figures, the changes that are still to be added to them, and the rows, so all are of one
	-- moment.
	return query execute $audit$
		with due as materialized (
			select k.job_id, k.step_id, k.attempt, k.node_id, k.held, k.used from internal.usage_pending_key k
		), raw as materialized (
			select p.hour, p.day, p.month, p.node_id, p.account, p.user_name, p.partition, p.qos, p.cpu_s, p.node_s,
				p.mem_mb_s, p.gres_s, null::numeric as cpu_used_s,
				null::numeric as cpu_measured_s, null::jsonb as energy_hours,
				null::bigint as steps_ended, null::bigint as steps_completed, null::bigint as steps_failed,
				null::bigint as steps_cancelled, null::bigint as steps_waited,
				null::numeric as wait_s
			from internal.usage_piece p
			where p.ended_at >= $1 - interval '2 days' and p.started_at < $2 + interval '2 days'
				and not exists (select from due d
					where d.held and d.job_id = p.job_id and d.step_id = p.step_id and d.attempt = p.attempt
					and d.node_id = p.node_id)
			union all
			select u.hour, u.day, u.month, u.node_id, u.account, u.user_name, u.partition, u.qos, null, null, null,
				null, u.cpu_used_s, u.cpu_measured_s, u.energy_hours, null, null, null, null, null, null
			from internal.usage_used u
			where u.ended_at >= $1 - interval '2 days' and u.ended_at < $2 + interval '2 days'
				and not exists (select from due d
					where d.used and d.job_id = u.job_id and d.step_id = u.step_id and d.attempt = u.attempt
					and d.node_id = u.node_id)
			union all
			select e.hour, e.day, e.month, null, e.account, e.user_name, e.partition, e.qos, null, null, null, null,
				null, null, null, e.steps_ended, e.steps_completed, e.steps_failed,
				e.steps_cancelled, e.steps_waited, e.wait_s
			from internal.usage_end e
			where e.ended_at >= $1 - interval '2 days' and e.ended_at < $2 + interval '2 days'
				and not exists (select from due d
					where d.job_id = e.job_id and d.step_id = e.step_id and d.node_id is null)
		) $audit$ || internal.usage_compare()
	using p_from, p_to, v_gone;
	return query
	select w.* from usage_state z
	cross join internal.usage_witness(p_from::timestamp at time zone z.time_zone, p_to::timestamp at time zone z.time_zone) w;
end $$;
comment on function acct.usage_audit(date, date) is
	'Compares the stored usage figures of the days from p_from (included) to p_to (excluded), and of the months within them, '
	'with the allocations and the ends of steps. Returns one row for each figure that differs: its table, its key, the '
	'stored value (added_up) and the value computed now (raw). Two more kinds of rows are moments at which steps held more '
	'on a node than the node has (node_size), and tasks that ran while their step held nothing (task_end). A sound database '
	'returns no row. Periods with jobs that have left the database are not compared.';
