#!/usr/bin/env bats
# Steps that save themselves: asked for, every so often, ahead of the time limit, by exit code 85; and go on with the same result.

load helper

setup_file() {
	export EVE=rbck$$
	instance_up 2 --set node.grace=2 || return 1
	rota admin setting change requeue_delay_s --value=0
	rota admin setting change checkpoint_pace_s --value=0
	export EXPECTED
	EXPECTED=$(worker_result)
}

teardown_file() {
	local status=0
	instance_down || status=1
	! id "$EVE" >/dev/null 2>&1 || users_remove "$EVE" || status=1
	return "$status"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	chmod 755 .
}

# What the worker finds without a disturbance: 600 turns of a generator.
worker_result() {
	local i x=1
	for ((i = 0; i < 600; i++)); do x=$(((x * 1103515245 + 12345) % 2147483648)); done
	echo "$x"
}

# worker [LINE]...: a job that takes 600 turns, and waits at turn 300 until there is a file go. It saves itself when it is signalled.
# MODE: done, it says so and goes on; exit, it ends with exit code 85; deaf, it does not.
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
				sleep 0.05
			else
				i=$((i + 1)) x=$(((x * 1103515245 + 12345) % 2147483648))
			fi
			[ -z "$asked" ] || save
		done
		echo "$x" >result
	END
}

# submit [LINE]...: the job of a worker with checkpoints, which has begun to wait at turn 300.
submit() {
	rm -rf go starts result
	worker --checkpoint=app "$@" >worker.sh
	job=$(rota submit --parsable worker.sh)
	eventually waits 1
}

# waits ATTEMPT: this attempt has begun, and its process waits.
waits() {
	grep -qs "^$1 " starts && [ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].state')" = running ]
}

rows() {
	sql "select string_agg(concat_ws(' ', c.generation, c.state, c.reason), ', ' order by c.generation) from acct.checkpoint c where c.job_id = $job"
}

sql() {
	rota sql -Atc "$1"
}

@test "a step saves itself, is ended, and goes on from there with the same result; then nothing is left" {
	submit
	run -0 rota checkpoint "$job" --wait
	[[ $output = *"checkpoint 1 is asked for"*"checkpoint 1 complete" ]]
	[ "$(rota queue --json | jq -r '.jobs | length')" = 1 ]
	run -0 rota checkpoint verify "$job"
	[[ $output = "$job."*": checkpoint 1 is whole" ]]
	run -0 rota checkpoint show "$job"
	[[ $output = *"file           state"* ]]
	run -0 rota checkpoint "$job" --end --wait --reason="lunch"
	eventually eval '[ "$(rota show --json "$job" | jq -r .jobs[0].state)" = cancelled ]'
	[ ! -e result ]
	touch go
	run -0 rota restart "$job"
	[[ $output = *"to go on from checkpoint 2" ]]
	run -0 rota wait "$job"
	[ "$(cat result)" = "$EXPECTED" ]
	[ "$(cat starts)" = "1 0 0
2 2 300" ]
	[ "$(rows)" = "1 discarded user, 2 discarded user" ]
	[ ! -e checkpoints ]
}
