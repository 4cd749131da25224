-- Limits of one object. A limit of an object sets the columns that name the object, and no other column.
create function internal.admin_limit_scope(p_object text, p_name text, out account text, out user_name text, out qos text,
	out partition text)
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	account := case p_object when 'account' then p_name when 'association' then split_part(p_name, '/', 1) end;
	user_name := case p_object when 'user' then p_name when 'association' then split_part(p_name, '/', 2) end;
	qos := case p_object when 'qos' then p_name end;
	partition := case p_object when 'partition' then p_name end;
end $$;
comment on function internal.admin_limit_scope(text, text) is
	'The columns of rota.usage_limit that name an object in each of its limits.';

create function internal.admin_limit(p_object text, p_name text, p_what text, p_value jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_measure text := regexp_replace(p_what, '_per_user$', '');
	v_each boolean := p_what ~ '_per_user$';
	v_scope record;
	-- Find the limits of this key, which differ in the kind of resource, the period or both.
	v_want jsonb := case when v_measure in ('gres', 'cpu_minutes', 'billing', 'gres_minutes') then p_value
		else jsonb_build_object(v_measure, p_value) end;
begin
	select * into v_scope from internal.admin_limit_scope(p_object, p_name);
	-- A limit that stays the same keeps its row: a new row would make the leader read the queue again.
	delete from usage_limit l
	where (l.account, l.user_name, l.qos, l.partition) is not distinct from (v_scope.account, v_scope.user_name, v_scope.qos,
		v_scope.partition)
		and l.each_user = v_each and split_part(l.measure, '/', 1) = v_measure
		and to_jsonb(l.most) is distinct from v_want -> case when v_measure = 'gres_minutes'
			then split_part(l.measure, '/', 2) || '/' || l.period when l.period <> '' then l.period else l.measure end;
	insert into usage_limit (account, user_name, qos, partition, each_user, measure, period, most)
	select v_scope.account, v_scope.user_name, v_scope.qos, v_scope.partition, v_each,
		case v_measure when 'gres' then w.key when 'gres_minutes' then 'gres_minutes/' || split_part(w.key, '/', 1)
			else v_measure end,
		case v_measure when 'cpu_minutes' then w.key when 'billing' then w.key when 'gres_minutes'
			then split_part(w.key, '/', 2) else '' end, w.value::bigint
	from jsonb_each_text(case jsonb_typeof(v_want) when 'object' then v_want else '{}' end) w
	where w.value is not null
	on conflict do nothing;
end $$;
comment on function internal.admin_limit(text, text, text, jsonb) is
	'Set, change or (null) remove a limit of an object. p_what: a measure, perhaps with _per_user. p_value of gres: '
	'{"gres/gpu": 4}; of cpu_minutes and billing: {"month": 60000}; of gres_minutes: {"gpu/month": 6000}.';

create function internal.admin_limits(p_object text, p_name text) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_scope record;
begin
	select * into v_scope from internal.admin_limit_scope(p_object, p_name);
	return (
		select coalesce(jsonb_object_agg(x.key, x.value), '{}')
		from (
			select k.key, case when min(l.measure) ~ '^gres/' then jsonb_object_agg(substr(l.measure, 6), l.most)
				when min(l.measure) ~ '^gres_minutes/'
				then jsonb_object_agg(substr(l.measure, 14) || '/' || l.period, l.most)
				when min(l.period) <> '' then jsonb_object_agg(l.period, l.most)
					else to_jsonb(min(l.most)) end as value
			from usage_limit l
			cross join lateral (
				select 'max_' || split_part(l.measure, '/', 1) || case
					when l.measure = 'time' then '_s' else '' end
					|| case when l.each_user then '_per_user' else '' end as key
			) k
			where (l.account, l.user_name, l.qos, l.partition) is not distinct from (v_scope.account,
				v_scope.user_name, v_scope.qos, v_scope.partition)
			group by k.key
		) x);
end $$;
comment on function internal.admin_limits(text, text) is
	'The limits of one object, without those of others that apply to it, by the keys that set them.';
