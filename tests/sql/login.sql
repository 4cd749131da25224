-- Logins of nodes: for which nodes a session speaks, how a node moves to another login, and that each function of the process
-- managers refuses a session that speaks for other nodes.
begin;
\ir world.psql
\ir admin.psql
select * from no_plan();
-- t.as: the result of a statement that a role executes: its value, or the SQLSTATE.
create function t.as(p_role text, p_statement text) returns text language plpgsql as $$
declare
	v_answer text;
begin
	execute format('set local session authorization %I', p_role);
	execute p_statement into v_answer;
	set local session authorization default;
	return v_answer;
exception when others then
	return sqlstate;
end $$;
create function t.verifier() returns text language sql as $$
	select 'SCRAM-SHA-256$4096:' || repeat('A', 22) || '==$' || repeat('B', 43) || '=:' || repeat('C', 43) || '=' $$;
create function t.enroll(p_name text, p_values jsonb default '{}') returns text language sql as $$
	select t.admin('node', p_name, p_values || jsonb_build_object('verifier', t.verifier()), 'enroll') $$;
create function t.logins(p_name text) returns text language sql as $$
	select concat_ws(' ', coalesce(login, 'shared'), login_next) from rota.node where name = p_name $$;
create function t.renew(p_role text, variadic p_nodes int[]) returns text language sql as $$
	select t.as(p_role, format('select count(*) from api.node_renew(%L)', p_nodes)) $$;
create function t.register(p_role text, p_name text) returns text language sql as $$
	select t.as(p_role, format('select name from api.node_register(%L)', jsonb_build_object('nodes', jsonb_build_array(jsonb_build_object('name', p_name, 'boot_id', 'b', 'version', 'v', 'address', 'here',
		'found', '{"cpus": 4, "mem_mb": 4000}'::jsonb, 'lease_s', 30, 'margin_s', 60, 'attempts', '[]'::jsonb, 'reported', '[]'::jsonb))))) $$;

-- Nodes of older versions have no login of their own: rota_node speaks for them until they have moved to one.
update rota.node set login = null;
select is(t.logins('n1'), 'shared', 'a node of before has none');
select is(t.register('rota_node', 'n1'), 'n1', 'and is served as before');
select is(t.enroll('n1'), 'true', 'it is enrolled');
select is(t.logins('n1'), 'shared n1', 'and is to move');
select is(t.renew('rota_node', 1), '1', 'until it registers, the login of before serves it');
select is(t.register('rota_node_n1', 'n1'), 'n1', 'it registers with its own');
select is(t.logins('n1'), 'n1', 'and has moved');
select is(t.renew('rota_node', 1), '28000', 'the login of before serves it no more');
select is(t.renew('rota_node_n1', 1), '1', 'its own does');
select is(t.enroll('n1'), 'true', 'a new password');
select is(t.logins('n1'), 'n1', 'is no move');
select is(t.enroll('n2'), 'true', 'another node');
select is(t.register('rota_node_n2', 'n2'), 'n2', 'likewise');

-- A login for several nodes.
select is(t.admin('node', 'r[1-3]', '{"cpus": "1", "mem": "100M", "login": "relay"}', 'create'), 'true', 'nodes of a relay');
select is(t.logins('r2'), 'relay', 'name its login');
select is(t.enroll('r[1-3]'), 'true', 'which is opened once for all');
select is((select array_agg(t.register('rota_node_relay', n) order by n) from unnest('{r1,r2,r3}'::text[]) n), '{r1,r2,r3}', 'and registers them all');
select is(t.enroll('r[1-2]', '{"login": "other"}'), 'true', 'two of them move');
select is(t.logins('r1') || ' ' || t.logins('r3'), 'relay other relay', 'and the third stays');
select is(t.register('rota_node_other', 'r3'), '28000', 'where it is');
select is(t.register('rota_node_n1', 'r1'), '28000', 'nobody else may take one over');
select is(t.logins('r1'), 'relay other', 'or move it');
select is(t.enroll('n[1-2]'), 'RT422 one login needs one verifier of a password', 'one password for two logins');
select is(t.admin('node', 'n1', '{}', 'enroll'), 'RT422 one login needs one verifier of a password', 'none');
select is(left(t.admin('node', 'n1', '{"verifier": "secret"}', 'enroll'), 50), 'RT422 that is not the SCRAM-SHA-256 verifier of a ', 'a password in the clear is refused');
select is(left(t.admin('node', 'n1', '{"verifier": "x", "cpus": "3"}', 'enroll'), 5), 'RT422', 'and any other value');
select is(left(t.enroll('nix'), 5), 'RT404', 'no such node');
select is(left(t.admin('node', repeat('n', 60), '{"cpus": "1", "mem": "1"}', 'create'), 5), 'RT422', 'a name that is too long for a login');
select is(t.admin('node', repeat('n', 60), '{"cpus": "1", "mem": "1", "login": "short"}', 'create'), 'true', 'has a shorter one');
select is(left(t.admin('node', 'n1', '{"login": "relay"}'), 5), 'RT422', 'a node moves by being enrolled');
select is((select count(*) from rota.admin_event e where e.action = 'enroll' and e.given::text ~ 'SCRAM'), 0::bigint, 'no verifier is recorded');
select is((select e.given from rota.admin_event e where e.action = 'enroll' and e.name = 'n2'), '{"logins": ["n2"]}', 'the enrolment is');

-- Each function: the session of node n1 passes node n2.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a', '{2}') \g /dev/null
select order_id as o from rota.node_order where job_id = :j \gset
select is(t.as('rota_node_n1', s), '28000', 'n1: ' || s) from unnest(array[
	'select count(*) from api.node_orders(array[2], array[]::bigint[], 10)', 'select count(*) from api.node_orders(array[1, 2], array[]::bigint[], 10)',
	'select count(*) from api.node_renew(array[2])', 'select count(*) from api.node_sampled(2)',
	'select api.node_sample(''{"node": 2, "boot_us": 0, "rounds": []}'')',
	format('select new_count from api.node_report(%L, ''[]'', false)', t.booted(t.reports(false, t.say(:'j' || '.a', 'keeper')))),
	format('select new_count from api.node_report(%L, ''[]'', true)', t.booted(jsonb_build_object('records', '[]'::jsonb, 'orders_done', jsonb_build_array(:o)))),
	format('select new_count from api.node_report(%L, ''[]'', false)', jsonb_build_object('boot_us', 0, 'records', '[]'::jsonb, 'orders_done', '[]'::jsonb, 'ready', jsonb_build_array(jsonb_build_object('job', :j, 'step', 0, 'attempt', 1, 'at_us', 1, 'nodes', '[2]'::jsonb)))),
	format('select new_count from api.node_report(%L, %L, false)', '{"boot_us": 0, "records": [], "orders_done": []}', jsonb_build_array(jsonb_build_object('kind', 'life', 'node', 2, 'job', :j, 'step', 0, 'attempt', 1))),
	'select api.daemon_register(''procmgrd'', ''n2'', 1, ''v'')', 'select api.daemon_register(''jobmgrd'', ''n1'', 1, ''v'')', 'select api.daemon_register(''procmgrd'', ''nix'', 1, ''v'')']) s;
insert into rota.report_deferred (node_id, job_ids, report) select 2, array[:j], t.booted(t.reports(false, t.say(:'j' || '.a', 'keeper'))) || '{"coalesced": []}' returning deferred_id as d \gset
select is(t.as('rota_node_n1', format('select new_count from api.node_apply(%s)', :'d')), '28000', 'n1: api.node_apply');
select is(t.as('rota_node_n2', format('select new_count from api.node_apply(%s)', :'d')), '1', 'n2 may');
select is(t.as('rota_node_n2', 'select count(*) from api.node_orders(array[2], array[]::bigint[], 10)'), '1', 'n2 has an order');
create function t.blobs(p_role text) returns text language sql as $$
	select t.as(p_role, 'select count(*) from api.node_blob(array[sha256(''#!/bin/bash''), sha256(''\x413d6200''), ''\x''])') $$;
select is(t.blobs('rota_node_n2'), '2', 'and gets its script and environment');
select is(t.blobs('rota_node_n1'), '0', 'which nobody else gets');
select is(t.as('rota_node_n2', 'select coalesce(max(1), 0) from api.daemon_register(''procmgrd'', ''n2'', 1, ''v'')'), '1', 'it is the process manager of its node');
select is(t.as('rota_node_n2', format('select new_count from api.node_report(%L, ''[]'', false)', t.booted(t.reports(false, t.say(:'j' || '.a', 'keeper')) || jsonb_build_object('orders_done', jsonb_build_array(:o))))), '1', 'and reports');
select is((select count(*) from rota.node_order where order_id = :o), 0::bigint, 'what it has fetched');
select is(t.blobs('rota_node_n2'), '0', 'whose script it gets no more');
select is(t.as('rota_jobmgr', 'select count(*) from api.node_renew(array[1])'), '42501', 'who is no process manager may not call them at all');

-- A login that is revoked or deleted.
select is((select rolcanlogin from pg_roles where rolname = 'rota_node_n2'), true, 'a login that is open');
select is((select rolconnlimit from pg_roles where rolname = 'rota_node_n2'), 20, 'with a limit of its sessions');
select is(t.admin('node', 'n2', '{}', 'revoke'), 'true', 'is revoked');
select is((select rolcanlogin from pg_roles where rolname = 'rota_node_n2'), false, 'and closed');
select is((select rolpassword from pg_authid where rolname = 'rota_node_n2'), null, 'without a password');
select is(left(t.admin('node', 'n3', '{}', 'revoke'), 5), 'RT409', 'a node without a login of its own');
select is(t.enroll('n2'), 'true', 'it is enrolled anew');
select is((select rolcanlogin from pg_roles where rolname = 'rota_node_n2'), true, 'and open');
select is(t.admin('node', 'r3', '{}', 'delete') || (select rolcanlogin from pg_roles where rolname = 'rota_node_relay'), 'truetrue', 'a login that another node names stays open');
select t.admin('node', n, '{}', 'delete') from unnest('{r1,r2}'::text[]) n \g /dev/null
select is((select string_agg(rolname, ' ') from pg_roles where rolname in ('rota_node_relay', 'rota_node_other') and rolcanlogin), null, 'and is closed with the last one');
select is(t.as('rota_owner', 'select login.node_set(''jobmgr; drop'', null)'), 'RT422', 'a login is no SQL');
select is(t.as('rota_jobmgr', 'select login.node_set(''n1'', null)'), '42501', 'and nobody else makes one');
select t.right('logins');
select * from finish();
rollback;
