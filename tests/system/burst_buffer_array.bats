#!/usr/bin/env bats
# Staging of arrays by the site's burst_buffer.lua: each element has its own calls, number and data.

load helper
load staging

setup_file() {
	site_make < <(recorder)
	instance_up 1 "${SITE_OPTIONS[@]}" --set hooks.other_timeout=60
	rota admin setting change requeue_delay_s --value=0
	rota admin setting change requeue_max --value=9
}

teardown_file() {
	local status=0
	instance_down || status=1
	site_remove
	return "$status"
}

# array INDICES DIRECTIVE [OPTION]...: an array whose elements print the numbers and variables of burst_buffer.lua that they find.
# Prints its job.
array() {
	printf '#!/bin/bash\n#BB_LUA %s\n[ ! -e %s/fails.$ROTA_ARRAY_INDEX.$ROTA_ATTEMPT ] || exit 1\necho "$ROTA_JOB_ID $SLURM_JOB_ID $SLURM_JOBID $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $BB_PATH" >%s/has.$ROTA_JOB_ID.$ROTA_ARRAY_INDEX\n' \
		"$2" "$SITE" "$SITE" >"$BATS_TEST_TMPDIR/script"
	(cd "$BATS_TEST_TMPDIR" && rota submit --parsable --output=/dev/null --array="$1" "${@:3}" script)
}

# number JOB INDEX: prints the staging number of an element.
number() {
	sql "select job_id from acct.staging where array_job_id = $1 and array_index = $2"
}

# element JOB INDEX: prints the state of the element's data.
element() {
	sql "select state from acct.staging where array_job_id = $1 and array_index = $2"
}

is_element() {
	[ "$(element "$1" "$2")" = "$3" ]
}

runs_element() {
	local id
	id=$(number "$1" "$2")
	[ -n "$id" ] && runs "$id" "$3"
}

@test "each element has all functions called in order, by a number of its own, and finds its data and number" {
	job=$(array 4-9 "in=%A_%a of %j")
	rota wait --timeout=300 "$job"
	eventually is_staging "$job" complete
	for i in 4 5 6 7 8 9; do
		id=$(number "$job" $i)
		[ "$id" -gt "$job" ]
		[ "$(called "$id")" = "$ALL" ]
		[ "$(cat "$SITE/has.$job.$i")" = "$job $id $id $job $i /fast/$id" ]
		grep -qx "#BB_LUA in=${job}_$i of $id" "$SITE/script.$id.data_in"
		grep -q '^data_in .* PENDING$' "$SITE/log.$id"
		grep -q '^data_out .* COMPLETED$' "$SITE/log.$id"
		grep -q '^job_teardown false ' "$SITE/log.$id"
	done
	[ ! -e "$SITE/log.$job" ]
	[ "$(sql "select count(distinct job_id) from acct.staging where array_job_id = $job")" = 6 ]
	run rota show "$id"
	[ "$status" != 0 ] # the staging number is the number of no job
}

@test "an element starts when its data is in, whatever the others wait for; queue, show, why and hook list say so" {
	job=$(array 0-2 "wait=data_in")
	eventually runs_element "$job" 1 data_in
	eventually runs_element "$job" 0 data_in
	[ "$(rota queue | grep "^ *$job ")" != "" ]
	rota queue | grep "^ *$job " | grep -q staging_in
	run rota why "$job.script[1]"
	[[ "$output" == *"data_in of burst_buffer.lua since"* ]]
	run rota show --hooks "$job"
	[[ "$output" == *"array"*"$job.script[1] ($(number "$job" 1)): staging_in"*data_in* ]]
	run rota admin hook list
	[[ "$output" == *"$job.script[1]"*staging_in* ]]
	run rota admin hook show "$(number "$job" 1)"
	[[ "$output" == *"$job.script[1]"*"data_in runs"* ]]
	touch "$SITE/go.$(number "$job" 1)"
	eventually is_element "$job" 1 complete
	[ -e "$SITE/has.$job.1" ]
	[ ! -e "$SITE/has.$job.0" ] && [ ! -e "$SITE/has.$job.2" ]
	is_element "$job" 0 staging_in
	rota cancel "$job.script[0]"
	eventually is_element "$job" 0 complete
	[ "$(called "$(number "$job" 0)")" = "setup data_in job_teardown" ]
	eventually is_element "$job" 2 staging_in
	touch "$SITE/go.$(number "$job" 2)"
	rota wait --timeout=300 "$job" || true
	eventually is_staging "$job" complete
	[ ! -e "$SITE/has.$job.0" ] && [ -e "$SITE/has.$job.2" ]
}

@test "a few elements are staged ahead of their nodes, however large the array is" {
	rota admin setting change stage_ahead --value=3
	job=$(array 0-99999 "wait=data_in" --begin=now+1hour)
	eventually is_staging "$(array 0 "stage")" complete
	[ "$(sql "select count(*) from rota.staging where array_job_id = $job")" = 0 ]
	rota modify --begin=now "$job"
	eventually runs_element "$job" 2 data_in
	[ "$(sql "select count(*) from rota.staging where array_job_id = $job")" = 3 ]
	[ "$(sql "select count(*) from rota.step where job_id = $job")" = 4 ]
	touch "$SITE/go.$(number "$job" 0)"
	eventually runs_element "$job" 3 data_in
	[ "$(sql "select count(*) from rota.staging where array_job_id = $job")" = 4 ]
	rota cancel "$job"
	eventually is_staging "$job" complete
	[ "$(sql "select count(*) from rota.staging where array_job_id = $job")" = 4 ]
	rota admin setting change stage_ahead --value=10
}

@test "an element that is retried keeps its data; stage-in and stage-out fail for an element alone" {
	touch "$SITE/fails.1.1"
	job=$(array 0-2%2 "fail=data_out" --retry=1)
	rota wait --timeout=300 "$job"
	stuck() { [ "$(rota acct --json "$job" | grep -c stage_out_failed)" != 0 ]; }
	eventually stuck
	rota queue | grep "^ *$job " | grep -q 'staging_out\|stage_out_failed'
	all_failed() { [ "$(sql "select count(*) from acct.staging where array_job_id = $job and message like '%data_out says no'")" = 3 ]; }
	eventually all_failed
	touch "$SITE/healed.$(number "$job" 0)" "$SITE/healed.$(number "$job" 2)"
	rm "$SITE/fails.1.1"
	rota continue "$job"
	eventually is_element "$job" 0 complete
	eventually is_element "$job" 2 complete
	[ "$(called "$(number "$job" 1)" | grep -o setup | wc -l)" = 1 ]
	[ "$(sql "select attempt from rota.step where job_id = $job and array_index = 1")" = 2 ]
	rota cancel --hurry "$job.script[1]"
	eventually is_staging "$job" complete
	grep -q '^job_teardown true ' "$SITE/log.$(number "$job" 1)"
	job=$(array 0-1 "fail=setup")
	held() { [ "$(sql "select count(*) from rota.step where job_id = $job and held = 'system'")" = 2 ]; }
	eventually held
	touch "$SITE/healed.$(number "$job" 0)"
	rota release "$job.script[0]"
	eventually is_element "$job" 0 complete
	is_element "$job" 1 failed
	rota cancel "$job"
	eventually is_staging "$job" complete
}

@test "runnerd dies while elements are in different stages: each goes on from its own" {
	for function in $ALL; do
		job=$(array 0-1 "wait=$function")
		eventually runs_element "$job" 0 "$function"
		daemon_kill runnerd
		touch "$SITE/go.$(number "$job" 0)"
		eventually is_element "$job" 0 complete
		eventually runs_element "$job" 1 "$function"
		touch "$SITE/go.$(number "$job" 1)"
		rota wait --timeout=300 "$job"
		eventually is_staging "$job" complete
		case $function in
		setup | data_in | test_data_in | paths) expected="${ALL%%"$function"*}$function job_teardown $ALL" ;;
		pre_run | job_teardown) expected="${ALL/$function/$function $function}" ;;
		*) expected="${ALL%%"$function"*}$function post_run${ALL#*post_run}" ;;
		esac
		[ "$(called "$(number "$job" 0)")" = "$expected" ]
		[ -e "$SITE/has.$job.0" ] && [ -e "$SITE/has.$job.1" ]
	done
}
