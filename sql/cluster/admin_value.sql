-- The objects that administrators change, their keys and the type of each value, with the range of a number or the list of
-- allowed values.
create function internal.admin_keys_of_nodes() returns table (object text, key text, member text, kind text)
language sql immutable set search_path = pg_catalog, pg_temp as $$
	values
		('partition', 'state', 'state', 'up|down|drain|inactive'), ('partition', 'default', 'is_default', 'bool'),
			('partition', 'is_default', 'is_default', 'bool'), ('partition', 'priority', 'priority', 'int'),
			('partition', 'max_time', 'max_time_s', 'time'), ('partition', 'max_time_s', 'max_time_s', 'int [1,)'),
			('partition', 'default_time', 'default_time_s', 'time'),
			('partition', 'default_time_s', 'default_time_s', 'int [1,)'),
			('partition', 'keep_idle', 'keep_idle', 'int [0,2147483647]'),
			('partition', 'max_nodes', 'max_nodes', 'int [1,2147483647]'),
			('partition', 'default_mem_per_cpu', 'default_mem_per_cpu_mb', 'size [1,)'),
			('partition', 'default_mem_per_cpu_mb', 'default_mem_per_cpu_mb', 'int [1,)'),
			('partition', 'allow_users', 'allow_users', 'list'), ('partition', 'allow_groups', 'allow_groups', 'list'),
			('partition', 'allow_accounts', 'allow_accounts', 'list'), ('partition', 'sample', 'sample_s', 'int [0,86400]'),
			('partition', 'nodes', '+nodes', 'text'), ('partition', 'cred', 'credentials', 'word'),
			('partition', 'idle_timeout', 'idle_timeout_s', 'time [0,2147483647]'),
			('partition', 'idle_timeout_s', 'idle_timeout_s', 'int [1,2147483647]'),
			('partition', 'tier', 'tier', 'int [-20,20]'),
			('partition', 'preempt', 'preempt', 'off|requeue|checkpoint|suspend|cancel'),
			('partition', 'preempt_otherwise', 'preempt_otherwise', 'spare|requeue|cancel'),
			('partition', 'preempt_after', 'preempt_after_s', 'time [0,2147483647]'),
			('partition', 'preempt_after_s', 'preempt_after_s', 'int [1,2147483647]'),
			('partition', 'preempt_grace', 'preempt_grace_s', 'time [1,86400]'),
			('partition', 'preempt_grace_s', 'preempt_grace_s', 'int [1,86400]'),
			('partition', 'billing', '+billing', 'weights'), ('partition', 'billing_from', '+billing_from', 'month'),
		('node', 'cpus', 'cpus', 'int [1,65536]'), ('node', 'mem', 'mem_mb', 'size'),
			('node', 'mem_mb', 'mem_mb', 'int [0,)'), ('node', 'features', 'features', 'list'),
			('node', 'weight', 'weight', 'int'), ('node', 'hardware_check', 'hardware_check', 'bool'),
			('node', 'gres', '+gres', 'text'), ('node', 'power_saving', 'power_saving', 'bool'),
			('node', 'idle_watts', 'idle_watts', 'int [1,1000000]'), ('node', 'default_image', 'default_image', 'word'),
			('node', 'partitions', '+partitions', 'list'), ('node', 'login', '+login', 'text'),
			('node', 'reason', '+reason', 'text'), ('node', 'deadline', '+deadline', 'moment'),
			('node', 'end_steps', '+end_steps', 'bool'), ('node', 'failing', '+failing', 'word'),
			('node', 'failing_at', '+failing_at', 'moment'),
		('image', 'users', 'users', 'list'), ('image', 'accounts', 'accounts', 'list'),
			('image', 'expected', 'expected_s', 'time [1,2147483647]'), ('image', 'failures', 'failures', 'int [0,0]'),
			('image', 'program', 'program', 'file'),
		('prep', 'users', 'users', 'list'), ('prep', 'accounts', 'accounts', 'list'),
			('prep', 'program', 'program', 'file'), ('prep', 'verify', 'verify', 'file'),
			('prep', 'feature', 'feature', 'file'), ('prep', 'expected', 'expected_s', 'time [1,2147483647]'),
			('prep', 'timeout', 'timeout_s', 'time [1,86400]'), ('prep', 'failures', 'failures', 'int [0,0]'),
		('check', 'program', 'program', 'file'), ('check', 'period', 'period_s', 'time [1,86400]'),
			('check', 'timeout', 'timeout_s', 'time [1,86400]'), ('check', 'action', 'action', 'report|drain|resume'),
			('check', 'feature', 'feature', 'file'),
		('reservation', 'start', 'starts_at', 'moment'), ('reservation', 'end', 'ends_at', 'moment'),
			('reservation', 'duration', '+duration', 'time [1,)'), ('reservation', 'nodes', '+nodes', 'text'),
			('reservation', 'recurs', 'recurs', 'period'), ('reservation', 'time_zone', 'time_zone', 'text'),
			('reservation', 'users', 'users', 'list'), ('reservation', 'accounts', 'accounts', 'list'),
			('reservation', 'end_steps', 'end_steps', 'bool'), ('reservation', 'reason', 'reason', 'word');
$$;
comment on function internal.admin_keys_of_nodes() is
	'The rows of internal.admin_key_list for partitions, nodes, images, preps, checks and reservations.';

create function internal.admin_keys_of_accounts() returns table (object text, key text, member text, kind text)
language sql immutable set search_path = pg_catalog, pg_temp as $$
	values
		('account', 'parent', 'parent', 'text'), ('account', 'description', 'description', 'text'),
			('account', 'users', '+users', 'list'), ('account', 'coordinators', '+coordinators', 'list'),
			('account', 'shares', 'shares', 'int [0,2147483647]'),
		('user', 'role', 'role', 'user|operator|admin'), ('user', 'default_account', 'default_account', 'text'),
			('user', 'analyst', 'analyst', 'bool'), ('user', 'reader', 'reader', 'bool'),
			('user', 'accounts', '+accounts', 'list'),
		('qos', 'priority', 'priority', 'int'), ('qos', 'idle_timeout', 'idle_timeout_s', 'time [0,2147483647]'),
			('qos', 'idle_timeout_s', 'idle_timeout_s', 'int [1,2147483647]'), ('qos', 'tier', 'tier', 'int [-20,20]'),
			('qos', 'preempt', 'preempt', 'off|requeue|checkpoint|suspend|cancel'),
			('qos', 'preempt_after', 'preempt_after_s', 'time [0,2147483647]'),
			('qos', 'preempt_after_s', 'preempt_after_s', 'int [1,2147483647]'),
			('qos', 'allow_users', 'allow_users', 'list'), ('qos', 'allow_accounts', 'allow_accounts', 'list'),
		('association', 'shares', 'shares', 'int [0,2147483647]'),
		('license', 'total', 'total', 'int [0,2147483647]'),
		('setting', 'value', 'value', 'text'),
		('price', 'account', 'account', 'text'), ('price', 'from', 'from_month', 'month'),
			('price', 'per_unit', 'per_unit', 'rate'), ('price', 'currency', 'currency', 'currency'),
		('carbon', 'from', 'from_month', 'month'), ('carbon', 'g_per_kwh', 'g_per_kwh', 'hours'),
		('grant', 'account', 'account', 'text'), ('grant', 'units', 'units', 'int [0,)'),
			('grant', 'first_day', 'first_day', 'day'), ('grant', 'last_day', 'last_day', 'day'),
			('grant', 'carry_over', 'carry_over', 'int [0,)'), ('grant', 'at_end', 'at_end', 'refuse|low_priority');
$$;
comment on function internal.admin_keys_of_accounts() is
	'The rows of internal.admin_key_list for accounts, users, QOS, associations, licences, settings, prices, carbon and '
	'grants.';

create function internal.admin_keys_of_limits() returns table (object text, key text, member text, kind text)
language sql immutable set search_path = pg_catalog, pg_temp as $$
	-- Column member names the measure that rota.usage_limit limits.
	select o.object, m.key || e.suffix, '+limit ' || m.measure || e.suffix, m.kind
	from unnest(array['account', 'user', 'association', 'qos', 'partition']) o (object)
	cross join (values ('max_running', 'running', 'int [0,)'), ('max_submitted', 'submitted', 'int [0,)'),
		('max_cpus', 'cpus', 'int [0,)'),
		('max_gres', 'gres', 'amounts'), ('max_cpu_minutes', 'cpu_minutes', 'budgets'),
		('max_gres_minutes', 'gres_minutes', 'gres_budgets'), ('max_billing', 'billing', 'budgets'),
		('max_time', 'time', 'time'),
		('max_time_s', 'time', 'int [0,)'),
		('max_nodes', 'nodes', 'int [0,)')) m (key, measure, kind)
	cross join unnest(array['', '_per_user']) e (suffix)
	where (e.suffix = '' or (o.object not in ('user', 'association') and m.measure <> 'time'))
		-- Of a partition, these two keys limit each step by itself.
		and not (o.object = 'partition' and e.suffix = '' and m.measure in ('time', 'nodes'));
$$;
comment on function internal.admin_keys_of_limits() is
	'The rows of internal.admin_key_list for the limits of accounts, users, associations, QOS and partitions.';

create function internal.admin_key_list() returns table (object text, key text, member text, kind text)
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select * from internal.admin_keys_of_nodes()
	union all
	select * from internal.admin_keys_of_accounts()
	union all
	select * from internal.admin_keys_of_limits();
$$;
comment on function internal.admin_key_list() is
	'Keys that administrators may give for each object, one row each: the object, the key, the column that the key sets (+: '
	'rows of other tables), and the kind of its value.';

create function internal.admin_value_read(p_key text, p_kind text, p_text text) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
	return case split_part(p_kind, ' ', 1)
		when 'int' then case when p_text ~ '^-?[0-9]{1,18}$' then to_jsonb(p_text::bigint) end
		when 'bool' then case when lower(p_text) in ('true', 'yes', 'on', '1') then 'true'::jsonb
			when lower(p_text) in ('false', 'no', 'off', '0') then 'false' end
		when 'time' then to_jsonb(internal.text_seconds(p_text))
		when 'size' then to_jsonb(internal.text_mebibytes(p_text))
		when 'list' then to_jsonb(array(select btrim(x) from unnest(string_to_array(p_text, ',')) x where btrim(x) <> ''))
		when 'text' then to_jsonb(p_text)
		when 'word' then case when internal.is_line(p_text) then to_jsonb(p_text) end
		when 'file' then case when p_text ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$' then to_jsonb(p_text) end
		when 'moment' then (select to_jsonb(x) from internal.request_time(jsonb_build_object(p_key, p_text), p_key) x
			where isfinite(x))
		when 'amounts' then case
			when p_text ~ '^[A-Za-z][A-Za-z0-9_.-]*[:=][0-9]{1,9}(,[A-Za-z][A-Za-z0-9_.-]*[:=][0-9]{1,9})*$' then (
			select jsonb_object_agg('gres/' || split_part(translate(x, '=', ':'), ':', 1),
				split_part(translate(x, '=', ':'), ':', 2)::bigint)
				from unnest(string_to_array(p_text, ',')) x) end
		when 'budgets' then case
			when lower(p_text) ~ '^[0-9]{1,15}(/(day|week|month|year|[1-9][0-9]{0,2}days))?'
				'(,[0-9]{1,15}/(day|week|month|year|[1-9][0-9]{0,2}days))*$' then (
			select jsonb_object_agg(coalesce(nullif(split_part(lower(x), '/', 2), ''), 'month'),
				split_part(x, '/', 1)::bigint) from unnest(string_to_array(p_text, ',')) x) end
		when 'gres_budgets' then case
			when p_text ~ '^[A-Za-z][A-Za-z0-9_.-]*[:=][0-9]{1,15}(/(day|week|month|year|[1-9][0-9]{0,2}days))?'
				'(,[A-Za-z][A-Za-z0-9_.-]*[:=][0-9]{1,15}(/(day|week|month|year|[1-9][0-9]{0,2}days))?)*$' then (
			select jsonb_object_agg(m[1] || '/' || coalesce(m[3], 'month'), m[2]::bigint)
				from unnest(string_to_array(p_text, ',')) x
				cross join lateral regexp_match(x, '^([^:=]*)[:=]([0-9]+)(?:/(.*))?$') m) end
		when 'weights' then case
			when p_text ~ '^[A-Za-z][A-Za-z0-9_.-]*[:=][0-9]{1,9}(\.[0-9]{1,9})?'
				'(,[A-Za-z][A-Za-z0-9_.-]*[:=][0-9]{1,9}(\.[0-9]{1,9})?)*$' then (
			select jsonb_object_agg(split_part(translate(x, '=', ':'), ':', 1),
				split_part(translate(x, '=', ':'), ':', 2)::numeric)
				from unnest(string_to_array(p_text, ',')) x) end
		when 'hours' then internal.text_hours(p_text)
		when 'rate' then case when p_text ~ '^[0-9]{1,9}(\.[0-9]{1,9})?$' then to_jsonb(p_text::numeric) end
		when 'currency' then case when p_text ~ '^[A-Za-z]{3}$' then to_jsonb(upper(p_text)) end
		when 'month' then case
			when p_text ~ '^[1-9][0-9]{3}-(0[1-9]|1[0-2])$' then to_jsonb((p_text || '-01')::date) end
		when 'day' then case
			when p_text ~ '^[1-9][0-9]{3}-(0[1-9]|1[0-2])-[0-9]{2}$'
				and to_char((left(p_text, 7) || '-01')::date + right(p_text, 2)::int - 1, 'YYYY-MM-DD') = p_text
			then to_jsonb(p_text::date) end
		when 'period' then to_jsonb(internal.text_period(lower(p_text))::text)
		else case when p_text = any (string_to_array(p_kind, '|')) then to_jsonb(p_text) end
	end;
end $$;
comment on function internal.admin_value_read(text, text, text) is
	'Convert a value from text to the JSON type of its kind, whatever the range; null: the text is no value of the kind.';

create function internal.admin_value_hint(p_kind text, p_range int8range) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return case split_part(p_kind, ' ', 1)
		when 'int' then 'Give a whole number' || coalesce(' from ' || lower(p_range), '')
			|| coalesce(' to ' || upper(p_range) - 1, ' up') || '.'
		when 'bool' then 'Give true or false.'
		when 'time' then 'Give a time like 30 (minutes), 1:30:00 or 2-12 (days-hours)' || case
			when lower(p_range) > 0 then '.' else ', or none.' end
		when 'moment' then 'Give a time like 2030-01-31T08:00, "tomorrow 08:00" or now+2hours.'
		when 'word' then 'Give a line of 1000 characters at most.'
		when 'file' then 'Give a name of letters, digits, "_", "." and "-", without a folder.'
		when 'period' then 'Give daily, weekly, monthly, or a number of days, weeks or months, like 14days.'
		when 'amounts' then 'Write it like gpu:4,fpga:1.'
		when 'budgets' then 'Give a number in a period, like 60000/month (or day, week, year, 30days), '
			'several with commas.'
		when 'gres_budgets' then 'Give device-minutes in a period, like gpu:6000/month (or day, week, year, '
			'30days), several with commas.'
		when 'weights' then 'Give units an hour, like cpu:1,mem:0.25,node:0,gpu:20 (mem: of a GiB).'
		when 'hours' then 'Give a number like 380, or numbers for all hours of the day, like '
			'0-6:210,7-18:340,19-23:280.'
		when 'rate' then 'Give a number like 0.035.'
		when 'currency' then 'Give a code of three letters, like EUR.'
		when 'month' then 'Give a month like 2030-01.'
		when 'day' then 'Give a day like 2030-01-31.'
		when 'size' then 'Give a size like 512M or 4G.'
		else 'Give one of: ' || replace(p_kind, '|', ', ') || '.' end;
end $$;
comment on function internal.admin_value_hint(text, int8range) is
	'Returns a hint how a value of a kind, with its range, is written.';

create function internal.admin_value(p_key text, p_kind text, p_value jsonb) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
	v_kind constant text := split_part(p_kind, ' ', 1);
	v_range constant int8range := coalesce(nullif(split_part(p_kind, ' ', 2), ''),
		case v_kind when 'int' then '[-2147483648,2147483647]' else '(,)' end);
	v_text text := btrim(p_value #>> '{}');
	v_answer jsonb;
begin
	if jsonb_typeof(p_value) = 'array' and v_kind in ('list', 'text') then
		return case v_kind when 'list' then p_value
			else to_jsonb((select string_agg(x, ',') from jsonb_array_elements_text(p_value) x)) end;
	elsif jsonb_typeof(p_value) = 'array' and v_kind in ('amounts', 'budgets', 'gres_budgets', 'weights') then
		return internal.admin_value(p_key, p_kind,
			to_jsonb((select string_agg(x, ',') from jsonb_array_elements_text(p_value) x)));
	elsif v_text is null or v_text = '' or (lower(v_text) in ('none', 'unlimited', 'infinite') and v_kind <> 'text') then
		return 'null'::jsonb;
	end if;
	v_answer := internal.admin_value_read(p_key, p_kind, v_text);
	if v_answer is null or (v_kind <> 'rate' and jsonb_typeof(v_answer) = 'number' and not v_answer::bigint <@ v_range) then
		raise exception '"%" is no value for "%"', v_text, p_key using errcode = 'RT422',
			hint = internal.admin_value_hint(p_kind, v_range);
	end if;
	-- The time "none" means no time limit.
	return case when v_kind = 'time' and v_answer = '0' then 'null' else v_answer end;
end $$;
comment on function internal.admin_value(text, text, jsonb) is
	'Convert a value to the JSON type of its kind, and check the range of the kind. RT422: the value is not of this kind. '
	'Empty and "none" become null.';

create function internal.admin_values(p_object text, p_values jsonb) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
	v_keys text[] := array(select k.key from internal.admin_key_list() k where k.object = p_object);
	v_bad text;
begin
	if jsonb_typeof(coalesce(p_values, '{}')) <> 'object' then
		raise exception '"values" must be an object' using errcode = 'RT422';
	end if;
	select v into v_bad from jsonb_object_keys(p_values) v where v <> all (v_keys) limit 1;
	if found then
		raise exception 'a % has no "%"', p_object, v_bad using errcode = 'RT422',
			hint = coalesce('Did you mean "' || internal.text_nearest(v_bad, v_keys) || '"? ', '') || 'It has: '
				|| array_to_string(v_keys, ', ') || '.';
	end if;
	return (
		select coalesce(jsonb_object_agg(k.member, internal.admin_value(k.key, k.kind, v.value)), '{}')
		from jsonb_each(p_values) v
		join internal.admin_key_list() k on k.object = p_object and k.key = v.key);
end $$;
comment on function internal.admin_values(text, jsonb) is
	'The values given for an object, by the columns that they set; RT422: the object has no such key.';

-- The answer is never empty, so that a member of an account without any limit is shown as well.
create function internal.admin_member(p_one rota.association) returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	select jsonb_build_object('shares', p_one.shares)
		|| internal.admin_limits('association', p_one.account || '/' || p_one.user_name);
$$;
comment on function internal.admin_member(rota.association) is 'Shares and limits that a user has in an account, as JSON.';

create function internal.admin_node(p_node rota.node) returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	select jsonb_build_object('name', p_node.name, 'cpus', p_node.cpus, 'mem_mb', p_node.mem_mb, 'features', p_node.features,
		'weight', p_node.weight, 'hardware_check', p_node.hardware_check, 'power', p_node.power,
		'power_saving', p_node.power_saving, 'idle_watts', p_node.idle_watts, 'image', p_node.image,
		'default_image', p_node.default_image, 'prep', p_node.prep,
		'prep_verified', case when p_node.prep is not null then p_node.prep_verified end,
		'state', p_node.state, 'reason', p_node.reason, 'login', p_node.login, 'login_next', p_node.login_next,
		'notices',
		(select jsonb_object_agg(x.kind, jsonb_build_object('at', x.at, 'reason', x.reason, 'end_steps', x.end_steps))
		from node_notice x where x.node_id = p_node.node_id),
		'gres',
		(select jsonb_object_agg(g.gres, g.n)
		from (select x.gres, count(*) as n from node_gres x where x.node_id = p_node.node_id group by x.gres) g),
		'partitions',
		array(select pn.partition from partition_node pn where pn.node_id = p_node.node_id order by pn.partition),
		'reservations',
		array(select r.name from reservation_node rn join reservation r using (reservation_id)
		where rn.node_id = p_node.node_id order by r.name));
$$;
comment on function internal.admin_node(rota.node) is 'The row of internal.admin_row for a node.';

create function internal.admin_row(p_object text, p_name text) returns jsonb
language sql stable set search_path = rota, pg_temp as $$
	select to_jsonb(p) || internal.admin_limits('partition', p.partition)
		|| jsonb_build_object('nodes', array(select n.name from partition_node pn join node n on n.node_id = pn.node_id
		where pn.partition = p.partition order by n.name), 'billing',
		(select jsonb_object_agg(to_char(w.from_month, 'YYYY-MM'), jsonb_build_object('cpu', w.cpu, 'mem', w.mem_gib,
			'node', w.node) || w.gres) from billing_weight w where w.partition = p.partition))
	from partition p where p_object = 'partition' and p.partition = p_name
	union all
	select internal.admin_node(n) from node n where p_object = 'node' and n.name = p_name
	union all
	select to_jsonb(a) || internal.admin_limits('account', a.account) || jsonb_build_object(
		'users',
			(select jsonb_object_agg(s.user_name, internal.admin_member(s)) from association s
			where s.account = a.account),
		'coordinators', array(select c.user_name from coordinator c where c.account = a.account order by c.user_name))
	from account a where p_object = 'account' and a.account = p_name
	union all
	select to_jsonb(u) || internal.admin_limits('user', u.user_name) || jsonb_build_object(
		'accounts',
			(select jsonb_object_agg(s.account, internal.admin_member(s)) from association s
			where s.user_name = u.user_name),
		'coordinates', array(select c.account from coordinator c where c.user_name = u.user_name order by c.account))
	from person u where p_object = 'user' and u.user_name = p_name
	union all
	select to_jsonb(s) || internal.admin_limits('association', s.account || '/' || s.user_name) from association s
		where p_object = 'association' and s.account || '/' || s.user_name = p_name
	union all
	select to_jsonb(q) || internal.admin_limits('qos', q.qos) from qos q where p_object = 'qos' and q.qos = p_name
	union all
	select to_jsonb(l) - 'used' from license l where p_object = 'license' and l.license = p_name
	union all
	select to_jsonb(i) from node_image i where p_object = 'image' and i.image = p_name
	union all
	select to_jsonb(p) from node_prep p where p_object = 'prep' and p.prep = p_name
	union all
	select to_jsonb(c) from node_check c where p_object = 'check' and c.name = p_name
	union all
	select to_jsonb(s) from setting s where p_object = 'setting' and s.name = p_name
	union all
	select to_jsonb(c) from price c where p_object = 'price' and c.price = p_name
	union all
	select to_jsonb(c) from carbon_intensity c where p_object = 'carbon' and c.name = p_name
	union all
	select to_jsonb(g) - 'grant_id' from account_grant g where p_object = 'grant' and g.name = p_name
	union all
	select to_jsonb(r)
		|| jsonb_build_object('nodes', array(select n.name from reservation_node rn join node n on n.node_id = rn.node_id
		where rn.reservation_id = r.reservation_id order by n.name))
	from reservation r where p_object = 'reservation' and r.name = p_name;
$$;
comment on function internal.admin_row(text, text) is
	'An object as JSON, with its properties in other tables, for the log of changes; null: no such object.';
