-- What the site's script job_submit has set in jobs.
create table rota.job_change (
	job_id bigint not null,
	change int not null,
	at timestamptz not null,
	made_by text not null,
	field text not null,
	before text,
	after text,
	primary key (job_id, change),
	constraint job_change_has_a_number check (change > 0),
	constraint job_change_is_made_by_a_function check (made_by in ('job_submit', 'job_modify')),
	constraint job_change_has_a_field check (field <> '' and length(field) <= 4096),
	constraint job_change_is_short check (length(before) <= 4096 and length(after) <= 4096)
) partition by range (job_id);
comment on table rota.job_change is
	'What the site''s script job_submit has set in jobs, one row for each field that it changed. A job has what the rows say only as far '
	'as nobody has modified it later.';
comment on column rota.job_change.job_id is 'Job that was changed.';
comment on column rota.job_change.change is 'Number of the change in its job, from 1.';
comment on column rota.job_change.at is 'When the change was made: at the submission, or at a modification.';
comment on column rota.job_change.made_by is 'The function that made it: job_submit or job_modify.';
comment on column rota.job_change.field is
	'The field that was set, as the script calls it; environment.NAME: a variable of the environment; admin_comment: a comment of '
	'the site, which is kept only here.';
comment on column rota.job_change.before is 'What the user had asked for, or what the job had, at most 4096 characters; null: nothing, or a variable, whose value may be a '
	'secret.';
comment on column rota.job_change.after is 'What the script has set, at most 4096 characters; null: as if the user had not asked.';

create or replace function rota.range_parts(p_from bigint, p_to bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_table text;
begin
	foreach v_table in array array['job', 'step_request', 'step', 'step_array', 'step_edge', 'attempt', 'allocation',
		'task_end', 'substep', 'substep_total', 'session', 'growth', 'growth_node', 'job_change',
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

-- The ranges that are there already.
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
