-- Why rota-credd could not seal a credential for an attempt.
alter table rota.credential_use add column failure text;
comment on column rota.credential_use.failure is
	'Why rota-credd could not seal the version that is wanted; null: it has not failed. Nothing is sealed before the next version.';
