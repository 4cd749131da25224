-- Energy, and the carbon emitted for it.
--
-- Invariants:
-- - Energy is spread evenly over the time for which an allocation was held.
-- - Intensities hold by the hour of the day (UTC), from the first day of a month. So the usage figures of whole months, which
--   have energy by the hour of the day, are enough to tell their carbon: nothing derived is stored, and a change of intensities
--   changes no row of usage.

create function acct.energy_j(p_energy_hours jsonb) returns numeric
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
begin
	return (select sum(e.value::numeric) from jsonb_each_text(p_energy_hours) e);
end $$;
comment on function acct.energy_j(jsonb) is 'Joules in all of joules by the hour of the day {"13": 7200}; null: there are none.';

create function acct.carbon_g(p_energy_hours jsonb, p_day date) returns numeric
language plpgsql stable strict parallel safe set search_path = pg_catalog, pg_temp as $$
begin
	return (select sum(e.value::numeric * i.g_per_kwh) / 3600000
		from jsonb_each_text(p_energy_hours) e
		join acct.carbon_intensity i on i.hour = e.key::int and p_day >= i.from_month and p_day < i.until_month);
end $$;
comment on function acct.carbon_g(jsonb, date) is
	'Grams of CO2 equivalent emitted for joules by the hour of the day (UTC) {"13": 7200}, by the intensities of a day. '
	'Null: there are none.';

create function acct.carbon_g(p_energy_j numeric, p_from timestamptz, p_until timestamptz) returns numeric
language plpgsql stable strict parallel safe set search_path = pg_catalog, pg_temp as $$
begin
	return (
		select sum(p_energy_j
			* coalesce(extract(epoch from least(c.ends_at, m.ends_at) - greatest(c.begins_at, m.begins_at))
			/ nullif(extract(epoch from p_until - p_from), 0), 1) * i.g_per_kwh) / 3600000
		from generate_series(date_trunc('hour', p_from, 'UTC'), greatest(p_from, p_until - interval '1 microsecond'),
			interval '1 hour') h (at)
		cross join lateral (select greatest(p_from, h.at) as begins_at,
			least(p_until, h.at + interval '1 hour') as ends_at) c
		join acct.carbon_intensity i on i.hour = extract(hour from h.at at time zone 'UTC')
		cross join acct.site z
		-- Where the site's days do not begin on a full hour (UTC), an hour may belong to two months.
		cross join lateral (select i.from_month::timestamp at time zone z.time_zone as begins_at,
			i.until_month::timestamp at time zone z.time_zone as ends_at) m
		where c.begins_at < m.ends_at and c.ends_at >= m.begins_at);
end $$;
comment on function acct.carbon_g(numeric, timestamptz, timestamptz) is
	'Grams of CO2 equivalent emitted for joules that were used evenly from one moment until another. Null: no intensity is '
	'known.';
