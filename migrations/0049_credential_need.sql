-- Indexes of credentials by what is due: the judgement, the renewal, the warning of the owner. And the table of mails
-- about credentials.
alter table rota.credential drop column warned_at;
alter table rota.credential rename column again_at to renew_at;
alter table rota.credential add column uploaded int not null default 0 check (uploaded >= 0);
alter table rota.credential add column warn_at timestamptz;
alter table rota.credential add column taken_until timestamptz;
comment on column rota.credential.renew_at is
	'When it is renewed next, if a step outlives it then; null: it is not renewed by itself.';
comment on column rota.credential.uploaded is 'Version that its owner has uploaded last.';
comment on column rota.credential.warn_at is
	'From when on people are to get mail if their steps outlive what can be renewed of it; null: they got it, or never.';
comment on column rota.credential.taken_until is 'Until when a rota-credd works on it; null: none does.';
comment on column rota.credential.judged is
	'Steps that need it may start, as of the last look, and none is held that may; or they may not, and are held. '
	'null: it has changed since.';

-- How long before a credential expires internal.credential_early() has it renewed.
update rota.credential c
set judged = null, uploaded = c.version,
	renew_at = case when c.renewable and c.removed_at is null then greatest(c.renew_at,
		c.expires_at - greatest(interval '10 seconds', least((c.expires_at - c.changed_at) / 6, interval '10 minutes'))) end,
	warn_at = case when c.removed_at is null and (not c.renewable or c.renew_until is not null) then c.expires_at end;

-- A renewable token that was stored without a line of its own gets one at its next renewal, and can be delivered only
-- then.
update rota.credential c set wanted_at = now(), renew_at = now()
where c.removed_at is null and c.renewable and c.facts ? 'refresh_url';

drop index rota.credential_expires;
create index credential_unjudged on rota.credential (credential_id) where judged is null;
create index credential_dying on rota.credential (expires_at) where judged and expires_at is not null;
create index credential_renew on rota.credential (renew_at) where renew_at is not null;
create index credential_warn on rota.credential (warn_at) where warn_at is not null;

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

insert into rota.setting (name, value, kind, help) values
	('credential_warn_hours', '24', 'int',
		'hours before the end of a credential when users whose steps outlive it get mail; 0: no such mail');
