-- Ranges of the tables of jobs, and partitions of one day.
--
-- All rows of a job are in one range, so a foreign key within a job connects two partitions (rota.range_keys). A foreign key
-- costs 9 us a row. If a statement inserts many rows, a trigger looks up all rows that they refer to at once (rota.guard_rows).

create table rota.live_from (
	job_id bigint not null,
	only_row boolean primary key default true check (only_row),
	recent_id bigint not null default 0,
	constraint live_from_recent_is_not_later check (recent_id <= job_id)
);
comment on table rota.live_from is
	'First job numbers that the views of schema live show. No job with a lower number is live or will become live. '
	'The numbers only grow (internal.live_advance).';
comment on column rota.live_from.job_id is 'First job number of the oldest range with a live job.';
comment on column rota.live_from.only_row is 'Always true: the table has only one row.';
comment on column rota.live_from.recent_id is
	'First job number of the oldest range with a job that is live or was submitted within the last day.';
insert into rota.live_from (job_id) values (0);

create function rota.guard_rows(p_table text) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_base constant text := regexp_replace(p_table, '_[0-9]+$', '');
	v_keys constant text := case v_base
		when 'step_request' then 'job_id, step_id, topo'
		when 'step' then 'job_id, step_id, request_id'
		when 'step_edge' then 'job_id, step_id, topo, peer_job_id, peer_step_id, peer_topo' end;
begin
	-- A statement trigger of a partitioned table does not fire for statements on its partitions, so each partition has its
	-- own trigger.
	if v_base in ('job', 'step', 'step_request', 'event') then
		execute format('create or replace trigger never_deleted before delete or truncate on rota.%I '
			'for each statement execute function rota.never_deleted()', p_table);
	end if;
	if v_base = 'event' then
		execute format('create or replace trigger never_changed before update on rota.%I '
			'for each statement execute function rota.never_deleted()', p_table);
	end if;
	if v_keys is not null then
		execute format('create or replace trigger keys_never_changed before update of %s on rota.%I '
			'for each statement execute function rota.never_deleted()', v_keys, p_table);
	end if;
	if v_base in ('step', 'step_edge') then
		execute format('create or replace trigger references_exist after insert on rota.%I '
			'referencing new table as added for each statement execute function rota.%I()', p_table,
				v_base || '_references');
	end if;
end $$;
comment on function rota.guard_rows(text) is
	'Make the triggers of a table or of one of its partitions. Rows that others refer to are never deleted and keep '
	'their keys, and a new row may refer only to rows that exist.';

create function rota.range_options(p_table text) returns text
language sql immutable set search_path = rota, pg_temp as $$
	-- Half of each page stays free for new versions of rows that change while a step runs. Autovacuum runs after a number of
	-- dead rows that hardly grows with the table, because an index over live rows keeps its largest size. Jobs and arrays
	-- have a lower threshold, since there are fewer of them than steps.
	select format('fillfactor = 50, autovacuum_vacuum_threshold = %s, autovacuum_vacuum_scale_factor = 0.001, '
		'vacuum_index_cleanup = on', x.threshold)
	from (values
		('step', 2000), ('attempt', 2000), ('allocation', 2000), ('sample_total', 2000), ('job', 500), ('step_array', 500),
		('substep_total', 500), ('session', 500)
	) x (name, threshold)
	where x.name = p_table;
$$;
comment on function rota.range_options(text) is
	'Returns the storage parameters for partitions of a table, or null for the defaults of PostgreSQL.';

create function rota.range_parts(p_from bigint, p_to bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_table text;
begin
	-- A table to which others refer comes before them.
	for v_table in
		select c.relname::text
		from pg_partitioned_table p
		join pg_class c on c.oid = p.partrelid and c.relnamespace = 'rota'::regnamespace
		join pg_attribute a on a.attrelid = c.oid and a.attnum = p.partattrs[0] and a.attname = 'job_id'
		order by array_position('{job,step_request,step,step_array,step_edge,attempt,allocation}', c.relname::text) nulls last,
			c.relname
	loop
		if to_regclass(format('rota.%I', v_table || '_' || p_from)) is not null then
			continue;
		end if;
		-- The partition is created first and then attached, because attaching does not block sessions that read or write
		-- the partitioned table.
		execute format('create table rota.%I (like rota.%I including all excluding identity)%s', v_table || '_' || p_from,
			v_table, ' with (' || rota.range_options(v_table) || ')');
		execute format('alter table rota.%I attach partition rota.%I for values from (%s) to (%s)', v_table,
			v_table || '_' || p_from, p_from, p_to);
		perform rota.guard_rows(v_table || '_' || p_from);
	end loop;
end $$;
comment on function rota.range_parts(bigint, bigint) is
	'Make the missing partitions for job ids from p_from (included) to p_to (excluded), without foreign keys between '
	'them.';

create function rota.range_keys(p_from bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_key record;
begin
	for v_key in
		select k.*, format('rota.%I', k.from_table || '_' || p_from) as referring
		from (values
			('step_array', 'job_id, step_id', 'step_request', 'job_id, step_id'),
			('attempt', 'job_id, step_id', 'step', 'job_id, step_id')) k (from_table, columns, to_table, to_columns)
	loop
		if not exists (
			select from pg_constraint c
			where c.contype = 'f' and c.conrelid = v_key.referring::regclass
				and c.confrelid = format('rota.%I', v_key.to_table || '_' || p_from)::regclass
		) then
			execute format('alter table %s add foreign key (%s) references rota.%I (%s)', v_key.referring,
				v_key.columns, v_key.to_table || '_' || p_from, v_key.to_columns);
		end if;
	end loop;
end $$;
comment on function rota.range_keys(bigint) is
	'Make the missing foreign keys within the range of job ids that begins with p_from. References that '
	'rota.step_references and rota.step_edge_references check have no foreign key.';

create function rota.range_make(p_from bigint, p_to bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	perform rota.range_parts(p_from, p_to);
	perform rota.range_keys(p_from);
end $$;
comment on function rota.range_make(bigint, bigint) is
	'Make the range of job ids from p_from (included) to p_to (excluded): missing partitions and missing foreign keys '
	'within the range.';

create function rota.range_complete() returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_range record;
begin
	for v_range in
		select b.bounds[1]::bigint as from_job, b.bounds[2]::bigint as to_job
		from pg_inherits i
		join pg_class c on c.oid = i.inhrelid
		cross join lateral (select regexp_match(pg_get_expr(c.relpartbound, c.oid),
			'FROM \(''?(\d+)''?\) TO \(''?(\d+)''?\)') as bounds) b
		where i.inhparent = 'rota.job'::regclass
	loop
		perform rota.range_parts(v_range.from_job, v_range.to_job);
	end loop;
end $$;
comment on function rota.range_complete() is
	'Make the partitions that new tables lack in the ranges that are there. A migration that makes a table with ranges calls it.';

create function rota.day_range(p_table text, p_day date) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_name text := p_table || '_' || to_char(p_day, 'YYYYMMDD');
begin
	if to_regclass('rota.' || v_name) is not null then
		return;
	end if;
	perform pg_advisory_xact_lock(hashtext('rota day_range'));
	-- Another session may have made the partition while this session waited for the lock. Query the catalog, since
	-- to_regclass may answer from the cache of this session.
	if exists (select from pg_class c where c.relnamespace = 'rota'::regnamespace and c.relname = v_name) then
		return;
	end if;
	-- Create the partition first and then attach it, since attaching does not block other sessions (rota.range_parts).
	execute format('create table rota.%I (like rota.%I including all excluding identity)', v_name, p_table);
	execute format('alter table rota.%I attach partition rota.%I for values from (%L) to (%L)', p_table, v_name,
		to_char(p_day, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(p_day + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
end $$;
comment on function rota.day_range(text, date) is 'Make the partition of a table for one day (UTC) if it is missing.';

do $$
begin
	perform rota.guard_rows(t) from unnest(array['job', 'step_request', 'step', 'step_edge', 'event']) t;
	perform rota.range_make(0, 1000000);
	perform rota.day_range(t, (now() at time zone 'UTC')::date + n)
	from unnest(array['sample', 'rejected_report']) t cross join generate_series(0, 3) n;
end $$;
