#!/usr/bin/env bats
# While no database can be written to, verbs that read take the answer of a standby if they may, and say how old it is. Analysts ask
# a standby with rota sql --standby.

load helper
load standby

setup_file() {
	instance_up 2 --cpus 4
	standby_setup
	standby_start
	follow_both --set node.lease=6
	printf '#!/bin/bash\n#ROTA --job-name=%s\ntrue\n' old >"$ROTA_TEST_DIR/old.sh"
	(cd /tmp && rota submit --parsable --output=/dev/null "$ROTA_TEST_DIR/old.sh" && rota submit --output=/dev/null --hold "$ROTA_TEST_DIR/old.sh")
	rota wait --timeout=300 1
}

setup() {
	standby_setup
}

teardown() {
	[ -e "$ROTA_HOME/pg/data/postmaster.pid" ] || primary start # the test has failed
}

teardown_file() {
	standby_setup
	standby_down
	instance_down
}

serves() {
	rota queue >/dev/null 2>&1
}

down() {
	! serves
}

replayed() {
	[ "$(rota sql --standby -Atc "select string_agg(state, ' ' order by job_id) from acct.job" 2>/dev/null)" = "completed held" ] ||
		[ "$(rota sql --standby -Atc "select count(*) from acct.job where ended_at is not null" 2>/dev/null)" = 1 ]
}

@test "rota sql --standby asks the standby, also of administrators" {
	eventually replayed
	[ "$(rota sql -Atc 'select pg_is_in_recovery()')" = f ]
	[ "$(rota sql --standby -Atc 'select pg_is_in_recovery()')" = t ]
	[ "$(rota sql --config="$ROTA_HOME/etc/rota.conf" --standby -Atc 'select pg_is_in_recovery()')" = t ]
	run rota sql --standby -c 'create table x ()'
	[[ $output == *"read-only transaction"* ]]
}

@test "with a primary, --stale-ok changes nothing, and only what reads takes it" {
	run -0 --separate-stderr rota queue --stale-ok --json
	jq -e '.jobs[0].job_id == 2 and (has("stale") | not)' <<<"$output" >/dev/null
	[ -z "$stderr" ]
	run -2 rota cancel 2 --stale-ok
	gate=$ROTA_HOME/run/gate.sock
	refused() { curl -sS --unix-socket "$gate" -H @<(printf 'Authorization: Munge %s\n' "$(rota token POST "$1" --data="$2")") "http://gate$1" -d "$2"; }
	[[ $(refused /v1/cancel '{"jobs": ["2"], "stale_ok": true}') == *stale_ok* ]]
}

@test "without a primary, each verb that reads answers from the standby, and says how old that is" {
	primary stop -m immediate
	eventually down
	run -3 rota queue
	for verb in "queue" "show 1" "show --stats 1" "show --script 1" "acct 1" "why 2" "nodes" "report usage"; do
		run -0 --separate-stderr rota $verb --stale-ok
		[ -n "$output" ]
		[[ $stderr == "rota: no database can be written to: this is the state of 20"*" s ago" ]]
	done
	run -0 --separate-stderr rota show 1 --stale-ok --json
	jq -e '.stale.standby and .stale.age_s >= 0 and .stale.as_of > "2" and .jobs[0].state == "completed"' <<<"$output" >/dev/null
	run -0 --separate-stderr rota acct --stale-ok --json
	jq -e '.stale.standby and (.rows | length) == 2' <<<"$output" >/dev/null
	# Verbs that write do not answer from the standby.
	run -3 rota release 2
	run -1 rota queue --stale-ok nonsense

	primary start
	eventually serves
	run -0 --separate-stderr rota queue --stale-ok --json
	jq -e 'has("stale") | not' <<<"$output" >/dev/null
	closed() { [ "$(psql -X -h "$ROTA_TEST_DIR/b" -d rota -U postgres -Atc "select count(*) from pg_stat_activity where application_name ~ 'stale'")" = 0 ]; }
	eventually closed
	rota release 2
	rota wait --timeout=300 2
	audit
}

@test "a primary that hangs counts as one that cannot be written to" {
	postmaster=$(head -n 1 "$ROTA_HOME/pg/data/postmaster.pid")
	frozen=("$postmaster" $(pgrep -P "$postmaster"))
	kill -STOP "${frozen[@]}"
	answers() { timeout 10 rota queue --stale-ok --json 2>/dev/null | jq -e '.stale.standby' >/dev/null; }
	eventually answers || { kill -CONT "${frozen[@]}"; false; }
	kill -CONT "${frozen[@]}"
	eventually serves
	audit
}
