-- Submission of a job with script arguments, and as a singleton: its steps wait for the live jobs of the same owner with the same
-- name.
begin;
\ir world.psql
select * from no_plan();
select t.submit('alice', '[{"name": "a"}]', '[]', '{"arguments": ["a b", ""]}') as with, t.submit('alice', '[{"name": "a"}]') as without \gset
select is((select j.arguments from rota.job j where j.job_id = :with), array['a b', ''], 'arguments as given');
select is((select j.arguments from rota.job j where j.job_id = :without), null, 'none');
select is((api.job_show(t.uid('bob'), 'bob', t.request(:'with')) -> 'jobs' -> 0 ->> 'arguments'), null, 'others do not see them');
select is((api.job_show(t.uid('alice'), 'alice', t.request(:'with')) -> 'jobs' -> 0 -> 'arguments'), '["a b", ""]'::jsonb, 'their owner does');

\set singleton '[{"step": "a", "condition": "singleton"}]'
create function t.peers(p_job bigint) returns text language sql as $$
	select string_agg(concat_ws(' ', e.step_id, e.peer_job_id, e.peer_step_id, e."condition", e.state), ', ' order by e.peer_job_id) from rota.step_edge e where e.job_id = p_job;
$$;
select t.submit('alice', '[{"name": "a"}]', '[]', '{"name": "solo"}') as s1, t.submit('alice', '[{"name": "a"}]', '[]', '{"name": "other"}') as s2,
	t.submit('bob', '[{"name": "a"}]', '[]', '{"name": "solo"}') as s3 \gset
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]', :'singleton', '{"name": "solo"}') as s4 \gset
select is(t.peers(:s4), format('0 %s -1 any waiting', :s1), 'of that name and owner only');
select t.submit('alice', '[{"name": "a"}]', :'singleton', '{"name": "solo"}') as s5 \gset
select is(t.peers(:s5), format('0 %s -1 any waiting, 0 %s -1 any waiting', :s1, :s4), 'each after all before it');
select t.submit('alice', '[{"name": "a"}]', :'singleton', '{"name": "first"}') as s6 \gset
select is((t.step(:s6 || '.a')).deps_waiting, 0, 'the first of its name waits for nobody');
select is((t.step(:s5 || '.a')).deps_waiting, 2, 'a later one for all');
select api.job_cancel(0, 'root', t.request(:'s4')) \g /dev/null
select is((t.step(:s5 || '.a')).deps_waiting, 1, 'one that is cancelled no more');
select api.job_cancel(0, 'root', t.request(:'s1')) \g /dev/null
select is((t.step(:s5 || '.a')).deps_waiting, 0, 'then it is free to go');
select t.right('singletons');
select * from finish();
rollback;
