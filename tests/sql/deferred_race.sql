-- Reports that meet the lock of another report, between real sessions: they are deferred, and whoever gets the lock first applies
-- all of them. The sessions commit, so this file has a database of its own.
\set name deferred_race
\ir own.psql
create function t.ask(p_session text, p_sql text) returns text language sql as $$ select x.v from dblink(p_session, p_sql) x (v text) $$;
create function t.answer(p_session text) returns text language plpgsql as $$
declare
	v_answer text;
begin
	select x.v into v_answer from dblink_get_result(p_session) x (v text);
	perform x.v from dblink_get_result(p_session) x (v text);
	return v_answer;
exception when others then
	perform x.v from dblink_get_result(p_session, false) x (v text);
	return sqlstate;
end $$;
-- The first call of a process manager for a report, and the second.
create function t.reporting(p_report jsonb, p_alone boolean default false) returns text language sql as $$
	select format('select coalesce(r.new_count::text, ''left'') from api.node_report(%L, %L, %L) r', t.booted(p_report - 'coalesced'), t.clocked_list(coalesce(p_report -> 'coalesced', '[]')), p_alone) $$;
create function t.settling(p_node int) returns text language sql as $$
	select format('select s.new_count::text from api.node_apply(%s) s', (select max(l.deferred_id) from rota.report_deferred l where l.node_id = p_node)) $$;
create function t.ending(p_label text, p_more jsonb default '{}') returns jsonb language sql as $$
	select t.reports(t.say(p_label, 'task', p_more), t.say(p_label, 'done', p_more), t.say(p_label, 'end', p_more)) $$;
-- An array whose elements run, one on each node.
create function t.array() returns bigint language plpgsql as $$
declare
	v_job bigint := t.submit('alice', '[{"name": "a", "array": {"indices": [[0,3,1]], "size": 4}}]');
begin
	perform t.start(v_job || '.a', array[i], jsonb_build_object('position', i - 1)) from generate_series(1, 4) i;
	perform t.run(v_job || '.a[' || i || ']') from generate_series(0, 3) i;
	return v_job;
end $$;
create function t.left() returns bigint language sql as $$ select count(*) from rota.report_deferred $$;
commit;
select * from no_plan();
select t.open(n) from unnest('{a,b,c}'::text[]) n \g /dev/null

-- No report waits for a lock; the next report that gets the lock applies all deferred ones.
select t.array() as j \gset
select t.ask('a', 'begin'), t.ask('a', format('select internal.job_lock(array[%s])::text', :j)) \g /dev/null
select is(t.ask('b', t.reporting(t.ending(:'j' || '.a[0]', '{"age_us": 20000000}'))), 'left', 'a report that would wait is left');
select is(t.ask('c', t.reporting(t.ending(:'j' || '.a[1]'))), 'left', 'and another');
select is(t.state(:'j' || '.a[0]'), 'running', 'nothing of it counts yet');
select dblink_send_query('b', t.settling(1)), t.settling(2) as other \gset
select ok(t.waits('b'), 'who wants to have it settled waits for the lock');
select t.ask('a', 'commit') \g /dev/null
select is(t.answer('b'), '6', 'and settles both');
select is(t.state(:'j' || '.a[' || i || ']'), 'completed', 'element ' || i || ' has ended') from generate_series(0, 1) i;
select is(t.ask('c', :'other'), '0', 'the other finds it done');
select is(t.left(), 0::bigint, 'nothing is left');
select ok((select max(e.ended_at) - min(e.ended_at) > interval '10 s' from rota.task_end e where e.job_id = :j), 'times are those of the nodes, whenever a report is applied');

-- A report that finds the lock free applies the deferred reports about its jobs.
select t.ask('a', 'begin'), t.ask('a', format('select internal.job_lock(array[%s])::text', :j)) \g /dev/null
select t.ask('b', t.reporting(t.ending(:'j' || '.a[2]'))) \g /dev/null
insert into rota.report_deferred (node_id, job_ids, report) values (4, array[:j, 0], '{"records": [], "orders_done": []}') returning deferred_id as foreign \gset
select t.ask('a', 'commit'), t.settling(3) as other \gset
select is(t.ask('c', t.reporting(t.ending(:'j' || '.a[3]'))), '6', 'a report takes what was left along');
select is(t.job(:j), 'completed', 'the job is over');
select is((select array_agg(deferred_id) from rota.report_deferred), array[:foreign::bigint], 'but not what is about other jobs, too');
select is(t.ask('b', :'other'), '0', 'whoever left it finds it done');
delete from rota.report_deferred;

-- A process manager whose report was deferred and could not be applied (a full disk, say) sends it again while it is still
-- deferred.
select t.array() as j \gset
create function t.again(p_label text) returns jsonb language sql as $$
	select t.reports(t.say(p_label, 'task'), t.say(p_label, 'hook', '{"hook": "site_epilog", "exit": 0, "signal": 0, "usec": 9, "output": ""}'), t.say(p_label, 'done'), t.say(p_label, 'end')) $$;
select t.ask('a', 'begin'), t.ask('a', format('select internal.job_lock(array[%s])::text', :j)) \g /dev/null
select is(t.ask('b', t.reporting(t.again(:'j' || '.a[' || i || ']'))), 'left', 'report ' || i || ' is left') from generate_series(0, 1) i;
select is(t.ask('c', t.reporting(t.again(:'j' || '.a[1]'))), 'left', 'and again');
select t.ask('a', 'commit') \g /dev/null
select lives_ok(t.reporting(t.again(:'j' || '.a[0]')), 'what was left of the same attempt, and of another twice, is settled with the report');
select is((select count(*) from rota.task_end where job_id = :j), 2::bigint, 'each task is there once');
select is((select count(*) from rota.hook_run where job_id = :j), 2::bigint, 'so is each hook');
select is(t.state(:'j' || '.a[' || i || ']'), 'completed', 'element ' || i || ' has ended') from generate_series(0, 1) i;
select is(t.left(), 0::bigint, 'nothing is left');

-- A deferred report that cannot be applied makes a report fail that would apply it too; a report that is then sent by itself
-- passes.
select t.array() as j \gset
insert into rota.report_deferred (node_id, job_ids, report)
select 4, array[:j], replace(t.ending(:'j' || '.a[3]')::text, '"exit": 0', '"exit": "none"')::jsonb returning deferred_id as bad \gset
select throws_ok(t.reporting(t.ending(:'j' || '.a[0]')), '22P02', null, 'a report that takes along what is wrong fails with it');
select is(t.ask('b', t.reporting(t.ending(:'j' || '.a[0]'), true)), '3', 'reported alone, it does not');
update rota.report_deferred set reported_at = reported_at - interval '11 s';
select is(t.ask('b', t.reporting(t.ending(:'j' || '.a[1]'))), '3', 'nor when that is old');
select throws_ok(format('select api.node_apply(%s)', :bad), '22P02', null, 'whoever left it learns what is wrong');
select t.ask('a', 'begin'), t.ask('a', format('select internal.job_lock(array[%s])::text', :j)) \g /dev/null
select dblink_send_query('b', t.reporting(t.ending(:'j' || '.a[2]'), true)) \g /dev/null
select ok(t.waits('b'), 'what is reported alone is not left');
select t.ask('a', 'commit') \g /dev/null
select is(t.answer('b'), '3', 'it waits');

-- Rejected reports of a day that has no table yet, from two at once: one makes it, the other waits for that.
select format('drop table rota.%I', 'rejected_report_' || to_char(now() at time zone 'UTC', 'YYYYMMDD')) \gexec
select jsonb_set(t.reports(t.say(:'j' || '.a[3]', 'task')), '{records,0,job}', '987654') as rejected_report \gset
select t.ask('a', 'begin') \g /dev/null
select is(t.ask('a', t.reporting(:'rejected_report', true)), '0', 'a rejected report changes nothing');
select dblink_send_query('b', t.reporting(:'rejected_report', true)) \g /dev/null
select ok(t.waits('b'), 'another waits while the table is made');
select t.ask('a', 'commit') \g /dev/null
select is(t.answer('b'), '0', 'and finds it there');
select is((select count(*) from rota.rejected_report where at > now() - interval '1 hour'), 2::bigint, 'both are kept');

-- A process manager registers: it sends reports again that it deferred on an earlier connection; it waits for those of this
-- connection.
delete from rota.report_deferred;
insert into rota.report_deferred (node_id, job_ids, report) values (4, array[:j], t.ending(:'j' || '.a[3]')) returning deferred_id as mine \gset
select t.back(4) \g /dev/null
select is((select array_agg(deferred_id) from rota.report_deferred), array[:mine::bigint], 'what is left on this connection stays');
select t.open('d'), t.ask('d', 'select t.back(4)::text') \g /dev/null
select is(t.left(), 0::bigint, 'what was left on one before goes');
select is(t.ask('b', t.reporting(t.ending(:'j' || '.a[3]'))), '3', 'which is new');
select is(t.job(:j), 'completed', 'and nothing is missing');
select is(t.ask('b', 'select s.new_count::text from api.node_apply(null) s'), '0', 'nothing to settle');
select is_empty('select * from t.wrong()', 'all adds up');
select dblink_disconnect(n) from unnest('{a,b,c,d}'::text[]) n \g /dev/null
select * from finish();
\c postgres
set client_min_messages = warning;
drop database deferred_race;
