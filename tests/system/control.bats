#!/usr/bin/env bats
# Control of steps: limits of time and memory, cancel, suspend, hold, modify, prologs and epilogs, groups,
# drained and short nodes. Outcomes are read in SQL.

load helper

setup_file() {
	export SITE=$BATS_FILE_TMPDIR/site
	mkdir -p "$SITE"
	chmod 0755 "$SITE" "$BATS_FILE_TMPDIR"
	# The site's prolog and epilog log each call, and fail if a file says so.
	for hook in prolog epilog; do
		printf '#!/bin/sh\necho "%s $ROTA_JOB_ID.$ROTA_STEP $ROTA_NODE" >>%s/log\n[ ! -e %s/fail-%s ]\n' "$hook" "$SITE" "$SITE" "$hook" >"$SITE/$hook"
		chmod 0755 "$SITE/$hook"
	done
	instance_up 3 --cpus 4 --mem 4000 --set node.grace=3 --set schedule.period=1 --site-prolog "$SITE/prolog" --site-epilog "$SITE/epilog"
	rota admin license create solver --total=2
	rota admin node change n3 --gres=gpu:2 --features=fast,big
	rota admin partition create narrow --nodes=n1 --max-time=1:00 --priority=5
}

teardown_file() {
	instance_down
}

# What a test that failed leaves must not fail others.
teardown() {
	[ -z "${BATS_TEST_COMPLETED:-}" ] || return 0
	rm -f "$SITE"/fail-* "$ROTA_HOME/pg/data/hold"
	rota cancel -q --me || true
	rota admin node resume 'n[1-3]' || true
	rota admin partition change narrow --state=up
}

submit() {
	local text=$1
	shift
	printf '%s\n' "$text" >"$BATS_TEST_TMPDIR/job.sh"
	cd "$BATS_TEST_TMPDIR" && rota submit --parsable "$@" job.sh
}

# state JOB [STEP-ID]
state() {
	sql "select state from rota.step where job_id = $1 and step_id = ${2:-0}"
}

is() {
	[ "$(state "$1")" = "$2" ]
}

@test "a step at its time limit gets SIGTERM, then SIGKILL: timeout" {
	job=$(submit '#!/bin/bash
trap "" TERM
while :; do sleep 0.1; done' --time=0:02)
	eventually is "$job" timeout
	run sql "select cause from rota.step where job_id = $job"
	[ "$output" = time_limit ]
}

@test "a cancelled step that ignores SIGTERM is killed after the grace time" {
	job=$(submit '#!/bin/bash
trap "" TERM
echo $$ >pid
while :; do sleep 0.1; done')
	eventually is "$job" running
	eventually test -s "$BATS_TEST_TMPDIR/pid"
	rota cancel "$job"
	eventually is "$job" cancelled
	run kill -0 "$(cat "$BATS_TEST_TMPDIR/pid")"
	[ "$status" -ne 0 ]
	run rota wait "$job"
	[ "$status" -ne 0 ]
}

@test "cancel ends pending steps too, and can end one element alone" {
	job=$(submit '#!/bin/bash
#ROTA step one
sleep 60
#ROTA step two --array=0-9 --after=one
true')
	eventually is "$job" running
	rota cancel "$job.two[3]"
	rota cancel "$job"
	eventually is "$job" cancelled
	run sql "select string_agg(distinct state, ' ') from rota.step where job_id = $job"
	[ "$output" = cancelled ]
	run sql "select state || ' ' || steps_left from rota.job where job_id = $job"
	[ "$output" = "cancelled 0" ]
}

@test "a crash leaves its core in the working directory, where limits and kernel let it" {
	[[ $(cat /proc/sys/kernel/core_pattern) != [/\|]* ]] || skip "the kernel puts cores elsewhere"
	! sanitized || skip "programs with AddressSanitizer turn cores off"
	mkdir -p "$BATS_TEST_TMPDIR/crash"
	chmod 0777 "$BATS_TEST_TMPDIR/crash"
	ulimit -c unlimited
	job=$(submit '#!/bin/bash
kill -SEGV $$' --workdir="$BATS_TEST_TMPDIR/crash")
	eventually is "$job" failed
	run sql "select signal || ' ' || cause from rota.step where job_id = $job"
	[ "$output" = "11 signal" ]
	[ -n "$(find "$BATS_TEST_TMPDIR/crash" -name '*core*' -user "$(id -un)")" ]
}

@test "memory over the limit has its own cause" {
	grep -q 'with cgroups' "$ROTA_HOME/log/launcher.n1.log" || skip "no control groups here"
	job=$(submit '#!/bin/bash
exec perl -e "my \$x = q(x) x (400 * 1024 * 1024); sleep 1"' --mem=100M)
	eventually is "$job" out_of_memory
	run sql "select cause from rota.step where job_id = $job"
	[ "$output" = out_of_memory ]
}

@test "suspend gives the CPUs back and stops the clock; resume takes them again" {
	job=$(submit '#!/bin/bash
until [ -e '"$BATS_TEST_TMPDIR"'/go ]; do sleep 0.3; done' --nodelist=n2 --ntasks=4 --time=1:00)
	eventually is "$job" running
	rota suspend "$job"
	eventually is "$job" suspended
	[ "$(sql "select cpus_used from rota.node_used where node_id = 2")" = 0 ]
	touch "$BATS_TEST_TMPDIR/go"
	sleep 1.5
	[ "$(state "$job")" = suspended ]
	rota resume "$job"
	eventually is "$job" completed
	run sql "select string_agg(event, ' ' order by event_id) from rota.event where job_id = $job and event in ('suspend', 'resume', 'complete')"
	[ "$output" = "suspend resume complete" ]
	# The step took an hour, and was suspended for fifty minutes of it.
	superuser "update rota.job set started_at = ended_at - interval '1 hour' where job_id = $job;
		update rota.step set started_at = ended_at - interval '1 hour' where job_id = $job;
		update rota.attempt set ordered_at = ended_at - interval '1 hour', started_at = ended_at - interval '1 hour', done_at = ended_at, suspended_s = 3000 where job_id = $job"
	rota show "$job" | grep -qE '^script +completed +10:00 '
	rota show "$job" | grep -q ', ran 10:00$'
	rota show "$job.script" | grep -q ', ran 10:00$'
	rota queue "$job" | grep -q ' 10:00 '
	run -0 rota watch "$job"
	[[ $output == *"$job.script completed"*" after 10:00"* ]]
	# Accounting has the whole hour.
	[ "$(rota acct --json --steps "$job" | jq -c '[.rows[].elapsed_s]')" = "[3600]" ]
}

@test "a suspended step waits for its CPUs when another has them" {
	job=$(submit '#!/bin/bash
until [ -e '"$BATS_TEST_TMPDIR"'/go ]; do sleep 0.3; done' --nodelist=n2 --ntasks=4)
	eventually is "$job" running
	rota suspend "$job"
	eventually is "$job" suspended
	other=$(submit '#!/bin/bash
until [ -e '"$BATS_TEST_TMPDIR"'/other ]; do sleep 0.3; done' --nodelist=n2 --ntasks=4)
	eventually is "$other" running
	rota resume "$job"
	[ "$(state "$job")" = suspended ]
	touch "$BATS_TEST_TMPDIR"/{go,other}
	eventually is "$job" completed
	run sql "select (select ended_at from rota.step where job_id = $other) < (select max(at) from rota.event where job_id = $job and event = 'resume')"
	[ "$output" = t ]
}

@test "signals reach the tasks" {
	job=$(submit '#!/bin/bash
trap "exit 7" USR1
touch '"$BATS_TEST_TMPDIR"'/trapped
while :; do sleep 0.1; done')
	eventually is "$job" running
	eventually test -e "$BATS_TEST_TMPDIR/trapped"
	rota signal USR1 "$job"
	eventually is "$job" failed
	run sql "select exit_code from rota.step where job_id = $job"
	[ "$output" = 7 ]
}

@test "control messages to a keeper that reads nothing wait for it, whole and in order" {
	job=$(submit '#!/bin/bash
trap "echo signalled >>'"$BATS_TEST_TMPDIR"'/signals" USR1 USR2
trap "echo ended >>'"$BATS_TEST_TMPDIR"'/signals; exit" TERM
touch '"$BATS_TEST_TMPDIR"'/trapped
while :; do sleep 0.1; done')
	eventually is "$job" running
	eventually test -e "$BATS_TEST_TMPDIR/trapped"
	spool=$(echo "$ROTA_HOME"/node/*/spool/"$job.0.1")
	keeper=$(sed 's/ .*//' "$spool/pid")
	waits() { grep -q "for attempt $job.0.1 is delayed: the keeper's socket is full" "$ROTA_HOME"/log/launcher.*.log; }
	ordered() { superuser "select coalesce(string_agg(distinct kind, ' ' order by kind), '') from rota.node_order where job_id = $job"; }
	# Equal signals that wait together become one, so each must reach the launcher before the next is sent.
	sent() { waits || [ -z "$(ordered)" ]; }
	kill -STOP "$keeper"
	for i in $(seq 100); do # more messages than the kernel lets wait in a socket
		! waits || break
		rota signal USR1 "$job" || true
		eventually sent || break
	done
	rota signal USR2 "$job" || true
	rota cancel "$job" || true
	before=$(ordered)
	kill -CONT "$keeper"
	eventually is "$job" cancelled
	[ "$before" = "kill signal" ] || { echo "before: $before"; false; }
	eventually eval '[ -z "$(ordered)" ]'
	[ "$(head -n 1 "$BATS_TEST_TMPDIR/signals")" = signalled ]
	[ "$(tail -n 1 "$BATS_TEST_TMPDIR/signals")" = ended ]
}

@test "held steps wait, released ones run, and why explains it" {
	job=$(submit '#!/bin/bash
true' --hold)
	run rota why "$job"
	[[ "$output" == *hold* ]]
	[ "$(state "$job")" = pending ]
	rota release "$job"
	eventually is "$job" completed
}

@test "a pending step can be modified, and runs as modified" {
	job=$(submit '#!/bin/bash
echo "$PWD"' --hold)
	mkdir "$BATS_TEST_TMPDIR/elsewhere"
	mkdir "$BATS_TEST_TMPDIR/gone"
	(cd "$BATS_TEST_TMPDIR/gone" && rmdir ../gone && rota modify "$job" --time=4:00 && rota modify "$job" --workdir=/ &&
		refused "could not find the path of the working directory" rota modify "$job" --workdir=elsewhere)
	(cd "$BATS_TEST_TMPDIR" && rota modify "$job" --time=5:00 --cpus-per-task=2 --output="$BATS_TEST_TMPDIR/changed.out" --workdir=elsewhere)
	rota release "$job"
	eventually is "$job" completed
	[ "$(cat "$BATS_TEST_TMPDIR/changed.out")" = "$BATS_TEST_TMPDIR/elsewhere" ]
	run sql "select t.time_limit_s || ' ' || a.cpus from rota.attempt t join rota.allocation a using (job_id, step_id, attempt) where job_id = $job"
	[ "$output" = "300 2" ]
}

@test "a running step can get another time limit, which its node enforces" {
	longer=$(submit '#!/bin/bash
until [ -e go ]; do sleep 0.3; done' --time=0:15)
	eventually is "$longer" running
	rota modify "$longer" --time=5
	shorter=$(submit '#!/bin/bash
sleep 600' --time=5)
	eventually is "$shorter" running
	rota modify "$longer" --retry=1 --no-requeue --job-name=renamed --comment=x --nice --mail-type=NONE
	refused "$longer.script: it has started, so --sample cannot be modified any more" rota modify "$longer" --sample=5
	[[ $output == *"hint: What has started takes --time, --retry, --requeue and"* ]]
	rota suspend "$shorter"
	eventually is "$shorter" suspended
	rota modify "$shorter" --time=0:01
	rota resume "$shorter"
	eventually is "$shorter" timeout
	first_limit_is_over() { [ "$(sql "select now() > started_at + interval '16 s' from rota.attempt where job_id = $longer")" = t ]; }
	eventually first_limit_is_over
	[ "$(state "$longer")" = running ]
	touch "$BATS_TEST_TMPDIR/go"
	eventually is "$longer" completed
}

@test "begin, deadline, licences, gres and features decide when and where" {
	before=$(date +%s.%N)
	later=$(submit '#!/bin/bash
true' --begin=now+3seconds)
	never=$(submit '#!/bin/bash
true' --hold --time=0:01 --deadline=now+8seconds)
	one=$(submit '#!/bin/bash
sleep 1' --licenses=solver:2)
	two=$(submit '#!/bin/bash
true' --licenses=solver:1)
	gpu=$(submit '#!/bin/bash
echo "gpus $CUDA_VISIBLE_DEVICES"' --gres=gpu:2 --output="$BATS_TEST_TMPDIR/gpu.out")
	fast=$(submit '#!/bin/bash
true' --constraint='fast&!slow')
	for job in "$later" "$one" "$two" "$gpu" "$fast"; do
		eventually is "$job" completed
	done
	eventually is "$never" deadline
	run sql "select extract(epoch from started_at) - $before >= 3 from rota.step where job_id = $later"
	[ "$output" = t ]
	run sql "select (select min(at) from rota.event where job_id = $two and event = 'start') > (select ended_at from rota.step where job_id = $one)"
	[ "$output" = t ]
	grep -qx 'gpus 0,1' "$BATS_TEST_TMPDIR/gpu.out"
	run sql "select string_agg(distinct nodes[1], ' ') from rota.attempt where job_id in ($gpu, $fast)"
	[ "$output" = n3 ]
}

@test "exclusive takes whole nodes, and later steps in the queue do not pass it" {
	wide=$(submit '#!/bin/bash
sleep 1' --nodes=3 --exclusive)
	small=$(submit '#!/bin/bash
true')
	eventually is "$small" completed
	eventually is "$wide" completed
	run sql "select (select min(at) from rota.event where job_id = $wide and event = 'start') < (select min(at) from rota.event where job_id = $small and event = 'start')"
	[ "$output" = t ]
	run sql "select sum(cpus) from rota.allocation where job_id = $wide"
	[ "$output" = 12 ]
}

@test "backfill starts steps that delay no other, and the blocked step has an expected start" {
	long=$(submit "#!/bin/bash
until [ -e $BATS_TEST_TMPDIR/go ]; do sleep 0.3; done" --nodelist=n1 --ntasks=4 --time=10:00)
	eventually is "$long" running
	blocked=$(submit '#!/bin/bash
true' --nodes=3 --ntasks-per-node=4 --time=1:00)
	short=$(submit '#!/bin/bash
true' --ntasks=1 --time=1:00)
	eventually is "$short" completed
	[ "$(state "$blocked")" = pending ]
	# The plan follows the starts.
	blocker_is_known() { rota why "$blocked" | grep -qF "$long.script"; }
	eventually blocker_is_known
	[ "$(sql "select expected_at is not null from rota.plan where job_id = $blocked")" = t ]
	touch "$BATS_TEST_TMPDIR/go"
	eventually is "$blocked" completed
}

@test "a step ends while the leader reads: the step that waits for its node keeps its place" {
	local hold=$ROTA_HOME/pg/data/hold
	half() { submit "#!/bin/bash
until [ -e $BATS_TEST_TMPDIR/go-$1 ]; do sleep 0.3; done" --nodelist=n1 --ntasks=2 --time=10:00; }
	a=$(half a)
	b=$(half b)
	eventually is "$a" running
	eventually is "$b" running
	wide=$(submit '#!/bin/bash
true' --nodelist=n1 --ntasks=4 --time=1:00)
	small=$(submit '#!/bin/bash
true' --nodelist=n1 --ntasks=1 --time=20:00)
	touch "$BATS_TEST_TMPDIR/go-a"
	eventually is "$a" completed
	# The leader has read the nodes and not yet the running steps when b ends.
	superuser "create function public.hold() returns void language plpgsql security definer as \$\$
		begin
			while (pg_stat_file('hold', true)).size is not null loop
				perform pg_sleep(0.05);
			end loop;
		end \$\$"
	definition=$(superuser "select pg_get_functiondef('api.schedule_partitions()'::regprocedure)")
	touch "$hold"
	superuser "${definition/begin/begin perform public.hold();}"
	eventually is_held_up
	touch "$BATS_TEST_TMPDIR/go-b"
	eventually is "$b" completed
	rm "$hold"
	eventually is "$small" completed
	superuser "$definition; drop function public.hold()"
	run sql "select (select ended_at from rota.step where job_id = $wide) <= (select min(at) from rota.event where job_id = $small and event = 'start')"
	[ "$output" = t ]
}

@test "started, held and ended steps are not in the plan, nor is a whole array of them" {
	array=$(submit "#!/bin/bash
until [ -e $BATS_TEST_TMPDIR/go ]; do sleep 0.3; done" --nodelist=n1 --ntasks=2 --array=0-3 --time=10:00)
	whole=$(submit '#!/bin/bash
true' --nodelist=n1 --ntasks=4 --time=1:00)
	planned() { [ "$(sql "select count(*) from rota.plan where job_id in ($array, $whole)")" = "$1" ]; }
	eventually planned 2
	rota hold "$whole"
	eventually planned 1
	touch "$BATS_TEST_TMPDIR/go"
	eventually is "$array" completed
	eventually planned 0
	rota release "$whole"
	eventually is "$whole" completed
	eventually planned 0
}

@test "partitions: limits are refused at submission, states keep from starting" {
	run submit '#!/bin/bash
true' --partition=narrow --time=10:00
	[ "$status" -ne 0 ]
	[[ "$output" == *--time* ]]
	rota admin partition change narrow --state=down
	job=$(submit '#!/bin/bash
true' --partition=narrow --time=1:00)
	sleep 1.5
	[ "$(state "$job")" = pending ]
	run rota why "$job"
	[[ "$output" == *narrow* ]]
	rota admin partition change narrow --state=up
	eventually is "$job" completed
}

@test "prolog and epilog of site and user run in order, once for a group on a node" {
	: >"$SITE/log"
	printf '#!/bin/sh\necho "user-prolog $ROTA_STEP" | tee -a trace >>%s/log\n' "$SITE" >"$BATS_TEST_TMPDIR/up"
	printf '#!/bin/sh\necho "user-epilog $ROTA_STEP" | tee -a trace >>%s/log\n' "$SITE" >"$BATS_TEST_TMPDIR/ue"
	chmod +x "$BATS_TEST_TMPDIR/up" "$BATS_TEST_TMPDIR/ue"
	job=$(submit '#!/bin/bash
#ROTA --group=G --nodelist=n1 --prolog=./up --epilog=./ue
#ROTA step a
echo task-a >>trace
#ROTA step b --after=a
echo task-b >>trace')
	rota wait "$job"
	no_keeper() { [ "$(sql "select count(*) from rota.allocation where gone_at is null")" = 0 ]; }
	eventually no_keeper
	[ "$(tr '\n' ' ' <"$BATS_TEST_TMPDIR/trace")" = "user-prolog a task-a task-b user-epilog a " ]
	# In order, by the node: the database's times of two reports also depend on how fast these came.
	[ "$(tr '\n' ' ' <"$SITE/log")" = "prolog $job.a n1 user-prolog a user-epilog a epilog $job.a n1 " ]
	run sql "select string_agg(hook, ' ' order by hook) from rota.hook_run where job_id = $job"
	[ "$output" = "site_epilog site_prolog user_epilog user_prolog" ]
}

@test "a failing site prolog drains its node and holds the step; a failing epilog drains" {
	touch "$SITE/fail-prolog"
	job=$(submit '#!/bin/bash
true' --nodelist=n2)
	drained() { [ "$(sql "select state from rota.node where name = 'n2'")" = drain ]; }
	eventually drained
	held() { [ "$(sql "select state || ' ' || held from rota.step where job_id = $job")" = "pending system" ]; }
	eventually held
	run rota nodes
	[[ "$output" == *prolog* ]]
	# No task began, so there is no exit code.
	rota show "$job" | grep -q '^script *pending *- *n2 *site_prolog '
	rota show "$job.script" | grep -q '^ *Reason *site_prolog '
	run ! grep -q '^ *Exit' <(rota show "$job.script")
	rm "$SITE/fail-prolog"
	rota admin node resume n2
	touch "$SITE/fail-epilog"
	rota release "$job"
	eventually is "$job" completed
	eventually drained
	rm "$SITE/fail-epilog"
	rota admin node resume n2
}

@test "drained nodes get no new steps, which run elsewhere where they can" {
	rota admin node drain n1 --reason="a fan is loud"
	job=$(submit '#!/bin/bash
true' --nodelist=n1)
	other=$(submit '#!/bin/bash
true')
	eventually is "$other" completed
	[ "$(state "$job")" = pending ]
	run rota why "$job"
	[[ "$output" == *"n1"* ]]
	rota admin node resume n1
	eventually is "$job" completed
}

@test "a node with less than prescribed is not used, and its reason says why" {
	rota admin node change n3 --cpus=4096 --hardware-check=true
	invalid() { [ "$(sql "select state from rota.node where name = 'n3'")" = invalid ]; }
	eventually invalid
	run rota nodes n3 --json
	[[ "$output" == *"4096 prescribed"* ]]
	rota admin node change n3 --cpus=4 --hardware-check=false
	up() { [ "$(sql "select state from rota.node where name = 'n3'")" = up ]; }
	eventually up
}

@test "several nodes: the script runs on the first; with --run=tasks every task runs, each with its own rank" {
	job=$(submit '#!/bin/bash
echo "$ROTA_NODE $ROTA_NNODES" >once' --nodes=2 --ntasks-per-node=2)
	rota wait "$job"
	[ "$(cat "$BATS_TEST_TMPDIR/once")" = "n1 2" ]
	job=$(submit '#!/bin/bash
echo "$ROTA_TASK_ID" >"rank.$ROTA_TASK_ID"' --nodes=2 --ntasks-per-node=2 --run=tasks)
	rota wait "$job"
	[ "$(cat "$BATS_TEST_TMPDIR"/rank.* | sort | tr '\n' ' ')" = "0 1 2 3 " ]
	run sql "select count(*) || ' ' || count(distinct node_id) from rota.task_end where job_id = $job"
	[ "$output" = "4 2" ]
}

@test "figures of a task are recorded" {
	job=$(submit '#!/bin/bash
exec perl -e "my \$x = q(x) x (50 * 1024 * 1024); my \$n = 0; \$n += \$_ for 1 .. 3_000_000"')
	rota wait "$job"
	run sql "select user_usec > 10000 and max_rss_kb > 40000 and minor_faults > 0 and voluntary_switches is not null from rota.task_end where job_id = $job"
	[ "$output" = t ]
}

@test "nothing is left allocated" {
	eventually is_idle
	run sql "select (select count(*) from rota.allocation where ended_at is null) || ' ' || (select sum(cpus_used) + sum(mem_used_mb) from rota.node_used)
		|| ' ' || (select sum(used) from rota.license) || ' ' || (select count(*) from rota.node_gres where job_id is not null) || ' ' || (select count(*) from rota.node_order)"
	[ "$output" = "0 0 0 0 0" ]
}
