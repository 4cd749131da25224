#!/usr/bin/env bats
# The state of a job's nodes as its programs are sent it, and the effect on its sub-steps when nodes fail.

load helper

setup_file() {
	export SPACE=rota-faults-$$ LINK=rf$$
	export NETWORK=198.$((18 + ($$ >> 14 & 1))).$(($$ >> 6 & 255)) LAST=$((($$ & 63) * 4)) # addresses of its own
	instance_up 3 --cpus 2 --mem 1000 --set node.grace=1 --set node.lease=6 --set node.lease_margin=4 --set nodemgr.period=1
}

teardown_file() {
	instance_down
	[ "$EUID" != 0 ] || ! ip netns list | grep -qw "$SPACE" || ip netns del "$SPACE"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	stopped=
	# listen.py FILE: append to FILE each event about nodes.
	cat >listen.py <<-'END'
		import json, os, socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(os.environ["ROTA_STEP_SOCKET"])
		s.sendall(b'{"op": "events", "id": 7}\n')
		with open(sys.argv[1], "a") as out:
		    for line in s.makefile():
		        event = json.loads(line)
		        assert event["id"] == 7
		        if event["event"] == "node":
		            print(event["node"], event["state"], event["reason"], file=out, flush=True)
	END
}

teardown() {
	[ -z "$stopped" ] || kill -CONT "$stopped" 2>/dev/null || true
	rota cancel -q "$job" 2>/dev/null || true
	for node in n1 n2 n3; do rota admin node resume "$node" >/dev/null; done
	nodes_are_up() { [ "$(rota sql -At -c "select count(*) from rota.node where state = 'up'")" = 3 ]; }
	eventually nodes_are_up
}

# has FILE PATTERN: a line of the file matches the pattern.
has() {
	grep -qx "$2" "$1" 2>/dev/null
}

# cut_off NODE: let nothing pass between the node's process manager and the database, so that the node is lost after its lease. Only a step
# that runs, as far as the database knows, goes on without it.
cut_off() {
	runs() { [ "$(rota sql -At -c "select state from acct.step where job_id = $job")" = running ]; }
	eventually runs
	stopped=$(pid_of procmgrd "$1")
	kill -STOP "$stopped"
}

# job [OPTION]... <<END: submit the script with all three nodes; its number is in `job`.
job() {
	{
		echo '#!/bin/bash'
		cat
	} >job.sh
	job=$(rota submit --parsable --nodes=3 --ntasks=3 --cpus-per-task=2 --output=job.out "$@" job.sh)
}

@test "a program that asks for events is sent the state of each node" {
	job <<-'END'
		python3 listen.py events &
		until [ "$(wc -l <events)" = 3 ]; do sleep 0.1; done 2>/dev/null
	END
	run -0 rota wait -q --timeout=300 "$job"
	[ "$(sort events)" = $'n1 up \nn2 up \nn3 up ' ]
}

@test "with --no-kill, a lost node ends what was there, and a retry runs elsewhere" {
	cat >task.sh <<-'END'
		echo "$1 begin $ROTA_NODE" >>ledger
		until [ -e over ]; do sleep 0.3; done
		echo "$1 end $ROTA_NODE" >>ledger
	END
	job --no-kill <<-'END'
		python3 listen.py events &
		rota run -w n1 -c 1 bash task.sh stays && echo stays >>codes &
		rota run -w n2 -c 2 bash task.sh first && echo first >>codes &
		until grep -q "first begin" ledger; do sleep 0.1; done 2>/dev/null
		rota run -x n1 -N 1 -c 1 --retry=1 bash task.sh moves && echo moves >>codes &
		rota run -x n1 -N 1 -c 1 -J ends bash task.sh ends || echo "ends $?" >>codes &
		until [ "$(wc -l <codes)" = 4 ]; do sleep 0.1; done 2>/dev/null
		rota run -N 3 true || echo "three $?" >>codes
	END
	begun() { [ "$(grep -c begin ledger)" = 4 ]; }
	eventually begun 2>/dev/null
	[ "$(grep -cE 'moves begin n3|ends begin n3' ledger)" = 2 ]
	cut_off n3
	eventually has events 'n3 lost .*'
	eventually has codes 'ends 1'
	kill -CONT "$stopped"
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	[ "$(sort codes)" = $'ends 1\nfirst\nmoves\nstays\nthree 1' ]
	[ "$(sort ledger)" = "$(printf '%s\n' 'ends begin n3' 'first begin n2' 'first end n2' 'moves begin n2' 'moves begin n3' 'moves end n2' \
		'stays begin n1' 'stays end n1')" ]
	grep -q 'the sub-step needs 3 nodes; it may use 2 of the allocation' job.out
	recorded() { [ "$(rota sql -At -c "select state || ' ' || cause from acct.substep where job_id = $job and name = 'ends'")" = 'failed lost' ]; }
	eventually recorded
	audit
}

# in_use: sets `other` to the other node of a job with two of the three, and `free` to the free node.
in_use() {
	other=$(rota sql -At -c "select node from acct.allocation where job_id = $job and node <> 'n1'")
	free=$([ "$other" = n2 ] && echo n3 || echo n2)
}

growths() {
	rota sql -At -c "select count(*) from acct.growth where grown_job_id = $job"
}

@test "with --replace-failed, the step grows by a node in place of one that is lost" {
	job --nodes=2 --ntasks=2 --replace-failed <<-'END'
		python3 listen.py events &
		rota run -N 2 true && echo "no_kill $ROTA_NO_KILL" >ready
		until [ -e over ]; do sleep 0.3; done
		rota run -x n1 -N 1 -c 2 --output=there sh -c 'echo $ROTA_NODE'
	END
	eventually has ready 'no_kill 1' 2>/dev/null
	in_use
	cut_off "$other"
	eventually has events "$other lost .*"
	eventually has events "$free joined .*" || { rota steps "$job"; rota queue; false; }
	kill -CONT "$stopped"
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	[ "$(<there)" = "$free" ]
	[ "$(growths)" = 1 ]
	audit
}

@test "a step manager that is killed asks once for a node in place of a drained one" {
	job --nodes=2 --ntasks=2 --replace-failed --time=10 <<-'END'
		rota run -N 2 true && touch ready
		until [ -e over ]; do sleep 0.3; done
	END
	eventually test -e ready
	in_use
	rota admin node drain "$other" --reason=fan
	kill -KILL $(step_managers "$job")
	asked() { [ "$(rota steps --json "$job" | jq -c '.substeps[] | select(.name == "replace-'"$other"'") | [.state, .exit]')" = '["completed",0]' ]; }
	eventually asked || { rota steps "$job"; false; }
	kill -KILL $(step_managers "$job")
	eventually asked
	[ "$(growths)" = 1 ]
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	audit
}

@test "a drained node and a reservation: events, signals, and nothing new starts there" {
	cat >heed.py <<-'END'
		import os, signal, sys
		signal.signal(signal.SIGUSR1, lambda *_: print("notified", file=open(sys.argv[1], "a"), flush=True))
		open(sys.argv[1] + ".ready", "w")
		while not os.path.exists("over"):
		    signal.sigtimedwait([], 0.1)
	END
	job --time=30 --notify=USR1 <<-'END'
		trap 'echo notified >>step' USR1
		python3 listen.py events &
		rota run -w n2 -c 1 --notify=USR1 python3 heed.py wants &
		first=$!
		rota run -w n2 -c 1 python3 heed.py does-not &
		second=$!
		until [ -e wants.ready ] && [ -e does-not.ready ]; do sleep 0.1; done
		rota nodes --mine --json >before
		touch begun
		until [ -e drained ]; do sleep 0.3; done
		rota nodes --mine >during
		rota run -x n1 -c 2 sh -c 'echo $ROTA_NODE' >other
		rota run -w n2 --overlap sh -c 'echo $ROTA_NODE' >only
		touch chosen
		until [ -e over ]; do sleep 0.3; done
		wait $first $second
	END
	eventually test -e begun
	[ "$(jq -r '.nodes[] | "\(.node) \(.state) \(.cpus_free)/\(.cpus)"' before | sort)" = $'n1 up 2/2\nn2 up 0/2\nn3 up 2/2' ]
	rota admin node drain n2 --reason='bad disk' >/dev/null
	eventually has events 'n2 drained bad disk'
	touch drained
	eventually test -e chosen
	grep -Eq '^n2 +drained +0/2 .* bad disk$' during
	[ "$(cat other only)" = $'n3\nn2' ]
	eventually has wants notified
	eventually has step notified
	# Signals that come at the same time become one, so each is waited for.
	times() { [ "$(wc -l <wants)" = "$1" ]; }
	rota admin node resume n2 >/dev/null
	eventually has events 'n2 up '
	eventually times 2
	rota admin reservation create works --start=now+10minutes --duration=1:00:00 --nodes=n3 >/dev/null
	eventually has events 'n3 leaving maintenance "works".*'
	eventually times 3
	rota admin reservation delete works >/dev/null
	eventually has events 'n3 up '
	eventually times 4
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	[ ! -e does-not ]
	[ "$(grep -vc ' up $' events)" = 2 ]
}

@test "a step on one node that is drained goes on, sub-steps too" {
	echo '#!/bin/bash' >job.sh
	cat >>job.sh <<-'END'
		rota run true
		touch begun
		until rota nodes --mine --json | grep -q '"drained"'; do sleep 0.1; done
		rota run echo went on
	END
	job=$(rota submit --parsable --nodelist=n1 --output=job.out job.sh)
	eventually test -e begun
	rota admin node drain n1 --reason=later >/dev/null
	run -0 rota wait -q --timeout=300 "$job"
	grep -qx 'went on' job.out
}

@test "a step manager that is killed knows its nodes again, and signals once" {
	job <<-'END'
		rota run -N 3 true
		python3 listen.py events &
		rota run --notify=USR1 bash -c 'trap "echo notified >>notes" USR1; touch begun; until [ -e over ]; do sleep 0.3; done' &
		run=$!
		until [ -e killed ]; do sleep 0.3; done
		until rota nodes --mine --json >after; do sleep 0.1; done
		touch over
		wait $run
	END
	eventually test -e begun
	rota admin node drain n3 --reason=later >/dev/null
	eventually has events 'n3 drained later'
	eventually has notes notified
	kill -KILL $(step_managers "$job")
	touch killed
	run -0 rota wait -q --timeout=300 "$job"
	[ "$(jq -r '.nodes[] | select(.node == "n3") | .state + " " + .reason' after)" = 'drained later' ]
	[ "$(wc -l <notes)" = 1 ]
}

# own_network: move node n3 into a network namespace of its own, with one link to the others.
own_network() {
	local left
	ip netns add "$SPACE"
	ip link add "$LINK" type veth peer name "${LINK}f" netns "$SPACE"
	ip addr add "$NETWORK.$((LAST + 1))/30" dev "$LINK"
	ip link set "$LINK" up
	ip -n "$SPACE" addr add "$NETWORK.$((LAST + 2))/30" dev "${LINK}f"
	ip -n "$SPACE" link set lo up
	cable up
	echo "$NETWORK.$((LAST + 1)) $(hostname)" >"$ROTA_TEST_DIR/hosts"
	kill -KILL $(node_processes n3)
	nsenter --net="/run/netns/$SPACE" unshare -m \
		bash -c "mount --bind $ROTA_TEST_DIR/hosts /etc/hosts && exec rota-launcher --config $ROTA_HOME/etc/rota.conf --node n3" \
		>>"$ROTA_HOME/log/launcher-n3.log" 2>&1 3>&- &
	is_moved() { left=$(pid_of procmgrd n3) && [ "$(readlink "/proc/$left/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }
	eventually is_moved
}

# cable up|down: set the state of the link of node n3.
cable() {
	ip -n "$SPACE" link set "${LINK}f" "$1"
}

@test "a break of the network between nodes: tasks survive a short one, and move after one that is longer than the lease" {
	need_root
	own_network
	cat >beat.sh <<-'END'
		echo "$1 begin $ROTA_NODE" >>ledger
		count=0
		until [ -e "over.$1" ]; do
			echo $((++count))
			echo "$1 beat $ROTA_NODE" >>ledger
			sleep 0.1
		done
		echo "$1 end $ROTA_NODE" >>ledger
	END
	job --no-kill <<-'END'
		python3 listen.py events &
		rota run -w n2 -c 2 bash beat.sh blocks >/dev/null &
		until [ -e ledger ]; do sleep 0.3; done
		rota run -x n1 -N 1 -c 1 bash beat.sh short >short.out
		touch survived
		rota run -x n1 -N 1 -c 1 --retry=1 bash beat.sh moves >moves.out
	END
	lines() { [ "$(grep -cx "$1" ledger)" -ge "$2" ]; }
	eventually lines 'short beat n3' 5 2>/dev/null
	cable down
	eventually lines 'short beat n3' "$(($(grep -cx 'short beat n3' ledger) + 5))" # within the lease, also on a slow machine
	[ "$(wc -l <short.out)" -lt "$(grep -cx 'short beat n3' ledger)" ]
	cable up
	touch over.short
	eventually test -e survived
	cmp short.out <(seq "$(grep -cx 'short beat n3' ledger)")
	run ! grep -q ' lost ' events
	eventually lines 'moves beat n3' 5
	cable down
	cut_off n3
	eventually has events 'n3 lost .*'
	touch over.blocks
	eventually lines 'moves beat n2' 5
	cable up
	kill -CONT "$stopped"
	touch over.moves
	run -0 rota wait -q --timeout=300 "$job"
	[ "$(grep -E 'begin|end' ledger)" = "$(printf '%s\n' 'blocks begin n2' 'short begin n3' 'short end n3' 'moves begin n3' 'blocks end n2' \
		'moves begin n2' 'moves end n2')" ]
	run ! grep -q n3 <(sed -n '/moves begin n2/,$p' ledger)
	audit
}
