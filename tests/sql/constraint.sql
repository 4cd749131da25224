-- Attacks on invariants: overbooking, two live attempts of a step, transitions that the state machine lacks, cycles of edges, an
-- event log that contradicts the state, an id that comes twice.
begin;
\ir world.psql
select * from no_plan();
select api.admin_change(0, 'root', '{"object": "license", "action": "create", "name": "lic", "values": {"total": 1}}') \g /dev/null
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c", "licenses": {"lic": 1}}, {"name": "d", "licenses": {"lic": 1}}]', '[{"step": "b", "peer": "a", "condition": "start"}]') as j \gset

-- Overbooking, by a decision of the scheduler and by hand.
select throws_ok(format($$select t.start('%s.a', '{1}', '{"cpus": 5}')$$, :j), '23514', null, 'more CPUs than the node has');
select throws_ok(format($$select t.start('%s.a', '{1}', '{"mem_mb": 4001}')$$, :j), '23514', null, 'more memory than the node has');
select throws_ok(format($$select t.commit(t.decision('%1$s.a', '{1}', '{"cpus": 3}'), t.decision('%1$s.c', '{1}', '{"cpus": 2}'))$$, :j), '23514', null, 'more CPUs together');
select throws_ok(format($$select t.commit(t.decision('%1$s.c'), t.decision('%1$s.d'))$$, :j), '23514', null, 'more licences than there are');
select throws_ok(format($$select t.start('%s.a', '{1}', '{"gres": {"gpu": [2]}}')$$, :j), '40001', null, 'a unit that the node does not have');
select throws_ok(format($$select t.start('%s.a', '{1}', '{"gres": {"tpu": [0]}}')$$, :j), '40001', null, 'a kind of unit that it does not have');
select is(t.start(:'j' || '.a', '{1}', '{"cpus": 3, "mem_mb": 3000, "gres": {"gpu": [0]}}'), 1, 'what fits starts');
select throws_ok(format($$select t.start('%s.c', '{1}', '{"cpus": 2}')$$, :j), '23514', null, 'what does not fit beside it');
select throws_ok(format($$select t.start('%s.c', '{1}', '{"mem_mb": 1001}')$$, :j), '23514', null, 'nor in memory');
select throws_ok(format($$select t.start('%s.c', '{1}', '{"gres": {"gpu": [0]}}')$$, :j), '40001', null, 'nor on a unit that is held');
select throws_ok($$update rota.node_used set cpus_used = cpus_used + 2 where node_id = 1$$, '23514', null, 'by hand: CPUs');
select throws_ok($$update rota.node set cpus = 2 where node_id = 1$$, '23514', null, 'by hand: fewer CPUs than are used');
select throws_ok($$update rota.node_used set mem_used_mb = -1 where node_id = 1$$, '23514', null, 'by hand: less than nothing');
select throws_ok($$update rota.license set used = 2$$, '23514', null, 'by hand: licences');
select throws_ok(format($$insert into rota.node_gres (node_id, gres, unit, job_id, step_id, attempt) values (1, 'gpu', 0, %s, 0, 2)$$, :j), '23505', null, 'by hand: a unit with two holders');
select throws_ok($$update rota.node_gres set job_id = 1 where node_id = 2 and unit = 0$$, '23514', null, 'by hand: half a holder');
select throws_ok(format($$update rota.allocation set cpus_held = cpus + 1 where job_id = %s$$, :j), '23514', null, 'by hand: more held than allocated');
select t.right('overbooking refused');

-- Two live attempts of one step.
select throws_ok(format($$insert into rota.attempt (job_id, step_id, attempt, time_limit_s, node_ids, nodes) values (%s, 0, 2, 60, '{2}', '{n2}')$$, :j), '23505', null, 'a second live attempt');
select throws_ok(format($$insert into rota.attempt (job_id, step_id, attempt, time_limit_s, node_ids, nodes) values (%s, 0, 1, 60, '{2}', '{n2}')$$, :j), '23505', null, 'the same attempt again');
select is(t.start(:'j' || '.a', '{2}'), 0, 'a second start is left out');
select is(t.commit(t.decision(:'j' || '.a') || '{"attempt": 5}'), 0, 'a start decided for another attempt is left out');
select throws_ok(format($$update rota.attempt set ended_at = now() where job_id = %s$$, :j), '23514', null, 'an attempt that ends without a state');

-- Transitions that are not in the table; an event log that contradicts the state.
select throws_ok(format($$insert into rota.event (job_id, step_id, attempt, from_state, event, to_state, actor) values (%s, 0, 0, 'completed', 'run', 'running', 'me')$$, :j), '23514', null, 'an event that cannot happen');
select throws_ok(format($$insert into rota.event (job_id, step_id, attempt, from_state, event, to_state, actor) values (%s, 0, 0, 'pending', 'start', 'running', 'me')$$, :j), '23514', null, 'an event that leads elsewhere');
select throws_ok(format($$update rota.step set state = 'happy' where job_id = %s$$, :j), '23514', null, 'a state that does not exist');
create function t.valid(p_domain text, p_row record) returns boolean language plpgsql as $$
begin
	execute format('select %L::rota.%I', p_row::text, p_domain);
	return true;
exception when check_violation then
	return false;
end $$;
select set_eq($$select x.state from (select state from rota.step_state union values ('happy')) x where t.valid('step_valid', (1, 1, null, x.state, '', null, 0, 0, 0, 0))$$,
	$$select state from rota.step_state$$, 'those that do');
select is(array(select t.valid('step_valid', (1, x.request, x.pos, x.state, x.held, x.wanted, x.least, x.least, x.least, x.least)) from (values
	('running', 'user', 'cancel', 0, 0, 5), ('running', '', null, 1, 1, null), ('running', '', null, -1, 1, null), ('running', 'me', 'cancel', 0, 1, null),
	('running', '', 'happiness', 0, 1, null), ('happy', '', null, 0, 1, null), ('running', '', null, 0, 1, 0)) x (state, held, wanted, least, request, pos)),
	'{t,t,f,f,f,f,f}', 'what else a step may be');
select throws_ok(format($$update rota.step set %s = -1 where job_id = %s$$, x, :j), '23514', null, 'a step with ' || x || ' below 0') from unnest('{attempt,deps_waiting,retries,requeues}'::text[]) x;
select throws_ok(format($$update rota.step_request set %s where job_id = %s$$, x, :j), '23514', null, 'a request with ' || x)
	from unnest('{nodes_min = 0,ntasks = 0,ntasks_per_node = 0,cpus_per_task = 0,mem_mb = -1,mem_per_cpu_mb = -1,time_limit_s = -1,time_min_s = -1,retry = -1,sample_s = -1,sample_s = 86401,nodes_max = 0}'::text[]) x;
select throws_ok(format($$update rota.step_request set auth = '\x00' where job_id = %s$$, :j), '23514', null, 'a request that nobody can verify');
select throws_ok(format($$update rota.step_edge set %s where job_id = %s$$, x, :j), '23514', null, 'an edge with ' || x)
	from unnest(array[$$kind = 'before'$$, $$"condition" = 'maybe'$$, $$state = 'late'$$]) x;
select lives_ok(format($$update rota.step_request set ntasks_per_node = null, mem_mb = 0, mem_per_cpu_mb = null, time_limit_s = 0, sample_s = 86400 where job_id = %s$$, :j), 'what a request may have');
select set_eq($$select x.state from (select state from rota.step_state union values ('happy')) x where t.valid('attempt_valid', (1, x.state, now()))$$, $$select state from rota.step_state where stage = 'final' and state <> 'dependency_failed'$$, 'an attempt ends in one of those that are an end of what was begun');
select set_eq($$select f.state, e.event, t.state as into_state from rota.step_state f cross join rota.step_state t cross join (select event from rota.step_transition union values ('other')) e where t.valid('event_valid', (f.state, e.event, t.state))$$,
	$$select from_state, event, to_state from rota.step_transition$$, 'an event is one of the moves that there are');
select throws_ok(format('update rota.%s where job_id = %s', x, :j), '23514', null, x)
	from unnest(array[$$attempt set state = 'pending'$$, $$allocation set phase = 'late'$$, $$allocation set tasks = -1$$, $$allocation set cpus = -1$$]) x;
select throws_ok(format('update rota.%s where job_id = %s', x, :j), '23514', null, x)
	from unnest(array['attempt set attempt = 0', $$attempt set state = 'completed'$$, 'allocation set mem_mb = -1', 'allocation set cpus_held = -1', $$node_order set kind = 'sing'$$,
		'node_order set signature = null', 'node_order set body = null, signature = null', $$node_order set kind = 'kill'$$, $$node_order set kind = 'kill', body = null, signature = null, also = '{1}'$$]) x;
select throws_ok(format('insert into rota.usage_pending (job_ids, step_ids, attempts, node_ids, held, used) values (%s)', x), '23514', null, 'ended: ' || x)
	from unnest(array[$$'{1}', '{}', null, null, false, false$$, $$'{1}', '{1}', '{1}', null, true, false$$, $$'{1}', '{1}', null, null, true, false$$, $$'{1}', '{1}', '{1}', '{1}', false, false$$,
		$$'{1}', '{1}', '{1,2}', '{1}', true, false$$, $$'{1}', '{1}', '{1}', '{}', true, true$$]) x;
select throws_ok(format('insert into rota.client_key (uid, client_key, job_id) values (1, %L, %s)', x, :j), '23514', null, length(x) || ' characters as a key')
	from unnest(array['', repeat('x', 129)]) x;
select throws_ok($$insert into rota.step_transition values ('pending', 'start', 'running')$$, '23505', null, 'one event leads to one state');
select throws_ok($$update rota.event set actor = 'nobody'$$, '23001', null, 'events are never changed');
select throws_ok($$delete from rota.event$$, '23001', null, 'nor deleted');
select throws_ok($$truncate rota.event$$, '23001', null, 'nor truncated');
select throws_ok($$update rota.event_0 set actor = 'nobody'$$, '23001', null, 'not in their partition either: changed');
select throws_ok($$delete from rota.event_0$$, '23001', null, 'not in their partition either: deleted');

-- Cycles.
select throws_ok(format($$update rota.step_edge set topo = 5 where job_id = %s$$, :j), '23001', null, 'a position that is not the step''s');
select throws_ok(format($$insert into rota.step_edge (job_id, step_id, edge, kind, peer_job_id, peer_step_id, topo, peer_topo) values (%1$s, 1, 9, 'after', %1$s, 0, 5, 0)$$, :j), '23503', null, 'nor at first');
select throws_ok(format($$insert into rota.step_edge_0 (job_id, step_id, edge, kind, peer_job_id, peer_step_id, topo, peer_topo) values (%1$s, 1, 9, 'after', %1$s, 0, 5, 0)$$, :j), '23503', null, 'nor in its partition');
select throws_ok(format($$insert into rota.step_edge (job_id, step_id, edge, kind, peer_job_id, peer_step_id, topo, peer_topo)
	values (%1$s, 1, 8, 'after', %1$s, 0, 1, 0), (%1$s, 77, 9, 'after', %1$s, 0, 77, 0)$$, :j), '23503', null, 'an edge of a step that does not exist, among others');
select throws_ok(format($$insert into rota.step_edge (job_id, step_id, edge, kind, peer_job_id, peer_step_id, topo, peer_topo) values (%1$s, 0, 9, 'after', %1$s, 1, 0, 1)$$, :j), '23514', null, 'the way back');
select throws_ok(format($$insert into rota.step_edge (job_id, step_id, edge, kind, peer_job_id, peer_step_id, topo, peer_topo) values (%1$s, 0, 9, 'after', %1$s, 0, 0, 0)$$, :j), '23514', null, 'a step after itself');
select throws_ok(format($$insert into rota.step_edge (job_id, step_id, edge, kind, peer_job_id, peer_step_id, topo, peer_topo) values (%1$s, 0, 9, 'with', %1$s, 0, 0, 0)$$, :j), '23514', null, 'a step with itself');
select throws_ok(format($$insert into rota.step_edge (job_id, step_id, edge, kind, peer_job_id, topo) values (%1$s, 0, 9, 'after', %1$s, 0)$$, :j), '23514', null, 'a step after its whole job');
select throws_ok(format($$insert into rota.step_edge (job_id, step_id, edge, kind, peer_job_id, topo) values (%s, 0, 9, 'after', %s, 0)$$, :j, :j + 1), '23514', null, 'a step after a later job');
select throws_ok(format($$insert into rota.step_edge (job_id, step_id, edge, kind, peer_job_id, peer_step_id, topo, peer_topo) values (%1$s, 1, 9, 'after', %1$s, 77, 1, 0)$$, :j), '23503', null, 'a peer that does not exist');
select throws_ok(format($$insert into rota.step_edge_0 (job_id, step_id, edge, kind, peer_job_id, peer_step_id, topo, peer_topo) values (%1$s, 1, 8, 'after', %1$s, 0, 1, 0), (%1$s, 1, 9, 'after', %1$s, 77, 1, 0)$$, :j), '23503', null, 'nor in its partition, among others');
select throws_ok(format($$update rota.step_edge_0 set peer_topo = 5 where job_id = %s$$, :j), '23001', null, 'a peer stays what it is');
select throws_ok($$select t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[{"step": "a", "peer": "b"}]')$$, '23514', null, 'a plan with a cycle, whatever the translator says');

-- Steps without a request.
select throws_ok(format($$insert into rota.step (job_id, step_id, request_id, rank) values (%1$s, 50, 3, 0), (%1$s, 51, 9, 0)$$, :j), '23503', null, 'a step of no request, among others');
select throws_ok(format($$insert into rota.step_0 (job_id, step_id, request_id, rank) values (%s, 51, 9, 0)$$, :j), '23503', null, 'nor in its partition');
select throws_ok(format($$with r as (insert into rota.step_request (job_id, step_id, name, line, topo, partition, nodes_min, ntasks, cpus_per_task, spec, auth)
	values (%1$s, 0, 'x', 1, 0, 'main', 1, 1, 1, '', sha256('')) returning job_id) insert into rota.step (job_id, step_id, request_id, rank) select job_id, 0, 0, 0 from r$$, :j + 1),
	'23503', null, 'a step of no job, though it has a request');
select throws_ok(format($$update rota.step set request_id = 1 where job_id = %s$$, :j), '23001', null, 'a step stays that of its request');
select throws_ok(format($$update rota.step_request_0 set step_id = step_id + 10 where job_id = %s$$, :j), '23001', null, 'which stays where it is');
select throws_ok(format($$delete from rota.step_request where job_id = %s$$, :j), '23001', null, 'and is never deleted');
select throws_ok($$truncate rota.step_request_0 cascade$$, '23001', null, 'nor truncated');

-- Ids.
select throws_ok(format($$delete from rota.job where job_id = %s$$, :j), '23001', null, 'jobs are never deleted');
select throws_ok(format($$delete from rota.job_0 where job_id = %s$$, :j), '23001', null, 'not in their partition either');
select throws_ok($$truncate rota.job cascade$$, '23001', null, 'nor truncated');
select throws_ok($$delete from rota.step$$, '23001', null, 'nor are steps');
select throws_ok($$insert into rota.job (job_id, name, uid, gid, user_name, script_hash, environment_hash, script_name, workdir, steps_total, steps_left)
	values (1, 'x', 1, 1, 'x', '', '', '', '/', 1, 1)$$, '428C9', null, 'nobody chooses an id');
select throws_ok($$update rota.job set job_id = 5 where job_id = 1$$, '428C9', null, 'nor changes one');
select throws_ok($$insert into rota.job (job_id, name, uid, gid, user_name, script_hash, environment_hash, script_name, workdir, steps_total, steps_left)
	overriding system value values (1, 'x', 1, 1, 'x', '', '', '', '/', 1, 1)$$, '23505', null, 'an id that was there');
select throws_ok($$insert into rota.script (hash, body) values (sha256('a'), 'b')$$, '23514', null, 'a script under another''s hash');
select throws_ok($$insert into rota.environment (hash, body) values (sha256('a'), 'b')$$, '23514', null, 'an environment under another''s hash');
select throws_ok(format($$update rota.job set steps_left = -1 where job_id = %s$$, :j), '23514', null, 'fewer steps left than none');
select throws_ok(format($$update rota.job set %s where job_id = %s$$, x, :j), '23514', null, 'a job with ' || x)
	from unnest(array['steps_left = steps_total + 1', 'ended_at = now()', $$ended_at = now(), state = 'completed'$$, $$state = 'completed'$$, 'ended_at = now(), steps_left = 0']) x;
select throws_ok(format($$update rota.job set steps_left = 0 where job_id = %s$$, :j), '23514', null, 'a job without steps left that has not ended');
select throws_ok($$update rota.partition set is_default = true; insert into rota.partition (partition, is_default) values ('p2', true)$$, '23505', null, 'two default partitions');
select t.submit('alice', '[{"name": "later"}]') as later \gset
select throws_ok(format($$insert into rota.step_edge (job_id, step_id, edge, kind, peer_job_id, peer_step_id, topo, peer_topo) values (%s, 0, 9, 'after', %s, 77, 0, 0)$$, :later, :j), '23503', null, 'a peer of another job that does not exist');
select throws_ok(format($$insert into rota.step_edge (job_id, step_id, edge, kind, peer_job_id, peer_step_id, topo, peer_topo) values (%s, 0, 9, 'after', %s, 0, 0, 5)$$, :later, :j), '23503', null, 'or stands elsewhere');
select t.submit('alice', '[{"name": "x", "array": {"indices": [[0,4,1]], "size": 5}}]') as x \gset
select throws_ok(format('update rota.step_array set %s where job_id = %s', x, :x), '23514', null, 'an array with ' || x)
	from unnest(array['size = 0', 'next = -1', 'next = 6', 'max_running = 0', 'running = -1', 'completed = -1', 'failed = -1', 'running = 2, completed = 2, failed = 2']) x;
select t.right('every attack');

-- CPUs that the leader read as free, and that somebody else takes before it commits: what is kept for a follower when the last node of a wide
-- step ends, the others having been free since they ended; and what a suspended step takes back. The decision is refused as a whole, and
-- decided anew from what is there now.
select t.submit('alice', '[{"name": "w", "nodes_min": 2, "cpus_per_task": 4}, {"name": "f", "nodes_min": 2, "ntasks": 2, "cpus_per_task": 3}]',
	'[{"step": "f", "peer": "w"}, {"step": "f", "kind": "same_nodes", "peer": "w"}]') as w, t.submit('bob', '[{"name": "x"}, {"name": "y"}]') as x \gset
select t.start(:'w' || '.w', '{3,4}'), t.run(:'w' || '.w') \g /dev/null
select t.report(t.say(:'w' || '.w', 'done'), t.say(:'w' || '.w', 'end', '{}', 3)) \g /dev/null
select is((select n.cpus_used from api.schedule_nodes() n where n.node_id = 3), 0, 'a node of a wide step has ended: the leader reads it as free');
select t.decision(:'x' || '.x', '{3}', '{"cpus": 4}') as decision \gset
select t.report(t.say(:'w' || '.w', 'end', '{}', 4)) \g /dev/null
select throws_like(format('select t.commit(%L::jsonb)', :'decision'), '%node_cpus_not_overbooked%', 'what was kept for its follower since is not given away');
select is(t.states(:x), 'x:pending y:pending', 'and nothing of that decision is left');
select is((select count(*) from rota.allocation where job_id = :x) + (select count(*) from rota.node_order where job_id = :x), 0::bigint, 'neither allocation nor order');
select is(t.start(:'x' || '.x', '{3}', '{"cpus": 1}'), 1, 'decided anew, it starts beside what is kept');
select t.pass(:'w' || '.f', '{3,4}') \g /dev/null
select t.submit('alice', '[{"name": "s"}]') as s \gset
select t.start(:'s' || '.s', '{2}', '{"cpus": 4}'), t.run(:'s' || '.s') \g /dev/null
select api.job_suspend(t.uid('alice'), 'alice', t.request(:'s' || '.s')), t.report(t.say(:'s' || '.s', 'suspended')) \g /dev/null
select t.decision(:'x' || '.y', '{2}', '{"cpus": 4}') as decision \gset
select api.job_resume(t.uid('alice'), 'alice', t.request(:'s' || '.s')) \g /dev/null
select throws_like(format('select t.commit(%L::jsonb)', :'decision'), '%node_cpus_not_overbooked%', 'nor is what was resumed since');
select is(t.states(:x), 'x:starting y:pending', 'which waits');
select t.right('stale decisions refused');
select * from finish();
rollback;
