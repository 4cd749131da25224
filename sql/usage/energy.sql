-- Energy, and the carbon emitted for it.
--
-- Invariants:
-- - Energy is spread evenly over the time for which an allocation was held.
-- - Intensities are valid by the hour of the day (UTC), from the first day of a month. So the usage figures of whole months,
--   which have energy by the hour of the day, are enough to compute their carbon: nothing derived is stored, and a change of
--   intensities changes no row of usage.

create function acct.energy_j(p_energy_hours jsonb) returns numeric
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
begin
	return (select sum(e.value::numeric) from jsonb_each_text(p_energy_hours) e);
end $$;
comment on function acct.energy_j(jsonb) is
	'Sum of the joules of all hours in one JSON object, {"13": 7200, "14": 3600}; null: the object is null or empty.';

create function internal.energy_share(p_node_uj bigint, p_end_at timestamptz, p_node int, p_cpus int, p_from timestamptz,
	p_until timestamptz, p_without tstzmultirange) returns numeric
language plpgsql stable strict set search_path = live, rota, pg_temp as $$
begin
	-- The node measures the energy up to p_end_at, which is later than p_until if the attempt stays on the node for the
	-- epilog of its group. For an allocation that took no time, all of its CPUs count.
	return case when p_node_uj >= 0 then (
		select round(p_node_uj / 1e6::numeric / u.cpus * coalesce(acct.cpu_held_s(p_cpus, p_from, p_until, p_without)
			/ nullif(extract(epoch from greatest(p_until, p_end_at) - p_from), 0), p_cpus), 6)
		from node_used u where u.node_id = p_node) end;
end $$;
comment on function internal.energy_share(bigint, timestamptz, int, int, timestamptz, timestamptz, tstzmultirange) is
	'Joules of an allocation that was held from p_from until p_until: the microjoules that its node used until the attempt '
	'ended there (p_end_at), times the part of the node''s CPUs that the allocation held. Null: the energy of the node is '
	'unknown.';

create view internal.carbon_span as
select c.name, c.g_per_kwh, c.from_month, lead(c.from_month, 1, 'infinity') over (order by c.from_month) as until_month
from rota.carbon_intensity c;
comment on view internal.carbon_span is
	'Carbon intensities with the months in which they are valid, one row each: from from_month to before until_month.';

-- Both functions below read a table that analysts may not read. Its rows are public, as acct.carbon_intensity.
create function acct.carbon_g(p_energy_hours jsonb, p_day date) returns numeric
language plpgsql stable strict security definer set search_path = rota, pg_temp as $$
declare
	v_g_per_kwh constant numeric[] := (select c.g_per_kwh from carbon_intensity c where c.from_month <= p_day
		order by c.from_month desc limit 1);
begin
	return case when v_g_per_kwh is not null then (
		select sum(e.value::numeric * v_g_per_kwh[e.key::int + 1]) / 3600000 from jsonb_each_text(p_energy_hours) e) end;
end $$;
comment on function acct.carbon_g(jsonb, date) is
	'Grams of CO2 equivalent emitted for an object that has the joules of each hour of the day (UTC), {"13": 7200}, by the '
	'intensities that hold on p_day. Null: no intensities are known for that day, or the object is null or empty.';

create function acct.carbon_g(p_energy_j numeric, p_from timestamptz, p_until timestamptz) returns numeric
language plpgsql stable strict security definer set search_path = rota, pg_temp as $$
declare
	v_hour timestamptz := date_trunc('hour', p_from, 'UTC');
	v_first constant date := (select min(c.from_month) from carbon_intensity c);
	v_zone text;
begin
	if v_first is null then
		return null;
	end if;
	v_zone := (select z.time_zone from usage_state z);
	if p_from < v_first::timestamp at time zone v_zone then
		return null;
	end if;
	-- Most allocations lie within one hour of UTC. A month may begin within such an hour, if the zone is half an hour off.
	if p_until <= v_hour + interval '1 hour' and date_trunc('month', p_from at time zone v_zone)
		= date_trunc('month', p_until at time zone v_zone) then
		return acct.carbon_g(jsonb_build_object(extract(hour from v_hour at time zone 'UTC'), p_energy_j),
			(p_from at time zone v_zone)::date);
	end if;
	return (
		select p_energy_j / 3600000 / extract(epoch from p_until - p_from) * sum(
			m.g_per_kwh[extract(hour from h.at at time zone 'UTC')::int + 1] * extract(epoch from
			least(p_until, h.at + interval '1 hour', m.ends_at) - greatest(p_from, h.at, m.begins_at)))
		from generate_series(v_hour, p_until - interval '1 microsecond', interval '1 hour') h (at)
		join (
			select c.g_per_kwh, c.from_month::timestamp at time zone v_zone as begins_at,
				c.until_month::timestamp at time zone v_zone as ends_at
			from internal.carbon_span c
		) m on m.begins_at < least(p_until, h.at + interval '1 hour') and m.ends_at > greatest(p_from, h.at));
end $$;
comment on function acct.carbon_g(numeric, timestamptz, timestamptz) is
	'Grams of CO2 equivalent emitted for joules that were used evenly from p_from until p_until. Null: the intensity of that '
	'time, or of a part of it, is unknown.';
