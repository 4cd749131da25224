"""Credentials: what a credential adds to a start, from the submission to the first line, in turns with starts without one.

The token is sealed for the node when the step starts, and comes with its order. Both jobs run the same script on an idle instance of one
node, with the same pause between any two jobs. The difference of the medians is what a credential costs; the first figure is the start of
a job without one.
"""
import os
import subprocess
import time

from lib import timing


def line(fd, started):
    os.read(fd, 1)
    return (time.perf_counter() - started) * 1000


def start(instance, fd, path, names):
    began = time.perf_counter()
    client = subprocess.Popen([f"{instance.binaries}/rota", "submit", "--parsable", f"--cred={names}", path], env=instance.env, stdout=subprocess.PIPE, text=True)
    taken = line(fd, began)
    instance.rota("wait", "--quiet", client.communicate()[0].strip())
    time.sleep(0.1)
    return taken


def run(bench):
    count = 2 if bench.toy else 200
    with bench.instance(nodes=1) as instance:
        instance.rota("down", "--quiet")
        instance.conf["credentials.keys"] = f"{instance.folder}/cred"
        instance.up()
        instance.rota("cred", "add", "pass", "-", "--kind=token", input="secret")
        pipe = f"{instance.folder}/pipe"
        os.mkfifo(pipe)
        os.chmod(pipe, 0o666)
        fd = os.open(pipe, os.O_RDWR)
        path = instance.file("job.sh", f"#!/bin/sh\n#ROTA --output=/dev/null\necho >{pipe}\n")
        times = {"none": [], "pass": []}
        for turn in range(count + 2):
            for names, list_of in times.items():
                taken = start(instance, fd, path, names)
                if turn > 1:  # the first ones warm up
                    list_of.append(taken)
        os.close(fd)
    without, with_one = timing.median(times["none"]), timing.median(times["pass"])
    bench.figure("submission to first line without credentials, median", without, "ms")
    bench.figure("submission to first line with a token, median", with_one, "ms")
    bench.figure("what a token adds to a start, median", with_one - without, "ms", at_most=3)
