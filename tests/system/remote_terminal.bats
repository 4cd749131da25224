#!/usr/bin/env bats
# Terminals of sub-steps on other nodes than the first one of their step, typed into a real terminal (tmux).

ROTA_TEST_CLIENT=sanitizers
load helper
load terminal

setup_file() {
	instance_up 3 --cpus 2 --mem 1000 --set node.grace=1
	export FOLDER=$ROTA_TEST_DIR/work EVE=rfar$$
	mkdir "$FOLDER"
	# in_job COMMAND...: run it with the environment of the job that `allocation` has started, on the terminal of the caller.
	cat >"$FOLDER/in_job" <<-'END'
		#!/usr/bin/env python3
		import os, sys
		with open(os.path.join(os.path.dirname(sys.argv[0]), "env"), encoding="utf-8") as text:
		    job = dict(variable.split("=", 1) for variable in text.read().split("\0") if variable)
		os.execvpe(sys.argv[1], sys.argv[1:], job | {"TERM": os.environ.get("TERM", "dumb")})
	END
	chmod 755 "$FOLDER/in_job"
}

teardown_file() {
	instance_down
}

setup() {
	cd "$FOLDER"
	rm -f env begun* over* got* said*
}

teardown() {
	hang_up
	rota cancel -q --me >/dev/null 2>&1 || true
	eventually is_idle
}

# allocation: a job with all three nodes that waits; its number is in `job`. job_runs: wait until its own program has begun, and until the
# database knows that, which rota steps and rota attach ask.
allocation() {
	job=$(rota submit --parsable --nodes=3 --ntasks=3 --cpus-per-task=2 --output=job.out "$@" \
		--wrap='env -0 >env.new; mv env.new env; while :; do sleep 0.1; done')
	job_runs
}

job_runs() {
	eventually test -e env
	eventually has "select state from rota.step where job_id = $job" running
}

# has SQL VALUE: does the database answer this?
has() {
	[[ $(sql "$1") == "$2" ]]
}

# text_has TEXT [OPTION]...: is it on the screen of the last terminal of the job?
text_has() {
	[[ $(rota attach --text "${@:2}" "$job") == *$1* ]]
}

state() {
	rota steps --json "$job" | jq -r ".substeps[${1:-0}] | .state + \" \" + .cause"
}

@test "a shell on another node: window size, Ctrl-C, Ctrl-Z, Ctrl-\\ and the exit code" {
	allocation
	person
	keys "./in_job rota run --pty -w n2 bash --norc --noprofile; echo status \$?" Enter
	see 'bash-'
	keys "PS1='inside> '; stty size; echo on \$ROTA_NODE \$ROTA_SUBSTEP" Enter
	see '30 100'
	see 'on n2 1'
	resize 90 25
	keys 'clear; stty size' Enter
	see '25 90'
	sleeps
	keys C-c
	keys 'echo interrupted $?' Enter
	see 'interrupted 130'
	sleeps
	keys C-z
	see 'Stopped'
	sleeps 'kill %1'
	keys C-\\
	keys 'echo quit $?' Enter
	see 'quit 131'
	keys 'exit 9' Enter
	see 'status 9'
	eventually has "select exit_code, node from acct.substep where job_id = $job" '9|n2'
}

@test "rota shell inside a job, and a terminal that any node may have" {
	allocation
	# The first node is full, so the next one with room has the terminal.
	./in_job rota run --detach -w n1 -c 2 sleep 1000
	./in_job rota run --pty --detach --name=anywhere sh -c 'echo at $ROTA_NODE; exec sleep 1000'
	eventually text_has 'at n[23]'
	person
	keys "./in_job rota shell -c 2; echo status \$?" Enter
	running() { [[ $(state 2) == 'running '* ]]; }
	eventually running
	keys "PS1='inside> '; echo on \$ROTA_NODE" Enter
	see 'on n'
	[[ $(screen) =~ on\ n[23] ]]
	keys 'exit 4' Enter
	see 'status 4'
	refused 'the sub-step needs 1 node; it may use 0 of the allocation' ./in_job rota run --pty -w n9 true
}

@test "a command that ends at once has all of its output, and its exit code" {
	allocation
	for turn in {1..10}; do
		status=0
		./in_job script -qec 'rota run --pty -w n2 sh -c "seq 3000; exit 3"' /dev/null </dev/null >said || status=$?
		[ "$status" = 3 ]
		grep -q 3000 said || { tail -c 300 said; false; }
	done
	status=0
	./in_job script -qec 'rota run --pty -w n3 /nowhere/nothing' /dev/null </dev/null >said || status=$?
	[ "$status" = 127 ]
	grep -q 'could not execute "/nowhere/nothing"' said
}

@test "who leaves finds the same screen again; text and the lines that follow" {
	allocation
	person
	keys "./in_job rota run --pty -w n2 bash --norc --noprofile" Enter
	see 'bash-'
	keys "PS1='inside> '; clear; seq 100; echo last of it" Enter
	see $'100\nlast of it\ninside>'
	run -0 rota attach --text "$job"
	[[ $output == *$'99\n100\nlast of it\ninside>'* && $output != *$'\n7\n'* ]]
	run -0 rota attach --text -n 100 "$job"
	[[ $output == *$'\n7\n'* ]]
	keys Enter '~.'
	see 'rota attach'
	[[ $(state) == 'running '* ]]
	timeout 300 rota attach --follow -n 5 "$job" >got 3>&- &
	follower=$!
	eventually grep -q 'last of it' got
	keys "clear; rota attach $job" Enter
	see $'100\nlast of it'
	keys 'echo one more; exit' Enter
	see 'outside>'
	wait "$follower"
	grep -qx 'one more' got
}

@test "a session has a name and a row; it is warned and ended when it is idle" {
	allocation
	person
	keys "./in_job rota run --pty -w n2 --session=desk --idle-timeout=0:0:16 bash --norc --noprofile; echo status \$?" Enter
	see 'bash-'
	# Output for longer than the limit, which no pause of it reaches on a slow machine.
	keys "PS1='inside> '; clear; for i in 1 2 3 4 5 6; do echo used \$i; sleep 3; done" Enter
	see 'used 1'
	eventually has "select state, idle_timeout_s, jsonb_array_length(attached) from acct.session where name = 'desk'" 'running|16|1'
	[[ $(rota steps --json "$job" | jq -c '.substeps[0] | [.session, .attached[0].user, .idle_s < 16]') == "[\"desk\",\"$(id -un)\",true]" ]]
	run -0 rota attach --text desk
	[[ $output == *'used 1'* ]]
	see 'used 6'
	see 'this session is idle and ends in 8 s'
	keys 'x'
	see 'timeout (idle_timeout)'
	eventually has "select state, cause, last_output_at > last_key_at from acct.session where name = 'desk'" 'timeout|idle_timeout|t'
	# The key came after the output, and the session was idle for the whole limit after it.
	eventually has "select last_key_at - started_at > interval '18 s', idle_s >= 16 from acct.session where name = 'desk'" 't|t'
}

@test "a session starts with nobody attached, and is joined later by two people" {
	allocation
	label=$(./in_job rota run --pty --detach -w n3 --session=later sh -c 'stty size; read -r line; echo "got $line"; stty size; exec sleep 1000')
	[[ $label =~ ^[0-9]+\.script\.1$ ]]
	eventually has "select state, attached, last_key_at is null from acct.session where name = 'later' and job_id = $job" 'running|[]|t'
	eventually text_has '24 80'
	person
	keys "rota attach later" Enter
	see '24 80'
	first=$TMUX_SOCKET
	person
	keys "rota attach later" Enter
	see '24 80'
	eventually has "select jsonb_array_length(attached) from acct.session where name = 'later' and job_id = $job" 2
	keys "hello" Enter
	see 'got hello'
	see '30 100'
	keys Enter '~.'
	see 'find it again'
	hang_up
	TMUX_SOCKET=$first
	see 'got hello'
	eventually has "select jsonb_array_length(attached) from acct.session where name = 'later' and job_id = $job" 1
	keys C-c
	see 'outside>'
}

@test "clients by TLS and relayed ones see no difference" {
	allocation
	for route in tls relay; do
		export ROTA_STEP_ROUTE=$route
		person
		keys "export ROTA_STEP_ROUTE=$route; ./in_job rota run --pty -w n2 --session=by_$route bash --norc --noprofile; echo status \$?" Enter
		see 'bash-'
		keys "PS1='inside> '; clear; echo on \$ROTA_NODE by \$ROTA_SUBSTEP_NAME" Enter
		see 'on n2 by bash'
		keys Enter '~.'
		see 'status 0'
		found() { [[ $(rota attach --text "by_$route") == *'on n2 by bash'* ]]; }
		eventually found
		keys "clear; rota attach by_$route; echo left" Enter
		see 'on n2 by bash'
		resize 90 25
		keys 'clear; stty size' Enter
		see '25 90'
		keys 'exit' Enter
		see 'left'
		hang_up
	done
	unset ROTA_STEP_ROUTE
}

# manager_again INDEX: kill the step manager or agent on the job's node with this index, and wait until there is another one.
manager_again() {
	local before=$(step_managers "$job" "$1")
	kill -KILL "$before"
	restarted() { now=$(step_managers "$job" "$1"); [ -n "$now" ] && [ "$now" != "$2" ]; }
	eventually restarted "$1" "$before"
}

@test "a step manager and an agent that are killed lose no screen, no key that comes later, and no session" {
	allocation
	person
	keys "./in_job rota run --pty -w n2 --session=stays bash --norc --noprofile; echo status \$?" Enter
	see 'bash-'
	keys "PS1='inside> '; clear; echo \$((40 + 2)) before" Enter
	see '42 before'
	turn=0
	for index in 1 0 1; do
		manager_again "$index"
		# Once the person is attached again, keys reach the shell.
		turn=$((turn + 1))
		back() { keys C-u "echo \$((50 + $turn)) after" Enter && sleep 0.5 && [[ $(screen) == *"$((50 + turn)) after"* ]]; }
		eventually back || { screen; rota steps --json "$job"; false; }
		[[ $(rota steps --json "$job" | jq -c '.substeps[0] | [.state, .session, (.attached | length)]') == '["running","stays",1]' ]]
		text_has '42 before' --lines=200
	done
	keys C-u 'exit 6' Enter
	see 'status 6'
	eventually has "select state, exit_code from acct.substep where job_id = $job" 'failed|6'
	eventually has "select state from acct.session where name = 'stays'" failed
}

@test "what a terminal shows while its agent is away is there afterwards" {
	allocation
	person
	./in_job rota run --pty --detach -w n2 sh -c 'touch begun; until [ -e over ]; do sleep 0.3; done; seq 5000; until [ -e over.all ]; do sleep 0.3; done; echo the end; exit 5' >label
	eventually test -e begun
	keys "rota attach $job; echo status \$?" Enter
	attached() { [ "$(rota steps --json "$job" | jq '.substeps[0].attached | length')" = 1 ]; }
	eventually attached
	pid=$(step_managers "$job" 1)
	kill -STOP "$pid"
	touch over
	sleep 0.5
	kill -KILL "$pid"
	see '5000'
	run -0 rota attach --text -n 10000 "$job"
	[ "$(grep -cxE '[0-9]+' <<<"$output")" = 5000 ]
	pid=$(step_managers "$job" 1)
	kill -KILL "$pid"
	touch over.all
	see 'status 5'
	eventually has "select state, exit_code from acct.substep where job_id = $job" 'failed|5'
}

# memory_is_small: have step manager and agents of the job stayed small?
memory_is_small() {
	local pid most=40000
	! sanitized || most=600000
	for pid in $(step_managers "$job"); do
		awk -v most="$most" '/VmHWM/ { print $2; exit $2 > most }' "/proc/$pid/status" || return 1
	done
}

@test "somebody who does not read delays nobody, while 200 MB are written" {
	allocation
	local size=200000000
	! sanitized || size=20000000
	./in_job rota run --pty --detach -w n2 sh -c "read -r line; yes 'some text' | head -c $size; echo over; touch over; while read -r line; do echo \"got \$line.\"; done"
	runs() { [[ $(state) == 'running '* ]]; }
	eventually runs
	person
	keys "rota attach $job" Enter
	frozen=$TMUX_SOCKET
	attached() { [ "$(rota steps --json "$job" | jq '.substeps[0].attached | length')" = "$1" ]; }
	eventually attached 1 || { rota steps --json "$job"; screen; false; }
	client=$(in_instance "rota attach $job")
	kill -STOP "$client"
	person
	keys "rota attach $job" Enter
	eventually attached 2
	keys 'go' Enter
	for _ in {1..400}; do [ ! -e over ] || break; sleep 0.5; done
	see over
	# The first one has not read since: what the second one types comes back all the same.
	for word in one two three; do
		keys "$word" Enter
		see "got $word."
	done
	text_has 'got three.'
	run -0 memory_is_small
	hang_up
	TMUX_SOCKET=$frozen
	[[ $(screen) != *'got three'* ]]
	kill -CONT "$client"
	see 'got three.' # the whole screen, anew
}

@test "a terminal on a node that is lost ends, and so do its viewers" {
	job=$(rota submit --parsable --nodes=3 --ntasks=3 --cpus-per-task=2 --run=tasks --output=job.out --wrap='
		case $ROTA_NODE in
		n1) env -0 >env.new; mv env.new env; while :; do sleep 0.1; done ;;
		n3) until [ -e over ]; do sleep 0.3; done ;;
		n2) while :; do sleep 0.1; done ;;
		esac')
	job_runs
	person
	keys "./in_job rota run --pty -w n3 --session=gone bash --norc --noprofile; echo status \$?" Enter
	see 'bash-'
	touch over
	see 'status 1'
	[ "$(state)" = 'failed lost' ]
	eventually has "select state, cause from acct.session where name = 'gone'" 'failed|lost'
}

@test "a stranger can neither attach nor type" {
	need_root
	users_add "$EVE"
	allocation
	./in_job rota run --pty --detach -w n2 --session=mine sh -c 'echo secret; read -r line; echo "got $line"; exec sleep 1000'
	eventually text_has secret
	name=$(tr '\0' '\n' <"/proc/$(in_instance '[^ ]*rota-terminal .*echo secret.*' | head -n 1)/cmdline" | sed -n 2p)
	[ -n "$name" ]
	cat >eve.py <<-'END'
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.settimeout(20)
		s.connect("\0" + sys.argv[1])
		try:
		    s.sendall(b"a\0\0\0\5l\0\0\0\0i\0\0\0\4bad\n")
		    print(len(s.recv(1)))
		except OSError:
		    print(0)
	END
	[ "$(as "$EVE" python3 eve.py "$name" 2>&1)" = 0 ]
	refused '' as "$EVE" rota attach "$job"
	refused '' as "$EVE" rota attach --text "$job.script.1"
	port=$(jq -r 'select(.kind == "call") | .port' "$ROTA_HOME/node/n1/substeps/$job".*)
	key=$(printf '0%.0s' {1..64})
	for guest in "n2 view 1" "n2 view" "n2 client" "n2"; do
		run -1 as "$EVE" timeout 60 openssl s_client -connect "127.0.0.1:$port" -psk_identity "$guest" -psk "$key" -tls1_3 </dev/null
	done
	users_remove "$EVE"
	run -0 rota attach --text "$job"
	[[ $output == *secret* && $output != *bad* ]]
}
