-- Limits of each measure on each object that can have one: steps that the queue offers, steps that a decision may start even if
-- the leader read older figures, refusals at submission, and the reasons that why shows.
begin;
\ir world.psql
select * from no_plan();
create function t.admin(p_object text, p_name text, p_values jsonb, p_action text default 'change') returns text language sql as $$
	select api.admin_change(0, 'root', jsonb_build_object('object', p_object, 'action', p_action, 'name', p_name, 'values', p_values)) ->> 'changed' $$;
create function t.heads(p_limit int) returns text language sql as $$
	select string_agg(internal.step_label(q.job_id, q.step_id), ' ' order by nr) from (select *, row_number() over () as nr from api.schedule_queue(p_limit)) q $$;
create function t.why(p_label text) returns text language sql as $$
	select string_agg(c ->> 'message', '; ') from jsonb_path_query(api.job_why(0, 'root', t.request(p_label)), '$.steps[0].conditions[*] ? (@.kind == "limit")') c $$;
create function t.refused(p_user text, p_step jsonb, p_job jsonb default '{}') returns text language plpgsql as $$
begin
	perform t.submit(p_user, jsonb_build_array(p_step || '{"name": "a", "line": 7}'), '[]', p_job);
	return 'taken';
exception when sqlstate 'RT422' or sqlstate 'RT429' then
	return sqlerrm;
end $$;
-- t.clean: remove the jobs and limits of earlier tests.
create function t.clean() returns void language plpgsql as $$
declare
	v_label text;
begin
	for v_label in select internal.step_label(s.job_id, s.step_id) from rota.step s join rota.step_state x using (state) where x.stage = 'live' and s.attempt > 0 loop
		perform t.run(v_label), t.finish(v_label);
	end loop;
	perform api.job_cancel(0, 'root', jsonb_build_object('jobs', (select jsonb_agg(job_id::text) from rota.job where ended_at is null)))
	where exists (select from rota.job where ended_at is null);
	delete from rota.usage_limit;
end $$;
-- uni -> phys -> lab; alice is of phys and of lab, bob of lab.
select t.admin(o, n, v::jsonb, 'create') from (values ('account', 'uni', '{}'), ('account', 'phys', '{"parent": "uni"}'), ('account', 'lab', '{"parent": "phys"}'), ('account', 'arts', '{"parent": "uni"}'),
	('user', 'alice', '{}'), ('qos', 'q', '{}'), ('partition', 'fast', '{"nodes": "all"}'), ('association', 'phys/alice', '{}'), ('association', 'lab/alice', '{}'), ('association', 'lab/bob', '{}')) x (o, n, v) \g /dev/null

-- Each measure on each object: of three steps that each ask for two, a limit of 5 lets two start.
create table t.holder (object text, name text, suffix text, who text);
insert into t.holder values ('account', 'uni', '', ''), ('account', 'phys', '', ''), ('account', 'lab', '', ''), ('account', 'phys', '_per_user', ' of "alice"'), ('user', 'alice', '', ' of "alice"'),
	('association', 'lab/alice', '', ' of "alice"'), ('qos', 'q', '', ''), ('qos', 'q', '_per_user', ' of "alice"'), ('partition', 'fast', '', ''), ('partition', 'fast', '_per_user', ' of "alice"');
create table t.measure (key text, value jsonb, step jsonb, less text, words text);
insert into t.measure values
	('max_running', '2', '{}', '1', '2 of at most 2 steps%s running%s'),
	('max_cpus', '5', '{"cpus_per_task": 2}', '1', '4 of at most 5 CPUs%s held%s, and it may need 2 more'),
	('max_nodes', '5', '{"nodes_min": 2, "nodes_max": 2, "ntasks": 2}', '1', '4 of at most 5 nodes%s held%s, and it may need 2 more'),
	('max_gres', '"gpu:5"', '{"gres": {"gpu": 2}}', '"gpu:1"', '4 of at most 5 gpu%s held%s, and it may need 2 more'),
	('max_cpu_minutes', '"5/30days"', '{"cpus_per_task": 2}', '"1/30days"', '4 of at most 5 CPU-minutes%s used or promised%s, and it may come to 2 more'),
	('max_gres_minutes', '"gpu:5/30days"', '{"gres": {"gpu": 2}}', '"gpu:1/30days"', '4 of at most 5 gpu-minutes%s used or promised%s, and it may come to 2 more'),
	('max_billing', '"5/30days"', '{"cpus_per_task": 2}', '"1/30days"', '4 of at most 5 billing units%s used or promised%s, and it may come to 2 more');
-- In this partition a CPU-minute is one billing unit.
select t.admin('partition', 'fast', '{"billing": "cpu:60"}') \g /dev/null
create function t.start_any(p_label text, p_step jsonb) returns int language sql as $$
	select t.start(p_label, case when p_step ? 'nodes_max' then '{1,2}'::int[] else array[(select node_id from rota.node_used where cpus - cpus_used >= 2 and not exists (
			select from rota.node_gres g where g.node_id = node_used.node_id and g.job_id is not null) order by node_id limit 1)] end,
		case when p_step ? 'gres' then '{"gres": {"gpu": [0, 1]}}'::jsonb else '{}' end) $$;
create function t.measures(p_holder t.holder, p_measure t.measure) returns setof text language plpgsql as $$
declare
	v_what text := format('%s on %s %s%s: ', p_measure.key, p_holder.object, p_holder.name, p_holder.suffix);
	v_job jsonb := '{"account": "lab", "qos": "q"}';
	v_step jsonb := p_measure.step || '{"partition": "fast"}';
	v_where text := case p_holder.object when 'account' then format(' on account "%s"', p_holder.name) when 'association' then ' on account "lab"'
		when 'qos' then ' under quality of service "q"' when 'partition' then ' in partition "fast"' else '' end
		|| case when p_measure.value #>> '{}' like '%/30days' then ' in 30 days' else '' end;
	v_a bigint;
	v_b bigint;
begin
	perform t.clean();
	perform t.admin(p_holder.object, p_holder.name, jsonb_build_object(p_measure.key || p_holder.suffix, p_measure.value));
	v_a := t.submit('alice', jsonb_build_array(v_step || '{"name": "a"}', v_step || '{"name": "b"}', v_step || '{"name": "c"}', v_step || '{"name": "d"}'), '[]', v_job);
	return next is(t.pending(), format('%1$s.a %1$s.b', v_a), v_what || 'as many are offered as may start');
	return next is(t.start_any(v_a || '.a', p_measure.step) + t.start_any(v_a || '.b', p_measure.step), 2, v_what || 'they start');
	return next is(t.pending(), null, v_what || 'nothing more is offered');
	return next is(t.start_any(v_a || '.c', p_measure.step), 0, v_what || 'nor started, whatever the leader has read');
	return next is(t.why(v_a || '.c'), format(p_measure.words, p_holder.who, v_where), v_what || 'why names it');
	v_b := t.submit('bob', jsonb_build_array(v_step || '{"name": "a"}'), '[]', v_job);
	return next is(t.pending(), case when p_holder.who <> '' then v_b || '.a' end, v_what || 'whom else it concerns');
	perform t.admin(p_holder.object, p_holder.name, jsonb_build_object(p_measure.key || p_holder.suffix, 'none'));
	return next is(t.pending(), format('%1$s.c %1$s.d %2$s.a', v_a, v_b), v_what || 'it is gone');
	perform t.admin(p_holder.object, p_holder.name, jsonb_build_object(p_measure.key || p_holder.suffix, p_measure.less::jsonb));
	if p_measure.key <> 'max_running' then
		return next is(t.refused('alice', v_step, v_job) like 'test.sh:7: --%asked for, at most 1 %' or t.refused('alice', v_step, v_job) like 'test.sh:7: --time: it may come to 2 %, at most 1 %',
			true, v_what || 'what passes it by itself is refused');
	end if;
	if p_holder.object <> 'user' then
		return next is(t.refused('alice', p_measure.step, case p_holder.name when 'uni' then '{}' else '{"account": "arts"}' end::jsonb), 'taken', v_what || 'what it does not concern');
	end if;
	return next is_empty('select * from t.wrong()', v_what || 'all adds up');
end $$;
select t.measures(h, m) from t.holder h cross join t.measure m where not (h.object = 'partition' and h.suffix = '' and m.key = 'max_nodes');

-- Steps that start together (--with) are checked together against the limits of each object: all start, or none.
create function t.together(p_user text, p_steps jsonb, p_job jsonb default '{}', p_edges jsonb default '[]') returns bigint language sql as $$
	select t.submit(p_user, jsonb_agg(x || jsonb_build_object('name', chr(96 + nr::int)) || case when x ? 'alone' then '{}' else '{"with_set": 0}' end::jsonb order by nr),
		(select coalesce(jsonb_agg(jsonb_build_object('step', chr(96 + n::int), 'kind', 'with', 'peer', 'a')), '[]') from jsonb_array_elements(p_steps) with ordinality y (s, n)
			where n > 1 and not s ? 'alone') || p_edges, p_job)
	from jsonb_array_elements(p_steps) with ordinality v (x, nr) $$;
create function t.apart(p_label text, p_step jsonb, p_nodes int[]) returns jsonb language sql as $$
	select t.decision(p_label, case when p_step ? 'nodes_max' then p_nodes else p_nodes[1:1] end, case when p_step ? 'gres' then '{"gres": {"gpu": [0, 1]}}'::jsonb else '{}' end) $$;
create function t.sets(p_holder t.holder, p_measure t.measure) returns setof text language plpgsql as $$
declare
	v_what text := format('together, %s on %s %s%s: ', p_measure.key, p_holder.object, p_holder.name, p_holder.suffix);
	v_job jsonb := '{"account": "lab", "qos": "q"}';
	v_step jsonb := p_measure.step || '{"partition": "fast"}';
	v_one bigint;
	v_two bigint;
begin
	perform t.clean();
	perform t.admin(p_holder.object, p_holder.name, jsonb_build_object(p_measure.key || p_holder.suffix, p_measure.value));
	begin
		perform t.together('alice', jsonb_build_array(v_step, v_step, v_step), v_job);
		return next fail(v_what || 'three are too many');
	exception when sqlstate 'RT422' then
		return next alike(sqlerrm, 'test.sh:1: --with: % together, at most %', v_what || 'three are too many');
	end;
	v_one := t.submit('alice', jsonb_build_array(v_step || '{"name": "a"}'), '[]', v_job);
	v_two := t.together('alice', jsonb_build_array(v_step, v_step), v_job);
	return next is(t.pending(), v_one || '.a', v_what || 'two do not start beside one');
	return next is(t.start_any(v_one || '.a', p_measure.step), 1, v_what || 'which does');
	return next is(t.pending(), null, v_what || 'nor in part');
	return next throws_ok(format('select t.commit(t.apart(%L, %L, %L), t.apart(%L, %L, %L))', v_two || '.a', p_measure.step, '{2,3}', v_two || '.b', p_measure.step, '{3,4}'), '40001', null,
		v_what || 'whatever the leader has read');
	return next is(t.states(v_two), 'a:pending b:pending', v_what || 'they wait');
	return next alike(t.why(v_two || '.b'), '% (with the one that it starts together with)', v_what || 'why');
	perform t.run(v_one || '.a'), t.finish(v_one || '.a');
	update rota.allocation set ended_at = started_at where job_id = v_one;
	return next is(t.pending(), format('%1$s.a %1$s.b', v_two), v_what || 'then both are offered');
	return next is(t.commit(t.apart(v_two || '.a', p_measure.step, '{1,2}'), t.apart(v_two || '.b', p_measure.step, '{3,4}')), 2, v_what || 'and start');
	return next is_empty('select * from t.wrong()', v_what || 'all adds up');
end $$;
select t.sets(h, m) from t.holder h cross join t.measure m where not (h.object = 'partition' and h.suffix = '' and m.key = 'max_nodes');
select t.clean() \g /dev/null
-- Sets of --with count in queue order like single steps, also over several lines of the queue. An array in a set counts with all
-- elements.
select t.admin('account', 'phys', '{"max_cpus": 4}') \g /dev/null
select t.submit('alice', '[{"name": "a", "cpus_per_task": 2}]', '[]', '{"account": "lab"}') as j \gset
select t.start(:'j' || '.a') \g /dev/null
select t.together('alice', '[{}, {"gres": {"gpu": 1}}, {"partition": "fast"}]', '{"account": "lab"}') as k \gset
select t.submit('bob', '[{"name": "a"}]', '[]', '{"account": "lab"}') as m \gset
select is(t.pending(), null, 'what needs less does not pass by a set that waits for the limit');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a') \g /dev/null
select is((select string_agg(x, ' ' order by x) from string_to_table(t.pending(), ' ') x), format('%1$s.a %1$s.b %1$s.c %2$s.a', :k, :m), 'all of it, and what else there is room for');
select t.admin('account', 'phys', '{"max_cpus": 2}') \g /dev/null
select is(t.pending(), format('%s.a', :m), 'where a limit has become too low for all of it, it stands in nobody''s way');
select t.admin('account', 'phys', '{"max_cpus": 4}') \g /dev/null
select t.clean() \g /dev/null
select t.admin('account', 'phys', '{"max_cpus": 4}') \g /dev/null
select t.together('alice', '[{}, {"array": {"indices": [[0,2,1]], "size": 3}}]', '{"account": "lab"}') as k \gset
select t.submit('alice', '[{"name": "a", "cpus_per_task": 4}]', '[]', '{"account": "lab"}') as j \gset
select is(t.pending(), format('%1$s.a %1$s.b*3', :k), 'an array with all its elements');
select is(t.refused('alice', '{"with_set": 0, "array": {"indices": [[0,4,1]], "size": 5}}', '{"account": "lab"}'), 'test.sh:7: --with: 5 CPUs asked for together, at most 4 may be held at once on account "phys"', 'too many elements');
select t.admin('account', 'phys', '{"max_cpus": 3}') \g /dev/null
select is(t.pending(), null, 'or not at all');
select is(t.why(:'k' || '.b'), '0 of at most 3 CPUs held on account "phys", and it may need 4 more (with the one that it starts together with)', 'why');
select is(t.why(:'j' || '.a'), '0 of at most 3 CPUs held on account "phys", and it may need 4 more', 'what is too large by itself');
select t.submit('bob', '[{"name": "a"}]', '[]', '{"account": "lab"}') as m \gset
select is(t.pending(), format('%s.a', :m), 'stands in nobody''s way either');
-- A set of --with that waits for another step takes no part of a limit meanwhile; else the step that it waits for might never
-- start.
select t.clean() \g /dev/null
select t.admin('account', 'phys', '{"max_cpus": 2}') \g /dev/null
select t.together('alice', '[{"topo": 1}, {"topo": 2}, {"topo": 0, "alone": true, "cpus_per_task": 2}]', '{"account": "lab"}', '[{"step": "b", "peer": "c"}]') as k \gset
select is(strpos(t.pending(), :'k' || '.c') > 0, true, 'what one of the set waits for');
select is(t.start(:'k' || '.c'), 1, 'starts');
select t.run(:'k' || '.c'), t.finish(:'k' || '.c') \g /dev/null
select is(t.pending(), format('%1$s.a %1$s.b', :k), 'and the set behind it');
select t.clean() \g /dev/null
select t.admin('account', 'phys', '{"max_cpus": 2}'), t.admin('qos', 'q', '{"max_gres": "gpu:2"}') \g /dev/null
select t.submit('carl', '[{"name": "a", "gres": {"gpu": 2}}]', '[]', '{"qos": "q"}') as m \gset
select t.start(:'m' || '.a', '{4}', '{"gres": {"gpu": [0, 1]}}') \g /dev/null
select t.together('alice', '[{}, {"gres": {"gpu": 1}}]', '{"account": "lab", "qos": "q"}') as k \gset
select t.submit('bob', '[{"name": "a", "cpus_per_task": 2}]', '[]', '{"account": "lab"}') as j \gset
select is(strpos(t.pending(), :'j' || '.a') > 0, true, 'nor while another limit keeps one of the set');
select is(t.why(:'k' || '.a') like '2 of at most 2 gpu held under quality of service "q"%', true, 'which each of them names');
select t.clean() \g /dev/null

-- A decision is checked as a whole, in its order; of elements in one launch request, all start or none.
select t.clean() \g /dev/null
select t.admin('account', 'phys', '{"max_cpus": 3}') \g /dev/null
select t.submit('alice', '[{"name": "a", "cpus_per_task": 2}, {"name": "b", "cpus_per_task": 2}, {"name": "c"}]', '[]', '{"account": "lab"}') as j \gset
select t.submit('bob', '[{"name": "a"}]', '[]', '{"account": "lab"}') as k \gset
select is(t.pending(), format('%s.a', :j), 'what needs less does not pass by what waits for the limit');
select is(t.commit(t.decision(:'j' || '.a', '{1}'), t.decision(:'j' || '.b', '{2}'), t.decision(:'k' || '.a', '{3}')), 1, 'of three in one decision the first');
select is(t.state(:'j' || '.a') || ' ' || t.state(:'j' || '.b') || ' ' || t.state(:'k' || '.a'), 'starting pending pending', 'the others wait on');
select t.admin('account', 'phys', '{"max_cpus": 5}') \g /dev/null
select is(t.pending(), format('%1$s.b %1$s.c', :j), 'a raised limit lets more go at once');
select is(t.commit(t.decision(:'j' || '.b', '{2}'), t.decision(:'j' || '.c', '{2}'), t.decision(:'k' || '.a', '{3}')), 2, 'as many');
select t.submit('alice', '[{"name": "r", "array": {"indices": [[0,9,1]], "size": 10}}]', '[]', '{"account": "lab"}') as m \gset
select t.admin('account', 'phys', '{"max_cpus": 7}') \g /dev/null
select api.job_cancel(0, 'root', t.request(:'k')) \g /dev/null
select is(t.pending(), format('%s.r*2', :m), 'an array gets the room that is left');
select is(t.commit(t.decision(:'m' || '.r', '{1}', '{"position": 0}'), t.decision(:'m' || '.r', '{3}', '{"position": 1}'), t.decision(:'m' || '.r', '{3}', '{"position": 2}')), 2, 'and no more elements start');
select is((select running || ' ' || next from rota.step_array where job_id = :m), '2 2', 'the third is no row');
select t.run(:'m' || '.r[0]'), t.finish(:'m' || '.r[0]') \g /dev/null
select is(t.pending(), format('%s.r*1', :m), 'what ends makes room');
-- An account may have a higher limit than its parent or a lower one; all limits up the tree count.
select t.clean() \g /dev/null
select t.admin('account', 'uni', '{"max_running": 3}'), t.admin('account', 'lab', '{"max_running": 2}'), t.admin('association', 'lab/bob', '{"max_running": 1}') \g /dev/null
select t.submit('bob', '[{"name": "a"}, {"name": "b"}]', '[]', '{"account": "lab"}') as j \gset
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[]', '{"account": "lab"}') as k \gset
select t.submit('carl', '[{"name": "a"}, {"name": "b"}]', '[]', '{"account": "arts"}') as m \gset
select is(t.pending(), format('%s.a %s.a %s.a', :j, :k, :m), 'one of bob, two of lab, three of uni');
-- Steps of a user who has reached a limit do not hide the steps of other users, however many they are and however short the list.
select t.clean() \g /dev/null
select t.admin('user', 'alice', '{"max_running": 1, "max_cpus": 3}') \g /dev/null
select t.submit('alice', (select jsonb_agg(jsonb_build_object('name', 's' || i, 'cpus_per_task', 2)) from generate_series(1, 300) i)) as j \gset
select t.submit('bob', '[{"name": "a"}]') as k \gset
select is(t.heads(5), format('%s.s1 %s.a', :j, :k), 'one of three hundred, and what is behind them');
select t.start(:'j' || '.s1') \g /dev/null
select is(t.pending(), format('%s.a', :k), 'none of them, and what is behind them');
-- A step with a range of nodes gets no more nodes than limits allow; whole nodes count with all their CPUs.
select t.clean() \g /dev/null
select t.admin('qos', 'q', '{"max_nodes": 2, "max_cpus": 8, "max_time": "10"}') \g /dev/null
select t.submit('alice', '[{"name": "a", "ntasks": 4, "time_limit_s": null}]', '[]', '{"qos": "q"}') as j \gset
select is((select nodes_max || ' ' || time_limit_s from t.offered), '2 600', 'no more nodes, and no longer than it may');
select is(t.refused('alice', '{"exclusive": true, "nodes_min": 3, "ntasks": 3}', '{"qos": "q"}'), 'test.sh:7: --ntasks: 12 CPUs asked for, at most 8 may be held at once under quality of service "q"', 'whole nodes');
select t.admin('qos', 'q', '{"max_nodes": "none", "max_cpus": 7}') \g /dev/null
select is(t.refused('alice', '{"exclusive": true, "nodes_min": 2, "ntasks": 2}', '{"qos": "q"}'), 'test.sh:7: --ntasks: 8 CPUs asked for, at most 7 may be held at once under quality of service "q"', 'count with all their CPUs');
select is(t.refused('alice', '{"time_limit_s": 601}', '{"qos": "q"}'), 'test.sh:7: --time: the time limit is longer than the 600 s allowed here', 'the time limit');
select t.submit('alice', '[{"name": "a", "ntasks": 2}]', '[]', '{"qos": "q"}') as k \gset
select is((select coalesce(nodes_max::text, 'any') from t.offered where job_id = :k), 'any', 'what needs no more is left as it is');
select api.job_cancel(0, 'root', t.request(:'k')) \g /dev/null
-- Steps longer than a time limit that was set after their submission keep waiting.
select t.admin('qos', 'q', '{"max_time": "none"}') \g /dev/null
select t.submit('bob', '[{"name": "a", "time_limit_s": 3600}, {"name": "b"}]', '[]', '{"qos": "q"}') as k \gset
select t.admin('qos', 'q', '{"max_time": "10"}') \g /dev/null
select is(t.pending(), format('%s.a %s.b', :j, :k), 'what is too long is not offered, and stands in nobody''s way');
select is(t.why(:'k' || '.a'), 'its time limit of 3600 s is longer than the 600 s allowed to steps under quality of service "q"', 'why');
select is(t.start(:'k' || '.a'), 0, 'nor started');
-- Limits of live steps, on an account with its child accounts, and on a partition.
select t.clean() \g /dev/null
select t.admin('account', 'phys', '{"max_submitted": 3}'), t.admin('partition', 'fast', '{"max_submitted_per_user": 1}') \g /dev/null
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[]', '{"account": "lab"}') as j \gset
select is(t.refused('bob', '{}', '{"account": "lab"}'), 'taken', 'the third');
select is(t.refused('bob', '{}', '{"account": "lab"}'), '3 of at most 3 live steps on account "phys"', 'one too many');
select is(t.refused('bob', '{"partition": "fast"}'), 'taken', 'elsewhere');
select is(t.refused('bob', '{"partition": "fast"}'), '1 of at most 1 live step of "bob" in partition "fast"', 'one too many there');
select is(t.refused('alice', '{"partition": "fast"}'), 'taken', 'another user');
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.finish(:'j' || '.a') \g /dev/null
select is(t.refused('bob', '{}', '{"account": "lab"}'), 'taken', 'one has ended');
-- CPU-minutes of a month: those used in it, and those that running steps can still use; none of the month before. The month
-- begins at midnight of the site's time zone.
select t.clean() \g /dev/null
create function t.held(p_measure text) returns numeric language sql as $$ select round(held, 1) from acct.limit where measure = p_measure $$;
-- A time zone that is far from that of the database, and whose month does not end while this runs.
select case when to_char(now() at time zone 'Etc/GMT-14', 'MM') = to_char((now() + interval '2 hours') at time zone 'Etc/GMT-14', 'MM')
	then 'Etc/GMT-14' else 'Etc/GMT+12' end as zone \gset
select t.admin('setting', 'time_zone', jsonb_build_object('value', :'zone')) \g /dev/null
update rota.usage_state set time_zone = :'zone';
create table t.span as
select m.begins::date as first, m.begins at time zone :'zone' as begins, (m.begins + interval '1 month') at time zone :'zone' as ends
from (select date_trunc('month', now() at time zone :'zone') as begins) m;
insert into rota.usage_month (month, account, user_name, partition, qos, cpu_s)
select first, 'lab', 'alice', 'main', 'q', 600 from t.span union all select (first - interval '1 month')::date, 'lab', 'alice', 'main', 'q', 60000 from t.span union all select first, 'arts', 'alice', 'main', 'q', 60000 from t.span;
select t.submit('alice', '[{"name": "b", "time_limit_s": 0}]', '[]', '{"account": "lab"}') as k \gset
select t.admin('account', 'phys', '{"max_cpu_minutes": "1000000/month"}') \g /dev/null
select is(t.refused('alice', '{"time_limit_s": 0}', '{"account": "lab"}'), 'test.sh:7: --time: it may come to any number of CPU-minutes, at most 1000000 may be used on account "phys" this month', 'a step has to say how long');
select is(t.held('cpu_minutes'), 10.0, 'of this month, of the account and those below');
select is((select (starts_at, ends_at) = (begins, ends) from acct.limit cross join t.span), true, 'the month is the site''s');
select t.submit('alice', '[{"name": "a", "cpus_per_task": 2, "time_limit_s": 600}, {"name": "c", "time_limit_s": 60}]', '[]', '{"account": "lab"}') as j \gset
select t.start(:'j' || '.a') \g /dev/null
select is(t.held('cpu_minutes'), round(10 + least(20, 2 * extract(epoch from ends - a.started_at) / 60), 1), 'what runs counts with all that it may come to') from t.span cross join live.allocation a where a.job_id = :j;
update rota.allocation set started_at = begins - interval '1 hour' from t.span where ended_at is null;
update rota.attempt set ordered_at = begins - interval '1 hour' from t.span where ended_at is null;
select is(t.held('cpu_minutes'), round(10 + 2 * extract(epoch from now() - begins) / 60, 1), 'but not before the month began') from t.span;
update rota.allocation set started_at = now() - least(now() - begins, interval '60 seconds') from t.span where ended_at is null;
select t.finish(:'j' || '.a') from t.run(:'j' || '.a') \g /dev/null
select is(t.held('cpu_minutes'), round(10 + 2 * extract(epoch from least(now() - begins, interval '60 seconds')) / 60, 1), 'what has ended counts with what it used') from t.span;
select api.usage_roll(1000) \g /dev/null
select is(t.held('cpu_minutes'), round(10 + 2 * extract(epoch from least(now() - begins, interval '60 seconds')) / 60, 1), 'once, when that is added up') from t.span;
select is(t.start(:'k' || '.b'), 1, 'what had no time limit before there was one');
select is(t.held('cpu_minutes'), round(10 + (2 * extract(epoch from least(now() - begins, interval '60 seconds')) + extract(epoch from ends - a.started_at)) / 60, 1), 'may come to all that is left of the month') from t.span cross join live.allocation a where a.job_id = :k;
select t.admin('account', 'phys', '{"max_cpu_minutes": "1000000/month,500000/30days"}') \g /dev/null
select is(t.start(:'j' || '.c'), 0, 'of days that go along there is no end');
select is(t.why(:'j' || '.c'), 'any number of at most 500000 CPU-minutes used or promised on account "phys" in 30 days, and it may come to 1 more', 'why');
select is((select string_agg(period || ' ' || most, ', ' order by period) from acct.limit), '30days 500000, month 1000000', 'both are there');
select * from finish();
rollback;
