-- Maintenance: reservations as administrators make them, their times, users who are let in; drains with a deadline; failing
-- nodes; what the leader, the owner of a job and analysts read; the beginning of a reservation.
begin;
\ir world.psql
select * from no_plan();
create function t.admin(p_object text, p_action text, p_name text, p_values jsonb default '{}', p_user text default 'root') returns text language plpgsql as $$
begin
	return api.admin_change(case p_user when 'root' then 0 else t.uid(p_user) end, p_user,
		jsonb_build_object('object', p_object, 'action', p_action, 'name', p_name, 'values', p_values)) ->> 'changed';
exception when others then
	return sqlstate || ' ' || sqlerrm;
end $$;
-- Outages as the leader reads them, in minutes from now.
create function t.outages() returns text language sql as $$
	select string_agg(format('%s %s %s..%s', case o.reservation_id when 0 then 'drain' else (select r.name from rota.reservation r where r.reservation_id = o.reservation_id) end,
		coalesce((select string_agg(n.name, ',' order by n.node_id) from rota.node n where n.node_id = any (o.node_ids)), '...'),
		round((o.from_at - extract(epoch from now()))::numeric / 60), round((o.to_at - extract(epoch from now()))::numeric / 60)), '; ' order by o.from_at, o.node_ids)
	from api.schedule_outages() o;
$$;
create function t.tick() returns double precision language sql as $$
	select round((x.next_at - x.now)::numeric / 60)::double precision from api.schedule_tick(t.term()) x;
$$;
create function t.node(p_name text) returns text language sql as $$
	select concat_ws(' ', n.state, n.reason, n.reason_by) from rota.node n where n.name = p_name;
$$;

-- Reservations are made, shown, changed and deleted; and the users that may do so.
select is(t.admin('reservation', 'create', 'memory', '{"start": "now+10minutes", "duration": "1:00:00", "nodes": "n[1-2]", "reason": "new memory", "users": "bob", "accounts": null}'), 'true', 'a reservation');
select is(t.outages(), 'memory n1,n2 10..70', 'as the leader reads it');
select is((select o.words ~ '^maintenance "memory", [0-9: -]+ to [0-9: -]+ \(new memory\)$' from api.schedule_outages() o), true, 'in words');
select t.admin('reservation', 'change', 'memory', '{"reason": ""}') \g /dev/null
select is((select o.words ~ '^maintenance "memory", [0-9: -]+ to [0-9: -]+[0-9]$' from api.schedule_outages() o), true, 'without a reason');
select t.admin('reservation', 'change', 'memory', '{"reason": "new memory"}') \g /dev/null
select is((select concat_ws(' ', created_by, recurs, users, accounts, end_steps, reason) from rota.reservation), 'root {bob} {} f new memory', 'as written');
select is(t.admin('reservation', 'change', 'memory', '{"start": "now+20minutes"}'), 'true', 'moved');
select is(t.outages(), 'memory n1,n2 20..80', 'keeps its length');
select is(t.admin('reservation', 'change', 'memory', '{"duration": "30", "nodes": "n3"}'), 'true', 'changed');
select is(t.outages(), 'memory n3 20..50', 'length and nodes');
select is(t.admin('reservation', 'change', 'memory', '{"duration": "30", "nodes": "n3"}'), 'false', 'again: no change');
select is(t.admin('reservation', 'change', 'memory', '{"end": "now+90minutes"}'), 'true', 'its end');
select is(t.outages(), 'memory n3 20..90', 'is later');
select is((select count(*) from rota.admin_event where object = 'reservation'), 6::bigint, 'all of it is recorded');
select matches(t.admin('reservation', 'create', 'x', '{}', 'alice'), '^RT403', 'a user makes none');
select t.admin('user', 'create', 'olga', '{"role": "operator"}') \g /dev/null
select matches(t.admin('reservation', 'delete', 'memory', '{}', 'olga'), '^RT403', 'nor does an operator delete one');
select is(t.admin('reservation', 'delete', 'memory'), 'true', 'an admin does');
select is(t.outages(), null, 'gone');

-- Values that are refused.
select matches(t.admin('reservation', 'create', 'x', v::jsonb), e, e)
from (values
	('{"start": "now", "nodes": "n1"}', '^RT422.*needs "start", "nodes", and "end" or "duration"'),
	('{"start": "now", "duration": "5"}', '^RT422.*needs "start"'),
	('{"nodes": "n1", "duration": "5"}', '^RT422.*needs "start"'),
	('{"start": "now", "nodes": "n1", "duration": "5", "end": "now+1hours"}', '^RT422.*not both'),
	('{"start": "now", "nodes": "n1", "end": "now-1hours"}', '^RT422.*end before it begins'),
	('{"start": "now-2hours", "nodes": "n1", "end": "now-1hours"}', '^RT422.*over already'),
	('{"start": "now", "nodes": "n1", "duration": "2-0", "recurs": "daily"}', '^RT422.*recur before it is over'),
	('{"start": "now", "nodes": "n1", "duration": "5", "recurs": "often"}', '^RT422.*"often" is no value for "recurs"'),
	('{"start": "soon", "nodes": "n1", "duration": "5"}', '^RT422.*must be a time'),
	('{"start": "now", "nodes": "n1", "duration": "long"}', '^RT422.*no value for "duration"'),
	('{"start": "now", "nodes": "n[1-9]", "duration": "5"}', '^RT404.*no node "n5"'),
	('{"start": "now", "nodes": "", "duration": "5"}', '^RT422.*needs nodes'),
	('{"start": "now", "nodes": "n1", "duration": "5", "time_zone": "Mars/Olympus"}', '^RT422.*no time zone'),
	('{"start": "now", "nodes": "n1", "duration": "5", "accounts": "nobody"}', '^RT404.*no account'),
	('{"start": "now", "nodes": "n1", "duration": "5", "reason": "a\u001bb"}', '^RT422.*no value for "reason"'),
	('{"start": "now", "nodes": "n1", "duration": "5", "color": "red"}', '^RT422.*has no "color"')) as x (v, e);
select matches(t.admin('reservation', 'create', 'a b', '{"start": "now", "nodes": "n1", "duration": "5"}'), '^RT422.*no reservation can have the name', 'not a name');
select matches(t.admin('reservation', 'drain', 'x'), '^RT422.*no action', 'not an action of it');
select is_empty('select * from rota.reservation', 'nothing is left of what was refused');
select throws_ok($$insert into rota.reservation (name, starts_at, ends_at, created_by) values ('x', now(), now(), 'x')$$, '23514', null, 'the table itself: an end behind its start');
select throws_ok($$insert into rota.reservation (name, starts_at, ends_at, recurs, created_by) values ('x', now(), now() + interval '2 days', '1 day', 'x')$$, '23514', null, 'an end before it comes again');
select throws_ok($$insert into rota.reservation (name, starts_at, ends_at, recurs, created_by) values ('x', now(), now() + interval '1 hour', '-1 day', 'x')$$, '23514', null, 'forward');
select throws_ok($$insert into rota.reservation (name, starts_at, ends_at, created_by) values ('x', now(), 'infinity', 'x')$$, '23514', null, 'an end at all');
select throws_ok($$insert into rota.node_notice (node_id, kind, reason, actor) values (1, 'drain', 'x', 'x')$$, '23514', null, 'a drain has its time');
select throws_ok($$insert into rota.node_notice (node_id, kind, at, reason, actor, end_steps) values (1, 'failing', now(), 'x', 'x', true)$$, '23514', null, 'a failing node ends nothing');

-- Recurring reservations follow the clock of their time zone: 01:30 stays 01:30 when the clock is changed.
insert into rota.reservation (name, starts_at, ends_at, recurs, time_zone, created_by)
select 'old', '2020-01-06 22:00 Europe/Prague', '2020-01-07 06:00 Europe/Prague', r, 'Europe/Prague', 'x' from (values (interval '7 days')) v (r);
select is((select array_agg(distinct to_char(starts_at at time zone 'Europe/Prague', 'Dy HH24:MI') || to_char(ends_at at time zone 'Europe/Prague', ' HH24:MI')) from internal.reservation_time),
	'{"Mon 22:00 06:00"}', 'every Monday night, years later');
select ok((select count(*) between 4 and 6 and count(*) filter (where next) = 1 and count(*) filter (where last) = 1 and min(ends_at) > now()
	and bool_and(not last or starts_at > now() + interval '23 days') from internal.reservation_time), 'of the next 31 days');
update rota.reservation set recurs = '1 day';
select ok((select count(*) between 30 and 33 from internal.reservation_time), 'daily');
select is((select count(distinct to_char(starts_at at time zone 'Europe/Prague', 'HH24:MI')) from internal.reservation_time), 1::bigint, 'at one hour');
update rota.reservation set recurs = '3 months';
select ok((select count(*) >= 2 and bool_and(to_char(starts_at at time zone 'Europe/Prague', 'DD HH24:MI') = '06 22:00') from internal.reservation_time), 'every three months, on the sixth: two at least');
update rota.reservation set recurs = null;
select is_empty('select * from internal.reservation_time', 'once: over');
-- Where a clock change skips the time between start and end, the duration counts.
update rota.reservation set recurs = '1 day', starts_at = '2020-01-01 02:30 Europe/Prague', ends_at = '2020-01-01 03:00 Europe/Prague';
select ok((select bool_and(ends_at > starts_at) from internal.reservation_time), 'an end is behind its start on every day');
select is(((timestamptz '2026-03-28 02:30 Europe/Prague' at time zone 'Europe/Prague') + interval '1 day') at time zone 'Europe/Prague' > timestamptz '2026-03-29 03:00 Europe/Prague', true, '... which on one day of the year takes care');
insert into rota.reservation_node select reservation_id, 1 from rota.reservation;
select is((select count(node_ids) || ' ' || (count(*) > 29) from api.schedule_outages()), '1 true', 'its nodes are listed once');
select is((select count(*) from api.schedule_outages() where to_at is null), 1::bigint, 'behind the last one that is looked at, nothing is known to be free');
delete from rota.reservation;
select is_empty('select * from rota.reservation_node', 'its nodes go with it');

-- Users who are let in: for each step, the reservations that let it in.
select t.admin('account', 'create', 'physics', '{}') \g /dev/null
select t.admin('reservation', 'create', 'r1', '{"start": "now+1hours", "duration": "60", "nodes": "n1", "users": "bob"}'), t.admin('reservation', 'create', 'r2', '{"start": "now+1hours", "duration": "60", "nodes": "n1", "users": "carl", "accounts": "physics"}') \g /dev/null
select t.submit(u, jsonb_build_array(jsonb_build_object('name', 'a', 'reservation', r)), '[]', jsonb_build_object('account', a))
from (values ('alice', null, null), ('bob', null, 'r1'), ('bob', 'physics', 'r2'), ('bob', null, null), ('carl', null, 'r2')) x (u, a, r) \g /dev/null
select is((select string_agg(p.user_name || ':' || coalesce((select string_agg(r.name, ',' order by r.name) from rota.reservation r where r.reservation_id = any (p.admitted)), '-'), ' ' order by p.job_id)
	from t.offered p), 'alice:- bob:r1 bob:r2 bob:- carl:r2', 'who asks, by user or account');
select throws_like(format('select t.submit(%L, %L)', u, jsonb_build_array(jsonb_build_object('name', 'a', 'reservation', r, 'line', 3, 'nodes_min', n, 'ntasks', n))), m, m)
from (values ('alice', 'r1', 1, '%:3: --reservation: you may not use reservation "r1"'), ('bob', 'r3', 1, '%--reservation: there is no reservation "r3"'),
	('bob', 'r1', 2, '%2 nodes asked for, reservation "r1" has 1 of partition%')) x (u, r, n, m);
select t.admin('reservation', 'change', 'r1', '{"users": "alice"}') \g /dev/null
select is((select string_agg(p.user_name || ':' || coalesce(p.reservation::text, 'none'), ' ' order by p.job_id) from t.offered p where p.user_name = 'bob' and p.reservation = -1),
	'bob:-1', 'who is taken off the list waits');
select t.admin('reservation', 'delete', 'r1'), t.admin('reservation', 'delete', 'r2') \g /dev/null

-- Drain with a deadline.
select is(t.admin('node', 'drain', 'n[1-2]', '{"deadline": "now+2hours", "reason": "fan"}', 'olga'), 'true', 'an operator drains later');
select is(t.node('n1'), 'up', 'it is up until then');
select is(t.outages(), 'drain n1,n2 120..', 'the leader knows, for good');
select is(t.tick(), 120::double precision, 'and wakes then');
select is(t.admin('node', 'drain', 'n1', '{"deadline": "now+2hours", "reason": "fan"}', 'olga'), 'false', 'again: no change');
select is(t.admin('node', 'resume', 'n2', '{}', 'olga'), 'true', 'resume takes it back');
select is(t.outages(), 'drain n1 120..', 'one is left');
update rota.node_notice set at = now();
select t.tick() \g /dev/null
select is(t.node('n1'), 'drain fan olga', 'at the deadline it is drained, by whom who said so');
select is_empty('select * from rota.node_notice', 'and nothing is planned any more');
select matches(t.admin('node', 'drain', 'n1', '{"deadline": "now+1hours", "reason": "x"}'), '^RT409.*drained already', 'a drained node has no deadline');
select matches(t.admin('node', 'drain', 'n2', '{"end_steps": "yes", "reason": "x"}'), '^RT422.*needs a deadline', 'steps are ended at a deadline only');
select matches(t.admin('node', 'drain', 'n2', '{"deadline": "now+1hours"}'), '^RT422.*say why', 'not without a reason');
select matches(t.admin('node', 'change', 'n2', '{"deadline": "now+1hours"}'), '^RT422.*can be given with "drain" only', 'not by change');
select t.admin('node', 'drain', 'n2', '{"deadline": "now+1hours", "reason": "x"}') \g /dev/null
select is(t.admin('node', 'drain', 'n2', '{"reason": "now"}'), 'true', 'drained at once');
select is_empty('select * from rota.node_notice', 'is not drained again');
select t.admin('node', 'resume', 'n[1-2]') \g /dev/null
select is(t.node('n2'), 'up', 'up again');

-- Failing nodes.
select is(t.admin('node', 'change', 'n4', '{"failing": "ECC errors", "failing_at": "now+1days"}', 'olga'), 'true', 'an operator marks a node');
select matches(t.admin('node', 'change', 'n4', '{"failing": "ECC errors", "weight": 3}', 'olga'), '^RT403', 'and changes nothing else');
select matches(t.admin('node', 'change', 'n4', '{"failing": "x"}', 'alice'), '^RT403', 'a user marks none');
select matches(t.admin('node', 'change', 'n3', '{"failing_at": "now+1days"}'), '^RT422.*what is wrong', 'not without a reason');
select is((select string_agg(name || ' ' || failing || ' ' || features::text, '; ' order by name) from api.schedule_nodes() where node_id > 2), 'n3 false {}; n4 true {failing}', 'the leader takes it last; it has a feature');
select is(t.outages(), null, 'it is no outage');
select matches(api.node_list(0, 'root', '{"names": ["n4"]}') -> 'nodes' -> 0 ->> 'notice', '^failing, expected [0-9: -]+ \(ECC errors\)$', 'rota nodes tells');
select is(t.admin('node', 'change', 'n4', '{"failing": "more ECC errors"}'), 'true', 'another reason');
select is((select reason || ' ' || (at is not null) from rota.node_notice), 'more ECC errors true', 'the same time');
select t.submit('alice', '[{"name": "a", "time_limit_s": 3600, "nodes_min": 2}]') as j \gset
select t.start(:'j' || '.a', '{3,4}'), t.run(:'j' || '.a') \g /dev/null
select t.admin('reservation', 'create', 'weekly', '{"start": "now-10minutes", "duration": "60", "nodes": "n4", "recurs": "weekly", "reason": "tests"}') \g /dev/null
select matches(api.node_list(0, 'root', '{"names": ["n4"]}') -> 'nodes' -> 0 ->> 'notice', '^maintenance "weekly", [0-9: -]+ to [0-9: -]+ \(tests\); failing', 'both');
select is(api.node_list(0, 'root', '{"names": ["n4"]}') -> 'nodes' -> 0 ->> 'state', 'up', 'the node keeps its state');
select is(t.tick(), 50::double precision, 'the leader wakes when a maintenance ends');

-- A job and the outages of its nodes.
create function t.warnings(p_job bigint) returns text language sql as $$
	select string_agg((w ->> 'node') || ' ' || (w ->> 'kind'), ', ' order by nr)
	from jsonb_array_elements(api.job_show(t.uid('alice'), 'alice', t.request(p_job::text)) -> 'jobs' -> 0 -> 'steps' -> 0 -> 'warnings') with ordinality x (w, nr);
$$;
select is(t.warnings(:j), 'n4 maintenance, n4 failing', 'what show says of its nodes');
select t.admin('node', 'drain', 'n3', '{"deadline": "now+1days", "reason": "fan"}') \g /dev/null
select is(t.warnings(:j), 'n3 drain, n4 maintenance, n4 failing', 'a deadline too');
select t.admin('reservation', 'create', 'late', '{"start": "now+2hours", "duration": "60", "nodes": "n3"}'), t.admin('reservation', 'create', 'soon', '{"start": "now+30minutes", "duration": "60", "nodes": "n3", "users": "bob"}') \g /dev/null
select is(t.warnings(:j), 'n3 maintenance, n3 drain, n4 maintenance, n4 failing', 'a maintenance within its time, not one behind it');
select is((select string_agg(distinct w.node || ' ' || w.kind, ', ') from acct.node_warning w join acct.allocation a using (node) where a.job_id = :j and a.ended_at is null and w.starts_at < now() + interval '1 hour'),
	'n3 maintenance, n4 maintenance', 'in SQL');
select is((select steps from jsonb_to_recordset(api.reservation_list(0, 'root', '{}') -> 'reservations') as x (name text, steps int) where name = 'soon'), 1, 'how many steps reach into one');
select is((select string_agg(name || ' ' || state, ', ') from jsonb_to_recordset(api.reservation_list(0, 'root', '{}') -> 'reservations') as x (name text, state text)), 'weekly active, soon planned, late planned', 'the list');
select is((select count(*) filter (where reservation = 'weekly') > 1 and bool_or(reservation = 'soon' and nodes = '{n3}' and users = '{bob}') from acct.reservation), true, 'for analysts');

-- The time limit of a running step may not be extended into an outage that it does not reach yet.
create function t.modify(p_user text, p_job bigint, p_limit int) returns text language plpgsql as $$
begin
	perform internal.modify_check(internal.caller_role(case p_user when 'root' then 0 else 1 end, p_user), null, p_job, 0, jsonb_build_object('time_limit_s', p_limit),
		(select r.spec from rota.step_request r where r.job_id = p_job));
	return 'ok';
exception when others then
	return sqlstate || ' ' || sqlerrm;
end $$;
select t.submit('alice', '[{"name": "a", "time_limit_s": 600}]') as k \gset
select t.start(:'k' || '.a', '{3}'), t.run(:'k' || '.a') \g /dev/null
select is(t.modify('olga', :k, 1200), 'ok', 'an operator raises a limit');
select matches(t.modify('olga', :k, 2400), '^RT403.*run into maintenance "soon"', 'not into a maintenance');
select matches(t.modify('olga', :k, 0), '^RT403', 'nor without end');
select is(t.modify('root', :k, 2400), 'ok', 'an admin may');
select is(t.modify('olga', :j, 3700), 'ok', 'what reaches into it anyway');
update rota.reservation set users = '{alice}' where name = 'soon';
select matches(t.modify('olga', :k, 2400), '^RT403', 'nor what does not ask for it');
update rota.step_request set reservation = 'soon' where job_id = :k;
select is(t.modify('olga', :k, 2400), 'ok', 'what asks for it, and is on its list');
update rota.step_request set reservation = null where job_id = :k;
update rota.reservation set users = '{}' where name = 'soon';

-- A reservation begins. Running steps go on, unless it ends them; an ended step runs again later, on a node that it may use.
select t.submit('bob', '[{"name": "a", "time_limit_s": 600}]') as b \gset
select t.submit('alice', '[{"name": "a", "time_limit_s": 600, "requeue": false}]') as m \gset
select t.start(:'b' || '.a', '{3}'), t.run(:'b' || '.a'), t.start(:'m' || '.a', '{3}'), t.run(:'m' || '.a') \g /dev/null
update rota.reservation set starts_at = now() where name = 'soon';
select t.tick() \g /dev/null
select is(t.orders(:'k' || '.a'), null, 'what runs goes on');
select t.submit('alice', '[{"name": "a", "time_limit_s": 600}, {"name": "b", "time_limit_s": 0}]') as late \gset
select throws_ok(format('select t.start(%L, %L)', :'late' || '.a', '{3}'), '40001', null, 'the commit refuses what the leader decided without knowing');
select is(t.start(:'late' || '.a', '{1}'), 1, 'elsewhere it starts');
select t.admin('reservation', 'create', 'tomorrow', '{"start": "now+1days", "duration": "60", "nodes": "n1", "accounts": "physics"}') \g /dev/null
select throws_ok(format('select t.start(%L, %L)', :'late' || '.b', '{1}'), '40001', null, 'without a limit, any time');
update rota.job set account = 'physics' where job_id = :late;
select throws_ok(format('select t.start(%L, %L)', :'late' || '.b', '{1}'), '40001', null, 'nor on its list alone');
update rota.step_request set reservation = 'tomorrow' where job_id = :late and name = 'b';
select is(t.start(:'late' || '.b', '{1}'), 1, 'unless it asks for it, and is on its list');
select api.job_cancel(0, 'root', t.request(:'late')) \g /dev/null
update rota.reservation set end_steps = true, users = '{alice,bob}' where name = 'soon';
update rota.step_request set reservation = 'soon' where job_id = :b;
select t.tick() \g /dev/null
select is(t.orders(:'k' || '.a'), 'kill@n3', 'what is to be ended has its order');
select is(t.orders(:'j' || '.a'), 'kill@n3 kill@n4', 'on all of its nodes');
select is(t.orders(:'b' || '.a'), null, 'what asks for it is left alone');
select t.tick() \g /dev/null
select is(t.orders(:'k' || '.a'), 'kill@n3', 'once');
select t.finish(:'k' || '.a', '{"exit": -1, "signal": 15, "cause": "maintenance", "outcome": "cancel"}'), t.finish(:'m' || '.a', '{"exit": -1, "signal": 15, "cause": "maintenance", "outcome": "cancel"}'),
	t.finish(:'j' || '.a', '{"exit": -1, "signal": 15, "cause": "maintenance", "outcome": "cancel"}') \g /dev/null
select is(t.state(:'k' || '.a'), 'pending', 'it waits to run again');
select is((select event || ' ' || cause from rota.event where job_id = :k order by event_id desc limit 1), 'requeue maintenance', 'the log says why');
select is(t.state(:'m' || '.a') || ' ' || (t.step(:'m' || '.a')).cause, 'cancelled maintenance', 'what may not run again is over');
select t.right('steps ended by a maintenance') ;
select t.admin('node', 'resume', 'n3'), t.admin('node', 'drain', 'n3', '{"deadline": "now", "end_steps": "yes", "reason": "smoke"}') \g /dev/null
select t.tick() \g /dev/null
select is(t.orders(:'b' || '.a') || ' ' || t.node('n3'), 'kill@n3 drain smoke root', 'a drain that ends what runs ends all of it, and drains');
select t.finish(:'b' || '.a') \g /dev/null
select is(t.state(:'b' || '.a'), 'completed', 'what is done in its grace time has completed');
select t.right('steps ended by a drain');

-- Steps with checkpoints are saved first, and are ended without one after checkpoint_wait_s.
\ir checkpoint.psql
select t.submit('alice', :'saves') as sf \gset
select t.submit('alice', '[{"name": "a", "requeue": false, "checkpoint": {"driver": "app", "keep": 2}}]') as sk \gset
select t.submit('alice', :'saves') as ss \gset
select t.submit('alice', :'saves') as sa \gset
select t.admin('node', 'resume', 'n3'), t.admin('reservation', 'delete', 'soon'), t.admin('reservation', 'delete', 'late') \g /dev/null
select t.start(v || '.a', '{3}'), t.run(v || '.a') from unnest(array[:sf, :sk, :ss]) v \g /dev/null
select t.start(:'sa' || '.a', '{3}') \g /dev/null
select t.report(t.say(:'ss' || '.a', 'suspended')) \g /dev/null
create function t.asked(p_label text) returns text language sql as $$
	select string_agg(concat_ws(' ', c.state, c.reason, c.asked_by, c.then_do), ', ' order by c.generation) from rota.checkpoint c join t.step(p_label) s using (job_id, step_id) $$;
create function t.notices() returns bigint language sql as $$ select count(*) from rota.node_notice where node_id = 3 and kind = 'drain' $$;
select t.admin('node', 'drain', 'n3', '{"deadline": "now", "end_steps": "yes", "reason": "smoke"}') \g /dev/null
savepoint deadline;
select t.tick() \g /dev/null
select is(t.orders(:'sf' || '.a') || ', ' || t.asked(:'sf' || '.a'), 'checkpoint@n3, asked maintenance schedule requeue', 'it is saved first');
select is(t.orders(:'ss' || '.a') || ', ' || coalesce(t.asked(:'ss' || '.a'), 'none'), 'kill@n3, none', 'not while it is suspended');
select is(coalesce(t.asked(:'sa' || '.a'), 'none'), 'none', 'nor before it has begun');
select is(t.node('n3') || ' ' || t.notices(), 'drain smoke root 1', 'the node is drained meanwhile, and what is to be ended is remembered');
select t.tick() \g /dev/null
select is(t.orders(:'sf' || '.a') || ', ' || t.asked(:'sf' || '.a'), 'checkpoint@n3, asked maintenance schedule requeue', 'it is asked once');
select t.saved(:'sf' || '.a'), t.saved(:'sk' || '.a') \g /dev/null
select is(t.orders(:'sf' || '.a'), 'checkpoint@n3 kill@n3', 'then it ends');
select is((select o.args ->> 'cause' from rota.node_order o join t.step(:'sf' || '.a') s using (job_id, step_id) where o.kind = 'kill'), 'maintenance', 'because of the maintenance');
select t.tick() \g /dev/null
select is(t.node('n3') || ' ' || t.notices(), 'drain smoke root 0', 'nothing is left to end');
select t.finish(v || '.a', '{"exit": -1, "signal": 15, "cause": "maintenance", "outcome": "cancel"}') from unnest(array[:sf, :sk]) v \g /dev/null
select is(t.state(:'sf' || '.a') || ' ' || t.state(:'sk' || '.a'), 'pending pending', 'what was saved goes on later');
rollback to deadline;
select t.tick(), t.late() \g /dev/null
select is(t.asked(:'sf' || '.a'), 'failed maintenance schedule requeue', 'it was not saved in time');
select t.tick() \g /dev/null
select is(t.orders(:'sf' || '.a') || ' ' || (t.step(:'sf' || '.a')).end_wanted || ', ' || t.orders(:'sk' || '.a') || ' ' || (t.step(:'sk' || '.a')).end_wanted, 'checkpoint@n3 kill@n3 requeue, checkpoint@n3 kill@n3 cancel', 'and is ended without');
select is(t.node('n3') || ' ' || t.notices(), 'drain smoke root 0', 'the drain is done');
rollback to deadline;
-- Checkpoints that others asked for before.
select internal.checkpoint_ask(:sf, (t.step(:'sf' || '.a')).step_id, 'user', 'alice', null, 'end'), internal.checkpoint_ask(:sk, (t.step(:'sk' || '.a')).step_id, 'user', 'alice', null, 'continue') \g /dev/null
select t.tick() \g /dev/null
select is(t.asked(:'sf' || '.a') || ', ' || t.asked(:'sk' || '.a'), 'asked user alice end, asked maintenance schedule requeue', 'one under way is enough');
select t.late(), t.tick() \g /dev/null
select is(t.asked(:'sf' || '.a') || ' ' || t.orders(:'sk' || '.a'), 'failed user alice end, asked maintenance schedule requeue checkpoint@n3 kill@n3', 'a failed one of its user is asked for again');
select t.finish(v || '.a') from unnest(array[:sf, :sk, :ss, :sa]) v \g /dev/null
select t.right('steps saved ahead of a drain');

-- The reason of the leader's plan why a step waits.
select t.submit('alice', '[{"name": "a", "time_limit_s": 600}]') as w \gset
select api.schedule_plan(t.term(), jsonb_build_array(jsonb_build_object('job', :w, 'step', 0, 'reason', 'maintenance', 'message', 'needs 1 CPU, which would run into maintenance "x"')), null, null) \g /dev/null
select is(api.job_why(t.uid('alice'), 'alice', t.request(:'w')) -> 'steps' -> 0 -> 'conditions' -> 0 ->> 'kind', 'maintenance', 'why');
select is(api.job_queue(t.uid('alice'), 'alice', jsonb_build_object('jobs', jsonb_build_array(:'w'))) -> 'jobs' -> 0 ->> 'reason', 'maintenance', 'queue');

-- A node with notices and reservations can be deleted.
select t.admin('node', 'create', 'm1', '{"cpus": 1, "mem": 1, "failing": "old"}'), t.admin('reservation', 'create', 'm', '{"start": "now", "duration": "60", "nodes": "m1"}') \g /dev/null
select is(t.admin('node', 'delete', 'm1'), 'true', 'deleted with its notices');
select * from finish();
rollback;
