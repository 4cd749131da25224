-- Pools of burst_buffer.lua: answers of its function pools, requests of jobs, the order in which jobs get space, and when space
-- is freed.
begin;
\ir world.psql
select * from no_plan();
select api.leader_claim('hook', 60) as term \gset
create function t.term_of() returns bigint language sql as $$ select term from rota.leader where name = 'hook' $$;
-- t.pools: report an answer of the function pools; returns the failure that is shown.
create function t.pools(p_text text, p_failure text default null) returns text language plpgsql as $$
begin
	perform api.pool_report(t.term_of(), p_text, p_failure);
	return (select failure from rota.pool_answer);
end $$;
create function t.list() returns text language sql as $$ select string_agg(concat_ws(':', pool, total, used, free), ' ' order by pool) from acct.pool $$;
-- t.ask: a job that asks for p_capacity bytes of a pool.
create function t.ask(p_pool text, p_capacity bigint, p_more jsonb default '{}') returns bigint language sql as $$
	select t.submit('alice', '[{"name": "a"}]', '[]', jsonb_build_object('staging', jsonb_build_object('directives', '#BB_LUA x', 'pool', p_pool, 'capacity', p_capacity, 'line', 2)) || p_more) $$;
create function t.take() returns text language sql as $$
	select string_agg(concat_ws(':', job_id, function, pool, size), ' ' order by call_id)
	from api.staging_take(t.term_of(), array(select call_id from rota.staging_call where ended_at is null and began_at is not null), 100, true) $$;
create function t.lost() returns text language sql as $$ select string_agg(job_id || ':' || function, ' ' order by call_id) from api.staging_take(t.term_of(), '{}', 100, true) $$;
-- t.over: the open call of a job ends; returns the state, the next call, and the size.
create function t.over(p_job bigint, p_rc int default 0, p_result text default null, p_teardown boolean default false) returns text language plpgsql as $$
begin
	perform api.staging_report(t.term_of(), array(select call_id from rota.staging_call where job_id = p_job and ended_at is null), array[p_rc], '{f}', '{1}', '{null}', '{""}', array[p_result], 15, p_teardown);
	return (select concat_ws(':', g.state, c.function, g.taken) from rota.staging g left join rota.staging_call c on c.job_id = g.job_id and c.ended_at is null where g.job_id = p_job);
end $$;
create function t.taken(p_job bigint) returns bigint language sql as $$ select taken from rota.staging where job_id = p_job $$;
create function t.why(p_job bigint) returns text language sql as $$ select string_agg(w ->> 'message', ' | ') from internal.why_staging(p_job, 0) w $$;

-- Answers of the function pools.
select throws_ok($$select api.pool_report(0, '', null)$$, 'RT412', null, 'another runnerd leads');
select throws_like($$select t.ask('fast', 1)$$, 'test.sh:2: there is no pool "fast"', 'no pools: refused');
select is(t.pools('{"pools": [{"id": "fast", "quantity": 10, "granularity": 4}, {"id": "slow", "quantity": 3.0, "granularity": 1073741824, "free": 1}]}'), null, 'two pools');
select is(t.list(), 'fast:40:0:40 slow:3221225472:0:3221225472', 'are there');
select is(t.pools(null, 'no'), 'no', 'a failure is shown');
select matches(t.pools(v), w, v) from (values ('x', 'is not JSON'), ('[]', 'no list "pools"'), ('{"pools": 1}', 'no list'), ('{"pools": [1]}', 'entry 1 of "pools": it is no object'),
	('{"pools": [{"id": "fast", "quantity": 99, "granularity": 1}, {"id": "", "quantity": 1, "granularity": 1}]}', 'entry 2 of "pools": "id" is no name'),
	('{"pools": [{"id": "a b", "quantity": 1, "granularity": 1}]}', '"id" is no name'),
	('{"pools": [{"id": 7, "quantity": 1, "granularity": 1}]}', '"id" is no name'),
	('{"pools": [{"id": "a", "quantity": 1, "granularity": 1}, {"id": "a", "quantity": 2, "granularity": 1}]}', 'is there twice'),
	('{"pools": [{"id": "a", "quantity": -1, "granularity": 1}]}', '"quantity" is no whole number'), ('{"pools": [{"id": "a", "granularity": 1}]}', '"quantity" is no whole number'),
	('{"pools": [{"id": "a", "quantity": 1, "granularity": 0}]}', '"granularity" is no whole number'),
	('{"pools": [{"id": "a", "quantity": 999999999999999999, "granularity": 999999999999999999}]}', 'more than 4 EiB')) x (v, w);
select is(t.list(), 'fast:40:0:40 slow:3221225472:0:3221225472', 'what is wrong changes nothing');
select is((select jsonb_path_query_array(api.hook_admin(t.uid('bob'), 'bob', '{"action": "pools"}'), '$.pools[*].total_text'))::text, '["40 B", "3 GiB"]', 'everybody may list pools');
select ok(api.hook_admin(0, 'root', '{"action": "pools"}') ->> 'failure' like '%4 EiB%', 'with the failure');
select is(t.pools(''), null, 'no answer: no pools');
select is(t.list(), 'fast:0:0:0 slow:0:0:0', 'no space');
select throws_like($$select t.ask('fast', 1)$$, 'test.sh:2: 4 B of pool "fast" are asked for, which has 0 B in all', 'and no job for it');
select is(t.pools('{"pools": [{"id": "fast", "quantity": 10, "granularity": 4}]}'), null, 'one is back');

-- Requests of jobs for space of a pool.
select throws_like($$select t.ask('none', 1, '{"script_name": "x"}')$$, 'x:2: there is no pool "none"', 'no such pool');
select throws_like($$select t.ask('fast', 41)$$, 'test.sh:2: 44 B of pool "fast" are asked for, which has 40 B in all', 'more than all');
select throws_like($$select t.ask('fast', 4611686018427387903)$$, 'test.sh:2: 4096 PiB of pool "fast"%', 'far more');
select t.ask('fast', 29) as a \gset
select is((select concat_ws(':', pool, capacity, taken) from rota.staging where job_id = :a), 'fast:32', 'rounded up to pieces');
select is(t.take(), :'a' || ':setup:fast:32', 'setup gets pool and size');
select is(t.list(), 'fast:40:32:8 slow:0:0:0', 'and takes the space');
select is(t.over(:a), 'staging_in:data_in:32', 'data_in');
select t.take() \g /dev/null
select is(t.over(:a), 'staging_in:test_data_in:32', 'test_data_in');
select t.take() \g /dev/null
select is(t.over(:a), 'staging_in:real_size:32', 'then real_size');
select is(t.take(), :'a' || ':real_size:fast:32', 'which is called');
select is(t.over(:a, 0, '35'), 'staging_in:paths:36', 'more: it counts, in pieces');
select is(t.list(), 'fast:40:36:4 slow:0:0:0', 'and is taken');

-- Jobs get space in the order of their priority, and no job passes another one that waits for space.
select t.ask('fast', 8, '{"nice": 100}') as b \gset
select t.ask('fast', 4, '{"nice": 100}') as c \gset
select t.ask('fast', 4) as d \gset
select t.submit('alice', '[{"name": "a"}]', '[]', '{"staging": {"directives": "#BB_LUA x"}}') as e \gset
select is(t.take(), concat_ws(' ', :a || ':paths:fast:36', :d || ':setup:fast:4', :e || ':setup:(null):0'), 'the highest priority takes space, and who needs none is not held up');
select is(t.take(), null, 'a smaller one does not pass');
select is(t.why(:b), format('waits for 8 B of pool fast: 0 B are free; job %s gives back 36 B', :a), 'why: who gives back');
select is((select x -> 0 ->> 'message' || (x -> 0 -> 'blocker')::text from internal.why_veil(t.uid('bob'), jsonb_build_array(internal.pool_why(:b))) x), 'waits for 8 B of pool fast: 0 B are free; another job gives back 36 Bnull', 'not to a stranger who sees no jobs of others');
select is((select x -> 0 ->> 'message' from internal.why_veil(t.uid('alice'), jsonb_build_array(internal.pool_why(:b))) x), t.why(:b), 'but to the owner of both');
select is((select waits from internal.step_facts where job_id = :b), 'staging_pool', 'the queue says so');
select is((select waits from internal.step_facts where job_id = :e), 'staging_in', 'of the other that it is staged in');
select is(t.pools('{"pools": [{"id": "fast", "quantity": 11, "granularity": 4}]}'), null, 'the pool grows');
select is(t.why(:c), format('waits for 4 B of pool fast: 4 B are free; job %s, which waits for 8 B, comes first', :b), 'why: who comes first');
select t.act('hold', 'alice', :'b') \g /dev/null
select is(t.take(), :'c' || ':setup:fast:4', 'a held job holds nobody up');
select t.act('release', 'alice', :'b') \g /dev/null
select is(t.take(), null, 'released, it waits');
select t.right('waiting for a pool');

-- The pool vanishes while jobs have space of it.
select is(t.pools('{"pools": []}'), null, 'it vanishes');
select is(t.list(), 'fast:0:44:0 slow:0:0:0', 'what is taken stays taken');
select is(t.why(:b), 'waits for 8 B of pool fast, which has 0 B in all', 'why');
select is(t.take(), null, 'nothing is taken');
select is(t.pools('{"pools": [{"id": "fast", "quantity": 1, "granularity": 4}]}'), null, 'a small one comes');
select t.act('cancel', 'alice', :'c') \g /dev/null
select t.over(:c) \g /dev/null
select is(t.taken(:c), 4::bigint, 'cancelled: not before its teardown');
select is(t.take(), :'c' || ':job_teardown:fast:4', 'which follows');
select t.over(:c) \g /dev/null
select is(t.taken(:c), null, 'then it is given back');
select is(t.pools('{"pools": [{"id": "fast", "quantity": 12, "granularity": 4}]}'), null, 'all is back');
select is(t.take(), :'b' || ':setup:fast:8', 'and who waited is next');

-- real_size returns less than the size that the job has, or no number.
select t.over(:b), t.take(), t.over(:b), t.take() \g /dev/null
select is(t.over(:b), 'staging_in:real_size:8', 'real_size');
select t.take() \g /dev/null
select is(t.over(:b, 0, '3'), 'staging_in:paths:8', 'less is ignored');
select t.ask('fast', 4) as f \gset
select internal.pool_grow(:b, x) from unnest(array['x', '-9', '9 9', '', null, '1e9', '7']) x \g /dev/null
select is(t.taken(:b), 8::bigint, 'all of them');

-- Staging that is interrupted or fails: the space is freed once, after a teardown.
select is(t.pools('{"pools": [{"id": "fast", "quantity": 100, "granularity": 4}]}'), null, 'enough');
select is(t.take(), concat_ws(' ', :b || ':paths:fast:8', :f || ':setup:fast:4'), 'all run');
select t.lost() \g /dev/null
select is((select string_agg(concat_ws(':', g.job_id, g.state, c.function, g.taken), ' ' order by g.job_id) from rota.staging g join rota.staging_call c using (job_id) where g.job_id in (:b, :f) and c.ended_at is null),
	concat_ws(' ', :b || ':pending:job_teardown:8', :f || ':pending:job_teardown:4'), 'interrupted: taken until the teardown');
select is(t.over(:f), 'pending', 'torn down: given back');
select is(t.take(), :'f' || ':setup:fast:4', 'and taken again, once');
select is(t.over(:f, -1), 'failed:4', 'failed without teardown: its data is there');
select t.act('release', 'alice', :'f') \g /dev/null
select t.take() \g /dev/null
select is(t.over(:f), 'pending', 'released: torn down, given back');
select t.take() \g /dev/null
select is(t.over(:f, -1, null, true), 'failed:job_teardown:4', 'failed with a teardown');
select t.take() \g /dev/null
select is(t.over(:f), 'failed', 'given back after it');
select t.act('release', 'alice', :'f') \g /dev/null
select t.take(), t.over(:f), t.take() \g /dev/null
select is(t.taken(:f), 4::bigint, 'another try takes it again');
select t.act('cancel', 'alice', :'f'), t.over(:f), t.take(), t.over(:f, -1), t.over(:f, -1) \g /dev/null
select is(t.over(:f, -1), 'complete', 'a teardown that never succeeds');
select is(t.taken(:f), null, 'gives back, too');
select is((select used from acct.pool where pool = 'fast'), (select sum(taken) from rota.staging)::bigint, 'what is used is what jobs have');
select t.right('at the end');
select throws_ok(format('update rota.staging set taken = 1 where job_id = %s', :b), '23514', null, 'less than it asked for is refused');
select * from finish();
rollback;
