# helper.bash - private instances for system tests. A file of tests does `load helper`, then instance_up in setup_file and
# instance_down in teardown_file. Any number of instances run side by side.
bats_require_minimum_version 1.5.0

: "${ROTA_SOURCE:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"
: "${ROTA_BIN:=$ROTA_SOURCE/build/release/bin}" "${ROTA_BUILD:=${ROTA_BIN%/bin}}"
export ROTA_SOURCE ROTA_BIN
export PATH="$ROTA_BIN:$PATH"
export LC_ALL=C.UTF-8 TZ=UTC
unset ROTA_CONFIG
# Starting clients with sanitizers takes a fifth of the time of all tests. So bin/check names a folder of clients without them,
# ROTA_FAST_CLIENT, whose `rota up` starts the daemons with sanitizers. A file of tests about clients sets ROTA_TEST_CLIENT before
# `load helper`, so that its clients have sanitizers too; if it is "leaks", these also look for leaks when they end, as the daemons that
# instance_up starts do.
[ -n "${ROTA_TEST_CLIENT:-}" ] || [ -z "${ROTA_FAST_CLIENT:-}" ] || PATH=$ROTA_FAST_CLIENT:$PATH
[ -z "${ASAN_OPTIONS:-}" ] || [ "${ROTA_TEST_CLIENT:-}" = leaks ] || export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0

. "$ROTA_SOURCE/tests/system/session.bash"
[ -z "${ROTA_TEST_DIR:-}" ] || session_open "$ROTA_TEST_DIR/session" # again, if it was lost in the test before

# instance_up NODES [OPTION OF rota up]...: an instance below the folder for temporary files, in ROTA_HOME; other users can reach it.
# Its PostgreSQL cluster is a copy of the one that ctest has made, if it has (ROTA_TEST_CLUSTER; tests/cluster).
instance_up() {
	local nodes=$1
	shift
	ROTA_TEST_DIR=$(mktemp -d "${TMPDIR:-/tmp}/rota-test.XXXXXX")
	export ROTA_TEST_DIR
	chmod 0755 "$ROTA_TEST_DIR"
	export ROTA_HOME=$ROTA_TEST_DIR/home
	export XDG_STATE_HOME=$ROTA_TEST_DIR/state # for clients, after a promotion of the database
	[ -z "${ROTA_TEST_CLUSTER:-}" ] || "$ROTA_SOURCE/tests/cluster" copy "$ROTA_TEST_CLUSTER" "$ROTA_HOME"
	if ! ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:detect_leaks=1} rota up --nodes "$nodes" "$@" >"$ROTA_TEST_DIR/up.log" 2>&1; then
		cat "$ROTA_TEST_DIR/up.log" >&2
		instance_logs
		rota down --purge --yes >&2 || true
		return 1
	fi
	session_open "$ROTA_TEST_DIR/session"
}

# instance_down: end the instance, check that no process is left, and remove it. After a failure, print the instance's logs.
instance_down() {
	local left status=0
	[ -n "${ROTA_TEST_DIR:-}" ] || return 0
	[ -z "${ROTA_TEST_KEEP:-}" ] || return 0
	session_close "$ROTA_TEST_DIR/session"
	rota down >"$ROTA_TEST_DIR/down.log" 2>&1 || {
		cat "$ROTA_TEST_DIR/down.log" >&2
		status=1
	}
	left=$(instance_processes)
	if [ -n "$left" ]; then
		printf 'left over after rota down:\n%s\n' "$left" >&2
		status=1
	fi
	[ "$status" = 0 ] || instance_logs
	rota down --purge --yes >/dev/null 2>&1 || status=1
	rm -rf -- "$ROTA_TEST_DIR"
	return "$status"
}

# instance_processes: pid and command line of every process that has the instance's folder in its command line, its working
# directory or its environment; tests themselves aside.
instance_processes() {
	local pid found words session=
	read -r session _ 2>/dev/null <"${ROTA_TEST_DIR:-}/session/pids" || true
	# Use few programs, for there are hundreds of processes.
	found=$(
		grep -lsaF -- "$ROTA_HOME" /proc/[0-9]*/cmdline
		find /proc/[0-9]*/cwd -maxdepth 0 -lname "$ROTA_HOME*" 2>/dev/null
	) || true
	for pid in $(sed -nE 's,^/proc/([0-9]+)/.*,\1,p' <<<"$found" | sort -nu); do
		[ "$pid" != "$$" ] && [ "$pid" != "$BASHPID" ] && [ "$pid" != "$session" ] && [ -e "/proc/$pid" ] || continue
		mapfile -d '' words 2>/dev/null <"/proc/$pid/cmdline" || continue
		echo "$pid ${words[*]}"
	done
}

# node_processes NODE: pids of the launcher and the process manager of the node, and idle keepers.
node_processes() {
	instance_processes | awk -v node="--node $1" 'index($0 " ", node " ") { print $1 }'
}

# instance_logs: the end of each log, on standard error, for a test that failed.
instance_logs() {
	local log
	for log in "$ROTA_HOME"/log/*.log; do
		[ -s "$log" ] || continue
		printf -- '--- %s\n' "${log##*/}" >&2
		tail -n 30 "$log" >&2
	done
}

# certificates SERVER NAMES: in the new folder TLS, a certificate authority, another one of the same name, and the key and the
# certificate of a server that has these names, by the first of them.
certificates() {
	local server=$1 names=$2 name
	TLS=$(mktemp -d "${TMPDIR:-/tmp}/rota-tls.XXXXXX")
	export TLS
	chmod 0755 "$TLS"
	for name in authority other "$server"; do
		openssl genpkey -algorithm ec -pkeyopt ec_paramgen_curve:prime256v1 -out "$TLS/$name.key"
	done
	for name in authority other; do
		openssl req -new -x509 -key "$TLS/$name.key" -days 2 -subj /CN=authority -out "$TLS/$name.pem"
	done
	openssl req -new -key "$TLS/$server.key" -subj "/CN=$server" -out "$TLS/$server.request"
	openssl x509 -req -in "$TLS/$server.request" -CA "$TLS/authority.pem" -CAkey "$TLS/authority.key" -CAcreateserial -days 2 \
		-extfile <(echo "subjectAltName=$names") -out "$TLS/$server.pem" 2>/dev/null
	[ "$EUID" != 0 ] || chown rota "$TLS"/{"$server",other}.key
}

# as USER COMMAND...: run it as another user of this machine, as a login would (root only).
as() {
	local user=$1
	shift
	setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups env HOME=/tmp USER="$user" LOGNAME="$user" "$@"
}

# users_add USER...: make users of this machine. users_remove USER...: remove them; false if one cannot be removed.
users_add() {
	local user
	for user in "$@"; do
		useradd --no-create-home --home-dir "/tmp/$user" --shell /bin/bash "$user"
	done
}

users_remove() {
	local user status=0
	for user in "$@"; do
		userdel "$user" || status=1
	done
	return "$status"
}

# instance_users_down USER...: instance_down, then users_remove; for tests that only root runs.
instance_users_down() {
	[ "$EUID" = 0 ] || return 0
	local status=0
	instance_down || status=1
	users_remove "$@" || status=1
	return "$status"
}

# folders_add USER...: a folder of each user's own, by the user's name, in the folder of the tests.
folders_add() {
	local user
	for user in "$@"; do
		mkdir "$ROTA_TEST_DIR/$user"
		chown "$user:" "$ROTA_TEST_DIR/$user"
	done
}

# run_as_eve [OPTION]... <<END: run the script as a job of user EVE in the folder FOLDER; its number is in `job`, and what it prints in
# `output`.
run_as_eve() {
	cat >"$FOLDER/script.sh"
	cd "$FOLDER"
	job=$(as "$EVE" rota submit --parsable --output="$FOLDER/%j.out" "$@" script.sh)
	rota wait "$job" >/dev/null || true
	output=$(cat "$FOLDER/$job.out")
}

# https_client CONF AUTHORITY: write the configuration of a client that uses HTTPS, which jobmgrd serves on port PORT.
https_client() {
	PORT=$(sed -n 's/.*HTTPS at 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$ROTA_HOME/log/jobmgrd.log" | tail -n 1)
	export PORT
	sed -e "s,^url *=.*,url = https://localhost:$PORT," -e "s,^authority *=.*,authority = $2," "$ROTA_HOME/etc/rota.conf" >"$1"
}

# need_root: skip a test that takes several users.
need_root() {
	[ "$EUID" = 0 ] || skip "needs root"
}

# pid_of ROLE [NODE]: a process of the instance, as `rota status` names it; the first there is.
pid_of() {
	rota status --json | jq -r --arg role "$1" --arg node "${2:-}" \
		'first(.processes[] | select(.role == $role and ($node == "" or .node == $node)) | .pid // empty)'
}

# step_managers JOB [INDEX]: pids of the step manager and the agents of that job of the instance (".*": of all jobs), or on the job's node with
# this index alone. A process that is about to become a task has the name of its step manager too, also when that was killed meanwhile; the
# kernel knows that it has executed no program yet (PF_FORKNOEXEC among its flags).
step_managers() {
	local pid flags
	for pid in $(pgrep -x rota-stepmgr); do
		if grep -qzFx "ROTA_HOME=$ROTA_HOME" "/proc/$pid/environ" && grep -qzx "ROTA_JOB_ID=$1" "/proc/$pid/environ" &&
			grep -qzx "ROTA_NODE_INDEX=${2:-.*}" "/proc/$pid/environ" &&
			read -r _ _ _ _ _ _ _ _ flags _ <"/proc/$pid/stat" && [ $((flags & 0x40)) = 0 ]; then
			echo "$pid"
		fi
	done 2>/dev/null
}

# in_instance COMMAND LINE: pids of the processes with exactly this command line, a pattern, that have this instance in their environment.
# Others of this machine may have the same one.
in_instance() {
	local pid
	for pid in $(pgrep -fx -- "$1"); do
		! grep -qzFx "ROTA_HOME=$ROTA_HOME" "/proc/$pid/environ" || echo "$pid"
	done 2>/dev/null
}

# are_dead PID...: they have ended, reaped or not.
are_dead() {
	local pid
	for pid in "$@"; do
		! grep -q '^State:.[^ZX]' "/proc/$pid/status" 2>/dev/null || return 1
	done
}

# kill_now PID...: kill them, and wait until they have ended: a process that was just killed may still hold its lock.
kill_now() {
	kill -KILL "$@"
	eventually are_dead "$@"
}

# daemon_again ROLE [OPTION OF rota up]...: kill this daemon, and start it again with these options: it reads its settings when it starts.
daemon_again() {
	kill_now "$(pid_of "$1")"
	rota up "${@:2}" >/dev/null
}

# superuser SQL: run it in the instance's database as its superuser. Single queries go through the session of the file.
superuser() {
	local - folder=
	set +o functrace # of bats, for each command of the functions that are called: it would take as long as the query
	[ "$ROTA_HOME" != "${ROTA_TEST_DIR:-}/home" ] || folder=$ROTA_TEST_DIR/session
	session_query "$folder" "$1"
}

# sql SQL: the same, where the role does not matter. A test of `rota sql`, or of the caller's rights, calls `rota sql`: it takes
# two more programs and one more connection.
sql() {
	superuser "$1"
}

# orders_can_wait KIND...: make a trigger by which a transaction that inserts an order of these kinds can be held up before it commits.
# orders_cannot_wait: remove it.
orders_can_wait() {
	superuser "create table public.stops (kind text);
		create function public.stop() returns trigger language plpgsql security definer as \$\$
		begin
			while exists (select from public.stops s where s.kind = new.kind) loop
				perform pg_sleep(0.05);
			end loop;
			return null;
		end \$\$;
		create constraint trigger stop after insert on rota.node_order deferrable initially deferred for each row
			when (new.kind = any ('{$(IFS=,; echo "$*")}')) execute function public.stop()"
}

# hold_up KIND: let such transactions wait. is_held_up: one of them waits. end_held_up: end its session, so that it never commits. let_pass: let
# later ones commit.
hold_up() {
	superuser "insert into public.stops values ('$1')"
}

is_held_up() {
	[ -n "$(superuser "select pid from pg_stat_activity where wait_event = 'PgSleep'")" ]
}

end_held_up() {
	superuser "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep'" >/dev/null
}

let_pass() {
	superuser 'delete from public.stops'
}

orders_cannot_wait() {
	superuser 'drop trigger stop on rota.node_order; drop function public.stop(); drop table public.stops'
}

# refused PATTERN COMMAND...: the command fails with an error that matches.
refused() {
	local pattern=$1
	shift
	run "$@"
	[ "$status" -ne 0 ]
	[[ $output == *$pattern* ]] || { echo "$* says: $output" >&2; return 1; }
}

# sanitized: whether this build has a sanitizer, which keeps freed memory, so that memory cannot be judged.
sanitized() {
	[ -n "${ASAN_OPTIONS:-}" ]
}

# eventually COMMAND...: true as soon as the command is, false after three minutes. Tests check that something happens, not
# when. The command runs less and less often, because it takes CPU time from what it waits for.
eventually() {
	local - until=$((SECONDS + 180)) pauses=(0.05 0.08 0.12 0.18 0.27 0.4)
	# A read from a pipe in which there is nothing pauses without a program, such as sleep, that would have to be started.
	[ -p "$BATS_FILE_TMPDIR/silent" ] || mkfifo "$BATS_FILE_TMPDIR/silent"
	set +o functrace # of bats, for each command of the condition
	until "$@"; do
		[ "$SECONDS" -lt "$until" ] || return 1
		read -rt "${pauses[0]}" <>"$BATS_FILE_TMPDIR/silent" || true
		[ ${#pauses[@]} = 1 ] || pauses=("${pauses[@]:1}")
	done
}

is_idle() {
	[ "$(superuser "select (select count(*) from rota.allocation where gone_at is null) + (select count(*) from rota.node_order)
		+ (select count(*) from rota.growth where closed_at is null)")" = 0 ]
}

# has_left JOB: the job's attempts have left their nodes, epilogs included. A job has ended before that.
has_left() {
	[ "$(superuser "select count(*) from rota.allocation where job_id = $1 and gone_at is null")" = 0 ]
}

# audit: the rules that hold whatever happened to the instance; every job has ended.
audit() {
	local found
	eventually is_idle
	found=$(psql -X -h "$ROTA_HOME/run" -d rota -U postgres -v ON_ERROR_STOP=1 -At -f "$ROTA_SOURCE/tests/fault/audit.sql") || return 1
	[ -z "$found" ] || { echo "$found"; return 1; }
}
