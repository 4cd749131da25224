-- Reports of nodes: repeated, they change nothing; late, they are kept as rejected; divided in any way, they have the same
-- result.
begin;
\ir world.psql
select * from no_plan();
create function t.all(p_label text) returns jsonb[] language sql as $$
	select array[t.say(p_label, 'used', '{"expires": 1, "pid": 0}'), t.say(p_label, 'keeper', '{"pid": 5}'), t.say(p_label, 'hook', '{"hook": "site_prolog", "exit": 0, "signal": 0, "usec": 9, "output": ""}'),
		t.say(p_label, 'run'), t.say(p_label, 'task'), t.say(p_label, 'done'), t.say(p_label, 'hook', '{"hook": "site_epilog", "exit": 0, "signal": 0, "usec": 9, "output": ""}'), t.say(p_label, 'end')];
$$;
create function t.digest(p_job bigint) returns text language sql as $$
	select concat_ws('|', (select array_agg(event order by event_id) from rota.event where job_id = p_job), t.states(p_job), t.job(p_job),
		(select count(*) from rota.task_end where job_id = p_job), (select count(*) from rota.hook_run where job_id = p_job),
		(select array_agg(concat_ws(',', phase, ended_at is not null, gone_at is not null, peak_mb, cpu_usec)) from rota.allocation where job_id = p_job),
		(select concat_ws(',', state, exit_code, cause, session_id) from rota.attempt where job_id = p_job));
$$;

-- One record in each report, each report sent twice; then all in one report; then all again.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a') \g /dev/null
select t.all(:'j' || '.a') as records \gset
select t.report(r), t.report(r) from unnest(:'records'::jsonb[]) with ordinality x (r, nr) order by nr \g /dev/null
select t.digest(:j) as one \gset
select is(:'one'::text, '{submit,start,prolog,run,end,complete}|a:completed|completed|1|2|{"ended,t,t,3,2500"}|completed,0,exit,77', 'one record a report, each twice');
select is(t.report(variadic :'records'::jsonb[]), 0, 'all again changes nothing');
select is(t.digest(:j), :'one', 'and changes nothing');
select t.right('twice');
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a') \g /dev/null
select is(t.report(variadic t.all(:'j' || '.a')), 8, 'all at once');
select is(t.digest(:j), '{submit,start,complete}|a:completed|completed|1|2|{"ended,t,t,3,2500"}|completed,0,exit,77', 'comes to the same, without the states it was never seen in');
-- A thousand cuts: a report with any first part of the records, then one with all of them.
create function t.cut(p_at int) returns text language plpgsql as $$
declare
	v_job bigint := t.submit('alice', '[{"name": "a"}]');
	v_records jsonb[];
begin
	perform t.start(v_job || '.a');
	v_records := t.all(v_job || '.a');
	perform t.report(variadic v_records[1 : p_at]);
	perform t.report(variadic v_records);
	return t.job(v_job);
end $$;
select is(t.cut(i), 'completed', 'cut behind record ' || i) from generate_series(1, 8) i;
select t.right('cuts');

-- A coalesced attempt record has the same result as its records, whatever the attempt's course and however much of it was
-- reported before.
create function t.lived(p_lives boolean, p_before text, p_done jsonb, p_end jsonb) returns text language plpgsql as $$
declare
	v_job bigint := t.submit('alice', '[{"name": "a"}]');
	v_a text := v_job || '.a';
	v_new_count int;
	v_when constant jsonb := '{"keeper": {"age_us": 9000, "pid": 5}, "run": {"age_us": 8000}, "task": {"age_us": 7000, "started_age_us": 7900}}';
begin
	perform t.start(v_a);
	if p_before <> '' then
		perform t.report(t.say(v_a, k, v_when -> k)) from unnest(p_before::text[]) k;
	end if;
	v_new_count := t.tell(t.reports(p_lives, t.say(v_a, 'keeper', v_when -> 'keeper'), t.say(v_a, 'run', v_when -> 'run'), t.say(v_a, 'task', v_when -> 'task'),
		t.say(v_a, 'done', p_done), t.say(v_a, 'end', p_end)));
	perform t.tell(t.reports(p_lives, t.say(v_a, 'task'), t.say(v_a, 'done', p_done), t.say(v_a, 'end', p_end)));
	return concat_ws('|', v_new_count, t.digest(v_job), (select to_jsonb(x) - '{job_id,ordered_at,done_at,ended_at,started_at,node_ids,nodes,suspended_at}'::text[] || jsonb_build_object('ran', date_trunc('milliseconds', x.done_at - x.started_at))
		from rota.attempt x where x.job_id = v_job), (select to_jsonb(x) - '{job_id,started_at,ended_at}'::text[] || jsonb_build_object('ran', date_trunc('milliseconds', x.ended_at - x.started_at + interval '100 us')) from rota.task_end x where x.job_id = v_job),
		(select n.state || coalesce(n.reason, '') from rota.node n where n.node_id = 1));
end $$;
select is(t.lived(true, b, d::jsonb, e::jsonb), t.lived(false, b, d::jsonb, e::jsonb), 'a life: ' || d || e || ' behind ' || b)
from unnest(array['{}', '{"exit": 3, "outcome": "fail"}', '{"exit": 0, "signal": 9, "cause": "signal", "outcome": "fail"}', '{"cause": "out_of_memory", "outcome": "oom", "message": "too much"}',
	'{"age_us": 500, "cause": "time_limit", "outcome": "timeout"}']) d
cross join unnest(array['', '{keeper}', '{keeper,run}', '{keeper,run,task}']) b cross join unnest(array['{}', '{"peak_mb": 70, "cpu_usec": 1}']) e;
-- A server that was restored may lack the first records of an attempt, when the node keeps them no longer (docs/high-availability.md).
create function t.rest(p_lives boolean, p_task jsonb) returns jsonb language plpgsql as $$
declare
	v_job bigint := t.submit('alice', '[{"name": "a"}]');
	v_a text := v_job || '.a';
begin
	perform t.start(v_a);
	perform t.tell(t.reports(p_lives, t.say(v_a, 'task', '{"age_us": 7000, "started_age_us": 7900}' || p_task), t.say(v_a, 'done'), t.say(v_a, 'end')));
	return (select jsonb_build_object('started', x.started_at is not null, 'with_task', e.started_at = x.started_at, 'state', x.state)
		from rota.attempt x join rota.task_end e using (job_id) where x.job_id = v_job);
end $$;
select is(t.rest(l, '{}'), '{"started": true, "with_task": true, "state": "completed"}', 'a life without its start begins with its task')
from unnest(array[true, false]) l;
select is(t.rest(l, '{"cause": "launch"}') -> 'started', 'false', 'unless the task could not be started')
from unnest(array[true, false]) l;
select is(left(t.lived(true, '', '{}', '{}'), 28), '5|{submit,start,complete}|a:', 'reported in one, it was never seen in another state');
select is(t.lived(true, '', '{}', '{"drain": "bad disk"}') ~ 'drainbad disk$', true, 'why the node should take no more');
select api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n1", "values": {}}') \g /dev/null
-- A deferred report with a part of the records, and a later report with all of them, applied together.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a') \g /dev/null
insert into rota.report_deferred (node_id, job_ids, report) select 1, array[:j], t.reports(false, t.say(:'j' || '.a', 'keeper'), t.say(:'j' || '.a', 'run')) \g /dev/null
select is(t.tell(t.reports(true, t.say(:'j' || '.a', 'keeper'), t.say(:'j' || '.a', 'run'), t.say(:'j' || '.a', 'task'), t.say(:'j' || '.a', 'done'), t.say(:'j' || '.a', 'end'))), 7, 'left, and reported once more');
select is(t.digest(:j), '{submit,start,complete}|a:completed|completed|1|0|{"ended,t,t,3,2500"}|completed,0,exit,77', 'comes to the same');
-- Records of attempts and nodes that do not exist.
delete from rota.rejected_report;
select is(t.tell(jsonb_build_object('records', '[]'::jsonb, 'orders_done', '[]'::jsonb, 'coalesced', jsonb_build_array(jsonb_build_object('kind', 'life', 'node', 2, 'job', :j, 'step', 0, 'attempt', 1,
	'done_us', 5, 'end_us', 1, 'outcome', 'fail')))), 0, 'a life on another node');
select is((select array_agg(s.what #>> '{0,kind}') from rota.rejected_report s), '{life}', 'is kept');
select is(t.digest(:j), '{submit,start,complete}|a:completed|completed|1|0|{"ended,t,t,3,2500"}|completed,0,exit,77', 'and changes nothing');
select t.right('coalesced');

-- Rejected reports: of unknown steps, of attempts that never existed, from other nodes.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a') \g /dev/null
delete from rota.rejected_report;
create function t.rejected(p_change jsonb) returns int language sql as $$
	select t.tell(jsonb_build_object('orders_done', '[]'::jsonb, 'records', jsonb_build_array('{"node": 1, "step": 0, "attempt": 1, "kind": "done", "age_us": 0, "exit": 0, "signal": 0, "cause": "exit", "outcome": "complete"}'::jsonb || p_change))) $$;
select is(t.rejected(jsonb_build_object('job', 987654)), 0, 'a job that does not exist');
select is(t.rejected(jsonb_build_object('job', :j, 'step', 7)), 0, 'a step that does not exist');
select is(t.rejected(jsonb_build_object('job', :j, 'attempt', 2)), 0, 'an attempt that never was');
select is(t.rejected(jsonb_build_object('job', :j, 'node', 2)), 0, 'a node that has nothing to do with it');
select is((select count(*) from rota.rejected_report), 4::bigint, 'all are kept');
select is(t.state(:'j' || '.a'), 'running', 'and nothing has changed');
select t.right('orphans');
-- A record of an unknown kind does no harm.
select t.report(t.say(:'j' || '.a', 'newfangled', '{"x": 1}')) \g /dev/null
select is(t.state(:'j' || '.a'), 'running', 'an unknown kind');
-- A late record of an earlier attempt, while the next one runs.
select t.submit('alice', '[{"name": "a", "retry": 1}]') as k \gset
select t.start(:'k' || '.a', '{2}'), t.run(:'k' || '.a') \g /dev/null
select t.all(:'k' || '.a') as records \gset
select t.fail(:'k' || '.a'), t.later(), t.start(:'k' || '.a', '{2}') \g /dev/null
select is(t.report(variadic :'records'::jsonb[]), 0, 'an earlier attempt, reported again');
select is((select concat_ws(' ', state, attempt) from t.step(:'k' || '.a')), 'starting 2', 'does not touch the next one');
select t.right('earlier attempt');

-- Orders and messages for attempts that are over: the node reports them done, they are kept as rejected, and change nothing.
delete from rota.rejected_report;
select is(t.report(jsonb_build_array(jsonb_build_object('node', 2, 'job', :k, 'step', 0, 'attempt', 1, 'kind', k, 'age_us', 0, 'reason', 'old', 'action', 'kill', 'drain', ''))),
	0, k || ' for an attempt that is over') from unnest('{refused,late}'::text[]) k;
select is((select count(*) from rota.rejected_report), 2::bigint, 'both are kept');
select is((select concat_ws(' ', state, attempt) from t.step(:'k' || '.a')), 'starting 2', 'and change nothing');
-- A node refuses a launch request for a fault of its own: the node is drained, and the step runs again even with --no-requeue.
select t.submit('alice', '[{"name": "a", "requeue": false}]') as f \gset
select t.start(:'f' || '.a', '{4}') \g /dev/null
select t.report(t.say(:'f' || '.a', 'refused', '{"reason": "disk full", "again": "0", "retry": "1", "drain": "disk full"}')) \g /dev/null
select is((select concat_ws(' ', state, attempt, requeues) from t.step(:'f' || '.a')), 'pending 1 1', 'nothing was run, so it may run again');
select is((select concat_ws(' ', state, cause, message) from rota.attempt where job_id = :f), 'node_fail refused disk full', 'the attempt says why');
select is((select concat_ws(' ', state, reason, cpus_used) from rota.node join rota.node_used using (node_id) where node_id = 4), 'drain disk full 0', 'the node is drained with the reason');
select is(t.report(t.say(:'f' || '.a', 'refused', '{"reason": "disk full", "again": "0", "retry": "1", "drain": "disk full"}')), 0, 'reported again it changes nothing');
select t.right('refused for want of room');

-- Orders: read from a position on, deleted when taken; one notification for each node.
select is((select array_agg(kind || '@' || node_ids[1] order by order_ids) from api.node_orders('{1,2}', '{}', 1000) where job_id = :k), '{launch@2,launch@2}', 'orders of two attempts');
select t.tell(jsonb_build_object('records', '[]'::jsonb, 'orders_done', (select jsonb_agg(order_id) from rota.node_order where node_id = 2 and attempt = 1))) \g /dev/null
select is((select array_agg(attempt) from api.node_orders('{2}', '{}', 1000) where job_id = :k), '{2}', 'what was taken is gone');
select is((select body || ' ' || signature from api.node_orders('{2}', '{}', 1000) where job_id = :k), 'order abcd', 'body and signature');
select is((select count(*) from api.node_orders('{2}', (select array_agg(order_id) from rota.node_order), 1000)), 0::bigint, 'none but those known');
select is((select array_agg(attempt) from api.node_orders((select array_agg(i) from generate_series(2, 200) i), '{}', 1000) where job_id = :k), '{2}', 'asked for many nodes');
select is((select count(*) from api.node_orders('{3}', '{}', 1000)), 0::bigint, 'of another node');

-- An order for several nodes of an attempt is stored once, and answered to each process manager for its nodes.
select t.submit('alice', '[{"name": "w", "nodes_min": 3}]') as w \gset
select t.start(:'w' || '.w', '{2,3,1}') \g /dev/null
select is((select array_agg(node_id || body) from rota.launch_text where job_id = :w), '{2order}', 'one text');
select is((select array_agg(concat_ws(' ', kind, node_ids, body, signature) order by order_ids) from api.node_orders('{1,2,3,4}', '{}', 1000) where job_id = :w), array['launch {2,3,1} order abcd'], 'for all of them');
select is((select array_agg(concat_ws(' ', node_ids, body)) from api.node_orders('{3}', '{}', 1000) where job_id = :w), array['{3} order'], 'for one of them');
select is((select array_agg(node_ids) from api.node_orders('{1,2,3}', (select array_agg(order_id) from rota.node_order where job_id = :w and node_id = 2), 1000) where job_id = :w), array['{3,1}'::int[]],
	'for those that do not know it yet');
create function t.ready(p_label text, p_nodes int[]) returns int language sql as $$
	select t.tell(jsonb_build_object('records', '[]'::jsonb, 'orders_done', '[]'::jsonb,
		'ready', jsonb_build_array(jsonb_build_object('job', s.job_id, 'step', s.step_id, 'attempt', s.attempt, 'age_us', 1000, 'nodes', p_nodes)))) from t.step(p_label) s $$;
-- Readiness of several nodes in the short form has the same result as their records.
select is(t.ready(:'w' || '.w', '{2,1}'), 4, 'two are ready');
select is((select concat_ws(' ', t.state(:'w' || '.w'), t.orders(:'w' || '.w'))), 'prolog', 'one is not');
delete from rota.rejected_report;
select is(t.ready(:'w' || '.w', '{1,4,3}'), 4, 'one reported again, one that has nothing to do with it, the last one');
select is((select concat_ws(' ', t.state(:'w' || '.w'), (select array_agg(phase order by node_index) from rota.allocation where job_id = :w))), 'prolog {ready,ready,ready}', 'all are ready');
select matches(t.orders(:'w' || '.w'), '^go@n2', 'and the one with the script has the order to go');
select is((select count(*) from rota.rejected_report), 1::bigint, 'what fits nothing is kept');
select t.report(t.say(:'w' || '.w', 'run', '{}', 2)), t.finish(:'w' || '.w') \g /dev/null
select is((select concat_ws(' ', t.state(:'w' || '.w'), (select count(*) from rota.launch_text where job_id = :w),
	(select count(*) from rota.node_order where job_id = :w and kind = 'launch'))), 'completed 0 0', 'an attempt that is over leaves no text, and no order that lacks it');
select is(t.ready(:'w' || '.w', '{1,2,3}'), 0, 'reported once more it changes nothing');
select t.right('several nodes');

-- Many records at once: an array of a thousand elements, started in one report and ended in another.
select t.submit('alice', '[{"name": "m", "array": {"indices": [[0,999,1]], "size": 1000, "limit": null}}]') as m \gset
update rota.node set cpus = 2000 where node_id = 3;
select is(t.commit(variadic (select array_agg(t.decision(:'m' || '.m', '{3}', jsonb_build_object('position', i))) from generate_series(0, 999) i)), 1000, 'a thousand starts in one call');
select is((select cpus_used from rota.node_used where node_id = 3), 1000, 'all are booked');
create function t.many(p_job bigint, p_kind text) returns jsonb language sql as $$
	select jsonb_agg(jsonb_build_object('node', 3, 'job', p_job, 'step', i, 'attempt', 1, 'kind', p_kind, 'age_us', 0, 'exit', 0, 'signal', 0, 'cause', 'exit', 'outcome', 'complete', 'message', '', 'drain', '')) from generate_series(1, 1000) i $$;
select t.report(t.many(:m, 'run'), t.many(:m, 'done'), t.many(:m, 'end')) \g /dev/null
select is((select array[a.running, a.completed, a.failed, a.next] from rota.step_array a where job_id = :m), '{0,1000,0,1000}', 'a thousand ends in one report');
select is(t.job(:m), 'completed', 'and the job is done');
select t.right('a thousand');
select * from finish();
rollback;
