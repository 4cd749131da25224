#!/usr/bin/env bats
# Sub-steps inside an allocation: `rota run`, `rota run --each`, `rota steps`, the example, and the recipes of docs/inside.md.

ROTA_TEST_CLIENT=sanitizers
load helper
load inside

INSIDE=(--cpus-per-task=4 --mem=200)

setup_file() {
	printf '#!/bin/sh\n[ ! -e "%s" ] || sleep 0.5\n' "$BATS_FILE_TMPDIR/slow" >"$BATS_FILE_TMPDIR/prolog"
	chmod 755 "$BATS_FILE_TMPDIR/prolog"
	instance_up 1 --cpus 4 --mem 2000 --set node.grace=1 --set node.site_prolog="$BATS_FILE_TMPDIR/prolog"
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

@test "outside a job: rota run gets an allocation, and gives it back" {
	run -0 --separate-stderr rota run sh -c 'echo "$ROTA_STEP_LABEL $ROTA_SUBSTEP $ROTA_CPUS"'
	[[ $output =~ ^([0-9]+)\.script\ 1\ 1$ ]]
	job=${BASH_REMATCH[1]}
	run -0 rota wait --timeout=300 "$job"
	[[ $output == "$job: completed" ]]
	[ "$(superuser "select retry_key is not null from rota.job where job_id = $job")" = t ] # a request that is sent again makes one job
	touch "$BATS_FILE_TMPDIR/slow"
	run -7 rota run --name=seven sh -c 'exit 7'
	rm "$BATS_FILE_TMPDIR/slow"
	run -137 rota run -n 2 sh -c 'kill -9 $$'
	# On a slow machine, standard error has messages that the job waits.
	run -0 --separate-stderr bash -c 'echo text | rota run cat'
	[[ $output == text ]]
	run -0 --separate-stderr bash -c 'seq 3 | rota run --each echo line | sort'
	[[ $output == $'line 1\nline 2\nline 3' ]]
	run -1 rota run -c 5 true
	[[ $output == *"has at most 4"* ]]
	run -0 rota wait --timeout=300
	[[ $(rota sql -At -c "select exit_code from acct.job where name = 'seven'") == 7 ]]
}

@test "outside a job: a client that dies gives its allocation back, one that waits can be stopped" {
	rota run sleep 60.$$ 3>&- &
	client=$!
	eventually pgrep -fx "sleep 60\.$$"
	kill -9 "$client"
	quiet() { [[ $(rota queue --json | jq '.jobs | length') == 0 ]]; }
	eventually quiet
	[[ $(rota sql -At -c "select state, exit_code, signal from acct.job order by job_id desc limit 1") == *143* ]]
	run -1 pgrep -fx "sleep 60\.$$"
	job=$(rota submit --parsable -c 4 --wrap 'sleep 60')
	runs() { [[ $(rota show --json "$job" | jq -r '.jobs[0].state') == running ]]; }
	eventually runs
	rota run hostname 2>waits 3>&- &
	client=$!
	eventually grep -qs "waits" waits
	kill -TERM "$client"
	wait "$client" || true
	rota cancel -q "$job" || true
	run rota wait --timeout=300
	quiet
}

@test "outside a job: misuse says what to do next" {
	run -2 env -u ROTA_STEP_SOCKET rota steps
	run -1 rota steps 999
	[[ $output == *"999"* ]]
	run -2 rota run
	[[ $output == "rota run: name a command: rota run COMMAND"* ]]
	run -2 rota run --ntasks=0 true
	run -2 rota run --resume true
}

@test "a sub-step has the output, the input and the exit status of its command" {
	inside <<-'END'
		rota run printf 'no newline'
		echo
		printf 'a\nb\n' | rota run cat
		rota run sh -c 'exit 3' || echo "exit $?"
		rota run sh -c 'kill -9 $$' 2>&1 || echo "exit $?"
		rota run ./none 2>/dev/null || echo "exit $?"
		X=1 rota run sh -c 'echo "$X $ROTA_SUBSTEP"'
		X=1 rota run --export=PATH sh -c 'echo "${X-unset}"'
	END
	[ "$output" = "$(printf '%s\n' 'no newline' a b 'exit 3' "rota run: $job.script.4: failed (SIGKILL)" 'exit 137' 'exit 127' '1 6' unset)" ] ||
		{ echo "$output"; false; }
	[ "$status" = 0 ]
}

@test "tasks: labels, files, several programs, the highest exit code" {
	inside <<-'END'
		rota run -n 3 --label sh -c 'echo "$ROTA_TASK_ID"; printf end' | sort
		rota run -n 2 --output=out.%t sh -c 'echo "$ROTA_TASK_ID"; echo err >&2'
		cat out.0 out.1
		rota run -n 3 --output=1 sh -c 'echo "$ROTA_TASK_ID"'
		rota run -n 3 sh -c 'exit "$ROTA_TASK_ID"' 2>/dev/null || echo "exit $?"
		printf '1 echo one %%t\n* echo other\n' >programs
		rota run -n 3 --label --multi-prog programs | sort
	END
	[ "$output" = "$(printf '%s\n' '0: 0' '0: end' '1: 1' '1: end' '2: 2' '2: end' 0 err 1 err 1 'exit 2' '0: other' '1: one 1' '2: other')" ] ||
		{ echo "$output"; false; }
}

@test "large output and input come whole" {
	inside <<-'END'
		head -c 5000000 /dev/urandom >data
		rota run cat data | cmp - data && echo same
		rota run cat <data | cmp - data && echo same
		echo data | rota run --each cat | cmp - data && echo same
	END
	[ "$output" = "$(printf '%s\n' same same same)" ] || { echo "$output"; false; }
}

@test "detached sub-steps, dependencies, and verbs about sub-steps" {
	inside <<-'END'
		rota run --detach --name=long sleep 100
		rota run --detach --name=first sh -c 'exit 4' >/dev/null
		rota wait .2 || echo "exit $?"
		rota run --after=first true 2>&1 || echo "exit $?"
		rota run --after=first:any echo then
		rota signal USR1 "$ROTA_STEP_LABEL.1"
		rota wait -q .1 || echo "exit $?"
		rota steps --json | jq -c '[.substeps[] | .name, .state]'
		rota run --detach sleep 100 >/dev/null
		rota cancel .5
		rota wait .5 || true
		rota steps | head -n 2
	END
	[[ $output == "$job.script.1
$job.script.2: failed (exit code 4)
exit 4
rota run: $job.script.3: dependency_failed
exit 1
then
$job.script.1: signalled
exit 138
[\"long\",\"failed\",\"first\",\"failed\",\"true\",\"dependency_failed\",\"echo\",\"completed\"]
$job.script.5: cancelled
$job.script.5: cancelled"*"ID  NAME "*" EXIT"* ]] || { echo "$output"; false; }
}

@test "each: a command for each line, failures, and what is left after them" {
	inside <<-'END'
		seq 200 | rota run --each sh -c 'echo "$1"' sh | sort -n | cksum
		seq 200 | cksum
		printf 'echo a b\nexit 3\n\nkill $$\n' | rota run --each 2>&1 || echo "exit $?"
		seq 6 >lines
		rota run --each --resume -a lines sh -c 'echo "$1" >>ran; test "$1" != 4' sh {} 2>/dev/null
		rota run --each --resume -a lines sh -c 'echo "$1" >>ran; test "$1" != 4' sh {} 2>/dev/null
		sort ran | tr '\n' ' '
		ls rota-*.done
		echo 'x y' | rota run --each --label echo '<{}>' -{}-
	END
	mapfile -t got <<<"$output"
	[ "${got[0]}" = "${got[1]}" ]
	[ "$(printf '%s\n' "${got[@]:2}")" = "$(printf '%s\n' 'a b' 'rota run: 2 of 3 lines failed' '  line 2: failed (exit code 3): exit 3' \
		'  line 4: failed (SIGTERM): kill $$' 'exit 1' "1 2 3 4 4 5 6 rota-$job.script.done" '1: <x y> -x y-')" ] ||
		[ "$(printf '%s\n' "${got[@]:2}" | sort)" = "$(printf '%s\n' 'a b' 'rota run: 2 of 3 lines failed' '  line 2: failed (exit code 3): exit 3' \
			'  line 4: failed (SIGTERM): kill $$' 'exit 1' "1 2 3 4 4 5 6 rota-$job.script.done" '1: <x y> -x y-' | sort)" ] || { echo "$output"; false; }
}

@test "SIGTERM cancels, and a waiting sub-step says why once" {
	inside <<-'END'
		rota run sh -c 'touch begun; exec sleep 100' &
		until [ -e begun ]; do sleep 0.3; done
		kill $!
		wait $! || echo "exit $?"
		rota run --detach --exclusive sh -c 'until [ -e over ]; do sleep 0.3; done' >/dev/null
		rota run echo then >then 2>waits &
		until [ -s waits ]; do sleep 0.3; done
		touch over
		wait
		cat waits then
	END
	[ "$output" = "$(printf '%s\n' "rota run: $job.script.1: cancelled (SIGTERM)" 'exit 143' "rota run: $job.script.3 waits: cpus" then)" ] ||
		{ echo "$output"; false; }
}

@test "SIGTERM ends a client whose output nobody reads" {
	mkfifo unread
	exec 8<>unread
	rota run --name=flood yes >unread 2>said 8<&- &
	client=$!
	full() { python3 -c 'import fcntl, struct, sys, termios; sys.exit(struct.unpack("i", fcntl.ioctl(8, termios.FIONREAD, bytes(4)))[0] < 60000)'; }
	eventually full || { cat said; kill -KILL "$client"; false; }
	kill -TERM "$client"
	ended() { ! kill -0 "$client" 2>/dev/null; }
	eventually ended || { kill -KILL "$client"; false; }
	wait "$client" || status=$?
	[ "$status" = 143 ]
	grep -q 'cancelled (SIGTERM)' said
	exec 8<&-
}

@test "a task that writes without a pause fills no memory, with a reader that reads nothing and without one" {
	inside <<-'END'
		mkfifo unread
		exec 8<>unread
		rota run --overlap bash -c 'echo $$ >read.pid; exec yes' >unread 2>&1 8<&- &
		rota run --overlap --detach bash -c 'echo $$ >alone.pid; exec yes' >/dev/null
		for task in read alone; do
			until [ -s $task.pid ] && [ "$(sed -n 's/^wchar: //p' /proc/$(<$task.pid)/io)" -gt 500000000 ]; do sleep 0.1; done 2>/dev/null
		done
		kill $(cat read.pid alone.pid)
		rota wait -q .1 .2 || true
		rota steps --json | jq -c '[.substeps[] | .signal]'
	END
	[ "$output" = '[15,15]' ] || { echo "$output"; false; }
}

@test "a client that reads gets all of the output, though its task writes faster" {
	inside --mem=1500 <<-'END'
		truncate -s 300M large
		rota run cat large | wc -c
		rota run cat large | { sleep 0.3; wc -c; }
	END
	[ "$output" = $'314572800\n314572800' ] || { echo "$output"; false; }
}

@test "output is there while its task runs" {
	inside <<-'END'
		rota run sh -c 'echo early; until [ -e seen ]; do sleep 0.3; done; echo late' | while read -r line; do echo "$line"; touch seen; done
		rota run --detach --output=none true >/dev/null
		number=$(rota run --detach sh -c 'echo alone; until [ -e over ]; do sleep 0.3; done')
		until rota attach "$number" | while read -r line; do echo "$line"; touch over; done; do sleep 0.1; done
	END
	[ "$output" = $'early\nlate\nalone' ] || { echo "$output"; false; }
}

@test "a step manager that is killed loses and doubles nothing" {
	inside <<-'END'
		kill_manager() { # that of this step alone, and no process that is about to become a task (PF_FORKNOEXEC)
			local pid flags
			for pid in $(pgrep -x rota-stepmgr); do
				grep -qzxF "ROTA_STEP_SOCKET=$ROTA_STEP_SOCKET" "/proc/$pid/environ" && read -r _ _ _ _ _ _ _ _ flags _ <"/proc/$pid/stat" &&
					[ $((flags & 0x40)) = 0 ] && kill -KILL "$pid" && echo killed
			done 2>/dev/null
		}
		rota run sh -c 'for i in 1 2 3 4 5 6; do echo "$i"; echo "$i" >>ran; sleep 0.5; done' >out &
		until [ -s ran ]; do sleep 0.3; done
		kill_manager
		seq 40 | rota run --each sh -c 'echo "$1" >>each; sleep 0.1; echo "$1"' sh >each.out &
		until [ -s each ]; do sleep 0.3; done
		kill_manager
		wait
		cmp <(sort -n each.out) <(seq 40) && cmp <(sort -n each) <(seq 40) && echo once
		cmp ran <(seq 6) && cmp out <(seq 6) && echo once
	END
	[ "$output" = "$(printf '%s\n' killed killed once once)" ] || { echo "$output"; false; }
}

@test "the example without a library" {
	cp "$ROTA_SOURCE/examples/substeps.py" .
	inside <<<'python3 substeps.py'
	[ "$(sort <<<"$output")" = "$(printf '%s\n' '1.0: hello' '1: completed, exit code 0' '2.0: task 0' '2.1: task 1' '2: completed, exit code 0' \
		'3.0: failing' '3.1: failing' '3.2: failing' '3: failed, exit code 3' | sort)" ] || { echo "$output"; false; }
}

@test "every recipe of the page works, and prints what the page says" {
	expected=('2 CPUs' '      8 7' $'SECOND\nfirst' 6 $'seed=1 rate=0.1\nseed=1 rate=0.2\nseed=2 rate=0.1\nseed=2 rate=0.2\nseed=3 rate=0.1\nseed=3 rate=0.2'
		$'rota run: 20 lines had completed before\n20' $'0: I am 0 of 3\n1: I am 1 of 3\n2: I am 2 of 3' $'0: leader\n1: worker 1\n2: worker 2'
		$'JOB.script.1\nJOB.script.2\nrota run: JOB.script.3 waits: dependency\nmesh\ngrid'
		$'fit 1 of mesh\nfit 2 of mesh\nfit 3 of mesh\nfit 4 of mesh' $'job GROWTH grows JOB.script\n4' 285)
	count=0
	while IFS= read -r -d '' script; do
		mkdir "$count"
		cd "$count"
		# The message that mesh is waited for comes a second after the client has started, however late that was.
		printf '%s' "${script/sleep 3;/until grep -qs waits out; do sleep 0.1; done;}" >recipe
		job=$(rota submit --parsable --output=out recipe)
		rota wait -q --timeout=300 "$job" || { rota show "$job"; rota why "$job"; cat recipe out; false; }
		wanted=${expected[count]//JOB/$job}
		wanted=${wanted//GROWTH/$(rota sql -At -c "select max(job_id) from acct.growth where grown_job_id = $job")}
		[ "$(grep -v ' waits: cpus$' out)" = "$wanted" ] || { cat recipe out; false; } # a slow machine prints this message
		cd ..
		count=$((count + 1))
	done < <(awk '$0 == "```sh" { on = 1; next } on && $0 == "```" { on = 0; printf "%c", 0; next } on' "$ROTA_SOURCE/docs/inside.md")
	[ "$count" = "${#expected[@]}" ]
}
