"""The client for browsers and the official Python SDK on one channel: each sees all of the other, in the same order."""

import asyncio
import json
import os

from support import connect, connection_token, encode, expect, passed, run, subscribe, until

CHANNEL = "beside"


class Browser:
    """The client for browsers, in node (Tests/WebTests/javascript/beside.mjs): commands in, what it sees out."""

    async def start(self):
        self.seen = []
        self.process = await asyncio.create_subprocess_exec(
            os.environ["NODE"], os.environ["BESIDE"], stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "TOKEN": connection_token("bob"), "CHANNEL": CHANNEL})
        self.reader = asyncio.create_task(self.read())
        await until(lambda: {"subscribed": True} in self.seen, "the client for browsers is subscribed")

    async def read(self):
        async for line in self.process.stdout:
            self.seen.append(json.loads(line))

    async def say(self, **command):
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        await self.process.stdin.drain()

    @property
    def publications(self):
        return [(one["offset"], one["user"], one["data"]) for one in self.seen if "data" in one]

    async def end(self):
        self.process.stdin.close()
        await asyncio.wait_for(self.process.wait(), 60)
        expect(self.process.returncode, 0, "exit status of the client for browsers")
        await self.reader


async def main():
    browser = Browser()
    await browser.start()
    alice = await connect("alice")
    subscription = await subscribe(alice, CHANNEL, join_leave=True)
    await until(lambda: {"join": "alice"} in browser.seen, "the client for browsers hears of alice's join")
    passed("a join of the SDK's client reaches the client for browsers")

    for number in range(10):
        await subscription.publish(encode({"from": "python", "n": number, "text": "é \u2028 \U0001f600"}))
        await browser.say(publish={"from": "browser", "n": number, "text": "é \u2028 \U0001f600"}, key=f"k{number}")
    await until(lambda: len(subscription.events.publications) == 20, "the SDK's client sees twenty publications")
    await until(lambda: len(browser.publications) == 20, "the client for browsers sees twenty publications")
    seen = [
        (publication.offset, publication.info.user, value)
        for publication, value in zip(subscription.events.publications, subscription.events.values)]
    expect(browser.publications, seen, "what both see")
    expect([offset for offset, _, _ in seen], list(range(1, 21)), "offsets")
    for user, name in (("alice", "python"), ("bob", "browser")):
        expect([v["n"] for _, u, v in seen if u == user and v["from"] == name], list(range(10)), f"order of {name}")
    passed("both see all publications in one order, with payload, offset and publisher")

    await browser.say(presence=True)
    await until(lambda: {"presence": ["alice", "bob"]} in browser.seen, "presence names both")
    passed("presence names both")
    await browser.end()
    await alice.disconnect()


run(main)
