create view internal.acct_attempt as
select t.job_id, t.step_id, t.attempt, r.name as step, s.array_index, j.user_name, j.account, j.qos, r.partition,
	coalesce(t.state, 'live') as state,
	array_to_string(t.nodes, ',') as nodes, t.node_count, t.cpus, t.mem_mb, t.gpus, t.gres,
	t.time_limit_s, t.eligible_at, t.ordered_at, t.started_at, t.done_at, t.ended_at,
	t.suspended_s + coalesce(extract(epoch from now() - t.suspended_at)::double precision, 0) as suspended_s,
	extract(epoch from t.started_at - t.eligible_at)::double precision as wait_s,
	extract(epoch from coalesce(t.done_at, t.ended_at, now()) - t.started_at)::double precision as elapsed_s,
	coalesce(t.cpu_held_s, 0)::double precision as cpu_held_s, t.gpu_held_s::double precision as gpu_held_s,
	(t.cpu_usec / 1e6)::double precision as cpu_used_s,
	((t.cpu_usec - t.system_usec) / 1e6)::double precision as user_cpu_s,
	(t.system_usec / 1e6)::double precision as system_cpu_s, t.energy_j::double precision as energy_j,
	t.carbon_g::double precision as carbon_g, t.max_rss_kb, t.peak_mb, t.cgroup_peak_mb,
	t.rchar, t.wchar, t.read_bytes, t.write_bytes, t.exit_code, t.signal, t.cause, t.message,
	t.attempt = s.attempt as is_latest, t.clamped,
	(select e.by_job_id || '.' || q.name from rota.preempted e
		join rota.step y on y.job_id = e.by_job_id and y.step_id = e.by_step_id
		join rota.step_request q on q.job_id = y.job_id and q.step_id = y.request_id
		where e.job_id = t.job_id and e.step_id = t.step_id and e.attempt = t.attempt) as preempted_by
from internal.attempt_figures t
join rota.step s on s.job_id = t.job_id and s.step_id = t.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = t.job_id;
select internal.owner_view('attempt');
comment on view acct.attempt is
	'Runs of steps, one row each: a step that was requeued or retried has several. Each row is about that run alone; those '
	'of a step add up to its row in acct.step. Null: unknown, or none.';
comment on column acct.attempt.job_id is 'Number of the job.';
comment on column acct.attempt.step_id is 'Number of the step in its job.';
comment on column acct.attempt.attempt is 'Number of the attempt, from 1.';
comment on column acct.attempt.step is 'Name of the step in the script.';
comment on column acct.attempt.array_index is 'Index of an array element; null: not an element.';
comment on column acct.attempt.user_name is 'Login name of the job''s owner.';
comment on column acct.attempt.account is 'Account that pays; null: none.';
comment on column acct.attempt.qos is 'Quality of service of the job.';
comment on column acct.attempt.partition is 'Partition of the step.';
comment on column acct.attempt.state is 'How the attempt ended, or live.';
comment on column acct.attempt.nodes is 'Nodes of the attempt, comma separated, the one that runs the script first.';
comment on column acct.attempt.node_count is 'Number of nodes of the attempt.';
comment on column acct.attempt.cpus is 'CPUs allocated, over all nodes.';
comment on column acct.attempt.mem_mb is 'Memory allocated, over all nodes, in MiB.';
comment on column acct.attempt.gpus is 'GPUs allocated, over all nodes; null: none.';
comment on column acct.attempt.gres is 'Units of generic resources allocated, over all nodes: {"gpu": 4}; null: none.';
comment on column acct.attempt.time_limit_s is 'Time limit in seconds; 0: none.';
comment on column acct.attempt.eligible_at is 'When the step became eligible: from then on it waited for resources only.';
comment on column acct.attempt.ordered_at is 'When the scheduler placed the attempt on its nodes.';
comment on column acct.attempt.started_at is 'When the first task of the attempt started; null: no task started.';
comment on column acct.attempt.done_at is 'When the last task of the attempt ended.';
comment on column acct.attempt.ended_at is 'When all nodes of the attempt had finished with it, epilogs included; null: live.';
comment on column acct.attempt.suspended_s is 'Seconds that the attempt was suspended.';
comment on column acct.attempt.wait_s is 'Seconds from eligible_at to the start of the attempt.';
comment on column acct.attempt.elapsed_s is
	'Seconds from the start of the attempt to the end of its last task, or to now; suspensions are included, epilogs are '
	'not.';
comment on column acct.attempt.cpu_held_s is 'CPU seconds that the attempt held: allocated CPUs times the seconds held.';
comment on column acct.attempt.gpu_held_s is 'GPU seconds that the attempt held; null: none.';
comment on column acct.attempt.cpu_used_s is
	'CPU seconds used by all processes of the attempt; each node counts them when the attempt has ended there.';
comment on column acct.attempt.user_cpu_s is 'Part of cpu_used_s that was spent in user mode.';
comment on column acct.attempt.system_cpu_s is 'Part of cpu_used_s that was spent in the kernel.';
comment on column acct.attempt.energy_j is
	'Joules used on the attempt''s nodes: of the energy of each node, the share of its CPUs that the attempt held. Null: '
	'no node measures energy.';
comment on column acct.attempt.carbon_g is
	'Grams of CO2 equivalent emitted for energy_j, by acct.carbon_intensity; null: not known.';
comment on column acct.attempt.max_rss_kb is
	'Highest resident memory of one process of an ended task, pages of files that it maps included, in KiB.';
comment on column acct.attempt.peak_mb is
	'Highest resident memory of one process of an ended task, in KiB, pages of mapped files included.';
comment on column acct.attempt.cgroup_peak_mb is
	'Most memory of the attempt''s cgroup on one node, in MiB, cached pages of files included; null: no cgroup.';
comment on column acct.attempt.rchar is 'Bytes that read calls of the attempt''s tasks returned, from any file, pipe or socket.';
comment on column acct.attempt.wchar is 'Bytes that the attempt''s tasks passed to write calls, to any file, pipe or socket.';
comment on column acct.attempt.read_bytes is 'Bytes read from storage for the attempt''s tasks.';
comment on column acct.attempt.write_bytes is 'Bytes that the attempt''s tasks caused to be written to storage.';
comment on column acct.attempt.exit_code is
	'Highest exit code of the attempt''s tasks, 0 to 255; '
	'null: unknown, or no task has started.';
comment on column acct.attempt.signal is 'Signal that ended a task of the attempt; null: none.';
comment on column acct.attempt.cause is 'What ended the attempt; see acct.step.cause.';
comment on column acct.attempt.message is 'Why the attempt ended as it did, in words.';
comment on column acct.attempt.is_latest is
	'Whether the attempt is the latest one of its step; acct.last_attempt has these rows only.';
comment on column acct.attempt.clamped is
	'Whether a time was moved to the time before it, to keep their order: the clocks of its nodes disagreed. Durations on one '
	'node are exact all the same; elapsed_s and wait_s of such an attempt are not.';
comment on column acct.attempt.preempted_by is
	'Step for which the attempt was preempted, such as 812.solve; null: it was not preempted.';

create view acct.last_attempt with (security_barrier) as
select t.* from acct.attempt t where t.is_latest;
comment on view acct.last_attempt is 'The latest attempt of each step, with the columns of acct.attempt.';
do $$
declare
	v_column record;
begin
	for v_column in
		select a.attname, col_description(a.attrelid, a.attnum) as comment from pg_attribute a
		where a.attrelid = 'acct.attempt'::regclass and a.attnum > 0
	loop
		execute format('comment on column acct.last_attempt.%I is %L', v_column.attname, v_column.comment);
	end loop;
end $$;
