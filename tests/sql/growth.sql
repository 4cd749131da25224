-- Growths: who may ask for one, when nodes come and go, and how a growth ends.
begin;
\ir world.psql
select * from no_plan();
create function t.grown(p_label text) returns text language sql as $$ select format('%s.%s.%s', s.job_id, s.step_id, s.attempt) from t.step(p_label) s $$;
create function t.grow(p_user text, p_of text, p_more jsonb default '{}') returns bigint language sql as $$
	select t.submit(p_user, '[{"name": "g", "requeue": false}]', '[]', jsonb_build_object('name', 'grow', 'grow', p_of) || p_more) $$;
create function t.tick() returns int language sql as $$ select count(*)::int from api.schedule_tick(t.term()) $$;
create function t.ordered(p_kind text) returns text language sql as $$
	select coalesce(string_agg(format('%s.%s.%s %s %s@%s', o.job_id, o.step_id, o.attempt, o.node_id, o.args ->> 'growth', o.args ->> 'on'), ' ' order by o.order_id), '')
	from rota.node_order o where o.kind = p_kind $$;
create function t.calling(variadic p_calls jsonb[]) returns text language sql as $$
	select changed || ',' || dropped from api.node_substep_report((t.booted('{}') - 'records') || jsonb_build_object('node', 1, 'rows', '[]'::jsonb, 'calls', to_jsonb(p_calls))) $$;
create function t.growth(p_job bigint) returns text language sql as $$ select string_agg(concat_ws(' ', g.state, g.cause, g.nodes), ', ' order by g.step_id) from internal.acct_growth g where g.job_id = p_job $$;
select t.submit('alice', '[{"name": "a"}]') as a, t.submit('bob', '[{"name": "b"}]') as b, t.submit('alice', '[{"name": "c"}]') as c \gset

-- Which users may ask for a growth, and of which steps.
select throws_ok(format($$select t.grow('alice', %L)$$, :a || '.0.1'), 'RT409', null, 'a step that waits does not grow');
select t.start(:a || '.a') \g /dev/null
select throws_ok(format($$select t.grow('alice', %L)$$, t.grown(:a || '.a')), 'RT409', null, 'nor one whose tasks have not begun');
select t.run(:a || '.a') \g /dev/null
select t.start(:b || '.b', '{2}') \g /dev/null
select t.run(:b || '.b') \g /dev/null
select throws_ok(format($$select t.grow('alice', %L)$$, t.grown(:b || '.b')), 'RT403', null, 'a stranger''s step does not grow');
select throws_ok($$select t.grow('alice', '99999.0.1')$$, 'RT403', null, 'nor one that is not there, by the same words');
select throws_ok(format($$select t.grow('alice', %L)$$, x), 'RT403', null, 'nor ' || x) from unnest(array['nothing', '1', '1.0', '1.0.1.2', '-1.0.1', '99999999999999999999.0.1', '']) x;
select throws_ok(format($$select t.grow('alice', %L)$$, :a || '.0.2'), 'RT409', null, 'nor an attempt that is not the present one');
select throws_ok(format($$select t.submit('alice', '[{"name": "g", "partition": "other"}]', '[]', '{"grow": %s}')$$, to_json(t.grown(:a || '.a'))), 'RT422', null, 'in another partition');
select t.grow('alice', t.grown(:a || '.a')) as g \gset
select throws_ok(format($$select t.grow('alice', '%s.0.1')$$, :g), 'RT422', null, 'a growth does not grow');
select is((select (g.grown_job_id, g.grown_step_id, g.grown_attempt, g.closed_at)::text from rota.growth g where g.job_id = :g), format('(%s,0,1,)', :a), 'it is noted');

-- The node of a growth is called once, and given back once.
select t.tick() \g /dev/null
select is(t.ordered('grow'), '', 'nothing comes before it starts');
select t.start(:g || '.g', '{3}') \g /dev/null
select t.tick() \g /dev/null
select is(t.ordered('grow'), '', 'nor before its keeper holds the node');
select t.run(:g || '.g') \g /dev/null
select t.tick(), t.tick() \g /dev/null
select is(t.ordered('grow'), format('%s.0.1 1 %s.0.1@n3', :a, :g), 'then it comes, once');
select is(t.growth(:g), 'running n3', 'and is there');
select is(t.calling(jsonb_build_object('job', :a, 'step', 0, 'attempt', 1, 'growth', :g || '.0.1', 'on', 'n3', 'port', 7000, 'key', repeat('ab', 32))), '0,0', 'the step manager calls');
select is((select string_agg(concat_ws(' ', o.node_id, o.job_id, o.body, o.args), ', ') from rota.node_order o where o.kind = 'agent'),
	format('3 %s %s {"host": "host", "port": 7000}', :g, repeat('ab', 32)), 'the node gets host, port and key');

-- Calls of step managers about growths of another attempt are ignored, as are malformed ones.
select t.calling(jsonb_build_object('job', :a, 'step', 0, 'attempt', 1, 'growth', :b || '.0.1', 'on', 'n2', 'port', 7000, 'key', repeat('ab', 32)),
	jsonb_build_object('job', :a, 'step', 0, 'attempt', 1, 'growth', :g || '.0.1', 'on', 'n4', 'port', 7000, 'key', repeat('ab', 32)),
	jsonb_build_object('job', :a, 'step', 0, 'attempt', 1, 'growth', :g || '.0.1', 'on', 'n3', 'port', 7000, 'key', 'ab'),
	jsonb_build_object('job', :b, 'step', 0, 'attempt', 1, 'growth', :g || '.0.1', 'on', 'n3', 'port', 7000, 'key', repeat('ab', 32)),
	jsonb_build_object('job', :a, 'step', 0, 'attempt', 1, 'growth', 'x', 'on', 'n3', 'port', 7000, 'key', repeat('ab', 32))) \g /dev/null
select is((select count(*)::int from rota.node_order o where o.kind = 'agent'), 1, 'a call of what is no growth, no node of it, or by another step reaches nobody');
select t.calling(jsonb_build_object('job', :a, 'step', 0, 'attempt', 1, 'growth', :b || '.0.1', 'on', 'n2'), jsonb_build_object('job', :b, 'step', 0, 'attempt', 1, 'growth', :g || '.0.1', 'on', 'n3')) \g /dev/null
select is(t.growth(:g) || ' ' || t.state(:b || '.b') || ' ' || coalesce((t.step(:b || '.b')).end_wanted, 'stays'), 'running n3 running stays', 'nobody gives back what is not a growth of the own step');

-- A growth whose node is given back counts as completed.
select t.calling(jsonb_build_object('job', :a, 'step', 0, 'attempt', 1, 'growth', :g || '.0.1', 'on', 'n3')), t.calling(jsonb_build_object('job', :a, 'step', 0, 'attempt', 1, 'growth', :g || '.0.1', 'on', 'n3')) \g /dev/null
select is((select string_agg(o.node_id || ' ' || (o.args ->> 'cause'), ',') from rota.node_order o where o.kind = 'kill'), '3 given_back', 'given back, the tasks of the growth are ended once');
select t.finish(:g || '.g', '{"cause": "given_back", "outcome": "complete"}') \g /dev/null
select is(t.growth(:g), 'completed given_back n3', 'it is completed');
select t.tick(), t.tick() \g /dev/null
select is(t.ordered('shrink'), format('%s.0.1 1 %s.0.1@n3', :a, :g), 'the step manager learns once that the node has gone');
select isnt((select closed_at from rota.growth where job_id = :g), null, 'nothing is left to do');

-- The end of a step ends its growths, running or waiting.
select t.grow('alice', t.grown(:a || '.a')) as g, t.grow('alice', t.grown(:a || '.a')) as h \gset
select t.start(:g || '.g', '{3}') \g /dev/null
select t.run(:g || '.g') \g /dev/null
select t.tick() \g /dev/null
select t.finish(:a || '.a') \g /dev/null
select t.start(:h || '.g', '{4}') \g /dev/null
select is(t.growth(:h), 'pending', 'one that waits does not start on the nodes that the step leaves');
select t.tick(), t.tick() \g /dev/null
select is(t.growth(:h), 'cancelled grown_ended', 'one that waits is cancelled');
select is((select string_agg(o.job_id || ' ' || (o.args ->> 'cause'), ',') from rota.node_order o where o.kind = 'kill' and o.job_id = :g), :g || ' grown_ended', 'one that runs is ended, once');
select t.finish(:g || '.g', '{"cause": "grown_ended", "outcome": "complete"}') \g /dev/null
select t.tick() \g /dev/null
select is(t.growth(:g), 'completed grown_ended n3', 'and is completed');
select is((select count(*)::int from rota.growth where closed_at is null), 0, 'nothing is left to do');
select is(t.ordered('shrink'), format('%s.0.1 1 %s.0.1@n3', :a, (select min(job_id) from rota.growth)), 'an attempt that has ended gets no orders');
select throws_ok(format($$select t.grow('alice', '%s.0.1')$$, :a), 'RT409', null, 'what has ended does not grow');

-- A growth that is queued again ends at once if its step has ended.
select api.job_requeue(0, 'root', t.request(:'g')) \g /dev/null
select t.tick() \g /dev/null
select is(t.growth(:g), 'cancelled grown_ended n3', 'a requeued growth does not wait for a step that has ended');

-- Which users see growths.
select is(jsonb_array_length(api.job_growths(t.uid('alice'), 'alice', jsonb_build_object('jobs', array[:a::text])) -> 'growths'), 3, 'the owner sees them');
select bag_eq('select * from t.wrong()', 'select null::text where false', 'all adds up');
select * from finish();
rollback;
