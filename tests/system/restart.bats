#!/usr/bin/env bats
# The ordinary start is the recovery: daemons are killed under a running job and started again. (Failover: failover.bats.)

load helper

# One instance for all tests: each leaves it up, with nothing running. Flapping is allowed, because its node comes and goes.
setup_file() {
	instance_up 1 --cpus 4 --set node.grace=1
	rota admin setting change flap_count --value=0
	export OUT=$ROTA_TEST_DIR/out GO=$ROTA_TEST_DIR/go
}

teardown_file() {
	local left=0
	rota down >/dev/null || left=1
	umount "$ROTA_HOME/node" 2>/dev/null || true
	instance_down && [ "$left" = 0 ]
}

setup() {
	rm -f "$OUT" "$GO"
	printf '#!/bin/bash\necho begin >>%s\nuntil [ -e %s ]; do sleep 0.3; done\necho end >>%s\n' "$OUT" "$GO" "$OUT" >"$BATS_TEST_TMPDIR/job.sh"
}

# After a test that failed: the instance is up as it was, and nothing runs.
teardown() {
	[ -z "${BATS_TEST_COMPLETED:-}" ] || return 0
	if mountpoint -q "$ROTA_HOME/node"; then
		rota down >/dev/null || true
		umount "$ROTA_HOME/node"
	fi
	rota up >/dev/null || true
	rota admin node resume n1 >/dev/null || true
	rota cancel -q --me || true
	eventually is_idle || true
}

# The job runs until the test lets it end, so a fault hits a running job, however slow the machine is.
let_end() {
	touch "$GO"
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
	eventually running "$job"
	kill -9 "$(pid_of procmgrd)"
	let_end
	rota wait "$job"
	ran_once "$job"
}

@test "jobmgrd and nodemgrd killed: the job goes on, and rota up brings them back" {
	job=$(submit)
	eventually running "$job"
	kill_now "$(pid_of jobmgrd)" "$(pid_of nodemgrd)"
	rota up >/dev/null
	let_end
	rota wait "$job"
	ran_once "$job"
}

@test "the launcher killed: its keeper goes on, and the next launcher's process manager reports the end" {
	job=$(submit)
	eventually running "$job"
	daemon_again launcher
	let_end
	rota wait "$job"
	ran_once "$job"
}

@test "the launcher killed while a keeper reads nothing: the next launcher delivers its control messages" {
	job=$(submit)
	eventually running "$job"
	keeper=$(sed 's/ .*//' "$ROTA_HOME/node/n1/spool/$job".*/pid)
	waits() { grep -q "for attempt $job.0.1 is delayed: the keeper's socket is full" "$ROTA_HOME/log/launcher.n1.log"; }
	kill -STOP "$keeper"
	for i in $(seq 12); do rota signal CONT "$job" || true; done
	rota cancel "$job" || true
	eventually waits || true
	kill_now "$(pid_of launcher)"
	kill -CONT "$keeper"
	rota up >/dev/null
	run rota wait "$job"
	[ "$(sql "select state || ' ' || attempt from rota.step where job_id = $job")" = "cancelled 1" ]
}

# stream NAME: an array whose elements write into the ledger when they begin and end.
stream() {
	printf '#!/bin/bash\n#ROTA --array=0-29\necho "begin $ROTA_ARRAY_INDEX $ROTA_ATTEMPT" >>%s\nsleep 0.3\necho "end $ROTA_ARRAY_INDEX $ROTA_ATTEMPT" >>%s\n' "$OUT" "$OUT" >"$BATS_TEST_TMPDIR/job.sh"
	submit
}

@test "launcher and procmgrd killed together, again and again under a stream: everything runs once" {
	job=$(stream)
	for i in 1 2 3 4 5; do
		sleep 0.5
		kill_now $(pid_of launcher) $(pid_of procmgrd) # procmgrd may have ended with the launcher
		rota up >/dev/null
	done
	rota wait "$job"
	# If the launcher died before it forked the keeper, the attempt has not begun; then the next one begins.
	for i in $(seq 0 29); do printf 'begin %s\nend %s\n' "$i" "$i"; done | sort >"$BATS_TEST_TMPDIR/expected"
	sed -E 's/ [0-9]+$//' "$OUT" | sort | diff - "$BATS_TEST_TMPDIR/expected"
	[ "$(sql "select count(*) from rota.attempt where job_id = $job and state = 'completed'")" = 30 ]
}

kill_keeper() {
	eventually running "$1"
	eventually grep -qs begin "$OUT"
	kill -9 "$(sed 's/ .*//' "$ROTA_HOME/node/n1/spool/$1".*/pid)"
}

# has_begun COUNT: so many attempts of the job have begun.
has_begun() {
	[ "$(grep -c begin "$OUT")" = "$1" ]
}

@test "a killed keeper: all processes of its step are killed, and the step runs again where it may" {
	job=$(submit)
	kill_keeper "$job"
	eventually has_begun 2 # the processes of the first attempt are killed before, and do not see that they may end
	let_end
	rota wait "$job"
	[ "$(tr '\n' ' ' <"$OUT")" = "begin begin end " ]
	[ "$(sql "select string_agg(attempt || ':' || state || ':' || cause, ' ' order by attempt) from rota.attempt where job_id = $job")" = "1:node_fail:keeper_lost 2:completed:exit" ]
	rm "$GO" "$OUT"
	job=$(submit --no-requeue)
	kill_keeper "$job"
	run rota wait "$job"
	[ "$(sql "select concat_ws(' ', state, cause, attempt) from rota.step where job_id = $job")" = "node_fail keeper_lost 1" ]
	[ "$(sql "select state from rota.node")" = up ]
}

@test "a full disk: running steps complete, the node is drained with the reason, and runs steps again when it is resumed" {
	need_root
	rota down >/dev/null
	mount -t tmpfs -o size=8m,mode=755 tmpfs "$ROTA_HOME/node"
	rota up --set node.disk_floor_mb=1 >/dev/null
	job=$(submit)
	eventually running "$job"
	dd if=/dev/zero of="$ROTA_HOME/node/fill" bs=512 2>/dev/null || true
	printf '#!/bin/bash\ntrue\n' >"$BATS_TEST_TMPDIR/job.sh"
	second=$(submit)
	drained() { [ "$(sql "select state || ' ' || left(reason, 9) from rota.node")" = "drain disk full" ]; }
	eventually drained
	let_end
	rota wait "$job"
	ran_once "$job"
	[ "$(sql "select concat_ws(' ', state, attempt) from rota.step where job_id = $second")" = "pending 1" ]
	rm "$ROTA_HOME/node/fill"
	rota admin node resume n1
	rota wait "$second"
	[ "$(sql "select string_agg(attempt || ':' || state || ':' || cause, ' ' order by attempt) from rota.attempt where job_id = $second")" = "1:node_fail:refused 2:completed:exit" ]
	rota down
	umount "$ROTA_HOME/node"
	rota up >/dev/null
}

@test "the cache of a node removed, and another's in its place: the launcher makes it again, and jobs run" {
	local cache=$ROTA_HOME/node/n1/cache owner
	owner=$(stat -c '%U %a' "$cache")
	let_end
	rm -r "$cache"
	job=$(submit)
	rota wait "$job"
	ran_once "$job"
	[ "$(stat -c '%U %a' "$cache")" = "$owner" ]
	rm -r "$cache" "$OUT"
	mkdir -m 0555 "$cache"
	chown 0 "$cache" 2>/dev/null || true
	job=$(submit --job-name=again)
	rota wait "$job"
	ran_once "$job"
	[ "$(stat -c '%U %a' "$cache")" = "$owner" ]
	[ "$(rota nodes --json | jq -r '.nodes[0].state')" = up ]
}

@test "a file where the cache of a node was: the node is drained with the reason" {
	local cache=$ROTA_HOME/node/n1/cache
	let_end
	rm -r "$cache"
	: >"$cache"
	job=$(submit)
	drained() { [ "$(sql "select concat_ws(' ', state, reason) from rota.node")" = "drain procmgrd cannot store the script or the environment; see its log" ]; }
	eventually drained
	rm "$cache"
	rota admin node resume n1
	rota wait "$job"
	[ "$(sql "select state from rota.step where job_id = $job")" = completed ]
}

@test "PostgreSQL killed: the job goes on; its end, journaled meanwhile, is reported when it is back" {
	job=$(submit)
	eventually running "$job"
	kill -9 "$(pid_of PostgreSQL)"
	let_end
	ended() { grep -qx end "$OUT"; }
	eventually ended
	rota up >/dev/null
	rota wait "$job"
	ran_once "$job"
}

@test "PostgreSQL killed, and its parent is slow to take note: rota up waits for that" {
	local lock=$ROTA_HOME/pg/data/postmaster.pid server
	server=$(pid_of PostgreSQL)
	kill -9 "$server"
	reaped() { ! kill -0 "$server" 2>/dev/null; }
	eventually reaped
	perl -e '$| = 1; my $child = fork // die; exit 0 unless $child; print "$child\n"; sleep 2' >"$BATS_TEST_TMPDIR/zombie" 3>&- &
	eventually test -s "$BATS_TEST_TMPDIR/zombie"
	others=$(tail -n +2 "$lock")
	printf '%s\n' "$(cat "$BATS_TEST_TMPDIR/zombie")" "$others" >"$lock"
	rota up >/dev/null
	let_end
	rota wait "$(submit)"
}

@test "PostgreSQL killed at this very moment: rota up finds it alive, dying or dead, and starts it" {
	for _ in 1 2 3; do
		kill -9 "$(pid_of PostgreSQL)"
		rota up >/dev/null
	done
	let_end
	rota wait "$(submit)"
}

@test "a function that answers in another form: daemons that have prepared it connect anew" {
	job=$(submit)
	superuser "begin;
		set local role rota_owner;
		drop function api.schedule_licenses();
		create function api.schedule_licenses() returns table (license text, total int, used int, added int) language sql stable security definer
		set search_path = rota, pg_temp as 'select license, total, used, 0 from license';
		grant execute on function api.schedule_licenses() to rota_jobmgr_leader;
		commit"
	let_end
	rota wait "$(submit)" "$job"
}

@test "rota down ends running steps; after rota up they run again as new attempts" {
	job=$(submit)
	eventually running "$job"
	rota down
	[ -z "$(instance_processes)" ]
	rota up >/dev/null
	let_end
	rota wait "$job"
	[ "$(sql "select string_agg(attempt || ':' || state || ':' || cause, ' ' order by attempt) from rota.attempt where job_id = $job")" = "1:node_fail:shutdown 2:completed:exit" ]
}
