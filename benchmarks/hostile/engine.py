"""A PostgreSQL of one's own for measurements."""

import glob
import os
import signal
import subprocess
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def wait_for(condition, what):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"{what} did not happen within a minute")
        time.sleep(0.01)


class Postgres:
    """A server in a folder of its own. It refuses to run as root: there it runs as nobody."""

    def __init__(self, folder):
        places = ["/usr/lib/postgresql/*/bin", os.path.join(TOP, ".build/tools/postgresql/usr/lib/postgresql/*/bin")]
        found = [path for place in places for path in sorted(glob.glob(place)) if os.path.exists(path + "/initdb")]
        if not found:
            raise SystemExit("there is no PostgreSQL here: install your system's package postgresql")
        self.programs, self.folder = found[-1], folder
        self.prefix = []
        if os.getuid() == 0:
            os.chown(folder, 65534, 65534)
            self.prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        data = os.path.join(folder, "data")
        self.run("initdb", "-D", data, "-U", "fanfare", "-A", "trust", "-E", "UTF8", "--locale=C")
        self.version = self.run("postgres", "--version").split()[2]
        self.process = subprocess.Popen(
            [*self.prefix, f"{self.programs}/postgres", "-D", data, "-k", folder, "-c", "listen_addresses="],
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(os.path.join(folder, ".s.PGSQL.5432")), "the start of PostgreSQL")
        self.connection = f"host={folder} user=fanfare dbname=postgres"

    def run(self, program, *arguments):
        done = subprocess.run([*self.prefix, f"{self.programs}/{program}", *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{program} failed: {done.stderr}")
        return done.stdout

    def ask(self, statement):
        return self.run("psql", self.connection, "-Atc", statement).strip()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
