-- Preemption by suspension: resources that a victim keeps, the moment when it goes on, and events in between, in each order:
-- cancellation, loss of its node, suspension by its owner.
begin;
\ir world.psql
select * from no_plan();
create function t.claim_of(p_label text, p_nodes int[], p_cpus int default 1) returns jsonb language sql as $$
	select jsonb_build_object('job', s.job_id, 'step', s.step_id, 'shares', (select jsonb_agg(jsonb_build_object('node', n, 'cpus', p_cpus, 'mem_mb', 0, 'gres', '{}'::jsonb, 'licenses', '{}'::jsonb)) from unnest(p_nodes) n)) from t.step(p_label) s $$;
create function t.victim(p_label text) returns jsonb language sql as $$
	select jsonb_build_object('job', s.job_id, 'step', s.step_id, 'attempt', s.attempt) from t.step(p_label) s $$;
create function t.preempt(p_label text, p_nodes int[], p_victim text) returns int language sql as $$
	select api.schedule_preempt(t.term(), jsonb_build_array(jsonb_build_object('steps', jsonb_build_array(t.claim_of(p_label, p_nodes)), 'victims', jsonb_build_array(t.victim(p_victim))))) $$;
create function t.resumes() returns text language sql as $$
	select string_agg(internal.step_label((x ->> 'job')::bigint, (x ->> 'step')::int) || '@n' || (x ->> 'node') || ':' || (x ->> 'cpus'), ' ') from jsonb_array_elements((select resumes from api.schedule_tick(t.term()))) x $$;
create function t.resume(variadic p_labels text[]) returns int language sql as $$
	select api.schedule_resume(t.term(), array_agg(s.job_id order by nr), array_agg(s.step_id order by nr)) from unnest(p_labels) with ordinality x (label, nr) cross join lateral t.step(x.label) s $$;
create function t.candidates() returns text language sql as $$
	select string_agg(internal.step_label(job_id, step_id) || case when suspends then ' suspends' else '' end || case when gives_licenses then ' gives' else '' end || case when from_at > extract(epoch from now()) then ' later' else '' end, ', ' order by job_id, step_id) from api.schedule_candidates(100) $$;
create function t.why(p_user text, p_label text) returns text language sql as $$
	select string_agg(c ->> 'message', '; ') from jsonb_array_elements(api.job_why(t.uid(p_user), p_user, t.request(p_label)) -> 'steps') s cross join jsonb_array_elements(s -> 'conditions') c $$;
create function t.pauses() returns bigint language sql as 'select count(*) from rota.preempt_pause';
create function t.used(p_node int) returns int language sql as 'select cpus_used from rota.node_used where node_id = p_node';
create function t.admin(p_object text, p_name text, p_values jsonb, p_action text default 'change') returns text language sql as $$
	select api.admin_change(0, 'root', jsonb_build_object('object', p_object, 'action', p_action, 'name', p_name, 'values', p_values)) ->> 'changed' $$;
create function t.cancelled() returns jsonb language sql as $$ select '{"outcome": "cancel", "cause": "cancelled", "exit": -1, "signal": 15}'::jsonb $$;
select t.admin('partition', 'main', '{"preempt": "suspend", "preempt_otherwise": "spare"}'), t.admin('qos', 'high', '{"tier": 2}', 'create') \g /dev/null

-- Steps that can be suspended.
select t.submit('alice', '[{"name": "a"}]') as low \gset
select t.submit('alice', '[{"name": "a", "keep": {"cpus": true}}]') as keeps \gset
select t.submit('alice', '[{"name": "a"}]', '[]', '{"qos": "high"}') as high \gset
select t.start(:'low' || '.a', '{1}') \g /dev/null
select is(t.candidates(), :'low' || '.a suspends later', 'one that only starts is looked at again later');
select t.run(:'low' || '.a'), t.start(:'keeps' || '.a', '{2}'), t.run(:'keeps' || '.a') \g /dev/null
select is(t.candidates(), :low || '.a suspends', 'what runs, unless it keeps its CPUs');
select t.admin('partition', 'main', '{"preempt_otherwise": "requeue"}') \g /dev/null
select is(t.candidates(), format('%s.a suspends, %s.a', :low, :keeps), 'or is treated as preempt_otherwise says');
select is((select count(*) from api.schedule_tick(t.term()) where resumes is null), 1::bigint, 'nothing is to go on');

savepoint runs;
select api.job_suspend(t.uid('alice'), 'alice', t.request(:'low')) \g /dev/null
select is(t.candidates(), :keeps || '.a', 'what its owner suspends is no candidate');
rollback to runs;

-- The victim is suspended, and goes on when the preempting step has ended.
select is(t.preempt(:'high' || '.a', '{1}', :'low' || '.a'), 1, 'suspended');
select is(t.orders(:'low' || '.a') || ' ' || t.state(:'low' || '.a') || ' ' || coalesce((t.step(:'low' || '.a')).end_wanted, 'stays'), 'suspend@n1 running stays', 'it has the order');
select is(t.preempt(:'high' || '.a', '{1}', :'low' || '.a'), 0, 'once');
select is(t.candidates(), :keeps || '.a', 'it is no candidate');
select t.report(t.say(:'low' || '.a', 'suspended')) \g /dev/null
select is(t.state(:'low' || '.a') || ' ' || t.used(1), 'suspended 0', 'its CPUs are free');
select is((select sum(mem_mb) from rota.allocation where job_id = :low and ended_at is null) = (select mem_used_mb from rota.node_used where node_id = 1), true, 'its memory is not');
select is(t.resumes() || '', null, 'they are kept for the other one');
select is(t.resume(:'low' || '.a'), 0, 'so it does not go on, whoever chooses it');
select is(t.why('alice', :'low' || '.a') like '%is suspended to make room for ' || :high || '.a, and goes on when that holds no CPUs and its own CPUs, licences and GPUs are free%', true, 'rota why says so');
select is(t.commit(t.decision(:'high' || '.a', '{1}', '{"claimed": true}')), 1, 'the other one starts');
select t.run(:'high' || '.a') \g /dev/null
select is(t.resumes(), null, 'it waits for its end');
savepoint by_runs;
select t.report(t.say(:'high' || '.a', 'suspended')) \g /dev/null
select is(t.resumes(), :low || '.a@n1:1', 'or for its suspension');
rollback to by_runs;
-- The preempting step is an array: the victim waits until all its elements have ended.
select t.submit('alice', '[{"name": "a", "array": {"indices": [[0,2,1]], "size": 3, "limit": null}}]', '[]', '{"qos": "high"}') as wide \gset
select t.start(:'wide' || '.a', '{2}', '{"position": 0}'), t.run(:'wide' || '.a[0]') \g /dev/null
update rota.preempt_pause set by_job_id = :wide where job_id = :low;
select is(internal.pause_is_due(:wide, 0), false, 'it waits for the elements that run');
select t.finish(:'wide' || '.a[0]') \g /dev/null
select is(internal.pause_is_due(:wide, 0)::text || ' ' || t.state(:'wide' || '.a'), 'true running', 'and for no others');
rollback to by_runs;
select t.finish(:'high' || '.a') \g /dev/null
select is(t.resumes(), :low || '.a@n1:1', 'now it may go on');
select is((select api.plan_snapshot(0, 'root', '{}') #>> '{resumes,0,job}'), :'low', 'the plan knows');
select is(t.resume(:'low' || '.a', :'keeps' || '.a'), 1, 'it goes on, and nobody who was not suspended');
select is(t.state(:'low' || '.a') || ' ' || t.used(1) || ' ' || t.pauses() || ' ' || coalesce(t.resumes(), 'none'), 'running 1 0 none', 'it has its CPUs');
select is(t.orders(:'low' || '.a') like '%resume@n1', true, 'and the order');
select is((select mode || ' ' || times || ' ' || (resumed_at is not null) || ' ' || lost_cpu_s || ' ' || coalesce(freed_in_s::text, 'null') from acct.preempted where job_id = :low), 'suspend 1 true 0 null', 'accounting has it');
select t.report(t.say(:'low' || '.a', 'resumed')) \g /dev/null
select t.right('resumed');

-- A resumed victim has its minimal run time again, and may be suspended again after it.
select t.admin('partition', 'main', '{"preempt_after": "1:00:00"}') \g /dev/null
update rota.attempt set started_at = started_at - interval '2 hours', ordered_at = ordered_at - interval '2 hours' where job_id = :low;
select is(t.candidates(), format('%s.a suspends later, %s.a later', :low, :keeps), 'its minimal run time begins again');
select t.admin('partition', 'main', '{"preempt_after": "none"}') \g /dev/null
select t.submit('alice', '[{"name": "a"}]', '[]', '{"qos": "high"}') as high \gset
select is(t.preempt(:'high' || '.a', '{1}', :'low' || '.a'), 1, 'again');
select is((select times || ' ' || by_job_id || ' ' || coalesce(resumed_at::text, 'null') from acct.preempted where job_id = :low), '2 ' || :high || ' null', 'its row is about the last time');

-- The preempting step ends before the suspension is reported.
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'high')) \g /dev/null
select is(t.resumes(), null, 'it still runs');
select t.report(t.say(:'low' || '.a', 'suspended')) \g /dev/null
select is(t.resumes(), :low || '.a@n1:1', 'it is suspended, and may go on at once');
savepoint suspended;

-- Another step has the victim's CPUs meanwhile.
update rota.node_used set cpus_used = cpus where node_id = 1;
select is(t.resume(:'low' || '.a'), 0, 'there is no room');
select is(t.pauses(), 1::bigint, 'it waits for it');
rollback to suspended;

-- The victim's owner suspends it as well: it goes on when the owner resumes it.
select api.job_suspend(t.uid('alice'), 'alice', t.request(:'low')) \g /dev/null
select is(coalesce(t.resumes(), 'none') || ' ' || t.state(:'low' || '.a'), 'none suspended', 'it is the owner''s now');
select is(t.why('alice', :'low' || '.a') like '%to make room%', false, 'and has no other reason');
select api.job_resume(t.uid('alice'), 'alice', t.request(:'low')) \g /dev/null
select is(t.state(:'low' || '.a'), 'running', 'it goes on');
select is((select resumed_at is not null from acct.preempted where job_id = :low), true, 'which accounting knows');
rollback to suspended;

-- The victim's owner resumes it.
select api.job_resume(t.uid('alice'), 'alice', t.request(:'low')) \g /dev/null
select is(t.state(:'low' || '.a') || ' ' || t.pauses(), 'running 0', 'there is room, so it does');
rollback to suspended;

-- The victim is cancelled.
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'low')) \g /dev/null
select is(coalesce(t.resumes(), 'none') || ' ' || t.pauses(), 'none 0', 'it does not go on');
select t.finish(:'low' || '.a', t.cancelled()) \g /dev/null
select is(t.state(:'low' || '.a'), 'cancelled', 'it is over');
select t.right('cancelled while suspended');
rollback to suspended;

-- The victim's node is lost.
select t.silent(1) \g /dev/null
select is((select string_agg(node || ' ' || to_state, ',') from t.judge()), 'n1 down', 'the node is lost');
select is(coalesce(t.resumes(), 'none') || ' ' || t.pauses(), 'none 0', 'nothing is to go on there');
select is(t.state(:'low' || '.a'), 'pending', 'it runs again');
select t.right('lost while suspended');
rollback to suspended;

-- The victim goes on before any of this happens.
select is(t.resume(:'low' || '.a'), 1, 'it goes on');
select throws_ok(format('select api.schedule_resume(%s, ''{}'', ''{}'')', t.term() - 1), 'RT412', null, 'only the leader says so');
select is((select string_agg(r.rolname, ' ') from pg_roles r where has_function_privilege(r.oid, 'api.schedule_resume(bigint, bigint[], int[])', 'execute') and not r.rolsuper and r.rolname <> 'rota_owner'), 'rota_jobmgr_leader', 'which is jobmgrd');
select * from finish();
rollback;
