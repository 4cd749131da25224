"""An idle instance, 200 times each: submission to the script's first line, end to `rota wait`, step to dependent.

Scripts write a line into a named pipe, which this program reads: as their first command, or as their last one. `rota wait` is already
waiting in a long poll when the task ends. Each round begins on an idle instance. The bar of p99 is three times the median.
"""
import os
import subprocess
import time

from lib import timing


class Pipe:
    def __init__(self, instance, name):
        self.path = f"{instance.folder}/{name}"
        os.mkfifo(self.path)
        os.chmod(self.path, 0o666)
        self.fd = os.open(self.path, os.O_RDWR)

    def line(self):
        """The time of the next line."""
        os.read(self.fd, 1)
        return time.perf_counter()

    def close(self):
        os.close(self.fd)


def rest(instance, job):
    """Wait until nothing of the job is left, and its notifications have been handled."""
    instance.rota("wait", "--quiet", job)
    time.sleep(0.1)


def first_line(instance, pipe, path):
    began = time.perf_counter()
    client = subprocess.Popen([f"{instance.binaries}/rota", "submit", "--parsable", path], env=instance.env, stdout=subprocess.PIPE, text=True)
    came = pipe.line()
    rest(instance, client.communicate()[0].strip())
    return (came - began) * 1000


def wait_returns(instance, pipe, go, path):
    job = instance.rota("submit", "--parsable", path).strip()
    pipe.line()
    client = subprocess.Popen([f"{instance.binaries}/rota", "wait", "--quiet", job], env=instance.env)
    time.sleep(0.1)
    os.write(go.fd, b"\n")
    ended = pipe.line()
    if client.wait():
        raise RuntimeError("rota wait failed")
    taken = (time.perf_counter() - ended) * 1000
    time.sleep(0.1)
    return taken


def dependent(instance, pipe, path):
    job = instance.rota("submit", "--parsable", path).strip()
    ended = pipe.line()
    taken = (pipe.line() - ended) * 1000
    rest(instance, job)
    return taken


def figure(bench, name, most, once):
    times = timing.several(2 if bench.toy else 200, once, warm=1 if bench.toy else 10)
    median = timing.median(times)
    bench.figure(f"{name}, median", median, "ms", at_most=most)
    bench.figure(f"{name}, p99", timing.percentile(times, 0.99), "ms", bar="≤ 3 × median", at_most=3 * median)


def run(bench):
    with bench.instance() as instance:
        pipe, go = Pipe(instance, "pipe"), Pipe(instance, "go")
        head = "#!/bin/sh\n#ROTA --output=/dev/null\n"
        tell = f"echo >{pipe.path}\n"
        once = instance.file("once.sh", f"{head}{tell}")
        reported = instance.file("reported.sh", f"{head}{tell}read -r line <{go.path}\n{tell}")
        steps = instance.file("steps.sh", f"{head}#ROTA step one\n{tell}#ROTA step two --after=one\n{tell}")
        figure(bench, "submission to first line", 15, lambda: first_line(instance, pipe, once))
        figure(bench, "end of the task to return of rota wait", 5, lambda: wait_returns(instance, pipe, go, reported))
        figure(bench, "end of a step to first line of its dependent", 12, lambda: dependent(instance, pipe, steps))
        pipe.close()
        go.close()
