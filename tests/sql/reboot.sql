-- Reboots of nodes: each transition and each pair that is none, who asks for it, the effect on an earlier drain, reports of
-- programs.
begin;
\ir world.psql
select * from no_plan();
select api.leader_claim('hook', 60) as hook \gset
create function t.node(p_node int) returns text language sql as $$ select concat_ws(' ', state, reason) from rota.node where node_id = p_node $$;
create function t.reboot(p_user text, p_action text, p_nodes text default null, p_more jsonb default '{}') returns jsonb language sql as $$
	select api.reboot(case p_user when 'root' then 0 else t.uid(p_user) end, p_user, jsonb_build_object('action', p_action, 'nodes', p_nodes)
		|| case p_action when 'reboot' then '{"reason": "kernel"}'::jsonb else '{}' end || p_more) $$;
create function t.refused(p_user text, p_action text, p_nodes text default null, p_more jsonb default '{}') returns text language plpgsql as $$
begin
	return t.reboot(p_user, p_action, p_nodes, p_more);
exception when sqlstate 'RT403' or sqlstate 'RT404' or sqlstate 'RT409' or sqlstate 'RT422' then
	return sqlstate || ' ' || sqlerrm;
end $$;
create function t.changed(p_user text, p_action text, p_nodes text, p_more jsonb default '{}') returns text language sql as $$
	select string_agg(concat_ws(' ', x ->> 'node', x ->> 'state', coalesce(x ->> 'reboot', 'none'), x ->> 'changed'), ', ') from jsonb_array_elements(t.reboot(p_user, p_action, p_nodes, p_more) -> 'nodes') x $$;
create function t.is(p_node int) returns text language sql as $$
	select concat_ws(' ', state, message) from rota.node_reboot where node_id = p_node order by reboot_id desc limit 1 $$;
create function t.hook() returns bigint language sql as $$ select term from rota.leader where name = 'hook' $$;
create function t.take() returns text language sql as $$ select string_agg(label, ', ' order by run_id) from api.power_take(t.hook(), '{}', 100) $$;
create function t.open() returns bigint[] language sql as $$ select array(select run_id from rota.power_run where ended_at is null order by run_id) $$;
create function t.report(p_failure text default null) returns void language sql as $$
	select api.power_report(t.hook(), t.open(), array(select case when p_failure is null then 0 else 3 end from unnest(t.open())), array(select p_failure from unnest(t.open())),
		array(select 'said' from unnest(t.open()))) $$;
create function t.look() returns text language sql as $$
	select string_agg(concat_ws(' ', node, from_state, to_state, reason), ', ' order by node) from api.reboot_judge() $$;
create function t.older(p_seconds int) returns void language sql as $$
	update rota.node_reboot set made_at = made_at - make_interval(secs => p_seconds), began_at = began_at - make_interval(secs => p_seconds),
		stage_at = stage_at - make_interval(secs => p_seconds)
	where ended_at is null $$;
create function t.boot(p_node int, p_boot text) returns int language sql as $$ select t.back(p_node, jsonb_build_object('boot_id', p_boot)) $$;
create function t.admin(p_action text, p_node text, p_values jsonb default '{}') returns text language plpgsql as $$
begin
	return api.admin_change(0, 'root', jsonb_build_object('object', 'node', 'action', p_action, 'name', p_node, 'values', p_values)) ->> 'changed';
exception when sqlstate 'RT409' then
	return sqlerrm;
end $$;
select t.boot(i, 'first') from generate_series(1, 4) i \g /dev/null

-- Users that may reboot nodes, and requests that are refused.
select is(t.look(), null, 'nothing to judge');
select is(t.refused('alice', 'reboot', 'n1'), 'RT403 you may not do this to the cluster', 'users do not reboot');
select is(t.refused('alice', 'reboot', 'n['), 'RT403 you may not do this to the cluster', 'nor learn what a list of nodes is');
select is(t.refused('alice', 'list'), 'RT403 you may not do this to the cluster', 'nor see reboots');
select is(t.refused('root', 'burn', 'n1'), 'RT422 there is no action "burn"', 'no other action');
select is(t.refused('root', 'reboot'), 'RT422 name the nodes', 'of no nodes');
select is(t.refused('root', 'reboot', 'n1', '{"reason": null}'), 'RT422 say why the nodes are rebooted', 'without a reason');
select is(t.refused('root', 'reboot', 'n1', '{"reason": "a\nb"}'), 'RT422 say why the nodes are rebooted', 'or one of two lines');
select is(t.refused('root', 'reboot', 'n1', '{"next": "gone"}'), 'RT422 there is no state "gone" after a reboot', 'another state');
select is(t.refused('root', 'reboot', 'n1', '{"asap": "yes"}'), 'RT422 "asap" must be true or false', 'another word');
select is(t.refused('root', 'cancel', 'n1', '{"asap": true}'), 'RT422 "cancel" takes only the nodes', 'what belongs to a reboot');
select is(t.refused('root', 'reboot', 'n1,n9') like 'RT404%', true, 'a node that there is not');
select is((select count(*) from rota.node_reboot), 0::bigint, 'and nothing is done');

-- A reboot when the node is idle: running steps go on, and other steps start until then.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as j \gset
select t.start(:'j' || '.a', '{1}') \g /dev/null
select is(t.changed('root', 'reboot', 'n1'), 'n1 up waiting true', 'a node in use waits');
select is(t.changed('root', 'reboot', 'n1'), 'n1 up waiting false', 'once');
select is(t.refused('root', 'reboot', 'n1', '{"reason": "other"}'), 'RT409 node "n1" is to be rebooted already: kernel', 'for one reason');
select is(t.look(), null, 'it is in use');
select is(t.start(:'j' || '.b', '{1}'), 1, 'and more starts there');
select is(t.finish(:'j' || '.a') + t.finish(:'j' || '.b'), 6, 'until it is idle');
select is(t.look(), 'n1 up drain reboot: kernel', 'then it is drained');
select is(t.is(1), 'running', 'and its program is due');
select t.submit('alice', '[{"name": "a"}]') as j \gset
select throws_ok(format('select t.start(%L, %L)', :'j' || '.a', '{1}'), '40001', 'a node of the start is no longer ready to run steps', 'nothing starts there');
select is(t.look(), null, 'once');
select is(t.refused('root', 'cancel', 'n1'), 'RT409 node "n1" is being rebooted', 'it cannot be taken back');
select is(t.refused('root', 'reboot', 'n1'), 'RT409 node "n1" is being rebooted', 'nor asked for again');
select is(t.admin('resume', 'n1'), 'node "n1" is being rebooted', 'nor the node resumed');
select throws_ok($$select api.power(0, 'root', '{"action": "off", "nodes": "n1"}')$$, 'RT409', 'node "n1" is to be rebooted', 'nor powered off');
select is(t.take(), 'reboot of node n1', 'runnerd takes it');
select is((select string_agg(action || ' ' || node, ',') from api.power_take(t.hook(), '{}', 100)), 'reboot n1', 'the next runnerd takes it again');
select t.boot(1, 'first'), t.look() \g /dev/null
select is(t.is(1), 'running', 'its process manager starts anew: the same boot');
select t.report() \g /dev/null
select is(t.is(1), 'booting', 'the program has succeeded');
select is(t.look(), null, 'the node is not back');
select t.silent(1), t.judge() \g /dev/null
select is(t.node(1), 'drain reboot: kernel', 'it is silent meanwhile, without an alarm');
select t.boot(1, 'second') \g /dev/null
select is(t.node(1), 'drain reboot: kernel', 'it registers');
select is(t.look(), 'n1 drain up', 'and serves');
select is((select concat_ws(' ', state, made_by, reason, message) from acct.node_reboot), 'done root kernel', 'acct.node_reboot has it');
select is((select string_agg(concat_ws(' ', from_state, to_state, actor, reason), ', ' order by node_event_id) from rota.node_event where node_id = 1 and to_state <> 'unknown' and actor <> 'node:n1'),
	'up drain nodemgrd reboot: kernel, drain up nodemgrd rebooted', 'so has the log of the node');
select is(t.pass(:'j' || '.a', '{1}'), 'completed', 'steps start there again');

-- A reboot as soon as possible: no step starts on the node before.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as j \gset
select t.start(:'j' || '.a', '{2}') \g /dev/null
select is(t.changed('root', 'reboot', 'n[2-3]', '{"asap": true}'), 'n2 drain waiting true, n3 drain waiting true', 'drained at once');
select throws_ok(format('select t.start(%L, %L)', :'j' || '.b', '{2}'), '40001', 'a node of the start is no longer ready to run steps', 'nothing starts there');
select is(t.look(), null, 'no state changes');
select is(t.is(2) || ', ' || t.is(3), 'waiting, running', 'the idle one is rebooted');
select is(t.changed('root', 'cancel', 'n2'), 'n2 up none true', 'the other one is not, after all');
select is(t.changed('root', 'cancel', 'n2'), 'n2 up none false', 'once');
select is(t.is(2), 'cancelled cancelled by root', 'it is noted');
select is(t.changed('root', 'reboot', 'n2', '{"asap": true}'), 'n2 drain waiting true', 'or it is');
select is(t.admin('resume', 'n2'), 'true', 'a resume');
select is(t.is(2) || ', ' || t.node(2), 'cancelled the node was resumed by root, up', 'cancels it too');
select is(t.finish(:'j' || '.a'), 3, 'what ran goes on');

-- Programs that fail, nodes that do not return, and nodes that return with less hardware.
select t.take(), t.report('exit code 3') \g /dev/null
select is(t.is(3) || ', ' || t.node(3), 'failed exit code 3, drain could not be rebooted: exit code 3', 'the node is drained with the reason');
select is(t.admin('resume', 'n3'), 'true', 'an operator resumes it');
select t.reboot('root', 'reboot', 'n[2-4]'), t.look(), t.older(1801) \g /dev/null
select t.look() \g /dev/null
select is(t.node(2), 'drain could not be rebooted: no runnerd ran hooks.reboot within 1800 s', 'no runnerd runs it in time');
select is(t.take(), null, 'and later none does');
select t.admin('resume', 'n[2-4]'), t.reboot('root', 'reboot', 'n[2-4]'), t.look(), t.take(), t.older(1801), t.look() \g /dev/null
select is(t.is(2), 'running', 'a program that runs may still boot the node');
select t.report(), t.look() \g /dev/null
select is(t.is(2) || ', ' || t.node(2), 'failed did not register with another boot within 1800 s, drain could not be rebooted: did not register with another boot within 1800 s', 'it does not come');
select t.boot(2, 'late'), t.look() \g /dev/null
select is(t.node(2), 'drain could not be rebooted: did not register with another boot within 1800 s', 'late, it stays drained');
select t.admin('resume', 'n[2-4]'), t.reboot('root', 'reboot', 'n2'), t.look(), t.take(), t.report() \g /dev/null
select t.back(2, '{"boot_id": "third", "found": {"cpus": 2, "mem_mb": 4000, "gres": {"gpu": 2}}}'), t.look() \g /dev/null
select is(t.is(2), 'failed 2 CPUs found, 4 prescribed', 'with less than prescribed');
select is(t.node(2), 'drain could not be rebooted: 2 CPUs found, 4 prescribed', 'it does not serve');
select t.back(2, '{"boot_id": "third"}'), t.admin('resume', 'n2') \g /dev/null

-- The effect of a reboot on an earlier drain, and on a drain during the reboot.
select t.admin('drain', 'n[2-4]', '{"reason": "fan"}') \g /dev/null
select is(t.changed('root', 'reboot', 'n2', '{"next": "resume"}'), 'n2 drain waiting true', 'a drained node that is to serve');
select is(t.changed('root', 'reboot', 'n3', '{"next": "down"}'), 'n3 drain waiting true', 'one that is not');
select is(t.changed('root', 'reboot', 'n4'), 'n4 drain waiting true', 'and one of which nothing is said');
select t.look(), t.take(), t.report() \g /dev/null
select t.boot(i, 'fourth') from generate_series(2, 4) i \g /dev/null
select is(t.look(), 'n2 drain up', 'one serves');
select is(t.node(3) || ', ' || t.node(4), 'drain fan, drain fan', 'the others are as before');
select is(t.is(2) || t.is(3) || t.is(4), 'donedonedone', 'all were rebooted');
select t.admin('resume', 'n[3-4]'), t.reboot('root', 'reboot', 'n2', '{"next": "down"}'), t.reboot('root', 'reboot', 'n[3-4]', '{"next": "resume"}'), t.look() \g /dev/null
select t.admin('drain', 'n4', '{"reason": "smoke"}'), t.take(), t.report() \g /dev/null
select t.boot(i, 'fifth') from generate_series(2, 4) i \g /dev/null
select t.look() \g /dev/null
select is(t.node(2), 'drain rebooted, to be checked: kernel', 'next=down: an operator looks at it');
select is(t.node(3), 'up', 'next=resume');
select is(t.node(4), 'drain smoke', 'one that was drained meanwhile stays drained');
select t.admin('resume', 'n[2-4]') \g /dev/null

-- A node that is off, and a node that is deleted.
select api.power(0, 'root', '{"action": "off", "nodes": "n4"}') \g /dev/null
select is(t.refused('root', 'reboot', 'n4'), 'RT409 node "n4" is powering_off', 'only a node that is on');
select api.power(0, 'root', '{"action": "on", "nodes": "n4"}') \g /dev/null
insert into rota.node (name, cpus, mem_mb, login) values ('n9', 1, 1, 'n9');
select t.reboot('root', 'reboot', 'n9', '{"asap": true}'), t.admin('delete', 'n9'), t.look() \g /dev/null
select is((select state || ' ' || message from rota.node_reboot where node = 'n9'), 'failed the node was deleted', 'a node that goes');

-- Transitions that do not exist.
create function t.moves(p_from text) returns text language plpgsql as $$
declare
	v_to text;
	v_list text[] := '{}';
begin
	foreach v_to in array '{waiting,running,booting,done,failed,cancelled}'::text[] loop
		begin
			alter table rota.node_reboot disable trigger node_reboot_moves;
			update rota.node_reboot set state = p_from, run_id = 1, began_at = now(), ended_at = case when p_from in ('done', 'failed', 'cancelled') then now() end where node = 'n9';
			alter table rota.node_reboot enable trigger node_reboot_moves;
			update rota.node_reboot set state = v_to, ended_at = case when v_to in ('done', 'failed', 'cancelled') then now() end where node = 'n9';
			v_list := v_list || v_to;
			raise exception 'back' using errcode = 'RT000';
		exception when sqlstate 'RT000' or check_violation then
		end;
	end loop;
	return array_to_string(v_list, ' ');
end $$;
select is(t.moves('waiting'), 'waiting running failed cancelled', 'from waiting');
select is(t.moves('running'), 'running booting failed', 'from running');
select is(t.moves('booting'), 'booting done failed', 'from booting');
select is(t.moves('done') || ', ' || t.moves('failed') || ', ' || t.moves('cancelled'), 'done, failed, cancelled', 'no others');
select throws_ok('insert into rota.node_reboot (node_id, node, reason, made_by, asap, state) values (1, ''n1'', ''x'', ''root'', true, ''running'')', '23514', null, 'none runs without a program');
select throws_ok('update rota.node_reboot set ended_at = null where node = ''n9''', '23514', null, 'none is over and not over');
insert into rota.node_reboot (node_id, node, reason, made_by, asap) values (1, 'n1', 'x', 'root', true);
select throws_ok('insert into rota.node_reboot (node_id, node, reason, made_by, asap) values (1, ''n1'', ''x'', ''root'', true)', '23505', null, 'a node has one');
select is(t.reboot('root', 'cancel', 'n1') #>> '{nodes,0,changed}', 'true', 'which is cancelled');
select is((select string_agg(x ->> 'state', ' ') from jsonb_array_elements(t.reboot('root', 'list', 'n1') -> 'reboots') x), 'cancelled done', 'the last ones, the newest first');
select t.right('all this');

-- Rows of reboots are kept for a year.
update rota.node_reboot set ended_at = ended_at - interval '366 days' where state = 'cancelled';
select internal.reboot_tidy() \g /dev/null
select is((select count(*) from rota.node_reboot where state = 'cancelled'), 0::bigint, 'old ones go');
select is((select count(*) > 0 from rota.node_reboot), true, 'others stay');
select * from finish();
rollback;
