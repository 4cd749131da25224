#!/usr/bin/env bats
# Credentials from `rota cred add` to the tasks on the nodes: rota-credd seals them, procmgrd fetches the boxes, keepers open them.

bats_require_minimum_version 1.5.0

load helper

setup_file() {
	export ROTA_TEST_KEYS=$(mktemp -d "${TMPDIR:-/tmp}/rota-keys.XXXXXX")
	chmod 755 "$ROTA_TEST_KEYS"
	instance_up 2 --cpus 4 --mem 1000 --set "credentials.keys=$ROTA_TEST_KEYS/credd" --set credentials.period=1
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

# start LIST [OPTION...]: a job that shows each version of the credential `notes` in its output, until the file `go` is there.
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
	folder=$(cat folder)
}

last_is() { # TEXT: within five seconds
	for i in $(seq 100); do [ "$(tail -n1 out)" = "$1" ] && return 0; sleep 0.05; done
	return 1
}

over() {
	touch go
	rota wait "$job"
	eventually test ! -e "$folder"
	eventually test -z "$(find "$ROTA_HOME"/node/*/cache -name 'cred.*')"
}

@test "a credential is there for the tasks, renewed in place within five seconds, and removed" {
	add notes first --kind=file
	start notes
	[ "$(cat out)" = first ]
	add notes second --kind=file
	last_is second
	rota cred remove notes
	last_is none
	over
	[ "$(cat out)" = $'first\nsecond\nnone' ]
}

@test "a new procmgrd finds the boxes of running attempts, and renews them" {
	add notes first --kind=file
	start notes --nodelist=n1
	pid=$(pid_of procmgrd n1)
	kill -9 "$pid"
	add notes second --kind=file
	for i in $(seq 20); do last_is second && break; done
	last_is second
	over
}

@test "a node by which a running step grows has the credentials of the step" {
	add notes first --kind=file
	cat >grow.sh <<-'END'
		#!/bin/bash
		rota run --detach --input=none -c 4 sh -c 'cat "$ROTA_CREDENTIALS/notes" >>found; echo >>found; until [ -e over ]; do sleep 0.1; done'
		rota run --detach --input=none -c 4 sh -c 'cat "$ROTA_CREDENTIALS/notes" >>found; echo >>found; until [ -e over ]; do sleep 0.1; done'
		until [ -e found ]; do sleep 0.1; done
		rota grow --nodes=+1
		until [ -e over ]; do sleep 0.1; done
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
