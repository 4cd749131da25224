#!/usr/bin/env python3
"""trigger_server.py - a server for webhooks. Usage: trigger_server.py FOLDER PORT-FILE.

It appends a line of JSON to FOLDER/got for each request: the body, whether X-Rota-Signature is that of FOLDER/secret.TRIGGER, and the
status that it answers with. The path says how it answers: /ok, /twice (fails for the first two requests), /500, /hang, /slow, /redirect."""

import hashlib
import hmac
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER = sys.argv[1]
LOCK = threading.Lock()
SEEN = {}


def secret(trigger):
    """The secret of a trigger, which the test writes as soon as it has it."""
    path = f"{FOLDER}/secret.{trigger}"
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            with open(path) as file:
                text = file.read().strip()
            if text:
                return text
        except FileNotFoundError:
            pass
        time.sleep(0.01)
    return ""


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(raw)
        expected = hmac.new(secret(body["trigger"]).encode(), raw, hashlib.sha256).hexdigest()
        signed = hmac.compare_digest(expected, self.headers.get("X-Rota-Signature", ""))
        with LOCK:
            count = SEEN[body["trigger"]] = SEEN.get(body["trigger"], 0) + 1
        status = 200
        if self.path == "/hang":
            time.sleep(30)
        elif self.path == "/slow":
            time.sleep(0.3)
        elif self.path == "/500" or (self.path == "/twice" and count <= 2):
            status = 500
        elif self.path == "/redirect":
            status = 302
        with LOCK, open(FOLDER + "/got", "a") as file:
            file.write(json.dumps({"status": status, "signed": signed, "body": body}) + "\n")
        try:
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/ok")
            self.send_header("Content-Length", "0")
            self.end_headers()
        except OSError:
            pass

    do_GET = do_POST

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("localhost", 0), Handler)
with open(sys.argv[2] + ".part", "w") as out:
    out.write(str(server.server_port))
os.rename(sys.argv[2] + ".part", sys.argv[2])
server.serve_forever()
