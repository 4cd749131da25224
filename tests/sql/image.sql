-- Images of nodes: who may ask for one, what the scheduler reads and asks for, what becomes of a node that comes with the wrong one, the
-- way back to the default image, and steps that are held.
begin;
\ir world.psql
\ir setup.psql
select * from no_plan();
create function t.node(p_node int) returns text language sql as $$ select concat_ws(' ', state, image, reason) from rota.node where node_id = p_node $$;
create function t.is(p_node int) returns text language sql as $$
	select concat_ws(' ', state, image, made_by, message) from rota.node_reboot where node_id = p_node order by reboot_id desc limit 1 $$;
create function t.take() returns text language sql as $$ select string_agg(concat_ws(' ', label, '-', node, image), ', ' order by run_id) from api.power_take(t.hook(), '{}', 100) $$;
create function t.asks(p_nodes int[], variadic p_images text[]) returns int language sql as $$ select api.schedule_setup(t.term(), p_nodes, p_images, array_fill(null::text, array[cardinality(p_nodes)])) $$;
create function t.reads(p_node int) returns text language sql as $$
	select concat_ws(' ', state, power, image, default_image, case when ready_at > extract(epoch from now()) then 'ready' end) from api.schedule_nodes() where node_id = p_node $$;

-- Images are objects of administrators.
select is(t.admin('image', 'el8', '{}', 'create'), 'true', 'an image');
select is(t.admin('image', 'el9', '{"users": "alice", "expected": "10:00"}', 'create'), 'true', 'one for alice');
select is(t.admin('image', '../x', '{}', 'create') like 'RT422 no image can have the name%', true, 'no other names');
select is(t.admin('image', 'x', '{"accounts": "none such"}', 'create') like 'RT4%', true, 'for an account that there is not');
select is((select (users, accounts, expected_s)::text from rota.node_image where image = 'el9'), '({alice},{},600)', 'as it was given');
select is(t.admin('image', 'el9', '{"failures": 3}') like 'RT422%', true, 'failures are only taken back');
select is(t.admin('node', 'n1', '{"default_image": "el7"}') like 'RT404%', true, 'no default image that there is not');
select is(t.admin('node', 'n[1-3]', '{"default_image": "el8"}'), 'true', 'default images');
select is(t.admin('image', 'el8', '{}', 'delete') like 'RT409 image "el8" is named%', true, 'such an image stays');
select throws_ok($$select api.admin_change(t.uid('alice'), 'alice', '{"object": "image", "action": "create", "name": "y"}')$$, 'RT403', null, 'users make none');
select t.boot(i, 'first', 'el8') from generate_series(1, 3) i \g /dev/null
select t.back(4) \g /dev/null
select is((select string_agg(concat_ws(' ', node, image, default_image), ', ' order by node) from acct.node), 'n1 el8 el8, n2 el8 el8, n3 el8 el8, n4', 'acct.node has them');
select throws_ok($$select t.boot(3, 'first', '-x')$$, '23514', null, 'a node cannot report what is no name');

-- Which users may ask for an image.
select is(t.asked('bob', '{"image": "el9"}') like '%you may not use image "el9"%', true, 'bob may not use it');
create function t.setups(p_user text) returns text language sql as $$
	select coalesce(string_agg(concat_ws(' ', s ->> 'kind', s ->> 'name', s ->> 'nodes', s ->> 'failed'), ', ' order by s ->> 'name'), '')
	from jsonb_array_elements(api.setup_list(case p_user when 'root' then 0 else t.uid(p_user) end, p_user, '{}') -> 'setups') s $$;
create function t.hint(p_user text, p_image text) returns text language plpgsql as $$
declare
	v_hint text;
begin
	return t.submit(p_user, jsonb_build_array(jsonb_build_object('name', 'a', 'image', p_image)));
exception when sqlstate 'RT422' then
	get stacked diagnostics v_hint = pg_exception_hint;
	return v_hint;
end $$;
select is(t.setups('alice'), 'image el8 3 false, image el9 0 false', 'alice finds both');
select is(t.setups('bob'), 'image el8 3 false', 'bob the one that he may ask for');
select is(t.setups('root'), 'image el8 3 false, image el9 0 false', 'an administrator all');
select is((select string_agg(name || ' ' || nodes, ', ' order by name) from acct.node_setup), 'el8 3, el9 0', 'acct.node_setup has them');
select is(t.hint('alice', 'el99'), 'Did you mean "el9"? "rota nodes --images" lists those that your jobs may ask for.', 'a wrong name gets the right one');
select is(t.hint('bob', 'el99') like '%el9"%', false, 'but not that of one for others');
select is(t.asked('alice', '{"image": "el7"}') like '%there is no image "el7"%', true, 'nobody one that there is not');
select is(t.asked('alice', '{"image": "el9", "nodes_min": 4, "nodes_max": 4}') like '%4 nodes asked for; of partition "main", 3 have image "el9" or may be booted with it%', true, 'nor more nodes than may have it');
select is(t.admin('image', 'el9', '{"users": "none"}'), 'true', 'opened for all');
select t.asked('bob', '{"image": "el9"}') as b, t.asked('alice', '{"image": "el9"}') as j, t.asked('alice', '{}') as k \gset
select is((select string_agg(coalesce(image, '-'), ' ' order by job_id) from acct.request where job_id in (:b, :j, :k)), 'el9 el9 -', 'stored with the request');
select is((select string_agg(coalesce(p.image, '-'), ' ' order by p.job_id) from api.schedule_pending(array[:b, :j, :k]::bigint[], array[0, 0, 0]) p), 'el9 el9 -', 'read by the leader');

-- A node gets the image: only an idle one that may have another.
select is(t.reads(1), 'up on el8 el8', 'the leader reads it');
select throws_ok(format('select t.start(%L, %L)', :'j' || '.a', '{1}'), '40001', 'a node of the start is no longer ready to run steps', 'a step does not start on another image');
select is(t.start(:'k' || '.a', '{2}'), 1, 'without an image, on the default one');
select is(t.asks('{2,4}', 'el9', 'el9'), 0, 'one is in use, one has no default image');
select is(t.asks('{1}', 'none'), 0, 'there is no such image');
select is(t.asks('{1}', 'el8'), 0, 'it has this one');
select throws_ok($$select api.schedule_setup(t.term() - 1, '{1}', '{el9}', '{null}')$$, 'RT412', null, 'an old leader');
select is(t.asks('{1}', 'el9'), 1, 'now');
select is(t.asks('{1}', 'el9'), 0, 'once');
select is(t.node(1), 'drain el8 reboot: image el9', 'it is drained');
select is(t.is(1), 'running el9 schedule', 'and its program is due');
select is(t.reads(1), 'up powering_on el9 el8 ready', 'the leader plans with it');
select is(t.take(), 'reboot of node n1 with image el9 - n1 el9', 'the program gets the image');
select t.report() \g /dev/null
select is(t.look(), null, 'it is not back');
select t.boot(1, 'second', 'el9') \g /dev/null
select is(t.look(), 'n1 drain up', 'it is');
select is(t.is(1), 'done el9 schedule', 'as asked');
select is(t.reads(1), 'up on el9 el8', 'the leader reads that');
select t.submit('alice', '[{"name": "a"}]') as d \gset
select throws_ok(format('select t.start(%L, %L)', :'d' || '.a', '{1}'), '40001', 'a node of the start is no longer ready to run steps', 'what asks for no image does not start there');
select is(t.pass(:'j' || '.a', '{1}'), 'completed', 'what asks for it does');

-- An idle node returns to its default image after a while, if no step waits for its present image.
select is(t.look(), null, 'bob''s step waits for it');
select is(t.pass(:'b' || '.a', '{1}'), 'completed', 'it runs');
select is(t.look(), null, 'the node has just been changed');
update rota.node_reboot set ended_at = ended_at - interval '1 hour';
select is(t.look(), 'n1 up drain reboot: image el8', 'after a while');
select is(t.is(1), 'running el8 nodemgrd', 'back to the default one');
select t.take(), t.report(), t.boot(1, 'third', 'el8') \g /dev/null
select is(t.look(), 'n1 drain up', 'it has it');
update rota.node_reboot set ended_at = ended_at - interval '1 hour';
select is(t.look(), null, 'so it stays');
select t.right('a round');

-- Nodes that come with the wrong image: drained with the reason, and after three in a row the steps are held.
select t.finish(:'k' || '.a'), t.asked('alice', '{"image": "el9"}') as j \gset
select t.asks('{1}', 'el9'), t.take(), t.report(), t.boot(1, 'fourth', 'el8') \g /dev/null
select t.look() \g /dev/null
select is(t.node(1), 'drain el8 could not be rebooted with image el9: came back with image el8', 'drained with the reason');
select is(t.is(1), 'failed el9 schedule came back with image el8', 'and noted');
select is((select failures from rota.node_image where image = 'el9'), 1, 'one failure');
select is(t.asks('{2}', 'el9'), 1, 'the next node is tried');
select t.take(), t.report(), t.boot(2, 'fourth', null) \g /dev/null
select t.look() \g /dev/null
select is(t.is(2), 'failed el9 schedule came back with no image', 'one that reports none');
select is(t.asks('{3}', 'el9'), 1, 'the next node is tried');
select t.take(), t.report(), t.boot(3, 'fourth', 'el9') \g /dev/null
select t.look() \g /dev/null
select is((select failures from rota.node_image where image = 'el9'), 0, 'it comes, and the failures are over');
select is(t.node(3), 'up el9', 'the step can start');
update rota.node_image set failures = 3 where image = 'el9';
select is(t.look(), null, 'as many as are allowed');
select is((select concat_ws(' ', state, held, held_reason) from rota.step where job_id = :j), 'pending admin nodes could not be booted with image el9 3 times in a row', 'the step is held');
select is(t.asked('alice', '{"image": "el9"}') like '%nodes could not be booted with image "el9" 3 times in a row%', true, 'others are refused');
select t.admin('node', 'n1', '{}', 'resume'), t.boot(1, 'fourth', 'el8') \g /dev/null
select is(t.asks('{1}', 'el9'), 0, 'no node is booted with it');
select is(t.admin('image', 'el9', '{"failures": 0}'), 'true', 'an administrator has repaired it');
select is(t.act('release', 'root', :'j' || '.a') is not null, true, 'and releases the step');
select is(t.asks('{1}', 'el9'), 1, 'so nodes are booted with it');
select t.right('all this');
select * from finish();
rollback;
