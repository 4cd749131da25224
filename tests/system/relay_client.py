#!/usr/bin/env python3
"""relay_client.py - streams that jobmgrd relays, as a hostile client or step manager would use them.

    ask GATE REQUEST [PROTOCOL]  ask for a stream, by default with the protocol rota-step; print the status and the answer
    hold GATE REQUEST COUNT [PORT_FILE]
                                 open COUNT streams, print their statuses, and keep them until standard input ends; print "ended" for
                                 each that ends before. With PORT_FILE: listen as watch, and begin after a line on standard input
    watch PORT_FILE              listen, write the port into a file, and print "connection" for each until standard input ends
    bulk GATE REQUEST PORT_FILE DOWN|UP BYTES PID
                                 listen as watch; after a line on standard input, have BYTES bytes relayed from there (down) or to there
                                 (up), to a side that does not read before no more are sent. Print the KiB by which the process PID
                                 has grown at its peak, and "good" if what came is what was sent
"""
import hashlib
import os
import select
import socket
import subprocess
import sys
import threading
import time

CHUNK = 65536


def connect(gate, request, protocol="rota-step"):
    """Returns the socket, the status and the answer."""
    credential = subprocess.run(["rota", "token", "--data", request, "POST", "/v1/step_relay"], check=True, capture_output=True,
                                text=True).stdout.strip()
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(gate)
    upgrade = f"Connection: Upgrade\r\nUpgrade: {protocol}\r\n" if protocol else ""
    s.sendall((f"POST /v1/step_relay HTTP/1.1\r\nHost: gate\r\n{upgrade}Authorization: Munge {credential}\r\n"
               f"Content-Length: {len(request)}\r\n\r\n{request}").encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        more = s.recv(1)
        if not more:
            break
        head += more
    status = int(head.split()[1]) if head else 0
    return s, status, b"" if status in (0, 101) else s.recv(CHUNK)


def ask(gate, request, protocol="rota-step"):
    _, status, answer = connect(gate, request, protocol)
    print(status, answer.decode().strip())


def hold(gate, request, count, port_file=None):
    server = listen(port_file) if port_file else None
    if server:
        sys.stdin.readline()
    streams = []
    for _ in range(int(count)):
        s, status, _ = connect(gate, request)
        print(status, end=" ")
        streams.append(s)
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select(streams + [sys.stdin], [], [])
        if sys.stdin in ready:
            return
        for s in ready:
            if not s.recv(CHUNK):
                print("ended", flush=True)
                streams.remove(s)


def listen(port_file):
    listener = socket.create_server(("127.0.0.1", 0))
    with open(port_file + ".new", "w") as file:
        file.write(str(listener.getsockname()[1]))
    os.rename(port_file + ".new", port_file)
    return listener


def watch(port_file):
    listener = listen(port_file)
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        listener.accept()[0].close()
        print("connection", flush=True)


def peak(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM:")).split()[1])


class Sender(threading.Thread):
    def __init__(self, s, size):
        super().__init__(daemon=True)
        self.s, self.size, self.sent, self.hash = s, size, 0, hashlib.sha256()

    def run(self):
        while self.sent < self.size:
            part = os.urandom(min(CHUNK, self.size - self.sent))
            self.s.sendall(part)
            self.hash.update(part)
            self.sent += len(part)
        self.s.shutdown(socket.SHUT_WR)


def bulk(gate, request, port_file, way, size, pid):
    listener = listen(port_file)
    sys.stdin.readline()
    with open(f"/proc/{pid}/clear_refs", "w") as file:
        file.write("5")  # the peak begins here
    before = peak(pid)
    client, status, _ = connect(gate, request)
    assert status == 101, status
    server = listener.accept()[0]
    source, sink = (server, client) if way == "down" else (client, server)
    sender = Sender(source, int(size))
    sender.start()
    last = -1
    while sender.sent != last:
        last = sender.sent
        time.sleep(1)
    assert last < int(size), "the side that reads nothing has not stopped the other one"
    received, seen = 0, hashlib.sha256()
    while True:
        part = sink.recv(CHUNK)
        if not part:
            break
        received += len(part)
        seen.update(part)
    sender.join()
    print(peak(pid) - before, "good" if received == int(size) and seen.digest() == sender.hash.digest() else f"only {received}")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
