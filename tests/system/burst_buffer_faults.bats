#!/usr/bin/env bats
# Staging by the site's burst_buffer.lua: a time-out, a cancellation and the death of a daemon in each stage. A test has one job
# for each function, all at once. The jobs have space of a pool, so that real_size is called for them.

load helper
load staging

ALL=${ALL/ paths/ real_size paths}
LIMIT=20 # seconds for functions that are to reach their time-out; on a busy machine, the others take several

setup_file() {
	site_make < <(recorder)
	instance_up 1 "${SITE_OPTIONS[@]}" --set hooks.pool_interval=1 --set hooks.other_timeout=$LIMIT --set hooks.stage_in_timeout=$LIMIT --set hooks.stage_out_timeout=$LIMIT
	rota admin setting change requeue_delay_s --value=0
}

teardown_file() {
	local status=0
	instance_down || status=1
	site_remove
	return "$status"
}

setup() {
	declare -gA job=()
}

# timeouts SECONDS: set the time after which runnerd kills functions.
timeouts() {
	grep -q "^other_timeout *= *$1$" "$ROTA_HOME/etc/rota.conf" && return
	sed -i "s/^\(other\|stage_in\|stage_out\)_timeout *=.*/\1_timeout = $1/" "$ROTA_HOME/etc/rota.conf"
	grep -q "^other_timeout *= *$1$" "$ROTA_HOME/etc/rota.conf"
	daemon_kill runnerd
}

# jobs WORD FUNCTION...: a job for each of these functions, as job[FUNCTION], which has the directive WORD=FUNCTION and space of a pool.
jobs() {
	local word=$1 function
	shift
	for function in "$@"; do
		job[$function]=$(submit "$word=$function pool=space capacity=1")
	done
}

teardown_was() {
	[ "$(tail -n 1 "$SITE/log.$1")" = "job_teardown $2 $(id -u) $(id -g)" ]
}

has_state() {
	[ "$(sql "select state from rota.job where job_id = $1")" = "$2" ]
}

@test "a function that answers BUSY is polled within its time-out" {
	local busy
	timeouts "$LIMIT"
	busy=$(submit "busy=test_data_in")
	eventually is_staging "$busy" failed
	[[ $(sql "select message from rota.staging where job_id = $busy") == *"test_data_in"*"not finished after"* ]]
	rota cancel "$busy"
	eventually is_staging "$busy" complete
}

@test "a function that does not end is killed with its processes, and has failed whatever it says then" {
	timeouts "$LIMIT"
	jobs late $ALL
	torn_down() { [[ "$(called "${job[pre_run]}")" == "setup data_in test_data_in real_size paths pre_run job_teardown"* ]]; }
	for function in $ALL; do
		is_late() { [[ $(sql "select message from rota.staging_call where job_id = ${job[$function]} and function = '$function' and ended_at is not null limit 1") == *"not finished after $LIMIT seconds" ]]; }
		eventually is_late
		case $function in
		setup | data_in | test_data_in | real_size | paths) eventually is_staging "${job[$function]}" failed ;;
		pre_run) eventually torn_down ;;
		post_run | data_out | test_data_out)
			rota wait --timeout=300 "${job[$function]}"
			rota cancel --hurry "${job[$function]}"
			;;
		job_teardown) continue ;;
		esac
		[ "$function" = job_teardown ] || rota cancel "${job[$function]}" 2>/dev/null || true
		eventually is_staging "${job[$function]}" complete
		teardown_was "${job[$function]}" true
	done
	eventually is_staging "${job[job_teardown]}" complete
	[ "$(grep -c job_teardown "$SITE/log.${job[job_teardown]}")" = 3 ]
	gone() { ! sleeps "$1"; }
	for function in $ALL; do
		eventually gone "${job[$function]}"
	done
	# Functions do run programs, so killing has an effect here. On a busy machine not every function starts its program in time.
	compgen -G "$SITE/sleeper.*"
}

@test "cancel: before the job runs, the function is killed, and teardown in a hurry; later it has no effect" {
	timeouts 600
	jobs hang setup data_in test_data_in real_size paths pre_run
	jobs wait post_run data_out test_data_out job_teardown
	for function in $ALL; do
		eventually runs "${job[$function]}" "$function"
	done
	for function in setup data_in test_data_in real_size paths pre_run; do
		rota cancel "${job[$function]}"
		eventually is_staging "${job[$function]}" complete
		rota wait --timeout=300 "${job[$function]}" || true
		has_state "${job[$function]}" cancelled
		teardown_was "${job[$function]}" true
		[[ "$(called "${job[$function]}")" == *"$function job_teardown" ]]
	done
	for function in post_run data_out test_data_out job_teardown; do
		rota wait --timeout=300 "${job[$function]}"
		rota cancel "${job[$function]}" || true
		runs "${job[$function]}" "$function"
		touch "$SITE/go.${job[$function]}"
		eventually is_staging "${job[$function]}" complete
		has_state "${job[$function]}" completed
		[ "$(called "${job[$function]}")" = "$ALL" ]
	done
}

@test "cancel --hurry after the job ran: the function is killed, and the job stays completed" {
	timeouts 600
	jobs hang post_run data_out test_data_out
	jobs wait job_teardown
	for function in post_run data_out test_data_out job_teardown; do
		rota wait --timeout=300 "${job[$function]}"
		eventually runs "${job[$function]}" "$function"
		rota cancel --hurry "${job[$function]}" || true
		touch "$SITE/go.${job[$function]}"
		eventually is_staging "${job[$function]}" complete
		has_state "${job[$function]}" completed
		if [ "$function" = job_teardown ]; then
			[ "$(called "${job[$function]}")" = "$ALL" ]
			teardown_was "${job[$function]}" false
		else
			[[ "$(called "${job[$function]}")" == *"$function job_teardown" ]]
			teardown_was "${job[$function]}" true
		fi
	done
}

@test "cancel before setup: no call; while it runs: stage-out, or with --hurry teardown alone" {
	job=$(submit "stage" --hold)
	rota cancel "$job"
	eventually is_staging "$job" complete
	[ ! -e "$SITE/log.$job" ]
	for hurry in "" --hurry; do
		printf '#!/bin/bash\n#BB_LUA stage pool=space capacity=1\nsleep 1000\n' >"$BATS_TEST_TMPDIR/sleeps"
		job=$(cd "$BATS_TEST_TMPDIR" && rota submit --parsable --output=/dev/null sleeps)
		running() { [ "$(sql "select state from rota.step where job_id = $job")" = running ]; }
		eventually running
		rota cancel $hurry "$job"
		eventually is_staging "$job" complete
		if [ -z "$hurry" ]; then
			[ "$(called "$job")" = "$ALL" ]
		else
			[ "$(called "$job")" = "setup data_in test_data_in real_size paths pre_run job_teardown" ]
			[ "$(tail -n 1 "$SITE/log.$job")" = "job_teardown true $(id -u) $(id -g)" ]
		fi
	done
}

@test "pools that does not end is killed after its time, or with its runnerd, and what was known stays" {
	timeouts "$LIMIT"
	touch "$SITE/hang.pools"
	is_late() { rota admin pool list | grep -q "pools of burst_buffer.lua has failed since .*not finished after $LIMIT seconds"; }
	eventually is_late
	[ "$(sql "select total from acct.pool where pool = 'space'")" = 100 ]
	timeouts 600
	eventually sleeps ""
	kill -KILL "$(pid_of runnerd)"
	rm "$SITE/hang.pools"
	gone() { ! sleeps ""; }
	eventually gone
	rota up >/dev/null
	is_healed() { ! rota admin pool list | grep -q failed; }
	eventually is_healed
	job=$(submit "pool=space capacity=1")
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
}

# expected DAEMON FUNCTION: prints the calls for a job in whose FUNCTION the daemon dies. Without the database, runnerd ends its
# calls.
expected() {
	case $1:$2 in
	jobmgrd:*) echo "$ALL" ;;
	*:setup | *:data_in | *:test_data_in | *:real_size | *:paths) echo "${ALL%%"$2"*}$2 job_teardown $ALL" ;;
	*:pre_run | *:post_run | *:job_teardown) echo "${ALL%%"$2"*}$2 $2${ALL#*"$2"}" ;;
	*) echo "${ALL%%"$2"*}$2 post_run${ALL#*post_run}" ;;
	esac
}

# is_called_again FUNCTION: this function of its job has been called twice.
is_called_again() {
	[ "$(grep -c "^$1 " "$SITE/log.${job[$1]}")" = 2 ]
}

@test "a daemon dies in each stage: stage-in begins anew after a teardown, the others run again; of jobmgrd nothing depends" {
	timeouts 600
	for daemon in runnerd jobmgrd postgres; do
		jobs wait $ALL
		for function in $ALL; do
			eventually runs "${job[$function]}" "$function"
		done
		daemon_kill "$daemon"
		for function in $ALL; do
			[ "$daemon" = jobmgrd ] || eventually is_called_again "$function" # so that the call that is lost does not end by itself
			touch "$SITE/go.${job[$function]}"
		done
		rota wait --timeout=300 "${job[@]}"
		for function in $ALL; do
			eventually is_staging "${job[$function]}" complete
			echo "$daemon dies in $function: $(called "${job[$function]}")"
			[ "$(called "${job[$function]}")" = "$(expected "$daemon" "$function")" ]
			has_state "${job[$function]}" completed
		done
	done
	audit
}
