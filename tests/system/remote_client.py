#!/usr/bin/env python3
"""remote_client.py - speaks to a step manager by TLS as an attacker would, and to the HTTP API as its owner.

    ask GATE REQUEST        print the answer to a request for a token (JSON)
    talk PORT [TOKEN]       connect by TLS, send the token if there is one and the request `list`; print what comes
    plain PORT              send bytes that are no TLS; print "closed" once the connection is closed
    crowd PORT COUNT        open COUNT connections that send nothing, print "ready", and keep them until standard input ends
    sign KEY NAME=VALUE...  print a token of these fields, signed with the key
    false PORT_FILE         serve TLS with a certificate of its own; write the port into a file; print the bytes that clients send
"""
import os
import socket
import ssl
import subprocess
import sys
import tempfile


def ask(gate, request):
    credential = subprocess.run(["rota", "token", "--data", request, "POST", "/v1/step_token"], check=True,
                                capture_output=True, text=True).stdout.strip()
    s = socket.socket(socket.AF_UNIX)
    s.connect(gate)
    s.sendall((f"POST /v1/step_token HTTP/1.1\r\nHost: gate\r\nConnection: close\r\nAuthorization: Munge {credential}\r\n"
               f"Content-Length: {len(request)}\r\n\r\n{request}").encode())
    answer = b""
    while True:
        more = s.recv(65536)
        if not more:
            break
        answer += more
    print(answer.split(b"\r\n\r\n", 1)[1].decode().strip())


def client_context():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def talk(port, token=None):
    raw = socket.create_connection(("127.0.0.1", int(port)), 30)
    s = client_context().wrap_socket(raw)
    if token is not None:
        s.sendall(token.encode() + b"\n")
    s.sendall(b'{"op":"list","id":1}\n')
    try:
        print(s.recv(65536).decode().strip() or "closed")
    except (OSError, ssl.SSLError):
        print("closed")


def plain(port):
    s = socket.create_connection(("127.0.0.1", int(port)), 30)
    s.sendall(b"GET / HTTP/1.1\r\n\r\n" + os.urandom(4096))
    try:
        while s.recv(65536):
            pass
    except ConnectionResetError:
        pass
    print("closed")


def crowd(port, count):
    kept = [socket.create_connection(("127.0.0.1", int(port)), 30) for _ in range(int(count))]
    print("ready", flush=True)
    sys.stdin.read()
    del kept


def sign(key, *fields):
    text = b"".join(f"{name}={len(value)}:{value}\n".encode() for name, value in (f.split("=", 1) for f in fields))
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"\3" + text)
        file.flush()
        signature = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", file.name], check=True,
                                   capture_output=True).stdout
    print((signature + text).hex())


def false(port_file, certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))
    with open(port_file + ".new", "w") as file:
        file.write(str(listener.getsockname()[1]))
    os.rename(port_file + ".new", port_file)
    s, _ = listener.accept()
    try:
        print("got", len(context.wrap_socket(s, server_side=True).recv(65536)), flush=True)
    except (OSError, ssl.SSLError):
        print("got 0", flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
