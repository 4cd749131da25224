-- Schema api has the functions that daemons call; functions that these call are in schema internal. Schema acct has views of the
-- accounting. Schema live (live.sql) has the tables of jobs without old ranges. Each upgrade that changes them drops all four and
-- builds them anew, so nothing in schema rota depends on them. Functions refer to each other in both directions, so bodies are
-- not checked when they are created; the tests check them.
set local check_function_bodies = off;

-- Functions on the hot path are plpgsql even if they only read: plpgsql caches its plans, while `language sql` plans anew at
-- every call, which over partitioned tables costs more than the query.
create schema api;
comment on schema api is 'Functions that daemons call, for themselves and for clients.';
create schema internal;
comment on schema internal is
	'Functions, views and types that the functions of schemas api and acct use; no role calls them directly.';
create schema acct;
comment on schema acct is 'Views and functions about jobs, nodes and usage, for analysts and readers.';
alter default privileges in schema api, internal revoke execute on functions from public;
alter default privileges revoke execute on functions from public;

create type internal.move as (
	job_id bigint,
	step_id int,
	event text,
	at timestamptz,
	cause text,
	exit_code int,
	signal int,
	message text
);
comment on type internal.move is 'An event of a step, as argument of internal.step_move.';

create type internal.attempt_key as (job_id bigint, step_id int, attempt int);
comment on type internal.attempt_key is 'Key of one attempt.';

create type internal.attempt_node as (job_id bigint, step_id int, attempt int, node_id int);
comment on type internal.attempt_node is 'An attempt on one of its nodes.';

create type internal.move_made as (
	job_id bigint,
	step_id int,
	request_id int,
	array_index int,
	attempt int,
	from_state text,
	event text,
	to_state text,
	final boolean
);
comment on type internal.move_made is 'An event that changed a step, as internal.step_move returns it.';

create type internal.element as (job_id bigint, request_id int, pos int);
comment on type internal.element is 'Key of an array element: job, head of the array, position.';

create type internal.index_ranges as (lows int[], highs int[], steps int[], befores int[]);
comment on type internal.index_ranges is 'The ranges of an array''s indices, each with the number of indices before it.';

create type internal.offer as (
	job_id bigint,
	step_id int,
	request_id int,
	association_id int,
	partition text,
	priority int,
	rank bigint,
	version xid,
	next int,
	skip int[],
	over int,
	free_slots int
);
comment on type internal.offer is
	'A step that may start. association_id, partition and rank: its position in the queue; priority: priority of its '
	'partition; version: version of its row. For an array, next and skip: which positions have begun; over: elements that '
	'have ended; free_slots: elements that may start.';

create type internal.queue_line as (association_id int, partition text);
comment on type internal.queue_line is 'The waiting steps of an association in a partition. They are under the same limits.';

create type internal.line_limit as (
	association_id int,
	partition text,
	limit_id int,
	whose text,
	measure text,
	most bigint,
	held numeric,
	ends_at timestamptz
);
comment on type internal.line_limit is
	'A limit that applies to a queue line. whose: the user, if each user has the limit by himself; held: amount used; '
	'ends_at: end of the limit''s period.';

create type internal.limit_index as (limit_index int, measure text, most bigint, held numeric, ends_at timestamptz);
comment on type internal.limit_index is
	'A limit of one queue line with its index. A limit that each user has by himself has one index for each user.';

create type internal.line_scan as (association_id int, partition text, part int, priority int, boost_ms bigint, rows int,
	most int, limits internal.limit_index[], tops jsonb);
comment on type internal.line_scan is
	'How far a queue line is read. part: number of its partition; boost_ms: milliseconds by which fair share changes its '
	'ranks; rows: number of rows to read; most: upper bound of its rows (null: none); limits: the limits that apply to it; '
	'tops: the lowest limit of each measure.';

create type internal.candidate as (
	job_id bigint,
	step_id int,
	association_id int,
	partition text,
	priority int,
	rank bigint,
	version xid,
	free_slots int,
	line int,
	part int,
	unread boolean,
	limits int[],
	lead int,
	takes int[],
	needs numeric[],
	fits boolean
);
comment on type internal.candidate is
	'A step that limits may keep from being offered. takes, needs: how much of which limits it needs; unread: its queue '
	'line, to which limits apply, has more rows after it; lead: the first of the steps with which it starts, which needs the '
	'amounts of all of them; fits: no limit is lower than its need.';

create type internal.step_size as (cpus bigint, nodes int, gres jsonb, time_limit_s bigint, billing numeric);
comment on type internal.step_size is
	'The resources that a step needs: gres in total, {"gpu": 4}; time limit 0: none; billing: billing units per hour, null: '
	'not computed.';

create type internal.node_figures as (
	peak_mb bigint,
	cgroup_peak_mb bigint,
	cpu_usec bigint,
	system_usec bigint,
	node_uj bigint
);
comment on type internal.node_figures is
	'Resource use of an attempt on a node, in columns named as in rota.allocation; node_uj: microjoules that the whole node '
	'used in that time. Null: unknown.';

create type internal.allocation_end as (
	job_id bigint,
	step_id int,
	attempt int,
	node_id int,
	at timestamptz,
	gone boolean,
	figures internal.node_figures,
	began_at timestamptz,
	boot_at timestamptz
);
comment on type internal.allocation_end is
	'An allocation that ends. at: when (null: now); gone: the attempt has left the node; figures: its resource use, null if '
	'the node does not report that; began_at: when its keeper started on the node (null: not in this report; an earlier '
	'report may have it); boot_at: as in rota.allocation.';
create type internal.slot_element as (
	node_id int,
	job_id bigint,
	request_id int,
	step_id int,
	attempt int,
	ended_at timestamptz,
	started_at timestamptz,
	held boolean,
	kept boolean,
	begun boolean,
	began_at timestamptz
);
comment on type internal.slot_element is
	'An element of an array on a node, and its CPUs. ended_at: end of its allocation (null: it does not end); held: it holds '
	'CPUs; kept: it is not known to have used them before, so another element may have taken them; begun, began_at: it has '
	'started, and when (null: unknown).';
create type internal.slot_move as (
	job_id bigint,
	step_id int,
	attempt int,
	node_id int,
	ended boolean,
	slot_at timestamptz
);
comment on type internal.slot_move is
	'A pre-dispatched allocation and the CPUs that it takes over from another element of its array. ended: the allocation '
	'ends with this report; slot_at: since when the CPUs are free (null: it has none), but for an element that has started '
	'not before it was ordered.';

create type internal.allocation_start as (
	job_id bigint,
	step_id int,
	attempt int,
	node_id int,
	node_index int,
	cpus int,
	mem_mb bigint,
	gres jsonb,
	licenses jsonb,
	tasks int,
	prolog_owner boolean,
	phase text,
	started_at timestamptz,
	predispatched boolean,
	waits boolean
);
comment on type internal.allocation_start is
	'An allocation that begins: columns of rota.allocation. waits: it is pre-dispatched, and the node has no CPUs for it '
	'yet.';

create type internal.attempt_fact as (
	job_id bigint,
	step_id int,
	attempt int,
	started_at timestamptz,
	session_id int,
	done_at timestamptz,
	outcome text,
	cause text,
	message text,
	exit_code int,
	signal int
);
comment on type internal.attempt_fact is 'New facts about an attempt: columns of rota.attempt; null: nothing new.';

create type internal.attempt_end as (
	job_id bigint,
	step_id int,
	request_id int,
	array_index int,
	event text,
	outcome text,
	at timestamptz,
	cause text,
	exit_code int,
	signal int,
	message text,
	saved boolean
);
comment on type internal.attempt_end is
	'An attempt that is over, with the event of its step that follows. saved: for a step with checkpoints that is queued '
	'again, whether the attempt has left a checkpoint; null: any other step.';

create type internal.attempt_report as (
	node_id int,
	job_id bigint,
	step_id int,
	attempt int,
	seq bigint,
	boot_at timestamptz,
	keeper_at timestamptz,
	ready boolean,
	run_at timestamptz,
	session_id int,
	done_at timestamptz,
	refused boolean,
	outcome text,
	cause text,
	message text,
	exit_code int,
	signal int,
	end_at timestamptz,
	figures internal.node_figures,
	drain text,
	phase text,
	live boolean,
	open boolean,
	single boolean,
	brief boolean,
	waits boolean,
	paused boolean,
	tasked boolean,
	hooked boolean,
	new_count int,
	unexpected boolean,
	given_back boolean,
	began_at timestamptz
);
comment on type internal.attempt_report is
	'The content of one report about an attempt on a node, in one row, with the facts that were known before. phase, open: '
	'of the allocation; live, single: the attempt is live, and has one node only; brief: the report has its end and no '
	'pause; waits: it is pre-dispatched and was not known to have started; boot_at: as in rota.allocation, all times are '
	'computed with it; paused, tasked, hooked: the report has records of pauses, tasks, hooks; new_count: number of new '
	'records; unexpected: some records may have to be rejected; given_back: the attempt gave the node back; began_at: the '
	'earliest start of keeper or tasks in the report.';

create type internal.report_content as (
	boot_at timestamptz,
	records jsonb,
	coalesced jsonb
);
comment on type internal.report_content is
	'Records and coalesced records of a report, in the form of api.node_report. boot_at: when the clock of the node was 0, '
	'as the node estimated it for this report; times in the records count from there.';

create type internal.preempt_victim as (
	job_id bigint,
	step_id int,
	attempt int,
	tier int,
	lost_s double precision,
	mode text,
	grace_s int
);
comment on type internal.preempt_victim is 'A step that may be preempted, see internal.preempt_candidates.';

create type internal.preempt_taken as (
	job_id bigint,
	step_id int,
	attempt int,
	lost_s double precision,
	mode text,
	grace_s int,
	by_job_id bigint,
	by_step_id int,
	by_label text
);
comment on type internal.preempt_taken is 'A step that is preempted, and the first step of the pick for which it is preempted.';

create type internal.db_finding as (
	item text,
	state text,
	value text,
	hint text
);
comment on type internal.db_finding is 'A finding of a check of the database; state: ok, warning or bad.';

create type internal.start_decision as (
	job_id bigint,
	step_id int,
	request_id int,
	pos int,
	attempt int,
	time_limit_s bigint,
	ends_on_node_loss boolean,
	node_ids int[],
	allocations jsonb,
	bound boolean
);
comment on type internal.start_decision is
	'A start that the scheduler decided. pos: position of an array element without a row; bound: the step has peers, by '
	'edges of its own or of other steps.';

create type internal.planned_step as (
	step_id int,
	name text,
	line int,
	lines jsonb,
	topo int,
	partition text,
	nodes_min int,
	nodes_max int,
	ntasks int,
	ntasks_per_node int,
	cpus_per_task int,
	mem_mb bigint,
	mem_per_cpu_mb bigint,
	gres jsonb,
	licenses jsonb,
	exclusive boolean,
	"constraint" text,
	nodelist text[],
	exclude text[],
	time_limit_s bigint,
	time_min_s bigint,
	begin_at double precision,
	deadline_at double precision,
	"array" jsonb,
	requeue boolean,
	retry int,
	hold boolean,
	"group" text,
	keep jsonb,
	deps_any boolean,
	with_set int,
	spec text,
	spec_end int,
	auth text,
	sample_s int,
	reservation text,
	image text,
	checkpoint jsonb,
	eternal boolean,
	prep text
);
comment on type internal.planned_step is
	'A step as the translator plans it: a member of "steps" of a plan, with defaults from "common". Members are named like '
	'columns of rota.step_request. Times are seconds since 1970, auth is hex. spec is followed by the last spec_end '
	'characters of the plan''s "spec_end" (null: by all of it).';

create type internal.submit_facts as (
	job_id bigint,
	account text,
	points int,
	tier int,
	is_closed boolean,
	point_ms bigint,
	association_id int,
	script_hash bytea,
	script boolean,
	environment_hash bytea,
	environment boolean,
	limited boolean,
	free bigint
);
comment on type internal.submit_facts is
	'Facts that the database has before a submission is stored. job_id: the job that its client key has made already; '
	'account: the named one, or the owner''s default; points, tier: of its quality of service; is_closed: not all users may '
	'use that quality of service; point_ms: milliseconds that each point weighs; association_id: of steps without generic '
	'resources; script_hash, environment_hash: SHA-256 of both, and whether each is stored already (script, environment); '
	'limited: there are limits of submitted steps; free: how many more steps the limits of the site admit at least, null: '
	'unknown.';

create type internal.submit_queue as (partition text, association_id int, associations jsonb, rank bigint);
comment on type internal.submit_queue is
	'Where a submission stands in the queue. partition: partition of steps that name none; association_id: association of '
	'all steps, or associations: by the generic resources that each step asks for.';

create type internal.acct_filter as (
	uid int,
	users text[],
	accounts text[],
	qoses text[],
	names text[],
	nodes text[],
	partitions text[],
	states text[],
	in_steps boolean,
	in_attempts boolean,
	since timestamptz,
	until timestamptz
);
comment on type internal.acct_filter is
	'Filter of the jobs for the accounting; null: any. uid: owner of the job; in_steps, in_attempts: also jobs of which only '
	'a step, or an attempt, is in one of the states; since, until: the job was live at some time between them.';

-- Constructors. internal.TYPE_of(column => value, ...) makes a row of a type; columns that are not named are null. A constructor
-- has no settings of its own, so that the planner inlines it. format() writes the constructors from the columns of the types,
-- since each would be this list three times, in an order that nobody checks.
do $$
declare
	v_type regclass;
begin
	foreach v_type in array array['internal.move', 'internal.allocation_start', 'internal.allocation_end',
		'internal.node_figures', 'internal.attempt_fact', 'internal.attempt_end', 'internal.attempt_report', 'rota.substep',
		'rota.session']::regclass[] loop
		execute (
			select format('create function internal.%I(%s) returns %s language sql immutable return row(%s)::%3$s',
				c.relname || '_of', string_agg(format('%I %s default null', a.attname, format_type(a.atttypid, a.atttypmod)), ', '
					order by a.attnum), v_type, string_agg(quote_ident(a.attname), ', ' order by a.attnum))
			from pg_class c
			join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
			where c.oid = v_type
			group by c.relname);
		execute format('comment on function internal.%I is %L', (select c.relname || '_of' from pg_class c where c.oid = v_type),
			format('A row of %s, by the names of its columns.', v_type));
	end loop;
end $$;
