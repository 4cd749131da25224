create function api.running_by_user() returns table (kind text, name text, user_name text, running bigint)
language plpgsql stable set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select 'qos', j.qos, j.user_name, count(*)
	from attempt t
	join job j on j.job_id = t.job_id
	join qos q on q.qos = j.qos and q.max_running_per_user is not null
	where t.ended_at is null
	group by j.qos, j.user_name
	union all
	select 'account', j.account, j.user_name, count(*)
	from attempt t
	join job j on j.job_id = t.job_id
	join association a on a.account = j.account and a.user_name = j.user_name and a.max_running is not null
	where t.ended_at is null
	group by j.account, j.user_name;
end $$;
comment on function api.running_by_user() is 'How many steps each user has under way, where a quality of service or an association limits that. Internal.';
