"""Ten million ended jobs: how fast analysts get answers, and whether the queue stays as fast beside them.

The program of tests/bench/history loads the jobs into the tables of an instance, and rollup.sql there adds up their usage. Each question is
asked six times, by rota_analyst or by a user about his own jobs: the first time fills caches, and the figure is the median of the others.
Two exports are measured: the events of the first million jobs as CSV, with the settings of docs/querying.md, and a month by `rota admin
export`; the limit of both is a bare COPY of the first range of the widest table. The queue's throughput is that of arrays of `hostname`, as
in array, under three conditions that take turns: on an empty instance, with the history, and with the history and three analysts who read
all steps in long transactions.
"""
import contextlib
import json
import os
import statistics
import subprocess
import threading
import time

from lib import load, process

SITE = {"wal_level": "minimal", "max_wal_senders": "0", "max_wal_size": "8GB", "shared_buffers": "2GB", "maintenance_work_mem": "512MB",
        "effective_cache_size": "12GB", "random_page_cost": "1.1"}
ANALYST = "begin isolation level repeatable read; select count(*), sum(cpu_held_s), max(wait_s) from acct.step; commit;"

# Planner settings for queries that read a whole view (docs/querying.md).
WHOLE = "-c enable_partitionwise_join=on -c enable_mergejoin=off -c enable_nestloop=off"


def milliseconds(instance, text, count=5, role="rota_analyst"):
    """The median duration of COUNT runs of the query; a run before them fills caches."""
    script = f"set role {role};\nset time zone 'UTC';\n\\timing on\n\\o /dev/null\n" + f"{text};\n" * (count + 1)
    done = subprocess.run(["psql", "-XqAt", "-h", f"{instance.home}/run", "-d", "rota", "-U", "postgres", "-v", "ON_ERROR_STOP=1"],
                          input=script, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{text}: {done.stderr.strip()}")
    times = [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("Time:")]
    return statistics.median(times[1:])


def questions(bench, instance):
    job = instance.sql("select max(job_id) / 2 from rota.job")
    last = instance.sql("select date_trunc('day', max(submit_at)) from rota.job where user_name = 'u001'")
    month = instance.sql("select (max(month) - interval '1 month')::date from rota.usage_month where steps_ended > 0")
    for name, most, text in (
            ("one job by its id", 100, f"select * from acct.job where job_id = {job}"),
            ("the steps of a job", 100, f"select * from acct.step where job_id = {job}"),
            ("a user's last day", 100, f"select * from acct.job where user_name = 'u001' and ended_at >= '{last}' order by job_id"),
            ("an account's month by day", 100, f"select day, sum(cpu_s) from acct.usage_day where account = 'physics' and day >= '{month}'::date"
                                               f" and day < ('{month}'::date + interval '1 month')::date group by day order by day"),
            ("the site's month by account", 100, f"select account, sum(cpu_s), sum(steps_ended) from acct.usage_month where month = '{month}' group by account"),
            ("three years by month and account", 1000, "select month, account, sum(cpu_s), sum(steps_ended) from acct.usage_month group by month, account")):
        bench.figure(name, milliseconds(instance, text), "ms", at_most=most)
    moments = [row[0] for row in instance.sql("select from_at + (until_at - from_at) * x / 6 from (select min(submit_at) as from_at, max(submit_at) as until_at from rota.job) t,"
                                              " generate_series(1, 5) x")]
    bench.figure("queue_at, the slowest of five moments", max(milliseconds(instance, f"select * from acct.queue_at('{at}')") for at in moments), "ms", at_most=250)


def own_questions(bench, instance):
    """Questions of a user about his own jobs: their cost grows with the number of his jobs, not of all jobs."""
    instance.sql("create role u001 in role rota_reader")
    rows = int(instance.sql("select count(*) from rota.job where user_name = 'u001'"))
    for name, text in (("a user's jobs by state", "select state, count(*) from acct.job group by state"),
                       ("a user's CPU time", "select sum(cpu_used_s) from acct.step")):
        bench.figure(f"{name}, all of {rows:,} jobs, a job", 1000 * milliseconds(instance, text, role="u001") / rows, "us", at_most=200)
    job, uid = instance.sql("select job_id, uid from rota.job where user_name = 'u001' order by job_id offset (select count(*) / 2 from rota.job where user_name = 'u001') limit 1")[0]
    name, last = instance.sql("select name, date_trunc('day', submit_at) from rota.job where user_name = 'u001' order by job_id desc limit 1")[0]
    for what, most, text in (("one job by its number", 100, f"select * from acct.job where job_id = {job}"),
                             ("jobs by name", 1000, f"select * from acct.job where name = '{name}' order by job_id"),
                             ("the last day", 100, f"select * from acct.job where submit_at >= '{last}' order by job_id")):
        bench.figure(f"a user's own, {what}", milliseconds(instance, text, role="u001"), "ms", at_most=most)
    for what, most, request in (("the last day", 500, f'"since": "{last}", "user": "u001"'), ("a job by its number", 100, f'"jobs": "{job}", "steps": true')):
        text = f"select api.job_acct({uid}, 'u001', '{{{request}}}')"
        bench.figure(f"rota acct of a user, {what}", milliseconds(instance, text, role="postgres"), "ms", at_most=most)


def copied(instance, text):
    """(rows a second, peak memory in MiB) of a psql that copies the rows of a query to /dev/null."""
    count = int(instance.sql(f"select count(*) from ({text}) t"))
    began = time.monotonic()
    client = subprocess.Popen(["psql", "-Xq", "-h", f"{instance.home}/run", "-d", "rota", "-U", "postgres", "-c", f"copy ({text}) to stdout (format csv)"],
                              stdout=subprocess.DEVNULL, env={**os.environ, "PGOPTIONS": WHOLE})
    most = 0
    while client.poll() is None:
        most = max(most, process.rss(client.pid))
        time.sleep(0.05)
    if client.returncode:
        raise RuntimeError(f"{text} cannot be copied")
    return count / (time.monotonic() - began), most


def export(bench, instance):
    limit, _ = copied(instance, "select * from rota.step_request_0")
    rate, _ = copied(instance, "select * from acct.event where job_id < 1000000")
    bench.figure("export of events", rate, "rows/s", at_least=200000, limit=limit, limit_name="/s, bare COPY of step_request")
    month = instance.sql("select to_char(max(month) - interval '1 month', 'YYYY-MM') from rota.usage_month where steps_ended > 0")
    folder = f"{instance.folder}/export"
    began = time.monotonic()
    instance.rota("admin", "export", month, f"--to={folder}")
    seconds = time.monotonic() - began
    with open(f"{folder}/{month}/manifest.json", encoding="utf-8") as file:
        rows = sum(one["rows"] for one in json.load(file)["files"])
    bench.figure("rota admin export of a month, compressed", rows / seconds, "rows/s", at_least=200000, limit=limit, limit_name="/s, bare COPY of step_request")


def throughput(instance, path, size):
    return size / load.array(instance, path, size)


class Analysts:
    """`with Analysts(instance):` three analysts read all steps again and again until the block ends."""

    def __init__(self, instance):
        self.instance, self.going = instance, True
        self.threads = [threading.Thread(target=self.ask) for _ in range(3)]

    def ask(self):
        while self.going:
            client = subprocess.Popen(["psql", "-XqAt", "-h", f"{self.instance.home}/run", "-d", "rota", "-U", "rota_analyst"], stdin=subprocess.PIPE,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
            client.communicate(f"set statement_timeout = '60s'; {ANALYST}")

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        time.sleep(5)

    def __exit__(self, *_):
        self.going = False
        self.instance.sql("select pg_terminate_backend(pid) from pg_stat_activity where query like '%max(wait_s)%' and pid <> pg_backend_pid()")
        for thread in self.threads:
            thread.join()


def rollup(bench, instance, path, size):
    """Per cent of one processor that nodemgrd's database session takes to add up the usage of a thousand ended steps a second."""
    backend = int(instance.sql("select pid from pg_stat_activity where usename = 'rota_nodemgr' limit 1"))
    began, before = time.monotonic(), process.cpu(backend)[0]
    time.sleep(5)
    idle = (process.cpu(backend)[0] - before) / (time.monotonic() - began)
    began, before = time.monotonic(), process.cpu(backend)[0]
    load.array(instance, path, size)
    while instance.sql("select count(*) from rota.usage_pending") != "0":
        time.sleep(0.2)
    spent = process.cpu(backend)[0] - before - idle * (time.monotonic() - began)
    bench.figure("rollup of 1,000 ended steps/s", 100 * 1000 * spent / size, "% of a processor", at_most=5)


def queue(bench, instance, size, count):
    """The three conditions take turns, because the machine's speed changes from hour to hour."""
    path = load.script(instance)
    empty, behind, beside = [], [], []
    with site(bench) as other:
        for _ in range(count):
            empty.append(throughput(other, path, size))
            behind.append(throughput(instance, path, size))
            with Analysts(instance):
                beside.append(throughput(instance, path, size))
    limit = {"limit": statistics.median(empty), "limit_name": "/s, empty database"}
    bench.figure("queue, with the history", statistics.median(behind), "steps/s", of_limit=0.95, **limit)
    bench.figure("queue, with three analysts", statistics.median(beside), "steps/s", of_limit=0.85, **limit)


@contextlib.contextmanager
def site(bench):
    """An instance with the settings of a site that has a long history."""
    with bench.instance() as instance:
        for name, value in SITE.items():
            instance.sql(f"alter system set {name} = '{value}'")
        instance.rota("down")
        instance.up()
        yield instance


def run(bench):
    jobs, size, count = (2000, 40, 1) if bench.toy else (10_000_000, 10_000, 3)
    with site(bench) as instance:
        began = time.monotonic()
        bench.program("history", f"host={instance.home}/run dbname=rota user=postgres", f"--jobs={jobs}", f"--days={60 if bench.toy else 1096}")
        bench.figure("load", jobs / (time.monotonic() - began), "jobs/s")
        instance.sql(f"update rota.usage_state set rebuild_at = null; delete from rota.usage_pending; "
                     f"truncate rota.usage_hour, rota.usage_day, rota.usage_month, rota.node_usage_hour, rota.node_usage_day, rota.node_usage_month; "
                     f"\\i {os.path.dirname(os.path.abspath(__file__))}/history/rollup.sql")
        questions(bench, instance)
        own_questions(bench, instance)
        export(bench, instance)
        queue(bench, instance, size, count)
        rollup(bench, instance, load.script(instance), size)
