#!/usr/bin/env bats
# Expected failures: maintenance, drains with a deadline, failing nodes, with real daemons. Scheduling cycles are rare here, so
# each begin and end in time needs a notification. Outcomes are read in SQL.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	# The account of runnerd can enter this folder.
	PROGRAMS=$(mktemp -d /tmp/rota-site.XXXXXX)
	export PROGRAMS
	chmod 0755 "$PROGRAMS"
	printf '#!/bin/sh\necho "the disk of $2 is worn"\nexit 1\n' >"$PROGRAMS/worn"
	chmod 0755 "$PROGRAMS/worn"
	instance_up 3 --cpus 2 --mem 1000 --set node.grace=1 --set schedule.period=300 --set hooks.node_folder="$PROGRAMS"
	rota admin setting change requeue_delay_s --value=0
}

teardown_file() {
	instance_down
	rm -rf -- "$PROGRAMS"
}

teardown() {
	# After each test: nodes are free for the next one.
	rota cancel -q $(sql "select job_id from rota.job where ended_at is null") 2>/dev/null || true
	for name in $(rota reservations --all --json | jq -r '.reservations[].name'); do
		rota admin reservation delete "$name"
	done
	rota admin node resume 'n[1-3]'
	rota admin node change 'n[1-3]' --failing=none
	eventually nothing_runs
}

nothing_runs() {
	[ "$(sql "select count(*) from rota.allocation where ended_at is null")" = 0 ]
}

# submit_saving [OPTION]...: a job that saves itself whenever it is asked, makes the file ready.JOB, and ends when it goes on from a checkpoint.
submit_saving() {
	submit 'trap "asked=1" USR1
		touch "ready.$ROTA_JOB_ID"
		[ -z "${ROTA_RESTART_DIR:-}" ] || { cat "$ROTA_RESTART_DIR/state"; exit 0; }
		while sleep 0.1; do
			[ -z "${asked:-}" ] || { asked=; echo saved >"$ROTA_CHECKPOINT_DIR/state"; rota checkpoint --done; }
		done' --time=5 --checkpoint=app --checkpoint-signal=B:USR1 "$@"
}

saved_for_failure() {
	[ "$(sql "select reason || ' ' || state || ' ' || then_do from rota.checkpoint where job_id = $1")" = "failing complete continue" ]
}

# submit SCRIPT [OPTION]...
submit() {
	local text=$1
	shift
	printf '#!/bin/bash\n%s\n' "$text" >"$BATS_TEST_TMPDIR/job.sh"
	cd "$BATS_TEST_TMPDIR" && rota submit --parsable "$@" job.sh
}

# is JOB STATE
is() {
	[ "$(sql "select state from rota.step where job_id = $1 and step_id = 0")" = "$2" ]
}

# waits_for JOB REASON: the plan has this reason for the job.
waits_for() {
	[ "$(rota queue --json | jq -r --argjson job "$1" '.jobs[] | select(.job_id == $job) | .reason')" = "$2" ]
}

node_is() {
	[ "$(sql "select state from rota.node where name = '$1'")" = "$2" ]
}

@test "a step that would reach into a maintenance waits, one that ends before it starts; without it both run" {
	rota admin reservation create memory --start=now+10minutes --duration=1:00:00 --nodes=all --reason="new memory"
	long=$(submit 'true' --time=1:00:00)
	short=$(submit 'true' --time=1)
	eventually is "$short" completed
	eventually waits_for "$long" maintenance
	run -0 rota why "$long"
	[[ $output == *'maintenance: needs 1 CPU on 1 node for 3600 s, which would run into maintenance "memory"'*'(new memory)'* ]]
	[[ $output == *"expected to start"* ]]
	run -0 rota nodes n1
	[[ $output == *'up '*'maintenance "memory"'* ]]
	run -0 sql "select expected_at >= (select ends_at from rota.reservation) from rota.plan where job_id = $long"
	[ "$output" = t ]
	rota admin reservation delete memory
	eventually is "$long" completed
}

@test "nodes without maintenance are used" {
	rota admin reservation create some --start=now+10minutes --duration=60 --nodes='n[1,3]'
	job=$(submit 'true' --time=1:00:00)
	eventually is "$job" completed
	[ "$(sql "select nodes from acct.attempt where job_id = $job")" = n2 ]
	both=$(submit 'true' --time=1:00:00 --nodes=2)
	eventually waits_for "$both" maintenance
	rota admin reservation change some --nodes=n3
	eventually is "$both" completed
}

@test "users on the list who ask for the reservation run in it; those who do not ask wait" {
	rota admin reservation create mine --start=now-1minutes --duration=60 --nodes=n1 --users="$(id -un)"
	job=$(submit 'echo "$ROTA_NODELIST" >nodes' --time=10 --reservation=mine)
	eventually is "$job" completed
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].nodes')" = n1 ]
	other=$(submit 'true' --time=10 --nodelist=n1)
	eventually waits_for "$other" maintenance
	rota admin reservation change mine --users=nobody-of-this-name
	printf '#!/bin/sh\n#ROTA --reservation=mine\ntrue\n' >"$BATS_TEST_TMPDIR/mine.sh"
	run -1 rota submit "$BATS_TEST_TMPDIR/mine.sh"
	[[ $output == *'mine.sh:2: --reservation: you may not use reservation "mine"'* ]]
	rota cancel "$other"
}

@test "a step that asks for a reservation waits for it to begin, and for nothing else then" {
	rota admin reservation create later --start=now+1hours --duration=60 --nodes=n1 --users="$(id -un)"
	job=$(submit 'true' --reservation=later)
	eventually waits_for "$job" reservation
	run -0 rota why "$job"
	[[ $output == *"waits for its reservation to begin"* ]]
	rota admin reservation change later --start=now
	eventually is "$job" completed
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].nodes')" = n1 ]
}

@test "when a maintenance has ended, waiting steps start" {
	rota admin reservation create brief --start=now --duration=0:03 --nodes=all
	job=$(submit 'true' --time=10)
	eventually is "$job" completed
	run -0 sql "select t.ordered_at >= r.ends_at from rota.attempt t, rota.reservation r where t.job_id = $job"
	[ "$output" = t ]
	run -0 rota reservations
	[[ $output != *brief* ]]
	run -0 rota reservations --all
	[[ $output == *brief*over* ]]
}

@test "one that recurs counts the next time too" {
	rota admin reservation create nightly --start=now-1hours --duration=1:00 --nodes=all --recurs=daily
	short=$(submit 'true' --time=1:00:00)
	long=$(submit 'true' --time=2-0)
	eventually is "$short" completed
	eventually waits_for "$long" maintenance
	run -0 rota reservations nightly --json
	[ "$(jq -r '.reservations[0] | .state + " " + .recurs' <<<"$output")" = "planned 1 day" ]
	[ "$(sql "select count(*) > 25 and min(starts_at) between now() and now() + interval '25 hours' from acct.reservation")" = t ]
	rota cancel -q "$long"
}

@test "with --time-min, the time limit is cut to the time left" {
	rota admin reservation create soon --start=now+10minutes --duration=60 --nodes=all
	job=$(submit 'true' --time=5:00:00 --time-min=1)
	eventually is "$job" completed
	run -0 sql "select time_limit_s between 60 and 600 from rota.attempt where job_id = $job"
	[ "$output" = t ]
}

@test "a drain with a deadline: steps that end before it start, then the node is drained and running steps go on" {
	running=$(submit 'until [ -e go ]; do sleep 0.3; done' --time=5 --nodelist=n1)
	eventually is "$running" running
	# A time before the time limit of the waiting step, and so late that the short step can start and end on a slow machine, with
	# a time limit that is enough there.
	rota admin node drain n1 --deadline=now+55seconds --reason=fan
	node_is n1 up
	run -0 rota nodes n1
	[[ $output == *"drain at "*"(fan)"* ]]
	waiting=$(submit 'true' --time=1 --nodelist=n1)
	short=$(submit 'true' --time=0:20 --nodelist=n1)
	eventually is "$short" completed
	eventually waits_for "$waiting" maintenance
	run -0 rota why "$waiting"
	[[ $output == *"which would run into drain at "*"(fan)"* ]]
	rota admin node drain n1 --deadline=now+1seconds --reason=fan
	eventually node_is n1 drain
	is "$running" running
	is "$waiting" pending
	run -0 rota nodes n1
	[[ $output == *drain*fan* ]]
	touch "$BATS_TEST_TMPDIR/go"
	eventually is "$running" completed
	rota admin node resume n1
	eventually is "$waiting" completed
}

@test "a drain that ends running steps: they run again elsewhere, where they may" {
	again=$(submit 'sleep 200' --time=5)
	eventually is "$again" running
	node=$(sql "select nodes from acct.attempt where job_id = $again")
	gone=$(submit 'sleep 200' --time=5 --nodelist="$node" --no-requeue)
	eventually is "$gone" running
	rota admin node drain "$node" --deadline=now+1seconds --reason=smoke --end-steps=true
	eventually is "$gone" cancelled
	[ "$(sql "select cause from rota.step where job_id = $gone")" = maintenance ]
	node_is "$node" drain
	# The first attempt may end later than the other step.
	runs_again() { [ "$(sql "select state || ' ' || attempt from rota.step where job_id = $again")" = "running 2" ]; }
	eventually runs_again
	run -0 sql "select attempt || ' ' || cause || ' ' || (nodes <> '$node') from acct.attempt where job_id = $again and attempt = 1 union all
		select attempt || ' ' || (nodes <> '$node') from acct.attempt where job_id = $again and attempt = 2"
	[ "${lines[0]}" = "1 maintenance false" ]
	[ "${lines[1]}" = "2 true" ]
}

@test "a drain that ends running steps: what has checkpoints saves itself first, and goes on from there elsewhere" {
	saved=$(submit_saving --nodelist=n1,n2 --nodes=1 --output=saved.%j)
	eventually [ -e "$BATS_TEST_TMPDIR/ready.$saved" ]
	eventually is "$saved" running # only a step that runs is asked to save itself
	node=$(sql "select nodes from acct.attempt where job_id = $saved")
	rota admin node drain "$node" --deadline=now+1seconds --reason=smoke --end-steps=true
	eventually is "$saved" completed
	[ "$(cat "$BATS_TEST_TMPDIR/saved.$saved")" = saved ]
	# The keeper has checkpoints removed after the end of the tasks.
	discarded() { [ "$(sql "select reason || ' ' || state from rota.checkpoint where job_id = $saved and generation = 1")" = "maintenance discarded" ]; }
	eventually discarded
	run -0 sql "select attempt || ' ' || coalesce(cause, '') || ' ' || (nodes <> '$node') from acct.attempt where job_id = $saved order by attempt"
	[ "${lines[0]}" = "1 maintenance false" ]
	[[ ${lines[1]} = "2 "*" true" ]]
	eventually node_is "$node" drain
}

@test "checks of nodes run where nothing else needs runnerd" {
	rota admin check create disk --program=worn --period=0:01
	all_worn() { [ "$(rota admin node health --json | jq -c '[.health[] | .state + ": " + .message] | unique')" = "[$(printf '"unhealthy: the disk of n%s is worn",' 1 2 3 | sed 's/,$//')]" ]; }
	eventually all_worn
	rota admin check delete disk
}

@test "a step on a node that is marked as failing, or that a check drains, saves itself and goes on" {
	marked=$(submit_saving --nodelist=n2)
	checked=$(submit_saving --nodelist=n3)
	eventually [ -e "$BATS_TEST_TMPDIR/ready.$marked" ]
	eventually [ -e "$BATS_TEST_TMPDIR/ready.$checked" ]
	for job in "$marked" "$checked"; do
		eventually is "$job" running
	done
	rota admin node change n2 --failing="ECC errors"
	rota admin node change n3 --features=worn
	rota admin check create disk --program=worn --period=0:01 --action=drain --feature=worn
	for job in "$marked" "$checked"; do
		eventually saved_for_failure "$job"
	done
	node_is n3 drain
	[ "$(sql "select asked_by || ': ' || why from rota.checkpoint where job_id = $marked")" = "root: node n2 is failing: ECC errors" ]
	[ "$(sql "select asked_by || ': ' || why from rota.checkpoint where job_id = $checked")" = "check:disk: node n3 is failing: check disk: the disk of n3 is worn" ]
	is "$marked" running
	is "$checked" running
	rota admin check delete disk
	rota admin node change n3 --features=
}

@test "a job sees which of its nodes are failing, or are to be out of use" {
	rota admin node change n2 --failing="ECC errors" --failing-at=now+2days
	# Failing nodes are used last, and not at all with a constraint.
	first=$(submit 'sleep 200' --time=5 --exclusive --nodes=2 --constraint='!failing')
	eventually is "$first" running
	[ "$(sql "select nodes from acct.attempt where job_id = $first")" = n1,n3 ]
	rota cancel -q "$first"
	job=$(submit 'echo "failing: $ROTA_NODES_FAILING"; sleep 200' --time=5 --nodes=3)
	eventually is "$job" running
	eventually grep -q '^failing: n2$' "$BATS_TEST_TMPDIR/rota-$job.out"
	run -0 rota show "$job"
	[[ $output == *"Warning"*"n2: failing, expected "*"(ECC errors)"* ]]
	# A warning that comes later.
	rota admin node drain n3 --deadline=now+1days --reason=fan
	rota admin reservation create soon --start=now+1minutes --duration=60 --nodes=n1
	run -0 rota show "$job"
	[[ $output == *'n1: maintenance "soon"'* ]]
	[[ $output == *"n3: drain at "*"(fan)"* ]]
	[ "$(rota show --json "$job" | jq -r '[.jobs[0].steps[0].warnings[] | .node + " " + .kind] | join(",")')" = "n1 maintenance,n2 failing,n3 drain" ]
	run -0 sql "select string_agg(node || ' ' || kind, ',' order by node) from acct.node_warning join acct.allocation using (node) where job_id = $job and ended_at is null"
	[ "$output" = "n1 maintenance,n2 failing,n3 drain" ]
}

@test "a user without permission is refused, and errors name what is wrong" {
	run -1 rota admin reservation create x --start=now --nodes=n1
	[[ $output == *'needs "start", "nodes", and "end" or "duration"'* ]]
	run -1 rota admin reservation create x --start=now --duration=5 --nodes=n9
	[[ $output == *'no node "n9"'* ]]
	run -1 rota admin node drain n1 --end-steps=true --reason=x
	[[ $output == *"needs a deadline"* ]]
}

@test "without a program that powers nodes, none waits for it" {
	refused 'no program that powers nodes off' rota admin power off n1
	refused 'no program that powers nodes on' rota admin power on n1
	[ "$(rota nodes --json | jq -r '.nodes[] | select(.name == "n1") | .state')" = up ]
}
