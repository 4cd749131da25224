-- The leader beside sessions of users that keep jobs locked: the leader leaves out locked jobs, all else goes on, and the jobs
-- that were left out go on when they are free. The sessions commit, so this file has a database of its own.
\set name locked_race
\ir own.psql
create function t.ask(p_session text, p_sql text) returns text language sql as $$ select string_agg(x.v, ' ' order by x.v) from dblink(p_session, p_sql) x (v text) $$;
create function t.lock(p_session text, p_label text) returns text language plpgsql as $$
begin
	perform dblink_exec(p_session, 'begin');
	return t.ask(p_session, format('select api.job_signal(t.uid(''alice''), ''alice'', %L)::text', t.request(p_label, '{"signal": "USR1"}')));
end $$;
-- The calls of the leader, each in a transaction of its own.
create function t.starting(p_wait boolean, variadic p_labels text[]) returns text language sql as $$
	select format('select x.job_id || ''.'' || x.step_id from api.schedule_commit(%s, %L, %L, %L) x', t.term(), jsonb_agg(d),
		jsonb_agg(jsonb_build_object('node_ids', d -> 'nodes', 'kind', 'launch', 'job_id', d -> 'job', 'step_id', d -> 'step', 'attempt', d -> 'attempt', 'body', 'order', 'signature', 'abcd')), p_wait)
	from (select t.decision(split_part(l, '/', 1), array[nr::int], case when l ~ '/' then jsonb_build_object('position', split_part(l, '/', 2)::int) else '{}' end) as d
		from unnest(p_labels) with ordinality x (l, nr)) y $$;
create function t.tick() returns text language sql as $$ select format('select (next_at <= now)::text from api.schedule_tick(%s)', t.term()) $$;
create function t.one(p_more jsonb default '{}') returns bigint language sql as $$ select t.submit('alice', jsonb_build_array('{"name": "a"}'::jsonb || p_more)) $$;
commit;
select * from no_plan();
select t.open(n) from unnest('{a,b}'::text[]) n \g /dev/null

-- Starts.
select t.one() as v, t.submit('bob', '[{"name": "a"}]') as j \gset
select t.lock('a', :'v' || '.a') \g /dev/null
select throws_ok(t.starting(true, :'v' || '.a', :'j' || '.a'), '55P03', null, 'who starts what somebody has locked does not wait for as long as it is');
select is(t.ask('b', t.starting(false, :'v' || '.a', :'j' || '.a')), :'j' || '.0', 'around it, the other one starts');
select is(t.state(:'v' || '.a'), 'pending', 'what is locked waits');
select is((select count(*) from rota.allocation where job_id = :v) + (select count(*) from rota.node_order where job_id = :v), 0::bigint, 'nothing is held for it, nothing ordered');
select is(t.ask('b', t.starting(false, :'v' || '.a')), null, 'alone, nothing starts');
select t.ask('a', 'commit') \g /dev/null
select is(t.pending(), :'v' || '.a', 'it is offered as ever');
select is(t.ask('b', t.starting(false, :'v' || '.a')), :'v' || '.0', 'once it is free it starts');
select t.right('a start that was left out');

-- A start locks the jobs that it may change: if a dependent's job is locked, so is the start. Elements are left out with their
-- array.
select t.one() as v, t.submit('bob', '[{"name": "a", "array": {"indices": [[0,3,1]], "size": 4}}]') as j,
	t.submit('bob', '[{"name": "a", "array": {"indices": [[0,3,1]], "size": 4}}]') as k \gset
select t.submit('alice', '[{"name": "w"}]', format('[{"step": "w", "job": %s, "condition": "start"}]', :j)::jsonb) as w \gset
select t.lock('a', :'w' || '.w') \g /dev/null
select is(t.ask('b', t.starting(false, :'j' || '.a/0', :'v' || '.a', :'j' || '.a/1', :'k' || '.a/2')), :'v' || '.0 ' || :'k' || '.3', 'a job behind which a locked one waits is left out, with all of its elements');
select t.ask('a', 'commit') \g /dev/null
select is(t.ask('b', t.starting(false, :'j' || '.a/0', :'j' || '.a/1')), :'j' || '.1 ' || :'j' || '.2', 'they start, once that one is free');
select is((select deps_waiting from rota.step where job_id = :w), 0, 'which is released');
select t.right('a start behind which a locked job waits');

-- Timer-driven transitions.
select t.one() as v, t.one() as j \gset
update rota.step set start_by = now() - interval '1 second' where job_id in (:v, :j);
select t.lock('a', :'v' || '.a') \g /dev/null
select is(t.ask('b', t.tick()), 'true', 'a tick that leaves out what is locked wants another one');
select is(t.state(:'v' || '.a') || ' ' || t.state(:'j' || '.a'), 'pending ' || (select to_state from rota.step_transition where from_state = 'pending' and event = 'deadline'), 'but makes the other move');
select t.ask('a', 'commit') \g /dev/null
select is(t.ask('b', t.tick()), null, 'the next one has nothing left to do');
select is(t.state(:'v' || '.a'), t.state(:'j' || '.a'), 'and has made this one, too');
select t.right('a deadline that was left out');

-- Refusals by the signer.
select t.one() as v, t.one() as j \gset
select t.lock('a', :'v' || '.a'), format('select api.schedule_refuse(%s, %L, %L, %L)::text', t.term(), array[:v, :j], '{0,0}', '{bad,bad}') as refuse \gset
select is(t.ask('b', :'refuse'), '1', 'of two that are refused, one is locked');
select is(t.state(:'v' || '.a') || ' ' || t.job(:j), 'pending failed', 'it is as before');
select t.ask('a', 'commit') \g /dev/null
select is(t.ask('b', :'refuse'), '2', 'once it is free');
select is(t.job(:v), 'failed', 'it is refused');
select t.right('a refusal that was left out');

select * from finish();
select dblink_disconnect(n) from unnest('{a,b}'::text[]) n \g /dev/null
\c postgres
set client_min_messages = warning;
drop database locked_race;
