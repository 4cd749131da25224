-- Ends of steps: by themselves, by limits, by the loss of a node; which steps run again, and how often.
begin;
\ir world.psql
select * from no_plan();
create function t.one(p_more jsonb default '{}') returns bigint language sql as $$ select t.submit('alice', jsonb_build_array('{"name": "a"}'::jsonb || p_more)) $$;
create function t.going(p_more jsonb default '{}', p_nodes int[] default '{1}') returns bigint language plpgsql as $$
declare
	v_job bigint := t.one(p_more);
begin
	perform t.start(v_job || '.a', p_nodes);
	perform t.run(v_job || '.a');
	return v_job;
end $$;

-- Outcomes that a node reports become ends of steps; code, signal and cause stay apart.
create function t.ends(p_done jsonb) returns text language plpgsql as $$
declare
	v_job bigint := t.going();
begin
	perform t.finish(v_job || '.a', p_done);
	return (select concat_ws(' ', s.state, s.exit_code, s.signal, s.cause, s.message, a.state) from t.step(v_job || '.a') s join rota.attempt a on a.job_id = s.job_id);
end $$;
select is(t.ends('{}'), 'completed 0 exit completed', 'exit 0');
select is(t.ends('{"exit": 3, "outcome": "fail"}'), 'failed 3 exit failed', 'exit 3');
select is(t.ends('{"exit": -1, "signal": 11, "cause": "signal", "outcome": "fail"}'), 'failed 11 signal failed', 'signal 11');
select is(t.ends('{"exit": -1, "signal": 15, "cause": "time_limit", "outcome": "timeout", "message": "time limit of 60 seconds reached"}'),
	'timeout 15 time_limit time limit of 60 seconds reached timeout', 'time limit');
select is(t.ends('{"exit": -1, "signal": 9, "cause": "out_of_memory", "outcome": "oom"}'), 'out_of_memory 9 out_of_memory out_of_memory', 'out of memory');
select is(t.ends('{"exit": -1, "cause": "launch", "outcome": "fail", "message": "no such folder"}'), 'failed launch no such folder failed', 'could not be launched');
select t.right('ends');

-- Refused by a launcher: no program ran, and the nodes are free at once.
select t.one() as j \gset
select t.start(:'j' || '.a') \g /dev/null
select t.report(t.say(:'j' || '.a', 'refused', '{"reason": "the signature is wrong"}')) \g /dev/null
select is((select concat_ws(' ', state, cause, message) from t.step(:'j' || '.a')), 'failed refused the signature is wrong', 'a refused order');
select t.right('refused');

-- A very short step is reported as started and ended in one report.
select t.one() as j \gset
select t.start(:'j' || '.a') \g /dev/null
update rota.allocation set started_at = started_at - interval '1 minute' where job_id = :j;
select t.report(t.say(:'j' || '.a', 'used', '{"age_us": 5000}'), t.say(:'j' || '.a', 'keeper', '{"age_us": 4000}'), t.say(:'j' || '.a', 'run', '{"age_us": 3000}'),
	t.say(:'j' || '.a', 'task'), t.say(:'j' || '.a', 'done', '{"age_us": 1000}'), t.say(:'j' || '.a', 'end', '{"age_us": 500}')) \g /dev/null
select is((select array_agg(event order by event_id) from rota.event where job_id = :j), '{submit,start,complete}', 'in one report');
select is((select round(extract(epoch from ended_at - started_at)::numeric, 4) from t.step(:'j' || '.a')), 0.0025, 'times are those of the records, not of the report');
select is((select (user_usec, system_usec, max_rss_kb, major_faults, involuntary_switches)::text from rota.task_end where job_id = :j), '(1500,500,2048,0,)', 'what the kernel counted; -1 is unknown');
select t.submit('alice', '[{"name": "k"}]') as q \gset
select t.start(:'q' || '.k'), t.run(:'q' || '.k'), t.report(t.say(:'q' || '.k', 'task', '{"exit": 0, "signal": 9}')) \g /dev/null
select is((select (exit_code, signal)::text from rota.task_end where job_id = :q), '(,9)', 'what a signal ended has no exit code');
select t.finish(:'q' || '.k') \g /dev/null
-- The tasks have ended, and the epilog still runs.
select t.going() as j \gset
select t.report(t.say(:'j' || '.a', 'done')) \g /dev/null
select is(t.state(:'j' || '.a'), 'ending', 'ending while the epilog runs');
select is((select cpus_used from rota.node_used where node_id = 1), 1, 'and the CPU is still held');
select t.report(t.say(:'j' || '.a', 'hook', '{"hook": "site_epilog", "exit": 0, "signal": 0, "usec": 12, "output": "bye"}'), t.say(:'j' || '.a', 'end')) \g /dev/null
select is(t.state(:'j' || '.a'), 'completed', 'then completed');
select is((select output from rota.hook_run where job_id = :j and hook = 'site_epilog'), 'bye', 'the hook is on record');

-- A keeper that ends without a report about its tasks.
select t.going() as j \gset
select t.report(t.say(:'j' || '.a', 'end')) \g /dev/null
select is(t.state(:'j' || '.a'), 'pending', 'no outcome reported: lost, so queued again');
select t.right('no outcome');
select api.job_cancel(0, 'root', t.request(:'j')) \g /dev/null

-- --retry: a step that fails runs again as often as it says.
select t.one('{"retry": 2}') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.fail(:'j' || '.a', 4) \g /dev/null
select is((select concat_ws(' ', state, attempt, retries, requeues, held) from t.step(:'j' || '.a')), 'pending 1 1 0 ', 'first retry');
select is(t.pending(), null, 'not at once');
select ok((t.step(:'j' || '.a')).begin_at > now(), 'but after the delay');
select is(api.job_why(0, 'root', t.request(:'j')) #>> '{steps,0,conditions,0,kind}', 'begin', 'and why says so');
set local timezone = 'Asia/Tokyo';
select matches(api.job_why(0, 'root', t.request(:'j')) #>> '{steps,0,conditions,0,message}', '^not to start before [-0-9]+ [:0-9]+ JST: the delay before retry 1 of 2, as attempt 2$', 'with the zone that it means, and why');
reset timezone;
select cmp_ok(abs(extract(epoch from (t.step(:'j' || '.a')).begin_at) - (select next_at from api.schedule_tick(t.term()))), '<', 0.001::double precision, 'the tick says when to look again');
select t.later(), t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.finish(:'j' || '.a', '{"outcome": "oom", "cause": "out_of_memory"}') \g /dev/null
select is((select concat_ws(' ', state, attempt, retries) from t.step(:'j' || '.a')), 'pending 2 2', 'second retry, after out of memory');
select t.later(), t.start(:'j' || '.a') \g /dev/null
select is((select concat_ws(' ', state, attempt, exit_code, cause, message) from t.step(:'j' || '.a')), 'starting 3', 'a new attempt starts with a clean slate');
select t.run(:'j' || '.a'), t.fail(:'j' || '.a', 5) \g /dev/null
select is((select concat_ws(' ', state, exit_code) from t.step(:'j' || '.a')), 'failed 5', 'then it has failed');
select is((select array_agg(state order by attempt) from rota.attempt where job_id = :j), '{failed,out_of_memory,failed}', 'each attempt is on record');
select t.right('retry');
select t.going('{"retry": 2}') as j \gset
select t.finish(:'j' || '.a', '{"outcome": "timeout", "cause": "time_limit"}') \g /dev/null
select is(t.state(:'j' || '.a'), 'timeout', 'a time limit is not retried');

-- The run time of a failed attempt and the delay before a retry are no waiting time; the delay counts also if the retry never
-- starts.
create function t.waited(p_begin interval) returns text language plpgsql as $$
declare
	v_job bigint := t.one('{"retry": 1}');
begin
	update rota.step set eligible_at = clock_timestamp() - interval '10 minutes' where job_id = v_job;
	perform t.start(v_job || '.a'), t.run(v_job || '.a'), t.fail(v_job || '.a');
	update rota.step set begin_at = clock_timestamp() + p_begin where job_id = v_job and p_begin is not null;
	if p_begin is not null then
		perform t.start(v_job || '.a'), t.run(v_job || '.a'), t.finish(v_job || '.a');
	else
		perform api.job_cancel(0, 'root', t.request(v_job || '.a'));
	end if;
	return (select concat_ws(' ', s.state, round(greatest(s.wait_s, 0) / 60), round(u.wait_s / 60)) from acct.step s join internal.usage_end u on u.job_id = s.job_id where s.job_id = v_job);
end $$;
select is(t.waited('-1 minute'), 'completed 1 1', 'waited since it was to run again');
select is(t.waited('1 minute'), 'completed 0 0', 'let go before that: not at all');
select is(t.waited(null), 'cancelled 10 10', 'taken back before that: as long as for the first');
select t.right('waiting');

-- The loss of a node: the step is requeued, unless its job forbids it or it was requeued too often.
select t.going('{}', '{3}') as j \gset
select t.going('{"requeue": false}', '{3}') as k \gset
select is((select count(*) from t.judge()), 0::bigint, 'nothing to judge');
select t.silent(3) \g /dev/null
select is((select node || ' ' || from_state || ' ' || to_state from t.judge()), 'n3 up down', 'a node whose lease has expired is down');
select is(t.state(:'j' || '.a'), 'pending', 'what ran there is queued again');
select is((select concat_ws(' ', state, cause, message) from t.step(:'k' || '.a')), 'node_fail node_lost the node did not renew its lease', 'or ends');
select is((select array[cpus_used, mem_used_mb] from rota.node_used where node_id = 3), '{0,0}', 'nothing is held there');
select is((select string_agg(kind, ' ') from rota.node_order where node_id = 3 and kind <> 'launch'), 'kill kill', 'what may still run is to be killed');
select is((select requeues from t.step(:'j' || '.a')), 1, 'counted apart from retries');
select t.right('a lost node');
select is(t.report(jsonb_build_array(jsonb_build_object('node', 3, 'job', :j, 'step', 0, 'attempt', 1, 'kind', 'done', 'age_us', 0, 'outcome', 'complete', 'exit', 0, 'signal', 0, 'cause', 'exit'))),
	0, 'what it says of that attempt later changes nothing');
select is((select what #>> '{0,kind}' from rota.rejected_report order by rejected_report_id desc limit 1), 'done', 'but kept as a rejected report');
select t.later(), t.start(:'j' || '.a', '{4}'), t.run(:'j' || '.a'), t.finish(:'j' || '.a') \g /dev/null
select is((select concat_ws(' ', state, attempt) from t.step(:'j' || '.a')), 'completed 2', 'it completes elsewhere');
select is((select count(*) from api.node_renew('{3}')), 0::bigint, 'a lost lease cannot be renewed');
select is(t.back(3), 0, 'the node registers again');
select is((select state from rota.node where node_id = 3), 'up', 'and is up');
select is((select count(*) from rota.node_event where node_id = 3), 3::bigint, 'each change of its state is on record');

-- A drained node can be lost too. A new boot counts as a loss like an expired lease.
select t.going('{}', '{3}') as j \gset
select api.admin_change(0, 'root', '{"object": "node", "action": "drain", "name": "n3", "values": {"reason": "new memory"}}') \g /dev/null
select t.silent(3) \g /dev/null
select t.judge() \g /dev/null
select is(t.state(:'j' || '.a'), 'pending', 'lost with a drained node');
select is((select state || ' ' || reason from rota.node where node_id = 3), 'drain new memory', 'which stays drained');
select t.back(3), api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n3"}') \g /dev/null
select is((select state from rota.node where node_id = 3), 'up', 'resumed');
select t.later(), t.start(:'j' || '.a', '{2}'), t.run(:'j' || '.a') \g /dev/null
select api.node_register('{"nodes": [{"name": "n2", "boot_id": "boot", "version": "1", "address": "h", "lease_s": 30, "found": {"cpus": 4, "mem_mb": 4000}}]}') \g /dev/null
select is(t.state(:'j' || '.a'), 'running', 'registering again in the same boot disturbs nothing');
select api.node_register('{"nodes": [{"name": "n2", "boot_id": "other", "version": "1", "address": "h", "lease_s": 30, "found": {"cpus": 4, "mem_mb": 4000}}]}') \g /dev/null
select is(t.state(:'j' || '.a'), 'pending', 'another boot: what ran is lost');
select t.right('another boot');
update rota.step set requeues = 5 where job_id = :j;
select t.later(), t.start(:'j' || '.a', '{1}'), t.run(:'j' || '.a'), t.finish(:'j' || '.a', '{"outcome": "node_fail", "cause": "node"}') \g /dev/null
select is((select concat_ws(' ', state, held, held_reason) from t.step(:'j' || '.a')), 'pending system run again too often', 'run again too often: held');
select api.job_cancel(0, 'root', t.request(:'j')) \g /dev/null

-- Steps on several nodes: the loss of one node ends the attempt; a failure on one node has the others ended.
select t.going('{"nodes_min": 2}', '{1,4}') as j \gset
select t.silent(4) \g /dev/null
select t.judge() \g /dev/null
select is((select concat_ws(' ', t.state(:'j' || '.a'), t.orders(:'j' || '.a'))), 'running kill@n4 kill@n1', 'one of two nodes lost: the other has the order to end it');
select is((select array_agg(cpus_used order by node_id) from rota.node_used), '{1,0,0,0}', 'the lost node is free, the other when it has ended it');
select t.right('one of two lost');
select t.report(t.say(:'j' || '.a', 'done', '{"exit": -1, "signal": 15, "cause": "node_lost", "outcome": "node_fail", "message": "ended"}', 1), t.say(:'j' || '.a', 'end', '{}', 1)) \g /dev/null
select is(t.state(:'j' || '.a'), 'pending', 'then it is queued again');
select is((select sum(cpus_used) from rota.node_used), 0::bigint, 'both are free');
select t.right('one of two lost and the other ended');
select t.back(4) \g /dev/null
select t.later(), t.start(:'j' || '.a', '{1,4}') \g /dev/null
select t.report(t.say(:'j' || '.a', 'keeper'), t.say(:'j' || '.a', 'ready', '{}', 1)) \g /dev/null
select is((select concat_ws(' ', t.state(:'j' || '.a'), t.orders(:'j' || '.a'))), 'prolog', 'one of two is ready');
select t.report(t.say(:'j' || '.a', 'ready', '{}', 4)) \g /dev/null
select is(t.orders(:'j' || '.a'), 'go@n1', 'all are ready: the one with the script has the order to go');
select t.report(t.say(:'j' || '.a', 'run')) \g /dev/null
select t.report(t.say(:'j' || '.a', 'done', '{}', 1)) \g /dev/null
select is(t.orders(:'j' || '.a'), 'go@n1 end@n4', 'the script is done: the other node may go');
select is(t.state(:'j' || '.a'), 'running', 'not over yet');
select t.report(t.say(:'j' || '.a', 'end', '{}', 1), t.say(:'j' || '.a', 'done', '{}', 4)) \g /dev/null
select is((select array_agg(cpus_used order by node_id) from rota.node_used), '{0,0,0,1}', 'each node is freed when it is done');
select t.report(t.say(:'j' || '.a', 'end', '{}', 4)) \g /dev/null
select is(t.job(:j), 'completed', 'two nodes, completed');
select t.right('two nodes');
select t.going('{"nodes_min": 2}', '{1,4}') as j \gset
select t.report(t.say(:'j' || '.a', 'done', '{"exit": -1, "signal": 9, "cause": "signal", "outcome": "fail", "message": "killed"}', 4)) \g /dev/null
select is(t.orders(:'j' || '.a'), 'kill@n1', 'one went wrong: the other is ended');
select t.report(t.say(:'j' || '.a', 'done', '{"exit": -1, "signal": 15, "cause": "signal", "outcome": "cancel", "message": "ended"}', 1), t.say(:'j' || '.a', 'end')) \g /dev/null
select is((select concat_ws(' ', state, signal, cause, message) from t.step(:'j' || '.a')), 'failed 9 signal killed', 'the first that went wrong is the cause');
select t.right('two nodes, one failed');
-- --run=tasks: the tasks of each node end by themselves, in any order.
select t.submit('alice', '[{"name": "a", "nodes_min": 2, "ntasks": 2, "spec": "per_task=1:1\n"}]') as j \gset
select t.start(:'j' || '.a', '{1,4}'), t.run(:'j' || '.a') \g /dev/null
select t.report(t.say(:'j' || '.a', 'done', '{}', 1), t.say(:'j' || '.a', 'end', '{}', 1)) \g /dev/null
select is(t.orders(:'j' || '.a'), null, 'tasks on the other node are left alone');
select t.report(t.say(:'j' || '.a', 'done', '{}', 4), t.say(:'j' || '.a', 'end', '{}', 4)) \g /dev/null
select is(t.job(:j), 'completed', 'until they have ended too');

-- A prolog that fails drains the node, and the step waits, held. An epilog that fails drains the node too.
select t.one() as j \gset
select t.start(:'j' || '.a', '{4}') \g /dev/null
select t.report(t.say(:'j' || '.a', 'keeper'), t.say(:'j' || '.a', 'hook', '{"hook": "site_prolog", "exit": 1, "signal": 0, "usec": 5, "output": "no scratch"}'),
	t.say(:'j' || '.a', 'done', '{"outcome": "prolog_fail", "cause": "prolog", "exit": -1, "message": "site prolog: exit code 1"}'),
	t.say(:'j' || '.a', 'end', '{"drain": "prolog failed: exit code 1"}')) \g /dev/null
select is((select concat_ws(' ', state, held, held_reason) from t.step(:'j' || '.a')), 'pending system the prolog failed', 'prolog failed: held');
select is((select concat_ws(' ', state, reason, reason_by) from rota.node where node_id = 4), 'drain prolog failed: exit code 1 procmgrd', 'and the node drained');
select is(api.job_why(0, 'root', t.request(:'j')) #>> '{steps,0,conditions,0,kind}', 'hold', 'why names the hold');
select is(api.job_release(t.uid('alice'), 'alice', t.request(:'j')) #>> '{steps,0,action}', 'released', 'the owner may let it go again');
select t.later() \g /dev/null
select is(t.pass(:'j' || '.a', '{1}'), 'completed', 'elsewhere it completes');
select t.going() as j \gset
select t.finish(:'j' || '.a', '{}', '{"drain": "epilog failed: exit code 1"}') \g /dev/null
select is((select concat_ws(' ', t.state(:'j' || '.a'), state, reason) from rota.node where node_id = 1), 'completed drain epilog failed: exit code 1', 'epilog failed: completed, and the node drained');
select t.right('hooks');

-- A node is lost while only the epilog runs: the step has completed.
select api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n[1,4]"}') \g /dev/null
select t.going() as j \gset
select t.report(t.say(:'j' || '.a', 'done')) \g /dev/null
select t.silent(1) \g /dev/null
select t.judge() \g /dev/null
select is(t.state(:'j' || '.a'), 'completed', 'lost in its epilog: completed all the same');
select t.right('lost in its epilog');
select * from finish();
rollback;
