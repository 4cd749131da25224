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
		from api.usage_due_key k
		cross join lateral (
			select * from api.usage_piece p where p.job_id = k.job_id and p.step_id = k.step_id and p.attempt = k.attempt and p.node_id = k.node_id offset 0
		) p
		where not k.rebuild and p.day >= p_day
	) u
	group by u.account, u.user_name, u.partition, u.qos;
end $$;
comment on function api.usage_since(date, boolean) is
	'CPU-seconds held since a day (p_months: the first of a month) began in the site''s time zone, of what holds nothing any more. Internal.';
