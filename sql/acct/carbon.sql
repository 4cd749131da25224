create view acct.carbon_intensity with (security_barrier) as
select c.name, c.from_month, c.until_month, (h.nr - 1)::int as hour, h.g_per_kwh
from internal.carbon_span c
cross join lateral unnest(c.g_per_kwh) with ordinality h (g_per_kwh, nr);
comment on view acct.carbon_intensity is 'Carbon emitted for electricity, by the hour of the day.';
comment on column acct.carbon_intensity.name is 'Name that administrators gave this intensity.';
comment on column acct.carbon_intensity.from_month is 'First day of the first month in which this intensity applies.';
comment on column acct.carbon_intensity.until_month is
	'First day of the month in which the next intensity begins to apply; infinity: there is none.';
comment on column acct.carbon_intensity.hour is 'Hour of the day in UTC, 0 to 23.';
comment on column acct.carbon_intensity.g_per_kwh is 'Grams of CO2 equivalent for each kWh.';
