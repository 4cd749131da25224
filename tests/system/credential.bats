#!/usr/bin/env bats
# Credentials of users: commands, jobs that wait for a credential, changes of keys, and thieves of the database. What runs on a
# node is tested in credential_node and credential_run.

ROTA_TEST_CLIENT=sanitizers
load helper
load credential

setup_file() {
	credentials_up rt-ca$$ rt-ce$$ 2 --cpus 4 --mem 2000
}

# show_job NAMES: a script of Anna that prints the files and variables of these credentials.
show_job() {
	cat >job.sh <<-END
		#!/bin/sh
		#ROTA --cred=$1 --output=out.%j
		cat "\$ROTA_CREDENTIALS"/*
	END
}

# why_is JOB TEXT: `rota why` has the text.
why_is() {
	[[ $(as "$ANNA" rota why "$1") == *"$2"* ]]
}

daemon() {
	cat "$ROTA_HOME/run/rota-credd-1.pid" | head -n 1 | cut -d' ' -f1
}

@test "a user adds, lists, shows and removes credentials, and nobody else sees them" {
	run -0 as "$ANNA" rota cred
	[[ $(wc -l <<<"$output") == 1 ]]
	secret | as "$ANNA" rota cred add archive --kind=file
	run -0 as "$ANNA" rota cred list --json
	[[ $(jq -c '[.credentials[] | .name, .kind, .user, .version]' <<<"$output") == "[\"archive\",\"file\",\"$ANNA\",1]" ]]
	run -0 as "$ANNA" rota cred show archive
	[[ $output == "credential archive: good"*"Kind        file"* ]] || { echo "$output"; false; }
	[[ $output != *"$(secret)"* ]]
	run -1 as "$EVE" rota cred show archive
	[[ $output == *'you have no credential "archive"'* ]]
	run -1 as "$EVE" rota cred list --user="$ANNA"
	[[ $output == *"only operators see the credentials of others"* ]]
	run -1 as "$EVE" rota cred remove archive
	run -0 rota cred list --all
	[[ $output == *archive*"$ANNA"* ]]
	run -0 as "$ANNA" rota cred remove archive
	[[ $output == "credential archive: removed" ]]
	run -1 as "$ANNA" rota cred show archive
}

@test "what is of no use is refused, and says what to do" {
	run -1 as "$ANNA" rota cred add archive --kind=file </dev/null
	[[ $output == *'"-" is empty'* ]]
	run -1 as "$ANNA" rota cred add archive /nonexistent --kind=file
	[[ $output == *'could not read "/nonexistent"'* ]]
	run -1 sh -c "head -c 1100000 /dev/zero | setpriv --reuid $ANNA --clear-groups rota cred add archive --kind=file"
	[[ $output == *"is larger than 1048576 bytes"* ]]
	run -2 as "$ANNA" rota cred add archive </dev/null
	[[ $output == *"say of which kind it is: rota cred add archive --kind=KIND"* ]]
	run -1 as "$ANNA" rota cred add ../x --kind=file <<<x
	[[ $output == *"is no name of a credential"* ]]
	run -1 as "$ANNA" rota cred add krb5 - <<<nonsense
	[[ $output == *'credential "krb5": '*ticket* ]] || { echo "$output"; false; }
	run -0 as "$ANNA" rota cred list --json
	[ "$(jq '.credentials | length' <<<"$output")" = 0 ]
	show_job archive
	run -1 as "$ANNA" rota submit job.sh
	[[ $output == *'you have no credential "archive"'*"rota cred add archive"* ]] || { echo "$output"; false; }
	show_job ../archive
	run -1 as "$ANNA" rota submit job.sh
	[[ $output == *"job.sh:2:"*'"../archive" is not the name of a credential'* ]] || { echo "$output"; false; }
	show_job archive,archive
	run -1 as "$ANNA" rota submit job.sh
	[[ $output == *'"archive" is named twice'* ]]
}

@test "a job waits while its credential is dead, says why, and goes on with a new one" {
	secret | as "$ANNA" rota cred add archive --kind=file --expires=60
	show_job archive
	printf '#!/bin/sh\nsleep 1000\n' >all.sh
	all=$(as "$ANNA" rota submit --parsable --exclusive --nodes=2 --output=none all.sh)
	job=$(as "$ANNA" rota submit --parsable job.sh)
	run -0 as "$ANNA" rota cred forecast
	[[ $output == *"$job.script"*archive* ]] || { echo "$output"; false; }
	[[ $output == *$'\n\n1 step may need a credential for longer than it lives or can be renewed, the first from '20* ]]
	[[ $output == *"Add it anew before: rota cred add NAME."* ]]
	run -0 as "$EVE" rota cred forecast
	[ "$output" = "No step needs a credential for longer than it lives or can be renewed." ]
	run -1 as "$EVE" rota cred forecast --user="$ANNA"
	# The minute is over.
	superuser "update rota.credential set expires_at = now() where name = 'archive' and user_name = '$ANNA' and removed_at is null; notify rota_credential"
	eventually why_is "$job" "credential archive: it expire" || { as "$ANNA" rota why "$job"; false; }
	as "$ANNA" rota cancel -q "$all"
	run as "$ANNA" rota release "$job"
	run -0 as "$ANNA" rota why "$job"
	[[ $output == *"credential archive: it expire"* ]] || { echo "$output"; false; }
	run -0 as "$ANNA" rota cred show archive
	[[ $output == "credential archive: dead"* ]]
	late=$(as "$ANNA" rota submit --parsable job.sh)
	eventually why_is "$late" "credential archive"
	secret | as "$ANNA" rota cred add archive --kind=file
	as "$ANNA" rota wait --timeout=300 "$job" "$late"
	[ "$(cat "out.$job")" = "$(secret)" ]
	[ "$(cat "out.$late")" = "$(secret)" ]
	as "$ANNA" rota cred remove archive
}

@test "without rota-credd a job waits for its boxes, is cancelled or goes on; uploads wait too" {
	secret | as "$ANNA" rota cred add archive --kind=file
	kill_now "$(daemon)"
	show_job archive
	job=$(as "$ANNA" rota submit --parsable job.sh)
	other=$(as "$ANNA" rota submit --parsable job.sh)
	eventually eval '[ "$(superuser "select count(*) from rota.hook_pending where hook = '"'credential'"'")" = 2 ]'
	as "$ANNA" rota cancel -q "$other"
	[ "$(find . -name 'out.*' | wc -l)" = 0 ]
	echo new | as "$ANNA" rota cred add second --kind=file >added &
	adder=$!
	eventually eval '[ "$(superuser "select count(*) from rota.credential_upload where done_at is null")" = 1 ]'
	rota up >/dev/null
	as "$ANNA" rota wait --timeout=300 "$job"
	[ "$(cat "out.$job")" = "$(secret)" ]
	as "$ANNA" rota wait --timeout=300 "$other" || true
	[ ! -e "out.$other" ]
	wait "$adder"
	[[ $(<added) == "credential second: good"* ]]
	as "$ANNA" rota cred remove archive
	as "$ANNA" rota cred remove second
}

@test "a new key seals everything anew, also when rota-credd is killed meanwhile" {
	for i in 1 2 3; do
		secret | as "$ANNA" rota cred add "archive$i" --kind=file >/dev/null
	done
	run -1 as "$ANNA" rota admin cred rotate
	run -0 rota admin cred rotate
	[[ $output == "rota-credd makes key "*", and seals all credentials with it" ]]
	newest=$(superuser "select value from rota.setting where name = 'credential_key'")
	kill_now "$(daemon)"
	rota up >/dev/null
	eventually eval '[ "$(superuser "select count(*) from rota.credential where key_version < $newest and removed_at is null")" = 0 ]'
	[ -e "$ROTA_TEST_KEYS/cred/$newest.key" ]
	[ "$(stat -c %a "$ROTA_TEST_KEYS/cred/$newest.key")" = 600 ]
	mv "$ROTA_TEST_KEYS/cred/1.key" "$ROTA_TEST_KEYS/aside"
	kill_now "$(daemon)"
	rota up >/dev/null
	show_job archive1,archive3
	job=$(as "$ANNA" rota submit --parsable job.sh)
	as "$ANNA" rota wait --timeout=300 "$job"
	[ "$(cat "out.$job")" = "$(secret)"$'\n'"$(secret)" ]
	mv "$ROTA_TEST_KEYS/aside" "$ROTA_TEST_KEYS/cred/1.key"
	for i in 1 2 3; do
		as "$ANNA" rota cred remove "archive$i"
	done
}

@test "a stolen database has no secret, and a thief cannot make his own of another's row" {
	secret | as "$ANNA" rota cred add archive --kind=file
	echo mine | as "$EVE" rota cred add archive --kind=file
	show_job archive
	job=$(as "$ANNA" rota submit --parsable job.sh)
	as "$ANNA" rota wait --timeout=300 "$job"
	pg_dumpall -h "$ROTA_HOME/run" -U postgres >dump
	grep -q "credential_use" dump
	! grep -q "$(secret)" dump || false
	! grep -q "$(secret | xxd -p | cut -c1-20)" dump || false
	# A thief with all rights in the database stores Anna's row as Eve's, with the same version.
	superuser "update rota.credential e set (version, key_version, nonce, sealed) = (a.version, a.key_version + 1000, a.nonce, a.sealed)
		from rota.credential a where a.user_name = '$ANNA' and e.user_name = '$EVE' and a.removed_at is null and e.removed_at is null"
	superuser "update rota.credential a set nonce = decode(repeat('00', 12), 'hex') where user_name = '$ANNA' and removed_at is null"
	superuser "update rota.credential set key_version = key_version - 1000 where user_name = '$EVE' and removed_at is null"
	job=$(as "$EVE" rota submit --parsable job.sh)
	eventually eval '[[ $(as "$EVE" rota why "$job") == *"rota-credd cannot open it"* ]]'
	[ ! -e "out.$job" ]
	as "$EVE" rota cancel -q "$job"
	as "$EVE" rota cred remove archive
	as "$ANNA" rota cred remove archive
}

@test "a user lets another one use a credential, and takes it back from a running job" {
	secret | as "$ANNA" rota cred add shared --kind=file
	echo mine | as "$EVE" rota cred add shared --kind=file
	printf '#!/bin/bash\ncat "$ROTA_CREDENTIALS"/*\nuntil [ ! -e "$ROTA_CREDENTIALS/shared@%s" ]; do sleep 0.3; done\necho; ls "$ROTA_CREDENTIALS"\n' "$ANNA" >eve.sh
	run -1 as "$EVE" rota submit --cred="$ANNA/shared" eve.sh
	[[ $output == *"you have no credential \"$ANNA/shared\""* ]] || { echo "$output"; false; }
	run -1 as "$ANNA" rota cred grant shared --to nobody-$$
	[[ $output == *"there is no user"* ]]
	run -1 as "$EVE" rota cred grant "$ANNA/shared" --to "$EVE"
	body='{"name": "shared", "to": "'$EVE'", "to_uid": "'$(id -u "$EVE")'"}' # a uid as text would be signed for uid 0
	run -0 as "$ANNA" curl -s --unix-socket "$ROTA_HOME/run/gate.sock" -H "Authorization: Munge $(as "$ANNA" rota token POST /v1/credential_grant -d "$body")" -d "$body" http://gate/v1/credential_grant
	[[ $output == *'to_uid\" must be a number'* ]] || { echo "$output"; false; }
	run -2 as "$ANNA" rota cred grant shared --to "$EVE" --until someday
	[[ $output == *'"someday" is not a date or time'* ]] || { echo "$output"; false; }
	run -0 as "$ANNA" rota cred grant shared --to "$EVE" --until now+1hour
	[ "$output" = "credential shared: granted to $EVE" ]
	run -0 as "$EVE" rota cred list
	[[ $output == *"$ANNA/shared"* ]]
	run -0 as "$ANNA" rota cred show shared
	[[ $output == *"Granted to  $EVE, until"* ]] || { echo "$output"; false; }
	job=$(as "$EVE" rota submit --parsable --cred="shared,$ANNA/shared" --output=out.%j eve.sh)
	eventually eval '[ "$(grep -c . "out.$job")" = 2 ]'
	[ "$(sort "out.$job")" = "$(printf 'mine\n%s\n' "$(secret)" | sort)" ]
	run -0 as "$ANNA" rota cred show shared
	[[ $output == *"$job.0.1"* ]]
	as "$ANNA" rota cred grant shared --to "$EVE" --revoke
	as "$EVE" rota wait --timeout=300 "$job"
	[ "$(tail -n 1 "out.$job")" = shared ]
	run -1 as "$EVE" rota submit --cred="$ANNA/shared" eve.sh
	as "$ANNA" rota cred remove shared
	as "$EVE" rota cred remove shared
}

@test "with all rights in the database nobody is granted anything, and no grant turned to another credential" {
	secret | as "$ANNA" rota cred add archive --kind=file
	echo harmless | as "$ANNA" rota cred add notes --kind=file
	show_job "$ANNA/archive"
	as "$ANNA" rota cred grant notes --to "$EVE"
	# the signature of a grant of another credential
	superuser "insert into rota.credential_grant (credential_id, uid, user_name, signature)
		select a.credential_id, g.uid, g.user_name, g.signature from rota.credential_grant g, rota.credential a
		where g.revoked_at is null and a.name = 'archive' and a.user_name = '$ANNA' and a.removed_at is null"
	job=$(as "$EVE" rota submit --parsable job.sh)
	eventually grep -q "credential archive for job $job was not sealed: its owner has not granted it" "$ROTA_HOME/log/rota-credd.log"
	ends() { [ "$(superuser "select count(*) from rota.credential_grant g join rota.credential c using (credential_id) where c.name = 'archive' and g.revoked_at is null")" = 0 ]; }
	eventually ends
	stops() { [[ $(as "$EVE" rota why "$job") == *"its owner does not grant it"* ]]; }
	eventually stops
	# the secret itself in the place of the granted one
	as "$EVE" rota cancel -q "$job"
	show_job "$ANNA/notes"
	job=$(as "$EVE" rota submit --parsable --hold job.sh)
	superuser "update rota.credential set name = 'aside' where name = 'notes' and user_name = '$ANNA' and removed_at is null;
		update rota.credential a set name = 'notes', origin = n.origin from rota.credential n
		where n.name = 'aside' and n.removed_at is null and a.name = 'archive' and a.user_name = '$ANNA' and a.removed_at is null;
		update rota.credential_grant g set credential_id = a.credential_id from rota.credential a
		where g.revoked_at is null and a.name = 'notes' and a.user_name = '$ANNA' and a.removed_at is null"
	as "$EVE" rota release "$job"
	eventually grep -q "credential notes for job $job was not sealed: .*does not fit" "$ROTA_HOME/log/rota-credd.log"
	[ ! -e "out.$job" ]
	as "$EVE" rota cancel -q "$job"
	as "$ANNA" rota cred remove aside
	as "$ANNA" rota cred remove notes
}

@test "steps that do not say --cred get those of their user, or else of the partition" {
	secret | as "$ANNA" rota cred add archive --kind=file
	printf '#!/bin/sh\ncat "${ROTA_CREDENTIALS:-/dev/null}"/* 2>/dev/null; echo end\n' >plain.sh
	# submit [OPTION]...: submit a job that prints its credentials
	finds() {
		local job
		job=$(as "$ANNA" rota submit --parsable --output=out.%j "$@" plain.sh) && as "$ANNA" rota wait --timeout=300 "$job" && [[ $(cat "out.$job") == "$expected"end ]]
	}
	run -1 as "$ANNA" rota cred default nothing
	[[ $output == *'you have no credential "nothing"'* ]]
	run -0 as "$ANNA" rota cred default archive
	[ "$output" = archive ]
	# jobmgrd reads defaults once a second
	expected=$(secret)$'\n'
	eventually finds
	expected=
	finds --cred=none
	as "$ANNA" rota cred default unset
	eventually finds
	partition=$(rota partitions --json | jq -r '.partitions[0].name')
	rota admin partition change "$partition" --cred=archive
	expected=$(secret)$'\n'
	eventually finds
	run -1 as "$EVE" rota submit plain.sh
	[[ $output == *'you have no credential "archive"'*"Partition \"$partition\" has it as a default."*--cred=none* ]] || { echo "$output"; false; }
	run -1 as "$EVE" rota submit --cred=other plain.sh
	[[ $output == *'you have no credential "other"'*"Add it: "* ]] || { echo "$output"; false; }
	as "$ANNA" rota cred default none
	expected=
	eventually finds
	run -1 rota admin partition change "$partition" --cred=../x
	rota admin partition change "$partition" --cred=none
	as "$ANNA" rota cred default archive
	as "$ANNA" rota cred remove archive
	refused_as_default() { run as "$ANNA" rota submit plain.sh; [[ $status = 1 && $output == *"It is one of your defaults"*--cred=none* ]]; }
	eventually refused_as_default
	as "$ANNA" rota cred default unset
}

@test "rota up leaves the keys alone that rota-credd may be reading" {
	before=$(stat -c '%Z %n' "$ROTA_TEST_KEYS/cred" "$ROTA_TEST_KEYS"/cred/*.key)
	rota up >/dev/null
	[ "$(stat -c '%Z %n' "$ROTA_TEST_KEYS/cred" "$ROTA_TEST_KEYS"/cred/*.key)" = "$before" ]
	# Keys that were restored with another owner are given to the account.
	chown root "$ROTA_TEST_KEYS/cred/cred.key"
	rota up >/dev/null
	[ "$(stat -c %u "$ROTA_TEST_KEYS/cred/cred.key")" = "$(stat -c %u "$ROTA_TEST_KEYS/cred")" ]
}

@test "a job waits while rota-credd cannot read the keys of nodes, and its credential stays good" {
	secret | as "$ANNA" rota cred add archive --kind=file
	unread() { grep -q "job $job was not sealed: could not open key file" "$ROTA_HOME/log/rota-credd.log"; }
	show_job archive
	# The folder of the keys belongs to another user for a while.
	chown 0:0 "$ROTA_TEST_KEYS/cred"
	job=$(as "$ANNA" rota submit --parsable job.sh)
	eventually unread
	chown --reference="$ROTA_TEST_KEYS/cred/cred.key" "$ROTA_TEST_KEYS/cred"
	as "$ANNA" rota wait --timeout=300 "$job"
	[ "$(cat "out.$job")" = "$(secret)" ]
	# A key has the wrong mode for a while, which does not change the folder.
	chmod 0600 "$ROTA_TEST_KEYS"/cred/nodes/n?.pub
	job=$(as "$ANNA" rota submit --parsable job.sh)
	eventually unread
	[ "$(superuser "select count(*) from rota.credential_use where job_id = $job and failure is not null")" = 0 ]
	chmod 0644 "$ROTA_TEST_KEYS"/cred/nodes/n?.pub
	as "$ANNA" rota wait --timeout=300 "$job"
	[ "$(cat "out.$job")" = "$(secret)" ]
	as "$ANNA" rota cred remove archive
}

@test "rota up makes no lost key anew" {
	secret | as "$ANNA" rota cred add archive --kind=file
	kill_now "$(daemon)"
	mkdir aside
	mv "$ROTA_TEST_KEYS"/cred/[0-9]*.key aside
	run -1 rota up
	[[ $output == *"the keys of rota-credd are lost"*"1.key"*"remove cred.pub"* ]] || { echo "$output"; false; }
	[ -z "$(find "$ROTA_TEST_KEYS/cred" -name '[0-9]*.key')" ]
	mv aside/* "$ROTA_TEST_KEYS/cred"
	rota up >/dev/null
	show_job archive
	job=$(as "$ANNA" rota submit --parsable job.sh)
	as "$ANNA" rota wait --timeout=300 "$job"
	[ "$(cat "out.$job")" = "$(secret)" ]
	as "$ANNA" rota cred remove archive
}

@test "the keys and the daemon are closed to users and to the accounts of other daemons" {
	for file in cred.key 1.key; do
		run -1 as "$EVE" cat "$ROTA_TEST_KEYS/cred/$file"
	done
	run -2 as "$EVE" ls "$ROTA_TEST_KEYS/cred"
	run -1 as "$EVE" cat "$ROTA_HOME/keys/node.key"
	pid=$(daemon)
	# Not even the account of rota-credd may read the daemon's memory.
	run -1 as rota cat "/proc/$pid/environ"
	run as rota dd if="/proc/$pid/mem" of=/dev/null bs=1 count=1
	[ "$status" != 0 ]
	[ "$(tr '\0' '\n' <"/proc/$pid/cmdline" | grep -c key)" = 0 ]
}

@test "an instance that holds no credentials says so" {
	sed "s|^dir *=.*|dir = /nonexistent|" "$ROTA_HOME/etc/rota.conf" >none.conf
	run -1 as "$ANNA" rota cred add archive --kind=file --config="$PWD/none.conf" <<<x
	[[ $output == *"this cluster holds no credentials"* ]] || { echo "$output"; false; }
}
