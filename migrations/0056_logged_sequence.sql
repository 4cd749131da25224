-- The sequence of an unlogged table is unlogged, too, unless it is set otherwise. PostgreSQL 15 cannot read an unlogged
-- sequence on a standby that was promoted ("bad magic number"). Each report of a node reads the sequence of
-- rota.report_deferred.
alter sequence rota.report_deferred_deferred_id_seq set logged;
