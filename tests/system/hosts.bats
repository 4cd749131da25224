#!/usr/bin/env bats
# A name that leads to several machines with a jobmgrd: one of them hangs, and clients are served by another one.

load helper

setup_file() {
	certificates gate DNS:localhost
	# localhost is two addresses for clients here. They ask 127.0.0.1 first, where a relay is in place of a machine that hangs.
	printf '127.0.0.1 localhost\n127.0.0.9 localhost\n' >"$TLS/hosts"
	instance_up 1 --cpus 2 --mem 1000 --set gate.listen=127.0.0.9:0 --set gate.names=localhost --set "gate.certificate=$TLS/gate.pem" --set "gate.private_key=$TLS/gate.key"
	PORT=$(sed -n 's/.*HTTPS at 127\.0\.0\.9:\([0-9]*\).*/\1/p' "$ROTA_HOME/log/jobmgrd.log" | tail -n 1)
	[ -n "$PORT" ]
	export PORT
	sed -e '/^url\|^authority/d' -e "/^\[gate\]/a url = https://localhost:$PORT\nauthority = $TLS/authority.pem" "$ROTA_HOME/etc/rota.conf" >"$TLS/client.conf"
}

teardown_file() {
	local status=0
	instance_down || status=1
	rm -rf -- "$TLS"
	return "$status"
}

setup() {
	[ "$EUID" = 0 ] || skip "only root gives a client host names of its own"
	# The relay is a single process, so that one SIGSTOP stops all its connections. It records each byte that a client has sent.
	perl -MIO::Socket::INET -MIO::Select -e '
		my ($port, $seen) = @ARGV;
		my $listen = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => $port, Listen => 64, ReuseAddr => 1) or die "$@";
		my ($all, %to) = (IO::Select->new($listen));
		while (my @ready = $all->can_read) {
			for my $one (@ready) {
				if ($one == $listen) {
					my $in = $listen->accept or next;
					my $out = IO::Socket::INET->new(PeerAddr => "127.0.0.9", PeerPort => $port) or die "$@";
					($to{$in}, $to{$out}) = ($out, $in);
					$all->add($in, $out);
				} elsif (my $other = $to{$one}) {
					if (sysread $one, my $bytes, 65536) { syswrite $other, $bytes }
					else { $all->remove($one, $other); delete @to{$one, $other}; close $one; close $other }
				}
				open my $file, ">", $seen; close $file;
			}
		}' "$PORT" "$BATS_TEST_TMPDIR/seen" 3>&- &
	RELAY=$!
	eventually listens
}

teardown() {
	kill -KILL "$RELAY" 2>/dev/null || true
	touch "$TLS/end"
}

listens() {
	(exec 9<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null
}

by() { # COMMAND...: as an ordinary user, for whom localhost is two machines
	ROTA_CONFIG=$TLS/client.conf unshare --mount bash -c 'mount --bind "$TLS/hosts" /etc/hosts && exec setpriv --reuid nobody --regid nogroup --clear-groups env HOME=/tmp "$@"' by "$@"
}

@test "a machine that hangs does not keep clients from the others" {
	kill -STOP "$RELAY"
	by timeout 60 rota queue
}

waits() { # a client waits for a job, and has its request with jobmgrd
	printf '#!/bin/bash\n#ROTA --output=/dev/null\nuntil [ -e %q ]; do sleep 0.3; done\n' "$TLS/end" >"$TLS/job.sh"
	rm -f "$TLS/end"
	cd "$TLS"
	job=$(by rota submit --parsable job.sh)
	since=$(superuser 'select clock_timestamp()')
	by timeout 120 rota wait "$job" 3>&- &
	waiter=$!
	eventually asked
	eventually polled
}

# Has jobmgrd asked the database for the client since $since? Between the parts of a handshake, nothing is on the way either.
asked() {
	[ "$(superuser "select count(*) from pg_stat_activity
		where application_name like 'jobmgrd%' and query ~ 'job_wait' and query_start > '$since'")" -gt 0 ]
}

@test "a machine hangs while a client waits for its answer: the client asks another one" {
	waits
	kill -STOP "$RELAY"
	touch "$TLS/end"
	wait "$waiter"
}

@test "a machine is late for one handshake while a client waits for its answer: the client stays" {
	waits
	kill -STOP "$RELAY"
	eventually late
	kill -CONT "$RELAY"
	eventually polled
	rm -f "$BATS_TEST_TMPDIR/seen"
	touch "$TLS/end"
	wait "$waiter"
	[ -e "$BATS_TEST_TMPDIR/seen" ]
}

late() { # the client has closed a connection that the relay has not served
	ss -Htn state close-wait "( sport = :$PORT )" src 127.0.0.1 | grep -q .
}

# Does the client have its request with jobmgrd? The relay has one connection to a client then, and nothing of it is on the way.
polled() {
	[ "$(ss -Htn state established "( sport = :$PORT )" src 127.0.0.1 | awk '{ n += $1 + $2; c++ } END { print c + 0, n + 0 }')" = "1 0" ]
}
