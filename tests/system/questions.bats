#!/usr/bin/env bats
# docs/querying.md: every question has its SQL, and its answer on the example history is the one on the page.

load helper

setup_file() {
	instance_up 1 --cpus 1 --mem 500
	"$ROTA_BUILD/tests/bench/history" "host=$ROTA_HOME/run dbname=rota user=postgres" --jobs=3000 --days=120 --users=40 --accounts=12 --nodes=4 --cpus=16 2>"$BATS_FILE_TMPDIR/log" || {
		cat "$BATS_FILE_TMPDIR/log"
		return 1
	}
	psql -X -h "$ROTA_HOME/run" -d rota -U postgres -v ON_ERROR_STOP=1 -qf "$ROTA_SOURCE/tests/bench/history/extra.sql"
	psql -X -h "$ROTA_HOME/run" -d rota -U postgres -qf "$ROTA_SOURCE/tests/bench/history/rollup.sql"
}

teardown_file() {
	instance_down
}

@test "the worked questions have the answers on the page" {
	[ -z "${ROTA_ANSWERS:-}" ] || "$ROTA_SOURCE/docs/answers" "host=$ROTA_HOME/run dbname=rota user=postgres"
	run "$ROTA_SOURCE/docs/answers" "host=$ROTA_HOME/run dbname=rota user=postgres" --check
	[ "$status" = 0 ] || { echo "$output"; false; }
	[[ ${lines[-1]} == "42 questions, 0 other answers" ]]
	[ "$(rota sql -Atc "select count(*) from acct.usage_audit('2000-01-01', '2100-01-01')")" = 0 ]
}
