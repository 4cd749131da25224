#!/usr/bin/env bats
# With node.ahead, nodes hold work for a while: an array goes on while the database is away, each of its elements runs once, and all of
# it is known afterwards.

load helper

setup_file() {
	instance_up 2 --cpus 4 --set node.ahead=30 --set node.grace=1
	rota admin setting change requeue_delay_s --value=0 >/dev/null
	rota admin setting change flap_count --value=0 >/dev/null
}

teardown_file() {
	instance_down
}

setup() {
	LEDGER=$BATS_TEST_TMPDIR/ledger
	touch "$LEDGER" && chmod 0666 "$LEDGER"
	STOPPED=
}

teardown() {
	[ -z "$STOPPED" ] || kill -CONT $STOPPED 2>/dev/null || true
	[ -s "$ROTA_HOME/pg/data/postmaster.pid" ] || server start
	eventually serves
	# Another leader does not know that elements were withdrawn a moment ago, so it sends work ahead at once.
	kill_now "$(pid_of jobmgrd)"
	rota up >/dev/null
	eventually serves
	rota cancel --me >/dev/null 2>&1 || true
	eventually is_idle
}

# server stop|start: the instance's PostgreSQL, whose daemons live on.
server() {
	local as=()
	[ "$(id -u)" = 0 ] && as=(setpriv --reuid rota --regid "$(id -g rota)" --init-groups)
	(cd / && "${as[@]}" "$(pg_config --bindir)/pg_ctl" -D "$ROTA_HOME/pg/data" -l /dev/null -w "$@" >/dev/null 3>&-)
}

serves() {
	rota queue >/dev/null 2>&1
}

# submit_array SIZE [OPTION]...: elements of a tenth of a second, each of which writes its index and its attempt into the ledger.
submit_array() {
	printf '#!/bin/bash\necho "$ROTA_ARRAY_INDEX $ROTA_ATTEMPT" >>%s\nsleep 0.1\n' "$LEDGER" >"$BATS_TEST_TMPDIR/array.sh"
	(cd /tmp && rota submit --parsable --output=/dev/null --time=1:00 --array=0-$(($1 - 1)) "${@:2}" "$BATS_TEST_TMPDIR/array.sh")
}

lines() {
	wc -l <"$LEDGER"
}

has_lines() {
	[ "$(lines)" -ge "$1" ]
}

# goes_on COUNT: so many more attempts of elements begin.
goes_on() {
	local before
	before=$(lines)
	eventually has_lines $((before + $1))
}

# The number of elements that nodes hold and have not started, as far as the database knows.
held() {
	superuser "select count(*) from rota.allocation where job_id = $1 and ended_at is null and started_at is null"
}

holds() {
	[ "$(held "$1")" -ge "$2" ]
}

# stands_ahead JOB COUNT: nodes hold so many elements. The database knows that before the nodes have fetched them, so some more begin first.
stands_ahead() {
	eventually holds "$@"
	goes_on 20
}

# The final states of the elements of an array.
ends() {
	superuser "select string_agg(n || ' ' || state, ' ' order by state) from (select state, count(*) as n from rota.step where job_id = $1 and array_index is not null group by state) s"
}

# is_right [RULE]: each attempt ran once, and all rules hold, but for this one of the audit.
is_right() {
	local found
	[ -z "$(sort "$LEDGER" | uniq -d)" ]
	eventually is_idle
	found=$(audit) && return
	[ -n "$found" ] # else the audit itself has failed
	found=$(grep -vF "${1:-nothing}|" <<<"$found") || return 0
	echo "$found"
	return 1
}

# completes JOB SIZE [RULE]: all elements of an array complete, and each attempt ran once.
completes() {
	rota wait "$1"
	[ "$(ends "$1")" = "$2 completed" ]
	is_right "${3:-}"
}

# tree PID: it and all processes below it.
tree() {
	local child
	echo "$1"
	for child in $(pgrep -P "$1"); do
		tree "$child"
	done
}

@test "the database is stopped: an array goes on, and all of it is known afterwards" {
	job=$(submit_array 900)
	stands_ahead "$job" 200
	server stop -m immediate
	goes_on 150
	server start
	completes "$job" 900
	[ "$(lines)" = 900 ]
}

@test "the database hangs: an array goes on" {
	job=$(submit_array 900)
	stands_ahead "$job" 200
	STOPPED=$(tree "$(head -n 1 "$ROTA_HOME/pg/data/postmaster.pid")")
	kill -STOP $STOPPED
	goes_on 150
	kill -CONT $STOPPED
	completes "$job" 900
	[ "$(lines)" = 900 ]
}

@test "a cancel while the database is away counts when it is back: what is held never begins" {
	job=$(submit_array 3000)
	stands_ahead "$job" 200
	server stop -m immediate
	goes_on 50
	run -3 rota cancel "$job"
	server start
	eventually rota cancel "$job"
	rota wait "$job" || true
	[[ "$(ends "$job")" == *cancelled* ]]
	# Most of what was held then has never begun.
	[ "$(superuser "select count(*) >= 100 from rota.attempt where job_id = $job and cause = 'withdrawn'")" = t ]
	is_right
}

@test "a job of higher priority does not wait for all that is held" {
	job=$(submit_array 2000)
	eventually holds "$job" 600
	printf '#!/bin/bash\nwc -l <%s >%s\n' "$LEDGER" "$BATS_TEST_TMPDIR/at" >"$BATS_TEST_TMPDIR/first.sh"
	touch "$BATS_TEST_TMPDIR/at" && chmod 0666 "$BATS_TEST_TMPDIR/at"
	before=$(lines)
	first=$(cd /tmp && rota submit --parsable --output=/dev/null --time=1:00 --priority=1000 --cpus-per-task=4 "$BATS_TEST_TMPDIR/first.sh")
	rota wait "$first"
	# It took all CPUs of a node, long before what the nodes held had run.
	[ "$(cat "$BATS_TEST_TMPDIR/at")" -lt $((before + 250)) ]
	[ "$(superuser "select count(*) > 0 from rota.attempt where job_id = $job and cause = 'withdrawn'")" = t ]
	completes "$job" 2000
	[ "$(lines)" = 2000 ]
}

@test "a node that is drained gives back what it holds" {
	job=$(submit_array 1200)
	stands_ahead "$job" 200
	rota admin node drain n2 --reason=test
	is_empty() { [ "$(superuser "select count(*) from rota.allocation a join rota.node n using (node_id) where n.name = 'n2' and a.ended_at is null")" = 0 ]; }
	eventually is_empty
	[ "$(superuser "select count(*) < 1200 from rota.step where job_id = $job and array_index is not null and ended_at is not null")" = t ]
	rota admin node resume n2
	completes "$job" 1200
	[ "$(lines)" = 1200 ]
}

@test "a node dies while the database is away: what it held runs once" {
	job=$(submit_array 900)
	stands_ahead "$job" 200
	server stop -m immediate
	goes_on 50
	launcher=$(pid_of launcher n2)
	kill -STOP "$launcher" # so that it forks nobody meanwhile
	kill_now $(tree "$launcher")
	server start
	eventually serves
	rota up >/dev/null
	completes "$job" 900
}

@test "an older copy of the database comes back while nodes hold elements" {
	job=$(submit_array 900)
	stands_ahead "$job" 200
	server stop -m fast
	cp -a "$ROTA_HOME/pg/data" "$ROTA_HOME/pg/copy"
	server start
	eventually serves
	known=$(superuser "select count(*) from rota.step where job_id = $job and ended_at is not null")
	# One question for both, since the array may end while they are asked one after the other.
	is_further() {
		[ "$(superuser "select count(*) filter (where ended_at is not null) >= $known + 50 and (select count(*) >= 50 from rota.allocation
			where job_id = $job and ended_at is null and started_at is null) from rota.step where job_id = $job")" = t ]
	}
	eventually is_further
	server stop -m immediate
	goes_on 50
	rm -rf "$ROTA_HOME/pg/data"
	mv "$ROTA_HOME/pg/copy" "$ROTA_HOME/pg/data"
	server start
	eventually serves
	# Where the newer server had the record of a task and not that of its end, the node may have the end alone.
	completes "$job" 900 "completed, but not all of its tasks ended well"
}
