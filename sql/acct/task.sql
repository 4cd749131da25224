create view internal.acct_task as
select e.job_id, e.step_id, e.attempt, e.task, r.name as step, s.array_index, j.user_name, j.account, n.name as node, e.pid,
	e.started_at, e.ended_at,
	extract(epoch from e.ended_at - e.started_at)::double precision as elapsed_s, e.exit_code, e.signal, e.cause,
	(e.user_usec / 1e6)::double precision as user_cpu_s, (e.system_usec / 1e6)::double precision as system_cpu_s,
	e.max_rss_kb, e.minor_faults, e.major_faults,
	e.rchar, e.wchar, e.read_bytes, e.write_bytes, e.voluntary_switches, e.involuntary_switches
from rota.task_end e
join rota.step s on s.job_id = e.job_id and s.step_id = e.step_id
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = e.job_id
left join rota.node n on n.node_id = e.node_id;
select internal.owner_view('task');
comment on view acct.task is 'Ended tasks, one row each, with the resource use that the kernel counted. Null: unknown.';
comment on column acct.task.job_id is 'Number of the job.';
comment on column acct.task.step_id is 'Number of the step in its job.';
comment on column acct.task.attempt is 'Number of the attempt; the first one is 1.';
comment on column acct.task.task is 'Rank of the task, from 0.';
comment on column acct.task.step is 'Name of the step in the script.';
comment on column acct.task.array_index is 'Index of an array element; null: not an element.';
comment on column acct.task.user_name is 'Login name of the job''s owner.';
comment on column acct.task.account is 'Account that pays; null: none.';
comment on column acct.task.node is 'Name of the node on which the task ran.';
comment on column acct.task.pid is 'Process id of the task on the node.';
comment on column acct.task.started_at is 'When the task started.';
comment on column acct.task.ended_at is 'When the task ended.';
comment on column acct.task.elapsed_s is 'Seconds from the start of the task to its end.';
comment on column acct.task.exit_code is 'Exit code of the task, 0 to 255; null: ended by a signal.';
comment on column acct.task.signal is 'Signal that ended the task; null: none.';
comment on column acct.task.cause is 'What ended the task: given_back (rota shrink), or as in acct.step.cause.';
comment on column acct.task.user_cpu_s is 'CPU seconds of the task in user mode.';
comment on column acct.task.system_cpu_s is 'CPU seconds of the task in the kernel.';
comment on column acct.task.max_rss_kb is 'Highest resident memory of one process of the task, in KiB.';
comment on column acct.task.minor_faults is 'Page faults of the processes without I/O.';
comment on column acct.task.major_faults is 'Page faults of the processes with I/O.';
comment on column acct.task.rchar is 'Bytes that read calls of the task returned, from any file, pipe or socket.';
comment on column acct.task.wchar is 'Bytes that the task passed to write calls, to any file, pipe or socket.';
comment on column acct.task.read_bytes is 'Bytes read from storage for the task.';
comment on column acct.task.write_bytes is 'Bytes that the task caused to be written to storage.';
comment on column acct.task.voluntary_switches is 'Voluntary context switches.';
comment on column acct.task.involuntary_switches is 'Involuntary context switches.';
