#!/usr/bin/env bats
# A job that has waited for longer than the life of its first ticket opens a service that asks for Kerberos, and forwards its
# ticket there: `ssh -K` to a private sshd, which has only its key in the private KDC.

bats_require_minimum_version 1.5.0

load helper
load credential
load kdc

setup_file() {
	[ "$EUID" = 0 ] || skip "needs root, for users and a sshd"
	kdc_up
	credentials_up rt-kh$$ rt-ki$$ 1 --cpus 4 --mem 2000
	# An account without a password counts as locked for sshd where it does not ask PAM.
	usermod -p '*' "$ANNA"
	kadmin.local -q "addprinc -randkey $ANNA" >>"$KDC/create.log" 2>&1
	kadmin.local -q "ktadd -k $KDC/keytab $ANNA" >>"$KDC/create.log" 2>&1
	sshd_up
}

teardown_file() {
	local status=0
	[ -z "${SSHD:-}" ] || kill "$SSHD" || status=1
	instance_users_down "$ANNA" "$EVE" || status=1
	rm -rf "$ROTA_TEST_KEYS"
	kdc_down
	return "$status"
}

# sshd_up: a sshd on port SSHD_PORT, with a configuration and a host key of its own, and its replay cache in $KDC. It admits by tickets only.
# Its folder below /run is in a mount namespace, so this host gets none.
sshd_up() {
	local conf=$KDC/sshd_config
	SSHD_PORT=$(free_port)
	ssh-keygen -q -t ed25519 -N "" -f "$KDC/host_key"
	cat >"$conf" <<-END
		ListenAddress 127.0.0.1
		Port $SSHD_PORT
		HostKey $KDC/host_key
		PidFile none
		AuthenticationMethods gssapi-with-mic
		GSSAPIAuthentication yes
		GSSAPIStrictAcceptorCheck no
		GSSAPICleanupCredentials yes
		AllowUsers $ANNA
		UsePAM no
		LogLevel VERBOSE
	END
	KRB5_KTNAME=$KDC/keytab TMPDIR=$KDC unshare --mount bash -c 'mount -t tmpfs tmpfs /run && mkdir -m 0755 /run/sshd && exec /usr/sbin/sshd -D -e -f "$1"' \
		sshd "$conf" >"$KDC/sshd.log" 2>&1 3>&- &
	SSHD=$!
	export SSHD SSHD_PORT
	disown
	eventually grep -q "Server listening" "$KDC/sshd.log"
}

# far COMMAND: the command line by which a job runs a command at that sshd.
far() {
	echo "ssh -K -F none -p $SSHD_PORT -o BatchMode=yes -o PreferredAuthentications=gssapi-with-mic -o StrictHostKeyChecking=no" \
		"-o UserKnownHostsFile=/dev/null -l $ANNA localhost 'export KRB5_CONFIG=$KRB5_CONFIG; $1'"
}

cred_is() { # NAME EXPRESSION VALUE
	[ "$(as "$ANNA" rota cred show "$1" --json | jq -r "$2")" = "$3" ]
}

@test "a job that has waited for longer than a ticket lives enters a sshd by its ticket, which arrives there" {
	ticket "$ANNA" cache -f -l 24s -r 10m
	chmod 0644 cache
	as "$ANNA" rota cred add krb5 cache
	printf '#!/bin/bash\nexport KRB5_CONFIG=%s\n%s\n' "$KRB5_CONFIG" \
		"$(far 'echo "as $(id -un), cache $KRB5CCNAME"; klist -f; kvno host/localhost')" >job.sh
	job=$(as "$ANNA" rota submit --parsable --hold --cred=krb5 --output="$PWD/out" job.sh)
	eventually cred_is krb5 '.renewals >= 2' true
	is_over() { ! klist -s -c FILE:cache; }
	eventually is_over
	rota release "$job"
	rota wait --timeout=300 "$job"
	grep -q "Accepted gssapi-with-mic for $ANNA .*$ANNA@KIND.TEST" "$KDC/sshd.log"
	# The forwarded ticket is in another cache than that of the job, and works.
	grep -Eq "^as $ANNA, cache FILE:/tmp/krb5cc_" out
	grep -q "Default principal: $ANNA@KIND.TEST" out
	grep -Eq "Flags: [A-Za-z]*f" out
	grep -q "host/localhost@KIND.TEST: kvno = " out
	# sshd removes it when the session is over, which may be after the end of the client.
	no_cache() { [ -z "$(find /tmp -maxdepth 1 -name 'krb5cc_*' -user "$ANNA")" ]; }
	eventually no_cache
	as "$ANNA" rota cred remove krb5
}

@test "without a ticket, nobody enters" {
	printf '#!/bin/bash\nexport KRB5_CONFIG=%s\n%s\n' "$KRB5_CONFIG" "$(far true)" >job.sh
	job=$(as "$ANNA" rota submit --parsable --output="$PWD/out" job.sh)
	run -255 rota wait "$job"
	grep -q "Permission denied (gssapi-with-mic)" out
}
