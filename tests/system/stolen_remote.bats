#!/usr/bin/env bats
# Root of a node has munge's key, so it can make credentials of everybody. Over HTTPS it gets no more than users' rights, and what it
# takes from clients of one jobmgrd is worth nothing at another one or on the Unix socket. Beside each attack, the legitimate use works.

load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	export EVE=rsre$$ ADA=rsra$$
	users_add "$EVE" "$ADA"
	certificates gate DNS:localhost,IP:127.0.0.1
	instance_up 1 --cpus 4 --mem 4000 --set gate.listen=127.0.0.1:0 --set gate.names=localhost --set "gate.certificate=$TLS/gate.pem" \
		--set "gate.private_key=$TLS/gate.key"
	https_client "$TLS/remote.conf" "$TLS/authority.pem"
	export GATE=$ROTA_HOME/run/gate.sock
	rota admin user create "$ADA" --role=admin
	folders_add "$EVE" "$ADA"
	printf '#!/bin/sh\n#ROTA --output=%%j.out\necho done\n' >"$ROTA_TEST_DIR/job.sh"
}

teardown_file() {
	[ "$EUID" = 0 ] || return 0
	local status=0
	instance_users_down "$EVE" "$ADA" || status=1
	rm -rf -- "$TLS"
	return "$status"
}

setup() {
	need_root
}

# remote USER COMMAND...: run it in the user's folder as a client of HTTPS.
remote() {
	local user=$1 folder=$ROTA_TEST_DIR/$1
	shift
	[ -d "$folder" ] || folder=$ROTA_TEST_DIR
	(cd "$folder" && ROTA_CONFIG=$TLS/remote.conf as "$user" "$@")
}

# get USER URL [CREDENTIAL]: that user's GET of /v1/queue, by URL "https" or "socket"; prints answer and status.
get() {
	local where=(--unix-socket "$GATE" http://gate/v1/queue)
	[ "$2" = socket ] || where=(--cacert "$TLS/authority.pem" "https://localhost:$PORT/v1/queue")
	as "$1" curl -sS -w ' [%{http_code}]' -H @- "${where[@]}" <<<"Authorization: Munge $3"
}

token() { # USER [OPTION]...: prints the user's credential for that request
	local user=$1
	shift
	as "$user" rota token "$@" GET /v1/queue
}

@test "root is refused over HTTPS, with the way out, and served on the Unix socket" {
	for verb in queue "admin user show root" "submit $ROTA_TEST_DIR/job.sh"; do
		refused "root is not served over HTTPS" remote root rota $verb
		[[ $output == *"hint: Run the command on a host of jobmgrd"* ]]
	done
	run get root https "$(token root --server=localhost)"
	[[ $output == *'"RT403"'*'[403]' ]]
	rota admin user show "$ADA"
	run get root socket "$(token root)"
	[[ $output == *'[200]' ]]
}

@test "an administrator over HTTPS is a user: submits, and administers nothing" {
	job=$(as "$EVE" rota submit --parsable --hold --output=/dev/null "$ROTA_TEST_DIR/job.sh")
	refused "" remote "$ADA" rota admin partition create stolen --nodes=n1
	refused "" remote "$ADA" rota admin user create "$EVE" --role=admin
	refused "" remote "$ADA" rota admin node drain n1 --reason=stolen
	refused "belongs to" remote "$ADA" rota cancel "$job"
	refused "belongs to" remote "$ADA" rota show --script "$job"
	[ "$(rota partitions --json | jq -c '[.partitions[].name]')" = '["main"]' ]
	[ "$(superuser "select role from rota.person where user_name = '$ADA'")" = admin ]
	[ "$(superuser "select count(*) from rota.person where user_name = '$EVE' and role <> 'user'")" = 0 ]
	[ "$(superuser "select state from rota.node")" = up ]
	mine=$(remote "$ADA" rota submit --parsable "$ROTA_TEST_DIR/job.sh")
	remote "$ADA" rota wait --timeout=300 "$mine"
	# The same on the Unix socket, in sessions of the same daemon: the administrator has all rights.
	as "$ADA" rota show --script "$job"
	as "$ADA" rota admin partition create honest --nodes=n1
	as "$ADA" rota admin partition delete honest
	as "$ADA" rota cancel "$job"
}

@test "submit, queue, wait, log, and cancel work over HTTPS" {
	job=$(remote "$EVE" rota submit --parsable "$ROTA_TEST_DIR/job.sh")
	remote "$EVE" rota wait --timeout=300 "$job"
	[ "$(remote "$EVE" rota log "$job")" = "done" ]
	held=$(remote "$EVE" rota submit --parsable --hold "$ROTA_TEST_DIR/job.sh")
	[[ $(remote "$EVE" rota queue) == *"$held"* ]]
	remote "$EVE" rota cancel "$held"
}

@test "every session of HTTPS has the setting, again after its end, and no other session has it" {
	remote_sessions() { [ "$(superuser "select count(*) from pg_stat_activity where application_name = 'jobmgrd gate remote' and state = 'idle'")" = 4 ]; }
	superuser "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'jobmgrd gate%'"
	eventually remote_sessions
	for i in {1..12}; do
		refused "" remote "$ADA" rota admin node drain n1 --reason=stolen
	done
	as "$ADA" rota admin node drain n1 --reason=honest
	as "$ADA" rota admin node resume n1
}

@test "a credential for one server is refused by another one" {
	for server in other localhost.example.org "" "localhost " 127.0.0.1 unix:rota; do
		run get "$EVE" https "$(token "$EVE" "--server=$server")"
		[[ $output == *"the credential was made for"*'this is \"localhost\"'*'[401]' ]]
	done
	for server in other localhost unix:other unix:; do
		run get "$EVE" socket "$(token "$EVE" "--server=$server")"
		[[ $output == *"the credential was made for"*'this is \"unix:rota\"'*'[401]' ]]
	done
	run get "$EVE" https "$(token "$EVE" --server=LocalHost)"
	[[ $output == *'[200]' ]]
	run get "$EVE" socket "$(token "$EVE")"
	[[ $output == *'[200]' ]]
	# Without --server, the server that rota itself calls.
	run get "$EVE" https "$(remote "$EVE" rota token GET /v1/queue)"
	[[ $output == *'[200]' ]]
}

# second EXPRESSION...: start another jobmgrd, with the configuration that sed makes by the expressions; its process is in `pid`, its
# port in `port`.
second() {
	local expressions=() expression
	for expression in "s,^socket = .*/gate.sock,socket = $ROTA_HOME/run/second.sock," "$@"; do
		expressions+=(-e "$expression")
	done
	sed "${expressions[@]}" "$ROTA_HOME/etc/rota.conf" >"$TLS/second.conf"
	setpriv --reuid rota --regid rota --init-groups jobmgrd --config "$TLS/second.conf" --name second >"$TLS/second.log" 2>&1 3>&- &
	pid=$!
	serves() { grep -q 'connected to the database' "$TLS/second.log" && grep -q 'HTTPS at' "$TLS/second.log"; }
	eventually serves || { cat "$TLS/second.log"; false; }
	port=$(sed -n 's/.*HTTPS at 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$TLS/second.log")
}

@test "without gate.names, the host's name and that of gate.url are good" {
	second "s/^names *=.*/names =/" "s,^url *=.*,url = https://rota.example.org,"
	for server in "$(hostname)" "$(hostname -s)" rota.example.org; do
		PORT=$port run get "$EVE" https "$(token "$EVE" "--server=$server")"
		[[ $output == *'[200]' ]] || { echo "$server: $output"; false; }
	done
	PORT=$port run get "$EVE" https "$(token "$EVE" --server=localhost)"
	[[ $output == *"the credential was made for"*'[401]' ]]
	kill "$pid"
	wait "$pid" || true
}

@test "a credential of somebody else is refused on the Unix socket, root's included" {
	for pair in "$EVE $ADA" "$EVE root" "$ADA root" "root $EVE"; do
		read -r sender owner <<<"$pair"
		run get "$sender" socket "$(token "$owner")"
		[[ $output == *"the credential is of uid $(id -u "$owner"), and the connection of uid $(id -u "$sender")"*'[401]' ]]
		run get "$owner" socket "$(token "$owner")"
		[[ $output == *'[200]' ]]
	done
}

@test "at the address of a node, HTTPS serves only users who have a step there" {
	cd "$ROTA_TEST_DIR/$EVE"
	printf '#!/bin/sh\nuntil [ -e end ]; do sleep 0.3; done\n' >long.sh
	superuser "update rota.daemon set host = '127.0.0.1' where role = 'procmgrd'"
	eventually refused "has no step on this node" remote "$EVE" rota queue # jobmgrd remembers an admission for a second
	refused "\"$EVE\" has no step on this node" remote "$EVE" rota submit --parsable "$ROTA_TEST_DIR/job.sh"
	job=$(as "$EVE" rota submit --parsable --output=/dev/null "$ROTA_TEST_DIR/$EVE/long.sh")
	eventually sh -c "rota show $job | grep -q running"
	remote "$EVE" rota submit --parsable --hold "$ROTA_TEST_DIR/job.sh"
	remote "$EVE" rota cancel --name job.sh
	eventually refused "has no step on this node" remote "$ADA" rota show "$job"
	# The setting for nodes from which no job may be submitted.
	second "s/^node_submit *=.*/node_submit = off/"
	sed -i "s,^url *=.*,url = https://localhost:$port," "$TLS/remote.conf"
	refused "jobs cannot be submitted and credentials" remote "$EVE" rota submit --parsable "$ROTA_TEST_DIR/job.sh"
	# Changes of credentials are refused there, too: root of the node would grant itself those of any user with a step there.
	for change in "grant x --to $ADA" "grant x --revoke" "default none" "refresh x" "remove x"; do
		refused "credentials cannot be changed from nodes" remote "$EVE" rota cred $change
	done
	refused 'you have no credential "x"' remote "$EVE" rota cred show x
	[[ $(remote "$EVE" rota queue) == *"$job"* ]]
	kill "$pid"
	wait "$pid" || true
	sed -i "s,^url *=.*,url = https://localhost:$PORT," "$TLS/remote.conf"
	touch end
	remote "$EVE" rota wait --timeout=300 "$job" || as "$EVE" rota wait --timeout=120 "$job"
	# After the end of its process manager, the address still is a node's.
	eventually refused "has no step on this node" remote "$EVE" rota queue
	superuser "update rota.daemon set host = null where role = 'procmgrd'"
	remote "$EVE" rota queue
}
