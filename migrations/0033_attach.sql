-- A range is made while others read and write: partitions are made first and attached then, for which no reader or writer of their tables waits. To make
-- one in its place would lock its table against all of them; whoever asked for the tables in another order would then wait in a ring with it,
-- and behind an analyst's long question everything would stand still.
create or replace function rota.range_parts(p_from bigint, p_to bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_table text;
	v_options text;
begin
	foreach v_table in array array['job', 'step_request', 'step', 'step_array', 'step_edge', 'attempt', 'allocation', 'task_end', 'hook_run',
		'controller_hook', 'sample_total', 'event']
	loop
		-- Rows that change while a step runs leave room on their pages for their next versions.
		v_options := case when v_table in ('step', 'step_array', 'attempt', 'allocation', 'job', 'sample_total')
			then ' with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)' else '' end;
		if to_regclass(format('rota.%I', v_table || '_' || p_from)) is not null then
			continue;
		end if;
		execute format('create table rota.%I (like rota.%I including all excluding identity)%s', v_table || '_' || p_from, v_table, v_options);
		execute format('alter table rota.%I attach partition rota.%I for values from (%s) to (%s)', v_table, v_table || '_' || p_from, p_from, p_to);
		perform rota.forever(v_table || '_' || p_from);
	end loop;
end $$;
