"""A private instance for the campaign: started, inspected and repaired by `rota`, as an administrator would.

Beside what `rota up` starts there is a second jobmgrd, and, as root, two nodes of a special kind: one whose folder is a small
file system of its own, and one that reaches the database over a network of its own and has a calendar of its own.
"""
import glob
import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import nullcontext

from lib.images import IMAGES, NODE as MACHINE_NODE

LEASE, MARGIN = 5, 4
DISK_NODE, FAR_NODE = "n3", "n4"
NODES, CPUS = 4, 8
DISK_MB = 12


def look(pid):
    """Name, the kernel's state letter and parent of a process; T: stopped, X: does not exist."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            name, _, rest = stat.read().partition(" (")[2].rpartition(") ")
    except OSError:
        return "", "X", 0
    return name, rest[0], int(rest.split()[1])


def alive(pid):
    """Whether a process lives; a zombie does not."""
    return look(pid)[1] not in "ZX"


def arguments(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            return line.read().decode(errors="replace").split("\0")
    except OSError:
        return []


def number_in(path):
    """The number at the beginning of a pid file, 0 if there is none."""
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


class Instance:
    def __init__(self, folder, binaries, say, lease=LEASE, ahead=0):
        self.lease, self.ahead = lease, ahead
        self.folder, self.home, self.binaries, self.say = folder, f"{folder}/home", binaries, say
        self.conf = f"{self.home}/etc/rota.conf"
        self.second_conf, self.far_conf = f"{self.home}/etc/second.conf", f"{self.home}/etc/far.conf"
        self.clock_file, self.pki = f"{folder}/clock", f"{folder}/pki"
        self.environment = {**os.environ, "ROTA_HOME": self.home, "PATH": f"{binaries}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        for name in ("ROTA_CONFIG", "LD_PRELOAD"):
            self.environment.pop(name, None)
        self.root = os.geteuid() == 0
        self.changes = os.path.exists(f"{folder}/changes")  # whether nodes are prepared (lib/changes.py)
        self.machine = None  # of the node whose image changes (lib/images.py)
        self.preload = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
        self.own_disk = self.root and shutil.which("mount") is not None
        self.own_network = self.root and None not in (shutil.which("ip"), shutil.which("nsenter"))
        self.own_clock = self.own_network and self.preload is not None
        self.space = f"rota-{os.getpid()}"
        self.near, self.away = (f"10.213.{os.getpid() >> 6 & 255}.{(os.getpid() & 63) * 4 + i}" for i in (1, 2))
        self.link = f"rota{os.getpid()}"
        self.children, self.started = {}, []

    # commands

    def rota(self, *words, conf=None, timeout=60):
        environment = {**self.environment, "ROTA_CONFIG": conf} if conf else self.environment
        try:
            return subprocess.run([f"{self.binaries}/rota", *words], env=environment, cwd=self.folder, timeout=timeout,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(words, 124, "", f"no answer within {timeout} s")

    def sql(self, text, timeout=30):
        """Rows as lists of strings; None where the database does not answer."""
        try:
            done = subprocess.run(["psql", "-XqAt", "-F", "\t", "-h", f"{self.home}/run", "-d", "rota", "-U", "postgres", "-v", "ON_ERROR_STOP=1"],
                                  input=text, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            return None
        return [line.split("\t") for line in done.stdout.splitlines()]

    # start and repair

    def start(self):
        """Start four nodes; raises if that fails."""
        settings = {"node.lease": self.lease, "node.lease_margin": MARGIN, "node.grace": 1, "nodemgr.period": 1, "node.disk_floor_mb": 2,
                    "controller.prolog": f"{self.folder}/hook.sh", "controller.epilog": f"{self.folder}/hook.sh"}
        if self.ahead:  # nothing is sent ahead if the controller has a prolog
            settings |= {"node.ahead": self.ahead, "controller.prolog": ""}
        settings |= {"credentials.keys": f"{self.folder}/cred", "credentials.period": 1}
        if os.path.exists(f"{self.folder}/burst_buffer.lua"):
            settings |= {"hooks.burst_buffer": f"{self.folder}/burst_buffer.lua", "hooks.poll_interval": 1}
        if self.changes:
            settings |= {"hooks.node_folder": f"{self.folder}/programs"}
        if self.machine:
            settings |= {"hooks.reboot": f"{self.folder}/programs/reboot", "node.image_file": f"{self.folder}/os/image"}
        words = ["up", "--nodes", str(NODES), "--cpus", str(CPUS), "--mem", "8G", "--name", self.space]
        self.must("rota up", self.rota(*words, *(f"--set={k}={v}" for k, v in settings.items()), timeout=120))
        for name, values in (("requeue_max", "1000"), ("requeue_delay_s", "1"), ("checkpoint_pace_s", "0"), ("flap_count", "0")):
            self.must(name, self.rota("admin", "setting", "change", name, f"--value={values}"))
        for name, mode in (("ended", "requeue"), ("paused", "suspend"), ("saved", "checkpoint")):
            self.must(name, self.rota("admin", "qos", "create", name, "--tier=-5", f"--preempt={mode}"))
        self.must("licence", self.rota("admin", "license", "create", "solver", "--total=3"))
        if self.changes:
            self.must("prep", self.rota("admin", "prep", "create", "mode", "--program=mode", "--verify=mode", "--expected=0:02"))
            self.must("image_idle_s", self.rota("admin", "setting", "change", "image_idle_s", "--value=5"))
        if self.machine:
            for image in IMAGES:
                self.must("image", self.rota("admin", "image", "create", image, "--expected=0:02"))
            self.must("image_failures", self.rota("admin", "setting", "change", "image_failures", "--value=0"))
            self.must("default image", self.rota("admin", "node", "change", MACHINE_NODE, f"--default-image={IMAGES[0]}"))
        self.must("gres", self.rota("admin", "node", "change", "n1", "--gres=gpu:2"))
        self.must("rota down", self.rota("down", timeout=120))
        with open(self.conf, encoding="utf-8") as file:
            text = file.read()
        with open(self.second_conf, "w", encoding="utf-8") as file:
            file.write(text.replace("/run/gate.sock", "/run/gate2.sock"))
        with open(f"{self.home}/pg/data/postgresql.conf", "a", encoding="utf-8") as file:
            # The campaign computes recovery times from the times of commits.
            file.write("track_commit_timestamp = on\nlog_timezone = 'UTC'\n")
            if self.own_network:
                file.write(f"listen_addresses = '{self.near}'\nssl = on\nssl_cert_file = '{self.pki}/db.pem'\nssl_key_file = '{self.pki}/db.key'\n")
        if self.own_disk:
            self.must("mount", self.run("mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=0751", "rota", f"{self.home}/node/{DISK_NODE}"))
        if self.own_network:
            self.make_certificate()
            self.make_network(text)
        if not self.repair():
            raise RuntimeError("the instance does not start")

    def must(self, what, done):
        if done.returncode:
            raise RuntimeError(f"{what}: {done.stderr.strip()}")

    def run(self, *words):
        return subprocess.run(words, capture_output=True, text=True, check=False)

    def make_certificate(self):
        """A certificate of the database for its address in the far node's network."""
        self.must("pki init", self.rota("admin", "pki", "init", f"--to={self.pki}"))
        self.must("pki issue", self.rota("admin", "pki", "issue", "db", f"--to={self.pki}", f"--names={self.near}"))
        os.chmod(self.pki, 0o755)
        shutil.chown(f"{self.pki}/db.key", "rota")

    def renew_certificate(self, expired=False):
        """Give the database a certificate that is valid, or one that ended days ago."""
        environment = {**self.environment, "LD_PRELOAD": self.preload, "FAKETIME": "-10d"} if expired else self.environment
        words = [f"{self.binaries}/rota", "admin", "pki", "renew", "db", f"--to={self.pki}", *(["--days=5"] if expired else [])]
        self.must("pki renew", subprocess.run(words, env=environment, capture_output=True, text=True, check=False))
        self.sql("select pg_reload_conf()")

    def make_network(self, text):
        """A network that only the far node is in, with one link to the machine."""
        with open(f"{self.home}/pg/data/pg_hba.conf", "a", encoding="utf-8") as file:
            file.write(f"hostssl rota +rota_nodes {self.away}/32 scram-sha-256\n")
        with open(self.far_conf, "w", encoding="utf-8") as file:
            file.write(text.replace(f"host='{self.home}/run'", f"host='{self.near}' sslrootcert='{self.pki}/authority.pem'"))
        for words in (f"netns add {self.space}", f"link add {self.link} type veth peer name {self.link}f",
                      f"link set {self.link}f netns {self.space}", f"addr add {self.near}/30 dev {self.link}", f"link set {self.link} up",
                      f"-n {self.space} addr add {self.away}/30 dev {self.link}f", f"-n {self.space} link set {self.link}f up"):
            self.must(f"ip {words}", self.run("ip", *words.split()))
        self.set_clock(0)

    def set_clock(self, seconds):
        """The difference of the far node's time of day from the machine's, in seconds."""
        with open(f"{self.clock_file}.new", "w", encoding="ascii") as file:
            file.write(f"{seconds:+d}\n")
        os.chmod(f"{self.clock_file}.new", 0o644)
        os.rename(f"{self.clock_file}.new", self.clock_file)

    def cable(self, plugged):
        self.run("ip", "-n", self.space, "link", "set", f"{self.link}f", "up" if plugged else "down")

    def child(self, name, words, environment=None):
        """Start a daemon that `rota up` does not start, or start it again if it has died."""
        if name in self.children and self.children[name].poll() is None:
            return
        with open(f"{self.home}/log/{name}.log", "ab") as log:
            self.children[name] = subprocess.Popen(words, env=environment or self.environment, cwd=self.home, stdin=subprocess.DEVNULL,
                                                   stdout=log, stderr=log, start_new_session=True)
        self.started.append(self.children[name].pid)

    def start_children(self):
        account = ["setpriv", "--reuid", "rota", "--regid", "rota", "--init-groups"] if self.root else []
        self.child("jobmgrd.2", [*account, f"{self.binaries}/jobmgrd", "--config", self.second_conf, "--name", "2"])
        if self.machine:
            self.machine.launch()
        if self.own_network and not self.launcher(FAR_NODE):
            environment = dict(self.environment)
            if self.own_clock:
                environment.update(LD_PRELOAD=self.preload, FAKETIME_TIMESTAMP_FILE=self.clock_file, FAKETIME_NO_CACHE="1",
                                   FAKETIME_DONT_FAKE_MONOTONIC="1")
            self.child(f"launcher.{FAR_NODE}", ["nsenter", f"--net=/run/netns/{self.space}", f"{self.binaries}/rota-launcher",
                                                "--config", self.far_conf, "--node", FAR_NODE], environment)

    def repair(self, timeout=90):
        """Act as service manager and administrator: start dead daemons, resume drained nodes. True when everything works."""
        until = time.monotonic() + timeout
        while True:
            with self.machine.lock if self.machine else nullcontext():
                self.start_children()
                done = self.rota("up", "--quiet", timeout=60)
            if done.returncode == 0:
                break
            if time.monotonic() > until:
                self.say(f"rota up fails: {done.stderr.strip()}")
                return False
            time.sleep(0.2)
        for name, reason in self.sql("select name, coalesce(reason, '') from rota.node where state = 'drain'") or []:
            self.say(f"node {name} was drained: {reason}")
            self.rota("admin", "node", "resume", name)
        return True

    # processes

    def launcher(self, node):
        pid = number_in(f"{self.home}/node/{node}/launcher.pid")
        return pid if pid and alive(pid) and f"{node}" in arguments(pid) else 0

    def named(self, program, option, value):
        """Processes of this instance by program name and an option's value."""
        found = []
        for folder in glob.glob("/proc/[0-9]*"):
            words = arguments(folder[6:])
            if words and os.path.basename(words[0]) == program and any(self.home in w for w in words) \
                    and (not option or option in words and words[words.index(option) + 1] == value):
                found.append(int(folder[6:]))
        # A child has its parent's command line and name until it executes another program.
        seen = {pid: look(pid) for pid in found}
        return [pid for pid, (name, letter, parent) in seen.items() if letter not in "ZX" and seen.get(parent, ("",))[0] != name]

    def keepers(self):
        pids = [number_in(path) for path in glob.glob(f"{self.home}/node/*/spool/*/pid")]
        return [pid for pid in pids if pid and alive(pid)]

    def stepmgrs(self):
        """Step managers: their socket is in a spool folder of this instance."""
        return [pid for pid, variables in self.stepmgr_environments() if b"ROTA_NODE_INDEX=0" in variables]

    def agents(self):
        """Agents of step managers, on the other nodes of their steps."""
        return [pid for pid, variables in self.stepmgr_environments() if b"ROTA_NODE_INDEX=0" not in variables]

    def stepmgr_environments(self):
        word, found = f"ROTA_STEP_SOCKET={self.home}/node/".encode(), []
        for folder in glob.glob("/proc/[0-9]*"):
            try:
                if os.readlink(f"{folder}/exe") != f"{os.path.realpath(self.binaries)}/rota-stepmgr":
                    continue
                with open(f"{folder}/environ", "rb") as environment:
                    variables = environment.read().split(b"\0")
                if any(text.startswith(word) for text in variables):
                    found.append((int(folder[6:]), variables))
            except OSError:
                continue
        return found

    def postmaster(self):
        pid = number_in(f"{self.home}/pg/data/postmaster.pid")
        return pid if pid and alive(pid) and "postgres" in "".join(arguments(pid)[:1]) else 0

    def backends(self):
        """Server processes with a client."""
        rows = self.sql("select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()", timeout=5)
        return [int(row[0]) for row in rows or []]

    def jobmgrds(self):
        """(leader, other) by pid, 0 if there is none."""
        pids = {name: next(iter(self.named("jobmgrd", "--name", name)), 0) for name in ("1", "2")}
        done = self.rota("status", "--json", timeout=5, conf=self.conf)
        if done.returncode or not done.stdout:
            done = self.rota("status", "--json", timeout=5, conf=self.second_conf)
        try:
            leads = next((p["name"] for p in json.loads(done.stdout)["processes"] if p["role"] == "jobmgrd" and p.get("leader")), None)
        except (ValueError, KeyError):
            leads = None
        if leads not in pids:
            return 0, 0
        return pids[leads], pids["2" if leads == "1" else "1"]

    # the end

    def secrets(self):
        """Files of nodes, logs and the database that contain the secrets of credentials."""
        done = self.run("grep", "-rlaE", "campaign-secret-[0-9]", f"{self.home}/node", f"{self.home}/log", f"{self.home}/pg/data")
        return done.stdout.split()

    def stop(self):
        """Stop the instance; returns leftovers as a list of texts."""
        left = []
        done = self.rota("down", timeout=180)
        if done.returncode:
            left.append(f"rota down: {done.stderr.strip()}")
        for child in self.children.values():
            try:
                child.wait(timeout=5)
            except subprocess.TimeoutExpired:
                left.append(f"process {child.pid} does not end")
        for folder in glob.glob("/proc/[0-9]*"):
            pid = int(folder[6:])
            try:
                cwd = os.readlink(f"{folder}/cwd")
            except OSError:
                cwd = ""
            if pid != os.getpid() and alive(pid) and (cwd.startswith(self.folder) or any(self.folder in w for w in arguments(pid))):
                left.append(f"process {pid}: {' '.join(arguments(pid))}")
        left += [f"spool {path}" for path in glob.glob(f"{self.home}/node/*/spool/*")]
        left += [f"control group {path}" for top in ("", "*/") for path in glob.glob(f"/sys/fs/cgroup/{top}rota/{self.space}-*")]
        return left

    def remove(self):
        """Remove everything, also after a start that failed."""
        self.rota("down", timeout=180)
        for child in self.children.values():
            if child.poll() is None:
                child.kill()
        # libfaketime names its shared memory by pid, and a killed process cannot remove it.
        for path in [f"/dev/shm/{name}_{pid}" for pid in self.started for name in ("faketime_shm", "sem.faketime_sem")]:
            if os.path.exists(path):
                os.unlink(path)
        if self.own_disk:
            self.run("umount", f"{self.home}/node/{DISK_NODE}")
        self.rota("down", "--purge", "--yes")
        if self.own_network:
            self.run("ip", "link", "del", self.link)
            self.run("ip", "netns", "del", self.space)
        shutil.rmtree(self.folder, ignore_errors=True)


def send(pid, number):
    """Send a signal; False if there is no process."""
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


def thaw(pid):
    send(pid, signal.SIGCONT)
