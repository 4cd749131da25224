#!/usr/bin/env bats
# Links to the database over TCP: only a server with a certificate of the authority gets a password. Another authority,
# another name, a server without TLS and a weaker configuration are refused, and programs say what to do.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	certificates server DNS:localhost
	# The port is always PostgreSQL's default: the instance has an address of its own.
	ADDRESS=127.$((RANDOM % 200 + 10)).$((RANDOM % 250)).$((RANDOM % 250 + 1))
	export ADDRESS
	printf '*:*:*:*:secret\n' >"$TLS/pgpass"
	chmod 600 "$TLS/pgpass"
	[ "$EUID" != 0 ] || chown rota "$TLS/pgpass"
	instance_up 1 --cpus 2 --mem 1000
	for role in rota_jobmgr rota_jobmgr_leader rota_jobmgr_admin rota_nodemgr rota_admin postgres; do
		superuser "alter role $role password 'secret'"
	done
	rota down >/dev/null
	cat >>"$ROTA_HOME/pg/data/postgresql.conf" <<-END
		listen_addresses = '$ADDRESS'
		ssl = on
		ssl_cert_file = '$TLS/server.pem'
		ssl_key_file = '$TLS/server.key'
	END
	echo 'host rota all 127.0.0.0/8 scram-sha-256' >>"$ROTA_HOME/pg/data/pg_hba.conf"
	rota up --set database.conninfo="$(conninfo authority)" >"$ROTA_TEST_DIR/up.log" 2>&1 || {
		cat "$ROTA_TEST_DIR/up.log" >&2
		instance_logs
		return 1
	}
}

teardown_file() {
	local status=0
	instance_down || status=1
	rm -rf -- "$TLS"
	return "$status"
}

# conninfo AUTHORITY [PARAMETER]...: prints a connection string of the server by TCP.
conninfo() {
	local authority=$1
	shift
	echo "host=localhost hostaddr=$ADDRESS dbname=rota passfile=$TLS/pgpass sslrootcert=$TLS/$authority.pem${*:+ $*}"
}

# configured CONNINFO [LINE]: write a configuration with this connection string to $TLS/rota.conf.
configured() {
	sed -E "s,^conninfo *=.*,conninfo = $1," "$ROTA_HOME/etc/rota.conf" >"$TLS/rota.conf"
	[ -z "${2:-}" ] || sed -i -E "s,^${2%% *} *=.*,$2," "$TLS/rota.conf"
	export ROTA_CONFIG=$TLS/rota.conf
}

# as_daemons COMMAND...: run it as the account of the daemons.
as_daemons() {
	if [ "$EUID" = 0 ]; then
		as rota "$@"
	else
		"$@"
	fi
}

teardown() {
	unset ROTA_CONFIG
	[ -z "${PROGRAM:-}" ] || kill "$PROGRAM" 2>/dev/null || true
}

# another_nodemgrd: start a nodemgrd with this configuration; it reports why it has no connection.
another_nodemgrd() {
	local as=() # an array, since a function would start a shell that waits for the daemon
	[ "$EUID" != 0 ] || as=(setpriv --reuid rota --regid "$(id -g rota)" --init-groups env HOME=/tmp)
	"${as[@]}" nodemgrd --config "$ROTA_CONFIG" --name other >"$TLS/nodemgrd.log" 2>&1 3>&- &
	PROGRAM=$!
}

one_node_session() {
	[ "$(superuser "select count(*) from pg_stat_activity where usename = 'rota_node_n1'")" = 1 ]
}

# daemon_sessions WHAT: prints this aggregate over the sessions of daemons.
daemon_sessions() {
	superuser "select $1 from pg_stat_activity a join pg_stat_ssl s on s.pid = a.pid where a.usename ~ '^rota_(jobmgr|node)'"
}

daemons_are_connected() {
	[ "$(daemon_sessions 'count(*) > 5')" = t ]
}

@test "the right authority: every daemon is connected by TLS, jobs run, rota sql answers" {
	# `rota up` waits for one session of jobmgrd; the others connect by themselves.
	eventually daemons_are_connected
	[ "$(daemon_sessions 'bool_and(s.ssl)')" = t ]
	# `rota up` has tried the login as well: PostgreSQL lists a session until its process has ended.
	eventually one_node_session
	printf '#!/bin/bash\n#ROTA --output=/dev/null\ntrue\n' >"$ROTA_TEST_DIR/true.sh"
	job=$(rota submit --parsable "$ROTA_TEST_DIR/true.sh")
	rota wait --timeout=300 "$job"
	[ "$(rota sql -Atc 'select ssl from pg_stat_ssl where pid = pg_backend_pid()')" = t ]
	[ "$(rota admin db upgrade --conninfo "$(conninfo authority user=postgres)")" = "nothing to do: the database is at $(superuser "select to_char(max(version), 'FM0000') from rota.schema_migration")" ]
	audit
}

@test "a server with a certificate of another authority, or of another name: refused" {
	configured "$(conninfo other)"
	refused "certificate verify failed" rota sql -Atc 'select 1'
	refused "certificate verify failed" rota admin db upgrade --conninfo "$(conninfo other user=postgres)"
	another_nodemgrd
	eventually grep -q "no connection to the database: .*certificate verify failed" "$TLS/nodemgrd.log"
	configured "$(conninfo authority | sed 's/localhost/elsewhere/')"
	refused 'does not match host name "elsewhere"' rota sql -Atc 'select 1'
}

# listener: a man in the middle without TLS, at the next address: refuses TLS, and records all bytes that it gets.
listener() {
	perl -MIO::Socket::INET -e '
		$| = 1;
		my $at = IO::Socket::INET->new(LocalAddr => $ARGV[0], LocalPort => 5432, Listen => 5, ReuseAddr => 1) or die "$@";
		print STDERR "ready\n";
		while (my $client = $at->accept) {
			while (sysread $client, my $bytes, 4096) { print $bytes; syswrite $client, "N" if length $bytes == 8 }
		}' "127.0.$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1))" >"$TLS/got" 2>"$TLS/ready" 3>&- &
	PROGRAM=$!
	eventually grep -q ready "$TLS/ready"
	LISTENER=$(ss -tlnpH | sed -nE "s/.* (127[0-9.]*):5432 .*pid=$PROGRAM,.*/\1/p")
	[ -n "$LISTENER" ]
}

@test "a man in the middle without TLS learns not even the name of the role" {
	listener
	configured "$(conninfo authority | sed "s/$ADDRESS/$LISTENER/")"
	refused "server does not support SSL, but SSL was required" rota sql -wAtc 'select 1'
	PGSSLMODE=disable refused "server does not support SSL, but SSL was required" rota sql -wAtc 'select 1'
	run ! grep -qa rota_admin "$TLS/got"
	# If an administrator allows unverified servers, the connection works, for the man in the middle too.
	configured "$(conninfo authority sslmode=prefer | sed "s/$ADDRESS/$LISTENER/")" "allow_unverified = yes"
	timeout 60 rota sql -wAtc 'select 1' 3>&- &
	eventually grep -qa rota_admin "$TLS/got"
	kill $!
	wait $! || true
}

@test "a weaker sslmode in the configuration: programs refuse to start and say what to do" {
	for mode in disable prefer require verify-ca; do
		configured "$(conninfo authority sslmode=$mode)"
		refused "database.conninfo: with sslmode=$mode, any machine in between could act as the database" rota sql -Atc 'select 1'
	done
	refused "database.allow_unverified = yes" rota admin db upgrade
	for program in jobmgrd nodemgrd runnerd; do
		refused "database.allow_unverified = yes" as_daemons "$program" --config "$ROTA_CONFIG" --name other
	done
	configured "$(conninfo authority sslmode=require)" "allow_unverified = yes"
	[ "$(rota sql -Atc 'select 1')" = 1 ]
}
