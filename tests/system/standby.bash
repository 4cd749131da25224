# standby.bash - a second PostgreSQL beside that of an instance, which follows it and can be promoted. A file of tests does `load standby`
# and calls standby_setup after instance_up, and standby_down before instance_down.

standby_setup() {
	run_as=()
	[ "$EUID" != 0 ] || run_as=(setpriv --reuid rota --regid "$(id -g rota)" --init-groups)
	SOCKETS=$ROTA_HOME/run
}

standby_down() {
	if [ -s "$ROTA_TEST_DIR/standby/postmaster.pid" ]; then
		standby -m immediate stop
	fi
}

# sql TEXT: run it on whichever server of SOCKETS is the primary.
sql() {
	psql -X -d "host=$SOCKETS dbname=rota user=postgres target_session_attrs=primary" -v ON_ERROR_STOP=1 -Atqc "$1"
}

# server_ctl DATA ARGUMENT...: run pg_ctl for the server with this data folder.
server_ctl() {
	(cd / && "${run_as[@]}" "$(pg_config --bindir)/pg_ctl" -D "$1" -l "$1/log" -w "${@:2}" >/dev/null 3>&-)
}

# standby start|stop|promote: the second server. primary start|stop: the instance's own server, whose daemons live on.
standby() {
	server_ctl "$ROTA_TEST_DIR/standby" "$@"
}

primary() {
	server_ctl "$ROTA_HOME/pg/data" "$@"
}

# Make a second server, which follows the instance's own one and confirms each commit.
standby_start() {
	local bin data=$ROTA_TEST_DIR/standby
	bin=$(pg_config --bindir)
	mkdir "$data" "$ROTA_TEST_DIR/b"
	[ "$EUID" != 0 ] || chown rota: "$data" "$ROTA_TEST_DIR/b"
	chmod 0700 "$data"
	echo "local replication postgres peer map=rota" >>"$ROTA_HOME/pg/data/pg_hba.conf"
	sql "select pg_reload_conf()"
	(cd / && "${run_as[@]}" "$bin/pg_basebackup" -D "$data" -R -c fast -d "host=$ROTA_HOME/run user=postgres application_name=b")
	printf "unix_socket_directories = '%s'\ncluster_name = 'b'\n" "$ROTA_TEST_DIR/b" | "${run_as[@]}" tee -a "$data/postgresql.conf" >/dev/null
	standby start
	sql "alter system set synchronous_standby_names = 'b'"
	sql "select pg_reload_conf()"
	eventually in_step
}

in_step() {
	[ "$(sql "select sync_state from pg_stat_replication where application_name = 'b'")" = sync ]
}

# follow_both [OPTION OF rota up]...: the standby is the second host of the connection strings of all daemons.
follow_both() {
	SOCKETS=$ROTA_HOME/run,$ROTA_TEST_DIR/b
	daemons_follow "host=$SOCKETS dbname=rota target_session_attrs=read-write" "$@"
}

# daemons_follow CONNINFO [OPTION OF rota up]...: start all daemons again, with this connection string.
daemons_follow() {
	local ended
	rota up --set database.conninfo="$1" "${@:2}" >/dev/null
	ended=("$(pid_of jobmgrd)" "$(pid_of nodemgrd)" "$(pid_of procmgrd n1)" "$(pid_of procmgrd n2)")
	kill "${ended[@]}"
	eventually are_dead "${ended[@]}"
	rota up >/dev/null
}
