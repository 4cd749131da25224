-- Roles of the database cluster, created by a superuser before anything else. The script may be run again. rota_owner owns every
-- object; nobody logs in as rota_owner in daily use.
do $$
declare
	v_role text;
begin
	foreach v_role in array array['rota_owner', 'rota_jobmgr', 'rota_jobmgr_leader', 'rota_jobmgr_admin', 'rota_node',
		'rota_nodemgr', 'rota_runner', 'rota_credd', 'rota_analyst', 'rota_reader', 'rota_admin'] loop
		if not exists (select from pg_roles where rolname = v_role) then
			execute format('create role %I login', v_role);
		end if;
	end loop;
	foreach v_role in array array['rota_nodes', 'rota_daemons'] loop
		if not exists (select from pg_roles where rolname = v_role) then
			execute format('create role %I nologin', v_role);
		end if;
	end loop;
	grant rota_nodes to rota_node;
	grant rota_daemons to rota_jobmgr, rota_jobmgr_leader, rota_jobmgr_admin, rota_nodemgr, rota_runner, rota_credd,
		rota_nodes;
end $$;
comment on role rota_owner is 'Owns the schemas of Rota; used by "rota admin db upgrade" only.';
comment on role rota_daemons is 'All roles of daemons are members.';
comment on role rota_jobmgr is 'jobmgrd: the functions of the HTTP API.';
comment on role rota_jobmgr_leader is 'jobmgrd that leads: the functions of the scheduler.';
comment on role rota_jobmgr_admin is 'jobmgrd: the functions of the HTTP API that change the cluster.';
comment on role rota_nodes is
	'procmgrd: registers nodes, takes orders, reports. Each login of nodes is a member: rota_node_LOGIN.';
comment on role rota_node is 'procmgrd of nodes without a login of their own, as all were before there were such logins.';
comment on role rota_nodemgr is 'nodemgrd: judges nodes.';
comment on role rota_runner is 'runnerd: reads due hooks of the controller and mails, and reports their results.';
comment on role rota_credd is 'rota-credd: takes and stores what is sealed of credentials.';
comment on role rota_analyst is 'Reads schema acct: everybody''s rows.';
comment on role rota_reader is 'Reads schema acct: the rows of one''s own jobs, and of accounts that one coordinates.';
comment on role rota_admin is 'Reads everything but scripts and environments, and writes nothing.';
-- login.bound() sets limits that keep a reader from blocking others and from leaving sessions open. A login does not inherit
-- settings of a role, so each login gets its own.
create schema if not exists login;
comment on schema login is
	'Functions that make logins for people who read schema acct, and for nodes; only these functions can make roles.';
create or replace function login.bound(p_role text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
	execute format('alter role %I set statement_timeout = %L', p_role, '5min');
	execute format('alter role %I set idle_in_transaction_session_timeout = %L', p_role, '1min');
	execute format('alter role %I set idle_session_timeout = %L', p_role, '1h');
	-- Temporary files of sorts must not fill the database's disk.
	execute format('alter role %I set temp_file_limit = %L', p_role, '4GB');
	execute format('alter role %I set default_transaction_read_only = on', p_role);
end $$;
comment on function login.bound(text) is
	'Set the limits of a role that only reads: limits of time, and of the disk space for temporary files of its queries.';
revoke all on function login.bound(text) from public;
select login.bound(r) from unnest(array['rota_analyst', 'rota_reader']) r;
-- A session can change most settings above, but not these two: how many sessions a login may have, and that the server shows what
-- they do (track_activities). api.session_judge needs that to end sessions that exceed their limits.
create or replace function login.bound_sessions(p_role text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
	execute format('alter role %I set track_activities = on', p_role);
	if exists (select from pg_roles r where r.rolname = p_role and r.rolconnlimit = -1) then
		execute format('alter role %I connection limit %s', p_role,
			case when p_role in ('rota_admin', 'rota_analyst', 'rota_reader') then 20 else 10 end);
	end if;
end $$;
comment on function login.bound_sessions(text) is
	'Set how many sessions a role that only reads may have at a time, unless the role has such a limit, and have the server '
	'show what its sessions do.';
revoke all on function login.bound_sessions(text) from public;
select login.bound_sessions(r.rolname)
from pg_roles r
where not r.rolsuper
	and (r.rolname in ('rota_admin', 'rota_analyst', 'rota_reader') or exists (
	select from pg_auth_members m join pg_roles g on g.oid = m.roleid
		where m.member = r.oid and g.rolname in ('rota_analyst', 'rota_reader')));
create or replace function login.watch(p_role text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
	execute format('alter role %I set tcp_keepalives_idle = 10', p_role);
	execute format('alter role %I set tcp_keepalives_interval = 5', p_role);
	execute format('alter role %I set tcp_keepalives_count = 3', p_role);
	execute format('alter role %I set tcp_user_timeout = 25000', p_role);
	execute format('alter role %I set client_connection_check_interval = 1000', p_role);
	-- The server records since when a session has waited for its client (api.leader_claim, api.session_judge).
	execute format('alter role %I set track_activities = on', p_role);
end $$;
comment on function login.watch(text) is
	'Set timeouts of a daemon''s role, so that the server notices within half a minute, also in the middle of a call, that a '
	'daemon has disappeared silently (its machine lost power, the network was cut). The locks of its session end with the '
	'session.';
revoke all on function login.watch(text) from public;
do $$
declare
	v_role text;
begin
	foreach v_role in array array['rota_jobmgr', 'rota_jobmgr_leader', 'rota_jobmgr_admin', 'rota_node', 'rota_nodemgr',
		'rota_runner', 'rota_credd'] loop
		perform login.watch(v_role);
		execute format('grant %I to rota_owner', v_role);
	end loop;
	-- From PostgreSQL 16 on, the setting reserved_connections keeps connections free for daemons.
	if exists (select from pg_roles where rolname = 'pg_use_reserved_connections') then
		grant pg_use_reserved_connections to rota_daemons;
	end if;
end $$;
-- After this time the HTTP API has answered its client that no answer came (CALL_TIMEOUT in gate_call.c). A longer call would run
-- for nobody.
alter role rota_jobmgr set statement_timeout = '60s';
alter role rota_jobmgr_leader set statement_timeout = '60s';
alter role rota_jobmgr_admin set statement_timeout = '60s';
alter role rota_runner set statement_timeout = '60s';
alter role rota_credd set statement_timeout = '60s';
-- api.session_judge finds and ends sessions that hold locks for too long.
grant pg_read_all_stats, pg_signal_backend to rota_owner;
-- Only these roles may connect to the database, and only rota_owner may create schemas in it.
do $$
begin
	execute format('revoke all on database %I from public', current_database());
	execute format('grant connect, create on database %I to rota_owner', current_database());
	execute format('grant connect on database %I to rota_daemons, rota_analyst, rota_reader, rota_admin', current_database());
end $$;
revoke create on schema public from public;
-- By default any login, also that of an analyst, may call functions for advisory locks and large objects. With these it could
-- block the daemons unseen, or fill the disk.
do $$
declare
	v_one record;
begin
	for v_one in
		select p.oid::regprocedure as name from pg_proc p
		where p.pronamespace = 'pg_catalog'::regnamespace
			and p.proname ~ '^(pg_(try_)?advisory_|lo_(creat|create|from_bytea|import|put)$)'
	loop
		execute format('revoke execute on function %s from public', v_one.name);
		execute format('grant execute on function %s to rota_owner', v_one.name);
	end loop;
end $$;

-- A reader gets a login of the same name, a node gets one of its own. To make logins takes createrole, which the owner of all
-- other objects does not have: a role as which nobody can log in has it and owns these two functions.
do $$
begin
	if not exists (select from pg_roles where rolname = 'rota_login') then
		create role rota_login nologin createrole;
	end if;
end $$;
comment on role rota_login is 'Owns login.person_set and login.node_set, which make logins; nobody logs in as it.';
drop function if exists login.analyst_set(text, boolean);
create or replace function login.person_set(p_user text, p_role text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
	v_there boolean := exists (select from pg_roles where rolname = p_user);
	v_ours text := (
		select g.rolname
		from pg_auth_members m
		join pg_roles r on r.oid = m.member
		join pg_roles g on g.oid = m.roleid and g.rolname in ('rota_analyst', 'rota_reader')
		where r.rolname = p_user
		limit 1);
begin
	if p_role not in ('rota_analyst', 'rota_reader') then
		raise exception '"%" is not rota_analyst or rota_reader', p_role using errcode = 'RT422';
	elsif p_role is not distinct from v_ours then
		return false;
	elsif p_role is not null
		and (p_user ~ '^(rota_|pg_)' or p_user in ('postgres', 'public', 'none')
		or p_user !~ '^[a-z_][A-Za-z0-9_.-]{0,62}$') then
		raise exception '"%" cannot be the name of a login', p_user using errcode = 'RT422';
	elsif v_ours is null and v_there then
		raise exception 'the database has a role "%" already', p_user using errcode = 'RT409',
			hint = format('The database''s administrator can grant %s to it.', p_role);
	elsif p_role is null then
		execute format('revoke %I from %I', v_ours, p_user);
		execute format('drop role %I', p_user);
	elsif v_ours is null then
		execute format('create role %I login in role %I', p_user, p_role);
		perform login.bound(p_user), login.bound_sessions(p_user);
	else
		execute format('revoke %I from %I', v_ours, p_user);
		execute format('grant %I to %I', p_role, p_user);
	end if;
	return true;
exception when dependent_objects_still_exist then
	raise exception 'the role "%" owns objects in the database', p_user using errcode = 'RT409';
end $$;
comment on function login.person_set(text, text) is
	'Make a login that reads schema acct as a member of rota_analyst or rota_reader, or (p_role null) remove it. Returns '
	'whether anything changed. A role that this function did not make is left alone.';
revoke all on function login.person_set(text, text) from public;
create or replace function login.node_set(p_login text, p_verifier text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
	v_role constant text := 'rota_node_' || p_login;
	v_there constant boolean := exists (select from pg_roles where rolname = v_role);
begin
	if length(v_role) > 63 or p_login !~ '^[A-Za-z0-9][A-Za-z0-9_.-]*$' then
		raise exception '"%" cannot be the login of a node', p_login using errcode = 'RT422';
	elsif p_verifier is null and v_there then
		execute format('alter role %I nologin password null', v_role);
	elsif p_verifier is not null
		and p_verifier !~ '^SCRAM-SHA-256\$[0-9]{4,7}:[A-Za-z0-9+/=]{16,64}\$[A-Za-z0-9+/=]{44}:[A-Za-z0-9+/=]{44}$' then
		raise exception 'that is not the SCRAM-SHA-256 verifier of a password' using errcode = 'RT422';
	elsif p_verifier is not null then
		if not v_there then
			execute format('create role %I in role rota_nodes', v_role);
			execute format('comment on role %I is %L', v_role, 'procmgrd of the nodes with this login.');
			perform login.watch(v_role);
		end if;
		execute format('alter role %I login password %L connection limit 20', v_role, p_verifier);
	end if;
end $$;
comment on function login.node_set(text, text) is
	'Open a login of nodes, role rota_node_LOGIN, with p_verifier, the SCRAM-SHA-256 verifier of its password; or (null) '
	'close it. A daemon needs one session, and for a moment two; a thief of the password gets no more than 20.';
revoke all on function login.node_set(text, text) from public;
grant usage, create on schema login to rota_login;
grant execute on function login.bound(text), login.bound_sessions(text), login.watch(text) to rota_login;
grant set on parameter temp_file_limit, track_activities to rota_login;
alter function login.person_set(text, text) owner to rota_login;
alter function login.node_set(text, text) owner to rota_login;
revoke create on schema login from rota_login;
grant usage on schema login to rota_owner;
grant execute on function login.person_set(text, text), login.node_set(text, text) to rota_owner;
