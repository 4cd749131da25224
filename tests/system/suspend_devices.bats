#!/usr/bin/env bats
# Steps with GPUs leave these before they are suspended, give them back, and return when they are resumed. A stand-in for
# cuda-checkpoint keeps the CUDA state of each process in a file, named by the process's number; a process without a file does not
# use CUDA. The file of each GPU is /dev/full; root also restricts the devices of steps, where there are cgroups of version 1.

load helper

setup_file() {
	export EVE=rbgp$$ DOUBLE
	DOUBLE=$(mktemp -d "${TMPDIR:-/tmp}/rota-cuda.XXXXXX")
	chmod 755 "$DOUBLE"
	mkdir -m 777 "$DOUBLE/states"
	double_make
	[ "$EUID" != 0 ] || users_add "$EVE"
	instance_up 1 --cpus 4 --mem 4000 --set node.grace=10 --set node.checkpoint_cuda="$DOUBLE" --set launcher.device_files=gpu:/dev/full \
		--set launcher.devices="$(if [ "$EUID" = 0 ] && [ -d /sys/fs/cgroup/devices ]; then echo granted; else echo any; fi)" || return 1
	rota admin node change n1 --gres=gpu:2
	[ "$EUID" != 0 ] || folders_add "$EVE"
}

teardown_file() {
	local status=0
	audit || status=1
	instance_down || status=1
	rm -rf -- "$DOUBLE"
	! id "$EVE" >/dev/null 2>&1 || users_remove "$EVE" || status=1
	return "$status"
}

setup() {
	rm -f "$DOUBLE"/states/*
	[ "$EUID" = 0 ] || cd "$BATS_TEST_TMPDIR"
	[ "$EUID" != 0 ] || cd "$ROTA_TEST_DIR/$EVE"
	rm -f go go_other saved held count.*
	local holds="" options=()
	[[ $BATS_TEST_DESCRIPTION != *"GPU open"* ]] || holds="3</dev/full"
	[[ $BATS_TEST_DESCRIPTION != *"file of FUSE"* ]] || holds="3<mount/file"
	[[ $BATS_TEST_DESCRIPTION != *"GPU by FUSE"* ]] || holds="3<mount/device"
	[[ $holds != *mount* ]] || fuse_up
	[[ $BATS_TEST_DESCRIPTION != *--keep=gres* ]] || options=(--keep=mem,gres)
	cat >job.sh <<-END
		#!/bin/bash
		#ROTA --gpus=2 --output=out --no-requeue --mem=100
		uses_cuda() {
			trap 'until grep -q running $DOUBLE/states/\$BASHPID; do sleep 0.05; done; echo >>saved; exit' TERM
			echo running >$DOUBLE/states/\$BASHPID
			until [ -e go ]; do echo >>count.\$BASHPID; sleep 0.05; done
		}
		trap '' TERM
		uses_cuda &
		uses_cuda &
		until [ -e go ]; do touch held; sleep 0.05; done $holds &
		wait
	END
	job=$(owner rota submit --parsable "${options[@]}" job.sh)
	eventually counting
	eventually [ -e held ]
	pids=$(ls "$DOUBLE/states")
}

teardown() {
	[ -v job ] || return 0 # skipped
	rm -f "$DOUBLE"/states/{refuse,hold}.*
	rota cancel "$job" >/dev/null 2>&1 || true
	touch go go_other
	eventually has_left "$job"
	[ ! -v other ] || eventually has_left "$other"
	[ ! -v server ] || kill -KILL "$server" 2>/dev/null || true
	umount -l mount 2>/dev/null || true
	[ -n "${BATS_TEST_COMPLETED:-}" ] || rota admin partition change main --preempt=off
}

# fuse_up: mount a file system of the owner on `mount`; its server is `server`.
fuse_up() {
	need_root
	[ -c /dev/fuse ] || skip "the kernel has no FUSE"
	mkdir -p mount
	rm -f mounted
	python3 "$ROTA_SOURCE/tests/system/fuse_files.py" "$PWD/mount" "$(id -u "$EVE")" "$(id -g "$EVE")" >mounted 3>&- &
	server=$!
	eventually grep -q mounted mounted
}

# suspend_without_server: remount as users mount, and suspend the step while the server does not answer.
suspend_without_server() {
	mount -i -o remount,bind,nosuid,nodev mount
	run -1 stat mount/file
	[[ $output = *"Permission denied"* ]]
	kill -STOP "$server"
	rota suspend "$job"
	eventually is_suspended
	kill -CONT "$server"
}

owner() {
	if [ "$EUID" = 0 ]; then as "$EVE" "$@"; else "$@"; fi
}

# double_make: make the stand-in. With a file refuse.PID or hold.PID, that process is not toggled, or only when the file is gone.
double_make() {
	cat >"$DOUBLE/cuda-checkpoint" <<-END
		#!/bin/sh
		cd "$DOUBLE/states" || exit 1
		[ "\$2" = --pid ] && [ -e "\$3" ] || { echo "no CUDA in process \$3"; exit 1; }
		read -r state <"\$3"
		case \$1 in
		--get-state) echo "\$state" ;;
		--toggle)
			: >"\$3.asked"
			while [ -e "hold.\$3" ]; do sleep 0.3; done
			[ ! -e "refuse.\$3" ] || { echo "refused"; exit 1; }
			echo "\$(id -u) \$3 \$state \$(grep -c T.*stopped "/proc/\$3/status")" >>calls
			if [ "\$state" = running ]; then echo checkpointed; else echo running; fi >"\$3.new" && mv "\$3.new" "\$3"
			;;
		*) exit 2 ;;
		esac
	END
	chmod 755 "$DOUBLE/cuda-checkpoint"
}

counting() {
	[ "$(is_in)" = running ] && [ "$(cat count.* 2>/dev/null | wc -l)" -ge 4 ] && [ "$(ls count.* | wc -l)" = 2 ]
}

is_in() {
	rota show --json "$job" | jq -r '.jobs[0].steps[0].state'
}

is_suspended() {
	[ "$(is_in)" = suspended ]
}

# states_are STATE...: the two processes have these CUDA states.
states_are() {
	[ "$(cd "$DOUBLE/states" && cat $pids | sort | xargs)" = "$*" ]
}

# are_saved: both processes have got SIGTERM, and have written what they had.
are_saved() {
	[ "$(cat saved 2>/dev/null | wc -l)" = 2 ]
}

# gpus: holders of the GPUs, as job numbers in the order of the GPUs.
gpus() {
	superuser "select string_agg(coalesce(job_id::text, 'free'), ' ' order by unit) from rota.node_gres"
}

# may_open: does the cgroup of the first process let it open its GPUs? Yes without cgroups of version 1.
may_open() {
	local group
	group=$(sed -n 's/^[0-9]*:devices://p' "/proc/$(head -n 1 <<<"$pids")/cgroup")
	[ "$EUID" != 0 ] || [ -z "$group" ] || grep -q "c 1:7 rw" "/sys/fs/cgroup/devices$group/devices.list"
}

# other_runs: another step with a GPU, until there is a file go_other; its number is in `other`.
other_runs() {
	other=$(owner rota submit --parsable --gpus=1 --mem=100 --wrap 'echo "$ROTA_GPUS $CUDA_VISIBLE_DEVICES" >on; until [ -e go_other ]; do sleep 0.3; done')
	eventually other_is_in running
}

other_is_in() {
	[ "$(rota show --json "$other" | jq -r '.jobs[0].steps[0].state')" = "$1" ]
}

# goes_on: both processes count on.
goes_on() {
	local before
	before=$(wc -l count.* | awk '{ print $1 }' | xargs)
	moved() { [ "$(paste <(xargs -n 1 <<<"$before") <(wc -l count.* | awk '{ print $1 }') | awk '$2 > $1' | wc -l)" = 3 ]; }
	eventually moved
}

@test "programs leave the GPUs as their owner before they are stopped, and return when they go on" {
	rota suspend "$job"
	eventually is_suspended
	states_are checkpointed checkpointed
	[ "$(awk '{ print $1, $3, $4 }' "$DOUBLE/states/calls" | sort -u)" = "$(if [ "$EUID" = 0 ]; then id -u "$EVE"; else id -u; fi) running 0" ]
	[ "$(gpus)" = "free free" ]
	[ "$EUID" != 0 ] || [ ! -d /sys/fs/cgroup/devices ] || ! may_open
	rota resume "$job"
	eventually states_are running running
	[ "$(gpus)" = "$job $job" ]
	may_open
	goes_on
	touch go
	run -0 rota wait "$job"
	[ "$(grep -c . "$DOUBLE/states/calls")" = 4 ]
}

@test "another step has a GPU meanwhile, and the suspended step waits for the same ones" {
	rota suspend "$job"
	eventually is_suspended
	rota why "$job" | grep -q "has given its GPUs back"
	other_runs
	[ "$(gpus)" = "$other free" ]
	rota resume "$job" | grep -q "resumes when its CPUs and GPUs are free"
	rota why "$job" | grep -q "goes on when its CPUs and GPUs are free"
	rota show "$job" | grep -q resuming
	rota wait "$(owner rota submit --parsable --mem=100 --wrap true)" # the leader has looked at both
	is_suspended
	states_are checkpointed checkpointed
	touch go_other
	run -0 rota wait "$other"
	eventually states_are running running
	[ "$(gpus)" = "$job $job" ]
	goes_on
	touch go
	run -0 rota wait "$job"
	[ "$(superuser "select count(*) from acct.attempt where job_id = $job")" = 1 ]
	[ "$(superuser "select gpu_held_s < 2 * held_s and not upper_inf(without_gpus) from acct.allocation join acct.attempt using (job_id) where job_id = $job")" = t ]
}

@test "a message to resume that is not for this suspension does not bring it back to GPUs of another step" {
	rota suspend "$job"
	eventually is_suspended
	other_runs
	superuser "begin; select internal.attempt_order('resume', $job, 0, '{}'); select internal.attempt_order('resume', $job, 0, '{\"devices\": 1}'); commit" >/dev/null
	refused() { [ "$(grep -c "attempt $job.0.1 stays suspended" "$ROTA_HOME/log/launcher.n1.log")" = 2 ]; }
	eventually refused
	states_are checkpointed checkpointed
	is_suspended
}

@test "a step whose process has a GPU open keeps its GPUs" {
	[ "$(gpus)" = "$job $job" ]
	rota suspend "$job"
	eventually is_suspended
	states_are checkpointed checkpointed
	[ "$(gpus)" = "$job $job" ]
	may_open
	grep -q "attempt $job.0.1 keeps its GPUs while it is suspended: a process has one open" "$ROTA_HOME/log/launcher.n1.log"
	rota resume "$job"
	eventually states_are running running
	goes_on
}

@test "a step whose process has a file of FUSE open gives its GPUs back, and the server is not asked" {
	suspend_without_server
	[ "$(gpus)" = "free free" ]
}

@test "a step whose process has a GPU by FUSE open keeps its GPUs, also if the mount has no devices any more" {
	suspend_without_server
	[ "$(gpus)" = "$job $job" ]
	grep -q "attempt $job.0.1 keeps its GPUs while it is suspended: a process has one open" "$ROTA_HOME/log/launcher.n1.log"
}

@test "if one does not leave, none does, and the step is suspended all the same" {
	last=$(tail -n 1 <<<"$pids")
	touch "$DOUBLE/states/refuse.$last"
	rota suspend "$job"
	eventually is_suspended
	eventually states_are running running
	[ "$(gpus)" = "$job $job" ]
	grep -q "cuda-checkpoint did not free the GPUs" "$ROTA_HOME/log/launcher.n1.log"
	rm "$DOUBLE/states/refuse.$last"
	rota resume "$job"
	goes_on
	states_are running running
}

@test "a step that has given its GPUs back and is cancelled has its memory back before it ends, if they are free" {
	rota suspend "$job"
	eventually is_suspended
	[ "$(gpus)" = "free free" ]
	rota cancel "$job"
	eventually are_saved
	touch go # else the rest of the step goes on until it is killed
	eventually has_left "$job"
	[ "$(gpus)" = "free free" ]
}

@test "a step that has given its GPUs back and is cancelled does not return to them if another step has one" {
	rota suspend "$job"
	eventually is_suspended
	other_runs
	rota cancel "$job"
	eventually has_left "$job"
	states_are checkpointed checkpointed
	[ ! -e saved ]
	[ "$(gpus)" = "$other free" ]
}

@test "with --keep=gres, a step that is ended while it is suspended has its memory back before it ends" {
	rota suspend "$job"
	eventually is_suspended
	states_are checkpointed checkpointed
	[ "$(gpus)" = "$job $job" ]
	rota cancel "$job"
	eventually are_saved
	touch go # else the rest of the step goes on until it is killed
	eventually has_left "$job"
}

@test "it is to go on while its programs leave the GPUs" {
	first=$(head -n 1 <<<"$pids")
	touch "$DOUBLE/states/hold.$first"
	rota suspend "$job"
	eventually [ -e "$DOUBLE/states/$first.asked" ]
	goes_on
	if rota resume "$job"; then
		rm "$DOUBLE/states/hold.$first"
	else # the database does not know yet that it is suspended
		rm "$DOUBLE/states/hold.$first"
		eventually is_suspended
		rota resume "$job"
	fi
	eventually states_are running running
	goes_on
}

@test "it is suspended again while its programs return: they leave after that" {
	first=$(head -n 1 <<<"$pids")
	rota suspend "$job"
	eventually is_suspended
	rm "$DOUBLE/states/$first.asked"
	touch "$DOUBLE/states/hold.$first"
	rota resume "$job"
	eventually [ -e "$DOUBLE/states/$first.asked" ]
	[ "$(gpus)" = "$job $job" ]
	is_running() { [ "$(is_in)" = running ]; }
	eventually is_running
	rota suspend "$job"
	other=$(owner rota submit --parsable --gpus=1 --mem=100 --wrap true)
	is_taken() { [ "$(superuser "select count(*) from rota.node_order where kind in ('suspend', 'resume')")" = 0 ]; }
	eventually is_taken
	[ "$(gpus)" = "$job $job" ]
	rm "$DOUBLE/states/hold.$first"
	eventually is_suspended
	states_are checkpointed checkpointed
	[ "$(grep -c . "$DOUBLE/states/calls")" = 6 ]
	[ "$(superuser "select upper_inf(without_gpus) from rota.allocation where job_id = $job")" = t ]
	run -0 rota wait "$other"
	rota resume "$job"
	eventually states_are running running
	goes_on
	unset other
}

@test "a program that does not get its memory back is killed" {
	first=$(head -n 1 <<<"$pids")
	rota suspend "$job"
	eventually is_suspended
	touch "$DOUBLE/states/refuse.$first"
	rota resume "$job"
	eventually are_dead "$first"
	eventually states_are checkpointed running
	! are_dead "$(tail -n 1 <<<"$pids")"
}

@test "a step of a higher tier preempts by suspension, and gets the GPUs when the programs have left them" {
	local first
	first=$(head -n 1 <<<"$pids")
	rota admin qos create "high$$" --tier=1
	rota admin partition change main --preempt=suspend --preempt-otherwise=spare
	touch "$DOUBLE/states/hold.$first"
	other=$(owner rota submit --parsable --qos="high$$" --gpus=2 --mem=100 --wrap 'until [ -e go_other ]; do sleep 0.3; done')
	eventually [ -e "$DOUBLE/states/$first.asked" ]
	[ "$(gpus)" = "$job $job" ]
	other_is_in pending
	rm "$DOUBLE/states/hold.$first"
	eventually other_is_in running
	[ "$(gpus)" = "$other $other" ]
	states_are checkpointed checkpointed
	is_suspended
	touch go_other
	run -0 rota wait "$other"
	eventually states_are running running
	[ "$(gpus)" = "$job $job" ]
	goes_on
	rota admin partition change main --preempt=off
}

@test "daemons die while the programs leave, and the keeper while another step has a GPU" {
	local first keeper
	first=$(head -n 1 <<<"$pids")
	keeper=$(ps -o ppid= "$(ps -o ppid= "$first" | xargs)" | xargs)
	touch "$DOUBLE/states/hold.$first"
	rota suspend "$job"
	eventually [ -e "$DOUBLE/states/$first.asked" ]
	kill_now "$(pid_of launcher n1)" "$(pid_of procmgrd n1)" "$(pid_of jobmgrd)"
	rota up >/dev/null
	[ "$(gpus)" = "$job $job" ]
	rm "$DOUBLE/states/hold.$first"
	are_free() { [ "$(gpus)" = "free free" ]; }
	eventually are_free
	eventually is_suspended
	states_are checkpointed checkpointed
	other_runs
	kill -KILL "$keeper"
	eventually has_left "$job"
	[ "$(gpus)" = "$other free" ]
	other_is_in running
}
