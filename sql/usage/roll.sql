-- Adds usage up to the usage figures by hour, day and month.
--
-- Invariants:
-- - Rows that rota.usage_pending names are added to the figures of their hour, day and month, and deleted from it, in one
--   transaction. So they count exactly once, also if nodemgrd dies or two nodemgrds call.
-- - A rebuild enters all ended allocations and steps in rota.usage_pending again.
-- - format() builds the statements from the columns of the tables, as six tables have the same measures.

create function internal.usage_columns(p_table text, out keys text[], out measures text[])
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	select array_agg(a.attname::text order by a.attnum) filter (where a.attnum = any (i.indkey)),
		array_agg(a.attname::text order by a.attnum) filter (where a.attnum <> all (i.indkey))
	into keys, measures
	from pg_index i
	join pg_attribute a on a.attrelid = i.indrelid and a.attnum > 0 and not a.attisdropped
	where i.indrelid = format('rota.%I', p_table)::regclass and i.indisprimary;
end $$;
comment on function internal.usage_columns(text) is
	'For a table of usage figures: the columns of its key, and the columns that are added up.';

create function internal.usage_named() returns text[]
language sql immutable parallel safe
return '{gres_s,energy_hours}'::text[];
comment on function internal.usage_named() is
	'Names of the usage measures that are JSON objects with amounts by name, {"gpu": 7200}.';

create function internal.usage_sums(p_measures text[]) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return (
		select string_agg(case when m = any (internal.usage_named()) then format('acct.gres_sum(x.%I)', m)
			else format('coalesce(sum(x.%I), 0)', m) end || format(' as %I', m), ', ' order by nr)
		from unnest(p_measures) with ordinality u (m, nr));
end $$;
comment on function internal.usage_sums(text[]) is 'SQL select list with the sum of each of these measures over x.';

create function internal.usage_merge(p_table text, p_rows internal.usage_row[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_keys text[];
	v_measures text[];
begin
	select c.keys, c.measures into v_keys, v_measures from internal.usage_columns(p_table) c;
	execute format('insert into %1$I as u (%2$s, %3$s) select %2$s, %4$s from unnest($1) x where %5$s group by %2$s on '
		'conflict (%2$s) do update set %6$s',
		p_table, array_to_string(v_keys, ', '), array_to_string(v_measures, ', '), internal.usage_sums(v_measures),
		case when 'node_id' = any (v_keys) then 'node_id is not null' else 'true' end,
		(select string_agg(format(case when m = any (internal.usage_named())
			then '%1$I = acct.gres_add(u.%1$I, excluded.%1$I)' else '%1$I = u.%1$I + excluded.%1$I' end, m), ', ')
			from unnest(v_measures) m))
	using p_rows;
end $$;
comment on function internal.usage_merge(text, internal.usage_row[]) is 'Add rows to a table of usage figures.';

create function internal.usage_add(p_parts internal.usage_pending_key[], p_ended internal.usage_pending_key[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	-- Many rows share hour, account and user, so they are summed once before they are added to each table.
	v_rows internal.usage_row[] := array(
		select r::internal.usage_row
		from (
			select x.hour, x.day, x.month, x.node_id, x.account, x.user_name, x.partition, x.qos,
				sum(x.cpu_s) as cpu_s, sum(x.node_s) as node_s, sum(x.mem_mb_s) as mem_mb_s,
				acct.gres_sum(x.gres_s) as gres_s, sum(x.cpu_used_s) as cpu_used_s,
				sum(x.cpu_measured_s) as cpu_measured_s, acct.gres_sum(x.energy_hours) as energy_hours,
				null::bigint as steps_ended, null::bigint as steps_completed, null::bigint as steps_failed,
				null::bigint as steps_cancelled, null::bigint as steps_waited, null::numeric as wait_s
			from unnest(p_parts) k
			cross join lateral (
				select * from internal.usage_part p
				where p.job_id = k.job_id and p.step_id = k.step_id and p.attempt = k.attempt
					and p.node_id = k.node_id and case when p.used then k.used else k.held end
				offset 0 -- by key
			) x
			group by x.hour, x.day, x.month, x.node_id, x.account, x.user_name, x.partition, x.qos
		) r
	) || array(
		select r::internal.usage_row
		from (
			select x.hour, x.day, x.month, null::int as node_id, x.account, x.user_name, x.partition, x.qos,
				null::numeric as cpu_s, null::numeric as node_s, null::numeric as mem_mb_s, null::jsonb as gres_s,
				null::numeric as cpu_used_s, null::numeric as cpu_measured_s, null::jsonb as energy_hours,
				sum(x.steps_ended) as steps_ended, sum(x.steps_completed) as steps_completed,
				sum(x.steps_failed) as steps_failed, sum(x.steps_cancelled) as steps_cancelled,
				sum(x.steps_waited) as steps_waited, sum(x.wait_s) as wait_s
			from unnest(p_ended) k
			cross join lateral (select * from internal.usage_end e
				where e.job_id = k.job_id and e.step_id = k.step_id offset 0) x -- by key
			group by x.hour, x.day, x.month, x.account, x.user_name, x.partition, x.qos
		) r
	);
	v_table text;
begin
	foreach v_table in array array['usage_hour', 'usage_day', 'usage_month', 'node_usage_hour', 'node_usage_day',
		'node_usage_month'] loop
		perform internal.usage_merge(v_table, v_rows);
	end loop;
end $$;
comment on function internal.usage_add(internal.usage_pending_key[], internal.usage_pending_key[]) is
	'Add the resources that allocations held, their use, and ends of steps to the usage figures.';

create function internal.cpu_hours(p_held rota.allocation) returns bigint[]
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_hours bigint[];
begin
	if not exists (select from sample_total m where m.job_id = p_held.job_id and m.step_id = p_held.step_id
		and m.attempt = p_held.attempt and m.node_id = p_held.node_id and m.task = -1) then
		return null;
	end if;
	-- CPU time from the start to each sample, as a curve. If a counter went back, its earlier value counts.
	with point as (
		select p_held.started_at as at, 0::bigint as cpu
		union all
		select x.at, least(max(x.cpu_usec) over (order by x.at), p_held.cpu_usec)
		from sample x
		where x.job_id = p_held.job_id and x.step_id = p_held.step_id and x.attempt = p_held.attempt
			and x.node_id = p_held.node_id and x.task = -1 and x.cpu_usec is not null
			and x.at > p_held.started_at and x.at < p_held.ended_at
		union all
		select p_held.ended_at, p_held.cpu_usec
	), span as (
		select p.at, p.cpu, lead(p.at) over o as until, lead(p.cpu) over o as cpu_until, count(*) over () as points
		from point p
		window o as (order by p.at, p.cpu)
	), hour as (
		select b.at as ends_at, (s.cpu + (s.cpu_until - s.cpu) * extract(epoch from b.at - s.at)
			/ nullif(extract(epoch from s.until - s.at), 0))::bigint as cpu
		from generate_series(date_trunc('hour', p_held.started_at, 'UTC') + interval '1 hour',
			p_held.ended_at - interval '1 microsecond', interval '1 hour') b (at)
		join span s on s.at <= b.at and b.at < s.until
		where s.points > 2
		union all
		select p_held.ended_at, p_held.cpu_usec where exists (select from span s where s.points > 2)
	)
	select array_agg(c.used order by c.ends_at) into v_hours
	from (select h.ends_at, h.cpu - lag(h.cpu, 1, 0::bigint) over (order by h.ends_at) as used from hour h) c;
	return v_hours;
end $$;
comment on function internal.cpu_hours(rota.allocation) is
	'CPU time that an ended allocation used in each hour (UTC) that it touches, in microseconds, by its samples; null: no '
	'samples.';

create function internal.usage_requeue() returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	delete from usage_hour;
	delete from usage_day;
	delete from usage_month;
	delete from node_usage_hour;
	delete from node_usage_day;
	delete from node_usage_month;
	update usage_state z set rebuild_at = null, time_zone = (select s.value from setting s where s.name = 'time_zone');
	-- One statement, so one snapshot: allocations that end meanwhile are neither deleted nor inserted. A row names about as
	-- many steps as a row of a busy instance, so that one call of api.usage_roll takes about a second for either. The numbers
	-- of these rows are below 0, so they come after allocations that end from now on; the newest jobs first, because limits
	-- and fair share depend on recent use.
	with old as (
		delete from usage_pending
	), held as (
		insert into usage_pending (pending_id, job_ids, step_ids, attempts, node_ids, held, used,
			rebuild) overriding system value
		select -nextval('usage_pending_pending_id_seq'), x.*, true
		from (
			select array_agg(a.job_id), array_agg(a.step_id), array_agg(a.attempt), array_agg(a.node_id), true,
				a.cpu_usec is not null
			from allocation a
			where coalesce(a.ended_at, 'infinity') < 'infinity'
			group by a.job_id / 20, a.cpu_usec is not null
			order by a.job_id / 20 desc
		) x
	)
	insert into usage_pending (pending_id, job_ids, step_ids, rebuild) overriding system value
	select -nextval('usage_pending_pending_id_seq'), x.*, true
	from (
		select array_agg(s.job_id), array_agg(s.step_id)
		from step s
		where coalesce(s.ended_at, 'infinity') < 'infinity'
		group by s.job_id / 20
		order by s.job_id / 20 desc
	) x;
end $$;
comment on function internal.usage_requeue() is
	'Empty the usage figures and enter all ended allocations and steps in rota.usage_pending, to be added up anew by the '
	'days of the setting time_zone.';

create function api.usage_roll(p_limit int) returns int
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_due bigint[];
	v_parts internal.usage_pending_key[];
	v_ended internal.usage_pending_key[];
begin
	-- One session at a time, because two would only wait for each other's rows.
	if not pg_try_advisory_xact_lock(hashtext('rota usage_roll')) then
		return 0;
	end if;
	if exists (select from usage_state z where z.rebuild_at is not null) then
		perform internal.usage_requeue();
	end if;
	v_due := array(select d.pending_id from usage_pending d where d.pending_id > 0 order by d.pending_id limit p_limit);
	v_due := v_due
		|| array(select d.pending_id from usage_pending d
		where d.pending_id < 0 order by d.pending_id desc limit p_limit - cardinality(v_due));
	if v_due = '{}' then
		return 0;
	end if;
	select array_agg(k order by k.job_id) filter (where k.node_id is not null),
		array_agg(k order by k.job_id) filter (where k.node_id is null)
	into v_parts, v_ended
	from internal.usage_pending_key k
	where k.pending_id = any (v_due);
	-- Samples are dropped after some days, so the use in each hour is stored with the allocation.
	update allocation a
	set cpu_hours = internal.cpu_hours(a)
	from unnest(v_parts) k
	where k.used and a.job_id = k.job_id and a.step_id = k.step_id and a.attempt = k.attempt and a.node_id = k.node_id
		and a.cpu_usec is not null and a.cpu_hours is null
		and date_trunc('hour', a.started_at, 'UTC') < date_trunc('hour', a.ended_at - interval '1 microsecond', 'UTC');
	perform internal.usage_add(v_parts, v_ended);
	delete from usage_pending d where d.pending_id = any (v_due);
	return cardinality(v_due);
end $$;
comment on function api.usage_roll(int) is
	'Add up to p_limit rows of rota.usage_pending to the usage figures. Returns how many rows were added; while that is '
	'p_limit, there are more. May be called at any time, by any number of callers.';

create function internal.usage_undo(p_job bigint, p_steps int[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_parts internal.usage_pending_key[];
	v_ended internal.usage_pending_key[];
	v_rows internal.usage_row[];
	v_span text;
begin
	-- Pending rows of the job are added first: only then do the figures contain its ends, so that these can be subtracted.
	perform pg_advisory_xact_lock(hashtext('rota usage_roll'));
	select array_agg(k) filter (where k.node_id is not null), array_agg(k) filter (where k.node_id is null)
	into v_parts, v_ended
	from internal.usage_pending_key k
	where k.pending_id in (select d.pending_id from usage_pending d where p_job = any (d.job_ids));
	perform internal.usage_add(v_parts, v_ended);
	delete from usage_pending d where p_job = any (d.job_ids);
	v_rows := array(
		select r::internal.usage_row
		from (
			select x.hour, x.day, x.month, null::int as node_id, x.account, x.user_name, x.partition, x.qos,
				null::numeric as cpu_s, null::numeric as node_s, null::numeric as mem_mb_s, null::jsonb as gres_s,
				null::numeric as cpu_used_s, null::numeric as cpu_measured_s, null::jsonb as energy_hours,
				-x.steps_ended as steps_ended, -x.steps_completed as steps_completed,
				-x.steps_failed as steps_failed, -x.steps_cancelled as steps_cancelled,
				-x.steps_waited as steps_waited, -x.wait_s as wait_s
			from internal.usage_end x
			where x.job_id = p_job and x.step_id = any (p_steps) and x.ended_at is not null
		) r);
	foreach v_span in array array['hour', 'day', 'month'] loop
		perform internal.usage_merge('usage_' || v_span, v_rows);
		-- Delete the rows that have become empty.
		execute format('delete from %I u where u.steps_ended = 0 '
				'and greatest(u.cpu_s, u.node_s, u.mem_mb_s, u.cpu_used_s, u.cpu_measured_s) = 0 '
				'and (u.%2$I, u.account, u.user_name, u.partition, u.qos) in '
				'(select x.%2$I, x.account, x.user_name, x.partition, x.qos from unnest($1) x)',
					'usage_' || v_span, v_span)
		using v_rows;
	end loop;
end $$;
comment on function internal.usage_undo(bigint, int[]) is
	'Subtract the ends of a job''s steps, which are about to run again, from the usage figures.';

create function api.usage_rebuild(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	if internal.caller_role(p_uid, p_user) <> 'admin' then
		raise exception 'only administrators may have usage figures computed anew' using errcode = 'RT403';
	end if;
	if exists (select from admin_event e where e.object = 'range' and e.action = 'detach') then
		raise exception 'ranges of jobs were detached from the tables, so usage figures cannot be computed anew'
			using errcode = 'RT409';
	end if;
	update usage_state z set rebuild_at = coalesce(z.rebuild_at, now());
	insert into admin_event (actor, object, action, name, given) values (p_user, 'usage', 'rebuild', 'all', '{}');
	return (select jsonb_build_object('asked_at', z.rebuild_at, 'time_zone', s.value) from usage_state z cross join setting s
		where s.name = 'time_zone');
end $$;
comment on function api.usage_rebuild(int, text, jsonb) is
	'Have all usage figures added up anew, by the days of the setting time_zone; nodemgrd does it. Answer {asked_at, '
	'time_zone}.';
