-- Tests of credentials: on request of the owner, rota-credd tests whether a credential can be used. No answer has the secret.
--
-- Called by: users (api.credential, action test; api.credential_wait), rota-credd.
-- Invariants:
-- - A test that a rota-credd has taken is given to no other before p_hold_s seconds are over,
--   by which time the first has given up or died.
-- - A credential has at most one open test. Requests that come meanwhile wait for the same test.

create function internal.credential_test(p_credential rota.credential) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_id bigint;
begin
	perform from credential c where c.credential_id = p_credential.credential_id for update;
	select t.test_id into v_id from credential_test t
	where t.done_at is null and t.credential_id = p_credential.credential_id and t.version = p_credential.version;
	if not found then
		insert into credential_test (credential_id, version) values (p_credential.credential_id, p_credential.version)
		returning test_id into v_id;
		notify rota_credential;
	end if;
	return jsonb_build_object('name', p_credential.name, 'test', v_id);
end $$;
comment on function internal.credential_test(rota.credential) is
	'Have a credential tested. Answer {name, test}; api.credential_wait returns the result.';

create function api.credential_test_take(p_most int, p_hold_s int)
returns table (test_id bigint, credential_id bigint, uid int, user_name text, name text, kind text, version int, key_version int,
	nonce bytea, sealed bytea, origin text, refresh_url text, command text, now_s bigint)
language plpgsql security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	-- Skip a credential that was removed or replaced meanwhile.
	update credential_test t
	set done_at = now(), failure = 'it was removed or replaced meanwhile'
	from credential c
	where t.done_at is null and c.credential_id = t.credential_id and (c.removed_at is not null or c.version <> t.version);
	if found then
		notify rota_event;
	end if;
	delete from credential_test t where t.done_at < now() - interval '1 hour';
	return query
	with due as (
		select t.test_id
		from credential_test t
		join credential c on c.credential_id = t.credential_id
		where t.done_at is null and coalesce(t.taken_until <= now(), true)
			and not exists (select from credential_test o
				join credential x on x.credential_id = o.credential_id and x.uid = c.uid
				where o.done_at is null and o.test_id <> t.test_id and (o.taken_until > now() or o.test_id < t.test_id))
		order by t.test_id
		limit p_most
		for update of t skip locked
	), taken as (
		update credential_test t set taken_until = now() + make_interval(secs => p_hold_s)
		from due d
		where t.test_id = d.test_id
		returning t.test_id, t.credential_id
	)
	select t.test_id, c.credential_id, c.uid, c.user_name, c.name, c.kind, c.version, c.key_version, c.nonce, c.sealed, c.origin,
		c.facts ->> 'refresh_url', c.facts ->> 'command', extract(epoch from clock_timestamp())::bigint
	from taken t
	join credential c on c.credential_id = t.credential_id;
end $$;
comment on function api.credential_test_take(int, int) is
	'Take tests to be made, p_most at most, the oldest of each user. They are not returned again for p_hold_s seconds. '
	'now_s: the time in epoch seconds.';

create function api.credential_tested(p_test bigint, p_facts jsonb, p_failure text) returns void
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	update credential_test t set done_at = now(), facts = p_facts, failure = left(p_failure, 500)
	where t.test_id = p_test and t.done_at is null;
	notify rota_event;
end $$;
comment on function api.credential_tested(bigint, jsonb, text) is
	'Store the end of a test: facts of the credential, or p_failure. A repeated report changes nothing.';

create function internal.credential_test_wait(p_uid int, p_user text, p_test bigint) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_test credential_test;
	v_row credential;
begin
	select * into v_test from credential_test t where t.test_id = p_test;
	select * into v_row from credential c
	where c.credential_id = v_test.credential_id and (c.uid = p_uid or internal.caller_role(p_uid, p_user) <> 'user');
	if not found then
		raise exception 'you have no test %', coalesce(p_test::text, '""') using errcode = 'RT404';
	elsif v_test.done_at is null then
		return jsonb_build_object('done', false);
	elsif v_test.failure is not null then
		raise exception 'credential "%": %', v_row.name, v_test.failure using errcode = 'RT422';
	end if;
	return jsonb_build_object('done', true, 'name', v_row.name, 'kind', v_row.kind, 'version', v_test.version,
		'subject', v_test.facts ->> 'subject',
		-- A secret that says how long it lives, or nothing, does not say when it ends; its upload or renewal does.
		'expires_at', least(to_timestamp((v_test.facts ->> 'expires')::double precision),
			case when v_row.version = v_test.version then v_row.expires_at end),
		'asked', v_test.facts ->> 'asked');
end $$;
comment on function internal.credential_test_wait(int, text, bigint) is
	'The result of a test: {done}, and when it is done {name, kind, version, subject, expires_at, asked}. RT422: why the '
	'credential cannot be used.';
