create function api.usage_since(p_day date, p_months boolean) returns table (account text, user_name text, partition text, qos text, cpu_s numeric)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select u.account, u.user_name, u.partition, u.qos, sum(u.cpu_s)
	from (
		select m.account, m.user_name, m.partition, m.qos, m.cpu_s from usage_month m where p_months and m.month >= p_day
		union all
		select d.account, d.user_name, d.partition, d.qos, d.cpu_s from usage_day d where not p_months and d.day >= p_day
		union all
		-- What has ended and is not in the figures yet.
		select p.account, p.user_name, p.partition, p.qos, p.cpu_s
		from usage_due e
		cross join lateral unnest(e.job_ids, e.step_ids, e.attempts, e.node_ids) k (job_id, step_id, attempt, node_id)
		join api.usage_day_piece p on p.job_id = k.job_id and p.step_id = k.step_id and p.attempt = k.attempt and p.node_id = k.node_id
		where not e.rebuild and e.attempts is not null and p.day >= p_day
	) u
	group by u.account, u.user_name, u.partition, u.qos;
end $$;
comment on function api.usage_since(date, boolean) is
	'CPU-seconds held since a day (p_months: the first of a month) began in the site''s time zone, of what holds nothing any more. Internal.';
