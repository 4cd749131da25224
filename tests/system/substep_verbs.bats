#!/usr/bin/env bats
# Sub-steps from outside of their job: verbs of its owner, while its step manager can be reached and when it cannot.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	instance_up 1 --cpus 2 --mem 2000 --set node.grace=1
	sed 's|^state *=.*|state = /nonexistent|' "$ROTA_HOME/etc/rota.conf" >"$BATS_FILE_TMPDIR/far.conf"
	grep -qx 'state = /nonexistent' "$BATS_FILE_TMPDIR/far.conf"
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	rota cancel -q --me >/dev/null 2>&1 || true
	rota wait -q --timeout=60 || true
}

# job: a job of two CPUs with two sub-steps that run and one that waits for CPUs; its number is in `job`.
job() {
	cat >job.sh <<-'END'
		#!/bin/bash
		#ROTA --cpus-per-task=2 --mem=200
		rota run --detach --name=one --output=none sh -c 'trap "exit 9" USR1; touch ready; while :; do sleep 0.1; done' >/dev/null
		rota run --detach --name=two --output=none sleep 1000 >/dev/null
		rota run --detach --name=three --output=none sleep 1000 >/dev/null
		touch queued
		wait
		until [ -e "$PWD/go" ]; do sleep 0.3; done
	END
	job=$(rota submit --parsable --output=job.out job.sh)
	has_begun() { [[ -e queued && -e ready && $(rota show --json "$job" | jq -r '.jobs[0].state') == running ]]; }
	eventually has_begun
}

# far VERB...: run the verb from a place from which the step manager cannot be reached.
far() {
	ROTA_STEP_ROUTE=local rota "$1" --config="$BATS_FILE_TMPDIR/far.conf" "${@:2}"
}

# Does the database know that the sub-step is in the state?
known() {
	[[ $(rota sql -Atc "select state from acct.substep where job_id = $job and substep = $1") == "$2" ]]
}

@test "the owner sees, signals, cancels and waits for sub-steps" {
	job
	run -0 rota steps "$job"
	[[ $output == *"waiting (cpus)"* ]] || { echo "$output"; false; }
	run -0 rota show "$job.script.3"
	[[ $output == "sub-step $job.script.3: waiting"*"Name        three"*"Reason      cpus"*"Size        1 CPU, 1 task"* ]] || { echo "$output"; false; }
	run -0 rota show --json "$job.script.1" "$job.script.3"
	[[ $(jq -c '[.substeps[] | .substep, .state, .reason]' <<<"$output") == '[1,"running","",3,"waiting","cpus"]' ]] || { echo "$output"; false; }
	run -124 rota wait --timeout=1 "$job.script.2"
	run -0 rota signal --signal=USR1 "$job.script.1"
	[[ $output == "$job.script.1: signalled" ]]
	run -9 rota wait "$job.script.1"
	[[ $output == "$job.script.1: failed (exit code 9)" ]]
	run -0 rota cancel "$job.script.2" "$job.script.3"
	[[ $output == "$job.script.2: cancelled"$'\n'"$job.script.3: cancelled" ]]
	run rota wait --json "$job.script.1" "$job.script.3"
	[[ $(jq -c '[.substeps[] | .label, .exit_code]' <<<"$output") == "[\"$job.script.1\",9,\"$job.script.3\",0]" ]] || { echo "$output"; false; }
	touch go
	run -0 rota wait --timeout=300 "$job"
}

@test "show and watch count sub-steps" {
	job
	eventually known 2 running
	eventually known 3 waiting
	run -0 rota show "$job"
	[[ $output == *"Sub-steps   script: 2 running, 1 waiting"* ]] || { echo "$output"; false; }
	script -qefc "stty rows 24 cols 120; rota watch $job" screen >/dev/null </dev/null 3>&- &
	watcher=$!
	eventually grep -q "2 running, 1 waiting" screen
	rota cancel -q "$job.script.2"
	eventually grep -q "1 ended, 2 running" screen
	run -0 rota show "$job.script"
	[[ $output =~ Sub-steps\ +1\ ended,\ 2\ running ]] || { echo "$output"; false; }
	rota cancel -q "$job"
	wait "$watcher" || true
}

@test "input for one task, and an end for tasks that outlive the first one" {
	cat >tasks.sh <<-'END'
		#!/bin/bash
		#ROTA --cpus-per-task=2 --mem=200
		echo text | rota run -n 2 --input=1 --label cat
		rota run -n 2 --wait=1 sh -c '[ $ROTA_TASK_ID = 0 ] || exec sleep 1000' 2>/dev/null || echo "exit $?"
		rota run -n 2 --wait=100 sh -c 'exit $ROTA_TASK_ID' 2>/dev/null || echo "exit $?"
		rota run -n 2 --input=2 true 2>&1 || echo "exit $?"
		rota run --wait=x true 2>&1 | head -n 1
		rota steps --json | jq -c '.substeps[1].cause'
	END
	job=$(rota submit --parsable --output=tasks.out tasks.sh)
	rota wait -q --timeout=300 "$job"
	[[ $(<tasks.out) == "1: text
exit 143
exit 1
rota run: --input: there is no task 2; name one from 0 to 1
"*"exit 2
rota run: --wait: \"x\" is not a number from 0 to"*"
\"bad_exit\"" ]] || { cat tasks.out; false; }
}

@test "when the manager cannot be reached the database answers, before and after the end" {
	job
	eventually known 3 waiting
	eventually known 2 running
	run -0 far show "$job.script.3" || { echo "$output"; false; }
	[[ $output == "sub-step $job.script.3: waiting"*"Name        three"* ]] || { echo "$output"; false; }
	run -124 far wait --timeout=1 "$job.script.2"
	run -3 far cancel "$job.script.2"
	[[ $output == *"runs on node n1, which cannot be reached from here"*"hint: Run the command on that node." ]] || { echo "$output"; false; }
	far wait "$job.script.2" >waited &
	waiter=$!
	rota cancel -q "$job.script.2"
	wait "$waiter" || true
	[[ $(<waited) == "$job.script.2: "* ]]
	touch go
	rota wait -q --timeout=60 "$job" || true
	run -1 rota wait "$job.script.3"
	[[ $output == "$job.script.3: cancelled" ]] || { echo "$output"; false; }
	run -0 rota show "$job.script.1"
	[[ $output == "sub-step $job.script.1: cancelled (allocation_ended)"* ]] || { echo "$output"; false; }
	run -1 rota signal USR1 "$job.script.1"
	[[ $output == *"no step of $job.script.1 runs"* ]]
}

@test "words that name nothing say what to do next, and inside no jobmgrd is needed" {
	run -1 rota show 999.script.1
	[[ $output == *"there is no job 999"* || $output == *"999"* ]]
	run -2 rota show 1.script.1 1
	[[ $output == *"either sub-steps or jobs"* ]]
	run -2 env -u ROTA_STEP_SOCKET rota show .1
	[[ $output == *"needs an allocation"* ]]
	run -2 rota show --stats 1.script.1
	cat >inside.sh <<-'END'
		#!/bin/bash
		export ROTA_HOME=/nonexistent
		rota run --name=first true
		rota run --name=second sh -c 'exit 3'
		rota show "$ROTA_STEP_LABEL.2" | head -n 2
		rota show .1 | head -n 1
		rota wait --json .2 | jq -c '.substeps[0].exit_code'
		rota show .9 2>&1 || echo "exit $?"
	END
	job=$(rota submit --parsable --output=inside.out inside.sh)
	run -0 rota wait -q --timeout=300 "$job"
	[[ $(<inside.out) == "sub-step $job.script.2: failed (exit code 3)
  Name        second
sub-step $job.script.1: completed
3
rota"*"exit 1" ]] || { cat inside.out; false; }
	run -1 rota show "$job.script.9"
	[[ $output == *"no sub-step $job.script.9 is known"*"rota acct --substeps $job"* ]] || { echo "$output"; false; }
}
