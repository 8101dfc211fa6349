"""A phone of somebody who uses State."""

import json

from support import OTHER_URL, URL, Map, call, connect, decode, expect, subscribe, until


class Device:
    """Connected, with its person's threads and events."""

    @classmethod
    async def open(cls, user, proxy=None, url=URL):
        device = cls()
        device.user = user
        device.proxy = proxy
        device.client = await connect(user, url=proxy.url if proxy else url)
        device.threads = await Map.open(device.client, f"state.threads:{user}")
        device.events = await subscribe(device.client, f"state.events:{user}")
        return device

    async def do(self, method, **data):
        return await call(self.client, f"state.{method}", **data)

    def phase(self, other):
        return self.threads.get(other).get("phase", "idle")

    def heard(self, other):
        """The phases that events told of, in order."""
        return [event["event"] for event in self.events.events.values if event["with"] == other]

    @property
    def everything(self):
        """All that the channels ever told this phone."""
        told = [decode(p.data) for p in self.threads.events.publications + self.events.events.publications]
        return json.dumps([told, self.threads.entries], ensure_ascii=False)

    def lose_network(self):
        self.opened = [len(events.subscribed) for events in self.subscribed]
        self.proxy.is_shut = True
        self.proxy.cut()

    async def find_network(self):
        """Events are recovered. Threads are read again: of them the server keeps no history, which would outlive them."""
        self.proxy.is_shut = False
        for events, before in zip(self.subscribed, self.opened):
            await until(lambda: len(events.subscribed) > before, f"{self.user}'s phone is back")
        back = self.events.events.subscribed[-1]
        expect((back.was_recovering, back.recovered), (True, True), "recovery of events")
        await self.threads.read()

    @property
    def subscribed(self):
        return [self.threads.events, self.events.events]


async def phones(user, proxy=None):
    """Two of one person: through one gateway each, where there are two. The second behind the proxy."""
    return [await Device.open(user), await Device.open(user, proxy, OTHER_URL)]


async def all_hear(devices, other, event):
    """What was announced stays so, however soon the phase is over."""
    for number, device in enumerate(devices):
        await until(lambda: event in device.heard(other), f"that it is {event}, on phone {number + 1} of {device.user}")


async def all_see(devices, other, phase):
    for number, device in enumerate(devices):
        await until(lambda: device.phase(other) == phase, f"{phase}, on phone {number + 1} of {device.user}")
