-- What goes on all the time looks at what is live, and does not pay for how much is not.
create table rota.live_from (
	job_id bigint not null,
	only_row boolean primary key default true check (only_row)
);
insert into rota.live_from (job_id) values (0);
comment on table rota.live_from is 'Where the views of schema live begin: nothing of a job before that lives, or will. It only moves on (api.live_advance).';
comment on column rota.live_from.job_id is 'The first job of the oldest range in which anything lives.';
comment on column rota.live_from.only_row is 'There is one row.';

-- The next range is made when a tenth of the last one is left, so a small or new site has one; the one that was made ahead goes, where
-- that is still far away.
do $$
declare
	v_table text;
	v_filled boolean := true;
begin
	if (select s.last_value from rota.job_job_id_seq s) < 900000 and to_regclass('rota.job_1000000') is not null and to_regclass('rota.job_2000000') is null then
		execute 'select exists (select from rota.job_1000000)' into v_filled;
	end if;
	if not v_filled then
		foreach v_table in array array['event', 'sample_total', 'controller_hook', 'hook_run', 'task_end', 'step_edge', 'step_array', 'allocation', 'attempt', 'step',
			'step_request', 'job']
		loop
			execute format('alter table rota.%I detach partition rota.%I', v_table, v_table || '_1000000');
			execute format('drop table rota.%I', v_table || '_1000000');
		end loop;
	end if;
end $$;

-- What refers to its own job refers within its range: such a key holds between the partitions of one range, where looking it up costs
-- the same however many ranges there are. (Rows of one job lie in one range, so this is no less than a key between the tables.)
create function rota.range_keys(p_from bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_key record;
begin
	for v_key in
		select k.*, format('rota.%I', k.from_table || '_' || p_from) as referring
		from (values
			('step_request', 'job_id', 'job', 'job_id'),
			('step', 'job_id, request_id', 'step_request', 'job_id, step_id'),
			('step_array', 'job_id, step_id', 'step_request', 'job_id, step_id'),
			('step_edge', 'job_id, step_id, topo', 'step_request', 'job_id, step_id, topo'),
			('attempt', 'job_id, step_id', 'step', 'job_id, step_id')) k (from_table, columns, to_table, to_columns)
	loop
		if not exists (
			select from pg_constraint c
			where c.contype = 'f' and c.conrelid = v_key.referring::regclass and c.confrelid = format('rota.%I', v_key.to_table || '_' || p_from)::regclass
		) then
			execute format('alter table %s add foreign key (%s) references rota.%I (%s)', v_key.referring, v_key.columns, v_key.to_table || '_' || p_from, v_key.to_columns);
		end if;
	end loop;
end $$;
comment on function rota.range_keys(bigint) is 'Make the foreign keys within the range that begins with a job, where they are missing.';

alter function rota.range_make(bigint, bigint) rename to range_parts;
comment on function rota.range_parts(bigint, bigint) is 'Make the partitions for job ids from p_from (included) to p_to (excluded), where they are missing, without keys between them. Internal.';
create function rota.range_make(p_from bigint, p_to bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
begin
	perform rota.range_parts(p_from, p_to);
	perform rota.range_keys(p_from);
end $$;
comment on function rota.range_make(bigint, bigint) is 'Make the range of job ids from p_from (included) to p_to (excluded): its partitions, and the keys within it, where they are missing.';
do $$
declare
	v_key record;
begin
	for v_key in
		select c.conrelid::regclass as referring, c.conname
		from pg_constraint c
		where c.contype = 'f' and c.conparentid = 0 and c.conname <> 'step_edge_peer_exists'
			and c.conrelid in (select p.partrelid from pg_partitioned_table p) and c.confrelid in (select p.partrelid from pg_partitioned_table p)
	loop
		execute format('alter table %s drop constraint %I', v_key.referring, v_key.conname);
	end loop;
	perform rota.range_keys(substr(c.relname, 5)::bigint)
	from pg_inherits i
	join pg_class c on c.oid = i.inhrelid
	where i.inhparent = 'rota.job'::regclass;
end $$;
