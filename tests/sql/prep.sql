-- Preparations of nodes: who may ask for one, the stages of a change, whether arguments or node are at fault in a failure, and
-- the way back.
begin;
\ir world.psql
\ir setup.psql
select * from no_plan();
create function t.node(p_node int) returns text language sql as $$
	select concat_ws(' ', state, prep, case when not prep_verified then 'unverified' end, reason) from rota.node where node_id = p_node $$;
create function t.is(p_node int) returns text language sql as $$
	select concat_ws(' ', state, made_by, message) from rota.node_reboot where node_id = p_node order by reboot_id desc limit 1 $$;
create function t.take() returns text language sql as $$
	select string_agg(concat_ws(' ', label || ':', program, action, node, image, prep, args, timeout_s), ', ' order by run_id) from api.power_take(t.hook(), '{}', 100) $$;
-- t.runs: run the due programs, all of which succeed; returns which ran.
create function t.runs() returns text language plpgsql as $$
declare
	v_taken text := t.take();
begin
	perform t.report();
	return v_taken;
end $$;
create function t.asks(p_node int, p_prep text, p_image text default null) returns int language sql as $$
	select api.schedule_setup(t.term(), array[p_node], array[p_image], array[p_prep]) $$;
create function t.reads(p_node int) returns text language sql as $$
	select concat_ws(' ', state, power, prep, case when ready_at > extract(epoch from now()) then 'ready' end) from api.schedule_nodes() where node_id = p_node $$;
create function t.settled() returns void language sql as $$
	update rota.node_reboot set ended_at = ended_at - interval '1 hour' where ended_at is not null $$;

-- Preparations are objects of administrators.
select is(t.admin('prep', 'mig', '{}', 'create'), 'RT422 a prep needs "program"', 'not without a program');
select is(t.admin('prep', 'mig', '{"program": "../mig"}', 'create') like 'RT422 "../mig" is no value for "program"', true, 'nor with a path');
select is(t.admin('prep', 'mig', '{"program": "mig", "verify": "look", "expected": "2:00", "timeout": "5:00", "users": "alice"}', 'create'), 'true', 'one');
select is(t.admin('prep', 'huge', '{"program": "pages"}', 'create'), 'true', 'another');
select is((select (users, program, verify, expected_s, timeout_s)::text from rota.node_prep where prep = 'mig'), '({alice},mig,look,120,300)', 'as it was given');
select throws_ok($$select api.admin_change(t.uid('alice'), 'alice', '{"object": "prep", "action": "create", "name": "y", "values": {"program": "x"}}')$$, 'RT403', null, 'users make none');
select throws_ok($$insert into rota.node_prep (prep, program) values ('x', 'a/b')$$, '23514', null, 'no row names another folder');
select throws_ok(format('update rota.node set prep = %L', x), '23514', null, 'no preparation: ' || x)
from unnest(array['mig:', 'mig:-x', 'mig: x', E'mig:a\nb', 'mig:' || repeat('x', 201), '-mig', 'mig:ü']) x;

-- Users that may ask for a preparation.
select t.boot(i, 'first') from generate_series(1, 4) i \g /dev/null
select is(t.asked('bob', '{"prep": "mig:2"}') like '%you may not use preparation "mig"%', true, 'bob may not use it');
select is(t.asked('alice', '{"prep": "gone:2"}') like '%there is no preparation "gone"%', true, 'nobody one that there is not');
select is(t.asked('alice', '{"prep": "mig:-f"}') like '%"mig:-f" is no preparation%', true, 'nor what is none');
select is(t.admin('prep', 'mig', '{"users": "none", "feature": "gpu"}'), 'true', 'opened for all, on some nodes');
select is(t.asked('bob', '{"prep": "mig:2"}') like '%1 node asked for; of partition "main", 0 can be prepared with "mig"%', true, 'there is none of them');
select is(t.admin('node', 'n[1-3]', '{"features": "gpu"}'), 'true', 'now there are');
select t.asked('bob', '{"prep": "mig:2"}') as b, t.asked('alice', '{"prep": "mig:2", "constraint": "gpu|fast"}') as j, t.asked('alice', '{}') as k \gset
select is((select string_agg(coalesce(prep, '-'), ' ' order by job_id) from acct.request where job_id in (:b, :j, :k)), 'mig:2 mig:2 -', 'stored with the request');
select is((select string_agg(concat_ws(' ', coalesce(p.prep, '-'), p.features), ', ' order by p.job_id)
	from api.schedule_pending(array[:b, :j, :k]::bigint[], array[0, 0, 0]) p), 'mig:2 gpu, mig:2 (gpu|fast)&gpu, - ', 'read by the leader, with the nodes that can');

create function t.bound(p_one text, p_other text) returns text language plpgsql as $$
begin
	return t.submit('alice', format('[{"name": "a", %s}, {"name": "b", %s}]', p_one, p_other)::jsonb,
		'[{"step": "b", "peer": "a"}, {"step": "b", "kind": "same_nodes", "peer": "a"}]') > 0;
exception when sqlstate 'RT422' then
	return sqlerrm;
end $$;
select is(t.bound('"prep": "mig:2"', '"prep": "mig:3"') like '%"b" and "a" use the same nodes with different images or preparations%', true, 'not two on the same nodes');
select is(t.bound('"prep": "mig:2"', '"hold": false') like '%"b" and "a" use the same nodes with different%', true, 'nor one and none');
select is(t.bound('"prep": "mig:2"', '"prep": "mig:2"'), 'true', 'but the same');
select t.act('cancel', 'root', j.job_id::text) from rota.job j order by j.job_id desc limit 1 \g /dev/null

-- A node is prepared, and the preparation is verified.
select throws_ok(format('select t.start(%L, %L)', :'j' || '.a', '{1}'), '40001', 'a node of the start is no longer ready to run steps', 'a step does not start on a node that is not prepared');
select is(t.start(:'k' || '.a', '{2}'), 1, 'without one, it does');
select is(t.asks(2, 'mig:2'), 0, 'a node that is in use is not prepared');
select is(t.asks(1, 'gone'), 0, 'there is no such preparation');
select is(t.asks(1, null), 0, 'it has none');
select is(t.asks(1, 'mig:2'), 1, 'now');
select is(t.asks(1, 'mig:2'), 0, 'once');
select is(t.node(1), 'drain mig:2 unverified change: preparation mig:2', 'it is drained');
select is(t.reads(1), 'up powering_on mig:2 ready', 'the leader plans with it');
select is(t.runs(), 'preparation mig:2 of node n1: mig prepare n1 mig 2 300', 'the program gets the arguments');
select is(t.is(1), 'verifying schedule', 'then it is verified');
select is(t.runs(), 'verification of preparation mig:2 of node n1: look verify n1 mig 2 300', 'by the other program');
select is(t.is(1), 'done schedule', 'it is');
select is(t.node(1), 'up mig:2', 'and serves');
select is(t.reads(1), 'up on mig:2', 'the leader reads it');
select t.submit('alice', '[{"name": "a"}]') as d \gset
select throws_ok(format('select t.start(%L, %L)', :'d' || '.a', '{1}'), '40001', 'a node of the start is no longer ready to run steps', 'what asks for none does not start there');
select is(t.pass(:'j' || '.a', '{1}'), 'completed', 'what asks for it does');
select is(t.admin('prep', 'mig', '{}', 'delete') like 'RT409 prep "mig" is named%', true, 'while a node has it, it stays');

-- Another preparation: the first one is taken back before.
select t.settled() \g /dev/null
select is(t.look(), null, 'bob''s step waits for it');
select is(t.pass(:'b' || '.a', '{1}'), 'completed', 'it runs');
select is(t.asks(1, 'huge:4 G'), 1, 'another preparation');
select is(t.runs(), 'undo of preparation mig:2 of node n1: mig undo n1 mig 300', 'the first is taken back, without arguments');
select is(t.runs(), 'preparation huge:4 G of node n1: pages prepare n1 huge 4 G 600', 'then it is made');
select is(t.node(1), 'up huge:4 G', 'there is nothing to verify it with');
select is((select string_agg(prep || ':' || args, ', ' order by prep) from rota.node_prep_args where worked_at is not null), 'huge:4 G, mig:2', 'what has worked is known');

-- After a new boot the preparation is unknown, and no step starts there before it has been taken back.
select t.boot(1, 'second') \g /dev/null
select is(t.reads(1), 'up on ?', 'not verified any more');
select is(t.look(), null, 'it was changed a moment ago');
select t.settled() \g /dev/null
select is(t.look(), 'n1 up drain change: no preparation', 'taken back when idle');
select is(t.runs(), 'undo of preparation huge:4 G of node n1: pages undo n1 huge 600', 'by its program');
select is(t.node(1), 'up', 'as before');
select is(t.is(1), 'done nodemgrd', 'noted');
select t.right('a round');

-- The preparation fails with arguments that have never worked: the step fails, and the node still serves.
select t.asked('alice', '{"prep": "mig:nonsense"}') as j, t.asked('bob', '{"prep": "mig:2"}') as b, t.asked('bob', '{"prep": "mig:other"}') as o \gset
select t.asks(1, 'mig:nonsense'), t.take(), t.report('ended with exit code 3') \g /dev/null
select is(t.is(1), 'failed schedule ended with exit code 3', 'the change has failed');
select is(t.node(1), 'up mig:nonsense unverified', 'the node serves, once that is taken back');
select is(t.asks(3, 'mig:nonsense'), 0, 'no other node is tried');
select is((select failures from rota.node_prep where prep = 'mig'), 0, 'the preparation is not at fault');
select t.look() \g /dev/null
select is((select concat_ws(' ', state, cause, message) from acct.step where job_id = :j), 'failed refused preparation "mig" has failed with arguments "nonsense", which never worked: ended with exit code 3', 'the step has failed with the reason');
select is((select string_agg(state, ' ') from acct.step where job_id in (:b, :o)), 'pending pending', 'others wait on');
select is((select count(*) from rota.node_prep_args where failed_at is not null), 0::bigint, 'whoever asks again is tried again');
select is(t.asks(1, 'mig:2'), 1, 'the next one');
select is(t.runs(), 'undo of preparation mig:nonsense of node n1: mig undo n1 mig 300', 'takes back what was begun');
select is(t.runs() || ' ' || t.runs(), 'preparation mig:2 of node n1: mig prepare n1 mig 2 300 verification of preparation mig:2 of node n1: look verify n1 mig 2 300', 'and is made');
select is(t.pass(:'b' || '.a', '{1}'), 'completed', 'the other step runs');
-- The same when the verification fails, for the elements of an array.
select t.submit('alice', '[{"name": "a", "prep": "mig:no", "array": {"indices": [1, 2, 3], "size": 3}}]') as a \gset
select t.asks(1, 'mig:no'), t.runs(), t.runs(), t.take(), t.report('differs'), t.look() \g /dev/null
select is((select string_agg(distinct concat_ws(' ', state, message), ', ') from acct.step where job_id = :a), 'failed preparation "mig" has failed with arguments "no", which never worked: differs', 'all elements of an array');
select t.right('wrong arguments');

-- The preparation fails with arguments that have worked, or with none: the node is drained, and after three such nodes the steps
-- are held.
select t.asked('alice', '{"prep": "mig:2"}') as j \gset
select t.asks(1, 'mig:2'), t.runs(), t.take(), t.report('no answer') \g /dev/null
select is(t.node(1), 'drain mig:2 unverified could not be prepared with mig:2: no answer', 'drained with the reason');
select is((select failures from rota.node_prep where prep = 'mig'), 1, 'a failure');
select t.asks(3, 'mig:2'), t.take() \g /dev/null
update rota.power_run set ended_at = clock_timestamp(), status = 'done' where ended_at is null;
update rota.node_reboot set issued_at = clock_timestamp(), stage_at = stage_at - interval '1801 seconds' where ended_at is null;
update rota.node_lease set lost_at = now() where node_id = 3;
select t.look() \g /dev/null
select is(t.node(3), 'drain mig:2 unverified could not be prepared with mig:2: did not serve again within 1800 s', 'one that is lost meanwhile');
update rota.node_prep set failures = 3 where prep = 'mig';
select t.look() \g /dev/null
select is((select concat_ws(' ', state, held, held_reason) from rota.step where job_id = :j), 'pending admin nodes could not be prepared with mig 3 times in a row', 'the step is held');
select is(t.asked('alice', '{"prep": "mig:2"}') like '%nodes could not be prepared with "mig" 3 times in a row%', true, 'others are refused');
select is(t.admin('prep', 'mig', '{"failures": 0}'), 'true', 'an administrator has repaired it');
-- A preparation that cannot be taken back drains the node.
select t.admin('node', 'n1', '{}', 'resume') \g /dev/null
select is(t.node(1), 'up mig:2 unverified', 'resumed, but not trusted');
select t.asks(1, null), t.take(), t.report('stuck') \g /dev/null
select is(t.node(1), 'drain mig:2 unverified could not be cleared of preparation mig:2: stuck', 'the node is not as it was');
-- No runnerd runs the program: the arguments are not at fault.
select t.admin('node', 'n1', '{}', 'resume') \g /dev/null
select t.asks(1, 'mig:never'), t.runs() \g /dev/null
update rota.node_reboot set stage_at = stage_at - interval '1801 seconds' where ended_at is null;
select t.look() \g /dev/null
select is(t.node(1), 'drain mig:never unverified could not be prepared with mig:never: no runnerd ran the program of the preparation within 1800 s', 'not run');

-- An image with a program of its own, together with a preparation: one change with all stages.
select t.finish(:'k' || '.a') \g /dev/null
select t.admin('image', 'el8', '{}', 'create'), t.admin('image', 'el9', '{"program": "boot-el9"}', 'create') \g /dev/null
select t.boot(2, 'first', 'el8'), t.admin('node', 'n2', '{"default_image": "el8"}') \g /dev/null
select t.asks(2, 'huge', 'el8'), t.runs() \g /dev/null
select is(t.node(2), 'up huge', 'prepared, with its image');
select is(t.asks(2, 'mig:2', 'el9'), 1, 'another image and another preparation');
select is(t.runs(), 'undo of preparation huge of node n2: pages undo n2 huge 600', 'first the old one is taken back');
select is(t.runs(), 'reboot of node n2 with image el9: boot-el9 reboot n2 el9', 'then it is booted, by the program of the image');
select is(t.is(2), 'booting schedule', 'that takes time');
select t.boot(2, 'second', 'el9'), t.look() \g /dev/null
select is(t.is(2), 'preparing schedule', 'then it is prepared');
select t.runs(), t.runs() \g /dev/null
select is(t.is(2), 'done schedule', 'and verified');
select is((select concat_ws(' ', state, image, prep, prep_verified) from acct.node where node = 'n2'), 'up el9 mig:2 t', 'all as asked');
select is((select concat_ws(' ', undo, boots, image, prep) from acct.node_reboot where node = 'n2' order by reboot_id desc limit 1), 'huge t el9 mig:2', 'counted');
-- A node with the wrong image is not prepared.
select t.asks(2, 'mig:2', 'el8'), t.runs(), t.runs(), t.boot(2, 'third', 'el9'), t.look() \g /dev/null
select is(t.node(2), 'drain could not be rebooted with image el8: came back with image el9', 'the boot is at fault');
select is((select string_agg(failures::text, ' ' order by image) from rota.node_image), '1 0', 'and the image');

-- A preparation that is deleted during a change; transitions that do not exist.
select t.admin('prep', 'late', '{"program": "x"}', 'create'), t.admin('node', 'n2', '{}', 'resume') \g /dev/null
select t.asks(2, 'late', 'el8'), t.take(), t.admin('prep', 'late', '{}', 'delete'), t.report(), t.boot(2, 'fourth', 'el8'), t.look() \g /dev/null
select is(t.is(2), 'failed schedule there is no preparation "late" any more', 'the change fails');
select throws_ok($$update rota.node_reboot set state = 'undoing', ended_at = null where reboot_id = (select min(x.reboot_id) from rota.node_reboot x where x.state = 'done')$$, '23514', null, 'no change begins again');
select throws_ok($$update rota.node_reboot set boots = false where image = 'el9'$$, '23514', null, 'no image without a boot');
select t.right('all this');
select * from finish();
rollback;
