-- Accounting with the columns and values of Slurm's sacct, for programs that read these.
create function acct.slurm_duration(p_seconds double precision) returns text
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
	v_s constant bigint := floor(p_seconds);
begin
	return case when v_s >= 86400 then v_s / 86400 || '-'
		else '' end || to_char(make_interval(secs => v_s % 86400), 'HH24:MI:SS');
end $$;
comment on function acct.slurm_duration(double precision) is 'Seconds as [days-]hours:minutes:seconds.';

create view acct.sacct with (security_barrier) as
select s.job_id || case when s.array_index is not null then '_' || s.array_index else '' end as jobid,
	s.job_id * 16777216 + s.step_id as jobidraw, s.job_id || '.' || s.step as rotastep,
	current_database()::text as cluster, s.partition, j.qos, coalesce(s.account, '') as account, p.gid::text as "group",
	p.gid, s.user_name as "user", p.uid,
	t.submit, t.eligible, coalesce(t.start, 'Unknown') as start, coalesce(t."end", 'Unknown') as "end",
	acct.slurm_duration(coalesce(s.elapsed_s, 0)) as elapsed,
	coalesce(s.exit_code, 0) || ':' || coalesce(s.signal, 0) as exitcode,
	case s.state when 'completed' then 'COMPLETED' when 'cancelled' then 'CANCELLED' when 'dependency_failed' then 'CANCELLED'
	when 'preempted' then 'PREEMPTED'
		-- Slurm has no state for skipped steps. A step whose outputs were up to date did start on a node; a step that was
		-- not needed never did.
		when 'skipped' then case s.cause when 'up_to_date' then 'COMPLETED' else 'CANCELLED' end
		when 'deadline' then 'DEADLINE' when 'timeout' then 'TIMEOUT' when 'failed' then 'FAILED'
			when 'out_of_memory' then 'OUT_OF_MEMORY' when 'node_fail' then 'NODE_FAIL'
		when 'pending' then 'PENDING' when 'suspended' then 'SUSPENDED' when 'ending' then 'COMPLETING'
			else 'RUNNING' end as state,
	coalesce(s.node_count, 0) as nnodes, coalesce(s.cpus, 0) as ncpus, s.ntasks * s.cpus_per_task as reqcpus,
		coalesce(s.mem_requested_mb, 0) || 'M' as reqmem,
	acct.slurm_tres(s.ntasks::bigint * s.cpus_per_task, s.mem_requested_mb, s.nodes_min,
		(select jsonb_object_agg(g.key, g.value::bigint * s.nodes_min) from jsonb_each_text(s.gres_requested) g))
		as reqtres,
	case when s.cpus is not null then acct.slurm_tres(s.cpus, s.mem_mb, s.node_count, s.gres) else '' end as alloctres,
	case when coalesce(s.time_limit_s, 0) = 0 then 'UNLIMITED' else acct.slurm_duration(s.time_limit_s) end as timelimit,
	coalesce(s.nodes, 'None assigned') as nodelist,
	j.name as jobname, j.submit_line as submitline
from acct.step s
join acct.job j on j.job_id = s.job_id
join rota.job p on p.job_id = s.job_id
cross join lateral (
	select to_char(s.submit_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') as submit,
		to_char(s.eligible_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') as eligible,
		to_char(s.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') as start,
		to_char(coalesce(case when s.started_at is not null then s.done_at end, s.ended_at) at time zone 'UTC',
			'YYYY-MM-DD"T"HH24:MI:SS') as "end"
) t
where not s.is_array;
comment on view acct.sacct is
	'Steps as sacct -X --parsable2 of Slurm lists jobs, column by column as Open XDMoD asks for them; times in UTC. A row '
	'for each step and each element of an array that was started.';
comment on column acct.sacct.jobid is 'Number of the job; of an array element, followed by _INDEX.';
comment on column acct.sacct.jobidraw is 'Unique number of the row: the job''s number times 16777216, plus the step''s.';
comment on column acct.sacct.rotastep is 'Job and name of the step, as Rota names it.';
comment on column acct.sacct.cluster is 'Name of the database.';
comment on column acct.sacct.partition is 'Partition of the step.';
comment on column acct.sacct.qos is 'Quality of service of the job.';
comment on column acct.sacct.account is 'Account that pays; empty: none.';
comment on column acct.sacct."group" is 'Group id of the job''s owner when submitting.';
comment on column acct.sacct.gid is 'Group id of the job''s owner when submitting.';
comment on column acct.sacct."user" is 'Login name of the job''s owner.';
comment on column acct.sacct.uid is 'User id of the job''s owner.';
comment on column acct.sacct.submit is 'When the job of the step was submitted.';
comment on column acct.sacct.eligible is
	'When the step became eligible: from then on it waited for resources only; null: not yet.';
comment on column acct.sacct.start is 'When the first task of the step started; Unknown: not started.';
comment on column acct.sacct."end" is
	'When the last task of the step ended, or the step ended without any task; epilogs run later. Unknown: not ended.';
comment on column acct.sacct.elapsed is 'Time from start to end: [days-]hours:minutes:seconds.';
comment on column acct.sacct.exitcode is 'Exit code and signal, like 0:15.';
comment on column acct.sacct.state is 'State of the step, as Slurm calls it.';
comment on column acct.sacct.nnodes is 'Number of nodes allocated.';
comment on column acct.sacct.ncpus is 'Number of CPUs allocated.';
comment on column acct.sacct.reqcpus is 'Number of CPUs asked for.';
comment on column acct.sacct.reqmem is 'Memory asked for, over all nodes, in MiB, with an M.';
comment on column acct.sacct.reqtres is 'Resources asked for: cpu=, mem=, node=, and gres/NAME= for each generic resource.';
comment on column acct.sacct.alloctres is 'Resources allocated, in the form of reqtres; empty: none.';
comment on column acct.sacct.timelimit is 'Time limit: [days-]hours:minutes:seconds, or UNLIMITED.';
comment on column acct.sacct.nodelist is 'Names of the nodes, separated by commas.';
comment on column acct.sacct.jobname is 'Name of the job.';
comment on column acct.sacct.submitline is
	'Command line of the submission; null: none was reported, or you are neither its owner nor an administrator.';
