"""An hour (--minutes) of mixed load at 70% of the best rate: the end compared with the beginning; memory and live data.

The load is a seeded draw of arrays, graphs of steps, jobs over several nodes, and arrays that are cancelled as soon as they are submitted.
First the queue is kept full for a minute, to measure the best rate. Then jobs are submitted so that their steps come at 70% of that rate.
Steps a minute are counted from the accounting when all jobs have ended. Live data is what does not grow with history: tables without
partitions by job, and partial indexes, such as those over steps, jobs and allocations that have not ended.
"""
import random
import threading
import time

from lib import load, process

SLOTS = 16
ROLES = ("jobmgrd", "nodemgrd", "procmgrd", "launcher")
HEAD = "#!/bin/sh\n#ROTA --output=/dev/null --time=5:00\n"
GRAPH = HEAD + "#ROTA step first\nhostname\n" + "".join(f"#ROTA step s{i} --after=first\nhostname\n" for i in range(8)) + \
    "#ROTA step last --after=" + ",".join(f"s{i}" for i in range(8)) + "\nhostname\n"
WIDE = HEAD + "#ROTA --nodes=2 --ntasks-per-node=1 --run=tasks\nhostname\n"
# Kinds of jobs: weight in the draw, script (None: an array of hostname), number of steps, whether the job is cancelled after its submission.
KINDS = {"array": (6, None, 50, False), "graph": (2, GRAPH, 10, False), "wide": (2, WIDE, 1, False), "cancelled": (1, None, 30, True)}
LIVE = """select coalesce(sum(pg_table_size(c.oid)), 0), (select coalesce(sum(pg_relation_size(i.indexrelid)), 0)
		from pg_index i join pg_class x on x.oid = i.indrelid where x.relnamespace = 'rota'::regnamespace and i.indpred is not null)
	from pg_class c where c.relnamespace = 'rota'::regnamespace and c.relkind = 'r' and not c.relispartition"""


class Load(threading.Thread):
    """Submits until stopped: RATE steps a second; None: keeps the queue full."""

    def __init__(self, instance, seed, rate=None):
        super().__init__(daemon=True)
        self.instance, self.rate, self.random = instance, rate, random.Random(seed)
        self.ending, self.steps, self.failure = threading.Event(), 0, None
        self.paths = {kind: instance.file(f"{kind}.sh", text or load.HOSTNAME.format(options="")) for kind, (_, text, _, _) in KINDS.items()}

    def submit(self):
        kind = self.random.choices(list(KINDS), [weight for weight, *_ in KINDS.values()])[0]
        _, text, steps, cancelled = KINDS[kind]
        options = [] if text else [f"--array=0-{steps - 1}"]
        job = self.instance.rota("submit", "--parsable", *options, self.paths[kind]).strip()
        if cancelled:
            self.instance.rota("cancel", job)
        self.steps += steps

    def full(self):
        """Whether enough jobs have not ended to keep every slot busy for a while, at 30 steps a job."""
        waiting = self.instance.sql("select count(*) from rota.job where ended_at is null")
        return int(waiting) * 30 > 8 * self.instance.nodes * SLOTS

    def run(self):
        began = time.monotonic()
        try:
            while not self.ending.is_set():
                if self.rate and self.steps > self.rate * (time.monotonic() - began) or not self.rate and self.full():
                    self.ending.wait(0.02)
                else:
                    self.submit()
        except RuntimeError as error:
            self.failure = error

    def stop(self):
        self.ending.set()
        self.join()
        if self.failure:
            raise self.failure
        until = time.monotonic() + 300
        while self.instance.sql("select count(*) from rota.job where ended_at is null") != "0":
            if time.monotonic() > until:
                raise RuntimeError("not everything ends")
            time.sleep(0.2)


def ended(instance, bucket):
    """[(begin, steps ended a second)] of parts of BUCKET seconds, without the first and the last part, which are not whole."""
    rows = instance.sql(f"""select floor(extract(epoch from ended_at) / {bucket})::bigint, count(*) from rota.step
        where ended_at is not null and (job_id, step_id) not in (select job_id, step_id from rota.step_array) group by 1 order by 1""")
    return [(int(at) * bucket, int(count) / bucket) for at, count in rows][1:-1]


class Sample:
    """MiB of the daemons by role, and MiB of live tables and of partial indexes, at one moment."""

    def __init__(self, instance, began):
        pids = instance.pids()
        self.minute = (time.monotonic() - began) / 60
        self.memory = {role: sum(map(process.rss, pids[role])) for role in ROLES}
        tables, indexes = instance.sql(LIVE)[0]
        self.live = {"tables": int(tables) / 2**20, "indexes": int(indexes) / 2**20}


def watch(instance, minutes, pause):
    began, samples = time.monotonic(), []
    while time.monotonic() - began < minutes * 60:
        samples.append(Sample(instance, began))
        time.sleep(pause)
    return [*samples, Sample(instance, began)]


def best(instance, seconds):
    """Steps a second when the queue is never empty."""
    flood = Load(instance, "best")
    flood.start()
    time.sleep(seconds)
    flood.stop()
    rates = [rate for _, rate in ended(instance, seconds / 10)]
    return sorted(rates)[len(rates) // 2]


def grown(bench, name, samples, of):
    """The mean of the last tenth of the samples against that of the second tenth, when every kind of job has run."""
    part = max(1, len(samples) // 10)
    early, late = (sum(map(of, some)) / len(some) for some in (samples[part:2 * part] or samples, samples[-part:]))
    bench.figure(name, late, "MiB", bar="≤ 110% of early", at_most=1.1 * early, limit=early, limit_name="MiB early")


def run(bench):
    minutes, bucket = (0.2, 1) if bench.toy else (bench.minutes, 60)
    with bench.instance(slots=SLOTS) as instance:
        top = best(instance, 2 if bench.toy else 60)
        bench.figure("best rate of mixed load", top, "steps/s")
        began = time.time()
        # The best rate of a toy's two seconds may be near zero, and then no job would end in time.
        stream = Load(instance, "soak", max(0.7 * top, 20 if bench.toy else 0))
        stream.start()
        samples = watch(instance, minutes, 1 if bench.toy else 30)
        stream.stop()
        rates = [((at - began) / 60, rate) for at, rate in ended(instance, bucket) if began < at < began + minutes * 60 - bucket]
        show(bench, rates, samples, max(1, min(len(rates) // 2, 10)))


def show(bench, rates, samples, part):
    first, last = (sum(rate for _, rate in some) / len(some) for some in (rates[:part], rates[-part:]))
    bench.figure("rate at the end", last, "steps/s", of_limit=0.97, limit=first, limit_name="/s at the beginning")
    for role in ROLES:
        grown(bench, f"memory of all {role}", samples, lambda sample, role=role: sample.memory[role])
    for what in ("tables", "indexes"):
        grown(bench, f"live data: {what}", samples, lambda sample, what=what: sample.live[what])
    bench.curve("rate", "minutes", "steps/s", {"ended": rates})
    bench.curve("memory", "minutes", "MiB", {role: [(s.minute, s.memory[role]) for s in samples] for role in ROLES})
    bench.curve("live-data", "minutes", "MiB", {what: [(s.minute, s.live[what]) for s in samples] for what in samples[0].live})
