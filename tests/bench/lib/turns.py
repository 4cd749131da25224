"""Turns of an array in an instance and of the bare loop (bare.c) of the same programs; a figure is the median of its turns."""
import statistics

from lib import load

HOOK = "#!/bin/sh\nexit 0\n"


def bare(bench, programs):
    """(elements a second, number in flight) at the number in flight that gives the highest rate."""
    lines = bench.program("bare", 0.05 if bench.toy else 2, *programs).splitlines()
    return max((float(rate), int(flight)) for flight, rate in map(str.split, lines))


def turns(bench, instance, name, path, programs):
    """The figure NAME: elements of the array of PATH a second, against the bare loop of PROGRAMS."""
    size, count = (60, 1) if bench.toy else (10000, 3)
    rates, limits = [], []
    for _ in range(count):
        limits.append(bare(bench, programs))
        rates.append(size / load.array(instance, path, size))
        bench.say(f"{name}: {rates[-1]:.0f}/s; bare {limits[-1][0]:.0f}/s with {limits[-1][1]} in flight")
    limit = statistics.median(rate for rate, _ in limits)
    bench.figure(name, statistics.median(rates), "steps/s", of_limit=0.5, limit=limit, limit_name="/s, bare loop")


def again(instance, conf):
    """Restart the instance with these settings changed."""
    instance.rota("down")
    instance.conf = {**instance.conf, **conf}
    instance.up()
