#!/usr/bin/env bats
# Lost nodes: leases on both sides, the policies fence and keep, nodes that come back, reboots, flapping. A node is
# cut off by stopping its process manager, so that nothing passes between it and the database. Tasks write a ledger outside Rota;
# the tests check the order of its lines, never a time.

load helper

setup() {
	local lease=6
	[[ $BATS_TEST_DESCRIPTION != *rebooted* ]] || lease=60 # only the reboot must reveal the loss, however busy the machine
	instance_up 2 --cpus 2 --set node.lease=$lease --set node.lease_margin=4 --set nodemgr.period=1 --set node.grace=1
	rota admin setting change requeue_delay_s --value=0 >/dev/null
	LEDGER=$ROTA_TEST_DIR/ledger
	touch "$LEDGER"
	chmod 0666 "$LEDGER"
	stopped=
}

teardown() {
	[ -z "$stopped" ] || kill -CONT $stopped 2>/dev/null || true
	instance_down
}

# A job whose task ticks into the ledger until the file `enough` exists; $1 is prepended to its script.
ticker() {
	local first=$1
	shift
	cat >"$BATS_TEST_TMPDIR/job.sh" <<END
#!/bin/bash
$first
echo "begin \$ROTA_ATTEMPT \$ROTA_NODE \$\$ \$ROTA_JOB_ID" >>$LEDGER
until [ -e $ROTA_TEST_DIR/enough ]; do echo "tick \$ROTA_ATTEMPT" >>$LEDGER; sleep 0.1; done
echo "end \$ROTA_ATTEMPT" >>$LEDGER
END
	(cd /tmp && rota submit --parsable --output=/dev/null "$@" "$BATS_TEST_TMPDIR/job.sh")
}

enough() {
	touch "$ROTA_TEST_DIR/enough"
}

has() {
	grep -q "^$1" "$LEDGER"
}

# Whether the first attempt of job $1 has ticked and the database knows that it runs: a node that is cut off before has not said so.
runs() {
	has "tick 1" && [ "$(sql "select state from rota.step where job_id = $1")" = running ]
}

# Prints the node on which an attempt began.
node_of() {
	awk -v attempt="$1" '$1 == "begin" && $2 == attempt { print $3 }' "$LEDGER"
}

node_is() {
	[ "$(sql "select state from rota.node where name = '$1'")" = "$2" ]
}

# Cut a node off, and connect it again.
cut_off() {
	stopped=$(pid_of procmgrd "$1")
	kill -STOP $stopped
}

mend() {
	kill -CONT $stopped
	stopped=
}

# Prints the lines of an attempt after the beginning of the next one.
late_lines() {
	awk -v attempt="$1" '$1 == "begin" && $2 == attempt + 1 { next_began = 1 } next_began && $2 == attempt { n++ } END { print n + 0 }' "$LEDGER"
}

attempts() {
	sql "select string_agg(attempt || ':' || state || ':' || cause, ' ' order by attempt) from rota.attempt where job_id = $1"
}

@test "fence: the node kills tasks that ignore SIGTERM before they run elsewhere" {
	job=$(ticker 'trap "" TERM')
	eventually runs "$job"
	node=$(node_of 1)
	cut_off "$node"
	eventually node_is "$node" down
	# If the next attempt has begun already, its job has no reason any more.
	[ "$(rota queue --json | jq -r '.jobs[0].reason')" = node_lost ] || has "begin 2"
	eventually has "begin 2"
	[ "$(node_of 2)" != "$node" ]
	are_dead "$(awk '$1 == "begin" && $2 == 1 { print $4 }' "$LEDGER")"
	enough
	rota wait "$job"
	[ "$(late_lines 1)" = 0 ]
	# The attempt is charged until the last renewal or report, which is before the lease's end; later reports change nothing.
	[ "$(sql "select bool_and(a.ended_at between l.renewed_at and l.expires_at) from rota.allocation a join rota.node_lease l using (node_id) where a.job_id = $job and a.attempt = 1")" = t ]
	before=$(sql "select a from rota.attempt a where job_id = $job and attempt = 1")
	mend
	eventually node_is "$node" up
	is_rejected() { [ "$(sql "select count(*) from rota.rejected_report s, jsonb_array_elements(s.what) w where w ->> 'outcome' = 'node_fail' and (w ->> 'job')::int = $job")" -gt 0 ]; }
	eventually is_rejected
	[ "$(sql "select a from rota.attempt a where job_id = $job and attempt = 1")" = "$before" ]
	[ "$(attempts "$job")" = "1:node_fail:node_lost 2:completed:exit" ]
	eventually has_left "$job"
	[ "$(sql "select coalesce(sum(cpus_used), 0) from rota.node_used")" = 0 ]
	audit
}

@test "fence: the launcher kills a keeper that hangs, with its tasks" {
	job=$(ticker)
	eventually runs "$job"
	node=$(node_of 1)
	task=$(awk '$1 == "begin" { print $4 }' "$LEDGER")
	keeper=$(ps -o ppid= -p "$task" | tr -d ' ')
	cut_off "$node"
	kill -STOP "$keeper"
	eventually has "begin 2"
	are_dead "$task" "$keeper"
	enough
	rota wait "$job"
	[ "$(late_lines 1)" = 0 ]
	mend
	eventually node_is "$node" up
	audit
}

@test "fence: a machine that slept through the margin ends the old attempt when it wakes, before it takes new ones" {
	job=$(ticker)
	eventually runs "$job"
	node=$(node_of 1)
	task=$(awk '$1 == "begin" { print $4 }' "$LEDGER")
	stopped="$(node_processes "$node") $task"
	kill -STOP $stopped
	eventually has "begin 2"
	mend
	eventually node_is "$node" up
	are_dead "$task"
	run ! has "end 1"
	enough
	rota wait "$job"
	[ "$(attempts "$job")" = "1:node_fail:node_lost 2:completed:exit" ]
	audit
}

@test "keep: the tasks go on, nothing is started again, and when the node is back all is as if nothing had been" {
	job=$(ticker '' --node-loss=keep)
	eventually runs "$job"
	node=$(node_of 1)
	cut_off "$node"
	eventually node_is "$node" down
	superuser "update rota.node_lease l set margin_s = 1000 from rota.node n where n.node_id = l.node_id and n.name = '$node'"
	run rota admin node dead "$node" --reason="pulled the plug"
	[ "$status" -ne 0 ]
	[[ $output == *"may still be ending its steps"* ]]
	superuser "update rota.node_lease l set margin_s = 4 from rota.node n where n.node_id = l.node_id and n.name = '$node'"
	[ "$(rota queue --json | jq -r '.jobs[0] | .state + " " + .reason')" = "running node_lost" ]
	rota why "$job" | grep -q "$node is lost"
	over() { [ "$(sql "select loss_ended_at is not null from rota.node_lease join rota.node using (node_id) where name = '$node'")" = t ]; }
	eventually over
	[ "$(sql "select state || ' ' || attempt from rota.step where job_id = $job")" = "running 1" ]
	enough
	eventually has "end 1"
	mend
	rota wait "$job"
	[ "$(grep -c begin "$LEDGER")" = 1 ]
	[ "$(attempts "$job")" = "1:completed:exit" ]
	eventually node_is "$node" up
	audit
}

@test "keep, declared dead: the step runs elsewhere; a node that comes back kills the old attempt before it takes new ones" {
	job=$(ticker 'trap "" TERM' --node-loss=keep)
	eventually runs "$job"
	node=$(node_of 1)
	task=$(awk '$1 == "begin" { print $4 }' "$LEDGER")
	run rota admin node dead "$node" --reason="pulled the plug"
	[ "$status" -ne 0 ]
	[[ $output == *"is not lost"* ]]
	cut_off "$node"
	declared() { rota admin node dead "$node" --reason="pulled the plug" >/dev/null 2>&1; }
	eventually declared
	eventually has "begin 2"
	kill -0 "$task"
	[[ "$(sql "select reason from rota.node where name = '$node'")" == "declared dead: pulled the plug" ]]
	mend
	eventually node_is "$node" up
	are_dead "$task"
	[ "$(sql "select count(*) from rota.node_event where node = '$node' and reason = 'orphaned attempts are being killed: 1 left'")" = 1 ]
	enough
	rota wait "$job"
	[ "$(attempts "$job")" = "1:node_fail:node_lost 2:completed:exit" ]
	audit
}

# Prints the second node of a job's attempt, once both have begun.
second_of() {
	both() { [ "$(grep -c "^begin 1 " "$LEDGER")" = 2 ]; }
	eventually both
	eventually runs "$1"
	sql "select nodes[2] from rota.attempt where job_id = $1 and attempt = 1"
}

@test "a step on two nodes that loses one is ended on the other, and runs again when there are two" {
	job=$(ticker '' --nodes=2 --ntasks-per-node=1 --run=tasks)
	node=$(second_of "$job")
	cut_off "$node"
	waits() { [ "$(sql "select state from rota.step where job_id = $job")" = pending ]; }
	eventually waits
	are_dead $(awk '$1 == "begin" { print $4 }' "$LEDGER")
	mend
	eventually has "begin 2"
	enough
	rota wait "$job"
	[ "$(late_lines 1)" = 0 ]
	[ "$(attempts "$job")" = "1:node_fail:node_lost 2:completed:exit" ]
	audit
}

@test "with --no-kill it goes on with the node that is left" {
	job=$(ticker 'echo "no_kill $ROTA_NO_KILL" >>'"$LEDGER" --nodes=2 --ntasks-per-node=1 --run=tasks --no-kill)
	node=$(second_of "$job")
	has "no_kill 1"
	cut_off "$node"
	goes_on() { rota show "$job" | grep -q "$node: lost"; }
	eventually goes_on
	[ "$(sql "select state || ' ' || attempt from rota.step where job_id = $job")" = "running 1" ]
	enough
	rota wait "$job"
	[ "$(attempts "$job")" = "1:completed:exit" ]
	eventually has_left "$job"
	[ "$(sql "select coalesce(sum(cpus_used), 0) from rota.node_used")" = 0 ]
	mend
	eventually node_is "$node" up
	audit
}

@test "a database that is away for longer than the lease: fenced attempts end, kept ones go on, no node is lost" {
	fenced=$(ticker)
	kept=$(ticker '' --node-loss=keep)
	both() { [ "$(grep -c begin "$LEDGER")" = 2 ]; }
	eventually both
	kill -9 "$(pid_of PostgreSQL)"
	# The lease is over when the node has ended the attempt.
	eventually are_dead "$(awk -v job="$fenced" '$1 == "begin" && $5 == job { print $4 }' "$LEDGER")"
	rota up >/dev/null
	again() { has "begin 2"; }
	eventually again
	enough
	rota wait "$fenced" "$kept"
	[ "$(attempts "$fenced")" = "1:node_fail:node_lost 2:completed:exit" ]
	[ "$(attempts "$kept")" = "1:completed:exit" ]
	[ "$(sql "select count(*) from rota.node_event where to_state = 'down'")" = 0 ]
	audit
}

@test "a reboot of a node is recognized, and its steps run again at once" {
	need_root
	job=$(ticker)
	eventually runs "$job"
	node=$(node_of 1)
	# Stop the judging of leases: on a slow machine, the node would be lost before it is back.
	judge=$(pid_of nodemgrd)
	kill -STOP "$judge"
	# Power off: all processes of the node are killed at once.
	task=$(awk '$1 == "begin" { print $4 }' "$LEDGER")
	kill_now $(node_processes "$node") "$task"
	uuidgen >"$ROTA_TEST_DIR/boot_id" 2>/dev/null || echo 11111111-2222-3333-4444-555555555555 >"$ROTA_TEST_DIR/boot_id"
	unshare -m bash -c "mount --bind $ROTA_TEST_DIR/boot_id /proc/sys/kernel/random/boot_id && exec rota-launcher --config $ROTA_HOME/etc/rota.conf --node $node" \
		>>"$ROTA_HOME/log/launcher-$node.log" 2>&1 3>&- &
	rebooted() { [ "$(sql "select message from rota.attempt where job_id = $job and attempt = 1")" = "the node was rebooted" ]; }
	eventually rebooted
	kill -CONT "$judge"
	eventually has "begin 2"
	enough
	rota wait "$job"
	[ "$(attempts "$job")" = "1:node_fail:node_lost 2:completed:exit" ]
	[ "$(sql "select count(*) from rota.node_event where node = '$node' and reason = 'rebooted'")" -gt 0 ]
	eventually node_is "$node" up
	audit
}

@test "a node that comes and goes is drained, with the times as the reason" {
	rota admin setting change flap_count --value=2 >/dev/null
	for round in 1 2; do
		cut_off n1
		eventually node_is n1 down
		mend
		[ "$round" = 2 ] || eventually node_is n1 up
	done
	eventually node_is n1 drain
	[[ "$(sql "select reason from rota.node where name = 'n1'")" == "went down 2 times: "*", "* ]]
	rota admin node resume n1
	node_is n1 up
}
