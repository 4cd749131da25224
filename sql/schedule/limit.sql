-- Limits: how much of something may be used at once, or in a period, by all steps that fit an account (with all below it), a user, a
-- quality of service and a partition (rota.usage_limit). Steps are told apart by who claims them (rota.claimant) and by their partition:
-- those of one line are under the same limits.
--
-- What is held is added up from what is live, when it is asked for: there is no counter that could be wrong, or that reports would have
-- to wait for. It is asked for once for each reading of the queue (sql/schedule/pending.sql) and once for each decision.
-- The decision's answer is the one that counts: api.schedule_commit asks under the lock of the leader's row, which every transaction
-- that starts steps holds to its end, so what one of them started the next one sees. What ends meanwhile only makes room.
-- Suspended steps count as what they were: so to resume them passes no limit.

create function api.claimant_of(p_account text, p_user text, p_qos text, p_gres jsonb) returns int
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_gres text := case when p_gres <> '{}' then (select string_agg(k, ',' order by k) from jsonb_object_keys(p_gres) k) else '' end;
	v_claimant int;
begin
	loop
		-- By key, which "is not distinct from" would not be.
		if p_account is null then
			select c.claimant_id into v_claimant from claimant c where c.user_name = p_user and c.account is null and c.qos = p_qos and c.gres = v_gres;
		else
			select c.claimant_id into v_claimant from claimant c where c.user_name = p_user and c.account = p_account and c.qos = p_qos and c.gres = v_gres;
		end if;
		exit when found;
		insert into claimant (account, user_name, qos, gres) values (p_account, p_user, p_qos, v_gres) on conflict do nothing;
	end loop;
	return v_claimant;
end $$;
comment on function api.claimant_of(text, text, text, jsonb) is 'Who claims a step: account, user, quality of service, and the generic resources that it asks for. Made where it is new. Internal.';

create function api.limit_period(p_period text, out first_day date, out starts_at timestamptz, out ends_at timestamptz)
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_zone text := (select z.time_zone from usage_state z); -- that of the figures
	v_today date := (now() at time zone v_zone)::date;
begin
	if p_period ~ 'days$' then
		first_day := v_today - (rtrim(p_period, 'days')::int - 1);
		ends_at := 'infinity';
	elsif p_period <> '' then
		first_day := date_trunc(p_period, v_today::timestamp)::date;
		ends_at := (first_day + ('1 ' || p_period)::interval) at time zone v_zone;
	end if;
	starts_at := first_day::timestamp at time zone v_zone;
end $$;
comment on function api.limit_period(text) is 'The period of a limit that is now; a sliding one (30days) begins with a day and has no end. Internal.';

create function api.account_below(p_account text) returns setof text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return query
	with recursive below (account) as (
		select p_account
		union
		select a.account from below b join account a on a.parent = b.account
	)
	select b.account from below b;
end $$;
comment on function api.account_below(text) is 'An account and all below it. Internal.';

create function api.limit_cover(p_lines api.line[]) returns setof api.bound
language plpgsql stable set enable_hashjoin = on set search_path = rota, pg_temp as $$
begin
	return query
	with recursive line as materialized (
		select distinct v.claimant_id, v.partition, c.account, c.user_name, c.qos, string_to_array(c.gres, ',') as gres
		from unnest(p_lines) v
		join claimant c on c.claimant_id = v.claimant_id
	), above (claimant_id, account) as (
		select l.claimant_id, l.account from line l where l.account is not null
		union
		select u.claimant_id, a.parent from above u join account a on a.account = u.account where a.parent is not null
	), near as (
		-- By what each limit has of a name that few share.
		select l.claimant_id, l.partition, l.user_name, l.qos, l.gres, m.limit_id
		from line l join usage_limit m on m.user_name = l.user_name where m.account is null
		union all
		select l.claimant_id, l.partition, l.user_name, l.qos, l.gres, m.limit_id
		from line l join above u on u.claimant_id = l.claimant_id join usage_limit m on m.account = u.account
		union all
		select l.claimant_id, l.partition, l.user_name, l.qos, l.gres, m.limit_id
		from line l cross join usage_limit m where m.account is null and m.user_name is null
	)
	select n.claimant_id, n.partition, n.limit_id, case when m.each_user then n.user_name else '' end, m.measure, m.most, null::numeric, null::timestamptz
	from near n
	join usage_limit m on m.limit_id = n.limit_id
	where coalesce(m.user_name = n.user_name, true) and coalesce(m.qos = n.qos, true) and coalesce(m.partition = n.partition, true)
		and (m.measure !~ '^gres/' or substr(m.measure, 6) = any (n.gres));
end $$;
comment on function api.limit_cover(api.line[]) is 'The limits that lines are under, without what is used of them. Internal.';

create function api.limit_used(p_limits int[]) returns table (limit_id int, whose text, minutes numeric)
language plpgsql stable set enable_hashjoin = on set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select l.limit_id, w.whose, sum(u.cpu_s) / 60
	from usage_limit l
	cross join lateral api.limit_period(l.period) p
	cross join lateral api.usage_since(p.first_day, l.period in ('month', 'year')) u
	cross join lateral (select case when l.each_user then u.user_name else '' end as whose) w
	where l.limit_id = any (p_limits) and coalesce(l.user_name = u.user_name, true) and coalesce(l.qos = u.qos, true) and coalesce(l.partition = u.partition, true)
		and (l.account is null or u.account in (select b from api.account_below(l.account) b))
	group by l.limit_id, w.whose;
end $$;
comment on function api.limit_used(int[]) is 'CPU-minutes that ended in the periods of limits, of what holds nothing any more. Internal.';

create function api.limit_bounds(p_lines api.line[]) returns setof api.bound
language plpgsql stable set enable_hashjoin = on set search_path = rota, pg_temp as $$
declare
	v_limits int[] := array(select l.limit_id from usage_limit l where l.measure = 'cpu_minutes');
	v_minutes boolean := v_limits <> '{}';
	v_gres boolean := exists (select from usage_limit l where l.measure ~ '^gres/');
begin
	return query
	with open as materialized (
		select s.claimant_id, s.queue as partition, a.job_id, a.step_id, a.cpus, case when v_gres then a.gres end as gres, extract(epoch from a.started_at) as from_s,
			case when v_minutes and t.time_limit_s > 0 then extract(epoch from greatest(now(), coalesce(t.started_at, t.ordered_at)
				+ make_interval(secs => t.time_limit_s + t.suspended_s))) else 'infinity' end as until_s
		from allocation a
		join step s on s.job_id = a.job_id and s.step_id = a.step_id
		left join attempt t on v_minutes and t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt
		where a.ended_at is null and a.attempt > 0
	), live as materialized (
		select o.claimant_id, o.partition, count(distinct (o.job_id, o.step_id)) as running, sum(o.cpus) as cpus, count(*) as nodes
		from open o
		group by o.claimant_id, o.partition
	), cover as materialized (
		select c.claimant_id, c.partition, c.limit_id, c.whose, c.measure, c.most, p.starts_at, p.ends_at
		from api.limit_cover(p_lines || array(select (v.claimant_id, v.partition)::api.line from live v)) c
		join usage_limit l on l.limit_id = c.limit_id
		left join lateral api.limit_period(l.period) p on l.period <> ''
		where c.measure <> 'submitted'
	), held as materialized (
		select c.limit_id, c.whose, sum(case c.measure when 'running' then v.running when 'cpus' then v.cpus when 'nodes' then v.nodes
			when 'time' then 0
			-- As much as it can come to within the period.
			when 'cpu_minutes' then (
				select sum(o.cpus * greatest(0, least(extract(epoch from c.ends_at), o.until_s) - greatest(extract(epoch from c.starts_at), o.from_s))) / 60
				from open o where o.claimant_id = c.claimant_id and o.partition = c.partition)
			else (select sum(jsonb_array_length(o.gres -> substr(c.measure, 6)))
				from open o where o.claimant_id = c.claimant_id and o.partition = c.partition) end) as n
		from cover c
		join live v on v.claimant_id = c.claimant_id and v.partition = c.partition
		group by c.limit_id, c.whose
	), used as materialized (
		select * from api.limit_used(v_limits)
	)
	select c.claimant_id, c.partition, c.limit_id, c.whose, c.measure, c.most, coalesce(h.n, 0) + coalesce(u.minutes, 0), c.ends_at
	from (select distinct v.claimant_id, v.partition from unnest(p_lines) v) l
	join cover c on c.claimant_id = l.claimant_id and c.partition = l.partition
	left join held h on h.limit_id = c.limit_id and h.whose = c.whose
	left join used u on u.limit_id = c.limit_id and u.whose = c.whose;
end $$;
comment on function api.limit_bounds(api.line[]) is 'The limits of what is used that lines are under, with what is used of them now. Internal.';

create function api.limit_tops(p_lines api.line[]) returns table (claimant_id int, partition text, tops jsonb)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	if not exists (select from usage_limit) then
		return;
	end if;
	return query
	select x.claimant_id, x.partition, jsonb_object_agg(x.measure, x.most)
	from (select c.claimant_id, c.partition, c.measure, min(c.most) as most from api.limit_cover(p_lines) c group by c.claimant_id, c.partition, c.measure) x
	group by x.claimant_id, x.partition;
end $$;
comment on function api.limit_tops(api.line[]) is 'The lowest limit of each measure that lines are under: {"cpus": 64, "gres/gpu": 8}; no row: none. Internal.';

-- What a step may come to is known before it has nodes: where it may get more nodes than it needs, no more than limits allow at all.
create function api.size_asked(p_tops jsonb, p_nodes_min int, p_nodes_max int, p_ntasks int, p_cpus_per_task int, p_gres jsonb, p_exclusive boolean,
	p_time_limit_s bigint, p_partition rota.partition) returns api.size
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_cpus int; -- of the largest node
	v_nodes int := coalesce(p_nodes_max, greatest(p_ntasks, p_nodes_min));
	v_most bigint := (p_tops ->> 'nodes')::bigint;
begin
	if p_exclusive and p_tops ?| array['cpus', 'cpu_minutes'] then
		select max(n.cpus) into v_cpus from partition_node pn join node n on n.node_id = pn.node_id where pn.partition = p_partition.partition;
		v_most := least(v_most, (p_tops ->> 'cpus')::bigint / v_cpus);
	end if;
	if p_gres <> '{}' then
		select least(v_most, min((p_tops ->> ('gres/' || g.key))::bigint / nullif(g.value::bigint, 0))) into v_most from jsonb_each_text(p_gres) g;
	end if;
	v_nodes := greatest(least(v_nodes, v_most), p_nodes_min);
	return (greatest(greatest(p_ntasks, p_nodes_min)::bigint * p_cpus_per_task, v_nodes::bigint * v_cpus), v_nodes,
		case when p_gres <> '{}' then (select jsonb_object_agg(g.key, g.value::bigint * v_nodes) from jsonb_each_text(p_gres) g) end,
		coalesce(p_time_limit_s, least(coalesce(p_partition.default_time_s, p_partition.max_time_s), (p_tops ->> 'time')::bigint), 0))::api.size;
end $$;
comment on function api.size_asked(jsonb, int, int, int, int, jsonb, boolean, bigint, rota.partition) is
	'The most that a step can come to that asks for so much; p_tops: of api.limit_tops. Internal.';

create function api.limit_need(p_measure text, p_size api.size, p_ends_at timestamptz) returns numeric
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return case p_measure when 'running' then 1 when 'cpus' then p_size.cpus when 'nodes' then p_size.nodes
		when 'time' then case p_size.time_limit_s when 0 then 'infinity'::numeric else p_size.time_limit_s end
		when 'cpu_minutes' then p_size.cpus * least(case p_size.time_limit_s when 0 then 'infinity'::numeric else p_size.time_limit_s end,
			extract(epoch from p_ends_at) - extract(epoch from now())) / 60
		else coalesce((p_size.gres ->> substr(p_measure, 6))::numeric, 0) end;
end $$;
comment on function api.limit_need(text, api.size, timestamptz) is 'How much of a limit''s measure a step takes that starts now. Internal.';

create function api.limit_noun(p_measure text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return case p_measure when 'cpus' then 'CPUs' when 'cpu_minutes' then 'CPU-minutes' when 'running' then 'steps' when 'submitted' then 'steps'
		else regexp_replace(p_measure, '^gres/', '') end;
end $$;
comment on function api.limit_noun(text) is 'What a limit''s measure counts. Internal.';

create function api.limit_whose(p_bound api.bound, p_verb text) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select concat(' of "' || coalesce(l.user_name, nullif(p_bound.whose, '')) || '"', p_verb, ' on account "' || l.account || '"',
			' under quality of service "' || l.qos || '"', ' in partition "' || l.partition || '"',
			case when l.period ~ 'days$' then ' in ' || replace(l.period, 'days', ' days') when l.period <> '' then ' this ' || l.period end)
		from usage_limit l where l.limit_id = p_bound.limit_id);
end $$;
comment on function api.limit_whose(api.bound, text) is 'Whom a limit concerns, with the verb in its middle. Internal.';

create function api.limit_words(p_bound api.bound, p_need numeric) returns text
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return case p_bound.measure
		when 'running' then format('%s of at most %s steps%s', p_bound.held, p_bound.most, api.limit_whose(p_bound, ' run'))
		when 'time' then format('its time limit%s is longer than the %s s allowed to steps%s', case when p_need < 'infinity' then ' of ' || p_need || ' s' end,
			p_bound.most, api.limit_whose(p_bound, ''))
		when 'cpu_minutes' then format('%s of at most %s CPU-minutes%s, and it may come to %s more', case when p_bound.held < 'infinity' then round(p_bound.held)::text else 'any number' end,
			p_bound.most, api.limit_whose(p_bound, ' are used or promised'), case when p_need < 'infinity' then ceil(p_need)::text else 'any number' end)
		else format('%s of at most %s %s%s', p_bound.held, p_bound.most, api.limit_noun(p_bound.measure), api.limit_whose(p_bound, ' are held'))
			|| case when p_bound.held < p_bound.most then format(', and it may need %s more', p_need) else '' end end;
end $$;
comment on function api.limit_words(api.bound, numeric) is 'A limit that a step which needs so much would pass: what it is, whose, and how much of it is used. Internal.';

create function api.limit_keep(p_decided api.decided[]) returns api.decided[]
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_lines api.line[];
	v_over text[];
begin
	v_lines := array(
		select distinct (h.claimant_id, h.queue)::api.line
		from (select distinct v.job_id, v.request_id from unnest(p_decided) v) v
		join step h on h.job_id = v.job_id and h.step_id = v.request_id);
	v_over := array(
		select distinct x.job_id || '.' || x.step_id
		from (
			select d.job_id, d.step_id, b.measure, b.most, n.need,
				case when b.measure <> 'time' then b.held + sum(n.need) over (partition by b.limit_id, b.whose order by d.nr) else n.need end as upto
			from unnest(p_decided) with ordinality d (job_id, step_id, request_id, pos, attempt, time_limit_s, fence, node_ids, allocations, nr)
			join step h on h.job_id = d.job_id and h.step_id = d.request_id
			join api.limit_bounds(v_lines) b on b.claimant_id = h.claimant_id and b.partition = h.queue
			cross join lateral (
				select api.limit_need(b.measure, ((select sum((a ->> 'cpus')::bigint) from jsonb_array_elements(d.allocations) a), jsonb_array_length(d.allocations),
					case when b.measure ~ '^gres/' then jsonb_build_object(substr(b.measure, 6), (
						select coalesce(sum(jsonb_array_length(a -> 'gres' -> substr(b.measure, 6))), 0) from jsonb_array_elements(d.allocations) a)) end,
					d.time_limit_s)::api.size, b.ends_at) as need
			) n
		) x
		where x.need > 0 and x.upto > x.most);
	if v_over = '{}' then
		return p_decided;
	end if;
	return array(select v::api.decided from unnest(p_decided) v where v.job_id || '.' || v.step_id <> all (v_over));
end $$;
comment on function api.limit_keep(api.decided[]) is 'Of starts in order, those that pass no limit. The caller holds the leader''s row. Internal.';
