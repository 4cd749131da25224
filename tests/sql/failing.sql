-- Checkpoints of steps on nodes that are expected to fail: on which nodes, when, and once for each mark of a node.
begin;
\ir world.psql
select * from no_plan();
\ir checkpoint.psql
create function t.admin(p_name text, p_values jsonb, p_action text default 'change') returns text language sql as $$
	select api.admin_change(0, 'root', jsonb_build_object('object', 'node', 'action', p_action, 'name', p_name, 'values', p_values)) ->> 'changed' $$;
-- t.asked: have nodemgrd judge, and list the checkpoints that each step was asked for since, in the order of time.
create function t.asked() returns text language plpgsql as $$
begin
	perform api.evacuation_judge();
	return (select string_agg(concat_ws(' ', internal.step_label(c.job_id, c.step_id), c.state, c.reason, c.asked_by, c.then_do, c.why), ', ' order by c.job_id, c.generation) from rota.checkpoint c);
end $$;
-- The whole test is one transaction, in which now() stays the same; so give running steps an earlier start.
create function t.age() returns void language sql as $$
	update rota.attempt set started_at = started_at - interval '1 hour', ordered_at = ordered_at - interval '1 hour' where ended_at is null $$;
select t.submit('alice', :'saves') as c \gset
select t.submit('alice', :'saves') as d \gset
select t.submit('alice', '[{"name": "a"}]') as n \gset
select t.submit('alice', '[{"name": "a", "nodes_min": 2, "ntasks": 2, "checkpoint": {"driver": "app", "keep": 2}}]') as w \gset
select t.start(:'c' || '.a', '{1}'), t.start(:'d' || '.a', '{3}'), t.start(:'n' || '.a', '{1}'), t.start(:'w' || '.a', '{2,1}') \g /dev/null
select t.run(v || '.a') from unnest(array[:c, :d, :n, :w]) v \g /dev/null
select t.age() \g /dev/null
select is(t.asked(), null, 'nobody is asked while all nodes are well');

-- A node is marked as failing.
savepoint before;
select t.admin('n1', '{"failing": "ECC errors"}') \g /dev/null
select is(t.asked(), format('%1$s.a asked failing root continue node n1 is failing: ECC errors, %2$s.a asked failing root continue node n1 is failing: ECC errors', :c, :w), 'who can be saved and runs there, also on several nodes');
select is(t.orders(:'c' || '.a') || ' ' || coalesce((t.step(:'c' || '.a')).end_wanted, '-'), 'checkpoint@n1 -', 'is saved and goes on');
select is(t.orders(:'n' || '.a') || t.orders(:'d' || '.a'), null, 'nobody else');
select t.saved(:'c' || '.a'), t.late() \g /dev/null
select is((select string_agg(c.state, ' ' order by c.job_id) from rota.checkpoint c), 'complete failed', 'one has saved itself, one has not');
select t.asked() \g /dev/null
select is((select count(*) from rota.checkpoint), 2::bigint, 'nobody is asked again');
select t.admin('n1', '{"failing": "ECC errors"}') \g /dev/null
select t.asked() \g /dev/null
select is((select count(*) from rota.checkpoint), 2::bigint, 'nor by the same mark');
select t.submit('alice', :'saves') as s \gset
select t.start(:'s' || '.a', '{1}'), t.run(:'s' || '.a') \g /dev/null
select is(t.asked() like '%' || :s || '.a%', false, 'nor who starts there afterwards');
-- Set the request back, because now() does not advance within a transaction.
update rota.checkpoint set asked_at = asked_at - interval '1 hour';
select t.admin('n1', '{"failing": "more ECC errors"}') \g /dev/null
select t.asked() \g /dev/null
select is((select count(*) from rota.checkpoint), 4::bigint, 'another one asks anew');
select t.right('marked');
rollback to before;

-- A node is marked as failing from a later time on.
select t.admin('n1', '{"failing": "old disk", "failing_at": "now+1hours"}') \g /dev/null
select is(t.asked(), null, 'not before that is near');
update rota.setting set value = '1800' where name = 'checkpoint_wait_s';
select is(t.asked() like format('%s.a asked failing root continue node n1 is failing: old disk, %%', :c), true, 'as long ahead as a checkpoint may take');
rollback to before;

-- A suspended step is asked when it runs again; a step that has been saved, or is to end, is not asked.
select t.report(t.say(:'c' || '.a', 'suspended')) \g /dev/null
select internal.checkpoint_ask(:w, (t.step(:'w' || '.a')).step_id, 'user', 'alice', null, 'end'), t.admin('n1', '{"failing": "hot"}') \g /dev/null
select is(t.asked(), format('%s.a asked user alice end', :w), 'one is suspended, one is being saved');
select api.job_resume(t.uid('alice'), 'alice', t.request(:'c')), t.report(t.say(:'c' || '.a', 'resumed')) \g /dev/null
select is(t.asked(), format('%1$s.a asked failing root continue node n1 is failing: hot, %2$s.a asked user alice end', :c, :w), 'it runs again');
rollback to before;
select t.admin('n1', '{"failing": "hot"}'), api.job_cancel(t.uid('alice'), 'alice', t.request(j::text)) from unnest(array[:c, :w]) j \g /dev/null
select is(t.asked(), null, 'both end');
rollback to before;

-- A node that a health check drained, and a node that an administrator drained.
select t.admin('n1', '{"reason": "a fan is replaced"}', 'drain') \g /dev/null
select is(t.asked(), null, 'a node that is only drained does not fail');
rollback to before;
select internal.node_state_set(1, 'drain', 'check:disk', 'check disk: full') \g /dev/null
select t.age() \g /dev/null
select is(t.asked() like format('%s.a asked failing check:disk continue node n1 is failing: check disk: full, %%', :c), true, 'one that a check has drained does');
select is((select reason || ': ' || why from acct.checkpoint where job_id = :c), 'failing: node n1 is failing: check disk: full', 'acct.checkpoint says so');
select t.right('drained');
select * from finish();
rollback;
