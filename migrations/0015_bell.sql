-- One process manager may serve many nodes: it listens on one channel, that of the node which rings for all of them.
alter table rota.node_lease add column bell int;
comment on column rota.node_lease.bell is 'The node whose channel rings for this one: of those that its process manager registered with it, the one with the lowest number. Null: itself.';
