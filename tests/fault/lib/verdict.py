"""The audit: the ledger, which is outside Rota, against the database; the database against itself; leftovers.

Findings are of three kinds. lost: a job, an end that was reported and is not in the ledger, or data that was to be staged. doubled: a task
that ran twice or beside its successor, a job that exists twice, or staging of a job beside itself. wrong: any other violation.
"""
import os
import subprocess

from lib.changes import judge_changes
from lib.load import may_end
from lib.staging import judge_staging
from lib.substeps import judge_substeps

AUDIT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "audit.sql")


class Verdict:
    def __init__(self):
        self.lost, self.doubled, self.wrong = [], [], []
        self.jobs = self.staged = self.changes = self.attempts = self.begun = self.substeps = 0
        self.causes = ""

    def lines(self):
        for what, findings in (("lost", self.lost), ("doubled", self.doubled), ("wrong", self.wrong)):
            yield from (f"{what}: {finding}" for finding in findings)

    def good(self):
        return not (self.lost or self.doubled or self.wrong)


class Ledger:
    """(label, attempt, task) -> positions of its lines; of sub-steps, (label, attempt, sub-step, task) -> their lines. Positions are the
    order of events."""

    def __init__(self, path):
        self.begins, self.ends, self.substeps, self.besides, self.torn = {}, {}, {}, [], []
        if not os.path.exists(path):
            return
        with open(path, encoding="utf-8") as file:
            for position, line in enumerate(file):
                words = line.split()
                if len(words) != 8 or words[0] not in ("begin", "end", "beside", "subbegin", "subend"):
                    self.torn.append(line.strip())
                    continue
                if words[0].startswith("sub"):
                    substep, task, code = (int(word) for word in words[3].split("."))
                    lines = self.substeps.setdefault((words[1], int(words[2]), substep, task), [])
                    lines.append((position, words[0][3:], (words[5], words[6]), code))
                    continue
                key = (words[1], int(words[2]), int(words[3]))
                if words[0] == "beside":
                    self.besides.append((key, words[5]))
                else:
                    (self.begins if words[0] == "begin" else self.ends).setdefault(key, []).append((position, words[5], words[6]))


def judge(instance, load, ledger, harmless):
    """`harmless`: none of the injected faults should have disturbed a task."""
    verdict = Verdict()
    judge_causes(verdict, instance, harmless)
    judge_ledger(verdict, ledger)
    judge_submissions(verdict, instance, load)
    judge_attempts(verdict, instance, ledger)
    judge_substeps(verdict, ledger, instance)
    judge_outcomes(verdict, instance)
    judge_database(verdict, instance)
    judge_hooks(verdict, instance)
    judge_staging(verdict, instance)
    if instance.changes:
        judge_changes(verdict, instance)
    return verdict


def judge_hooks(verdict, instance):
    """Every attempt had its controller prolog and epilog, none of them twice at the same time."""
    beside = f"{instance.folder}/hooks/beside"
    if os.path.exists(beside):
        with open(beside, encoding="utf-8") as file:
            verdict.doubled += [f"ran beside itself: {line.strip()}" for line in file]
    missing = instance.sql("""select internal.step_label(t.job_id, t.step_id) || ' attempt ' || t.attempt || ': ' || h.hook
        from rota.attempt t
        cross join lateral (values ('controller_prolog', t.started_at is not null and """ + str(not instance.ahead) + """), ('controller_epilog', true)) h (hook, wanted)
        where h.wanted and not exists (select from rota.controller_hook c where c.job_id = t.job_id and c.step_id = t.step_id and c.attempt = t.attempt
            and c.hook = h.hook and c.exit_code = 0)""")
    verdict.wrong += [f"has not been run: {row[0]}" for row in missing or []]


def name(key):
    return f"{key[0]} attempt {key[1]} task {key[2]}"


def judge_ledger(verdict, ledger):
    """Check the ledger by itself: no task runs twice, and none beside its successor."""
    verdict.begun, verdict.substeps = len(ledger.begins), len(ledger.substeps)
    verdict.wrong += [f"a line of the ledger that no task writes: {line}" for line in ledger.torn]
    for key, lines in ledger.begins.items():
        if len(lines) > 1:
            verdict.doubled.append(f"{name(key)} began {len(lines)} times")
    for key, lines in ledger.ends.items():
        if len(lines) > 1:
            verdict.doubled.append(f"{name(key)} ended {len(lines)} times")
        if [line[1:] for line in lines] != [line[1:] for line in ledger.begins.get(key, [])]:
            verdict.wrong.append(f"{name(key)} ended as another process than the one that began")
    verdict.doubled += [f"{name(key)} began beside process {pid} of an earlier attempt" for key, pid in ledger.besides]
    first = {}
    for (label, attempt, *_), lines in list(ledger.begins.items()) + list(ledger.substeps.items()):
        first[label, attempt] = min([first.get((label, attempt), lines[0][0])] + [line[0] for line in lines])
    for (label, attempt, *task), lines in list(ledger.begins.items()) + list(ledger.ends.items()) + list(ledger.substeps.items()):
        for later in range(attempt + 1, attempt + 100):
            if (label, later) not in first:
                continue
            if max(line[0] for line in lines) > first[label, later]:
                verdict.doubled.append(f"{name((label, attempt, '.'.join(map(str, task))))} went on beside attempt {later}")
            break


def judge_submissions(verdict, instance, load):
    """Every submitted job exists once, under the id that was answered."""
    there = {}
    for key, job in instance.sql("select k.client_key, j.job_id from rota.job j left join rota.client_key k on k.job_id = j.job_id"
                                  " where j.job_id not in (select g.job_id from rota.growth g)"):
        if not key:
            verdict.doubled.append(f"job {job} was never asked for")
        there.setdefault(key, []).append(int(job))
    verdict.jobs = sum(len(jobs) for jobs in there.values())
    for key, (_, job) in load.jobs.items():
        if there.get(key) != [job]:
            verdict.lost.append(f"{key} was answered with job {job}, and is {there.get(key)}")
    verdict.lost += [f"{key} ({kind}) was never answered" for key, kind in load.unanswered.items()]


def judge_attempts(verdict, instance, ledger):
    """The attempts of the database against those of the ledger."""
    rows = instance.sql("""
        select internal.step_label(t.job_id, t.step_id), t.attempt, coalesce(t.state, ''), e.task, case when e.signal is null then coalesce(e.exit_code, -1) else -1 end,
			coalesce(e.cause, '')
        from rota.attempt t left join rota.task_end e on e.job_id = t.job_id and e.step_id = t.step_id and e.attempt = t.attempt
        where t.job_id not in (select g.job_id from rota.growth g) and (t.job_id, t.step_id) not in (
            select x.job_id, x.step_id from rota.transfer x where x.step_id is not null)""")
    known = set()
    for label, attempt, state, task, code, cause in rows:
        known.add((label, int(attempt)))
        if not task:
            continue
        key = (label, int(attempt), int(task))
        if key not in ledger.begins and code not in ("-1", "85"):  # 85: rota-checkpoint did not start its program
            verdict.lost.append(f"{name(key)} is said to have ended with {code} ({state}, {cause}), and never began")
        elif key not in ledger.ends and code != "-1":
            verdict.lost.append(f"{name(key)} is said to have ended with {code} ({state}, {cause}), and did not get so far")
    verdict.attempts = len(known)
    for key in ledger.begins:
        if key[:2] not in known:
            verdict.wrong.append(f"{name(key)} ran, and the database knows no such attempt")


def judge_causes(verdict, instance, harmless):
    """Check the causes of ends: attempts ended by their tasks or their owner, and by nothing else if all faults were harmless."""
    rows = instance.sql("select cause, count(*) from rota.attempt group by cause order by 2 desc, 1")
    modes = instance.sql("select 'preempted by ' || mode, sum(times) from rota.preempted group by mode order by 1")
    verdict.causes = ", ".join(f"{cause} {count}" for cause, count in rows + modes)
    for cause, count in rows:
        if harmless and cause not in ("exit", "cancelled", "given_back", "grown_ended", "preempted"):
            verdict.wrong.append(f"{count} attempts were ended by {cause}, though no fault was to end any")


def judge_outcomes(verdict, instance):
    """Every step ended as its script allows."""
    rows = instance.sql("""
        select j.name, r.name, internal.step_label(s.job_id, s.step_id), s.state, coalesce(s.cause, ''), coalesce(s.message, '')
        from rota.step s
        join rota.job j on j.job_id = s.job_id
        join rota.step_request r on r.job_id = s.job_id and r.step_id = s.request_id
        where s.ended_at is not null""")
    for kind, step, label, state, cause, message in rows:
        if state not in may_end(kind, step):
            verdict.wrong.append(f"{label} ({kind}) ended {state}: {cause} {message}".strip())


def judge_database(verdict, instance):
    done = subprocess.run(["psql", "-XqAt", "-F", ": ", "-h", f"{instance.home}/run", "-d", "rota", "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-f", AUDIT],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        verdict.wrong.append(f"the audit does not run: {done.stderr.strip()}")
    for line in done.stdout.splitlines():
        (verdict.lost if line.startswith("not over: ") else verdict.wrong).append(line)
