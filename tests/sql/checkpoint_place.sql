-- Nodes on which a step goes on from its checkpoint: those that have what the checkpoint needs, and for a while none that failed
-- to read it.
begin;
\ir world.psql
\ir checkpoint.psql
select * from no_plan();
create function t.has(p_node text, p_facts jsonb) returns void language sql as $$
	update rota.node set found = found || jsonb_build_object('restart', p_facts) where name = p_node $$;
create function t.asks(p_job bigint) returns text language sql as $$
	select (select coalesce(string_agg(x, ',' order by x), '') from unnest(p.exclude) x) || ' ' || p.steady from api.schedule_pending(array[p_job], '{0}') p $$;
create function t.why(p_job bigint) returns text language sql as $$
	select string_agg(y ->> 'message', '; ' order by y ->> 'message') from internal.why_step(p_job, 0) y where y ->> 'kind' = 'checkpoint' $$;
create function t.lost(p_label text) returns void language sql as $$
	select t.finish(p_label, '{"exit": 0, "signal": 9, "cause": "node", "outcome": "node_fail"}');
	select t.later() $$;
create function t.takes(p_label text, p_needs text) returns void language sql as $$
	select t.says(p_label, 'take');
	select t.saved(p_label);
	update rota.checkpoint c set needs = p_needs::jsonb from t.step(p_label) s where c.job_id = s.job_id and c.step_id = s.step_id $$;

-- Needs of a checkpoint that a node lacks
select is(internal.need_lacking(v.needs::jsonb, v.has::jsonb), v.lacks, v.needs || ' of ' || coalesce(v.has, 'nothing'))
from (values ('{"kernel": "6.1", "cpu": "avx sse"}', '{"kernel": "6.1", "cpu": "sse avx avx2"}', null),
	('{"kernel": "6.1", "cpu": "avx avx2 sse"}', '{"kernel": "6.1", "cpu": "sse"}', 'a CPU with avx avx2'),
	('{"kernel": "6.1", "cpu": "avx"}', '{"kernel": "6.2", "cpu": "avx"}', 'kernel 6.1'),
	('{"kernel": "6.1", "dmtcp": "5.0"}', '{}', 'dmtcp 5.0'),
	('{"cpu": "avx"}', null, 'a CPU with avx'), ('{}', '{}', null), (null, '{}', null)) v (needs, has, lacks);

-- Nodes that have what the checkpoint needs
select t.submit('alice', :'saves') as j, t.submit('alice', '[{"name": "a"}]') as none \gset
update rota.node set found = coalesce(found, '{}');
select t.has('n1', '{"kernel": "6.1", "cpu": "avx sse"}'), t.has('n2', '{"kernel": "6.1", "cpu": "sse"}'), t.has('n3', '{}') \g /dev/null
select is(t.asks(:j), ' true', 'a step that has saved nothing starts anywhere');
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.start(:'none' || '.a'), t.run(:'none' || '.a') \g /dev/null
select t.takes(:'j' || '.a', '{"kernel": "6.1", "cpu": "avx sse"}'), t.lost(:'j' || '.a'), t.lost(:'none' || '.a') \g /dev/null
select is(t.asks(:j), 'n2,n3 false', 'not on nodes that lack something; a node that says nothing may have it');
select is(t.asks(:none), ' true', 'a step without checkpoints starts anywhere');
select is(t.why(:j), 'checkpoint 1 cannot go on on n2: it needs a CPU with avx; checkpoint 1 cannot go on on n3: it needs a CPU with avx sse', 'and rota why says what they lack');
select t.has('n2', '{"kernel": "6.1", "cpu": "avx avx2 sse"}') \g /dev/null
select is(t.asks(:j), 'n3 false', 'a node that registers with more');
select api.job_restart(t.uid('alice'), 'alice', jsonb_build_object('jobs', jsonb_build_array(:'j' || '.a'), 'generation', 0)) \g /dev/null
select is(t.asks(:j), ' true', 'nor does it matter for a step that begins anew');
select t.start(:'j' || '.a'), t.run(:'j' || '.a') \g /dev/null
select is(t.says(:'j' || '.a', 'begin') -> 'generation', '0', 'its owner has it begin anew');
select t.takes(:'j' || '.a', null), t.lost(:'j' || '.a') \g /dev/null
select is(t.asks(:j), ' true', 'a checkpoint that needs nothing goes on anywhere');

-- Nodes that failed to read the checkpoint
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.says(:'j' || '.a', 'begin') \g /dev/null
select t.says(:'j' || '.a', 'unmet', '{"generation": 2, "message": "could not read checkpoint 2: could not open folder"}'), t.lost(:'j' || '.a') \g /dev/null
select is(t.asks(:j), 'n1 false', 'not again on the node that could not');
select is(t.why(:j), 'attempt 3 could not go on from checkpoint 2 on n1: could not read checkpoint 2: could not open folder; '
	'not tried again on n1 for a while: checkpoint 2: could not read checkpoint 2: could not open folder', 'which rota why says');
update rota.node set state = 'drain' where name <> 'n1';
select is(t.asks(:j), ' true', 'unless there is no other');
update rota.node set state = 'up';
update rota.setting set value = '-60' where name = 'checkpoint_avoid_s';
select is(t.asks(:j), ' true', 'nor for ever');

-- An attempt on several nodes that failed to read the checkpoint avoids its first node. Excluded nodes do not count as left.
update rota.setting set value = '300' where name = 'checkpoint_avoid_s';
select t.submit('alice', '[{"name": "a", "nodes_min": 2, "ntasks": 2, "checkpoint": {"driver": "app", "keep": 2}, "exclude": ["n4"]}]') as k \gset
select t.start(:'k' || '.a', '{1,2}'), t.run(:'k' || '.a'), t.takes(:'k' || '.a', null), t.lost(:'k' || '.a') \g /dev/null
select t.start(:'k' || '.a', '{1,2}'), t.run(:'k' || '.a'), t.says(:'k' || '.a', 'begin') \g /dev/null
select t.says(:'k' || '.a', 'unmet', '{"generation": 1, "message": "no"}'), t.lost(:'k' || '.a') \g /dev/null
select is(t.asks(:k), 'n1,n4 false', 'only the first node of an attempt');
update rota.node set state = 'drain' where name = 'n2';
select is(t.asks(:k), 'n4 true', 'unless fewer nodes are left than it needs');
update rota.node set state = 'up';
update rota.step_request set nodelist = '{n1,n2}' where job_id = :k;
select is(t.asks(:k), 'n4 true', 'of those that it may have');
update rota.step_request set nodelist = '{n1,n2,n3}' where job_id = :k;
select is(t.asks(:k), 'n1,n4 false', 'or as many');

-- Memory of the image, which its step must be able to have
select t.submit('alice', '[{"name": "a", "mem_mb": 1000, "checkpoint": {"driver": "dmtcp", "keep": 2}}]') as m, t.submit('alice', '[{"name": "a", "mem_mb": 0, "checkpoint": {"driver": "criu", "keep": 2}}]') as w \gset
select t.start(:'m' || '.a', '{1}'), t.run(:'m' || '.a'), t.takes(:'m' || '.a', null), t.lost(:'m' || '.a') \g /dev/null
select t.start(:'w' || '.a', '{1}', '{"mem_mb": 4000}'), t.run(:'w' || '.a'), t.takes(:'w' || '.a', null), t.lost(:'w' || '.a') \g /dev/null
update rota.checkpoint set bytes = 300 * 1048576, driver = case job_id when :m then 'dmtcp' else 'criu' end where job_id in (:m, :w);
select is(t.asks(:m) || t.asks(:w), ' true true', 'as much as before');
update rota.step_request set mem_mb = 200 where job_id = :m;
select is(t.asks(:m), 'n1,n2,n3,n4 false', 'less memory than the image has');
select is(t.why(:m), 'checkpoint 1 cannot go on on n1,n2,n3,n4: it needs 300 MiB of memory', 'which rota why says');
insert into rota.checkpoint_file (job_id, step_id, generation, name, bytes, sha256) values (:m, 0, 1, '.rota-tmpdir.tar', 101 * 1048576, decode(repeat('ab', 32), 'hex'));
select is(t.asks(:m), ' true', 'the files of TMPDIR are no memory');
delete from rota.checkpoint_file where job_id = :m and name = '.rota-tmpdir.tar';
update rota.allocation set mem_mb = 200 where job_id = :m;
select is(t.asks(:m), ' true', 'an image larger than the memory that the program had is restored as before');
update rota.allocation set mem_mb = 1000 where job_id = :m;
update rota.checkpoint set driver = 'app' where job_id = :m;
select is(t.asks(:m), ' true', 'a program that reads its files itself');
update rota.node set mem_mb = 250 where name = 'n2';
select is(t.asks(:w), 'n2 false', 'a step that gets all memory of its nodes: not on a smaller node');
update rota.node set mem_mb = 4000 where name = 'n2';

-- Needs of a driver of the site: nodes of these names, and others that only the attempt compares
select t.submit('alice', :'saves') as b \gset
select t.start(:'b' || '.a'), t.run(:'b' || '.a'), t.takes(:'b' || '.a', '{"nodes": "n1,n3", "kernel": "9", "library": "7"}'), t.lost(:'b' || '.a') \g /dev/null
update rota.checkpoint set driver = 'script:mana' where job_id = :b;
select is(t.asks(:b), 'n2,n4 false', 'on the same nodes only');
select is(t.why(:b), 'checkpoint 1 cannot go on on n2,n4: it needs nodes n1,n3', 'which rota why says');
update rota.checkpoint set needs = '{"kernel": "9"}' where job_id = :b;
select is(t.asks(:b), ' true', 'no node has said whether it has what a driver of the site needs');

-- Several steps at a time
update rota.checkpoint set needs = '{"kernel": "6.1"}' where job_id in (:j, :k);
select t.has('n1', '{"kernel": "6.1"}'), t.has('n2', '{"kernel": "6.2"}'), t.has('n3', '{"kernel": "6.2"}') \g /dev/null
select is((select string_agg(p.job_id || ':' || (select string_agg(x, ',' order by x) from unnest(p.exclude) x), ' ' order by p.job_id) from api.schedule_pending(array[:j, :k, :none]::bigint[], '{0,0,0}') p),
	format('%s:n1,n2,n3 %s:n2,n3,n4', :j, :k), 'each by its own checkpoint');
-- Nodes are read once for all steps, whatever their checkpoints need.
create function t.many() returns boolean language plpgsql as $$
declare
	v_before bigint := t.read();
begin
	-- 20 steps, of which the first needs memory, the second facts, and the third nodes of these names
	perform from api.schedule_pending((select array_agg(j.job_id order by g) from generate_series(1, 20) g join t.three j on j.nr = g % 3), array_fill(0, array[20]));
	return t.read() - v_before < 3 * (select count(*) from rota.node);
end $$;
create function t.read() returns bigint language sql as $$
	select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relid = 'rota.node'::regclass $$;
create table t.three as select * from (values (0, :m), (1, :j), (2, :b)) v (nr, job_id);
insert into rota.node (name, cpus, mem_mb, found) select 'x' || x, 4, 4000, '{}' from generate_series(1, 200) x;
insert into rota.partition_node (partition, node_id) select 'main', node_id from rota.node where name like 'x%';
update rota.checkpoint set driver = 'dmtcp' where job_id = :m;
update rota.checkpoint set needs = '{"nodes": "n1,n3"}' where job_id = :b;
select is(array(select cardinality(p.exclude) from api.schedule_pending(array[:m, :j, :b]::bigint[], '{0,0,0}') p), '{204,3,202}', 'of many nodes');
select is(t.many(), true, 'which are read once');
select * from finish();
rollback;
