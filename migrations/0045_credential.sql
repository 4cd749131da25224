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
	again_at timestamptz,
	failures int not null default 0,
	failure text,
	broken text,
	warned_at timestamptz,
	removed_at timestamptz,
	unique (key_version, nonce),
	constraint credential_sealed check (
		(sealed is not null) = (nonce is not null)
		and (sealed is not null) = (key_version is not null)
		and (sealed is not null) = (version > 0 and removed_at is null))
);
create unique index credential_name on rota.credential (uid, name) where removed_at is null;
create index credential_expires on rota.credential (expires_at) where removed_at is null and expires_at is not null;
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
comment on column rota.credential.judged is
	'Steps that need it may start, as of the last look, and none is held that may; or they may not, and are held. '
	'null: nobody has looked yet.';
comment on column rota.credential.subject is 'Whom it stands for: principal, subject or fingerprint; null: it does not say.';
comment on column rota.credential.expires_at is 'When it expires; null: never, as far as is known.';
comment on column rota.credential.renewable is 'rota-credd can renew it.';
comment on column rota.credential.renew_until is 'Until when it can be renewed; null: as long as it is renewable.';
comment on column rota.credential.made_at is 'When it was first added.';
comment on column rota.credential.changed_at is 'When its present version was stored.';
comment on column rota.credential.renewed_at is 'When it was renewed the latest time; null: never.';
comment on column rota.credential.renewals is 'How often it was renewed.';
comment on column rota.credential.wanted_at is 'When its owner asked for a renewal the latest time; null: never.';
comment on column rota.credential.again_at is
	'Not before when it is renewed again after a failure, or while a renewal is under way; null: no such time.';
comment on column rota.credential.failures is 'Renewals that have failed since the latest success or upload.';
comment on column rota.credential.failure is 'Why the latest renewal failed; null: it did not.';
comment on column rota.credential.broken is 'Why rota-credd cannot open what is sealed; null: it can, as far as is known.';
comment on column rota.credential.warned_at is
	'When its owner was warned that it will not outlive his jobs; null: he was not, or a new version came.';
comment on column rota.credential.removed_at is 'When it was removed, and what was sealed deleted; null: it was not.';

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

create table rota.step_credential (
	job_id bigint not null,
	step_id int not null,
	uid int not null,
	name text not null,
	kind text not null,
	primary key (job_id, step_id, name)
) partition by range (job_id);
create index step_credential_name on rota.step_credential (uid, name);
comment on table rota.step_credential is 'Which credentials of their owner steps ask for.';
comment on column rota.step_credential.job_id is 'Number of the job.';
comment on column rota.step_credential.step_id is 'Number of the step as it was requested; of an array, that of the array.';
comment on column rota.step_credential.uid is 'User id of the owner.';
comment on column rota.step_credential.name is 'Name of the credential.';
comment on column rota.step_credential.kind is 'Kind that it had at the submission, and has to have at the start.';

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
comment on column rota.credential_use.name is 'Name of the credential.';
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
select rota.range_complete();

alter table rota.job add column credentials boolean not null default false;
comment on column rota.job.credentials is 'Steps of the job need credentials of its owner.';
create table rota.credential_node (
	node text primary key
);
comment on table rota.credential_node is 'Nodes whose keys rota-credd has, as it says: to others it seals nothing.';
comment on column rota.credential_node.node is 'Name of the node.';

alter table rota.hook_pending drop constraint hook_pending_hook_check;
alter table rota.hook_pending add constraint hook_pending_hook_check
	check (hook in ('controller_prolog', 'controller_epilog', 'pre_run', 'credential'));
comment on column rota.hook_pending.hook is
	'What is to run: controller_prolog, controller_epilog, pre_run of burst_buffer.lua; credential: the boxes are to be sealed.';

insert into rota.setting (name, value, kind, help) values
	('credential_max', '32', 'int', 'credentials that one user may have'),
	('credential_key', '1', 'int', 'number of the key with which rota-credd seals; "rota admin cred rotate" raises it');
