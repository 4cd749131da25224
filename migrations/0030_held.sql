-- One index of the allocations that are not over, instead of one of those that are open and one of those whose node still has something to do:
-- mostly they are the same, and each of them has an entry for the beginning and one for the end of every allocation.
drop index rota.allocation_held;
drop index rota.allocation_open;
create index allocation_open on rota.allocation (node_id) where ended_at is null or (holder and gone_at is null);
