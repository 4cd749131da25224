"""Sub-steps of one job: `rota run --each` in bulk against a bare loop, `rota run` in loops, what the daemons spend meanwhile, first byte.

A job with all CPUs of its nodes waits. The programs of this benchmark run with the environment of that job, as its script would run
them. The bulk and the bare loop (bare.c) take turns, three times each; a figure is the median of its turns. Both run /bin/true in the
same environment and with one argument, since with an argument /bin/true also reads the locale, which is a quarter of its time. What the
daemons spend is the CPU time of jobmgrd and PostgreSQL together, as the kernel counts it, until all sub-steps of the bulk are in acct.
`xargs` keeps 32 commands of 0.2 s running, with and without `rota run`. The time to the first byte of `hostname` is from before the start
of `rota run`, beside the same for `hostname` alone.
"""
import statistics
import subprocess
import time

from lib import process, timing
from lib.allocation import Allocation

NODES, SLOTS = 4, 16


def bare(bench, job):
    """Programs a second, with the number in flight that gives the highest rate."""
    lines = bench.program("bare", "-a", 1, 0.05 if bench.toy else 2, "/bin/true", env=job.env).splitlines()
    return max(float(line.split()[1]) for line in lines)


def daemons(instance):
    """CPU seconds of jobmgrd and PostgreSQL."""
    pids = instance.pids()
    return sum(process.cpu(pid)[0] for pid in (*pids["jobmgrd"], *pids["postgres"])) + process.cpu(instance.postmaster())[1]


def recorded(instance, job, count):
    """Seconds until acct has COUNT ended sub-steps of the job."""
    began = time.monotonic()
    while int(instance.sql(f"select count(*) from acct.substep where job_id = {job.number} and ended_at is not null")) < count:
        time.sleep(0.02)
    return time.monotonic() - began


def bulk(bench, instance, job):
    size, count = (60, 1) if bench.toy else (33334, 3)
    lines = "".join(f"{i}\n" for i in range(size))
    rates, limits, spent, late = [], [], [], []
    for turn in range(1, count + 1):
        limits.append(bare(bench, job))
        before, began = daemons(instance), time.monotonic()
        job.run("--each", "/bin/true", "{}", input=lines, text=True)
        rates.append(size / (time.monotonic() - began))
        late.append(recorded(instance, job, turn * size))
        spent.append((daemons(instance) - before) / size * 1000)
        bench.say(f"bulk: {rates[-1]:.0f}/s; bare {limits[-1]:.0f}/s")
    bench.figure("rota run --each /bin/true", statistics.median(rates), "sub-steps/s", of_limit=0.6, limit=statistics.median(limits),
                 limit_name="/s, bare loop")
    bench.figure("the same: jobmgrd and PostgreSQL, at 1,000 sub-steps/s", statistics.median(spent) * 100, "% of a CPU", at_most=5)
    bench.figure("the same: all of it in acct, after the end", statistics.median(late), "s", at_most=1)


def loops(bench, job, count):
    """Runs of `rota run true` a second, by COUNT shells with a loop each."""
    each = 3 if bench.toy else 1600 // count
    script = f'for i in $(seq {each}); do "$0" run true || exit 1; done'
    began = time.monotonic()
    shells = [subprocess.Popen(["sh", "-c", script, job.command()[0]], env=job.env, cwd=job.instance.folder) for _ in range(count)]
    if any([shell.wait() for shell in shells]):
        raise RuntimeError("rota run failed")
    return count * each / (time.monotonic() - began)


def in_flight(bench, instance, job):
    """Many short commands, 32 at a time: seconds with and without `rota run`, and the part of a CPU that the daemons spend."""
    size = 64 if bench.toy else 2103
    words = ["sleep", "0.05" if bench.toy else "0.2"]

    def xargs(command):
        began = time.monotonic()
        subprocess.run(["xargs", "-P32", "-I{}", *command], env=job.env, cwd=instance.folder, check=True, text=True,
                       input="".join(f"{i}\n" for i in range(size)))
        return time.monotonic() - began

    alone = xargs(words)
    before = daemons(instance)
    through = xargs(job.command(*words))
    spent = (daemons(instance) - before) / through
    bench.figure(f"{size} times rota run, 32 at a time", through, "s", at_most=1.3 * alone, limit=alone, limit_name="s, without rota run")
    bench.figure("the same: jobmgrd and PostgreSQL", spent * 100, "% of a CPU", at_most=1)


def first_byte(words, env):
    """Milliseconds from before the start of a program to the first byte of its output."""
    began = time.perf_counter()
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, bufsize=0) as program:
        program.stdout.read(1)
        taken = (time.perf_counter() - began) * 1000
        program.stdout.read()
    if program.returncode:
        raise RuntimeError(f"{' '.join(words)} ends with {program.returncode}")
    return taken


def run(bench):
    with bench.instance(nodes=NODES, slots=SLOTS) as instance, \
            Allocation(instance, f"--nodes={NODES}", f"--ntasks={NODES}", f"--cpus-per-task={SLOTS}", "--mem=4G") as job:
        bulk(bench, instance, job)
        in_flight(bench, instance, job)
        bench.figure("rota run true in a loop", loops(bench, job, 1), "/s", at_least=300)
        bench.figure("rota run true in 16 loops", loops(bench, job, 16), "/s", at_least=700)
        count, warm = (2, 1) if bench.toy else (200, 10)
        alone = timing.median(timing.several(count, lambda: first_byte(["hostname"], job.env), warm))
        through = timing.median(timing.several(count, lambda: first_byte(job.command("hostname"), job.env), warm))
        bench.figure("first byte of rota run hostname, median", through, "ms", at_most=8, limit=alone, limit_name="ms, hostname alone")
