-- Checkpoints at intervals that Rota computes: from which figures, which steps have a timer, and what happens when the timer is
-- due.
begin;
\ir world.psql
\ir checkpoint.psql
select * from no_plan();
create function t.timer() returns text language sql as $$
	select string_agg(concat_ws(' ', attempt, round(interval_s::numeric, 1), coalesce(round(cost_s::numeric, 1)::text, 'none'), costs, round(mtbf_s), failures, nodes), ', ') from rota.checkpoint_timer $$;
create function t.due() returns text language sql as $$
	update rota.checkpoint_timer set next_at = now() - interval '1 second';
	select api.schedule_tick(t.term());
	select string_agg(generation || ' ' || state || ' ' || reason, ', ' order by generation) from rota.checkpoint $$;
create function t.asks(p_job bigint) returns bigint language sql as $$ select count(*) from rota.node_order where kind = 'checkpoint' and job_id = p_job $$;
\set auto '[{"name": "a", "checkpoint": {"driver": "app", "keep": 2, "interval": "auto"}}]'

-- The interval from measured figures, and the default without them.
delete from rota.node_event;
select is(internal.checkpoint_interval(null, 1e6), 1800::double precision, 'as long as nothing is measured');
select is(round(internal.checkpoint_interval(2, 1e6)), 2000::double precision, 'sqrt(2 * 2 s * 1e6 s)');
select is(internal.checkpoint_interval(0.0001, 10), 10::double precision, 'not more often than every ten seconds');
select is(internal.checkpoint_interval(100, 10), 100::double precision, 'nor than one takes');
select is(internal.checkpoint_interval(1e5, 1e9), 86400::double precision, 'once a day at least');
select is(failures, 0, 'nothing is known of failures') from internal.node_failures();
insert into rota.node_event (node_id, node, at, from_state, to_state, actor)
values (1, 'n1', now() - interval '200 days', 'up', 'down', 'nodemgrd'), (1, 'n1', now() - interval '10 days', 'up', 'down', 'nodemgrd'),
	(2, 'n2', now() - interval '5 days', 'up', 'down', 'nodemgrd'), (2, 'n2', now() - interval '4 days', 'drain', 'down', 'nodemgrd'), (2, 'n2', now() - interval '3 days', 'down', 'up', 'nodemgrd');
select is(failures || ' ' || round(node_s / 86400), '2 360', 'two of nodes that were up, of four nodes in 90 days') from internal.node_failures();

-- Only a step that asks for automatic intervals has a timer.
select t.submit('alice', :'saves') as plain, t.submit('alice', :'auto') as auto \gset
select t.start(:'plain' || '.a'), t.run(:'plain' || '.a'), t.start(:'auto' || '.a', '{2}'), t.run(:'auto' || '.a') \g /dev/null
select t.says(:'plain' || '.a', 'begin') \g /dev/null
select is(t.timer(), null, 'not this one');
select is((select api.job_show(0, 'root', t.request(:'plain')) #> '{jobs,0,steps,0,checkpoint_timer}'), 'null', 'as rota show says');
select t.says(:'auto' || '.a', 'begin') \g /dev/null
select is(t.timer(), '1 1800.0 none 0 15552000 2 1', 'no checkpoint of it has been measured');
select is((select next_at > extract(epoch from now()) + 1700 from api.schedule_tick(t.term())) is not null, true, 'the leader knows when');
select is(t.asks(:auto), 0::bigint, 'nothing is asked for yet');
select is(t.due(), '1 asked interval', 'its time has come');
select is(t.asks(:auto) || ' ' || (select next_at > now() + interval '29 minutes' from rota.checkpoint_timer), '1 true', 'it is asked, and again later');
select is(t.due(), '1 asked interval', 'not twice at once');
select t.says(:'auto' || '.a', 'take') \g /dev/null
select t.saved(:'auto' || '.a') \g /dev/null
select is(costs || ' ' || (cost_s > 0), '1 true', 'what it took counts from now on') from rota.checkpoint_timer;
update rota.checkpoint set complete_at = taking_at + interval '2 seconds' where job_id = :auto;
select t.says(:'auto' || '.a', 'begin') \g /dev/null
select is(t.timer(), '1 7887.2 2.0 1 15552000 2 1', 'sqrt(2 * 2 s * 180 days)');
select is((api.job_show(0, 'root', t.request(:'auto')) #>> '{jobs,0,steps,0,checkpoint_timer,failures}'), '2', 'rota show has the arithmetic');

-- A suspended step is asked nothing; an ended step has no timer.
select t.report(t.say(:'auto' || '.a', 'suspended')) \g /dev/null
select t.due() as rows \gset
select is(:'rows'::text, '1 restoring interval', 'nothing is asked of a suspended step');
select t.finish(:'auto' || '.a') \g /dev/null
select is(t.timer(), null, 'it is over');
insert into rota.checkpoint_timer (job_id, step_id, attempt, interval_s, costs, mtbf_s, failures, nodes, next_at)
values (0, 0, 1, 10, 0, 10, 0, 1, now()), (:auto, 0, 7, 10, 0, 10, 0, 1, now());
select t.due() \g /dev/null
select is(t.timer(), null, 'a timer of an attempt that is gone is dropped when its time comes');
select t.right('intervals');
select * from finish();
rollback;
