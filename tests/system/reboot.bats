#!/usr/bin/env bats
# A node that boots with another clock, and a node whose processes are stopped: all times keep their order, durations are those
# that the programs measured, and the rows pass the audit.

load helper

setup_file() {
	HOOK=$(mktemp /var/tmp/rota-reboot-hook.XXXXXX)
	WORK=$(mktemp -d /var/tmp/rota-reboot.XXXXXX)
	export HOOK WORK
	printf '#!/bin/sh\nexec sleep 0.1\n' >"$HOOK"
	chmod 0755 "$HOOK"
	chmod 0777 "$WORK"
	instance_up 1 --cpus 8 --mem 4000 --set node.grace=1 --set node.site_prolog="$HOOK" --set node.site_epilog="$HOOK"
	rota admin setting change requeue_delay_s --value=0
	rota admin setting change flap_count --value=0 # the node is lost and comes back several times
}

teardown_file() {
	local status=0
	instance_down || status=1
	rm -rf -- "$WORK" "$HOOK"
	return "$status"
}

# measured NAME SECONDS [OPTION]...: submit a job whose program sleeps and writes how long it ran to $WORK/NAME; its number.
measured() {
	local name=$1 seconds=$2
	shift 2
	printf '#!/bin/sh\nexec "%s" "%s" sleep=%s\n' "$ROTA_SOURCE/tests/system/consume" "$WORK/$name" "$seconds" >"$BATS_TEST_TMPDIR/$name.sh"
	rota submit --parsable --output=/dev/null --workdir=/tmp "$@" "$BATS_TEST_TMPDIR/$name.sh"
}

# fits NAME JOB SECONDS: the job ran as long as its program measured, or up to SECONDS longer.
fits() {
	local own
	own=$(jq .elapsed "$WORK/$1")
	[ "$(sql "select elapsed_s between $own and $own + $3 from acct.step where job_id = $2")" = t ] ||
		{ sql "select elapsed_s, $own from acct.step where job_id = $2"; return 1; }
}

# ordered: no time of an attempt, an allocation, a hook or a task is earlier than one that it must follow.
ordered() {
	[ "$(superuser "select (select count(*) from rota.hook_run) > 0 and (select count(*) from rota.task_end) > 0")" = t ]
	run -0 superuser "
		select 'attempt', t.* from rota.attempt t join rota.job j using (job_id)
		where not (j.submit_at <= t.ordered_at and t.ordered_at <= coalesce(t.started_at, t.ordered_at)
			and coalesce(t.started_at, t.ordered_at) <= coalesce(t.done_at, t.ended_at) and coalesce(t.done_at, t.ended_at) <= t.ended_at
			and t.ended_at <= now())
		union all select 'next attempt', b.* from rota.attempt a
			join rota.attempt b on b.job_id = a.job_id and b.step_id = a.step_id and b.attempt = a.attempt + 1 and b.ordered_at < a.ended_at"
	[ -z "$output" ] || { echo "$output"; return 1; }
	run -0 superuser "
		select 'allocation', a.job_id, a.started_at, a.ended_at, a.gone_at, t.ordered_at from rota.allocation a
		join rota.attempt t using (job_id, step_id, attempt)
		where not (t.ordered_at <= coalesce(a.started_at, t.ordered_at) and coalesce(a.started_at, a.ended_at) <= a.ended_at and a.ended_at <= a.gone_at)
		union all select 'task', e.job_id, e.started_at, e.ended_at, t.started_at, t.ended_at from rota.task_end e
		join rota.attempt t using (job_id, step_id, attempt)
		where not (t.started_at <= e.started_at and e.started_at <= e.ended_at and e.ended_at <= t.ended_at)
		union all select h.hook, h.job_id, h.ended_at - h.usec * interval '1 us', h.ended_at, t.started_at, t.ended_at from rota.hook_run h
		join rota.attempt t using (job_id, step_id, attempt)
		where not (t.ordered_at <= h.ended_at - h.usec * interval '1 us' and h.usec between 100000 and 60000000 and h.ended_at <= t.ended_at
			and case when h.hook = 'site_prolog' then h.ended_at <= coalesce(t.started_at, t.ended_at)
				else h.ended_at - h.usec * interval '1 us' >= coalesce(t.started_at, t.ordered_at) end)"
	[ -z "$output" ] || { echo "$output"; return 1; }
}

# tree PID: prints the process and all its descendants.
tree() {
	local child
	echo "$1"
	for child in $(pgrep -P "$1"); do
		tree "$child"
	done
}

# node_tree: prints the launcher and the process manager of the node, its keepers and their descendants.
node_tree() {
	local role
	for role in launcher procmgrd; do
		tree "$(pid_of "$role" n1)"
	done | sort -un
}

all_gone() { # PID...
	local pid
	for pid; do
		! kill -0 "$pid" 2>/dev/null || return 1
	done
}

serves() {
	[ "$(superuser "select count(*) from rota.daemon d join pg_stat_activity b on b.pid = d.backend_pid where d.role = 'procmgrd' and d.name = 'n1'")" = 1 ] &&
		[ "$(superuser "select state from rota.node where name = 'n1'")" = up ]
}

running() { # JOB
	[ "$(sql "select state from rota.step where job_id = $1")" = running ]
}

# reboot SECONDS: kill all processes of the node, and start it with another boot id and a clock of the boot that is off by so many seconds.
reboot() {
	local words launcher processes
	launcher=$(pid_of launcher n1)
	mapfile -d '' -t words <"/proc/$launcher/cmdline"
	kill -STOP "$launcher" # so that the launcher forks no process meanwhile
	processes=$(node_tree)
	kill -KILL $processes 2>/dev/null || true
	eventually all_gone $processes
	cat /proc/sys/kernel/random/uuid >"$WORK/boot_id"
	chmod 0644 "$WORK/boot_id"
	setsid unshare --time --boottime "$1" --mount --fork sh -c 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"' \
		"$WORK/boot_id" "${words[@]}" >>"$ROTA_HOME/log/launcher.n1.log" 2>&1 3>&- &
	eventually serves || { instance_logs; return 1; }
}

@test "a node that reboots: times before and after keep their order" {
	local shift before lost after uptime
	need_root
	unshare --time --boottime 1 --mount --fork true 2>/dev/null || skip "the kernel has no time namespaces, or forbids them"
	uptime=$(cut -d. -f1 /proc/uptime)
	# The clock starts at 0, as after a power cut; and it is far ahead.
	for shift in $((60 - uptime)) 500000; do
		before=$(measured before 0.3)
		rota wait --timeout=300 "$before"
		lost=$(measured lost 300 --no-requeue)
		again=$(printf '#!/bin/sh\n[ "$ROTA_ATTEMPT" = 1 ] || exit 0\nsleep 300\n' | rota submit --parsable --output=/dev/null --workdir=/tmp --requeue -)
		eventually running "$lost"
		eventually running "$again"
		reboot "$shift"
		knows_boot() { [ "$(superuser "select boot_id from rota.node where name = 'n1'")" = "$(cat "$WORK/boot_id")" ]; }
		eventually knows_boot
		after=$(measured after 0.3)
		rota wait --timeout=300 "$after"
		rota wait --timeout=300 "$again"
		run -1 rota wait --timeout=300 "$lost"
		[ "$(sql "select state from rota.step where job_id = $lost")" = node_fail ]
		[ "$(sql "select string_agg(state, ' ' order by attempt) from acct.attempt where job_id = $again")" = 'node_fail completed' ]
		fits before "$before" 60
		fits after "$after" 60
		rm "$WORK/before" "$WORK/after"
		audit
		ordered
	done
}

@test "a node that stands still while reports are due: times keep their order" {
	local jobs=() job processes i began=$SECONDS
	for i in 1 2 3 4 5 6; do
		jobs+=("$(measured "still$i" "0.$((i * 3 / 2))")")
		processes=$(node_tree)
		kill -STOP $processes 2>/dev/null || true # some may have ended
		sleep 2.5
		kill -CONT $processes 2>/dev/null || true
	done
	rota wait --timeout=300 "${jobs[@]}"
	for i in 1 2 3 4 5 6; do
		fits "still$i" "${jobs[i - 1]}" $((SECONDS - began + 1))
	done
	audit
	ordered
}
