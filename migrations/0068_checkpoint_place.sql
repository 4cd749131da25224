-- Where steps go on from their checkpoints, and room that is made by moving steps.
insert into rota.setting (name, value, kind, help) values
	('checkpoint_avoid_s', '300', 'int',
		'seconds for which a step does not start again on a node that could not read its checkpoint');

comment on column rota.checkpoint_start.unmet is
	'What the node of the attempt lacked for its checkpoint, or why it could not read it, so the program did not start; '
	'null: nothing.';

alter table rota.preempt_claim add column moving jsonb not null default '[]';
comment on column rota.preempt_claim.moving is
	'Steps [{job, step, attempt}] that are moved to make room for the step; it ends if one of them is not saved. '
	'Empty: steps were preempted.';
