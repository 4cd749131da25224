#!/usr/bin/env python3
"""token_server.py - a token service (OAuth 2, RFC 6749). Usage: token_server.py FOLDER PORT-FILE CERTIFICATE KEY.

It takes the refresh token in FOLDER/refresh of the client "rota" with the secret "s&cret=+%", and answers with a token for a minute and
the next refresh token, which it writes there. It appends the path of each request to FOLDER/asked. Other paths answer as their names say:
/refuse, /echo (repeats what it got in its error), /html, /empty, /redirect, /large, /hang, /close, /expired (a JWT of before)."""

import base64
import json
import ssl
import sys
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER = sys.argv[1]
CLIENT = {"grant_type": "refresh_token", "client_id": "rota", "client_secret": "s&cret=+%"}


def part(claims):
    return base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")


class Handler(BaseHTTPRequestHandler):
    def answer(self, status, body, kind="application/json"):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def grant(self, form):
        with open(FOLDER + "/refresh") as file:
            refresh = file.read().strip()
        if form != dict(CLIENT, refresh_token=refresh):
            self.answer(400, {"error": "invalid_grant", "error_description": "no such refresh token"})
            return
        count = int(refresh.rsplit("-", 1)[1]) + 1
        with open(FOLDER + "/refresh", "w") as file:
            file.write(f"refresh+/={count}-{count}")
        self.answer(200, {"access_token": f"access-{count}", "token_type": "Bearer", "expires_in": 60,
                          "refresh_token": f"refresh+/={count}-{count}"})

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with open(FOLDER + "/asked", "a") as file:
            file.write(self.path + "\n")
        if self.path == "/token":
            self.grant(dict(urllib.parse.parse_qsl(raw, strict_parsing=True)))
        elif self.path == "/refuse":
            self.answer(401, {"error": "invalid_client"})
        elif self.path == "/echo":
            self.answer(400, {"error": "invalid_grant", "error_description": urllib.parse.unquote(raw)})
        elif self.path == "/html":
            self.answer(200, b"<html>", "text/html")
        elif self.path == "/empty":
            self.answer(200, b"")
        elif self.path == "/redirect":
            self.send_response(307)
            self.send_header("Location", "/token")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path == "/large":
            self.send_response(200)
            self.end_headers()
            try:
                for _ in range(64):
                    self.wfile.write(b"a" * 65536)
            except OSError:
                pass
        elif self.path == "/hang":
            time.sleep(60)
        elif self.path == "/expired":
            token = f"{part({'alg': 'none'})}.{part({'exp': int(time.time()) - 5})}.c2ln"
            self.answer(200, {"access_token": token, "token_type": "Bearer"})
        # else: close the connection without an answer

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[3], sys.argv[4])
server.socket = context.wrap_socket(server.socket, server_side=True)
server.daemon_threads = True
with open(sys.argv[2], "w") as port:
    port.write(str(server.server_port))
server.serve_forever()
