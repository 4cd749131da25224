#!/usr/bin/env bats
# A backup of a working instance is restored elsewhere with its keys: the restored instance continues the backup's jobs, each
# once, to their ends; the first instance goes on undisturbed.

load ../system/helper

setup_file() {
	instance_up 2 --cpus 4 --mem 2000
	export FIRST=$ROTA_HOME
	SECOND_DIR=$(mktemp -d "${TMPDIR:-/tmp}/rota-second.XXXXXX")
	export SECOND_DIR SECOND=$SECOND_DIR/home
	chmod 0755 "$SECOND_DIR"
}

teardown_file() {
	local status=0
	export ROTA_HOME=$SECOND
	rota down --purge --yes >/dev/null || status=1
	[ -z "$(instance_processes)" ] || status=1
	rm -rf -- "$SECOND_DIR"
	export ROTA_HOME=$FIRST
	instance_down || status=1
	return "$status"
}

adds_up() { # [live]: the audit of the instance finds nothing
	local found
	found=$(psql -X -h "$ROTA_HOME/run" -d rota -U postgres -v ON_ERROR_STOP=1 ${1:+-v live=1} -At -f "$ROTA_SOURCE/tests/fault/audit.sql")
	[ -z "$found" ] || { echo "$found" >&2; return 1; }
}

script() { # NAME <<END
	cat >"$ROTA_TEST_DIR/$1.sh"
}

@test "a dump of a live instance, restored: every row is there, and the audit finds nothing" {
	script long <<-'END'
		#!/bin/bash
		#ROTA --output=/dev/null --time=10:00
		#ROTA step a --nodes=2 --ntasks-per-node=1
		until [ -e "$ROTA_TEST_DIR/dumped" ]; do sleep 0.2; done
		#ROTA step b --after=a
		true
	END
	script many <<-'END'
		#!/bin/bash
		#ROTA --output=/dev/null --array=0-39%3 --time=1:00
		sleep 0.3
	END
	script held <<-'END'
		#!/bin/bash
		#ROTA --output=/dev/null --hold
		true
	END
	for name in long many held; do
		rota submit "$ROTA_TEST_DIR/$name.sh"
	done
	goes_on() { [ "$(superuser "select count(*) from rota.attempt where ended_at is null and started_at is not null")" -ge 3 ]; }
	eventually goes_on
	"$(pg_config --bindir)/pg_dump" -h "$FIRST/run" -U postgres --format=custom --create --file="$SECOND_DIR/dump" rota
	[ "$(superuser "select count(*) from rota.job where ended_at is null")" -ge 2 ]
	touch "$ROTA_TEST_DIR/dumped"

	# A second, new instance with the database and the keys of the first.
	ROTA_HOME=$SECOND rota up --nodes 2 --cpus 4 --mem 2000 >/dev/null
	ROTA_HOME=$SECOND rota down >/dev/null
	cp -p "$FIRST"/keys/* "$SECOND/keys/"
	ROTA_HOME=$SECOND start_database
	psql -X -h "$SECOND/run" -d postgres -U postgres -v ON_ERROR_STOP=1 -qc 'drop database rota'
	"$(pg_config --bindir)/pg_restore" -h "$SECOND/run" -U postgres -d postgres --create --exit-on-error "$SECOND_DIR/dump"
	export ROTA_HOME=$SECOND
	adds_up live
	rota admin db restored --yes # as the manual says: job numbers continue above those that nodes and daemons may have seen
}

start_database() {
	local as=()
	[ "$EUID" != 0 ] || as=(setpriv --reuid rota --regid "$(id -g rota)" --init-groups)
	"${as[@]}" "$(pg_config --bindir)/pg_ctl" -D "$ROTA_HOME/pg/data" -l /dev/null -w start >/dev/null 3>&-
}

@test "the restored instance starts, ends the backup's jobs, and gives new jobs new numbers" {
	export ROTA_HOME=$SECOND
	rota up >/dev/null
	before=$(superuser "select max(job_id) from rota.job")
	rota release 3
	rota wait --timeout=60 1 2 3 || true
	[ "$(superuser "select count(*) from rota.job where ended_at is null")" = 0 ]
	[ "$(superuser "select string_agg(state, ' ') from rota.job where job_id in (1, 2, 3)")" = "completed completed completed" ]
	# Attempts that ran at the time of the backup have ended here as lost, and their steps ran again as other attempts.
	[ "$(superuser "select count(*) from rota.attempt where job_id = 1 and step_id = 0 and attempt = 1 and state = 'node_fail'")" = 1 ]
	[ "$(superuser "select count(*) from rota.attempt where job_id = 1 and step_id = 0 and attempt = 2 and state = 'completed'")" = 1 ]
	job=$(rota submit --parsable "$ROTA_TEST_DIR/held.sh")
	[ "$job" -gt $((before + 999)) ]
	rota cancel "$job"
	eventually settled
	adds_up
}

settled() {
	[ "$(superuser "select (select count(*) from rota.allocation where gone_at is null) + (select count(*) from rota.node_order)")" = 0 ]
}

@test "the first instance goes on undisturbed" {
	rota release 3
	rota wait --timeout=300 1 2 3
	[ "$(superuser "select max(attempt) || ' ' || count(*) filter (where state <> 'completed') from rota.attempt")" = "1 0" ]
	eventually settled
	adds_up
}
