-- Why steps waited, over time: rota.plan says it of now, and what it said before is kept.
alter table rota.plan add column since timestamptz not null default now();
comment on column rota.plan.since is 'Since when the step has waited for this reason and blocker.';

create table rota.wait_reason (
	job_id bigint not null,
	step_id int not null,
	from_at timestamptz not null,
	until_at timestamptz not null,
	reason text not null,
	blocker text,
	primary key (job_id, step_id, from_at),
	constraint wait_reason_takes_time check (until_at > from_at)
) partition by range (job_id);
create index wait_reason_by_time on rota.wait_reason using brin (until_at);
comment on table rota.wait_reason is
	'Why steps waited for resources, and for how long: what rota.plan said of them for a second or longer and no longer says.';
comment on column rota.wait_reason.job_id is 'Job of the step that waited.';
comment on column rota.wait_reason.step_id is 'Step that waited; of an array, the array for the elements that had not started.';
comment on column rota.wait_reason.from_at is 'From when the step waited for this reason.';
comment on column rota.wait_reason.until_at is 'Until when the step waited for this reason.';
comment on column rota.wait_reason.reason is 'Reason of the wait, as in rota.plan.reason.';
comment on column rota.wait_reason.blocker is 'Label of another step that the step waited for; null: none known.';

create or replace function rota.range_parts(p_from bigint, p_to bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_table text;
begin
	foreach v_table in array array['job', 'step_request', 'step', 'step_array', 'step_edge', 'attempt', 'allocation',
		'task_end',
		'hook_run', 'controller_hook', 'mail', 'sample_total', 'wait_reason', 'event']
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

-- Make the partitions of the new tables for the ranges of jobs that exist.
do $$
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
