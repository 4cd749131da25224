"""Machines: each is a container with systemd, a host name, an address, and files of its own over those of this host.

Invariants:
- The network of the machines has no link to the network of this host.
- Every machine ends when the process that made it ends, even by SIGKILL.
"""
import ctypes
import glob
import os
import re
import shutil
import signal
import subprocess
import time

BOOT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "boot")
ADDRESSES = {"db1": "10.213.0.11", "db2": "10.213.0.12", "db3": "10.213.0.13", "n1": "10.213.0.21", "n2": "10.213.0.22", "login1": "10.213.0.31"}
HEADS, NODES, LOGIN = ("db1", "db2", "db3"), ("n1", "n2"), "login1"
# Units that a machine without hardware does not need, or that would change settings of the kernel.
MASKED = ("systemd-sysctl.service", "systemd-modules-load.service", "systemd-udevd.service", "systemd-timesyncd.service", "systemd-logind.service",
          "systemd-remount-fs.service", "sys-kernel-debug.mount", "sys-kernel-tracing.mount", "dev-hugepages.mount", "console-getty.service",
          "getty.target", "apt-daily.timer", "apt-daily-upgrade.timer", "man-db.timer", "e2scrub_all.timer", "postgresql.service")
PR_SET_PDEATHSIG = 1


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def cgroup_root():
    return "/sys/fs/cgroup/systemd" if os.path.isdir("/sys/fs/cgroup/systemd") else "/sys/fs/cgroup"


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


class Switch:
    """The network of the machines: a bridge in a namespace of its own."""

    def __init__(self):
        self.process = subprocess.Popen(["unshare", "--net", "sh", "-c", "ip link add bridge type bridge && ip link set bridge up && exec sleep infinity"],
                                        preexec_fn=end_with_parent)
        self.pid = self.process.pid
        while not self.ip("link", "show", "bridge", "up"):
            time.sleep(0.05)

    def ip(self, *words):
        """True if `ip WORDS` succeeds and, if it is a `show`, prints something."""
        done = subprocess.run(["nsenter", f"--net=/proc/{self.pid}/ns/net", "ip", *words], capture_output=True, text=True, check=False)
        return done.returncode == 0 and (bool(done.stdout) or "show" not in words)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Machine:
    def __init__(self, name, folder, switch, shared):
        self.name, self.folder, self.switch, self.shared = name, folder, switch, shared
        self.group = f"{cgroup_root()}/rota-ha.{os.getpid()}/{name}"
        self.process, self.pid = None, 0
        for part in ("upper", "work", "root"):
            os.makedirs(f"{folder}/{name}/{part}", exist_ok=True)

    def launch(self):
        """Begin to boot. Call it in the main thread: the kernel kills the machine when the thread that made it ends."""
        os.makedirs(self.group, exist_ok=True)

        def enter():
            with open(f"{self.group}/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(os.getpid()))
            end_with_parent()

        with open(f"{self.folder}/{self.name}/boot.log", "ab") as log:
            self.process = subprocess.Popen(
                ["unshare", "--mount", "--net", "--uts", "--pid", "--ipc", "--cgroup", "--fork", "--kill-child", BOOT, self.name, self.folder,
                 str(self.switch.pid), ADDRESSES[self.name], *self.shared], preexec_fn=enter, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def await_boot(self):
        """Wait until systemd has started all enabled units."""
        until = time.monotonic() + 90
        while True:
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{self.name} does not boot; see {self.folder}/{self.name}/boot.log")
            self.pid = next(iter(children(self.process.pid)), 0)
            if self.pid and self.is_systemd() and self.run("systemctl is-system-running --wait", check=False).strip() in ("running", "degraded"):
                return
            time.sleep(0.1)

    def is_systemd(self):
        try:
            return os.readlink(f"/proc/{self.pid}/exe").endswith("systemd")
        except OSError:
            return False

    def command(self, words):
        return ["nsenter", f"--target={self.pid}", "--all", "--wdns=/root", "env", "-i", "HOME=/root", "LC_ALL=C.UTF-8",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *words]

    def run(self, script, check=True, timeout=300, user=None, text=None):
        """The output of a bash script, as root or another user of the machine; raises if it fails."""
        words = ["bash", "-euo", "pipefail", "-c", script]
        if user:
            words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "env", f"HOME=/home/{user}", *words]
        done = subprocess.run(self.command(words), input=text, stdin=None if text is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=timeout, check=False)
        if check and done.returncode:
            raise RuntimeError(f"{self.name}: {script.strip()}: exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-2000:]}")
        return done.stdout

    def spawn(self, script, user=None, output=None):
        """Start a bash script in the machine without waiting for it; returns its process, which is killed when this program ends."""
        words = ["bash", "-c", script]
        if user:
            words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "env", f"HOME=/home/{user}", *words]
        return subprocess.Popen(self.command(words), stdin=subprocess.DEVNULL, stdout=output or subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                preexec_fn=end_with_parent)

    # processes

    def processes(self):
        """Ids of the machine's processes in the pid namespace of this program."""
        mine, found = os.stat(f"/proc/{self.pid}/ns/pid").st_ino, []
        for path in glob.glob("/proc/[0-9]*"):
            try:
                if os.stat(f"{path}/ns/pid").st_ino == mine:
                    found.append(int(path[6:]))
            except OSError:
                continue
        return found

    def named(self, pattern):
        """Ids of the machine's processes whose command line matches the regular expression."""
        found = []
        for pid in self.processes():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if re.search(pattern, file.read().replace(b"\0", b" ").decode(errors="replace")):
                        found.append(pid)
            except OSError:
                continue
        return found

    def postmaster(self):
        return min(self.named(r"^/usr/lib/postgresql/\d+/bin/postgres -D"), default=0)

    # faults

    def power_off(self):
        """As if the plug were pulled: every process is gone at once, and no packet tells another machine that connections are closed."""
        self.cable(False)
        os.kill(self.pid, signal.SIGKILL)
        self.process.wait()
        self.switch.ip("link", "del", self.name)

    def freeze(self):
        """Stop every process, also processes that are made while this function runs."""
        frozen = set()
        while True:
            more = set(self.processes()) - frozen
            if not more:
                return
            for pid in more:
                self.signal(pid, signal.SIGSTOP)
            frozen |= more

    def thaw(self):
        for pid in self.processes():
            self.signal(pid, signal.SIGCONT)

    def signal(self, pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def cable(self, plugged):
        self.switch.ip("link", "set", self.name, "up" if plugged else "down")

    def remove(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        until = time.monotonic() + 10
        while os.path.isdir(self.group) and time.monotonic() < until:
            for folder, _, _ in os.walk(self.group, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    time.sleep(0.05)


def make_base(folder, build):
    """Make FOLDER/base, the layer of all machines over the files of this host: it adds Rota, a user, names of machines and keys of ssh, and
    hides the services that are enabled on this host."""
    base = f"{folder}/base"
    for place in ("etc/systemd/system", "etc/ssh", "root/.ssh", "home/ann", "var/lib/apt/lists", "var/lib/etcd", "var/log/journal", "etc/udev/rules.d", "work", "srv", "mnt/old"):
        os.makedirs(f"{base}/{place}", exist_ok=True)
    for place in ("etc/systemd/system", "var/lib/apt/lists", "var/lib/etcd", "root", "home", "srv", "work", "var/log/journal"):
        subprocess.run(["setfattr", "-n", "trusted.overlay.opaque", "-v", "y", f"{base}/{place}"], check=True)
    shutil.chown(f"{base}/var/lib/etcd", "etcd", "etcd")
    environment = {**os.environ, "DESTDIR": base}
    subprocess.run(["cmake", "--install", build], env=environment, stdout=subprocess.DEVNULL, check=True)
    for unit in MASKED:
        os.symlink("/dev/null", f"{base}/etc/systemd/system/{unit}")
    os.symlink("/lib/systemd/system/multi-user.target", f"{base}/etc/systemd/system/default.target")
    os.makedirs(f"{base}/etc/systemd/system/multi-user.target.wants")
    os.symlink("/lib/systemd/system/ssh.service", f"{base}/etc/systemd/system/multi-user.target.wants/ssh.service")
    with open("/etc/passwd", encoding="utf-8") as source, open(f"{base}/etc/passwd", "w", encoding="utf-8") as target:
        target.write(source.read() + "ann:x:20001:20001::/home/ann:/bin/bash\n")
    with open("/etc/group", encoding="utf-8") as source, open(f"{base}/etc/group", "w", encoding="utf-8") as target:
        target.write(source.read() + "ann:x:20001:\n")
    os.chown(f"{base}/home/ann", 20001, 20001)
    with open(f"{base}/etc/hosts", "w", encoding="ascii") as file:
        file.write("127.0.0.1 localhost\n")
        file.writelines(f"{address} {name}\n" for name, address in ADDRESSES.items())
        file.writelines(f"{ADDRESSES[name]} rota.example.org\n" for name in HEADS)
    with open(f"{base}/etc/resolv.conf", "w", encoding="ascii"):
        pass
    make_ssh(base)


def make_ssh(base):
    """Root of each machine may log in to the others."""
    for kind, path in (("ed25519", f"{base}/etc/ssh/ssh_host_ed25519_key"), ("ed25519", f"{base}/root/.ssh/id_ed25519")):
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path], check=True)
    shutil.copy(f"{base}/root/.ssh/id_ed25519.pub", f"{base}/root/.ssh/authorized_keys")
    with open(f"{base}/etc/ssh/sshd_config", "w", encoding="ascii") as file:
        file.write("HostKey /etc/ssh/ssh_host_ed25519_key\nPermitRootLogin prohibit-password\nUsePAM no\nSubsystem sftp /usr/lib/openssh/sftp-server\n")
    with open(f"{base}/etc/ssh/ssh_config", "w", encoding="ascii") as file:
        file.write("Host *\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n")
    os.chmod(f"{base}/root", 0o700)
    os.chmod(f"{base}/root/.ssh", 0o700)
