-- Renewal of credentials by need: a credential is renewed only if a running attempt or a planned start outlives it.
--
-- Called by: rota-credd.
-- Invariants:
-- - A credential is renewed in the last part of its life (internal.credential_early), so as seldom as possible.
-- - A credential that is being renewed is not taken again before p_hold_s seconds are over, by which time its renewer has given
--   up or died.
-- - credential.renew_at is when a credential is next checked, so credentials that are not due cost nothing. If no step needs the
--   credential then, it is checked at growing intervals; a submission has it checked at once.

create function internal.credential_early(p_changed timestamptz, p_expires timestamptz) returns interval
language sql immutable set search_path = pg_catalog, pg_temp as $$
	select greatest(interval '10 seconds', least((p_expires - p_changed) / 8, interval '10 minutes'));
$$;
comment on function internal.credential_early(timestamptz, timestamptz) is
	'How long before its expiry a credential is renewed: an eighth of its lifetime, from ten seconds to ten minutes.';

create view internal.credential_need as
select c.credential_id, x.job_id, s.step_id, t.attempt,
	case when t.attempt is not null then coalesce(t.started_at, t.ordered_at) else p.expected_at end as from_at,
	case when t.attempt is not null then coalesce(t.started_at, t.ordered_at) else p.expected_at end
		+ make_interval(secs => nullif(coalesce(t.time_limit_s, q.time_limit_s), 0)) as until_at
from rota.credential c
join live.step_credential x on x.uid = c.uid and x.name = c.name and x.kind = c.kind
	and (x.grantee is null or internal.credential_granted(c.credential_id, x.grantee))
join live.step s on s.job_id = x.job_id and s.request_id = x.step_id and s.ended_at is null
join live.step_request q on q.job_id = x.job_id and q.step_id = x.step_id
left join live.attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt and t.ended_at is null
	and s.state <> 'pending'
left join rota.plan p on p.job_id = s.job_id and p.step_id = s.step_id
where c.removed_at is null;
comment on view internal.credential_need is
	'Steps that have not ended and the credentials that they need, one row each: from when (null: unknown) until when (null: '
	'unknown, or the step has no time limit).';

create function internal.credential_needed(p_credential rota.credential) returns boolean
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	return exists (select from internal.credential_need n
		where n.credential_id = p_credential.credential_id
			and (n.until_at is null or n.until_at > p_credential.expires_at - internal.credential_margin()));
end $$;
comment on function internal.credential_needed(rota.credential) is 'Whether a step outlives the credential, or may.';

create function internal.credential_can_renew(p_credential rota.credential) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
	select p_credential.removed_at is null and p_credential.renewable and p_credential.broken is null
		and (p_credential.kind in ('token', 'command') or p_credential.expires_at > now());
$$;
comment on function internal.credential_can_renew(rota.credential) is
	'Whether a renewal may succeed. A token is renewed by means of another token, and a program makes a new secret, so both '
	'can be renewed after they have expired.';

create function internal.credential_renew_next(p_credential rota.credential) returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp as $$
	select now() + greatest((p_credential.expires_at - now()) / 2, interval '1 second')
	where p_credential.expires_at > now();
$$;
comment on function internal.credential_renew_next(rota.credential) is
	'The next time to check a credential that will expire soon and that no step needs; null: at the next submission.';

create function api.credential_renew_take(p_most int, p_hold_s int)
returns table (credential_id bigint, uid int, user_name text, name text, kind text, version int, key_version int, nonce bytea,
	sealed bytea, origin text, refresh_url text, command text, now_s bigint)
language plpgsql security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	return query
	with due as materialized (
		select c.credential_id, c.renew_at, coalesce(internal.credential_can_renew(c) and (c.wanted_at > c.changed_at
			or (coalesce(c.renew_until > c.expires_at, true) and internal.credential_needed(c))), false) as needed
		from credential c
		where c.renew_at <= now() and coalesce(c.taken_until <= now(), true)
		order by c.renew_at
		limit 1000
		for update skip locked
	), ranked as (
		select d.credential_id, d.needed, row_number() over (partition by d.needed order by d.renew_at) as nr
		from due d
	), looked as (
		update credential c
		set taken_until = case when d.needed then now() + make_interval(secs => p_hold_s) end,
			renew_at = case when d.needed then now() + make_interval(secs => p_hold_s) else internal.credential_renew_next(c) end
		from ranked d
		where c.credential_id = d.credential_id and (d.nr <= p_most or not d.needed)
		returning c.*, d.needed
	)
	select c.credential_id, c.uid, c.user_name, c.name, c.kind, c.version, c.key_version, c.nonce, c.sealed, c.origin,
		c.facts ->> 'refresh_url', c.facts ->> 'command', extract(epoch from clock_timestamp())::bigint
	from looked c
	where c.needed;
end $$;
comment on function api.credential_renew_take(int, int) is
	'Take credentials to be renewed now, p_most at most. They are not returned again for p_hold_s seconds. Credentials that '
	'no step needs are checked again later, up to 1000 at a time, so that they do not delay the others. now_s: the time in '
	'epoch seconds.';

create function api.credential_renewed(p_id bigint, p_version int, p_key int, p_nonce bytea, p_sealed bytea, p_facts jsonb)
returns boolean
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	perform from credential c where c.credential_id = p_id and c.version = p_version - 1 and c.removed_at is null for update;
	if not found then
		return false;
	end if;
	perform internal.credential_put(p_id, p_version, p_key, p_nonce, p_sealed, p_facts);
	update credential c set renewed_at = now(), renewals = c.renewals + 1 where c.credential_id = p_id;
	return true;
end $$;
comment on function api.credential_renewed(bigint, int, int, bytea, bytea, jsonb) is
	'Store a renewed credential as the next version. Returns false if a new upload or the removal came first.';

create function api.credential_renew_failed(p_id bigint, p_version int, p_failure text, p_final boolean) returns void
language plpgsql security definer set search_path = rota, pg_temp as $$
begin
	-- The pause doubles from five seconds to ten minutes, and never ends after the expiry of a credential that is still
	-- valid.
	update credential c
	set failures = c.failures + 1, failure = left(p_failure, 500), renewable = c.renewable and not p_final, taken_until = null,
		warn_at = case when p_final then now() else c.warn_at end,
		renew_at = case when internal.credential_can_renew(c) and not p_final then now() + least(
			make_interval(secs => least(5 * 2 ^ least(c.failures, 8), 600)),
			case when c.expires_at > now() then greatest((c.expires_at - now()) / 2, interval '1 second') end) end
	where c.credential_id = p_id and c.version = p_version and c.removed_at is null;
	if found and p_final then
		notify rota_credential;
	end if;
end $$;
comment on function api.credential_renew_failed(bigint, int, text, boolean) is
	'Record that a renewal has failed. It is tried again after a pause that doubles; p_final: only after a new upload, since '
	'it would fail again.';
