-- The pools of burst_buffer.lua as users see them.

create function internal.pool_holder(p_pool text, p_missing bigint)
returns table (job_id bigint, taken bigint, ends_at timestamptz)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	with holder as (
		select g.job_id, g.taken, e.over, e.ends_at
		from staging g
		join job j on j.job_id = coalesce(g.array_job_id, g.job_id)
		cross join lateral (
			-- Null if a step is still to start or has no time limit.
			select count(*) = 0 as over, case when bool_and(t.time_limit_s > 0) then max(coalesce(t.started_at, t.ordered_at)
				+ make_interval(secs => t.time_limit_s + t.suspended_s)) end as ends_at
			from step s
			left join attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt
			where s.job_id = j.job_id and s.step_id between coalesce(g.step_id, 0) and coalesce(g.step_id, 2147483647)
				and s.ended_at is null
		) e
		where g.pool = p_pool and g.taken is not null and g.ended_at is null
	), summed as (
		select h.*, sum(h.taken) over o as given, row_number() over o as nr
		from holder h
		window o as (order by h.over desc, h.ends_at nulls last, h.job_id rows unbounded preceding)
	)
	select s.job_id, s.taken, s.ends_at from summed s
	order by s.given < p_missing, s.nr
	limit 1;
end $$;
comment on function internal.pool_holder(text, bigint) is
	'The job (of an element, its own number) at whose end p_missing bytes of a pool will have been given back, estimated '
	'from time limits, and the time of that end.';

create function internal.pool_why(p_job bigint) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_line record;
	v_other record;
	v_text text;
begin
	select l.* into v_line from internal.staging_line l where l.job_id = p_job and l.pool is not null;
	if not found or (v_line.may_fit and v_line.wanted <= v_line.free) then
		return null;
	end if;
	v_text := format('waits for %s of pool %s', internal.size_text(v_line.capacity), v_line.pool);
	if v_line.may_fit is not true then
		return internal.why_row('staging', v_text || format(', which has %s in all', (
			select internal.size_text(p.quantity * p.granularity) from pool p where p.name = v_line.pool)), null, null);
	end if;
	v_text := v_text || format(': %s are free', internal.size_text(v_line.free));
	if v_line.capacity <= v_line.free then
		select l.job_id, l.capacity into v_other from internal.staging_line l
		where l.pool = v_line.pool and l.may_fit and l.nr < v_line.nr order by l.nr limit 1;
		return internal.why_row('staging', v_text || format('; job %s, which waits for %s, comes first',
			internal.staging_label(v_other.job_id), internal.size_text(v_other.capacity)),
			internal.staging_label(v_other.job_id), null);
	end if;
	select h.* into v_other from internal.pool_holder(v_line.pool, (v_line.wanted - v_line.free)::bigint) h;
	return internal.why_row('staging', v_text || coalesce(format('; job %s gives back %s', internal.staging_label(v_other.job_id),
		internal.size_text(v_other.taken)) || coalesce(to_char(v_other.ends_at, '" about" YYYY-MM-DD HH24:MI TZ'), ''), ''),
		internal.staging_label(v_other.job_id), v_other.ends_at);
end $$;
comment on function internal.pool_why(bigint) is
	'The reason why a job or an element waits for space of its pool, as a condition of "why"; null: it does not wait for '
	'space.';

create function internal.pool_list_json() returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select jsonb_build_object('pools', (
			select coalesce(jsonb_agg(jsonb_build_object('name', p.name, 'quantity', p.quantity, 'granularity', p.granularity,
				'total', p.total, 'used', p.used, 'free', greatest(p.free, 0), 'changed_at', p.changed_at,
				'total_text', internal.size_text(p.total), 'used_text', internal.size_text(p.used),
				'free_text', internal.size_text(p.free), 'granularity_text', internal.size_text(p.granularity))
				order by p.name), '[]')
			from internal.pool_space p),
			'failure', a.failure, 'failure_at', case when a.failure is not null then a.changed_at end)
		from pool_answer a);
end $$;
comment on function internal.pool_list_json() is
	'Pools {pools: [{name, quantity, granularity, total, used, free, changed_at}], failure, failure_at}. failure, '
	'failure_at: why the Lua function pools failed, and since when. Sizes are bytes; names that end in _text have a text for '
	'people.';
