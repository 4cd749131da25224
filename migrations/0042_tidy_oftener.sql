-- Autovacuum looks around once in its nap. 5,000 rows that died came, by chance, in one nap, or two, or three, and an index over what lives keeps
-- the most that it ever had: in the course of an hour, what died in three. With fewer it is nearly always one. The share is twice what it was, so
-- that a table of many millions is read no more often than before.

create or replace function rota.range_options(p_table text) returns text
language sql immutable set search_path = rota, pg_temp as $$
	-- Rows that change while a step runs leave room on their pages for their next versions. There are fewer jobs and arrays than steps.
	select format('fillfactor = 50, autovacuum_vacuum_threshold = %s, autovacuum_vacuum_scale_factor = 0.001, vacuum_index_cleanup = on', x.threshold)
	from (values ('step', 2000), ('attempt', 2000), ('allocation', 2000), ('sample_total', 2000), ('job', 500), ('step_array', 500)) x (name, threshold)
	where x.name = p_table;
$$;

do $$
declare
	v_one record;
begin
	for v_one in
		select c.oid::regclass as part, rota.range_options(p.relname) as options
		from pg_inherits i
		join pg_class c on c.oid = i.inhrelid
		join pg_class p on p.oid = i.inhparent and p.relnamespace = 'rota'::regnamespace
		where rota.range_options(p.relname) is not null
	loop
		execute format('alter table %s set (%s)', v_one.part, v_one.options);
	end loop;
end $$;
