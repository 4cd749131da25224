#!/usr/bin/env bats
# A former primary comes back, writable, after its standby was promoted: daemons, nodes and clients have seen the newer
# incarnation and refuse the former primary until an administrator accepts it. Then it is used, what it lacks is reported, and no
# job runs twice.

load helper
load standby

setup_file() {
	instance_up 2 --cpus 4 --set node.grace=1 --set node.lease=120
	export LEDGER=$ROTA_TEST_DIR/ledger GO=$ROTA_TEST_DIR/go
	touch "$LEDGER" && chmod 0666 "$LEDGER"
	printf '#!/bin/bash\necho "$ROTA_JOB_ID" >>%s\n' "$LEDGER" >"$ROTA_TEST_DIR/quick.sh"
	printf '#!/bin/bash\nuntil [ -e %s ]; do sleep 0.3; done\necho "$ROTA_JOB_ID" >>%s\n' "$GO" "$LEDGER" >"$ROTA_TEST_DIR/long.sh"
	sed 's/-e \([^ ]*\) /-e \1.other /' "$ROTA_TEST_DIR/long.sh" >"$ROTA_TEST_DIR/other.sh"
	standby_setup
	standby_start
	follow_both
}

setup() {
	standby_setup
	SOCKETS=$ROTA_HOME/run,$ROTA_TEST_DIR/b
}

teardown_file() {
	standby_setup
	standby_down
	# rota down starts nothing, and stops a server that runs.
	instance_down
}

submit() { # SCRIPT [OPTION]...: the number of the job
	(cd /tmp && rota submit --parsable --output=/dev/null "${@:2}" "$ROTA_TEST_DIR/$1.sh")
}

# on A|B SQL: run it on this server.
on() {
	local socket=$ROTA_HOME/run
	[ "$1" = A ] || socket=$ROTA_TEST_DIR/b
	psql -X -d "host=$socket dbname=rota user=postgres" -v ON_ERROR_STOP=1 -Atqc "$2"
}

is_state() { # JOB STATE
	[ "$(sql "select string_agg(state, ' ') from rota.step where job_id = $1")" = "$2" ]
}

serves() {
	rota queue >/dev/null 2>&1
}

# says LOG TEXT [TIMES]: the log has the text, so many times.
says() {
	[ "$(grep -c -- "$2" "$ROTA_HOME/log/$1.log")" -ge "${3:-1}" ]
}

seen() {
	cat "$ROTA_HOME/seen/"*/incarnation "$ROTA_HOME/node/"n[12]/seen/incarnation | cut -d " " -f 1,2 | sort -u
}

has_seen() {
	[ "$(seen)" = "$1" ]
}

refused_by() {
	[ "$(on "$1" "select count(distinct split_part(role, '_', 2)) from rota.incarnation_refused where split_part(role, '_', 2) in ('jobmgr', 'node', 'nodemgr')")" = 3 ]
}

@test "a former primary that is writable again is refused by every daemon, and clients get to know why" {
	eventually has_seen "1 1"
	before=$(submit quick --nodelist=n1)
	rota wait --timeout=300 "$before"
	long=$(submit long --nodelist=n2)
	other=$(submit other --nodelist=n2)
	eventually is_state "$long" running
	eventually is_state "$other" running

	primary stop -m fast
	standby promote
	eventually serves
	eventually has_seen "2 2"
	# Rows that the former primary lacks: a job whose submission was answered, and the end of another job.
	newer=$(submit long --nodelist=n1)
	eventually is_state "$newer" running
	touch "$GO.other"
	rota wait --timeout=300 "$other"
	echo "$newer $long $other" >"$ROTA_TEST_DIR/jobs"

	standby stop -m immediate
	# Ends of steps that are not reported.
	touch "$GO"
	ended() { grep -qx "$long" "$LEDGER" && grep -qx "$newer" "$LEDGER"; }
	eventually ended
	on_hold=$(grep -c "is an older copy" "$ROTA_HOME/log/jobmgrd.log" || true)
	[ "$on_hold" = 0 ]
	# Its commits wait for a standby that is gone; daemons refuse it all the same.
	primary start
	eventually refused_by A
	eventually says jobmgrd "is an older copy: it is of incarnation 1 (timeline 1), and lacks incarnation 2 (timeline 2)"
	eventually says jobmgrd 'run "rota admin db accept"'
	eventually says nodemgrd "is an older copy"
	run -3 rota queue
	[ "$(on A "select count(*) from rota.incarnation")" = 1 ]
	[ "$(on A "select count(*) from rota.job")" = 3 ]
	# A daemon that starts now refuses it too.
	(cd / && exec "${run_as[@]}" "$ROTA_BIN/nodemgrd" --config "$ROTA_HOME/etc/rota.conf" --name later) >"$ROTA_HOME/log/later.log" 2>&1 3>&- &
	later=$!
	eventually says later "is an older copy" || { kill_now "$later"; false; }
	kill_now "$later"
	[ "$(seen)" = "2 2" ]
}

@test "a client that the newer one has answered refuses a jobmgrd that has seen nothing" {
	grep -qE "^2 2 20" "$XDG_STATE_HOME/rota-seen/"*gate.sock
	mkdir -p "$ROTA_TEST_DIR/fresh"
	[ "$EUID" != 0 ] || chown rota: "$ROTA_TEST_DIR/fresh"
	sed "s,^socket = .*gate.sock.*,socket = $ROTA_HOME/run/fresh.sock,; s,^seen =.*,seen = $ROTA_TEST_DIR/fresh,; s,^patience = .*,patience = 1," "$ROTA_HOME/etc/rota.conf" >"$ROTA_TEST_DIR/fresh.conf"
	grep -q "^seen = $ROTA_TEST_DIR/fresh" "$ROTA_TEST_DIR/fresh.conf"
	(cd / && exec "${run_as[@]}" "$ROTA_BIN/jobmgrd" --config "$ROTA_TEST_DIR/fresh.conf" --name fresh) >"$ROTA_HOME/log/fresh.log" 2>&1 3>&- &
	fresh=$!
	export ROTA_CONFIG=$ROTA_TEST_DIR/fresh.conf
	eventually serves # no answer of the newer one was given to a client at this socket
	for file in "$XDG_STATE_HOME/rota-seen/"*gate.sock; do
		cp "$file" "${file%gate.sock}fresh.sock"
	done
	run -3 rota queue
	[[ $output == *"the database is an older copy: it lacks incarnation 2 (timeline 2), which has answered you"* ]]
	before=$(on A "select count(*) from rota.job")
	run -3 submit quick
	[ "$(on A "select count(*) from rota.job")" = "$before" ]
	# An incarnation that a client reports counts only for that client's request.
	XDG_STATE_HOME=$ROTA_TEST_DIR/nobody rota queue
	[ "$(on A "select count(*) from rota.incarnation_refused where application = 'jobmgrd gate' and incarnation <> 2")" = 0 ]
	unset ROTA_CONFIG
	kill_now "$fresh"
}

@test "only an administrator of the database accepts it" {
	if [ "$EUID" = 0 ]; then
		run -1 as games rota admin db accept --yes
		[[ $output == *"could not connect to the database"* ]]
		run -1 as games rota admin db accept --yes --conninfo="host=$ROTA_HOME/run dbname=rota user=postgres"
	fi
	for role in rota_jobmgr rota_jobmgr_admin rota_nodemgr rota_admin; do
		run psql -X -d "host=$ROTA_HOME/run dbname=rota user=$role" -Atqc "select count(*) from internal.db_accept(1000, true)"
		[[ $output == *"permission denied"* ]]
	done
	[ "$(on A "select count(*) from rota.incarnation")" = 1 ]
	run -2 rota admin db accept --reason=x
}

@test "accept shows who refuses it and what is due, has it used, and reports what it lacks; nothing runs twice" {
	read -r newer long other <"$ROTA_TEST_DIR/jobs"
	run rota admin db check
	[[ $output == *"refused by rota_jobmgr"* ]]
	run -0 rota admin db accept
	[[ $output == *"refused by rota_nodemgr"*"nodemgrd has seen incarnation 2 (timeline 2)"* ]]
	[[ $output == *"1 ends, 3 begins"* && $output == *"Nothing was done."* ]]
	[ "$(on A "select count(*) from rota.incarnation")" = 1 ]
	on A "alter system reset synchronous_standby_names"
	on A "select pg_reload_conf()"
	rota admin db accept --yes
	[ "$(on A "select concat_ws(' ', incarnation, reason) from rota.incarnation order by incarnation desc limit 1")" = "3 accepted as an older copy" ]
	eventually serves
	eventually has_seen "3 1"
	rota wait --timeout=300 "$long" "$other"
	nodes_said() { rota admin db accept | grep -q "all have said what they have"; }
	eventually nodes_said
	# The journal has the end of one job, which ran once. Only the newer server had the end of another job: the node reports it
	# again if it still keeps it; otherwise the job runs again. The third job is unknown here.
	reported() { rota admin db accept | grep -q "job $newer .*is not here; n1: "; }
	eventually reported
	rota admin db accept | grep -q "job $long .*1 end entered again: completed"
	again=$(sql "select count(*) > 1 from rota.attempt where job_id = $other")
	what='1 end entered again: completed' attempts='1 completed' twice=
	[ "$again" = f ] || what='completed: nothing is left of an attempt' attempts='1 node_fail,2 completed' twice=$other
	rota admin db accept | grep -q "job $other .*$what"
	[ "$(sql "select string_agg(concat_ws(' ', attempt, state), ',') from rota.attempt where job_id = $long")" = "1 completed" ]
	[ "$(sql "select string_agg(concat_ws(' ', attempt, state), ',' order by attempt) from rota.attempt where job_id = $other")" = "$attempts" ]
	job=$(submit quick)
	[ "$job" -gt "$newer" ]
	rota wait --timeout=300 "$job"
	[ "$(sort "$LEDGER" | uniq -d)" = "$twice" ]
	run -1 rota admin db accept --yes
	[[ $output == *"nobody has refused this server"* ]]
	audit
}

@test "then the other one is the older copy; with both writable, all go to the one that was accepted" {
	standby start
	# The connection string names the former primary first.
	daemons_follow "host=$ROTA_TEST_DIR/b,$ROTA_HOME/run dbname=rota target_session_attrs=read-write"
	eventually serves
	[ "$(seen)" = "3 1" ]
	job=$(submit quick)
	rota wait --timeout=300 "$job"
	[ "$(on A "select count(*) from rota.job where job_id = $job")" = 1 ]
	[ "$(on B "select count(*) from rota.job where job_id = $job")" = 0 ]
	eventually refused_by B
	audit
}
