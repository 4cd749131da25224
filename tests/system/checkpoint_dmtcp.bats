#!/usr/bin/env bats
# Steps that DMTCP saves: the same results as without a disturbance, and restored processes that are in their step again. Where the programs of
# DMTCP are not in PATH, these tests are skipped.

load helper

setup_file() {
	export EVE=rbdm$$ DMTCP
	DMTCP=$(dirname "$(command -v dmtcp_launch || echo /none/dmtcp_launch)")
	[ -x "$DMTCP/dmtcp_launch" ] || return 0
	export LINKS
	LINKS=$(mktemp -d "${TMPDIR:-/tmp}/rota-dmtcp.XXXXXX")
	dmtcp_link
	instance_up 2 --set node.grace=2 --set node.checkpoint_dmtcp="$LINKS" || return 1
	rota admin setting change requeue_delay_s --value=0
	rota admin setting change checkpoint_pace_s --value=0
	export PROGRAMS=$ROTA_TEST_DIR/programs
	mkdir "$PROGRAMS"
	programs_make
}

teardown_file() {
	local status=0
	instance_down || status=1
	[ -z "${LINKS:-}" ] || rm -rf -- "$LINKS"
	! id "$EVE" >/dev/null 2>&1 || users_remove "$EVE" || status=1
	return "$status"
}

setup() {
	[ -x "$DMTCP/dmtcp_launch" ] || skip "DMTCP is not installed (dmtcp_launch is not in PATH)"
	! sanitized || skip "DMTCP and sanitizers both have to be the first library of a program"
	cd "$BATS_TEST_TMPDIR"
	chmod 755 .
}

# dmtcp_link: the programs of DMTCP in the folder LINKS, with a dmtcp_restart that hangs once in a folder with a file hang.
dmtcp_link() {
	ln -s "$DMTCP"/* "$LINKS"
	rm "$LINKS/dmtcp_restart"
	printf '#!/bin/sh\n! mv hang hung 2>/dev/null || exec sleep 3600\nexec "%s/dmtcp_restart" "$@"\n' "$DMTCP" >"$LINKS/dmtcp_restart"
	chmod 755 "$LINKS" "$LINKS/dmtcp_restart"
}

# programs_make: programs that print numbers, and wait half way until there is a file go. They leave files "half", and "on" when they go on.
programs_make() {
	cat >"$PROGRAMS/counter.c" <<-'END'
		#include <fcntl.h>
		#include <stdio.h>
		#include <unistd.h>
		/* Numbers go through a pipe to itself, and into a file that stays open. */
		int main(void)
		{
			int fd[2], number, got;
			long sum = 0;
			FILE *file = fopen("counted", "w");
			if (!file || pipe(fd) < 0)
				return 1;
			for (number = 0; number < 2000; number++) {
				if (write(fd[1], &number, sizeof number) < 0)
					return 1;
				if (number == 1000) {
					close(open("half", O_CREAT | O_WRONLY, 0666));
					while (access("go", F_OK) < 0)
						usleep(20000);
				}
				if (read(fd[0], &got, sizeof got) != sizeof got)
					return 1;
				sum = (sum * 31 + got) % 1000003;
				fprintf(file, "%d %ld\n", got, sum);
				if (number % 100 == 0)
					printf("%ld\n", sum), fflush(stdout);
			}
			printf("%ld\n", sum);
			return fclose(file);
		}
	END
	cat >"$PROGRAMS/threads.c" <<-'END'
		#include <fcntl.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <unistd.h>
		static pthread_barrier_t half;
		static long sums[4];
		static void *work(void *arg)
		{
			long *sum = arg;
			for (int i = 0; i < 200000; i++) {
				if (i == 100000) {
					pthread_barrier_wait(&half);
					close(open("half", O_CREAT | O_WRONLY, 0666));
					while (access("go", F_OK) < 0)
						usleep(20000);
				}
				*sum = (*sum * 1103515245 + 12345 + (sum - sums)) & 0x7fffffff;
			}
			return NULL;
		}
		int main(void)
		{
			pthread_t threads[4];
			pthread_barrier_init(&half, NULL, 4);
			for (int i = 0; i < 4; i++)
				pthread_create(&threads[i], NULL, work, &sums[i]);
			for (int i = 0; i < 4; i++)
				pthread_join(threads[i], NULL);
			for (int i = 0; i < 4; i++)
				printf("%ld\n", sums[i]);
			return 0;
		}
	END
	cat >"$PROGRAMS/python.py" <<-'END'
		import os, time
		state, words = 1, {}
		for i in range(4000):
		    if i == 2000:
		        open("half", "w").close()
		        while not os.path.exists("go"):
		            time.sleep(0.02)
		    state = state * 1103515245 + 12345 & 0x7fffffff
		    words[state % 97] = words.get(state % 97, 0) + i
		    if i % 500 == 0:
		        print(i, state, flush=True)
		print(sorted(words.items()))
	END
	cat >"$PROGRAMS/pipeline.sh" <<-'END'
		lines() {
			local i x=1
			for ((i = 0; i < 600; i++)); do
				x=$(((x * 1103515245 + 12345) % 2147483648))
				echo "$i $x"
				if [ "$i" -eq 300 ]; then
					: >half
					until [ -e go ]; do sleep 0.05; done
				fi
			done
		}
		lines | sed 's/1/one/g' | sort -k2 | tee sorted | tail -n 100
	END
	cc -std=gnu17 -O1 -Wall -Wextra -Werror -o "$PROGRAMS/counter" "$PROGRAMS/counter.c"
	cc -std=gnu17 -O1 -Wall -Wextra -Werror -pthread -o "$PROGRAMS/threads" "$PROGRAMS/threads.c"
	cc -std=gnu17 -O1 -static -o "$PROGRAMS/static" "$PROGRAMS/counter.c"
}

# command_of NAME: the command line of a program.
command_of() {
	case $1 in
	python) echo "python3 $PROGRAMS/python.py" ;;
	pipeline) echo "bash $PROGRAMS/pipeline.sh" ;;
	*) echo "$PROGRAMS/$1" ;;
	esac
}

# expect NAME: what the program prints and writes without a disturbance, in the folder expected.
expect() {
	mkdir expected
	(cd expected && : >go && $(command_of "$1") >out && rm go half)
}

# submit NAME [OPTION]...: a job of this program, which has come half way.
submit() {
	local name=$1
	shift
	rm -f half go
	printf '#!/bin/bash\n%s\necho "ended with $?"\n' "$(command_of "$name")" >job.sh
	job=$(rota submit --parsable --checkpoint=dmtcp --output=out "$@" job.sh)
	eventually runs
	eventually [ -e half ]
}

runs() {
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].state')" = running ]
}

# is_as_expected: the job has ended, and has printed and written what the program does without a disturbance.
is_as_expected() {
	run -0 rota wait "$job"
	diff out <(cat expected/out; echo "ended with 0")
	rm expected/out
	for file in $(ls expected); do cmp "expected/$file" "$file"; done
}

# restored ATTEMPT: this attempt goes on from a checkpoint.
restored() {
	[ "$(sql "select count(*) from acct.checkpoint where job_id = $job and state = 'restored'")" -ge 1 ] &&
		[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0] | "\(.attempt) \(.state)"')" = "$1 running" ]
}

sql() {
	rota sql -Atc "$1"
}

# processes: the pids of the step's first process and its descendants.
processes() {
	local pid=$1 child
	echo "$pid"
	for child in $(pgrep -P "$pid"); do processes "$child"; done
}

# first_process: the first process of the step's present attempt, by the port file of its driver.
first_process() {
	awk '{ print $2 }' "checkpoints/$job."*"/next.$1.run/port" 2>/dev/null
}

goes_on() {
	expect "$1"
	submit "$1"
	run -0 rota checkpoint "$job" --wait
	[[ $output = *"checkpoint 1 complete" ]]
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	run -0 rota admin node drain n1 --reason=move
	run -0 rota restart "$job"
	eventually restored 2
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].nodes')" = n2 ]
	run -0 rota admin node resume n1
	# Again, after the one that was restored.
	run -0 rota checkpoint "$job" --end --wait
	[[ $output = *"checkpoint 3 complete" ]]
	eventually has_left "$job"
	run -0 rota restart "$job"
	eventually restored 3
	touch go
	is_as_expected
	[ ! -e checkpoints ]
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
	eventually eval '[ -n "$(first_process 2)" ]'
	root=$(first_process 2)
	eventually eval '[ "$(processes "$root" | wc -l)" -ge 2 ]'
	keeper=$(ps -o ppid= "$root" | tr -d ' ')
	[[ $(ps -o comm= "$keeper") = rota* ]]
	for pid in $(processes "$root"); do
		[ "$(cat "/proc/$pid/cgroup")" = "$(cat "/proc/$root/cgroup")" ]
		[ "$(cat "/proc/$pid/cgroup")" != "$(cat /proc/self/cgroup)" ] || ! grep -q 'with cgroups' "$ROTA_HOME/log/launcher.n1.log"
	done
	pids=$(processes "$root")
	run -0 rota cancel "$job"
	eventually has_left "$job"
	are_dead $pids
	[ "$(sql "select max(cpu_used_s) > 0 from acct.attempt where job_id = $job and attempt = 2")" = t ]
}

@test "a time limit holds for what is restored, and a step longer than its limit goes on" {
	expect counter
	submit counter --time=0:08 --checkpoint-before=0:06
	eventually restored 3
	touch go
	is_as_expected
	[[ $(sql "select string_agg(distinct reason, ',') from acct.checkpoint where job_id = $job and complete_at is not null") = time_limit ]]
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
	users_add "$EVE"
	submit counter
	read -r port _ <"$(echo checkpoints/"$job".*/next.1.run/port)"
	# The port is of the loopback interface alone, and the coordinator has none.
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
	printf '#!/bin/bash\n(%s/static >/dev/null &)\nuntil [ -e on ]; do sleep 0.05; done\n' "$PROGRAMS" >orphan.sh
	rm -f half go on
	job=$(rota submit --parsable --checkpoint=dmtcp --output=out orphan.sh)
	eventually [ -e half ]
	run -1 rota checkpoint "$job" --wait
	[[ $output = *"would not be saved: program \"$PROGRAMS/static\" is statically linked"* ]]
	touch go
	# It has ended: nothing is in the way any more.
	saves() { rota checkpoint "$job" --wait; }
	eventually saves
	touch on
	run -0 rota wait "$job"
}

# why_says TEXT: rota why says so.
why_says() {
	run rota why "$job"
	[[ $output = *$1* ]]
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
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0] | "\(.attempt) \(.state)"')" = "1 pending" ]
	# A node that said it has that kernel, and has not.
	superuser "update rota.node set found = found || jsonb_build_object('restart', found -> 'restart' || '{\"kernel\": \"1.0\"}') where name = 'n2'"
	eventually eval '[ "$(rota show --json "$job" | jq -r ".jobs[0].steps[0].held")" = system ]'
	why_says "could not go on from checkpoint 1 on n2: it needs kernel 1.0, and this node has $(uname -r)"
	superuser "update rota.checkpoint set needs = null where job_id = $job"
	run -0 rota release "$job"
	touch go
	is_as_expected
}

@test "a restore that hangs is given up, and the step goes on from the checkpoint before" {
	expect counter
	submit counter
	run -0 rota checkpoint "$job" --wait
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	rota admin setting change checkpoint_wait_s --value=5
	: >hang
	run -0 rota restart "$job"
	eventually eval '[ "$(sql "select state from acct.checkpoint where job_id = $job and generation = 2")" = failed ]'
	rota admin setting change checkpoint_wait_s --value=60
	touch go
	is_as_expected
	[ "$(sql "select message from acct.checkpoint where job_id = $job and generation = 2")" = "DMTCP did not restore it within 5 seconds" ]
}

@test "an image that was changed is not run" {
	local image
	expect counter
	submit counter
	run -0 rota checkpoint "$job" --wait
	run -0 rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	image=$(ls -d checkpoints/"$job".*/2/*.dmtcp | head -n 1)
	truncate -s 4096 "$image"
	touch go
	run -0 rota restart "$job"
	is_as_expected
	[[ $(sql "select string_agg(concat_ws(' ', generation, state), ', ' order by generation) from acct.checkpoint where job_id = $job") = "1 discarded, 2 failed" ]]
}
