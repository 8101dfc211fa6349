"""Several brokers on one log in PostgreSQL, a gateway before them, and somebody who publishes through it."""

import asyncio
import itertools
import json
import os
import subprocess
import time

from engine import wait_for
from server import PROGRAM, Target, plain_environment
from wire import SECRET, Client

BROKERS = 3
CHANNEL = "chat:1"
NAMESPACES = [{"name": "chat", "durability": "durable", "history_size": 100, "history_ttl": "1h",
               "force_recovery": True, "allow_subscribe_for_client": True, "allow_publish_for_client": True}]


class Cluster:
    """The brokers and the gateway, on a database that is there."""

    def __init__(self, folder, postgres, brokers=BROKERS):
        self.folder, self.postgres, self.brokers = folder, postgres, []
        common = {
            "token": {"hmac_secret": SECRET}, "channel": {"namespaces": NAMESPACES}, "clique": {"enabled": False},
            "state": {"enabled": False},
            "client": {"max_channels": 2000, "max_pending_requests": 10000, "limits": {"publications_per_second": 0, "commands_per_second": 0, "bytes_per_second": 0}},
        }
        self.file = os.path.join(folder, "fanfare.json")
        with open(self.file, "w", encoding="utf-8") as output:
            json.dump(common, output)
        for number in range(brokers):
            self.brokers.append(self.start_broker(number))
            if number == 0:
                wait_for(lambda: self.owner() == 0, "the start of the first broker")
        endpoints = json.dumps([{"endpoint": self.endpoint(number)} for number in range(brokers)])
        self.gateway = self.start("gateway", "gateway", ["server.host=127.0.0.1", "server.port=0",
                                                         f"backbone.brokers={endpoints}"])
        places = os.path.join(folder, "gateway", "endpoints.json")
        wait_for(lambda: os.path.exists(places), "the start of the gateway")
        with open(places, encoding="utf-8") as source:
            self.target = Target(int(json.load(source)["websocket"].split(":")[2].split("/")[0]), False, folder)

    def endpoint(self, number):
        return f"ipc://{self.folder}/b{number}.ipc"

    def start(self, role, name, settings):
        place = os.path.join(self.folder, name)
        os.makedirs(place, mode=0o700, exist_ok=True)
        every = [f"data.directory={place}", "admin.port=0", *settings]
        with open(os.path.join(self.folder, f"{name}.log"), "a", encoding="utf-8") as log:
            return subprocess.Popen([PROGRAM, role, "--config", self.file, *itertools.chain(
                *(["--set", setting] for setting in every))], stderr=log, env=plain_environment())

    def start_broker(self, number):
        return self.start("broker", f"broker{number}", [
            "log.engine=postgres", f"log.postgres.connection={self.postgres.connection}", "log.postgres.wait=1h",
            f"backbone.endpoint={self.endpoint(number)}"])

    def owner(self):
        """The number of the broker that has the log; None: none of them."""
        try:
            text = self.postgres.ask("SELECT owner FROM fanfare.shards WHERE shard = 0")
        except SystemExit:
            return None
        return next((number for number, broker in enumerate(self.brokers)
                     if text.endswith(f"process {broker.pid}")), None)

    def stop(self):
        for process in [self.gateway, *self.brokers]:
            process.kill()
        for process in [self.gateway, *self.brokers]:
            process.wait()


class Publisher:
    """Publishes at a steady rate, whether or not it is answered."""

    def __init__(self, client, rate):
        self.client, self.rate, self.acknowledged, self.number, self.tasks = client, rate, [], 0, set()
        # What was acknowledged, by its number.
        self.numbers = set()
        self.refused = []

    async def publish(self, number):
        reply = await self.client.ask({"publish": {"channel": CHANNEL, "data": number}})
        if "error" in reply:
            self.refused.append(reply["error"]["message"])
        else:
            self.acknowledged.append(time.monotonic())
            self.numbers.add(number)

    async def run(self):
        begun = time.monotonic()
        while True:
            await asyncio.sleep(max(0, begun + self.number / self.rate - time.monotonic()))
            self.number += 1
            task = asyncio.create_task(self.publish(self.number))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)


async def clients(cluster):
    """Somebody who hears the channel, and somebody who may publish; what was heard so far, and what else was told."""
    subscriber, client = Client(), Client()
    await subscriber.open(cluster.target, "127.0.0.1", "subscriber")
    await client.open(cluster.target, "127.0.0.1", "publisher")
    heard, told = [], []


    def hear(push):
        if "pub" in push:
            heard.append(push["pub"]["data"])
        else:
            told.append(f"{str(push)[:200]} after {len(heard)}")

    subscriber.on_push = hear
    reply = await subscriber.ask({"subscribe": {"channel": CHANNEL}})
    if "error" in reply:
        raise SystemExit(str(reply["error"]))
    return subscriber, client, heard, told
