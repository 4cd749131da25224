#!/usr/bin/env bats
# The real launcher and its keepers, without a database: launcher_driver takes procmgrd's place, signs launch requests with the
# instance's key, and reads the journal. As root, tasks run as temporary users; otherwise as the caller.

bats_require_minimum_version 1.5.0

load launcher

setup_file() {
	driver_up
}

teardown_file() {
	driver_down
}

@test "a signed launch request runs, and the journal has all records in order" {
	launch 100 env:FOO=bar gres=gpu:0+3 account=physics <<-'END'
		#!/bin/bash
		echo "$ROTA_JOB_ID $ROTA_STEP $ROTA_NODE $ROTA_TASK_ID $SLURM_JOB_ID $FOO $CUDA_VISIBLE_DEVICES $USER $PWD"
		echo oops >&2
		exit 3
	END
	record 100 end
	[ -z "$(field drain)" ]
	run drive journal 100.0.1
	kinds=$(for line in "${lines[@]}"; do sed -E 's/^kind=([a-z]*).*/\1/' <<<"$line"; done | tr '\n' ' ')
	[ "$kinds" = "used keeper hook run task done hook end " ]
	record 100 done
	[[ $output == *"exit=3 signal=0 cause=exit outcome=fail"* ]]
	record 100 task
	[ "$(field cause)" = exit ]
	[ "$(field max_rss_kb)" -gt 100 ]
	[ "$(field wchar)" -gt 10 ]
	run cat "$DIR/work/100.out"
	[ "${lines[0]}" = "100 script n1 0 100 bar 0,3 $WHO $DIR/work" ]
	[ "${lines[1]}" = oops ]
	[ "$(stat -c %U "$DIR/work/100.out")" = "$WHO" ]
	gone "$DIR/node/n1/spool/100.0.1"
}

@test "a forged, altered, expired or misdirected order is refused" {
	echo '#!/bin/true' | launch 110 attack:signature
	record 110 refused
	[[ $output == *"reason=the signature does not match the launch request"* ]]
	echo '#!/bin/true' | launch 111 account=alpha attack:from=alpha attack:to=betas
	record 111 refused
	[[ $output == *"reason=the signature does not match"* ]]
	echo '#!/bin/true' | launch 112 expires_at=1000
	record 112 refused
	[[ $output == *"reason=the launch request expired"*"again=0 retry=1 drain="* ]]
	echo '#!/bin/true' | launch 113 node=n2 nodes=n2
	record 113 refused
	[[ $output == *'reason=the launch request is for node "n2"'* ]]
	echo '#!/bin/true' | launch 114 attack:claim=115
	record 115 refused
	[[ $output == *"reason=the launch request is for another step"* ]]
	run drive journal
	[[ $output != *"kind=used job=11"* ]]
	[ ! -e "$DIR/work/110.out" ]
}

@test "a launch request is accepted once" {
	echo '#!/bin/true' | launch 120
	record 120 end
	echo '#!/bin/true' | launch 120
	record 120 refused
	[[ $output == *"reason=the launch request was accepted before again=1"* ]]
	[ "$(drive journal 120.0.1 used | wc -l)" = 1 ]
}

@test "an order for another uid is refused where the launcher is not root" {
	[ "$EUID" != 0 ] || skip "the launcher is root here"
	echo '#!/bin/true' | launch 125 uid=0 user=root
	record 125 refused
	[[ $output == *"can start steps of other users"* ]]
}

@test "an order without a host list runs on the node that gets it" {
	launch 130 nodes= <<-'END'
		#!/bin/sh
		echo "$ROTA_NODELIST $ROTA_NNODES"
	END
	record 130 end
	[ "$(cat "$DIR/work/130.out")" = "n1 1" ]
}

@test "malformed messages are ignored" {
	drive raw 'op=99:launch'
	drive raw "$(head -c 100000 /dev/zero | tr '\0' x)"
	drive send op=nonsense
	drive send op=control job=1 step=0 attempt=1 action=explode
	drive send op=control job=x step=0 attempt=1 action=kill
	drive send op=control job=1 step=0 attempt=1 action=signal signal=9999
	drive send op=launch job=1
	drive send op=truncate position=-5
	drive send op=launch job=140 step=0 attempt=1 order=x signature=y
	record 140 refused
	echo '#!/bin/true' | launch 141
	record 141 end
}

@test "output is opened as the user, so the kernel refuses files that the user may not write" {
	as_root
	echo precious >"$DIR/precious"
	su "$WHO" -c "ln -s '$DIR/precious' '$DIR/work/link.out'"
	echo '#!/bin/true' | launch 150 "output=$DIR/work/link.out"
	record 150 done
	[[ $output == *"cause=launch outcome=fail message=could not open output file \"$DIR/work/link.out\": Permission denied"* ]]
	[ "$(cat "$DIR/precious")" = precious ]
	echo '#!/bin/true' | launch 151 "output=/etc/rota-test-%j"
	record 151 done
	[[ $output == *"cause=launch"*"Permission denied"* ]]
	[ ! -e /etc/rota-test-151 ]
	echo '#!/bin/true' | launch 152 "input=/etc/shadow"
	record 152 done
	[[ $output == *"could not open input file"*"Permission denied"* ]]
}

@test "names of jobs and steps cannot lead output elsewhere" {
	launch 155 "job_name=../../up" "output=$DIR/work/%x-%3j-%s-%%.out" <<-'END'
		#!/bin/sh
		echo here
	END
	record 155 end
	[ "$(cat "$DIR/work/.._.._up-155-0-%.out")" = here ]
}

@test "the user's environment does not reach the site's hooks" {
	launch 160 env:LD_PRELOAD=/tmp/evil.so env:BASH_ENV=/tmp/evil.sh env:PATH=/tmp/evil env:IFS=x 'env:BASH_FUNC_echo%%=() { evil; }' <<-'END'
		#!/bin/sh
		echo "$PATH"
	END
	record 160 end
	[ -z "$(field drain)" ]
	run cat "$DIR/prolog.160.log"
	[[ $output != *evil* ]]
	[[ $output == *"PATH=/usr/local/sbin:"* ]]
	[ "${lines[-1]}" = "$(id -u)" ]
	grep -q evil "$DIR/work/160.out"
}

@test "a task that ignores SIGTERM is killed after the grace time" {
	launch 170 grace_s=1 <<-'END'
		#!/bin/bash
		trap '' TERM
		echo $$
		while :; do sleep 0.1; done
	END
	record 170 run
	printed 170 .
	control 170 kill cause=cancelled
	record 170 done
	[[ $output == *"signal=9 cause=cancelled outcome=cancel"* ]]
	run ! lives "$(cat "$DIR/work/170.out")"
	record 170 end
}

@test "a task that heeds SIGTERM may clean up" {
	launch 171 grace_s=60 <<-'END'
		#!/bin/bash
		trap 'echo cleaned; exit 0' TERM
		echo ready
		while :; do sleep 0.05; done
	END
	record 171 run
	printed 171 ready
	control 171 kill cause=preempted
	record 171 done
	[[ $output == *"exit=0 signal=0 cause=preempted outcome=cancel"* ]]
	grep -q cleaned "$DIR/work/171.out"
}

daemon_script() {
	cat <<-'END'
		#!/bin/bash
		setsid bash -c 'setsid sleep 987.6 & setsid bash -c "trap \"\" TERM HUP; while :; do sleep 0.1; done" & disown -a' &
		until pgrep -u "$(id -u)" -fx 'sleep 987[.]6' >"$PWD/daemon.$ROTA_JOB_ID"; do sleep 0.05; done
	END
}

@test "a double-forked daemon in its own session is killed with the step" {
	daemon_script | launch 180
	record 180 end
	[ -s "$DIR/work/daemon.180" ]
	run ! lives "$(cat "$DIR/work/daemon.180")"
	[ -z "$(field drain)" ]
}

@test "more memory than allocated ends as out_of_memory" {
	has_cgroup
	launch 190 mem_mb=32 <<-'END'
		#!/bin/bash
		head -c 400000000 /dev/zero | tail -c 300000000 >/dev/null
	END
	record 190 done
	[[ $output == *"cause=out_of_memory outcome=oom"* ]]
	record 190 task
	[ "$(field cause)" = out_of_memory ]
	record 190 end
	[ "$(field peak_mb)" -ge 30 ]
	[ "$(field peak_mb)" -le 32 ]
}

@test "the use of an attempt is not counted for the next attempts of its keeper" {
	has_cgroup
	for job in 191 193 195; do
		launch $job mem_mb=64 <<-'END'
			#!/bin/bash
			head -c 40000000 /dev/zero | tail -c 30000000 >/dev/null
		END
		record $job end
		[ "$(field peak_mb)" -ge 28 ]
		local cpu=$(field cpu_usec)
		echo 'exec 3<>/dev/null' | sed '1i#!/bin/bash' | launch $((job + 1)) mem_mb=64
		record $((job + 1)) end
		[ "$(field peak_mb)" -le 8 ]
		[ "$(field cpu_usec)" -gt 0 ]
		[ "$(field cpu_usec)" -lt "$cpu" ]
		record $((job + 1)) done
		[[ $output == *"outcome=complete"* ]]
	done
}

@test "the time limit is enforced" {
	launch 200 time_limit_s=1 grace_s=60 <<-'END'
		#!/bin/bash
		sleep 60
	END
	record 200 done
	[[ $output == *"signal=15 cause=time_limit outcome=timeout message=time limit of 1 second reached"* ]]
}

lines_of() { # JOB: number of lines in its output
	wc -l <"$DIR/work/$1.out"
}

# suspend_past_limit JOB SINCE: suspend a step that was launched after SINCE ($SECONDS), and wait until its time limit would have
# passed if it had not been suspended; it prints nothing meanwhile. The limit is set while the step is suspended and leaves it at
# least three seconds. The number of lines that it has printed is in $before.
suspend_past_limit() {
	control "$1" suspend
	record "$1" suspended
	before=$(lines_of "$1")
	control "$1" limit limit=$((SECONDS - $2 + 4))
	sleep 6
	[ "$(lines_of "$1")" = "$before" ]
}

# suspend_and_resume JOB: the step counts until its file exists, so it cannot end before it is suspended and resumed.
suspend_and_resume() {
	local since=$SECONDS before
	launch "$1" time_limit_s=1000 <<-END
		#!/bin/bash
		until [ -e "$DIR/work/$1.enough" ]; do echo \$((++i)); sleep 0.1; done
		echo \$((++i))
	END
	record "$1" run
	suspend_past_limit "$1" "$since"
	touch "$DIR/work/$1.enough"
	control "$1" resume
	record "$1" resumed
	record "$1" done
	[[ $output == *"outcome=complete"* ]]
	[ "$(lines_of "$1")" -gt "$before" ]
	seq "$(lines_of "$1")" | diff - "$DIR/work/$1.out"
}

@test "a signal before the time limit: to the batch shell's processes, with B: to the shell alone, or to whole tasks" {
	local job program="perl -e '\$| = 1; \$SIG{USR1} = sub { print qq(program\\n); exit 0 }; print qq(ready\\n); sleep 60'"
	printf '#!/bin/bash\n%s; echo "shell goes on"\n' "$program" | launch 1340 time_limit_s=1000 signal=10 signal_s=599
	printf '#!/bin/bash\ntrap "echo shell; kill %%1" USR1\n%s &\nwait; wait\n' "$program" |
		launch 1341 time_limit_s=1000 signal=10 signal_s=599 signal_shell=1
	printf '#!/bin/bash\ntrap "echo shell" USR1\n%s &\nwait; wait\n' "$program" |
		launch 1342 time_limit_s=1000 signal=10 signal_s=599 per_task=1
	# Before that, no process handles the signal.
	for job in 1340 1341 1342; do printed $job ready; control $job limit limit=600; done
	record 1340 done
	[[ $output == *"outcome=complete"* ]]
	[ "$(cat "$DIR/work/1340.out")" = $'ready\nprogram\nshell goes on' ]
	record 1341 done
	[ "$(cat "$DIR/work/1341.out")" = $'ready\nshell' ]
	record 1342 done
	[ "$(sort "$DIR/work/1342.out" | xargs)" = "program ready shell" ]
}

@test "the signal before the time limit moves with the limit, and waits while the step is suspended" {
	# One warning for each limit. The second limit is later than the first warning, however late that came.
	local since=$SECONDS before
	printf '#!/bin/bash\ntrap "echo warned" USR1\necho ready\nwhile :; do sleep 0.05; done\n' | launch 1343 time_limit_s=1000 grace_s=1 signal=10 signal_s=900 signal_shell=1
	record 1343 run
	printed 1343 ready
	warned() { for i in $(seq 1200); do [ "$(grep -c warned "$DIR/work/1343.out")" = "$1" ] && return; sleep 0.2; done; return 1; }
	control 1343 limit limit=901
	warned 1
	control 1343 limit limit=$((900 + SECONDS - since + 2))
	warned 2
	control 1343 limit limit=800
	control 1343 limit limit=600
	control 1343 kill cause=cancelled
	record 1343 done
	warned 2
	# A signal one second before the limit, and a suspension that ends after the limit.
	since=$SECONDS
	printf '#!/usr/bin/perl\n$| = 1; $SIG{USR1} = sub { print "warned\\n"; exit 0 };\nwhile (1) { print "tick\\n"; select undef, undef, undef, 0.05 }\n' |
		launch 1344 time_limit_s=1000 signal=10 signal_s=1 per_task=1
	record 1344 run
	suspend_past_limit 1344 "$since"
	control 1344 resume
	record 1344 done
	[[ $output == *"outcome=complete"* ]]
	[ "$(tail -n1 "$DIR/work/1344.out")" = warned ]
	[ "$(lines_of 1344)" -gt $((before + 5)) ]
}

@test "suspended tasks do nothing, and their time limit waits" {
	suspend_and_resume 210
}

@test "a suspended step can be killed" {
	echo 'sleep 60' | sed '1i#!/bin/bash' | launch 211 grace_s=1
	record 211 run
	control 211 suspend
	record 211 suspended
	control 211 kill cause=cancelled
	record 211 end
}

@test "a signal reaches the tasks" {
	launch 215 <<-'END'
		#!/bin/bash
		trap 'echo got; exit 5' USR1
		echo ready
		while :; do sleep 0.05; done
	END
	record 215 run
	printed 215 ready
	control 215 signal signal=10
	record 215 done
	[[ $output == *"exit=5 signal=0 cause=exit outcome=fail"* ]]
}

@test "1 GB of output reaches its file whole" {
	launch 220 <<-'END'
		#!/bin/bash
		head -c 1000000000 /dev/zero
	END
	record 220 end 300
	[ "$(stat -c %s "$DIR/work/220.out")" = 1000000000 ]
	record 220 task
	[ "$(field wchar)" -ge 1000000000 ]
	rm "$DIR/work/220.out"
}

@test "tasks have ranks, share one output file, and the worst exit code counts" {
	launch 230 per_task=1 tasks=3 task_count=3 <<-'END'
		#!/bin/bash
		echo "task $ROTA_TASK_ID of $ROTA_NTASKS"
		exit $ROTA_TASK_ID
	END
	record 230 done
	[[ $output == *"exit=2 signal=0"* ]]
	[ "$(sort "$DIR/work/230.out")" = "$(printf 'task %d of 3\n' 0 1 2)" ]
	launch 231 per_task=1 tasks=2 task_count=2 "output=$DIR/work/t.%t" <<-'END'
		#!/bin/sh
		echo "$SLURM_PROCID"
	END
	record 231 end
	[ "$(cat "$DIR/work/t.0" "$DIR/work/t.1")" = "$(printf '0\n1')" ]
}

@test "output is truncated or appended to, by --open-mode" {
	printf 'echo one\n' | sed '1i#!/bin/sh' | launch 232 "output=$DIR/work/append.out"
	record 232 end
	printf 'echo two\n' | sed '1i#!/bin/sh' | launch 233 "output=$DIR/work/append.out" append=1
	record 233 end
	[ "$(cat "$DIR/work/append.out")" = "$(printf 'one\ntwo')" ]
	printf 'echo three\n' | sed '1i#!/bin/sh' | launch 234 "output=$DIR/work/append.out"
	record 234 end
	[ "$(cat "$DIR/work/append.out")" = three ]
}

@test "only the preamble's and the step's lines run, with their line numbers" {
	launch 240 pre_from=2 pre_to=3 from=6 to=8 <<-'END'
		#!/bin/bash
		x=1
		y=2
		#ROTA step other
		echo other
		#ROTA step mine
		echo "$x $y $LINENO"
		nosuchcommand
	END
	record 240 end
	run cat "$DIR/work/240.out"
	[ "${lines[0]}" = "1 2 7" ]
	[[ ${lines[1]} == *"script: line 8: nosuchcommand"* ]]
}

@test "a step on several nodes waits for go, and nodes without tasks for its end" {
	echo 'echo went' | sed '1i#!/bin/sh' | launch 250 wait_for_go=1 nodes=n1,n2 node_count=2
	record 250 ready
	[ ! -e "$DIR/work/250.out" ]
	control 250 go
	record 250 done
	[[ $output == *"outcome=complete"* ]]
	[ "$(cat "$DIR/work/250.out")" = went ]
	echo 'echo wrong' | sed '1i#!/bin/sh' | launch 251 wait_for_go=1 nodes=n2,n1 node_count=2 node_index=1 tasks=0
	record 251 ready
	control 251 go
	sleep 0.3
	run drive journal 251.0.1 done
	[ -z "$output" ]
	control 251 end epilog=1
	record 251 end
	record 251 done
	[[ $output == *"outcome=complete"* ]]
	[ ! -e "$DIR/work/251.out" ]
	[ -e "$DIR/epilog.251.log" ]
}

@test "the end on the first node does not end tasks on others" {
	printf '#!/bin/sh\nsleep 1; echo "finished $ROTA_TASK_ID"\n' | launch 253 wait_for_go=1 per_task=1 nodes=n2,n1 node_count=2 \
		node_index=1 first_task=1 tasks=1 task_count=2
	record 253 ready
	control 253 go
	record 253 run
	control 253 end epilog=1
	record 253 done
	[[ $output == *"exit=0 signal=0 cause=exit outcome=complete"* ]]
	[ "$(cat "$DIR/work/253.out")" = "finished 1" ]
	record 253 end
}

@test "a step that is ended before it may go never starts" {
	echo 'echo wrong' | sed '1i#!/bin/sh' | launch 252 wait_for_go=1 nodes=n1,n2 node_count=2
	record 252 ready
	control 252 kill cause=cancelled
	record 252 end
	record 252 done
	[[ $output == *"cause=cancelled outcome=cancel"* ]]
	[ ! -e "$DIR/work/252.out" ]
}

@test "a group has one prolog and one epilog" {
	echo 'echo first' | sed '1i#!/bin/sh' | launch 260 group=g
	echo 'echo second' | sed '1i#!/bin/sh' >"$DIR/script.260b"
	drive launch "$DIR/script.260b" job_id=260 step_id=1 prolog=0 group=g "uid=$(id -u "$WHO")" "gid=$(id -g "$WHO")" "user=$WHO" \
		"workdir=$DIR/work" step_name=second step_label=260.second
	run drive wait 260.1.1 end
	[ "$status" -eq 0 ]
	[ "$(cat "$DIR/work/rota-260.second.out")" = second ]
	record 260 done
	[ "$(grep -c prolog\ of "$DIR/prolog.260.log")" = 1 ]
	[ ! -e "$DIR/epilog.260.log" ]
	[ -z "$(drive journal 260.0.1 end)" ]
	control 260 end epilog=1
	record 260 end
	[ "$(wc -l <"$DIR/epilog.260.log")" = 1 ]
	gone "$DIR/node/n1/spool/group.260.g"
}

@test "a failed site prolog drains the node and nothing of the step runs" {
	echo 'echo wrong' | sed '1i#!/bin/sh' | launch 270 job_name=bad-prolog
	record 270 end
	[[ $output == *'drain=prolog failed: site_prolog "'*'ended with exit code 7'* ]]
	record 270 done
	[[ $output == *"exit=-1 "*"cause=prolog outcome=prolog_fail"* ]]
	record 270 hook
	[[ $output == *"hook=site_prolog exit=7"*"prolog says hello"* ]]
	[ ! -e "$DIR/work/270.out" ]
}

@test "a failed site epilog drains the node, the step stays complete" {
	echo '#!/bin/true' | launch 272 job_name=bad-epilog
	record 272 end
	[[ $output == *"drain=epilog failed: "* ]]
	record 272 done
	[[ $output == *"outcome=complete"* ]]
}

@test "the user's prolog and epilog run as the user and drain nothing" {
	printf '#!/bin/sh\necho "user prolog $(id -un) $FOO"; exit $FAIL\n' >"$DIR/work/prolog"
	printf '#!/bin/sh\necho "user epilog $(id -un)"; exit 1\n' >"$DIR/work/epilog"
	chmod 755 "$DIR/work/prolog" "$DIR/work/epilog"
	echo '#!/bin/true' | launch 273 env:FOO=bar env:FAIL=0 "user_prolog=$DIR/work/prolog" "user_epilog=$DIR/work/epilog"
	record 273 end
	[ -z "$(field drain)" ]
	run drive journal 273.0.1
	[[ $output == *"hook=user_prolog exit=0"*"output=user prolog $WHO bar"* ]]
	[[ $output == *"hook=user_epilog exit=1"*"output=user epilog $WHO"* ]]
	[[ $output == *"outcome=complete"* ]]
	echo 'echo wrong' | sed '1i#!/bin/sh' | launch 274 env:FAIL=2 "user_prolog=$DIR/work/prolog"
	record 274 end
	[ -z "$(field drain)" ]
	record 274 done
	[[ $output == *"cause=prolog outcome=fail"* ]]
	[ ! -e "$DIR/work/274.out" ]
}

@test "root refuses a configuration that others can change" {
	as_root
	cp "$CONFIG" "$DIR/open.conf"
	chmod 666 "$DIR/open.conf"
	run "$DIR/bin/rota-launcher" --config "$DIR/open.conf" --node n9
	[ "$status" -eq 1 ]
	[[ $output == *"can be changed by others than root"* ]]
	chmod 644 "$DIR/open.conf"
	chown "$WHO" "$DIR/open.conf"
	run "$DIR/bin/rota-launcher" --config "$DIR/open.conf" --node n9
	[ "$status" -eq 1 ]
	mkdir -p "$DIR/node/n9"
	chown "$WHO" "$DIR/node/n9"
	run "$DIR/bin/rota-launcher" --config "$CONFIG" --node n9
	[ "$status" -eq 1 ]
	[[ $output == *"belongs to somebody else"* ]]
	run "$DIR/bin/rota-launcher" --config "$CONFIG" --node ../n9
	[ "$status" -ne 0 ]
	run "$DIR/bin/rota-launcher" --config "$CONFIG" --node n1
	[[ $output == *"which runs already"* ]]
}

@test "keepers survive the launcher, and the next launcher reaches them" {
	NODE=n3
	start_launcher
	launch 280 <<-'END'
		#!/bin/bash
		sleep 60
	END
	launch 281 <<-'END'
		#!/bin/bash
		sleep 1
		echo survived
	END
	record 280 run
	record 281 run
	stop_launcher TERM
	record 281 end
	[ "$(cat "$DIR/work/281.out")" = survived ]
	[ -z "$(drive journal 280.0.1 done)" ]
	start_launcher
	control 280 kill cause=cancelled
	record 280 end
	echo '#!/bin/true' | launch 281
	record 281 refused
	stop_launcher USR1
	[ -z "$(ls "$DIR/node/n3/spool")" ]
	rm -f "$DIR/n3.pid"
}

# Processes that daemon_script leaves behind, in sessions of their own.
daemons() {
	pgrep -u "$WHO" -f 'sleep 987[.]6'
}

# lose JOB: start a step with daemons, and kill its keeper.
lose() {
	rm -f "$DIR/work/started"
	{ daemon_script; echo 'touch started; sleep 60'; } | launch "$1"
	record "$1" keeper
	keeper=$(field pid)
	for i in $(seq 1200); do [ -e "$DIR/work/started" ] && break; sleep 0.2; done
	[ -n "$(daemons)" ]
}

# lost JOB: the end is reported, and no process is left. The death of another launcher's keeper is noticed at the next poll, after
# ten seconds.
lost() {
	record "$1" end 60
	[[ $output == *"drain=a keeper died before its site epilog"* ]]
	gone "$DIR/node/$NODE/spool/$1.0.1"
	record "$1" done
	[[ $output == *"cause=keeper_lost outcome=node_fail message=its keeper died"* ]]
	[ "$(drive journal "$1.0.1" | grep -c '^kind=\(done\|end\) ')" = 2 ]
	[ -z "$(daemons)" ]
}

lose_keepers() {
	start_launcher
	lose 285
	kill -9 "$keeper"
	lost 285
	# The keeper is killed with the launcher: the next launcher ends the attempt before it serves.
	lose 286
	kill -9 "$(cat "$DIR/$NODE.pid")" "$keeper"
	start_launcher
	lost 286
	# The keeper alone is killed, under a launcher that did not fork it.
	lose 287
	kill -9 "$(cat "$DIR/$NODE.pid")"
	start_launcher
	kill -9 "$keeper"
	lost 287
	echo '#!/bin/true' | launch 288
	record 288 end
	stop_launcher USR1
	rm -f "$DIR/$NODE.pid"
}

@test "when a keeper dies, all processes of its step are killed and its end is reported" {
	NODE=n4
	lose_keepers
}

@test "a keeper that dies takes all of its step along where there are no control groups" {
	NODE=n8 CONFIG=$DIR/plain.conf
	lose_keepers
}

@test "an accepted attempt without a keeper is ended by the next launcher" {
	NODE=n13
	start_launcher
	echo 'sleep 60' | sed '1i#!/bin/bash' | launch 289
	record 289 run
	record 289 keeper
	kill -9 "$(cat "$DIR/$NODE.pid")" "$(field pid)"
	rm "$DIR/node/$NODE/spool/289.0.1/pid"
	start_launcher
	record 289 end
	echo '#!/bin/true' | launch 289
	record 289 refused
	stop_launcher USR1
	rm -f "$DIR/$NODE.pid"
}

@test "launch requests and control messages for old attempts change nothing and are reported" {
	NODE=n11
	start_launcher
	echo 'sleep 60' | sed '1i#!/bin/bash' | launch 295 attempt=3
	run drive wait 295.0.3 run
	echo 'echo wrong' | sed '1i#!/bin/sh' | launch 295 attempt=2
	run drive wait 295.0.2 refused
	[[ $output == *"reason=the launch request is for an old attempt, attempt 3 was accepted here again=1 gone=1 retry=0 drain="* ]]
	[ ! -e "$DIR/work/295.out" ] || [ ! -s "$DIR/work/295.out" ]
	drive send op=control job=295 step=0 attempt=2 action=kill cause=cancelled
	run drive wait 295.0.2 late
	[[ $output == *"action=kill reason="* ]]
	[ -z "$(drive journal 295.0.3 done)" ]
	drive send op=control job=295 step=0 attempt=3 action=kill cause=cancelled
	run drive wait 295.0.3 end
	[ "$status" -eq 0 ]
	stop_launcher USR1
	rm -f "$DIR/$NODE.pid"
}

# refusals JOB COUNT: wait until the journal has so many refusals of the job.
refusals() {
	for i in $(seq 1200); do [ "$(drive journal "$1.0.1" refused | wc -l)" = "$2" ] && return; sleep 0.2; done
	return 1
}

@test "a launch request that was cancelled is not accepted later, nor by the next launcher" {
	NODE=n14
	start_launcher
	echo 'echo wrong' | sed '1i#!/bin/sh' | launch 122 withdrawn
	record 122 refused
	[[ $output == *"again=0 retry=1 drain= cause=withdrawn"* ]]
	echo "#!/bin/true" | launch 122
	refusals 122 2
	stop_launcher TERM
	start_launcher
	echo "#!/bin/true" | launch 122
	refusals 122 3
	[[ "$(drive journal 122.0.1 refused | tail -n 1)" == *"accepted before again=1 gone=1"* ]]
	[ -z "$(drive journal 122.0.1 used)" ]
	stop_launcher USR1
	rm -f "$DIR/$NODE.pid"
}

@test "a journal at its limit: no attempt begins until its records have been reported" {
	NODE=n12 CONFIG=$DIR/short.conf
	sed "s,^disk_floor_mb = .*,&\njournal_mb = 1," "$DIR/rota.conf" >"$CONFIG"
	start_launcher
	echo '#!/bin/true' | launch 405
	record 405 end
	drive grow 900000
	echo '#!/bin/true' | launch 406
	record 406 refused
	[[ $output == *"reason=the journal has reached its limit of 1 MiB again=0 retry=1 drain=the journal has reached its limit"* ]]
	run drive wait 406.0.1 refused
	position=$(sed -n 's/position=//p' <<<"$output")
	drive send op=truncate "position=$position"
	echo '#!/bin/true' | launch 407
	record 407 end
	stop_launcher USR1
	rm -f "$DIR/$NODE.pid"
}

fill() {
	dd if=/dev/zero of="$DIR/small/fill" bs=64k 2>/dev/null || true
	dd if=/dev/zero of="$DIR/small/rest" bs=512 2>/dev/null || true
}

@test "a full disk: accepted attempts report their ends, no other begins; with free space again they do" {
	as_root
	NODE=n10 CONFIG=$DIR/small.conf
	mkdir "$DIR/small"
	mount -t tmpfs -o size=4m,mode=755 tmpfs "$DIR/small"
	sed "s,^state = .*,state = $DIR/small," "$DIR/rota.conf" >"$CONFIG"
	ln -s "$DIR/small/$NODE" "$DIR/node/$NODE"
	start_launcher
	for job in 400 401 402; do launch $job "workdir=$DIR/work" <<<$'#!/bin/bash\nuntil [ -e go ]; do sleep 0.3; done\nhead -c 8000 /dev/zero | tr "\\0" x'; done
	for job in 400 401 402; do record $job run; done
	fill
	[ "$(stat -f -c %a "$DIR/small")" = 0 ]
	launch 403 "workdir=$DIR/work" <<<$'#!/bin/bash\nuntil [ -e go ]; do sleep 0.3; done\nhead -c 8000 /dev/zero | tr "\\0" x'
	record 403 refused
	[[ $output == *"reason=disk full: 0 MiB left in "*"drain=disk full: "* ]]
	record 401 keeper
	kill -9 "$(field pid)"
	record 401 end
	# A launcher that starts on a full disk takes over the running attempts.
	stop_launcher KILL
	start_launcher
	touch "$DIR/work/go"
	for job in 400 402; do
		record $job end
		record $job done
		[[ $output == *outcome=complete* ]]
		[ "$(drive journal $job.0.1 | grep -c ^kind=)" = 8 ]
	done
	rm "$DIR/small/fill" "$DIR/small/rest"
	echo 'echo room' | sed '1i#!/bin/sh' | launch 404
	record 404 end
	[ "$(cat "$DIR/work/404.out")" = room ]
	stop_launcher USR1
	umount "$DIR/small"
	rm -f "$DIR/$NODE.pid"
}

@test "restarts of the launcher beside living keepers reserve nothing more of the journal" {
	local reserved restart
	NODE=n16 CONFIG=$DIR/tight.conf
	sed "s,^disk_floor_mb = .*,&\njournal_mb = 1," "$DIR/rota.conf" >"$CONFIG"
	start_launcher
	launch 450 "workdir=$DIR/work" <<<$'#!/bin/bash\nuntil [ -e go.450 ]; do sleep 0.3; done'
	record 450 run
	for restart in $(seq 10); do
		stop_launcher KILL
		start_launcher
		launch $((450 + restart)) <<<$'#!/bin/true'
		record $((450 + restart)) end
		run drive journal
		[[ $output != *kind=refused* ]] || { grep kind=refused <<<"$output" >&2; return 1; }
	done
	reserved=$(($(stat -c '%b * 512 - %s' "$DIR/node/$NODE/journal")))
	[ "$reserved" -lt $((1024 * 1024)) ] || { echo "$reserved bytes" >&2; return 1; }
	touch "$DIR/work/go.450"
	record 450 end
	stop_launcher USR1
	rm -f "$DIR/$NODE.pid"
}

@test "SIGUSR1 ends every step and leaves nothing" {
	NODE=n5
	start_launcher
	echo '#!/bin/true' | launch 289
	record 289 end
	for job in 290 291 292; do echo 'sleep 60' | sed '1i#!/bin/bash' | launch $job grace_s=1; done
	for job in 290 291 292; do record $job run; done
	# One of the keepers reads nothing when the message is sent, and its socket is full.
	record 290 keeper
	keeper=$(field pid)
	kill -STOP "$keeper"
	for i in $(seq 12); do control 290 signal signal=18; done
	(sleep 1; kill -CONT "$keeper") 3>&- &
	stop_launcher USR1
	for job in 290 291 292; do
		record $job done
		[[ $output == *"cause=shutdown outcome=node_fail"* ]]
		record $job end
	done
	[ -z "$(ls "$DIR/node/n5/spool")" ]
	[ -z "$(find /sys/fs/cgroup -maxdepth 4 -path "*/$INSTANCE-*/n5" 2>/dev/null)" ]
	rm -f "$DIR/n5.pid"
}

@test "truncation keeps orders that have not expired, so they stay used" {
	NODE=n6
	start_launcher
	echo '#!/bin/true' | launch 300
	record 300 end
	run drive wait 300.0.1 end
	position=$(sed -n 's/position=//p' <<<"$output")
	drive send op=truncate "position=$position"
	for i in $(seq 1200); do [ "$(drive journal | wc -l)" = 1 ] && break; sleep 0.2; done
	[[ "$(drive journal)" == kind=used* ]]
	stop_launcher TERM
	start_launcher
	echo '#!/bin/true' | launch 300
	record 300 refused
	stop_launcher USR1
	rm -f "$DIR/n6.pid"
}

@test "without cgroups a daemon is killed too, and suspending works" {
	NODE=n7 CONFIG=$DIR/plain.conf
	start_launcher
	run ! grep -q 'with cgroups' "$DIR/n7.log"
	daemon_script | launch 310
	record 310 end
	[ -s "$DIR/work/daemon.310" ]
	run ! lives "$(cat "$DIR/work/daemon.310")"
	suspend_and_resume 311
	stop_launcher USR1
	rm -f "$DIR/n7.pid"
	CONFIG=$DIR/rota.conf NODE=n1
	stop_launcher TERM
	start_launcher
}

# In a network namespace of its own if possible, so that core names are not those of other instances of this machine.
plain_launcher() { # NODE
	NODE=$1 CONFIG=$DIR/plain.conf
	[ "$EUID" != 0 ] || LAUNCHER_WITHIN="unshare --net"
	start_launcher
	LAUNCHER_WITHIN=
}

plain_launcher_over() {
	stop_launcher USR1
	rm -f "$DIR/$NODE.pid"
	CONFIG=$DIR/rota.conf NODE=n1
	stop_launcher TERM
	start_launcher
}

@test "a prolog that does not end is ended" {
	NODE=n17 CONFIG=$DIR/hasty.conf
	sed "s,^hook_timeout = .*,hook_timeout = 2," "$DIR/rota.conf" >"$CONFIG"
	start_launcher
	echo '#!/bin/true' | launch 271 job_name=slow-prolog
	record 271 end
	[[ $output == *"drain=prolog failed: "*"not finished after 2 seconds"* ]]
	plain_launcher_over
}

@test "without cgroups memory over the limit ends as out_of_memory; shared memory counts once" {
	plain_launcher n14
	[ "$(cat "$DIR/node/n14/limits")" = "memory=sampling cpus=affinity processes=none" ]
	launch 1320 mem_mb=50 <<-'END'
		#!/usr/bin/perl
		vec(my $x, 300 << 20, 8) = 1;
		sleep 60;
	END
	# Five processes with the same 60 MB.
	launch 1321 mem_mb=110 <<-'END'
		#!/usr/bin/perl
		vec(my $x, 60 << 20, 8) = 1;
		for (1 .. 4) { fork or do { sleep 3; exit } }
		1 while wait > 0;
	END
	# Each process is within the limit, all together are not.
	launch 1322 mem_mb=110 <<-'END'
		#!/usr/bin/perl
		for (1 .. 4) { fork or do { vec(my $x, 60 << 20, 8) = 1; sleep 60; exit } }
		1 while wait > 0;
	END
	# The kernel can drop pages of a mapped file, so they do not count.
	local file=$(mktemp /var/tmp/rota-launcher.XXXXXX) used=complete
	[ "$(stat -f -c %T /var/tmp)" != tmpfs ] || used=oom
	head -c 100000000 /dev/zero >"$file"
	chmod 644 "$file"
	launch 1323 mem_mb=50 <<-END
		#!/usr/bin/python3
		import mmap, time
		f = open("$file", "rb")
		m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
		sum(m[i] for i in range(0, len(m), 4096))
		time.sleep(1)
	END
	record 1320 done
	[[ $output =~ "signal=9 cause=out_of_memory outcome=oom message=out of memory on node n14: limit 50 MiB, peak "([0-9]+)" MiB" ]]
	[ "${BASH_REMATCH[1]}" -gt 50 ]
	record 1320 task
	[ "$(field cause)" = out_of_memory ]
	record 1322 done
	[[ $output == *"cause=out_of_memory outcome=oom"* ]]
	record 1321 done
	[[ $output == *"outcome=complete"* ]]
	record 1323 done
	rm -f "$file"
	[[ $output == *"outcome=$used"* ]]
	plain_launcher_over
}

@test "without cgroups steps are pinned to their own cores" {
	plain_launcher n15
	local script="nproc; sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status; until [ -e $DIR/work/pinned ]; do sleep 0.3; done"
	for job in 1330 1331; do
		printf '#!/bin/bash\n%s\n' "$script" | launch $job
		record $job run
	done
	touch "$DIR/work/pinned"
	record 1330 done
	record 1331 done
	[ "$(head -n1 "$DIR/work/1330.out")" = 1 ]
	if [ "$(nproc)" -ge 2 ]; then
		[ "$(head -n1 "$DIR/work/1331.out")" = 1 ]
		[ "$(sed -n 2p "$DIR/work/1330.out")" != "$(sed -n 2p "$DIR/work/1331.out")" ]
	fi
	# Ended steps hold no core; steps beyond the machine's cores run anywhere.
	printf '#!/bin/bash\n%s\n' "$script" | launch 1332
	printf '#!/bin/bash\n%s\n' "$script" | launch 1333 cpus=10000
	record 1332 done
	record 1333 done
	[ "$(head -n1 "$DIR/work/1332.out")" = 1 ]
	[ "$(head -n1 "$DIR/work/1333.out")" = "$(nproc)" ]
	plain_launcher_over
}

@test "cgroups limit the cores, processes and devices of a step, and count its input and output" {
	has_cgroup
	NODE=n16 CONFIG=$DIR/limits.conf
	mknod -m 666 "$DIR/device0" c 1 11 # kmsg
	{ : >>"$DIR/device0"; } 2>/dev/null || skip "no device files on this file system"
	configure "$CONFIG" auto
	printf '[launcher]\nmax_processes = 20\ndevices = granted\ndevice_files = tape:%s%%\n' "$DIR/device" >>"$CONFIG"
	start_launcher
	[ "$(cat "$DIR/node/n16/limits")" = "memory=cgroup cpus=cgroup processes=cgroup" ]
	for job in 1360 1361; do
		launch $job "gres=tape:$([ $job = 1361 ] || echo 0)" <<-END
			#!/bin/bash
			nproc
			sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status
			{ : >>$DIR/device0; } 2>/dev/null && echo opens || echo refused
			own=/sys/fs/cgroup\$(sed -n 's/^0:://p' /proc/self/cgroup)
			ls \$own/io.stat \$own/memory.stat \$own/pids.current >/dev/null 2>&1 && echo counted
			until [ -e $DIR/work/limited ]; do sleep 0.3; done
			[ $job = 1361 ] || exit 0
			exec perl -e 'for (1 .. 100) { my \$pid = fork(); exit unless defined \$pid; \$pid or do { sleep 60; exit } }'
		END
		record $job run
	done
	touch "$DIR/work/limited"
	record 1360 done
	[ -z "$(field message)" ]
	record 1361 done
	[[ $output == *"outcome=complete message=limit of 20 processes and threads reached on node n16"* ]]
	record 1361 end
	[ -z "$(field drain)" ]
	[ "$(sed -n 3p "$DIR/work/1360.out")" = opens ]
	[ "$(sed -n 3p "$DIR/work/1361.out")" = refused ]
	[ ! -e /sys/fs/cgroup/cgroup.controllers ] || [ "$(sed -n 4p "$DIR/work/1361.out")" = counted ]
	# Steps of other launchers on this machine may have taken all cores. A machine for the test alone has cores for both.
	if [ -n "${ROTA_TEST_ALONE:-}" ]; then
		[ "$(head -n1 "$DIR/work/1360.out")" = 1 ] && [ "$(head -n1 "$DIR/work/1361.out")" = 1 ]
		[ "$(sed -n 2p "$DIR/work/1360.out")" != "$(sed -n 2p "$DIR/work/1361.out")" ]
	fi
	plain_launcher_over
}

@test "a task starts with the user's groups, umask and limits, and with nothing of ours" {
	launch 320 umask=0o27 rlimits=nofile=321,core=0 <<-'END'
		#!/bin/bash
		umask
		ulimit -n
		id -Gn
		ls /proc/self/fd | wc -l
		grep -E 'SigBlk|SigIgn' /proc/self/status
		cat /proc/self/oom_score_adj
	END
	record 320 end
	run cat "$DIR/work/320.out"
	[ "${lines[1]}" = 321 ]
	if [ "$EUID" = 0 ]; then [[ " ${lines[2]} " == *" $GROUP "* ]]; fi
	[ "${lines[3]}" = 4 ]
	[[ ${lines[4]} == *0000000000000000 ]]
	[[ ${lines[5]} == *0000000000000000 ]]
	[ "${lines[6]}" = 0 ]
}

@test "the reason why a task cannot start is reported" {
	echo '#!/bin/true' | launch 330 workdir=/nonexistent/x
	record 330 done
	[[ $output == *'cause=launch outcome=fail message=could not enter folder "/nonexistent/x": No such file or directory'* ]]
	echo '#!/nonexistent/shell' | launch 331
	record 331 done
	[[ $output == *'cause=launch outcome=fail message=interpreter "/nonexistent/shell" not found on node n1'* ]]
	echo '#! /etc/passwd -x' | launch 335
	record 335 done
	[[ $output == *'cause=launch outcome=fail message=interpreter "/etc/passwd" cannot be executed on node n1: '* ]]
	echo '#!/bin/true' | launch 336 shell=/nonexistent/shell
	record 336 done
	[[ $output == *'cause=launch outcome=fail message=could not execute "/nonexistent/shell": No such file or directory'* ]]
	echo '#!/bin/true' | launch 332 "output=$DIR/work/no/such/folder"
	record 332 done
	[[ $output == *"could not open output file \"$DIR/work/no/such/folder\": No such file or directory"* ]]
	as_root
	echo '#!/bin/true' | launch 333 user=nosuchuser.
	record 333 done
	[[ $output == *'outcome=node_fail message=user "nosuchuser." is unknown on node "n1"'* ]]
	echo '#!/bin/true' | launch 334 "user=$OTHER"
	record 334 done
	[[ $output == *"outcome=node_fail message=user \"$OTHER\" has uid"* ]]
}

@test "the shell can be the owner's login shell or any other" {
	as_root
	echo 'export FROM_PROFILE=yes' >"$DIR/work/.bash_profile"
	echo 'echo "login $FROM_PROFILE $HOME"' | sed '1i#!/bin/sh' | launch 340 shell=login
	record 340 end
	[ "$(cat "$DIR/work/340.out")" = "login yes $DIR/work" ]
	echo 'print("python", 1+1)' | sed '1i#!/bin/sh' | launch 341 shell=/bin/cat
	record 341 end
	grep -q 'print("python"' "$DIR/work/341.out"
}

@test "a script or environment with another hash than the launch request's is not run" {
	echo 'echo right' | sed '1i#!/bin/sh' >"$DIR/script.350"
	hash=$(sha256sum "$DIR/script.350" | cut -d' ' -f1)
	launch 350 wait_for_go=0 <"$DIR/script.350" &
	wait $!
	record 350 end
	echo 'echo evil' >"$DIR/node/n1/cache/$hash"
	echo '#!/bin/true' | launch 351 "attack:script=$hash"
	record 351 done
	[[ $output == *"outcome=node_fail message=\"cache/$hash\" has another hash than its name says"* ]]
	rm "$DIR/node/n1/cache/$hash"
	ln -s /etc/passwd "$DIR/node/n1/cache/$hash"
	echo '#!/bin/true' | launch 352 "attack:script=$hash"
	record 352 done
	[[ $output == *"outcome=node_fail message=could not open"* ]]
}

@test "a script that its owner tries to change stays as it is, for whichever keeper" {
	as_root
	script() {
		cat <<-'END'
			#!/bin/bash
			echo right
			case $ROTA_JOB_ID in
			363 | 366) exec sh -c 'chmod u+w "$0"; echo "echo wrong" >"$0"; chmod 0500 "$0"' "$0" 2>/dev/null ;;
			esac
		END
	}
	for job in 363 364 365 366 367; do
		script | launch $job
		record $job end
		[ "$(cat "$DIR/work/$job.out")" = right ]
		sleep 0.1
	done
	script | launch 368 from=2 to=2
	record 368 end
	[ "$(cat "$DIR/work/368.out")" = right ]
	echo 'echo other' | sed '1i#!/bin/bash' | launch 369
	record 369 end
	[ "$(cat "$DIR/work/369.out")" = other ]
}

@test "a task that waits for the writer of a FIFO blocks neither its keeper nor its node" {
	mkfifo "$DIR/work/nobody"
	chmod 666 "$DIR/work/nobody"
	echo 'cat' | sed '1i#!/bin/bash' | launch 360 "input=$DIR/work/nobody" grace_s=1
	record 360 keeper
	[ -z "$(drive journal 360.0.1 run)" ]
	drive send op=control job=360 step=0 attempt=1 action=kill cause=cancelled
	record 360 done
	[[ $output == *"cause=cancelled outcome=cancel"* ]]
	record 360 end
	for job in 361 362; do
		echo 'echo right' | sed '1i#!/bin/bash' | launch $job
		record $job end
		[ "$(cat "$DIR/work/$job.out")" = right ]
	done
}

@test "nothing is left over" {
	for i in $(seq 1200); do [ -z "$(ls "$DIR/node/n1/spool")" ] && break; sleep 0.2; done
	[ -z "$(ls "$DIR/node/n1/spool")" ]
	if [ "$EUID" = 0 ]; then
		# Processes that a keeper has killed may be zombies until they are reaped.
		for i in $(seq 1200); do [ -z "$(pgrep -u "$WHO")" ] && break; sleep 0.2; done
		[ -z "$(pgrep -u "$WHO")" ]
	fi
	left() { # prints what is left, apart from files of keepers that wait for another attempt
		local group
		for group in $(find /sys/fs/cgroup -path "*/rota/$INSTANCE-*/n1/*.0.1" -maxdepth 5); do
			[ -d "$DIR/node/n1/spare/${group##*/}" ] || echo "$group"
		done
	}
	for i in $(seq 1200); do [ -z "$(left)" ] && break; sleep 0.2; done
	run left
	echo "$output"
	[ -z "$output" ]
}
