"""After a fault: wait until nothing is left to do, then compare the ledger, the answers and the database.

A fault that may lose commits (asynchronous replication, recovery to a moment) is judged with `may_lose`: jobs whose numbers
clients were answered and that the database lacks, and attempts that only the ledger has, are listed by name as lost. All other checks
are those of faults that may lose nothing.
"""
import os
import re
import time

from lib.verdict import Ledger, Verdict, judge_attempts, judge_ledger, judge_outcomes, judge_submissions

AUDIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fault/audit.sql")
DRAIN = 180
LEFT = """select count(*) from (select 1 from rota.job where ended_at is null union all select 1 from rota.node_order
    union all select 1 from rota.allocation where gone_at is null and attempt > 0) x"""
UNKNOWN = "the database knows no such attempt"


class Answers:
    """The two members of the fault campaign's load that judge_submissions reads. jobs: {key: (kind, job)}; unanswered: {key: kind}."""

    def __init__(self, jobs, unanswered):
        self.jobs, self.unanswered = jobs, unanswered


class Judge:
    def __init__(self, site, stream):
        self.site, self.stream = site, stream
        self.gone = set()  # jobs that an earlier fault was allowed to lose
        self.excused = set()  # findings that an earlier fault was allowed to cause

    def drain(self):
        """Wait until nothing is left, for DRAIN seconds at most. Returns what is left then, as a text; empty: nothing."""
        until = time.monotonic() + DRAIN
        while time.monotonic() < until:
            if self.site.sql(LEFT) == [["0"]]:
                return ""
            time.sleep(0.5)
        steps = self.site.sql("""select internal.step_label(s.job_id, s.step_id), s.state, j.name
            from rota.step s join rota.job j using (job_id) where s.ended_at is null limit 5""")
        return "; ".join(" ".join(row) for row in steps) or "no step, but jobs, launch requests or allocations"

    def judge(self, may_lose):
        """(verdict, text of drain(), names of what the fault lost and was allowed to lose)."""
        wedged = self.drain()
        verdict, (answered, unanswered) = Verdict(), self.stream.answers()
        there = {int(row[0]) for row in self.site.sql("select job_id from rota.job")}
        missing = {job for _, job in answered.values() if job not in there and job not in self.gone}
        named = [f"job {job} ({kind}, {key})" for key, (kind, job) in sorted(answered.items(), key=lambda item: item[1][1]) if job in missing]
        if may_lose:
            self.gone |= missing
        kept = {key: row for key, row in answered.items() if row[1] not in self.gone}
        ledger = Ledger(self.stream.ledger)
        for found in (ledger.begins, ledger.ends):
            for key in [key for key in found if self.is_gone(key[0])]:
                del found[key]
        judge_ledger(verdict, ledger)
        judge_submissions(verdict, self.site, Answers(kept, unanswered))
        judge_attempts(verdict, self.site, ledger)
        judge_outcomes(verdict, self.site)
        self.audit(verdict)
        lost = named if may_lose else []
        for findings in (verdict.lost, verdict.wrong):
            excused = [text for text in findings if may_lose and UNKNOWN in text]
            lost += [text for text in excused if text not in self.excused]
            self.excused |= set(excused)
            findings[:] = [text for text in findings if text not in self.excused]
        return verdict, wedged, lost

    def is_gone(self, label):
        return int(re.match(r"\d+", label)[0]) in self.gone

    def audit(self, verdict):
        self.site.sql("analyze")  # the audit needs good plans; on a promoted server autovacuum lacks the counters of changes, so statistics may be old
        with open(AUDIT, encoding="utf-8") as file:
            verdict.wrong += [" ".join(row) for row in self.site.sql(file.read())]
