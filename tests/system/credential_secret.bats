#!/usr/bin/env bats
# Leftovers of a job's secrets after its end, and what its user and a core file get of them. Leftovers on a node alone:
# credential_node.

load helper
load credential
load kdc

setup_file() {
	[ "$EUID" = 0 ] || skip "needs root, for users"
	kdc_up
	ulimit -c unlimited # for all daemons
	credentials_up rt-kf$$ rt-kg$$ 2 --cpus 4 --mem 2000
}

teardown_file() {
	instance_users_down "$ANNA" "$EVE"
	rm -rf "$ROTA_TEST_KEYS"
	kdc_down
}

# needles_add: add a credential of each kind to those of anna. Their secrets (the needles) are in files of NEEDLES; no shell reads
# them.
needles_add() {
	NEEDLES=$BATS_TEST_TMPDIR/needles
	mkdir -m 0700 "$NEEDLES"
	for kind in file token; do
		head -c 24 /dev/urandom | base64 -w0 >"$NEEDLES/$kind"
		as "$ANNA" rota cred add "$kind" - --kind="$kind" <"$NEEDLES/$kind"
	done
	ssh-keygen -q -t ed25519 -N "" -f "$NEEDLES/ssh-key"
	rm "$NEEDLES/ssh-key.pub"
	as "$ANNA" rota cred add ssh-key - --kind=ssh-key <"$NEEDLES/ssh-key"
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 10m -r 20m
	as "$ANNA" rota cred add krb5 - --kind=krb5 <"$BATS_TEST_TMPDIR/cache"
	tail -c 150 "$BATS_TEST_TMPDIR/cache" | head -c 100 >"$NEEDLES/krb5" # a part of the ticket's encrypted part
}

needles_remove() {
	local kind
	for kind in file token ssh-key krb5; do
		as "$ANNA" rota cred remove "$kind"
	done
}

# search: prints the places of needles in all files and processes of this instance.
search() {
	python3 "$BATS_TEST_DIRNAME/secret_search.py" "$NEEDLES" "$ROTA_TEST_DIR" "$ROTA_TEST_KEYS"
}

# submit SCRIPT [OPTION]...: a job with all credentials, on both nodes unless options say otherwise. It makes the file "begun"
# when it has used them, and waits for the file "over".
submit() {
	printf '#!/bin/bash\n%s\ntouch begun; until [ -e over ]; do sleep 0.3; done\n' "$1" >job.sh
	as "$ANNA" rota submit --parsable --output="$PWD/%j.out" --cred=file,token,ssh-key,krb5 --nodes=2 --ntasks-per-node=1 "${@:2}" job.sh
	eventually test -e begun
}

# core_is_here: a process of this test has left a core file in its folder, if this kernel writes any there.
core_is_here() {
	[[ $(cat /proc/sys/kernel/core_pattern) == [\|/]* ]] || [ -n "$(find . -name 'core*')" ]
}

# is_renewed JOB: the ticket has been renewed, and each node of the job has it.
is_renewed() {
	[ "$(as "$ANNA" rota cred show krb5 --json | jq .renewals)" -ge 1 ] &&
		[ "$(superuser "select count(*) from rota.credential_use where job_id = $1 and boxed < wanted")" = 0 ]
}

nothing_found() {
	run search
	[ -z "$output" ] || { echo "$output"; false; }
}

@test "when a job has ended, its secrets are in no file, environment or memory, and its user's own ticket cache is untouched" {
	own=/tmp/krb5cc_$(id -u "$ANNA")
	needles_add
	ticket bob "$own" -l 10m
	chown "$ANNA:" "$own"
	before=$(stat -c '%i %Y %Z %s' "$own" && sha256sum "$own")
	job=$(submit 'ulimit -c unlimited
		rota run --nodes=2 bash -c "ssh-add -l; klist -s && kvno host/localhost"
		bash -c "kill -SEGV \$\$"
		export SEEN=$(cat "$ROTA_CREDENTIALS/file")
		exec -a task sleep 1000 &')
	[ "$(grep -c 'kvno = ' "$job.out")" = 2 ]
	core_is_here
	eventually pgrep -fx 'task 1000' -u "$ANNA" >/dev/null
	# The search finds existing secrets: the files of both nodes, and a copy that a task has made.
	run search
	for kind in file token krb5; do
		for node in n1 n2; do [[ $output == *"$kind: $ROTA_HOME/node/$node/"* ]]; done
	done
	[[ $output == *"file: memory of script"* && $output == *"file: environ of sleep"* ]] || { echo "$output"; false; }
	own_processes="$(grep -vE "^(file|token|krb5): $ROTA_HOME/node/n[12]/spool/$job.0.1/cred/|^file: .* of (script|sleep)\$" <<<"$output")" || true
	[ -z "$own_processes" ] || { echo "$own_processes"; false; }
	as "$ANNA" rota cred refresh krb5
	eventually is_renewed "$job" # no program has the old ticket open
	touch over
	as "$ANNA" rota wait "$job"
	[ -z "$(find "$ROTA_HOME/node" -name 'cred.*')" ]
	nothing_found
	[ "$before" = "$(stat -c '%i %Y %Z %s' "$own" && sha256sum "$own")" ]
	rm "$own"
	needles_remove
	nothing_found
}

@test "core files of a client, of rota-credd, and of all that runs for a job on its nodes have nothing of its secrets" {
	needles_add
	# A waiting client of rota-credd, which has just sealed the client's secret.
	credd=$(pid_of rota-credd)
	kill -STOP "$credd"
	(ulimit -c unlimited && as "$ANNA" rota cred add file - --kind=file <"$NEEDLES/file") &
	is_sent() { [ "$(superuser "select count(*) from rota.credential_upload where done_at is null")" = 1 ]; }
	eventually is_sent
	client=$(pgrep -x rota -u "$ANNA")
	kill -SEGV "$client"
	eventually are_dead "$client"
	core_is_here
	kill -CONT "$credd"
	job=$(submit 'ulimit -c unlimited')
	kill -SEGV "$credd"
	eventually are_dead "$credd"
	mapfile -t pids < <(pgrep -x ssh-agent -u "$ANNA"; step_managers "$job"; sed -s 's/ .*//' "$ROTA_HOME/node"/n[12]/spool/"$job".*/pid
		pid_of procmgrd n1; sed 's/ .*//' "$ROTA_HOME/node/n1/launcher.pid")
	kill -SEGV "${pids[@]}"
	touch over
	rota up >/dev/null # the next launcher thaws the cgroups that the killed one has frozen
	eventually are_dead "${pids[@]}"
	as "$ANNA" rota cancel -q "$job" || true
	rota wait -q "$job" || true
	nothing_found
	needles_remove
}

# boxes_of JOB: prints the files of the job's attempts in the cache of n1.
boxes_of() {
	find "$ROTA_HOME/node/n1/cache" -name "*.$1.*"
}

# node_down JOB: kill all programs of Rota on n1 at once, idle keepers too; the launcher's supervisor is `rota up`.
node_down() {
	local pids
	mapfile -t pids < <(pid_of procmgrd n1; sed 's/ .*//' "$ROTA_HOME/node/n1/launcher.pid"; sed -s 's/ .*//' "$ROTA_HOME/node/n1/spool/$1".*/pid
		step_managers "$1")
	kill -STOP "${pids[@]}" # so that none of them handles the death of another one
	kill -KILL "${pids[@]}"
	eventually are_dead "${pids[@]}"
}

# tasks_of JOB: prints the pids of processes that have the folder of the job's credentials in their environment.
tasks_of() {
	grep -lsa "ROTA_CREDENTIALS=$ROTA_HOME/node/n1/spool/$1" /proc/[0-9]*/environ | cut -d/ -f3
}

# The next start of the node destroys the job's leftovers; the job does not run again.
node_up() { # JOB
	rota up >/dev/null
	rota wait -q "$1" || true
	is_clean() { [ -z "$(boxes_of "$1")" ] && ! grep -q "spool/$1" /proc/mounts && [ -z "$(tasks_of "$1")" ]; }
	eventually is_clean "$1"
	nothing_found
}

@test "a node that lost its power, and one whose programs were all killed, has nothing of its secrets after its next start" {
	needles_add
	for how in killed power; do
		rm -f begun over
		job=$(submit 'ssh-add -l && cat "$ROTA_CREDENTIALS/file" >/dev/null' --nodes=1 --ntasks=1 --nodelist=n1 --no-requeue)
		folder=$ROTA_HOME/node/n1/spool/$job.0.1/cred
		[ -s "$folder/file" ] && [ -n "$(boxes_of "$job")" ]
		run search
		[[ $output == *"file: $folder/file"* ]]
		node_down "$job"
		if [ "$how" = power ]; then
			# A power cut loses memory and processes; files stay.
			mapfile -t pids < <(tasks_of "$job")
			kill -KILL "${pids[@]}"
			eventually are_dead "${pids[@]}"
			umount "$folder"
		else
			[ -s "$folder/file" ] && [ -n "$(tasks_of "$job")" ]
		fi
		[ -n "$(boxes_of "$job")" ]
		node_up "$job"
	done
	needles_remove
}
