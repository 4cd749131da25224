"""Streams of a sub-step: from a key to its echo in a terminal, three clients with one that is frozen, bytes to a client.

The benchmark types keys into a pseudo-terminal, each one 10 ms after the echo of the one before, and measures the time until the echo comes
back. The limit is `cat` in a bare pseudo-terminal. With three clients on one terminal, the program prints without pause; the first client
is frozen, the second one types, and the third one only reads. The echo is an upper-case letter in a flood of lower-case ones.
"""
import fcntl
import multiprocessing
import os
import pty
import select
import signal
import socket
import ssl
import struct
import subprocess
import termios
import threading
import time

from lib import process, timing
from lib.allocation import Allocation


class Terminal:
    """A program in a pseudo-terminal, as a person would have it; .end is the descriptor of its master side."""

    def __init__(self, words, env, folder):
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, env)
        os.set_inheritable(self.end, False)  # a later program would keep this terminal open
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
        self.total = 0

    def comes(self, wanted, seconds):
        """Read until these bytes have come; False if they do not come within SECONDS."""
        until, last = time.monotonic() + seconds, b""
        while time.monotonic() < until:
            if not select.select([self.end], [], [], 0.1)[0]:
                continue
            data = os.read(self.end, 65536)
            self.total += len(data)
            last = last[-len(wanted):] + data
            if wanted in last:
                return True
        return False

    def await_bytes(self, wanted):
        if not self.comes(wanted, 60):
            raise RuntimeError(f"{wanted} never came; {self.total} bytes did")

    def echo(self, key):
        """Milliseconds from a key to its echo. A client that falls behind is sent the screen instead of what it lacks, so the echo may
        be left out: then the key is typed again after a second, and its time goes on."""
        began = time.perf_counter()
        for _ in range(60):
            os.write(self.end, key)
            if self.comes(key, 1):
                break
        else:
            raise RuntimeError(f"{key} never came; {self.total} bytes did")
        taken = (time.perf_counter() - began) * 1000
        time.sleep(0.01)
        return taken

    def drain(self):
        """Read what comes, in a thread, until the program ends."""
        def read():
            try:
                while True:
                    self.total += len(os.read(self.end, 65536))
            except OSError:
                pass
        threading.Thread(target=read, daemon=True).start()

    def stop(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.end)


def echoes(words, env, folder, count):
    """Sorted times from key to echo of COUNT keys, in ms."""
    terminal = Terminal(words, env, folder)
    try:
        os.write(terminal.end, b"!")
        terminal.await_bytes(b"!")
        return timing.several(count, lambda: terminal.echo(b"K"))
    finally:
        terminal.stop()


def keys(bench, job):
    count = 5 if bench.toy else 500
    folder = job.instance.folder
    bare = echoes(["cat"], job.env, folder, count)
    through = echoes(job.command("--pty", "--kill-on-hangup", "cat"), job.env, folder, count)
    bare, through = timing.median(bare), timing.median(through)
    bench.figure("rota run --pty: key to echo, median", through, "ms", at_most=bare + 1, limit=bare, limit_name="ms, bare terminal")


def manager(job):
    """The process id of the step manager of the job."""
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/comm", encoding="ascii") as comm, open(f"/proc/{name}/environ", "rb") as environ:
                if comm.read().strip() == "rota-stepmgr" and f"ROTA_JOB_ID={job.number}".encode() in environ.read().split(b"\0"):
                    return int(name)
        except OSError:
            continue
    raise RuntimeError("the job has no step manager")


def three_clients(bench, instance, job):
    size = 1 << 26 if bench.toy else 1 << 30
    count = 5 if bench.toy else 1000
    program = f"yes zzz | head -c {size} & exec cat"
    first = Terminal(job.command("--pty", "--session=flood", "sh", "-c", f"echo ready; read -r line; {program}"), job.env, instance.folder)
    attach = [f"{instance.binaries}/rota", "attach", "flood"]
    others = []
    try:
        first.await_bytes(b"ready")
        others = [Terminal(attach, job.env, instance.folder) for _ in range(2)]
        for terminal in others:
            terminal.await_bytes(b"ready")
        os.write(others[0].end, b"go\r")
        os.kill(first.pid, signal.SIGSTOP)
        others[1].drain()
        times = timing.several(count, lambda: others[0].echo(b"K"))
        bench.figure("three clients, one frozen: key to echo, 99th percentile", timing.percentile(times, 0.99), "ms", at_most=5)
        bench.figure("the same: memory of the step manager at most", process.peak(manager(job)), "MiB", at_most=64)
        bench.figure("the same: bytes that the typing client got", others[0].total / (1 << 20), "MiB")
    finally:
        for terminal in (first, *others):
            terminal.stop()


def seconds_of(words, **options):
    began = time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **options)
    return time.monotonic() - began


def output(bench, instance, job):
    size = 1 << 20 if bench.toy else 1 << 30
    file = f"{instance.folder}/large"
    subprocess.run(["truncate", "-s", str(size), file], check=True)
    piped = seconds_of(["sh", "-c", f"cat {file} | cat"])
    through = seconds_of(job.command("cat", file), env=job.env, cwd=instance.folder)
    bench.figure("output of rota run to a client of the same machine", size / (1 << 20) / through, "MiB/s", limit=size / (1 << 20) / piped,
                 limit_name="MiB/s, a pipe")


def received(words, **options):
    """(bytes that the program writes, seconds in which it does)."""
    began, total = time.monotonic(), 0
    with subprocess.Popen(words, stdout=subprocess.PIPE, **options) as program:
        while data := os.read(program.stdout.fileno(), 1 << 20):
            total += len(data)
    return total, time.monotonic() - began


def serve_tls(listener, folder, size):
    """Send SIZE bytes to the first client. Runs in a process of its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/tls.crt", f"{folder}/tls.key")
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    piece = bytes(65536)
    with context.wrap_socket(listener.accept()[0], server_side=True) as stream:
        for _ in range(size // len(piece)):
            stream.sendall(piece)


def bare_tls(folder, size):
    """Seconds for SIZE bytes through TLS 1.3 over loopback, from a process that does nothing else to this one."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=bench",
                    "-keyout", f"{folder}/tls.key", "-out", f"{folder}/tls.crt"], check=True, stderr=subprocess.DEVNULL)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = multiprocessing.Process(target=serve_tls, args=(listener, folder, size))
        server.start()
        context = ssl.create_default_context(cafile=f"{folder}/tls.crt")
        context.check_hostname = False
        began, left = time.monotonic(), size
        with context.wrap_socket(socket.create_connection(listener.getsockname())) as stream:
            while left > 0:
                left -= len(stream.recv(65536))
        seconds = time.monotonic() - began
        server.join()
    return seconds


def output_by_tls(bench, instance):
    size = 1 << 20 if bench.toy else 1 << 30
    file = f"{instance.folder}/large"
    bare = bare_tls(instance.folder, size)
    env = {**instance.env, "ROTA_STEP_ROUTE": "tls"}
    total, seconds = received([f"{instance.binaries}/rota", "run", "cat", file], env=env, cwd=instance.folder)
    bench.figure("output of rota run to a client by TLS", total / (1 << 20) / seconds, "MiB/s", limit=size / (1 << 20) / bare,
                 limit_name="MiB/s, bare TLS", of_limit=0.5)
    bench.figure("the same: bytes of it that did not come", size - total, "bytes", at_most=0)


def run(bench):
    with bench.instance(nodes=1) as instance:
        with Allocation(instance, "--cpus-per-task=16", "--mem=4G") as job:
            keys(bench, job)
            output(bench, instance, job)
            three_clients(bench, instance, job)
        output_by_tls(bench, instance)
