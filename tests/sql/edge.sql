-- Dependencies: every condition, met and never to be met, within a job and across jobs, joined by "," and by "?".
begin;
\ir world.psql
select * from no_plan();

-- ok, any, fail and start on a step that completes, and on one that fails.
create function t.fan(p_any boolean default false) returns bigint language sql as $$
	select t.submit('alice', '[{"name": "a"}, {"name": "ok"}, {"name": "any"}, {"name": "fail"}, {"name": "start"}]',
		'[{"step": "ok", "peer": "a"}, {"step": "any", "peer": "a", "condition": "any"}, {"step": "fail", "peer": "a", "condition": "fail"},
		{"step": "start", "peer": "a", "condition": "start"}]');
$$;
select t.fan() as j \gset
select is(t.pending(), :'j' || '.a', 'only what waits for nothing is offered');
select t.start(:'j' || '.a') \g /dev/null
select is(t.pending(), null, 'a placed step has not started yet');
select t.run(:'j' || '.a') \g /dev/null
select is(t.pending(), :'j' || '.start', 'start: met when the first task runs');
select t.finish(:'j' || '.a') \g /dev/null
select is(t.states(:j), 'a:completed ok:pending any:pending fail:dependency_failed start:pending', 'after success: fail can never be met');
select is(t.pending(), format('%1$s.ok %1$s.any %1$s.start', :j), 'after success: ok, any and start may go');
select is((t.step(:'j' || '.fail')).message, 'can no longer be met: fail of ' || :'j' || '.a', 'the cause is said');
select is((t.step(:'j' || '.fail')).cause, 'dependency', 'and named');
select t.right('success');
select t.pass(:'j' || '.' || s) from unnest('{ok,any,start}'::text[]) s \g /dev/null
select is(t.job(:j), 'dependency_failed', 'the job ends with its last step, in the worst state');

select t.fan() as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.fail(:'j' || '.a', 3) \g /dev/null
select is(t.states(:j), 'a:failed ok:dependency_failed any:pending fail:pending start:pending', 'after a failure: ok can never be met');
select is((select exit_code from rota.step where job_id = :j and step_id = 0), 3, 'exit code');
select t.right('failure');

select t.fan() as j \gset
select is(api.job_cancel(t.uid('alice'), 'alice', t.request(:'j' || '.a')) #>> '{steps,0,action}', 'cancelled', 'cancel a pending step');
select is(t.states(:j), 'a:cancelled ok:dependency_failed any:pending fail:pending start:dependency_failed', 'cancelled before its start: any and fail are met, start is not');
select t.right('cancel before start');

-- A chain falls as a whole, at once.
select t.submit('alice', (select jsonb_agg(jsonb_build_object('name', 's' || i)) from generate_series(0, 49) i),
	(select jsonb_agg(jsonb_build_object('step', 's' || i, 'peer', 's' || i - 1)) from generate_series(1, 49) i)) as j \gset
select t.start(:'j' || '.s0'), t.run(:'j' || '.s0'), t.fail(:'j' || '.s0') \g /dev/null
select is((select count(*) from rota.step where job_id = :j and state = 'dependency_failed'), 49::bigint, 'a chain of 49 falls in one transaction');
select is(t.job(:j), 'failed', 'the worst state decides');
select t.right('chain');

-- "," all: one failure is enough. "?" any: one success is enough.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "all"}, {"name": "one", "deps_any": true}]',
	'[{"step": "all", "peer": "a"}, {"step": "all", "peer": "b"}, {"step": "one", "peer": "a"}, {"step": "one", "peer": "b"}]') as j \gset
select is((select array_agg(deps_waiting order by step_id) from rota.step where job_id = :j), '{0,0,2,1}', 'dependencies counted');
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.fail(:'j' || '.a') \g /dev/null
select is(t.states(:j), 'a:failed b:pending all:dependency_failed one:pending', 'one failure: all falls, any still may be met');
select t.right('? one failed');
select t.pass(:'j' || '.b') \g /dev/null
select is((select deps_waiting from rota.step where job_id = :j and step_id = 3), 0, 'any: met by the second');
select t.right('? met');

select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "one", "deps_any": true}]',
	'[{"step": "one", "peer": "a"}, {"step": "one", "peer": "b"}, {"step": "one", "peer": "c"}]') as j \gset
select t.commit(t.decision(:'j' || '.a'), t.decision(:'j' || '.b'), t.decision(:'j' || '.c')) \g /dev/null
select t.run(:'j' || '.a'), t.run(:'j' || '.b'), t.run(:'j' || '.c') \g /dev/null
-- Two ends in one report.
select t.report(t.say(:'j' || '.a', 'done'), t.say(:'j' || '.a', 'end'), t.say(:'j' || '.b', 'done'), t.say(:'j' || '.b', 'end')) \g /dev/null
select is((t.step(:'j' || '.one')).deps_waiting, 0, 'any: two met at once count once');
select t.fail(:'j' || '.c') \g /dev/null
select is(t.state(:'j' || '.one'), 'pending', 'any: a failure after that changes nothing');
select t.right('? twice');

select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "one", "deps_any": true}]', '[{"step": "one", "peer": "a"}, {"step": "one", "peer": "b"}]') as j \gset
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j' || '.a')) \g /dev/null
select is(t.state(:'j' || '.one'), 'pending', 'any: the last one may still');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j' || '.b')) \g /dev/null
select is(t.state(:'j' || '.one'), 'dependency_failed', 'any: none may');
select is(t.job(:j), 'cancelled', 'and the job is over');
select t.right('? none');

-- Across jobs: on a step, on a whole job, on what has ended long ago.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as p \gset
select t.submit('bob', '[{"name": "x"}, {"name": "y"}, {"name": "z"}]', format('[{"step": "x", "job": %1$s, "peer": "a"}, {"step": "y", "job": %1$s, "condition": "any"},
	{"step": "z", "job": %1$s, "condition": "start"}]', :p)::jsonb) as j \gset
select is((select array_agg(deps_waiting order by step_id) from rota.step where job_id = :j), '{1,1,1}', 'across jobs: all wait');
select t.start(:'p' || '.a') \g /dev/null
select t.run(:'p' || '.a') \g /dev/null
select t.finish(:'p' || '.a') \g /dev/null
select is((t.step(:'j' || '.x')).deps_waiting, 0, 'a step of another job has completed');
select is((t.step(:'j' || '.y')).deps_waiting, 1, 'the other job has not ended');
select t.start(:'p' || '.b'), t.run(:'p' || '.b'), t.fail(:'p' || '.b') \g /dev/null
select is((t.step(:'j' || '.y')).deps_waiting, 0, 'any of a whole job: when its last step ended');
select t.right('across jobs');
select t.submit('bob', '[{"name": "ok"}, {"name": "any"}, {"name": "fail"}, {"name": "start"}, {"name": "a"}, {"name": "b"}]',
	(select jsonb_agg(jsonb_build_object('step', c, 'job', :p, 'condition', c)) from unnest('{ok,any,fail,start}'::text[]) c)
	|| jsonb_build_array(jsonb_build_object('step', 'a', 'job', :p, 'peer', 'a'), jsonb_build_object('step', 'b', 'job', :p, 'peer', 'b'))) as j \gset
select is(t.states(:j), 'ok:dependency_failed any:pending fail:pending start:pending a:pending b:dependency_failed', 'history decides at submission');
select is((select array_agg(s.deps_waiting) from rota.step s where s.job_id = :j and s.state = 'pending'), '{0,0,0,0}', 'and nothing is left to wait for');
select t.right('history');
select throws_like(format($$select t.submit('bob', '[{"name": "x"}]', '[{"step": "x", "job": %s, "peer": "nix"}]')$$, :p), '%--after: job ' || :p || ' has no step "nix"%', 'an unknown step of another job');
select throws_like($$select t.submit('bob', '[{"name": "x"}]', '[{"step": "x", "job": 999999}]')$$, '%there is no job 999999', 'an unknown job');
-- The number that the job itself is about to get names none.
create function t.next_job() returns bigint language sql as $$ select nextval(pg_get_serial_sequence('rota.job', 'job_id')) + 1 $$;
select throws_like($$select t.submit('bob', '[{"name": "x"}]', jsonb_build_array(jsonb_build_object('step', 'x', 'job', t.next_job())))$$, 'test.sh:1: --after: there is no job %', 'its own number');
select throws_like($$select t.submit('bob', '[{"name": "x"}]', jsonb_build_array(jsonb_build_object('step', 'x', 'job', t.next_job(), 'peer', 'x')))$$, 'test.sh:1: --after: there is no job %', 'a step of its own number');
select throws_like($$select api.job_submit_list(t.uid('bob'), 100, 'bob', jsonb_build_array(t.plan('[{"name": "x"}]', jsonb_build_array(jsonb_build_object('step', 'x', 'job', t.next_job())), '{}')),
	'{#!/bin/sh}', '{A=b}')$$, 'jobs[0]: test.sh:1: --after: there is no job %', 'nor in a list');

-- "start" of a whole job is met when its first step runs.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as p \gset
select t.submit('bob', '[{"name": "z"}]', format('[{"step": "z", "job": %s, "condition": "start"}]', :p)::jsonb) as j \gset
select t.start(:'p' || '.a'), t.run(:'p' || '.a') \g /dev/null
select is((t.step(:'j' || '.z')).deps_waiting, 0, 'start of a whole job: met by its first step');
select t.right('start of a job');

-- The final attempt counts: a retry in between releases nobody and fails nobody.
select t.submit('alice', '[{"name": "a", "retry": 1}, {"name": "b"}, {"name": "c"}]', '[{"step": "b", "peer": "a"}, {"step": "c", "peer": "a", "condition": "fail"}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.fail(:'j' || '.a') \g /dev/null
select is(t.states(:j), 'a:pending b:pending c:pending', 'a step that is retried has not ended');
select t.later() \g /dev/null
select t.pass(:'j' || '.a') \g /dev/null
select is(t.states(:j), 'a:completed b:pending c:dependency_failed', 'its last attempt decides');
select is((t.step(:'j' || '.b')).deps_waiting, 0, 'the one behind may go');
select t.right('retry');
-- A step is eligible once: what is met later changes nothing, be it that one of several was enough, or that the step has ended.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c", "deps_any": true}, {"name": "d"}]', '[{"step": "c", "peer": "a"}, {"step": "c", "peer": "b"}, {"step": "d", "peer": "b"}]') as j \gset
select t.pass(:'j' || '.a'), t.pass(:'j' || '.c'), api.job_cancel(0, 'root', t.request(:'j' || '.d')) \g /dev/null
update rota.step set eligible_at = '2026-01-01' where job_id = :j and eligible_at is not null;
select t.pass(:'j' || '.b') \g /dev/null
select is((t.step(:'j' || '.c')).eligible_at, '2026-01-01'::timestamptz, 'eligible since the first was met');
select is((t.step(:'j' || '.d')).eligible_at, null, 'what was taken back never was');
select t.right('late edges');
select * from finish();
rollback;
