"""The faults: what each one does to the instance, and how it is undone.

A fault is a function of the campaign's `Faults`. It returns a description, or None if it had no target. The repair after every
fault restarts what was killed; freezes, cuts, full disks and stepped clocks last for a random time and are undone here.
"""
import os
import random
import signal
import threading
import time

from lib.images import NODE as MACHINE_NODE
from lib.instance import DISK_NODE, FAR_NODE, LEASE, MARGIN, NODES, alive, look, send, thaw

# Lengths of outages in seconds; the last ones are around a lease: within it, within the margin after it, and longer than both.
FREEZES = (0.2, 0.2, 0.5, 0.5, 0.5, 1, 1, 2, LEASE - 1, LEASE + 2, LEASE + MARGIN + 2)
# Faults that end no running task, at any time.
HARMLESS = {"kill-procmgrd", "kill-launcher", "kill-leader", "kill-follower", "kill-nodemgrd", "kill-runnerd", "kill-credd", "kill-munged", "kill-backend", "kill-client",
            "kill-stepmgr", "kill-agent", "freeze-agent", "freeze-leader", "freeze-follower", "freeze-nodemgrd", "freeze-runnerd", "freeze-credd", "freeze-munged", "freeze-stepmgr",
            "terminate-backend", "step-clock"}
ABSENCES = (0, 0, 0.5, 0.5, 1, 2, LEASE + 2)


class Faults:
    def __init__(self, instance, load, recovery, seed, wanted):
        self.instance, self.load, self.recovery = instance, load, recovery
        self.random = random.Random(f"faults {seed}")
        self.count, self.probes, self.bag = {}, 0, []
        self.kinds = {name: method for name, method in self.table() if not wanted or any(word in name for word in wanted)}

    def table(self):
        inst = self.instance
        rows = [(f"{verb}-{role}", lambda verb=verb, role=role: self.hit(verb, role))
                for verb in ("kill", "freeze") for role in ("procmgrd", "launcher", "keeper", "stepmgr", "agent", "leader", "follower", "nodemgrd", "runnerd", "credd", "munged", "backend")]
        rows += [("terminate-backend", self.terminate), ("stop-postgres", self.stop_postgres), ("kill-postmaster", self.kill_postmaster),
                 ("freeze-postmaster", lambda: self.hit("freeze", "postmaster")), ("kill-client", self.kill_clients), ("evacuate", self.evacuate)]
        rows += [("cut-network", self.cut)] if inst.own_network else []
        rows += [("step-clock", self.step_clock)] if inst.own_clock else []
        rows += [("expire-certificate", self.expire_certificate)] if inst.own_clock else []
        rows += [("cut-power", self.cut_power), ("cut-power-in-change", self.cut_power_in_change)] if inst.machine else []
        rows += [("fill-disk", self.fill_disk)] if inst.own_disk else []
        return rows

    def next(self):
        """Each kind of fault comes once before any comes again, in random order."""
        if not self.bag:
            self.bag = sorted(self.kinds)
            self.random.shuffle(self.bag)
        name = self.bag.pop()
        what = self.kinds[name]()
        if what:
            self.count[name] = self.count.get(name, 0) + 1
        return name, what

    def harmless(self):
        """Whether none of the injected faults should have disturbed a task."""
        return set(self.count) <= HARMLESS

    # targets

    def victim(self, role):
        inst, node = self.instance, f"n{self.random.randint(1, NODES)}"
        if role == "procmgrd":
            return next(iter(inst.named("procmgrd", "--node", node)), 0), node
        if role == "launcher":
            return inst.launcher(node), node
        if role == "keeper":
            return self.drawn(inst.keepers()), ""
        if role == "stepmgr":
            return self.drawn(inst.stepmgrs()), ""
        if role == "agent":
            return self.drawn(inst.agents()), ""
        if role in ("nodemgrd", "runnerd"):  # either of runnerd's two processes
            return self.drawn(inst.named(role, "", "")), ""
        if role == "credd":
            return next((pid for pid in inst.named("rota-credd", "", "")), 0), ""
        if role == "munged":
            return next((pid for pid in inst.named("munged", "", "")), 0), ""
        if role == "postmaster":
            return inst.postmaster(), ""
        if role == "backend":
            return self.drawn(inst.backends()), ""
        leader, follower = inst.jobmgrds()
        return (leader if role == "leader" else follower), ""

    def drawn(self, pids):
        return self.random.choice(sorted(pids)) if pids else 0

    # kills and freezes

    def hit(self, verb, role):
        pid, where = self.victim(role)
        seconds = self.random.choice(FREEZES)
        if not pid:
            return None
        at = time.time()
        if not send(pid, signal.SIGKILL if verb == "kill" else signal.SIGSTOP):
            return None
        if role == "leader":
            self.probe(verb, at)
        if (verb, role) == ("kill", "procmgrd"):
            self.recovery.procmgrd(where, pid, at)
        if verb == "freeze":
            time.sleep(seconds)
            thaw(pid)
        return f"pid {pid} {where}".strip() + (f" for {seconds:g} s" if verb == "freeze" else "")

    def probe(self, verb, at):
        """Submit a job through the remaining jobmgrd; it waits only for the missing leader."""
        self.probes += 1
        number = f"probe-{self.probes}"
        serves = next((conf for conf, name in ((self.instance.conf, "1"), (self.instance.second_conf, "2"))
                       if any(alive(pid) and look(pid)[1] != "T" for pid in self.instance.named("jobmgrd", "--name", name))), None)
        if serves:
            self.recovery.leader(f"campaign-{number}", at, verb)
            threading.Thread(target=self.load.submit, args=("probe", number, serves), daemon=True).start()

    def terminate(self):
        pid = self.drawn(self.instance.backends())
        if not pid or self.instance.sql(f"select pg_terminate_backend({pid})", timeout=5) is None:
            return None
        return f"backend {pid}"

    def stop_postgres(self):
        pid = self.instance.postmaster()
        if not pid or not send(pid, signal.SIGQUIT):
            return None
        seconds = self.random.choice(ABSENCES)
        while alive(pid):
            time.sleep(0.02)
        time.sleep(seconds)
        return f"pid {pid}, away for {seconds:g} s"

    def kill_postmaster(self):
        pid = self.instance.postmaster()
        if not pid or not send(pid, signal.SIGKILL):
            return None
        seconds = self.random.choice(ABSENCES)
        time.sleep(seconds)
        return f"pid {pid}, away for {seconds:g} s"

    def kill_clients(self):
        """For a while, some clients of users are killed within their first milliseconds."""
        before = self.load.clients_killed
        self.load.kill_clients = True
        time.sleep(2)
        self.load.kill_clients = False
        return f"{self.load.clients_killed - before} clients"

    def evacuate(self):
        """Evacuate a node. The repair makes the node serve again, whatever is left there."""
        node = f"n{self.random.randint(1, NODES)}"
        if self.instance.rota("admin", "node", "evacuate", node, "--no-checkpoint=requeue", timeout=10).returncode:
            return None
        time.sleep(self.random.uniform(0, 2))
        return node

    # the special nodes

    def cut(self):
        seconds = self.random.choice(FREEZES[4:])
        self.instance.cable(False)
        time.sleep(seconds)
        self.instance.cable(True)
        return f"{FAR_NODE} for {seconds:g} s"

    def step_clock(self):
        seconds = self.random.choice((-200, -30, 30, 200))
        self.instance.set_clock(seconds)
        time.sleep(self.random.uniform(1, 4))
        return f"{FAR_NODE}: {seconds:+d} s"

    def expire_certificate(self):
        """The database's certificate has expired when the far node connects again; then it is renewed."""
        self.instance.renew_certificate(expired=True)
        self.instance.sql(f"select pg_terminate_backend(pid) from pg_stat_activity where usename = 'rota_node_{FAR_NODE}'")
        time.sleep(self.random.uniform(1, 4))
        self.instance.renew_certificate()
        return f"of the database, for {FAR_NODE}"

    def cut_power(self):
        self.instance.machine.cut_power()
        return MACHINE_NODE

    def cut_power_in_change(self):
        """Kill the program within five seconds, while the node is drained, made anew or verified."""
        until = time.monotonic() + 5
        while time.monotonic() < until:
            if self.instance.sql("select 1 from rota.node_reboot where ended_at is null and image is not null"):
                time.sleep(self.random.uniform(0, 0.6))
                return self.cut_power()
            time.sleep(0.05)
        return None

    def fill_disk(self):
        path = f"{self.instance.home}/node/{DISK_NODE}/ballast"
        seconds = self.random.choice((1, 2, 4))
        with open(path, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        time.sleep(seconds)
        os.unlink(path)
        return f"{DISK_NODE} for {seconds:g} s"
