-- Sessions: attached clients and the last use of a terminal, as the user's own job reports them; a report counts for no other
-- job.
begin;
\ir world.psql
select * from no_plan();
-- t.sub: the part of a report about the session of a sub-step of a step's latest attempt; times are seconds after the attempt was
-- ordered.
create function t.sub(p_label text, p_substep bigint, p_more jsonb default '{}') returns jsonb language sql as $$
	select jsonb_build_object('job', s.job_id, 'step', s.step_id, 'attempt', s.attempt, 'substep', p_substep) || p_more from t.step(p_label) s;
$$;
create function t.put(variadic p_rows jsonb[]) returns text language sql as $$
	select changed || ',' || dropped from api.node_substep_report((t.booted('{}') - 'records') || jsonb_build_object('node', 1, 'rows', to_jsonb(p_rows)));
$$;
select t.submit('alice', '[{"name": "a"}]') as j \gset
\set a :j '.a'
select t.start(:'a') \g /dev/null
select t.run(:'a') \g /dev/null
-- The attempt was ordered an hour ago, and the clocks agree.
update rota.allocation set boot_at = '2020-01-01 00:00 UTC' where job_id = :j;
update rota.attempt set ordered_at = now() - interval '1 hour', started_at = now() - interval '1 hour' where job_id = :j;
create function t.at(p_second float) returns jsonb language sql as $$ select to_jsonb(t.clock('0', 0) - 3600000000 + (p_second * 1000000)::bigint) $$;

select is(t.put(t.sub(:'a', 1, jsonb_build_object('state', 'running', 'queued_us', t.at(1), 'started_us', t.at(2), 'run', 1, 'name', 'shell', 'cpus', 2, 'mem_mb', 100, 'gres', 'gpu:1',
	'session', 'work', 'session_us', t.at(2), 'key_us', 0, 'output_us', 0, 'idle_timeout_s', 600, 'attached', '[]'::jsonb))), '2,0', 'a session begins with its sub-step');
select results_eq(format($$select name, state, cpus, mem_mb, gres, attached, last_key_at, idle_timeout_s, idle_s from acct.session where job_id = %s$$, :'j'),
	$$values ('work', 'running', 2, 100::bigint, 'gpu:1', '[]'::jsonb, null::timestamptz, 600, 3598::float)$$, 'with what it holds');
select is(t.put(t.sub(:'a', 1, jsonb_build_object('session', 'work', 'session_us', t.at(60), 'key_us', t.at(50), 'output_us', t.at(55), 'idle_timeout_s', 600, 'idle_timeout_of', 'partition main',
	'attached', jsonb_build_array(jsonb_build_object('user', 'alice', 'host', 'desk', 'since', t.at(10)))))), '1,0', 'a row without a state is about the session only');
select results_eq(format($$select attached -> 0 ->> 'user', attached -> 0 ->> 'host', (attached -> 0 ->> 'since')::timestamptz, last_key_at, last_output_at, idle_s from acct.session where job_id = %s$$, :'j'),
	$$values ('alice', 'desk', now() - interval '3590 seconds', now() - interval '3550 seconds', now() - interval '3545 seconds', 3545::float)$$, 'it says who is attached, and when it was used');
select is(t.put(t.sub(:'a', 1, jsonb_build_object('session', 'old', 'session_us', t.at(30), 'key_us', t.at(3), 'output_us', t.at(3), 'attached', '[]'::jsonb))), '0,0', 'an older record changes nothing');
select is((select name || ' ' || idle_timeout_of from acct.session where job_id = :j), 'work partition main', 'as it was');
select is((select state || runs from acct.substep where job_id = :j), 'running1', 'the sub-step is as it was');

-- Rows and values that no step manager writes.
select is(t.put(t.sub(:'a', 2, jsonb_build_object('state', 'running', 'run', 1, 'session', repeat('x', 1000), 'session_us', 9223372036854775807, 'key_us', 9223372036854775807, 'output_us', -9223372036854775808,
	'idle_timeout_s', -1, 'idle_timeout_of', repeat('y', 1000), 'attached', (select jsonb_agg('{"user": "x", "host": "y", "since": 99999999999999999999}'::jsonb || case when n > 3 then '{"since": 5}' else '{}' end::jsonb) from generate_series(1, 40) n)))),
	'2,0', 'values out of range do not lose the row');
select results_eq(format($$select length(name), jsonb_array_length(attached), last_key_at, last_output_at, idle_timeout_s, length(idle_timeout_of), reported_at from acct.session where job_id = %s and substep = 2$$, :'j'),
	$$values (256, 13, now(), null::timestamptz, null::int, 256, now())$$, 'they are cut, unknown, or within the attempt');
select is(t.put(t.sub(:'a', 3, jsonb_build_object('state', 'running', 'session', 'odd', 'session_us', t.at(5), 'attached', '{"user": 1}'::jsonb))), '2,0', 'a list that is none');
select is((select attached from acct.session where job_id = :j and substep = 3), '[]', 'has nobody');
select is(t.put(t.sub(:'a', 0, jsonb_build_object('session', 'x', 'session_us', 1)), t.sub(:'a', 4, '{"session": "x"}')), '0,2', 'rows without a number or time are left out');

-- The users and nodes whose reports about a step count.
select t.submit('bob', '[{"name": "b"}]') as k \gset
\set b :k '.b'
select is(t.put(t.sub(:'b', 1, jsonb_build_object('session', 'forged', 'session_us', 1))), '0,1', 'not of a step that was not started');
select t.start(:'b', '{2}') \g /dev/null
select is(t.put(t.sub(:'b', 1, jsonb_build_object('session', 'forged', 'session_us', 1))), '0,1', 'not of one on another node');
select is((select count(*) from rota.session where job_id <> :j), 0::bigint, 'nothing of them is stored');

-- The end of a session.
select is(t.put(t.sub(:'a', 1, jsonb_build_object('state', 'timeout', 'ended_us', t.at(660), 'cause', 'idle_timeout', 'run', 1))), '1,0', 'its end');
select results_eq(format($$select state, cause, attached, idle_s from acct.session where job_id = %s and substep = 1$$, :'j'), $$values ('timeout', 'idle_timeout', '[]'::jsonb, 605::float)$$, 'leaves nobody attached');
select is((select count(*) from json_array_elements((api.job_acct(0, 'root', jsonb_build_object('sessions', true, 'states', jsonb_build_array('running')))) -> 'rows')), 2::bigint, 'rota acct --sessions lists what runs');

-- Users who see sessions.
create role alice;
create role bob;
grant rota_reader to alice, bob;
grant usage on schema t, public, tap to public;
set local role alice;
select is((select min(x.name) from acct.session x where x.job_id = :j and x.substep = 1), 'work', 'the owner sees the session');
set local role bob;
select is_empty('select from acct.session', 'another user sees none');
reset role;
select * from finish();
rollback;
