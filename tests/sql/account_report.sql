-- Reports and exports: their sums are those of the rows, each caller gets what is theirs, and what makes no sense is refused.
begin;
\ir world.psql
select * from no_plan();
insert into rota.account (account, parent) values ('lab', null), ('bench', 'lab') \g /dev/null
-- t.held: a step that held so many CPUs from p_from on for p_hours, used p_used_s CPU seconds of them, and ended with this exit
-- code.
create function t.held(p_user text, p_account text, p_from timestamptz, p_hours numeric, p_cpus int, p_used_s numeric, p_exit int default 0) returns bigint language plpgsql as $$
declare
	v_job bigint := t.submit(p_user, format('[{"name": "a", "cpus_per_task": %s, "mem_mb": 1024}]', p_cpus)::jsonb, '[]', jsonb_build_object('account', p_account));
	v_to constant timestamptz := p_from + make_interval(secs => p_hours * 3600);
begin
	perform t.start(v_job || '.a', '{1}', '{"gres": {"gpu": [0]}}'), t.run(v_job || '.a');
	perform case p_exit when 0 then t.finish(v_job || '.a') else t.fail(v_job || '.a', p_exit) end;
	update rota.allocation set started_at = p_from, ended_at = v_to, gone_at = v_to, cpu_usec = p_used_s * 1e6 where job_id = v_job;
	update rota.attempt set eligible_at = p_from - interval '30 seconds', ordered_at = p_from, started_at = p_from, done_at = v_to, ended_at = v_to where job_id = v_job;
	update rota.step set eligible_at = p_from - interval '30 seconds', started_at = p_from, ended_at = v_to where job_id = v_job;
	update rota.job set submit_at = p_from - interval '1 minute', started_at = p_from, ended_at = v_to where job_id = v_job;
	return v_job;
end $$;
update rota.usage_state set time_zone = 'UTC';
-- Drop the events of the nodes, as if each node had always been there.
set session_replication_role = replica;
delete from rota.node_event;
delete from rota.admin_event where object = 'node';
set session_replication_role = origin;
select t.held('alice', 'bench', '2026-02-27 12:00Z', 48, 2, 86400) as j \gset
select t.held('alice', 'lab', '2026-02-10 00:00Z', 10, 4, 14400), t.held('bob', 'lab', '2026-02-10 06:00Z', 6, 1, 21600, 3), t.held('bob', null, '2026-03-05 00:00Z', 1, 1, 0) \g /dev/null
create function t.ask(p_uid int, p_user text, p_more jsonb) returns jsonb language sql as $$
	select api.report(p_uid, p_user, '{"since": "2026-02-01T00:00:00Z", "until": "2026-04-01T00:00:00Z"}' || p_more) $$;
-- The named members of each row of a report, in the order of the report.
create function t.rows(p_more jsonb, variadic p_what text[]) returns text language sql as $$
	select string_agg((select string_agg(coalesce(case when w like '%\_h' then round((r ->> w)::numeric, 2)::text when w in ('percent', 'failed', 'mean_s') and r ->> w like '%.%' then round((r ->> w)::numeric, 1)::text else r ->> w end, '-'), ' ' order by n) from unnest(p_what) with ordinality x (w, n)), ', ' order by nr)
	from jsonb_array_elements(t.ask(0, 'root', p_more) -> 'rows') with ordinality y (r, nr) $$;

select is(t.rows('{"report": "usage"}', 'account', 'cpu_h', 'gpu_h', 'mem_gb_h', 'steps'), 'bench 96.00 48.00 48.00 1, lab 46.00 16.00 16.00 2,  1.00 1.00 1.00 1', 'usage by account');
select is(t.rows('{"report": "usage", "by": "user", "period": "month"}', 'month', 'user', 'cpu_h', 'steps'),
	'2026-02-01 alice 112.00 1, 2026-02-01 bob 6.00 1, 2026-03-01 alice 24.00 1, 2026-03-01 bob 1.00 1', 'by user and month, cut at the month');
select is(t.rows('{"report": "usage", "by": "none", "period": "day", "user": "alice", "account": "bench"}', 'day', 'cpu_h'), '2026-02-27 24.00, 2026-02-28 48.00, 2026-03-01 24.00', 'days');
select is(t.rows('{"report": "usage", "by": "none", "period": "hour", "since": "2026-02-10T05:00:00Z", "until": "2026-02-10T07:00:00Z"}', 'cpu_h'), '4.00, 5.00', 'hours');
select is(t.rows('{"report": "efficiency"}', 'user', 'held_h', 'used_h', 'percent', 'waste_h'), 'alice 136.00 28.00 20.6 108.00, bob 7.00 6.00 85.7 1.00', 'efficiency');
select is(t.rows('{"report": "usage", "account": "lab"}', 'account', 'cpu_h'), 'bench 96.00, lab 46.00', 'an account with those below it');
select is(t.rows('{"report": "usage", "account": "lab", "only": true}', 'account', 'cpu_h'), 'lab 46.00', 'or alone');
select is(t.rows('{"report": "usage", "account": "bench"}', 'account', 'cpu_h'), 'bench 96.00', 'and not those above it');
select is((select string_agg(x ->> 'account', ' ' order by (x ->> 'job_id')::int) from jsonb_array_elements(api.job_acct(0, 'root', '{"account": "lab"}')::jsonb -> 'rows') x), 'bench lab lab', 'rows of jobs likewise');
select is((select string_agg(x ->> 'account', ' ') from jsonb_array_elements(api.job_acct(0, 'root', '{"account": "lab", "only": "true"}')::jsonb -> 'rows') x), 'lab lab', 'and alone');
select is(t.rows('{"report": "wait"}', 'partition', 'steps', 'mean_s'), 'main 4 30.0', 'wait');
select is(t.rows('{"report": "top", "limit": "1"}', 'user', 'cpu_h', 'failed'), 'alice 136.00 0.0', 'top');
select is(t.rows('{"report": "failures"}', 'cause', 'state', 'attempts', 'jobs', 'users', 'lost_h'), 'exit failed 1 1 1 6.00', 'failures by cause');
select is(t.rows('{"report": "failures", "by": "account"}', 'account', 'steps', 'failed', 'percent'), 'lab 2 1 50.0,  1 0 0.0, bench 1 0 0.0', 'failures by account');
select is(t.rows('{"report": "utilization", "by": "node", "period": "month"}', 'month', 'node', 'cpu_h', 'capacity_h'),
	'2026-02-01 n1 118.00 2688.00, 2026-02-01 n2 0.00 2688.00, 2026-02-01 n3 0.00 2688.00, 2026-02-01 n4 0.00 2688.00, 2026-03-01 n1 25.00 2976.00, 2026-03-01 n2 0.00 2976.00, 2026-03-01 n3 0.00 2976.00, 2026-03-01 n4 0.00 2976.00', 'utilization');
-- A node that was down, drained and grew; one that was made and deleted in between.
insert into rota.node_event (node_id, node, at, from_state, to_state, actor) values (2, 'n2', '2026-02-10 00:00Z', 'up', 'down', 'nodemgrd'),
	(2, 'n2', '2026-02-10 12:00Z', 'down', 'up', 'nodemgrd'), (2, 'n2', '2026-03-01 00:00Z', 'up', 'drain', 'root'), (2, 'n2', '2026-03-01 06:00Z', 'drain', 'up', 'root'),
	(99, 'gone', '2026-02-20 06:00Z', 'unknown', 'up', 'nodemgrd') \g /dev/null
insert into rota.admin_event (at, actor, object, action, name, given, before, after) values ('2026-03-31 00:00Z', 'root', 'node', 'change', 'n2', '{}', '{"cpus": 4}', '{"cpus": 8}'),
	('2026-02-20 00:00Z', 'root', 'node', 'create', 'gone', '{}', null, '{"cpus": 10}'), ('2026-02-21 00:00Z', 'root', 'node', 'delete', 'gone', '{}', '{"cpus": 10}', null) \g /dev/null
select is(t.rows('{"report": "utilization", "by": "node", "period": "month"}', 'month', 'node', 'down_h', 'drain_h', 'capacity_h'),
	'2026-02-01 gone 60.00 0.00 240.00, 2026-02-01 n1 0.00 0.00 2688.00, 2026-02-01 n2 48.00 0.00 2688.00, 2026-02-01 n3 0.00 0.00 2688.00, 2026-02-01 n4 0.00 0.00 2688.00, '
	|| '2026-03-01 n1 0.00 0.00 2976.00, 2026-03-01 n2 0.00 24.00 3072.00, 2026-03-01 n3 0.00 0.00 2976.00, 2026-03-01 n4 0.00 0.00 2976.00', 'what there was, and what of it was out of use');
select is(t.rows('{"report": "utilization", "by": "none"}', 'cpu_h', 'down_h', 'drain_h', 'capacity_h', 'percent'), '143.00 108.00 24.00 22992.00 0.6', 'the site');
select is(t.rows('{"report": "utilization", "by": "partition"}', 'partition', 'capacity_h'), 'main 22752.00', 'of the nodes that are in it');
-- A new node with the name of a deleted one starts without the states of the deleted one.
insert into rota.node_event (node_id, node, at, from_state, to_state, actor, reason) values (99, 'gone', '2026-02-20 12:00Z', 'up', 'drain', 'root', 'old') \g /dev/null
insert into rota.node (name, cpus, mem_mb) values ('gone', 20, 1000) \g /dev/null
insert into rota.admin_event (at, actor, object, action, name, given, before, after) values ('2026-03-30 00:00Z', 'root', 'node', 'create', 'gone', '{}', null, '{"cpus": 20}') \g /dev/null
insert into rota.node_event (node_id, node, at, from_state, to_state, actor) select node_id, 'gone', '2026-03-30 12:00Z', 'unknown', 'up', 'nodemgrd' from rota.node where name = 'gone' \g /dev/null
select is((select string_agg(concat_ws(' ', to_char(from_at at time zone 'UTC', 'MM-DD HH24'), to_char(until_at at time zone 'UTC', 'MM-DD HH24'), state, reason, cpus), ', ' order by from_at) from acct.node_state where node = 'gone'),
	'02-20 00 02-20 06 unknown 10, 02-20 06 02-20 12 up 10, 02-20 12 02-21 00 drain old 10, 03-30 00 03-30 12 unknown 20, 03-30 12 up 20', 'a node deleted, and one made in its place');
select is((select string_agg(concat_ws(' ', m, n.state, n.reason, n.cpus), ', ' order by m) from unnest('{02-20 18:00,03-30 06:00,03-31 00:00}'::text[]) m
	cross join lateral acct.nodes_at(('2026-' || m || 'Z')::timestamptz) n where n.node = 'gone'), '03-30 06:00 unknown 20, 03-31 00:00 up 20', 'nor was it there before');
delete from rota.node where name = 'gone';
-- The figures of a report cover the span that it names: the span that was asked for, extended to whole hours or days.
create function t.span(p_since text, p_until text, p_more jsonb default '{}') returns text language sql as $$
	select (r ->> 'since')::timestamptz at time zone 'UTC' || ' ' || ((r ->> 'until')::timestamptz at time zone 'UTC') || ' '
		|| (select round(coalesce(sum((x ->> 'cpu_h')::numeric), 0), 2) from jsonb_array_elements(r -> 'rows') x)
		|| case when (select round(coalesce(sum((x ->> 'cpu_h')::numeric), 0), 2) from jsonb_array_elements(r -> 'rows') x)
			= (select round(coalesce(sum(u.cpu_s), 0) / 3600, 2) from acct.usage_between((r ->> 'since')::timestamptz, (r ->> 'until')::timestamptz) u) then '' else ' wrong' end
	from (select api.report(0, 'root', jsonb_build_object('report', 'usage', 'by', 'none', 'since', p_since, 'until', p_until) || p_more) as r) q $$;
select is(t.span(s, u, m), w, concat_ws(' ', s, 'to', u, m)) from (values
	('2026-02-05T15:00:00Z', '2026-02-10T06:00:00Z', '{}'::jsonb, '2026-02-05 15:00:00 2026-02-10 06:00:00 24.00'),
	('2026-02-05T00:00:00Z', '2026-02-10T06:30:00Z', '{}', '2026-02-05 00:00:00 2026-02-10 07:00:00 29.00'),
	('2026-02-10T05:20:00Z', '2026-02-10T05:40:00Z', '{}', '2026-02-10 05:00:00 2026-02-10 06:00:00 4.00'),
	('2026-02-01T00:00:00Z', '2026-02-28T00:00:00Z', '{}', '2026-02-01 00:00:00 2026-02-28 00:00:00 70.00'),
	('2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z', '{}', '2026-02-01 00:00:00 2026-03-01 00:00:00 118.00'),
	('2026-02-01T03:00:00Z', '2026-03-10T06:00:00Z', '{}', '2026-02-01 00:00:00 2026-03-11 00:00:00 143.00'),
	('2026-02-10T05:00:00Z', '2026-02-10T06:00:00Z', '{"period": "day"}', '2026-02-10 00:00:00 2026-02-11 00:00:00 46.00'),
	('2026-02-10T05:00:00Z', '2026-02-28T06:00:00Z', '{"period": "month"}', '2026-02-01 00:00:00 2026-03-01 00:00:00 118.00')) x (s, u, m, w);
select is((select (r ->> 'until')::timestamptz from t.ask(0, 'root', '{"report": "usage", "until": "2126-01-01T00:00:00Z"}') r), now(), 'no later than now');
update rota.usage_state set time_zone = 'Asia/Kolkata';
select is(t.span('2026-02-10T03:00:00Z', '2026-02-10T07:00:00Z'), '2026-02-10 03:00:00 2026-02-10 07:00:00 17.00', 'where the hours of the clock are not those of the figures');
update rota.usage_state set time_zone = 'UTC';
-- A filter restricts each report that accepts it; other reports refuse it.
insert into rota.partition (partition) values ('gpu'), ('bare');
insert into rota.partition_node (partition, node_id) values ('gpu', 1);
select is(t.rows('{"report": "utilization", "by": "node", "partition": "gpu"}', 'node', 'cpu_h', 'capacity_h'), 'n1 143.00 5664.00', 'the nodes of a partition');
select is(t.rows('{"report": "utilization", "by": "none", "partition": "gpu"}', 'cpu_h', 'capacity_h'), '143.00 5664.00', 'together');
select is(t.rows('{"report": "utilization", "by": "partition", "partition": "gpu"}', 'partition', 'capacity_h'), 'gpu 5664.00', 'and by partition not those of others');
select is(t.rows('{"report": "utilization", "partition": "bare"}', 'node'), null, 'none has none');
select is(t.rows('{"report": "utilization", "limit": "2"}', 'node'), 'gone, n1', 'two rows at most');
update rota.step set queue = 'gpu' where state = 'failed';
select is(t.rows('{"report": "failures", "partition": "gpu"}', 'jobs'), '1', 'failures of a partition');
select is(t.rows('{"report": "failures", "partition": "main"}', 'jobs'), null, 'not of another');
select is(t.rows('{"report": "failures", "limit": "0"}', 'jobs'), null, 'no more rows than asked for');
select is((select count(*) from acct.node_state a join acct.node_state b using (node) where a.from_at < b.from_at and a.until_at > b.from_at), 0::bigint, 'spans do not overlap');
select is(t.ask(0, 'root', jsonb_build_object('report', 'job', 'jobs', jsonb_build_array(:'j'))) ->> 'report', 'job', 'one job');

-- Users who may not see the jobs of others get reports of their own jobs and of the accounts that they coordinate.
select api.admin_change(0, 'root', '{"object": "setting", "action": "change", "name": "queue_visible", "values": {"value": "false"}}') \g /dev/null
create function t.users(p_user text) returns text language sql as $$
	select string_agg(r ->> 'user', ' ' order by r ->> 'user') from jsonb_array_elements(t.ask(t.uid(p_user), p_user, '{"report": "usage", "by": "user"}') -> 'rows') r $$;
select is(t.users('alice'), 'alice', 'own rows');
select is(t.users('carol'), null, 'none');
insert into rota.coordinator values ('lab', 'carol');
select is(t.users('carol'), 'alice bob', 'those of the accounts below');
select is((select count(*) from jsonb_array_elements(t.ask(t.uid('alice'), 'alice', '{"report": "failures"}') -> 'rows')), 0::bigint, 'nobody else''s failures');
select throws_ok(format($$select t.ask(t.uid('bob'), 'bob', '{"report": "job", "jobs": ["%s"]}')$$, :'j'), 'RT403', null, 'nobody else''s job');

select throws_ok(format('select t.ask(0, ''root'', %L)', r), 'RT422', null, r)
from unnest(array['{"report": "weather"}', '{"report": "usage", "by": "colour"}', '{"report": "usage", "by": "user,user"}', '{"report": "usage", "period": "week"}',
	'{"report": "usage", "since": "2026-05-01T00:00:00Z"}', '{"report": "failures", "by": "cause,user"}', '{"report": "failures", "period": "month"}', '{"report": "utilization", "by": "node,partition"}', '{"report": "utilization", "user": "alice"}', '{"report": "utilization", "account": "lab"}',
	'{"report": "utilization", "qos": "normal"}']) r;

-- Exports have each table's rows of the jobs that ended in the month, and no private column; their queries run unchanged.
create function t.exported(p_month text) returns text language plpgsql as $$
declare
	v_one record;
	v_n bigint;
	v_answer text := '';
begin
	for v_one in select x.name, x.query from jsonb_to_recordset(api.export_plan(0, 'root', jsonb_build_object('month', p_month)) -> 'tables') as x (name text, query text) order by x.name loop
		execute format('select count(*) from (%s) x', v_one.query) into v_n;
		v_answer := concat_ws(' ', nullif(v_answer, ''), case when v_n > 0 then v_one.name || ':' || v_n end);
	end loop;
	return v_answer;
end $$;
select is(t.exported('2026-02'), 'allocation:2 attempt:2 event:8 job:2 node:4 step:2 step_request:2 task_end:2', 'a month');
select is(t.exported('2020-01'), 'node:4', 'a month of nothing');
select is_empty($$select x.name from jsonb_to_recordset(api.export_plan(0, 'root', '{"month": "2026-02"}') -> 'tables') as x (name text, query text)
	where x.query ~ 'script_hash|environment_hash|\yspec\y|\yauth\y|\youtput\y'$$, 'nothing private');
select throws_ok($$select api.export_plan(1097, 'alice', '{"month": "2026-02"}')$$, 'RT403', null, 'not everybody exports');
select throws_ok($$select api.export_plan(0, 'root', '{"month": "2026-13"}')$$, 'RT422', null, 'no such month');
select throws_ok($$select api.export_plan(0, 'root', '{"from": "7"}')$$, 'RT404', null, 'no such range');
select throws_ok(format($$select api.export_plan(0, 'root', '{"month": "%s"}')$$, to_char(now(), 'YYYY-MM')), 'RT409', null, 'a month that is not over');

-- A range is detached as a whole once all of its jobs are over; its usage figures stay.
select throws_ok($$select api.range_detach(1097, 'alice', '{"from": "0"}')$$, 'RT403', null, 'not everybody detaches');
select throws_ok($$select api.range_detach(0, 'root', '{"from": "7"}')$$, 'RT404', null, 'no such range');
select throws_ok($$select api.range_detach(0, 'root', '{"from": "0"}')$$, 'RT409', null, 'jobs to come are in it');
select throws_ok($$select api.range_drop(0, 'root', '{"from": "0"}')$$, 'RT409', null, 'it is not detached');
alter table rota.job alter job_id restart 1000000;
select api.range_ensure() \g /dev/null
select throws_like($$select api.range_detach(0, 'root', '{"from": "0"}')$$, '%has not been added up%', 'its usage is not added up');
select api.usage_roll(1000) \g /dev/null
select t.submit('alice', '[{"name": "a"}]', format('[{"step": "a", "job": %s}]', :j)::jsonb) as w \gset
-- Without node_size and task_end, since this test made up the allocations and wrote no matching rows of nodes and tasks.
create view t.differing as select * from acct.usage_audit('2026-01-01', '2027-01-01') where figures not in ('node_size', 'task_end');
select is_empty($$select * from t.differing$$, 'the figures are those of the rows');
select is(api.export_plan(0, 'root', '{"month": "2026-02"}') ->> 'without', '[]', 'an export has all jobs of its month');
create temporary table before as select * from acct.usage_month where cpu_s > 0;
insert into rota.client_key (uid, client_key, job_id) select 1097, 'key ' || x, x from unnest('{1,2000000}'::bigint[]) x;
select is(api.range_detach(0, 'root', '{"from": "0"}') ->> 'detached', 'true', 'it is detached');
select is((select array_agg(k.job_id) from rota.client_key k), '{2000000}', 'its jobs are not known by their keys any more');
select is((select count(*) from acct.job), 1::bigint, 'its jobs are no longer seen');
select set_eq('select * from acct.usage_month where cpu_s > 0', 'select * from before', 'what they used is');
select is(api.range_detach(0, 'root', '{"from": "0"}') ->> 'detached', 'false', 'once');
select is((select g.during from internal.range_gone() g), '[2026-02-09 23:59Z,2026-03-05 01:00Z]'::tstzrange, 'when they lived is known');
select is(api.export_plan(0, 'root', jsonb_build_object('month', m)) ->> 'without', w, 'what an export of ' || m || ' lacks is named')
from (values ('2026-01', '[]'), ('2026-02', '[{"to_job": 1000000, "from_job": 0}]'), ('2026-03', '[{"to_job": 1000000, "from_job": 0}]'), ('2026-04', '[]')) x (m, w);
create function t.audited() returns text language sql set time zone 'UTC' as $$
	select string_agg(a.figures || ' ' || coalesce(a.key ->> 'hour', a.key ->> 'day', a.key ->> 'month'), ', ' order by a.figures, a.key) from t.differing a $$;
select is(t.audited(), null, 'what they used is held against nothing');
insert into rota.usage_hour (hour, account, user_name, partition, qos, cpu_s) select x::timestamptz, '', 'eve', 'main', 'normal', 1
from unnest('{2026-02-09 22:00Z,2026-02-09 23:00Z,2026-03-05 01:00Z,2026-03-05 02:00Z}'::text[]) x;
insert into rota.usage_day (day, account, user_name, partition, qos, cpu_s) select x::date, '', 'eve', 'main', 'normal', 1 from unnest('{2026-02-08,2026-02-09,2026-03-05,2026-03-06}'::text[]) x;
insert into rota.usage_month (month, account, user_name, partition, qos, cpu_s) select x::date, '', 'eve', 'main', 'normal', 1 from unnest('{2026-01-01,2026-02-01,2026-03-01,2026-04-01}'::text[]) x;
select is(t.audited(), 'usage_day 2026-02-08, usage_day 2026-03-06, usage_hour 2026-02-09T22:00:00+00:00, usage_hour 2026-03-05T02:00:00+00:00, usage_month 2026-01-01, usage_month 2026-04-01',
	'before and after, nothing is spared');
select is((select string_agg(r ->> 'attached', ' ' order by (r ->> 'from_job')::bigint) from jsonb_array_elements(api.range_list(0, 'root', '{}') -> 'ranges') r where (r ->> 'from_job')::bigint < 2000000), 'false true', 'the list says so');
select throws_ok($$select api.usage_rebuild(0, 'root', '{}')$$, 'RT409', null, 'figures are not made anew without it');
select is((api.range_drop(0, 'root', '{"from": "0"}') ->> 'tables')::int > 5, true, 'it is dropped');
select throws_ok($$select api.range_drop(0, 'root', '{"from": "0"}')$$, 'RT404', null, 'once');
select is(t.state(:'w' || '.a'), 'pending', 'what came later waits as before') where t.state(:'w' || '.a') = 'pending';
-- All attempts that ended in the month count, also failed ones of a step that completed later. Attempts of other months do not.
select t.submit('alice', '[{"name": "a", "cpus_per_task": 2, "retry": 2}]') as r \gset
select t.start(:'r' || '.a'), t.run(:'r' || '.a'), t.fail(:'r' || '.a', 5) \g /dev/null
update rota.step set begin_at = null where job_id = :r;
select t.start(:'r' || '.a'), t.run(:'r' || '.a'), t.fail(:'r' || '.a', 6) \g /dev/null
update rota.step set begin_at = null where job_id = :r;
select t.start(:'r' || '.a'), t.run(:'r' || '.a'), t.finish(:'r' || '.a') \g /dev/null
update rota.allocation set started_at = now() - interval '30 minutes', ended_at = now() where job_id = :r;
update rota.attempt set ordered_at = ordered_at - v.ago, started_at = started_at - v.ago, done_at = done_at - v.ago, ended_at = ended_at - v.ago
from (values (1, interval '2 hours'), (2, interval '20 days')) v (nr, ago)
where job_id = :r and attempt = v.nr;
update rota.job set submit_at = submit_at - interval '25 days' where job_id = :r;
select is((select state from rota.job where job_id = :r), 'completed', 'the job completed');
select is(t.rows(jsonb_build_object('report', 'failures', 'since', now() - x.days * interval '1 day', 'until', now() + interval '1 day', 'user', x.who), 'cause', 'state', 'attempts', 'jobs', 'users', 'lost_h', 'example'),
	nullif(format(x.y, :r), ''), x.what)
from (values (1, 'alice', 'exit failed 1 1 1 1.00 %s', 'one attempt failed today'), (30, 'alice', 'exit failed 2 1 1 2.00 %s', 'two in this month'), (1, 'bob', '', 'no attempt of another user')) x (days, who, y, what);
select is((select string_agg(concat_ws(' ', attempt, state, ran_again, cpu_held_s::int), ', ' order by attempt) from acct.failure where job_id = :r), '1 failed t 3600, 2 failed t 3600', 'they are rows of acct.failure');
select * from finish();
rollback;
