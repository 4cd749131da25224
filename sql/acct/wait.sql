-- How long steps waited. acct.usage_day has only the mean, so the other columns are computed from the steps.
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
	'How long steps waited for resources, one row for each day, account, partition and QOS, counting the steps that you see. '
	'The day is that on which a step started, the latest time if it ran again; running steps are included. Percentiles of '
	'days cannot be combined into one of a month: use acct.step for that.';
comment on column acct.wait_day.day is 'Day on which the steps started, in the time zone of the site.';
comment on column acct.wait_day.account is 'Account that pays; null: none.';
comment on column acct.wait_day.partition is 'Partition of the steps.';
comment on column acct.wait_day.qos is 'Quality of service of the jobs.';
comment on column acct.wait_day.steps_started is 'Number of steps that started.';
comment on column acct.wait_day.mean_s is
	'Mean of the seconds that the steps waited, from when they were eligible to their start.';
comment on column acct.wait_day.median_s is 'Median of the seconds that the steps waited, interpolated between two steps.';
comment on column acct.wait_day.p90_s is '90th percentile of the seconds that the steps waited.';
comment on column acct.wait_day.p99_s is '99th percentile of the seconds that the steps waited.';
comment on column acct.wait_day.max_s is 'Most seconds that one of the steps waited.';
