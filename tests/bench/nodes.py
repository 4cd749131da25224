"""A hundred, a thousand and ten thousand nodes: idle cost, a stream over all of them, one step on all of them; the start of a thousand.

The nodes are virtual: one launcher and one process manager stand for all of them and start nothing (`launcher.virtual`); leases, orders,
signatures, journal and reports are real. SQL inserts the rows of the nodes, instead of one `rota admin` for each. Idle cost is the CPU time of all
daemons and PostgreSQL while each lease is renewed several times. The step on all nodes counts from its submission until the database has
it as running: every node has reported that it is ready, and the node with the script, after `go`, that it runs.

The start is that of nodes with database logins of their own: `rota up` of an instance that has them, until all nodes serve. Each of these
nodes has a launcher, a process manager and a session. On one machine the CPUs are the limit, so the run also logs the CPU time of sessions,
and of launchers and process managers.
"""
import os
import statistics
import time

from lib import load, process

NODES = """insert into rota.node (name, cpus, mem_mb, hardware_check, login) select 'n' || i, {slots}, 65536, false, 'n' from generate_series(2, {count}) i;
insert into rota.partition_node (partition, node_id) select 'main', n.node_id from rota.node n where n.name <> 'n1';"""


def serve_all(instance, count, slots):
    """Write the rows of nodes 2 to COUNT, restart the process manager, which registers all nodes when it starts, and wait until they are up."""
    instance.sql(NODES.format(count=count, slots=slots))
    os.kill(next(row["pid"] for row in load.processes(instance) if row["role"] == "procmgrd"), 15)
    until(lambda: instance.sql("select count(*) from rota.node where state = 'up'") == str(count), 120)


def until(true, seconds):
    began = time.monotonic()
    while not true():
        if time.monotonic() - began > seconds:
            raise RuntimeError(f"still not so after {seconds} s")
        time.sleep(0.1)  # each poll takes CPU time from what is measured
    return time.monotonic() - began


def used(instance):
    """CPU seconds of all processes so far, ended children included."""
    return sum(sum(process.cpu(pid)) for pids in instance.pids().values() for pid in pids)


def idle(instance, seconds):
    """CPU use of an idle instance, in per cent of a processor; no job may begin or end meanwhile."""
    time.sleep(min(seconds, 10))
    before, began = used(instance), time.monotonic()
    time.sleep(seconds)
    return 100 * (used(instance) - before) / (time.monotonic() - began)


def wide(instance, path, count):
    """Seconds from the submission of a step on all nodes until it runs."""
    began = time.monotonic()
    job = instance.rota("submit", "--parsable", f"--nodes={count}", path).strip()
    until(lambda: instance.sql(f"select count(*) from rota.attempt where job_id = {job} and started_at is not null") == "1", 120)
    seconds = time.monotonic() - began
    instance.rota("wait", "--quiet", "--timeout=120", job)
    return seconds


def measure(bench, count, size, turns, seconds):
    """CPU use in per cent of a processor, steps a second, seconds of the step on all nodes."""
    with bench.instance(nodes=1, conf={"launcher.virtual": count}) as instance:
        serve_all(instance, count, instance.slots)
        path = load.script(instance)
        share = idle(instance, seconds)
        load.array(instance, path, min(size, 500))
        rates = [load.array(instance, path, size) for _ in range(turns)]
        start = min(wide(instance, path, count) for _ in range(turns))
    rate = size / statistics.median(rates)
    bench.say(f"{count} nodes: idle {share:.2f} %, {rate:.0f} steps/s, a step on all of them runs after {start:.2f} s")
    return share, rate, start


def started(bench, count):
    """Seconds until nodes with logins of their own serve; CPU seconds of the sessions, and of launchers and process managers."""
    with bench.instance(nodes=count) as instance:
        instance.rota("down", "--quiet")
        began = time.monotonic()
        instance.up()
        seconds = time.monotonic() - began
        pids = instance.pids()
        sessions = sum(process.cpu(pid)[0] for pid in process.children(instance.postmaster()))
        return seconds, sessions, sum(process.cpu(pid)[0] for role in ("launcher", "procmgrd") for pid in pids[role])


def run(bench):
    counts, size, turns, seconds = ((5, 20), 30, 1, 1) if bench.toy else ((100, 1000, 10000), 10000, 3, 120)
    found = {count: measure(bench, count, size, turns, seconds) for count in counts}
    last = counts[-1]
    for count, (share, rate, start) in found.items():
        bench.figure(f"idle, {count:,} nodes", share, "% of a processor", at_most=2 if count == last else None)
        bench.figure(f"stream over {count:,} nodes", rate, "steps/s", of_limit=0.8 if count == last else None, limit=found[counts[0]][1],
                     limit_name=f"over {counts[0]:,}")
        bench.figure(f"one step on {count:,} nodes", start, "s", at_most=2 if count == last else None)
    for i, (name, unit) in enumerate((("idle", "% of a processor"), ("stream", "steps/s"), ("wide", "s until it runs"))):
        bench.curve(name, "nodes", unit, {name: [(count, found[count][i]) for count in counts]}, log="x")
    count = 4 if bench.toy else 1000
    seconds, sessions, own = started(bench, count)
    bench.say(f"{count} nodes with logins of their own: all serve after {seconds:.1f} s; CPU of their sessions {sessions:.1f} s, of their own processes {own:.1f} s")
    bench.figure(f"start of {count:,} nodes with logins of their own", seconds, "s", at_most=30)
