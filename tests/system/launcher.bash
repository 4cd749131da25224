# launcher.bash - a real launcher of a node n1 without a database, which launcher_driver drives in the place of procmgrd. As root, tasks run
# as a temporary user; otherwise as the caller.

driver_up() {
	export DIR=$(mktemp -d "${TMPDIR:-/tmp}/rota-launcher.XXXXXX")
	export CONFIG=$DIR/rota.conf NODE=n1 INSTANCE=lt$$
	chmod 755 "$DIR"
	mkdir "$DIR/bin" "$DIR/keys" "$DIR/work" "$DIR/sock"
	chmod 777 "$DIR/sock"
	cp "$ROTA_BIN/rota-launcher" "$DIR/bin/"
	cp "${ROTA_DRIVER:-$ROTA_BUILD/tests/system/launcher_driver}" "$DIR/bin/procmgrd"
	if [ "$EUID" = 0 ]; then
		export WHO=rt$$ OTHER=ru$$
		useradd --no-create-home --home-dir "$DIR/work" --shell /bin/bash "$WHO"
		useradd --no-create-home --home-dir /nonexistent --shell /bin/false "$OTHER"
		groupadd "rg$$"
		usermod -a -G "rg$$" "$WHO"
		export GROUP=rg$$
		chown "$WHO:" "$DIR/work"
		ACCOUNT=$OTHER
	else
		export WHO=$(id -un)
		ACCOUNT=
	fi
	cat >"$DIR/site_prolog" <<-'END'
		#!/bin/bash
		{ echo "prolog of $ROTA_STEP_LABEL"; env; id -u; } >>"${0%/*}/prolog.$ROTA_JOB_ID.log"
		echo "prolog says hello"
		case $ROTA_JOB_NAME in
		bad-prolog) echo "no scratch"; exit 7 ;;
		slow-prolog) sleep 60 ;;
		esac
	END
	cat >"$DIR/site_epilog" <<-'END'
		#!/bin/bash
		echo "epilog of $ROTA_STEP_LABEL" >>"${0%/*}/epilog.$ROTA_JOB_ID.log"
		[ "$ROTA_JOB_NAME" != bad-epilog ]
	END
	chmod 755 "$DIR/site_prolog" "$DIR/site_epilog"
	configure "$CONFIG" auto
	configure "$DIR/plain.conf" off
	drive keys
	[ -z "$KEYED" ] || credential_keys
	start_launcher
}

# The keys of rota-credd and of the node.
credential_keys() {
	for name in cred node; do openssl genpkey -algorithm x25519 -out "$DIR/keys/$name.key" 2>/dev/null; done
	openssl pkey -in "$DIR/keys/cred.key" -pubout -out "$DIR/keys/cred.pub"
	chmod 400 "$DIR/keys/cred.key" "$DIR/keys/node.key"
	chmod 644 "$DIR/keys/cred.pub"
}

configure() {
	cat >"$1" <<-END
		[instance]
		name = $INSTANCE
		account = $ACCOUNT
		[keys]
		dir = $DIR/keys
		[node]
		state = $DIR/node
		site_prolog = $DIR/site_prolog
		site_epilog = $DIR/site_epilog
		hook_timeout = 60
		disk_floor_mb = 1
		cgroup = $2
	END
}

driver_down() {
	for pid in "$DIR"/*.pid; do
		[ -e "$pid" ] || continue
		kill -USR1 "$(cat "$pid")" 2>/dev/null || true
		for i in $(seq 1200); do lives "$(cat "$pid")" || break; sleep 0.2; done
	done
	if [ "$EUID" = 0 ] && [ -n "$GROUP" ]; then
		userdel "$WHO"
		userdel "$OTHER"
		groupdel "$GROUP" || true
	fi
	umount "$DIR/small" 2>/dev/null || true
	rm -rf "$DIR"
}

drive() {
	"$DIR/bin/procmgrd" --config "$CONFIG" --node "$NODE" "$@"
}

start_launcher() {
	rm -f "$DIR/sock/driver" # the socket of another test's node
	# A launcher that was just killed may still hold the node's lock, and a new launcher would exit.
	for i in $(seq 1200); do lives "$(cat "$DIR/$NODE.pid" 2>/dev/null)" || break; sleep 0.2; done
	$LAUNCHER_WITHIN "$DIR/bin/rota-launcher" --config "$CONFIG" --node "$NODE" 2>>"$DIR/$NODE.log" 3>&- &
	echo $! >"$DIR/$NODE.pid"
	for i in $(seq 1200); do [ -S "$DIR/sock/driver" ] && [ -e "$DIR/node/$NODE/journal" ] && break; sleep 0.2; done
}

stop_launcher() { # SIGNAL
	local pid
	pid=$(cat "$DIR/$NODE.pid")
	kill "-$1" "$pid"
	for i in $(seq 1200); do lives "$pid" || return 0; sleep 0.2; done
	return 1
}

gone() { # PATH: removed just after the record `end`
	for i in $(seq 1200); do [ -e "$1" ] || return 0; sleep 0.2; done
	return 1
}

printed() { # JOB WORD: wait until the job's output has the word
	for i in $(seq 1200); do grep -qs "$2" "$DIR/work/$1.out" && return 0; sleep 0.2; done
	return 1
}

lives() { # PID: the process exists and is no zombie
	grep -q '^State:.[^ZX]' "/proc/$1/status" 2>/dev/null
}

# launch JOB [SETTING...] <SCRIPT : one step of job JOB, as $WHO in its folder.
launch() {
	local job=$1
	shift
	cat >"$DIR/script.$job"
	drive launch "$DIR/script.$job" "job_id=$job" "uid=$(id -u "$WHO")" "gid=$(id -g "$WHO")" "user=$WHO" \
		"workdir=$DIR/work" "output=$DIR/work/$job.out" "$@"
}

# record JOB KIND [SECONDS]: wait for this record of the job; it is in $output.
record() {
	run drive wait "$1.0.1" "$2" "${3:-60}"
	[ "$status" -eq 0 ]
	output=${lines[0]}
}

control() { # JOB ACTION [FIELD...]
	local job=$1 action=$2
	shift 2
	drive send op=control "job=$job" step=0 attempt=1 "action=$action" "$@"
}

field() { # NAME: prints a field of the record in $output; it ends before the next " name="
	sed -nE "s/.*(^| )$1=([^ ]*).*/\2/p" <<<"$output"
}

as_root() {
	[ "$EUID" = 0 ] || skip "needs root"
}

has_cgroup() {
	as_root
	grep -q 'with cgroups' "$DIR/$NODE.log" || skip "no control groups here"
}
