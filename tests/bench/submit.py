"""Jobs submitted: whole processes one by one and from four loops, one connection, arrays of any size, a job of 1,000 steps.

All jobs are submitted held, so that what is measured is submission and not what comes of it. A whole process is `rota submit` from before
it is made until it is gone, as a script would run it; the limit beside it is the same for `/bin/true`. The four loops are shells.
connection.c sends its requests over one HTTP connection, each after the answer to the one before and with a munge credential: first for
one job each, then for a hundred. The job of 1,000 steps has a hundred layers of ten, each step after one of the layer before. Every
submission is committed to disk before it is answered.
"""
import os
import subprocess
import time

from lib import timing

LOOP = "i=0; while [ $i -lt {count} ]; do rota submit --hold --parsable {path} >/dev/null || exit; i=$((i+1)); done"


def loops(instance, path, count):
    """Submissions a second of four shells with COUNT submissions each."""
    began = time.perf_counter()
    shells = [subprocess.Popen(["sh", "-c", LOOP.format(count=count, path=path)], env=instance.env) for _ in range(4)]
    if any([shell.wait() for shell in shells]):
        raise RuntimeError("a loop of submissions failed")
    return 4 * count / (time.perf_counter() - began)


def dag(instance, steps):
    layers = "".join(f"#ROTA step s{i}" + (f" --after=s{i - 10}" if i >= 10 else "") + "\ntrue\n" for i in range(steps))
    return instance.file("dag.sh", f"#!/bin/sh\n#ROTA --hold\n{layers}")


def true():
    began = time.perf_counter()
    os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)
    return (time.perf_counter() - began) * 1000


def run(bench):
    with bench.instance() as instance:
        path = instance.file("job.sh", "#!/bin/sh\ntrue\n")
        submit = lambda *words: timing.several(3 if bench.toy else count, lambda: timing.run(instance, "submit", "--hold", *words))  # noqa: E731
        count = 300
        bare = timing.median(timing.several(count, true))
        bench.figure("whole process, median", timing.median(submit(path)), "ms", at_most=4, limit=bare, limit_name="ms, /bin/true")
        turns = 3 if bench.toy else 500
        bench.figure("four loops of whole processes", max(loops(instance, path, turns) for _ in range(1 if bench.toy else 3)), "/s", at_least=800)
        for each, what in ((1, "a job in each request"), (100, "100 jobs in each request")):
            size = 2 * each if bench.toy else 4000
            bench.figure(f"one connection, {what}", max(float(bench.program("connection", f"{instance.home}/etc/rota.conf", size, each, path, "--hold"))
                                                        for _ in range(1 if bench.toy else 3)), "/s", at_least=2000)
        count = 30
        for elements in (10_000, 1_000_000):
            bench.figure(f"array of {elements:,}, median", timing.median(submit(f"--array=0-{elements - 1}", path)), "ms", at_most=10)
        count = 15
        steps = 20 if bench.toy else 1000
        bench.figure(f"job of {steps:,} steps, median", timing.median(submit(dag(instance, steps))), "ms", at_most=50)
