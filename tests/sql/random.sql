-- Drawn jobs and drawn events: whatever happens in whatever order, everything adds up at any time, and all jobs come to an end.
-- The draw is the same each time; ROTA_SEED (-1 to 1) and ROTA_ROUNDS make another, or a longer one.
begin;
\ir world.psql
select * from no_plan();
\set seed 0.42
\getenv seed ROTA_SEED
\set rounds 300
\getenv rounds ROTA_ROUNDS
select setseed(:seed) \g /dev/null
\ir draw.psql
select is_empty('select * from t.play(' || :rounds || ', ' || :rounds / 15 || ')', :rounds || ' rounds: everything adds up');
select cmp_ok((select count(distinct event) from rota.event), '>', 12::bigint, 'they saw much of the machine');
select cmp_ok(t.settle(), '<', 400, 'all jobs come to an end');
-- The rounds seldom leave room for growths, so steps that are alone grow and shrink too.
select t.submit('alice', '[{"name": "w", "nodes_min": 4, "ntasks": 4}]') as w \gset
select t.start(:'w' || '.w', '{4,2,1,3}') \g /dev/null
select t.run(:'w' || '.w') \g /dev/null
select t.draw_shrink(), t.draw_report(), t.draw_shrink() from generate_series(1, 2) \g /dev/null
select cmp_ok((select count(*) from rota.allocation where job_id = :w and given_back_at is not null), '>', 0::bigint, 'nodes are given back');
select cmp_ok(t.settle(), '<', 400, 'the step comes to an end without them');
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a') \g /dev/null
select t.run(:'j' || '.a') \g /dev/null
select count(t.draw_growth()) from generate_series(1, 30) \g /dev/null
select cmp_ok((select count(*) from rota.growth_node where job_id > :j), '>', 0::bigint, 'nodes come by growths');
select cmp_ok(t.settle(), '<', 400, 'all jobs come to an end again');
select is_empty($$select t.states(job_id) from rota.job where ended_at is null$$, 'none is left');
select is_empty('select * from t.wrong() limit 9', 'and all adds up');
select is((select sum(cpus_used + mem_used_mb) from rota.node_used), 0::numeric, 'nothing is held on any node');
select api.schedule_tick(t.term()) \g /dev/null
select is_empty('select job_id from rota.growth where closed_at is null', 'no growth outlives its step');
select is_empty('select job_id from rota.growth_node where gone_at is null', 'and no node of one is forgotten');
-- Holders of groups go when their epilogs have run.
select t.report(jsonb_build_array(jsonb_build_object('node', node_id, 'job', job_id, 'step', step_id, 'attempt', attempt, 'kind', 'end', 'age_us', 0, 'drain', ''))) from rota.allocation where gone_at is null \g /dev/null
select is((select count(*) from rota.allocation where gone_at is null), 0::bigint, 'nothing is left on any node');
select is_empty($$select a.job_id from rota.allocation a join rota.step_request r using (job_id) where a.gone_at is null$$, 'no holder is forgotten');
-- The rounds seldom leave a node that nobody uses.
select count(t.draw_power()) from generate_series(1, 60) \g /dev/null
select cmp_ok((select count(*) from rota.node_event where to_state in ('powering_off', 'off', 'powering_on')), '>', 3::bigint, 'nodes are powered');
select t.settle() \g /dev/null
select is((select string_agg(distinct power, ',') from rota.node), 'on', 'all nodes are on in the end');
select is_empty('select * from t.wrong() limit 9', 'and all adds up still');
select * from finish();
rollback;
