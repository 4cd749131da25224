-- Rolling changes: so many nodes at a time, waiting nodes are not touched, failures stop the change, and it can be cancelled.
begin;
\ir world.psql
select * from no_plan();
select api.leader_claim('hook', 60) as hook \gset
create function t.roll(p_user text, p_request jsonb) returns text language plpgsql as $$
declare
	v_answer jsonb;
begin
	v_answer := api.rolling(t.uid(p_user), p_user, p_request);
	return concat_ws(' ', v_answer #>> '{changes,0,state}', v_answer #>> '{changes,0,at_most}', v_answer #>> '{changes,0,nodes}');
exception when sqlstate 'RT403' or sqlstate 'RT409' or sqlstate 'RT422' or sqlstate 'RT404' then
	return sqlstate || ' ' || sqlerrm;
end $$;
create function t.hook() returns bigint language sql as $$ select term from rota.leader where name = 'hook' $$;
create function t.look() returns text language sql as $$
	select string_agg(concat_ws(' ', node, from_state, to_state, reason), ', ' order by node) from api.reboot_judge() $$;
-- t.report: the due programs end with this failure, or without one.
create function t.report(p_failure text default null) returns void language plpgsql as $$
declare
	v_open bigint[];
begin
	perform api.power_take(t.hook(), '{}', 100);
	v_open := array(select run_id from rota.power_run where ended_at is null order by run_id);
	perform api.power_report(t.hook(), v_open, array(select 0 from unnest(v_open)), array(select p_failure from unnest(v_open)), array(select '' from unnest(v_open)));
end $$;
create function t.boot(p_node int, p_boot text, p_image text) returns int language sql as $$
	select t.back(p_node, jsonb_build_object('boot_id', p_boot, 'image', p_image)) $$;
create function t.nodes() returns text language sql as $$
	select string_agg(concat_ws(' ', name, state, image, default_image), ', ' order by node_id) from rota.node where node_id <= 4 $$;
create function t.last() returns bigint language sql as $$ select max(change_id) from rota.rolling_change $$;
create function t.roll_states(p_change bigint) returns text language sql as $$
	select concat_ws(' ', c.state, string_agg(w.state, ' ' order by w.node_id)) from rota.rolling_change c join rota.rolling_node w using (change_id)
	where c.change_id = p_change group by c.change_id $$;
select api.admin_change(0, 'root', jsonb_build_object('object', 'image', 'action', 'create', 'name', i)) from unnest(array['el8', 'el9']) i \g /dev/null
select t.boot(i, 'first', 'el8') from generate_series(1, 4) i \g /dev/null
select api.admin_change(0, 'root', '{"object": "node", "action": "change", "name": "n[1-4]", "values": {"default_image": "el8"}}') \g /dev/null

-- Users that may make a rolling change, and its options.
select is(t.roll('alice', '{"action": "start", "image": "el9", "at_most": "1"}') like 'RT403%', true, 'users may not');
select is(t.roll('alice', '{"action": "list"}') like 'RT403%', true, 'not even look');
select is(t.roll('root', '{"action": "start", "at_most": "1"}') like 'RT422 a rolling change needs either an image%', true, 'to what');
select is(t.roll('root', '{"action": "start", "at_most": "1", "image": "el9", "reboot": true}') like 'RT422 a rolling change needs either an image%', true, 'not both');
select is(t.roll('root', '{"action": "start", "image": "el9"}') like 'RT422 say how many%', true, 'how many');
select is(t.roll('root', format('{"action": "start", "image": "el9", "at_most": "%s"}', x)::jsonb) like 'RT422%', true, 'not so many: ' || x)
from unnest(array['0', '0%', '101%', '-1', 'x', '1.5', '9999999']) x;
select is(t.roll('root', '{"action": "start", "image": "el7", "at_most": "1"}') like 'RT404%', true, 'no image that there is not');
select is(t.roll('root', '{"action": "start", "image": "el9", "at_most": "1", "nodes": "n[1-99]"}') like 'RT404%', true, 'no node that there is not');
select is(t.roll('root', '{"action": "cancel", "change": "99"}') like 'RT404%', true, 'none to cancel');
select is(t.roll('root', '{"action": "cancel", "change": "x"}') like 'RT422%', true, 'by its number');
select is((select count(*) from rota.rolling_change), 0::bigint, 'nothing was written');

-- Half of the nodes at a time, and idle ones first.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a', '{1}'), t.run(:'j' || '.a') \g /dev/null
select is(t.roll('root', '{"action": "start", "image": "el9", "at_most": "50%", "nodes": "n[1-4]", "reason": "new image"}'), 'running 2 {"waiting": ["n1", "n2", "n3", "n4"]}', 'all wait');
select is(t.roll('root', '{"action": "start", "reboot": true, "at_most": "1", "nodes": "n4"}') like format('RT409 node "n4" is in rolling change %s already%%', t.last()), true, 'a node is in one');
select is(t.nodes(), 'n1 up el8 el8, n2 up el8 el8, n3 up el8 el8, n4 up el8 el8', 'nothing is touched yet');
select t.look() \g /dev/null
select is(t.nodes(), 'n1 up el8 el8, n2 drain el8 el8, n3 drain el8 el8, n4 up el8 el8', 'two idle ones');
select t.look() \g /dev/null
select is(t.roll_states(t.last()), 'running waiting changing changing waiting', 'no more');
select t.report(), t.boot(2, 'second', 'el9'), t.look() \g /dev/null
select is(t.nodes(), 'n1 up el8 el8, n2 up el9 el9, n3 drain el8 el8, n4 up el8 el8', 'one has it, and by default');
select t.look() \g /dev/null
select is(t.nodes(), 'n1 up el8 el8, n2 up el9 el9, n3 drain el8 el8, n4 drain el8 el8', 'the next idle one');
select t.look(), t.report(), t.boot(3, 'second', 'el9'), t.boot(4, 'second', 'el9'), t.look(), t.look() \g /dev/null
select is(t.nodes(), 'n1 drain el8 el8, n2 up el9 el9, n3 up el9 el9, n4 up el9 el9', 'then the busy one');
select is((select state from acct.step where job_id = :j), 'running', 'its step goes on');
select t.look() \g /dev/null
select is((select count(*) from rota.power_run where ended_at is null), 0::bigint, 'and no program runs');
select t.finish(:'j' || '.a'), t.look(), t.report(), t.boot(1, 'second', 'el9'), t.look(), t.look() \g /dev/null
select is(t.roll_states(t.last()), 'done done done done done', 'all are over');
select t.right('a change of all nodes');

-- Failures stop the change; nodes that have not begun are given back.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a', '{3}'), t.run(:'j' || '.a') \g /dev/null
select is(t.roll('root', '{"action": "start", "reboot": true, "at_most": "3", "nodes": "n[1-4]", "failures": "2"}'), 'running 3 {"waiting": ["n1", "n2", "n3", "n4"]}', 'booted again');
select t.look() \g /dev/null
select is(t.roll_states(t.last()), 'running changing changing waiting changing', 'three idle ones');
select t.look() \g /dev/null
update rota.node set state = 'drain', reason = 'mine' where node_id = 4;
select t.report('no answer'), t.look(), t.look() \g /dev/null
select is(t.roll_states(t.last()), 'stopped failed failed cancelled failed', 'stopped');
select is((select message from rota.rolling_change where change_id = t.last()), '2 nodes failed', 'with the reason');
select is((select string_agg(concat_ws(' ', name, state, reason), ', ' order by node_id) from rota.node where node_id <= 4),
	'n1 drain could not be rebooted: no answer, n2 drain could not be rebooted: no answer, n3 up, n4 drain mine', 'nodes that failed are drained, others are as before');

-- Cancelled: nodes that wait for their steps are given back, nodes that boot go on.
select api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n[1-4]"}') \g /dev/null
select t.roll('root', '{"action": "start", "reboot": true, "at_most": "100%", "nodes": "n[1-4]"}'), t.look(), t.look() \g /dev/null
select is((select string_agg(state, ' ' order by node_id) from rota.node where node_id <= 4), 'drain drain drain drain', 'all at a time');
select is(t.roll('root', format('{"action": "cancel", "change": "%s"}', t.last())::jsonb), 'cancelled 4 {"changing": ["n1", "n2", "n4"], "cancelled": ["n3"]}', 'cancelled');
select is((select state from rota.node where node_id = 3), 'up', 'given back');
select is(t.roll('root', format('{"action": "cancel", "change": "%s"}', t.last())::jsonb), 'cancelled 4 {"changing": ["n1", "n2", "n4"], "cancelled": ["n3"]}', 'once more changes nothing');
select t.report(), t.boot(i, 'third', 'el9') from unnest('{1,2,4}'::int[]) i \g /dev/null
select t.look() \g /dev/null
select is(t.roll_states(t.last()), 'cancelled done done cancelled done', 'what had begun has ended');
select is((select string_agg(state, ' ' order by node_id) from rota.node where node_id <= 4), 'up up up up', 'all serve');
select t.right('all this');

select t.last() as before \gset
-- A node that has the image already, a node that is deleted, a node that is down.
select t.finish(:'j' || '.a') \g /dev/null
update rota.node set state = 'down' where node_id = 2;
select api.admin_change(0, 'root', '{"object": "node", "action": "change", "name": "n1", "values": {"default_image": "el8"}}') \g /dev/null
select api.admin_change(0, 'root', '{"object": "node", "action": "create", "name": "m1", "values": {"cpus": 2, "mem": "1G"}}') \g /dev/null
select is(t.roll('root', '{"action": "start", "image": "el9", "at_most": "9", "nodes": "n[1-2],m1"}') like 'RT409 node "m1" reports no image%', true, 'a node has to say its image');
select t.roll('root', '{"action": "start", "reboot": true, "at_most": "9", "nodes": "m1"}'), t.roll('root', '{"action": "start", "image": "el9", "at_most": "9", "nodes": "n[1-2]"}') \g /dev/null
select api.admin_change(0, 'root', '{"object": "node", "action": "delete", "name": "m1"}') \g /dev/null
select t.look(), t.look() \g /dev/null
select is((select string_agg(node || ' ' || state, ', ' order by change_id, node) from rota.rolling_node where change_id > :before), 'm1 cancelled, n1 done, n2 waiting', 'each as it is');
select is((select concat_ws(' ', image, default_image) from rota.node where node_id = 1), 'el9 el9', 'the default image is the new one');
select throws_ok($$update rota.rolling_node set state = 'waiting' where node = 'n2' and change_id = (select min(change_id) from rota.rolling_change)$$, '23505', null, 'never in two');
select * from finish();
rollback;
