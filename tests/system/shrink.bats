#!/usr/bin/env bats
# A running step gives back nodes of its own: who may ask for it, what ends on these nodes, who gets the CPUs, and deaths of
# daemons meanwhile.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	local hook=$BATS_FILE_TMPDIR/epilog
	chmod 0755 "$BATS_FILE_TMPDIR"
	printf '#!/bin/sh\nexec %s/late\n' "$BATS_FILE_TMPDIR" >"$hook"
	# The epilog of the site records its call, and waits if a test says so.
	cat >"$BATS_FILE_TMPDIR/late" <<-END
		#!/bin/sh
		echo "\$ROTA_JOB_ID \$ROTA_NODE" >>$BATS_FILE_TMPDIR/epilogs
		while [ -e $BATS_FILE_TMPDIR/stop.\$ROTA_NODE ]; do sleep 0.3; done
	END
	chmod 0755 "$hook" "$BATS_FILE_TMPDIR/late"
	touch "$BATS_FILE_TMPDIR/epilogs"
	chmod 0666 "$BATS_FILE_TMPDIR/epilogs"
	instance_up 3 --cpus 2 --mem 1000 --set node.grace=1 --set node.lease=30 --set node.lease_margin=4 --set nodemgr.period=1 \
		--set schedule.period=120 --set node.site_epilog="$hook"
	rota admin setting change requeue_delay_s --value=0 >/dev/null
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	touch ledger codes
	stopped=
	# task.sh NAME: note begin and end with the node, and go on until there is a file over, over.NAME or over.NODE.
	cat >task.sh <<-'END'
		echo "$1 begin $ROTA_NODE" >>ledger
		until [ -e over ] || [ -e "over.$1" ] || [ -e "over.$ROTA_NODE" ]; do sleep 0.05; done
		echo "$1 end $ROTA_NODE" >>ledger
	END
	# listen.py FILE: append to FILE each event about nodes.
	cat >listen.py <<-'END'
		import json, os, socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(os.environ["ROTA_STEP_SOCKET"])
		s.sendall(b'{"op": "events", "id": 7}\n')
		with open(sys.argv[1], "a") as out:
		    for line in s.makefile():
		        event = json.loads(line)
		        if event["event"] == "node":
		            print(event["node"], event["state"], event["reason"], file=out, flush=True)
	END
}

teardown() {
	touch over
	rm -f "$BATS_FILE_TMPDIR"/stop.*
	[ -z "$stopped" ] || kill -CONT "$stopped" 2>/dev/null || true
	rota cancel -q --me >/dev/null 2>&1 || true
	for node in n1 n2 n3; do rota admin node resume "$node" >/dev/null; done
	nodes_are_up() { [ "$(superuser "select count(*) from rota.node where state = 'up'")" = 3 ]; }
	eventually nodes_are_up
	eventually is_idle
}

# begin [OPTION]... <<END: run the script in a job with all of all nodes, which goes on until there is a file `over`. The database knows that
# it runs, so that it can be asked to give nodes back.
begin() {
	{
		echo '#!/bin/bash'
		# mine: prints the nodes that the step has.
		echo 'mine() { rota nodes --mine --json | jq -r ".nodes[].node" | sort | tr "\n" " "; }'
		cat
		echo 'until [ -e over ]; do sleep 0.3; done'
	} >job.sh
	job=$(rota submit --parsable --nodes=3 --ntasks=3 --cpus-per-task=2 --output=job.out "$@" job.sh)
	eventually is running
}

# has FILE PATTERN [COUNT]: so many lines of the file match the pattern.
has() {
	[ "$(grep -cxE "$2" "$1")" = "${3:-1}" ]
}

# held: prints the nodes that the job holds now.
held() {
	superuser "select coalesce(string_agg(n.name, ' ' order by n.name), '') from rota.allocation a join rota.node n using (node_id)
		where a.job_id = $job and a.ended_at is null"
}

holds() {
	[ "$(held)" = "$1" ]
}

state() {
	rota sql -At -c "select concat_ws(' ', state, exit_code, cause) from acct.step where job_id = ${1:-$job}"
}

is() {
	[ "$(state)" = "$1" ]
}

# completes: the job completes, by its script, in its first attempt.
completes() {
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	[ "$(rota sql -At -c "select string_agg(concat_ws(' ', attempt, state, exit_code, cause), ', ') from acct.attempt where job_id = $job")" = '1 completed 0 exit' ]
	audit
}

@test "a node is given back: epilogs run, others use it at once, and the step goes on without it" {
	printf '#!/bin/sh\necho "$ROTA_NODE" >>%s/own\n' "$PWD" >epilog
	chmod 0755 epilog
	begin --epilog="$PWD/epilog" <<-'END'
		python3 listen.py events &
		rota run -N 3 true
		mine >new && mv new before
		until [ -e given ]; do sleep 0.3; done
		until [ "$(mine)" = 'n1 n3 ' ]; do sleep 0.05; done
		rota run -N 2 -n 2 sh -c 'echo "$ROTA_NODELIST $ROTA_NNODES $SLURM_JOB_NODELIST $SLURM_NNODES $ROTA_NODE_INDEX $ROTA_NODE" >>ledger'
		rota run -N 3 true 2>>refused
		rota run -w n2 true 2>>refused
		touch known
	END
	eventually test -e before
	[ "$(cat before)" = 'n1 n2 n3 ' ]
	other=$(rota submit --parsable --nodelist=n2 --cpus-per-task=2 --output=/dev/null --wrap='touch other; until [ -e over ]; do sleep 0.3; done')
	touch "$BATS_FILE_TMPDIR/stop.n2"
	[ "$(rota shrink --nodes=n2 "$job")" = n2 ]
	touch given
	epilogs() { has "$BATS_FILE_TMPDIR/epilogs" "$job n2"; }
	eventually epilogs
	has own n2
	# The resources on the node are free when the epilog has ended, not before.
	holds 'n1 n2 n3'
	[ ! -e other ]
	eventually has events 'n2 left given back by rota shrink'
	rm "$BATS_FILE_TMPDIR/stop.n2"
	eventually holds 'n1 n3'
	eventually test -e other # long before the leader would run a cycle by itself
	eventually test -e known
	[ "$(sort ledger)" = $'n1,n3 2 n[1,3] 2 0 n1\nn1,n3 2 n[1,3] 2 1 n3' ]
	# A program from outside has no variables of the job.
	env -i PATH="$PATH" ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"} ROTA_STEP_SOCKET="$ROTA_HOME/node/n1/spool/$job.0.1/steps" rota run -w n3 env >outside
	[ "$(grep -E '^(ROTA_NODE(LIST|_INDEX)|ROTA_NNODES|SLURM_JOB_NODELIST)=' outside | sort | tr '\n' ' ')" = \
		'ROTA_NNODES=2 ROTA_NODELIST=n1,n3 ROTA_NODE_INDEX=1 SLURM_JOB_NODELIST=n[1,3] ' ]
	grep -q '3 nodes' refused
	[ "$(wc -l <refused)" -ge 2 ]
	[ "$(state "$job")" = running ]
	rota show "$job" | grep -q 'goes on without n2: given back by rota shrink'
	touch over
	rota wait -q --timeout=300 "$other"
	completes
	[ "$(sort own)" = $'n1\nn2\nn3' ]
	# The step is charged for the resources that it held.
	[ "$(rota sql -At -c "select string_agg(concat_ws(' ', a.node, a.given_back_at < a.ended_at, a.ended_at < t.ended_at), ', ' order by a.node)
		from acct.allocation a join acct.attempt t using (job_id, step_id, attempt) where a.job_id = $job and a.given_back_at is not null")" = 'n2 t t' ]
	[ "$(rota sql -At -c "select a.ended_at <= b.started_at from acct.allocation a, acct.allocation b
		where a.job_id = $job and a.node = 'n2' and b.job_id = $other")" = t ]
}

@test "what cannot be given back is refused, and nothing changes" {
	begin <<-'END'
		rota run -N 3 -n 3 -c 1 bash task.sh wide &
		wait
	END
	eventually has ledger 'wide begin n[123]' 3
	refused 'first node of the step' rota shrink --nodes=n1 "$job"
	refused 'first node of the step' rota shrink --force --nodes='n[1-3]' "$job"
	refused 'sub-step 1 runs on node n3' rota shrink --nodes=n3 "$job"
	refused 'give --force' rota shrink --nodes=-1 "$job"
	refused 'has no node n9' rota shrink --nodes=n9 "$job"
	refused 'has 2 besides its first node' rota shrink --force --nodes=-3 "$job"
	holds 'n1 n2 n3'
	touch over.wide
	shrinks() { rota shrink --nodes=-2 "$job" >shrunk 2>/dev/null; }
	eventually shrinks
	[ "$(sort shrunk)" = $'n2\nn3' ]
	eventually holds n1
	refused 'has no node n2' rota shrink --nodes=n2 "$job"
	refused 'has 0 besides its first node' rota shrink --nodes=-1 "$job"
	completes
	has ledger 'wide end n[123]' 3
}

@test "with force, sub-steps there are lost or run again elsewhere, inside the job" {
	begin <<-'END'
		rota run -N 2 -x n3 -c 2 bash task.sh blocks &
		until [ "$(grep -c begin ledger)" = 2 ]; do sleep 0.05; done
		rota run -c 1 --retry=1 bash task.sh moves && echo moves >>codes &
		rota run -c 1 -w n3 -J ends bash task.sh ends || echo "ends $?" >>codes &
		until [ "$(grep -c begin ledger)" = 4 ]; do sleep 0.05; done
		rota shrink --nodes=-1 2>refused || rota shrink --force --nodes=-1 >shrunk
		wait
	END
	eventually has codes 'ends 1'
	grep -q 'give --force' refused
	eventually has shrunk n3 # it may print this after the sub-step has ended
	eventually holds 'n1 n2'
	touch over.n2
	eventually has ledger 'moves begin n2'
	touch over.moves
	eventually has codes moves
	lost() { [ "$(rota sql -At -c "select state || ' ' || cause from acct.substep where job_id = $job and name = 'ends'")" = 'failed lost' ]; }
	eventually lost
	completes
	has ledger '(ends|moves) begin n3' 2
	has ledger '(ends|moves) end n3' 0
}

@test "a sub-step of several nodes that loses one of them runs again on those that are left" {
	begin <<-'END'
		rota run -N 2 -n 2 -x n1 -c 1 --retry=2 bash task.sh first
		echo "first $?" >>codes
	END
	eventually has ledger 'first begin n[23]' 2
	# Both of its nodes may be given back; then only the first node is left, which it may not use.
	rota shrink --force --nodes=n3 "$job"
	eventually holds 'n1 n2'
	eventually has codes 'first 1'
	begun() { has ledger 'first begin n2'; }
	begun
	completes
}

@test "nodes of growths go before those of the step itself, which may come back by a growth" {
	begin --nodes=2 --ntasks=2 <<<'rota run -N 2 true; touch begun'
	eventually test -e begun # else the sub-step may still run on n2 when that is to be given back
	mine() { [ "$(rota sql -At -c "select string_agg(nodes, ' ' order by job_id) from acct.growth where grown_job_id = $job and state = 'running' and come_at is not null")" = "$1" ]; }
	# knows NODES: the step manager uses these nodes, which are given with their states.
	cat >knows.sh <<-'END'
		export ROTA_STEP_SOCKET=$1
		until [ "$(rota nodes --mine --json | jq -r '.nodes[] | .node + " " + .state' | sort | tr '\n' ' ')" = "$2 " ]; do sleep 0.1; done
	END
	knows() { timeout 60 bash knows.sh "$(find "$ROTA_HOME/node/n1/spool/$job.0.1" -name steps)" "$1"; }
	rota grow --nodes=+1 "$job"
	eventually mine n3
	knows 'n1 up n2 up n3 joined'
	gives() { rota shrink --nodes=-1 "$job" >shrunk 2>/dev/null; }
	eventually gives
	[ "$(cat shrunk)" = n3 ]
	rota shrink --nodes=-1 "$job" >shrunk
	[ "$(cat shrunk)" = n2 ]
	eventually holds n1
	rota grow --nodes=+1 --nodelist=n2 "$job"
	eventually mine n2
	knows 'n1 up n2 joined'
	# A step manager that starts again reads everything anew, and uses the node.
	kill -KILL $(step_managers "$job" 0)
	knows 'n1 up n2 up'
	rota shrink --nodes=n2 "$job"
	eventually mine ''
	refused 'has no node n2' rota shrink --nodes=n2 "$job"
	completes
}

@test "tasks of the step itself: kept unless they are forced, and those that are left decide" {
	cat >tasks.sh <<-'END'
		#!/bin/bash
		echo "begin $ROTA_NODE" >>ledger
		until [ -e over ]; do sleep 0.3; done
		echo "end $ROTA_NODE" >>ledger
	END
	job=$(rota submit --parsable --nodes=3 --ntasks-per-node=1 --cpus-per-task=2 --run=tasks --output=/dev/null tasks.sh)
	eventually has ledger 'begin n[123]' 3
	eventually is running
	refused 'runs tasks of the step itself' rota shrink --nodes=n2 "$job"
	refused 'give --force' rota shrink --nodes=-1 "$job"
	holds 'n1 n2 n3'
	rota shrink --force --nodes=n2 "$job"
	eventually holds 'n1 n3'
	[ "$(state)" = running ]
	touch over
	completes
	[ "$(grep end ledger | sort)" = $'end n1\nend n3' ]
	[ "$(rota sql -At -c "select string_agg(node || ' ' || coalesce(signal, 0), ', ' order by node) from acct.task where job_id = $job")" = 'n1 0, n2 15, n3 0' ]
}

@test "a step that runs again asks for all of its nodes" {
	begin --retry=1 <<-'END'
		echo "$ROTA_ATTEMPT $(mine)" >>ledger
		[ "$ROTA_ATTEMPT" -gt 1 ] || until [ -e ends ]; do sleep 0.3; done
		[ "$ROTA_ATTEMPT" -gt 1 ] || exit 1
	END
	eventually has ledger '1 n1 n2 n3 '
	rota shrink --nodes=-2 "$job"
	eventually holds n1
	touch ends
	eventually has ledger '2 n1 n2 n3 '
	holds 'n1 n2 n3'
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	audit
}

@test "the node is lost before it has ended: the step goes on, without --no-kill" {
	begin <<-'END'
		python3 listen.py events &
		rota run -N 3 true
		touch begun
	END
	eventually test -e begun
	stopped=$(pid_of procmgrd n3)
	kill -STOP "$stopped"
	rota shrink --nodes=n3 "$job"
	eventually holds 'n1 n2'
	eventually has events 'n3 left given back by rota shrink'
	[ "$(state)" = running ]
	has events 'n3 lost .*' 0
	run ! grep -q 'n3: lost' <(rota show "$job")
	kill -CONT "$stopped"
	completes
}

@test "what is killed in between loses no node, gives none back twice, and ends nothing else" {
	begin <<-'END'
		rota run -w n2 -c 2 -J stays bash task.sh stays; echo "stays $?" >>codes
	END
	eventually has ledger 'stays begin n2'
	# The transaction that gives the node back waits before it commits.
	orders_can_wait kill
	hold_up kill
	rota shrink --nodes=n3 "$job"
	eventually is_held_up
	kill -KILL "$(pid_of procmgrd n1)" $(step_managers "$job" 0)
	end_held_up
	[ "$(superuser "select count(*) from rota.allocation where given_back_at is not null and job_id = $job")" = 0 ]
	# The node does not get its order while its process manager does not run.
	stopped=$(pid_of procmgrd n3)
	kill -STOP "$stopped"
	superuser "update rota.node_lease l set expires_at = now() + interval '10 minutes' from rota.node n where n.node_id = l.node_id and n.name = 'n3'"
	kill -KILL "$(pid_of jobmgrd)" "$(pid_of PostgreSQL)"
	rota up >/dev/null
	let_pass
	given() { [ "$(superuser "select count(*) from rota.allocation where given_back_at is not null and job_id = $job")" = 1 ]; }
	eventually given
	orders_cannot_wait
	# The launcher finds that the keeper has died, before it passes on the order. A slow machine may have ended its lease.
	! keeper=$(sed 's/ .*//' "$ROTA_HOME/node/n3/spool/$job.0.1/pid" 2>/dev/null) || kill -KILL "$keeper" || true
	kill -KILL "$stopped" "$(pid_of jobmgrd)"
	stopped=
	rota up >/dev/null
	eventually holds 'n1 n2'
	[ "$(state)" = running ]
	completes
	[ "$(cat codes)" = 'stays 0' ]
	[ "$(superuser "select count(*) from rota.event where job_id = $job and detail like 'goes on without n3%'")" = 1 ]
	has ledger 'stays begin n2'
}

@test "a stranger gives nothing back; the owner does" {
	need_root
	users_add "rota-shrink-$$" "rota-other-$$"
	folders_add "rota-shrink-$$"
	cd "$ROTA_TEST_DIR/rota-shrink-$$"
	cat >job.sh <<-'END'
		#!/bin/bash
		rota run -N 3 true
		touch begun
		until [ -e over ]; do sleep 0.3; done
	END
	job=$(as "rota-shrink-$$" "$ROTA_BIN/rota" submit --parsable --nodes=3 --ntasks=3 --output=/dev/null job.sh)
	eventually test -e begun
	eventually is running
	run as "rota-other-$$" "$ROTA_BIN/rota" shrink --nodes=-1 "$job"
	echo "$output" >"$BATS_TEST_TMPDIR/stranger"
	[ "$status" -ne 0 ]
	[ "$(superuser "select count(*) from rota.allocation where given_back_at is not null and job_id = $job")" = 0 ]
	owner=$(as "rota-shrink-$$" "$ROTA_BIN/rota" shrink --nodes=-1 "$job")
	[ "$owner" = n3 ]
	eventually holds 'n1 n2'
	touch over
	rota wait -q --timeout=300 "$job"
	cd /
	eventually is_idle
	users_remove "rota-shrink-$$" "rota-other-$$"
}
