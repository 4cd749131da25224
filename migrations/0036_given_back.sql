-- Nodes that a running attempt has given back.
alter table rota.allocation add column given_back_at timestamptz;
-- The column is empty, so no row needs to be read.
alter table rota.allocation add constraint allocation_first_is_kept check (given_back_at is null or node_index > 0) not valid;
comment on column rota.allocation.given_back_at is
	'When the running step gave this node back (rota shrink); null: it did not. '
	'How the attempt ended on the node then does not decide how the attempt ends.';
