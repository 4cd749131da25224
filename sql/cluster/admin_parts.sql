-- Properties of an object that are rows of other tables: the nodes of a partition, the devices of a node, the users of an
-- account.
create function internal.object_need(p_object text, p_names text[], p_hint boolean default true) returns void
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_bad text;
	v_near text[];
begin
	if p_names is null then
		return;
	end if;
	execute (select format('select x from unnest($1) x where not exists (select from rota.%I where %s = x) limit 1',
		t.relation, t.name_is) from internal.admin_table(p_object) t)
	into v_bad using p_names;
	if v_bad is null then
		return;
	end if;
	if p_hint then
		execute (select format('select array(select %2$s from rota.%1$I where abs(length(%2$s) - length($1)) <= '
			'greatest(1, length($1) / 3) order by 1 limit 1000)', t.relation, '(' || t.name_is || ')')
				from internal.admin_table(p_object) t)
		into v_near using v_bad;
	end if;
	raise exception 'there is no % "%"', p_object, v_bad using errcode = 'RT404',
		hint = coalesce('Did you mean "' || internal.text_nearest(v_bad, v_near) || '"?', '');
end $$;
comment on function internal.object_need(text, text[], boolean) is
	'Fail with RT404 unless all these objects exist (p_names null: no check). p_hint: add the name that the user probably '
	'meant.';

create function internal.admin_partition_nodes(p_partition text, p_hosts text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_names text[] := case when lower(p_hosts) = 'all' then array(select n.name from node n)
		else array(select internal.hosts_expand(p_hosts)) end;
begin
	perform internal.object_need('node', v_names);
	delete from partition_node pn using node n
		where pn.partition = p_partition and n.node_id = pn.node_id and n.name <> all (v_names);
	insert into partition_node (partition, node_id) select p_partition, n.node_id from node n
		where n.name = any (v_names) on conflict do nothing;
end $$;
comment on function internal.admin_partition_nodes(text, text) is 'Set the nodes of a partition: a host list, or "all".';

create function internal.admin_node_partitions(p_node text, p_partitions text[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	perform internal.object_need('partition', p_partitions);
	delete from partition_node pn using node n
		where n.name = p_node and pn.node_id = n.node_id and pn.partition <> all (coalesce(p_partitions, '{}'));
	insert into partition_node (partition, node_id) select p, n.node_id from unnest(p_partitions) p cross join node n
		where n.name = p_node on conflict do nothing;
end $$;
comment on function internal.admin_node_partitions(text, text[]) is 'Set the partitions of a node.';

create function internal.admin_node_gres(p_node text, p_gres text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_node int;
	v_want jsonb := jsonb_build_object();
	v_part text;
	v_match text[];
	v_busy record;
begin
	select n.node_id into v_node from node n where n.name = p_node for no key update;
	foreach v_part in array coalesce(string_to_array(p_gres, ','), '{}') loop
		v_match := regexp_match(btrim(v_part), '^([A-Za-z][A-Za-z0-9_.-]*)(?:[:=]([0-9]{1,4}))?$');
		if v_match is null then
			raise exception '"%" is no generic resource', v_part using errcode = 'RT422',
				hint = 'Write it like gpu:2,fpga:1.';
		end if;
		v_want := v_want || jsonb_build_object(v_match[1], coalesce(v_match[2], '1')::int);
	end loop;
	select g.gres, g.unit, internal.step_label(g.job_id, g.step_id) as label into v_busy
	from (
		select x.gres, x.unit, x.job_id, x.step_id from node_gres x where x.node_id = v_node and x.job_id is not null
		union all
		-- GPUs that a suspended step has given back, and to which it returns.
		select 'gpu', u::int, a.job_id, a.step_id
		from allocation a cross join lateral jsonb_array_elements_text(a.gres -> 'gpu') u
		where a.node_id = v_node and a.ended_at is null and upper_inf(a.without_gpus)
	) g
	where g.unit >= coalesce((v_want ->> g.gres)::int, 0)
	limit 1;
	if found then
		raise exception 'device % of "%" on node "%" is in use by %', v_busy.unit, v_busy.gres, p_node,
			v_busy.label using errcode = 'RT409',
			hint = 'Drain the node and wait, or cancel the step.';
	end if;
	delete from node_gres g where g.node_id = v_node and g.unit >= coalesce((v_want ->> g.gres)::int, 0);
	insert into node_gres (node_id, gres, unit)
	select v_node, w.key, u from jsonb_each_text(v_want) w cross join lateral generate_series(0, w.value::int - 1) u
	on conflict do nothing;
end $$;
comment on function internal.admin_node_gres(text, text) is
	'Set the devices of a node''s generic resources, gpu:2,fpga:1; the node loses all others.';

create function internal.admin_users(p_pairs jsonb, p_account text, p_user text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_bad text;
begin
	-- One of account and user is given. The other is a list of names, each with the highest number of steps at once if that
	-- is limited: alice,bob:5.
	select x into v_bad from jsonb_array_elements_text(p_pairs) x
		where x !~ ('^' || internal.user_pattern() || '(:[1-9][0-9]{0,8})?$') limit 1;
	if found then
		raise exception '"%" is not a name', v_bad using errcode = 'RT422',
			hint = 'Write it like alice,bob:5; the number limits the steps that run at once.';
	end if;
	if p_account is null then
		perform internal.object_need('account',
			array(select split_part(x, ':', 1) from jsonb_array_elements_text(p_pairs) x));
	end if;
	delete from association a
	where (a.account = p_account or a.user_name = p_user)
		and case when p_account is null then a.account
			else a.user_name end <> all (array(select split_part(x, ':', 1)
			from jsonb_array_elements_text(p_pairs) x));
	insert into association (account, user_name)
	select coalesce(p_account, split_part(x, ':', 1)), coalesce(p_user, split_part(x, ':', 1))
	from jsonb_array_elements_text(p_pairs) x
	on conflict (account, user_name) do nothing;
	perform internal.admin_limit('association',
		coalesce(p_account, split_part(x, ':', 1)) || '/' || coalesce(p_user, split_part(x, ':', 1)), 'running',
		coalesce(to_jsonb(nullif(split_part(x, ':', 2), '')::bigint), 'null'))
	from jsonb_array_elements_text(p_pairs) x;
end $$;
comment on function internal.admin_users(jsonb, text, text) is
	'Set which users may use an account (p_account), or which accounts a user may use (p_user): ["name", "name:5"].';

create function internal.admin_coordinators(p_account text, p_users text[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_bad text;
begin
	select x into v_bad from unnest(p_users) x where x !~ ('^' || internal.user_pattern() || '$') limit 1;
	if found then
		raise exception '"%" is not a name', v_bad using errcode = 'RT422';
	end if;
	delete from coordinator c where c.account = p_account and c.user_name <> all (coalesce(p_users, '{}'));
	insert into coordinator (account, user_name) select p_account, x from unnest(p_users) x on conflict do nothing;
end $$;
comment on function internal.admin_coordinators(text, text[]) is 'Set the coordinators of an account; all others lose that role.';
