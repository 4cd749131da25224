-- Checkpoints: who may ask for one and its effects, which reports count, the generation from which attempts start, and which are
-- kept.
begin;
\ir world.psql
select * from no_plan();
create function t.job_with(p_user text, p_how jsonb default '{"driver": "app", "keep": 2}', p_more jsonb default '{}') returns bigint language sql as $$
	select t.submit(p_user, jsonb_build_array('{"name": "a"}'::jsonb || jsonb_build_object('checkpoint', p_how) || p_more)) $$;
create function t.ask(p_label text, p_then text default 'continue', p_reason text default 'user', p_by text default 'alice') returns int language sql as $$
	select internal.checkpoint_ask(s.job_id, s.step_id, p_reason, p_by, null, p_then) from t.step(p_label) s $$;
-- A report of rota-checkpoint from the latest attempt of a step.
create function t.says(p_label text, p_action text, p_more jsonb default '{}', p_user text default 'alice') returns jsonb language sql as $$
	select api.checkpoint_report(t.uid(p_user), p_user, jsonb_build_object('job', s.job_id, 'step_id', s.step_id, 'attempt', s.attempt, 'node', 'n1', 'action', p_action)
		|| case when p_action = 'complete' then jsonb_build_object('path', '/home/x/1', 'files', jsonb_build_array(
			jsonb_build_object('name', 'state', 'bytes', 1048576, 'sha256', repeat('ab', 32)))) else '{}' end || p_more) from t.step(p_label) s $$;
create function t.save(p_label text, p_more jsonb default '{}') returns jsonb language sql as $$
	select t.says(p_label, 'complete', t.says(p_label, 'take') || p_more) $$;
create function t.refused(p_sql text) returns text language plpgsql as $$
begin
	execute p_sql;
	return 'accepted';
exception when sqlstate 'RT403' or sqlstate 'RT404' or sqlstate 'RT409' or sqlstate 'RT422' then
	return sqlstate;
end $$;
create function t.rows(p_job bigint) returns text language sql as $$
	select string_agg(concat_ws(' ', generation, state, reason, then_do), ', ' order by generation) from rota.checkpoint where job_id = p_job $$;
create function t.late() returns void language sql as $$
	update rota.checkpoint set deadline_at = now() - interval '1 hour' where state in ('asked', 'taking');
	select api.schedule_tick(t.term()) $$;
create function t.begun(p_label text) returns text language sql as $$ select t.start(p_label) || ' ' || t.run(p_label) $$;

-- Which steps can be asked for a checkpoint
select t.submit('alice', '[{"name": "a"}]') as none, t.job_with('alice') as j \gset
select is((select string_agg(internal.checkpoint_refusal(s), ', ' order by s.job_id) from rota.step s), 'it is not running (pending), it is not running (pending)', 'a step that waits has no state to save');
select t.begun(:'none' || '.a'), t.begun(:'j' || '.a') \g /dev/null
select is(internal.checkpoint_refusal(t.step(:'none' || '.a')), 'it was not submitted with --checkpoint', 'a step without the option');
select is(t.ask(:'none' || '.a'), null, 'cannot be asked');
select is(t.ask(:'j' || '.a'), 1, 'the first one');
select is(t.orders(:'j' || '.a'), 'checkpoint@n1', 'its node has the order');
select is((select args from rota.node_order where kind = 'checkpoint'), '{"generation": 1}', 'with the generation');
select is(t.ask(:'j' || '.a', 'requeue', 'preempt', 'scheduler'), 1, 'asked again while it is under way');
select is(t.rows(:j), '1 asked preempt requeue', 'the stronger wish counts');
select is(t.ask(:'j' || '.a'), 1, 'a weaker one');
select is(t.rows(:j), '1 asked preempt requeue', 'changes nothing');
select is((select count(*) from rota.node_order where kind = 'checkpoint'), 1::bigint, 'the program is asked once');

-- When a checkpoint is complete, and the action that follows
select is(t.says(:'j' || '.a', 'take'), '{"generation": 1, "wait_s": 60}', 'the program answers the request');
select is(t.says(:'j' || '.a', 'complete', '{"generation": 1}'), '{"discard": []}', 'it has saved itself');
select is(t.rows(:j), '1 complete preempt requeue', 'which is complete');
select is((select concat_ws(' ', node, path, files, bytes) from rota.checkpoint where job_id = :j), 'n1 /home/x/1 1 1048576', 'with its files');
select is((t.step(:'j' || '.a')).end_wanted, 'requeue', 'the step is to be queued again');
select is(t.orders(:'j' || '.a'), 'checkpoint@n1 kill@n1', 'and ends on its node');
select is(t.says(:'j' || '.a', 'complete', '{"generation": 1}'), '{"discard": []}', 'the same report again is no error');
select t.finish(:'j' || '.a', '{"exit": 0, "signal": 15, "cause": "checkpoint", "outcome": "cancel"}') \g /dev/null
select is(t.state(:'j' || '.a') || (t.step(:'j' || '.a')).requeues, 'pending0', 'it waits, and that counts for nothing, since its work is saved');

-- The generation from which an attempt starts
select t.later(), t.begun(:'j' || '.a') \g /dev/null
select is(t.says(:'j' || '.a', 'begin'), jsonb_build_object('kept', '[1]'::jsonb, 'wait_s', 60, 'generation', 1, 'path', '/home/x/1', 'driver', 'app', 'needs', null, 'files',
	jsonb_build_array(jsonb_build_object('name', 'state', 'bytes', 1048576, 'sha256', repeat('ab', 32)))), 'from the latest');
select is(t.says(:'j' || '.a', 'begin') -> 'generation', '1', 'asked again, the same');
select is(t.says(:'j' || '.a', 'began'), '{}', 'its files are whole');
select is((select concat_ws(' ', state, restores) from rota.checkpoint where job_id = :j), 'restored 1', 'a start from it');
select is(t.says(:'j' || '.a', 'began') || (select jsonb_build_object('n', restores) from rota.checkpoint where job_id = :j), '{"n": 1}', 'which counts once');
select is(t.save(:'j' || '.a') || t.save(:'j' || '.a'), '{"discard": [1]}', 'the third of two that are kept: the first one goes');
select is(t.rows(:j), '1 discarded preempt requeue, 2 complete program continue, 3 complete program continue', 'as its row says');
-- The process dies on its node.
select t.finish(:'j' || '.a', '{"exit": 0, "signal": 9, "cause": "node", "outcome": "node_fail"}'), t.later(), t.begun(:'j' || '.a') \g /dev/null
select is((t.step(:'j' || '.a')).requeues, 1, 'the loss of a node is counted, even after a checkpoint');
select is((select string_agg(f.generation::text, ' ' order by f.generation) from rota.checkpoint_file f where f.job_id = :j), '2 3', 'a checkpoint that is discarded has no files');
select is(t.says(:'j' || '.a', 'begin') -> 'generation', '3', 'from the latest again');
select is(t.says(:'j' || '.a', 'refused', '{"generation": 3, "message": "state: SHA-256 differs"}') -> 'generation', '2', 'that is damaged: from the one before');
select is(t.says(:'j' || '.a', 'refused', '{"generation": 2}') -> 'generation', '0', 'that too: from the beginning');
select is((select string_agg(concat_ws(' ', generation, state, message), ', ' order by generation) from rota.checkpoint where job_id = :j and generation > 1),
	'2 failed its program says no more, 3 failed state: SHA-256 differs', 'with the reason');
select is((select count(*) from rota.checkpoint_file f where f.job_id = :j), 0::bigint, 'and without their files');
update rota.step set requeues = 0 where job_id = :j;

-- Properties that a checkpoint needs of a node, and the driver with which an attempt starts
select t.job_with('alice', '{"driver": "auto", "keep": 9}') as d \gset
select t.begun(:'d' || '.a') \g /dev/null
select is(t.says(:'d' || '.a', 'begin') -> 'generation', '0', 'from the beginning');
select is(t.says(:'d' || '.a', 'began', '{"driver": "dmtcp", "why": "it fits"}'), '{}', 'with the driver that the node chose');
select is((api.job_show(t.uid('alice'), 'alice', jsonb_build_object('jobs', jsonb_build_array(:'d' || '.a'))) #> '{jobs,0,steps,0,checkpointing}'), '{"driver": "dmtcp", "why": "it fits"}', 'which its owner sees');
select is((select string_agg(coalesce(t.save(:'d' || '.a', '{"driver": "dmtcp", "needs": {"kernel": "6.1"}}') ->> 'discard', ''), ' ') from generate_series(1, 2)), '[] []', 'two checkpoints');
select is((select string_agg(concat_ws(' ', generation, needs), ', ' order by generation) from acct.checkpoint where job_id = :d), '1 {"kernel": "6.1"}, 2 {"kernel": "6.1"}', 'the catalogue says what they need');
select is(api.checkpoint_list(t.uid('alice'), 'alice', t.request(:'d', '{"generation": 2}')) #> '{checkpoints,0,needs}', '{"kernel": "6.1"}', 'also of one');
select is(t.refused(format('select t.save(%L, %L)', :'d' || '.a', '{"needs": "6.1"}')), 'RT422', 'needs are an object');

-- Why the files of a checkpoint are one state, and the archive of TMPDIR among them
savepoint kinds;
select t.says(:'d' || '.a', 'take') \g /dev/null
select is((select string_agg(concat_ws(' ', generation, state, consistency), ', ' order by generation) from acct.checkpoint where job_id = :d), '1 complete processes, 2 complete processes, 3 taking',
	'a driver that stops all processes; nothing is said of what is incomplete');
select t.says(:'d' || '.a', 'complete', '{"generation": 3, "driver": "script:copy"}') \g /dev/null
update rota.checkpoint set driver = 'app' where job_id = :d and generation = 1;
update rota.checkpoint set driver = 'criu' where job_id = :d and generation = 2;
select is((select string_agg(concat_ws(' ', driver, consistency), ', ' order by generation) from acct.checkpoint where job_id = :d), 'app program, criu processes, script:copy program', 'each driver');
insert into rota.checkpoint_file (job_id, step_id, generation, name, bytes, sha256) select :d, step_id, 2, '.rota-tmpdir.tar', 10240, decode(repeat('ab', 32), 'hex') from t.step(:'d' || '.a');
select is(api.checkpoint_list(t.uid('alice'), 'alice', t.request(:'d', '{"generation": 2}')) #> '{checkpoints,0}' @> '{"consistency": "processes", "tmpdir_bytes": 10240, "node": "n1"}', true, 'its owner sees both');
select is((select string_agg(coalesce(tmpdir_bytes, 0)::text, ' ' order by generation) from acct.checkpoint where job_id = :d), '0 10240 0', 'as does accounting');
select is((select string_agg(concat_ws(' ', generation, node, name, bytes, left(sha256, 4)), ', ' order by generation, name) from acct.checkpoint_file where job_id = :d),
	'1 n1 state 1048576 abab, 2 n1 .rota-tmpdir.tar 10240 abab, 2 n1 state 1048576 abab, 3 n1 state 1048576 abab', 'which has each file with its node');
set local role rota_analyst;
select is((select string_agg(concat_ws(' ', node, name, bytes, sha256), ', ' order by bytes) from acct.checkpoint_file where job_id = :d and generation = 2), 'n1 10240, n1 1048576', 'other people see sizes alone');
reset role;
rollback to kinds;

select t.finish(:'d' || '.a', '{"exit": 0, "signal": 9, "cause": "node", "outcome": "node_fail"}'), t.later(), t.begun(:'d' || '.a') \g /dev/null
select is(t.says(:'d' || '.a', 'begin') #- '{files}' #- '{path}', '{"kept": [1, 2], "wait_s": 60, "generation": 2, "driver": "dmtcp", "needs": {"kernel": "6.1"}}', 'the next attempt learns them');
select is(t.says(:'d' || '.a', 'unmet', '{"generation": 2, "message": "the checkpoint needs kernel 6.1, and this node has 5.10"}'), '{}', 'its node has no such kernel');
select t.finish(:'d' || '.a', '{"exit": 85, "outcome": "fail"}') \g /dev/null
select is((select y ->> 'message' from internal.why_step(:d, (t.step(:'d' || '.a')).step_id) y where y ->> 'message' like 'attempt %'),
	'attempt 2 could not go on from checkpoint 2 on n1: the checkpoint needs kernel 6.1, and this node has 5.10', 'which is why it waits');
savepoint wide;
update rota.attempt set nodes = array(select 'n' || i from generate_series(1, 100) i) where job_id = :d and attempt = 2;
select is((select y ->> 'message' from internal.why_step(:d, (t.step(:'d' || '.a')).step_id) y where y ->> 'message' like 'attempt %'),
	'attempt 2 could not go on from checkpoint 2 on n1,n2,n3,n4 and 96 more: the checkpoint needs kernel 6.1, and this node has 5.10', 'of a wide attempt the first nodes');
rollback to wide;
select t.later(), t.begun(:'d' || '.a') \g /dev/null
select is(t.says(:'d' || '.a', 'begin') -> 'generation', '2', 'the checkpoint is as good as before');
select t.says(:'d' || '.a', 'began', '{"driver": "dmtcp"}') \g /dev/null
savepoint task;
select is(t.says(:'d' || '.a', 'unmet', '{"generation": 2, "message": "task 1 ended before DMTCP had restored the tasks"}'), '{}', 'the program began without one of its tasks');
select is((t.step(:'d' || '.a')).end_wanted || t.orders(:'d' || '.a'), 'requeuekill@n1', 'the attempt ends, and the step is queued again');
select is((select c.generation from internal.checkpoint_eligible(:d, (t.step(:'d' || '.a')).step_id) c order by c.generation desc limit 1), 2, 'to go on from the same checkpoint');
rollback to task;
select is(t.says(:'d' || '.a', 'refused', '{"generation": 2, "message": "DMTCP did not restore it"}'), '{}', 'the program began and does not go on');
select is((select concat_ws(' ', state, message) from rota.checkpoint where job_id = :d and generation = 2), 'failed DMTCP did not restore it', 'that checkpoint is of no use');
select is((t.step(:'d' || '.a')).end_wanted || t.orders(:'d' || '.a'), 'requeuekill@n1', 'the attempt ends, and the step is queued again');
select t.finish(:'d' || '.a', '{"exit": 0, "signal": 9, "cause": "checkpoint", "outcome": "cancel"}'), t.later(), t.begun(:'d' || '.a') \g /dev/null
select is(t.says(:'d' || '.a', 'begin') -> 'generation', '1', 'from the one before');

-- Reports by other users and by earlier attempts
select is(t.refused(format('select t.says(%L, %L, %L, %L)', :'j' || '.a', 'begin', '{}', 'bob')), 'RT404', 'a stranger learns nothing');
select is(t.refused(format('select t.says(%L, %L, %L, %L)', :'j' || '.a', 'over', '{}', 'bob')), 'RT404', 'and discards nothing');
select is(t.refused(format('select t.says(%L, %L, %L)', :'j' || '.a', 'take', '{"attempt": 1}')), 'RT409', 'an earlier attempt saves nothing');
select is(t.refused(format('select t.says(%L, %L, %L)', :'j' || '.a', 'complete', '{"generation": 2}')), 'RT404', 'nor does one complete the checkpoint of another');
select is(t.refused(format('select t.says(%L, %L)', :'none' || '.a', 'begin')), 'RT404', 'a step without checkpoints');
select t.job_with('alice') as w \gset
select t.start(:'w' || '.a', '{4}'), t.run(:'w' || '.a'), t.finish(:'w' || '.a', '{"exit": 0, "signal": 9, "cause": "node", "outcome": "node_fail"}') \g /dev/null
select is(t.state(:'w' || '.a') || ' ' || t.refused(format('select t.says(%L, %L)', :'w' || '.a', 'take')), 'pending RT409', 'what is left of an attempt that was lost saves nothing either');
select is(t.refused(format('select t.says(%L, %L)', :'j' || '.a', 'dance')), 'RT422', 'no such report');
select is(t.refused(format('select t.says(%L, %L, %L)', :'j' || '.a', 'take', '{"reason": "preempt"}')), 'RT422', 'a program does not say that it is preempted');
select t.says(:'j' || '.a', 'take') ->> 'generation' as g \gset
select is((select string_agg(t.refused(format('select t.says(%L, %L, %L)', :'j' || '.a', 'complete', jsonb_build_object('generation', :g) || x)), ' ')
	from unnest(array['{"files": []}', '{"files": 3}', '{"files": [{"name": "../x", "bytes": 1, "sha256": "00"}]}', '{"path": "x"}', '{"node": "nowhere"}',
		format('{"files": [{"name": "a/../b", "bytes": 1, "sha256": "%s"}]}', repeat('ab', 32)), format('{"files": [{"name": "/etc/x", "bytes": 1, "sha256": "%s"}]}', repeat('ab', 32)),
		format('{"files": [{"name": "x", "bytes": -1, "sha256": "%s"}]}', repeat('ab', 32)), '{"files": [{"name": "x", "bytes": 1, "sha256": "abcd"}]}']::jsonb[]) x),
	'RT422 RT422 RT422 RT422 RT422 RT422 RT422 RT422 RT422', 'malformed reports');

-- Deadlines
select t.late() \g /dev/null
select is((select concat_ws(' ', state, message) from rota.checkpoint where job_id = :j and generation = :g), 'failed the program began it and did not end it within 60 seconds', 'begun, never ended');
select is(t.says(:'j' || '.a', 'complete', jsonb_build_object('generation', :g)), '{"discard": []}', 'too late, but whole');
select is((select concat_ws(' ', state, message) from rota.checkpoint where job_id = :j and generation = :g), 'complete', 'so it can be used');
select t.ask(:'j' || '.a', 'end') as g \gset
select t.late() \g /dev/null
select is((select state from rota.checkpoint where job_id = :j and generation = :g), 'failed', 'nobody answers');
select is(t.state(:'j' || '.a') || coalesce((t.step(:'j' || '.a')).end_wanted, ''), 'running', 'the step goes on, since nothing of it was saved');
select is(t.says(:'j' || '.a', 'complete', jsonb_build_object('generation', :g)), '{"discard": []}', 'it is saved after all');
select is(t.state(:'j' || '.a') || coalesce((t.step(:'j' || '.a')).end_wanted, ''), 'running', 'and goes on: whoever wanted the end has seen it fail');

-- Exit code 85
select t.finish(:'j' || '.a', '{"exit": 85, "outcome": "fail"}') \g /dev/null
select is(concat_ws(' ', t.state(:'j' || '.a'), s.requeues, s.retries, s.held, s.begin_at = s.ordered_at + interval '30 seconds'), 'pending 0 0  t', 'saved, run me again: not before its pace')
from t.step(:'j' || '.a') s;
select t.later(), t.begun(:'j' || '.a'), t.finish(:'j' || '.a', '{"exit": 85, "outcome": "fail"}') \g /dev/null
select is((t.step(:'j' || '.a')).requeues, 1, 'what has saved nothing is counted');
update rota.step set requeues = 5 where job_id = :j;
select t.later(), t.begun(:'j' || '.a'), t.finish(:'j' || '.a', '{"exit": 85, "outcome": "fail"}') \g /dev/null
select is((t.step(:'j' || '.a')).held, 'system', 'and held in the end');
select t.begun(:'none' || '.a') is null, t.finish(:'none' || '.a', '{"exit": 85, "outcome": "fail"}') \g /dev/null
select is(t.state(:'none' || '.a'), 'failed', 'of a step without checkpoints it is a failure');

-- The time limit
select t.job_with('alice', '{"driver": "app", "keep": 1, "before_s": 60}') as l, t.job_with('alice') as m \gset
select t.start(:'l' || '.a', '{2}'), t.run(:'l' || '.a'), t.start(:'m' || '.a', '{3}'), t.run(:'m' || '.a') \g /dev/null
select is(t.says(:'l' || '.a', 'take', '{"reason": "time_limit"}') || t.says(:'m' || '.a', 'take', '{"reason": "interval"}'), '{"generation": 1, "wait_s": 60}', 'asked by the node');
select t.says(:'l' || '.a', 'complete', '{"generation": 1}'), t.says(:'m' || '.a', 'complete', '{"generation": 1}') \g /dev/null
select is((t.step(:'l' || '.a')).end_wanted || coalesce((t.step(:'m' || '.a')).end_wanted, '-'), 'requeue-', 'ahead of the time limit it is queued again, by an interval it goes on');
update rota.step set end_wanted = null where job_id = :l;
select t.finish(x || '.a', '{"exit": 0, "signal": 15, "cause": "time_limit", "outcome": "timeout"}') from unnest(array[:'l', :'m']) x \g /dev/null
select is(t.state(:'l' || '.a') || ' ' || t.state(:'m' || '.a'), 'pending timeout', 'what reaches the limit goes on where it is to be longer');

-- The end of the step
select t.job_with('alice') as e, t.job_with('alice') as f \gset
select t.start(:'e' || '.a', '{2}'), t.run(:'e' || '.a'), t.start(:'f' || '.a', '{3}'), t.run(:'f' || '.a') \g /dev/null
select t.ask(:'e' || '.a', 'end'), t.save(:'e' || '.a') \g /dev/null
select is((t.step(:'e' || '.a')).end_wanted || ' ' || t.orders(:'e' || '.a'), 'cancel checkpoint@n2 kill@n2', 'saved and ended');
select t.ask(:'f' || '.a', 'end') \g /dev/null
select t.finish(:'e' || '.a', '{"exit": 0, "signal": 15, "cause": "cancelled", "outcome": "cancel"}'), t.finish(:'f' || '.a') \g /dev/null
select is(t.state(:'e' || '.a') || ' ' || t.state(:'f' || '.a'), 'cancelled completed', 'one by the wish, one by itself before');
select is(t.rows(:e) || ', ' || t.rows(:f), '1 complete user end, 1 failed user end', 'what was under way has failed with its attempt');

-- Quota
update rota.setting set value = '1' where name = 'checkpoint_quota_mb';
select t.job_with('bob') as b \gset
select t.start(:'b' || '.a', '{2}'), t.run(:'b' || '.a') \g /dev/null
select is(t.says(:'b' || '.a', 'complete', t.says(:'b' || '.a', 'take', '{}', 'bob'), 'bob'), '{"discard": []}', 'what others have does not count');
select matches(t.says(:'b' || '.a', 'complete', t.says(:'b' || '.a', 'take', '{}', 'bob'), 'bob') ->> 'failed', '^your checkpoints would have 3 MiB, and 1 are allowed', 'a second one is too much');
select is(t.rows(:b), '1 complete program continue, 2 failed program continue', 'and fails');
select is(t.says(:'b' || '.a', 'over', '{}', 'bob') #>> '{}' || ' ' || t.rows(:b), '{} 1 discarded program continue, 2 failed program continue', 'after success nothing is kept');

-- What users see, and actions of users
update rota.setting set value = '0' where name = 'checkpoint_quota_mb';
select t.job_with('alice') as v \gset
create function t.lists(p_user text, p_request jsonb) returns text language sql as $$
	select string_agg(concat_ws(' ', x ->> 'label', x ->> 'generation', x ->> 'state'), ', ') from jsonb_array_elements(api.checkpoint_list(t.uid(p_user), p_user, p_request) -> 'checkpoints') x $$;
create function t.asked(p_user text, p_jobs text, p_more jsonb default '{}') returns text language sql as $$
	select string_agg(concat_ws(' ', x ->> 'label', x ->> 'action', x ->> 'failed'), ', ') from jsonb_array_elements(api.job_checkpoint(t.uid(p_user), p_user, t.request(p_jobs, p_more)) -> 'steps') x $$;
select is(t.asked('alice', :'v'), format('%s.a not changed: it is not running (pending) true', :v), 'one that waits');
select t.start(:'v' || '.a', '{2}'), t.run(:'v' || '.a') \g /dev/null
select is(t.refused(format('select t.asked(%L, %L)', 'bob', :'v')), 'RT403', 'not by a stranger');
select is(t.asked('alice', :'v', '{"end": true, "reason": "lunch"}'), format('%s.a checkpoint 1 is asked for false', :v), 'by its owner');
select is((select concat_ws(' ', reason, asked_by, why, then_do) from rota.checkpoint where job_id = :v), 'user alice lunch end', 'who, why, and what follows');
select is(api.checkpoint_list(t.uid('alice'), 'alice', t.request(:'v', '{"wait": true}')) -> 'done', 'false', 'somebody can wait for it');
select is(t.refused(format('select t.lists(%L, t.request(%L))', 'bob', :'v')), 'RT403', 'a stranger does not see it');
select t.save(:'v' || '.a') \g /dev/null
select is(api.checkpoint_list(t.uid('alice'), 'alice', t.request(:'v', '{"wait": true}')) -> 'done', 'true', 'which is over');
select t.finish(:'v' || '.a', '{"exit": 0, "signal": 15, "cause": "cancelled", "outcome": "cancel"}') \g /dev/null
select is(t.state(:'v' || '.a'), 'cancelled', 'saved and ended');
select is(api.checkpoint_list(t.uid('alice'), 'alice', t.request(:'v', '{"generation": 1}')) #>> '{checkpoints,0,file_list,0,name}', 'state', 'its files');
select is(t.refused(format('select api.job_restart(t.uid(%L), %L, t.request(%L))', 'bob', 'bob', :'v')), 'RT403', 'a stranger starts nothing');
select is(t.refused(format('select api.job_restart(t.uid(%L), %L, t.request(%L, %L))', 'alice', 'alice', :'v', '{"generation": 7}')), 'RT404', 'no such checkpoint');
select is(t.refused(format('select api.job_restart(t.uid(%L), %L, t.request(%L))', 'alice', 'alice', :'none')), 'RT422', 'a job without any');
select is(api.job_restart(t.uid('alice'), 'alice', t.request(:'v' || '.a', '{"generation": 0}')) ->> 'action', 'queued again (1 of 1 step)', 'the job is queued again');
select is(api.job_restart(t.uid('alice'), 'alice', t.request(:'v' || '.a', '{"generation": 1}')) ->> 'action', 'is queued already', 'and while it waits, another one may be chosen');
select is(api.job_restart(t.uid('alice'), 'alice', t.request(:'v' || '.a', '{"generation": 0}')) ->> 'generation', '0', 'or none');
select t.later(), t.start(:'v' || '.a', '{2}'), t.run(:'v' || '.a') \g /dev/null
select is(t.says(:'v' || '.a', 'begin') -> 'generation', '0', 'from the beginning, as asked for');
select is(t.refused(format('select api.job_restart(t.uid(%L), %L, t.request(%L))', 'alice', 'alice', :'v')), 'RT409', 'not while it runs');
select is(t.refused(format('select api.checkpoint_discard(t.uid(%L), %L, t.request(%L))', 'bob', 'bob', :'v')), 'RT403', 'a stranger discards nothing');
select is(api.checkpoint_list(0, 'root', t.request(:'v', '{"generation": 1}')) #>> '{checkpoints,0,generation}', '1', 'an operator sees it');
select is(t.refused(format('select api.checkpoint_list(0, %L, t.request(%L, %L))', 'root', :'v', '{"generation": 1, "verify": true}')), 'RT403', 'and does not open its files');
select is(api.checkpoint_list(t.uid('alice'), 'alice', t.request(:'v', '{"generation": 1, "verify": true}')) #>> '{checkpoints,0,generation}', '1', 'its owner does');
select is(api.checkpoint_discard(t.uid('alice'), 'alice', t.request(:'v')) -> 'discarded', '[1]', 'its owner does');
select is(t.lists('alice', t.request(:'v')), format('%s.a 1 discarded', :v), 'as is seen');
select t.save(:'v' || '.a'), t.fail(:'v' || '.a'), api.job_restart(t.uid('alice'), 'alice', t.request(:'v')), t.later(), t.start(:'v' || '.a', '{2}'), t.run(:'v' || '.a'), t.says(:'v' || '.a', 'begin') \g /dev/null
select is(t.refused(format('select api.checkpoint_discard(t.uid(%L), %L, t.request(%L))', 'alice', 'alice', :'v')), 'RT409', 'not what a running attempt reads');
select is((select count(*) from acct.checkpoint where job_id = :v and elapsed_s >= 0 and saved_s is not null), 2::bigint, 'the accounting has them');

-- A chosen generation counts until there is a later checkpoint.
select t.job_with('alice') as c \gset
create function t.lose(p_label text) returns void language sql as $$
	select t.finish(p_label, '{"exit": 0, "signal": 15, "cause": "preempted", "outcome": "cancel"}') $$;
create function t.from(p_label text) returns jsonb language sql as $$ select t.says(p_label, 'begin') -> 'generation' $$;
select t.start(:'c' || '.a', '{2}'), t.run(:'c' || '.a'), t.save(:'c' || '.a'), t.save(:'c' || '.a'), t.fail(:'c' || '.a'),
	api.job_restart(t.uid('alice'), 'alice', t.request(:'c', '{"generation": 1}')), t.later(), t.start(:'c' || '.a', '{2}'), t.run(:'c' || '.a') \g /dev/null
select is(t.from(:'c' || '.a'), '1', 'from the chosen one');
update rota.step set end_wanted = 'requeue' where job_id = :c;
select t.lose(:'c' || '.a'), t.later(), t.start(:'c' || '.a', '{2}'), t.run(:'c' || '.a') \g /dev/null
select is(t.from(:'c' || '.a'), '1', 'the attempt after it too, as nothing was saved since');
select is(t.save(:'c' || '.a'), '{"discard": [2]}', 'what was passed over goes first');
update rota.step set end_wanted = 'requeue' where job_id = :c;
select t.lose(:'c' || '.a'), t.later(), t.start(:'c' || '.a', '{2}'), t.run(:'c' || '.a') \g /dev/null
select is(t.from(:'c' || '.a'), '3', 'what was saved since is the latest');
select t.fail(:'c' || '.a') \g /dev/null

-- Elements of arrays
select t.job_with('alice', '{"driver": "app", "keep": 2}', '{"array": {"indices": [[0,3,1]], "size": 4}}') as r \gset
select t.start(:'r' || '.a', '{3}', '{"position": 0}'), t.start(:'r' || '.a', '{4}', '{"position": 1}'), t.run(:'r' || '.a[0]'), t.run(:'r' || '.a[1]') \g /dev/null
select is(t.asked('alice', :'r' || '.a[1]'), format('%s.a[1] checkpoint 1 is asked for false', :r), 'one element');
select t.save(:'r' || '.a[1]') \g /dev/null
select is(t.lists('alice', t.request(:'r')), format('%s.a[1] 1 complete', :r), 'has a checkpoint of its own');
select t.save(:'r' || '.a[0]') \g /dev/null
select is((select string_agg((x ->> 'label') || ' ' || jsonb_typeof(x -> 'file_list'), ', ' order by x ->> 'label') from jsonb_array_elements(
	api.checkpoint_list(t.uid('alice'), 'alice', t.request(:'r', '{"generation": 1}')) -> 'checkpoints') x), format('%s.a[0] null, %1$s.a[1] null', :r), 'the files of one only');
select is(jsonb_typeof(api.checkpoint_list(t.uid('alice'), 'alice', t.request(:'r' || '.a[1]', '{"generation": 1}')) #> '{checkpoints,0,file_list}'), 'array', 'that is named');
select is(t.asked('alice', :'r'), format('%s.a not changed: it is not running (running) false, %1$s.a[0] checkpoint 2 is asked for false, %1$s.a[1] checkpoint 2 is asked for false', :r), 'all that run');
select is(t.refused(format('select api.job_restart(t.uid(%L), %L, t.request(%L, %L))', 'alice', 'alice', :'r' || '.a', '{"generation": 1}')), 'RT422', 'a generation is that of one element');

-- Steps on several nodes: their tasks learn where the nodes are.
select t.job_with('alice', '{"driver": "dmtcp", "keep": 2}', '{"nodes_min": 2}') as w \gset
update rota.node set address = 'host' || node_id where node_id in (1, 3);
select t.start(:'w' || '.a', '{3,1}'), t.run(:'w' || '.a') \g /dev/null
select is(t.says(:'w' || '.a', 'begin'), '{"kept": [], "hosts": ["host3", "host1"], "wait_s": 60, "generation": 0}', 'the hosts, in the order of the nodes');

select is((select count(*) from t.wrong()), 0::bigint, 'everything adds up');
select * from finish();
rollback;
