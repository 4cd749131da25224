-- Modification: which options may change in which state, who may change them, and which changes reach nodes and the queue.
begin;
\ir world.psql
select * from no_plan();
select api.admin_change(0, 'root', v::jsonb) from unnest(array[
	'{"object": "user", "action": "create", "name": "olga", "values": {"role": "operator"}}',
	'{"object": "account", "action": "create", "name": "acc"}',
	'{"object": "qos", "action": "create", "name": "fast", "values": {"priority": 10}}',
	'{"object": "partition", "action": "create", "name": "side", "values": {"nodes": "n4", "max_time_s": 500, "allow_groups": "phys"}}']) v \g /dev/null
-- t.modify: read the spec, change it and submit the changes, as the HTTP API does.
create function t.modify(p_user text, p_label text, p_changed jsonb default '{}', p_job jsonb default '{}', p_spec text default null) returns text language plpgsql as $$
declare
	v_spec jsonb;
	v_answer jsonb;
	v_state text;
begin
	v_spec := api.job_spec(t.uid(p_user), p_user, t.request(p_label));
	v_answer := api.job_modify(t.uid(p_user), p_user, jsonb_build_object('jobs', jsonb_build_array(p_label), 'job', p_job, 'options', '[]'::jsonb, 'steps', (
		select jsonb_agg(jsonb_build_object('job_id', s -> 'job_id', 'request_id', s -> 'request_id', 'changed', p_changed, 'spec', coalesce(p_spec, s ->> 'spec'), 'auth', repeat('ab', 32)))
		from jsonb_array_elements(v_spec -> 'steps') s)));
	return (select string_agg(s ->> 'label' || ' ' || (s ->> 'action'), ' ' order by nr) from jsonb_array_elements(v_answer -> 'steps') with ordinality x (s, nr));
exception when others then
	get stacked diagnostics v_state = returned_sqlstate;
	return v_state || ' ' || sqlerrm;
end $$;

select t.submit('alice', '[{"name": "a", "mem_mb": 5}, {"name": "b"}]', '[{"step": "b", "peer": "a"}]', '{"groups": []}') as j \gset
select api.job_spec(t.uid('alice'), 'alice', t.request(:'j')) as spec \gset
select is((:'spec'::jsonb #> '{steps,0}') - '{script_hash,environment_hash,job}'::text[], jsonb_build_object('job_id', :j, 'request_id', 0, 'uid', t.uid('alice'), 'gid', 100, 'user', 'alice', 'auth', repeat('00', 32), 'auth_number', :j, 'step_id', 0,
	'name', 'a', 'line', 1, 'topo', 0, 'partition', 'main', 'checkpoint', null, 'nodes_min', 1, 'nodes_max', null, 'ntasks', 1, 'ntasks_per_node', null, 'cpus_per_task', 1, 'mem_mb', 5, 'mem_per_cpu_mb', null, 'gres', '{}'::jsonb,
	'licenses', '{}'::jsonb, 'exclusive', false, 'constraint', '', 'nodelist', '[]'::jsonb, 'exclude', '[]'::jsonb, 'time_limit_s', 60, 'time_min_s', null, 'begin_at', null, 'deadline_at', null, 'requeue', true, 'retry', 0, 'sample_s', null, 'reservation', null,
	'hold', false, 'group', null, 'keep', '{}'::jsonb, 'deps_any', false, 'with_set', null, 'image', null, 'eternal', false, 'prep', null, 'spec', E'output=0:\n', 'array', null), 'a step as it stands');
select is(jsonb_array_length(:'spec'::jsonb -> 'steps'), 2, 'both steps of the job');
-- A pending step: nearly all options.
select is(t.modify('alice', :'j' || '.a', '{"cpus_per_task": 2, "mem_mb": 70, "ntasks": 2, "gres": {"gpu": 1}, "constraint": "ib", "nodelist": ["n2"], "exclude": ["n3"], "exclusive": true, "retry": 3, "requeue": false, "keep": {"cpus": true}, "group": "g"}',
	'{}', E'output=1:x\n'), :'j' || '.a modified', 'a pending step');
select is((select concat_ws(' ', cpus_per_task, mem_mb, ntasks, gres, "constraint", nodelist, exclude, exclusive, retry, requeue, keep, group_name, spec, encode(auth, 'hex') = repeat('ab', 32)) from rota.step_request where job_id = :j and step_id = 0),
	E'2 70 2 {"gpu": 1} ib {n2} {n3} t 3 f {"cpus": true} g output=1:x\n t', 'as written');
select is((select array_agg(event order by event_id) from rota.event where job_id = :j and step_id = 0), '{submit,modify}', 'on record');
select is((select cpus_per_task from rota.step_request where job_id = :j and step_id = 1), 1, 'the other step is as it was');
select is(t.modify('alice', :'j' || '.a', '{"cpus_per_task": 9}'), 'RT422 --cpus-per-task: 9 CPUs on one node asked for, the largest node of partition "main" has 4', 'what can never run is refused');
select is(t.modify('alice', :'j' || '.a', '{"partition": "side"}'), 'RT422 --partition: you may not use partition "side"', 'what is not allowed, too');
select is(t.modify('alice', :'j' || '.a', '{"name": "z"}') like 'RT409%--name cannot be modified', true, 'a name binds others');
select is(t.modify('bob', :'j', '{"time_limit_s": 5}') like 'RT403%', true, 'not by others');
select is(t.modify('alice', '987654', '{}') like 'RT404%', true, 'no such job');
select is(t.modify('alice', :'j', jsonb_build_object('begin_at', extract(epoch from now() + interval '1 hour')::bigint, 'deadline_at', extract(epoch from now() + interval '2 hours')::bigint)), format('%1$s.a modified %1$s.b modified', :j), 'times');
select is((select array_agg(distinct concat_ws(' ', begin_at = now()::timestamptz(0) + interval '1 hour' or abs(extract(epoch from begin_at - now()) - 3600) < 2, abs(extract(epoch from start_by - now()) - 7140) < 2)) from rota.step where job_id = :j), '{"t t"}', 'count');
select is(t.modify('alice', :'j', '{"begin_at": null, "deadline_at": null}'), format('%1$s.a modified %1$s.b modified', :j), 'taken back');
select is((select array_agg(distinct coalesce(begin_at, start_by)) from rota.step where job_id = :j), array[null::timestamptz], 'gone');
-- The job.
select is(t.modify('alice', :'j', '{}', '{"name": "new", "comment": "c", "mail_user": "m", "mail_type": "ALL", "account": "acc", "qos": "fast", "nice": 4}'), format('%1$s.a modified %1$s.b modified', :j), 'the job');
select is((select concat_ws(' ', name, comment, mail_user, mail_type, account, qos, nice) from rota.job where job_id = :j), 'new c m ALL acc fast 4', 'as written');
select is((select array_agg(distinct s.rank = internal.submit_rank(j.priority - j.nice + q.priority, q.tier, j.submit_at)) from rota.step s join rota.job j using (job_id) join rota.qos q using (qos) where job_id = :j), '{t}', 'its place in the queue');
select is(t.modify('alice', :'j', '{}', '{"account": null, "comment": null}'), format('%1$s.a modified %1$s.b modified', :j), 'taken back');
select is((select concat(account, comment) from rota.job where job_id = :j), '', 'gone');
select is(t.modify('alice', :'j', '{}', '{"priority": 5}'), 'RT422 --priority: only operators give priority', 'not by the owner');
select is(t.modify('olga', :'j', '{}', '{"priority": 5}'), format('%1$s.a modified %1$s.b modified', :j), 'by an operator');
select is(t.modify('alice', :'j', '{}', '{"qos": "nix"}') like 'RT422%', true, 'no such quality of service');

select api.job_cancel(0, 'root', t.request(:'j')) \g /dev/null

-- A running step: its time limit, and options that its nodes need not be sent.
select t.submit('alice', '[{"name": "a", "time_limit_s": 100}, {"name": "b"}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a') \g /dev/null
select is(t.modify('alice', :'j' || '.a', '{"time_limit_s": 50}'), :'j' || '.a modified', 'the owner shortens');
select is((select time_limit_s from rota.attempt where job_id = :j), 50::bigint, 'the attempt''s limit');
select is((select kind || args::text from rota.node_order where job_id = :j and kind <> 'launch'), 'limit{"time_limit_s": 50}', 'and the node has its order');
select is((select max(r.ends_at - extract(epoch from t.started_at)) <= 51 from api.schedule_running() r join rota.attempt t using (job_id, step_id, attempt) where t.job_id = :j), true, 'and the scheduler');
select is(t.modify('alice', :'j' || '.a', '{"time_limit_s": 80}'), 'RT403 ' || :'j' || '.a: only operators raise the time limit of a step that has started', 'the owner does not prolong');
select is(t.modify('alice', :'j' || '.a', '{"time_limit_s": 0}') like 'RT403%', true, 'nor for ever');
select is(t.modify('olga', :'j' || '.a', '{"time_limit_s": 800}'), :'j' || '.a modified', 'an operator does');
select is(t.modify('olga', :'j' || '.a', '{"time_limit_s": null}'), :'j' || '.a modified', 'to the partition''s');
select is((select time_limit_s from rota.attempt where job_id = :j), 0::bigint, 'which has none');
select is(t.modify('alice', :'j' || '.a', '{"cpus_per_task": 2}'), 'RT409 ' || :'j' || '.a: it has started, so --cpus-per-task cannot be modified any more', 'not its size');
select is(t.modify('alice', :'j' || '.a', '{}', '{}', E'output=1:y\n'), 'RT409 ' || :'j' || '.a: it has started, so --output cannot be modified any more', 'not its output');
select is((select string_agg(t.modify('alice', :'j' || '.a', jsonb_build_object(k, '1'), '{}'), '|' order by nr) from unnest(array['sample_s', 'mem_per_cpu_mb', 'begin_at']) with ordinality x (k, nr)),
	(select string_agg(format('RT409 %s.a: it has started, so %s cannot be modified any more', :'j', o), '|' order by nr) from unnest(array['--sample', '--mem-per-cpu', '--begin']) with ordinality x (o, nr)), 'by the names of options');
select is(t.modify('alice', :'j' || '.a', '{"nodes_min": 2, "ntasks": 2}') like '%so --nodes cannot%', true, 'by the one that was given');
select is(t.modify('alice', :'j' || '.a', '{}', '{}', E'append=1:1\noutput=0:\nuser_prolog=2:/x\n') ~ 'so --(prolog|open-mode) cannot', true, 'of the spec too');
select is(t.modify('alice', :'j' || '.a', '{"retry": 2, "requeue": false}'), :'j' || '.a modified', 'whether it runs again');
select is((select retry || ' ' || requeue from rota.step_request where job_id = :j and step_id = 0), '2 false', 'as written');
select is(t.modify('alice', :'j' || '.a', '{"retry": 0}'), :'j' || '.a modified', 'or not');
select is(t.modify('alice', :'j', '{}', '{"comment": "hi"}'), format('%1$s.a modified %1$s.b modified', :j), 'a comment');
select is(t.modify('alice', :'j', '{}', '{"account": "acc"}') like 'RT409 job % has started%', true, 'not who pays');
select is(t.modify('alice', :'j', '{}', '{"name": "new"}', E'job_name=3:new\noutput=0:\n'), format('%1$s.a modified %1$s.b modified', :j), 'another name');
select is((select array_agg(r.spec || encode(r.auth, 'hex') order by r.step_id) from rota.step_request r where r.job_id = :j),
	array[E'output=0:\n' || repeat('00', 32), E'job_name=3:new\noutput=0:\n' || repeat('ab', 32)], 'what runs keeps the name under which it opened its files');
select is((select jsonb_path_query_array(api.job_show(t.uid('alice'), 'alice', t.request(:'j')), '$.jobs[0].steps[*].job_name')), '[null, "new"]', 'each step says its own');
select is(t.modify('alice', :'j' || '.b', '{"cpus_per_task": 2}'), :'j' || '.b modified', 'a step of it that has not started');
select t.finish(:'j' || '.a') \g /dev/null
select is(t.modify('alice', :'j' || '.a', '{"time_limit_s": 5}') like 'RT409%has ended', true, 'not what has ended');
select is(t.modify('alice', :'j', '{"time_limit_s": 5}'), :'j' || '.b modified', 'a job: what has not');
select t.pass(:'j' || '.b') \g /dev/null
select is(t.modify('alice', :'j') like 'RT409 job % has ended', true, 'nor a job that has');

-- Arrays: their limit always, their indices never, and no single element.
select t.submit('alice', '[{"name": "r", "array": {"indices": [[0,9,1]], "size": 10, "limit": 2}}]') as j \gset
select is(t.modify('alice', :'j', '{"array": {"indices": [[0,9,1]], "size": 10, "limit": 3}}'), :'j' || '.r modified', 'the limit');
select is(t.pending(), :'j' || '.r*3', 'counts');
select t.start(:'j' || '.r', '{1}', '{"position": 0}') \g /dev/null
select is(t.modify('alice', :'j', '{"array": {"indices": [[0,9,1]], "size": 10, "limit": null}, "time_limit_s": 30}'), :'j' || '.r modified', 'under way');
select is(t.pending(), :'j' || '.r*9', 'counts');
select is(t.orders(:'j' || '.r[0]'), 'limit@n1', 'the elements that run get their new time');
select is(t.modify('alice', :'j', '{"array": {"indices": [[0,4,1]], "size": 5, "limit": null}}') like 'RT409%the indices of an array cannot be modified', true, 'the indices');
select is(t.modify('alice', :'j', '{"mem_mb": 10}') like 'RT409%it has started%', true, 'its size');
select is(t.modify('alice', :'j' || '.r[3]', '{"time_limit_s": 30}') like 'RT422%one by one', true, 'one element');
-- The number of nodes cannot change where a peer has the same nodes.
select t.submit('alice', '[{"name": "a", "nodes_min": 2}, {"name": "b", "nodes_min": 2}]', '[{"step": "b", "peer": "a"}, {"step": "b", "kind": "same_nodes", "peer": "a"}]') as j \gset
select is(t.modify('alice', :'j' || '.a', '{"nodes_min": 1}') like 'RT409%same-nodes%', true, 'nodes of a peer');
select is(t.modify('alice', :'j' || '.b', '{"nodes_min": 1}') like 'RT409%same-nodes%', true, 'either way');
select t.right('modifications');
-- An element or step that has ended counts in the usage of its account and quality of service, so these cannot change any more.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as j \gset
select t.submit('alice', '[{"name": "r", "array": {"indices": [[0,9,1]], "size": 10, "limit": null}}]') as r \gset
select api.job_cancel(t.uid('alice'), 'alice', t.request(x)) from unnest(array[:'j' || '.a', :'r' || '.r[3]']) x \g /dev/null
select api.usage_roll(1000) \g /dev/null
select is(t.modify('alice', o, '{}', c::jsonb), format('RT409 a step of job %s has ended, so the job''s account and quality of service cannot be modified any more', o), 'not behind what has ended: ' || c)
from unnest(array[:'j', :'r']) o cross join unnest(array['{"account": "acc"}', '{"qos": "fast"}']) c;
select is(t.modify('alice', :'j', '{}', '{"nice": 3, "comment": "hi"}'), :'j' || '.b modified', 'what is no key of figures');
select is_empty('select * from acct.usage_audit(''2000-01-01'', ''2100-01-01'')', 'usage is what was added up');

-- The leader caches the request of a step until the step's version or the stamp of all changes: each modification changes one of
-- them.
select t.submit('alice', '[{"name": "v"}, {"name": "w"}]') as v \gset
create function t.version(p_label text) returns text language sql as $$
	select q.version::text from api.schedule_queue(1000) q join t.step(p_label) s on s.job_id = q.job_id and s.step_id = q.step_id $$;
create function t.stale(p_label text, p_changed jsonb, p_job jsonb default '{}') returns text language plpgsql as $$
declare
	v_before text := t.version(p_label);
begin
	return t.modify('alice', p_label, p_changed, p_job) || ': ' || (v_before <> t.version(p_label));
end $$;
select is((select string_agg(distinct t.stale(:'v' || '.v', c::jsonb), '') from unnest(array['{"cpus_per_task": 2}', '{"mem_mb": 7}', '{"time_limit_s": 50}', '{"exclude": ["n1"]}', '{"retry": 1}']) c), :'v' || '.v modified: true', 'whatever is changed of a step');
select is((select string_agg(distinct split_part(t.stale(:'v' || '.v', '{}', c::jsonb), ': ', 2), '') from unnest(array['{"account": "acc"}', '{"qos": "fast"}', '{"nice": 7}']) c), 'true', 'or of its job');
select t.version(:'v' || '.w') as w \gset
select t.modify('alice', :'v' || '.v', '{"mem_mb": 8}') \g /dev/null
select is(t.version(:'v' || '.w'), :'w', 'the other step is what it was');
-- The same for an array: the queue has its progress, and starts of its elements leave the array's version unchanged.
select t.submit('alice', '[{"name": "x", "array": {"indices": [[0, 4, 1]], "size": 5}}]') as x \gset
select is((select string_agg(distinct t.stale(:'x' || '.x', c::jsonb), '') from unnest(array['{"mem_mb": 7}', '{"time_limit_s": 50}']) c), :'x' || '.x modified: true', 'an array is changed');
select t.start(:'x' || '.x', '{2}', '{"position": 0}') \g /dev/null
select is((select string_agg(distinct t.stale(:'x' || '.x', c::jsonb), '') from unnest(array['{"time_limit_s": 40}']) c), :'x' || '.x modified: true', 'one that has begun');
select t.version(:'x' || '.x') as version \gset
savepoint s;
select t.start(:'x' || '.x', '{2}', '{"position": 2}') \g /dev/null
release s;
select is(t.version(:'x' || '.x'), :'version', 'an element starts');
select is((select q.array_next || ' ' || q.array_skip::text || ' ' || q.free_slots from api.schedule_queue(1000) q where q.job_id = :x), '1 {2} 3', 'which ones have begun');
select min(stamp) as stamp from api.schedule_queue(1000) \gset
savepoint s;
select api.admin_change(0, 'root', '{"object": "partition", "action": "change", "name": "main", "values": {"default_time_s": 40}}') \g /dev/null
release s;
select isnt((select min(stamp) from api.schedule_queue(1000)), :stamp, 'a partition''s defaults are changed');
select min(stamp) as stamp from api.schedule_queue(1000) \gset
savepoint s;
select api.admin_change(0, 'root', '{"object": "reservation", "action": "create", "name": "r", "values": {"start": "now+1hours", "duration": "60", "nodes": "n1", "users": "alice"}}') \g /dev/null
release s;
select isnt((select min(stamp) from api.schedule_queue(1000)), :stamp, 'a reservation lets it in');
select * from finish();
rollback;
