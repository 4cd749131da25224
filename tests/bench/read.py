"""Whole processes that read: queue with 10,000 jobs pending, acct of 14,000 jobs, why and show of one job.

The 14,000 jobs went through an instance whose launchers complete orders without starting anything; the 10,000 pending ones are
held. A figure is the median of 30 processes, each from before it is made until it is gone, with its output thrown away.
"""
import time

from lib import timing


def run(bench):
    over, pending = (12, 10) if bench.toy else (14_000, 10_000)
    with bench.instance(dry_run=True) as instance:
        config, path = f"{instance.home}/etc/rota.conf", instance.file("job.sh", "#!/bin/sh\n#ROTA --output=/dev/null\ntrue\n")
        bench.program("connection", config, over, 1, path)
        while instance.sql("select count(*) from rota.job where ended_at is null") != "0":
            time.sleep(0.1)
        bench.program("connection", config, pending, 1, path, "--hold")
        instance.sql("vacuum analyze")
        job = instance.sql("select max(job_id) from rota.job")
        for name, most, words in ((f"queue, {pending:,} pending", 30, ["queue"]), (f"acct, {over:,} jobs", 100, ["acct", f"--limit={over}", "--states=completed"]),
                                  ("why", 15, ["why", job]), ("show", 10, ["show", job])):
            times = timing.several(2 if bench.toy else 30, lambda: timing.run(instance, *words))  # noqa: B023
            bench.figure(f"{name}, median", timing.median(times), "ms", at_most=most)
