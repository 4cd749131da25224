-- Grants: owners of credentials let other users use them.
--
-- Called by: jobmgrd, for users; submissions, starts and rota-credd's judgement.
-- Invariants:
-- - A grant is of one credential, not of a name: rota.credential.origin, which jobmgrd signs,
--   is drawn anew with each first upload.
-- - A user has one grant of a credential at most; a new grant replaces it.
-- - A transaction that changes grants of a credential locks the credential first.

create function internal.credential_label(p_need rota.step_credential) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select coalesce(p_need.owner || '/', '') || p_need.name;
$$;
comment on function internal.credential_label(rota.step_credential) is
	'A credential as the owner of the job names it: NAME or OWNER/NAME.';

create function internal.credential_delivered(p_need rota.step_credential) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select p_need.name || coalesce('@' || p_need.owner, '');
$$;
comment on function internal.credential_delivered(rota.step_credential) is
	'The name of a credential on the node: NAME or NAME@OWNER.';

create function internal.credential_granted(p_credential bigint, p_uid int) returns boolean
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return exists (select from credential_grant g
		where g.credential_id = p_credential and g.uid = p_uid and g.revoked_at is null and coalesce(g.until_at > now(), true));
end $$;
comment on function internal.credential_granted(bigint, int) is 'Whether a user may use a credential of another user.';

-- End grants, and have nodes destroy the credentials that running attempts have because of these grants.
create function internal.credential_grant_end(p_grants bigint[]) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_ended rota.credential_grant[];
begin
	perform from rota.credential c
	where c.credential_id in (select g.credential_id from rota.credential_grant g where g.grant_id = any (p_grants))
	order by c.credential_id
	for update;
	with ended as (
		update rota.credential_grant g set revoked_at = now()
		where g.grant_id = any (p_grants) and g.revoked_at is null
		returning g.*
	)
	select array_agg(e::rota.credential_grant) into v_ended from ended e;
	update rota.credential c set judged = null, changes = c.changes + 1
	where c.credential_id in (select (e).credential_id from unnest(v_ended) e) and c.removed_at is null;
	perform internal.credential_use_take_back(array(
		select (u.job_id, u.step_id, u.attempt, u.node_id, u.name)::internal.credential_use_key
		from unnest(v_ended) e
		join credential_use u on u.credential_id = e.credential_id and u.gone_at is null and u.removed_at is null
		join job j on j.job_id = u.job_id and j.uid = e.uid));
	notify rota_credential;
end $$;
comment on function internal.credential_grant_end(bigint[]) is
	'Revoke grants, and have nodes destroy the credentials that attempts have because of these grants.';

create function internal.credential_grants_over() returns boolean
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_over constant bigint[] := array(select g.grant_id from credential_grant g
		where g.revoked_at is null and g.until_at <= now() order by g.until_at limit 1000);
begin
	if v_over <> '{}' then
		perform internal.credential_grant_end(v_over);
	end if;
	return v_over <> '{}';
end $$;
comment on function internal.credential_grants_over() is 'Revoke the grants whose end has come. Returns whether there were any.';

create function internal.credential_grant_until(p_request jsonb) returns timestamptz
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select to_timestamp(nullif(internal.request_int(p_request, 'until_s', 253402300799), 0));
$$;
comment on function internal.credential_grant_until(jsonb) is
	'The end of a grant in a request, given in seconds since 1970; null: no end.';

create function internal.credential_grant_check(p_uid int, p_request jsonb, p_credential rota.credential) returns void
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_to constant text := coalesce(internal.request_text(p_request, 'to'), '');
	v_uid constant bigint := internal.request_int(p_request, 'to_uid', 4294967294);
	v_most constant int := internal.setting_int('credential_grants');
begin
	if v_to !~ '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$' or v_uid is null or v_uid > 2147483647 then
		raise exception '--to: "%" is no user', v_to using errcode = 'RT422', hint = 'Name one user.';
	elsif v_uid = p_uid then
		raise exception '--to: you may use your own credential "%" anyway', p_credential.name using errcode = 'RT422';
	elsif p_credential.origin is null then
		raise exception 'credential "%" was added before there were grants', p_credential.name using errcode = 'RT409',
			hint = format('Add it again, and grant it then: rota cred add %s', p_credential.name);
	elsif internal.credential_grant_until(p_request) <= now() then
		raise exception '--until: this time is over' using errcode = 'RT422';
	elsif (select count(*) from credential_grant g
		where g.credential_id = p_credential.credential_id and g.revoked_at is null and g.uid <> v_uid) >= v_most then
		raise exception 'credential "%" is granted to % users already', p_credential.name, v_most using errcode = 'RT409',
			hint = format('rota cred grant %s --to USER --revoke', p_credential.name);
	end if;
end $$;
comment on function internal.credential_grant_check(int, jsonb, rota.credential) is
	'Refuse a request for a grant that makes no sense, or that exceeds the number of grants of a credential.';

create function internal.credential_revoke(p_request jsonb, p_credential rota.credential) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_to constant text := internal.request_text(p_request, 'to');
	v_grants constant bigint[] := array(select g.grant_id from credential_grant g
		where g.credential_id = p_credential.credential_id and g.revoked_at is null and (v_to is null or g.user_name = v_to));
begin
	if v_grants = '{}' then
		raise exception 'credential "%" is not granted to %', p_credential.name, coalesce('"' || v_to || '"', 'anybody')
			using errcode = 'RT404', hint = format('rota cred show %s', p_credential.name);
	end if;
	perform internal.credential_grant_end(v_grants);
	return jsonb_build_object('name', p_credential.name, 'action', 'revoked', 'to', v_to);
end $$;
comment on function internal.credential_revoke(jsonb, rota.credential) is
	'Revoke the grants of a credential to one user, or to all. RT404: there is no such grant.';

create function api.credential_grant(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_row credential;
	v_until constant timestamptz := internal.credential_grant_until(p_request);
	v_signature constant text := internal.request_text(p_request, 'signature');
begin
	select * into v_row from credential c
	where c.uid = p_uid and c.name = internal.request_text(p_request, 'name') and c.removed_at is null
	for update;
	if not found then
		raise exception 'you have no credential "%"', coalesce(internal.request_text(p_request, 'name'), '')
			using errcode = 'RT404', hint = 'rota cred list';
	elsif internal.request_bool(p_request, 'revoke') then
		return internal.credential_revoke(p_request, v_row);
	end if;
	perform internal.credential_grant_check(p_uid, p_request, v_row);
	if v_signature is null then
		return jsonb_build_object('origin', v_row.origin);
	elsif v_signature !~ '^[0-9a-f]{128}$' or v_row.origin is distinct from internal.request_text(p_request, 'origin') then
		raise exception 'credential "%" was removed and added again meanwhile', v_row.name
			using errcode = '40001', hint = 'Try again.';
	end if;
	insert into credential_grant (credential_id, uid, user_name, until_at, signature)
	values (v_row.credential_id, (p_request ->> 'to_uid')::int, p_request ->> 'to',
		v_until, decode(v_signature, 'hex'))
	on conflict (credential_id, uid) where revoked_at is null do update
	set user_name = excluded.user_name, until_at = excluded.until_at, signature = excluded.signature, granted_at = now();
	update credential c set judged = null, changes = c.changes + 1 where c.credential_id = v_row.credential_id;
	notify rota_credential;
	return jsonb_build_object('name', v_row.name, 'action', 'granted', 'to', p_request ->> 'to', 'until', v_until);
end $$;
comment on function api.credential_grant(int, text, jsonb) is
	'Let another user use a credential of the caller: request {name, to, to_uid, until_s}. Without signature, the answer is '
	'the origin, which jobmgrd signs with the request; with {signature, origin}, the grant is stored, in place of an earlier '
	'one. {name, to, revoke}: revoke the grant to a user; without to: all grants. RT404: no such credential or grant. 40001: '
	'the credential has been replaced meanwhile.';

create function internal.credential_grants_json(p_credential bigint) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('to', g.user_name, 'granted_at', g.granted_at, 'until', g.until_at)
			order by g.user_name), '[]')
		from credential_grant g
		where g.credential_id = p_credential and g.revoked_at is null);
end $$;
comment on function internal.credential_grants_json(bigint) is 'Users to whom a credential is granted, as a JSON list.';

create function internal.credential_default_set(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_names constant text := internal.request_text(p_request, 'names');
	v_missing text;
begin
	if v_names = 'unset' then
		delete from credential_default d where d.uid = p_uid;
	elsif v_names is not null then
		if v_names <> 'none' and v_names !~ '^[a-z][a-z0-9_-]{0,30}(,[a-z][a-z0-9_-]{0,30}){0,15}$' then
			raise exception '"%" is no list of names of credentials', v_names using errcode = 'RT422',
				hint = 'Write it like krb5,archive.';
		end if;
		select x into v_missing from unnest(string_to_array(v_names, ',')) x
		where x <> 'none' and not exists (select from credential c where c.uid = p_uid and c.name = x and c.removed_at is null)
		limit 1;
		if v_missing is not null then
			raise exception 'you have no credential "%"', v_missing using errcode = 'RT404', hint = 'rota cred list';
		elsif (select count(*) <> count(distinct x) from unnest(string_to_array(v_names, ',')) x) then
			raise exception '"%" names a credential twice', v_names using errcode = 'RT422';
		end if;
		insert into credential_default (uid, user_name, names)
		values (p_uid, p_user, case when v_names <> 'none' then v_names else '' end)
		on conflict (uid) do update set user_name = excluded.user_name, names = excluded.names;
	end if;
	return jsonb_build_object('default', (
		select coalesce(nullif(d.names, ''), 'none') from credential_default d where d.uid = p_uid));
end $$;
comment on function internal.credential_default_set(int, text, jsonb) is
	'Set the credentials that the caller''s steps get without --cred: {names} with commas between, "none" (no credential), '
	'or "unset" (as the partition says). Without names nothing changes. Answer {default}, null: unset.';
