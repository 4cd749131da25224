-- How long steps waited. The figures of acct.usage_day have the mean only, so the other columns are computed from the steps.
create view acct.wait_day with (security_barrier) as
select w.day, w.account, w.partition, w.qos, w.steps_started, w.mean_s, w.percentile_s[1] as median_s, w.percentile_s[2] as p90_s,
	w.percentile_s[3] as p99_s, w.max_s
from (
	select d.day, nullif(s.account, '') as account, s.partition, s.qos, count(*) as steps_started, avg(d.wait_s) as mean_s,
		percentile_cont(array[0.5, 0.9, 0.99]) within group (order by d.wait_s) as percentile_s, max(d.wait_s) as max_s
	from internal.usage_step s
	cross join lateral (
		select (s.started_at at time zone (select z.time_zone from rota.usage_state z))::date as day,
			extract(epoch from greatest(s.started_at - s.eligible_at, interval '0'))::double precision as wait_s
	) d
	-- The head row of an array is left out: its elements have rows of their own.
	where s.started_at is not null and not s.is_array
		and ((select m.reads_all from acct.me m) or s.user_name = current_user
			or s.account = any ((select m.accounts from acct.me m)::text[]))
	group by d.day, s.account, s.partition, s.qos
) w;
comment on view acct.wait_day is
	'How long steps waited for resources, by the day on which they started (a step that ran again: the latest time), those '
	'that run included. Of the steps that you see. Percentiles of days cannot be made into one of a month: take acct.step '
	'for that.';
comment on column acct.wait_day.day is 'The day, of the site''s time zone.';
comment on column acct.wait_day.account is 'Account that pays; null: none.';
comment on column acct.wait_day.partition is 'Partition of the steps.';
comment on column acct.wait_day.qos is 'Quality of service of the jobs.';
comment on column acct.wait_day.steps_started is 'Number of steps that started.';
comment on column acct.wait_day.mean_s is 'Seconds that they had waited, from when they were eligible to their start: the mean.';
comment on column acct.wait_day.median_s is
	'Seconds that half of them had waited at most; between two steps, what lies between them.';
comment on column acct.wait_day.p90_s is 'Seconds that nine of ten had waited at most.';
comment on column acct.wait_day.p99_s is 'Seconds that ninety-nine of a hundred had waited at most.';
comment on column acct.wait_day.max_s is 'Seconds that the one had waited that waited longest.';
