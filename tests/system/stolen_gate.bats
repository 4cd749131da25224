#!/usr/bin/env bats
# Users and addresses that fill the HTTP API: silent connections, bytes one by one, answers that nobody takes. Others are served all
# the while. jobmgrd may have few open files here, so that the attackers could take all of them.

load helper

setup_file() {
	[ "$EUID" = 0 ] || return 0
	export EVE=rgae$$ MAL=rgam$$ VIC=rgav$$
	users_add "$EVE" "$MAL" "$VIC"
	certificates gate DNS:localhost
	rota() { (ulimit -n 400 && command rota "$@"); }
	instance_up 1 --cpus 4 --mem 4000 --set gate.listen=127.0.0.1:0 --set gate.names=localhost --set "gate.certificate=$TLS/gate.pem" \
		--set "gate.private_key=$TLS/gate.key" --set gate.handshake_timeout=4 --set gate.header_timeout=4 --set gate.body_timeout=5 --set gate.answer_timeout=5
	unset -f rota
	https_client "$TLS/remote.conf" "$TLS/authority.pem"
	export GATE=$ROTA_HOME/run/gate.sock
	folders_add "$VIC"
	JOBMGRD=$(pid_of jobmgrd)
	export JOBMGRD
}

teardown_file() {
	[ "$EUID" = 0 ] || return 0
	local status=0
	instance_users_down "$EVE" "$MAL" "$VIC" || status=1
	rm -rf -- "$TLS"
	return "$status"
}

setup() {
	need_root
}

teardown() {
	[ -z "${ATTACKERS:-}" ] || stop_attack
}

# attack USER COUNT WHERE BYTES: in the background, as that user, open so many connections to the Unix socket ("unix") or from
# that address to the port. Each connection sends the bytes and then one more, again and again; without BYTES, nothing. A
# connection that is closed is opened again. All have been opened once when this returns. The number of closed ones is appended to
# closed.USER.WHERE.BYTES, a line
# each round.
attack() {
	local closed=$BATS_TEST_TMPDIR/closed.$1.$3.${#4}
	setpriv --reuid "$1" --regid "$1" --clear-groups perl -MIO::Socket::UNIX -MIO::Socket::INET -e '
		my ($count, $where, $bytes) = @ARGV;
		$SIG{PIPE} = "IGNORE"; $| = 1;
		$bytes =~ s/\\x(..)/chr hex $1/ge; $bytes =~ s/\\r/\r/g; $bytes =~ s/\\n/\n/g;
		my @held;
		for (my $closed = 0;;) {
			for my $i (0 .. $count - 1) {
				if ($held[$i]) {
					my $bits = ""; vec($bits, fileno $held[$i], 1) = 1;
					if (select $bits, undef, undef, 0) { my $n = sysread $held[$i], my $x, 65536; undef $held[$i] unless $n }
					if ($held[$i] && length $bytes) { undef $held[$i] unless defined syswrite $held[$i], "a" }
					$closed++ unless $held[$i];
				}
				next if $held[$i];
				$held[$i] = $where eq "unix" ? IO::Socket::UNIX->new(Peer => $ENV{GATE})
					: IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ENV{PORT}, LocalAddr => $where, Timeout => 5) or next;
				syswrite $held[$i], $bytes if length $bytes;
			}
			print "$closed\n";
			select undef, undef, undef, 0.2;
		}' "$2" "$3" "$4" >"$closed" 2>/dev/null 3>&- &
	ATTACKERS+=" $!"
	eventually test -s "$closed"
}

# closed WHERE: prints how many connections of the attackers jobmgrd has closed there.
closed() {
	tail -qn 1 "$BATS_TEST_TMPDIR"/closed.*.$1.* | awk '{ sum += $1 } END { print sum }'
}

stop_attack() {
	kill $ATTACKERS 2>/dev/null || true
	wait $ATTACKERS 2>/dev/null || true
	ATTACKERS=
}

files() {
	ls "/proc/$JOBMGRD/fd" | wc -l
}

# remote COMMAND...: run it as Vic, over HTTPS.
remote() {
	(cd "$ROTA_TEST_DIR/$VIC" && ROTA_CONFIG=$TLS/remote.conf as "$VIC" "$@")
}

served() { # root, and Vic on the Unix socket and over HTTPS
	timeout 60 rota queue >/dev/null
	as "$VIC" timeout 60 rota queue >/dev/null
	remote timeout 60 rota queue >/dev/null
}

@test "two users and two addresses fill what they may have, at once, and others are served" {
	HELLO='\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' # a record of 512 bytes is announced
	HEADER='GET /v1/queue HTTP/1.1\r\nX-Long: '
	served # so the attack meets users who are authenticated already
	attack "$EVE" 700 unix ''
	attack "$EVE" 300 unix "$HEADER"
	attack "$MAL" 700 unix ''
	attack "$MAL" 300 unix 'POST /v1/submit HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n'
	attack "$EVE" 250 127.0.0.2 ''
	attack "$MAL" 250 127.0.0.2 "$HELLO"
	attack "$EVE" 250 127.0.0.3 ''
	attack "$MAL" 250 127.0.0.3 "$HELLO"
	printf '#!/bin/sh\n#ROTA --output=%%j.out\necho done\n' >"$ROTA_TEST_DIR/job.sh"
	for i in 1 2 3 4 5; do
		served
		[ "$(files)" -lt 395 ]
	done
	job=$(remote rota submit --parsable "$ROTA_TEST_DIR/job.sh")
	remote timeout 120 rota wait "$job"
	[ "$(remote rota log "$job")" = "done" ]
	job=$(cd "$ROTA_TEST_DIR/$VIC" && as "$VIC" rota submit --parsable --wait "$ROTA_TEST_DIR/job.sh")
	[ -n "$job" ]
	# A user who calls for the first time is served, too.
	as nobody timeout 60 rota queue
	grep -q 'HTTP API: all connections in use' "$ROTA_HOME/log/jobmgrd.log"
	stop_attack
	# Neither socket waits for the other's attackers, so connections of both are accepted all the while.
	echo "closed: $(closed unix) on the Unix socket, $(closed '127.*') by HTTPS"
	[ $((10 * $(closed '127.*'))) -gt "$(closed unix)" ]
	served
	[ "$(pid_of jobmgrd)" = "$JOBMGRD" ]
}

@test "a connection that waits for a busy jobmgrd waits in the kernel's queue, and is not dropped" {
	kill -STOP "$JOBMGRD"
	run timeout 120 perl -MIO::Socket::INET -e '
		my @held;
		while (@held < 900) {
			my $new = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ENV{PORT}, LocalAddr => "127.0.0.2", Timeout => 20)
				or die scalar(@held), " connections\n";
			push @held, $new;
		}' 3>&-
	kill -CONT "$JOBMGRD"
	[ "$status" = 0 ] # of the dropped ones, each would take a second or more
	served
}

@test "known users who fill all places do not displace root's and others' calls" {
	for user in "$EVE" "$MAL" "$VIC"; do
		as "$user" rota queue >/dev/null
	done
	attack "$EVE" 500 unix ''
	attack "$MAL" 500 unix ''
	for i in 1 2 3 4 5; do
		served
	done
	stop_attack
}

# drip WHERE BYTES: send the first bytes, then one again and again, until the API closes the connection.
drip() {
	perl -MIO::Socket::UNIX -MIO::Socket::INET -e '
		my ($where, $bytes) = @ARGV;
		$SIG{PIPE} = "IGNORE";
		$bytes =~ s/\\x(..)/chr hex $1/ge; $bytes =~ s/\\r/\r/g; $bytes =~ s/\\n/\n/g;
		my $gate = $where eq "unix" ? IO::Socket::UNIX->new(Peer => $ENV{GATE})
			: IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ENV{PORT}) or die;
		syswrite $gate, $bytes;
		my $until = time + 50;
		while (time < $until) {
			my $bits = ""; vec($bits, fileno $gate, 1) = 1;
			exit 0 if select($bits, undef, undef, 0.2) && !sysread $gate, my $x, 65536;
			exit 0 unless defined syswrite $gate, "a";
		}
		exit 1' "$@"
}

@test "bytes that come one by one win no time: handshake, header and body" {
	drip unix 'GET /v1/queue HTTP/1.1\r\nX-Long: '
	drip unix 'POST /v1/submit HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n'
	drip 127.0.0.1 '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'
	for phase in header body 'TLS handshake'; do
		eventually grep -q "the client took too long ($phase)" "$ROTA_HOME/log/jobmgrd.log"
	done
	# A request in small pieces that comes in time is taken.
	body='{"all":true}'
	pieces() {
		printf 'POST /v1/queue HTTP/1.1\r\nAuthorization: Munge %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' \
			"$(rota token POST /v1/queue -d "$body")" "${#body}" "$body" |
			perl -MIO::Socket::UNIX -e '
				my $gate = IO::Socket::UNIX->new(Peer => $ENV{GATE}) or die;
				$SIG{PIPE} = "IGNORE";
				$/ = \5; for (<STDIN>) { syswrite $gate, $_; select undef, undef, undef, 0.01 }
				print while sysread $gate, $_, 65536' | grep -q '200 OK'
	}
	eventually pieces # a busy machine may be too slow once
}

@test "an answer that is not taken does not keep its connection" {
	{ printf '#!/bin/sh\n#ROTA --hold --output=/dev/null\n'; seq -f '# line %.0f of many more' 150000; } >"$ROTA_TEST_DIR/large.sh"
	job=$(cd "$ROTA_TEST_DIR/$VIC" && as "$VIC" rota submit --parsable "$ROTA_TEST_DIR/large.sh")
	served
	before=$(files)
	printf 'GET /v1/script?jobs=%s HTTP/1.1\r\nAuthorization: Munge %s\r\n\r\n' "$job" "$(as "$VIC" rota token GET "/v1/script?jobs=$job")" >"$ROTA_TEST_DIR/request"
	setpriv --reuid "$VIC" --regid "$VIC" --clear-groups perl -MIO::Socket::UNIX -e '
		my $gate = IO::Socket::UNIX->new(Peer => $ENV{GATE}) or die;
		local $/; syswrite $gate, scalar <STDIN>; $| = 1;
		while (sysread $gate, my $x, 1) { print "." unless $n++; select undef, undef, undef, 0.1 }' \
		<"$ROTA_TEST_DIR/request" >"$BATS_TEST_TMPDIR/taken" 3>&- &
	ATTACKERS=$!
	eventually test -s "$BATS_TEST_TMPDIR/taken"
	gone() { [ "$(files)" -le "$before" ] && grep -q 'the client took too long (answer)' "$ROTA_HOME/log/jobmgrd.log"; }
	eventually gone
	kill -0 "$ATTACKERS" # it still reads what the kernel has
	stop_attack
	# A client that reads its answer gets all of it.
	as "$VIC" rota show --script "$job" | cmp - "$ROTA_TEST_DIR/large.sh"
	as "$VIC" rota cancel "$job"
}

@test "a user who has proven themselves may have many connections, and long ones" {
	job=$(cd "$ROTA_TEST_DIR/$VIC" && as "$VIC" rota submit --parsable --hold --output=/dev/null "$ROTA_TEST_DIR/large.sh")
	before=$(files)
	for i in {1..65}; do
		as "$VIC" rota wait --timeout=600 "$job" >/dev/null 2>"$BATS_TEST_TMPDIR/wait.$i" 3>&- &
		ATTACKERS+=" $!"
	done
	all_wait() { [ "$(files)" -ge $((before + 60)) ]; }
	eventually all_wait # so many programs take long to start on a busy machine
	drip unix 'POST /v1/submit HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n' # which ends at its deadline
	[ "$(files)" -ge $((before + 60)) ]
	as "$VIC" rota cancel "$job"
	wait $ATTACKERS || true
	ATTACKERS=
	[ -z "$(cat "$BATS_TEST_TMPDIR"/wait.*)" ]
}

@test "the same jobmgrd serves, and its memory has stayed small" {
	[ "$(pid_of jobmgrd)" = "$JOBMGRD" ]
	run awk '/^VmHWM/ { print $2 }' "/proc/$JOBMGRD/status"
	sanitized || [ "$output" -lt 200000 ]
}
