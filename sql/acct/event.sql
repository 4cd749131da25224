create view internal.acct_event as
select e.event_id, e.at, e.job_id, e.step_id, r.name as step, s.array_index, j.user_name, j.account, r.partition, e.attempt,
	e.from_state, e.event, e.to_state, e.actor, e.cause, e.detail
from rota.event e
join rota.step s on s.job_id = e.job_id and s.step_id = e.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = e.job_id;
select internal.owner_view('event');
comment on view acct.event is 'Events: all transitions of all steps, one row each, in order of event_id. Rows are never changed.';
comment on column acct.event.event_id is 'Number of the event; later transitions of a job have higher numbers.';
comment on column acct.event.at is 'When the event was recorded.';
comment on column acct.event.job_id is 'Number of the job.';
comment on column acct.event.step_id is 'Number of the step in its job.';
comment on column acct.event.step is 'Name of the step in the script.';
comment on column acct.event.array_index is 'Index of an array element; null: not an element.';
comment on column acct.event.user_name is 'Login name of the job''s owner.';
comment on column acct.event.account is 'Account that pays; null: none.';
comment on column acct.event.partition is 'Partition of the step.';
comment on column acct.event.attempt is 'Number of the step''s attempt at the time of the event; 0: the step had never started.';
comment on column acct.event.from_state is 'State of the step before the event.';
comment on column acct.event.event is 'Kind of event.';
comment on column acct.event.to_state is 'State of the step after the event.';
comment on column acct.event.actor is 'Who caused the event: a user''s name, schedule, node, runner or nodemgr.';
comment on column acct.event.cause is 'Cause of the transition, as in acct.step.cause.';
comment on column acct.event.detail is 'Details of the event, in words.';
