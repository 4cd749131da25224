"""What a step costs: CPU of each part, WAL, row versions, commits, system calls; memory; wake-ups of an idle instance.

CPU is the time that the kernel has counted for each daemon, and for the server with all of its processes, also those that have ended. The
time of keepers is that of the launchers' children, ended and living, less the time of the tasks as it is in their accounting. strace
counts system calls in a small run of its own, since it slows everything; those of a task count until it executes its program. To count
wake-ups, an idle instance is polled 50 times a second: a poll counts if the daemon has slept again since the poll before. Of two such
polls in succession only the first counts, since a daemon may send a query before it and receive the answer after it.
"""
import re
import subprocess
import time

from lib import load, process

NODES, LEADER, LEASE, PERIOD = 4, 3, 15, 5  # the last three in seconds
DAEMONS = ("jobmgrd", "nodemgrd", "procmgrd", "launcher")
COUNTERS = """select wal_bytes, wal_records, wal_fpi, (select xact_commit from pg_stat_database where datname = 'rota'),
	(select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables),
	(select sum(n_tup_upd) from pg_stat_user_tables), (select sum(n_tup_hot_upd) from pg_stat_user_tables)
	from pg_stat_wal"""


def keepers(pids):
    """Process ids of living keepers, idle or with an attempt."""
    return [pid for launcher in pids["launcher"] for pid in process.children(launcher) if pid not in pids["procmgrd"]]


# CPU and writing


class Account:
    """CPU seconds by part, and the server's counters, up to now."""

    def __init__(self, instance):
        time.sleep(1.5)  # sessions report their counters at most once a second
        pids = instance.pids()
        self.cpu = {role: sum(process.cpu(pid)[0] for pid in pids[role]) for role in DAEMONS}
        self.children = sum(process.cpu(pid)[1] for pid in pids["launcher"]) + sum(sum(process.cpu(pid)) for pid in keepers(pids))
        self.cpu["PostgreSQL"] = sum(process.cpu(pid)[0] for pid in pids["postgres"]) + process.cpu(instance.postmaster())[1]
        self.tasks = float(instance.sql("select coalesce(sum(user_usec + system_usec), 0) / 1e6 from rota.task_end"))
        self.counters = [int(word) for word in instance.sql(COUNTERS)[0]]

    def since(self, before, steps):
        """CPU milliseconds by part and the counters, of the time since `before`, each divided by STEPS."""
        spent = {role: self.cpu[role] - before.cpu[role] for role in self.cpu}
        spent["keepers"] = self.children - before.children - (self.tasks - before.tasks)
        return {role: seconds * 1000 / steps for role, seconds in spent.items()}, [(a - b) / steps for a, b in zip(self.counters, before.counters)]


def spent(bench, instance, path, size):
    load.array(instance, path, size // 50)
    before = Account(instance)
    load.array(instance, path, size)
    cpu, (wal, records, images, commits, rows, updates, hot) = Account(instance).since(before, size)
    for role, milliseconds in cpu.items():
        bench.figure(f"CPU a step: {role}", milliseconds, "ms")
    bench.figure("CPU a step: all of Rota and PostgreSQL", sum(cpu.values()), "ms", at_most=0.6)
    bench.figure("WAL a step", wal, "bytes", at_most=3072)
    bench.figure("WAL records a step", records, "")
    bench.figure("WAL page images a step", images, "")
    bench.figure("commits a step", commits, "")
    bench.figure("row versions written a step", rows, "")
    bench.figure("updates a step", updates, "")
    bench.figure("updates that touched no index", 100 * hot / updates if updates else 0, "%")


# system calls


class Calls:
    """Reads what strace -f writes: system calls by part."""

    CHILD = re.compile(r"(?:clone3?|fork|vfork)\b.*= (\d+)$")

    def __init__(self, roles):
        self.roles = dict(roles)  # by process
        self.count = {}

    def read(self, path):
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                pid, _, text = line.strip().partition(" ")
                self.take(int(pid), text.strip())

    def take(self, pid, text):
        role = self.roles.get(pid)
        child = self.CHILD.search(text)
        if child and role:
            self.roles.setdefault(int(child.group(1)), {"launcher": "keepers", "keepers": "tasks, until their program"}.get(role))
        if role and text.startswith("execve("):
            self.roles[pid] = None
        if role and text[:1].isalpha():
            self.count[role] = self.count.get(role, 0) + 1


def system_calls(bench, instance, path, size):
    pids = instance.pids()
    pids["keepers"] = keepers(pids)
    roles = {pid: role for role in (*DAEMONS, "postgres", "keepers") for pid in pids[role]}
    file = f"{instance.folder}/calls"
    words = [word for pid in roles for word in ("-p", str(pid))]
    with subprocess.Popen(["strace", "-f", "-qq", "-s", "0", "-e", "signal=none", "-o", file, *words], stderr=subprocess.PIPE, text=True) as tracer:
        try:
            time.sleep(1)
            if tracer.poll() is not None:
                bench.say(f"system calls are not counted: {tracer.stderr.read().strip()}")
                return
            load.array(instance, path, size)
        finally:
            tracer.terminate()
            # strace may wait for ever for a process that it has stopped. When it is killed, the kernel continues the processes that it had stopped.
            try:
                tracer.wait(timeout=10)
            except subprocess.TimeoutExpired:
                tracer.kill()
    calls = Calls(roles)
    calls.read(file)
    for role, count in calls.count.items():
        bench.figure(f"system calls a step: {role}", count / size, "")
    bench.figure("system calls a step: all", sum(calls.count.values()) / size, "")


# memory and sleep


def largest(instance, measure):
    """MiB by role, of the largest process."""
    pids = instance.pids()
    return {role: max(map(measure, pids[role])) for role in DAEMONS}


def idle_memory(bench, instance):
    resident, shared_out = largest(instance, process.rss), largest(instance, process.pss)
    for role in DAEMONS:
        bench.figure(f"memory when idle: {role}", resident[role], "MiB")
    bench.figure("memory when idle: one of each", sum(resident.values()), "MiB", at_most=40)
    bench.figure("the same, what they share counted once", sum(shared_out.values()), "MiB")


def wake_ups(instance, seconds):
    """By role: polls at which one of its processes had woken up since the poll before."""
    pids = instance.pids()
    watched = {pid: role for role in DAEMONS for pid in pids[role]}
    last, moments = {pid: process.switches(pid) for pid in watched}, dict.fromkeys(DAEMONS, 0)
    counted = dict.fromkeys(watched, False)
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        time.sleep(0.02)
        for pid, role in watched.items():
            now = process.switches(pid)
            counted[pid] = now != last[pid] and not counted[pid]
            moments[role] += counted[pid]
            last[pid] = now
    return moments


def sleep(bench, instance):
    """The bar of each role counts one timer of each daemon: of jobmgrd and procmgrd that of each third of the lease, of nodemgrd that
    of its period (not its checks of sessions, every 2 s), of the launcher none. One beat more than fits into the time may fall into it."""
    seconds = 2 if bench.toy else 30
    beat = {"jobmgrd": 3 / LEADER, "nodemgrd": 1 / PERIOD, "procmgrd": 3 / LEASE * NODES, "launcher": 0}
    for role, count in wake_ups(instance, seconds).items():
        spare = NODES if role == "procmgrd" else beat[role] > 0
        bench.figure(f"wake-ups of an idle {role} in {seconds} s", count, "", at_most=int(seconds * beat[role]) + spare)


def run(bench):
    with bench.instance(nodes=NODES, conf={"schedule.lease": LEADER, "node.lease": LEASE, "nodemgr.period": PERIOD}) as instance:
        time.sleep(0.5 if bench.toy else 10)
        idle_memory(bench, instance)
        sleep(bench, instance)
        path = load.script(instance)
        spent(bench, instance, path, 100 if bench.toy else 10000)
        for role, most in largest(instance, process.peak).items():
            bench.figure(f"memory at most, under load: {role}", most, "MiB")
        system_calls(bench, instance, path, 10 if bench.toy else 500)
