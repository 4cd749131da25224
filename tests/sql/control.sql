-- Actions of owners and operators: cancel in every state, hold, release, suspend, resume, signal; deadlines, begin times,
-- permissions.
begin;
\ir world.psql
select * from no_plan();
select api.admin_change(0, 'root', '{"object": "user", "action": "create", "name": "olga", "values": {"role": "operator"}}') \g /dev/null
select api.admin_change(0, 'root', '{"object": "license", "action": "create", "name": "lic", "values": {"total": 2}}') \g /dev/null

-- Cancel a step in each state, one after the other.
create function t.bring(p_state text) returns bigint language plpgsql as $$
declare
	v_job bigint := t.submit('alice', '[{"name": "a"}]');
	v_label text := v_job || '.a';
begin
	if p_state <> 'pending' then
		perform t.start(v_label);
	end if;
	if p_state = 'prolog' then
		perform t.report(t.say(v_label, 'keeper'));
	elsif p_state in ('running', 'suspended', 'ending', 'completed') then
		perform t.run(v_label);
	end if;
	if p_state = 'suspended' then
		perform t.act('suspend', 'alice', v_label);
		perform t.report(t.say(v_label, 'suspended'));
	elsif p_state = 'ending' then
		perform t.report(t.say(v_label, 'done'));
	elsif p_state = 'completed' then
		perform t.finish(v_label);
	end if;
	return v_job;
end $$;
create table t.case as
select s.state, t.bring(s.state) as job from rota.step_state s where s.stage <> 'final' or s.state = 'completed' order by s.severity;
select is(t.state(job || '.a'), state, 'brought to ' || state) from t.case;
select is(t.act('cancel', 'alice', job::text, '{"reason": "enough"}'),
	case state when 'pending' then 'cancelled' when 'completed' then 'not changed: it has already ended (completed)' else 'ending' end, 'cancel in ' || state) from t.case;
select is(t.state(job || '.a'), case state when 'pending' then 'cancelled' else state end, 'after that ' || state) from t.case;
select is(t.orders(job || '.a'), case when state not in ('pending', 'completed') then case state when 'suspended' then 'suspend@n1 ' else '' end || 'kill@n1' end, 'orders in ' || state) from t.case;
select is(t.act('cancel', 'alice', job::text), case state when 'pending' then 'not changed: it has already ended (cancelled)' when 'completed' then 'not changed: it has already ended (completed)' else 'ending' end, 'again in ' || state) from t.case;
select t.finish(job || '.a', '{"outcome": "cancel", "cause": "cancelled", "exit": -1, "signal": 15}') from t.case where state not in ('pending', 'completed', 'ending') \g /dev/null
select t.report(t.say(job || '.a', 'end')) from t.case where state = 'ending' \g /dev/null
select is(t.job(job), case when state in ('completed', 'ending') then 'completed' else 'cancelled' end, 'ended from ' || state) from t.case;
select is((select s.message from t.step(job || '.a') s), case when state not in ('completed', 'ending') then 'cancelled by alice: enough' end, 'with the reason from ' || state) from t.case;
select is((select e.actor || ' ' || e.detail from rota.event e where e.job_id = job and e.event = 'modify'), case when state not in ('pending', 'completed') then 'alice cancelled by alice: enough' end,
	'who wanted it is in the log, from ' || state) from t.case;
select t.right('cancel in every state');

-- A cancellation takes precedence over a retry, but not over a completion or a reached time limit.
select t.submit('alice', '[{"name": "a", "retry": 3}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.act('cancel', 'alice', :'j'), t.fail(:'j' || '.a', 9) \g /dev/null
select is(t.job(:j), 'cancelled', 'no retry of what was cancelled');
-- A whole job, with steps in all states, some waiting for others.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}]', '[{"step": "b", "peer": "a"}, {"step": "c", "peer": "b", "condition": "any"}, {"step": "d", "peer": "c"}]') as j \gset
select t.pass(:'j' || '.a'), t.start(:'j' || '.b'), t.run(:'j' || '.b') \g /dev/null
select is(t.act('cancel', 'alice', :'j'), 'not changed: it has already ended (completed) ending cancelled cancelled', 'a whole job');
select is(t.states(:j), 'a:completed b:running c:cancelled d:cancelled', 'no step is called a failed dependency');
select t.finish(:'j' || '.b', '{"outcome": "cancel", "cause": "cancelled"}') \g /dev/null
select is(t.job(:j), 'cancelled', 'over');
select t.right('cancel of a job');

-- Who may.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select throws_ok(format($$select t.act(%L, 'bob', %L, '{"signal": "USR1"}')$$, v, :j), 'RT403', null, v || ' by another user is refused')
from unnest('{cancel,hold,release,suspend,resume,signal}'::text[]) v;
select throws_ok($$select t.act('cancel', 'alice', '77777')$$, 'RT404', null, 'no such job');
select throws_ok(format($$select t.act('cancel', 'alice', '%s.nix')$$, :j), 'RT404', null, 'no such step');
select throws_ok($$select t.act('cancel', 'alice', 'one; drop')$$, 'RT422', null, 'not a label');
select throws_ok($$select api.job_cancel(1, 'alice', '{}')$$, 'RT422', null, 'no job named');
select is(t.act('hold', 'olga', :'j'), 'held', 'an operator holds');
select throws_ok(format($$select t.act('release', 'alice', %L)$$, :j), 'RT403', 'a step that you named is held by an operator', 'which the owner cannot undo');
select is(t.pending(), null, 'held');
select is(api.job_why(t.uid('alice'), 'alice', t.request(:'j')) #>> '{steps,0,conditions,0,message}', 'held by an operator: held by olga', 'why names who');
select is(t.act('release', 'olga', :'j'), 'released', 'the operator can');
select is(t.act('release', 'alice', :'j'), 'not changed: it is not held', 'nothing to release');
select is(t.act('hold', 'alice', :'j', '{"reason": "later"}'), 'held', 'the owner holds');
select is(t.act('hold', 'olga', :'j'), 'held', 'and the operator on top');
select is((t.step(:'j' || '.a')).held, 'admin', 'the operator''s counts');
select t.act('release', 'olga', :'j') \g /dev/null
select is(t.pass(:'j' || '.a'), 'completed', 'and then it runs');
select is((select array_agg(event order by event_id) from rota.event where job_id = :j), '{submit,hold,release,hold,hold,release,start,run,complete}', 'each on record');
select is(t.act('hold', 'alice', :'j'), 'not changed: it has already ended (completed)', 'hold of what has ended');
create function t.failed(p_verb text, p_user text, p_label text, p_more jsonb default '{}') returns text language plpgsql as $$
declare
	v_answer jsonb;
begin
	execute format('select api.job_%s($1, $2, $3)', p_verb) into v_answer using t.uid(p_user), p_user, t.request(p_label, p_more);
	return (select string_agg(x ->> 'failed', ' ' order by nr) from jsonb_array_elements(v_answer -> 'steps') with ordinality y (x, nr));
end $$;
select is(t.failed(v, 'alice', :'j', '{"signal": "USR1"}'), (v <> 'cancel')::text, v || ' of what has ended fails, unless it is to end')
from unnest('{cancel,hold,release,suspend,resume,signal}'::text[]) v;
-- Actions that are requested twice, or that the state does not permit.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[{"step": "b", "peer": "a"}]') as j \gset
select is(t.failed('hold', 'alice', :'j'), 'false false', 'held');
select is(t.failed('hold', 'alice', :'j'), 'false false', 'again');
select t.act('release', 'alice', :'j'), t.start(:'j' || '.a'), t.run(:'j' || '.a') \g /dev/null
select is(t.failed('hold', 'alice', :'j'), 'false false', 'of a job that is named it is enough that one step can be held');
select is(t.failed('hold', 'alice', :'j' || '.a'), 'true', 'of a step that is named it is not');
select is(t.act('hold', 'alice', :'j' || '.a'), 'not changed: it has already started (running)', 'in words');
select is(t.failed('release', 'alice', :'j' || '.a') || t.failed('resume', 'alice', :'j' || '.a'), 'falsefalse', 'what is as it should be is no failure');
select is(t.act('suspend', 'alice', :'j'), 'suspending not changed: it has not started (pending)', 'suspend of a job of which one step runs');
select is(t.failed('suspend', 'alice', :'j' || '.b'), 'true', 'suspend of one that waits');
select t.finish(:'j' || '.a') \g /dev/null
select t.act('cancel', 'alice', :'j') \g /dev/null
-- An element can be named without its step if the job has one step.
select t.submit('alice', '[{"name": "a", "array": {"indices": [[3, 5, 1]], "size": 3}}]') as j \gset
select is(t.act('cancel', 'alice', :'j' || l), 'cancelled', 'cancel of JOB' || l) from unnest('{[3],_4,_[5-5]}'::text[]) l;
select is(t.states(:j), 'a:cancelled a[3]:cancelled a[4]:cancelled a[5]:cancelled', 'all of them');
select is(api.job_wait(t.uid('alice'), 'alice', t.request(:'j' || '_4')) #>> '{jobs,0,label}', :'j' || '.a[4]', 'wait tells its whole name');
select throws_ok(format($$select t.act('cancel', 'alice', '%s_6')$$, :j), 'RT404', format('array "a" of job %s has no index 6', :j), 'one there is not');
select throws_ok($$select t.act('cancel', 'alice', '77777_1')$$, 'RT404', 'there is no job 77777', 'of a job there is not');
select t.submit('alice', '[{"name": "a", "array": {"indices": [[0, 1, 1]], "size": 2}}, {"name": "b"}]') as j \gset
select throws_ok(format($$select t.act('cancel', 'alice', '%s[0]')$$, :j), 'RT422', format('"%s[0]" names no step, and job %s has several', :j, :j), 'of several steps one is named');
select throws_ok(format($$select t.act('cancel', 'bob', '%s[0]')$$, :j), 'RT403', null, 'others do not learn how many steps there are');
select t.act('cancel', 'alice', :'j') \g /dev/null
select t.submit('alice', '[{"name": "a"}]') as j \gset
select throws_ok(format($$select t.act('cancel', 'alice', '%s_0')$$, :j), 'RT422', format('step "a" of job %s is not an array', :j), 'not an array');
select t.act('cancel', 'alice', :'j') \g /dev/null
select t.submit('alice', '[{"name": "a", "hold": true}]') as j \gset
select is((select concat_ws(' ', t.pending(), held, held_reason) from t.step(:'j' || '.a')), 'user held at submission', 'held from the start');
select t.act('cancel', 'alice', :'j') \g /dev/null

-- Suspend gives CPUs back, keeps memory, units and licences; resume takes them again when they are free.
select t.submit('alice', '[{"name": "a", "cpus_per_task": 4, "mem_mb": 100, "licenses": {"lic": 1}}]') as j \gset
select t.start(:'j' || '.a', '{1}', '{"gres": {"gpu": [0]}}'), t.run(:'j' || '.a') \g /dev/null
select is((select array[cpus_used, mem_used_mb] from rota.node_used where node_id = 1), '{4,100}', 'used');
select is((select used from rota.license), 1, 'licence used');
select is(t.act('suspend', 'alice', :'j'), 'suspending', 'suspend');
select is(t.state(:'j' || '.a'), 'running', 'until the node has done it');
select t.report(t.say(:'j' || '.a', 'suspended')) \g /dev/null
select is(t.state(:'j' || '.a'), 'suspended', 'suspended');
select is((select array[cpus_used, mem_used_mb] from rota.node_used where node_id = 1), '{0,100}', 'CPUs are free, memory is not');
select is((select concat(used, ' ', (select count(*) from rota.node_gres where job_id is not null)) from rota.license), '1 1', 'licence and unit are kept');
select t.right('suspend');
select t.submit('bob', '[{"name": "b", "cpus_per_task": 2}]') as k \gset
select t.start(:'k' || '.b'), t.run(:'k' || '.b') \g /dev/null
select is(t.act('resume', 'alice', :'j'), 'resumes when its CPUs are free', 'another one has them');
select is(api.job_why(t.uid('alice'), 'alice', t.request(:'j')) #>> '{steps,0,conditions,0,message}' ~ 'goes on when its CPUs are free', true, 'why says so');
select api.schedule_tick(t.term()) \g /dev/null
select is(t.state(:'j' || '.a'), 'suspended', 'not yet');
select t.finish(:'k' || '.b'), api.schedule_tick(t.term()) \g /dev/null
select is(t.state(:'j' || '.a'), 'running', 'now');
select is((select cpus_used from rota.node_used where node_id = 1), 4, 'with its CPUs');
select is(t.orders(:'j' || '.a'), 'suspend@n1 resume@n1', 'and the node has its orders');
select ok((select at > now() from rota.event where job_id = :j and event = 'resume'), 'its CPUs are held from when they were found free');
select t.right('resume');
-- Suspended again before the node reported the resumption: records are applied in order.
select t.act('suspend', 'alice', :'j') \g /dev/null
select t.report(t.say(:'j' || '.a', 'resumed'), t.say(:'j' || '.a', 'suspended')) \g /dev/null
select is(t.state(:'j' || '.a'), 'suspended', 'resumed and suspended in one report');
select is((select cpus_used from rota.node_used where node_id = 1), 0, 'CPUs are free');
select t.right('suspend again');
select is(t.act('resume', 'alice', :'j'), 'resuming', 'resume at once');
select t.report(t.say(:'j' || '.a', 'resumed')), t.finish(:'j' || '.a') \g /dev/null
select is(t.job(:j), 'completed', 'and it completes');
select t.right('resume at once');
-- A process manager that was killed reports its journal again from the beginning.
select t.submit('alice', '[{"name": "a", "cpus_per_task": 4}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.act('suspend', 'alice', :'j') \g /dev/null
select t.report(t.say(:'j' || '.a', 'suspended', '{"clock": 1000}')), t.act('resume', 'alice', :'j') \g /dev/null
select t.report(t.say(:'j' || '.a', 'resumed', '{"clock": 2000}')) \g /dev/null
select suspended_s as was from rota.attempt where job_id = :j \gset
select t.report(t.say(:'j' || '.a', 'suspended', '{"clock": 1000, "age_us": 5000000}'), t.say(:'j' || '.a', 'resumed', '{"clock": 2000}')) \g /dev/null
select is(t.state(:'j' || '.a'), 'running', 'reported again: it goes on');
select is((select cpus_used from rota.node_used where node_id = 1), 4, 'with its CPUs');
select is((select suspended_s from rota.attempt where job_id = :j), :was::double precision, 'and was suspended for as long as before');
select t.act('suspend', 'alice', :'j') \g /dev/null
select t.report(t.say(:'j' || '.a', 'suspended', '{"clock": 1000}'), t.say(:'j' || '.a', 'resumed', '{"clock": 2000}'), t.say(:'j' || '.a', 'suspended', '{"clock": 3000}')) \g /dev/null
select is(t.state(:'j' || '.a'), 'suspended', 'what is new behind it counts');
select t.right('pauses reported again');
select t.act('resume', 'alice', :'j'), t.finish(:'j' || '.a') \g /dev/null
-- Resume is requested while the node is still suspending the step.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.act('suspend', 'alice', :'j'), t.act('resume', 'alice', :'j') \g /dev/null
select t.report(t.say(:'j' || '.a', 'suspended')), api.schedule_tick(t.term()) \g /dev/null
select is(t.state(:'j' || '.a'), 'running', 'a resume that came early is not lost');
select is(t.act('suspend', 'alice', :'j'), 'suspending', 'and does not stick');
select t.report(t.say(:'j' || '.a', 'resumed'), t.say(:'j' || '.a', 'suspended')), api.schedule_tick(t.term()) \g /dev/null
select is(t.state(:'j' || '.a'), 'suspended', 'the next suspend holds');
-- A suspended step is cancelled, or lost.
select t.act('cancel', 'alice', :'j'), t.finish(:'j' || '.a', '{"outcome": "cancel", "cause": "cancelled"}') \g /dev/null
select is(t.job(:j), 'cancelled', 'cancelled while suspended');
select is((select suspended_at from rota.attempt where job_id = :j), null, 'its suspension is over');
select t.right('cancel of a suspended step');
-- A step may choose to keep its CPUs or licences while it is suspended (--keep).
select t.submit('alice', '[{"name": "a", "cpus_per_task": 2, "licenses": {"lic": 2}, "keep": {"cpus": true, "licenses": false}}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.act('suspend', 'alice', :'j'), t.report(t.say(:'j' || '.a', 'suspended')) \g /dev/null
select is((select concat(cpus_used, ' ', (select used from rota.license)) from rota.node_used where node_id = 1), '2 0', 'CPUs kept, licences given back');
select t.right('keep');
update rota.license set used = 1;
select is(t.act('resume', 'alice', :'j'), 'resumes when its CPUs are free', 'no licence, no resume');
update rota.license set used = 0;
select api.schedule_tick(t.term()) \g /dev/null
select is((select concat(t.state(:'j' || '.a'), ' ', used) from rota.license), 'running 2', 'with the licences again');
select t.finish(:'j' || '.a') \g /dev/null
select t.right('keep, end');

-- Signals.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a') \g /dev/null
select is(t.act('signal', 'alice', :'j', '{"signal": "USR1"}'), 'signalled not changed: it has not started (pending)', 'by name');
select is(t.act('signal', 'alice', :'j', '{"signal": 12}'), 'signalled not changed: it has not started (pending)', 'by number');
select is(t.orders(:'j' || '.a'), 'signal@n1:10 signal@n1:12', 'orders');
select throws_ok(format($$select t.act('signal', 'alice', %L, '{"signal": "%s"}')$$, :j, s), 'RT422', null, 'not a signal: ' || s) from unnest('{0,65,FOO,SIG}'::text[]) s;
select t.act('cancel', 'alice', :'j'), t.finish(:'j' || '.a', '{"outcome": "cancel", "cause": "cancelled"}') \g /dev/null

-- Begin and deadline.
select t.submit('alice', format('[{"name": "a", "begin_at": %s}]', extract(epoch from now() + interval '1 hour')::bigint)::jsonb) as j \gset
select is(t.pending(), null, 'not before its time');
select is((select next_at from api.schedule_tick(t.term())), extract(epoch from now() + interval '1 hour')::bigint::double precision, 'the tick knows');
update rota.step set begin_at = now() where job_id = :j;
select is(t.pending(), :'j' || '.a', 'but then');
select t.act('cancel', 'alice', :'j') \g /dev/null
select t.submit('alice', format('[{"name": "a", "deadline_at": %1$s, "time_limit_s": 600}, {"name": "b"}, {"name": "r", "deadline_at": %1$s, "array": {"indices": [[0,3,1]], "size": 4, "limit": 1}}]',
	extract(epoch from now() + interval '1 hour')::bigint)::jsonb, '[{"step": "b", "peer": "a"}]') as j \gset
select is((select next_at from api.schedule_tick(t.term())), extract(epoch from now() + interval '50 minutes')::bigint::double precision, 'a deadline is known by the latest start');
select t.start(:'j' || '.r', '{1}', '{"position": 0}'), t.run(:'j' || '.r[0]') \g /dev/null
update rota.step set start_by = now() - interval '1 s' where job_id = :j and start_by is not null;
select api.schedule_tick(t.term()) \g /dev/null
select is(t.states(:j), 'a:deadline b:dependency_failed r:running r[0]:running', 'past its deadline; what waits for it, too; what runs, runs on');
select t.finish(:'j' || '.r[0]') \g /dev/null
select is(t.state(:'j' || '.r'), 'deadline', 'the rest of the array missed it');
select t.right('deadline');
select * from finish();
rollback;
