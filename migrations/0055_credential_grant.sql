-- Grants, by which users other than the owner may use a credential, and defaults of --cred.
alter table rota.credential add column origin text check (origin ~ '^[0-9a-f]{32}$');
comment on column rota.credential.origin is
	'What rota-credd drew when it stored the first upload; each version is sealed with it, and grants are signed with it. '
	'null: it was stored before there were grants.';

create table rota.credential_grant (
	grant_id bigint generated always as identity primary key,
	credential_id bigint not null references rota.credential,
	uid int not null,
	user_name text not null,
	until_at timestamptz,
	signature bytea not null check (length(signature) = 64),
	granted_at timestamptz not null default now(),
	revoked_at timestamptz
);
create unique index credential_grant_live on rota.credential_grant (credential_id, uid) where revoked_at is null;
create index credential_grant_user on rota.credential_grant (uid) where revoked_at is null;
create index credential_grant_ends on rota.credential_grant (until_at) where revoked_at is null and until_at is not null;
comment on table rota.credential_grant is
	'Who besides its owner may use a credential. A new credential of the same name has none of the grants.';
comment on column rota.credential_grant.grant_id is 'Number of the grant.';
comment on column rota.credential_grant.credential_id is 'Number of the credential.';
comment on column rota.credential_grant.uid is 'User id of the one who may use it.';
comment on column rota.credential_grant.user_name is 'Login name of the one who may use it.';
comment on column rota.credential_grant.until_at is 'Until when; null: until it is revoked.';
comment on column rota.credential_grant.signature is
	'Signature of jobmgrd over instance, owner, name and origin of the credential, grantee and end, '
	'without which rota-credd seals nothing.';
comment on column rota.credential_grant.granted_at is 'When it was granted.';
comment on column rota.credential_grant.revoked_at is 'When it was revoked, or had ended; null: it stands.';

alter table rota.step_credential add column owner text;
alter table rota.step_credential add column grantee int;
alter table rota.step_credential add constraint step_credential_granted check ((owner is null) = (grantee is null));
alter table rota.step_credential drop constraint step_credential_pkey;
alter table rota.step_credential add primary key (job_id, step_id, name, uid);
comment on table rota.step_credential is 'Which credentials steps ask for.';
comment on column rota.step_credential.uid is 'User id of the owner of the credential.';
comment on column rota.step_credential.owner is
	'Login name of that owner, where the job is somebody else''s; null: the job''s own.';
comment on column rota.step_credential.grantee is
	'User id of the owner of the job, where the credential is somebody else''s; null: its own.';
comment on column rota.credential_use.name is
	'Name that it has on the node: that of the credential, with @OWNER where it is somebody else''s.';

create table rota.credential_default (
	uid int primary key,
	user_name text not null,
	names text not null check (names = '' or names ~ '^[a-z][a-z0-9_-]{0,30}(,[a-z][a-z0-9_-]{0,30}){0,15}$')
);
comment on table rota.credential_default is 'Which credentials steps of a user get that do not say --cred.';
comment on column rota.credential_default.uid is 'User id.';
comment on column rota.credential_default.user_name is 'Login name.';
comment on column rota.credential_default.names is 'Names with commas between; empty: none, whatever the partition says.';

alter table rota.partition add column credentials text
	constraint partition_credentials check (credentials ~ '^[a-z][a-z0-9_-]{0,30}(,[a-z][a-z0-9_-]{0,30}){0,15}$');
comment on column rota.partition.credentials is
	'Names of credentials that steps get that do not say --cred, and whose owners have no default of their own; null: none.';

create index credential_upload_sender on rota.credential_upload (uid, made_at);
insert into rota.setting (name, value, kind, help) values
	('credential_uploads', '600', 'int',
		'uploads of credentials that one user may make within an hour, those of --cred=NAME:forward included'),
	('credential_grants', '100', 'int', 'users to whom one credential may be granted');
select rota.range_complete();

create table rota.credential_test (
	test_id bigint generated always as identity primary key,
	credential_id bigint not null references rota.credential,
	version int not null,
	made_at timestamptz not null default now(),
	taken_until timestamptz,
	done_at timestamptz,
	failure text,
	facts jsonb,
	constraint credential_test_done check (done_at is not null or (failure is null and facts is null))
);
create index credential_test_open on rota.credential_test (test_id) where done_at is null;
create index credential_test_of on rota.credential_test (credential_id);
comment on table rota.credential_test is 'Tests of credentials that their owners want, and for an hour what came of them.';
comment on column rota.credential_test.test_id is 'Number of the test.';
comment on column rota.credential_test.credential_id is 'Number of the credential.';
comment on column rota.credential_test.version is 'Version that is tested.';
comment on column rota.credential_test.made_at is 'When it was asked for.';
comment on column rota.credential_test.taken_until is 'Until when a rota-credd works on it; null: none does.';
comment on column rota.credential_test.done_at is 'When it was over; null: it is not.';
comment on column rota.credential_test.failure is 'Why the credential is of no use; null: it is of use, or the test is not over.';
comment on column rota.credential_test.facts is
	'What the test found: {subject, expires, renewable, renew_until, asked}; null: nothing.';
