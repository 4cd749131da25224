#!/usr/bin/env bats
# Credentials from `rota cred add` to the tasks on the nodes: rota-credd seals them, procmgrd fetches the boxes, keepers open them.

bats_require_minimum_version 1.5.0

load helper

setup_file() {
	export ROTA_TEST_KEYS=$(mktemp -d "${TMPDIR:-/tmp}/rota-keys.XXXXXX")
	chmod 755 "$ROTA_TEST_KEYS"
	mkdir -m 0755 "$ROTA_TEST_KEYS/programs"
	instance_up 2 --cpus 4 --mem 1000 --set "credentials.keys=$ROTA_TEST_KEYS/credd" --set credentials.period=1 \
		--set "credentials.command_folder=$ROTA_TEST_KEYS/programs"
}

teardown_file() {
	local status=0
	instance_down || status=1
	rm -rf -- "$ROTA_TEST_KEYS"
	return "$status"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

add() { # NAME TEXT [OPTION...]
	printf '%s' "$2" | rota cred add "$1" - "${@:3}"
}

# start LIST [OPTION...]: a job that prints each version of the credential `notes`, until the file `go` exists.
start() {
	cat >job.sh <<-'END'
		#!/bin/bash
		echo "$ROTA_CREDENTIALS" >folder
		seen=
		until [ -e go ]; do
			now=$(cat "$ROTA_CREDENTIALS/notes" 2>/dev/null || echo none)
			[ "$now" = "$seen" ] || echo "$now"
			seen=$now
			sleep 0.05
		done
	END
	rm -f go
	job=$(rota submit --parsable --output=out "--cred=$1" "${@:2}" job.sh)
	eventually test -s out
	eventually runs # so that a copy of the database has the start, too
	folder=$(cat folder)
}

runs() {
	[ "$(superuser "select state from rota.step where job_id = $job")" = running ]
}

last_is() { # TEXT
	[ "$(tail -n1 out)" = "$1" ]
}

over() {
	touch go
	rota wait "$job"
	eventually test ! -e "$folder"
	eventually no_boxes
}

no_boxes() {
	[ -z "$(find "$ROTA_HOME"/node/*/cache -name 'cred.*')" ]
}

@test "no image of a step with credentials is made" {
	add notes first --kind=file
	refused "an image of dmtcp would hold the credentials of the step (notes)" rota submit --checkpoint=dmtcp --cred=notes --wrap true
	refused "an image of criu would hold the credentials of the step (notes)" rota submit --checkpoint=criu --cred=notes --wrap true
	start notes --checkpoint=auto
	last_is first
	run -0 rota show "$job.script"
	[[ $output = *"by app: the program has to save itself: the step has credentials"* ]]
	over
	rota cred remove notes
}

@test "a credential is there for the tasks, renewed in place, and removed" {
	add notes first --kind=file
	start notes
	[ "$(cat out)" = first ]
	add notes second --kind=file
	eventually last_is second
	rota cred remove notes
	eventually last_is none
	over
	[ "$(cat out)" = $'first\nsecond\nnone' ]
}

server() { # stop|start: the instance's PostgreSQL, whose daemons live on
	local as=()
	[ "$EUID" = 0 ] && as=(setpriv --reuid rota --regid "$(id -g rota)" --init-groups)
	(cd / && "${as[@]}" "$(pg_config --bindir)/pg_ctl" -D "$ROTA_HOME/pg/data" -l /dev/null -w "$@" >/dev/null 3>&-)
}

serves() {
	rota cred list >/dev/null 2>&1
}

@test "rota up warns when rota-credd has no account of its own" {
	[ "$EUID" = 0 ] || skip "without root, all daemons have one account"
	run -0 rota up
	[[ $output == *'rota: warning: rota-credd runs as "rota", so jobmgrd can read its keys'* ]]
}

@test "after the database was restored from a backup, running steps get new versions" {
	add notes first --kind=file
	start notes --nodelist=n1
	server stop -m fast
	cp -a "$ROTA_HOME/pg/data" "$ROTA_HOME/pg/copy"
	server start
	eventually serves
	# As if the database had been promoted several times since: numbers of boxes are higher than the restored one reaches by
	# itself.
	superuser "create or replace function internal.credential_box_base() returns bigint language sql as 'select 90000000000000'"
	for i in 2 3 4; do
		add notes "version $i" --kind=file
		eventually last_is "version $i"
	done
	server stop -m immediate
	rm -rf "$ROTA_HOME/pg/data"
	mv "$ROTA_HOME/pg/copy" "$ROTA_HOME/pg/data"
	server start
	eventually serves
	add notes again --kind=file
	eventually last_is again
	has_it() { rota cred show notes --json | jq -e '[.. | objects | select(.version? == 2 and .node? == "n1")] | length == 1' >/dev/null; }
	eventually has_it
	over
}

# kept NAME...: rota-credd has these credentials in its list of removed ones on disk.
kept() {
	local name
	for name; do
		grep -q "^$(id -u) $name " "$ROTA_TEST_KEYS/credd/removed" || return 1
	done
}

# restored_says NAME...: the report of restored databases names them.
restored_says() {
	local name report
	report=$(rota admin db restored) || return 1
	for name; do
		grep "credential $name of $(id -un) .*had been removed .*removed again" <<<"$report" || return 1
	done
}

@test "what was removed since the backup was made is given to no step any more, and is named" {
	# The program makes versions that contain the number of its calls.
	cat >"$ROTA_TEST_KEYS/programs/make" <<-END
		#!/bin/bash
		echo x >>"$ROTA_TEST_KEYS/made"
		echo "made \$(wc -l <"$ROTA_TEST_KEYS/made")"
		echo "{\"expires\": \$((\$(date +%s) + 3600))}" >&3
	END
	chmod 0755 "$ROTA_TEST_KEYS/programs/make"
	install -m 0666 /dev/null "$ROTA_TEST_KEYS/made"
	! rota cred show notes >/dev/null 2>&1 || rota cred remove notes
	rota cred add notes --kind=command --command=make
	add other old --kind=file
	add stays here --kind=file
	start notes --nodelist=n1
	server stop -m fast
	cp -a "$ROTA_HOME/pg/data" "$ROTA_HOME/pg/copy"
	server start
	eventually serves
	rota cred remove notes
	rota cred remove other
	eventually last_is none
	eventually kept notes other
	server stop -m immediate
	rm -rf "$ROTA_HOME/pg/data"
	mv "$ROTA_HOME/pg/copy" "$ROTA_HOME/pg/data"
	server start
	eventually serves
	# After these promotions, the next boxes have higher numbers than the node has ever seen.
	superuser "select internal.incarnation_begin('promoted', 0) from generate_series(1, 3)"
	rota cred refresh notes || true
	eventually restored_says notes other
	run -1 rota cred show notes
	for name in notes other; do
		run -1 rota submit "--cred=$name" job.sh
		[[ $output == *"you have no credential \"$name\""* ]]
	done
	[[ $(rota admin db restored) != *"credential stays"* ]]
	# A credential of the removed name may be added, and credentials that were not removed work.
	add other new --kind=file
	printf '#!/bin/bash\ncat "$ROTA_CREDENTIALS/other" "$ROTA_CREDENTIALS/stays"\n' >both.sh
	rota submit --parsable --wait --output=both --cred=other,stays both.sh
	[ "$(cat both)" = newhere ]
	over
	[ "$(cat out)" = $'made 1\nnone' ]
}

@test "a new procmgrd finds the boxes of running attempts, and renews them" {
	add notes first --kind=file
	start notes --nodelist=n1
	pid=$(pid_of procmgrd n1)
	kill -9 "$pid"
	add notes second --kind=file
	eventually last_is second
	over
}

@test "a node by which a running step grows has the credentials of the step" {
	add notes first --kind=file
	cat >grow.sh <<-'END'
		#!/bin/bash
		rota run --detach --input=none -c 4 sh -c 'echo "$(cat "$ROTA_CREDENTIALS/notes")" >>found; until [ -e over ]; do sleep 0.3; done'
		rota run --detach --input=none -c 4 sh -c 'echo "$(cat "$ROTA_CREDENTIALS/notes")" >>found; until [ -e over ]; do sleep 0.3; done'
		until [ -e found ]; do sleep 0.3; done
		rota grow --nodes=+1
		until [ -e over ]; do sleep 0.3; done
	END
	job=$(rota submit --parsable --cpus-per-task=4 --output=out --cred=notes grow.sh)
	both() { [ "$(cat found 2>/dev/null)" = $'first\nfirst' ]; }
	eventually both
	[ "$(superuser "select count(distinct node_id) from rota.credential_use where name = 'notes' and gone_at is null")" = 2 ]
	touch over
	rota wait "$job"
	rota cred remove notes
}

@test "sub-steps on each node find the credential of their own node, and a changed variable stays" {
	add notes shared --kind=file
	add proxy certificate --kind=token
	cat >wide.sh <<-'END'
		#!/bin/bash
		#ROTA --nodes=2 --ntasks-per-node=1
		rota run --nodes=2 --ntasks=2 bash -c 'echo "$(cat "$ROTA_CREDENTIALS/notes") $(cat "$BEARER_TOKEN_FILE") $ROTA_NODE $BEARER_TOKEN_FILE"' | sort -k3 >of-all
		BEARER_TOKEN_FILE=/mine rota run --nodes=2 --ntasks=2 bash -c 'echo "$BEARER_TOKEN_FILE"' >of-mine
	END
	job=$(rota submit --parsable --output=out --cred=notes,proxy wide.sh)
	rota wait "$job"
	[ "$(cut -d' ' -f1-3 of-all)" = $'shared certificate n1\nshared certificate n2' ]
	[ "$(cut -d' ' -f4 of-all | sort -u | wc -l)" = 2 ]
	[ "$(cat of-mine)" = $'/mine\n/mine' ]
}
