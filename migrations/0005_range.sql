-- Ranges of the tables that are partitioned by job id.

create function rota.range_make(p_from bigint, p_to bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_table text;
	v_options text;
begin
	foreach v_table in array array['job', 'step_request', 'step', 'step_array', 'step_edge', 'attempt', 'allocation', 'task_end', 'hook_run', 'event'] loop
		-- Rows that change while a step runs leave room on their pages for their next versions.
		v_options := case when v_table in ('step', 'step_array', 'attempt', 'allocation', 'job')
			then ' with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)' else '' end;
		execute format('create table if not exists rota.%I partition of rota.%I for values from (%s) to (%s)%s',
			v_table || '_' || p_from, v_table, p_from, p_to, v_options);
	end loop;
end $$;
comment on function rota.range_make(bigint, bigint) is 'Make the partitions for job ids from p_from (included) to p_to (excluded), where they are missing.';

select rota.range_make(0, 1000000);
select rota.range_make(1000000, 2000000);
