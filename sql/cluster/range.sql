create function internal.range_bounds() returns table (from_job bigint, to_job bigint)
language plpgsql stable set search_path = rota, pg_temp as $$
begin
	-- The bound of a partition reads: FOR VALUES FROM ('0') TO ('1000000').
	return query
	select b.bound[1]::bigint, b.bound[2]::bigint
	from pg_inherits i
	join pg_class c on c.oid = i.inhrelid
	cross join lateral (select regexp_match(pg_get_expr(c.relpartbound, c.oid),
		$re$FROM \('([0-9]+)'\) TO \('([0-9]+)'\)$re$) as bound) b
	where i.inhparent = 'rota.job'::regclass;
end $$;
comment on function internal.range_bounds() is
	'The ranges of job ids that are attached, one row each: from_job is the first job in the range, to_job the first one '
	'after it.';

create function internal.day_ranges() returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_tables constant text[] := '{sample,rejected_report}';
	v_today constant date := (now() at time zone 'UTC')::date;
	v_one record;
begin
	perform day_range(t.name, v_today + n) from unnest(v_tables) t (name) cross join generate_series(0, 7) n;
	perform set_config('lock_timeout', '200ms', true);
	for v_one in
		select c.relname
		from unnest(v_tables) t (name)
		join setting s on s.name = t.name || '_days'
		join pg_inherits i on i.inhparent = ('rota.' || t.name)::regclass
		join pg_class c on c.oid = i.inhrelid and c.relname ~ '_[0-9]{8}$'
		where to_date(right(c.relname, 8), 'YYYYMMDD') < v_today - s.value::int
		order by c.relname
	loop
		begin
			execute format('drop table rota.%I', v_one.relname);
		exception when lock_not_available then
			-- Another session reads the table, and further sessions would wait behind this lock. The next call tries
			-- again.
			exit;
		end;
	end loop;
end $$;
comment on function internal.day_ranges() is
	'Make the partitions of samples and rejected reports for the days to come, and drop those older than the settings '
	'sample_days and rejected_report_days.';

create function api.range_ensure() returns int
language plpgsql security definer set search_path = rota, pg_temp as $$
declare
	v_size constant bigint := internal.setting_int('range_size');
	-- Number of ids for which ranges are to exist: a tenth of a range, or 100000 for a busy minute if that is more, but no
	-- more than ten ranges for that.
	v_ahead constant bigint := greatest(v_size / 10, least(100000, 10 * v_size));
	v_last bigint;
	v_end bigint;
	v_made int := 0;
begin
	-- One session at a time makes ranges. The sequence tells the highest id given out, also by transactions that were rolled
	-- back.
	perform pg_advisory_xact_lock(hashtext('rota range_ensure'));
	select case when s.is_called then s.last_value else s.last_value - 1 end into v_last from job_job_id_seq s;
	loop
		select max(r.to_job) into v_end from internal.range_bounds() r;
		exit when v_end > v_last + v_ahead;
		perform range_make(v_end, v_end + v_size);
		v_made := v_made + 1;
	end loop;
	perform internal.day_ranges();
	perform internal.daemon_tidy();
	perform internal.trigger_tidy();
	perform internal.power_tidy();
	perform internal.reboot_tidy();
	perform internal.check_tidy();
	perform internal.live_advance();
	perform internal.recent_advance();
	return v_made;
end $$;
comment on function api.range_ensure() is
	'Make partitions of the tables of jobs so that a tenth of a range of job ids is always left, 100000 ids at least (ten '
	'ranges, if these are less), and day partitions of samples and rejected reports; drop day partitions that are too old; '
	'delete rows of daemons that are gone; remove ended jobs from schema live. Returns how many ranges were made.';
