-- What was submitted: jobs, their scripts, their steps as asked for, and the constraints between them. Big tables are
-- range-partitioned by job id, so old ranges go cold by themselves; api.range_ensure makes the ranges ahead of need.

create function rota.never_deleted() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
	raise exception 'rows of "%" are never %', tg_table_name, case tg_op when 'UPDATE' then 'changed' else 'deleted' end
		using errcode = '23001', hint = 'Retention detaches whole partitions.';
end $$;
comment on function rota.never_deleted() is 'Refuses a DELETE or TRUNCATE (or UPDATE) on a table whose rows stay for ever.';

create table rota.script (
	hash bytea primary key check (length(hash) = 32),
	body bytea not null,
	check (hash = sha256(body))
);
alter table rota.script alter column body set storage external;
comment on table rota.script is 'Scripts, each stored once under its SHA-256.';
comment on column rota.script.hash is 'SHA-256 of the body.';
comment on column rota.script.body is 'The script''s bytes.';

create table rota.environment (
	hash bytea primary key check (length(hash) = 32),
	body bytea not null,
	check (hash = sha256(body))
);
comment on table rota.environment is 'Environments that jobs were submitted with, each stored once under its SHA-256; private to their owners.';
comment on column rota.environment.hash is 'SHA-256 of the body.';
comment on column rota.environment.body is 'NAME=value strings, each ended by a zero byte.';

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
	check (steps_left between 0 and steps_total),
	check ((steps_left = 0) = (ended_at is not null)),
	check ((ended_at is null) = (state is null))
) partition by range (job_id);
create index job_live on rota.job (uid, job_id) where ended_at is null;
create index job_by_user on rota.job (user_name, job_id);
create index job_by_time on rota.job using brin (submit_at);
comment on table rota.job is 'What a user submitted: one script, one or more steps.';
comment on column rota.job.job_id is 'Id, never reused: always generated, and its row is never deleted.';
comment on column rota.job.name is 'Name for people.';
comment on column rota.job.uid is 'Owner, from the munge credential.';
comment on column rota.job.gid is 'Group of the owner when submitting, from the munge credential.';
comment on column rota.job.user_name is 'Owner''s login name.';
comment on column rota.job.account is 'Account that pays; null: none.';
comment on column rota.job.qos is 'Quality of service.';
comment on column rota.job.priority is 'Points of priority given by an operator.';
comment on column rota.job.nice is 'Points of priority that the owner gave up.';
comment on column rota.job.script_hash is 'The script, in rota.script.';
comment on column rota.job.environment_hash is 'The environment, in rota.environment.';
comment on column rota.job.script_name is 'Name of the script file at submission.';
comment on column rota.job.workdir is 'Working directory at submission.';
comment on column rota.job.comment is 'The owner''s comment.';
comment on column rota.job.mail_user is 'Address for mail about the job.';
comment on column rota.job.mail_type is 'Events the owner wants mail about, as written.';
comment on column rota.job.submit_at is 'When it was submitted.';
comment on column rota.job.steps_total is 'Steps of the script; an array counts as one.';
comment on column rota.job.steps_left is 'Those of them that are not final.';
comment on column rota.job.started_at is 'When its first step was started.';
comment on column rota.job.ended_at is 'When its last step ended; null: live.';
comment on column rota.job.state is 'Worst state of its steps, once it has ended.';
comment on column rota.job.exit_code is 'Highest exit code of its steps, once it has ended.';
comment on column rota.job.signal is 'Signal that ended the step with the worst state, once it has ended.';
comment on column rota.job.cause is 'Cause of the step with the worst state, once it has ended.';

create table rota.client_key (
	uid int not null,
	client_key text not null check (length(client_key) between 1 and 128),
	job_id bigint not null,
	made_at timestamptz not null default now(),
	primary key (uid, client_key)
);
comment on table rota.client_key is 'Keys by which a repeated submission is known as the same one.';
comment on column rota.client_key.uid is 'Submitting user.';
comment on column rota.client_key.client_key is 'Key that the client chose.';
comment on column rota.client_key.job_id is 'Job that it made.';
comment on column rota.client_key.made_at is 'When.';

create table rota.step_request (
	job_id bigint not null references rota.job,
	step_id int not null check (step_id >= 0),
	name text not null,
	line int not null,
	topo int not null,
	partition text not null,
	nodes_min int not null check (nodes_min >= 1),
	nodes_max int check (nodes_max >= nodes_min),
	ntasks int not null check (ntasks >= 1),
	ntasks_per_node int check (ntasks_per_node >= 1),
	cpus_per_task int not null check (cpus_per_task >= 1),
	mem_mb bigint check (mem_mb >= 0),
	mem_per_cpu_mb bigint check (mem_per_cpu_mb >= 0),
	gres jsonb not null default '{}',
	licenses jsonb not null default '{}',
	exclusive boolean not null default false,
	"constraint" text not null default '',
	nodelist text[] not null default '{}',
	exclude text[] not null default '{}',
	time_limit_s bigint check (time_limit_s >= 0),
	time_min_s bigint check (time_min_s >= 0),
	begin_at timestamptz,
	deadline_at timestamptz,
	requeue boolean not null default true,
	retry int not null default 0 check (retry >= 0),
	group_name text,
	keep jsonb not null default '{}',
	deps_any boolean not null default false,
	with_set int,
	spec text not null,
	auth bytea not null check (length(auth) = 32),
	primary key (job_id, step_id),
	unique (job_id, step_id, topo),
	unique (job_id, name)
) partition by range (job_id);
comment on table rota.step_request is 'A step of a script as it was asked for; an array''s elements share one row.';
comment on column rota.step_request.job_id is 'The job.';
comment on column rota.step_request.step_id is 'The step; for an array, its head.';
comment on column rota.step_request.name is 'Name in the script.';
comment on column rota.step_request.line is 'Line of the script that begins it.';
comment on column rota.step_request.topo is 'Position in an order in which every step comes behind those it waits for; edges are checked by it, so no cycle can be stored.';
comment on column rota.step_request.partition is 'Partition it is to run in.';
comment on column rota.step_request.nodes_min is 'Fewest nodes.';
comment on column rota.step_request.nodes_max is 'Most nodes; null: as many as its tasks need.';
comment on column rota.step_request.ntasks is 'Tasks, over all nodes.';
comment on column rota.step_request.ntasks_per_node is 'Tasks on each node; null: as they fit.';
comment on column rota.step_request.cpus_per_task is 'CPUs for each task.';
comment on column rota.step_request.mem_mb is 'Memory on each node, in MiB; null: see mem_per_cpu_mb.';
comment on column rota.step_request.mem_per_cpu_mb is 'Memory for each CPU, in MiB; null: not tracked unless mem_mb says so.';
comment on column rota.step_request.gres is 'Generic resources on each node: {"gpu": 2}.';
comment on column rota.step_request.licenses is 'Licences for the step: {"matlab": 1}.';
comment on column rota.step_request.exclusive is 'Whether it wants its nodes for itself.';
comment on column rota.step_request."constraint" is 'Expression over node features; empty: any node.';
comment on column rota.step_request.nodelist is 'Nodes that must be among its nodes.';
comment on column rota.step_request.exclude is 'Nodes it must not run on.';
comment on column rota.step_request.time_limit_s is 'Time limit in seconds; 0: none; null: the partition''s.';
comment on column rota.step_request.time_min_s is 'Shortest time limit with which it may be started by backfill; null: its limit is not shortened.';
comment on column rota.step_request.begin_at is 'Not to be started before.';
comment on column rota.step_request.deadline_at is 'To end before; a step that no longer can ends in state deadline.';
comment on column rota.step_request.requeue is 'Whether it may run again after the loss of a node.';
comment on column rota.step_request.retry is 'How often it is run again after a failure of its own.';
comment on column rota.step_request.group_name is 'Job group: prolog and epilog run once on a node for all steps of it.';
comment on column rota.step_request.keep is 'What it keeps while suspended: {"mem": true, "gres": true, "licenses": true, "cpus": false}.';
comment on column rota.step_request.deps_any is 'Whether one of its "after" edges is enough (?), instead of all (,).';
comment on column rota.step_request.with_set is 'Steps of a job with the same number are started in one decision; null: alone.';
comment on column rota.step_request.spec is 'What the node is to run, in the form of docs/formats.md; covered by auth.';
comment on column rota.step_request.auth is 'HMAC by jobmgrd over owner, script, environment and spec; without it no order is signed.';

create table rota.step (
	job_id bigint not null,
	step_id int not null check (step_id >= 0),
	request_id int not null,
	array_index int,
	state text not null default 'pending' references rota.step_state,
	attempt int not null default 0 check (attempt >= 0),
	held text not null default '' check (held in ('', 'user', 'admin', 'system')),
	held_reason text,
	deps_waiting int not null default 0 check (deps_waiting >= 0),
	rank bigint not null,
	begin_at timestamptz,
	start_by timestamptz,
	eligible_at timestamptz,
	retries int not null default 0 check (retries >= 0),
	requeues int not null default 0 check (requeues >= 0),
	ordered_at timestamptz,
	started_at timestamptz,
	ended_at timestamptz,
	exit_code int,
	signal int,
	cause text,
	message text,
	end_wanted text check (end_wanted in ('cancel', 'preempt', 'deadline', 'requeue')),
	resume_wanted boolean not null default false,
	primary key (job_id, step_id),
	foreign key (job_id, request_id) references rota.step_request (job_id, step_id),
	check ((array_index is null) or (step_id > request_id))
) partition by range (job_id) ;
create index step_eligible on rota.step (rank desc, job_id, step_id)
	where state = 'pending' and deps_waiting = 0 and held = '';
create index step_head on rota.step (rank desc, job_id, step_id)
	where state = 'running' and attempt = 0;
create index step_timed on rota.step (start_by) where start_by is not null and ended_at is null;
create index step_later on rota.step (begin_at) where begin_at is not null and state = 'pending';
create index step_resuming on rota.step (rank desc, job_id, step_id) where resume_wanted;
create index step_live on rota.step (job_id, step_id) where ended_at is null;
comment on table rota.step is 'A step as it stands: the one row whose state says what is going on. Array elements get theirs when they start.';
comment on column rota.step.job_id is 'The job.';
comment on column rota.step.step_id is 'The step in its job: script steps in order; the element at position p of an array has the head''s number + 1 + p.';
comment on column rota.step.request_id is 'Its row in rota.step_request: itself, or the head of its array.';
comment on column rota.step.array_index is 'Index of an array element; null: not an element.';
comment on column rota.step.state is 'Its state; written by api.step_move only.';
comment on column rota.step.attempt is 'Its latest attempt; 0: never started. Orders and reports name it, and what names another one is stray.';
comment on column rota.step.held is 'By whom it is held: empty, user, admin or system.';
comment on column rota.step.held_reason is 'Why it is held.';
comment on column rota.step.deps_waiting is 'Unmet dependencies; 0: none stands in its way.';
comment on column rota.step.rank is 'Place in the queue, higher first: seconds of priority less the time of submission, so it never has to be rewritten as time passes.';
comment on column rota.step.begin_at is 'Not to be started before: as asked for, or after a requeue.';
comment on column rota.step.start_by is 'Latest start with which it can still end before its deadline; null: no deadline.';
comment on column rota.step.eligible_at is 'When nothing but resources stood in its way any more.';
comment on column rota.step.retries is 'How often it was run again after a failure of its own.';
comment on column rota.step.requeues is 'How often it was run again for another reason.';
comment on column rota.step.ordered_at is 'When the scheduler placed its latest attempt.';
comment on column rota.step.started_at is 'When the first task of its latest attempt started.';
comment on column rota.step.ended_at is 'When it reached a final state.';
comment on column rota.step.exit_code is 'Highest exit code of its tasks, 0 to 255.';
comment on column rota.step.signal is 'Signal that ended a task of it; null: none.';
comment on column rota.step.cause is 'What ended it: exit, signal, time_limit, out_of_memory, cancelled, preempted, deadline, launch, prolog, refused, node, shutdown, dependency.';
comment on column rota.step.message is 'The cause in words.';
comment on column rota.step.end_wanted is 'The event that its end will count as, when somebody asked for that end.';
comment on column rota.step.resume_wanted is 'Whether a suspended step is to go on as soon as its CPUs are free.';

create table rota.step_array (
	job_id bigint not null,
	step_id int not null,
	indices jsonb not null,
	size int not null check (size >= 1),
	max_running int check (max_running >= 1),
	by_corr boolean not null default false,
	next int not null default 0,
	skip int[] not null default '{}',
	running int not null default 0 check (running >= 0),
	completed int not null default 0 check (completed >= 0),
	failed int not null default 0 check (failed >= 0),
	rest_state text references rota.step_state,
	primary key (job_id, step_id),
	foreign key (job_id, step_id) references rota.step_request (job_id, step_id),
	check (next between 0 and size),
	check (running + completed + failed <= size)
) partition by range (job_id);
comment on table rota.step_array is 'The progress of an array: its elements are rows only from their start on.';
comment on column rota.step_array.job_id is 'The job.';
comment on column rota.step_array.step_id is 'The array''s head.';
comment on column rota.step_array.indices is 'Its indices, as ranges [low, high, step] in the order of positions.';
comment on column rota.step_array.size is 'Number of elements.';
comment on column rota.step_array.max_running is 'Most elements at once; null: any number.';
comment on column rota.step_array.by_corr is 'Whether elements become rows when the element they correspond to has ended, instead of when they start.';
comment on column rota.step_array.next is 'First position that has not become a row in order.';
comment on column rota.step_array.skip is 'Positions from next on that have become rows out of order (by a cancel, say).';
comment on column rota.step_array.running is 'Elements that are rows and hold an allocation.';
comment on column rota.step_array.completed is 'Elements that completed.';
comment on column rota.step_array.failed is 'Elements that ended in any other way.';
comment on column rota.step_array.rest_state is 'State of the elements that ended before they became rows; null: there are none.';

create table rota.step_edge (
	job_id bigint not null,
	step_id int not null,
	edge int not null,
	kind text not null check (kind in ('after', 'with', 'same_nodes', 'other_nodes')),
	peer_job_id bigint not null,
	peer_step_id int not null default -1,
	"condition" text not null default 'ok' check ("condition" in ('ok', 'any', 'fail', 'start', 'corr')),
	topo int not null,
	peer_topo int,
	gates boolean not null default true,
	state text not null default 'waiting' check (state in ('waiting', 'met', 'failed')),
	settled_at timestamptz,
	line int,
	primary key (job_id, step_id, edge),
	foreign key (job_id, step_id, topo) references rota.step_request (job_id, step_id, topo),
	constraint step_edge_peer_exists foreign key (peer_job_id, peer_step_id, peer_topo) references rota.step_request (job_id, step_id, topo),
	constraint step_edge_no_cycle check (peer_job_id < job_id or (peer_job_id = job_id and peer_topo is not null
		and (kind <> 'after' or peer_topo < topo) and peer_step_id <> step_id))
) partition by range (job_id);
create index step_edge_by_peer on rota.step_edge (peer_job_id, peer_step_id);
create index step_edge_out on rota.step_edge (peer_job_id, job_id) where peer_job_id <> job_id and state = 'waiting';
create index step_edge_corr on rota.step_edge (job_id) where "condition" = 'corr';
create index step_edge_corr_peer on rota.step_edge (peer_job_id) where "condition" = 'corr';
comment on table rota.step_edge is 'Peer constraints: this step after, with, on the same or on other nodes than its peer.';
comment on column rota.step_edge.job_id is 'Job of the step that is bound.';
comment on column rota.step_edge.step_id is 'The step that is bound.';
comment on column rota.step_edge.edge is 'Number of the edge within its step.';
comment on column rota.step_edge.kind is 'after: order; with: started in one decision; same_nodes; other_nodes.';
comment on column rota.step_edge.peer_job_id is 'Job of the peer: this one, or an earlier one.';
comment on column rota.step_edge.peer_step_id is 'The peer; -1: the whole of another job.';
comment on column rota.step_edge."condition" is 'For after: ok (completed), any (ended), fail (ended otherwise than completed), start (has started), corr (element by element).';
comment on column rota.step_edge.topo is 'The step''s position in topological order.';
comment on column rota.step_edge.peer_topo is 'The peer''s; for after within a job it is smaller, so a cycle cannot be stored.';
comment on column rota.step_edge.gates is 'Whether the step is not eligible before it is met; false: what the placement itself sees to (with, and nodes among such peers; corr, element by element).';
comment on column rota.step_edge.state is 'waiting, met, or failed: can never be met.';
comment on column rota.step_edge.settled_at is 'When it was met or failed.';
comment on column rota.step_edge.line is 'Line of the script that asks for it.';
