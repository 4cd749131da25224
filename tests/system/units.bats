#!/usr/bin/env bats
# The systemd units: systemd accepts them, the daemons run in sandboxes, and each daemon can still do its work in its own.

load helper

setup_file() {
	command -v systemd-analyze >/dev/null || return 0
	UNITS=$(mktemp -d "${TMPDIR:-/tmp}/rota-test.units.XXXXXX")
	export UNITS
	for unit in "$ROTA_BUILD"/packaging/*.service; do
		name=${unit##*/}
		sed "s,^ExecStart=.*/,ExecStart=$ROTA_BIN/," <(sed 's,--config /etc/rota/rota.conf,,' "$unit") >"$UNITS/${name/@/@n1}"
	done
}

teardown_file() {
	rm -rf -- "${UNITS:-}"
}

setup() {
	command -v systemd-analyze >/dev/null || skip "no systemd-analyze"
}

teardown() {
	instance_down
	unset ROTA_TEST_DIR
}

# setting UNIT KEY: prints the values of a key, one a line.
setting() {
	sed -n "s/^$2=//p" "$UNITS/$1.service"
}

# calls NAME...: prints the system calls of these sets of systemd, one a line.
calls() {
	local name
	for name in "$@"; do
		if [[ $name == @* ]]; then
			calls $(systemd-analyze syscall-filter "$name" | sed 1d | grep -v '#')
		else
			echo "$name"
		fi
	done
}

@test "systemd verifies the units" {
	run -0 systemd-analyze verify --man=no --recursive-errors=no "$UNITS"/*.service
	[ -z "$output" ]
}

@test "the daemons are exposed no more than their work takes" {
	while read -r unit most; do
		run -0 systemd-analyze security --no-pager --offline=true --threshold="$most" "$UNITS/$unit.service"
		# The limit means something: one below what it is fails.
		refused "exposure level" systemd-analyze security --no-pager --offline=true --threshold=1 "$UNITS/$unit.service"
	done <<-END
		rota-jobmgrd 15
		rota-nodemgrd 15
		rota-runnerd 70
		rota-credd 16
		rota-launcher@n1 93
	END
	[ "$(setting rota-jobmgrd User) $(setting rota-nodemgrd User) $(setting rota-runnerd User) $(setting rota-credd User)" = "rota rota rota-hook rota-cred" ]
}

@test "runnerd can run set-user-id programs: nothing implies NoNewPrivileges" {
	run ! grep -E '^(NoNewPrivileges|PrivateDevices|ProtectClock|ProtectHostname|ProtectKernel.*|Restrict.*|MemoryDeny.*|LockPersonality|SystemCall.*|DynamicUser)=' \
		"$UNITS/rota-runnerd.service"
	for capability in SETUID SETGID CHOWN DAC_OVERRIDE; do
		[[ " $(setting rota-runnerd CapabilityBoundingSet | tr '\n' ' ')" == *" CAP_$capability "* ]]
	done
}

@test "jobs inherit no sandbox of the launcher, and it starts them with the capabilities that its unit leaves" {
	run ! grep -E '^(User|Group|NoNewPrivileges|Private.*|Protect.*|Restrict.*|MemoryDeny.*|LockPersonality|SystemCall.*|.*Paths|Device.*|RootDirectory|TemporaryFileSystem)=' \
		"$UNITS/rota-launcher@n1.service"
	dropped=$(setting rota-launcher@n1 CapabilityBoundingSet | tr -d '~' | tr 'A-Z\n' 'a-z ')
	[ -n "$dropped" ]
	for capability in sys_admin sys_ptrace sys_resource setuid setgid setpcap chown fowner dac_override kill mknod bpf perfmon sys_chroot sys_nice net_admin sys_module syslog audit_control; do
		[[ " $dropped " != *" cap_$capability "* ]]
	done
	need_root
	bounding=$(printf -- ',-%s' ${dropped//cap_/})
	printf '#!/bin/bash\ngrep CapBnd /proc/self/status\ntouch /tmp/mine\nid -un\n' >"$UNITS/job.sh"
	chmod 755 "$UNITS" "$UNITS/job.sh"
	devices=any
	[ ! -e /sys/fs/cgroup/cgroup.controllers ] && [ ! -d /sys/fs/cgroup/devices ] || devices=granted
	cat >"$UNITS/rota" <<-END
		#!/bin/sh
		exec setpriv --bounding-set '${bounding#,}' "$ROTA_BIN/rota" "\$@"
	END
	chmod 755 "$UNITS/rota"
	# Below /var/tmp: the instance must not be in a folder that is hidden from steps.
	TMPDIR=/var/tmp PATH=$UNITS:$PATH instance_up 1 --cpus 1 --mem 500 --set launcher.private_tmp=1 --set launcher.devices="$devices"
	mkdir -m 1777 "$ROTA_TEST_DIR/out"
	cd "$ROTA_TEST_DIR/out"
	job=$(as games rota submit --parsable --output="$ROTA_TEST_DIR/out/out" "$UNITS/job.sh")
	rota wait --timeout=300 "$job"
	[ "$(sed -n 2p out)" = games ]
	[ "$(sed -n 1p out)" != "$(grep CapBnd /proc/self/status)" ]
}

# connected NAME: the second daemon of the test has said so in its log.
connected() {
	grep -q connected "$ROTA_TEST_DIR/$1.log"
}

leads() {
	[ "$(superuser "select owner like 'jobmgrd 2 %' from rota.leader where name = 'schedule'")" = t ]
}

@test "jobmgrd and nodemgrd work with the system calls that their units allow" {
	! sanitized || skip "sanitizers make system calls of their own"
	command -v strace >/dev/null || skip "no strace"
	[ "$(uname -m)" = x86_64 ] || skip "other names of system calls"
	allow=() deny=()
	for word in $(setting rota-jobmgrd SystemCallFilter | sed 's/^~\(.*\)/\1/; t mark; b; :mark; s/[^ ][^ ]*/~&/g'); do
		if [[ $word == ~* ]]; then deny+=("${word#\~}"); else allow+=("$word"); fi
	done
	comm -23 <(calls "${allow[@]}" | sort -u) <(calls "${deny[@]}" | sort -u) >"$UNITS/allowed"
	[ "$(setting rota-jobmgrd SystemCallFilter)" = "$(setting rota-nodemgrd SystemCallFilter)" ]
	instance_up 1 --cpus 1 --mem 500
	sed "s,^socket *=.*gate.sock,socket = $ROTA_HOME/run/gate2.sock," "$ROTA_HOME/etc/rota.conf" >"$ROTA_TEST_DIR/rota.conf"
	user=$(stat -c %U "$ROTA_HOME/keys/sign.key")
	mkdir -m 1777 "$ROTA_TEST_DIR/calls"
	for daemon in jobmgrd nodemgrd; do
		# strace starts the daemon under its account, as systemd does.
		setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups strace -f -qq -s 0 -e signal=none -o "$ROTA_TEST_DIR/calls/$daemon" \
			"$ROTA_BIN/$daemon" --config "$ROTA_TEST_DIR/rota.conf" --name 2 >"$ROTA_TEST_DIR/$daemon.log" 2>&1 3>&- &
	done
	eventually test -S "$ROTA_HOME/run/gate2.sock"
	eventually connected jobmgrd
	eventually connected nodemgrd
	kill "$(pid_of jobmgrd)"
	eventually leads
	export ROTA_CONFIG=$ROTA_TEST_DIR/rota.conf
	printf '#!/bin/bash\ntrue\n' >"$ROTA_TEST_DIR/job.sh"
	cd "$ROTA_TEST_DIR"
	job=$(rota submit --parsable --output=/dev/null job.sh)
	rota wait --timeout=300 "$job"
	unset ROTA_CONFIG
	kill $(pgrep -f -- "--config $ROTA_TEST_DIR/rota.conf --name 2\$" | while read -r pid; do [ "$(cat "/proc/$pid/comm")" = strace ] || echo "$pid"; done)
	wait
	for daemon in jobmgrd nodemgrd; do
		sed -nE 's/^[0-9]+ +([a-z0-9_]+)\(.*/\1/p' "$ROTA_TEST_DIR/calls/$daemon" | sort -u >"$UNITS/$daemon.used"
		[ "$(wc -l <"$UNITS/$daemon.used")" -gt 20 ]
		# The first execve is strace's.
		run -0 comm -23 "$UNITS/$daemon.used" "$UNITS/allowed"
		[ -z "$output" ] || { echo "$daemon: $output"; false; }
	done
}

@test "the installed configuration is that of the manual, and is read" {
	manual=$(awk '$0 == "    # cat /etc/rota/rota.conf" { on = 1; next } on && /^[^ ]/ { exit } on { sub(/^    /, ""); print }' "$ROTA_SOURCE/docs/administering.md")
	[ "$manual" = "$(sed 1d "$ROTA_SOURCE/packaging/rota.conf")" ]
	reason=/etc/rota/keys/auth.key
	[ "$EUID" = 0 ] || reason='only root can become account "rota"'
	refused "$reason" timeout 60 jobmgrd --config "$ROTA_SOURCE/packaging/rota.conf"
	for account in $(sed -n 's/^account = //p' "$ROTA_SOURCE/packaging/rota.conf"); do
		grep -q "^u $account " "$ROTA_SOURCE/packaging/rota.sysusers"
	done
}
