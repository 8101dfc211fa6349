"""Clients behind a proxy that ends TLS: what they say and hear passes through, and the server knows their addresses.

The server lets each address have one connection.
"""

import asyncio
import json
import os
import signal
import ssl

from support import URL, connection_token, expect, passed, run
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

CONTEXT = ssl.create_default_context(cafile=os.environ["AUTHORITIES"])
SERVER = int(os.environ["SERVER_PID"])
# With the PROXY protocol the server turns somebody away before it has read the request, which a proxy may tell as 502.
REFUSALS = [int(status) for status in os.environ["REFUSALS"].split()]


def client(address):
    return connect(URL, ssl=CONTEXT, local_addr=(address, 0), open_timeout=60, max_size=None)


async def call(socket, command, answer):
    """Sends a command and returns its reply; what comes before it goes into the list `answer`."""
    await socket.send(json.dumps(command))
    while True:
        async with asyncio.timeout(60):
            text = await socket.recv()
        for line in text.split("\n"):
            message = json.loads(line)
            if message.get("id") == command["id"]:
                return message
            answer.append(message)


async def is_open():
    """Waits until the proxy sends anybody on: it takes a server out at its first check if that is late."""
    while True:
        try:
            async with client("127.0.0.4"):
                return
        except InvalidStatus as refusal:
            if refusal.response.status_code != 503:
                raise
            await asyncio.sleep(0.2)


async def main():
    pushed = []
    async with asyncio.timeout(120):
        await is_open()
    async with client("127.0.0.2") as first:
        reply = await call(first, {"id": 1, "connect": {"token": connection_token("ada")}}, pushed)
        passed("a client connects through the proxy: " + reply["connect"]["client"])
        await call(first, {"id": 2, "subscribe": {"channel": "news"}}, pushed)
        data = {"text": "x" * 20_000}
        await call(first, {"id": 3, "publish": {"channel": "news", "data": data}}, pushed)

        def is_there():
            return [m for m in pushed if m.get("push", {}).get("pub", {}).get("data") == data]

        if not is_there():
            await call(first, {"id": 4, "history": {"channel": "news", "limit": 1}}, pushed)
        expect(len(is_there()), 1, "publications that arrived")
        passed("a message goes in and comes back")

        try:
            async with client("127.0.0.2"):
                raise AssertionError("a second connection of one address was let in")
        except InvalidStatus as refusal:
            status = refusal.response.status_code
            expect(status in REFUSALS, True, f"the second connection of one address ends with {REFUSALS}, not {status}")
        passed("the second connection of an address is refused")

        async with client("127.0.0.3") as other:
            await call(other, {"id": 1, "connect": {"token": connection_token("bob")}}, [])
            passed("another address has a place of its own")

        os.kill(SERVER, signal.SIGTERM)
        try:
            while True:
                async with asyncio.timeout(60):
                    await first.recv()
        except ConnectionClosed as closing:
            expect(closing.rcvd.code, 3001, "code with which a server that ends closes")
        passed("a server that ends sends its clients away in order")


run(main)
