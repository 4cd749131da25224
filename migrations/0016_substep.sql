-- What a job runs inside its allocation, as its step manager reports it: sub-steps and sessions. Growths: jobs that hold nodes
-- for a running step of another job.

create table rota.substep (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	substep int not null,
	name text,
	command text,
	tasks int,
	cpus int,
	mem_mb bigint,
	gres text,
	after_text text,
	priority int,
	retry int,
	runs int not null default 0,
	state text not null,
	exit_code int,
	signal int,
	cause text,
	node text,
	queued_at timestamptz,
	started_at timestamptz,
	ended_at timestamptz,
	elapsed_usec bigint,
	user_usec bigint,
	system_usec bigint,
	max_rss_kb bigint,
	minor_faults bigint,
	major_faults bigint,
	rchar bigint,
	wchar bigint,
	read_bytes bigint,
	write_bytes bigint,
	voluntary_switches bigint,
	involuntary_switches bigint,
	tasks_failed int,
	primary key (job_id, step_id, attempt, substep),
	constraint substep_number_is_positive check (substep >= 1),
	constraint substep_state_is_known check (state in ('waiting', 'running', 'completed', 'failed', 'timeout', 'cancelled',
		'skipped', 'dependency_failed')),
	constraint substep_has_end_in_final_state check ((ended_at is null) = (state in ('waiting', 'running'))),
	constraint substep_texts_are_short check (length(command) <= 256 and length(name) <= 256 and length(gres) <= 256
		and length(after_text) <= 256 and length(node) <= 256)
) partition by range (job_id);
comment on table rota.substep is
	'Sub-steps: what a job ran inside its allocation, one row each. All of it is the word of the user, whose step manager '
	'reports it. Nothing is charged or scheduled by it. Null: unknown.';
comment on column rota.substep.job_id is 'Job of the sub-step.';
comment on column rota.substep.step_id is 'Step inside whose allocation the sub-step ran.';
comment on column rota.substep.attempt is 'Attempt inside whose allocation the sub-step ran.';
comment on column rota.substep.substep is 'Number of the sub-step in its attempt, from 1.';
comment on column rota.substep.name is 'Name of the sub-step.';
comment on column rota.substep.command is 'Program and arguments of the sub-step, the first 256 characters.';
comment on column rota.substep.tasks is 'Number of tasks of the sub-step.';
comment on column rota.substep.cpus is 'CPUs that the step manager set aside for the sub-step.';
comment on column rota.substep.mem_mb is 'Memory that the step manager set aside for the sub-step, in MiB; 0: none.';
comment on column rota.substep.gres is 'Generic resources of the sub-step, such as gpu:2; null: none.';
comment on column rota.substep.after_text is 'Sub-steps that the sub-step waits for, as given: 3:ok,4:any; null: none.';
comment on column rota.substep.priority is 'Priority of the sub-step; higher ones start first.';
comment on column rota.substep.retry is 'How often the sub-step may run again if it fails.';
comment on column rota.substep.runs is 'How often the sub-step was started.';
comment on column rota.substep.state is
	'State of the sub-step: waiting, running, completed, failed, timeout, cancelled, skipped or dependency_failed.';
comment on column rota.substep.exit_code is 'Highest exit code of the sub-step''s tasks; null: none ended with one.';
comment on column rota.substep.signal is 'First signal that ended a task of the sub-step; null: none.';
comment on column rota.substep.cause is
	'What ended the sub-step: exit, signal, launch, time_limit, idle_timeout, cancelled, bad_exit, dependency, lost or '
	'allocation_ended.';
comment on column rota.substep.node is 'Nodes on which the sub-step ran last, as the step manager names them: n1,n2.';
comment on column rota.substep.queued_at is 'When the sub-step was queued.';
comment on column rota.substep.started_at is 'When the last run of the sub-step started; null: it has not started.';
comment on column rota.substep.ended_at is 'When the sub-step ended; null: no end was reported.';
comment on column rota.substep.elapsed_usec is
	'Microseconds from the start of the last run to the end, by the clock of the node; null: it never started or has not ended.';
comment on column rota.substep.user_usec is 'CPU time of the sub-step in user mode, in microseconds.';
comment on column rota.substep.system_usec is 'CPU time of the sub-step in the kernel, in microseconds.';
comment on column rota.substep.max_rss_kb is 'Highest resident memory of one process of the sub-step, in KiB.';
comment on column rota.substep.minor_faults is 'Page faults of the sub-step without I/O.';
comment on column rota.substep.major_faults is 'Page faults of the sub-step with I/O.';
comment on column rota.substep.rchar is 'Bytes that read calls of the sub-step returned.';
comment on column rota.substep.wchar is 'Bytes that the sub-step passed to write calls.';
comment on column rota.substep.read_bytes is 'Bytes that the sub-step read from storage.';
comment on column rota.substep.write_bytes is 'Bytes that the sub-step wrote to storage.';
comment on column rota.substep.voluntary_switches is 'Voluntary context switches of the sub-step.';
comment on column rota.substep.involuntary_switches is 'Involuntary context switches of the sub-step.';
comment on column rota.substep.tasks_failed is 'Number of the sub-step''s tasks that failed.';

create table rota.substep_total (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	waiting int not null default 0,
	running int not null default 0,
	ended int not null default 0,
	failed int not null default 0,
	cpu_usec bigint,
	primary key (job_id, step_id, attempt),
	constraint substep_total_is_not_negative check (least(waiting, running, ended - failed, failed) >= 0)
) partition by range (job_id);
comment on table rota.substep_total is
	'Totals of rota.substep for each attempt that has sub-steps, so that views of steps need not count them. '
	'api.node_substep_report keeps them.';
comment on column rota.substep_total.job_id is 'Job of the attempt.';
comment on column rota.substep_total.step_id is 'Step of the attempt.';
comment on column rota.substep_total.attempt is 'Attempt of the sub-steps.';
comment on column rota.substep_total.waiting is 'Number of sub-steps that were last reported as waiting.';
comment on column rota.substep_total.running is 'Number of sub-steps that were last reported as running.';
comment on column rota.substep_total.ended is 'Number of sub-steps that have ended, failed ones included.';
comment on column rota.substep_total.failed is 'Number of sub-steps that ended as failed or timeout.';
comment on column rota.substep_total.cpu_usec is
	'CPU time of the ended sub-steps, in microseconds; null: unknown of all of them.';

create table rota.session (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	substep int not null,
	name text,
	idle_timeout_s int,
	attached jsonb not null default '[]',
	last_key_at timestamptz,
	last_output_at timestamptz,
	reported_at timestamptz not null,
	idle_timeout_of text,
	primary key (job_id, step_id, attempt, substep),
	constraint session_number_is_positive check (substep >= 1),
	constraint session_idle_timeout_is_not_negative check (idle_timeout_s >= 0),
	constraint session_attached_is_short_list check (jsonb_typeof(attached) = 'array' and jsonb_array_length(attached) <= 16),
	constraint session_name_is_short check (length(name) <= 256),
	constraint session_idle_timeout_of_is_short check (length(idle_timeout_of) <= 256)
) partition by range (job_id);
comment on table rota.session is
	'Sessions: sub-steps with a terminal, one row each. All of it is the word of the user, whose step manager reports it. '
	'What a session holds is in rota.substep. Null: unknown.';
comment on column rota.session.job_id is 'Job of the sub-step.';
comment on column rota.session.step_id is 'Step inside whose allocation the sub-step runs.';
comment on column rota.session.attempt is 'Attempt inside whose allocation the sub-step runs.';
comment on column rota.session.substep is 'Number of the sub-step in its attempt, from 1.';
comment on column rota.session.name is 'Name of the session.';
comment on column rota.session.idle_timeout_s is 'Seconds without keys and output after which the session is ended; 0: none.';
comment on column rota.session.attached is
	'Who was attached at reported_at, at most 16: [{"user": login name, "host": name of the client''s host, "since": time}].';
comment on column rota.session.last_key_at is 'When a key was last typed; null: never in this run.';
comment on column rota.session.last_output_at is 'When output was last written; null: never in this run.';
comment on column rota.session.reported_at is 'When the step manager wrote the record from which the row is.';
comment on column rota.session.idle_timeout_of is
	'Whose limit idle_timeout_s is: session, job, "partition NAME" or "qos NAME"; null: there is none.';

create table rota.growth (
	job_id bigint not null primary key,
	grown_job_id bigint not null,
	grown_step_id int not null,
	grown_attempt int not null,
	closed_at timestamptz,
	constraint growth_is_of_another_job check (job_id <> grown_job_id)
) partition by range (job_id);
create index growth_grown_idx on rota.growth (grown_job_id);
create index growth_open_idx on rota.growth (job_id) where closed_at is null;
comment on table rota.growth is
	'Growths: jobs that hold nodes for an attempt of another job, whose step manager runs sub-steps there. '
	'One row for each such job.';
comment on column rota.growth.job_id is 'Job that holds the nodes.';
comment on column rota.growth.grown_job_id is 'Job of the attempt that gets the nodes.';
comment on column rota.growth.grown_step_id is 'Step of the attempt that gets the nodes.';
comment on column rota.growth.grown_attempt is 'Attempt that gets the nodes. When it has ended, the growth ends.';
comment on column rota.growth.closed_at is
	'When all steps of the growth had ended, and its nodes had gone from the grown attempt; null: something is left to do.';

create table rota.growth_node (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	node_id int not null,
	come_at timestamptz not null,
	gone_at timestamptz,
	primary key (job_id, step_id, attempt, node_id)
) partition by range (job_id);
comment on table rota.growth_node is
	'Nodes that have come to a running step by a growth, one row for each attempt and node of the growth. A row is written '
	'together with the order by which the step manager learns of it.';
comment on column rota.growth_node.job_id is 'Job of the growth.';
comment on column rota.growth_node.step_id is 'Step of the growth.';
comment on column rota.growth_node.attempt is 'Attempt of the growth.';
comment on column rota.growth_node.node_id is 'Node that has come.';
comment on column rota.growth_node.come_at is 'When the order `grow` was made for the grown attempt.';
comment on column rota.growth_node.gone_at is
	'When the order `shrink` was made, or the grown attempt had ended; null: the node is there.';

create table rota.step_listener (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	asked_at timestamptz not null,
	port int,
	fingerprint text,
	primary key (job_id, step_id, attempt),
	constraint step_listener_port_is_valid check (port between 1 and 65535),
	constraint step_listener_fingerprint_is_sha256 check (fingerprint ~ '^[0-9a-f]{64}$'),
	constraint step_listener_is_whole check ((port is null) = (fingerprint is null))
);
comment on table rota.step_listener is
	'Running attempts whose owner has asked for a token, so that their step managers listen for clients on other machines. Port '
	'and fingerprint are the word of the user, whose step manager reports them. Rows of attempts that have ended are deleted '
	'when somebody asks for another attempt.';
comment on column rota.step_listener.job_id is 'Job of the attempt.';
comment on column rota.step_listener.step_id is 'Step of the attempt.';
comment on column rota.step_listener.attempt is 'Number of the attempt.';
comment on column rota.step_listener.asked_at is 'When the order to listen was last sent.';
comment on column rota.step_listener.port is 'TCP port on the first node of the attempt; null: not reported yet.';
comment on column rota.step_listener.fingerprint is
	'SHA-256 of the certificate that the step manager presents, in hexadecimal digits; null: not reported yet.';

create table rota.step_agents (
	job_id bigint not null,
	step_id int not null,
	attempt int not null,
	primary key (job_id, step_id, attempt)
);
comment on table rota.step_agents is
	'Running attempts whose step managers have called agents on other nodes, so that they are sent when tasks there have ended. '
	'Rows of attempts that have ended are deleted when the step manager of another attempt calls.';
comment on column rota.step_agents.job_id is 'Job of the attempt.';
comment on column rota.step_agents.step_id is 'Step of the attempt.';
comment on column rota.step_agents.attempt is 'Number of the attempt.';
