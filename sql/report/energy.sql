-- The report on energy: the energy that power saving has saved.
--
-- Called by: api.report.

create function internal.report_energy(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_by constant text[] := internal.report_by(p_request, '{node}', 'node');
	v_span record;
	v_bad text;
begin
	select * into v_span from internal.report_span(p_request);
	select k into v_bad from unnest('{user,account,qos,partition}'::text[]) k
	where internal.request_list(p_request, k) is not null limit 1;
	if found or v_span.period is not null then
		raise exception 'the report on energy is about nodes over the whole time, so it takes no "%"',
			coalesce(v_bad, 'period') using errcode = 'RT422',
			hint = '"rota report efficiency" has the energy that jobs used.';
	end if;
	return internal.report_answer('energy', 'Energy saved by powering idle nodes off', p_request, v_by, 'saved_kwh',
		jsonb_build_array(
			internal.report_column('times', 'TIMES', 'count', 'Times in which nodes were off.'),
			internal.report_column('off_h', 'OFF', 'h', 'Hours in which they were off.'),
			internal.report_column('percent', 'PART', 'percent', 'Of the whole time, for nodes that were off in it.'),
			internal.report_column('saved_kwh', 'SAVED KWH', 'number',
			'Energy that they would have taken on and idle, in kWh; empty: their idle_watts are not known.')),
		internal.report_off(p_request, v_by = '{node}', v_span.from_at, v_span.until_at))
		|| '{"empty": "No node was powered off in this time."}';
end $$;
comment on function internal.report_energy(int, text, jsonb) is
	'Report: for how long nodes were off, and the energy that this saved. It shows no jobs, so every user may have it. '
	'empty: the message if there are no rows. See api.report.';

create function internal.report_off(p_request jsonb, p_by_node boolean, p_from timestamptz, p_until timestamptz) returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	select coalesce(jsonb_agg(to_jsonb(t)), '[]')
	from (
		select case when p_by_node then o.node end as node, count(*) as times, sum(h.hours) as off_h,
			100 * sum(h.hours) / (count(distinct o.node_id) * extract(epoch from p_until - p_from) / 3600) as percent,
			sum(h.hours * o.idle_watts) / 1000 as saved_kwh
		from node_off o
		cross join lateral (
			select extract(epoch from least(coalesce(o.on_at, now()), p_until) - greatest(o.off_at, p_from)) / 3600 as hours) h
		where o.off_at < p_until and coalesce(o.on_at, now()) > p_from
		group by 1
		order by saved_kwh desc nulls last, 1
		limit internal.request_int(p_request, 'limit')
	) t;
$$;
comment on function internal.report_off(jsonb, boolean, timestamptz, timestamptz) is
	'Rows of the report on energy: for each node, or for all nodes together, how often and how long it was off between '
	'p_from and p_until, and what that saved.';
