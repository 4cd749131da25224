#!/usr/bin/env bats
# The MPI program of docs/checkpointing.md, run by mpirun within a step: saved and killed, or saved and ended, it goes on with the
# result of an undisturbed run, bit for bit. Without mpicc and mpirun in PATH, these tests are skipped.

load helper

RANKS=3

setup_file() {
	has_mpi || return 0
	instance_up 2 --cpus 4 --mem 2000 --set node.grace=2 || return 1
	rota admin setting change requeue_delay_s --value=0
	export PROGRAM=$ROTA_TEST_DIR/program
	mkdir "$PROGRAM"
	cd "$PROGRAM"
	program_make || return 1
	: >on
	mpirun -n "$RANKS" ./solve >out || return 1
}

teardown_file() {
	[ -z "${ROTA_TEST_DIR:-}" ] || instance_down
}

setup() {
	has_mpi || skip "MPI is not installed (mpicc or mpirun is not in PATH)"
	cd "$BATS_TEST_TMPDIR"
}

has_mpi() {
	command -v mpicc >/dev/null && command -v mpirun >/dev/null
}

# program_make: the program of the manual. Its work is a chaotic map: had a restart changed one bit, the result would differ. A rank
# writes its process to the file begun at turn 0, and to at.TURN at turns 50 and 150, where it waits until it gets the signal, or
# there is a file on.
program_make() {
	awk '/^## / { on = $0 == "## MPI programs" } on && $0 == "```" { exit } open; on && $0 == "```c" { open = 1 }' \
		"$ROTA_SOURCE/docs/checkpointing.md" >sample.c
	cat >solve.c <<-'END'
		#include <fcntl.h>
		#include <unistd.h>
		#include "sample.c"
		static void note(const char *path)
		{
			int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
			if (fd < 0 || dprintf(fd, "%d\n", (int)getpid()) < 0 || close(fd) < 0)
				_exit(1);
		}
		double work(long turn, double own, double other)
		{
			double mixed = 0.95 * own + 0.05 * other;
			if (turn == 0)
				note("begun");
			if (turn == 50 || turn == 150) {
				note(turn == 50 ? "at.50" : "at.150");
				while (!asked && access("on", F_OK) != 0)
					usleep(20000);
			}
			return 3.99 * mixed * (1.0 - mixed);
		}
	END
	mpicc -std=gnu17 -Wall -Wextra -Werror solve.c -o solve
}

# submit: a job of the program, whose ranks have come to turn 50, and whose start the database has; without it, a step is not saved.
submit() {
	cat >solve.sh <<-'END'
		#!/bin/bash
		#ROTA --checkpoint=app --checkpoint-signal=USR2 --nodes=1 --output=out
		mpirun -n "$ROTA_NTASKS" "$PROGRAM/solve"
	END
	job=$(rota submit --parsable --ntasks="$RANKS" solve.sh)
	eventually has_all at.50
	eventually runs
}

runs() {
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].state')" = running ]
}

# has_all FILE: all ranks have written their processes to this file, once.
has_all() {
	[ "$(wc -l 2>/dev/null <"$1")" = "$RANKS" ]
}

is_as_undisturbed() {
	run -0 rota wait "$job"
	diff out "$PROGRAM/out"
	has_all begun
	[ ! -e checkpoints ]
}

sql() {
	rota sql -Atc "$1"
}

@test "an MPI program saves itself, and is killed when it has gone on: it goes on from there" {
	submit
	run -0 rota checkpoint "$job" --wait
	[[ $output = *"checkpoint 1 complete" ]]
	[ "$(rota checkpoint show "$job" --json | jq -r '[.checkpoints[0].file_list[].name] | sort | join(" ")')" = "rank.0 rank.1 rank.2" ]
	eventually has_all at.150
	kill -KILL "$(tail -n 1 at.150)"
	run ! rota wait "$job"
	eventually has_left "$job"
	: >on
	run -0 rota restart "$job"
	[[ $output = *"to go on from checkpoint 1" ]]
	is_as_undisturbed
	[ "$(sql "select string_agg(concat_ws(' ', generation, restored_at is not null), ', ') from acct.checkpoint where job_id = $job")" = "1 t" ]
}

@test "an MPI program saves itself, and is ended: it goes on on the other node; twice" {
	local node
	submit
	node=$(rota show --json "$job" | jq -r '.jobs[0].steps[0].nodes')
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	run -0 rota restart "$job" --to "n$((3 - ${node#n}))"
	eventually has_all at.150
	eventually runs
	run -0 rota checkpoint "$job" --end --wait
	[[ $output = *"checkpoint 2 complete" ]]
	eventually has_left "$job"
	: >on
	run -0 rota restart "$job" --to "$node"
	is_as_undisturbed
	[ "$(sql "select string_agg(nodes, ' ' order by attempt) from acct.attempt where job_id = $job")" = "$node n$((3 - ${node#n})) $node" ]
}
