-- Jobs whose attempts drain nodes are held after several times, whatever their owners do.
begin;
\ir world.psql
select * from no_plan();
create function t.drain(p_label text, p_node int) returns text language plpgsql as $$
begin
	perform t.start(p_label, array[p_node]);
	perform t.run(p_label);
	perform t.finish(p_label, '{}', '{"drain": "processes cannot be killed"}');
	perform api.admin_change(0, 'root', format('{"object": "node", "action": "resume", "name": "n%s"}', p_node)::jsonb);
	return t.state(p_label);
end $$;
create function t.held(p_label text) returns text language sql as $$ select concat_ws(' ', s.state, s.held, s.held_reason) from t.step(p_label) s $$;

select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}, {"name": "e"}, {"name": "z"}]', '[{"step": "z", "peer": "e", "condition": "any"}]') as j \gset
select t.submit('bob', '[{"name": "a"}]') as o \gset
select is((select value from rota.setting where name = 'drain_hold_count'), '3', 'the default');
select api.job_hold(t.uid('alice'), 'alice', t.request(:'j' || '.d')) \g /dev/null
select t.drain(:'j' || '.a', 1), t.drain(:'j' || '.b', 2) \g /dev/null
select is(t.held(:'j' || '.e'), 'pending ', 'two nodes: the rest of the job waits');
select is(t.drain(:'j' || '.c', 1), 'completed', 'the third');
select is(t.held(:'j' || '.' || x), 'pending admin its job has drained nodes 3 times', 'holds ' || x) from unnest('{d,e,z}'::text[]) x;
select is(t.held(:'o' || '.a'), 'pending ', 'other jobs go on');
select is(api.job_why(0, 'root', t.request(:'j' || '.e')) #>> '{steps,0,conditions,0,message}', 'held by an operator: its job has drained nodes 3 times', 'why says so');
select throws_ok(format($$select api.job_release(t.uid('alice'), 'alice', t.request('%s.e'))$$, :j), 'RT403', null, 'its owner does not release it');
select is(api.job_release(0, 'root', t.request(:'j')) #>> '{steps,3,action}', 'released', 'an operator does');
select is(t.held(:'j' || '.e'), 'pending ', 'and it counts anew');
select is(t.drain(:'j' || '.d', 1), 'completed', 'once more');
select is(t.held(:'j' || '.e'), 'pending ', 'is not three times');
select t.pass(:'j' || '.e'), t.pass(:'j' || '.z') \g /dev/null
select t.right('released by an operator');

-- A prolog that fails in each attempt, where the owner releases the job each time.
select t.submit('alice', '[{"name": "a"}]') as j \gset
create function t.bad_prolog(p_label text) returns text language plpgsql as $$
begin
	perform t.start(p_label, '{1}');
	perform t.report(t.say(p_label, 'keeper'),
		t.say(p_label, 'done', '{"outcome": "prolog_fail", "cause": "prolog", "exit": -1, "message": "site prolog: exit code 1"}'),
		t.say(p_label, 'end', '{"drain": "prolog failed: exit code 1"}'));
	perform api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n1"}');
	return (t.step(p_label)).held;
end $$;
create function t.release(p_job text) returns text language plpgsql as $$
begin
	perform api.job_release(t.uid('alice'), 'alice', t.request(p_job));
	perform t.later();
	return '';
end $$;
select is(t.bad_prolog(:'j' || '.a'), 'system', 'the first failure');
select t.release(:'j') \g /dev/null
select is(t.bad_prolog(:'j' || '.a'), 'system', 'the second one');
select t.release(:'j') \g /dev/null
select is(t.bad_prolog(:'j' || '.a'), 'admin', 'the third one is for an operator');
select throws_ok(format($$select t.release('%s')$$, :j), 'RT403', null, 'and no longer for the owner');
select api.job_cancel(0, 'root', t.request(:'j')) \g /dev/null

-- A requeue does not reset the count of drained nodes; with the setting 0, no job is held.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c"}]') as j \gset
select t.drain(:'j' || '.a', 1), t.drain(:'j' || '.b', 1), t.drain(:'j' || '.c', 1) \g /dev/null
select is(t.job(:j), 'completed', 'a job that ended with its third node');
select api.job_requeue(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is(t.held(:'j' || '.a'), 'pending admin its job has drained nodes 3 times', 'is held when its owner runs it again');
select api.job_release(0, 'root', t.request(:'j')) \g /dev/null
update rota.setting set value = '0' where name = 'drain_hold_count';
select t.drain(:'j' || '.a', 1), t.drain(:'j' || '.b', 1) \g /dev/null
select is(t.held(:'j' || '.c'), 'pending ', 'any number');
select t.drain(:'j' || '.c', 1) \g /dev/null

-- A launch request that a node refuses for a fault of the node does not count for the job.
update rota.setting set value = '1' where name = 'drain_hold_count';
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as j \gset
select t.start(:'j' || '.a', '{4}') \g /dev/null
select t.report(t.say(:'j' || '.a', 'refused', '{"reason": "disk full", "again": "0", "retry": "1", "drain": "disk full"}')) \g /dev/null
select is((select state from rota.node where node_id = 4), 'drain', 'a node without space');
select is((select drain_count || (t.step(:'j' || '.b')).held from rota.job where job_id = :j), '0', 'is no fault of the job');

-- Of an array, the elements that have not started are held.
select t.submit('alice', '[{"name": "r", "array": {"indices": [[0,4,1]], "size": 5}}]') as j \gset
select t.start(:'j' || '.r', '{1}', '{"position": 0}'), t.run(:'j' || '.r[0]'), t.finish(:'j' || '.r[0]', '{}', '{"drain": "processes cannot be killed"}') \g /dev/null
select is((t.step(:'j' || '.r')).held, 'admin', 'the array is held');
select api.job_cancel(0, 'root', t.request(:'j')) \g /dev/null
select t.right('all');
select * from finish();
rollback;
