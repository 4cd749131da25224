#!/usr/bin/env bats
# The present use of CPUs and memory by running sub-steps, on one node and on two.

load helper

setup_file() {
	instance_up 2 --cpus 2 --mem 1000 --set node.grace=1
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	# A program that holds 50 MiB of memory.
	printf '%s\n' 'my $size = 50 << 20; my $held = "x" x $size; sleep 1000;' >hold.pl
}

teardown() {
	[[ -z ${stopped:-} ]] || kill -CONT "$stopped" || true
	rota cancel -q --me >/dev/null 2>&1 || true
	rota wait -q --timeout=60 || true
}

# job [OPTION]... <<END: submit a job that runs these lines and stays; its number is in `job`.
job() {
	{
		echo '#!/bin/bash'
		cat
		echo 'touch begun; exec sleep 1000'
	} >job.sh
	job=$(rota submit --parsable --output=job.out "$@" job.sh)
	eventually test -e begun || { cat job.out; return 1; }
}

# uses JQ: this jq condition holds for the output of `rota steps`.
uses() {
	rota steps --json "$job" | jq -e --argjson busy "$(busy)" ".substeps | $1" >/dev/null
}

# busy: prints the least use of a loop here: half a CPU, or less if other programs of this machine run too.
busy() {
	awk -v cpus="$(nproc)" '{ print 0.5 * ($1 > cpus ? cpus / $1 : 1) }' /proc/loadavg
}

@test "a loop, a sleeper and a program with much memory differ in what they use" {
	job -c 2 <<-'END'
		rota run --detach --overlap --output=none --name=a.program.with.a.name.that.needs.more.room.than.there.is sh -c 'while :; do :; done'
		rota run --detach --overlap --output=none --name=sleeper sleep 1000
		rota run --detach --overlap --output=none --name=big perl hold.pl
		rota run --detach --exclusive --output=none --name=waits sleep 1000
		rota run --overlap --output=none --name=over true
	END
	eventually uses '.[0].cpus_used > $busy and .[1].cpus_used < $busy and .[1].rss_kb < 20480 and .[2].rss_kb > 51200 and .[2].rss_kb < 204800'
	uses '.[0].rss_kb < 20480 and (.[4] | has("cpus_used") or has("rss_kb") | not)'
	run -0 rota steps "$job"
	[[ ${lines[0]} == *STATE*CPU%*MEMORY*ELAPSED* ]]
	[[ ${lines[1]} =~ running\ +1\ +[0-9]+\ +[0-9]+%\ +[0-9.]+[KM] ]] || { echo "$output"; return 1; }
	[[ ${lines[2]} =~ sleeper\ +running\ +1\ +[0-9]+\ +[0-9]%\  ]] || { echo "$output"; return 1; }
	[[ ${lines[5]} =~ over\ +completed\ +1\ +[0-9]+\ +-\ +-\  ]] || { echo "$output"; return 1; }
	COLUMNS=80 run -0 rota steps "$job"
	[[ $output == *CPU%*EXIT* && $(wc -L <<<"$output") -le 80 ]] || { echo "$output"; return 1; }
}

@test "processes that leave the session of their task count, and those in terminals" {
	job -c 2 <<-'END'
		rota run --detach --overlap --output=none --name=apart sh -c 'setsid sh -c "while :; do :; done" & wait'
	END
	eventually uses '.[0].cpus_used > $busy'
	rota cancel -q "$job"
	run rota wait -q --timeout=300
	rm begun
	job -c 2 <<-'END'
		rota run --pty --detach --overlap --name=screen sh -c 'while :; do :; done'
	END
	eventually uses '.[0].cpus_used > $busy'
}

@test "parts on two nodes are summed up, and what is not known is not shown" {
	job --nodes=2 --ntasks=2 --cpus-per-task=2 <<-'END'
		rota run --detach --overlap --output=none --name=far -N 2 -n 2 sh -c 'test $ROTA_TASK_ID = 0 && exec sleep 1000; while :; do :; done'
		rota run --detach --overlap --output=none --name=held -N 2 -n 2 perl hold.pl
	END
	eventually uses '.[0].cpus_used > $busy and .[1].rss_kb > 102400 and .[1].rss_kb < 409600 and .[1].cpus_used < $busy'
	tops() { rota top --substeps --json "$job" | jq -e '(.steps | length) == 2 and ([.steps[] | select(.substeps)] | length) == 1' >/dev/null; }
	eventually tops
	stopped=$(step_managers "$job" 1)
	kill -STOP "$stopped"
	uses '(.[0].state == "running") and (.[0] | has("cpus_used") | not) and (.[1] | has("rss_kb") | not)'
	run -0 rota steps "$job"
	[[ ${lines[1]} =~ far\ +running\ +2\ +[0-9]+\ +-\ +-\  ]] || { echo "$output"; return 1; }
	kill -CONT "$stopped"
	stopped=
	eventually uses '.[0].cpus_used > $busy and .[1].rss_kb > 102400'
}

@test "clients that go before they are answered, and requests that are wrong, harm nobody" {
	job -c 2 <<-'END'
		rota run --detach --overlap --output=none --name=loop sh -c 'while :; do :; done'
		python3 - "$ROTA_STEP_SOCKET" >said <<-'PYTHON'
			import json, socket, sys
			def connect():
			    s = socket.socket(socket.AF_UNIX)
			    s.connect(sys.argv[1])
			    return s
			for n in range(100):
			    connect().sendall(b'{"op":"usage","id":1}\n' * (n % 5 + 1))
			s = connect()
			s.sendall(b'{"op":"usage","id":1,"substep":1}\n{"op":"usage","id":2}\n{"op":"usage","id":3}\n')
			answers = s.makefile()
			for _ in range(3):
			    a = json.loads(answers.readline())
			    print(a["event"], a["id"], a.get("message", "") or [sorted(x) for x in a["substeps"]])
		PYTHON
	END
	[ "$(cat said)" = "$(printf '%s\n' 'error 1 unknown member "substep"' "answer 2 [['cpus_used', 'rss_kb', 'substep']]" \
		"answer 3 [['cpus_used', 'rss_kb', 'substep']]")" ] || { cat said; return 1; }
	eventually uses '.[0].cpus_used > $busy'
}

@test "top shows the sub-steps of a job beside its step" {
	job -c 2 <<-'END'
		rota run --detach --output=none --name=loop sh -c 'while :; do :; done'
		rota run --overlap --output=none --name=over true
	END
	tops() { rota top --substeps --json "$job" | jq -e --argjson busy "$(busy)" '.steps[0] | (.substeps | length == 1) and .substeps[0].name == "loop" and .substeps[0].cpus_used > $busy' >/dev/null; }
	eventually tops
	run -0 rota top --substeps --once "$job"
	[[ ${lines[1]} == "$job.script"* && ${lines[2]} =~ ^\ \ \.1\ loop\ +0:[0-9]+\ +[0-9.]+/1\ +[0-9.]+[KM] ]] || { echo "$output"; return 1; }
	run -2 rota top --substeps
	[[ $output == *'name the jobs for --substeps'* ]]
}
