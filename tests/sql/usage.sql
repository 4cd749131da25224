-- Usage figures: for any events in any order, the sums agree with the rows and with the event log; days are those of the site's
-- time zone, also when its clock is changed; past states can be read for any moment. ROTA_SEED (-1 to 1) makes another draw.
begin;
\ir world.psql
\ir draw.psql
select * from no_plan();
\set seed 0.17
\getenv seed ROTA_SEED
select setseed(:seed) \g /dev/null
create function t.roll() returns int language plpgsql as $$
declare
	v_n int;
	v_all int := 0;
begin
	loop
		v_n := api.usage_roll(3);
		v_all := v_all + v_n;
		exit when v_n < 3;
	end loop;
	return v_all;
end $$;
create function t.zone(p_zone text) returns void language plpgsql as $$
begin
	perform api.admin_change(0, 'root', jsonb_build_object('object', 'setting', 'action', 'change', 'name', 'time_zone', 'values', jsonb_build_object('value', p_zone)));
	perform api.usage_rebuild(0, 'root', '{}');
	perform t.roll();
end $$;
\set audit 'select * from acct.usage_audit(\'2000-01-01\', \'2100-01-01\') limit 5'
-- Jobs are moved in time independently of each other, so the check of node sizes (node_size) is left out.
\set audit_of_use 'select * from acct.usage_audit(\'2000-01-01\', \'2100-01-01\') where figures <> \'node_size\' limit 5'

-- A history made through the state machine, added up while it grows.
insert into rota.account (account) values ('top'), ('physics') \g /dev/null
create function t.grow(p_rounds int) returns setof text language plpgsql as $$
begin
	for i in 1 .. p_rounds loop
		return query select * from t.play(10, 14);
		update rota.job set account = t.pick('{top,physics,null}'::text[]) where account is null and started_at is null;
		if i % 3 = 0 then
			perform api.usage_roll(4);
			return query select 'round ' || i || ': ' || x::text from acct.usage_audit('2000-01-01', '2100-01-01') x limit 3;
		end if;
	end loop;
end $$;
select is_empty('select * from t.grow(15)', 'added up while things happen');
select cmp_ok((select count(*) from rota.allocation where ended_at is null), '>', 0::bigint, 'some still run');
select is((select sum(steps_ended) from acct.usage_month), (select count(*)::numeric from internal.usage_end where ended_at is not null), 'what is not added up yet is seen all the same');
select cmp_ok(t.settle(), '<', 400, 'all come to their end');
select cmp_ok(t.roll(), '>', 0, 'the rest is added up');
select is(t.roll(), 0, 'once');
select is_empty(:'audit', 'and is what the rows say');

-- The same history, spread over months: each attempt, from start to end in the log, is moved in time, some for days. Jobs are
-- moved as a whole, so that peers keep their order.
create temporary table stretch as
select j.job_id, timestamptz '2027-10-20 00:00+00' + random() * interval '200 days' as base, 10 ^ (1 + random() * 4) as factor from rota.job j;
create function t.spread(p_base timestamptz, p_factor double precision, p_nr bigint) returns timestamptz language sql as $$
	select p_base + make_interval(secs => p_factor * p_nr) $$;
alter table rota.event disable trigger user;
do $$ declare v_part text; begin
	for v_part in select inhrelid::regclass from pg_inherits where inhparent = 'rota.event'::regclass loop execute format('alter table %s disable trigger user', v_part); end loop;
end $$;
with nth as (select e.job_id, e.event_id, row_number() over (partition by e.job_id order by e.event_id) as nr from rota.event e)
update rota.event e set at = t.spread(s.base, s.factor, n.nr) from nth n join stretch s using (job_id) where e.job_id = n.job_id and e.event_id = n.event_id;
create temporary table span as
select e.job_id, e.step_id, e.attempt, min(e.at) filter (where e.event = 'start') as starts_at, max(e.at) filter (where f.stage <> 'live' and e.from_state <> 'pending') as ends_at
from rota.event e join rota.step_state f on f.state = e.to_state where e.attempt > 0 group by e.job_id, e.step_id, e.attempt;
analyze span;
update rota.allocation a set started_at = s.starts_at, ended_at = s.ends_at, gone_at = s.ends_at, without_cpus = '{}', cpu_usec = case when a.node_id <> 2 then 1000000 end
from span s where s.job_id = a.job_id and s.step_id = a.step_id and s.attempt = a.attempt;
update rota.allocation a set started_at = s.base, ended_at = s.base, gone_at = s.base from stretch s where s.job_id = a.job_id and a.attempt = 0;
update rota.attempt a set ordered_at = s.starts_at, started_at = case when a.started_at is not null then s.starts_at end, done_at = case when a.done_at is not null then s.ends_at end, ended_at = s.ends_at
from span s where s.job_id = a.job_id and s.step_id = a.step_id and s.attempt = a.attempt;
update rota.task_end e set started_at = s.starts_at, ended_at = s.ends_at from span s where s.job_id = e.job_id and s.step_id = e.step_id and s.attempt = e.attempt;
update rota.step p set eligible_at = s.base, ended_at = e.at, started_at = case when p.started_at is not null then e.at end
from stretch s cross join lateral (select e.step_id, max(e.at) as at from rota.event e where e.job_id = s.job_id group by e.step_id) e where p.job_id = s.job_id and e.step_id = p.step_id;
update rota.job j set submit_at = s.base, started_at = case when j.started_at is not null then s.base end, ended_at = e.at
from stretch s cross join lateral (select max(e.at) as at from rota.event e where e.job_id = s.job_id) e where j.job_id = s.job_id;

-- Compares the rollups with the rows and with the event log. After the move, more is held at once than nodes have.
create function t.thrice(p_what text) returns setof text language plpgsql as $$
begin
	return next is_empty('select * from acct.usage_audit(''2000-01-01'', ''2100-01-01'') where figures <> ''node_size'' limit 5', p_what || ': added up right');
	return next set_eq('select account, user_name, partition, qos, sum(cpu_s) as c, sum(node_s) as n, sum(steps_ended) as e from acct.usage_month group by 1, 2, 3, 4',
		$q$select j.account, j.user_name, 'main', j.qos, sum(c.cpu_s) as c, sum(c.node_s) as n, sum(c.ended) as e
		from rota.job j
		cross join lateral (
			select sum(a.cpus * extract(epoch from s.ends_at - s.starts_at)) as cpu_s, sum(extract(epoch from s.ends_at - s.starts_at)) as node_s, null::bigint as ended
			from span s join rota.allocation a using (job_id, step_id, attempt) where s.job_id = j.job_id
			union all
			-- The event of a requeue cancels the end before it.
			select 0, 0, sum(case e.event when 'rerun' then -1 else 1 end) from rota.event e join rota.step_state f on f.state = e.to_state and (f.stage = 'final' or e.event = 'rerun')
			where e.job_id = j.job_id and not exists (select from rota.step_array h where h.job_id = e.job_id and h.step_id = e.step_id)
			having count(*) > 0) c
		group by 1, 2, 3, 4$q$, p_what || ': as the event log has it');
	return next is((select sum(cpu_s) from acct.usage_hour), (select sum(cpu_s) from acct.usage_day), p_what || ': hours and days come to the same');
	return next is((select sum(cpu_used_s) from acct.usage_day), (select sum(cpu_usec) / 1e6::numeric from rota.allocation where ended_at is not null), p_what || ': measured use is all there');
	return next is((select sum(cpu_s) from acct.node_usage_month), (select sum(cpu_s) from acct.usage_month), p_what || ': nodes and users come to the same');
end $$;
select t.zone('UTC') \g /dev/null
select t.thrice('UTC');
create temporary table once as select * from acct.usage_month;
select api.usage_rebuild(0, 'root', '{}') \g /dev/null
select is(api.usage_roll(1), 1, 'a rebuild begins');
select cmp_ok((select rebuild_left from acct.site), '>', 0::bigint, 'and says that it is under way');
select is_empty(:'audit_of_use', 'what there is of it is right');
select is((select count(*) from rota.usage_pending where pending_id > 0), 0::bigint, 'what ends meanwhile goes before it');
select is_empty('select from rota.usage_pending a join rota.usage_pending b on (a.held, a.used) = (b.held, b.used) and a.pending_id > b.pending_id and a.job_ids[1] / 20 < b.job_ids[1] / 20',
	'and the newest jobs before older ones');
select t.roll() \g /dev/null
select is((select rebuild_left from acct.site), 0::bigint, 'it is through');
select set_eq('select * from acct.usage_month', 'select * from once', 'to the same figures');
select t.thrice(z) from unnest(array['Asia/Kolkata', 'Australia/Lord_Howe', 'America/Havana']) z where t.zone(z) is not null;
select is((select count(*) from acct.usage_day d where day <> date_trunc('day', day)), 0::bigint, 'days are days');

-- Sums over any span are those of its parts, wherever it is cut.
create function t.brute(p_from timestamptz, p_to timestamptz) returns numeric language sql as $$
	select coalesce(sum(a.cpus * extract(epoch from least(a.ended_at, p_to) - greatest(a.started_at, p_from))), 0) from rota.allocation a where a.started_at < p_to and a.ended_at > p_from $$;
create temporary table moment as
select nr, timestamptz '2027-10-20 00:00+00' + random() * interval '220 days' as a, random() * interval '1 day' * (random() * 100) ^ 2 / 50 as l, random() as part from generate_series(1, 25) nr;
select is((select coalesce(sum(cpu_s), 0) from acct.usage_between(a, a + l)), t.brute(a, a + l), format('between %s and %s later', a, l)) from moment;
select is((select coalesce(sum(cpu_s), 0) from acct.usage_between(a, a + l * part)) + (select coalesce(sum(cpu_s), 0) from acct.usage_between(a + l * part, a + l)),
	(select coalesce(sum(cpu_s), 0) from acct.usage_between(a, a + l)), format('cut %s', nr)) from moment where nr <= 8;
select is((select count(*) from acct.usage_between('2028-01-01', '2028-01-01')), 0::bigint, 'nothing in no time');
select is((select count(*) from acct.usage_between('2028-01-02', '2028-01-01')), 0::bigint, 'nor backwards');

select set_eq(format('select job_id from acct.jobs_between(%L, %L)', a, a + l), format('select job_id from rota.job where submit_at <= %L and coalesce(ended_at, ''infinity'') >= %L', a + l, a), format('the jobs of %s later than %s', l, a)) from moment where nr <= 8;

-- The queue at a past moment, compared with the log read from its beginning.
create function t.replay(p_at timestamptz) returns table (job_id bigint, step_id int, state text) language plpgsql as $$
declare
	v_one record;
begin
	create temporary table if not exists now_live (job_id bigint, step_id int, state text, primary key (job_id, step_id));
	truncate now_live;
	for v_one in select e.*, f.stage from rota.event e join rota.step_state f on f.state = e.to_state where e.at <= p_at order by e.job_id, e.event_id loop
		delete from now_live n where n.job_id = v_one.job_id and n.step_id = v_one.step_id;
		insert into now_live select v_one.job_id, v_one.step_id, v_one.to_state where v_one.stage <> 'final';
	end loop;
	return query select * from now_live;
end $$;
select set_eq(format('select job_id, step_id, state from acct.queue_at(%L)', a), format('select * from t.replay(%L)', a), format('the queue at %s', a)) from moment;
select is((select sum(cpus_held) from acct.nodes_at(a)), (select coalesce(sum(x.cpus), 0)::numeric from rota.allocation x where x.started_at <= a and x.ended_at > a), format('the nodes at %s', a)) from moment where nr <= 8;
select set_eq(format('select node, state, cpus, mem_mb from acct.nodes_at(%L)', a), format('select node, state, cpus, mem_mb from acct.node_state where from_at <= %1$L and until_at > %1$L', a), format('spans of nodes at %s', a)) from moment where nr <= 8;

-- Days of 23, 24 and 25 hours, a leap day, a month's end, hours that do not fit the days.
create function t.held(p_from timestamptz, p_to timestamptz) returns bigint language plpgsql as $$
declare
	v_job bigint := t.submit('carol', '[{"name": "a", "cpus_per_task": 2, "mem_mb": 100}]');
begin
	perform t.pass(v_job || '.a', '{1}', '{"gres": {"gpu": [0, 1]}}');
	update rota.allocation set started_at = p_from, ended_at = p_to, gone_at = p_to where job_id = v_job;
	update rota.task_end set started_at = p_from, ended_at = p_to where job_id = v_job;
	return v_job;
end $$;
select t.held('2026-03-28 12:00 Europe/Berlin', '2026-03-30 12:00 Europe/Berlin') \g /dev/null
select t.held('2026-10-24 12:00 Europe/Berlin', '2026-10-26 12:00 Europe/Berlin') \g /dev/null
select t.held('2028-02-28 23:00 Europe/Berlin', '2028-03-01 01:30 Europe/Berlin') \g /dev/null
select t.zone('Europe/Berlin') \g /dev/null
select is((select string_agg(day || ' ' || round(cpu_s / 7200, 1), ', ' order by day) from acct.usage_day where user_name = 'carol' and cpu_s > 0),
	'2026-03-28 12.0, 2026-03-29 23.0, 2026-03-30 12.0, 2026-10-24 12.0, 2026-10-25 25.0, 2026-10-26 12.0, 2028-02-28 1.0, 2028-02-29 24.0, 2028-03-01 1.5', 'days of the site');
select is((select string_agg(round(node_s)::text || ' ' || round((gres_s ->> 'gpu')::numeric), ', ' order by month) from acct.usage_month where user_name = 'carol' and cpu_s > 0),
	'169200 338400, 176400 352800, 90000 180000, 5400 10800', 'months, and generic resources');
select is((select count(*) from acct.usage_hour where user_name = 'carol' and cpu_s > 0), (47 + 49 + 27)::bigint, 'hours');
select is_empty(:'audit_of_use', 'all of that is right');

-- Running steps count up to now; a step that moves to another partition leaves there the usage until the move.
select t.submit('dora', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a') \g /dev/null
update rota.allocation set started_at = now() - interval '90 minutes' where job_id = :j;
update rota.job set submit_at = now() - interval '2 hours' where job_id = :j;
select is((select sum(cpu_s) from acct.usage_month where user_name = 'dora'), 5400::numeric, 'what runs counts up to now');
select is((select sum(cpu_s) from acct.usage_between(now() - interval '1 hour', now()) where user_name = 'dora'), 3600::numeric, 'and in the last hour');
select t.fail(:'j' || '.a') \g /dev/null
select is((select string_agg(steps_ended || ' ' || steps_failed || ' ' || steps_completed, ',') from acct.usage_day where user_name = 'dora' and steps_ended > 0), '1 1 0', 'its end is there at once');
select t.submit('erik', '[{"name": "a"}, {"name": "b"}]', '[{"step": "b", "peer": "a"}, {"step": "b", "peer": "a", "kind": "same_nodes"}]') as j \gset
select t.pass(:'j' || '.a') \g /dev/null
select is((select count(*) from rota.allocation where job_id = :j and attempt = 0 and ended_at is null), 1::bigint, 'its node is kept for a follower');
select api.job_hold(0, 'root', t.request(:'j' || '.b')), t.roll() \g /dev/null
select api.admin_change(0, 'root', '{"object": "partition", "action": "create", "name": "other", "values": {"nodes": "n[1-2]"}}') \g /dev/null
select api.job_modify(t.uid('erik'), 'erik', jsonb_build_object('jobs', jsonb_build_array(:'j' || '.b'), 'job', '{}'::jsonb, 'groups', '[]'::jsonb,
	'steps', jsonb_build_array(jsonb_build_object('job_id', :j, 'request_id', 1, 'changed', '{"partition": "other"}'::jsonb, 'spec', E'output=0:\n', 'auth', repeat('00', 32))))) \g /dev/null
select api.job_release(0, 'root', t.request(:'j' || '.b')), t.pass(:'j' || '.b') \g /dev/null
select is((select string_agg(partition, ' ' order by attempt) from acct.allocation where job_id = :j and step = 'b'), 'main other', 'what was kept stays where it was kept');
select t.roll() \g /dev/null
select is_empty(:'audit_of_use', 'and is counted there');
select is((select count(*) from rota.usage_pending), 0::bigint, 'nothing is left to be added up');

-- CPU use is known when the node has nothing left of an attempt: often at its end, sometimes after its allocation has been added
-- up.
select t.submit('gina', '[{"name": "a", "cpus_per_task": 2, "group": "g"}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a') \g /dev/null
update rota.allocation set started_at = started_at - interval '10 seconds' where job_id = :j;
select t.report(t.say(:'j' || '.a', 'done')) \g /dev/null
select t.roll() \g /dev/null
select is((select concat_ws(' ', cpu_s::int, cpu_used_s::int, cpu_measured_s::int) from acct.usage_month where user_name = 'gina'), '20 0 0', 'held, and not measured yet');
select t.report(t.say(:'j' || '.a', 'end', '{"cpu_usec": 3000000, "peak_mb": 7}')) \g /dev/null
select is((select concat_ws(' ', cpu_s::int, cpu_used_s::int, cpu_measured_s::int) from acct.usage_month where user_name = 'gina'), '20 3 20', 'seen at once');
select is_empty(:'audit_of_use', 'before it is added up');
select t.roll(), t.report(t.say(:'j' || '.a', 'end', '{"cpu_usec": 3000000, "peak_mb": 7}')), t.roll() \g /dev/null
select is((select concat_ws(' ', cpu_s::int, cpu_used_s::int, cpu_measured_s::int) from acct.usage_month where user_name = 'gina'), '20 3 20', 'and counted once');
select is_empty(:'audit_of_use', 'and after');

-- CPU time counts in the hours of its samples, or evenly without samples. The hours stay the same when the samples are dropped.
select t.submit('hans', '[{"name": "a"}, {"name": "b"}]') as j \gset
select t.pass(:'j' || '.a'), t.pass(:'j' || '.b', '{2}') \g /dev/null
update rota.allocation set started_at = '2027-03-01 10:30Z', ended_at = '2027-03-01 12:30Z', gone_at = '2027-03-01 12:30Z', cpu_usec = 4000000 where job_id = :j;
update rota.task_end set started_at = '2027-03-01 10:30Z', ended_at = '2027-03-01 12:30Z' where job_id = :j;
create table rota.sample_20270301 partition of rota.sample for values from ('2027-03-01 00:00Z') to ('2027-03-02 00:00Z');
insert into rota.sample_total (job_id, step_id, attempt, node_id, task, first_clock, clock, first_at, last_at) values (:j, 1, 1, 2, -1, 1, 2, now(), now());
insert into rota.sample (at, job_id, step_id, attempt, node_id, task, cpu_usec) values ('2027-03-01 10:45Z', :j, 1, 1, 2, -1, 3000000), ('2027-03-01 11:15Z', :j, 1, 1, 2, -1, 3400000), ('2027-03-01 12:00Z', :j, 1, 1, 2, -1, 3300000);
select t.roll() \g /dev/null
create function t.by_hour() returns text language sql as $$ select string_agg(concat_ws(' ', to_char(hour at time zone 'UTC', 'HH24'), n.name, trim_scale(cpu_used_s), trim_scale(cpu_measured_s)), ', ' order by n.name, hour)
	from rota.node_usage_hour u join rota.node n using (node_id) where hour between '2027-03-01 10:00Z' and '2027-03-01 12:00Z' $$;
select is(t.by_hour(), '10 n1 1 1800, 11 n1 2 3600, 12 n1 1 1800, 10 n2 3.2 1800, 11 n2 0.2 3600, 12 n2 0.6 1800', 'evenly, and by samples');
select is((select cpu_hours::text from rota.allocation where job_id = :j and step_id = 1), '{3200000,200000,600000}', 'which are kept by the hour');
select is_empty(:'audit_of_use', 'as the audit has it');
drop table rota.sample_20270301;
select api.usage_rebuild(0, 'root', '{}'), t.roll() \g /dev/null
select is(t.by_hour(), '10 n1 1 1800, 11 n1 2 3600, 12 n1 1 1800, 10 n2 3.2 1800, 11 n2 0.2 3600, 12 n2 0.6 1800', 'added up anew without them');

-- Figures computed from the same rows.
select t.submit('fred', '[{"name": "a", "mem_mb": 100, "cpus_per_task": 2, "retry": 1}, {"name": "b"}, {"name": "c"}, {"name": "d"}]',
	'[{"step": "b", "peer": "a"}, {"step": "c", "peer": "a"}, {"step": "d", "peer": "b"}, {"step": "d", "peer": "c"}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.fail(:'j' || '.a') \g /dev/null
select t.later() \g /dev/null
select t.pass(:'j' || '.a'), t.pass(:'j' || '.b'), t.pass(:'j' || '.c'), t.pass(:'j' || '.d') \g /dev/null
create temporary table clock as
select * from (values ('a', 10, 20), ('b', 30, 35), ('c', 25, 65), ('d', 70, 71)) x (step, s, e);
update rota.step p set started_at = j.submit_at + make_interval(secs => c.s), ended_at = j.submit_at + make_interval(secs => c.e)
from clock c, rota.job j, rota.step_request r where j.job_id = :j and r.job_id = :j and r.name = c.step and p.job_id = :j and p.step_id = r.step_id;
update rota.attempt p set ordered_at = s.started_at, eligible_at = s.started_at, started_at = s.started_at, done_at = s.ended_at, ended_at = s.ended_at from rota.step s where s.job_id = :j and p.job_id = :j and s.step_id = p.step_id and p.attempt = s.attempt;
update rota.allocation p set started_at = s.started_at, ended_at = s.ended_at, gone_at = s.ended_at, cpu_usec = 4000000, peak_mb = 25 from rota.step s where s.job_id = :j and p.job_id = :j and s.step_id = p.step_id;
select is((select string_agg(concat_ws(' ', step, after, waited_s, ran_s), ', ' order by nr) from acct.critical_path(:j)), 'a 10 10, c a 5 40, d c 5 1', 'the critical path goes by the longer way');
select t.submit('fred', '[{"name": "r", "array": {"indices": [[3,5,1]], "size": 3}}, {"name": "z"}]', '[{"step": "z", "peer": "r"}]') as k \gset
select t.commit(t.decision(:'k' || '.r', '{1}', '{"position": 0}'), t.decision(:'k' || '.r', '{1}', '{"position": 1}'), t.decision(:'k' || '.r', '{1}', '{"position": 2}')) \g /dev/null
select t.run(format('%s.r[%s]', :'k', i)), t.finish(format('%s.r[%s]', :'k', i)) from generate_series(3, 5) i \g /dev/null
update rota.step set ended_at = ended_at + interval '1 minute' where job_id = :k and array_index = 4;
select is((select string_agg(concat_ws(' ', step, after, last_index), ', ' order by nr) from acct.critical_path(:k)), 'r 4', 'of an array it names the last element');
select is((select concat_ws(' ', cpu_held_s::int, cpu_used_s::int, cpu_unused_s::int, cpu_efficiency::numeric(9, 2), mem_efficiency::numeric(9, 2), mem_unused_mb_s::int) from acct.efficiency where job_id = :j and step = 'a'),
	'40 8 32 0.20 0.25 1500', 'efficiency is over all attempts');
select is((select concat_ws(' ', attempt, state, cause, exit_code, ran_again, cpu_held_s::int) from acct.failure where job_id = :j), '1 failed exit 1 t 20', 'what failed, and what it cost');
select is((select string_agg(step || '<' || peer || ':' || state, ' ' order by step, peer) from acct.edge where job_id = :j), 'b<a:met c<a:met d<b:met d<c:met', 'edges');
select is((select concat_ws('|', jobid, "user", elapsed, exitcode, state, ncpus, alloctres, timelimit, nodelist) from acct.sacct where jobid = :'j' and rotastep = :'j' || '.c'),
	:'j' || '|fred|00:00:40|0:0|COMPLETED|1|cpu=1,mem=0M,node=1|00:01:00|n1', 'as sacct has it');
select is(acct.slurm_duration(x), y, y) from (values (0, '00:00:00'), (3599.9, '00:59:59'), (86400, '1-00:00:00'), (8639999, '99-23:59:59')) v (x, y);

-- Waiting times: of each element of an array, and of running steps, by the site's day on which it started; readers get those of
-- their own jobs.
insert into rota.account (account) values ('lab') \g /dev/null
insert into rota.coordinator values ('lab', 'ivan');
select t.submit('hugo', '[{"name": "r", "array": {"indices": [[0,10,1]], "size": 11}}]', '[]', '{"account": "lab"}') as j \gset
select t.start(:'j' || '.r', array[1 + i / 4], jsonb_build_object('position', i)) from generate_series(0, 10) i \g /dev/null
select t.run(format('%s.r[%s]', :'j', i)), case when i > 3 then t.finish(format('%s.r[%s]', :'j', i)) end from generate_series(0, 10) i \g /dev/null
select t.submit('ines', '[{"name": "a"}, {"name": "b"}, {"name": "c"}]') as k \gset
select t.pass(:'k' || '.a', '{4}'), t.pass(:'k' || '.b', '{4}') \g /dev/null
update rota.step set started_at = '2017-01-31 23:30Z', eligible_at = timestamptz '2017-01-31 23:30Z' - coalesce(array_index, 77) * interval '1 second' where job_id = :j;
update rota.step set started_at = '2017-01-31 22:30Z', eligible_at = timestamptz '2017-01-31 22:30Z' - case step_id when 0 then 100 else -1 end * interval '1 second' where job_id = :k and started_at is not null;
create function t.waits(p_role text) returns text language plpgsql as $$
declare
	v_answer text;
begin
	execute format('set local role %I', p_role);
	select string_agg(concat_ws(' ', w.day, w.account, w.partition, w.qos, w.steps_started, w.mean_s, w.median_s, w.p90_s, w.p99_s, w.max_s), ', ' order by w.day)
	into v_answer from acct.wait_day w where w.day between '2017-01-31' and '2017-02-01';
	reset role;
	return v_answer;
end $$;
grant usage on schema t to rota_reader, rota_analyst;
create role hugo in role rota_reader;
create role ines in role rota_reader;
create role ivan in role rota_reader;
select is(t.waits(r), y, r || ' reads waits') from (values
	('rota_analyst', '2017-01-31 main normal 2 50 50 90 99 100, 2017-02-01 lab main normal 11 5 5 9 9.9 10'), ('ines', '2017-01-31 main normal 2 50 50 90 99 100'),
	('hugo', '2017-02-01 lab main normal 11 5 5 9 9.9 10'), ('ivan', '2017-02-01 lab main normal 11 5 5 9 9.9 10')) x (r, y);

-- The directory, the comment and the command line of a job are shown to its owner, not to analysts or coordinators of its
-- account.
update rota.job set comment = 'a secret', submit_line = 'rota submit x' where job_id = :j;
create function t.private(p_role text) returns text language plpgsql as $$
declare
	v_answer text;
begin
	execute format('set local role %I', p_role);
	select count(*) || ' ' || coalesce(string_agg(concat_ws(' ', x.workdir, x.comment, x.submit_line, s.submitline), ','), '-') into v_answer
	from acct.job x
	left join lateral (select max(y.submitline) as submitline from acct.sacct y where y.jobid like x.job_id || '%') s on true
	where x.user_name = 'hugo';
	reset role;
	return v_answer;
end $$;
select is(t.private(r), y, r || ' reads jobs') from (values ('rota_analyst', '1 '), ('hugo', '1 /tmp a secret rota submit x rota submit x'), ('ivan', '1 '), ('ines', '0 -')) x (r, y);

-- The audit finds wrong figures. node_size and task_end are left out: this file made up allocations.
create temporary view differing as select * from acct.usage_audit('2000-01-01', '2100-01-01') where figures not in ('node_size', 'task_end');
update rota.usage_day set cpu_s = cpu_s + 0.000001 where ctid = (select min(ctid) from rota.usage_day);
select is((select count(*) from differing), 1::bigint, 'a microsecond too much');
delete from rota.node_usage_hour where ctid = (select min(ctid) from rota.node_usage_hour);
select is((select string_agg(figures, ' ' order by figures) from differing), 'node_usage_hour usage_day', 'a row that is missing');
delete from rota.task_end;
delete from rota.allocation;
update rota.node_used set cpus_used = 0, mem_used_mb = 0;
update rota.node_gres set job_id = null, step_id = null, attempt = null;
select t.submit('carol', '[{"name": "a", "cpus_per_task": 3}]') as j, t.submit('carol', '[{"name": "a", "cpus_per_task": 2}]') as k \gset
select t.pass(:'j' || '.a', '{1}'), t.pass(:'k' || '.a', '{1}') \g /dev/null
select is_empty($$select * from acct.usage_audit('2000-01-01', '2100-01-01') where figures in ('node_size', 'task_end')$$, 'held on what there is, while it ran');
update rota.task_end set ended_at = ended_at + interval '1 second' where job_id = :j;
select is((select string_agg(figures || ' ' || (key ->> 'job_id'), ' ') from acct.usage_audit('2000-01-01', '2100-01-01') where figures in ('node_size', 'task_end')), 'task_end ' || :j, 'a task that ran for longer than its step held CPUs');
update rota.allocation set ended_at = ended_at + interval '1 minute', gone_at = gone_at + interval '1 minute' where job_id = :j;
select is((select string_agg(figures || ' ' || (key ->> 'node') || ' ' || (added_up ->> 'cpus') || ' of ' || (raw ->> 'cpus'), ' ') from acct.usage_audit('2000-01-01', '2100-01-01') where figures in ('node_size', 'task_end')), 'node_size n1 5 of 4', 'CPUs that are held twice');
update rota.allocation set without_cpus = tstzmultirange(tstzrange(started_at, ended_at)) where job_id = :k;
select is_empty($$select * from acct.usage_audit('2000-01-01', '2100-01-01') where figures in ('node_size', 'task_end')$$, 'not by a step that was suspended meanwhile');
select throws_ok($$select api.usage_rebuild(1097, 'alice', '{}')$$, 'RT403', null, 'not everybody rebuilds');
select throws_ok($$select t.zone('Middle/Earth')$$, 'RT422', null, 'there is no such time zone');
select * from finish();
rollback;
