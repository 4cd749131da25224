-- A running attempt gives back nodes of its own: who may ask for it, the end on these nodes, and its effect on the attempt's end.
begin;
\ir world.psql
select * from no_plan();
create function t.wide(p_step jsonb default '{}', p_nodes int[] default '{1,2,3}') returns bigint language plpgsql as $$
declare
	v_job bigint := t.submit('alice', jsonb_build_array('{"name": "a", "nodes_min": 3, "ntasks": 3}'::jsonb || p_step));
begin
	perform t.start(v_job || '.a', p_nodes);
	perform t.run(v_job || '.a');
	delete from rota.node_order;
	return v_job;
end $$;
create function t.give(p_job bigint, p_node text, p_from int default 1, p_more jsonb default '{}') returns text language sql as $$
	select changed || ',' || dropped from api.node_substep_report((t.booted('{}') - 'records') || jsonb_build_object('node', p_from, 'rows', '[]'::jsonb,
		'calls', jsonb_build_array(jsonb_build_object('job', p_job, 'step', 0, 'attempt', 1, 'on', p_node) || p_more))) $$;
create function t.changes(p_job bigint) returns text language sql as $$
	select string_agg(format('n%s:%s %s %s', o.node_id, o.args ->> 'name', o.args ->> 'state', o.args ->> 'reason'), ', ' order by o.order_id)
	from rota.node_order o where o.job_id = p_job and o.kind = 'node' $$;
create function t.kills(p_job bigint) returns text language sql as $$
	select string_agg(format('n%s:%s', o.node_id, o.args ->> 'cause'), ' ' order by o.order_id) from rota.node_order o where o.job_id = p_job and o.kind = 'kill' $$;
create function t.over(p_job bigint, p_node int, p_done jsonb default '{}') returns int language sql as $$
	select t.report(t.say(p_job || '.a', 'done', p_done, p_node), t.say(p_job || '.a', 'end', '{}', p_node)) $$;
create function t.used() returns int[] language sql as 'select array_agg(cpus_used order by node_id) from rota.node_used';
select t.back(i) from generate_series(1, 4) i \g /dev/null

-- Users and steps that may give back nodes, and which nodes.
select t.wide() as j, t.submit('bob', '[{"name": "b"}]') as b \gset
select t.start(:'b' || '.b', '{4}'), t.run(:'b' || '.b') \g /dev/null
delete from rota.node_order;
select t.give(:j, 'n1'), t.give(:j, 'n4'), t.give(:j, 'n9'), t.give(:j, 'n3', 2), t.give(:j, 'n3', 4), t.give(:b, 'n3'), t.give(:b, 'n3', 4), t.give(:j, 'n3', 1, '{"attempt": 2}'), t.give(:j, 'n3', 1, '{"growth": "x"}') \g /dev/null
select is(t.kills(:j), null, 'not the first node, none of others, and nobody but the first node of this attempt gives back');
select is((select count(*)::int from rota.allocation where given_back_at is not null), 0, 'nothing is given back');
select throws_ok(format($$update rota.allocation set given_back_at = now() where job_id = %s and node_index = 0$$, :j), '23514', null, 'nor is the first node by hand');

-- A node is given back: it ends its tasks, and the attempt goes on.
select t.give(:j, 'n3'), t.give(:j, 'n3') \g /dev/null
select is(t.kills(:j), 'n3:given_back', 'the node ends the attempt, by one order');
select is((select count(*)::int from rota.event where job_id = :j and detail = 'goes on without n3: given back by rota shrink'), 1, 'that is on record');
select is(t.used(), '{1,1,1,1}', 'until then the node is held');
select api.admin_change(0, 'root', '{"object": "node", "action": "drain", "name": "n3", "values": {"reason": "disk"}}') \g /dev/null
select is(t.changes(:j), null, 'its state is of no interest any more');
select api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n3"}') \g /dev/null
select t.report(t.say(:'j' || '.a', 'done', '{"exit": 9, "signal": 9, "outcome": "complete", "cause": "given_back"}', 3)) \g /dev/null
select is(t.changes(:j), 'n1:n3 left given back by rota shrink', 'the first node is sent that it has left, without agents too');
select t.report(t.say(:'j' || '.a', 'end', '{}', 3)) \g /dev/null
select is(t.used(), '{1,1,0,1}', 'its CPUs are free');
select is((select ended_at is not null and lost_at is null from rota.allocation where job_id = :j and node_id = 3), true, 'its allocation has ended, and is not lost');
select is((select concat_ws(' ', state, outcome, exit_code, ended_at) from rota.attempt where job_id = :j), '', 'nothing of that is the attempt''s');
select is(concat_ws(' ', t.state(:'j' || '.a'), t.kills(:j)), 'running n3:given_back', 'which runs on, and its other node is not disturbed');
select t.give(:j, 'n3') \g /dev/null
select is(t.kills(:j), 'n3:given_back', 'what has gone is not given back again');
select is(api.job_show(0, 'root', t.request(:'j')) #> '{jobs,0,steps,0,warnings}', '[]', 'show does not warn of it');
select t.over(:j, 1), t.over(:j, 2) \g /dev/null
select is((select concat_ws(' ', state, exit_code, signal, cause) from t.step(:'j' || '.a')), 'completed 0 exit', 'the first node decides how it ends');
select t.finish(:'b' || '.b') \g /dev/null

-- The node may end by a killed keeper or be lost, also of an attempt with a node-loss policy that ends it.
select t.wide() as j \gset
select t.give(:j, 'n2'), t.give(:j, 'n3') \g /dev/null
select t.report(t.say(:'j' || '.a', 'end', '{}', 2)) \g /dev/null
select is(t.state(:'j' || '.a'), 'running', 'a keeper that ends without a word of its tasks');
select t.silent(3), t.judge() \g /dev/null
select is((select concat_ws(' ', t.state(s.job_id || '.a'), s.attempt, a.outcome) from t.step(:'j' || '.a') s join rota.attempt a using (job_id, step_id, attempt)), 'running 1', 'a node that is lost before it has ended');
select is(t.changes(:j), 'n1:n2 left given back by rota shrink, n1:n2 left given back by rota shrink, n1:n3 left given back by rota shrink', 'it has left all the same');
select is(api.job_show(0, 'root', t.request(:'j')) #> '{jobs,0,steps,0,warnings}' @> '[{"kind": "lost"}]', false, 'and no one is warned of a lost node');
select t.over(:j, 1, '{"exit": 3, "outcome": "fail"}') \g /dev/null
select is((select concat_ws(' ', state, exit_code) from t.step(:'j' || '.a')), 'failed 3', 'the attempt ends with its first node, which is all it has');
select t.back(3) \g /dev/null

-- The script ends before the node that is given back: the attempt ends with the last of its nodes.
select t.wide() as j \gset
select t.give(:j, 'n3'), t.over(:j, 1), t.over(:j, 2) \g /dev/null
select isnt(t.state(:'j' || '.a'), 'completed', 'the epilog of the node is waited for');
select t.over(:j, 3, '{"exit": 1, "outcome": "node_fail", "cause": "node"}') \g /dev/null
select is((select concat_ws(' ', state, exit_code, cause) from t.step(:'j' || '.a')), 'completed 0 exit', 'then it is over, by the end of its script');

-- Tasks on all nodes: the outcome is that of the remaining nodes.
select t.wide('{"spec": "output=0:\nper_task=1:1\n"}') as j \gset
select t.give(:j, 'n2') \g /dev/null
select t.over(:j, 2, '{"exit": 0, "signal": 15, "outcome": "complete", "cause": "given_back"}'), t.over(:j, 1) \g /dev/null
select is(t.state(:'j' || '.a'), 'running', 'the last task is waited for');
select t.over(:j, 3, '{"exit": 4, "outcome": "fail"}') \g /dev/null
select is((select concat_ws(' ', state, exit_code, signal) from t.step(:'j' || '.a')), 'failed 4', 'and decides');

-- Run again: the next attempt asks for all nodes, and late records of the first one change nothing.
select t.wide('{"retry": 1}') as j \gset
select t.give(:j, 'n3'), t.over(:j, 3), t.over(:j, 1, '{"exit": 1, "outcome": "fail"}'), t.over(:j, 2), t.later() \g /dev/null
select is((select p.nodes_min from t.offered p where p.job_id = :j), 3, 'a retry asks for all nodes');
select t.start(:'j' || '.a', '{1,2,3}'), t.run(:'j' || '.a') \g /dev/null
delete from rota.node_order;
select t.give(:j, 'n3') \g /dev/null
select is(t.kills(:j), null, 'a call for the attempt before is late');
select t.give(:j, 'n3', 1, '{"attempt": 2}') \g /dev/null
select is(t.kills(:j), 'n3:given_back', 'this attempt gives its own back');
select api.job_cancel(0, 'root', t.request(:'j')) \g /dev/null
select t.give(:j, 'n2', 1, '{"attempt": 2}') \g /dev/null
select t.over(:j, i, '{"outcome": "cancel", "cause": "cancelled"}') from generate_series(1, 3) i \g /dev/null
select is(t.state(:'j' || '.a'), 'cancelled', 'a cancelled step ends, whatever it gives back meanwhile');

select is_empty('select * from t.wrong()', 'all adds up');
select is(t.used(), '{0,0,0,0}', 'nothing is held');
select * from finish();
rollback;
