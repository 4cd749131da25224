#!/usr/bin/env bats
# Steps whose tasks on several nodes DMTCP saves together: results are those of an undisturbed run, on whatever nodes they go on. Without the
# programs of DMTCP in PATH, these tests are skipped.

load helper
load restored
load dmtcp

setup_file() {
	export EVE=rbdn$$ DMTCP DRIVER=dmtcp NODES=4
	export SPACE=rota-dmtcp-$$ LINK=rd$$
	export NETWORK=198.$((18 + ($$ >> 14 & 1))).$(($$ >> 6 & 255)) LAST=$((($$ & 63) * 4)) # addresses of its own
	DMTCP=$(dirname "$(command -v dmtcp_launch || echo /none/dmtcp_launch)")
	[ -x "$DMTCP/dmtcp_launch" ] || return 0
	export LINKS
	LINKS=$(mktemp -d "${TMPDIR:-/tmp}/rota-dmtcp.XXXXXX")
	dmtcp_link
	[ "$EUID" != 0 ] || users_add "$EVE"
	restored_up --cpus 2 --set node.checkpoint_dmtcp="$LINKS" --set node.lease=20 --set node.lease_margin=10 --set nodemgr.period=1 || return 1
	talk_make
	[ "$EUID" != 0 ] || folders_add "$EVE"
}

teardown_file() {
	local status=0 node
	[ -n "${LINKS:-}" ] || return 0
	restored_down || status=1
	for node in 3 4; do
		[ "$EUID" != 0 ] || ! ip netns list | grep -qw "$SPACE-$node" || ip netns del "$SPACE-$node"
	done
	return "$status"
}

setup() {
	[ -x "$DMTCP/dmtcp_launch" ] || skip "DMTCP is not installed (dmtcp_launch is not in PATH)"
	! sanitized || skip "DMTCP and sanitizers both have to be the first library of a program"
	cd "$BATS_TEST_TMPDIR"
	chmod 755 .
}

# step_nodes: the names of the nodes on which the job's step runs, or ran last.
step_nodes() {
	rota show --json "$job" | jq -r '.jobs[0].steps[0].nodes'
}

# link_of ROLE [NODE]: the rota-link of the first node (first) or of another node (other NUMBER) of the job's first attempt.
link_of() {
	pgrep -f "rota-link $1 .*checkpoints/$job[.].*/next[.]1[.]run ${2:-}"
}

# task_process ATTEMPT RANK: the first process of a task.
task_process() {
	local pid node
	read -r pid node <"$(echo checkpoints/"$job".*/next."$1".run/task."$2")"
	echo "$pid"
}

@test "tasks on two nodes that talk over TCP: saved together, and go on; ended, and go on on two other nodes; and again on one of each" {
	talk_expect
	talk_submit 4 2
	[ "$(step_nodes)" = "n1,n2" ]
	run -0 rota checkpoint "$job" --wait
	[[ $output = *"checkpoint 1 complete" ]]
	[ "$(ls checkpoints/"$job".*/1)" = "$(printf '%s\n' several-nodes task.0 task.1 task.2 task.3)" ]
	pass_gate 1
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	run -0 rota admin node drain n1,n2 --reason=move
	run -0 rota restart "$job"
	eventually restored 2
	[ "$(step_nodes)" = "n3,n4" ]
	pass_gate 2
	run -0 rota checkpoint "$job" --end --wait
	[[ $output = *"checkpoint 3 complete" ]]
	eventually has_left "$job"
	run -0 rota admin node resume n2
	run -0 rota admin node drain n3 --reason=move
	run -0 rota restart "$job"
	eventually restored 3
	[ "$(step_nodes)" = "n2,n4" ]
	run -0 rota admin node resume n1,n3
	touch go
	talk_is_as_expected
}

# flood_saved COUNT: the job of flood is saved so often, and restored after each second time; all that was sent is received.
flood_saved() {
	local count
	for ((count = 1; count <= $1; count++)); do
		run -0 rota checkpoint "$job" --wait
		flood_goes_on
		run -0 rota checkpoint "$job" --end --wait
		eventually has_left "$job"
		run -0 rota restart "$job"
		eventually restored $((count + 1))
		flood_goes_on
	done
	touch go
	run -0 rota wait "$job"
	for count in 0 1; do
		# DMTCP may warn while it reads /proc/self/maps.
		diff <(grep -v '^WARNING at procselfmaps' "out.$count") - <<<"$(printf 'all was received\nended with 0')"
	done
}

@test "tasks that keep sending are saved again and again, and all that was sent is received" {
	flood_submit
	flood_saved "${ROTA_SAVES:-2}"
}

@test "each task that is restored is below the keeper of its node, in its cgroup, and killed with it" {
	local rank root pid keeper keepers=() pids=
	talk_submit 2 2
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	run -0 rota restart "$job"
	eventually restored 2
	pass_gate 1 # DMTCP has restored all
	for rank in 0 1; do
		eventually [ -e "$(echo checkpoints/"$job".*)/next.2.run/task.$rank" ]
		root=$(task_process 2 "$rank")
		eventually eval '[ "$(processes "$root" | wc -l)" -ge 2 ]'
		keeper=$(ps -o ppid= "$root" | tr -d ' ')
		[[ $(ps -o comm= "$keeper") = rota* ]]
		keepers+=("$keeper")
		for pid in $(processes "$root"); do
			grep -qE "/$job[.]0[.]2(/|\$)" "/proc/$pid/cgroup" || ! grep -q 'with cgroups' "$ROTA_HOME/log/launcher.n1.log"
			pids+=" $pid"
		done
	done
	[ "${keepers[0]}" != "${keepers[1]}" ]
	run -0 rota cancel "$job"
	eventually has_left "$job"
	are_dead $pids
	run ! pgrep -f "rota-link .*checkpoints/$job[.]"
}

@test "a task on another node is killed, and all go on from their checkpoint" {
	talk_expect
	talk_submit 2 2
	run -0 rota checkpoint "$job" --wait
	pass_gate 1
	kill -9 $(processes "$(task_process 1 1)")
	touch go
	run -137 rota wait "$job"
	run -0 rota restart "$job"
	talk_is_as_expected
}

@test "an image of another node's task with one bit changed is not run, and all go on from the checkpoint before" {
	bit_is_flipped 2
}

@test "a restore in which one task hangs is given up, and all go on from the checkpoint before" {
	talk_expect
	talk_submit 2 2
	hangs_once 15
	talk_is_as_expected
}

@test "a restore that one task cannot begin ends, and all go on from the same checkpoint" {
	talk_expect
	talk_submit 2 2
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	: >quit
	run -0 rota restart "$job"
	eventually restored 3
	[ -e gone ]
	run -0 rota checkpoint show "$job" --generation=1
	[[ $output != *failed* ]]
	touch go
	talk_is_as_expected
}

@test "a process of another node that DMTCP does not know fails the checkpoint, and a task that has ended" {
	printf '#!/bin/bash\n[ "$ROTA_TASK_ID" = 0 ] || exec %s/static >/dev/null\nuntil [ -e go ]; do sleep 0.3; done\n' "$PROGRAMS" >static.sh
	job=$(rota submit --parsable --checkpoint=dmtcp --run=tasks --nodes=2 --ntasks=2 --output=out static.sh)
	eventually [ -e at.1 ]
	run -1 rota checkpoint "$job" --wait
	[[ $output = *"would not be saved: program \"$PROGRAMS/static\" is statically linked" ]]
	touch go
	run -0 rota wait "$job"
	rm go
	printf '#!/bin/bash\n[ "$ROTA_TASK_ID" = 0 ] || exit 0\n: >begun\nuntil [ -e go ]; do sleep 0.3; done\n' >ends.sh
	job=$(rota submit --parsable --checkpoint=dmtcp --run=tasks --nodes=2 --ntasks=2 --output=out ends.sh)
	eventually [ -e begun ]
	eventually eval '[ -e checkpoints/"$job".*/next.1.over.1 ]'
	run -1 rota checkpoint "$job" --wait
	[[ $output = *"the tasks of node 1 of the step, counted from 0, have ended, so the tasks cannot be saved together any more" ]]
	[ -e checkpoints ]
	touch go
	run -0 rota wait "$job"
	eventually eval '[ ! -e checkpoints ]'
}

# ends_first COMMAND...: a job of two tasks, of which task 0 runs the command, and task 1 waits for a file go. Returns when task 0 has ended
# with code 0, and its node has not.
ends_first() {
	rm -f begun go out.*
	printf '#!/bin/bash\nif [ "$ROTA_TASK_ID" = 0 ]; then\n\t%s\n\texit\nfi\ntrap "echo ended by TERM; exit 9" TERM\n: >begun\nuntil [ -e go ]; do sleep 0.3; done\necho "ended well"\n' "$*" >first.sh
	job=$(rota submit --parsable --checkpoint=dmtcp --run=tasks --nodes=2 --ntasks=2 --output=out.%t first.sh)
	eventually [ -e begun ]
	eventually eval '[ "$(sql "select exit_code from acct.task where job_id = $job and task = 0")" = 0 ]'
	sleep 1
	runs
	pgrep -f "rota-link first .*checkpoints/$job[.]"
}

@test "task 0 has ended: the tasks of other nodes go on and end well, and a checkpoint is refused" {
	ends_first true
	run -1 rota checkpoint "$job" --wait
	[[ $output = *"task 0 has ended, so the tasks cannot be saved together any more" ]]
	touch go
	run -0 rota wait "$job"
	[ "$(cat out.1)" = "ended well" ]
	eventually has_left "$job"
	[ ! -e checkpoints ]
	run ! pgrep -f "rota-link .*checkpoints/$job[.]"
}

@test "task 0 has ended, and left processes behind: these are killed, and the tasks of other nodes go on" {
	ends_first "{ : >left.1; exec sleep 36$$; } & { : >left.2; exec $PROGRAMS/static >/dev/null; } & until [ -e left.1 ] && [ -e left.2 ]; do sleep 0.05; done; sleep 1"
	eventually eval '! pgrep -f "^sleep 36$$|^$PROGRAMS/static"'
	touch go
	run -0 rota wait "$job"
	[ "$(cat out.1)" = "ended well" ]
	eventually has_left "$job"
	[ ! -e checkpoints ]
}

@test "task 0 has ended: the step is suspended and resumed, cancelled with its grace time, and ended at its time limit" {
	ends_first true
	run -0 rota suspend "$job"
	eventually eval '[ "$(rota show --json "$job" | jq -r ".jobs[0].steps[0].state")" = suspended ]'
	run -0 rota resume "$job"
	eventually runs
	run -0 rota cancel "$job"
	eventually has_left "$job"
	grep -qx "ended by TERM" out.1
	ends_first true
	run -0 rota modify "$job" --time=0:01
	run -9 rota wait "$job"
	eventually has_left "$job"
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].state')" = timeout ]
	grep -qx "ended by TERM" out.1
}

# first_ends_with CODE: a job of two tasks, of which task 0 ends with the code in the first attempt, and task 1 never does.
first_ends_with() {
	rm -f begun
	printf '#!/bin/bash\n[ "$ROTA_ATTEMPT" = 1 ] || exit 0\nif [ "$ROTA_TASK_ID" = 0 ]; then\n\tuntil [ -e begun ]; do sleep 0.3; done\n\texit %s\nfi\n: >begun\nsleep 3600\n' "$1" >fails.sh
	job=$(rota submit --parsable --checkpoint=dmtcp --run=tasks --nodes=2 --ntasks=2 --output=out.%t fails.sh)
}

@test "task 0 fails: the tasks of other nodes are ended, and the step has its exit code" {
	first_ends_with 3
	run -3 rota wait "$job"
	[ "$(sql "select exit_code from acct.task where job_id = $job and task = 0")" = 3 ]
	eventually has_left "$job"
}

@test "task 0 asks to run again by code 85: the tasks of other nodes are ended, and all run again" {
	first_ends_with 85
	run -0 rota wait "$job"
	[ "$(sql "select string_agg(state || ' ' || exit_code, ', ' order by attempt) from rota.attempt where job_id = $job")" = "failed 85, completed 0" ]
}

@test "a relay is killed: the tasks of its node end, and all go on from their checkpoint" {
	talk_expect
	talk_submit 2 2
	run -0 rota checkpoint "$job" --wait
	pass_gate 1
	kill -9 $(link_of other 1)
	eventually restored 2
	touch go
	talk_is_as_expected
	[[ $(sql "select message from rota.attempt where job_id = $job and attempt = 1") = "tasks on node "*" have lost DMTCP's coordinator on the first node of the step" ]]
}

@test "of another user than root: saved every so often, and the nodes are evacuated" {
	need_root
	owner() { as "$EVE" "$@"; }
	cd "$ROTA_TEST_DIR/$EVE"
	talk_expect
	talk_submit 4 2 --checkpoint-interval=0:02
	[ "$(stat -c '%a %U' checkpoints/"$job".*/next.1.run/link)" = "600 $EVE" ]
	eventually eval '[ "$(sql "select count(*) from acct.checkpoint where job_id = $job and complete_at is not null")" -ge 2 ]'
	run -0 rota migrate "$job"
	eventually restored 2
	[ "$(sql "select count(*) from acct.checkpoint where job_id = $job and reason = 'interval' and complete_at is null and message !~ 'attempt ended'")" = 0 ]
	touch go
	talk_is_as_expected
}

# kill_while_saved VICTIM...: what the command prints is killed while the second checkpoint of a job is taken.
kill_while_saved() {
	talk_expect
	talk_submit 2 2
	run -0 rota checkpoint "$job" --wait
	pass_gate 1
	run -0 rota checkpoint "$job"
	eventually eval '[ -n "$(ls checkpoints/"$job".*/next.images/task.1)" ] || [ "$(states)" != "1 complete, 2 taking" ]'
	kill -9 $("$@")
}

@test "a task of another node is killed while it is saved" {
	kill_while_saved task_process 1 1
	eventually has_left "$job"
	[[ $(states) = "1 complete, 2 "* ]]
	touch go
	run -0 rota restart "$job"
	talk_is_as_expected
}

@test "the relay of the first node is killed while the step is saved" {
	kill_while_saved link_of first
	eventually restored 2
	touch go
	talk_is_as_expected
}

@test "a task of another node is killed while it is restored" {
	talk_expect
	talk_submit 2 2
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	touch go
	run -0 rota restart "$job"
	eventually eval '[ -s checkpoints/"$job".*/next.2.run/task.1 ]'
	kill -9 "$(task_process 2 1)"
	eventually eval '[ "$(rota show --json "$job" | jq -r ".jobs[0].steps[0].attempt")" -ge 3 ] || has_left "$job"'
	run rota wait "$job"
	[ "$status" = 0 ] || run -0 rota restart "$job"
	talk_is_as_expected
}

# keeper_killed RANK: the keeper of this task is killed, and all go on from their checkpoint.
keeper_killed() {
	talk_expect
	talk_submit 2 2
	run -0 rota checkpoint "$job" --wait
	pass_gate 1
	kill -9 "$(ps -o ppid= "$(task_process 1 "$1")" | tr -d ' ')"
	eventually restored 2
	touch go
	talk_is_as_expected
}

@test "the keeper of another node is killed, and all go on from their checkpoint" {
	keeper_killed 1
}

@test "the keeper of the first node is killed, and all go on from their checkpoint" {
	keeper_killed 0
}

@test "a node that does not see the folder of checkpoints: no program begins, and the output says so" {
	need_root
	mkdir apart
	kill -KILL $(instance_processes | awk 'index($0, "--node n2") { print $1 }')
	unshare --mount bash -c "mount -t tmpfs none $PWD/apart && exec rota-launcher --config $ROTA_HOME/etc/rota.conf --node n2" \
		>>"$ROTA_HOME/log/launcher.n2.log" 2>&1 3>&- &
	eventually eval '[ "$(readlink "/proc/$(pid_of procmgrd n2)/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]'
	rota admin setting change checkpoint_wait_s --value=5
	job=$(rota submit --parsable --checkpoint=dmtcp --checkpoint-dir="$PWD/apart" --run=tasks --nodes=2 --nodelist=n1,n2 --output=out.%t --wrap=': >"begun.$ROTA_TASK_ID"')
	eventually grep -qx 'rota-checkpoint: task 1 has not started within 5 seconds' out.0
	run -0 rota cancel "$job"
	eventually has_left "$job"
	rota admin setting change checkpoint_wait_s --value=60
	[ -z "$(ls begun.* 2>/dev/null)" ]
}

# networks_make: two network namespaces with a link between them, for the nodes n3 and n4.
networks_make() {
	local node
	for node in 3 4; do ip netns add "$SPACE-$node"; done
	ip link add "${LINK}3" netns "$SPACE-3" type veth peer name "${LINK}4" netns "$SPACE-4"
	for node in 3 4; do
		ip -n "$SPACE-$node" addr add "$NETWORK.$((LAST + node - 2))/30" dev "$LINK$node"
		ip -n "$SPACE-$node" link set lo up
		ip -n "$SPACE-$node" link set "$LINK$node" up
	done
	printf '127.0.0.1 localhost\n%s rota-host-3\n%s rota-host-4\n' "$NETWORK.$((LAST + 1))" "$NETWORK.$((LAST + 2))" >"$ROTA_TEST_DIR/hosts"
}

# own_networks: have the nodes n3 and n4 run on hosts of their own, which are network namespaces.
own_networks() {
	local node left
	is_moved() { left=$(pid_of procmgrd "n$node") && left=$(readlink "/proc/$left/ns/net") && [ "$left" != "$(readlink /proc/self/ns/net)" ]; }
	ip netns list | grep -qw "$SPACE-3" || networks_make
	for node in 3 4; do
		! is_moved || continue
		left=$(instance_processes | awk -v node="--node n$node" 'index($0, node) { print $1 }')
		[ -z "$left" ] || kill -KILL $left
		nsenter --net="/run/netns/$SPACE-$node" unshare --mount --uts \
			bash -c "echo rota-host-$node >/proc/sys/kernel/hostname && mount --bind $ROTA_TEST_DIR/hosts /etc/hosts &&
				exec rota-launcher --config $ROTA_HOME/etc/rota.conf --node n$node" >>"$ROTA_HOME/log/launcher.n$node.log" 2>&1 3>&- &
		eventually is_moved
		eventually eval '[ "$(superuser "select address from rota.node where name = '"'n$node'"'")" = "rota-host-$node" ]'
	done
}

@test "tasks on two networks that keep sending: saved together, and go on" {
	need_root
	own_networks
	export TALK_HOST=$NETWORK.$((LAST + 1))
	flood_submit --nodelist=n3,n4
	flood_saved "${ROTA_SAVES:-2}"
	[ "$(step_nodes)" = "n3,n4" ]
}

# lost_with NODE: of a step on n3 and n4, this node is lost with all of its processes, and the step goes on from its checkpoint.
lost_with() {
	need_root
	own_networks
	run -0 rota admin node drain n1,n2 --reason=later
	talk_expect
	TALK_HOST=$NETWORK.$((LAST + 1)) talk_submit 2 2
	[ "$(step_nodes)" = "n3,n4" ]
	run -0 rota admin node resume n1,n2
	run -0 rota checkpoint "$job" --wait
	pass_gate 1
	kill -9 $(ip netns pids "$SPACE-$1")
	is_elsewhere() { [ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0] | "\(.attempt) \(.state)"')" = "2 running" ]; }
	eventually is_elsewhere || eventually is_elsewhere # the lease of the node ends first
	eventually restored 2
	[[ $(step_nodes) != *n$1* ]]
	run -0 rota checkpoint "$job" --wait # on hosts with other names
	touch go
	talk_is_as_expected
}

@test "a node is lost with all of its processes: the step goes on from its checkpoint on other nodes" {
	lost_with 4
}

@test "the first node is lost with all of its processes: the step goes on from its checkpoint on other nodes" {
	lost_with 3
}
