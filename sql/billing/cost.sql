-- Prices of billing units, and the highest cost that a job may have.

create view internal.billing_month as
select u.month, nullif(u.account, '') as account, u.user_name, u.partition, u.qos, u.cpu_s, u.mem_mb_s, u.node_s, u.gres_s,
	acct.billing_units(w.weight, u.cpu_s, u.mem_mb_s, u.node_s, u.gres_s) as units, p.per_unit, p.currency
from (
	select x.month, x.account, x.user_name, x.partition, x.qos, coalesce(sum(x.cpu_s), 0) as cpu_s,
		coalesce(sum(x.mem_mb_s), 0) as mem_mb_s, coalesce(sum(x.node_s), 0) as node_s, acct.gres_sum(x.gres_s) as gres_s
	from (
		select m.month, m.account, m.user_name, m.partition, m.qos, m.cpu_s, m.mem_mb_s, m.node_s, m.gres_s
		from rota.usage_month m
		union all
		select r.month, r.account, r.user_name, r.partition, r.qos, r.cpu_s, r.mem_mb_s, r.node_s, r.gres_s
		from internal.usage_recent r
	) x
	group by x.month, x.account, x.user_name, x.partition, x.qos
) u
left join internal.billing_weight_span w on w.partition = u.partition and u.month >= w.from_month and u.month < w.until_month
-- The price of the nearest account above is the price of the account that has most accounts above itself.
left join lateral (
	select x.per_unit, x.currency
	from rota.price x
	where x.from_month <= u.month and (x.account is null
		or x.account in (select a.above from internal.account_above a where a.account = u.account))
	order by (select count(*) from internal.account_above a where a.account = x.account) desc, x.from_month desc
	limit 1
) p on true;
comment on view internal.billing_month is
	'Usage of each month with its billing units and their price. Live allocations count up to now.';

create function internal.price_of(p_account text, p_day date) returns rota.price
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select x
		from price x
		where x.from_month <= p_day and (x.account is null
			or x.account in (select a.above from internal.account_above a where a.account = p_account))
		order by (select count(*) from internal.account_above a where a.account = x.account) desc, x.from_month desc
		limit 1);
end $$;
comment on function internal.price_of(text, date) is 'The price of a billing unit for an account on a day; null: no price.';

create function internal.plan_cost(p_user text, p_plan jsonb) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_account constant text := coalesce(p_plan -> 'job' ->> 'account',
		(select p.default_account from person p where p.user_name = p_user));
	v_price constant price := internal.price_of(v_account, internal.site_day());
	v_steps jsonb;
	v_units numeric;
begin
	select jsonb_agg(jsonb_build_object('name', x.name, 'partition', x.partition, 'cpus', (x.size).cpus, 'nodes',
		(x.size).nodes, 'gres', coalesce((x.size).gres, '{}'), 'elements', x.elements, 'time_limit_s',
		nullif((x.size).time_limit_s, 0), 'units', x.units, 'amount', x.units * v_price.per_unit) order by x.topo),
		case when bool_and(x.units is not null) then sum(x.units) end
	into v_steps, v_units
	from (
		select s.name, s.topo, z.partition, z.size, n.elements,
			n.elements * (z.size).billing * nullif((z.size).time_limit_s, 0) / 3600 as units
		from jsonb_populate_recordset(jsonb_populate_record(null::internal.planned_step, p_plan -> 'common'),
			p_plan -> 'steps') s
		cross join lateral (
			select p.partition, internal.size_asked('{"billing": 0}', s.nodes_min, s.nodes_max, s.ntasks, s.cpus_per_task,
				s.mem_mb, s.mem_per_cpu_mb, s.gres, s.exclusive, s.time_limit_s, p) as size
			from partition p
			where case when s.partition is null then p.is_default else p.partition = s.partition end
			offset 0 -- once a step
		) z
		cross join lateral (select coalesce((s."array" ->> 'size')::int, 1) as elements) n
	) x;
	return jsonb_build_object('account', v_account, 'steps', v_steps, 'units', v_units, 'per_unit', v_price.per_unit, 'amount',
		v_units * v_price.per_unit, 'currency', v_price.currency);
end $$;
comment on function internal.plan_cost(text, jsonb) is
	'The highest cost of a job if each step runs once for its whole time limit: {account, steps: [{name, partition, cpus, '
	'nodes, gres, elements, time_limit_s, units, amount}], units, per_unit, amount, currency}. units null: a step has no '
	'time limit; amount null: units are null, or there is no price.';
