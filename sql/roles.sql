-- Roles of the cluster, made before anything else and by a superuser; the same each time it runs.
-- rota_owner owns every object; nobody logs in as it in daily use.
do $$
declare
	v_role text;
begin
	foreach v_role in array array['rota_owner', 'rota_jobmgr', 'rota_node', 'rota_nodemgr', 'rota_analyst', 'rota_admin'] loop
		if not exists (select from pg_roles where rolname = v_role) then
			execute format('create role %I login', v_role);
		end if;
	end loop;
end $$;
comment on role rota_owner is 'Owns the schemas of Rota; used by "rota admin db upgrade" only.';
comment on role rota_jobmgr is 'jobmgrd: the gate''s and the leader''s functions.';
comment on role rota_node is 'procmgrd: registers nodes, takes orders, reports.';
comment on role rota_nodemgr is 'nodemgrd: judges nodes.';
comment on role rota_analyst is 'Reads schema acct.';
comment on role rota_admin is 'Reads everything but scripts and environments, and writes nothing.';
alter role rota_analyst set statement_timeout = '5min';
alter role rota_analyst set idle_in_transaction_session_timeout = '1min';
alter role rota_analyst set default_transaction_read_only = on;
-- A daemon that is gone without a word (its machine lost power, the network was cut) is noticed within half a minute, also in the
-- middle of a call, and with its session go its locks.
do $$
declare
	v_role text;
begin
	foreach v_role in array array['rota_jobmgr', 'rota_node', 'rota_nodemgr'] loop
		execute format('alter role %I set tcp_keepalives_idle = 10', v_role);
		execute format('alter role %I set tcp_keepalives_interval = 5', v_role);
		execute format('alter role %I set tcp_keepalives_count = 3', v_role);
		execute format('alter role %I set tcp_user_timeout = 25000', v_role);
		execute format('alter role %I set client_connection_check_interval = 1000', v_role);
		-- By this the database knows for how long a client has been silent (api.leader_claim, api.session_judge).
		execute format('alter role %I set track_activities = on', v_role);
		execute format('grant %I to rota_owner', v_role);
	end loop;
end $$;
grant pg_read_all_stats to rota_owner;
-- Who may come into the database, and what for: nobody but these by default, and nobody to make things.
do $$
begin
	execute format('revoke all on database %I from public', current_database());
	execute format('grant connect, create on database %I to rota_owner', current_database());
	execute format('grant connect on database %I to rota_jobmgr, rota_node, rota_nodemgr, rota_analyst, rota_admin', current_database());
end $$;
revoke create on schema public from public;
-- What any login could do by itself, analysts too: hold locks that nobody sees, fill the disk with large objects.
do $$
declare
	v_one record;
begin
	for v_one in
		select p.oid::regprocedure as name from pg_proc p
		where p.pronamespace = 'pg_catalog'::regnamespace and p.proname ~ '^(pg_(try_)?advisory_|lo_(creat|create|from_bytea|import|put)$)'
	loop
		execute format('revoke execute on function %s from public', v_one.name);
		execute format('grant execute on function %s to rota_owner', v_one.name);
	end loop;
end $$;

-- Analysts get logins of their own. To make them takes createrole, which the owner of everything else does not have: it stays
-- with a role that nobody can log in as and that owns this one function.
do $$
begin
	if not exists (select from pg_roles where rolname = 'rota_login') then
		create role rota_login nologin createrole;
	end if;
end $$;
comment on role rota_login is 'Owns login.analyst_set, which makes logins for analysts; nobody logs in as it.';
create schema if not exists login;
comment on schema login is 'What makes logins for analysts; the only thing here that can make roles.';
create or replace function login.analyst_set(p_user text, p_on boolean) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
	v_there boolean := exists (select from pg_roles where rolname = p_user);
	v_ours boolean := exists (
		select from pg_auth_members m
		join pg_roles r on r.oid = m.member
		join pg_roles g on g.oid = m.roleid and g.rolname = 'rota_analyst'
		where r.rolname = p_user);
begin
	if coalesce(p_on, false) = v_ours then
		return false;
	elsif p_on and (p_user ~ '^(rota_|pg_)' or p_user in ('postgres', 'public', 'none') or p_user !~ '^[a-z_][A-Za-z0-9_.-]{0,62}$') then
		raise exception '"%" cannot be the name of an analyst''s login', p_user using errcode = 'RT422';
	elsif p_on and v_there then
		raise exception 'the database has a role "%" already', p_user using errcode = 'RT409',
			hint = 'The database''s administrator can grant rota_analyst to it.';
	elsif p_on then
		execute format('create role %I login in role rota_analyst', p_user);
		execute format('alter role %I set statement_timeout = %L', p_user, '5min');
		execute format('alter role %I set idle_in_transaction_session_timeout = %L', p_user, '1min');
		execute format('alter role %I set default_transaction_read_only = on', p_user);
	else
		execute format('revoke rota_analyst from %I', p_user);
		execute format('drop role %I', p_user);
	end if;
	return true;
exception when dependent_objects_still_exist then
	raise exception 'the role "%" owns things in the database', p_user using errcode = 'RT409';
end $$;
comment on function login.analyst_set(text, boolean) is
	'Make a login that reads schema acct, or remove it; whether anything changed. A role that it did not make is left alone.';
revoke all on function login.analyst_set(text, boolean) from public;
grant usage, create on schema login to rota_login;
alter function login.analyst_set(text, boolean) owner to rota_login;
revoke create on schema login from rota_login;
grant usage on schema login to rota_owner;
grant execute on function login.analyst_set(text, boolean) to rota_owner;
