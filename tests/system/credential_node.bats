#!/usr/bin/env bats
# Credentials on a node: the launcher and its keepers get boxes from launcher_driver, which has the key of rota-credd. Each
# refusal stands beside a box that is accepted. As root, tasks run as a temporary user; otherwise as the caller.

bats_require_minimum_version 1.5.0

load launcher

setup_file() {
	KEYED=1 driver_up
	export SECRET="s3cret-$$-$RANDOM$RANDOM$RANDOM"
}

teardown_file() {
	driver_down
}

# box JOB NAME [SETTING...]: seal $TEXT for an attempt of user $WHO, as version 1 of a credential of kind file.
box() {
	printf '%s' "${TEXT-$SECRET}" | drive box "$1" "$2" "uid=$(id -u "$WHO")" "${@:3}"
}

# start JOB LIST [SETTING...]: a step with these credentials that runs until $DIR/work/JOB.go is there.
start() {
	launch "$1" "credentials=$2" "${@:3}" <<-'END'
		#!/bin/bash
		env >"$ROTA_JOB_ID.env"
		cp -r "$ROTA_CREDENTIALS" "$ROTA_JOB_ID.copy"
		stat -c '%a %U %F %n' "$ROTA_CREDENTIALS" "$ROTA_CREDENTIALS"/* >"$ROTA_JOB_ID.stat"
		echo begun
		until [ -e "$ROTA_JOB_ID.go" ]; do sleep 0.3; done
		echo over
	END
}

go() { # JOB: let its tasks end
	touch "$DIR/work/$1.go"
	record "$1" end
}

folder() { # JOB
	sed -n 's/^ROTA_CREDENTIALS=//p' "$DIR/work/$1.env"
}

comes() { # FILE TEXT: wait until the file has the text
	for i in $(seq 1200); do [ "$(cat "$1" 2>/dev/null)" = "$2" ] && return 0; sleep 0.2; done
	return 1
}

logged() { # JOB TEXT [COUNT]: wait until the launcher has logged the text about the job's first step so many times, or once
	for i in $(seq 1200); do [ "$(grep -c "$1.0.1: $2" "$DIR/n1.log")" -ge "${3:-1}" ] && return 0; sleep 0.2; done
	return 1
}

clean() { # JOB FOLDER: no file of the job's credentials is left
	gone "$2"
	[ -z "$(find "$DIR/node/n1/cache" -name "cred.$1.*")" ]
	run ! grep -q "$2" /proc/mounts
	gone "$DIR/node/n1/spool/$1.0.1"
}

refused_at() { # JOB TEXT: the attempt fails on this node with this text, and no task has run
	record "$1" done
	[[ $output == *"outcome=node_fail"*"$2"* ]] || { echo "$output"; return 1; }
	record "$1" end
	[ ! -e "$DIR/work/$1.env" ]
	[[ $output != *"$SECRET"* ]]
	gone "$DIR/node/n1/spool/$1.0.1"
	[ -z "$(find "$DIR/node/n1/cache" -name "cred.$1.*")" ]
}

@test "each kind is where its programs look for it, for the owner alone" {
	box 900 tickets kind=krb5
	box 900 proxy kind=x509
	box 900 storage kind=token
	TEXT=plain box 900 notes
	start 900 tickets,proxy,storage,notes env:KRB5CCNAME=/tmp/of-a-login env:HTTP=1
	printed 900 begun
	folder=$(folder 900)
	grep -qx "KRB5CCNAME=FILE:$folder/tickets" "$DIR/work/900.env"
	grep -qx "X509_USER_PROXY=$folder/proxy" "$DIR/work/900.env"
	grep -qx "BEARER_TOKEN_FILE=$folder/storage" "$DIR/work/900.env"
	run ! grep -q "^SSH_AUTH_SOCK=" "$DIR/work/900.env"
	[ "$(cat "$DIR/work/900.copy/tickets")" = "$SECRET" ]
	[ "$(cat "$DIR/work/900.copy/notes")" = plain ]
	[ "$(sed 1d "$DIR/work/900.stat" | cut -d' ' -f1-4 | sort -u)" = "600 $WHO regular file" ]
	[ "$(sed -n 1p "$DIR/work/900.stat")" = "700 $WHO directory $folder" ]
	[ "$(stat -f -c %T "$folder")" = tmpfs ]
	go 900
	clean 900 "$folder"
}

@test "a step without credentials keeps the variables that its user exported" {
	launch 901 env:KRB5CCNAME=/tmp/mine env:SSH_AUTH_SOCK=/tmp/agent env:ROTA_CREDENTIALS=/tmp/no <<-'END'
		#!/bin/bash
		echo "$KRB5CCNAME $SSH_AUTH_SOCK ${ROTA_CREDENTIALS-none}"
	END
	record 901 end
	[ "$(cat "$DIR/work/901.out")" = "/tmp/mine /tmp/agent none" ]
}

@test "the folder is a tmpfs of the attempt, which no other user enters and which holds no programs" {
	as_root
	box 902 notes
	start 902 notes
	printed 902 begun
	folder=$(folder 902)
	options=$(sed -nE "s#^[^ ]+ $folder tmpfs ([^ ]*) .*#\1#p" /proc/mounts)
	for option in nosuid nodev noexec mode=700 "uid=$(id -u "$WHO")"; do [[ ,$options, == *,$option,* ]]; done
	# The file is not swapped either, if the kernel can prevent that.
	mkdir "$BATS_TEST_TMPDIR/mount"
	if mount -t tmpfs -o noswap rota "$BATS_TEST_TMPDIR/mount" 2>/dev/null; then
		umount "$BATS_TEST_TMPDIR/mount"
		[[ ,$options, == *,noswap,* ]]
	fi
	run -1 setpriv --reuid "$OTHER" --regid "$(id -g "$OTHER")" --clear-groups cat "$folder/notes"
	run -2 setpriv --reuid "$OTHER" --regid "$(id -g "$OTHER")" --clear-groups ls "$folder"
	go 902
	clean 902 "$folder"
}

@test "prologs and epilogs of the user find the credentials; those of the site do not" {
	cat >"$DIR/hook" <<-'END'
		#!/bin/bash
		cat "$ROTA_CREDENTIALS/notes" >>"$ROTA_JOB_ID.hooks"
	END
	chmod 755 "$DIR/hook"
	box 903 notes
	start 903 notes "user_prolog=$DIR/hook" "user_epilog=$DIR/hook"
	printed 903 begun
	folder=$(folder 903)
	go 903
	[ "$(cat "$DIR/work/903.hooks")" = "$SECRET$SECRET" ]
	run ! grep -q ROTA_CREDENTIALS "$DIR/prolog.903.log"
	clean 903 "$folder"
}

@test "a renewed credential replaces the one of running tasks, a removed one goes, and an older one is refused" {
	TEXT=first box 904 notes version=7
	start 904 notes
	printed 904 begun
	folder=$(folder 904)
	TEXT=second box 904 notes version=8
	control 904 credentials
	comes "$folder/notes" second
	# The next box replaces this one in the cache, so wait until the launcher has read this one.
	TEXT=stale box 904 notes version=7
	control 904 credentials
	logged 904 'credential "notes" is not renewed: its box in the cache is older'
	TEXT=forged box 904 notes version=7 header=9
	control 904 credentials
	logged 904 'credential "notes" is not renewed: the box was sealed for another key'
	[ "$(cat "$folder/notes")" = second ]
	TEXT=token box 904 notes version=9 kind=token
	control 904 credentials
	logged 904 'credential "notes" is not renewed: its new box has a secret of kind'
	[ "$(cat "$folder/notes")" = second ]
	rm "$DIR/node/n1/cache/cred.904.0.1.notes"
	control 904 credentials
	gone "$folder/notes"
	# the removed version does not come back
	TEXT=second box 904 notes version=8
	control 904 credentials
	logged 904 'credential "notes" is not renewed: its box in the cache is older' 2
	[ ! -e "$folder/notes" ]
	TEXT=third box 904 notes version=9
	control 904 credentials
	comes "$folder/notes" third
	[ "$(stat -c '%a %U' "$folder/notes")" = "600 $WHO" ]
	go 904
	clean 904 "$folder"
}

@test "links and folders that the owner puts in the way of a new version lead nowhere" {
	TEXT=first box 905 notes
	launch 905 credentials=notes <<-'END'
		#!/bin/bash
		cd "$ROTA_CREDENTIALS" || exit
		env >"$OLDPWD/905.env"
		rm notes
		ln -s "$OLDPWD/905.victim" notes
		echo begun
		until [ -e "$OLDPWD/905.half" ]; do sleep 0.3; done
		rm -f notes && mkdir -p notes/full
		echo half
		until [ -e "$OLDPWD/905.go" ]; do sleep 0.3; done
	END
	printed 905 begun
	folder=$(folder 905)
	echo precious >"$DIR/work/905.victim"
	TEXT=second box 905 notes version=2
	control 905 credentials
	comes "$folder/notes" second
	[ ! -L "$folder/notes" ]
	touch "$DIR/work/905.half"
	printed 905 half
	TEXT=third box 905 notes version=3
	control 905 credentials
	logged 905 'credential "notes" is not renewed'
	grep -q '905.0.1: credential "notes" is not renewed: could not write' "$DIR/n1.log"
	go 905
	[ "$(cat "$DIR/work/905.victim")" = precious ]
	clean 905 "$folder"
}

@test "a box of another attempt, node, instance, user or name, or of another sender, is refused" {
	openssl genpkey -algorithm x25519 -out "$DIR/keys/stranger.key" 2>/dev/null
	chmod 400 "$DIR/keys/stranger.key"
	job=910
	for setting in job=1 attempt=2 node=n2 instance=other uid=4242 "sender=$DIR/keys/stranger.key" header=2; do
		box "$job" notes "$setting"
		start "$job" notes
		refused_at "$job" 'credential "notes": the box was sealed for another key'
		job=$((job + 1))
	done
	box "$job" other file=notes
	start "$job" notes
	refused_at "$job" 'credential "notes": the box was sealed for another key'
	job=$((job + 1))
	start "$job" notes
	refused_at "$job" 'credential "notes": the node did not get it'
	job=$((job + 1))
	echo short >"$DIR/node/n1/cache/cred.$job.0.1.notes"
	start "$job" notes
	refused_at "$job" 'credential "notes": its file in the cache is malformed'
	job=$((job + 1))
	box "$job" notes
	mv "$DIR/node/n1/cache/cred.$job.0.1.notes" "$DIR/box"
	ln -s "$DIR/box" "$DIR/node/n1/cache/cred.$job.0.1.notes"
	start "$job" notes
	refused_at "$job" 'credential "notes": could not open "cache/'
}

@test "an ssh-agent of the attempt has the keys, which are in no file" {
	ssh-keygen -q -t ed25519 -N '' -C one -f "$DIR/one"
	ssh-keygen -q -t ed25519 -N '' -C two -f "$DIR/two"
	cat >"$DIR/agent_hook" <<-'END'
		#!/bin/bash
		ssh-add -l | cut -d' ' -f2 >>"$ROTA_JOB_ID.hooks"
	END
	chmod 755 "$DIR/agent_hook"
	TEXT=$(cat "$DIR/one")$'\n' box 960 deploy kind=ssh-key
	launch 960 credentials=deploy "user_prolog=$DIR/agent_hook" "user_epilog=$DIR/agent_hook" env:SSH_AUTH_SOCK=/tmp/of-a-login <<-'END'
		#!/bin/bash
		env >960.env
		ssh-add -l | cut -d' ' -f2
		ls -A "$ROTA_CREDENTIALS"
		echo begun
		until [ -e 960.go ]; do sleep 0.3; done
	END
	printed 960 begun
	folder=$(folder 960)
	grep -qx "SSH_AUTH_SOCK=$folder/.agent" "$DIR/work/960.env"
	one=$(ssh-keygen -lf "$DIR/one.pub" | cut -d' ' -f2) two=$(ssh-keygen -lf "$DIR/two.pub" | cut -d' ' -f2)
	[ "$(cat "$DIR/work/960.out")" = "$one"$'\n.agent\nbegun' ]
	TEXT=$(cat "$DIR/two")$'\n' box 960 deploy kind=ssh-key version=2
	control 960 credentials
	for i in $(seq 1200); do SSH_AUTH_SOCK=$folder/.agent ssh-add -l | grep -qF "$two" && break; sleep 0.2; done
	[ "$(SSH_AUTH_SOCK=$folder/.agent ssh-add -l | cut -d' ' -f2)" = "$two" ]
	go 960
	[ "$(cat "$DIR/work/960.hooks")" = "$one"$'\n'"$two" ]
	clean 960 "$folder"
	run ! pgrep -f "ssh-agent -a $folder"
}

@test "a key that ssh-add does not take fails the step, which says so" {
	box 961 deploy kind=ssh-key
	start 961 deploy
	record 961 done
	[[ $output == *"message=ssh-agent did not start, or ssh-add did not take a key"* ]]
	record 961 end
	[ ! -e "$DIR/work/961.env" ]
}

# search NAMES: print files and processes in which the secret is: files of the node, journal and log, and environment, command line and
# memory of processes whose names begin like NAMES.
search() {
	grep -rlaF --exclude-dir=work "$SECRET" "$DIR" 2>/dev/null
	[ "$EUID" != 0 ] || perl -e '
		my ($names, $secret) = @ARGV;
		for my $process (glob "/proc/[0-9]*") {
			my ($pid) = $process =~ /(\d+)$/;
			open my $stat, "<", "$process/comm" or next;
			chomp(my $name = <$stat>);
			next unless $name =~ /^($names)/;
			for my $file ("environ", "cmdline") {
				open my $in, "<", "$process/$file" or next;
				local $/;
				my $text = <$in> // "";
				print "$name $file\n" if index($text, $secret) >= 0;
			}
			open my $maps, "<", "$process/maps" or next;
			open my $memory, "<", "$process/mem" or next;
			while (<$maps>) {
				my ($from, $to) = /^([0-9a-f]+)-([0-9a-f]+) r/ or next;
				next if /\[v/;
				sysseek $memory, hex $from, 0 or next;
				my $size = hex($to) - hex($from);
				next if $size > 256 << 20 or !sysread $memory, my $bytes, $size;
				print "$name memory\n" if index($bytes, $secret) >= 0;
			}
		}' "$1" "$SECRET"
}

@test "the secret is nowhere but in the folder: no file, journal, log, environment or memory of a daemon" {
	box 930 notes kind=token
	launch 930 credentials=notes <<-'END'
		#!/bin/bash
		env >930.env
		echo begun
		until [ -e 930.go ]; do sleep 0.3; done
	END
	printed 930 begun
	folder=$(folder 930)
	[ "$(cat "$folder/notes")" = "$SECRET" ]
	local daemons='rota-|procmgrd|launcher_driver'
	run search "$daemons"
	[ -z "$(grep -v "^$folder/notes\$" <<<"$output")" ]
	if [ "$EUID" = 0 ]; then # the search finds existing secrets: the file, and the variable of this test
		[ "$output" = "$folder/notes" ]
		run search bash
		[[ $output == *"bash environ"* && $output == *"bash memory"* ]]
	fi
	# No other process may read the memory of the keeper, and it leaves no core file.
	keeper=$(drive journal 930.0.1 keeper | sed -nE 's/.* pid=([0-9]+).*/\1/p')
	[ "$EUID" != 0 ] || run ! setpriv --reuid "$WHO" --clear-groups --regid "$(id -g "$WHO")" cat "/proc/$keeper/maps"
	[ "$(stat -c %u "/proc/$keeper/maps")" = 0 ]
	go 930
	clean 930 "$folder"
	run search "$daemons"
	[ -z "$output" ]
}

@test "a killed keeper's credentials are destroyed by the launcher" {
	box 940 notes
	start 940 notes
	printed 940 begun
	folder=$(folder 940)
	keeper=$(drive journal 940.0.1 keeper | sed -nE 's/.* pid=([0-9]+).*/\1/p')
	kill -9 "$keeper"
	record 940 end
	clean 940 "$folder"
}

@test "when keeper and launcher were killed, the next launcher destroys the credentials" {
	box 941 notes
	start 941 notes
	printed 941 begun
	folder=$(folder 941)
	keeper=$(drive journal 941.0.1 keeper | sed -nE 's/.* pid=([0-9]+).*/\1/p')
	stop_launcher KILL
	kill -9 "$keeper"
	[ -e "$folder" ]
	touch "$DIR/node/n1/cache/cred.4711.0.1.notes"
	start_launcher
	record 941 end
	clean 941 "$folder"
	[ ! -e "$DIR/node/n1/cache/cred.4711.0.1.notes" ]
}

@test "credentials stay while the launcher is started again, and can be renewed then" {
	TEXT=first box 942 notes
	start 942 notes
	printed 942 begun
	folder=$(folder 942)
	stop_launcher TERM
	start_launcher
	[ "$(cat "$folder/notes")" = first ]
	TEXT=second box 942 notes version=2
	control 942 credentials
	comes "$folder/notes" second
	go 942
	clean 942 "$folder"
}

@test "a node without keys refuses steps with credentials, and runs others" {
	stop_launcher TERM
	mv "$DIR/keys/node.key" "$DIR/keys/node.away"
	start_launcher
	start 950 notes
	refused_at 950 'give it the keys node.key and cred.pub'
	echo '#!/bin/true' | launch 951
	record 951 end
	stop_launcher TERM
	cp "$DIR/keys/node.away" "$DIR/keys/node.key"
	chmod 644 "$DIR/keys/node.key"
	start_launcher
	grep -q 'steps with credentials cannot run here: key file ".*node.key" can be read by others' "$DIR/n1.log"
	stop_launcher TERM
	mv -f "$DIR/keys/node.away" "$DIR/keys/node.key"
	start_launcher
	box 952 notes
	start 952 notes
	printed 952 begun
	go 952
}
