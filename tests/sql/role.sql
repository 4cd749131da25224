-- Roles: each connects, can execute what its work takes, and nothing else. ROTA_TOP: the source tree, for lib/api.def.
begin;
\set ON_ERROR_STOP 1
\set QUIET 1
\pset format unaligned
\pset tuples_only on
set client_min_messages = warning;
create extension if not exists pgtap schema tap;
create extension if not exists dblink schema tap;
set search_path = public, tap;
select * from no_plan();
\set def `cat "${ROTA_TOP:-.}/lib/api.def"`
create schema t;
create table t.role as
select r as role, 'host=' || split_part(current_setting('unix_socket_directories'), ',', 1) || ' port=' || current_setting('port') || ' dbname=' || current_database() || ' user=' || r as conninfo
from unnest('{rota_owner,rota_jobmgr,rota_jobmgr_leader,rota_jobmgr_admin,rota_node,rota_nodemgr,rota_runner,rota_analyst,rota_admin}'::text[]) r;
-- The functions that lib/api.def lists, each with the roles that may call it.
create table t.def as
select m[1] as name, format('api.%s(%s)', m[1], m[2])::regprocedure as function, 'rota_' || lower(r[1]) as role
from regexp_matches(:'def', 'API\((\w+), "([^"]*)", ([A-Z_ |]+)\)', 'g') m
cross join regexp_matches(m[3], 'API_(\w+)', 'g') r;
select cmp_ok((select count(*) from t.def), '>', 40::bigint, 'lib/api.def is read');

-- t.try: the result of a statement that a role executes: ok, or the SQLSTATE. The statement is rolled back.
create function t.try(p_role text, p_statement text) returns text language plpgsql as $$
begin
	perform dblink_exec(p_role, 'begin');
	begin
		perform * from dblink(p_role, p_statement || ' limit 0') x (y text);
		perform dblink_exec(p_role, 'rollback');
		return 'ok';
	exception when others then
		perform dblink_exec(p_role, 'rollback');
		return case when sqlerrm ~ 'number of columns|structure of query' then 'ok' else sqlstate end;
	end;
end $$;
-- t.judge: the same, but the statement is not executed: EXPLAIN asks for the privileges that it needs, in one round trip.
create function t.judge(p_role text, p_statement text) returns text language plpgsql as $$
begin
	perform * from dblink(p_role, 'explain ' || p_statement) x (y text);
	return 'ok';
exception when others then
	return sqlstate;
end $$;
create function t.say(p_role text, p_statement text) returns text language plpgsql as $$
declare
	v_state text := 'ok';
begin
	perform dblink_exec(p_role, 'begin read write');
	begin
		perform dblink_exec(p_role, p_statement);
	exception when others then
		v_state := sqlstate;
	end;
	perform dblink_exec(p_role, 'rollback');
	return v_state;
end $$;
select is(dblink_connect(role, conninfo), 'OK', role || ' connects') from t.role;
select is((select u from dblink(role, 'select session_user::text') x (u text)), role, role || ' is itself') from t.role;

-- Functions, each tried by each role.
create table t.call as
select r.role, p.oid::regprocedure as function, format('select %s(%s)', p.oid::regproc, (select string_agg('null::' || format_type(a, null), ', ' order by nr) from unnest(p.proargtypes) with ordinality x (a, nr))) as statement,
	exists (select from t.def d where d.role = r.role and d.function = p.oid) as allowed, p.proisstrict as strict
from t.role r
cross join pg_proc p
where r.role <> 'rota_owner' and p.pronamespace::regnamespace::text in ('api', 'internal', 'rota', 'login') and p.prorettype <> 'trigger'::regtype;
select cmp_ok((select count(*) from t.call where allowed), '>', 40::bigint, 'calls to try');
select is_empty($$select role, function, allowed from t.call
	where (has_function_privilege(role, function, 'execute') and has_schema_privilege(role, split_part(function::text, '.', 1), 'usage')) is distinct from allowed
	order by role, function::text$$, 'each role has the privileges for its calls, and no others');
select is_empty($$select role, function from t.call where not allowed and t.judge(role, statement) <> '42501' order by role, function::text$$,
	'all other calls are refused');
-- (a strict function is not called with null arguments)
select is_empty($$select role, function from t.call where allowed and not strict and t.try(role, statement) = '42501' order by role, function::text$$,
	'no call of a role is refused');
-- Two functions that rota_runner shares with other roles: it may claim leadership of hooks only, and register as runnerd only.
select is(t.say('rota_runner', format('do $do$ begin perform api.%s; end $do$', s)), e, 'rota_runner: ' || s)
from (values ('leader_claim(''schedule'', 3)', '28000'), ('leader_claim(''hook'', 3)', 'ok'), ('daemon_register(''procmgrd'', ''n1'', 1, '''')', '28000'),
	('daemon_register(''jobmgrd'', ''1'', 1, '''')', '28000'), ('daemon_register(''runnerd'', ''1'', 1, '''')', 'ok')) x (s, e);
select is_empty('select function from t.def d where not exists (select from pg_proc p where p.oid = d.function and p.prosecdef)', 'what daemons call runs as the owner');
select is_empty($$select p.oid::regprocedure from pg_proc p where p.pronamespace::regnamespace::text = 'api' and not exists (select from t.def d where d.function = p.oid)$$,
	'nothing else is in schema api');
select is_empty($$select p.oid::regprocedure from pg_proc p where p.pronamespace::regnamespace::text = 'internal' and p.prosecdef$$, 'nor does anything else run as the owner');
select is_empty($$select r.rolname from pg_roles r where has_schema_privilege(r.oid, 'internal', 'usage') and r.rolname <> 'rota_owner' and r.rolname !~ '^pg_' and not r.rolsuper$$,
	'schema internal is the owner''s alone');

-- Tables, each read and written by each role.
create table t.relation as
select r.role, c.oid::regclass as relation, c.relnamespace::regnamespace::text as space, c.relkind,
	(select format('%I', a.attname) from pg_attribute a where a.attrelid = c.oid and a.attnum = 1) as first_column
from t.role r
cross join pg_class c
where r.role <> 'rota_owner' and c.relnamespace::regnamespace::text in ('rota', 'acct') and c.relkind in ('r', 'p', 'v');
select cmp_ok((select count(*) from t.relation), '>', 1000::bigint, 'tables to try');
select is_empty($$select role, relation, says from t.relation
	cross join lateral (select t.judge(role, format('select %s from %s', first_column, relation)) as says) j
	where says is distinct from case
		when space = 'acct' and role in ('rota_analyst', 'rota_admin') then 'ok'
		when space = 'rota' and role = 'rota_admin' and relation::text not in ('rota.script', 'rota.environment', 'rota.client_key')
			and not (select relispartition from pg_class where oid = relation) then 'ok'
		else '42501' end order by role, relation::text$$, 'each role reads tables only if it may');
select is_empty($$select role, relation from t.relation where t.judge(role, format('update %s set %s = %s', relation, first_column, first_column)) = 'ok'
	order by role, relation::text$$, 'no role changes a table');
select is_empty($$select role, relation from t.relation where relkind <> 'v' and t.judge(role, format('delete from %s', relation)) = 'ok'
	order by role, relation::text$$, 'no role deletes from a table');
select is(t.try('rota_admin', 'select ' || c), '42501', 'rota_admin does not see ' || c)
from unnest('{spec from rota.step_request,auth from rota.step_request,body from rota.script,body from rota.environment,body from rota.node_order,signature from rota.node_order,body from rota.launch_text,signature from rota.launch_text,* from rota.step_request}'::text[]) c;

-- No role but the owner may create objects.
select is(t.say(role, s), '42501', role || ' is refused: ' || s)
from t.role cross join unnest('{create table public.x (),create table api.x (),create schema x,create role x,create temporary table x (),create function public.x() returns int return 1}'::text[]) s
where role <> 'rota_owner' order by role, s;
select is(t.say('rota_owner', 'create role x'), '42501', 'not even the owner makes roles');
select is_empty($$select c.oid::regclass from pg_class c where c.relnamespace::regnamespace::text in ('rota', 'api', 'internal', 'live', 'acct') and c.relowner <> 'rota_owner'::regrole$$, 'all relations belong to the owner');
select is_empty($$select p.oid::regprocedure from pg_proc p where p.pronamespace::regnamespace::text in ('rota', 'api', 'internal', 'acct') and p.proowner <> 'rota_owner'::regrole$$, 'and all functions');
select is_empty($$select rolname from pg_roles where rolname ~ '^rota_' and (rolsuper or rolbypassrls or rolcreatedb or rolreplication or (rolcreaterole and (rolname <> 'rota_login' or rolcanlogin)))$$, 'no role has more than it needs');
select is_empty($$select c.oid::regclass from pg_class c cross join aclexplode(c.relacl) a where c.relnamespace::regnamespace::text in ('rota', 'api', 'internal', 'live', 'acct') and a.grantee = 0$$, 'public has nothing on relations');
select is_empty($$select p.oid::regprocedure from pg_proc p cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
	where p.pronamespace::regnamespace::text in ('rota', 'api', 'internal', 'acct', 'login') and a.grantee = 0$$, 'and nothing on functions');

-- Analysts: time limits, read only; an analyst's login is created and dropped with the user's entry.
select is((select v from dblink('rota_analyst', format('select current_setting(%L)', s)) x (v text)), v, 'rota_analyst: ' || s)
from unnest('{statement_timeout,idle_in_transaction_session_timeout,default_transaction_read_only,temp_file_limit}'::text[], '{5min,1min,on,4GB}'::text[]) y (s, v);
create function t.admin(p_request text) returns text language sql as $$
	select v from dblink('rota_jobmgr_admin', format('select api.admin_change(0, ''root'', %L)::text', p_request)) x (v text);
$$;
select is(t.admin('{"object": "user", "action": "create", "name": "test_ana", "values": {"analyst": "true"}}')::jsonb ->> 'changed', 'true', 'an analyst is made');
select is(dblink_connect('ana', (select replace(conninfo, 'rota_analyst', 'test_ana') from t.role where role = 'rota_analyst')), 'OK', 'connects');
select is(t.try('ana', 'select job_id from acct.job'), 'ok', 'reads acct');
select is(t.try('ana', 'select job_id from rota.job'), '42501', 'and not rota');
select is(t.say('ana', 'create temporary table x ()'), '42501', 'and makes nothing');
select is((select v from dblink('ana', 'select current_setting(''statement_timeout'')') x (v text)), '5min', 'with the time limits');
select is((select v from dblink('ana', 'select current_setting(''temp_file_limit'')') x (v text)), '4GB', 'and that of temporary files');
select is(t.say('ana', 'set temp_file_limit = -1'), '42501', 'which they cannot lift');
-- A long transaction is ended, active or idle; a short one and one of another role are not.
select dblink_exec('ana', 'begin'), dblink_exec('rota_admin', 'begin') \g /dev/null
select n from dblink('ana', 'select count(*) from acct.job') x (n bigint) \g /dev/null
select is((select count(*) from dblink('rota_jobmgr_leader', 'select who from api.session_judge(600)') x (x text)), 0::bigint, 'one that may last ten minutes goes on');
select is(t.admin('{"object": "setting", "action": "change", "name": "reader_transaction_s", "values": {"value": "1"}}')::jsonb ->> 'changed', 'true', 'a transaction may last a second');
select pg_sleep(1.1) \g /dev/null
select is((select string_agg(x, ' ') from dblink('rota_jobmgr_leader', 'select who from api.session_judge(600)') x (x text)), 'test_ana', 'one that lasts is ended');
select throws_ok($$select n from dblink('ana', 'select count(*) from acct.job') x (n bigint)$$, '08006', null, 'with its session');
select is(dblink_exec('rota_admin', 'rollback'), 'ROLLBACK', 'others are left alone');
select is(t.admin('{"object": "setting", "action": "change", "name": "reader_transaction_s", "values": {"value": "600"}}')::jsonb ->> 'changed', 'true', 'ten minutes again');
select is(dblink_disconnect('ana'), 'OK', 'leaves');
select is(t.admin('{"object": "user", "action": "change", "name": "test_ana", "values": {"analyst": "false"}}')::jsonb ->> 'changed', 'true', 'no analyst any more');
select is_empty($$select rolname from pg_roles where rolname = 'test_ana'$$, 'the login is gone');
select throws_ok(format('select t.admin(%L)', format('{"object": "user", "action": "create", "name": "%s", "values": {"analyst": "true"}}', n)), s, null, n || ' is not made')
from unnest('{rota_owner,rota_x,pg_monitor,Upper}'::text[], '{RT422,RT422,RT422,RT422}'::text[]) x (n, s);
select is(t.admin('{"object": "user", "action": "delete", "name": "test_ana"}')::jsonb ->> 'changed', 'true', 'the entry goes');
select is(dblink_disconnect(role), 'OK', role || ' leaves') from t.role;
select * from finish();
rollback;
