"""10,000 elements of `hostname` on 4 nodes: submission to last row of accounting, against a bare loop of the same programs.

Rota and the bare loop (bare.c) take turns, three times each; a figure is the median of its turns. Both run the same files: a
shell script that runs `hostname`, with its output to /dev/null; with hooks also the four scripts of prolog and epilog, the site's and the
user's, one after the other. The bare loop counts with the number of processes in flight at which it is fastest. A turn of Rota ends with
the last row of accounting, and when no hook is due any more. hooks.py measures the controller's prolog and epilog.
"""
from lib import load
from lib.turns import HOOK, again, turns


def run(bench):
    with bench.instance() as instance:
        path = load.script(instance)
        turns(bench, instance, "hostname", path, [path])
        site_prolog, prolog, epilog, site_epilog = (instance.file(f"{name}.sh", HOOK) for name in ("site_prolog", "prolog", "epilog", "site_epilog"))
        again(instance, {"node.site_prolog": site_prolog, "node.site_epilog": site_epilog})
        path = load.script(instance, prolog=prolog, epilog=epilog)
        turns(bench, instance, "hostname with prolog and epilog of site and user", path, [site_prolog, prolog, path, epilog, site_epilog])
