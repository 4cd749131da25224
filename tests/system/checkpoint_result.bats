#!/usr/bin/env bats
# Programs that are saved and go on give the result of an undisturbed run, bit for bit: preempted ten times, through a chain of
# five time limits, killed and restarted on another node, evacuated. Each test runs with the drivers app and script, and with
# dmtcp and criu if their programs are in PATH. As root, each node is in a mount namespace of its own, with another local folder.

load helper
load restored

setup_file() {
	export EVE=rbcs$$ CRIU DMTCP DRIVERS LOCAL options
	CRIU=$(dirname "$(command -v criu || echo /none/criu)")
	DMTCP=$(dirname "$(command -v dmtcp_launch || echo /none/dmtcp_launch)")
	DRIVERS=$(mktemp -d "${TMPDIR:-/tmp}/rota-drivers.XXXXXX")
	options=(--cpus 32 --mem 16000 --set node.checkpoint_folder="$DRIVERS")
	[ ! -x "$DMTCP/dmtcp_launch" ] || options+=(--set node.checkpoint_dmtcp="$DMTCP")
	[ ! -x "$CRIU/criu" ] || options+=(--set node.checkpoint_criu="$CRIU")
	site_driver
	[ "$EUID" != 0 ] || users_add "$EVE"
	restored_up "${options[@]}" || return 1
	rota admin qos create high --tier=1
	rota admin partition change main --preempt=checkpoint
	LOCAL=$ROTA_TEST_DIR/local
	mkdir "$LOCAL"
	if [ "$EUID" = 0 ]; then
		folders_add "$EVE"
		for node in n1 n2; do node_apart "$node"; done
	fi
	heat_make
	results_make counter threads python pipeline heat
}

teardown_file() {
	rm -rf -- "$DRIVERS"
	restored_down
}

setup() {
	[ "$EUID" != 0 ] || cd "$ROTA_TEST_DIR/$EVE"
	[ "$EUID" = 0 ] || cd "$BATS_TEST_TMPDIR"
	owner mkdir "$BATS_TEST_NUMBER"
	cd "$BATS_TEST_NUMBER"
	jobs=()
}

teardown() {
	[ "${#jobs[@]}" = 0 ] || rota cancel "${jobs[@]}" >/dev/null 2>&1 || true
	rota admin node resume 'n[1-2]' >/dev/null 2>&1 || true
}

# site_driver: a driver of the site for programs that save themselves into a file state when they are signalled.
site_driver() {
	mkdir "$DRIVERS/kick"
	printf '#!/bin/sh\nrm -f pid\nexec "$@"\n' | tee "$DRIVERS"/kick/{start,restart} >/dev/null
	printf '#!/bin/sh\nkill -USR1 "$(cat pid)" || exit 1\nuntil [ -e "$ROTA_CHECKPOINT_DIR/state" ]; do sleep 0.3; done\n' >"$DRIVERS/kick/checkpoint"
	chmod -R 755 "$DRIVERS"
}

# node_apart NODE: restart the processes of a node in a mount namespace of its own, in which node.tmpdir is a folder that the
# other node lacks.
node_apart() {
	sed "s,^tmpdir *=.*,tmpdir = $LOCAL/$1," "$ROTA_HOME/etc/rota.conf" >"$ROTA_HOME/etc/$1.conf"
	kill_now "$(pid_of launcher "$1")" "$(pid_of procmgrd "$1")"
	unshare -m bash -c "mount -t tmpfs -o mode=755 none $LOCAL && mkdir $LOCAL/$1 && exec rota-launcher --config $ROTA_HOME/etc/$1.conf --node $1" \
		>>"$ROTA_HOME/log/launcher.$1.log" 2>&1 3>&- &
}

owner() {
	if [ "$EUID" = 0 ]; then as "$EVE" "$@"; else "$@"; fi
}

# heat_make: the solver of examples/heat.sh, which takes 20 ms a step from its 200th step on, until there is a file go. It leaves a file
# at.ATTEMPT then, and the next one when there is a file go.ATTEMPT: as the other programs, if each attempt has one gate.
heat_make() {
	cat >"$PROGRAMS/slow.h" <<-'END'
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		static inline void slow_copy(void *to, const void *from, size_t size)
		{
			static int steps;
			char path[32];
			memcpy(to, from, size);
			if (++steps < 200 || access("go", F_OK) == 0)
				return;
			int at = atoi(getenv("ROTA_ATTEMPT"));
			snprintf(path, sizeof path, "go.%d", at);
			at += access(path, F_OK) == 0;
			snprintf(path, sizeof path, "at.%d", at);
			close(open(path, O_CREAT | O_WRONLY, 0666));
			usleep(20000);
		}
		#define memcpy slow_copy
	END
	sed -n '/^cat .*END_OF_HEAT/,/^END_OF_HEAT/p' "$ROTA_SOURCE/examples/heat.sh" | sed '1d;$d' >"$PROGRAMS/heat.c"
	cc -std=gnu17 -O2 -ffp-contract=off -include "$PROGRAMS/slow.h" "$PROGRAMS/heat.c" -o "$PROGRAMS/heat" -lpng -lm
	"$PROGRAMS/heat" mesh 60 40 >"$PROGRAMS/mesh"
	printf '#!/bin/sh\nexec "%s/heat" solve 20000 6 . <"%s/mesh"\n' "$PROGRAMS" "$PROGRAMS" >"$PROGRAMS/heat.sh"
	chmod 755 "$PROGRAMS/heat.sh"
}

# results_make NAME...: run these programs without a disturbance, and keep their output and files.
results_make() {
	local name
	for name; do
		mkdir -p "$PROGRAMS/result/$name"
		(cd "$PROGRAMS/result/$name" && expect "$name")
	done
}

# begin DRIVER OPTION... -- NAME...: a job for each program, in a folder of its own. Its script notes where it runs in a file of the step's TMPDIR.
begin() {
	local driver=$1 name given=()
	shift
	while [ "$1" != -- ]; do
		given+=("$1")
		shift
	done
	shift
	for name; do
		owner mkdir "$driver.$name"
		printf '#!/bin/bash\n[ -z "${ROTA_TMPDIR:-}" ] || { echo "$ROTA_TMPDIR" >>"$ROTA_TMPDIR/where" && cp "$ROTA_TMPDIR/where" .; }\n%s\nexit $?\n' "$(command_of "$name")" >"$driver.$name/job.sh"
		cd "$driver.$name"
		jobs+=("$(owner rota submit --parsable --checkpoint="$driver" --output=out --error=err --open-mode=append "${given[@]}" job.sh)")
		cd ..
	done
}

# begin_own OPTION...: begin the jobs that need no other program: with the drivers app and script.
begin_own() {
	begin app "$@" -- counter threads python pipeline heat
	begin script:kick "$@" -- counter threads python pipeline
}

begin_dmtcp() {
	[ -x "$DMTCP/dmtcp_launch" ] || skip "DMTCP is not installed (dmtcp_launch is not in PATH)"
	! sanitized || skip "DMTCP and sanitizers both have to be the first library of a program"
	begin dmtcp "$@" -- counter threads python pipeline
}

begin_criu() {
	[ -x "$CRIU/criu" ] || skip "CRIU is not installed (criu is not in PATH)"
	need_root
	begin criu "$@" -- counter threads python pipeline static
}

# at NUMBER: all programs are at this gate, and the database has the start of their steps; without it, a step is not saved.
at() {
	local folder
	for folder in *.*/; do
		[ -e "$folder/at.$1" ] || return 1
	done
	[ "$(is_each "select count(*) from acct.attempt a where a.job_id = j.job_id and a.state = 'live' and a.started_at is not null")" = 1 ]
}

# open_gate NAME: let all programs pass this gate.
open_gate() {
	local folder
	for folder in *.*/; do : >"$folder/$1"; done
}

# is_each QUERY: the least of the query's values over the jobs. In the query, JOBS is the list of jobs.
is_each() {
	local list
	list=$(IFS=,; echo "${jobs[*]}")
	sql "select min(n) from (select (${1}) as n from acct.job j where j.job_id in ($list)) each"
}

# results_are_as_expected: all jobs end, with the output and files of runs without a disturbance.
results_are_as_expected() {
	local folder name file
	run -0 rota wait "${jobs[@]}"
	for folder in *.*/; do
		name=${folder#*.} name=${name%/}
		[ "$name" != static ] || name=counter
		for file in "$PROGRAMS/result/$name/expected"/*; do
			case $name/${file##*/} in
			heat/out) diff "$file" <(uniq "$folder/out") ;; # the program does not save how much it has printed
			*) cmp "$file" "$folder/${file##*/}" ;;
			esac
		done
		[ ! -e "$folder/checkpoints" ]
	done
}

# preempted_ten_times: preempt all jobs ten times; between two times all have gone on a bit.
preempted_ten_times() {
	local round
	for ((round = 1; round <= 10; round++)); do
		eventually at "$round"
		rota submit --wait --time=1 --qos=high --nodes=2 --exclusive --output=/dev/null --wrap true
		open_gate "go.$round"
	done
	eventually at 11
	open_gate go
	results_are_as_expected
	[ "$(is_each "select count(*) from acct.preempted p where p.job_id = j.job_id and p.mode = 'checkpoint'")" = 10 ]
	[ "$(is_each "select count(*) from acct.checkpoint c where c.job_id = j.job_id and c.complete_at is not null")" -ge 10 ]
}

goes_on_for() {
	[ "$(is_each "select max(a.attempt) from acct.attempt a where a.job_id = j.job_id")" -ge "$1" ]
}

chain_of_five() {
	local round
	for ((round = 1; round <= 5; round++)); do
		eventually at "$round"
		eventually goes_on_for $((round + 1))
		open_gate "go.$round"
	done
	eventually at 6
	open_gate go
	results_are_as_expected
	[ "$(is_each "select count(*) from acct.checkpoint c where c.job_id = j.job_id and c.complete_at is not null and c.reason = 'time_limit'")" -ge 5 ]
}

# on_n1 BEGIN [OPTION]...: begin the jobs on n1, and let n2 take steps only later.
on_n1() {
	rota admin node drain n2 --reason=later >/dev/null
	"$@"
	eventually at 1
	rota admin node resume n2 >/dev/null
}

# goes_on_on_n2: all steps run on the other node, with its local folder only.
goes_on_on_n2() {
	[ "$(is_each "select count(*) from acct.attempt a where a.job_id = j.job_id and a.is_latest and a.nodes = 'n2'")" = 1 ]
	[ "$(is_each "select count(*) from acct.checkpoint c where c.job_id = j.job_id and c.state = 'restored'")" -ge 1 ]
}

killed_and_restarted() {
	local job pid
	run -0 owner rota checkpoint "${jobs[@]}" --wait
	open_gate go.1
	eventually at 2
	run -0 owner rota signal KILL "${jobs[@]}"
	for job in "${jobs[@]}"; do eventually has_left "$job"; done
	rm -- */at.2
	for job in "${jobs[@]}"; do run -0 owner rota restart "$job" --to n2; done
	eventually at 2
	goes_on_on_n2
	# A process that has just ended has no root folder.
	for pid in $(pgrep -u "$EVE"); do
		[ -d "/proc/$pid/root$LOCAL/n2" ] || [ ! -e "/proc/$pid/root/" ]
		[ ! -e "/proc/$pid/root$LOCAL/n1" ]
	done
	open_gate go
	results_are_as_expected
}

evacuated() {
	run -0 rota admin node evacuate n1 --to n2
	left() { [ "$(rota admin node evacuations --json | jq -r '.evacuations[0].state')" = done ]; }
	eventually left
	open_gate go.1
	eventually at 2
	goes_on_on_n2
	open_gate go
	results_are_as_expected
}

@test "preempted ten times: app and script" {
	begin_own
	preempted_ten_times
}

@test "preempted ten times: dmtcp" {
	begin_dmtcp
	preempted_ten_times
}

@test "preempted ten times: criu" {
	begin_criu
	preempted_ten_times
}

@test "a chain of five time limits: app and script" {
	begin_own --time=0:34 --checkpoint-before=0:30
	chain_of_five
}

@test "a chain of five time limits: dmtcp" {
	begin_dmtcp --time=0:30 --checkpoint-before=0:27
	chain_of_five
}

@test "a chain of five time limits: criu" {
	begin_criu --time=0:30 --checkpoint-before=0:27
	chain_of_five
}

@test "killed, and restarted on a node with other local folders: app and script" {
	need_root
	on_n1 begin_own --tmpdir
	killed_and_restarted
	for where in */where; do [ "$(sed "s,^$LOCAL/\(n.\)/.*,\1," "$where" | xargs)" = "n1 n2" ]; done
}

@test "killed, and restarted on a node with other local folders: dmtcp" {
	need_root
	on_n1 begin_dmtcp
	killed_and_restarted
}

@test "killed, and restarted on a node with other local folders: criu" {
	on_n1 begin_criu
	killed_and_restarted
}

@test "evacuated: app and script" {
	on_n1 begin_own
	evacuated
}

@test "evacuated: dmtcp" {
	on_n1 begin_dmtcp
	evacuated
}

@test "evacuated: criu" {
	on_n1 begin_criu
	evacuated
}
