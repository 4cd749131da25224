-- Leases in the database: which nodes are judged and when, the node-loss policies fence and keep, dead nodes, the inventory of a
-- node that returns, reboots, flapping, late reports.
begin;
\ir world.psql
select * from no_plan();
create function t.going(p_more jsonb default '{}', p_nodes int[] default '{3}', p_step jsonb default '{}') returns bigint language plpgsql as $$
declare
	v_job bigint := t.submit('alice', jsonb_build_array('{"name": "a"}'::jsonb || p_step));
begin
	perform t.start(v_job || '.a', p_nodes, p_more);
	perform t.run(v_job || '.a');
	-- The node has taken its launch request.
	delete from rota.node_order;
	return v_job;
end $$;
create function t.node(p_node int) returns text language sql as $$ select concat_ws(' ', state, reason_by, reason) from rota.node where node_id = p_node $$;
-- t.ended: the lease of a node ended so many seconds ago.
create function t.ended(p_node int, p_seconds int) returns void language sql as $$
	update rota.node_lease set renewed_at = now() - make_interval(secs => lease_s + p_seconds), expires_at = now() - make_interval(secs => p_seconds) where node_id = p_node $$;
create function t.look(p_latest bigint, p_watched int) returns text language sql as $$ select string_agg(node || ' ' || to_state, ',') from api.node_judge(p_latest, p_watched) $$;
create function t.usec(p_ahead interval) returns bigint language sql as $$ select (extract(epoch from now() + p_ahead) * 1000000)::bigint $$;
create function t.lease(p_node int) returns text language sql as $$
	select concat_ws(' ', case when lost_at is null then 'held' else 'lost' end, case when loss_ended_at is not null then 'fenced' end) from rota.node_lease where node_id = p_node $$;
select t.back(i) from generate_series(1, 4) i \g /dev/null

-- A nodemgrd judges no node if it has watched the clock for less than the lease, or finds the clock set forward.
select t.ended(3, 1) \g /dev/null
select is(t.look(null, 1000), null, 'whoever has not read the clock judges nobody');
select is(t.look(t.usec('-2 seconds'), 1000), null, 'nor who finds the clock set forward');
select is(t.look(t.usec('1 second'), 29), null, 'nor who has watched it for less than the lease');
select is(t.lease(3), 'held', 'nothing was written');
select is((select clock from api.node_judge(null, 0)), t.usec('0'), 'but the clock is answered');

-- fence: the node is down at the end of its lease; its attempts end, as of the last known moment, once the margin is over too.
select t.going() as j \gset
select t.going('{"ends_on_node_loss": false}') as k \gset
update rota.allocation set started_at = now() - interval '1 hour' where job_id in (:j, :k);
update rota.attempt set ordered_at = now() - interval '1 hour', started_at = now() - interval '50 minutes' where job_id in (:j, :k);
select is(t.look(t.usec('1 second'), 30), 'n3 down', 'the lease is over: down');
select matches(t.node(3), '^down nodemgrd lease not renewed since 2', 'and since when');
select is((select count(*) from api.node_renew('{3}')), 0::bigint, 'a lost lease is not renewed');
select is(t.states(:j) || ' ' || t.states(:k), 'a:running a:running', 'what ran may still run there');
select is((select facts ->> 'reason' from internal.job_summary(array[:j])), 'node_lost', 'the queue says why');
select is(api.job_show(0, 'root', t.request(:'j')) #>> '{jobs,0,steps,0,reason}', 'node_lost', 'show says why');
select matches(api.job_why(0, 'root', t.request(:'j')) #>> '{steps,0,conditions,0,message}', 'n3 is lost: it is ended there', 'why says what becomes of it');
select matches(api.job_why(0, 'root', t.request(:'k')) #>> '{steps,0,conditions,0,message}', 'n3 is lost: it may still run there', 'and what becomes of a kept one');
select is((select facts ->> 'reason' from internal.job_summary(array[t.going('{}', '{1}')])), null, 'others are not affected');
select throws_ok(format('select t.start(%L, %L)', t.submit('alice', '[{"name": "a"}]') || '.a', '{3}'), '40001', 'a node of the start is no longer ready to run steps', 'nothing is placed there');
select t.ended(3, 11) \g /dev/null
select t.look(t.usec('1 second'), 39) \g /dev/null
select is(t.state(:'j' || '.a'), 'running', 'who has watched for less than lease and margin does not end anything');
select t.look(t.usec('1 second'), 40) \g /dev/null
select is((select concat_ws(' ', s.state, a.state, a.cause, a.message) from t.step(:'j' || '.a') s join rota.attempt a on a.job_id = s.job_id), 'pending node_fail node_lost the node did not renew its lease', 'the margin is over: queued again');
select is((select (a.ended_at = l.renewed_at, a.gone_at = a.ended_at, a.lost_at = now())::text from rota.allocation a join rota.node_lease l using (node_id) where a.job_id = :j), '(t,t,t)', 'held until the node last renewed its lease');
select is((select at from rota.event where job_id = :j and event = 'requeue'), (select renewed_at from rota.node_lease where node_id = 3), 'and on record as of then');
select is(t.lease(3), 'lost fenced', 'done with');
select is(t.state(:'k' || '.a'), 'running', 'what is kept is not');
select is((select cpus_used from rota.node_used where node_id = 3), 1, 'and holds what it has');
select t.right('fence');

-- Late reports change nothing and are kept as rejected; an attempt that still runs is killed.
select count(*) as orphans from rota.rejected_report \gset
delete from rota.node_order;
create function t.late(p_job bigint, p_kind text, p_more jsonb default '{}') returns int language sql as $$
	select t.report(jsonb_build_array(jsonb_build_object('node', 3, 'job', p_job, 'step', 0, 'attempt', 1, 'kind', p_kind, 'age_us', 0) || p_more)) $$;
create temp table before as select s, a from rota.step s join rota.attempt a using (job_id, step_id) where job_id = :j;
select is(t.late(:j, 'run', '{"pid": 5, "session": 5}'), 0, 'a late run changes nothing');
select is((select string_agg(kind || '@' || node_id, ' ') from rota.node_order), 'kill@3', 'it is to be killed');
select is(t.late(:j, 'done', '{"outcome": "complete", "cause": "exit", "exit": 0, "signal": 0, "message": ""}'), 0, 'a late done changes nothing');
select is(t.late(:j, 'end', '{"drain": "", "peak_mb": 1, "cpu_usec": 1}'), 0, 'a late end changes nothing');
select is(t.late(:j + 1000, 'keeper'), 0, 'of a job that nobody knows, nothing is taken');
select is((select count(*) from rota.node_order where job_id = :j + 1000 and kind = 'kill'), 1::bigint, 'but it is killed too');
select is((select count(*) from rota.rejected_report) - :orphans, 4::bigint, 'all are kept as orphans');
select results_eq(format('select s, a from rota.step s join rota.attempt a using (job_id, step_id) where job_id = %s', :j), 'select s, a from before', 'and nothing has changed');

-- The node is back: attempts that may go on do; orphaned attempts are killed before the node serves.
delete from rota.node_order;
select is(t.back(3, jsonb_build_object('attempts', jsonb_build_array(:j || '.0.1', :k || '.0.1'), 'reported', '[]'::jsonb)), 1, 'one of two should not be there');
select is((select string_agg(kind || ' ' || job_id, ',') from rota.node_order), 'kill ' || :j, 'it is killed');
select is(t.node(3), 'down node:n3 orphaned attempts are being killed: 1 left', 'the node does not serve yet');
select api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n3"}') \g /dev/null
select is((select state from rota.node where node_id = 3), 'down', 'not even when an operator says so');
select is(t.back(3, jsonb_build_object('attempts', jsonb_build_array(:j || '.0.1', :k || '.0.1'), 'reported', '[]'::jsonb)), 1, 'it says so again');
select is((select count(*) from rota.node_order), 1::bigint, 'one order is enough');
select is(t.back(3, jsonb_build_object('attempts', jsonb_build_array(:k || '.0.1'), 'reported', '[]'::jsonb)), 0, 'it is gone');
select is((select concat_ws(' ', state, reason) from rota.node where node_id = 3), 'up', 'the node serves');
select is((select facts ->> 'reason' from internal.job_summary(array[:k])), null, 'what was kept goes on as if nothing had been');
select t.finish(:'k' || '.a') \g /dev/null
select is(t.job(:k), 'completed', 'and completes');
select t.right('back');

-- An attempt that the node should have and lacks: lost, unless the node's journal has more to report or the launch request is on
-- its way.
select t.going('{"ends_on_node_loss": false}') as j \gset
select t.going() as k \gset
select t.submit('alice', '[{"name": "a"}]') as l \gset
select t.start(:'l' || '.a', '{3}') \g /dev/null
select is(t.back(3), 0, 'a node that does not say what it has');
select is(t.states(:j) || ' ' || t.states(:k), 'a:running a:running', 'proves nothing');
select t.back(3, jsonb_build_object('attempts', '[]'::jsonb, 'reported', jsonb_build_array(:k || '.0.1'))) \g /dev/null
select is(t.states(:j) || ' ' || t.states(:k) || ' ' || t.states(:l), 'a:pending a:running a:starting', 'neither in spool nor journal nor on its way: lost');
select is((select message from rota.attempt where job_id = :j), 'the node has nothing of it any more', 'and why');
select t.right('missing');

-- The node has another boot.
select t.back(3, '{"boot_id": "other", "attempts": [], "reported": []}') \g /dev/null
select is(t.states(:k) || ' ' || t.states(:l), 'a:pending a:pending', 'rebooted: all is lost');
select is((select array_agg(from_state || ' ' || to_state || ' ' || reason order by node_event_id desc) from (select * from rota.node_event where node_id = 3 order by node_event_id desc limit 2) e),
	'{"down up rebooted","up down rebooted"}', 'it is known as rebooted');
select is((select state from rota.node where node_id = 3), 'up', 'and serves');
select t.right('rebooted');

-- keep: attempts stay until an administrator declares the node dead.
select t.going('{"ends_on_node_loss": false}', '{4}') as j \gset
select t.going('{"ends_on_node_loss": false}', '{4}', '{"requeue": false}') as k \gset
prepare dead as select api.admin_change(0, 'root', '{"object": "node", "action": "dead", "name": "n4", "values": {"reason": "burnt"}}');
select throws_ok('execute dead', 'RT409', 'node "n4" is not lost', 'not while it is alive');
select t.ended(4, 5), t.judge() \g /dev/null
select throws_ok('execute dead', 'RT409', 'node "n4" may still be ending its steps', 'not within the margin');
select t.ended(4, 11), t.judge() \g /dev/null
select is(t.states(:j), 'a:running', 'reserved');
select throws_ok($$select api.admin_change(0, 'root', '{"object": "node", "action": "dead", "name": "n4"}')$$, 'RT422', null, 'not without a reason');
select throws_ok($$select api.admin_change(1097, 'alice', '{"object": "node", "action": "dead", "name": "n4", "values": {"reason": "burnt"}}')$$, 'RT403', null, 'not by a user');
execute dead \g /dev/null
select is(t.states(:j) || ' ' || t.states(:k), 'a:pending a:node_fail', 'dead: run again where it may');
select is((select message from rota.attempt where job_id = :k), 'the node was declared dead by root: burnt', 'with who said so');
select is(t.node(4), 'down root declared dead: burnt', 'the node says so too');
select is((select after ->> 'reason' from rota.admin_event where action = 'dead'), 'declared dead: burnt', 'and it is on record');
select t.right('dead');
select is(t.back(4, jsonb_build_object('attempts', jsonb_build_array(:j || '.0.1'), 'reported', '[]'::jsonb)), 1, 'should it come back, it does not serve before that is gone');

-- A node whose lease ends again and again (flapping).
select api.admin_change(0, 'root', '{"object": "setting", "action": "change", "name": "flap_count", "values": {"value": "2"}}') \g /dev/null
select t.back(1), t.ended(1, 1), t.judge(), t.back(1) \g /dev/null
select is((select state from rota.node where node_id = 1), 'up', 'down once');
select t.ended(1, 1), t.judge(), t.back(1) \g /dev/null
select matches(t.node(1), '^drain node:n1 went down 2 times: 2[0-9: -]+, 2[0-9: -]+$', 'twice: drained, with the times');
select t.back(1) \g /dev/null
select is((select state from rota.node where node_id = 1), 'drain', 'it stays so');
select api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n1"}') \g /dev/null
select t.ended(1, 1), t.judge(), t.back(1) \g /dev/null
select is((select state from rota.node where node_id = 1), 'up', 'taken back into use, it counts from one again');
update rota.node_event set at = at - interval '2 hours' where node_id = 1;
select t.ended(1, 1), t.judge(), t.back(1) \g /dev/null
select is((select state from rota.node where node_id = 1), 'up', 'what was outside the window does not count');
select api.admin_change(0, 'root', '{"object": "setting", "action": "change", "name": "flap_count", "values": {"value": "0"}}') \g /dev/null
select t.ended(1, 1), t.judge(), t.back(1) \g /dev/null
select is((select state from rota.node where node_id = 1), 'up', 'nor anything where it is not wanted');

-- t.changes: the messages to an attempt about its nodes: the receiving node, the other node and its state.
create function t.changes(p_label text) returns text language sql as $$
	select string_agg(format('n%s:%s %s %s', o.node_id, o.args ->> 'name', o.args ->> 'state', o.args ->> 'reason'), ', ' order by o.order_id)
	from t.step(p_label) s join rota.node_order o on o.job_id = s.job_id and o.step_id = s.step_id and o.attempt = s.attempt and o.kind = 'node';
$$;
-- --no-kill: a step on several nodes goes on with those it has left, if its first is among them and its tasks have begun.
select t.back(i, '{"boot_id": "third", "attempts": [], "reported": []}') from generate_series(1, 4) i \g /dev/null
create function t.wide(p_step jsonb default '{}') returns bigint language sql as $$
	select t.going('{}', '{2,3,4}', '{"nodes_min": 3, "spec": "output=0:\nno_kill=1:1\n"}'::jsonb || p_step) $$;
select t.wide() as j \gset
select t.ended(4, 11), t.judge() \g /dev/null
select is(concat_ws(' ', t.state(:'j' || '.a'), t.orders(:'j' || '.a')), 'running kill@n4', 'it goes on, and its other nodes are not disturbed');
select is(t.changes(:'j' || '.a'), 'n2:n4 lost the node did not renew its lease', 'its first node is sent the state of the lost one');
select is((select array_agg(cpus_used order by node_id) from rota.node_used where node_id > 1), '{1,1,0}', 'the lost node is free');
select is((select detail from rota.event where job_id = :j and event = 'modify'), 'goes on without n4: the node did not renew its lease', 'that is on record');
select is(api.job_show(0, 'root', t.request(:'j')) #> '{jobs,0,steps,0,warnings}' @> '[{"node": "n4", "kind": "lost"}]', true, 'show warns of it');
select t.right('no-kill');
select t.report(t.say(:'j' || '.a', 'done', '{"exit": 7, "outcome": "fail"}', 4)) \g /dev/null
select is(t.state(:'j' || '.a'), 'running', 'what the lost node says later changes nothing');
select t.report(t.say(:'j' || '.a', 'done', '{}', 2)) \g /dev/null
select is(t.orders(:'j' || '.a'), 'kill@n4 end@n3', 'the script is done: the other node left may go');
select t.report(t.say(:'j' || '.a', 'end', '{}', 2), t.say(:'j' || '.a', 'done', '{}', 3), t.say(:'j' || '.a', 'end', '{}', 3)) \g /dev/null
select is((select concat_ws(' ', state, attempt, cause, message) from t.step(:'j' || '.a')), 'completed 1 exit goes on without n4: the node did not renew its lease', 'completed by those left');
select t.right('no-kill, completed');
select t.back(4) \g /dev/null
select t.wide() as j \gset
select t.ended(2, 11), t.judge() \g /dev/null
select is(concat_ws(' ', t.state(:'j' || '.a'), t.orders(:'j' || '.a')), 'running kill@n2 kill@n3 kill@n4', 'its first node is lost: the others end it');
select t.report(t.say(:'j' || '.a', 'done', '{"outcome": "node_fail", "cause": "node_lost"}'), t.say(:'j' || '.a', 'end')) \g /dev/null
select is(t.state(:'j' || '.a'), 'pending', 'and it runs again');
select api.job_cancel(0, 'root', t.request(:'j')), t.back(2) \g /dev/null
-- Messages about a node that is drained, failing, reserved within the time limit, or back. With --notify, all nodes get them.
select t.going('{}', '{2,3}', '{"nodes_min": 2, "spec": "output=0:\nnotify=2:10\n", "time_limit_s": 3600}') as j \gset
select api.admin_change(0, 'root', '{"object": "node", "action": "drain", "name": "n3", "values": {"reason": "disk"}}') \g /dev/null
select is(t.changes(:'j' || '.a'), 'n2:n3 drained disk, n3:n3 drained disk', 'a drained node');
delete from rota.node_order;
select api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n3"}') \g /dev/null
select is(t.changes(:'j' || '.a'), 'n2:n3 up , n3:n3 up ', 'is back');
delete from rota.node_order;
select api.admin_change(0, 'root', '{"object": "node", "action": "change", "name": "n2", "values": {"failing": "fan"}}') \g /dev/null
select is(t.changes(:'j' || '.a'), 'n2:n2 leaving failing (fan), n3:n2 leaving failing (fan)', 'one that is failing');
select api.admin_change(0, 'root', '{"object": "node", "action": "change", "name": "n2", "values": {"failing": null}}') \g /dev/null
delete from rota.node_order;
select api.admin_change(0, 'root', jsonb_build_object('object', 'reservation', 'action', 'create', 'name', 'far', 'values', jsonb_build_object('start', 'now+2hours', 'duration', '1:00:00', 'nodes', 'n3'))) \g /dev/null
select is(t.changes(:'j' || '.a'), 'n2:n3 up , n3:n3 up ', 'a reservation after the time limit takes nothing');
delete from rota.node_order;
select api.admin_change(0, 'root', jsonb_build_object('object', 'reservation', 'action', 'change', 'name', 'far', 'values', jsonb_build_object('start', 'now+30minutes'))) \g /dev/null
select matches(t.changes(:'j' || '.a'), '^n2:n3 leaving maintenance "far", ', 'one before it does');
delete from rota.node_order;
select api.admin_change(0, 'root', '{"object": "reservation", "action": "delete", "name": "far"}') \g /dev/null
select is(t.changes(:'j' || '.a'), 'n2:n3 up , n3:n3 up ', 'until it is deleted');
delete from rota.node_order;
select t.report(t.say(:'j' || '.a', 'done', '{}', 2), t.say(:'j' || '.a', 'end', '{}', 2), t.say(:'j' || '.a', 'done', '{}', 3), t.say(:'j' || '.a', 'end', '{}', 3)) \g /dev/null
select api.admin_change(0, 'root', '{"object": "node", "action": "drain", "name": "n3", "values": {"reason": "disk"}}') \g /dev/null
select is(t.changes(:'j' || '.a'), null, 'what has ended is sent nothing');
select api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n3"}') \g /dev/null
-- The tasks of the attempt had ended on all nodes but the lost one: the step has completed.
select t.wide('{"nodes_min": 2}') as j \gset
select t.report(t.say(:'j' || '.a', 'done', '{}', 2), t.say(:'j' || '.a', 'end', '{}', 2), t.say(:'j' || '.a', 'done', '{}', 3), t.say(:'j' || '.a', 'end', '{}', 3)) \g /dev/null
select t.ended(4, 11), t.judge() \g /dev/null
select is((select concat_ws(' ', state, attempt) from t.step(:'j' || '.a')), 'completed 1', 'only the lost node was waited for: completed');
select t.right('no-kill, at the end');

-- A modification cannot change the node-loss policy of a running step, because its nodes have the earlier one.
select t.going('{}', '{1}') as j \gset
select throws_ok(format($$select internal.modify_check('admin', null, %s, 0, '{}', E'output=0:\nfence=1:1\n')$$, :j), 'RT409', null, 'the policy of a step that has started stays');
select * from finish();
rollback;
