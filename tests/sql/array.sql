-- Arrays: elements become rows when they start or when something befalls them; counters, limits, ends, corr.
begin;
\ir world.psql
select * from no_plan();

select is(internal.array_index('[[0,9,3],[20,21,1]]', p), i, 'position ' || p) from unnest('{0,1,3,4,5,6}'::int[], '{0,3,9,20,21,null}'::int[]) x (p, i);
\set odd '\'[[0,9,3],[20,21,1],[30,30,1]]\''
select is(internal.array_indices(internal.array_spans(:odd), '{6,5,0,3,4,7}'), '{30,21,0,9,20,null}'::int[], 'positions of several ranges, in any order');
select is(internal.array_positions(internal.array_spans(:odd), 8, 31), '{null,3,null,null,null,null,null,null,null,null,null,null,4,5,null,null,null,null,null,null,null,null,6,null}'::int[], 'the other way round');
select is(internal.array_indices(internal.array_spans('[[5,7,1]]'), '{0,2,3}'), '{5,7,null}'::int[], 'one range');
select is(internal.array_positions(internal.array_spans('[[5,7,1]]'), 4, 8), '{null,0,1,2,null}'::int[], 'and back');
-- Draws ranges of array indices; the test compares internal.array_indices with a plain listing of the same ranges.
create function t.drawn() returns jsonb language sql as $$
	select jsonb_agg(jsonb_build_array(n * 100, n * 100 + (c - 1) * s, s) order by n)
	from (select n, 1 + floor(random() * 9)::int as c, 1 + floor(random() * 9)::int as s from generate_series(0, 40) n) x $$;
select set_eq(format('select p, (internal.array_indices(internal.array_spans(%1$L), array(select generate_series(0, 400))))[p + 1] from generate_series(0, 400) p', i),
	format('select p, internal.array_index(%1$L, p) from generate_series(0, 400) p', i), 'drawn indices') from t.drawn() i;
select is(array(select x - 1 from unnest(array_remove(internal.array_positions(internal.array_spans(i), 0, 5000), null)) with ordinality y (p, x) where p <> x - 1), '{}', 'and positions') from t.drawn() i;
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
select is(t.states(:j), 'a:failed a[0]:completed a[3]:failed a[6]:completed a[9]:completed z:dependency_failed', 'the worst element decides; what waits for the array ends with it');
select is((t.step(:'j' || '.a')).exit_code, 7, 'the exit code of the head is the highest');
select is(t.job(:j), 'failed', 'and so for the job');
select t.right('an array');

-- An array that was cancelled with elements still running releases its dependents of condition "any" when the last element ends.
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

-- A job is cancelled after one of its elements has failed: the job ends as failed.
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

-- Hold and release one element, ranges of elements, and the array.
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
select throws_like(format($$select api.job_hold(t.uid('alice'), 'alice', t.request('%s.a[0-999999999]'))$$, :j), '%names no array elements, or too many', 'an endless range');

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

-- corr: an element whose peer was cancelled before it became a row can never start.
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

-- corr on two peers; and on arrays of the same job together with a dependency on another job that is met later.
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
-- corr on a whole job is on its one step; of several, one has to be named.
select t.submit('alice', format('[{"name": "script", "array": %s}]', :'four')::jsonb) as a \gset
select t.submit('alice', format('[{"name": "script", "array": %s}]', :'four')::jsonb, format('[{"step": "script", "job": %s, "condition": "corr"}]', :a)::jsonb) as k \gset
select is((select (e.peer_job_id, e.peer_step_id) from rota.step_edge e where e.job_id = :k), row(:a::bigint, 0), 'corr: a job of one step is that step');
select t.pass(:'a' || '.script', '{1}', '{"position": 2}') \g /dev/null
select is(t.states(:k), 'script:running script[2]:pending', 'corr: element by element of that step');
select t.right('corr with a job');
select throws_like(format($$select t.submit('alice', '[{"name": "c", "array": {"indices": [[0,3,1]], "size": 4}}]', '[{"step": "c", "job": %s, "condition": "corr"}]')$$, :j),
	format('%%--after: job %1$s has several steps; name one, as %1$s.STEP', :j), 'corr: which of several steps has to be said');
select throws_like($$select t.submit('alice', '[{"name": "a"}, {"name": "b", "array": {"indices": [[0,3,1]], "size": 4}}]', '[{"step": "b", "peer": "a", "condition": "corr"}]')$$,
	'%"b" and "a" must both be arrays', 'corr needs two arrays');
select throws_like($$select t.submit('alice', '[{"name": "a", "array": {"indices": [[0,4,1]], "size": 5}}, {"name": "b", "array": {"indices": [[0,3,1]], "size": 4}}]',
	'[{"step": "b", "peer": "a", "condition": "corr"}]')$$, '%"b" and "a" have different indices', 'corr needs the same indices');

-- Why an array waits of which no element may start: show, queue and why give the same reason.
create function t.why(p_label text) returns text language sql as $$
	select concat_ws(' ', api.job_show(0, 'root', t.request(p_label)) #>> '{jobs,0,steps,0,reason}', api.job_queue(0, 'root', t.request(p_label)) #>> '{jobs,0,reason}',
		(select string_agg((w ->> 'kind') || coalesce(':' || (w ->> 'blocker'), ''), ',') from jsonb_array_elements(api.job_why(0, 'root', t.request(p_label)) #> '{steps,0,conditions}') w)) $$;
select t.submit('alice', format('[{"name": "a", "array": %1$s}, {"name": "b", "array": %1$s}]', :'four')::jsonb, '[{"step": "b", "peer": "a", "condition": "corr"}]') as j \gset
select t.pass(:'j' || '.a', '{1}', format('{"position": %s}', p)::jsonb) from generate_series(1, 3) p \g /dev/null
select t.pass(:'j' || format('.b[%s]', x)) from unnest('{1,2,3}'::int[]) x \g /dev/null
select t.start(:'j' || '.a', '{1}', '{"position": 0}') \g /dev/null
select is(t.why(:'j' || '.b'), format('dependency dependency:%s.a', :j), 'corr: it waits for elements, and for nothing else');
select api.job_cancel(0, 'root', t.request(:'j')) \g /dev/null
select t.submit('alice', format('[{"name": "a", "array": %s}]', :'four')::jsonb) as j \gset
select api.job_hold(0, 'root', t.request(:'j' || '.a[1-2]')) \g /dev/null
select is(t.why(:'j' || '.a'), 'scheduler scheduler priority', 'some elements are held: the others are not');
select api.job_hold(0, 'root', t.request(:'j' || '.a[0-3]')) \g /dev/null
select is(t.why(:'j' || '.a'), 'held held hold', 'all elements are held');
select api.job_release(0, 'root', t.request(:'j' || '.a[1]')) \g /dev/null
select is(t.why(:'j' || '.a'), 'scheduler scheduler priority', 'one of them no longer');
select api.job_cancel(0, 'root', t.request(:'j')) \g /dev/null
select t.right('reasons');

-- One launch request for several elements is committed for all of them or none. Elements that are lost later are taken out of it.
select t.submit('alice', format('[{"name": "a", "array": %s}]', :'four')::jsonb) as j \gset
create function t.together(p_job bigint, variadic p_positions int[]) returns int language sql as $$
	select count(*)::int from api.schedule_commit(t.term(), (select jsonb_agg(t.decision(p_job || '.a', '{3}', jsonb_build_object('position', p))) from unnest(p_positions) p),
		jsonb_build_array(jsonb_build_object('node_id', 3, 'kind', 'launch', 'job_id', p_job, 'step_id', p_positions[1] + 1, 'attempt', 1, 'body', 'order', 'signature', 'abcd',
			'also', (select jsonb_agg(p + 1) from unnest(p_positions[2:]) p))));
$$;
create function t.launches(p_job bigint) returns text language sql as $$ select string_agg(step_id || ' ' || also::text, ', ' order by order_id) from rota.node_order where job_id = p_job and kind = 'launch' $$;
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j' || '.a[1]')) \g /dev/null
select throws_ok(format('select t.together(%s, 0, 1, 2)', :j), '40001', 'an element of an array can no longer start', 'one of them is not free: none begins');
select is(t.states(:j), 'a:pending a[1]:cancelled', 'nothing has begun');
select is(t.together(:j, 0, 2, 3), 3, 'all of them');
select is(t.launches(:j), '1 {3,4}', 'by one order');
select is((select array_agg(also) from api.node_orders('{3}', '{}', 1000) where job_id = :j), array['{3,4}'::int[]], 'the order to its node names them');
select is((select count(*) from internal.node_missing('{"nodes": [{"name": "n3", "boot_id": "boot", "attempts": [], "reported": []}]}') where job_id = :j), 0::bigint, 'none of them is missed while it is on its way');
select internal.order_void(jsonb_build_array(jsonb_build_object('job_id', :j, 'step_id', 1, 'attempt', 1, 'node_id', 3), jsonb_build_object('job_id', :j, 'step_id', 4, 'attempt', 1, 'node_id', 3))) \g /dev/null
select is(t.launches(:j), '3 {}', 'what is lost is taken out of it');
select internal.order_void(jsonb_build_array(jsonb_build_object('job_id', :j, 'step_id', 3, 'attempt', 1, 'node_id', 3))) \g /dev/null
select is(t.launches(:j), null, 'and with the last the order itself');

-- Arrays of several ranges: elements start by position, and are named by the index at that position.
select t.submit('alice', '[{"name": "a", "array": {"indices": [[3,3,1],[7,9,2],[20,20,1],[40,60,10]], "size": 7}}, {"name": "b", "array": {"indices": [[4,5,1]], "size": 2}}]') as j \gset
select is(t.commit(t.decision(:'j' || '.a', '{1}', '{"position": 6}'), t.decision(:'j' || '.b', '{1}', '{"position": 1}'), t.decision(:'j' || '.a', '{2}', '{"position": 0}'),
	t.decision(:'j' || '.a', '{2}', '{"position": 2}'), t.decision(:'j' || '.b', '{3}', '{"position": 0}')), 5, 'elements of two arrays in one decision');
select is(t.states(:j), 'a:running a[3]:starting a[9]:starting a[60]:starting b:running b[4]:starting b[5]:starting', 'each has its index');
select is((select jsonb_path_query_array(api.job_hold(t.uid('alice'), 'alice', jsonb_build_object('jobs', jsonb_build_array(:'j' || '.a[50]', :'j' || '.b[4-5]', :'j' || '.a[7]'))), '$.steps[*].label')),
	jsonb_build_array(:'j' || '.a[7]', :'j' || '.a[50]', :'j' || '.b[4]', :'j' || '.b[5]'), 'those named are found');
select throws_like(format($$select api.job_hold(t.uid('alice'), 'alice', t.request('%s.a[7-9]'))$$, :j), '%has no index 8', 'what is between ranges is not');
select throws_like(format($$select api.job_hold(t.uid('alice'), 'alice', t.request('%s.a[2]'))$$, :j), '%has no index 2', 'nor what is before them');
select is(api.job_why(t.uid('alice'), 'alice', t.request(:'j' || '.a[40]')) #>> '{steps,0,label}', :'j' || '.a[40]', 'why of one that is no row');
select is(api.job_wait(t.uid('alice'), 'alice', t.request(:'j' || '.a[20]')) #>> '{jobs,0,label}', :'j' || '.a[20]', 'nor is this one');
select t.right('many ranges');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null

-- A million pending elements are one row, and showing them costs no more than showing one.
select t.submit('alice', '[{"name": "m", "array": {"indices": [[0,999999,1]], "size": 1000000, "limit": null}}]') as j \gset
select is((select count(*) from rota.step where job_id = :j), 1::bigint, 'a million is one row');
select is(api.job_show(t.uid('alice'), 'alice', t.request(:'j')) #>> '{jobs,0,steps,0,array,size}', '1000000', 'shown with its size');
select is(t.pass(:'j' || '.m', '{1}', '{"position": 999999}'), 'completed', 'its last element');
select throws_like(format($$select api.job_hold(t.uid('alice'), 'alice', t.request('%s.m[0-10000]'))$$, :j), '%names no array elements, or too many', 'a request names ten thousand elements at the most');
select throws_ok(format($$select api.job_signal(t.uid('alice'), 'alice', '{"jobs": ["%1$s.m[0-9999]", "%1$s.m[20000]"], "signal": "USR1"}')$$, :j), 'RT422', 'more than 10000 elements of arrays named', 'in all');
select is(jsonb_array_length(api.job_wait(t.uid('alice'), 'alice', t.request(:'j' || '.m[0-9999]')) -> 'jobs'), 10000, 'so many are answered');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is(t.job(:j), 'cancelled', 'given up at once');
select t.right('a million');
select * from finish();
rollback;
