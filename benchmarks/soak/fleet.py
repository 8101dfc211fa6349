"""The broker and the two gateways of a soak: how they are started, replaced, and what they hold."""

import asyncio
import hashlib
import json
import os
import random
import re
import signal
import ssl
import subprocess
import time

from server import PROGRAM, Target, make_keys, plain_environment
from wire import SECRET, insecure

API_KEY = "soak" * 8
RAMP = 5
PEOPLE = {"allow_subscribe_for_client": True, "allow_publish_for_client": True, "allow_history_for_client": True,
          "allow_presence_for_client": True, "force_recovery": True}
#: What is kept is bounded by number and time, so that files have reached their size before the warm-up is over.
KEPT = {"history_size": 1000, "history_ttl": "1m"}
NAMESPACES = [
    {"name": "room", **PEOPLE, **KEPT, "presence": True, "join_leave": True, "force_push_join_leave": True},
    {"name": "busy", **PEOPLE, **KEPT},
    {"name": "bulk", **PEOPLE, **KEPT, "history_size": 300},
    {"name": "chat", **PEOPLE, **KEPT, "durability": "durable"},
    {"name": "news", **PEOPLE, **KEPT, "durability": "durable"},
    {"name": "guest", "allow_subscribe_for_client": True, "allow_publish_for_client": True, "presence": True},
]
NO_LIMIT = {"clique_calls_per_second": 0, "state_calls_per_second": 0}


def settings(folder):
    """What all processes have in common. Times after which something is forgotten are short: see `KEPT`."""
    return {
        "admin": {"port": 0, "api": {"key": API_KEY}},
        "token": {"hmac_secret": SECRET},
        "channel": {"namespaces": NAMESPACES},
        "backbone": {"endpoint": f"ipc://{folder}/backbone.ipc"},
        # The cache of the apps' records is filled within the warm-up; one of ordinary size fills for days, which looks like
        # a leak.
        "broker": {"services": {"enabled": False}, "idempotency_window": "1m", "idle_channel_timeout": "10s",
                   "history_meta_ttl": "1m", "app_cache_bytes": "128KiB"},
        "client": {"queue_bytes": "256KiB", "recovery_max_publications": 2000, "limits": NO_LIMIT,
                   "user_limits": NO_LIMIT},
        "state": {"lifetime": "4s", "reveal_lifetime": "4s", "picture_directory": f"{folder}/pictures"},
        "why": {"keep": "1m"},
        "shutdown": {"ramp": f"{RAMP}s", "ramp_floor": 1},
        "log": {"level": "notice"},
    }


def size(*paths):
    """The bytes of files, as far as they are there."""
    total = 0
    for path in paths:
        try:
            total += os.path.getsize(path)
        except FileNotFoundError:
            pass
    return total


def size_of_folder(folder):
    """The bytes of the files of a folder and of those within it, some of which may go meanwhile."""
    return sum(size(os.path.join(place, name)) for place, _, names in os.walk(folder) for name in names)


class Server:
    """A broker or a gateway: a place that outlives its processes."""

    def __init__(self, folder, file, role, name, changes):
        self.folder, self.file, self.role, self.name, self.changes = folder, file, role, name, changes
        self.place = os.path.join(folder, name.replace(" ", "-"))
        os.makedirs(self.place, mode=0o700)
        self.process, self.target, self.admin_port, self.is_open = None, None, None, False

    async def start(self):
        """Starts a process and waits until it serves."""
        endpoints = os.path.join(self.place, "endpoints.json")
        if os.path.exists(endpoints):
            os.remove(endpoints)
        command = [PROGRAM, self.role, "--config", self.file]
        for setting in [f"data.directory={self.place}", *self.changes]:
            command += ["--set", setting]
        # A session of its own: what a terminal sends those in front is for the program alone.
        with open(self.place + ".log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=log, env=plain_environment(),
                                            start_new_session=True)
        end = time.monotonic() + 60
        while not (os.path.exists(endpoints) and self.is_ready(endpoints)):
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"the {self.name} did not start: see {self.place}.log")
            await asyncio.sleep(0.05)
        self.is_open = True

    def is_ready(self, endpoints):
        """Whether the file of the endpoints is whole, which is taken over then."""
        try:
            with open(endpoints, encoding="utf-8") as source:
                places = json.load(source)
        except ValueError:
            return False
        self.admin_port = int(places["admin"].split(":")[2].split("/")[0])
        if self.role == "gateway":
            self.target = Target(int(places["websocket"].split(":")[2].split("/")[0]), True, self.folder)
        return True

    async def stop(self, seconds=60):
        """An orderly end. Nobody new is sent there from the first moment on. Returns the exit code."""
        self.is_open = False
        self.process.send_signal(signal.SIGTERM)
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > end:
                self.process.kill()
            await asyncio.sleep(0.05)
        return self.process.returncode

    async def sample(self):
        """What the process takes, by the system's account and by its own; nothing where there is none."""
        if not self.is_open or self.process.poll() is not None:
            return None
        found = measure(self.process.pid)
        if found:
            found["in use"] = await self.used_heap()
        return found

    async def used_heap(self):
        """The bytes that the process's allocator has handed out; None where it does not say so."""
        try:
            text = await asyncio.wait_for(self.metrics(), 5)
        except (OSError, asyncio.TimeoutError):
            return None
        found = re.search(r"^fanfare_heap_used_bytes (\S+)", text, re.M)
        return float(found[1]) if found else None

    async def metrics(self):
        """What a monitor is told, as text."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.admin_port)
        try:
            writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return (await reader.read()).decode()
        finally:
            writer.transport.abort()


def measure(process):
    """Memory, descriptors and threads of a process; None where it has ended."""
    try:
        found = {"pid": process, "descriptors": len(os.listdir(f"/proc/{process}/fd"))}
        with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as source:
            fields = dict(line.split(":", 1) for line in source if ":" in line)
        found["rss"] = int(fields["VmRSS"].split()[0]) * 1024
        found["threads"] = int(fields["Threads"])
        with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as source:
            found["private"] = sum(int(line.split()[1]) * 1024 for line in source if line.startswith("Private_"))
    except (OSError, KeyError):
        return None
    return found


class Fleet:
    """A broker and two gateways, before which somebody stands who sends clients to those that are open."""

    def __init__(self, folder):
        self.folder = folder
        self.certificate, self.key = os.path.join(folder, "server.pem"), os.path.join(folder, "server.key")
        file = os.path.join(folder, "fanfare.json")
        with open(file, "w", encoding="utf-8") as output:
            json.dump(settings(folder), output)
        os.mkdir(os.path.join(folder, "pictures"), 0o700)
        self.make_certificate()
        door = ["server.host=127.0.0.1", "server.port=0", "server.tls.enabled=true",
                f"server.tls.certificate_file={self.certificate}", f"server.tls.key_file={self.key}"]
        self.broker = Server(folder, file, "broker", "broker", [])
        self.gateways = [Server(folder, file, "gateway", f"gateway {name}", door) for name in "ab"]
        self.servers = [self.broker, *self.gateways]

    async def start(self):
        for server in self.servers:
            await server.start()

    async def stop(self):
        for server in [*self.gateways, self.broker]:
            if server.process and server.process.poll() is None:
                await server.stop(20)

    def choose(self, home):
        """The gateway at which somebody is at home, or another one while that is closed."""
        opened = [gateway for gateway in self.gateways if gateway.is_open]
        if not opened:
            raise ConnectionError("no gateway is open")
        mine = self.gateways[home % len(self.gateways)]
        return mine if mine.is_open else random.choice(opened)

    def make_certificate(self):
        """Puts a new key and a new certificate where the gateways look for them. Returns its fingerprint."""
        fresh = os.path.join(self.folder, "fresh")
        os.makedirs(fresh, exist_ok=True)
        make_keys(fresh)
        os.replace(os.path.join(fresh, "tls.key"), self.key)
        os.replace(os.path.join(fresh, "tls.pem"), self.certificate)
        with open(self.certificate, encoding="ascii") as source:
            return hashlib.sha256(ssl.PEM_cert_to_DER_cert(source.read())).hexdigest()

    def files(self):
        """Sizes of files by name, each with the process that a new series begins with; 0 where it outlives them."""
        broker = self.broker.place
        found = {
            "broker database": (size(f"{broker}/fanfare.sqlite"), 0),
            "broker wal": (size(f"{broker}/fanfare.sqlite-wal"), self.broker.process.pid),
            "pictures": (size_of_folder(f"{self.folder}/pictures"), 0),
        }
        for gateway in self.gateways:
            file = f"{gateway.place}/coverage.sqlite"
            found[f"{gateway.name} coverage"] = (size(file), 0)
            found[f"{gateway.name} coverage wal"] = (size(file + "-wal"), gateway.process.pid)
        return found


async def shown_certificate(target):
    """The fingerprint of the certificate that a new connection is shown."""
    _, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", target.port, ssl=insecure()), 10)
    certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.transport.abort()
    return hashlib.sha256(certificate).hexdigest()
