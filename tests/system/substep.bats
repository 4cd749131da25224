#!/usr/bin/env bats
# Sub-steps when something fails: daemons and the database away, the step manager killed, the job ended before its sub-steps; and
# what another user can reach of them.

load helper

setup_file() {
	instance_up 1 --cpus 4 --mem 4000 --set node.grace=1 --set node.lease=30 --set node.lease_margin=4 --set nodemgr.period=1
	export SUBSTEPS=$ROTA_HOME/node/n1/substeps
	[ "$EUID" = 0 ] || return 0
	export EVE=rsube$$ BOB=rsubb$$
	users_add "$EVE" "$BOB"
	folders_add "$EVE" "$BOB"
}

teardown_file() {
	local status=0
	instance_down || status=1
	[ "$EUID" != 0 ] || users_remove "$EVE" "$BOB" || status=1
	return "$status"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# submit [OPTION OF rota submit]... <<END: submit the script as a job with four CPUs; its number is in `job`.
submit() {
	{
		echo '#!/bin/bash'
		cat
	} >job.sh
	job=$(rota submit --parsable --cpus-per-task=4 --mem=400 --output=job.out "$@" job.sh)
}

ends() {
	run rota wait -q --timeout=120 "$job"
}

there() {
	[ -e "$1" ]
}

running() {
	[ "$(sql "select state from rota.step where job_id = $job")" = running ]
}

# left WORD: prints the processes with this word in their command line, except the program that looks for them.
left() {
	local process
	for process in $(grep -lsaF -- "$1" /proc/[0-9]*/cmdline); do
		[ ! -e "$process" ] || echo "$process"
	done
}

# counted NUMBER STATE: in the accounting, so many sub-steps of the job have this state, and no sub-step has another.
counted() {
	[ "$(sql "select count(*) || ' ' || count(distinct substep) || ' ' || count(*) filter (where state = '$2') from acct.substep where job_id = $job")" = "$1 $1 $1" ]
}

@test "a job without sub-steps has no step manager and no journal" {
	submit <<-'END'
		echo "$ROTA_STEP_SOCKET" >socket
		until [ -e go ]; do sleep 0.3; done
	END
	eventually test -s socket
	[ -S "$(cat socket)" ]
	[ -z "$(step_managers "$job")" ]
	[ -z "$(ls "$SUBSTEPS")" ]
	touch go
	ends
	[ "$status" = 0 ]
	[ "$(sql "select count(*) from acct.substep where job_id = $job")" = 0 ]
}

@test "sub-steps need neither jobmgrd nor PostgreSQL, and are all in the accounting later" {
	submit --node-loss=keep <<-'END'
		touch begun
		until [ -e away ]; do sleep 0.3; done
		seq 30 | rota run --each sh -c 'echo "$1" >>lines' sh && rota run sh -c 'exit 3' 2>/dev/null
		echo "exit $?" >finished
		until [ -e back ]; do sleep 0.3; done
	END
	eventually there begun
	kill -9 "$(pid_of jobmgrd)"
	kill -9 "$(pid_of PostgreSQL)"
	no_database() { ! superuser 'select 1' >/dev/null 2>&1; }
	eventually no_database
	touch away
	eventually test -s finished
	[ "$(cat finished)" = 'exit 3' ]
	no_database
	cmp <(sort -n lines) <(seq 30)
	rota up >/dev/null
	all() { [ "$(sql "select count(*) || ' ' || count(distinct substep) || ' ' || count(*) filter (where state = 'completed') from acct.substep where job_id = $job")" = '31 31 30' ]; }
	eventually all
	touch back
	ends
	all
	audit
}

@test "a step manager that is killed ten times runs every sub-step once" {
	submit <<-'END'
		seq 200 | rota run --each sh -c 'echo "$1" >>lines; sleep 0.2' sh
		echo "exit $?" >finished
		until [ -e enough ]; do sleep 0.3; done
	END
	eventually there lines
	killed=0
	until [ "$killed" -ge 10 ]; do
		for pid in $(step_managers "$job"); do
			kill -KILL "$pid" && killed=$((killed + 1))
		done
		sleep 0.2
	done
	touch enough
	ends
	[ "$(cat finished)" = 'exit 0' ] || { cat finished job.out; false; }
	cmp <(sort -n lines) <(seq 200)
	eventually counted 200 completed
}

# spools NUMBER: the step manager of the job runs, and so many streams of its tasks have a place in memory.
spools() {
	local manager
	manager=$(step_managers "$job") && [ -n "$manager" ] || return 1
	[ "$(find "/proc/$manager/fd" -lname '/memfd:rota-output*' 2>/dev/null | wc -l)" = "$1" ]
}

@test "output has a place in memory from its first byte on, and is whole when the step manager is killed before and after it" {
	submit <<-'END'
		rota run sh -c 'touch begun; until [ -e speak ]; do sleep 0.3; done
			echo out; echo err >&2; until [ -e finish ]; do sleep 0.3; done; echo more' >out 2>err
		echo "exit $?" >finished
	END
	eventually there begun
	spools 0
	kill -KILL "$(step_managers "$job")"
	eventually spools 0
	touch speak
	eventually grep -qx out out
	eventually grep -qx err err
	spools 2
	kill -KILL "$(step_managers "$job")"
	eventually spools 2
	touch finish
	ends
	cmp finished <(echo 'exit 0')
	cmp out <(printf 'out\nmore\n')
	cmp err <(echo err)
}

@test "a client that is killed while its sub-step takes no input, before it has read all output: the sub-step is cancelled" {
	submit <<-'END'
		yes | rota run --name=deaf sh -c 'touch begun; until [ -e speak ]; do sleep 0.3; done; echo said; touch spoken; exec sleep 1000' >out &
		echo $! >client
		until [ -e go ]; do sleep 0.3; done
	END
	eventually there begun
	# Now the client cannot write any more, since the pipe of the task is full.
	blocked() { [[ $(cat "/proc/$(cat client)/status") == *$'State:\tS'* ]] && sleep 1; }
	eventually blocked
	kill -STOP "$(cat client)"
	touch speak
	eventually there spoken
	sleep 1 # by then, the output is at the client, whose end resets the connection
	kill -KILL "$(cat client)"
	eventually counted 1 cancelled
	touch go
	ends
}

@test "the output of 160 tasks on both streams is whole when the step manager is killed" {
	mkfifo finish # for which the tasks wait without starting programs
	submit <<-'END'
		rota run --overlap -n 160 sh -c 'echo "a$ROTA_TASK_ID"; echo "b$ROTA_TASK_ID" >&2; : <finish
			echo "c$ROTA_TASK_ID"; echo "d$ROTA_TASK_ID" >&2' >out 2>err
		echo "exit $?" >finished
	END
	have() { [ "$(cat out err 2>/dev/null | wc -l)" = "$1" ]; }
	eventually have 320
	kill -KILL "$(step_managers "$job")"
	eventually spools 320
	exec {finish}<>finish
	ends
	exec {finish}>&-
	cmp finished <(echo 'exit 0')
	cmp <(sort out) <({ seq -f a%g 0 159; seq -f c%g 0 159; } | sort)
	cmp <(sort err) <({ seq -f b%g 0 159; seq -f d%g 0 159; } | sort)
}

# breakaway WORD: print the script of a job whose sub-steps leave their session in two ways, in programs with the word in their
# command line, while another sub-step waits.
breakaway() {
	cat <<-END
		[ "\$ROTA_ATTEMPT" = 1 ] || exit 0
		rota run --detach sh -c 'setsid sh -c "sleep 300; : $1" & exec sleep 300' >/dev/null
		rota run --detach sh -c 'setsid sh -c "(trap \"\" TERM; sleep 300; : $1) & sleep 300; : $1" & exec sleep 300' >/dev/null
		rota run --detach --exclusive sleep 1 >/dev/null
		touch begun
		sleep 300
	END
}

# run_away [OPTION OF rota submit]...: submit this job, and wait until it has begun.
run_away() {
	word=rota-word-$BATS_TEST_NUMBER-$$
	submit "$@" < <(breakaway "$word")
	eventually there begun
	all() { [ "$(left "$word" | wc -l)" -ge 3 ]; }
	eventually all
	[ -n "$(step_managers "$job")" ]
}

# is_cleaned: no process of the job is left, and the accounting has the ends of all sub-steps.
is_cleaned() {
	nothing() { [ -z "$(left "$word")" ] && [ -z "$(step_managers "$job")" ]; }
	eventually nothing
	# Who loses its keeper or its node is killed without a word: the step manager may see the end of a task before it is killed itself.
	eventually counted 3 "cancelled' or cause = 'signal"
	gone() { [ -z "$(ls "$SUBSTEPS")" ]; }
	eventually gone
	audit
}

@test "nothing is left of a job that is cancelled" {
	run_away
	rota cancel "$job"
	ends
	is_cleaned
}

@test "nothing is left of a job at its time limit" {
	run_away --time=10
	rota modify --time=0:01 "$job" # the job has run for longer than this already
	ends
	[ "$(sql "select state from rota.job where job_id = $job")" = timeout ]
	is_cleaned
}

# outlasts: a job that goes on after SIGTERM, as its first sub-step does. Its second one ends, and the third one could start then.
outlasts() {
	cat <<-'END'
		trap '' TERM
		rota run --detach --cpus-per-task=3 sh -c 'until [ -e never ]; do sleep 0.3; done'
		rota run --detach sh -c 'trap "exit 3" TERM; touch begun; until [ -e never ]; do sleep 0.3; done'
		rota run --detach touch started
		touch all
		until [ -e never ]; do sleep 0.3; done
	END
}

# is_ended_with_job: sub-steps that ended in the grace time are of the job's end, also as the step manager has them.
is_ended_with_job() {
	[ ! -e started ]
	eventually counted 3 "cancelled' and cause = 'allocation_ended"
	reported() { [ "$(sql "select string_agg(state || ' ' || cause || ' ' || runs, ', ' order by substep) from rota.substep where job_id = $job and substep > 1")" = \
		'cancelled allocation_ended 1, cancelled allocation_ended 0' ]; }
	eventually reported
}

@test "sub-steps of a job that is cancelled are cancelled, and none starts in its grace time" {
	submit < <(outlasts)
	eventually there begun
	eventually there all
	rota cancel "$job"
	ends
	is_ended_with_job
}

@test "sub-steps of a job at its time limit are cancelled, and none starts in its grace time" {
	submit --time=10 < <(outlasts)
	eventually there begun
	eventually there all
	rota modify --time=0:01 "$job"
	ends
	[ "$(sql "select state from rota.job where job_id = $job")" = timeout ]
	is_ended_with_job
}

@test "SIGTERM that somebody sends to the job is for its tasks alone: what waits starts" {
	submit <<-'END'
		trap 'touch term' TERM
		rota run --detach --exclusive sh -c 'trap "" TERM; touch begun; until [ -e go ]; do sleep 0.3; done'
		rota run --detach --exclusive touch later
		touch all
		until [ -e later ]; do sleep 0.3; done
		rota wait .2
	END
	eventually there begun
	eventually there all
	eventually running # the report of the start may come after the files
	rota signal TERM "$job"
	eventually there term
	touch go
	ends
	[ "$status" = 0 ]
	eventually counted 2 completed
}

@test "nothing is left of a job whose keeper dies" {
	run_away
	keeper=$(awk '{ print $4 }' "/proc/$(step_managers "$job")/stat")
	kill -9 "$keeper"
	ends
	is_cleaned
}

@test "nothing is left of a job whose node is lost" {
	run_away
	kill -9 "$(pid_of PostgreSQL)"
	nothing() { [ -z "$(left "$word")" ] && [ -z "$(step_managers "$job")" ]; }
	eventually nothing
	rota up >/dev/null
	ends
	is_cleaned
}

@test "suspend stops the tasks of sub-steps, and resume lets them go on" {
	submit <<-'END'
		rota run sh -c 'until [ -e go ]; do echo >>ticks; sleep 0.1; done'
	END
	eventually there ticks
	eventually running # the report of the start may come after the first line of output
	rota suspend "$job"
	suspended() { [ "$(sql "select state from rota.step where job_id = $job")" = suspended ]; }
	eventually suspended
	stands() { local before=$(wc -l <ticks); sleep 0.5; [ "$(wc -l <ticks)" = "$before" ]; }
	eventually stands
	touch go
	sleep 0.5
	suspended
	rota resume "$job"
	ends
	[ "$status" = 0 ]
	eventually counted 1 completed
}

@test "input that no task reads delays neither cancel nor the end of the client" {
	submit <<-'END'
		yes 2>/dev/null | rota run sleep 300 &
		until rota steps | grep -q running; do sleep 0.1; done
		sleep 0.5
		kill $!
		wait $! || echo "exit $?"
		mkfifo pipe
		rota run sleep 300 <pipe &
		client=$!
		yes 2>/dev/null >pipe &
		until rota steps | grep -q running; do sleep 0.1; done
		sleep 0.5
		kill -9 $client
		until rota steps --json | jq -e 'all(.substeps[]; .state == "cancelled")' >/dev/null; do sleep 0.1; done
		head -c 327780 /dev/zero | rota run sh -c 'sleep 0.5; wc -c'
		echo end
	END
	ends
	[[ $(cat job.out) == *"exit 143"*327780*end ]] || { cat job.out; false; }
}

# ticks: processor time of the step manager, in hundredths of a second.
ticks() {
	awk '{ print $14 + $15 }' "/proc/$(step_managers "$job")/stat"
}

@test "a step manager without a free descriptor waits for one, and serves on" {
	submit <<-'END'
		rota run --detach sh -c 'touch begun; until [ -e go ]; do sleep 0.3; done'
		until [ -e limited ]; do sleep 0.3; done
		exec python3 - <<-'PYTHON'
			import os, socket, time
			def client():
			    s = socket.socket(socket.AF_UNIX)
			    s.connect(os.environ["ROTA_STEP_SOCKET"])
			    return s
			clients = [client() for _ in range(40)]
			open("connected", "w").close()
			while not os.path.exists("measured"):
			    time.sleep(0.05)
			last = client()
			for s in clients:
			    s.close()
			last.sendall(b'{"op": "list", "id": 1}\n')
			answer = last.makefile().readline()
			open("answer", "w").write(answer)
		PYTHON
	END
	eventually there begun
	prlimit --pid "$(step_managers "$job")" --nofile="$(($(ls "/proc/$(step_managers "$job")/fd" | wc -l) + 8))"
	touch limited
	eventually there connected
	before=$(ticks)
	sleep 2
	[ "$(($(ticks) - before))" -lt 50 ]
	touch measured
	eventually test -s answer
	[ "$(jq '.substeps | length' answer)" = 1 ]
	ends
}

@test "another user reaches neither socket nor journal, and root on the node is not needed for sub-steps" {
	need_root
	printf '#!/bin/bash\nid -un >user\nrota run --detach sleep 300\necho "$ROTA_STEP_SOCKET" >socket\nuntil [ -e go ]; do sleep 0.3; done\n' >"$ROTA_TEST_DIR/$EVE/job.sh"
	cd "$ROTA_TEST_DIR/$EVE"
	job=$(as "$EVE" rota submit --parsable --cpus-per-task=2 --output=/dev/null job.sh)
	eventually test -s socket
	eventually counted 1 running
	[ "$(cat user)" = "$EVE" ]
	socket=$(cat socket)
	journal=$SUBSTEPS/$job.0.1
	[ "$(stat -c %u "/proc/$(step_managers "$job")")" = "$(id -u "$EVE")" ]
	[ "$(stat -c '%U %a' "$journal")" = "$EVE 640" ]
	run as "$BOB" env ROTA_STEP_SOCKET="$socket" rota steps
	[ "$status" -ne 0 ]
	run as "$BOB" env ROTA_STEP_SOCKET="$socket" rota run id
	[ "$status" -ne 0 ]
	[[ $output != *uid=* ]]
	run as "$BOB" cat "$journal"
	[ "$status" -ne 0 ]
	for user in "$BOB" "$EVE"; do
		run as "$user" touch "$SUBSTEPS/999.0.1"
		[ "$status" -ne 0 ]
		run as "$user" rm -f "$journal"
		[ -e "$journal" ]
	done
	# A job of the same user may use the socket, as it may signal the processes of that job (docs/step-protocol.md).
	as "$EVE" env ROTA_STEP_SOCKET="$socket" rota run id -un >mine
	[ "$(cat mine)" = "$EVE" ]
	# The files of the step manager, such as its journal, are open to its user alone.
	run as "$BOB" ls "/proc/$(step_managers "$job")/fd"
	[ "$status" -ne 0 ]
	touch go
	rota wait -q "$job"
	eventually counted 2 "completed' or state = 'cancelled"
	gone() { [ ! -e "$journal" ]; }
	eventually gone
}

@test "a journal that its user forges reaches no process and no row of somebody else" {
	need_root
	printf '#!/bin/bash\nrota run --detach sleep 300\necho "$ROTA_STEP_SOCKET" >forger\nuntil [ -e stop ]; do sleep 0.3; done\n' >"$ROTA_TEST_DIR/$EVE/forge.sh"
	cd "$ROTA_TEST_DIR/$EVE"
	job=$(as "$EVE" rota submit --parsable --cpus-per-task=2 --output=/dev/null forge.sh)
	eventually test -s forger
	eventually counted 1 running
	others=$(sql "select count(*) from rota.substep where job_id <> $job")
	as "$BOB" setsid sleep 300 3>&- &
	bob() { pgrep -u "$BOB" -x sleep; }
	eventually bob
	victim=$(bob)
	# The forged sub-step 2 is a copy of sub-step 1 whose task is a process of another user. More lines name another job.
	sed -n '/"substep":1[,}]/s/"substep":1/"substep":2/p' "$SUBSTEPS/$job.0.1" |
		sed -E '/"begin"/s/"pid":[0-9]+,"started":[0-9]+/"pid":'"$victim,\"started\":$(awk '{ print $22 }' "/proc/$victim/stat")/" >forged
	echo '{"kind":"start","job":1,"step":0,"attempt":1,"substep":7,"at":1,"run":1,"node":"n1"}' >>forged
	[ "$(grep -c '"kind":"begin"' forged)" = 1 ]
	as "$EVE" bash -c "cat forged >>/proc/$(step_managers "$job")/fd/4"
	before=$(step_managers "$job")
	as "$EVE" kill -KILL "$before"
	again() { [ -n "$(step_managers "$job")" ] && [ "$(step_managers "$job")" != "$before" ]; }
	eventually again
	socket=$(cat forger)
	as "$EVE" env ROTA_STEP_SOCKET="$socket" rota steps | grep -E '(^|[. ])2 .*running'
	as "$EVE" env ROTA_STEP_SOCKET="$socket" rota signal KILL "$job.script.2" || true
	touch stop
	rota wait -q "$job"
	kill -0 "$victim"
	kill "$victim"
	[ "$(sql "select count(*) from rota.substep where job_id <> $job")" = "$others" ]
	gone() { [ ! -e "$SUBSTEPS/$job.0.1" ]; }
	eventually gone
}
