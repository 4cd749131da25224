#!/usr/bin/env python3
"""Runs sub-steps of a job by the step protocol (docs/step-protocol.md) and prints what they print.

    rota submit --ntasks=4 --wrap='python3 substeps.py'
"""
import json
import os
import socket

COMMANDS = [["echo", "hello"], ["sh", "-c", "echo task $ROTA_TASK_ID"], ["sh", "-c", "echo failing; exit 3"]]


def connect():
    folder, name = os.path.split(os.environ["ROTA_STEP_SOCKET"])
    here = os.open(folder, os.O_PATH)  # the path of a socket has at most 107 bytes
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(f"/proc/self/fd/{here}/{name}")
    os.close(here)
    return connection.makefile("rwb")


def main():
    stream = connect()
    for number, argv in enumerate(COMMANDS, 1):
        request = {"op": "run", "id": number, "argv": argv, "ntasks": number, "env": [f"PATH={os.environ['PATH']}"]}
        stream.write(json.dumps(request).encode() + b"\n")
    stream.flush()
    running = len(COMMANDS)
    while running:
        event = json.loads(stream.readline())
        output = stream.read(event.get("bytes", 0))
        if event["event"] == "output":
            print(f"{event['substep']}.{event['task']}: {output.decode().rstrip()}", flush=True)
        elif event["event"] in ("ended", "error"):
            running -= 1
            print(event.get("message") or f"{event['substep']}: {event['state']}, exit code {event['exit']}", flush=True)


main()
