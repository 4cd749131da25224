-- Leases between real sessions, in both orders of each pair: the second session waits for the first, sees its result, and there
-- is no deadlock. The sessions commit, so this file has a database of its own.
\set name lease_race
\ir own.psql
create function t.ended(p_node int, p_seconds int) returns void language sql as $$
	update rota.node_lease set renewed_at = now() - make_interval(secs => lease_s + p_seconds), expires_at = now() - make_interval(secs => p_seconds) where node_id = p_node $$;
-- t.race: session a does p_first and has not committed when b does p_second. Returns the answer of b after the commit of a.
create function t.race(p_first text, p_second text, p_waits boolean default true) returns text language plpgsql as $$
declare
	v_answer text;
begin
	perform dblink_exec('a', 'begin');
	perform v from dblink('a', p_first) x (v text);
	perform dblink_send_query('b', p_second);
	if t.waits('b') <> p_waits then
		perform dblink_exec('a', 'rollback');
		return 'b did not wait';
	end if;
	perform dblink_exec('a', 'commit');
	select x.v into v_answer from dblink_get_result('b') x (v text);
	-- libpq ends the results of a query with an empty one.
	perform x.v from dblink_get_result('b') x (v text);
	return coalesce(v_answer, '');
exception when others then
	perform x.v from dblink_get_result('b', false) x (v text);
	return sqlstate;
end $$;
create function t.going(p_node int) returns text language plpgsql as $$
declare
	v_label text := t.submit('alice', '[{"name": "a"}]') || '.a';
begin
	perform t.start(v_label, array[p_node]);
	perform t.run(v_label);
	delete from rota.node_order;
	return v_label;
end $$;
create function t.lives(p_label text) returns text language sql as $$ select concat_ws(' ', state, attempt) from t.step(p_label) $$;
create function t.home(p_node int) returns int language sql as $$ select t.back(p_node, '{"attempts": [], "reported": []}') $$;
update rota.setting set value = '0' where name = 'flap_count';
select t.back(i) from generate_series(1, 4) i \g /dev/null
commit;
select * from no_plan();
select t.open(n) from unnest('{a,b}'::text[]) n \g /dev/null
\set judge '\'select count(*) from t.judge()\''

-- A renewal and the end of the same lease.
select t.going(3) as label, t.ended(3, 11) \gset
select is(t.race(:judge, 'select count(*) from api.node_renew(array[3])'), '0', 'judged first: the renewal comes too late');
select is(t.lives(:'label'), 'pending 1', 'and the attempt is over');
select t.home(3), t.later() \g /dev/null
select t.going(3) as label, t.ended(3, 11) \gset
select is(t.race('select count(*) from api.node_renew(array[3])', :judge), '0', 'renewed first: there is nothing to judge');
select is(t.lives(:'label'), 'running 1', 'and the attempt goes on');

-- A registration and the end of the lease, with and without attempts on the node.
select t.ended(3, 11), format('select t.back(3, %L)', jsonb_build_object('attempts', jsonb_build_array(replace(:'label', '.a', '.0.1')), 'reported', '[]'::jsonb)) as back \gset
select is(t.race(:'back', :judge), '0', 'registered first: not lost');
select is(t.lives(:'label'), 'running 1', 'and the attempt goes on');
select t.ended(3, 11) \g /dev/null
select is(t.race(:judge, :'back'), '1', 'judged first: what the node has should not be there');
select is(t.lives(:'label') || ' ' || (select state from rota.node where node_id = 3), 'pending 1 down', 'and it does not serve');
select t.home(3), t.later() \g /dev/null

-- The end of an attempt and the loss of its node.
create function t.end_of(p_label text) returns text language sql as $$
	select format('select t.report(%L::jsonb, %L::jsonb)', t.say(p_label, 'done'), t.say(p_label, 'end')) $$;
select t.going(3) as label, t.ended(3, 11) \gset
select t.end_of(:'label') as ended \gset
select is(t.race(:'ended', :judge), '1', 'reported first: the node is down');
select is(t.lives(:'label'), 'completed 1', 'but the attempt completed');
select t.home(3) \g /dev/null
select t.going(3) as label, t.ended(3, 11) \gset
select t.end_of(:'label') as ended \gset
select is(t.race(:judge, :'ended'), '0', 'judged first: the report changes nothing');
select is(t.lives(:'label'), 'pending 1', 'and it runs again');
select t.home(3), t.later() \g /dev/null

-- A start and the loss of its node.
select t.submit('alice', '[{"name": "a"}]') || '.a' as label, t.ended(3, 11) \gset
select is(t.race(:judge, format('select t.start(%L, %L)', :'label', '{3}')), '40001', 'judged first: nothing starts there');
select is(t.lives(:'label'), 'pending 0', 'the scheduler decides anew');
select t.home(3), t.ended(3, 11) \g /dev/null
select is(t.race(format('select t.start(%L, %L)', :'label', '{3}'), :judge), '1', 'started first: the node is down');
select is(t.lives(:'label'), 'starting 1', 'the attempt is not yet looked at');
select t.judge() \g /dev/null
select is(t.lives(:'label'), 'pending 1', 'but at the next look');

-- An administrator declares a node dead while the node returns.
select t.home(3), t.later() \g /dev/null
create function t.keep(p_label text) returns void language sql as $$ update rota.attempt set ends_on_node_loss = false where ended_at is null and job_id = split_part(p_label, '.', 1)::bigint $$;
select t.going(3) as label \gset
select t.keep(:'label'), t.ended(3, 11) \g /dev/null
select t.judge() \g /dev/null
select format('select t.back(3, %L)', jsonb_build_object('attempts', jsonb_build_array(replace(:'label', '.a', '.0.1')), 'reported', '[]'::jsonb)) as back,
	$$select api.admin_change(0, 'root', '{"object": "node", "action": "dead", "name": "n3", "values": {"reason": "burnt"}}') ->> 'changed'$$ as dead \gset
select is(t.race(:'back', :'dead'), 'RT409', 'it is back: not dead');
select is(t.lives(:'label'), 'running 1', 'and what was kept goes on');
select t.ended(3, 11) \g /dev/null
select t.judge() \g /dev/null
select is(t.race(:'dead', :'back'), '1', 'declared dead first: it comes back with what should not be there');
select is(t.lives(:'label'), 'pending 1', 'that runs again');

-- A start and the registration of a node that has an attempt of the same number from another server. The start comes between the
-- two reads of the registration; the registration waits for it.
create function t.again(p_kept text) returns text language plpgsql set client_min_messages = error as $$
declare
	v_label text := t.submit('alice', '[{"name": "a"}]') || '.a';
begin
	perform t.home(3), t.home(4);
	perform internal.incarnation_begin('restored', 0);
	update rota.node_lease set renewed_at = now() - interval '1 minute' where node_id in (3, 4);
	perform set_config('t.back', format('select t.back(3, %L)', '{"attempts": [], "reported": []}'::jsonb || jsonb_build_object(p_kept, jsonb_build_array(replace(v_label, '.a', '.0.1')))), false);
	return v_label;
end $$;
create function t.starting(p_label text, p_node int) returns text language sql as $$ select format('select t.start(%L, array[%s])', p_label, p_node) $$;
select t.again('attempts') as label \gset
select current_setting('t.back') as back \gset
select is(t.race(t.starting(:'label', 3), :'back'), '40001', 'an attempt that was ordered meanwhile has a number that the node knows: it registers again');
select is(t.lives(:'label'), 'starting 1', 'nothing is decided yet');
select is((select x from dblink('b', :'back') x (x text)), '1', 'then the node is to kill what it has');
select is(t.lives(:'label'), 'pending 1', 'and the step runs under another number');
select t.home(3), t.later() \g /dev/null
select t.again('reported') as label \gset
select current_setting('t.back') as back \gset
select is(t.race(t.starting(:'label', 3), :'back'), '40001', 'the same where the node has but records of it');
select is((select x from dblink('b', :'back') x (x text)), '0', 'then nothing is left to kill');
select is(t.lives(:'label'), 'pending 1', 'and the step runs under another number');
select t.later() \g /dev/null
select t.again('reported') as label \gset
select format('select t.back(3, %L)', '{"boot_id": "other", "attempts": [], "reported": ["1.0.1"]}'::jsonb) as back \gset
select is(t.race(t.starting(:'label', 3), :'back'), '0', 'a node that names other attempts registers at once');
select is(t.lives(:'label'), 'starting 1', 'and has what began meanwhile, rebooted or not');
select is_empty('select * from t.wrong()', 'all adds up');
select dblink_disconnect(n) from unnest('{a,b}'::text[]) n \g /dev/null
select * from finish();
\c postgres
set client_min_messages = warning;
drop database lease_race;
