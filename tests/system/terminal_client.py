#!/usr/bin/env python3
"""terminal_client.py - a client of rota-terminal for terminal.bats.

As a library: Terminal starts one, Client attaches to it. As a program: `terminal_client.py TEST` runs the function test_TEST below.
"""
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.join(os.environ["ROTA_BIN"], "rota-terminal")
PATIENT = 60  # seconds


class Terminal:
    count = 0

    def __init__(self, *argv, rows=24, cols=80, **options):
        Terminal.count += 1
        self.name = f"rota-test-terminal-{os.getpid()}-{Terminal.count}"
        self.started = time.monotonic()
        self.process = subprocess.Popen([PROGRAM, self.name, str(rows), str(cols), *argv], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, **options)

    def attach(self, mode="l", lines=0):
        client = Client(self.name, self.process)
        client.send("a", mode.encode() + struct.pack(">I", lines))
        return client

    def end(self):
        """The output of the terminal itself, and its exit code."""
        try:
            printed, _ = self.process.communicate(timeout=PATIENT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, printed.decode()

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])


class Client:
    def __init__(self, name, process=None):
        until = time.time() + PATIENT
        while True:
            self.socket = socket.socket(socket.AF_UNIX)
            try:
                self.socket.connect("\0" + name)
                break
            except ConnectionRefusedError:
                self.socket.close()
                if time.time() > until or (process and process.poll() is not None):
                    raise
                time.sleep(0.02)
        self.pending, self.output, self.size, self.ended, self.closed = b"", b"", None, False, False

    def send(self, kind, payload=b""):
        self.socket.sendall(kind.encode() + struct.pack(">I", len(payload)) + payload)

    def type(self, text):
        self.send("i", text.encode())

    def resize(self, rows, cols):
        self.send("s", struct.pack(">HH", rows, cols))

    def read(self, timeout):
        """Read what arrives within the time. Returns false if nothing did."""
        if self.closed or not select.select([self.socket], [], [], timeout)[0]:
            return False
        try:
            got = self.socket.recv(1 << 16)
        except ConnectionResetError:
            got = b""
        self.closed = not got
        self.pending += got
        while len(self.pending) >= 5:
            kind, size = self.pending[:1], struct.unpack(">I", self.pending[1:5])[0]
            assert size <= 65536 and kind in b"woet", (kind, size)
            if len(self.pending) < 5 + size:
                break
            payload, self.pending = self.pending[5:5 + size], self.pending[5 + size:]
            assert not self.ended, "a frame after the end"
            if kind == b"w":
                self.size = struct.unpack(">HH", payload)
                self.output = b""
            self.output += payload if kind == b"o" else b""
            self.ended = self.ended or kind == b"e"
        return True

    def wait(self, pattern):
        """Wait until the output since the last whole screen contains this."""
        until = time.time() + PATIENT
        while not re.search(pattern.encode(), self.output, re.S):
            if time.time() > until or (self.closed and pattern):
                raise AssertionError(f"no {pattern!r} in {self.output[-2000:]!r}")
            self.read(0.2)

    def wait_end(self):
        until = time.time() + PATIENT
        while not self.closed and time.time() < until:
            self.read(0.2)
        return self.ended and self.closed


def text_of(terminal, lines=0):
    client = terminal.attach("t", lines)
    assert client.wait_end(), "no end of the text"
    return client.output.decode()


def eventually(check):
    until = time.time() + PATIENT
    while not check():
        assert time.time() < until, "not within the time"
        time.sleep(0.05)


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return children.read().split()


def rests(terminal):
    """Does the shell of the terminal wait for a program sleep, so that it runs no trap?"""
    try:
        child = children_of(children_of(terminal.process.pid)[0])[0]
        with open(f"/proc/{child}/comm", encoding="ascii") as comm:
            return comm.read().strip() == "sleep"
    except (FileNotFoundError, IndexError):
        return False


def foreground(terminal):
    """Name of the program that has the terminal's keyboard, empty if there is none yet."""
    try:
        child = children_of(terminal.process.pid)[0]
        with open(f"/proc/{child}/stat", encoding="ascii") as stat:
            leader = stat.read().rpartition(") ")[2].split()[5]
        with open(f"/proc/{leader}/comm", encoding="ascii") as comm:
            return comm.read().strip()
    except (FileNotFoundError, IndexError):
        return ""


def test_echo():
    terminal = Terminal("cat")
    client = terminal.attach()
    client.type("héllo\n")
    client.wait("héllo.*héllo")
    assert client.size == (24, 80)
    assert text_of(terminal) == "héllo\nhéllo\n"
    client.type("\x04")
    assert client.wait_end()
    assert terminal.end() == (0, "")


def test_silent():
    """A client gets nothing before it sends its frame `a` (attach)."""
    terminal = Terminal("sh", "-c", "while :; do echo x; sleep 0.05; done")
    client = Client(terminal.name)
    assert not client.read(1)
    client.send("a", b"l\0\0\0\0")
    client.wait("x")
    terminal.process.kill()
    terminal.end()


def test_size():
    terminal = Terminal("bash", "-c", "trap 'stty size' WINCH; stty size; while :; do sleep 0.1; done", rows=30, cols=90)
    client, other = terminal.attach(), terminal.attach()
    client.wait("30 90")
    client.resize(40, 132)
    client.wait("40 132")
    other.wait("40 132")
    assert client.size == other.size == (40, 132)
    eventually(lambda: rests(terminal))  # bash loses a signal that comes during the trap of the one before
    other.resize(10, 20)
    client.wait("10 20")
    assert client.size == (10, 20)
    eventually(lambda: rests(terminal))
    client.resize(65535, 0)  # the nearest that can be
    client.wait("1000 4")
    terminal.process.terminate()
    assert terminal.end() == (-signal.SIGTERM, "")


def test_keys():
    terminal = Terminal("bash", "--norc", "-i", env={**os.environ, "PS1": "ready> "})
    client = terminal.attach()
    client.wait("ready> ")
    client.type("sleep 1000\n")
    eventually(lambda: foreground(terminal) == "sleep")
    client.type("\x03")
    client.wait(r"\^C.*ready> ")
    client.type("cat; echo code $?\n")
    eventually(lambda: foreground(terminal) == "cat")
    client.type("\x1a")
    client.wait("Stopped")
    client.type("kill %1; wait; cat; echo code $?\n")
    eventually(lambda: foreground(terminal) == "cat")
    client.type("\x1c")
    client.wait("code 131")
    client.type("exit 7\n")
    assert client.wait_end()
    assert terminal.end() == (7, "")


def test_codes():
    assert Terminal("sh", "-c", "exit 3").end() == (3, "")
    assert Terminal("sh", "-c", "kill -SEGV $$").end() == (-signal.SIGSEGV, "")
    assert Terminal("sh", "-c", "kill -KILL $$").end() == (-signal.SIGKILL, "")
    code, printed = Terminal("/nowhere/nothing").end()
    assert code == 127 and "could not execute \"/nowhere/nothing\"" in printed, printed
    code, printed = Terminal("/etc/passwd").end()
    assert code == 126 and "/etc/passwd" in printed, printed
    code, printed = Terminal("true", rows=0).end()
    assert code == 2 and "usage" in printed, printed


def test_signals():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        terminal = Terminal("sleep", "1000")
        terminal.attach().read(PATIENT)
        terminal.process.send_signal(number)
        assert terminal.end() == (-number, ""), number
    # In the foreground process group and in the command.
    terminal = Terminal("bash", "--norc", "-ic", "trap 'echo leader' USR1; bash -c 'trap \"echo front; exit 0\" USR1; echo begun; "
                        "while :; do sleep 0.1; done'; read line")
    client = terminal.attach()
    client.wait("begun")
    terminal.process.send_signal(signal.SIGUSR1)
    client.wait("front.*leader|leader.*front")
    terminal.process.kill()
    terminal.end()


def test_hangup():
    """Nothing of the command holds the pty when the terminal is killed."""
    terminal = Terminal("bash", "-c", "echo pid $$ pid; trap '' HUP; while echo x; do sleep 0.1; done")
    client = terminal.attach()
    client.wait(r"pid \d+ pid")
    pid = int(re.search(rb"pid (\d+) pid", client.output)[1])
    terminal.process.kill()
    terminal.end()
    eventually(lambda: not os.path.exists(f"/proc/{pid}"))


def test_descriptors():
    terminal = Terminal("sh", "-c", "ls -l /proc/self/fd; echo end; tty; echo $TERM; read line")
    client = terminal.attach()
    client.wait("xterm|linux|dumb|screen")
    assert len(re.findall(r"\d -> /dev/pts/", text_of(terminal))) == 3, text_of(terminal)
    terminal.process.kill()
    terminal.end()


def test_rest():
    """A client gets all output of a command that ends at once."""
    terminal = Terminal("sh", "-c", "read line; seq 1 5000; exit 4")
    client = terminal.attach()
    client.wait("l")
    client.type("go\n")
    assert client.wait_end()
    assert b"\r\n4999\r\n5000\r\n" in client.output, client.output[-100:]
    assert terminal.end() == (4, "")


def late(terminal):
    monitor = terminal.attach("m")
    time.sleep(0.5)
    client = terminal.attach()
    assert client.wait_end() and b"at once" in client.output, client.output
    assert monitor.wait_end()
    assert terminal.end() == (5, "")


def silent(terminal):
    client = Client(terminal.name, terminal.process)
    assert not client.wait_end() and client.closed


def test_late():
    """A command that ends before anybody attaches: who comes soon gets its output, and the terminal does not stay for long."""
    for check, argv in ((late, ("sh", "-c", "echo at once; exit 5")), (silent, ("true",))):
        for again in range(5, -1, -1):
            terminal = Terminal(*argv)
            try:
                check(terminal)
                break
            except (AssertionError, ConnectionRefusedError):
                # The terminal stays for two seconds. On a slow machine, this client may come later.
                if not again or time.monotonic() < terminal.started + 2:
                    raise


def test_text():
    terminal = Terminal("sh", "-c", "seq 1 20000; read line; echo a new line; seq 1 3; read line")
    eventually(lambda: "20000" in text_of(terminal))
    assert text_of(terminal, 5).split() == [str(n) for n in range(19973, 20001)], text_of(terminal, 5)
    assert len(text_of(terminal, 4000000000).split()) == 10023
    follower, client = terminal.attach("f", 1), terminal.attach()
    follower.wait("\n20000\n")
    client.type("\n")
    follower.wait("\na new line\n1\n2\n3\n")
    client.type("\n")
    assert follower.wait_end()
    terminal.end()


def test_flood():
    """A client that never reads delays neither the command nor another client."""
    terminal = Terminal("sh", "-c", f"read line; yes {'x' * 70} | head -c 200000000; echo the end; read line")
    idle, client = terminal.attach(), terminal.attach()
    client.wait("l")
    client.type("\n")
    started, largest, slowest = time.time(), 0, 0
    while b"the end" not in client.output[-4096:]:
        client.output = client.output[-4096:]
        before = time.time()
        client.read(PATIENT)
        slowest = max(slowest, time.time() - before)
        largest = max(largest, terminal.memory())
        assert time.time() < started + 900, "too slow"
    print(f"{time.time() - started:.1f} s, {largest} KiB, longest pause {slowest:.2f} s")
    assert largest < 64 * 1024, largest
    assert slowest < 20, slowest  # a terminal that waits for the idle client does so for ever
    idle.wait("the end")  # the whole screen, anew
    assert idle.size == (24, 80)
    client.type("\n")
    assert client.wait_end()
    terminal.end()


def test_input():
    """A command that does not read stops the client, not the terminal."""
    with tempfile.NamedTemporaryFile(delete=False) as file:
        gate = file.name
    terminal = Terminal("sh", "-c", f"stty raw -echo; echo set; while [ -e {gate} ]; do sleep 0.3; done; head -c 4000000 | wc -c; read line")
    client, other = terminal.attach(), terminal.attach()
    client.wait("set")
    client.socket.setblocking(False)
    rest, sent = b"".join(b"i" + struct.pack(">I", 50000) + b"x" * 50000 for _ in range(80)), 0
    try:
        while True:
            sent += client.socket.send(rest[sent:])
            time.sleep(0.001)
    except BlockingIOError:
        pass
    assert sent < 2500000, sent
    assert "set" in text_of(terminal)
    assert terminal.memory() < 48 * 1024, terminal.memory()
    os.remove(gate)
    client.socket.setblocking(True)
    client.socket.sendall(rest[sent:])
    other.wait("4000000")
    terminal.process.kill()
    terminal.end()


def test_malformed():
    terminal = Terminal("cat")
    for bytes_ in (b"x\0\0\0\0", b"a\0\0\0\0", b"az\0\0\0\0", b"a\0\0\0\5zaaaa", b"s\0\0\0\3aaa", b"i\0\1\0\1", b"\xff" * 100):
        client = Client(terminal.name)
        client.socket.sendall(bytes_)
        if bytes_[:6] == b"az\0\0\0\0":
            client.socket.close()
            continue
        assert not client.wait_end() and client.closed, bytes_
    client = terminal.attach()
    client.type("still\n")
    client.wait("still.*still")
    client.send("a", b"l\0\0\0\0")
    client.wait_end()
    assert client.closed
    terminal.process.kill()
    terminal.end()


def test_stranger():
    terminal = Terminal("cat")
    terminal.attach().wait("m")
    script = ("import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect('\\0'+sys.argv[1])\n"
              "s.settimeout(20)\n"
              "try:\n s.sendall(b'a\\0\\0\\0\\5l\\0\\0\\0\\0')\n print(len(s.recv(1)))\nexcept OSError: print(0)\n")
    run = ["python3", "-c", script, terminal.name]
    assert subprocess.check_output(run).strip() == b"1"
    assert subprocess.check_output(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *run]).strip() == b"0"
    terminal.process.kill()
    terminal.end()


def screen_of(raw, rows, cols):
    """The screen that another terminal shows after these bytes."""
    path = f"/tmp/rota-test-terminal-{os.getpid()}.raw"
    with open(path, "wb") as file:
        file.write(raw)
    terminal = Terminal("bash", "-c", f"stty raw -echo; cat {path}; exec sleep 1000", rows=rows, cols=cols)
    eventually(lambda: foreground(terminal) == "sleep")
    last = None
    while True:
        now = text_of(terminal)
        if now and now == last:
            break
        last = now
        time.sleep(0.2)
    terminal.process.kill()
    terminal.end()
    os.remove(path)
    return now


def shows(client, terminal):
    """Wait until the client shows the screen of its terminal of 24 x 80."""
    until = time.time() + PATIENT
    while True:
        while client.read(0.2):
            pass
        expected = text_of(terminal)
        if screen_of(client.output, 24, 80) == expected:
            return
        assert time.time() < until, expected


def test_editor():
    """A client that attaches in the middle sees the same screen as one that was there from the beginning."""
    editor = "vim" if subprocess.call(["which", "vim"], stdout=subprocess.DEVNULL) == 0 else "vi"
    for argv in ([editor, "-u", "NONE", "-N", "-n", os.path.abspath(__file__)], ["top", "-d", "1000"]):
        terminal = Terminal(*argv, env={**os.environ, "TERM": "xterm-256color"})
        first = terminal.attach()
        first.wait("import" if argv[0] == editor else "PID")
        while first.read(1):
            pass
        if argv[0] == editor:
            first.type(":set number\r:split\r\x06jjdd")
            while first.read(1):
                pass
        second = terminal.attach()
        for client in (first, second):
            shows(client, terminal)
        assert argv[0] != editor or re.search(rb"\x1b\[\?1h", second.output)
        terminal.process.kill()
        terminal.end()


def test_query():
    """Without a live client, the screen answers what the command asks of the terminal."""
    terminal = Terminal("bash", "-c", r"stty -echo raw; printf 'ab\033[6n'; IFS= read -rd R answer; stty sane; "
                        r"printf '%q\n' \"$answer\" | tr -d '\033'; read line")
    eventually(lambda: "1;3" in text_of(terminal))
    terminal.process.kill()
    terminal.end()


if __name__ == "__main__":
    globals()[f"test_{sys.argv[1]}"]()
