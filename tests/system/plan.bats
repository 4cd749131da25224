#!/usr/bin/env bats
# rota plan: starts that the scheduler expects, and the effects of changes. The scheduler runs in the client, on rows that it
# reads; no row changes.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	instance_up 2 --cpus 2 --mem 2000 --set node.grace=1
	RUNS=$(rota submit --parsable --time=2:00:00 --nodes=2 --exclusive --wrap 'sleep 7200')
	export RUNS
	runs() { [ "$(sql "select count(*) from acct.attempt where job_id = $RUNS and started_at is not null")" = 1 ]; }
	eventually runs
	WAITS=$(rota submit --parsable --time=30 --cpus-per-task=2 --wrap true)
	export WAITS
	planned() { rota queue --start --json | jq -e --argjson job "$WAITS" '.jobs[] | select(.job_id == $job) | .expected_at' >/dev/null; }
	eventually planned
}

teardown_file() {
	rota cancel "$WAITS" "$RUNS" >/dev/null || true # the lease of a node may have run out while tables were locked
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# lock_all: keeps every session from writing to a table or locking a row, until unlock. False if some session has such a lock for long.
lock_all() {
	coproc LOCKER { psql -X -h "$ROTA_HOME/run" -d rota -U postgres -v ON_ERROR_STOP=1 -Atq 2>/dev/null 3>&-; }
	LOCKER_IN=${LOCKER[1]}
	cat >&"$LOCKER_IN" <<-'END'
		begin;
		set local lock_timeout = '1s';
		select format('lock table %s in exclusive mode', string_agg(c.oid::regclass::text, ', ')) from pg_class c
			where c.relnamespace = 'rota'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition \gexec
		select 'locked';
	END
	read -r locked <&"${LOCKER[0]}" && [ "$locked" = locked ]
}

unlock() {
	local pid=$LOCKER_PID

	eval "exec $LOCKER_IN>&-"
	wait "$pid" || true
}

# submission_waits: a submission waits for a lock.
submission_waits() {
	[ "$(superuser "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%api.job_submit%'")" = 1 ]
}

# locks: prints how many locks on tables the session of lock_all has.
locks() {
	superuser "select count(*) from pg_locks where mode = 'ExclusiveLock' and granted and relation is not null"
}

# of LABEL FILTER: prints a part of the plan in $output about a step.
of() {
	jq -r --arg name "$1" ".steps[] | select(.label == \$name) | $2" <<<"$output"
}

@test "the plan is that of the job manager" {
	run --separate-stderr rota plan --json
	[ "$status" = 0 ]
	then=$(date -d "$(of "$WAITS.script" .expected_at)" +%s)
	leader=$(date -d "$(rota queue --start --json | jq -r --argjson job "$WAITS" '.jobs[] | select(.job_id == $job) | .expected_at')" +%s)
	[ $((then > leader ? then - leader : leader - then)) -le 60 ]
	run rota plan
	[[ ${lines[0]} == STEP* ]]
	[[ $output == *"$WAITS.script"* ]]
}

@test "rows with lists, devices and special characters are read" {
	rota admin node change n1 --gres=gpu:2 --features=fast,big
	job=$(rota submit --parsable --time=30 --gres=gpu:1 --constraint='(fast|big)&fast' --exclude=n2 --wrap true)
	run --separate-stderr rota plan --json
	[ "$(of "$job.script" '.then_at != null, .time_limit_s' | xargs)" = "true 1800" ]
	[[ $(of "$job.script" .message) == *gpu* ]]
	run --separate-stderr rota plan --drain n1 --json
	[ "$(of "$job.script" .verdict)" = "never, or not known" ]
	run --separate-stderr rota plan --drain n2 --json
	[ "$(of "$job.script" .verdict)" = same ]
	rota cancel "$job"
	rota admin node change n1 --features=
}

@test "more nodes, fewer nodes, other limits" {
	run --separate-stderr rota plan --add-nodes=1:4c,8G --json
	[ "$(of "$WAITS.script" .verdict)" = earlier ]
	run --separate-stderr rota plan --drain 'n[1-2]' --json
	[ "$(of "$WAITS.script" .verdict)" = "never, or not known" ]
	run --separate-stderr rota plan --set partition.main.max_time=10 --json
	[ "$(of "$WAITS.script" .verdict)" = "never, or not known" ]
	run --separate-stderr rota plan --at now+3hours --json
	[ "$status" = 0 ]
	[ "$(of "$WAITS.script" '.then_at != null')" = true ]
	run --separate-stderr rota plan --set partition.main.state=up --json
	[ "$(of "$WAITS.script" .verdict)" = same ]
}

@test "changes at another time are compared with that time" {
	for at in now+1hour now+3hours; do
		run --separate-stderr rota plan --at "$at" --json
		[ "$(of "$WAITS.script" '.verdict, .expected_at == .then_at' | xargs)" = "same true" ]
		run --separate-stderr rota plan --drain 'n[1-2]' --at "$at" --json
		[ "$(of "$WAITS.script" '.verdict, .expected_at != null' | xargs)" = "never, or not known true" ]
	done
	# A step that begins an hour from now still waits for the nodes; one that begins three hours from now does not.
	run --separate-stderr rota plan --at now+1hour --add-nodes=1:4c,8G --json
	[ "$(of "$WAITS.script" .verdict)" = earlier ]
	run --separate-stderr rota plan --add-nodes=1:4c,8G --at now+3hours --json
	[ "$(of "$WAITS.script" .verdict)" = same ]
}

@test "a script that is not submitted" {
	cat >job.sh <<-'END'
		#!/bin/bash
		#ROTA --job-name=idea --time=10 --cpus-per-task=2
		#ROTA step first
		true
		#ROTA step second --after=first
		true
	END
	run --separate-stderr rota plan --submit job.sh --json
	[ "$status" = 0 ]
	[ "$(of '(first)' .verdict)" = new ]
	[ "$(of '(first)' '.then_at != null')" = true ]
	[[ $stderr == *"1 step of job.sh waits for other steps of the script"* ]]
	echo '#ROTA --nodes=9' >wide.sh
	run rota plan --submit wide.sh
	[ "$status" != 0 ]
	[[ $output == *"wide.sh:1"* ]]
}

@test "a script that would go ahead of others" {
	rota admin qos create high --tier=1
	rota admin partition create owned --nodes='n[1-2]' --tier=2
	printf '#!/bin/bash\n#ROTA --time=10 --nodes=2 --exclusive\n' >plain.sh
	for option in --qos=high --priority=3 --partition=owned --eternal; do
		{ cat plain.sh; printf '#ROTA %s\n' "$option"; } >"plan$option.sh"
	done
	run --separate-stderr rota plan --submit plain.sh --json
	[ "$(of "$WAITS.script" .verdict)" = same ]
	[ "$(jq -r '.steps | map(.label) | join(" ")' <<<"$output")" = "$WAITS.script (script)" ]
	run --separate-stderr rota plan --submit plan--eternal.sh --json
	[ "$(jq -r '.steps | map(.label) | join(" ")' <<<"$output")" = "$WAITS.script (script)" ]
	for option in --qos=high --priority=3 --partition=owned; do
		run --separate-stderr rota plan --submit "plan$option.sh" --json
		[ "$(jq -r '.steps | map(.label) | join(" ")' <<<"$output")" = "(script) $WAITS.script" ]
		[ "$(of "$WAITS.script" .verdict)" = later ]
	done
	# Two scripts, as if both were submitted now.
	run --separate-stderr rota plan --submit plain.sh --submit plan--qos=high.sh --submit plan--partition=owned.sh --json
	[ "$(jq -r '.steps | map(.label + " " + .partition) | join(" ")' <<<"$output")" = "(script) owned (script) main $WAITS.script main (script) main" ]
}

@test "a script that would preempt others" {
	rota admin qos create urgent --tier=1
	printf '#!/bin/bash\n#ROTA --time=10 --nodes=2 --exclusive --qos=urgent\n' >urgent.sh
	rota admin partition change main --preempt=requeue --preempt-after=none
	run --separate-stderr rota plan --submit urgent.sh --json
	[ "$(of '(script)' .message)" = "preempts $RUNS.script" ]
	[ $(($(date -d "$(of '(script)' .then_at)" +%s) - $(date +%s))) -le 60 ]
	# Waiting steps get the nodes after the new step, and before the preempted one would have ended.
	[ "$(of "$WAITS.script" .verdict)" = earlier ]
	# No step is preempted before its minimal run time, or for a step of the same tier.
	rota admin partition change main --preempt-after=1:00:00
	run --separate-stderr rota plan --submit urgent.sh --json
	[ "$(of '(script)' .message)" = "preempts $RUNS.script" ]
	started=$(date -d "$(rota sql -Atc "select started_at from acct.attempt where job_id = $RUNS")" +%s)
	then=$(date -d "$(of '(script)' .then_at)" +%s)
	[ $((then - started)) -ge 3599 ]
	[ $((then - started)) -le 3601 ]
	sed -i 's/ --qos=urgent//' urgent.sh
	run --separate-stderr rota plan --submit urgent.sh --json
	[[ $(of '(script)' .message) != preempts* ]]
	[ "$(of "$WAITS.script" .verdict)" = same ]
	rota admin partition change main --preempt=off --preempt-after=none
	[ "$(superuser "select count(*) from rota.preempted")" = 0 ]
}

@test "nothing is written, and wrong words are refused" {
	rota plan --drain n1 --add-nodes=1:4c,8G --set partition.main.state=down >/dev/null
	[ "$(superuser "select state from rota.node where name = 'n1'")" = up ]
	[ "$(superuser "select count(*) from rota.node")" = 2 ]
	[ "$(superuser "select state from rota.partition where partition = 'main'")" = up ]
	refused 'there is no node "n9"' rota plan --drain n9
	refused '"many" says no nodes' rota plan --add-nodes=many
	refused 'there is no partition "none"' rota plan --set partition.none.max_time=1
	refused 'a partition has no "color"' rota plan --set partition.main.color=1
	refused 'sets nothing' rota plan --set main
	refused 'the moment has passed' rota plan --at 2020-01-01
	refused 'has no picture of --moves' rota plan --moves --html page.html
	refused 'could not write' rota plan --html none/page.html
}

@test "a page holds the numbers, and user text ends no script of it" {
	printf '#!/bin/sh\n#ROTA --job-name="</script><b>x"\ntrue\n' >'<b>&amp;.sh'
	run --separate-stderr rota plan --drain n1 --submit '<b>&amp;.sh' --json
	steps=$(jq -c .steps <<<"$output")
	rota plan --drain n1 --submit '<b>&amp;.sh' --html page.html
	[ "$(grep -c '<b>' page.html)" = 0 ]
	grep -q '<title>Plan with --drain n1 --submit &lt;b>&amp;amp;.sh</title>' page.html
	run ! grep -qE '(src|href)="?(https?:)?//' page.html
	sed -n 's,.*<script type="application/json" id="data">\(.*\)</script>.*,\1,p' page.html >data.json
	[ "$(jq -c '.rows | map(.label, .verdict)' data.json)" = "$(jq -c 'map(.label, .verdict)' <<<"$steps")" ]
	rota plan --html - >page.html
	[ "$(grep -c '<title>Plan</title>' page.html)" = 1 ]
}

@test "who does not see the jobs of others sees no plan" {
	need_root
	rota admin setting change queue_visible --value=false
	run as nobody rota plan
	rota admin setting change queue_visible --value=true
	[ "$status" != 0 ]
	[[ $output == *"you may not see the jobs of others"* ]]
}

@test "no lock is needed, and none of others is waited for" {
	printf '#!/bin/sh\n#ROTA --time=10\ntrue\n' >job.sh
	eventually lock_all
	held=$(locks)
	run timeout 100 rota plan
	run_changed() { timeout 100 rota plan --drain n1 --add-nodes=1:4c,8G --set partition.main.max_time=1-0 --submit job.sh --at now+1hour; }
	first=$status
	run run_changed
	second=$status
	run timeout 100 rota plan --moves
	third=$status
	# What writes a row waits.
	rota submit job.sh >/dev/null 2>&1 3>&- &
	run eventually submission_waits
	fourth=$status
	kill "$!"
	still=$(locks)
	unlock
	[ "$first $second $third $fourth" = "0 0 0 0" ]
	[ "$held" -ge 100 ]
	[ "$still" = "$held" ]
}
