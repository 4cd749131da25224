-- Attempts that were preempted.
create view internal.acct_preempted as
select e.job_id, e.step_id, e.attempt, r.name as step, s.array_index, j.user_name, j.account, j.qos, r.partition, e.by_job_id,
	e.by_step_id, e.mode, e.at, e.lost_s as lost_cpu_s, t.ended_at,
	case when e.mode <> 'suspend' then extract(epoch from t.ended_at - e.at) end::double precision as freed_in_s,
	e.times, e.resumed_at
from rota.preempted e
join rota.step s on s.job_id = e.job_id and s.step_id = e.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = e.job_id
join rota.attempt t on t.job_id = e.job_id and t.step_id = e.step_id and t.attempt = e.attempt;
select internal.owner_view('preempted');
comment on view acct.preempted is 'Preempted attempts of steps, one row each, with the step for which they were preempted.';
comment on column acct.preempted.job_id is 'Number of the job.';
comment on column acct.preempted.step_id is 'Number of the step in its job.';
comment on column acct.preempted.attempt is 'Number of the preempted attempt.';
comment on column acct.preempted.step is 'Name of the step in the script.';
comment on column acct.preempted.array_index is 'Index of an array element; null: not an element.';
comment on column acct.preempted.user_name is 'Login name of the job''s owner.';
comment on column acct.preempted.account is 'Account that pays; null: none.';
comment on column acct.preempted.qos is 'Quality of service of the job.';
comment on column acct.preempted.partition is 'Partition of the step.';
comment on column acct.preempted.by_job_id is 'Job for which the run was preempted.';
comment on column acct.preempted.by_step_id is 'Step for which the run was preempted; of an array, its head.';
comment on column acct.preempted.mode is 
	'requeue: its step was to run again; checkpoint: it was to be saved first; suspend: it was suspended; '
	'cancel: its step was to end; spared: it was to be saved, was not in time, and runs on.';
comment on column acct.preempted.at is 'When the preemption was decided.';
comment on column acct.preempted.lost_cpu_s is 'CPU seconds of work that the preemption lost.';
comment on column acct.preempted.ended_at is 'When the attempt had ended on all of its nodes; null: it is live.';
comment on column acct.preempted.freed_in_s is 'Seconds from the decision to ended_at; null: the attempt was suspended.';
comment on column acct.preempted.times is
	'How often the attempt was preempted: more than once only by suspension. The row describes the latest preemption.';
comment on column acct.preempted.resumed_at is
	'When the attempt resumed after its suspension; null: not suspended, or not resumed.';
