-- Incarnations of the database: a promotion and a restored copy are noticed, numbers are not given out twice, and what a node has
-- nothing of any more is run again. What a node says counts within bounds.
begin;
\ir world.psql
select * from no_plan();
create function t.now() returns rota.incarnation language sql as 'select internal.incarnation_now()';
create function t.last(p_sequence text) returns bigint language sql as 'select internal.number_last(p_sequence)';
-- t.promoted: as if another server of an older timeline had written the database until now.
create function t.promoted() returns void language sql as 'update rota.incarnation set timeline = timeline - 1 where incarnation = (t.now()).incarnation';
select t.back(i) from generate_series(1, 4) i \g /dev/null

-- A promotion.
select is((t.now()).reason, 'first', 'the first incarnation begins with the database');
select is(api.node_incarnation(0, 0), 1, 'the same server, the same incarnation');
select (api.job_number(1) ->> 0)::bigint as before \gset
select t.last('node_order_order_id_seq') as orders \gset
select t.promoted() \g /dev/null
select cmp_ok((api.job_number(1) ->> 0)::bigint, '>', :before::bigint + 1000, 'whoever takes a number notices the promotion: numbers go on higher');
select is((t.now()).incarnation, 2, 'another incarnation');
select is((t.now()).job_after, :before::bigint, 'which knows what was given out before');
select cmp_ok(t.last('node_order_order_id_seq'), '>=', :orders::bigint + 1000000, 'ids of orders too');
select is(api.node_incarnation(0, 0), 2, 'nodes get to know');
select t.promoted() \g /dev/null
update rota.leader set backend_pid = null where name = 'schedule';
select api.leader_claim('schedule', 3) \g /dev/null
select is((t.now()).incarnation, 3, 'whoever leads notices it, too');
select is(internal.incarnation_check(), 3, 'once');

-- A copy of the same timeline was restored: a node has seen numbers that were not given out.
update rota.incarnation set began_at = began_at - interval '2 hours';
select t.last('job_job_id_seq') as last \gset
select is(api.node_incarnation(:last, 0), 3, 'a number that was given out changes nothing');
select is(api.node_incarnation(:last + 20000, 0), 4, 'one that was not is: another incarnation');
select is(t.last('job_job_id_seq'), :last::bigint + 20000, 'and that number is not given out again');
select is(api.node_incarnation(:last + 30000, 0), 4, 'another node has seen more: the same incarnation');
select is(t.last('job_job_id_seq'), :last::bigint + 30000, 'and numbers go on behind that');
select is(api.node_incarnation(9000000000000000000, 9000000000000000000), 4, 'a node that lies');
select is(t.last('job_job_id_seq'), :last::bigint + 30000, 'does not use up the numbers');
update rota.incarnation set began_at = began_at - interval '2 hours';
select is(api.node_incarnation(0, t.last('node_order_order_id_seq') + 1), 5, 'the ids of orders show it, too');
select throws_ok('insert into rota.incarnation (incarnation, timeline, made_by, reason, job_after, job_from) values (9, 1, ''x'', ''x'', 5, 5)', '23514', null, 'an incarnation raises numbers');

-- The node refuses a launch request of an attempt that it has accepted before, and has nothing of that attempt.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as j \gset
select t.start(:'j' || '.a') \g /dev/null
select is(t.report(t.say(:'j' || '.a', 'gone', '{"reason": "the launch request was accepted before"}')), 1, 'the node says so');
select is((select concat_ws(' ', s.state, a.state, a.cause, a.message) from t.step(:'j' || '.a') s join rota.attempt a on a.job_id = s.job_id), 'pending node_fail node_lost the node has nothing of it any more', 'it runs again');
select is((select count(*) from rota.node_order where job_id = :j and kind = 'launch'), 0::bigint, 'and its order is gone');
select is((select cpus_used from rota.node_used where node_id = 1), 0, 'its CPUs are free');
select t.right('gone');
select t.start(:'j' || '.b') \g /dev/null
select t.run(:'j' || '.b') \g /dev/null
select t.report(t.say(:'j' || '.b', 'gone', '{"reason": "the launch request was accepted before"}')) \g /dev/null
select is(t.state(:'j' || '.b'), 'running', 'of an attempt that the node has reported, it changes nothing');
select t.finish(:'j' || '.b') \g /dev/null
select is(t.report(t.say(:'j' || '.b', 'gone', '{"reason": "the launch request was accepted before"}')), 0, 'nor of one that has ended');

-- A node that has taken a launch request and reports nothing is asked for its inventory.
select t.submit('alice', '[{"name": "a", "nodes_min": 1}]') as k \gset
select t.start(:'k' || '.a', '{2}') \g /dev/null
select is(internal.unanswered_nodes(), '{}', 'a step that has just been placed');
update rota.attempt set ordered_at = now() - interval '5 minutes' where job_id = :k;
update rota.allocation set started_at = now() - interval '5 minutes' where job_id = :k;
select is(internal.unanswered_nodes(), '{}', 'an order that was not fetched is on its way');
select set_config('rota.inventory_asked_at', '', false) \g /dev/null
delete from rota.node_order where job_id = :k;
select matches(api.job_why(0, 'root', t.request(:'k')) #>> '{steps,0,conditions,0,message}', 'n2 received the launch request of .* has not reported', 'why says so');
select t.promoted() \g /dev/null
select count(*) from api.schedule_tick(t.term()) \g /dev/null
select is((select array_agg(node_id) from rota.node_lease where inventory_wanted), '{2}', 'the leader asks the node');
select is((select array_agg(node_id order by node_id) from api.node_renew('{1,2}')), '{1}', 'which cannot renew its lease');
select t.back(2) \g /dev/null
select is((select array_agg(node_id) from rota.node_lease where inventory_wanted), null, 'and registers');

-- A number of an attempt is given again, since this database lacks the attempt that had it. The node has kept the records of that one.
-- The node registers after the start: by its clocks the start came before, and it has not registered in this incarnation.
create function t.again(p_label text) returns jsonb language sql as $$
	select jsonb_build_array(s.job_id || '.' || s.step_id || '.' || s.attempt) from t.step(p_label) s $$;
create function t.ordered(p_label text) returns timestamptz language sql as $$
	select a.ordered_at from t.step(p_label) s join rota.attempt a on a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = s.attempt $$;
create function t.kept(p_label text, p_node int, p_registered interval) returns jsonb language sql as $$
	select t.reports(t.say(p_label, 'keeper', '{"age_us": 9000000}', p_node), t.say(p_label, 'run', '{"age_us": 8000000}', p_node), t.say(p_label, 'done', '{"age_us": 7000000}', p_node),
			t.say(p_label, 'end', '{"age_us": 6000000}', p_node))
		|| jsonb_build_object('registered', jsonb_build_object('us', t.clock('5000000', 0), 'server_us', (extract(epoch from t.ordered(p_label) + p_registered) * 1000000)::bigint)) $$;
create function t.attempts(p_label text) returns text language sql as $$
	select string_agg(concat_ws(' ', a.attempt, a.state, a.cause), ', ' order by a.attempt) from t.step(p_label) s join rota.attempt a on a.job_id = s.job_id and a.step_id = s.step_id $$;
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d", "nodes_min": 2}]') as m \gset
select t.start(:'m' || '.a', '{3}') \g /dev/null
update rota.incarnation set began_at = now() - interval '1 minute' where incarnation = (t.now()).incarnation;
update rota.node_lease set renewed_at = now();
select is(internal.given_again_from(3), null, 'a node that has registered in this incarnation');
select t.back(3, jsonb_build_object('attempts', '[]'::jsonb, 'reported', t.again(:'m' || '.a'))) \g /dev/null
select is(t.state(:'m' || '.a'), 'starting', 'has the attempts that it names');
update rota.node_lease set renewed_at = now() - interval '2 minutes' where node_id = 3;
select t.start(:'m' || '.b', '{3}') \g /dev/null
select t.back(3, jsonb_build_object('attempts', '[]'::jsonb, 'reported', t.again(:'m' || '.a'))) \g /dev/null
select is(t.attempts(:'m' || '.a'), '1 node_fail node_lost', 'one that was not: the number was given twice');
select is((t.step(:'m' || '.a')).state, 'pending', 'so the step runs under another one');
select is(t.state(:'m' || '.b'), 'starting', 'a number that the node has not had stays');
select is((select count(*) from rota.node_order where job_id = :m and kind = 'launch'), 1::bigint, 'with its order');
select is(t.tell(t.kept(:'m' || '.b', 3, interval '1 s')), 4, 'what was ordered before the registration may have records of before it');
select is(t.state(:'m' || '.b'), 'completed', 'and has its end');
update rota.node_lease set renewed_at = now() - interval '2 minutes' where node_id = 3;
update rota.incarnation set reason = 'a node has seen more', began_at = clock_timestamp() where incarnation = (t.now()).incarnation;
select is(internal.given_again_from(3), pg_postmaster_start_time(), 'a restored copy may have given numbers again since its server was started');
update rota.node_lease set renewed_at = clock_timestamp();

-- The node registers before the start, and then reports the records that it has kept.
select t.start(:'m' || '.c', '{3}') \g /dev/null
select (select count(*) from rota.rejected_report) as rejected \gset
select is(t.tell(t.kept(:'m' || '.c', 3, interval '-1 s')), 0, 'records of before the registration are not of an attempt that was ordered after it');
select is(t.state(:'m' || '.c'), 'starting', 'it is not ended by them');
select is((select count(*) from rota.rejected_report) - :rejected, 1::bigint, 'and they are stored');
select is(t.tell(t.kept(:'m' || '.c', 3, interval '-1 s') || jsonb_build_object('records', t.say(:'m' || '.c', 'keeper', '{"age_us": 4000000}'))), 1, 'later ones count, in the same report');
select is(t.state(:'m' || '.c'), 'prolog', 'as they say');
select t.run(:'m' || '.c'), t.finish(:'m' || '.c') \g /dev/null
select t.start(:'m' || '.d', '{3,4}') \g /dev/null
select is(t.tell('{"orders_done": [], "records": []}' || jsonb_build_object('ready', jsonb_build_array((t.say(:'m' || '.d', 'ready', '{"age_us": 9000000}', 3) -> 0) || '{"nodes": [3]}'),
	'registered', t.kept(:'m' || '.d', 3, interval '-1 s') -> 'registered')), 0, 'nor is a node of several ready by them');
select is((select string_agg(phase, ' ') from rota.allocation a join t.step(:'m' || '.d') s using (job_id, step_id) where a.node_id in (3, 4)), 'ordered ordered', 'so no other node goes');
select t.right('given again');

-- A node or daemon that has seen an incarnation that this database lacks refuses it, until an administrator accepts it.
create function t.admit(p_incarnation int, p_began timestamptz) returns text language sql as
	'select concat_ws('' '', incarnation, refused) from api.incarnation_admit(p_incarnation, 7, p_began)';
create function t.due(p_acts boolean) returns text language sql as
	'select string_agg(item, '', '') from internal.db_accept(1000, p_acts) where item like ''refused%'' or item in (''incarnation'', ''accepted'')';
select api.incarnation_admit(0, 0, null) \g /dev/null
select (t.now()).incarnation as n, (t.now()).began_at as began \gset
select is(t.admit(0, null), :n || ' f', 'who has seen nothing');
select is(t.admit(:n, :'began'), :n || ' f', 'the present one');
select is(t.admit(1, (select began_at from rota.incarnation where incarnation = 1)), :n || ' f', 'an earlier one');
select is((select backend from api.incarnation_admit(0, 0, null)), pg_backend_pid(), 'and which process answers');
select throws_ok('select internal.db_accept(1000, true)', 'RT409', 'nobody has refused this server, so there is nothing to accept', 'nothing to accept');
select is(t.admit(:n, :'began'::timestamptz + interval '1 us'), :n || ' t', 'one of this number that another branch has given out is refused');
select is(t.admit(:n + 3, clock_timestamp()), :n || ' t', 'a newer one, too');
select is((select array_agg(concat_ws(' ', role, incarnation, timeline)) from rota.incarnation_refused), array[format('%s %s 7', session_user, :n + 3)], 'one row a role, the newest');
select is(t.admit(:n + 1, clock_timestamp() + interval '1 day'), :n || ' t', 'a clock of another world');
update rota.incarnation_refused set incarnation = :n + 3, began_at = clock_timestamp() + interval '1 minute';
select is(t.due(false), format('refused by %s, incarnation', session_user), 'accept shows who refuses');
select is((t.now()).incarnation, :n, 'and does nothing');
select is(t.due(true), format('refused by %s, incarnation', session_user), 'it accepts');
select is((t.now()).incarnation, :n + 4, 'by another incarnation, behind those that others have seen');
select is((select count(*) from rota.incarnation_refused), 0::bigint, 'nobody refuses it any more');
select is(t.admit(:n + 3, clock_timestamp()), (:n + 4) || ' f', 'who has seen the newer branch comes back');
select is(t.admit(:n + 3, clock_timestamp() + interval '30 s'), (:n + 4) || ' f', 'also where its clock went ahead');
select is(t.admit(:n + 4, clock_timestamp() + interval '2 minutes'), (:n + 4) || ' t', 'but not who has seen what that branch did later');
delete from rota.incarnation_refused;
select is(t.due(false), 'accepted', 'then accept shows what it lacks');
update rota.incarnation_refused set began_at = began_at;
insert into rota.incarnation_refused (role, application, incarnation, timeline, began_at) values ('rota_node_n9', 'liar', 5, 9, clock_timestamp() + interval '1 year');
select t.due(true) \g /dev/null
select cmp_ok((t.now()).accepts_before, '<', clock_timestamp(), 'a node that lies does not open the door for years');
select is(api.client_admit(99, clock_timestamp() + interval '2 minutes'), false, 'clients get to know, too');
select is(api.client_admit(1, (select began_at from rota.incarnation where incarnation = 1)), true, 'of theirs');
select is((select count(*) from rota.incarnation_refused), 0::bigint, 'what they say is not recorded');
select * from finish();
rollback;
