-- What checkpoints of each driver contain, as a table of data.
--
-- Called by: internal.checkpoint_now (sql/checkpoint/verb.sql) and internal.checkpoint_memory (sql/checkpoint/place.sql).
-- Invariants:
-- - The drivers are those of procmgr/checkpoint/driver.c. The row of script:NAME is script.

create view internal.checkpoint_driver as
select * from (values
	('app', 'program', false),
	('script', 'program', false),
	('dmtcp', 'processes', true),
	('criu', 'processes', true)) d (prefix, consistency, has_memory);
comment on view internal.checkpoint_driver is
	'Drivers that take checkpoints, one row each. consistency: why the files of one checkpoint are one state: program: the '
	'program of the step or of the driver says so; processes: all processes of the step were stopped at one moment. '
	'has_memory: the files are the memory of the processes, which is restored as a whole.';
