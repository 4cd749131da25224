create view internal.acct_step as
select s.job_id, s.step_id, r.name as step, s.array_index,
	s.job_id || '.' || r.name || coalesce('[' || s.array_index || ']', '') as label,
	s.is_array, a.size as array_size, j.user_name, j.account, j.qos, r.partition, s.state, s.attempt as attempts,
	s.retries, s.requeues,
	r.nodes_min, r.ntasks, r.cpus_per_task,
	acct.mem_requested_mb(r.mem_mb, r.mem_per_cpu_mb, r.nodes_min, r.ntasks, r.cpus_per_task) as mem_requested_mb,
	nullif(r.gres, '{}') as gres_requested, nullif(r.licenses, '{}') as licenses,
	nullif(r."constraint", '') as node_constraint, coalesce(t.time_limit_s, r.time_limit_s) as time_limit_s,
	array_to_string(t.nodes, ',') as nodes, s.node_count, s.cpus, s.mem_mb, s.gpus, s.gres,
	j.submit_at, s.eligible_at, s.started_at, t.done_at, s.ended_at,
	extract(epoch from s.started_at - s.eligible_at)::double precision as wait_s,
	extract(epoch from coalesce(t.done_at, s.ended_at, now()) - s.started_at)::double precision as elapsed_s,
	coalesce(s.cpu_held_s, 0)::double precision as cpu_held_s, s.gpu_held_s::double precision as gpu_held_s,
	(s.cpu_usec / 1e6)::double precision as cpu_used_s,
	((s.cpu_usec - s.system_usec) / 1e6)::double precision as user_cpu_s,
	(s.system_usec / 1e6)::double precision as system_cpu_s, s.energy_j::double precision as energy_j,
	s.carbon_g::double precision as carbon_g, s.max_rss_kb, s.peak_mb, s.cgroup_peak_mb,
	s.rchar, s.wchar, s.read_bytes, s.write_bytes, s.exit_code, s.signal, s.cause, s.message,
	-- Each of the sums below is computed only if a query uses its column.
	(select sum(x.waiting + x.running + x.ended) from rota.substep_total x
		where x.job_id = s.job_id and x.step_id = s.step_id) as substeps,
	(select sum(x.failed) from rota.substep_total x
		where x.job_id = s.job_id and x.step_id = s.step_id) as substeps_failed,
	(select (sum(x.cpu_usec) / 1e6)::double precision from rota.substep_total x
		where x.job_id = s.job_id and x.step_id = s.step_id) as substep_cpu_s
from internal.step_figures s
join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
join rota.job j on j.job_id = s.job_id
left join rota.step_array a on a.job_id = s.job_id and a.step_id = s.step_id
left join rota.attempt t on t.job_id = s.job_id and t.step_id = s.step_id and t.attempt = s.attempt
	and s.ordered_at is not null;
select internal.owner_view('step');
comment on view acct.step is
	'Steps, one row each. An array has a row, and each of its elements that was started has one. Amounts are sums over all '
	'attempts of the step, and peaks are the highest of all attempts. Times, nodes and allocated resources are those of the '
	'latest attempt since the last requeue of the job. acct.attempt has a row for each attempt. Null: unknown, or none.';
comment on column acct.step.job_id is 'Number of the job.';
comment on column acct.step.step_id is
	'Number of the step in its job; the element at position p of an array has the array''s number + 1 + p.';
comment on column acct.step.step is 'Name of the step in the script.';
comment on column acct.step.array_index is 'Index of an array element; null: not an element.';
comment on column acct.step.label is 'Name that Rota prints for the step: 812.solve or 812.solve[7].';
comment on column acct.step.is_array is
	'Whether the row stands for a whole array. Its elements have rows of their own, so leave such a row out of sums.';
comment on column acct.step.array_size is 'Number of elements of the array; null: not an array.';
comment on column acct.step.user_name is 'Login name of the job''s owner.';
comment on column acct.step.account is 'Account that pays; null: none.';
comment on column acct.step.qos is 'Quality of service of the job.';
comment on column acct.step.partition is 'Partition of the step.';
comment on column acct.step.state is 'State of the step; rota.step_state describes each state.';
comment on column acct.step.attempts is 'How often the step was started.';
comment on column acct.step.retries is 'How often the step ran again after a failure of its own.';
comment on column acct.step.requeues is 'How often the step ran again for another reason, such as the loss of a node.';
comment on column acct.step.nodes_min is 'Lowest number of nodes that the step asks for.';
comment on column acct.step.ntasks is 'Tasks asked for, over all nodes.';
comment on column acct.step.cpus_per_task is 'CPUs asked for each task.';
comment on column acct.step.mem_requested_mb is 'Memory asked for, over all nodes, in MiB; null: none.';
comment on column acct.step.gres_requested is 'Generic resources asked for on each node: {"gpu": 2}; null: none.';
comment on column acct.step.licenses is 'Licences asked for: {"matlab": 1}; null: none.';
comment on column acct.step.node_constraint is
	'Features that the step''s nodes must have, as the user asked for them; null: none.';
comment on column acct.step.time_limit_s is 'Time limit of the latest attempt in seconds; 0: none.';
comment on column acct.step.nodes is 'Nodes of the latest attempt, comma separated, the one that runs the script first.';
comment on column acct.step.node_count is 'Number of nodes of the latest attempt.';
comment on column acct.step.cpus is 'CPUs allocated to the latest attempt, over all nodes.';
comment on column acct.step.mem_mb is 'Memory allocated to the latest attempt, over all nodes, in MiB.';
comment on column acct.step.gpus is 'GPUs allocated to the latest attempt, over all nodes; null: none.';
comment on column acct.step.gres is
	'Units of generic resources allocated to the latest attempt, over all nodes: {"gpu": 4}; null: none.';
comment on column acct.step.submit_at is 'When the job of the step was submitted.';
comment on column acct.step.eligible_at is
	'When the step became eligible before the latest attempt: from then on it waited for resources only. A step with a begin '
	'time is not eligible before it.';
comment on column acct.step.started_at is
	'When the first task of the latest attempt started; for an array, when its first element was placed.';
comment on column acct.step.done_at is 'When the last task of the latest attempt ended; null: it had no task, or one runs.';
comment on column acct.step.ended_at is 'When the step ended, epilogs included; null: it has not.';
comment on column acct.step.wait_s is
	'Seconds from eligible_at to the start of the latest attempt; waits of earlier attempts are not included.';
comment on column acct.step.elapsed_s is
	'Seconds from the start of the latest attempt to the end of its last task, or to now; suspensions are included, epilogs '
	'are not.';
comment on column acct.step.cpu_held_s is
	'CPU seconds that the step held, all attempts together: allocated CPUs times the seconds held.';
comment on column acct.step.gpu_held_s is 'GPU seconds that the step held, all attempts together; null: none.';
comment on column acct.step.cpu_used_s is
	'CPU seconds used by all processes of the step, all attempts together; a node counts them when an attempt has ended on '
	'it.';
comment on column acct.step.user_cpu_s is 'Part of cpu_used_s that was spent in user mode.';
comment on column acct.step.system_cpu_s is 'Part of cpu_used_s that was spent in the kernel.';
comment on column acct.step.energy_j is
	'Joules used for the step, summed over its nodes: those of the whole node, times the part of its CPUs that the step '
	'held; null: unknown.';
comment on column acct.step.carbon_g is
	'Grams of CO2 equivalent emitted for energy_j, by acct.carbon_intensity; null: not known.';
comment on column acct.step.max_rss_kb is
	'Highest resident memory of one process of an ended task, in KiB, pages of mapped files included.';
comment on column acct.step.peak_mb is
	'Most memory on one node that counts against a limit (anonymous and shared memory, not pages of files), in MiB. A '
	'process too brief to be measured counts by max_rss_kb, but no more than cgroup_peak_mb. So it may be less than '
	'max_rss_kb.';
comment on column acct.step.cgroup_peak_mb is
	'Most memory of the step''s cgroup on one node, in MiB, cached pages of files included; null: no cgroup.';
comment on column acct.step.rchar is 'Bytes that read calls of the step''s tasks returned, from any file, pipe or socket.';
comment on column acct.step.wchar is 'Bytes that the step''s tasks passed to write calls, to any file, pipe or socket.';
comment on column acct.step.read_bytes is 'Bytes read from storage for the step''s tasks.';
comment on column acct.step.write_bytes is 'Bytes that the step''s tasks caused to be written to storage.';
comment on column acct.step.exit_code is
	'Highest exit code of the step''s tasks, 0 to 255; '
	'null: unknown, or no task has started.';
comment on column acct.step.signal is 'Signal that ended a task of the step; null: none.';
comment on column acct.step.cause is
	'What ended the step: exit, signal, time_limit, out_of_memory, cancelled, preempted, deadline, launch, prolog, refused, '
	'withdrawn, node, node_lost, keeper_lost, shutdown, maintenance, dependency, not_needed, up_to_date.';
comment on column acct.step.message is 'Why the step ended as it did, in words.';
comment on column acct.step.substeps is
	'Number of the step''s sub-steps, all attempts together, as processes of its user reported them (acct.substep); null: '
	'none.';
comment on column acct.step.substeps_failed is
	'Number of the step''s sub-steps that ended as failed or timeout; null: no sub-steps.';
comment on column acct.step.substep_cpu_s is
	'CPU seconds of the step''s ended sub-steps, as processes of its user reported them. They are a part of cpu_used_s and '
	'never charged. Null: unknown, or no sub-steps.';
