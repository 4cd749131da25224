-- A drain deadline is reached while an administrator changes the same node, in two real sessions: the second waits for the first,
-- no session is cancelled, and the result is that of one after the other. The sessions commit; their changes are undone at the
-- end.
\ir shared.psql
create function t.answer(p_name text) returns text language plpgsql as $$
declare
	v_answer text;
begin
	select v into v_answer from dblink_get_result(p_name) x (v text);
	perform * from dblink_get_result(p_name) x (v text);
	return v_answer;
exception when others then
	v_answer := sqlstate || ' ' || sqlerrm;
	perform * from dblink_get_result(p_name, false) x (v text);
	return v_answer;
end $$;
create function t.due() returns void language sql as $$
	select dblink_exec('admin', 'insert into rota.node_notice (node_id, kind, at, reason, actor) select node_id, ''drain'', now() - interval ''1 second'', ''fan'', ''x'' from rota.node where name = ''race''');
$$;
select t.open('leader'), t.open('admin') \g /dev/null
select t.say('admin', $$select api.admin_change(0, 'root', '{"object": "node", "action": "create", "name": "race", "values": {"cpus": 1, "mem": 1}}')$$) \g /dev/null
select t.say('leader', 'select api.leader_claim(''schedule'', 60)') as term \gset
create function t.tick(p_term bigint) returns text language sql as $$ select format('select now::text from api.schedule_tick(%s)', p_term) $$;
create function t.node() returns text language sql as $$
	select t.say('admin', 'select n.state || '' '' || coalesce(n.reason, ''-'') || '' '' || (select count(*) from rota.node_notice x where x.node_id = n.node_id) from rota.node n where n.name = ''race''');
$$;
create function t.admin(p_more text) returns text language sql as $$
	select t.say('admin', format($s$select api.admin_change(0, 'root', '{"object": "node", "name": "race", %s}') ->> 'changed'$s$, p_more));
$$;

-- The administrator locks the node first, and postpones the drain.
select t.due() \g /dev/null
select dblink_exec('admin', 'begin'), t.say('admin', 'select internal.node_lock(array(select node_id from rota.node where name = ''race''))') \g /dev/null
select dblink_send_query('leader', t.tick(:'term')) \g /dev/null
select ok(t.waits('leader'), 'the leader waits for the node');
select is(t.admin('"action": "drain", "values": {"reason": "later", "deadline": "now+1hours"}'), 'true', 'the administrator goes on');
select dblink_exec('admin', 'commit') \g /dev/null
select unalike(t.answer('leader'), '40P01%', 'and then the leader');
select is(t.node(), 'unknown - 1', 'the drain is put off');

-- The administrator locks the node first, and cancels the drain.
select t.admin('"action": "resume"'), t.due() \g /dev/null
select dblink_exec('admin', 'begin'), t.say('admin', 'select internal.node_lock(array(select node_id from rota.node where name = ''race''))') \g /dev/null
select dblink_send_query('leader', t.tick(:'term')) \g /dev/null
select ok(t.waits('leader'), 'the leader waits again');
select is(t.admin('"action": "resume"'), 'true', 'called off');
select dblink_exec('admin', 'commit') \g /dev/null
select unalike(t.answer('leader'), '40P01%', 'the leader goes on');
select is(t.node(), 'unknown - 0', 'and drains nothing');

-- The leader locks the node first and drains it; the administrator, who postpones the drain, gets an answer.
select t.due() \g /dev/null
select dblink_exec('leader', 'begin'), t.say('leader', t.tick(:'term')) \g /dev/null
select dblink_send_query('admin', $$select api.admin_change(0, 'root', '{"object": "node", "name": "race", "action": "drain", "values": {"reason": "later", "deadline": "now+1hours"}}') ->> 'changed'$$) \g /dev/null
select ok(t.waits('admin'), 'the administrator waits');
select dblink_exec('leader', 'commit') \g /dev/null
select matches(t.answer('admin'), '^RT409.*drained already', 'and the answer says that it is done');
select is(t.node(), 'drain fan 0', 'drained');

select t.say('admin', $$select api.admin_change(0, 'root', '{"object": "node", "action": "delete", "name": "race"}')$$) \g /dev/null
select dblink_exec('admin', $$delete from rota.node_event where node = 'race'$$) \g /dev/null
select dblink_disconnect(n) from unnest('{leader,admin}'::text[]) n \g /dev/null
select * from finish();
rollback;
