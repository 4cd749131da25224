-- Arrays: elements become rows when they start or when something befalls them; counters, limits, ends, corr.
begin;
\ir world.psql
select * from no_plan();

select is(api.array_index('[[0,9,3],[20,21,1]]', p), i, 'position ' || p) from unnest('{0,1,3,4,5,6}'::int[], '{0,3,9,20,21,null}'::int[]) x (p, i);
select is(api.array_position('[[0,9,3],[20,21,1]]', i), p, 'index ' || i) from unnest('{0,3,9,20,21,1,22}'::int[], '{0,1,3,4,5,null,null}'::int[]) x (i, p);
\set four '{"indices": [[0,3,1]], "size": 4, "limit": null}'

select t.submit('alice', '[{"name": "a", "array": {"indices": [[0,9,3]], "size": 4, "limit": 2}}, {"name": "z"}]', '[{"step": "z", "peer": "a"}]') as j \gset
select is((select count(*) from rota.step where job_id = :j), 2::bigint, 'a pending array is one row');
select is((select step_id from rota.step_request where job_id = :j and name = 'z'), 5, 'the ids of its elements are left free');
select is(t.pending(), :'j' || '.a*2', 'the head is offered with its room');
select is(t.commit(t.decision(:'j' || '.a', '{1}', '{"position": 0}'), t.decision(:'j' || '.a', '{2}', '{"position": 1}')), 2, 'two start');
select is(t.states(:j), 'a:running a[0]:starting a[3]:starting z:pending', 'they are rows, the head is running');
select is((select array[a.next, a.running, a.completed, a.failed] from rota.step_array a where job_id = :j), '{2,2,0,0}', 'counters');
select is(t.pending(), null, 'the limit is reached');
select is((api.job_why(t.uid('alice'), 'alice', t.request(:'j' || '.a[6]')) #>> '{steps,0,label}'), :'j' || '.a[6]', 'why of an element that is no row');
select t.run(:'j' || '.a[0]'), t.finish(:'j' || '.a[0]') \g /dev/null
select is(t.pending(), :'j' || '.a*1', 'room for one again');
select t.run(:'j' || '.a[3]'), t.fail(:'j' || '.a[3]', 7) \g /dev/null
select is(t.pass(:'j' || '.a', '{1}', '{"position": 2}'), 'completed', 'the third');
select is((api.job_wait(t.uid('alice'), 'alice', t.request(:'j' || '.a')) ->> 'done')::boolean, false, 'not all have ended');
select is(t.pass(:'j' || '.a', '{1}', '{"position": 3}'), 'completed', 'the fourth');
select is(t.states(:j), 'a:failed a[0]:completed a[3]:failed a[6]:completed a[9]:completed z:dependency_failed', 'the worst element decides; what waits for the array hears of it');
select is((t.step(:'j' || '.a')).exit_code, 7, 'the exit code of the head is the highest');
select is(t.job(:j), 'failed', 'and so for the job');
select t.right('an array');

-- An array that fails for good in mid-life lets what waits for any of it go on.
select t.submit('alice', format('[{"name": "a", "array": %s}, {"name": "z"}]', :'four')::jsonb, '[{"step": "z", "peer": "a", "condition": "any"}]') as j \gset
select t.commit(t.decision(:'j' || '.a', '{1}', '{"position": 0}'), t.decision(:'j' || '.a', '{2}', '{"position": 1}')) \g /dev/null
select t.run(:'j' || '.a[0]'), t.finish(:'j' || '.a[0]') \g /dev/null
select is(api.job_cancel(t.uid('alice'), 'alice', t.request(:'j' || '.a')) #>> '{steps,0,action}', 'cancelled', 'cancel the array');
select is((select array[a.next, a.running, a.completed, a.failed] from rota.step_array a where job_id = :j), '{4,1,1,2}', 'what never was counts as failed');
select is(t.orders(:'j' || '.a[1]'), 'kill@n2', 'what runs is ended');
select is(t.pending(), null, 'nothing of it is offered');
select is(t.start(:'j' || '.a', '{3}', '{"position": 2}'), 0, 'nor can it be started by an old decision');
select is(api.job_hold(t.uid('alice'), 'alice', t.request(:'j' || '.a[2]')) ->> 'steps', '[]', 'an element that was given up is not made by a hold');
select t.finish(:'j' || '.a[1]', '{"outcome": "cancel", "cause": "cancelled", "exit": -1, "signal": 15}') \g /dev/null
select is(t.states(:j), 'a:cancelled a[0]:completed a[1]:cancelled z:pending', 'the array ends with the last that ran');
select is(t.pending(), :'j' || '.z', 'any of it is met');
select t.right('cancel of a running array');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null

-- Cancelled at the last moment, after a failure: the failure is what it ends with.
select t.submit('alice', format('[{"name": "a", "array": %s}]', :'four')::jsonb) as j \gset
select t.start(:'j' || '.a', '{1}', '{"position": 0}'), t.run(:'j' || '.a[0]'), t.fail(:'j' || '.a[0]', 9) \g /dev/null
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is(t.job(:j), 'failed', 'a failed element is worse than the rest''s cancellation');
select is((t.step(:'j' || '.a')).exit_code, 9, 'and its exit code counts');
select t.right('cancel after failure');

-- A pending array, cancelled as a whole; and with one element cancelled before.
select t.submit('alice', format('[{"name": "a", "array": %s}]', :'four')::jsonb) as j \gset
select is(api.job_cancel(t.uid('alice'), 'alice', t.request(:'j' || '.a[2]')) #>> '{steps,0,label}', :'j' || '.a[2]', 'one element is cancelled');
select is(t.states(:j), 'a:pending a[2]:cancelled', 'it is a row now');
select is((select array[next] || skip from rota.step_array where job_id = :j), '{0,2}', 'and skipped');
select t.right('one element cancelled');
select t.commit(t.decision(:'j' || '.a', '{1}', '{"position": 0}'), t.decision(:'j' || '.a', '{1}', '{"position": 1}')) \g /dev/null
select is((select array[next] || skip from rota.step_array where job_id = :j), '{3}', 'the skip is taken in');
select is(t.pending(), :'j' || '.a*1', 'one is left');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select t.finish(:'j' || '.a[0]', '{"outcome": "cancel", "cause": "cancelled"}'), t.finish(:'j' || '.a[1]', '{"outcome": "cancel", "cause": "cancelled"}') \g /dev/null
select is(t.job(:j), 'cancelled', 'the job is over');
select t.right('cancel of all');
select t.submit('alice', format('[{"name": "a", "array": %s}]', :'four')::jsonb) as j \gset
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is(t.states(:j), 'a:cancelled', 'an array that never began is cancelled as one row');

-- Hold one element, hold the array; ranges of elements.
select t.submit('alice', format('[{"name": "a", "array": %s}]', :'four')::jsonb) as j \gset
select api.job_hold(t.uid('alice'), 'alice', t.request(:'j' || '.a[1-2]')) \g /dev/null
select is(t.states(:j), 'a:pending a[1]:pending a[2]:pending', 'two held elements are rows');
select is(t.pending(), :'j' || '.a*2', 'the rest is offered');
select is(t.commit(t.decision(:'j' || '.a', '{1}', '{"position": 1}')), 0, 'a held element does not start');
select api.job_hold(t.uid('alice'), 'alice', t.request(:'j' || '.a')) \g /dev/null
select is(t.pending(), null, 'a held array is not offered');
select api.job_release(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is(t.pending(), format('%1$s.a*2 %1$s.a[1] %1$s.a[2]', :j), 'release frees elements too');
select t.right('hold and release');
select t.pass(:'j' || '.a', '{1}', '{"position": 0}') \g /dev/null
select api.job_hold(t.uid('alice'), 'alice', t.request(:'j' || '.a')) \g /dev/null
select is((select to_state from rota.event where job_id = :j and step_id = 0 order by event_id desc limit 1), 'running', 'the hold of an array under way is an event');
select is(t.start(:'j' || '.a', '{1}', '{"position": 3}'), 0, 'no more of it starts');
select t.right('hold under way');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select throws_like(format($$select api.job_hold(t.uid('alice'), 'alice', t.request('%s.a[4]'))$$, :j), '%has no index 4', 'no such index');
select throws_like(format($$select api.job_hold(t.uid('alice'), 'alice', t.request('%s.a[0-999999999]'))$$, :j), '%names no elements, or too many', 'an endless range');

-- A retried element is offered before new ones, within the limit.
select t.submit('alice', '[{"name": "a", "retry": 1, "array": {"indices": [[0,3,1]], "size": 4, "limit": 2}}]') as j \gset
select t.commit(t.decision(:'j' || '.a', '{1}', '{"position": 0}'), t.decision(:'j' || '.a', '{2}', '{"position": 1}')) \g /dev/null
select t.run(:'j' || '.a[0]'), t.fail(:'j' || '.a[0]') \g /dev/null
select is(t.state(:'j' || '.a[0]'), 'pending', 'it runs again');
select t.later() \g /dev/null
select is(t.pending(), format('%1$s.a[0]', :j), 'room for one: the one that ran before');
select t.pass(:'j' || '.a[0]') \g /dev/null
select is((t.step(:'j' || '.a[0]')).attempt, 2, 'second attempt');
select t.right('retry of an element');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')), t.finish(:'j' || '.a[1]', '{"outcome": "cancel", "cause": "cancelled"}') \g /dev/null

-- corr: element by element.
select t.submit('alice', format('[{"name": "a", "array": %1$s}, {"name": "b", "array": %1$s}]', :'four')::jsonb, '[{"step": "b", "peer": "a", "condition": "corr"}]') as j \gset
select is(t.pending(), :'j' || '.a*4', 'corr: the second array is not offered');
select t.pass(:'j' || '.a', '{1}', '{"position": 2}') \g /dev/null
select is(t.pending(), format('%1$s.a*3 %1$s.b[2]', :j), 'corr: its element is');
select t.right('corr, one');
select t.start(:'j' || '.a', '{1}', '{"position": 0}'), t.run(:'j' || '.a[0]'), t.fail(:'j' || '.a[0]') \g /dev/null
select is(t.state(:'j' || '.b[0]'), 'dependency_failed', 'corr: the other of a failed one can never start');
select is((t.step(:'j' || '.b[0]')).message, format('can no longer be met: %s.a[0] ended failed', :j), 'and says so');
select is(t.state(:'j' || '.b'), 'running', 'the array goes on');
select t.pass(:'j' || '.a', '{1}', '{"position": 1}') , t.pass(:'j' || '.a', '{1}', '{"position": 3}') \g /dev/null
select is((select state from rota.step_edge where job_id = :j), 'failed', 'corr: the edge is settled when the peer is over');
select is(t.pending(), format('%1$s.b[1] %1$s.b[2] %1$s.b[3]', :j), 'corr: all others may go');
select t.pass(:'j' || '.b[' || i || ']') from generate_series(1, 3) i \g /dev/null
select is(t.state(:'j' || '.b'), 'dependency_failed', 'corr: its worst element decides');
select is(t.job(:j), 'failed', 'corr: the job ends');
select t.right('corr');

-- corr: what never was in the peer will never be.
select t.submit('alice', format('[{"name": "a", "array": %1$s}, {"name": "b", "array": %1$s}]', :'four')::jsonb, '[{"step": "b", "peer": "a", "condition": "corr"}]') as j \gset
select t.pass(:'j' || '.a', '{1}', '{"position": 1}') \g /dev/null
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j' || '.a')) \g /dev/null
select is(t.states(:j), 'a:cancelled a[1]:completed b:running b[1]:pending', 'corr: a cancelled peer leaves the one that can still go');
select is((select array[a.next, a.running, a.completed, a.failed] from rota.step_array a where job_id = :j and step_id = 5), '{4,0,0,3}', 'the others are given up');
select t.pass(:'j' || '.b[1]') \g /dev/null
select is(t.job(:j), 'cancelled', 'corr: and the job ends');
select t.right('corr with a cancelled peer');
select t.submit('alice', format('[{"name": "a", "array": %1$s}, {"name": "b", "array": %1$s}]', :'four')::jsonb, '[{"step": "b", "peer": "a", "condition": "corr"}]') as j \gset
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j' || '.a')) \g /dev/null
select is(t.states(:j), 'a:cancelled b:dependency_failed', 'corr: a peer cancelled before it began takes all of it down');
select t.right('corr with a peer that never began');

-- corr on two peers; and behind another dependency in another job, met late.
select t.submit('alice', '[{"name": "w"}]') as w \gset
select t.submit('alice', format('[{"name": "a", "array": %1$s}, {"name": "b", "array": %1$s}, {"name": "c", "array": %1$s}]', :'four')::jsonb,
	format('[{"step": "c", "peer": "a", "condition": "corr"}, {"step": "c", "peer": "b", "condition": "corr"}, {"step": "c", "job": %s, "condition": "any"}]', :w)::jsonb) as j \gset
select t.pass(:'j' || '.a', '{1}', jsonb_build_object('position', i)) from generate_series(0, 3) i \g /dev/null
select t.pass(:'j' || '.b', '{1}', jsonb_build_object('position', i)) from generate_series(0, 1) i \g /dev/null
select is((select count(*) from rota.step where job_id = :j and request_id = 10), 1::bigint, 'corr: nothing goes before the other dependencies are met');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'w')) \g /dev/null
select is(t.pending(), format('%1$s.b*2 %1$s.c[0] %1$s.c[1]', :j), 'corr: then those whose both peers have ended');
select t.right('corr, two peers');
select t.start(:'j' || '.b', '{1}', '{"position": 3}'), t.run(:'j' || '.b[3]'), t.fail(:'j' || '.b[3]') \g /dev/null
select t.pass(:'j' || '.b', '{1}', '{"position": 2}') \g /dev/null
select t.pass(:'j' || '.c[' || i || ']') from generate_series(0, 2) i \g /dev/null
select is(t.states(:j), format('a:completed a[0]:completed a[1]:completed a[2]:completed a[3]:completed b:failed b[0]:completed b[1]:completed b[2]:completed b[3]:failed '
	'c:dependency_failed c[0]:completed c[1]:completed c[2]:completed c[3]:dependency_failed'), 'corr: all ends');
select t.right('corr, two peers, end');

-- corr on an array of another job that has ended already.
select t.submit('alice', format('[{"name": "c", "array": %1$s}]', :'four')::jsonb, format('[{"step": "c", "job": %s, "peer": "b", "condition": "corr"}]', :j)::jsonb) as k \gset
select is(t.states(:k), 'c:running c[0]:pending c[1]:pending c[2]:pending c[3]:dependency_failed', 'corr: history decides at submission');
select t.right('corr with history');
select throws_like($$select t.submit('alice', '[{"name": "a"}, {"name": "b", "array": {"indices": [[0,3,1]], "size": 4}}]', '[{"step": "b", "peer": "a", "condition": "corr"}]')$$,
	'%"b" and "a" must both be arrays', 'corr needs two arrays');
select throws_like($$select t.submit('alice', '[{"name": "a", "array": {"indices": [[0,4,1]], "size": 5}}, {"name": "b", "array": {"indices": [[0,3,1]], "size": 4}}]',
	'[{"step": "b", "peer": "a", "condition": "corr"}]')$$, '%"b" and "a" have different indices', 'corr needs the same indices');

-- One order for several elements: for all of them or none; those that are lost are taken out of it.
select t.submit('alice', format('[{"name": "a", "array": %s}]', :'four')::jsonb) as j \gset
create function t.together(p_job bigint, variadic p_positions int[]) returns int language sql as $$
	select count(*)::int from api.schedule_commit(t.term(), (select jsonb_agg(t.decision(p_job || '.a', '{3}', jsonb_build_object('position', p))) from unnest(p_positions) p),
		jsonb_build_array(jsonb_build_object('node_id', 3, 'kind', 'launch', 'job_id', p_job, 'step_id', p_positions[1] + 1, 'attempt', 1, 'body', 'order', 'signature', 'abcd',
			'also', (select jsonb_agg(p + 1) from unnest(p_positions[2:]) p))));
$$;
create function t.launches(p_job bigint) returns text language sql as $$ select string_agg(step_id || ' ' || also::text, ', ' order by order_id) from rota.node_order where job_id = p_job and kind = 'launch' $$;
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j' || '.a[1]')) \g /dev/null
select throws_ok(format('select t.together(%s, 0, 1, 2)', :j), '40001', 'an element of an array is no longer free to go', 'one of them is not free: none begins');
select is(t.states(:j), 'a:pending a[1]:cancelled', 'nothing has begun');
select is(t.together(:j, 0, 2, 3), 3, 'all of them');
select is(t.launches(:j), '1 {3,4}', 'by one order');
select is((select array_agg(also) from api.node_orders('{3}', '{}', 1000) where job_id = :j), array['{3,4}'::int[]], 'its node is told for whom');
select is((select count(*) from api.node_missing('{"nodes": [{"name": "n3", "boot_id": "boot", "attempts": [], "told": []}]}') where job_id = :j), 0::bigint, 'none of them is missed while it is on its way');
select api.order_void(jsonb_build_array(jsonb_build_object('job_id', :j, 'step_id', 1, 'attempt', 1, 'node_id', 3), jsonb_build_object('job_id', :j, 'step_id', 4, 'attempt', 1, 'node_id', 3))) \g /dev/null
select is(t.launches(:j), '3 {}', 'what is lost is taken out of it');
select api.order_void(jsonb_build_array(jsonb_build_object('job_id', :j, 'step_id', 3, 'attempt', 1, 'node_id', 3))) \g /dev/null
select is(t.launches(:j), null, 'and with the last the order itself');

-- A million pending elements are one row, and looking at them costs nothing.
select t.submit('alice', '[{"name": "m", "array": {"indices": [[0,999999,1]], "size": 1000000, "limit": null}}]') as j \gset
select is((select count(*) from rota.step where job_id = :j), 1::bigint, 'a million is one row');
select is(api.job_show(t.uid('alice'), 'alice', t.request(:'j')) #>> '{jobs,0,steps,0,array,size}', '1000000', 'shown with its size');
select is(t.pass(:'j' || '.m', '{1}', '{"position": 999999}'), 'completed', 'its last element');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is(t.job(:j), 'cancelled', 'given up at once');
select t.right('a million');
select * from finish();
rollback;
