-- Pools of burst_buffer.lua.
create view acct.pool with (security_barrier) as
select p.name as pool, p.quantity, p.granularity, p.total, p.used, greatest(p.free, 0) as free, p.changed_at
from internal.pool_space p;
comment on view acct.pool is 'Pools of space that burst_buffer.lua names, as they are now.';
comment on column acct.pool.pool is 'Name of the pool, as directives name it after pool=.';
comment on column acct.pool.quantity is 'Pieces of space that the pool has; 0: burst_buffer.lua no longer names the pool.';
comment on column acct.pool.granularity is 'Bytes of a piece.';
comment on column acct.pool.total is 'Total size of the pool in bytes.';
comment on column acct.pool.used is 'Bytes that jobs use, from their setup to the end of their teardown.';
comment on column acct.pool.free is 'Bytes of the pool that no job uses.';
comment on column acct.pool.changed_at is 'When quantity or granularity last changed.';
