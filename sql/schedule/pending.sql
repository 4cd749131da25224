-- The queue as the leader reads it: which steps may start, in order.
--
-- Invariants:
-- - Limits are applied here: a step that waits for a limit is not offered, and an array is offered with the number of elements
--   that may start.
-- - api.schedule_queue returns the version of each row. The request of a step (pending_step.sql) changes only with the version or
--   the stamp, so the leader caches it. The progress of an array is part of the queue.
-- - Of a long queue, only the head of each partition is read. All steps of a job have one rank, so a head that ends with a job
--   does not cut an array.
-- - With limits or fair share, the head is merged from the heads of queue lines. A line is the pending steps of one association
--   in one partition, whose order is fixed. A line that has reached a limit is not read. A change of shares rewrites no row.
create view internal.waiting as
select s.job_id, s.step_id, s.request_id, s.association_id, s.queue as partition, s.rank, s.version,
	case when s.is_array then a.size - a.next - cardinality(a.skip) else 1 end as wants,
		a.max_running - a.running as left_over, a.next, a.skip, a.completed + a.failed as over
from live.step s
left join lateral (
	select x.* from live.step_array x
	where (s.is_array or s.step_id <> s.request_id) and x.job_id = s.job_id and x.step_id = s.request_id
	offset 0 -- by key, and only for elements
) a on true
where s.state = 'pending' and s.deps_waiting = 0 and s.held = '' and (s.begin_at is null or s.begin_at <= now())
	and (a.size is null or ((not s.is_array or (not (a.by_corr or a.staged) and a.next < a.size))
		and (a.max_running is null or a.running < a.max_running)));
comment on view internal.waiting is
	'Steps that wait for limits of users and for resources only, one row each: arrays while they have elements left and may '
	'start one; an element that runs again counts as one of its array.';

create view internal.begun as
select s.job_id, s.step_id, s.request_id, s.association_id, s.queue as partition, s.rank, s.version,
	a.size - a.next - cardinality(a.skip) as wants, a.max_running - a.running as left_over, a.next, a.skip,
		a.completed + a.failed as over
from live.step s
join live.step_array a on a.job_id = s.job_id and a.step_id = s.step_id and not (a.by_corr or a.staged)
	and a.next < a.size
	and (a.max_running is null or a.running < a.max_running)
where s.state = 'running' and s.attempt = 0 and s.held = '' and s.deps_waiting = 0
	and (s.begin_at is null or s.begin_at <= now());
comment on view internal.begun is 'Arrays that have begun, have elements left, and may start one, one row each.';

create function internal.pending_free(p_window bigint, p_lines internal.line_scan[]) returns setof internal.offer
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	with free as materialized (
		select h.job_id, h.step_id, h.request_id, h.association_id, h.partition, h.rank + internal.tier_rank(p.tier) as rank,
			h.version, h.wants, h.left_over, h.next, h.skip, h.over, p.priority as priority
		from partition p
		cross join lateral (
			select w.* from internal.waiting w where w.partition = p.partition order by w.rank desc,
				w.job_id fetch first (p_window) rows with ties
		) h
		where p_window is not null and p.state in ('up', 'drain')
		union all
		select h.job_id, h.step_id, h.request_id, h.association_id, h.partition, h.rank + l.boost_ms, h.version, h.wants,
			h.left_over, h.next, h.skip, h.over, l.priority
		from unnest(p_lines) l
		cross join lateral (
			select w.* from internal.waiting w where w.partition = l.partition and w.association_id = l.association_id
			order by w.rank desc, w.job_id fetch first (l.rows) rows with ties
		) h
		union all
		select b.job_id, b.step_id, b.request_id, b.association_id, b.partition,
			b.rank + coalesce(l.boost_ms, internal.tier_rank(p.tier)), b.version, b.wants, b.left_over, b.next, b.skip,
			b.over, p.priority
		from internal.begun b
		join partition p on p.partition = b.partition and p.state in ('up', 'drain')
		left join unnest(p_lines) l on l.association_id = b.association_id and l.partition = b.partition
	)
	select f.job_id, f.step_id, f.request_id, f.association_id, f.partition, f.priority, f.rank, f.version, f.next, f.skip,
		f.over, f.wants from free f where f.left_over is null
	union all
	-- Elements that run again come before those that never ran.
	select f.job_id, f.step_id, f.request_id, f.association_id, f.partition, f.priority, f.rank, f.version, f.next, f.skip,
		f.over, least(f.wants, f.left_over - f.before)::int
	from (
		select y.*,
			sum(y.wants) over (partition by y.job_id, y.request_id order by y.step_id = y.request_id, y.step_id)
			- y.wants as before
		from free y
		where y.left_over is not null
	) f
	where f.left_over > f.before;
end $$;
comment on function internal.pending_free(bigint, internal.line_scan[]) is
	'Steps that wait for limits of users and for resources only: the first p_window of each partition by rank; or of each '
	'queue line in p_lines as many as its rows, with ranks changed by its boost_ms; and the remaining steps of the last job.';

create function internal.pending_lines() returns setof internal.queue_line
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	-- Go from one queue line to the next in the index, skipping the rows between.
	return query
	with recursive line (association_id, partition) as (
		(select s.association_id, s.queue from step s
			where s.state = 'pending' and s.deps_waiting = 0 and s.held = '' order by s.queue,
			s.association_id limit 1)
		union all
		select n.association_id, n.queue
		from line l
		cross join lateral (
			select s.association_id, s.queue from step s
			where s.state = 'pending' and s.deps_waiting = 0 and s.held = ''
				and (s.queue, s.association_id) > (l.partition, l.association_id)
			order by s.queue, s.association_id
			limit 1
		) n
	)
	select l.association_id, l.partition from line l
	union
	select b.association_id, b.partition from internal.begun b;
end $$;
comment on function internal.pending_lines() is
	'The queue lines with steps that wait for limits of users and for resources only.';

create function internal.pending_reach(p_limit int) returns setof internal.line_scan
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_lines internal.queue_line[] := array(select (v.association_id, v.partition)::internal.queue_line
		from internal.pending_lines() v join partition p on p.partition = v.partition and p.state in ('up', 'drain'));
	v_chunk int := 16 + 2 * p_limit / greatest(1, cardinality(v_lines));
	v_weighs boolean := (select s.value <> '0' from setting s where s.name = 'fair_share_weight_s');
	-- After all steps of other queue lines, whatever their tier and priority: about 300,000 years of waiting.
	c_low_ms constant bigint := 1e16;
begin
	return query
	with bound as materialized (
		select b.*,
			dense_rank() over (order by b.limit_id, b.whose)::int as limit_index from internal.limit_bounds(v_lines) b
	), line as materialized (
		select v.association_id, v.partition,
			array_agg((b.limit_index, b.measure, b.most, b.held,
			b.ends_at)::internal.limit_index) filter (where b.limit_id is not null and b.measure <> 'grant') as limits,
			-- Each step uses at least one unit of each limit.
			min(floor(b.most - b.held)) filter (
				where b.measure <> 'time' and not internal.limit_has_period(b.measure)) as fits,
			coalesce(bool_or(internal.limit_has_period(b.measure) and b.measure <> 'grant' and b.held >= b.most),
				false) as spent,
			coalesce(bool_or(b.measure = 'grant' and b.held >= b.most), false) as low
		from unnest(v_lines) v
		left join bound b on b.association_id = v.association_id and b.partition = v.partition
		group by v.association_id, v.partition
	)
	select l.association_id, l.partition, dense_rank() over (order by l.partition)::int, p.priority,
		internal.tier_rank(p.tier) + case when v_weighs then coalesce(c.boost_ms, 0) else 0 end
			- case when l.low then c_low_ms else 0 end,
		least(l.fits, v_chunk)::int, least(l.fits, 2000000000)::int, coalesce(l.limits, '{}'),
		(select jsonb_object_agg(x.measure, x.most)
		from (select y.measure, min(y.most) as most from unnest(l.limits) y group by y.measure) x)
	from line l
	join partition p on p.partition = l.partition
	join association_share c on c.association_id = l.association_id
	where not l.spent and coalesce(l.fits > 0, true);
end $$;
comment on function internal.pending_reach(int) is
	'The queue lines (the pending steps of one association in one partition) that have not reached a limit, each with the '
	'limits that apply to its steps.';

create function internal.pending_read(p_lines internal.line_scan[])
returns table (job_id bigint, step_id int, association_id int, partition text, priority int, rank bigint, version xid,
	free_slots int, line int, part int, unread boolean, at int, with_set int, limits internal.limit_index[], takes int[],
	needs numeric[], fits boolean)
language plpgsql stable set enable_hashjoin = on set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select o.job_id, o.step_id, o.association_id, o.partition, o.priority, o.rank, o.version, o.free_slots, o.nr::int, o.part,
		o.unread,
		row_number() over (order by internal.rank_tier(o.rank) desc, o.priority desc, o.rank desc, o.job_id, o.step_id)::int,
		n.with_set,
		o.limits, coalesce(n.limits, '{}'), coalesce(n.needs, '{}'), coalesce(n.fits, true)
	from (
		select f.*, l.nr, l.part, l.limits, l.tops, coalesce(l.rows < l.most, true)
			and count(*) over w >= l.rows
				and row_number() over (w order by f.rank, f.job_id desc, f.step_id desc) = 1 as unread
		from unnest(p_lines) with ordinality l (association_id, partition, part, priority, boost_ms, rows, most,
			limits, tops, nr)
		join internal.pending_free(null, p_lines) f on f.association_id = l.association_id
			and f.partition = l.partition
		window w as (partition by l.nr)
	) o
	left join lateral (
		select min(z.with_set) as with_set, array_agg(x.limit_index) filter (where x.measure <> 'time') as limits,
			array_agg(x.need) filter (where x.measure <> 'time') as needs,
			bool_and(x.need <= x.most) as fits
		from (
			select internal.size_asked(o.tops, r.nodes_min, r.nodes_max, r.ntasks, r.cpus_per_task, r.mem_mb,
				r.mem_per_cpu_mb, r.gres, r.exclusive, r.time_limit_s, p) as size, r.with_set
			from step_request r
			join partition p on p.partition = r.partition
			where o.tops is not null and r.job_id = o.job_id and r.step_id = o.request_id
			offset 0 -- once a request
		) z
		cross join lateral (select y.limit_index, y.measure, y.most,
			internal.limit_need(y.measure, z.size, y.ends_at) as need from unnest(o.limits) y) x
	) n on true;
end $$;
comment on function internal.pending_read(internal.line_scan[]) is
	'The steps of queue lines, as far as p_lines says. at: position in the order of the queue; limits: the limits of the '
	'line; takes, needs: how much of which limits the step uses by itself.';

create function internal.pending_candidates(p_lines internal.line_scan[]) returns setof internal.candidate
language plpgsql stable set enable_hashjoin = on set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	with read as materialized (
		select * from internal.pending_read(p_lines)
	), member as (
		select r.job_id, r.with_set, min(r.at) over w as lead, bool_and(r.fits) over w as fits, r.free_slots, r.limits,
			r.takes, r.needs
		from read r
		where r.with_set is not null
		window w as (partition by r.job_id, r.with_set)
	), together as (
		-- Steps that start together: the first one in the queue reserves what all of them need, or nothing. It also
		-- reserves nothing while one of them waits for anything but resources.
		select t.job_id, t.with_set, t.lead, case when g.free then t.takes else '{}' end as takes,
			case when g.free then t.needs else '{}' end as needs, t.fits or not g.free as fits
		from (
			select x.job_id, x.with_set, x.lead, array_agg(x.limit_index) as takes, array_agg(x.need) as needs,
				x.fits and bool_and(x.need <= x.most) as fits
			from (
				select m.job_id, m.with_set, m.lead, m.fits, x.limit_index, sum(m.free_slots * x.need) as need,
					y.most
				from member m
				cross join lateral unnest(m.takes, m.needs) x (limit_index, need)
				join unnest(m.limits) y on y.limit_index = x.limit_index
				group by m.job_id, m.with_set, m.lead, m.fits, x.limit_index, y.most
			) x
			group by x.job_id, x.with_set, x.lead, x.fits
		) t
		cross join lateral (
			select bool_and(s.deps_waiting = 0 and s.held = '' and (s.begin_at is null or s.begin_at <= now())
				and exists (select from unnest(p_lines) l
					where l.association_id = s.association_id and l.partition = s.queue)) as free
			from step_request q
			join step s on s.job_id = q.job_id and s.step_id = q.step_id and s.state = 'pending'
			where q.job_id = t.job_id and q.with_set = t.with_set
			offset 0 -- once a set
		) g
		where g.free is not null
	)
	select r.job_id, r.step_id, r.association_id, r.partition, r.priority, r.rank, r.version, r.free_slots, r.line, r.part,
		r.unread, r.takes, g.lead,
		coalesce(g.takes, r.takes), coalesce(g.needs, r.needs), coalesce(g.fits, r.fits)
	from read r
	left join together g on g.job_id = r.job_id and g.with_set = r.with_set
	order by r.at;
end $$;
comment on function internal.pending_candidates(internal.line_scan[]) is
	'The steps of queue lines, as far as p_lines says, in the order of the queue, with how much each uses of limits.';

create function internal.pending_left(p_lines internal.line_scan[]) returns numeric[]
language plpgsql stable set enable_hashjoin = on set search_path = live, rota, pg_temp as $$
begin
	return array(
		select coalesce(max(x.most - x.held), 0)
		from generate_series(1, (select max(x.limit_index) from unnest(p_lines) l
			cross join lateral unnest(l.limits) x)) i
		left join (select x.* from unnest(p_lines) l cross join lateral unnest(l.limits) x) x on x.limit_index = i
		group by i
		order by i);
end $$;
comment on function internal.pending_left(internal.line_scan[]) is
	'The free amount of each limit that applies to the queue lines, by limit index.';

create function internal.pending_admit(p_rows internal.candidate[], p_left numeric[], p_parts int, p_limit int,
	out free_slots int[], out more int[])
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_left numeric[] := p_left;
	v_one internal.candidate;
	v_count int[] := array_fill(0, array[p_parts]); -- by partition: number of steps offered so far
	v_last bigint[] := array_fill(0::bigint, array[p_parts]); -- by partition: the job of the last step offered
	v_full boolean;
	v_open boolean;
	v_wants int;
	v_free int;
begin
	free_slots := array_fill(0, array[cardinality(p_rows)]);
	more := '{}';
	for i in 1 .. cardinality(p_rows) loop
		v_one := p_rows[i];
		v_full := v_count[v_one.part] >= p_limit and v_last[v_one.part] <> v_one.job_id;
		v_wants := case when v_one.lead is null then v_one.free_slots else 1 end;
		v_free := v_wants;
		if v_one.lead < i then
			-- The first of the steps that start together has taken the amounts for all of them.
			v_free := v_wants * sign(free_slots[v_one.lead]);
			v_open := v_free > 0 and not v_full;
		else
			v_open := v_one.fits and not v_full;
			for k in 1 .. cardinality(v_one.takes) loop
				exit when not v_open;
				v_open := v_left[v_one.takes[k]] > 0;
				if v_one.needs[k] > 0 then
					v_free := least(v_free, floor(v_left[v_one.takes[k]] / v_one.needs[k]));
				end if;
			end loop;
			-- A step that needs more of a limit than is left reserves the rest, so that no smaller step passes it.
			if v_open then
				for k in 1 .. cardinality(v_one.takes) loop
					v_left[v_one.takes[k]] := case when v_free < v_wants
						and floor(v_left[v_one.takes[k]] / nullif(v_one.needs[k], 0)) = v_free then 0
						else v_left[v_one.takes[k]] - v_free * v_one.needs[k] end;
				end loop;
			end if;
		end if;
		if v_open and v_free > 0 then
			free_slots[i] := case when v_one.lead is null then v_free else v_one.free_slots end;
			v_count[v_one.part] := v_count[v_one.part] + 1;
			v_last[v_one.part] := v_one.job_id;
		end if;
		-- After the last row that was read, there may be rows that precede other candidates.
		if v_one.unread and not v_full then
			v_open := true;
			for k in 1 .. cardinality(v_one.limits) loop
				v_open := v_open and v_left[v_one.limits[k]] > 0;
			end loop;
			if v_open then
				more := more || v_one.line;
			end if;
		end if;
	end loop;
end $$;
comment on function internal.pending_admit(internal.candidate[], numeric[], int, int) is
	'The candidates that limits admit, in their order, up to p_limit of each of p_parts partitions; p_left: free amount of '
	'each limit. free_slots: how many elements of each candidate may start; more: queue lines of which more rows have to be '
	'read.';

create function internal.pending_within(p_limit int) returns setof internal.offer
language plpgsql stable set enable_hashjoin = on set search_path = live, rota, pg_temp as $$
declare
	v_lines internal.line_scan[] := array(select r::internal.line_scan from internal.pending_reach(p_limit) r);
	v_parts int := (select max(l.part) from unnest(v_lines) l);
	v_left numeric[];
	v_rows internal.candidate[];
	v_free_slots int[];
	v_more int[];
	v_line int;
begin
	if v_lines = '{}' then
		return;
	end if;
	v_left := internal.pending_left(v_lines);
	loop
		v_rows := array(select c::internal.candidate from internal.pending_candidates(v_lines) c);
		select a.free_slots, a.more into v_free_slots, v_more
		from internal.pending_admit(v_rows, v_left, v_parts, p_limit) a;
		exit when v_more = '{}';
		foreach v_line in array v_more loop
			v_lines[v_line].rows := least(v_lines[v_line].rows::bigint * 4,
				coalesce(v_lines[v_line].most, 2000000000))::int;
		end loop;
	end loop;
	return query
	select x.job_id, x.step_id, null::int, x.association_id, x.partition, x.priority, x.rank, x.version, a.next, a.skip,
		a.completed + a.failed, v_free_slots[x.nr]
	from unnest(v_rows) with ordinality x (job_id, step_id, association_id, partition, priority, rank, version, free_slots,
		line, part, unread, limits, lead, takes, needs, fits, nr)
	left join step_array a on a.job_id = x.job_id and a.step_id = x.step_id
	where v_free_slots[x.nr] > 0;
end $$;
comment on function internal.pending_within(int) is
	'The first p_limit steps of each partition that may start, with limits and fair share applied, and perhaps the remaining '
	'steps of a job.';

create function internal.pending_offered(p_limit int) returns setof internal.offer
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	if not internal.is_limited()
		and not exists (select from setting s where s.name = 'fair_share_weight_s' and s.value <> '0') then
		return query select * from internal.pending_free(p_limit, null);
	else
		return query select * from internal.pending_within(p_limit);
	end if;
end $$;
comment on function internal.pending_offered(int) is
	'The first p_limit steps of each partition that may start, with limits and fair share applied if there are any, and '
	'perhaps the remaining steps of a job.';

create function api.schedule_queue(p_limit int)
	returns table (job_id bigint, step_id int, version xid, array_next int, array_skip int[], array_over int, free_slots int,
	stamp bigint)
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
declare
	v_limits text := (select concat_ws(' ', 'limit', count(*), sum(l.limit_id))
		from (select u.limit_id from usage_limit u union all select -g.grant_id from account_grant g) l);
	v_stamp bigint := (select sum(hashtextextended(x.row, 0)::numeric) % 1000000000000000 from (
		select concat_ws(' ', 'partition', p.partition, p.xmin) from partition p
		union all
		select concat_ws(' ', 'reservation', v.reservation_id, v.xmin) from reservation v
		union all
		select v_limits
		union all
		select concat_ws(' ', 'account', a.account, a.xmin) from account a where v_limits <> 'limit 0') x (row));
begin
	return query
	select o.job_id, o.step_id, o.version, o.next, o.skip, o.over, o.free_slots, v_stamp
	from internal.pending_offered(p_limit) o
	order by internal.rank_tier(o.rank) desc, o.priority desc, o.rank desc, o.job_id, o.step_id;
end $$;
comment on function api.schedule_queue(int) is
	'The first p_limit steps of each partition that may start (and perhaps the remaining steps of a job), with limits '
	'applied, all in the order of the queue, array heads with elements left among them (free_slots: how many elements may '
	'start; array_next and array_skip: which have begun; array_over: how many have ended). The answer of '
	'api.schedule_pending for a steady step is valid while version and stamp are the same.';
