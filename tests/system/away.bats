#!/usr/bin/env bats
# With node.ahead, nodes hold work for a while: an array goes on while the database is away, each of its elements runs once, and
# the database has all results afterwards.

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
	GO=$BATS_TEST_TMPDIR/go
	HALT=$BATS_TEST_TMPDIR/halt
	touch "$LEDGER" && chmod 0666 "$LEDGER"
	ALLOWED=$BATS_FILE_TMPDIR/allowed
	touch "$ALLOWED"
	STOPPED=
}

teardown() {
	[ -z "$STOPPED" ] || kill -CONT $STOPPED 2>/dev/null || true
	rm -rf "$ROTA_HOME/pg/copy"
	[ -s "$ROTA_HOME/pg/data/postmaster.pid" ] || server start
	eventually serves
	# Another leader has no record of the withdrawal a moment ago, so it sends work ahead at once.
	leader=$(pid_of jobmgrd)
	[ -z "$leader" ] || kill_now "$leader"
	rota up --set node.ahead=30 >/dev/null # a test sets it to 0
	eventually serves
	rota cancel --me >/dev/null 2>&1 || true
	eventually is_idle
}

# server stop|start: the instance's PostgreSQL, whose daemons live on.
server() {
	local as=()
	[ "$EUID" = 0 ] && as=(setpriv --reuid rota --regid "$(id -g rota)" --init-groups)
	(cd / && "${as[@]}" "$(pg_config --bindir)/pg_ctl" -D "$ROTA_HOME/pg/data" -l /dev/null -w "$@" >/dev/null 3>&-)
}

serves() {
	rota queue >/dev/null 2>&1
}

# submit_array SIZE [OPTION]...: elements of a tenth of a second, each of which writes its index and its attempt into the ledger.
# While the file HALT exists, none of them ends, so that no element without a CPU begins.
submit_array() {
	printf '#!/bin/bash\necho "$ROTA_ARRAY_INDEX $ROTA_ATTEMPT" >>%s\nwhile [ -e %s ]; do sleep 0.3; done\nsleep 0.1\n' "$LEDGER" "$HALT" >"$BATS_TEST_TMPDIR/array.sh"
	(cd /tmp && rota submit --parsable --output=/dev/null --time=10:00 --array=0-$(($1 - 1)) "${@:2}" "$BATS_TEST_TMPDIR/array.sh")
}

lines() {
	wc -l <"$LEDGER"
}

has_lines() {
	[ "$(lines)" -ge "$1" ]
}

# goes_on COUNT: wait until so many more attempts of elements have begun.
goes_on() {
	local before
	before=$(lines)
	eventually has_lines $((before + $1))
}

# The number of elements that nodes hold and have not started, according to the database.
held() {
	superuser "select count(*) from rota.allocation where job_id = $1 and ended_at is null and started_at is null"
}

holds() {
	[ "$(held "$1")" -ge "$2" ]
}

# begins_are_known JOB: the database has the starts of all elements that have begun.
begins_are_known() {
	[ "$(superuser "select count(*) from acct.attempt where job_id = $1 and started_at is not null")" = "$(lines)" ]
}

# stands_ahead JOB COUNT: nodes have fetched so many elements, none of which begins before HALT is removed. The number sent
# depends on how fast elements end, so elements run until there are enough; meanwhile some of those sent begin.
stands_ahead() {
	local try
	for try in {1..10}; do
		eventually holds "$@"
		touch "$HALT"
		eventually begins_are_known "$1"
		! holds "$@" || break
		rm "$HALT"
	done
	holds "$@"
	fetches "$1"
}

# fetches STEP: the nodes of the step have read all orders made so far, because they have taken an order about the step that is
# made now.
fetches() {
	rota signal CONT "$1" >/dev/null
	is_done() { [ "$(superuser "select count(*) from rota.node_order where job_id = ${1%.*} and kind = 'signal'")" = 0 ]; }
	eventually is_done "$1"
}

# The final states of the elements of an array.
ends() {
	superuser "select string_agg(n || ' ' || state, ' ' order by state) from (select state, count(*) as n from rota.step where job_id = $1 and array_index is not null group by state) s"
}

# is_right [RULE]...: each attempt ran once, and all rules hold, but for these of the audit. What these find now may stay: later tests
# of the instance find it too.
is_right() {
	local found
	[ -z "$(sort "$LEDGER" | uniq -d)" ]
	eventually is_idle
	found=$(audit) && return
	[ -n "$found" ] # else the audit itself has failed
	found=$(grep -vxF -f "$ALLOWED" <<<"$found") || return 0
	grep -F "$(printf '%s|\n' "${@:-nothing}")" <<<"$found" >>"$ALLOWED" || true
	found=$(grep -vxF -f "$ALLOWED" <<<"$found") || return 0
	echo "$found"
	return 1
}

# completes JOB SIZE [RULE]: all elements of an array complete, and each attempt ran once.
completes() {
	rota wait "$1"
	[ "$(ends "$1")" = "$2 completed" ]
	is_right "${3:-}"
}

# tree PID: prints the pids of the process and of all its descendants.
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
	rm "$HALT"
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
	rm "$HALT"
	goes_on 150
	kill -CONT $STOPPED
	completes "$job" 900
	[ "$(lines)" = 900 ]
}

@test "a cancel while the database is away counts when it is back: what is held never begins" {
	job=$(submit_array 3000)
	stands_ahead "$job" 200
	server stop -m immediate
	rm "$HALT"
	goes_on 50
	touch "$HALT"
	run -3 rota cancel "$job"
	server start
	eventually rota cancel "$job"
	rota wait "$job" || true
	[[ "$(ends "$job")" == *cancelled* ]]
	# Most of the elements that the nodes held then never began.
	[ "$(superuser "select count(*) >= 100 from rota.attempt where job_id = $job and cause = 'withdrawn'")" = t ]
	is_right
}

@test "a job of higher priority does not wait for all that is held" {
	job=$(submit_array 1200)
	stands_ahead "$job" 300
	# The job names its node: elements may go on at another one meanwhile, and then that one may be free first.
	first=$(cd /tmp && rota submit --parsable --output=/dev/null --time=1:00 --priority=1000 --cpus-per-task=4 --nodelist=n1 --wrap true)
	# The job gets all CPUs of its node once the running elements there have ended, because the elements held were withdrawn.
	is_first() { [ "$(held "$job")" = 0 ]; }
	eventually is_first
	[ "$(superuser "select count(*) > 0 from rota.attempt where job_id = $job and cause = 'withdrawn'")" = t ]
	halted=$(superuser 'select clock_timestamp()')
	rm "$HALT"
	rota wait "$first"
	[ "$(superuser "select count(*) from acct.attempt a, acct.attempt f where f.job_id = $first and a.job_id = $job and a.nodes = f.nodes
		and a.started_at > '$halted' and a.started_at < f.started_at")" = 0 ]
	completes "$job" 1200
	[ "$(lines)" = 1200 ]
}

@test "a node that is drained gives back what it holds" {
	job=$(submit_array 1200)
	stands_ahead "$job" 200
	rota admin node drain n2 --reason=test
	rm "$HALT"
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
	rm "$HALT"
	goes_on 50
	launcher=$(pid_of launcher n2)
	kill -STOP "$launcher" # so that the launcher forks no process meanwhile
	kill_now $(tree "$launcher")
	server start
	eventually serves
	rota up >/dev/null
	completes "$job" 900
}

@test "an older copy of the database comes back while nodes hold elements" {
	job=$(submit_array 900)
	stands_ahead "$job" 200
	known=$(superuser "select count(*) from rota.attempt where job_id = $job")
	server stop -m fast
	cp -a "$ROTA_HOME/pg/data" "$ROTA_HOME/pg/copy"
	rm "$HALT"
	goes_on 30
	touch "$HALT"
	server start
	eventually serves
	eventually begins_are_known "$job"
	fetches "$job" # so that the nodes have seen an order that the copy lacks
	holds "$job" 50
	server stop -m immediate
	rm "$HALT"
	goes_on 30
	touch "$HALT"
	rm -rf "$ROTA_HOME/pg/data"
	mv "$ROTA_HOME/pg/copy" "$ROTA_HOME/pg/data"
	# The copy knows all attempts that have begun. An element that only the newer server had ordered would run again.
	[ "$(lines)" -le "$known" ]
	server start
	rm "$HALT"
	eventually serves
	# If the newer server had the record of a task but not of its end, the node may have only the end.
	completes "$job" 900 "completed, but not all of its tasks ended well"
}

# submit_chain: steps a, b after a, c after b, each on one CPU; a and b wait for their go-files. Each step writes its name and
# attempt into the ledger when it begins, and "end" with them when it ends. a exits with the status in its go-file.
submit_chain() {
	cat >"$BATS_TEST_TMPDIR/chain.sh" <<-END
		#!/bin/bash
		#ROTA --output=/dev/null --time=5:00 --mem=10M
		#ROTA step a
		echo "a \$ROTA_ATTEMPT" >>$LEDGER
		until [ -s $GO.a ]; do sleep 0.3; done
		echo "a end \$ROTA_ATTEMPT" >>$LEDGER
		exit \$(cat $GO.a)
		#ROTA step b --after=a
		echo "b \$ROTA_ATTEMPT" >>$LEDGER
		until [ -s $GO.b ]; do sleep 0.3; done
		echo "b end \$ROTA_ATTEMPT" >>$LEDGER
		#ROTA step c --after=b
		echo "c \$ROTA_ATTEMPT" >>$LEDGER
		sleep 0.2
		echo "c end \$ROTA_ATTEMPT" >>$LEDGER
	END
	(cd /tmp && rota submit --parsable "$@" "$BATS_TEST_TMPDIR/chain.sh")
}

# go STEP [STATUS]
go() {
	echo "${2:-0}" >"$GO.$1"
	chmod 0644 "$GO.$1"
}

# has_line TEXT: a step has begun or ended, by a line of the ledger.
has_line() {
	grep -qxF "$1" "$LEDGER"
}

# is_sent JOB STEPS: so many of its steps have been sent ahead.
is_sent() {
	[ "$(superuser "select count(*) from rota.step_ahead where job_id = $1")" = "$2" ]
}

states() {
	superuser "select string_agg(r.name || ':' || s.state, ' ' order by s.step_id) from rota.step s join rota.step_request r using (job_id, step_id) where s.job_id = $1"
}

# is_known JOB STEP-ID: the database knows that the step runs.
is_known() {
	[ "$(superuser "select state from rota.step where job_id = $1 and step_id = $2")" = running ]
}

# chain_begins JOB: its first step runs, and the node has the launch requests of the others.
chain_begins() {
	eventually has_line "a 1"
	eventually is_known "$1" 0
	eventually is_sent "$1" 2
	fetches "$1.a"
}

# chain_node JOB: the node of its first step.
chain_node() {
	superuser "select n.name from rota.allocation a join rota.node n using (node_id) where a.job_id = $1 and a.step_id = 0"
}

# chain_has_run_once JOB: all its steps have completed, and the steps after the first one have begun once.
chain_has_run_once() {
	[ "$(states "$1")" = "a:completed b:completed c:completed" ] &&
		[ "$(grep -cx 'b [0-9]*' "$LEDGER")" = 1 ] &&
		[ "$(grep -cx 'c [0-9]*' "$LEDGER")" = 1 ]
}

# Charges of b and c: from the end of the step before to their own end, within the times that their nodes reported.
charges_are_right() {
	[ "$(superuser "select bool_and(a.started_at = p.ended_at and a.ended_at = s.ended_at and a.started_at <= e.started_at and e.ended_at <= a.ended_at)
		from rota.step s join rota.step p on p.job_id = s.job_id and p.step_id = s.step_id - 1
		join rota.allocation a on a.job_id = s.job_id and a.step_id = s.step_id and a.attempt = s.attempt
		join rota.task_end e on e.job_id = s.job_id and e.step_id = s.step_id and e.attempt = s.attempt
		where s.job_id = $1")" = t ]
}

@test "a chain of steps goes on while the database is stopped, and all of it is known afterwards" {
	job=$(submit_chain)
	chain_begins "$job"
	server stop -m immediate
	go a
	eventually has_line "b 1"
	go b
	eventually has_line "c end 1"
	server start
	rota wait "$job"
	[ "$(states "$job")" = "a:completed b:completed c:completed" ]
	[ "$(tr '\n' ' ' <"$LEDGER")" = "a 1 a end 1 b 1 b end 1 c 1 c end 1 " ]
	charges_are_right "$job"
	is_right
}

@test "a chain of steps whose first step fails while the database is stopped" {
	job=$(submit_chain)
	chain_begins "$job"
	server stop -m immediate
	go a 7
	go b
	eventually has_line "a end 1"
	server start
	run -7 rota wait "$job"
	[ "$(states "$job")" = "a:failed b:dependency_failed c:dependency_failed" ]
	[ "$(tr '\n' ' ' <"$LEDGER")" = "a 1 a end 1 " ]
	is_right
}

@test "a chain of steps while the database is there: its node starts each step once" {
	job=$(submit_chain)
	chain_begins "$job"
	go a
	go b
	rota wait "$job"
	[ "$(tr '\n' ' ' <"$LEDGER")" = "a 1 a end 1 b 1 b end 1 c 1 c end 1 " ]
	charges_are_right "$job"
	is_right
}

@test "a step that stands ahead is cancelled: it never begins" {
	job=$(submit_chain)
	chain_begins "$job"
	server stop -m immediate
	run -3 rota cancel "$job.b"
	server start
	eventually rota cancel "$job.b"
	is_cancelled() { [[ "$(states "$job")" = *b:cancelled* ]]; }
	eventually is_cancelled
	go a
	rota wait "$job" || true
	[ "$(states "$job")" = "a:completed b:cancelled c:dependency_failed" ]
	[ "$(tr '\n' ' ' <"$LEDGER")" = "a 1 a end 1 " ]
	is_right
}

@test "procmgrd dies between the end of a step and the begin of the next one" {
	job=$(submit_chain)
	chain_begins "$job"
	node=$(chain_node "$job")
	agent=$(pid_of procmgrd "$node")
	kill -STOP "$agent"
	go a
	eventually has_line "a end 1"
	kill_now "$agent"
	go b
	rota wait "$job"
	chain_has_run_once "$job"
	is_right
}

@test "procmgrd dies while the database is away: the next step begins when the database is back" {
	job=$(submit_chain)
	chain_begins "$job"
	node=$(chain_node "$job")
	agent=$(pid_of procmgrd "$node")
	server stop -m immediate
	kill_now "$agent"
	go a
	go b
	eventually has_line "a end 1"
	server start
	eventually serves
	rota wait "$job"
	chain_has_run_once "$job"
	is_right
}

@test "a node dies while the database is away, and a chain with it: the rest runs once" {
	job=$(submit_chain)
	chain_begins "$job"
	node=$(chain_node "$job")
	server stop -m immediate
	launcher=$(pid_of launcher "$node")
	kill -STOP "$launcher" # so that the launcher forks no process meanwhile
	kill_now $(tree "$launcher")
	server start
	eventually serves
	rota up >/dev/null
	eventually has_line "a 2"
	go a
	go b
	rota wait "$job"
	chain_has_run_once "$job"
	is_right
}

@test "a job of higher priority goes before the next step of a chain" {
	job=$(submit_chain --cpus-per-task=4)
	chain_begins "$job"
	node=$(chain_node "$job")
	printf '#!/bin/bash\necho first >>%s\n' "$LEDGER" >"$BATS_TEST_TMPDIR/first.sh"
	first=$(cd /tmp && rota submit --parsable --output=/dev/null --time=1:00 --priority=1000 --cpus-per-task=4 --nodelist="$node" "$BATS_TEST_TMPDIR/first.sh")
	eventually is_sent "$job" 0
	go a
	go b
	rota wait "$first" "$job"
	[ "$(states "$job")" = "a:completed b:completed c:completed" ]
	[ "$(grep -cx 'b [0-9]*' "$LEDGER")" = 1 ]
	is_right
}

@test "node.ahead is set to 0 while steps stand ahead: they are given back, and run once" {
	job=$(submit_chain)
	chain_begins "$job"
	daemon_again jobmgrd --set node.ahead=0
	eventually serves
	eventually is_sent "$job" 0
	[ "$(states "$job")" = "a:running b:pending c:pending" ]
	# No step is sent ahead any more: another leader would do so at once.
	go a
	eventually has_line "b 2"
	is_sent "$job" 0
	go b
	rota wait "$job"
	[ "$(tr '\n' ' ' <"$LEDGER")" = "a 1 a end 1 b 2 b end 2 c 2 c end 2 " ]
	is_right
}

@test "an older copy of the database comes back while a chain runs" {
	job=$(submit_chain)
	chain_begins "$job"
	server stop -m fast
	cp -a "$ROTA_HOME/pg/data" "$ROTA_HOME/pg/copy"
	server start
	eventually serves
	go a
	eventually has_line "b 1"
	eventually is_known "$job" 1
	fetches "$job.b" # so that the node has seen an order that the copy lacks
	server stop -m immediate
	go b
	eventually has_line "c end 1"
	rm -rf "$ROTA_HOME/pg/data"
	mv "$ROTA_HOME/pg/copy" "$ROTA_HOME/pg/data"
	server start
	eventually serves
	rota wait "$job"
	[ "$(states "$job")" = "a:completed b:completed c:completed" ]
	# Where the newer server had the end of a step, this one assumes another end, maybe after the begin of the next step.
	is_right "completed, but not all of its tasks ended well" "placed before the step it waits for had ended so"
}
