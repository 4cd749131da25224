create view internal.acct_substep as
select u.job_id, u.step_id, u.attempt, u.substep, r.name as step, s.array_index, j.user_name, j.account, u.name,
	case when j.user_name = current_user then u.command end as command, u.tasks, u.cpus, u.mem_mb, u.gres,
	u.after_text as after, u.priority, u.retry, u.runs,
	case when x.is_cut then 'cancelled' else u.state end as state, u.exit_code, u.signal,
	case when x.is_cut then 'allocation_ended' else u.cause end as cause, u.node, u.queued_at, u.started_at,
	case when x.is_cut then greatest(t.ended_at, u.started_at, u.queued_at) else u.ended_at end as ended_at,
	extract(epoch from coalesce(u.started_at, u.ended_at, t.ended_at, now()) - u.queued_at)::double precision as wait_s,
	coalesce(u.elapsed_usec / 1e6, extract(epoch from coalesce(u.ended_at, t.ended_at, now()) - u.started_at))::double precision
		as elapsed_s,
	(u.user_usec / 1e6)::double precision as user_cpu_s, (u.system_usec / 1e6)::double precision as system_cpu_s, u.max_rss_kb,
	u.minor_faults, u.major_faults, u.rchar, u.wchar, u.read_bytes, u.write_bytes, u.voluntary_switches,
	u.involuntary_switches, u.tasks_failed
from rota.substep u
join rota.step s on s.job_id = u.job_id and s.step_id = u.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = u.job_id
join rota.attempt t on t.job_id = u.job_id and t.step_id = u.step_id and t.attempt = u.attempt
cross join lateral (select u.ended_at is null and t.state is not null as is_cut) x;
select internal.owner_view('substep');
comment on view acct.substep is
	'Sub-steps: what jobs ran inside their allocations with rota run, one row each. The step manager, which runs as the '
	'job''s user, reports all figures, so that user can falsify them. Nothing is charged by them: usage is that of the '
	'allocation (acct.allocation), in which sub-steps are contained. Null: unknown, or none.';
comment on column acct.substep.job_id is 'Number of the job.';
comment on column acct.substep.step_id is 'Number of the step in its job.';
comment on column acct.substep.attempt is 'Number of the attempt; the first one is 1.';
comment on column acct.substep.substep is 'Number of the sub-step in the attempt, from 1.';
comment on column acct.substep.step is 'Name of the step in the script.';
comment on column acct.substep.array_index is 'Index of an array element; null: not an element.';
comment on column acct.substep.user_name is 'Login name of the job''s owner.';
comment on column acct.substep.account is 'Account that pays; null: none.';
comment on column acct.substep.name is 'Name of the sub-step.';
comment on column acct.substep.command is 'Program and arguments, the first 256 characters; null: the job is not yours.';
comment on column acct.substep.tasks is 'Number of tasks of the sub-step.';
comment on column acct.substep.cpus is 'CPUs that were set aside for the sub-step.';
comment on column acct.substep.mem_mb is 'Memory that was set aside for the sub-step, in MiB; 0: none.';
comment on column acct.substep.gres is 'Generic resources of the sub-step, such as gpu:2; null: none.';
comment on column acct.substep.after is 'Sub-steps for which the sub-step waits, as given: 3:ok,4:any; null: none.';
comment on column acct.substep.priority is 'Priority of the sub-step among those of the job.';
comment on column acct.substep.retry is 'How often the sub-step may run again if it fails.';
comment on column acct.substep.runs is 'How often the sub-step was started.';
comment on column acct.substep.state is
	'State of the sub-step: waiting, running, completed, failed, timeout, cancelled, skipped or dependency_failed. A '
	'sub-step that had not ended when its attempt did is cancelled.';
comment on column acct.substep.exit_code is 'Highest exit code of the sub-step''s tasks, 0 to 255.';
comment on column acct.substep.signal is 'First signal that ended a task of the sub-step; null: none.';
comment on column acct.substep.cause is
	'What ended the sub-step: exit, signal, launch, time_limit, idle_timeout, cancelled, bad_exit, dependency, lost; '
	'allocation_ended: its attempt was ended, or it had not ended when its attempt did.';
comment on column acct.substep.node is 'Nodes on which the sub-step ran last, as the step manager names them: n1,n2.';
comment on column acct.substep.queued_at is 'When the sub-step was queued.';
comment on column acct.substep.started_at is 'When its last run started; null: it never started.';
comment on column acct.substep.ended_at is 'When the sub-step ended, or its attempt; null: neither has.';
comment on column acct.substep.wait_s is 'Seconds from when it was queued to the start of its last run, to its end, or to now.';
comment on column acct.substep.elapsed_s is 'Seconds from the start of its last run to its end, or to now.';
comment on column acct.substep.user_cpu_s is 'CPU seconds in user mode.';
comment on column acct.substep.system_cpu_s is 'CPU seconds in the kernel.';
comment on column acct.substep.max_rss_kb is 'Highest resident memory of one process of the sub-step, in KiB.';
comment on column acct.substep.minor_faults is 'Page faults of the sub-step''s processes without I/O.';
comment on column acct.substep.major_faults is 'Page faults of the sub-step''s processes with I/O.';
comment on column acct.substep.rchar is 'Bytes that read calls of the sub-step returned, from any file, pipe or socket.';
comment on column acct.substep.wchar is 'Bytes that the sub-step passed to write calls, to any file, pipe or socket.';
comment on column acct.substep.read_bytes is 'Bytes read from storage.';
comment on column acct.substep.write_bytes is 'Bytes that the sub-step caused to be written to storage.';
comment on column acct.substep.voluntary_switches is 'Voluntary context switches.';
comment on column acct.substep.involuntary_switches is 'Involuntary context switches.';
comment on column acct.substep.tasks_failed is 'Number of the sub-step''s tasks that failed.';
