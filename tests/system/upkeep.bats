#!/usr/bin/env bats
# Upkeep of nodes: a rolling change of a busy cluster, checks of nodes and what they may do, and the energy that power saving saves.

load helper
load provisioner

setup_file() {
	export ALICE=rota-upk-a$$
	site_new
	[ "$EUID" = 0 ] || return 0
	site_make
	image_make el8
	image_make el9
	mkdir -m 0777 "$SITE/sick"
	cat >"$SITE/programs/look" <<-END
		#!/bin/sh
		# The program look check NODE NAME: sick/NODE has the node's fault; with sick/NODE.odd, the result is unknown.
		[ ! -e "$SITE/sick/\$2.odd" ] || exit 7
		cat "$SITE/sick/\$2" 2>/dev/null && exit 1
		echo "\$2 is fine"
	END
	printf '#!/bin/sh\nexit 0\n' >"$SITE/programs/power"
	chmod 0755 "$SITE/programs/look" "$SITE/programs/power"
	users_add "$ALICE"
	# A node that is powered off is off when its lease is over.
	nodes_up 4 el8 --set node.lease=6 --set node.lease_margin=4 --set hooks.power_off="$SITE/programs/power" --set hooks.power_on="$SITE/programs/power" \
		--set hooks.node_folder="$SITE/programs" --set node.image_file="$SITE/os/image"
	rota admin image create el8 --expected=20
	rota admin image create el9 --expected=20
	rota admin node change-all --reboot --at-most=100% --reason=install
	eventually is_over done || eventually is_over done
	eventually all_have 4 el8
}

teardown_file() {
	nodes_down "$ALICE"
}

setup() {
	need_root
	rm -f -- "$SITE"/now/* "$SITE"/calls/* "$SITE"/sick/*
}

# is_over STATE: the latest rolling change has ended in this state.
is_over() {
	[ "$(rota admin node changes --json | jq -r '.changes[0].state')" = "$1" ]
}

all_have() { # COUNT IMAGE: so many nodes serve with the image.
	[ "$(sql "select count(*) from acct.node where state = 'up' and image = '$2'")" = "$1" ]
}

is_node() { # NODE STATE [REASON]
	[ "$(sql "select concat_ws(' ', state, reason) from acct.node where node = '$1'")" = "$2${3:+ $3}" ]
}

@test "all nodes of a busy cluster get another image, some at a time, nothing is lost, and all daemons die in it" {
	local i jobs=()
	for i in {1..12}; do
		jobs+=("$(rota submit --parsable --workdir=/tmp --output=/dev/null --wrap='sleep 0.5')")
	done
	touch "$SITE/now/hangs"
	rota admin node change-all --image=el9 --at-most=50% --reason=security
	begun() { [ "$(find "$SITE/calls" -type f | wc -l)" = 2 ]; }
	eventually begun
	kill -9 "$(pid_of runnerd)" "$(pid_of nodemgrd)" "$(pid_of jobmgrd)" "$(pid_of PostgreSQL)"
	rota up >/dev/null
	[ "$(sql "select count(*) from acct.node where state = 'drain'")" = 2 ]
	rota admin node changes | grep -q '2 waiting, 2 changing'
	rm "$SITE/now/hangs"
	eventually is_over done || eventually is_over done
	eventually all_have 4 el9
	[ "$(sql "select count(*) from acct.node where default_image = 'el9'")" = 4 ]
	rota wait --timeout=300 "${jobs[@]}"
	[ "$(sql "select string_agg(distinct state, ' ') from acct.attempt where job_id in ($(IFS=,; echo "${jobs[*]}"))")" = completed ]
	# Never more than two nodes were out of service at a time.
	[ "$(sql "select max((select count(*) from acct.node_reboot o where o.reason = 'security' and o.began_at <= r.began_at and o.ended_at > r.began_at))
		from acct.node_reboot r where r.reason = 'security'")" -le 2 ]
	[ "$(sql "select count(*) from acct.node_upkeep where kind = 'image' and name = 'el9' and state = 'done' and cpu_s > 0")" = 4 ]
	audit
}

@test "a change that fails too often stops, and one can be cancelled" {
	touch "$SITE"/now/n{1,2,3,4}.fails
	rota admin node change-all --image=el8 --at-most=1 --failures=2
	eventually is_over stopped
	[ "$(rota admin node changes --json | jq -c '.changes[0] | [(.nodes.failed | length), (.nodes.cancelled | length), .message]')" = '[2,2,"2 nodes failed"]' ]
	rm "$SITE"/now/*.fails
	rota admin node resume 'n[1-4]'
	eventually all_have 4 el9
	rm -f "$SITE"/calls/*
	touch "$SITE/now/hangs"
	rota admin node change-all --reboot --at-most=1 --nodes='n[1-2]'
	eventually called
	change=$(rota admin node changes --json | jq '.changes[0].change_id')
	rota admin node cancel-change "$change"
	rm "$SITE/now/hangs"
	over() { [ "$(rota admin node changes --json "$change" | jq -c '.changes[0].nodes | [(.done | length), (.cancelled | length)]')" = '[1,1]' ]; }
	eventually over
	refused 'there is no rolling change 999' rota admin node cancel-change 999
	refused 'you may not do this to the cluster' as "$ALICE" rota admin node change-all --reboot --at-most=1
	all_up() { [ "$(sql "select count(*) from acct.node where state = 'up'")" = 4 ]; }
	eventually all_up
	audit
}

called() {
	[ -n "$(ls "$SITE/calls")" ]
}

@test "a check reports, drains within its share, and resumes what it has drained" {
	rota admin check create look --program=look --period=0:01 --timeout=0:20
	healthy() { [ "$(rota admin node health --json | jq -c '[.health[].state] | unique')" = '["healthy"]' ]; }
	eventually healthy
	[ "$(rota admin node health n1 | grep -c ': n1 is fine$')" = 1 ]
	echo 'disk full' >"$SITE/sick/n1"
	sick() { rota admin node health --json n1 | jq -e '.health[0] | .state == "unhealthy" and .message == "disk full"' >/dev/null; }
	eventually sick
	is_node n1 up
	rota admin check change look --action=resume
	eventually is_node n1 drain 'check look: disk full'
	# No more than one node of four is drained.
	echo 'disk full' >"$SITE/sick/n2"
	sick2() { rota admin node health --json n2 | jq -e '.health[0].state == "unhealthy"' >/dev/null; }
	eventually sick2
	is_node n2 up
	touch "$SITE/sick/n3.odd"
	odd() { rota admin node health --json n3 | jq -e '.health[0].state == "error"' >/dev/null; }
	eventually odd
	is_node n3 up
	rm "$SITE/sick/n2" "$SITE/sick/n3.odd"
	eventually sick2_is_over
	# runnerd dies, and the next one continues the checks.
	kill -9 "$(pid_of runnerd)"
	rota up >/dev/null
	rm "$SITE/sick/n1"
	eventually is_node n1 up
	[ "$(sql "select string_agg(to_state, ' ' order by event_id) from acct.node_health_event where node = 'n1' and name = 'look'")" = 'healthy unhealthy healthy' ]
	[ "$(sql "select count(*) from acct.node_upkeep where kind = 'drain' and name = 'look' and node = 'n1'")" = 1 ]
	refused 'you may not do this to the cluster' as "$ALICE" rota admin check create mine --program=look
	refused 'you may not do this to the cluster' as "$ALICE" rota admin node health
	rota admin check delete look
	audit
}

sick2_is_over() {
	rota admin node health --json n2 | jq -e '.health[0].state == "healthy"' >/dev/null
}

@test "energy that power saving saves is reported" {
	rota admin node change n4 --idle-watts=1
	rota admin power off n4
	kill_node() { kill -9 $(node_processes n4) 2>/dev/null || true; [ -z "$(node_processes n4)" ]; }
	eventually kill_node
	eventually is_node n4 off
	saved() { rota report energy --json --since=today | jq -e '.rows[0] | .node == "n4" and .times == 1 and .saved_kwh > 0' >/dev/null; }
	eventually saved
	rota admin power on n4
	node_start n4 el9
	eventually is_node n4 up
	[ "$(sql "select concat_ws(' ', state, saved_j > 0) from acct.node_upkeep where kind = 'off' and node = 'n4'")" = 'on t' ]
	rota report energy --by=none --since=today | grep -q 'SAVED KWH'
	rota report energy --since=today | grep '^n4 .* <0\.001 ' # and not as 1.2e-08
	run -0 rota report energy --since=2001-01-01 --until=2001-01-02
	[[ ${lines[-1]} = "No node was powered off in this time." && $output != *"SAVED KWH"* ]]
	refused 'the report on energy is about nodes over the whole time, so it takes no "user"' rota report energy --user=root
	audit
}
