-- Credentials and their uses, without their secrets. Each user sees only his own.
create view acct.credential with (security_barrier) as
select c.credential_id, c.user_name, c.name, c.kind, c.subject, c.version, c.made_at, c.changed_at, c.expires_at, c.renewable,
	c.renew_until, c.renewed_at, c.renewals, c.failure, c.removed_at
from rota.credential c
where (select a.reads_all from acct.me a) or c.user_name = current_user;
comment on view acct.credential is 'Credentials that users have added, one row each. No view has the secret.';
comment on column acct.credential.credential_id is 'Number of the credential.';
comment on column acct.credential.user_name is 'Login name of the owner.';
comment on column acct.credential.name is 'Name that the owner gave it.';
comment on column acct.credential.kind is 'krb5, token, ssh-key, x509, file or command.';
comment on column acct.credential.subject is
	'Principal or name for which the credential stands; null: the credential does not say.';
comment on column acct.credential.version is 'Version of the credential, which grows by 1 with each upload and renewal.';
comment on column acct.credential.made_at is 'When the credential was first added.';
comment on column acct.credential.changed_at is 'When its present version was stored.';
comment on column acct.credential.expires_at is 'When the credential expires; null: never, as far as is known.';
comment on column acct.credential.renewable is 'Whether rota-credd can renew the credential.';
comment on column acct.credential.renew_until is
	'Until when rota-credd can renew the credential; null: as long as the credential is renewable.';
comment on column acct.credential.renewed_at is 'When the credential was renewed the latest time; null: never.';
comment on column acct.credential.renewals is 'How often the credential was renewed.';
comment on column acct.credential.failure is 'Why the latest renewal failed; null: it did not fail.';
comment on column acct.credential.removed_at is 'When the credential was removed; null: not removed.';

create view acct.credential_use with (security_barrier) as
select u.job_id, u.step_id, u.attempt, n.name as node, c.user_name, u.credential_id, u.name, u.kind, u.ordered_at, u.fetched_at,
	u.fetched as version, u.removed_at, u.gone_at
from rota.credential_use u
join rota.credential c on c.credential_id = u.credential_id
join rota.node n on n.node_id = u.node_id
where (select a.reads_all from acct.me a) or c.user_name = current_user;
comment on view acct.credential_use is 'Which attempt got which credential on which node, one row each.';
comment on column acct.credential_use.job_id is 'Number of the job.';
comment on column acct.credential_use.step_id is 'Number of the step.';
comment on column acct.credential_use.attempt is 'Attempt of the step.';
comment on column acct.credential_use.node is 'Name of the node.';
comment on column acct.credential_use.user_name is 'Login name of the owner.';
comment on column acct.credential_use.credential_id is 'Number of the credential.';
comment on column acct.credential_use.name is 'Name of the credential.';
comment on column acct.credential_use.kind is 'Kind of the credential.';
comment on column acct.credential_use.ordered_at is 'When the scheduler placed the attempt.';
comment on column acct.credential_use.fetched_at is 'When the node fetched the credential; null: not yet.';
comment on column acct.credential_use.version is 'Latest version that the node has fetched; 0: none.';
comment on column acct.credential_use.removed_at is
	'When the owner removed the credential while the attempt had it; null: he did not.';
comment on column acct.credential_use.gone_at is
	'When the attempt had left the node; null: not yet, or Rota has not recorded it yet.';
