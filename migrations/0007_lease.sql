-- Leases on both sides: what a node's lease is made of, attempts that were given up with their node, flapping nodes.

alter table rota.node_lease add column lease_s int not null default 30 check (lease_s > 0);
alter table rota.node_lease add column margin_s int not null default 60 check (margin_s >= 0);
alter table rota.node_lease add column lost_at timestamptz;
alter table rota.node_lease add column fenced_at timestamptz;
alter table rota.node_lease add column strays int not null default 0 check (strays >= 0);
comment on table rota.node_lease is 'Until when each node counts as alive; renewed by its process manager, which counts its own lease from before it asked, so that ends first.';
comment on column rota.node_lease.lease_s is 'Seconds that a renewal lasts, as the node said when it registered.';
comment on column rota.node_lease.margin_s is 'Seconds after the end of the lease in which the node has ended the tasks of steps with the policy fence, as it said when it registered.';
comment on column rota.node_lease.lost_at is 'Since when it counts as lost; a lost lease is not renewed, only a registration begins another. Null: alive.';
comment on column rota.node_lease.fenced_at is 'When the attempts that the node has ended by itself were ended here; null: not yet, or nothing is lost.';
comment on column rota.node_lease.strays is 'Attempts given up here that the node still had when it registered last; it serves again when there are none.';

alter table rota.attempt add column fence boolean not null default false;
comment on column rota.attempt.fence is 'Whether a node that loses its lease ends it by itself, as its order says; false: it goes on, and is not run again before the node is back or declared dead.';

alter table rota.allocation add column lost_at timestamptz;
comment on column rota.allocation.lost_at is 'When it was given up with its node; what the node says of it later is kept in rota.stray and changes nothing.';

comment on column rota.admin_event.action is 'create, change, delete, drain, resume or dead.';
comment on column rota.stray.what is 'The records, as they were sent.';

insert into rota.setting (name, value, kind, help) values
	('flap_count', '3', 'int', 'times a node may go down within flap_window_s before it is drained when it comes back; 0: any number'),
	('flap_window_s', '3600', 'int', 'seconds for flap_count');
