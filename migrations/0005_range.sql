-- Ranges of the tables that are partitioned by job id.

create function rota.forever(p_table text) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	-- Jobs, steps and events are never deleted, so no id comes twice; events are not even changed. Such a trigger does not
	-- pass on to partitions, so each of them gets its own.
	if p_table ~ '^(job|step|event)(_[0-9]+)?$' then
		execute format('create trigger never_deleted before delete or truncate on rota.%I for each statement execute function rota.never_deleted()', p_table);
	end if;
	if p_table ~ '^event(_[0-9]+)?$' then
		execute format('create trigger never_changed before update on rota.%I for each statement execute function rota.never_deleted()', p_table);
	end if;
end $$;
comment on function rota.forever(text) is 'Forbid deleting rows of a table, or of a partition of it, where that table''s rows are kept for ever.';

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
		if to_regclass(format('rota.%I', v_table || '_' || p_from)) is not null then
			continue;
		end if;
		execute format('create table rota.%I partition of rota.%I for values from (%s) to (%s)%s', v_table || '_' || p_from, v_table, p_from, p_to, v_options);
		perform rota.forever(v_table || '_' || p_from);
	end loop;
end $$;
comment on function rota.range_make(bigint, bigint) is 'Make the partitions for job ids from p_from (included) to p_to (excluded), where they are missing.';

do $$
begin
	perform rota.forever(t) from unnest(array['job', 'step', 'event']) t;
	perform rota.range_make(0, 1000000);
	perform rota.range_make(1000000, 2000000);
end $$;
