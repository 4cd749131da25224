-- Schema live: ranges of jobs that are all over cost working statements nothing, and live steps still find the ended rows that
-- they refer to.
begin;
\ir world.psql
select * from no_plan();
-- t.opened: the number of ranges that a statement on a table would open.
create function t.opened(p_table text) returns int language plpgsql as $$
declare
	v_plan json;
begin
	execute format('explain (format json) delete from live.%1$I where job_id = any (array(select 1::bigint))', p_table) into v_plan;
	return (select count(distinct m[1]) from regexp_matches(v_plan::text, format('"Relation Name": "(%s_[0-9]+)"', p_table), 'g') m);
end $$;
create function t.ids_pass(p_job bigint) returns bool language sql as $$ select setval('rota.job_job_id_seq', p_job) = p_job and api.range_ensure() > 0 $$;
create function t.from_job() returns bigint language sql as $$ select f.job_id from rota.live_from f $$;

select set_eq($$select table_name::text from information_schema.views where table_schema = 'live'$$, $$select * from internal.range_tables() union select 'recent_job'$$, 'all tables of jobs are there');
select is((select string_agg(r.from_job || '-' || r.to_job, ' ') from internal.range_bounds() r), '0-1000000', 'a new site has one range');

-- A range with a live job stays in schema live.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as j \gset
select t.submit('alice', '[{"name": "x", "array": {"indices": [[0,1,1]], "size": 2, "limit": null}}]') as arr \gset
create function t.again() returns jsonb language sql as $$
	select api.job_submit(t.uid('alice'), 100, 'alice', t.plan('[{"name": "a"}]', '[]', jsonb_build_object('retry_key', repeat('b2', 16))), '#!/bin/sh', 'A=b') $$;
select t.again() ->> 'job_id' as again \gset
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'again')) \g /dev/null
select t.start(:'j' || '.a', '{2}'), t.run(:'j' || '.a') \g /dev/null
select api.range_ensure() \g /dev/null
select is(t.from_job(), 0::bigint, 'ids to come are in it');
select ok(t.ids_pass(1000000), 'ids have passed it');
select is(t.from_job(), 0::bigint, 'something lives in it');
select is(t.opened('step'), 2, 'so both are looked at');
select t.say(:'j' || '.a', 'end') as late \gset
select t.finish(:'j' || '.a'), t.pass(:'j' || '.b', '{3}') \g /dev/null
select api.range_ensure() \g /dev/null
select is(t.from_job(), 0::bigint, 'an array waits in it');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'arr')) \g /dev/null
select api.range_ensure() \g /dev/null
select is(t.from_job(), 1000000::bigint, 'nothing lives in it any more');
select is(t.opened(x), 1, 'one range is opened of ' || x) from internal.range_tables() x;
select is((select count(*) from live.job), 0::bigint, 'what is over is not in sight');

-- No row of a range that has left schema live is lost, and none of its rows comes back there.
select is(api.job_show(t.uid('alice'), 'alice', t.request(:'j')) #>> '{jobs,0,state}', 'completed', 'it is shown');
select is((select count(*) from acct.job), 3::bigint, 'and stands in the accounting');
select is(t.again(), format('{"job_id": %s, "steps": 1, "known": true}', :'again')::jsonb, 'who asks again for a job of this day is answered with it');
select is((select count(*) from live.recent_job), 3::bigint, 'so the jobs of a day are in sight');
update rota.job set submit_at = submit_at - interval '25 hours';
select api.range_ensure() \g /dev/null
select is((select count(*) from live.recent_job), 0::bigint, 'and no older ones');
create temporary table before as select * from rota.event where job_id in (:j, :arr);
select is(t.report(:'late'::jsonb), 0, 'what a node says once more changes nothing');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')), api.job_hold(t.uid('alice'), 'alice', t.request(:'arr')) \g /dev/null
select set_eq(format('select * from rota.event where job_id in (%s, %s)', :j, :arr), 'select * from before', 'neither that nor who asks for its end changes anything');

-- New jobs still refer to jobs of that range.
select t.submit('alice', '[{"name": "c"}, {"name": "d"}, {"name": "e"}, {"name": "f"}]', format('[{"step": "c", "job": %1$s}, {"step": "d", "kind": "same_nodes", "job": %1$s, "peer": "a"},
	{"step": "e", "kind": "other_nodes", "job": %1$s, "peer": "b"}, {"step": "f", "job": %1$s, "condition": "fail"}]', :j)::jsonb) as k \gset
select is(t.states(:k), 'c:pending d:pending e:pending f:skipped', 'what has ended well is waited for no longer, who waited for its failure is not needed');
select is((select string_agg(p.name || ' ' || concat_ws(' ', 'same', p.same_nodes, 'other', p.other_nodes), ', ' order by p.step_id)
	from rota.step s cross join lateral api.schedule_pending(array[s.job_id], array[s.step_id]) p where s.job_id = :k and s.state = 'pending'),
	'c same other, d same {2} other, e same other {3}', 'and the nodes of what has ended are known');
select t.pass(:'k' || '.c'), t.pass(:'k' || '.d', '{2}'), t.pass(:'k' || '.e', '{1}') \g /dev/null
select is(t.states(:k), 'c:completed d:completed e:completed f:skipped', 'and all goes on');
select t.submit('alice', '[{"name": "y", "array": {"indices": [[0,1,1]], "size": 2, "limit": null}}]',
	format('[{"step": "y", "job": %s, "peer": "x", "condition": "corr"}]', :arr)::jsonb) as corr \gset
select isnt(t.states(:corr), null, 'an array that corresponds to one that is over is judged');
select is((select count(*)::int from t.wrong()), 0, 'nothing is held that is not accounted for');

-- A range is detached as before, and foreign keys hold within a range.
select throws_ok(format($$insert into rota.attempt (job_id, step_id, attempt, time_limit_s, node_ids, nodes) values (%s, 99, 1, 0, '{1}', '{n1}')$$, :k), '23503', null, 'no attempt without a step');
select api.usage_roll(1000) \g /dev/null
select is(api.range_detach(0, 'root', '{"from": "0"}') ->> 'detached', 'true', 'the range can go');
select is((select count(*) from rota.step_edge e where e.job_id = :k and e.peer_job_id = :j), 4::bigint, 'what waited for it is still known');
select t.submit('alice', '[{"name": "z"}]') as z \gset
select t.pass(:'z' || '.z') \g /dev/null
select is(t.states(:z), 'z:completed', 'and the next one goes on');
select * from finish();
rollback;
