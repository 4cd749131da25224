#!/usr/bin/env bats
# The leader moves running steps if the site wants it (schedule.moves): a wide step starts, or a node becomes empty and is powered
# off, and the moved steps go on elsewhere.

load helper

setup_file() {
	instance_up 2 --cpus 2 --mem 2000 --set node.grace=1 --set schedule.moves=1 --set schedule.period=1 \
		--set nodemgr.period=1 --set hooks.power_off=/bin/true --set hooks.power_on=/bin/true
	rota admin setting change requeue_delay_s --value=0
}

teardown_file() {
	instance_down
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	sql "select job_id from acct.job where state in ('running', 'pending')" | xargs -r rota cancel >/dev/null
	eventually is_idle
}

runs_on() {
	[ "$(sql "select nodes from acct.attempt where job_id = $1 and state = 'live' and started_at is not null")" = "$2" ]
}

# saver SCRIPT TEXT: write a script that counts and, if asked, saves itself when the shell condition TEXT holds.
saver() {
	cat >"$1" <<-END
		#!/bin/bash
		#ROTA --checkpoint=app --checkpoint-signal=B:USR1 --time=60 --output=out.%j
		turn=0 asked=
		[ -z "\$ROTA_RESTART" ] || read -r turn <"\$ROTA_RESTART_DIR/state"
		trap 'asked=1' USR1
		echo "\$turn" >>starts
		while [ ! -e go ] || [ "\$turn" -lt 100 ]; do
			turn=\$((turn + 1))
			[ -z "\$asked" ] || { asked= && $2 echo "\$turn" >"\$ROTA_CHECKPOINT_DIR/state" && rota checkpoint --done; }
			sleep 0.05
		done
		echo ended >result
	END
	saver=$(rota submit --parsable "$1")
	eventually runs_on "$saver" n1
	eventually test -s starts
	rota checkpoint "$saver" --wait
	other=$(rota submit --parsable --nodelist=n2 --time=60 --wrap 'sleep 3600')
	eventually runs_on "$other" n2
}

@test "a wide step starts at once, and what made room for it goes on elsewhere from where it was" {
	saver saver.sh ''
	wide=$(rota submit --parsable --time=10 --cpus-per-task=2 --wrap 'sleep 0.1')
	run -0 rota wait "$wide"
	eventually runs_on "$saver" n2
	[ "$(sql "select nodes from acct.attempt where job_id = $wide")" = n1 ]
	[ "$(superuser "select why from rota.checkpoint where job_id = $saver and reason = 'move'")" = "moved to make room for $wide.script" ]
	touch go
	run -0 rota wait "$saver"
	[ "$(sql "select count(*) from acct.attempt where job_id = $saver")" = 2 ]
	[ "$(wc -l <starts)" = 2 ]
	[ "$(tail -n 1 starts)" -gt 0 ]
}

@test "a step that is not saved stays, and the wide one goes on waiting" {
	saver silent.sh '[ ! -e silent ] &&'
	touch silent
	rota admin setting change checkpoint_wait_s --value=1
	wide=$(rota submit --parsable --time=10 --cpus-per-task=2 --wrap true)
	eventually eval '[ "$(sql "select count(*) from acct.checkpoint where job_id = $saver and reason = '"'move'"' and state = '"'failed'"'")" -ge 1 ]'
	runs_on "$saver" n1
	[ "$(sql "select count(*) from acct.attempt where job_id = $saver")" = 1 ]
	[ "$(sql "select state from acct.job where job_id = $wide")" = pending ]
	# The step answers again, and is asked again after a while.
	rota admin setting change checkpoint_wait_s --value=60
	eventually eval '[ "$(sql "select count(*) from acct.checkpoint where job_id = $saver and state in ('"'asked', 'taking'"')")" = 0 ]'
	rm silent
	superuser "update rota.checkpoint set failed_at = failed_at - interval '10 days' where job_id = $saver and reason = 'move'" >/dev/null
	run -0 rota wait "$wide"
	eventually runs_on "$saver" n2
}

# restart_jobmgrd OPTION...: end jobmgrd, and start it with these options of `rota up`.
restart_jobmgrd() {
	daemon_again jobmgrd "$@"
}

@test "a look that comes before its time is made when the time has come, and not at the next event" {
	restart_jobmgrd --set schedule.moves=5 --set schedule.period=3600
	saver saver.sh ''
	# After the end of a step the leader looks for moves that empty a node, at least once in these five seconds.
	rota submit --wait --nodelist=n2 --time=10 --wrap true
	wide=$(rota submit --parsable --time=10 --cpus-per-task=2 --wrap true)
	run -0 rota wait --timeout=300 "$wide"
	touch go
	run -0 rota wait --timeout=300 "$saver"
	[ "$(wc -l <starts)" = 2 ]
	restart_jobmgrd --set schedule.moves=1 --set schedule.period=1
}

# The last test: n1 is powered off.
@test "a node is emptied so that it can be powered off, if idle nodes are" {
	saver saver.sh ''
	run --separate-stderr rota plan --moves
	[ "$output" = "no move gains more than it costs; 1 running step can be moved" ]
	rota admin setting change power_off_idle_s --value=1
	eventually runs_on "$saver" n2
	[ "$(superuser "select why from rota.checkpoint where job_id = $saver and reason = 'move'")" = "moved to empty node n1" ]
	eventually eval '[ "$(superuser "select power <> '"'on'"' from rota.node where name = '"'n1'"'")" = t ]'
	touch go
	run -0 rota wait "$saver"
	[ "$(wc -l <starts)" = 2 ]
	[ "$(tail -n 1 starts)" -gt 0 ]
}
