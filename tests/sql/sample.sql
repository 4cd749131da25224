-- Samples: each counts once, even if it is sent again; unknown figures stay unknown; and the users that see the sums.
begin;
\ir world.psql
select * from no_plan();
create function t.took(p_label text, p_clock bigint, p_figures jsonb default '{}', p_node int default 1) returns jsonb language sql as $$
	select jsonb_build_object('clock', p_clock, 'steps', jsonb_build_array(jsonb_build_object('job', s.job_id, 'step', s.step_id, 'attempt', s.attempt, 'task', -1)
		|| p_figures)) from t.step(p_label) s;
$$;
create function t.sample(variadic p_rounds jsonb[]) returns int language sql as $$
	select api.node_sample(jsonb_build_object('node', 1, 'rounds', to_jsonb(p_rounds)));
$$;
create function t.ask(p_verb text, p_user text, p_request jsonb default '{}') returns jsonb language plpgsql as $$
declare
	v_answer jsonb;
begin
	execute format('select api.%s($1, $2, $3)', p_verb) into v_answer using case p_user when 'root' then 0 else t.uid(p_user) end, p_user, p_request;
	return v_answer;
end $$;
create function t.stats(p_label text) returns jsonb language sql as $$
	select to_jsonb(x) from t.step(p_label) s join acct.step_stats x on x.job_id = s.job_id and x.step_id = s.step_id and x.attempt = s.attempt;
$$;
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a') \g /dev/null
select t.run(:'j' || '.a') \g /dev/null
select is(t.stats(:'j' || '.a') ->> 'samples', '0', 'no samples: 0 of them');
select is(t.stats(:'j' || '.a') ->> 'cpu_s', null, 'and nothing is known');
select is(t.sample(t.took(:'j' || '.a', 1000000, '{"cpu_usec": 100000, "rss_kb": 100, "processes": 2, "threads": 3}')), 1, 'a sample is new');
select is(t.sample(t.took(:'j' || '.a', 1000000, '{"cpu_usec": 100000, "rss_kb": 100, "processes": 2, "threads": 3}')), 0, 'once');
select is(t.sample(t.took(:'j' || '.a', 3000000, '{"cpu_usec": 3100000, "rss_kb": 500, "processes": 2, "threads": 3}'),
	t.took(:'j' || '.a', 1000000, '{"cpu_usec": 9}'), t.took(:'j' || '.a', 2000000, '{"cpu_usec": 200000, "rss_kb": 300, "processes": 4, "threads": 5}')), 2, 'of three rounds the two that are new, by their clocks');
select is((select count(*)::int from rota.sample), 3, 'each is kept once');
select results_eq(format($$select samples::int, cpu_s::float, cpus_last::float, cpus_mean::float, cpus_max::float, rss_kb_last, rss_kb_mean, rss_kb_max, processes_mean::numeric(9,2), threads_max::int
	from acct.step_stats where job_id = %s$$, :'j'), $$values (3, 3.1::float, 2.9::float, 1.5::float, 2.9::float, 500::bigint, 300::bigint, 500::bigint, 2.67, 5)$$, 'last, mean and highest');
select results_eq(format($$select swap_kb_last is null, swap_kb_mean is null, swap_kb_max is null, read_bytes is null, read_rate_last is null, read_rate_mean is null, read_rate_max is null, minor_faults is null, peak_mb is null, gauges is null
	from acct.step_stats where job_id = %s$$, :'j'), 'values (true, true, true, true, true, true, true, true, true, true)', 'what was never reported is unknown, not 0');
select is(t.sample(t.took(:'j' || '.a', 4000000, '{"cpu_usec": 3000000, "processes": 1, "threads": 1}')), 1, 'a sample that knows less, of counters that went back');
select results_eq(format($$select cpus_last is null, cpus_max::float, rss_kb_last, rss_kb_mean, rss_kb_max from acct.step_stats where job_id = %s$$, :'j'),
	$$values (true, 2.9::float, null::bigint, null::bigint, 500::bigint)$$, 'a mean that lacks a part is unknown, the highest that was seen is not');
select is(t.sample(jsonb_set(t.took(:'j' || '.a', 5000000), '{steps,0,attempt}', '7')), 0, 'of an attempt that there is not nothing is kept');
select is(api.node_sample(jsonb_build_object('node', 2, 'rounds', jsonb_build_array(t.took(:'j' || '.a', 5000000)))), 0, 'nor of another node');
select is(api.node_sample(jsonb_build_object('node', 1, 'boot_us', 1577836800000000, 'rounds', jsonb_build_array(t.took(:'j' || '.a', 6000000, '{"cpu_usec": 3500000, "rss_kb": 1}')))), 1, 'what is older than any day that is kept');
select is((select count(*)::int from rota.sample), 4, 'counts, and is not kept');

-- Samples of single tasks.
select is(t.sample(t.took(:'j' || '.a', 7000000, '{"task": 2, "cpu_usec": 1000}')), 1, 'a task of several');
select results_eq(format('select task, samples, cpu_s::float from acct.task_stats where job_id = %s', :'j'), 'values (2, 1, 0.001::float)', 'has figures of its own');
select is((t.stats(:'j' || '.a') ->> 'samples')::int, 5, 'which are not added to the step''s');

-- Figures of the end replace those of the samples.
select t.finish(:'j' || '.a') \g /dev/null
select is((t.stats(:'j' || '.a') ->> 'cpu_s')::float, 0.0025::float, 'CPU time as the node counted it at the end');
select results_eq(format('select peak_mb, max_rss_kb, read_bytes, rss_kb_max from acct.step_stats where job_id = %s', :'j'), 'values (3::bigint, 2048::bigint, 10::bigint, 500::bigint)', 'with the highest of the samples');
select results_eq(format('select samples, cpu_s::float, rss_kb_max, peak_mb from acct.job_stats where job_id = %s', :'j'), 'values (5::bigint, 0.0025::float, 500::bigint, 3::bigint)', 'of the job');
select results_eq(format('select s.peak_mb, t.peak_mb, (t.stats(%L) ->> ''peak_mb'')::bigint from acct.step_stats s join acct.step t using (job_id, step_id) where s.job_id = %s', :'j' || '.a', :'j'),
	'values (3::bigint, 3::bigint, 3::bigint)', 'the peak of a step is the same everywhere');
update rota.allocation set peak_mb = null where job_id = :j \g /dev/null
select is((select peak_mb from acct.step_stats where job_id = :j), null, 'which is no peak of the step where its node counted none');
select t.submit('alice', '[{"name": "short"}]') as k \gset
select t.pass(:'k' || '.short') \g /dev/null
select results_eq(format('select samples::int, cpu_s::float, peak_mb, rss_kb_max from acct.step_stats where job_id = %s', :'k'), 'values (0, 0.0025::float, 3::bigint, null::bigint)', 'a step without samples has its end');

-- Figures of devices count for the step that holds the devices.
select t.submit('alice', '[{"name": "g"}]') as g \gset
select t.start(:'g' || '.g', '{1}', '{"gres": {"gpu": [1]}}') \g /dev/null
select t.run(:'g' || '.g') \g /dev/null
select is(t.sample(t.took(:'g' || '.g', 1, '{"cpu_usec": 1}') || '{"figures": {"gpu0.util": 90, "gpu1.util": 10, "gpu1.note": "x", "fan": 3}}',
	t.took(:'g' || '.g', 2, '{"cpu_usec": 1}') || '{"figures": {"gpu1.util": 40, "gpu1.mem": 7}}', t.took(:'g' || '.g', 3, '{"cpu_usec": 1}')), 3, 'with figures and without');
select is(t.stats(:'g' || '.g') -> 'gauges', '{"n1:gpu1.util": {"last": 40, "max": 40, "mean": 25.000}, "n1:gpu1.mem": {"last": 7, "max": 7, "mean": 7.000}}', 'last, highest, mean');
select is_empty(format($$select from acct.sample where job_id = %s and gauges ? 'gpu0.util'$$, :'g'), 'those of others are others''');
update rota.allocation set without_gpus = tstzmultirange(tstzrange(now(), null)) where job_id = :g \g /dev/null
select t.sample(t.took(:'g' || '.g', 4, '{"cpu_usec": 1}') || '{"figures": {"gpu1.util": 99}}') \g /dev/null
select is(t.stats(:'g' || '.g') #>> '{gauges,n1:gpu1.util,max}', '40', 'and so are those of a GPU that a suspended step has given back');

-- The sampling period: that of the step, else that of the partition.
select is((select sample_s from api.schedule_launch(array[:g], '{0}')), 30, 'as the partition has it');
create function t.idle(p_job bigint) returns text language sql as $$ select concat_ws(' ', idle_timeout_s, idle_timeout_of) from api.schedule_launch(array[p_job], '{0}') $$;
select is(t.idle(:g), '0', 'no idle limit of sessions');
update rota.qos set idle_timeout_s = 50 where qos = 'normal';
select is(t.idle(:g), '50 qos normal', 'that of the quality of service');
update rota.partition set idle_timeout_s = 60;
select is(t.idle(:g), '50 qos normal', 'the shorter one of two');
update rota.partition set idle_timeout_s = 50;
select is(t.idle(:g), '50 partition main', 'of two equal ones, that of the partition');
update rota.qos set idle_timeout_s = null;
select is(t.idle(:g), '50 partition main', 'that of the partition');
update rota.partition set idle_timeout_s = null;
select throws_ok('update rota.partition set idle_timeout_s = 0', '23514', null, 'none is null');
select results_eq(format('select job_id, sample_s, first_task, tasks, units from api.node_sampled(1)'), format('values (%s::bigint, 30, 0, 1, true)', :'g'), 'a new process manager reads it');
update rota.step_request set sample_s = 0 where job_id = :g;
select is((select sample_s from api.schedule_launch(array[:g], '{0}')), 0, 'the step wants none');
select is_empty('select * from api.node_sampled(1)', 'so there is nothing to read');
update rota.step_request set sample_s = 7 where job_id = :g;
select is((select sample_s from api.schedule_launch(array[:g], '{0}')), 7, 'or others');
select throws_ok($$select t.submit('alice', '[{"name": "a", "sample_s": 1}]')$$, 'RT422', null, 'not too often');
select lives_ok($$select t.submit('alice', '[{"name": "a", "sample_s": 5}]')$$, 'as often as the setting allows');
select lives_ok($$select t.submit('alice', '[{"name": "a", "sample_s": 0}]')$$, 'not at all');

-- The answers to users.
select is(t.ask('job_top', 'bob') -> 'steps' -> 0 ->> 'label', :'g' || '.g', 'what runs is seen by others');
select is((t.ask('job_top', 'bob') -> 'steps' -> 0) @> '{"user": "alice", "nodes": "n1", "rss_kb": null, "swap_kb": null}', true, 'what is not known is null');
select is(t.ask('job_top', 'bob', '{"nodes": ["n2"]}') -> 'steps', '[]', 'nothing on another node');
-- A look is a sample on demand: its figures are the last and the highest ones, and count neither for history nor for means.
select t.submit('alice', '[{"name": "l", "sample_s": 3600}]') as l \gset
select t.start(:'l' || '.l'), t.run(:'l' || '.l') \g /dev/null
select is(t.sample(t.took(:'l' || '.l', 1000000, '{"cpu_usec": 1000000, "rss_kb": 100}') || '{"look": true}', t.took(:'l' || '.l', 2000000, '{"cpu_usec": 2500000, "rss_kb": 900}') || '{"look": true}'), 2, 'looks are new');
select is(t.stats(:'l' || '.l') @> '{"samples": 1, "rss_kb_last": 900, "rss_kb_max": 900, "rss_kb_mean": 100, "cpus_max": 1.5}', true, 'last and highest of a look, the mean without it');
select is((select string_agg(rss_kb::text, ' ') from acct.sample where job_id = :l), '100', 'history has the first of all, and no other');
select is(t.sample(t.took(:'l' || '.l', 3000000, '{"cpu_usec": 2500000, "rss_kb": 300}')), 1, 'a sample beside them');
select is(t.stats(:'l' || '.l') @> '{"samples": 2, "rss_kb_mean": 200, "rss_kb_max": 900}', true, 'counts');
select is((select string_agg(rss_kb::text, ' ' order by rss_kb) from acct.sample where job_id = :l), '100 300', 'for history too');
select is((t.ask('job_top', 'bob', jsonb_build_object('jobs', :'l')) -> 'steps' -> 0) @> '{"sampled": true, "rss_kb": 300}', true, 'top says that it is sampled');
select is(t.ask('job_top', 'bob', jsonb_build_object('jobs', :'l')) -> 'steps' -> 0 ? 'node_ids', false, 'and no numbers of nodes');
-- Elapsed time includes suspensions, which answers give besides; the column TIME is without them.
create function t.ran(p_job bigint, p_call text, p_path text) returns text language sql stable as $$
	select concat_ws(' of ', (x ->> 'elapsed_s')::numeric(20, 6) - (x ->> 'suspended_s')::numeric(20, 6), (x ->> 'elapsed_s')::numeric(20, 6))
	from (select t.ask(p_call, 'bob', jsonb_build_object('jobs', p_job)) #> p_path::text[]) a (x) $$;
create function t.queue_time(p_job bigint) returns text language sql stable as $$
	select split_part(t.ask('job_queue', 'bob', jsonb_build_object('jobs', p_job, 'lines', true)) ->> 'lines', E'\t', 7) $$;
update rota.step set started_at = now() - interval '3600.123456 seconds' where job_id = :l;
update rota.job set started_at = now() - interval '3600.123456 seconds' where job_id = :l;
update rota.attempt set started_at = now() - interval '3600.123456 seconds', ordered_at = now() - interval '2 hours', suspended_s = 600 where job_id = :l;
select is(t.ran(:l, 'job_top', '{steps,0}'), '3000.123456 of 3600.123456', 'top, to the microsecond');
select is(t.ran(:l, 'job_queue', '{jobs,0}'), '3000.123456 of 3600.123456', 'the queue, too');
select is(t.queue_time(:l), '3000', 'its text has the time without suspensions');
update rota.attempt set suspended_at = now() - interval '20 minutes' where job_id = :l;
select is(t.ran(:l, 'job_top', '{steps,0}'), '1800.123456 of 3600.123456', 'a suspension that goes on, in top');
select is(t.ran(:l, 'job_queue', '{jobs,0}'), '1800.123456 of 3600.123456', 'in the queue');
select is(t.queue_time(:l), '1800', 'in its text');
select is(t.ran(:l, 'job_show', '{jobs,0,steps,0}'), '1800.123456 of 3600.123456', 'in show');
select is(t.ran(:l, 'job_show', '{jobs,0,steps,0,attempts,0}'), '1800.123456 of 3600.123456', 'of the attempt');
select is(t.ran(:l, 'job_stats', '{steps,0}'), '1800.123456 of 3600.123456', 'in the statistics');
select is((select (elapsed_s - suspended_s)::numeric(20, 6) || ' of ' || elapsed_s::numeric(20, 6) from acct.attempt where job_id = :l), '1800.123456 of 3600.123456', 'in SQL');
select is((select (r ->> 'suspended_s')::numeric(20, 6) from jsonb_array_elements(t.ask('job_acct', 'bob', jsonb_build_object('jobs', :'l', 'steps', true)) -> 'rows') r), 1800.000000, 'and in acct');
-- Tasks have ended and the epilog runs: its time is held, but not elapsed.
update rota.attempt set done_at = now() - interval '600.123456 seconds' where job_id = :l;
update rota.attempt set suspended_at = null, suspended_s = 1800 where job_id = :l;
select is(t.ran(:l, c, p), '1200.000000 of 3000.000000', 'an epilog is not elapsed time: ' || c) from (values ('job_top', '{steps,0}'), ('job_show', '{jobs,0,steps,0}'), ('job_show', '{jobs,0,steps,0,attempts,0}'), ('job_stats', '{steps,0}')) x (c, p);
select t.finish(:'l' || '.l') \g /dev/null
select is(t.ran(:l, 'job_show', '{jobs,0,steps,0}'), t.ran(:l, 'job_show', '{jobs,0,steps,0,attempts,0}'), 'nor when it has ended');
select is((select count(distinct round(x.s::numeric, 6)) from (select elapsed_s from acct.step where job_id = :l union all select elapsed_s from acct.attempt where job_id = :l
	union all select extract(epoch from done_at - started_at) from acct.step where job_id = :l
	union all select (r ->> 'elapsed_s')::float from jsonb_array_elements(t.ask('job_acct', 'bob', jsonb_build_object('jobs', :'l', 'steps', true)) -> 'rows') r
	union all select (r ->> 'elapsed_s')::float from jsonb_array_elements(t.ask('report', 'bob', jsonb_build_object('report', 'job', 'jobs', :'l')) -> 'rows') r) x (s)), 1::bigint, 'in every answer');
select is((select "end" from acct.sacct where rotastep = :'l' || '.l'), (select to_char(done_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') from acct.step where job_id = :l), 'and the end as sacct has it');
select throws_ok($$select t.ask('job_top', 'bob', '{"nodes": ["n99"]}')$$, 'RT404', null, 'which there has to be');
select is(jsonb_array_length(t.ask('job_stats', 'bob', t.request(:'g')) -> 'steps'), 1, 'statistics too');
update rota.setting set value = 'false' where name = 'queue_visible';
select is(t.ask('job_top', 'bob') -> 'steps', '[]', 'where the queue is private, so is that');
select is(jsonb_array_length(t.ask('job_top', 'alice') -> 'steps'), 1, 'but for the owner');
select is(jsonb_array_length(t.ask('job_top', 'root') -> 'steps'), 1, 'and root');
select throws_ok(format('select t.ask(''job_stats'', ''bob'', t.request(''%s''))', :'g'), 'RT403', null, 'a job is its owner''s');
select throws_ok(format('select t.ask(''job_top'', ''bob'', t.request(''%s''))', :'g'), 'RT403', null, 'in the list of what runs as well');

-- In SQL: analysts see all samples, readers those of their own jobs.
create role alice in role rota_reader;
create role bob in role rota_reader;
select count(*) as all_rows from rota.sample \gset
set local role alice;
select concat_ws(' ', (select count(*) from acct.sample) = :all_rows, (select count(*) > 2 from acct.step_stats), (select count(*) > 0 from acct.task_stats), (select count(*) > 2 from acct.job_stats)) as hers \gset
set local role bob;
select concat_ws(' ', (select count(*) from acct.sample), (select count(*) from acct.step_stats), (select count(*) from acct.task_stats), (select count(*) from acct.job_stats)) as his \gset
set local role rota_analyst;
select concat_ws(' ', (select count(*) from acct.sample) = :all_rows, (select count(*) > 2 from acct.step_stats), (select count(*) > 0 from acct.task_stats), (select count(*) > 2 from acct.job_stats)) as analyst \gset
reset role;
select is(:'hers'::text, 't t t t', 'an owner reads what her steps used');
select is(:'his'::text, '0 0 0 0', 'somebody else does not');
select is(:'analyst'::text, 't t t t', 'an analyst reads all');

-- GPU efficiency: the mean utilization of the GPUs that a step held.
select t.finish(:'g' || '.g') \g /dev/null
select is((select round(e.gpu_efficiency, 6) from acct.efficiency e where e.job_id = :g), 0.25, 'how busy a step kept its GPU');

-- Retention, also of samples that arrived late.
select rota.day_range('rejected_report', current_date - 100) \g /dev/null
select rota.day_range('sample', current_date - 100) \g /dev/null
select rota.day_range('sample', current_date - 10) \g /dev/null
select api.range_ensure() \g /dev/null
select is(to_regclass('rota.sample_' || to_char(current_date - 100, 'YYYYMMDD')), null, 'a day that is too old is dropped');
select is(to_regclass('rota.rejected_report_' || to_char(current_date - 100, 'YYYYMMDD')), null, 'of each table');
select isnt(to_regclass('rota.sample_' || to_char(current_date - 10, 'YYYYMMDD')), null, 'another is kept');
select isnt(to_regclass('rota.sample_' || to_char(current_date + 6, 'YYYYMMDD')), null, 'and there are days to come');
select is((select count(*)::int from t.wrong()), 0, 'nothing is held that is not accounted for');
select * from finish();
rollback;
