#!/usr/bin/env bats
# The API over HTTPS: clients that trust its certificate are served, others are not, and clients that send no TLS, or half of it,
# block no other client. jobmgrd may have few open files here, so a few connections are many.

ROTA_TEST_CLIENT=sanitizers
load helper

setup_file() {
	certificates gate DNS:localhost,IP:127.0.0.1
	rota() { (ulimit -n 400 && command rota "$@"); }
	instance_up 1 --cpus 2 --mem 1000 --set gate.listen=127.0.0.1:0 --set gate.names=localhost,127.0.0.1 --set "gate.certificate=$TLS/gate.pem" --set "gate.private_key=$TLS/gate.key"
	unset -f rota
	PORT=$(sed -n 's/.*HTTPS at 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$ROTA_HOME/log/jobmgrd.log" | tail -n 1)
	[ -n "$PORT" ]
	export PORT
	client good "https://localhost:$PORT" "$TLS/authority.pem"
	JOBMGRD=$(pid_of jobmgrd)
	export JOBMGRD
}

teardown_file() {
	local status=0
	instance_down || status=1
	rm -rf -- "$TLS"
	return "$status"
}

teardown() {
	kill -CONT "$JOBMGRD" # it is stopped if a test has failed
}

# client NAME URL [AUTHORITY]: the configuration of a client of that URL.
client() {
	sed -e "s,^url *=.*,url = $2," -e "s,^authority *=.*,authority = ${3:-}," "$ROTA_HOME/etc/rota.conf" >"$TLS/$1.conf"
	grep -q '^url = https' "$TLS/$1.conf" || sed -i "/^\[gate\]/a url = $2\nauthority = ${3:-}" "$TLS/$1.conf"
}

# An ordinary user, since root is not served over HTTPS.
USER_ENV=(env)
[ "$EUID" != 0 ] || USER_ENV=(setpriv --reuid nobody --regid nogroup --clear-groups env HOME=/tmp)

by() { # CLIENT COMMAND...
	local name=$1
	shift
	ROTA_CONFIG=$TLS/$name.conf "${USER_ENV[@]}" "$@"
}

served() { # by TLS and by the Unix socket, within half of the minute for which the gate keeps a silent connection
	by good timeout 30 rota queue >/dev/null
	timeout 30 rota queue >/dev/null
}

# hold COUNT FROM BYTES: so many connections from those addresses, each idle after these bytes. Says so, and after a line of its
# standard input prints how many of them the API has kept. Then it waits for the end of its standard input.
hold() {
	perl -MIO::Socket::INET -e '
		my ($count, $from, $bytes) = @ARGV;
		my @from = split /,/, $from;
		$SIG{PIPE} = "IGNORE"; $| = 1;
		$bytes =~ s/\\x(..)/chr hex $1/ge;
		for (1 .. $count) {
			my $tcp = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ENV{PORT}, LocalAddr => $from[$_ % @from]) or die "$@";
			push @held, $tcp;
			syswrite $tcp, $bytes if length $bytes;
		}
		print "open\n";
		<STDIN>;
		my $kept = 0;
		for (@held) { my $bits = ""; vec($bits, fileno $_, 1) = 1; $kept++ unless select $bits, undef, undef, 0 }
		print "$kept\n";
		<STDIN>' "$@"
}

# held COUNT FROM BYTES: start hold; how many connections the API has kept is then in `kept`.
held() {
	local file=$BATS_TEST_TMPDIR/held
	said() { [ "$(wc -l <"$file")" = "$1" ]; }
	coproc HOLD { hold "$@"; } >"$file" 3>&-
	eventually said 1
	served # so the gate has accepted all connections of before, and has closed those that are too many
	echo >&"${HOLD[1]}"
	eventually said 2
	kept=$(tail -n 1 "$file")
}

let_go() {
	local pid=$HOLD_PID # gone from the shell's variables with the process
	eval "exec ${HOLD[1]}>&-"
	wait "$pid"
}

@test "an error of HTTPS names the key of the configuration" {
	while IFS='|' read -r key value words; do
		sed "s,^$key = .*,$key = $value," "$ROTA_HOME/etc/rota.conf" >"$TLS/wrong.conf"
		run -1 jobmgrd --config "$TLS/wrong.conf" --name wrong
		[[ $output == *"\"$key\" in section \"gate\""*"$words"* ]] || { echo "$key $value: $output"; false; }
	done <<-END
		listen|localhost|is not an address and port
		listen|192.0.2.1:1|could not listen
		certificate||could not use "" for HTTPS: No such file
		certificate|$TLS/none.pem|none.pem" for HTTPS: No such file
		certificate|gate.pem|wants a path that begins with
		private_key|$TLS/other.key|key values mismatch
		private_key|$TLS/gate.pem|for HTTPS
	END
}

@test "a client that trusts the certificate is served, by name and by address" {
	printf '#!/bin/sh\n#ROTA --output=/dev/null\ntrue\n' >"$TLS/job.sh"
	cd "$TLS"
	job=$(by good rota submit --parsable job.sh)
	by good rota wait --timeout=300 "$job"
	client address "https://127.0.0.1:$PORT" "$TLS/authority.pem"
	by address rota queue
	run curl -sS --cacert "$TLS/authority.pem" "https://localhost:$PORT/v1/ping"
	[[ $output == *'"ok":true'* ]]
	# Here too the credential decides.
	run curl -sS -w '[%{http_code}]' --cacert "$TLS/authority.pem" "https://localhost:$PORT/v1/queue"
	[[ $output == *'"error"'*'[401]' ]]
}

@test "megabytes pass, both ways" {
	{ printf '#!/bin/sh\n#ROTA --output=/dev/null --hold\n'; seq -f '# line %.0f of many more' 90000; } >"$TLS/large.sh"
	cd "$TLS"
	job=$(by good rota submit --parsable large.sh)
	body="{\"jobs\":[\"$job\"]}"
	credential=$(printf 'rota2:%s localhost' "$(printf 'POST /v1/script\n%s' "$body" | sha256sum | cut -d' ' -f1)" | "${USER_ENV[@]}" munge --socket="$ROTA_HOME/run/munge.sock")
	curl -sS --cacert "$TLS/authority.pem" -H "Authorization: Munge $credential" -d "$body" "https://localhost:$PORT/v1/script" |
		jq -j .script | cmp - large.sh
	by good rota cancel "$job"
}

@test "a certificate that is not trusted, or not for this name, is refused by the client" {
	client nobody "https://localhost:$PORT"
	client other "https://localhost:$PORT" "$TLS/other.pem"
	client name "https://[::ffff:127.0.0.1]:$PORT" "$TLS/authority.pem"
	for who in nobody other name; do
		run by "$who" rota queue
		[ "$status" -ne 0 ]
		[[ $output == *"TLS with jobmgrd failed"* && $output == *authority* ]]
	done
}

@test "plain HTTP and garbage on the TLS port get no answer, TLS before 1.2 no connection" {
	run curl -sS -m 10 "http://localhost:$PORT/v1/ping"
	[ "$status" -ne 0 ]
	[[ $output != *ok* ]]
	exec {garbage}<>"/dev/tcp/127.0.0.1/$PORT"
	head -c 100000 /dev/urandom 2>/dev/null >&"$garbage" || true
	[ "$(timeout 10 head -c 3000 <&"$garbage" 2>/dev/null | wc -c)" -lt 2000 ]
	exec {garbage}>&-
	run bash -c 'openssl s_client -connect "localhost:$PORT" -tls1_1 -cipher ALL:@SECLEVEL=0 </dev/null'
	[ "$status" -ne 0 ]
	bash -c 'openssl s_client -connect "localhost:$PORT" -tls1_2 -CAfile "$TLS/authority.pem" -verify_return_error </dev/null'
	served
}

@test "half-open handshakes from one address block no other client" {
	# A record of 512 bytes is announced, and only its beginning comes; other connections send nothing.
	held 250 127.0.0.2 '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'
	[ "$kept" -ge 20 ]
	[ "$kept" -le 100 ]
	served
	let_go
	held 250 127.0.0.2 ''
	[ "$kept" -le 100 ]
	served
	let_go
}

@test "connections from many addresses block no client on this host" {
	held 360 127.0.0.3,127.0.0.4,127.0.0.5,127.0.0.6 ''
	[ "$kept" -le 150 ]
	for i in 1 2 3; do
		timeout 30 rota queue
	done
	let_go
}

@test "requests that come byte by byte over TLS block no other client" {
	bytes() {
		printf 'POST /v1/queue HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n'
		until [ -e "$BATS_TEST_TMPDIR/enough" ]; do printf ' '; sleep 0.2; done
	}
	slow() { bytes | timeout 120 openssl s_client -quiet -connect "127.0.0.1:$PORT" -bind 127.0.0.2:0 >/dev/null 2>&1 || true; }
	for i in {1..20}; do
		slow 3>&- &
	done
	all_speak() { [ "$(ss -Htn state established src 127.0.0.2 dport = ":$PORT" | wc -l)" -ge 20 ]; }
	eventually all_speak
	served
	touch "$BATS_TEST_TMPDIR/enough"
	wait
	served
}

@test "a waiting request ends when its client hangs up" {
	printf '#!/bin/sh\n#ROTA --hold --output=/dev/null\ntrue\n' >"$BATS_TEST_TMPDIR/held.sh"
	cp "$BATS_TEST_TMPDIR/held.sh" "$TLS"
	cd "$TLS"
	job=$(by good rota submit --parsable held.sh)
	files() { ls "/proc/$JOBMGRD/fd" | wc -l; }
	before=$(files)
	for i in {1..20}; do
		ROTA_CONFIG=$TLS/good.conf "${USER_ENV[@]}" rota wait --timeout=600 "$job" >/dev/null 2>&1 3>&- &
		pids[$i]=$!
	done
	all_wait() { [ "$(files)" -ge $((before + 15)) ]; }
	eventually all_wait
	sleep 0.5
	kill -9 "${pids[@]}"
	gone() { [ "$(files)" -le $((before + 3)) ]; }
	eventually gone
	rota cancel "$job"
}

@test "a client that is stopped and goes on gets its answer" {
	cd "$TLS"
	connected() { ss -Htnp state established dport = ":$PORT" | grep -q "pid=$client,"; }
	waits() { [ -n "$(superuser "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%queue%'")" ]; }
	asks() {
		ROTA_CONFIG=$TLS/good.conf "${USER_ENV[@]}" rota queue 3>&- >said 2>&1 &
		client=$!
	}
	goes_on() {
		for round in {1..5}; do
			kill -STOP "$client"
			sleep 0.05
			kill -CONT "$client"
			sleep 0.05
		done
	}
	# During the handshake.
	kill -STOP "$JOBMGRD"
	asks
	eventually connected
	goes_on
	kill -CONT "$JOBMGRD"
	wait "$client" || { cat said; false; }
	# While it waits for the answer.
	superuser 'begin; lock table rota.job; select pg_sleep(600)' >/dev/null 2>&1 3>&- &
	eventually is_held_up
	asks
	eventually waits
	goes_on
	end_held_up
	wait "$client" || { cat said; false; }
}

@test "the same jobmgrd serves, and its memory has stayed small" {
	[ "$(pid_of jobmgrd)" = "$JOBMGRD" ]
	run awk '/^VmHWM/ { print $2 }' "/proc/$JOBMGRD/status"
	sanitized || [ "$output" -lt 150000 ]
}
