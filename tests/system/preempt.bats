#!/usr/bin/env bats
# Preemption: a step of a higher tier gets the resources of running steps of lower tiers, at once and before any other step;
# victims run again.

load helper

setup_file() {
	# The leader runs a cycle whenever there is a reason, so no test waits for its period. Prologs wait for a file to go.
	HOLD=$(mktemp -u "${TMPDIR:-/tmp}/rota-hold.XXXXXX")
	export HOLD
	printf '#!/bin/sh\nwhile [ -e %s ]; do sleep 0.3; done\n' "$HOLD" >"$BATS_FILE_TMPDIR/prolog"
	chmod 700 "$BATS_FILE_TMPDIR/prolog"
	instance_up 2 --cpus 2 --mem 2000 --set node.grace=1 --set schedule.period=3600 --site-prolog "$BATS_FILE_TMPDIR/prolog"
	rota admin qos create high --tier=1
	rota admin setting change requeue_delay_s --value=0
}

teardown_file() {
	rm -f "$HOLD"
	instance_down
}

# No job of the test before is left, and no prolog waits.
setup() {
	rm -f "$HOLD"
	sql "select job_id from acct.job where state in ('running', 'pending')" | xargs -r rota cancel >/dev/null || true
	eventually none_lives
	rota admin partition change main --preempt=requeue --preempt-after=none --preempt-grace=none >/dev/null
	cd "$BATS_TEST_TMPDIR"
}

# After a test that failed: the job manager runs, and jobs that ignore SIGTERM end.
teardown() {
	[ -z "${BATS_TEST_COMPLETED:-}" ] || return 0
	touch "$BATS_TEST_TMPDIR/go"
	rota up >/dev/null || true
}

none_lives() {
	[ "$(sql "select count(*) from acct.job where state in ('running', 'pending')")" = 0 ]
}

# low [OPTION]...: submit a job that runs until it is ended; prints its number.
low() {
	rota submit --parsable --time=60 "$@" --wrap 'sleep 3600'
}

# stubborn CONDITION [OPTION]...: submit a job that ignores SIGTERM while the condition is true; prints its number. is_stubborn JOB: it does now.
stubborn() {
	rota submit --parsable --time=60 --exclusive "${@:2}" --wrap "trap '' TERM; touch ready.\$ROTA_JOB_ID; while $1; do sleep 0.2; done"
}

is_stubborn() {
	[ -e "ready.$1" ] && runs "$1"
}

runs() {
	[ "$(sql "select state from rota.step where job_id = $1 limit 1")" = running ]
}

runs_again() {
	[ "$(sql "select state || ' ' || attempt from acct.attempt where job_id = $1 and attempt = $2")" = "live $2" ]
}

preempted() {
	[ "$(sql "select count(*) from acct.preempted where job_id = $1")" -ge 1 ]
}

@test "a high job takes the place of a low one, which runs again" {
	local a b
	a=$(low --exclusive)
	b=$(low --exclusive)
	eventually runs "$a"
	eventually runs "$b"
	behind=$(low --exclusive)
	high=$(rota submit --parsable --time=1 --qos=high --exclusive --wrap 'true')
	rota wait "$high"
	# One of the two running jobs was preempted, and the third job, which waited behind, did not get its node.
	[ "$(sql "select count(*) from acct.preempted where job_id in ($a, $b) and by_job_id = $high and mode = 'requeue'")" = 1 ]
	victim=$(sql "select job_id from acct.preempted where by_job_id = $high")
	[ "$(sql "select state || ' ' || cause || ' ' || preempted_by from acct.attempt where job_id = $victim and attempt = 1")" = "preempted preempted $high.script" ]
	[ "$(sql "select count(*) from acct.attempt o join acct.attempt h on h.job_id = $high where o.job_id = $behind and o.ordered_at < h.ordered_at")" = 0 ]
	eventually runs_again "$victim" 2
	shown=$(rota show "$victim" --json)
	[ "$(jq -r '.jobs[0].steps[0].attempts | map(.preempted_by // "nobody") | join(" ")' <<<"$shown")" = "$high.script nobody" ]
	[ "$(jq -r '.jobs[0].steps[0].attempts[0] | (.preempted_at != null), .preempted_mode' <<<"$shown" | xargs)" = "true requeue" ]
	rota show "$victim" | grep -q "Preempted *script: attempt 1 by $high.script, .* (requeue)"
	rota show "$victim.script" | grep -q "Preempted *attempt 1 by $high.script, .* (requeue)"
	rota report job "$victim" | grep -q "preempted by $high.script"
	[ "$(rota report job "$victim" --json | jq -r '.held | map(select(.preempted_by != null))[0] | .state + " by " + .preempted_by')" = "preempted by $high.script" ]
	[ "$(sql "select requeues from rota.step where job_id = $victim" 2>/dev/null || echo 0)" = 0 ]
}

@test "victims on several nodes are ended side by side, with the grace of the partition" {
	rota admin partition change main --preempt-grace=0:01
	local a b
	a=$(stubborn true)
	b=$(stubborn true)
	eventually is_stubborn "$a"
	eventually is_stubborn "$b"
	high=$(rota submit --parsable --time=1 --qos=high --nodes=2 --exclusive --wrap 'true')
	rota wait "$high"
	[ "$(sql "select count(*) || ' ' || count(distinct by_job_id) from acct.preempted where job_id in ($a, $b)")" = "2 1" ]
	# The orders to end were written in one transaction.
	[ "$(sql "select count(distinct xmin::text) from rota.preempted where job_id in ($a, $b)")" = 1 ]
}

@test "no more victims than are needed, and those that lose least" {
	local old new
	old=$(low --cpus-per-task=2 --nodelist=n1)
	eventually runs "$old"
	new=$(low --cpus-per-task=2 --nodelist=n2)
	eventually runs "$new"
	high=$(rota submit --parsable --time=1 --qos=high --cpus-per-task=1 --wrap 'true')
	rota wait "$high"
	preempted "$new"
	run preempted "$old"
	[ "$status" = 1 ]
}

@test "nobody is preempted before the minimal run time" {
	local a changed
	rota admin partition change main --preempt-after=1:00:00
	a=$(low --nodes=2 --exclusive)
	eventually runs "$a"
	high=$(rota submit --parsable --time=1 --qos=high --wrap 'true')
	waits() { rota why "$high" | grep -q "$a"; }
	eventually waits
	run preempted "$a"
	[ "$status" = 1 ]
	# A shorter minimal run time is over already.
	changed=$(sql "select clock_timestamp()")
	rota admin partition change main --preempt-after=0:01
	rota wait "$high"
	[ "$(sql "select at > '$changed' from acct.preempted where job_id = $a")" = t ]
}

@test "a high job that comes before the low one has started waits for the minimal run time alone" {
	local a
	rota admin partition change main --preempt-after=0:02
	touch "$HOLD"
	a=$(low --nodes=2 --exclusive)
	ordered() { [ "$(sql "select count(*) from acct.attempt where job_id = $a and started_at is null")" = 1 ]; }
	eventually ordered
	high=$(rota submit --parsable --time=1 --qos=high --wrap 'true')
	waits() { rota why "$high" | grep -q "$a"; }
	eventually waits
	ordered
	rm "$HOLD"
	# Only the leader's own timer starts the cycle.
	eventually preempted "$a"
	rota wait "$high"
	[ "$(sql "select e.at - t.started_at >= interval '2 seconds' from acct.preempted e join acct.attempt t using (job_id, attempt) where job_id = $a")" = t ]
}

@test "rota why tells both sides" {
	local a
	rota admin partition change main --preempt-grace=5:00
	a=$(stubborn '[ ! -e go ]' --nodes=2)
	eventually is_stubborn "$a"
	high=$(rota submit --parsable --time=1 --qos=high --nodes=2 --wrap 'true')
	eventually preempted "$a"
	rota why "$a" | grep -F "is being ended to make room for $high.script, and will be queued again"
	rota why "$high" | grep -F "kept for it until the steps that it has preempted have ended or are suspended"
	touch go
	rota wait "$high"
}

@test "a victim on several nodes keeps the grace of the partition when the node without its script has ended" {
	local a high
	rota admin partition change main --preempt-grace=5:00
	a=$(stubborn '[ ! -e go ]' --nodes=2)
	eventually is_stubborn "$a"
	high=$(rota submit --parsable --time=1 --qos=high --nodes=2 --wrap 'true')
	left() { [ "$(sql "select count(*) filter (where ended_at is not null) || ' ' || (select count(*) from rota.node_order where job_id = $a) from rota.allocation where job_id = $a and attempt = 1")" = "1 0" ]; }
	eventually left
	sleep 3 # node.grace is one second
	[ "$(sql "select count(*) from rota.attempt where job_id = $a and attempt = 1 and ended_at is null")" = 1 ]
	touch go
	rota wait "$high"
	[ "$(sql "select exit_code from acct.task where job_id = $a and attempt = 1")" = 0 ] # SIGKILL has not ended it
}

@test "a job that is cancelled while it makes room has no more time than any other" {
	local a b high
	rota admin partition change main --preempt-grace=5:00
	a=$(stubborn '[ ! -e go ]')
	b=$(stubborn '[ ! -e go ]')
	eventually is_stubborn "$a"
	eventually is_stubborn "$b"
	high=$(rota submit --parsable --qos=high --nodes=2 --exclusive --time=1:00 --wrap true)
	eventually preempted "$b"
	rota cancel "$b"
	rota wait --timeout=300 "$b" || true
	[ ! -e go ] # so that only SIGKILL ended it
	[ "$(sql "select state from acct.job where job_id = $b")" = cancelled ]
	rota cancel "$a"
	rota wait "$high"
}

@test "the job manager dies with victims under way" {
	local a
	rota admin partition change main --preempt-grace=5:00
	a=$(stubborn '[ ! -e go ]' --nodes=2)
	eventually is_stubborn "$a"
	high=$(rota submit --parsable --time=1 --qos=high --exclusive --wrap 'true')
	eventually preempted "$a"
	daemon_again jobmgrd
	third=$(low --exclusive --nodes=2)
	touch go
	rota wait "$high"
	[ "$(sql "select count(*) from acct.preempted where by_job_id = $high")" = 1 ]
	[ "$(sql "select count(*) from acct.attempt o join acct.attempt h on h.job_id = $high where o.job_id = $third and o.ordered_at < h.ordered_at")" = 0 ]
}

@test "an eternal job makes room for all others, and goes on" {
	rota admin partition change main --preempt=off
	out=$BATS_TEST_TMPDIR/eternal
	eternal=$(ETERNAL_OUT=$out rota submit --parsable --nodes=1 --exclusive "$ROTA_SOURCE/examples/eternal.sh")
	counts() { [ "$(grep -c ' done$' "$out/primes" 2>/dev/null)" -ge "$1" ]; }
	eventually counts 2
	other=$(rota submit --parsable --time=1 --nodes=2 --exclusive --wrap 'true')
	rota wait "$other"
	preempted "$eternal"
	before=$(grep -c ' done$' "$out/primes")
	eventually counts $((before + 1))
	# Each of the thousand steps once, none left out.
	awk '$1 != last + 1 { exit 1 } { last = $2 }' "$out/primes"
	rota cancel "$eternal"
	refused 'leave out --no-requeue' rota submit --eternal --no-requeue --wrap true
}

@test "a job that must not run again ends as preempted" {
	local a
	a=$(low --nodes=2 --exclusive --no-requeue)
	eventually runs "$a"
	high=$(rota submit --parsable --time=1 --qos=high --wrap 'true')
	rota wait "$high"
	rota wait "$a" || true
	[ "$(sql "select state || ' ' || cause from acct.step where job_id = $a")" = "preempted preempted" ]
	rota show "$a" | grep -q preempted
}
