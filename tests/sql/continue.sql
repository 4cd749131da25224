-- rota continue: steps of an ended job that completed stay, the others run again, with the data that is still staged.
begin;
\ir world.psql
select * from no_plan();
update rota.setting set value = '1' where name = 'requeue_max';
\ir staging.psql
create function t.continue(p_user text, p_job bigint) returns text language sql as $$
	select x ->> 'action' from jsonb_array_elements(api.job_continue(case p_user when 'root' then 0 else t.uid(p_user) end, p_user, t.request(p_job::text)) -> 'steps') x $$;
create function t.attempts(p_job bigint) returns text language sql as $$
	select string_agg(step_id || ':' || attempt || ':' || state, ' ' order by step_id, attempt) from rota.attempt where job_id = p_job $$;

-- A continued job runs its steps again that failed, timed out or were cancelled, and those that were skipped because of them.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}, {"name": "h"}]', '[{"step": "b", "peer": "a"}, {"step": "c", "peer": "b"}, {"step": "d", "peer": "a"},
	{"step": "h", "peer": "b", "condition": "fail"}]') as j \gset
select is(t.continue('alice', :j), 'not changed: it has not ended (pending)', 'not what waits');
select t.pass(:'j' || '.a') \g /dev/null
select is(t.continue('alice', :j), 'not changed: it has not ended (pending)', 'nor what is half done');
select t.start(:'j' || '.b'), t.run(:'j' || '.b') \g /dev/null
select is(t.continue('alice', :j), 'not changed: it has not ended (running)', 'nor what runs');
select t.act('cancel', 'alice', :'j' || '.d') \g /dev/null
select t.fail(:'j' || '.b', 3), t.pass(:'j' || '.h') \g /dev/null
select is(t.states(:j), 'a:completed b:failed c:dependency_failed d:cancelled h:completed', 'a job that failed');
select throws_ok(format($$select t.continue('bob', %s)$$, :j), 'RT403', null, 'somebody else may not');
select throws_ok(format($$select api.job_continue(0, 'root', t.request('%s.b'))$$, :j), 'RT422', 'only whole jobs can be requeued or continued, not steps', 'nor does a step go on');
select throws_ok($$select api.job_continue(0, 'root', t.request('999999'))$$, 'RT404', null, 'nor what is not there');
select is(t.continue('alice', :j), 'queued again (3 of 5 steps)', 'it goes on');
select is(t.states(:j), 'a:completed b:pending c:pending d:pending h:completed', 'with what did not complete');
select is(array(select deps_waiting from rota.step where job_id = :j order by step_id), '{0,0,1,0,0}', 'in the order of the script');
select is(t.continue('alice', :j), 'not changed: it has not ended (pending)', 'twice is once');
select t.right('goes on');
select t.pass(:'j' || '.b'), t.pass(:'j' || '.d'), t.pass(:'j' || '.c') \g /dev/null
select is(t.job(:j), 'completed', 'it completes');
select is(t.attempts(:j), '0:1:completed 1:1:failed 1:2:completed 2:1:completed 3:1:completed 4:1:completed', 'what ran before is on record, and a ran once');
select is(t.continue('alice', :j), 'not changed: nothing of it failed (completed)', 'what is complete stays so');
select t.right('complete');

-- Elements that failed, and elements that never ran.
select t.submit('alice', '[{"name": "r", "array": {"indices": [[0,3,1]], "size": 4}}]') as j \gset
select t.pass(:'j' || '.r', '{1}', '{"position": 0}') \g /dev/null
select t.start(:'j' || '.r', '{1}', '{"position": 1}'), t.run(:'j' || '.r[1]'), t.fail(:'j' || '.r[1]') \g /dev/null
select api.job_cancel(0, 'root', t.request(:'j')) \g /dev/null
select is(t.continue('alice', :j), 'queued again (1 of 1 step)', 'an array goes on');
select is(t.states(:j), 'r:running r[0]:completed r[1]:pending', 'with the element that failed');
select t.pass(:'j' || '.r[1]'), t.pass(:'j' || '.r', '{1}', '{"position": 2}') \g /dev/null
select t.pass(:'j' || '.r', '{1}', '{"position": 3}') \g /dev/null
select is(t.job(:j), 'completed', 'and those that never ran');
select is((select count(*) from rota.attempt where job_id = :j), 5::bigint, 'one element ran twice');
select t.right('an array');

-- A stage-in that failed.
select t.submit('alice', '[{"name": "a"}]', '[]', t.staging()) as j \gset
select t.take() \g /dev/null
select is(t.continue('alice', :j), 'not changed: it has not ended (pending)', 'not while it is staged in');
select t.over(:j, -1, 'no') \g /dev/null
select throws_ok(format($$select t.continue('bob', %s)$$, :j), 'RT403', null, 'not the job of somebody else');
select is(t.continue('alice', :j), 'its data is staged in again', 'a stage-in that failed is tried again');
select is(t.where(:j) || ' ' || (t.step(:'j' || '.a')).held, 'pending:job_teardown! ', 'after a teardown, and no step is held');
select is(t.continue('alice', :j), 'not changed: it has not ended (pending)', 'once');
select t.over(:j) \g /dev/null
select t.right('stage-in');

-- A stage-out that failed, of a job that completed.
select is(t.ran(:j), 'post_run:post_run', 'it runs');
select is(t.continue('alice', :j), 'not changed: burst_buffer.lua still stages its data out', 'not while it is staged out');
select t.over(:j) \g /dev/null
select is(t.over(:j, -1, 'no'), 'staging_out', 'data_out fails');
select is(t.act('requeue', 'alice', :'j'), 'not changed: burst_buffer.lua still stages its data out', 'a requeue would stage everything anew');
select is(t.continue('alice', :j), 'its data is staged out again', 'the stage-out goes on');
select is(t.where(:j) || ' ' || t.job(:j), 'post_run:post_run completed', 'and nothing runs again');
select t.over(:j), t.over(:j), t.over(:j), t.over(:j) \g /dev/null
select is(t.where(:j), 'complete', 'it is over');
select is(t.continue('alice', :j), 'not changed: nothing of it failed (completed)', 'now it is complete');

-- A step failed, and then the stage-out: the data is still staged.
create function t.broken() returns bigint language plpgsql as $$
declare
	v_job bigint := t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[{"step": "b", "peer": "a"}]', t.staging());
begin
	perform t.place(v_job);
	perform t.over(v_job);
	perform t.run(v_job || '.a'), t.finish(v_job || '.a');
	perform t.start(v_job || '.b', '{1}', '{"staging": true}'), t.run(v_job || '.b'), t.fail(v_job || '.b');
	perform t.take();
	perform t.over(v_job, -1, 'no');
	return v_job;
end $$;
select t.broken() as j \gset
select is(t.where(:j) || ' ' || t.states(:j), 'post_run a:completed b:failed', 'post_run failed after b');
select staged_at as staged from rota.staging where job_id = :j \gset
select is(t.continue('alice', :j), 'queued again (1 of 2 steps; its data is still staged)', 'it goes on with its data');
select is(t.where(:j) || ' ' || (t.step(:'j' || '.b')).deps_waiting, 'staged 0', 'that is not staged in again');
select is((select concat_ws(' ', staged_at = :'staged', ended_at, message, variables) from rota.staging where job_id = :j), 't {BB_A=1,BB_B=x=y}', 'it is as it was');
select is(t.take(), null, 'no function is called');
select t.right('with its data');
select t.start(:'j' || '.b', '{1}', '{"staging": true}') \g /dev/null
select is(t.where(:j), 'pre_run:pre_run', 'there are new nodes: pre_run');
select t.take(), t.over(:j) \g /dev/null
select t.run(:'j' || '.b'), t.finish(:'j' || '.b') \g /dev/null
select is(t.where(:j) || ' ' || t.job(:j), 'post_run:post_run completed', 'it completes, and is staged out');
select t.take(), t.over(:j), t.over(:j), t.over(:j), t.over(:j) \g /dev/null
select is((select string_agg(function, ' ' order by call_id) from rota.staging_call where job_id = :j),
	'setup data_in test_data_in paths pre_run post_run pre_run post_run data_out test_data_out job_teardown', 'each function as often as it was due');
select is((select count(*) from rota.staging where job_id = :j and post_run_at > running_at and running_at > staged_at), 1::bigint, 'and its times are those of the latest run');
select t.right('over');

-- Staged data may have results of steps that completed, so it is staged out whatever becomes of the continued steps.
select t.broken() as j \gset
select t.continue('alice', :j), t.act('cancel', 'alice', :'j') \g /dev/null
select is(t.where(:j) || ' ' || t.job(:j), 'post_run:post_run cancelled', 'cancelled before it runs: staged out');
select t.broken() as j \gset
select t.continue('alice', :j), t.act('cancel', 'alice', :'j', '{"hurry": true}') \g /dev/null
select is(t.where(:j), 'teardown:job_teardown!', 'in a hurry: torn down');
select t.over(:j) \g /dev/null
select is(t.continue('alice', :j), 'queued again (1 of 2 steps)', 'that is gone');
select is(t.where(:j) || ' ' || (t.step(:'j' || '.b')).deps_waiting, 'pending 1', 'so it is staged in again');
select t.right('staged in again');
select t.broken() as j \gset
select t.continue('alice', :j), t.start(:'j' || '.b', '{1}', '{"staging": true}'), t.take() \g /dev/null
select is(t.over(:j, -1, 'no', false, null, true), 'staged', 'pre_run fails: the data stays');
select is((select concat_ws(' ', state, requeues, deps_waiting, cause) from t.step(:'j' || '.b')), 'pending 2 0 burst_buffer', 'and the step waits for no data');
select is((t.step(:'j' || '.b')).held_reason, 'pre_run of burst_buffer.lua failed too often', 'but it is held, as after any pre_run that fails too often');
select t.right('pre_run failed');
select t.act('release', 'alice', :'j'), t.later() \g /dev/null
select t.start(:'j' || '.b', '{1}', '{"staging": true}'), t.take() \g /dev/null
select t.act('cancel', 'alice', :'j') \g /dev/null
select alike(t.take(array[t.open(:j)], true), :'j' || ':pre_run-%', 'cancelled in pre_run: that is killed');
select is(t.over(:j, null, 'was killed') || ' ' || t.job(:j), 'post_run:post_run cancelled', 'then it is staged out');
select t.right('cancelled in pre_run');

-- Jobs that are too old: their script, their environment or their range is gone.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.fail(:'j' || '.a') \g /dev/null
update rota.job set environment_hash = '\x00' where job_id = :j;
select is(t.continue('alice', :j), 'not changed: its script or its environment has been removed: submit it again', 'not without its environment');
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.fail(:'j' || '.a') \g /dev/null
select is((select count(*)::int from t.wrong()), 0, 'all adds up');
select internal.live_views(1000000) \g /dev/null
select is(t.continue('alice', :j), 'not changed: it is too old: submit its script again ("rota show --script")', 'not when its range lives no more');
select * from finish();
rollback;
