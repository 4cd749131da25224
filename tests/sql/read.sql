-- Answers to users: queue, show, why, wait, acct, script, nodes, partitions, status; and which users get which rows.
begin;
\ir world.psql
select * from no_plan();
select api.admin_change(0, 'root', v::jsonb) from unnest(array[
	'{"object": "user", "action": "create", "name": "olga", "values": {"role": "operator"}}',
	'{"object": "user", "action": "create", "name": "zoe", "values": {"role": "admin"}}',
	'{"object": "partition", "action": "create", "name": "side", "values": {"nodes": "n4", "max_time": "5"}}']) v \g /dev/null
create function t.ask(p_verb text, p_user text, p_request jsonb default '{}') returns jsonb language plpgsql as $$
declare
	v_answer jsonb;
begin
	execute format('select api.%s($1, $2, $3)', p_verb) into v_answer using t.uid(p_user), p_user, p_request;
	return v_answer;
end $$;
create function t.ids(p_user text, p_request jsonb default '{}') returns text language sql as $$
	select string_agg(j ->> 'job_id', ' ' order by nr) from jsonb_array_elements(t.ask('job_queue', p_user, p_request) -> 'jobs') with ordinality x (j, nr) $$;
-- t.lines_fit: whether the queue as lines has the same content as the queue as objects.
create function t.lines_fit(p_user text, p_request jsonb default '{}') returns boolean language sql as $$
	select t.ask('job_queue', p_user, p_request || '{"lines": true}') ->> 'lines' = coalesce(string_agg(concat_ws(E'\t', j ->> 'job_id', j ->> 'name', j ->> 'user', j ->> 'partition',
		j ->> 'state', (j ->> 'steps_done') || '/' || (j ->> 'steps_total'), coalesce(floor((j ->> 'elapsed_s')::numeric - (j ->> 'suspended_s')::numeric)::text, ''), j ->> 'time_limit_s',
		coalesce(nullif(j ->> 'nodes', ''), j ->> 'reason', '')), E'\n' order by nr desc), '')
	from jsonb_array_elements(t.ask('job_queue', p_user, p_request) -> 'jobs') with ordinality x (j, nr) $$;
-- The same for accounting.
create function t.used_fit(p_user text, p_request jsonb default '{}') returns boolean language sql as $$
	select t.ask('job_acct', p_user, p_request || '{"lines": true}') ->> 'lines' = coalesce(string_agg(concat_ws(E'\t', r ->> 'job_id', r ->> 'name', r ->> 'user', r ->> 'state',
		coalesce(r ->> 'exit_code', ''), coalesce(r ->> 'signal', ''), coalesce(floor(extract(epoch from (r ->> 'started_at')::timestamptz))::text, ''), coalesce(floor((r ->> 'elapsed_s')::numeric)::text, ''),
		coalesce(((r ->> 'cpu_s')::numeric * 1000000)::bigint::text, ''), coalesce(r ->> 'max_rss_kb', ''), r ->> 'nodes'), E'\n' order by nr desc), '')
	from jsonb_array_elements(t.ask('job_acct', p_user, p_request) -> 'rows') with ordinality x (r, nr) $$;

select t.submit('alice', '[{"name": "mesh", "spec": "workdir=4:/tmp\noutput=11:out/%j.text\nerror=0:\n", "mem_mb": 50}, {"name": "solve", "retry": 1}, {"name": "r", "array": {"indices": [[0,3,1]], "size": 4, "limit": 2}}]',
	'[{"step": "solve", "peer": "mesh"}, {"step": "r", "peer": "solve", "condition": "any"}]', '{"name": "heat", "comment": "secret", "submit_line": "rota submit --nice test.sh", "mail_user": "a@b"}') as a \gset
select t.submit('bob', '[{"name": "one", "partition": "side", "time_limit_s": null}]', '[]', '{"name": "small"}') as b \gset
-- The queue.
select is(t.ids('alice'), :'a' || ' ' || :'b', 'live jobs, in order');
select is(t.ids('alice', '{"user": "bob"}'), :'b', 'by user');
select is(t.ids('alice', v::jsonb), :'a' || ' ' || :'b', 'by users') from unnest(array['{"user": "bob,alice"}', '{"user": ["alice", "bob", "nobody"]}']) v;
select ok(t.lines_fit('alice', v::jsonb), 'lines: ' || v) from unnest(array['{}', '{"user": "bob"}', '{"user": "alice"}', '{"user": "nobody"}', '{"partition": "side"}', '{"states": "running"}',
	'{"states": "pending", "limit": 1}', jsonb_build_object('jobs', :'b')::text]) v;
select is(t.ids('alice', '{"partition": "side"}'), :'b', 'by partition');
select is(t.ids('alice', '{"states": ["running"]}'), null, 'by state');
select is(t.ids('alice', '{"states": "pending,running", "limit": "1"}'), :'b', 'as a query writes it: strings; the newest when there is a limit');
select is(t.ids('alice', jsonb_build_object('jobs', v)), :'a', 'by id') from unnest(array[to_jsonb(:'a'::text), to_jsonb(:'a'::int), jsonb_build_array(:'a'::int)]) v;
select throws_ok(format('select t.ids(%L, %L)', 'alice', v), 'RT422', null, 'no id: ' || v) from unnest(array['{"jobs": [null]}', '{"jobs": {"a": 1}}', '{"jobs": true}', '{"jobs": [[1]]}']) v;
select throws_ok($$select t.ids('alice', '{"states": "happy"}')$$, 'RT422', 'there is no state "happy"', 'a state that does not exist');
select throws_ok($$select t.ids('alice', '{"limit": "few"}')$$, 'RT422', '"limit" must be a number, not "few"', 'a limit that is none');
select throws_ok($$select t.ids('alice', '{"limit": -1}')$$, 'RT422', '"limit" must be a number from 0 to 2147483647, not "-1"', 'or below nothing');
select throws_ok($$select t.ids('alice', '{"limit": "99999999999999999999"}')$$, 'RT422', '"limit" must be a number from 0 to 2147483647, not "99999999999999999999"', 'nor one that is too large');
select throws_ok($$select api.job_acct(0, 'root', '{"after": "x"}')$$, 'RT422', '"after" must be a number, not "x"', 'nor behind one that is none');
select throws_ok($$select api.range_detach(0, 'root', '{"from": "abc"}')$$, 'RT422', '"from" must be a number, not "abc"', 'nor from there');
select throws_ok($$select t.ids('alice', '{"all": "maybe"}')$$, 'RT422', '"all" must be true or false, not "maybe"', 'a flag that is none');
select throws_ok($$select t.ids('alice', '{"jobs": ["4711"]}')$$, 'RT404', null, 'a job that does not exist');
select is((t.ask('job_queue', 'alice') #> '{jobs,0}') - '{submit_at}'::text[], jsonb_build_object('job_id', :a, 'name', 'heat', 'user', 'alice', 'account', null, 'partition', 'main', 'qos', 'normal', 'state', 'pending',
	'reason', 'scheduler', 'started_at', null, 'ended_at', null, 'expected_at', null, 'time_limit_s', 60, 'elapsed_s', null, 'suspended_s', 0, 'nodes', '', 'node_count', 0, 'cpus', 1, 'priority', 0,
	'steps_total', 3, 'steps_done', 0, 'steps_running', 0, 'steps_failed', 0), 'a pending job, every member');
select is(t.ask('job_queue', 'alice') #>> '{jobs,1,time_limit_s}', '300', 'the partition''s time limit');
select api.job_hold(t.uid('alice'), 'alice', t.request(:'a' || '.mesh')) \g /dev/null
select is(t.ask('job_queue', 'alice') #>> '{jobs,0,reason}', 'held', 'reason: held, though others wait for dependencies');
select api.job_release(t.uid('alice'), 'alice', t.request(:'a' || '.mesh')), t.start(:'a' || '.mesh', '{2}') \g /dev/null
select is(t.ask('job_queue', 'alice') #>> '{jobs,0,state}', 'starting', 'state: the most lively');
select t.run(:'a' || '.mesh') \g /dev/null
select ok(t.lines_fit('alice'), 'lines, of what runs');
select ok(t.used_fit('alice'), 'and what it used');
select is((select concat_ws(' ', j ->> 'state', j ->> 'nodes', j ->> 'cpus', j ->> 'steps_running', j ->> 'reason') from (select t.ask('job_queue', 'alice') #> '{jobs,0}' as j) x), 'running n2 1 1', 'running');
select is(t.ids('alice', '{"states": ["running"]}'), :'a', 'by state');
select t.finish(:'a' || '.mesh') \g /dev/null
select is((select concat_ws(' ', j ->> 'state', j ->> 'nodes', j ->> 'steps_done') from (select t.ask('job_queue', 'alice') #> '{jobs,0}' as j) x), 'pending  1', 'between two steps');

-- Show.
select t.ask('job_show', 'alice', t.request(:'a')) as shown \gset
select is((:'shown'::jsonb #> '{jobs,0,steps}') @> '[{"name": "mesh", "state": "completed", "output": "out/%j.text", "error": "", "nodes": "n2", "mem_mb": 50, "exit_code": 0}, {"name": "solve", "state": "pending", "reason": "scheduler"}]', true, 'steps');
select is(:'shown'::jsonb #> '{jobs,0,steps,1,after}', jsonb_build_array(jsonb_build_object('label', :'a' || '.mesh', 'kind', 'after', 'condition', 'ok', 'state', 'met')), 'what a step waits for');
select is(:'shown'::jsonb #> '{jobs,0,edges}', '[{"from": 0, "to": 1, "kind": "after", "condition": "ok", "state": "met"}, {"from": 1, "to": 2, "kind": "after", "condition": "any", "state": "waiting"}]', 'edges');
select is((:'shown'::jsonb #> '{jobs,0,steps,0,tasks,0}') - '{started_at,ended_at}'::text[], '{"task": 0, "node": "n2", "pid": 78, "exit_code": 0, "signal": null, "cause": "exit", "user_s": 0.0015, "system_s": 0.0005, "max_rss_kb": 2048}', 'tasks');
select is((:'shown'::jsonb #> '{jobs,0,steps,0,attempts}') #- '{0,started_at}' #- '{0,ended_at}' #- '{0,elapsed_s}',
	'[{"attempt": 1, "state": "completed", "nodes": "n2", "exit_code": 0, "signal": null, "cause": "exit", "message": null, "suspended_s": 0}]', 'attempts');
select is(:'shown'::jsonb #> '{jobs,0,steps,1,attempts}', '[]', 'none of what has not run');
select is((select string_agg(concat_ws(' ', r ->> 'label', r ->> 'attempt', r ->> 'state', r ->> 'nodes', r ->> 'output', r ->> 'workdir'), ', ') from jsonb_array_elements(t.ask('job_acct', v, '{"attempts": true}') -> 'rows') r),
	x, 'accounting of attempts, for ' || v) from (values ('alice', :'a' || '.mesh 1 completed n2 out/%j.text /tmp'), ('olga', :'a' || '.mesh 1 completed n2 out/%j.text /tmp'), ('bob', :'a' || '.mesh 1 completed n2')) y (v, x);
select is(jsonb_array_length(t.ask('job_acct', 'alice', jsonb_build_object('attempts', true, 'states', v)) -> 'rows'), n, 'in these states: ' || v) from (values ('completed', 1), ('failed', 0)) y (v, n);
select is(:'shown'::jsonb #> '{jobs,0,steps,2,array}', '{"size": 4, "next": 0, "running": 0, "completed": 0, "failed": 0, "limit": 2, "indices": [[0, 3, 1]]}', 'an array');
select is((select concat_ws(' ', j ->> 'comment', j ->> 'script_name', j ->> 'workdir', j ->> 'submit_line', j ->> 'mail_user') from (select :'shown'::jsonb #> '{jobs,0}' as j) x), 'secret test.sh /tmp rota submit --nice test.sh a@b', 'to its owner');
select is((select concat_ws(' ', j ->> 'comment', j ->> 'script_name', j ->> 'workdir', j ->> 'submit_line', j ->> 'mail_user', j #>> '{steps,0,output}', j ->> 'name') from (select t.ask('job_show', 'bob', t.request(:'a')) #> '{jobs,0}' as j) x), 'heat', 'to others');
select is(t.ask('job_show', 'olga', t.request(:'a')) #>> '{jobs,0,comment}', 'secret', 'to operators');
-- In SQL, private columns are shown to administrators, not to analysts. The owner of a personal instance is its administrator.
set local role rota_admin;
select concat_ws(' ', comment, workdir, submit_line) as admin from acct.job where job_id = :a \gset
set local role rota_analyst;
select concat_ws(' ', user_name, comment, workdir, submit_line) as analyst from acct.job where job_id = :a \gset
reset role;
select is(:'admin'::text, 'secret /tmp rota submit --nice test.sh', 'to administrators in SQL');
select is(:'analyst'::text, 'alice', 'not to analysts');
select is(jsonb_array_length(t.ask('job_show', 'alice', t.request(:'a' || '.solve')) #> '{jobs,0,steps}'), 1, 'one step of it');
select t.pass(:'a' || '.solve') \g /dev/null
select t.commit(t.decision(:'a' || '.r', '{1}', '{"position": 0}'), t.decision(:'a' || '.r', '{1}', '{"position": 1}')) \g /dev/null
select is(jsonb_array_length(t.ask('job_show', 'alice', t.request(:'a')) #> '{jobs,0,steps}'), 3, 'without elements');
select is((select array_agg(s ->> 'label') from jsonb_array_elements(t.ask('job_show', 'alice', t.request(:'a', '{"elements": true}')) #> '{jobs,0,steps}') s),
	array[:'a' || '.mesh', :'a' || '.solve', :'a' || '.r', :'a' || '.r[0]', :'a' || '.r[1]'], 'with elements');
select is((select array_agg(s ->> 'label') from jsonb_array_elements(t.ask('job_show', 'alice', t.request(:'a' || '.r[0-1]')) #> '{jobs,0,steps}') s), array[:'a' || '.r[0]', :'a' || '.r[1]'], 'two elements');
select is((select array_agg(s ->> 'label') from jsonb_array_elements(t.ask('job_show', 'alice', t.request(:'a' || '.r[3]')) #> '{jobs,0,steps}') s), array[:'a' || '.r[3]'], 'an element that is no row');
-- The cursor of show: only newer changes are answered (the whole test is one transaction, whose own events always count as new).
select is(t.ask('job_show', 'alice', t.request(:'a', '{"since": "1:1:"}')) ->> 'changed', 'true', 'something new');
select is(t.ask('job_show', 'alice', t.request(:'a', jsonb_build_object('since', pg_current_xact_id()::text::bigint + 1 || ':' || pg_current_xact_id()::text::bigint + 1 || ':'))) - 'cursor', '{"changed": false}', 'nothing new');
select is(t.ask('job_show', 'alice', t.request(:'a', jsonb_build_object('since', format('%s:%s:%s', pg_current_xact_id(), pg_current_xact_id()::text::bigint + 1, pg_current_xact_id())))) ->> 'changed', 'true', 'what a transaction wrote that was under way then');
select throws_ok(format($$select t.ask('job_show', 'alice', t.request('%s', '{"since": "yesterday"}'))$$, :a), 'RT422', null, 'not a cursor');
insert into rota.event (job_id, step_id, attempt, from_state, event, to_state, actor, xid) select :a, step_id, 0, state, 'modify', state, 'alice', '4000000000' from rota.step where job_id = :a and state = 'pending' limit 1;
select is(t.ask('job_show', 'alice', t.request(:'a', jsonb_build_object('since', pg_current_xact_id()::text::bigint + 1 || ':' || pg_current_xact_id()::text::bigint + 1 || ':'))) - 'cursor', '{"changed": false}', 'what another cluster wrote, before this one was restored from it, is nothing new');

-- Wait.
select is(t.ask('job_wait', 'alice', t.request(:'a')), jsonb_build_object('done', false, 'jobs', jsonb_build_array(jsonb_build_object('job_id', :a, 'state', 'running', 'exit_code', null, 'signal', null, 'cause', null))), 'not over');
-- Whole jobs of the asking user, given by number, are looked up directly: with the same answer as through their steps.
select is(t.ask('job_wait', 'alice', v::jsonb), t.ask('job_wait', 'olga', v::jsonb), 'asked for itself, or as one of many: ' || v)
from unnest(array[format('{"jobs": ["%s"]}', :'a'), format('{"jobs": ["%1$s", "0%1$s", "%1$s"]}', :'a'), format('{"jobs": "%s"}', :'a'), format('{"jobs": ["%s", "%s"]}', :'a', :'b'),
	format('{"jobs": ["%1$s", "%1$s.mesh"]}', :'a')]) v;
select throws_ok(format('select t.ask(%L, %L, %L)', 'job_wait', 'alice', x.request), x.code, null, 'and are judged alike: ' || x.code)
from (values (format('{"jobs": ["%s", "4711"]}', :'a'), 'RT404'), (format('{"jobs": ["%s", "x"]}', :'a'), 'RT422'), ('{"jobs": []}', 'RT422')) x (request, code);
select is(t.ask('job_wait', 'alice', t.request(:'a' || '.solve')) -> 'done', 'true', 'a step that is over');
select is(t.ask('job_wait', 'alice', t.request(:'a' || '.r[2]')) #>> '{jobs,0,label}', :'a' || '.r[2]', 'an element that is no row yet');
select is(t.ask('job_wait', 'alice', t.request(:'a' || '.r[2]')) -> 'done', 'false', 'is not over');
select is(t.ask('job_wait', 'alice', jsonb_build_object('jobs', :'a' || '.mesh,' || :'a' || '.solve')) -> 'done', 'true', 'two, as a query writes it');
select t.run(:'a' || '.r[0]'), t.fail(:'a' || '.r[0]', 3), t.run(:'a' || '.r[1]'), t.finish(:'a' || '.r[1]') \g /dev/null
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'a')) \g /dev/null
select is(t.ask('job_wait', 'alice', t.request(:'a')), jsonb_build_object('done', true, 'jobs', jsonb_build_array(jsonb_build_object('job_id', :a, 'state', 'failed', 'exit_code', 3, 'signal', null, 'cause', 'exit'))), 'over');
select is(t.ask('job_wait', 'alice', t.request(:'a' || '.r[3]')) #>> '{jobs,0,state}', 'cancelled', 'an element that never was, was cancelled');
select is(t.ask('job_why', 'alice', t.request(:'a' || '.mesh')) #>> '{steps,0,conditions,0,message}' ~ '^completed at .*, exit code 0$', true, 'why of what has ended says how');
select is(t.ids('alice'), :'b', 'what has ended is not in the queue');
select is(t.ids('alice', '{"all": "true"}'), :'a' || ' ' || :'b', 'but in all of it');
select is(t.ids('alice', '{"states": "failed"}'), :'a', 'and where its state is asked for');
select is(t.ids('alice', '{"all": true, "user": "bob"}'), :'b', 'all of one user');
select is(t.ids('alice', '{"all": true, "user": "alice,bob,alice"}'), :'a' || ' ' || :'b', 'or of several');
select is(t.ids('alice', '{"all": true, "user": "alice", "limit": 1}'), :'a', 'with a limit');
select is((select concat_ws(' ', j ->> 'nodes', j ->> 'node_count', j ->> 'steps_done', j ->> 'steps_failed', j ->> 'reason') from (select t.ask('job_queue', 'alice', t.request(:'a')) #> '{jobs,0}' as j) x), 'n1,n2 2 3 1 exit', 'where it ran');

-- Accounting.
select is((select array_agg(r ->> 'label') from jsonb_array_elements(t.ask('job_acct', 'alice', jsonb_build_object('jobs', :'a', 'steps', 'true')) -> 'rows') r),
	array[:'a' || '.mesh', :'a' || '.solve', :'a' || '.r', :'a' || '.r[0]', :'a' || '.r[1]'], 'a row for each step and element');
select is((select jsonb_set(r, '{elapsed_s}', '0', false) - '{submit_at,started_at,ended_at,wait_s,cpu_held_s}'::text[] from jsonb_array_elements(t.ask('job_acct', 'alice', jsonb_build_object('jobs', :'a', 'steps', true)) -> 'rows') r limit 1),
	jsonb_build_object('job_id', :a, 'step', 'mesh', 'step_id', 0, 'label', :'a' || '.mesh', 'name', 'heat', 'user', 'alice', 'account', null, 'qos', 'normal', 'partition', 'main', 'state', 'completed', 'exit_code', 0, 'signal', null,
	'cause', 'exit', 'elapsed_s', 0, 'cpus', 1, 'cpu_s', 0.0025, 'max_rss_kb', 2048, 'nodes', 'n2', 'attempts', 1, 'ntasks', 1, 'rchar', 30, 'wchar', 40, 'read_bytes', 10, 'write_bytes', 20, 'user_s', 0.0018, 'system_s', 0.0007,
	'suspended_s', 0, 'time_limit_s', 60, 'staging', null, 'mem_requested_mb', 50, 'energy_j', null, 'alloc_tres', 'cpu=1,mem=50M,node=1', 'peak_mb', 3, 'ave_rss_kb', 2048, 'priority', 0, 'submit_line', 'rota submit --nice test.sh'), 'every member');
select is(t.ask('job_acct', x.who, jsonb_build_object('jobs', :'a')) #> '{rows,0,submit_line}', x.line, 'the command line, to ' || x.who)
from (values ('olga', '"rota submit --nice test.sh"'::jsonb), ('bob', 'null')) x (who, line);
select is((select concat_ws(' ', r ->> 'label', r ->> 'state', r ->> 'cpu_s', r ->> 'nodes', r ->> 'attempts', r ->> 'read_bytes') from jsonb_array_elements(t.ask('job_acct', 'alice', jsonb_build_object('jobs', :'a')) -> 'rows') r),
	:'a' || ' failed 0.01 n1,n2 4 40', 'one for the job');
select is(jsonb_array_length(t.ask('job_acct', 'alice', '{"user": "bob"}') -> 'rows'), 1, 'by user');
select is(jsonb_array_length(t.ask('job_acct', 'alice', '{"states": "failed"}') -> 'rows'), 1, 'by state');
select is(jsonb_array_length(t.ask('job_acct', 'alice', '{"states": "failed", "steps": true}') -> 'rows'), 2, 'by state, steps');
select is(jsonb_array_length(t.ask('job_acct', 'alice', jsonb_build_object('since', now() + interval '1 hour')) -> 'rows'), 1, 'since: what is still live then');
select is(jsonb_array_length(t.ask('job_acct', 'alice', jsonb_build_object('until', now() - interval '1 hour')) -> 'rows'), 0, 'until');
select is(jsonb_array_length(t.ask('job_acct', 'alice', jsonb_build_object('since', extract(epoch from now() - interval '1 hour')::bigint, 'until', extract(epoch from now() + interval '1 hour')::bigint::text)) -> 'rows'), 2, 'as seconds');
select is((select jsonb_agg(jsonb_array_length(t.ask('job_acct', 'alice', jsonb_build_object('jobs', :'a', v.bound, now() + v.off)) -> 'rows') order by v.nr)
	from (values (1, 'until', interval '-1 hour'), (2, 'until', interval '1 hour'), (3, 'since', interval '-1 hour'), (4, 'since', interval '1 hour')) v (nr, bound, off)),
	'[0, 1, 1, 0]', 'a time counts for a job that is named, too');
select throws_ok($$select t.ask('job_acct', 'alice', '{"since": "soonish"}')$$, 'RT422', null, 'not a time');

-- Scripts are private.
select is(t.ask('job_script', 'alice', t.request(:'a')) - 'job_id', '{"script": "#!/bin/bash", "script_name": "test.sh", "environment": ["A=b"]}', 'to the owner');
select is(t.ask('job_script', 'zoe', t.request(:'a')) ->> 'script', '#!/bin/bash', 'to admins');
select throws_ok(format($$select t.ask('job_script', %L, t.request(%L))$$, u, :'a'), 'RT403', null, 'not to ' || u) from unnest('{bob,olga}'::text[]) u;
select is(internal.environment_list('\x413d310a3200423d5c00433d00'), '["A=1\n2", "B=\\", "C="]', 'an environment with line ends and backslashes');
-- With setting queue_visible = false, all jobs of others are private.
select api.admin_change(0, 'root', '{"object": "setting", "action": "change", "name": "queue_visible", "values": {"value": "false"}}') \g /dev/null
select is(t.ids('bob', '{"all": true}'), :'b', 'queue_visible=false: the queue is one''s own');
select is(t.ids('olga', '{"all": true}'), :'a' || ' ' || :'b', 'or an operator''s');
select is(jsonb_array_length(t.ask('job_acct', 'bob') -> 'rows'), 1, 'so is accounting');
select throws_ok(format($$select t.ask(%L, 'bob', t.request(%L))$$, v, :'a'), 'RT403', null, v || ' of another''s job') from unnest('{job_show,job_why,job_wait}'::text[]) v;

-- The cluster.
select is((select n - '{seen_at,found}'::text[] from jsonb_array_elements(t.ask('node_list', 'bob') -> 'nodes') n where n ->> 'name' = 'n4'), '{"node_id": 4, "name": "n4", "state": "up", "reason": null, "reason_by": null, "reason_at": null, "cpus": 4, "cpus_used": 0,
	"mem_mb": 4000, "mem_used_mb": 0, "image": null, "default_image": null, "prep": null, "prep_verified": true, "gres": "gpu:2", "gres_used": "", "features": [], "weight": 1, "partitions": ["main", "side"], "address": "host", "version": "1", "hardware_check": true, "power": "on", "power_at": null, "steps": 0, "notice": null, "warnings": []}', 'a node, every member');
select is(jsonb_array_length(t.ask('node_list', 'bob', '{"partition": "side"}') -> 'nodes'), 1, 'nodes of a partition');
select is(t.ask('partition_list', 'bob') #> '{partitions}' @> '[{"name": "main", "nodes": ["n1", "n2", "n3", "n4"], "cpus": 16, "pending": 0, "running": 0, "is_default": true}, {"name": "side", "nodes": ["n4"], "cpus": 4, "pending": 1, "max_time_s": 300}]', true, 'partitions');
select api.daemon_register('jobmgrd', 'host', 42, '1.0') \g /dev/null
select is((select p - '{started_at,seen_at}'::text[] from jsonb_array_elements(t.ask('instance_status', 'bob') -> 'processes') p where p ->> 'pid' = '42'),
	'{"role": "jobmgrd", "name": "host", "pid": 42, "host": null, "node": null, "version": "1.0", "connected": false, "leader": true}', 'a process');
select api.daemon_certificate('host', now() + interval '9 days 1 hour'), api.daemon_certificate('nobody', now()) \g /dev/null
create view t.certificate as
select p ->> 'certificate_days_left' as days, (p ->> 'certificate_ends_at')::timestamptz - now() as left
from jsonb_array_elements(t.ask('instance_status', 'bob') -> 'processes') p where p ->> 'name' = 'host';
select is((select c.days || ' ' || c.left from t.certificate c), '9 9 days 01:00:00', 'its certificate');
select api.daemon_certificate('host', now() - interval '1 minute') \g /dev/null
select is((select c.days from t.certificate c), '-1', 'its certificate has ended');
select api.daemon_register('jobmgrd', 'host', 42, '1.0') \g /dev/null
select is((select c.days from t.certificate c), '-1', 'which is known while the process lives');
select api.daemon_register('jobmgrd', 'host', 43, '1.0') \g /dev/null
select is((select c.days from t.certificate c), null, 'and not of the next process');
select is(t.ask('instance_status', 'bob') -> 'jobs', '{"pending": 1, "running": 0}', 'jobs');
select is(t.ask('instance_status', 'bob') #>> '{database,version}', current_setting('server_version'), 'the database');
-- A daemon that is gone disappears from the list after a day, the process manager of a deleted node at once; a daemon that is
-- connected or serves a node stays.
update rota.node set login = 'n' where name = 'n3';
insert into rota.daemon (role, name, pid, version, backend_pid, seen_at) select r, n, 1, '1', 0, now() - a from (values ('jobmgrd', 'old', interval '25 hours'), ('jobmgrd', 'late', '23 hours'),
	('procmgrd', 'n1', '23 hours'), ('procmgrd', 'n2', '25 hours'), ('procmgrd', 'gone', '1 minute'), ('procmgrd', 'n', '1 minute')) x (r, n, a);
select api.range_ensure() \g /dev/null
select is((select string_agg(d.name, ' ' order by d.name) from rota.daemon d where d.backend_pid = 0), 'late n n1 n2', 'who was there within a day is kept, and whoever serves a node');
-- Ranges of jobs are made before their ids are used.
create view t.waited_for as
select l.relation::regclass::text, l.mode
from pg_locks l
where l.pid = pg_backend_pid() and l.mode in ('ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
	and (l.relation in (select c.oid from pg_class c where c.relkind in ('p', 'v')) or l.relation::regclass::text ~ '_0$');
create temporary table waited_before as select * from t.waited_for;
select is(api.range_ensure(), 0, 'nothing to make');
select setval('rota.job_job_id_seq', 950000) \g /dev/null
select is(api.range_ensure(), 1, 'one range is made');
select set_eq('select * from t.waited_for', 'select * from waited_before', 'and nobody who reads or writes waits for it');
select is(to_regclass('rota.event_1000000') is not null, true, 'with all tables');
select is((select count(*) from pg_attribute a join pg_inherits i on i.inhrelid = a.attrelid where a.attidentity <> ''), 0::bigint, 'that number nothing themselves');
select is((t.submit('alice', '[{"name": "a"}]') > 950000), true, 'and jobs go on');
select throws_ok($$delete from rota.job_1000000$$, '23001', null, 'a new range is as safe');
-- Small ranges are made for as many ids as a busy minute uses; of the smallest ones only a limited number.
update rota.setting set value = '10000' where name = 'range_size';
select setval('rota.job_job_id_seq', 1999950), api.range_ensure() \g /dev/null
select setval('rota.job_job_id_seq', 2099900) \g /dev/null
select lives_ok($$select t.submit('alice', '[{"name": "a"}]')$$, 'jobs go on behind many ranges that are small');
update rota.setting set value = '1' where name = 'range_size';
select setval('rota.job_job_id_seq', r.to_job - 1) from (select max(to_job) as to_job from internal.range_bounds()) r \g /dev/null
select is(api.range_ensure(), 10, 'ten ranges ahead, of any size');
select t.submit('bob', '[{"name": "one"}]') as c \gset
select t.start(:'c' || '.one', '{1}', '{"time_limit_s": 77}'), t.run(:'c' || '.one') \g /dev/null
select ok(t.lines_fit('alice'), 'of a job of one step that runs');
select is(t.ask('job_queue', 'bob', t.request(:'c')) #>> '{jobs,0,time_limit_s}', '77', 'the time limit it runs with, not the one it asked for');
select t.finish(:'c' || '.one') \g /dev/null
select ok(t.lines_fit('alice', '{"all": true}'), 'and of what is over');
-- An element that waits again is counted in its job's line of the queue.
select t.submit('alice', '[{"name": "a", "retry": 1, "array": {"indices": [[0,3,1]], "size": 4, "limit": 2}}]') as d \gset
select t.commit(t.decision(:'d' || '.a', '{1}', '{"position": 0}'), t.decision(:'d' || '.a', '{2}', '{"position": 1}')) \g /dev/null
select t.run(:'d' || '.a[0]'), t.fail(:'d' || '.a[0]') \g /dev/null
select is(t.state(:'d' || '.a[0]'), 'pending', 'an element runs again');
select ok(t.lines_fit('alice') and t.lines_fit('alice', '{"states": "pending"}') and t.lines_fit('alice', '{"limit": 2}'), 'lines, with an array of which one element runs again');
update rota.setting set value = 'false' where name = 'queue_visible';
select ok(t.lines_fit('alice') and t.lines_fit('bob', '{"all": true}') and t.lines_fit('olga'), 'and to whom it is shown');
select ok(t.used_fit('alice') and t.used_fit('bob', '{"states": "completed"}') and t.used_fit('olga') and t.used_fit('olga', '{"limit": 1}'), 'what was used, too');
-- A request without a match names the value that matches nothing; near names of other users are suggested only to users who see
-- their jobs.
select api.admin_change(0, 'root', '{"object": "account", "action": "create", "name": "secretly", "values": {"users": "bob"}}') \g /dev/null
create function t.unknown(p_user text, p_function text, p_request jsonb) returns text language plpgsql as $$
declare
	v_hint text;
begin
	execute format('select api.%I($1, $2, $3)', p_function) using t.uid(p_user), p_user, p_request;
	return 'nothing';
exception when sqlstate 'RT404' then
	get stacked diagnostics v_hint = pg_exception_hint;
	return concat_ws(' | ', sqlerrm, nullif(v_hint, ''));
end $$;
select is(t.unknown('alice', 'job_acct', '{"account": "secretlx"}'), 'there is no account "secretlx"', 'not by what others are called');
select is(t.unknown('olga', 'job_acct', '{"account": "secretlx"}'), 'there is no account "secretlx" | Did you mean "secretly"?', 'unless others are shown');
select is(t.unknown('alice', 'job_acct', '{"account": "secretly"}'), 'nothing', 'an account there is');
select is(t.unknown('alice', f, '{"partition": "maim"}'), 'there is no partition "maim" | Did you mean "main"?', f || ': a partition that is none') from unnest('{job_queue,job_acct,node_list}'::text[]) f;
select is(t.unknown('alice', f, '{"names": ["nope"]}'), 'there is no ' || o || ' "nope"', f || ': nor has it a line of its own') from unnest('{node_list,reservation_list,partition_list}'::text[], '{node,reservation,partition}'::text[]) x (f, o);

-- Usage of failed attempts counts: rows, lines and usage figures have it, whichever counted first.
select t.submit('alice', '[{"name": "again", "retry": 1}]') as r \gset
select t.start(:'r' || '.again'), t.run(:'r' || '.again'), t.finish(:'r' || '.again', '{"exit": 1, "outcome": "fail", "user_usec": 600000}', '{"cpu_usec": 600700}'), t.later(), t.pass(:'r' || '.again') \g /dev/null
select is((select concat_ws(' ', r ->> 'cpu_s', r ->> 'attempts', r ->> 'read_bytes') from jsonb_array_elements(t.ask('job_acct', 'alice', jsonb_build_object('jobs', :'r', 'steps', s)) -> 'rows') r),
	'0.6032 2 20', format('both attempts of a step (steps %s)', s)) from unnest('{true,false}'::boolean[]) s;
select is((select sum((r ->> 'cpu_s')::numeric) from jsonb_array_elements(t.ask('job_acct', 'olga') -> 'rows') r), (select sum(u.cpu_used_s) from internal.usage_used u), 'all jobs come to what usage figures say');
select ok(t.used_fit('olga'), 'lines say the same');
update rota.allocation set cpu_usec = null where job_id = :r and attempt = 2;
select is(t.ask('job_acct', 'alice', jsonb_build_object('jobs', :'r')) #> '{rows,0,cpu_s}', '0.6007', 'an attempt that no node counted adds nothing');
select ok(t.used_fit('olga'), 'and so do lines');

-- The state of a job that is not over: queue, accounting and wait agree.
create function t.said(p_job bigint) returns text language sql as $$
	select concat_ws(' ', t.ask('job_queue', 'alice', t.request(p_job::text)) #>> '{jobs,0,state}', r ->> 'state', t.ask('job_wait', 'alice', t.request(p_job::text)) #>> '{jobs,0,state}',
		case when r ->> 'elapsed_s' is null then 'no time' end)
	from jsonb_array_elements(t.ask('job_acct', 'alice', t.request(p_job::text)) -> 'rows') r $$;
select t.submit('alice', '[{"name": "a", "retry": 1}]') as s \gset
select is(t.said(:s), 'pending pending pending no time', 'waits');
select t.start(:'s' || '.a') \g /dev/null
select is(t.said(:s), 'starting starting starting', 'starts');
select t.run(:'s' || '.a'), api.job_suspend(0, 'root', t.request(:'s')), t.report(t.say(:'s' || '.a', 'suspended')) \g /dev/null
select is(t.said(:s), 'suspended suspended suspended', 'is suspended');
select ok(t.used_fit('alice', t.request(:'s')), 'lines say so too');
update rota.attempt set suspended_at = '2030-01-01 12:00' where job_id = :s;
select is(t.ask('job_why', 'alice', t.request(:'s')) #>> '{steps,0,conditions,0,message}' ~ '^suspended, since 2030-01-01 12:00', true, 'why: since it was');
select is(jsonb_array_length(t.ask('job_acct', 'alice', '{"states": "suspended"}') -> 'rows'), 1, 'found as such');
select api.job_resume(0, 'root', t.request(:'s')), t.report(t.say(:'s' || '.a', 'resumed')), t.finish(:'s' || '.a', '{"exit": -1, "signal": 9, "cause": "signal", "outcome": "fail"}') \g /dev/null
select is(t.said(:s), 'pending pending pending no time', 'waits to run again');
select ok(t.used_fit('alice', t.request(:'s')), 'and lines say that');
select api.job_cancel(0, 'root', t.request(:'s')) \g /dev/null
select is((select concat_ws(' ', r ->> 'state', r ->> 'exit_code', r ->> 'signal', r ->> 'cause') from jsonb_array_elements(t.ask('job_acct', 'alice', jsonb_build_object('jobs', :'s', 'steps', x)) -> 'rows') r),
	'cancelled cancelled', format('cancelled then, by no signal (steps %s)', x)) from unnest('{true,false}'::boolean[]) x;
select t.submit('alice', '[{"name": "a"}]') as k \gset
select t.start(:'k' || '.a'), t.run(:'k' || '.a'), t.finish(:'k' || '.a', '{"exit": -1, "signal": 15, "cause": "time_limit", "outcome": "timeout"}') \g /dev/null
select is(regexp_replace(t.ask('job_why', 'alice', t.request(:'k')) #>> '{steps,0,conditions,0,message}', ' at [^,]*', ''), 'timeout, signal 15', 'why: a step that a signal ended has no exit code');
select t.submit('alice', '[{"name": "a"}]') as k \gset
select t.start(:'k' || '.a'), t.run(:'k' || '.a'), t.finish(:'k' || '.a', '{"exit": 0, "cause": "launch", "outcome": "fail"}') \g /dev/null
select is(regexp_replace(t.ask('job_why', 'alice', t.request(:'k')) #>> '{steps,0,conditions,0,message}', ' at [^,]*', ''), 'failed', 'nor has one that failed before its tasks did');
select * from finish();
rollback;
