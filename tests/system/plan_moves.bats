#!/usr/bin/env bats
# rota plan --moves: which running steps to move, with the arithmetic; and that such a move does what it promises.

load helper

setup_file() {
	instance_up 2 --cpus 2 --mem 2000 --set node.grace=1
	rota admin setting change requeue_delay_s --value=0
}

teardown_file() {
	sql "select job_id from acct.job where state in ('running', 'pending')" | xargs -r rota cancel >/dev/null || true
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

runs_on() {
	[ "$(sql "select nodes from acct.attempt where job_id = $1 and state = 'live' and started_at is not null")" = "$2" ]
}

@test "a wide step gets room, and the move is worth it" {
	cat >saver.sh <<-'END'
		#!/bin/bash
		#ROTA --checkpoint=app --checkpoint-signal=B:USR1 --time=60 --output=out.%j
		trap 'asked=1' USR1
		echo >>starts
		while :; do
			[ -z "$asked" ] || { asked= && echo x >"$ROTA_CHECKPOINT_DIR/state" && rota checkpoint --done; }
			sleep 0.05
		done
	END
	saver=$(rota submit --parsable saver.sh)
	eventually runs_on "$saver" n1
	other=$(rota submit --parsable --nodelist=n2 --time=60 --wrap 'sleep 3600')
	eventually runs_on "$other" n2
	eventually test -s starts
	wide=$(rota submit --parsable --time=10 --cpus-per-task=2 --wrap true)
	run --separate-stderr rota plan --moves
	[ "$output" = "no move gains more than it costs; 0 running steps can be moved" ]
	rota checkpoint "$saver" --wait
	proposed() {
		run --separate-stderr rota plan --moves --json
		[ "$(jq -r '.moves[0] | .kind + " " + .for + " " + (.steps[0] | .label + " " + .from + " " + .to)' <<<"$output")" = "room $wide.script $saver.script n1 n2" ]
	}
	eventually proposed
	[ "$(jq '.moves[0] | .gain_cpu_s == .cpus * .sooner_s and .cpus == 2 and .gain_cpu_s > .cost_cpu_s and .cost_cpu_s > 0' <<<"$output")" = true ]
	run --separate-stderr rota plan --moves
	[[ ${lines[0]} == "$wide.script starts now instead of in "*" CPU s lost" ]]
	rota migrate "$saver.script" --to n2
	rota wait "$wide"
	eventually runs_on "$saver" n2
}

@test "users who do not see others see no moves" {
	need_root
	rota admin setting change queue_visible --value=false
	refused "you may not see the jobs of others" as nobody rota plan --moves
	rota admin setting change queue_visible --value=true
}
