-- Resources that attempts and steps used: all views and answers take them from one place, so they agree for random histories with
-- retries,
-- requeues, several tasks and lost nodes. ROTA_SEED (-1 to 1) makes another draw.
begin;
\ir world.psql
\ir draw.psql
select * from no_plan();
\set seed 0.23
\getenv seed ROTA_SEED
select setseed(:seed) \g /dev/null

-- A retry: the step has the figures of both attempts, each attempt its own figures.
select t.submit('alice', '[{"name": "a", "retry": 1, "mem_mb": 100, "gres": {"gpu": 2}}]') as j \gset
select t.start(:'j' || '.a', '{1}', '{"gres": {"gpu": [0, 1]}, "mem_mb": 100}'), t.run(:'j' || '.a'),
	t.finish(:'j' || '.a', '{"exit": 1, "outcome": "fail", "rchar": 1000}', '{"cpu_usec": 600000, "system_usec": 200000, "peak_mb": 70, "cgroup_peak_mb": 90}'), t.later() \g /dev/null
select t.start(:'j' || '.a', '{1}', '{"gres": {"gpu": [1]}, "mem_mb": 100}'), t.run(:'j' || '.a'),
	t.finish(:'j' || '.a', '{"rchar": 1}', '{"cpu_usec": 50000, "system_usec": 10000, "peak_mb": 8, "cgroup_peak_mb": 12}') \g /dev/null
select results_eq(format('select attempts, cpu_used_s::numeric, user_cpu_s::numeric, system_cpu_s::numeric, peak_mb, cgroup_peak_mb, rchar, gpus::int, gres::text, gres_requested::text, mem_requested_mb from acct.step where job_id = %s', :j),
	$$values (2, 0.65::numeric, 0.44::numeric, 0.21::numeric, 70::bigint, 90::bigint, 1001::bigint, 1, '{"gpu": 1}', '{"gpu": 2}', 100::bigint)$$, 'a step: all its attempts, and what the latest was allocated');
select results_eq(format('select attempt, is_latest, cpu_used_s::numeric, system_cpu_s::numeric, peak_mb, cgroup_peak_mb, rchar, gpus::int from acct.attempt where job_id = %s order by attempt', :j),
	$$values (1, false, 0.6::numeric, 0.2::numeric, 70::bigint, 90::bigint, 1000::bigint, 2), (2, true, 0.05::numeric, 0.01::numeric, 8::bigint, 12::bigint, 1::bigint, 1)$$, 'an attempt: its own');
select is((select concat_ws(' ', x ->> 'attempts', x ->> 'attempt', x ->> 'cpu_s', x ->> 'peak_mb', x ->> 'cgroup_peak_mb', x ->> 'rchar', x ->> 'cpus') from jsonb_array_elements(api.job_stats(0, 'root', t.request(:'j')) -> 'steps') x),
	'2 2 0.65 70 90 1001 1', 'rota show --stats: all its attempts, too');
select is((select attempt from acct.last_attempt where job_id = :j), 2, 'the latest has a view');
select is((select concat_ws('|', reqtres, alloctres, reqmem) from acct.sacct where jobid = :'j'), 'cpu=1,mem=100M,node=1,gres/gpu=2|cpu=1,mem=100M,node=1,gres/gpu=1|100M', 'as sacct says it');
select is((select bool_and(wait_s >= 0 and eligible_at <= ordered_at) from acct.attempt where job_id = :j), true, 'each attempt has its own wait');

-- A lost node reports no end: the reports of tasks and the samples before the loss count.
select t.submit('alice', '[{"name": "a", "retry": 0, "requeue": false}]') as l \gset
select t.start(:'l' || '.a', '{2}'), t.run(:'l' || '.a'), t.report(t.say(:'l' || '.a', 'task', '{"user_usec": 300000, "system_usec": 100000, "max_rss_kb": 5000}')) \g /dev/null
select api.node_sample(jsonb_build_object('node', 2, 'boot_us', 1577836800000000, 'rounds', jsonb_build_array(jsonb_build_object('clock', 1, 'steps',
	jsonb_build_array(jsonb_build_object('job', :l, 'step', 0, 'attempt', 1, 'task', -1, 'cpu_usec', 700000, 'rss_kb', 9000)))))) \g /dev/null
select is(internal.figures_known(:l, 0, 1, 2)::text, '(9,,700000,100000,)', 'the highest that is known');
select internal.allocation_free(array[(:l, 0, 1, 2, now(), true, null, null, null)::internal.allocation_end]) \g /dev/null
select is((select concat_ws(' ', cpu_used_s, peak_mb) from acct.attempt where job_id = :l), '0.7 9', 'is kept when the allocation ends without a report');
select t.finish(:'l' || '.a') \g /dev/null
-- A keeper that was killed: the launcher reports what the cgroup counted, or that there was none. Ended tasks and samples complete it, also
-- where a job group had freed the resources before.
create function t.killed(p_job bigint, p_cpu int, p_peak int) returns text language plpgsql as $$
begin
	perform t.report(t.say(p_job || '.a', 'done', '{"cause": "keeper_lost", "outcome": "node_fail", "message": "its keeper died"}')),
		t.report(t.say(p_job || '.a', 'end', jsonb_build_object('peak_mb', -1, 'cgroup_peak_mb', p_peak, 'cpu_usec', p_cpu, 'system_usec', -1)));
	return (select concat_ws(' ', cause, cpu_used_s, system_cpu_s, peak_mb, cgroup_peak_mb) from acct.attempt where job_id = p_job);
end $$;
create function t.measured(p_group text default null) returns bigint language plpgsql as $$
declare
	v_job bigint := t.submit('alice', jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('name', 'a', 'retry', 0, 'requeue', false, 'group', p_group))));
begin
	perform t.start(v_job || '.a', '{2}'), t.run(v_job || '.a'), t.report(t.say(v_job || '.a', 'task', '{"user_usec": 300000, "system_usec": 100000, "max_rss_kb": 5000}')),
		api.node_sample(jsonb_build_object('node', 2, 'boot_us', 1577836800000000, 'rounds', jsonb_build_array(jsonb_build_object('clock', v_job, 'steps',
			jsonb_build_array(jsonb_build_object('job', v_job, 'step', 0, 'attempt', 1, 'task', -1, 'cpu_usec', 700000, 'rss_kb', 9000))))));
	return v_job;
end $$;
select is(t.killed(t.measured(), -1, -1), 'keeper_lost 0.7 0.1 9', 'without a cgroup, the sample counts');
select is(t.killed(t.measured(), 900000, 12), 'keeper_lost 0.9 0.1 9 12', 'what the cgroup counted later counts more');
select is(t.killed(t.measured('g'), 900000, 12), 'keeper_lost 0.9 0.1 9 12', 'in a job group, too');

-- Random histories.
select is_empty('select * from t.play(75, 12)', 'a history');
select cmp_ok(t.settle(), '<', 600, 'comes to its end');
select cmp_ok((select count(*) from acct.step where attempts > 1), '>', 3::bigint, 'some ran more than once');
-- Figures that differ from attempt to attempt, some of them unknown.
update rota.allocation set cpu_usec = floor(random() * 1e7), system_usec = null, peak_mb = t.pick('{null,10,100,1000}'::int[]), cgroup_peak_mb = t.pick('{null,10,100,1000}'::int[]) where cpu_usec is not null;
update rota.allocation set cpu_usec = null where random() < 0.1;
update rota.allocation set system_usec = floor(random() * cpu_usec);
update rota.task_end set rchar = floor(random() * 1e6), read_bytes = t.pick('{null,0,4096}'::int[]), max_rss_kb = floor(random() * 1e5);
select is_empty($$
	select s.label from acct.step s
	join lateral (select count(*) as n, sum(a.cpu_held_s) as held, sum(a.cpu_used_s) as used, sum(a.user_cpu_s) as u, sum(a.system_cpu_s) as s, max(a.peak_mb) as peak, max(a.cgroup_peak_mb) as own, max(a.max_rss_kb) as rss,
		sum(a.rchar) as rchar, sum(a.wchar) as wchar, sum(a.read_bytes) as r, sum(a.write_bytes) as w from acct.attempt a where a.job_id = s.job_id and a.step_id = s.step_id) a on true
	where (s.attempts, round(s.cpu_held_s::numeric, 3), round(s.cpu_used_s::numeric, 6), round(s.user_cpu_s::numeric, 6), round(s.system_cpu_s::numeric, 6), s.peak_mb, s.cgroup_peak_mb, s.max_rss_kb, s.rchar, s.wchar, s.read_bytes, s.write_bytes)
		is distinct from (a.n::int, coalesce(round(a.held::numeric, 3), 0), round(a.used::numeric, 6), round(a.u::numeric, 6), round(a.s::numeric, 6), a.peak, a.own, a.rss, a.rchar::bigint, a.wchar::bigint, a.r::bigint, a.w::bigint)$$, 'a step is the sum of its attempts');
select is_empty($$
	select s.label from acct.step s
	join lateral jsonb_array_elements(api.job_acct(0, 'root', jsonb_build_object('jobs', s.job_id::text, 'steps', true))::jsonb -> 'rows') r on (r ->> 'step_id')::int = s.step_id
	where (round((r ->> 'cpu_s')::numeric, 6), (r ->> 'max_rss_kb')::bigint, (r ->> 'rchar')::bigint, (r ->> 'read_bytes')::bigint, (r ->> 'attempts')::int) is distinct from
		(round(s.cpu_used_s::numeric, 6), s.max_rss_kb, s.rchar, s.read_bytes, s.attempts)$$, '`rota acct --steps` says the same');
select is_empty($$
	select a.job_id, a.step_id, a.attempt from acct.attempt a
	join lateral jsonb_array_elements(api.job_acct(0, 'root', jsonb_build_object('jobs', a.job_id::text, 'attempts', true))::jsonb -> 'rows') r on (r ->> 'step_id')::int = a.step_id and (r ->> 'attempt')::int = a.attempt
	where (round((r ->> 'cpu_s')::numeric, 6), (r ->> 'max_rss_kb')::bigint, (r ->> 'rchar')::bigint, (r ->> 'read_bytes')::bigint) is distinct from
		(round(a.cpu_used_s::numeric, 6), a.max_rss_kb, a.rchar, a.read_bytes)$$, '`rota acct --attempts` does');
select is_empty($$
	select j.job_id from acct.job j
	join lateral (select sum(s.cpu_used_s) as used, max(s.max_rss_kb) as rss from acct.step s where s.job_id = j.job_id) s on true
	join lateral (select jsonb_array_elements(api.job_acct(0, 'root', jsonb_build_object('jobs', j.job_id::text))::jsonb -> 'rows') as r, split_part(api.job_acct(0, 'root', jsonb_build_object('jobs', j.job_id::text, 'lines', true))::jsonb ->> 'lines', E'\t', 9) as line) l on true
	where (round((l.r ->> 'cpu_s')::numeric, 6), (l.r ->> 'max_rss_kb')::bigint, round(nullif(l.line, '')::numeric / 1e6, 6)) is distinct from (round(s.used::numeric, 6), s.rss, round(s.used::numeric, 6))$$, '`rota acct`, rows and lines');
select is_empty($$
	select e.job_id, e.step_id from acct.efficiency e
	join acct.step s using (job_id, step_id)
	join lateral jsonb_array_elements(api.report(0, 'root', jsonb_build_object('report', 'job', 'jobs', e.job_id::text)) -> 'rows') r on r ->> 'label' = split_part(s.label, '.', 2)
	where (round(e.cpu_used_s, 6), e.mem_peak_mb, round(100 * e.cpu_efficiency, 6), round(e.cpu_used_s, 6)) is distinct from
		(round(s.cpu_used_s::numeric, 6), s.peak_mb, round((r ->> 'percent')::numeric, 6), round((r ->> 'cpu_s')::numeric, 6))$$, 'acct.efficiency and `rota report job`');
select is_empty($$
	select a.job_id, a.step_id, a.attempt from acct.attempt a join acct.step_stats x using (job_id, step_id, attempt)
	where x.samples = 0 and (round(x.cpu_s::numeric, 6), x.peak_mb, x.max_rss_kb, x.rchar) is distinct from (round(a.cpu_used_s::numeric, 6), a.peak_mb, a.max_rss_kb, a.rchar)$$, '`rota stats`');
create table t.shown as
	select j.job_id, (s ->> 'step_id')::int as step_id, s as step from rota.job j
	cross join lateral jsonb_array_elements(api.job_show(0, 'root', jsonb_build_object('jobs', j.job_id::text)) #> '{jobs,0,steps}') s;
select is_empty($$
	select a.job_id, a.step_id, a.attempt from acct.attempt a
	join t.shown w using (job_id, step_id)
	cross join lateral jsonb_array_elements(w.step -> 'attempts') r
	where (r ->> 'attempt')::int = a.attempt and a.ended_at is not null and (round((r ->> 'elapsed_s')::numeric, 6), round((r ->> 'suspended_s')::numeric, 6), r ->> 'state', r ->> 'nodes') is distinct from
		(round(a.elapsed_s::numeric, 6), round(a.suspended_s::numeric, 6), a.state, a.nodes)$$, '`rota show`, to the microsecond');
select is_empty($$
	select k.job_id, k.step_id, k.task from acct.task k
	join acct.last_attempt a using (job_id, step_id, attempt)
	join t.shown w using (job_id, step_id)
	cross join lateral jsonb_array_elements(w.step -> 'tasks') r
	where (r ->> 'task')::int = k.task and (round((r ->> 'user_s')::numeric, 6), round((r ->> 'system_s')::numeric, 6), (r ->> 'max_rss_kb')::bigint) is distinct from
		(round(k.user_cpu_s::numeric, 6), round(k.system_cpu_s::numeric, 6), k.max_rss_kb)$$, 'of tasks, too');
select is_empty($$
	select x.jobid, x.rotastep, x.alloctres, x.elapsed, r from acct.sacct x
	join jsonb_array_elements(api.job_acct(0, 'root', '{"steps": true}')::jsonb -> 'rows') r on (r ->> 'job_id')::bigint * 16777216 + (r ->> 'step_id')::int = x.jobidraw
	where (nullif(x.alloctres, ''), x.qos, x.elapsed) is distinct from (nullif(r ->> 'alloc_tres', ''), r ->> 'qos', acct.slurm_duration(coalesce((r ->> 'elapsed_s')::double precision, 0)))$$, 'the view that looks like sacct');
select is((select round(sum(cpu_used_s)::numeric, 6) from acct.step), (select round(sum(cpu_usec) / 1e6, 6) from rota.allocation), 'and all steps come to what all nodes counted');
select * from finish();
rollback;
