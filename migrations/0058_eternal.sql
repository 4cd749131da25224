-- Eternal steps: they run when nothing else wants their nodes, and are queued again for ever.
alter table rota.step_request add column eternal boolean not null default false;
create index step_request_eternal on rota.step_request (job_id) where eternal;
comment on column rota.step_request.eternal is
	'Whether the step has no end of its own: it is in the lowest tier, may always be preempted, '
	'and is queued again at its time limit.';
