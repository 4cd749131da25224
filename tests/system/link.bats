#!/usr/bin/env bats
# rota-link, by which processes on other nodes of a step reach the DMTCP coordinator on its first node: whoever does not know the key of the
# attempt, or is another user of a node, gets nothing.

load helper

setup_file() {
	export EVE=rlnk$$
	[ "$EUID" != 0 ] || users_add "$EVE"
}

teardown_file() {
	[ "$EUID" != 0 ] || users_remove "$EVE"
}

# A coordinator at a port of the loopback interface that answers each line with the same line; a rota-link of the first node in front of it,
# and one of another node.
setup() {
	cd "$BATS_TEST_TMPDIR"
	chmod 711 .
	mkdir -m 700 run
	: >rota.conf
	cat >coordinator.py <<-'END'
		import socketserver, sys
		class Answer(socketserver.StreamRequestHandler):
		    def handle(self):
		        with open("received", "a") as received:
		            for line in self.rfile:
		                print(line, file=received, flush=True)
		                self.wfile.write(line)
		class Server(socketserver.ThreadingTCPServer):
		    daemon_threads = True
		with Server(("127.0.0.1", 0), Answer) as server:
		    with open("port.part", "w") as file:
		        print(server.server_address[1], file=file)
		    import os
		    os.rename("port.part", "port")
		    server.serve_forever()
	END
	cat >ask.py <<-'END'
		import socket, sys
		with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=50) as s:
		    s.settimeout(50)
		    s.sendall(sys.argv[2].encode() + b"\n")
		    try:
		        print(s.recv(100).decode(), end="")
		    except ConnectionResetError:
		        pass
	END
	python3 coordinator.py 3>&- &
	started=($!)
	eventually [ -e port ]
	begin first rota.conf run "$(cat port)"
	eventually [ -e run/link ]
	read -r LINK KEY <run/link
	begin other run 1 127.0.0.1 "$$"
	eventually [ -e run/port.1 ]
	read -r OTHER _ <run/port.1
}

teardown() {
	kill -9 "${started[@]}" || true
	wait "${started[@]}" 2>/dev/null || true
}

# begin ARGUMENT...: rota-link, with a standard input that does not end.
begin() {
	mkfifo "input.$1"
	rota-link "$@" <>"input.$1" 3>&- &
	started+=($!)
}

# other_begin PORT: a rota-link of another node that takes the server at PORT for the first node. OTHER: its port.
other_begin() {
	mkdir -m 700 other
	echo "$1 $KEY" >other/link
	rota-link other other 2 127.0.0.1 "$$" <>input.other 3>&- 2>/dev/null &
	started+=($!)
	eventually [ -e other/port.2 ]
	read -r OTHER _ <other/port.2
}

# by_key KEY: what the rota-link of the first node answers to the line "hello" of a peer with this key.
by_key() {
	(echo hello; sleep "${2:-1}") | timeout 20 openssl s_client -connect "127.0.0.1:$LINK" -tls1_3 -ciphersuites TLS_AES_128_GCM_SHA256 -psk "$1" \
		-psk_identity 1 -quiet 2>errors
}

@test "a process of the owner on another node is answered, with much and with little, and the key is the owner's" {
	[ "$(python3 ask.py "$OTHER" hello)" = hello ]
	[ "$(stat -c %a run/link)" = 600 ]
	head -c 3000000 /dev/urandom | base64 >much
	python3 - "$OTHER" <<-'END'
		import socket, sys, threading
		much = open("much", "rb").read()
		with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=50) as s:
		    threading.Thread(target=s.sendall, args=(much,)).start()
		    got = b""
		    while len(got) < len(much):
		        part = s.recv(65536)
		        assert part
		        got += part
		    assert got == much
	END
}

@test "a peer without the key, with another one, or without TLS gets nothing, and nothing of it is received" {
	[ "$(by_key "$KEY")" = hello ]
	rm received
	[ -z "$(by_key "$(printf '%064d' 0)")" ]
	grep -q alert errors
	[ -z "$(python3 ask.py "$LINK" hello)" ]
	[ -z "$(echo hello | timeout 20 openssl s_client -connect "127.0.0.1:$LINK" -quiet 2>/dev/null)" ]
	[ -z "$(echo hello | timeout 20 openssl s_client -connect "127.0.0.1:$LINK" -tls1_2 -psk "$KEY" -psk_identity 1 -quiet 2>/dev/null)" ]
	[ ! -e received ]
	[ "$(python3 ask.py "$OTHER" hello)" = hello ]
}

@test "what the nodes say to each other is not readable on the way, and a false first node gets nothing" {
	local false
	python3 - <<-'END' 3>&- &
		import os, socket
		with socket.create_server(("127.0.0.1", 0)) as server:
		    with open("false.part", "w") as file:
		        print(server.getsockname()[1], file=file)
		    os.rename("false.part", "false")
		    peer, _ = server.accept()
		    with open("stolen", "wb") as stolen:
		        while part := peer.recv(4096):
		            stolen.write(part)
		            stolen.flush()
		            try:
		                peer.sendall(part)
		            except OSError:
		                pass
	END
	started+=($!)
	eventually [ -e false ]
	other_begin "$(cat false)"
	timeout 10 python3 ask.py "$OTHER" "a secret word" || true
	eventually [ -s stolen ]
	run ! grep -q "secret" stolen
}

@test "a false first node that shows a certificate instead of the key gets nothing, and its words are not passed on" {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout false.key -out false.pem -subj /CN=first 2>/dev/null
	mkfifo words
	openssl s_server -accept 127.0.0.1:0 -cert false.pem -key false.key -naccept 1 <>words >false.out 2>&1 3>&- &
	started+=($!)
	echo "a false word" >words
	eventually grep -q ^ACCEPT false.out
	other_begin "$(sed -n 's/^ACCEPT .*://p' false.out)"
	[ -z "$(python3 ask.py "$OTHER" "a secret word")" ]
	eventually grep -i "alert" false.out
	run ! grep "secret" false.out
}

@test "another user of a node gets nothing, neither on the first one nor on the others, and cannot read the key" {
	need_root
	run ! as "$EVE" cat run/link
	[ -z "$(as "$EVE" python3 - "$OTHER" hello <ask.py)" ]
	[ -z "$(as "$EVE" python3 - "$LINK" hello <ask.py)" ]
	[ ! -e received ]
	[ "$(python3 ask.py "$OTHER" hello)" = hello ]
	[ "$(as "$EVE" python3 - "$(cat port)" hello <ask.py)" = hello ] # what the guard is for
}

@test "many silent connections are closed, and keep nobody out for long" {
	cat >silent.py <<-'END'
		import os, socket, sys
		peers = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(200)]
		open("silent", "w").close()
		for peer in peers:
		    while True:
		        try:
		            if not peer.recv(100):
		                break
		        except ConnectionResetError:
		            break
		open("closed", "w").close()
		sys.stdin.read()
	END
	mkfifo input.silent
	python3 silent.py "$LINK" <>input.silent 3>&- &
	started+=($!)
	eventually [ -e silent ]
	[ "$(python3 ask.py "$OTHER" hello)" = hello ]
	eventually [ -e closed ]
	[ "$(ls "/proc/${started[1]}/fd" | wc -l)" -lt 20 ]
}

@test "rota-link ends with its standard input" {
	local pid
	mkfifo end
	rm run/link
	rota-link first rota.conf run "$(cat port)" <end 3>&- &
	pid=$!
	exec 9>end
	eventually [ -e run/link ]
	is_there() { kill -0 "$pid" 2>/dev/null; }
	is_there
	exec 9>&-
	is_gone() { ! is_there; }
	eventually is_gone
}
