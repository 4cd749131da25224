"""The kernel's figures of processes: CPU time, memory, wake-ups. All are 0 for a process that does not exist."""
import glob
import os

TICK = os.sysconf("SC_CLK_TCK")


def stat(pid):
    """The fields of /proc/PID/stat after the name: state, parent, ...; none if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(") ")[2].split()
    except OSError:
        return []


def children(pid):
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        fields = stat(path[6:])
        if fields and fields[1] == str(pid):
            found.append(int(path[6:]))
    return found


def cpu(pid):
    """(CPU seconds of the process, CPU seconds of its children that have ended and been waited for)."""
    fields = stat(pid)
    if not fields:
        return 0.0, 0.0
    own, dead = (sum(map(int, fields[i:i + 2])) / TICK for i in (11, 13))
    return own, dead


def value(pid, file, name):
    """The number NAME in /proc/PID/FILE, a file of lines `NAME: NUMBER`."""
    try:
        with open(f"/proc/{pid}/{file}", encoding="ascii", errors="replace") as lines:
            return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)
    except OSError:
        return 0


def rss(pid):
    """MiB in memory, shared pages counted in full."""
    return value(pid, "status", "VmRSS") / 1024


def pss(pid):
    """MiB in memory, each shared page divided by the number of processes that share it."""
    return value(pid, "smaps_rollup", "Pss") / 1024


def peak(pid):
    """The greatest rss() so far, in MiB."""
    return value(pid, "status", "VmHWM") / 1024


def switches(pid):
    """The number of voluntary context switches: how often the process has gone to sleep, and so how often it has woken up."""
    return value(pid, "status", "voluntary_ctxt_switches")
