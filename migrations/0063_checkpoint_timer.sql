-- Checkpoints at intervals that the job manager works out (--checkpoint-interval=auto).
insert into rota.setting (name, value, kind, help) values
	('checkpoint_interval_s', '1800', 'int',
		'seconds between checkpoints with --checkpoint-interval=auto, as long as none of the step has been measured'),
	('checkpoint_mtbf_days', '365', 'int',
		'mean time between failures of a node, in days, for --checkpoint-interval=auto, if no node has failed in the last '
		'90 days');

create table rota.checkpoint_timer (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	interval_s double precision not null constraint checkpoint_timer_is_positive check (interval_s > 0),
	cost_s double precision,
	costs int not null,
	mtbf_s double precision not null,
	failures int not null,
	nodes int not null,
	next_at timestamptz not null,
	primary key (job_id, step_id)
);
create index checkpoint_timer_next on rota.checkpoint_timer (next_at);
comment on table rota.checkpoint_timer is
	'When the next checkpoint of a step with --checkpoint-interval=auto is asked for, and how its interval was worked out. '
	'The end of the attempt deletes the row. A row that is left over is deleted when its time comes.';
comment on column rota.checkpoint_timer.job_id is 'Job of the step.';
comment on column rota.checkpoint_timer.step_id is 'Step.';
comment on column rota.checkpoint_timer.attempt is 'Attempt that is checkpointed.';
comment on column rota.checkpoint_timer.interval_s is 'Seconds between checkpoints: sqrt(2 * cost_s * mtbf_s), by J. W. Young.';
comment on column rota.checkpoint_timer.cost_s is 'Mean seconds that its latest checkpoints took; null: none has been measured.';
comment on column rota.checkpoint_timer.costs is 'Number of these checkpoints.';
comment on column rota.checkpoint_timer.mtbf_s is 'Mean seconds between failures of its nodes.';
comment on column rota.checkpoint_timer.failures is
	'Failures of nodes in the last 90 days; 0: mtbf_s is assumed (setting checkpoint_mtbf_days).';
comment on column rota.checkpoint_timer.nodes is 'Number of its nodes.';
comment on column rota.checkpoint_timer.next_at is 'When the next checkpoint is asked for.';

create index node_event_failure on rota.node_event (at) where from_state = 'up' and to_state = 'down';
