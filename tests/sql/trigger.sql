-- Triggers: the events that fire them, who may make which, the deliveries that runnerd takes, and how often it tries.
begin;
\ir world.psql
select * from no_plan();
create function t.trigger(p_user text, p_more jsonb) returns bigint language sql as $$
	select (api.trigger(case p_user when 'root' then 0 else t.uid(p_user) end, p_user, '{"action": "add", "event": "job_end", "kind": "mail", "target": "a"}'::jsonb || p_more) #>> '{triggers,0,trigger}')::bigint $$;
create function t.fired(p_trigger bigint) returns text language sql as $$
	select string_agg(concat_ws(':', payload ->> 'event', coalesce(payload ->> 'step', payload ->> 'node', payload ->> 'job_id'), payload ->> 'state'), ' ' order by run_id)
	from rota.trigger_run where trigger_id = p_trigger $$;
create function t.take(p_room int default 100) returns text language sql as $$
	select string_agg(trigger_id || ':' || job_id, ' ' order by trigger_id) from api.trigger_take(p_room, 60, true) $$;
create function t.refused(p_user text, p_more jsonb) returns text language plpgsql as $$
begin
	perform t.trigger(p_user, p_more);
	return 'made';
exception when sqlstate 'RT403' or sqlstate 'RT404' or sqlstate 'RT409' or sqlstate 'RT422' then
	return sqlstate;
end $$;
create function t.due() returns void language sql as $$ update rota.trigger_run set due_at = now() where ended_at is null $$;

-- Without a trigger, nothing is written.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.pass(:'j' || '.a') \g /dev/null
select is((select count(*) from rota.trigger_run), 0::bigint, 'no trigger, no delivery');
select is(t.take(), null, 'and nothing to take');

-- The jobs, states and events for which a trigger fires.
select t.trigger('alice', '{}') as own, t.trigger('alice', '{"states": ["failed"]}') as failed, t.trigger('alice', '{"event": "job_start"}') as started,
	t.trigger('alice', '{"event": "step_fail"}') as step, t.trigger('root', '{"jobs_of": "all"}') as everybody, t.trigger('bob', '{}') as bob,
	t.trigger('root', '{"event": "node_drained", "node": "n2"}') as node \gset
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as j \gset
select t.start(:'j' || '.a') \g /dev/null
select is(t.fired(:started), format('job_start:%s:running', :j), 'the job starts');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a', '{"exit": 1, "outcome": "fail"}') \g /dev/null
select is(t.fired(:step), format('step_fail:%s.a:failed', :j), 'a step fails');
select is(t.fired(:own), null, 'the job has not ended');
select t.pass(:'j' || '.b') \g /dev/null
select is(t.fired(:own), format('job_end:%s:failed', :j), 'the job ends');
select is(t.fired(:failed), format('job_end:%s:failed', :j), 'in a state that was asked for');
select is(t.fired(:everybody), format('job_end:%s:failed', :j), 'a trigger for all jobs');
select is(t.fired(:bob), null, 'it is no job of bob');
select t.submit('alice', '[{"name": "a"}]') as k \gset
select t.pass(:'k' || '.a') \g /dev/null
select is(t.fired(:failed), format('job_end:%s:failed', :j), 'not in another state');
select internal.node_state_set(n.node_id, 'drain', 'root', 'fan') from rota.node n where n.name in ('n1', 'n2') \g /dev/null
select is(t.fired(:node), 'node_drained:n2:drain', 'the node of the trigger, once');
select internal.node_state_set(n.node_id, 'up', 'root', null) from rota.node n where n.name in ('n1', 'n2') \g /dev/null
select is(t.fired(:node), 'node_drained:n2:drain', 'not for another state');

-- Of each trigger, one delivery at a time.
select is((select count(*) from api.trigger_take(100, 60, true)), 6::bigint, 'the first of each trigger');
select is(t.take(), null, 'they are taken');
select api.trigger_report(array(select run_id from rota.trigger_run where trigger_id = :own and tries = 1), '{200}', '{null}', '{ok}') \g /dev/null
select is(t.take(), format('%s:%s', :own, :k), 'the second, after the end of the first');
select api.trigger_report(array(select run_id from rota.trigger_run where trigger_id = :own), '{200,200}', '{null,null}', '{ok,ok}') \g /dev/null
select is((select string_agg(status, ' ') from rota.trigger_run where trigger_id = :own), 'delivered delivered', 'both are made');
select is((select count(*) from acct.trigger_run where status = 'delivered'), 2::bigint, 'in acct.trigger_run');
select is((select count(*) from acct.hook_run where kind = 'trigger' and success), 2::bigint, 'and in acct.hook_run');
select throws_ok(format('select secret from acct.trigger_run'), '42703', null, 'without the secret');

-- A delivery is tried again, with growing delays, then given up. A runnerd that reports nothing counts as a try.
update rota.setting set value = '3' where name = 'trigger_tries';
-- Delays of tens of minutes, so that the duration of this test does not matter.
update rota.setting set value = '600' where name = 'trigger_retry_s';
update rota.setting set value = '7200' where name = 'trigger_retry_max_s';
create function t.fail(p_trigger bigint) returns text language sql as $$
	select api.trigger_report(array(select run_id from rota.trigger_run where trigger_id = p_trigger and ended_at is null), '{500}', '{bad}', '{""}');
	select concat_ws(' ', tries, coalesce(status, 'waits'), minutes, message)
	from rota.trigger_run cross join lateral (select round(extract(epoch from due_at - clock_timestamp()) / 600) * 10 as minutes) x where trigger_id = p_trigger $$;
select is(t.fail(:failed), '1 waits 10 bad', 'after ten minutes');
select t.due() \g /dev/null
select t.take() \g /dev/null
select is(t.fail(:failed), '2 waits 20 bad', 'after twenty');
select t.due() \g /dev/null
select t.take() \g /dev/null
select is(t.fail(:failed), '3 failed 40 bad; given up after 3 tries', 'and no more');
select is(t.fail(:failed), '3 failed 40 bad; given up after 3 tries', 'a repeated report changes nothing');
select t.due(), t.take() \g /dev/null
select t.due(), t.take() \g /dev/null
select is((select status from rota.trigger_run where trigger_id = :node), 'failed', 'runnerds that report nothing');

-- A trigger on the length of the queue fires once, until the queue was shorter.
select t.trigger('root', '{"event": "queue_longer", "longer_than": 1}') as queue \gset
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as j \gset
select t.take(), t.take() \g /dev/null
select is(t.fired(:queue), 'queue_longer', 'once');
select t.pass(:'j' || '.a') \g /dev/null
select t.take() \g /dev/null
select is(t.fired(:queue), 'queue_longer', 'shorter');
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as k \gset
select t.take() \g /dev/null
select is(t.fired(:queue), 'queue_longer queue_longer', 'again');

-- Users who may make each kind of trigger.
select is(t.refused('alice', '{"kind": "program", "target": "/bin/true"}'), 'RT403', 'a program');
select is(t.refused('alice', '{"event": "node_up"}'), 'RT403', 'nodes');
select is(t.refused('alice', '{"event": "queue_longer", "longer_than": 3}'), 'RT403', 'the queue');
select is(t.refused('alice', '{"jobs_of": "bob"}'), 'RT403', 'jobs of others');
select is(t.refused('bob', jsonb_build_object('job', :j)), 'RT403', 'the job of another one');
select is(t.refused('alice', jsonb_build_object('job', :j)), 'made', 'an own job');
select is(t.refused('alice', '{"kind": "webhook", "target": "https://h.example.org/"}'), 'RT403', 'no host is allowed');
update rota.setting set value = 'x.example.org, H.example.org' where name = 'webhook_hosts';
select is(t.refused('alice', '{"kind": "webhook", "target": "https://h.EXAMPLE.org:8443/a?b=c"}'), 'made', 'a host that is');
select is(t.refused('root', '{"kind": "webhook", "target": "https://any.example.org"}'), 'made', 'any host, by an administrator');
select is(t.refused('alice', '{"target": "|/bin/sh"}'), 'RT422', 'no mail address');
select is(t.refused('alice', '{"event": "lunch"}'), 'RT422', 'no event');
select is(internal.url_host(u), null, u) from unnest(array['http://h.example.org/', 'https://a@h.example.org/', 'https://a:b@h.example.org', E'https://h.example.org\\@evil/',
	'https://evil#h.example.org', 'ftp://localhost/', 'https://h example.org/', 'https://h.example.org/"', E'https://h.example.org/\n', 'https:///x', 'https://h.example.org:port/']) u;
select is(internal.url_host('http://localhost:8080/x'), 'localhost', 'http to this machine');
update rota.setting set value = '3' where name = 'trigger_max';
select is(t.refused('alice', '{}'), 'RT409', 'one too many');
select throws_ok(format($$select api.trigger(%s, 'bob', '{"action": "remove", "trigger": %s}')$$, t.uid('bob'), :own), 'RT404', null, 'a stranger removes nothing');
select api.trigger(t.uid('alice'), 'alice', jsonb_build_object('action', 'remove', 'trigger', :own)) \g /dev/null
select throws_ok(format($$select api.trigger(%s, 'alice', '{"action": "show", "trigger": %s}')$$, t.uid('alice'), :own), 'RT404', null, 'it is removed');
select is((select count(*) from rota.trigger_run where trigger_id = :own and ended_at is null), 0::bigint, 'and nothing of it waits');
insert into rota.trigger_run (trigger_id, payload) values (:own, '{"event": "job_end"}');
select is((select count(*) from api.trigger_take(100, 60, false) x where x.trigger_id = :own), 0::bigint, 'an event that met the removal is not delivered');
select internal.trigger_tidy() \g /dev/null
select is((select count(*) from rota.trigger_run where trigger_id = :own and ended_at is null), 0::bigint, 'and is ended');
select * from finish();
rollback;
