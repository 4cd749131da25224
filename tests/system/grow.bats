#!/usr/bin/env bats
# Growing and shrinking: nodes come to a running step by jobs of their own, and go.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	instance_up 4 --cpus 2 --mem 1000 --set node.grace=1
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	touch over
	rota cancel -q --me >/dev/null 2>&1 || true
	eventually is_idle
}

# begin [OPTION]... <<END: run the script in a job with one whole node, which goes on until there is a file `over`.
begin() {
	{
		echo '#!/bin/bash'
		cat
		echo 'until [ -e over ]; do sleep 0.3; done'
	} >job.sh
	job=$(rota submit --parsable --cpus-per-task=2 --output=job.out "$@" job.sh)
	runs "$job"
}

runs() {
	eventually in_state running "$1"
}

in_state() {
	[ "$(rota sql -At -c "select state from acct.step where job_id = $2 limit 1")" = "$1" ]
}

# growths COLUMNS: prints these columns of the job's growths.
growths() {
	rota sql -At -F ' ' -c "select $1 from acct.growth where grown_job_id = $job order by job_id, step_id"
}

has_lines() {
	[ -e "$1" ] && [ "$(wc -l <"$1")" = "$2" ]
}

# hold NUMBER: start as many sub-steps of one whole node each, which write their nodes into `nodes` and go on until there is a
# file `over`.
hold() {
	for _ in $(seq "$1"); do
		echo "rota run --detach --input=none -c 2 $HOW sh -c 'echo \$ROTA_NODE >>nodes; until [ -e over ] || [ -e over.\$ROTA_NODE ]; do sleep 0.1; done'"
	done
}

states() {
	[ "$(growths "${2:-state}" | sort | tr '\n' ' ')" = "$1" ]
}

@test "a waiting sub-step starts on the node that comes, which goes when the job ends" {
	begin <<-'END'
		rota run --detach --input=none -c 2 sh -c 'echo $ROTA_NODE >>nodes; until [ -e over ]; do sleep 0.3; done'
		rota run --detach --input=none -c 2 sh -c 'echo $ROTA_NODE >>nodes; until [ -e over ]; do sleep 0.3; done'
		until [ -e nodes ]; do sleep 0.3; done
		rota grow --nodes=+1
	END
	eventually has_lines nodes 2
	[ "$(sort -u nodes | wc -l)" = 2 ]
	[ "$(growths 'state, nodes')" = "running $(tail -n 1 nodes)" ]
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	ended() { [ "$(growths 'state, cause')" = 'completed grown_ended' ]; }
	eventually ended
}

@test "several requests: each node is used as soon as it is there, and given back alone" {
	begin < <(hold 4)
	eventually has_lines nodes 1
	rota grow --nodes=+2 "$job"
	rota grow --parsable --ntasks=+2 -c 1 --within=1:00:00 "$job"
	eventually has_lines nodes 4
	[ "$(sort -u nodes | wc -l)" = 4 ]
	states 'running running running '
	rota grow --list "$job" | grep -q 'running .* n'
	[ "$(rota grow --list --json "$job" | jq '.growths | length')" = 3 ]
	[ "$(rota queue --json | jq '[.jobs[] | select(.name == "grow")] | length')" = 2 ]
	# A node that runs a sub-step is kept, unless --force is given.
	refused 'give --force' rota shrink --nodes=-1 "$job"
	refused 'first node of the step' rota shrink --nodes="$(head -n 1 nodes)" "$job"
	refused 'has no node n9' rota shrink --nodes=n9 "$job"
	refused 'has 3 besides its first node' rota shrink --nodes=-9 "$job"
	node=$(growths nodes | head -n 1)
	touch "over.$node"
	idle() { rota shrink --nodes="$node" "$job" >shrunk 2>&1; }
	eventually idle
	[ "$(cat shrunk)" = "$node" ]
	eventually states 'completed given_back running running ' "concat_ws(' ', state, cause)"
	free() { [ "$(rota nodes --json | jq --arg n "$node" '.nodes[] | select(.name == $n) | .cpus_used // .cpus_allocated // 0')" = 0 ]; }
	eventually free
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	eventually is_idle
	audit
}

@test "with force, sub-steps on the node are lost, and run again elsewhere" {
	begin < <(HOW=--retry=2 hold 2)
	eventually has_lines nodes 1
	rota grow --nodes=+1 "$job"
	eventually has_lines nodes 2
	node=$(growths nodes)
	rota shrink --force --nodes=-1 "$job"
	eventually states 'completed ' state
	touch over.n1 # end the sub-step on the first node, so that the lost one runs there
	eventually has_lines nodes 3
	[ "$(tail -n 1 nodes)" = n1 ]
	[ "$node" != n1 ]
}

@test "a request that cannot start within its time is given up" {
	begin --nodes=4 --ntasks=4 <<<'echo begun'
	rota grow --nodes=+1 --within=0:03 "$job"
	eventually states 'deadline ' state
	rota grow --nodes=+1 "$job"
	rota why "$(rota grow --list --json "$job" | jq -r '.growths[1].label')" | grep -q .
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	eventually states 'cancelled grown_ended deadline deadline ' "concat_ws(' ', state, cause)"
}

@test "only the owner grows a job, and gives nodes back" {
	need_root
	users_add "rota-grow-$$"
	begin <<<'echo begun'
	attempt=$(rota sql -Atc "select job_id || '.' || step_id || '.' || attempt from acct.attempt where job_id = $job")
	run as "rota-grow-$$" "$ROTA_BIN/rota" grow --nodes=+1 "$job"
	echo "$output" >first
	[ "$status" -ne 0 ]
	run as "rota-grow-$$" "$ROTA_BIN/rota" submit --grow="$attempt" --wrap='sleep 1'
	echo "$output" >second
	[ "$status" -ne 0 ]
	run as "rota-grow-$$" "$ROTA_BIN/rota" shrink --nodes=-1 "$job"
	[ "$status" -ne 0 ]
	users_remove "rota-grow-$$"
	grep -q 'is not an attempt (JOB.STEP.ATTEMPT) of one of your jobs' second
	[ -z "$(growths state)" ]
	refused 'does not run' rota submit --grow="$job.0.7" --wrap='sleep 1'
	refused 'not an attempt' rota submit --grow=nothing --wrap='sleep 1'
}

@test "what is killed in between loses no node and no sub-step" {
	begin < <(hold 3)
	eventually has_lines nodes 1
	rota grow --nodes=+2 "$job"
	for _ in 1 2 3; do
		for pid in $(step_managers ".*"); do
			kill -KILL "$pid" 2>/dev/null || true
		done
		kill -KILL "$(pid_of procmgrd)" 2>/dev/null || true
		sleep 0.3
	done
	kill -KILL "$(pid_of jobmgrd)"
	kill -KILL "$(pid_of PostgreSQL)" 2>/dev/null || true
	rota up >/dev/null
	eventually has_lines nodes 3
	[ "$(sort -u nodes | wc -l)" = 3 ]
	eventually states 'running running '
	for pid in $(step_managers ".*"); do
		kill -KILL "$pid" 2>/dev/null || true
	done
	node=$(growths nodes | head -n 1)
	touch "over.$node"
	shrunk() { rota shrink --nodes="$node" "$job" >/dev/null 2>&1; }
	eventually shrunk
	kill -KILL "$(pid_of procmgrd)"
	eventually states 'completed running '
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	eventually states 'completed completed '
	[ "$(wc -l <nodes)" = 3 ]
	audit
}

@test "a request that is sent again makes one growth" {
	begin <<<:
	first=$(rota grow --parsable --nodes=+1 --client-key="fourth node" "$job")
	[ "$(rota grow --parsable --nodes=+1 --client-key="fourth node" "$job")" = "$first" ]
	second=$(rota grow --parsable --nodes=+1 "$job")
	[ "$second" -gt "$first" ]
	[ "$(superuser "select retry_key is not null from rota.job where job_id = $second")" = t ]
}
