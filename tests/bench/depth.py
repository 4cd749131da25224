"""A stream of short steps with up to a million jobs pending after it, and with ten thousand blocked ones before it.

The launchers of the instances start nothing (`launcher.dry_run`). Each depth has an instance of its own. While its partition is down, that
many single jobs (lib/pending.py) and an array of higher priority are queued. The stream is measured from the moment when the partition is
up until the accounting of the whole array is there. The instances run side by side and take turns, because the machine's speed changes
from minute to minute. jobmgrd's memory is its peak until the last turn has ended.

Blocked: a step keeps the last node, because the node's launcher is stopped. Ten thousand steps that ask for all nodes wait for it at the
head of the queue, and the array passes them by backfill. plan.c measures the scheduler alone: the CPU time of one whole cycle over as many
blocked steps on a thousand nodes, and of one over steps that exclude half of the nodes, as those do that run again where these lack what
their checkpoints need.
"""
import contextlib
import os
import signal
import statistics
import time

from lib import load, pending, process

MB, STEP = 40, 200 / 2 ** 20  # MiB that jobmgrd may take: MB, and STEP (200 bytes) for each pending step


def stream(instance, path, size):
    """Steps a second, from the moment when the partition is up."""
    job = instance.rota("submit", "--parsable", f"--array=0-{size - 1}", path).strip()
    began = time.monotonic()
    instance.rota("admin", "partition", "change", "main", "--state=up")
    while instance.sql(f"select count(*) from rota.allocation where job_id = {job} and gone_at is not null") != str(size):
        time.sleep(0.02)
        if time.monotonic() - began > 60 + size:
            raise RuntimeError("the stream does not end")
    seconds = time.monotonic() - began
    instance.rota("admin", "partition", "change", "main", "--state=down")
    return size / seconds


class Deep:
    """An instance with COUNT jobs pending. .rates: steps/s of the streams that pass these jobs. .memory: peak of jobmgrd in MiB."""

    def __init__(self, instance, count, size):
        self.instance, self.path, self.count, self.rates, self.memory = instance, load.script(instance), count, [], 0
        stream(instance, self.path, min(size, 200))
        pending.put(instance, self.path, count, "--nice=1000000")

    def turn(self, size):
        self.rates.append(stream(self.instance, self.path, size))
        self.memory = max(map(process.peak, self.instance.pids()["jobmgrd"]))


def behind(bench, depths, size, turns):
    """Measure the streams of all depths in turns; returns ({depth: median of steps/s}, {depth: MiB of jobmgrd})."""
    with contextlib.ExitStack() as instances:
        deep = [Deep(instances.enter_context(bench.instance(dry_run=True)), depth, size) for depth in depths]
        for _ in range(turns):
            for one in deep:
                one.turn(size)
        for one in deep:
            bench.say(f"{one.count} pending: {', '.join(f'{rate:.0f}' for rate in one.rates)} steps/s, {one.memory:.1f} MiB")
    return {one.count: statistics.median(one.rates) for one in deep}, {one.count: one.memory for one in deep}


def blocked(bench, count, size):
    """Steps/s of a stream that passes COUNT blocked steps, which ask for all nodes."""
    with bench.instance(dry_run=True, conf={"schedule.depth": 2 * count, "schedule.backfill": 100}) as instance:
        path = load.script(instance)
        holder = next(row["pid"] for row in load.processes(instance) if row["role"] == "launcher" and row["node"] == "n4")
        os.kill(holder, signal.SIGSTOP)
        try:
            held = instance.rota("submit", "--parsable", "--nodelist=n4", "--cpus-per-task=16", "--time=20:00:00", path).strip()
            while instance.sql(f"select count(*) from rota.allocation where job_id = {held}") != "1":
                time.sleep(0.05)
            instance.rota("admin", "partition", "change", "main", "--state=down")
            pending.put(instance, path, count, "--nodes=4", "--time=10:00:00")
            return stream(instance, path, size)
        finally:
            os.kill(holder, signal.SIGCONT)


def run(bench):
    size, turns = (60, 1) if bench.toy else (5000, 3)
    depths = (20, 300) if bench.toy else (1000, 100000, 1000000)
    rates, memory = behind(bench, depths, size, turns)
    for depth in depths:
        bench.figure(f"{depth:,} pending", rates[depth], "steps/s", of_limit=0.85 if depth == depths[-1] else None, limit=rates[depths[0]],
                     limit_name=f"with {depths[0]:,}")
        bench.figure(f"jobmgrd, {depth:,} pending", memory[depth], "MiB", at_most=round(MB + depth * STEP, 1))
    count, nodes = (200, 50) if bench.toy else (10000, 1000)
    bench.figure(f"behind {count:,} blocked", blocked(bench, count, 20 if bench.toy else 500), "steps/s")

    def cycle(steps, *excluded):
        return float(bench.program("plan", steps, nodes, 100, 3 if bench.toy else 9, *excluded))

    took = {steps: cycle(steps) for steps in (count // 10, count // 3, count)}
    bench.figure(f"whole pass, {count:,} blocked, {nodes:,} nodes", took[count], "ms", at_most=100)
    few, half = count // 50, nodes // 2
    bench.figure(f"whole pass, {few:,} that cannot restart on {half:,} of the nodes", cycle(few, half), "ms", limit=cycle(few), limit_name="ms, on any")
    bench.curve("rate", "single jobs pending behind the stream", "steps/s", {"stream": sorted(rates.items())}, log="x")
    bench.curve("memory", "single jobs pending", "MiB", {"jobmgrd": sorted(memory.items())}, log="x")
    bench.curve("pass", "blocked steps", "ms", {f"{nodes} nodes": sorted(took.items())})
