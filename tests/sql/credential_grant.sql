-- Credentials that their owners let others use, and default credentials of steps without --cred.
begin;
\ir world.psql
\ir credential.psql
select * from no_plan();

-- Grants: another user names the credential OWNER/NAME while the grant lasts; a new credential of this name needs a new grant.
create function t.grant(p_user text, p_request jsonb) returns text language plpgsql as $$
declare
	v_request jsonb := p_request || jsonb_build_object('to_uid', t.uid(p_request ->> 'to'));
begin
	return api.credential_grant(t.uid(p_user), p_user, v_request || api.credential_grant(t.uid(p_user), p_user, v_request)
		|| jsonb_build_object('signature', repeat('ab', 64))) ->> 'action';
exception when sqlstate 'RT404' or sqlstate 'RT409' or sqlstate 'RT422' then
	return sqlstate || ' ' || sqlerrm;
end $$;
create function t.revoke(p_user text, p_name text, p_to text default null) returns text language sql as $$
	select api.credential_grant(t.uid(p_user), p_user, jsonb_strip_nulls(jsonb_build_object('name', p_name, 'to', p_to, 'revoke', true))) ->> 'action' $$;
select t.have('carol', 'shared') \g /dev/null
select is(t.needs_refused('bob', 'shared@carol'), '--cred: you have no credential "carol/shared"', 'bob may not use it');
select is(t.grant('bob', '{"name": "shared", "to": "alice"}'), 'RT404 you have no credential "shared"', 'nor grant it');
select is(t.grant('carol', '{"name": "shared", "to": "carol"}'), 'RT422 --to: you may use your own credential "shared" anyway', 'nobody needs a grant of his own');
select is(t.grant('carol', '{"name": "shared", "to": "bob", "until_s": 978307200}'), 'RT422 --until: this time is over', 'none is for the past');
select is(t.grant('carol', '{"name": "shared", "to": "bob"}'), 'granted', 'carol grants it');
select is(t.grant('carol', jsonb_build_object('name', 'shared', 'to', 'bob', 'until_s', extract(epoch from now())::bigint + 172800)), 'granted', 'and once more');
select is((select count(*) || ' ' || count(until_at) from rota.credential_grant where revoked_at is null), '1 1', 'which replaces the first');
select is((select string_agg(x ->> 'name', ' ') from jsonb_array_elements(t.cred('bob', '{"action": "list"}') -> 'credentials') x), 'carol/shared', 'bob sees it');
select is(t.cred('carol', '{"action": "show", "name": "shared"}') #>> '{grants,0,to}', 'bob', 'carol sees to whom');
select is(t.refused('bob', '{"action": "remove", "name": "shared", "user": "carol"}'), 'RT404 you have no credential "shared"', 'bob does not remove it');
select is(t.needs_refused('alice', 'shared@carol'), '--cred: you have no credential "carol/shared"', 'alice still may not use it');
select t.have('bob', 'shared'), api.credential_nodes('{n1,n2,n3,n4}') \g /dev/null
select t.needs('bob', 'shared,shared@carol') as j \gset
select t.settle(), t.begin(:'j' || '.a', '{3}') \g /dev/null
select is((select string_agg(b.delivered || ' of ' || (b.uid = t.uid('carol')) || ' for ' || (b.job_uid = t.uid('bob')) || ' ' || coalesce(length(b.grant_signature), 0), ', ' order by b.delivered) from api.credential_box_take(9) b where b.job_id = :j),
	'shared of false for true 0, shared@carol of true for true 64', 'rota-credd gets the grant with it');
select api.credential_box_put(array_agg(b.job_id), array_agg(b.step_id), array_agg(b.attempt), array_agg(b.node_id), array_agg(b.delivered), array_agg(b.version), array_agg('\x424f58'::bytea), array_agg(b.number))
	from api.credential_box_take(100) b where b.job_id = :j \g /dev/null
select is(t.fetch(3), format('%s.0.1 shared 1 BOX, %s.0.1 shared@carol 1 BOX', :j, :j), 'the node gets both');
select t.needs('bob', 'shared@carol') as k \gset
select is(t.revoke('carol', 'shared', 'bob'), 'revoked', 'carol revokes it');
select t.settle() \g /dev/null
select is(t.fetch(3, t.known(:'j' || '.a', 3, 'shared@carol', 1)), format('%s.0.1 shared 1 BOX, %s.0.1 shared@carol 0', :j, :j), 'the node destroys it, and not bob''s own');
select is(t.held(:'k' || '.a'), 'system: credential carol/shared: its owner does not grant it', 'bob''s waiting step is held');
select throws_ok($$ select t.revoke('carol', 'shared', 'bob') $$, 'RT404', 'credential "shared" is not granted to "bob"', 'it is revoked once');
select t.grant('carol', '{"name": "shared", "to": "bob"}'), t.settle() \g /dev/null
select is(t.held(:'k' || '.a'), '', 'a new grant releases it');
update rota.credential_grant set until_at = now() where revoked_at is null;
select t.settle() \g /dev/null
select is(t.held(:'k' || '.a'), 'system: credential carol/shared: its owner does not grant it', 'the end of a grant holds it again');
select t.grant('carol', '{"name": "shared", "to": "bob"}'), t.cred('carol', '{"action": "remove", "name": "shared"}'), t.have('carol', 'shared'), t.settle() \g /dev/null
select is(t.held(:'k' || '.a'), 'system: credential carol/shared: its owner does not grant it', 'a new credential of the name is not granted');
select throws_ok($$ select api.credential_grant(t.uid('carol'), 'carol', jsonb_build_object('name', 'shared', 'to', 'bob', 'to_uid', t.uid('bob'), 'signature', repeat('ab', 64), 'origin', md5('old'), 'until_s', 0)) $$,
	'40001', null, 'what was signed for another credential of the name is not stored');
select throws_ok($$ insert into rota.credential_grant (credential_id, uid, user_name, signature) select credential_id, 1, 'x', 'short' from rota.credential where name = 'shared' $$, '23514', null, 'a grant has a signature');
select t.grant('carol', '{"name": "shared", "to": "bob"}') \g /dev/null
select t.have('carol', 'shared', jsonb_build_object('expires', t.in_s(3600))), t.settle() \g /dev/null
select is((select string_agg(recipient || ' ' || steps, ', ' order by recipient) from rota.credential_mail m join rota.credential c on c.credential_id = m.credential_id where c.name = 'shared' and c.user_name = 'carol'), 'bob 1, carol 1', 'both get mail when it ends');
select matches((select body from api.mail_take(99, 60) where recipient = 'bob' and label like '%credential shared'), 'Only carol can add it anew', 'and who cannot add it reads who can');

-- A grant with a wrong signature ends when rota-credd has verified it.
select t.settle(), t.needs('bob', 'shared@carol') as k \gset
select t.begin(:'k' || '.a', '{2}') \g /dev/null
select is((select api.credential_box_failed(array[b.job_id], array[b.step_id], array[b.attempt], array[b.node_id], array[b.delivered], array[b.version], '{forged}', array[b.grant_id])
	from api.credential_box_take(9) b where b.job_id = :k), 1, 'rota-credd reports it');
select t.settle() \g /dev/null
select is((select count(*) from rota.credential_grant where revoked_at is null), 0::bigint, 'it is revoked');
select is(t.state(:'k' || '.a') || ' ' || t.held(:'k' || '.a'), 'pending system: credential carol/shared: its owner does not grant it', 'and the step waits');

-- Only jobmgrd, which signs grants, stores them.
select is((select string_agg(r, ' ') from unnest('{rota_credd,rota_runner,rota_nodemgr,rota_node,rota_jobmgr_leader,rota_analyst,rota_reader,public}'::text[]) r
	where has_function_privilege(r, 'api.credential_grant(int, text, jsonb)', 'execute')), null, 'no other role may grant');
select is(has_function_privilege('rota_jobmgr', 'api.credential_grant(int, text, jsonb)', 'execute'), true, 'jobmgrd may');
select is((select string_agg(r, ' ') from unnest('{rota_jobmgr,rota_runner,rota_nodemgr,rota_node}'::text[]) r
	where has_function_privilege(r, 'api.credential_test_take(int, int)', 'execute') or has_function_privilege(r, 'api.credential_tested(bigint, jsonb, text)', 'execute')), null, 'tests are rota-credd''s');

-- Default credentials.
select is(t.cred('bob', '{"action": "default"}') ->> 'default', null, 'there is none');
select is(t.refused('bob', '{"action": "default", "names": "nothing"}'), 'RT404 you have no credential "nothing"', 'what bob has not is none');
select is(t.refused('bob', '{"action": "default", "names": "a,,b"}'), 'RT422 "a,,b" is no list of names of credentials', 'nor what is no list');
select is(t.cred('bob', '{"action": "default", "names": "shared"}') ->> 'default', 'shared', 'one of his own is');
select is(api.submit_limits(0, 'root', '{"credential_defaults": "all"}') #>> array['credential_defaults', t.uid('bob')::text], 'shared', 'the translator gets it');
select is(api.submit_limits(t.uid('bob'), 'bob', '{}') -> 'credential_defaults', jsonb_build_object(t.uid('bob')::text, 'shared'), 'a user gets his own');
select is(api.submit_limits(t.uid('carol'), 'carol', '{}') ->> 'credential_defaults', null, 'and nobody else''s');
select is(t.cred('bob', '{"action": "default", "names": "none"}') ->> 'default', 'none', 'none');
select is(t.cred('bob', '{"action": "default", "names": "unset"}') ->> 'default', null, 'and unset');
select * from finish();
rollback;
