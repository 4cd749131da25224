-- Times of attempts: differences on one node's clock, whenever and with whatever delay they are reported; and the time charged
-- for a suspended step.
begin;
\ir world.psql
select * from no_plan();
-- A report of a node whose estimate of its boot time is later than that of the other tests by p_later.
create function t.tell_later(p_later interval, variadic p_records jsonb[]) returns int language plpgsql as $$
declare
	v_report jsonb := t.reports(false, variadic p_records);
begin
	return (select r.new_count from api.node_report(t.booted(v_report) || jsonb_build_object('boot_us', (extract(epoch from timestamptz '2020-01-01 00:00 UTC' + p_later) * 1000000)::bigint), '[]', false) r);
end $$;
create function t.times(p_job bigint) returns text language sql as $$
	select format('%s %s %s', round(extract(epoch from t.done_at - t.started_at), 3), round(extract(epoch from t.ended_at - t.done_at), 3), t.clamped) from rota.attempt t where t.job_id = p_job $$;
create function t.started(p_nodes int[] default '{1}') returns bigint language plpgsql as $$
declare
	v_job bigint := t.submit('alice', jsonb_build_array(jsonb_build_object('name', 'a', 'nodes_min', cardinality(p_nodes), 'nodes_max', cardinality(p_nodes), 'ntasks', cardinality(p_nodes))));
begin
	perform t.start(v_job || '.a', p_nodes);
	return v_job;
end $$;

-- Reports arrive with delays that differ by more than the reported durations. Delays must not change durations.
select t.started() as j \gset
select t.tell_later('0', t.say(:'j' || '.a', 'keeper', '{"age_us": 5000000}')),
	t.tell_later('1 hour', t.say(:'j' || '.a', 'run', '{"age_us": 4000000}')),
	t.tell_later('-1 hour', t.say(:'j' || '.a', 'task', '{"age_us": 1500000, "started_age_us": 4000000}'), t.say(:'j' || '.a', 'done', '{"age_us": 1500000}')),
	t.tell_later('7 days', t.say(:'j' || '.a', 'end', '{"age_us": 1000000}')) \g /dev/null
select is(t.times(:j), '2.500 0.500 f', 'times are differences on the clock of the node, whatever it thinks of the time later');
select is((select extract(epoch from e.ended_at - e.started_at) from rota.task_end e where e.job_id = :j), 2.5, 'those of tasks too');
select is((select count(distinct a.boot_at) from rota.allocation a where a.job_id = :j), 1::bigint, 'and one estimate counts');
select ok((select bool_and(e.at >= e.before) from (select x.at, lag(x.at, 1, x.at) over (order by x.event_id) as before from rota.event x where x.job_id = :j) e), 'no event is before the one before');

-- A reported time before the order of the attempt becomes that of the order; a time in the future becomes now.
select t.started() as j, t.started() as k \gset
select t.tell_later('-1 day', t.say(:'j' || '.a', 'keeper'), t.say(:'j' || '.a', 'run'), t.say(:'j' || '.a', 'done', '{"clock": 2000000}')) \g /dev/null
select ok((select t.started_at >= t.ordered_at and t.started_at - t.ordered_at < interval '1 s' from rota.attempt t where t.job_id = :j), 'nothing is before its order');
select t.tell_later('1 day', t.say(:'k' || '.a', 'keeper'), t.say(:'k' || '.a', 'run'), t.say(:'k' || '.a', 'done'), t.say(:'k' || '.a', 'end')) \g /dev/null
select ok((select t.ended_at <= clock_timestamp() from rota.attempt t where t.job_id = :k), 'nor after its report');
select t.report(t.say(:'j' || '.a', 'end', '{"clock": 3000000}')) \g /dev/null
select is(t.times(:j), left(t.times(:j), 5) || ' 1.000 f', 'what was fixed by the order stays');

-- A node boots again with a clock that is five days ahead: the next attempt has times of that clock, also if the same report has
-- the end of the attempt that was lost.
\set ahead '{"age_us": -432000000000, "started_age_us": -432000000000}'
select t.back(4), t.started('{4}') as j \gset
select t.run(:'j' || '.a'), t.say(:'j' || '.a', 'done', :'ahead') || t.say(:'j' || '.a', 'end', :'ahead') as lost \gset
select t.back(4, '{"boot_id": "ahead", "attempts": [], "reported": []}'), t.later() \g /dev/null
select t.start(:'j' || '.a', '{4}') \g /dev/null
select t.tell_later('-5 days', :'lost'::jsonb, t.say(:'j' || '.a', 'keeper', :'ahead'), t.say(:'j' || '.a', 'run', :'ahead'), t.say(:'j' || '.a', 'task', :'ahead'), t.say(:'j' || '.a', 'done', :'ahead'),
	t.say(:'j' || '.a', 'end', :'ahead')) \g /dev/null
select is((select string_agg(t.state, ' ' order by t.attempt) from rota.attempt t where t.job_id = :j), 'node_fail completed', 'an attempt is lost with the boot, the next one completes');
select ok((select t.started_at >= t.ordered_at and t.ended_at <= clock_timestamp() from rota.attempt t where t.job_id = :j and t.attempt = 2), 'with times between its order and its report');

-- Two nodes whose clocks differ by an hour: the attempt ends with the last report, its times are in order, and it is marked.
select t.started('{1,2}') as j \gset
\set wide :j
select t.tell_later('0', t.say(:'j' || '.a', 'keeper', '{"age_us": 0}'), t.say(:'j' || '.a', 'ready')) \g /dev/null
update rota.allocation set boot_at = boot_at - interval '1 hour' where job_id = :j and node_id = 2;
select t.report(t.say(:'j' || '.a', 'run')), t.report(t.say(:'j' || '.a', 'task')), t.report(t.say(:'j' || '.a', 'done')), t.report(t.say(:'j' || '.a', 'end')) \g /dev/null
select is((select array[t.state, (t.ordered_at <= t.started_at and t.started_at <= t.done_at and t.done_at <= t.ended_at)::text] from rota.attempt t where t.job_id = :j), '{completed,true}', 'clocks that disagree leave the times in order');
select is((select t.clamped from acct.attempt t where t.job_id = :j), true, 'and are marked');
select is((select bool_or(t.clamped) from acct.attempt t where t.job_id <> :j), false, 'no others are');

-- A suspended step: its CPUs are charged to the step that holds them.
select t.started() as j, t.started('{2}') as k \gset
select t.run(:'j' || '.a'), t.run(:'k' || '.a') \g /dev/null
select t.act('suspend', 'alice', :'j'), t.report(t.say(:'j' || '.a', 'suspended')) \g /dev/null
select is((select (a.cpus_held, isempty(a.without_cpus), upper_inf(a.without_cpus))::text from rota.allocation a where a.job_id = :j), '(0,f,t)', 'it holds none from then on');
select is((select n.cpus_held from acct.nodes_at(clock_timestamp()) n where n.node = 'n1'), 0::bigint, 'nor does the node');
update rota.allocation a set started_at = a.started_at - interval '100 s', without_cpus = tstzmultirange(tstzrange(lower(a.without_cpus) - interval '60 s', null)) where a.job_id = :j;
update rota.attempt a set ordered_at = a.ordered_at - interval '100 s' where a.job_id = :j;
select t.act('resume', 'alice', :'j'), t.report(t.say(:'j' || '.a', 'resumed')) \g /dev/null
select is((select (a.cpus_held, upper_inf(a.without_cpus))::text from rota.allocation a where a.job_id = :j), '(1,f)', 'it has them again');
select t.finish(:'j' || '.a') \g /dev/null
select is((select round(a.cpu_held_s::numeric / 10) || ' of ' || round(a.held_s::numeric / 10) from acct.allocation a where a.job_id = :j), '4 of 10', 'the minute between is not charged');
select is((select round(s.cpu_held_s::numeric, 6) from acct.step s where s.job_id = :j), (select round(a.cpu_held_s::numeric, 6) from acct.allocation a where a.job_id = :j), 'nor to the step');
select is((select round(h.held::numeric, 3) from (select sum(p.cpu_s) as held from internal.usage_piece p where p.job_id = :j) h), (select round(a.cpu_held_s::numeric, 3) from acct.allocation a where a.job_id = :j), 'nor in the usage');
select t.act('suspend', 'alice', :'k'), t.report(t.say(:'k' || '.a', 'suspended')), t.act('cancel', 'alice', :'k'), t.finish(:'k' || '.a', '{"outcome": "cancel", "cause": "cancelled"}') \g /dev/null
select is((select upper(a.without_cpus) = a.ended_at from rota.allocation a where a.job_id = :k), true, 'an end while suspended ends that as well');
select t.submit('alice', '[{"name": "a", "keep": {"cpus": true}}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.act('suspend', 'alice', :'j'), t.report(t.say(:'j' || '.a', 'suspended')) \g /dev/null
select is((select (a.cpus_held, a.without_cpus)::text from rota.allocation a where a.job_id = :j), '(1,{})', 'CPUs that are kept are charged');
select is_empty(format('select * from acct.usage_audit(''2000-01-01'', ''2100-01-01'') where figures in (''node_size'', ''task_end'') and (key ->> ''job_id'') is distinct from %L', :wide), 'and no moment has more than there is');
select t.right('all of it');
select * from finish();
rollback;
