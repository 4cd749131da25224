"""How long recoveries took, from the times of commits (track_commit_timestamp). Reported, never judged.

Three of them: from the loss of the leader to the start of a job that waited for nothing else; from PostgreSQL's return, and from
the start of a new procmgrd, to its first report of an end.
"""
import re
import threading
import time
from datetime import datetime, timezone

READY = re.compile(r"^(\S+ \S+) UTC .*database system is ready to accept connections")


class Recovery:
    def __init__(self, instance):
        self.instance = instance
        self.leaders, self.procmgrds = [], []

    def leader(self, key, at, verb):
        self.leaders.append((key, at, verb))

    def procmgrd(self, node, pid, at):
        """Watch for the next procmgrd of a node, without delaying the campaign."""
        threading.Thread(target=self.watch, args=(node, pid, at), daemon=True).start()

    def watch(self, node, pid, at):
        until = time.monotonic() + 10
        while time.monotonic() < until:
            pids = [p for p in self.instance.named("procmgrd", "--node", node) if p != pid]
            if pids:
                self.procmgrds.append((node, at, time.time()))
                return
            time.sleep(0.01)

    def returns(self):
        """The times when PostgreSQL was ready again, without its first start."""
        moments = []
        with open(f"{self.instance.home}/log/postgres.log", encoding="utf-8", errors="replace") as log:
            for line in log:
                found = READY.match(line)
                if found:
                    moments.append(datetime.fromisoformat(found[1]).replace(tzinfo=timezone.utc).timestamp())
        return moments[2:]

    def report(self, node, since, until):
        """Seconds from `since`, or from a later end that it reports, to the first report; None if there was none."""
        where = f"join rota.node n on n.node_id = e.node_id and n.name = '{node}'" if node else ""
        rows = self.instance.sql(f"""
            select extract(epoch from pg_xact_commit_timestamp(e.xmin) - greatest(to_timestamp({since}), e.ended_at)) from rota.task_end e {where}
            where pg_xact_commit_timestamp(e.xmin) between to_timestamp({since}) and to_timestamp({until})
            order by pg_xact_commit_timestamp(e.xmin), e.ended_at limit 1""")
        return float(rows[0][0]) if rows and rows[0][0] else None

    def start(self, key, at):
        rows = self.instance.sql(f"""
            select min(extract(epoch from pg_xact_commit_timestamp(e.xid::xid))) - {at}
            from rota.client_key k join rota.event e on e.job_id = k.job_id and e.event = 'start' where k.client_key = '{key}'""")
        return float(rows[0][0]) if rows and rows[0][0] else None

    def lines(self):
        """The distributions of recovery times, as lines of text."""
        moments = self.returns()
        samples = {
            "leader killed -> next start": [self.start(key, at) for key, at, verb in self.leaders if verb == "kill"],
            "leader frozen -> next start": [self.start(key, at) for key, at, verb in self.leaders if verb == "freeze"],
            "PostgreSQL back -> first report": [self.report(None, at, at + 30) for at in moments],
            "procmgrd back -> first report": [self.report(node, at, at + 10) for node, _, at in self.procmgrds],
        }
        return [f"{what}: {distribution([s for s in values if s is not None])}" for what, values in samples.items()]


def distribution(values):
    if not values:
        return "not seen"
    values = sorted(values)

    def quantile(share):
        return values[min(len(values) - 1, int(share * len(values)))]

    return f"min {values[0]:.2f} s, median {quantile(0.5):.2f} s, p90 {quantile(0.9):.2f} s, max {values[-1]:.2f} s, n {len(values)}"
