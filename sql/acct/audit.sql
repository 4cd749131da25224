-- The usage figures held against what they were made of.
create function acct.usage_audit(p_from date, p_to date) returns table (figures text, key jsonb, added_up jsonb, raw jsonb)
language plpgsql stable security definer set search_path = rota, pg_temp set enable_nestloop = off set jit = off as $$
declare
	v_one record;
	v_keys text[];
	v_measures text[];
begin
	for v_one in
		select kind || '_' || period as name, period, kind = 'node_usage' as of_nodes,
			case period
				when 'hour' then '%1$s.hour >= $1::timestamp at time zone z.time_zone and %1$s.hour < $2::timestamp at time zone z.time_zone'
				when 'day' then '%1$s.day >= $1 and %1$s.day < $2'
				else '%1$s.month >= $1 and %1$s.month + interval ''1 month'' <= $2' end as within
		from unnest(array['usage', 'node_usage']) kind
		cross join unnest(array['hour', 'day', 'month']) period
	loop
		select c.keys, c.measures into v_keys, v_measures from api.usage_columns(v_one.name) c;
		-- One statement sees the figures, what is still due, and the rows, at one moment.
		return query execute format($audit$
			with due as materialized (
				select k.job_id, k.step_id, k.attempt, k.node_id from api.usage_due_key k
			), raw as (
				select %2$s, %3$s
				from (
					select %4$s
					from usage_state z
					cross join api.usage_piece p
					where p.ended_at >= $1 - interval '2 days' and p.started_at < $2 + interval '2 days' and %5$s
						and not exists (select from due d where d.job_id = p.job_id and d.step_id = p.step_id and d.attempt = p.attempt and d.node_id = p.node_id)
					%6$s
				) x
				group by %2$s
			), made as (
				select t.* from usage_state z cross join rota.%1$I t where %7$s
			)
			select %1$L, to_jsonb(k), to_jsonb(m), to_jsonb(r)
			from made m
			full join raw r using (%2$s)
			cross join lateral (select %2$s) k
			where (%8$s) is distinct from (%9$s)$audit$,
			v_one.name, array_to_string(v_keys, ', '), api.usage_sums(v_measures),
			(select string_agg(case when c ~ '^(steps_|wait_)' then 'null::numeric as ' else 'p.' end || c, ', ' order by nr) from unnest(v_keys || v_measures) with ordinality u (c, nr)),
			format(v_one.within, 'p'),
			case when not v_one.of_nodes then format('union all select %s from usage_state z cross join api.usage_end p where p.ended_at >= $1 - interval ''2 days'' and p.ended_at < $2 + interval ''2 days'' and %s
				and not exists (select from due d where d.job_id = p.job_id and d.step_id = p.step_id and d.node_id is null)',
				(select string_agg(case when c = any (v_keys) or c ~ '^(steps_|wait_)' then 'p.' || c else 'null' end, ', ' order by nr)
				from unnest(v_keys || v_measures) with ordinality u (c, nr)), format(v_one.within, 'p')) end,
			format(v_one.within, 't'),
			(select string_agg('m.' || c, ', ' order by nr) from unnest(v_measures) with ordinality u (c, nr)),
			(select string_agg('r.' || c, ', ' order by nr) from unnest(v_measures) with ordinality u (c, nr)))
		using p_from, p_to;
	end loop;
end $$;
comment on function acct.usage_audit(date, date) is
	'Hold the usage figures of the days from p_from (included) to p_to (excluded), and of the months that lie in them, against what was held and what ended, row by row. Answers what differs: the figures, their key, what was added up and what comes out now. There must be no row.';
