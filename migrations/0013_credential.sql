-- Credentials of users: held sealed by rota-credd, renewed while jobs need them, sealed again for the nodes of attempts.

create table rota.credential (
	credential_id bigint generated always as identity primary key,
	uid int not null,
	user_name text not null,
	name text not null check (name ~ '^[a-z][a-z0-9_-]{0,30}$'),
	kind text not null check (kind in ('krb5', 'token', 'ssh-key', 'x509', 'file', 'command')),
	version int not null default 0 check (version >= 0),
	key_version int,
	nonce bytea check (length(nonce) = 12),
	sealed bytea,
	facts jsonb not null default '{}',
	subject text,
	expires_at timestamptz,
	judged boolean,
	renewable boolean not null default false,
	renew_until timestamptz,
	made_at timestamptz not null default now(),
	changed_at timestamptz,
	renewed_at timestamptz,
	renewals int not null default 0,
	wanted_at timestamptz,
	renew_at timestamptz,
	failures int not null default 0,
	failure text,
	broken text,
	removed_at timestamptz,
	uploaded int not null default 0 check (uploaded >= 0),
	warn_at timestamptz,
	taken_until timestamptz,
	origin text check (origin ~ '^[0-9a-f]{32}$'),
	changes int not null default 0,
	unique (key_version, nonce),
	constraint credential_sealed check (
		(sealed is not null) = (nonce is not null)
		and (sealed is not null) = (key_version is not null)
		and (sealed is not null) = (version > 0 and removed_at is null))
);
create unique index credential_name on rota.credential (uid, name) where removed_at is null;
create index credential_unjudged on rota.credential (credential_id) where judged is null;
create index credential_dying on rota.credential (expires_at) where judged and expires_at is not null;
create index credential_renew on rota.credential (renew_at) where renew_at is not null;
create index credential_warn on rota.credential (warn_at) where warn_at is not null;
comment on table rota.credential is 'Credentials of users. Only rota-credd can open what is sealed here.';
comment on column rota.credential.credential_id is 'Number of the credential.';
comment on column rota.credential.uid is 'User id of the owner.';
comment on column rota.credential.user_name is 'Login name of the owner.';
comment on column rota.credential.name is 'Name that the owner gave it, which scripts say: --cred=NAME.';
comment on column rota.credential.kind is
	'krb5 (ticket cache), token, ssh-key, x509 (proxy), file, or command (a program of the site makes it).';
comment on column rota.credential.version is 'Counts uploads and renewals; 0: the first upload has not been opened yet.';
comment on column rota.credential.key_version is 'Which key of rota-credd seals it; null: there is nothing to seal.';
comment on column rota.credential.nonce is 'Nonce of the sealing, which is never used again with the same key.';
comment on column rota.credential.sealed is
	'The secret under AES-256-GCM, bound to owner, name, kind and version; null: none, or removed.';
comment on column rota.credential.facts is 'What the owner said of it, and is no secret: {refresh_url, command}.';
comment on column rota.credential.subject is 'Whom it stands for: principal, subject or fingerprint; null: it does not say.';
comment on column rota.credential.expires_at is 'When it expires; null: never, as far as is known.';
comment on column rota.credential.judged is
	'Steps that need it may start, as of the last look, and none is held that may; or they may not, and are held. '
	'null: it has changed since.';
comment on column rota.credential.renewable is 'rota-credd can renew it.';
comment on column rota.credential.renew_until is 'Until when it can be renewed; null: as long as it is renewable.';
comment on column rota.credential.made_at is 'When it was first added.';
comment on column rota.credential.changed_at is 'When its present version was stored.';
comment on column rota.credential.renewed_at is 'When it was renewed the latest time; null: never.';
comment on column rota.credential.renewals is 'How often it was renewed.';
comment on column rota.credential.wanted_at is 'When its owner asked for a renewal the latest time; null: never.';
comment on column rota.credential.renew_at is
	'When it is renewed next, if a step outlives it then; null: it is not renewed by itself.';
comment on column rota.credential.failures is 'Renewals that have failed since the latest success or upload.';
comment on column rota.credential.failure is 'Why the latest renewal failed; null: it did not.';
comment on column rota.credential.broken is 'Why rota-credd cannot open what is sealed; null: it can, as far as is known.';
comment on column rota.credential.removed_at is 'When it was removed, and what was sealed deleted; null: it was not.';
comment on column rota.credential.uploaded is 'Version that its owner has uploaded last.';
comment on column rota.credential.warn_at is
	'From when on people are to get mail if their steps outlive what can be renewed of it; null: they got it, or never.';
comment on column rota.credential.taken_until is 'Until when a rota-credd works on it; null: none does.';
comment on column rota.credential.origin is
	'What rota-credd drew when it stored the first upload; each version is sealed with it, and grants are signed with it. '
	'null: it was stored before there were grants.';
comment on column rota.credential.changes is
	'How often something changed for steps that need it: whoever makes "judged" null raises it, '
	'so a judgement that was overtaken does not count.';

create table rota.credential_upload (
	upload_id bigint generated always as identity primary key,
	uid int not null,
	user_name text not null,
	name text not null,
	kind text not null,
	box bytea,
	facts jsonb not null default '{}',
	made_at timestamptz not null default now(),
	done_at timestamptz,
	error text,
	constraint credential_upload_open check ((done_at is null) = (box is not null))
);
create index credential_upload_open on rota.credential_upload (upload_id) where done_at is null;
create index credential_upload_done on rota.credential_upload (done_at) where done_at is not null;
create index credential_upload_sender on rota.credential_upload (uid, made_at);
comment on table rota.credential_upload is
	'What users have uploaded and rota-credd has not stored yet, and for an hour what became of it.';
comment on column rota.credential_upload.upload_id is 'Number of the upload.';
comment on column rota.credential_upload.uid is 'User id of the sender.';
comment on column rota.credential_upload.user_name is 'Login name of the sender.';
comment on column rota.credential_upload.name is 'Name of the credential.';
comment on column rota.credential_upload.kind is 'Kind of the credential.';
comment on column rota.credential_upload.box is 'The secret, which the sender has sealed for rota-credd; null: it is done.';
comment on column rota.credential_upload.facts is 'What the sender says of it: {refresh_url, command, expires}.';
comment on column rota.credential_upload.made_at is 'When it was sent.';
comment on column rota.credential_upload.done_at is 'When it was stored or refused; null: it waits.';
comment on column rota.credential_upload.error is 'Why it was refused; null: it was not.';

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

create table rota.credential_default (
	uid int primary key,
	user_name text not null,
	names text not null check (names = '' or names ~ '^[a-z][a-z0-9_-]{0,30}(,[a-z][a-z0-9_-]{0,30}){0,15}$')
);
comment on table rota.credential_default is 'Which credentials steps of a user get that do not say --cred.';
comment on column rota.credential_default.uid is 'User id.';
comment on column rota.credential_default.user_name is 'Login name.';
comment on column rota.credential_default.names is 'Names with commas between; empty: none, whatever the partition says.';

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

create table rota.credential_mail (
	mail_id bigint primary key default nextval('rota.mail_mail_id_seq'),
	credential_id bigint not null references rota.credential,
	uploaded int not null,
	recipient text not null,
	event text not null check (event in ('EXPIRES', 'HELD')),
	steps int not null check (steps > 0),
	lives_until timestamptz,
	reason text,
	made_at timestamptz not null default clock_timestamp(),
	due_at timestamptz default clock_timestamp(),
	tries int not null default 0 check (tries >= 0),
	sent_at timestamptz,
	message text,
	unique (credential_id, uploaded, recipient, event),
	constraint credential_mail_is_sent_or_due check (sent_at is null or due_at is null)
);
create index credential_mail_due on rota.credential_mail (due_at) where due_at is not null;
comment on table rota.credential_mail is
	'Mail about credentials: one for each upload, recipient and event. The transaction of the event makes the row, '
	'and runnerd sends the mail.';
comment on column rota.credential_mail.mail_id is 'Number of the mail, in the order of making; no mail about a job has the same.';
comment on column rota.credential_mail.credential_id is 'Number of the credential.';
comment on column rota.credential_mail.uploaded is 'Version that its owner had uploaded last.';
comment on column rota.credential_mail.recipient is 'Login name of the user who gets the mail.';
comment on column rota.credential_mail.event is
	'EXPIRES: steps outlive what can be renewed of it; HELD: steps wait for a new upload.';
comment on column rota.credential_mail.steps is 'How many steps of the recipient that were.';
comment on column rota.credential_mail.lives_until is
	'Until when the credential can be renewed, or when it expires; null: nobody knows.';
comment on column rota.credential_mail.reason is 'Why steps are held, or the latest renewal failed; null: no such reason.';
comment on column rota.credential_mail.made_at is 'When the event was noted.';
comment on column rota.credential_mail.due_at is
	'From when on the mail may be sent, or sent again; null: it was sent or given up.';
comment on column rota.credential_mail.tries is 'How often a runnerd has begun to send the mail.';
comment on column rota.credential_mail.sent_at is 'When the mail program accepted the mail; null: not sent.';
comment on column rota.credential_mail.message is
	'Why the latest try to send the mail failed, or why it was given up; null: no failure.';

create table rota.step_credential (
	job_id bigint not null,
	step_id int not null,
	uid int not null,
	name text not null,
	kind text not null,
	owner text,
	grantee int,
	primary key (job_id, step_id, name, uid),
	constraint step_credential_granted check ((owner is null) = (grantee is null))
) partition by range (job_id);
create index step_credential_name on rota.step_credential (uid, name);
comment on table rota.step_credential is 'Which credentials steps ask for.';
comment on column rota.step_credential.job_id is 'Number of the job.';
comment on column rota.step_credential.step_id is 'Number of the step as it was requested; of an array, that of the array.';
comment on column rota.step_credential.uid is 'User id of the owner of the credential.';
comment on column rota.step_credential.name is 'Name of the credential.';
comment on column rota.step_credential.kind is 'Kind that it had at the submission, and has to have at the start.';
comment on column rota.step_credential.owner is
	'Login name of that owner, where the job is somebody else''s; null: the job''s own.';
comment on column rota.step_credential.grantee is
	'User id of the owner of the job, where the credential is somebody else''s; null: its own.';

create table rota.credential_use (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	node_id int not null,
	name text not null,
	kind text not null,
	credential_id bigint not null,
	wanted int not null,
	boxed int not null default 0,
	box bytea,
	ordered_at timestamptz not null default now(),
	fetched int not null default 0,
	fetched_at timestamptz,
	removed_at timestamptz,
	gone_at timestamptz,
	failure text,
	box_number bigint not null default 0,
	primary key (job_id, step_id, attempt, node_id, name),
	constraint credential_use_box check (fetched <= boxed and boxed <= wanted and (box is null or boxed > 0))
) partition by range (job_id);
create index credential_use_open on rota.credential_use (credential_id) where gone_at is null;
create index credential_use_due on rota.credential_use (job_id) where gone_at is null and removed_at is null and boxed < wanted;
create index credential_use_of on rota.credential_use (credential_id, ordered_at);
comment on table rota.credential_use is
	'Which attempt has got which credential on which node, as boxes that only the node can open.';
comment on column rota.credential_use.job_id is 'Number of the job.';
comment on column rota.credential_use.step_id is 'Number of the step.';
comment on column rota.credential_use.attempt is 'Attempt of the step.';
comment on column rota.credential_use.node_id is 'Number of the node.';
comment on column rota.credential_use.name is
	'Name that it has on the node: that of the credential, with @OWNER where it is somebody else''s.';
comment on column rota.credential_use.kind is 'Kind of the credential.';
comment on column rota.credential_use.credential_id is 'Number of the credential.';
comment on column rota.credential_use.wanted is 'Version that the node is to have.';
comment on column rota.credential_use.boxed is 'Version of the box; 0: it is not sealed for the node yet.';
comment on column rota.credential_use.box is
	'The secret, sealed by rota-credd for the key of the node; null: not yet, or not any more.';
comment on column rota.credential_use.ordered_at is 'When the attempt was ordered.';
comment on column rota.credential_use.fetched is 'Latest version that the node has fetched; 0: none.';
comment on column rota.credential_use.fetched_at is 'When the node fetched its first version; null: it has not.';
comment on column rota.credential_use.removed_at is
	'When the owner removed the credential while the attempt had it; null: he did not.';
comment on column rota.credential_use.gone_at is
	'When the attempt had left the node; null: it has not, or that was not noted yet.';
comment on column rota.credential_use.failure is
	'Why rota-credd could not seal the version that is wanted; null: it has not failed. '
	'Nothing is sealed before the next version.';
comment on column rota.credential_use.box_number is
	'Number of the box, which is higher than that of each earlier box of the attempt, '
	'also if the database was restored in between; 0: it has none.';

create table rota.credential_node (
	node text primary key
);
comment on table rota.credential_node is 'Nodes whose keys rota-credd has, as it says: to others it seals nothing.';
comment on column rota.credential_node.node is 'Name of the node.';
