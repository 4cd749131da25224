-- Energy: what attempts used of it, sums by hour of the day in the usage figures, and the carbon intensity of the electricity.
alter table rota.allocation add column energy_j numeric;
comment on column rota.allocation.energy_j is
	'Energy that the attempt used on the node, in joules: that of the whole node meanwhile, by its part of the CPUs. Null: '
	'unknown.';

do $$
declare
	v_table text;
begin
	foreach v_table in array array['usage_hour', 'usage_day', 'usage_month', 'node_usage_hour', 'node_usage_day',
		'node_usage_month'] loop
		execute format('alter table rota.%I add column energy_hours jsonb not null default ''{}''', v_table);
		execute format('comment on column rota.%I.energy_hours is %L', v_table,
			'Joules used in each hour of the day (UTC) by allocations that have ended and whose energy is known, as in '
			'{"13": 7200}.');
	end loop;
end $$;

create table rota.carbon_intensity (
	name text primary key check (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
	from_month date not null unique constraint carbon_intensity_starts_a_month check (extract(day from from_month) = 1),
	g_per_kwh numeric[] not null check (array_ndims(g_per_kwh) = 1 and cardinality(g_per_kwh) = 24
		and array_position(g_per_kwh, null) is null and 0 <= all (g_per_kwh))
);
comment on table rota.carbon_intensity is
	'Carbon emitted for electricity by the hour of the day, from a month on. Months are those of the site''s time zone.';
comment on column rota.carbon_intensity.name is 'Name of the row.';
comment on column rota.carbon_intensity.from_month is
	'First day of the month from which the intensities hold, until there is a row with a later month.';
comment on column rota.carbon_intensity.g_per_kwh is
	'Grams of CO2 equivalent for each kWh: 24 numbers, of the hours of the day in UTC, the first one from 0:00 to 1:00.';
