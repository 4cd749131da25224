#!/usr/bin/env bats
# An ordinary user takes what a node gives a job, and reaches for more: each attack is denied. Beside each attack, the legitimate use
# works.

load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	export EVE=rsno$$ TMPDIR=${TMPDIR:-/tmp}
	users_add "$EVE"
	instance_up 1 --cpus 4 --mem 4000 --set launcher.min_uid=1000 --set launcher.max_processes=50 \
		--set launcher.devices=granted --set "launcher.device_files=tape:$TMPDIR/$EVE.device%"
	rota admin node change n1 --gres=tape:1
	mknod -m 666 "$TMPDIR/$EVE.device0" c 1 11 || true # kmsg
	export FOLDER=$ROTA_TEST_DIR/$EVE
	folders_add "$EVE"
}

teardown_file() {
	[ "$EUID" = 0 ] || return 0
	local status=0
	instance_users_down "$EVE" || status=1
	rm -f "$TMPDIR/$EVE.device0"
	return "$status"
}

setup() {
	need_root
}

@test "a job reads and runs its script, and cannot change it or write to the node's disk" {
	run_as_eve <<-'END'
		#!/bin/bash
		[ -r "$0" ] && [ -x "$0" ] && grep -q 'a line of the script' "$0" && echo reads
		chmod u+w "$0" 2>/dev/null && echo changes the mode
		{ echo more >>"$0"; } 2>/dev/null && echo writes
		find "${0%/spool/*}" "${0%/*}" -maxdepth 1 -writable 2>/dev/null
		rm -f "$0" 2>/dev/null && echo removes
		ln "$0" "$PWD/kept" 2>/dev/null && [ -w "$PWD/kept" ] && echo keeps
		echo end
	END
	[ "$output" = "$(printf 'reads\nend')" ]
	# Eve owns a socket for sub-steps, in a folder that she cannot write to.
	[ "$(find "$ROTA_HOME/node/n1" -user "$EVE" ! -type s)" = "" ]
}

@test "a script of one user is not left to the next user of the same keeper" {
	run_as_eve <<-'END'
		#!/bin/bash
		echo "first $(id -un)"
	END
	[ "$output" = "first $EVE" ]
	cd "$FOLDER"
	cp script.sh same.sh
	useradd --no-create-home --home-dir /tmp --shell /bin/bash --gid "$(id -g "$EVE")" --no-user-group "${EVE}b"
	other=$(as "${EVE}b" rota submit --parsable --output="/tmp/$EVE.%j.out" same.sh)
	rota wait "$other" >/dev/null || status=1
	[ "$(cat "/tmp/$EVE.$other.out")" = "first ${EVE}b" ]
	rm -f "/tmp/$EVE.$other.out"
	userdel "${EVE}b"
}

@test "an administrator's rota log opens plain files of the owner only" {
	run_as_eve <<-'END'
		#!/bin/bash
		echo output
	END
	[ "$(rota log "$job")" = output ]
	mkdir "$FOLDER/private"
	chown "$EVE:" "$FOLDER/private"
	chmod 700 "$FOLDER/private"
	mv "$FOLDER/$job.out" "$FOLDER/private/there"
	ln -s private/there "$FOLDER/$job.out"
	[ "$(rota log "$job")" = output ]
	ln -sf /etc/shadow "$FOLDER/$job.out"
	refused "Permission denied" rota log "$job"
	rm "$FOLDER/$job.out"
	mkfifo "$FOLDER/fifo"
	chown "$EVE:" "$FOLDER/fifo"
	ln -s fifo "$FOLDER/$job.out"
	refused "it is not a plain file" timeout 60 rota log "$job"
	refused "it is not a plain file" timeout 60 rota log -f "$job"
	ln -sf /dev/zero "$FOLDER/$job.out"
	refused "it is not a plain file" timeout 60 rota log "$job"
}

@test "a step has at most launcher.max_processes processes, and the next step as many" {
	jq -e '.limits[0].processes == "cgroup"' <<<"$(rota up --json)" >/dev/null || skip "no cgroup controller pids"
	for round in 1 2; do
		run_as_eve <<-'END'
			#!/usr/bin/perl
			pipe(my $end, my $ours);
			my $count = 0;
			while ($count < 500) {
				my $pid = fork();
				last unless defined $pid;
				if ($pid == 0) { close $ours; sysread $end, my $byte, 1; exit }
				$count++;
			}
			print $count >= 40 && $count < 50 ? "some\n" : "$count\n";
		END
		[ "$output" = some ]
		# The program may have handled the failed fork(), so the step can be completed. Its message gives the reason.
		[[ $(rota why "$job") == *"completed"*"limit of 50 processes and threads reached on node n1"* ]]
		[[ $(rota show "$job") == *"limit of 50 processes and threads reached"* ]]
	done
	run_as_eve <<-'END'
		#!/bin/bash
		echo few
	END
	[ "$output" = few ]
	[[ $(rota why "$job") != *"limit of"* ]]
}

@test "a job has a session keyring of its own, and finds the keys of its user" {
	[ -e /proc/keys ] && [ "$(uname -m)" = x86_64 ] || skip "no keyrings, or their system calls have other numbers"
	# keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING)
	echo 'print syscall(250, 0, -3, 0), "\n"' >"$FOLDER/keyring.pl"
	chmod 644 "$FOLDER/keyring.pl"
	launcher=$(perl "$FOLDER/keyring.pl") # the launcher has inherited the keyring of rota up, and this shell's
	for round in 1 2; do
		run_as_eve <<-END
			#!/bin/bash
			perl "$FOLDER/keyring.pl"
			perl "$FOLDER/keyring.pl"
			perl -e 'my (\$type, \$name, \$data) = ("user", "rota-test", "secret");
				syscall(248, \$type, \$name, \$data, 6, -3) > 0 or die "no key: \$!";
				syscall(250, 10, -3, \$type, \$name, 0) > 0 or die "not found: \$!";
				print "key\n"'
		END
		read -r -d '' first second key <<<"$output" || true
		[ "$first" -gt 0 ] && [ "$first" = "$second" ] && [ "$key" = key ]
		[ "$first" != "$launcher" ] && [ "$first" != "${before:-}" ]
		before=$first
	done
}

@test "a step uses the devices that it was granted, and no others" {
	[ -d /sys/fs/cgroup/devices ] || [ -e /sys/fs/cgroup/cgroup.controllers ] || skip "no cgroups"
	device=$TMPDIR/$EVE.device0
	{ : >>"$device"; } 2>/dev/null || skip "no device files on this file system"
	script() {
		cat <<-END
			#!/bin/bash
			head -c 1 /dev/zero >/dev/null && head -c 1 /dev/urandom >/dev/null && : >>/dev/full && echo standard
			{ : >>"$device"; } 2>/dev/null && echo granted
			echo end
		END
	}
	run_as_eve --gres=tape:1 <<<"$(script)"
	[ "$output" = "$(printf 'standard\ngranted\nend')" ]
	run_as_eve <<<"$(script)"
	[ "$output" = "$(printf 'standard\nend')" ]
	run_as_eve --gres=tape:1 <<<"$(script)"
	[ "$output" = "$(printf 'standard\ngranted\nend')" ]
}
