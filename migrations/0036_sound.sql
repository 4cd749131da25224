-- Checks of tables that each submission, start and end write, once more: their text is read anew by each statement (35,000 instructions a KiB), and
-- a function in one takes as long for each row as the row itself. A domain's check is read once in a session and costs a row next to nothing; what
-- several columns must be together is a domain over a composite type. The cast is the check: it fails, or the value is what it was, so that "is
-- distinct from null" always holds. (Not asked of what is there: that has been held against those before, which said the same.)
create type rota.job_fact as (steps_total int, steps_left int, ended_at timestamptz, state text);
comment on type rota.job_fact is 'Columns of rota.job that must fit together.';
create domain rota.job_sound as rota.job_fact constraint job_is_sound check (
	(value).steps_left >= 0 and (value).steps_left <= (value).steps_total
	and ((value).steps_left = 0) = ((value).ended_at is not null)
	and ((value).ended_at is null) = ((value).state is null));
comment on domain rota.job_sound is 'A job ends, in some state, when it has no steps left.';
alter table rota.job
	drop constraint job_check, drop constraint job_check1, drop constraint job_check2,
	add constraint job_is_sound check (row(steps_total, steps_left, ended_at, state)::rota.job_fact::rota.job_sound is distinct from null) not valid;

create type rota.request_fact as (step_id int, nodes_min int, nodes_max int, ntasks int, ntasks_per_node int, cpus_per_task int, mem_mb bigint, mem_per_cpu_mb bigint,
	time_limit_s bigint, time_min_s bigint, retry int, sample_s int, auth bytea);
comment on type rota.request_fact is 'Columns of rota.step_request that must be something, or fit together.';
-- least() passes over what is null.
create domain rota.request_sound as rota.request_fact constraint step_request_is_sound check (
	least((value).nodes_min, (value).ntasks, (value).ntasks_per_node, (value).cpus_per_task) >= 1
	and least((value).step_id, (value).retry, (value).sample_s, 86400 - (value).sample_s) >= 0
	and least((value).mem_mb, (value).mem_per_cpu_mb, (value).time_limit_s, (value).time_min_s) >= 0
	and (value).nodes_max >= (value).nodes_min
	and length((value).auth) = 32);
comment on domain rota.request_sound is 'What a step may ask for.';
alter table rota.step_request
	drop constraint step_request_is_sound, drop constraint step_request_check, drop constraint step_request_auth_check,
	add constraint step_request_is_sound check (row(step_id, nodes_min, nodes_max, ntasks, ntasks_per_node, cpus_per_task, mem_mb, mem_per_cpu_mb,
		time_limit_s, time_min_s, retry, sample_s, auth)::rota.request_fact::rota.request_sound is distinct from null) not valid;
-- No key refers to it since 0031, and a step is found by (job_id, step_id).
alter table rota.step_request drop constraint step_request_job_id_step_id_topo_key;

create type rota.step_fact as (step_id int, request_id int, array_index int, state text, held text, end_wanted text, attempt int, deps_waiting int, retries int,
	requeues int);
comment on type rota.step_fact is 'Columns of rota.step that must be something, or fit together.';
create domain rota.step_sound as rota.step_fact constraint step_is_sound check (
	(value).state in ('pending', 'starting', 'prolog', 'running', 'suspended', 'ending', 'completed', 'dependency_failed', 'cancelled', 'preempted', 'deadline',
		'timeout', 'failed', 'out_of_memory', 'node_fail')
	and (value).held in ('', 'user', 'admin', 'system')
	and (value).end_wanted in ('cancel', 'preempt', 'deadline', 'requeue')
	and least((value).step_id, (value).attempt, (value).deps_waiting, (value).retries, (value).requeues) >= 0
	and ((value).array_index is null or (value).step_id > (value).request_id));
comment on domain rota.step_sound is 'The states of rota.step_state, how a step may be held, what it may be wanted to end as (null: no end is wanted), and an array''s elements stand behind it.';
alter table rota.step
	drop constraint step_is_sound, drop constraint step_check,
	add constraint step_is_sound check (row(step_id, request_id, array_index, state, held, end_wanted, attempt, deps_waiting, retries,
		requeues)::rota.step_fact::rota.step_sound is distinct from null) not valid;
drop function rota.step_sound(text, text, text, int);

create type rota.edge_fact as (job_id bigint, step_id int, kind text, peer_job_id bigint, peer_step_id int, "condition" text, topo int, peer_topo int, state text);
comment on type rota.edge_fact is 'Columns of rota.step_edge that must be something, or fit together.';
create domain rota.edge_sound as rota.edge_fact
	constraint step_edge_is_known check ((value).kind in ('after', 'with', 'same_nodes', 'other_nodes') and (value)."condition" in ('ok', 'any', 'fail', 'start', 'corr')
		and (value).state in ('waiting', 'met', 'failed'))
	constraint step_edge_no_cycle check ((value).peer_job_id < (value).job_id or ((value).peer_job_id = (value).job_id and (value).peer_topo is not null
		and ((value).kind <> 'after' or (value).peer_topo < (value).topo) and (value).peer_step_id <> (value).step_id));
comment on domain rota.edge_sound is 'What kinds and states of edges there are; and none leads to a later job, or back.';
alter table rota.step_edge
	drop constraint step_edge_kind_check, drop constraint step_edge_condition_check, drop constraint step_edge_state_check, drop constraint step_edge_no_cycle,
	add constraint step_edge_is_sound check (row(job_id, step_id, kind, peer_job_id, peer_step_id, "condition", topo, peer_topo,
		state)::rota.edge_fact::rota.edge_sound is distinct from null) not valid;

-- The moves that there are: rota.step_transition, in one list, those that come most often first.
create type rota.event_fact as (from_state text, event text, to_state text);
comment on type rota.event_fact is 'A move, of a row of rota.event.';
do $$
begin
	execute format($sql$create domain rota.event_sound as rota.event_fact constraint event_is_move check (
		(value).from_state || ' ' || (value).event || ' ' || (value).to_state in (%s))$sql$, (
			select string_agg(quote_literal(concat_ws(' ', t.from_state, t.event, t.to_state)), ', '
				order by array_position('{submit,start,complete,run,prolog,end,fail,cancel}', t.event) nulls last, t.event, t.from_state)
			from rota.step_transition t));
end $$;
comment on domain rota.event_sound is 'An event leads from a state to a state as rota.step_transition says.';
alter table rota.event
	drop constraint event_is_move,
	add constraint event_is_sound check (row(from_state, event, to_state)::rota.event_fact::rota.event_sound is distinct from null) not valid;
drop function rota.move_known(text, text, text);
