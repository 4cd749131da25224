#!/usr/bin/env bats
# Attacks on credentials by users and thieves of the database, on running nodes. Forged boxes and links on a node:
# credential_node. Stolen databases and unsigned grants: credential.

load helper
load credential

setup_file() {
	credentials_up rt-ka$$ rt-ke$$ 1 --cpus 8 --mem 4000
}

# submit USER SCRIPT [OPTION]...: submit a job with this script.
submit() {
	local user=$1
	printf '#!/bin/bash\n%s\n' "$2" >"$user.sh"
	shift 2
	as "$user" rota submit --parsable --output="$PWD/%j.out" "$@" "$user.sh"
}

@test "an agent with a key leaves no core file, and nobody traces it or reads its memory, its owner neither" {
	ssh-keygen -q -t ed25519 -N "" -C probe -f key
	chown "$ANNA" key
	as "$ANNA" rota cred add deploy "$PWD/key" --kind=ssh-key
	job=$(submit "$ANNA" 'ssh-add -l >keys; until [ -e over ]; do sleep 0.3; done' --cred=deploy)
	eventually grep -qs probe keys
	for pid in $(pgrep -x ssh-agent -u "$ANNA"); do
		grep -q "^Max core file size *0 " "/proc/$pid/limits"
		run as "$ANNA" dd if="/proc/$pid/mem" of=/dev/null bs=1 count=1
		[ "$status" != 0 ]
		run as "$ANNA" cat "/proc/$pid/environ"
		[ "$status" != 0 ]
		run timeout 20 setpriv --reuid "$ANNA" --clear-groups strace -p "$pid"
		[[ $status != 0 && $output == *"Operation not permitted"* ]] || { echo "$output"; false; }
	done
	[ -n "$pid" ]
	touch over
	as "$ANNA" rota wait "$job"
	as "$ANNA" rota cred remove deploy
}

@test "with all rights in the database, a box of one running attempt does not open in another one" {
	secret | as "$ANNA" rota cred add archive --kind=file
	echo mine | as "$EVE" rota cred add archive --kind=file
	loop='until [ -e over ]; do cat "$ROTA_CREDENTIALS/archive" >>"$PWD/seen.$USER" 2>&1; sleep 0.1; done'
	first=$(submit "$ANNA" "$loop" --cred=archive)
	second=$(submit "$EVE" "$loop" --cred=archive)
	eventually grep -qs "$(secret)" "seen.$ANNA"
	eventually grep -qs mine "seen.$EVE"
	superuser "update rota.credential_use e set box = a.box, boxed = e.boxed + 1, wanted = e.wanted + 1, box_number = e.box_number + 1
		from rota.credential_use a where a.job_id = $first and e.job_id = $second;
		select pg_notify('rota_node_' || node_id, '') from rota.credential_use where job_id = $second" >/dev/null
	eventually grep -rqs "attempt $second.0.1.*is not renewed: " "$ROTA_HOME/log"
	[ "$(sort -u "seen.$EVE")" = mine ]
	touch over
	as "$ANNA" rota wait "$first"
	as "$EVE" rota wait "$second"
	as "$ANNA" rota cred remove archive
	as "$EVE" rota cred remove archive
}

@test "another user's credential is not had by its name, by any way in" {
	secret | as "$ANNA" rota cred add archive --kind=file
	for name in archive "$ANNA/archive" "archive@$ANNA" "../archive" "$ANNA/../archive"; do
		run -1 submit "$EVE" true --cred="$name"
		run -1 submit "$EVE" "#ROTA --cred=$name
true"
	done
	job=$(submit "$EVE" 'ls "${ROTA_CREDENTIALS:-/nowhere}"' --hold)
	run as "$EVE" rota modify "$job" --cred="$ANNA/archive"
	[ "$status" != 0 ]
	run -1 as "$EVE" rota cred grant archive --to "$EVE"
	run -1 as "$EVE" rota cred test archive --user="$ANNA"
	run -1 as "$EVE" rota cred refresh archive --user="$ANNA"
	# A thief with all rights in the database adds the credential to the job, but nothing is sealed for a user without a grant.
	superuser "update rota.job set credentials = true where job_id = $job;
		insert into rota.step_credential (job_id, step_id, uid, name, kind) select $job, 0, uid, name, kind from rota.credential where removed_at is null"
	as "$EVE" rota release "$job"
	waits() { [ "$(superuser "select count(*) from rota.hook_pending where job_id = $job and hook = 'credential'")" = 1 ]; }
	eventually waits
	[ "$(superuser "select count(*) from api.credential_box_take(100)")" = 0 ]
	run ! grep -rs "$(secret)" .
	as "$EVE" rota cancel -q "$job" || true
	as "$ANNA" rota cred remove archive
}

@test "jobs share no session keyring with each other" {
	cat >keys.py <<-'END'
		import ctypes, os, sys
		libc = ctypes.CDLL(None, use_errno=True)
		# keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0)
		print(libc.syscall(250, 0, -3, 0))
	END
	first=$(submit "$ANNA" 'python3 keys.py')
	second=$(submit "$ANNA" 'python3 keys.py')
	third=$(submit "$EVE" 'python3 keys.py')
	for job in "$first" "$second" "$third"; do
		rota wait "$job"
	done
	if [ "$(cat "$first.out")" = -1 ]; then
		skip "this kernel has no keyrings here"
	fi
	[ "$(cat "$first.out" "$second.out" "$third.out" | sort -u | wc -l)" = 3 ]
}

@test "a database without its keys opens nothing: a thief who starts rota-credd on it has only names" {
	secret | as "$ANNA" rota cred add archive --kind=file
	kill_now "$(pid_of rota-credd)"
	mkdir aside
	mv "$ROTA_TEST_KEYS/cred" aside
	mv "$ROTA_HOME/keys/cred.pub" aside
	rota up >/dev/null
	job=$(submit "$ANNA" 'cat "$ROTA_CREDENTIALS/archive"' --cred=archive)
	cannot() { [[ $(as "$ANNA" rota why "$job") == *"rota-credd cannot open it"* ]]; }
	eventually cannot
	[ ! -e "$job.out" ]
	kill_now "$(pid_of rota-credd)"
	rm -rf "$ROTA_TEST_KEYS/cred" "$ROTA_HOME/keys/cred.pub"
	mv aside/cred "$ROTA_TEST_KEYS/cred"
	mv aside/cred.pub "$ROTA_HOME/keys"
	rota up >/dev/null
	secret | as "$ANNA" rota cred add archive --kind=file
	as "$ANNA" rota wait --timeout=300 "$job"
	[ "$(cat "$job.out")" = "$(secret)" ]
	as "$ANNA" rota cred remove archive
}
