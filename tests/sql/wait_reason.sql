-- Why steps waited: what the plan said is kept as long as it lasted, with what came before a step was eligible.
begin;
\ir world.psql
select * from no_plan();
create function t.plan(variadic p_said jsonb[]) returns void language sql as $$ select api.schedule_plan(t.term(), coalesce(to_jsonb(p_said), '[]'), null, null) $$;
create function t.said(p_job bigint, p_reason text, p_blocker text default null, p_step int default 0) returns jsonb language sql as $$
	select jsonb_build_object('job', p_job, 'step', p_step, 'reason', p_reason, 'blocker', p_blocker, 'message', 'x') $$;
create function t.age(p_job bigint, p_s int) returns void language sql as $$ update rota.plan set since = since - make_interval(secs => p_s) where job_id = p_job $$;
create function t.waited(p_job bigint) returns text language sql as $$
	select string_agg(concat_ws(' ', step, reason, blocker, blocker_job_id, 10 * floor(wait_s::numeric / 10), case when until_at is null then 'still' end), ', ' order by step, from_at) from acct.wait_reason where job_id = p_job $$;

select t.submit('alice', '[{"name": "first"}]') as i \gset
select t.submit('alice', '[{"name": "a", "cpus_per_task": 2, "mem_per_cpu_mb": 50, "gres": {"gpu": 1}}]') as j \gset
select t.plan(t.said(:j, 'resources')), t.age(:j, 100) \g /dev/null
select is(t.waited(:j), 'a resources 100 still', 'what it waits for now');
select t.plan(t.said(:j, 'resources')) \g /dev/null
select is(t.waited(:j), 'a resources 100 still', 'the same plan changes nothing');
select t.plan(t.said(:j, 'priority', :'i' || '.first')) \g /dev/null
select is(t.waited(:j), format('a resources 100, a priority %s.first %s 0 still', :i, :i), 'another reason, and whom it waited for');
-- The wait ends by the clock, which goes on in a transaction.
update rota.plan set since = clock_timestamp() - interval '75 seconds' where job_id = :j;
select t.plan(t.said(:j, 'priority', :'i' || '.first')) \g /dev/null
select t.start(:'j' || '.a') \g /dev/null
select is(t.waited(:j), format('a resources 100, a priority %s.first %s 70', :i, :i), 'its start ends the wait');
select is((select count(*) from rota.plan where job_id = :j), 0::bigint, 'and the plan');

-- A reason of less than a second is not kept. The reason of a step that is no longer in the plan is kept.
select t.submit('bob', '[{"name": "a"}]') as k \gset
select t.plan(t.said(:k, 'license')), t.plan(t.said(:k, 'resources')) \g /dev/null
select is(t.waited(:k), 'a resources 0 still', 'a moment is no reason');
select t.age(:k, 30), t.plan(variadic '{}'::jsonb[]) \g /dev/null
select is(t.waited(:k), 'a resources 30', 'it is no longer held up');

-- Before it was eligible.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c", "hold": true}]', '[{"step": "b", "peer": "a"}]') as l \gset
update rota.job set submit_at = submit_at - interval '20 seconds' where job_id = :l;
update rota.step set eligible_at = eligible_at - interval '20 seconds' where job_id = :l and step_id = 0;
select is(t.waited(:l), 'b dependency 20 still, c held 20 still', 'by its script');
select t.pass(:'l' || '.a') \g /dev/null
select is(t.waited(:l), 'b dependency 20, c held 20 still', 'up to when it was eligible');
select is((select concat_ws(' ', cpus_requested, mem_requested_mb, gres_requested) from acct.request where job_id = :j), '2 100 {"gpu": 1}', 'what was asked for');
select is((select concat_ws(' ', cpus_requested, mem_requested_mb, gres_requested) from acct.queue_at(now()) where job_id = :j), '2 100 {"gpu": 1}', 'in the queue of a moment, too');
select * from finish();
rollback;
