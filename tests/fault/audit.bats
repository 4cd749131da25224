#!/usr/bin/env bats
# The audit (audit.sql) finds damage: an instance that has run jobs of every kind passes, and each kind of damage is reported.

load ../system/helper

setup_file() {
	instance_up 3 --cpus 4 --set node.grace=1
	rota admin license create solver --total=2
	rota admin node change n1 --gres=gpu:2
	cat >"$ROTA_TEST_DIR/job.sh" <<-'END'
		#!/bin/bash
		#ROTA step first
		true
		#ROTA step wide --after=first --nodes=2 --ntasks-per-node=1 --run=tasks
		sleep 0.1
		#ROTA step many --after=first --array=0-3 --licenses=solver:1
		true
		#ROTA step left --with=right --gres=gpu:1
		true
		#ROTA step right
		true
		#ROTA step again --retry=1 --after=left
		[ "$ROTA_ATTEMPT" = 2 ]
	END
	(cd "$ROTA_TEST_DIR" && rota wait "$(rota submit --parsable --output=/dev/null --client-key=one job.sh)" &&
		rota wait "$(rota submit --parsable --output=/dev/null job.sh)")
}

teardown_file() {
	instance_down
}

# damaged [DAMAGE]: the audit's output after the SQL of the damage, which is then rolled back.
damaged() {
	psql -X -h "$ROTA_HOME/run" -d rota -U postgres -v ON_ERROR_STOP=1 -qAt -v live="${LIVE:-0}" <<-END
		begin;
		set local session_replication_role = replica;
		set local search_path = rota;
		alter table node_used drop constraint node_used_is_valid;
		alter table license drop constraint license_not_overbooked;
		alter table allocation drop constraint allocation_times_are_in_order;
		alter table attempt drop constraint attempt_times_are_in_order;
		$1;
		\\i $ROTA_SOURCE/tests/fault/audit.sql
		rollback;
	END
}

# seen DAMAGE WHAT...: the audit reports the damage as each of these violations.
seen() {
	local damage=$1 found what
	shift
	found=$(damaged "$damage")
	for what; do
		grep -q "^$what" <<<"$found" || {
			printf 'not seen as "%s": %s\nfound:\n%s\n' "$what" "$damage" "$found" >&2
			return 1
		}
	done
}

@test "an instance that has run and is idle has no violation" {
	[ "$(superuser "select count(*) from rota.step where attempt = 2 and state = 'completed'")" = 2 ]
	[ -z "$(damaged "")" ]
}

@test "double allocations are found" {
	seen "update allocation set cpus = 3 where step_id = 0; update allocation set started_at = started_at - interval '1 hour', cpus = 3 where step_id = 1" \
		"overbooked: more CPUs"
	seen "update allocation set ended_at = ended_at + interval '1 hour', mem_mb = 1000000000 where step_id = 0 and job_id = 1" "overbooked: more memory"
	seen "update allocation set ended_at = ended_at + interval '1 hour', gres = '{\"gpu\": [0]}' where gres <> '{}'" "overbooked: one unit"
	seen "update allocation set licenses = '{\"solver\": 3}' where licenses <> '{}'" "overbooked: more licences"
}

@test "columns that are not the sum of their rows are found" {
	seen "update node_used set cpus_used = 1 where node_id = 2" "the node's used columns" "not over: node in use"
	seen "update node_used set mem_used_mb = 1 where node_id = 2" "the node's used columns"
	seen "update license set used = 1" "the licences used" "not over: licence in use"
	seen "update node_gres set job_id = 1, step_id = 0, attempt = 1 where unit = 1" "a unit's holder" "not over: unit in use"
	seen "update step_array set completed = completed - 1 where job_id = 1" "an array does not count"
	seen "update job set steps_total = 7 where job_id = 1" "a job does not count"
	seen "update job set state = 'failed' where job_id = 1" "a job's state is not the worst"
}

@test "a broken event log, and a state that it does not lead to, are found" {
	seen "delete from event where job_id = 1 and event = 'start' and step_id = 0" "a move begins where" "not exactly one start"
	seen "update step set state = 'failed' where job_id = 1 and step_id = 0" "the log does not end in" "a job's state is not"
	seen "insert into event (job_id, step_id, attempt, from_state, event, to_state, actor)
		select job_id, step_id, attempt, from_state, event, to_state, actor from event where event = 'complete' and job_id = 1" \
		"not exactly one end" "a move begins where"
	seen "update step set ended_at = null where job_id = 1 and step_id = 0" "a step has an end without" "a job does not count" "not over: step"
}

@test "lost, doubled and simultaneous attempts are found" {
	seen "delete from attempt where attempt = 1 and step_id = 0 and job_id = 1" "attempts are not numbered" "an allocation of no attempt" "completed, but its last"
	seen "update attempt set ended_at = ended_at + interval '1 hour' where attempt = 1 and exists (select from attempt t
		where t.job_id = attempt.job_id and t.step_id = attempt.step_id and t.attempt = 2)" "an attempt was placed before" "allocations do not span"
	seen "update attempt set ended_at = null, state = null where attempt = 1 and step_id = 0 and job_id = 1" "a step that is not live has a live" "not over: attempt"
	seen "update attempt set state = 'completed' where state = 'failed'" "an attempt that runs again without" "completed, but not all"
	seen "delete from allocation where job_id = 1 and step_id = 1 and node_index = 1" "not one allocation for each node"
	seen "delete from task_end where job_id = 1 and step_id = 1 and task = 1" "completed, but not all of its tasks"
	seen "update step set array_index = 0 where array_index = 1" "elements of an array share"
}

@test "times that run backwards, or do not lie in what was held, are found" {
	seen "update attempt set started_at = ordered_at - interval '1 s' where job_id = 1 and step_id = 0" "the times of an attempt are out of order"
	seen "update event set at = at - interval '1 hour' where job_id = 1 and step_id = 0 and event_id = (select max(event_id) from event
		where job_id = 1 and step_id = 0); insert into event (job_id, step_id, attempt, at, from_state, event, to_state, actor)
		select job_id, step_id, attempt, at - interval '1 s', from_state, event, to_state, actor from event where job_id = 1 and step_id = 0 and actor = 'node'" \
		"what a node reported of an attempt is out of order"
	seen "update task_end set ended_at = ended_at + interval '1 hour' where job_id = 1" "a task ran while nothing was held" "usage figures are not what was held|task_end"
	seen "update attempt set started_at = started_at + interval '1 us' where job_id = 1 and step_id = 0" "a task started before its attempt"
	seen "insert into hook_run (job_id, step_id, attempt, node_id, hook, ended_at, usec) select job_id, step_id, attempt, node_id, 'site_prolog', started_at, 1000
		from allocation where job_id = 1 and step_id = 0" "a hook ran while its attempt was not"
}

@test "what was held of a node that was not on is found" {
	seen "insert into node_event (node_id, node, at, from_state, to_state, actor) select node_id, 'n', ended_at - (ended_at - started_at) / 2, 'up', 'off', 'test'
		from allocation where job_id = 1 and step_id = 0" "held of a node that was not on"
}

@test "what was held of a node that was rebooted is found" {
	seen "insert into node_reboot (node_id, node, reason, made_by, asap, state, run_id, began_at, ended_at) select node_id, 'n1', 'x', 'root', false, 'done', 1,
		ended_at - interval '1 us', ended_at from allocation where job_id = 1 and step_id = 0" "held of a node that was rebooted"
}

@test "a step that is to start, and of which its node has nothing, is found once it should be mended" {
	what="a step is to start, and its node has nothing of it"
	lost="update attempt set ended_at = null, state = null, outcome = null, started_at = null, done_at = null, ordered_at = ordered_at - interval '1 hour'
			where job_id = 1 and step_id = 0;
		update allocation set phase = 'ordered', ended_at = null, gone_at = null, started_at = started_at - interval '1 hour' where job_id = 1 and step_id = 0"
	seen "$lost" "$what"
	LIVE=1 seen "$lost" "$what"
	# No violation while the launch request exists, the node is away, the leader has had no time to ask the node, or the node has
	# begun the step.
	for unless in "insert into node_order (node_id, kind, job_id, step_id, attempt, body, signature) select node_id, 'launch', job_id, step_id, attempt, '', ''
			from allocation where job_id = 1 and step_id = 0" \
		"update node_lease set lost_at = now()" "update node_lease set expires_at = now() - interval '1 s'" \
		"update attempt set ordered_at = now() - interval '2 minutes' where job_id = 1 and step_id = 0" \
		"update allocation set phase = 'running' where job_id = 1 and step_id = 0"; do
		found=$(damaged "$lost; $unless")
		[[ $found != *"$what"* ]]
	done
}

@test "peers that started before or without each other are found" {
	seen "update attempt set ordered_at = ordered_at - interval '1 hour' where step_id = 1" "placed before the step it waits for" "allocations do not span"
	seen "update event set xid = '1' where event = 'start' and (job_id, step_id) = (select job_id, step_id from step_request where name = 'left' and job_id = 1)" \
		"steps that go together"
}

@test "steps without a request and edges without a step are found" {
	seen "delete from step_request where name = 'left' and job_id = 1" "a step of no request" "an edge of no step"
	seen "delete from job where job_id = 1" "a step of no request"
	seen "update step_edge set topo = 9 where job_id = 1" "an edge of no step"
}

@test "keys without a job and unfinished work are found; unfinished work is no violation of a working instance" {
	seen "update client_key set job_id = 99" "a key stands for a job"
	seen "update job set retry_key = md5('')::uuid" "one submission made several jobs"
	seen "insert into node_order (node_id, kind, job_id, step_id, attempt) values (1, 'go', 1, 0, 1)" "not over: order"
	seen "insert into growth (job_id, grown_job_id, grown_step_id, grown_attempt) values (2, 1, 0, 1)" "not over: growth"
	seen "insert into growth_node (job_id, step_id, attempt, node_id, come_at) values (2, 0, 1, 1, now())" "not over: node of a growth"
	seen "insert into launch_text (job_id, step_id, attempt, node_id, body, signature) values (1, 0, 1, 1, '', '')" "not over: text"
	LIVE=1
	[ -z "$(damaged "insert into node_order (node_id, kind, job_id, step_id, attempt) values (1, 'go', 1, 0, 1)")" ]
	LIVE=0
	seen "update allocation set gone_at = null where job_id = 1 and step_id = 0" "not over: allocation"
	seen "update allocation set ended_at = null, cpus_held = cpus where job_id = 1 and step_id = 0" "not over: allocation" "the node's used columns"
	seen "update job set ended_at = null, state = null, steps_left = 1 where job_id = 1" "not over: job"
}
