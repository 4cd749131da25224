-- Controller prologs and epilogs: due with the start and the end of attempts; orders wait for the prolog of the very attempt.
begin;
\ir world.psql
select * from no_plan();
update rota.setting set value = '2' where name = 'requeue_max';
select api.leader_claim('hook', 60) as term \gset
create function t.have() returns text language sql as $$
	select string_agg(internal.step_label(d.job_id, d.step_id) || '#' || d.attempt || ':' || substr(d.hook, 12), ' ' order by d.hook_id) from rota.hook_pending d $$;
create function t.take(p_have bigint[] default '{}', p_room int default 100, p_look boolean default false) returns text language sql as $$
	select string_agg(coalesce(label, job_id || '.' || step_id) || '#' || attempt || ':' || substr(hook, 12) || case when wanted then '' else '-' end, ' ' order by hook_id)
	from api.hook_take((select term from rota.leader where name = 'hook'), p_have, p_room, p_look) $$;
create function t.hook(p_label text, p_hook text default 'prolog') returns bigint language sql as $$
	select d.hook_id from t.step(p_label) s join rota.hook_pending d on d.job_id = s.job_id and d.step_id = s.step_id and d.hook = 'controller_' || p_hook
	order by d.hook_id limit 1 $$;
create function t.over(p_hook bigint, p_exit int default 0, p_signal int default null, p_message text default null) returns void language sql as $$
	select api.hook_report((select term from rota.leader where name = 'hook'), array[p_hook], array[p_exit], array[p_signal], array[1500], array[p_message], array['said']) $$;
-- t.given: the orders about a step that its nodes are given.
create function t.given(p_label text) returns text language sql as $$
	select string_agg(o.kind || '@n' || n, ' ' order by o.order_ids, nr)
	from t.step(p_label) s join api.node_orders('{1,2,3,4}', '{}', 1000) o on o.job_id = s.job_id and o.step_id = s.step_id
	cross join unnest(o.node_ids) with ordinality x (n, nr) $$;

-- Neither a prolog nor an epilog is configured.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a') \g /dev/null
select is(t.given(:'j' || '.a'), 'launch@n1', 'no prolog: the order goes at once');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a') \g /dev/null
select is(t.have(), null, 'and nothing is due behind it');

-- A jobmgrd that is configured with both claims leadership.
update rota.leader set backend_pid = null where name = 'schedule';
select api.leader_claim('schedule', 3, true, true) \g /dev/null
select is((select array[prolog, epilog] from rota.leader where name = 'schedule'), '{t,t}', 'the leader says what there is');
select t.submit('alice', '[{"name": "a", "nodes_min": 2, "ntasks": 2}]') as j \gset
select t.start(:'j' || '.a', '{1,2}') \g /dev/null
select is(t.have(), :'j' || '.a#1:prolog', 'a start makes its prolog due');
select is(t.state(:'j' || '.a'), 'starting', 'it is starting');
select is(t.given(:'j' || '.a'), null, 'no order leaves');
select is(t.take(), :'j' || '.a#1:prolog', 'the runner takes it');
select is(t.take(), :'j' || '.a#1:prolog', 'again, if it has forgotten');
select is(t.take(array[t.hook(:'j' || '.a')]), null, 'not while it has it');
select is(t.take('{}', 0), null, 'nor without room');
select is((select concat_ws(' ', user_name, uid, nodes, node_count, task_count, restarts, array_index, context, state, exit_pair) from api.hook_take(:term, '{}', 1, false)),
	'alice ' || t.uid('alice') || ' n1,n2 2 2 prolog_slurmctld', 'what the program is given');
select t.over(t.hook(:'j' || '.a')) \g /dev/null
select is(t.given(:'j' || '.a'), 'launch@n1 launch@n2', 'when it has ended well, the orders leave');
select is(t.have(), null, 'it is not due any more');
select t.run(:'j' || '.a'), t.fail(:'j' || '.a', 3) \g /dev/null
select is(t.state(:'j' || '.a'), 'failed', 'the step ends as ever');
select is((select count(*) from rota.allocation where job_id = :j and ended_at is null), 0::bigint, 'and holds nothing');
select is(t.have(), :'j' || '.a#1:epilog', 'its epilog is due');
select is((select concat_ws(' ', context, state, exit_code, wait_status, exit_pair) from api.hook_take(:term, '{}', 1, false)), 'epilog_slurmctld failed 3 768 3:0', 'and is given how it ended');
select t.over(t.hook(:'j' || '.a', 'epilog'), 9, null, 'ended with exit code 9') \g /dev/null
select is(t.have(), null, 'a failed epilog is over too');
select is(t.state(:'j' || '.a'), 'failed', 'and changes nothing');
select is((select string_agg(concat_ws(',', hook, exit_code, usec, message, output), ' ' order by ended_at) from rota.controller_hook where job_id = :j),
	'controller_prolog,0,1500,said controller_epilog,9,1500,ended with exit code 9,said', 'both are kept');
select is((select string_agg(h ->> 'hook', ' ') from jsonb_array_elements(api.job_show(t.uid('alice'), 'alice', t.request(:'j')) #> '{jobs,0,steps,0,hooks}') h),
	'controller_prolog controller_epilog', 'and shown');
select is(api.job_show(t.uid('bob'), 'bob', t.request(:'j')) #> '{jobs,0,steps,0,hooks,0,output}', 'null', 'not what they printed, to others');
select t.right('prolog and epilog');

-- A prolog that fails: the step is queued again, no retry is counted, and the step is held after several failures.
select t.submit('alice', '[{"name": "a", "retry": 1}]') as j \gset
select t.start(:'j' || '.a') \g /dev/null
select t.over(t.hook(:'j' || '.a'), 7, null, 'ended with exit code 7') \g /dev/null
select is((select concat_ws(' ', state, retries, requeues, held, begin_at > now(), cause, message) from t.step(:'j' || '.a')),
	'pending 0 1  t controller_prolog ended with exit code 7', 'queued again, for later');
select is((select count(*) from rota.node_order where job_id = :j), 0::bigint, 'its orders are void');
select is((select concat_ws(' ', state, outcome, cause) from rota.attempt where job_id = :j), 'failed prolog_fail controller_prolog', 'the attempt is over');
select is(t.have(), :'j' || '.a#1:epilog', 'and has its epilog');
select t.right('a prolog that failed');
select t.later(), t.start(:'j' || '.a') \g /dev/null
select is(t.take(), :'j' || '.a#1:epilog', 'hooks of a step run one after the other');
select t.over(t.hook(:'j' || '.a', 'epilog')) \g /dev/null
select is(t.take(), :'j' || '.a#2:prolog', 'the next attempt has a prolog of its own');
select is((select restarts from api.hook_take(:term, '{}', 1, false)), 1, 'and is given that it is the second');
select t.over(t.hook(:'j' || '.a'), null, 9, 'not finished after 1 second') \g /dev/null
select t.over(t.hook(:'j' || '.a', 'epilog')), t.later(), t.start(:'j' || '.a') \g /dev/null
select t.over(t.hook(:'j' || '.a'), 7, null, 'ended with exit code 7') \g /dev/null
select is((select concat_ws(' ', state, held, held_reason) from t.step(:'j' || '.a')), 'pending system the controller prolog failed too often', 'then held');
select t.over(t.hook(:'j' || '.a', 'epilog')), api.job_release(0, 'root', t.request(:'j')), t.later(), t.start(:'j' || '.a'), t.over(t.hook(:'j' || '.a')) \g /dev/null
select is(t.given(:'j' || '.a'), 'launch@n1', 'released, it may go on');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a'), t.over(t.hook(:'j' || '.a', 'epilog')) \g /dev/null

-- The attempt is cancelled before its prolog has begun, while it runs, and as it ends well.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c"}]') as j \gset
select t.commit(t.decision(:'j' || '.a'), t.decision(:'j' || '.b'), t.decision(:'j' || '.c')) \g /dev/null
select t.hook(:'j' || '.b') as b \gset
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is(t.given(:'j' || '.a'), null, 'what has not left needs no kill');
select is(t.take(array[:b]::bigint[], 0, true), :'j' || '.1#1:prolog-', 'the one under way is to end');
select is(t.take(array[:b]::bigint[], 0), null, 'where it is looked for');
select is(t.take(array[:b]::bigint[]), format('%s.a#1:prolog- %1$s.c#1:prolog-', :j), 'the others need not begin');
select t.over(t.hook(:'j' || '.a'), null), t.over(:b, null, 9), t.over(t.hook(:'j' || '.c'), 0) \g /dev/null
select is(t.states(:j), 'a:cancelled b:cancelled c:cancelled', 'all are cancelled, the last one although its prolog ended well');
select is((select array_agg(distinct cause) from rota.attempt where job_id = :j), '{cancelled}', 'and say so');
select is(t.job(:j), 'cancelled', 'the job is over');
select is((select count(*) from rota.node_order where job_id = :j), 0::bigint, 'no order is left');
select is(t.have(), format('%s.a#1:epilog %1$s.b#1:epilog %1$s.c#1:epilog', :j), 'each has its epilog');
select t.right('cancelled with their prologs');
select t.over(hook_id) from rota.hook_pending \g /dev/null

-- The attempt is cancelled after its prolog has ended: the kill follows the launch request.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a'), t.over(t.hook(:'j' || '.a')), api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is(t.given(:'j' || '.a'), 'launch@n1 kill@n1', 'the launch, then the kill');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a', '{"outcome": "cancel", "cause": "cancelled"}'), t.over(hook_id) from rota.hook_pending \g /dev/null
select t.over(hook_id) from rota.hook_pending \g /dev/null

-- A node is lost during the prolog: the attempt is over or about to end, whatever the result of the prolog.
select t.submit('alice', '[{"name": "a", "nodes_min": 2}, {"name": "b"}]') as j \gset
select t.start(:'j' || '.a', '{3,4}'), t.start(:'j' || '.b', '{3}') \g /dev/null
select t.hook(:'j' || '.a') as a, t.hook(:'j' || '.b') as b \gset
select t.silent(3), (select count(*) from t.judge()) \g /dev/null
select is(t.state(:'j' || '.b'), 'pending', 'lost with its node');
select is(t.take(array[:a, :b]::bigint[], 0, true), format('%s.0#1:prolog- %1$s.1#1:prolog-', :j), 'neither prolog is wanted any more');
select is(t.take(array[:a, :b]::bigint[]), null, 'nor the epilog before it has ended');
select t.over(:a), t.over(:b) \g /dev/null
select is(t.states(:j), 'a:pending b:pending', 'both are queued again');
select is((select array_agg(distinct outcome) from rota.attempt where job_id = :j), '{node_fail}', 'for the node''s sake');
select is(t.take(), format('%s.b#1:epilog %1$s.a#1:epilog', :j), 'epilogs follow');
select t.right('a node lost during prologs');
select t.back(3), t.later(), t.over(hook_id) from rota.hook_pending \g /dev/null

-- An array: each element has a prolog of its own.
select t.submit('alice', '[{"name": "r", "array": {"indices": [[5,7,1]], "size": 3}}]') as k \gset
select t.commit(t.decision(:'k' || '.r', '{1}', '{"position": 0}'), t.decision(:'k' || '.r', '{2}', '{"position": 1}')) \g /dev/null
select is((select array_agg(concat_ws(' ', label, array_index, array_size, array_job_id) order by hook_id) from api.hook_take(:term, '{}', 9, false)),
	array[format('%s.r[5] 5 3 %1$s', :k), format('%s.r[6] 6 3 %1$s', :k)], 'elements say which they are');
select t.over(t.hook(:'k' || '.r[5]')), t.over(t.hook(:'k' || '.r[6]'), 1) \g /dev/null
select is(t.given(:'k' || '.r[5]'), 'launch@n1', 'one goes');
select is(t.given(:'k' || '.r[6]'), null, 'the other does not');
select is(t.states(:k), 'r:running r[5]:starting r[6]:pending', 'and waits again');
select t.right('elements with prologs');

update rota.node_order set also = array[2] where job_id = :k and step_id = 1;
insert into rota.hook_pending (job_id, step_id, attempt, hook) values (:k, 2, 1, 'controller_prolog');
select is(t.given(:'k' || '.r[5]'), null, 'an order for several elements waits for all of them');
delete from rota.hook_pending where job_id = :k and step_id = 2 and hook = 'controller_prolog';
update rota.node_order set also = '{}' where job_id = :k and step_id = 1;

-- A runner that no longer leads is refused.
select throws_ok(format('select * from api.hook_take(%s, ''{}'', 1, false)', :term - 1), 'RT412', null, 'take in an old term');
select throws_ok(format('select api.hook_report(%s, ''{}'', ''{}'', ''{}'', ''{}'', ''{}'', ''{}'')', :term - 1), 'RT412', null, 'report in an old term');
select lives_ok(format('select api.hook_report(%s, ''{9999999}'', ''{0}'', ''{null}'', ''{1}'', ''{null}'', ''{""}'')', :term), 'what is not due changes nothing');

-- Hooks are no longer configured: attempts that waited for a prolog are queued again, epilogs that were due are dropped.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a', '{4}') \g /dev/null
select is((select count(*) from api.schedule_tick(t.term())), 1::bigint, 'a tick');
select is(t.hook(:'j' || '.a') is not null, true, 'leaves what is configured');
update rota.leader set backend_pid = null where name = 'schedule';
select api.leader_claim('schedule', 3) \g /dev/null
select is((select count(*) from api.schedule_tick(t.term())), 1::bigint, 'the tick of a leader without hooks');
select is(t.have(), null, 'nothing is due any more');
select is(t.state(:'j' || '.a'), 'pending', 'its step is queued again');
select is((select message from rota.controller_hook where job_id = :j), 'none is configured any more', 'and why');
select t.right('hooks that are configured no more');
select * from finish();
rollback;
