-- Preemption by suspension: victims are stopped, give back what they do not keep,
-- and go on when the step that preempted them has ended.
alter table rota.partition drop constraint partition_preempt_is_known,
	add constraint partition_preempt_is_known check (preempt in ('off', 'requeue', 'checkpoint', 'suspend', 'cancel'));
comment on column rota.partition.preempt is
	'What becomes of a step in the partition that is preempted. off: it is never preempted; requeue: it is queued again, or '
	'cancelled if it must not run again; checkpoint: it is saved first, and goes on from there; suspend: it is suspended, '
	'and goes on later; cancel: it ends.';
comment on column rota.partition.preempt_otherwise is
	'With checkpoint and suspend, what becomes of a step that cannot be saved or suspended, or was not saved in time. spare: it '
	'is not preempted; requeue, cancel: as in preempt.';

alter table rota.qos drop constraint qos_preempt_is_known,
	add constraint qos_preempt_is_known check (preempt in ('off', 'requeue', 'checkpoint', 'suspend', 'cancel'));

alter table rota.preempted drop constraint preempted_mode_is_known,
	add constraint preempted_mode_is_known check (mode in ('requeue', 'checkpoint', 'suspend', 'cancel', 'spared')),
	add column times int not null default 1,
	add column resumed_at timestamptz;
comment on column rota.preempted.mode is
	'requeue: its step was to run again; checkpoint: it was to be saved first; suspend: it was suspended; cancel: its step was '
	'to end; spared: it was to be saved, was not in time, and runs on.';
comment on column rota.preempted.times is
	'How often it was preempted: more than once only by suspension. The row is about the last time.';
comment on column rota.preempted.resumed_at is 'When it went on after it was suspended; null: it was not, or has not gone on.';

create table rota.preempt_pause (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	by_job_id bigint not null,
	by_step_id int not null,
	made_at timestamptz not null default clock_timestamp(),
	primary key (job_id, step_id)
);
comment on table rota.preempt_pause is
	'Steps that are suspended by preemption, until they go on or end. '
	'A step that its owner suspends as well has no row: the owner resumes it.';
comment on column rota.preempt_pause.job_id is 'Job of the step.';
comment on column rota.preempt_pause.step_id is 'Step.';
comment on column rota.preempt_pause.attempt is 'Attempt that is suspended.';
comment on column rota.preempt_pause.by_job_id is 'Job for which it is suspended.';
comment on column rota.preempt_pause.by_step_id is 'Step for which it is suspended; of an array, its head.';
comment on column rota.preempt_pause.made_at is 'When it was decided.';
