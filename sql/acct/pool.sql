-- Pools of burst_buffer.lua.
create view acct.pool with (security_barrier) as
select p.name as pool, p.quantity, p.granularity, p.total, p.used, greatest(p.free, 0) as free, p.changed_at
from internal.pool_space p;
comment on view acct.pool is 'Pools of space that burst_buffer.lua names, as they are now.';
comment on column acct.pool.pool is 'Name of the pool, which directives have after pool=.';
comment on column acct.pool.quantity is 'Pieces of space that the pool has; 0: the script does not name it any more.';
comment on column acct.pool.granularity is 'Bytes of a piece.';
comment on column acct.pool.total is 'Bytes that the pool has in all.';
comment on column acct.pool.used is 'Bytes that jobs have taken, from their setup to the end of their teardown.';
comment on column acct.pool.free is 'Bytes that are free.';
comment on column acct.pool.changed_at is 'When quantity or granularity last changed.';
