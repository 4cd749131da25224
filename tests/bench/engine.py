"""100,000 steps that start nothing: all of Rota but the tasks, against the database alone with the same calls.

The instance's launchers complete orders at once without starting anything (`launcher.dry_run`); orders, signatures, journal and
reports are real. The first run is recorded from PostgreSQL's log (lib/record.py): every call of a function in `api` by a daemon, and how
long it took, waits for locks and the writing of the log included. Then two measurements take turns, each from a copy of the database and
the nodes as they were before the first run. In one, replay.c sends the recorded calls again while no daemon runs, over as many connections
as in the run, those of each connection in order. In the other, the instance runs the array again, without that log. A figure is the median
of three turns, or of one if the recorded run took more than two minutes.
"""
import os
import shutil
import signal
import statistics
import subprocess

from lib import load
from lib.record import Record, settings


class State:
    """The state of an instance, which is its database and its nodes. Make it while the instance is up; call its methods while the instance is down."""

    def __init__(self, instance):
        self.instance, self.data = instance, f"{instance.home}/pg/data"
        self.kept = {folder: f"{folder}.kept" for folder in (self.data, f"{instance.home}/node")}
        self.server = os.readlink(f"/proc/{instance.postmaster()}/exe")

    def keep(self):
        for folder, kept in self.kept.items():
            subprocess.run(["cp", "-a", folder, kept], check=True)

    def put_back(self):
        """Restore the database and the nodes: launchers refuse attempts that are already in their journals."""
        for folder, kept in self.kept.items():
            shutil.rmtree(folder)
            subprocess.run(["cp", "-a", kept, folder], check=True)

    def log_to(self, folder):
        with open(f"{self.data}/postgresql.conf", "a", encoding="utf-8") as file:
            file.write(settings(folder))

    def alone(self, use):
        """The result of `use` while only the instance's server runs."""
        owner = os.stat(self.data)
        change = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
        with subprocess.Popen([self.server, "-D", self.data], cwd="/", stderr=subprocess.DEVNULL, **change) as server:
            try:
                while subprocess.run(["pg_isready", "-q", "-h", f"{self.instance.home}/run"], check=False).returncode:
                    if server.poll() is not None:
                        raise RuntimeError("PostgreSQL does not start")
                return use()
            finally:
                server.send_signal(signal.SIGINT)
                server.wait()


def record(bench, instance, state, path, size):
    """Record one run; returns the path of its calls, in the form that replay.c reads, and the seconds that the run took."""
    folder = f"{instance.folder}/log"
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    state.log_to(folder)
    instance.up()
    seconds = load.array(instance, path, size)
    started = instance.sql("select string_agg(distinct xid::text, ' ') from rota.event where event = 'start'").split()
    instance.rota("down")
    calls = Record(f"{folder}/calls.json", "job_submit", "node_report", started)
    calls.read()
    calls.write(f"{instance.folder}/calls")
    shutil.rmtree(folder)
    for name, (count, spent) in sorted(calls.spent.items(), key=lambda item: -item[1][1]):
        if name and spent >= 0.01 * 1000 * seconds:
            bench.figure(f"time in {name}, a step", spent / size, f"ms, in {count / size:.2f} calls")
    bench.say(f"recorded at {size / seconds:.0f} steps/s: {len(calls.calls)} calls of {len(calls.sessions)} sessions")
    for name, words in calls.refused:
        bench.say(f"the database refused {name}: {words}")
    return f"{instance.folder}/calls", seconds


def replayed(bench, instance, state, calls, size):
    """Steps a second of the database alone."""
    state.put_back()
    answer = state.alone(lambda: bench.program("replay", f"host={instance.home}/run dbname=rota passfile={instance.home}/keys/node.pass", calls))
    seconds, count, failures = answer.split()
    bench.say(f"replay: {size / float(seconds):.0f} steps/s, {count} calls, {failures} failed")
    if int(failures) * 100 > int(count):
        raise RuntimeError(f"of {count} calls {failures} failed in the replay: it is not the same work")
    return size / float(seconds)


def live(instance, state, path, size):
    state.put_back()
    instance.up()
    seconds = load.array(instance, path, size)
    instance.rota("down")
    return size / seconds


def run(bench):
    size = 300 if bench.toy else 100000
    with bench.instance(dry_run=True) as instance:
        path = load.script(instance)
        load.array(instance, path, 50)
        state = State(instance)
        instance.rota("down")
        state.keep()
        calls, seconds = record(bench, instance, state, path, size)
        limits, rates = [], []
        for _ in range(1 if bench.toy or seconds > 120 else 3):
            limits.append(replayed(bench, instance, state, calls, size))
            rates.append(live(instance, state, path, size))
            bench.say(f"engine: {rates[-1]:.0f} steps/s")
        bench.figure("steps that run nothing", statistics.median(rates), "steps/s", at_least=4000, of_limit=0.7,
                     limit=statistics.median(limits), limit_name="/s, replay of the calls")
