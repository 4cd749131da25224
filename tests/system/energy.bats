#!/usr/bin/env bats
# Energy: node n1 reports its power by node.sample_command, n2 has counters in a /sys/class/powercap of its own, n3 reports none.

load helper

setup_file() {
	SITE=$(mktemp -d "${TMPDIR:-/tmp}/rota-test.site.XXXXXX")
	export SITE
	chmod 0755 "$SITE"
	printf '#!/bin/sh\necho power_w=100\n' >"$SITE/power"
	chmod 0755 "$SITE/power"
	instance_up 3 --cpus 4 --mem 4000 --set schedule.period=1 --set node.energy=command --set node.sample_command="$SITE/power"
}

teardown_file() {
	rm -rf "$SITE"
	instance_down
}

# run_on NODE TEXT: run a step of one CPU on the node until it has left it, so that its energy is stored; its number is in `job`.
run_on() {
	printf '#!/bin/bash\n%s\n' "$2" >"$BATS_TEST_TMPDIR/job.sh"
	cd "$BATS_TEST_TMPDIR"
	job=$(rota submit --parsable --nodelist="$1" job.sh)
	rota wait "$job"
	eventually has_left "$job"
}

energy() {
	sql "select energy_j from acct.step where job_id = $job"
}

# The power of a node is known a few seconds after its process manager has started.
measured() {
	run_on "$@"
	[ -n "$(energy)" ]
}

# One CPU of a node with four uses 25 W of its 100 W: at least for as long as the task ran, and at most as long as the CPU was
# held.
has_energy_of_a_quarter() {
	sql "select energy_j * 1.00001 >= 25 * s.elapsed_s and energy_j <= 25 * 1.00001 * s.cpu_held_s from acct.step s where job_id = $job"
}

# relaunch NODE CHANGE [BEFORE]: end the node's launcher, and start another with a changed configuration, in a mount namespace.
relaunch() {
	sed "$2" "$ROTA_HOME/etc/rota.conf" >"$ROTA_HOME/etc/$1.conf"
	kill_now "$(pid_of launcher "$1")" "$(pid_of procmgrd "$1")"
	unshare -m bash -c "${3:-true} && exec rota-launcher --config $ROTA_HOME/etc/$1.conf --node $1" >>"$ROTA_HOME/log/launcher-$1.log" 2>&1 3>&- &
}

@test "power given by a program: a step uses its part of the node, and every view says so" {
	eventually measured n1 'sleep 1'
	[ "$(has_energy_of_a_quarter)" = t ]
	[ "$(sql "select a.energy_j = s.energy_j and e.energy_j = s.energy_j and l.energy_j = s.energy_j
		from acct.step s join acct.attempt a using (job_id) join acct.efficiency e using (job_id) join acct.allocation l using (job_id) where s.job_id = $job")" = t ]
	rota acct --csv --no-header --fields=energy_j "$job" | awk -v sql="$(energy)" '{ exit !($1 > 0 && $1 - sql < 1e-6 && sql - $1 < 1e-6) }'
	# Carbon is computed from the time on from which its intensity is known.
	[ -z "$(sql "select carbon_g from acct.step where job_id = $job")" ]
	refused 'is no value for "g_per_kwh"' rota admin carbon create grid --from=2020-01 --g_per_kwh=0-5:100
	rota admin carbon create grid --from=2020-01 --g_per_kwh=0-11:360,12-23:360
	[ "$(sql "select abs(carbon_g - energy_j * 0.0001) < 1e-9 from acct.step where job_id = $job")" = t ]
	rota report job "$job" --json | jq -e '.rows[0] | .energy_kwh > 0 and .carbon_kg > 0'
	rota report job "$job" | grep -q 'KG CO2E'
	rota report efficiency --json | jq -e --arg energy "$(sql 'select sum(energy_j) / 3600000 from acct.allocation')" \
		'.rows | map(.energy_kwh) | add | . - ($energy | tonumber) | . < 1e-9 and . > -1e-9'
	[ "$(sql "select count(*) from acct.usage_audit('2000-01-01', '2100-01-01')")" = 0 ]
}

@test "a killed process manager: the energy of what it did not see is taken to be as that of the rest" {
	before=$SECONDS
	printf '#!/bin/bash\nuntil [ -e go ]; do sleep 0.3; done\n' >"$BATS_TEST_TMPDIR/job.sh"
	cd "$BATS_TEST_TMPDIR"
	job=$(rota submit --parsable --nodelist=n1 job.sh)
	runs() { [ "$(sql "select state from rota.step where job_id = $job")" = running ]; }
	eventually runs
	old=$(pid_of procmgrd n1)
	kill -KILL "$old"
	back() { local new=$(pid_of procmgrd n1); [ -n "$new" ] && [ "$new" != "$old" ]; }
	eventually back
	# The new process manager must have readings of half of the time. It has them once another step on the node has energy.
	killed=$job
	eventually measured n1 true
	sleep $((SECONDS - before))
	touch go
	job=$killed
	rota wait "$job"
	eventually has_left "$job"
	[ "$(has_energy_of_a_quarter)" = t ]
}

@test "counters: what they count while an attempt is on the node, also when they begin at 0 again" {
	need_root
	local zone=$SITE/powercap/intel-rapl:0 range=100000000
	mkdir -p "$zone"
	echo package-0 >"$zone/name"
	echo "$range" >"$zone/max_energy_range_uj"
	printf '%015d\n' 30000000 >"$zone/energy_uj"
	chmod -R a+rX "$SITE"
	relaunch n2 's/^energy *=.*/energy = auto/' "mount -t tmpfs none /sys/class && mkdir /sys/class/powercap && mount --bind $SITE/powercap /sys/class/powercap"
	grep -q '^energy = auto' "$ROTA_HOME/etc/n2.conf"
	up() { [ "$(sql "select state from acct.node where node = 'n2'")" = up ] && [ -n "$(pid_of procmgrd n2)" ]; }
	eventually up
	eventually measured n2 true
	# Each step increases the counter by 40 J: up to 70 J, then beyond its range to 10 J, then to 50 J.
	for after in 70000000 10000000 50000000; do
		begun=$EPOCHREALTIME
		run_on n2 "sleep 1; printf '%015d\n' $after 1<>$zone/energy_uj; sleep 2"
		# A step has one CPU of four. Power is taken to be constant between the two readings around the step, which are in this time.
		energy
		[ "$(sql "select energy_j > 9 * elapsed_s / ($EPOCHREALTIME - $begun) and energy_j <= 10.00001 from acct.step where job_id = $job")" = t ]
	done
}

@test "a node that measures nothing: unknown, in every view and sum" {
	need_root
	relaunch n3 's/^energy *=.*/energy = off/'
	up() { [ "$(sql "select state from acct.node where node = 'n3'")" = up ] && [ -n "$(pid_of procmgrd n3)" ]; }
	eventually up
	run_on n3 'sleep 1'
	[ -z "$(energy)" ]
	[ "$(sql "select cpu_used_s is not null and energy_j is null and carbon_g is null from acct.efficiency where job_id = $job")" = t ]
	[ "$(sql "select bool_and(energy_j is null and carbon_g is null) from acct.node_usage_day where node = 'n3'")" = t ]
	rota report job "$job" --json | jq -e '.rows[0] | .energy_kwh == null and .carbon_kg == null'
}

@test "bad figures of the program: a negative power, no number, nothing" {
	printf '#!/bin/sh\necho power_w=-5\necho energy_j=x\n' >"$SITE/power"
	kill_now "$(pid_of procmgrd n1)"
	up() { [ -n "$(pid_of procmgrd n1)" ]; }
	eventually up
	run_on n1 'sleep 3'
	[ -z "$(energy)" ]
	[ "$(sql "select state from rota.step where job_id = $job")" = completed ]
	audit
}
