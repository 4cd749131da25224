"""Preemption, evacuation and checkpoints: from the decision to the first line of the step that takes the place; cost of checkpoints.

The decision is the moment at which the database records the victim (rota.preempted). Programs write the time into a named pipe when they
begin, and when they are asked to save themselves. The checkpoint itself takes from the latter line until it is complete. The limit beside
each figure of preemption is from the same run: the same jobs on idle nodes, from the moment at which they are placed.

100 jobs of a higher tier preempt 100 victims that ignore SIGTERM until the grace of 2 s is over, and then 100 victims that save themselves.
When the victims of the first kind run again, 100 more jobs come at once: no victim may be preempted before its minimal run time.

An evacuation of 16 steps is compared with 16 programs that write and sync the same files at once. Periodic checkpoints of 100 MB are
taken every 2 s. Their cost is the time of one that the program waits for beyond writing and syncing its state, as a part of 30 s: as if
one checkpoint were taken every 30 s. The CPU time of `rota checkpoint --done`, which depends little on other load, is given as such a part, too.
"""
import json
import os
import selectors
import subprocess
import time

from lib import timing

NODES, SLOTS = 4, 25

# Ignores SIGTERM, so that only SIGKILL ends it.
DEAF = "trap '' TERM\necho $ROTA_JOB_ID $EPOCHREALTIME >{pipe}\nexec sleep 600\n"
# Saves itself by the command {save} when it gets SIGUSR1.
SAVER = """#ROTA --checkpoint=app --checkpoint-signal=B:USR1
save() {{
    echo $ROTA_JOB_ID $EPOCHREALTIME >{saves}
    {save}
    rota checkpoint --done
}}
trap save USR1
sleep 600 &
echo $ROTA_JOB_ID $EPOCHREALTIME >{pipe}
while :; do wait; done
"""
STATE = 'echo state >"$ROTA_CHECKPOINT_DIR/state"'
# STAYS runs until it is cancelled; ENDS ends at once.
STAYS = "echo $ROTA_JOB_ID $EPOCHREALTIME >{pipe}\nexec sleep 600\n"
ENDS = "echo $ROTA_JOB_ID $EPOCHREALTIME >{pipe}\n"

# Works for {turns} turns with a state of {size} bytes that it saves when it gets SIGUSR1. At its end it writes the seconds that it has spent,
# and how many of them went into saving, into the file that its argument names.
PERIODIC = """#!/usr/bin/env python3
#ROTA --output=/dev/null
{options}
import json, os, resource, signal, subprocess, sys, time
asked, count, written, done, turn = False, 0, 0.0, 0.0, 0
def ask(number, frame):
    global asked
    asked = True
signal.signal(signal.SIGUSR1, ask)
state = bytearray(os.urandom({size}))
began = time.perf_counter()
while turn < {turns}:
    sum(range(200000))
    turn += 1
    if asked:
        asked, start = False, time.perf_counter()
        with open(os.environ["ROTA_CHECKPOINT_DIR"] + "/state", "wb") as file:
            file.write(state)
            file.flush()
            os.fsync(file.fileno())
        wrote = time.perf_counter()
        subprocess.run(["rota", "checkpoint", "--done"], check=True)
        written, done, count = written + wrote - start, done + time.perf_counter() - wrote, count + 1
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    json.dump({{"seconds": time.perf_counter() - began, "written": written, "done": done, "count": count,
               "done_cpu": used.ru_utime + used.ru_stime}}, file)
"""


class Lines:
    """A named pipe into which jobs write their numbers and the time."""

    def __init__(self, instance, name):
        self.path = f"{instance.folder}/{name}"
        os.mkfifo(self.path)
        os.chmod(self.path, 0o666)
        self.fd = os.open(self.path, os.O_RDWR)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.fd, selectors.EVENT_READ)

    def take(self, jobs, seconds=120):
        """{job: time} of the next line of each of these jobs, in seconds since 1970; lines of other jobs are dropped."""
        lines, text, until = {}, "", time.monotonic() + seconds
        while len(lines) < len(jobs):
            if not self.selector.select(max(0, until - time.monotonic())):
                raise RuntimeError(f"{len(lines)} of {len(jobs)} jobs wrote a line within {seconds} s")
            *whole, text = (text + os.read(self.fd, 65536).decode()).split("\n")
            for job, at in map(str.split, whole):
                if job in jobs:
                    lines.setdefault(job, float(at))
        return lines

    def close(self):
        self.selector.close()
        os.close(self.fd)


class Scene:
    """An instance whose jobs write lines into pipes: `low` and `high` when jobs of these tiers begin, `saves` when jobs are asked to save
    themselves."""

    def __init__(self, instance, toy):
        self.instance, self.folder = instance, f"{instance.folder}/saved"
        self.grace, self.after = (1, 1) if toy else (2, 5)  # seconds: grace of a victim, and its minimal run time
        self.low, self.saves, self.high = (Lines(instance, name) for name in ("low", "saves", "high"))
        instance.rota("admin", "qos", "create", "high", "--tier=1")
        instance.rota("admin", "setting", "change", "requeue_delay_s", "--value=0")

    def script(self, name, text, pipe, *options, save=STATE):
        head = "".join(f"#ROTA {option}\n" for option in ("--output=/dev/null", "--time=30", "--mem=100M", *options))
        return self.instance.file(name, f"#!/bin/bash\n{head}{text.format(pipe=pipe.path, saves=self.saves.path, save=save)}")

    def partition(self, **options):
        self.instance.rota("admin", "partition", "change", "main", *(f"--preempt{key}={value}" for key, value in options.items()))

    def submit(self, path, count=1):
        return self.instance.rota("submit", "--parsable", *(["--each"] + [path] * count if count > 1 else [path])).split()

    def end(self, jobs):
        """Cancel these jobs, and wait until nothing of them is left."""
        self.instance.rota("cancel", "--quiet", *jobs)
        self.until(f"""select (select count(*) from rota.allocation where gone_at is null and job_id in ({','.join(jobs)})) +
            (select count(*) from rota.job where ended_at is null and job_id in ({','.join(jobs)}))""", "0")

    def until(self, query, wanted, seconds=120):
        began = time.monotonic()
        while self.instance.sql(query) != wanted:
            time.sleep(0.05)
            if time.monotonic() - began > seconds:
                raise RuntimeError(f"not {wanted} within {seconds} s: {query}")

    def running(self, jobs):
        """Wait until these jobs have written their lines and are running in the database, because Rota suspends and saves only running steps."""
        self.low.take(jobs)
        self.until(f"select count(*) from rota.step where state = 'running' and job_id in ({','.join(jobs)})", str(len(jobs)))

    def number(self, query):
        return float(self.instance.sql(query))

    def placed(self, jobs, what="min"):
        """When the first one of the jobs was placed for the first time, in seconds since 1970."""
        return self.number(f"select extract(epoch from {what}(ordered_at)) from rota.attempt where attempt = 1 and job_id in ({','.join(jobs)})")

    def decided(self, jobs):
        """When the first victim of these jobs was recorded, in seconds since 1970."""
        return self.number(f"select extract(epoch from min(at)) from rota.preempted where by_job_id in ({','.join(jobs)})")

    def close(self):
        for lines in (self.low, self.saves, self.high):
            lines.close()


# 100 jobs, and 100 victims


def idle_start(scene, high, count):
    """Seconds in which COUNT jobs begin on idle nodes, from the moment at which the first one is placed."""
    jobs = scene.submit(high, count)
    last = max(scene.high.take(jobs).values())
    taken = last - scene.placed(jobs)
    scene.end(jobs)
    return taken


def many_start(scene, low, high, count, saved):
    """Preempt COUNT jobs by as many. Returns the seconds from the first decision until the last one of these begins, the seconds of the slowest
    checkpoint itself, the victims, and the jobs that preempted them."""
    victims = scene.submit(low, count)
    scene.running(victims)
    time.sleep(scene.after + 0.5)
    jobs = scene.submit(high, count)
    last = max(scene.high.take(jobs).values())
    taken, own = last - scene.decided(jobs), 0
    if saved:
        signalled = scene.saves.take(victims)
        complete = scene.instance.sql(f"""select job_id, extract(epoch from complete_at) from rota.checkpoint
            where complete_at is not null and reason = 'preempt' and job_id in ({','.join(victims)})""")
        own = max(float(at) - signalled[job] for job, at in complete)
        if len(complete) != count:
            raise RuntimeError(f"{len(complete)} of {count} victims were saved")
    return taken, own, victims, jobs


def hostile(scene, high, victims, jobs, count):
    """End the jobs, and submit COUNT more when the victims run again. Returns how often a victim was preempted within its minimal run time."""
    scene.end(jobs)
    scene.running(victims)
    more = scene.submit(high, count)
    scene.high.take(more)
    taken, early = scene.instance.sql(f"""select count(*), count(*) filter (where e.at < t.started_at + interval '{scene.after} s')
        from rota.preempted e join rota.attempt t using (job_id, step_id, attempt) where e.job_id in ({','.join(victims)})""")[0]
    scene.end(more)
    if int(taken) < 2 * count:
        raise RuntimeError(f"of {count} victims {taken} were taken, in two rounds")
    return int(early)


def many(bench, scene, low, high, name, count, saved):
    rounds = []
    for turn in range(1 if bench.toy else 3):
        idle = idle_start(scene, high, count)
        taken, own, victims, jobs = many_start(scene, low, high, count, saved)
        rounds.append((taken - own - (0 if saved else scene.grace), idle, own))
        bench.say(f"{name}: {taken:.2f} s, checkpoints {own:.2f} s; idle nodes {idle:.2f} s")
        early = hostile(scene, high, victims, jobs, count) if turn == 0 and not saved else None
        if early is None:
            scene.end(jobs)
        else:
            bench.figure("victims taken within their minimal run time", early, "", at_most=0)
        scene.end(victims)
    rest, idle, own = (timing.median(values) for values in zip(*rounds))
    bench.figure(f"{count} jobs preempt {count}: {name}", rest, "s", at_most=0.5, limit=idle, limit_name="s, on idle nodes")
    if saved:
        bench.figure(f"{count} jobs preempt {count}: the slowest checkpoint itself", own, "s")


def crowd(bench, scene):
    count = 8 if bench.toy else NODES * SLOTS
    size = NODES * SLOTS // count  # CPUs of each
    high = scene.script("high.sh", STAYS, scene.high, "--qos=high", f"--cpus-per-task={size}")
    deaf = scene.script("deaf.sh", DEAF, scene.low, f"--cpus-per-task={size}")
    saver = scene.script("saver.sh", SAVER, scene.low, f"--cpus-per-task={size}", f"--checkpoint-dir={scene.folder}")
    scene.partition(**{"": "requeue", "-grace": f"0:0{scene.grace}", "-after": f"0:0{scene.after}"})
    many(bench, scene, deaf, high, f"beyond the grace of {scene.grace} s", count, False)
    scene.partition(**{"": "checkpoint"})
    many(bench, scene, saver, high, "beyond the checkpoints", count, True)
    scene.partition(**{"": "off", "-grace": "none", "-after": "none"})


# one job, and one victim

WHOLE = "--nodelist=n1", f"--cpus-per-task={SLOTS}"


def idle_line(scene, high):
    """Milliseconds to the first line on an idle node, from the moment at which the job is placed."""
    job = scene.submit(high)
    came = scene.high.take(job)[job[0]]
    scene.instance.rota("wait", "--quiet", job[0])
    taken = came - scene.placed(job)
    time.sleep(0.1)
    return taken * 1000


def phases(scene, high, victim, *moments):
    """Milliseconds of the phases of one preemption: from the decision to each of MOMENTS in turn, then to the placing of the job, then
    to its first line."""
    job = scene.submit(high)
    came = scene.high.take(job)[job[0]]
    times = [scene.decided(job), *(moment(victim) for moment in moments), scene.placed(job), came]
    return [(b - a) * 1000 for a, b in zip(times, times[1:])]


def report(bench, name, rounds, own, idle, most, worst):
    """Add the figures of ROUNDS, each a list of phases in ms of which phase OWN does not count; log the medians of the phases."""
    rests = sorted(sum(phase for i, phase in enumerate(one) if i != own) for one in rounds)
    limit = timing.median(idle)
    bench.figure(f"{name}, median", timing.median(rests), "ms", at_most=most, limit=limit, limit_name="ms, on an idle node")
    bench.figure(f"{name}, greatest", rests[-1], "ms", at_most=most if worst else None, limit=max(idle), limit_name="ms, on an idle node")
    bench.say(f"{name}, phases: {', '.join(f'{timing.median(values):.0f}' for values in zip(*rounds))} ms")


def suspension(bench, scene, rounds):
    low = scene.script("low.sh", STAYS, scene.low, *WHOLE)
    high = scene.script("high.sh", ENDS, scene.high, "--qos=high", "--nodelist=n1")
    scene.partition(**{"": "suspend"})
    idle = timing.several(rounds, lambda: idle_line(scene, high))
    victim = scene.submit(low)[0]
    scene.running([victim])

    def suspended(job):
        return scene.number(f"select extract(epoch from max(at)) from rota.event where job_id = {job} and event = 'suspend'")

    def once():
        one = phases(scene, high, victim, suspended)
        scene.until(f"""select (select count(*) from rota.preempt_pause) + (select count(*) from rota.allocation where gone_at is null and job_id <> {victim})
            + (select count(*) from rota.step where job_id = {victim} and state <> 'running')""", "0")
        time.sleep(0.1)
        return one

    timed = [once() for _ in range(rounds + 1)][1:]
    report(bench, "by suspension: decision to first line", timed, None, idle, 250, True)
    scene.end([victim])


def saving(bench, scene, rounds):
    low = scene.script("low.sh", SAVER, scene.low, *WHOLE, f"--checkpoint-dir={scene.folder}")
    high = scene.script("high.sh", ENDS, scene.high, "--qos=high", *WHOLE)
    scene.partition(**{"": "checkpoint"})
    idle = timing.several(rounds, lambda: idle_line(scene, high))
    victim = scene.submit(low)[0]
    scene.running([victim])

    def latest(column, table, job):
        return scene.number(f"select extract(epoch from max({column})) from rota.{table} where job_id = {job}")

    def once():
        one = phases(scene, high, victim, lambda job: scene.saves.take([job])[job], lambda job: latest("complete_at", "checkpoint", job),
                     lambda job: latest("ended_at", "attempt", job))
        scene.running([victim])
        time.sleep(0.1)
        return one

    timed = [once() for _ in range(rounds + 1)][1:]
    report(bench, "by checkpoint: decision to first line, beyond the checkpoint", timed, 1, idle, 100, False)
    bench.figure("by checkpoint: the checkpoint itself, median", timing.median([one[1] for one in timed]), "ms")
    scene.end([victim])


def single(bench, scene):
    rounds = 2 if bench.toy else 40
    suspension(bench, scene, rounds)
    saving(bench, scene, rounds)


# evacuation


def written_alone(folder, count, write, after=""):
    """Seconds in which COUNT programs write these files at once. Each has a session of its own, as steps have, because the kernel divides CPU
    time by sessions (autogroup)."""
    began = time.monotonic()
    programs = []
    for i in range(count):
        os.makedirs(f"{folder}/{i}")
        programs.append(subprocess.Popen(["bash", "-c", f"{write}{after}"], env={**os.environ, "ROTA_CHECKPOINT_DIR": f"{folder}/{i}"},
                                         stdout=subprocess.DEVNULL, start_new_session=True))
    if any(program.wait() for program in programs):
        raise RuntimeError("a program could not write its file")
    taken = time.monotonic() - began
    subprocess.run(["rm", "-rf", folder], check=True)
    return taken


def evacuated(scene, low, count):
    """Seconds of an evacuation: until the last step is saved, and until the last one runs elsewhere."""
    scene.instance.rota("admin", "node", "drain", "n[2-4]", "--reason=bench")
    victims = scene.submit(low, count)
    scene.running(victims)
    scene.instance.rota("admin", "node", "resume", "n2")
    scene.instance.rota("admin", "node", "evacuate", "n1")
    last = max(scene.low.take(victims).values())
    began = scene.number("select extract(epoch from max(made_at)) from rota.evacuation")
    saved, moved = scene.instance.sql(f"""select extract(epoch from max(c.complete_at)), count(distinct t.job_id)
        from rota.checkpoint c join rota.attempt t using (job_id, step_id)
        where c.reason = 'evacuate' and c.job_id in ({','.join(victims)}) and t.attempt = 2""")[0]
    if int(moved) != count:
        raise RuntimeError(f"{moved} of {count} steps have moved")
    scene.end(victims)
    scene.until("select count(*) from rota.evacuation where ended_at is null", "0")
    scene.instance.rota("admin", "node", "resume", "n1")
    return float(saved) - began, last - began


def evacuation(bench, scene):
    count, size = (4, 1) if bench.toy else (16, 64)
    write = f'dd if=/dev/zero of="$ROTA_CHECKPOINT_DIR/state" bs=1M count={size} conv=fsync status=none'
    low = scene.script("low.sh", SAVER, scene.low, f"--checkpoint-dir={scene.folder}", save=write)
    alone, rounds = f"{scene.instance.folder}/alone", []
    for _ in range(1 if bench.toy else 3):
        rounds.append((written_alone(alone, count, write), written_alone(alone, count, write, ' && sha256sum "$ROTA_CHECKPOINT_DIR/state"'),
                       *evacuated(scene, low, count)))
        bench.say("written alone {:.2f} s, written and hashed {:.2f} s; saved {:.2f} s, moved {:.2f} s".format(*rounds[-1]))
    written, hashed, saved, moved = (timing.median(values) for values in zip(*rounds))
    what = f"{count} steps of {size} MiB are evacuated"
    bench.figure(f"{what}: until the last is saved", saved, "s", limit=written, limit_name="s, written alone")
    bench.figure(f"{what}: the same", saved, "s", limit=hashed, limit_name="s, written and hashed")
    bench.figure(f"{what}: until the last goes on", moved, "s", limit=hashed, limit_name="s, written and hashed")
    scene.instance.rota("admin", "node", "resume", "n[3-4]")


# periodic checkpoints


def periodic_run(instance, options, size, turns):
    path = instance.file("periodic.py", PERIODIC.format(options=options, size=size, turns=turns))
    spent = f"{instance.folder}/spent"
    job = instance.rota("submit", "--parsable", "--mem=2G", path, spent).strip()
    instance.rota("wait", "--quiet", job)
    with open(spent, encoding="utf-8") as file:
        found = json.load(file)
    found["cpu"] = float(instance.sql(f"select sum(cpu_usec) / 1e6 from rota.allocation where job_id = {job}"))
    return found


def hashed_alone(folder, size):
    """Seconds in which sha256sum hashes a file of SIZE bytes."""
    with open(f"{folder}/state", "wb") as file:
        file.write(os.urandom(size))
    began = time.perf_counter()
    subprocess.run(["sha256sum", f"{folder}/state"], stdout=subprocess.DEVNULL, check=True, start_new_session=True)
    taken = time.perf_counter() - began
    os.remove(f"{folder}/state")
    return taken


def periodic(bench, scene):
    size, turns, interval = (1000000, 200, 1) if bench.toy else (100000000, 3000, 2)
    instance, rounds = scene.instance, []
    for _ in range(1 if bench.toy else 2):
        limit = hashed_alone(instance.folder, size)
        without = periodic_run(instance, "", size, turns)
        spent = periodic_run(instance, f"#ROTA --checkpoint=app --checkpoint-signal=B:USR1 --checkpoint-interval=0:0{interval} "
                             f"--checkpoint-dir={scene.folder}", size, turns)
        count = max(spent["count"], 1)
        rounds.append((spent["done"] / count, spent["done_cpu"] / count, (spent["cpu"] - without["cpu"]) / count, limit))
        bench.say(f"{spent['count']} checkpoints, {spent['written'] / count:.3f} s written and {rounds[-1][0]:.3f} s in Rota for each, of it "
                  f"CPU {rounds[-1][1]:.3f} s; the program "
                  f"takes {spent['seconds']:.1f} s, {without['seconds']:.1f} s without, CPU {spent['cpu']:.1f} and {without['cpu']:.1f} s")
    done, done_cpu, cpu, limit = (timing.median(values) for values in zip(*rounds))
    name = f"checkpoints of {size // 1000000} MB every 30 s"
    bench.figure(f"{name}: what the program waits for", done / 30 * 100, "%", at_most=1, limit=limit / 30 * 100, limit_name="%, sha256sum of the file")
    bench.figure(f"{name}: CPU of Rota for it", done_cpu / 30 * 100, "%", at_most=1)
    bench.figure(f"{name}: CPU, with what writing takes", cpu / 30 * 100, "%")


def run(bench):
    with bench.instance(nodes=NODES, slots=SLOTS, conf={"node.grace": 1}) as instance:
        scene = Scene(instance, bench.toy)
        for part in (single, crowd, evacuation, periodic):
            part(bench, scene)
        scene.close()
