-- Steps sent ahead: the next step of a job is on the node of its predecessor, and takes over the predecessor's CPUs when that
-- completes.
begin;
\ir world.psql
select * from no_plan();
\set chain '[{"name": "a", "cpus_per_task": 4, "mem_mb": 100}, {"name": "b", "cpus_per_task": 2, "mem_mb": 100}, {"name": "c", "cpus_per_task": 2, "mem_mb": 100}]'
\set edges '[{"step": "b", "peer": "a"}, {"step": "c", "peer": "b"}]'
create function t.offers(p_first bigint default null, p_step int default null) returns text language sql as $$
	select string_agg(format('%s.%s after %s.%s on %s: %s CPUs, %s MiB, %s s', r.name, o.step_id, o.after_step, o.after_attempt, o.node, o.cpus, o.mem_mb, o.hold_s), ', ' order by o.step_id)
	from api.schedule_ahead(t.term(), p_first, p_step) o join rota.step_request r on r.job_id = o.job_id and r.step_id = o.step_id;
$$;
-- t.send_ahead: have the leader send ahead all steps that it may, once for each round.
create function t.send_ahead(p_times int default 1) returns int language plpgsql as $$
declare
	v_sent int := 0;
	v_one record;
begin
	for i in 1 .. p_times loop
		for v_one in select o.*, s.attempt + 1 as attempt from api.schedule_ahead(t.term(), null, null) o join rota.step s on s.job_id = o.job_id and s.step_id = o.step_id loop
			v_sent := v_sent + (select count(*) from api.schedule_ahead_commit(t.term(),
				jsonb_build_array(jsonb_build_object('job', v_one.job_id, 'step', v_one.step_id, 'attempt', v_one.attempt, 'after', v_one.after_step, 'after_attempt', v_one.after_attempt,
					'time_limit_s', (select p.time_limit_s from api.schedule_pending(array[v_one.job_id], array[v_one.step_id]) p), 'ends_on_node_loss', true,
					'allocations', jsonb_build_array(jsonb_build_object('node', v_one.node_id, 'cpus', v_one.cpus, 'mem_mb', v_one.mem_mb)))),
				jsonb_build_array(jsonb_build_object('node_ids', array[v_one.node_id], 'kind', 'launch', 'job_id', v_one.job_id, 'step_id', v_one.step_id, 'attempt', v_one.attempt,
					'body', 'order', 'signature', 'abcd', 'args', jsonb_build_object('after', v_one.after_step, 'after_attempt', v_one.after_attempt, 'hold_s', v_one.hold_s)))));
		end loop;
	end loop;
	return v_sent;
end $$;
create function t.held(p_job bigint) returns text language sql as $$
	select string_agg(format('%s%s:%s', r.name, a.attempt, case when a.ended_at is not null then 'over' when a.started_at is null then 'ahead' else a.cpus_held::text end), ' ' order by a.step_id, a.attempt)
	from rota.allocation a join rota.step_request r on r.job_id = a.job_id and r.step_id = a.step_id where a.job_id = p_job;
$$;
create function t.used(p_node int) returns text language sql as 'select cpus_used || '' '' || mem_used_mb from rota.node_used where node_id = p_node';
create function t.back(p_label text) returns int language sql as $$
	select t.report(t.say(p_label, 'refused', '{"reason": "the step that it waits for did not complete", "retry": "1", "cause": "withdrawn", "drain": ""}')) $$;
create function t.placed(p_label text) returns text language sql as $$
	select concat_ws(' ', case when a.started_at = p.ended_at then 'held from the end before' end, case when t.ordered_at = p.ended_at then 'placed then' end,
		case when s.eligible_at = p.ended_at then 'eligible then' end, case when a.predispatched then 'predispatched' end)
	from t.step(p_label) s
	join rota.attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt
	join rota.allocation a on a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = s.attempt
	join rota.step p on p.job_id = s.job_id and p.step_id = s.step_id - 1 $$;

select t.submit('alice', :'chain', :'edges') as j \gset
select is(t.offers(), null, 'nothing runs, so nothing is offered');
select t.start(:'j' || '.a') \g /dev/null
select is(t.offers(), 'b.1 after 0.1 on n1: 2 CPUs, 100 MiB, 660 s', 'the next step of what has a node');
select is(t.send_ahead(), 1, 'it is sent');
select is(t.offers(), 'c.2 after 1.1 on n1: 2 CPUs, 100 MiB, 1320 s', 'and the step after it is next');
select is(t.send_ahead(3), 1, 'which is sent, too');
select is(t.held(:j), 'a1:4 b1:ahead c1:ahead', 'they stand ahead');
select is(t.states(:j), 'a:starting b:starting c:starting', 'as what has been ordered does');
select is(t.used(1), '4 300', 'they hold memory, and no CPUs');
select t.run(:'j' || '.a') \g /dev/null
select t.right('ahead');
update rota.allocation set started_at = started_at - interval '1 minute' where job_id = :j;
update rota.attempt set ordered_at = ordered_at - interval '1 minute', started_at = started_at - interval '1 minute' where job_id = :j;
select t.finish(:'j' || '.a') \g /dev/null
select is(t.held(:j), 'a1:over b1:2 c1:ahead', 'the next step has the CPUs of the one that has ended');
select is(t.placed(:'j' || '.b'), 'held from the end before placed then eligible then', 'as from its end on');
select is((select o.args::text from rota.node_order o where o.kind = 'launch' and o.job_id = :j and o.step_id = 1), '{}', 'its launch request waits for nothing any more');
select is(t.used(1), '2 200', 'the rest is free');
select t.right('passed on');
select t.run(:'j' || '.b') \g /dev/null
-- One report in which a ends, and b starts and ends.
update rota.allocation set started_at = started_at - interval '1 minute' where job_id = :j and step_id = 1;
update rota.attempt set ordered_at = ordered_at - interval '1 minute', started_at = started_at - interval '1 minute' where job_id = :j and step_id = 1;
update rota.attempt set ordered_at = ordered_at - interval '1 minute' where job_id = :j and step_id = 2;
select t.report(t.say(:'j' || '.b', 'task', '{"age_us": 3100000}'), t.say(:'j' || '.b', 'done', '{"age_us": 3100000}'), t.say(:'j' || '.b', 'end', '{"age_us": 3000000}'),
	t.say(:'j' || '.c', 'keeper', '{"age_us": 2000000}'), t.say(:'j' || '.c', 'run', '{"age_us": 2000000}'), t.say(:'j' || '.c', 'task', '{"age_us": 1000000, "started_age_us": 2000000}'), t.say(:'j' || '.c', 'done', '{"age_us": 1000000}'),
	t.say(:'j' || '.c', 'end', '{"age_us": 1000000}')) \g /dev/null
select is(t.held(:j), 'a1:over b1:over c1:over', 'a whole life in the report of the end before');
select is(t.placed(:'j' || '.c'), 'held from the end before placed then eligible then', 'has the same times');
select is((select extract(epoch from a.ended_at - a.started_at)::int from rota.allocation a where a.job_id = :j and a.step_id = 2), 2, 'it is charged from the end before to its own');
select is(t.job(:j), 'completed', 'the job is over');
select is((select count(*) from rota.step_ahead), 0::bigint, 'nothing is left of it');
select is(t.used(1), '0 0', 'nothing is held');
select t.right('a chain');

-- The predecessor had ended before the step was sent, but its end was not reported yet.
select t.submit('alice', :'chain', :'edges') as j \gset
select t.start(:'j' || '.a') \g /dev/null
update rota.allocation set started_at = started_at - interval '1 minute' where job_id = :j;
update rota.attempt set ordered_at = ordered_at - interval '1 minute' where job_id = :j;
select t.run(:'j' || '.a'), t.send_ahead() \g /dev/null
select t.finish(:'j' || '.a', '{"age_us": 5000000}', '{"age_us": 5000000}') \g /dev/null
select is(t.held(:j), 'a1:over b1:2', 'it takes over');
select is(t.placed(:'j' || '.b'), 'eligible then', 'not before it was sent');
select is((select a.started_at from rota.allocation a where a.job_id = :j and a.step_id = 1), (t.step(:'j' || '.b')).ordered_at, 'but from then on');
select t.run(:'j' || '.b'), t.finish(:'j' || '.b'), t.pass(:'j' || '.c') \g /dev/null
select t.right('ended before');

-- The predecessor fails: the node gives back the steps sent ahead, and these end as dependents of a failed step do.
select t.submit('alice', :'chain', :'edges') as j \gset
select t.start(:'j' || '.a'), t.send_ahead(2), t.run(:'j' || '.a'), t.fail(:'j' || '.a') \g /dev/null
select is(t.states(:j), 'a:failed b:starting c:starting', 'the node has them until it says otherwise');
select t.back(:'j' || '.b'), t.back(:'j' || '.c') \g /dev/null
select is(t.states(:j), 'a:failed b:dependency_failed c:dependency_failed', 'which it does');
select is((select s.message from t.step(:'j' || '.b') s), 'can no longer be met: ' || :j || '.a ended failed', 'the reason is the usual one');
select is(t.job(:j), 'failed', 'the job is over');
select is((select sum(extract(epoch from a.ended_at - a.started_at)) from rota.allocation a where a.job_id = :j and a.step_id > 0), 0::numeric, 'nothing is charged for them');
select is((select count(*) from rota.step_ahead), 0::bigint, 'nothing is left of it');
select is(t.used(1), '0 0', 'nothing is held');
select t.right('a failure');

-- The whole chain in one report.
select t.submit('alice', :'chain', :'edges') as j \gset
select t.start(:'j' || '.a'), t.send_ahead(2), t.run(:'j' || '.a') \g /dev/null
select t.report(t.say(:'j' || '.a', 'task', '{"exit": 1}'), t.say(:'j' || '.a', 'done', '{"exit": 1, "outcome": "fail"}'), t.say(:'j' || '.a', 'end'),
	t.say(:'j' || '.b', 'refused', '{"reason": "r", "retry": "1", "cause": "withdrawn", "drain": ""}'), t.say(:'j' || '.c', 'refused', '{"reason": "r", "retry": "1", "cause": "withdrawn", "drain": ""}')) \g /dev/null
select is(t.states(:j), 'a:failed b:dependency_failed c:dependency_failed', 'in one report as well');
select is(t.used(1), '0 0', 'nothing is held');
select t.right('a failure in one report');

-- A retry of the predecessor: a step that was given back waits again, and is not sent ahead at once.
select t.submit('alice', jsonb_set(:'chain', '{0,retry}', '1'), :'edges') as j \gset
select t.start(:'j' || '.a'), t.send_ahead(), t.run(:'j' || '.a'), t.fail(:'j' || '.a') \g /dev/null
select is(t.states(:j), 'a:pending b:starting c:pending', 'it runs again');
select is(t.back(:'j' || '.b'), 1, 'the node gives back what waited for the first attempt');
select is((select concat_ws(' ', s.state, s.deps_waiting, s.attempt, s.requeues) from t.step(:'j' || '.b') s), 'pending 1 1 0', 'which waits as before, and was not run');
update rota.step set begin_at = null where job_id = :j;
select t.start(:'j' || '.a') \g /dev/null
select is(t.offers(), null, 'it is not sent at once again');
update rota.attempt set ordered_at = ordered_at - interval '2 minutes', ended_at = ended_at - interval '2 minutes', done_at = done_at - interval '2 minutes' where job_id = :j and step_id = 1;
select is(t.offers(), 'b.1 after 0.2 on n1: 2 CPUs, 100 MiB, 660 s', 'but after a minute');
select is(t.send_ahead(), 1, 'under the next number');
select is(t.held(:j), 'a1:over a2:4 b1:over b2:ahead', 'behind the second attempt');
-- The job is cancelled.
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is(t.orders(:'j' || '.b') , 'kill@n1', 'what is held has the order to end');
select t.back(:'j' || '.b'), t.finish(:'j' || '.a', '{"outcome": "cancel", "cause": "cancelled", "exit": -1, "signal": 15}') \g /dev/null
select is(t.states(:j), 'a:cancelled b:cancelled c:cancelled', 'all of it is cancelled');
select is(t.used(1), '0 0', 'nothing is held');
select t.right('a cancel');

-- The step that was sent ahead is cancelled: its dependent fails.
select t.submit('alice', :'chain', :'edges') as j \gset
select t.start(:'j' || '.a'), t.send_ahead(2), t.run(:'j' || '.a') \g /dev/null
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j' || '.b')) \g /dev/null
select t.back(:'j' || '.b'), t.back(:'j' || '.c') \g /dev/null
select is(t.states(:j), 'a:running b:cancelled c:dependency_failed', 'what never began is over');
select t.finish(:'j' || '.a') \g /dev/null
select is(t.job(:j), 'cancelled', 'the job is over');
select t.right('a cancel of what is held');

-- A step that was sent ahead is withdrawn when a step before it in the queue waits.
select t.submit('bob', '[{"name": "w", "cpus_per_task": 4}]') as w \gset
select t.submit('alice', :'chain', :'edges') as j \gset
select t.start(:'j' || '.a'), t.send_ahead(), t.run(:'j' || '.a') \g /dev/null
select is(t.offers(:j, 2), 'c.2 after 1.1 on n1: 2 CPUs, 100 MiB, 1320 s', 'a step that waits behind them hinders none');
select is(t.offers(:w, 0), null, 'one that waits before them does');
select is((select string_agg(o.step_id || '.' || o.attempt, ' ') from rota.node_order o where o.kind = 'withdraw' and o.job_id = :j), '1.1', 'and has what is held withdrawn');
select is(t.offers(:w, 0), null, 'once');
select is((select count(*) from rota.node_order o where o.kind = 'withdraw' and o.job_id = :j), 1::bigint, 'as long as the node has not taken it');
delete from rota.node_order where kind = 'withdraw';
select t.back(:'j' || '.b') \g /dev/null
select t.finish(:'j' || '.a') \g /dev/null
select is((select concat_ws(' ', s.state, s.deps_waiting) from t.step(:'j' || '.b') s), 'pending 0', 'it goes the ordinary way');
select is(t.pass(:'j' || '.b', '{2}'), 'completed', 'to another node');
select is((select s.attempt from t.step(:'j' || '.b') s), 2, 'under the next number');
select t.pass(:'j' || '.c') \g /dev/null
select is(t.job(:j), 'completed', 'to the end');
select t.right('withdrawn');

-- A drained partition starts the steps that were sent ahead, and gets no more. For a partition that is down they are withdrawn.
select t.submit('alice', :'chain', :'edges') as j \gset
select t.start(:'j' || '.a'), t.send_ahead() \g /dev/null
update rota.partition set state = 'drain';
select is(t.offers(), null, 'a partition that is drained takes no more');
select is((select count(*) from rota.node_order o where o.kind = 'withdraw' and o.job_id = :j), 0::bigint, 'but starts what it has');
update rota.partition set state = 'down';
select is(t.offers(), null, 'one that is down starts nothing');
select is((select string_agg(o.step_id || '.' || o.attempt, ' ') from rota.node_order o where o.kind = 'withdraw' and o.job_id = :j), '1.1', 'so what is held is withdrawn');
update rota.partition set state = 'up';
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')), t.back(:'j' || '.b'), t.back(:'j' || '.a') \g /dev/null

-- A waiting step that its owner has moved to certain nodes is not offered on another node.
select t.submit('alice', :'chain', :'edges') as j \gset
select t.start(:'j' || '.a') \g /dev/null
select isnt(t.offers(), null, 'it is offered');
select internal.move_want('alice', t.step(:'j' || '.b'), '{n2}') \g /dev/null
select is(t.offers(), null, 'not when it is kept to other nodes');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')), t.back(:'j' || '.a') \g /dev/null

-- A step that was modified after the leader had read it: whether the leader's commit still sends it ahead.
select t.submit('alice', :'chain', :'edges') as j \gset
select t.start(:'j' || '.a') \g /dev/null
select is((select count(*) from api.schedule_ahead_commit(t.term(), jsonb_build_array(jsonb_build_object('job', :j, 'step', 1, 'attempt', 1, 'after', 0, 'after_attempt', 1,
	'time_limit_s', v.time_limit_s, 'ends_on_node_loss', true, 'allocations', jsonb_build_array(jsonb_build_object('node', 1, 'cpus', v.cpus, 'mem_mb', v.mem_mb)))), '[]')), v.sent,
	format('%s CPUs, %s MiB, %s s', v.cpus, v.mem_mb, v.time_limit_s))
from (values (3, 100, 60, 0::bigint), (2, 50, 60, 0), (2, 100, 90, 0), (2, 100, 60, 1)) v (cpus, mem_mb, time_limit_s, sent);
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')), t.back(:'j' || '.b'), t.back(:'j' || '.a') \g /dev/null
select t.right('modified');

-- The node is lost.
select t.submit('alice', :'chain', :'edges') as j \gset
select t.start(:'j' || '.a'), t.send_ahead(2), t.run(:'j' || '.a'), t.silent(1), (select count(*) from t.judge()) \g /dev/null
select is(t.states(:j), 'a:pending b:pending c:pending', 'all of it waits again');
select is((select string_agg(s.deps_waiting::text, ' ' order by s.step_id) from rota.step s where s.job_id = :j), '0 1 1', 'for what it waited for');
select is((select count(*) from rota.step_ahead), 0::bigint, 'nothing is left of it');
select is(t.used(1), '0 0', 'nothing is held there');
select t.right('a lost node');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null

-- An attempt that ends while it is suspended has no CPUs to hand over.
select t.submit('alice', :'chain', :'edges') as j \gset
select t.start(:'j' || '.a', '{2}'), t.send_ahead(), t.run(:'j' || '.a') \g /dev/null
select api.job_suspend(t.uid('alice'), 'alice', t.request(:'j' || '.a')), t.report(t.say(:'j' || '.a', 'suspended')) \g /dev/null
select is(t.held(:j), 'a1:0 b1:ahead', 'it is suspended');
select t.finish(:'j' || '.a') \g /dev/null
select is(t.held(:j), 'a1:over b1:ahead', 'and ends so');
select t.back(:'j' || '.b') \g /dev/null
select is((select concat_ws(' ', s.state, s.deps_waiting) from t.step(:'j' || '.b') s), 'pending 0', 'what was held is queued');
select t.right('suspended');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null

-- Steps that are not offered for sending ahead. Each chain differs from the first one in a single point.
create function t.is_offered(p_steps jsonb, p_edges jsonb, p_job jsonb default '{}', p_max_s bigint default null) returns boolean language plpgsql as $$
declare
	v_job bigint := t.submit('alice', p_steps, p_edges, p_job);
	v_offered boolean;
begin
	perform t.start(v_job || '.a', '{3}');
	update rota.partition set max_time_s = p_max_s;
	v_offered := exists (select from api.schedule_ahead(t.term(), null, null) o where o.job_id = v_job);
	update rota.partition set max_time_s = null;
	perform api.job_cancel(t.uid('alice'), 'alice', t.request(v_job::text));
	perform t.report(t.say(v_job || '.a', 'refused', '{"reason": "r", "retry": "1", "cause": "withdrawn", "drain": ""}'));
	return v_offered;
end $$;
\set two '[{"name": "a", "cpus_per_task": 2, "mem_mb": 100}, {"name": "b", "cpus_per_task": 2, "mem_mb": 100}]'
\set one '[{"step": "b", "peer": "a"}]'
select is(t.is_offered(:'two', :'one'), true, 'a plain step is offered');
select is(t.is_offered(jsonb_set(:'two', '{1}', '{"name": "b", "cpus_per_task": 2, "mem_mb": 100}'::jsonb || m), :'one'), false, 'not with ' || m::text)
from unnest('{"{\"cpus_per_task\": 3}","{\"mem_mb\": 101}","{\"mem_mb\": 0}","{\"nodes_min\": 2}","{\"ntasks\": 2}","{\"gres\": {\"gpu\": 1}}","{\"exclusive\": true}",
	"{\"constraint\": \"x\"}","{\"nodelist\": [\"n4\"]}","{\"exclude\": [\"n4\"]}","{\"hold\": true}","{\"group\": \"g\"}","{\"deps_any\": true}",
	"{\"array\": {\"indices\": [[0,1,1]], \"size\": 2, \"limit\": null}}"}'::jsonb[]) m;
select is(t.is_offered(jsonb_set(:'two', '{0,group}', '"g"'), :'one'), false, 'not after a step of a group');
select is(t.is_offered(:'two', jsonb_set(:'one', '{0,condition}', to_jsonb(c))), false, 'not after ' || c) from unnest('{any,fail,start}'::text[]) c;
select is(t.is_offered(:'two', :'one'::jsonb || '[{"step": "b", "peer": "a", "kind": "same_nodes"}]'), false, 'not with peers');
select is(t.is_offered(:'two'::jsonb || '[{"name": "f"}]', :'one'::jsonb || '[{"step": "f", "peer": "a"}, {"step": "f", "peer": "a", "kind": "same_nodes"}]'), false,
	'not where another step wants the nodes of its predecessor');
update rota.node set found = found - 'ahead' where node_id = 3;
select is(t.is_offered(:'two', :'one'), false, 'not to a node whose process manager does not know of it');
update rota.node set found = found || '{"ahead": true}' where node_id = 3;
select is(t.is_offered(jsonb_set(:'two', '{1,time_limit_s}', '0'), :'one'), true, 'a step without a time limit is offered');
select is(t.is_offered(jsonb_set(:'two', '{1,time_limit_s}', v.seconds::jsonb), :'one', '{}', 100), v.offered, 'not without one, or with a longer one, where the partition has got a longest one since: ' || v.seconds)
from (values ('0', false), ('101', false), ('100', true), ('null', true)) v (seconds, offered);
-- Nothing is sent ahead while an outage is to come.
select api.admin_change(0, 'root', '{"object": "reservation", "action": "create", "name": "later", "values": {"start": "now+1hours", "duration": "60", "nodes": "n4", "users": "bob"}}') \g /dev/null
select is(t.is_offered(:'two', :'one'), false, 'not while an outage is to come');
select * from finish();
rollback;
