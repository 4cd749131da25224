"""The faults. Each is a function of the site and the stream: it does the damage, waits until tasks start again (or raises), and returns
a function that repairs the damage, or None. It adds the machines that it takes away to site.away; after the repair, tests/ha/run brings
them back.
"""
import math
import os
import signal
import time

from cluster.machine import HEADS
from cluster.site import PATRONICTL
from cluster.stream import STEADY

BACKUP, RECOVERY, UPGRADE = "A backup, and the archive", "Recovery to a moment", "Upgrades of PostgreSQL"  # sections of docs/high-availability.md
HELD = 500  # elements that nodes hold of an array before the fault, of 720 that end in 30 s
ABSENCE = 40  # seconds for which etcd is stopped: longer than Patroni's ttl (20 s)


class Fault:
    """may_lose: this fault may lose commits that clients were answered. limit: bar for the seconds without starts; None: the seconds
    without commits in the same run, plus 1."""

    def __init__(self, name, action, what, limit=None, may_lose=False):
        self.name, self.action, self.what, self.limit, self.may_lose = name, action, what, limit, may_lose


def another_primary(site, old, seconds=90):
    return site.await_that(f"another primary than {old}", lambda: next((n for n, (role, _) in site.members().items() if role == "Leader" and n != old), None), seconds)


def lose(site, name):
    site.away.add(name)
    return site.machines[name]


def switchover(site, stream):
    old = site.primary()
    site.machines[old].run(f"{PATRONICTL} switchover --force")
    another_primary(site, old)
    stream.goes_on()


def postmaster_killed(site, stream):
    machine = site.machines[site.primary()]
    os.kill(machine.postmaster(), signal.SIGKILL)
    stream.goes_on()


def agent_killed(site, stream):
    """PostgreSQL and Patroni die, and systemd may not start them again; the machine runs on."""
    name = site.primary()
    machine = site.machines[name]
    machine.run("systemctl mask --runtime patroni")
    for pid in [machine.postmaster(), *machine.named(r"/usr/bin/patroni /etc")]:
        os.kill(pid, signal.SIGKILL)
    another_primary(site, name)
    stream.goes_on()
    return lambda: machine.run("systemctl unmask --runtime patroni && systemctl restart patroni")


def host_off(site, stream):
    name = site.primary()
    lose(site, name).power_off()
    another_primary(site, name)
    stream.goes_on()


def array_goes_on(site, stream):
    """Nodes hold 30 s of an array (node.ahead) when the machine of the primary is switched off."""
    site.each(HEADS, lambda name: site.machines[name].run("echo 'ahead = 30' >>/etc/rota/rota.conf && systemctl restart rota-jobmgrd"))
    stream.follow_array()
    site.await_that(f"{HELD} elements on nodes", lambda: int(site.sql("""select count(*) from rota.allocation
        where ended_at is null and started_at is null and attempt > 0""")[0][0]) >= HELD)
    time.sleep(STEADY)  # nodes hold the rest meanwhile
    stream.mark()
    host_off(site, stream)

    def repair():
        site.bring_back()
        site.each(HEADS, lambda name: site.machines[name].run("sed -i '/^ahead = /d' /etc/rota/rota.conf && systemctl restart rota-jobmgrd"))
    return repair


def leader_too(site, stream):
    """The machine of the primary has the leading jobmgrd as well."""
    name = site.primary()
    site.each([m for m in HEADS if m != name], lambda other: site.machines[other].run("systemctl stop rota-jobmgrd"))
    site.await_that(f"jobmgrd of {name} to lead", lambda: site.leader() == name)
    site.each([m for m in HEADS if m != name], lambda other: site.machines[other].run("systemctl start rota-jobmgrd"))
    stream.goes_on()
    stream.mark()
    host_off(site, stream)


def host_frozen(site, stream):
    """Every process of the machine stops; its kernel keeps the connections. No process is continued: the repair switches the machine off."""
    name = site.primary()
    machine = lose(site, name)
    machine.freeze()
    another_primary(site, name)
    stream.goes_on()
    return machine.power_off


def old_primary_wakes(site, stream):
    """The primary is frozen and cut off until another primary works; then the old one is connected and continued."""
    name = site.primary()
    machine = lose(site, name)
    machine.freeze()
    machine.cable(False)
    new = another_primary(site, name)
    stream.goes_on()
    time.sleep(5)
    machine.cable(True)
    machine.thaw()
    site.away.discard(name)
    time.sleep(15)
    if site.primary() != new:
        raise RuntimeError(f"{name} woke and took the lead back from {new}")
    stream.goes_on()


def network_cut(site, stream):
    name = site.primary()
    machine = lose(site, name)
    machine.cable(False)
    another_primary(site, name)
    stream.goes_on()
    time.sleep(5)
    machine.cable(True)


def etcd_away(site, stream):
    site.each(HEADS, lambda name: site.machines[name].run("systemctl stop etcd"))
    time.sleep(ABSENCE)
    stream.goes_on()
    return lambda: site.each(HEADS, lambda name: site.machines[name].run("systemctl start etcd"))


def standby_lost(site, stream):
    name = site.synchronous()
    lose(site, name).power_off()
    time.sleep(2)
    stream.goes_on()


def asynchronous(site, stream):
    """Replication is asynchronous, and the standbys' receivers are stopped. So only the primary has the last commits when it is lost."""
    name = site.primary()
    machine = site.machines[name]
    machine.run(f"{PATRONICTL} edit-config --force -q -s synchronous_mode=false -s synchronous_mode_strict=false -s maximum_lag_on_failover=67108864")
    site.await_that("no synchronous standby", lambda: not site.synchronous())
    site.await_that("no name of one", lambda: site.sql("show synchronous_standby_names") == [[""]])
    receivers = [pid for other in HEADS if other != name for pid in site.machines[other].named("postgres: rota: walreceiver")]
    stream.mark()
    for pid in receivers:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(3)
    lose(site, name).power_off()
    for pid in receivers:  # so they never read what their kernels have already received
        os.kill(pid, signal.SIGKILL)
    another_primary(site, name)
    stream.goes_on()
    return lambda: site.present()[0].run(f"{PATRONICTL} edit-config --force -q -s synchronous_mode=true -s synchronous_mode_strict=true")


def recovery(site, stream):
    """Note a moment, let work go on for 5 s, and recover the database to that moment by the commands of the page."""
    site.follow(BACKUP)
    time.sleep(3)
    site.machines["db1"].run("date +'%F %T.%3N%z' >/srv/archive/moment")
    time.sleep(5)
    stream.mark()
    site.follow(RECOVERY)
    stream.goes_on(180)


def upgrade(site, stream):
    """Each PostgreSQL is restarted, the standbys first."""
    site.follow(UPGRADE)
    stream.goes_on()


FAULTS = (
    Fault("switchover", switchover, "patronictl switchover", limit=5),
    Fault("postmaster-killed", postmaster_killed, "the primary's postmaster is killed", limit=5),
    Fault("agent-killed", agent_killed, "PostgreSQL and Patroni are killed, and stay down"),
    Fault("host-off", host_off, "the primary's machine is switched off"),
    Fault("array", array_goes_on, "the same, while nodes hold 30 s of an array (node.ahead)"),
    Fault("leader-too", leader_too, "the primary's machine is switched off, and the leading jobmgrd was on it"),
    Fault("host-frozen", host_frozen, "every process of the primary's machine is stopped (SIGSTOP)"),
    Fault("old-primary-wakes", old_primary_wakes, "frozen and cut off, the old primary wakes when another one works"),
    Fault("network-cut", network_cut, "the primary's machine is cut off from all others"),
    Fault("etcd-away", etcd_away, f"etcd is stopped on all machines for {ABSENCE} s"),
    Fault("standby-lost", standby_lost, "the machine of the synchronous standby is switched off"),
    Fault("upgrade", upgrade, "each PostgreSQL is restarted, as for a minor version", limit=5),
    Fault("asynchronous", asynchronous, "replicated asynchronously, the primary's machine is switched off", may_lose=True),
    Fault("recovery", recovery, "the database is recovered to a moment 5 s ago", limit=math.inf, may_lose=True),
)
