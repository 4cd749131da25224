#!/usr/bin/env bats
# Attempts of a step: each keeps its output, and show, acct, report and log find them.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	instance_up 2 --cpus 2 --mem 1000 --set node.grace=1
	rota admin setting change requeue_delay_s --value=0 >/dev/null
}

teardown_file() {
	instance_down
}

# submit SCRIPT-TEXT [OPTION]...: prints the job's number; its output is in the test's folder.
submit() {
	printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/job.sh"
	shift
	(cd "$BATS_TEST_TMPDIR" && rota submit --parsable "$@" job.sh)
}

# A script that fails in its first attempt.
FLAKY='echo "attempt $ROTA_ATTEMPT"
echo "problem $ROTA_ATTEMPT" >&2
[ "$ROTA_ATTEMPT" = 2 ] || exit 3'

@test "each attempt has its own file, and log reads both" {
	job=$(submit "#!/bin/bash
$FLAKY" --retry=1)
	run -0 rota wait "$job"
	[ "$(cat "$BATS_TEST_TMPDIR/rota-$job.out")" = "attempt 1"$'\n'"problem 1" ]
	[ "$(cat "$BATS_TEST_TMPDIR/rota-$job.attempt2.out")" = "attempt 2"$'\n'"problem 2" ]
	run -0 rota log "$job"
	[ "$output" = "attempt 2"$'\n'"problem 2" ]
	run -0 rota log --attempt=1 "$job"
	[ "$output" = "attempt 1"$'\n'"problem 1" ]
	run -0 rota log -f --attempt=1 "$job"
	[ "$output" = "attempt 1"$'\n'"problem 1" ]
	run -0 rota log --json --attempt=1 -n 1 "$job"
	[ "$output" = '{"line":"problem 1"}' ]
	run -1 rota log --attempt=3 "$job"
	[ "$output" = "rota: $job.script has no attempt 3; its latest is 2" ]
	run -2 rota log --attempt=0 "$job"
}

@test "in folders, of steps and of elements too" {
	mkdir "$BATS_TEST_TMPDIR/logs"
	job=$(submit "#!/bin/bash
#ROTA --retry=1
#ROTA step one --output=logs/ --error=logs/
$FLAKY
#ROTA step many --array=3,5
$FLAKY")
	run -0 rota wait "$job"
	[ "$(cd "$BATS_TEST_TMPDIR" && echo logs/* rota-*)" = "logs/rota-$job.one.attempt2.err logs/rota-$job.one.attempt2.out logs/rota-$job.one.err logs/rota-$job.one.out \
rota-$job.many.3.attempt2.out rota-$job.many.3.out rota-$job.many.5.attempt2.out rota-$job.many.5.out" ]
	run -0 rota log -e --attempt=1 "$job.one"
	[ "$output" = "problem 1" ]
	run -0 rota log -e "$job.one"
	[ "$output" = "problem 2" ]
	run -0 rota log --attempt=1 -n 1 "$job.many[5]"
	[ "$output" = "problem 1" ]
	run -0 rota log -n 1 "$job.many[5]"
	[ "$output" = "problem 2" ]
}

@test "a file that is appended to has all attempts; one that a later attempt overwrote is not shown as that of an earlier one" {
	job=$(submit "#!/bin/bash
#ROTA --retry=1 --open-mode=append
$FLAKY")
	run -0 rota wait "$job"
	for attempt in 1 2; do
		run -0 rota log --attempt=$attempt "$job"
		[ "$output" = "attempt 1"$'\n'"problem 1"$'\n'"attempt 2"$'\n'"problem 2" ]
	done
	[ ! -e "$BATS_TEST_TMPDIR/rota-$job.attempt2.out" ]
	job=$(submit "#!/bin/bash
#ROTA --retry=1 --output=own.out
$FLAKY")
	run -0 rota wait "$job"
	run -1 rota log --attempt=1 "$job"
	[ "${lines[0]}" = "rota: what attempt 1 of $job.script wrote is gone: a later attempt overwrote \"$BATS_TEST_TMPDIR/own.out\"" ]
	[[ ${lines[1]} == "hint: With %R or %r in --output"* ]]
	run -0 rota log --attempt=2 "$job"
	[ "$output" = "attempt 2"$'\n'"problem 2" ]
	job=$(submit "#!/bin/bash
#ROTA --retry=1 --output=own.%r
$FLAKY")
	run -0 rota wait "$job"
	[ "$(rota log --attempt=1 -n 1 "$job") $(rota log --attempt=2 -n 1 "$job")" = "problem 1 problem 2" ]
}

@test "log -f goes on with the files of later attempts, none left out" {
	job=$(submit '#!/bin/bash
#ROTA --retry=3
echo "attempt $ROTA_ATTEMPT"
until [ -e go ]; do sleep 0.3; done
[ "$ROTA_ATTEMPT" = 4 ]')
	rota log -f "$job" >"$BATS_TEST_TMPDIR/followed" 3>&- &
	eventually grep -q 'attempt 1' "$BATS_TEST_TMPDIR/followed"
	touch "$BATS_TEST_TMPDIR/go"
	wait $!
	[ "$(cat "$BATS_TEST_TMPDIR/followed")" = "attempt 1"$'\n'"attempt 2"$'\n'"attempt 3"$'\n'"attempt 4" ]
	run -0 rota log -f -n 0 "$job"
	[ -z "$output" ]
}

@test "show, acct and report list attempts: state, node, times, exit, cause, file" {
	job=$(submit "#!/bin/bash
#ROTA step calm
true
#ROTA step flaky --retry=1 --after=calm
$FLAKY")
	run -0 rota wait "$job"
	for command in "show $job" "show $job.flaky" "report job $job"; do
		run -0 rota $command
		[ "$(grep -cE "^flaky +[12] +(failed|completed) .* n[12] +rota-" <<<"$output")" = 2 ]
		grep -qE "^STEP +ATTEMPT +STATE +STARTED +ENDED +TIME +EXIT +CAUSE +NODES +OUTPUT$" <<<"$output"
		grep -qE "^flaky +1 +failed +[^ ].* 3 +exit +n[12] +rota-$job.flaky.out$" <<<"$output"
		grep -qE "^flaky +2 +completed +[^ ].* 0 +exit +n[12] +rota-$job.flaky.attempt2.out$" <<<"$output"
		[ "$(grep -cE "^calm +1 " <<<"$output")" = 0 ]
	done
	run -0 rota show --json "$job"
	[ "$(jq -c '[.jobs[0].steps[].attempts[] | [.attempt, .state, .exit_code, .cause]]' <<<"$output")" = \
		'[[1,"completed",0,"exit"],[1,"failed",3,"exit"],[2,"completed",0,"exit"]]' ]
	[ "$(jq '[.jobs[0].steps[].attempts[] | select(.nodes == "" or .started_at == null or .ended_at == null)] | length' <<<"$output")" = 0 ]
	run -0 rota report job "$job" --json
	[ "$(jq -c '[.attempts[] | [.label, .attempt, .state]]' <<<"$output")" = "[[\"$job.flaky\",1,\"failed\"],[\"$job.flaky\",2,\"completed\"]]" ]
	run -0 rota acct --attempts "$job"
	[ "${#lines[@]}" = 4 ]
	grep -qE "^$job\.flaky +1 +$(id -un) +failed +3 +exit .*/rota-$job.flaky.out$" <<<"$output"
	run -0 rota acct --attempts --states=failed --csv --no-header --fields=label,attempt,exit_code,output_file "$job"
	[ "$output" = "$job.flaky,1,3,$BATS_TEST_TMPDIR/rota-$job.flaky.out" ]
	run -0 rota acct --attempts --json "$job"
	[ "$(jq -r '.rows[2].output_file' <<<"$output")" = "$BATS_TEST_TMPDIR/rota-$job.flaky.attempt2.out" ]
	run -0 rota acct --attempts --json --name=job.sh
	[ "$(jq -r "[.rows[] | select(.job_id == $job)] | length" <<<"$output")" = 3 ]
	run -0 rota acct --steps --csv --no-header --fields=label,attempts "$job"
	[ "$output" = "$job.calm,1"$'\n'"$job.flaky,2" ]
}

@test "an attempt none of whose tasks has started has no exit code" {
	local job row all=()
	job=$(submit '#!/bin/bash
true' --prolog=/bin/false)
	run -1 rota wait "$job"
	for row in --attempts --steps ''; do
		all+=("$(rota acct $row --csv --no-header --fields=state,exit_code,cause "$job")")
	done
	[ "${all[*]}" = 'failed,,prolog failed,,prolog failed,,prolog' ] || { echo "${all[@]}"; false; }
}

@test "a step that is requeued because its keeper died keeps its output" {
	job=$(submit '#!/bin/bash
echo "attempt $ROTA_ATTEMPT"
[ "$ROTA_ATTEMPT" = 2 ] && exit
echo $PPID >keeper
exec sleep 1000')
	eventually test -s "$BATS_TEST_TMPDIR/keeper"
	kill -KILL "$(cat "$BATS_TEST_TMPDIR/keeper")"
	run -0 rota wait "$job"
	[ "$(rota log --attempt=1 "$job") $(rota log "$job")" = "attempt 1 attempt 2" ]
	run -0 rota show "$job"
	grep -qE "^script +1 +node_fail " <<<"$output"
	grep -qE "^script +2 +completed .* n[12] +rota-$job.attempt2.out$" <<<"$output"
}

@test "attempts are shown without files to users who may not see them" {
	need_root
	job=$(submit "#!/bin/bash
$FLAKY" --retry=1)
	run -0 rota wait "$job"
	run -0 as nobody rota show --json "$job"
	[ "$(jq -c '[.jobs[0].steps[].attempts[] | [.attempt, .state, .message]]' <<<"$output")" = '[[1,"failed",null],[2,"completed",null]]' ]
	run -0 as nobody rota show "$job"
	[[ $output != *"rota-$job"* && $output != *OUTPUT* ]]
	run -0 as nobody rota report job "$job" --json
	[ "$(jq -c '[.attempts[] | [.output, .workdir, .job_name, .message]] | unique' <<<"$output")" = '[[null,null,null,null]]' ]
	refused "private" as nobody rota log --attempt=1 "$job"
	run as nobody rota acct --attempts --json "$job"
	[[ $output != *"$BATS_TEST_TMPDIR"* ]]
}
