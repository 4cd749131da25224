#!/usr/bin/env bats
# Failover: job managers that are killed or hang, database sessions that are ended, and a database whose primary is
# killed and whose standby is promoted. Each task writes into a ledger outside Rota; whatever happens, each accepted job runs
# once, and the audit finds nothing.

ROTA_TEST_CLIENT=sanitizers
load helper
load standby

setup() {
	local lease=30 # so that no leader exceeds its lease on a busy machine
	[[ $BATS_TEST_DESCRIPTION != *primary\ is\ killed* ]] || lease=10
	instance_up 2 --cpus 4 --set node.grace=1 --set schedule.lease="$lease"
	LEDGER=$ROTA_TEST_DIR/ledger
	touch "$LEDGER" && chmod 0666 "$LEDGER"
	printf '#!/bin/bash\necho "begin $ROTA_JOB_ID" >>%s\nsleep 0.1\necho "end $ROTA_JOB_ID" >>%s\n' "$LEDGER" "$LEDGER" >"$BATS_TEST_TMPDIR/job.sh"
	standby_setup
	declare -gA MANAGER=([1]=$(pid_of jobmgrd))
}

teardown() {
	local pid
	for pid in "${MANAGER[@]}"; do
		kill -CONT "$pid" 2>/dev/null || true
		kill -9 "$pid" 2>/dev/null || true
	done
	touch "$ROTA_TEST_DIR/stop"
	[ -z "${STREAM:-}" ] || kill "$STREAM" 2>/dev/null || true
	wait
	standby_down
	instance_down
}

# manager NAME: one more jobmgrd, with a socket of its own; `configuration NAME` is what its clients use.
configuration() {
	[ "$1" != 1 ] && echo "$ROTA_TEST_DIR/$1.conf" || echo "$ROTA_HOME/etc/rota.conf"
}

manager() {
	local socket=$ROTA_HOME/run/gate.sock
	[ "$1" = 1 ] || socket=$ROTA_HOME/run/gate$1.sock
	[ "$1" = 1 ] || sed "s,^socket.*gate.sock.*,socket = $socket," "$ROTA_HOME/etc/rota.conf" >"$(configuration "$1")"
	(cd / && exec "${run_as[@]}" "$ROTA_BIN/jobmgrd" --config "$(configuration "$1")" --name "$1") >>"$ROTA_TEST_DIR/$1.log" 2>&1 3>&- &
	MANAGER[$1]=$!
	eventually grep -q "started" "$ROTA_TEST_DIR/$1.log"
	eventually ready "$1"
}

ready() {
	ROTA_CONFIG=$(configuration "$1") rota queue >/dev/null 2>&1
}

# Prints the name of the jobmgrd that leads, and its term; nothing if there is none.
leader() {
	sql "select split_part(l.owner, ' ', 2) from rota.leader l where l.name = 'schedule' and internal.leader_lives()"
}

term() {
	sql "select term from rota.leader where name = 'schedule'"
}

# lease_ends: the leader hangs, and its lease ends soon instead of later.
lease_ends() {
	sql "update rota.leader set lease = interval '1 s' where name = 'schedule'"
}

# other NAME: prints the name of another jobmgrd.
other() {
	local name
	for name in "${!MANAGER[@]}"; do
		[ "$name" = "$1" ] || echo "$name"
	done | head -n 1
}

submit() {
	(cd /tmp && rota submit --parsable --output=/dev/null "$@" "$BATS_TEST_TMPDIR/job.sh")
}

# stream NAME: submit through this jobmgrd, one job after another, until the file `stop` exists; accepted jobs are in `accepted`.
# A job whose answer was lost is sent again with its key until a jobmgrd accepts it.
stream() {
	local nr=0 id key=$BASHPID
	export ROTA_CONFIG
	ROTA_CONFIG=$(configuration "$1")
	while [ ! -e "$ROTA_TEST_DIR/stop" ]; do
		nr=$((nr + 1))
		until id=$(submit --client-key="$key-$nr" 2>>"$ROTA_TEST_DIR/stream.log"); do
			sleep 0.1
		done
		echo "$id" >>"$ROTA_TEST_DIR/accepted"
	done
}

stream_start() {
	rm -f "$ROTA_TEST_DIR/stop"
	touch "$ROTA_TEST_DIR/accepted"
	stream "$1" 3>&- &
	STREAM=$!
}

stream_stop() {
	touch "$ROTA_TEST_DIR/stop"
	wait "$STREAM"
}

more_accepted() {
	[ "$(wc -l <"$ROTA_TEST_DIR/accepted")" -gt "$1" ]
}

more_begun() {
	[ "$(grep -c begin "$LEDGER")" -gt "$1" ]
}

# Wait until a few more jobs have been accepted and have begun.
goes_on() {
	eventually more_accepted $(($(wc -l <"$ROTA_TEST_DIR/accepted") + 3))
	eventually more_begun $(($(grep -c begin "$LEDGER") + 3))
}

# No job is left; each accepted job has run once, no other job has, and the audit finds nothing.
all_is_right() {
	eventually idle
	diff <(sort "$ROTA_TEST_DIR/accepted") <(sql "select job_id from rota.job" | sort)
	diff <(sort "$LEDGER") <(sed 's/.*/begin &\nend &/' "$ROTA_TEST_DIR/accepted" | sort)
	[ "$(sql "select count(*) from rota.job where state is distinct from 'completed'")" = 0 ]
	[ "$(sql "select count(*) from rota.attempt where attempt <> 1")" = 0 ]
	[ -z "$(psql -X -d "host=$SOCKETS dbname=rota user=postgres target_session_attrs=primary" -v ON_ERROR_STOP=1 -At \
		-f "$ROTA_SOURCE/tests/fault/audit.sql" | tee /dev/stderr)" ]
}

idle() {
	[ "$(sql "select (select count(*) from rota.allocation where gone_at is null) + (select count(*) from rota.job where ended_at is null)
		+ (select count(*) from rota.node_order)")" = 0 ]
}

leads_instead_of() {
	local now
	now=$(leader)
	[ -n "$now" ] && [ "$now" != "$1" ]
}

# Prints the log of a jobmgrd.
log_of() {
	[ "$1" != 1 ] || [ -s "$ROTA_TEST_DIR/1.log" ] || { cat "$ROTA_HOME/log/"jobmgrd*.log && return; }
	cat "$ROTA_TEST_DIR/$1.log"
}

logged() {
	[ "$(log_of "$1" | grep -c -- "$2")" -ge "$3" ]
}

@test "the leader is killed, time and again: another one leads, with a new term" {
	manager 2
	manager 3
	three() { [ "$(rota status --json | jq '[.processes[] | select(.role == "jobmgrd")] | length')" = 3 ]; }
	eventually three # a jobmgrd registers by another session than that of its API
	one_leads() { [ "$(rota status --json | jq '[.processes[] | select(.leader)] | length')" = 1 ]; }
	eventually one_leads
	for round in 1 2 3; do
		eventually leads_instead_of nobody
		old=$(leader)
		before=$(term)
		stream_start "$(other "$old")"
		goes_on
		kill -9 "${MANAGER[$old]}"
		eventually leads_instead_of "$old"
		[ "$(term)" = $((before + 1)) ]
		goes_on
		stream_stop
		wait "${MANAGER[$old]}" || true
		manager "$old"
	done
	all_is_right
}

@test "the leader hangs while it has work: another one leads; woken, it commits nothing and follows" {
	manager 2
	for round in 1 2; do
		eventually leads_instead_of nobody
		old=$(leader)
		new=$(other "$old")
		before=$(term)
		lost=$(log_of "$old" | grep -c "leadership of term" || true)
		stream_start "$new"
		goes_on
		kill -STOP "${MANAGER[$old]}"
		lease_ends
		eventually leads_instead_of "$old"
		[ "$(term)" = $((before + 1)) ]
		[ "$(rota status --json --config="$(configuration "$new")" | jq -r '.processes[] | select(.leader) | .name')" = "$new" ]
		goes_on
		kill -CONT "${MANAGER[$old]}"
		eventually logged "$old" "leadership of term" $((lost + 1))
		goes_on
		stream_stop
		# The jobmgrd does not lead again, and its API serves.
		[ "$(leader)" = "$new" ]
		[ "$(term)" = $((before + 1)) ]
		ready "$old"
	done
	all_is_right
}

@test "without a leader, why says so and status names none" {
	manager 2
	job=$(submit --hold)
	echo "$job" >"$ROTA_TEST_DIR/accepted"
	eventually leads_instead_of nobody
	old=$(leader)
	kill -STOP "${MANAGER[$old]}"
	lease_ends
	new=$(other "$old")
	eventually leads_instead_of "$old"
	kill -STOP "${MANAGER[$new]}"
	lease_ends
	silent() { [ -z "$(leader)" ]; }
	eventually silent
	[ "$(sql "select count(*) from api.instance_status(0, 'root', '{}') s, jsonb_array_elements(s -> 'processes') p where (p ->> 'leader')::boolean")" = 0 ]
	sql "select api.job_release(0, 'root', '{\"jobs\": [\"$job\"]}')"
	[[ $(sql "select api.job_why(0, 'root', '{\"jobs\": [\"$job\"]}')") == *"no job manager schedules just now"* ]]
	kill -CONT "${MANAGER[$new]}" "${MANAGER[$old]}"
	eventually leads_instead_of nobody
	all_is_right
}

@test "any session of the database is ended, or its process killed: scheduling resumes by itself" {
	stream_start 1
	goes_on
	for who in 'jobmgrd %' 'jobmgrd gate' 'procmgrd %' nodemgrd; do
		sql "select pg_terminate_backend(pid) from pg_stat_activity where application_name like '$who'"
		goes_on
	done
	# PostgreSQL then ends every session and recovers.
	kill -9 "$(sql "select backend_pid from rota.leader where name = 'schedule'")"
	goes_on
	session() { pid=$(sql "select pid from pg_stat_activity where application_name = 'procmgrd n1' limit 1") && [ -n "$pid" ]; }
	eventually session
	kill -9 "$pid"
	goes_on
	stream_stop
	all_is_right
}

@test "a server that cannot be written to any more is left, and found again when it can" {
	stream_start 1
	goes_on
	before=$(term)
	sql "alter system set default_transaction_read_only = on"
	sql "select pg_reload_conf()"
	silent() { [ -z "$(leader)" ]; }
	eventually silent
	sql "alter system reset default_transaction_read_only"
	sql "select pg_reload_conf()"
	goes_on
	[ "$(term)" -gt "$before" ]
	stream_stop
	all_is_right
}

@test "the primary hangs and its standby is promoted: everything follows" {
	standby_start
	follow_both --set node.lease=15
	MANAGER[1]=$(pid_of jobmgrd)
	stream_start 1
	goes_on
	before=$(sql "select max(job_id) from rota.job")
	primary=$(head -n 1 "$ROTA_HOME/pg/data/postmaster.pid")
	# A connection to the hung server would wait, so `sql` uses the other one from here on.
	SOCKETS=$ROTA_TEST_DIR/b
	kill -STOP "$primary" # it forks no process for a new session from here on
	frozen=("$primary" $(pgrep -P "$primary"))
	kill -STOP "${frozen[@]}"
	standby promote
	goes_on
	stream_stop
	kill -9 "${frozen[@]}"
	[ "$(sql "select max(job_id) from rota.job")" -gt $((before + 1000)) ]
	[ "$(sql "select reason from rota.incarnation where incarnation = 2")" = "promoted from timeline 1 to 2" ]
	eventually idle
	all_is_right
}

@test "the primary is killed and its standby promoted: nothing accepted is lost, and everything follows" {
	standby_start
	follow_both --set node.lease=15
	MANAGER[1]=$(pid_of jobmgrd)
	manager 2
	stream_start 2
	goes_on
	# Without the standby no commit succeeds. That makes no other leader, and with the standby all work goes on.
	before=$(term)
	standby stop
	sleep 10 # the lease
	standby start
	goes_on
	[ "$(term)" = "$before" ]
	# Analysts can query the standby: every view, and the past.
	psql -X -h "$ROTA_TEST_DIR/b" -d rota -U postgres -v ON_ERROR_STOP=1 -Atq >/dev/null <<-'END'
		set role rota_analyst;
		select format('select count(*) from acct.%I', relname) from pg_class where relnamespace = 'acct'::regnamespace and relkind = 'v' \gexec
		select count(*) from acct.queue_at(now()) union all select count(*) from acct.nodes_at(now())
		union all select count(*) from acct.usage_between(now() - interval '1 day', now()) union all select count(*) from acct.usage_audit('2020-01-01', '2030-01-01');
	END
	# By default, a user's own queries go to the standby, and those of administrators to the primary.
	if [ "$EUID" = 0 ]; then
		rota admin user create games --analyst=true
		until_replayed() { as games rota sql -Atc 'select 1' >/dev/null 2>&1; }
		eventually until_replayed
		[ "$(as games rota sql -Atc "select pg_is_in_recovery()")" = t ]
		[ "$(rota sql -Atc "select pg_is_in_recovery()")" = f ]
	fi
	before=$(sql "select count(*) from rota.job")
	kill -9 "$(head -n 1 "$ROTA_HOME/pg/data/postmaster.pid")"
	sleep 1
	standby promote
	goes_on
	[ "$(sql "select cluster_name from (select current_setting('cluster_name') as cluster_name) x")" = b ]
	[ "$(rota sql -Atc 'select count(*) > 0 from rota.job')" = t ]
	eventually leads_instead_of nobody
	# Now fail over between the job managers, too.
	old=$(leader)
	stream_stop
	kill -9 "${MANAGER[$old]}"
	eventually leads_instead_of "$old"
	stream_start "$(other "$old")"
	goes_on
	stream_stop
	[ "$(sql "select count(*) from rota.job")" -gt "$before" ]
	four() { [ "$(sql "select count(distinct role || name) from rota.daemon where backend_pid in (select pid from pg_stat_activity)")" -ge 4 ]; }
	eventually four
	all_is_right
}
