#!/usr/bin/env bats
# The history that tests/bench/history makes is one that could have been, and the same each time.

load helper

setup_file() {
	instance_with_history
}

# instance_with_history: one of its own, with the history in it.
instance_with_history() {
	instance_up 1 --cpus 1 --mem 500
	"$ROTA_BUILD/tests/bench/history" "host=$ROTA_HOME/run dbname=rota user=postgres" --jobs=3000 --days=40 --nodes=4 --cpus=16 2>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
}

teardown_file() {
	instance_down
}

# digest: of what happened.
digest() {
	superuser "set time zone 'UTC'; select md5(string_agg(t::text, ';' order by t.event_id)) from (select job_id, event_id, step_id, attempt, at, event, to_state, cause from rota.event where job_id <= 3000) t"
}

@test "nothing is overbooked, no log is broken, and all is over" {
	[ "$(superuser "select count(*) from rota.job")" = 3000 ]
	run -0 psql -X -h "$ROTA_HOME/run" -d rota -U postgres -v ON_ERROR_STOP=1 -At -f "$ROTA_SOURCE/tests/fault/audit.sql"
	[ -z "$output" ] || { echo "$output"; false; }
}

@test "there is something of everything" {
	for state in completed failed timeout cancelled out_of_memory; do
		[ "$(superuser "select count(*) > 0 from rota.job where state = '$state'")" = t ] || { echo "no $state"; false; }
	done
	[ "$(superuser "select count(*) > 0 from rota.step where state = 'dependency_failed'")" = t ]
	[ "$(superuser "select count(*) > 0 from rota.step where array_index is not null")" = t ]
	[ "$(superuser "select count(*) > 0 from rota.allocation where node_index > 0")" = t ]
	[ "$(superuser "select count(*) > 0 from rota.allocation where gres <> '{}'")" = t ]
}

@test "the instance goes on behind it" {
	printf '#!/bin/sh\ntrue\n' >"$BATS_TEST_TMPDIR/true.sh"
	run -0 rota submit --parsable "$BATS_TEST_TMPDIR/true.sh"
	[ "$output" = 3001 ]
	run -0 rota wait --timeout=60 3001
}

@test "the same seed makes the same history" {
	(
		instance_with_history
		digest >"$BATS_TEST_TMPDIR/second"
		instance_down
	)
	[ "$(digest)" = "$(cat "$BATS_TEST_TMPDIR/second")" ]
}
