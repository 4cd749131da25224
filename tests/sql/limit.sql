-- Limits of qualities of service, of associations and of arrays: steps beyond them are not offered, and why gives the limit.
begin;
\ir world.psql
select * from no_plan();
select api.admin_change(0, 'root', v::jsonb) from unnest(array[
	'{"object": "qos", "action": "create", "name": "two", "values": {"max_running_per_user": 2}}',
	'{"object": "account", "action": "create", "name": "acc", "values": {"users": "alice:1,bob"}}']) v \g /dev/null
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c"}]', '[]', '{"qos": "two"}') as j \gset
select t.submit('bob', '[{"name": "a"}]', '[]', '{"qos": "two"}') as k \gset
select is(t.pending(), format('%1$s.a %1$s.b %2$s.a', :j, :k), 'two of one user, and another''s');
select t.start(:'j' || '.a') \g /dev/null
select is(t.pending(), format('%1$s.b %2$s.a', :j, :k), 'one runs, one more is offered');
select t.start(:'j' || '.c', '{2}') \g /dev/null
select is(t.pending(), format('%1$s.a', :k), 'two run');
select is(api.job_why(0, 'root', t.request(:'j' || '.b')) #> '{steps,0,conditions}',
	'[{"kind": "limit", "blocker": null, "message": "2 of at most 2 steps of \"alice\" running under quality of service \"two\"", "expected_at": null}]', 'why names the limit');
select is(jsonb_path_query_array(api.job_show(0, 'root', t.request(:'j')), '$.jobs[0].steps[*].reason'), '[null, "limit", null]', 'and so does show');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a') \g /dev/null
select is(t.pending(), format('%1$s.b %2$s.a', :j, :k), 'room again');
-- An array gets as many free slots as the limit leaves; the queue's order decides which step gets them.
select t.submit('alice', '[{"name": "r", "array": {"indices": [[0,9,1]], "size": 10}}]', '[]', '{"qos": "two"}') as m \gset
select is(t.pending(), format('%1$s.b %2$s.a', :j, :k), 'the one before it has the room');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j' || '.b')) \g /dev/null
select is(t.pending(), format('%s.a %s.r*1', :k, :m), 'now the array has it');
select t.finish(:'j' || '.c') \g /dev/null
select is(t.pending(), format('%s.a %s.r*2', :k, :m), 'all of it');
select t.commit(t.decision(:'m' || '.r', '{1}', '{"position": 0}'), t.decision(:'m' || '.r', '{1}', '{"position": 1}')) \g /dev/null
select is(t.pending(), format('%s.a', :k), 'elements count');
select api.job_cancel(0, 'root', jsonb_build_object('jobs', jsonb_build_array(:'k'))) \g /dev/null
-- Limits of associations; limits of both kinds together.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[]', '{"account": "acc"}') as j \gset
select t.submit('bob', '[{"name": "a"}, {"name": "b"}]', '[]', '{"account": "acc"}') as k \gset
select is(t.pending(), format('%1$s.a %2$s.a %2$s.b', :j, :k), 'one of alice''s on this account, any of bob''s');
select t.start(:'j' || '.b', '{3}') \g /dev/null
select is(t.pending(), format('%1$s.a %1$s.b', :k), 'it runs');
select is(api.job_why(0, 'root', t.request(:'j' || '.a')) #>> '{steps,0,conditions,0,message}', '1 of at most 1 step of "alice" running on account "acc"', 'why names the limit');
select is(api.job_queue(0, 'root', t.request(:'j')) #>> '{jobs,0,state}', 'starting', 'the job''s state is that of what goes on');
select t.submit('alice', '[{"name": "a"}]', '[]', '{"account": "acc", "qos": "two"}') as l \gset
select is(t.pending(), format('%1$s.a %1$s.b', :k), 'over both limits');
select t.run(:'m' || '.r[0]'), t.finish(:'m' || '.r[0]') \g /dev/null
select is(t.pending(), format('%s.r*1 %2$s.a %2$s.b', :m, :k), 'over one of them: it does not take the other''s room');
select t.run(:'j' || '.b'), t.finish(:'j' || '.b') \g /dev/null
select t.right('limits');
-- A list that is cut to a length: steps beyond limits are left out before the cut.
select is((select array_agg(job_id || '.' || step_id order by nr) from (select *, row_number() over () as nr from api.schedule_queue(1)) p), array[:'m' || '.0'], 'the first one only');
-- A shorter list is the head of a longer one, whichever steps limits leave out, and however many steps of the queue they skip.
select setseed(0.42) \g /dev/null
select t.submit((array['alice', 'bob', 'carl'])[i % 3 + 1], jsonb_build_array(
		jsonb_build_object('name', 'a', 'retry', 1) || case when i % 2 = 0 then jsonb_build_object('array', jsonb_build_object('indices', '[[0,4,1]]'::jsonb, 'size', 5)
			|| case when i % 4 = 0 then '{"limit": 2}' else '{}'::jsonb end) else '{}' end,
		'{"name": "b"}'::jsonb, '{"name": "c"}'::jsonb),
	'[]', jsonb_build_object('nice', floor(random() * 3) * 1000) || case when random() < 0.5 then '{"qos": "two"}' else '{}'::jsonb end
		|| case when i % 3 < 2 and random() < 0.5 then '{"account": "acc"}' else '{}'::jsonb end) as n
from generate_series(1, 24) i \g /dev/null
-- Some arrays have begun, and elements of theirs run again.
select t.commit(t.decision(n || '.a', '{4}', '{"position": 0}')), t.run(n || '.a[0]'), t.fail(n || '.a[0]')
from (select job_id as n from rota.step_array where next = 0 and size = 5 order by job_id limit 3) x \g /dev/null
create function t.head(p_limit int) returns text[] language sql as $$
	select array_agg(concat_ws(' ', p.job_id, p.step_id, p.free_slots) order by p.nr) from (select *, row_number() over () as nr from api.schedule_queue(p_limit)) p;
$$;
select cmp_ok(cardinality(t.head(1000)), '>=', 20, 'a queue');
select is_empty('select k from generate_series(1, cardinality(t.head(1000))) k where (t.head(k))[1:k] is distinct from (t.head(1000))[1:k]', 'its heads');
select api.admin_change(0, 'root', '{"object": "partition", "action": "create", "name": "fast", "values": {"priority": 9, "nodes": "n1"}}') \g /dev/null
update rota.step_request set partition = 'fast' where job_id % 5 = 0;
update rota.step set queue = 'fast' where job_id % 5 = 0;
select is((t.head(1))[1] ~ '^[0-9]*[05] ', true, 'of two partitions, that of the higher priority first');
-- Each partition has its own head: a long queue of one hides no other.
create function t.head(p_partition text, p_limit int) returns text[] language sql as $$
	select array(select h from unnest(t.head(p_limit)) with ordinality as x (h, nr)
		join rota.step s on s.job_id = split_part(h, ' ', 1)::bigint and s.step_id = split_part(h, ' ', 2)::int and s.queue = p_partition order by x.nr);
$$;
select is_empty('select p, k from unnest(array[''main'', ''fast'']) p, generate_series(1, 20) k where cardinality(t.head(p, k)) < least(k, cardinality(t.head(p, 1000)))', 'so many of each, past those that a limit keeps');
delete from rota.usage_limit;
select is_empty('select p, k from unnest(array[''main'', ''fast'']) p, generate_series(1, 20) k where (t.head(p, k))[1:k] is distinct from (t.head(p, 1000))[1:k]', 'without limits of users, the head of each is that of a longer one');
select api.admin_change(0, 'root', '{"object": "partition", "action": "change", "name": "fast", "values": {"state": "down"}}') \g /dev/null
select is(cardinality(t.head('fast', 1000)), 0, 'what is down offers nothing');
-- The leader's cached request of an array does not depend on its progress: the queue has the progress, under limits too.
select is_empty($$select o.job_id, o.array_next, o.array_skip from t.offered o join rota.step_array a using (job_id, step_id)
	where (o.array_next, o.array_skip, o.steady) is distinct from (a.next, a.skip, true)$$, 'arrays are kept, but for how far they have come');
select api.admin_change(0, 'root', '{"object": "qos", "action": "change", "name": "normal", "values": {"max_running_per_user": 1000}}') \g /dev/null
select is_empty($$select o.job_id, o.array_next, o.array_skip from t.offered o join rota.step_array a using (job_id, step_id)
	where (o.array_next, o.array_skip, o.steady) is distinct from (a.next, a.skip, true)$$, 'nor where there are limits');
select * from finish();
rollback;
