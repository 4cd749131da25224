-- Requests of users about credentials: add, list, show, refresh and remove them. No request returns a secret.

create function internal.credential_json(p_credential rota.credential, p_uses boolean) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return jsonb_build_object('name', p_credential.name, 'user', p_credential.user_name, 'kind', p_credential.kind, 'subject',
		p_credential.subject, 'version', p_credential.version, 'expires_at', p_credential.expires_at, 'renewable',
		p_credential.renewable, 'renew_until', p_credential.renew_until, 'made_at', p_credential.made_at, 'changed_at',
		p_credential.changed_at, 'renewed_at', p_credential.renewed_at, 'renewals', p_credential.renewals, 'failure',
		p_credential.failure, 'refresh_url', p_credential.facts ->> 'refresh_url', 'command', p_credential.facts ->> 'command',
		'objection', internal.credential_objection(p_credential))
		|| case when p_uses
			then jsonb_build_object('grants', internal.credential_grants_json(p_credential.credential_id), 'uses', (
			select coalesce(jsonb_agg(jsonb_build_object('job_id', u.job_id, 'step_id', u.step_id, 'attempt', u.attempt,
				'node', n.name, 'ordered_at', u.ordered_at, 'fetched_at', u.fetched_at, 'version', u.fetched,
				'removed_at', u.removed_at, 'gone_at', u.gone_at) order by u.ordered_at desc), '[]')
			from (select x.* from credential_use x where x.credential_id = p_credential.credential_id
				order by x.ordered_at desc limit 20) u
			join node n on n.node_id = u.node_id)) else '{}' end;
end $$;
comment on function internal.credential_json(rota.credential, boolean) is
	'A credential as JSON for users; p_uses: with the latest 20 attempts that got it.';

create function internal.credential_own(p_uid int, p_user text, p_request jsonb) returns rota.credential
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_name constant text := internal.request_text(p_request, 'name');
	v_of constant text := coalesce(internal.request_text(p_request, 'user'), p_user);
	v_row credential;
begin
	select * into v_row from credential c
	where c.name = v_name and c.removed_at is null and c.user_name = v_of
		and (c.uid = p_uid or internal.caller_role(p_uid, p_user) <> 'user');
	if not found then
		raise exception 'you have no credential "%"', coalesce(v_name, '') using errcode = 'RT404', hint = 'rota cred list';
	end if;
	return v_row;
end $$;
comment on function internal.credential_own(int, text, jsonb) is
	'The credential that a request names. RT404: it does not exist, or it is somebody else''s and the caller is no operator.';

create function internal.credential_add(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_name constant text := coalesce(internal.request_text(p_request, 'name'), '');
	v_kind constant text := coalesce(internal.request_text(p_request, 'kind'), '');
	v_box constant text := internal.request_text(p_request, 'box');
	v_facts constant jsonb := jsonb_strip_nulls(jsonb_build_object('refresh_url', internal.request_text(p_request, 'refresh_url'),
		'command', internal.request_text(p_request, 'command'),
		'expires', internal.request_int(p_request, 'expires', 253402300799)));
	v_most constant int := internal.setting_int('credential_max');
	v_id bigint;
begin
	if v_name !~ '^[a-z][a-z0-9_-]{0,30}$' then
		raise exception '"%" is no name of a credential', v_name using errcode = 'RT422',
			hint = 'A name has 1 to 31 lower-case letters, digits, "-" and "_", and begins with a letter.';
	elsif v_name in ('none', 'unset') then
		raise exception '"%" cannot be the name of a credential', v_name using errcode = 'RT422',
			hint = 'With --cred and "rota cred default", it means that there is none. Choose another name.';
	elsif v_kind not in ('krb5', 'token', 'ssh-key', 'x509', 'file', 'command') then
		raise exception 'there is no kind "%"', v_kind using errcode = 'RT422',
			hint = 'Kinds are krb5, token, ssh-key, x509, file and command.';
	elsif v_box is null or v_box !~ '^[A-Za-z0-9+/]+=*$' or length(v_box) > 1500000 then
		raise exception 'the credential is not a box in base64, or is larger than 1 MiB' using errcode = 'RT422';
	elsif (v_kind = 'command') <> (v_facts ? 'command') or (v_facts ? 'refresh_url' and v_kind <> 'token')
		or exists (select from jsonb_each_text(v_facts) x where not internal.is_line(x.value)) then
		raise exception 'a kind "%" has no such option, or needs another', v_kind using errcode = 'RT422',
			hint = '--command belongs to kind command, --refresh-url to kind token.';
	elsif not exists (select from credential c where c.uid = p_uid and c.name = v_name and c.removed_at is null)
		and (select count(*) from credential c where c.uid = p_uid and c.removed_at is null) >= v_most then
		raise exception 'you have % credentials already', v_most using errcode = 'RT409', hint = 'rota cred remove NAME';
	elsif (select count(*) from credential_upload u where u.uid = p_uid and u.made_at > now() - interval '1 hour')
		>= internal.setting_int('credential_uploads') then
		raise exception 'you have added % credentials within an hour', internal.setting_int('credential_uploads')
			using errcode = 'RT409', hint = 'Add it once, and submit with --cred=NAME, without ":forward".';
	elsif (select count(*) from credential_upload u where u.uid = p_uid and u.done_at is null) >= v_most then
		raise exception 'your % latest uploads are not stored yet', v_most using errcode = 'RT409',
			hint = 'Does rota-credd run? Try again when they are: rota cred list';
	end if;
	insert into credential_upload (uid, user_name, name, kind, box, facts)
	values (p_uid, p_user, v_name, v_kind, decode(v_box, 'base64'), v_facts)
	returning upload_id into v_id;
	notify rota_credential;
	return jsonb_build_object('upload', v_id);
end $$;
comment on function internal.credential_add(int, text, jsonb) is
	'Take an upload: request {name, kind, box (base64), refresh_url, command, expires}. Answer {upload}; api.credential_wait '
	'returns whether it was stored. RT422: the request is wrong; RT409: too many credentials or uploads.';

create function internal.credential_remove(p_credential rota.credential) returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update credential c
	set removed_at = now(), sealed = null, nonce = null, key_version = null, judged = null, changes = c.changes + 1,
		renew_at = null, warn_at = null, taken_until = null
	where c.credential_id = p_credential.credential_id and c.removed_at is null;
	if not found then
		raise exception 'you have no credential "%"', p_credential.name using errcode = 'RT404', hint = 'rota cred list';
	end if;
	perform internal.credential_use_take_back(array(
		select (u.job_id, u.step_id, u.attempt, u.node_id, u.name)::internal.credential_use_key from credential_use u
		where u.credential_id = p_credential.credential_id and u.gone_at is null and u.removed_at is null));
	update rota.credential_grant g set revoked_at = now()
	where g.credential_id = p_credential.credential_id and g.revoked_at is null;
	notify rota_credential;
end $$;
comment on function internal.credential_remove(rota.credential) is
	'Delete the sealed secret of a credential, and have the nodes of running attempts destroy their copies. RT404: the '
	'credential was removed meanwhile.';

create function internal.credential_forecast(p_user text) returns jsonb
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return (
		select coalesce(jsonb_agg(jsonb_build_object('step', internal.step_label(n.job_id, n.step_id), 'job_id', n.job_id,
			'step_id', n.step_id, 'user', j.user_name,
			'name', case when j.uid <> c.uid then c.user_name || '/' else '' end || c.name,
			'lives_until', e.lives_until, 'from', n.from_at, 'until', n.until_at)
			order by e.lives_until, n.job_id, n.step_id), '[]')
		from credential c
		join internal.credential_need n on n.credential_id = c.credential_id
		join job j on j.job_id = n.job_id
		cross join lateral (select internal.credential_lives_until(c) as lives_until) e
		where (p_user is null or p_user in (c.user_name, j.user_name)) and e.lives_until < coalesce(n.until_at, 'infinity'));
end $$;
comment on function internal.credential_forecast(text) is
	'Steps that may still run when their credential can no longer be renewed, those of p_user (null: of all users): when the '
	'credential expires, and from and until when the step is expected to run (null: unknown).';

create function api.credential(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_action constant text := coalesce(internal.request_text(p_request, 'action'), 'list');
	v_of constant text := coalesce(internal.request_text(p_request, 'user'), p_user);
	v_all constant boolean := internal.request_bool(p_request, 'all');
	v_row credential;
begin
	case v_action
	when 'add' then
		return internal.credential_add(p_uid, p_user, p_request);
	when 'list' then
		if (v_of <> p_user or v_all) and internal.caller_role(p_uid, p_user) = 'user' then
			raise exception 'only operators see the credentials of others' using errcode = 'RT403';
		end if;
		return jsonb_build_object('credentials', (
			select coalesce(jsonb_agg(internal.credential_json(c, false)
				|| case when x.granted then jsonb_build_object('name', c.user_name || '/' || c.name) else '{}' end
				order by x.granted, c.user_name, c.name), '[]')
			from credential c
			cross join lateral (select c.user_name <> v_of and not v_all as granted) x
			where c.removed_at is null and (c.user_name = v_of or v_all or c.credential_id = any (array(
				select g.credential_id from credential_grant g
				where g.uid = p_uid and v_of = p_user and g.revoked_at is null and coalesce(g.until_at > now(), true))))));
	when 'forecast' then
		if (v_of <> p_user or v_all) and internal.caller_role(p_uid, p_user) = 'user' then
			raise exception 'only operators see the credentials of others' using errcode = 'RT403';
		end if;
		return jsonb_build_object('forecast', internal.credential_forecast(case when not v_all then v_of end));
	when 'test' then
		return internal.credential_test(internal.credential_own(p_uid, p_user, p_request));
	when 'default' then
		return internal.credential_default_set(p_uid, p_user, p_request);
	when 'show' then
		return internal.credential_json(internal.credential_own(p_uid, p_user, p_request), true);
	when 'remove' then
		v_row := internal.credential_own(p_uid, p_user, p_request);
		perform internal.credential_remove(v_row);
		return jsonb_build_object('name', v_row.name, 'action', 'removed');
	when 'refresh' then
		v_row := internal.credential_own(p_uid, p_user, p_request);
		if not coalesce(internal.credential_can_renew(v_row), false) then
			raise exception 'credential "%" %', v_row.name, case when v_row.renewable and v_row.broken is null
				then 'has expired, and cannot be renewed any more' else 'cannot be renewed' end
				using errcode = 'RT409', hint = format('Add it anew: rota cred add %s', v_row.name);
		end if;
		update credential c set wanted_at = now(), renew_at = greatest(now(), c.taken_until)
		where c.credential_id = v_row.credential_id;
		notify rota_credential;
		return jsonb_build_object('name', v_row.name, 'action', 'refreshing');
	else
		raise exception 'there is no action "%"', v_action using errcode = 'RT422',
			hint = 'Actions are add, list, show, forecast, test, default, refresh and remove.';
	end case;
end $$;
comment on function api.credential(int, text, jsonb) is
	'Credentials of the caller, or (operators) of user: request {action, name, user, all, ...}. list: {credentials: [...]}; '
	'show: one, with its uses; add: internal.credential_add; remove; refresh: renew it now; '
	'forecast: internal.credential_forecast; test: internal.credential_test; default: internal.credential_default_set. '
	'Secrets are never answered.';

create function api.credential_wait(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql stable security definer set search_path = rota, pg_temp as $$
declare
	v_upload constant bigint := internal.request_int(p_request, 'upload', 9223372036854775807);
	v_row credential_upload;
begin
	if p_request ? 'test' then
		return internal.credential_test_wait(p_uid, p_user, internal.request_int(p_request, 'test', 9223372036854775807));
	end if;
	select * into v_row from credential_upload u where u.upload_id = v_upload and u.uid = p_uid;
	if not found then
		raise exception 'you have no upload %', coalesce(v_upload::text, '""') using errcode = 'RT404';
	elsif v_row.done_at is null then
		return jsonb_build_object('done', false);
	elsif v_row.error is not null then
		raise exception 'credential "%": %', v_row.name, v_row.error using errcode = 'RT422';
	end if;
	return jsonb_build_object('done', true) || coalesce((
		select internal.credential_json(c, false) from credential c
		where c.uid = p_uid and c.name = v_row.name and c.removed_at is null), '{}');
end $$;
comment on function api.credential_wait(int, text, jsonb) is
	'Wait until an upload is stored: request {upload, timeout_s}, answer {done} and, when done, the credential. RT422: why '
	'the upload was refused. Request {test}: wait until a test is over, as internal.credential_test_wait.';

create function api.credential_admin(p_uid int, p_user text, p_request jsonb) returns jsonb
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	if internal.caller_role(p_uid, p_user) <> 'admin' then
		raise exception 'you may not do this to the cluster' using errcode = 'RT403', hint = 'Only administrators do.';
	elsif internal.request_text(p_request, 'action') is distinct from 'rotate' then
		raise exception 'there is no action "%"', coalesce(internal.request_text(p_request, 'action'), '')
			using errcode = 'RT422', hint = 'The action is rotate.';
	end if;
	update setting s set value = (greatest(s.value::int, (select max(c.key_version) from credential c)) + 1)::text
	where s.name = 'credential_key';
	notify rota_credential;
	return jsonb_build_object('key', internal.setting_int('credential_key'), 'action', 'rotating');
end $$;
comment on function api.credential_admin(int, text, jsonb) is
	'Requests of administrators. {action: rotate}: rota-credd makes its next key, and seals all credentials with it.';
