"""Images of a node in the campaign (--changes, as root): jobs of kind "imaged" ask for one and say where they see another one.

The node's programs have a mount namespace, with a boot id and a file of the image of their own. Its machine is a thread here: when the
program hooks.reboot asks, the thread kills all that runs on the node, tasks too, and makes the node anew. The fault "cut-power" kills
all of it at any time, also while its image is changed, and the machine comes with the image that it was made with.
"""
import glob
import os
import signal
import threading
import uuid

NODE = "n2"
IMAGES = ("el8", "el9")

IMAGED = ("imaged", 6, f"""#ROTA --image=@IMAGE@ --nodelist={NODE}
as_asked() {{
	[ "$(cat "${{TASK_FILE%/*}}/os/image")" = "@IMAGE@" ] || echo "$ROTA_STEP_LABEL attempt $ROTA_ATTEMPT on $ROTA_NODE" >>"${{TASK_FILE%/*}}/changes/wrong"
}}
imaged() {{
	as_asked
	sleep D
	as_asked
}}
during imaged
""")

PROGRAM = """#!/bin/bash
# reboot NODE [IMAGE]
cd {folder}/changes || exit 2
echo "${{2:-}}" >"ask.new.$$" && mv "ask.new.$$" ask
while [ -e ask ]; do sleep 0.05; done
"""

# Run within the namespace of the node's programs: its boot id and image replace the machine's.
START = """mount --bind "$0/boot_id" /proc/sys/kernel/random/boot_id && mount --bind "$0/made" "$0/../os" && exec "$@" """


def write(path, text, mode=0o644):
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.write(f"{text}\n")
    os.chmod(f"{path}.new", mode)
    os.rename(f"{path}.new", path)


class Machine(threading.Thread):
    """NODE's machine. `lock` is held while its programs are killed or started."""

    def __init__(self, instance):
        super().__init__(daemon=True)
        self.instance, self.folder, self.lock = instance, f"{instance.folder}/machine", threading.Lock()
        self.ending, self.boots, self.cuts = threading.Event(), 0, 0
        for place in (self.folder, f"{self.folder}/made", f"{instance.folder}/os"):
            os.mkdir(place, 0o755)
        write(f"{instance.folder}/programs/reboot", PROGRAM.format(folder=instance.folder).rstrip("\n"), 0o755)
        self.make(IMAGES[0])

    def make(self, image):
        self.boots += 1
        write(f"{self.folder}/made/image", image)
        write(f"{self.folder}/boot_id", uuid.uuid4())

    def launch(self):
        """Start the node's launcher, unless it runs. The caller has the lock."""
        inst = self.instance
        if not inst.launcher(NODE):
            inst.child(f"launcher.{NODE}", ["unshare", "--mount", "sh", "-c", START, self.folder, f"{inst.binaries}/rota-launcher",
                                            "--config", inst.conf, "--node", NODE])

    def processes(self):
        """All processes of the node."""
        home, found = f"{self.instance.home}/node/{NODE}", []
        for folder in glob.glob("/proc/[0-9]*"):
            try:
                with open(f"{folder}/environ", "rb") as file:
                    own = home.encode() in file.read()
                if own or f"{os.readlink(f'{folder}/cwd')}/".startswith(f"{home}/"):
                    found.append(int(folder[6:]))
            except OSError:
                continue
        return found

    def boot(self, image=None):
        """Kill all processes of the node, and start it with this image, or with the one that it has."""
        with self.lock:
            while pids := self.processes():
                for pid in pids:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                self.ending.wait(0.02)
            if image or not os.path.exists(f"{self.folder}/made/image"):
                self.make(image or IMAGES[0])
            else:
                write(f"{self.folder}/boot_id", uuid.uuid4())
            self.launch()

    def cut_power(self):
        self.cuts += 1
        self.boot()

    def run(self):
        ask = f"{self.instance.folder}/changes/ask"
        while not self.ending.wait(0.1):
            if not os.path.exists(ask):
                continue
            with open(ask, encoding="ascii") as file:
                image = file.read().strip()
            self.boot(image or IMAGES[0])
            os.unlink(ask)
