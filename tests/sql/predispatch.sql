-- Pre-dispatched elements of an array are ordered before there are CPUs for them: each takes over the CPUs of an element that has
-- ended.
begin;
\ir world.psql
select * from no_plan();
create function t.held(p_job bigint) returns text language sql as $$
	select string_agg(format('%s:%s', s.array_index, case when a.ended_at is not null then 'over' when a.started_at is null then 'ahead' else a.cpus_held::text end), ' ' order by s.array_index)
	from rota.step s join rota.allocation a on a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = s.attempt where s.job_id = p_job and s.array_index is not null;
$$;
create function t.used(p_node int) returns text language sql as 'select cpus_used || '' '' || mem_used_mb from rota.node_used where node_id = p_node';
create function t.ahead(p_label text, p_position int) returns jsonb language sql as $$ select t.decision(p_label, '{1}', jsonb_build_object('position', p_position, 'predispatched', true)) $$;
\set array '[{"name": "a", "cpus_per_task": 2, "mem_mb": 100, "array": {"indices": [[0,19,1]], "size": 20, "limit": null}}]'

select t.submit('alice', :'array') as j \gset
select is(t.commit(t.decision(:'j' || '.a', '{1}', '{"position": 0}'), t.decision(:'j' || '.a', '{1}', '{"position": 1}')), 2, 'two fill the node');
select is(t.commit(t.ahead(:'j' || '.a', 2), t.ahead(:'j' || '.a', 3), t.ahead(:'j' || '.a', 4)), 3, 'three more are ordered');
select is(t.held(:j), '0:2 1:2 2:ahead 3:ahead 4:ahead', 'they stand ahead');
select is(t.used(1), '4 500', 'they hold memory, and no CPUs');
select is((select string_agg(r.step_id - r.request_id - 1 || ':' || r.cpus, ' ' order by r.step_id) from api.schedule_running() r where r.predispatched), '2:0 3:0 4:0', 'the leader sees them so');
select throws_ok(format('select t.start(%L, ''{1}'', ''{"position": 5}'')', :'j' || '.a'), '23514', null, 'nothing else finds room');
select t.right('standing ahead');

select t.run(:'j' || '.a[0]'), t.finish(:'j' || '.a[0]') \g /dev/null
select is(t.held(:j), '0:over 1:2 2:2 3:ahead 4:ahead', 'the first takes the CPUs of one that ends');
select is((select a.started_at from rota.allocation a where a.job_id = :j and a.step_id = (t.step(:'j' || '.a[2]')).step_id),
	(select a.ended_at from rota.allocation a where a.job_id = :j and a.step_id = (t.step(:'j' || '.a[0]')).step_id),
	'from the moment on that it ended');
select is(t.used(1), '4 400', 'as many are used as before');
select t.right('one passed on');

select t.run(:'j' || '.a[4]') \g /dev/null
select is(t.held(:j), '0:over 1:2 2:ahead 3:ahead 4:2', 'what starts takes the CPUs that were kept for another one');
select is((select a.started_at from rota.allocation a where a.job_id = :j and a.step_id = (t.step(:'j' || '.a[4]')).step_id),
	(select greatest(a.ended_at, (t.step(:'j' || '.a[4]')).ordered_at) from rota.allocation a where a.job_id = :j and a.step_id = (t.step(:'j' || '.a[0]')).step_id),
	'from the moment on that they became free, or itself was ordered');
select t.finish(:'j' || '.a[1]') \g /dev/null
select is(t.held(:j), '0:over 1:over 2:2 3:ahead 4:2', 'which has the next');
select t.right('out of turn');

-- In one report: element 2 ends, element 3 follows on its CPUs and ends as well.
update rota.allocation set started_at = started_at - interval '1 minute' where job_id = :j and ended_at is null;
update rota.attempt set ordered_at = ordered_at - interval '1 minute' where job_id = :j and ended_at is null;
select t.report(t.say(:'j' || '.a[2]', 'task', '{"age_us": 3100000}'), t.say(:'j' || '.a[2]', 'done', '{"age_us": 3100000}'), t.say(:'j' || '.a[2]', 'end', '{"age_us": 3000000}'),
	t.say(:'j' || '.a[3]', 'keeper', '{"age_us": 2000000}'), t.say(:'j' || '.a[3]', 'run', '{"age_us": 2000000}'), t.say(:'j' || '.a[3]', 'task'), t.say(:'j' || '.a[3]', 'done'),
	t.say(:'j' || '.a[3]', 'end', '{"age_us": 1000000}')) \g /dev/null
select is(t.held(:j), '0:over 1:over 2:over 3:over 4:2', 'what is reported from its begin to its end never stood ahead');
select is((select extract(epoch from a.ended_at - a.started_at)::int from rota.allocation a where a.job_id = :j and a.step_id = (t.step(:'j' || '.a[3]')).step_id), 2, 'and held its CPUs from the end of the element before it');
select is(t.used(1), '2 100', 'two CPUs are free again');
select t.right('a whole life ahead');

-- Elements are pre-dispatched for a full node, but CPUs are free when the decision is committed.
select is(t.commit(t.ahead(:'j' || '.a', 5), t.ahead(:'j' || '.a', 6)), 2, 'two more');
select is(t.held(:j), '0:over 1:over 2:over 3:over 4:2 5:2 6:ahead', 'the first has room at once');
select t.right('room at once');

-- A node refuses an element whose turn did not come in time: it is queued again, without counting as a requeue.
select t.report(t.say(:'j' || '.a[6]', 'refused', '{"reason": "its turn had not come", "retry": "1", "cause": "withdrawn", "drain": ""}')) \g /dev/null
select is((select array[s.state, s.attempt::text] from t.step(:'j' || '.a[6]') s), '{pending,1}', 'queued again');
select is((select array[s.requeues, s.retries] from t.step(:'j' || '.a[6]') s), '{0,0}', 'which does not count, for nothing was run');
select is(t.held(:j), '0:over 1:over 2:over 3:over 4:2 5:2 6:over', 'it held nothing');
select is((select a.ended_at - a.started_at from rota.allocation a where a.job_id = :j and a.step_id = (t.step(:'j' || '.a[6]')).step_id), interval '0', 'for no time');
select t.right('refused');

create function t.launches(p_job bigint) returns text language sql as $$
	select string_agg(s.array_index::text, ' ' order by s.array_index) from rota.node_order o join rota.step s on s.job_id = o.job_id and s.step_id = any (o.step_id || o.also)
	where o.kind = 'launch' and o.job_id = p_job $$;
select is(t.launches(:j) ~ '\m6\M', false, 'no launch request names it any more, so a node that restarts does not start it');

-- Elements are withdrawn: the node gives back those that have not started. One order names all of them, once, and ends nothing.
select t.commit(t.ahead(:'j' || '.a', 7), t.ahead(:'j' || '.a', 8)) \g /dev/null
select throws_ok(format('select api.schedule_withdraw(%s, ''{%s}'', ''{0}'', ''{1}'')', t.term() - 1, :j), 'RT412', null, 'only the leader withdraws');
select is(api.schedule_withdraw(t.term(), array[:j], array[0], '{2}'), 0, 'nothing is withdrawn from a node that has nothing');
select is(api.schedule_withdraw(t.term(), array[:j], array[0], '{1}'), 3, 'all that is not known to have begun is withdrawn, with CPUs or without');
select is((select array_agg(x - o.step_id order by x) || o.attempt || o.node_id from rota.node_order o cross join unnest(o.step_id || o.also) x where o.kind = 'withdraw'
	group by o.order_id), '{0,2,3,1,1}', 'in one order');
select is(api.schedule_withdraw(t.term(), array[:j], array[0], '{1}'), 0, 'there is no second one while the node has not taken it');
select is((select o.also from api.node_orders('{1}', '{}', 100) o where o.kind = 'withdraw'), (select o.also from rota.node_order o where o.kind = 'withdraw'), 'which the node gets whole');
select throws_ok($$insert into rota.node_order (node_id, kind, job_id, step_id, attempt, also) values (1, 'kill', 1, 0, 1, '{1}')$$, '23514', null, 'no other order is for several steps');
select is(t.held(:j), '0:over 1:over 2:over 3:over 4:2 5:2 6:over 7:ahead 8:ahead', 'until the node has said so, nothing changes');
select t.run(:'j' || '.a[7]'), t.report(t.say(:'j' || '.a[8]', 'refused', '{"reason": "withdrawn", "retry": "1", "cause": "withdrawn", "drain": ""}')) \g /dev/null
select is((select s.state from t.step(:'j' || '.a[8]') s), 'pending', 'what had not started is queued again');
select is((select s.state from t.step(:'j' || '.a[7]') s), 'running', 'what had started runs on');
delete from rota.node_order where kind = 'withdraw';
select t.finish(:'j' || '.a[7]') \g /dev/null
select t.right('withdrawn');

-- A cancelled job: its pre-dispatched element has the order to end, and takes over CPUs until it has ended.
select t.commit(t.ahead(:'j' || '.a', 9)) \g /dev/null
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is(t.orders(:'j' || '.a[9]'), 'kill@n1', 'it is to end');
select is(api.schedule_withdraw(t.term(), array[:j], array[0], '{1}'), 0, 'nothing is withdrawn that is to end anyway');
select t.report(t.say(:'j' || '.a[9]', 'refused', '{"reason": "its turn had not come", "retry": "1", "cause": "withdrawn", "drain": ""}')) \g /dev/null
select is(t.state(:'j' || '.a[9]'), 'cancelled', 'what never began is over');
select is(t.launches(:j) ~ '\m9\M', false, 'and no node is to start it');
select t.run(:'j' || '.a[' || i || ']'), t.finish(:'j' || '.a[' || i || ']', '{"outcome": "cancel", "cause": "cancelled", "exit": -1, "signal": 15}') from generate_series(4, 5) i \g /dev/null
select is(t.job(:j), 'cancelled', 'and so is the job');
select is(t.used(1), '0 0', 'nothing is held');
select t.right('a cancelled job');

-- A node that starts more elements than it has CPUs for, as virtual nodes do: no more CPUs are held than there are.
select t.submit('alice', :'array') as j \gset
select t.commit(t.decision(:'j' || '.a', '{1}', '{"position": 0}'), t.decision(:'j' || '.a', '{1}', '{"position": 1}'), t.ahead(:'j' || '.a', 2), t.ahead(:'j' || '.a', 3), t.ahead(:'j' || '.a', 4), t.ahead(:'j' || '.a', 5)) \g /dev/null
select t.report(t.say(:'j' || '.a[2]', 'keeper'), t.say(:'j' || '.a[3]', 'keeper')), t.report(t.say(:'j' || '.a[2]', 'done'), t.say(:'j' || '.a[2]', 'end'), t.say(:'j' || '.a[4]', 'keeper'), t.say(:'j' || '.a[4]', 'done'), t.say(:'j' || '.a[4]', 'end')) \g /dev/null
select is(t.held(:j), '0:2 1:2 2:over 3:ahead 4:over 5:ahead', 'what ends without CPUs frees none');
select t.run(:'j' || '.a[0]'), t.finish(:'j' || '.a[0]') \g /dev/null
select is(t.used(1), '4 300', 'no more is held than there is');
select t.right('too many at once');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')), t.finish(:'j' || '.a[' || i || ']', '{"outcome": "cancel", "cause": "cancelled"}') from unnest('{1,3,5}'::int[]) i \g /dev/null

-- An older copy of the database: the node has dropped the record of a start, and lacks the elements that ran before.
select t.submit('alice', :'array') as j \gset
select t.commit(t.decision(:'j' || '.a', '{1}', '{"position": 0}'), t.decision(:'j' || '.a', '{1}', '{"position": 1}'), t.ahead(:'j' || '.a', 2), t.ahead(:'j' || '.a', 3)) \g /dev/null
select t.run(:'j' || '.a[' || i || ']') from generate_series(0, 1) i \g /dev/null
update rota.allocation set started_at = started_at - interval '1 minute' where job_id = :j and ended_at is null;
update rota.attempt set ordered_at = ordered_at - interval '1 minute', started_at = started_at - interval '1 minute' where job_id = :j and ended_at is null;
update rota.node_lease set renewed_at = now() - interval '30 s' where node_id = 1;
select count(*) from api.node_register(jsonb_build_object('nodes', jsonb_build_array(jsonb_build_object('name', 'n1', 'boot_id', 'boot', 'version', '1', 'address', 'host', 'lease_s', 30,
	'found', '{"cpus": 4, "mem_mb": 4000, "gres": {"gpu": 2}}'::jsonb, 'attempts', '[]'::jsonb, 'reported', jsonb_build_array(:j || '.' || (t.step(:'j' || '.a[2]')).step_id || '.1'))))) \g /dev/null
select is(t.held(:j), '0:over 1:over 2:2 3:2', 'what has started and is gone is lost, though the launch request of its array is open');
select is((select max(a.ended_at) from rota.allocation a where a.job_id = :j), now() - interval '30 s', 'as of the last time that the node renewed its lease');
select t.report(t.say(:'j' || '.a[2]', 'task', '{"started_age_us": 20000000, "age_us": 10000000}'), t.say(:'j' || '.a[2]', 'done', '{"age_us": 10000000}'), t.say(:'j' || '.a[2]', 'end', '{"age_us": 10000000}')) \g /dev/null
select is((select array[a.started_at, a.ended_at] from rota.allocation a where a.job_id = :j and a.step_id = (t.step(:'j' || '.a[2]')).step_id),
	array[now() - interval '30 s', now() - interval '10 s'], 'what followed it has its CPUs from then on');
select is((select a.started_at from rota.attempt a where a.job_id = :j and a.step_id = (t.step(:'j' || '.a[2]')).step_id), now() - interval '20 s', 'it started when its task did');
select t.right('an older copy');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')), t.report(t.say(:'j' || '.a[3]', 'refused', '{"reason": "cancelled", "retry": "1", "cause": "withdrawn", "drain": ""}')) \g /dev/null
select is(t.used(1), '0 0', 'nothing is held after it');

-- A lost node has none of its pre-dispatched elements left.
select t.submit('alice', :'array') as j \gset
select t.commit(t.decision(:'j' || '.a', '{1}', '{"position": 0}'), t.decision(:'j' || '.a', '{1}', '{"position": 1}'), t.ahead(:'j' || '.a', 2)) \g /dev/null
select is(t.held(:j), '0:2 1:2 2:ahead', 'in one commit as well');
select t.silent(1), (select count(*) from t.judge()) \g /dev/null
select is(t.held(:j), '0:over 1:over 2:over', 'the node is lost');
select is((select string_agg(s.state, ' ') from rota.step s where s.job_id = :j and s.array_index is not null), 'pending pending pending', 'all of it is queued again');
select is(t.used(1), '0 0', 'nothing is held there');
select t.right('a lost node');

-- A node that runs an array for random times. It starts an element with CPUs of its own at once, and a pre-dispatched one when fewer run
-- than the limit of its launch request says, mostly in the order of their launch requests. It reports now and then, with another estimate of
-- its clock each time; of some elements, the start together with the end. What is held must be what ran.
create table t.element (nr serial, step_id int, position int, most int, started_at timestamptz, ended_at timestamptz, brief boolean default random() < 0.4,
	start_sent boolean default false, end_sent boolean default false);
create table t.clock_now (at timestamptz);
insert into t.clock_now values (now());
create function t.moment() returns timestamptz language sql as $$ select at from t.clock_now $$;
create function t.at(p_at timestamptz) returns jsonb language sql as $$ select jsonb_build_object('age_us', (extract(epoch from now() - p_at) * 1000000)::bigint) $$;
create function t.node_start(p_step int) returns void language sql as $$
	update t.element e set started_at = t.moment() + random() * interval '2 ms', ended_at = t.moment() + interval '3 ms' + random() * interval '1 s' where e.step_id = p_step $$;
-- The leader commits the element at a position at the moment of the play.
create function t.node_given(p_job bigint, p_position int, p_predispatched boolean) returns void language plpgsql as $$
declare
	v_waits boolean;
begin
	perform t.commit(t.decision(p_job || '.a', '{2}', jsonb_build_object('position', p_position, 'predispatched', p_predispatched)));
	update rota.attempt a set ordered_at = t.moment() where a.job_id = p_job and a.step_id = p_position + 1;
	update rota.allocation a set started_at = case when a.started_at is not null then t.moment() end where a.job_id = p_job and a.step_id = p_position + 1 returning a.started_at is null into v_waits;
	insert into t.element (step_id, position, most)
	select p_position + 1, p_position, count(*) from rota.allocation a where a.job_id = p_job and a.ended_at is null and a.cpus_held > 0;
	if not v_waits then
		update t.element e set most = e.most + 1 where e.started_at is null and p_predispatched;
		perform t.node_start(p_position + 1);
	end if;
end $$;
create function t.report_early(variadic p_records jsonb[]) returns int language sql as $$
	select (api.node_report(b.report || jsonb_build_object('boot_us', (b.report ->> 'boot_us')::bigint - (random() * 5000)::int), t.clocked_list(coalesce(r.report -> 'coalesced', '[]')), false)).new_count
	from (select t.reports(variadic p_records) as report) r cross join lateral (select t.booted(r.report - 'coalesced') as report) b $$;
create function t.node_report(p_job bigint) returns void language plpgsql as $$
declare
	v_one t.element;
	v_label text;
	v_records jsonb[] := '{}';
begin
	for v_one in select * from t.element e where e.started_at <= t.moment() and not e.end_sent and (not e.brief or e.ended_at <= t.moment())
		order by e.started_at loop
		v_label := p_job || '.a[' || v_one.position || ']';
		if not v_one.start_sent then
			v_records := v_records || t.say(v_label, 'keeper', t.at(v_one.started_at)) || t.say(v_label, 'run', t.at(v_one.started_at));
		end if;
		if v_one.ended_at <= t.moment() then
			v_records := v_records || t.say(v_label, 'task', t.at(v_one.ended_at) || jsonb_build_object('started_age_us', t.at(v_one.started_at) -> 'age_us')) || t.say(v_label, 'done', t.at(v_one.ended_at)) || t.say(v_label, 'end', t.at(v_one.ended_at));
		end if;
	end loop;
	update t.element e set start_sent = true, end_sent = e.ended_at <= t.moment() where e.started_at <= t.moment() and (not e.brief or e.ended_at <= t.moment());
	if v_records <> '{}' then
		perform t.report_early(variadic v_records);
	end if;
end $$;
create function t.play_array(p_seed double precision) returns text language plpgsql as $$
declare
	v_job bigint := t.submit('alice', '[{"name": "a", "cpus_per_task": 1, "mem_mb": 1, "array": {"indices": [[0,39,1]], "size": 40}}]');
	v_next int := 0;
	v_step int;
begin
	perform setseed(p_seed);
	delete from t.element;
	update t.clock_now set at = now() - interval '1 hour';
	while v_next < 40 or exists (select from t.element e where not e.end_sent) loop
		while v_next < 40 and (v_next < 4 or v_next - (select count(*) from t.element e where e.ended_at <= t.moment()) < 4 + random() * 6) loop
			perform t.node_given(v_job, v_next * 7 % 40, v_next >= 4);
			v_next := v_next + 1;
		end loop;
		for i in 1 .. 1 + (random() * 5)::int loop
			loop
				select e.step_id into v_step from t.element e
				where e.started_at is null and e.most > (select count(*) from t.element r where r.ended_at > t.moment())
				order by e.nr + case when random() < 0.2 then 3 else 0 end limit 1;
				exit when not found;
				perform t.node_start(v_step);
			end loop;
			update t.clock_now set at = coalesce((select min(e.ended_at) from t.element e where e.ended_at > t.moment()), t.moment() + interval '1 ms');
		end loop;
		perform t.node_report(v_job);
	end loop;
	return (select string_agg(w, ', ') from (
		select format('%s held %s to %s, ran %s to %s', e.position, a.started_at, a.ended_at, k.started_at, k.ended_at) as w
		from t.element e join rota.allocation a on a.job_id = v_job and a.step_id = e.step_id
		left join rota.task_end k on k.job_id = a.job_id and k.step_id = a.step_id and k.attempt = a.attempt
		where a.started_at > k.started_at or a.ended_at < k.ended_at or a.ended_at is null or k.ended_at is null
			or abs(extract(epoch from k.started_at - e.started_at)) > 0.006 or abs(extract(epoch from a.ended_at - e.ended_at)) > 0.006
		union all
		select format('%s CPUs at %s', n, at) from (
			select x.at, sum(sum(x.n)) over (order by x.at) as n
			from rota.allocation a cross join lateral (values (a.started_at, 1), (a.ended_at, -1)) x (at, n)
			where a.job_id = v_job and a.ended_at > a.started_at group by x.at) m where m.n > 4
		limit 3) x);
end $$;
select is(t.play_array(i / 20.0), null, 'play ' || i || ': held as it ran') from generate_series(1, 19, 3) i;
select cmp_ok((select count(*) from rota.allocation where predispatched), '>', 100::bigint, 'most of them were pre-dispatched');
select t.right('plays');
select * from finish();
rollback;
