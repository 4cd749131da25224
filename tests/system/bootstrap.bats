#!/usr/bin/env bats
# bin/bootstrap on a system that lacks packages. Programs of this file stand for those of the system, so nothing is installed.

load helper

teardown() {
	rm -rf -- "${FAKE:?}"
}

# Programs in place of those that bin/bootstrap calls: sudo works below $FAKE, and apt-get records what it finds there.
fake_system() {
	FAKE=$(mktemp -d "${TMPDIR:-/tmp}/rota-test.XXXXXX")
	mkdir -p "$FAKE/bin" "$FAKE/tmp"
	cat >"$FAKE/bin/sudo" <<-'END'
		#!/bin/bash
		exec "${@/#\/etc\//$FAKE/etc/}"
	END
	cat >"$FAKE/bin/dpkg-query" <<-'END'
		#!/bin/bash
		[[ " $MISSING " == *" ${*: -1} "* ]] || printf installed
	END
	cat >"$FAKE/bin/apt-get" <<-'END'
		#!/bin/bash
		[[ $* == update ]] || echo "$* | $(cat "$FAKE"/etc/postgresql-common/createcluster.d/*.conf 2>&1)" >>"$FAKE/apt"
		[[ $* == update || -z $BROKEN ]]
	END
	printf '#!/bin/sh\n' >"$FAKE/bin/getent"
	chmod +x "$FAKE"/bin/*
	[ "$EUID" != 0 ] || chown -R games "$FAKE"
}

# fake_bootstrap MISSING [BROKEN]: bin/bootstrap as an ordinary user of that system.
fake_bootstrap() {
	local user=()
	[ "$EUID" != 0 ] || user=(setpriv --reuid games --regid games --clear-groups)
	cp "$ROTA_SOURCE/bin/bootstrap" "$FAKE/bootstrap"
	rm -f "$FAKE/apt"
	run "${user[@]}" env PATH="$FAKE/bin:$PATH" FAKE="$FAKE" TMPDIR="$FAKE/tmp" MISSING="$1" BROKEN="${2:-}" bash "$FAKE/bootstrap"
	echo "$output"
}

@test "bootstrap keeps Debian's package of PostgreSQL from making a cluster, and only while it installs" {
	fake_system
	fake_bootstrap "postgresql munge"
	[ "$status" = 0 ]
	[[ $(cat "$FAKE/apt") == *"install "*" postgresql munge | create_main_cluster = false" ]]
	[[ $output == *"Debian's own PostgreSQL cluster was not made"* ]]
	[ ! -e "$FAKE/etc/postgresql-common/createcluster.d" ]
	# A file that the machine has already stays.
	mkdir -p "$FAKE/etc/postgresql-common/createcluster.d"
	echo "ssl = on" >"$FAKE/etc/postgresql-common/createcluster.d/local.conf"
	[ "$EUID" != 0 ] || chown -R games "$FAKE/etc"
	fake_bootstrap munge
	[[ $(cat "$FAKE/apt") == *" munge | ssl = on" && $output != *cluster* ]]
	# The same after a failure of apt-get.
	fake_bootstrap postgresql broken
	[ "$status" = 1 ]
	[[ $(cat "$FAKE/apt") == *" postgresql | "*"create_main_cluster = false" ]]
	[ "$(ls "$FAKE/etc/postgresql-common/createcluster.d")" = local.conf ]
	fake_bootstrap ""
	[ "$status" = 0 ] && [ -z "$output" ] && [ ! -e "$FAKE/apt" ]
}
