-- Preemption and evacuation by checkpoint: a step is saved before it makes room, and goes on from there.
alter table rota.partition
	drop constraint partition_preempt_is_known,
	add constraint partition_preempt_is_known check (preempt in ('off', 'requeue', 'checkpoint', 'cancel')),
	add column preempt_otherwise text not null default 'requeue'
		constraint partition_preempt_otherwise_is_known check (preempt_otherwise in ('spare', 'requeue', 'cancel'));
comment on column rota.partition.preempt is
	'What becomes of a step in the partition that is preempted. off: it is never preempted; requeue: it is queued again, or '
	'cancelled if it must not run again; checkpoint: it is saved first, and goes on from there; cancel: it ends.';
comment on column rota.partition.preempt_otherwise is
	'With checkpoint, what becomes of a step that cannot be saved, or was not in time. spare: it is not preempted; requeue, '
	'cancel: as in preempt.';

alter table rota.qos drop constraint qos_preempt_is_known,
	add constraint qos_preempt_is_known check (preempt in ('off', 'requeue', 'checkpoint', 'cancel'));

alter table rota.preempted drop constraint preempted_mode_check,
	add constraint preempted_mode_is_known check (mode in ('requeue', 'checkpoint', 'cancel', 'spared'));
comment on column rota.preempted.mode is
	'requeue: its step was to run again; checkpoint: it was to be saved first; cancel: its step was to end; '
	'spared: it was to be saved, was not in time, and runs on.';

alter table rota.evacuation_move drop constraint evacuation_move_action_is_known,
	add constraint evacuation_move_action_is_known check (action in ('checkpoint', 'move', 'cancel', 'wait', 'leave'));
comment on column rota.evacuation_move.action is
	'checkpoint: it is saved and queued again; move: it is queued again; cancel: it is cancelled; wait: it runs to its end; '
	'leave: it is not waited for.';
