-- The power of nodes: each transition and each pair that is none, who asks for it, reports of programs, and changes that exclude
-- each other.
begin;
\ir world.psql
select * from no_plan();
select api.leader_claim('hook', 60) as hook \gset
create function t.node(p_node int) returns text language sql as $$
	select concat_ws(' ', internal.node_shown(state, power), case when power <> 'on' and internal.node_shown(state, power) <> power then power end, reason) from rota.node where node_id = p_node $$;
create function t.event(p_node int) returns text language sql as $$
	select concat_ws(' ', from_state, to_state, actor, reason) from rota.node_event where node_id = p_node order by node_event_id desc limit 1 $$;
create function t.power(p_user text, p_action text, p_nodes text default null) returns jsonb language sql as $$
	select api.power(case p_user when 'root' then 0 else t.uid(p_user) end, p_user, jsonb_build_object('action', p_action, 'nodes', p_nodes)) $$;
create function t.refused(p_user text, p_action text, p_nodes text default null) returns text language plpgsql as $$
begin
	return t.power(p_user, p_action, p_nodes);
exception when sqlstate 'RT403' or sqlstate 'RT404' or sqlstate 'RT409' or sqlstate 'RT422' then
	return sqlstate || ' ' || sqlerrm;
end $$;
create function t.hook() returns bigint language sql as $$ select term from rota.leader where name = 'hook' $$;
create function t.take(p_have bigint[] default '{}', p_room int default 100) returns text language sql as $$
	select string_agg(label, ', ' order by run_id) from api.power_take(t.hook(), p_have, p_room) $$;
create function t.open() returns bigint[] language sql as $$ select array(select run_id from rota.power_run where ended_at is null order by run_id) $$;
-- t.report: every open run of a program ends with this failure, or without one.
create function t.report(p_failure text default null) returns void language sql as $$
	select api.power_report(t.hook(), t.open(), array(select case when p_failure is null then 0 else 3 end from unnest(t.open())), array(select p_failure from unnest(t.open())),
		array(select 'said' from unnest(t.open()))) $$;
create function t.look() returns text language sql as $$
	select string_agg(concat_ws(' ', node, from_state, to_state, reason), ', ' order by node) from api.power_judge() $$;
create function t.set(p_name text, p_value text) returns void language sql as $$ update rota.setting set value = p_value where name = p_name $$;
-- t.older: make all recorded times of power states so many seconds older.
create function t.older(p_seconds int) returns void language sql as $$
	update rota.node_idle set since = since - make_interval(secs => p_seconds);
	update rota.node set power_at = power_at - make_interval(secs => p_seconds);
	update rota.power_run set made_at = made_at - make_interval(secs => p_seconds), ended_at = ended_at - make_interval(secs => p_seconds) $$;
create function t.gone(p_node int) returns text language sql as $$ select t.silent(p_node); select string_agg(node || ' ' || to_state, ', ') from t.judge() $$;
create function t.asks(variadic p_nodes int[]) returns int language sql as $$ select api.schedule_power(t.term(), p_nodes) $$;
select t.back(i) from generate_series(1, 4) i \g /dev/null

-- With setting power_off_idle_s = 0 no node is powered off, and idle times are not recorded.
select is((select value from rota.setting where name = 'power_off_idle_s'), '0', 'the default is never');
select is(t.look(), null, 'nothing is judged');
select is((select count(*) from rota.node_idle), 0::bigint, 'and nothing noted');

-- on -> powering_off -> off -> powering_on -> on.
select t.set('power_off_idle_s', '6000') \g /dev/null
select is(t.look(), null, 'idle since now');
select t.older(5000) \g /dev/null
select is(t.look(), null, 'not for long enough');
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.pass(:'j' || '.a', '{2}') \g /dev/null
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as j \gset
select t.start(:'j' || '.a', '{3}') \g /dev/null
update rota.node set power_saving = false where node_id = 4;
select t.older(2000) \g /dev/null
select is(t.look(), 'n1 up powering_off', 'only the node that nobody used, and that may be powered off');
select is(t.event(1), 'up powering_off nodemgrd', 'it is logged');
select is(t.look(), null, 'once');
select throws_ok(format('select t.start(%L, %L)', :'j' || '.b', '{1}'), '40001', 'a node of the start is no longer ready to run steps', 'nothing starts there');
select throws_ok('update rota.node_used set cpus_used = 1 where node_id = 1', '23514', null, 'whatever forgets the lock holds nothing there');
select is(t.take(), 'power_off of node n1', 'runnerd takes its program');
select is(t.take(t.open()), null, 'and has it');
select is(t.take(), 'power_off of node n1', 'the next runnerd takes it again');
select is((select tries from rota.power_run where ended_at is null), 2, 'that is the second try');
select t.report() \g /dev/null
select is((select concat_ws(' ', status, code, output, made_by) from acct.power_run), 'done 0 said nodemgrd', 'acct.power_run has it');
select is(t.node(1), 'powering_off', 'it still renews its lease');
select is(t.look(), null, 'and may be on');
select is(t.gone(1), null, 'its lease runs out without an alarm');
select is(t.look(), 'n1 powering_off off', 'now it is off');
select is((select count(*) from acct.node_event where node = 'n1' and to_state = 'down'), 0::bigint, 'it was never down');
select is((select string_agg(power || ' ' || state, ',') from api.schedule_nodes() where node_id in (1, 2)), 'off up,on up', 'the scheduler has it');
select is(t.asks(1, 2), 1, 'a step needs it');
select is(t.asks(1, 2), 0, 'once');
select is(t.event(1), 'off powering_on schedule', 'it is powered on');
select is(t.take(), 'power_on of node n1', 'by a program');
select t.report() \g /dev/null
select is(t.node(1), 'powering_on', 'until it registers');
select is(t.back(1, '{"boot_id": "another"}'), 0, 'it does, with another boot');
select is(t.node(1), 'up', 'and is up');
select is(t.event(1), 'powering_on up node:n1', 'which is no reboot');
select is(t.look(), null, 'it is idle anew');
select is(t.finish(:'j' || '.a'), 3, 'what ran elsewhere ends');
select is(t.pass(:'j' || '.b', '{1}'), 'completed', 'and steps start there again');
select t.right('a round');

-- Transitions that do not exist.
create function t.moves(p_from text) returns text language plpgsql as $$
declare
	v_to text;
	v_list text[] := '{}';
begin
	foreach v_to in array '{on,powering_off,off,powering_on}'::text[] loop
		begin
			alter table rota.node disable trigger node_power_moves;
			update rota.node set power = p_from where node_id = 1;
			alter table rota.node enable trigger node_power_moves;
			update rota.node set power = v_to where node_id = 1;
			v_list := v_list || v_to;
			raise exception 'back' using errcode = 'RT000';
		exception when sqlstate 'RT000' or check_violation then
		end;
	end loop;
	return array_to_string(v_list, ' ');
end $$;
select is(t.moves('on'), 'on powering_off powering_on', 'from on');
select is(t.moves('powering_off'), 'on powering_off off', 'from powering_off');
select is(t.moves('off'), 'on off powering_on', 'from off');
select is(t.moves('powering_on'), 'on off powering_on', 'from powering_on');
select throws_ok('update rota.node set power = ''dim'' where node_id = 1', '23514', null, 'no other word');
select is(t.node(1), 'up', 'nothing has changed');

-- A node stays on with an allocation, a reservation for a follower, an idle time that is not over, or in a partition that keeps
-- some on.
update rota.node set power_saving = true;
select t.set('power_off_idle_s', '200') \g /dev/null
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as j \gset
select t.start(:'j' || '.a', '{1}') \g /dev/null
select is(t.refused('root', 'off', 'n1'), 'RT409 node "n1" is in use', 'not by hand either');
select t.look(), t.older(201) \g /dev/null
update rota.partition set keep_idle = 2;
select is(t.look(), 'n2 up powering_off', 'two of three idle nodes stay');
select is(t.look(), null, 'they do');
update rota.partition set keep_idle = 0;
insert into rota.plan (job_id, step_id, nodes, reason, message) select :j, s.step_id, '{3}', 'power', 'waits' from t.step(:'j' || '.b') s;
select is(t.look(), 'n4 up powering_off', 'a node on which a step starts when another one is on stays too');
delete from rota.plan;
select t.report(), t.silent(2), t.silent(4), t.judge() \g /dev/null
select is(t.look(), 'n2 powering_off off, n3 up powering_off, n4 powering_off off', 'and else is powered off');
select is(t.look(), null, 'while the one in use is on');

-- A node is needed again before its power-off program has begun; and while the program runs.
select is(t.asks(3), 1, 'no program has begun');
select is(t.node(3), 'up', 'so it just stays on');
select is((select status || ' ' || message from rota.power_run order by run_id desc limit 1), 'dropped the node was needed again', 'and the run is dropped');
select is(t.take(), null, 'runnerd has nothing to do');
select t.look(), t.older(201), t.look(), t.take() \g /dev/null
select is(t.node(3), 'powering_off', 'it is idle again');
select is(t.asks(3), 0, 'its program runs');
select is(t.refused('root', 'on', 'n3'), 'RT409 node "n3" is being powered off', 'by hand as well');
select t.report(), t.gone(3), t.look() \g /dev/null
select is(t.asks(3), 1, 'when it is off, it is powered on');

-- A node that has fallen silent before its power-off is powered off first, then on.
select t.take(), t.report(), t.back(3), t.power('root', 'off', 'n3'), t.gone(3) \g /dev/null
select is(t.asks(3), 0, 'it is silent');
select is(t.node(3), 'powering_off', 'so it is powered off first');
select t.take(), t.report() \g /dev/null
select is(t.asks(3), 1, 'and then on');

-- Programs that fail.
select t.take(), t.report('exit code 3') \g /dev/null
select is(t.node(3), 'down off could not be powered on: exit code 3', 'a node that could not be powered on is down');
select is(t.event(3), 'powering_on down runnerd could not be powered on: exit code 3', 'it is logged');
select is(t.asks(3), 0, 'and not asked for');
select is(api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n3"}') ->> 'changed', 'true', 'an operator resumes it');
select is(t.node(3), 'off', 'so it is off');
select is(t.asks(3), 1, 'and tried again');
select t.take() \g /dev/null
select is(t.back(3), 0, 'it registers while its program runs');
select is(t.node(3), 'up', 'that is enough');
select t.report('exit code 3') \g /dev/null
select is(t.node(3), 'up', 'a late failure changes nothing');
select t.look(), t.older(201), t.look(), t.take(), t.report('exit code 4') \g /dev/null
select is(t.node(3), 'up', 'a node that could not be powered off is on');
select is(t.event(3), 'powering_off up runnerd could not be powered off: exit code 4', 'it is logged');
select t.look(), t.older(201), t.look(), t.take(), t.gone(3), t.report('killed') \g /dev/null
select is(t.node(3), 'down could not be powered off: killed', 'and down if it is silent');
select is(t.refused('root', 'on', 'n3') like '%"powering_on"%', true, 'an operator powers it on');
select t.take(), t.report(), t.back(3) \g /dev/null
select is(t.node(3), 'up', 'and it is back');

-- Time-outs of nodes that do not go off or come up.
select t.set('power_off_idle_s', '0') \g /dev/null
select t.set('power_on_timeout_s', '1000') \g /dev/null
select is(t.asks(2), 1, 'a node comes');
select t.older(1001) \g /dev/null
select is(t.look(), 'n2 powering_on down did not register within 1000 s of being powered on: no runnerd ran hooks.power_on', 'no runnerd');
select is(t.take(), null, 'the run is dropped');
select is(t.asks(4), 1, 'another one');
select t.take(), t.older(500) \g /dev/null
select is(t.look(), null, 'it may come');
select t.older(600) \g /dev/null
select is(t.look(), 'n4 powering_on down did not register within 1000 s of being powered on', 'it does not');
select is(t.refused('root', 'on', 'n4'), 'RT409 the program that was to power node "n4" still runs', 'its program has not ended');
select t.report() \g /dev/null
select is(t.node(4), 'down off did not register within 1000 s of being powered on', 'a late success changes nothing');
select is(t.back(4), 0, 'a late node');
select is(t.node(4), 'up', 'is up');
select t.power('root', 'off', 'n4'), t.take(), t.report() \g /dev/null
select t.older(150) \g /dev/null
select is(t.look(), null, 'it may go silent');
select t.older(200) \g /dev/null
select is(t.look(), 'n4 powering_off up still renews its lease 300 s after hooks.power_off succeeded', 'it does not');
select is((select count(*) from api.node_renew('{4}')), 1::bigint, 'and keeps its lease');

-- A node that is drained while it is off stays drained and off.
select t.power('root', 'off', 'n4'), t.take(), t.report(), t.gone(4), t.look() \g /dev/null
select api.admin_change(0, 'root', '{"object": "node", "action": "drain", "name": "n4", "values": {"reason": "fan"}}') \g /dev/null
select is(t.node(4), 'drain off fan', 'drained while it is off');
select is(t.asks(4), 0, 'no step powers it on');
select is(t.event(4), 'off drain root fan', 'the log has what it was');
select api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n4"}') \g /dev/null
select is(t.node(4), 'off', 'resumed, it is off');
select is(t.back(4), 0, 'somebody switches it on');
select is(t.node(4), 'up', 'so it is up');
select is(t.event(4), 'off up node:n4', 'and it is logged');

-- Administrators power nodes by hand.
select is(t.refused('alice', 'on', 'n4'), 'RT403 you may not do this to the cluster', 'users do not');
select is(t.refused('alice', 'on', 'n['), 'RT403 you may not do this to the cluster', 'nor learn what a list of nodes is');
select is(t.refused('alice', 'list'), 'RT403 you may not do this to the cluster', 'nor see what programs printed');
select is(t.refused('root', 'dim', 'n4'), 'RT422 there is no action "dim"', 'no other action');
select is(t.refused('root', 'off'), 'RT422 name the nodes', 'of no nodes');
select is(t.refused('root', 'off', 'n4,n9') like 'RT404%', true, 'nor of one that there is not');
select is(t.node(4), 'up', 'and then of none');
select is(t.power('root', 'on', 'n4') #>> '{nodes,0,changed}', 'false', 'it is on');
select is(t.refused('root', 'off', 'n[3-4],n1'), 'RT409 node "n1" is in use', 'all or none');
select is(t.node(4), 'up', 'none');
select is(t.power('root', 'off', 'n[3-4]') -> 'nodes' @> '[{"node": "n3", "power": "powering_off"}, {"node": "n4", "power": "powering_off"}]', true, 'several');
select is(t.power('root', 'off', 'n4') #>> '{nodes,0,changed}', 'false', 'once');
select is(t.power('root', 'on', 'n4') #>> '{nodes,0,state}', 'up', 'back before it has begun');
select is(t.power('root', 'list', 'n4') #>> '{runs,0,status}', 'dropped', 'the runs, the newest first');
select is(jsonb_array_length(t.power('root', 'list') -> 'runs') > 10, true, 'of all nodes');
select is(api.node_list(0, 'root', '{"states": ["powering_off"]}') #>> '{nodes,0,name}', 'n3', 'the list of nodes has it');
select is((select string_agg(node || ' ' || state || ' ' || power, ', ' order by node) from acct.node where node in ('n3', 'n4')), 'n3 powering_off powering_off, n4 up on', 'so has acct.node');
select is((select max(n) from (select count(*) as n from rota.power_run where ended_at is null group by node_id) x), 1::bigint, 'a node has one open run');
select throws_ok('insert into rota.power_run (node_id, node, action, made_by) values (3, ''n3'', ''on'', ''root'')', '23505', null, 'at most');

-- Only the runnerd that leads reports runs, and only the jobmgrd that leads asks for nodes.
select throws_ok('select * from api.power_take(t.hook() - 1, ''{}'', 1)', 'RT412', null, 'an old term takes nothing');
select throws_ok('select api.power_report(t.hook() - 1, ''{1}'', ''{0}'', ''{null}'', ''{null}'')', 'RT412', null, 'and reports nothing');
select throws_ok('select api.schedule_power(t.term() - 1, ''{3}'')', 'RT412', null, 'nor asks for nodes');
select t.right('all this');

-- Rows of runs are kept for some days.
update rota.power_run set ended_at = ended_at - interval '31 days' where status = 'dropped';
select internal.power_tidy() \g /dev/null
select is((select count(*) from rota.power_run where status = 'dropped'), 0::bigint, 'old ones go');
select is((select count(*) > 0 from rota.power_run), true, 'others stay');

-- The plan needs nodes from a time on: they are powered on early enough to be up then, and are not powered off shortly before.
create function t.planned(p_node int, p_in_s int) returns void language sql as $$
	delete from rota.plan;
	insert into rota.plan (job_id, step_id, expected_at, nodes, reason, message) values (1, 0, clock_timestamp() + make_interval(secs => p_in_s), array[p_node], 'resources', 'waits') $$;
create function t.off(p_node int) returns void language sql as $$
	update rota.node set power = 'powering_off', power_at = clock_timestamp() where node_id = p_node;
	update rota.node set power = 'off' where node_id = p_node $$;
create function t.all_on() returns void language sql as $$
	delete from rota.node_idle;
	update rota.power_run set ended_at = clock_timestamp(), status = 'done' where ended_at is null;
	update rota.node set power = 'on', state = 'up', reason = null, power_saving = true $$;
select t.set('power_off_idle_s', '0'), t.set('power_on_timeout_s', '600'), t.all_on() \g /dev/null
delete from rota.node_event;
select is(internal.power_boot_s(2), 600, 'nobody knows how long the node takes: as long as it may');
select t.off(2) \g /dev/null
select t.planned(2, 700) \g /dev/null
select is(t.look(), null, 'a start in 700 seconds leaves it off');
select t.planned(1, 10) \g /dev/null
select is(t.look(), null, 'so does one on another node');
select t.planned(2, 500) \g /dev/null
select is(t.look(), 'n2 off powering_on', 'one in 500 seconds does not');
select is((select made_by from rota.power_run where ended_at is null), 'schedule', 'as a step needs it');
select t.report(), t.back(2) \g /dev/null
update rota.node_event set at = at - interval '1 hour' - case to_state when 'powering_on' then interval '90 seconds' else '0' end where node_id = 2;
select ok(internal.power_boot_s(2) between 90 and 95, 'now the time is measured');
select t.off(2) \g /dev/null
select is(t.look(), null, 'so 500 seconds are enough');
select t.planned(2, 60) \g /dev/null
select is(t.look(), 'n2 off powering_on', 'and 60 are not');
select t.all_on(), t.set('power_off_idle_s', '300'), t.planned(2, 380) \g /dev/null
update rota.node set power_saving = node_id = 2;
select is(t.look(), null, 'idle since now');
select t.older(301) \g /dev/null
select is(t.look(), null, 'a node is not powered off that the plan needs before it could have been off for a while');
select t.planned(2, 1000) \g /dev/null
select is(t.look(), 'n2 up powering_off', 'one that it needs later is');
select t.planned(2, 60) \g /dev/null
select is(t.look(), 'n2 powering_off up', 'and stays on when the start is sooner after all');
delete from rota.plan;

-- A step with a begin time is not in the plan before it: as many idle nodes as it asks for are on by then, first those that are
-- already on.
create function t.begins(p_in_s int, p_more jsonb default '{}') returns bigint language sql as $$
	select t.submit('alice', jsonb_build_array('{"name": "a", "time_limit_s": 60}' || jsonb_build_object('begin_at', extract(epoch from clock_timestamp()) + p_in_s) || p_more)) $$;
create function t.never(p_job bigint) returns void language sql as $$ update rota.step set held = 'user' where job_id = p_job $$;
select t.all_on(), t.set('power_off_idle_s', '0'), t.off(2), t.off(3), t.off(4) \g /dev/null
select t.begins(700, '{"nodelist": ["n2"]}') as j \gset
select is(t.look(), null, 'a step that begins in 700 seconds leaves its node off');
select t.never(:j), t.begins(60, '{"nodelist": ["n2"]}') as j \gset
select is(t.look(), 'n2 off powering_on', 'one that begins in 60 seconds does not');
select is(t.look(), null, 'once');
select t.never(:j), t.report(), t.back(2) \g /dev/null
select t.begins(60) as j \gset
select is(t.look(), null, 'for a step of one node, one that is on is enough');
select t.begins(50) as k \gset
select is(t.look(), 'n3 off powering_on', 'not for two steps');
select t.never(:k), t.report(), t.back(3) \g /dev/null
select t.begins(60, '{"constraint": "gpu"}') as k \gset
select is(t.look(), null, 'who has a feature, the scheduler finds out');
select t.never(:k), t.set('power_off_idle_s', '5'), t.look() \g /dev/null
select t.older(301) \g /dev/null
select is(t.look(), 'n3 up powering_off', 'of two idle nodes, one stays on for the step that begins soon');
select t.never(:j) \g /dev/null

select * from finish();
rollback;
