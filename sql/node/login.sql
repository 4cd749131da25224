-- Logins of nodes. A process manager connects as role rota_node_LOGIN and speaks only for the nodes that name this login, so a
-- stolen password is worth no more than these nodes.
--
-- Called by: every function for process managers; "rota admin node create", "enroll", "revoke" and "delete".
--
-- Invariants:
-- - session_user determines for which nodes a session speaks, never an argument alone.
-- - A node moves to another login when it first registers, or renews its lease, with it. Until then the earlier login is valid
--   too, so that an enrolment interrupts nothing.

create function internal.session_login() returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
	if session_user = 'rota_node' then
		return '';
	elsif session_user like 'rota\_node\_%' then
		return substr(session_user, length('rota_node_') + 1);
	elsif pg_has_role(session_user, 'rota_owner', 'member') then
		return null;
	end if;
	raise exception 'role "%" speaks for no node', session_user using errcode = '28000';
end $$;
comment on function internal.session_login() is
	'Login of the session; empty: role rota_node, for nodes without a login of their own; null: an owner of the schemas, who '
	'speaks for every node. 28000: any other role.';

create function internal.node_need(p_nodes int[]) returns void
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_login constant text := internal.session_login();
	v_other text;
begin
	if v_login is null then
		return;
	end if;
	-- Many nodes are joined, a few are looked up by key.
	if cardinality(p_nodes) > 100 then
		select n.name into v_other
		from unnest(p_nodes) x
		join node n on n.node_id = x
		where coalesce(n.login, '') <> v_login and n.login_next is distinct from v_login
		limit 1;
	else
		select n.name into v_other
		from node n
		where n.node_id = any (p_nodes) and coalesce(n.login, '') <> v_login and n.login_next is distinct from v_login
		limit 1;
	end if;
	if found then
		raise exception 'role "%" does not speak for node "%"', session_user, v_other using errcode = '28000',
			hint = format('Enroll the node: rota admin node enroll %s.', v_other);
	end if;
end $$;
comment on function internal.node_need(int[]) is
	'Fail with 28000 unless the session speaks for all of these nodes. Nodes that do not exist are ignored.';

create function internal.session_nodes() returns int[]
language plpgsql stable set search_path = rota, pg_temp as $$
declare
	v_login constant text := internal.session_login();
begin
	return array(select n.node_id from node n
		where v_login is null or n.login = v_login or n.login_next = v_login or (v_login = '' and n.login is null));
end $$;
comment on function internal.session_nodes() is 'The nodes for which the session speaks.';

create function internal.node_move(p_nodes int[]) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_login constant text := internal.session_login();
begin
	if exists (select from node n where n.login_next = v_login) then
		update node n set login = n.login_next, login_next = null
		where n.login_next = v_login and n.node_id = any (p_nodes);
	end if;
end $$;
comment on function internal.node_move(int[]) is
	'Complete the move of nodes to the login of this session, when they register or renew their leases with it.';

create function internal.login_check(p_login text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
	if p_login !~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,52}$' then
		raise exception '"%" cannot be the login of a node', p_login using errcode = 'RT422',
			hint = 'Logins are of letters, digits, "_", "." and "-", 53 at most, and begin with a letter or digit; give '
				'another one with --login.';
	end if;
end $$;
comment on function internal.login_check(text) is
	'Refuse a login of nodes with characters that are not allowed, or one that is too long for the role name '
	'rota_node_LOGIN.';

create function internal.login_unused(p_login text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	if not exists (select from node n where p_login in (n.login, n.login_next)) then
		perform login.node_set(p_login, null);
	end if;
end $$;
comment on function internal.login_unused(text) is 'Close a login that no node names any more, after a node was deleted.';

create function internal.node_enroll(p_login text, p_nodes int[], p_verifier text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	perform internal.login_check(p_login);
	perform login.node_set(p_login, p_verifier);
	update node n set login_next = nullif(p_login, n.login)
	where n.node_id = any (p_nodes) and n.login_next is distinct from nullif(p_login, n.login);
end $$;
comment on function internal.node_enroll(text, int[], text) is
	'Give a login the SCRAM verifier of its password; a new login is created. The login speaks for the nodes from their next '
	'registration on.';

create function internal.node_revoke(p_login text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	perform login.node_set(p_login, null);
	perform pg_terminate_backend(x.pid) from pg_stat_activity x where x.usename = 'rota_node_' || p_login;
end $$;
comment on function internal.node_revoke(text) is 'Close a login, and end its sessions.';

create function internal.node_login_change(p_user text, p_action text, p_names text[], p_values jsonb) returns text[]
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_given constant text := internal.request_text(p_values, 'login');
	v_verifier constant text := internal.request_text(p_values, 'verifier');
	v_bare text;
	v_logins text[];
	v_nodes int[];
begin
	if coalesce(p_values, '{}') - (case p_action when 'enroll' then array['login', 'verifier'] else '{}' end)::text[] <> '{}' then
		raise exception '"%" takes no values', p_action || case p_action when 'enroll' then '" but "login' else '' end
			using errcode = 'RT422';
	end if;
	perform internal.object_need('node', p_names);
	v_nodes := array(select n.node_id from node n where n.name = any (p_names));
	if p_action = 'enroll' then
		v_logins := array(select distinct coalesce(v_given, n.login_next, n.login, n.name) from node n
			where n.node_id = any (v_nodes));
		if cardinality(v_logins) <> 1 or v_verifier is null then
			raise exception 'one login needs one verifier of a password' using errcode = 'RT422',
				hint = 'Enroll nodes with logins of their own one by one, or give one login for all of them.';
		end if;
		perform internal.node_enroll(v_logins[1], v_nodes, v_verifier);
	else
		select min(n.name) into v_bare from node n
			where n.node_id = any (v_nodes) and n.login is null and n.login_next is null;
		if v_bare is not null then
			raise exception 'node "%" has no login of its own', v_bare using errcode = 'RT409',
				hint = format('Enroll it first: rota admin node enroll %s.', v_bare);
		end if;
		v_logins := array(select distinct l from node n cross join lateral unnest(array[n.login, n.login_next]) l
			where n.node_id = any (v_nodes) and l is not null order by l);
		perform internal.node_revoke(l) from unnest(v_logins) l;
	end if;
	insert into admin_event (actor, object, action, name, given, before, after)
	select p_user, 'node', p_action, n.name, jsonb_build_object('logins', v_logins), r.found, r.found
	from node n cross join lateral (select internal.admin_row('node', n.name) as found) r
	where n.node_id = any (v_nodes)
	order by n.node_id;
	return v_logins;
end $$;
comment on function internal.node_login_change(text, text, text[], jsonb) is
	'Enroll nodes, {"login", "verifier"}, or revoke the logins that speak for them. Returns the logins. Without "login", '
	'each node gets its own login: the one that it has, or its name.';
