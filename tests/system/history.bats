#!/usr/bin/env bats
# The history that tests/bench/history makes satisfies all constraints, and is the same each time.

load helper

setup_file() {
	instance_with_history
}

# instance_with_history: a new instance with the history in it.
instance_with_history() {
	instance_up 1 --cpus 1 --mem 500
	"$ROTA_BUILD/tests/bench/history" "host=$ROTA_HOME/run dbname=rota user=postgres" --jobs=3000 --days=40 --nodes=4 --cpus=16 2>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
	psql -X -h "$ROTA_HOME/run" -d rota -U postgres -qf "$ROTA_SOURCE/tests/bench/history/rollup.sql"
}

teardown_file() {
	instance_down
}

# digest: prints a hash of the history.
digest() {
	superuser "set time zone 'UTC'; select md5(string_agg(t::text, ';' order by t.event_id)) from (select job_id, event_id, step_id, attempt, at, event, to_state, cause from rota.event where job_id <= 3000) t"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

@test "nothing is overbooked, no log is broken, all is over and added up" {
	[ "$(superuser "select count(*) from rota.job")" = 3000 ]
	audit
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

@test "the instance works afterwards" {
	[ "$(superuser "select count(*) from pg_class where relnamespace = 'rota'::regnamespace and relowner <> 'rota_owner'::regrole")" = 0 ]
	printf '#!/bin/sh\ntrue\n' >"$BATS_TEST_TMPDIR/true.sh"
	run -0 rota submit --parsable --output=/dev/null "$BATS_TEST_TMPDIR/true.sh"
	[ "$output" = 3001 ]
	run -0 rota wait --timeout=300 3001
}

@test "the same seed makes the same history" {
	(
		instance_with_history
		digest >"$BATS_TEST_TMPDIR/second"
		instance_down
	)
	[ "$(digest)" = "$(cat "$BATS_TEST_TMPDIR/second")" ]
}

@test "rota acct streams all of it, whole and in order, in little memory" {
	run -0 rota acct --csv -o job_id,state,user --until=2026-11-15
	[ "${lines[0]}" = job_id,state,user ]
	[ "${#lines[@]}" = 3001 ]
	printf '%s\n' "${lines[@]:1}" >csv
	superuser "select job_id || ',' || state || ',' || user_name from rota.job where job_id <= 3000 order by job_id" >sql
	run -0 diff csv sql
	[ "$(rota acct -P -n --until=2026-11-15 | wc -l)" = 3000 ]
	[ "$(rota acct --json --until=2026-11-15 | jq '.rows | length')" = 3000 ]
	[ "$(rota acct --steps --csv --until=2026-11-15 -o label | tail -n +2 | sort -u | wc -l)" = "$(superuser "select count(*) from rota.step where job_id <= 3000")" ]
	[ "$(rota acct --csv -n --limit=7 | wc -l)" = 7 ]
	[ "$(rota acct --csv -n --user=u001 --states=failed --until=2026-11-15 | wc -l)" = "$(superuser "select count(*) from rota.job where user_name = 'u001' and state = 'failed'")" ]
}
