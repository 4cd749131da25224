#!/usr/bin/env bats
# Steps that DMTCP saves: results are those of an undisturbed run, and restored processes belong to their step again. Without the
# programs of DMTCP in PATH, these tests are skipped.

load helper
load restored
load dmtcp

setup_file() {
	export EVE=rbdm$$ DMTCP DRIVER=dmtcp
	DMTCP=$(dirname "$(command -v dmtcp_launch || echo /none/dmtcp_launch)")
	[ -x "$DMTCP/dmtcp_launch" ] || return 0
	export LINKS
	LINKS=$(mktemp -d "${TMPDIR:-/tmp}/rota-dmtcp.XXXXXX")
	dmtcp_link
	[ "$EUID" != 0 ] || users_add "$EVE"
	restored_up --cpus 4 --set node.checkpoint_dmtcp="$LINKS" || return 1
	talk_make
	[ "$EUID" != 0 ] || folders_add "$EVE"
}

teardown_file() {
	restored_down
}

setup() {
	[ -x "$DMTCP/dmtcp_launch" ] || skip "DMTCP is not installed (dmtcp_launch is not in PATH)"
	! sanitized || skip "DMTCP and sanitizers both have to be the first library of a program"
	cd "$BATS_TEST_TMPDIR"
	chmod 755 .
}

teardown() {
	not_full
}

# first_process: the first process of the step's present attempt, by the port file of its driver.
first_process() {
	awk '{ print $2 }' "checkpoints/$job."*"/next.$1.run/port" 2>/dev/null
}

@test "a program with an open file and a pipe: saved, and goes on; ended, and goes on elsewhere; twice" {
	goes_on counter
}

@test "a program with threads: saved, and goes on; ended, and goes on elsewhere; twice" {
	goes_on threads
}

@test "a program in Python: saved, and goes on; ended, and goes on elsewhere; twice" {
	goes_on python
}

@test "a pipeline of processes: saved, and goes on; ended, and goes on elsewhere; twice" {
	goes_on pipeline
}

@test "what is restored is in its step: below its keeper, in its cgroup, measured, within its time limit, and killed with it" {
	local root pid keeper
	submit python
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	run -0 rota restart "$job"
	eventually restored 2
	pass_gate 1 # the database has the begin of the restore
	root=$(first_process 2)
	keeper=$(ps -o ppid= "$root" | tr -d ' ')
	[[ $(ps -o comm= "$keeper") = rota* ]]
	for pid in $(processes "$root"); do
		[ "$(cat "/proc/$pid/cgroup")" = "$(cat "/proc/$root/cgroup")" ]
		grep -qE "/$job[.]0[.]2(/|\$)" "/proc/$pid/cgroup" || ! grep -q 'with cgroups' "$ROTA_HOME/log/launcher.n1.log"
	done
	pids=$(processes "$root")
	run -0 rota cancel "$job"
	eventually has_left "$job"
	are_dead $pids
	[ "$(sql "select max(cpu_used_s) > 0 from acct.attempt where job_id = $job and attempt = 2")" = t ]
}

@test "a time limit holds for what is restored, and a step longer than its limit goes on" {
	expect counter
	submit counter --time=0:34 --checkpoint-before=0:30
	eventually restored 3
	touch go
	is_as_expected
	[[ $(sql "select string_agg(distinct reason, ',') from acct.checkpoint where job_id = $job and complete_at is not null") = time_limit ]]
}

@test "the exit code of what was restored is that of the step, and its time limit ends it" {
	local code
	for code in 7 none; do
		printf '#!/bin/bash\n: >at.1\nuntil [ -e go ]; do sleep 0.3; done\nexit %s\n' "$code" >job.sh
		rm -f at.1 go
		job=$(rota submit --parsable --checkpoint=dmtcp --time=5 job.sh)
		eventually runs
		eventually test -e at.1
		run -0 rota checkpoint "$job" --end --wait
		eventually has_left "$job"
		run -0 rota restart "$job"
		eventually restored 2
		if [ "$code" = none ]; then rota modify --time=0:01 "$job"; else touch go; fi
		run rota wait "$job"
		run sql "select concat_ws(' ', state, cause, case when code = '7' then exit_code end) from rota.step, (values ('$code')) x (code) where job_id = $job"
		echo "$output"
		[ "$output" = "$([ "$code" = 7 ] && echo 'failed exit 7' || echo 'timeout time_limit')" ]
	done
}

@test "every so often" {
	expect counter
	submit counter --checkpoint-interval=0:01
	eventually eval '[ "$(sql "select count(*) from acct.checkpoint where job_id = $job and complete_at is not null")" -ge 2 ]'
	touch go
	is_as_expected
}

@test "a node is evacuated, and what ran there goes on elsewhere" {
	expect pipeline
	submit pipeline
	run -0 rota migrate "$job"
	eventually restored 2
	touch go
	is_as_expected
}

@test "another user can neither end nor save what runs" {
	local port
	need_root
	submit counter
	read -r port _ <"$(echo checkpoints/"$job".*/next.1.run/port)"
	# The port is on the loopback interface only, and the coordinator has none.
	[ "$(ss -Htln "sport = :$port" | awk '{ print $4 }')" = "127.0.0.1:$port" ]
	for command in --quit --kill --kcheckpoint --list --status "--interval 1"; do
		run as "$EVE" timeout 20 "$DMTCP/dmtcp_command" --coord-host 127.0.0.1 --coord-port "$port" $command
		[[ $output != *counter* && $output != *RUNNING=yes* ]]
	done
	run ! as "$EVE" cat checkpoints/"$job".*/next.1.run/port
	run -0 "$DMTCP/dmtcp_command" --coord-host 127.0.0.1 --coord-port "$port" --status
	[[ $output = *RUNNING=yes* ]]
	[ "$(ls checkpoints/"$job".*/next.1)" = "" ]
	run -0 rota checkpoint "$job" --wait
	touch go
	run -0 rota wait "$job"
}

@test "static programs, and those with the setuid bit, are refused with a word; auto chooses and says why" {
	printf '#!%s\n' "$PROGRAMS/static" >static.sh
	: >go
	job=$(rota submit --parsable --checkpoint=dmtcp --output=out.1 static.sh)
	run -1 rota wait "$job"
	grep -q "rota-checkpoint: program \"$PROGRAMS/static\" is statically linked" out.1
	job=$(rota submit --parsable --checkpoint=auto --output=out.2 static.sh)
	run -0 rota wait "$job"
	run -0 rota show "$job.script"
	[[ $output = *"by app: the program has to save itself, since dmtcp does not fit: program \"$PROGRAMS/static\" is statically linked"* ]]
	printf '#!/bin/sh\nmpirun() { :; }\nmpirun\n' >mpi.sh
	job=$(rota submit --parsable --checkpoint=auto --output=out.3 mpi.sh)
	run -0 rota wait "$job"
	run -0 rota show "$job.script"
	[[ $output = *"by app: the program has to save itself: the step's script has the word mpirun"* ]]
	# A child of the script is seen when the step is to be saved.
	submit static
	run -1 rota checkpoint "$job" --wait
	[[ $output = *"would not be saved: program \"$PROGRAMS/static\" is statically linked"* ]]
	touch go
	run -0 rota wait "$job"
	submit counter --checkpoint=auto
	run -0 rota show "$job.script"
	[[ $output = *"by dmtcp: the program is dynamically linked"* ]]
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	run -0 rota restart "$job"
	eventually restored 2
	touch go
	run -0 rota wait "$job"
}

@test "a process whose parents have ended, and that DMTCP does not know, fails the checkpoint" {
	printf '#!/bin/bash\n(%s/static >/dev/null &)\nuntil [ -e on ]; do sleep 0.3; done\n' "$PROGRAMS" >orphan.sh
	rm -f at.1 go on
	job=$(rota submit --parsable --checkpoint=dmtcp --output=out orphan.sh)
	eventually [ -e at.1 ]
	eventually runs
	run -1 rota checkpoint "$job" --wait
	[[ $output = *"would not be saved: program \"$PROGRAMS/static\" is statically linked"* ]]
	touch go
	# That process has ended, so the checkpoint succeeds.
	saves() { rota checkpoint "$job" --wait; }
	eventually saves
	touch on
	run -0 rota wait "$job"
}

@test "an image is restored only on nodes that have what it needs, and rota why says what others lack" {
	expect counter
	submit counter
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	[ "$(superuser "select needs ->> 'kernel' from rota.checkpoint where job_id = $job")" = "$(uname -r)" ]
	[ "$(superuser "select count(*) from rota.node n, rota.checkpoint c where c.job_id = $job and n.found -> 'restart' = c.needs")" = 2 ]
	superuser "update rota.checkpoint set needs = needs || '{\"kernel\": \"1.0\"}' where job_id = $job"
	run -0 rota restart "$job"
	eventually why_says "checkpoint 1 cannot go on on n1,n2: it needs kernel 1.0"
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0] | "\(.attempt) \(.state)"')" = "0 pending" ]
	# A node that said it has that kernel, and has not.
	superuser "update rota.node set found = found || jsonb_build_object('restart', found -> 'restart' || '{\"kernel\": \"1.0\"}') where name = 'n2'"
	eventually eval '[ "$(rota show --json "$job" | jq -r ".jobs[0].steps[0].held")" = system ]'
	why_says "could not go on from checkpoint 1 on n2: the checkpoint needs kernel 1.0, and this node has $(uname -r)"
	superuser "update rota.checkpoint set needs = null where job_id = $job"
	superuser "update rota.node n set found = o.found from rota.node o where n.name = 'n2' and o.name = 'n1'"
	run -0 rota release "$job"
	touch go
	is_as_expected
}

@test "a restore that hangs is given up, and the step goes on from the checkpoint before" {
	expect counter
	submit counter
	hangs_once 5
	is_as_expected
}

@test "an image that was cut is not run" {
	changed '*.dmtcp' truncate -s 4096
}

@test "an image with one bit changed is not run" {
	changed '*.dmtcp' flip_bit
}

@test "exchanged images are not run: those of another checkpoint or job, and one more" {
	exchanged '*.dmtcp'
}

@test "a full disk fails the checkpoint and nothing else" {
	full_disk 8m
}

# owner_eve: from now on, jobs are those of EVE, in a folder of her own.
owner_eve() {
	need_root
	owner() { as "$EVE" "$@"; }
	mkdir "$ROTA_TEST_DIR/$EVE/$BATS_TEST_NUMBER"
	cd "$ROTA_TEST_DIR/$EVE/$BATS_TEST_NUMBER"
	chown "$EVE:" .
}

@test "programs with the setuid bit or capabilities: refused with a word; auto leaves them to themselves" {
	owner_eve
	rights_make
	refused_for_rights
}

@test "a script starts programs with the setuid bit or capabilities: no rights are saved" {
	local line
	owner_eve
	rights_make
	# DMTCP starts a copy without the bit, so this one has no rights, and is saved.
	printf '#!/bin/sh\n%s\n' "$PROGRAMS/setuid" >job.sh
	submit_script
	has_no_rights 1
	run -0 owner rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	run -0 owner rota restart "$job"
	eventually restored 2
	touch go
	run -0 rota wait "$job"
	# These have rights, and none is saved.
	for line in "$PROGRAMS/capable" "$PROGRAMS/become $PROGRAMS/setuid"; do
		rm -f go at.1 rights.1
		printf '#!/bin/sh\n%s\n' "$line" >job.sh
		submit_script
		[ "$(cat rights.1)" != "$NO_RIGHTS" ]
		run -1 owner rota checkpoint "$job" --wait
		[[ $output = *"would not be saved: it has rights that the owner of the step does not have (setuid bit or capabilities of its program)"* ]]
		touch go
		run -0 rota wait "$job"
	done
}

# submit_script: submit the script job.sh, and wait until its program has come to its first gate.
submit_script() {
	job=$(owner rota submit --parsable --checkpoint=dmtcp --output=out job.sh)
	eventually runs
	eventually [ -e at.1 ]
}

# report JSON: a report to the job manager as rota-checkpoint sends it, with any content.
report() {
	owner curl -sS --unix-socket "$ROTA_HOME/run/gate.sock" -H "Authorization: Munge $(owner rota token POST /v1/checkpoint_report -d "$1")" \
		http://gate/v1/checkpoint_report -d "$1"
}

@test "another user's image cannot be named: neither by a verb nor by a forged report" {
	local theirs files verb
	need_root
	mkdir "$ROTA_TEST_DIR/theirs"
	cd "$ROTA_TEST_DIR/theirs"
	submit counter
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	chmod -R go+rX .
	theirs=$(echo "$PWD/checkpoints/$job".*/1)
	files=$(rota checkpoint show "$job" --generation=1 --json | jq -c '.checkpoints[0].file_list')
	for verb in restart "checkpoint show" "checkpoint verify" "checkpoint discard"; do
		run -1 as "$EVE" rota $verb "$job"
		[[ $output = *"belong"* ]]
	done
	owner_eve
	expect counter
	submit counter
	run -0 owner rota checkpoint "$job" --wait
	step=$(jq -nc --argjson job "$job" '{job: $job, step_id: 0, attempt: 1, node: "n1", driver: "dmtcp", generation: 2}')
	[ "$(report "$(jq -c '. + {action: "take"}' <<<"$step")" | jq .generation)" = 2 ]
	report "$(jq -c --arg path "$theirs" --argjson files "$files" '. + {action: "complete", path: $path, files: $files}' <<<"$step")"
	[ "$(states)" = "1 complete, 2 complete" ]
	run -0 owner rota cancel "$job"
	eventually has_left "$job"
	# Nothing of it is started, by nobody: root opens no paths that a user names.
	run -1 rota checkpoint verify "$job"
	[[ $output = *"belong to another user"* ]]
	run -0 owner rota restart "$job"
	eventually eval '[ "$(rota show --json "$job" | jq -r ".jobs[0].steps[0].held")" = system ]'
	why_says 'could not read checkpoint 2: folder "1" is not yours'
	[ ! -e calls ]
	run owner rota checkpoint discard "$job" --generation=2
	[ -e "$theirs" ]
	touch go
	run -0 owner rota release "$job"
	is_as_expected
	[ "$(grep -c . calls)" = 1 ]
}

@test "tasks on one node that talk over TCP: saved together, and go on; ended, and go on elsewhere; twice" {
	talk_expect
	talk_submit 3 1
	run -0 rota checkpoint "$job" --wait
	[[ $output = *"checkpoint 1 complete" ]]
	[ "$(ls checkpoints/"$job".*/1)" = "$(printf '%s\n' task.0 task.1 task.2)" ]
	pass_gate 1
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	run -0 rota admin node drain n1 --reason=move
	run -0 rota restart "$job"
	eventually restored 2
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].nodes')" = n2 ]
	run -0 rota admin node resume n1
	pass_gate 2
	run -0 rota checkpoint "$job" --end --wait
	[[ $output = *"checkpoint 3 complete" ]]
	eventually has_left "$job"
	run -0 rota restart "$job"
	eventually restored 3
	touch go
	talk_is_as_expected
	[ "$(cat out.2)" = "$(printf 'task 2\nended with 0')" ]
}

@test "tasks: one is killed, and all go on from their checkpoint" {
	talk_expect
	talk_submit 2 1
	run -0 rota checkpoint "$job" --wait
	pass_gate 1
	kill -9 $(processes "$(cat checkpoints/"$job".*/next.1.run/task.1)")
	touch go
	run -137 rota wait "$job"
	[ "$(tail -n 1 out.0)" = "ended with 1" ]
	run -0 rota restart "$job"
	talk_is_as_expected
}

@test "tasks: each one that is restored is below its keeper, in its cgroup, and killed with it" {
	local rank root pid keeper pids=
	talk_submit 2 1
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	run -0 rota restart "$job"
	eventually restored 2
	pass_gate 1
	for rank in 0 1; do
		root=$(cat checkpoints/"$job".*/next.2.run/task.$rank)
		keeper=$(ps -o ppid= "$root" | tr -d ' ')
		[[ $(ps -o comm= "$keeper") = rota* ]]
		for pid in $(processes "$root"); do
			grep -qE "/$job[.]0[.]2(/|\$)" "/proc/$pid/cgroup" || ! grep -q 'with cgroups' "$ROTA_HOME/log/launcher.n1.log"
			pids+=" $pid"
		done
	done
	run -0 rota cancel "$job"
	eventually has_left "$job"
	are_dead $pids
}

@test "tasks: one that has ended, or has a process that DMTCP does not know, fails the checkpoint" {
	printf '#!/bin/bash\n[ "$ROTA_TASK_ID" = 0 ] || exit 0\n: >at.1\nuntil [ -e go ]; do sleep 0.3; done\n' >ends.sh
	rm -f at.1 go
	job=$(rota submit --parsable --checkpoint=dmtcp --run=tasks --nodes=1 --ntasks=2 --output=out ends.sh)
	eventually [ -e at.1 ]
	eventually runs
	eventually eval '[ "$(superuser "select count(*) from rota.task_end where job_id = $job")" = 1 ]'
	run -1 rota checkpoint "$job" --wait
	[[ $output = *"task 1 has ended, so the tasks cannot be saved together any more" ]]
	touch go
	run -0 rota wait "$job"
	printf '#!/bin/bash\n[ "$ROTA_TASK_ID" = 0 ] || exec %s/static >/dev/null\nuntil [ -e go ]; do sleep 0.3; done\n' "$PROGRAMS" >static.sh
	rm -f at.1 go
	job=$(rota submit --parsable --checkpoint=dmtcp --run=tasks --nodes=1 --ntasks=2 --output=out static.sh)
	eventually [ -e at.1 ]
	eventually runs
	run -1 rota checkpoint "$job" --wait
	[[ $output = *"would not be saved: program \"$PROGRAMS/static\" is statically linked" ]]
	touch go
	run -0 rota wait "$job"
}

@test "tasks: an image of one with one bit changed is not run, and all go on from the checkpoint before" {
	bit_is_flipped 1
}

@test "tasks: a restore in which one hangs is given up, and all go on from the checkpoint before" {
	talk_expect
	talk_submit 2 1
	hangs_once 8
	talk_is_as_expected
}

@test "tasks: a restore that one of them cannot begin ends, and all go on from the same checkpoint on another node" {
	talk_expect
	talk_submit 2 1
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	: >quit
	run -0 rota restart "$job"
	eventually restored 3
	[ -e gone ]
	run -0 rota checkpoint show "$job" --generation=1
	[[ $output != *failed* ]]
	touch go
	talk_is_as_expected
}

@test "tasks: if task 0 cannot start, none does, and the step is queued again" {
	talk_expect
	talk_submit 2 1
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	superuser "update rota.checkpoint set needs = needs || '{\"kernel\": \"1.0\"}' where job_id = $job"
	superuser "update rota.node set found = found || jsonb_build_object('restart', found -> 'restart' || '{\"kernel\": \"1.0\"}') where name = 'n2'"
	run -0 rota restart "$job"
	eventually eval '[ "$(rota show --json "$job" | jq -r ".jobs[0].steps[0].held")" = system ]'
	why_says "could not go on from checkpoint 1 on n2: the checkpoint needs kernel 1.0, and this node has $(uname -r)"
	grep -qx "rota-checkpoint: task 0 has not started" out.1
	[ ! -e calls ]
	superuser "update rota.checkpoint set needs = null where job_id = $job"
	superuser "update rota.node n set found = o.found from rota.node o where n.name = 'n2' and o.name = 'n1'"
	run -0 rota release "$job"
	touch go
	talk_is_as_expected
}

@test "tasks: short ones all end well, and a single one is saved as a script that runs once" {
	job=$(rota submit --parsable --checkpoint=dmtcp --run=tasks --nodes=1 --ntasks=4 --output=out.%t --wrap='echo "task $ROTA_TASK_ID"')
	run -0 rota wait "$job"
	[ "$(cat out.0 out.1 out.2 out.3)" = "$(printf 'task %d\n' 0 1 2 3)" ]
	[ ! -e checkpoints ]
	expect counter
	submit counter --run=tasks
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	[[ $(ls checkpoints/"$job".*/1) != *task.* ]]
	run -0 rota restart "$job"
	eventually restored 2
	touch go
	is_as_expected
}

@test "tasks: a node is evacuated, and all go on elsewhere; saved every so often" {
	talk_expect
	talk_submit 2 1 --checkpoint-interval=0:02
	eventually eval '[ "$(sql "select count(*) from acct.checkpoint where job_id = $job and complete_at is not null")" -ge 2 ]'
	run -0 rota migrate "$job"
	eventually restored 2
	touch go
	talk_is_as_expected
}
