-- Transfers of data: rows of a submission, who may report what, which reports count, reuse of earlier transfers, lists.
begin;
\ir world.psql
select * from no_plan();
create function t.head(p_more jsonb default '{}') returns jsonb language sql as $$
	select jsonb_build_object('scratch', '/scratch/%u/%j', 'transfers', jsonb_build_array(
		'{"transfer": 1, "direction": "in", "mode": "copy", "on_fail": "keep", "source": "/archive/x/", "destination": "/pool/x", "checksum": false, "reuse": true, "step_id": 0}'::jsonb || p_more,
		'{"transfer": 2, "direction": "out", "mode": "rsync", "on_fail": "out", "source": "$ROTA_SCRATCH/out/", "destination": "/archive/o", "checksum": true, "reuse": false, "step_id": 1}'::jsonb,
		'{"transfer": 3, "direction": "drop", "mode": "copy", "on_fail": "keep", "source": "$ROTA_SCRATCH", "destination": "", "checksum": false, "reuse": false}'::jsonb)) $$;
create function t.job_of(p_user text, p_more jsonb default '{}') returns bigint language sql as $$
	select t.submit(p_user, '[{"name": "in"}, {"name": "out"}, {"name": "work"}]', '[]', t.head(p_more)) $$;
create function t.moved(p_user text, p_job bigint, p_transfer int, p_state text, p_more jsonb default '{}') returns jsonb language sql as $$
	select api.transfer_report(t.uid(p_user), p_user, jsonb_build_object('job', p_job, 'step_id', 0, 'attempt', 1, 'node', 'n1', 'transfer', p_transfer, 'state', p_state) || p_more) $$;
create function t.refused(p_sql text) returns text language plpgsql as $$
begin
	execute p_sql;
	return 'accepted';
exception when sqlstate 'RT403' or sqlstate 'RT404' or sqlstate 'RT422' then
	return sqlstate;
end $$;
create function t.listed(p_user text, p_request jsonb) returns text language sql as $$
	select string_agg(concat_ws(' ', x ->> 'transfer', x ->> 'place', x ->> 'state'), ', ') from jsonb_array_elements(api.transfer_list(t.uid(p_user), p_user, p_request) -> 'transfers') x $$;

select t.submit('alice', '[{"name": "a"}]') as none, t.job_of('alice') as j \gset
select is((select count(*) from rota.transfer where job_id = :none), 0::bigint, 'a job without such lines has no row');
select is((select string_agg(source || ' ' || destination, ', ' order by transfer) from rota.transfer where job_id = :j),
	format('/archive/x/ /pool/x, /scratch/alice/%s/out/ /archive/o, /scratch/alice/%1$s ', :j), 'the folder of the job stands in the paths');
select is(t.listed('alice', jsonb_build_object('job', :j)), '1  pending, 2  pending, 3  pending', 'all wait');

-- Reports
select is(t.moved('alice', :j, 1, 'running', '{"print": "p1"}'), '{}', 'nothing is there to reuse');
select is(t.moved('alice', :j, 1, 'done', '{"print": "p1", "files": 2, "bytes": 30, "checksum": "abc"}'), '{}', 'it ends well');
select is((select concat_ws(' ', state, tries, files, bytes, checksum, node, message) from rota.transfer_run where job_id = :j), 'done 1 2 30 abc n1', 'as reported');
select is(t.moved('alice', :j, 1, 'failed', '{"attempt": 3, "message": "gone"}'), '{}', 'a later attempt counts');
select is(t.moved('alice', :j, 1, 'done', '{"attempt": 2}'), '{}', 'a report of an earlier attempt is no error');
select is((select concat_ws(' ', state, attempt, message) from rota.transfer_run where job_id = :j), 'failed 3 gone', 'and counts for nothing');
select is(t.refused(format('select t.moved(%L, %s, 1, %L)', 'bob', :j, 'done')), 'RT404', 'a stranger reports nothing');
select is(t.refused(format('select t.moved(%L, %s, 9, %L)', 'alice', :j, 'done')), 'RT404', 'there is no such transfer');
select is(t.refused(format('select t.moved(%L, %s, 1, %L)', 'alice', :none, 'done')), 'RT404', 'nor does the other job have one');
select is(t.refused(format('select t.moved(%L, %s, 1, %L)', 'alice', :j, 'finished')), 'RT422', 'there is no such state');
select is(t.refused(format('select t.moved(%L, %s, 1, %L, %L)', 'alice', :j, 'done', '{"node": "nowhere"}')), 'RT422', 'there is no such node');
select is(t.refused(format('select t.moved(%L, %s, 1, %L, %L)', 'alice', :j, 'done', '{"bytes": -1}')), 'RT422', 'no negative sizes');
select is(t.refused(format('select t.moved(%L, %s, 1, %L, %L)', 'alice', :j, 'done', '{"bytes": "many"}')), 'RT422', 'no words for sizes');

select is(t.refused(format('select t.moved(%L, %s, 1, %L, %L)', 'alice', :j, 'done', '{"attempt": null}')), 'RT422', 'no report without an attempt');

-- The place of a transfer that belongs to no step is the node.
select t.moved('alice', :j, 3, 'running'), t.moved('alice', :j, 3, 'kept'), t.moved('alice', :j, 3, 'running', '{"node": "n2"}') \g /dev/null
select is((select string_agg(place || ' ' || state, ', ' order by place) from rota.transfer_run where job_id = :j and transfer = 3), 'n1 kept, n2 running', 'each node has a row');

-- Reuse: the latest transfer to the same place, of the same user and from the same source, is reused if its source is unchanged.
select t.moved('alice', :j, 1, 'done', '{"attempt": 4, "print": "p1"}') \g /dev/null
select t.job_of('alice') as k, t.job_of('bob') as b, t.job_of('alice', '{"source": "/archive/y/"}') as y \gset
select is(t.moved('alice', :k, 1, 'running', '{"print": "p1"}'), '{"reuse": true}', 'it is there');
select is(t.moved('alice', :k, 1, 'running', '{"print": "p2"}'), '{}', 'not if the source has changed');
select is(t.moved('bob', :b, 1, 'running', '{"print": "p1"}'), '{}', 'not what somebody else has brought');
select t.moved('alice', :y, 1, 'running', '{"print": "p1"}'), t.moved('alice', :y, 1, 'done', '{"print": "p1"}') \g /dev/null
select t.job_of('alice') as l \gset
select is(t.moved('alice', :l, 1, 'running', '{"print": "p1"}'), '{}', 'not if another source came there later');

select t.moved('alice', :l, 1, 'done') \g /dev/null
select t.job_of('alice', '{"source": "/archive/y/"}') as m \gset
select is(t.moved('alice', :m, 1, 'running'), '{}', 'nor if nobody knows whether it has changed');

-- The latest transfer is the one that began last, which may belong to an earlier job.
select t.moved('alice', :j, 1, 'running', '{"attempt": 5, "print": "p3"}'), t.moved('alice', :j, 1, 'done', '{"attempt": 5, "print": "p3"}') \g /dev/null
select t.job_of('alice') as o, t.job_of('alice', '{"destination": "/pool/z"}') as z \gset
select is(t.moved('alice', :o, 1, 'running', '{"print": "p3"}'), '{"reuse": true}', 'a transfer of an earlier job, made again, is the latest');
select is(t.moved('alice', :z, 1, 'running', '{"print": "p3"}'), '{}', 'not at another place');
select is((select count(distinct target) || ' ' || count(*) from rota.transfer_run where job_id in (:j, :b, :z) and transfer = 1), '3 3',
	'users and places differ');
select is((select count(target) from rota.transfer_run where transfer > 1), 0::bigint, 'only a stage-in has a target');

-- A transfer that another job makes again.
select is(t.refused(format('select t.job_of(%L, %L)', 'bob', jsonb_build_object('for_job', :j, 'for_transfer', 2))), 'RT422', 'not for a stranger');
select t.job_of('alice', jsonb_build_object('for_job', :j, 'for_transfer', 2)) as again \gset
select is(t.refused(format('select t.moved(%L, %s, 1, %L)', 'alice', :again, 'done')), 'RT404', 'it says which it makes again');
select t.moved('alice', :again, 1, 'done', jsonb_build_object('for', :j || '.2')) \g /dev/null
select is((select concat_ws(' ', state, by_job = :again) from rota.transfer_run where job_id = :j and transfer = 2), 'done t', 'its report is about the first one');
select is(t.listed('alice', jsonb_build_object('job', :again)), '2  pending, 3  pending', 'and has no row of its own in lists');

select t.moved('alice', :j, 2, 'running'), t.moved('alice', :j, 2, 'done', '{"bytes": 7}') \g /dev/null
select is((select concat_ws(' ', by_job = :j, bytes) from rota.transfer_run where job_id = :j and transfer = 2), 't 7', 'the job itself may make it again later');

-- A node drops the folder of a job when no other step needs it, and keeps the folder if another step has failed.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}, {"name": "c"}]', '[{"step": "c", "peer": "b"}]', t.head()) as n \gset
create function t.dropping(p_job bigint, p_step text) returns jsonb language sql as $$
	select t.moved('alice', p_job, 3, 'running', jsonb_build_object('step_id', (t.step(p_job || '.' || p_step)).step_id)) $$;
select t.start(:'n' || '.a'), t.run(:'n' || '.a'), t.start(:'n' || '.b', '{2}'), t.run(:'n' || '.b') \g /dev/null
select is(t.dropping(:n, 'a') -> 'used', 'true', 'a step waits for one that may have left data in it');
select is(t.dropping(:n, 'a') -> 'used', 'true', 'it asks again');
select is((select tries from rota.transfer_run where job_id = :n and transfer = 3), 1, 'and has tried once');
select t.finish(:'n' || '.b') \g /dev/null
select is(t.dropping(:n, 'a') -> 'used', 'true', 'that step may start on any node');
select t.start(:'n' || '.c'), t.run(:'n' || '.c') \g /dev/null
select is(t.dropping(:n, 'a') -> 'used', 'true', 'it runs on this node');
select t.finish(:'n' || '.c') \g /dev/null
select is(t.dropping(:n, 'a'), '{}', 'no other step needs it');
select is(t.dropping(:n, 'c') -> 'used', 'true', 'a step that has ended does not drop the data of one that runs');
select t.fail(:'n' || '.a') \g /dev/null
select is(t.dropping(:n, 'c'), '{"keep": true}', 'one has failed');

-- A stage-out in the script of a step that is cancelled or killed reports no end, and its data must be kept.
select t.submit('alice', '[{"name": "a"}, {"name": "b"}]', '[]', t.head()) as q \gset
select t.start(:'q' || '.a'), t.run(:'q' || '.a'), t.start(:'q' || '.b', '{2}'), t.run(:'q' || '.b') \g /dev/null
select t.moved('alice', :q, 2, 'running') \g /dev/null
select is(t.listed('alice', jsonb_build_object('job', :q)), '1  pending, 2  running, 3  pending', 'it runs');
select api.job_cancel(t.uid('alice'), 'alice', t.request(:'q' || '.a')) \g /dev/null
select t.finish(:'q' || '.a') \g /dev/null
select is(t.listed('alice', jsonb_build_object('job', :q)), '1  pending, 2  cancelled, 3  pending', 'it was cancelled');
select is(t.dropping(:q, 'b'), '{"keep": true}', 'its data is kept');

-- A folder is not dropped while a stage-out from it has not succeeded.
select t.pass(:'k' || '.in'), t.pass(:'k' || '.work'), t.start(:'k' || '.out'), t.run(:'k' || '.out'), t.fail(:'k' || '.out') \g /dev/null
select is(t.moved('alice', :k, 3, 'running'), '{"keep": true}', 'its stage-out failed');
select is(t.moved('alice', :l, 2, 'failed', '{"message": "no room"}') || t.moved('alice', :l, 3, 'running'), '{"keep": true}', 'or so it was reported');

-- Lists
select is(t.listed('alice', jsonb_build_object('job', :k)), '1  interrupted, 2  kept, 3 n1 interrupted', 'of a job that has ended');
select is(t.refused(format('select t.listed(%L, %L)', 'bob', jsonb_build_object('job', :k))), 'RT404', 'not for strangers');
select ok(t.listed('alice', '{}') like '%interrupted%' and t.listed('alice', '{}') not like '%done%', 'what ended well is not listed');
select ok(t.listed('alice', '{"all": true}') like '%done%', 'unless all are');
select t.right('transfers');
select * from finish();
rollback;
