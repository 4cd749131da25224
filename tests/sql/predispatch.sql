-- Elements of an array that are ordered before there are CPUs for them: each takes those of another one that ends, and nobody else's.
begin;
\ir world.psql
select * from no_plan();
create function t.held(p_job bigint) returns text language sql as $$
	select string_agg(format('%s:%s', s.array_index, case when a.ended_at is not null then 'over' when a.started_at is null then 'ahead' else a.cpus_held::text end), ' ' order by s.array_index)
	from rota.step s join rota.allocation a on a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = s.attempt where s.job_id = p_job and s.array_index is not null;
$$;
create function t.used(p_node int) returns text language sql as 'select cpus_used || '' '' || mem_used_mb from rota.node_used where node_id = p_node';
create function t.ahead(p_label text, p_position int) returns jsonb language sql as $$ select t.decision(p_label, '{1}', jsonb_build_object('position', p_position, 'predispatched', true)) $$;
\set array '[{"name": "a", "cpus_per_task": 2, "mem_mb": 100, "array": {"indices": [[0,19,1]], "size": 20, "limit": null}}]'

select t.submit('alice', :'array') as j \gset
select is(t.commit(t.decision(:'j' || '.a', '{1}', '{"position": 0}'), t.decision(:'j' || '.a', '{1}', '{"position": 1}')), 2, 'two fill the node');
select is(t.commit(t.ahead(:'j' || '.a', 2), t.ahead(:'j' || '.a', 3), t.ahead(:'j' || '.a', 4)), 3, 'three more are ordered');
select is(t.held(:j), '0:2 1:2 2:ahead 3:ahead 4:ahead', 'they stand ahead');
select is(t.used(1), '4 500', 'they hold memory, and no CPUs');
select is((select string_agg(r.step_id - r.request_id - 1 || ':' || r.cpus, ' ' order by r.step_id) from api.schedule_running() r where r.predispatched), '2:0 3:0 4:0', 'the leader sees them so');
select throws_ok(format('select t.start(%L, ''{1}'', ''{"position": 5}'')', :'j' || '.a'), '23514', null, 'nothing else finds room');
select t.right('standing ahead');

select t.run(:'j' || '.a[0]'), t.finish(:'j' || '.a[0]') \g /dev/null
select is(t.held(:j), '0:over 1:2 2:2 3:ahead 4:ahead', 'the first takes the CPUs of one that ends');
select is((select a.started_at from rota.allocation a where a.job_id = :j and a.step_id = (t.step(:'j' || '.a[2]')).step_id),
	(select greatest(a.ended_at, (t.step(:'j' || '.a[2]')).ordered_at) from rota.allocation a where a.job_id = :j and a.step_id = (t.step(:'j' || '.a[0]')).step_id),
	'from the moment on that it ended, or itself was ordered');
select is(t.used(1), '4 400', 'as many are used as before');
select t.right('one passed on');

select t.run(:'j' || '.a[4]') \g /dev/null
select is(t.held(:j), '0:over 1:2 2:2 3:ahead 4:ahead', 'one may be reported before what it follows');
select t.finish(:'j' || '.a[1]') \g /dev/null
select is(t.held(:j), '0:over 1:over 2:2 3:ahead 4:2', 'then it is the next');
select t.right('out of turn');

-- In one report: 2 ends, 3 follows it and ends as well.
update rota.allocation set started_at = started_at - interval '1 minute' where job_id = :j and ended_at is null;
select t.report(t.say(:'j' || '.a[2]', 'task'), t.say(:'j' || '.a[2]', 'done'), t.say(:'j' || '.a[2]', 'end', '{"age_us": 3000000}'),
	t.say(:'j' || '.a[3]', 'keeper', '{"age_us": 2000000}'), t.say(:'j' || '.a[3]', 'run', '{"age_us": 2000000}'), t.say(:'j' || '.a[3]', 'task'), t.say(:'j' || '.a[3]', 'done'),
	t.say(:'j' || '.a[3]', 'end', '{"age_us": 1000000}')) \g /dev/null
select is(t.held(:j), '0:over 1:over 2:over 3:over 4:2', 'what is reported from its begin to its end never stood ahead');
select is((select extract(epoch from a.ended_at - a.started_at)::int from rota.allocation a where a.job_id = :j and a.step_id = (t.step(:'j' || '.a[3]')).step_id), 1, 'and was held from its begin on');
select is(t.used(1), '2 100', 'two CPUs are free again');
select t.right('a whole life ahead');

-- Decided while the node was full, committed when it is not any more.
select is(t.commit(t.ahead(:'j' || '.a', 5), t.ahead(:'j' || '.a', 6)), 2, 'two more');
select is(t.held(:j), '0:over 1:over 2:over 3:over 4:2 5:2 6:ahead', 'the first has room at once');
select t.right('room at once');

-- What had no turn in time is refused by its node: it is queued again, and what ran before has lost nothing.
select t.report(t.say(:'j' || '.a[6]', 'refused', '{"reason": "its turn had not come", "retry": "1", "cause": "withdrawn", "drain": ""}')) \g /dev/null
select is((select array[s.state, s.attempt::text] from t.step(:'j' || '.a[6]') s), '{pending,1}', 'queued again');
select is((select array[s.requeues, s.retries] from t.step(:'j' || '.a[6]') s), '{0,0}', 'which does not count, for nothing was run');
select is(t.held(:j), '0:over 1:over 2:over 3:over 4:2 5:2 6:over', 'it held nothing');
select is((select a.ended_at - a.started_at from rota.allocation a where a.job_id = :j and a.step_id = (t.step(:'j' || '.a[6]')).step_id), interval '0', 'for no time');
select t.right('refused');

-- A cancelled job: what stands ahead has the order to end, and takes over until it has.
select t.commit(t.ahead(:'j' || '.a', 7)) \g /dev/null
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is(t.orders(:'j' || '.a[7]'), 'kill@n1', 'it is to end');
select t.report(t.say(:'j' || '.a[7]', 'refused', '{"reason": "its turn had not come", "retry": "1", "cause": "withdrawn", "drain": ""}')) \g /dev/null
select is(t.state(:'j' || '.a[7]'), 'cancelled', 'what never began is over');
select t.run(:'j' || '.a[' || i || ']'), t.finish(:'j' || '.a[' || i || ']', '{"outcome": "cancel", "cause": "cancelled", "exit": -1, "signal": 15}') from generate_series(4, 5) i \g /dev/null
select is(t.job(:j), 'cancelled', 'and so is the job');
select is(t.used(1), '0 0', 'nothing is held');
select t.right('a cancelled job');

-- A lost node has nothing left of what stood ahead there.
select t.submit('alice', :'array') as j \gset
select t.commit(t.decision(:'j' || '.a', '{1}', '{"position": 0}'), t.decision(:'j' || '.a', '{1}', '{"position": 1}'), t.ahead(:'j' || '.a', 2)) \g /dev/null
select is(t.held(:j), '0:2 1:2 2:ahead', 'in one commit as well');
select t.silent(1), (select count(*) from t.judge()) \g /dev/null
select is(t.held(:j), '0:over 1:over 2:over', 'the node is lost');
select is((select string_agg(s.state, ' ') from rota.step s where s.job_id = :j and s.array_index is not null), 'pending pending pending', 'all of it is queued again');
select is(t.used(1), '0 0', 'nothing is held there');
select t.right('a lost node');
select * from finish();
rollback;
