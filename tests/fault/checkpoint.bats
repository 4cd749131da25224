#!/usr/bin/env bats
# Processes are killed at random while a job takes checkpoints and goes on from them: the keeper, rota-checkpoint, the launcher, procmgrd, the
# database. No generation is complete whose files are not whole, and each attempt starts from the last complete one. ROTA_KILLS is the number
# of kills (6), ROTA_SEED the seed of their kinds and moments. The job saves itself; where the program criu is in PATH, another is saved by CRIU.

load ../system/helper

setup_file() {
	export EVE=rbck$$ CRIU
	CRIU=$(dirname "$(command -v criu || echo /none/criu)")
	if [ -x "$CRIU/criu" ] && [ "$EUID" = 0 ]; then
		users_add "$EVE"
		instance_up 1 --cpus 4 --mem 2000 --set node.grace=1 --set node.checkpoint_criu="$CRIU"
		folders_add "$EVE"
	else
		instance_up 1 --cpus 4 --mem 2000 --set node.grace=1
	fi
	for setting in requeue_delay_s=0 checkpoint_pace_s=0 requeue_max=1000 flap_count=0; do
		rota admin setting change "${setting%=*}" --value="${setting#*=}"
	done
}

teardown_file() {
	local status=0
	instance_down || status=1
	! id "$EVE" >/dev/null 2>&1 || users_remove "$EVE" || status=1
	return "$status"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# worker: a program that takes turns of a number generator, and saves its turn with 8 MB that follow from it, over and over. Its
# log: "start ATTEMPT GENERATION TURN".
worker() {
	cat <<-'END'
		#!/bin/bash
		#ROTA --checkpoint=app --checkpoint-keep=3 --open-mode=append --output=out
		i=0 x=1
		if [ -n "$ROTA_RESTART" ]; then
			read -r i x <"$ROTA_RESTART_DIR/state" || exit 1
			cmp -s <(yes "$i" | head -c 8000000) "$ROTA_RESTART_DIR/bulk" || exit 1
		fi
		echo "start $ROTA_ATTEMPT $ROTA_CHECKPOINT_GENERATION $i" >>starts
		echo "$PPID" >keeper.part && mv keeper.part keeper
		until [ -e go ]; do
			for n in 1 2 3 4 5; do i=$((i + 1)) x=$(((x * 1103515245 + 12345) % 2147483648)); done
			mkdir -p "$ROTA_CHECKPOINT_DIR"
			yes "$i" | head -c 8000000 >"$ROTA_CHECKPOINT_DIR/bulk"
			echo "$i $x" >"$ROTA_CHECKPOINT_DIR/state"
			rota checkpoint --done >>done 2>&1 &
			echo $! >saver.part && mv saver.part saver
			wait $!
		done
		echo "$i $x" >result
	END
}

# counter: a program that appends a number that follows from the last one to a file that stays open, over and over. CRIU saves it
# unchanged.
counter() {
	cat <<-'END'
		#!/bin/bash
		#ROTA --checkpoint=criu --checkpoint-interval=0:01 --checkpoint-keep=3 --output=out
		i=0 x=1
		exec 9>>numbers
		until [ -e go ]; do
			for n in 1 2 3 4 5; do
				i=$((i + 1)) x=$(((x * 1103515245 + 12345) % 2147483648))
				echo "$i $x" >&9
			done
			sleep 0.05
		done
		echo "$i $x" >result
	END
}

# victim KIND: sets `victim` to the process to be killed, if there is one of that kind. A pid that another process has by now is
# not taken.
victim() {
	local name
	case $1 in
	keeper) read -r victim <keeper && read -r name <"/proc/$victim/comm" && [ "$name" = rota-keeper ] && [ "/proc/$victim/cwd" -ef "$ROTA_HOME/node/n1" ] ;;
	saver) read -r victim <saver && read -r name <"/proc/$victim/comm" && [ "$name" = rota-checkpoint ] && [ "/proc/$victim/cwd" -ef . ] ;;
	launcher | procmgrd) victim=$(pid_of "$1" n1) && [ -n "$victim" ] ;;
	criu_keeper) victim=$(criu_keeper) && [ -n "$victim" ] ;;
	criu_saver) victim=$(pgrep -P "$(criu_keeper)" -n -x rota-checkpoint) && [ "$victim" != "$(pgrep -u "$EVE" -o -x rota-checkpoint)" ] ;;
	database) victim=$(head -n 1 "$ROTA_HOME/pg/data/postmaster.pid") && [ -n "$victim" ] ;;
	esac 2>/dev/null
}

# criu_keeper: the keeper of the step that CRIU saves. The oldest process rota-checkpoint of the owner is the first of the step's namespace.
criu_keeper() {
	pgrep -x rota-keeper -d, | xargs -r pgrep -u "$EVE" -o -x rota-checkpoint -P | xargs -r ps -o ppid= | tr -d ' '
}

# A process rota-checkpoint lives only for a moment, so look for it without a pause.
find_victim() {
	local n
	for ((n = 0; n < 1000; n++)); do
		! victim "$1" || return 0
	done
	return 1
}

# kill_one KIND
kill_one() {
	eventually find_victim "$1"
	kill -KILL "$victim" 2>/dev/null || true
	echo "$1" >>kills
}

answers() {
	superuser 'select 1' >/dev/null 2>&1
}

# has_moved_on: the job runs, and an attempt has completed a checkpoint since the kill.
has_moved_on() {
	[ "$(superuser "select count(*) from rota.checkpoint where job_id = $job and complete_at > '$since'" 2>/dev/null)" -gt 0 ] 2>/dev/null
}

# files_are_whole: all generations that an attempt can start from have the files whose digests the database has. The job goes on meanwhile, so one
# that is discarded by then does not count.
files_are_whole() {
	local path sha name generation
	while IFS='|' read -r generation path name sha; do
		[ "$(sha256sum "$path/$name" 2>/dev/null | cut -d ' ' -f 1)" = "$sha" ] ||
			[ "$(superuser "select state from rota.checkpoint where job_id = $job and generation = $generation")" = discarded ] ||
			{ echo "checkpoint $generation: $name is not whole"; return 1; }
	done < <(superuser "select c.generation, c.path, f.name, encode(f.sha256, 'hex') from rota.checkpoint c join rota.checkpoint_file f using (job_id, step_id, generation)
		where c.job_id = $job and c.state in ('complete', 'restoring', 'restored')")
}

# starts_from_last: each attempt whose program has started began from the last generation that was complete at that time.
starts_from_last() {
	superuser "select format('attempt %s started from %s, and %s was complete', s.attempt, s.generation, l.last) from rota.checkpoint_start s
		cross join lateral (select coalesce(max(c.generation), 0) as last from rota.checkpoint c
			where c.job_id = s.job_id and c.step_id = s.step_id and c.attempt < s.attempt and c.complete_at < s.started_at) l
		where s.job_id = $job and s.started_at is not null and s.generation <> l.last"
}

# killed_at_random JOB KEEPER KIND...: kill processes of these kinds while the job saves and goes on; with every second kill its
# keeper too.
killed_at_random() {
	local job=$1 keeper=$2 kinds kind victim n count=${ROTA_KILLS:-6} seed=${ROTA_SEED:-$RANDOM}
	shift 2
	kinds=("$@")
	echo "ROTA_SEED=$seed"
	RANDOM=$seed
	since=-infinity
	eventually has_moved_on
	for ((n = 0; n < count; n++)); do
		kind=${kinds[RANDOM % ${#kinds[@]}]}
		sleep "0.$(printf %03d $((RANDOM % 600)))"
		kill_one "$kind"
		# Every second kill comes while the first is being handled, as when the next attempt starts.
		if ((RANDOM % 2)); then
			sleep "0.$(printf %03d $((RANDOM % 400)))"
			! victim "$keeper" || kill_one "$keeper"
		fi
		since=$(date -u +%FT%T.%NZ) # the clock of this machine, which is also the database's
		eventually rota up >up.log 2>&1
		eventually answers
		eventually has_moved_on
		files_are_whole
		[ -z "$(starts_from_last)" ] || { starts_from_last; false; }
	done
	touch go
	run -0 rota wait "$job"
	echo "killed: $(awk '{ n[$1]++ } END { for (kind in n) printf "%s %d, ", kind, n[kind] }' kills)attempts: $(superuser "select max(attempt) from rota.attempt where job_id = $job"), generations: $(superuser "select count(*) filter (where complete_at is not null) || ' complete, ' || count(*) filter (where complete_at is null) || ' failed' from rota.checkpoint where job_id = $job")" >&3
}

# generated COUNT: the first COUNT numbers of the generator.
generated() {
	local n y=1
	for ((n = 1; n <= $1; n++)); do
		y=$(((y * 1103515245 + 12345) % 2147483648))
		echo "$n $y"
	done
}

@test "killed at random while it saves and goes on: no half generation counts, and each attempt starts from the last complete one" {
	worker >worker.sh
	job=$(rota submit --parsable worker.sh)
	killed_at_random "$job" keeper keeper keeper saver launcher procmgrd database
	# The result is that of an undisturbed run of as many turns, and each attempt started from a turn that was saved.
	read -r i x <result
	[ "$(generated "$i" | tail -n 1)" = "$i $x" ]
	[ "$(awk '$3 == 0 && $4 != 0 || $3 > 0 && $4 % 5 != 0' starts)" = "" ]
	[ "$(superuser "select count(*) from rota.checkpoint where job_id = $job and complete_at is not null and (files is null or bytes < 8000000)")" = 0 ]
	! grep -q "is not used" out
}

@test "killed at random while CRIU saves it and has it go on: the same, and no number is missing or there twice" {
	[ -x "$CRIU/criu" ] || skip "CRIU is not installed (criu is not in PATH)"
	need_root
	cd "$ROTA_TEST_DIR/$EVE"
	counter >counter.sh
	job=$(as "$EVE" rota submit --parsable counter.sh)
	killed_at_random "$job" criu_keeper criu_keeper criu_keeper criu_saver launcher procmgrd database
	read -r i x <result
	cmp numbers <(generated "$i")
	[ "$(tail -n 1 numbers)" = "$i $x" ]
	! grep -q "is not used" out
}
