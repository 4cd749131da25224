create function api.range_ensure() returns int
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_size bigint := api.setting_int('range_size');
	v_last bigint;
	v_end bigint;
	v_made int := 0;
begin
	-- One maker at a time; the sequence tells how far ids have come, whatever was rolled back.
	perform pg_advisory_xact_lock(hashtext('rota range_ensure'));
	select case when s.is_called then s.last_value else s.last_value - 1 end into v_last from job_job_id_seq s;
	loop
		-- The bound of a partition reads: FOR VALUES FROM ('0') TO ('1000000').
		select max((regexp_match(pg_get_expr(c.relpartbound, c.oid), $re$TO \('([0-9]+)'\)$re$))[1]::bigint)
		into v_end
		from pg_inherits i
		join pg_class c on c.oid = i.inhrelid
		where i.inhparent = 'rota.job'::regclass;
		exit when v_end > v_last + v_size;
		perform range_make(v_end, v_end + v_size);
		v_made := v_made + 1;
	end loop;
	perform api.sample_ranges();
	return v_made;
end $$;
comment on function api.range_ensure() is 'Make partitions of the big tables so that there is always one range of job ids ahead, and those of samples for the days to come; drop samples that are too old; answers how many ranges were made.';
