"""Hooks: the controller's prolog and epilog of 10,000 elements, programs that runnerd starts, submissions with job_submit.lua.

The array with a prolog and an epilog for each element takes turns with the bare loop of the same programs, as in array.py.

To measure runnerd alone, the epilogs of an array that has ended are made due once more, all at once; the launchers start nothing. The rate
of runnerd is that from the first epilog due to the last one reported, against `/bin/true` in the bare loop.

A submission is a whole process `rota submit --hold`. Three instances take turns: one without [hooks], one with a job_submit.lua that sets
two fields, one with a burst_buffer.lua, for which the job has no directive.

A hook waits for the database and runnerd, and never for jobmgrd's queue. To show it, two instances take turns, one with a million pending
jobs (lib/pending.py) and one with none. Each does a submission with job_submit.lua, and a controller's epilog from due to reported.
"""
import contextlib
import time

from lib import load, pending, timing
from lib.turns import HOOK, again, bare, turns

JOB_SUBMIT = """function slurm_job_submit(desc, parts, uid)
	if desc.time_limit == slurm.NO_VAL then
		desc.time_limit = 60
	end
	desc.comment = "seen by the site"
	return slurm.SUCCESS
end
function slurm_job_modify(desc, rec, parts, uid)
	return slurm.SUCCESS
end
"""
BURST_BUFFER = """function slurm_bb_data_in(job_id, job_script)
	return slurm.SUCCESS
end
"""
DUE = """delete from rota.controller_hook where job_id = {job};
	insert into rota.hook_pending (job_id, step_id, attempt, hook)
	select s.job_id, s.step_id, s.attempt, 'controller_epilog' from rota.step s where s.job_id = {job} and s.array_index < {size};
	notify rota_hook"""


def controller(bench):
    with bench.instance() as instance:
        path = load.script(instance)
        prolog, epilog = (instance.file(f"{name}.sh", HOOK) for name in ("prolog", "epilog"))
        again(instance, {"controller.prolog": prolog, "controller.epilog": epilog})
        turns(bench, instance, "hostname with prolog and epilog of the controller", path, [prolog, path, epilog])


def ended(instance, size):
    """The job of an array of SIZE elements that has ended, and whose epilogs have ended."""
    job = instance.rota("submit", "--parsable", f"--array=0-{size - 1}", load.script(instance)).strip()
    instance.rota("wait", "--quiet", f"--timeout={60 + size // 20}", job)
    rest(instance)
    return job


def rest(instance, pause=0.05):
    """Wait until no hook is due. The figures come from times in the database, so a long pause costs no precision; a short one takes CPU
    time from the hooks."""
    began = time.monotonic()
    while instance.sql("select count(*) from rota.hook_pending") != "0":
        time.sleep(pause)
        if time.monotonic() - began > 120:
            raise RuntimeError("hooks do not end")


def epilogs(instance, job, size):
    """Seconds for SIZE epilogs of the ended array, from the first one due to the last one reported."""
    instance.sql(DUE.format(job=job, size=size))
    rest(instance, 0.05 if size < 100 else 1)
    count, seconds = instance.sql(f"""select count(*), extract(epoch from max(ended_at) - min(due_at)) from rota.controller_hook
        where job_id = {job} and exit_code = 0""")[0]
    if count != str(size):
        raise RuntimeError(f"{count} of {size} epilogs succeeded")
    return float(seconds)


def runner(bench):
    size, count = (60, 1) if bench.toy else (10000, 3)
    with bench.instance(dry_run=True, conf={"controller.epilog": "/bin/true"}) as instance:
        job = ended(instance, size)
        pairs = [(size / epilogs(instance, job, size), bare(bench, ["/bin/true"])[0]) for _ in range(count)]
    rate, limit = (timing.median(values) for values in zip(*pairs))
    bench.figure("/bin/true by runnerd", rate, "/s", of_limit=0.55, limit=limit, limit_name="/s, bare loop")


def in_turns(count, *once):
    """The medians of what these functions return. They take turns, COUNT times each, after some runs that do not count."""
    for one in once:
        timing.several(1, one)
    rounds = [[one() for one in once] for _ in range(count)]
    return [timing.median(times) for times in zip(*rounds)]


def submission(instance, path):
    return lambda: timing.run(instance, "submit", "--hold", path)


def scripted(bench, stack, **more):
    """An instance whose submissions job_submit.lua judges."""
    instance = stack.enter_context(bench.instance(**more))
    again(instance, {"hooks.job_submit": instance.file("job_submit.lua", JOB_SUBMIT)})
    return instance


def judged(instance, path):
    """Raises unless the script judges a submission."""
    job = instance.rota("submit", "--parsable", "--hold", path).strip()
    if instance.sql(f"select count(*) from rota.job_change where job_id = {job}") != "2":
        raise RuntimeError("job_submit.lua has not set two fields")


def submissions(bench):
    with contextlib.ExitStack() as stack:
        none, script = stack.enter_context(bench.instance()), scripted(bench, stack)
        other = stack.enter_context(bench.instance())
        again(other, {"hooks.burst_buffer": other.file("burst_buffer.lua", BURST_BUFFER)})
        path = none.file("job.sh", "#!/bin/sh\ntrue\n")
        judged(script, path)
        least, with_script, with_other = in_turns(3 if bench.toy else 300, *(submission(instance, path) for instance in (none, script, other)))
    bench.figure("submission without [hooks], median", least, "ms")
    bench.figure("submission with job_submit.lua, median", with_script, "ms", bar="≤ limit + 0.3 ms", at_most=least + 0.3, limit=least,
                 limit_name="ms without")
    bench.figure("submission with burst_buffer.lua, no directive, median", with_other, "ms", limit=least, limit_name="ms without")


def deep(bench):
    count = 300 if bench.toy else 1000000
    with contextlib.ExitStack() as stack:
        pair = [scripted(bench, stack, dry_run=True, conf={"controller.epilog": "/bin/true"}) for _ in range(2)]
        path = pair[0].file("job.sh", "#!/bin/sh\ntrue\n")
        jobs = [ended(instance, 1) for instance in pair]
        for instance in pair:
            instance.rota("admin", "partition", "change", "main", "--state=down")
        pending.put(pair[1], path, count, "--nice=1000000")
        submits = in_turns(3 if bench.toy else 100, *(submission(instance, path) for instance in pair))
        hooks = in_turns(3 if bench.toy else 100, *(lambda instance=instance, job=job: epilogs(instance, job, 1) * 1000 for instance, job in zip(pair, jobs)))
    for name, (empty, full) in (("submission with job_submit.lua", submits), ("epilog of the controller, due to reported", hooks)):
        bench.figure(f"{name}, {count:,} pending, median", full, "ms", limit=empty, limit_name="ms with none")


def run(bench):
    controller(bench)
    runner(bench)
    submissions(bench)
    deep(bench)
