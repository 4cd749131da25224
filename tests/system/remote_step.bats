#!/usr/bin/env bats
# Clients on other machines than the step: tokens, TLS to the step manager, and what it refuses.

ROTA_TEST_CLIENT=sanitizers
load helper
load terminal

setup_file() {
	instance_up 1 --cpus 4 --set node.grace=1
	export ROTA_STEP_ROUTE=tls CLIENT=$BATS_TEST_DIRNAME/remote_client.py EVE=rrem$$
}

teardown_file() {
	instance_down
}

teardown() {
	hang_up
	rota cancel --me >/dev/null 2>&1 || true
}

# allocation: a job that waits until it is cancelled; its number is in `job`.
allocation() {
	job=$(rota submit --cpus-per-task=4 --output=/dev/null --wrap='sleep 600' | grep -oE '[0-9]+' | head -n 1)
	eventually job_state "$job" running
}

# manager_ports: the TCP sockets at which it listens.
manager_ports() {
	ss -Hltnp | grep "pid=$(step_managers "$job")," || true
}

job_state() {
	[ "$(sql "select state from rota.step where job_id = $1")" = "$2" ]
}

@test "rota run and rota steps by TLS" {
	run -0 rota run sh -c 'echo "out $ROTA_CPUS"; echo err >&2; exit 0'
	[[ $output == *'out 1'* && $output == *err* ]]
	run -7 rota run sh -c 'exit 7'
	[ "$(echo typed | rota run cat)" = typed ]
	allocation
	ROTA_STEP_ROUTE=local rota steps "$job"
	run -0 rota steps --json "$job"
	[ "$(jq '.substeps | length' <<<"$output")" = 0 ]
	rota cancel "$job"
}

# token JOB: the answer to a request for a token of the job's first step, once its step manager listens.
token() {
	answer=$(python3 "$CLIENT" ask "$ROTA_HOME/run/gate.sock" "{\"job_id\": $1, \"step_id\": 0, \"attempt\": 1}")
	[ "$(jq .ready <<<"$answer")" = true ]
}

# opens TOKEN / refuses PATTERN TOKEN: what the step manager at `port` says to a client with the token.
opens() {
	run -0 python3 "$CLIENT" talk "$port" "$1"
	[ "$(jq -r .event <<<"$output")" = answer ]
}

refuses() {
	run python3 "$CLIENT" talk "$port" "$2"
	[[ $output == *'"error"'*$1* ]] || {
		echo "$output"
		return 1
	}
}

# signed [NAME=VALUE]: a token for `job` that jobmgrd could have signed, with other values.
signed() {
	local change fields=("job=$job" step=0 attempt=1 "uid=$(id -u)" "node=$(jq -r .node <<<"$answer")"
		"fingerprint=$(jq -r .fingerprint <<<"$answer")" "expires=$(($(date +%s) + 60))" "nonce=$(openssl rand -hex 16)")
	for change; do
		fields=("${fields[@]/#"${change%%=*}"=*/$change}")
	done
	python3 "$CLIENT" sign "$ROTA_HOME/keys/sign.key" "${fields[@]}"
}

@test "a token opens its own step once, and nothing else" {
	local used other
	allocation
	other=$job
	eventually token "$other"
	other=$(jq -r .token <<<"$answer")
	rota cancel "$job"
	allocation
	eventually token "$job"
	port=$(jq .port <<<"$answer")
	used=$(jq -r .token <<<"$answer")
	opens "$used"
	refuses 'used before' "$used"
	refuses 'another step' "$other"
	opens "$(signed)"
	refuses 'has expired' "$(signed "expires=$(($(date +%s) - 1))")"
	refuses 'another user' "$(signed "uid=$(($(id -u) + 1))")"
	refuses 'another step' "$(signed attempt=2)"
	refuses 'another step' "$(signed step=1)"
	refuses 'another step' "$(signed node=elsewhere)"
	refuses 'another certificate' "$(signed "fingerprint=$(openssl rand -hex 32)")"
	used=$(signed "expires=$(($(date +%s) + 600))") # on a slow machine, what follows takes longer than a token of jobmgrd lives
	refuses 'signature' "${used%?}$((10#$(printf %d "0x${used: -1}") % 2 ? 0 : 1))"
	refuses 'malformed' "${used:0:200}x"
	refuses 'malformed' ''
	refuses 'token' "$(head -c 3000 /dev/zero | tr '\0' a)"
	refuses 'malformed' '{"op":"list","id":1}'
	run -0 python3 "$CLIENT" plain "$port"
	[ "$output" = closed ]
	opens "$used"
	rota cancel "$job"
}

@test "a signed launch request is no token, and a token is no launch request" {
	local order
	allocation
	eventually token "$job"
	port=$(jq .port <<<"$answer")
	# The same key signs both. What is signed begins with another byte.
	order=$(superuser "select encode(signature, 'hex') || encode(convert_to(body, 'UTF8'), 'hex') from rota.node_order
		where kind = 'launch' and body is not null limit 1")
	[ -n "$order" ] || order=$(printf 'job=3:812\n' >"$BATS_TEST_TMPDIR/text"
		openssl pkeyutl -sign -rawin -inkey "$ROTA_HOME/keys/sign.key" -in "$BATS_TEST_TMPDIR/text" | od -An -v -tx1 | tr -d ' \n'
		od -An -v -tx1 "$BATS_TEST_TMPDIR/text" | tr -d ' \n')
	refuses 'signature' "$order"
	rota cancel "$job"
}

@test "connections without a token neither stay nor disturb the owner" {
	allocation
	eventually token "$job"
	port=$(jq .port <<<"$answer")
	coproc crowd { python3 "$CLIENT" crowd "$port" 100; }
	read -r line <&"${crowd[0]}"
	[ "$line" = ready ]
	run -0 rota steps --json "$job"
	token "$job"
	opens "$(jq -r .token <<<"$answer")"
	eval "exec ${crowd[1]}>&-"
	wait "$crowd_PID"
	rota cancel "$job"
}

@test "a client gives no token to another server than the step manager" {
	allocation
	eventually token "$job"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=rota-stepmgr \
		-keyout "$BATS_TEST_TMPDIR/key" -out "$BATS_TEST_TMPDIR/pem" 2>/dev/null
	python3 "$CLIENT" false "$BATS_TEST_TMPDIR/port" "$BATS_TEST_TMPDIR/pem" "$BATS_TEST_TMPDIR/key" >"$BATS_TEST_TMPDIR/got" 3>&- &
	eventually test -e "$BATS_TEST_TMPDIR/port"
	superuser "update rota.step_listener set port = $(<"$BATS_TEST_TMPDIR/port") where job_id = $job"
	run ! rota steps "$job"
	[[ $output == *'certificate is not the expected one'* ]]
	wait "$!"
	[ "$(<"$BATS_TEST_TMPDIR/got")" = 'got 0' ]
	rota cancel "$job"
}

@test "a step manager that is killed listens with a new certificate, and its clients come back" {
	local before
	allocation
	eventually token "$job"
	before=$(jq -r .fingerprint <<<"$answer")
	kill -KILL "$(step_managers "$job")"
	changed() { token "$job" && [ "$(jq -r .fingerprint <<<"$answer")" != "$before" ]; }
	eventually changed
	port=$(jq .port <<<"$answer")
	opens "$(jq -r .token <<<"$answer")"
	run -0 rota steps "$job"
	rota cancel "$job"
}

@test "nothing listens before somebody asks" {
	allocation
	[ "$(superuser "select count(*) from rota.step_listener where job_id = $job")" = 0 ]
	ROTA_STEP_ROUTE=local rota steps "$job"
	[ -z "$(manager_ports)" ]
	rota steps "$job"
	[ -n "$(manager_ports)" ]
	rota cancel "$job"
}

@test "a socket that cannot be reached makes no difference, unless ROTA_STEP_ROUTE is local" {
	[ "$EUID" = 0 ] || skip "needs root"
	hidden() { unshare -m bash -c 'mount -t tmpfs none "$ROTA_HOME/node" && exec "$@"' - "$@"; }
	run -0 env -u ROTA_STEP_ROUTE bash -c "$(declare -f hidden); hidden rota run echo there"
	[[ $output == *there* ]]
	export ROTA_STEP_ROUTE=local
	run ! hidden rota run echo there
	[[ $output == *'cannot be reached from here'* ]]
	export ROTA_STEP_ROUTE=elsewhere
	run -2 rota run true
	[[ $output == *ROTA_STEP_ROUTE* ]]
}

@test "a stranger gets no token" {
	[ "$EUID" = 0 ] || skip "needs root"
	allocation
	users_add "$EVE"
	run as "$EVE" env ROTA_CONFIG="$ROTA_HOME/etc/rota.conf" python3 "$CLIENT" ask "$ROTA_HOME/run/gate.sock" \
		"{\"job_id\": $job, \"step_id\": 0, \"attempt\": 1}"
	users_remove "$EVE"
	[[ $output == *RT403* ]]
	[ "$(superuser "select count(*) from rota.step_listener where job_id = $job")" = 0 ]
	rota cancel "$job"
}

@test "rota attach and rota shell by TLS" {
	person
	keys 'rota shell --session=far' Enter
	session() { rota acct --sessions --me --states=running --json | jq -e '.rows | length == 1'; }
	eventually session
	keys "PS1='inside> '; stty size" Enter
	see '30 100'
	keys Enter '~.'
	see 'rota attach'
	keys 'clear; rota attach far' Enter
	see 'inside>'
	keys 'exit 9' Enter
	see 'outside>'
	eventually is_idle
}
