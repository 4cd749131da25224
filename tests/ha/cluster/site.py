"""The cluster under test: its machines, made and set up by the commands of docs/high-availability.md, and questions about its state."""
import json
import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from cluster import recipe
from cluster.machine import HEADS, LOGIN, NODES, Machine, Switch, cgroup_root, make_base

SECTIONS = ("Packages and certificates", "etcd", "Patroni", "Rota's database", "The head machines", "Nodes and login machines",
            "HAProxy and PgBouncer")
PATRONICTL = "patronictl -c /etc/patroni/config.yml"


class Site:
    def __init__(self, folder, build, say):
        self.folder, self.build, self.say = folder, build, say
        self.shared, self.archive = f"{folder}/shared", f"{folder}/archive"
        self.switch, self.machines = None, {}
        self.away = set()  # machines that are off, frozen or cut off

    # making it

    def start(self):
        os.makedirs(self.shared)
        os.makedirs(self.archive)
        shutil.chown(self.archive, "postgres")
        os.chmod(self.shared, 0o777)
        self.say("making the machines")
        make_base(self.folder, self.build)
        self.switch = Switch()
        for name in (*HEADS, *NODES, LOGIN):
            shared = [f"{self.shared}:/srv/shared"] + ([f"{self.archive}:/srv/archive"] if name in HEADS else [])
            self.machines[name] = Machine(name, self.folder, self.switch, shared)
            self.machines[name].launch()
        self.each(self.machines.values(), lambda machine: machine.await_boot())
        for section in SECTIONS:
            self.follow(section)
        # The nodes of the page are small. Configure 12 CPUs, whatever the host has, so that starts do not wait for ends of other tasks.
        self.machines["db1"].run("rota admin node change n[1-2] --hardware_check=false --cpus=12 --mem=8G")

    def each(self, items, action):
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(action, items))

    def follow(self, section):
        """Run the commands of a section of the page, on the machines that their prompts name."""
        self.say(f"the page: {section}")
        for prompt, script in recipe.scripts(section):
            names = [self.primary()] if prompt == "primary" else recipe.expand(prompt)
            self.each(names, lambda name, script=script: self.machines[name].run(script))

    def stop(self):
        for machine in self.machines.values():
            machine.remove()
        if self.switch:
            self.switch.stop()
        group = f"{cgroup_root()}/rota-ha.{os.getpid()}"
        if os.path.isdir(group):
            os.rmdir(group)

    # questions

    def present(self):
        return [self.machines[name] for name in HEADS if name not in self.away]

    def members(self):
        """{name: (role, state)} of the members, from the first machine whose Patroni answers; empty: none answers."""
        for machine in self.present():
            try:
                return {m["Member"]: (m["Role"], m["State"]) for m in json.loads(machine.run(f"{PATRONICTL} list -f json", timeout=20))}
            except (RuntimeError, ValueError, subprocess.TimeoutExpired):
                continue
        return {}

    def primary(self):
        return self.await_that("a leader", lambda: next((name for name, (role, _) in self.members().items() if role == "Leader"), None))

    def synchronous(self):
        return next((name for name, (role, _) in self.members().items() if role == "Sync Standby"), None)

    def whole(self):
        """Whether all three members run and one of them is a synchronous standby."""
        members = self.members()
        return len(members) == 3 and sorted(role for role, _ in members.values())[0] == "Leader" and \
            all(state in ("running", "streaming") for _, state in members.values()) and any(role == "Sync Standby" for role, _ in members.values())

    def await_that(self, what, question, seconds=120):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            answer = question()
            if answer:
                return answer
            time.sleep(0.3)
        raise RuntimeError(f"{what}: not within {seconds} s; Patroni says {self.members()}")

    def sql(self, text):
        """The rows that a statement returns on the primary, as lists of strings."""
        machine = self.machines[self.primary()]
        done = machine.run("su postgres -c 'psql -XqAt -F \"\t\" -v ON_ERROR_STOP=1 rota'", text=text, timeout=300)
        return [line.split("\t") for line in done.splitlines()]

    def leader(self):
        """The machine whose jobmgrd leads."""
        return self.sql("select split_part(owner, ' ', 2) from rota.leader where name = 'schedule'")[0][0]

    def password(self, role):
        return self.machines["db1"].run(f"sed -n 's/^{role} //p' /root/passwords").strip()

    def explain(self):
        """The last 25 lines that Patroni and jobmgrd logged on each machine that is not away."""
        texts = []
        for machine in self.present():
            for unit in ("patroni", "rota-jobmgrd"):
                texts.append(f"--- {machine.name}: {unit}\n" + machine.run(f"journalctl --no-pager -o cat -n 25 -u {unit}", check=False, timeout=20))
        return "\n".join(texts)

    # repair

    def bring_back(self):
        """Boot the machines of `away` that are off, and connect all of them to the network."""
        for name in sorted(self.away):
            machine = self.machines[name]
            if machine.process.poll() is not None:
                machine.launch()
                machine.await_boot()
            machine.cable(True)
        self.away.clear()
