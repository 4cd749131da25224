#!/usr/bin/env python3
"""hook_client.py SOCKET MODE - asks runnerd's hook socket as jobmgrd does (lua.bats).

lines: sends the lines of standard input, and prints as many answers, with the id as a member. long: sends a line that is too long, and
prints "closed" when the connection is. flood COUNT: sends COUNT requests of job_submit at once, checks that each has its own answer, and
prints the requests a second. one COUNT: sends requests one after the other, and prints the median time of one.
"""
import json
import socket
import statistics
import sys
import time


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    client.connect(path)
    return client


def parse(line):
    """The answer of a line, with its id."""
    number, _, body = line.partition(b" ")
    return {"id": int(number), **json.loads(body)}


def request(number):
    desc = {"name": "n%d" % number, "time_limit": 60}
    return b"%d job_submit slurm_job_submit %s\n" % (number, json.dumps({"desc": desc, "parts": [], "uid": 1000}).encode())


def lines(path):
    client = connect(path)
    requests = sys.stdin.buffer.read().splitlines()
    client.sendall(b"".join(line + b"\n" for line in requests))
    answers = client.makefile("rb")
    for _ in requests:
        answer = answers.readline()
        if not answer:
            sys.exit("closed")
        print(json.dumps(parse(answer), separators=(",", ":")))


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
            client.sendall(request(sent))
            sent += 1
        answer = parse(answers.readline())
        if answer.get("changes") != {"comment": "n%d" % answer["id"]} or answer["id"] in found:
            sys.exit("wrong answer: %s" % answer)
        found.add(answer["id"])
    print("%d calls, %d a second" % (count, count / (time.monotonic() - began)))


def one(path, count):
    client = connect(path)
    answers = client.makefile("rb")
    times = []
    for i in range(count):
        began = time.monotonic()
        client.sendall(request(i))
        answers.readline()
        times.append(time.monotonic() - began)
    print("%.0f us a call" % (statistics.median(times) * 1e6))


if __name__ == "__main__":
    {"lines": lines, "long": long, "flood": flood, "one": one}[sys.argv[2]](sys.argv[1], *map(int, sys.argv[3:]))
