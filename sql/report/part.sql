-- Functions that all reports use: the options of a request, the rows of usage that answer it, and the headings of columns.

create function internal.report_column(p_name text, p_title text, p_unit text, p_help text) returns jsonb
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return jsonb_build_object('name', p_name, 'title', p_title, 'unit', p_unit, 'help', p_help);
end $$;
comment on function internal.report_column(text, text, text, text) is
	'A column of a report: its name, title, unit (h, s, percent, count, number, text, time) and description.';

create function internal.report_by(p_request jsonb, p_known text[], p_default text) returns text[]
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_by constant text[] := coalesce(internal.request_list(p_request, 'by'), nullif(array[p_default], array[null]::text[]),
		'{}');
	v_bad text;
begin
	if v_by = '{none}' then
		return '{}';
	end if;
	select x into v_bad from unnest(v_by) x where x <> all (p_known) limit 1;
	if found then
		raise exception 'this report cannot be grouped by "%"', v_bad using errcode = 'RT422',
			hint = 'It can be grouped by ' || array_to_string(p_known, ', ') || ' or none.';
	end if;
	if cardinality(v_by) <> (select count(distinct x) from unnest(v_by) x) then
		raise exception 'a report can be grouped by the same only once' using errcode = 'RT422';
	end if;
	return v_by;
end $$;
comment on function internal.report_by(jsonb, text[], text) is
	'The keys by which a request groups the rows of a report, each one of p_known; "none": one row for the whole site.';

create function internal.report_span(p_request jsonb, out period text, out from_at timestamptz, out until_at timestamptz,
	out zone text, out grain text)
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_clock text;
begin
	period := nullif(internal.request_text(p_request, 'period'), 'none');
	if period is not null and period <> all ('{hour,day,month}') then
		raise exception 'there is no period "%"', period using errcode = 'RT422',
			hint = 'Periods: hour, day, month, none.';
	end if;
	zone := (select z.time_zone from acct.site z);
	until_at := least(coalesce(internal.request_time(p_request, 'until'), now()), now());
	from_at := coalesce(internal.request_time(p_request, 'since'), case period
		when 'month' then (date_trunc('month', until_at at time zone zone) - interval '11 months') at time zone zone
		when 'hour' then date_trunc('hour', until_at) - interval '1 day'
		else (date_trunc('day', until_at at time zone zone) - interval '30 days') at time zone zone end);
	if from_at >= until_at then
		raise exception 'a report must end after it begins: from % until %', from_at, until_at using errcode = 'RT422';
	end if;
	-- Read whole days by days and whole months by months, so that years are a few thousand rows. Read parts of days by hours,
	-- unless these are too many.
	grain := coalesce(period, case
		when (from_at <> date_trunc('day', from_at, zone) or until_at not in (now(), date_trunc('day', until_at, zone)))
			and until_at - from_at < interval '32 days' then 'hour'
		when from_at = date_trunc('month', from_at, zone)
			and until_at in (now(), date_trunc('month', until_at, zone)) then 'month'
		else 'day' end);
	-- The answer says which time was counted: from the begin of a full period to the end of one, or to now. Hours are those
	-- of UTC.
	v_clock := case grain when 'hour' then 'UTC' else zone end;
	from_at := date_trunc(grain, from_at, v_clock);
	if until_at <> date_trunc(grain, until_at, v_clock) then
		until_at := least(now(),
			(date_trunc(grain, until_at at time zone v_clock) + ('1 ' || grain)::interval) at time zone v_clock);
	end if;
end $$;
comment on function internal.report_span(jsonb) is
	'The time span of a request: its period (null: one row for the whole span), begin and end, the time zone of the site, '
	'and by which periods the usage is read. The span is made of full periods, except for the one that is not over.';

create function internal.report_accounts(p_user text) returns text[]
language sql stable set search_path = rota, pg_temp as $$
	select array(select c.account from internal.account_coordinated c where c.user_name = p_user);
$$;
comment on function internal.report_accounts(text) is 'Accounts of which a user sees the rows as coordinator.';

create function internal.report_rows(p_uid int, p_user text, p_request jsonb, p_by text[], p_measures text, p_order text)
	returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_span record;
	v_keys text;
	v_order text;
	v_rows jsonb;
begin
	select * into v_span from internal.report_span(p_request);
	v_keys := concat_ws(', ', case when v_span.period is not null then v_span.period end,
		(select string_agg(format('coalesce(u.%1$I, %2$L) as %3$I', case x when 'user' then 'user_name' else x end, '',
			x), ', ' order by nr)
			from unnest(p_by) with ordinality b (x, nr)));
	v_order := concat_ws(', ', case when v_span.period is not null then v_span.period end, p_order || ' desc nulls last',
		(select string_agg(quote_ident(x), ', ') from unnest(p_by) x));
	execute format($q$
		select coalesce(jsonb_agg(to_jsonb(t)), '[]')
		from (
			select %1$s
			from acct.usage_%2$s u
			where u.%2$s >= ($1 %3$s)::%4$s and u.%2$s < $2 %3$s
				and ($3 or u.user_name = $4 or u.account = any ($5)) and ($6 is null or u.user_name = any ($6))
					and ($7 is null or u.account = any ($7))
				and ($8 is null or u.partition = any ($8)) and ($9 is null or u.qos = any ($9))
			%5$s
			order by %6$s
			limit $11
		) t$q$,
		concat_ws(', ', nullif(v_keys, ''), p_measures), v_span.grain,
		case when v_span.grain <> 'hour' then 'at time zone $10' else '' end,
		case v_span.grain when 'hour' then 'timestamptz' else 'date' end,
		case
		when v_keys <> '' then 'group by '
		|| (select string_agg(x::text, ', ')
		from generate_series(1, cardinality(p_by) + (v_span.period is not null)::int) x) else '' end,
		v_order)
	into v_rows
	using v_span.from_at, v_span.until_at, internal.sees_all(p_uid, p_user), p_user, internal.report_accounts(p_user),
		internal.request_list(p_request, 'user'),
		internal.request_accounts(p_request), internal.request_list(p_request, 'partition'),
		internal.request_list(p_request, 'qos'), v_span.zone,
		internal.request_int(p_request, 'limit');
	return v_rows;
end $$;
comment on function internal.report_rows(int, text, jsonb, text[], text, text) is
	'Rows of usage for a request: for each period and group, the measures (p_measures: SQL over u, a row of acct.usage_hour, '
	'_day or _month), sorted by one of them. Usage that the caller may not see is not counted.';

create function internal.report_answer(p_report text, p_title text, p_request jsonb, p_by text[], p_bar text, p_columns jsonb,
	p_rows jsonb) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_span record;
begin
	select * into v_span from internal.report_span(p_request);
	return jsonb_build_object('report', p_report, 'title', p_title, 'period', v_span.period, 'by', to_jsonb(p_by), 'bar',
		p_bar,
		'since', v_span.from_at, 'until', v_span.until_at, 'time_zone', v_span.zone,
		'columns', (select coalesce(jsonb_agg(c order by nr), '[]') from (
			select internal.report_column(v_span.period, upper(v_span.period), 'time',
				'When it began, in the time zone of the site; hours are in UTC.') as c, 0 as nr
			where v_span.period is not null
			union all
			select internal.report_column(x, upper(x), 'text', initcap(x) || '; empty: none.'),
				nr::int from unnest(p_by) with ordinality b (x, nr)
		) k) || p_columns,
		'rows', p_rows);
end $$;
comment on function internal.report_answer(text, text, jsonb, text[], text, jsonb, jsonb) is
	'The JSON answer of a report, from its title, period, columns and rows.';
