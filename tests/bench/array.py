"""10,000 elements of `hostname` on 4 nodes: submission to last row of accounting, against a bare loop of the same programs.

Rota and the bare loop (bare.c) take turns, three times each; a figure is the median of its turns. Both run the very files: a shell
script that runs `hostname`, output to /dev/null; with hooks also the four scripts of prolog and epilog, the site's and the user's,
one after the other; or those of the controller's prolog and epilog, which runnerd runs. The bare loop is given the number in flight at which
it is best. The end is the last row of accounting, hooks included.
"""
import statistics

from lib import load

HOOK = "#!/bin/sh\nexit 0\n"


def bare(bench, programs):
    """(rate, number in flight) of the best run."""
    lines = bench.program("bare", 0.05 if bench.toy else 2, *programs).splitlines()
    return max((float(rate), int(flight)) for flight, rate in map(str.split, lines))


def turns(bench, instance, name, path, programs):
    size, count = (60, 1) if bench.toy else (10000, 3)
    rates, limits = [], []
    for _ in range(count):
        limits.append(bare(bench, programs))
        rates.append(size / load.array(instance, path, size))
        bench.say(f"{name}: {rates[-1]:.0f}/s; bare {limits[-1][0]:.0f}/s with {limits[-1][1]} in flight")
    limit = statistics.median(rate for rate, _ in limits)
    bench.figure(name, statistics.median(rates), "steps/s", of_limit=0.5, limit=limit, limit_name="/s, bare loop")


def again(instance, conf):
    """The instance with other settings."""
    instance.rota("down")
    instance.conf = conf
    instance.up()


def run(bench):
    with bench.instance() as instance:
        path = load.script(instance)
        turns(bench, instance, "hostname", path, [path])
        site_prolog, prolog, epilog, site_epilog = (instance.file(f"{name}.sh", HOOK) for name in ("site_prolog", "prolog", "epilog", "site_epilog"))
        again(instance, {"controller.prolog": prolog, "controller.epilog": epilog})
        turns(bench, instance, "hostname with prolog and epilog of the controller", path, [prolog, path, epilog])
        again(instance, {"controller.prolog": "", "controller.epilog": "", "node.site_prolog": site_prolog, "node.site_epilog": site_epilog})
        path = load.script(instance, prolog=prolog, epilog=epilog)
        turns(bench, instance, "hostname with prolog and epilog of site and user", path, [site_prolog, prolog, path, epilog, site_epilog])
