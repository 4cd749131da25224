-- Credentials that were removed after the backup was made from which the database came back.

alter table rota.credential add column removed_before timestamptz;
alter table rota.credential add constraint credential_removed_again check (removed_before is null or removed_at is not null);
create index credential_removed on rota.credential (removed_at) where removed_at is not null;
comment on column rota.credential.removed_before is
	'When it had been removed already, which this database had lost and rota-credd had kept; '
	'removed_at is then when it was removed again. null: it was not.';
