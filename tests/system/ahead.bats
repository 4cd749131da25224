#!/usr/bin/env bats
# Short elements of an array are pre-dispatched: each begins when another one ends, whatever dies meanwhile.

load helper

setup_file() {
	instance_up 2 --cpus 2
	rota admin setting change requeue_delay_s --value=0 >/dev/null
}

teardown_file() {
	instance_down
}

submit_array() {
	printf '#!/bin/bash\n#ROTA --output=/dev/null --time=1:00 --array=0-%d\n%s\n' "$1" "$2" >array.sh
	rota submit --parsable array.sh
}

# The number of elements that began later than they were ordered.
stood_ahead() {
	sql "select count(*) from rota.allocation a join rota.attempt t using (job_id, step_id, attempt) where a.job_id = $1 and a.started_at > t.ordered_at + interval '1 ms'"
}

# The final states of the elements of an array.
ends() {
	sql "select string_agg(n || ' ' || state, ' ' order by state) from (select state, count(*) as n from rota.step where job_id = $1 and array_index is not null group by state) s"
}

has_run() {
	[ "$(find . -name 'ran.*' | wc -l)" -ge "$1" ]
}

has_stood() {
	[ "$(stood_ahead "$1")" -gt "$2" ]
}

# The output of the elements, one line each time one ran.
lines() {
	find . -name 'ran.*' -exec cat {} + | wc -l
}

@test "an array of short elements: some are pre-dispatched, none runs twice, and a node never runs more than it has CPUs" {
	cd "$BATS_TEST_TMPDIR"
	job=$(submit_array 599 'echo >>ran.$ROTA_ARRAY_INDEX')
	rota wait "$job"
	[ "$(ends "$job")" = "600 completed" ]
	audit
	[ "$(lines)" = 600 ]
	has_stood "$job" 50
}

@test "process managers and launchers killed in the middle: each element runs once" {
	cd "$BATS_TEST_TMPDIR"
	job=$(submit_array 999 'echo >>ran.$ROTA_ARRAY_INDEX')
	for round in 1 2 3; do
		eventually has_run $((round * 100))
		kill -9 "$(pid_of procmgrd n1)" || true
	done
	kill_now "$(pid_of launcher n2)"
	eventually has_run 400
	rota up >/dev/null
	rota wait "$job"
	[ "$(ends "$job")" = "1000 completed" ]
	audit
	[ "$(lines)" = 1000 ]
	has_stood "$job" 50
}

@test "a cancelled array: pre-dispatched elements never begin" {
	cd "$BATS_TEST_TMPDIR"
	# Elements take long once some have been pre-dispatched; otherwise all that have begun may end before they are cancelled.
	job=$(submit_array 4999 'if [ -e slow ]; then touch sleeps; sleep 600; else sleep 0.02; fi')
	eventually has_stood "$job" 20
	touch slow
	eventually test -e sleeps
	rota cancel "$job"
	rota wait "$job" || true
	[[ "$(ends "$job")" == *cancelled* ]]
	audit
}

@test "an element behind one that suddenly takes long is queued again soon" {
	cd "$BATS_TEST_TMPDIR"
	job=$(submit_array 204 '[ $ROTA_ARRAY_INDEX -lt 200 ] || sleep 15; echo >>ran.$ROTA_ARRAY_INDEX')
	rota wait "$job"
	[ "$(ends "$job")" = "205 completed" ]
	audit
	[ "$(lines)" = 205 ]
}
