-- Steps that nodes hold before the step that they wait for has ended.

create table rota.step_ahead (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	node_id int not null references rota.node on delete cascade,
	after_step int not null,
	after_attempt int not null,
	hold_s int not null constraint step_ahead_hold_is_valid check (hold_s between 1 and 86400),
	depth int not null constraint step_ahead_depth_is_valid check (depth between 1 and 8),
	primary key (job_id, step_id),
	constraint step_ahead_has_one_predecessor unique (job_id, after_step)
);
comment on table rota.step_ahead is
	'Steps whose launch requests were sent to the node of the step that they wait for, which has not ended. A row is deleted '
	'when that step has ended well, and when the step is given back or ends.';
comment on column rota.step_ahead.job_id is 'Job of both steps.';
comment on column rota.step_ahead.step_id is 'Step that was sent ahead.';
comment on column rota.step_ahead.attempt is 'Attempt of the step that was sent ahead.';
comment on column rota.step_ahead.node_id is 'Node that holds the step.';
comment on column rota.step_ahead.after_step is 'Step that it waits for, whose CPUs it takes over: its predecessor.';
comment on column rota.step_ahead.after_attempt is 'Attempt of the predecessor.';
comment on column rota.step_ahead.hold_s is 'Seconds for which the node may hold the step: until then the predecessor has ended.';
comment on column rota.step_ahead.depth is 'How many steps of the job go before it on the node, the one that runs included.';
