# restored.bash - programs that a driver of checkpoints saves and restores as they are, for the tests of such drivers. DRIVER: its name; PROGRAMS: the
# folder of the programs; a file of tests does `load helper` first.

# owner COMMAND...: run it as the owner of the jobs, which a file of tests may define anew.
owner() {
	"$@"
}

# restored_up OPTION...: an instance of two nodes with the programs, where steps are queued again at once.
restored_up() {
	instance_up 2 --set node.grace=2 "$@" || return 1
	rota admin setting change requeue_delay_s --value=0
	rota admin setting change checkpoint_pace_s --value=0
	export PROGRAMS=$ROTA_TEST_DIR/programs
	mkdir "$PROGRAMS"
	programs_make
}

# restored_down: end it, and remove the folder LINKS of programs and the user EVE.
restored_down() {
	local status=0
	instance_down || status=1
	[ -z "${LINKS:-}" ] || rm -rf -- "$LINKS"
	! id "$EVE" >/dev/null 2>&1 || users_remove "$EVE" || status=1
	return "$status"
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
	python) echo "/usr/bin/python3 $PROGRAMS/python.py" ;;
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
	job=$(owner rota submit --parsable --checkpoint="$DRIVER" --output=out "$@" job.sh)
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

goes_on() {
	expect "$1"
	submit "$1"
	run -0 owner rota checkpoint "$job" --wait
	[[ $output = *"checkpoint 1 complete" ]]
	run -0 owner rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	run -0 rota admin node drain n1 --reason=move
	run -0 owner rota restart "$job"
	eventually restored 2
	[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].nodes')" = n2 ]
	run -0 rota admin node resume n1
	# Again, after the one that was restored.
	run -0 owner rota checkpoint "$job" --end --wait
	[[ $output = *"checkpoint 3 complete" ]]
	eventually has_left "$job"
	run -0 owner rota restart "$job"
	eventually restored 3
	touch go
	is_as_expected
	[ ! -e checkpoints ]
}

# why_says TEXT: rota why says so.
why_says() {
	run rota why "$job"
	[[ $output = *$1* ]]
}
