-- Requests of "rota admin": create, change and delete objects of the cluster, one object in a call. Each change is recorded in
-- rota.admin_event.
create function internal.admin_table(p_object text) returns table (relation text, name_is text, name_like text)
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
	select t.relation, t.name_is, t.name_like
	from (values ('partition', 'partition', 'partition', '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
		('node', 'node', 'name', '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
		('account', 'account', 'account', '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
		('user', 'person', 'user_name', '^' || internal.user_pattern() || '$'),
		('association', 'association', 'account || ''/'' || user_name', '^[^/]+/' || internal.user_pattern() || '$'),
		('qos', 'qos', 'qos', '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
		('license', 'license', 'license', '^[A-Za-z][A-Za-z0-9_.-]*$'), ('setting', 'setting', 'name', ''),
		('price', 'price', 'price', '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
		('carbon', 'carbon_intensity', 'name', '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
		('grant', 'account_grant', 'name', '^[A-Za-z0-9][A-Za-z0-9_.-]*$'),
		('image', 'node_image', 'image', '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
		('prep', 'node_prep', 'prep', '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
		('check', 'node_check', 'name', '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
		('reservation', 'reservation', 'name', '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$')) as t (object, relation, name_is,
		name_like)
	where t.object = p_object;
$$;
comment on function internal.admin_table(text) is
	'The table of a kind of object, the SQL expression of the object''s name in this table, and the pattern of names of new '
	'objects; no row: no such kind.';

create function internal.admin_check_node(p_name text, p_set jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_held node_used;
begin
	perform internal.object_need('image', array[p_set ->> 'default_image']) where p_set ->> 'default_image' is not null;
	perform from node n where n.name = p_name for no key update;
	select u.* into v_held from node n join node_used u on u.node_id = n.node_id where n.name = p_name;
	if (p_set ->> 'cpus')::bigint < v_held.cpus_used then
		raise exception 'node "%" cannot get fewer CPUs than the % that its steps hold', p_name, v_held.cpus_used
			using errcode = 'RT409',
			hint = 'Drain the node and wait for its steps to end.';
	elsif (p_set ->> 'mem_mb')::bigint < v_held.mem_used_mb then
		raise exception 'node "%" cannot get less memory than the % MiB that its steps hold', p_name, v_held.mem_used_mb
			using errcode = 'RT409',
			hint = 'Drain the node and wait for its steps to end.';
	end if;
end $$;
comment on function internal.admin_check_node(text, jsonb) is
	'Refuse (RT409) values of a node that are below what its steps hold. Locks the node. Part of internal.admin_check.';

create function internal.admin_check_setting(p_name text, p_set jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_setting setting;
begin
	select * into v_setting from setting s where s.name = p_name;
	-- A half-life of 0 has no meaning, and ranges of a few jobs would fill faster than they are made.
	p_set := jsonb_build_object('value',
		internal.admin_value(p_name, case when p_name = 'range_size' then 'int [10000,2147483647]'
		when p_name = 'fair_share_half_life_s' then 'int [1,2147483647]'
			when v_setting.kind = 'int' then 'int [0,2147483647]' else v_setting.kind end, p_set -> 'value'));
	if v_setting.kind <> 'text' and jsonb_typeof(p_set -> 'value') = 'null' then
		raise exception '"%" needs a value', p_name using errcode = 'RT422', hint = v_setting.help;
	elsif p_name = 'time_zone'
		and not exists (select from pg_timezone_names z where lower(z.name) = lower(p_set ->> 'value')) then
		raise exception 'there is no time zone "%"', p_set ->> 'value' using errcode = 'RT422',
			hint = 'Give a name like Europe/Berlin; see pg_timezone_names.';
	end if;
end $$;
comment on function internal.admin_check_setting(text, jsonb) is
	'Refuse a wrong value of a setting. Part of internal.admin_check.';

create function internal.admin_check(p_object text, p_name text, p_set jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_used int;
begin
	if p_object = 'node' then
		perform internal.admin_check_node(p_name, p_set);
	elsif p_object in ('image', 'prep') then
		perform internal.object_need('account', array(select jsonb_array_elements_text(p_set -> 'accounts')))
		where jsonb_typeof(p_set -> 'accounts') = 'array';
	elsif p_object = 'license' then
		select l.used into v_used from license l where l.license = p_name for no key update;
		if (p_set ->> 'total')::bigint < v_used then
			raise exception 'licence "%" cannot get a total below the % that steps hold', p_name, v_used using errcode = 'RT409';
		end if;
	elsif p_object = 'setting' then
		perform internal.admin_check_setting(p_name, p_set);
	elsif p_object = 'association' then
		perform internal.object_need('account', array[split_part(p_name, '/', 1)]);
	elsif p_object in ('price', 'grant', 'carbon') then
		perform internal.object_need('account', array[p_set ->> 'account']) where p_set ->> 'account' is not null;
		perform internal.admin_check_grant(p_name, p_set) where p_object = 'grant';
		perform internal.admin_check_from(p_object, p_name, p_set) where p_object <> 'grant';
	elsif p_object = 'partition' and p_set ? '+billing_from' and not p_set ? '+billing' then
		raise exception '"billing_from" needs "billing"' using errcode = 'RT422';
	elsif p_object = 'user' and p_set ->> 'default_account' is not null then
		perform internal.object_need('account', array[p_set ->> 'default_account']);
	elsif p_object = 'account' and p_set ->> 'parent' is not null then
		perform internal.object_need('account', array[p_set ->> 'parent']);
		if exists (
			with recursive above (account) as (
				select p_set ->> 'parent'
				union
				select a.parent from above u join account a on a.account = u.account where a.parent is not null
			)
			select from above where account = p_name
		) then
			raise exception 'account "%" would be its own ancestor', p_name using errcode = 'RT422';
		end if;
	end if;
end $$;
comment on function internal.admin_check(text, text, jsonb) is
	'Refuse values of an object that running steps or other objects do not allow.';

create function internal.admin_columns(p_object text, p_relation text, p_set jsonb, p_new boolean) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_bare text;
begin
	select min(k.key) into v_bare
	from jsonb_each(p_set) s
	join pg_attribute a on a.attrelid = format('rota.%I', p_relation)::regclass and a.attname = s.key
		and not a.attisdropped
	join internal.admin_key_list() k on k.object = p_object and k.member = s.key
	where s.value = 'null' and a.attnotnull and a.atttypid <> 'text[]'::regtype and not (p_new and a.atthasdef);
	if v_bare is not null then
		raise exception '"%" needs a value', v_bare using errcode = 'RT422';
	end if;
	-- In a new row, null or a missing value means the default of a column that must have a value; a list column that must
	-- have a value is empty.
	return (
		select coalesce(jsonb_object_agg(s.key, case when a.attnotnull and s.value = 'null'
			and a.atttypid = 'text[]'::regtype then '[]' else s.value end), '{}')
		from jsonb_each(p_set) s
		join pg_attribute a on a.attrelid = format('rota.%I', p_relation)::regclass and a.attname = s.key
			and not a.attisdropped
		where not (a.attnotnull and s.value = 'null' and p_new));
end $$;
comment on function internal.admin_columns(text, text, jsonb, boolean) is
	'Those of the given values (p_set) that are columns of the object''s row. p_new: the row is new. Refuses null for a '
	'column that needs a value.';

create function internal.admin_write_parts(p_object text, p_name text, p_set jsonb) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if p_set ? '+nodes' and p_object = 'partition' then
		perform internal.admin_partition_nodes(p_name, coalesce(p_set ->> '+nodes', ''));
	elsif p_set ? '+nodes' then
		perform internal.admin_reservation_nodes(p_name, coalesce(p_set ->> '+nodes', ''));
	end if;
	if p_set ? '+billing' then
		perform internal.admin_billing(p_name, p_set -> '+billing', (p_set ->> '+billing_from')::date);
	end if;
	if p_set ? '+partitions' then
		perform internal.admin_node_partitions(p_name, internal.request_list(p_set, '+partitions'));
	end if;
	if p_set ? '+gres' then
		perform internal.admin_node_gres(p_name, p_set ->> '+gres');
	end if;
	if p_set ? '+users' then
		perform internal.admin_users(case jsonb_typeof(p_set -> '+users') when 'array' then p_set -> '+users'
			else '[]' end, p_name, null);
	end if;
	if p_set ? '+accounts' then
		perform internal.admin_users(case jsonb_typeof(p_set -> '+accounts') when 'array' then p_set -> '+accounts'
			else '[]' end, null, p_name);
	end if;
	perform internal.admin_limit(p_object, p_name, substr(s.key, 8), s.value) from jsonb_each(p_set) s
		where s.key like '+limit %';
	if p_set ? '+coordinators' then
		perform internal.admin_coordinators(p_name, internal.request_list(p_set, '+coordinators'));
	end if;
	if p_set ?| array['analyst', 'reader'] then
		perform login.person_set(p_name, case when p.analyst then 'rota_analyst' when p.reader then 'rota_reader' end)
		from person p
		where p.user_name = p_name;
	end if;
end $$;
comment on function internal.admin_write_parts(text, text, jsonb) is
	'Write the properties of an object that are rows of other tables: members, limits, logins.';

create function internal.admin_write(p_object text, p_name text, p_set jsonb, p_new boolean) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_table record;
	v_columns text;
	v_row jsonb;
begin
	select * into v_table from internal.admin_table(p_object);
	v_row := internal.admin_columns(p_object, v_table.relation, p_set, p_new);
	if p_new then
		-- Not "perform ... where": of an immutable function, the planner computes the value whatever the condition.
		if p_object = 'node' then
			perform internal.login_check(coalesce(p_set ->> '+login', p_name));
		end if;
		v_row := v_row || case
			when p_object = 'association'
			then jsonb_build_object('account', split_part(p_name, '/', 1), 'user_name', split_part(p_name, '/', 2))
			when p_object = 'node'
			then jsonb_build_object('name', p_name, 'login', coalesce(p_set ->> '+login', p_name))
			else jsonb_build_object(v_table.name_is, p_name) end;
		select string_agg(format('%I', k), ', ') into v_columns from jsonb_object_keys(v_row) k;
		execute format('insert into rota.%1$I (%2$s) select %2$s from jsonb_populate_record(null::rota.%1$I, $1)',
			v_table.relation, v_columns) using v_row;
	elsif v_row <> '{}' then
		select string_agg(format('%I', k), ', ') into v_columns from jsonb_object_keys(v_row) k;
		execute format('update rota.%1$I set (%2$s) = (select %2$s from jsonb_populate_record(null::rota.%1$I, $1)) '
			'where %3$s = $2',
			v_table.relation, v_columns, v_table.name_is) using v_row, p_name;
	end if;
	perform internal.admin_write_parts(p_object, p_name, p_set);
exception
	when check_violation or not_null_violation or numeric_value_out_of_range then
		raise exception 'that is not possible for % "%": %', p_object, p_name, sqlerrm using errcode = 'RT422';
end $$;
comment on function internal.admin_write(text, text, jsonb, boolean) is
	'Write an object''s row, new (p_new) or not, and its properties in other tables.';

create function internal.admin_delete(p_object text, p_name text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_table record;
	v_label text;
	v_logins text[];
	v_used boolean := false;
begin
	select * into v_table from internal.admin_table(p_object);
	if p_object = 'setting' or (p_object = 'qos' and p_name = 'normal') then
		raise exception '% "%" cannot be deleted', p_object, p_name using errcode = 'RT409';
	elsif p_object = 'node' then
		select internal.step_label(a.job_id, a.step_id) into v_label
		from allocation a join node n on n.node_id = a.node_id
		where n.name = p_name and a.ended_at is null limit 1;
	elsif p_object = 'partition' then
		select internal.step_label(s.job_id, s.step_id) into v_label
		from step s join step_request r on r.job_id = s.job_id and r.step_id = s.request_id
		where s.ended_at is null and r.partition = p_name limit 1;
	elsif p_object = 'license' then
		select l.used > 0 into v_used from license l where l.license = p_name for update;
	elsif p_object = 'account' then
		-- Jobs that have not ended still need the limits of the account and its position in the tree.
		select 'job ' || j.job_id into v_label from job j where j.account = p_name and j.ended_at is null limit 1;
	elsif p_object = 'user' then
		select 'job ' || j.job_id into v_label from job j where j.user_name = p_name and j.ended_at is null limit 1;
		delete from association where user_name = p_name;
		delete from coordinator where user_name = p_name;
		delete from usage_limit where user_name = p_name;
		perform login.person_set(p_name, null);
	end if;
	if v_label is not null or v_used then
		raise exception '% "%" is in use%', p_object, p_name, coalesce(' by ' || v_label, '') using errcode = 'RT409',
			hint = 'Wait for what uses it to end, or cancel that.';
	end if;
	v_logins := array(select l from node n cross join lateral unnest(array[n.login, n.login_next]) l
		where p_object = 'node' and n.name = p_name and l is not null);
	execute format('delete from rota.%I where %s = $1', v_table.relation, v_table.name_is) using p_name;
	perform internal.login_unused(l) from unnest(v_logins) l;
exception when foreign_key_violation then
	raise exception '% "%" is named in history or by other objects', p_object, p_name using errcode = 'RT409',
		hint = case p_object when 'node' then 'Drain it instead.'
			when 'partition' then 'Set its state to inactive instead.' else 'Change what names it first.' end;
end $$;
comment on function internal.admin_delete(text, text) is 'Delete an object that nothing uses.';

create function internal.admin_opened(p_accounts text[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_account text;
begin
	select x into v_account
	from unnest(p_accounts) x
	join account a on a.account = x
	where not exists (select from association s where s.account = x)
	order by x
	limit 1;
	if found then
		raise exception 'account "%" would be left without users, and so open to all', v_account using errcode = 'RT409',
			hint = format('Give it another user first, delete it, or open it: rota admin account change %s '
				'--users=none.', v_account);
	end if;
end $$;
comment on function internal.admin_opened(text[]) is
	'Refuse a change by which one of these accounts, which had users, has lost its last user.';

create function internal.admin_check_name(p_object text, p_name text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if not exists (select from internal.admin_table(p_object) t where p_name ~ t.name_like) then
		raise exception 'no % can have the name "%"', p_object, p_name using errcode = 'RT422', hint = case p_object
			when 'association' then 'Write it like physics/alice: an account and a user of it.'
			when 'user' then 'Names of users are of letters, digits, "_", ".", "-", "@" and "\", and begin with a '
				'letter, a digit or "_".'
			else 'Names are of letters, digits, "_", "." and "-"' || case
				when p_object in ('node', 'reservation', 'image', 'prep', 'check') then ', 63 at most,'
				else '' end || ' and begin with a letter'
				|| case p_object when 'license' then '.' else ' or digit.' end end;
	end if;
end $$;
comment on function internal.admin_check_name(text, text) is 'Refuse a name that no object of a kind can have.';

create function internal.admin_check_action(p_object text, p_action text, p_name text, p_set jsonb, p_exists boolean) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if p_action = 'create' and p_exists then
		raise exception 'there is % % "%" already', case when p_object ~ '^[aei]' then 'an' else 'a' end, p_object, p_name
			using errcode = 'RT409', hint = 'Use "change" for what is there.';
	elsif p_action = 'create' then
		perform internal.admin_check_name(p_object, p_name);
	elsif not p_exists then
		perform internal.object_need(p_object, array[p_name]);
	end if;
	if p_action = 'create' and p_object = 'setting' then
		raise exception 'settings exist from the start; they can only be shown and changed' using errcode = 'RT422';
	elsif p_object = 'node' and p_action in ('create', 'change') and p_set ?| array['+reason', '+deadline', '+end_steps'] then
		raise exception 'a % can be given with "drain" only',
			case when p_set ? '+reason' then 'reason' when p_set ? '+deadline' then 'deadline'
			else 'choice of ending steps' end
			using errcode = 'RT422';
	elsif p_action <> 'create' and p_set ? '+login' then
		raise exception 'a login can be given with "create" or "enroll" only' using errcode = 'RT422';
	elsif p_action = 'create' and p_object = 'node' and not (p_set ? 'cpus' and p_set ? 'mem_mb') then
		raise exception 'a node needs "cpus" and "mem"' using errcode = 'RT422';
	elsif p_action = 'create' and p_object in ('prep', 'check') and not p_set ? 'program' then
		raise exception 'a % needs "program"', p_object using errcode = 'RT422', hint = 'It is a file of hooks.node_folder.';
	elsif p_action = 'create' and p_object = 'price' and not p_set ?& array['from_month', 'per_unit'] then
		raise exception 'a price needs "from" and "per_unit"' using errcode = 'RT422';
	elsif p_action = 'create' and p_object = 'carbon' and not p_set ?& array['from_month', 'g_per_kwh'] then
		raise exception 'carbon needs "from" and "g_per_kwh"' using errcode = 'RT422';
	elsif p_action = 'create' and p_object = 'grant'
		and not p_set ?& array['account', 'units', 'first_day', 'last_day'] then
		raise exception 'a grant needs "account", "units", "first_day" and "last_day"' using errcode = 'RT422';
	elsif p_action = 'create' and p_object = 'license' and not p_set ? 'total' then
		raise exception 'a licence needs "total"' using errcode = 'RT422';
	elsif p_action in ('delete', 'resume') and p_set <> '{}' then
		raise exception '"%" takes no values', p_action using errcode = 'RT422';
	elsif p_action = 'drain' and p_set - array['+reason', '+deadline', '+end_steps'] <> '{}' then
		raise exception '"drain" takes only a reason, a deadline, and whether to end steps' using errcode = 'RT422';
	elsif p_action = 'dead' and (p_set ->> '+reason' is null or p_set - '+reason' <> '{}') then
		raise exception '"dead" of node "%" takes a reason and nothing else', p_name using errcode = 'RT422',
			hint = 'Say in the reason how you know that it is dead.';
	end if;
end $$;
comment on function internal.admin_check_action(text, text, text, jsonb, boolean) is
	'Refuse to create an object that exists (p_exists), or another action on one that does not, and values that do not '
	'belong to the action.';

create function internal.admin_one(p_user text, p_object text, p_action text, p_name text, p_values jsonb) returns boolean
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_set jsonb := internal.admin_values(p_object, p_values);
	v_before jsonb := internal.admin_row(p_object, p_name);
	v_closed text[];
	v_after jsonb;
begin
	if p_object in ('user', 'association') then
		-- An administrator who opens an account to all names the account.
		v_closed := array(select distinct s.account from association s
			where s.user_name = case p_object when 'user' then p_name else split_part(p_name, '/', 2) end);
	end if;
	perform internal.admin_check_action(p_object, p_action, p_name, v_set, v_before is not null);
	if p_action in ('create', 'change') then
		if p_object = 'reservation' then
			v_set := internal.admin_reservation(p_user, p_name, v_set);
		end if;
		perform internal.admin_check(p_object, p_name, v_set);
		if v_set ->> 'is_default' = 'true' then
			-- Only one partition is the default, so record the change of the former one too.
			perform internal.admin_one(p_user, p_object, 'change', p.partition, '{"default": false}') from partition p
				where p.is_default and p.partition <> p_name;
		end if;
		perform internal.admin_write(p_object, p_name, v_set, p_action = 'create');
		perform internal.admin_failing(p_user, p_name, v_set);
	elsif p_action = 'delete' then
		perform internal.admin_delete(p_object, p_name);
	else
		perform internal.admin_node_state(p_user, p_name, p_action, v_set);
	end if;
	perform internal.admin_opened(v_closed);
	v_after := internal.admin_row(p_object, p_name);
	if p_object = 'node' and p_action = 'change' and v_before <> v_after then
		-- After the change, the hardware that the node reported may match the configured one, or no longer match it.
		perform internal.node_judge_hardware(p_name, p_user);
		v_after := internal.admin_row(p_object, p_name);
	end if;
	if v_before is not distinct from v_after then
		return false;
	end if;
	-- internal.node_state_set has announced the node already if its state is new.
	if p_object = 'reservation' or p_object = 'node' and v_before -> 'state' is not distinct from v_after -> 'state' then
		perform internal.node_announce(array(select n.node_id from node n
			where case p_object when 'node' then n.name = p_name
				else v_before -> 'nodes' ? n.name or v_after -> 'nodes' ? n.name end));
	end if;
	if p_object in ('account', 'association', 'user') or p_name like 'fair_share_%' then
		update share_state set computed_at = null where computed_at is not null;
	end if;
	insert into admin_event (actor, object, action, name, given, before, after)
	values (p_user, p_object, p_action, p_name, coalesce(p_values, '{}'), v_before, v_after);
	return true;
end $$;
comment on function internal.admin_one(text, text, text, text, jsonb) is
	'Apply one change to one object and record the change. Returns whether anything changed.';

create function internal.admin_need(p_role text, p_object text, p_action text, p_name text, p_values jsonb) returns void
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	if not exists (select from internal.admin_table(p_object)) then
		raise exception 'there is no object "%"', p_object using errcode = 'RT422',
			hint = 'Objects are partition, node, account, user, association, qos, license, setting, price, grant, '
				'carbon, image, prep, check and reservation.';
	elsif p_action not in ('create', 'change', 'show', 'delete', 'drain', 'resume', 'dead', 'enroll', 'revoke')
		or (p_action in ('drain', 'resume', 'dead', 'enroll', 'revoke') and p_object <> 'node') then
		raise exception 'a % has no action "%"', p_object, p_action using errcode = 'RT422',
			hint = 'Actions are create, change, show and delete, for nodes drain, resume, dead, enroll and revoke too.';
	elsif p_name is null and (p_action <> 'show' or p_object = 'node') then
		raise exception 'name the %', p_object using errcode = 'RT422';
	elsif p_role <> 'admin' and not (p_role = 'operator' and (p_action in ('show', 'drain', 'resume', 'dead')
			or (p_object = 'node' and p_action = 'change'
				and coalesce(p_values, '{}') - array['failing', 'failing_at'] = '{}'))) then
		raise exception 'you may not do this to the cluster' using errcode = 'RT403',
			hint = 'Only admins change the cluster; operators drain and resume nodes, mark them as failing and '
				'declare them dead.';
	end if;
end $$;
comment on function internal.admin_need(text, text, text, text, jsonb) is
	'Refuse with RT422 an unknown object or action, and with RT403 a role that may not do the action with these values.';

create function internal.admin_names(p_object text, p_name text) returns text[]
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_names text[] := case p_object when 'node' then array(select internal.hosts_expand(p_name)) else array[p_name] end;
begin
	if p_name is null then
		execute (select format('select array(select %s from rota.%I order by 1)', t.name_is, t.relation)
			from internal.admin_table(p_object) t) into v_names;
	end if;
	return v_names;
end $$;
comment on function internal.admin_names(text, text) is
	'The names of the objects that a request names: a host list of nodes, else one object. p_name null: all of the kind.';

create function api.admin_change(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_object text := coalesce(internal.request_text(p_request, 'object'), '');
	v_action text := coalesce(internal.request_text(p_request, 'action'), '');
	v_name text := internal.request_text(p_request, 'name');
	v_changed boolean := false;
	v_done boolean;
	v_names text[];
	v_rows jsonb[];
	v_one text;
begin
	perform internal.admin_need(internal.caller_role(p_uid, p_user), v_object, v_action, v_name, p_request -> 'values');
	v_names := internal.admin_names(v_object, v_name);
	if v_action = 'show' then
		perform internal.object_need(v_object, v_names);
		v_rows := array(select jsonb_strip_nulls(internal.admin_row(v_object, x.name))
			from unnest(v_names) with ordinality x (name, n) order by x.n);
		return jsonb_build_object('object', v_object, 'name', v_name, 'action', v_action, 'changed', false, 'rows',
			v_rows)
			|| case cardinality(v_rows) when 1 then jsonb_build_object('row', v_rows[1]) else '{}' end;
	end if;
	-- Apply the changes one by one, so that each is recorded with the values that it found; nodes are locked in the same
	-- order as everywhere.
	perform pg_advisory_xact_lock(hashtext('rota admin_change'));
	if v_action = 'dead' then
		perform internal.job_lock(array(select a.job_id from unnest(v_names) x join node n on n.name = x
			join allocation a on a.node_id = n.node_id and a.ended_at is null));
	end if;
	if v_object = 'node' then
		perform internal.node_lock(array(select n.node_id from unnest(v_names) x join node n on n.name = x));
	end if;
	if v_action in ('enroll', 'revoke') then
		return jsonb_build_object('object', v_object, 'name', v_name, 'action', v_action, 'changed', true, 'logins',
			internal.node_login_change(p_user, v_action, v_names, p_request -> 'values'));
	end if;
	foreach v_one in array v_names loop
		-- Not in one expression: PostgreSQL may leave out a call whose result does not matter.
		v_done := internal.admin_one(p_user, v_object, v_action, v_one, p_request -> 'values');
		v_changed := v_changed or v_done;
	end loop;
	notify rota_schedule;
	notify rota_event;
	return jsonb_build_object('object', v_object, 'name', v_name, 'action', v_action, 'changed', v_changed);
end $$;
comment on function api.admin_change(int, text, jsonb) is
	'Create, change or delete a partition, node, account, user, association, qos, license, setting, price, grant, carbon, '
	'image, prep, check or reservation; drain or resume nodes, declare them dead, or open and close their logins '
	'(internal.node_login_change). Request {object, action, name, values}. Answer {object, name, action, changed, row, rows, '
	'logins}. Action show returns the object''s row too, or the rows of several nodes; without a name, those of all objects, but '
	'not of all nodes.';
