-- Ended jobs run again, all steps or those that failed, as new attempts; the earlier attempts stay.
begin;
\ir world.psql
select * from no_plan();
create function t.requeue(p_user text, p_job bigint, p_failed boolean default false) returns text language sql as $$
	select x ->> 'action' from jsonb_array_elements(api.job_requeue(case p_user when 'root' then 0 else t.uid(p_user) end, p_user, t.request(p_job::text, jsonb_build_object('failed', p_failed))) -> 'steps') x $$;

select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "h"}, {"name": "g"}, {"name": "z"}]', '[{"step": "b", "peer": "a"}, {"step": "c", "peer": "b"},
	{"step": "h", "peer": "a", "condition": "fail"}, {"step": "g", "peer": "b", "condition": "fail"}, {"step": "z", "peer": "c", "condition": "any"}]') as j \gset
select is(t.requeue('alice', :j), 'not changed: it has not ended (pending)', 'not what has not ended');
select t.pass(:'j' || '.a'), t.start(:'j' || '.b', '{2}'), t.run(:'j' || '.b'), t.fail(:'j' || '.b', 3), t.pass(:'j' || '.g'), t.pass(:'j' || '.z') \g /dev/null
select is(t.states(:j), 'a:completed b:failed c:dependency_failed h:skipped g:completed z:completed', 'a job that failed');
select t.submit('bob', '[{"name": "x"}, {"name": "y"}]', format('[{"step": "x", "job": %1$s}, {"step": "y", "job": %1$s, "condition": "fail"}]', :j)::jsonb) as d \gset
select throws_ok(format($$select t.requeue('bob', %s)$$, :j), 'RT403', null, 'somebody else may not');
select throws_ok(format($$select api.job_requeue(0, 'root', t.request('%s.b'))$$, :j), 'RT422', 'only whole jobs can be requeued or continued, not steps', 'nor is a step requeued');
select throws_ok($$select api.job_requeue(0, 'root', t.request('999999'))$$, 'RT404', null, 'nor what is not there');
select api.usage_roll(1000) \g /dev/null
select is(t.requeue('alice', :j, true), 'queued again (2 of 6 steps)', 'what failed, and what was not run because of it');
select is(t.states(:j), 'a:completed b:pending c:pending h:skipped g:completed z:completed', 'the rest stays as it is');
select is((select concat_ws(' ', coalesce(state, 'live'), steps_left, coalesce(exit_code::text, 'none')) from rota.job where job_id = :j), 'live 2 none', 'the job lives again');
select is(t.states(:d), 'x:dependency_failed y:pending', 'what other jobs made of its end stays');
select t.right('requeue of what failed');
select t.pass(:'j' || '.b', '{3}') \g /dev/null
select t.pass(:'j' || '.c') \g /dev/null
select is(t.job(:j), 'completed', 'this time it completes');
select is((select string_agg(attempt || ':' || state || '@' || nodes[1], ' ' order by attempt) from rota.attempt where job_id = :j and step_id = 1), '1:failed@n2 2:completed@n3', 'both attempts are on record');
select is((select count(*) from rota.event where job_id = :j and event = 'rerun' and actor = 'alice'), 2::bigint, 'and who had it run again');
select api.usage_roll(1000) \g /dev/null
select is((select array[sum(steps_ended), sum(steps_completed), sum(steps_failed)]::int[] from rota.usage_hour where user_name = 'alice'), '{6,5,0}', 'each step has ended once in the figures');
select is(t.requeue('alice', :j, true), 'not changed: nothing of it failed (completed)', 'nothing is left to run again');
select is(t.requeue('root', :j), 'queued again (6 of 6 steps)', 'an operator may: all of it');
select is(t.states(:j), 'a:pending b:pending c:pending h:pending g:pending z:pending', 'from the first step');
select is(t.requeue('root', :j), 'not changed: it has not ended (pending)', 'twice is once');
select is(array(select deps_waiting from rota.step where job_id = :j order by step_id), '{0,1,1,1,1,1}', 'each waits for what it waited for');
select t.right('requeue of all');
select t.pass(:'j' || '.a'), t.pass(:'j' || '.b'), t.pass(:'j' || '.c'), t.pass(:'j' || '.z') \g /dev/null
select is(t.states(:j), 'a:completed b:completed c:completed h:skipped g:skipped z:completed', 'and all is decided anew');
-- Step g ran before the requeue and was skipped after it: it has the figures of all its attempts, but no nodes, times and tasks.
select is((select concat_ws(' ', attempts, nodes, node_count, cpus, mem_mb, started_at, elapsed_s, wait_s) from acct.step where job_id = :j and step = 'g'), '1 0', 'what is skipped now has no nodes and times');
select is((select concat_ws(' ', attempt, nodes, is_latest, started_at is not null) from acct.attempt where job_id = :j and step = 'g'), '1 n1 t t', 'its earlier attempt has');
select is((select cpu_held_s from acct.step where job_id = :j and step = 'g'), (select cpu_held_s from acct.attempt where job_id = :j and step = 'g'), 'what it held stays');
select is((select jsonb_build_array(x -> 'attempt', x -> 'nodes', x -> 'started_at', x -> 'elapsed_s', x -> 'tasks', x #> '{attempts,0,attempt}', x #> '{attempts,0,nodes}')
	from jsonb_array_elements(internal.steps_json(:j, null, false, true)) x where x ->> 'name' = 'g'), '[0, "", null, null, [], 1, "n1"]', 'rota show says so');
select is((select concat_ws(' ', x ->> 'nodes', x ->> 'started_at', x ->> 'elapsed_s', x ->> 'attempts') from jsonb_array_elements(api.job_acct(0, 'root', jsonb_build_object('jobs', :j::text, 'steps', true))::jsonb -> 'rows') x
	where x ->> 'step' = 'g'), ' 1', 'and rota acct');
select is((select concat_ws(' ', x ->> 'nodes', x ->> 'cpus', x ->> 'started_at') from jsonb_array_elements(internal.report_job_steps(:j, 10)) x where x ->> 'label' = 'g'), '', 'and rota report');
-- A step that is pending again counts as not started; a dependent of the start of a step that is skipped now is skipped too.
select t.submit('alice', '[{"name": "a"}, {"name": "h"}, {"name": "s"}]', '[{"step": "h", "peer": "a", "condition": "fail"}, {"step": "s", "peer": "h", "condition": "start"}]') as k \gset
select t.start(:'k' || '.a'), t.run(:'k' || '.a'), t.fail(:'k' || '.a'), t.pass(:'k' || '.h'), t.pass(:'k' || '.s') \g /dev/null
select is(t.states(:k), 'a:failed h:completed s:completed', 'a handler that ran, and what waits for its start');
select is(t.requeue('alice', :k), 'queued again (3 of 3 steps)', 'all again');
select is((select string_agg(concat_ws(' ', state, nodes, node_count, started_at, elapsed_s), ',' order by step_id) from acct.step where job_id = :k), 'pending 0,pending 0,pending 0', 'what waits again has no nodes and times');
select t.pass(:'k' || '.a', '{3}') \g /dev/null
select is(t.states(:k), 'a:completed h:skipped s:skipped', 'a handler that is not needed now has not started');
select is((select string_agg(concat_ws(' ', step, nodes, started_at is not null), ',' order by step_id) from acct.step where job_id = :k), 'a n3 t,h f,s f', 'nor has it nodes');
select t.right('requeue of a handler');
select api.job_cancel(0, 'root', t.request(:'d')) \g /dev/null

-- Retries are counted anew; a job that waited for another job to end waits for it again.
select t.submit('alice', '[{"name": "a", "retry": 1}]') as p \gset
select t.submit('alice', '[{"name": "b"}]', format('[{"step": "b", "job": %s}]', :p)::jsonb) as j \gset
select t.start(:'p' || '.a'), t.run(:'p' || '.a'), t.fail(:'p' || '.a'), t.later() \g /dev/null
select t.start(:'p' || '.a'), t.run(:'p' || '.a'), t.fail(:'p' || '.a') \g /dev/null
select is(t.states(:j), 'b:dependency_failed', 'behind a job that failed');
select is(t.requeue('alice', :j), 'queued again (1 of 1 step)', 'too early');
select is(t.states(:j), 'b:dependency_failed', 'it ends as before');
select is(t.requeue('alice', :p) || ' ' || t.requeue('alice', :j), 'queued again (1 of 1 step) queued again (1 of 1 step)', 'both');
select is((t.step(:'j' || '.b')).deps_waiting, 1, 'it waits');
select t.start(:'p' || '.a'), t.run(:'p' || '.a'), t.fail(:'p' || '.a'), t.later() \g /dev/null
select is((t.step(:'p' || '.a')).retries, 1, 'the retry is there again');
select t.pass(:'p' || '.a'), t.pass(:'j' || '.b') \g /dev/null
select is(t.job(:j), 'completed', 'in the end');
select t.right('requeue of two');

-- Arrays: failed elements, elements that never ran, and all elements.
select t.submit('alice', '[{"name": "r", "array": {"indices": [[0,4,1]], "size": 5}}]') as j \gset
select t.pass(:'j' || '.r', '{1}', '{"position": 0}') \g /dev/null
select t.start(:'j' || '.r', '{1}', '{"position": 1}'), t.run(:'j' || '.r[1]'), t.fail(:'j' || '.r[1]'), t.pass(:'j' || '.r', '{1}', '{"position": 3}') \g /dev/null
select api.job_cancel(0, 'root', t.request(:'j')) \g /dev/null
select is(t.states(:j), 'r:failed r[0]:completed r[1]:failed r[3]:completed', 'an array, given up half way');
select is(t.requeue('alice', :j, true), 'queued again (1 of 1 step)', 'what did not end well');
select is(t.states(:j), 'r:running r[0]:completed r[1]:pending r[3]:completed', 'the element that failed');
select is((select array[next, running, completed, failed] || skip from rota.step_array where job_id = :j), '{2,0,2,0,3}', 'and those that never ran');
select t.right('requeue of elements');
select t.pass(:'j' || '.r[1]'), t.pass(:'j' || '.r', '{1}', '{"position": 2}') \g /dev/null
select t.pass(:'j' || '.r', '{1}', '{"position": 4}') \g /dev/null
select is(t.job(:j), 'completed', 'the array completes');
select is(t.requeue('alice', :j), 'queued again (1 of 1 step)', 'all elements');
select is((select array[next, running, completed, failed] from rota.step_array where job_id = :j), '{5,0,0,0}', 'wait again');
select t.right('requeue of an array');
select t.pass(:'j' || '.r[' || i || ']') from generate_series(0, 4) i \g /dev/null
select is(t.job(:j), 'completed', 'and complete again');
select is((select count(*) from rota.attempt where job_id = :j), 11::bigint, 'eleven attempts, of five elements');
-- An array that never began, because its peer failed; and an array that does not wait for its peer.
select t.submit('alice', '[{"name": "a"}, {"name": "r", "array": {"indices": [[0,1,1]], "size": 2}}]', '[{"step": "r", "peer": "a"}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.fail(:'j' || '.a') \g /dev/null
select is(t.requeue('alice', :j, true), 'queued again (2 of 2 steps)', 'an array that never began');
select t.pass(:'j' || '.a') \g /dev/null
select t.pass(:'j' || '.r', '{1}', '{"position": 0}'), t.pass(:'j' || '.r', '{1}', '{"position": 1}') \g /dev/null
select is(t.job(:j), 'completed', 'runs behind the other');
select is(t.requeue('alice', :j), 'not changed: "r" is an array that waits for steps that would run again: submit it again', 'one that has run would not wait');
-- An array that never began, whose elements each wait (corr) for an element of another job that has failed meanwhile.
select t.submit('alice', '[{"name": "a", "array": {"indices": [[0,1,1]], "size": 2}}]') as k \gset
select t.submit('alice', '[{"name": "b", "array": {"indices": [[0,1,1]], "size": 2}}]', format('[{"step": "b", "job": %s, "peer": "a", "condition": "corr"}]', :k)::jsonb) as j \gset
select api.job_cancel(0, 'root', jsonb_build_object('jobs', array[:j::text])) \g /dev/null
select t.start(:'k' || '.a', '{1}', jsonb_build_object('position', i)), t.run(:'k' || '.a[' || i || ']'), t.fail(:'k' || '.a[' || i || ']') from generate_series(0, 1) i \g /dev/null
select is(t.job(:k), 'failed', 'the elements that it waits for have failed');
select is(t.requeue('alice', :j, true), 'queued again (1 of 1 step)', 'a correspondent array is queued again');
select is(t.job(:j), 'dependency_failed', 'and ends at once');
select is(t.state(:'j' || '.b'), 'dependency_failed', 'since its dependency has failed');
select t.right('requeue of a correspondent array');
-- Edges on the nodes or the start of peers are resolved anew: attempts before the requeue do not count.
select t.submit('alice', '[{"name": "a"}, {"name": "s"}, {"name": "o"}]', '[{"step": "s", "kind": "same_nodes", "peer": "a"}, {"step": "o", "kind": "other_nodes", "peer": "a"}]') as j \gset
select t.start(:'j' || '.a'), t.start(:'j' || '.o', '{2}') \g /dev/null
select t.run(:'j' || '.' || s), t.finish(:'j' || '.' || s) from unnest(array['a', 'o']) s \g /dev/null
select t.pass(:'j' || '.s') \g /dev/null
select is(t.requeue('alice', :j), 'queued again (3 of 3 steps)', 'a job whose steps are bound to the nodes of one');
select is(array(select deps_waiting from rota.step where job_id = :j order by step_id), '{0,1,1}', 'they wait until it has nodes again');
select is(t.pending(), :'j' || '.a', 'so it starts first');
select t.start(:'j' || '.a', '{3}') \g /dev/null
select is((select string_agg(concat_ws(' ', p.step_id, p.same_nodes, p.other_nodes), ', ' order by p.step_id) from t.offered p where p.job_id = :j), '1 {3}, 2 {3}', 'its new nodes count');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a') \g /dev/null
select t.pass(:'j' || '.s', '{3}'), t.pass(:'j' || '.o', '{1}') \g /dev/null
select is(t.requeue('alice', :j), 'queued again (3 of 3 steps)', 'again');
select api.job_cancel(0, 'root', t.request(:'j' || '.a')) \g /dev/null
select is(t.states(:j), 'a:cancelled s:dependency_failed o:pending', 'one that is cancelled has nodes for nobody');
select t.pass(:'j' || '.o') \g /dev/null
select is(t.requeue('alice', :j, true), 'queued again (2 of 3 steps)', 'what failed, of which one is bound to the other');
select t.pass(:'j' || '.a', '{2}') \g /dev/null
select t.pass(:'j' || '.s', '{2}') \g /dev/null
select is(t.job(:j), 'completed', 'runs');
select t.submit('alice', '[{"name": "a", "with_set": 0}, {"name": "b", "with_set": 0}]', '[{"step": "b", "kind": "with", "peer": "a"}]') as j \gset
select t.commit(t.decision(:'j' || '.a', '{1}'), t.decision(:'j' || '.b', '{2}')) \g /dev/null
select t.run(:'j' || '.' || s), t.finish(:'j' || '.' || s) from unnest(array['a', 'b']) s \g /dev/null
select is(t.requeue('alice', :j), 'queued again (2 of 2 steps)', 'steps that start together');
select api.job_cancel(0, 'root', t.request(:'j' || '.a')) \g /dev/null
select is(t.states(:j), 'a:cancelled b:dependency_failed', 'one that never started in this run takes the other down');
select t.right('requeue of bound steps');
-- The script of the job must still exist.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.pass(:'j' || '.a') \g /dev/null
update rota.job set environment_hash = '\x00' where job_id = :j;
select is(t.requeue('alice', :j), 'not changed: its script or its environment has been removed: submit it again', 'not without its environment');
select t.right('requeue refused');
select is((select count(*)::int from t.wrong()), 0, 'all adds up');
select * from finish();
rollback;
