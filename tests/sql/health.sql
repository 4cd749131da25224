-- Checks of the health of nodes: which run, what follows from their ends, and how many nodes they drain.
begin;
\ir world.psql
select * from no_plan();
select api.leader_claim('hook', 60) as hook \gset
create function t.hook() returns bigint language sql as $$ select term from rota.leader where name = 'hook' $$;
create function t.admin(p_action text, p_name text, p_values jsonb default '{}', p_object text default 'check') returns text language plpgsql as $$
begin
	return api.admin_change(0, 'root', jsonb_build_object('object', p_object, 'action', p_action, 'name', p_name, 'values', p_values)) ->> 'changed';
exception when sqlstate 'RT409' or sqlstate 'RT422' or sqlstate 'RT404' then
	return sqlstate || ' ' || sqlerrm;
end $$;
-- t.take: plan the checks, make all of them due, and return those that runnerd takes.
create function t.take(p_have bigint[] default '{}') returns text language plpgsql as $$
begin
	perform api.reboot_judge();
	update rota.node_health set due_at = clock_timestamp();
	return (select string_agg(concat_ws(' ', label || ':', program, action, node, prep, args, timeout_s), ', ' order by run_id) from api.check_take(t.hook(), p_have, 100));
end $$;
-- t.report: end all running checks with this code and output, and return the states of the nodes.
create function t.report(p_code int, p_output text, p_node int default null) returns text language plpgsql as $$
declare
	v_ids bigint[] := array(select h.health_id from rota.node_health h where h.began_at is not null and (p_node is null or h.node_id = p_node) order by h.health_id);
begin
	perform api.check_report(t.hook(), v_ids, array(select p_code from unnest(v_ids)),
		array(select case when p_code is distinct from 0 then 'ended with exit code ' || coalesce(p_code, -1) end from unnest(v_ids)), array(select p_output from unnest(v_ids)));
	return (select string_agg(concat_ws(' ', n.name, n.state, n.reason), ', ' order by n.node_id) from rota.node n where n.node_id <= 4);
end $$;
create function t.says(p_node int) returns text language sql as $$
	select string_agg(concat_ws(' ', name, state, message, runs), ', ' order by name) from rota.node_health where node_id = p_node $$;
select t.back(i) from generate_series(1, 4) i \g /dev/null

-- Checks are objects of administrators.
select is(t.admin('create', 'disk'), 'RT422 a check needs "program"', 'not without a program');
select is(t.admin('create', 'disk', '{"program": "../disk"}') like 'RT422%', true, 'nor with a path');
select is(t.admin('create', 'disk', '{"program": "disk", "action": "kill"}') like 'RT422%', true, 'nor may it do anything else');
select is(t.admin('create', 'disk', '{"program": "disk", "period": "2:00", "timeout": "0:30"}'), 'true', 'one');
select throws_ok($$select api.admin_change(t.uid('alice'), 'alice', '{"object": "check", "action": "create", "name": "y", "values": {"program": "x"}}')$$, 'RT403', null, 'users make none');
select throws_ok($$select api.node_health(t.uid('alice'), 'alice', '{}')$$, 'RT403', null, 'nor do they read what it says');
select throws_ok($$insert into rota.node_check (name, program) values ('x', 'a/b')$$, '23514', null, 'no row names another folder');

-- A check runs on each node that serves.
select is(t.take(), 'check disk of node n1: disk check n1 disk 30, check disk of node n2: disk check n2 disk 30, check disk of node n3: disk check n3 disk 30, check disk of node n4: disk check n4 disk 30', 'for all nodes');
select is(t.take(array(select health_id from rota.node_health)), null, 'once at a time');
select is(t.take() is not null, true, 'what another runnerd had taken runs again');
select throws_ok($$select api.check_take(t.hook() - 1, '{}', 9)$$, 'RT412', null, 'not for an old runnerd');
select is(t.report(0, E'fine\nreally'), 'n1 up, n2 up, n3 up, n4 up', 'all are healthy');
select is(t.says(1), 'disk healthy fine 1', 'the first line is kept');
select is((select due_at between clock_timestamp() + interval '1 minute' and clock_timestamp() + interval '3 minutes' from rota.node_health where node_id = 1), true, 'due again after the period');
select t.report(1, 'bad') \g /dev/null
select is(t.says(1), 'disk healthy fine 1', 'a repeated report changes nothing');
update rota.node set power = 'powering_off' where node_id = 2;
update rota.node_lease set lost_at = now() where node_id = 3;
select is(t.take(), 'check disk of node n1: disk check n1 disk 30, check disk of node n4: disk check n4 disk 30', 'not for a node that is not on, or is lost');
update rota.node set power = 'on' where node_id = 2;
update rota.node_lease set lost_at = null where node_id = 3;

-- A check that may only report drains no node.
select is(t.report(1, 'full', 1), 'n1 up, n2 up, n3 up, n4 up', 'it reports only');
select is(t.says(1), 'disk unhealthy full 2', 'but that');
select is((select string_agg(from_state || ' ' || to_state, ', ' order by event_id) from rota.node_health_event where node_id = 1), 'unknown healthy, healthy unhealthy', 'changes are rows');
select is((select count(*) from rota.node_health_event where node_id = 4), 1::bigint, 'runs are not');
select is(t.admin('change', 'disk', '{"action": "drain"}'), 'true', 'it may drain');
select t.take() \g /dev/null
select is(t.report(null, '', 2), 'n1 up, n2 up, n3 up, n4 up', 'a check that was killed says nothing');
select is(t.says(2), 'disk error ended with exit code -1 2', 'but that');
select is(t.report(2, 'no such host', 3), 'n1 up, n2 up, n3 up, n4 up', 'nor one that fails otherwise');
select is(t.report(1, 'full'), 'n1 drain check disk: full, n2 up, n3 up, n4 up', 'one node of four at most is drained');
select is(t.says(4), 'disk unhealthy full 2', 'the other is only reported');
update rota.setting set value = '50' where name = 'check_drained_percent';
select t.take() \g /dev/null
select is(t.report(1, 'full'), 'n1 drain check disk: full, n2 drain check disk: full, n3 up, n4 up', 'more may be');
select t.take() \g /dev/null
select is(t.report(0, ''), 'n1 drain check disk: full, n2 drain check disk: full, n3 up, n4 up', 'it does not resume them');
select is(t.admin('change', 'disk', '{"action": "resume"}'), 'true', 'it may');
select t.admin('drain', 'n1', '{"reason": "mine"}', 'node'), t.take() \g /dev/null
select is(t.report(0, ''), 'n1 drain mine, n2 up, n3 up, n4 up', 'but not what somebody else has drained');
select is((select string_agg(actor || ' ' || to_state, ', ' order by node_event_id) from rota.node_event where node_id = 2 and actor like 'check:%'), 'check:disk drain, check:disk up', 'by the check');

-- Nodes and checks that come and go.
select is(t.admin('change', 'disk', '{"feature": "big"}'), 'true', 'only for some nodes');
select is(t.take(), null, 'there is none');
select t.admin('change', 'n4', '{"features": "big"}', 'node') \g /dev/null
select is(t.take(), 'check disk of node n4: disk check n4 disk 30', 'now there is');
select is((select count(*) from rota.node_health), 1::bigint, 'others are forgotten');
select is(jsonb_path_query_array(api.node_health(0, 'root', '{"nodes": "n4"}'), '$.health[*].state'), '["unknown"]', 'operators read it');
select is((select string_agg(concat_ws(' ', node, name, state), ', ') from acct.node_health), 'n4 disk unknown', 'and analysts');
select is(t.admin('delete', 'disk'), 'true', 'deleted');
select is(t.report(1, 'late'), 'n1 drain mine, n2 up, n3 up, n4 up', 'its end is too late');
select is((select count(*) from rota.node_health), 0::bigint, 'nothing is left');
select t.right('all this');
select * from finish();
rollback;
