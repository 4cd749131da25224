-- Changes that the site's script made to a job: stored with the submission or the modification, shown to the job's owner alone.
begin;
\ir world.psql
select * from no_plan();
create function t.changed(p_job bigint) returns text language sql as $$
	select string_agg(concat_ws(' ', c.change, c.made_by, c.field, coalesce(c.before, '-'), coalesce(c.after, '-')), ', ' order by c.change)
	from rota.job_change c where c.job_id = p_job $$;
create function t.shown(p_user text, p_job bigint) returns jsonb language sql as $$
	select api.job_show(t.uid(p_user), p_user, t.request(p_job::text)) #> '{jobs,0,changes}' $$;
select '[{"field": "time_limit", "before": null, "after": "7"}, {"field": "comment", "before": "x", "after": null}]' as changes \gset

-- Changes at the submission.
select t.submit('alice', '[{"name": "a"}]') as j \gset
select is(t.changed(:j), null, 'a job that the script left as it was');
select t.submit('alice', '[{"name": "a"}]', '[]', jsonb_build_object('changes', :'changes'::jsonb, 'client_key', 'k')) as j \gset
select is(t.changed(:j), '1 job_submit time_limit - 7, 2 job_submit comment x -', 'what it has set, in order');
select is(t.submit('alice', '[{"name": "a"}]', '[]', '{"changes": [{"field": "comment", "after": "y"}], "client_key": "k"}'), :j::bigint, 'submitted again with its key');
select is(t.changed(:j), '1 job_submit time_limit - 7, 2 job_submit comment x -', 'it keeps the rows of the first time');
select is((select count(*) from rota.job_change), 2::bigint, 'and there are no others');
select api.job_try(t.uid('alice'), 100, 'alice', t.plan('[{"name": "a"}]', '[]', jsonb_build_object('changes', :'changes'::jsonb, 'job_id', 0)), '#!/bin/bash', '\x413d6200') \g /dev/null
select is((select count(*) from rota.job_change), 2::bigint, 'a trial leaves none');
select throws_ok($$select t.submit('alice', '[{"name": "a", "partition": "nowhere"}]', '[]', '{"changes": [{"field": "partition", "after": "nowhere"}]}')$$, 'RT422', null, 'a change that the database refuses');
select is((select count(*) from rota.job_change), 2::bigint, 'leaves none');

-- Changes at a modification: each job has its own.
select t.submit('alice', '[{"name": "a"}]') as k \gset
select api.job_modify(t.uid('alice'), 'alice', jsonb_build_object('jobs', jsonb_build_array(:'j', :'k'), 'job', '{"comment": "common"}'::jsonb,
	'each', jsonb_build_object(:'j', '{"comment": "own"}'::jsonb),
	'kept', jsonb_build_object(:'j', '[{"field": "comment", "before": "common", "after": "own"}]'::jsonb), 'steps', '[]'::jsonb)) \g /dev/null
select is(t.changed(:j), '1 job_submit time_limit - 7, 2 job_submit comment x -, 3 job_modify comment common own', 'behind those of the submission');
select is((select string_agg(comment, ' ' order by job_id) from rota.job where job_id in (:j, :k)), 'own common', 'the job itself has what the script has set');
select is(t.changed(:k), null, 'the other one nothing');

-- Which users see the changes.
select is(jsonb_array_length(t.shown('alice', :j)), 3, 'the owner');
select is(t.shown('alice', :j) -> 0 ->> 'by', 'job_submit', 'with the function');
select is(t.shown('bob', :j), 'null'::jsonb, 'not others');
select is(jsonb_array_length(api.job_show(0, 'root', t.request(:'j')) #> '{jobs,0,changes}'), 3, 'administrators');
select is((select string_agg(concat_ws(' ', field, before, after), ', ' order by change) from acct.job_change where job_id = :j), 'time_limit 7, comment x, comment common own', 'in acct.job_change');
create role alice in role rota_reader;
create role bob in role rota_reader;
create role carl in role rota_reader;
create role dora in role rota_analyst;
select api.admin_change(0, 'root', v::jsonb) from unnest(array['{"object": "account", "action": "create", "name": "acc"}',
	'{"object": "account", "action": "change", "name": "acc", "values": {"coordinators": "carl"}}']) v \g /dev/null
update rota.job set account = 'acc' where job_id = :j;
create function t.seen(p_user text) returns text language plpgsql as $$
declare
	v_seen text;
begin
	execute format('set local role %I', p_user);
	select string_agg(concat_ws(' ', field, after), ', ' order by change) into v_seen from acct.job_change;
	reset role;
	return v_seen;
end $$;
grant usage on schema t to public;
select is(t.seen('alice'), 'time_limit 7, comment, comment own', 'acct.job_change: the owner sees all');
select is(t.seen('bob'), null, 'others nothing');
select is(t.seen('carl'), 'time_limit, comment, comment', 'a coordinator of the account that there are changes, and not what');
select is(t.seen('dora'), 'time_limit, comment, comment', 'an analyst as well');

-- Changes that are refused.
select throws_ok(format('insert into rota.job_change (job_id, change, at, made_by, field) values (%s, %s)', :j, x), '23514', null, x)
from unnest(array['0, now(), ''job_submit'', ''f''', '9, now(), ''root'', ''f''', '9, now(), ''job_submit'', ''''']) x;
select throws_ok(format($$insert into rota.job_change (job_id, change, at, made_by, field, after) values (%s, 9, now(), 'job_submit', 'f', repeat('x', 4097))$$, :j), '23514', null, 'a long value');
select throws_ok(format($$insert into rota.job_change (job_id, change, at, made_by, field) values (%s, 1, now(), 'job_submit', 'f')$$, :j), '23505', null, 'a number twice');
select * from finish();
rollback;
