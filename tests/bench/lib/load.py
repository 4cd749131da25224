"""Loads that several benchmarks use."""
import json
import time

# The script of each element of the arrays, as in Slurm's figures: a shell that runs `hostname` as its child.
HOSTNAME = "#!/bin/sh\n#ROTA --output=/dev/null --time=5:00{options}\nhostname\n"


def script(instance, name="hostname.sh", **options):
    words = "".join(f" --{key}={value}" for key, value in options.items())
    return instance.file(name, HOSTNAME.format(options=words))


def array(instance, path, size):
    """Seconds from the submission of an array to the last row of its accounting, when no hook of it is due; raises unless every element
    completed."""
    began = time.monotonic()
    job = instance.rota("submit", "--parsable", f"--array=0-{size - 1}", path).strip()
    instance.rota("wait", "--quiet", f"--timeout={60 + size // 20}", job)
    while instance.sql(f"""select (select count(*) from rota.allocation where job_id = {job} and gone_at is null)
        + (select count(*) from rota.hook_pending where job_id = {job})""") != "0":
        time.sleep(0.01)
    seconds = time.monotonic() - began
    done, tasks = instance.sql(f"""select count(*) from rota.step where job_id = {job} and array_index is not null and state = 'completed'
        union all select count(*) from rota.task_end where job_id = {job} and exit_code = 0""")
    if (done, tasks) != ((str(size),), (str(size),)):
        raise RuntimeError(f"of {size} elements {done[0]} completed, with {tasks[0]} tasks")
    return seconds


def processes(instance):
    """The rows of `rota status`: role, node, pid."""
    return json.loads(instance.rota("status", "--json"))["processes"]
