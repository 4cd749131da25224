-- Work of rota-credd that the database hands out and stores: uploads, renewals, new keys, and boxes for nodes.
--
-- Called by: rota-credd, as role rota_credd.
-- Invariants:
-- - A new version is stored only over the version that its caller has seen, so of two that are made at the same time one is made
--   again.
-- - A removed credential is not stored again, and no function returns it.
-- - A version is sealed under associated data with owner, name, kind and version,
--   so a row that somebody copies to another cannot be opened.

create function api.credential_upload_take(p_most int)
returns table (upload_id bigint, uid int, user_name text, name text, kind text, version int, origin text, box bytea,
	refresh_url text, command text, expires bigint, now_s bigint)
language plpgsql stable security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select u.upload_id, u.uid, u.user_name, u.name, u.kind, coalesce(c.version, 0) + 1, coalesce(c.origin, ''), u.box,
		u.facts ->> 'refresh_url', u.facts ->> 'command', (u.facts ->> 'expires')::bigint,
		extract(epoch from clock_timestamp())::bigint
	from credential_upload u
	left join credential c on c.uid = u.uid and c.name = u.name and c.removed_at is null
	where u.done_at is null
		and not exists (select from credential_upload o
			where o.uid = u.uid and o.name = u.name and o.upload_id < u.upload_id and o.done_at is null)
	order by u.upload_id
	limit p_most;
end $$;
comment on function api.credential_upload_take(int) is
	'Take uploads that wait, p_most at most, the oldest of each credential. version: the version that the upload becomes; '
	'now_s: the time in epoch seconds.';

create function internal.credential_due(p_id bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_hours constant int := internal.setting_int('credential_warn_hours');
begin
	update credential c
	set renew_at = case when c.renewable then c.expires_at - internal.credential_early(c.changed_at, c.expires_at) end,
		warn_at = case when v_hours > 0 then internal.credential_lives_until(c) - make_interval(hours => v_hours) end
	where c.credential_id = p_id;
end $$;
comment on function internal.credential_due(bigint) is
	'Set when a credential with a new version is to be renewed, and when its users are to be warned.';

-- A new version of a credential is delivered to the attempts that have the credential.
create function internal.credential_put(p_id bigint, p_version int, p_key int, p_nonce bytea, p_sealed bytea, p_facts jsonb)
returns void
language plpgsql set search_path = live, rota, pg_temp as $$
begin
	update credential c
	set version = p_version, key_version = p_key, nonce = p_nonce, sealed = p_sealed, subject = p_facts ->> 'subject',
		expires_at = to_timestamp((p_facts ->> 'expires')::double precision),
		renewable = coalesce((p_facts ->> 'renewable')::boolean, false),
		renew_until = to_timestamp((p_facts ->> 'renew_until')::double precision), changed_at = now(),
		failures = 0, failure = null, broken = null,
		judged = case when c.judged then true end, changes = c.changes + 1, taken_until = null
	where c.credential_id = p_id;
	perform internal.credential_due(p_id);
	perform internal.credential_use_lock(array(select distinct u.job_id from credential_use u
		where u.credential_id = p_id and u.gone_at is null));
	update credential_use u set wanted = p_version, failure = null
	where u.credential_id = p_id and u.gone_at is null and u.removed_at is null;
	notify rota_credential;
	notify rota_credential_box;
end $$;
comment on function internal.credential_put(bigint, int, int, bytea, bytea, jsonb) is
	'Store a version of a credential: nonce, sealed secret, and its facts {subject, expires, renewable, renew_until}, times '
	'in epoch seconds.';

create function api.credential_upload_done(p_upload bigint, p_version int, p_key int, p_nonce bytea, p_sealed bytea,
	p_facts jsonb, p_origin text, p_error text) returns boolean
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_upload credential_upload;
	v_row credential;
begin
	select * into v_upload from credential_upload u where u.upload_id = p_upload and u.done_at is null for update;
	if not found then
		return false;
	end if;
	if p_error is null then
		insert into credential (uid, user_name, name, kind)
		values (v_upload.uid, v_upload.user_name, v_upload.name, v_upload.kind)
		on conflict (uid, name) where removed_at is null do nothing;
		select * into v_row from credential c
		where c.uid = v_upload.uid and c.name = v_upload.name and c.removed_at is null for update;
		if not found or v_row.version <> p_version - 1 then
			return false;
		end if;
		update credential c set kind = v_upload.kind, facts = v_upload.facts, uploaded = p_version, origin = p_origin,
			judged = case when c.kind = v_upload.kind then c.judged end
		where c.credential_id = v_row.credential_id;
		perform internal.credential_put(v_row.credential_id, p_version, p_key, p_nonce, p_sealed, p_facts);
	end if;
	update credential_upload u set done_at = now(), box = null, error = p_error where u.upload_id = p_upload;
	notify rota_event;
	return true;
end $$;
comment on function api.credential_upload_done(bigint, int, int, bytea, bytea, jsonb, text, text) is
	'Store an upload, or refuse it (p_error). p_facts as in internal.credential_put; p_origin: the origin with which the '
	'secret is sealed. Returns false if the upload was handled already, or if the credential has another version by now; '
	'then take the upload again.';

create function internal.credential_box_base() returns bigint
language sql volatile set search_path = rota, pg_temp as $$
	-- A node may claim to have seen incarnations up to a million (internal.incarnation_next).
	select least(max(i.incarnation), 800000) * 10000000000000 from incarnation i;
$$;
comment on function internal.credential_box_base() is 'The boxes of the present incarnation have numbers above this one.';

create function internal.credential_box_number() returns bigint
language sql volatile set search_path = pg_catalog, pg_temp as $$
	select internal.credential_box_base() + floor(extract(epoch from clock_timestamp()) * 1000)::bigint;
$$;
comment on function internal.credential_box_number() is
	'Number for a box that is made now. It is higher than those that a server gave before a promotion (because of the '
	'incarnation) or a restore (because of the time, in ms). If it is not, the node reports the number that it has '
	'(internal.credential_box_raise).';

create function api.credential_box_take(p_most int)
returns table (job_id bigint, step_id int, attempt int, node_id int, node text, delivered text, number bigint, job_uid int,
	grant_until_s bigint, grant_signature bytea, grant_id bigint, credential_id bigint, uid int, name text, kind text,
	version int, key_version int, nonce bytea, sealed bytea, origin text, expires_s bigint)
language plpgsql stable security definer set search_path = live, rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select u.job_id, u.step_id, u.attempt, u.node_id, n.name, u.name,
		greatest(u.box_number + 1, (select internal.credential_box_number())),
		j.uid, coalesce(extract(epoch from g.until_at)::bigint, 0), g.signature, coalesce(g.grant_id, 0),
		c.credential_id, c.uid, c.name, c.kind, c.version, c.key_version, c.nonce, c.sealed, c.origin,
		coalesce(extract(epoch from c.expires_at)::bigint, 0)
	from credential_use u
	join job j on j.job_id = u.job_id
	join credential c on c.credential_id = u.credential_id and internal.credential_usable(c)
	left join credential_grant g on g.credential_id = c.credential_id and g.uid = j.uid and g.revoked_at is null
		and coalesce(g.until_at > now(), true)
	join node n on n.node_id = u.node_id
	join credential_node k on k.node = n.name
	where u.gone_at is null and u.removed_at is null and u.boxed < u.wanted and u.failure is null
		and (c.uid = j.uid or g.grant_id is not null)
	order by u.job_id, u.step_id
	limit p_most;
end $$;
comment on function api.credential_box_take(int) is
	'Take boxes to be made, p_most at most: the sealed credential, the attempt, and the node. Only valid credentials, nodes '
	'whose keys rota-credd has, and boxes that have not failed to be made. delivered: name of the credential on the node; '
	'number: number of the box; grant_signature: proves the grant if job_uid is not uid, the owner.';

create function api.credential_box_put(p_jobs bigint[], p_steps int[], p_attempts int[], p_nodes int[], p_names text[],
	p_versions int[], p_boxes bytea[], p_numbers bigint[]) returns int
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_node int;
	v_count int := 0;
begin
	perform internal.credential_use_lock(p_jobs);
	for v_node in
		with put as (
			update credential_use u
			set boxed = v.version, box = v.box, box_number = v.number, wanted = greatest(u.wanted, v.version)
			from unnest(p_jobs, p_steps, p_attempts, p_nodes, p_names, p_versions, p_boxes, p_numbers)
				as v (job_id, step_id, attempt, node_id, name, version, box, number)
			where u.job_id = v.job_id and u.step_id = v.step_id and u.attempt = v.attempt
				and u.node_id = v.node_id and u.name = v.name and u.gone_at is null and u.removed_at is null
				and v.version > u.boxed and v.number > u.box_number
			returning u.job_id, u.step_id, u.attempt, u.node_id, u.name
		), ready as (
			delete from hook_pending h
			where h.hook = 'credential' and (h.job_id, h.step_id, h.attempt) in (select p.job_id, p.step_id, p.attempt from put p)
				-- A statement does not see the changes that it makes itself.
				and not exists (select from credential_use u
					where u.job_id = h.job_id and u.step_id = h.step_id and u.attempt = h.attempt and u.boxed = 0
						and (u.node_id, u.name) not in (select p.node_id, p.name from put p
							where p.job_id = u.job_id and p.step_id = u.step_id and p.attempt = u.attempt))
		)
		select distinct coalesce(l.notify_node_id, p.node_id) from put p left join node_lease l on l.node_id = p.node_id
	loop
		perform pg_notify('rota_node_' || v_node, '');
		v_count := v_count + 1;
	end loop;
	return v_count;
end $$;
comment on function api.credential_box_put(bigint[], int[], int[], int[], text[], int[], bytea[], bigint[]) is
	'Store boxes and notify their nodes. Returns the number of notifications; 0: nothing was stored. Once all boxes of an '
	'attempt exist, its launch requests are sent.';

create function api.credential_box_failed(p_jobs bigint[], p_steps int[], p_attempts int[], p_nodes int[], p_names text[],
	p_versions int[], p_reasons text[], p_grants bigint[]) returns int
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_count int;
begin
	-- Set the end of a grant with a wrong signature. The next judgement (api.credential_judge) revokes the grant.
	perform from credential c
	where c.credential_id in (select g.credential_id from credential_grant g where g.grant_id = any (p_grants))
	order by c.credential_id
	for update;
	update credential_grant g set until_at = least(g.until_at, now()) where g.grant_id = any (p_grants) and g.revoked_at is null;
	perform internal.credential_use_lock(p_jobs);
	update credential_use u set failure = left(v.reason, 500)
	from unnest(p_jobs, p_steps, p_attempts, p_nodes, p_names, p_versions, p_reasons)
		as v (job_id, step_id, attempt, node_id, name, version, reason)
	where u.job_id = v.job_id and u.step_id = v.step_id and u.attempt = v.attempt and u.node_id = v.node_id and u.name = v.name
		and u.gone_at is null and u.boxed < u.wanted and u.wanted <= v.version;
	get diagnostics v_count = row_count;
	notify rota_credential;
	return v_count;
end $$;
comment on function api.credential_box_failed(bigint[], int[], int[], int[], text[], int[], text[], bigint[]) is
	'Record boxes that could not be made, and why; p_grants: the grant whose signature is wrong, or 0. Attempts that wait '
	'for such a box are closed. Returns how many were recorded; the credentials of the others have another version by now.';

create function api.credential_broken(p_id bigint, p_version int, p_reason text) returns void
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	update credential c set broken = left(p_reason, 500), judged = null, changes = c.changes + 1
	where c.credential_id = p_id and c.version = p_version and c.removed_at is null;
	notify rota_credential;
end $$;
comment on function api.credential_broken(bigint, int, text) is
	'Record that rota-credd cannot open this version of a credential: steps that need it wait until the owner adds it again.';

create function api.credential_reseal_take(p_key int, p_most int)
returns table (credential_id bigint, uid int, name text, kind text, version int, key_version int, nonce bytea,
	sealed bytea, origin text)
language plpgsql stable security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	select c.credential_id, c.uid, c.name, c.kind, c.version, c.key_version, c.nonce, c.sealed, c.origin
	from credential c
	where c.removed_at is null and c.key_version < p_key and c.broken is null
	order by c.credential_id
	limit p_most;
end $$;
comment on function api.credential_reseal_take(int, int) is
	'Credentials that are sealed with an older key than p_key, p_most at most.';

create function api.credential_resealed(p_ids bigint[], p_versions int[], p_key int, p_nonces bytea[], p_sealed bytea[])
returns int
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_count int;
begin
	update credential c
	set key_version = p_key, nonce = v.nonce, sealed = v.sealed
	from unnest(p_ids, p_versions, p_nonces, p_sealed) as v (credential_id, version, nonce, sealed)
	where c.credential_id = v.credential_id and c.version = v.version and c.removed_at is null and c.key_version < p_key;
	get diagnostics v_count = row_count;
	return v_count;
end $$;
comment on function api.credential_resealed(bigint[], int[], int, bytea[], bytea[]) is
	'Store credentials that are sealed with a newer key, if they have not changed meanwhile. Returns how many were stored.';

create function api.credential_nodes(p_names text[]) returns void
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	delete from credential_node k where k.node <> all (p_names);
	insert into credential_node (node) select distinct x from unnest(p_names) x on conflict do nothing;
end $$;
comment on function api.credential_nodes(text[]) is
	'Record the names of all nodes whose public keys rota-credd has; all other nodes have none.';
