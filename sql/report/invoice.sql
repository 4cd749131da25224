-- The invoice of a month: the use of accounts in billing units and money.
--
-- Called by: api.report.

create function internal.report_month(p_request jsonb) returns date
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_month constant text := internal.request_text(p_request, 'month');
begin
	if p_request ?| array['since', 'until', 'period'] then
		raise exception 'an invoice needs a month' using errcode = 'RT422', hint = 'Give it with --month=2026-01.';
	elsif v_month is null then
		return date_trunc('month', internal.site_day());
	elsif v_month !~ '^[1-9][0-9]{3}-(0[1-9]|1[0-2])$' then
		raise exception '"%" is no month', v_month using errcode = 'RT422', hint = 'Give a month like 2026-01.';
	end if;
	return (v_month || '-01')::date;
end $$;
comment on function internal.report_month(jsonb) is
	'The first day of the month that a request names; without a month: of the present month.';

create function internal.report_invoice_columns() returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select jsonb_build_array(internal.report_column('cpu_h', 'CPU HOURS', 'h', 'CPU-hours allocated.'),
		internal.report_column('mem_gib_h', 'GIB HOURS', 'h', 'GiB-hours of memory allocated.'),
		internal.report_column('gpu_h', 'GPU HOURS', 'h', 'GPU-hours allocated.'),
		internal.report_column('node_h', 'NODE HOURS', 'h', 'Node-hours allocated, whole nodes or parts.'),
		internal.report_column('units', 'UNITS', 'h', 'Billing units by the weights of the month.'),
		internal.report_column('per_unit', 'PRICE', 'number', 'Price of a unit; empty: there is none.'),
		internal.report_column('amount', 'AMOUNT', 'money', 'Units times price.'),
		internal.report_column('currency', 'IN', 'text', 'Currency of price and amount.'));
$$;
comment on function internal.report_invoice_columns() is 'The columns of an invoice, as JSON.';

create function internal.report_invoice(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_by constant text[] := internal.report_by('{"by": ["account", "user", "partition"]}' || p_request,
		'{account,user,partition,qos}', null);
	v_month constant date := internal.report_month(p_request);
	v_zone constant text := (select z.time_zone from usage_state z);
	v_keys constant text := (select string_agg(format('coalesce(b.%I, '''') as %I',
		case x when 'user' then 'user_name' else x end, x), ', ' order by nr) from unnest(v_by) with ordinality k (x, nr));
	v_rows jsonb;
	v_total text;
begin
	-- One row for each combination of the keys that the request groups by.
	execute format($q$
		select coalesce(jsonb_agg(to_jsonb(t)), '[]')
		from (
			select %1$s sum(b.cpu_s) / 3600 as cpu_h, sum(b.mem_mb_s) / 1024 / 3600 as mem_gib_h,
				coalesce(sum((b.gres_s ->> 'gpu')::numeric), 0) / 3600 as gpu_h, sum(b.node_s) / 3600 as node_h,
				sum(b.units) as units, b.per_unit, sum(b.units) * b.per_unit as amount, coalesce(b.currency, '') as currency
			from internal.billing_month b
			where b.month = $1 and ($2 or b.user_name = $3 or b.account = any ($4))
				and ($5 is null or b.user_name = any ($5)) and ($6 is null or b.account = any ($6))
				and ($7 is null or b.partition = any ($7)) and ($8 is null or b.qos = any ($8))
			group by %2$s b.per_unit, b.currency
			order by %2$s b.currency, b.per_unit
			limit $9
		) t$q$, v_keys || ',',
		(select string_agg(n::text, ', ') || ',' from generate_series(1, cardinality(v_by)) n))
	into v_rows
	using v_month, internal.sees_all(p_uid, p_user), p_user, internal.report_accounts(p_user),
		internal.request_list(p_request, 'user'), internal.request_accounts(p_request),
		internal.request_list(p_request, 'partition'), internal.request_list(p_request, 'qos'),
		internal.request_int(p_request, 'limit');
	select string_agg(format('%s %s', to_char(x.amount, 'FM999999999999990.00'), x.currency), ', ' order by x.currency)
	into v_total
	from (select r ->> 'currency' as currency, sum((r ->> 'amount')::numeric) as amount from jsonb_array_elements(v_rows) r
		where r ->> 'amount' is not null group by r ->> 'currency') x;
	return jsonb_build_object('report', 'invoice', 'title', format('Invoice of %s for %s: %s',
		coalesce('account ' || array_to_string(internal.request_list(p_request, 'account'), ', '), 'all accounts'),
		to_char(v_month, 'YYYY-MM'),
		coalesce(v_total, round((select coalesce(sum((r ->> 'units')::numeric), 0) from jsonb_array_elements(v_rows) r), 2)
			|| ' billing units, which have no price')), 'by', to_jsonb(v_by), 'bar', 'units',
		'since', v_month::timestamp at time zone v_zone,
		'until', least(now(), (v_month + interval '1 month') at time zone v_zone), 'time_zone', v_zone,
		'columns', (select coalesce(jsonb_agg(internal.report_column(x, upper(x), 'text', initcap(x) || '; empty: none.')
			order by nr), '[]') from unnest(v_by) with ordinality k (x, nr)) || internal.report_invoice_columns(),
		'rows', v_rows);
end $$;
comment on function internal.report_invoice(int, text, jsonb) is
	'Report: billing units and money of a month by account, user and partition. Rows with two prices are split. See '
	'api.report.';
