#!/usr/bin/env bats
# Growths whose node fails or whose time is over, growths over several nodes and on a node twice, and what becomes of growths when the
# grown step is requeued, cancelled or suspended.

load helper

setup_file() {
	instance_up 4 --cpus 2 --mem 1000 --set node.grace=1 --set node.lease=12 --set node.lease_margin=4 --set nodemgr.period=1
	rota admin setting change requeue_delay_s --value=0 >/dev/null
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	stopped=
	# task.sh NAME: note begin and end with the node, and go on until there is a file over, over.NAME or over.NODE.
	cat >task.sh <<-'END'
		echo "$1 begin $ROTA_NODE" >>ledger
		until [ -e over ] || [ -e "over.$1" ] || [ -e "over.$ROTA_NODE" ]; do
			echo "$1" >>"beats.$1"
			sleep 0.1
		done
		echo "$1 end $ROTA_NODE" >>ledger
	END
	touch ledger codes
}

teardown() {
	touch over
	[ -z "$stopped" ] || kill -CONT "$stopped" 2>/dev/null || true
	rota resume -q --me >/dev/null 2>&1 || true
	rota cancel -q --me >/dev/null 2>&1 || true
	for node in n1 n2 n3 n4; do rota admin node resume "$node" >/dev/null; done
	nodes_are_up() { [ "$(superuser "select count(*) from rota.node where state = 'up'")" = 4 ]; }
	eventually nodes_are_up
	eventually is_idle
}

# begin [OPTION]... <<END: run the script in a job, by default with all of n1, which goes on until there is a file `over`.
begin() {
	{
		echo '#!/bin/bash'
		# comes NODE [COUNT]: wait until the step has the node, so many times.
		echo 'comes() { until [ "$(rota nodes --mine --json | jq --arg n "$1" "[.nodes[] | select(.node == \$n and .cpus)] | length")" = "${2:-1}" ]; do sleep 0.1; done; }'
		cat
		echo 'until [ -e over ]; do sleep 0.3; done'
	} >job.sh
	[ $# -gt 0 ] || set -- --nodelist=n1 --cpus-per-task=2
	job=$(rota submit --parsable --output=job.out "$@" job.sh)
}

# runs ATTEMPT: the database knows that this attempt of the job runs. A job that does not run cannot grow.
runs() {
	[ "$(sql "select attempt || ' ' || state from rota.step where job_id = $job")" = "$1 running" ]
}

# growths [COLUMNS]: prints these columns of the job's growths.
growths() {
	rota sql -At -F ' ' -c "select ${1:-concat_ws(' ', state, cause)} from acct.growth where grown_job_id = $job order by job_id, step_id"
}

# are EXPECTED [COLUMNS]: the growths are as expected, one line each.
are() {
	[ "$(growths "${2:-}" | sort)" = "$1" ]
}

# has FILE PATTERN [COUNT]: so many lines of the file match the pattern.
has() {
	[ "$(grep -cxE "$2" "$1")" = "${3:-1}" ]
}

# more FILE: the file has more lines than at the last call.
more() {
	local before=${known[$1]:-0}
	known[$1]=$(wc -l 2>/dev/null <"$1" || echo 0)
	[ "${known[$1]}" -gt "$before" ]
}

# ended_as NAME EXPECTED: the sub-step has this state and cause.
ended_as() {
	[ "$(rota sql -At -c "select concat_ws(' ', state, cause) from acct.substep where job_id = $job and name = '$1'")" = "$2" ]
}

@test "the node of a growth fails: what was there is lost or runs again elsewhere, and the step goes on" {
	begin <<-'END'
		rota run -c 2 bash task.sh blocks &
		until grep -q "blocks begin n1" ledger; do sleep 0.1; done
		rota grow --nodes=+1 -w n3
		comes n3
		rota run -c 1 --retry=1 bash task.sh moves && echo moves >>codes &
		rota run -c 1 -w n3 -J ends bash task.sh ends || echo "ends $?" >>codes &
		wait
	END
	eventually has ledger '(moves|ends) begin n3' 2
	stopped=$(pid_of procmgrd n3)
	kill -STOP "$stopped"
	eventually has codes 'ends 1'
	eventually are 'node_fail node_lost'
	touch over.blocks
	eventually has ledger 'moves begin n1'
	kill -CONT "$stopped"
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	[ "$(sort ledger)" = "$(printf '%s\n' 'blocks begin n1' 'blocks end n1' 'ends begin n3' 'moves begin n1' 'moves begin n3' 'moves end n1')" ]
	[ "$(sort codes)" = $'ends 1\nmoves' ]
	eventually ended_as ends 'failed lost'
	audit
	[ "$(growths "nodes || ' ' || (come_at < gone_at)")" = 'n3 true' ]
}

@test "the time limit of a growth ends: its node goes, what runs there is lost or runs again, and nothing starts there" {
	begin <<-'END'
		rota run -c 2 bash task.sh blocks &
		until grep -q "blocks begin n1" ledger; do sleep 0.1; done
		rota grow --nodes=+1 -w n2
		comes n2
		rota run -c 1 --retry=1 bash task.sh moves && echo moves >>codes &
		rota run -c 1 -w n2 -J ends bash task.sh ends || echo "ends $?" >>codes &
		until [ -e limited ]; do sleep 0.3; done
		comes n2 0
		rota run -w n2 true || echo refused >>codes
		wait
	END
	eventually has ledger '(moves|ends) begin n2' 2
	rota modify "$(growths job_id)" --time=0:01
	eventually are 'timeout time_limit'
	touch limited
	eventually has codes 'ends 1'
	eventually has codes refused
	touch over.blocks
	eventually has ledger 'moves begin n1'
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	[ "$(sort codes)" = $'ends 1\nmoves\nrefused' ]
	eventually ended_as ends 'failed lost'
	audit
}

@test "tasks over several nodes come together, run a sub-step over all of them, and are given back together" {
	begin <<-'END'
		rota grow --ntasks=+6 -c 1
		for node in n2 n3 n4; do comes "$node"; done
		rota run -x n1 -N 3 -n 6 bash task.sh wide && echo wide >>codes
		touch idle
	END
	eventually has ledger 'wide begin n[234]' 6
	[ "$(sort -u ledger | wc -l)" = 3 ]
	[ "$(growths 'state, ntasks')" = 'running 6' ]
	refused 'give --force' rota shrink --nodes=n3 "$job"
	touch over.wide
	eventually test -e idle
	has codes wide
	[ "$(rota shrink --nodes=n3 "$job" | sort)" = $'n2\nn3\nn4' ]
	eventually are 'completed given_back'
	refused 'has no node n2' rota shrink --nodes=n2 "$job"
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	audit
}

@test "a growth on a node that the step has already: both shares are used, and that of the growth is given back first" {
	begin --nodelist='n[1-2]' --nodes=2 --ntasks=2 --cpus-per-task=1 <<-'END'
		rota run -N 2 -n 2 true
		for node in n1 n2; do
			rota grow --nodes=+1 -w "$node"
			comes "$node" 2
			rota run -c 1 -w "$node" bash task.sh "first.$node" &
			rota run -c 1 -w "$node" bash task.sh "second.$node" &
		done
		until [ -e free ]; do sleep 0.3; done
		for node in n1 n2; do
			comes "$node" 1
			rota run -w "$node" sh -c 'echo "again $ROTA_NODE" >>ledger'
		done
		touch again
	END
	eventually has ledger '(first|second).n[12] begin n[12]' 4
	refused 'give --force' rota shrink --nodes=n2 "$job"
	touch over.n1 over.n2
	eventually has ledger '(first|second).n[12] end n[12]' 4
	for node in n2 n1; do
		given() { rota shrink --nodes="$node" "$job" >/dev/null 2>&1; }
		eventually given
	done
	eventually are $'completed given_back\ncompleted given_back'
	touch free
	eventually test -e again
	has ledger 'again n[12]' 2
	# Next comes the share of the step itself, which then has only its first node.
	rota shrink --nodes=n2 "$job"
	refused 'has no node n2' rota shrink --nodes=n2 "$job"
	refused 'first node of the step' rota shrink --nodes=n1 "$job"
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	audit
}

@test "a grown step that runs again begins anew without its growths; one that is cancelled ends them" {
	begin --nodelist=n1 --cpus-per-task=2 --retry=1 <<-'END'
		if [ "$ROTA_ATTEMPT" -gt 1 ]; then
			rota nodes --mine --json | jq -r '.nodes[].node' >second
			touch again
		else
			rota grow --nodes=+1 -w n2
			rota grow --nodes=+1 -w n2
			comes n2
			rota run --detach --input=none -w n2 bash task.sh first
			until [ -e ends ]; do sleep 0.3; done
			exit 1
		fi
	END
	eventually has ledger 'first begin n2'
	eventually are $'pending\nrunning'
	touch ends
	eventually are $'cancelled grown_ended\ncompleted grown_ended'
	eventually test -e again
	[ "$(cat second)" = n1 ]
	eventually runs 2
	rota grow --nodes=+1 -w n3 "$job"
	rota grow --nodes=+1 -w n3 "$job"
	eventually are $'cancelled grown_ended\ncompleted grown_ended\npending\nrunning'
	rota cancel "$job"
	eventually are $'cancelled grown_ended\ncancelled grown_ended\ncompleted grown_ended\ncompleted grown_ended'
	eventually is_idle
	[ "$(rota sql -At -c "select count(*) from rota.growth where closed_at is null")" = 0 ]
	has ledger 'first end n2' 0
	audit
}

@test "a suspended step: tasks on its own nodes stop, those on nodes of growths go on until the growth is suspended too" {
	declare -A known
	begin <<-'END'
		rota grow --nodes=+1 -w n2
		comes n2
		rota run -c 1 -w n1 bash task.sh own &
		rota run -c 1 -w n2 bash task.sh grown &
		wait
	END
	eventually more beats.own
	eventually more beats.grown
	growth=$(growths job_id)
	rota suspend "$job"
	still() { more "$1"; sleep 0.5; ! more "$1"; }
	eventually still beats.own
	eventually more beats.grown
	rota suspend "$growth"
	eventually still beats.grown
	eventually are 'suspended'
	rota resume "$growth"
	eventually more beats.grown
	run ! more beats.own
	rota resume "$job"
	eventually more beats.own
	eventually more beats.grown
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	has ledger '(own|grown) end n[12]' 2
	audit
}

@test "what a suspended step has asked for comes meanwhile, and is used when it goes on" {
	begin <<-'END'
		until [ -e asked ]; do sleep 0.3; done
		comes n2
		rota run -w n2 bash task.sh late
	END
	eventually runs 1
	blocker=$(rota submit --parsable --nodelist=n2 --cpus-per-task=2 --output=/dev/null --wrap='sleep 600')
	rota grow --nodes=+1 -w n2 "$job"
	rota suspend "$job"
	rota cancel "$blocker"
	eventually are 'running'
	came() { [ -n "$(growths come_at)" ]; }
	eventually came
	touch asked
	rota resume "$job"
	eventually has ledger 'late begin n2'
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	audit
}

@test "the leader dies between the order of a node and its commit: the node comes once, and goes once" {
	begin <<-'END'
		until [ -e gone ]; do sleep 0.3; done
	END
	eventually runs 1
	orders_can_wait grow shrink
	stops() {
		hold_up "$1"
		"${@:2}"
		eventually is_held_up
		kill_now "$(pid_of jobmgrd)"
		end_held_up
		let_pass
		rota up >/dev/null
	}
	stops grow rota grow --nodes=+1 -w n2 "$job"
	eventually are 'running'
	came() { [ "$(growths "nodes || ' ' || (come_at is not null)")" = 'n2 true' ]; }
	eventually came
	shrinks() { rota shrink --nodes=n2 "$job"; }
	stops shrink eventually shrinks
	eventually are 'completed given_back t' "concat_ws(' ', state, cause, gone_at is not null)"
	orders_cannot_wait
	touch gone over
	run -0 rota wait -q --timeout=300 "$job"
	audit
}
