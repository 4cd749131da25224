"""Jobs of the campaign whose data is staged: a folder of each job is filled from a pool, and what the job made of it is copied out
(burst_buffer.lua, stage.sh; or by lines stage-in and stage-out). The job copies what it finds, so the result is the pool, byte for byte.
"""
import os
import random
import shutil

HERE = os.path.dirname(os.path.abspath(__file__))


# Rows of staging: of a job, of an array, or of one of its elements, which may have been cancelled without stage-out. Data is staged out once
# more after a requeue of its job, and where its runnerd ended between data_out and what follows.
ROWS = """select g.job_id, g.state, coalesce(g.message, ''), (
        select count(*) filter (where c.function = 'data_out' and c.rc = 0) - count(*) filter (where c.function = 'test_data_out' and c.rc is null and not c.unwanted)
        from rota.staging_call c where c.job_id = g.job_id
            and (c.ended_at >= g.running_at or not exists (select from rota.event e where e.job_id = coalesce(g.array_job_id, g.job_id) and e.event = 'rerun'))),
    case when s.step_id is not null then case when s.state = 'cancelled' or (g.hurry and j.name like '%-cancelled') then 'cancelled' else 'element' end
        when a.staged then 'array' else 'job' end
    from rota.staging g
    join rota.job j on j.job_id = coalesce(g.array_job_id, g.job_id)
    left join rota.step s on s.job_id = g.array_job_id and s.step_id = g.step_id
    left join rota.step_array a on a.job_id = g.job_id"""

UNSTAGED = """select internal.step_label(s.job_id, s.step_id) from rota.step s
    join rota.step_array a on a.job_id = s.job_id and a.step_id = s.request_id and a.staged
    where s.array_index is not null and s.started_at is not null
        and not exists (select from rota.staging g where g.array_job_id = s.job_id and g.step_id = s.step_id)"""

LEFT = """select 'a call', c.function || ' of ' || c.job_id from rota.staging_call c where c.ended_at is null
    union all select 'pre_run', internal.step_label(h.job_id, h.step_id) from rota.hook_pending h where h.hook = 'pre_run'
    union all select 'space of a pool', g.job_id::text from rota.staging g where g.taken is not null
    union all select 'a number that a job has', g.job_id::text from rota.staging g join rota.job j on j.job_id = g.job_id where g.array_job_id is not null"""


def prepare(folder, seed):
    """The site's functions, and a pool with some files."""
    shutil.copy(f"{HERE}/stage.sh", folder)
    with open(f"{HERE}/burst_buffer.lua", encoding="utf-8") as source, open(f"{folder}/burst_buffer.lua", "w", encoding="utf-8") as target:
        target.write(source.read().replace("@FOLDER@", folder))
    for place in ("pool", "fast", "result", "locks", "moved"):
        os.makedirs(f"{folder}/stage/{place}")
    for place in ("", "fast", "result", "locks", "moved"):
        os.chmod(f"{folder}/stage/{place}", 0o1777)
    draw = random.Random(f"pool {seed}")
    for number in range(5):
        with open(f"{folder}/stage/pool/part.{number}", "wb") as file:
            file.write(draw.randbytes(draw.randint(0, 65536)))


def contents(folder):
    """Names and contents of the files of a folder; None if it does not exist."""
    if not os.path.isdir(folder):
        return None
    files = {}
    for name in os.listdir(folder):
        with open(f"{folder}/{name}", "rb") as file:
            files[name] = file.read()
    return files


def judge_staging(verdict, instance):
    """All of each job's data came out, by one stage-out, and its folder is gone."""
    place = f"{instance.folder}/stage"
    if os.path.exists(f"{place}/doubled"):
        with open(f"{place}/doubled", encoding="utf-8") as file:
            verdict.doubled += [f"staged twice: {line.strip()}" for line in file]
    judge_rows(verdict, instance.sql(ROWS) or [], contents(f"{place}/pool"), lambda job: contents(f"{place}/result/{job}"))
    verdict.lost += [f"element {label} has run, and was not staged" for label, in instance.sql(UNSTAGED) or []]
    verdict.wrong += [f"{what} is left of staging: {row}" for what, row in instance.sql(LEFT) or []]
    verdict.wrong += [f"what was staged of job {job} is still there" for job in os.listdir(f"{place}/fast")]
    moved = instance.sql("""select t.job_id, k.client_key, string_agg(t.direction || ' ' || coalesce(r.state, 'none'), ', ' order by t.transfer)
        from rota.transfer t
        join rota.client_key k on k.job_id = t.job_id
        left join rota.transfer_run r on r.job_id = t.job_id and r.transfer = t.transfer
        group by 1, 2""")
    judge_moved(verdict, moved or [], contents(f"{place}/pool"), lambda key: contents(f"{place}/moved/{key}"))
    for user in os.listdir(f"{instance.home}/scratch"):
        verdict.wrong += [f"the data of job {job} was not dropped" for job in os.listdir(f"{instance.home}/scratch/{user}")]


def judge_moved(verdict, rows, pool, result):
    """rows: job, its client key, its transfers with their states. result(KEY): the files that were staged out."""
    verdict.staged += len(rows)
    for job, key, states in rows:
        if states != "in done, out done, drop dropped":
            verdict.wrong.append(f"transfers of job {job} are {states}")
        if result(key) != pool:
            verdict.lost.append(f"the data of job {job} came out, and is not what came in")


def judge_rows(verdict, rows, pool, result):
    """rows: staging number, state, message, successful calls of data_out, kind of the object. result(NUMBER): the files that were staged out."""
    verdict.staged = len(rows)
    for number, state, message, outs, what in rows:
        if state != "complete" or message:
            verdict.wrong.append(f"staging of {what} {number} is {state} {message}".strip())
        if what == "array" or (what == "cancelled" and outs == "0"):
            continue
        if result(number) != pool:
            verdict.lost.append(f"{what} {number} was staged out, and its data is not what was staged in")
        if outs != "1":
            (verdict.doubled if int(outs) > 1 else verdict.lost).append(f"{what} {number} was staged out {outs} times")
