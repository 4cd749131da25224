-- One leader: each decision carries the leader's term, and decisions of a deposed leader are refused.
begin;
\ir world.psql
create extension if not exists dblink schema tap;
select * from no_plan();
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as j \gset
select t.term() as term \gset
select is(api.leader_claim('schedule', 3), :term::bigint, 'claimed again by the same session: the same term');
update rota.leader set term = term + 1;
select throws_ok(format('select api.schedule_commit(%s, %L, %L)', :term, '[]', '[]'), 'RT412', 'the leadership of term ' || :term || ' has passed to another process', 'commit under an old term');
select throws_ok(format('select api.schedule_tick(%s)', :term), 'RT412', null, 'tick under an old term');
select throws_ok(format('select api.schedule_plan(%s, %L, null, null)', :term, '[]'), 'RT412', null, 'plan under an old term');
select throws_ok(format('select api.schedule_refuse(%s, %L, %L, %L)', :term, '{}', '{}', '{}'), 'RT412', null, 'refuse under an old term');
select throws_ok('select api.schedule_tick(null)', 'RT412', null, 'no term at all');
select dblink_connect('other', 'host=' || split_part(current_setting('unix_socket_directories'), ',', 1) || ' port=' || current_setting('port') || ' dbname=' || current_database() || ' user=rota_jobmgr_leader application_name=other') \g /dev/null
select is((select v from dblink('other', 'select api.leader_claim(''schedule'', 3)') x (v bigint)), null::bigint, 'another session does not become leader');
select dblink_disconnect('other') \g /dev/null
select is((select count(*) from api.schedule_commit(t.term(), '[]', null)), 0::bigint, 'an empty decision');
select is(t.start(:'j' || '.a'), 1, 'the leader starts');
select is(t.start(:'j' || '.a'), 0, 'once');
select is((select started_at is not null from rota.job where job_id = :j), true, 'the job has started');
select t.submit('alice', '[{"name": "a"}]') as k \gset
select is(t.commit(t.decision(:'k' || '.a') || '{"attempt": 2}'), 0, 'a decision on something else than there is');
select is((select started_at from rota.job where job_id = :k), null, 'starts nothing');
select is((select count(*) from rota.node_order where job_id = :k), 0::bigint, 'and sends no order');

-- The plan: replaced as a whole, or only the changed rows; unchanged rows stay.
select api.schedule_plan(t.term(), jsonb_build_array(jsonb_build_object('job', :j, 'step', 1, 'expected_at', 2000000000, 'nodes', '{1}', 'reason', 'resources', 'message', 'waits for CPUs', 'blocker', :'j' || '.a'),
	jsonb_build_object('job', :k, 'step', 0, 'expected_at', null, 'nodes', null, 'reason', 'priority', 'message', 'behind others', 'blocker', null)), null, null) \g /dev/null
select is((select array_agg(reason order by job_id) from rota.plan), '{resources,priority}', 'a plan');
select is(api.job_why(0, 'root', t.request(:'j' || '.b')) #> '{steps,0,conditions}', jsonb_build_array(jsonb_build_object('kind', 'resources', 'message', 'waits for CPUs', 'blocker', :'j' || '.a',
	'expected_at', to_timestamp(2000000000))), 'why says what the plan says');
select is(api.job_queue(0, 'root', '{}') #>> '{jobs,1,reason}', 'priority', 'and so does the queue');
update rota.plan set made_at = '2001-01-01' where job_id = :j;
select api.schedule_plan(t.term(), jsonb_build_array(jsonb_build_object('job', :k, 'step', 0, 'reason', 'license', 'message', 'needs a licence')), '{}', '{}') \g /dev/null
select is((select array_agg(reason order by job_id) from rota.plan), '{resources,license}', 'of one step something else is said, the other stays');
select api.schedule_plan(t.term(), '[]', array[:k, :j]::bigint[], '{0,0}') \g /dev/null
select is((select array_agg(job_id || '.' || step_id) from rota.plan), array[:'j' || '.1'], 'of one nothing any more, and no other step of a job is meant');
select api.schedule_plan(t.term(), jsonb_build_array(jsonb_build_object('job', :k, 'step', 0, 'reason', 'priority', 'message', 'behind others')), '{}', '{}') \g /dev/null
select api.schedule_plan(t.term(), jsonb_build_array(jsonb_build_object('job', :j, 'step', 1, 'expected_at', 2000000000, 'nodes', '{1}', 'reason', 'resources', 'message', 'waits for CPUs', 'blocker', :'j' || '.a')), null, null) \g /dev/null
select is((select array_agg(made_at) from rota.plan), '{2001-01-01}', 'of the whole, a step not looked at is not in it, and what says the same stays');
select t.start(:'j' || '.b', '{2}') \g /dev/null
select is((select count(*) from rota.plan), 0::bigint, 'nor one that started');
-- A step whose request row was altered is refused by the signer, and does not run.
select api.schedule_refuse(t.term(), array[:k]::bigint[], '{0}', '{"its authenticator does not fit"}') \g /dev/null
select is((select concat_ws(' ', state, cause, message) from t.step(:'k' || '.a')), 'failed refused its authenticator does not fit', 'refused');
select t.submit('alice', '[{"name": "r", "retry": 1, "array": {"indices": [[0,3,1]], "size": 4}}]') as k \gset
select t.commit(t.decision(:'k' || '.r', '{1}', '{"position": 0}'), t.decision(:'k' || '.r', '{2}', '{"position": 1}')) \g /dev/null
select t.run(:'k' || '.r[0]'), t.fail(:'k' || '.r[0]') \g /dev/null
select api.schedule_refuse(t.term(), array[:k]::bigint[], '{0}', '{"its authenticator does not fit"}') \g /dev/null
select is(t.states(:k), 'r:running r[0]:failed r[1]:starting', 'an array: all of it that has not started');
select t.right('refuse of an array');
select t.run(:'k' || '.r[1]'), t.finish(:'k' || '.r[1]') \g /dev/null
select is(t.job(:k), 'failed', 'over when what ran is over');
select t.right('leader');
-- The rows that the scheduler reads.
select is((select array_agg(name || ':' || state order by node_id) from api.schedule_nodes()), '{n1:up,n2:up,n3:up,n4:up}', 'nodes');
select is((select gres::text || gres_total::text from api.schedule_nodes() where name = 'n1'), '{"gpu": [0, 1]}{"gpu": 2}', 'free units');
select is((select node_ids from api.schedule_partitions()), '{1,2,3,4}', 'partitions');
select is((select array_agg(job_id || '.' || step_id order by step_id) from api.schedule_running()), array[:'j' || '.0', :'j' || '.1'], 'what runs');
select is((select max(abs(r.ends_at - extract(epoch from t.ordered_at) - 60)) < 0.001 from api.schedule_running() r join rota.attempt t using (job_id, step_id, attempt)), true, 'and until when');
select is((select spec from api.schedule_launch(array[:j], '{0}')), E'output=0:\n', 'what the signer needs');
select * from finish();
rollback;
