"""What `rota plan` costs, against a scheduling cycle of the leader, with 10,000 steps pending on busy nodes.

The instance's launchers start nothing (`launcher.dry_run`). That of the last node stands still, so the steps there never end, and the pending steps,
which ask for all nodes, wait for it. Busy: an array streams over the other nodes, so each cycle starts steps, and one plan after the other runs beside it.
Quiet: nothing starts, and a notification wakes the leader before each plan; its cycle then reads the first 2,000 steps of the queue, and writes hardly
anything.

CPU: of the server's processes for the leader, and of those for the HTTP API. The server logs the statements of the leader: a cycle lasts from the beginning
of the first to the end of the last, without the last commit. A plan lasts as long as the process of the client. All figures are means: a leader alternates
cycles that read much of a long queue with others that read little.
"""
import os
import re
import signal
import statistics
import time
from datetime import datetime

from lib import load, pending, process, timing

ROLES = {"leader": ("rota_jobmgr_leader",), "plan": ("rota_jobmgr", "rota_jobmgr_admin")}
STATEMENT = re.compile(r"(\S+ \S+) \S+ \[\d+\] rota_jobmgr_leader@rota LOG:  duration: (\S+) ms  (bind|execute) (schedule_\w+):")
WAITS = "select count(*) from rota.allocation where job_id = {job} and ended_at is null"


def log_statements(instance):
    """Have the server log the statements of the leader, from its next session on."""
    instance.sql("""alter role rota_jobmgr_leader set log_min_duration_statement = 0;
        alter role rota_jobmgr_leader set log_parameter_max_length = 0;
        select pg_terminate_backend(pid) from pg_stat_activity where usename = 'rota_jobmgr_leader'""")


def until(true, what):
    began = time.monotonic()
    while not true():
        if time.monotonic() - began > 120:
            raise RuntimeError(f"not after 120 s: {what}")
        time.sleep(0.05)


def cpu(instance, kind):
    """CPU seconds of the server's processes for some roles."""
    rows = instance.sql(f"select pid from pg_stat_activity where usename in ({', '.join(map(repr, ROLES[kind]))}) union all select 0")
    return sum(process.cpu(pid)[0] for (pid,) in rows)


def cycles(instance, offset):
    """The milliseconds of each cycle that the server's log has from a position on."""
    found = []
    with open(f"{instance.home}/log/postgres.log", encoding="utf-8", errors="replace") as log:
        log.seek(offset)
        for line in log:
            statement = STATEMENT.match(line)
            if not statement:
                continue
            end = datetime.fromisoformat(statement[1]).timestamp() * 1000
            if statement[3] == "bind" and statement[4] == "schedule_tick":
                found.append([end - float(statement[2]), end])
            elif found:
                found[-1][1] = end
    return [end - began for began, end in found]


def compare(bench, instance, name, plan, count):
    """Figures of COUNT plans, against those of the cycles meanwhile. `plan()` returns the milliseconds of one."""
    offset = os.path.getsize(f"{instance.home}/log/postgres.log")
    before = {kind: cpu(instance, kind) for kind in ROLES}
    times = timing.several(count, plan, warm=0)
    used = {kind: cpu(instance, kind) - before[kind] for kind in ROLES}
    leader = cycles(instance, offset)
    if not leader:
        raise RuntimeError("the leader ran no cycle")
    bench.say(f"{len(leader)} cycles of {min(leader):.1f} to {max(leader):.1f} ms, {count} plans of {times[0]:.1f} to {times[-1]:.1f} ms")
    figures = {"CPU of PostgreSQL": (1000 * used["plan"] / count, 1000 * used["leader"] / len(leader)),
               "time": (statistics.mean(times), statistics.mean(leader))}
    for what, (value, limit) in figures.items():
        bar = {"bar": "≤ a cycle", "at_most": limit} if name == "busy" else {}
        bench.figure(f"{name}: {what}", value, "ms", limit=limit, limit_name="ms, a cycle", **bar)


def woken(instance):
    """Milliseconds of a plan after a cycle."""
    instance.sql("notify rota_schedule")
    time.sleep(0.7)
    return timing.run(instance, "plan")


def run(bench):
    count, slots, plans = (50, 4, 6) if bench.toy else (10000, 64, 50)
    with bench.instance(slots=slots, dry_run=True) as instance:
        log_statements(instance)
        path = load.script(instance)
        holder = next(row["pid"] for row in load.processes(instance) if row["role"] == "launcher" and row["node"] == "n4")
        os.kill(holder, signal.SIGSTOP)
        try:
            held = instance.rota("submit", "--parsable", "--nodelist=n4", f"--array=1-{slots}", "--time=20:00:00", path).strip()
            until(lambda: instance.sql(WAITS.format(job=held)) == str(slots), "all elements of n4 have started")
            pending.put(instance, path, count, "--nodes=4", "--time=10:00:00", "--nice=1000000")
            stream = instance.rota("submit", "--parsable", "--array=1-500000", path).strip()
            until(lambda: int(instance.sql(f"select count(*) from rota.allocation where job_id = {stream} and gone_at is not null")) > 100, "the array streams")
            timing.run(instance, "plan")
            compare(bench, instance, "busy", lambda: timing.run(instance, "plan"), plans)
            instance.rota("cancel", stream)
            until(lambda: instance.sql(WAITS.format(job=stream)) == "0", "the array has ended")
            compare(bench, instance, "quiet", lambda: woken(instance), plans // 2)
        finally:
            os.kill(holder, signal.SIGCONT)
