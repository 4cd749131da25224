-- Billing units: usage weighted by the weights of its partition, and the usage of a period.
--
-- Invariants:
-- - Weights are valid from the first day of a month, so the figures of whole months are enough to compute their units.
-- - Units are computed from the usage figures when they are read. A change of weights changes no row of usage.
-- - A period (internal.limit_span) is read by whole months and, before and after these, by days.

create function acct.billing_units(p_weight rota.billing_weight, p_cpu_s numeric, p_mem_mb_s numeric, p_node_s numeric,
	p_gres_s jsonb) returns numeric
language sql immutable parallel safe
return case when (p_weight).partition is null then p_cpu_s
	else p_cpu_s * (p_weight).cpu + p_mem_mb_s / 1024 * (p_weight).mem_gib + p_node_s * (p_weight).node + coalesce(
		(select sum(g.value::numeric * ((p_weight).gres ->> g.key)::numeric) from jsonb_each_text(p_gres_s) g), 0) end / 3600;
comment on function acct.billing_units(rota.billing_weight, numeric, numeric, numeric, jsonb) is
	'Billing units of an amount of CPU-seconds, MiB-seconds, node-seconds and device-seconds {"gpu": 7200}. p_weight null: a '
	'unit is a CPU-hour.';

create view internal.billing_weight_span as
select w as weight, w.partition, w.from_month,
	lead(w.from_month, 1, 'infinity') over (partition by w.partition order by w.from_month) as until_month
from rota.billing_weight w;
comment on view internal.billing_weight_span is
	'The weights of partitions with the months in which they are valid: from from_month to before until_month.';

create function internal.billing_weight_of(p_partition text, p_day date) returns rota.billing_weight
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (select w.weight from internal.billing_weight_span w
		where w.partition = p_partition and p_day >= w.from_month and p_day < w.until_month);
end $$;
comment on function internal.billing_weight_of(text, date) is 'The weights of a partition on a day; null: no weights.';

create function internal.site_day() returns date
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (select (now() at time zone z.time_zone)::date from usage_state z);
end $$;
comment on function internal.site_day() is 'Today in the time zone of the usage figures.';

create function internal.billing_rate(p_partition text, p_cpus bigint, p_mem_mb bigint, p_nodes int, p_gres jsonb)
	returns numeric
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return acct.billing_units(internal.billing_weight_of(p_partition, internal.site_day()), p_cpus * 3600, p_mem_mb * 3600,
		p_nodes * 3600, acct.gres_scaled(p_gres, 3600));
end $$;
comment on function internal.billing_rate(text, bigint, bigint, int, jsonb) is
	'Billing units per hour of resources held in a partition, by the weights of today. p_gres: numbers of devices, {"gpu": '
	'2}.';

-- A moving period (30days) begins with a day and has no end. Days are those of the usage figures.
create view internal.limit_span as
select s.limit_id, s.first_day, s.next_day, s.months_from,
	greatest(s.months_from, date_trunc('month', s.next_day)::date) as months_until,
	s.first_day::timestamp at time zone s.time_zone as starts_at, s.next_day::timestamp at time zone s.time_zone as ends_at
from (
	select d.limit_id, d.first_day, d.next_day, z.time_zone,
		(date_trunc('month', d.first_day - 1) + interval '1 month')::date as months_from
	from rota.usage_state z
	cross join lateral (
		select l.limit_id, f.first_day,
			case when l.period ~ 'days$' then 'infinity'
				else (f.first_day + ('1 ' || l.period)::interval)::date end as next_day
		from rota.usage_limit l
		cross join lateral (
			select case when l.period ~ 'days$' then t.today - (rtrim(l.period, 'days')::int - 1)
				else date_trunc(l.period, t.today::timestamp)::date end as first_day
			from (select (now() at time zone z.time_zone)::date as today) t
		) f
		where l.period <> ''
		union all
		select -g.grant_id, g.first_day, g.last_day + 1 from rota.account_grant g
	) d
) s;
comment on view internal.limit_span is
	'The period of each limit that has one, and of each grant (limit_id: its number, negative), one row each. The period is '
	'from first_day to before next_day; its whole months are from months_from to before months_until.';

create view internal.span_usage as
select p.limit_id, m.month, m.account, m.user_name, m.partition, m.qos, m.cpu_s, m.node_s, m.mem_mb_s, m.gres_s
from internal.limit_span p
join rota.usage_month m on m.month >= p.months_from and m.month < p.months_until
union all
select p.limit_id, d.day - extract(day from d.day)::int + 1, d.account, d.user_name, d.partition, d.qos, d.cpu_s, d.node_s,
	d.mem_mb_s, d.gres_s
from internal.limit_span p
join rota.usage_day d on d.day >= p.first_day and d.day < least(p.months_from, p.next_day)
union all
select p.limit_id, d.day - extract(day from d.day)::int + 1, d.account, d.user_name, d.partition, d.qos, d.cpu_s, d.node_s,
	d.mem_mb_s, d.gres_s
from internal.limit_span p
join rota.usage_day d on d.day >= p.months_until and d.day < p.next_day
union all
select p.limit_id, x.month, x.account, x.user_name, x.partition, x.qos, x.cpu_s, x.node_s, x.mem_mb_s, x.gres_s
from internal.limit_span p
join internal.usage_pending_piece x on x.day >= p.first_day and x.day < p.next_day;
comment on view internal.span_usage is
	'What ended allocations of all accounts held in the period of each limit and grant, with the month by whose weights it '
	'counts.';
