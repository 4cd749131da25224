#!/usr/bin/env bats
# Preemption by suspension: victims are suspended, keep their memory, and go on in the same attempt when the other step has ended.

load helper

setup_file() {
	instance_up 2 --cpus 2 --mem 2000 --set node.grace=1
	rota admin qos create high --tier=1
	rota admin partition change main --preempt=suspend --preempt-otherwise=spare
}

teardown_file() {
	instance_down
}

setup() {
	sql "select job_id from acct.job where state in ('running', 'pending')" | xargs -r rota cancel >/dev/null || true
	eventually none_lives
	cd "$BATS_TEST_TMPDIR"
}

# After a test that failed: the job manager runs.
teardown() {
	[ -n "${BATS_TEST_COMPLETED:-}" ] || rota up >/dev/null || true
}

none_lives() {
	[ "$(sql "select count(*) from acct.job where state in ('running', 'pending')")" = 0 ]
}

# is_in JOB STATE: its step is in this state.
is_in() {
	[ "$(sql "select state from rota.step where job_id = $1 limit 1")" = "$2" ]
}

# counter: a job that counts, on both CPUs of n1; its number is in `low`.
counter() {
	low=$(rota submit --parsable --time=60 --nodelist=n1 --cpus-per-task=2 --mem="${1:-100M}" --wrap 'while [ ! -e go ]; do echo >>count; sleep 0.05; done')
	eventually test -s count
	eventually is_in "$low" running
}

# held_up: a job of a higher tier that runs on n1 until there is a file end; its number is in `high`.
held_up() {
	high=$(rota submit --parsable --time=5 --qos=high --nodelist=n1 --wrap 'while [ ! -e end ]; do sleep 0.3; done')
	eventually is_in "$high" running
}

@test "a victim is suspended, and goes on in the same attempt" {
	counter
	held_up
	is_in "$low" suspended
	[ "$(sql "select mode || ' ' || by_job_id from acct.preempted where job_id = $low")" = "suspend $high" ]
	rota why "$low" | grep -F "is suspended to make room for $high.script, and goes on when that holds no CPUs"
	rota show "$low" | grep -q "Preempted *script: attempt 1 by $high.script, .* (suspend)"
	before=$(wc -l <count)
	touch end
	rota wait "$high"
	eventually is_in "$low" running
	counts_on() { [ "$(wc -l <count)" -gt "$before" ]; }
	eventually counts_on
	touch go
	rota wait "$low"
	[ "$(sql "select count(*) || ' ' || max(attempt) from acct.attempt where job_id = $low")" = "1 1" ]
	[ "$(sql "select resumed_at is not null from acct.preempted where job_id = $low")" = t ]
}

@test "its memory is not given to the other step" {
	counter 1500M
	high=$(rota submit --parsable --time=5 --qos=high --nodelist=n1 --mem=1000M --wrap true)
	waits() { rota why "$high" | grep -q "$low"; }
	eventually waits
	[ "$(sql "select count(*) from acct.preempted where job_id = $low")" = 0 ]
	touch go
	rota wait "$high"
	[ "$(sql "select count(*) from acct.preempted where job_id = $low")" = 0 ]
}

@test "it can be cancelled while it is suspended" {
	counter
	held_up
	rota cancel "$low"
	run rota wait "$low"
	is_in "$low" cancelled
	is_in "$high" running
	touch end
	rota wait "$high"
}

@test "it goes on if the job manager dies meanwhile, and behind other steps of higher tiers" {
	counter
	held_up
	second=$(rota submit --parsable --time=5 --qos=high --nodelist=n1 --cpus-per-task=2 --wrap 'until [ -e second ]; do sleep 0.3; done')
	daemon_again jobmgrd
	touch end
	rota wait "$high"
	eventually is_in "$second" running
	is_in "$low" suspended
	touch second go
	rota wait "$second"
	rota wait "$low"
	[ "$(sql "select count(*) from acct.attempt where job_id = $low")" = 1 ]
}
