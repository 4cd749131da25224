-- Jobs, their scripts, their steps as requested and with their present state, and the edges between steps. The tables of jobs are
-- range-partitioned by job id; api.range_ensure makes ranges before they are needed (0020_range.sql).
--
-- A plain check costs each statement 5 us for each KiB of the check's stored text. The checks of busy tables are therefore
-- domains over a composite type, which a session reads once. Casting to the domain is the check: the cast fails, or its value is
-- distinct from null.

create table rota.script (
	hash bytea primary key check (length(hash) = 32),
	body bytea not null,
	check (hash = sha256(body))
);
alter table rota.script alter column body set storage external;
comment on table rota.script is 'Scripts, each stored once under its SHA-256.';
comment on column rota.script.hash is 'SHA-256 of the script.';
comment on column rota.script.body is 'Bytes of the script.';

create table rota.environment (
	hash bytea primary key check (length(hash) = 32),
	body bytea not null,
	check (hash = sha256(body))
);
comment on table rota.environment is
	'Environments that jobs were submitted with, each stored once under its SHA-256; private to their owners.';
comment on column rota.environment.hash is 'SHA-256 of the environment.';
comment on column rota.environment.body is 'The environment as NAME=value strings, each ended by a zero byte.';

create type rota.job_checked as (steps_total int, steps_left int, ended_at timestamptz, state text);
comment on type rota.job_checked is 'The columns of rota.job that the constraint job_is_valid checks.';
create domain rota.job_valid as rota.job_checked
	constraint job_is_valid check (
		(value).steps_left >= 0 and (value).steps_left <= (value).steps_total
		and ((value).steps_left = 0) = ((value).ended_at is not null)
		and ((value).ended_at is null) = ((value).state is null));
comment on domain rota.job_valid is 'A job has an end and a final state exactly when it has no steps left.';
create table rota.job (
	job_id bigint generated always as identity primary key,
	name text not null,
	uid int not null,
	gid int not null,
	user_name text not null,
	account text,
	qos text not null default 'normal' references rota.qos,
	priority int not null default 0,
	nice int not null default 0,
	script_hash bytea not null,
	environment_hash bytea not null,
	script_name text not null,
	workdir text not null,
	comment text,
	mail_user text,
	mail_type text,
	submit_at timestamptz not null default now(),
	steps_total int not null,
	steps_left int not null,
	started_at timestamptz,
	ended_at timestamptz,
	state text references rota.step_state,
	exit_code int,
	signal int,
	cause text,
	retry_key uuid,
	arguments text[],
	drain_count int not null default 0,
	submit_line text constraint job_submit_line_is_short check (octet_length(submit_line) <= 4096),
	staging boolean not null default false,
	credentials boolean not null default false,
	constraint job_is_valid check (
		row(steps_total, steps_left, ended_at, state)::rota.job_checked::rota.job_valid is distinct from null)
) partition by range (job_id);
create index job_live on rota.job (uid, job_id) where ended_at is null;
create index job_by_user on rota.job (user_name, job_id);
create index job_by_time on rota.job using brin (submit_at);
create index job_by_end on rota.job using brin (ended_at);
create index job_by_account on rota.job (account, job_id) where ended_at is null;
create index job_retry_key_idx on rota.job (retry_key);
comment on table rota.job is 'Jobs: what users submitted, each one script with one or more steps.';
comment on column rota.job.job_id is
	'Number of the job, never reused: it is always generated, and the row is never deleted.';
comment on column rota.job.name is 'Name of the job, for people.';
comment on column rota.job.uid is 'Uid of the job''s owner, from the munge credential.';
comment on column rota.job.gid is 'Gid of the job''s owner at submission, from the munge credential.';
comment on column rota.job.user_name is 'Login name of the job''s owner.';
comment on column rota.job.account is 'Account that pays for the job; null: none.';
comment on column rota.job.qos is 'Quality of service of the job.';
comment on column rota.job.priority is 'Points of priority that an operator gave the job.';
comment on column rota.job.nice is 'Points of priority that the owner of the job gave up.';
comment on column rota.job.script_hash is 'SHA-256 of the job''s script, which is in rota.script.';
comment on column rota.job.environment_hash is 'SHA-256 of the job''s environment, which is in rota.environment.';
comment on column rota.job.script_name is 'Name of the script file at submission.';
comment on column rota.job.workdir is 'Working directory of the submission.';
comment on column rota.job.comment is 'Comment by the owner of the job.';
comment on column rota.job.mail_user is 'Address for mail about the job.';
comment on column rota.job.mail_type is 'Events about which the owner wants mail, as written in --mail-type.';
comment on column rota.job.submit_at is 'When the job was submitted.';
comment on column rota.job.steps_total is 'Steps of the job; an array counts as one.';
comment on column rota.job.steps_left is 'Steps of the job that are not in a final state.';
comment on column rota.job.started_at is 'When the first step of the job was started.';
comment on column rota.job.ended_at is 'When the last step of the job ended; null: the job is live.';
comment on column rota.job.state is 'Worst state of the job''s steps, once the job has ended.';
comment on column rota.job.exit_code is 'Highest exit code of the job''s steps, once the job has ended.';
comment on column rota.job.signal is 'Signal that ended the step with the worst state, once the job has ended.';
comment on column rota.job.cause is 'Cause of the end of the step with the worst state, once the job has ended.';
comment on column rota.job.retry_key is
	'Key that the client makes for each submission. It identifies a repeated submission for at least a day. Null: no '
	'key, or one in rota.client_key.';
comment on column rota.job.arguments is
	'Arguments of the script, as submitted; null: none. Tasks get their arguments from rota.step_request.spec, which '
	'the authenticator covers.';
comment on column rota.job.drain_count is
	'How often the end of an attempt of the job drained its node, since an operator last released the job.';
comment on column rota.job.submit_line is
	'Command line of the submission, quoted for a shell: the word of the user. It is cut with "..." at 4096 bytes. Null: the '
	'request had none.';
comment on column rota.job.staging is 'The job has directives for burst_buffer.lua, and so a row in rota.staging.';
comment on column rota.job.credentials is 'Steps of the job need credentials of its owner.';

create table rota.client_key (
	uid int not null,
	client_key text not null check (length(client_key) between 1 and 128),
	job_id bigint not null,
	made_at timestamptz not null default now(),
	primary key (uid, client_key)
);
comment on table rota.client_key is 'Client keys, by which a repeated submission is recognised.';
comment on column rota.client_key.uid is 'Uid of the user who submitted the job.';
comment on column rota.client_key.client_key is 'Key that the client chose for the submission.';
comment on column rota.client_key.job_id is 'Job that the submission made.';
comment on column rota.client_key.made_at is 'When the job was submitted.';

create type rota.step_request_checked as (step_id int, nodes_min int, nodes_max int, ntasks int, ntasks_per_node int,
	cpus_per_task int, mem_mb bigint, mem_per_cpu_mb bigint, time_limit_s bigint, time_min_s bigint, retry int, sample_s int,
		auth bytea);
comment on type rota.step_request_checked is 'The columns of rota.step_request that the constraint step_request_is_valid checks.';
create domain rota.step_request_valid as rota.step_request_checked
	-- least() ignores nulls, so columns that are null pass these comparisons.
	constraint step_request_is_valid check (
		least((value).nodes_min, (value).ntasks, (value).ntasks_per_node, (value).cpus_per_task) >= 1
		and least((value).step_id, (value).retry, (value).sample_s, 86400 - (value).sample_s) >= 0
		and least((value).mem_mb, (value).mem_per_cpu_mb, (value).time_limit_s, (value).time_min_s) >= 0
		and (value).nodes_max >= (value).nodes_min
		and length((value).auth) = 32);
comment on domain rota.step_request_valid is 'The valid values of what a step may ask for.';
create table rota.step_request (
	job_id bigint not null,
	step_id int not null,
	name text not null,
	line int not null,
	topo int not null,
	partition text not null,
	nodes_min int not null,
	nodes_max int,
	ntasks int not null,
	ntasks_per_node int,
	cpus_per_task int not null,
	mem_mb bigint,
	mem_per_cpu_mb bigint,
	gres jsonb not null default '{}',
	licenses jsonb not null default '{}',
	exclusive boolean not null default false,
	"constraint" text not null default '',
	nodelist text[] not null default '{}',
	exclude text[] not null default '{}',
	time_limit_s bigint,
	time_min_s bigint,
	begin_at timestamptz,
	deadline_at timestamptz,
	requeue boolean not null default true,
	retry int not null default 0,
	group_name text,
	keep jsonb not null default '{}',
	deps_any boolean not null default false,
	with_set int,
	spec text not null,
	auth bytea not null,
	sample_s int,
	reservation text,
	image text,
	prep text,
	checkpoint jsonb,
	eternal boolean not null default false,
	primary key (job_id, step_id),
	unique (name, job_id),
	constraint step_request_is_valid check (
		row(step_id, nodes_min, nodes_max, ntasks, ntasks_per_node, cpus_per_task, mem_mb, mem_per_cpu_mb, time_limit_s,
			time_min_s, retry, sample_s, auth)::rota.step_request_checked::rota.step_request_valid
				is distinct from null)
) partition by range (job_id);
create index step_request_image on rota.step_request (image) where image is not null;
create index step_request_prep on rota.step_request (prep) where prep is not null;
create index step_request_eternal on rota.step_request (job_id) where eternal;
comment on table rota.step_request is 'Steps as they were asked for in the script. The elements of an array share one row.';
comment on column rota.step_request.job_id is 'Job that has the step.';
comment on column rota.step_request.step_id is 'Number of the step in its job; for an array, that of its head.';
comment on column rota.step_request.name is 'Name of the step in the script.';
comment on column rota.step_request.line is 'Line of the script on which the step begins.';
comment on column rota.step_request.topo is
	'Position of the step in topological order: every step comes after the steps that it waits for. A check on edges '
	'uses the position, so no cycle can be stored.';
comment on column rota.step_request.partition is 'Partition in which the step is to run.';
comment on column rota.step_request.nodes_min is 'Fewest nodes that the step needs.';
comment on column rota.step_request.nodes_max is 'Most nodes that the step uses; null: as many as its tasks need.';
comment on column rota.step_request.ntasks is 'Tasks of the step on all nodes together.';
comment on column rota.step_request.ntasks_per_node is 'Tasks of the step on each node; null: as many as fit.';
comment on column rota.step_request.cpus_per_task is 'CPUs for each task of the step.';
comment on column rota.step_request.mem_mb is 'Memory for the step on each node, in MiB; null: mem_per_cpu_mb applies.';
comment on column rota.step_request.mem_per_cpu_mb is
	'Memory for each CPU of the step, in MiB; null: memory is tracked only if mem_mb is given.';
comment on column rota.step_request.gres is 'Generic resources that the step needs on each node, for example {"gpu": 2}.';
comment on column rota.step_request.licenses is 'Licences that the step needs, for example {"matlab": 1}.';
comment on column rota.step_request.exclusive is 'Whether the step wants its nodes for itself.';
comment on column rota.step_request."constraint" is
	'Expression over node features that the step''s nodes must fulfil; empty: any node.';
comment on column rota.step_request.nodelist is 'Nodes that must be among the nodes of the step.';
comment on column rota.step_request.exclude is 'Nodes on which the step must not run.';
comment on column rota.step_request.time_limit_s is
	'Time limit of the step in seconds; 0: none; null: that of the partition.';
comment on column rota.step_request.time_min_s is
	'Shortest time limit in seconds with which backfill may start the step; null: the time limit is not shortened.';
comment on column rota.step_request.begin_at is 'Earliest time at which the step may start; null: no such time.';
comment on column rota.step_request.deadline_at is
	'Time by which the step must end. A step that can no longer do so ends in state deadline. Null: no deadline.';
comment on column rota.step_request.requeue is 'Whether the step may run again after the loss of a node.';
comment on column rota.step_request.retry is 'How often the step is run again after a failure of its own.';
comment on column rota.step_request.group_name is
	'Job group of the step; null: none. Prolog and epilog run once on a node for all steps of a group.';
comment on column rota.step_request.keep is
	'Resources that the step keeps while it is suspended, for example {"mem": true, "gres": true, "licenses": true, '
	'"cpus": false}.';
comment on column rota.step_request.deps_any is
	'Whether one "after" edge of the step is enough ("?" in the script), instead of all (",").';
comment on column rota.step_request.with_set is
	'Number of the step''s gang: steps of a job with the same number start in one scheduling decision; null: no gang.';
comment on column rota.step_request.spec is
	'Spec of the step, which says what the node is to run, in the form of docs/formats.md; auth covers it.';
comment on column rota.step_request.auth is
	'Authenticator: HMAC by jobmgrd over owner, script, environment and spec. jobmgrd signs no launch request if it '
	'does not match.';
comment on column rota.step_request.sample_s is
	'Seconds between samples of the step''s resource use; 0: no samples; null: the interval of its partition.';
comment on column rota.step_request.reservation is
	'Reservation in which the step asks to run; null: none. The step runs only on nodes of the reservation and starts '
	'only while it lasts.';
comment on column rota.step_request.image is 'Image of the nodes that the step asks for; null: the default image of each node.';
comment on column rota.step_request.prep is
	'Preparation of its nodes that the step asks for, with its arguments, as NAME:ARGS; null: none.';
comment on column rota.step_request.checkpoint is
	'How the step is checkpointed: driver, keep (generations that are kept) and before_s (seconds before its time limit at which '
	'it is checkpointed and queued again); null: it is not.';
comment on column rota.step_request.eternal is
	'Whether the step has no end of its own: it is in the lowest tier, may always be preempted, '
	'and is queued again at its time limit.';

create type rota.step_checked as (step_id int, request_id int, array_index int, state text, held text, end_wanted text,
	attempt int, deps_waiting int, retries int, requeues int);
comment on type rota.step_checked is 'The columns of rota.step that the constraint step_is_valid checks.';
-- format() writes the states of rota.step_state into the check, since a check cannot read tables. The most frequent states come
-- first.
do $$
begin
	execute format($sql$create domain rota.step_valid as rota.step_checked constraint step_is_valid check (
		(value).state in (%s)
		and (value).held in ('', 'user', 'admin', 'system')
		and (value).end_wanted in ('cancel', 'preempt', 'deadline', 'requeue')
		and least((value).step_id, (value).attempt, (value).deps_waiting, (value).retries, (value).requeues) >= 0
		and ((value).array_index is null or (value).step_id > (value).request_id))$sql$, (
			select string_agg(quote_literal(s.state), ', '
				order by array_position('{pending,starting,prolog,running,suspended,ending,completed}', s.state),
					s.severity)
			from rota.step_state s));
end $$;
comment on domain rota.step_valid is
	'State, held and end_wanted have known values (end_wanted null: no end is wanted), and array elements have higher '
	'numbers than their head.';
create table rota.step (
	job_id bigint not null,
	step_id int not null,
	request_id int not null,
	array_index int,
	state text not null default 'pending',
	attempt int not null default 0,
	held text not null default '',
	held_reason text,
	deps_waiting int not null default 0,
	rank bigint not null,
	begin_at timestamptz,
	start_by timestamptz,
	eligible_at timestamptz,
	retries int not null default 0,
	requeues int not null default 0,
	ordered_at timestamptz,
	started_at timestamptz,
	ended_at timestamptz,
	exit_code int,
	signal int,
	cause text,
	message text,
	end_wanted text,
	resume_wanted boolean not null default false,
	queue text not null default '',
	is_array boolean not null default false,
	association_id int not null default 0,
	primary key (job_id, step_id),
	constraint step_is_valid check (
		row(step_id, request_id, array_index, state, held, end_wanted, attempt, deps_waiting, retries,
			requeues)::rota.step_checked::rota.step_valid is distinct from null)
) partition by range (job_id);
create index step_head on rota.step (rank desc, job_id, step_id) where state = 'running' and attempt = 0;
create index step_timed on rota.step (start_by) where start_by is not null and ended_at is null;
create index step_later on rota.step (begin_at) where begin_at is not null and state = 'pending';
create index step_resuming on rota.step (rank desc, job_id, step_id) where resume_wanted;
create index step_live on rota.step (job_id, step_id) where ended_at is null;
create index step_eligible on rota.step (queue, rank desc, job_id, step_id)
	where state = 'pending' and deps_waiting = 0 and held = '';
create index step_by_association on rota.step (queue, association_id, rank desc, job_id, step_id)
	where state = 'pending' and deps_waiting = 0 and held = '';
comment on table rota.step is 'Steps with their current state. An array element gets a row when it starts.';
comment on column rota.step.job_id is 'Job that has the step.';
comment on column rota.step.step_id is
	'Number of the step in its job. Steps of the script are numbered in order; the array element at position p has '
	'the number of its head + 1 + p.';
comment on column rota.step.request_id is
	'Number of the step in rota.step_request: the step itself, or the head of its array.';
comment on column rota.step.array_index is 'Index of an array element; null: the step is not an element.';
comment on column rota.step.state is
	'State of the step. internal.step_write changes it; internal.array_expand makes the rows of elements that start.';
comment on column rota.step.attempt is
	'Number of the step''s latest attempt; 0: never started. Orders and reports name an attempt, and those that name '
	'another one are rejected.';
comment on column rota.step.held is 'Who holds the step: user, admin or system; empty: the step is not held.';
comment on column rota.step.held_reason is 'Why the step is held.';
comment on column rota.step.deps_waiting is 'Number of unresolved dependencies of the step.';
comment on column rota.step.rank is
	'Position of the step in the queue, higher first: seconds of priority minus the time of submission. It does not '
	'change with time.';
comment on column rota.step.begin_at is
	'Earliest time at which the step may start, as asked for or after a requeue; null: any time.';
comment on column rota.step.start_by is
	'Latest start with which the step can still end before its deadline; null: no deadline.';
comment on column rota.step.eligible_at is 'Since when the step waits only for resources.';
comment on column rota.step.retries is 'How often the step was run again after a failure of its own.';
comment on column rota.step.requeues is 'How often the step was run again for another reason than a failure of its own.';
comment on column rota.step.ordered_at is 'When the scheduler placed the latest attempt of the step.';
comment on column rota.step.started_at is 'When the first task of the step''s latest attempt started.';
comment on column rota.step.ended_at is 'When the step reached a final state.';
comment on column rota.step.exit_code is 'Highest exit code of the step''s tasks, 0 to 255.';
comment on column rota.step.signal is 'Signal that ended a task of the step; null: none.';
comment on column rota.step.cause is
	'What ended the step: exit, signal, time_limit, out_of_memory, cancelled, preempted, deadline, launch, prolog, '
	'refused, withdrawn, node, node_lost, keeper_lost, shutdown, maintenance, dependency, not_needed, up_to_date.';
comment on column rota.step.message is 'Cause of the step''s end in words.';
comment on column rota.step.end_wanted is
	'Event as which the end of the step will count, if somebody asked for that end (cancel, preempt, deadline, '
	'requeue); null: nobody did.';
comment on column rota.step.resume_wanted is 'Whether the suspended step is to resume as soon as its CPUs are free.';
comment on column rota.step.queue is 'Partition in whose queue the step is, as its request says.';
comment on column rota.step.is_array is 'Whether the step is the head of an array.';
comment on column rota.step.association_id is 'Association of the step, in rota.association_share.';
create function rota.step_references() returns trigger
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_loose record;
begin
	select a.job_id, a.step_id into v_loose
	from added a
	left join step_request r on r.job_id = a.job_id and r.step_id = a.request_id
	left join job j on j.job_id = r.job_id
	where j.job_id is null
	limit 1;
	if found then
		raise exception 'step % of job % refers to a request or a job that does not exist', v_loose.step_id,
			v_loose.job_id
			using errcode = '23503';
	end if;
	return null;
end $$;
comment on function rota.step_references() is
	'Trigger function: refuses steps whose row in rota.step_request or rota.job does not exist.';

create type rota.step_array_checked as (size int, next int, running int, completed int, failed int, max_running int);
comment on type rota.step_array_checked is 'The columns of rota.step_array that the constraint step_array_is_valid checks.';
create domain rota.step_array_valid as rota.step_array_checked
	constraint step_array_is_valid check (
		(value).size >= 1 and (value).next between 0 and (value).size and (value).max_running >= 1
		and least((value).running, (value).completed, (value).failed) >= 0
		and (value).running + (value).completed + (value).failed <= (value).size);
comment on domain rota.step_array_valid is
	'Limits on the progress of an array; max_running null: any number of elements may run at once.';
create table rota.step_array (
	job_id bigint not null,
	step_id int not null,
	indices jsonb not null,
	size int not null,
	max_running int,
	by_corr boolean not null default false,
	next int not null default 0,
	skip int[] not null default '{}',
	running int not null default 0,
	completed int not null default 0,
	failed int not null default 0,
	rest_state text references rota.step_state,
	staged boolean not null default false,
	primary key (job_id, step_id),
	constraint step_array_is_valid check (
		row(size, next, running, completed, failed, max_running)::rota.step_array_checked::rota.step_array_valid
			is distinct from null)
) partition by range (job_id);
comment on table rota.step_array is 'Progress of each array. Elements have rows in rota.step only from their start on.';
comment on column rota.step_array.job_id is 'Job that has the array.';
comment on column rota.step_array.step_id is 'Number of the step that is the array''s head.';
comment on column rota.step_array.indices is 'Indices of the array, as ranges [low, high, step] in the order of positions.';
comment on column rota.step_array.size is 'Number of elements of the array.';
comment on column rota.step_array.max_running is 'Most elements of the array that may run at once; null: any number.';
comment on column rota.step_array.by_corr is
	'Whether elements get rows when the corresponding element of another array has ended, instead of when they start.';
comment on column rota.step_array.next is 'First position whose element has not got a row in order.';
comment on column rota.step_array.skip is
	'Positions from next on whose elements have got rows out of order, for example by a cancel.';
comment on column rota.step_array.running is 'Number of elements that have rows and hold an allocation.';
comment on column rota.step_array.completed is 'Number of elements that ended in state completed.';
comment on column rota.step_array.failed is 'Number of elements that ended in any other state than completed.';
comment on column rota.step_array.rest_state is
	'Final state of the elements that ended without getting rows; null: there are none.';
comment on column rota.step_array.staged is
	'Whether elements get rows when they are next to be staged in, and wait for their data, instead of when they start.';

create type rota.step_edge_checked as (job_id bigint, step_id int, kind text, peer_job_id bigint, peer_step_id int,
	condition text, topo int, peer_topo int, state text);
comment on type rota.step_edge_checked is 'The columns of rota.step_edge that the constraint step_edge_is_valid checks.';
create domain rota.step_edge_valid as rota.step_edge_checked
	constraint step_edge_no_cycle check (
		(value).peer_job_id < (value).job_id
		or ((value).peer_job_id = (value).job_id and (value).peer_topo is not null
			and (value).peer_step_id <> (value).step_id
			and ((value).kind <> 'after' or (value).peer_topo < (value).topo)))
	constraint step_edge_is_known check (
		(value).kind in ('after', 'with', 'same_nodes', 'other_nodes')
		and (value).condition in ('ok', 'any', 'fail', 'start', 'corr', 'teardown')
		and (value).state in ('waiting', 'met', 'failed', 'not_needed')
		and ((value).condition <> 'teardown' or ((value).kind = 'after' and (value).peer_step_id = -1)));
comment on domain rota.step_edge_valid is
	'Edges have known kinds, conditions and states. No edge leads to a later job, and no "after" edge leads to a '
	'later step of its job.';
create table rota.step_edge (
	job_id bigint not null,
	step_id int not null,
	edge int not null,
	kind text not null,
	peer_job_id bigint not null,
	peer_step_id int not null default '-1',
	condition text not null default 'ok',
	topo int not null,
	peer_topo int,
	gates boolean not null default true,
	state text not null default 'waiting',
	resolved_at timestamptz,
	line int,
	primary key (job_id, step_id, edge),
	constraint step_edge_is_valid check (
		row(job_id, step_id, kind, peer_job_id, peer_step_id, condition, topo, peer_topo,
			state)::rota.step_edge_checked::rota.step_edge_valid is distinct from null)
) partition by range (job_id);
create index step_edge_by_peer on rota.step_edge (peer_job_id, peer_step_id);
create index step_edge_out on rota.step_edge (peer_job_id, job_id) where peer_job_id <> job_id and state = 'waiting';
create index step_edge_corr on rota.step_edge (job_id) where condition = 'corr';
create index step_edge_corr_peer on rota.step_edge (peer_job_id) where condition = 'corr';
comment on table rota.step_edge is
	'Edges: peer constraints of steps. A step runs after its peer, with its peer, or on the same or on other nodes.';
comment on column rota.step_edge.job_id is 'Job of the step that has the constraint.';
comment on column rota.step_edge.step_id is 'Number of the step that has the constraint.';
comment on column rota.step_edge.edge is 'Number of the edge within its step.';
comment on column rota.step_edge.kind is
	'Kind of the constraint. after: the step runs after its peer; with: both start in one decision; same_nodes, '
	'other_nodes: the step runs on the nodes of its peer, or on others.';
comment on column rota.step_edge.peer_job_id is 'Job of the peer: the job of the step, or an earlier one.';
comment on column rota.step_edge.peer_step_id is 'Number of the peer in its job; -1: the whole job.';
comment on column rota.step_edge.condition is
	'For kind after, what must happen to the peer: ok (it completes), any (it ends), fail (it ends in another state '
	'than completed), start (it starts), corr (each element waits for the corresponding element), teardown (it ends, and '
	'what burst_buffer.lua does with its data, too; of a whole job).';
comment on column rota.step_edge.topo is 'Position of the step in the topological order of its job.';
comment on column rota.step_edge.peer_topo is
	'Position of the peer in the topological order of its job. For kind after within a job it is smaller than topo, '
	'so no cycle can be stored.';
comment on column rota.step_edge.gates is
	'Whether the step is not eligible before the edge is met; false: the scheduler considers the edge when it places '
	'the step (kind with, nodes of such peers, and corr, which is resolved element by element).';
comment on column rota.step_edge.state is
	'State of the edge: waiting, met, failed (can never be met), or not_needed (can never be met because the peer '
	'ended well or was skipped).';
comment on column rota.step_edge.resolved_at is 'When the edge was met or failed; null: the edge is waiting.';
comment on column rota.step_edge.line is 'Line of the script that asks for the edge.';
create function rota.step_edge_references() returns trigger
language plpgsql set search_path = live, rota, pg_temp as $$
declare
	v_loose record;
begin
	select a.job_id, a.step_id, a.edge into v_loose
	from added a
	left join step_request r on r.job_id = a.job_id and r.step_id = a.step_id and r.topo = a.topo
	left join step_request p on p.job_id = a.peer_job_id and p.step_id = a.peer_step_id and p.topo = a.peer_topo
		and a.peer_job_id = a.job_id
	where r.job_id is null or (p.job_id is null and a.peer_job_id = a.job_id and a.peer_topo is not null)
	limit 1;
	if not found and exists (select from added a where a.peer_job_id <> a.job_id) then
		select a.job_id, a.step_id, a.edge into v_loose
		from added a
		left join rota.step_request p on p.job_id = a.peer_job_id and p.step_id = a.peer_step_id and p.topo = a.peer_topo
		where p.job_id is null and a.peer_job_id <> a.job_id and a.peer_topo is not null
		limit 1;
	end if;
	if v_loose.job_id is not null then
		raise exception 'edge % of step % of job % refers to a request that does not exist or has another position',
			v_loose.edge, v_loose.step_id, v_loose.job_id using errcode = '23503';
	end if;
	return null;
end $$;
comment on function rota.step_edge_references() is
	'Trigger function: refuses edges whose step or peer does not exist or has another position in topological order.';

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
	'What the site''s script job_submit has set in jobs, one row for each field that it changed. A job has what the rows say '
	'only as far as nobody has modified it later.';
comment on column rota.job_change.job_id is 'Job that was changed.';
comment on column rota.job_change.change is 'Number of the change in its job, from 1.';
comment on column rota.job_change.at is 'When the change was made: at the submission, or at a modification.';
comment on column rota.job_change.made_by is 'The function that made it: job_submit or job_modify.';
comment on column rota.job_change.field is
	'The field that was set, as the script calls it; environment.NAME: a variable of the environment; '
	'admin_comment: a comment of the site, which is kept only here.';
comment on column rota.job_change.before is
	'What the user had asked for, or what the job had, at most 4096 characters; of a script, its '
	'number of lines and its digest; null: nothing, or a variable, whose value may be a secret.';
comment on column rota.job_change.after is
	'What the script has set, in the same form; null: as if the user had not asked.';

create table rota.authenticator (
	numbered_after bigint not null,
	only_row boolean primary key default true check (only_row)
);
comment on table rota.authenticator is 'What the authenticators of steps cover. The row never changes.';
comment on column rota.authenticator.numbered_after is
	'The authenticators of jobs with higher numbers cover the job''s number, those of the others do not: they were made before.';
comment on column rota.authenticator.only_row is 'Always true: the table has only one row.';
insert into rota.authenticator (numbered_after) values (0);
