-- Peers: together, on the same nodes (kept in between), on other nodes, in a group with one prolog and epilog.
begin;
\ir world.psql
select * from no_plan();
create function t.offer(p_label text) returns text language sql as $$
	select concat_ws(' ', 'with', p.with_set, p.with_count, 'same', p.same_nodes, p.same_as_step, 'other', p.other_nodes, p.other_than_step)
	from t.offered p where internal.step_label(p.job_id, p.step_id) = p_label;
$$;

-- with: all steps of the set start in one decision, or none.
select t.submit('alice', '[{"name": "a", "with_set": 0}, {"name": "b", "with_set": 0}, {"name": "c"}]',
	'[{"step": "b", "kind": "with", "peer": "a"}, {"step": "a", "kind": "other_nodes", "peer": "b"}, {"step": "c", "peer": "b"}]') as j \gset
select is(t.pending(), format('%1$s.a %1$s.b', :j), 'both are offered');
select is(t.offer(:'j' || '.a'), 'with 0 2 same other {1}', 'with what binds them inside the set');
select throws_ok(format($$select t.start('%s.a')$$, :j), '40001', null, 'one without the other is refused');
select is(t.commit(t.decision(:'j' || '.a', '{1}'), t.decision(:'j' || '.b', '{2}')), 2, 'both at once');
select is((select count(distinct xid) from rota.event where job_id = :j and event = 'start'), 1::bigint, 'in one transaction');
select is((select string_agg(kind || ':' || state, ' ' order by kind) from rota.step_edge where job_id = :j and kind <> 'after'), 'other_nodes:met with:met', 'edges met');
select t.right('with');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a'), t.run(:'j' || '.b'), t.finish(:'j' || '.b') \g /dev/null
select is(t.pending(), :'j' || '.c', 'what comes behind');
select t.pass(:'j' || '.c') \g /dev/null
-- A member that can never start takes the others down, whichever way the edge points.
select t.submit('alice', '[{"name": "x"}, {"name": "a", "with_set": 1}, {"name": "b", "with_set": 1}, {"name": "c", "with_set": 1}]',
	'[{"step": "a", "peer": "x"}, {"step": "b", "kind": "with", "peer": "a"}, {"step": "c", "kind": "with", "peer": "b"}]') as j \gset
select is(t.offer(:'j' || '.b'), 'with 1 3 same other', 'three, of whom one waits');
select is(api.job_why(0, 'root', t.request(:'j' || '.b')) #>> '{steps,0,conditions,0,message}', format('starts together with %s.a, which waits (dependency)', :j), 'why names it');
select t.start(:'j' || '.x'), t.run(:'j' || '.x'), t.fail(:'j' || '.x') \g /dev/null
select is(t.states(:j), 'x:failed a:dependency_failed b:dependency_failed c:dependency_failed', 'all of the set fall');
select t.right('with, failed');
select t.submit('alice', '[{"name": "a", "with_set": 0}, {"name": "b", "with_set": 0}]', '[{"step": "b", "kind": "with", "peer": "a"}]') as j \gset
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j' || '.b')) \g /dev/null
select is(t.states(:j), 'a:dependency_failed b:cancelled', 'cancelled against the edge''s direction');
select t.right('with, cancelled');

-- A set of which a step has several members on whose nodes it runs (same-nodes): all members are offered.
select t.submit('alice', '[{"name": "a", "with_set": 0}, {"name": "b", "with_set": 0}, {"name": "c", "with_set": 0}]',
	'[{"step": "b", "kind": "with", "peer": "a"}, {"step": "c", "kind": "with", "peer": "a"}, {"step": "c", "kind": "same_nodes", "peer": "a"},
	{"step": "c", "kind": "same_nodes", "peer": "b"}]') as j \gset
select is(t.offer(:'j' || '.c'), 'with 0 3 same {0,1} other', 'two members of the set on whose nodes it is to run');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null

-- same-nodes: the follower gets the very nodes of its peer; they are reserved in between, as far as the follower needs them.
select t.submit('alice', '[{"name": "a", "nodes_min": 2, "cpus_per_task": 4, "mem_mb": 500}, {"name": "b", "nodes_min": 2, "ntasks": 2, "cpus_per_task": 3, "mem_mb": 900}]',
	'[{"step": "b", "peer": "a"}, {"step": "b", "kind": "same_nodes", "peer": "a"}]') as j \gset
select t.start(:'j' || '.a', '{3,2}'), t.run(:'j' || '.a') \g /dev/null
select t.report(t.say(:'j' || '.a', 'done'), t.say(:'j' || '.a', 'end', '{}', 3)) \g /dev/null
select is((select array_agg(cpus_used order by node_id) from rota.node_used), '{0,4,0,0}', 'one node has finished');
select t.report(t.say(:'j' || '.a', 'end', '{}', 2)) \g /dev/null
select is((select array_agg(cpus_used order by node_id) from rota.node_used), '{0,3,3,0}', 'CPUs stay booked for the follower');
select is((select array_agg(mem_used_mb order by node_id) from rota.node_used), '{0,500,500,0}', 'and memory, no more than there was');
select is(t.offer(:'j' || '.b'), 'with same {3,2} other', 'which is offered those nodes, in their order');
select is((select array_agg(node_id order by node_id) from api.schedule_running() where reserved and reserved_for = 1), '{2,3}', 'the scheduler sees them kept');
select ok((select bool_and(started_at > now()) from rota.allocation where job_id = :j and attempt = 0), 'held from when they were found free, which may be after the transaction''s beginning');
select t.right('reserved');
select is(t.start(:'j' || '.b', '{3,2}', '{"mem_mb": 900}'), 1, 'it starts there');
select is((select array_agg(mem_used_mb order by node_id) from rota.node_used), '{0,900,900,0}', 'with its own figures');
select is((select count(*) from rota.allocation where job_id = :j and attempt = 0 and (ended_at is null or gone_at is null)), 0::bigint, 'nothing is kept any more');
select t.right('taken over');
select t.run(:'j' || '.b'), t.finish(:'j' || '.b') \g /dev/null
-- Nodes are no longer reserved once no follower needs them: cancellation, hold, loss of the node.
create function t.keep() returns bigint language plpgsql as $$
declare
	v_job bigint := t.submit('alice', '[{"name": "a", "cpus_per_task": 2}, {"name": "b", "cpus_per_task": 2}]', '[{"step": "b", "peer": "a", "condition": "any"}, {"step": "b", "kind": "same_nodes", "peer": "a"}]');
begin
	perform t.pass(v_job || '.a', '{4}');
	return v_job;
end $$;
select t.keep() as j \gset
select is((select cpus_used from rota.node_used where node_id = 4), 2, 'reserved');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is((select cpus_used from rota.node_used where node_id = 4), 0, 'let go by cancel');
select t.keep() as j \gset
select api.job_hold(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is((select cpus_used from rota.node_used where node_id = 4), 0, 'let go by hold');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select t.keep() as j \gset
select t.silent(4) \g /dev/null
select t.judge() \g /dev/null
select is((select cpus_used from rota.node_used where node_id = 4), 0, 'let go by the loss of the node');
select t.right('let go');
select is(api.job_why(0, 'root', t.request(:'j' || '.b')) #> '{steps,0,conditions}' @> '[{"kind": "node"}]', true, 'why names the lost node');
select t.back(4) \g /dev/null
select t.pass(:'j' || '.b', '{4}') \g /dev/null
-- The follower of a step that never was placed can never be placed.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[{"step": "b", "kind": "same_nodes", "peer": "a"}]') as j \gset
select is(t.pending(), :'j' || '.a', 'same nodes: not before the peer is placed');
select t.start(:'j' || '.a') \g /dev/null
select is(t.offer(:'j' || '.b'), 'with same {1} other', 'same nodes without after: beside it');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a'), t.pass(:'j' || '.b') \g /dev/null
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[{"step": "b", "kind": "same_nodes", "peer": "a"}]') as j \gset
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j' || '.a')) \g /dev/null
select is(t.states(:j), 'a:cancelled b:dependency_failed', 'never placed: never the same nodes');
-- Two followers share the reserved resources.
select t.submit('alice', '[{"name": "a", "cpus_per_task": 4}, {"name": "b", "cpus_per_task": 3}, {"name": "c", "cpus_per_task": 3}]',
	'[{"step": "b", "peer": "a"}, {"step": "b", "kind": "same_nodes", "peer": "a"}, {"step": "c", "peer": "a"}, {"step": "c", "kind": "same_nodes", "peer": "a"}]') as j \gset
select t.pass(:'j' || '.a') \g /dev/null
select is((select array_agg(cpus order by step_id) from rota.allocation where job_id = :j and attempt = 0), '{3,1}', 'as far as it goes');
select t.right('two followers');
select t.pass(:'j' || '.b'), t.pass(:'j' || '.c') \g /dev/null
select t.right('two followers, end');
-- The follower is an array: its first element takes over the resources reserved for the array.
select t.submit('alice', '[{"name": "a", "cpus_per_task": 2}, {"name": "r", "cpus_per_task": 2, "array": {"indices": [[0,1,1]], "size": 2}}]',
	'[{"step": "r", "peer": "a"}, {"step": "r", "kind": "same_nodes", "peer": "a"}]') as j \gset
select t.pass(:'j' || '.a') \g /dev/null
select is((select reserved_for from api.schedule_running() where reserved), 1, 'kept for the array');
select t.pass(:'j' || '.r', '{1}', '{"position": 0}') \g /dev/null
select t.right('kept for an array');
select t.pass(:'j' || '.r', '{1}', '{"position": 1}') \g /dev/null
select is(t.job(:j), 'completed', 'array on the same nodes');

-- other-nodes.
select t.submit('alice', '[{"name": "a", "nodes_min": 2}, {"name": "b"}]', '[{"step": "b", "kind": "other_nodes", "peer": "a"}]') as j \gset
select t.start(:'j' || '.a', '{1,2}') \g /dev/null
select is(t.offer(:'j' || '.b'), 'with same other {1,2}', 'other nodes: which not');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a'), t.pass(:'j' || '.b', '{3}') \g /dev/null

-- other-nodes binds both steps, at each attempt: a peer that runs again avoids the nodes of its follower. same-nodes: it returns
-- to its nodes.
select t.submit('alice', '[{"name": "a", "retry": 3}, {"name": "b", "retry": 1}, {"name": "c"}]', '[{"step": "b", "kind": "other_nodes", "peer": "a"}, {"step": "c", "kind": "same_nodes", "peer": "a"}]') as j \gset
select t.start(:'j' || '.a', '{1}'), t.run(:'j' || '.a'), t.start(:'j' || '.b', '{2}'), t.run(:'j' || '.b'), t.fail(:'j' || '.a') \g /dev/null
select t.later() \g /dev/null
select is(t.offer(:'j' || '.a'), 'with same other {2}', 'again: not where the one is that keeps off it');
select is(t.start(:'j' || '.a', '{2}'), 0, 'nor if the leader read that before');
select is(t.state(:'j' || '.a'), 'pending', 'it still waits');
select is(t.start(:'j' || '.a', '{3}'), 1, 'elsewhere it starts');
select t.run(:'j' || '.a'), t.start(:'j' || '.c', '{3}'), t.run(:'j' || '.c'), t.fail(:'j' || '.b'), t.fail(:'j' || '.a') \g /dev/null
select t.later() \g /dev/null
select is(t.offer(:'j' || '.a') || '; ' || t.offer(:'j' || '.b'), 'with same {3} other; with same other', 'both again: the follower holds the place, who waits holds none');
select is(t.start(:'j' || '.a', '{4}'), 0, 'back to the follower, nowhere else');
select is(t.commit(t.decision(:'j' || '.b', '{3}'), t.decision(:'j' || '.a', '{3}')), 1, 'decided in one pass on one node: one of them starts');
select is(t.states(:j), 'a:pending b:starting c:running', 'the first one');
select is(t.offer(:'j' || '.a'), 'with same {3} other {3}', 'the other waits for it, for nodes');
select t.run(:'j' || '.b'), t.finish(:'j' || '.b'), t.finish(:'j' || '.c') \g /dev/null
select is(t.offer(:'j' || '.a'), 'with same {3} other {3}', 'an end changes nothing');
select api.job_cancel(0, 'root', t.request(:'j')) \g /dev/null
-- A lost node; and elements, each by itself.
select t.submit('alice', '[{"name": "r", "array": {"indices": [[0,2,1]], "size": 3}}, {"name": "b"}]', '[{"step": "b", "kind": "other_nodes", "peer": "r"}]') as j \gset
select t.start(:'j' || '.r', '{4}', '{"position": 0}'), t.run(:'j' || '.r[0]'), t.start(:'j' || '.b', '{2}'), t.run(:'j' || '.b') \g /dev/null
select t.silent(4), t.judge() \g /dev/null
select t.later() \g /dev/null
select is(t.offer(:'j' || '.r[0]') || '; ' || t.offer(:'j' || '.r'), 'with same other {2}; with same other {2}', 'elements keep off who keeps off their array');
select is(t.commit(t.decision(:'j' || '.r[0]', '{2}'), t.decision(:'j' || '.r', '{2}', '{"position": 1}'), t.decision(:'j' || '.r', '{3}', '{"position": 2}')), 1, 'one of three, decided too early, may start');
select t.back(4) \g /dev/null
select api.job_cancel(0, 'root', t.request(:'j')), t.finish(:'j' || '.r[2]', '{"outcome": "cancel"}'), t.finish(:'j' || '.b', '{"outcome": "cancel"}') \g /dev/null
-- Peers in other jobs; an edge of another user's job binds that job alone.
select t.submit('alice', '[{"name": "a", "retry": 1}]') as p \gset
select t.start(:'p' || '.a', '{1}'), t.run(:'p' || '.a') \g /dev/null
select t.submit('bob', '[{"name": "b"}]', format('[{"step": "b", "kind": "other_nodes", "job": %s}]', :p)::jsonb) as j \gset
select is(t.offer(:'j' || '.b'), 'with same other {1}', 'a job of one step stands for it');
select t.start(:'j' || '.b', '{2}'), t.run(:'j' || '.b'), t.fail(:'p' || '.a') \g /dev/null
select t.later() \g /dev/null
select is(t.offer(:'p' || '.a'), 'with same other', 'bob does not keep alice from a node');
select is(t.start(:'p' || '.a', '{2}'), 1, 'not by his start either');
select t.run(:'p' || '.a'), t.finish(:'p' || '.a'), t.finish(:'j' || '.b') \g /dev/null
select t.submit('alice', '[{"name": "a", "retry": 1}, {"name": "z"}]') as p \gset
select t.start(:'p' || '.a', '{1}'), t.run(:'p' || '.a'), t.fail(:'p' || '.a'), t.later() \g /dev/null
select t.submit('alice', '[{"name": "b"}]', format('[{"step": "b", "kind": "other_nodes", "job": %s, "peer": "a"}]', :p)::jsonb) as j \gset
select is(t.offer(:'j' || '.b') || '; ' || t.offer(:'p' || '.a'), 'with same other; with same other', 'one that waits to run again is nowhere');
select is((select steady from t.offered where job_id = :p and step_id = 0), false, 'and is read again in each pass from now on');
select t.start(:'j' || '.b', '{3}') \g /dev/null
select is(t.offer(:'p' || '.a'), 'with same other {3}', 'it keeps off the later job');
select throws_like(format($$select t.submit('alice', '[{"name": "x"}]', '[{"step": "x", "kind": "other_nodes", "job": %s}]')$$, :p), format('%%--other-nodes: job %1$s has several steps; name one, as %1$s.STEP', :p), 'which of several steps has to be said');
select t.right('peers run again');
-- A peer that ended without ever having nodes: its follower by other-nodes may run anywhere, its follower by same-nodes nowhere.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c"}]', '[{"step": "b", "peer": "a", "condition": "any"}, {"step": "b", "kind": "other_nodes", "peer": "a"},
	{"step": "c", "peer": "a", "condition": "any"}, {"step": "c", "kind": "same_nodes", "peer": "a"}]') as j \gset
select api.job_cancel(0, 'root', t.request(:'j' || '.a')) \g /dev/null
select is(t.states(:j), 'a:cancelled b:pending c:dependency_failed', 'a peer that never had nodes');
select is((t.step(:'j' || '.c')).message, 'can no longer be met: ' || :'j' || '.a never had nodes to be the same as', 'in words');
select is(t.pass(:'j' || '.b', '{1}'), 'completed', 'the other one runs');

-- Groups: the first attempt on a node owns prolog and epilog; nodes are free between the steps; the epilog runs at the end.
select t.submit('alice', '[{"name": "a", "group": "g"}, {"name": "b", "group": "g"}, {"name": "c"}]', '[{"step": "b", "peer": "a"}]') as j \gset
select is((select group_nodes from api.schedule_launch(array[:j], '{0}')), '{}', 'no holder yet');
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.report(t.say(:'j' || '.a', 'task'), t.say(:'j' || '.a', 'done')) \g /dev/null
select is((select concat_ws(' ', t.state(:'j' || '.a'), cpus_used) from rota.node_used where node_id = 1), 'completed 0', 'done is enough, the node is free');
select is((select group_nodes from api.schedule_launch(array[:j], '{1}')), '{1}', 'the holder is still there');
select is((select group_nodes from api.schedule_launch(array[:j], '{2}')), null, 'a step without a group has none');
select t.right('a group''s holder');
select t.start(:'j' || '.b', '{1}', '{"prolog_owner": false}'), t.run(:'j' || '.b') \g /dev/null
select is(t.orders(:'j' || '.a'), null, 'no epilog yet');
select t.report(t.say(:'j' || '.a', 'run')) \g /dev/null
select is(t.state(:'j' || '.a'), 'completed', 'what a holder says again changes nothing');
select t.finish(:'j' || '.b') \g /dev/null
select is(t.orders(:'j' || '.a'), 'end@n1', 'the last step of the group is done: the holder runs the epilog');
select is((select count(*) from rota.allocation where job_id = :j and gone_at is null), 1::bigint, 'it is still on the node');
select t.report(t.say(:'j' || '.a', 'hook', '{"hook": "site_epilog", "exit": 0, "signal": 0, "usec": 1, "output": ""}'), t.say(:'j' || '.a', 'end')) \g /dev/null
select is((select count(*) from rota.allocation where job_id = :j and gone_at is null), 0::bigint, 'now it is gone');
select is((select count(*) from rota.hook_run where job_id = :j), 1::bigint, 'its epilog is on record');
select is(t.job(:j), 'live', 'a step outside the group goes on');
select t.pass(:'j' || '.c') \g /dev/null
select t.right('group');
-- The steps of a group need no edges between each other.
select t.submit('alice', '[{"name": "a", "group": "g"}, {"name": "b", "group": "g"}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.report(t.say(:'j' || '.a', 'done')) \g /dev/null
select is(t.orders(:'j' || '.a'), null, 'no epilog yet where nothing waits for anything');
select t.start(:'j' || '.b', '{1}', '{"prolog_owner": false}'), t.run(:'j' || '.b'), t.finish(:'j' || '.b') \g /dev/null
select is(t.orders(:'j' || '.a'), 'end@n1', 'then it runs');
select t.report(t.say(:'j' || '.a', 'end')) \g /dev/null
select t.right('group without edges');
-- A group that loses the node of its prolog owner; a group that is cancelled before all its steps are done.
select t.submit('alice', '[{"name": "a", "group": "g"}, {"name": "b", "group": "g"}]', '[{"step": "b", "peer": "a"}]') as j \gset
select t.start(:'j' || '.a', '{4}'), t.run(:'j' || '.a'), t.report(t.say(:'j' || '.a', 'done')) \g /dev/null
select t.silent(4) \g /dev/null
select t.judge() \g /dev/null
select is((select group_nodes from api.schedule_launch(array[:j], '{1}')), '{}', 'the holder is lost with its node');
select t.start(:'j' || '.b', '{1}'), t.run(:'j' || '.b') \g /dev/null
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select t.report(t.say(:'j' || '.b', 'done', '{"outcome": "cancel", "cause": "cancelled"}')) \g /dev/null
select is(t.job(:j), 'cancelled', 'cancelled');
select is(t.orders(:'j' || '.b'), 'kill@n1 end@n1', 'and its holder runs the epilog');
select t.report(t.say(:'j' || '.b', 'end')) \g /dev/null
select t.right('group, cancelled');
select * from finish();
rollback;
