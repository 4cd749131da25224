-- An index over what lives keeps the most that it ever had. With 20,000 dead rows between vacuums, and 2,000 more for each million of the table, that was
-- reached after half an hour only. They come four times as often now, and of a table that grows hardly more seldom; the share that is left
-- bounds what they cost of a table in all, as each reads all of its indexes once.

create or replace function rota.range_options(p_table text) returns text
language sql immutable set search_path = rota, pg_temp as $$
	-- Rows that change while a step runs leave room on their pages for their next versions. There are fewer jobs and arrays than steps.
	select format('fillfactor = 50, autovacuum_vacuum_threshold = %s, autovacuum_vacuum_scale_factor = 0.0005, vacuum_index_cleanup = on', x.threshold)
	from (values ('step', 5000), ('attempt', 5000), ('allocation', 5000), ('sample_total', 5000), ('job', 2000), ('step_array', 2000)) x (name, threshold)
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
