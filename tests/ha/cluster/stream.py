"""The stream of jobs that clients on login1 submit, and the ledger: a file outside Rota into which the tasks write their starts and ends."""
import glob
import os
import re
import shutil
import time

from cluster.machine import HEADS, LOGIN

STEADY = 10  # seconds before the mark in which the rate of an array is measured
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD = "#!/bin/bash\n#ROTA --time=5:00 --output=/dev/null\nexport LEDGER=/srv/shared/ledger\n. /srv/shared/task.sh\n"
KINDS = {
    "single": "work 0.2\n",
    "long": "work 6\n",
    "wide": "#ROTA --nodes=2 --ntasks-per-node=1 --run=tasks\nwork 0.5\n",
    "many": "#ROTA --array=0-7%4\nwork 0.3\n",
    "queue": "#ROTA --array=0-99%1\nwork 0.2\n",  # keeps elements pending that may start, even while clients get no answer to submissions
    "array": "#ROTA --array=0-2879\nwork 1\n",
    "peers": "\n#ROTA step first\nwork 0.3\n#ROTA step second --after=first\nwork 0.3\n",
}
# Name of the client, seconds that it waits after each answer, and the kinds of jobs that it submits in turn.
STREAMS = (("a", 0.25, ("single",)), ("b", 1, ("many", "peers", "long", "wide")), ("c", 20, ("queue",)))


class Stream:
    def __init__(self, site):
        self.site, self.folder = site, site.shared
        self.ledger = f"{self.folder}/ledger"
        self.processes, self.probe, self.marked, self.array = [], None, 0.0, None
        shutil.copy(os.path.join(HERE, "../fault/lib/task.sh"), self.folder)
        for program in ("probe", "stream"):
            shutil.copy(os.path.join(HERE, program), self.folder)
        for kind, body in KINDS.items():
            with open(f"{self.folder}/{kind}.sh", "w", encoding="utf-8") as file:
                file.write(HEAD + body)
        with open(self.ledger, "w", encoding="ascii"):
            os.chmod(self.ledger, 0o666)

    def start(self):
        """Start the clients that submit, and the probe that commits on each server (tests/ha/probe)."""
        if os.path.exists(f"{self.folder}/stop"):
            os.remove(f"{self.folder}/stop")
        machine = self.site.machines[LOGIN]
        self.processes = [machine.spawn(f"exec /srv/shared/stream /srv/shared {name} {pause} {' '.join(kinds)}", user="ann") for name, pause, kinds in STREAMS]
        with open(f"{self.folder}/commits", "ab") as file:
            self.probe = machine.spawn(f"PROBE_PASSWORD={self.site.password('rota_nodemgr')} exec /srv/shared/probe {' '.join(HEADS)}", output=file)

    def follow_array(self):
        """Submit an array, whose rate counts until stop()."""
        key = f"array-{time.time():.0f}"
        with open(f"{self.folder}/array.answers", "a", encoding="ascii") as file:
            job = self.site.machines[LOGIN].run(f"cd && rota submit --parsable --client-key={key} --job-name=array /srv/shared/array.sh", user="ann").strip()
            file.write(f"answered {key} array {job}\n")
        self.array = int(job)

    def array_rates(self):
        """Elements of the array that began in a second: before the mark, and in the longest time without commits. None: no array."""
        if self.array is None:
            return None
        begins = self.starts(0, self.array)
        since, until = longest_gap(self.marked, self.commits(self.marked))
        return rate(begins, self.marked - STEADY, self.marked), rate(begins, since, until)

    def stop(self):
        """Wait until each submission is answered; raises if a client is not done within 150 s."""
        with open(f"{self.folder}/stop", "w", encoding="ascii"):
            pass
        for process in self.processes:
            process.wait(timeout=150)
        self.end_probe()
        self.array = None

    def mark(self):
        """tests/ha/run measures pauses from this moment on."""
        self.marked = time.time()

    def end_probe(self):
        if self.probe:
            self.probe.kill()
            self.probe.wait()
        for pid in self.site.machines[LOGIN].named("/srv/shared/probe"):
            os.kill(pid, 9)
        self.probe = None

    def begun(self):
        return len(self.starts(0))

    def starts(self, since, job=None):
        """Times at which tasks began, of this job or of all."""
        of = "begin " if job is None else f"begin {job}."
        with open(self.ledger, encoding="ascii") as file:
            return sorted(t for t in (float(line.split()[7]) for line in file if line.startswith(of) and len(line.split()) == 8) if t >= since)

    def commits(self, since):
        with open(f"{self.folder}/commits", encoding="ascii") as file:
            return sorted(t for t in (float(line.split()[0]) for line in file if re.match(r"\d+\.\d+ \w+\n", line)) if t >= since)

    def answers(self):
        """Jobs that were answered {key: (kind, job)}, and submissions that were not {key: kind}."""
        answered, asked = {}, {}
        for path in glob.glob(f"{self.folder}/*.answers"):
            with open(path, encoding="ascii") as file:
                for line in file:
                    what, key, kind, *job = line.split()
                    if what == "asked":
                        asked[key] = kind
                    else:
                        answered[key] = (kind, int(job[0]))
                        asked.pop(key, None)
        return answered, asked

    def goes_on(self, seconds=120):
        """Wait until eight more tasks have begun; raises if they have not within SECONDS."""
        before = self.begun()
        until = time.monotonic() + seconds
        while self.begun() < before + 8:
            if time.monotonic() > until:
                raise RuntimeError(f"wedged: nothing has started for {seconds} s")
            time.sleep(0.2)


def longest_gap(since, times):
    """Begin and end of the longest pause between successive ones of these sorted times, from `since` until now."""
    points = [since, *times, time.time()]
    return max(zip(points, points[1:]), key=lambda pair: pair[1] - pair[0])


def longest_pause(since, times):
    """Length of longest_gap(), in seconds."""
    begin, end = longest_gap(since, times)
    return end - begin


def rate(times, since, until):
    """How many of these times are in a second between `since` and `until`."""
    return sum(since <= t < until for t in times) / max(until - since, 0.001)
