-- Which running steps can be moved, at what cost, for those who ask for proposals.
begin;
\ir world.psql
\ir checkpoint.psql
select * from no_plan();
create function t.movers() returns text language sql as $$
	select string_agg(internal.step_label(job_id, step_id) || ' ' || round(cost_s::numeric, 1), ', ' order by job_id) from internal.movable_steps() $$;
create function t.begun(p_label text) returns int language sql as $$ select t.start(p_label) + t.run(p_label) $$;
select t.submit('alice', :'saves') as a, t.submit('alice', '[{"name": "a"}]') as b,
	t.submit('alice', '[{"name": "a", "checkpoint": {"driver": "app", "keep": 2}, "requeue": false}]') as c \gset
select t.begun(v || '.a') from unnest(array[:a, :b, :c]) v \g /dev/null
select is(t.movers(), null, 'nothing has been measured');
select is(api.plan_snapshot(0, 'root', '{}') ? 'movers', false, 'who does not ask for them does not get them');
select t.says(v || '.a', 'take') from unnest(array[:a, :c]) v \g /dev/null
select t.saved(v || '.a') from unnest(array[:a, :c]) v \g /dev/null
update rota.checkpoint set complete_at = taking_at + interval '3 seconds';
select is(t.movers(), :a || '.a 6.0', 'as long again for the restart; not what must not run again');
update rota.checkpoint set restoring_at = now() - interval '2 seconds', restored_at = now() - interval '1 second' where job_id = :a;
select is(t.movers(), :a || '.a 4.0', 'or as long as one took');
select api.plan_snapshot(0, 'root', '{"moves": true}') as snapshot \gset
select is((:'snapshot'::jsonb #>> '{movers,0,job_id}') || ' ' || (:'snapshot'::jsonb #>> '{moving,0,job_id}') || ' ' || jsonb_array_length(:'snapshot'::jsonb -> 'moving'), :a || ' ' || :a || ' 1', 'with what it asks for');
select throws_ok(format('select api.plan_snapshot(%s, ''alice'', ''{"moves": true}'')', t.uid('alice')), 'RT403', null, 'not for those who see only their own jobs')
from (select api.admin_change(0, 'root', '{"object": "setting", "action": "change", "name": "queue_visible", "values": {"value": "false"}}')) x;
select api.job_migrate(t.uid('alice'), 'alice', t.request(:'a')) \g /dev/null
select is(t.movers(), null, 'what moves is not moved again');
select * from finish();
rollback;
