-- Fair share: factors of a tree computed by hand, and their effect on whole lines of the queue.
begin;
\ir world.psql
select * from no_plan();
create function t.admin(p_object text, p_name text, p_values jsonb, p_action text default 'change') returns text language sql as $$
	select api.admin_change(0, 'root', jsonb_build_object('object', p_object, 'action', p_action, 'name', p_name, 'values', p_values)) ->> 'changed' $$;
select t.admin(o, n, v::jsonb, 'create') from (values ('account', 'a', '{"shares": 3}'), ('account', 'b', '{}'), ('account', 'a1', '{"parent": "a"}'), ('association', 'a1/alice', '{"shares": 2}'),
	('association', 'a1/bob', '{}'), ('association', 'b/carl', '{}'), ('association', 'b/dora', '{"shares": 0}')) x (o, n, v) \g /dev/null
create function t.tree(p_columns text) returns text language plpgsql as $$
declare
	v_answer text;
begin
	execute format('select string_agg(concat_ws('' '', coalesce(user_name, account), %s), ''; '' order by path) from internal.share_tree', p_columns) into v_answer;
	return v_answer;
end $$;
select is(t.tree('round(share::numeric, 3)'), 'a 0.750; a1 0.750; alice 0.500; bob 0.250; b 0.250; carl 0.250; dora 0.000', 'shares are numbers among siblings');
select is(t.tree('factor'), 'a 1; a1 1; alice 1; bob 1; b 1; carl 1; dora 0', 'nobody has used anything');
-- Half of all used on each account, today.
insert into rota.usage_day (day, account, user_name, partition, qos, cpu_s)
select (now() at time zone z.time_zone)::date, 'a1', 'alice', 'main', 'normal', 1000 from rota.usage_state z union all select (now() at time zone z.time_zone)::date, 'b', 'carl', 'main', 'normal', 1000 from rota.usage_state z;
select is(t.tree('round(used::numeric, 3), round(effective::numeric, 4)'), 'a 0.500 0.8750; a1 0.500 0.8750; alice 0.500 0.7500; bob 0.000 0.2917; b 0.500 0.6250; carl 0.500 0.6250; dora 0.000 0.0000', 'use, with part of what siblings used');
select is(t.tree('round(factor::numeric, 4)'), format('a %s; a1 %1$s; alice %s; bob %s; b %s; carl %4$s; dora 0.0000', round(power(2, -0.875 / 0.75)::numeric, 4), round(power(2, -0.75 / 0.5)::numeric, 4),
	round(power(2, -(0.875 / 3) / 0.25)::numeric, 4), round(power(2, -0.625 / 0.25)::numeric, 4)), 'factors');
-- Half-life: usage of a half-life ago counts half.
update rota.usage_day set day = day - case user_name when 'carl' then 8 else 1 end;
select is(round((max(use_s) filter (where user_name = 'carl') / max(use_s) filter (where user_name = 'alice'))::numeric, 6), 0.500000, 'a half-life ago counts half') from internal.share_use;
select t.admin('setting', 'fair_share_half_life_s', '{"value": 86400}') \g /dev/null
insert into rota.usage_hour (hour, account, user_name, partition, qos, cpu_s) values (date_trunc('hour', now()) - interval '25 hours', 'a1', 'alice', 'main', 'normal', 1000), (date_trunc('hour', now()) - interval '49 hours', 'a1', 'bob', 'main', 'normal', 1000);
select is(round((max(use_s) filter (where user_name = 'bob') / max(use_s) filter (where user_name = 'alice'))::numeric, 6), 0.5, 'hours, where it is short') from internal.share_use;
delete from rota.usage_hour;
delete from rota.usage_day;
select t.admin('setting', 'fair_share_half_life_s', '{"value": 604800}') \g /dev/null
-- Running steps count, and ended ones that are not added to the usage figures yet.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[]', '{"account": "a1"}') as j \gset
select t.start(:'j' || '.a') \g /dev/null
update rota.allocation set started_at = now() - interval '100 seconds';
select is((select round(use_s) from internal.share_use where user_name = 'alice'), 100::double precision, 'what runs counts');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a') \g /dev/null
select is((select round(use_s / 10) from internal.share_use where user_name = 'alice'), (select round(extract(epoch from ended_at - started_at) / 10)::double precision from rota.allocation where job_id = :j), 'what has ended counts');
select is((select count(*) > 0 from rota.usage_pending), true, 'before it is added up');
select api.usage_roll(1000) \g /dev/null
select is((select round(use_s / 10) from internal.share_use where user_name = 'alice'), (select round(extract(epoch from ended_at - started_at) / 10)::double precision from rota.allocation where job_id = :j), 'and then');
-- Usage may become known after the allocation was added to the usage figures.
insert into rota.usage_pending (job_ids, step_ids, attempts, node_ids, used) select array[a.job_id], array[a.step_id], array[a.attempt], array[a.node_id], true from rota.allocation a where a.job_id = :j;
select is((select round(use_s / 10) from internal.share_use where user_name = 'alice'), (select round(extract(epoch from ended_at - started_at) / 10)::double precision from rota.allocation where job_id = :j), 'and not twice');
select api.usage_roll(1000) \g /dev/null
-- The queue: without fair share in the order of submission; with it, users with less usage go first, within the weight.
select t.submit('carl', '[{"name": "a"}]', '[]', '{"account": "b"}') as k \gset
update rota.step set rank = rank - 50000 where job_id = :k;
select is(t.pending(), format('%s.b %s.a', :j, :k), 'off: by rank');
select t.admin('setting', 'fair_share_weight_s', '{"value": 1000}') \g /dev/null
select t.admin('setting', 'fair_share_period_s', '{"value": 3600}') \g /dev/null
select * from api.schedule_tick(t.term()) \g /dev/null
select is(t.pending(), format('%2$s.a %1$s.b', :j, :k), 'on: who has used nothing goes first');
select is((select string_agg(user_name || ' ' || boost_ms, ', ' order by user_name) from rota.association_share), (select string_agg(user_name || ' ' || (round(factor::numeric, 3) * 1000000)::bigint, ', ' order by user_name) from internal.share_tree where user_name in ('alice', 'carl')), 'by so many milliseconds');
update rota.step set rank = rank - 2000000 where job_id = :k;
select is(t.pending(), format('%s.b %s.a', :j, :k), 'but never by more than the weight');
select t.admin('association', 'a1/alice', '{"shares": 0}') \g /dev/null
select is((select computed_at is null from rota.share_state), true, 'changed shares are seen at the next tick');
-- Random queues of many users, with few and many steps each, arrays and partitions: however much is read of each line, the queue
-- has all steps in the order of rank and fair share, and a short list is the head of a long one.
select api.job_cancel(0, 'root', jsonb_build_object('jobs', jsonb_build_array(:'j', :'k'))) \g /dev/null
select setseed(0.7) \g /dev/null
select t.admin('partition', 'fast', '{"nodes": "all", "priority": 3}', 'create') \g /dev/null
select t.submit(chr(97 + floor(random() ^ 3 * 26)::int) || floor(random() ^ 4 * 5), jsonb_build_array(
	jsonb_build_object('name', 'a') || case when i % 11 = 0 then '{"array": {"indices": [[0,4,1]], "size": 5}}' else '{}' end::jsonb || case when i % 7 = 0 then '{"gres": {"gpu": 1}}' else '{}' end::jsonb,
	'{"name": "b"}'::jsonb || case when i % 3 = 0 then '{"partition": "fast"}' else '{}' end::jsonb), '[]', jsonb_build_object('nice', floor(random() * 300)))
from generate_series(1, 400) i \g /dev/null
update rota.step set rank = rank - floor(random() * 900000)::bigint where job_id % 2 = 0 and step_id = (select min(step_id) from rota.step x where x.job_id = step.job_id);
update rota.step s set rank = (select max(rank) from rota.step x where x.job_id = s.job_id);
update rota.association_share c set boost_ms = floor(random() * 1000000) where not exists (select from rota.association_share o where o.user_name = c.user_name and o.association_id < c.association_id);
update rota.association_share c set boost_ms = (select o.boost_ms from rota.association_share o where o.user_name = c.user_name order by o.association_id limit 1);
create table t.right_order as
select row_number() over (partition by s.queue order by s.rank + c.boost_ms desc, s.job_id, s.step_id) as nr, s.queue, s.job_id, s.step_id
from rota.step s join rota.association_share c using (association_id) where s.state = 'pending' and s.held = '';
create function t.queue(p_partition text, p_limit int) returns text[] language sql as $$
	select array_agg(q.job_id || '.' || q.step_id order by q.nr) from (select *, row_number() over () as nr from api.schedule_queue(p_limit)) q
	join rota.step s on s.job_id = q.job_id and s.step_id = q.step_id where s.queue = p_partition $$;
create function t.right_queue(p_partition text) returns text[] language sql as $$ select array_agg(job_id || '.' || step_id order by nr) from t.right_order where queue = p_partition $$;
select cmp_ok(cardinality(t.right_queue('main')), '>', 500, 'a queue');
select is(t.queue(p, 10000), t.right_queue(p), p || ': all of it') from unnest(array['main', 'fast']) p;
select is_empty($$with r as materialized (select p, t.right_queue(p) as whole from unnest(array['main', 'fast']) p)
	select p, k from r, unnest(array[1, 2, 3, 5, 13, 34, 89]) k where (t.queue(p, k))[1:k] is distinct from whole[1:k]$$, 'and its heads');
-- The same with limits: steps are offered in the same order, no user exceeds a limit, and users without limits get the same
-- offers.
select t.admin('qos', 'normal', '{"max_running_per_user": 3}') \g /dev/null
create table t.now as select t.queue('main', 10000) as main, t.queue('fast', 10000) as fast;
select is_empty($$select s.user_name from t.now cross join unnest(main || fast) q join rota.job s on s.job_id = split_part(q, '.', 1)::bigint group by s.user_name having count(*) > 3$$, 'three of each at most');
select is(main, (select array_agg(x order by nr) from unnest(t.right_queue('main')) with ordinality r (x, nr) where x = any (main)), 'in the same order') from t.now;
select t.admin('association', 'a/zoe', '{}', 'create'), t.admin('association', 'a/alice', '{}', 'create') \g /dev/null
select is((select string_agg(repeat('.', depth - 1) || account || coalesce('/' || user_name, ''), ' ' order by path) from internal.share_tree where coalesce(account, '') ~ '^a'),
	'a .a/alice .a/zoe .a1 ..a1/alice ..a1/bob', 'users stand with their account, before the accounts below it');
select * from finish();
rollback;
