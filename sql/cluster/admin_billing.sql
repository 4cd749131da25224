-- What administrators set of billing: the weights of a partition, and grants.

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
	'Set the weights of a partition from a month on (null: this one): {"cpu": 1, "mem": 0.25, "node": 0, "gpu": 20}, those '
	'not given 0. Weights null: remove those of the month and of later ones.';

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
