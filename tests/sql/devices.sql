-- GPUs that suspended steps give back: when they are free, who gets them, when the step goes on, and what it is charged.
begin;
\ir world.psql
\ir admin.psql
select * from no_plan();

-- t.gpus: holders of the GPUs of node 1.
create function t.gpus() returns text language sql as $$
	select string_agg(unit || ':' || coalesce(internal.step_label(job_id, step_id), 'free'), ' ' order by unit) from rota.node_gres where node_id = 1 and gres = 'gpu';
$$;
create function t.args(p_label text, p_kind text) returns jsonb language sql as $$
	select o.args from t.step(p_label) s join rota.node_order o on o.job_id = s.job_id and o.step_id = s.step_id and o.attempt = s.attempt and o.kind = p_kind
	order by o.order_id desc limit 1;
$$;
-- t.use: a running step with GPUs of node 1; returns its job.
create function t.use(p_user text, p_gpus text, p_keep text default '{"gres": false, "mem": true}', p_nodes int[] default '{1}') returns bigint language plpgsql as $$
declare
	v_job bigint := t.submit(p_user, jsonb_build_array(jsonb_build_object('name', 'a', 'keep', p_keep::jsonb)));
begin
	perform t.start(v_job || '.a', p_nodes, jsonb_build_object('gres', jsonb_build_object('gpu', p_gpus::jsonb))), t.run(v_job || '.a');
	return v_job;
end $$;
create function t.leave(p_job bigint, p_more jsonb default '{}') returns int language sql as $$
	select t.report(t.say(p_job || '.a', 'suspended', '{"devices_left": "1"}' || p_more));
$$;

-- The GPUs are free when the node has reported that the programs have left them, not before.
select t.use('alice', '[0, 1]') as j \gset
select is(t.act('suspend', 'alice', :'j'), 'suspending', 'suspend');
select is(t.args(:'j' || '.a', 'suspend'), '{"devices": 1}', 'the node may give its GPUs back');
select is(t.gpus(), format('0:%s.a 1:%1$s.a', :j), 'it holds them until the node reports');
select t.leave(:j, '{"clock": 1000}') \g /dev/null
select is(t.state(:'j' || '.a') || ' ' || t.gpus(), 'suspended 0:free 1:free', 'they are free');
select t.right('the GPUs are free');
select is((select gres from api.schedule_nodes() where node_id = 1) || (select coalesce(jsonb_agg(gres), '[]') from api.schedule_running() where job_id = :j), '{"gpu": [0, 1]}'::jsonb || '[{}]', 'for the scheduler, too');
select is(api.job_why(t.uid('alice'), 'alice', t.request(:'j')) #>> '{steps,0,conditions,0,message}' ~ 'has given its GPUs back', true, 'rota why says so');

select alike(t.admin('node', 'n1', '{"gres": "gpu:1"}'), 'RT409 device 1 of "gpu" on node "n1" is in use by %', 'the node cannot lose a GPU to which a step returns');

-- Another step has one of them: the suspended step waits for it, even if the other one is free.
select t.use('bob', '[1]') as k \gset
select t.right('another step has one');
select is(t.act('resume', 'alice', :'j'), 'resumes when its CPUs and GPUs are free', 'it waits');
select is(api.job_why(t.uid('alice'), 'alice', t.request(:'j')) #>> '{steps,0,conditions,0,message}' ~ 'goes on when its CPUs and GPUs are free', true, 'rota why says for what');
select api.schedule_tick(t.term()) \g /dev/null
select is(t.state(:'j' || '.a') || ' ' || t.gpus(), format('suspended 0:free 1:%s.a', :k), 'not yet');
select t.finish(:'k' || '.a'), api.schedule_tick(t.term()) \g /dev/null
select is(t.state(:'j' || '.a') || ' ' || t.gpus(), format('running 0:%s.a 1:%1$s.a', :j), 'it has the same ones again');
select is(t.args(:'j' || '.a', 'resume'), jsonb_build_object('devices', t.clock('0', 1000)), 'the order names the suspension that it ends');
select t.right('resumed');
select t.report(t.say(:'j' || '.a', 'resumed', '{"clock": 2000}')) \g /dev/null

-- A process manager that was killed reports its journal again: nothing is given back twice.
select t.leave(:j, '{"clock": 1000, "age_us": 5000000}') \g /dev/null
select is(t.state(:'j' || '.a') || ' ' || t.gpus(), format('running 0:%s.a 1:%1$s.a', :j), 'reported again');

-- It is charged for its GPUs only while it holds them.
select t.act('suspend', 'alice', :'j'), t.leave(:j, '{"clock": 3000}') \g /dev/null
update rota.allocation set started_at = now() - interval '1 hour', without_gpus = tstzmultirange(tstzrange(now() - interval '30 minutes', now() - interval '20 minutes'), tstzrange(now() - interval '10 minutes', null)) where job_id = :j;
select is((select round(gpu_held_s::numeric) from acct.step where job_id = :j), 4800::numeric, 'charged for the time in which it held them');
select is((select sum((gres_s ->> 'gpu')::numeric)::int from internal.usage_part where job_id = :j and not used), 4800, 'also in the usage figures');
select is(acct.gres_held('{"gpu": [0, 1], "fpga": [0]}', '2030-01-01 00:00Z', '2030-01-01 00:01Z', '{[2030-01-01 00:00:30Z,)}'), '{"gpu": 60.000000, "fpga": 60.000000}', 'other devices are never given back');

-- A step that ends while its GPUs are another's does not touch these.
select t.use('bob', '[0]') as k \gset
select t.act('cancel', 'alice', :'j'), t.finish(:'j' || '.a', '{"outcome": "cancel", "cause": "cancelled"}') \g /dev/null
select is(t.job(:j) || ' ' || t.gpus(), format('cancelled 0:%s.a 1:free', :k), 'cancelled while it has no GPUs');
select t.right('cancelled without GPUs');

-- A step that is cancelled while its GPUs are free gets them again, one while others have a claim to them does not. Of two steps that have
-- left the same GPU, one gets it.
select t.finish(:'k' || '.a'), t.use('alice', '[0]') as j \gset
select t.act('suspend', 'alice', :'j'), t.leave(:j, '{"clock": 5000}') \g /dev/null
savepoint claimed;
select t.submit('bob', '[{"name": "a", "gres": {"gpu": 2}}]') as b \gset
select internal.claim_add(jsonb_build_array(jsonb_build_object('job', :b, 'step', 0, 'grace_s', 60, 'shares', jsonb_build_array(jsonb_build_object('node', 1, 'cpus', 1, 'mem_mb', 0, 'gres', '{"gpu": 2}'::jsonb, 'licenses', '{}'::jsonb)))), '[]') \g /dev/null
select t.act('cancel', 'alice', :'j') \g /dev/null
select is(t.gpus() || ' ' || t.args(:'j' || '.a', 'kill'), '0:free 1:free {"cause": "cancelled"}', 'cancelled while its GPU is kept for another');
rollback to claimed;
select t.use('bob', '[0]') as k \gset
select t.act('suspend', 'bob', :'k'), t.leave(:k) \g /dev/null
select internal.steps_cancel(jsonb_build_array(jsonb_build_object('job_id', :j, 'step_id', 0), jsonb_build_object('job_id', :k, 'step_id', 0)), 'root', 'cancelled', 'both') \g /dev/null
select is(t.gpus(), format('0:%s.a 1:free', :j), 'cancelled while its GPU is free');
select is(t.args(:'j' || '.a', 'kill'), jsonb_build_object('cause', 'cancelled', 'devices', t.clock('0', 5000)), 'its programs return to it');
select is(t.args(:'k' || '.a', 'kill'), '{"cause": "cancelled"}', 'those of the other do not');
select t.right('cancelled with its GPU');
select t.finish(:'j' || '.a', '{"outcome": "cancel", "cause": "cancelled"}'), t.finish(:'k' || '.a', '{"outcome": "cancel", "cause": "cancelled"}') \g /dev/null
select is(t.gpus(), '0:free 1:free', 'and ended');
select t.right('both have ended');

-- The scheduler cannot give a GPU to two steps, nor a step that resumes take one from another.
select t.use('alice', '[1]') as j \gset
select t.act('suspend', 'alice', :'j'), t.leave(:j) \g /dev/null
select t.use('bob', '[0]') as k, t.use('bob', '[1]') as l \gset
select throws_ok(format($$select internal.devices_return(%s, 0, 1, now())$$, :j), '40001', null, 'a GPU of another step');
select is(t.gpus(), format('0:%s.a 1:%s.a', :k, :l), 'stays that of the other step');
select t.finish(:'l' || '.a'), t.finish(:'k' || '.a') \g /dev/null

-- GPUs that are kept for a step that has preempted others are not free.
savepoint kept;
select t.submit('bob', '[{"name": "a", "gres": {"gpu": 2}}]') as b \gset
select internal.claim_add(jsonb_build_array(jsonb_build_object('job', :b, 'step', 0, 'grace_s', 60, 'shares', jsonb_build_array(jsonb_build_object('node', 1, 'cpus', 1, 'mem_mb', 0, 'gres', '{"gpu": 2}'::jsonb, 'licenses', '{}'::jsonb)))), '[]') \g /dev/null
select is(t.act('resume', 'alice', :'j'), 'resumes when its CPUs and GPUs are free', 'they are kept for another');
rollback to kept;

-- The node of a suspended step is lost: its GPUs, which another step may have, stay as they are.
select t.act('resume', 'alice', :'j') \g /dev/null
select is(t.gpus(), format('0:free 1:%s.a', :j), 'resumed');
select t.finish(:'j' || '.a') \g /dev/null
select is(t.gpus(), '0:free 1:free', 'and ended');

-- What keeps its GPUs: a step whose programs did not leave, one that says so (--keep=gres), one on several nodes.
select t.use('alice', '[0]') as j \gset
select t.act('suspend', 'alice', :'j'), t.report(t.say(:'j' || '.a', 'suspended')) \g /dev/null
select is(t.state(:'j' || '.a') || ' ' || t.gpus(), format('suspended 0:%s.a 1:free', :j), 'programs did not leave');
select is(t.act('resume', 'alice', :'j') || ' ' || t.args(:'j' || '.a', 'resume'), 'resuming {}', 'it goes on');
select t.finish(:'j' || '.a') \g /dev/null
select t.use('alice', '[0]', '{"gres": true}') as j \gset
select t.act('suspend', 'alice', :'j') \g /dev/null
select is(t.args(:'j' || '.a', 'suspend'), '{}', '--keep=gres');
select t.act('cancel', 'alice', :'j'), t.finish(:'j' || '.a', '{"outcome": "cancel", "cause": "cancelled"}') \g /dev/null
select t.use('alice', '[0]', '{"gres": false}', '{1,2}') as j \gset
select t.act('suspend', 'alice', :'j') \g /dev/null
select is(t.args(:'j' || '.a', 'suspend'), '{}', 'several nodes');
select t.act('cancel', 'alice', :'j'), t.finish(:'j' || '.a', '{"outcome": "cancel", "cause": "cancelled"}') \g /dev/null

-- Preemption by suspension: whose GPUs are expected to become free, and who is resumed with which.
create function t.gives(p_job bigint) returns text language sql as $$ select suspends || ' ' || gives_gpus from api.schedule_candidates(100) where job_id = p_job $$;
select t.admin('partition', 'main', '{"preempt": "suspend", "preempt_otherwise": "spare"}'), t.admin('qos', 'high', '{"tier": 2}', 'create') \g /dev/null
select t.use('alice', '[1]') as j \gset
select is(t.gives(:j), 'true false', 'not where the node cannot');
update rota.node set found = found || '{"gives_gpus": "x"}' where node_id = 1;
select is(t.gives(:j), 'true false', 'not where root of the node registers nonsense');
update rota.node set found = found || '{"gives_gpus": true}' where node_id = 1;
select is(t.gives(:j), 'true true', 'where the node can');
select t.use('bob', '[0]', '{"gres": true}') as k \gset
select is(t.gives(:k), 'true false', 'not of a step that keeps them');
select t.finish(:'k' || '.a') \g /dev/null
select t.submit('bob', '[{"name": "a", "gres": {"gpu": 2}}]', '[]', '{"qos": "high"}') as high \gset
select is(api.schedule_preempt(t.term(), jsonb_build_array(jsonb_build_object('steps', jsonb_build_array(jsonb_build_object('job', :high, 'step', 0, 'shares',
	jsonb_build_array(jsonb_build_object('node', 1, 'cpus', 1, 'mem_mb', 0, 'gres', '{"gpu": 2}'::jsonb, 'licenses', '{}'::jsonb)))),
	'victims', jsonb_build_array(jsonb_build_object('job', :j, 'step', 0, 'attempt', 1))))), 1, 'preempted');
select is(t.args(:'j' || '.a', 'suspend'), '{"devices": 1}', 'the victim may give its GPU back');
select is(t.gpus(), format('0:free 1:%s.a', :j), 'and holds it until its node reports');
select t.leave(:j) \g /dev/null
select t.start(:'high' || '.a', '{1}', '{"gres": {"gpu": [0, 1]}}'), t.run(:'high' || '.a') \g /dev/null
select is(t.gpus(), format('0:%s.a 1:%1$s.a', :high), 'then the other step has both');
select t.right('preempted by suspension');
select is(internal.resume_list(), null, 'the victim waits for its end');
select t.finish(:'high' || '.a') \g /dev/null
select is(internal.resume_list() #> '{0,devices}', '{"gpu": [1]}', 'and needs the same GPU again');
select is(api.schedule_resume(t.term(), array[:j::bigint], '{0}'), 1, 'it goes on');
select is(t.gpus(), format('0:free 1:%s.a', :j), 'with it');
select t.right('resumed after preemption');
-- Programs that did not leave when they were suspended are not expected to leave the next time.
select t.report(t.say(:'j' || '.a', 'resumed')), t.finish(:'j' || '.a') \g /dev/null
select t.use('alice', '[1]') as j \gset
select t.act('suspend', 'alice', :'j'), t.report(t.say(:'j' || '.a', 'suspended', '{"clock": 10000}')), t.act('resume', 'alice', :'j'), t.report(t.say(:'j' || '.a', 'resumed', '{"clock": 20000}')) \g /dev/null
select is(t.gives(:j), 'true false', 'not after programs have stayed');
select t.finish(:'j' || '.a') \g /dev/null
select t.use('alice', '[1]') as j \gset
update rota.allocation set started_at = now() - interval '1 hour' where job_id = :j;
select t.act('suspend', 'alice', :'j'), t.leave(:j, '{"age_us": 60000000}'), t.act('resume', 'alice', :'j'), t.report(t.say(:'j' || '.a', 'resumed', '{"age_us": 50000000}')) \g /dev/null
select is(t.gives(:j), 'true true', 'again after they have left');
select t.act('suspend', 'alice', :'j'), t.report(t.say(:'j' || '.a', 'suspended', '{"age_us": 40000000}')), t.act('resume', 'alice', :'j'), t.report(t.say(:'j' || '.a', 'resumed', '{"age_us": 30000000}')) \g /dev/null
select is(t.gives(:j), 'true false', 'not if they stayed the last time');

-- A failover loses the commit that resumed a step: it runs, and its GPU is free here. It is stopped again.
select t.act('suspend', 'alice', :'j'), t.leave(:j, '{"clock": 70000}') \g /dev/null
delete from rota.node_order where job_id = :j;
select t.report(t.say(:'j' || '.a', 'resumed', '{"clock": 80000}')) \g /dev/null
select is(t.state(:'j' || '.a') || ' ' || t.gpus() || ' ' || t.args(:'j' || '.a', 'suspend'), 'suspended 0:free 1:free {"devices": 1}', 'resumed, as its node says');
select t.leave(:j, '{"clock": 90000}') \g /dev/null
select is(t.state(:'j' || '.a') || ' ' || t.gpus(), 'suspended 0:free 1:free', 'stopped again');
select t.right('after a lost resume');
select is(t.act('resume', 'alice', :'j'), 'resuming', 'it goes on');
select is(t.args(:'j' || '.a', 'resume'), jsonb_build_object('devices', t.clock('0', 90000)), 'from the last suspension');
select t.finish(:'j' || '.a') \g /dev/null
select t.right('at the end');
select * from finish();
rollback;
