#!/usr/bin/env bats
# The controller's prolog and epilog, run by runnerd: attempts that wait for them, effects of failures, and how they are killed.

load helper

setup_file() {
	SITE=$(mktemp -d /tmp/rota-hooks.XXXXXX) # a folder that the daemons' account can enter
	export SITE
	chmod 1777 "$SITE"
	# The owner of the folder makes the log: in a sticky folder, the kernel may let accounts append only to their own files
	# (fs.protected_regular).
	install -m 0666 /dev/null "$SITE/log"
	# Each logs its run, and executes a file named after it and the job's name.
	cat >"$SITE/hook" <<-'END'
		#!/bin/bash
		what=${ROTA_HOOK#controller_}
		site=${0%/*}
		echo "$what $ROTA_STEP_LABEL#$ROTA_ATTEMPT $(id -un) ${ROTA_STATE:-}" >>"$site/log"
		env >"$site/environment.$what.$ROTA_JOB_ID"
		[ ! -e "$site/$what.$ROTA_JOB_NAME" ] || . "$site/$what.$ROTA_JOB_NAME"
		echo "$what says hello"
	END
	chmod 0755 "$SITE/hook"
	instance_up 2 --cpus 4 --mem 4000 --set node.grace=1 --set schedule.period=1 --set controller.hooks=8 \
		--controller-prolog "$SITE/hook" --controller-epilog "$SITE/hook"
	rota admin setting change requeue_delay_s --value=0
	rota admin setting change requeue_max --value=2
}

teardown_file() {
	local status=0
	instance_down || status=1
	rm -rf -- "$SITE"
	return "$status"
}

# submit NAME SCRIPT [OPTION]...
submit() {
	local name=$1
	printf '%s\n' "$2" >"$BATS_TEST_TMPDIR/$name"
	shift 2
	cd "$BATS_TEST_TMPDIR" && rota submit --parsable "$@" "$name"
}

# hooked WHAT NAME: write the script of that hook for jobs of that name, from standard input.
hooked() {
	cat >"$SITE/$1.$2"
}

state() {
	[ "$(sql "select state from rota.step where job_id = $1 and step_id = ${3:-0}")" = "$2" ]
}

# The step is held, because it was queued again too often.
held() {
	[ "$(sql "select held from rota.step where job_id = $1")" = system ]
}

logged() {
	grep -q "^$1" "$SITE/log"
}

# No hook of a job is pending any more.
quiet() {
	[ "$(sql "select count(*) from rota.hook_pending where job_id = $1")" = 0 ]
}

ended() {
	sql "select string_agg(concat_ws('|', substr(hook, 12), attempt, exit_code, signal, message), ' ' order by attempt, ended_at) from rota.controller_hook where job_id = $1"
}

@test "prolog, step, epilog: in this order, as the daemons' account, with their variables, and shown" {
	job=$(submit plain '#!/bin/bash
echo "task" >>'"$SITE"'/log')
	rota wait --timeout=300 "$job"
	eventually quiet "$job"
	who=root
	[ "$EUID" != 0 ] || who=rota
	[ "$EUID" = 0 ] || who=$(id -un)
	[ "$(cat "$SITE/log")" = "prolog $job.script#1 $who 
task
epilog $job.script#1 $who completed" ]
	for line in "ROTA_JOB_ID=$job" "SLURM_JOB_ID=$job" "SLURM_JOB_UID=$(id -u)" "SLURM_JOB_USER=$(id -un)" SLURM_JOB_NODELIST=n1 SLURM_SCRIPT_CONTEXT=epilog_slurmctld SLURM_JOB_EXIT_CODE2=0:0; do
		grep -qx "$line" "$SITE/environment.epilog.$job"
	done
	run ! grep -E '^(HOME|LD_|ROTA_HOME|ROTA_CONFIG)' "$SITE/environment.prolog.$job"
	run rota show "$job.script" --json
	[ "$(jq -r '.jobs[0].steps[0].hooks | map(.hook + " " + (.exit_code | tostring) + " " + .output) | join("")' <<<"$output")" = "controller_prolog 0 prolog says hello
controller_epilog 0 epilog says hello" ]
	run rota show "$job.script"
	[[ "$output" == *"controller_prolog: "* ]]
	run -0 rota show --hooks "$job"
	[[ "$output" == *"Hook        script: controller_prolog: 0"*"Hook        script: controller_epilog: 0"*STEP* ]]
	run -0 rota show "$job"
	[[ "$output" != *controller_prolog* ]]
	run rota status
	[[ "$output" == *runnerd* ]]
}

@test "nothing of a step starts before its prolog has ended" {
	hooked prolog slow <<<'while [ ! -e '"$SITE"'/go ]; do sleep 0.3; done'
	job=$(submit slow '#!/bin/bash
echo "task $ROTA_STEP_LABEL" >>'"$SITE"'/log' --nodes=2)
	eventually logged "prolog $job"
	state "$job" starting
	[ "$(sql "select count(*) from rota.node_order where job_id = $job")" = 2 ]
	touch "$SITE/go"
	rota wait --timeout=300 "$job"
	logged "task $job"
}

@test "an array has prologs and epilogs of its elements, not all at once" {
	job=$(submit array '#!/bin/bash
true' --array=0-39)
	rota wait --timeout=300 "$job"
	eventually quiet "$job"
	[ "$(grep -c "^prolog $job" "$SITE/log")" = 40 ]
	[ "$(grep -c "^epilog $job" "$SITE/log")" = 40 ]
	[ "$(sql "select count(*) from rota.controller_hook where job_id = $job and exit_code = 0")" = 80 ]
}

@test "a prolog that fails: run again, then held; the step is not charged" {
	hooked prolog bad <<<'echo "no scratch here"; exit 7'
	job=$(submit bad '#!/bin/bash
echo "task $ROTA_JOB_ID" >>'"$SITE"'/log' --retry=1)
	eventually held "$job"
	run sql "select concat_ws('|', state, attempt, retries, requeues, held_reason) from rota.step where job_id = $job"
	[ "$output" = "pending|3|0|3|the controller prolog failed too often" ]
	eventually quiet "$job"
	run ended "$job"
	[[ "$output" == "prolog|1|7|controller prolog \"$SITE/hook\" ended with exit code 7 epilog|1|0 prolog|2|7|"* ]]
	run sql "select distinct output from rota.controller_hook where job_id = $job and hook = 'controller_prolog'"
	[ "$output" = "no scratch here" ]
	run ! logged "task $job"
	rm "$SITE/prolog.bad"
	rota release "$job"
	rota wait --timeout=300 "$job"
	logged "task $job"
}

@test "a prolog that does not end is killed with its processes, and counts as failed" {
	rota admin setting change requeue_max --value=100 # so that the step is not held before the test has seen a failure
	daemon_again runnerd --set controller.hook_timeout=8
	hooked prolog hangs <<<'sleep 1000 & echo $! >'"$SITE"'/child.$ROTA_ATTEMPT; echo waiting; sleep 1000'
	job=$(submit hangs '#!/bin/bash
true')
	failed() { [[ $(ended "$job") == "prolog|1|9|controller prolog \"$SITE/hook\" not finished after 8 seconds"* ]]; }
	eventually failed
	eventually are_dead "$(cat "$SITE/child.1")"
	run sql "select output from rota.controller_hook where job_id = $job and attempt = 1 and hook = 'controller_prolog'"
	[ "$output" = waiting ]
	rm "$SITE/prolog.hangs"
	daemon_again runnerd --set controller.hook_timeout=300
	rota wait --timeout=300 "$job"
	rota admin setting change requeue_max --value=2
}

@test "a cancelled step does not wait for its prolog: killed, and its epilog runs" {
	hooked prolog cancel <<<'echo $$ >'"$SITE"'/pid; exec sleep 1000'
	job=$(submit cancel '#!/bin/bash
true')
	eventually logged "prolog $job"
	eventually test -s "$SITE/pid"
	rota cancel "$job"
	eventually state "$job" cancelled
	eventually are_dead "$(cat "$SITE/pid")"
	eventually logged "epilog $job.script#1 .* cancelled"
	eventually quiet "$job"
	run sql "select cause from rota.attempt where job_id = $job"
	[ "$output" = cancelled ]
	[ "$(sql "select count(*) from rota.allocation where job_id = $job and ended_at is null")" = 0 ]
}

# are_logged COUNT HOOK: so many lines of the log begin with the hook.
are_logged() {
	[ "$(grep -cs "^$2" "$SITE/log")" = "$1" ]
}

@test "hooks wait in runnerd for those that run: they start later, or never if they are not wanted any more" {
	hooked epilog slow <<<'until [ -e "$site/slow.go" ]; do sleep 0.3; done'
	slow=$(submit slow '#!/bin/bash
true' --array=0-7)
	eventually are_logged 8 "epilog $slow"
	unwanted=$(submit unwanted '#!/bin/bash
true' --array=0-3)
	kept=$(submit kept '#!/bin/bash
true' --array=0-3)
	eventually eval '[ "$(sql "select count(*) from rota.hook_pending where job_id in ($unwanted, $kept)")" = 8 ]'
	rota cancel "$unwanted"
	eventually eval '[ "$(sql "select count(*) from rota.attempt where job_id = $unwanted and cause = '"'cancelled'"'")" = 4 ]'
	# Until here all places of runnerd were taken.
	are_logged 8 "epilog $slow"
	[ "$(sql "select count(*) from rota.hook_pending where job_id = $slow")" = 8 ]
	touch "$SITE/slow.go"
	rota wait --quiet --timeout=300 "$slow" "$kept"
	eventually quiet "$slow"
	eventually quiet "$kept"
	eventually quiet "$unwanted"
	are_logged 0 "prolog $unwanted"
	are_logged 4 "prolog $kept"
	are_logged 4 "epilog $kept"
	rm "$SITE/slow.go"
}

@test "epilogs follow failure and cancellation, hold no node, and their failure changes nothing" {
	hooked epilog late <<<'while [ ! -e '"$SITE"'/late ]; do sleep 0.3; done; exit 5'
	job=$(submit late '#!/bin/bash
exit 3')
	run rota wait --timeout=300 "$job"
	eventually logged "epilog $job.script#1 .* failed"
	# The node reports the end of the attempt after that of its tasks.
	holds_none() { [ "$(sql "select count(*) from rota.allocation where job_id = $job and ended_at is null")" = 0 ]; }
	eventually holds_none
	state "$job" failed
	touch "$SITE/late"
	eventually quiet "$job"
	[ "$(ended "$job")" = "prolog|1|0 epilog|1|5|controller epilog \"$SITE/hook\" ended with exit code 5" ]
	state "$job" failed
	job=$(submit long '#!/bin/bash
sleep 1000')
	eventually state "$job" running
	rota cancel "$job"
	eventually logged "epilog $job.script#1 .* cancelled"
}

@test "a hook that cannot be executed fails with the reason" {
	chmod -x "$SITE/hook"
	job=$(submit none '#!/bin/bash
true')
	refused() { [[ $(ended "$job") == "prolog|1|controller prolog \"$SITE/hook\" could not be executed: Permission denied"* ]]; }
	eventually refused
	eventually held "$job"
	chmod +x "$SITE/hook"
	rota release "$job"
	rota wait --timeout=300 "$job"
}

@test "a killed runnerd: its hooks are killed too, and the next one runs them again" {
	hooked prolog killed <<<'[ ! -e '"$SITE"'/first ] || return 0; sleep 1000 & echo $! $$ >'"$SITE"'/family; touch '"$SITE"'/first; wait'
	job=$(submit killed '#!/bin/bash
echo "task $ROTA_JOB_ID" >>'"$SITE"'/log')
	eventually test -e "$SITE/first"
	kill -9 "$(pid_of runnerd)"
	eventually are_dead $(cat "$SITE/family")
	state "$job" starting
	run ! logged "task $job"
	rota up -q
	rota wait --timeout=300 "$job"
	eventually quiet "$job"
	[ "$(grep -c "^prolog $job.script#1" "$SITE/log")" = 2 ]
	[ "$(ended "$job")" = "prolog|1|0 epilog|1|0" ]
}

@test "PostgreSQL killed in the middle: the same" {
	rm -f "$SITE/first"
	hooked prolog crash <<<'[ ! -e '"$SITE"'/first ] || return 0; touch '"$SITE"'/first; exec sleep 1000'
	job=$(submit crash '#!/bin/bash
true')
	eventually test -e "$SITE/first"
	postgres=$(pid_of PostgreSQL)
	kill -9 "$postgres"
	rota up -q
	rota wait --timeout=300 "$job"
	eventually quiet "$job"
	[ "$(ended "$job")" = "prolog|1|0 epilog|1|0" ]
}

@test "two runnerd: one runs hooks, the other takes over when it dies" {
	runnerd --config "$ROTA_HOME/etc/rota.conf" --name 2 >"$ROTA_TEST_DIR/runnerd-2.log" 2>&1 3>&- &
	second=$!
	eventually grep -q connected "$ROTA_TEST_DIR/runnerd-2.log"
	job=$(submit both '#!/bin/bash
true' --array=0-9)
	rota wait --timeout=300 "$job"
	eventually quiet "$job"
	[ "$(grep -c "^prolog $job" "$SITE/log")" = 10 ]
	run ! grep "running prologs and epilogs" "$ROTA_TEST_DIR/runnerd-2.log"
	kill_now "$(cut -d' ' -f1 "$ROTA_HOME/run/runnerd-1.pid")"
	eventually grep -q "running prologs and epilogs" "$ROTA_TEST_DIR/runnerd-2.log"
	job=$(submit other '#!/bin/bash
true')
	rota wait --timeout=300 "$job"
	kill "$second"
	wait "$second"
	rota up -q
}

@test "nothing is left: no hook due, no CPU held, no order" {
	left() { [ "$(sql "select (select count(*) from rota.hook_pending) || ' ' || (select sum(cpus_used) from rota.node_used) || ' ' || (select count(*) from rota.node_order)")" = "0 0 0" ]; }
	eventually left
	[ "$(sql "select count(*) from rota.rejected_report where actor <> 'node'")" = 0 ]
}
