"""A PostgreSQL of one's own for measurements."""

import glob
import os
import signal
import subprocess
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def wait_for(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"{what} did not happen within {seconds} s")
        time.sleep(0.01)


def programs():
    """The folder of PostgreSQL's programs, of the newest version that is there."""
    places = ["/usr/lib/postgresql/*/bin", os.path.join(TOP, ".build/tools/postgresql/usr/lib/postgresql/*/bin")]
    found = [path for place in places for path in sorted(glob.glob(place)) if os.path.exists(path + "/initdb")]
    if not found:
        raise SystemExit("there is no PostgreSQL here: install your system's package postgresql")
    return found[-1]


def unprivileged():
    """What goes before a command that refuses to run as root."""
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []


class Postgres:
    """A server in a folder of its own. It refuses to run as root: there it runs as nobody."""

    def __init__(self, folder, primary=None):
        self.programs, self.folder, self.prefix = programs(), folder, unprivileged()
        if os.getuid() == 0:
            os.chown(folder, 65534, 65534)
        self.data = os.path.join(folder, "data")
        if primary:
            self.run("pg_basebackup", "-D", self.data, "-R", "-X", "stream", "-c", "fast", "-d",
                     primary.connection + " application_name=standby")
        else:
            self.run("initdb", "-D", self.data, "-U", "fanfare", "-A", "trust", "-E", "UTF8", "--locale=C")
        self.version = self.run("postgres", "--version").split()[2]
        self.connection = f"host={folder} user=fanfare dbname=postgres"
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [*self.prefix, f"{self.programs}/postgres", "-D", self.data, "-k", self.folder, "-c", "listen_addresses="],
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(os.path.join(self.folder, ".s.PGSQL.5432")), "the start of PostgreSQL")

    def standby(self, folder):
        """A second server that follows this one; a commit waits from now on until it is on the disks of both."""
        follower = Postgres(folder, self)
        self.ask("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (standby)'")
        self.ask("SELECT pg_reload_conf()")
        wait_for(lambda: self.ask("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'") == "1",
                 "the standby's confirmation of commits")
        return follower

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
