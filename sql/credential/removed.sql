-- Removals of credentials that a restored database has lost.
-- Called by: rota-credd, as role rota_credd; internal.db_restored and internal.db_lacks.
-- Invariants:
-- - rota-credd keeps a list of removed credentials on its own host. It seals no credential of the list, and has a database
--   that still has one remove it again.
-- - Each rota-credd keeps what was removed while it was connected, and what it finds removed when it connects. One that was not
--   connected may alone know of a removal that the database has lost, so it is named until it connects.
-- - A credential is identified by owner, name and origin. If the owner adds another one under the same name, that has another
--   origin.

create function api.credential_removals(p_all boolean)
returns table (uid int, name text, kind text, origin text, version int, removed_s bigint)
language plpgsql stable security definer set search_path = rota, pg_temp as $$
#variable_conflict use_column
begin
	if p_all then
		return query
		select c.uid, c.name, c.kind, coalesce(c.origin, ''), c.version, extract(epoch from c.removed_at)::bigint
		from credential c where c.version > 0;
	else
		return query
		select c.uid, c.name, c.kind, coalesce(c.origin, ''), c.version, extract(epoch from c.removed_at)::bigint
		from credential c where c.removed_at > now() - interval '1 hour' and c.version > 0;
	end if;
end $$;
comment on function api.credential_removals(boolean) is
	'Credentials that were removed within the last hour, for the list of rota-credd. With p_all: all credentials, '
	'removed or not (removed_s is null), which rota-credd compares with its list.';

create function api.credential_remove_again(p_uid int, p_name text, p_origin text, p_version int, p_removed_s bigint)
returns boolean
language plpgsql security definer set search_path = live, rota, pg_temp as $$
declare
	v_row rota.credential;
begin
	select * into v_row from rota.credential c
	where c.uid = p_uid and c.name = p_name and c.removed_at is null and coalesce(c.origin, '') = p_origin
		and (c.origin is not null or c.version = p_version)
	for update;
	if not found then
		return false;
	end if;
	perform internal.credential_remove(v_row);
	update rota.credential c set removed_before = to_timestamp(p_removed_s) where c.credential_id = v_row.credential_id;
	return true;
end $$;
comment on function api.credential_remove_again(int, text, text, int, bigint) is
	'Remove a credential that was removed at p_removed_s by a transaction that this database has lost. Answers false if '
	'there is no such credential. A credential without an origin is identified by its version.';

create function internal.lacks_keepers() returns setof internal.db_finding
language sql volatile set search_path = rota, pg_temp as $$
	select x.* from (
		select d.name, d.seen_at, d.seen_at > now() - interval '1 minute'
			and d.seen_at > (select i.began_at from internal.incarnation_now() i) as is_here
		from daemon d where d.role = 'rota-credd' order by d.name) l
	cross join lateral internal.check_row('rota-credd ' || l.name, case when l.is_here then 'ok' else 'warning' end,
		case when l.is_here then 'connected: what it knows was removed has been removed again'
			else format('was last connected %s', to_char(l.seen_at, 'YYYY-MM-DD HH24:MI:SS TZ')) end,
		'A credential whose removal it alone knows is of use until it connects. Start it.') x;
$$;
comment on function internal.lacks_keepers() is
	'The rota-credd that this database knows, and which of them are not connected. Each registers every ten seconds.';

create function internal.lacks_removals() returns setof internal.db_finding
language sql volatile set search_path = rota, pg_temp as $$
	select x.* from (
		select c.user_name, c.name, c.removed_before, c.removed_at from credential c
		where c.removed_before is not null and c.removed_at > now() - interval '7 days'
		order by c.removed_at, c.credential_id limit 1000) l
	cross join lateral internal.check_row(format('credential %s of %s', l.name, l.user_name), 'ok',
		format('had been removed %s; removed again %s', to_char(l.removed_before, 'YYYY-MM-DD HH24:MI:SS TZ'),
			to_char(l.removed_at, 'YYYY-MM-DD HH24:MI:SS TZ')), null) x;
$$;
comment on function internal.lacks_removals() is
	'Credentials that were removed again within the last week, because this database had lost their removal.';
