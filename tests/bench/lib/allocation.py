"""A job whose script waits, so that a benchmark can run programs in its allocation with the environment of the script."""
import os
import subprocess
import time

SCRIPT = "#!/bin/bash\n{options}env -0 >{folder}/env.new\nmv {folder}/env.new {folder}/env\nread -r line <{folder}/go\n"


class Allocation:
    """`with Allocation(instance, "--nodes=4", ...) as job:`; .number, .env, .command(...), .run(...)."""

    def __init__(self, instance, *options):
        self.instance, self.options = instance, options
        self.number = self.env = None

    def __enter__(self):
        folder = self.instance.folder
        os.mkfifo(f"{folder}/go")
        text = SCRIPT.format(folder=folder, options="".join(f"#ROTA {option}\n" for option in ("--output=/dev/null", *self.options)))
        self.number = self.instance.rota("submit", "--parsable", self.instance.file("job.sh", text)).strip()
        while not os.path.exists(f"{folder}/env"):
            time.sleep(0.05)
        with open(f"{folder}/env", encoding="utf-8") as file:
            self.env = dict(variable.split("=", 1) for variable in file.read().split("\0") if variable)
        return self

    def __exit__(self, failure, *_):
        folder = self.instance.folder
        if failure is None:
            with open(f"{folder}/go", "w", encoding="ascii") as file:
                file.write("\n")
            self.instance.rota("wait", "--quiet", self.number)
        os.remove(f"{folder}/go")
        os.remove(f"{folder}/env")

    def command(self, *words):
        """The words of a command `rota run WORDS`."""
        return [f"{self.instance.binaries}/rota", "run", *words]

    def run(self, *words, **options):
        """Run `rota run WORDS` in the environment of the script, and wait for its end; raises if it fails."""
        subprocess.run(self.command(*words), env=self.env, cwd=self.instance.folder, check=True, **options)
