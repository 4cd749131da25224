"""Times of whole processes, from before their start to after their end; medians and percentiles of times."""
import math
import os
import statistics
import time


def run(instance, *words):
    """Milliseconds of one `rota`, its output discarded; raises if it fails."""
    actions = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    began = time.perf_counter()
    pid = os.posix_spawn(f"{instance.binaries}/rota", ["rota", *words], instance.env, file_actions=actions)
    status = os.waitpid(pid, 0)[1]
    taken = (time.perf_counter() - began) * 1000
    if status:
        raise RuntimeError(f"rota {' '.join(words)} ends with {os.waitstatus_to_exitcode(status)}")
    return taken


def several(count, once, warm=3):
    """The sorted results of COUNT calls of `once()`, after WARM calls that fill caches and do not count."""
    for _ in range(warm):
        once()
    return sorted(once() for _ in range(count))


def percentile(times, part):
    """The percentile PART (0 to 1) of sorted times."""
    return times[max(0, math.ceil(len(times) * part) - 1)]


def median(times):
    return statistics.median(times)
