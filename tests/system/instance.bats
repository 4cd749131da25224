#!/usr/bin/env bats
# Private instances: `rota up` makes and repairs them, `rota down` leaves no process. Every test has its own instance; where
# the test is about making it, everything is made anew.

ROTA_TEST_CLIENT=sanitizers
load helper

setup() {
	write '#!/bin/bash
id -un; pwd'
}

teardown() {
	instance_down
}

write() {
	mkdir -p "$BATS_TEST_TMPDIR"
	printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/job.sh"
}

# run_job [OPTION]...: submit job.sh, wait, exit with its status.
run_job() {
	(cd /tmp && rota submit --wait --parsable --output="$ROTA_TEST_DIR/out" "$@" "$BATS_TEST_TMPDIR/job.sh")
}

# instance_up without the prepared cluster.
instance_new() {
	ROTA_TEST_CLUSTER='' instance_up "$@"
	grep -q "making a PostgreSQL cluster" "$ROTA_TEST_DIR/up.log"
}

owner_of() {
	stat -c %U "/proc/$1"
}

@test "as root, only launchers run as root" {
	need_root
	instance_new 1
	for role in jobmgrd nodemgrd procmgrd munged PostgreSQL; do
		[ "$(owner_of "$(pid_of "$role")")" = rota ]
	done
	[ "$(owner_of "$(pid_of launcher)")" = root ]
	# The daemons' account cannot change files that root reads or executes.
	for path in "$ROTA_HOME" "$ROTA_HOME/etc" "$ROTA_HOME/etc/rota.conf" "$ROTA_HOME/log" "$ROTA_HOME/node"; do
		[ "$(stat -c %U "$path")" = root ]
	done
	[ "$(stat -c %a "$ROTA_HOME/keys")" = 700 ]
	[ "$(stat -c %a "$ROTA_HOME/etc/munge.key")" = 400 ]
}

@test "as an ordinary user, everything runs as that user" {
	need_root
	ROTA_TEST_DIR=$(mktemp -d "${TMPDIR:-/tmp}/rota-test.XXXXXX")
	export ROTA_TEST_DIR ROTA_HOME=$ROTA_TEST_DIR/home
	chown games "$ROTA_TEST_DIR"
	chmod 0700 "$ROTA_TEST_DIR"
	as games rota up --quiet
	install -o games -m 0755 "$BATS_TEST_TMPDIR/job.sh" "$ROTA_TEST_DIR/job.sh"
	run -0 as games sh -c 'cd $ROTA_TEST_DIR && rota submit --wait --output=out job.sh && cat out'
	[ "${lines[-2]}" = games ]
	# Its launchers cannot run jobs of others, so none is accepted.
	refused "runs jobs of uid $(id -u games) only" rota submit "$ROTA_TEST_DIR/job.sh"
	run -0 as games rota sql -Atc 'select count(*) from acct.job'
	[ "$output" = 1 ]
	run -0 as games rota admin partition create other
	run -0 as games rota sql -Atc 'select current_user'
	[ "$output" = rota_admin ]
	for pid in $(instance_processes | awk '{ print $1 }'); do
		# A process may have ended since it was listed.
		owner=$(owner_of "$pid") || [ ! -e "/proc/$pid" ]
		[ "${owner:-games}" = games ]
	done
	# No other user, not even root, can end the instance or take it over.
	run -1 rota down
	[[ $output == *'as "games"'* ]]
	run -1 rota up
	run -0 as games rota down
	[ -z "$(instance_processes)" ]
	rm -rf "$ROTA_TEST_DIR"
	unset ROTA_TEST_DIR
}

@test "another user submits to root's instance and runs as that user, and cannot end it" {
	need_root
	instance_up 1
	chmod 1777 "$ROTA_TEST_DIR"
	chmod 0755 "$BATS_TEST_TMPDIR"
	cp "$BATS_TEST_TMPDIR/job.sh" "$ROTA_TEST_DIR/"
	run -0 as games sh -c 'cd "$ROTA_TEST_DIR" && rota submit --wait --output=games.out job.sh'
	[ "$(head -n 1 "$ROTA_TEST_DIR/games.out")" = games ]
	[ "$(stat -c %U "$ROTA_TEST_DIR/games.out")" = games ]
	run -1 as games rota down
	run -0 rota ping 2>/dev/null || run -0 rota nodes
	run -1 as games rota admin partition create mine
	[[ $output == *"may not"* ]]
}

@test "rota up starts dead daemons and leaves running ones alone" {
	instance_up 1
	run_job
	kill -9 "$(pid_of jobmgrd)"
	eventually sh -c '! rota nodes 2>/dev/null'
	run -0 rota up
	[[ $output == *"jobmgrd started"* && $output == *"PostgreSQL runs"* && $output == *"munged runs"* ]]
	run_job
	kill_now "$(cat "$ROTA_HOME/run/munged.pid")" "$(pid_of launcher)"
	run -0 rota up
	[[ $output == *"munged started"* && $output == *"node n1 started"* && $output == *"jobmgrd runs"* ]]
	run_job
	kill -QUIT "$(head -n 1 "$ROTA_HOME/pg/data/postmaster.pid")"
	eventually sh -c '! rota nodes 2>/dev/null'
	run -0 rota up
	[[ $output == *"PostgreSQL started"* ]]
	run_job
}

# Start a process of the instance's account that does not belong to it; its pid is in $foreign.
foreign_start() {
	local as=()
	[ "$EUID" != 0 ] || as=(setpriv --reuid rota --regid rota --clear-groups)
	"${as[@]}" sleep 600 3>&- &
	foreign=$!
}

@test "after a reboot or a restore, rota up starts dead daemons, also if a pid file or a lock file names a living process" {
	instance_up 1
	foreign_start
	run_job
	postmaster=$(head -n 1 "$ROTA_HOME/pg/data/postmaster.pid")
	kill_now "$(pid_of launcher)" "$(pid_of jobmgrd)" "$(pid_of nodemgrd)" "$(pid_of munged)" "$postmaster"
	# The server's children notice its end by themselves.
	nobody_left() { [ -z "$(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$ROTA_HOME/pg/data" 2>/dev/null)" ]; }
	eventually nobody_left
	for file in "$ROTA_HOME/pg/data/postmaster.pid" "$ROTA_HOME/run/.s.PGSQL.5432.lock"; do
		[ -e "$file" ]
		sed -i "1s/.*/$foreign/" "$file"
	done
	for file in "$ROTA_HOME"/run/*.pid "$ROTA_HOME"/node/n1/launcher.pid; do
		echo "$foreign 0.1.0" >"$file"
	done
	run -0 rota up
	[[ $output == *"munged started"* && $output == *"PostgreSQL started"* && $output == *"jobmgrd started"* ]]
	[[ $output == *"nodemgrd started"* && $output == *"node n1 started"* ]]
	run_job
	# pid files after a power cut: empty, and half a line. A process that only has the cluster as its working directory is no
	# server.
	for content in '' "$foreign"; do
		rota down --quiet
		printf %s "$content" >"$ROTA_HOME/pg/data/postmaster.pid"
		printf %s "$content" >"$ROTA_HOME/run/.s.PGSQL.5432.lock"
		(cd "$ROTA_HOME/pg/data" && exec sleep 600 3>&-) &
		inside=$!
		eventually [ "/proc/$inside/cwd" -ef "$ROTA_HOME/pg/data" ]
		run -0 rota up
		kill "$inside"
		[[ $output == *"PostgreSQL started"* ]]
	done
	run_job
	# A running server is found and ended, whatever the pid file contains.
	postmaster=$(head -n 1 "$ROTA_HOME/pg/data/postmaster.pid")
	sed -i "1s/.*/$foreign/" "$ROTA_HOME/pg/data/postmaster.pid"
	[ "$(pid_of PostgreSQL)" = "$postmaster" ]
	run -0 rota up
	[[ $output == *"PostgreSQL runs (pid $postmaster)"* ]]
	run -0 rota down
	[ -z "$(instance_processes)" ]
	kill -0 "$foreign"
	kill "$foreign"
}

@test "a daemon that was killed, but has not ended yet, is started again" {
	need_root
	local freezer=/sys/fs/cgroup/freezer group old up
	[ -d "$freezer" ] || skip "needs a freezer that keeps killed processes (control groups of version 1)"
	instance_up 1
	old=$(pid_of nodemgrd)
	group=$(mktemp -d "$freezer/rota-test.XXXXXX")
	echo "$old" >"$group/cgroup.procs"
	echo FROZEN >"$group/freezer.state"
	eventually grep -qx FROZEN "$group/freezer.state"
	kill -KILL "$old"
	rota up >"$BATS_TEST_TMPDIR/said" 2>&1 3>&- &
	up=$!
	eventually grep -q "nodemgrd runs (pid $old)" "$BATS_TEST_TMPDIR/said"
	echo THAWED >"$group/freezer.state"
	wait "$up"
	eventually rmdir "$group"
	[ "$(pid_of nodemgrd)" != "$old" ]
	[ -n "$(pid_of nodemgrd)" ]
	grep -q "nodemgrd started" "$BATS_TEST_TMPDIR/said"
}

@test "munged or jobmgrd that dies just after it was seen is started" {
	instance_up 1
	for part in munged jobmgrd; do
		pid=$(pid_of $part)
		kill -STOP "$pid"
		rota up >"$ROTA_TEST_DIR/$part.log" 2>&1 3>&- &
		up=$!
		eventually grep -q "$part runs (pid $pid)" "$ROTA_TEST_DIR/$part.log"
		kill -9 "$pid"
		wait "$up" && up=0 || up=$?
		cat "$ROTA_TEST_DIR/$part.log"
		[ "$up" = 0 ]
		grep -q "$part has ended (pid $pid)" "$ROTA_TEST_DIR/$part.log"
		grep -q "$part started" "$ROTA_TEST_DIR/$part.log"
		run_job
	done
}

@test "a home or programs that the account cannot reach are refused before anything is made" {
	need_root
	ROTA_TEST_DIR=$(mktemp -d "${TMPDIR:-/tmp}/rota-test.XXXXXX")
	export ROTA_HOME=$ROTA_TEST_DIR/home/of/it
	run -1 rota up --quiet
	[[ ${lines[0]} == *"the account \"rota\" cannot enter \"$ROTA_TEST_DIR\" (mode 0700)"* ]]
	[[ ${lines[1]} == *ROTA_HOME* ]]
	[ -z "$(ls -A "$ROTA_TEST_DIR")" ]
	mkdir -m 0755 "$ROTA_TEST_DIR/open"
	mkdir -m 0750 "$ROTA_TEST_DIR/open/closed"
	chmod 0755 "$ROTA_TEST_DIR"
	ln -s "$ROTA_TEST_DIR/open/closed" "$ROTA_TEST_DIR/link"
	ROTA_HOME=$ROTA_TEST_DIR/link/x run -1 rota up --quiet
	[[ ${lines[0]} == *"the account \"rota\" cannot enter \"$ROTA_TEST_DIR/link\" (mode 0750)"* ]]
	# The programs.
	cp "$ROTA_BIN"/{rota,rota-whole,jobmgrd,nodemgrd,runnerd,procmgrd,rota-launcher} "$ROTA_TEST_DIR/open/closed/"
	run -1 "$ROTA_TEST_DIR/open/closed/rota" up --quiet
	[[ ${lines[0]} == *"the account \"rota\" cannot enter \"$ROTA_TEST_DIR/open/closed\" (mode 0750)"* ]]
	[[ ${lines[1]} == *"The programs are there"* ]]
	[ ! -e "$ROTA_TEST_DIR/home" ]
	rm -rf "$ROTA_TEST_DIR"
	unset ROTA_TEST_DIR
}

@test "down and up again: jobs stay, and numbers go on" {
	instance_up 1
	first=$(run_job)
	run -0 rota up --set node.grace=3
	[[ $output == *"read them at their next start"* ]]
	run -0 rota down
	[ -z "$(instance_processes)" ]
	run -0 rota down
	run -0 rota up --set node.grace=2
	[[ $output != *"next start"* ]]
	[ "$(rota acct -n -P -o state "$first")" = completed ]
	[ "$(run_job)" -gt "$first" ]
}

@test "down ends running steps and all their processes" {
	instance_up 1 --set node.grace=1
	write "#!/bin/bash
trap '' TERM
setsid sleep 86399.$$ &
(sleep 86398.$$ & exec sleep 86397.$$) &
echo started; wait"
	job=$(cd /tmp && rota submit --parsable --output="$ROTA_TEST_DIR/out" "$BATS_TEST_TMPDIR/job.sh")
	eventually grep -q started "$ROTA_TEST_DIR/out"
	run -0 rota down
	[ -z "$(instance_processes)" ]
	run ! pgrep -f "sleep 8639[789]\.$$"
	run -0 rota up
	# The step runs again two seconds later, so its state may already be the next attempt's.
	ended() { [ "$(superuser "select cause from rota.attempt where job_id = $job and attempt = 1 and ended_at is not null")" = shutdown ]; }
	eventually ended
}

@test "down ends the steps of a node whose launcher is dead" {
	instance_up 1 --set node.grace=1
	write "#!/bin/bash
echo started; sleep 86396.$$"
	(cd /tmp && rota submit --parsable --output="$ROTA_TEST_DIR/out" "$BATS_TEST_TMPDIR/job.sh")
	eventually grep -q started "$ROTA_TEST_DIR/out"
	kill -9 "$(pid_of launcher)"
	run -0 rota down
	[ -z "$(instance_processes)" ]
	run ! pgrep -f "sleep 86396\.$$"
}

@test "two instances side by side do not affect each other" {
	instance_new 1
	first=$ROTA_HOME
	run_job
	export ROTA_HOME=$ROTA_TEST_DIR/second
	rota up --quiet
	[ "$(rota queue -a --json | jq '.jobs | length')" = 0 ]
	run_job
	rota down --purge --yes --quiet
	[ ! -e "$ROTA_HOME" ]
	export ROTA_HOME=$first
	run_job
}

@test "a node that is created after its daemons started comes up" {
	# Leases are long, so the lease is not renewed meanwhile.
	instance_up 1 --set node.lease=3600
	node=$(rota nodes --json | jq -r '.nodes[0].name')
	manager=$(pid_of procmgrd)
	# The login of a deleted node is closed to the process manager that starts next.
	rota admin node delete "$node"
	kill "$manager"
	eventually grep -q "password authentication failed for user \"rota_node_$node\"" "$ROTA_HOME"/log/*.log
	rota admin node create "$node" --cpus=1 --mem=100M
	rota admin node enroll "$node"
	comes_up() { [ "$(superuser "select state from rota.node where name = '$node'")" = up ]; }
	eventually comes_up
}

@test "settings: given at the start, changed later, refused when they are none" {
	instance_up 1 --name clusterous --set node.grace=7
	grep -qx 'grace = 7' "$ROTA_HOME/etc/rota.conf"
	write '#!/bin/bash
echo $ROTA_CLUSTER'
	run_job
	[ "$(cat "$ROTA_TEST_DIR/out")" = clusterous ]
	run -1 rota up --set node.gracce=1
	[[ $output == *'"node.gracce"'* ]]
	run -1 rota up --set node.grace=-1
	run -1 rota up --set node.cgroup=on
	[[ $output == *'"node.cgroup" must be one of auto, off, not "on"'* ]]
	run -2 rota up --set node.grace
	run -0 rota up --set node.grace=9
	grep -qx 'grace = 9' "$ROTA_HOME/etc/rota.conf"
	grep -qx 'name = clusterous' "$ROTA_HOME/etc/rota.conf"
}

@test "more nodes later get the sizes that were asked for" {
	instance_up 1 --cpus 3 --mem 512
	[ "$(rota nodes --json | jq -c '.nodes[0] | [.cpus, .mem_mb]')" = "[3,512]" ]
	run -0 rota up --nodes 3 --cpus 2 --mem 1G
	[ "$(rota nodes --json | jq -c '[.nodes[] | [.name, .cpus, .mem_mb, .state]]')" = '[["n1",2,1024,"up"],["n2",2,1024,"up"],["n3",2,1024,"up"]]' ]
}

@test "PostgreSQL takes a connection of each node, and the passwords of the file" {
	password() { PGPASSFILE=$ROTA_HOME/keys/node.pass psql -Xw -h "$ROTA_HOME/run" -d rota -U rota_node_n1 -Atc "select 1"; }
	instance_up 1 --cpus 1 --mem 512
	before=$(grep n1 "$ROTA_HOME/keys/node.pass")
	superuser "alter system set max_connections = 60"
	rota down
	run -0 rota up
	[[ $output == *"PostgreSQL starts again, to take 61 connections"* ]]
	[ "$(grep n1 "$ROTA_HOME/keys/node.pass")" = "$before" ]
	password
	# A password that the database does not take is replaced; the daemons that run connect again.
	sed -i 's/\(rota_node_n1:\).*/\1lost/' "$ROTA_HOME/keys/node.pass"
	run ! password
	run -0 rota up --nodes 2 --cpus 1 --mem 512
	[[ $output == *"to take 62 connections"* ]]
	password
	[ "$(superuser "show max_connections")" = 62 ]
	run_job --nodes=2
	# A max_connections that is higher than needed stays.
	superuser "alter system set max_connections = 90"
	rota down
	run -0 rota up
	[[ $output != *"connections"* ]]
}

@test "a home that is too long for sockets is refused, and nothing is left" {
	home=/tmp/$(printf 'x%.0s' {1..100})
	ROTA_HOME=$home run -1 rota up
	[[ $output == *"too long for a socket"* ]]
	[ ! -e "$home" ]
	ROTA_HOME=relative run -1 rota up
}

@test "a home with quotes and spaces in it works; one at which PostgreSQL would cut is refused" {
	ROTA_TEST_DIR=$(mktemp -d "${TMPDIR:-/tmp}/rota-test.XXXXXX")
	chmod 0755 "$ROTA_TEST_DIR"
	ROTA_HOME="$ROTA_TEST_DIR/a,b" run -1 rota up
	[[ $output == *"has a comma"* ]]
	[ ! -e "$ROTA_TEST_DIR/a,b" ]
	export ROTA_HOME="$ROTA_TEST_DIR/it's a \"home\""
	run -0 rota up --nodes 1 --cpus 1 --mem 500
	run -0 run_job
	run -0 rota sql -Atc 'select 1'
}

@test "an account that does not exist is refused with the next step" {
	need_root
	ROTA_HOME=/tmp/rota-none run -1 rota up --account nosuchaccount
	[[ $output == *bootstrap* ]]
	ROTA_HOME=/tmp/rota-none run -1 rota up --account root
	[ ! -e /tmp/rota-none ]
}

@test "a half-made cluster is made anew" {
	instance_up 1
	rota down --quiet
	mv "$ROTA_HOME/pg/data" "$ROTA_HOME/pg/data.new"
	rm "$ROTA_HOME/pg/data.new/global/pg_control"
	run -0 rota up
	[[ $output == *"making a PostgreSQL cluster"* ]]
	run_job
}

@test "the reason why the API does not start is shown" {
	instance_up 1
	rota down --quiet
	run -1 rota up --set gate.socket=/nonexistent/gate.sock
	[[ $output == *"the end of $ROTA_HOME/log/jobmgrd.log"* && $output == *"/nonexistent/gate.sock"* ]]
	run -0 rota up --set gate.socket="$ROTA_HOME/run/gate.sock"
	echo garbage >"$ROTA_HOME/keys/sign.key"
	run -1 rota up
	[[ $output == *"sign.key"* ]]
}

@test "purge asks first" {
	instance_up 1
	run -1 rota down --purge </dev/null
	[[ $output == *"--yes"* ]]
	[ -d "$ROTA_HOME/pg" ]
	rota nodes
}

@test "down waits for the end of a process, not only for that of its lock" {
	instance_up 1
	local pid tracer
	pid=$(pid_of munged)
	# munged releases its lock, and only then writes its seed file.
	strace -f -qq -p "$pid" -o /dev/null --inject=unlink:delay_exit=500000 3>&- &
	tracer=$!
	eventually grep -q '^TracerPid:.[1-9]' "/proc/$pid/status"
	[ ! -e "$ROTA_HOME/run/munged.seed" ]
	run -0 rota down
	[ -s "$ROTA_HOME/run/munged.seed" ]
	[ ! -e "$ROTA_HOME/run/munged.pid" ]
	wait "$tracer"
	run -0 rota down --purge --yes
	[ ! -e "$ROTA_HOME" ]
}

@test "db upgrade: nothing to do, a newer database, an edited migration, all or nothing" {
	instance_up 1
	run -0 rota admin db upgrade
	[[ $output == "nothing to do"* ]]
	admin() {
		psql -h "$ROTA_HOME/run" -U postgres -d rota -qAtc "$1"
	}
	admin "update rota.schema_api set sha256 = 'x'"
	run -0 rota admin db upgrade --json
	[ "$(jq -c '[.migrations, .files > 0]' <<<"$output")" = "[0,true]" ]
	admin "update rota.schema_migration set sha256 = 'x' where version = 1"
	run -1 rota admin db upgrade
	[[ $output == *"differs"* ]]
	admin "insert into rota.schema_migration (version, name, sha256) values (9999, '9999_future.sql', 'x')"
	admin "update rota.schema_migration set sha256 = 'x' where version = 1"
	admin "delete from rota.schema_migration where version = 1"
	run -1 rota admin db upgrade
	[[ $output == *"9999_future.sql"* || $output == *"newer"* ]]
	# A refused command changes nothing.
	[ "$(admin "select count(*) from rota.schema_migration where version = 1")" = 0 ]
	rota nodes
	run -1 rota admin db upgrade --conninfo "host=/nowhere dbname=rota"
	[[ $output == *"the database cannot be reached"* ]]
}

@test "roles by peer: users can only connect as themselves" {
	need_root
	instance_new 1
	for role in postgres rota_owner rota_admin rota_jobmgr; do
		run as games psql -h "$ROTA_HOME/run" -U "$role" -d rota -c 'select 1'
		[ "$status" -ne 0 ]
		[[ $output == *"Peer authentication failed"* ]]
	done
	# An account that has a role's name by chance is not that role.
	run as postgres psql -h "$ROTA_HOME/run" -U postgres -d rota -c 'select 1'
	[ "$status" -ne 0 ]
	rota admin user create games --analyst=true
	run -0 as games rota sql -Atc 'select current_user'
	[ "$output" = games ]
}
