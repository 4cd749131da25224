-- Preemption: which steps may be preempted when, the effect of a pick, claims and their ends, tiers in the queue, and permissions
-- for qualities of service.
begin;
\ir world.psql
select * from no_plan();
-- Readers of the queue call functions of ranks for each row, so the planner must inline these.
create function t.explained(p_query text) returns setof text language plpgsql as $$ begin return query execute 'explain (verbose, costs off) ' || p_query; end $$;
select is((select string_agg(x, ' ') from t.explained('select internal.rank_tier(s.rank), internal.tier_rank(s.step_id), internal.rank_is_eternal(s.rank) from live.step s') x) ~ 'internal\.', false, 'ranks cost no calls');
select is(internal.rank_tier(internal.tier_rank(-7) + internal.rank_points(1000000, 1000000000)) || ' ' || internal.rank_is_eternal(internal.eternal_rank(true)), '-7 true', 'points are less than a tier');
create function t.qos(p_qos text) returns jsonb language sql as $$ select jsonb_build_object('qos', p_qos) $$;
create function t.candidates(p_tier int default 100) returns text language sql as $$
	select string_agg(internal.step_label(job_id, step_id) || ':' || tier || case when from_at > extract(epoch from now()) or from_at is null then ' later' else '' end, ', ' order by job_id, step_id) from api.schedule_candidates(p_tier) $$;
create function t.claim_of(p_label text, p_nodes int[], p_cpus int default 1) returns jsonb language sql as $$
	select jsonb_build_object('job', s.job_id, 'step', s.step_id, 'shares', (select jsonb_agg(jsonb_build_object('node', n, 'cpus', p_cpus, 'mem_mb', 0, 'gres', '{}'::jsonb, 'licenses', '{}'::jsonb)) from unnest(p_nodes) n)) from t.step(p_label) s $$;
create function t.victim(p_label text) returns jsonb language sql as $$
	select jsonb_build_object('job', s.job_id, 'step', s.step_id, 'attempt', s.attempt) from t.step(p_label) s $$;
create function t.pick(p_label text, p_nodes int[], variadic p_victims text[]) returns jsonb language sql as $$
	select jsonb_build_object('steps', jsonb_build_array(t.claim_of(p_label, p_nodes)), 'victims', (select jsonb_agg(t.victim(v) order by nr) from unnest(p_victims) with ordinality x (v, nr))) $$;
create function t.preempt(variadic p_picks jsonb[]) returns int language sql as $$ select api.schedule_preempt(t.term(), to_jsonb(p_picks)) $$;
create function t.claims() returns text language sql as $$
	select string_agg(internal.step_label((x ->> 'job')::bigint, (x ->> 'step')::int) || '@n' || (x ->> 'node') || ':' || (x ->> 'cpus'), ' ') from jsonb_array_elements((select claims from api.schedule_tick(t.term()))) x $$;
create function t.admin(p_object text, p_name text, p_values jsonb, p_action text default 'change') returns text language plpgsql as $$
begin
	return api.admin_change(0, 'root', jsonb_build_object('object', p_object, 'action', p_action, 'name', p_name, 'values', p_values)) ->> 'changed';
exception when sqlstate 'RT422' then
	return sqlerrm;
end $$;
create function t.refused(p_user text, p_job jsonb) returns text language plpgsql as $$
begin
	return t.submit(p_user, '[{"name": "a"}]', '[]', p_job);
exception when others then
	return sqlerrm;
end $$;
create function t.queue() returns text language sql as $$
	select string_agg(internal.step_label(q.job_id, q.step_id), ' ' order by nr) from api.schedule_queue(100) with ordinality q (job_id, step_id, version, array_next, array_skip, array_over, free_slots, stamp, nr) $$;
create function t.why(p_user text, p_label text) returns text language sql as $$
	select string_agg(c ->> 'message', '; ') from jsonb_array_elements(api.job_why(t.uid(p_user), p_user, t.request(p_label)) -> 'steps') s cross join jsonb_array_elements(s -> 'conditions') c $$;
create function t.cancelled() returns jsonb language sql as $$ select '{"outcome": "cancel", "cause": "preempted", "exit": -1, "signal": 15}'::jsonb $$;

-- Settings.
select is((select preempts from api.schedule_tick(t.term())), false, 'nothing is preempted unless the site says so');
select is(t.admin('partition', 'main', '{"preempt": "maybe"}') like '%no value for "preempt"%', true, 'another word is refused');
select is(t.admin('partition', 'main', '{"tier": 21}') like '%no value for "tier"%', true, 'a tier that is too high');
select is(t.admin('partition', 'main', '{"preempt_grace": "none"}'), 'false', 'no grace of its own');
select is(t.admin('qos', 'high', '{"tier": 2}', 'create'), 'true', 'a high quality of service');
select is(t.admin('qos', 'low', '{"tier": "-2"}', 'create'), 'true', 'a low one');
select throws_ok('update rota.partition set preempt = ''kill''', '23514', null, 'the table knows the words');
select throws_ok('update rota.qos set tier = 50', '23514', null, 'and the tiers');

-- The queue: by tier before age and priority.
select t.submit('alice', '[{"name": "a"}]', '[]', t.qos('low')) as low \gset
select t.submit('alice', '[{"name": "a"}]') as middle \gset
select t.submit('alice', '[{"name": "a"}]', '[]', t.qos('high')) as high \gset
select is(t.queue(), concat_ws(' ', :high || '.a', :middle || '.a', :low || '.a'), 'the highest tier first');
select api.job_modify(0, 'root', t.request(:'low') || '{"job": {"priority": 2000000000}, "options": [], "steps": []}') \g /dev/null
select is(t.queue(), concat_ws(' ', :high || '.a', :middle || '.a', :low || '.a'), 'no priority weighs as much');
select t.admin('partition', 'other', '{"tier": 3, "priority": -5, "nodes": "n1"}', 'create') \g /dev/null
select t.submit('alice', '[{"name": "a", "partition": "other"}]') as other \gset
select is(t.queue(), concat_ws(' ', :other || '.a', :high || '.a', :middle || '.a', :low || '.a'), 'over all partitions');
select t.admin('account', 'acc', '{"users": "alice", "max_running": 100}', 'create') \g /dev/null
select is(t.queue(), concat_ws(' ', :other || '.a', :high || '.a', :middle || '.a', :low || '.a'), 'with limits, too');
select is((select string_agg(tier::text, ' ' order by nr) from unnest(array[:other, :high, :middle, :low]) with ordinality x (j, nr) cross join api.schedule_pending(array[j], '{0}')), '3 2 0 -2', 'the leader reads the tiers');

-- Users that may use a quality of service.
select t.admin('qos', 'high', '{"allow_users": "alice"}') \g /dev/null
select is(t.refused('bob', t.qos('high')) like '%you may not use quality of service "high"%', true, 'not everybody');
select matches(t.refused('alice', t.qos('high')), '^[0-9]+$', 'who is on its list');
select t.submit('bob', '[{"name": "a"}]') as b \gset
select throws_like(format('select api.job_modify(%s, ''bob'', %L)', t.uid('bob'), t.request(:'b') || '{"job": {"qos": "high"}, "options": [], "steps": []}'), '%may not use quality of service "high"%', 'nor by a later change');
select is((select qos from rota.job where job_id = :b), 'normal', 'it stays as it was');
select api.job_cancel(0, 'root', t.request(j.job_id::text)) from rota.job j where j.job_id > :other \g /dev/null

-- Candidates for preemption.
select t.start(:'low' || '.a'), t.start(:'middle' || '.a', '{2}') \g /dev/null
select is(t.candidates(), null, 'none, as long as everything is off');
select t.admin('partition', 'main', '{"preempt": "requeue"}') \g /dev/null
select is((select preempts from api.schedule_tick(t.term())), true, 'it is on');
select is(t.candidates(), concat_ws(', ', :low || '.a:-2', :middle || '.a:0'), 'what runs');
select is(t.candidates(0), :low || '.a:-2', 'below a tier');
select t.admin('qos', 'low', '{"preempt": "off"}') \g /dev/null
select is(t.candidates(), :middle || '.a:0', 'a quality of service may say otherwise');
select t.admin('qos', 'low', '{"preempt": "cancel"}') \g /dev/null
select t.admin('partition', 'main', '{"preempt_after": "10:00"}') \g /dev/null
select is(t.candidates(), concat_ws(', ', :low || '.a:-2 later', :middle || '.a:0 later'), 'not before they have run for a while');
select is((select count(*) from api.schedule_candidates(100) where from_at = extract(epoch from now()) + 600), 2::bigint, 'the leader looks again when those that are ordered may have run for that long');
select t.run(:'low' || '.a'), t.run(:'middle' || '.a') \g /dev/null
select is(t.candidates(), concat_ws(', ', :low || '.a:-2 later', :middle || '.a:0 later'), 'from their start on');
update rota.attempt set started_at = started_at - interval '700 seconds', ordered_at = ordered_at - interval '700 seconds' where job_id = :low;
select is(t.candidates(), concat_ws(', ', :low || '.a:-2', :middle || '.a:0 later'), 'each for itself');
select is((select lost_s from api.schedule_candidates(-1)) > 600, true, 'with what it would lose');

-- Picks of victims.
select throws_ok(format('select api.schedule_preempt(%s, %L)', t.term() - 1, '[]'), 'RT412', null, 'only the leader');
select is(t.preempt(t.pick(:'high' || '.a', '{2}', :'middle' || '.a')), 0, 'not who is within its time');
select is(t.preempt(t.pick(:'middle' || '.a', '{1}', :'low' || '.a')), 0, 'not for a step that does not wait');
select is((select count(*) from rota.preempt_claim) + (select count(*) from rota.preempted), 0::bigint, 'nothing is done');
update rota.attempt set started_at = started_at - interval '700 seconds', ordered_at = ordered_at - interval '700 seconds' where job_id = :middle;
select is(t.preempt(jsonb_set(t.pick(:'high' || '.a', '{2}', :'middle' || '.a'), '{victims,0,attempt}', '9')), 0, 'not another attempt');
select t.admin('partition', 'main', '{"preempt_grace": "0:07"}') \g /dev/null
select is(t.preempt(t.pick(:'high' || '.a', '{1,2}', :'middle' || '.a', :'low' || '.a')), 1, 'both for one step');
select is(t.orders(:'middle' || '.a') || ' ' || t.orders(:'low' || '.a'), 'kill@n2 kill@n1', 'both are ended at once');
select is((select distinct args - 'node' from rota.node_order where kind = 'kill'), '{"cause": "preempted", "time_limit_s": 7}'::jsonb, 'with the grace of the partition');
select is((t.step(:'middle' || '.a')).end_wanted || ' ' || (t.step(:'low' || '.a')).end_wanted, 'requeue preempt', 'as the partition and the quality of service say');
select is(t.candidates(), null, 'who is preempted is no candidate');
select is(t.preempt(t.pick(:'other' || '.a', '{2}', :'middle' || '.a')), 0, 'nor picked again');
select is(t.claims(), format('%1$s.a@n1:1 %1$s.a@n2:1', :high), 'what they free is kept');
select is(t.why('alice', :'high' || '.a') like '%2 CPUs on 2 nodes are kept for it until the steps that it has preempted have ended or are suspended%', true, 'rota why says so');
select is(t.why('alice', :'middle' || '.a') like '%is being ended to make room for ' || :high || '.a, and will be queued again%', true, 'to both');
select t.finish(:'middle' || '.a', t.cancelled()), t.finish(:'low' || '.a', t.cancelled()) \g /dev/null
select is(t.state(:'middle' || '.a') || ' ' || t.state(:'low' || '.a'), 'pending preempted', 'one waits again, one is over');
select is((select requeues || ' ' || held || ' ' || (begin_at <= now()) from t.step(:'middle' || '.a')), '0  true', 'it is no fault of the step');
select is((select string_agg(state || ' ' || cause, ', ' order by job_id) from rota.attempt where job_id in (:low, :middle)), 'preempted preempted, preempted preempted', 'both attempts were preempted');
select results_eq('select job_id, attempt, mode, by_job_id from acct.preempted order by job_id', format('values (%s::bigint, 1, ''cancel'', %s::bigint), (%s, 1, ''requeue'', %s)', :low, :high, :middle, :high), 'acct.preempted has them');
select is((select string_agg(preempted_by, ' ') from acct.attempt where job_id in (:low, :middle)), format('%1$s.a %1$s.a', :high), 'and acct.attempt by whom');
select is(t.commit(t.decision(:'high' || '.a', '{1}', '{"claimed": true}')), 1, 'it starts');
select is((select count(*) from rota.preempt_claim), 0::bigint, 'nothing is kept any more');
select t.right('preempted');

-- A claim ends when its step starts, is cancelled or held, or has waited too long.
select t.start(:'middle' || '.a', '{2}'), t.run(:'middle' || '.a') \g /dev/null
select t.admin('partition', 'main', '{"preempt_after": 0}'), t.submit('alice', '[{"name": "a"}]', '[]', t.qos('high')) as high \gset
select is(t.preempt(t.pick(:'high' || '.a', '{2}', :'middle' || '.a')), 1, 'preempted');
select t.submit('alice', '[{"name": "a"}]') as s \gset
select t.start(:'s' || '.a', '{2}'), t.run(:'s' || '.a') \g /dev/null
select is(internal.claim_cpus(2) || ' ' || internal.claim_cpus(1), '1 0', 'resumed steps leave it alone');
savepoint before;
select api.job_hold(t.uid('alice'), 'alice', t.request(:'high')) \g /dev/null
select is(t.claims(), null, 'the step is held');
rollback to before;
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'high')) \g /dev/null
select is(t.claims(), null, 'the step is cancelled');
select is((select count(*) from rota.preempt_claim), 0::bigint, 'the next tick gives it up');
rollback to before;
update rota.preempt_claim set until_at = now() - interval '1 minute';
select is(t.claims(), null, 'it has waited too long');
select is((select count(*) from rota.preempt_claim), 0::bigint, 'so it is given up');
rollback to before;
select is((select next_at < now_at from (select next_at, extract(epoch from now() + interval '1 hour') as now_at from api.schedule_tick(t.term())) x), true, 'the tick knows when');
select t.finish(:'middle' || '.a', t.cancelled()) \g /dev/null

-- A victim that completes before it is ended has completed.
select t.start(:'middle' || '.a', '{3}'), t.run(:'middle' || '.a') \g /dev/null
select t.submit('alice', '[{"name": "a"}]', '[]', t.qos('high')) as h \gset
select is(t.preempt(t.pick(:'h' || '.a', '{3}', :'middle' || '.a')), 1, 'preempted');
select t.finish(:'middle' || '.a') \g /dev/null
select is(t.state(:'middle' || '.a'), 'completed', 'a victim that completes in time');

-- Pre-dispatched elements on the CPUs of a victim do not take these over.
\set array '[{"name": "a", "cpus_per_task": 2, "mem_mb": 100, "array": {"indices": [[0,19,1]], "size": 20, "limit": null}}]'
select t.submit('alice', :'array') as j \gset
select t.commit(t.decision(:'j' || '.a', '{4}', '{"position": 0}'), t.decision(:'j' || '.a', '{4}', '{"position": 1}'), t.decision(:'j' || '.a', '{4}', '{"position": 2, "predispatched": true}'), t.decision(:'j' || '.a', '{4}', '{"position": 3, "predispatched": true}')) \g /dev/null
select t.run(:'j' || '.a[0]'), t.run(:'j' || '.a[1]') \g /dev/null
select is(t.candidates(1), concat_ws(', ', :s || '.a:0', :j || '.a[0]:0', :j || '.a[1]:0'), 'those that stand ahead hold nothing to take');
select is(t.preempt(t.pick(:'h' || '.a', '{4}', :'j' || '.a[0]')), 1, 'one element');
select is((select string_agg(s.array_index || ':' || coalesce(s.end_wanted, '-'), ' ' order by s.step_id) from rota.step s where s.job_id = :j and s.array_index is not null), '0:requeue 1:- 2:requeue 3:requeue', 'those ahead are queued again');
select is((select string_agg(s.array_index::text, ' ' order by o.order_id) from rota.node_order o join rota.step s on s.job_id = o.job_id and s.step_id = o.step_id where o.job_id = :j and o.kind = 'kill'), '3 2 0', 'their orders come before that of the victim');
select t.report(t.say(:'j' || '.a[' || i || ']', 'refused', '{"reason": "its turn had not come", "retry": "1", "cause": "withdrawn", "drain": ""}')) from generate_series(2, 3) i \g /dev/null
select t.finish(:'j' || '.a[0]', t.cancelled()) \g /dev/null
select is((select string_agg(s.array_index || ':' || s.state || ':' || s.requeues, ' ' order by s.step_id) from rota.step s where s.job_id = :j and s.array_index is not null), '0:pending:0 1:running:0 2:pending:0 3:pending:0', 'all of them wait');
select t.right('an array');
savepoint before;
select t.finish(:'j' || '.a[1]') \g /dev/null
select t.submit('alice', replace(:'array', '"name"', '"requeue": false, "name"')::jsonb) as j \gset
select t.commit(t.decision(:'j' || '.a', '{4}', '{"position": 0}'), t.decision(:'j' || '.a', '{4}', '{"position": 1}'), t.decision(:'j' || '.a', '{4}', '{"position": 2, "predispatched": true}'), t.decision(:'j' || '.a', '{4}', '{"position": 3, "predispatched": true}')) \g /dev/null
select t.run(:'j' || '.a[0]'), t.run(:'j' || '.a[1]') \g /dev/null
select is(t.preempt(t.pick(:'h' || '.a', '{4}', :'j' || '.a[0]', :'j' || '.a[1]')), 1, 'two elements that must not run again');
select is((select string_agg(s.array_index::text, ' ' order by o.order_id) from rota.node_order o join rota.step s on s.job_id = o.job_id and s.step_id = o.step_id where o.job_id = :j and o.kind = 'kill'), '3 2 0 1', 'those ahead are asked once');
select t.report(t.say(:'j' || '.a[3]', 'refused', '{"reason": "its turn had not come", "retry": "1", "cause": "withdrawn", "drain": ""}')) \g /dev/null
select t.run(:'j' || '.a[2]'), t.finish(:'j' || '.a[2]', '{"outcome": "cancel", "cause": "withdrawn", "exit": -1, "signal": 15}') \g /dev/null
select is((select string_agg(s.array_index || ':' || s.state, ' ' order by s.step_id) from rota.step s where s.job_id = :j and s.array_index in (2, 3)), '2:cancelled 3:pending', 'what had begun is over, the other one waits');
rollback to before;

-- Victims are picked for a whole gang; a victim that cannot run again ends.
select t.submit('alice', '[{"name": "a", "with_set": 0}, {"name": "b", "with_set": 0}]', '[]', t.qos('high')) as g \gset
select t.submit('alice', '[{"name": "a", "requeue": false}]') as k \gset
select t.start(:'k' || '.a', '{4}'), t.run(:'k' || '.a') \g /dev/null
select is(t.preempt(jsonb_build_object('steps', jsonb_build_array(t.claim_of(:'g' || '.a', '{4}'), t.claim_of(:'k' || '.a', '{4}')), 'victims', jsonb_build_array(t.victim(:'j' || '.a[1]')))), 0, 'one of them does not wait: nobody is ended');
select is(t.preempt(jsonb_build_object('steps', jsonb_build_array(t.claim_of(:'g' || '.a', '{4}'), t.claim_of(:'g' || '.b', '{4}')), 'victims', jsonb_build_array(t.victim(:'k' || '.a')))), 1, 'a gang');
select is((select count(*) from rota.preempt_claim c where c.job_id = :g), 2::bigint, 'something is kept for each');
select t.finish(:'k' || '.a', t.cancelled()) \g /dev/null
select is(t.state(:'k' || '.a'), 'preempted', 'what must not run again is over');
select t.right('a gang');

\ir checkpoint.psql

-- By checkpoint: a victim that can be saved is saved before it is ended.
select t.admin('partition', 'main', '{"preempt": "checkpoint", "preempt_otherwise": "spare"}') \g /dev/null
select t.submit('alice', :'saves') as c \gset
select t.submit('alice', '[{"name": "a"}]') as d \gset
select t.start(:'c' || '.a', '{3}'), t.start(:'d' || '.a', '{3}'), t.submit('alice', '[{"name": "a"}]', '[]', t.qos('high')) as h \gset
select is((select string_agg(internal.step_label(c.job_id, c.step_id) || ' ' || (c.from_at - extract(epoch from now())), ', ') from api.schedule_candidates(1) c where c.job_id in (:c, :d)), :c || '.a 1', 'spared until it runs, and the leader looks again whether it does');
update rota.attempt set ordered_at = ordered_at - interval '1 hour' where job_id = :c;
select is((select from_at - extract(epoch from now()) from api.schedule_candidates(1) where job_id = :c) > 1800, true, 'less often, the longer that takes');
select is(t.preempt(t.pick(:'h' || '.a', '{3}', :'c' || '.a')), 0, 'it is not picked yet');
select t.run(:'c' || '.a'), t.run(:'d' || '.a') \g /dev/null
select is((select string_agg(c.mode || ' ' || c.lost_s, ', ') from internal.preempt_candidates(1) c where c.job_id in (:c, :d)), 'checkpoint 0', 'who cannot be saved is spared, who can loses nothing');
select is(t.preempt(t.pick(:'h' || '.a', '{3}', :'c' || '.a')), 1, 'picked');
select is(t.orders(:'c' || '.a'), 'checkpoint@n3', 'it is asked for a checkpoint');
select is(t.preempt(t.pick(:'h' || '.a', '{3}', :'c' || '.a')), 0, 'once');
select is(t.why('alice', :'c' || '.a') like '%is being ended to make room for ' || :h || '.a, and will go on from a checkpoint%', true, 'rota why says so');
select t.saved(:'c' || '.a') \g /dev/null
select is(t.orders(:'c' || '.a'), 'checkpoint@n3 kill@n3', 'saved, it ends');
select t.finish(:'c' || '.a', t.cancelled()) \g /dev/null
select is((select state || ' ' || requeues || ' ' || (begin_at <= now()) from t.step(:'c' || '.a')), 'pending 0 true', 'and may go on at once');
select is((select mode from acct.preempted where job_id = :c), 'checkpoint', 'acct.preempted says how');
-- A victim that was not saved in time is spared, or ended.
select t.commit(t.decision(:'h' || '.a', '{3}', '{"claimed": true}')), t.start(:'c' || '.a', '{4}'), t.run(:'c' || '.a') \g /dev/null
select t.submit('alice', '[{"name": "a"}]', '[]', t.qos('high')) as h \gset
savepoint before;
select is(t.preempt(t.pick(:'h' || '.a', '{4}', :'c' || '.a')), 1, 'picked again');
select t.late() \g /dev/null
select is((t.step(:'c' || '.a')).state || ' ' || coalesce((t.step(:'c' || '.a')).end_wanted, '-'), 'running -', 'it runs on');
select is((select mode from acct.preempted where job_id = :c and attempt = 2), 'spared', 'spared');
select is((select count(*) from rota.preempt_claim where job_id = :h), 0::bigint, 'others are looked for');
select is((select count(*) from internal.preempt_candidates(1) c where c.job_id = :c), 0::bigint, 'not among those that were spared');
rollback to before;
select t.admin('partition', 'main', '{"preempt_otherwise": "requeue"}') \g /dev/null
select is(t.preempt(t.pick(:'h' || '.a', '{4}', :'c' || '.a')), 1, 'picked again');
select t.late() \g /dev/null
select is(t.orders(:'c' || '.a') || ' ' || (t.step(:'c' || '.a')).end_wanted, 'checkpoint@n4 kill@n4 requeue', 'it is ended without one');
select is((select mode from acct.preempted where job_id = :c and attempt = 2), 'requeue', 'as is noted');
select t.finish(:'c' || '.a', t.cancelled()) \g /dev/null
select is(t.state(:'c' || '.a'), 'pending', 'and queued again');
select t.right('by checkpoint');

-- An endless stream of high jobs against a low one that saves itself: each attempt has its minimal run time, and no work is lost.
create function t.hostile(p_low text, p_attempts int) returns text language plpgsql as $$
declare
	v_high text;
	v_picks text := '';
	v_ran int;
begin
	for i in 1..p_attempts loop
		perform t.start(p_low, '{4}'), t.run(p_low);
		v_high := t.submit('alice', '[{"name": "a"}]', '[]', t.qos('high')) || '.a';
		foreach v_ran in array array[0, 300, 700] loop
			update rota.attempt a set started_at = a.started_at - make_interval(secs => v_ran), ordered_at = a.ordered_at - make_interval(secs => v_ran)
			from t.step(p_low) s where a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = s.attempt;
			v_picks := v_picks || t.preempt(t.pick(v_high, '{4}', p_low));
		end loop;
		v_picks := v_picks || ' ';
		perform t.saved(p_low), t.finish(p_low, t.cancelled()), t.commit(t.decision(v_high, '{4}', '{"claimed": true}'));
		perform t.run(v_high), t.finish(v_high);
	end loop;
	return v_picks;
end $$;
select t.admin('partition', 'main', '{"preempt_otherwise": "spare", "preempt_after": "10:00"}') \g /dev/null
select t.submit('alice', :'saves') as c \gset
select is(t.hostile(:'c' || '.a', 4), '001 001 001 001 ', 'each attempt runs for its time, whoever waits');
select is((select string_agg(mode || ' ' || lost_s, ', ') from rota.preempted where job_id = :c), 'checkpoint 0, checkpoint 0, checkpoint 0, checkpoint 0', 'and loses nothing');
select is((t.step(:'c' || '.a')).state || ' ' || (t.step(:'c' || '.a')).held || (t.step(:'c' || '.a')).requeues, 'pending 0', 'it is not held for that');
select t.start(:'c' || '.a', '{4}'), t.run(:'c' || '.a'), t.finish(:'c' || '.a') \g /dev/null
select is(t.state(:'c' || '.a'), 'completed', 'in the end it has done its work');
select t.admin('partition', 'main', '{"preempt_after": 0}') \g /dev/null
select t.right('a hostile stream');

-- Eternal steps: in the lowest tier, preempted anywhere, queued again at their time limit.
select t.admin('partition', 'main', '{"preempt": "off"}') \g /dev/null
update rota.qos set preempt = null;
select is((select preempts from api.schedule_tick(t.term())), false, 'nothing is preempted');
select t.submit('alice', '[{"name": "a", "eternal": true}]', '[]', t.qos('high')) as e \gset
select t.submit('alice', '[{"name": "a"}]', '[]', t.qos('low')) as l \gset
select is((select string_agg(q.job_id::text, ' ' order by nr) from api.schedule_queue(100) with ordinality q (job_id, step_id, version, array_next, array_skip, array_over, free_slots, stamp, nr) where q.job_id in (:e, :l)), :l || ' ' || :e, 'behind the lowest tier');
select is((select preempts from api.schedule_tick(t.term())), true, 'but it');
select t.start(:'e' || '.a', '{2}'), t.run(:'e' || '.a') \g /dev/null
select is((select string_agg(c.job_id || ' ' || c.mode || ' ' || c.tier, ', ') from internal.preempt_candidates(-2) c), :e || ' requeue -48', 'for anybody');
select t.finish(:'e' || '.a', '{"outcome": "timeout", "cause": "time_limit", "exit": -1, "signal": 15}') \g /dev/null
select is((select state || ' ' || requeues || ' ' || (begin_at <= now()) from t.step(:'e' || '.a')), 'pending 0 true', 'at its time limit it is queued again, as often as you like');
select is((select state from rota.attempt where job_id = :e), 'timeout', 'its attempt ran into it');
select t.start(:'e' || '.a', '{2}'), t.run(:'e' || '.a'), t.finish(:'e' || '.a') \g /dev/null
select is(t.state(:'e' || '.a'), 'completed', 'it ends by itself');
select t.submit('alice', '[{"name": "a", "eternal": true}]') as e \gset
select t.start(:'e' || '.a', '{2}'), t.run(:'e' || '.a'), api.job_cancel(t.uid('alice'), 'alice', t.request(:'e')) \g /dev/null
select t.finish(:'e' || '.a', '{"outcome": "timeout", "cause": "time_limit", "exit": -1, "signal": 15}') \g /dev/null
select is(t.state(:'e' || '.a'), 'cancelled', 'or when it is cancelled');
select t.right('eternal');

-- Picks of one call are written together, each whole or not at all; no victim is picked for two steps.
select t.admin('partition', 'main', '{"preempt": "requeue", "preempt_otherwise": "requeue", "preempt_after": 0, "preempt_grace": "0:07"}'), t.admin('qos', 'low', '{"preempt": "cancel"}') \g /dev/null
select t.submit('alice', '[{"name": "a"}]') as x, t.submit('alice', '[{"name": "a"}]') as y, t.submit('alice', '[{"name": "a"}]', '[]', t.qos('low')) as z \gset
select t.start(:'x' || '.a', '{1}'), t.start(:'y' || '.a', '{2}'), t.start(:'z' || '.a', '{3}'), t.run(:'x' || '.a'), t.run(:'y' || '.a'), t.run(:'z' || '.a') \g /dev/null
select t.submit('alice', '[{"name": "a"}]', '[]', t.qos('high')) as k, t.submit('alice', '[{"name": "a"}]', '[]', t.qos('high')) as l, t.submit('alice', '[{"name": "a"}]', '[]', t.qos('high')) as m, t.submit('alice', '[{"name": "a"}]', '[]', t.qos('high')) as n \gset
delete from rota.preempt_claim;
select is(t.preempt(t.pick(:'k' || '.a', '{1}', :'z' || '.a', :'x' || '.a'), t.pick(:'l' || '.a', '{2}', :'y' || '.a', :'x' || '.a'), t.pick(:'m' || '.a', '{2}', :'y' || '.a'),
	jsonb_build_object('steps', jsonb_build_array(t.claim_of(:'n' || '.a', '{4}')), 'victims', '[]'::jsonb)), 2, 'what is in an earlier pick is in no other; a pick may need no victim');
select is(t.orders(:'x' || '.a') || ' ' || t.orders(:'z' || '.a') || coalesce(t.orders(:'y' || '.a'), ''), 'kill@n1 kill@n3', 'the victims of the picks that hold are ended');
select results_eq(format('select job_id, mode, by_job_id from rota.preempted where job_id in (%s, %s, %s) order by job_id', :x, :y, :z), format('values (%s::bigint, ''requeue'', %s::bigint), (%s, ''cancel'', %s)', :x, :k, :z, :k), 'for the steps of their picks');
select is((select string_agg(detail, ', ' order by job_id) from rota.event where job_id in (:x, :z) and event = 'modify'), format('preempted by %1$s.a, preempted by %1$s.a', :k), 'and their events say so');
select is(t.claims(), format('%s.a@n1:1 %s.a@n4:1', :k, :n), 'claims in the order of the picks');
select is((select string_agg(extract(epoch from until_at - now())::int - internal.setting_int('preempt_hold_s') || '', ' ' order by claim_id) from rota.preempt_claim), '7 60', 'each for the grace of its victims');

-- Only jobmgrd may call api.schedule_preempt.
select is((select string_agg(r.rolname, ' ') from pg_roles r where has_function_privilege(r.oid, 'api.schedule_preempt(bigint, jsonb)', 'execute') and not r.rolsuper and r.rolname <> 'rota_owner'), 'rota_jobmgr_leader', 'only jobmgrd may preempt');
select * from finish();
rollback;
