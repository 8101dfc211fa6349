"""Clients with and without permessage-deflate on one channel, as the library `websockets` speaks it: all hear the same, and
a publication is compressed once for all who want it so."""

import asyncio
import http.client
import json
import os
from urllib.parse import urlsplit

from support import PROTOBUF, URL, connection_token, expect, passed, run, until
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory

CHANNEL = "compressed"


class Peer:
    """A client that says what it is told to in JSON, and keeps what comes."""

    def __init__(self, socket):
        self.socket = socket
        self.seen = []
        self.sizes = []
        self.replies = {}
        self.reader = asyncio.create_task(self.read())

    async def read(self):
        async for text in self.socket:
            for line in text.split("\n"):
                message = json.loads(line)
                if "id" in message:
                    self.replies[message["id"]] = message
                elif "push" in message and "pub" in message["push"]:
                    self.sizes.append(len(line.encode()))
                    self.seen.append(message["push"]["pub"]["data"])

    async def call(self, id, **command):
        await self.socket.send(json.dumps({"id": id, **command}))
        return await until(lambda: self.replies.get(id), f"an answer to {command}")

    async def enter(self, user):
        await self.call(1, connect={"token": connection_token(user)})
        await self.call(2, subscribe={"channel": CHANNEL})
        return self


def metric(name):
    address = urlsplit(os.environ["ADMIN_URL"])
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    try:
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().split("\n")
    finally:
        connection.close()
    return next((int(float(line.split()[-1])) for line in lines if line.startswith(name + " ")), 0)


def counts():
    names = ("fanfare_gateway_compression_input_bytes_total", "fanfare_gateway_compression_output_bytes_total")
    return tuple(metric(name) for name in names)


def deflate(**options):
    return {"compression": None, "extensions": [ClientPerMessageDeflateFactory(**options)]}


async def main():
    offers = {
        "plain": {"compression": None}, "usual": {}, "small": deflate(server_max_window_bits=9),
        "medium": deflate(server_max_window_bits=13, client_max_window_bits=9),
        "forgetful": deflate(server_no_context_takeover=True, client_no_context_takeover=True),
    }
    sockets = {
        name: await connect(URL, proxy=None, open_timeout=60, **options) for name, options in offers.items()}
    for name, socket in sockets.items():
        expect(len(socket.protocol.extensions), 0 if name == "plain" else 1, f"extensions of {name}")
    for name, bits in (("usual", 15), ("small", 9), ("medium", 12), ("forgetful", 15)):
        extension = sockets[name].protocol.extensions[0]
        expect(extension.remote_max_window_bits, bits, f"window of what {name} is sent")
        expect(extension.remote_no_context_takeover, True, f"{name} is sent messages that need no others")
        expect(extension.local_no_context_takeover, True, f"{name} sends messages that need no others")
    passed("offers are answered as they were made")

    peers = {name: await Peer(socket).enter(name) for name, socket in sockets.items()}
    texts = ["short", "x" * 30_000, "é \u2028 \U0001f600 " * 300] + [f"message {n} " * n for n in range(1, 60)]
    for number, text in enumerate(texts):
        await peers[list(peers)[number % len(peers)]].call(10 + number, publish={"channel": CHANNEL, "data": {"text": text}})
    for name, peer in peers.items():
        await until(lambda: len(peer.seen) == len(texts), f"{name} sees {len(texts)} publications")
        expect([data["text"] for data in peer.seen], texts, f"what {name} sees")
    passed("whoever publishes, with and without compression all hear the same")

    # Of what is worth compressing, in the bytes that the client without compression got.
    worth = sum(size for size in peers["plain"].sizes if size >= 128)
    await until(lambda: counts()[0] >= 3 * worth, "publications are counted for three windows")
    await peers["plain"].call(999, publish={"channel": CHANNEL, "data": {"text": "the last " * 100}})
    # When that is on the page, all that came before it is.
    counted = await until(lambda: (now := counts())[0] >= 3 * worth + 2_700 and now, "the last is counted")
    expect(counted[0] < 3.2 * worth, True, "four who want it so have a publication compressed three times, not more")
    expect(counted[1] < worth, True, "what became of it, three times, is less than it was once")
    passed("a publication is compressed once for each window")

    bomb = await connect(URL, proxy=None, open_timeout=60)
    await bomb.send("a" * (16 << 20))
    try:
        await asyncio.wait_for(bomb.recv(), 60)
    except ConnectionClosed as closing:
        expect(closing.rcvd.code, 1009, "the code for a message that is too long when it is decompressed")
    passed("a bomb of somebody who has not signed in is refused")
    for peer in peers.values():
        await peer.socket.close()
        await peer.reader


expect(PROTOBUF, False, "the wire format of this script")
run(main)
