-- One launch order for several elements of an array.
alter table rota.node_order add also int[] not null default '{}';
alter table rota.node_order add check (also = '{}' or kind = 'launch');
comment on column rota.node_order.also is 'Launch: further steps that it is for, elements of the same array with the same number of attempt.';
