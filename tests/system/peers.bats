#!/usr/bin/env bats
# Peers on real nodes: order, starting together, same and other nodes, arrays, retries. Outcomes are read in SQL, from the
# event log and the attempts, never from the scripts' own output.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	instance_up 4 --cpus 4 --mem 4000 --set node.grace=1
}

teardown_file() {
	instance_down
}

# After a test that failed: none of its jobs is left.
teardown() {
	[ -n "${BATS_TEST_COMPLETED:-}" ] || rota cancel -q --me || true
}

# submit SCRIPT-TEXT [OPTIONS...]: prints the job's id.
submit() {
	local text=$1
	shift
	printf '%s\n' "$text" >"$BATS_TEST_TMPDIR/job.sh"
	cd "$BATS_TEST_TMPDIR" && rota submit --parsable "$@" job.sh
}

@test "every peer kind at once: the event log proves order, togetherness and nodes" {
	job=$(submit '#!/bin/bash
#ROTA --job-name=peers --time=5:00
#ROTA step first --nodes=2
sleep 0.2
#ROTA step follow --after=first --same-nodes=first
sleep 0.2
#ROTA step apart --after=first --other-nodes=first --nodes=2
sleep 0.2
#ROTA step left --after=first
sleep 0.3
#ROTA step right --with=left
sleep 0.3
#ROTA step bad --after=first
exit 3
#ROTA step mend --after=bad:fail
true
#ROTA step never --after=bad
true
#ROTA step either --after=bad?follow
true
#ROTA step tidy --after=never:any,right:any
true
#ROTA step handler --after=follow:fail
true
#ROTA step handled --after=handler
true')
	run -3 rota wait "$job"
	run sql "select string_agg(r.name || '=' || s.state, ' ' order by r.name) from rota.step s join rota.step_request r using (job_id, step_id) where job_id = $job"
	[ "$output" = "apart=completed bad=failed either=completed first=completed follow=completed handled=skipped handler=skipped left=completed mend=completed never=dependency_failed right=completed tidy=completed" ]

	# Order: no step is placed before the end of its dependencies.
	run sql "
		select count(*) from rota.step_edge e
		join rota.event f on f.job_id = e.job_id and f.step_id = e.step_id and f.event = 'start'
		join rota.step p on p.job_id = e.peer_job_id and p.step_id = e.peer_step_id
		where e.job_id = $job and e.kind = 'after' and e.state = 'met' and e.condition in ('ok', 'fail', 'any')
			and f.event_id < (select max(x.event_id) from rota.event x where x.job_id = p.job_id and x.step_id = p.step_id)
			and not (select r.deps_any from rota.step_request r where r.job_id = e.job_id and r.step_id = e.step_id)"
	[ "$output" = 0 ]
	# Together: both were placed in one transaction.
	run sql "select count(distinct e.xid) || ' ' || count(*) from rota.event e join rota.step_request r using (job_id, step_id)
		where e.job_id = $job and r.name in ('left', 'right') and e.event = 'start'"
	[ "$output" = "1 2" ]
	# Nodes.
	run sql "select bool_and(case e.kind when 'same_nodes' then a.node_ids @> p.node_ids and a.node_ids <@ p.node_ids else not a.node_ids && p.node_ids end)
		from rota.step_edge e join rota.attempt a using (job_id, step_id)
		join rota.attempt p on p.job_id = e.peer_job_id and p.step_id = e.peer_step_id
		where e.job_id = $job and e.kind in ('same_nodes', 'other_nodes')"
	[ "$output" = t ]
}

@test "plain steps without any peer run one after the other" {
	job=$(submit '#!/bin/bash
#ROTA step one
true
#ROTA step two
true
#ROTA step three
true')
	rota wait "$job"
	run sql "select string_agg(r.name, ' ' order by e.event_id) from rota.event e join rota.step_request r using (job_id, step_id)
		where e.job_id = $job and (e.event = 'start' or e.to_state = 'completed')"
	[ "$output" = "one one two two three three" ]
}

@test "nodes are reserved for --same-nodes while others wait for them" {
	first=$(submit '#!/bin/bash
#ROTA --nodelist=n1 --time=1:00
#ROTA step hold --ntasks=4
sleep 1
#ROTA step next --after=hold --same-nodes=hold --ntasks=4
sleep 0.2')
	rival=$(submit '#!/bin/bash
#ROTA --nodelist=n1 --ntasks=4 --time=1:00
true')
	rota wait "$first"
	rota wait "$rival"
	run sql "select (select min(at) from rota.event where job_id = $first and step_id = 1 and event = 'start')
		< (select min(at) from rota.event where job_id = $rival and event = 'start')"
	[ "$output" = t ]
}

@test "steps that can have no nodes together are refused with the line" {
	refused "job.sh:3: --same-nodes: the step needs 1 node (--same-nodes=a); by --nodelist of the steps on the same nodes, 0 are left" \
		submit $'#!/bin/bash\n#ROTA step a --nodelist=n1\n#ROTA step b --same-nodes=a --nodelist=n2'
	refused "job.sh:3: --same-nodes: steps that start together on the same nodes (--same-nodes=a) need 6 CPUs on a node" \
		submit $'#!/bin/bash\n#ROTA step a --with=b --cpus-per-task=3\n#ROTA step b --with=a --same-nodes=a --cpus-per-task=3'
	refused "job.sh:3: --other-nodes: the step needs a second node (--other-nodes=a); their --nodelist leaves 1" \
		submit $'#!/bin/bash\n#ROTA step a --with=b --nodelist=n1\n#ROTA step b --with=a --other-nodes=a --nodelist=n1'
}

@test "array elements correspond one by one, keep to their limit, and count to the last" {
	job=$(submit '#!/bin/bash
#ROTA step make --array=0-19%3
[ "$ROTA_ARRAY_INDEX" != 7 ]
#ROTA step use --array=0-19 --after=make:corr
true
#ROTA step all --after=use:any
true')
	run rota wait "$job"
	[ "$status" -eq 1 ]
	run sql "select string_agg(r.name || ' ' || a.completed || ' ' || a.failed || ' ' || a.running, ',' order by r.name)
		from rota.step_array a join rota.step_request r using (job_id, step_id) where job_id = $job"
	[ "$output" = "make 19 1 0,use 19 1 0" ]
	run sql "select array_index || ' ' || state from rota.step s where job_id = $job and request_id = 21 and array_index is not null and state <> 'completed'"
	[ "$output" = "7 dependency_failed" ]
	# Never more than three at once: count open attempts at each start.
	run sql "select max(n) from (select count(*) as n from rota.attempt a
		join rota.attempt b on b.job_id = a.job_id and b.step_id between 1 and 20 and a.ordered_at >= b.ordered_at and a.ordered_at < b.ended_at
		where a.job_id = $job and a.step_id between 1 and 20 group by a.step_id) x"
	[ "$output" -le 3 ]
}

@test "a failing step runs again as often as --retry says, each time as a new attempt" {
	job=$(submit '#!/bin/bash
#ROTA step flaky --retry=2
n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) >count
[ "$n" -ge 2 ]')
	rota wait "$job"
	run sql "select string_agg(attempt || ':' || state, ' ' order by attempt) from rota.attempt where job_id = $job"
	[ "$output" = "1:failed 2:failed 3:completed" ]
}

@test "a step after a job that ended long ago starts at once, and is skipped at once where it is not needed" {
	old=$(submit '#!/bin/bash
true')
	rota wait "$old"
	job=$(submit '#!/bin/bash
#ROTA step late --after='"$old"'
true
#ROTA step handler --after='"$old"':fail
true')
	run -0 rota wait "$job"
	run sql "select string_agg(state, ' ' order by step_id) from rota.step where job_id = $job"
	[ "$output" = "completed skipped" ]
}

@test "an error handler that is not needed fails neither its job nor its dependents" {
	printf '%s\n' '#!/bin/bash' '#ROTA step work' true '#ROTA step onerror --after=work:fail' true '#ROTA step mail --after=onerror' true >"$BATS_TEST_TMPDIR/job.sh"
	cd "$BATS_TEST_TMPDIR"
	run -0 --separate-stderr rota submit --parsable --wait job.sh
	job=${lines[0]}
	rota show --json "$job" | jq -e --arg job "$job" '.jobs[0] | .state == "completed" and ([.steps[].state] == ["completed", "skipped", "skipped"])
		and (.steps[1] | .cause == "not_needed" and .message == "not needed: \($job).work did not fail") and .steps_failed == 0' >/dev/null
	run -0 rota why "$job.onerror"
	[[ $output == *"not needed: $job.work did not fail"* ]]
	run -0 rota wait "$job.mail"
	[[ $output == *"skipped (not_needed)"* ]]
	run -0 rota show "$job"
	[[ $output == *onerror*skipped* ]]
	# A job whose steps were all skipped is skipped, in lists and in the accounting.
	printf '%s\n' '#!/bin/bash' "#ROTA --after=$job:fail" true >other.sh
	run -0 --separate-stderr rota submit --parsable --wait other.sh
	other=${lines[0]}
	run -0 rota queue --states=skipped
	[[ $output == *"$other"* && $output != *"$job"* ]]
	run -0 rota acct --me --states=skipped --steps
	[[ $output == *"$other"* ]]
	rota report failures --by=cause --json | jq -e '[.rows[] | select(.cause == "not_needed")] == []' >/dev/null
}

@test "a step that runs again avoids nodes of its --other-nodes peers, and returns to those of its --same-nodes peers" {
	job=$(submit '#!/bin/bash
#ROTA --time=1:00
#ROTA step a --retry=1 --exclude=n[3-4]
case $ROTA_ATTEMPT in 1) while [ ! -e fail ]; do sleep 0.3; done; exit 1 ;; esac
#ROTA step b --after=a:start --other-nodes=a --exclude=n[3-4]
while [ ! -e over ]; do sleep 0.3; done
#ROTA step c --retry=1 --exclude=n[1-2]
case $ROTA_ATTEMPT in 1) while [ ! -e fail ]; do sleep 0.3; done; exit 1 ;; esac
#ROTA step d --after=c:start --same-nodes=c
while [ ! -e over ]; do sleep 0.3; done')
	all_run() { [ "$(sql "select count(*) from acct.step where job_id = $job and state = 'running'")" = 4 ]; }
	eventually all_run
	touch "$BATS_TEST_TMPDIR/fail"
	run -0 rota wait "$job.a" "$job.c"
	touch "$BATS_TEST_TMPDIR/over"
	run -0 rota wait "$job"
	run sql "select string_agg(r.name || t.attempt || ' ' || t.nodes[1], ',' order by r.name, t.attempt) from rota.attempt t join rota.step_request r using (job_id, step_id)
		where job_id = $job and r.name in ('a', 'b')"
	[[ $output = "a1 n1,a2 n1,b1 n2" || $output = "a1 n2,a2 n2,b1 n1" ]]
	run sql "select count(distinct t.nodes) || ' ' || count(*) from rota.attempt t join rota.step_request r using (job_id, step_id) where job_id = $job and r.name in ('c', 'd')"
	[ "$output" = "1 3" ]
}

@test "requeue runs a failed job again: the failed steps and those skipped because of them, or all" {
	job=$(submit '#!/bin/bash
#ROTA step a
true
#ROTA step b
[ -e mended ]
#ROTA step c
true')
	run -1 rota wait "$job"
	run -0 rota requeue --failed "$job"
	[ "$output" = "$job: queued again (2 of 3 steps)" ]
	run -1 rota wait "$job"
	touch "$BATS_TEST_TMPDIR/mended"
	run -0 rota requeue -q --failed "$job"
	[ "$output" = "" ]
	run -0 rota wait "$job"
	run sql "select string_agg(r.name || t.attempt || ' ' || t.state, ',' order by r.name, t.attempt) from rota.attempt t join rota.step_request r using (job_id, step_id) where job_id = $job"
	[ "$output" = "a1 completed,b1 failed,b2 failed,b3 completed,c1 completed" ]
	run -1 rota requeue --failed "$job"
	[[ $output == *"$job: not changed: nothing of it failed (completed)" ]]
	run -0 rota requeue "$job"
	[ "$output" = "$job: queued again (3 of 3 steps)" ]
	run -0 rota wait "$job"
	run -1 rota requeue "$job.b"
	[[ $output == *"only whole jobs can be requeued or continued, not steps"* ]]
	rota acct --json --steps "$job" | jq -e '[.rows[].state] == ["completed", "completed", "completed"]' >/dev/null
}

@test "a step that a requeue skips has no nodes, times or output of its own; its earlier attempt has" {
	job=$(submit '#!/bin/bash
#ROTA step a
true
#ROTA step b --after=a
[ -e mended-b ]
#ROTA step c --after=b
echo c
#ROTA step h --after=b:fail
echo handler')
	run -1 rota wait "$job"
	[ "$(rota log "$job")" = "h | handler" ]
	touch "$BATS_TEST_TMPDIR/mended-b"
	run -0 rota requeue "$job"
	[ "$output" = "$job: queued again (4 of 4 steps)" ]
	run -0 rota wait "$job"
	rota show --json "$job" | jq -e '.jobs[0].steps[3] | [.state, .nodes, .attempt, .started_at, .elapsed_s] == ["skipped", "", 0, null, null] and
		(.attempts | length == 1 and .[0].state == "completed" and .[0].nodes != "")'
	run -0 rota show "$job.h"
	! grep -E '^ *(Nodes|Attempt|Started|Output) ' <<<"$output" || false
	grep -E "^h +1 +completed .* rota-$job.h.out" <<<"$output"
	run -0 rota log "$job"
	[ "$output" = "c | c" ]
	run -1 rota log "$job.h"
	[[ $output == "rota: $job.h never started: skipped"* ]]
	[ "$(rota log --attempt=1 "$job.h")" = handler ]
}

@test "nothing is left allocated" {
	eventually is_idle
	run sql "select count(*) from rota.allocation where ended_at is null"
	[ "$output" = 0 ]
	run sql "select sum(cpus_used) || ' ' || sum(mem_used_mb) from rota.node_used"
	[ "$output" = "0 0" ]
	run sql "select count(*) from rota.node_order"
	[ "$output" = 0 ]
}

@test "show tells whether a step waits for all or for any of its dependencies" {
	job=$(submit '#!/bin/bash
#ROTA --hold
#ROTA step a --after=none
#ROTA step b
#ROTA step all --after=a,b:any
#ROTA step any --after=a?b:any')
	run -0 rota show "$job"
	[[ $output =~ all\ .*a,\ b:any && $output =~ any\ .*a\?b:any ]]
	rota show --json "$job" | jq -e '[.jobs[0].steps[].deps_any] == [false, false, false, true]' >/dev/null
	rota cancel -q "$job"
}
