#!/usr/bin/env bats
# The database comes back as an older copy, under running nodes: no step is stuck, no job number is given out twice, jobs that ran
# are known or run again, and all CPUs are free in the end.

load helper

setup_file() {
	instance_up 2 --cpus 4 # with the default leases: no node must be lost because this machine is slow
	export LEDGER=$ROTA_TEST_DIR/ledger GO=$ROTA_TEST_DIR/go
	touch "$LEDGER" && chmod 0666 "$LEDGER"
	printf '#!/bin/bash\necho "$ROTA_JOB_ID" >>%s\n' "$LEDGER" >"$ROTA_TEST_DIR/quick.sh"
	printf '#!/bin/bash\nuntil [ -e %s ]; do sleep 0.3; done\necho "$ROTA_JOB_ID" >>%s\n' "$GO" "$LEDGER" >"$ROTA_TEST_DIR/long.sh"
}

teardown_file() {
	instance_down
}

submit() { # SCRIPT [OPTION]...: the number of the job
	(cd /tmp && rota submit --parsable --output=/dev/null "${@:2}" "$ROTA_TEST_DIR/$1.sh")
}

# server stop|start: the instance's PostgreSQL, whose daemons live on.
server() {
	local as=()
	[ "$EUID" = 0 ] && as=(setpriv --reuid rota --regid "$(id -g rota)" --init-groups)
	(cd / && "${as[@]}" "$(pg_config --bindir)/pg_ctl" -D "$ROTA_HOME/pg/data" -l /dev/null -w "$@" >/dev/null 3>&-)
}

state() {
	superuser "select string_agg(state, ' ' order by step_id) from rota.step where job_id = $1"
}

is_state() { # JOB STATE
	[ "$(state "$1")" = "$2" ]
}

serves() {
	rota queue >/dev/null 2>&1
}

@test "an older copy of the database is restored under living nodes" {
	submit quick
	rota wait --timeout=300 1
	long=$(submit long --nodelist=n2)
	held=$(submit quick --nodelist=n1 --hold)
	eventually is_state "$long" running
	server stop -m fast
	cp -a "$ROTA_HOME/pg/data" "$ROTA_HOME/pg/copy"
	server start
	eventually serves

	# Differences from the copy: a job that waits in the copy has ended; other jobs were accepted and have ended, or still run.
	rota release "$held"
	rota wait --timeout=300 "$held"
	for i in 1 2 3; do last=$(submit quick --nodelist=n1); done
	rota wait --timeout=300 "$last"
	unknown=$(submit long --nodelist=n1)
	eventually is_state "$unknown" running
	eventually has_left "$last"
	server stop -m immediate
	rm -rf "$ROTA_HOME/pg/data"
	mv "$ROTA_HOME/pg/copy" "$ROTA_HOME/pg/data"
	server start
	eventually serves
	is_later() { [ "$(superuser "select max(incarnation) from rota.incarnation")" = 2 ]; }
	eventually is_later
	[ "$(superuser "select reason like 'a node has seen%' from rota.incarnation where incarnation = 2")" = t ]

	# New numbers. The node has kept the end of the job that ran before. Whether the job's first attempt is ordered before or after the
	# node reports that, it does not count for the new one, which the node refuses: it runs again.
	job=$(submit quick)
	[ "$job" -gt "$unknown" ]
	rota release "$held"
	eventually is_state "$held" completed
	run -0 superuser "select string_agg(concat_ws(' ', attempt, state, cause), ', ' order by attempt) from rota.attempt where job_id = $held"
	echo "attempts: $output"
	[ "$output" = "1 node_fail node_lost, 2 completed exit" ]
	is_killed() { ! pgrep -f "$ROTA_HOME/node/n1/spool/$unknown\.0\.1/script" >/dev/null; }
	eventually is_killed
	touch "$GO"
	rota wait --timeout=300 "$long" "$job"
	[ "$(superuser "select count(*) from rota.attempt where job_id = $long")" = 1 ]
	audit
	# Attempts that the copy lacks are killed, and each other job ran once.
	run ! grep -qx "$unknown" "$LEDGER"
	[ "$(grep -cx "$held" "$LEDGER")" = 2 ]
	[ "$(grep -cx "$long" "$LEDGER")" = 1 ]
}

@test "db check looks at the server; db restored shows what is due, and does it with --yes" {
	run -0 rota admin db check
	[[ $output == *"primary, PostgreSQL "* && $output == *"incarnation"*"2 since "* ]]
	[[ $output == *"synchronous standbys"*"none are configured"* ]]
	rota admin db check --json | jq -e 'map(select(.item == "timeline")) | length == 1 and .[0].state == "ok"' >/dev/null
	superuser "alter sequence rota.report_deferred_deferred_id_seq set unlogged"
	run -1 rota admin db check
	[[ $output == *"hint: A promoted standby cannot read it: alter sequence rota.report_deferred_deferred_id_seq set logged."* ]]
	superuser "alter sequence rota.report_deferred_deferred_id_seq set logged"
	PGOPTIONS='-c synchronous_commit=off' run -1 rota admin db check
	[[ $output == *"bad"*"setting synchronous_commit"*"off"*"Set it to on"* ]]

	# Numbers that were given out, and would be again; the hint mends that.
	superuser "select setval('rota.node_node_id_seq', 1)"
	run -1 rota admin db check
	[[ $output == *"bad"*"numbers of node "*"1 given out, 2 is the last"*"select setval('rota.node_node_id_seq', 2)."* ]]
	superuser "select setval('rota.node_node_id_seq', 2)"
	# The database and the program are of different versions.
	superuser "insert into rota.schema_migration (version, name, sha256) values (9999, '9999_later.sql', '')"
	run -0 rota admin db check
	[[ $output == *"warning"*"schema"*"9999_later.sql, and this program has 00"*"This program is older than the database."* ]]
	superuser "update rota.schema_migration set name = '0001_earlier.sql' where version = 9999"
	run -1 rota admin db check
	[[ $output == *"bad"*"schema"*"0001_earlier.sql, and this program has 00"*'Run "rota admin db upgrade" on the primary'* ]]
	superuser "delete from rota.schema_migration where version = 9999"
	run -0 rota admin db check
	# No manager of failover runs this server; start one as Patroni does.
	[[ $output != *watchdog* ]]
	server stop -m fast
	server start -o "-h '' --cluster_name=demo"
	eventually serves
	run -0 rota admin db check
	if [ -e /dev/watchdog ]; then
		[[ $output == *"ok "*"watchdog of Patroni"*"the log of Patroni says"* ]]
	else
		[[ $output == *"warning"*"watchdog of Patroni"*"there is no /dev/watchdog"*"Load softdog"* ]]
	fi
	[ "$(superuser "select concat_ws(' ', state, value) from internal.check_watchdog(true, '/dev/null')")" = "ok /dev/null is there; the log of Patroni says whether it can use it" ]

	before=$(submit quick)
	rota wait --timeout=300 "$before"
	kept=$(submit quick --hold)
	run -0 rota admin db restored
	[[ $output == *"2 ends, 3 begins"* && $output == *"waiting steps"*"0, and 1 held"* && $output == *"Nothing was done."* ]]
	rota cancel "$kept"
	[ "$(superuser "select max(incarnation) from rota.incarnation")" = 2 ]
	run -1 rota admin db restored --skip=0 --yes
	[[ $output == *"0 job numbers cannot be left out"* ]]
	run -2 rota admin db check --skip=5
	run -0 rota admin db restored --skip=5000 --yes
	[[ $output == *'To see what this server lacks, run "rota admin db accept".'* ]]
	run -0 rota admin db accept
	[[ $output == *"accepted"*"incarnation 3 since"* ]]
	[ "$(superuser "select concat_ws(' ', incarnation, reason) from rota.incarnation order by incarnation desc limit 1")" = "3 declared restored" ]
	# For a second, jobmgrd still has numbers that it reserved before.
	is_raised() { after=$(submit quick) && [ "$after" -gt $((before + 5000)) ]; }
	eventually is_raised
	rota wait --timeout=300 "$after"
	audit
}
