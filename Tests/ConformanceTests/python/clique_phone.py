"""A phone of somebody who uses Clique."""

from support import OTHER_URL, URL, Map, call, connect, decode, expect, subscribe, until


class Device:
    """A phone: connected, with its person's lists open, and with a conversation once that may be opened."""

    @classmethod
    async def open(cls, user, proxy=None, url=URL):
        device = cls()
        device.user = user
        device.proxy = proxy
        device.url = url
        device.client = await connect(user, url=proxy.url if proxy else url)
        device.list = await Map.open(device.client, f"clique.list:{user}")
        device.blocked = await Map.open(device.client, f"clique.blocked:{user}")
        device.crossings = await Map.open(device.client, f"clique.crossings:{user}")
        return device

    async def enter(self, conversation):
        self.conversation = conversation
        self.chat = await subscribe(self.client, f"clique.chat:{conversation}", join_leave=True)
        self.receipts = await Map.open(self.client, f"clique.receipts:{conversation}")
        self.typing = await Map.open(self.client, f"clique.typing:{conversation}")

    async def leave(self):
        """The person leaves the conversation's screen."""
        for subscription in (self.chat, self.receipts.subscription, self.typing.subscription):
            await subscription.unsubscribe()
            self.client.remove_subscription(subscription)

    async def say(self, text, **more):
        return await call(self.client, "clique.send", conversation=self.conversation, text=text, **more)

    async def do(self, method, **data):
        return await call(self.client, f"clique.{method}", **data)

    async def remove(self, offset):
        channel = f"clique.chat:{self.conversation}"
        return await call(self.client, "publication.delete", channel=channel, offset=offset)

    @property
    def texts(self):
        return [value and value.get("text") for value in self.chat.events.values]

    @property
    def entry(self):
        return self.list.get(self.conversation)

    def has_seen_typing(self, user):
        told = self.typing.events.publications
        return any(p.tags.get("key") == user and p.tags.get("removed") != "true" for p in told)

    async def history(self):
        page = await self.client.history(f"clique.chat:{self.conversation}", limit=100)
        return page.publications

    async def history_texts(self):
        return [(decode(publication.data) or {}).get("text") for publication in await self.history()]


async def phones(user, proxy=None):
    """Two of one person: through one gateway each, where there are two. The second behind the proxy."""
    return [await Device.open(user), await Device.open(user, proxy, OTHER_URL)]


async def befriend(one, other):
    """An open conversation of two people, whose phones are given, and on all of them on the screen."""
    sent = await one[0].do("send", to=other[0].user, text=f"hello {other[0].user}")
    await other[0].do("accept", person=one[0].user)
    for device in one + other:
        await device.enter(sent["conversation"])
    await all_see(one + other, lambda device: device.entry.get("state") == "active", "the conversation is open")
    return sent["conversation"]


async def close(*devices):
    """The end of a script: no connection was ended for good before."""
    for device in devices:
        expect(device.client.events.disconnected, [], f"connections of {device.user} that were ended for good")
        await device.client.disconnect()


def told_since(map, count, but):
    """The keys that a map told of since, but for what it had told already: an entry may be told twice."""
    publications = map.events.publications[count:]
    return {p.tags["key"] for p in publications if p.tags.get("removed") == "true" or decode(p.data) != but}


async def all_see(devices, condition, what):
    for number, device in enumerate(devices):
        await until(lambda: condition(device), f"{what}, on phone {number + 1} of {device.user}")
