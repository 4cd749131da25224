-- Evacuations: who asks for them, the effect on each step, where moved steps start, the effect of a second call and of nodemgrd's
-- judgement.
begin;
\ir world.psql
select * from no_plan();
create function t.evacuate(p_user text, p_request jsonb) returns jsonb language sql as $$
	select api.evacuate(case p_user when 'root' then 0 else t.uid(p_user) end, p_user, '{"action": "evacuate"}'::jsonb || p_request) $$;
create function t.refused(p_user text, p_request jsonb) returns text language plpgsql as $$
begin
	return t.evacuate(p_user, p_request);
exception when sqlstate 'RT403' or sqlstate 'RT404' or sqlstate 'RT409' or sqlstate 'RT422' then
	return sqlstate || ' ' || sqlerrm;
end $$;
create function t.planned(p_request jsonb) returns text language sql as $$
	select string_agg((x ->> 'label') || ' ' || (x ->> 'action'), ', ' order by nr) from jsonb_array_elements(t.evacuate('root', p_request || '{"dry_run": true}') -> 'plan') with ordinality y (x, nr) $$;
create function t.moves(p_evacuation bigint default null) returns text language sql as $$
	select string_agg(concat_ws(' ', internal.step_label(m.job_id, m.step_id), m.action, m.state, '->' || array_to_string(m.to_nodes, ',')), ', ' order by m.job_id, m.step_id)
	from rota.evacuation_move m where m.evacuation_id = coalesce(p_evacuation, (select max(evacuation_id) from rota.evacuation)) $$;
create function t.settle() returns text language sql as $$ select string_agg(concat_ws(' ', nodes, state, message), ', ') from api.evacuation_judge() $$;
create function t.node(p_node int) returns text language sql as $$ select concat_ws(' ', state, reason) from rota.node where node_id = p_node $$;
create function t.ended() returns jsonb language sql as $$ select '{"outcome": "cancel", "cause": "evacuated", "exit": -1, "signal": 15}'::jsonb $$;
create function t.kept(p_job bigint) returns text language sql as $$ select nodelist::text || ' ' || exclude::text || ' ' || steady from api.schedule_pending(array[p_job], '{0}') $$;
create function t.keep(p_label text, p_nodes text[]) returns void language sql as $$ select internal.move_want('alice', s, p_nodes) from t.step(p_label) s $$;

-- A refused evacuation changes nothing.
select is(t.refused('alice', '{"nodes": "n1"}'), 'RT403 you may not do this to the cluster', 'users do not evacuate');
select is(t.refused('root', '{}'), 'RT422 name the nodes', 'no nodes');
select is(t.refused('root', '{"nodes": "n1,n9"}') like 'RT404%', true, 'a node that there is not');
select is(t.refused('root', '{"nodes": "n1", "to": "n8"}') like 'RT404%', true, 'nor to move to');
select is(t.refused('root', '{"nodes": "n1", "parallel": "run"}'), 'RT422 "run" is no value for "parallel"', 'another word');
select is(t.refused('root', '{"nodes": "n1", "no_checkpoint": "run"}'), 'RT422 "run" is no value for "no_checkpoint"', 'another word');
select is(t.refused('root', '{"nodes": "n1", "by": "now-1hours"}') like 'RT422 "by" is over already%', true, 'a time that is over');
select is(t.refused('root', '{"nodes": "n1", "to": "n1,n2"}'), 'RT422 node "n1" is a destination, so it cannot be evacuated or excluded', 'in a circle');
select is(t.refused('root', '{"action": "burn", "nodes": "n1"}'), 'RT422 there is no action "burn"', 'another action');
select is(t.refused('root', '{"action": "cancel", "evacuation": 7}'), 'RT404 there is no evacuation 7', 'one that there is not');
select is((select count(*) from rota.evacuation) || ' ' || t.node(1), '0 up', 'nothing is done');
select is(t.settle(), null, 'nothing to judge');

-- The plan of an evacuation.
select t.submit('alice', '[{"name": "a"}]') as a \gset
select t.submit('bob', '[{"name": "a", "requeue": false}]') as b \gset
select t.submit('alice', '[{"name": "a", "nodes_min": 2, "ntasks": 2}]') as p \gset
select t.submit('alice', '[{"name": "a"}]') as s \gset
select t.start(:'a' || '.a', '{1}'), t.start(:'b' || '.a', '{1}'), t.start(:'p' || '.a', '{1,2}'), t.start(:'s' || '.a', '{1}') \g /dev/null
select t.run(v || '.a') from unnest(array[:a, :b, :p, :s]) v \g /dev/null
select t.report(t.say(:'s' || '.a', 'suspended')) \g /dev/null
select is(t.planned('{"nodes": "n1"}'), format('%s.a wait, %s.a wait, %s.a wait, %s.a wait', :a, :b, :p, :s), 'they run to their end');
select is(t.planned('{"nodes": "n1", "no_checkpoint": "requeue"}'), format('%s.a move, %s.a wait, %s.a move, %s.a move', :a, :b, :p, :s), 'or move, if they may run again, suspended ones as well');
select is(t.planned('{"nodes": "n1", "no_checkpoint": "requeue", "parallel": "leave"}'), format('%s.a move, %s.a wait, %s.a leave, %s.a move', :a, :b, :p, :s), 'those on several nodes are left');
select is(t.planned('{"nodes": "n1", "no_checkpoint": "cancel", "parallel": "wait"}'), format('%s.a cancel, %s.a cancel, %s.a wait, %s.a cancel', :a, :b, :p, :s), 'or waited for');
select is(t.planned('{"nodes": "n3"}'), null, 'nothing runs there');
select is((select count(*) from rota.evacuation) || ' ' || t.node(1), '0 up', 'a dry run does nothing');

-- Steps moved to certain nodes.
select is(t.evacuate('root', '{"nodes": "n1", "no_checkpoint": "requeue", "parallel": "leave", "to": "n[3-4]", "exclude": "n2"}') ->> 'evacuation' is not null, true, 'an evacuation');
select is(t.node(1) like 'drain evacuation %', true, 'the node is drained');
select is(t.refused('root', '{"nodes": "n1"}') like 'RT409 node "n1" is being evacuated already%', true, 'once');
select is(t.orders(:'a' || '.a') || ' ' || t.orders(:'s' || '.a'), 'kill@n1 kill@n1', 'what moves has the order to end');
select is(t.moves(), format('%s.a move ending, %s.a wait waiting, %s.a leave waiting, %s.a move ending', :a, :b, :p, :s), 'each is in a row');
select is(t.settle(), null, 'it goes on');
select is((select count(*) from rota.node_order where kind = 'kill'), 2::bigint, 'nobody is asked twice');
select t.finish(:'a' || '.a', t.ended()), t.finish(:'s' || '.a', t.ended()) \g /dev/null
select is(t.state(:'a' || '.a') || ' ' || (t.step(:'a' || '.a')).requeues, 'pending 0', 'it waits again, and it was no fault of its');
select is(t.kept(:a), '{n3,n4} {n2} false', 'it is kept to its nodes');
select is(t.settle(), null, 'it waits for one');
select is(t.moves(), format('%s.a move queued, %s.a wait waiting, %s.a leave waiting, %s.a move queued', :a, :b, :p, :s), 'two have left');
select t.start(:'a' || '.a', '{3}'), t.finish(:'b' || '.a') \g /dev/null
select is(t.settle(), 'n1 done', 'nothing is waited for any more');
select is(t.moves(), format('%s.a move moved ->n3, %s.a wait ended, %s.a leave left, %s.a move queued', :a, :b, :p, :s), 'what became of each');
select t.run(:'a' || '.a'), t.finish(:'a' || '.a') \g /dev/null
select is(t.kept(:s), '{n3,n4} {n2} false', 'what still waits is kept to its nodes as before');
select t.start(:'s' || '.a', '{4}') \g /dev/null
select is(t.settle(), null, 'a judgement');
select is(t.moves(), format('%s.a move moved ->n3, %s.a wait ended, %s.a leave left, %s.a move moved ->n4', :a, :b, :p, :s), 'notes it');
select t.submit('alice', '[{"name": "a"}]') as n \gset
select is(t.kept(:n), '{} {} true', 'others are not kept anywhere');
select is(t.node(1) like 'drain evacuation %', true, 'the node stays drained');
select t.right('moved');

-- An evacuation with an end time; one that is revoked; one that does not last for ever.
select t.start(:'n' || '.a', '{2}'), t.run(:'n' || '.a') \g /dev/null
select is(t.evacuate('root', '{"nodes": "n2", "parallel": "leave", "by": "now+1hours"}') ->> 'evacuation' is not null, true, 'one with an end');
select is(t.moves(), format('%s.a leave waiting, %s.a wait waiting', :p, :n), 'it waits');
update rota.evacuation set by_at = now() - interval '1 minute' where state = 'open';
select is(t.settle(), null, 'its time has come');
select is(t.moves(), format('%s.a leave waiting, %s.a move ending', :p, :n), 'what still runs is ended');
select t.finish(:'n' || '.a', t.ended()) \g /dev/null
select is(t.settle(), 'n2 done', 'done');
select is(t.evacuate('root', '{"nodes": "n4"}') ->> 'evacuation' is not null, true, 'another one');
select is(api.evacuate(0, 'root', jsonb_build_object('action', 'cancel', 'evacuation', (select max(evacuation_id) from rota.evacuation))), '{"changed": true}', 'taken back');
select is(api.evacuate(0, 'root', jsonb_build_object('action', 'cancel', 'evacuation', (select max(evacuation_id) from rota.evacuation))), '{"changed": false}', 'once');
select is(t.node(4) || ' ' || t.moves(), format('up %s.a wait left', :s), 'the node serves again, and what runs there runs on');
select is(t.evacuate('root', '{"nodes": "n4"}') ->> 'evacuation' is not null, true, 'one without an end');
update rota.evacuation set made_at = now() - interval '30 days' where state = 'open';
select is(t.settle(), format('n4 late still there: %s.a', :s), 'does not wait for ever');
select is(jsonb_array_length(api.evacuate(0, 'root', '{"action": "list"}') -> 'evacuations'), 4, 'the list');
select is(jsonb_array_length(api.evacuate(0, 'root', '{"action": "list", "nodes": "n4"}') -> 'evacuations'), 2, 'of a node');
select is(t.evacuate('root', '{"nodes": "n3"}') ->> 'evacuation' is not null, true, 'of an empty node');
select is((select state from rota.evacuation order by evacuation_id desc limit 1), 'done', 'is over at once');
update rota.evacuation set ended_at = now() - interval '2 years' where state = 'cancelled';
select t.submit('alice', '[{"name": "a"}]') as o \gset
select api.admin_change(0, 'root', '{"object": "node", "action": "resume", "name": "n[1-4]"}') \g /dev/null
select t.start(:'o' || '.a', '{3}'), t.run(:'o' || '.a') \g /dev/null

-- A job that its owner has moved.
select throws_ok(format('select api.job_migrate(%s, ''bob'', t.request(%L))', t.uid('bob'), :'o'), null, null, 'not for others');
select is(t.node(3), 'up', 'nothing is done');
create function t.migrate(p_user text, p_target text) returns text language plpgsql as $$
begin
	return api.job_migrate(t.uid(p_user), p_user, t.request(p_target)) #>> '{plan,0,action}';
exception when sqlstate 'RT409' then
	return sqlstate || ' ' || sqlerrm;
end $$;
select is(t.migrate('alice', :'o'), 'move', 'for its owner');
select is(t.migrate('alice', :'o'), format('RT409 step %s.a is being moved already: evacuation %s', :'o', (select max(evacuation_id) from rota.evacuation)), 'once at a time');
select is((select count(*) from rota.evacuation_move where job_id = :o), 1::bigint, 'a refusal changes nothing');
select is(t.node(3), 'up', 'no node is drained');
select t.finish(:'o' || '.a', t.ended()) \g /dev/null
select is(t.kept(:o), '{} {n3} false', 'it does not come back');
select t.start(:'o' || '.a', '{1}'), t.settle() \g /dev/null
select is(t.moves(), :o || '.a move moved ->n1', 'it has moved');
select t.submit('alice', '[{"name": "a", "requeue": false}, {"name": "b"}]') as q \gset
select is(t.migrate('alice', :'q'), 'RT409 nothing of the jobs that you name can be moved', 'what waits cannot be moved');
select t.start(:'q' || '.a', '{1}'), t.run(:'q' || '.a') \g /dev/null
select is(t.migrate('alice', :'q'), 'RT409 nothing of the jobs that you name can be moved', 'nor what must not run again');
select is((select count(*) from rota.evacuation_move where job_id = :q), 0::bigint, 'nothing is written');
select t.start(:'q' || '.b', '{1}'), t.run(:'q' || '.b') \g /dev/null
select is(t.migrate('alice', :'q'), 'wait', 'one of two steps');
select t.finish(:'q' || '.b', t.ended()), t.start(:'q' || '.b', '{2}'), t.settle() \g /dev/null
select is(t.moves() || ' ' || (select state from rota.evacuation order by evacuation_id desc limit 1), format('%s.a leave left, %s.b move moved ->n2 done', :q, :q), 'the other one is not waited for');
select t.run(:'q' || '.b') \g /dev/null
select is(t.migrate('alice', :'q'), 'wait', 'so it can be moved again');
select t.finish(:'q' || '.b'), t.finish(:'q' || '.a'), t.settle() \g /dev/null

-- One step moves, and the other steps of its job stay; of an array all elements move, or one.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as r \gset
select t.start(:'r' || '.a', '{1}'), t.start(:'r' || '.b', '{1}'), t.run(:'r' || '.a'), t.run(:'r' || '.b') \g /dev/null
select is(t.migrate('alice', :'r' || '.b'), 'move', 'one of two steps that run');
select is(t.moves(), :r || '.b move ending', 'only that one');
select is(t.orders(:'r' || '.a'), null, 'the other one has no order');
select is(t.migrate('alice', :'r' || '.a'), 'move', 'it may be moved meanwhile');
select is(left(t.migrate('alice', :'r'), 5), 'RT409', 'but not both again');
select t.finish(:'r' || '.a', t.ended()), t.finish(:'r' || '.b', t.ended()), t.settle() \g /dev/null
select t.start(:'r' || '.a', '{2}'), t.start(:'r' || '.b', '{2}'), t.settle() \g /dev/null
select t.run(v), t.finish(v) from unnest(array[:'r' || '.a', :'r' || '.b']) v \g /dev/null

-- A waiting step is kept to certain nodes, for its next attempt only.
select t.submit('alice', '[{"name": "a"}]') as w \gset
select t.keep(:'w' || '.a', '{n4}') \g /dev/null
select is(t.kept(:w), '{n4} {} false', 'kept to it');
select t.keep(:'w' || '.a', '{n2,n3}') \g /dev/null
select is(t.kept(:w), '{n2,n3} {} false', 'the latest wish counts');
select t.start(:'w' || '.a', '{2}'), t.settle() \g /dev/null
select is((select count(*) from rota.evacuation_move where job_id = :w and state = 'moved'), 2::bigint, 'it has started');
select t.run(:'w' || '.a'), t.finish(:'w' || '.a') \g /dev/null

-- However many evacuations are open, a call judges up to a hundred of them, and further calls the rest.
savepoint before;
insert into rota.evacuation (nodes, parallel, no_checkpoint, made_by) select '{}', 'move', 'requeue', 'alice' from generate_series(1, 150);
select is((select array[count(*) filter (where state = 'done'), count(*) filter (where state is null)] from api.evacuation_judge()), '{100,0}', 'a hundred a call');
select is((select count(*) from api.evacuation_judge()), 50::bigint, 'the rest');
select is((select count(*) from rota.evacuation where state = 'open'), 0::bigint, 'none is left');
rollback to before;
select is((select count(*) from rota.evacuation where state = 'cancelled'), 0::bigint, 'old ones are deleted');
select t.right('a job');
\ir checkpoint.psql

-- A step moves by checkpoint if it can be saved.
select t.submit('alice', :'saves') as c \gset
select t.start(:'c' || '.a', '{2}'), t.run(:'c' || '.a') \g /dev/null
savepoint before;
select is(t.evacuate('root', '{"nodes": "n2", "parallel": "leave"}') #>> '{plan,0,action}' is not null, true, 'an evacuation');
select is(t.orders(:'c' || '.a') || ', ' || (select action || ' ' || state from rota.evacuation_move where job_id = :c), 'checkpoint@n2, checkpoint ending', 'it is saved first');
select t.saved(:'c' || '.a'), t.finish(:'c' || '.a', t.ended()) \g /dev/null
select is(t.settle(), 'n2 done', 'then it leaves');
select is(t.state(:'c' || '.a'), 'pending', 'to go on elsewhere');
rollback to before;
select t.evacuate('root', '{"nodes": "n2", "parallel": "leave"}'), t.late() \g /dev/null
select is((select action || ' ' || state from rota.evacuation_move where job_id = :c), 'wait waiting', 'what was not saved in time is waited for');
rollback to before;
select t.evacuate('root', '{"nodes": "n2", "parallel": "leave", "no_checkpoint": "requeue"}'), t.late() \g /dev/null
select is((select action || ' ' || state from rota.evacuation_move where job_id = :c), 'move waiting', 'or moved without');
select t.settle() \g /dev/null
select is(t.orders(:'c' || '.a'), 'checkpoint@n2 kill@n2', 'at the next judgement');
rollback to before;
-- At the end time of an evacuation, steps that still wait to leave are saved first, if they can be.
create function t.now_is_the_time() returns void language sql as $$ update rota.evacuation set by_at = now() - interval '1 minute' where state = 'open' $$;
select t.submit('alice', '[{"name": "a", "nodes_min": 2, "ntasks": 2, "checkpoint": {"driver": "app", "keep": 2}}]') as w \gset
select t.submit('alice', '[{"name": "a", "requeue": false}]') as k \gset
select t.submit('alice', '[{"name": "a", "requeue": false, "checkpoint": {"driver": "app", "keep": 2}}]') as l \gset
select t.finish(:'c' || '.a') \g /dev/null
select t.start(:'w' || '.a', '{2,3}'), t.start(:'k' || '.a', '{2}'), t.start(:'l' || '.a', '{2}') \g /dev/null
select t.run(v || '.a') from unnest(array[:w, :k, :l]) v \g /dev/null
select t.evacuate('root', '{"nodes": "n2", "parallel": "wait", "by": "now+1hours"}') \g /dev/null
select is((select string_agg(action || ' ' || state, ', ' order by job_id) from rota.evacuation_move where job_id in (:w, :k, :l)), 'wait waiting, wait waiting, checkpoint ending', 'before');
select t.now_is_the_time(), t.settle() \g /dev/null
select is((select string_agg(action || ' ' || state, ', ' order by job_id) from rota.evacuation_move where job_id in (:w, :k, :l)), 'checkpoint ending, cancel ending, checkpoint ending', 'one is saved, one that must not run again is cancelled');
select is(t.orders(:'w' || '.a') || ', ' || t.orders(:'k' || '.a'), 'checkpoint@n2 checkpoint@n3, kill@n2', 'by these orders');
select t.late(), t.settle() \g /dev/null
select is((select string_agg(action || ' ' || state, ', ' order by job_id) from rota.evacuation_move where job_id in (:w, :k, :l)), 'move ending, cancel ending, cancel ending', 'what was not saved in time is moved without, or cancelled');
select t.finish(v || '.a', t.ended()) from unnest(array[:w, :k, :l]) v \g /dev/null
select is(t.state(:'w' || '.a') || ' ' || t.state(:'k' || '.a') || ' ' || t.state(:'l' || '.a'), 'pending cancelled cancelled', 'nothing that must not runs twice');
rollback to before;
-- The step is saved by a checkpoint that its owner asked for, after which the step ends.
select internal.checkpoint_ask(:c, (t.step(:'c' || '.a')).step_id, 'user', 'alice', null, 'end') \g /dev/null
select t.evacuate('root', '{"nodes": "n2", "parallel": "leave"}') \g /dev/null
select is((select action || ' ' || state from rota.evacuation_move where job_id = :c), 'checkpoint ending', 'is waited for');
select t.late() \g /dev/null
select is((select action || ' ' || state from rota.evacuation_move where job_id = :c), 'wait waiting', 'and if it fails, the evacuation goes on');
rollback to before;
-- A suspended step is saved when it is resumed; but a step on several nodes is waited for if the evacuation says "wait".
create function t.two() returns text language sql as $$ select string_agg(m.action || ' ' || m.state, ', ' order by m.job_id) from rota.evacuation_move m join rota.step_request r using (job_id, step_id) where r.checkpoint is not null and m.evacuation_id = (select max(evacuation_id) from rota.evacuation) $$;
select t.submit('alice', '[{"name": "a", "nodes_min": 2, "ntasks": 2, "checkpoint": {"driver": "app", "keep": 2}}]') as w \gset
select t.start(:'w' || '.a', '{2,3}'), t.run(:'w' || '.a'), t.report(t.say(:'c' || '.a', 'suspended')) \g /dev/null
select t.evacuate('root', '{"nodes": "n2", "parallel": "wait"}'), t.settle() \g /dev/null
select is(t.two(), 'wait waiting, wait waiting', 'what cannot be saved is waited for');
select api.job_resume(t.uid('alice'), 'alice', t.request(:'c')), t.report(t.say(:'c' || '.a', 'resumed')), t.settle() \g /dev/null
select is(t.two() || ', ' || t.orders(:'c' || '.a'), 'checkpoint ending, wait waiting, resume@n2 checkpoint@n2', 'it is saved when it goes on');
select t.late(), t.settle() \g /dev/null
select is(t.two() || ', ' || t.orders(:'c' || '.a'), 'wait waiting, wait waiting, resume@n2 checkpoint@n2', 'once');
rollback to before;
-- A step that could be saved when the evacuation began, and cannot when it is asked.
select t.evacuate('root', '{"nodes": "n2", "parallel": "leave"}') \g /dev/null
delete from rota.checkpoint where job_id = :c;
update rota.evacuation_move set state = 'waiting' where job_id = :c;
select t.report(t.say(:'c' || '.a', 'suspended')), t.settle() \g /dev/null
select is((select action || ' ' || state from rota.evacuation_move where job_id = :c), 'wait waiting', 'is waited for');
rollback to before;

-- Pre-dispatched elements of an array that must not run again: those that have not begun are queued again, the others end.
select t.submit('alice', '[{"name": "a", "cpus_per_task": 2, "mem_mb": 100, "requeue": false, "array": {"indices": [[0,19,1]], "size": 20, "limit": null}}]') as j \gset
select t.commit(t.decision(:'j' || '.a', '{4}', '{"position": 0}'), t.decision(:'j' || '.a', '{4}', '{"position": 1, "predispatched": true}'), t.decision(:'j' || '.a', '{4}', '{"position": 2, "predispatched": true}')) \g /dev/null
select t.run(:'j' || '.a[0]') \g /dev/null
select t.evacuate('root', '{"nodes": "n4"}') \g /dev/null
select is((select string_agg(m.action || ' ' || m.state, ', ' order by m.step_id) from rota.evacuation_move m where m.job_id = :j), 'wait waiting, move ending, move ending', 'they leave');
select is((select string_agg(s.array_index || ':' || (o.args ->> 'cause') || ':' || coalesce(s.end_wanted, '-'), ' ' order by o.order_id) from rota.node_order o join rota.step s on s.job_id = o.job_id and s.step_id = o.step_id
	where o.job_id = :j and o.kind = 'kill'), '2:withdrawn:- 1:withdrawn:-', 'each is asked once');
select t.report(t.say(:'j' || '.a[2]', 'refused', '{"reason": "its turn had not come", "retry": "1", "cause": "withdrawn", "drain": ""}')) \g /dev/null
select t.run(:'j' || '.a[1]'), t.finish(:'j' || '.a[1]', '{"outcome": "cancel", "cause": "withdrawn", "exit": -1, "signal": 15}') \g /dev/null
select is((select string_agg(s.array_index || ':' || s.state || ':' || s.requeues, ' ' order by s.step_id) from rota.step s where s.job_id = :j and s.array_index is not null), '0:running:0 1:cancelled:0 2:pending:0', 'what had begun does not run twice');
select t.right('an array');
select * from finish();
rollback;
