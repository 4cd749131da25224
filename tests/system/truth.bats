#!/usr/bin/env bats
# Consumption that programs measure themselves, compared with Rota's figures: CPU time, memory, I/O and times, with cgroups and
# without. The bounds are those of the table in docs/reliability.md, "How figures are measured".

load helper

setup_file() {
	instance_up 2 --cpus 4 --mem 4000 --set node.grace=1 --set schedule.period=1
	rota admin setting change requeue_delay_s --value=0
	WORK=$(mktemp -d /var/tmp/rota-truth.XXXXXX) # on storage: a file in /tmp may be in memory
	export WORK
	chmod 0777 "$WORK"
}

teardown_file() {
	local status=0
	instance_down || status=1
	rm -rf -- "$WORK"
	return "$status"
}

# consume WHAT... [-- OPTION...]: run a job of one step that consumes; its number is in $job, its own figures are in $said.
consume() {
	local words=()
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	shift || true
	said=$(mktemp "$WORK/said.XXXXXX")
	chmod 0666 "$said"
	printf '#!/bin/bash\nexec "%s" "%s" %s\n' "$ROTA_SOURCE/tests/system/consume" "$said" "${words[*]}" >"$BATS_TEST_TMPDIR/job.sh"
	cd "$BATS_TEST_TMPDIR"
	job=$(rota submit --parsable --output="$said.out" "$@" job.sh)
	rota wait "$job" || { cat "$said.out"; return 1; }
}

# own FIGURE: prints the sum of the figure over all processes that reported.
own() {
	jq -s "map(.$1) | add" "$said"
}

# between FIGURE LOW HIGH: a figure of the job's step, in SQL, is in these bounds.
between() {
	local got
	got=$(sql "select $1 from acct.step where job_id = $job and not is_array")
	[ "$(awk -v x="$got" -v low="$2" -v high="$3" 'BEGIN { print (x != "" && x >= low && x <= high) }')" = 1 ] ||
		{ echo "job $job: $1 is $got, not between $2 and $3"; return 1; }
}

# plus NUMBER NUMBER: their sum
plus() {
	awk -v x="$1" -v y="$2" 'BEGIN { printf "%.6f", x + y }'
}

has_cgroup() {
	[ "$(sql "select cgroup_peak_mb is not null from acct.step where job_id = $job")" = t ]
}

figures() {
	# CPU time: all of the program's, and beside it no more than the shell's.
	consume cpu=0.4
	between cpu_used_s "$(own cpu)" "$(plus "$(own cpu)" 0.15)"
	between 'cpu_used_s - user_cpu_s - system_cpu_s' -0.000002 0.000002
	between elapsed_s "$(own elapsed)" 1000
	# Processes that the program waited for count, and no process counts twice.
	consume cpu=0.1 fork=0.2:3
	awk -v x="$(own cpu)" 'BEGIN { exit x < 0.7 }'
	between cpu_used_s "$(own cpu)" "$(plus "$(own cpu)" 0.15)"
	# CPU time of processes that no process waited for.
	consume cpu=0.1 orphan=0.4
	[ "$(wc -l <"$said")" = 2 ]
	between cpu_used_s "$(own cpu)" "$(plus "$(own cpu)" 0.15)"
	[ "$(sql "select t.user_cpu_s + t.system_cpu_s < s.cpu_used_s - 0.35 from acct.task t join acct.step s using (job_id) where job_id = $job")" = t ]
	# Memory: touched pages count once, however many processes share them.
	consume memory=120
	between peak_mb 120 $(($(own rss_kb) / 1024 + 25))
	consume share=120:3
	between peak_mb 120 190
	# Pages of files do not count.
	consume "cache=160:$WORK/cache"
	between peak_mb 1 60
	! has_cgroup || between cgroup_peak_mb 100 400
	rm "$WORK/cache"
	# Bytes through calls, and bytes of storage. The script itself is read by a shell.
	consume null=32
	between wchar $((32 << 20)) $((33 << 20))
	between write_bytes 0 $((1 << 20))
	consume "store=16:$WORK/stored"
	between wchar $((16 << 20)) $((17 << 20))
	between write_bytes $((16 << 20)) $((18 << 20))
	consume "map=$WORK/stored"
	between rchar 0 $((8 << 20))
	between read_bytes $((15 << 20)) $((32 << 20))
	between rchar "$(own rchar)" "$(plus "$(own rchar)" 1048576)"
	consume "read=$WORK/stored"
	between rchar $((16 << 20)) $((18 << 20))
	between read_bytes $((15 << 20)) $((32 << 20))
	is_cached() { consume "cached=$WORK/stored" && [ "$(own read_bytes)" -lt $((1 << 19)) ]; }
	eventually is_cached # the kernel may have dropped pages of the file or of the program meanwhile
	between rchar $((16 << 20)) $((18 << 20))
	between read_bytes "$(own read_bytes)" $((1 << 20))
	rm "$WORK/stored"
}

@test "with cgroups, where there are any" {
	figures
}

@test "the figures of an attempt whose keeper was killed are those of its cgroup" {
	consume sleep=0.01
	has_cgroup || skip "no cgroups; tests/sql/figures.sql has what samples tell"
	said=$(mktemp "$WORK/said.XXXXXX")
	chmod 0666 "$said"
	printf '#!/bin/bash\n"%s" "%s" cpu=0.4\ntouch "%s.done"\nsleep 60\n' "$ROTA_SOURCE/tests/system/consume" "$said" "$said" >"$BATS_TEST_TMPDIR/job.sh"
	job=$(rota submit --parsable --no-requeue --output="$said.out" "$BATS_TEST_TMPDIR/job.sh")
	eventually test -e "$said.done"
	kill -9 "$(sed 's/ .*//' "$ROTA_HOME"/node/n*/spool/"$job".*/pid)"
	run rota wait "$job"
	[ "$(sql "select cause from acct.attempt where job_id = $job")" = keeper_lost ]
	between cpu_used_s "$(own cpu)" "$(plus "$(own cpu)" 0.3)"
}

@test "without cgroups" {
	rota down -q
	rota up -q --set node.cgroup=off
	figures
	run ! has_cgroup
}

@test "several nodes: each task's use counts" {
	consume cpu=0.3 -- --nodes=2 --ntasks=2 --ntasks-per-node=1 --run=tasks
	[ "$(wc -l <"$said")" = 2 ]
	between cpu_used_s "$(own cpu)" "$(plus "$(own cpu)" 0.3)"
	[ "$(sql "select count(*) from acct.allocation where job_id = $job and cpu_s >= 0.3")" = 2 ]
}

@test "attempts: each has its own, the step has all" {
	said=$(mktemp "$WORK/said.XXXXXX")
	chmod 0666 "$said"
	printf '#!/bin/bash\n"%s" "%s" "cpu=0.$((ROTA_ATTEMPT * 2))"\n[ "$ROTA_ATTEMPT" = 2 ]\n' "$ROTA_SOURCE/tests/system/consume" "$said" >"$BATS_TEST_TMPDIR/job.sh"
	cd "$BATS_TEST_TMPDIR"
	job=$(rota submit --parsable --retry=1 --output="$said.out" job.sh)
	rota wait "$job"
	between cpu_used_s "$(own cpu)" "$(plus "$(own cpu)" 0.3)"
	[ "$(sql "select bool_and(a.cpu_used_s between x.cpu and x.cpu + 0.15) from acct.attempt a
		join (values (1, $(jq -s '.[0].cpu' "$said")), (2, $(jq -s '.[1].cpu' "$said"))) x (attempt, cpu) using (attempt) where job_id = $job")" = t ]
	[ "$(rota acct --duplicates --format=attempt,cpu_s --parsable --no-header "$job" | wc -l)" = 2 ]
	[ "$(rota acct --steps --json "$job" | jq '[.rows[].cpu_s] | add')" = "$(sql "select cpu_used_s from acct.step where job_id = $job")" ]
}

@test "suspended time is neither run nor CPU time" {
	said=$(mktemp "$WORK/said.XXXXXX")
	chmod 0666 "$said"
	printf '#!/bin/bash\nuntil [ -e "%s.go" ]; do sleep 0.3; done\n"%s" "%s" sleep=0.1\n' "$said" "$ROTA_SOURCE/tests/system/consume" "$said" >"$BATS_TEST_TMPDIR/job.sh"
	cd "$BATS_TEST_TMPDIR"
	job=$(rota submit --parsable --output="$said.out" job.sh)
	state_is() { [ "$(sql "select state from rota.step where job_id = $job")" = "$1" ]; }
	eventually state_is running
	before=$(date +%s.%N)
	rota suspend "$job"
	eventually state_is suspended
	from=$(date +%s.%N)
	sleep 2
	to=$(date +%s.%N)
	rota resume "$job"
	goes_on() { [ "$(sql "select suspended_at is null from rota.attempt where job_id = $job")" = t ]; }
	eventually goes_on # as the node has reported; the step is running from the command on
	after=$(date +%s.%N)
	touch "$said.go"
	rota wait "$job"
	[ "$(sql "select suspended_s between $to - $from - 0.01 and $after - $before + 0.01 and elapsed_s > suspended_s from acct.attempt where job_id = $job")" = t ]
	[ "$(sql "select cpu_held_s < elapsed_s from acct.attempt where job_id = $job")" = t ]
}

@test "an epilog is held and charged, and is no elapsed time" {
	printf '%s\n' '#!/bin/bash' 'sleep 1.5' >"$WORK/epilog"
	chmod 0755 "$WORK/epilog"
	consume sleep=0.2 -- --epilog="$WORK/epilog"
	[ "$(sql "select elapsed_s >= 1.5 from acct.hook where job_id = $job and hook = 'user_epilog'")" = t ]
	for view in step attempt; do
		[ "$(sql "select elapsed_s >= $(own elapsed) and abs(elapsed_s - extract(epoch from done_at - started_at)) < 0.000002
			and ended_at - done_at >= interval '1.5 s' and cpu_held_s >= elapsed_s + 1.5 from acct.$view where job_id = $job")" = t ]
	done
	[ "$(rota show --json "$job" | jq '.jobs[0].steps[0].elapsed_s')" = "$(sql "select elapsed_s from acct.step where job_id = $job")" ]
	[ "$(rota acct --steps --json "$job" | jq '.rows[0].elapsed_s')" = "$(sql "select elapsed_s from acct.step where job_id = $job")" ]
	[ "$(sql "select \"end\"::timestamp = date_trunc('second', s.done_at at time zone 'UTC') from acct.sacct a join acct.step s on a.rotastep = s.label where job_id = $job")" = t ]
}

# fake_clock NODE FILE: start the node's launcher and process manager again, with the wall clock of FILE ("+0", "-3600").
fake_clock() {
	local pid words preload
	preload=$(find /usr/lib -name libfaketimeMT.so.1 -print -quit)
	pid=$(pid_of launcher "$1")
	mapfile -d '' -t words <"/proc/$pid/cmdline"
	kill "$pid"
	eventually is_gone "$pid"
	LD_PRELOAD=$preload FAKETIME_TIMESTAMP_FILE=$2 FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 \
		setsid "${words[@]}" >>"$ROTA_HOME/log/launcher.$1.log" 2>&1 3>&- &
	eventually serves "$1"
}

is_gone() {
	! kill -0 "$1" 2>/dev/null
}

serves() {
	[ "$(superuser "select count(*) from rota.daemon d join pg_stat_activity b on b.pid = d.backend_pid where d.role = 'procmgrd' and d.name = '$1'")" = 1 ] &&
		[ "$(superuser "select state from rota.node where name = '$1'")" = up ]
}

# sessions_stop SECONDS: all database sessions of process managers stand still.
sessions_stop() {
	local pids
	pids=$(superuser "select pid from pg_stat_activity where usename like 'rota\\_node\\_%'")
	kill -STOP $pids
	sleep "$1"
	kill -CONT $pids
}

@test "times run forwards while the clock of a node jumps and database sessions stand still" {
	local clock="$WORK/clock" shift
	echo +0 >"$clock"
	chmod 0644 "$clock"
	# libfaketime hangs in a program of the address sanitizer; there only the sessions stand still.
	sanitized || fake_clock n2 "$clock"
	printf '%s\n' '#!/bin/bash' 'sleep 0.2' >"$BATS_TEST_TMPDIR/short.sh"
	job=$(rota submit --parsable --array=0-159 --output=/dev/null "$BATS_TEST_TMPDIR/short.sh")
	# Forward by less than a launch request is valid: a node refuses expired ones by its own clock.
	for shift in -3600 +20 -90 +0; do
		echo "$shift" >"$clock.new"
		mv "$clock.new" "$clock"
		sessions_stop 0.9
		sleep 0.3
	done
	rota wait --timeout=300 "$job"
	[ "$(sql "select count(distinct node) from acct.allocation where job_id = $job")" = 2 ]
	# The duration is that of the program's sleep, and all of its times lie within those of its attempt.
	run -0 sql "select a.* from acct.attempt a where a.job_id = $job and not coalesce(
		a.started_at <= a.ended_at and a.elapsed_s between 0.2 and 60 and a.ended_at between a.started_at and now(), false)"
	[ -z "$output" ] || { echo "$output"; false; }
	run -0 superuser "select t.job_id, t.step_id, t.started_at, t.ended_at, a.started_at, a.ended_at from rota.task_end t
		join rota.attempt a using (job_id, step_id, attempt) where t.job_id = $job
			and not (t.started_at >= a.started_at and t.ended_at <= a.ended_at and t.ended_at - t.started_at >= interval '0.19 s')"
	[ -z "$output" ] || { echo "$output"; false; }
	audit
}
