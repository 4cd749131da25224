-- Pools of burst_buffer.lua: their size, which job gets space next, and the answer of the Lua function pools.
--
-- Invariants:
-- - The used space of a pool is the sum of rota.staging.taken and stored nowhere else, so no space is counted twice or lost.
-- - Only the leading runnerd takes space and gives it back, in transactions that hold its leadership.
-- - Jobs take space of a pool in the order of priority. A later job never passes one that waits for space of the same pool.

create view internal.pool_space as
select p.name, p.quantity, p.granularity, p.quantity * p.granularity as total, coalesce(u.used, 0) as used,
	p.quantity * p.granularity - coalesce(u.used, 0) as free, p.changed_at
from rota.pool p
left join (
	select g.pool, sum(g.taken)::bigint as used from live.staging g
	where g.ended_at is null and g.taken is not null
	group by g.pool
) u on u.pool = p.name;
comment on view internal.pool_space is
	'Pools with the bytes that jobs hold in them. free is negative if jobs hold more than the pool has.';

create view internal.staging_line as
with ready as (
	select g.job_id, g.pool, g.capacity, o.priority, o.rank, l.free, g.capacity <= l.total as may_fit
	from live.staging g
	cross join lateral (
		select p.priority, s.rank
		from live.step s
		left join rota.partition p on p.partition = s.queue
		where s.job_id = coalesce(g.array_job_id, g.job_id)
			and s.step_id between coalesce(g.step_id, 0) and coalesce(g.step_id, 2147483647)
			and s.state = 'pending' and s.held = '' and s.deps_waiting = 1
			and (s.begin_at is null or s.begin_at <= now())
		order by p.priority desc nulls last, s.rank desc
		limit 1
	) o
	left join internal.pool_space l on l.name = g.pool
	where g.ended_at is null and g.state = 'pending'
		and not exists (select from live.staging_call c where c.job_id = g.job_id and c.ended_at is null)
)
select r.job_id, r.pool, r.capacity, r.free, r.may_fit,
	row_number() over (order by r.priority desc nulls last, r.rank desc, r.job_id) as nr,
	-- A job that is larger than its pool does not delay other jobs.
	sum(r.capacity) filter (where r.may_fit) over (partition by r.pool order by r.priority desc nulls last, r.rank desc, r.job_id
		rows unbounded preceding) as wanted
from ready r;
comment on view internal.staging_line is
	'Jobs and elements with a step that waits for nothing but its data, in the order of stage-in. wanted: bytes of the '
	'pool that the job and all jobs before it ask for.';

create function internal.size_text(p_bytes bigint) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
	v_power constant int := least(greatest(floor(log(2, greatest(p_bytes, 1)) / 10), 0), 5);
begin
	return trim_scale(round(greatest(p_bytes, 0) / 1024::numeric ^ v_power, 1)) || ' '
		|| ('{B,KiB,MiB,GiB,TiB,PiB}'::text[])[v_power + 1];
end $$;
comment on function internal.size_text(bigint) is 'Bytes as text, such as "1.5 GiB"; negative numbers count as 0.';

create function internal.pool_ask(p_script text, p_given jsonb) returns bigint
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_line constant int := coalesce((p_given ->> 'line')::int, 0);
	v_option constant text := case when v_line = 0 then 'bb' end;
	v_pool record;
	v_size numeric;
begin
	if p_given ->> 'pool' is null then
		return null;
	end if;
	select p.*, p.quantity * p.granularity as total into v_pool from pool p where p.name = p_given ->> 'pool';
	if not found then
		perform internal.submit_refuse(p_script, v_line, v_option, format('there is no pool "%s"', p_given ->> 'pool'),
			coalesce((select 'pools of burst_buffer.lua fails: ' || a.failure from pool_answer a),
			(select 'Pools are ' || string_agg(p.name, ', ' order by p.name) || '.' from pool p where p.quantity > 0),
			'burst_buffer.lua names no pools.'));
	end if;
	v_size := ceil((p_given ->> 'capacity')::numeric / v_pool.granularity) * v_pool.granularity;
	if v_size > v_pool.total then
		perform internal.submit_refuse(p_script, v_line, v_option, format('%s of pool "%s" are asked for, which has %s in all',
			internal.size_text(least(v_size, 9223372036854775807)::bigint), v_pool.name, internal.size_text(v_pool.total)),
			'"rota admin pool list" lists the pools.');
	end if;
	return v_size;
end $$;
comment on function internal.pool_ask(text, jsonb) is
	'Bytes of a pool that a new job {pool, capacity, line} asks for, rounded up to the granularity; null: none. RT422: '
	'there is no such pool, or it is smaller.';

create function internal.pool_grow(p_job bigint, p_text text) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	if p_text ~ '^\s*[0-9]{1,18}(\.[0-9]+)?\s*$' then
		update staging g
		set taken = least(ceil(p_text::numeric / p.granularity) * p.granularity, 4611686018427387904)
		from pool p
		where g.job_id = p_job and p.name = g.pool and p_text::numeric > g.taken;
	end if;
end $$;
comment on function internal.pool_grow(bigint, text) is
	'real_size has answered: if that is more than the job holds in its pool, the job holds as much from now on, even if '
	'the pool is full. A smaller value, or no number, has no effect.';

create function internal.pool_fault(p_pools jsonb) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return (
		select format('entry %s of "pools": %s', x.nr, x.fault)
		from (
			select e.nr, case
				when jsonb_typeof(e.pool) <> 'object' then 'it is no object'
				when jsonb_typeof(e.pool -> 'id') is distinct from 'string'
					or octet_length(e.pool ->> 'id') not between 1 and 64 or e.pool ->> 'id' ~ '[[:space:][:cntrl:]]'
					then '"id" is no name of at most 64 bytes'
				when count(*) over (partition by e.pool ->> 'id') > 1 then format('"id" %s is there twice', e.pool ->> 'id')
				when coalesce(e.pool ->> 'quantity', '') !~ '^[0-9]{1,18}(\.0+)?$' then '"quantity" is no whole number from 0'
				when coalesce(e.pool ->> 'granularity', '') !~ '^0*[1-9][0-9]{0,17}(\.0+)?$'
					then '"granularity" is no whole number from 1'
				when (e.pool ->> 'quantity')::numeric * (e.pool ->> 'granularity')::numeric > 2::numeric ^ 62
					then 'it has more than 4 EiB' end as fault
			from jsonb_array_elements(p_pools) with ordinality e (pool, nr)
		) x
		where x.fault is not null
		order by x.nr
		limit 1);
end $$;
comment on function internal.pool_fault(jsonb) is 'The first fault in a list of pools; null: it has none.';

create function internal.pool_read(p_text text) returns text
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_pools jsonb;
	v_fault text;
begin
	begin
		v_pools := coalesce(nullif(btrim(p_text), ''), '{"pools": []}')::jsonb -> 'pools';
	exception when invalid_text_representation or untranslatable_character or statement_too_complex then
		return 'what it answers is not JSON: ' || sqlerrm;
	end;
	if jsonb_typeof(v_pools) is distinct from 'array' then
		return 'what it answers has no list "pools"';
	end if;
	v_fault := internal.pool_fault(v_pools);
	if v_fault is not null then
		return v_fault;
	end if;
	update pool p set quantity = 0, changed_at = clock_timestamp()
	where p.quantity > 0 and not v_pools @> jsonb_build_array(jsonb_build_object('id', p.name));
	insert into pool as p (name, quantity, granularity)
	select e ->> 'id', (e ->> 'quantity')::numeric, (e ->> 'granularity')::numeric from jsonb_array_elements(v_pools) e
	on conflict (name) do update
	set quantity = excluded.quantity, granularity = excluded.granularity, changed_at = clock_timestamp()
	where (p.quantity, p.granularity) is distinct from (excluded.quantity, excluded.granularity);
	return null;
end $$;
comment on function internal.pool_read(text) is
	'Store the pools of an answer {"pools": [{"id", "quantity", "granularity"}]}. A pool that it does not name has no '
	'space any more. Answers the first fault, and then stores nothing; null: it has none.';

create function api.pool_report(p_term bigint, p_text text, p_failure text) returns void
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_failure text;
begin
	perform internal.staging_leader(p_term, true);
	v_failure := coalesce(p_failure, internal.pool_read(p_text));
	update pool_answer a set failure = v_failure, changed_at = clock_timestamp() where a.failure is distinct from v_failure;
end $$;
comment on function api.pool_report(bigint, text, text) is
	'Report that the Lua function pools has answered p_text, or has failed (p_failure), which leaves the pools as they are. '
	'RT412: no longer leader.';
