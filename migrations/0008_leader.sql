-- Who leads is a session and a lease: how long its client may be silent before another one may lead.
alter table rota.leader add column backend_pid int;
alter table rota.leader add column backend_start timestamptz;
alter table rota.leader add column lease interval not null default '3 s';
comment on column rota.leader.backend_pid is 'The leader''s session: with backend_start, the same one for all time.';
comment on column rota.leader.backend_start is 'When that session began.';
comment on column rota.leader.lease is 'How long the leader may be silent: longer, and another jobmgrd may claim the next term.';
