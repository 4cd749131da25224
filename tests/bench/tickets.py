"""Tickets: a queue that outlives its Kerberos tickets many times (--minutes): no job starts with a dead one.

Six arrays, each with a ticket of two minutes from one KDC, wait for a few CPUs, which need --minutes to run them. Four of the tickets can be
renewed for an hour; the other two only for half of --minutes, and are added anew when the other arrays have ended. Each element asks the KDC
for a service ticket, and ends with exit code 9 if it gets none. The KDC's log has how often rota-credd asked for a renewal; how often it had
to ask follows from the lives of the tickets. A run of all benchmarks leaves this one out, unless it is at toy size.
"""
import math
import os
import re
import signal
import subprocess
import time
import typing

TESTS = os.path.abspath(f"{os.path.dirname(__file__)}/../system")
ISSUED = re.compile(r" AS_REQ .* authtime (\d+),")
RENEWAL = re.compile(r" TGS_REQ .* authtime (\d+),.* for krbtgt/")
DEAD = 9  # exit code of an element whose ticket gets it no service ticket
SLOTS, TASK_S = 12, 2  # how many elements run at a time, and for how long

# kdc.bash calls `eventually`, which tests/system/helper.bash defines for bats.
KDC = """eventually() { until "$@"; do sleep 0.1; done; }
. {0}/kdc.bash
kdc_up && echo "$KDC"
"""

# Until when each credential was needed.
ENDS = """select x.name, extract(epoch from max(t.ended_at)) from rota.step_credential x
join rota.step s on s.job_id = x.job_id and s.request_id = x.step_id join rota.attempt t on t.job_id = s.job_id and t.step_id = s.step_id group by 1"""
# Mails about what is held, and how many of them no mail preceded while the ticket was alive.
MAILS = """select count(*), count(*) filter (where not exists (select from rota.credential_mail w where w.credential_id = m.credential_id
and w.uploaded = m.uploaded and w.recipient = m.recipient and w.event = 'EXPIRES' and w.sent_at < w.lives_until))
from rota.credential_mail m where m.event = 'HELD' and m.sent_at is not null"""

JOB = f"""#!/bin/sh
klist -s && kvno -q host/localhost >/dev/null 2>&1 || exit {DEAD}
sleep {TASK_S}
"""


class Ticket(typing.NamedTuple):
    name: str  # of the credential
    life_s: int
    renewable_s: int  # from `began` on
    began: int  # seconds since 1970


class Kdc:
    def __init__(self):
        done = subprocess.run(["bash", "-c", KDC.replace("{0}", TESTS)], stdout=subprocess.PIPE, text=True, check=True)
        self.folder = done.stdout.split()[-1]
        self.env = {"KDC": self.folder, "KRB5_CONFIG": f"{self.folder}/krb5.conf"}
        os.environ.update(self.env)
        self.tickets = []

    def ticket(self, name, life_s, renewable_s):
        """Have the KDC issue a ticket for the credential NAME; returns the path of its cache."""
        path = f"{self.folder}/cache"
        subprocess.run(["kinit", "-k", "-t", f"{self.folder}/keytab", "-c", f"FILE:{path}", "-l", f"{life_s}s", "-r", f"{renewable_s}s", "alice"], check=True)
        self.tickets.append(Ticket(name, life_s, renewable_s, self.log(ISSUED)[-1]))
        return path

    def log(self, pattern):
        """For each line of the KDC's log that matches PATTERN: when its ticket began, in seconds since 1970."""
        with open(f"{self.folder}/kdc.log", encoding="utf-8") as file:
            return [int(match[1]) for match in map(pattern.search, file) if match]

    def calls(self, ends):
        """(how often the KDC was asked to renew tickets, how often it had to be). ends: {name: until when steps needed that credential}."""
        asked, least = self.log(RENEWAL), 0
        for ticket in self.tickets:
            until = min(ends[ticket.name], ticket.began + ticket.renewable_s)
            least += max(math.ceil((until - ticket.began) / ticket.life_s) - 1, 0)
        return len(asked), least

    def stop(self):
        with open(f"{self.folder}/pid", encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGKILL)
        subprocess.run(["rm", "-rf", self.folder], check=True)


def ended(instance):
    return int(instance.sql("select coalesce(sum(completed + failed), 0) from rota.step_array"))


def wait_until(bench, what, seconds, is_true):
    until = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > until:
            raise RuntimeError(f"{what} takes longer than {seconds:.0f} s")
        time.sleep(0.5)
    bench.say(what)


def queue(bench, instance, kdc, life_s, period_s):
    """Queue the arrays and wait for their ends; returns how many elements were held when all others had ended."""
    count = SLOTS * period_s // TASK_S // 6
    names = ("ends0", "lives0", "lives1", "ends1", "lives2", "lives3")
    path = instance.file("job.sh", JOB)
    for name in names:
        instance.rota("cred", "add", name, kdc.ticket(name, life_s, period_s // 2 if name.startswith("ends") else 3600), "--kind=krb5")
        instance.rota("submit", f"--cred={name}", "--output=/dev/null", f"--array=1-{count}", path)
    held = "select count(*) from rota.step where held = 'system' and held_reason like 'credential ends%' and ended_at is null"
    wait_until(bench, "the others are through", 5 * period_s, lambda: ended(instance) >= 4 * count and int(instance.sql(held)) > 0
               and int(instance.sql("select count(*) from rota.step where state = 'running' and attempt > 0")) == 0)
    waiting = 6 * count - ended(instance)
    for name in names:
        if name.startswith("ends"):
            instance.rota("cred", "add", name, kdc.ticket(name, 600, 3600), "--kind=krb5")
    wait_until(bench, "all have ended", 5 * period_s, lambda: ended(instance) == 6 * count)
    return waiting


def run(bench):
    life_s, period_s = (16, 30) if bench.toy else (120, int(60 * bench.minutes))
    kdc = Kdc()
    try:
        with bench.instance(nodes=2, slots=SLOTS // 2) as instance:
            instance.rota("down", "--quiet")
            mails = f"{instance.folder}/mails"
            os.mkdir(mails)
            os.chmod(mails, 0o777)
            program = instance.file("sendmail", f"#!/bin/bash\ncat >{mails}/$$.$RANDOM\n")
            instance.conf.update({"credentials.keys": f"{instance.folder}/cred", "credentials.period": 1, "mail.program": program})
            instance.up()
            waiting = queue(bench, instance, kdc, life_s, period_s)
            attempts = int(instance.sql("select count(*) from rota.attempt where started_at is not null"))
            dead = int(instance.sql(f"select count(*) from rota.attempt where exit_code = {DEAD}"))
            asked, least = kdc.calls({name: float(at) for name, at in instance.sql(ENDS)})
            mailed, untold = map(int, instance.sql(MAILS)[0])
    finally:
        kdc.stop()
    bench.figure("elements that began", attempts, "")
    bench.figure("of these, with a dead ticket", dead, "", at_most=0)
    bench.figure("elements held because of a ticket that had ended", waiting, "", at_least=1)
    bench.figure("mails about what was held", mailed, "", at_least=1)
    bench.figure("of these, without a mail before the ticket ended", untold, "", at_most=0)
    bench.figure("requests to renew that the KDC had", asked, "")
    bench.figure("requests for each that was unavoidable", asked / max(least, 1), "", at_most=1.2)
