"""The server under attack: how it is started, and what it says and holds."""

import dataclasses
import json
import os
import re
import subprocess
import sys
import time

from wire import SECRET

PROGRAM = os.environ.get("FANFARE_PROGRAM", ".build/release/fanfare")
OPEN = {"allow_subscribe_for_client": True, "allow_publish_for_client": True}
KEPT = {"history_size": 100, "history_ttl": "1h", "allow_history_for_client": True}
NAMESPACES = [
    {"name": "a", **OPEN},
    {"name": "h", **OPEN, **KEPT},
    {"name": "d", **OPEN, **KEPT, "durability": "durable"},
    {"name": "p", **OPEN, "presence": True, "join_leave": True, "force_push_join_leave": True,
     "allow_presence_for_client": True},
    {"name": "m", **OPEN, "kind": "map", "map_max_entries": 8000, "map_order": "descending"},
]


def settings(folder, changes):
    """What every server here has, and what one attack wants otherwise, by key."""
    tree = {
        "admin": {"port": 0},
        "server": {"host": "127.0.0.1", "port": 0, "max_connections": 4000, "address": {"limit_loopback": True}},
        "token": {"hmac_secret": SECRET},
        "broker": {"services": {"enabled": False}},
        "data": {"directory": os.path.join(folder, "data")},
        "channel": {"namespaces": NAMESPACES},
    }
    for key, value in changes.items():
        *path, last = key.split(".")
        place = tree
        for name in path:
            place = place.setdefault(name, {})
        place[last] = value.replace("FOLDER", folder) if isinstance(value, str) else value
    return tree


def plain_environment():
    """The server takes a variable of its own prefix that it does not know for a mistake."""
    return {key: value for key, value in os.environ.items() if not key.startswith("FANFARE_")}


@dataclasses.dataclass
class Target:
    """What a client needs to know of the server."""

    port: int
    is_tls: bool
    folder: str


class Server:
    """One process of the server that was built, with a data folder of its own."""

    def __init__(self, folder, changes):
        tree = settings(folder, changes)
        file = os.path.join(folder, "fanfare.json")
        with open(file, "w", encoding="utf-8") as output:
            json.dump(tree, output)
        self.log_file = os.path.join(folder, "log.txt")
        with open(self.log_file, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([PROGRAM, "serve", "--config", file], stderr=log,
                                            env=plain_environment())
        endpoints = os.path.join(folder, "data", "endpoints.json")
        while not os.path.exists(endpoints):
            if self.process.poll() is not None:
                sys.exit(f"the server did not start: {self.log}")
            time.sleep(0.05)
        with open(endpoints, encoding="utf-8") as source:
            places = json.load(source)
        port = int(places["websocket"].split(":")[2].split("/")[0])
        self.admin_port = int(places["admin"].split(":")[2].split("/")[0])
        self.target = Target(port, tree["server"].get("tls", {}).get("enabled", False), folder)

    @property
    def log(self):
        with open(self.log_file, encoding="utf-8", errors="replace") as file:
            return file.read()

    @property
    def causes(self):
        """Refusals that an operator was told of."""
        return set(re.findall(r"cause=(\S+)", self.log))

    @property
    def memory(self):
        """Bytes in memory that are the process's own."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            numbers = file.read().split()
        return (int(numbers[1]) - int(numbers[2])) * 4096

    @property
    def is_running(self):
        return self.process.poll() is None

    def stop(self):
        self.process.terminate()
        self.process.wait()


def make_keys(folder):
    """Keys and a certificate for the attacks that want some."""
    path = lambda name: os.path.join(folder, name)
    quiet = {"check": True, "stderr": subprocess.DEVNULL}
    subprocess.run(
        ["openssl", "ecparam", "-name", "secp521r1", "-genkey", "-noout", "-out", path("ec.secret")], **quiet)
    subprocess.run(["openssl", "ec", "-in", path("ec.secret"), "-pubout", "-out", path("ec.pem")], **quiet)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", path("tls.key"), "-out",
         path("tls.pem"), "-days", "2", "-subj", "/CN=localhost"], **quiet)
    os.chmod(path("tls.key"), 0o600)
