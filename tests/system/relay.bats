#!/usr/bin/env bats
# Clients that cannot reach the node of their step: jobmgrd relays their stream to the step manager. Which clients get a stream,
# how many there may be, their cost in jobmgrd, and their ends.

load helper
load terminal

setup_file() {
	certificates gate DNS:localhost,IP:127.0.0.1
	instance_up 1 --cpus 4 --set node.grace=1 --set gate.relays=6 --set gate.user_relays=4 --set gate.listen=127.0.0.1:0 \
		--set gate.names=localhost --set "gate.certificate=$TLS/gate.pem" --set "gate.private_key=$TLS/gate.key"
	https_client "$TLS/remote.conf" "$TLS/authority.pem"
	export ROTA_STEP_ROUTE=relay CLIENT=$BATS_TEST_DIRNAME/relay_client.py GATE=$ROTA_HOME/run/gate.sock EVE=rrly$$
	[ "$EUID" != 0 ] || users_add "$EVE"
}

teardown_file() {
	local status=0
	if [ "$EUID" = 0 ]; then
		instance_users_down "$EVE" || status=1
	else
		instance_down || status=1
	fi
	rm -rf -- "$TLS"
	return "$status"
}

teardown() {
	hang_up
	[ -z "${holder:-}" ] || kill "$holder" 2>/dev/null || true
	if [ -z "${BATS_TEST_COMPLETED:-}" ]; then
		sed -i -e 's,^relays *=.*,relays = 6,' -e 's,^relay_hosts *=.*,relay_hosts =,' "$ROTA_HOME/etc/rota.conf"
		restart || true
	fi
	rota cancel --me >/dev/null 2>&1 || true
	eventually is_idle
}

job_state() {
	[ "$(sql "select state from rota.step where job_id = $1")" = "$2" ]
}

# allocation: a job whose step manager listens; its number is in `job`, and `request` asks for its step manager.
allocation() {
	job=$(rota submit --output=/dev/null --wrap='sleep 600' | grep -oE '[0-9]+' | head -n 1)
	eventually job_state "$job" running
	request="{\"job_id\": $job, \"step_id\": 0, \"attempt\": 1}"
	ROTA_STEP_ROUTE=tls eventually rota steps "$job" >/dev/null
}

# ask_as USER REQUEST [PROTOCOL]
ask_as() {
	as "$1" env ROTA_CONFIG="$ROTA_HOME/etc/rota.conf" PATH="$PATH" python3 "$CLIENT" ask "$GATE" "${@:2}"
}

# hold COUNT: keep that many streams in the background, until release; the output of the streams goes to the file `held`.
hold() {
	rm -f "$BATS_TEST_TMPDIR"/{end,held}
	mkfifo "$BATS_TEST_TMPDIR/end"
	python3 "$CLIENT" hold "$GATE" "$request" "$1" <"$BATS_TEST_TMPDIR/end" >"$BATS_TEST_TMPDIR/held" 3>&- &
	holder=$!
	exec 9>"$BATS_TEST_TMPDIR/end"
	eventually grep -qs ready "$BATS_TEST_TMPDIR/held"
}

# hold_silent COUNT: the same to a server that sends nothing. A step manager ends a stream that has not sent its token within 10
# seconds.
hold_silent() {
	local port
	port=$(superuser "select port from rota.step_listener where job_id = $job")
	rm -f "$BATS_TEST_TMPDIR"/{end,held,port}
	mkfifo "$BATS_TEST_TMPDIR/end"
	python3 "$CLIENT" hold "$GATE" "$request" "$1" "$BATS_TEST_TMPDIR/port" <"$BATS_TEST_TMPDIR/end" >"$BATS_TEST_TMPDIR/held" 3>&- &
	holder=$!
	exec 9>"$BATS_TEST_TMPDIR/end"
	eventually test -e "$BATS_TEST_TMPDIR/port"
	aim "$(<"$BATS_TEST_TMPDIR/port")"
	echo >&9
	eventually grep -qs ready "$BATS_TEST_TMPDIR/held"
	aim "$port"
}

release() {
	exec 9>&-
	wait "$holder" || true
	holder=
}

# streams: prints the TCP connections of jobmgrd to step managers and other servers. It reaches PostgreSQL by a Unix socket.
streams() {
	ss -Htnp state established | grep -c "\"jobmgrd\",pid=$(pid_of jobmgrd)," || true
}

have_streams() { # COUNT
	[ "$(streams)" = "$1" ]
}

# aim PORT: set the port of the step manager of `job` in the database.
aim() {
	superuser "update rota.step_listener set port = $1 where job_id = $job"
}

# unreachable COMMAND...: run it where there is no network and no socket of the step.
unreachable() {
	echo "198.18.79.77 $(hostname)" >"$BATS_TEST_TMPDIR/hosts"
	unshare -n unshare -m bash -c 'mount -t tmpfs none "$ROTA_HOME/node" && mount --bind "$BATS_TEST_TMPDIR/hosts" /etc/hosts && exec "$@"' - "$@"
}

@test "rota run, rota steps and standard input through the relay" {
	run -0 rota run sh -c 'echo "out $ROTA_CPUS"; echo err >&2'
	[[ $output == *'out 1'* && $output == *err* ]]
	run -7 rota run sh -c 'exit 7'
	[ "$(echo typed | rota run cat)" = typed ]
	head -c 20000000 /dev/urandom >"$BATS_TEST_TMPDIR/much"
	[ "$(rota run sha256sum <"$BATS_TEST_TMPDIR/much")" = "$(sha256sum <"$BATS_TEST_TMPDIR/much")" ]
	allocation
	run -0 rota steps --json "$job"
	[ "$(jq '.substeps | length' <<<"$output")" = 0 ]
	free() { [ "$(streams)" = 0 ]; }
	eventually free
}

@test "the relay by HTTPS: TLS in TLS" {
	need_root
	folders_add "$EVE"
	cd "$ROTA_TEST_DIR/$EVE"
	# Over HTTPS at the address of the node, only users are served who have a step on it.
	as "$EVE" env ROTA_CONFIG="$ROTA_HOME/etc/rota.conf" rota submit --output=/dev/null --wrap='sleep 600'
	running() { as "$EVE" env ROTA_CONFIG="$ROTA_HOME/etc/rota.conf" rota queue --me --json | jq -e '.jobs[0].state == "running"'; }
	eventually running
	far() { ROTA_CONFIG=$TLS/remote.conf as "$EVE" "$@"; }
	[ "$(echo typed | far rota run cat)" = typed ]
	head -c 20000000 /dev/urandom >"$BATS_TEST_TMPDIR/much"
	[ "$(far rota run sha256sum <"$BATS_TEST_TMPDIR/much")" = "$(sha256sum <"$BATS_TEST_TMPDIR/much")" ]
	run -0 --separate-stderr far rota run sh -c 'for i in $(seq 1 20000); do echo "line $i"; done'
	[ "$(sha256sum <<<"$output")" = "$(seq -f 'line %.0f' 1 20000 | sha256sum)" ]
	as "$EVE" env ROTA_CONFIG="$ROTA_HOME/etc/rota.conf" rota cancel --me
	quiet() { as "$EVE" env ROTA_CONFIG="$ROTA_HOME/etc/rota.conf" rota queue --me --json | jq -e '.jobs | length == 0'; }
	eventually quiet
}

@test "a stream may be idle for longer than jobmgrd waits for any part of a request" {
	run -0 --separate-stderr rota run sh -c 'sleep 65; echo after' # it says there that it waits, if the machine is slow
	[ "$output" = after ]
}

@test "where the node cannot be reached, or does not answer, the relay is used by itself, unless ROTA_STEP_ROUTE is tls" {
	need_root
	unset ROTA_STEP_ROUTE
	run -0 unreachable rota run echo there
	[[ $output == *there* ]]
	# Packets to the node vanish.
	run -0 unreachable bash -ec '
		ip link add hole type veth peer name bottom
		ip link set bottom up
		ip addr add 198.18.79.1/30 dev hole
		ip link set hole up
		ip neigh add 198.18.79.2 lladdr 02:00:00:00:00:02 dev hole
		ip route add default via 198.18.79.2
		rota run echo there'
	[[ $output == *there* ]]
	run ! env ROTA_STEP_ROUTE=tls bash -c "$(declare -f unreachable); unreachable rota run echo there"
	[[ $output == *'could not reach the step manager'* || $output == *'could not find host'* ]]
}

@test "a stranger gets no stream, and no connection is made for one" {
	need_root
	allocation
	coproc server { python3 "$CLIENT" watch "$BATS_TEST_TMPDIR/port" >"$BATS_TEST_TMPDIR/came" 3>&-; }
	eventually test -e "$BATS_TEST_TMPDIR/port"
	aim "$(<"$BATS_TEST_TMPDIR/port")"
	run -0 ask_as "$EVE" "$request"
	[[ $output == 403*RT403* ]]
	run -0 ask_as "$EVE" "{\"job_id\": $job, \"step_id\": 0, \"attempt\": 2}"
	[[ $output == 40[34]* ]]
	[ ! -s "$BATS_TEST_TMPDIR/came" ]
	run -0 python3 "$CLIENT" ask "$GATE" "$request"
	[ "$output" = '101 ' ]
	eventually grep -q connection "$BATS_TEST_TMPDIR/came"
	eval "exec ${server[1]}>&-"
	wait "$server_PID"
	[ "$(grep -c connection "$BATS_TEST_TMPDIR/came")" = 1 ] # that of the owner
}

@test "no request chooses where jobmgrd connects to" {
	local port
	allocation
	coproc server { python3 "$CLIENT" watch "$BATS_TEST_TMPDIR/port" >"$BATS_TEST_TMPDIR/came" 3>&-; }
	eventually test -e "$BATS_TEST_TMPDIR/port"
	port=$(<"$BATS_TEST_TMPDIR/port")
	for more in "\"port\": $port" '"host": "127.0.0.1"' '"node": "n1"' "\"fingerprint\": \"\", \"port\": $port" '"token": "00"'; do
		run -0 python3 "$CLIENT" ask "$GATE" "${request%\}}, $more}"
		[[ $output == 4* ]]
	done
	run -0 python3 "$CLIENT" ask "$GATE" '{"job_id": 999999999, "step_id": 0, "attempt": 1}'
	[[ $output == 404* ]]
	run -0 python3 "$CLIENT" ask "$GATE" "$request" ''
	[[ $output == 426*Upgrade* ]]
	run -0 python3 "$CLIENT" ask "$GATE" "$request" websocket
	[[ $output == 426* ]]
	# A step manager is a program of the user, and may report any port: ports of the system's services are refused.
	aim 80
	run -0 python3 "$CLIENT" ask "$GATE" "$request"
	[[ $output == 403*'port 80'* ]]
	eventually have_streams 0
	eval "exec ${server[1]}>&-"
	wait "$server_PID"
	[ ! -s "$BATS_TEST_TMPDIR/came" ]
	aim "$port"
	run -0 python3 "$CLIENT" ask "$GATE" "$request"
	[[ $output == 502*'Connection refused'* ]]
	run ! rota steps "$job"
	[[ $output == *'jobmgrd could not reach the step manager'* ]]
}

@test "TLS is between client and step manager: another server gets no token through the relay" {
	allocation
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=rota-stepmgr \
		-keyout "$BATS_TEST_TMPDIR/key" -out "$BATS_TEST_TMPDIR/pem" 2>/dev/null
	python3 "$BATS_TEST_DIRNAME/remote_client.py" false "$BATS_TEST_TMPDIR/port" "$BATS_TEST_TMPDIR/pem" "$BATS_TEST_TMPDIR/key" \
		>"$BATS_TEST_TMPDIR/got" 3>&- &
	eventually test -e "$BATS_TEST_TMPDIR/port"
	aim "$(<"$BATS_TEST_TMPDIR/port")"
	run ! rota steps "$job"
	[[ $output == *'certificate is not the expected one'* ]]
	wait "$!"
	[ "$(<"$BATS_TEST_TMPDIR/got")" = 'got 0' ]
}

@test "one user has at most gate.user_relays streams, all together gate.relays, and an end makes room" {
	need_root
	allocation
	eventually have_streams 0 # a stream of the test before may still be closed, and counts
	hold_silent 4
	[ "$(<"$BATS_TEST_TMPDIR/held")" = '101 101 101 101 ready' ]
	eventually have_streams 4
	run -0 python3 "$CLIENT" ask "$GATE" "$request"
	[[ $output == 429*gate.user_relays* ]]
	run ! rota steps "$job"
	[[ $output == *gate.user_relays* ]]
	ROTA_STEP_ROUTE=tls rota steps "$job"
	rota queue >/dev/null
	release
	free() { [ "$(streams)" = 0 ]; }
	eventually free
	run -0 rota steps "$job"
	# So many of others that only one place is left of all.
	setting relays 3
	hold_silent 3
	run -0 python3 "$CLIENT" ask "$GATE" "$request"
	[[ $output == 429*'(gate.relays)'* ]]
	release
	setting relays 0
	run -0 python3 "$CLIENT" ask "$GATE" "$request"
	[[ $output == 403*'gate.relays is 0'* ]]
	setting relays 6
	setting relay_hosts '192.0.2.0/24'
	run -0 python3 "$CLIENT" ask "$GATE" "$request"
	[[ $output == 403*gate.relay_hosts* ]]
	setting relay_hosts '192.0.2.0/24 0.0.0.0/0 ::/0'
	run -0 rota steps "$job"
	setting relay_hosts ''
}

# setting NAME VALUE: change a setting of jobmgrd, and start it again with that.
setting() {
	grep -q "^$1 *=" "$ROTA_HOME/etc/rota.conf"
	sed -i "s,^$1 *=.*,$1 = $2," "$ROTA_HOME/etc/rota.conf"
	restart
}

# restart: stop jobmgrd in an orderly way and start it again.
restart() {
	local pid
	pid=$(pid_of jobmgrd)
	if [ -n "$pid" ]; then
		kill -TERM "$pid"
		eventually test ! -e "/proc/$pid"
	fi
	rota up >/dev/null 2>&1 3>&- 9>&-
	eventually rota queue >/dev/null
}

@test "a stream ends with its step, with its client and with jobmgrd" {
	allocation
	hold 3
	rota cancel "$job"
	all_ended() { [ "$(grep -c ended "$BATS_TEST_TMPDIR/held")" = 3 ]; }
	eventually all_ended
	release
	free() { [ "$(streams)" = 0 ]; }
	eventually free
	allocation
	hold 2
	kill -KILL "$holder"
	release
	eventually free
	hold 3
	restart
	eventually all_ended
	release
	hold 3
	kill_now "$(pid_of jobmgrd)"
	eventually all_ended
	release
	rota up >/dev/null 2>&1 3>&- 9>&-
	eventually rota steps "$job"
}

@test "a side that reads nothing stops the other one, and jobmgrd does not grow" {
	local way pid size=300000000
	[ "$EUID" = 0 ] || [ -w "/proc/$(pid_of jobmgrd)/clear_refs" ] || skip "needs root"
	! sanitized || size=30000000
	allocation
	for way in down up; do
		rm -f "$BATS_TEST_TMPDIR/port"
		coproc bulk { python3 "$CLIENT" bulk "$GATE" "$request" "$BATS_TEST_TMPDIR/port" "$way" "$size" "$(pid_of jobmgrd)" 3>&-; }
		pid=$bulk_PID
		eventually test -e "$BATS_TEST_TMPDIR/port"
		aim "$(<"$BATS_TEST_TMPDIR/port")"
		echo >&"${bulk[1]}"
		rota queue >/dev/null
		read -r grown verdict <&"${bulk[0]}"
		wait "$pid"
		echo "$way: $grown KiB, $verdict"
		[ "$verdict" = good ]
		sanitized || [ "$grown" -lt 4096 ] # freed memory stays in the quarantine of the sanitizer
	done
}

@test "rota shell through the relay: jobmgrd is killed, and the session goes on" {
	person
	keys 'rota shell --session=far; echo status $?' Enter
	session() { rota acct --sessions --me --states=running --json | jq -e '.rows | length == 1'; }
	eventually session
	keys "PS1='inside> '; stty size" Enter
	see '30 100'
	see 'inside>'
	kill -KILL "$(pid_of jobmgrd)"
	left() { [[ $(screen) =~ status\ [0-9] ]]; }
	eventually left
	rota up >/dev/null 2>&1 3>&-
	keys 'clear; rota attach far' Enter
	see 'inside>'
	keys 'echo $((6 * 7))' Enter
	see 42
	keys 'exit 9' Enter
	see 'outside>'
}

@test "jobmgrd is killed under a rota run: the command says so, and its sub-step is cancelled, as where the node is lost" {
	local client status=0
	rota run sh -c 'echo begun; exec sleep 600' >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	client=$!
	eventually grep -q begun "$BATS_TEST_TMPDIR/out"
	kill -KILL "$(pid_of jobmgrd)"
	wait "$client" || status=$?
	[ "$status" -ne 0 ]
	grep -q 'rota run: ' "$BATS_TEST_TMPDIR/out"
	rota up >/dev/null 2>&1 3>&-
	over() { rota queue --json | jq -e '.jobs | length == 0'; }
	eventually over
}
