-- Triggers and their deliveries. Each user sees those of his own triggers.
create view acct.trigger_run with (security_barrier) as
select r.run_id, r.trigger_id, t.user_name, t.event, r.payload, t.action,
	case when t.user_name = current_user then t.target end as target, r.made_at, r.tries, r.began_at, r.ended_at, r.status,
	r.code, r.message,
	case when r.ended_at is null then r.due_at end as due_at
from rota.trigger_run r
join rota.trigger t on t.trigger_id = r.trigger_id
where (select a.reads_all from acct.me a) or t.user_name = current_user;
comment on view acct.trigger_run is 'Deliveries of triggers, one row each: made, still to be made, or given up.';
comment on column acct.trigger_run.run_id is 'Number of the delivery, the same for all tries.';
comment on column acct.trigger_run.trigger_id is 'Number of the trigger.';
comment on column acct.trigger_run.user_name is 'Login name of the trigger''s owner.';
comment on column acct.trigger_run.event is 'Event that fired the trigger.';
comment on column acct.trigger_run.payload is 'The event as JSON, with its job, step or node.';
comment on column acct.trigger_run.action is 'Kind of the delivery: program, webhook or mail.';
comment on column acct.trigger_run.target is
	'Path of the program, URL, or recipient of the mail; null: the trigger is somebody else''s.';
comment on column acct.trigger_run.made_at is 'When the event was recorded.';
comment on column acct.trigger_run.tries is 'How often the delivery was tried.';
comment on column acct.trigger_run.began_at is 'When the last try of the delivery began; null: never.';
comment on column acct.trigger_run.ended_at is 'When the delivery was over; null: not over.';
comment on column acct.trigger_run.status is
	'delivered; failed: given up after the last try; removed: its trigger was removed; null: not over.';
comment on column acct.trigger_run.code is 'HTTP status or exit code of the last try; null: none.';
comment on column acct.trigger_run.message is 'Why the last try failed; null: it did not.';
comment on column acct.trigger_run.due_at is 'When the delivery is tried, or tried again; null: over.';
