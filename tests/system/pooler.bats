#!/usr/bin/env bats
# PgBouncer before the database: in session mode all daemons work through it; in transaction mode, which gives each transaction another
# session, daemons refuse it, and say so.

load helper
load standby

setup_file() {
	instance_up 2
}

setup() {
	standby_setup
	POOL=$ROTA_TEST_DIR/pool
	POOLER=
	DAEMON=
}

teardown() {
	[ -z "$DAEMON" ] || kill_now "$DAEMON"
	[ -z "$POOLER" ] || kill_now "$POOLER"
}

teardown_file() {
	instance_down
}

# pooler MODE [SETTING]: PgBouncer before the instance's server, with its socket in POOL.
pooler() {
	rm -rf "$POOL"
	mkdir "$POOL"
	[ "$EUID" != 0 ] || chown rota: "$POOL"
	cat >"$POOL/ini" <<-END
		[databases]
		rota = host=$ROTA_HOME/run dbname=rota
		[pgbouncer]
		listen_addr =
		unix_socket_dir = $POOL
		auth_type = trust
		auth_file = $POOL/users
		pool_mode = $1
		stats_users = postgres
		ignore_startup_parameters = extra_float_digits
		${2:-}
	END
	superuser "select format('\"%s\" \"\"', rolname) from pg_roles where rolcanlogin and rolname !~ '^rota_node_'" >"$POOL/users"
	awk -F : '{printf "\"%s\" \"%s\"\n", $4, $5}' "$ROTA_HOME/keys/node.pass" >>"$POOL/users"
	(cd / && exec "${run_as[@]}" pgbouncer "$POOL/ini") >"$POOL/log" 2>&1 3>&- &
	POOLER=$!
	listens() { psql -X -h "$POOL" -p 6432 -U postgres -d pgbouncer -c 'show version' >/dev/null 2>&1; }
	eventually listens
}

says() {
	grep -q -- "$1" "$POOL/nodemgrd.log"
}

# daemon_start [PARAMETER]: a nodemgrd that connects through the pooler.
daemon_start() {
	sed "s|^conninfo.*|conninfo = host=$POOL port=6432 dbname=rota ${1:-}|" "$ROTA_HOME/etc/rota.conf" >"$POOL/rota.conf"
	(cd / && exec "${run_as[@]}" "$ROTA_BIN/nodemgrd" --config "$POOL/rota.conf" --name pooled) >"$POOL/nodemgrd.log" 2>&1 3>&- &
	DAEMON=$!
}

# logs: prints the errors in the logs.
logs() {
	cat "$POOL/nodemgrd.log" "$POOL/log"
	false
}

registered() {
	[ "$(superuser "select count(*) from rota.daemon where name = 'pooled'")" = 1 ]
}

# refuses MODE [SETTING]: a daemon refuses this pooler.
refuses() {
	pooler "$@"
	[ "$(psql -X -h "$POOL" -p 6432 -U rota_nodemgr -d rota -Atc 'select 1')" = 1 ]
	daemon_start
	eventually says "is behind a pooler in transaction mode, which gives each transaction another session: set pool_mode = session" || logs
	run ! says "connected"
	run ! registered
}

@test "a daemon refuses a pooler in transaction mode, and names it" {
	refuses transaction
}

@test "also where the pooler takes turns among several sessions" {
	refuses transaction "server_round_robin = 1
		min_pool_size = 5"
}

@test "a daemon that finds the pool full says so, and connects when it is not" {
	pooler session "default_pool_size = 1"
	daemon_start connect_timeout=1
	eventually says "gave no second connection within" || logs
	sed -i "s/^default_pool_size.*/default_pool_size = 2/" "$POOL/ini"
	kill -HUP "$POOLER"
	eventually registered || logs
}

@test "in session mode, all daemons work through a pooler" {
	pooler session
	daemons_follow "host=$POOL port=6432 dbname=rota target_session_attrs=read-write"
	serves() { rota queue >/dev/null 2>&1; }
	eventually serves
	job=$(cd /tmp && rota submit --parsable --output=/dev/null --wrap true)
	rota wait --timeout=300 "$job"
	[ "$(rota show --json "$job" | jq -r '.jobs[0].state')" = completed ]
	# Of each connection the pooler has a session of the server.
	pools() { psql -X -h "$POOL" -p 6432 -U postgres -d pgbouncer -Atc 'show pools' | awk -F '|' '$1 == "rota" && $3 > 0 && $3 == $7 {print $2}' | sort | xargs; }
	pooled() { [ "$(pools)" = "rota_jobmgr rota_jobmgr_admin rota_jobmgr_leader rota_node_n1 rota_node_n2 rota_nodemgr" ]; }
	eventually pooled || { pools; false; }
	daemons_follow "host=$ROTA_HOME/run dbname=rota target_session_attrs=read-write"
	eventually serves
	audit
}
