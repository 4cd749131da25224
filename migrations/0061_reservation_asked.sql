-- Steps that ask to run in a reservation of nodes. Being on its list is no longer enough to use its nodes: a step asks for it.

alter table rota.step_request add column reservation text;
comment on column rota.step_request.reservation is 'Reservation of nodes that it asks to run in; null: none. It runs on no other nodes, and starts only while that lasts.';
comment on table rota.reservation is 'Times in which nodes are kept free, for maintenance or for those on its list: no other step starts there whose time limit reaches into one.';
comment on column rota.reservation.users is 'Login names whose steps run there if they ask for it (--reservation).';
comment on column rota.reservation.accounts is 'Accounts whose steps run there if they ask for it (--reservation).';
comment on column rota.plan.reason is 'Why it waits: resources, priority, partition, license, node, peer, deadline, limit, array_limit, maintenance, reservation.';
