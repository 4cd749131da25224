-- What 0045_skip.sql says of hours holds for days and months as well.
comment on column rota.usage_day.steps_cancelled is 'The rest: cancelled, preempted, skipped, or never able to start.';
comment on column rota.usage_month.steps_cancelled is 'The rest: cancelled, preempted, skipped, or never able to start.';
