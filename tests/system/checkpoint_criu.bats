#!/usr/bin/env bats
# Steps that CRIU saves: results are those of an undisturbed run, and restored processes belong to their step again. Without the
# program criu in PATH, these tests are skipped.

load helper
load restored

setup_file() {
	export EVE=rbcr$$ CRIU DRIVER=criu
	CRIU=$(dirname "$(command -v criu || echo /none/criu)")
	[ -x "$CRIU/criu" ] && [ "$EUID" = 0 ] || return 0
	users_add "$EVE"
	export LINKS
	LINKS=$(mktemp -d "${TMPDIR:-/tmp}/rota-criu.XXXXXX")
	criu_link
	restored_up --set node.checkpoint_criu="$LINKS" || return 1
	folders_add "$EVE"
}

teardown_file() {
	restored_down
}

setup() {
	[ -x "$CRIU/criu" ] || skip "CRIU is not installed (criu is not in PATH)"
	need_root
	mkdir "$ROTA_TEST_DIR/$EVE/$BATS_TEST_NUMBER"
	cd "$ROTA_TEST_DIR/$EVE/$BATS_TEST_NUMBER"
	chown "$EVE:" .
}

teardown() {
	not_full
	rm -rf -- "/tmp/$EVE"
}

# criu_link: make a program criu in the folder LINKS that notes in a file calls when it restores, and hangs once in a folder with a file hang.
criu_link() {
	cat >"$LINKS/criu" <<-END
		#!/bin/sh
		if [ "\$1" = restore ]; then
			echo restore >>calls
			! mv hang hung 2>/dev/null || exec sleep 3600
		fi
		exec "$CRIU/criu" "\$@"
	END
	chmod 755 "$LINKS" "$LINKS/criu"
}

owner() {
	as "$EVE" "$@"
}

# init_process: prints the pid of the first process in the namespace of the running step.
init_process() {
	pgrep -u "$EVE" -x -o rota-checkpoint
}

# submit_script [OPTION]...: submit the script job.sh, and wait until its program has come to its first gate.
submit_script() {
	job=$(owner rota submit --parsable --checkpoint=criu --output=out "$@" job.sh)
	eventually runs
	eventually [ -e at.1 ]
}

# ends_and_goes_on: have the step saved and ended, and wait until it is restored.
ends_and_goes_on() {
	run -0 owner rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	run -0 owner rota restart "$job"
	eventually restored 2
}

# goes NAME: this program runs, and CRIU does not.
goes() {
	[ "$(pgrep -u "$EVE" -c "$1")" = 1 ] && ! pgrep -u "$EVE" -x criu >/dev/null
}

is_held() {
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].held')" = system ]
}

@test "a program with an open file and a pipe: saved, and goes on; ended, and goes on elsewhere; twice" {
	goes_on counter
}

@test "a static program: saved, and goes on; ended, and goes on elsewhere; twice" {
	goes_on static
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

@test "processes whose parents have ended are saved and restored with the step" {
	local root
	cat >job.sh <<-END
		#!/bin/bash
		($PROGRAMS/counter >orphan.out &)
		until [ -e on ]; do sleep 0.3; done
	END
	expect counter
	submit_script
	ends_and_goes_on
	touch go
	eventually diff orphan.out expected/out
	cmp counted expected/counted
	touch on
	run -0 rota wait "$job"
}

@test "what is restored is in its step: below its keeper, in its cgroup, measured, within its time limit, and killed with it" {
	local init pid keeper
	submit python
	ends_and_goes_on
	eventually goes python3
	init=$(init_process)
	keeper=$(ps -o ppid= "$init" | tr -d ' ')
	[[ $(ps -o comm= "$keeper") = rota* ]]
	pids=$(processes "$init")
	for pid in $pids; do
		[ "$(cat "/proc/$pid/cgroup")" = "$(cat "/proc/$init/cgroup")" ]
		grep -qE "/$job[.]0[.]2(/|\$)" "/proc/$pid/cgroup" || ! grep -q 'with cgroups' "$ROTA_HOME/log/launcher.n1.log"
	done
	run -0 owner rota cancel "$job"
	eventually has_left "$job"
	are_dead $pids
	[ "$(sql "select max(cpu_used_s) > 0 from acct.attempt where job_id = $job and attempt = 2")" = t ]
}

@test "programs have no capability, and the first process the one to restore; none gains rights" {
	local init pid count
	for count in 1 2; do
		[ "$count" = 2 ] || submit counter
		eventually goes counter
		init=$(init_process)
		[ "$(awk '/^Cap(Inh|Prm|Eff|Amb)/ { print $2 }' "/proc/$init/status" | sort -u)" = 0000010000000000 ]
		for pid in $(processes "$init"); do
			[ "$(awk '/^Uid/ { print $2, $3, $4, $5 }' "/proc/$pid/status")" = "$(id -u "$EVE") $(id -u "$EVE") $(id -u "$EVE") $(id -u "$EVE")" ]
			[ "$(awk '/^NoNewPrivs/ { print $2 }' "/proc/$pid/status")" = 1 ]
			[ "$pid" = "$init" ] || [ "$(awk '/^Cap(Prm|Eff|Amb)/ { print $2 }' "/proc/$pid/status" | sort -u)" = 0000000000000000 ]
		done
		[ "$count" = 2 ] || ends_and_goes_on
	done
	touch go
	run -0 rota wait "$job"
}

@test "CRIU reads no configuration and no variable of the user" {
	local home
	home=$(getent passwd "$EVE" | cut -d: -f6)
	expect counter
	printf '#!/bin/sh\n: >"%s/taken"\n' "$PWD" >taker
	chmod 755 taker
	mkdir -p "$home/.criu"
	echo "action-script $PWD/taker" | tee "$home/.criu/default.conf" >other.conf
	chmod -R go+rX "$home" other.conf
	submit counter --export="ALL,CRIU_CONFIG_FILE=$PWD/other.conf"
	[ "$(tr '\0' '\n' <"/proc/$(init_process)/environ" | grep -c -x -e "HOME=$home" -e "CRIU_CONFIG_FILE=$PWD/other.conf")" = 2 ]
	ends_and_goes_on
	[ ! -e taken ]
	touch go
	is_as_expected
}

@test "nothing is saved or restored for root" {
	printf '#!/bin/sh\ntrue\n' >root.sh
	job=$(rota submit --parsable --checkpoint=criu --output=out root.sh)
	run -1 rota wait "$job"
	grep -q "rota-checkpoint: CRIU restores nothing for root" out
	job=$(rota submit --parsable --checkpoint=auto --output=out root.sh)
	run -0 rota wait "$job"
	run -0 rota show "$job.script"
	[[ $output = *"by app: "*"nor criu: CRIU restores nothing for root"* ]]
}

@test "auto chooses criu where dmtcp does not fit, and says why" {
	expect static
	submit static --checkpoint=auto
	run -0 rota show "$job.script"
	[[ $output = *"by criu: dmtcp does not fit, and the administrator allows criu"* ]]
	ends_and_goes_on
	touch go
	is_as_expected
}

@test "a time limit holds for what is restored, and a step longer than its limit goes on" {
	expect counter
	submit counter --time=0:34 --checkpoint-before=0:30
	eventually restored 3
	touch go
	is_as_expected
	[[ $(sql "select string_agg(distinct reason, ',') from acct.checkpoint where job_id = $job and complete_at is not null") = time_limit ]]
}

@test "the exit code of what was restored is that of the step" {
	printf '#!/bin/bash\n: >at.1\nuntil [ -e go ]; do sleep 0.3; done\nexit 7\n' >job.sh
	submit_script
	ends_and_goes_on
	touch go
	run -7 rota wait "$job"
}

@test "a signal that ends what was restored, or what was not, is reported as that signal; so is a signal to the script alone" {
	local count
	# The script's child handles the signal too, and must get it only without B:.
	cat >job.sh <<-'END'
		#!/bin/bash
		bash -c 'trap "echo >>child" USR1; : >at.1; until [ -e go ]; do sleep 0.3; done' &
		trap 'echo >>script' USR1
		until [ -e go ]; do sleep 0.3; done
		wait
		kill -BUS $$
	END
	submit_script --signal=B:USR1@60 --time=10:00
	for count in 1 2; do
		[ "$count" = 1 ] || ends_and_goes_on
		run -0 rota modify "$job" --time=0:50
		eventually eval '[ "$(wc -l <script)" = "$count" ]'
		run -0 rota modify "$job" --time=10:00
	done
	[ ! -e child ]
	touch go
	run -135 rota wait "$job"
	[ "$(sql "select signal || ' ' || cause from rota.step where job_id = $job")" = "7 signal" ]
	# A program that itself ends with such an exit code was not ended by a signal.
	printf '#!/bin/bash\n: >at.1; exit 135\n' >job.sh
	job=$(owner rota submit --parsable --checkpoint=criu --output=out job.sh)
	run -135 rota wait "$job"
	[ "$(sql "select coalesce(signal, 0) || ' ' || exit_code from rota.step where job_id = $job")" = "0 135" ]
}

@test "the checkpoint signal reaches the script alone, or what it has started, as --checkpoint-signal says" {
	cat >job.sh <<-'END'
		#!/bin/bash
		trap 'echo >>script; echo >$ROTA_CHECKPOINT_DIR/state; rota checkpoint --done' USR1
		bash -c 'trap "echo >>child; echo >$ROTA_CHECKPOINT_DIR/state; rota checkpoint --done" USR1; : >at.1; until [ -e go ]; do sleep 0.3; done' &
		until [ -e go ]; do sleep 0.3; done
		wait
	END
	submit_script --checkpoint=auto --checkpoint-signal=B:USR1
	run -0 owner rota checkpoint "$job" --wait
	[ "$(sql "select driver from acct.checkpoint where job_id = $job")" = app ]
	[ "$(wc -l <script)" = 1 ]
	[ ! -e child ]
	touch go
	run -0 rota wait "$job"
	rm go at.1 script
	submit_script --checkpoint=auto --checkpoint-signal=USR1
	run -0 owner rota checkpoint "$job" --wait
	[ "$(wc -l <child)" = 1 ]
	[ ! -e script ]
	touch go
	run -0 rota wait "$job"
}

@test "an image that was cut is not run" {
	changed pages-1.img truncate -s 4096
}

@test "an image with one bit changed is not run" {
	changed pages-1.img flip_bit
}

@test "exchanged images are not run: those of another checkpoint or job, and one more" {
	exchanged 'pages-*.img'
}

@test "a restore that hangs is given up, and the step goes on from this checkpoint on another node" {
	expect counter
	submit counter
	run -0 owner rota checkpoint "$job" --wait
	run -0 owner rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	rota admin setting change checkpoint_wait_s --value=5
	owner touch hang
	run -0 owner rota restart "$job"
	eventually restored 3
	rota admin setting change checkpoint_wait_s --value=60
	[ "$(sql "select unmet from rota.checkpoint_start where job_id = $job and attempt = 2")" = "CRIU did not restore the program within 5 seconds" ]
	[ "$(sql "select generation from rota.checkpoint_start where job_id = $job and attempt = 3")" = 2 ]
	[ "$(sql "select state from acct.checkpoint where job_id = $job and generation = 2")" = restored ]
	touch go
	is_as_expected
}

@test "a file that the program still needs is gone: the step is held, the checkpoint stays, and rota why says so" {
	submit counter
	run -0 owner rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	mv counted away
	run -0 owner rota restart "$job"
	eventually is_held
	why_says "could not open file \"$PWD/counted\", to which the program writes"
	[ "$(sql "select state from acct.checkpoint where job_id = $job and generation = 1")" != failed ]
	mv away counted
	run -0 owner rota release "$job"
	touch go
	run -0 rota wait "$job"
}

@test "a full disk fails the checkpoint and nothing else" {
	full_disk 64k
}

@test "programs with the setuid bit or capabilities: refused with a word; auto leaves them to themselves" {
	rights_make
	refused_for_rights
}

@test "a script starts programs with the setuid bit or capabilities: they gain no rights, before and after a restart" {
	rights_make
	printf '#!/bin/sh\n%s 1\n%s 2\n%s 3\n' "$PROGRAMS"/{setuid,capable,setuid} >job.sh
	submit_script
	has_no_rights 1
	pass_gate 1
	has_no_rights 2
	ends_and_goes_on
	pass_gate 2
	has_no_rights 3
	[ "$(pgrep -u "$EVE" -x setuid -c)" = 1 ]
	touch go
	run -0 rota wait "$job"
}

@test "what rota run starts is not saved, and fails the checkpoint" {
	printf '#!/bin/bash\nrota run bash -c ": >at.1; until [ -e go ]; do sleep 0.3; done"\n' >job.sh
	submit_script
	run -1 owner rota checkpoint "$job" --wait
	[[ $output = *"is of a shell or sub-step"* ]]
	touch go
	run -0 rota wait "$job"
}
