#!/usr/bin/env bats
# Attacks: on the API, in the database, and from inside a job. Eve is an ordinary user; at worst she has
# stolen the database.

load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	export EVE=reve$$ VIC=rvic$$
	local user
	for user in "$EVE" "$VIC"; do
		useradd --no-create-home --home-dir "/tmp/$user" --shell /bin/bash "$user"
	done
	HOOKS=$(mktemp -d /tmp/rota-hooks.XXXXXX)
	export HOOKS
	for hook in prolog epilog; do
		cat >"$HOOKS/$hook" <<-'END'
			#!/bin/bash
			log=$0.$ROTA_JOB_ID.log # what was cancelled before may still be at its epilog
			date +%s%N >"$0.$ROTA_JOB_ID.at"
			env >>"$log"
			id -un >>"$log"
			ls -l /proc/self/fd >>"$log"
			echo "$0 done"
		END
	done
	chmod -R go= "$HOOKS"
	chmod 700 "$HOOKS"/prolog "$HOOKS"/epilog
	instance_up 2 --cpus 8 --mem 4000 --set node.grace=1 --site-prolog "$HOOKS/prolog" --site-epilog "$HOOKS/epilog"
	for user in "$EVE" "$VIC"; do
		mkdir "$ROTA_TEST_DIR/$user"
		chown "$user:" "$ROTA_TEST_DIR/$user"
	done
	export GATE=$ROTA_HOME/run/gate.sock MUNGE=$ROTA_HOME/run/munge.sock
}

teardown_file() {
	[ "$EUID" = 0 ] || return 0
	local status=0
	instance_down || status=1
	for user in "$EVE" "$VIC"; do
		userdel "$user" || status=1
	done
	rm -rf -- "$HOOKS"
	return "$status"
}

setup() {
	need_root
}

teardown() {
	local jobs
	[ "$EUID" = 0 ] || return 0
	jobs=$(rota queue --json | jq -r '.jobs[] | select(.state != "starting") | .job_id')
	[ -z "$jobs" ] || rota cancel $jobs >/dev/null
}

# script NAME <<END: make a file that all users can read.
script() {
	cat >"$ROTA_TEST_DIR/$1"
}

# submit USER [OPTION]... SCRIPT: submit as that user, from their folder; prints the job's id.
submit() {
	local user=$1
	shift
	(cd "$ROTA_TEST_DIR/$user" && as "$user" rota submit --parsable "$@")
}

ended() { # JOB: prints state, cause and message of its first step, once the step has ended
	rota wait --timeout=300 "$1" >/dev/null 2>&1 || [ $? -ne 124 ] || { echo "job $1 does not end" >&2; return 1; }
	rota sql -Atc "select state || '|' || cause || '|' || coalesce(message, '') from rota.step where job_id = $1 and step_id = 0"
}

# read_ends JOB...: the same for many jobs, into the array END by job.
read_ends() {
	local job end
	declare -gA END=()
	rota wait --timeout=300 "$@" >/dev/null 2>&1 || [ $? -ne 124 ]
	while IFS=' ' read -r job end; do END[$job]=$end; done < <(rota sql -Atc "select job_id || ' ' || state || '|' || cause || '|' || coalesce(message, '')
		from rota.step where job_id in ($(IFS=,; echo "$*")) and step_id = 0")
}

step_is() { # JOB STATE
	[ "$(rota sql -Atc "select state from rota.step where job_id = $1 and step_id = 0")" = "$2" ]
}

processes_of() { # USER: prints the number of that user's processes, without zombies
	ps -o stat= -u "$1" | grep -cv '^Z' || true
}

# The API

# credential METHOD TARGET [BODY [OPTION OF munge]...]: prints a credential of Eve for this request.
credential() {
	local method=$1 target=$2 body=${3:-}
	shift $(($# < 3 ? $# : 3))
	printf 'rota2:%s unix:rota' "$({ printf '%s %s\n' "$method" "$target"; printf %s "$body"; } | sha256sum | cut -d' ' -f1)" |
		as "$EVE" munge --socket="$MUNGE" "$@"
}

# request CREDENTIAL PATH [OPTION OF curl]...: prints status and answer of Eve's request.
request() {
	local credential=$1 path=$2
	shift 2
	as "$EVE" curl -s -m 120 --expect100-timeout 60 -w ' [%{http_code}]' --unix-socket "$GATE" -H "Authorization: Munge $credential" "$@" "http://gate$path" || true
}

# raw SECONDS <BYTES: prints the API's answer to these bytes within that time.
raw() {
	perl -MIO::Socket::UNIX -MTime::HiRes=alarm -e '
		$SIG{PIPE} = "IGNORE"; $SIG{ALRM} = sub { exit }; alarm shift; $| = 1;
		$gate = IO::Socket::UNIX->new(Peer => $ENV{GATE}) or die $!;
		binmode STDIN; local $/ = \65536;
		while (<STDIN>) { last unless defined syswrite $gate, $_ }
		print while sysread $gate, $_, 65536' "$1"
}

@test "a valid credential is accepted, so each refusal below has its own cause" {
	run request "$(credential GET /v1/queue)" /v1/queue
	[[ $output == *'"jobs"'*'[200]' ]]
	run request "$(credential POST /v1/queue '{"all":true}')" /v1/queue -d '{"all":true}'
	[[ $output == *'[200]' ]]
}

@test "a credential is good once" {
	one=$(credential GET /v1/queue)
	request "$one" /v1/queue
	run request "$one" /v1/queue
	[[ $output == *'used before'*'[401]' ]]
}

@test "a credential is good for a while" {
	one=$(credential GET /v1/queue '' --ttl=1)
	sleep 2.1
	run request "$one" /v1/queue
	[[ $output == *'has expired'*'[401]' ]]
}

@test "a credential is good for one method, one target and one body" {
	run request "$(credential GET /v1/queue)" /v1/nodes
	[[ $output == *'covers another request'*'[401]' ]]
	run request "$(credential GET /v1/queue)" "/v1/queue?all=true"
	[[ $output == *'covers another request'*'[401]' ]]
	run request "$(credential GET /v1/queue)" /v1/queue -X POST
	[[ $output == *'covers another request'*'[401]' ]]
	run request "$(credential POST /v1/cancel '{"jobs":["1"]}')" /v1/cancel -d '{"jobs":["2"]}'
	[[ $output == *'covers another request'*'[401]' ]]
	run request "$(credential POST /v1/cancel '{"jobs":["1"]}')" /v1/cancel -d '{"jobs":["1"]} '
	[[ $output == *'covers another request'*'[401]' ]]
	run request "$(printf 'rota2:%064d unix:rota' 0 | as "$EVE" munge --socket="$MUNGE")" /v1/queue
	[[ $output == *'covers another request'*'[401]' ]]
	run request "$(as "$EVE" munge --socket="$MUNGE" </dev/null)" /v1/queue
	[[ $output == *'not made for this version'*'[401]' ]]
}

@test "the limits of a submission name only the caller's own default credentials" {
	superuser "insert into rota.credential_default (uid, user_name, names) values (1, 'daemon', 'hidden'), ($(id -u "$EVE"), '$EVE', 'own')"
	run request "$(credential GET /v1/limits)" /v1/limits
	[[ $output == *partitions*"\"own\""*'[200]' || $output == *"\"own\""*partitions*'[200]' ]]
	[[ $output != *hidden* ]]
	run request "$(credential GET '/v1/limits?credential_defaults=all')" '/v1/limits?credential_defaults=all'
	[[ $output == *'unknown member'*'[422]' && $output != *hidden* ]]
	superuser "delete from rota.credential_default"
}

@test "a credential made with another key, altered, garbled or missing is none" {
	one=$(credential GET /v1/queue)
	run request "${one:0:40}$([ "${one:40:1}" = A ] && echo B || echo A)${one:41}" /v1/queue
	[[ $output == *'[401]' ]]
	for one in '' x MUNGE: MUNGE:AAAA: "MUNGE:$(head -c 3000 /dev/urandom | base64 -w 0):" "$(printf '%%n%%s')" "$(head -c 30000 /dev/zero | tr '\0' A)"; do
		run request "$one" /v1/queue
		[[ $output == *'[401]' ]]
	done
	run curl -s --unix-socket "$GATE" -w '[%{http_code}]' -H 'Authorization: Basic cm9vdDo=' http://gate/v1/queue
	[[ $output == *'[401]' ]]
	run curl -s --unix-socket "$GATE" -w '[%{http_code}]' http://gate/v1/queue
	[[ $output == *'[401]' ]]
	# Eve's own munged says that she is root.
	mkdir "$ROTA_TEST_DIR/$EVE/munge"
	head -c 1024 /dev/urandom >"$ROTA_TEST_DIR/$EVE/munge/key"
	chown -R "$EVE:" "$ROTA_TEST_DIR/$EVE/munge"
	chmod -R go= "$ROTA_TEST_DIR/$EVE/munge/key"
	PATH=$PATH:/usr/sbin setpriv --reuid "$EVE" --regid "$EVE" --clear-groups munged --foreground --force --origin=127.0.0.1 \
		--key-file="$ROTA_TEST_DIR/$EVE/munge/key" --socket="$ROTA_TEST_DIR/$EVE/munge/socket" --pid-file="$ROTA_TEST_DIR/$EVE/munge/pid" \
		--seed-file="$ROTA_TEST_DIR/$EVE/munge/seed" --log-file="$ROTA_TEST_DIR/$EVE/munge/log" >/dev/null 2>&1 3>&- &
	pid=$!
	eventually test -S "$ROTA_TEST_DIR/$EVE/munge/socket"
	one=$(printf 'rota2:%s unix:rota' "$(printf 'GET /v1/queue\n' | sha256sum | cut -d' ' -f1)" | munge --socket="$ROTA_TEST_DIR/$EVE/munge/socket")
	kill "$pid"
	run request "$one" /v1/queue
	[[ $output == *"not made with this instance's munge key"*'[401]' ]]
	wait "$pid" || true
}

@test "bytes that are no request get a short answer, and the API serves on" {
	for verb in /v1/nosuchverb /v1/ququ /v2/queue / /v1/../etc/passwd /v1/queue/ "/v1/%71ueue" "/v1/queue%00"; do
		run request x "$verb" --path-as-is
		[[ $output == *'"error"'*'[404]' || $output == *'[400]' || $output == *'[401]' ]]
	done
	for method in PUT DELETE PATCH OPTIONS; do
		run request x /v1/queue -X "$method"
		[[ $output == *'[405]' ]]
	done
	run request x /v1/cancel
	[[ $output == *'[405]' ]]
	for body in '{' '[]' 5 null '{"jobs":1,"jobs":2}' '{"jobs":"\u0000"}' '{"jobs":["\ud800"]}' '{"limit":1e999}' \
		"$(printf '{"a":%.0s' {1..3000})" "$(printf '{"a":"\377"}')"; do
		run request "$(credential POST /v1/queue "$body")" /v1/queue -d "$body"
		[[ $output == *'"error"'*'[400]' ]]
	done
	for body in '{"jobs":{}}' '{"jobs":5}' '{"jobs":[null]}' '{"jobs":[[]]}' '{"jobs":["99999999999999999999"]}' '{"jobs":["1.a[5-3]"]}' '{"limit":"x"}' \
		'{"limit":-1}' '{"states":["x"]}' '{"all":"perhaps"}' '{"users":"alice"}' '{"":1}'; do
		run request "$(credential POST /v1/queue "$body")" /v1/queue -d "$body"
		[[ $output == *'"error"'*'[422]' || $output == *'[404]' ]]
	done
	# A misspelt filter would filter nothing.
	run request "$(credential GET '/v1/acct?users=alice')" '/v1/acct?users=alice'
	[[ $output == *'unknown member \"users\" of the request'*'Perhaps you mean \"user\"'*'[422]' ]]
	for bytes in '\x00\x01\x02\x03\xff\xfe' 'GET\r\n\r\n' 'GET /v1/ping HTTP/9.9\r\n\r\n' 'POST /v1/queue HTTP/1.1\r\nContent-Length: -1\r\n\r\n' \
		'POST /v1/queue HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n' 'POST /v1/queue HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n' \
		'GET /v1/queue HTTP/1.1\r\n: x\r\n\r\n' '\r\n\r\n\r\n'; do
		printf "$bytes" | raw 0.3 >"$BATS_TEST_TMPDIR/answer"
		[ "$(stat -c %s "$BATS_TEST_TMPDIR/answer")" -lt 2000 ]
	done
	head -c 300000 /dev/urandom | raw 1 >"$BATS_TEST_TMPDIR/answer"
	[ "$(stat -c %s "$BATS_TEST_TMPDIR/answer")" -lt 2000 ]
	as "$VIC" rota queue
}

@test "over-long headers and bodies are cut short" {
	head -c 200000 /dev/zero | tr '\0' a >"$BATS_TEST_TMPDIR/long"
	run curl -s --unix-socket "$GATE" -w '[%{http_code}]' -H "X-Long: $(head -c 100000 "$BATS_TEST_TMPDIR/long")" http://gate/v1/ping
	[[ $output == *'[400]' ]]
	run curl -s --unix-socket "$GATE" -w '[%{http_code}]' "http://gate/v1/ping?$(head -c 100000 "$BATS_TEST_TMPDIR/long")"
	[[ $output == *'[400]' || $output == *'[414]' ]]
	head -c 17000000 /dev/zero >"$ROTA_TEST_DIR/large"
	run request x /v1/submit --data-binary "@$ROTA_TEST_DIR/large"
	[[ $output == *'[413]' ]]
	run request x /v1/submit -H 'Transfer-Encoding: chunked' --data-binary "@$ROTA_TEST_DIR/large"
	[[ $output == *'[413]' ]]
	head -c 2000000 /dev/zero >"$ROTA_TEST_DIR/large"
	run request x /v1/cancel --data-binary "@$ROTA_TEST_DIR/large"
	[[ $output == *'has more than 1048576 bytes'*'[413]' ]]
	body="{\"jobs\":[$(seq -s, 1 10001)]}"
	run request "$(credential POST /v1/queue "$body")" /v1/queue -d "$body"
	[[ $output == *'more than 10000 jobs'*'[422]' ]]
	as "$VIC" rota queue
}

# are_left: no client is connected to jobmgrd. It notices a moment later that a client has ended.
are_left() {
	[ -z "$(ss -Hx state established src "$GATE")" ]
}

@test "a long poll ends with its client, also with one that resets its connection, or has sent its next request" {
	job=$(submit "$EVE" --hold --output=/dev/null --wrap true)
	body="{\"jobs\":[\"$job\"],\"timeout_s\":3600}"
	asked() {
		[ "$(superuser "select count(*) from pg_stat_activity
			where application_name like 'jobmgrd%' and query ~ 'job_wait' and query_start > '$since'")" -gt 0 ]
	}
	for next in '' 'GET /v1/queue HTTP/1.1'; do
		since=$(superuser 'select clock_timestamp()')
		rm -f "$ROTA_TEST_DIR/go"
		# The kernel resets a connection whose client has not read all that it got.
		as "$EVE" env BODY="$body" NEXT="$next" GO="$ROTA_TEST_DIR/go" CREDENTIAL="$(credential POST /v1/wait "$body")" \
			perl -MIO::Socket::UNIX -MIO::Select -e '
			my $gate = IO::Socket::UNIX->new(Peer => $ENV{GATE}) or die $!;
			my $expect = $ENV{NEXT} ? "" : "Expect: 100-continue\r\n";
			syswrite $gate, "POST /v1/wait HTTP/1.1\r\nHost: gate\r\n${expect}Authorization: Munge $ENV{CREDENTIAL}\r\nContent-Length: " .
				length($ENV{BODY}) . "\r\n\r\n";
			$expect and IO::Select->new($gate)->can_read(60) || die "no 100 Continue";
			syswrite $gate, $ENV{BODY} . $ENV{NEXT};
			select undef, undef, undef, 0.1 until -e $ENV{GO}' 3>&- &
		eventually asked
		run ! are_left
		touch "$ROTA_TEST_DIR/go"
		wait "$!"
		eventually are_left
	done
	as "$EVE" rota cancel "$job"
}

@test "one user's requests do not fill the memory" {
	jobmgrd=$(pid_of jobmgrd)
	# Twenty requests of 15 MiB, each short of its last byte.
	run setpriv --reuid "$EVE" --regid "$EVE" --clear-groups perl -MIO::Socket::UNIX -e '
		$SIG{PIPE} = "IGNORE";
		my $large = "x" x 1048576;
		for (1 .. 20) {
			my $gate = IO::Socket::UNIX->new(Peer => $ENV{GATE}) or die $!;
			push @gates, $gate;
			defined syswrite $gate, "POST /v1/submit HTTP/1.1\r\nContent-Length: 15728641\r\n\r\n" or next;
			for (1 .. 15) { defined syswrite $gate, $large or do { $cut++; last } }
		}
		open $status, "/proc/$ARGV[0]/status"; /^VmRSS:\s+(\d+)/ and $size = $1 for <$status>;
		print "$cut $size"' "$jobmgrd"
	read -r cut size <<<"$output"
	[ "$cut" -ge 10 ]
	sanitized || [ "$size" -lt 200000 ]
	as "$VIC" rota queue
}

@test "half-open and slow clients do not block others" {
	# As many connections as Eve can get, each in the middle of its request.
	setpriv --reuid "$EVE" --regid "$EVE" --clear-groups perl -MIO::Socket::UNIX -e '
		$SIG{PIPE} = "IGNORE";
		for (1 .. 700) {
			my $gate = IO::Socket::UNIX->new(Peer => $ENV{GATE}) or last;
			syswrite $gate, ("", "GET /v1/qu", "POST /v1/queue HTTP/1.1\r\nContent-Length: 1000\r\n\r\n{", "GET /v1/queue HTTP/1.1\r\nX: ")[$_ % 4];
			push @gates, $gate;
		}
		$| = 1; print "open\n";
		for (;;) { select undef, undef, undef, 0.5; syswrite $_, "a" for @gates }' >"$BATS_TEST_TMPDIR/slow" 3>&- &
	pid=$!
	eventually grep -q open "$BATS_TEST_TMPDIR/slow"
	for i in 1 2 3 4 5; do
		as "$VIC" timeout 60 rota queue
	done
	script quick.sh <<-'END'
		#!/bin/sh
		#ROTA --output=/dev/null
		true
	END
	job=$(submit "$VIC" "$ROTA_TEST_DIR/quick.sh")
	rota wait --timeout=300 "$job"
	kill "$pid" # the attack has gone on all the while
	wait "$pid" || true
}

# The database

# Pending jobs, each altered in its own way and then released.
@test "a row altered in the database is not run" {
	local names=() jobs=() name
	script other.sh <<-'END'
		#!/bin/sh
		#ROTA --hold
		echo evil >evil; id >>evil
	END
	script array.sh <<-'END'
		#!/bin/sh
		#ROTA --hold --array=0-3
		echo ran
	END
	other=$(MARK=other submit "$EVE" "$ROTA_TEST_DIR/other.sh")
	alter() { # NAME SQL: submit a job of Vic with a script of its own, and alter rows by the SQL; :job, :other stand for the jobs
		local job
		printf '#!/bin/sh\n#ROTA --hold --output=%%j.out\n# %s\necho ran\n' "$1" >"$ROTA_TEST_DIR/$1.sh"
		job=$(MARK=$1 submit "$VIC" "$ROTA_TEST_DIR/${3:-$1.sh}")
		superuser "$(sed "s/:job/$job/g; s/:other/$other/g" <<<"$2")"
		names+=("$1")
		jobs+=("$job")
	}
	alter root "update rota.job set uid = 0, gid = 0, user_name = 'root' where job_id = :job"
	alter uid "update rota.job set uid = $(id -u "$EVE") where job_id = :job"
	alter gid "update rota.job set gid = 0 where job_id = :job"
	alter name "update rota.job set user_name = 'root' where job_id = :job"
	alter script_hash "update rota.job set script_hash = (select script_hash from rota.job where job_id = :other) where job_id = :job"
	alter environment_hash "update rota.job set environment_hash = (select environment_hash from rota.job where job_id = :other) where job_id = :job"
	alter spec "update rota.step_request set spec = replace(spec, 'per_task=1:0', 'per_task=1:1') where job_id = :job"
	alter output "update rota.step_request set spec = regexp_replace(spec, 'output=6:......', 'output=9:/etc/evil') where job_id = :job"
	alter auth "update rota.step_request set auth = (select auth from rota.step_request where job_id = :other) where job_id = :job"
	alter no_auth "update rota.step_request set auth = decode(repeat('00', 32), 'hex') where job_id = :job"
	alter array "update rota.step_request set spec = replace(spec, 'umask', 'umask') || 'x=1:y' || chr(10) where job_id = :job" array.sh
	alter script_body "alter table rota.script drop constraint script_check;
		update rota.script set body = convert_to(E'#!/bin/sh\necho evil >evil\n', 'UTF8') where hash = (select script_hash from rota.job where job_id = :job);
		alter table rota.script add constraint script_check check (hash = sha256(body)) not valid"
	alter environment_body "alter table rota.environment drop constraint environment_check;
		update rota.environment set body = convert_to('LD_PRELOAD=/tmp/evil.so', 'UTF8') || '\x00' where hash = (select environment_hash from rota.job where job_id = :job);
		alter table rota.environment add constraint environment_check check (hash = sha256(body)) not valid"
	alter script_gone "delete from rota.script where hash = (select script_hash from rota.job where job_id = :job)"
	rota release "${jobs[@]}"
	read_ends "${jobs[@]}"
	for i in "${!jobs[@]}"; do
		[[ ${END[${jobs[$i]}]} == "failed|refused|"* ]] || { echo "${names[$i]}: ${END[${jobs[$i]}]}" >&2; return 1; }
		[ ! -e "$ROTA_TEST_DIR/$VIC/${jobs[$i]}.out" ]
	done
	[ "$(rota sql -Atc "select count(*) from rota.task_end where job_id in ($(IFS=,; echo "${jobs[*]}"))")" = 0 ]
	[ ! -e "$ROTA_TEST_DIR/$VIC/evil" ]
	[ ! -e /etc/evil ]
	# A modification of the job does not make the altered row valid.
	job=$(submit "$VIC" "$ROTA_TEST_DIR/spec.sh")
	superuser "update rota.step_request set spec = replace(spec, 'per_task=1:0', 'per_task=1:1') where job_id = $job"
	refused "not as its owner submitted it" as "$VIC" rota modify --time=5 "$job"
	[ "$(rota nodes --json | jq -r '[.nodes[].state] | unique | .[]')" = up ]
}

# Replay: a trigger copies every launch request, and deletes it if `take` selects it.
steal_orders() {
	superuser "create table if not exists public.stolen as select * from rota.node_order with no data;
		create table if not exists public.take (job_id bigint);
		create or replace function public.steal() returns trigger language plpgsql security definer as \$\$ begin
			if not exists (select from public.stolen s where s.signature = new.signature) then insert into public.stolen select new.*; end if;
			if exists (select from public.take t where t.job_id = new.job_id) then return null; end if;
			return new; end \$\$;
		create trigger steal before insert on rota.node_order for each row when (new.kind = 'launch') execute function public.steal()"
}

# play JOB COLUMNS REASON: insert Vic's stolen launch request again with these columns; the launchers refuse it and report why.
play() {
	local before=$(cat "$ROTA_HOME"/log/launcher.*.log | wc -l) reason=$3
	refused_so() { cat "$ROTA_HOME"/log/launcher.*.log | sort | tail -n +$((before + 1)) | grep -q "refused: .*$reason"; }
	superuser "insert into rota.node_order (node_id, kind, job_id, step_id, attempt, body, signature)
		select $2 from public.stolen where job_id = $1; notify rota_node_1; notify rota_node_2"
	eventually orders_taken
	eventually refused_so
}

orders_taken() {
	[ "$(superuser "select count(*) from rota.node_order")" = 0 ]
}

@test "a stolen order is good for nothing" {
	script mark.sh <<-'END'
		#!/bin/bash
		#ROTA --output=mark.%j.out --open-mode=append
		echo "ran $ROTA_ATTEMPT as $(id -un)"
		until [ -e mark.enough ]; do sleep 0.3; done
	END
	steal_orders
	job=$(submit "$VIC" "$ROTA_TEST_DIR/mark.sh")
	eventually step_is "$job" running
	# While it runs, and after it.
	for when in now then; do
		play "$job" "node_id, kind, job_id, step_id, attempt, body, signature" "accepted before"
		play "$job" "3 - node_id, kind, job_id, step_id, attempt, body, signature" "the launch request is for node"
		play "$job" "node_id, kind, job_id, step_id, attempt + 1, body, signature" "for another step"
		play "$job" "node_id, kind, job_id, step_id, attempt + 1, replace(body, 'attempt=1:1', 'attempt=1:2'), signature" "signature does not match"
		play "$job" "node_id, kind, job_id, step_id, attempt, replace(body, 'uid=', 'gid='), signature" "signature does not match"
		play "$job" "node_id, kind, job_id, step_id, attempt, body, decode(repeat('5a', 64), 'hex')" "signature does not match"
		play "$job" "node_id, kind, job_id, step_id, attempt, body, ''" "no launch request or no signature"
		play "$job" "node_id, kind, job_id + 100000, step_id, attempt, 'garbage', signature" "signature does not match"
		touch "$ROTA_TEST_DIR/$VIC/mark.enough"
		run ended "$job"
		[ "$output" = "completed|exit|" ]
		[ "$(cat "$ROTA_TEST_DIR/$VIC/mark.$job.out")" = "ran 1 as $VIC" ]
	done
	superuser "drop trigger steal on rota.node_order"
	[ "$(rota nodes --json | jq -r '[.nodes[].state] | unique | .[]')" = up ]
}

@test "a stolen password of the database starts no process" {
	role() { # ROLE SQL
		PGPASSFILE=$ROTA_HOME/keys/node.pass psql -X -h "$ROTA_HOME/run" -d rota -U "$1" -v ON_ERROR_STOP=1 -Atqc "$2"
	}
	local role statement statements=()
	for statement in "insert into rota.node_order (node_id, kind, job_id, step_id, attempt, body, signature) values (1, 'launch', 1, 0, 1, '', '')" \
		"update rota.job set uid = 0" "update rota.step_request set spec = ''" "insert into rota.script values ('', '')" "set role rota_owner" \
		"set role postgres" "set session authorization rota_owner" "create table rota.x (i int)" "create function api.x() returns int language sql as 'select 1'" \
		"alter function api.node_report(jsonb, jsonb, boolean) owner to current_user" "select login.person_set('x', 'rota_analyst')" "copy (select 1) to program 'id'"; do
		statements+=(-c "$statement")
	done
	for role in rota_node rota_node_n1 rota_jobmgr rota_jobmgr_leader rota_jobmgr_admin rota_nodemgr rota_runner rota_analyst rota_admin; do
		PGPASSFILE=$ROTA_HOME/keys/node.pass psql -X -h "$ROTA_HOME/run" -d rota -U "$role" "${statements[@]}" >"$BATS_TEST_TMPDIR/answers" 2>&1 || true
		[ "$(grep -c ^ERROR "$BATS_TEST_TMPDIR/answers")" = $((${#statements[@]} / 2)) ] || { cat "$BATS_TEST_TMPDIR/answers" >&2; return 1; }
	done
	for statement in "select api.job_submit(0, 0, 'root', '{}', '', '')" "select api.schedule_commit(1, '[]', '[]')" "select api.job_cancel(0, 'root', '{}')"; do
		refused "permission denied" role rota_node "$statement"
	done
	# The API's database role can write a job, but cannot authenticate it.
	plan=$(jq -c '{job: .job, steps: [.steps[] + {auth: ("00" * 32)}], edges: .edges}' <<<"$(rota check --json - <<-'END'
		#!/bin/sh
		#ROTA --output=/tmp/evil
		id >/tmp/evil
	END
	)")
	plan=$(jq -c --argjson job "$(role rota_jobmgr "select api.job_number(1) -> 0")" '.job.job_id = $job' <<<"$plan")
	job=$(role rota_jobmgr "select api.job_submit(0, 0, 'root', \$plan\$$plan\$plan\$, E'#!/bin/sh\\\\012id >/tmp/evil\\\\012', '') ->> 'job_id'")
	role rota_jobmgr "notify rota_schedule"
	run ended "$job"
	[[ $output == "failed|refused|"* ]]
	# Nor can it send a launch request: it cannot sign.
	rota admin partition create closed --nodes=n1 --state=down
	eventually partition_known closed
	job=$(submit "$VIC" -p closed "$ROTA_TEST_DIR/mark.sh")
	node=$(superuser "select node_id from rota.node where name = 'n1'")
	term=$(superuser "select term from rota.leader where name = 'schedule'")
	body=$(superuser "select encode(convert_to(replace(body, 'x', 'x'), 'UTF8'), 'base64') from public.stolen limit 1" | base64 -d; echo .)
	role rota_jobmgr_leader "select api.schedule_commit($term,
		'[{\"job\":$job,\"step\":0,\"request\":0,\"attempt\":1,\"time_limit_s\":0,\"nodes\":[$node],\"allocations\":[{\"node\":$node,\"cpus\":1,\"mem_mb\":0,\"tasks\":1,\"gres\":{},\"prolog_owner\":true}]}]',
		jsonb_build_array(jsonb_build_object('node_id', $node, 'kind', 'launch', 'job_id', $job, 'step_id', 0, 'attempt', 1, 'body', \$body\$${body%.}\$body\$, 'signature', repeat('5a', 64))))"
	run ended "$job"
	[[ $output == "failed|refused|the signature does not match"* ]]
	rota admin partition delete closed
	[ ! -e "$ROTA_TEST_DIR/$VIC/mark.$job.out" ]
	[ ! -e /tmp/evil ]
}

# The translator reads new partitions within a second.
partition_known() {
	local job
	job=$(submit "$VIC" --hold -p "$1" --wrap true 2>/dev/null) && as "$VIC" rota cancel "$job"
}

# Names

@test "names with special characters stay names" {
	script name.sh <<-'END'
		#!/bin/bash
		#ROTA --output=name.%j.out
		printf '%s\n' "$ROTA_JOB_NAME"
	END
	rm -f /tmp/rota-evil.$$
	before=$(rota sql -Atc "select count(*) from rota.job")
	names=("'; drop table rota.job; --" '"; drop schema rota cascade; --' '$(touch /tmp/rota-evil.'$$')' '`touch /tmp/rota-evil.'$$'`' '%n%n%s%99999d'
		'\\x00\012' 'Ünïcødé ✓ 🦊' '{"json": [1]}' "it's" '$body$' '<b>&amp;</b>' '../../../etc/passwd' '-rf' '*' '1,2')
	jobs=()
	for name in "${names[@]}"; do
		jobs+=("$(submit "$EVE" "--job-name=$name" "--comment=$name" "$ROTA_TEST_DIR/name.sh")")
	done
	rota wait --timeout=300 "${jobs[@]}"
	rota show --json "${jobs[@]}" >"$BATS_TEST_TMPDIR/shown"
	rota acct --json "${jobs[@]}" >"$BATS_TEST_TMPDIR/past"
	for i in "${!names[@]}"; do
		[ "$(cat "$ROTA_TEST_DIR/$EVE/name.${jobs[$i]}.out")" = "${names[$i]}" ]
		[ "$(jq -r ".jobs[] | select(.job_id == ${jobs[$i]}) | .name, .comment" "$BATS_TEST_TMPDIR/shown")" = "${names[$i]}"$'\n'"${names[$i]}" ]
		[ "$(jq -r ".rows[] | select(.job_id == ${jobs[$i]}) | .name" "$BATS_TEST_TMPDIR/past")" = "${names[$i]}" ]
	done
	[ "$(rota sql -Atc "select count(*) from rota.job")" = $((before + ${#names[@]})) ]
	[ ! -e /tmp/rota-evil.$$ ]
	for name in $'two\nlines' $'beep\a' $'\e[31mred' $'\xff\xfe'; do
		refused "" submit "$EVE" "--job-name=$name" "$ROTA_TEST_DIR/name.sh"
		refused "" submit "$EVE" "--comment=$name" "$ROTA_TEST_DIR/name.sh"
		refused "" submit "$EVE" "--output=$name" "$ROTA_TEST_DIR/name.sh"
	done
	# Names that the client would refuse are refused by the API too, or shown as text.
	job=$(submit "$EVE" --hold "$ROTA_TEST_DIR/name.sh")
	for reason in '\u001b[2J' 'two\nlines' 'a\u202eb' 'a\u2066b' 'a\u0085b' "$(head -c 2000 /dev/zero | tr '\0' a)"; do
		body='{"jobs":["'$job'"],"reason":"'$reason'"}'
		run request "$(credential POST /v1/cancel "$body")" /v1/cancel -d "$body"
		[[ $output == *'1000 characters at most'*'[422]' ]]
	done
	superuser "update rota.job set comment = E'\\033[2J\\007\\u202e' where job_id = $job; update rota.step set held_reason = E'\\033[2J\\007\\u202e' where job_id = $job"
	for verb in show why queue acct; do
		run as "$EVE" rota $verb "$job"
		[[ $output != *$'\e'* ]]
		[[ $output != *$'\a'* ]]
		[[ $output != *$'\u202e'* ]]
	done
	as "$EVE" rota cancel "$job"
}

@test "unexpected options and targets are refused without side effects" {
	tables=$(superuser "select count(*) from pg_class where relnamespace = 'rota'::regnamespace")
	for word in "x'; drop table rota.job; --" '$(id)' '../x' 'a b' "$(head -c 3000 /dev/zero | tr '\0' a)!"; do
		for option in account partition qos nodelist exclude gres licenses constraint group time mem array begin after; do
			refused "--$option" submit "$EVE" "--$option=$word" "$ROTA_TEST_DIR/name.sh"
		done
		for verb in show cancel acct; do
			refused "" as "$EVE" rota $verb "$word"
			refused "" as "$EVE" rota $verb "1.$word"
		done
		refused "" rota admin node create "$word" --cpus=1 --mem=1
		refused "" rota admin partition create "$word"
		refused "" rota admin account create "$word"
		refused "" rota admin setting change "$word" --value=1
	done
	refused "" as "$EVE" rota signal "USR1; id" 1
	refused "" as "$EVE" rota signal 99 1
	[ "$(superuser "select count(*) from pg_class where relnamespace = 'rota'::regnamespace")" = "$tables" ]
}

# From inside a job

@test "output goes where the user may write, and nowhere else" {
	script quick.sh <<-'END'
		#!/bin/sh
		echo out
	END
	echo precious >"$ROTA_TEST_DIR/precious"
	home=$ROTA_TEST_DIR/$EVE
	as "$EVE" ln -s "$ROTA_TEST_DIR/precious" "$home/link"
	as "$EVE" ln -s /etc/rota-evil "$home/dangling"
	as "$EVE" ln -s loop "$home/loop"
	as "$EVE" mkfifo "$home/fifo"
	as "$EVE" mkdir "$home/folder"
	declare -A jobs
	for path in ../../../etc/rota-evil ../precious link dangling loop fifo folder /etc/shadow /root/x /proc/1/mem /dev/mem nosuch/folder "$home" \
		"$ROTA_HOME/node/n1/journal" "$ROTA_HOME/node/n1/spool/x" "$ROTA_HOME/keys/sign.pub" "$HOOKS/prolog"; do
		for option in output error; do
			jobs[$option:$path]=$(submit "$EVE" "--$option=$path" "$ROTA_TEST_DIR/quick.sh")
		done
	done
	read_ends "${jobs[@]}"
	for key in "${!jobs[@]}"; do
		path=${key#*:}
		[[ $path == /* ]] || path=$home/$path
		[[ ${END[${jobs[$key]}]} == "failed|launch|could not open ${key%%:*} file \"$path\": "* ]] ||
			{ echo "$key: ${END[${jobs[$key]}]}" >&2; return 1; }
	done
	job=$(submit "$EVE" --input=/etc/shadow "$ROTA_TEST_DIR/quick.sh")
	[[ $(ended "$job") == 'failed|launch|could not open input file "/etc/shadow": Permission denied' ]]
	job=$(submit "$EVE" --workdir=/root "$ROTA_TEST_DIR/quick.sh")
	[[ $(ended "$job") == 'failed|launch|could not enter folder "/root": Permission denied' ]]
	job=$(submit "$EVE" --output=/dev/full "$ROTA_TEST_DIR/quick.sh")
	[[ $(ended "$job") == 'failed|exit|'* ]]
	[ "$(cat "$ROTA_TEST_DIR/precious")" = precious ]
	[ ! -e /etc/rota-evil ]
	[ "$(rota nodes --json | jq -r '[.nodes[].state] | unique | .[]')" = up ]
}

nowhere() { # PATTERN FILE
	if grep -E -- "$1" "$2"; then return 1; fi
}

@test "exported variables do not reach programs that root runs" {
	home=$ROTA_TEST_DIR/$EVE
	printf 'echo "sourced by $(id -un)" >>%s/sourced\n' "$home" >"$home/env.sh"
	printf '#!/bin/sh\necho "used by $(id -un)" >>%s/sourced\nexec /usr/bin/id "$@"\n' "$home" >"$home/id"
	printf '#!/bin/bash\n{ /usr/bin/id -un; echo "$MARK"; } >%s/user_hook.$ROTA_JOB_ID\n/bin/date +%%s%%N >>%s/user_hook.at\n' "$home" "$home" >"$home/hook"
	chmod 755 "$home/id" "$home/hook"
	script export.sh <<-'END'
		#!/bin/bash
		#ROTA --output=export.out
		id -un
		env
	END
	job=$(cd "$home" && as "$EVE" env LD_PRELOAD="$home/evil.so" LD_LIBRARY_PATH="$home" LD_AUDIT="$home/evil.so" BASH_ENV="$home/env.sh" ENV="$home/env.sh" \
		'BASH_FUNC_id%%=() { echo function; }' IFS=x PS4='$(id)' PATH="$home:$PATH" MARK=swordfish GCONV_PATH="$home" TMPDIR="$home" HOME="$home" \
		rota submit --parsable --prolog="$home/hook" --epilog="$home/hook" "--job-name=() { :; }; id >&2" "$ROTA_TEST_DIR/export.sh" 2>/dev/null)
	run ended "$job"
	[ "$output" = "completed|exit|" ]
	eventually has_left "$job"
	grep -q swordfish "$home/export.out"
	# Root's hooks: a clean environment, no user's files, no descriptors.
	for hook in prolog epilog; do
		grep -qx root "$HOOKS/$hook.$job.log"
		grep -qx "ROTA_JOB_ID=$job" "$HOOKS/$hook.$job.log"
		nowhere 'evil|swordfish|env\.sh|BASH_|^ENV|^IFS|^PS4|^LD_|^TMPDIR|^GCONV|function' "$HOOKS/$hook.$job.log"
		nowhere "^PATH=.*$home" "$HOOKS/$hook.$job.log"
		[ "$(grep -c ' [3-9] -> \| [1-9][0-9]* -> [^p]' "$HOOKS/$hook.$job.log" || true)" -le 3 ]
	done
	run rota sql -Atc "select hook || ' ' || output from rota.hook_run where job_id = $job and hook like 'site%'"
	[[ $output != *evil* ]]
	nowhere root "$home/sourced"
	# The user's hooks: as the user, with the user's environment.
	[ "$(sed -n 1p "$home/user_hook.$job")" = "$EVE" ]
	grep -q swordfish "$home/user_hook.$job"
	run rota sql -Atc "select string_agg(hook, ' ' order by hook) from rota.hook_run where job_id = $job"
	[ "$output" = "site_epilog site_prolog user_epilog user_prolog" ]
	# In order, by the node's clock: the database's times of two reports also depend on how fast these came.
	cat "$HOOKS/prolog.$job.at" "$home/user_hook.at" "$HOOKS/epilog.$job.at" >"$ROTA_TEST_DIR/turns"
	[ "$(wc -l <"$ROTA_TEST_DIR/turns")" = 4 ]
	sort -n -C "$ROTA_TEST_DIR/turns"
}

@test "a user's prolog can neither act as root nor drain a node" {
	for path in /root/x "$HOOKS/prolog" /nonexistent "$ROTA_TEST_DIR/$EVE"; do
		job=$(submit "$EVE" --prolog="$path" "$ROTA_TEST_DIR/quick.sh")
		[[ $(ended "$job") == "failed|prolog|"* ]]
	done
	[ "$(rota nodes --json | jq -r '[.nodes[].state] | unique | .[]')" = up ]
}

@test "a daemon that a job starts is killed with it" {
	script daemon.sh <<-'END'
		#!/bin/bash
		#ROTA --output=daemon.out
		( setsid bash -c 'trap "" TERM HUP INT; (setsid sleep 98765 &) ; while :; do sleep 0.2; done' </dev/null >/dev/null 2>&1 & )
		perl -MPOSIX -e 'exit if fork; setsid; exit if fork; chdir "/"; $SIG{TERM} = "IGNORE"; POSIX::close($_) for 0 .. 9; sleep 98765'
		for i in $(seq 600); do [ "$(ps -o pid= -u "$(id -u)" | wc -l)" -lt 6 ] || break; sleep 0.1; done # with that of the shell in between
		ps -o pid= -u "$(id -u)" | wc -l
	END
	job=$(submit "$EVE" "$ROTA_TEST_DIR/daemon.sh")
	run ended "$job"
	[ "$output" = "completed|exit|" ]
	[ "$(cat "$ROTA_TEST_DIR/$EVE/daemon.out")" -ge 5 ]
	[ "$(processes_of "$EVE")" = 0 ]
}

@test "a task that ignores SIGTERM is killed after the grace time" {
	script stubborn.sh <<-'END'
		#!/bin/bash
		#ROTA --output=stubborn.out
		trap '' TERM HUP INT USR1
		echo ready
		while :; do sleep 0.1; done
	END
	job=$(submit "$EVE" "$ROTA_TEST_DIR/stubborn.sh")
	eventually grep -q ready "$ROTA_TEST_DIR/$EVE/stubborn.out"
	as "$EVE" rota cancel "$job"
	[[ $(ended "$job") == "cancelled|cancelled|"* ]]
	[ "$(processes_of "$EVE")" = 0 ]
	[ "$(rota sql -Atc "select signal from rota.attempt where job_id = $job")" = 9 ]
}

@test "a fork bomb within its limit is cleaned up" {
	script bomb.sh <<-'END'
		#!/bin/bash
		#ROTA --output=/dev/null
		ulimit -u 60
		bomb() { bomb | bomb & sleep 30; }
		bomb &
		exec sleep 1 # a shell would wait long for a free process
	END
	job=$(submit "$EVE" "$ROTA_TEST_DIR/bomb.sh")
	run ended "$job"
	[ "$(processes_of "$EVE")" = 0 ]
	[ "$(rota nodes --json | jq -r '[.nodes[].state] | unique | .[]')" = up ]
	# A fork bomb that is killed early.
	job=$(sed -i 's/exec sleep 1/exec sleep 60/' "$ROTA_TEST_DIR/bomb.sh" && submit "$EVE" "$ROTA_TEST_DIR/bomb.sh")
	eventually bombs
	as "$EVE" rota cancel "$job"
	[[ $(ended "$job") == "cancelled|cancelled|"* ]]
	[ "$(processes_of "$EVE")" = 0 ]
}

bombs() {
	[ "$(processes_of "$EVE")" -ge 30 ]
}

@test "limits that make no sense fail the step, not the node" {
	body='{"script":"#!/bin/sh\ntrue\n","workdir":"/tmp","options":["--output=/dev/null"],"rlimits":"nonsense=1"}'
	job=$(request "$(credential POST /v1/submit "$body")" /v1/submit -d "$body" | grep -o '"job_id": [0-9]*' | grep -o '[0-9]*')
	[[ $(ended "$job") == 'failed|launch|unknown resource limit "nonsense"' ]]
	[ "$(rota sql -Atc "select attempt from rota.step where job_id = $job")" = 1 ]
}

@test "a gigabyte of output reaches its file whole" {
	script large.sh <<-'END'
		#!/bin/bash
		#ROTA --output=large.out
		yes 0123456789abcdef | head -c 1073741824
	END
	job=$(submit "$EVE" "$ROTA_TEST_DIR/large.sh")
	rota wait --timeout=300 "$job"
	out=$ROTA_TEST_DIR/$EVE/large.out
	[ "$(stat -c '%s %U' "$out")" = "1073741824 $EVE" ]
	yes 0123456789abcdef | head -c 1073741824 | cmp - "$out"
	rm "$out"
}

@test "a stolen launch request that has expired is refused" {
	steal_orders
	late=$(submit "$VIC" --hold "$ROTA_TEST_DIR/mark.sh")
	superuser "insert into public.take values ($late)"
	daemon_again jobmgrd --set schedule.order_lifetime=10 # seconds
	as "$VIC" rota release "$late"
	eventually step_is "$late" starting
	daemon_again jobmgrd --set schedule.order_lifetime=300 # a node that is slow must not refuse the next launch request too
	is_expired() { [ "$(superuser "select now() > ordered_at + interval '11 s' from rota.attempt where job_id = $late")" = t ]; }
	eventually is_expired
	superuser "drop trigger steal on rota.node_order; delete from public.take"
	play "$late" "node_id, kind, job_id, step_id, attempt, body, signature" "the launch request expired"
	# Only the request's age was wrong: the leader signs another one, for the next attempt.
	run ended "$late"
	[[ $output == "completed|exit|"* ]]
	[[ $(superuser "select concat_ws('|', state, cause, message) from rota.attempt where job_id = $late and attempt = 1") == "node_fail|refused|the launch request expired"* ]]
	[ "$(cat "$ROTA_TEST_DIR/$VIC/mark.$late.out")" = "ran 2 as $VIC" ]
}

spools_empty() {
	[ -z "$(find "$ROTA_HOME"/node/n*/spool -mindepth 1)" ]
}

@test "after all this nothing is left, and the instance serves" {
	eventually is_idle
	[ "$(processes_of "$EVE")" = 0 ]
	[ "$(processes_of "$VIC")" = 0 ]
	eventually spools_empty
	[ "$(superuser "select (select count(*) from rota.allocation where ended_at is null) + (select sum(cpus_used) from rota.node_used)")" = 0 ]
	[ "$(rota nodes --json | jq -r '[.nodes[].state] | unique | .[]')" = up ]
	job=$(submit "$VIC" --output=/dev/null "$ROTA_TEST_DIR/quick.sh")
	rota wait --timeout=300 "$job"
}
