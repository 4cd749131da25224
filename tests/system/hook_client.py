#!/usr/bin/env python3
"""hook_client.py SOCKET MODE - asks runnerd's hook socket as jobmgrd does (lua.bats).

lines: sends the lines of standard input, and prints as many answers. long: sends a line that is too long, and prints "closed" when the
connection is. flood COUNT: sends COUNT requests of job_submit at once, checks that each has its own answer, and prints the requests a second.
"""
import json
import socket
import sys
import time


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    client.connect(path)
    return client


def lines(path):
    client = connect(path)
    requests = sys.stdin.buffer.read().splitlines()
    client.sendall(b"".join(line + b"\n" for line in requests))
    answers = client.makefile("rb")
    for _ in requests:
        answer = answers.readline()
        if not answer:
            sys.exit("closed")
        sys.stdout.buffer.write(answer)


def long(path):
    client = connect(path)
    try:
        client.sendall(b"x" * (4 << 20))
        closed = client.recv(1) == b""
    except (BrokenPipeError, ConnectionResetError):
        closed = True
    print("closed" if closed else "open")


def flood(path, count):
    client = connect(path)
    answers = client.makefile("rb")
    found, sent, began = set(), 0, time.monotonic()
    while len(found) < count:
        while sent < count and sent - len(found) < 500:
            request = {"id": sent, "script": "job_submit", "function": "slurm_job_submit",
                       "desc": {"name": "n%d" % sent, "time_limit": 60}, "parts": [], "uid": 1000}
            client.sendall(json.dumps(request).encode() + b"\n")
            sent += 1
        answer = json.loads(answers.readline())
        if answer.get("changes") != {"comment": "n%d" % answer["id"]} or answer["id"] in found:
            sys.exit("wrong answer: %s" % answer)
        found.add(answer["id"])
    print("%d calls, %d a second" % (count, count / (time.monotonic() - began)))


if __name__ == "__main__":
    {"lines": lines, "long": long, "flood": flood}[sys.argv[2]](sys.argv[1], *map(int, sys.argv[3:]))
