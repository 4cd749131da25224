"""Renewals: how many credentials one rota-credd renews in a minute, while 10,000 queued steps need 16 of them.

A program of the site makes each new secret; here it stands for one that asks a KDC or a token service. All 400 credentials become due at
once, and the time is that until the database has the last of them.
"""
import os
import time

from lib import timing

PROGRAM = """#!/bin/sh
echo "secret of $USER"
echo '{"expires": 4000000000}' >&3
"""


def renew(instance, count):
    """Seconds until all credentials are renewed."""
    before = int(instance.sql("select sum(renewals) from rota.credential"))
    began = time.monotonic()
    instance.sql("update rota.credential set wanted_at = now(), renew_at = now(); notify rota_credential")
    while int(instance.sql("select sum(renewals) from rota.credential")) < before + count:
        time.sleep(0.05)
        if time.monotonic() - began > 300:
            raise RuntimeError("renewals do not end")
    return time.monotonic() - began


def run(bench):
    count, elements, times = (4, 10, 1) if bench.toy else (400, 10000, 3)
    with bench.instance(nodes=1, dry_run=True) as instance:
        instance.rota("down", "--quiet")
        os.mkdir(f"{instance.folder}/programs", 0o755)
        instance.file("programs/make", PROGRAM)
        instance.conf.update({"credentials.keys": f"{instance.folder}/cred", "credentials.command_folder": f"{instance.folder}/programs"})
        instance.up()
        instance.rota("admin", "setting", "change", "credential_max", f"--value={count}")
        for number in range(count):
            instance.rota("cred", "add", f"c{number}", "--kind=command", "--command=make")
        path = instance.file("job.sh", "#!/bin/sh\ntrue\n")
        for first in range(0, min(count, 16)):
            instance.rota("submit", "--hold", f"--array=1-{elements // min(count, 16)}", f"--cred=c{first}", path)
        rate = timing.median([60 * count / renew(instance, count) for _ in range(times)])
    bench.figure("renewals by one rota-credd", rate, "/min", at_least=10000)
