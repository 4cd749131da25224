-- Leadership between real sessions: which one leads, when another one may, and that no two of them commit. The sessions a, b and
-- c are jobmgrds; they commit, so this file leaves terms behind in rota.leader. With a lease of 0 seconds a session counts as
-- silent as soon as it waits.
\ir shared.psql
create function t.claim(p_name text, p_lease_s int) returns bigint language sql as $$
	select t.say(p_name, format('select api.leader_claim(''schedule'', %s)', p_lease_s))::bigint;
$$;
create function t.pid(p_name text) returns int language sql as $$ select t.say(p_name, 'select pg_backend_pid()')::int $$;
-- t.silent: wait until a session has answered and waits for its next call.
create procedure t.silent(p_name text) language plpgsql as $$
begin
	call t.await(format('select wait_event_type = ''Client'' from pg_stat_activity where application_name = %L', p_name));
end $$;
-- t.win: claim leadership again and again, as jobmgrds do, until it is granted.
create function t.win(p_name text, p_lease_s int) returns bigint language plpgsql as $$
declare
	v_term bigint;
begin
	for i in 1 .. 3000 loop
		v_term := t.claim(p_name, p_lease_s);
		exit when v_term is not null;
		perform pg_sleep(0.02);
	end loop;
	return v_term;
end $$;
select t.open(n, 'rota_jobmgr_leader') from unnest('{a,b,c}'::text[]) n \g /dev/null

-- One session leads, and renews its leadership.
select t.win('a', 60) as term \gset
select is(t.claim('a', 60), :term::bigint, 'who leads and claims leads on');
select is(t.claim('b', 60), null, 'another one does not');
select is(internal.leader_lives(), true, 'somebody leads');
select lives_ok(format($$select t.say('a', 'select now from api.schedule_tick(%s)')$$, :term), 'the leader decides');

-- The leader is killed: its session is gone, and the next session that claims leads, however long the lease was.
select dblink_disconnect('a') \g /dev/null
call t.await('select not internal.leader_lives()');
select is(t.win('b', 0), (:term + 1)::bigint, 'the session of the leader is gone: the next term');
select is((select owner from rota.leader where name = 'schedule'), 'b ' || t.pid('b'), 'its holder');

-- The leader hangs for longer than its lease. It wakes up between two calls, and all its calls are refused.
call t.silent('b');
select is(internal.leader_lives(), false, 'a leader that has been silent for longer than its lease does not lead');
select is(t.claim('c', 60), (:term + 2)::bigint, 'silent: the next term');
select throws_ok(format($$select t.say('b', 'select %s')$$, replace(f, 'TERM', (:term + 1)::text)), 'RT412', null, 'of the old term: ' || f)
from unnest('{"now from api.schedule_tick(TERM)","job_id from api.schedule_commit(TERM, ''''[]'''', ''''[]'''')","api.schedule_plan(TERM, ''''[]'''', null, null)","api.schedule_refuse(TERM, null, null, null)"}'::text[]) f;
select is(t.claim('b', 60), null, 'and it does not lead again');
select lives_ok(format($$select t.say('c', 'select now from api.schedule_tick(%s)')$$, :term + 2), 'the new one decides');

-- The leader hangs within a scheduling cycle, between reading and deciding, also if both are one transaction.
select dblink_disconnect('c') \g /dev/null
select t.win('b', 0) as term \gset
select dblink_exec('b', 'begin') \g /dev/null
select t.say('b', 'select count(*) from api.schedule_nodes()') \g /dev/null
select t.open('c', 'rota_jobmgr_leader') \g /dev/null
call t.silent('b');
select is(t.claim('c', 0), (:term + 1)::bigint, 'who has only read holds up nobody');
select throws_ok(format($$select t.say('b', 'select now from api.schedule_tick(%s)')$$, :term), 'RT412', null, 'and decides nothing any more');
select dblink_exec('b', 'rollback') \g /dev/null

-- The leader hangs within the transaction of a decision, after the check of its term: it cannot commit once the next term has
-- begun.
select dblink_exec('c', 'begin') \g /dev/null
select t.say('c', format('select api.schedule_plan(%s, ''[]'', null, null)', :term + 1)) \g /dev/null
call t.silent('c');
select is(t.claim('b', 0), null, 'a term under which a decision is open does not end, and nobody waits for it');
select is((select term from rota.leader where name = 'schedule'), (:term + 1)::bigint, 'not a moment before');
select is(t.win('b', 0), (:term + 2)::bigint, 'the silent session is ended, and the next term begins');
select throws_ok($$select dblink_exec('c', 'commit')$$, null, null, 'the decision that was open cannot be committed');
select dblink_disconnect('c') \g /dev/null

-- The leader works within such a transaction, so it is not silent: the claim does not wait for it or end it, and it commits in
-- its own term.
select dblink_exec('b', 'begin'), t.say('b', format('select ''planned'' from api.schedule_plan(%s, ''[]'', null, null)', :term + 2)), dblink_exec('b', 'savepoint planned') \g /dev/null
-- The call must last longer than all statements until the cancellation.
select dblink_send_query('b', 'select pg_sleep(300)') \g /dev/null
call t.await($$select wait_event = 'PgSleep' from pg_stat_activity where application_name = 'b'$$);
select t.open('a', 'rota_jobmgr_leader') \g /dev/null
select is(t.claim('a', 60), null, 'a leader at work leads on, whatever its lease');
select is(internal.leader_lives(), true, 'and lives');
select dblink_cancel_query('b') \g /dev/null
select count(*) from dblink_get_result('b', false) x (v text) \g /dev/null
select count(*) from dblink_get_result('b', false) x (v text) \g /dev/null
select dblink_exec('b', 'rollback to planned') \g /dev/null
select is(dblink_exec('b', 'commit'), 'COMMIT', 'what it decided is committed');
select is(t.win('a', 60), (:term + 3)::bigint, 'then it is silent, and the next term begins');
select throws_ok(format($$select t.say('b', 'select now from api.schedule_tick(%s)')$$, :term + 2), 'RT412', null, 'of the old term');

-- Two sessions claim at once: one wins.
select t.open('c', 'rota_jobmgr_leader') \g /dev/null
select dblink_disconnect('a') \g /dev/null
call t.await('select not internal.leader_lives()');
select dblink_exec('b', 'begin'), t.claim('b', 60) as b \gset
select is(:b, :term + 4, 'the first one');
select is(t.claim('c', 60), null, 'the second one does not wait for the first to commit');
select dblink_exec('b', 'commit') \g /dev/null
select is(t.claim('c', 60), null, 'nor does it lead when that has');

-- A daemon that is cut off between two calls of a transaction: its locks are released after a time.
select t.open('n', 'rota_node') \g /dev/null
select t.pid('n') as pid \gset
select dblink_exec('n', 'begin'), t.say('n', $$select api.daemon_register('procmgrd', 'takeover', 1, '1')$$) \g /dev/null
select dblink_exec('c', 'begin'), t.say('c', 'select count(*) from api.schedule_nodes()') \g /dev/null
call t.silent('n');
call t.silent('c');
select is(t.say('b', 'select who from api.session_judge(60)'), null, 'a session that was silent for a short time is left alone');
select is(t.say('b', 'select who from api.session_judge(0)'), 'n', 'one that has written and is silent is ended');
call t.await(format('select not exists (select from pg_stat_activity where pid = %s)', :pid));
select lives_ok($$select dblink_exec('c', 'commit')$$, 'one that has only read is not');
select is((select count(*) from rota.daemon where name = 'takeover'), 0::bigint, 'nothing of it stays');
select * from finish();
rollback;
