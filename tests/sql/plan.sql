-- Hot paths do not read history: with thirty thousand ended steps loaded, each call of a hot path reads a handful of rows. The
-- numbers of rows are those of this transaction's statistics.
begin;
\ir world.psql
select * from no_plan();
-- Call all functions before there is history, so that plans that suit small tables are cached.
select t.submit('alice', '[{"name": "a", "retry": 1}, {"name": "b"}, {"name": "c", "array": {"indices": [[0,3,1]], "size": 4, "limit": 2}}]', '[{"step": "b", "peer": "a"}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.fail(:'j' || '.a'), t.later(), t.pass(:'j' || '.a'), t.pass(:'j' || '.b'), t.pass(:'j' || '.c', '{1}', '{"position": 1}') from generate_series(1, 6) \g /dev/null
select t.pass(t.submit('alice', '[{"name": "a"}]') || '.a') from generate_series(1, 6) \g /dev/null
select t.pending(), api.job_cancel(0, 'root', t.request(:'j')), api.job_show(0, 'root', t.request(:'j')), api.job_queue(0, 'root', '{}') from generate_series(1, 6) \g /dev/null
-- History: 3,000 ended jobs of ten steps each, and 4,000 elements of an array that still runs. It is consistent, so foreign keys
-- are not checked row by row.
select t.submit('carol', '[{"name": "w", "array": {"indices": [[0,4999,1]], "size": 5000}}]') as w \gset
set local session_replication_role = replica;
insert into rota.job (name, uid, gid, user_name, script_hash, environment_hash, script_name, workdir, steps_total, steps_left, submit_at, started_at, ended_at, state)
select 'old', 1097, 100, 'alice', sha256('x'), sha256('x'), 'x', '/', 10, 0, now() - interval '1 day', now() - interval '1 day', now() - interval '23 hours', 'completed' from generate_series(1, 3000);
insert into rota.step_request (job_id, step_id, name, line, topo, partition, nodes_min, ntasks, cpus_per_task, spec, auth)
select j.job_id, s, 's' || s, 1, s, 'main', 1, 1, 1, '', sha256('x') from rota.job j cross join generate_series(0, 9) s where j.name = 'old';
insert into rota.step (job_id, step_id, request_id, state, attempt, rank, started_at, ended_at)
select r.job_id, r.step_id, r.step_id, 'completed', 1, 0, now() - interval '1 day', now() - interval '23 hours' from rota.step_request r join rota.job j on j.job_id = r.job_id and j.name = 'old';
insert into rota.step (job_id, step_id, request_id, association_id, queue, array_index, state, attempt, rank, eligible_at, started_at, ended_at)
select h.job_id, h.step_id + 1 + i, h.step_id, h.association_id, h.queue, i, 'completed', 1, h.rank, h.eligible_at, now(), now() from rota.step h, generate_series(0, 3999) i where h.job_id = :w;
update rota.step_array set next = 4000, completed = 4000 where job_id = :w;
insert into rota.step_edge (job_id, step_id, edge, kind, peer_job_id, peer_step_id, topo, peer_topo, state)
select r.job_id, r.step_id, 1, 'after', r.job_id, r.step_id - 1, r.topo, r.topo - 1, 'met' from rota.step_request r join rota.job j on j.job_id = r.job_id and j.name = 'old' where r.step_id > 0;
create temporary view over as select s.* from rota.step s where s.job_id >= :w and s.ended_at is not null;
insert into rota.attempt (job_id, step_id, attempt, state, time_limit_s, node_ids, nodes, ordered_at, started_at, ended_at)
select s.job_id, s.step_id, 1, 'completed', 60, '{1}', '{n1}', s.started_at, s.started_at, s.ended_at from over s;
insert into rota.allocation (job_id, step_id, attempt, node_id, node_index, cpus, mem_mb, tasks, phase, cpus_held, started_at, ended_at, gone_at)
select s.job_id, s.step_id, 1, 1, 0, 1, 0, 1, 'ended', 0, s.started_at, s.ended_at, s.ended_at from over s;
insert into rota.task_end (job_id, step_id, attempt, task, node_id, ended_at, cause) select s.job_id, s.step_id, 1, 0, 1, s.ended_at, 'exit' from over s;
insert into rota.event (job_id, step_id, attempt, from_state, event, to_state, actor) select s.job_id, s.step_id, 1, e.f, e.e, e.t, 'x' from over s
cross join (values (1, 'pending', 'submit', 'pending'), (2, 'pending', 'start', 'starting'), (3, 'starting', 'run', 'running'), (4, 'running', 'complete', 'completed')) e (nr, f, e, t)
order by s.job_id, s.step_id, e.nr;
set local session_replication_role = origin;
select t.commit(t.decision(:'w' || '.w', '{2}', '{"position": 4000}'), t.decision(:'w' || '.w', '{2}', '{"position": 4001}')) \g /dev/null
-- Live jobs: pending, running and held steps, and an array that has begun.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c", "retry": 1}]', '[{"step": "b", "peer": "a"}]') as j \gset
select t.submit('bob', '[{"name": "r", "array": {"indices": [[0,99,1]], "size": 100, "limit": 4}}, {"name": "z"}]', '[{"step": "z", "peer": "r", "condition": "any"}]') as k \gset
select t.submit('carol', '[{"name": "x"}]', format('[{"step": "x", "job": %s}]', :j)::jsonb) from generate_series(1, 20) \g /dev/null
select t.commit(t.decision(:'k' || '.r', '{2}', '{"position": 0}'), t.decision(:'k' || '.r', '{2}', '{"position": 1}')) \g /dev/null

create function t.readings() returns table (relation text, n bigint, scans bigint) language sql as $$
	select relid::regclass::text, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0), coalesce(seq_tup_read, 0) from pg_stat_xact_user_tables where schemaname = 'rota';
$$;
-- t.read: the most rows that a statement reads in one of the ranges of the tables that grow with history.
create function t.read(p_statement text) returns bigint language plpgsql as $$
declare
	v_before jsonb := (select jsonb_object_agg(relation, n) from t.readings());
begin
	execute p_statement;
	return (select max(r.n - coalesce((v_before ->> r.relation)::bigint, 0)) from t.readings() r where r.relation ~ '_[0-9]+$');
end $$;
create function t.cheap(p_what text, p_statement text, p_most bigint default 500) returns text language sql as $$
	select cmp_ok(t.read(p_statement), '<=', p_most, p_what);
$$;
create function t.hot(p_when text, p_job bigint, p_array bigint) returns setof text language plpgsql as $$
declare
	v_job bigint;
	v_label text;
begin
	return next t.cheap(p_when || ': schedule_tick', 'select * from api.schedule_tick(t.term())');
	return next t.cheap(p_when || ': schedule_queue', 'select * from api.schedule_queue(1000)');
	return next t.cheap(p_when || ': schedule_pending', format('select * from api.schedule_pending(array[%s, %s], array[0, 0])', p_job, p_array));
	return next t.cheap(p_when || ': schedule_running', 'select * from api.schedule_running()');
	return next t.cheap(p_when || ': plan_snapshot', $s$select api.plan_snapshot(0, 'root', '{}')$s$);
	return next t.cheap(p_when || ': schedule_launch', format('select * from api.schedule_launch(array[%s, %s], array[0, 0])', p_job, p_array));
	return next t.cheap(p_when || ': job_lock', format('select internal.job_lock(array[%s, %s])', p_job, p_array));
	return next t.cheap(p_when || ': job_submit', $s$select t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[{"step": "b", "peer": "a"}]')$s$);
	return next t.cheap(p_when || ': job_submit after history', $s$select t.submit('alice', '[{"name": "a"}]', '[{"step": "a", "job": 17}]')$s$);
	v_label := t.submit('alice', '[{"name": "a"}]') || '.a';
	return next t.cheap(p_when || ': a lone step''s life', format('select t.pass(%L)', v_label));
	v_job := t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[{"step": "b", "peer": "a"}, {"step": "b", "kind": "same_nodes", "peer": "a"}]');
	v_label := v_job || '.a';
	return next t.cheap(p_when || ': schedule_commit', format('select t.start(%L)', v_label));
	return next t.cheap(p_when || ': node_report run', format('select t.report(t.say(%1$L, %2$L))', v_label, 'run'));
	return next t.cheap(p_when || ': node_sample', format('select api.node_sample(jsonb_build_object(%L, 1, %L, (select jsonb_agg(jsonb_build_object(%L, n, %L, jsonb_build_array(jsonb_build_object(%L, s.job_id, %L, s.step_id, %L, s.attempt, %L, -1, %L, n)))) from t.step(%L) s, generate_series(1, 5) n)))',
		'node', 'rounds', 'clock', 'steps', 'job', 'step', 'attempt', 'task', 'cpu_usec', v_label));
	return next t.cheap(p_when || ': node_sampled', 'select * from api.node_sampled(1)');
	return next t.cheap(p_when || ': job_top', $s$select api.job_top(0, 'root', '{}')$s$);
	return next t.cheap(p_when || ': job_top of a node', $s$select api.job_top(0, 'root', '{"nodes": ["n1"]}')$s$);
	return next t.cheap(p_when || ': job_stats', format('select api.job_stats(0, %L, t.request(%L))', 'root', v_label));
	return next t.cheap(p_when || ': node_orders', 'select * from api.node_orders(array[1, 2, 3], array[1, 2], 1000)');
	return next t.cheap(p_when || ': node_report suspended', format('select api.job_suspend(0, %2$L, t.request(%1$L)), t.report(t.say(%1$L, %3$L))', v_label, 'root', 'suspended'));
	return next t.cheap(p_when || ': job_resume', format('select api.job_resume(0, %2$L, t.request(%1$L))', v_label, 'root'));
	return next t.cheap(p_when || ': node_report end', format('select t.finish(%L)', v_label));
	return next t.cheap(p_when || ': job_hold', format('select api.job_hold(0, %2$L, t.request(%1$L))', v_job, 'root'));
	return next t.cheap(p_when || ': job_cancel', format('select api.job_cancel(0, %2$L, t.request(%1$L))', v_job, 'root'));
	return next t.cheap(p_when || ': schedule_plan', format('select api.schedule_plan(t.term(), %L, null, null)', jsonb_build_array(jsonb_build_object('job', p_job, 'step', 0, 'reason', 'priority', 'message', 'x'))));
	return next t.cheap(p_when || ': node_judge', 'select * from t.judge()');
	return next t.cheap(p_when || ': node_renew', 'select * from api.node_renew(array[1, 2, 3, 4])');
	return next t.cheap(p_when || ': job_queue', $s$select api.job_queue(0, 'root', '{}')$s$);
	return next t.cheap(p_when || ': job_queue of a user', $s$select api.job_queue(0, 'root', '{"user": "bob"}')$s$);
	return next t.cheap(p_when || ': job_queue of history, cut', $s$select api.job_queue(0, 'root', '{"all": true, "limit": 10}')$s$, 2500);
	return next t.cheap(p_when || ': job_show', format('select api.job_show(0, %L, t.request(%L))', 'root', p_array));
	return next t.cheap(p_when || ': job_why', format('select api.job_why(0, %L, t.request(%L))', 'root', p_array));
	return next t.cheap(p_when || ': job_wait', format('select api.job_wait(0, %L, t.request(%L))', 'root', p_array));
	return next t.cheap(p_when || ': job_acct of one job', format('select api.job_acct(0, %L, t.request(%L, %L))', 'root', '42', '{"steps": true}'));
	return next t.cheap(p_when || ': node_list', $s$select api.node_list(0, 'root', '{}')$s$);
	return next t.cheap(p_when || ': partition_list', $s$select api.partition_list(0, 'root', '{}')$s$);
	return next t.cheap(p_when || ': instance_status', $s$select api.instance_status(0, 'root', '{}')$s$);
end $$;
select cmp_ok(t.read('select count(*) from rota.step where message is null'), '>', 30000::bigint, 'a scan would be seen');
-- Analyze the partitions, as autovacuum does; and the whole tables, as an administrator may. Cached plans are replaced.
select format('analyze %s', c.oid::regclass) from pg_class c where c.relispartition and c.relkind = 'r' and c.relnamespace = 'rota'::regnamespace \gexec
select t.hot('statistics of partitions', :j, :k);
analyze rota.job, rota.step_request, rota.step, rota.step_array, rota.step_edge, rota.attempt, rota.allocation, rota.task_end, rota.event, rota.plan;
select t.hot('all statistics', :j, :k);
-- What a cycle reads is read by the same plans for `rota plan`, whatever statistics say.
select set_eq($$ select unnest(p.proconfig) from pg_proc p where p.oid = 'api.plan_snapshot(int, text, jsonb)'::regprocedure $$,
	$$ select unnest(p.proconfig) from pg_proc p where p.oid = 'api.schedule_queue(int)'::regprocedure $$, 'plan_snapshot: the settings of schedule_queue');
-- Limits and peers, which few steps have, are computed for those steps only.
set local track_functions = 'all';
select * from api.schedule_pending(array[:j, :k], array[0, 0]) \g /dev/null
select is_empty($$ select * from pg_stat_xact_user_functions where funcname in ('size_asked', 'peer_same', 'peer_other') $$, 'schedule_pending: no limits, no peers, nothing asked about them');
reset track_functions;
select t.right('a busy day');
select * from finish();
rollback;
