-- Which running steps can be moved, and at what cost, as proposals of moves need it.
begin;
\ir world.psql
\ir checkpoint.psql
select * from no_plan();
create function t.movers() returns text language sql as $$
	select string_agg(internal.step_label(job_id, step_id) || ' ' || round(cost_s::numeric, 1), ', ' order by job_id) from internal.movable_steps() $$;
create function t.rows(p_job bigint) returns text language sql as $$
	select string_agg(concat_ws(' ', generation, state, reason, then_do), ', ' order by generation) from rota.checkpoint where job_id = p_job $$;
create function t.begun(p_label text) returns int language sql as $$ select t.start(p_label) + t.run(p_label) $$;
select t.submit('alice', :'saves') as a, t.submit('alice', '[{"name": "a"}]') as b,
	t.submit('alice', '[{"name": "a", "checkpoint": {"driver": "app", "keep": 2}, "requeue": false}]') as c \gset
select t.begun(v || '.a') from unnest(array[:a, :b, :c]) v \g /dev/null
select is(t.movers(), null, 'nothing has been measured');
select is(api.plan_snapshot(0, 'root', '{}') ? 'movers', false, 'who does not ask for them does not get them');
select t.says(v || '.a', 'take') from unnest(array[:a, :c]) v \g /dev/null
select t.saved(v || '.a') from unnest(array[:a, :c]) v \g /dev/null
update rota.checkpoint set complete_at = taking_at + interval '3 seconds';
select is(t.movers(), :a || '.a 6.0', 'as long again for the restart; not what must not run again');
update rota.checkpoint set restoring_at = now() - interval '2 seconds', restored_at = now() - interval '1 second' where job_id = :a;
select is(t.movers(), :a || '.a 4.0', 'or as long as one took');
select api.plan_snapshot(0, 'root', '{"moves": true}') as snapshot \gset
select is((:'snapshot'::jsonb #>> '{movers,0,job_id}') || ' ' || (:'snapshot'::jsonb #>> '{moving,columns,0}') || ' ' || ltrim(split_part(:'snapshot'::jsonb #>> '{moving,rows,0}', ',', 1), '(') || ' ' || jsonb_array_length(:'snapshot'::jsonb #> '{moving,rows}'), :a || ' job_id ' || :a || ' 1', 'with what it asks for');
select is(internal.snapshot_request(jsonb_populate_record(null::internal.pending_step, '{"job_id": 7, "name": "a", "variables": "secret"}')),
	'(7,,,a' || repeat(',', 37) || ')', 'but no variables, which are for the owner');
select throws_ok(format('select api.plan_snapshot(%s, ''alice'', ''{"moves": true}'')', t.uid('alice')), 'RT403', null, 'not for those who see only their own jobs')
from (select api.admin_change(0, 'root', '{"object": "setting", "action": "change", "name": "queue_visible", "values": {"value": "false"}}')) x;
select api.job_migrate(t.uid('alice'), 'alice', t.request(:'a')) \g /dev/null
select is(t.movers(), null, 'what moves is not moved again');

-- Moves that the leader makes
create function t.claims() returns text language sql as $$ select string_agg(concat_ws(' ', job_id, step_id, (select '{' || string_agg(concat_ws('.', x ->> 'job', x ->> 'step'), ',') || '}' from jsonb_array_elements(moving) x)), ', ' order by claim_id) from rota.preempt_claim $$;
create function t.move(p_for bigint, p_mover bigint, p_more jsonb default '{}', p_attempt int default 1) returns int language sql as $$
	select api.schedule_move(t.term(), jsonb_build_array(jsonb_build_object('steps', jsonb_build_array(jsonb_build_object('job', p_for, 'step', 0,
		'shares', '[{"node": 2, "cpus": 4, "mem_mb": 0, "gres": {}, "licenses": {}}]'::jsonb)),
		'moving', jsonb_build_array(jsonb_build_object('job', p_mover, 'step', 0, 'attempt', p_attempt))) || p_more)) $$;
select t.submit('alice', :'saves') as m, t.submit('alice', '[{"name": "w"}]') as w, t.submit('alice', '[{"name": "v"}]') as v \gset
select t.start(:'m' || '.a', '{2}'), t.run(:'m' || '.a') \g /dev/null
select is(t.move(:w, :m), 0, 'not a step of which no checkpoint was measured');
select t.says(:'m' || '.a', 'take'), t.saved(:'m' || '.a') \g /dev/null
select is((select job_id from api.schedule_movers()), :m::bigint, 'the leader sees whom it can move');
select is(t.move(:w, :m, '{}', 2), 0, 'not another attempt');
select is(t.move(:w, :m, '{"moving": []}'), 0, 'not without anybody who moves');
select is(t.move(:m, :m), 0, 'not for a step that does not wait');
select is(t.claims() is null and t.rows(:m) = '1 complete program continue', true, 'nothing was done');
select is(t.move(:w, :m), 1, 'made');
select is(t.claims(), :w || ' 0 {' || :m || '.0}', 'what it will free is kept');
select is(t.rows(:m), '1 complete program continue, 2 asked move requeue', 'it is to save itself');
select is((select detail from rota.event where job_id = :m and cause = 'evacuated' order by event_id desc limit 1), 'moved to make room for ' || :w || '.w', 'which is in its log');
select is((select y ->> 'message' from internal.why_preempt(t.step(:'w' || '.w'), 'pending') y), '4 CPUs on 1 node are kept for it until the steps that move for it have ended', 'and rota why says so');
select is(t.move(:v, :m), 0, 'nobody moves twice at a time');
select t.late() \g /dev/null
select is(t.claims(), null, 'it was not saved: nothing is kept');
select is((t.step(:'m' || '.a')).end_wanted, null, 'and it goes on');
select is(t.move(:w, :m), 0, 'nor is it tried again soon');
create function t.older(p_job bigint, p_by interval) returns void language sql as $$ update rota.checkpoint set failed_at = failed_at - p_by where job_id = p_job $$;
select t.older(:m, '11 minutes') \g /dev/null
select is(t.move(:w, :m), 1, 'but after ten times the time it has');
select t.late(), t.older(:m, '11 minutes') \g /dev/null
select is(t.move(:w, :m), 0, 'after a second failure twice as long');
select t.older(:m, '11 minutes') \g /dev/null
select is(t.move(:w, :m), 1, 'another time');
select t.says(:'m' || '.a', 'take'), t.saved(:'m' || '.a') \g /dev/null
select is((t.step(:'m' || '.a')).end_wanted || ' ' || t.claims(), 'requeue ' || :w || ' 0 {' || :m || '.0}', 'saved: it ends, and its place is kept');
select t.finish(:'m' || '.a', '{"outcome": "cancel", "cause": "evacuated", "exit": -1, "signal": 15}') \g /dev/null
select is(t.state(:'m' || '.a') || (t.step(:'m' || '.a')).requeues, 'pending0', 'it may start at once, and that counts for nothing');

-- Pre-dispatched elements of the moved step's array, on its node, do not take over its CPUs.
select t.submit('alice', '[{"name": "a", "cpus_per_task": 2, "mem_mb": 100, "checkpoint": {"driver": "app", "keep": 2}, "array": {"indices": [[0,9,1]], "size": 10, "limit": null}}]') as e \gset
select t.commit(t.decision(:'e' || '.a', '{2}', '{"position": 0}'), t.decision(:'e' || '.a', '{2}', '{"position": 1, "predispatched": true}')) \g /dev/null
select t.run(:'e' || '.a[0]'), t.says(:'e' || '.a[0]', 'take'), t.saved(:'e' || '.a[0]') \g /dev/null
select is(t.move(:v, :e, jsonb_build_object('moving', jsonb_build_array(jsonb_build_object('job', :e, 'step', (t.step(:'e' || '.a[0]')).step_id, 'attempt', 1)))), 1, 'an element');
select is((select string_agg(s.array_index || ':' || o.kind, ' ' order by o.order_id) from rota.node_order o join rota.step s using (job_id, step_id) where o.job_id = :e and o.kind in ('kill', 'checkpoint')), '1:kill 0:checkpoint', 'what stands ahead is queued again, before it saves itself');

-- Of two steps of a move, one cannot be saved, or ends for another reason.
select t.submit('alice', :'saves') as x, t.submit('alice', :'saves') as y, t.submit('alice', '[{"name": "u"}]') as u \gset
select t.start(v || '.a', '{3}'), t.run(v || '.a'), t.says(v || '.a', 'take'), t.saved(v || '.a') from unnest(array[:x, :y]) v \g /dev/null
create function t.two(p_for bigint, p_one bigint, p_other bigint) returns int language sql as $$
	select t.move(p_for, p_one, jsonb_build_object('moving', (select jsonb_agg(jsonb_build_object('job', v, 'step', 0, 'attempt', 1)) from unnest(array[p_one, p_other]) v))) $$;
delete from rota.preempt_claim;
savepoint two;
select is(t.two(:u, :x, :y) || ' ' || t.claims(), '1 ' || :u || ' 0 {' || :x || '.0,' || :y || '.0}', 'two move');
update rota.checkpoint set deadline_at = now() - interval '1 hour' where job_id = :x and state = 'asked';
select api.schedule_tick(t.term()) \g /dev/null
select is(t.claims(), null, 'one is not saved');
select t.says(:'y' || '.a', 'take'), t.saved(:'y' || '.a') \g /dev/null
select is(concat_ws(' ', (t.step(:'y' || '.a')).end_wanted, t.rows(:y)), '1 restoring program continue, 2 complete move continue', 'the other one is, and goes on');
rollback to two;
select t.two(:u, :x, :y) \g /dev/null
update rota.preempt_claim set moving = jsonb_set(moving, '{0,step}', '7');
update rota.checkpoint set deadline_at = now() - interval '1 hour' where job_id = :x and state = 'asked';
select api.schedule_tick(t.term()) \g /dev/null
select is(t.claims() is null, false, 'another step of that job is not meant');
rollback to two;
select t.two(:u, :x, :y), internal.checkpoint_ask(:x, 0, 'evacuate', 'root', 'the node goes', 'requeue') \g /dev/null
select is(concat_ws(' ', t.claims(), t.rows(:x)), '1 complete program continue, 2 asked evacuate requeue', 'what ends it otherwise takes the move over, and nothing is kept');
select t.says(:'x' || '.a', 'take'), t.saved(:'x' || '.a') \g /dev/null
select is((t.step(:'x' || '.a')).end_wanted, 'requeue', 'which ends it');
rollback to two;
select t.two(:u, :x, :y) \g /dev/null
delete from rota.preempt_claim;
select t.says(:'y' || '.a', 'take'), t.says(:'y' || '.a', 'begin') \g /dev/null
select t.says(:'y' || '.a', 'complete', '{"generation": 2, "ended": "1", "path": "/home/x/2", "files": [{"name": "state", "bytes": 5, "sha256": "1111111111111111111111111111111111111111111111111111111111111111"}]}') \g /dev/null
select is((t.step(:'y' || '.a')).end_wanted, 'requeue', 'a program that has ended with its checkpoint is queued again all the same');
rollback to two;
select t.two(:u, :x, :y), api.job_cancel(t.uid('alice'), 'alice', t.request(:'u')) \g /dev/null
select t.says(:'y' || '.a', 'take'), t.saved(:'y' || '.a') \g /dev/null
select is((t.step(:'y' || '.a')).end_wanted, null, 'nor does anything end for a step that waits no more');
rollback to two;
-- Moves to empty a node: the new places of the moved steps are reserved, and the steps move although no step waits.
create function t.empty(p_node int, p_mover bigint, p_to int) returns int language sql as $$
	select api.schedule_move(t.term(), jsonb_build_array(jsonb_build_object('empties', p_node, 'moving', jsonb_build_array(jsonb_build_object('job', p_mover, 'step', 0, 'attempt', 1)),
		'steps', jsonb_build_array(jsonb_build_object('job', p_mover, 'step', 0, 'shares', jsonb_build_array(jsonb_build_object('node', p_to, 'cpus', 1, 'mem_mb', 0, 'gres', '{}'::jsonb, 'licenses', '{}'::jsonb))))))) $$;
select is((select off_after_s from api.schedule_movers() where job_id = :x), 'infinity'::float, 'its node is never powered off');
select is(t.empty(3, :x, 4), 0, 'so it is not emptied');
update rota.setting set value = '300' where name = 'power_off_idle_s';
update rota.node set power_saving = false where node_id = 3;
select is((select off_after_s from api.schedule_movers() where job_id = :x), 'infinity'::float, 'nor one without power saving');
select is(t.empty(3, :x, 4), 0, 'which is not emptied either');
update rota.node set power_saving = true where node_id = 3;
select is((select off_after_s from api.schedule_movers() where job_id = :x), 300::float, 'it is powered off after that time');
select is(t.empty(3, :x, 4), 1, 'and is emptied');
select is((select why from rota.checkpoint where job_id = :x and state = 'asked'), 'moved to empty node ' || n.name, 'which its checkpoint says') from rota.node n where n.node_id = 3;
select api.schedule_tick(t.term()) \g /dev/null
select is(internal.claim_list() #>> '{0,node}', '4', 'its place is kept while it runs');
savepoint waits;
insert into rota.plan (job_id, step_id, reason, message) values (:x, 0, 'resources', 'it'), (:u, 0, 'array_limit', 'a limit');
select is(internal.claim_list() #>> '{0,node}', '4', 'whatever is said of itself, and who waits for other reasons');
insert into rota.plan (job_id, step_id, reason, message) values (:u, 1, 'priority', 'waits');
select is(internal.claim_list(), null, 'not while another step waits: it would have its CPUs twice');
select api.schedule_tick(t.term()) \g /dev/null
select is((select count(*) from rota.preempt_claim), 0::bigint, 'the next tick gives the move up');
select t.says(:'x' || '.a', 'take'), t.saved(:'x' || '.a') \g /dev/null
select is((t.step(:'x' || '.a')).end_wanted, null, 'and the step goes on where it is');
rollback to waits;
select t.says(:'x' || '.a', 'take'), t.saved(:'x' || '.a') \g /dev/null
select is((t.step(:'x' || '.a')).end_wanted, 'requeue', 'saved: it ends');
select t.finish(:'x' || '.a', '{"outcome": "cancel", "cause": "evacuated", "exit": -1, "signal": 15}') \g /dev/null
select is(t.state(:'x' || '.a') || ' ' || (internal.claim_list() #>> '{0,node}'), 'pending 4', 'and its place is kept until it starts');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'x')), api.schedule_tick(t.term()) \g /dev/null
select is(t.claims(), null, 'or is cancelled');
rollback to two;
select throws_ok($$select api.schedule_move(t.term() - 1, '[]')$$, 'RT412', null, 'only the leader moves steps');
select * from finish();
rollback;
