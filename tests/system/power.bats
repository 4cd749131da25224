#!/usr/bin/env bats
# Nodes that programs of the site power off when they are idle and on when steps need them. The nodes' processes stand for the
# machines: a second program beside the instance, which stands for their controllers, kills and starts them.

load helper

setup_file() {
	export ALICE=rota-pow-a$$
	SITE=$(mktemp -d /tmp/rota-power.XXXXXX) # a folder that the daemons' account can enter
	export SITE
	chmod 0755 "$SITE"
	mkdir -m 0777 "$SITE/ask" "$SITE/calls"
	mkdir -m 0755 "$SITE/now" "$SITE/programs"
	cat >"$SITE/programs/off" <<-END
		#!/bin/bash
		# off NODE: power the node off as its controller would. Files in now/ set its behaviour.
		echo "\$0 \$*" >"$SITE/calls/\${0##*/}.\$1.\$\$"
		while [ -e "$SITE/now/\${0##*/}.hangs" ]; do sleep 0.3; done
		if [ -e "$SITE/now/\${0##*/}.\$1.fails" ]; then echo "the controller of \$1 does not answer"; echo "ask its vendor"; exit 3; fi
		touch "$SITE/ask/\${0##*/}.\$1"
		while [ -e "$SITE/ask/\${0##*/}.\$1" ]; do sleep 0.3; done
		echo "done with \$1"
	END
	cp "$SITE/programs/off" "$SITE/programs/on"
	chmod 0755 "$SITE/programs/off" "$SITE/programs/on"
	[ "$EUID" != 0 ] || users_add "$ALICE"
	instance_up 2 --cpus 2 --mem 2000 --set node.grace=1 --set node.lease=6 --set node.lease_margin=4 --set nodemgr.period=1 \
		--set hooks.power_off="$SITE/programs/off" --set hooks.power_on="$SITE/programs/on" --set hooks.power_timeout=120
	controllers 3>&- &
	CONTROLLERS=$!
	export CONTROLLERS
}

teardown_file() {
	local status=0
	touch "$SITE/stop"
	wait "$CONTROLLERS" || status=1
	instance_down || status=1
	[ "$EUID" != 0 ] || users_remove "$ALICE" || status=1
	rm -rf -- "$SITE"
	return "$status"
}

# controllers: power nodes off and on, as the programs request. With now/on.NODE.dead, the node does not come up.
controllers() {
	local ask action node processes
	while [ ! -e "$SITE/stop" ]; do
		for ask in "$SITE"/ask/*; do
			[ -e "$ask" ] || continue
			IFS=. read -r action node <<<"${ask##*/}"
			if [ "$action" = off ]; then
				# A process that was killed may have started another one since it was listed.
				while processes=$(node_processes "$node") && [ -n "$processes" ]; do
					kill -9 $processes 2>/dev/null || true
				done
			elif [ ! -e "$SITE/now/on.$node.dead" ] && [ -z "$(node_processes "$node")" ]; then
				setsid rota-launcher --config "$ROTA_HOME/etc/rota.conf" --node "$node" >>"$ROTA_HOME/log/launcher.$node.log" 2>&1 3>&- &
			fi
			rm "$ask"
		done
		sleep 0.3
	done
}

setup() {
	rm -f -- "$SITE"/now/* "$SITE"/calls/*
}

# After each test: all nodes are on, and none is powered off.
teardown() {
	rm -f -- "$SITE"/now/*
	[ -n "${BATS_TEST_COMPLETED:-}" ] || rota up >/dev/null || true
	[ -z "${impatient:-}" ] || daemon_again runnerd --set hooks.power_timeout=120
	rota admin setting change power_off_idle_s --value=0
	all_on() {
		rota admin power on 'n[1-2]' >/dev/null 2>&1 || true
		[ "$(sql "select count(*) from acct.node where state = 'up'")" = 2 ]
	}
	eventually all_on
}

node_is() {
	[ "$(sql "select state from acct.node where node = '$1'")" = "$2" ]
}

calls() {
	find "$SITE/calls" -name "$1.$2.*" | wc -l
}

called() {
	[ "$(calls "$1" "$2")" -ge 1 ]
}

# submit [OPTION]...: a short job; its number is in `job`.
submit() {
	job=$(printf '#!/bin/sh\necho "ran on $ROTA_NODE_NAME"\n' | rota submit --parsable --output=/dev/null --workdir=/tmp "$@" -)
}

state_of() {
	sql "select state from acct.job where job_id = $1"
}

runs() { # JOB
	[ "$(state_of "$1")" = running ]
}

# waits_for JOB NODE: the job waits for the power of the node, and every verb says so.
waits_for() {
	rota why --json "$1" | jq -e --arg message "waits for node $2 to be powered on" \
		'.steps[0].conditions | any(.kind == "power" and .message == $message)' >/dev/null
}

# idle_off: have idle nodes powered off now, and wait until both are off.
idle_off() {
	rota admin setting change power_off_idle_s --value=1
	eventually node_is n1 off
	eventually node_is n2 off
	rota admin setting change power_off_idle_s --value=0
}

ran_on() {
	[ "$(sql "select state || ' ' || nodes from acct.attempt where job_id = $1 order by attempt desc limit 1")" = "completed $2" ] ||
		{ sql "select * from acct.attempt where job_id = $1"; return 1; }
}

@test "a node is on before the begin time of a step, and before the start that the plan has there" {
	idle_off
	submit --nodelist=n1 --begin=now+5minutes
	eventually node_is n1 up
	[ "$(state_of "$job") $(calls on n2)" = "pending 0" ]
	rota cancel "$job"
	printf '#!/bin/sh\nuntil [ -e %s/now/go ]; do sleep 0.3; done\n' "$SITE" >"$ROTA_TEST_DIR/first.sh"
	first=$(cd /tmp && rota submit --parsable --output=/dev/null --nodelist=n1 --cpus-per-task=2 --time=5:00 "$ROTA_TEST_DIR/first.sh")
	eventually runs "$first"
	submit --nodes=2 --cpus-per-task=2 --time=1:00
	eventually node_is n2 up
	[ "$(state_of "$first") $(state_of "$job")" = "running pending" ]
	rota admin setting change power_off_idle_s --value=1
	touch "$SITE/now/go"
	rota wait --timeout=300 "$first" "$job"
	[ "$(sql "select count(*) from acct.power_run where node = 'n2' and action = 'on' and made_by = 'schedule'")" -ge 1 ]
}

@test "idle nodes are powered off, and one is on again when a step needs it" {
	downs=$(sql "select count(*) from acct.node_event where to_state = 'down'")
	idle_off
	[ "$(calls off n1)" = 1 ]
	[ "$(calls off n2)" = 1 ]
	[ -z "$(node_processes n1)" ]
	[[ "$(rota nodes)" == *off*off* ]]
	touch "$SITE/now/on.hangs"
	submit --nodelist=n2
	eventually waits_for "$job" n2
	[ "$(rota queue --json | jq -r --argjson job "$job" '.jobs[] | select(.job_id == $job) | .reason')" = power ]
	eventually node_is n2 powering_on
	node_is n1 off
	sleep 1.5 # shorter waits are not recorded
	rm "$SITE/now/on.hangs"
	rota wait --timeout=300 "$job"
	ran_on "$job" n2
	node_is n1 off
	[ "$(calls on n1)" = 0 ]
	waited() { [ "$(sql "select count(*) from acct.wait_reason where job_id = $job and reason = 'power'")" = 1 ]; }
	eventually waited
	# The node may be up and run the job before its program has ended.
	has_runs() {
		[ "$(sql "select string_agg(concat_ws(' ', action, made_by, status, code, trim(output, E'\n')), ', ' order by run_id desc) from
			(select * from acct.power_run where node = 'n2' order by run_id desc limit 2) x")" = 'on schedule done 0 done with n2, off nodemgrd done 0 done with n2' ]
	}
	eventually has_runs
	# No node was reported as down.
	[ "$(sql "select count(*) from acct.node_event where to_state = 'down'")" = "$downs" ]
	audit
}

@test "a node that runs something, or was just used, stays on" {
	busy=$(printf '#!/bin/sh\nsleep 300\n' | rota submit --parsable --output=/dev/null --workdir=/tmp --nodelist=n1 -)
	eventually runs "$busy"
	refused 'node "n1" is in use' rota admin power off n1
	rota admin setting change power_off_idle_s --value=1
	eventually node_is n2 off
	node_is n1 up
	[ "$(calls off n1)" = 0 ]
	rota cancel "$busy"
	eventually node_is n1 off
	rota admin setting change power_off_idle_s --value=0
	audit
}

@test "a step that comes while its node is being powered off runs when it is on again" {
	touch "$SITE/now/off.hangs"
	rota admin power off n1
	eventually called off n1
	submit --nodelist=n1
	eventually waits_for "$job" n1
	node_is n1 powering_off
	refused 'node "n1" is being powered off' rota admin power on n1
	rm "$SITE/now/off.hangs"
	rota wait --timeout=300 "$job"
	ran_on "$job" n1
	[ "$(calls on n1)" = 1 ]
	audit
}

@test "steps of two nodes and of an array wait for what they need" {
	idle_off
	submit --nodes=2 --exclusive
	wide=$job
	submit --array=1-4 --cpus-per-task=2
	rota wait --timeout=300 "$wide" "$job"
	ran_on "$wide" n1,n2
	[ "$(calls on n1)" = 1 ]
	[ "$(calls on n2)" = 1 ]
	audit
}

@test "a node that cannot be powered on is down, and the step goes elsewhere" {
	idle_off
	touch "$SITE/now/on.n1.fails"
	submit --cpus-per-task=2
	rota wait --timeout=300 "$job"
	ran_on "$job" n2
	node_is n1 down
	[[ "$(rota nodes --json n1 | jq -r '.nodes[0].reason')" == "could not be powered on: power-on program \"$SITE/programs/on\" ended with exit code 3" ]]
	rota admin power list n1 | grep -q 'the controller of n1 does not answer'
	rota admin power list n1 | grep -qx "  ask its vendor" # a line of its own
	rota admin power list n1 --json | jq -e '.runs[0] | .action == "on" and .status == "failed" and .code == 3'
	submit --nodelist=n1
	is_planned() { [ "$(sql "select count(*) from rota.plan where job_id = $job")" = 1 ]; }
	eventually is_planned
	[ "$(calls on n1)" = 1 ]
	# The operator repairs the node.
	rm "$SITE/now/on.n1.fails"
	rota admin node resume n1
	rota wait --timeout=300 "$job"
	ran_on "$job" n1
	[ "$(calls on n1)" = 2 ] # none while the node was down
	audit
}

@test "a node that does not come is down when its time is over, and up when it comes at last" {
	idle_off
	touch "$SITE/now/on.n1.dead"
	rota admin setting change power_on_timeout_s --value=3
	submit --cpus-per-task=2
	rota wait --timeout=300 "$job" || true
	rota admin setting change power_on_timeout_s --value=600
	eventually node_is n1 down
	[[ "$(rota nodes --json n1 | jq -r '.nodes[0].reason')" == 'did not register within 3 s of being powered on' ]]
	rm "$SITE/now/on.n1.dead"
	touch "$SITE/ask/on.n1"
	eventually node_is n1 up
	rota admin node resume n2
	rota wait --timeout=300 "$job"
	audit
}

@test "a node that cannot be powered off stays up" {
	touch "$SITE/now/off.n1.fails"
	rota admin power off n1
	failed() { [ "$(sql "select status from acct.power_run where node = 'n1' order by run_id desc limit 1")" = failed ]; }
	eventually failed
	node_is n1 up
	[ "$(sql "select reason from acct.node_event where node = 'n1' order by node_event_id desc limit 1")" = \
		"could not be powered off: power-off program \"$SITE/programs/off\" ended with exit code 3" ]
	submit --nodelist=n1
	rota wait --timeout=300 "$job"
	audit
}

@test "each node has a run of its own: where one fails, the others do not" {
	touch "$SITE/now/off.n1.fails"
	rota admin power off 'n[1-2]'
	ended() { [ "$(sql "select string_agg(node || ' ' || status, ', ' order by node) from (select node, status from acct.power_run order by run_id desc limit 2) x")" = "n1 failed, n2 done" ]; }
	eventually ended
	node_is n1 up
	[ "$(calls off n1) $(calls off n2)" = "1 1" ]
	audit
}

@test "a program that takes too long is killed, and has failed" {
	impatient=yes
	daemon_again runnerd --set hooks.power_timeout=5
	touch "$SITE/now/off.hangs"
	rota admin power off n2
	failed() { [ "$(sql "select status from acct.power_run where node = 'n2' order by run_id desc limit 1")" = failed ]; }
	eventually failed
	[ "$(sql "select message from acct.power_run where node = 'n2' order by run_id desc limit 1")" = \
		"power-off program \"$SITE/programs/off\" not finished after 5 seconds" ]
	run ! pgrep -f "$SITE/programs/off n2"
	node_is n2 up
	audit
}

@test "runnerd killed while a program runs: the next one runs it again" {
	touch "$SITE/now/off.hangs"
	rota admin power off n1
	eventually called off n1
	daemon_again runnerd
	again() { [ "$(calls off n1)" = 2 ]; }
	eventually again
	[ "$(sql "select concat_ws(' ', tries, status) from acct.power_run where node = 'n1' order by run_id desc limit 1")" = 2 ]
	# The first program has ended with its runnerd. One that has just forked is there twice.
	is_alone() { [ "$(pgrep -cf "$SITE/programs/off n1")" = 1 ]; }
	eventually is_alone
	rm "$SITE/now/off.hangs"
	# rota up may have started the node that is being powered off; in the end it is silent.
	eventually node_is n1 off
	audit
}

@test "jobmgrd, nodemgrd and PostgreSQL killed while a step waits for power" {
	idle_off
	touch "$SITE/now/on.hangs"
	submit --nodelist=n2
	eventually called on n2
	kill_now "$(pid_of jobmgrd)" "$(pid_of nodemgrd)" "$(pid_of PostgreSQL)"
	touch "$SITE/now/on.n1.dead"
	rota up >/dev/null
	rm "$SITE/now/on.hangs"
	rota wait --timeout=300 "$job"
	ran_on "$job" n2
	audit
}

@test "who may power nodes" {
	need_root
	as "$ALICE" rota nodes >/dev/null
	refused 'you may not do this to the cluster' as "$ALICE" rota admin power off n1
	refused 'you may not do this to the cluster' as "$ALICE" rota admin power list
	[ "$(as "$ALICE" curl -s --unix-socket "$ROTA_HOME/run/gate.sock" -o /dev/null -w '%{http_code}' -d '{"action": "off", "nodes": "n1"}' http://gate/v1/power)" = 401 ]
	node_is n1 up
	rota admin user create "$ALICE" --role=operator
	as "$ALICE" rota admin power off n1 --json | jq -e '.nodes == [{"node": "n1", "state": "powering_off", "power": "powering_off", "changed": true}]'
	eventually node_is n1 off
	[ "$(as "$ALICE" rota admin power off n1)" = 'node n1: nothing to change, it is off' ]
	[ "$(sql "select made_by from acct.power_run order by run_id desc limit 1")" = "$ALICE" ]
	as "$ALICE" rota admin power on n1
	eventually node_is n1 up
	refused 'name the nodes' rota admin power on
	refused 'there is no node "n7"' rota admin power on n7
	# The role of runnerd can neither decide nor see the table.
	refused 'permission denied' psql -X -h "$ROTA_HOME/run" -d rota -U rota_runner -c "select api.power(0, 'root', '{\"action\": \"off\", \"nodes\": \"n1\"}')"
	refused 'permission denied' psql -X -h "$ROTA_HOME/run" -d rota -U rota_runner -c 'select * from rota.power_run'
	audit
}

@test "runnerd refuses a program that others can change" {
	cp "$ROTA_HOME/etc/rota.conf" "$BATS_TEST_TMPDIR/rota.conf"
	cp "$SITE/programs/on" "$BATS_TEST_TMPDIR/on"
	chmod 0777 "$BATS_TEST_TMPDIR/on"
	sed -i "s,^power_on *=.*,power_on = $BATS_TEST_TMPDIR/on," "$BATS_TEST_TMPDIR/rota.conf"
	refused "$BATS_TEST_TMPDIR/on" runnerd --config "$BATS_TEST_TMPDIR/rota.conf" --name second
}
