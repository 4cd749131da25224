-- Staging of each element of an array by itself: rows, numbers, calls, bounds, cancellations, failures, requeues.
begin;
\ir world.psql
select * from no_plan();
\ir staging.psql
update rota.setting set value = '2' where name = 'stage_ahead';
-- t.poll: the calls that a runnerd takes that runs all calls under way.
create function t.poll() returns text language sql as $$
	select t.take(array(select call_id from rota.staging_call where ended_at is null and began_at is not null), true) $$;
-- t.el: the staging number of an element. t.all: the state of each element. t.calls: the open calls of a staging number.
create function t.el(p_job bigint, p_index int) returns bigint language sql as $$
	select g.job_id from rota.staging g join rota.step s on s.job_id = g.array_job_id and s.step_id = g.step_id where g.array_job_id = p_job and s.array_index = p_index $$;
create function t.all(p_job bigint) returns text language sql as $$
	select string_agg(s.array_index || ':' || t.where(g.job_id), ' ' order by s.step_id) from rota.staging g join rota.step s on s.job_id = g.array_job_id and s.step_id = g.step_id where g.array_job_id = p_job $$;
create function t.calls(p_id bigint) returns text language sql as $$ select string_agg(function || case when hurry then '!' else '' end, ' ' order by call_id) from rota.staging_call where job_id = p_id $$;
create function t.in_all(p_id bigint) returns text language plpgsql as $$ begin
	perform t.poll();
	perform t.over(p_id), t.over(p_id), t.over(p_id);
	return t.over(p_id, 0, null, false, 'BB_ID=' || p_id || E'\n');
end $$;
create function t.out_all(p_id bigint) returns text language plpgsql as $$ begin
	perform t.poll();
	perform t.over(p_id), t.over(p_id), t.over(p_id);
	return t.over(p_id);
end $$;
-- t.go: place an element that is a row on a node, and end pre_run.
create function t.go(p_job bigint, p_index int) returns text language plpgsql as $$ begin
	perform t.start(p_job || '.a[' || p_index || ']', '{1}', '{"staging": true}');
	perform t.poll();
	return t.over(t.el(p_job, p_index));
end $$;
create function t.done(p_job bigint, p_index int) returns text language plpgsql as $$ begin
	perform t.run(p_job || '.a[' || p_index || ']'), t.finish(p_job || '.a[' || p_index || ']');
	return t.where(t.el(p_job, p_index));
end $$;

select t.submit('alice', '[{"name": "a", "array": {"size": 4, "indices": [[5, 8, 1]]}}]', '[]', t.staging()) as j \gset
select is(t.where(:j), 'array', 'the row of the job');
select is((select count(*) from rota.staging where array_job_id = :j), 0::bigint, 'an element has none when the job is submitted');
select is((select deps_waiting from rota.step where job_id = :j and step_id = 0), 0, 'the array waits for nothing');
select is(t.pending(), null, 'and is not offered');
select is((select n.reason from internal.step_now n where n.job_id = :j and n.step_id = 0), 'staging_in', 'its reason');
select t.poll() as taken \gset
select is((select string_agg(array_index || ' ' || state || ' ' || deps_waiting, ', ' order by step_id) from rota.step where job_id = :j and array_index is not null), '5 pending 1, 6 pending 1', 'as many as the setting says, each behind its data');
select t.el(:j, 5) as e5, t.el(:j, 6) as e6 \gset
select is(:e5 > :j and :e6 > :j and :e6 <> :e5 and not exists (select from rota.job where job_id in (:e5, :e6)), true, 'with numbers that no job has');
select is(:'taken' in (:e5 || ':setup ' || :e6 || ':setup', :e6 || ':setup ' || :e5 || ':setup'), true, 'whose functions are called by these numbers');
select t.right('made');
select is((select job_info ->> 'job_id' || ' ' || (job_info ->> 'array_job_id') || ' ' || (job_info ->> 'array_task_id') || ' ' || (job_info ->> 'burst_buffer') || ' ' || (job_info ->> 'job_state')
	from (select internal.staging_job_info(:e5) as job_info) x), format('%s %s 5 #BB_LUA x PENDING', :e5, :j), 'what functions are given');
select is(t.in_all(:e5), 'staged', 'one is staged');
select is(t.pending(), :'j' || '.a[5]', 'and is offered; the other is not');
select is((select p.variables from t.offered p), format(E'1=%s:SLURM_JOB_ID=%s\n2=%s:BB_ID=%s\n', 13 + length(:'e5'), :'e5', 6 + length(:'e5'), :'e5'), 'with its variables');
select is((select count(*) from rota.staging where array_job_id = :j), 2::bigint, 'no more are made: none has nodes');
select is((select n.reason from internal.step_now n where n.job_id = :j and n.step_id = 2), 'staging_in', 'the reason of the other');
select alike(api.job_why(t.uid('alice'), 'alice', t.request(:'j' || '.a[6]')) #>> '{steps,0,conditions,0,message}', 'its data is being staged in, setup of burst_buffer.lua%', 'why');
select is((select array_agg(variables) from api.schedule_launch(array[:j], '{0}')), '{NULL}', 'the array has no variables');
select t.start(:'j' || '.a[5]', '{1}', '{"staging": true}') \g /dev/null
select is(t.where(:e5), 'pre_run:pre_run', 'with nodes, pre_run is due');
select is((select state from rota.step where job_id = :j and step_id = 0), 'running', 'the array has begun');
select t.poll() \g /dev/null
select is((select count(*) from rota.staging where array_job_id = :j), 3::bigint, 'and the next element is made');
select is((select count(*) from api.node_orders('{1}', '{}', 1000) where job_id = :j), 0::bigint, 'no order leaves');
select is(t.over(:e5), 'running', 'then it runs');
select is((select count(*) from api.node_orders('{1}', '{}', 1000) where job_id = :j), 1::bigint, 'its order leaves');
select is(t.done(:j, 5), 'post_run:post_run', 'its end is that of its data');
select is(t.where(:e6), 'setup:setup', 'and not of others');
select is((select job_info ->> 'job_state' from (select internal.staging_job_info(:e5) as job_info) x), 'COMPLETED', 'its state, not the job''s');
select is(t.out_all(:e5), 'complete', 'complete');
select is(t.calls(:e5), 'setup data_in test_data_in paths pre_run post_run data_out test_data_out job_teardown', 'its calls');
select t.right('one is complete');

-- An element is cancelled in each stage.
select t.act('cancel', 'alice', :'j' || '.a[6]') \g /dev/null
select is(t.where(:e6), 'teardown:setup', 'cancelled in setup, which is killed');
select is(t.poll() ~ (:'e6' || ':setup-'), true, 'runnerd gets to know');
select t.over(:e6, null, 'was killed') \g /dev/null
select is(t.where(:e6), 'teardown:job_teardown!', 'then a teardown of its own');
select t.poll(), t.over(:e6) \g /dev/null
select is(t.where(:e6), 'complete', 'it is over');
select is(t.where(:j), 'array', 'the array is not');
select t.act('cancel', 'alice', :'j') \g /dev/null
select is((select state from rota.job where job_id = :j), 'cancelled', 'all of it is cancelled');
select is(t.where(:j), 'array', 'the array waits for the data of its elements');
select t.poll() \g /dev/null
select is(internal.staging_is_over(:j), false, 'so it is not over');
do $$ declare x record; begin
	for i in 1 .. 4 loop
		for x in select g.job_id from rota.staging g where g.array_job_id is not null and g.ended_at is null and t.open(g.job_id) is not null loop
			perform t.poll();
			perform t.over(x.job_id);
		end loop;
	end loop;
end $$;
select is(t.all(:j), '5:complete 6:complete 7:complete 8:complete', 'until all of them are complete');
select is(t.where(:j), 'complete', 'then it is, too');
select t.right('cancelled');

-- An array that is cancelled before an element was staged; arrays that are held, have a begin time or wait for others.
select t.submit('alice', '[{"name": "a", "hold": true, "array": {"size": 3, "indices": [[0, 2, 1]]}}]', '[]', t.staging()) as h \gset
select t.poll() \g /dev/null
select is((select count(*) from rota.staging where array_job_id = :h), 0::bigint, 'held: nothing is made');
select t.act('cancel', 'alice', :'h') \g /dev/null
select is(t.where(:h), 'complete', 'cancelled before: it is over at once');

-- An element that is held by itself becomes a row, and is staged in after its release.
select t.submit('alice', '[{"name": "a", "array": {"size": 3, "indices": [[0, 2, 1]]}}]', '[]', t.staging()) as k \gset
select t.act('hold', 'alice', :'k' || '.a[2]') \g /dev/null
select is(t.all(:k), '2:pending', 'a row of its own');
select t.poll() \g /dev/null
select is(t.all(:k), '0:setup:setup 2:pending', 'another is made, as far as there is room');
select t.act('release', 'alice', :'k' || '.a[2]') \g /dev/null
select t.poll() \g /dev/null
select is(t.all(:k), '0:setup:setup 2:setup:setup', 'released: it is staged in');

-- A stage-in that fails holds its element, and counts towards the number of staged elements.
select t.over(t.el(:k, 0), -1, 'no') \g /dev/null
select is((select held || ': ' || held_reason from t.step(:'k' || '.a[0]')), 'system: burst_buffer.lua: setup: no', 'a failure holds the element');
select is((select held from t.step(:'k' || '.a[2]')), '', 'not the others');
select t.poll() \g /dev/null
select is((select count(*) from rota.staging where array_job_id = :k), 2::bigint, 'no other is made for it');
select is(t.in_all(t.el(:k, 2)), 'staged', 'the other goes on');
select is(t.go(:k, 2), 'running', 'and runs');
select t.act('release', 'alice', :'k' || '.a[0]') \g /dev/null
select is(t.where(t.el(:k, 0)), 'pending:job_teardown!', 'its release begins with a teardown');
select t.poll(), t.over(t.el(:k, 0)) \g /dev/null
select is(t.in_all(t.el(:k, 0)), 'staged', 'and then it is staged in');

-- pre_run fails: its element is queued again, with its data still staged.
select t.start(:'k' || '.a[0]', '{1}', '{"staging": true}'), t.poll() \g /dev/null
select is(t.over(t.el(:k, 0), -1, 'no'), 'pending:job_teardown', 'pre_run fails');
select is((select concat_ws(' ', state, requeues, deps_waiting, cause) from t.step(:'k' || '.a[0]')), 'pending 1 1 burst_buffer', 'queued again, behind its data');
select is((select state from t.step(:'k' || '.a[2]')), 'starting', 'the other runs on');
select t.right('pre_run failed');
select t.poll(), t.over(t.el(:k, 0)), t.later() \g /dev/null
select is(t.in_all(t.el(:k, 0)), 'staged', 'again');
select is(t.go(:k, 0), 'running', 'and it runs');
select t.done(:k, 0) \g /dev/null

-- The runnerd dies: the calls that it ran begin anew or run again, for each element.
select t.poll() \g /dev/null
select t.done(:k, 2) \g /dev/null
select t.poll() \g /dev/null
select is(t.where(t.el(:k, 0)), 'post_run:post_run', 'post_run is under way');
select t.take() \g /dev/null
select is(t.where(t.el(:k, 0)) || ' ' || t.where(t.el(:k, 1)), 'post_run:post_run pending:job_teardown!', 'interrupted: each by its stage');
select t.right('interrupted');

-- A stage-out that fails stays failed and is shown; "retry" of the job retries the stage-outs of its elements.
select t.poll(), t.over(t.el(:k, 1)) \g /dev/null
select is(t.in_all(t.el(:k, 1)), 'staged', 'the last one');
select t.go(:k, 1), t.done(:k, 1) \g /dev/null
select is(t.job(:k), 'completed', 'all have run');
select is(internal.staging_out_reason(:k), 'staging_out', 'its data is staged out');
select t.poll() \g /dev/null
select t.over(t.el(:k, 1), -1, 'full') \g /dev/null
select is(t.out_all(t.el(:k, 0)), 'complete', 'one is complete');
select is(t.out_all(t.el(:k, 2)), 'complete', 'another');
select is(internal.staging_out_reason(:k), 'stage_out_failed', 'the third has failed');
select is(api.hook_admin(t.uid('root'), 'root', format('{"action": "show", "job": %s}', :k)::jsonb) #>> '{hooks,0,text}', 'each element has its data staged for itself: 1 post_run', 'said of the job');
select is(api.hook_admin(t.uid('root'), 'root', format('{"action": "list"}')::jsonb) #>> '{hooks,1,label}', :'k' || '.a[1]', 'and of the element');
select is(api.job_show(t.uid('alice'), 'alice', t.request(:'k')) #>> '{jobs,0,staging,elements,1,state}', 'post_run', 'and to its owner');
select is(internal.hook_retry(:k), 'post_run', 'retry');
select is(t.out_all(t.el(:k, 1)), 'complete', 'is staged out');
select is(t.where(:k), 'complete', 'and all is over');
select is((select count(*) from acct.staging where array_job_id = :k), 3::bigint, 'the rows of the elements');
select is((select string_agg(array_index::text, ' ' order by array_index) from acct.staging where array_job_id = :k), '0 1 2', 'with their indices');

-- Requeue: the elements are staged in again, under the same staging numbers.
create table t.before as select job_id, step_id from rota.staging where array_job_id = :k;
select t.act('requeue', 'alice', :'k') \g /dev/null
select is(t.where(:k), 'array', 'requeued');
select is((select string_agg(deps_waiting::text, '' order by step_id) from rota.step where job_id = :k), '0111', 'its elements wait for their data');
select t.poll() \g /dev/null
select is(t.all(:k), '0:setup:setup 1:setup:setup 2:setup:setup', 'which comes again');
select is((select count(*) from rota.staging g join t.before b using (job_id, step_id)), 3::bigint, 'under the same numbers');
select is((select count(*) from rota.staging where array_job_id = :k), 3::bigint, 'and no others');
select t.right('requeued');
select t.act('cancel', 'alice', :'k') \g /dev/null

-- Space of pools is counted for each element.
select api.pool_report((select term from rota.leader where name = 'hook'), '{"pools": [{"id": "fast", "quantity": 10, "granularity": 1}]}', null) \g /dev/null
select t.submit('alice', '[{"name": "a", "array": {"size": 3, "indices": [[0, 2, 1]]}}]', '[]', t.staging('{"pool": "fast", "capacity": 6, "line": 2}')) as p \gset
select t.poll() \g /dev/null
select is((select string_agg(s.array_index || ':' || g.state || ':' || coalesce(g.taken, 0), ' ' order by s.step_id) from rota.staging g join rota.step s on s.job_id = g.array_job_id and s.step_id = g.step_id
	where g.array_job_id = :p), '0:setup:6 1:pending:0', 'one has its space, and the other waits for it');
select is((select n.reason from internal.step_now n where n.job_id = :p and n.step_id = 2), 'staging_pool', 'its reason');
select is(api.job_why(t.uid('alice'), 'alice', t.request(:'p' || '.a[1]')) #>> '{steps,0,conditions,0,message}', format('waits for 6 B of pool fast: 4 B are free; job %s.a[0] gives back 6 B', :p), 'why names the element');
select is(internal.why_veil(t.uid('bob'), internal.why_row('staging', format('job %s.a[0] gives back 6 B', :p), format('%s.a[0]', :p), null) || '[]') #>> '{0,message}',
	'another job gives back 6 B', 'hidden where jobs of others are');

-- cancel --hurry of a running element, and of an array whose elements have ended.
select t.submit('alice', '[{"name": "a", "array": {"size": 2, "indices": [[0, 1, 1]]}}]', '[]', t.staging()) as q \gset
select t.poll() \g /dev/null
select t.in_all(t.el(:q, 0)), t.in_all(t.el(:q, 1)), t.go(:q, 0), t.go(:q, 1) \g /dev/null
select t.act('cancel', 'alice', :'q' || '.a[0]', '{"hurry": true}') \g /dev/null
select is((select string_agg(s.array_index || ':' || g.hurry, ' ' order by s.step_id) from rota.staging g join rota.step s on s.job_id = g.array_job_id and s.step_id = g.step_id where g.array_job_id = :q), '0:true 1:false', 'hurry is that of the element');
select t.done(:q, 1) \g /dev/null
select t.done(:q, 0) \g /dev/null
select is(t.all(:q), '0:teardown:job_teardown! 1:post_run:post_run', 'one is torn down alone');
select t.act('cancel', 'alice', :'q', '{"hurry": true}') \g /dev/null
select is(t.all(:q), '0:teardown:job_teardown! 1:teardown:job_teardown!', 'and of the array all that is left');

-- A cancellation in pre_run that comes too late to kill the call, or comes during the controller's prolog: the element never ran.
select t.submit('alice', '[{"name": "a", "array": {"size": 2, "indices": [[0, 1, 1]]}}]', '[]', t.staging()) as r \gset
select t.poll() \g /dev/null
select t.in_all(t.el(:r, 0)), t.in_all(t.el(:r, 1)), t.start(:'r' || '.a[0]', '{1}', '{"staging": true}'), t.poll() \g /dev/null
select t.act('cancel', 'alice', :'r' || '.a[0]') \g /dev/null
select is(t.over(t.el(:r, 0)), 'teardown:job_teardown', 'cancelled in pre_run, which succeeds all the same: a teardown, and no stage-out');
select is((select hurry from rota.staging where job_id = t.el(:r, 0)), true, 'in a hurry');
select is(t.state(:'r' || '.a[0]'), 'cancelled', 'the element is cancelled');
select t.submit('alice', '[{"name": "a", "array": {"size": 1, "indices": [[0, 0, 1]]}}]', '[]', t.staging()) as o \gset
select t.poll() \g /dev/null
select t.in_all(t.el(:o, 0)), t.start(:'o' || '.a[0]', '{1}', '{"staging": true}'), t.poll(), t.act('cancel', 'alice', :'o') \g /dev/null
select is(t.over(t.el(:o, 0), null, 'was killed'), 'teardown:job_teardown', 'cancelled in pre_run, which is killed');
select is((select message from rota.staging where job_id = t.el(:o, 0)), null, 'that is no failure');
update rota.leader set prolog = true where name = 'schedule';
select t.start(:'r' || '.a[1]', '{1}', '{"staging": true}'), t.poll() \g /dev/null
select t.act('cancel', 'alice', :'r' || '.a[1]') \g /dev/null
select api.hook_report((select term from rota.leader where name = 'hook'), array_agg(hook_id), '{null}', '{null}', '{1}', '{killed}', '{""}')
from rota.hook_pending where job_id = :r and hook = 'controller_prolog' \g /dev/null
select is(t.all(:r), '0:teardown:job_teardown! 1:teardown:pre_run', 'cancelled in pre_run: its prolog ends first, and pre_run is killed');
select is((select count(*) from rota.hook_pending where job_id = :r), 0::bigint, 'no attempt waits for pre_run any more');
update rota.leader set prolog = false where name = 'schedule';

-- A job of several steps is staged once, with its array.
select t.submit('alice', '[{"name": "a", "array": {"size": 2, "indices": [[0, 1, 1]]}}, {"name": "b"}]', '[]', t.staging()) as m \gset
select is(t.where(:m), 'pending', 'an array among several steps');
select is((select bool_or(staged) from rota.step_array where job_id = :m), false, 'is staged with its job');
-- The rows that the leader and lists read do not grow with the elements that are not staged yet.
create function t.rows_read() returns bigint language sql as $$
	select sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid))::bigint from pg_class c where c.relnamespace = 'rota'::regnamespace $$;
create function t.reads(p_size int) returns bigint language plpgsql as $$
declare
	v_before bigint;
	v_call text;
	v_job bigint := t.submit('alice', format('[{"name": "a", "array": {"size": %s, "indices": [[0, %s, 1]]}}]', p_size, p_size - 1)::jsonb, '[]', t.staging());
begin
	perform t.poll();
	if (select count(*) from rota.staging g where g.array_job_id = v_job) <> 2 then
		raise 'no element is staged';
	end if;
	v_before := t.rows_read();
	foreach v_call in array array['api.schedule_queue(1000)', 'api.schedule_tick(t.term())', 'internal.staging_room', format('api.job_queue(0, ''root'', ''{"lines": true, "jobs": ["%s"]}'')', v_job),
		format('api.job_queue(0, ''root'', ''{"jobs": ["%s"]}'')', v_job), format('api.job_show(0, ''root'', ''{"jobs": ["%s"]}'')', v_job), format('api.job_why(0, ''root'', ''{"jobs": ["%s"]}'')', v_job)] loop
		execute 'select count(*) from ' || v_call;
	end loop;
	return t.rows_read() - v_before;
end $$;
select cmp_ok(t.reads(100000), '<', 2 * t.reads(10), 'of an array of 100,000 hardly more is read than of one of ten');
select t.right('at the end');
select * from finish();
rollback;
