#!/usr/bin/env bats
# Terminals: `rota shell`, `rota run --pty` and `rota attach`, typed into a real terminal (tmux).

ROTA_TEST_CLIENT=sanitizers
load helper
load terminal

setup_file() {
	instance_up 1 --cpus 2
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	hang_up
	[[ -z ${limited:-} ]] || rota admin partition change main --idle_timeout=none
	rota cancel -q --me >/dev/null 2>&1 || true
	rota wait -q --timeout=60 || true
}

# runs NAME: wait until the sub-step of the job of this name runs; the job's number is in `job`.
runs() {
	for _ in {1..1200}; do
		job=$(rota queue --json | jq -r ".jobs[] | select(.name == \"$1\") | .job_id")
		[[ -z $job || $(rota steps --json "$job" 2>/dev/null | jq -r '.substeps[0].state') != running ]] || return 0
		sleep 0.1
	done
	rota queue >&2; rota sql -c "select * from acct.job" >&2
	rota steps "$job" >&2 || true
	screen >&2
	return 1
}

@test "a shell: window size, Ctrl-C, Ctrl-Z, Ctrl-\\ and the exit code" {
	person
	keys "rota shell -J work; echo status \$?" Enter
	runs work
	keys "PS1='inside> '; stty size; echo step \$ROTA_STEP_LABEL" Enter
	see '30 100'
	see '.script'
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
	run rota wait --timeout=300
	[[ $(rota sql -At -c "select exit_code from acct.job where name = 'work'") == 9 ]]
}

@test "a person who leaves finds the same screen again, as do others and scripts" {
	person
	keys "rota shell -J again" Enter
	runs again
	keys "PS1='inside> '; clear; seq 3; echo last of it" Enter
	see $'3\nlast of it\ninside>'
	runs again
	run -0 rota attach --text "$job"
	[[ $output == *$'1\n2\n3\nlast of it\ninside>'* ]]
	keys Enter '~.'
	see 'rota attach'
	[[ $(rota queue --json | jq -r '.jobs[0].state') == running ]]
	keys "clear; rota attach $job" Enter
	see $'3\nlast of it'
	keys 'exit' Enter
	see 'outside>'
	run -0 rota wait --timeout=300
}

@test "a closed terminal leaves the program running, unless --kill-on-hangup is given" {
	person
	# The command prints all the time, so the client cannot write when the terminal is gone.
	keys "rota run --pty --name=stays sh -c 'while echo more; do sleep 0.01; done'" Enter
	runs stays
	hang_up
	bash -c 'rota attach "$0" >/dev/full' "$job" </dev/null 2>"$BATS_TEST_TMPDIR/attached" || true # nor does somebody who cannot write
	grep -q 'could not write the output' "$BATS_TEST_TMPDIR/attached"
	run rota steps --json "$job"
	echo "$output" >&2
	[ "$status" = 0 ]
	[[ $(jq -r '.substeps[0].state' <<<"$output") == running ]]
	rota cancel -q "$job"
	run rota wait --timeout=300 "$job"
	person
	keys "rota run --pty --kill-on-hangup --name=goes sleep 1004" Enter
	runs goes
	hang_up
	run rota wait --timeout=300
	[[ $(rota queue --json | jq '.jobs | length') == 0 ]]
}

@test "an editor works, and its screen is there for who attaches" {
	person
	keys "rota run --pty --name=edits vi -u NONE -N text" Enter
	see '"text" [New]'
	keys 'ihello' Escape ':set number' Enter
	see '1 hello'
	runs edits
	run -0 rota attach --text "$job"
	[[ $output == *'1 hello'* ]]
	keys ':wq' Enter
	see 'outside>'
	run -0 rota wait --timeout=300
}

# has SQL VALUE: does the database answer this?
has() {
	[[ $(sql "$1") == "$2" ]]
}

@test "a session has a name, by which it is found, and a row that says who has it" {
	person
	keys "rota shell --session=desk; echo status \$?" Enter
	runs shell
	keys "PS1='inside> '; clear; echo first seen" Enter
	see 'first seen'
	keys "$ROTA_BIN/rota steps --sessions" Enter
	see "$(id -un)@$(hostname)"
	eventually has "select state, idle_timeout_s is null, jsonb_array_length(attached) from acct.session where name = 'desk'" 'running|t|1'
	keys Enter '~.'
	see 'rota attach'
	eventually has "select attached, last_key_at > started_at, last_output_at > started_at, cpus from acct.session where name = 'desk'" '[]|t|t|1'
	run -0 rota acct --sessions --json --states=running
	[[ $(jq -c '[.rows[] | [.session, .state, .attached, .cpus]]' <<<"$output") == '[["desk","running",null,1]]' ]]
	keys "clear; rota shell --session=desk 2>said" Enter
	eventually grep -q 'session desk runs already as .*; attaching to it' "$BATS_TEST_TMPDIR/said"
	see 'first seen'
	keys Enter '~.'
	eventually grep -q 'find it again' "$BATS_TEST_TMPDIR/said"
	[[ $(rota queue --json | jq '.jobs | length') == 1 ]]
	run -0 rota attach --text desk
	[[ $output == *'first seen'* ]]
	keys "clear; rota attach desk" Enter
	see 'first seen'
	keys "exit" Enter
	see 'outside>'
	run -0 rota wait --timeout=300
	run -1 rota attach desk
	[[ $output == *'no session "desk" of yours runs'* ]]
	run -2 rota run --session=desk true
	[[ $output == *'--session needs --pty'* ]]
	run -2 rota shell --session=7up
	[[ $output == *'must begin with a letter'* ]]
}

@test "a name of two sessions is refused with both of them" {
	person
	keys "rota run --pty --name=twice sleep 1005" Enter
	runs twice
	first=$job
	keys '~.'
	see 'rota attach'
	keys "clear; rota run --pty --name=twice sleep 1006" Enter
	both() { has "select count(*) from acct.session where name = 'twice' and state = 'running'" 2; }
	eventually both
	run -1 rota attach twice
	[[ $output == *'several running sessions are named "twice"'*"$first.script.1"* ]] || { echo "$output"; return 1; }
	rota queue --json | jq -r '.jobs[].job_id' | xargs rota cancel -q
	run rota wait --timeout=300
}

@test "an idle session is warned and ended, one that is used is not" {
	person
	keys "rota shell --session=lazy --idle-timeout=0:0:10; echo status \$?" Enter
	keys "PS1='inside> '; clear; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo used \$i; sleep 1; done" Enter # idle time begins with the shell
	runs shell
	see 'used 12'
	see 'this session is idle and ends in 5 s'
	keys 'x'
	sleep 5.5 # longer than that, and far shorter than the limit
	[[ $(rota steps --json "$job" | jq -r '.substeps[0].state') == running ]]
	see 'timeout (idle_timeout)'
	run rota wait --timeout=300
	eventually has "select state, cause from acct.session where name = 'lazy'" 'timeout|idle_timeout'
	eventually has "select state, cause from acct.substep where job_id = $job" 'timeout|idle_timeout'
}

@test "a session starts with nobody attached, and is joined later" {
	label=$(rota run --pty --detach --session=later sh -c 'stty size; read -r line; echo "got $line"; stty size; exec sleep 1000')
	[[ $label =~ ^[0-9]+\.script\.1$ ]]
	eventually has "select state, attached, last_key_at is null from acct.session where name = 'later'" 'running|[]|t'
	run -0 --separate-stderr rota run --pty --detach --session=later true
	[[ $output == "$label" && $stderr == *"session later runs already as $label" ]]
	shows() { [[ $(rota attach --text later) == *'24 80'* ]]; }
	eventually shows
	person
	keys "rota attach later" Enter
	see '24 80'
	eventually has "select jsonb_array_length(attached) from acct.session where name = 'later'" 1
	keys "hello" Enter
	see 'got hello'
	see '30 100'
	keys Enter '~.'
	see 'find it again'
	[[ $(rota steps --json "${label%.*}" | jq -r '.substeps[0].state') == running ]]
	run -2 rota run --pty --detach --kill-on-hangup true
	[[ $output == *'--kill-on-hangup cannot be combined with --detach'* ]]
}

@test "a script starts sessions with nobody attached" {
	job=$(rota submit --parsable -n 2 --output=/dev/null --wrap='rota run --pty --detach --name=within sleep 1000 >names; touch begun; exec sleep 1000')
	eventually test -e begun
	[[ $(<names) == "$job.script.1" ]]
	attached() { rota steps --json "$job" | jq -c '.substeps[0] | [.state, .session, .attached]'; }
	alone() { [[ $(attached) == '["running","within",[]]' ]]; }
	eventually alone
	person
	keys "rota attach $job.script.1; echo status \$?" Enter
	joined() { [[ $(attached) == *'"user"'* ]]; }
	eventually joined
	keys C-c
	see 'status 130'
}

# limits JOB: prints the idle limits of the running sessions of a job, and where each comes from.
limits() {
	rota steps --json "$1" | jq -r '[.substeps[] | select(.session) | "\(.idle_timeout_s) \(.idle_timeout_of)"] | join(",")'
}

@test "of the idle limits of session, job, quality of service and partition, the shortest counts" {
	limited=1
	rota admin partition change main --idle_timeout=1:00:00
	rota admin qos create brief --idle_timeout=40
	cat >job.sh <<-'END'
		#!/bin/bash
		for own in "" --idle-timeout=10 --idle-timeout=2:00:00; do
			rota run --pty --detach --overlap $own sleep 1000
		done
		touch "begun.$ROTA_JOB_NAME"
		sleep 1000
	END
	# Variables that the user exports under the names of the keeper's variables change nothing.
	export ROTA_STEP_IDLE='86400 nobody' ROTA_STEP_PORTS=none ROTA_STEP_HEAD='nowhere 1 none -'
	rota submit --parsable -J part --output=/dev/null job.sh >>jobs
	rota submit --parsable -J job --output=/dev/null --idle-timeout=30 --qos=brief job.sh >>jobs
	eventually test -e begun.part
	eventually test -e begun.job
	part=$(rota queue --json | jq -r '.jobs[] | select(.name == "part") | .job_id')
	job=$(rota queue --json | jq -r '.jobs[] | select(.name == "job") | .job_id')
	eventually has "select string_agg(state, ' ') from acct.step where job_id in ($part, $job)" 'running running'
	[[ $(limits "$part") == '3600 partition main,600 session,3600 partition main' ]]
	[[ $(limits "$job") == '1800 job,600 session,1800 job' ]]
	run -0 rota steps --sessions "$part"
	[[ $output == *'1:00:00  partition main'* ]] || { echo "$output"; return 1; }
	run -0 rota show "$job.script"
	[[ $output == *'Idle limit'*'30:00'* ]] || { echo "$output"; return 1; }
	eventually has "select string_agg(idle_timeout_s || ' ' || idle_timeout_of, ',' order by substep) from acct.session where job_id = $part" \
		'3600 partition main,600 session,3600 partition main'
	rota cancel -q --me
	run rota wait -q --timeout=300
	rota submit --parsable -J qos --output=/dev/null --idle-timeout=50 --qos=brief job.sh >>jobs
	eventually test -e begun.qos
	qos=$(rota queue --json | jq -r '.jobs[] | select(.name == "qos") | .job_id')
	eventually has "select state from rota.step where job_id = $qos" running
	[[ $(limits "$qos") == '2400 qos brief,600 session,2400 qos brief' ]]
	refused '"soon" is no value for "idle_timeout"' rota admin partition change main --idle_timeout=soon
	refused '"-1" is no value for "idle_timeout_s"' rota admin qos change brief --idle_timeout_s=-1
	refused '--idle-timeout' rota submit --idle-timeout=soon job.sh
}

@test "the idle limit of a partition ends a session that asked for a longer one" {
	limited=1
	rota admin partition change main --idle_timeout=0:0:6
	person
	keys "rota shell --session=ruled --idle-timeout=1:00:00; echo status \$?" Enter
	see '(limit of partition main); press a key to keep it'
	see 'timeout (idle_timeout, limit of partition main)'
	eventually has "select state, cause, idle_timeout_s, idle_timeout_of from acct.session where name = 'ruled'" 'timeout|idle_timeout|6|partition main'
	run rota wait --timeout=300
	run -0 rota acct --sessions --me
	[[ $output == *'LIMIT OF'*'partition main'* ]]
}
