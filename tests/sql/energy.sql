-- Energy and carbon: a node's energy is divided by CPUs held, spread over the hours, added up, and multiplied by the intensity of its
-- hour. All views and reports agree.
begin;
\ir world.psql
\ir admin.psql
select * from no_plan();

-- Values of carbon: one number, or one for each hour.
select is(t.admin('carbon', 'c', v::jsonb, 'create'), e, v) from (values
	('{"from": "2030-01"}', 'RT422 carbon needs "from" and "g_per_kwh"'),
	('{"from": "2030-01", "g_per_kwh": "0-22:1"}', 'RT422 "0-22:1" is no value for "g_per_kwh"'),
	('{"from": "2030-01", "g_per_kwh": "0-23:1,7:2"}', 'RT422 "0-23:1,7:2" is no value for "g_per_kwh"'),
	('{"from": "2030-01", "g_per_kwh": "0-24:1"}', 'RT422 "0-24:1" is no value for "g_per_kwh"'),
	('{"from": "2030-01", "g_per_kwh": "23-0:1"}', 'RT422 "23-0:1" is no value for "g_per_kwh"'),
	('{"from": "2030-01", "g_per_kwh": "-5"}', 'RT422 "-5" is no value for "g_per_kwh"'),
	('{"from": "2030-1", "g_per_kwh": "5"}', 'RT422 "2030-1" is no value for "from"')) x (v, e);
select is((select count(*) from rota.carbon_intensity), 0::bigint, 'nothing was written');
select is(t.admin('carbon', 'old', '{"from": "2010-01", "g_per_kwh": "0-11:100,12-22:200,23:50.5"}', 'create'), 'true', 'by hours');
select is(t.admin('carbon', 'again', '{"from": "2010-01", "g_per_kwh": "1"}', 'create'), 'RT409 carbon "old" holds from 2010-01 on already', 'one for each month');
select throws_ok(format($$select api.admin_change(t.uid('alice'), 'alice', '{"object": "carbon", "action": %s, "name": "old", "values": {}}')$$, to_jsonb(a)), 'RT403', null, a) from unnest('{change,delete,show}'::text[]) a;
select is(t.admin('carbon', 'new', '{"from": "2019-02", "g_per_kwh": "400"}', 'create'), 'true', 'another from a later month on');
select is((select string_agg(concat_ws(' ', hour, g_per_kwh), ', ' order by hour) from acct.carbon_intensity where name = 'old' and hour in (0, 11, 12, 22, 23)), '0 100, 11 100, 12 200, 22 200, 23 50.5', 'each hour has its own');
select is((select count(*) || ' ' || min(until_month) || ' ' || max(until_month) from acct.carbon_intensity), '48 2019-02-01 infinity', 'until the next one');

-- The energy of an attempt, by its CPUs. t.took: an attempt of p_cpus CPUs on each of these nodes, whose end reports the energy
-- in p_end.
select is((select array_agg(cpus order by node_id) from rota.node_used where node_id <= 2), '{4,4}', 'of nodes with four CPUs');
create function t.took(p_cpus int, p_end jsonb, p_nodes int[] default '{1}') returns bigint language plpgsql as $$
declare
	v_job constant bigint := t.submit('alice', jsonb_build_array(jsonb_build_object('name', 'a', 'cpus_per_task', p_cpus, 'nodes_min', cardinality(p_nodes), 'ntasks', cardinality(p_nodes))));
begin
	perform t.start(v_job || '.a', p_nodes), t.run(v_job || '.a'), t.finish(v_job || '.a', '{}', p_end);
	return v_job;
end $$;
create function t.energy(p_job bigint) returns text language sql as $$ select concat_ws(' ', round(energy_j::numeric, 6)) from acct.step where job_id = p_job $$;
select is(t.energy(t.took(1, '{"node_uj": 8000000}')), '2.000000', 'one CPU of four');
select is(t.energy(t.took(4, '{"node_uj": 8000000}')), '8.000000', 'all of them');
select is(t.energy(t.took(1, '{"node_uj": 8000000}', '{1,2}')), '4.000000', 'two nodes');
select is(t.energy(t.took(1, '{}')), '', 'a node that cannot tell');
select is(t.energy(t.took(1, '{"node_uj": 0}')), '0.000000', 'none is not unknown');
select is(t.energy(t.took(1, '{"node_uj": -8000000}')), '', 'less than none is unknown');
select t.took(2, '{"node_uj": 8000000}') as j \gset
select t.report(t.say(:'j' || '.a', 'end', '{"node_uj": 99000000}')) \g /dev/null
select is(t.energy(:j), '4.000000', 'what is reported again changes nothing');
-- A step of a job group frees its CPUs when its tasks end, and stays for the epilog: its energy is that until the end of its
-- tasks.
select t.submit('alice', '[{"name": "a", "group": "g", "cpus_per_task": 2}]') as g \gset
select t.start(:'g' || '.a'), t.run(:'g' || '.a') \g /dev/null
update rota.allocation set started_at = now() - interval '30 seconds' where job_id = :g;
select t.report(t.say(:'g' || '.a', 'done')) \g /dev/null
update rota.allocation set ended_at = started_at + interval '10 seconds' where job_id = :g;
select is((select concat_ws(' ', phase, energy_j) from rota.allocation where job_id = :g), 'done', 'its tasks have ended');
select t.report(t.say(:'g' || '.a', 'end', '{"node_uj": 60000000}')) \g /dev/null
select is((select round(energy_j * extract(epoch from gone_at - started_at) / 10, 3) from rota.allocation where job_id = :g), 30.000, 'half of the node, for the part of the time');
-- A step that was without its CPUs for half of its time.
select t.submit('alice', '[{"name": "a", "cpus_per_task": 4}]') as k \gset
select t.start(:'k' || '.a'), t.run(:'k' || '.a') \g /dev/null
update rota.allocation set started_at = now() - interval '100 seconds', without_cpus = tstzmultirange(tstzrange(now() - interval '80 seconds', now() - interval '30 seconds')) where job_id = :k;
select t.finish(:'k' || '.a', '{}', '{"node_uj": 8000000}') \g /dev/null
select is((select round(energy_j * extract(epoch from ended_at - started_at) / (extract(epoch from ended_at - started_at) - 50), 3) from rota.allocation where job_id = :k), 8.000, 'less the time without CPUs');

-- Hours: an allocation over three of them, in the evening of a day before that of another month's intensities. Zone of half hours.
select t.admin('setting', 'time_zone', '{"value": "Asia/Kolkata"}') \g /dev/null
select api.usage_roll(10000), api.usage_roll(10000) \g /dev/null
select t.took(2, '{"node_uj": 2000000}') as j, t.took(2, '{"node_uj": 2000000}') as w \gset
update rota.allocation a set started_at = timestamptz '2018-10-05 22:30Z', ended_at = timestamptz '2018-10-06 00:30Z', gone_at = timestamptz '2018-10-06 00:30Z' where job_id = :j;
-- From 17:30 to 19:30 UTC: in Kolkata the month ends at 18:30.
update rota.allocation a set started_at = timestamptz '2019-01-31 17:30Z', ended_at = timestamptz '2019-01-31 19:30Z', gone_at = timestamptz '2019-01-31 19:30Z' where job_id = :w;
delete from rota.usage_pending;
update rota.usage_state set rebuild_at = now();
select api.usage_roll(10000), api.usage_roll(10000) \g /dev/null
select is((select string_agg(concat_ws(' ', to_char(hour at time zone 'UTC', 'HH24'), round(energy_j, 6), round(carbon_g * 3600000, 3)), ', ' order by hour) from acct.usage_hour where hour between '2018-10-05Z' and '2018-10-07Z'),
	'22 0.250000 50.000, 23 0.500000 25.250, 00 0.250000 25.000', 'energy and carbon of each hour');
select is((select jsonb_build_array(energy_hours, day) from rota.usage_day where day between '2018-10-01' and '2018-10-31'), '[{"0": 0.25, "22": 0.25, "23": 0.5}, "2018-10-06"]', 'a day of the site has energy by hours of UTC');
select is((select round(carbon_g::numeric * 3600000, 3) from acct.step where job_id = :j), 100.250, 'the step has the same carbon');
select is((select string_agg(concat_ws(' ', day, round(energy_j, 6), round(carbon_g * 3600000, 3)), ', ' order by day) from acct.usage_day where day between '2019-01-01' and '2019-12-31'),
	'2019-01-31 0.500000 100.000, 2019-02-01 0.500000 200.000', 'the intensities of each month');
select is((select string_agg(concat_ws(' ', month, round(energy_j, 6), round(carbon_g * 3600000, 3)), ', ' order by month) from acct.usage_month where month between '2018-01-01' and '2019-12-31'),
	'2018-10-01 1.000000 100.250, 2019-01-01 0.500000 100.000, 2019-02-01 0.500000 200.000', 'months');
select is((select string_agg(concat_ws(' ', month, node, round(energy_j, 6), round(carbon_g * 3600000, 3)), ', ' order by month) from acct.node_usage_month where month between '2018-01-01' and '2019-12-31'),
	'2018-10-01 n1 1.000000 100.250, 2019-01-01 n1 0.500000 100.000, 2019-02-01 n1 0.500000 200.000', 'nodes');
select is((select count(*) from acct.usage_audit('2010-01-01', '2099-01-01') where figures like '%usage%'), 0::bigint, 'the audit finds the same');
update rota.usage_day set energy_hours = '{"3": 1}' where day = '2018-10-06';
select is((select string_agg(figures, ',') from acct.usage_audit('2010-01-01', '2099-01-01') where figures like '%usage%'), 'usage_day', 'and what is not');
update rota.usage_day set energy_hours = '{"0": 0.25, "22": 0.25, "23": 0.5}' where day = '2018-10-06';
-- All views agree: attempts, steps, allocations, efficiency, usage, reports, accounting.
select is((select array_agg(distinct x.e) from (values ((select round(sum(energy_j)::numeric, 6) from acct.allocation)), ((select round(sum(energy_j)::numeric, 6) from acct.attempt)), ((select round(sum(energy_j)::numeric, 6) from acct.step)),
	((select round(sum(energy_j), 6) from acct.efficiency)), ((select round(sum(energy_j), 6) from acct.usage_hour)), ((select round(sum(energy_j), 6) from acct.usage_month)),
	((select round(sum((r ->> 'energy_kwh')::numeric) * 3600000, 6) from jsonb_array_elements(api.report(0, 'root', '{"report": "efficiency", "since": "2010-01-01", "until": "2099-01-01"}') -> 'rows') r)),
	((select round(sum((r ->> 'energy_j')::numeric), 6) from jsonb_array_elements((api.job_acct(0, 'root', '{}')::jsonb) -> 'rows') r))) x (e)),
	array[(select round(sum(energy_j), 6) from rota.allocation)], 'all views have the same energy');
-- The energies are whole microjoules, so the sums are multiples of a 9000th of a microgram: none is halfway between two numbers of three
-- decimals.
select is((select array_agg(distinct round(x.g * 1000000, 3)) from (values ((select sum(carbon_g)::numeric from acct.allocation)), ((select sum(carbon_g)::numeric from acct.attempt)), ((select sum(carbon_g)::numeric from acct.step)),
	((select sum(carbon_g) from acct.efficiency)), ((select sum(carbon_g) from acct.usage_month))) x (g)),
	array[(select round(sum(carbon_g) * 1000000, 3) from acct.usage_day)], 'and the same carbon');
select is((select jsonb_build_array(round((r ->> 'energy_kwh')::numeric * 3600000, 6), round((r ->> 'carbon_kg')::numeric * 3600000000, 3)) from jsonb_array_elements(api.report(0, 'root', jsonb_build_object('report', 'job', 'jobs', jsonb_build_array(:'j'))) -> 'rows') r),
	'[1.000000, 100.250]', 'the report of a job');
-- Without intensities there is energy and no carbon.
select is(t.admin('carbon', n, '{}', 'delete'), 'true', n) from unnest('{old,new}'::text[]) n;
select is((select concat_ws(' ', energy_j, carbon_g) from acct.step where job_id = :j), '1', 'energy alone');
select is((select carbon_g from acct.usage_month where month = '2018-10-01'), null, 'null is not known');
select * from finish();
rollback;
