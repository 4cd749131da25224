-- Submission: a whole job or nothing of it; a step that can never run, or is not allowed, is refused with its line and option.
begin;
\ir world.psql
select * from no_plan();
select api.admin_change(0, 'root', v::jsonb) from unnest(array[
	'{"object": "partition", "action": "create", "name": "short", "values": {"max_time": "10", "max_nodes": 2, "nodes": "n[1-3]", "priority": 5}}',
	'{"object": "partition", "action": "create", "name": "closed", "values": {"allow_users": "bob,carol", "nodes": "n4"}}',
	'{"object": "partition", "action": "create", "name": "grouped", "values": {"allow_groups": "phys", "nodes": "all"}}',
	'{"object": "partition", "action": "create", "name": "paid", "values": {"allow_accounts": "phys", "nodes": "all"}}',
	'{"object": "partition", "action": "create", "name": "old", "values": {"state": "drain", "nodes": "all"}}',
	'{"object": "partition", "action": "create", "name": "off", "values": {"state": "down", "nodes": "all"}}',
	'{"object": "account", "action": "create", "name": "phys", "values": {"users": "bob,alice:3"}}',
	'{"object": "account", "action": "create", "name": "open"}',
	'{"object": "qos", "action": "create", "name": "fast", "values": {"priority": 100, "max_time": "1:00:00"}}',
	'{"object": "license", "action": "create", "name": "lic", "values": {"total": 3}}',
	'{"object": "user", "action": "create", "name": "olga", "values": {"role": "operator", "default_account": "open"}}']) v \g /dev/null

create function t.refused(p_step jsonb, p_user text default 'alice', p_job jsonb default '{}', p_groups jsonb default null) returns text language plpgsql as $$
begin
	perform t.submit(p_user, jsonb_build_array(p_step || '{"name": "a", "line": 7}'), '[]', p_job || jsonb_strip_nulls(jsonb_build_object('groups', p_groups)));
	return 'taken';
exception when sqlstate 'RT422' or sqlstate 'RT429' then
	return sqlerrm;
end $$;
select is(t.refused('{}'), 'taken', 'a plain step');
select is(t.refused('{"partition": "nix"}'), 'test.sh:7: --partition: there is no partition "nix"', 'no such partition');
select is(t.refused('{"partition": "old"}'), 'test.sh:7: --partition: partition "old" accepts no jobs now (drain)', 'drain accepts nothing');
select is(t.refused('{"partition": "off"}'), 'taken', 'down accepts');
select is(t.refused('{"partition": "closed"}'), 'test.sh:7: --partition: you may not use partition "closed"', 'not for this user');
select is(t.refused('{"partition": "closed"}', 'bob'), 'taken', 'for that one');
select is(t.refused('{"partition": "grouped"}'), 'test.sh:7: --partition: you may not use partition "grouped"', 'not for this group');
select is(t.refused('{"partition": "grouped"}', 'alice', '{}', '["users", "phys"]'), 'taken', 'for that one');
select is(t.refused('{"partition": "paid"}'), 'test.sh:7: --partition: you may not use partition "paid"', 'not without an account');
select is(t.refused('{"partition": "paid"}', 'alice', '{"account": "open"}'), 'test.sh:7: --partition: you may not use partition "paid"', 'not with this account');
select is(t.refused('{"partition": "paid"}', 'alice', '{"account": "phys"}'), 'taken', 'with that one');
select is(t.refused('{}', 'alice', '{"account": "nix"}'), 'test.sh:1: --account: there is no account "nix"', 'no such account');
select is(t.refused('{}', 'alice', '{"account": "nix", "lines": {"account": 3}}'), 'test.sh:3: --account: there is no account "nix"', 'with the line of the option');
select is(t.refused('{}', 'alice', '{"account": "nix", "lines": {"account": 0}}'), '--account: there is no account "nix"', 'which may be the command line');
select is(t.refused('{"licenses": {"lic": 9}, "lines": {"licenses": 4}}'), 'test.sh:4: --licenses: 9 of licence "lic" asked for, there are 3', 'of a step''s option too');
select is(t.refused('{"partition": "short", "exclude": ["n1", "n2", "n3"]}'), 'test.sh:7: --exclude: 1 node asked for, it leaves 0 of partition "short"', 'nothing left');
select is(t.refused('{"partition": "short", "exclude": ["n1", "n2"]}'), 'taken', 'something left');
select is(t.refused('{"exclude": ["n1", "n9"]}'), 'test.sh:7: --exclude: there is no node "n9"', 'against a node that is not there');
select is(t.refused('{}', 'carol', '{"account": "phys"}'), 'test.sh:1: --account: "carol" may not use account "phys"', 'not this user''s');
select is(t.refused('{}', 'carol', '{"account": "open"}'), 'taken', 'an account without a list is open');
select is(t.refused('{}', 'alice', '{"qos": "nix"}'), 'test.sh:1: --qos: there is no quality of service "nix"', 'no such qos');
select is(t.refused('{}', 'alice', '{"nice": -1}'), 'test.sh:1: --nice: only operators give a negative value', 'nice below zero');
select is(t.refused('{}', 'alice', '{"priority": 5}'), 'test.sh:1: --priority: only operators give priority', 'priority');
select is(t.refused('{}', 'olga', '{"priority": 5, "nice": -3}'), 'taken', 'operators may');
select is((select account from rota.job order by job_id desc limit 1), 'open', 'a default account');
select is(t.refused('{"partition": "short", "time_limit_s": 601}'), 'test.sh:7: --time: the time limit is longer than the 600 s allowed here', 'too long');
select is(t.refused('{"partition": "short", "time_limit_s": 0}'), 'test.sh:7: --time: the time limit is longer than the 600 s allowed here', 'no limit where there is one');
select is(t.refused('{"time_limit_s": 3601}', 'alice', '{"qos": "fast"}'), 'test.sh:7: --time: the time limit is longer than the 3600 s allowed here', 'too long for its qos');
select is(t.refused('{"partition": "short", "time_limit_s": null}'), 'taken', 'the partition''s own limit');
select is(t.refused('{"partition": "short", "nodes_min": 3}'), 'test.sh:7: --nodes: 3 nodes asked for, partition "short" allows 2', 'too many nodes');
select is(t.refused('{"nodes_min": 5}'), 'test.sh:7: --nodes: 5 nodes asked for, partition "main" has 4', 'more nodes than there are');
select is(t.refused('{"cpus_per_task": 5}'), 'test.sh:7: --cpus-per-task: 5 CPUs on one node asked for, the largest node of partition "main" has 4', 'more CPUs than a node has');
select is(t.refused('{"cpus_per_task": 2, "ntasks": 9}'), 'test.sh:7: --ntasks: 18 CPUs asked for, partition "main" has 16', 'more CPUs than there are');
select is(t.refused('{"mem_mb": 4001}'), 'test.sh:7: --mem: 4001 MiB on one node asked for, the largest node of partition "main" has 4000', 'more memory than a node has');
select is(t.refused('{"gres": {"gpu": 3}}'), 'test.sh:7: --gres: 3 of "gpu" on one node asked for, the best node of partition "main" has 2', 'more units than a node has');
select is(t.refused('{"gres": {"tpu": 1}}'), 'test.sh:7: --gres: 1 of "tpu" on one node asked for, the best node of partition "main" has 0', 'units that no node has');
select is(t.refused('{"licenses": {"lic": 4}}'), 'test.sh:7: --licenses: 4 of licence "lic" asked for, there are 3', 'more licences than there are');
select is(t.refused('{"nodelist": ["n1", "n9"]}'), 'test.sh:7: --nodelist: partition "main" has no node "n9"', 'a node that is not there');
select is(t.refused('{"partition": "short", "nodelist": ["n4"]}'), 'test.sh:7: --nodelist: partition "short" has no node "n4"', 'a node of another partition');
select is(t.refused(jsonb_build_object('time_limit_s', 600, 'deadline_at', extract(epoch from now())::bigint + 300)), 'test.sh:7: --deadline: the step cannot end before its deadline', 'a deadline too near');
select is(t.refused(jsonb_build_object('time_limit_s', 600, 'time_min_s', 100, 'deadline_at', extract(epoch from now())::bigint + 300)), 'taken', 'unless it may be shorter');
update rota.partition set is_default = false;
select is(t.refused('{}'), 'test.sh:7: --partition: no partition named, and there is no default one', 'no default partition');
update rota.partition set is_default = true where partition = 'main';
update rota.setting set value = '3' where name = 'max_submitted';
select is(t.refused('{}', 'dave'), 'taken', 'one') ;
select throws_ok($$select t.submit('dave', '[{"name": "a"}, {"name": "b"}, {"name": "c"}]')$$, 'RT429', 'user "dave" would have more than 3 live steps', 'more than a user may have');
select t.submit('dave', '[{"name": "a", "array": {"indices": [[0,99,1]], "size": 100}}, {"name": "b"}]') as d \gset
select throws_ok($$select t.submit('dave', '[{"name": "a"}]')$$, 'RT429', 'user "dave" would have more than 3 live steps', 'an array is one step');
select api.job_cancel(0, 'root', t.request(:'d' || '.b')) \g /dev/null
select is(t.refused('{}', 'dave'), 'taken', 'room again as soon as one has ended');
select is(t.refused('{}', 'erin'), 'taken', 'another user has room');
update rota.setting set value = '1000000' where name = 'max_submitted';
-- The limit of live steps of all users: the count is right whether it starts from the present rows or from an earlier sum.
select sum(steps_left) as live from rota.job where ended_at is null \gset
update rota.setting set value = :live + 1 where name = 'max_submitted_all';
select is(t.refused('{}', 'dave'), 'taken', 'the last that fits');
select throws_ok($$select t.submit('erin', '[{"name": "a"}]')$$, 'RT429', 'all users together would have more than ' || :live + 1 || ' live steps', 'more than all may have');
select api.job_cancel(0, 'root', t.request(:'d')) \g /dev/null
update rota.submit_load set counted_at = counted_at - interval '1 second';
select is(t.refused('{}', 'erin'), 'taken', 'room again, a moment later');
update rota.setting set value = '900' where name in ('max_submitted', 'max_submitted_all');
delete from rota.submit_load;
insert into rota.submit_load (uid, steps, last_job, counted_at) values (-1, 2, 3, now()), (t.uid('erin'), 1000, 3, now() - interval '1 minute');
select is(t.refused('{}', 'erin'), 'taken', 'what was counted long ago and is too much now is counted anew');
select is((select steps from rota.submit_load where uid = t.uid('erin')), (select sum(steps_left)::bigint - 1 from rota.job where ended_at is null and uid = t.uid('erin')), 'and kept');
update rota.submit_load set steps = 1000000, counted_at = now() where uid = -1;
select throws_ok($$select t.submit('erin', '[{"name": "a"}]')$$, 'RT429', null, 'of many, what was counted a moment ago stands');
delete from rota.submit_load;
update rota.setting set value = '1000000' where name in ('max_submitted', 'max_submitted_all');
select t.submit('frank', '[{"name": "a"}]') from generate_series(1, 40) \g /dev/null
select is((select steps from rota.submit_load where uid = t.uid('frank')), 32::bigint, 'a long list of what came since is added to what was counted');
select is((select l.steps + count(*) from rota.submit_load l join rota.job j on j.uid = l.uid and j.job_id > l.last_job where l.uid = t.uid('frank') group by l.steps), 40::bigint, 'and nothing twice');
select t.submit('gina', '[{"name": "a"}]') from generate_series(1, 40) \g /dev/null
select t.submit('frank', '[{"name": "a"}]') \g /dev/null
select is((select l.steps + count(*) from rota.submit_load l join rota.job j on j.uid = l.uid and j.job_id > l.last_job where l.uid = t.uid('frank') group by l.steps), 41::bigint, 'whatever others submit meanwhile');
select throws_like($$select t.submit('alice', '[{"name": "r", "array": {"indices": [[0,3,1]], "size": 4}}, {"name": "b"}]', '[{"step": "b", "kind": "same_nodes", "peer": "r"}]')$$,
	'%--same-nodes: "r" is an array, which has no one set of nodes', 'the same nodes as an array');
select is((select count(*) from rota.job), (select count(distinct job_id) from rota.step), 'nothing is left of what was refused');

-- Members that most steps have alike may be sent once, and so may common ends of specs: the result is the same job.
create function t.shared(p_plan jsonb) returns jsonb language sql as $$
	select p_plan || jsonb_build_object('common', c.common, 'spec_end', E't=0:\n', 'steps', (
		select jsonb_agg(case when nr = 1 then '{"spec": "outpu"}' else '{"spec": "output=0", "spec_end": 2}' end::jsonb || (
			select jsonb_object_agg(k.key, v.value -> k.key)
			from (select jsonb_object_keys(v.value) union select jsonb_object_keys(c.common)) k (key)
			where k.key <> 'spec' and v.value -> k.key is distinct from c.common -> k.key) order by nr)
		from jsonb_array_elements(p_plan -> 'steps') with ordinality v (value, nr)))
	from (select (p_plan -> 'steps' -> 0) - '{step_id,name,topo,spec}'::text[] as common) c $$;
create function t.alike(p_steps jsonb) returns text language plpgsql as $$
declare
	v_plan constant jsonb := t.plan(p_steps, '[{"step": "b", "peer": "a"}]', '{}');
	v_plans constant jsonb[] := array[v_plan, t.shared(v_plan)];
	v_rows text[];
	v_job bigint;
begin
	for i in 1..2 loop
		v_job := api.job_submit(t.uid('alice'), 100, 'alice', jsonb_set(v_plans[i], '{job,job_id}', api.job_number(1) -> 0), '#!/bin/bash', '\x413d6200') ->> 'job_id';
		v_rows[i] := (
			select jsonb_agg(to_jsonb(r) - 'job_id' || to_jsonb(s) - 'job_id' || coalesce(to_jsonb(a), '{}') - 'job_id' order by s.step_id)::text
			from rota.step s join rota.step_request r using (job_id, step_id) left join rota.step_array a using (job_id, step_id) where s.job_id = v_job);
		if v_rows[i] <> v_rows[1] then
			return v_rows[1] || ' is not ' || v_rows[i];
		end if;
	end loop;
	return 'alike';
end $$;
select is(t.shared(t.plan('[{"name": "a"}, {"name": "b", "retry": 2}]', '[]', '{}')) -> 'steps' -> 1, '{"name": "b", "retry": 2, "step_id": 1, "topo": 1, "spec": "output=0", "spec_end": 2}'::jsonb, 'what is left to say of a step');
select is(t.alike('[{"name": "a"}, {"name": "b"}]'), 'alike', 'nothing said');
select is(t.alike('[{"name": "a", "hold": true, "deadline_at": 4000000000, "mem_mb": 5, "gres": {"gpu": 1}}, {"name": "b", "hold": true, "deadline_at": 4000000000, "mem_mb": 6, "gres": {"gpu": 1}}]'), 'alike', 'held, with deadlines and units');
select is(t.alike('[{"name": "a", "hold": true, "deadline_at": 4000000000, "mem_mb": 5, "gres": {"gpu": 1}}, {"name": "b", "hold": false}]'), 'alike', 'what the first one asks for is not asked for by the second');
select is(t.alike('[{"name": "a", "array": {"indices": [[0,3,1]], "size": 4}}, {"name": "b", "array": {"indices": [[0,3,1]], "size": 4}}]'), 'alike', 'all of them arrays');
select is(t.alike('[{"name": "a", "array": {"indices": [[0,3,1]], "size": 4}}, {"name": "b"}]'), 'alike', 'or the first');

-- A job may have a number that was reserved for it; no other job gets this number.
create function t.numbered(p_number jsonb) returns bigint language sql as $$
	select (api.job_submit(t.uid('alice'), 100, 'alice', t.plan('[{"name": "a"}]', '[]', jsonb_build_object('job_id', p_number)), '#!/bin/sh', 'A=b') ->> 'job_id')::bigint $$;
select api.job_number(3) as numbers \gset
select is(:'numbers'::jsonb, jsonb_build_array((:'numbers'::jsonb ->> 0)::bigint, (:'numbers'::jsonb ->> 0)::bigint + 1, (:'numbers'::jsonb ->> 0)::bigint + 2), 'numbers are reserved');
select is(t.numbered(:'numbers'::jsonb -> 2), (:'numbers'::jsonb ->> 2)::bigint, 'one is used');
select is(t.numbered(:'numbers'::jsonb -> 0), (:'numbers'::jsonb ->> 0)::bigint, 'and one before it');
select throws_ok(format('select t.numbered(%L)', :'numbers'::jsonb -> 2), '23505', null, 'not twice');
select throws_ok(format('select t.numbered(%L)', (:'numbers'::jsonb ->> 2)::bigint + 1), 'RT409', null, 'a number that nobody has reserved is refused');
select throws_ok($$select t.numbered('null')$$, 'RT503', null, 'and no number, as of a jobmgrd that reserves none');
select throws_ok(format('select api.job_number(%L)', n), 'RT422', null, coalesce(n::text, 'null') || ' numbers are not reserved') from unnest('{0,-1,1001,null}'::int[]) n;
update rota.authenticator set numbered_after = (:'numbers'::jsonb ->> 1)::bigint;
select throws_ok(format('select t.numbered(%L)', :'numbers'::jsonb -> 1), 'RT409', null, 'a number from before authenticators covered it is refused');
select results_eq(format('select auth_number from api.schedule_launch(array[%s, %s], ''{0,0}'') order by job_id', :'numbers'::jsonb -> 0, :'numbers'::jsonb -> 2),
	format('values (0::bigint), (%s)', :'numbers'::jsonb -> 2), 'the signer learns which numbers are covered');
update rota.authenticator set numbered_after = 0;
update rota.live_from set job_id = (:'numbers'::jsonb ->> 2)::bigint;
select throws_ok(format('select t.numbered(%L)', :'numbers'::jsonb -> 1), '40001', null, 'a number of a range that is over is refused: jobmgrd takes another one');
update rota.live_from set job_id = 0;

-- A client key makes a repeated submission return the first job. Keys of different users are independent.
create function t.keyed(p_user text, p_key text) returns jsonb language sql as $$
	select api.job_submit(t.uid(p_user), 100, p_user, t.plan('[{"name": "a"}, {"name": "b"}]', '[]', jsonb_build_object('client_key', p_key)), '#!/bin/sh', 'A=b') $$;
select t.keyed('alice', 'k1') as one \gset
select is(:'one'::jsonb ->> 'known', 'false', 'new');
select is(t.keyed('alice', 'k1'), :'one'::jsonb || '{"known": true}', 'the same again');
select isnt(t.keyed('bob', 'k1') ->> 'job_id', :'one'::jsonb ->> 'job_id', 'another user''s key is another one');
select isnt(t.keyed('alice', 'k2') ->> 'job_id', :'one'::jsonb ->> 'job_id', 'another key');
select is((select count(*) from rota.job j join rota.client_key k using (job_id) where k.client_key = 'k1'), 2::bigint, 'one job a key');
-- The retry key that a client makes up in case it gets no answer has the same effect, and is stored with the job.
create function t.retried(p_user text, p_key text) returns jsonb language sql as $$
	select api.job_submit(t.uid(p_user), 100, p_user, t.plan('[{"name": "a"}]', '[]', jsonb_build_object('retry_key', p_key)), '#!/bin/sh', 'A=b') $$;
select repeat('a1', 16) as key \gset
select t.retried('alice', :'key') as one \gset
select is(:'one'::jsonb ->> 'known', 'false', 'new');
select is(t.retried('alice', upper(:'key')), :'one'::jsonb || '{"known": true}', 'the same again');
select is(t.retried('bob', :'key') ->> 'known', 'false', 'another user''s key is another one');
select is(t.keyed('alice', :'key') ->> 'known', 'false', 'and so is one that was chosen');
select results_eq($$ select count(*), count(k.client_key) from rota.job j left join rota.client_key k using (job_id) where j.retry_key = repeat('a1', 16)::uuid $$, 'values (2::bigint, 0::bigint)', 'one job a key');
-- A tried submission is answered or refused as a real one, and leaves no row.
create function t.tried(p_step jsonb) returns jsonb language sql as $$
	select api.job_try(t.uid('alice'), 100, 'alice', t.plan(jsonb_build_array(p_step || '{"name": "a"}'), '[]', '{"client_key": "tried", "job_id": 0}'), '#!/bin/sh tried', 'A=tried') - 'cost' $$;
create function t.everything() returns bigint[] language sql as $$
	select array[(select count(*) from rota.job), (select count(*) from rota.step), (select count(*) from rota.step_request), (select count(*) from rota.script),
		(select count(*) from rota.environment), (select count(*) from rota.client_key), (select count(*) from rota.event)] $$;
create function t.sequences() returns text language sql as $$
	select string_agg(q.sequencename || ':' || coalesce(q.last_value, 0), ' ' order by q.sequencename) from pg_sequences q where q.schemaname = 'rota' $$;
select t.everything() as before, t.sequences() as sequences \gset
select is(t.tried('{}'), '{"steps": 1, "known": false}', 'it would be submitted');
select is(t.tried('{"gres": {"gpu": 1}}'), '{"steps": 1, "known": false}', 'with what nobody has asked for yet');
select is(t.tried('{"array": {"indices": [[0,3,1]], "size": 4}}'), '{"steps": 1, "known": false}', 'an array');
select throws_like($$select t.tried('{"partition": "closed", "line": 3}')$$, '%:3: --partition:%', 'it would be refused');
select is(api.job_try(t.uid('alice'), 100, 'alice', t.plan('[{"name": "a"}, {"name": "b"}]', format('[{"step": "a", "job": %s}, {"step": "b", "peer": "a"}]', :'one'::jsonb ->> 'job_id')::jsonb, '{"job_id": 0}'),
	'#!/bin/sh', 'A=b') - 'cost', '{"steps": 2, "known": false}', 'after another job');
select is(t.everything(), :'before', 'nothing is left of any');
select is(t.sequences(), :'sequences', 'and no number is used up');
select is(coalesce(current_setting('rota.try', true), ''), '', 'the session submits again');
set local rota.try = 900000;
select throws_ok($$select t.keyed('alice', 'reserved')$$, 'RT200', 'tried', 'nobody keeps a job with a number that he chose');
set local rota.try = '';
-- Several jobs in one call: all or none, in the order of the list; a null script or environment is that of the job before.
create function t.listed(variadic p_plans jsonb[]) returns jsonb language sql as $$
	select api.job_submit_list(t.uid('alice'), 100, 'alice', to_jsonb(p_plans), ('{#!/bin/sh,NULL,#!/bin/bash}'::bytea[])[:cardinality(p_plans)],
		('{"A=b",NULL,NULL}'::bytea[])[:cardinality(p_plans)]) -> 'jobs' $$;
create function t.none_of(p_message text, variadic p_plans jsonb[]) returns text language plpgsql as $$
begin
	perform t.listed(variadic p_plans);
	return 'taken';
exception when sqlstate 'RT422' or sqlstate 'RT429' then
	return case when sqlerrm = p_message then 'none' else sqlerrm end;
end $$;
select is(t.none_of('jobs[1]: test.sh:4: --nodes: 9 nodes asked for, partition "main" has 4', t.plan('[{"name": "a"}]', '[]', '{}'), t.plan('[{"name": "a", "nodes_min": 9, "line": 4}]', '[]', '{}'),
	t.plan('[{"name": "a"}]', '[]', '{}')), 'none', 'one of them cannot run');
select t.listed(t.plan('[{"name": "a"}]', '[]', '{"retry_key": "d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1"}'), t.plan('[{"name": "a"}, {"name": "b"}]', '[{"step": "b", "peer": "a"}]', '{"client_key": "k3"}'),
	t.plan('[{"name": "a", "array": {"indices": [[0,3,1]], "size": 4}}]', format('[{"step": "a", "job": %s}]', :'one'::jsonb ->> 'job_id')::jsonb, '{}')) as three \gset
select results_eq(format('select x ->> %L, x ->> %L from jsonb_array_elements(%L) x', 'steps', 'known', :'three'), $$ values ('1', 'false'), ('2', 'false'), ('1', 'false') $$, 'three jobs');
select results_eq(format('select j.script_hash, j.environment_hash from rota.job j join jsonb_array_elements(%L) with ordinality x (v, nr) on (x.v ->> %L)::bigint = j.job_id order by x.nr', :'three', 'job_id'),
	$$ values (sha256('#!/bin/sh'), sha256('A=b')), (sha256('#!/bin/sh'), sha256('A=b')), (sha256('#!/bin/bash'), sha256('A=b')) $$, 'with what each has');
select is(t.listed(t.plan('[{"name": "a"}]', '[]', '{"retry_key": "D1D1D1D1D1D1D1D1D1D1D1D1D1D1D1D1"}')), jsonb_build_array(:'three'::jsonb -> 0 || '{"known": true}'), 'one of them again');
select is(t.listed(t.plan('[{"name": "a"}]', '[]', '{"client_key": "k3"}'), t.plan('[{"name": "a"}]', '[]', '{"client_key": "k4"}'), t.plan('[{"name": "a"}]', '[]', '{"client_key": "k4"}')) #- '{1,job_id}' #- '{2,job_id}',
	jsonb_build_array(:'three'::jsonb -> 1 || '{"known": true}', '{"steps": 1, "known": false}'::jsonb, '{"steps": 1, "known": true}'::jsonb), 'keys hold among them and before them');
select results_eq('select api.job_submit_list(0, 0, ''alice'', ''[]'', ''{}'', ''{}'')', $$ values ('{"jobs": []}'::jsonb) $$, 'none at all');
-- Equal scripts and environments are stored once.
select is((select count(*) from rota.script), 2::bigint, 'each script once');
select is((select count(distinct script_hash) from rota.job), 2::bigint, 'whatever the number of jobs');
-- Order in the queue: partition, then priority weighed against the time of submission.
select api.job_cancel(0, 'root', jsonb_build_object('jobs', (select jsonb_agg(job_id::text) from rota.job))) \g /dev/null
select t.submit('alice', '[{"name": "a"}]') as j1 \gset
select t.submit('alice', '[{"name": "a"}]', '[]', '{"nice": 10}') as j2 \gset
select t.submit('alice', '[{"name": "a"}]', '[]', '{"qos": "fast"}') as j3 \gset
select t.submit('olga', '[{"name": "a"}]', '[]', '{"priority": 50}') as j4 \gset
select t.submit('alice', '[{"name": "a", "partition": "short"}]', '[]', '{"nice": 1000}') as j5 \gset
select is(t.pending(), format('%s.a %s.a %s.a %s.a %s.a', :j5, :j3, :j4, :j1, :j2), 'the order of the queue');
select t.submit('alice', '[{"name": "a"}]', p_job => '{"nice": 7}') as ranked \gset
select is((select s.rank from rota.step s where s.job_id = :ranked), (select internal.submit_rank(q.priority - 7, 0, now()) from rota.qos q where q.qos = 'normal'), 'a step has the rank that internal.submit_rank gives it');
select ok(internal.submit_rank(0, 0, now() - interval '2 hours') > internal.submit_rank(1, 0, now()), 'two hours of waiting outweigh a point');
select ok(internal.submit_rank(0, 0, now() - interval '30 minutes') < internal.submit_rank(1, 0, now()), 'half an hour does not');
-- Limits that the translator reads.
select is((select x from jsonb_array_elements(api.submit_limits(0, 'root', '{}') -> 'partitions') x where x ->> 'name' = 'short'),
	'{"name": "short", "cpus": 12, "nodes": 3, "node_cpus": 4, "node_mem_mb": 4000, "node_gres": {"gpu": 2}, "features": [{"nodes": 3, "features": []}], "max_time_s": 600, "max_nodes": 2, "is_default": false, "default_time_s": null, "state": "up",
	"allow_users": null, "allow_groups": null, "allow_accounts": null, "credentials": null}'::jsonb, 'limits for the translator');
select t.right('submissions');
select * from finish();
rollback;
