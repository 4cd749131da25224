-- The queue of each partition is read from its head, and what is known of a step is kept by whoever reads it, for as long as the step's
-- row is the same: so the row says in which partition it waits, and whether it is an array's head.
alter table rota.step add column queue text not null default '';
alter table rota.step add column is_array boolean not null default false;
update rota.step s
set queue = r.partition,
	is_array = exists (select from rota.step_array a where a.job_id = s.job_id and a.step_id = s.step_id)
from rota.step_request r
where s.ended_at is null and r.job_id = s.job_id and r.step_id = s.request_id;
comment on column rota.step.queue is 'The partition in whose queue it is, as its request says; empty: it had ended before that was kept here.';
comment on column rota.step.is_array is 'Whether it is the head of an array.';

drop index rota.step_eligible;
create index step_eligible on rota.step (queue, rank desc, job_id, step_id)
	where state = 'pending' and deps_waiting = 0 and held = '';
