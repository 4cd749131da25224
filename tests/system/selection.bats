#!/usr/bin/env bats
# Selections: --me, --user, --name, --state, --partition, --account; the question on a terminal; other users.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	instance_up 1 --cpus 4 --mem 2000 --set node.grace=1
	rota admin partition create side --nodes=n1
	if [ "$EUID" = 0 ]; then
		export ALICE=rsel$$
		useradd --no-create-home --home-dir "/tmp/$ALICE" --shell /bin/bash "$ALICE"
	fi
}

teardown_file() {
	local status=0
	instance_down || status=1
	[ -z "${ALICE:-}" ] || userdel "$ALICE" || status=1
	return "$status"
}

teardown() {
	rota cancel -q --user="$(id -un)${ALICE:+,$ALICE}"
	eventually is_idle
}

# submit [OPTION]...: a job that waits until it is cancelled.
submit() {
	printf '#!/bin/sh\nsleep 600\n' >"$BATS_TEST_TMPDIR/job.sh"
	(cd "$BATS_TEST_TMPDIR" && rota submit --parsable --output=/dev/null "$@" job.sh)
}

state() {
	rota sql -Atc "select state || held from rota.step where job_id = $1 and step_id = 0"
}

is() {
	[ "$(state "$1")" = "$2" ]
}

@test "each option narrows the selection" {
	one=$(submit --hold --job-name=one)
	two=$(submit --hold --job-name=two --partition=side)
	run -0 rota cancel --name=none --me
	[ "$output" = "rota: no job that you may change matches; nothing was changed" ]
	run -0 rota cancel --state=running
	[[ $output == *"nothing was changed" ]]
	run -0 rota release --me --partition=side
	[ "$output" = "$two.script: released" ]
	eventually is "$two" running
	run -0 rota cancel --me --state=pending
	[ "$output" = "$one.script: cancelled" ]
	run -0 rota hold --name=two
	[ "$output" = "$two.script: not changed: it has already started (running)" ]
	run -0 rota signal USR1 --me --name=two --state=running
	[ "$output" = "$two.script: signalled" ]
	eventually is "$two" failed
}

@test "with jobs named, those of them are meant that match" {
	one=$(submit --hold --job-name=one)
	two=$(submit --hold --job-name=two)
	run -0 rota cancel --json --name=one "$one" "$two"
	[ "$(jq -r '[.steps[].label] | join(" ")' <<<"$output")" = "$one.script" ]
	is "$two" pendinguser
}

@test "modify changes all that is selected, or nothing" {
	one=$(submit --hold)
	two=$(submit --hold --partition=side)
	three=$(submit --partition=side)
	eventually is "$three" running
	rota modify --partition=main --me --state=pending --of-partition=side
	run rota sql -Atc "select string_agg(partition, ' ' order by job_id) from rota.step_request where job_id in ($one, $two, $three)"
	[ "$output" = "main main side" ]
	run -1 rota modify --cpus-per-task=2 --me
	[[ $output == *"$three.script: it has started, so --cpus-per-task cannot be modified"* ]]
	run rota sql -Atc "select sum(cpus_per_task) from rota.step_request where job_id in ($one, $two, $three)"
	[ "$output" = 3 ]
	run -0 rota modify --time=5 --name=none
	[[ $output == *"nothing was changed" ]]
}

@test "a selection of everything by mistake is refused" {
	one=$(submit --hold)
	run -2 rota cancel
	[[ $output == *"name a job"* ]]
	run -1 rota cancel --name="" --me
	[[ $output == *'"name" is empty'* ]]
	run -1 rota cancel --user=""
	run -1 rota modify --time=5 --state= --me
	run -1 rota cancel --state=pnding
	[[ $output == *'no state "pnding"'* ]]
	run -1 rota cancel --partition=nix
	[[ $output == *'no partition "nix"'* ]]
	run -1 rota cancel --user=nobody-there
	[[ $output == *'no user "nobody-there"'* ]]
	is "$one" pendinguser
}

@test "on a terminal the selection is listed, and changed after confirmation" {
	one=$(submit --hold --job-name=first)
	run script -qec "rota cancel --me" /dev/null <<<n
	[[ $output == *first*pending*"Cancel this job? [y/N]"*"nothing was changed"* ]]
	is "$one" pendinguser
	two=$(submit --hold --job-name=second)
	run -0 script -qec "rota cancel --me" /dev/null <<<y
	[[ $output == *first*second*"Cancel these jobs?"* ]]
	is "$one" cancelleduser
	is "$two" cancelleduser
	three=$(submit --hold)
	run -0 script -qec "rota cancel --me --yes" /dev/null
	[[ $output != *"[y/N]"* ]]
	is "$three" cancelleduser
}

@test "only operators can select jobs of others" {
	need_root
	mine=$(submit --hold --job-name=same)
	theirs=$(cd / && as "$ALICE" rota submit --parsable --hold --job-name=same --output=/dev/null - <"$BATS_TEST_TMPDIR/job.sh")
	run -0 as "$ALICE" rota cancel --user=root
	[[ $output == *"no job that you may change matches"* ]]
	run -0 as "$ALICE" rota modify --time=5 --user=root
	[[ $output == *"no job that you may change matches"* ]]
	run -0 as "$ALICE" rota cancel --name=same
	[ "$output" = "$theirs.script: cancelled" ]
	run -1 as "$ALICE" rota cancel --name=same "$mine"
	is "$mine" pendinguser
	theirs=$(cd / && as "$ALICE" rota submit --parsable --hold --output=/dev/null - <"$BATS_TEST_TMPDIR/job.sh")
	run -0 rota cancel --user="$ALICE"
	[ "$output" = "$theirs.script: cancelled" ]
	is "$mine" pendinguser
}
