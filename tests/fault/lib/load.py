"""The stream of jobs: the jobs that are submitted, and the states in which each step may end.

Every submission has a key and is sent until it is answered, by clients some of which are killed half way: the job is known by
its key whatever became of the answer. Jobs are a seeded draw, so the same seed gives the same scripts in the same order.
"""
import random
import subprocess
import threading
import time

from lib.changes import PREPARED
from lib.images import IMAGED, IMAGES
from lib.instance import FAR_NODE

LIVE = 14  # unfinished jobs, at most, before another one is submitted
SEVERAL = 3  # jobs of a submission of kind "several"

HEAD = "#!/bin/bash\n#ROTA --time=5:00 --output=/dev/null\n. {task}\n"

# A job that saves itself every second and at turn 20, where it is queued again.
SAVED = """#ROTA --checkpoint=app --checkpoint-signal=B:USR1 --checkpoint-interval=0:01 --checkpoint-dir=@FOLDER@/stage/checkpoints
saved() {
	local turn=0 asked=
	[ -z "$ROTA_RESTART" ] || turn=$(cat "$ROTA_RESTART_DIR/turn") || exit 98
	trap 'asked=1' USR1
	while [ "$turn" -lt 40 ]; do
		sleep 0.1
		turn=$((turn + 1))
		[ -n "$asked" ] || [ "$turn" = 20 ] || continue
		asked=
		echo "$turn" >"$ROTA_CHECKPOINT_DIR/turn"
		[ "$turn" != 20 ] || return 85
		rota checkpoint --done 2>/dev/null # while the database is away, no checkpoint is made
	done
}
during saved
"""

# An array whose elements have each their own data.
ELEMENTS = 5
STAGED_ARRAY = f"""#ROTA --array=0-{ELEMENTS - 1}%3
staged() {{
	local place=${{TASK_FILE%/*}}/stage/fast/$SLURM_JOB_ID
	rm -rf "$place/out"
	mkdir -m 777 "$place/out" && cp "$place"/in/* "$place/out" && sleep 0.3
}}
during staged
"""

# Directives for burst_buffer.lua.
DIRECTIVES = {"staged": "#BB_LUA stage", "elements": "#BB_LUA stage pool=cells capacity=1", "elements-cancelled": "#BB_LUA stage pool=cells capacity=1"}

# Kinds of jobs: name, weight, script. D is a random duration. Steps end as `completed` unless ENDS has other states for them.
KINDS = (
    ("single", 6, "work D\n"),
    ("long", 4, "work 12\n"),
    ("kept", 2, "#ROTA --node-loss=keep\nwork 12\n"),
    ("wide", 3, "#ROTA --nodes=2-3 --ntasks-per-node=1 --run=tasks\nwork D\n"),
    ("shrinks", 2, "#ROTA --nodes=3 --ntasks-per-node=1 --run=tasks --no-kill\nwork 10\n"),
    ("many", 2, "#ROTA --array=0-7%4\nwork D\n"),
    ("short", 2, "#ROTA --array=0-149\nwork 0.01\n"),
    ("several", 2, "work D\n"),
    ("once", 2, "#ROTA --no-requeue\nwork D\n"),
    ("again", 2, "#ROTA --retry=2\nwork D $((ROTA_ATTEMPT < 2))\n"),
    ("bad", 1, "work D 3\n"),
    ("held", 2, "work D\n"),
    ("stopped", 2, "work D\n"),
    ("cancelled", 2, "work 4\n"),
    ("peers", 3, """
#ROTA step first
work D
#ROTA step wide --after=first --nodes=2 --ntasks-per-node=1 --run=tasks
work D
#ROTA step many --after=first --array=0-3%2 --licenses=solver:1
work 0.2
#ROTA step each --after=many:corr --array=0-3
work 0.2
#ROTA step same --after=wide --same-nodes=wide
work 0.3
#ROTA step other --after=wide --other-nodes=wide
work 0.3
#ROTA step left --with=right --gres=gpu:1
work 0.3
#ROTA step right
work 0.3
#ROTA step bad --after=left
work 0.1 1
#ROTA step after --after=bad:fail?same
work 0.1
#ROTA step never --after=bad
work 0.1
#ROTA step group1 --after=left --group=G
work 0.2
#ROTA step group2 --after=group1 --group=G
work 0.2
"""),
    ("substeps", 4, """#ROTA --cpus-per-task=3
together() {
	substep --input=none --name=first -- D & first=$!
	substep --input=none --ntasks=2 --cpu-bind=threads -- D 3 & second=$!
	substep --input=none --retry=2 -- 0.3 5 0 & third=$!
	until rota steps | grep -qw first; do sleep 0.1; done # a name can be waited for once it is known
	substep --input=none --exclusive --after=first -- 0.2 & fourth=$!
	answered 0 wait $first
	answered 3 wait $second
	answered 0 wait $third
	answered 0 wait $fourth
	answered 7 substep -- 0.1 7
}
during together
"""),
    ("lines", 4, """#ROTA --cpus-per-task=2
each() {
	seq 30 | rota run --each --retry=1 --output=none bash -c '. "$0" && substep_work "$1" "0.$2" $(($2 % 10 == 0))' "$TASK_FILE" \\
		"$ROTA_STEP_LABEL.$ROTA_ATTEMPT" {} 2>/dev/null
}
during answered 1 each
"""),
    ("lines-cancelled", 1, """#ROTA --cpus-per-task=2
each() {
	seq 40 | rota run --each --retry=1 bash -c '. "$0" && substep_work "$@"' "$TASK_FILE" "$ROTA_STEP_LABEL.$ROTA_ATTEMPT" 0.{}
}
during each
"""),
    ("spread", 4, f"""#ROTA --nodes=2 --ntasks-per-node=1 --cpus-per-task=2 --exclude={FAR_NODE}
spread() {{
	substep --input=none --nodes=2 --ntasks=4 -- D & first=$!
	substep --input=none --nodes=2 --ntasks=2 --overlap --retry=2 -- 0.3 5 0 & second=$!
	answered 0 wait $first
	answered 0 wait $second
	answered 3 substep --input=none --nodes=2 --ntasks=2 -- 0.5 3
}}
during spread
"""),
    ("grows", 4, f"""#ROTA --exclude={FAR_NODE}
grows() {{
	local tries=0
	until rota grow --nodes=+2 --exclude={FAR_NODE} --within=1:00 2>/dev/null || [ $((++tries)) = 20 ]; do sleep 0.3; done
	for _ in 1 2 3 4; do substep --input=none --retry=20 -- D & done
	answered 0 substep --input=none --retry=20 -- D
	rota shrink --nodes=-1 --force 2>/dev/null # refused where no node has come, or none is left
	answered 0 substep --input=none --retry=20 -- 0.2
	wait
}}
during grows
"""),
    ("gives-back", 3, f"""#ROTA --nodes=2 --ntasks-per-node=1 --exclude={FAR_NODE}
gives_back() {{
	for _ in 1 2 3; do substep --input=none --retry=20 -- D & done
	answered 0 substep --input=none --nodes=1 --retry=20 -- D
	rota shrink --nodes=-1 --force 2>/dev/null # refused where the node is given back already
	answered 0 substep --input=none --retry=20 -- 0.2
	wait
}}
during gives_back
"""),
    ("staged", 4, """staged() {
	local place=${TASK_FILE%/*}/stage/fast/$ROTA_JOB_ID
	rm -rf "$place/out"
	mkdir -m 777 "$place/out" && cp "$place"/in/* "$place/out" && sleep 0.5
}
during staged
"""),
    ("elements", 4, STAGED_ARRAY),
    ("elements-cancelled", 2, STAGED_ARRAY),
    ("moved", 4, """#ROTA stage-in @FOLDER@/stage/pool/ -> $ROTA_SCRATCH/in/ --mode=rsync --checksum
#ROTA stage-out $ROTA_SCRATCH/out/ -> @FOLDER@/stage/moved/@KEY@/ --checksum
moved() {
	rm -rf "$ROTA_SCRATCH/out"
	mkdir "$ROTA_SCRATCH/out" && cp "$ROTA_SCRATCH"/in/* "$ROTA_SCRATCH/out" && sleep 0.5
}
during moved
"""),
    ("sealed", 4, """#ROTA --nodes=1-2 --cred=pass
sealed() {
	for _ in 1 2 3; do
		[[ $(cat "$ROTA_CREDENTIALS/pass") = campaign-secret-* ]] || exit 99
		sleep 0.4
	done
}
during sealed
"""),
    ("saved", 4, SAVED),
    # Jobs of lower tiers, which preempting steps end, suspend or have saved.
    ("gives-way", 4, "#ROTA --qos=ended\nwork 6\n"),
    ("waits", 4, "#ROTA --qos=paused\nwork 6\n"),
    ("saves", 3, "#ROTA --qos=saved\n" + SAVED),
    ("urgent", 4, "#ROTA --nodes=2 --ntasks-per-node=1 --cpus-per-task=3 --run=tasks\nwork 0.5\n"),
    ("probe", 0, "work 0.1\n"),
)

GROWTH = "grow"  # name of the jobs that `rota grow` submits

# States in which steps may end, by kind and step; a step that must not be requeued ends with its node.
ENDS = {
    ("once", "script"): {"completed", "node_fail"},
    ("bad", "script"): {"failed"},
    ("cancelled", "script"): {"completed", "cancelled"},
    ("lines-cancelled", "script"): {"completed", "cancelled"},
    ("elements-cancelled", "script"): {"completed", "cancelled"},
    ("peers", "bad"): {"failed"},
    ("peers", "never"): {"dependency_failed"},
}


# A growth ends with the step that it grows, when it is given back, or with its node.
GROWTH_ENDS = {"completed", "cancelled", "deadline", "node_fail"}


def may_end(kind, step):
    return GROWTH_ENDS if kind == GROWTH else ENDS.get((kind, step), {"completed"})


class Load(threading.Thread):
    def __init__(self, instance, seed, say, words=()):
        """`words`: only kinds with one of them in their names are drawn."""
        super().__init__(daemon=True)
        self.kinds = (*KINDS, *((PREPARED,) if instance.changes else ()), *((IMAGED,) if instance.machine else ()))
        self.instance, self.say, self.words = instance, say, words
        self.random = random.Random(f"load {seed}")
        self.kill_clients = False
        self.jobs = {}  # key: (kind, id)
        self.unanswered = {}  # key: kind
        self.ending = threading.Event()
        self.clients_killed = self.secrets = 0
        self.lock = threading.Lock()
        self.ledger = f"{instance.folder}/ledger"
        self.task = f"{instance.folder}/task.sh"

    def script(self, kind, key):
        text = HEAD.format(task=self.task) + next(body for name, _, body in self.kinds if name == kind)
        text = text.replace("@FOLDER@", self.instance.folder).replace("@KEY@", key)
        text = text.replace("@MODE@", self.random.choice(("slow", "fast"))) if kind == PREPARED[0] else text
        text = text.replace("@IMAGE@", self.random.choice(IMAGES)) if kind == IMAGED[0] else text
        for what in ("work D", "-- D", "sleep D"):
            while what in text:
                text = text.replace(what, f"{what[:-1]}{self.random.choice((0.1, 0.3, 0.6, 1, 1, 2, 3)):g}", 1)
        return text

    def submit(self, kind, number, conf=None):
        """Submit until there is an answer: the id (the first of several), or None if the database refuses it or time is up."""
        several = kind == "several"
        key = f"campaign-{number}"
        names = [f"{key}-{i}.sh" for i in range(SEVERAL if several else 1)]
        keys = [f"{key} {name}" if several else key for name in names]
        for name in names:
            with open(f"{self.instance.folder}/{name}", "w", encoding="utf-8") as file:
                file.write(self.script(kind, key))
        with self.lock:
            self.unanswered.update({key: kind for key in keys})
        gates = [conf] if conf else [self.instance.conf, self.instance.second_conf]
        timeout = self.random.uniform(0.002, 0.04) if self.kill_clients and self.random.random() < 0.7 else 60
        until = time.monotonic() + 300
        while time.monotonic() < until:
            conf = self.random.choice(gates)
            with subprocess.Popen([f"{self.instance.binaries}/rota", "submit", "--parsable", f"--client-key={key}", f"--job-name={kind}",
                                   *(["--each"] if several else []), *([f"--bb={DIRECTIVES[kind]}"] if kind in DIRECTIVES else []), *names],
                                  env={**self.instance.environment, "ROTA_CONFIG": conf, "LEDGER": self.ledger}, cwd=self.instance.folder,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
                try:
                    answer, complaint = client.communicate(timeout=timeout)
                except subprocess.TimeoutExpired:
                    client.kill()
                    client.communicate()
                    self.clients_killed += timeout < 60
                    timeout = 60
                    continue
            if client.returncode == 0:
                ids = [int(word) for word in answer.split()]
                with self.lock:
                    self.jobs.update({key: (kind, job) for key, job in zip(keys, ids, strict=True)})
                    self.unanswered = {key: kind for key, kind in self.unanswered.items() if key not in keys}
                return ids[0]
            if client.returncode != 3:
                self.say(f"{key} ({kind}): {complaint.partition(chr(10))[0]}")
            time.sleep(0.2)
        return None

    def act(self, words):
        """Run a command once: commands that must take effect are repeated when the campaign ends."""
        self.instance.rota(*words, conf=self.random.choice((self.instance.conf, self.instance.second_conf)), timeout=10)

    def treat(self, kind, job):
        """Commands of owners on jobs of some kinds."""
        if kind == "held":
            self.act(("hold", str(job)))
            time.sleep(0.3)
            self.act(("release", str(job)))
        elif kind == "sealed":
            self.renew()
        elif kind in ("elements", "elements-cancelled"):
            self.treat_elements(kind, job)
        elif kind in ("stopped", "cancelled", "lines-cancelled"):
            time.sleep(self.random.uniform(0.1, 0.8) + (1 if kind == "lines-cancelled" else 0))
            self.act(("suspend" if kind == "stopped" else "cancel", str(job)))
            if kind == "stopped":
                time.sleep(0.5)
                self.act(("resume", str(job)))

    def treat_elements(self, kind, job):
        """Cancel an element or the job without its stage-out; hold and release it; or have all of it run again."""
        element = self.random.choice((str(job), f"{job}_{self.random.randrange(ELEMENTS)}"))
        time.sleep(self.random.uniform(0, 2))
        if kind == "elements-cancelled":
            self.act(("cancel", "--hurry", element))
        elif self.random.random() < 0.4:
            self.act(("requeue", str(job)))
        else:
            self.act(("hold", element))
            time.sleep(0.3)
            self.act(("release", element))

    def renew(self):
        """Add the credential of jobs of kind "sealed" anew; returns whether that succeeded."""
        self.secrets += 1
        path = f"{self.instance.folder}/secret"
        with open(path, "w", encoding="ascii") as file:
            file.write(f"campaign-secret-{self.secrets}")
        return self.instance.rota("cred", "add", "pass", path, "--kind=file", conf=self.instance.conf, timeout=20).returncode == 0

    def live(self):
        rows = self.instance.sql("select count(*) from rota.job where ended_at is null", timeout=5)
        return int(rows[0][0]) if rows else LIVE

    def run(self):
        number = 0
        names = [name for name, _, _ in self.kinds]
        weights = [weight if not self.words or any(word in name for word in self.words) else 0 for name, weight, _ in self.kinds]
        while not self.ending.is_set():
            if self.live() >= LIVE:
                time.sleep(0.2)
                continue
            number += 1
            kind = self.random.choices(names, weights)[0]
            job = self.submit(kind, number)
            if job:
                self.treat(kind, job)
            time.sleep(self.random.uniform(0, 0.3))

    def set_free(self):
        """Release and resume all jobs at the end, because an owner's command may have been lost."""
        rows = self.instance.sql("select distinct job_id, state, held from rota.step where ended_at is null and (held <> '' or state = 'suspended')")
        for job, state, held in rows or []:
            self.instance.rota("release" if held else "resume", job, timeout=20)
