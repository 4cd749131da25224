#!/usr/bin/env bats
# The ordinary start is the recovery: daemons are killed under a running job and started again; a second jobmgrd takes over.

load helper

setup() {
	instance_up 1 --cpus 4 --set node.grace=1
	OUT=$ROTA_TEST_DIR/out
	printf '#!/bin/bash\necho begin >>%s\nsleep 2\necho end >>%s\n' "$OUT" "$OUT" >"$BATS_TEST_TMPDIR/job.sh"
}

teardown() {
	instance_down
}

sql() {
	rota sql -Atc "$1"
}

submit() {
	(cd /tmp && rota submit --parsable --output=/dev/null "$@" "$BATS_TEST_TMPDIR/job.sh")
}

running() {
	[ "$(sql "select state from rota.step where job_id = $1")" = running ]
}

ran_once() {
	[ "$(tr '\n' ' ' <"$OUT")" = "begin end " ]
	[ "$(sql "select state || ' ' || attempt from rota.step where job_id = $1")" = "completed 1" ]
}

@test "procmgrd killed: the job goes on, its launcher starts another, which reports" {
	job=$(submit)
	eventually 10 running "$job"
	kill -9 "$(pid_of procmgrd)"
	rota wait "$job"
	ran_once "$job"
}

@test "jobmgrd and nodemgrd killed: the job goes on, and rota up brings them back" {
	job=$(submit)
	eventually 10 running "$job"
	kill -9 "$(pid_of jobmgrd)" "$(pid_of nodemgrd)"
	rota up >/dev/null
	rota wait "$job"
	ran_once "$job"
}

@test "the launcher killed: its keeper goes on, and the next launcher's process manager reports the end" {
	job=$(submit)
	eventually 10 running "$job"
	kill -9 "$(pid_of launcher)"
	rota up >/dev/null
	rota wait "$job"
	ran_once "$job"
}

@test "PostgreSQL killed: the job goes on; its end, journaled meanwhile, is reported when it is back" {
	job=$(submit)
	eventually 10 running "$job"
	kill -9 "$(pid_of PostgreSQL)"
	ended() { grep -qx end "$OUT"; }
	eventually 10 ended
	rota up >/dev/null
	rota wait "$job"
	ran_once "$job"
}

@test "a function that answers in another form: daemons that have prepared it connect anew" {
	job=$(submit)
	superuser "begin;
		set local role rota_owner;
		drop function api.schedule_licenses();
		create function api.schedule_licenses() returns table (license text, total int, used int, added int) language sql stable security definer
		set search_path = rota, pg_temp as 'select license, total, used, 0 from license';
		grant execute on function api.schedule_licenses() to rota_jobmgr;
		commit"
	rota wait "$(submit)" "$job"
}

@test "rota down ends what runs; after rota up it runs again as a new attempt" {
	job=$(submit)
	eventually 10 running "$job"
	rota down
	[ -z "$(instance_processes)" ]
	rota up >/dev/null
	rota wait "$job"
	[ "$(sql "select string_agg(attempt || ':' || state || ':' || cause, ' ' order by attempt) from rota.attempt where job_id = $job")" = "1:node_fail:shutdown 2:completed:exit" ]
}

@test "of two jobmgrds one leads, both serve; when the leader is killed the other leads with a new term" {
	sed "s,^socket.*gate.sock.*,socket = $ROTA_HOME/run/gate2.sock," "$ROTA_HOME/etc/rota.conf" >"$ROTA_TEST_DIR/second.conf"
	grep -q gate2.sock "$ROTA_TEST_DIR/second.conf"
	run_as=()
	[ "$(id -u)" != 0 ] || run_as=(setpriv --reuid rota --regid "$(id -g rota)" --init-groups)
	"${run_as[@]}" "$ROTA_BIN/jobmgrd" --config "$ROTA_TEST_DIR/second.conf" --name 2 >"$ROTA_TEST_DIR/second.log" 2>&1 3>&- &
	second=$!
	two() { [ "$(rota status --json | jq '[.processes[] | select(.role == "jobmgrd")] | length')" = 2 ]; }
	eventually 10 two
	[ "$(rota status --json | jq '[.processes[] | select(.leader)] | length')" = 1 ]
	job=$(ROTA_CONFIG=$ROTA_TEST_DIR/second.conf submit)
	rota wait "$job"
	term=$(sql "select term from rota.leader")
	kill -9 "$(rota status --json | jq -r '.processes[] | select(.leader) | .pid')"
	export ROTA_CONFIG=$ROTA_TEST_DIR/second.conf
	job=$(submit)
	rota wait "$job"
	[ "$(sql "select term from rota.leader")" -gt "$term" ]
	unset ROTA_CONFIG
	kill "$second"
	wait "$second" || true
}


@test "a database that was away for longer than a lease has lost no node" {
	rota down >/dev/null
	rota up --set node.lease=3 >/dev/null
	grep -q '^lease = 3' "$ROTA_HOME/etc/rota.conf"
	printf '#!/bin/bash\necho begin >>%s\nsleep 8\necho end >>%s\n' "$OUT" "$OUT" >"$BATS_TEST_TMPDIR/job.sh"
	job=$(submit)
	eventually 10 running "$job"
	kill -9 "$(pid_of PostgreSQL)"
	sleep 4
	rota up >/dev/null
	rota wait "$job"
	ran_once "$job"
}
