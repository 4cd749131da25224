-- Why steps waited: each reason of the plan is kept with its duration, together with reasons from before the step was eligible.
begin;
\ir world.psql
select * from no_plan();
create function t.plan(variadic p_said jsonb[]) returns void language sql as $$ select api.schedule_plan(t.term(), coalesce(to_jsonb(p_said), '[]'), null, null) $$;
create function t.said(p_job bigint, p_reason text, p_blocker text default null, p_step int default 0) returns jsonb language sql as $$
	select jsonb_build_object('job', p_job, 'step', p_step, 'reason', p_reason, 'blocker', p_blocker, 'message', 'x') $$;
-- Times are tens of minutes apart, because this file is one transaction that may take long while the clock advances.
create function t.age(p_job bigint, p_min int) returns void language sql as $$ update rota.plan set since = since - make_interval(mins => p_min) where job_id = p_job $$;
create function t.waited(p_job bigint) returns text language sql as $$
	select string_agg(concat_ws(' ', step, reason, blocker, blocker_job_id, 10 * floor(wait_s::numeric / 600), case when until_at is null then 'still' end), ', ' order by step, from_at) from acct.wait_reason where job_id = p_job $$;

select t.submit('alice', '[{"name": "first"}]') as i \gset
select t.submit('alice', '[{"name": "a", "cpus_per_task": 2, "mem_per_cpu_mb": 50, "gres": {"gpu": 1}}]') as j \gset
select t.plan(t.said(:j, 'resources')), t.age(:j, 100) \g /dev/null
select is(t.waited(:j), 'a resources 100 still', 'what it waits for now');
select t.plan(t.said(:j, 'resources')) \g /dev/null
select is(t.waited(:j), 'a resources 100 still', 'the same plan changes nothing');
select t.plan(t.said(:j, 'priority', :'i' || '.first')) \g /dev/null
select is(t.waited(:j), format('a resources 100, a priority %s.first %s 0 still', :i, :i), 'another reason, and whom it waited for');
-- The wait ends by clock_timestamp(), which advances within a transaction.
update rota.plan set since = clock_timestamp() - interval '75 minutes' where job_id = :j;
select t.plan(t.said(:j, 'priority', :'i' || '.first')) \g /dev/null
select t.start(:'j' || '.a') \g /dev/null
select is(t.waited(:j), format('a resources 100, a priority %s.first %s 70', :i, :i), 'its start ends the wait');
select is((select count(*) from rota.plan where job_id = :j), 0::bigint, 'and the plan');

-- A reason of less than a second is not kept. The reason of a step that has left the plan is kept.
select t.submit('bob', '[{"name": "a"}]') as k \gset
select t.plan(t.said(:k, 'license')), t.plan(t.said(:k, 'resources')) \g /dev/null
select is(t.waited(:k), 'a resources 0 still', 'a moment is no reason');
select t.age(:k, 30), t.plan(variadic '{}'::jsonb[]) \g /dev/null
select is(t.waited(:k), 'a resources 30, a priority 0 still', 'the plan says nothing of it any more');

-- Reasons from before the step was eligible: a dependency, a hold.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c", "hold": true}]', '[{"step": "b", "peer": "a"}]') as l \gset
update rota.job set submit_at = submit_at - interval '20 minutes' where job_id = :l;
update rota.step set eligible_at = eligible_at - interval '20 minutes' where job_id = :l and step_id = 0;
select is(t.waited(:l), format('a priority 20 still, b dependency %s.a %s 20 still, c held 20 still', :l, :l), 'by its script, and for whom');
select t.pass(:'l' || '.a') \g /dev/null
select is(t.waited(:l), format('a priority 20, b dependency %s.a %s 20, b priority 0 still, c held 20 still', :l, :l), 'up to when it was eligible');
-- Of several dependencies: the first unmet one, and in the end the one met last; where any one is enough, the one met first.
select t.submit('alice', '[{"name": "p"}, {"name": "q", "array": {"indices": [[0,1,1]], "size": 2}}, {"name": "all"}, {"name": "any", "deps_any": true}, {"name": "far"}]',
	format('[{"step": "all", "peer": "p"}, {"step": "all", "peer": "q"}, {"step": "any", "peer": "q"}, {"step": "any", "peer": "p"}, {"step": "far", "job": %s, "condition": "any"}]', :i)::jsonb) as g \gset
update rota.job set submit_at = submit_at - interval '20 minutes' where job_id = :g;
create function t.awaited(p_job bigint) returns text language sql as $$
	select string_agg(concat_ws(' ', step, blocker, case when until_at is null then 'still' end), ', ' order by step) from acct.wait_reason where job_id = p_job and reason = 'dependency' $$;
select is(regexp_replace(t.awaited(:g), '[pq] still', '- still', 'g'), format('all %s.- still, any %s.- still, far %s still', :g, :g, :i), 'of several, one; and a whole job');
select t.pass(:'g' || '.p') \g /dev/null
select is(t.awaited(:g), format('all %s.q still, any %s.p, far %s still', :g, :g, :i), 'one that is not met, and the one that is enough');
-- Edges are resolved at now(), the begin of the transaction, which is this whole file.
update rota.step_edge set resolved_at = resolved_at - interval '10 minutes' where job_id = :g and state <> 'waiting';
select t.commit(t.decision(:'g' || '.q', '{1}', '{"position": 0}'), t.decision(:'g' || '.q', '{2}', '{"position": 1}')) \g /dev/null
select t.run(format('%s.q[%s]', :'g', n)), t.finish(format('%s.q[%s]', :'g', n)) from generate_series(0, 1) n \g /dev/null
select is(t.awaited(:g), format('all %s.q, any %s.p, far %s still', :g, :g, :i), 'the one that came last, the one that came first');
update rota.step_edge set resolved_at = resolved_at - interval '5 minutes' where job_id = :g and state <> 'waiting';
select t.pass(:'i' || '.first') \g /dev/null
select is(t.awaited(:g), format('all %s.q, any %s.p, far %s', :g, :g, :i), 'and the whole job');
select is((select count(*) from acct.wait_reason where job_id = :g and reason = 'dependency' and blocker_job_id is null), 0::bigint, 'each with its job');
select is((select concat_ws(' ', cpus_requested, mem_requested_mb, gres_requested) from acct.request where job_id = :j), '2 100 {"gpu": 1}', 'what was asked for');
select is((select concat_ws(' ', cpus_requested, mem_requested_mb, gres_requested) from acct.queue_at(now()) where job_id = :j), '2 100 {"gpu": 1}', 'in the queue of a moment, too');
-- Holds: each from its beginning until the release or the end of the step. t.happened: set the step's last event so many minutes
-- back.
create function t.happened(p_label text, p_min int) returns void language sql as $$
	update rota.event e set at = now() - make_interval(mins => p_min) from t.step(p_label) s
	where e.job_id = s.job_id and e.event_id = (select max(x.event_id) from rota.event x where x.job_id = s.job_id and x.step_id = s.step_id) $$;
do $$ declare v_part text; begin
	for v_part in select inhrelid::regclass from pg_inherits where inhparent = 'rota.event'::regclass union all select 'rota.event' loop execute format('alter table %s disable trigger user', v_part); end loop;
end $$;
select api.job_release(0, 'root', t.request(:'l' || '.c')) \g /dev/null
select is((select string_agg(concat_ws(' ', reason, 10 * floor(wait_s::numeric / 600), until_at is null), ', ' order by from_at) from acct.wait_reason where job_id = :l and step = 'c'), 'held 20 f, priority 0 t', 'the hold of a script is over');
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as h \gset
select api.job_hold(t.uid('alice'), 'alice', t.request(:'h')), t.happened(:'h' || '.a', 50), t.happened(:'h' || '.b', 50) \g /dev/null
select is(t.waited(:h), 'a held 50 still, b held 50 still', 'held now');
select api.job_release(t.uid('alice'), 'alice', t.request(:'h' || '.a')) \g /dev/null
select is(t.waited(:h), 'a held 50, a priority 0 still, b held 50 still', 'released');
select t.happened(:'h' || '.a', 40), api.job_hold(t.uid('alice'), 'alice', t.request(:'h' || '.a')), t.happened(:'h' || '.a', 30), api.job_release(t.uid('alice'), 'alice', t.request(:'h' || '.a')) \g /dev/null
select is(t.waited(:h), 'a held 50, a held 30, a priority 0 still, b held 50 still', 'and held again');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'h')) \g /dev/null
select is((select string_agg(concat_ws(' ', step, reason, 10 * floor(wait_s::numeric / 600), until_at is null), ', ' order by step, from_at) from acct.wait_reason where job_id = :h and reason = 'held'), 'a held 50 f, a held 30 f, b held 50 f', 'a hold ends with its step');

-- Other events while a step is held change nothing. A hold by an operator after one by the user is the same hold.
select t.submit('alice', '[{"name": "a"}, {"name": "b", "array": {"indices": [[0,3,1]], "size": 4}}]') as h \gset
select t.commit(t.decision(:'h' || '.b', '{2}', '{"position": 0}')) \g /dev/null
select api.job_hold(t.uid('alice'), 'alice', t.request(:'h')), t.happened(:'h' || '.a', 90), t.happened(:'h' || '.b', 60) \g /dev/null
select api.job_hold(0, 'root', t.request(:'h' || '.a')), t.happened(:'h' || '.a', 50) \g /dev/null
insert into rota.event (job_id, step_id, attempt, at, from_state, event, to_state, actor) values (:h, 0, 0, now() - interval '40 minutes', 'pending', 'modify', 'pending', 'alice');
select is((select string_agg(concat_ws(' ', step, 10 * floor(wait_s::numeric / 600)), ', ' order by step) from acct.wait_reason where job_id = :h and reason = 'held' and until_at is null), 'a 90, b 60', 'a hold, and that of an array that has begun');
select api.job_release(0, 'root', t.request(:'h')) \g /dev/null
select is((select string_agg(concat_ws(' ', step, 10 * floor(wait_s::numeric / 600)), ', ' order by step) from acct.wait_reason where job_id = :h and reason = 'held' and until_at is not null), 'a 90, b 60', 'are over');

-- Limits: a line of the queue that has reached a limit, with all steps that wait in it.
create function t.tick() returns double precision language sql as $$ select set_config('rota.lines_noted_at', '', false); select next_at from api.schedule_tick(t.term()) $$;
create function t.noted() returns text language sql as $$ select string_agg(concat_ws(' ', round(extract(epoch from now() - from_at) / 60, 3), round(extract(epoch from now() - until_at) / 60, 3)), ', ' order by from_at) from rota.line_limited $$;
select t.submit('dora', '[{"name": "a"}]') as i, t.submit('dora', '[{"name": "a"}]') as j, t.submit('bob', '[{"name": "a"}]') as k, t.submit('dora', '[{"name": "a", "array": {"indices": [[0,3,1]], "size": 4}}]') as l \gset
select t.tick() \g /dev/null
select is(t.noted(), null, 'no limit, no line');
select api.admin_change(0, 'root', '{"object": "user", "action": "create", "name": "dora", "values": {"max_running": "1"}}') \g /dev/null
select t.start(:'i' || '.a') \g /dev/null
select t.tick() \g /dev/null
select is(t.noted(), '0.000', 'a line that has reached its limit');
update rota.line_limited set from_at = now() - interval '100 minutes';
update rota.step set eligible_at = now() - interval '60 minutes' where job_id = :l;
update rota.step set eligible_at = now() - interval '200 minutes' where job_id = :j;
select is(t.waited(:j) || ', ' || t.waited(:l), 'a limit steps of "dora" 100 still, a limit steps of "dora" 60 still', 'what waits in it, each from when it was eligible');
select is((select string_agg(distinct blocker, ',') from acct.wait_reason where reason = 'limit' and until_at is null), 'steps of "dora"', 'which limit it is');
select is(t.waited(:k), 'a priority 0 still', 'others do not');
select is((select next_at is null from api.schedule_tick(t.term())), false, 'a tick soon after asks for another one');
select is(t.tick(), null, 'one a second later does not, and changes nothing');
select is(t.noted(), '100.000', 'nothing');
select t.run(:'i' || '.a'), t.finish(:'i' || '.a') \g /dev/null
select t.tick() \g /dev/null
select is(t.noted(), '100.000 0.000', 'the limit is not reached any more');
select t.start(:'j' || '.a') \g /dev/null
select t.tick() \g /dev/null
select is(t.noted(), '100.000', 'a moment without is none');
select is((select string_agg(concat_ws(' ', reason, until_at is null, wait_s >= 6000), ',') from acct.wait_reason where job_id = :j) || ', ' || t.waited(:l), 'limit f t, a limit steps of "dora" 60 still', 'one has started');
update rota.line_limited set until_at = now() - interval '61 minutes';
select t.tick() \g /dev/null
select is(t.noted(), '100.000 61.000, 0.000', 'after a minute it is another time');
select is(t.waited(:l), 'a limit steps of "dora" 0 still', 'before which it was not eligible');
select api.admin_change(0, 'root', '{"object": "user", "action": "change", "name": "dora", "values": {"max_running": "none"}}'), t.tick() \g /dev/null
select is(t.noted(), '100.000 61.000, 0.000 0.000', 'a limit that is gone');
-- A cancelled step keeps its waiting times. Limited lines are recorded also after the database's clock was set back.
update rota.step set eligible_at = now() - interval '90 minutes' where job_id = :l;
update rota.line_limited set until_at = from_at + interval '30 minutes' where from_at < now();
select api.job_cancel(0, 'root', t.request(:'l')) \g /dev/null
select is((select string_agg(concat_ws(' ', reason, 10 * floor(wait_s::numeric / 600), until_at is null), ', ') from acct.wait_reason where job_id = :l and reason = 'limit' and wait_s > 1), 'limit 20 f', 'its wait ended with it');
update rota.line_limited set from_at = now() + interval '10 minutes', until_at = now() + interval '20 minutes' where until_at < now();
select t.submit('dora', '[{"name": "a"}]') as l \gset
select api.admin_change(0, 'root', '{"object": "user", "action": "change", "name": "dora", "values": {"max_running": "1"}}') \g /dev/null
select t.tick() \g /dev/null
select is(t.noted() like '% %', true, 'written down all the same');
update rota.line_limited set from_at = now() + interval '5 minutes' where until_at is null;
select api.admin_change(0, 'root', '{"object": "user", "action": "change", "name": "dora", "values": {"max_running": "none"}}') \g /dev/null
select t.tick() \g /dev/null
select is((select count(*) from rota.line_limited where until_at is null), 0::bigint, 'and ended');
-- Each wait of a second or longer is kept, even if the scheduler gave its reason late or never. t.early(): set the step's
-- eligibility so many minutes back.
create function t.early(p_job bigint, p_min int) returns void language sql as $$
	update rota.step set eligible_at = now() - make_interval(mins => p_min) where job_id = p_job $$;
create function t.over(p_job bigint) returns text language sql as $$
	select string_agg(concat_ws(' ', step, reason, 10 * floor(wait_s::numeric / 600)), ', ' order by step, from_at) from acct.wait_reason where job_id = p_job and until_at is not null $$;
select t.submit('erna', '[{"name": "a"}]') as w \gset
select t.early(:w, 30), t.plan(t.said(:w, 'license')), t.start(:'w' || '.a') \g /dev/null
select is(t.over(:w), 'a license 30', 'the first reason came late');
select t.run(:'w' || '.a'), t.finish(:'w' || '.a') \g /dev/null
select t.submit('erna', '[{"name": "a"}]') as w \gset
select t.early(:w, 30), t.plan(t.said(:w, 'license')), t.plan(t.said(:w, 'resources')) \g /dev/null
-- As if the plan had changed less than a second before the start, however long the statements between take.
update rota.plan set since = clock_timestamp() + interval '10 minutes' where job_id = :w;
update rota.wait_reason set until_at = clock_timestamp() + interval '10 minutes' where job_id = :w;
select t.start(:'w' || '.a') \g /dev/null
select is(t.over(:w), 'a license 40', 'a moment before the start adds no other');
select t.run(:'w' || '.a'), t.finish(:'w' || '.a') \g /dev/null
select t.submit('erna', '[{"name": "a"}]') as w \gset
select t.early(:w, 30), t.start(:'w' || '.a') \g /dev/null
select is(t.over(:w), 'a priority 30', 'no reason was given');
select t.run(:'w' || '.a'), t.finish(:'w' || '.a') \g /dev/null
select t.submit('erna', '[{"name": "a"}]') as w \gset
update rota.step set eligible_at = clock_timestamp() where job_id = :w;
select t.start(:'w' || '.a') \g /dev/null
update rota.attempt set eligible_at = ordered_at - interval '0.9 seconds' where job_id = :w;
select is(t.over(:w), null, 'what starts at once did not wait');
select t.run(:'w' || '.a'), t.finish(:'w' || '.a') \g /dev/null
select t.submit('erna', '[{"name": "a"}, {"name": "b", "hold": true}]') as w \gset
select t.early(:w, 30), api.job_cancel(0, 'root', t.request(:'w')) \g /dev/null
update rota.job set submit_at = submit_at - interval '30 minutes' where job_id = :w;
select is(t.over(:w), 'a priority 30, b held 30', 'cancelled before it started');
select is((select count(*) from rota.attempt t join rota.step s on s.job_id = t.job_id and s.step_id = t.step_id and s.array_index is null
	where t.attempt > 0 and t.ordered_at - t.eligible_at >= interval '1 second'
	and not exists (select from acct.wait_reason w where w.job_id = t.job_id and w.step_id = t.step_id and w.until_at > t.eligible_at)), 0::bigint, 'no wait is missing');
-- Every waiting step has a reason, whatever holds it up.
select api.admin_change(0, 'root', '{"object": "partition", "action": "change", "name": "main", "values": {"state": "down"}}') \g /dev/null
select is(t.waited(:k), 'a partition 0 still', 'a partition that is down');
select api.admin_change(0, 'root', '{"object": "partition", "action": "change", "name": "main", "values": {"state": "up"}}') \g /dev/null
select t.submit('bob', '[{"name": "a", "array": {"indices": [[0,3,1]], "size": 4, "limit": 1}}]') as m \gset
select t.commit(t.decision(:'m' || '.a', '{1}', '{"position": 0}')) \g /dev/null
select is(t.waited(:m), 'a array_limit 0 still', 'an array with as many elements running as it may have');
select t.submit('carl', '[{"name": "a", "retry": 3}, {"name": "b", "array": {"indices": [[0,3,1]], "size": 4}}, {"name": "c", "array": {"indices": [[0,3,1]], "size": 4}}]',
	'[{"step": "c", "peer": "b", "condition": "corr"}]') as r \gset
select t.start(:'r' || '.a', '{3}'), t.run(:'r' || '.a') \g /dev/null
select t.fail(:'r' || '.a') \g /dev/null
select is((select string_agg(concat_ws(' ', step, reason, blocker), ', ' order by step) from acct.wait_reason where job_id = :r and until_at is null), format('a begin, b priority, c dependency %s.b', :r), 'a step that is tried again later, and an array that waits for the elements of another');
update rota.step set begin_at = null, deps_waiting = 1 where job_id = :r and step_id = 0;
select is((select concat_ws(' ', reason, blocker) from acct.wait_reason where job_id = :r and step = 'a' and until_at is null), 'dependency', 'one that waits for its peers again');
select is((select count(*) from rota.step s where s.state = 'pending' and not exists (select from acct.wait_reason w where w.job_id = s.job_id and w.step_id = s.step_id and w.until_at is null)), 0::bigint, 'no step waits without a reason');
-- A wait ends with its step: --begin, holds and limits do not count after a cancellation.
select t.submit('frida', format('[{"name": "a", "begin_at": %s}, {"name": "b", "begin_at": %s, "hold": true}]', e, e)::jsonb) as w
from extract(epoch from now() + interval '10 hours') e \gset
update rota.job set submit_at = submit_at - interval '20 minutes' where job_id = :w;
insert into rota.line_limited (association_id, partition, from_at, reached)
	select s.association_id, s.queue, now() - interval '10 minutes', 'x' from rota.step s where s.job_id = :w and s.step_id = 0;
select is(t.waited(:w), 'a begin 20 still, b begin 20 still, b held 20 still', 'not to start before a time');
select api.job_cancel(0, 'root', t.request(:'w')) \g /dev/null
select is(t.waited(:w), 'a begin 20, b begin 20, b held 20', 'cancelled before that time');
select is((select count(*) from acct.wait_reason where job_id = :w and (until_at > clock_timestamp() or wait_s < 0)), 0::bigint, 'no wait is in the future');
delete from rota.line_limited where reached = 'x';
select t.submit('gerd', format('[{"name": "a", "begin_at": %s}]', extract(epoch from now() - interval '30 minutes'))::jsonb) as w \gset
update rota.job set submit_at = submit_at - interval '50 minutes' where job_id = :w;
update rota.step set eligible_at = eligible_at - interval '50 minutes' where job_id = :w;
select is(t.waited(:w), 'a begin 20, a priority 30 still', 'after that time it waits for others');
select api.job_cancel(0, 'root', t.request(:'w')) \g /dev/null
select is(t.waited(:w), 'a begin 20, a priority 30', 'up to its cancellation');

-- The delay before a retry. t.ago(): the latest attempt ended 40 minutes ago, and the delay ended 20 minutes ago or lasts.
create function t.ago(p_job bigint, p_begin timestamptz default now() - interval '20 minutes') returns void language sql as $$
	update rota.attempt t set eligible_at = now() - interval '50 minutes', ordered_at = now() - interval '50 minutes', started_at = now() - interval '45 minutes', done_at = now() - interval '40 minutes', ended_at = now() - interval '40 minutes' where job_id = p_job and attempt > 0;
	update rota.step set eligible_at = now() - interval '50 minutes', begin_at = p_begin where job_id = p_job and state = 'pending' $$;
select t.submit('frida', '[{"name": "a", "retry": 3}]') as w, t.submit('gerd', '[{"name": "a", "retry": 3}]') as v \gset
update rota.job set submit_at = submit_at - interval '50 minutes' where job_id in (:w, :v);
select t.start(:'w' || '.a', '{3}'), t.run(:'w' || '.a') \g /dev/null
select t.fail(:'w' || '.a') \g /dev/null
select t.start(:'v' || '.a', '{3}'), t.run(:'v' || '.a') \g /dev/null
select t.fail(:'v' || '.a') \g /dev/null
select t.ago(:w), t.ago(:v, now() + interval '10 hours') \g /dev/null
select is(t.waited(:w) || ', ' || t.waited(:v), 'a begin 20, a priority 20 still, a begin 40 still', 'a delay that is over, and one that lasts');
select t.start(:'w' || '.a', '{3}'), api.job_cancel(0, 'root', t.request(:'v')) \g /dev/null
select is(t.waited(:w) || ', ' || t.waited(:v), 'a begin 20, a priority 20, a begin 40', 'started, and cancelled');
select * from finish();
rollback;
