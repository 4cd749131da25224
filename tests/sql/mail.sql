-- Mail about jobs: written with the events that the job asks for, taken by a runnerd, tried again, given up.
begin;
\ir world.psql
select * from no_plan();
create function t.mailed(p_job bigint) returns text language sql as $$
	select string_agg(m.event || case when m.step_id >= 0 then '@' || split_part(internal.step_label(m.job_id, m.step_id), '.', 2) || coalesce('#' || nullif(m.attempt, 0), '') else '' end, ' ' order by m.mail_id)
	from rota.mail m where m.job_id = p_job $$;
create function t.asking(p_types text, p_steps jsonb default '[{"name": "a"}]', p_edges jsonb default '[]', p_more jsonb default '{}') returns bigint language sql as $$
	select t.submit('alice', p_steps, p_edges, jsonb_build_object('mail_type', p_types) || p_more) $$;
create function t.take(p_room int default 100) returns text language sql as $$
	select string_agg(label || ' to ' || recipient, ', ' order by mail_id) from api.mail_take(p_room, 60) $$;
-- t.due: make all mails due, as if the time until the next try were over.
create function t.due() returns void language sql as $$ update rota.mail set due_at = now() where due_at is not null $$;

-- A job that asks for no mail.
select t.submit('alice', '[{"name": "a"}]', '[]', '{"mail_user": "alice@example.org"}') as j \gset
select t.pass(:'j' || '.a') \g /dev/null
select is(t.mailed(:j), null, 'no mail without --mail-type');
select t.asking('NONE') as j \gset
select t.pass(:'j' || '.a') \g /dev/null
select is(t.mailed(:j), null, 'nor with NONE');
select is((select count(*) from rota.mail_watch), 0::bigint, 'and none is watched');

-- A job begins and ends once, whatever number of steps it has; its end is one mail.
select t.asking('ALL', '[{"name": "a"}, {"name": "b"}]', '[{"step": "b", "peer": "a"}]') as j \gset
select t.start(:'j' || '.a') \g /dev/null
select is(t.mailed(:j), 'BEGIN', 'it begins');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a') \g /dev/null
select is(t.mailed(:j), 'BEGIN', 'a step of it ends');
select t.pass(:'j' || '.b') \g /dev/null
select is(t.mailed(:j), 'BEGIN END', 'it ends');
create function t.end_of(p_types text, p_done jsonb) returns text language plpgsql as $$
declare
	v_job bigint := t.asking(p_types);
begin
	perform t.start(v_job || '.a'), t.run(v_job || '.a'), t.finish(v_job || '.a', p_done);
	return t.mailed(v_job);
end $$;
select is(t.end_of('END,FAIL', '{"exit": 1, "outcome": "fail"}'), 'FAIL', 'a failed job is mailed as FAIL');
select is(t.end_of('END', '{"exit": 1, "outcome": "fail"}'), 'END', 'or as END, where only that was asked for');
select is(t.end_of('FAIL', '{}'), null, 'a completed one is not');
select is(t.end_of('BEGIN', '{}'), 'BEGIN', 'only its begin');
select is(t.end_of('ALL', '{"outcome": "timeout", "cause": "time_limit"}'), 'BEGIN FAIL', 'ALL has no time limits, as with Slurm');
select is(t.end_of('TIME_LIMIT,FAIL', '{"outcome": "timeout", "cause": "time_limit"}'), 'TIME_LIMIT@a#1 FAIL', 'which are asked for by name');
select t.asking('ALL') as j \gset
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is(t.mailed(:j), 'END', 'cancelled before it began');
select t.asking('ALL', '[{"name": "a"}, {"name": "b"}]', '[{"step": "b", "peer": "a"}]') as j \gset
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'j')) \g /dev/null
select is(t.mailed(:j), 'END', 'with a step that waited');
select t.submit('alice', '[{"name": "a"}]') as k \gset
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'k')) \g /dev/null
create function t.after(p_types text, p_job bigint) returns text language sql as $$
	select t.mailed(t.asking(p_types, '[{"name": "b"}]', jsonb_build_array(jsonb_build_object('step', 'b', 'job', p_job)))) $$;
select is(t.after('ALL', :k), 'INVALID_DEPEND', 'a dependency that can never be met');
select is(t.after('END,FAIL', :k), 'FAIL', 'else it is a failure');
select is(t.after('END', :k), 'END', 'else an end');

-- REQUEUE: one mail for each attempt that is queued again; of an array only for the first, unless ARRAY_TASKS is asked for.
select t.asking('REQUEUE', '[{"name": "a", "retry": 2}]') as j \gset
select t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.fail(:'j' || '.a'), t.later(), t.start(:'j' || '.a'), t.run(:'j' || '.a'), t.fail(:'j' || '.a') \g /dev/null
select is(t.mailed(:j), 'REQUEUE@a#1 REQUEUE@a#2', 'queued again twice');
create function t.array_fails(p_types text) returns bigint language plpgsql as $$
declare
	v_job bigint := t.asking(p_types, '[{"name": "a", "retry": 1, "array": {"indices": [[0,2,1]], "size": 3}}]');
begin
	perform t.start(v_job || '.a', '{1}', '{"position": 0}'), t.start(v_job || '.a', '{2}', '{"position": 1}'), t.run(v_job || '.a[0]'), t.run(v_job || '.a[1]'),
		t.fail(v_job || '.a[0]'), t.fail(v_job || '.a[1]');
	return v_job;
end $$;
select is(t.mailed(t.array_fails('REQUEUE')), 'REQUEUE@a', 'an array as a whole');
select t.array_fails('ALL,ARRAY_TASKS') as j \gset
select is(t.mailed(:j), 'BEGIN REQUEUE@a[0]#1 REQUEUE@a[1]#1', 'or its elements');
select internal.mail_poll() \g /dev/null
select is(t.mailed(:j), 'BEGIN REQUEUE@a[0]#1 REQUEUE@a[1]#1 BEGIN@a[0] BEGIN@a[1]', 'which have begun');
select internal.mail_poll() \g /dev/null
select t.later(), t.start(:'j' || '.a[0]'), t.run(:'j' || '.a[0]'), t.finish(:'j' || '.a[0]'), t.start(:'j' || '.a[1]', '{2}'), t.run(:'j' || '.a[1]'), t.fail(:'j' || '.a[1]'),
	t.pass(:'j' || '.a', '{1}', '{"position": 2}') \g /dev/null
select is((select array_agg(event order by event) from rota.mail where job_id = :j and step_id = -1), '{BEGIN,FAIL}', 'the job has its own');
select internal.mail_poll(), internal.mail_poll() \g /dev/null
select is((select string_agg(event || substring(internal.step_label(job_id, step_id) from '\[.*'), ' ' order by step_id, event) from rota.mail where job_id = :j and step_id >= 0 and event <> 'REQUEUE'),
	'BEGIN[0] END[0] BEGIN[1] FAIL[1] BEGIN[2] END[2]', 'each element begins and ends once');
select is((select count(*) from rota.mail_watch where job_id = :j), 0::bigint, 'and the job is not watched any more');

-- TIME_LIMIT_n: the highest share of the time limit that was reached, without the time for which the step was suspended.
select t.asking('TIME_LIMIT_50,TIME_LIMIT_80,TIME_LIMIT_90', '[{"name": "a", "time_limit_s": 100}, {"name": "none", "time_limit_s": 0}]') as j \gset
select t.commit(t.decision(:'j' || '.a'), t.decision(:'j' || '.none')), t.run(:'j' || '.a'), t.run(:'j' || '.none') \g /dev/null
create function t.used(p_label text, p_s int) returns text language plpgsql as $$
begin
	update rota.attempt t set ordered_at = now() - make_interval(secs => p_s), started_at = now() - make_interval(secs => p_s) from t.step(p_label) s where t.job_id = s.job_id and t.step_id = s.step_id and t.ended_at is null;
	perform internal.mail_poll();
	return t.mailed(split_part(p_label, '.', 1)::bigint);
end $$;
select is(t.used(:'j' || '.none', 99999), null, 'no limit');
select is(t.used(:'j' || '.a', 49), null, 'not yet');
select is(t.used(:'j' || '.a', 51), 'TIME_LIMIT_50@a#1', 'half of it');
select is(t.used(:'j' || '.a', 60), 'TIME_LIMIT_50@a#1', 'once');
select is(t.used(:'j' || '.a', 95), 'TIME_LIMIT_50@a#1 TIME_LIMIT_90@a#1', 'the highest share stands for those below');
select is(t.used(:'j' || '.a', 96), 'TIME_LIMIT_50@a#1 TIME_LIMIT_90@a#1', 'later, too');
select t.asking('TIME_LIMIT_80', '[{"name": "a", "time_limit_s": 100}]') as k \gset
select t.start(:'k' || '.a', '{2}'), t.run(:'k' || '.a') \g /dev/null
update rota.attempt set suspended_s = 50 where job_id = :k;
select is(t.used(:'k' || '.a', 120), null, 'suspended for a while');
update rota.attempt set suspended_at = now() - interval '1 hour' where job_id = :k;
select is(t.used(:'k' || '.a', 3700), null, 'and now');
update rota.attempt set suspended_at = null where job_id = :k;
select is(t.used(:'k' || '.a', 135), 'TIME_LIMIT_80@a#1', 'it runs on');
-- A modification of --mail-type counts from then on.
select t.asking('END') as m \gset
select is((select count(*) from rota.mail_watch where job_id = :m), 0::bigint, 'not watched');
select api.job_modify(t.uid('alice'), 'alice', t.request(:'m', '{"job": {"mail_type": "TIME_LIMIT_80"}}')) \g /dev/null
select is((select count(*) from rota.mail_watch where job_id = :m), 1::bigint, 'watched');
select api.job_modify(t.uid('alice'), 'alice', t.request(:'m', '{"job": {"mail_type": "ALL"}}')) \g /dev/null
select is((select count(*) from rota.mail_watch where job_id = :m), 0::bigint, 'not any more');

-- Mails are taken, reported and shown.
delete from rota.mail;
delete from rota.mail_watch;
select t.asking('ALL', '[{"name": "a"}]', '[]', '{"name": "heat", "mail_user": "a@example.org", "comment": "a secret"}') as j \gset
select t.start(:'j' || '.a', '{3}') \g /dev/null
select is(t.take(0), null, 'no room');
select is((select row(recipient, subject)::text from api.mail_take(9, 60)), format('(a@example.org,"Rota job %s (heat) began")', :j), 'taken');
select is(t.take(), null, 'not taken again');
select is((select array_agg(due_at > now() + interval '100 seconds') from rota.mail), '{t}', 'until its program cannot run any more');
select t.due() \g /dev/null
select is((select body ~ 'secret' from api.mail_take(9, 60)), false, 'then again, and the text has what the job''s list has');
select mail_id as m from rota.mail where job_id = :j \gset
select api.mail_report(array[:m], array['mail program "x" ended with exit code 75']) \g /dev/null
select is((select row(tries, sent_at is null, due_at > now(), message)::text from rota.mail), '(2,t,t,"mail program ""x"" ended with exit code 75")', 'it failed, and is tried again later');
select is(t.take(), null, 'not at once');
select t.due(), t.take(), api.mail_report(array[:m], array[null]) \g /dev/null
select is((select row(tries, sent_at is not null, due_at is null, message is null)::text from rota.mail), '(3,t,t,t)', 'sent');
select api.mail_report(array[:m], array['late']) \g /dev/null
select is((select message from rota.mail), null, 'a second report changes nothing');
select is((select row(m ->> 'event', m ->> 'recipient', m ->> 'tries', m ->> 'sent_at' is not null)::text
	from jsonb_array_elements(api.job_show(t.uid('alice'), 'alice', t.request(:'j')) #> '{jobs,0,mails}') m), '(BEGIN,a@example.org,3,t)', 'shown to the owner');
select is(api.job_show(t.uid('bob'), 'bob', t.request(:'j')) #> '{jobs,0,mails}', 'null', 'to nobody else');
-- Mails that are given up after several tries.
select t.run(:'j' || '.a'), t.fail(:'j' || '.a', 3) \g /dev/null
select is((select subject from api.mail_take(9, 60)), format('Rota job %s (heat) ended: failed (exit code 3)', :j), 'the end');
select mail_id as m from rota.mail where event = 'FAIL' \gset
select t.due(), t.take(), api.mail_report(array[:m], array['no']) from generate_series(1, 4) \g /dev/null
select is((select row(tries, sent_at is null, due_at is null, message)::text from rota.mail where event = 'FAIL'), '(5,t,t,"no; given up after 5 tries")', 'five tries');
select is(t.take(), null, 'are all');
select t.asking('BEGIN') as j \gset
select t.start(:'j' || '.a', '{3}') \g /dev/null
select t.take(), t.due() from generate_series(1, 5) \g /dev/null
select is(t.take(), null, 'a mail that nobody reports is tried as often');
select is((select row(tries, due_at is null, message)::text from rota.mail where job_id = :j), '(5,t,"given up after 5 tries")', 'and then given up');
update rota.mail set tries = 0, due_at = now(), made_at = now() - interval '25 hours' where job_id = :j;
select is(t.take(), null, 'what is a day old is not sent');
select is((select message from rota.mail where job_id = :j), 'given up after 5 tries; not sent within 24 hours', 'and says so');
-- No job has more mails than setting mail_job_max, apart from the mail about its end.
update rota.setting set value = '3' where name = 'mail_job_max';
select t.asking('ALL,ARRAY_TASKS', '[{"name": "a", "array": {"indices": [[0,5,1]], "size": 6}}]') as j \gset
select t.pass(:'j' || '.a', '{4}', jsonb_build_object('position', p)) from generate_series(0, 5) p \g /dev/null
select internal.mail_poll() \g /dev/null
select is((select count(*) from rota.mail where job_id = :j and step_id >= 0), 1::bigint, 'with those of the job');
insert into rota.mail (job_id, step_id, attempt, event) select :j, 1 + n, 1, 'REQUEUE' from generate_series(1, 4) n;
select is((select count(*) from api.mail_take(3, 60)), 3::bigint, 'some');
select is((select count(*) from api.mail_take(9, 60)), 4::bigint, 'a batch may pass the limit');
insert into rota.mail (job_id, step_id, attempt, event) values (:j, 2, 2, 'REQUEUE'), (:j, -1, 0, 'FAIL');
select is(t.take(), format('mail FAIL about job %s to alice', :j), 'the job''s end is always sent');
select is((select message from rota.mail where job_id = :j and attempt = 2), format('given up: job %s has had 3 mails', :j), 'the others are not');
-- The view acct.mail and the constraints of rota.mail.
select is((select string_agg(distinct event, ' ') from acct.mail where job_id = :j), 'BEGIN END FAIL REQUEUE', 'in acct.mail');
select throws_ok('insert into rota.mail (job_id, step_id, attempt, event) values (1, 0, 0, ''LUNCH'')', '23514', null, 'no other event');
select throws_ok('insert into rota.mail (job_id, step_id, attempt, event, sent_at) values (1, 0, 0, ''END'', now())', '23514', null, 'sent and due');
select * from finish();
rollback;
