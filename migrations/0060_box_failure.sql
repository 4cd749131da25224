-- Why rota-credd could not seal a credential for an attempt.
alter table rota.credential_use add column failure text;
comment on column rota.credential_use.failure is
	'Why rota-credd could not seal the version that is wanted; null: it has not failed. '
	'Nothing is sealed before the next version.';

alter table rota.credential add column changes int not null default 0;
comment on column rota.credential.changes is
	'How often something changed for steps that need it: whoever makes "judged" null raises it, '
	'so a judgement that was overtaken does not count.';
