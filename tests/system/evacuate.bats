#!/usr/bin/env bats
# Evacuation: running steps leave a node by a plan that is printed first, whatever daemon dies meanwhile; and moves of single
# jobs.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	instance_up 3 --cpus 2 --mem 2000 --set node.grace=1 --set nodemgr.period=1
	rota admin setting change requeue_delay_s --value=0
}

teardown_file() {
	instance_down
}

setup() {
	sql "select job_id from acct.job where state in ('running', 'pending')" | xargs -r rota cancel >/dev/null || true
	# A step starts on the node with the fewest free CPUs, so nothing may be left on the others.
	eventually none_lives
	eventually is_idle
	rota admin node resume 'n[1-3]' >/dev/null 2>&1 || true
	cd "$BATS_TEST_TMPDIR"
}

none_lives() {
	[ "$(sql "select count(*) from acct.job where state in ('running', 'pending')")" = 0 ]
}

on() {
	[ "$(sql "select state || ' ' || nodes from acct.attempt where job_id = $1 and is_latest and started_at is not null")" = "live $2" ]
}

runs() {
	[ "$(sql "select count(*) from acct.attempt where job_id = $1 and state = 'live' and started_at is not null")" = 1 ]
}

last() {
	rota admin node evacuations --json | jq -r ".evacuations[0]$1"
}

is_over() {
	[ "$(last .state)" != open ]
}

@test "a node is evacuated, suspended steps as well" {
	a=$(rota submit --parsable --time=60 --wrap 'sleep 3600')
	eventually on "$a" n1
	s=$(rota submit --parsable --time=60 --nodelist=n1 --wrap 'sleep 3600')
	eventually on "$s" n1
	rota suspend "$s"
	suspended() { [ "$(sql "select state from rota.step where job_id = $s limit 1")" = suspended ]; }
	eventually suspended
	run rota admin node evacuate n1 --dry-run
	[[ $output == *"$a.script"*"runs to its end"*"$s.script"*"waited for until it is resumed"* ]]
	run rota admin node evacuate n1 --no-checkpoint=requeue --dry-run
	[ "$status" = 0 ]
	[[ $output == *"$a.script"*"queued again, for other nodes"* ]]
	[ "$(sql "select state from acct.node where node = 'n1'")" = up ]
	run rota admin node evacuate n1 --no-checkpoint=requeue --to n3
	[ "$status" = 0 ]
	# The plan first.
	[[ ${lines[0]} == STEP* ]]
	[[ $output == *"evacuation "*" of n1"* ]]
	eventually on "$a" n3
	eventually is_over
	[ "$(last .state)" = done ]
	[ "$(sql "select state from acct.node where node = 'n1'")" = drain ]
	moved() { [ "$(last '.moves[0] | .state + " " + .to_nodes[0]')" = "moved n3" ]; }
	eventually moved
	rota admin node evacuations n1 | grep -F "moved    n1 -> n3"
}

@test "it waits for what cannot go, until it is cancelled" {
	a=$(rota submit --parsable --time=60 --no-requeue --wrap 'while [ ! -e go ]; do sleep 0.3; done')
	eventually on "$a" n1
	rota admin node evacuate n1 --no-checkpoint=requeue | grep -F "runs to its end"
	refused "node \"n1\" is being evacuated already" rota admin node evacuate n1
	id=$(last .evacuation)
	rota admin node cancel-evacuation "$id"
	[ "$(last .state)" = cancelled ]
	[ "$(sql "select state from acct.node where node = 'n1'")" = up ]
	rota admin node evacuate n1
	touch go
	rota wait "$a"
	eventually is_over
	[ "$(last .state)" = done ]
}

@test "what must not run again is cancelled at the time that is given" {
	a=$(rota submit --parsable --time=60 --no-requeue --wrap 'sleep 3600')
	eventually on "$a" n1
	rota admin node evacuate n1 --by now+2seconds
	eventually is_over
	[ "$(last '.moves[0].action')" = cancel ]
	[ "$(sql "select count(*) || ' ' || min(state) || ' ' || min(cause) from acct.attempt where job_id = $a")" = "1 cancelled evacuated" ]
	[ "$(sql "select state from acct.job where job_id = $a")" = cancelled ]
}

@test "the node manager dies in the middle" {
	a=$(rota submit --parsable --time=60 --wrap 'trap "" TERM; while [ ! -e go ]; do sleep 0.3; done; sleep 3600')
	eventually on "$a" n1
	rota admin node evacuate n1 --by now+2seconds
	daemon_again nodemgrd
	eventually is_over
	[ "$(last .state)" = done ]
	[ "$(last '.moves[0].action')" = move ]
	[ "$(sql "select count(*) from acct.attempt where job_id = $a and cause = 'evacuated'")" = 1 ]
}

@test "a job is moved by its owner" {
	a=$(rota submit --parsable --time=60 --wrap 'sleep 3600')
	eventually on "$a" n1
	rota migrate "$a.script" --to n2 --dry-run | grep -F "queued again, for other nodes"
	on "$a" n1
	rota migrate "$a" --to n2
	eventually on "$a" n2
	rota migrate "$a"
	elsewhere() { on "$a" n1 || on "$a" n3; }
	eventually elsewhere
	[ "$(sql "select state from acct.node where node = 'n2'")" = up ]
	refused 'there is no node "n9"' rota migrate "$a" --to n9
	b=$(rota submit --parsable --time=60 --no-requeue --wrap 'sleep 3600')
	eventually runs "$b"
	refused 'nothing of the jobs that you name can be moved' rota migrate "$b"
	refused 'nothing of the jobs that you name can be moved' rota migrate "$b" --dry-run
}

@test "wrong words are refused and change nothing" {
	refused '"run" is no value for "no_checkpoint"' rota admin node evacuate n1 --no-checkpoint=run
	refused 'has no option --fast' rota admin node evacuate n1 --fast=1
	refused 'name the nodes' rota admin node evacuate
	[ "$(sql "select state from acct.node where node = 'n1'")" = up ]
}
