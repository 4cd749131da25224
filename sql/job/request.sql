-- Readers of the members of a request. Bodies of POST have JSON types; parameters of GET are strings, and lists are written with
-- commas.
create function internal.request_text(p_request jsonb, p_key text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return nullif(p_request ->> p_key, '');
end $$;
comment on function internal.request_text(jsonb, text) is
	'A member of a request as text; null: the member is absent, null or empty.';

create function internal.is_line(p_text text) returns boolean
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
	-- The same control characters as text_control_size in lib/text.h.
	return length(p_text) <= 1000 and p_text !~ '[\u0001-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]';
end $$;
comment on function internal.is_line(text) is
	'Whether a text is a line of 1000 characters at most. Characters that change the direction of text are not allowed, '
	'because by them a text can look like another one.';

create function internal.request_list(p_request jsonb, p_key text) returns text[]
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return nullif(case jsonb_typeof(p_request -> p_key)
		when 'array' then array(select x from jsonb_array_elements_text(p_request -> p_key) x)
		when 'null' then null
		else string_to_array(p_request ->> p_key, ',') end, '{}');
end $$;
comment on function internal.request_list(jsonb, text) is
	'A member of a request that is a list, or a string with commas, as an array; null: the member is absent or empty.';

create function internal.request_nodes(p_request jsonb, p_key text) returns text[]
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_names constant text[] := array(select internal.hosts_expand(internal.request_text(p_request, p_key)));
begin
	perform internal.object_need('node', v_names) where v_names <> '{}';
	return v_names;
end $$;
comment on function internal.request_nodes(jsonb, text) is
	'The nodes in a member of a request, a host list such as "n[1-4],n7"; {}: the member is absent, null or empty. RT404: a '
	'node does not exist.';

create function internal.request_accounts(p_request jsonb) returns text[]
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_named constant text[] := internal.request_list(p_request, 'account');
begin
	if v_named is null or internal.request_bool(p_request, 'only') then
		return v_named;
	end if;
	return array(
		with recursive tree as (
			select n as account from unnest(v_named) n
			union
			select a.account from account a join tree t on a.parent = t.account
		)
		select t.account from tree t);
end $$;
comment on function internal.request_accounts(jsonb) is
	'The accounts in the member account of a request, with all accounts below them; if the member only is true, without '
	'these. Null: the member account is absent.';

create function internal.request_bool(p_request jsonb, p_key text) returns boolean
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	return coalesce(nullif(p_request ->> p_key, '')::boolean, false);
exception when invalid_text_representation then
	raise exception '"%" must be true or false, not "%"', p_key, p_request ->> p_key using errcode = 'RT422';
end $$;
comment on function internal.request_bool(jsonb, text) is 'A member of a request that is true or false; false if it is absent.';

create function internal.request_int(p_request jsonb, p_key text, p_most bigint default 2147483647) returns bigint
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
	v_value bigint;
begin
	v_value := nullif(p_request ->> p_key, '')::bigint;
	if v_value not between 0 and p_most then
		raise numeric_value_out_of_range;
	end if;
	return v_value;
exception when invalid_text_representation then
	raise exception '"%" must be a number, not "%"', p_key, p_request ->> p_key using errcode = 'RT422';
when numeric_value_out_of_range then
	raise exception '"%" must be a number from 0 to %, not "%"', p_key, p_most, p_request ->> p_key using errcode = 'RT422';
end $$;
comment on function internal.request_int(jsonb, text, bigint) is
	'A member of a request that is a number from 0 to p_most; null if it is absent.';

create function internal.request_time(p_request jsonb, p_key text) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
	v_text text := nullif(p_request ->> p_key, '');
begin
	if v_text ~ '^[0-9]{9,12}(\.[0-9]+)?$' then
		return to_timestamp(v_text::double precision);
	end if;
	if v_text ~ '^now[+-][0-9]{1,9}(second|minute|hour|day|week)?s?$' then
		return now() + regexp_replace(v_text, '^now([+-][0-9]+)([a-z]*)$', '\1 \2')::interval;
	end if;
	return v_text::timestamptz;
exception when datetime_field_overflow or interval_field_overflow or invalid_datetime_format or invalid_parameter_value then
	raise exception '"%" must be a time, not "%"', p_key, v_text using errcode = 'RT422',
		hint = 'Write it like 2026-01-31T12:00:00+01:00, today, now-2hours, or as seconds since 1970.';
end $$;
comment on function internal.request_time(jsonb, text) is
	'A member of a request that is a time, as ISO 8601 or in seconds since 1970; null if it is absent.';

create function internal.request_states(p_request jsonb) returns text[]
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_states text[] := internal.request_list(p_request, 'states');
	v_bad text;
begin
	select x into v_bad from unnest(v_states) x where not exists (select from step_state s where s.state = x) limit 1;
	if found then
		raise exception 'there is no state "%"', v_bad using errcode = 'RT422',
			hint = (select 'States: ' || string_agg(s.state, ', ' order by s.severity desc) || '.' from step_state s);
	end if;
	return v_states;
end $$;
comment on function internal.request_states(jsonb) is
	'The member "states" of a request, after checking that each state exists; null: any state.';

create function internal.spec_fields(p_spec text) returns jsonb
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
	v_rest bytea := convert_to(p_spec, 'UTF8');
	v_answer jsonb := jsonb_build_object();
	v_name int;
	v_length int;
	v_size int;
begin
	-- name=length:value\n, lengths in bytes; see docs/formats.md.
	while length(v_rest) > 0 loop
		v_name := position('='::bytea in v_rest);
		v_length := position(':'::bytea in v_rest);
		v_size := convert_from(substring(v_rest from v_name + 1 for v_length - v_name - 1), 'UTF8')::int;
		v_answer := v_answer || jsonb_build_object(convert_from(substring(v_rest for v_name - 1), 'UTF8'),
			convert_from(substring(v_rest from v_length + 1 for v_size), 'UTF8'));
		v_rest := substring(v_rest from v_length + v_size + 2);
	end loop;
	return v_answer;
exception when data_exception then
	return v_answer;
end $$;
comment on function internal.spec_fields(text) is
	'The fields of a spec as a JSON object of strings, up to the first malformed field.';

create function internal.spec_field(p_spec text, p_name text) returns text
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
	select internal.spec_fields(p_spec) ->> p_name;
$$;
comment on function internal.spec_field(text, text) is
	'The value of one field of a spec; null: the spec does not have the field.';

create function internal.sees_all(p_uid int, p_user text) returns boolean
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return internal.setting_bool('queue_visible') or internal.caller_role(p_uid, p_user) <> 'user';
end $$;
comment on function internal.sees_all(int, text) is 'Whether the caller may see the jobs of others.';

create function internal.plan_for(p_rows int) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	-- Cached plans are made for a few rows. They are good for thousands of small requests a second, but quadratic for one
	-- request about thousands of rows; compared with the work of such a request, a new plan costs nothing.
	if p_rows > 100 then
		perform set_config('plan_cache_mode', 'force_custom_plan', true);
	end if;
end $$;
comment on function internal.plan_for(int) is
	'Set before execution how many rows a request is about: the rest of the transaction is planned for that number.';

create function internal.request_known(p_uid int, p_user text, p_request jsonb) returns void
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	perform internal.object_need('partition', internal.request_list(p_request, 'partition')),
		internal.object_need('qos', internal.request_list(p_request, 'qos')),
		internal.object_need('node', internal.request_list(p_request, 'nodes')),
		-- Every submitter learns that an account does not exist; the names of others are not shown.
		internal.object_need('account', internal.request_list(p_request, 'account'), internal.sees_all(p_uid, p_user));
end $$;
comment on function internal.request_known(int, text, jsonb) is
	'Fail with RT404 unless the partitions, accounts and so on that a request names exist. Only for requests that find '
	'nothing, since history may name deleted objects.';
