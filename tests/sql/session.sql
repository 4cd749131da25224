-- Limits of readers' sessions that no session can lift: a real session exceeds each limit and is ended, with the reason on
-- record; sessions within the limits and those of other roles go on. Sessions of this file commit changes, so it undoes them.
\ir shared.psql
create function t.judge() returns text language sql as $$
	select t.say('jobmgr', $q$select string_agg(who || ': ' || reason, ', ' order by who) from api.session_judge(600)$q$);
$$;
create function t.admin(p_object text, p_action text, p_name text, p_values text default '{}') returns text language sql as $$
	select t.say('change', format('select api.admin_change(0, ''root'', jsonb_build_object(''object'', %L, ''action'', %L, ''name'', %L, ''values'', %L::jsonb)) ->> ''changed''', p_object, p_action, p_name, p_values));
$$;
create function t.set(p_name text, p_value text) returns text language sql as $$ select t.admin('setting', 'change', p_name, jsonb_build_object('value', p_value)::text) $$;
select t.open('jobmgr', 'rota_jobmgr_leader'), t.open('change', 'rota_jobmgr_admin') \g /dev/null
create table t.before as select name, value from rota.setting where name ~ '^reader_';

-- The logins.
select is(t.admin('user', 'create', 'test_eve', '{"analyst": "true"}'), 'true', 'an analyst is made');
select is(t.admin('user', 'create', 'test_bob', '{"reader": "true"}'), 'true', 'and a reader');
select is((select string_agg(rolname || ' ' || rolconnlimit, ', ' order by rolname) from pg_roles where rolname in ('test_eve', 'test_bob', 'rota_admin')),
	'rota_admin 20, test_bob 10, test_eve 10', 'how many sessions a login may have');
savepoint upgrade;
alter role test_bob connection limit -1;
alter role test_eve connection limit 30;
select login.bound_sessions(r) from unnest('{test_bob,test_eve}'::text[]) r \g /dev/null
select string_agg(rolname || ' ' || rolconnlimit, ', ' order by rolname) as limits from pg_roles where rolname in ('test_eve', 'test_bob') \gset
rollback to upgrade;
select is(:'limits'::text, 'test_bob 10, test_eve 30', 'an upgrade limits a login that has no limit, and leaves one that an administrator set');
select is((select t.open('e' || n, 'test_eve') from generate_series(1, 10) n limit 1), 'OK', 'as many may be opened');
select count(t.open('e' || n, 'test_eve')) from generate_series(2, 10) n \g /dev/null
select throws_ok($$select t.open('e11', 'test_eve')$$, '08001', null, 'the next is refused');
select is(dblink_exec('e1', 'set default_transaction_read_only = off'), 'SET', 'who may write');
select throws_ok($$select dblink_exec('e1', 'alter role test_eve connection limit 100')$$, '42501', null, 'does not raise their own limit');
select is(dblink_exec('e1', 'set statement_timeout = 0'), 'SET', 'other settings a session may change');
select throws_ok($$select dblink_exec('e1', 'set track_activities = off')$$, '42501', null, 'but not what the server shows of it');
select is((select t.say('e1', 'show track_activities')), 'on', 'which is everything');
select is(t.judge(), null, 'within the limits nobody is ended');

-- A long statement. (A session that has not lifted its own limit is cancelled before.)
select is(t.set('reader_statement_s', '1'), 'true', 'a statement may take a second');
select t.open('b', 'test_bob'), t.open('admin', 'rota_admin') \g /dev/null
select dblink_send_query('e1', 'select pg_sleep(60)'), dblink_send_query('admin', 'select pg_sleep(60)') \g /dev/null
call t.await($$select count(*) = 2 from pg_stat_activity where wait_event = 'PgSleep' and query_start < clock_timestamp() - interval '1 second'$$);
select is(t.judge(), 'test_eve: a statement took longer than setting reader_statement_s', 'one that takes longer is ended');
select throws_ok($$select * from dblink_get_result('e1') x (v text)$$, null, null, 'with its session');
select is(t.say('b', 'select 1'), '1', 'another one is not');
select is(dblink_cancel_query('admin'), 'OK', 'nor is that of others');
select is((select concat_ws(' ', actor, action, name, given ->> 'reason', given ->> 'sessions') from rota.admin_event where object = 'session' order by admin_event_id desc limit 1),
	'rota_jobmgr_leader end test_eve a statement took longer than setting reader_statement_s 1', 'it is on record');
select is(t.set('reader_statement_s', '360'), 'true', 'as before');

-- An idle transaction.
select is(t.set('reader_idle_s', '1'), 'true', 'a transaction may be idle for a second');
select dblink_exec('e2', 'set idle_in_transaction_session_timeout = 0'), dblink_exec('e2', 'begin') \g /dev/null
call t.await($$select exists (select from pg_stat_activity where application_name = 'e2' and state = 'idle in transaction' and state_change < clock_timestamp() - interval '1 second')$$);
select is(t.judge(), 'test_eve: a transaction was idle for longer than setting reader_idle_s', 'one that is for longer is ended');
select is(t.say('e3', 'select 1'), '1', 'a session without a transaction may be idle');
select is(t.set('reader_idle_s', '90'), 'true', 'as before');

-- Too many sessions in all: sessions of the user with the most are ended first. e1 and e2 are gone.
call t.await($$select count(*) = 8 from pg_stat_activity where usename = 'test_eve'$$);
select is(t.set('reader_sessions', '4'), 'true', 'four sessions for all readers');
select is(t.judge(), (select string_agg('test_eve: analysts and readers had more sessions than setting reader_sessions', ', ') from generate_series(1, 5)), 'those beyond are ended');
call t.await($$select count(*) = 3 from pg_stat_activity where usename = 'test_eve'$$);
select is(t.say('b', 'select 2'), '2', 'who has but one keeps it');
select is(t.say('e3', 'select 2'), '2', 'and the older ones stay');
select is(t.set('reader_sessions', '0'), 'true', 'any number');
select is(t.judge(), null, 'nobody is ended');
select is(t.set('reader_sessions', '50'), 'true', 'as before');

-- Ended sessions are recorded with the reason, once a minute.
select is(t.set('reader_idle_s', '1'), 'true', 'a transaction may be idle for a second');
select dblink_exec('e3', 'set idle_in_transaction_session_timeout = 0'), dblink_exec('e3', 'begin') \g /dev/null
call t.await($$select exists (select from pg_stat_activity where application_name = 'e3' and state = 'idle in transaction' and state_change < clock_timestamp() - interval '1 second')$$);
select matches(t.judge(), 'test_eve: a transaction was idle', 'ended again');
select is((select count(*) from rota.admin_event where object = 'session' and name = 'test_eve' and given ->> 'reason' ~ 'idle'), 1::bigint, 'one row');
select is(t.set('reader_idle_s', '90'), 'true', 'as before');

-- nodemgrd judges sessions too; no other role may.
select t.open('nodemgr', 'rota_nodemgr') \g /dev/null
select is(t.say('nodemgr', 'select who from api.session_judge(600)'), null, 'nodemgrd judges');
select is((select string_agg(name || ' ' || value, ', ') from rota.setting s where name ~ '^reader_' and not exists (select from t.before b where b.name = s.name and b.value = s.value)), null, 'all settings are as before');
select dblink_disconnect(n) from unnest(dblink_get_connections()) n where n not in ('jobmgr', 'change') \g /dev/null
call t.await($$select not exists (select from pg_stat_activity where usename in ('test_eve', 'test_bob'))$$);
select is(t.admin('user', 'delete', 'test_bob'), 'true', 'the reader goes');
select is(t.admin('user', 'delete', 'test_eve'), 'true', 'the analyst goes');
select * from finish();
rollback;
