-- What a node needs to restart a checkpoint, and with which driver attempts start.
alter table rota.checkpoint add column needs jsonb;
comment on column rota.checkpoint.needs is
	'What a node must have that restarts it: cpu (instruction sets, each of them), and others, which must be equal, '
	'as kernel and dmtcp; null: nothing.';

alter table rota.checkpoint_start add column driver text, add column why text, add column unmet text;
comment on column rota.checkpoint_start.driver is 'Driver with which the program of the attempt was started; null: not yet.';
comment on column rota.checkpoint_start.why is 'Why --checkpoint=auto chose it; null: the step names its driver.';
comment on column rota.checkpoint_start.unmet is
	'What the node of the attempt lacked for its checkpoint, so the program did not start; null: nothing.';
