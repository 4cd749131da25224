#!/usr/bin/env bats
# Steps that save themselves: on request, at intervals, before the time limit, by exit code 85; they go on with an undisturbed
# run's result.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	export EVE=rbck$$
	export DRIVERS
	DRIVERS=$(mktemp -d "${TMPDIR:-/tmp}/rota-drivers.XXXXXX")
	site_drivers
	instance_up 2 --set node.grace=2 --set node.checkpoint_folder="$DRIVERS" || return 1
	rota admin setting change requeue_delay_s --value=0
	rota admin setting change checkpoint_pace_s --value=0
	export EXPECTED
	EXPECTED=$(worker_result)
}

teardown() {
	! mountpoint -q "$BATS_TEST_TMPDIR/full" || umount -l "$BATS_TEST_TMPDIR/full"
	if [ -z "${BATS_TEST_COMPLETED:-}" ]; then # it may have left these as no other test expects them
		rota admin setting change checkpoint_wait_s --value=60
		rota admin setting change checkpoint_interval_s --value=1800
	fi
}

teardown_file() {
	local status=0
	instance_down || status=1
	rm -rf -- "$DRIVERS"
	! id "$EVE" >/dev/null 2>&1 || users_remove "$EVE" || status=1
	return "$status"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	chmod 755 .
}

# site_drivers: drivers of the site. copy: for programs that keep their progress in a file done. broken: cannot save. half: has no
# program restart. bound: as copy, on the same nodes only, and with the same library; it does not know what it needs where there is no
# library.
site_drivers() {
	mkdir "$DRIVERS"/{copy,broken,half,bound}
	printf '#!/bin/sh\nexec "$@"\n' >"$DRIVERS/bound/start"
	printf '#!/bin/sh\ncp done "$ROTA_CHECKPOINT_DIR"\n' >"$DRIVERS/bound/checkpoint"
	printf '#!/bin/sh\ncp "$ROTA_RESTART_DIR/done" done\nexec "$@"\n' >"$DRIVERS/bound/restart"
	printf '#!/bin/sh\necho "nodes $ROTA_NODELIST"\necho "version 5.1 of bound"\nlibrary=$(cat library) || exit 3\necho "library $library"\n' >"$DRIVERS/bound/needs"
	printf '#!/bin/sh\necho "start $(id -u)" >>calls\nexec "$@"\n' | tee "$DRIVERS"/{copy,broken,half}/start >/dev/null
	printf '#!/bin/sh\necho "checkpoint $(id -u)" >>calls\ncp done "$ROTA_CHECKPOINT_DIR"\n' | tee "$DRIVERS"/{copy,half}/checkpoint >/dev/null
	printf '#!/bin/sh\nexit 7\n' >"$DRIVERS/broken/checkpoint"
	printf '#!/bin/sh\necho "restart $(id -u)" >>calls\ncp "$ROTA_RESTART_DIR/done" done\nexec "$@"\n' | tee "$DRIVERS"/{copy,broken}/restart >/dev/null
	chmod -R 755 "$DRIVERS"
}

# The result of a worker without a disturbance: 600 turns of a number generator.
worker_result() {
	local i x=1
	for ((i = 0; i < 600; i++)); do x=$(((x * 1103515245 + 12345) % 2147483648)); done
	echo "$x"
}

# worker [LINE]...: a job that takes 600 turns, and waits at turn 300, where it makes a file at.ATTEMPT, until there is a file go. It
# saves itself when it is signalled.
# MODE: done, it reports the checkpoint and goes on; exit, it ends with exit code 85; deaf, it does neither.
worker() {
	local line
	echo '#!/bin/bash'
	for line in --output=out.%j --open-mode=append "$@"; do echo "#ROTA $line"; done
	cat <<-'END'
		i=0 x=1 asked=
		[ -z "$ROTA_RESTART" ] || read -r i x <"$ROTA_RESTART_DIR/state"
		trap 'asked=1' USR1
		echo "$ROTA_ATTEMPT $ROTA_CHECKPOINT_GENERATION $i" >>starts
		save() {
			asked=
			echo "$i $x" >"$ROTA_CHECKPOINT_DIR/state"
			case $MODE in exit) exit 85 ;; deaf) ;; *) rota checkpoint --done || echo "could not save" ;; esac
		}
		while [ "$i" -lt 600 ]; do
			if [ "$i" -eq 300 ] && ! [ -e go ]; then
				: >"at.$ROTA_ATTEMPT"
				sleep 0.05
			else
				i=$((i + 1)) x=$(((x * 1103515245 + 12345) % 2147483648))
			fi
			[ -z "$asked" ] || save
		done
		echo "$x" >result
	END
}

# submit [LINE]...: submit a worker with checkpoints, and wait until it waits at turn 300.
submit() {
	rm -rf go at.* starts result
	worker --checkpoint=app --checkpoint-signal=B:USR1 "$@" >worker.sh
	job=$(rota submit --parsable worker.sh)
	eventually waits 1
}

# waits ATTEMPT: this attempt has begun, and its process waits.
waits() {
	[ -e "at.$1" ] && [ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].state')" = running ]
}

rows() {
	sql "select string_agg(concat_ws(' ', c.generation, c.state, c.reason), ', ' order by c.generation) from acct.checkpoint c where c.job_id = $job"
}

@test "a step saves itself, is ended, and goes on from there with the same result; then nothing is left" {
	submit
	run -0 rota checkpoint "$job" --wait
	[[ $output = *"checkpoint 1 is asked for"*"checkpoint 1 complete" ]]
	[ "$(rota queue --json | jq -r '.jobs | length')" = 1 ]
	run -0 rota checkpoint verify "$job"
	[[ $output = "$job."*": checkpoint 1 is whole" ]]
	run -0 rota checkpoint show "$job"
	[[ $output = *"file           state  "*" bytes  "*"  by n"[12]* ]]
	[[ $output = *"consistency    program"* ]]
	rota checkpoint show "$job" --json | jq -e '.checkpoints[0] | .consistency == "program" and .tmpdir_bytes == null and (.file_list | length) == 1 and (.node | test("^n[12]$"))
		and .asked_at <= .taking_at and .taking_at <= .complete_at and .restoring_at == null and .restored_at == null'
	run -0 rota show "$job"
	[[ $output = *"Checkpoint  script: 1 complete, "* ]]
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].checkpoints[0] | [.generation, .attempt, .state, .reason, .bytes > 0, .complete_at != null] | join(" ")')" = "1 1 complete user true true" ]
	[ "$(rota report job "$job" --json | jq -r '.checkpoints[0] | [.generation, .attempt, .complete_at != null] | join(" ")')" = "1 1 true" ]
	run -0 rota checkpoint "$job" --end --wait --reason="lunch"
	eventually eval '[ "$(rota show --json "$job" | jq -r .jobs[0].state)" = cancelled ]'
	[ ! -e result ]
	touch go
	refused 'there is no node "n9"' rota restart "$job" --to n9
	run -0 rota restart "$job" --to n2
	[[ $output = *"to go on from checkpoint 2, only on n2" ]]
	run -0 rota wait "$job"
	[ "$(sql "select nodes from acct.attempt where job_id = $job and attempt = 2")" = n2 ]
	[ "$(cat result)" = "$EXPECTED" ]
	[ "$(cat starts)" = "1 0 0
2 2 300" ]
	[ "$(rows)" = "1 discarded user, 2 discarded user" ]
	[ "$(sql "select consistency || ' ' || (complete_at <= restoring_at and restoring_at <= restored_at and restored_at <= discarded_at) from acct.checkpoint where job_id = $job and generation = 2")" = "program true" ]
	[ ! -e checkpoints ]
}

@test "of two jobs one has ended: the checkpoint of the other is waited for" {
	MODE=done submit
	over=$(rota submit --parsable --wrap true)
	run -0 rota wait "$over"
	run -1 --separate-stderr rota checkpoint "$job" "$over" --wait
	[[ $output = *"$job.script: checkpoint 1 is asked for"*"$job.script: checkpoint 1 complete" ]]
	[[ $stderr = *"$over.script: not changed: it has already ended (completed)"* ]]
	run -1 --separate-stderr rota checkpoint "$over" --wait
	[ -z "$output" ]
	touch go
	run -0 rota wait "$job"
}

@test "exit code 85: it is saved and run again" {
	export MODE=exit
	submit
	run -0 rota checkpoint "$job"
	eventually waits 2
	touch go
	run -0 rota wait "$job"
	[ "$(cat result)" = "$EXPECTED" ]
	[ "$(cat starts)" = "1 0 0
2 1 300" ]
	[ "$(rows)" = "1 discarded user" ]
}

@test "as often as pays off" {
	rota admin setting change checkpoint_interval_s --value=1
	submit --checkpoint-interval=auto
	run -0 rota show "$job.script"
	[[ $output = *"Interval    0:01, until a checkpoint of it has been measured"* ]] || [[ $(rows) = *"interval"* ]]
	eventually eval '[[ $(rows) = *"complete interval"* ]]'
	run -0 rota show "$job.script"
	[[ $output = *"Interval    "*" = sqrt(2 * "*" s * "*"), the time between failures of its nodes as assumed"* ]]
	rota admin setting change checkpoint_interval_s --value=1800
	touch go
	run -0 rota wait "$job"
	[ "$(cat result)" = "$EXPECTED" ]
}

@test "every so often" {
	submit --checkpoint-interval=0:01 --checkpoint-keep=1 --checkpoint-dir=kept
	# The second may have been replaced by a third meanwhile.
	eventually eval '[[ $(rows) =~ ^"1 discarded interval, 2 "(complete|discarded)" interval" ]]'
	eventually [ ! -e kept/"$(ls kept)"/1 ]
	[ "$(stat -c %a kept/*)" = 700 ]
	touch go
	run -0 rota wait "$job"
	[ "$(cat result)" = "$EXPECTED" ]
	[ ! -e kept ]
}

@test "a step longer than its time limit: saved ahead of it, and queued again" {
	submit --time=0:34 --checkpoint-before=0:30
	eventually waits 3
	touch go
	run -0 rota wait "$job"
	[ "$(cat result)" = "$EXPECTED" ]
	[[ $(rows) = "1 discarded time_limit, 2 discarded time_limit"* ]]
	[ "$(sql "select bool_and(saved_s >= 0 and elapsed_s >= 0 and bytes > 0) from acct.checkpoint where job_id = $job")" = t ]
}

@test "a program that does not save itself goes on, and that is said" {
	export MODE=deaf
	rota admin setting change checkpoint_wait_s --value=1
	submit
	run -1 rota checkpoint "$job" --end --wait
	[[ $output = *"checkpoint 1 failed: the program did not save itself within 1 second"* ]]
	rota admin setting change checkpoint_wait_s --value=60
	[ "$(rota show --json "$job" | jq -r .jobs[0].state)" = running ]
	touch go
	run -0 rota wait "$job"
	[ "$(cat result)" = "$EXPECTED" ]
}

@test "damaged, truncated and exchanged files are refused, and the checkpoint before them is used" {
	local dir
	submit --checkpoint-keep=9
	for _ in 1 2 3 4 5; do rota checkpoint "$job" --wait; done
	rota cancel "$job"
	eventually has_left "$job"
	dir=$(echo "$PWD"/checkpoints/*)
	printf X | dd of="$dir/5/state" conv=notrunc status=none
	truncate -s 1 "$dir/4/state"
	mv "$dir/3" "$dir/away"
	ln -s "$dir/1" "$dir/3"
	mv "$dir/2/state" "$dir/away/other"
	ln -s ../1/state "$dir/2/state"
	run -1 rota checkpoint verify "$job"
	[[ $output = *"checkpoint 1 is whole"* && $output = *"state: its SHA-256 differs"* && $output = *"state: it has 1 bytes"* ]]
	touch go
	run -0 rota restart "$job"
	run -0 rota wait "$job"
	[ "$(cat result)" = "$EXPECTED" ]
	[ "$(tail -n 1 starts)" = "2 1 300" ]
	[ "$(rows)" = "1 discarded user, 2 failed user, 3 failed user, 4 failed user, 5 failed user" ]
	[ "$(sql "select message from acct.checkpoint where job_id = $job and generation = 5")" = "state: its SHA-256 differs" ]
}

@test "files that cannot be read are not refused: the step goes on from them later" {
	submit
	rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	mv checkpoints away
	touch go
	run -0 rota restart "$job"
	eventually eval '[ "$(rota show --json "$job" | jq -r ".jobs[0].steps[0].held")" = system ]'
	grep -q "could not read checkpoint 1: could not open folder" out.*
	run -0 rota why "$job"
	[[ $output = *"could not go on from checkpoint 1 on n"[12]": could not read checkpoint 1: could not open folder"* ]]
	[ "$(rows)" = "1 restoring user" ]
	[ "$(ls)" = "$(printf '%s\n' at.1 away go out."$job" starts worker.sh)" ]
	mv away checkpoints
	run -0 rota release "$job"
	run -0 rota wait "$job"
	[ "$(cat result)" = "$EXPECTED" ]
	[[ $(tail -n 1 starts) = *" 1 300" ]]
}

@test "a full disk fails the checkpoint and nothing else" {
	need_root
	local full=$BATS_TEST_TMPDIR/full
	mkdir "$full"
	mount -t tmpfs -o size=1m,mode=1777 rota "$full"
	head -c 4000000 /dev/zero >big
	rm -f go at.* starts result
	worker --checkpoint=app --checkpoint-signal=B:USR1 --checkpoint-dir="$full" | sed 's/rota checkpoint --done ||/rota checkpoint --done "$ROTA_CHECKPOINT_DIR\/state" big ||/' >worker.sh
	job=$(rota submit --parsable worker.sh)
	eventually waits 1
	run -1 rota checkpoint "$job" --wait
	[[ $output = *"checkpoint 1 failed: "*"No space left on device"* ]]
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0] | "\(.attempt) \(.state)"')" = "1 running" ]
	eventually grep -q "could not save" out.*
	# The incomplete files of the failed checkpoint are gone, so smaller ones have space.
	eventually eval '[ "$(df --output=used -k "$full" | tail -n 1)" -lt 100 ]'
	head -c 100000 /dev/zero >big
	run -0 rota checkpoint "$job" --wait
	[[ $output = *"checkpoint 2 complete" ]]
	touch go
	run -0 rota wait "$job"
	[ "$(cat result)" = "$EXPECTED" ]
	eventually umount "$full"
}

@test "a generation is chosen, and checkpoints are discarded" {
	submit
	rota checkpoint "$job" --wait
	rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	run -1 rota restart "$job" --generation=3
	[[ $output = *"has no checkpoint 3 that can be used"* ]]
	run -0 rota restart "$job" --generation=1
	eventually waits 2
	[ "$(tail -n 1 starts)" = "2 1 300" ]
	run -1 rota checkpoint discard "$job" --generation=1
	[[ $output = *"may still read its files"* ]]
	rota cancel "$job"
	eventually has_left "$job"
	run -0 rota checkpoint discard "$job"
	[ "$(ls checkpoints/*)" = next.2 ]
	run -0 rota restart "$job"
	[[ $output = *"from the beginning" ]]
	touch go
	run -0 rota wait "$job"
	[ "$(tail -n 1 starts)" = "3 0 0" ]
	[ "$(cat result)" = "$EXPECTED" ]
}

@test "only processes that handle the signal get it, and files are copied or moved" {
	# bash has a handler for all signals as soon as there is a trap of EXIT, and ends by them.
	cat >tree.sh <<-'END'
		#!/bin/bash
		#ROTA --checkpoint=app --checkpoint-signal=USR2 --output=out.%j
		trap 'echo end' EXIT
		./tree
		exit 3
	END
	cat >tree <<-'END'
		#!/bin/bash
		sleep 1000 & child=$!
		trap 'asked=1' USR2
		echo "$child" >child.pid
		until [ -n "$asked" ]; do sleep 0.3; done
		kill -0 "$child" && echo alive >alive
		echo own >own
		echo moved >"$ROTA_CHECKPOINT_DIR/moved"
		rota checkpoint --done own "$ROTA_CHECKPOINT_DIR/moved" && ls own "$ROTA_CHECKPOINT_DIR" >left
		until [ -e second ]; do sleep 0.3; done
		rota checkpoint --done 2>nothing
		kill "$child"
	END
	chmod 755 tree
	job=$(rota submit --parsable tree.sh)
	eventually [ -s child.pid ]
	eventually eval '[ "$(rota show --json "$job" | jq -r .jobs[0].state)" = running ]'
	rota checkpoint "$job" --wait
	touch second
	run -3 rota wait "$job"
	[ "$(cat alive)" = alive ]
	[ "$(cat left | grep -c .)" = 2 ]
	[ "$(cat checkpoints/*/1/own checkpoints/*/1/moved)" = "own
moved" ]
	grep -q "has written no file" nothing
	[ "$(rows)" = "1 complete user, 2 failed program" ]
}

@test "strangers neither see, make, use nor discard the checkpoints of others" {
	need_root
	users_add "$EVE"
	submit
	rota checkpoint "$job" --wait
	run -1 as "$EVE" rota checkpoint "$job"
	[[ $output = *"belongs to"* ]]
	run -1 as "$EVE" rota checkpoint list "$job"
	run -1 as "$EVE" rota checkpoint discard "$job"
	run -1 as "$EVE" rota restart "$job"
	# A forged report about the step, as rota-checkpoint would send it; and the folder of another user given as one's own.
	run -85 as "$EVE" env ROTA_JOB_ID="$job" ROTA_STEP_ID=0 ROTA_ATTEMPT=1 ROTA_NODE=n1 ROTA_STEP_LABEL=x \
		rota-checkpoint "$ROTA_HOME/etc/rota.conf" app /tmp/x asked start /bin/true true
	[[ $output = *"no such step of yours"* ]]
	mkdir -m 777 shared
	as "$EVE" mkdir -m 777 "shared/$job.x"
	run -1 env ROTA_JOB_ID="$job" ROTA_STEP_ID=0 ROTA_ATTEMPT=1 ROTA_NODE=n1 ROTA_CONFIG="$ROTA_HOME/etc/rota.conf" ROTA_CHECKPOINT=/none ROTA_CHECKPOINT_DRIVER=app \
		ROTA_STEP_LABEL="$job.x" ROTA_CHECKPOINT_DIR="$PWD/shared/$job.x/next.1" rota-checkpoint done
	[[ $output = *"is not yours, or others may write to it"* ]]
	[ "$(rows)" = "1 complete user" ]
	touch go
	run -0 rota wait "$job"
}

# blocks KIND: prints the first block ```KIND of docs/checkpointing.md.
block() {
	awk -v open="\`\`\`$1" '$0 == open { on = 1; next } on && $0 == "```" { exit } on' "$ROTA_SOURCE/docs/checkpointing.md"
}

# three_handle: the three programs in this folder handle SIGUSR1: sample, python3 and the script. They are found by name, since
# the
# shell of this test handles the signal too, and so does, for a moment, each child that a shell has forked.
three_handle() {
	local folder mask names
	names=$(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$PWD" 2>/dev/null | while read -r folder; do
		mask=$(sed -n 's/^SigCgt:\t//p' "${folder%cwd}status" 2>/dev/null) && [ -n "$mask" ] && ((0x$mask >> 9 & 1)) &&
			cat "${folder%cwd}comm" 2>/dev/null
	done | sort -u)
	[ "$(grep -cxE 'sample|python3|script' <<<"$names")" -eq 3 ]
}

@test "the programs of the manual save themselves and go on" {
	local name sum=$((500 * 499 / 2)) jobs=()
	block c >sample.c
	block python >sample.py
	block sh >sample.sh
	# The work of these programs: each turn is its number. From turn 50 on a turn takes 0.2 s until there is a file on, so they
	# run whenever they are asked.
	cat >work.c <<-'END'
		#include <unistd.h>
		long work(long turn)
		{
			if (turn >= 50 && access("on", F_OK) != 0)
				usleep(200000);
			return turn;
		}
	END
	printf 'import os, time\ndef work(turn):\n    if turn >= 50 and not os.path.exists("on"):\n        time.sleep(0.2)\n    return turn\n' >work.py
	printf '#!/bin/sh\n[ "$1" -lt 50 ] || [ -e on ] || sleep 0.2\necho "$1"\n' >work
	chmod 755 work
	cc -std=gnu17 -Wall -Wextra -Werror sample.c work.c -o sample
	printf '#!/bin/sh\n./sample\n' >c.sh
	printf '#!/bin/sh\npython3 sample.py\n' >python.sh
	cp sample.sh shell.sh
	for name in c python shell; do
		jobs+=("$(rota submit --parsable --checkpoint=app --output="out.$name" "$name.sh")")
	done
	for job in "${jobs[@]}"; do
		eventually eval '[ "$(rota show --json "$job" | jq -r .jobs[0].state)" = running ]'
	done
	eventually three_handle
	rota checkpoint "${jobs[@]}" --end
	for job in "${jobs[@]}"; do eventually has_left "$job"; done
	touch on
	for job in "${jobs[@]}"; do
		[ "$(rota show --json "$job" | jq -r .jobs[0].state)" = cancelled ]
		run -0 rota restart "$job"
		[[ $output = *"to go on from checkpoint 1" ]]
	done
	run -0 rota wait "${jobs[@]}"
	for name in c python shell; do [ "$(cat "out.$name")" = "$sum" ]; done
}

@test "a driver of the site saves a program that cannot save itself, as its owner" {
	need_root
	id "$EVE" >/dev/null 2>&1 || users_add "$EVE"
	folders_add "$EVE"
	cd "$ROTA_TEST_DIR/$EVE"
	cat >plain.sh <<-'END'
		#!/bin/sh
		i=$(cat done 2>/dev/null || echo 0)
		echo "$ROTA_ATTEMPT $i" >>starts
		while [ "$i" -lt 9 ]; do
			i=$((i + 1))
			echo "$i" >next && mv next done
			until [ "$i" != 5 ] || [ -e go ]; do sleep 0.05; done
		done
		echo "$i $1" >result
	END
	job=$(as "$EVE" rota submit --parsable --checkpoint=script:copy plain.sh word)
	eventually eval '[ "$(cat done 2>/dev/null)" = 5 ] && [ "$(rota show --json "$job" | jq -r .jobs[0].state)" = running ]'
	run -0 as "$EVE" rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	echo 3 >done # a restore replaces what the program has written since
	touch go
	run -0 as "$EVE" rota restart "$job"
	run -0 rota wait "$job"
	[ "$(cat result)" = "9 word" ]
	[ "$(cat starts)" = "1 0
2 5" ]
	[ "$(cat calls)" = "start $(id -u "$EVE")
checkpoint $(id -u "$EVE")
restart $(id -u "$EVE")" ]
	[ "$(sql "select string_agg(distinct driver, ',') from acct.checkpoint where job_id = $job")" = script:copy ]
}

@test "a driver of the site is bound to nodes of the same names, and to what else it names" {
	printf '#!/bin/sh\n[ -n "$ROTA_RESTART" ] || echo begun >done\necho "$ROTA_NODE $(cat done)" >>starts\nuntil [ -e go ]; do sleep 0.3; done\n' >bound.sh
	echo 7 >library
	job=$(rota submit --parsable --checkpoint=script:bound --output=out.%j --open-mode=append bound.sh)
	eventually waits_bound 1
	read -r node _ <starts
	mv library away
	run -1 rota checkpoint "$job" --wait
	[[ $output = *"driver script:bound: its program needs ended with exit code 3"* ]]
	: >library
	run -1 rota checkpoint "$job" --wait
	[[ $output = *'driver script:bound: its program needs printed "library ", which is not NAME VALUE'* ]]
	mv away library
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	[ "$(sql "select concat_ws(' ', driver_version, needs ->> 'nodes', needs ->> 'library', consistency) from acct.checkpoint where job_id = $job and generation = 3")" = "5.1 of bound $node 7 program" ]
	other=n$((3 - ${node#n}))
	run -0 rota restart "$job" --to "$other"
	eventually eval '[[ $(rota why "$job") = *"checkpoint 3 cannot go on on $other: it needs nodes $node"* ]]'
	echo 8 >library
	run -0 rota restart "$job" --to "$node"
	eventually eval '[ "$(rota show --json "$job" | jq -r ".jobs[0].steps[0].held")" = system ]'
	run -0 rota why "$job"
	[[ $output = *"could not go on from checkpoint 3 on $node: the checkpoint needs library 7, and this node has 8"* ]]
	echo 7 >library
	touch go
	run -0 rota release "$job"
	run -0 rota wait "$job"
	[ "$(cat starts)" = "$node begun
$node begun" ]
}

waits_bound() {
	[ "$(wc -l 2>/dev/null <starts)" = "$1" ] && [ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].state')" = running ]
}

@test "a driver that cannot save, or is not there, says so; so does a program that handles no signal" {
	printf '#!/bin/sh\n: >"begun.$ROTA_JOB_ID"\nuntil [ -e go ]; do sleep 0.3; done\n' >idle.sh
	for driver in broken half none; do
		rota submit --parsable --checkpoint="script:$driver" --output="out.$driver" idle.sh >"job.$driver"
	done
	job=$(rota submit --parsable --checkpoint=auto --output=out.auto idle.sh)
	runs() { [ -e "begun.$1" ] && [ "$(rota show --json "$1" | jq -r .jobs[0].state)" = running ]; }
	eventually runs "$(cat job.broken)"
	eventually runs "$job"
	run -1 rota checkpoint "$(cat job.broken)" --end --wait
	[[ $output = *"driver script:broken: its program checkpoint ended with exit code 7"* ]]
	run -1 rota checkpoint "$job" --wait
	[[ $output = *"no process of the step handles the signal"* ]]
	touch go
	run -0 rota wait "$(cat job.broken)" "$job"
	run -1 rota wait "$(cat job.half)" "$(cat job.none)"
	grep -q 'could not execute ".*/half/restart"' out.half
	grep -q 'could not execute ".*/none/start"' out.none
	job=$(rota submit --parsable --checkpoint=criu --output=out.criu idle.sh)
	run -1 rota wait "$job"
	grep -q 'node.checkpoint_criu is not set here, so the administrator has not allowed the driver "criu"' out.criu
}
