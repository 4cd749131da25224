-- Jobs selected by properties, users and states: which are changed, when the selection is made, and which are left alone.
begin;
\ir world.psql
select * from no_plan();
select api.admin_change(0, 'root', '{"object": "user", "action": "create", "name": "olga", "values": {"role": "operator"}}') \g /dev/null
select api.admin_change(0, 'root', '{"object": "partition", "action": "create", "name": "other", "values": {"nodes": "n4"}}') \g /dev/null
create function t.ask(p_verb text, p_user text, p_request jsonb) returns jsonb language plpgsql as $$
declare
	v_answer jsonb;
begin
	execute format('select api.job_%s($1, $2, $3)', p_verb) into v_answer using t.uid(p_user), p_user, p_request;
	return v_answer;
end $$;
-- t.chosen: the names of the jobs that would be changed.
create function t.chosen(p_user text, p_request jsonb) returns text language sql as $$
	select coalesce(string_agg(x ->> 'name', ' ' order by x ->> 'name'), 'none') from jsonb_array_elements(t.ask('select', p_user, p_request) -> 'jobs') x $$;
-- t.came: the result for each step.
create function t.came(p_verb text, p_user text, p_request jsonb) returns text language sql as $$
	select coalesce(string_agg(j.name || '.' || split_part(x ->> 'label', '.', 2) || ': ' || (x ->> 'action') || case when (x ->> 'failed')::boolean then ' FAILED' else '' end, ', ' order by j.name, x ->> 'label'), 'none')
	from jsonb_array_elements(t.ask(p_verb, p_user, p_request) -> 'steps') x
	join rota.job j on j.job_id = split_part(x ->> 'label', '.', 1)::bigint $$;
select t.submit('alice', '[{"name": "a"}]', '[]', '{"name": "a1"}') as a1,
	t.submit('alice', '[{"name": "a", "partition": "other"}, {"name": "b"}]', '[{"step": "b", "peer": "a"}]', '{"name": "a2"}') as a2,
	t.submit('alice', '[{"name": "a"}]', '[]', '{"name": "over"}') as over,
	t.submit('bob', '[{"name": "a"}]', '[]', '{"name": "b1"}') as b1,
	t.submit('bob', '[{"name": "a"}]', '[]', '{"name": "a1"}') as b2 \gset
select t.pass(:'over' || '.a') \g /dev/null
select t.start(:'a2' || '.a', '{4}'), t.run(:'a2' || '.a') \g /dev/null

-- Selections by each key, and the jobs they select.
select is(t.chosen(u, r::jsonb), e, u || ' selects by ' || r) from (values
	('alice', '{"user": ["alice"]}', 'a1 a2'),
	('alice', '{"user": "alice,bob"}', 'a1 a2'),
	('alice', '{"name": ["a1"]}', 'a1'),
	('alice', '{"user": ["bob"]}', 'none'),
	('alice', '{"states": ["pending"]}', 'a1'),
	('alice', '{"states": ["running"]}', 'a2'),
	('alice', '{"states": ["completed"]}', 'none'),
	('alice', '{"partition": ["other"]}', 'a2'),
	('alice', '{"partition": ["other"], "states": ["pending"]}', 'none'),
	('alice', '{"name": ["a1", "a2"], "user": null}', 'a1 a2'),
	('olga', '{"name": ["a1"]}', 'a1 a1'),
	('olga', '{"user": ["bob"]}', 'a1 b1'),
	('olga', '{"states": ["pending", "running"]}', 'a1 a1 a2 b1')) x (u, r, e);
select is(t.chosen('alice', jsonb_build_object('user', 'alice', 'jobs', jsonb_build_array(:'a1', :'over'))), 'a1', 'of what is named, what matches');
select is(t.chosen('alice', jsonb_build_object('states', 'pending', 'jobs', jsonb_build_array(:'a2'))), 'none', 'which may be nothing');

-- An empty or unknown key selects no job; the request is refused.
select throws_ok(format($$select t.ask('%s', 'alice', '%s')$$, v, r), 'RT422', null, v || ' by ' || r || ' is refused')
from unnest('{select,cancel,hold,spec}'::text[]) v,
	unnest(array['{}', '{"user": ""}', '{"name": []}', '{"user": ["alice"], "name": [""]}', '{"states": ""}', '{"states": ["nix"]}', '{"jobs": null}']) r;
select throws_ok($$select t.ask('cancel', 'alice', '{"partition": ["nix"]}')$$, 'RT404', 'there is no partition "nix"', 'no such partition');
select throws_ok($$select t.ask('cancel', 'alice', '{"name": ["x"], "jobs": ["77777"]}')$$, 'RT404', null, 'a job that is named is there');
select throws_ok(format($$select t.ask('cancel', 'alice', '{"user": ["bob"], "jobs": ["%s"]}')$$, :b1), 'RT403', null, 'and the caller''s');

-- Verbs with selections.
select is(t.came('hold', 'alice', '{"user": ["alice"]}'), 'a1.a: held, a2.a: not changed: it has already started (running), a2.b: held', 'hold, which is no failure of what cannot be');
select is((t.step(:'b1' || '.a')).held || (t.step(:'b2' || '.a')).held, '', 'others are left alone');
select is(t.came('hold', 'olga', '{"name": ["a1"]}'), 'a1.a: held, a1.a: held', 'an operator holds those of all');
select is(t.came('release', 'alice', '{"user": ["alice"]}'), 'a1.a: not changed: it is held by an operator, a2.a: not changed: it is not held, a2.b: released', 'what an operator holds stays, the rest goes on');
select is(t.came('release', 'olga', '{"states": ["pending"]}'), 'a1.a: released, a1.a: released, b1.a: not changed: it is not held', 'release');
select is(t.came('signal', 'alice', '{"states": ["running"], "signal": "USR1"}'), 'a2.a: signalled, a2.b: not changed: it has not started (pending)', 'signal');
select is(t.came('suspend', 'alice', '{"name": ["none"]}'), 'none', 'none is none');
select is(t.came('cancel', 'alice', '{"states": ["pending"], "user": ["alice", "bob"]}'), 'a1.a: cancelled', 'cancel of what waits');
select is(t.state(:'b1' || '.a') || t.state(:'b2' || '.a') || t.state(:'a2' || '.a'), 'pendingpendingrunning', 'the rest is as it was');
select is(t.came('cancel', 'olga', jsonb_build_object('user', 'bob', 'jobs', jsonb_build_array(:'b1' || '.a'))), 'b1.a: cancelled', 'of a step that is named');

-- Modification: jobs that have left the selection since the changes were computed are left out.
create function t.changes(p_request jsonb) returns jsonb language sql as $$
	select jsonb_build_object('job', '{"nice": 7}'::jsonb, 'steps', coalesce(jsonb_agg(jsonb_build_object('job_id', x -> 'job_id', 'request_id', x -> 'request_id',
		'changed', '{"time_limit_s": 30}'::jsonb, 'spec', x -> 'spec', 'auth', repeat('00', 32))), '[]')) || p_request
	from jsonb_array_elements(t.ask('spec', 'bob', p_request) -> 'steps') x $$;
select t.submit('bob', '[{"name": "a"}]', '[]', '{"name": "m1"}') as m1, t.submit('bob', '[{"name": "a"}]', '[]', '{"name": "m2"}') as m2 \gset
select t.changes('{"user": ["bob"], "states": ["pending"]}') as changes \gset
select t.start(:'m1' || '.a'), t.run(:'m1' || '.a') \g /dev/null
select t.submit('bob', '[{"name": "a"}]', '[]', '{"name": "m3"}') as m3 \gset
select is(t.came('modify', 'bob', :'changes'), 'a1.a: modified, m2.a: modified', 'of those that waited, those that still do, and none besides');
select is((select string_agg(coalesce(r.time_limit_s::text, '-') || ' ' || j.nice, ', ' order by j.job_id) from rota.job j join rota.step_request r using (job_id) where j.job_id in (:m1, :m2, :m3)),
	'60 0, 30 7, 60 0', 'as written');
select throws_ok(format($$select t.ask('modify', 'alice', '%s')$$, :'changes'::jsonb || format('{"jobs": ["%s"]}', :'m2')::jsonb), 'RT403', null, 'not by others, whose steps are in the request');
select is(t.came('modify', 'alice', :'changes'::jsonb || '{"user": ["bob"]}'), 'none', 'nor selected by others');
select t.finish(:'m1' || '.a'), t.finish(:'a2' || '.a') \g /dev/null
select is(t.came('cancel', 'olga', '{"user": ["bob", "alice"]}') like '%m3.a: cancelled%', true, 'all');
select is(t.came('cancel', 'olga', '{"user": ["bob", "alice"]}'), 'none', 'and none is left');
select t.right('selection');
select * from finish();
rollback;
