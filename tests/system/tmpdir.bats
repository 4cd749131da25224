#!/usr/bin/env bats
# --tmpdir: a step's own TMPDIR on each node, which goes with its checkpoints, and of which nothing stays, whoever dies.

load helper

setup_file() {
	BASE=$(mktemp -d "${TMPDIR:-/tmp}/rota-base.XXXXXX")
	export BASE EVE=rtmp$$
	chmod 755 "$BASE"
	instance_up 2 --cpus 4 --mem 4000 --set node.grace=1 --set node.tmpdir="$BASE" || return 1
	rota admin setting change requeue_delay_s --value=0
	rota admin setting change checkpoint_pace_s --value=0
	[ "$EUID" = 0 ] || return 0
	users_add "$EVE"
	export FOLDER=$ROTA_TEST_DIR/$EVE
	folders_add "$EVE"
}

teardown_file() {
	local status=0
	instance_down || status=1
	! mountpoint -q "$BASE" || umount -l "$BASE"
	rm -rf -- "$BASE"
	! id "$EVE" >/dev/null 2>&1 || users_remove "$EVE" || status=1
	return "$status"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	chmod 777 .
}

is_empty() {
	[ -z "$(ls -A "$BASE")" ]
}

# attempt_of JOB ATTEMPT: this attempt runs.
attempt_of() {
	[ "$(sql "select count(*) from acct.attempt where job_id = $1 and attempt = $2 and state = 'live' and started_at is not null")" = 1 ]
}

@test "each node of a step has one, and other steps have what they had" {
	export TMPDIR=/usr/tmp.of.mine
	rota submit --wait --tmpdir --nodes=2 --ntasks-per-node=1 --run=tasks --wrap '[ "$TMPDIR" = "$ROTA_TMPDIR" ] && [ -z "$(ls -A "$TMPDIR")" ] && touch "$TMPDIR/file" && echo "$TMPDIR" >out.$ROTA_TASK_ID'
	[ "$(cat out.[01] | grep -c "^$BASE/n[12]\.[0-9]*\.0\.1$")" = 2 ]
	rota submit --wait --wrap 'echo "$TMPDIR,$ROTA_TMPDIR" >out'
	[ "$(cat out)" = "/usr/tmp.of.mine," ]
	eventually is_empty
}

@test "its folder is the owner's alone, and root follows no path in it" {
	need_root
	mkdir "$FOLDER/kept"
	touch "$FOLDER/kept/file"
	chown -R root: "$FOLDER/kept"
	run_as_eve --tmpdir <<-END
		#!/bin/bash
		stat -c '%U %a' "\$TMPDIR"
		cd "\$TMPDIR" && ln -s "$FOLDER/kept" link && mkdir -p a/b closed/c && ln -s "$FOLDER/kept" a/b/link && touch closed/c/file
		chmod 000 closed/c closed
		for i in {1..300}; do mkdir deep && cd deep || exit; done
	END
	[ "$output" = "$EVE 700" ]
	eventually is_empty
	[ -e "$FOLDER/kept/file" ]
}

@test "it goes with a checkpoint, apart from what is not the owner's" {
	cat >job.sh <<-'END'
		#!/bin/bash
		#ROTA --tmpdir --checkpoint=app --checkpoint-signal=B:USR1 --output=out.%j
		trap 'asked=1' USR1
		echo "$ROTA_ATTEMPT" >>starts
		if [ -n "$ROTA_RESTART" ]; then
			(cd "$TMPDIR" && find . -printf '%p %y %m %l\n' | sort && cat sub/state) >restored
			exit 0
		fi
		(cd "$TMPDIR" && mkdir -m 750 sub && echo 42 >sub/state && ln -s sub/state link && touch -- foreign --option && ln sub/state hard)
		touch ready
		while :; do
			[ -z "$asked" ] || { asked= && rota checkpoint --done; }
			sleep 0.05
		done
	END
	job=$(rota submit --parsable job.sh)
	eventually test -e ready
	eventually attempt_of "$job" 1
	[ "$EUID" != 0 ] || chown nobody "$BASE"/n?."$job".0.1/foreign
	rota migrate "$job"
	rota wait "$job"
	[ "$(cat starts)" = "1
2" ]
	grep -qx './sub d 750 ' restored
	grep -qx './link l 777 sub/state' restored
	grep -qx './--option f [0-9]* ' restored
	grep -qx 42 restored
	[ "$EUID" != 0 ] || ! grep -q foreign restored
	eventually is_empty
}

@test "without space for what a checkpoint has of it, the step does not go on, and rota why says so" {
	need_root
	cat >job.sh <<-'END'
		#!/bin/bash
		#ROTA --tmpdir --checkpoint=app --checkpoint-signal=B:USR1 --output=out.%j --open-mode=append
		trap 'asked=1' USR1
		if [ -n "$ROTA_RESTART" ]; then
			cmp "$TMPDIR/big" big && echo same >restored
			exit 0
		fi
		cp big "$TMPDIR"
		touch ready
		while :; do
			[ -z "$asked" ] || { asked= && rota checkpoint --done; }
			sleep 0.05
		done
	END
	head -c 3000000 /dev/urandom >big
	job=$(rota submit --parsable job.sh)
	eventually test -e ready
	eventually attempt_of "$job" 1
	rota checkpoint "$job" --end --wait
	eventually has_left "$job"
	run -0 rota checkpoint show "$job"
	[[ $output = *"tmpdir_bytes   30"* && $output = *"file           .rota-tmpdir.tar  "*"  by n"[12]* ]]
	mount -t tmpfs -o size=1m,mode=755 rota "$BASE"
	rota restart "$job"
	is_held() { [ "$(rota show --json "$job" | jq -r '.jobs[0].steps[0].held')" = system ]; }
	eventually is_held
	run rota why "$job"
	eventually umount "$BASE"
	[[ $output = *"could not go on from checkpoint 1 on n"[12]": could not restore the files of TMPDIR: tar of TMPDIR ended with exit code 2"* ]]
	[ "$(sql "select state || ' ' || restores from acct.checkpoint where job_id = $job")" = "restoring 0" ]
	rota release "$job"
	rota wait "$job"
	[ "$(cat restored)" = same ]
	eventually is_empty
}

@test "nothing is left after the keeper and the launcher were killed" {
	cat >job.sh <<-'END'
		#!/bin/bash
		#ROTA --tmpdir --no-requeue --nodelist=n1 --output=/dev/null
		touch "$TMPDIR/file"
		echo "$PPID" >keeper.part && mv keeper.part keeper
		sleep 3600
	END
	job=$(rota submit --parsable job.sh)
	eventually test -s keeper
	[ -e "$BASE/n1.$job.0.1/file" ]
	launcher=$(pid_of launcher n1)
	kill -STOP "$launcher"
	kill_now "$(cat keeper)"
	kill_now "$launcher"
	[ -e "$BASE/n1.$job.0.1/file" ]
	rota up >/dev/null
	rota wait "$job" || true
	eventually is_empty
}

are_left() {
	[ "$(ls -A "$BASE" | sort | tr '\n' ' ')" = "$1" ]
}

@test "at its start, the launcher removes what attempts have left that are over, and nothing else" {
	job=$(rota submit --parsable --tmpdir --nodelist=n1 --wrap 'touch "$TMPDIR/file" started; until [ -e go ]; do sleep 0.3; done; [ -e "$TMPDIR/file" ]')
	eventually test -e started
	kill_now "$(pid_of launcher n1)"
	mkdir -p "$BASE/n1.999999.0.1/sub/sub" "$BASE/n10.999999.0.1" "$BASE/n1.mine" "$BASE/n3.999999.0.1"
	for i in $(seq 500); do echo >"$BASE/n1.999999.0.1/sub/$i"; done
	rota up >/dev/null
	eventually are_left "n1.$job.0.1 n1.mine n10.999999.0.1 n3.999999.0.1 "
	touch go
	run -0 rota wait "$job"
	eventually are_left "n1.mine n10.999999.0.1 n3.999999.0.1 "
	rmdir "$BASE"/*
}

@test "a folder to which others may write is not used" {
	chmod 777 "$BASE"
	job=$(rota submit --parsable --tmpdir --no-requeue --wrap true)
	rota wait "$job" || true
	chmod 755 "$BASE"
	rota show "$job" | grep -q "node.tmpdir"
}
