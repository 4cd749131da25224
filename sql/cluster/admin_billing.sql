-- Changes by administrators of billing and carbon: the weights of a partition, grants, and values that are valid from a month on.

create function internal.admin_billing(p_partition text, p_weights jsonb, p_from date) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_from constant date := date_trunc('month', coalesce(p_from, internal.site_day()));
begin
	if jsonb_typeof(p_weights) = 'null' then
		delete from billing_weight w where w.partition = p_partition and w.from_month >= v_from;
		return;
	end if;
	insert into billing_weight as w (partition, from_month, cpu, mem_gib, node, gres)
	values (p_partition, v_from, coalesce((p_weights ->> 'cpu')::numeric, 0), coalesce((p_weights ->> 'mem')::numeric, 0),
		coalesce((p_weights ->> 'node')::numeric, 0), p_weights - array['cpu', 'mem', 'node'])
	on conflict (partition, from_month) do update
	set cpu = excluded.cpu, mem_gib = excluded.mem_gib, node = excluded.node, gres = excluded.gres;
end $$;
comment on function internal.admin_billing(text, jsonb, date) is
	'Set the weights of a partition from a month on (null: this month): {"cpu": 1, "mem": 0.25, "node": 0, "gpu": 20}; '
	'weights not given are 0. Weights null: remove the weights of the month and of later months.';

create function internal.admin_check_grant(p_name text, p_set jsonb) returns void
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_new account_grant;
	v_other account_grant;
begin
	select * into v_new from account_grant g where g.name = p_name;
	v_new := jsonb_populate_record(v_new, p_set);
	if v_new.last_day < v_new.first_day then
		raise exception 'grant "%" would end before it begins', p_name using errcode = 'RT422';
	end if;
	select * into v_other
	from account_grant g
	where g.account = v_new.account and g.name <> p_name and g.first_day <= v_new.last_day and g.last_day >= v_new.first_day
	limit 1;
	if found then
		raise exception 'account "%" has grant "%" from % to % already', v_new.account, v_other.name, v_other.first_day,
			v_other.last_day using errcode = 'RT409', hint = 'Change that one, or give other days.';
	end if;
end $$;
comment on function internal.admin_check_grant(text, jsonb) is
	'Refuse a grant that ends before it begins, or overlaps another one of its account.';

create function internal.admin_check_from(p_object text, p_name text, p_set jsonb) returns void
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_new constant jsonb := coalesce(internal.admin_row(p_object, p_name), '{}') || p_set;
	v_other text;
begin
	select x.name into v_other
	from (
		select p.price as name, p.from_month from price p
		where p_object = 'price' and p.account is not distinct from v_new ->> 'account'
		union all
		select c.name, c.from_month from carbon_intensity c where p_object = 'carbon'
	) x
	where x.name <> p_name and x.from_month = (v_new ->> 'from_month')::date;
	if found then
		raise exception '% "%" holds from % on already%', p_object, v_other, left(v_new ->> 'from_month', 7),
			coalesce(' for account "' || (v_new ->> 'account') || '"', '') using errcode = 'RT409',
			hint = 'Change that one, or give another month.';
	end if;
end $$;
comment on function internal.admin_check_from(text, text, jsonb) is
	'Refuse a price or carbon intensity that is valid from a month on if another one from the same month exists (of a price: '
	'for the same account).';
