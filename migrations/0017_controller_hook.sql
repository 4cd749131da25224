-- Controller prolog and epilog: which are to run, and how they ended.

create table rota.hook_due (
	hook_id bigint generated always as identity primary key,
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	hook text not null check (hook in ('controller_prolog', 'controller_epilog')),
	due_at timestamptz not null default clock_timestamp(),
	unique (job_id, step_id, attempt, hook)
);
comment on table rota.hook_due is 'Controller prologs and epilogs that have not ended. As long as an attempt has its prolog here, none of its orders leaves.';
comment on column rota.hook_due.hook_id is 'Order of making; those of one step run one after the other.';
comment on column rota.hook_due.job_id is 'The job.';
comment on column rota.hook_due.step_id is 'The step.';
comment on column rota.hook_due.attempt is 'The attempt.';
comment on column rota.hook_due.hook is 'Which one.';
comment on column rota.hook_due.due_at is 'Since when.';

create table rota.controller_hook (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	hook text not null check (hook in ('controller_prolog', 'controller_epilog')),
	due_at timestamptz not null,
	ended_at timestamptz not null,
	exit_code int,
	signal int,
	usec bigint,
	message text,
	output text,
	primary key (job_id, step_id, attempt, hook)
) partition by range (job_id);
comment on table rota.controller_hook is 'Each controller prolog and epilog that has ended: its last run, where it had to be run again.';
comment on column rota.controller_hook.job_id is 'The job.';
comment on column rota.controller_hook.step_id is 'The step.';
comment on column rota.controller_hook.attempt is 'The attempt.';
comment on column rota.controller_hook.hook is 'Which one.';
comment on column rota.controller_hook.due_at is 'From when on it was to run.';
comment on column rota.controller_hook.ended_at is 'When its end was heard of.';
comment on column rota.controller_hook.exit_code is 'Exit code; null: ended by a signal, or not run.';
comment on column rota.controller_hook.signal is 'Signal that ended it; null: none.';
comment on column rota.controller_hook.usec is 'How long it ran, in microseconds; null: not at all.';
comment on column rota.controller_hook.message is 'How it failed, in words; null: it did not.';
comment on column rota.controller_hook.output is 'End of what it printed.';

create or replace function rota.range_make(p_from bigint, p_to bigint) returns void
language plpgsql set search_path = rota, pg_temp as $$
declare
	v_table text;
	v_options text;
begin
	foreach v_table in array array['job', 'step_request', 'step', 'step_array', 'step_edge', 'attempt', 'allocation', 'task_end', 'hook_run',
		'controller_hook', 'event']
	loop
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
do $$
begin
	-- The bound of a partition reads: FOR VALUES FROM ('0') TO ('1000000').
	perform rota.range_make(x.bound[1]::bigint, x.bound[2]::bigint)
	from pg_inherits i
	join pg_class c on c.oid = i.inhrelid
	cross join lateral (select regexp_match(pg_get_expr(c.relpartbound, c.oid), $re$FROM \('([0-9]+)'\) TO \('([0-9]+)'\)$re$) as bound) x
	where i.inhparent = 'rota.job'::regclass;
end $$;

-- Who runs them leads as the scheduler does. What the scheduling jobmgrd is configured for, transactions read here.
insert into rota.leader (name) values ('hook');
alter table rota.leader add column prolog boolean not null default false;
alter table rota.leader add column epilog boolean not null default false;
comment on table rota.leader is 'Who schedules, and who runs the controller''s hooks. Each transaction of theirs names its term; a former leader''s matches no row.';
comment on column rota.leader.name is 'What is led: schedule (by a jobmgrd), hook (by a runnerd).';
comment on column rota.leader.prolog is 'Of the one that schedules: whether attempts have a controller prolog.';
comment on column rota.leader.epilog is 'The same of the controller epilog.';
