-- Times for which nodes were off, and the energy saved: transitions of power that begin and end one, the report, and
-- acct.node_upkeep.
begin;
\ir world.psql
select * from no_plan();
create function t.move(p_node int, p_power text) returns text language plpgsql as $$
begin
	perform internal.power_set(p_node, p_power, 'test', null);
	return (select string_agg(concat_ws(' ', case when on_at is null then 'off' else 'on' end, idle_watts), ', ' order by off_at) from rota.node_off where node_id = p_node);
end $$;
create function t.report(p_request jsonb) returns text language plpgsql as $$
begin
	return (select string_agg(concat_ws(' ', r ->> 'node', r ->> 'times', round((r ->> 'off_h')::numeric, 2), round((r ->> 'percent')::numeric, 1), coalesce(round((r ->> 'saved_kwh')::numeric, 3)::text, '-')), ', ')
		from jsonb_array_elements(api.report(t.uid('alice'), 'alice', '{"report": "energy"}' || p_request) -> 'rows') r);
exception when sqlstate 'RT422' then
	return sqlerrm;
end $$;
select t.back(i) from generate_series(1, 4) i \g /dev/null
select is(api.admin_change(0, 'root', '{"object": "node", "action": "change", "name": "n1", "values": {"idle_watts": 100}}') ->> 'changed', 'true', 'an administrator says what it takes');
select throws_ok($$select api.admin_change(0, 'root', '{"object": "node", "action": "change", "name": "n1", "values": {"idle_watts": 0}}')$$, 'RT422', null, 'some');
select throws_ok($$update rota.node set idle_watts = 0$$, '23514', null, 'or nothing is known');

select is(t.move(1, 'powering_off'), null, 'it is not off yet');
select is(t.move(1, 'on'), null, 'nor when it stays on');
select is(t.move(1, 'powering_off'), null, 'once more');
select is(t.move(1, 'off'), 'off 100', 'now');
select is(t.move(1, 'powering_on'), 'on 100', 'until it is asked to come');
select is(t.move(1, 'off'), 'on 100', 'one that does not come saves nothing that is known');
select is(t.move(1, 'on'), 'on 100', 'nor when it comes later');
select t.move(2, 'powering_off') \g /dev/null
select is(t.move(2, 'off'), 'off', 'of another one nobody knows what it takes');
select is(t.move(2, 'on'), 'on', 'one that comes by itself is on');
select throws_ok($$insert into rota.node_off (node_id, node, off_at) values (1, 'n1', now()), (1, 'n1', now() + interval '1 s')$$, '23505', null, 'off once at a time');
select throws_ok($$insert into rota.node_off (node_id, node, off_at, on_at) values (1, 'n1', now(), now() - interval '1 s')$$, '23514', null, 'not backwards');

-- The report: the parts of these times within its span.
delete from rota.node_off;
insert into rota.node_off (node_id, node, off_at, on_at, idle_watts) values
	(1, 'n1', '2026-03-01 10:00Z', '2026-03-01 14:00Z', 100), (1, 'n1', '2026-03-01 20:00Z', '2026-03-02 02:00Z', 100), (2, 'n2', '2026-03-01 12:00Z', '2026-03-01 13:00Z', null),
	(3, 'n3', '2026-03-03 12:00Z', '2026-03-03 13:00Z', 100), (4, 'n4', '2026-03-01 23:00Z', null, 200);
select is(t.report('{"since": "2026-03-01T00:00:00Z", "until": "2026-03-02T00:00:00Z"}'), 'n1 2 8.00 33.3 0.800, n4 1 1.00 4.2 0.200, n2 1 1.00 4.2 -', 'those of a day, what saved most first');
select is(t.report('{"since": "2026-03-01T00:00:00Z", "until": "2026-03-02T00:00:00Z", "by": "none"}'), '4 10.00 13.9 1.000', 'together');
select is(t.report('{"since": "2026-03-01T00:00:00Z", "until": "2026-03-02T00:00:00Z", "limit": 1}'), 'n1 2 8.00 33.3 0.800', 'one row');
select is(t.report('{"since": "2026-02-01T00:00:00Z", "until": "2026-02-02T00:00:00Z"}'), null, 'none before');
select is(t.report('{"period": "day"}') like '%takes no "period"%', true, 'not by days');
select is(t.report('{"user": "alice"}') like '%takes no "user"%', true, 'nor of a user');
select is(t.report('{"by": "account"}') like '%cannot be grouped by "account"%', true, 'or account');
select is((select string_agg(concat_ws(' ', node, kind, state, seconds, saved_j), ', ' order by began_at) from acct.node_upkeep where ended_at < '2026-03-02Z'),
	'n1 off on 14400.000000 1440000.000000, n2 off on 3600.000000', 'joules in acct.node_upkeep');
insert into rota.node_reboot (node_id, node, reason, made_by, asap, state, boots, prep, run_id, began_at, stage_at, ended_at, message) values
	(1, 'n1', 'x', 'schedule', true, 'failed', false, 'mig:2', 1, '2026-03-01 10:00Z', '2026-03-01 10:00Z', '2026-03-01 10:01Z', 'bad');
select is((select concat_ws(' ', kind, name, state, made_by, seconds, cpu_s, message) from acct.node_upkeep where kind = 'preparation'),
	format('preparation mig:2 failed schedule 60.000000 %s bad', 60.000000 * (select cpus from rota.node where node_id = 1)), 'what a change has cost');
select internal.power_tidy() \g /dev/null
select is((select count(*) from rota.node_off), 5::bigint, 'kept for a year');
update rota.node_off set off_at = off_at - interval '400 days', on_at = on_at - interval '400 days';
select internal.power_tidy() \g /dev/null
select is((select count(*) from rota.node_off), 1::bigint, 'then only what is not over');
select * from finish();
rollback;
