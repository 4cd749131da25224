#!/usr/bin/env bats
# Sub-steps on several nodes of an allocation: agents of the step manager run their tasks.

load helper
load inside

INSIDE=(--nodes=3 --ntasks=3 --cpus-per-task=2)

setup_file() {
	export UNIQUE=$$ # jobs of other tests on this machine run programs with the same names
	instance_up 3 --cpus 2 --mem 1000 --set node.grace=1
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

@test "tasks are shared out over nodes, in blocks or in turns" {
	inside <<-'END'
		say='echo $ROTA_NODE $ROTA_TASK_ID/$ROTA_NTASKS $SLURM_LOCALID $ROTA_SUBSTEP'
		rota run -N 3 sh -c "$say" | sort
		echo --
		rota run -N 2 -n 4 sh -c "$say" | sort
		echo --
		rota run -N 2 -n 4 -m cyclic sh -c "$say" | sort
		echo --
		rota run --ntasks-per-node=2 -n 6 sh -c "$say" | wc -l
		rota run -n 5 sh -c 'echo $ROTA_NODE' | sort | uniq -c | tr -s ' '
		rota run -w n3 sh -c 'echo $ROTA_NODE'
		rota run -x n1,n3 -c 2 sh -c 'echo $ROTA_NODE $ROTA_CPUS'
	END
	[ "$output" = "$(printf '%s\n' 'n1 0/3 0 1' 'n2 1/3 0 1' 'n3 2/3 0 1' -- 'n1 0/4 0 2' 'n1 1/4 1 2' 'n2 2/4 0 2' 'n2 3/4 1 2' -- \
		'n1 0/4 0 3' 'n1 2/4 1 3' 'n2 1/4 0 3' 'n2 3/4 1 3' -- 6 ' 2 n1' ' 2 n2' ' 1 n3' n3 'n2 2')" ]
	recorded() { [ "$(rota sql -At -c "select string_agg(node, ' ' order by substep) from acct.substep where job_id = $job")" = 'n1,n2,n3 n1,n2 n1,n2 n1,n2,n3 n1,n2,n3 n3 n2' ]; }
	eventually recorded
}

@test "plane: blocks of tasks go to the nodes in turns" {
	inside <<-'END'
		say='echo $ROTA_NODE $ROTA_TASK_ID/$ROTA_NTASKS $SLURM_LOCALID'
		rota run --overlap -w n1,n2 -N 2 -n 7 --distribution=plane=2 sh -c "$say" | sort
		rota run --overlap -w n1,n2 -N 2 -n 7 -m plane=2 -o plane.%t sh -c "$say"
		cat plane.[0-6] | sort
		rota run -N 3 -n 4 -m plane=2 true
		rota run -N 2 -n 4 -m plane=0 true
	END
	placed=('n1 0/7 0' 'n1 1/7 1' 'n1 4/7 2' 'n1 5/7 3' 'n2 2/7 0' 'n2 3/7 1' 'n2 6/7 2')
	[[ $output == "$(printf '%s\n' "${placed[@]}" "${placed[@]}")"$'\n'*"4 tasks in blocks of 2 leave nothing for 3 nodes"*"neither block, cyclic nor plane=N"* ]]
}

@test "exit codes, files, large output and what cannot be" {
	inside <<-'END'
		rota run -N 3 sh -c 'exit $((ROTA_TASK_ID * 3))'
		echo "exit $?"
		rota run -N 2 -n 2 sh -c '[ $ROTA_TASK_ID = 0 ] || kill -9 $$'
		echo "exit $?"
		rota run -N 3 -K sh -c '[ $ROTA_TASK_ID = 1 ] && exit 4; exec sleep 100'
		echo "exit $?"
		rota run -N 3 -o 'task-%t.%N' sh -c 'echo text $ROTA_TASK_ID'
		cat task-*
		rota run -N 3 sh -c 'head -c 3000000 /dev/zero | tr "\0" x; echo' | tr -d '\n' | wc -c
		rota run -N 2 /nowhere/program
		echo "exit $?"
		rota run -N 4 true
		rota run -w n7 true
		rota run -n 7 -N 3 true
	END
	[[ $output == *$'exit 6\n'*$'exit 137\n'*$'exit 143\n'*$'text 0\ntext 1\ntext 2\n9000000\n'*'/nowhere/program'*$'exit 127\n'* ]]
	[[ $output == *'the sub-step needs 4 nodes; it may use 3 of the allocation'* ]]
	[[ $output == *'the sub-step needs 1 node; it may use 0 of the allocation'* ]]
	[[ $output == *'7 tasks with 1 CPU each do not fit on 3'* ]]
	[ -e task-0.n1 ] && [ -e task-1.n2 ] && [ -e task-2.n3 ]
}

@test "cancel, time limit and the end of the job reach all nodes" {
	inside <<-'END'
		rota run -N 3 --detach sleep 3301.$UNIQUE
		until [ $(pgrep -fxc "sleep 3301\.$UNIQUE") = 3 ]; do sleep 0.1; done
		rota cancel .1
		rota wait -q .1
		pgrep -fxc "sleep 3301\.$UNIQUE"
		rota run -N 3 --time=0:01 sleep 3302.$UNIQUE
		pgrep -fxc "sleep 3302\.$UNIQUE"
		rota run -N 3 --detach sleep 3303.$UNIQUE
		until [ $(pgrep -fxc "sleep 3303\.$UNIQUE") = 3 ]; do sleep 0.1; done
	END
	[[ $output == *$'\n0\n'*$'\n0\n'* ]]
	gone() { [ "$(pgrep -fxc "sleep 3303\.$UNIQUE")" = 0 ]; }
	eventually gone
}

@test "suspend stops tasks on all nodes, and resume lets them go on" {
	cat >job.sh <<-'END'
		#!/bin/bash
		rota run -N 3 sh -c 'until [ -e over ]; do echo x >>beats.$ROTA_TASK_ID; sleep 0.05; done'
	END
	job=$(rota submit --parsable --nodes=3 --ntasks=3 --cpus-per-task=2 --output=job.out job.sh)
	beat() { for task in 0 1 2; do [ "$(wc -l <"beats.$task")" -gt "$1" ] || return 1; done; }
	eventually beat 2
	running() { [ "$(sql "select state from rota.step where job_id = $job")" = running ]; }
	eventually running # the report of the start may come after the files
	rota suspend -q "$job"
	still() {
		before=$(cat beats.* | wc -l)
		sleep 0.3
		[ "$(cat beats.* | wc -l)" = "$before" ]
	}
	eventually still
	rota resume -q "$job"
	eventually beat "$before"
	touch over
	run -0 rota wait -q --timeout=300 "$job"
}

@test "a step manager and agents that are killed lose and double nothing" {
	cat >job.sh <<-'END'
		#!/bin/bash
		seq 60 | rota run --each sh -c 'echo "$1" >>lines; sleep 0.3' sh
		echo "exit $?" >finished
		rota run -N 3 -n 6 sh -c 'seq 5 | while read nr; do echo $ROTA_TASK_ID.$nr; sleep 0.5; done' | sort >counted
		until [ -e enough ]; do sleep 0.3; done
	END
	job=$(rota submit --parsable --nodes=3 --ntasks=3 --cpus-per-task=2 --output=job.out job.sh)
	eventually test -e lines
	killed=0
	until [ "$killed" -ge 8 ]; do
		for index in 0 1 2; do
			for pid in $(step_managers "$job" "$index"); do
				kill -KILL "$pid" 2>/dev/null && killed=$((killed + 1))
			done
			sleep 0.3
		done
	done
	touch enough
	run -0 rota wait -q --timeout=300 "$job"
	[ "$(cat finished)" = 'exit 0' ] || { cat finished job.out; false; }
	cmp <(sort -n lines) <(seq 60)
	cmp counted <(for task in 0 1 2 3 4 5; do seq -f "$task.%g" 5; done)
}

@test "with --step-manager, all nodes are there before the first sub-step" {
	inside --step-manager <<-'END'
		until [ "$(pgrep -xc rota-stepmgr)" -ge 3 ]; do sleep 0.1; done
		rota run -N 3 sh -c 'echo $ROTA_NODE' | sort
	END
	[ "$output" = $'n1\nn2\nn3' ]
}

@test "without a job: nodes are asked for, used and given back" {
	run -0 --separate-stderr rota run -N 2 sh -c 'echo $ROTA_NODE'
	[ "$(sort <<<"$output" | wc -l)" = 2 ]
	run -0 rota wait --timeout=300
}

@test "programs on any node of the step run sub-steps" {
	cat >task.sh <<-'END'
		rota run -w n3 sh -c 'echo "$ROTA_NODE for $1"' sh "$ROTA_NODE"
		echo "text of $ROTA_NODE" | rota run cat
		head -c 5000000 /dev/zero | rota run cat | wc -c
		rota run --input=none sh -c 'exit 7' || echo "$ROTA_NODE $?"
		rota run --detach sleep 3304.$UNIQUE >/dev/null
		rota run sh -c 'touch "begun.$1"; exec sleep 3305.$UNIQUE' sh "$ROTA_NODE" &
		until [ -e "begun.$ROTA_NODE" ]; do sleep 0.3; done
		kill -9 $!
		touch "over.$ROTA_NODE"
		until [ -e over.n1 ] && [ -e over.n2 ] && [ -e over.n3 ]; do sleep 0.1; done
	END
	inside --run=tasks <<-'END'
		bash task.sh
	END
	for node in n1 n2 n3; do
		[[ $output == *"n3 for $node"* ]]
		[[ $output == *"text of $node"* ]]
		[[ $output == *"$node 7"* ]]
	done
	[ "$(grep -cx 5000000 <<<"$output")" = 3 ]
	gone() { [ "$(pgrep -fxc "sleep 330[45]\.$UNIQUE")" = 0 ]; }
	eventually gone
	one_number_each() { [ "$(rota sql -At -c "select count(*) || ' ' || count(distinct substep) || ' ' || min(substep) from acct.substep where job_id = $job")" = '18 18 1' ]; }
	eventually one_number_each
}

@test "a node whose own tasks have ended leaves the step: what ran there is lost, and nothing starts there" {
	inside --run=tasks <<-'END'
		case $ROTA_NODE in
		n3) until [ -e begun.n3 ]; do sleep 0.3; done; exit ;;
		n2) until [ -e over ]; do sleep 0.3; done; exit ;;
		esac
		rota run -w n3 --name=stays sh -c 'touch begun.$ROTA_NODE; exec sleep 1000' || echo "stays $?"
		rota run -N 3 true || echo "three $?"
		rota run -x n1 -c 2 sh -c 'echo "on $ROTA_NODE"'
		rota steps --json | jq -r '.substeps[0] | .state + " " + .cause'
		touch over
	END
	[[ $output == *"stays 1"*"three 1"*"on n2"*"failed lost" ]]
}

@test "nobody without the key gets to the step manager's port" {
	cat >job.sh <<-'END'
		#!/bin/bash
		rota run -N 3 true && touch ready
		until [ -e over ]; do sleep 0.3; done
		rota run -N 3 echo works >works
	END
	job=$(rota submit --parsable --nodes=3 --ntasks=3 --cpus-per-task=2 --output=job.out job.sh)
	eventually test -e ready
	port=$(jq -r 'select(.kind == "call") | .port' "$ROTA_HOME/node/n1/substeps/$job".*)
	key=$(printf '0%.0s' {1..64})
	# A guest with a wrong key, with an unknown name, without TLS 1.3, and one who says nothing.
	for guest in "-psk_identity n2 -psk $key -tls1_3" "-psk_identity n9 -psk $key -tls1_3" "-tls1_2" "-psk_identity n2 -psk $key -tls1_2"; do
		run -1 timeout 60 openssl s_client -connect "127.0.0.1:$port" $guest </dev/null
	done
	exec {quiet}<>"/dev/tcp/127.0.0.1/$port"
	echo '{"op":"run","id":1,"argv":["touch","got"]}' >&"$quiet"
	touch over
	run -0 rota wait -q --timeout=300 "$job"
	[ "$(sort -u works)" = works ]
	[ ! -e got ]
	exec {quiet}>&-
}

@test "a task on another node has no descriptor but its three streams" {
	inside <<-'END'
		for node in n2 n1; do
			rota run -w "$node" ls /proc/self/fd | tr '\n' ' ' # 3 is the folder
		done
	END
	[ "$output" = '0 1 2 3 0 1 2 3 ' ]
}

@test "input of rota run reaches tasks on all nodes" {
	inside <<-'END'
		seq 600000 >numbers
		sum=$(sha256sum <numbers)
		[ "$(rota run -w n2 sha256sum <numbers)" = "$sum" ] && echo one node
		[ "$(rota run -N 3 -n 6 sha256sum <numbers | sort | uniq -c)" = "      6 $sum" ] && echo all
		rota run -N 2 -n 4 --input=3 sh -c 'echo $ROTA_NODE $ROTA_TASK_ID $(wc -l)' <numbers | sort
		rota run -N 3 --input=2 sh -c 'echo $ROTA_NODE $ROTA_TASK_ID $(wc -l)' <numbers | sort
		rota run -N 2 -n 4 -m cyclic --input=1 sh -c 'echo $ROTA_NODE $ROTA_TASK_ID $(wc -l)' <numbers | sort
		rota run -N 2 --input=numbers sh -c 'echo file $(wc -l)'
		rota run -N 2 sh -c 'echo nothing $(wc -c)' </dev/null
		true | rota run -w n3 cat && echo end of input
		# A slow reader, and one that needs only the first line, do not stop the others.
		rota run -N 2 sh -c '[ $ROTA_TASK_ID = 0 ] || for turn in 1 2 3 4; do head -c 300000; sleep 0.2; done; cat' <numbers >both
		[ "$(wc -c <both)" = $((2 * $(wc -c <numbers))) ] && echo slow
		rota run -N 2 -n 4 sh -c '[ $ROTA_TASK_ID = 3 ] || exec wc -l; read -r line; echo got $line' <numbers | sort
	END
	expected=('one node' all 'n1 0 0' 'n1 1 0' 'n2 2 0' 'n2 3 600000' 'n1 0 0' 'n2 1 0' 'n3 2 600000' 'n1 0 0' 'n1 2 0' 'n2 1 600000' 'n2 3 0' 'file 600000' 'file 600000'
		'nothing 0' 'nothing 0' 'end of input' slow 600000 600000 600000 'got 1')
	[ "$output" = "$(printf '%s\n' "${expected[@]}")" ]
}

@test "a task that never reads its input delays nobody but its client" {
	export MOST_KIB=30000
	[[ $ROTA_BUILD != */asan ]] || MOST_KIB=400000 # AddressSanitizer keeps what was freed
	inside <<-'END'
		mkfifo never
		head -c 1000000000 /dev/zero | rota run -w n2 sh -c 'touch begun; exec 3<>never; read -r word <&3' &
		until [ -e begun ]; do sleep 0.3; done
		for round in 1 2 3; do
			seq 300000 | rota run -w n2 wc -l
			rota run -w n2 --input=none head -c 3000000 /dev/zero | wc -c
		done
		for pid in $(pgrep -x rota-stepmgr); do
			grep -qzFx "ROTA_HOME=$ROTA_HOME" /proc/$pid/environ && grep -qzFx "ROTA_JOB_ID=$ROTA_JOB_ID" /proc/$pid/environ && awk -v most="$MOST_KIB" '/VmRSS/ { print ($2 < most ? "small" : $2) }' /proc/$pid/status
		done 2>/dev/null | sort | uniq -c | tr -s ' '
		rota cancel .1
		wait
	END
	[[ $output == $'300000\n3000000\n300000\n3000000\n300000\n3000000\n 3 small\n'* ]]
}

# feed: a sub-step on n2 that reads lines from a pipe that stays open as file descriptor `tap`.
feed() {
	cat >job.sh <<-'END'
		#!/bin/bash
		exec 3<>tap
		rota run -w n2 --input=all sh -c 'cat >>got; echo over >>got' <tap 2>said 3>&-
		echo "exit $?" >finished
		until [ -e enough ]; do sleep 0.3; done
	END
	mkfifo tap
	job=$(rota submit --parsable --nodes=3 --ntasks=3 --cpus-per-task=2 --output=job.out job.sh)
	exec {tap}>tap
	echo first >&"$tap"
	eventually grep -qx first got
}

@test "input ends, and its client says so, when a step manager or an agent was killed" {
	for index in 0 1; do
		rm -f tap got said finished enough
		feed
		pid=$(step_managers "$job" "$index")
		kill -KILL "$pid"
		eventually grep -qx over got
		eventually test -e finished
		touch enough
		exec {tap}>&-
		run -0 rota wait -q --timeout=300 "$job"
		[ "$(cat got)" = $'first\nover' ]
		grep -q "its standard input ended early, since the step manager on node n$((index + 1)) was started again" said
		[ "$(cat finished)" = 'exit 1' ]
	done
}

@test "input that was complete is not reported as lost" {
	cat >job.sh <<-'END'
		#!/bin/bash
		echo text | rota run -w n2 sh -c 'cat; touch read; until [ -e enough ]; do sleep 0.3; done' >got 2>said
		echo "exit $?" >finished
	END
	job=$(rota submit --parsable --nodes=3 --ntasks=3 --cpus-per-task=2 --output=job.out job.sh)
	eventually test -e read
	for index in 1 0; do
		pid=$(step_managers "$job" "$index")
		kill -KILL "$pid"
		restarted() { now=$(step_managers "$job" "$index"); [ -n "$now" ] && [ "$now" != "$pid" ]; }
		eventually restarted || { head -v said finished job.out; rota steps "$job"; rota show "$job"; false; }
	done
	touch enough
	run -0 rota wait -q --timeout=300 "$job"
	[ "$(cat finished got)" = $'exit 0\ntext' ]
	! grep -q 'ended early' said
}
