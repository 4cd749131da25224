-- Credentials: who may do what with which, what is stored, which steps wait for them, what is sealed for which node, and renewal by need.
begin;
\ir world.psql
\ir credential.psql
select * from no_plan();

-- Uploads that are refused: no name, kind or box.
select is(t.refused('alice', '{"action": "add", "name": "../x", "kind": "file", "box": "QUFB"}'), 'RT422 "../x" is no name of a credential', 'a path');
select is(string_agg(t.refused('alice', jsonb_build_object('action', 'add', 'name', n, 'kind', 'file', 'box', 'QUFB')), ', '), 'RT422 "none" cannot be the name of a credential, RT422 "unset" cannot be the name of a credential', 'words that mean something else')
from unnest('{none,unset}'::text[]) n;
select is(t.refused('alice', '{"action": "add", "name": "x", "kind": "spell", "box": "QUFB"}'), 'RT422 there is no kind "spell"', 'a kind');
select matches(t.refused('alice', '{"action": "add", "name": "x", "kind": "file", "box": "no base64"}'), 'RT422 the credential is not a box in base64', 'a box');
select matches(t.refused('alice', '{"action": "add", "name": "x", "kind": "file", "box": "QUFB", "command": "afs"}'), 'RT422 a kind "file" has no such option', 'a command');
select matches(t.refused('alice', '{"action": "add", "name": "x", "kind": "file", "box": "QUFB", "refresh_url": "https://a"}'), 'RT422 a kind "file" has no such option', 'a URL');
select matches(t.refused('alice', '{"action": "steal"}'), 'RT422 there is no action "steal"', 'an action');
select is((select count(*) from rota.credential_upload), 0::bigint, 'nothing is stored');

-- An upload, until it is stored; and one that is refused.
select t.add('alice', 'archive') as upload \gset
select is(api.credential_wait(t.uid('alice'), 'alice', jsonb_build_object('upload', :upload)), '{"done": false}', 'it waits');
select throws_ok(format('select api.credential_wait(t.uid(''bob''), ''bob'', jsonb_build_object(''upload'', %s))', :upload), 'RT404', null, 'it is not bob''s');
select is(t.cred('alice', '{"action": "list"}') -> 'credentials', '[]', 'there is none yet');
select is(t.store('{"subject": "me"}'), 'true', 'it is stored');
select is(api.credential_wait(t.uid('alice'), 'alice', jsonb_build_object('upload', :upload)) ->> 'subject', 'me', 'which its sender sees');
select is(t.cred('alice', '{"action": "show", "name": "archive"}') ->> 'version', '1', 'as version 1');
select is((select count(*) from rota.credential_upload where box is not null), 0::bigint, 'no box is left');
select t.add('alice', 'broken') as upload \gset
select api.credential_upload_done(upload_id, 1, 1, null, null, null, null, 'no such format') from api.credential_upload_take(10) \g /dev/null
select throws_ok(format('select api.credential_wait(t.uid(''alice''), ''alice'', jsonb_build_object(''upload'', %s))', :upload), 'RT422', 'credential "broken": no such format', 'why it was refused');
select is((select count(*) from rota.credential where name = 'broken'), 0::bigint, 'and nothing is stored');
select is(api.credential_upload_done(:upload, 1, 1, t.nonce(), 'x', '{}', null, null), false, 'an upload is done once');

-- Of two uploads of a name, one after the other; a version that is not the next one is refused.
select t.add('alice', 'archive') as first, t.add('alice', 'archive') as second \gset
select is((select string_agg(upload_id || ':' || version, ' ') from api.credential_upload_take(10)), :first || ':2', 'the older one first');
select is(api.credential_upload_done(:first, 7, 1, t.nonce(), 'x', '{}', null, null), false, 'no version is left out');
select is(t.store() || t.store(), 'truetrue', 'then the other');
select is((select version from rota.credential where name = 'archive'), 3, 'three versions');

-- Users do not see credentials of others; operators see that they exist. No answer contains the secret.
select is(t.refused('bob', '{"action": "show", "name": "archive"}'), 'RT404 you have no credential "archive"', 'bob sees nothing of it');
select is(t.refused('bob', '{"action": "show", "name": "archive", "user": "alice"}'), 'RT404 you have no credential "archive"', 'by its owner neither');
select is(t.refused('bob', '{"action": "remove", "name": "archive", "user": "alice"}'), 'RT404 you have no credential "archive"', 'and does not remove it');
select is(t.refused('bob', '{"action": "list", "user": "alice"}'), 'RT403 only operators see the credentials of others', 'nor lists it');
select is(t.refused('bob', '{"action": "list", "all": true}'), 'RT403 only operators see the credentials of others', 'with all others');
select is(t.cred('root', '{"action": "show", "name": "archive", "user": "alice"}') ->> 'subject', null, 'an administrator sees what is known of it');
select unalike(t.cred('root', '{"action": "list", "all": true}')::text || t.cred('alice', '{"action": "show", "name": "archive"}')::text, '%5345414c%', 'no answer has the secret');
select hasnt_column('acct', 'credential', 'sealed', 'no view has it');
select is((select string_agg(name || version, ' ') from acct.credential), 'archive3', 'acct.credential lists it');
select throws_ok($$ insert into rota.credential (uid, user_name, name, kind, version, key_version, nonce, sealed) select 1, 'x', 'x', 'file', 1, key_version, nonce, 'x' from rota.credential where name = 'archive' $$, '23505', null,
	'no key seals twice under one nonce');

-- A job asks for credentials of its owner.
select is(t.needs_refused('bob', 'archive'), '--cred: you have no credential "archive"', 'bob has none of this name');
select is(t.needs_refused('alice', 'archive,ticket'), '--cred: you have no credential "ticket"', 'each is needed');
select t.needs('alice', 'archive') as j \gset
select is(t.held(:'j' || '.a'), '', 'it may start');
select is((select string_agg(name, ' ') from rota.step_credential where job_id = :j), 'archive', 'what it needs is known');

-- Launch requests of an attempt wait until rota-credd has sealed the credential for the node; only this node gets the box.
select t.begin(:'j' || '.a', '{1,2}') \g /dev/null
select is(t.orders(1), null, 'no order leaves');
select is(t.boxes(), null, 'no node has a key');
select api.credential_nodes('{n1,n2,n3}') \g /dev/null
select is(t.boxes(), format('%s.0.1 n1 archive 3, %s.0.1 n2 archive 3', :j, :j), 'a box for each node');
update rota.credential_use set wanted = wanted - 1 where job_id = :j;
select is(t.boxes(), format('%s.0.1 n1 archive 3, %s.0.1 n2 archive 3', :j, :j), 'a start that met a renewal gets the present version');
select isnt(t.seal(), 0, 'boxes are stored');
select is(t.boxes(), null, 'they are sealed');
select is(api.credential_box_put(array[:j], '{0}', '{1}', '{1}', '{archive}', '{3}', array['x'::bytea], '{9000000000000000000}'), 0, 'once');
select is(t.orders(1), format('launch %s.0', :j), 'the orders leave');
select is((select string_agg(concat_ws(' ', x ->> 'node_id', x ->> 'step_id', x ->> 'name', x ->> 'kind', x ->> 'box'), ', ') from api.node_orders('{1}', '{}', 9) o
	cross join lateral jsonb_array_elements(o.args -> 'boxes') x), '1 0 archive file \x424f58', 'with the box of their node');
select is(t.fetch(1), format('%s.0.1 archive 3 BOX', :j), 'a node gets its box');
select is(t.fetch(3), null, 'another node gets none');
select is(t.fetch(1, t.known(:'j' || '.a', 1, 'archive', 3)), null, 'once');
select is((select string_agg(node || ' ' || version || ' ' || (fetched_at is not null), ', ' order by node) from acct.credential_use), 'n1 3 true, n2 0 false', 'and the use is known');

select is(t.fetch(2, t.known(:'j' || '.a', 2, 'archive', 99)), null, 'of what a node has and the database does not know, nothing is noted');
select is((select version from acct.credential_use where node = 'n2'), 0, 'it does not count as delivered');
select t.seal() \g /dev/null
select is(t.fetch(2, t.known(:'j' || '.a', 2, 'archive', 3)), null, 'what a node has of an order it does not get again');
select is((select version from acct.credential_use where node = 'n2'), 3, 'but it is noted');

-- A running attempt gets the new version of a credential, and its removal.
select t.have('alice', 'archive') \g /dev/null
select is(t.boxes(), format('%s.0.1 n1 archive 4, %s.0.1 n2 archive 4', :j, :j), 'a new version is to be sealed');
select t.seal() \g /dev/null
select is(t.fetch(1, t.known(:'j' || '.a', 1, 'archive', 3)), format('%s.0.1 archive 4 BOX', :j), 'and fetched');
select api.credential_box_put(array[:j], '{0}', '{1}', '{1}', '{archive}', '{3}', array['\x4f4c44'::bytea], '{9000000000000000000}') \g /dev/null
select is(t.fetch(1), format('%s.0.1 archive 4 BOX', :j), 'an older box does not come after it');

-- A database restored from a copy with version 4: the version that it gives next is new to the node, though the node has had
-- later ones.
create temporary table copy as select * from rota.credential where name = 'archive' and removed_at is null;
create temporary table copy_use as select * from rota.credential_use where job_id = :j;
select t.have('alice', 'archive'), t.seal(), t.have('alice', 'archive') \g /dev/null
select t.seal() \g /dev/null
select t.known(:'j' || '.a', 1, 'archive', 6) as seen \gset
update rota.credential c set version = o.version from copy o where o.credential_id = c.credential_id;
update rota.credential_use u set (wanted, boxed, box, box_number, fetched) = (o.wanted, o.boxed, o.box, o.box_number, 3)
	from copy_use o where (o.job_id, o.step_id, o.node_id) = (u.job_id, u.step_id, u.node_id);
select internal.incarnation_begin('restored', 0) \g /dev/null
select is(t.fetch(1, :'seen'), null, 'a node keeps what the copy does not know');
select is((select version from acct.credential_use where node = 'n1'), 3, 'it does not count as delivered');
select t.have('alice', 'archive'), pg_sleep(0.002) \g /dev/null
select t.seal() \g /dev/null
select is(t.fetch(1, :'seen'), format('%s.0.1 archive 5 BOX', :j), 'it takes the next one');
select is((select version from acct.credential_use where node = 'n1'), 5, 'which counts');
-- A server that was promoted twice after the copy was made has used numbers of incarnations that the restored database reaches
-- later.
select t.have('alice', 'archive') \g /dev/null
select t.seal() \g /dev/null
select jsonb_set(t.known(:'j' || '.a', 1, 'archive', 6), '{0,version}', to_jsonb(internal.credential_box_number() + 30000000000000)) as seen \gset
select is(t.fetch(1, :'seen'), null, 'a node has a box of a later incarnation');
select is(t.boxes(), format('%s.0.1 n1 archive 6', :j), 'and the present one is made again');
select t.seal() \g /dev/null
select is(t.fetch(1, :'seen'), format('%s.0.1 archive 6 BOX', :j), 'under a higher number, so that the node takes it');
select is(t.fetch(1, t.known(:'j' || '.a', 1, 'archive', 6)), null, 'once');
select t.have('alice', 'archive') \g /dev/null
select t.seal() \g /dev/null
select is(t.fetch(1, :'seen'), format('%s.0.1 archive 7 BOX', :j), 'later ones follow');
select is(t.fetch(1, jsonb_set(:'seen', '{0,version}', '9223372036854775807')), null, 'a node that says it has the highest number there is');
select is(t.boxes(), null, 'harms nobody');
insert into rota.incarnation (incarnation, timeline, made_by, reason, job_after, job_from, event_from) values (1000000, 1, 'test', 'test', 0, 1, 1);
select is(internal.credential_box_number() between 1 and 9000000000000000000, true, 'numbers have room for all incarnations');
delete from rota.incarnation where incarnation = 1000000;
select is(api.credential_box_put(array[:j], '{0}', '{1}', '{1}', '{archive}', '{8}', array['x'::bytea], '{1}'), 0, 'no box gets a lower number');
select t.cred('alice', '{"action": "remove", "name": "archive"}') \g /dev/null
select is(t.fetch(1, t.known(:'j' || '.a', 1, 'archive', 7)), format('%s.0.1 archive 0', :j), 'the node destroys what was removed');
select is(t.fetch(1), null, 'and gets nothing again');
select is((select count(*) from rota.credential where sealed is not null) + (select count(*) from rota.credential_use where box is not null), 0::bigint, 'nothing of it is left');
select is(t.refused('alice', '{"action": "show", "name": "archive"}'), 'RT404 you have no credential "archive"', 'it is gone');
select t.run(:'j' || '.a'), t.finish(:'j' || '.a') \g /dev/null
select t.settle() \g /dev/null
select is((select count(*) from rota.credential_use where gone_at is null), 0::bigint, 'the attempt has left');

-- Steps wait for a credential that is dead, and go on with a new one.
select t.have('alice', 'archive', jsonb_build_object('expires', t.in_s(60))) \g /dev/null
select t.settle() \g /dev/null
select t.needs('alice', 'archive') as j \gset
select t.submit('alice', '[{"name": "a"}]') as other \gset
select t.older(58) \g /dev/null
select t.settle() \g /dev/null
select matches(t.held(:'j' || '.a'), 'system: credential archive: it expires at ', 'it is held before it can start with a dead one');
select is(t.held(:'other' || '.a'), '', 'a job that needs none is not');
select matches(api.job_why(t.uid('alice'), 'alice', jsonb_build_object('jobs', array[:j::text]))::text, 'credential archive', 'rota why says so');
select is(api.job_release(t.uid('alice'), 'alice', jsonb_build_object('jobs', array[:j::text])) #>> '{steps,0,changed}', 'false', 'nobody releases it');
select matches(t.held(:'j' || '.a'), 'credential', 'it stays held');
select t.needs('alice', 'archive') as late \gset
select matches(t.held(:'late' || '.a'), 'credential archive', 'one that comes now waits from the first moment');
select t.have('alice', 'archive', jsonb_build_object('expires', t.in_s(1000))) \g /dev/null
select t.settle() \g /dev/null
select is(t.held(:'j' || '.a') || t.held(:'late' || '.a'), '', 'a new upload releases both');
select t.have('alice', 'archive', '{}', 'token') \g /dev/null
select t.settle() \g /dev/null

-- A step is held if the credential has a kind other than the one that its job asked for.
select is(t.held(:'j' || '.a'), 'system: credential archive: it is of kind token now, not file', 'a step is held that wants another kind');
select t.cred('alice', '{"action": "remove", "name": "archive"}') \g /dev/null
select t.settle() \g /dev/null
select is(t.held(:'j' || '.a'), 'system: credential archive: there is none of this name', 'a removed one holds');
select t.have('alice', 'archive', '{}', 'token') \g /dev/null
select t.settle() \g /dev/null
select is(t.held(:'j' || '.a'), 'system: credential archive: it is of kind token now, not file', 'one of another kind does not release');
select t.have('alice', 'archive') \g /dev/null
select t.settle() \g /dev/null
select is(t.held(:'j' || '.a'), '', 'one of its kind does');

-- An attempt whose credential dies between its start and its boxes is closed, and its step waits.
select t.begin(:'j' || '.a') \g /dev/null
select t.cred('alice', '{"action": "remove", "name": "archive"}') \g /dev/null
select t.settle() \g /dev/null
select is(t.state(:'j' || '.a') || ' ' || (t.step(:'j' || '.a')).held, 'pending system', 'it is queued again, and held');
select is(t.orders(1), null, 'no order is left');
select is((select count(*) from rota.hook_pending where hook = 'credential'), 0::bigint, 'nothing waits for boxes');
select t.have('alice', 'archive') \g /dev/null
select t.settle() \g /dev/null
select is(t.held(:'j' || '.a'), '', 'a new upload releases it too');

-- A credential is removed and added again while an attempt waits for its box: the box never comes, and the step starts again with
-- the new one.
create function t.remade(p_name text) returns void language sql as $$ select t.cred('alice', jsonb_build_object('action', 'remove', 'name', p_name)), t.have('alice', p_name) $$;
select t.begin(:'j' || '.a'), t.remade('archive') \g /dev/null
select is(t.boxes(), null, 'there is nothing to seal');
select t.settle() \g /dev/null
select is(t.state(:'j' || '.a') || ' ' || t.held(:'j' || '.a'), 'pending ', 'it is queued again, and may start');
select is((select message from acct.attempt where job_id = :j and attempt = (select max(attempt) from acct.attempt where job_id = :j)), 'credential archive: it was removed, or its grant revoked, meanwhile', 'and says why');

-- A credential that rota-credd cannot seal: rota-credd is not asked again, and an attempt that waits for the box is closed.
create function t.fail_boxes(p_reason text, p_grants boolean default false) returns int language sql as $$
	select api.credential_box_failed(array_agg(b.job_id), array_agg(b.step_id), array_agg(b.attempt), array_agg(b.node_id), array_agg(b.delivered), array_agg(b.version), array_agg(p_reason),
		array_agg(case when p_grants then b.grant_id else 0 end)) from api.credential_box_take(100) b $$;
select t.begin(:'j' || '.a') \g /dev/null
select is(api.credential_box_failed(array[:j], '{0}', '{3}', '{1}', '{archive}', '{0}', '{late}', '{0}'), 0, 'the failure of an older version is nothing');
select is(t.fail_boxes('the key of the node is damaged'), 1, 'a failure is noted');
select is(t.boxes(), null, 'and not tried again');
select t.settle() \g /dev/null
select is(t.state(:'j' || '.a') || ' ' || t.held(:'j' || '.a'), 'pending system: credential archive: the key of the node is damaged', 'the step waits');
select is((select message from acct.attempt where job_id = :j and attempt = (select max(attempt) from acct.attempt where job_id = :j)), 'credential archive: the key of the node is damaged', 'and says why');
select t.have('alice', 'archive') \g /dev/null
select is(api.job_release(t.uid('alice'), 'alice', jsonb_build_object('jobs', array[:j::text])) #>> '{steps,0,changed}', 'true', 'its owner may try again');
select t.begin(:'j' || '.a') \g /dev/null
select t.seal(), t.run(:'j' || '.a'), t.have('alice', 'archive') \g /dev/null
select is(t.fail_boxes('the key of the node is damaged'), 1, 'of a running attempt too');
select t.settle() \g /dev/null
select is(t.state(:'j' || '.a') || ' ' || coalesce(t.boxes(), 'nothing to do'), 'running nothing to do', 'which runs on');
select t.have('alice', 'archive') \g /dev/null
select isnt(t.boxes(), null, 'and gets the next version');
select t.seal(), t.finish(:'j' || '.a') \g /dev/null
select t.settle() \g /dev/null

-- Renewal: only for steps that need the credential, near the end of its life, by one renewer at a time, with growing delays after
-- failures.
select t.have('alice', 'ticket', jsonb_build_object('expires', t.in_s(120), 'renewable', true, 'renew_until', t.in_s(600)), 'krb5') \g /dev/null
select t.older(105) \g /dev/null
select is(t.renewals(), null, 'nobody needs it');
select is((select renew_at between now() + interval '1 second' and now() + interval '1 minute' from rota.credential where name = 'ticket'), true, 'so it is looked at later');
select results_eq($$select extract(epoch from internal.credential_early(now(), now() + make_interval(secs => life)))::int
	from unnest('{30,80,120,4800,36000}'::int[]) life$$, array[10, 10, 15, 600, 600], 'early enough to be tried again, and seldom: a KDC gets few calls');
select ok(120 / (120 - extract(epoch from internal.credential_early(now(), now() + interval '2 minutes'))) < 1.15,
	'of a ticket of two minutes, at most 1.15 times those that are unavoidable');
select t.needs('alice', 'ticket') as j \gset
select is(t.renewals(), 'alice:ticket:1', 'a job that waits does');
select is(t.renewals(), null, 'it is under way');
select is(t.renewed('ticket', jsonb_build_object('expires', t.in_s(120), 'renewable', true, 'renew_until', t.in_s(480))), true, 'it is renewed');
select is((select version || ' ' || renewals from rota.credential where name = 'ticket' and removed_at is null), '2 1', 'as version 2');
select is(t.renewals(), null, 'and good for a while');
select is(api.credential_renewed((select credential_id from rota.credential where name = 'ticket'), 2, 1, t.nonce(), 'x', '{}'), false, 'a renewal that was overtaken is not stored');
select t.older(105) \g /dev/null
select is(t.renewals(), 'alice:ticket:2', 'again in time');
select api.credential_renew_failed(credential_id, 2, 'the KDC does not answer', false) from rota.credential where name = 'ticket' \g /dev/null
select is((select failure from acct.credential where name = 'ticket'), 'the KDC does not answer', 'a failure is known');
select is(t.renewals(), null, 'it is not tried at once');
update rota.credential set renew_at = now() where name = 'ticket';
select is(t.renewals(), 'alice:ticket:2', 'but soon');
select t.older(30) \g /dev/null
select t.settle() \g /dev/null
select matches(t.held(:'j' || '.a'), 'credential ticket: it expired at .*, and could not be renewed: the KDC does not answer', 'then its steps wait, and say why');
update rota.credential set renew_at = now(), taken_until = null where name = 'ticket';
select is(t.renewals(), null, 'what has expired is not renewed');
select is((select renew_at from rota.credential where name = 'ticket'), null, 'nor looked at again');
-- Many renewable credentials that no step needs do not delay the renewal of one that a step needs.
insert into rota.credential (uid, user_name, name, kind, version, key_version, nonce, sealed, expires_at, changed_at, renewable, renew_at)
	select 9, 'many', 'x' || x, 'token', 1, 1, t.nonce(), 'x', now() + interval '1 hour', now(), true, now() - interval '1 hour' from generate_series(1, 20) x;
select t.have('carol', 'behind', jsonb_build_object('expires', t.in_s(120), 'renewable', true), 'token'), t.needs('carol', 'behind') \g /dev/null
update rota.credential set renew_at = now() where name = 'behind';
select is((select string_agg(name, ' ') from api.credential_renew_take(1, 30)), 'behind', 'it comes at once');
select is((select count(*) from rota.credential where user_name = 'many' and renew_at <= now()), 0::bigint, 'and the others are looked at later');
delete from rota.credential where user_name = 'many';
select t.cred('carol', '{"action": "remove", "name": "behind"}'), t.settle() \g /dev/null
select t.have('alice', 'idle', jsonb_build_object('expires', t.in_s(20), 'renewable', true), 'krb5') \g /dev/null
select is(t.refused('alice', '{"action": "refresh", "name": "archive"}'), 'RT409 credential "archive" cannot be renewed', 'a file is not renewed');
update rota.credential set changed_at = now() - interval '1 second' where name = 'idle';
select t.cred('alice', '{"action": "refresh", "name": "idle"}') \g /dev/null
select is(t.renewals(), 'alice:idle:1', 'its owner may ask for it at any time');
update rota.credential set expires_at = now() - interval '1 second' where name = 'idle';
select is(t.refused('alice', '{"action": "refresh", "name": "idle"}'), 'RT409 credential "idle" has expired, and cannot be renewed any more', 'but not when a ticket is dead');

-- A refresh token renews a token also after the token has expired. A renewal that was refused for good is not tried again.
select t.have('carol', 'token', jsonb_build_object('expires', t.in_s(60), 'renewable', true), 'token') \g /dev/null
select t.needs('carol', 'token') as j \gset
select t.older(65) \g /dev/null
select t.settle() \g /dev/null
select matches(t.held(:'j' || '.a'), 'credential token: it expired at', 'it was missed');
select is(t.renewals(), 'carol:token:1', 'and is renewed all the same');
select t.cred('carol', '{"action": "refresh", "name": "token"}') \g /dev/null
select is(t.renewals(), null, 'not by two at a time, whoever asks for it');
select is(t.renewed('token', jsonb_build_object('expires', t.in_s(60), 'renewable', true)), true, 'there is a new one');
select t.settle() \g /dev/null
select is(t.held(:'j' || '.a'), '', 'so its step may start');
select t.older(55) \g /dev/null
select is(t.renewals(), 'carol:token:2', 'again');
select api.credential_renew_failed(credential_id, 2, 'the token service said: invalid_grant', true) from rota.credential where name = 'token' \g /dev/null
select is((select renewable || ' ' || (renew_at is null) || ' ' || (warn_at <= now()) from rota.credential where name = 'token'), 'false true true', 'refused for good');
select is(t.refused('carol', '{"action": "refresh", "name": "token"}'), 'RT409 credential "token" cannot be renewed', 'its owner cannot ask either');
select t.have('carol', 'token', jsonb_build_object('expires', t.in_s(60), 'renewable', true), 'token') \g /dev/null
select is((select renewable || ' ' || (renew_at is null) from rota.credential where name = 'token'), 'true false', 'before there is a new upload');
select t.cred('carol', '{"action": "remove", "name": "token"}') \g /dev/null
select t.settle() \g /dev/null

-- Tests of a credential: one at a time for each version, for its owner only.
select t.have('carol', 'tried') \g /dev/null
select t.cred('carol', '{"action": "test", "name": "tried"}') ->> 'test' as test \gset
select is(t.cred('carol', '{"action": "test", "name": "tried"}') ->> 'test', :'test', 'who asks again waits for the same');
select is(t.refused('bob', '{"action": "test", "name": "tried", "user": "carol"}'), 'RT404 you have no credential "tried"', 'others do not test it');
select t.have('carol', 'next'), t.cred('carol', '{"action": "test", "name": "next"}') \g /dev/null
select is((select string_agg(name, ' ') from api.credential_test_take(9, 30)), 'tried', 'rota-credd takes it');
select is((select string_agg(name, ' ') from api.credential_test_take(9, 30)), null, 'once, and meanwhile no other one of the user');
select is(api.credential_wait(t.uid('carol'), 'carol', jsonb_build_object('test', :test)), '{"done": false}', 'it is under way');
select throws_ok(format('select api.credential_wait(t.uid(''bob''), ''bob'', jsonb_build_object(''test'', %s))', :test), 'RT404', null, 'nobody else sees it');
update rota.credential set expires_at = to_timestamp(4000000000) where name = 'tried';
select api.credential_tested(:test, '{"subject": "me", "asked": "the KDC", "expires": 4000000009}', null), api.credential_tested(:test, null, 'late') \g /dev/null
select is(api.credential_wait(t.uid('carol'), 'carol', jsonb_build_object('test', :test)) ->> 'asked', 'the KDC', 'what it found, as reported first');
select is(api.credential_wait(t.uid('carol'), 'carol', jsonb_build_object('test', :test)) -> 'expires_at', to_jsonb(to_timestamp(4000000000)), 'it ends when it was stored to, not as long after the test');
select is((select string_agg(name, ' ') from api.credential_test_take(9, 30)), 'next', 'then it is its turn');
select t.cred('carol', '{"action": "remove", "name": "next"}') \g /dev/null
select t.cred('carol', '{"action": "test", "name": "tried"}') ->> 'test' as test \gset
select t.cred('carol', '{"action": "remove", "name": "tried"}') \g /dev/null
select is((select count(*) from api.credential_test_take(9, 30)), 0::bigint, 'a removed one is not tried');
select throws_ok(format('select api.credential_wait(t.uid(''carol''), ''carol'', jsonb_build_object(''test'', %s))', :test), 'RT422', 'credential "tried": it was removed or replaced meanwhile', 'and says so');

-- Mail about credentials: once for each upload and cause, to users whose steps need it; never before it is due.
create function t.credential_mails() returns text language sql as $$
	select string_agg(c.name || ' ' || m.event || ' to ' || m.recipient || ' ' || m.steps, ', ' order by m.mail_id)
	from rota.credential_mail m join rota.credential c on c.credential_id = m.credential_id where c.user_name = 'bob' $$;
create function t.take_mail() returns text language sql as $$
	select string_agg(recipient || ': ' || subject, ', ' order by mail_id) from api.mail_take(9, 60) where label like '%credential%' and recipient = 'bob' $$;
select api.mail_report(array_agg(mail_id), array_agg(null::text)) from rota.credential_mail \g /dev/null
select t.have('bob', 'pass', jsonb_build_object('expires', t.in_s(90000))) \g /dev/null
select t.needs('bob', 'pass') as j \gset
select t.settle() \g /dev/null
select is(t.credential_mails(), null, 'a day and more before there is no mail');
select t.older(80000) \g /dev/null
select t.settle() \g /dev/null
select is(t.credential_mails(), 'pass EXPIRES to bob 1', 'hours before there is');
select t.older(700), t.settle() \g /dev/null
select is(t.credential_mails(), 'pass EXPIRES to bob 1', 'one');
select is(t.take_mail(), 'bob: Rota credential pass ends before 1 step', 'it is sent');
select is(t.take_mail(), null, 'and under way then');
select t.older(9300), t.settle() \g /dev/null
select is(t.credential_mails(), 'pass EXPIRES to bob 1, pass HELD to bob 1', 'when it is dead, one about the steps that are held');
select matches((select body from api.mail_take(9, 60) where recipient = 'bob'), 'rota cred add pass --kind=file', 'which says what to do');
select api.mail_report(array_agg(mail_id), array_agg('no mail today'::text)) from rota.credential_mail where recipient = 'bob' and event = 'HELD' \g /dev/null
select is((select message || ' ' || (due_at is not null) from rota.credential_mail where recipient = 'bob' and event = 'HELD'), 'no mail today true', 'it is tried again');
select t.have('bob', 'pass', jsonb_build_object('expires', t.in_s(10))), t.older(20), t.settle() \g /dev/null
select matches(t.credential_mails(), 'EXPIRES to bob 1, pass HELD to bob 1, pass HELD to bob 1$', 'a new upload is a new cause');
select t.have('bob', 'own'), t.needs('bob', 'own'), t.cred('bob', '{"action": "remove", "name": "own"}'), t.settle() \g /dev/null
select unalike(t.credential_mails(), '%own%', 'there is none about what its owner has removed');
select t.cred('bob', '{"action": "remove", "name": "pass"}'), t.settle() \g /dev/null

-- A node without a key: the attempt is closed, and its step waits. rota-credd may have a new key only after a while.
select t.submit('alice', '[{"name": "a", "credentials": "archive"}]', '[]', '{"credentials": true}') as j \gset
select t.begin(:'j' || '.a', '{4}') \g /dev/null
select t.settle() \g /dev/null
select is(t.state(:'j' || '.a'), 'starting', 'it waits');
update rota.credential_use set ordered_at = ordered_at - interval '1 minute' where job_id = :j;
select t.settle() \g /dev/null
select is(t.held(:'j' || '.a'), 'system: credential archive: rota-credd has no key of node n4', 'then it is held');
select is((select message from acct.attempt where job_id = :j), 'credential archive: rota-credd has no key of node n4', 'and says why');
select is(api.job_release(t.uid('alice'), 'alice', jsonb_build_object('jobs', array[:j::text])) #>> '{steps,0,changed}', 'true', 'its owner may try again');
select is((select string_agg(node, ' ' order by node) from rota.credential_node), 'n1 n2 n3', 'whose keys there are');
select api.credential_nodes('{n4}') \g /dev/null
select is((select string_agg(node, ' ' order by node) from rota.credential_node), 'n4', 'and no others');

-- The forecast: steps that end after the last renewal of a credential they need.
create function t.forecast(p_user text, p_request jsonb default '{}') returns text language sql as $$
	select string_agg(x ->> 'step' || ' ' || (x ->> 'name'), ', ' order by (x ->> 'job_id')::bigint) from jsonb_array_elements(t.cred(p_user, '{"action": "forecast"}' || p_request) -> 'forecast') x $$;
select t.have('carol', 'short', jsonb_build_object('expires', t.in_s(300))), t.have('carol', 'long', jsonb_build_object('expires', t.in_s(300), 'renewable', true, 'renew_until', t.in_s(9000))) \g /dev/null
select t.needs('carol', 'short') as k, t.needs('carol', 'long') as l \gset
insert into rota.plan (job_id, step_id, expected_at, reason, message) select j, 0, now(), 'resources', 'x' from unnest(array[:k, :l]::bigint[]) j;
select is(t.forecast('carol'), :'k' || '.a short', 'a step of ten minutes outlives five, but not what can be renewed');
update rota.plan set expected_at = now() + interval '3 hours' where job_id = :l;
select is(t.forecast('carol'), :'k' || '.a short, ' || :'l' || '.a long', 'unless it starts too late');
select is(t.forecast('bob'), null, 'bob sees his own');
select is(t.refused('bob', '{"action": "forecast", "all": true}'), 'RT403 only operators see the credentials of others', 'and no others');
select matches(t.forecast('root', '{"all": true}'), 'a short', 'operators see all');

-- Steps wait if rota-credd cannot open their credential, until it is added again.
select t.needs('alice', 'archive') as j \gset
select api.credential_broken(credential_id, version - 1, 'an old one') from rota.credential where name = 'archive' and removed_at is null \g /dev/null
select t.settle() \g /dev/null
select is(t.held(:'j' || '.a'), '', 'that of an older version is nothing');
select api.credential_broken(credential_id, version, 'no key 3') from rota.credential where name = 'archive' and removed_at is null \g /dev/null
select t.settle() \g /dev/null
select is(t.held(:'j' || '.a'), 'system: credential archive: rota-credd cannot open it (no key 3); add it again', 'its steps wait, and say why');
select t.have('alice', 'archive') \g /dev/null
select t.settle() \g /dev/null
select is(t.held(:'j' || '.a'), '', 'a new upload releases them');

-- Keys: credentials are sealed anew with the next key; a change meanwhile is not lost.
select is(api.credential_admin(0, 'root', '{"action": "rotate"}') ->> 'key', '2', 'the next key');
select is((select key_wanted from api.credential_judge()), 2, 'rota-credd receives that');
select throws_ok($$ select api.credential_admin(t.uid('alice'), 'alice', '{"action": "rotate"}') $$, 'RT403', null, 'users do not change keys');
select throws_ok($$ select api.credential_admin(0, 'root', '{"action": "steal"}') $$, 'RT422', null, 'there is no other action');
select is((select count(*) from api.credential_reseal_take(2, 100)), 5::bigint, 'all are to be sealed anew');
select is((select api.credential_resealed(array_agg(credential_id), array_agg(case name when 'idle' then 99 else version end), 2, array_agg(t.nonce()), array_agg('\x4b32'::bytea))
	from api.credential_reseal_take(2, 100)), 4, 'but what has changed is not overwritten');
select is((select string_agg(name, ' ') from api.credential_reseal_take(2, 100)), 'idle', 'it is next');

-- The database was restored from a backup that lacks a removal: rota-credd, which knows of it, has it made again.
create function t.removals(p_all boolean) returns text language sql as $$
	select string_agg(concat_ws(' ', r.name, r.version, r.removed_s is not null), ', ' order by r.name) from api.credential_removals(p_all) r where r.name in ('brief', 'lasting') $$;
create function t.again(p_origin text, p_version int) returns boolean language sql as $$ select api.credential_remove_again(t.uid('carol'), 'brief', p_origin, p_version, 1000) $$;
select t.have('carol', 'brief') \g /dev/null
select t.have('carol', 'brief') \g /dev/null
select t.have('carol', 'lasting') \g /dev/null
select api.credential_nodes('{n1}') \g /dev/null
select t.needs('carol', 'brief') as j \gset
select t.begin(:'j' || '.a') \g /dev/null
select t.seal() \g /dev/null
select is(t.removals(false), null, 'none of them was removed');
select is(t.removals(true), 'brief 2 f, lasting 1 f', 'both are there');
select origin from rota.credential where name = 'brief' and removed_at is null \gset
select is(t.again(md5('other'), 2), false, 'another one of that name is not removed');
update rota.credential set origin = null where name = 'brief' and removed_at is null;
select is(t.again('', 1), false, 'nor one of another version, where there is no origin');
update rota.credential set origin = :'origin' where name = 'brief' and removed_at is null;
select is((select count(*) from internal.lacks_removals()), 0::bigint, 'nothing to report');
select is(t.again(:'origin', 2), true, 'the one that is known is');
select is(t.again(:'origin', 2), false, 'once');
select is(t.fetch(1, t.known(:'j' || '.a', 1, 'brief', 2)), format('%s.0.1 brief 0', :j), 'the node destroys what it has of it');
select is(t.removals(false), 'brief 2 t', 'it is removed, as by its owner');
select matches((select item || ' ' || value from internal.lacks_removals()), '^credential brief of carol had been removed 1970-01-01 .*; removed again ', 'the report names it');
select is((select count(*) from internal.db_restored(1000, false) where item = 'credential brief of carol'), 1::bigint, 'that of a restored database');
-- A restored database warns of each rota-credd that is not connected, since it may know of a removal that the database lacks.
insert into rota.daemon (role, name, pid, version, backend_pid, seen_at)
select 'rota-credd', n, 1, '1', 0, now() - a from (values ('here', interval '5 s'), ('gone', '3 days')) x (n, a);
update rota.incarnation set began_at = now() - interval '1 h';
select is((select string_agg(item || ' ' || state, ', ') from internal.db_restored(1000, false) where item like 'rota-credd %'), 'rota-credd gone warning, rota-credd here ok', 'a restored database names the rota-credd that are not connected');
select internal.daemon_tidy() \g /dev/null
select is((select count(*) from rota.daemon where name = 'gone'), 1::bigint, 'also when it is older than a day');
update rota.incarnation set began_at = now() - interval '25 h';
select internal.daemon_tidy() \g /dev/null
select is((select string_agg(name, ' ') from rota.daemon where role = 'rota-credd'), 'here', 'a day after it was restored, it forgets those that have not come');
select t.have('carol', 'brief') \g /dev/null
select is((select count(*) from rota.credential where name = 'brief' and origin = :'origin' and removed_at is null), 0::bigint, 'a new one has another origin');
select throws_ok($$ update rota.credential set removed_before = now() where name = 'lasting' $$, '23514', null, 'only what is removed was removed before');

-- Limits.
update rota.setting set value = '3' where name = 'credential_max';
select matches(t.refused('alice', '{"action": "add", "name": "one-more", "kind": "file", "box": "QUFB"}'), 'RT409 you have 3 credentials already', 'not more than the limit');
select isnt(t.add('alice', 'archive'), null, 'but a new version of one');
select * from finish();
rollback;
