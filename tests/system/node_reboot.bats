#!/usr/bin/env bats
# Nodes that operators have rebooted. A provisioner, which stands for the controllers of the machines, tears them down and makes them anew.

load helper
load provisioner

setup_file() {
	export ALICE=rota-reb-a$$
	site_new
	[ "$EUID" = 0 ] || return 0
	site_make
	users_add "$ALICE"
	nodes_up 2 none --set hooks.power_off="$SITE/programs/reboot"
}

teardown_file() {
	nodes_down "$ALICE"
}

setup() {
	need_root
	rm -f -- "$SITE"/now/* "$SITE"/calls/*
}

# After each test: have all nodes serve.
teardown() {
	[ "$EUID" = 0 ] || return 0
	rm -f -- "$SITE"/now/*
	rota admin setting change reboot_timeout_s --value=1800
	nodes_serve 2
}

node_is() { # NODE STATE
	[ "$(rota nodes --json "$1" | jq -r '.nodes[0].state')" = "$2" ]
}

reason_of() {
	rota nodes --json "$1" | jq -r '.nodes[0].reason'
}

# reboot_is NODE STATE: the last reboot of the node is in this state.
reboot_is() {
	[ "$(sql "select state from acct.node_reboot where node = '$1' order by reboot_id desc limit 1")" = "$2" ]
}

boot_of() {
	superuser "select boot_id from rota.node where name = '$1'"
}

calls() {
	find "$SITE/calls" -name "$1.*" | wc -l
}

called() {
	[ "$(calls "$1")" -ge 1 ]
}

# submit SECONDS [OPTION]...: a job that sleeps for so long; its number is in `job`.
submit() {
	local seconds=$1
	shift
	job=$(printf '#!/bin/sh\nsleep %s\n' "$seconds" | rota submit --parsable --output=/dev/null --workdir=/tmp "$@" -)
}

runs() {
	[ "$(sql "select state from rota.step where job_id = $1")" = running ]
}

completed_on() { # JOB NODE
	rota wait --timeout=300 "$1"
	[ "$(sql "select string_agg(state || ' ' || nodes, ', ') from acct.attempt where job_id = $1")" = "completed $2" ] ||
		{ sql "select * from acct.attempt where job_id = $1"; return 1; }
}

@test "a node in use is rebooted when its steps have ended, and serves again" {
	boot=$(boot_of n1)
	downs=$(sql "select count(*) from acct.node_event where to_state = 'down'")
	submit 300 --nodelist=n1
	first=$job
	eventually runs "$first"
	rota admin node reboot n1 --asap --reason='new kernel' | grep -qx 'node n1: to be rebooted when it is idle'
	[ "$(rota admin node reboot n1 --asap --reason='new kernel')" = 'node n1: nothing to change, it is to be rebooted when it is idle' ]
	node_is n1 drain
	[ "$(reason_of n1)" = 'reboot: new kernel' ]
	submit 0 --nodelist=n1
	waits() { rota why "$job" | grep -q 'reboot: new kernel'; }
	eventually waits
	runs "$first"
	[ "$(calls n1)" = 0 ]
	rota cancel "$first"
	completed_on "$job" n1
	[ "$(calls n1)" = 1 ]
	[ "$(cat "$SITE"/calls/n1.*)" = n1 ]
	reboot_is n1 'done'
	[ "$(boot_of n1)" != "$boot" ]
	[ "$(boot_of n1)" = "$(cat "$SITE/boot/n1")" ]
	# The node was not reported as down, and the job that ran ended by its cancellation.
	[ "$(sql "select count(*) from acct.node_event where to_state = 'down'")" = "$downs" ]
	[ "$(sql "select state from acct.job where job_id = $first")" = cancelled ]
	[ "$(sql "select out_s > 0 from acct.node_reboot order by reboot_id desc limit 1")" = t ]
	rota admin node reboots n1 | head -n 1 | grep -Eq ' n1 +done +by root: new kernel$'
	rota admin power list n1 --json | jq -e '.runs[0] | .action == "reboot" and .status == "done" and .output == "booting n1\n"'
	audit
}

@test "without --asap, steps start until the node is idle" {
	submit 300 --nodelist=n1
	first=$job
	eventually runs "$first"
	rota admin node reboot n1 --reason=firmware
	node_is n1 up
	submit 0 --nodelist=n1
	completed_on "$job" n1
	reboot_is n1 waiting
	rota cancel "$first"
	eventually reboot_is n1 'done'
	eventually node_is n1 up
	audit
}

@test "a reboot is cancelled before its program runs, and not after" {
	submit 300 --nodelist=n2
	eventually runs "$job"
	rota admin node reboot n2 --asap --reason=kernel
	[ "$(rota admin node cancel-reboot n2)" = 'node n2: not to be rebooted' ]
	node_is n2 up
	reboot_is n2 cancelled
	rota cancel "$job"
	touch "$SITE/now/hangs"
	rota admin node reboot n2 --reason=kernel
	eventually called n2
	refused 'node "n2" is being rebooted' rota admin node cancel-reboot n2
	refused 'node "n2" is being rebooted' rota admin node resume n2
	refused 'node "n2" is to be rebooted' rota admin power off n2
	rm "$SITE/now/hangs"
	eventually reboot_is n2 'done'
	[ "$(calls n2)" = 1 ]
	audit
}

@test "a program that fails, a node that does not come and one that stays as it is: drained with the reason" {
	touch "$SITE/now/n1.fails"
	rota admin node reboot n1 --reason=kernel
	eventually reboot_is n1 failed
	[ "$(reason_of n1)" = "could not be rebooted: reboot program \"$SITE/programs/reboot\" ended with exit code 3" ]
	rota admin power list n1 | grep -q 'the controller of n1 does not answer'
	# A step that could run on this node runs elsewhere.
	submit 0 --cpus-per-task=2
	completed_on "$job" n2
	rm "$SITE/now/n1.fails"
	rota admin node resume n1
	node_is n1 up
	rota admin setting change reboot_timeout_s --value=8
	touch "$SITE/now/n1.dead" "$SITE/now/n2.stuck"
	rota admin node reboot 'n[1-2]' --reason=kernel
	eventually reboot_is n1 failed
	eventually reboot_is n2 failed
	[ "$(reason_of n1)" = 'could not be rebooted: did not register with another boot within 8 s' ]
	[ "$(reason_of n2)" = 'could not be rebooted: did not register with another boot within 8 s' ]
	# The machine is repaired: it comes up, and serves when the operator resumes it.
	node_start n1 none
	eventually node_has_come n1
	node_is n1 drain
	rota admin node resume 'n[1-2]' || true
	audit
}

@test "what becomes of nodes that were drained, and of --next" {
	rota admin node drain n1 --reason=fan
	rota admin node reboot n1 --reason=kernel
	eventually reboot_is n1 'done'
	node_is n1 drain
	[ "$(reason_of n1)" = fan ]
	rota admin node reboot n1 --reason=kernel --next=resume
	rota admin node reboot n2 --reason=kernel --next=down
	eventually node_is n1 up
	eventually reboot_is n2 'done'
	node_is n2 drain
	[ "$(reason_of n2)" = 'rebooted, to be checked: kernel' ]
	audit
}

@test "runnerd, nodemgrd, jobmgrd and PostgreSQL killed while a node reboots" {
	touch "$SITE/now/hangs"
	rota admin node reboot n1 --reason=kernel
	eventually called n1
	kill_now "$(pid_of runnerd)" "$(pid_of nodemgrd)" "$(pid_of jobmgrd)" "$(pid_of PostgreSQL)"
	rota up >/dev/null
	again() { [ "$(calls n1)" = 2 ]; }
	eventually again
	# The first program has ended with its runnerd. While the program forks a process for `sleep`, that process has its command line.
	one_runs() { [ "$(pgrep -cf "$SITE/programs/reboot n1")" = 1 ]; }
	eventually one_runs
	rm "$SITE/now/hangs"
	eventually reboot_is n1 'done'
	submit 0 --nodelist=n1
	completed_on "$job" n1
	audit
}

@test "who may reboot nodes" {
	as "$ALICE" rota nodes >/dev/null
	refused 'you may not do this to the cluster' as "$ALICE" rota admin node reboot n1 --reason=fun
	refused 'you may not do this to the cluster' as "$ALICE" rota admin node cancel-reboot n1
	refused 'you may not do this to the cluster' as "$ALICE" rota admin node reboots
	[ "$(as "$ALICE" curl -s --unix-socket "$ROTA_HOME/run/gate.sock" -o /dev/null -w '%{http_code}' -d '{"action": "reboot", "nodes": "n1", "reason": "fun"}' http://gate/v1/reboot)" = 401 ]
	refused 'permission denied' psql -X -h "$ROTA_HOME/run" -d rota -U rota_runner -c "select api.reboot(0, 'root', '{\"action\": \"reboot\", \"nodes\": \"n1\", \"reason\": \"fun\"}')"
	refused 'permission denied' psql -X -h "$ROTA_HOME/run" -d rota -U rota_nodemgr -c 'select * from rota.node_reboot'
	refused 'permission denied' psql -X -h "$ROTA_HOME/run" -d rota -U rota_jobmgr -c 'select * from api.reboot_judge()'
	[ "$(superuser 'select count(*) from rota.node_reboot where ended_at is null')" = 0 ]
	rota admin user create "$ALICE" --role=operator
	touch "$SITE/now/hangs"
	as "$ALICE" rota admin node reboot n1 --reason=kernel --json | jq -e '.nodes == [{"node": "n1", "state": "up", "reboot": "waiting", "changed": true}]'
	eventually called n1
	rm "$SITE/now/hangs"
	eventually reboot_is n1 'done'
	[ "$(sql "select made_by from acct.node_reboot order by reboot_id desc limit 1")" = "$ALICE" ]
	audit
}

@test "what is refused changes nothing" {
	count=$(sql 'select count(*) from acct.node_reboot')
	run -2 rota admin node reboot n1
	[[ $output == *'"reboot" of a node needs a reason'* ]]
	run -2 rota admin node reboot --reason=kernel
	run -2 rota admin node reboot n1 --reason=kernel --cpus=2
	[[ $output == *'"node reboot" has no option --cpus'* ]]
	run -2 rota admin node cancel-reboot n1 --asap
	refused 'there is no state "up" after a reboot' rota admin node reboot n1 --reason=kernel --next=up
	refused 'there is no node "n7"' rota admin node reboot n1,n7 --reason=kernel
	cp "$ROTA_HOME/etc/rota.conf" "$BATS_TEST_TMPDIR/rota.conf"
	sed -i '/^reboot *=/d' "$BATS_TEST_TMPDIR/rota.conf"
	refused 'this instance has no program that reboots nodes' rota admin --config="$BATS_TEST_TMPDIR/rota.conf" node reboot n1 --reason=kernel
	[ "$(sql 'select count(*) from acct.node_reboot')" = "$count" ]
	cp "$ROTA_HOME/etc/rota.conf" "$BATS_TEST_TMPDIR/rota.conf"
	cp "$SITE/programs/reboot" "$BATS_TEST_TMPDIR/reboot"
	chmod 0777 "$BATS_TEST_TMPDIR/reboot"
	sed -i "s,^reboot *=.*,reboot = $BATS_TEST_TMPDIR/reboot," "$BATS_TEST_TMPDIR/rota.conf"
	refused "$BATS_TEST_TMPDIR/reboot" runnerd --config "$BATS_TEST_TMPDIR/rota.conf" --name second
}
