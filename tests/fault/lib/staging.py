"""Jobs of the campaign whose data is staged: a folder of each job is filled from a pool, and what the job made of it is copied out
(burst_buffer.lua, stage.sh; or by lines stage-in and stage-out). The job copies what it finds, so the result is the pool, byte for byte.
"""
import os
import random
import shutil

HERE = os.path.dirname(os.path.abspath(__file__))


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
    """Names and bytes of the files of a folder, None if it is not there."""
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
    rows = instance.sql("""select g.job_id, g.state, coalesce(g.message, ''), (select count(*) from rota.staging_call c
            where c.job_id = g.job_id and c.function = 'data_out' and c.rc = 0) from rota.staging g""")
    judge_rows(verdict, rows or [], contents(f"{place}/pool"), lambda job: contents(f"{place}/result/{job}"))
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
    """rows: job, its key, its transfers with their states. result(KEY): what came out of it."""
    verdict.staged += len(rows)
    for job, key, states in rows:
        if states != "in done, out done, drop dropped":
            verdict.wrong.append(f"transfers of job {job} are {states}")
        if result(key) != pool:
            verdict.lost.append(f"the data of job {job} came out, and is not what came in")


def judge_rows(verdict, rows, pool, result):
    """rows: job, state of its staging, message, successful calls of data_out. result(JOB): what came out of it."""
    verdict.staged = len(rows)
    for job, state, message, outs in rows:
        if state != "complete" or message:
            verdict.wrong.append(f"staging of job {job} is {state} {message}".strip())
        if result(job) != pool:
            verdict.lost.append(f"job {job} was staged out, and its data is not what was staged in")
        if outs != "1":
            (verdict.doubled if int(outs) > 1 else verdict.lost).append(f"job {job} was staged out {outs} times")
