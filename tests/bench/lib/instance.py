"""A private instance for one benchmark, below the folder for temporary files; removed when the block ends."""
import json
import os
import shutil
import subprocess
import tempfile

from lib import process

TESTS = os.path.abspath(f"{os.path.dirname(__file__)}/../..")


class Instance:
    """`with bench.instance(...) as instance:`; .home, .folder, .env, .rota(...), .sql(...), .pids()."""

    def __init__(self, binaries, nodes, slots, conf, arguments=()):
        self.binaries, self.nodes, self.slots, self.conf, self.arguments = binaries, nodes, slots, conf, arguments
        self.folder = self.home = self.env = None

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="rota-b.")
        os.chmod(self.folder, 0o755)
        self.home = f"{self.folder}/home"
        self.env = {**os.environ, "ROTA_HOME": self.home, "PATH": f"{self.binaries}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        self.env.pop("ROTA_CONFIG", None)
        try:
            if os.environ.get("ROTA_TEST_CLUSTER"):  # tests begin with the cluster that ctest has made
                subprocess.run([f"{TESTS}/cluster", "copy", os.environ["ROTA_TEST_CLUSTER"], self.home], check=True)
            self.up()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def up(self):
        """Start the instance with its settings; also after `rota down`."""
        settings = [f"--set={key}={value}" for key, value in self.conf.items()]
        self.rota("up", "--quiet", "--nodes", str(self.nodes), "--cpus", str(self.slots), "--mem", "64G", *settings, *self.arguments)

    def remove(self):
        done = subprocess.run([f"{self.binaries}/rota", "down", "--purge", "--yes"], env=self.env, cwd="/", capture_output=True, text=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
        if done.returncode:
            raise RuntimeError(f"rota down: {done.stderr.strip()}")

    def rota(self, *words, input=None):
        """The output of the command `rota WORDS`; raises if it fails."""
        done = subprocess.run([f"{self.binaries}/rota", *words], env=self.env, cwd=self.folder, input=input, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"rota {' '.join(words)}: {done.stderr.strip() or done.returncode}")
        return done.stdout

    def sql(self, text, database="rota"):
        """Run SQL as the superuser. Returns the rows as tuples of strings, or the value if there is one row of one column; null is ''."""
        done = subprocess.run(["psql", "-XqAt", "-F", "\x1f", "-h", f"{self.home}/run", "-d", database, "-U", "postgres", "-v", "ON_ERROR_STOP=1"],
                              input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{text}: {done.stderr.strip()}")
        rows = [tuple(line.split("\x1f")) for line in done.stdout.splitlines()]
        return rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else rows

    def file(self, name, text):
        """An executable file in the instance's folder; its path."""
        path = f"{self.folder}/{name}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def postmaster(self):
        with open(f"{self.home}/pg/data/postmaster.pid", encoding="ascii") as file:
            return int(file.readline())

    def pids(self):
        """{role: process ids}; `postgres` is the server with all of its children."""
        found = {}
        for row in json.loads(self.rota("status", "--json"))["processes"]:
            if row.get("pid"):
                found.setdefault(row["role"], []).append(row["pid"])
        server = self.postmaster()
        found["postgres"] = [server, *process.children(server)]
        return found
