-- Triggers and their deliveries: for each user those of his own triggers.
create view acct.trigger_run with (security_barrier) as
select r.run_id, r.trigger_id, t.user_name, t.event, r.payload, t.action,
	case when t.user_name = current_user then t.target end as target, r.made_at, r.tries, r.began_at, r.ended_at, r.status,
	r.code, r.message,
	case when r.ended_at is null then r.due_at end as due_at
from rota.trigger_run r
join rota.trigger t on t.trigger_id = r.trigger_id
where (select a.reads_all from acct.me a) or t.user_name = current_user;
comment on view acct.trigger_run is 'Deliveries of triggers, one row each: made, still to be made, or given up.';
comment on column acct.trigger_run.run_id is 'Number of the delivery, the same at each try.';
comment on column acct.trigger_run.trigger_id is 'Number of the trigger.';
comment on column acct.trigger_run.user_name is 'Login name of the trigger''s owner.';
comment on column acct.trigger_run.event is 'Event that fired the trigger.';
comment on column acct.trigger_run.payload is 'The event, with job, step or node.';
comment on column acct.trigger_run.action is 'What is done: program, webhook or mail.';
comment on column acct.trigger_run.target is 'Path of the program, URL, or recipient of the mail; null: somebody else''s.';
comment on column acct.trigger_run.made_at is 'When the event was recorded.';
comment on column acct.trigger_run.tries is 'How often it was tried.';
comment on column acct.trigger_run.began_at is 'When the last try began; null: none has.';
comment on column acct.trigger_run.ended_at is 'When it was over; null: it is not.';
comment on column acct.trigger_run.status is 'delivered; failed: given up; removed: with its trigger; null: it is not over.';
comment on column acct.trigger_run.code is 'HTTP status or exit code of the last try; null: none came.';
comment on column acct.trigger_run.message is 'Why the last try failed; null: it did not.';
comment on column acct.trigger_run.due_at is 'When it is tried, or tried again; null: it is over.';
