#!/usr/bin/env bats
# The clock of the database is wrong by minutes, those of the KDC and of rota-credd are right: no job starts with a dead ticket,
# and the error is reported. rota-credential and clocks: credential_kind.

load helper
load kdc

setup_file() {
	SITE=$(mktemp -d "${TMPDIR:-/tmp}/rota-clock.XXXXXX")
	export SITE
	chmod 0755 "$SITE"
	kdc_up
	instance_up 1 --cpus 4 --mem 2000 --set node.grace=1 --set credentials.keys="$SITE/keys" --set credentials.period=1
}

teardown_file() {
	[ -n "${SITE:-}" ] || return 0
	local status=0
	instance_down || status=1
	kdc_down
	rm -rf -- "$SITE"
	return "$status"
}

# database_clock SECONDS: restart PostgreSQL with a clock that is ahead by so many seconds, and wait until all daemons have
# connected.
database_clock() {
	local as=()
	[ "$EUID" != 0 ] || as=(setpriv --reuid rota --regid "$(id -g rota)" --init-groups)
	rota down >/dev/null
	(cd / && "${as[@]}" env "LD_PRELOAD=$(find /usr/lib -name libfaketimeMT.so.1 -print -quit)" "FAKETIME=$1" FAKETIME_DONT_FAKE_MONOTONIC=1 \
		"$(pg_config --bindir)/pg_ctl" -D "$ROTA_HOME/pg/data" -l /dev/null -w start >/dev/null 3>&-)
	rota up >/dev/null
	[ "$(superuser "select abs(extract(epoch from now()) - $(date +%s) - ($1)) < 60")" = t ]
}

# submit [OPTION]...: submit a job that uses its ticket at the KDC.
submit() {
	printf '#!/bin/bash\nkvno host/localhost\n' >"$BATS_TEST_TMPDIR/job.sh"
	cd "$BATS_TEST_TMPDIR" && rota submit --parsable --output="$BATS_TEST_TMPDIR/%j.out" --cred=krb5 "$@" job.sh
}

held_because() { # JOB TEXT
	[[ $(rota why "$1") == *"$2"* ]]
}

@test "the database is five minutes behind: a ticket that has expired starts nothing, a new one is refused, and both say what to do" {
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 20s
	rota cred add krb5 "$BATS_TEST_TMPDIR/cache"
	job=$(submit --hold)
	database_clock -300
	ticket_is_over() { ! klist -s -c "FILE:$BATS_TEST_TMPDIR/cache"; }
	eventually ticket_is_over
	[ "$(superuser "select expires_at > now() from rota.credential")" = t ]
	rota release "$job"
	eventually held_because "$job" "set both by NTP"
	[ ! -e "$BATS_TEST_TMPDIR/$job.out" ]
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 10m
	run -1 rota cred add krb5 "$BATS_TEST_TMPDIR/cache"
	[[ $output == *"the clock of the database is behind that of the KDC: set both by NTP"* ]]
	# The clock is right again.
	database_clock +0
	rota cred add krb5 "$BATS_TEST_TMPDIR/cache"
	rota wait --timeout=300 "$job"
	grep -q 'kvno = ' "$BATS_TEST_TMPDIR/$job.out"
}

@test "the database is five minutes ahead: a ticket counts as expired too early, and what to do is said" {
	database_clock +0
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 2m
	rota cred add krb5 "$BATS_TEST_TMPDIR/cache"
	database_clock +300
	job=$(submit)
	held_because "$job" "credential krb5: it expired at"
	run -1 rota cred add krb5 "$BATS_TEST_TMPDIR/cache"
	[[ $output == *"by the clock of the database, and not by that of the host of rota-credd: set both by NTP"* ]]
	ticket alice "$BATS_TEST_TMPDIR/cache" -l 20m
	rota cred add krb5 "$BATS_TEST_TMPDIR/cache"
	rota wait --timeout=300 "$job"
	grep -q 'kvno = ' "$BATS_TEST_TMPDIR/$job.out"
}
