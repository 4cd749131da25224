#!/usr/bin/env bats
# The login of somebody who reads: it takes all connections, lifts its own limits, fills the queue of notifications, and stops nobody.
# Beside each attack jobs run, jobmgrd starts again and another reader gets answers.

load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	local user
	export EVE=reve$$ BOB=rbob$$
	users_add "$EVE" "$BOB"
	instance_up 1 --cpus 4 --mem 4000
	folders_add "$EVE" "$BOB"
	for user in "$EVE" "$BOB"; do
		rota admin user create "$user" --analyst=true
	done
	printf '#!/bin/bash\n#ROTA --output=/dev/null\ntrue\n' >"$ROTA_TEST_DIR/true.sh"
}

teardown_file() {
	instance_users_down "$EVE" "$BOB"
}

setup() {
	need_root
	export ATTACK=$BATS_TEST_TMPDIR/attack
	touch "$ATTACK"
	chmod -R a+rX "$BATS_TEST_TMPDIR"
}

teardown() {
	[ "$EUID" = 0 ] || return 0
	call_off
	limits_as_before
}

limits_as_before() {
	local setting
	for setting in reader_statement_s:360 reader_idle_s:90 notify_queue_percent:5; do
		rota admin setting change "${setting%:*}" --value="${setting#*:}" >/dev/null
	done
}

# eve: psql as the attacker, without the settings that their login begins with.
eve() {
	as "$EVE" env PGHOST="$ROTA_HOME/run" PGOPTIONS='-c statement_timeout=0 -c idle_in_transaction_session_timeout=0 -c idle_session_timeout=0 -c work_mem=1GB' \
		psql -X -d rota -U "$EVE" -Atq "$@" 3>&-
}

# again COMMAND...: run it again and again in the background, until the attack is called off. After a failure, it waits for PAUSE seconds, or 3.
again() {
	while [ -e "$ATTACK" ]; do
		"$@" >/dev/null 2>&1 || sleep "${PAUSE:-3}"
	done 3>&- &
	ATTACKERS="${ATTACKERS:-} $!"
}

attackers_are_gone() {
	superuser "select pg_terminate_backend(pid) from pg_stat_activity where usename = '$EVE'" >/dev/null
	{ [ -z "${ATTACKERS:-}" ] || ! kill -0 $ATTACKERS 2>/dev/null; } && eve_has -eq 0
}

call_off() {
	rm -f "$ATTACK"
	eventually attackers_are_gone
	ATTACKERS=
}

eve_has() { # TEST NUMBER: compares Eve's number of sessions
	[ "$(superuser "select count(*) from pg_stat_activity where usename = '$EVE' and backend_type = 'client backend'")" "$1" "$2" ]
}

# others_work: jobs run, jobmgrd starts again, and another reader gets answers.
others_work() {
	job=$(rota submit --parsable "$ROTA_TEST_DIR/true.sh")
	rota wait "$job"
	[ "$(as "$BOB" rota sql -Atc 'select count(*) > 0 from acct.job')" = t ]
}

ended_for() { # REASON: one of the attacker's sessions was ended for it, and the administrator sees the record
	rota status | grep -q "^database session of $EVE ended .*: .*$1\$"
}

restart_jobmgrd() {
	kill -KILL "$(pid_of jobmgrd)"
	gone() { [ -z "$(pid_of jobmgrd)" ]; }
	eventually gone
	rota up >/dev/null
}

@test "94 greedy connections of one login: it gets ten, and a killed jobmgrd starts again" {
	for _ in {1..94}; do
		PAUSE=8 again eve -c 'select pg_sleep(600)' # 84 of them fail again and again
	done
	eventually eve_has -eq 10
	restart_jobmgrd
	others_work
	eve_has -le 10
	refused "too many connections for role" eve -c 'select 1'
}

@test "a reader lifts their limits: the statement and the transaction at rest are ended all the same" {
	rota admin setting change reader_statement_s --value=2
	refused "terminating connection due to administrator command" eve -c 'select count(*) from generate_series(1, 1000000000000) a'
	eventually ended_for "longer than setting reader_statement_s"
	rota admin setting change reader_idle_s --value=2
	refused "terminating connection due to administrator command" eve <<-'END'
		begin;
		select 1;
		\! for i in $(seq 600); do sleep 0.1; [ "$(psql -X -d rota -Atqc "select count(*) from pg_stat_activity where usename = user and state = 'idle in transaction'")" = 1 ] || break; done
		select 2;
	END
	eventually ended_for "idle for longer than setting reader_idle_s"
	[[ "$(as "$BOB" rota status)" != *"database session of"* ]]
	limits_as_before
	# A quick one of the same reader is answered.
	[ "$(eve -c 'select 3')" = 3 ]
	others_work
}

@test "without a jobmgrd: nodemgrd ends what exceeds its limits" {
	rota admin setting change reader_statement_s --value=2
	: >"$ROTA_HOME/log/nodemgrd.log"
	kill -KILL "$(pid_of jobmgrd)"
	refused "terminating connection due to administrator command" eve -c 'select count(*) from generate_series(1, 1000000000000) a'
	rota up >/dev/null
	eventually grep -q "database session of $EVE ended: a statement took longer" "$ROTA_HOME/log/nodemgrd.log"
	limits_as_before
	others_work
}

# listen: keep a transaction open that listens, and so keeps each notification in the queue.
listen() {
	{
		echo 'listen flood; begin; select 1;'
		while [ -e "$ATTACK" ]; do sleep 0.5; done
	} | eve -v ON_ERROR_STOP=1
}

flood() {
	eve -c "do \$\$ begin for i in 1..2000 loop execute format('notify flood, %L', rpad(i || ' ', 7900, md5(random()::text))); end loop; end \$\$"
}

@test "a flood of notifications that somebody keeps in the queue: ended before the queue is a tenth full" {
	rota admin setting change notify_queue_percent --value=1
	watch=$BATS_TEST_TMPDIR/usage
	while [ -e "$ATTACK" ]; do
		echo 'select pg_notification_queue_usage();'
		sleep 0.1
	done 3>&- | psql -X -h "$ROTA_HOME/run" -d rota -U postgres -Atq >"$watch" 3>&- &
	watcher=$!
	again listen
	for _ in 1 2 3; do
		again flood
	done
	# How soon a hundredth is reached depends on the machine; the rest does not.
	is_ended() { ended_for "queue that was full beyond setting notify_queue_percent"; }
	is_filled() { awk '$1 >= 0.01 { full = 1 } END { exit !full }' "$watch" || is_ended; }
	eventually is_filled
	eventually is_ended
	others_work
	call_off
	wait "$watcher"
	most=$(sort -g "$watch" | tail -n 1)
	echo "the queue was full to $most at most"
	awk -v most="$most" 'BEGIN { exit !(most < 0.1) }'
	emptied() { [ "$(superuser 'select pg_notification_queue_usage() < 0.01')" = t ]; }
	eventually emptied
	restart_jobmgrd
	others_work
	audit
}
