# restored.bash - programs that a driver of checkpoints saves and restores as they are, for the tests of such drivers. DRIVER: its name; PROGRAMS: the
# folder of the programs; a file of tests does `load helper` first.

# owner COMMAND...: run it as the owner of the jobs; a file of tests may define this anew.
owner() {
	"$@"
}

# restored_up OPTION...: an instance of two nodes, or NODES, with the programs, where steps are queued again at once.
restored_up() {
	instance_up "${NODES:-2}" --set node.grace=2 "$@" || return 1
	rota admin setting change requeue_delay_s --value=0
	rota admin setting change checkpoint_pace_s --value=0
	export PROGRAMS=$ROTA_TEST_DIR/programs
	mkdir "$PROGRAMS"
	programs_make
}

# restored_down: end the instance, and remove the folder LINKS of programs and the user EVE.
restored_down() {
	local status=0
	instance_down || status=1
	[ -z "${LINKS:-}" ] || rm -rf -- "$LINKS"
	! id "$EVE" >/dev/null 2>&1 || users_remove "$EVE" || status=1
	return "$status"
}

# programs_make: programs that print numbers, and wait at 13 gates: at gate N until there is a file go.N, or go. There is a file at.N then. Under the
# drivers app and script:kick they save themselves at a gate when they are signalled, and go on from there.
programs_make() {
	cat >"$PROGRAMS/gate.h" <<-'END'
		#include <fcntl.h>
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/stat.h>
		#include <unistd.h>
		static volatile sig_atomic_t asked;
		static void ask(int number)
		{
			asked = number;
		}
		/* Returns the file to go on from, or NULL. */
		static inline FILE *gate_begin(void)
		{
			const char *driver = getenv("ROTA_CHECKPOINT_DRIVER"), *from = getenv("ROTA_RESTART_DIR");
			char path[4096];
			FILE *file;
			if (!driver || (strcmp(driver, "app") != 0 && strncmp(driver, "script:", 7) != 0))
				return NULL;
			signal(SIGUSR1, ask);
			if (!(file = fopen("pid.part", "w")) || fprintf(file, "%d\n", (int)getpid()) < 0 || fclose(file) != 0 || rename("pid.part", "pid") < 0)
				exit(1);
			snprintf(path, sizeof path, "%s/state", from ? from : "");
			if (from && !(file = fopen(path, "r")))
				exit(1);
			return from ? file : NULL;
		}
		static inline long output_size(void)
		{
			struct stat s;
			return fflush(stdout) == 0 && fstat(1, &s) == 0 ? (long)s.st_size : -1;
		}
		static void gate_save(void (*save)(FILE *file))
		{
			const char *dir = getenv("ROTA_CHECKPOINT_DIR");
			char part[4096], path[4096];
			snprintf(part, sizeof part, "%s/state.part", dir);
			snprintf(path, sizeof path, "%s/state", dir);
			FILE *file = fopen(part, "w");
			asked = 0;
			if (!file)
				exit(1);
			save(file);
			if (fclose(file) != 0 || rename(part, path) < 0 ||
			    (strcmp(getenv("ROTA_CHECKPOINT_DRIVER"), "app") == 0 && system("rota checkpoint --done") < 0))
				exit(1);
		}
		static void gate(int number, void (*save)(FILE *file))
		{
			char path[32];
			snprintf(path, sizeof path, "at.%d", number);
			close(open(path, O_CREAT | O_WRONLY, 0666));
			snprintf(path, sizeof path, "go.%d", number);
			while (access("go", F_OK) < 0 && access(path, F_OK) < 0) {
				if (asked)
					gate_save(save);
				usleep(20000);
			}
		}
	END
	cat >"$PROGRAMS/counter.c" <<-'END'
		#include "gate.h"
		static int number;
		static long sum;
		static FILE *counted;
		static void save(FILE *file)
		{
			fflush(counted);
			fprintf(file, "%d %ld %ld %ld\n", number, sum, ftell(counted), output_size());
		}
		static int go_on(FILE *file)
		{
			long bytes, output;
			return fscanf(file, "%d %ld %ld %ld", &number, &sum, &bytes, &output) == 4 && (counted = fopen("counted", "r+")) &&
			       ftruncate(fileno(counted), bytes) == 0 && fseek(counted, 0, SEEK_END) == 0 && ftruncate(1, output) == 0;
		}
		/* Numbers go through a pipe to itself, and into a file that stays open. */
		int main(void)
		{
			int fd[2], got;
			FILE *file = gate_begin();
			if (file ? !go_on(file) : !(counted = fopen("counted", "w")))
				return 1;
			if (pipe(fd) < 0)
				return 1;
			for (; number < 2000; number++) {
				if (write(fd[1], &number, sizeof number) < 0)
					return 1;
				if (number % 150 == 0 && number > 0)
					gate(number / 150, save);
				if (read(fd[0], &got, sizeof got) != sizeof got)
					return 1;
				sum = (sum * 31 + got) % 1000003;
				fprintf(counted, "%d %ld\n", got, sum);
				if (number % 100 == 0)
					printf("%ld\n", sum), fflush(stdout);
			}
			printf("%ld\n", sum);
			return fclose(counted);
		}
	END
	cat >"$PROGRAMS/threads.c" <<-'END'
		#include <pthread.h>
		#include "gate.h"
		static pthread_barrier_t all;
		static int first, now;
		static long sums[4];
		static void save(FILE *file)
		{
			fprintf(file, "%d %ld %ld %ld %ld\n", now, sums[0], sums[1], sums[2], sums[3]);
		}
		static void *work(void *arg)
		{
			long *sum = arg;
			for (int i = first; i < 200000; i++) {
				if (i % 15000 == 0 && i > 0) {
					pthread_barrier_wait(&all);
					if (sum == sums)
						now = i, gate(i / 15000, save);
					pthread_barrier_wait(&all);
				}
				*sum = (*sum * 1103515245 + 12345 + (sum - sums)) & 0x7fffffff;
			}
			return NULL;
		}
		int main(void)
		{
			pthread_t threads[4];
			FILE *file = gate_begin();
			if (file && fscanf(file, "%d %ld %ld %ld %ld", &first, &sums[0], &sums[1], &sums[2], &sums[3]) != 5)
				return 1;
			pthread_barrier_init(&all, NULL, 4);
			for (int i = 0; i < 4; i++)
				pthread_create(&threads[i], NULL, work, &sums[i]);
			for (int i = 0; i < 4; i++)
				pthread_join(threads[i], NULL);
			for (int i = 0; i < 4; i++)
				printf("%ld\n", sums[i]);
			return 0;
		}
	END
	# Writes which rights it has into a file rights.NUMBER, and waits at the gate of this number.
	cat >"$PROGRAMS/rights.c" <<-'END'
		#include "gate.h"
		int main(int argc, char **argv)
		{
			int number = argc > 1 && atoi(argv[1]) ? atoi(argv[1]) : 1;
			char line[256], path[32];
			FILE *status = fopen("/proc/self/status", "r"), *file;
			snprintf(path, sizeof path, "rights.%d", number);
			if (!status || !(file = fopen(path, "w")))
				return 1;
			while (fgets(line, sizeof line, status))
				if (strncmp(line, "CapEff:\t", 8) == 0)
					fprintf(file, "%s %s", geteuid() == getuid() ? "own" : "other", line + 8);
			if (fclose(file) != 0)
				return 1;
			gate(number, NULL);
			return 0;
		}
	END
	# Becomes the program that it is given, without DMTCP, since it is linked statically.
	cat >"$PROGRAMS/become.c" <<-'END'
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			return argc > 1 ? execv(argv[1], argv + 1) : 1;
		}
	END
	cat >"$PROGRAMS/python.py" <<-'END'
		import os, pickle, signal, subprocess, time
		state, words, first, asked = 1, {}, 0, False
		driver = os.environ.get("ROTA_CHECKPOINT_DRIVER", "")
		def ask(number, frame):
		    global asked
		    asked = True
		def save():
		    global asked
		    asked = False
		    path = os.environ["ROTA_CHECKPOINT_DIR"] + "/state"
		    with open(path + ".part", "wb") as file:
		        pickle.dump((i, state, words, os.fstat(1).st_size), file)
		    os.rename(path + ".part", path)
		    if driver == "app":
		        subprocess.run(["rota", "checkpoint", "--done"])
		if driver == "app" or driver.startswith("script:"):
		    if "ROTA_RESTART_DIR" in os.environ:
		        with open(os.environ["ROTA_RESTART_DIR"] + "/state", "rb") as file:
		            first, state, words, size = pickle.load(file)
		        os.ftruncate(1, size)
		    signal.signal(signal.SIGUSR1, ask)
		    with open("pid.part", "w") as file:
		        print(os.getpid(), file=file)
		    os.rename("pid.part", "pid")
		for i in range(first, 4000):
		    if i % 300 == 0 and i > 0:
		        open("at.%d" % (i // 300), "w").close()
		        while not os.path.exists("go") and not os.path.exists("go.%d" % (i // 300)):
		            if asked:
		                save()
		            time.sleep(0.02)
		    state = state * 1103515245 + 12345 & 0x7fffffff
		    words[state % 97] = words.get(state % 97, 0) + i
		    if i % 500 == 0:
		        print(i, state, flush=True)
		print(sorted(words.items()))
	END
	cat >"$PROGRAMS/pipeline.sh" <<-'END'
		save() {
			asked=
			echo "$i $x" >"$ROTA_CHECKPOINT_DIR/state.part" && mv "$ROTA_CHECKPOINT_DIR/state.part" "$ROTA_CHECKPOINT_DIR/state"
			[ "$ROTA_CHECKPOINT_DRIVER" != app ] || rota checkpoint --done >&2
		}
		gate() {
			: >"at.$1"
			until [ -e go ] || [ -e "go.$1" ]; do
				[ -z "$asked" ] || save
				sleep 0.1
			done
		}
		# The saved numbers go through the pipeline again; they are not made again.
		lines() {
			local i=0 x=1 asked=
			case ${ROTA_CHECKPOINT_DRIVER:-} in app | script:*)
				[ -z "${ROTA_RESTART_DIR:-}" ] || read -r i x <"$ROTA_RESTART_DIR/state"
				trap 'asked=1' USR1
				echo "$BASHPID" >pid.part && mv pid.part pid
				;;
			esac
			touch kept
			head -n "$i" kept | tee kept.part && mv kept.part kept
			exec 9>>kept
			for ((; i < 600; i++)); do
				((i % 45 != 0 || i == 0)) || gate $((i / 45))
				x=$(((x * 1103515245 + 12345) % 2147483648))
				echo "$i $x"
				echo "$i $x" >&9
			done
			: >complete
		}
		# An attempt that is ended may lose `lines` before the other processes, which then end as if that were all.
		lines | sed 's/1/one/g' | sort -k2 | tee sorted | tail -n 100 >last
		[ ! -e complete ] || cat last
	END
	local name
	for name in counter threads rights; do
		cc -std=gnu17 -O1 -Wall -Wextra -Werror -pthread -o "$PROGRAMS/$name" "$PROGRAMS/$name.c"
	done
	cc -std=gnu17 -O1 -static -o "$PROGRAMS/static" "$PROGRAMS/counter.c"
	cc -std=gnu17 -O1 -static -o "$PROGRAMS/become" "$PROGRAMS/become.c"
}

# rights_make: the program rights once with the setuid bit of root and once with a capability, as setuid and capable. It skips the test where files
# give no rights.
rights_make() {
	need_root
	cp "$PROGRAMS/rights" "$PROGRAMS/setuid"
	cp "$PROGRAMS/rights" "$PROGRAMS/capable"
	chmod 4755 "$PROGRAMS/setuid"
	setcap cap_net_raw+ep "$PROGRAMS/capable" || skip "there is no setcap, or files have no capabilities here"
	touch go
	owner "$PROGRAMS/setuid"
	owner "$PROGRAMS/capable" 2
	[ "$(cut -d ' ' -f 1 rights.1)" = other ] && [ "$(cat rights.2)" != "$NO_RIGHTS" ] || skip "files give no rights in this file system"
	rm -f go at.* rights.*
}

# has_no_rights NUMBER: the program rights has run to its gate NUMBER, without any right but those of its user.
NO_RIGHTS="own 0000000000000000"
has_no_rights() {
	eventually [ -e "at.$1" ]
	diff "rights.$1" - <<<"$NO_RIGHTS"
}

# refused_for_rights: under the driver DRIVER, a program with the setuid bit or a capability is refused with that word, and does not run; auto
# leaves it to save itself, and it has its rights.
refused_for_rights() {
	local name word
	for name in setuid capable; do
		word=$([ "$name" = setuid ] && echo "setuid or setgid bit" || echo "capabilities (setcap)")
		printf '#!%s\n' "$PROGRAMS/$name" >"$name.sh"
		job=$(owner rota submit --parsable --checkpoint="$DRIVER" --output="$name.out" "$name.sh")
		run -1 rota wait "$job"
		grep -qF "rota-checkpoint: program \"$PROGRAMS/$name\" has " "$name.out"
		grep -qF "$word" "$name.out"
		[ ! -e rights.1 ]
		job=$(owner rota submit --parsable --checkpoint=auto --output="$name.out" "$name.sh")
		eventually [ -e at.1 ]
		eventually runs
		[ "$(cat rights.1)" != "$NO_RIGHTS" ]
		run -0 rota show "$job.script"
		[[ $output = *"by app: the program has to save itself: program \"$PROGRAMS/$name\" has "*"$word"* ]]
		touch go
		run -0 rota wait "$job"
		rm -f go at.1 rights.1
	done
}

# command_of NAME: the command line of a program.
command_of() {
	case $1 in
	python) echo "/usr/bin/python3 $PROGRAMS/python.py" ;;
	pipeline) echo "bash $PROGRAMS/pipeline.sh" ;;
	heat) echo "$PROGRAMS/heat.sh" ;; # checkpoint_result.bats makes it
	*) echo "$PROGRAMS/$1" ;;
	esac
}

# expect NAME: run the program without a disturbance; its output and files are in the folder expected.
expect() {
	mkdir expected
	(cd expected && : >go && $(command_of "$1") >out && rm -f go at.*)
}

# submit NAME [OPTION]...: a job of this program, which has come to its first gate.
submit() {
	local name=$1
	shift
	rm -f at.* go
	printf '#!/bin/bash\n%s\necho "ended with $?"\n' "$(command_of "$name")" >job.sh
	job=$(owner rota submit --parsable --checkpoint="$DRIVER" --output=out "$@" job.sh)
	eventually runs
	eventually [ -e at.1 ]
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

# restored ATTEMPT: this attempt has been restored from a checkpoint.
restored() {
	[ "$(sql "select count(*) from acct.checkpoint where job_id = $job and state = 'restored'")" -ge 1 ] &&
		[ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0] | "\(.attempt) \(.state)"')" = "$1 running" ]
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
	# Once more, after the restored attempt.
	run -0 owner rota checkpoint "$job" --end --wait
	[[ $output = *"checkpoint 3 complete" ]]
	eventually has_left "$job"
	run -0 owner rota restart "$job"
	eventually restored 3
	touch go
	is_as_expected
	[ ! -e checkpoints ]
}

# pass_gate NUMBER: let the program pass this gate, and wait until it has come to the next one.
pass_gate() {
	touch "go.$1"
	eventually [ -e "at.$(($1 + 1))" ]
}

# states: the step's checkpoints, each with its state.
states() {
	sql "select string_agg(concat_ws(' ', generation, state), ', ' order by generation) from acct.checkpoint where job_id = $job"
}

# full_disk SIZE: a checkpoint fails on a disk of this size, the program goes on, and on a larger disk the next checkpoint is complete.
full_disk() {
	need_root
	expect counter
	mkdir small
	mount -t tmpfs -o "size=$1,mode=0700,uid=$(owner id -u)" tmpfs small
	submit counter --checkpoint-dir="$PWD/small"
	run -1 owner rota checkpoint "$job" --wait
	[[ $output = *"No space left"* ]]
	[ -z "$(ls small/"$job".*/next.1)" ]
	pass_gate 1
	mount -o remount,size=500m small
	run -0 owner rota checkpoint "$job" --wait
	[ "$(states)" = "1 failed, 2 complete" ]
	touch go
	is_as_expected
}

# not_full: end the disk of full_disk.
not_full() {
	! mountpoint -q small || umount small
}

# changed PATTERN COMMAND...: change the first image of this name, of the latest checkpoint of two, by a command, and let the step go on.
changed() {
	local images
	expect counter
	submit counter
	run -0 owner rota checkpoint "$job" --wait
	run -0 owner rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	images=(checkpoints/"$job".*/2/$1)
	"${@:2}" "${images[0]}"
	touch go
	run -0 owner rota restart "$job"
	is_as_expected
	[ "$(states)" = "1 discarded, 2 failed" ]
	[ "$(grep -c . calls)" = 1 ]
}

flip_bit() {
	local byte
	byte=$(od -An -tu1 -j 4096 -N 1 "$1")
	printf "\\x$(printf %x $((byte ^ 1)))" | dd of="$1" bs=1 seek=4096 conv=notrunc status=none
}

# exchanged PATTERN: of five checkpoints, the files of the second and the third are exchanged; the images of the fourth (PATTERN) are those of
# another job, by their own names; the fifth has an image more. The step goes on from the first, and nothing else is restored.
exchanged() {
	local number folder other
	owner mkdir other
	cd other
	submit counter
	run -0 owner rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	other=$(echo "$PWD/checkpoints/$job".*/1)
	cd ..
	expect counter
	submit counter --checkpoint-keep=9
	for number in 1 2 3 4 5; do
		run -0 owner rota checkpoint "$job" --wait
		pass_gate "$number"
	done
	run -0 owner rota cancel "$job"
	eventually has_left "$job"
	folder=$(echo "$PWD/checkpoints/$job".*)
	mv "$folder/2" "$folder/away"
	mv "$folder/3" "$folder/2"
	mv "$folder/away" "$folder/3"
	images_put "$other" "$folder/4" "$1"
	cp -a "$(ls -d "$other"/$1 | head -n 1)" "$folder/5/more.${1##*.}"
	run -1 owner rota checkpoint verify "$job"
	[[ $output = *"checkpoint 1 is whole"* && $output = *"more.${1##*.}: it is not one of the checkpoint's files"* ]]
	touch go
	run -0 owner rota restart "$job"
	is_as_expected
	[ "$(states)" = "1 discarded, 2 failed, 3 failed, 4 failed, 5 failed" ]
	[ "$(sql "select count(*) from acct.checkpoint where job_id = $job and message ~ 'SHA-256 differs|bytes, and had|not one of'")" = 4 ]
	[ "$(grep -c . calls)" = 1 ]
}

# images_put FROM TO PATTERN: put the images of one folder in the place of those of another, by the names of these.
images_put() {
	local from=("$1"/$3) to=("$2"/$3) i
	[ "${#from[@]}" = "${#to[@]}" ]
	for ((i = 0; i < ${#to[@]}; i++)); do cp -a "${from[i]}" "${to[i]}"; done
}

# why_says TEXT: rota why prints the text.
why_says() {
	run rota why "$job"
	[[ $output = *$1* ]]
}
