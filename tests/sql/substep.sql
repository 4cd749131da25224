-- Sub-steps: a repeated report changes nothing, a later state wins, and a user's report about one job changes no other job.
begin;
\ir world.psql
select * from no_plan();
-- t.sub: a row of a report about a sub-step of a step's latest attempt; times are seconds after the attempt was ordered.
create function t.sub(p_label text, p_substep bigint, p_state text, p_more jsonb default '{}') returns jsonb language sql as $$
	select jsonb_build_object('job', s.job_id, 'step', s.step_id, 'attempt', s.attempt, 'substep', p_substep, 'state', p_state) || p_more from t.step(p_label) s;
$$;
create function t.put(variadic p_rows jsonb[]) returns text language sql as $$
	select changed || ',' || dropped from api.node_substep_report((t.booted('{}') - 'records') || jsonb_build_object('node', 1, 'rows', to_jsonb(p_rows)));
$$;
create function t.row(p_label text, p_substep int) returns acct.substep language sql as $$
	select x from t.step(p_label) s join acct.substep x on x.job_id = s.job_id and x.step_id = s.step_id and x.attempt = s.attempt and x.substep = p_substep;
$$;
create function t.total(p_label text) returns text language sql as $$
	select concat_ws(',', x.waiting, x.running, x.ended, x.failed, x.cpu_usec) from t.step(p_label) s join rota.substep_total x on x.job_id = s.job_id and x.step_id = s.step_id and x.attempt = s.attempt;
$$;
select t.submit('alice', '[{"name": "a"}]') as j \gset
\set a :j '.a'
select t.start(:'a') \g /dev/null
select t.run(:'a') \g /dev/null
-- The attempt was ordered an hour ago, and the clocks agree.
update rota.allocation set boot_at = '2020-01-01 00:00 UTC' where job_id = :j;
update rota.attempt set ordered_at = now() - interval '1 hour', started_at = now() - interval '1 hour' where job_id = :j;
create function t.at(p_second float) returns jsonb language sql as $$ select to_jsonb(t.clock('0', 0) - 3600000000 + (p_second * 1000000)::bigint) $$;

-- The life of a sub-step.
select is(t.put(t.sub(:'a', 1, 'waiting', jsonb_build_object('queued_us', t.at(10), 'name', 'solve', 'command', './solve -n 3', 'ntasks', 4, 'cpus', 4, 'mem_mb', 100, 'gres', '',
	'after', '2:ok', 'priority', -3, 'retry', 1))), '1,0', 'a new sub-step');
select is((t.row(:'a', 1)).state || (t.row(:'a', 1)).runs, 'waiting0', 'waits');
select is((t.row(:'a', 1)).queued_at, now() - interval '3590 seconds', 'since a time by the clock of the database');
select is(t.total(:'a'), '1,0,0,0', 'it is counted');
select is(t.put(t.sub(:'a', 1, 'waiting', jsonb_build_object('queued_us', t.at(11), 'name', 'other'))), '0,0', 'a repeated report changes nothing');
select is(t.put(t.sub(:'a', 1, 'running', jsonb_build_object('started_us', t.at(20), 'run', 1, 'node', 'n1'))), '1,0', 'it runs');
select is(t.put(t.sub(:'a', 1, 'running', jsonb_build_object('started_us', t.at(25), 'run', 1))), '0,0', 'which counts once');
select is(t.put(t.sub(:'a', 1, 'waiting')), '0,0', 'and it does not wait again');
select is(t.total(:'a'), '0,1,0,0', 'it is counted as running');
select is(t.put(t.sub(:'a', 1, 'running', jsonb_build_object('started_us', t.at(30), 'run', 2, 'node', 'n1'))), '1,0', 'a second run');
select is(t.total(:'a'), '0,1,0,0', 'is not a second sub-step');
select is(t.put(t.sub(:'a', 1, 'completed', jsonb_build_object('ended_us', t.at(32.5), 'run', 2, 'exit', 0, 'signal', 0, 'cause', 'exit', 'user_usec', 1500000, 'system_usec', 500000,
	'max_rss_kb', 77, 'minflt', -1, 'rchar', 5, 'tasks_failed', 0))), '1,0', 'it ends');
select results_eq(format($$select step, user_name, name, tasks, cpus, mem_mb, gres, after, priority, retry, runs, state, exit_code, signal, cause, node from acct.substep where job_id = %s$$, :'j'),
	$$values ('a', 'alice', 'solve', 4, 4, 100::bigint, null, '2:ok', -3, 1, 2, 'completed', 0, null::int, 'exit', 'n1')$$, 'with all that was said of it');
select results_eq(format($$select wait_s, elapsed_s, user_cpu_s, system_cpu_s, max_rss_kb, minor_faults, rchar, tasks_failed from acct.substep where job_id = %s$$, :'j'),
	'values (20::float, 2.5::float, 1.5::float, 0.5::float, 77::bigint, null::bigint, 5::bigint, 0)', 'and its figures');
select is(t.put(t.sub(:'a', 1, 'failed', jsonb_build_object('ended_us', t.at(40), 'exit', 1)), t.sub(:'a', 1000, 'waiting')), '1,0', 'what has ended keeps its end');
select is((t.row(:'a', 1)).state, 'completed', 'as it was');
select is(t.total(:'a'), '1,0,1,0,2000000', 'the totals agree');
select is(t.put(t.sub(:'a', 2, 'failed', jsonb_build_object('queued_us', t.at(1), 'started_us', t.at(2), 'ended_us', t.at(3), 'run', 1, 'exit', 3, 'cause', 'exit')),
	t.sub(:'a', 3, 'timeout', jsonb_build_object('queued_us', t.at(1), 'started_us', t.at(2), 'ended_us', t.at(3), 'run', 1, 'signal', 9, 'cause', 'time_limit', 'user_usec', 1, 'system_usec', 1)),
	t.sub(:'a', 4, 'skipped', jsonb_build_object('ended_us', t.at(3))), t.sub(:'a', 5, 'running', jsonb_build_object('started_us', t.at(5), 'run', 1))), '4,0', 'several at once');
select is(t.total(:'a'), '1,1,4,2,2000002', 'are counted by their states');

-- Rows that no step manager writes are ignored, and values out of range do not lose the rest of the row.
select is(t.put(t.sub(:'a', 0, 'running'), t.sub(:'a', -1, 'running'), t.sub(:'a', 2147483648, 'running'), t.sub(:'a', 9, 'pending'), t.sub(:'a', 9, null), t.sub(:'a', null, 'running')), '0,6', 'rows without a number or state are left out');
select is(t.put(t.sub(:'a', 10, 'completed', jsonb_build_object('queued_us', -9223372036854775808, 'started_us', -9223372036854775808, 'ended_us', 9223372036854775807, 'run', 9223372036854775807, 'ntasks', -5, 'cpus', 99999999999,
	'mem_mb', 9223372036854775807, 'priority', -9223372036854775808, 'exit', 256, 'signal', 65, 'cause', 'because', 'user_usec', 9223372036854775807, 'system_usec', 9223372036854775807,
	'name', repeat('x', 1000), 'command', repeat('ü', 1000), 'node', repeat('n', 1000), 'gres', repeat('g', 1000), 'after', repeat('a', 1000)))), '1,0', 'values out of range do not lose the row');
select results_eq(format($$select tasks, cpus, mem_mb, priority, exit_code, signal, cause, user_cpu_s, length(name), runs from acct.substep where job_id = %s and substep = 10$$, :'j'),
	'values (null::int, null::int, null::bigint, null::int, null::int, null::int, null, null::float, 256, 0)', 'they are unknown');
select results_eq(format($$select queued_at, ended_at, elapsed_s from acct.substep where job_id = %s and substep = 10$$, :'j'), $$values (now() - interval '1 hour', now(), 3600::float)$$, 'times stay within the attempt');
select is(t.put(t.sub(:'a', 11, 'completed', jsonb_build_object('started_us', t.at(50), 'ended_us', t.at(40)))), '1,0', 'an end before the start');
select is((t.row(:'a', 11)).elapsed_s, 0::float, 'takes no time');
select is(t.put(t.sub(:'a', 12, 'completed', '{"user_usec": 1152921504606846976, "system_usec": 1152921504606846976}'), t.sub(:'a', 13, 'completed', '{"user_usec": 1152921504606846976, "system_usec": 1152921504606846976}'),
	t.sub(:'a', 14, 'completed', '{"user_usec": 1152921504606846976, "system_usec": 1152921504606846976}'), t.sub(:'a', 15, 'completed', '{"user_usec": 1152921504606846976, "system_usec": 1152921504606846976}'),
	t.sub(:'a', 16, 'completed', '{"user_usec": 1152921504606846976, "system_usec": 1152921504606846976}')), '5,0', 'sums do not overflow');

-- The users and nodes whose reports about a step count.
select t.submit('bob', '[{"name": "b"}]') as k \gset
\set b :k '.b'
select is(t.put(t.sub(:'b', 1, 'running')), '0,1', 'not of a step that was not started');
select t.start(:'b', '{2}') \g /dev/null
select is(t.put(t.sub(:'b', 1, 'running')), '0,1', 'not of one on another node');
select is(t.put(t.sub(:'a', 20, 'running') || '{"attempt": 2}', t.sub(:'a', 20, 'running') || '{"job": 999999}', t.sub(:'a', 20, 'running')), '1,2', 'nor of an attempt that there is not; the rest is stored');
select is((select count(*) from rota.substep where job_id <> :j), 0::bigint, 'nothing of them is stored');

-- The end of the attempt ends its sub-steps.
select t.finish(:'a') \g /dev/null
select results_eq(format($$select state, cause, ended_at = (select ended_at from acct.attempt where job_id = %1$s) from acct.substep where job_id = %1$s and substep = 5$$, :'j'), $$values ('cancelled', 'allocation_ended', true)$$,
	'what had not ended did with its attempt');
select is((t.row(:'a', 1)).state, 'completed', 'what had ended stays');
select is(t.put(t.sub(:'a', 5, 'completed', jsonb_build_object('ended_us', t.at(1e9), 'run', 1))), '1,0', 'an end that is reported late');
select ok((select u.ended_at from rota.substep u where u.job_id = :j and u.substep = 5) <= (select ended_at from rota.attempt where job_id = :j), 'is not after that of the attempt');
-- Calls of step managers to the other nodes of their attempts.
create function t.call(p_label text, p_node int, p_port int, p_keys jsonb) returns text language plpgsql as $$
declare
	v_before bigint := coalesce((select max(order_id) from rota.node_order), 0);
begin
	perform api.node_substep_report((t.booted('{}') - 'records') || jsonb_build_object('node', p_node, 'rows', '[]'::jsonb, 'calls', (
		select jsonb_build_array(jsonb_build_object('job', s.job_id, 'step', s.step_id, 'attempt', s.attempt, 'port', p_port, 'keys', p_keys)) from t.step(p_label) s)));
	return (select string_agg(o.node_id || ':' || o.kind || ':' || left(o.body, 2) || ':' || (o.args ->> 'port') || ':' || (o.args ->> 'host'), ' ' order by o.node_id)
		from rota.node_order o where o.order_id > v_before);
end $$;
select t.submit('alice', '[{"name": "wide", "nodes_min": 2}]') as w \gset
\set w :w '.wide'
select t.start(:'w', '{3,2}') \g /dev/null
select t.run(:'w') \g /dev/null
update rota.node set address = 'host' || node_id;
select jsonb_object_agg(name, repeat('ab', 32)) as keys from rota.node \gset
select is(t.call(:'w', 3, 7000, :'keys'), '2:agent:ab:7000:host3', 'the other node of the step is called, with its key');
select is(t.call(:'w', 2, 7000, :'keys'), null, 'only the first node calls');
select is(t.call(:'a', 1, 7000, :'keys'), null, 'a step of one node has no others');
select is(t.call(:'w', 3, 0, :'keys'), null, 'a port that is none');
select is(t.call(:'w', 3, 7000, (select jsonb_object_agg(name, 'ab''c') from rota.node)), null, 'a key that is none');
select is(t.call(:'w', 3, 7000, '{"nowhere": "ab"}'), null, 'a node that is none');
create function t.join(p_label text, p_node int) returns text language plpgsql as $$
declare
	v_before bigint := coalesce((select max(order_id) from rota.node_order), 0);
begin
	perform api.node_substep_report((t.booted('{}') - 'records') || jsonb_build_object('node', p_node, 'rows', '[]'::jsonb, 'calls', (
		select jsonb_build_array(jsonb_build_object('job', s.job_id, 'step', s.step_id, 'attempt', s.attempt, 'join', true)) from t.step(p_label) s)));
	return (select string_agg(o.node_id || ':' || o.kind, ' ' order by o.node_id) from rota.node_order o where o.order_id > v_before);
end $$;
select is(t.join(:'w', 2), '3:agents', 'another node of the step has the first one call');
select is(t.join(:'w', 3), null, 'the first one does not');
select is(t.join(:'w', 1), null, 'nor a node of another step');
-- Users who see sub-steps.
create role alice;
create role bob;
grant rota_reader to alice, bob;
grant usage on schema t, public, tap to public;
set local role alice;
select is((select min(x.command) from acct.substep x where x.job_id = :j and x.substep = 1), './solve -n 3', 'the owner sees the command');
set local role bob;
select is_empty('select from acct.substep', 'another user sees none of them');
set local role rota_analyst;
select results_eq(format('select command, name from acct.substep where job_id = %s and substep = 1', :'j'), $$values (null, 'solve')$$, 'an analyst sees rows of others, without the command');
reset role;
select * from finish();
rollback;
