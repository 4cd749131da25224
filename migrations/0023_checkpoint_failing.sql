-- Checkpoints of steps on nodes that are expected to fail.

alter table rota.checkpoint drop constraint checkpoint_reason_is_known;
alter table rota.checkpoint add constraint checkpoint_reason_is_known
	check (reason in ('user', 'operator', 'program', 'exit', 'interval', 'time_limit', 'preempt', 'evacuate',
		'maintenance', 'move', 'failing'));
comment on column rota.checkpoint.reason is
	'Why it is taken. user, operator: asked for; program: the program took it by itself; exit: it ended with exit code 85; '
	'interval; time_limit: the time limit comes near; preempt, evacuate, maintenance, move: its nodes are needed; '
	'failing: a node of it is expected to fail.';
