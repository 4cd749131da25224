-- Suspended steps that give back their GPUs.

alter table rota.allocation add column without_gpus tstzmultirange;
comment on column rota.allocation.without_gpus is
	'Times at which the allocation held no GPUs, because its step was suspended and its programs had left them. Without an upper '
	'bound: since then, until the allocation ends. Null: never.';
