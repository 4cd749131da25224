#!/usr/bin/env bats
# MPI programs that MANA saves, by the driver of the site in examples/checkpoint/mana: results are those of an undisturbed run. Without
# the programs of MANA and of MPI in PATH, these tests are skipped.

load helper

RANKS=3

setup_file() {
	export EVE=rbma$$ NED=rbmn$$ MANA
	MANA=$(dirname "$(dirname "$(realpath "$(command -v mana_launch || echo /none/bin/mana_launch)")")")
	has_mana || return 0
	export DRIVERS PROGRAM
	DRIVERS=$(mktemp -d /var/tmp/rota-drivers.XXXXXX)
	cp -R "$ROTA_SOURCE/examples/checkpoint/mana" "$DRIVERS"
	sed -i "s,^mana=.*,mana=$MANA," "$DRIVERS/mana/common"
	chmod 755 "$DRIVERS"
	[ "$EUID" != 0 ] || users_add "$EVE" "$NED"
	# MANA does not save what is mapped from files in /dev/shm, and leaves files in /tmp.
	TMPDIR=/var/tmp instance_up 2 --cpus 4 --mem 4000 --set node.grace=2 --set node.checkpoint_folder="$DRIVERS" --set launcher.private_tmp=1 || return 1
	rota admin setting change requeue_delay_s --value=0
	[ "$EUID" != 0 ] || folders_add "$EVE"
	PROGRAM=$ROTA_TEST_DIR/program
	program_make
}

teardown_file() {
	local status=0
	[ -z "${DRIVERS:-}" ] || instance_down || status=1
	[ -z "${DRIVERS:-}" ] || rm -rf -- "$DRIVERS"
	! id "$EVE" >/dev/null 2>&1 || users_remove "$EVE" "$NED" || status=1
	return "$status"
}

setup() {
	has_mana || skip "MANA is not installed (mana_launch, mpicc or mpirun is not in PATH)"
	cd "$ROTA_TEST_DIR"
	[ "$EUID" != 0 ] || cd "$EVE"
	owner mkdir "$BATS_TEST_NUMBER"
	cd "$BATS_TEST_NUMBER"
}

has_mana() {
	[ -x "$MANA/bin/mana_launch" ] && command -v mpicc >/dev/null && command -v mpirun >/dev/null
}

# owner COMMAND...: run it as the owner of the jobs, who is not root.
owner() {
	if [ "$EUID" = 0 ]; then as "$EVE" "$@"; else "$@"; fi
}

# program_make: an MPI program, once for mpirun alone and once for MANA, and its result. It computes a chaotic map: had a restart changed one
# bit, the result would differ. A rank writes a line to the file begun at turn 0, and to at.TURN at turns 50 and 150, where it
# waits until there is a file go.TURN, or on.
program_make() {
	mkdir "$PROGRAM" && cd "$PROGRAM" || return 1
	cat >solve.c <<-'END'
		#include <fcntl.h>
		#include <mpi.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static void note(const char *path)
		{
			int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
			if (fd < 0 || write(fd, "\n", 1) != 1 || close(fd) < 0)
				_exit(1);
		}
		static void gate(long turn)
		{
			char at[32], go[32];
			snprintf(at, sizeof at, "at.%ld", turn);
			snprintf(go, sizeof go, "go.%ld", turn);
			note(at);
			while (access(go, F_OK) != 0 && access("on", F_OK) != 0)
				usleep(20000);
		}
		int main(int argc, char **argv)
		{
			int rank, size;
			double own, other, sum, *memory = calloc(1 << 18, sizeof *memory);
			MPI_Init(&argc, &argv);
			MPI_Comm_rank(MPI_COMM_WORLD, &rank);
			MPI_Comm_size(MPI_COMM_WORLD, &size);
			own = 1.0 / (rank + 2);
			note("begun");
			for (long turn = 0; turn < 300; turn++) {
				MPI_Sendrecv(&own, 1, MPI_DOUBLE, (rank + 1) % size, 0, &other, 1, MPI_DOUBLE, (rank + size - 1) % size, 0,
					     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
				if (turn == 50 || turn == 150)
					gate(turn);
				own = 0.95 * own + 0.05 * other;
				own = 3.99 * own * (1.0 - own);
				memory[turn * 800] = own;
				MPI_Allreduce(&memory[turn / 2 * 800], &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
				if (rank == 0 && turn % 100 == 0)
					printf("%ld %la\n", turn, sum);
				fflush(stdout);
			}
			MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
			if (rank == 0)
				printf("%la\n", sum);
			MPI_Finalize();
			return 0;
		}
	END
	: >on
	mpicc -std=gnu17 -Wall -Wextra -Werror solve.c -o undisturbed && mpirun -n "$RANKS" ./undisturbed >out || return 1
	"$MANA/bin/mpicc_mana" $(mpicc -show | tr ' ' '\n' | grep '^-I') solve.c -o solve
}

# submit: a job of the program, whose ranks have come to turn 50.
submit() {
	cat >solve.sh <<-'END'
		#!/bin/bash
		#ROTA --checkpoint=script:mana --nodes=1 --output=out --open-mode=append
		mpirun -n "$ROTA_NTASKS" mana "$PROGRAM/solve" || exit
		ls /tmp >tmp
	END
	job=$(owner rota submit --parsable --ntasks="$RANKS" solve.sh)
	eventually has_all at.50
	eventually runs
}

# runs: the database has the start of the step; without it, a step is not saved.
runs() {
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].state')" = running ]
}

# has_all FILE: all ranks have written to this file, once.
has_all() {
	[ "$(wc -l 2>/dev/null <"$1")" = "$RANKS" ]
}

# coordinator ATTEMPT QUESTION: what the coordinator of this attempt answers.
coordinator() {
	local port
	port=$(cat "checkpoints/$job."*"/next.$1.run/port" 2>/dev/null) &&
		owner env DMTCP_TMPDIR="$PWD" "$MANA/bin/dmtcp_command" --coord-host 127.0.0.1 --coord-port "$port" "$2"
}

# all_run ATTEMPT: all ranks of this attempt run; those of a checkpoint have been restored.
all_run() {
	[[ $(coordinator "$1" --status) = *"NUM_PEERS=$RANKS"*RUNNING=yes* ]]
}

# ranks ATTEMPT: the processes of the ranks of this attempt. DMTCP gives them other numbers than the kernel: [OWN:REAL].
ranks() {
	coordinator "$1" --list | sed -nE 's/.*\[[0-9]+:([0-9]+)\].*/\1/p'
}

# is_as_undisturbed: the job has ended, and has printed what the program prints without a disturbance. mpirun may have printed that it was ended.
is_as_undisturbed() {
	run -0 rota wait "$job"
	diff <(grep 0x out) "$PROGRAM/out"
	has_all begun
	[ ! -e checkpoints ]
}

sql() {
	rota sql -Atc "$1"
}

@test "saved, and goes on; ended, and goes on on the other node; twice" {
	local node pid pids
	submit
	node=$(rota show --json "$job" | jq -r '.jobs[0].steps[0].nodes')
	run -0 owner rota checkpoint "$job" --wait
	[[ $output = *"checkpoint 1 complete" ]]
	: >go.50
	eventually has_all at.150
	run -0 owner rota checkpoint "$job" --end --wait
	[ "$(rota checkpoint show "$job" --generation=2 --json | jq '[.checkpoints[0].file_list[].name | select(test("^ckpt_rank_[0-2]/ckpt_.*dmtcp$"))] | length')" = "$RANKS" ]
	eventually has_left "$job"
	run -0 owner rota restart "$job" --to "n$((3 - ${node#n}))"
	eventually all_run 2
	eventually runs
	pids=$(ranks 2)
	[ "$(wc -l <<<"$pids")" = "$RANKS" ]
	for pid in $pids; do
		grep -qE "/$job[.]0[.]2(/|\$)" "/proc/$pid/cgroup" || ! grep -q 'with cgroups' "$ROTA_HOME"/log/launcher.n?.log
	done
	run -0 owner rota checkpoint "$job" --end --wait
	[[ $output = *"checkpoint 3 complete" ]]
	eventually has_left "$job"
	are_dead $pids
	: >on
	run -0 owner rota restart "$job" --to "$node"
	is_as_undisturbed
	[ "$(sql "select string_agg(nodes, ' ' order by attempt) from acct.attempt where job_id = $job")" = "$node n$((3 - ${node#n})) $node" ]
	[ "$(sql "select string_agg(distinct driver_version, ',') from acct.checkpoint where job_id = $job")" != "" ]
}

@test "saved, and killed when it has gone on: it goes on from there" {
	submit
	run -0 owner rota checkpoint "$job" --wait
	: >go.50
	eventually has_all at.150
	kill -KILL "$(ranks 1 | tail -n 1)"
	run ! rota wait "$job"
	eventually has_left "$job"
	head -n 1 "$PROGRAM/out" >out
	: >on
	run -0 owner rota restart "$job"
	is_as_undisturbed
}

@test "another user reaches neither the coordinator nor the images" {
	local port folder
	need_root
	submit
	folder=$(echo "checkpoints/$job."*)
	port=$(cat "$folder/next.1.run/port")
	[ "$(ss -Htln "sport = :$port" | awk '{ print $4 }')" = "127.0.0.1:$port" ]
	mkdir -m 777 theirs
	for command in --quit --kill --checkpoint --list --status "--interval 1"; do
		run as "$NED" env DMTCP_TMPDIR="$PWD/theirs" timeout 20 "$MANA/bin/dmtcp_command" --coord-host 127.0.0.1 --coord-port "$port" $command
		[[ $output != *lower-half* && $output != *RUNNING=yes* ]]
	done
	run ! as "$NED" ls "$folder/next.1.run"
	run ! as "$NED" ls "$folder/next.images"
	[ "$(ls "$folder/next.images")" = "" ]
	run -0 owner rota checkpoint "$job" --wait
	: >on
	is_as_undisturbed
	# Others could make a folder dmtcp-USER@HOST in a /tmp that all share, and DMTCP would end.
	! grep dmtcp tmp
}

@test "what cannot be saved is refused with a word: several nodes, credentials, no program of MANA yet" {
	printf '#!/bin/bash\n: >at\nuntil [ -e on ]; do sleep 0.3; done\n' >early.sh
	job=$(owner rota submit --parsable --checkpoint=script:mana --output=out.early early.sh)
	eventually [ -e at ]
	eventually runs
	run -1 owner rota checkpoint "$job" --wait
	[[ $output = *"driver script:mana: its program checkpoint ended with exit code 3"* ]]
	: >on
	run -0 rota wait "$job"
	job=$(owner rota submit --parsable --checkpoint=script:mana --nodes=2 --output=out.wide early.sh)
	run ! rota wait "$job"
	grep -q "mana: .*--nodes=1" out.wide
	run -1 env ROTA_CREDENTIALS=/none ROTA_NNODES=1 ROTA_CHECKPOINT_DIR="$PWD/next.1" "$DRIVERS/mana/start" true
	[[ $output = *"an image would hold the credentials of the step"* ]]
	[ ! -e next.1.run ]
}
