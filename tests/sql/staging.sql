-- Staging of data by burst_buffer.lua: transitions, the call that each leaves due, when the job's steps start, failures,
-- cancellations.
begin;
\ir world.psql
select * from no_plan();
select is((select string_agg(internal.slurm_staging(x), ' ') from unnest(array['pending', 'setup', 'staging_in', 'staged', 'failed', 'pre_run', 'running',
	'post_run', 'staging_out', 'teardown', 'complete']) x),
	'pending staging-in staging-in staged-in staging-in pre-run running post-run staging-out teardown complete', 'scripts read Slurm''s words of a state');
update rota.setting set value = '1' where name = 'requeue_max';
\ir staging.psql
create function t.given(p_job bigint) returns bigint language sql as $$ select count(*) from api.node_orders('{1}', '{}', 1000) where job_id = p_job $$;

-- A script without a directive.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select is((select staging from rota.job where job_id = :j), false, 'no directive: nothing of it');
select is(t.take(), null, 'no call');

-- A job with one step.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[{"step": "b", "peer": "a"}]', t.staging()) as j \gset
select is((select array_agg(deps_waiting order by step_id) from rota.step where job_id = :j), '{1,2}', 'its steps wait for its data');
select is(t.where(:j), 'pending', 'pending');
select is(t.take(), :'j' || ':setup', 'setup is due, as nothing else is waited for');
select is(t.take(array[t.open(:j)]), null, 'once');
select is(t.over(:j), 'staging_in:data_in', 'then data_in');
select is(t.take(), :'j' || ':data_in', 'which is taken');
select is(t.over(:j), 'staging_in:test_data_in', 'then test_data_in');
select t.take() \g /dev/null
select is(t.over(:j, 0, 'BUSY', true), 'staging_in:test_data_in', 'which is polled');
select is(t.take(), null, 'later');
update rota.staging_call set due_at = now() - interval '1 hour' where job_id = :j and ended_at is null;
select is(t.take(), :'j' || ':test_data_in', 'then');
select is(t.over(:j), 'staging_in:paths', 'then paths');
select is((select n.reason from internal.step_now n where n.job_id = :j and n.step_id = 0), 'staging_in', 'the reason of the step');
select alike(api.job_why(t.uid('alice'), 'alice', t.request(:'j')) #>> '{steps,0,conditions,0,message}', 'its data is being staged in, paths of burst_buffer.lua%', 'why');
select t.take() \g /dev/null
select is(t.over(:j, 0, null, false, E'BB_A=1\nBB_B=x=y\n'), 'staged', 'staged');
select is((select array_agg(deps_waiting order by step_id) from rota.step where job_id = :j), '{0,1}', 'its steps wait for it no more');
select is((select variables from api.schedule_launch(array[:j], '{0}')), E'1=6:BB_A=1\n2=8:BB_B=x=y\n', 'its variables for the launch request');
select t.right('staged');
select t.start(:'j' || '.a', '{1}', '{"staging": true}') \g /dev/null
select is(t.where(:j), 'pre_run:pre_run', 'with nodes, pre_run is due');
select is(t.given(:j), 0::bigint, 'no order leaves');
select is(t.take(), :'j' || ':pre_run', 'it is taken');
select is(t.over(:j), 'running', 'then it runs');
select is(t.given(:j), 1::bigint, 'its order leaves');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a') \g /dev/null
select is(t.where(:j), 'running', 'one of its steps has ended');
select t.start(:'j' || '.b', '{1}', '{"staging": true}') \g /dev/null
select is(t.given(:j), 2::bigint, 'the other waits for nothing');
select t.run(:'j' || '.b'), t.finish(:'j' || '.b') \g /dev/null
select is(t.where(:j), 'post_run:post_run', 'the last has: post_run is due');
select is(t.job(:j), 'completed', 'the job has ended');
update rota.job set mail_type = 'STAGE_OUT' where job_id = :j;
select t.take() \g /dev/null
select is(t.over(:j), 'staging_out:data_out', 'then data_out');
select t.take() \g /dev/null
select is(t.over(:j), 'staging_out:test_data_out', 'then test_data_out');
select is(t.over(:j), 'teardown:job_teardown', 'then teardown');
select is((select hurry from rota.staging where job_id = :j), false, 'not in a hurry');
select is((select count(*) from rota.mail where job_id = :j), 0::bigint, 'no mail before the data is where it is to be');
select is(t.over(:j), 'complete', 'complete');
select is((select string_agg(m.event || ': ' || x.subject, ' ') from rota.mail m
	cross join lateral internal.mail_text(m.job_id, m.step_id, m.attempt, m.event) x where m.job_id = :j),
	format('STAGE_OUT: Rota job %s (test) data was staged out', :j), 'then one');
select is((select string_agg(function, ' ' order by call_id) from rota.staging_call where job_id = :j), 'setup data_in test_data_in paths pre_run post_run data_out test_data_out job_teardown', 'its calls');
select t.right('complete');

-- A job that is held, has a begin time or waits for another job is not staged in before.
select t.submit('alice', '[{"name": "a", "hold": true}]', '[]', t.staging()) as h \gset
select t.submit('alice', '[{"name": "a"}]') as p \gset
select t.submit('alice', '[{"name": "a"}]', format('[{"step": "a", "job": %s}]', :p)::jsonb, t.staging()) as d \gset
select t.submit('alice', '[{"name": "a", "begin_at": 9999999999}]', '[]', t.staging()) as b \gset
select is(t.take(), null, 'held, dependent, later: no call');
select is((select n.reason from internal.step_now n where n.job_id = :d and n.step_id = 0), 'dependency', 'the reason is the dependency');
select is((select n.reason from internal.step_now n where n.job_id = :b and n.step_id = 0), 'begin', 'and the time');
select t.act('release', 'alice', :'h'), t.pass(:'p' || '.a') \g /dev/null
select is(t.take(), :'h' || ':setup ' || :'d' || ':setup', 'then both');
select t.act('cancel', 'alice', :'b') \g /dev/null
select is(t.where(:b), 'complete', 'cancelled before: no call');

-- A stage-in fails.
select is(t.over(:h, -1, 'no'), 'failed', 'a failure');
select is((select held || ': ' || held_reason from t.step(:'h' || '.a')), 'system: burst_buffer.lua: setup: no', 'holds the job');
create function t.shown(p_user text, p_job bigint) returns text language sql as $$
	select (api.job_show(t.uid(p_user), p_user, t.request(p_job::text)) #>> '{jobs,0,steps,0,held_reason}') || '; '
		|| (select string_agg(c ->> 'message', '; ') from jsonb_array_elements(api.job_why(t.uid(p_user), p_user, t.request(p_job::text)) #> '{steps,0,conditions}') c) $$;
select is(t.shown('alice', :h) ~ '^burst_buffer.lua: setup: no; .*: no.*: no', true, 'with the message for its owner: ' || t.shown('alice', :h));
select is(t.shown('bob', :h) !~ ': no' and t.shown('bob', :h) ~ '^burst_buffer.lua: setup failed; .*failed.*failed', true, 'and without for others: ' || t.shown('bob', :h));
select is(t.take(array[t.open(:d)]), null, 'no call follows');
select t.right('a failure');
select t.act('release', 'alice', :'h') \g /dev/null
select is(t.where(:h), 'pending:job_teardown!', 'its release begins with a teardown');
select is(t.take(array[t.open(:d)]), :'h' || ':job_teardown!', 'in a hurry');
select is(t.over(:h), 'pending', 'then');
select is(t.take(array[t.open(:d)]), :'h' || ':setup', 'setup again');
select is(t.over(:h, -1, 'no', false, null, true), 'failed:job_teardown', 'teardown_failure: a teardown at once');
select is(t.over(:h), 'failed', 'and it stays held');
select t.act('cancel', 'alice', :'h') \g /dev/null
select is(t.where(:h), 'teardown:job_teardown!', 'cancelled: a teardown');
select t.over(:h) \g /dev/null
select is(t.over(:d), 'staging_in:data_in', 'the other one goes on');

-- Cancelled while a function runs: the function is killed, and a teardown follows.
select t.take() \g /dev/null
select t.act('cancel', 'alice', :'d') \g /dev/null
select is((select array_agg(unwanted) from rota.staging_call where job_id = :d and ended_at is null), '{t}', 'what runs is not wanted');
select is(t.take(array[t.open(:d)], true), :'d' || ':data_in-', 'runnerd gets to know');
select is(t.over(:d, null, 'was killed'), 'teardown:job_teardown', 'then a teardown');
select is(t.over(:d, -1, 'no'), 'teardown:job_teardown', 'that fails');
select is((select tries from rota.staging_call where call_id = t.open(:d)), 2, 'a second try');
select t.over(:d, -1, 'no') \g /dev/null
select is(t.over(:d, -1, 'no'), 'complete', 'after three it is over');
select is((select message from rota.staging where job_id = :d), 'burst_buffer.lua: job_teardown: no', 'and the message is kept');

-- A path file with a line that is no variable.
select t.submit('alice', '[{"name": "a"}]', '[]', t.staging()) as j \gset
select t.take(), t.over(:j), t.over(:j), t.over(:j) \g /dev/null
select is(t.over(:j, 0, null, false, E'A=1\n2=x\n'), 'failed', 'variables that are none');
select is((select message from rota.staging where job_id = :j), 'burst_buffer.lua: paths: line 2 of the path file is not NAME=value', 'name the line');

-- More variables than a launch request can carry.
select t.submit('alice', '[{"name": "a"}]', '[]', t.staging()) as j \gset
select t.take(), t.over(:j), t.over(:j), t.over(:j) \g /dev/null
select is(t.over(:j, 0, null, false, 'A=' || repeat('x', 32768)), 'failed', 'variables that are too large');
select is((select message from rota.staging where job_id = :j), 'burst_buffer.lua: paths: the path file has 32770 bytes; at most 32768 are allowed', 'name the bytes');
select t.right('variables that are too large');

-- A report names a call twice: the function has ended, and was no longer wanted.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[{"step": "b", "peer": "a"}]', t.staging()) as j \gset
select t.place(:j), t.open(:j) as call \gset
select api.staging_report((select term from rota.leader where name = 'hook'), array[:call, :call], '{0,null}', '{f,f}', '{1,null}', '{null,"not wanted"}', '{null,null}', '{null,null}', 15, false) \g /dev/null
select is(t.where(:j), 'running', 'reported twice: it ends once');
select is((select array_agg(deps_waiting order by step_id) from rota.step where job_id = :j), '{0,1}', 'and no step waits for its data');
select t.right('reported twice');

-- pre_run fails: the step is queued again, then held.
select t.submit('alice', '[{"name": "a"}]', '[]', t.staging()) as j \gset
select is(t.place(:j), 'pre_run:pre_run', 'pre_run');
select is(t.over(:j, -1, 'no'), 'pending:job_teardown', 'a failure of it: teardown');
select is((select concat_ws(' ', state, requeues, deps_waiting, cause, message) from t.step(:'j' || '.a')), 'pending 1 1 burst_buffer burst_buffer.lua: pre_run: no', 'queued again, behind its data');
select is((select count(*) from rota.node_order where job_id = :j) + (select count(*) from rota.hook_pending where job_id = :j), 0::bigint, 'nothing is left of the attempt');
select t.right('pre_run failed');
select t.over(:j), t.later() \g /dev/null
select is(t.place(:j), 'pre_run:pre_run', 'again');
select t.over(:j, -1, 'no') \g /dev/null
select is((select held || ': ' || held_reason from t.step(:'j' || '.a')), 'system: pre_run of burst_buffer.lua failed too often', 'held');
select t.right('pre_run failed again');
select t.over(:j) \g /dev/null

-- Cancelled in pre_run.
select t.submit('alice', '[{"name": "a"}]', '[]', t.staging()) as j \gset
select t.place(:j) \g /dev/null
select t.act('cancel', 'alice', :'j') \g /dev/null
select is(t.take(array[t.open(:j)], true), :'j' || ':pre_run-', 'cancelled in pre_run: not wanted');
select is(t.over(:j, null, 'was killed'), 'teardown:job_teardown', 'teardown');
select is(t.job(:j), 'cancelled', 'the job is cancelled');
select is((select hurry from rota.staging_call where call_id = t.open(:j)), true, 'in a hurry');
select t.right('cancelled in pre_run');
select t.over(:j) \g /dev/null

-- A stage-out that fails stays failed until a user continues or cancels the job.
select t.submit('alice', '[{"name": "a"}]', '[]', t.staging()) as j \gset
select is(t.ran(:j), 'post_run:post_run', 'post_run');
select is(t.over(:j, -1, 'no'), 'post_run', 'a failure: it stays');
select is(t.take(), null, 'no call');
select throws_ok(format($$select api.hook_admin(%s, 'bob', '{"action": "retry", "job": %s}')$$, t.uid('bob'), :j), 'RT403', null, 'a user may not');
select is(api.hook_admin(0, 'root', jsonb_build_object('action', 'retry', 'job', :j)) #>> '{hooks,0,state}', 'post_run', 'an operator tries again');
select is(t.where(:j), 'post_run:post_run', 'from post_run');
select throws_ok(format($$select api.hook_admin(0, 'root', '{"action": "retry", "job": %s}')$$, :j), 'RT409', null, 'nothing has failed now');
select t.over(:j) \g /dev/null
select is(t.over(:j, -1, 'no'), 'staging_out', 'data_out fails');
select t.act('cancel', 'alice', :'j') \g /dev/null
select is(t.where(:j), 'staging_out', 'cancel changes nothing');
select t.act('cancel', 'alice', :'j', '{"hurry": true}') \g /dev/null
select is(t.where(:j), 'teardown:job_teardown!', 'in a hurry it is over');
select is(t.job(:j), 'completed', 'the job stays completed');
select t.over(:j) \g /dev/null
select t.submit('alice', '[{"name": "a"}]', '[]', t.staging()) as j \gset
select t.ran(:j) \g /dev/null
select is(t.over(:j, -1, 'no', false, null, true), 'teardown:job_teardown', 'teardown_failure: a teardown at once');
select is((select hurry from rota.staging where job_id = :j), false, 'not in a hurry');
select t.over(:j) \g /dev/null

-- The runnerd is gone: the calls that it ran are interrupted.
select t.submit('alice', '[{"name": "a"}]', '[]', t.staging()) as j \gset
select is(t.take(), :'j' || ':setup', 'setup runs');
select is(t.take('{}'), :'j' || ':job_teardown!', 'interrupted: a teardown');
select t.over(:j) \g /dev/null
select is(t.take(), :'j' || ':setup', 'and setup again');
select t.over(:j), t.over(:j), t.over(:j), t.over(:j, 0, null, false, '') \g /dev/null
select is(t.where(:j), 'staged', 'staged: nothing to interrupt');
select t.start(:'j' || '.a', '{1}', '{"staging": true}'), t.take() \g /dev/null
select is(t.take('{}'), :'j' || ':pre_run', 'pre_run again');
select t.over(:j), t.run(:'j' || '.a'), t.finish(:'j' || '.a'), t.take(), t.over(:j), t.take() \g /dev/null
select is(t.take('{}'), :'j' || ':post_run', 'data_out: again from post_run');
select t.over(:j), t.over(:j), t.over(:j), t.take() \g /dev/null
select is(t.take('{}'), :'j' || ':job_teardown', 'teardown again, not in a hurry');
select t.over(:j) \g /dev/null

-- The job is queued again.
select t.act('requeue', 'alice', :'j') \g /dev/null
select is(t.where(:j), 'pending', 'requeued: pending');
select is((t.step(:'j' || '.a')).deps_waiting, 1, 'its steps wait again');
select t.right('requeued');
select is(t.take(), :'j' || ':setup', 'and it is staged in again');

-- afterburstbuffer: a job waits for the teardown of another one.
create function t.after(p_job bigint, p_condition text default 'teardown') returns bigint language sql as $$
	select t.submit('bob', '[{"name": "a"}]', jsonb_build_array(jsonb_build_object('step', 'a', 'job', p_job, 'condition', p_condition))) $$;
create function t.waits(p_job bigint) returns text language sql as $$
	select string_agg(e.state, ' ' order by e.peer_job_id) || ' ' || (t.step(p_job || '.a')).deps_waiting from rota.step_edge e where e.job_id = p_job $$;
create function t.why(p_job bigint) returns text language sql as $$ select api.job_why(t.uid('bob'), 'bob', t.request(p_job::text)) #>> '{steps,0,conditions,0,message}' $$;
select t.submit('alice', '[{"name": "a"}]', '[]', t.staging()) as k \gset
select t.after(:k) as d, t.after(:k, 'any') as y \gset
select is(t.why(:d), format('waits for job %s to end, and for its data to be torn down (pending, pending)', :k), 'it waits, and why says for what');
select is(t.ran(:k), 'post_run:post_run', 'the other job has ended');
select is(t.waits(:y), 'met 0', 'which is all that afterany waits for');
select is(t.waits(:d), 'waiting 1', 'but not its data');
select t.after(:k) as l \gset
select is(t.waits(:l), 'waiting 1', 'nor does a job that is submitted now begin');
select is(t.over(:k, -1, 'secret'), 'post_run', 'its stage-out fails');
select is(t.why(:d), format('waits for job %1$s to end, and for its data to be torn down (completed, post_run, which failed: "rota continue %1$s" or "rota cancel --hurry %1$s" ends that)', :k), 'why says so, and not how');
select t.act('cancel', 'alice', :'k', '{"hurry": true}') \g /dev/null
select t.take() \g /dev/null
select is(t.over(:k, -1, 'no'), 'teardown:job_teardown', 'a try of the teardown fails');
select is(t.waits(:d), 'waiting 1', 'it still waits');
select t.over(:k, -1, 'no') \g /dev/null
select is(t.over(:k, -1, 'no'), 'complete', 'the last try fails, and that is the end of it');
select is(t.waits(:d) || ', ' || t.waits(:l), 'met 0, met 0', 'the jobs wait no more');
select t.right('teardown was waited for');
select is(t.waits(t.after(:k)), 'met 0', 'who comes later does not wait');
select t.pass(:'d' || '.a'), t.act('requeue', 'alice', :'k'), t.act('requeue', 'bob', :'d') \g /dev/null
select is(t.waits(:d), 'waiting 1', 'both run again: it waits again');
select t.act('cancel', 'alice', :'k') \g /dev/null
select is(t.where(:k) || ' ' || t.waits(:d), 'complete met 0', 'cancelled before setup: no teardown to wait for');
select t.submit('alice', '[{"name": "a"}]') as p \gset
select t.after(:p) as d \gset
select is(t.waits(:d), 'waiting 1', 'a job without directives');
select t.act('cancel', 'alice', :'p') \g /dev/null
select is(t.waits(:d), 'met 0', 'is waited for as by afterany');
select t.submit('alice', '[{"name": "a", "hold": true}]', '[]', t.staging()) as k \gset
select t.submit('alice', '[{"name": "a", "hold": true}]') as p \gset
select t.submit('bob', '[{"name": "a", "deps_any": true}]', format('[{"step": "a", "job": %s, "condition": "teardown"}, {"step": "a", "job": %s}]', :k, :p)::jsonb) as d \gset
select t.act('cancel', 'alice', :'p') \g /dev/null
select is(t.waits(:d), 'waiting failed 1', 'one of two is enough: the other can no longer be met');
select t.act('cancel', 'alice', :'k') \g /dev/null
select is(t.waits(:d), 'met failed 0', 'this one is');
select t.right('afterburstbuffer');
select throws_ok(format($$insert into rota.step_edge (job_id, step_id, edge, kind, peer_job_id, peer_step_id, condition, topo) values (%s, 0, 9, 'after', %s, 0, 'teardown', 0)$$, :d, :k), '23514', null, 'it is for whole jobs alone');

-- The transitions, and the roles that may make them.
select is(internal.staging_move(:j, 'post_run'), null, 'a move that there is not means nothing');
select throws_ok($$update rota.staging set state = 'complete'$$, '23514', null, 'complete has a time');
select throws_ok(format($$insert into rota.staging_call (job_id, function) values (%s, 'setup')$$, :j), '23505', null, 'two calls at a time are refused');
select throws_ok($$select api.staging_take(0, '{}', 1, false)$$, 'RT412', null, 'another runnerd leads');
select throws_ok($$select api.staging_report(0, '{}', '{}', '{}', '{}', '{}', '{}', '{}', 1, false)$$, 'RT412', null, 'nor may it report');
select is((select count(*) from rota.staging_transition t where not exists (select from rota.staging_transition o where o.to_state = t.from_state) and t.from_state <> 'pending'), 0::bigint, 'every state is reached');

-- Rows of staging in schema acct, as users of each role see them.
create role alice in role rota_reader;
create role dora in role rota_analyst;
create role adam in role rota_admin;
create function t.seen(p_user text) returns text language plpgsql as $$
declare
	v_seen text;
begin
	execute format('set local role %I', p_user);
	select concat_ws(' ', count(distinct g.job_id), bool_or(g.directives is not null), bool_or(g.message is not null), bool_or(c.message is not null)) into v_seen
	from acct.staging g join acct.staging_call c on c.job_id = g.job_id;
	reset role;
	return v_seen;
end $$;
grant usage on schema t to public;
select count(distinct job_id) as n from rota.staging_call \gset
select is(t.seen('alice'), :'n' || ' t t t', 'the owner reads directives and messages');
select is(t.seen('adam'), :'n' || ' t t t', 'an administrator as well');
select is(t.seen('dora'), :'n' || ' f f f', 'an analyst neither');
select * from finish();
rollback;
