"""An array whose nodes hold work for 30 seconds (node.ahead): its rate while the database is frozen, against its rate before.

The elements run for a second each on 4 nodes, and each adds a line to a file when it begins: the rates come from that file. When the nodes
hold 95% of the elements that end in 30 seconds, SIGSTOP stops all processes of the database for half a minute; then they continue. Every end that the
nodes could not report meanwhile must be in the database afterwards.
"""
import os
import signal
import time

from lib import process

SCRIPT = "#!/bin/sh\n#ROTA --output=/dev/null --time=5:00\necho >>{ledger}\nsleep {seconds}\n"


def begun(ledger):
    return os.path.getsize(ledger)


def rate(ledger, seconds):
    """Elements that begin in a second, measured for SECONDS."""
    first, began = begun(ledger), time.monotonic()
    time.sleep(seconds)
    return (begun(ledger) - first) / (time.monotonic() - began)


def held(instance, job):
    return int(instance.sql(f"select count(*) from rota.allocation where job_id = {job} and ended_at is null and started_at is null"))


def filled(instance, job, enough):
    """Wait until the nodes hold ENOUGH pre-dispatched elements."""
    until = time.monotonic() + 60
    while held(instance, job) < enough:
        if time.monotonic() > until:
            raise RuntimeError(f"nodes hold {held(instance, job)} elements, and not {enough}")
        time.sleep(0.1)


def frozen(instance, ledger, seconds):
    server = instance.postmaster()
    pids = [server, *process.children(server)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        return rate(ledger, seconds)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def reported(instance, job, size):
    """Seconds until all ends are in the database, and the array has ended."""
    began = time.monotonic()
    instance.rota("wait", "--quiet", "--timeout=600", job)
    done = instance.sql(f"select count(*) from rota.step where job_id = {job} and array_index is not null and state = 'completed'")
    if done != str(size):
        raise RuntimeError(f"of {size} elements {done} completed")
    return time.monotonic() - began


def run(bench):
    away, slots, length = (1, 2, 0.2) if bench.toy else (30, 8, 1)
    with bench.instance(nodes=4, slots=slots, conf={"node.ahead": 30}) as instance:
        ledger = instance.file("ledger", "")
        os.chmod(ledger, 0o666)
        path = instance.file("away.sh", SCRIPT.format(ledger=ledger, seconds=length))
        expected = 4 * slots / length
        size = int(expected * (3 if bench.toy else 120))
        job = instance.rota("submit", "--parsable", f"--array=0-{size - 1}", path).strip()
        filled(instance, job, int(expected * (0.5 if bench.toy else 0.95 * 30)))
        before = rate(ledger, away)
        meanwhile = frozen(instance, ledger, away)
        reported(instance, job, size)
        if begun(ledger) != size:
            raise RuntimeError(f"{begun(ledger)} elements have begun, of {size}")
        bench.figure("an array while the database is away", meanwhile, "steps/s", of_limit=0.9, limit=before, limit_name="/s, before")
