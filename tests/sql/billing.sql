-- Billing. Weights hold by month and prices by account. A grant carries units over, and refuses steps or lowers their priority at its
-- end. An invoice and the cost of a tried job have the same units.
begin;
\ir world.psql
\ir admin.psql
select * from no_plan();
create function t.refused(p_user text, p_step jsonb, p_job jsonb default '{}') returns text language plpgsql as $$
begin
	perform t.submit(p_user, jsonb_build_array(p_step || '{"name": "a", "line": 7}'), '[]', p_job);
	return 'taken';
exception when sqlstate 'RT422' then
	return sqlerrm;
end $$;
create function t.heads() returns text language sql as $$
	select string_agg(internal.step_label(q.job_id, q.step_id), ' ' order by nr) from (select *, row_number() over () as nr from api.schedule_queue(100)) q $$;
create function t.why(p_label text) returns text language sql as $$
	select string_agg(c ->> 'message', '; ') from jsonb_path_query(api.job_why(0, 'root', t.request(p_label)), '$.steps[0].conditions[*] ? (@.message like_regex "grant")') c $$;
create table t.day as select internal.site_day() as today, date_trunc('month', internal.site_day())::date as month;
create function t.today(p_days int) returns text language sql as $$ select to_char(today + p_days, 'YYYY-MM-DD') from t.day $$;
create function t.month(p_months int) returns text language sql as $$ select to_char(month + make_interval(months => p_months), 'YYYY-MM') from t.day $$;
create function t.used(p_day date, p_account text, p_cpu_h numeric, p_partition text default 'main', p_gres jsonb default '{}') returns void language sql as $$
	insert into rota.usage_day (day, account, user_name, partition, qos, cpu_s, mem_mb_s, node_s, gres_s)
	values (p_day, p_account, 'alice', p_partition, 'normal', p_cpu_h * 3600, p_cpu_h * 3600 * 2048, p_cpu_h * 3600, p_gres);
	insert into rota.usage_month as u (month, account, user_name, partition, qos, cpu_s, mem_mb_s, node_s, gres_s)
	values (date_trunc('month', p_day)::date, p_account, 'alice', p_partition, 'normal', p_cpu_h * 3600, p_cpu_h * 3600 * 2048, p_cpu_h * 3600, p_gres)
	on conflict (month, account, user_name, partition, qos) do update set cpu_s = u.cpu_s + excluded.cpu_s, mem_mb_s = u.mem_mb_s + excluded.mem_mb_s,
		node_s = u.node_s + excluded.node_s, gres_s = acct.gres_add(u.gres_s, excluded.gres_s) $$;
select t.admin(o, n, v::jsonb, 'create') from (values ('account', 'uni', '{}'), ('account', 'phys', '{"parent": "uni"}'), ('account', 'lab', '{"parent": "phys"}'), ('account', 'arts', '{}'),
	('partition', 'fast', '{"nodes": "all"}')) x (o, n, v) \g /dev/null

-- Wrong values: api.admin_change refuses them and writes nothing.
select is(t.admin('partition', 'fast', v::jsonb), e, v) from (values
	('{"billing": "cpu"}', 'RT422 "cpu" is no value for "billing"'), ('{"billing": "cpu:-1"}', 'RT422 "cpu:-1" is no value for "billing"'),
	('{"billing": "cpu:1", "billing_from": "2030-13"}', 'RT422 "2030-13" is no value for "billing_from"'),
	('{"billing_from": "2030-01"}', 'RT422 "billing_from" needs "billing"')) x (v, e);
select is(t.admin('price', 'p', v::jsonb, 'create'), e, v) from (values
	('{"per_unit": "1"}', 'RT422 a price needs "from" and "per_unit"'), ('{"from": "2030-01", "per_unit": "x"}', 'RT422 "x" is no value for "per_unit"'),
	('{"from": "2030-01", "per_unit": "1", "account": "none_such"}', 'RT404 there is no account "none_such"'),
	('{"from": "2030-01", "per_unit": "1", "currency": "Euro"}', 'RT422 "Euro" is no value for "currency"')) x (v, e);
select is(t.admin('grant', 'g', v::jsonb, 'create'), e, v) from (values
	('{"account": "phys", "units": "5"}', 'RT422 a grant needs "account", "units", "first_day" and "last_day"'),
	('{"account": "phys", "units": "5", "first_day": "2030-02-30", "last_day": "2030-03-01"}', 'RT422 "2030-02-30" is no value for "first_day"'),
	('{"account": "phys", "units": "5", "first_day": "2030-02-02", "last_day": "2030-02-01"}', 'RT422 grant "g" would end before it begins'),
	('{"account": "nobody", "units": "5", "first_day": "2030-02-02", "last_day": "2030-02-03"}', 'RT404 there is no account "nobody"')) x (v, e);
select is((select count(*) from rota.account_grant) + (select count(*) from rota.price) + (select count(*) from rota.billing_weight), 0::bigint, 'nothing was written');
select is((select t.admin('grant', 'g', '{"units": "1"}')) , 'RT404 there is no grant "g"', 'a grant that is not there');

-- Units are CPU-hours without weights. With weights, those of the partition in that month count.
select t.used((month - interval '1 month')::date, 'lab', 10, 'fast', '{"gpu": 7200}'), t.used(today, 'lab', 10, 'fast', '{"gpu": 7200, "fpga": 3600}'), t.used(today, 'arts', 3) from t.day \g /dev/null
select is((select sum(units) from acct.billing_month), 23.0, 'CPU-hours');
select is(t.admin('partition', 'fast', jsonb_build_object('billing', 'cpu:1,mem:0.25,gpu:20,node:2', 'billing_from', t.month(-1))), 'true', 'weights');
select is(t.admin('partition', 'fast', '{"billing": "cpu:2"}'), 'true', 'others from this month on');
select is((select array_agg(round(units, 6) order by month, account) from acct.billing_month), array[10 + 0.25 * 20 + 20 * 2 + 2 * 10, 3, 2 * 10]::numeric[], 'each month by its own');
select is(api.admin_change(0, 'root', '{"object": "partition", "action": "show", "name": "fast"}') #> array['row', 'billing', t.month(-1)], '{"cpu": 1, "gpu": 20, "mem": 0.25, "node": 2}', 'they are shown');
select is(t.admin('partition', 'fast', '{"billing": "none"}'), 'true', 'taken back');
select is((select sum(units) from acct.billing_month where month = (select month from t.day)), 10 * 1 + 20 * 0.25 + 40 + 20 + 3, 'those of the month before hold again');

-- Prices: that of the nearest account above counts, from its first month on.
select is(t.admin('price', n, jsonb_build_object('per_unit', p, 'from', t.month(m)) || v::jsonb, 'create'), 'true', n) from (values ('old', '0.1', -12, '{}'), ('new', '0.2', 0, '{}'),
	('uni', '0.5', -12, '{"account": "uni"}'), ('lab', '1', 0, '{"account": "lab", "currency": "usd"}')) x (n, p, m, v);
select is(t.admin('price', 'twice', jsonb_build_object('per_unit', '1', 'from', t.month(0), 'account', 'lab'), 'create'), format('RT409 price "lab" holds from %s on already for account "lab"', t.month(0)), 'one price for each account and month');
select is((select string_agg(concat_ws(' ', account, per_unit, currency, round(amount, 3)), ', ' order by month, account) from acct.billing_month), 'lab 0.5 EUR 37.500, arts 0.2 EUR 0.600, lab 1 USD 75.000', 'prices');

-- Invoice.
create function t.invoice(p_user text, p_request jsonb) returns jsonb language sql as $$ select api.report(t.uid(p_user), p_user, '{"report": "invoice"}'::jsonb || p_request) $$;
select is(api.report(0, 'root', '{"report": "invoice", "account": ["phys"], "by": ["account"]}') ->> 'title', 'Invoice of account phys for ' || t.month(0) || ': 75.00 USD', 'of an account with those below');
select is(api.report(0, 'root', jsonb_build_object('report', 'invoice', 'month', t.month(-1))) #> '{rows,0}', '{"account": "lab", "user": "alice", "partition": "fast", "cpu_h": 10.0, "mem_gib_h": 20.0, "gpu_h": 2.0,
	"node_h": 10.0, "units": 75.0, "per_unit": 0.5, "amount": 37.5, "currency": "EUR"}', 'a row of the month before');
select t.admin('setting', 'queue_visible', '{"value": "false"}') \g /dev/null
select is(jsonb_array_length(t.invoice('bob', '{}') -> 'rows'), 0, 'others see nothing');
select is(jsonb_array_length(t.invoice('alice', '{}') -> 'rows'), 2, 'a user his own');
select throws_ok($$ select t.invoice('alice', '{"month": "2026-1"}') $$, 'RT422', '"2026-1" is no month');
select throws_ok($$ select t.invoice('alice', '{"since": "today"}') $$, 'RT422', 'an invoice needs a month');

-- The cost of a job that is only tried.
create function t.cost(p_steps jsonb, p_job jsonb) returns jsonb language sql as $$ select api.job_try(t.uid('alice'), 100, 'alice', t.plan(p_steps, '[]', p_job), '#!/bin/bash', '\x413d6200') -> 'cost' $$;
select is(t.cost('[{"name": "a", "cpus_per_task": 2, "time_limit_s": 3600, "partition": "fast", "mem_mb": 1024, "gres": {"gpu": 1}}, {"name": "b", "time_limit_s": 1800, "array": {"size": 4, "indices": [[0, 3, 1]]}}]', '{"account": "arts"}')
	- 'steps', '{"account": "arts", "units": 26.25, "per_unit": 0.2, "amount": 5.25, "currency": "EUR"}', 'two CPUs, a GiB, a GPU and a node for an hour, and four elements of half an hour');
select is(t.cost('[{"name": "a", "time_limit_s": 0}]', '{"account": "lab"}') - 'steps', '{"account": "lab", "units": null, "per_unit": 1, "amount": null, "currency": "USD"}', 'without a time limit nobody knows');

-- A grant whose end refuses steps: before its first day, in force, used up, after its last day.
delete from rota.usage_day;
delete from rota.usage_month;
delete from rota.billing_weight;
select is(t.admin('grant', 'phys-1', jsonb_build_object('account', 'phys', 'units', '10', 'first_day', t.today(3), 'last_day', t.today(30)), 'create'), 'true', 'a grant');
select is(t.refused('alice', '{}', '{"account": "lab"}'), 'test.sh:1: --account: grant "phys-1" of account "phys" begins on ' || t.today(3), 'before it begins');
select is(t.admin('grant', 'phys-2', jsonb_build_object('account', 'phys', 'units', '10', 'first_day', t.today(30), 'last_day', t.today(40)), 'create'),
	format('RT409 account "phys" has grant "phys-1" from %s to %s already', t.today(3), t.today(30)), 'no two at once');
select is(t.admin('grant', 'phys-1', jsonb_build_object('first_day', t.today(-3))), 'true', 'it has begun');
select is(t.refused('alice', '{"time_limit_s": 7200, "cpus_per_task": 4, "ntasks": 2}', '{"account": "lab"}'),
	'test.sh:7: --time: it may come to 16 billing units, at most 10 may be used on account "phys" by its grant "phys-1"', 'more than there is');
select t.submit('alice', '[{"name": "a", "time_limit_s": 7200, "cpus_per_task": 4}, {"name": "b", "time_limit_s": 7200, "cpus_per_task": 2}]', '[]', '{"account": "lab"}') as j \gset
select t.submit('bob', '[{"name": "a"}]', '[]', '{"account": "arts"}') as k \gset
select is(t.start(:'j' || '.a'), 1, 'within it');
select is((select concat_ws(' ', measure, period, most, round(held, 3)) from acct.limit), 'billing grant 10 8.000', 'what runs counts with all it may come to');
select is(t.start(:'j' || '.b', '{2}'), 0, 'the decision keeps to it');
select is(t.why(:'j' || '.b'), '8 of at most 10 billing units used or promised on account "phys" by its grant "phys-1", and it may come to 4 more', 'why');
select is(t.heads(), :'k' || '.a', 'other accounts start');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a') \g /dev/null
select is(t.heads() ~ (:'j' || '\.b'), true, 'what ended early gives back what it did not use');
select t.used(today - 1, 'uni', 100), t.used(today - 2, 'lab', 9.5) from t.day \g /dev/null
select is((select concat_ws(' ', state, units, carried, round(used, 1), round(left_over, 1)) from acct.account_grant), 'active 10 0 9.5 0.5', 'of the account and those below');
select is(t.heads(), :'k' || '.a', 'too little is left');
select t.used(today, 'phys', 1) from t.day \g /dev/null
select is((select state from acct.account_grant), 'used up', 'used up');
select is(t.refused('alice', '{}', '{"account": "lab"}'), 'test.sh:1: --account: the 10 billing units of grant "phys-1" of account "phys" are used', 'then refused');
select is(t.refused('alice', '{}', '{"account": "uni"}'), 'taken', 'the account above has no grant');
select is(t.admin('grant', 'phys-1', jsonb_build_object('last_day', t.today(-1), 'units', '100', 'carry_over', '50')), 'true', 'over');
select is(t.refused('alice', '{}', '{"account": "lab"}'), format('test.sh:1: --account: grant "phys-1" of account "phys" ended on %s', t.today(-1)), 'over');
select is(t.why(:'j' || '.b') ~ format('^10 of at most 0 billing units used or promised on account "phys" by its grant "phys-1", which ended on %s, and it may come to 4 more', t.today(-1)), true, 'why');
-- A grant whose last day was yesterday, with 9.5 units used: of the 90.5 left, 50 are carried over to the next grant.
select is(t.admin('grant', 'phys-2', jsonb_build_object('account', 'phys', 'units', '10', 'first_day', t.today(0), 'last_day', t.today(40), 'at_end', 'low_priority'), 'create'), 'true', 'the next one');
select is((select string_agg(concat_ws(' ', name, state, units, carried, round(used, 1), round(left_over, 1)), ', ' order by name) from acct.account_grant), 'phys-1 over 100 0 9.5 90.5, phys-2 active 10 50 1.0 59.0', 'carried over');

-- A grant that is used up and gives a low priority.
select is(split_part(t.heads(), ' ', 1), :'j' || '.b', 'the oldest first');
select t.used(today, 'lab', 59) from t.day \g /dev/null
select is(t.heads() ~ ('^' || :'k' || '\.a .*' || :'j' || '\.b$'), true, 'after all others');
select is(t.why(:'j' || '.b'), 'grant "phys-2" of account "phys" is used up, so the step comes after those of all others', 'why');
select is(t.refused('alice', '{}', '{"account": "lab"}'), 'taken', 'nothing is refused');
select is(t.start(:'j' || '.b', '{2}'), 1, 'and it may start');

-- A user sees the grants of the accounts that this user may use.
select is(jsonb_array_length(api.share_list(t.uid('alice'), 'alice', '{}') -> 'grants'), 0, 'not who has no account');
select t.admin('association', 'lab/alice', '{}', 'create') \g /dev/null
select is(jsonb_array_length(api.share_list(t.uid('alice'), 'alice', '{}') -> 'grants'), 2, 'who may use the account');
select throws_ok($$ select api.admin_change(t.uid('alice'), 'alice', '{"object": "grant", "action": "change", "name": "phys-2", "values": {"units": "100000"}}') $$, 'RT403');
select is(t.admin('grant', 'phys-2', '{}', 'delete'), 'true', 'deleted');
select is(t.wrong(), null, 'nothing is wrong');
select * from finish();
rollback;
