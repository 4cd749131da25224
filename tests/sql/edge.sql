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
select is(t.states(:j), 'a:completed ok:pending any:pending fail:skipped start:pending', 'after success: fail is not needed');
select is(t.pending(), format('%1$s.ok %1$s.any %1$s.start', :j), 'after success: ok, any and start may go');
select is((t.step(:'j' || '.fail')).message, 'not needed: ' || :'j' || '.a did not fail', 'the cause is said');
select is((t.step(:'j' || '.fail')).cause, 'not_needed', 'and named');
select t.right('success');
select t.pass(:'j' || '.' || s) from unnest('{ok,any,start}'::text[]) s \g /dev/null
select is(t.job(:j), 'completed', 'a skipped step is no failure of its job');
select is((select exit_code from rota.job where job_id = :j), 0, 'nor is the exit code one');

select t.fan() as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.fail(:'j' || '.a', 3) \g /dev/null
select is(t.states(:j), 'a:failed ok:dependency_failed any:pending fail:pending start:pending', 'after a failure: ok can never be met');
select is((t.step(:'j' || '.ok')).message, 'can no longer be met: ' || :'j' || '.a ended failed', 'and why is said');
select is((select exit_code from rota.step where job_id = :j and step_id = 0), 3, 'exit code');
select t.right('failure');

select t.fan() as j \gset
select is(api.job_cancel(t.uid('alice'), 'alice', t.request(:'j' || '.a')) #>> '{steps,0,action}', 'cancelled', 'cancel a pending step');
select is(t.states(:j), 'a:cancelled ok:dependency_failed any:pending fail:pending start:dependency_failed', 'cancelled before its start: any and fail are met, start is not');
select is((t.step(:'j' || '.start')).message, 'can no longer be met: ' || :'j' || '.a never started', 'start: in words');
select t.right('cancel before start');

-- A chain of dependents fails as a whole, at once.
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
-- Two steps end in one report.
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

-- Dependencies on another job: on a step, on the whole job, on a job that ended long ago.
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
select throws_like($$select t.submit('bob', '[{"name": "x"}]', '[{"step": "x", "job": 999999}]', '{"written": {"1": {"after": "-d"}}}')$$,
	'test.sh:1: -d: there is no job 999999', 'the option is named as it was written');
select throws_like($$select t.submit('bob', '[{"name": "x"}]', '[{"step": "x", "job": 999999}]', '{"written": {"2": {"after": "-d"}}}')$$,
	'test.sh:1: --after: there is no job 999999', 'on that line');
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

-- Only the final attempt counts: an attempt that is retried neither meets a dependency nor makes it fail.
select t.submit('alice', '[{"name": "a", "retry": 1}, {"name": "b"}, {"name": "c"}]', '[{"step": "b", "peer": "a"}, {"step": "c", "peer": "a", "condition": "fail"}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.fail(:'j' || '.a') \g /dev/null
select is(t.states(:j), 'a:pending b:pending c:pending', 'a step that is retried has not ended');
select t.later() \g /dev/null
select t.pass(:'j' || '.a') \g /dev/null
select is(t.states(:j), 'a:completed b:pending c:skipped', 'its last attempt decides');
select is((t.step(:'j' || '.b')).deps_waiting, 0, 'the one behind may go');
select t.right('retry');
-- Skipped: the whole branch of an error handler, whatever kind its edges are; steps that wait for any end go on.
select t.submit('alice', '[{"name": "a"}, {"name": "h"}, {"name": "ok"}, {"name": "fail"}, {"name": "start"}, {"name": "any"}, {"name": "near"}, {"name": "far"}, {"name": "with"},
	{"name": "r", "array": {"indices": [[0,1,1]], "size": 2}}, {"name": "s", "array": {"indices": [[0,1,1]], "size": 2}}]',
	'[{"step": "h", "peer": "a", "condition": "fail"}, {"step": "ok", "peer": "h"}, {"step": "fail", "peer": "h", "condition": "fail"}, {"step": "start", "peer": "h", "condition": "start"},
	{"step": "any", "peer": "h", "condition": "any"}, {"step": "near", "peer": "h", "kind": "same_nodes"}, {"step": "far", "peer": "h", "kind": "other_nodes"},
	{"step": "with", "peer": "h", "kind": "with"}, {"step": "r", "peer": "h"}, {"step": "s", "peer": "r", "condition": "corr"}]') as j \gset
select t.pass(:'j' || '.a') \g /dev/null
select is(t.states(:j), 'a:completed h:skipped ok:skipped fail:skipped start:skipped any:pending near:skipped far:pending with:skipped r:skipped s:skipped', 'a handler that is not needed, and its branch');
select is((select array_agg(distinct s.message order by s.message) from rota.step s where s.job_id = :j and s.state = 'skipped'),
	array[format('not needed: %s.a did not fail', :j), format('not needed: %s.h was skipped', :j), format('not needed: %s.r was skipped', :j)], 'each says why');
select is((select array_agg(distinct s.cause) from rota.step s where s.job_id = :j and s.state = 'skipped'), '{not_needed}', 'with one cause');
select t.pass(:'j' || '.any'), t.pass(:'j' || '.far') \g /dev/null
select is(t.job(:j), 'completed', 'the job is completed');
select t.right('skipped');
-- A job of which all steps are skipped is skipped, as are its dependents, now and later; a step with a failed condition fails.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as p \gset
select t.submit('bob', '[{"name": "h"}]', format('[{"step": "h", "job": %s, "peer": "a", "condition": "fail"}]', :p)::jsonb) as h \gset
select t.submit('bob', '[{"name": "x"}, {"name": "y", "deps_any": true}, {"name": "z", "deps_any": true}]', format('[{"step": "x", "job": %2$s}, {"step": "y", "job": %2$s}, {"step": "y", "job": %1$s, "peer": "b"},
	{"step": "z", "job": %2$s}, {"step": "z", "job": %1$s, "peer": "a", "condition": "fail"}]', :p, :h)::jsonb) as j \gset
select t.pass(:'p' || '.a') \g /dev/null
select is(t.job(:h) || ' ' || t.states(:j), 'skipped x:skipped y:pending z:skipped', 'across jobs: not needed');
select is((t.step(:'j' || '.x')).message, format('not needed: job %s was skipped', :h), 'a whole job, in words');
select t.start(:'p' || '.b'), t.run(:'p' || '.b'), t.fail(:'p' || '.b') \g /dev/null
select is(t.states(:j), 'x:skipped y:dependency_failed z:skipped', '?: one that failed and one that is not needed make a failure');
select is(t.job(:j), 'dependency_failed', 'of the job, too');
select t.submit('bob', '[{"name": "ok"}, {"name": "any"}, {"name": "fail"}, {"name": "a"}]', format('[{"step": "ok", "job": %2$s}, {"step": "any", "job": %2$s, "condition": "any"},
	{"step": "fail", "job": %2$s, "condition": "fail"}, {"step": "a", "job": %1$s, "peer": "a", "condition": "fail"}]', :p, :h)::jsonb) as j \gset
select is(t.states(:j), 'ok:skipped any:pending fail:skipped a:skipped', 'history decides so, too');
select is(api.job_queue(t.uid('bob'), 'bob', '{"all": true}')::jsonb @> format('{"jobs": [{"job_id": %s, "state": "skipped", "reason": "not_needed", "steps_failed": 0}]}', :h)::jsonb, true, 'the queue lists it as no failure');
select is((select array_agg(state order by state) from acct.sacct where jobid = :h::text), '{CANCELLED}', 'Slurm''s word for it');
select t.right('skipped across jobs');
-- A node finds a step up to date (--if-changed): dependents of its success go on, dependents of its failure are skipped.
select t.submit('alice', '[{"name": "a", "retry": 2}, {"name": "ok"}, {"name": "any"}, {"name": "fail"}, {"name": "start"}, {"name": "near"},
	{"name": "r", "array": {"indices": [[0,1,1]], "size": 2}}, {"name": "s", "array": {"indices": [[0,1,1]], "size": 2}}]',
	'[{"step": "ok", "peer": "a"}, {"step": "any", "peer": "a", "condition": "any"}, {"step": "fail", "peer": "a", "condition": "fail"}, {"step": "start", "peer": "a", "condition": "start"},
	{"step": "near", "peer": "a"}, {"step": "near", "peer": "a", "kind": "same_nodes"}, {"step": "r", "peer": "a"}, {"step": "s", "peer": "r", "condition": "corr"}]') as j \gset
create function t.fresh(p_label text) returns int language sql as $$
	select t.report(t.say(p_label, 'used'), t.say(p_label, 'keeper'), t.say(p_label, 'done', '{"exit": -1, "outcome": "skip", "cause": "up_to_date", "message": "out.txt is newer than in.txt"}'), t.say(p_label, 'end')) $$;
select t.start(:'j' || '.a', '{2}'), t.fresh(:'j' || '.a') \g /dev/null
select is(t.states(:j), 'a:skipped ok:pending any:pending fail:skipped start:pending near:pending r:pending s:pending', 'up to date: a success');
select is((t.step(:'j' || '.a')).message, 'out.txt is newer than in.txt', 'the node says why');
select is((select state || ' ' || cause from rota.attempt where job_id = :j), 'skipped up_to_date', 'so does its attempt');
select t.pass(:'j' || '.' || s) from unnest('{ok,any,start}'::text[]) s \g /dev/null
select t.pass(:'j' || '.near', '{2}') \g /dev/null
select t.start(:'j' || '.r', '{1}', '{"position": 0}'), t.fresh(:'j' || '.r[0]'), t.pass(:'j' || '.r', '{1}', '{"position": 1}') \g /dev/null
select is(t.state(:'j' || '.r'), 'completed', 'an array with one element up to date');
select is((select array[a.completed, a.failed] from rota.step_array a join rota.step_request r using (job_id, step_id) where job_id = :j and r.name = 'r'), '{2,0}', 'counts it as done');
select alike(t.pending(), format('%%%1$s.s[0] %1$s.s[1]', :j), 'corr: what corresponds to it may go');
select t.pass(:'j' || '.s[0]'), t.start(:'j' || '.s[1]'), t.fresh(:'j' || '.s[1]') \g /dev/null
select is(t.job(:j), 'completed', 'the job is completed');
select is((select count(*) from acct.failure where job_id = :j), 0::bigint, 'nothing of it is a failure');
select t.right('up to date');
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[{"step": "b", "peer": "a"}]') as p \gset
select t.start(:'p' || '.a'), t.fresh(:'p' || '.a'), t.start(:'p' || '.b'), t.fresh(:'p' || '.b') \g /dev/null
select is((select state || ' ' || cause from rota.job where job_id = :p), 'skipped up_to_date', 'a job of which all was up to date');
select t.submit('alice', '[{"name": "ok"}, {"name": "fail"}]', format('[{"step": "ok", "job": %1$s}, {"step": "fail", "job": %1$s, "condition": "fail"}]', :p)::jsonb) as j \gset
select is(t.states(:j), 'ok:pending fail:skipped', 'is a success to other jobs');
select t.right('up to date, other jobs');
-- eligible_at does not change when more dependencies are met: neither of a step that needed only one, nor of a step that has
-- ended.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c", "deps_any": true}, {"name": "d"}]', '[{"step": "c", "peer": "a"}, {"step": "c", "peer": "b"}, {"step": "d", "peer": "b"}]') as j \gset
select t.pass(:'j' || '.a'), t.pass(:'j' || '.c'), api.job_cancel(0, 'root', t.request(:'j' || '.d')) \g /dev/null
update rota.step set eligible_at = '2026-01-01' where job_id = :j and eligible_at is not null;
select t.pass(:'j' || '.b') \g /dev/null
select is((t.step(:'j' || '.c')).eligible_at, '2026-01-01'::timestamptz, 'eligible since the first was met');
select is((t.step(:'j' || '.d')).eligible_at, null, 'what was taken back never was');
select t.right('late edges');
select * from finish();
rollback;
