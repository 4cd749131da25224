create view acct.attempt with (security_barrier) as
select t.job_id, t.step_id, t.attempt, r.name as step, s.array_index, j.user_name, j.account, r.partition,
	coalesce(t.state, 'live') as state,
	array_to_string(t.nodes, ',') as nodes, t.time_limit_s, t.ordered_at, t.started_at, t.done_at, t.ended_at, t.suspended_s,
	extract(epoch from coalesce(t.done_at, t.ended_at, now()) - t.started_at)::double precision as elapsed_s,
	t.exit_code, t.signal, t.cause, t.message
from rota.attempt t
join rota.step s on s.job_id = t.job_id and s.step_id = t.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = t.job_id
where (select m.reads_all from acct.me m) or j.user_name = current_user
	or j.account = any ((select m.accounts from acct.me m)::text[]);
comment on view acct.attempt is 'Runs of steps, one row each: a step that was requeued or retried has several.';
comment on column acct.attempt.job_id is 'Number of the job.';
comment on column acct.attempt.step_id is 'Number of the step in its job.';
comment on column acct.attempt.attempt is 'Number of the run, from 1.';
comment on column acct.attempt.step is 'Name of the step in the script.';
comment on column acct.attempt.array_index is 'Index of an array element; null: not an element.';
comment on column acct.attempt.user_name is 'Login name of the job''s owner.';
comment on column acct.attempt.account is 'Account that pays; null: none.';
comment on column acct.attempt.partition is 'Partition of the step.';
comment on column acct.attempt.state is 'How it ended, or live.';
comment on column acct.attempt.nodes is 'Its nodes, comma separated, the one that runs the script first.';
comment on column acct.attempt.time_limit_s is 'Time limit in seconds; 0: none.';
comment on column acct.attempt.ordered_at is 'When the scheduler placed it.';
comment on column acct.attempt.started_at is 'When its first task started; null: none did.';
comment on column acct.attempt.done_at is 'When its last task ended.';
comment on column acct.attempt.ended_at is 'When all of its nodes had finished with it, epilogs included; null: live.';
comment on column acct.attempt.suspended_s is 'Seconds that it was suspended.';
comment on column acct.attempt.elapsed_s is 'Seconds from its start to the end of its last task, suspensions included.';
comment on column acct.attempt.exit_code is 'Highest exit code of its tasks, 0 to 255.';
comment on column acct.attempt.signal is 'Signal that ended a task of it; null: none.';
comment on column acct.attempt.cause is 'What ended it; see acct.step.cause.';
comment on column acct.attempt.message is 'Why the attempt ended as it did, in words.';
