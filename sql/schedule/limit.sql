-- Limits: how much of something may be used at once, or in a period, by all steps that match an account (with all below it), a
-- user, a quality of service and a partition (rota.usage_limit).
--
-- Invariants:
-- - The steps of one association in one partition (a queue line) are under the same limits.
-- - Use is summed up from live rows when it is needed, once for each reading of the queue and once for each decision. There is no
--   counter that could be wrong.
-- - api.schedule_commit checks limits under the lock of the leader's row, which each transaction that starts steps holds to its
--   end. Steps that end meanwhile only lower the use.
-- - A suspended step counts as before, so its resumption exceeds no limit.

create function internal.association_of(p_account text, p_user text, p_qos text, p_gres jsonb) returns int
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_gres text := case when p_gres <> '{}' then (select string_agg(k, ',' order by k) from jsonb_object_keys(p_gres) k)
		else '' end;
	v_association int;
begin
	loop
		-- By key, which "is not distinct from" would not be.
		if p_account is null then
			select c.association_id into v_association from association_share c
				where c.user_name = p_user and c.account is null and c.qos = p_qos and c.gres = v_gres;
		else
			select c.association_id into v_association from association_share c
				where c.user_name = p_user and c.account = p_account and c.qos = p_qos and c.gres = v_gres;
		end if;
		exit when found;
		-- A trial submission (api.job_try) takes no number from the sequence.
		insert into association_share (association_id, account, user_name, qos, gres) overriding system value
		values (case when current_setting('rota.try', true) <> ''
			then (select least(min(c.association_id), 0) - 1 from association_share c)
				else nextval('association_share_association_id_seq') end, p_account, p_user, p_qos, v_gres)
		on conflict do nothing;
	end loop;
	return v_association;
end $$;
comment on function internal.association_of(text, text, text, jsonb) is
	'The number of the association of a step: account, user, quality of service, and the generic resources that it asks for. '
	'A new association is created.';

create function internal.is_limited() returns boolean
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return exists (select from usage_limit l where l.measure <> 'submitted') or exists (select from account_grant);
end $$;
comment on function internal.is_limited() is
	'Whether there are grants, or limits that keep steps from starting. Most clusters have none.';

create function internal.limit_has_period(p_measure text) returns boolean
language sql immutable parallel safe
return p_measure in ('cpu_minutes', 'billing', 'grant') or p_measure like 'gres_minutes/%';
comment on function internal.limit_has_period(text) is
	'Whether a measure counts use in a period, instead of what is held at once or what a step asks for.';

-- An index finds a limit by the part of its name that the fewest limits share.
create view internal.limit_association as
select l.limit_id, l.association_id, l.partition, case when l.each_user then l.user_name else '' end as whose, l.measure,
	l.period, l.most
from (
	select m.limit_id, c.association_id, m.partition, m.each_user, c.user_name, m.measure, m.period, m.most, c.qos, c.gres,
		m.qos as of_qos, m.user_name as of_user
	from rota.association_share c join internal.limit_any m on m.user_name = c.user_name where m.account is null
	union all
	select m.limit_id, c.association_id, m.partition, m.each_user, c.user_name, m.measure, m.period, m.most, c.qos, c.gres, m.qos,
		m.user_name
	from rota.association_share c join internal.account_above u on u.account = c.account
		join internal.limit_any m on m.account = u.above
	union all
	select m.limit_id, c.association_id, m.partition, m.each_user, c.user_name, m.measure, m.period, m.most, c.qos, c.gres, m.qos,
		m.user_name
	from rota.association_share c cross join internal.limit_any m where m.account is null and m.user_name is null
) l
where coalesce(l.of_user = l.user_name, true) and coalesce(l.of_qos = l.qos, true)
	and (l.measure !~ '^gres(_minutes)?/' or split_part(l.measure, '/', 2) = any (string_to_array(l.gres, ',')));
comment on view internal.limit_association is
	'The limits of associations, one row for each pair, in one partition or (null) in any. whose: the user, if the limit '
	'holds for each user.';

create view internal.limit_now as
with open as materialized (
	select s.association_id, s.queue as partition, a.job_id, a.step_id, a.cpus, a.gres
	from live.allocation a
	join live.step s on s.job_id = a.job_id and s.step_id = a.step_id
	-- A pre-dispatched element that has not begun is not counted: it will take over the resources of another element, which
	-- is counted.
	where a.ended_at is null and a.attempt > 0 and a.started_at is not null
), live as materialized (
	select o.association_id, o.partition, count(distinct (o.job_id, o.step_id)) as running, sum(o.cpus) as cpus,
		count(*) as nodes
	from open o
	group by o.association_id, o.partition
)
select c.limit_id, c.whose, sum(case c.measure when 'running' then v.running when 'cpus' then v.cpus when 'nodes' then v.nodes
	else (select sum(jsonb_array_length(o.gres -> substr(c.measure, 6)))
		from open o where o.association_id = v.association_id and o.partition = v.partition) end) as held
from live v
join internal.limit_association c on c.association_id = v.association_id and coalesce(c.partition = v.partition, true)
	and c.measure not in ('time', 'submitted') and c.period = ''
group by c.limit_id, c.whose;
comment on view internal.limit_now is
	'Amounts that count now against limits of what may be held at once, one row for each limit and user. A limit or user '
	'without use has no row.';

create view internal.limit_used as
select x.limit_id, x.whose, sum(x.amount) as held
from (
	-- Running steps count with the most that they can use within the period.
	select c.limit_id, c.whose, case
		when r.rate = 0 then 0
		else r.rate * greatest(0, least(extract(epoch from p.ends_at), o.until_s)
			- extract(epoch from greatest(p.starts_at, coalesce(a.started_at, t.ordered_at)))) / 3600 end
		- case when isempty(a.without_cpus) then 0
			else r.cpu_rate * acct.range_s(a.without_cpus * tstzmultirange(tstzrange(p.starts_at, now()))) / 3600
			end
		- case when a.without_gpus is null then 0
			else r.gpu_rate * acct.range_s(a.without_gpus * tstzmultirange(tstzrange(p.starts_at, now()))) / 3600
			end as amount
	from live.allocation a
	join live.step s on s.job_id = a.job_id and s.step_id = a.step_id
	join live.attempt t on t.job_id = a.job_id and t.step_id = a.step_id and t.attempt = a.attempt
	join internal.limit_association c on c.association_id = s.association_id and coalesce(c.partition = s.queue, true)
		and c.period <> ''
	join internal.limit_span p on p.limit_id = c.limit_id
	cross join lateral (
		select case when t.time_limit_s > 0 then extract(epoch from greatest(now(), coalesce(t.started_at, t.ordered_at)
			+ make_interval(secs => t.time_limit_s + t.suspended_s))) else 'infinity' end as until_s
	) o
	cross join (select (now() at time zone z.time_zone)::date as today from rota.usage_state z) d
	left join internal.billing_weight_span w on c.measure in ('billing', 'grant')
		and w.partition = coalesce(a.partition, s.queue) and d.today >= w.from_month and d.today < w.until_month
	-- Use of the allocation per hour in the unit of the measure, and the parts of it that count CPUs and GPUs.
	cross join lateral (
		select case when c.measure = 'cpu_minutes' then a.cpus * 60
			when c.measure in ('billing', 'grant')
			then acct.billing_units(w.weight, a.cpus * 3600, a.mem_mb * 3600, 3600, acct.gres_units(a.gres, 3600))
			else coalesce(jsonb_array_length(a.gres -> split_part(c.measure, '/', 2)), 0) * 60 end as rate,
			case when c.measure = 'cpu_minutes' then a.cpus * 60
			when c.measure in ('billing', 'grant') then acct.billing_units(w.weight, a.cpus * 3600, 0, 0, null)
			else 0 end as cpu_rate,
			case when a.without_gpus is null then 0
			when c.measure = 'gres_minutes/gpu' then jsonb_array_length(a.gres -> 'gpu') * 60
			when c.measure in ('billing', 'grant') then acct.billing_units(w.weight, 0, 0, 0,
				acct.gres_units(jsonb_build_object('gpu', a.gres -> 'gpu'), 3600))
			else 0 end as gpu_rate
	) r
	where a.ended_at is null and a.attempt > 0
	union all
	select l.limit_id, case when l.each_user then u.user_name else '' end, case
		when l.measure = 'cpu_minutes' then u.cpu_s / 60
		when l.measure in ('billing', 'grant') then acct.billing_units(w.weight, u.cpu_s, u.mem_mb_s, u.node_s, u.gres_s)
		else (u.gres_s ->> split_part(l.measure, '/', 2))::numeric / 60 end
	from internal.limit_any l
	join internal.span_usage u on u.limit_id = l.limit_id and coalesce(l.user_name = u.user_name, true)
		and coalesce(l.qos = u.qos, true) and coalesce(l.partition = u.partition, true)
		and (l.account is null or u.account in (select x.account from internal.account_above x where x.above = l.account))
	left join internal.billing_weight_span w on l.measure in ('billing', 'grant')
		and w.partition = u.partition and u.month >= w.from_month and u.month < w.until_month
) x
group by x.limit_id, x.whose;
comment on view internal.limit_used is
	'CPU-minutes, device-minutes or billing units that count against limits and grants, one row each: those used in the '
	'period, and the most that running steps can still use in it. A limit without use has no row.';

-- An each_user limit has one row for each user who uses something of it, or one row without a user.
create view internal.limit_shown as
select l.limit_id, l.account, l.user_name, l.qos, l.partition, l.each_user,
	case l.measure when 'grant' then 'billing' else l.measure end as measure, l.period, l.most, coalesce(h.whose, '') as whose,
	case when l.measure <> 'time' then coalesce(h.held, 0) end as held, p.starts_at, p.ends_at
from internal.limit_any l
left join (
	select x.limit_id, x.whose, x.held from internal.limit_now x
	union all
	select x.limit_id, x.whose, x.held from internal.limit_used x
	union all
	select c.limit_id, c.whose, count(*)
	from live.step s
	join internal.limit_association c on c.association_id = s.association_id and coalesce(c.partition = s.queue, true)
	where s.ended_at is null and s.array_index is null and c.measure = 'submitted'
	group by c.limit_id, c.whose
) h on h.limit_id = l.limit_id
left join internal.limit_span p on p.limit_id = l.limit_id;
comment on view internal.limit_shown is 'Limits, and the grants in force, with the amounts used of them, one row each.';

create function internal.limit_cover(p_lines internal.queue_line[]) returns setof internal.line_limit
language plpgsql stable set enable_hashjoin = on set search_path = live, rota, pg_temp as $$
begin
	return query
	select v.association_id, v.partition, c.limit_id, c.whose, c.measure, c.most, null::numeric, null::timestamptz
	from (select distinct x.association_id, x.partition from unnest(p_lines) x) v
	join internal.limit_association c on c.association_id = v.association_id and coalesce(c.partition = v.partition, true);
end $$;
comment on function internal.limit_cover(internal.queue_line[]) is
	'The limits that apply to queue lines, without the amounts used.';

create function internal.limit_bounds(p_lines internal.queue_line[]) returns setof internal.line_limit
language plpgsql stable set enable_hashjoin = on set search_path = live, rota, pg_temp as $$
begin
	return query
	select c.association_id, c.partition, c.limit_id, c.whose, c.measure, c.most, coalesce(h.held, 0), null::timestamptz
	from internal.limit_cover(p_lines) c
	left join internal.limit_now h on h.limit_id = c.limit_id and h.whose = c.whose
	where c.measure <> 'submitted' and not internal.limit_has_period(c.measure);
	-- A separate statement, because it reads more, and most clusters have no such limit.
	if exists (select from usage_limit l where l.period <> '') or exists (select from account_grant) then
		return query
		select c.association_id, c.partition, c.limit_id, c.whose, c.measure, c.most, coalesce(h.held, 0), p.ends_at
		from internal.limit_cover(p_lines) c
		join internal.limit_span p on p.limit_id = c.limit_id
		left join internal.limit_used h on h.limit_id = c.limit_id and h.whose = c.whose;
	end if;
end $$;
comment on function internal.limit_bounds(internal.queue_line[]) is
	'The limits that apply to queue lines, with the amounts used now. Limits of submitted steps are left out.';

create function internal.limit_tops(p_lines internal.queue_line[]) returns table (association_id int, partition text, tops jsonb)
language plpgsql stable set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	if not internal.is_limited() then
		return;
	end if;
	return query
	select x.association_id, x.partition, jsonb_object_agg(x.measure, x.most)
	from (select c.association_id, c.partition, c.measure,
		min(c.most) as most from internal.limit_cover(p_lines) c group by c.association_id, c.partition, c.measure) x
	group by x.association_id, x.partition;
end $$;
comment on function internal.limit_tops(internal.queue_line[]) is
	'The lowest limit of each measure that applies to queue lines: {"cpus": 64, "gres/gpu": 8}; no row: none.';

-- The highest use of a step is known before it has nodes: if it may get more nodes than it needs, no more than the limits allow
-- at all.
create function internal.size_asked(p_tops jsonb, p_nodes_min int, p_nodes_max int, p_ntasks int, p_cpus_per_task int,
	p_mem_mb bigint, p_mem_per_cpu_mb bigint, p_gres jsonb, p_exclusive boolean,
	p_time_limit_s bigint, p_partition rota.partition) returns internal.step_size
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_cpus int; -- of the largest node
	v_mem_mb bigint; -- of the largest node
	v_nodes int := coalesce(p_nodes_max, greatest(p_ntasks, p_nodes_min));
	v_most bigint := (p_tops ->> 'nodes')::bigint;
	v_size internal.step_size;
begin
	if p_exclusive and p_tops ?| array['cpus', 'cpu_minutes', 'billing'] then
		select max(n.cpus) into v_cpus from partition_node pn join node n on n.node_id = pn.node_id
			where pn.partition = p_partition.partition;
		v_most := least(v_most, (p_tops ->> 'cpus')::bigint / v_cpus);
	end if;
	if p_gres <> '{}' then
		select least(v_most, min((p_tops ->> ('gres/' || g.key))::bigint / nullif(g.value::bigint, 0))) into v_most
			from jsonb_each_text(p_gres) g;
	end if;
	v_nodes := greatest(least(v_nodes, v_most), p_nodes_min);
	v_size.cpus := greatest(greatest(p_ntasks, p_nodes_min)::bigint * p_cpus_per_task, v_nodes::bigint * v_cpus);
	v_size.nodes := v_nodes;
	if p_gres <> '{}' then
		select jsonb_object_agg(g.key, g.value::bigint * v_nodes) into v_size.gres from jsonb_each_text(p_gres) g;
	end if;
	v_size.time_limit_s := coalesce(p_time_limit_s,
		least(coalesce(p_partition.default_time_s, p_partition.max_time_s), (p_tops ->> 'time')::bigint), 0);
	if p_tops ? 'billing' then
		if p_mem_mb = 0 or p_exclusive then
			-- The step gets all memory of its nodes.
			select max(n.mem_mb) into v_mem_mb from partition_node pn join node n on n.node_id = pn.node_id
				where pn.partition = p_partition.partition;
		end if;
		v_size.billing := internal.billing_rate(p_partition.partition, v_size.cpus, coalesce(v_mem_mb * v_nodes,
			acct.mem_requested_mb(p_mem_mb, coalesce(p_mem_per_cpu_mb, p_partition.default_mem_per_cpu_mb), v_nodes,
			p_ntasks, p_cpus_per_task), 0), v_nodes, v_size.gres);
	end if;
	return v_size;
end $$;
comment on function internal.size_asked(jsonb, int, int, int, int, bigint, bigint, jsonb, boolean, bigint, rota.partition) is
	'The most resources that a step with this request can use; p_tops: the highest amounts of its queue line '
	'(internal.limit_tops).';

create function internal.limit_need(p_measure text, p_size internal.step_size, p_ends_at timestamptz) returns numeric
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_rate numeric; -- of a period's measure, each hour
begin
	if internal.limit_has_period(p_measure) then
		v_rate := case p_measure when 'cpu_minutes' then p_size.cpus * 60 when 'billing' then p_size.billing
			when 'grant' then 0
			else coalesce((p_size.gres ->> split_part(p_measure, '/', 2))::numeric, 0) * 60 end;
		return case when v_rate = 0 then 0
			else v_rate * least(case p_size.time_limit_s when 0 then 'infinity'::numeric else p_size.time_limit_s end,
				case when p_ends_at > now() then extract(epoch from p_ends_at) - extract(epoch from now()) end) / 3600 end;
	end if;
	return case p_measure when 'running' then 1 when 'cpus' then p_size.cpus when 'nodes' then p_size.nodes
		when 'time' then case p_size.time_limit_s when 0 then 'infinity'::numeric else p_size.time_limit_s end
		else coalesce((p_size.gres ->> substr(p_measure, 6))::numeric, 0) end;
end $$;
comment on function internal.limit_need(text, internal.step_size, timestamptz) is
	'Amount of a limit''s measure that a step takes if it starts now. p_ends_at: the end of the limit''s period, beyond '
	'which use does not count. If the period is over, all use counts; measure "grant" takes nothing.';

create function internal.limit_noun(p_measure text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return case p_measure when 'cpus' then 'CPUs' when 'cpu_minutes' then 'CPU-minutes' when 'running' then 'steps'
		when 'submitted' then 'steps' when 'billing' then 'billing units'
		else regexp_replace(regexp_replace(p_measure, '^gres/', ''), '^gres_minutes/(.*)$', '\1-minutes') end;
end $$;
comment on function internal.limit_noun(text) is 'Noun for the unit of a limit''s measure, for messages: "CPU-minutes".';

create function internal.limit_count(p_measure text, p_count numeric) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return coalesce(p_count::text, 'any number of') || ' ' || case
		when p_count = 1 and p_measure !~ '^gres/' then regexp_replace(internal.limit_noun(p_measure), 's$', '')
		else internal.limit_noun(p_measure) end;
end $$;
comment on function internal.limit_count(text, numeric) is
	'So much of what a limit''s measure counts, as text; null: any number.';

create function internal.limit_whose(p_bound internal.line_limit, p_verb text) returns text
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	if p_bound.limit_id < 0 then
		return (select format('%s on account "%s" by its grant "%s"%s', p_verb, g.account, g.name, case
			when internal.site_day() > g.last_day then format(', which ended on %s', g.last_day)
			when internal.site_day() < g.first_day then format(', which begins on %s', g.first_day) else '' end)
			from account_grant g where g.grant_id = -p_bound.limit_id);
	end if;
	return (
		select concat(' of "' || coalesce(l.user_name, nullif(p_bound.whose, '')) || '"', p_verb,
			' on account "' || l.account || '"',
			' under quality of service "' || l.qos || '"', ' in partition "' || l.partition || '"',
			case when l.period ~ 'days$' then ' in ' || replace(l.period, 'days', ' days')
			when l.period <> '' then ' this ' || l.period end)
		from usage_limit l where l.limit_id = p_bound.limit_id);
end $$;
comment on function internal.limit_whose(internal.line_limit, text) is
	'Text naming the users or accounts to which a limit or a grant applies, with p_verb in the middle: of "alice" running on '
	'account "physics".';

create function internal.limit_text(p_bound internal.line_limit, p_need numeric) returns text
language plpgsql stable set search_path = live, rota, pg_temp as $$
begin
	return case
		when p_bound.measure = 'running' then format('%s of at most %s%s', p_bound.held,
			internal.text_count(p_bound.most, 'step'),
			internal.limit_whose(p_bound, ' running'))
		when p_bound.measure = 'time' then format('its time limit%s is longer than the %s s allowed to steps%s',
			case when p_need < 'infinity' then ' of ' || p_need || ' s' end,
			p_bound.most, internal.limit_whose(p_bound, ''))
		when internal.limit_has_period(p_bound.measure) then format('%s of at most %s%s, and it may come to %s more',
			case when p_bound.held < 'infinity' then round(p_bound.held)::text else 'any number' end,
			internal.limit_count(p_bound.measure, p_bound.most),
			internal.limit_whose(p_bound, ' used or promised'),
			case when p_need < 'infinity' then ceil(p_need)::text else 'any number' end)
		else format('%s of at most %s%s', p_bound.held, internal.limit_count(p_bound.measure, p_bound.most),
			internal.limit_whose(p_bound, ' held'))
			|| case when p_bound.held < p_bound.most then format(', and it may need %s more', p_need) else '' end end;
end $$;
comment on function internal.limit_text(internal.line_limit, numeric) is
	'Text about a limit that a step with need p_need would exceed: the limit, to whom it applies, and how much of it is '
	'used.';

create function internal.size_decided(p_allocations jsonb, p_time_limit_s bigint, p_partition text, p_measure text)
	returns internal.step_size
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_size internal.step_size;
	v_mem_mb bigint;
begin
	select sum((a ->> 'cpus')::bigint), count(*), sum((a ->> 'mem_mb')::bigint) into v_size.cpus, v_size.nodes, v_mem_mb
	from jsonb_array_elements(p_allocations) a;
	v_size.time_limit_s := p_time_limit_s;
	if p_measure = 'billing' or p_measure ~ '^gres' then
		select jsonb_object_agg(u.key, u.units) into v_size.gres
		from (select g.key, sum(jsonb_array_length(g.value)) as units
			from jsonb_array_elements(p_allocations) a cross join lateral jsonb_each(a -> 'gres') g group by g.key) u;
	end if;
	if p_measure = 'billing' then
		v_size.billing := internal.billing_rate(p_partition, v_size.cpus, v_mem_mb, v_size.nodes, v_size.gres);
	end if;
	return v_size;
end $$;
comment on function internal.size_decided(jsonb, bigint, text, text) is
	'Resources that a step gets by a decision to start it. Generic resources and billing are set only if p_measure counts them.';

create function internal.limit_admit(p_decided internal.start_decision[]) returns internal.start_decision[]
language plpgsql stable set search_path = live, rota, pg_temp as $$
declare
	v_lines internal.queue_line[];
	v_over text[];
begin
	v_lines := array(
		select distinct (h.association_id, h.queue)::internal.queue_line
		from (select distinct v.job_id, v.request_id from unnest(p_decided) v) v
		join step h on h.job_id = v.job_id and h.step_id = v.request_id);
	v_over := array(
		select distinct x.job_id || '.' || x.step_id
		from (
			select d.job_id, d.step_id, b.measure, b.most, n.need,
				case
					when b.measure <> 'time'
					then b.held + sum(n.need) over (partition by b.limit_id, b.whose order by d.nr)
					else n.need end as upto
			from unnest(p_decided) with ordinality d (job_id, step_id, request_id, pos, attempt, time_limit_s,
				ends_on_node_loss, node_ids, allocations, bound, nr)
			join step h on h.job_id = d.job_id and h.step_id = d.request_id
			join internal.limit_bounds(v_lines) b on b.association_id = h.association_id and b.partition = h.queue
			cross join lateral (
				select internal.limit_need(b.measure, internal.size_decided(d.allocations, d.time_limit_s, h.queue, b.measure),
					b.ends_at) as need
			) n
		) x
		where x.need > 0 and x.upto > x.most);
	if v_over = '{}' then
		return p_decided;
	end if;
	return array(select v::internal.start_decision from unnest(p_decided) v
		where v.job_id || '.' || v.step_id <> all (v_over));
end $$;
comment on function internal.limit_admit(internal.start_decision[]) is
	'Of starts in order, those that exceed no limit. The caller has locked the leader''s row.';
