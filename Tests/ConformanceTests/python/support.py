"""What the conformance scripts share: who they talk to, tokens, recorded events, and a proxy that cuts connections.

A script's checks are printed one a line. The first that fails ends it with a sentence and exit status 1.
"""

import asyncio
import http.client
import json
import logging
import os
import sys
import time
from urllib.parse import urlsplit

import jwt
from centrifuge import Client, ClientEventHandler, ReplyError, SubscriptionEventHandler

URL = os.environ["SERVER_URL"]
# Of another gateway, where there are two.
OTHER_URL = os.environ.get("OTHER_URL", URL)
SECRET = os.environ["TOKEN_SECRET"]
PROTOBUF = os.environ.get("WIRE_FORMAT") == "protobuf"

# Handlers here only record; the SDK's own warnings about lost connections are what some checks want.
logging.getLogger("centrifuge").setLevel(logging.CRITICAL)


class CheckFailed(Exception):
    """A sentence that says what was expected and what came."""


def expect(actual, expected, what):
    if actual != expected:
        raise CheckFailed(f"{what}: expected {expected!r}, got {actual!r}")


def passed(what):
    print(f"ok: {what}", flush=True)


async def until(condition, what, seconds=90.0):
    """Waits until the condition holds; a check fails where it does not hold in time."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise CheckFailed(f"did not happen within {seconds:g} s: {what}")
        await asyncio.sleep(0.01)
    return result


async def until_so(condition, what, seconds=90.0):
    """Likewise, where the condition has to be asked for."""
    deadline = time.monotonic() + seconds
    while not (result := await condition()):
        if time.monotonic() > deadline:
            raise CheckFailed(f"did not happen within {seconds:g} s: {what}")
        await asyncio.sleep(0.01)
    return result


def run(main):
    async def bounded():
        await asyncio.wait_for(main(), 300)

    try:
        asyncio.run(bounded())
    except CheckFailed as failure:
        print(f"failed: {failure}", flush=True)
        sys.exit(1)
    except asyncio.TimeoutError:
        print("failed: the script did not end within 300 s", flush=True)
        sys.exit(1)


def connection_token(user, seconds=600, secret=SECRET, **claims):
    return jwt.encode({"sub": user, "exp": int(time.time()) + seconds, **claims}, secret, algorithm="HS256")


def subscription_token(user, channel, seconds=600):
    claims = {"sub": user, "channel": channel, "exp": int(time.time()) + seconds}
    return jwt.encode(claims, SECRET, algorithm="HS256")


def encode(value):
    """A payload as the SDK wants it: in JSON a value, in Protobuf bytes."""
    return json.dumps(value).encode() if PROTOBUF else value


def decode(data):
    return json.loads(data) if PROTOBUF else data


class ClientEvents(ClientEventHandler):
    def __init__(self):
        self.connected = []
        self.disconnected = []
        self.server_subscribed = []
        self.server_publications = []

    async def on_connected(self, ctx):
        self.connected.append(ctx)

    async def on_disconnected(self, ctx):
        self.disconnected.append(ctx)

    async def on_subscribed(self, ctx):
        self.server_subscribed.append(ctx.channel)

    async def on_publication(self, ctx):
        self.server_publications.append((ctx.channel, decode(ctx.pub.data)))


class SubscriptionEvents(SubscriptionEventHandler):
    def __init__(self):
        self.subscribed = []
        self.unsubscribed = []
        self.publications = []
        self.joined = []
        self.left = []

    async def on_subscribed(self, ctx):
        self.subscribed.append(ctx)

    async def on_unsubscribed(self, ctx):
        self.unsubscribed.append(ctx)

    async def on_publication(self, ctx):
        self.publications.append(ctx.pub)

    async def on_join(self, ctx):
        self.joined.append(ctx.info)

    async def on_leave(self, ctx):
        self.left.append(ctx.info)

    @property
    def values(self):
        return [decode(publication.data) for publication in self.publications]


def new_client(url=URL, token="", get_token=None):
    # proxy=None: the server is on this machine, whatever proxy the environment names.
    return Client(
        url, ClientEvents(), token=token, get_token=get_token, use_protobuf=PROTOBUF, proxy=None, timeout=60,
        max_reconnect_delay=1)


async def call(client, method, **data):
    """The answer of a method."""
    return decode((await client.rpc(method, encode(data))).data)


def _server_api(method, body):
    address = urlsplit(os.environ["ADMIN_URL"])
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=120)
    try:
        connection.request("POST", f"/api/{method}", json.dumps(body), {"X-API-Key": os.environ["API_KEY"]})
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


async def server_api(method, **body):
    """The result of a call of the server API, as a backend makes it."""
    answer = await asyncio.to_thread(_server_api, method, body)
    if "result" not in answer:
        raise CheckFailed(f"{method} of the server API was answered {answer!r}")
    return answer["result"]


async def refusal(awaitable):
    """The code of the error that a call is answered with; None where it is answered."""
    try:
        await awaitable
    except ReplyError as error:
        return error.code
    return None


async def refused_subscription(client, channel):
    """The code with which a subscription ends that may not be; None where it may."""
    subscription = client.new_subscription(channel, SubscriptionEvents())
    await subscription.subscribe()
    events = subscription.events
    await until(lambda: events.subscribed or events.unsubscribed, f"an answer for {channel}")
    code = events.unsubscribed[0].code if events.unsubscribed else None
    await subscription.unsubscribe()
    client.remove_subscription(subscription)
    return code


async def connect(user, url=URL, **claims):
    """A client that has connected as that user."""
    client = new_client(url, token=connection_token(user, **claims))
    await client.connect()
    await until(lambda: client.events.connected, f"{user} connects")
    return client


async def subscribe(client, channel, **options):
    """A subscription that has begun."""
    subscription = client.new_subscription(channel, SubscriptionEvents(), **options)
    await subscription.subscribe()
    await until(lambda: subscription.events.subscribed, f"a subscription to {channel}")
    return subscription


class Map:
    """A map channel for an SDK that knows none: what `map.list` says, and on top of it what comes live.

    A live publication names its key in the tag `key`, and that the key is gone in the tag `removed`.
    """

    @classmethod
    async def open(cls, client, channel):
        opened = cls(client, channel)
        # Subscribed first: nothing is lost between the two, and what comes twice is told by its offset.
        opened.subscription = await subscribe(client, channel)
        await opened.read()
        return opened

    def __init__(self, client, channel):
        self.client = client
        self.channel = channel

    async def read(self):
        """The state, from all its pages."""
        self.seen = len(self.events.publications)
        page = await call(self.client, "map.list", channel=self.channel)
        self.epoch, self.offset, entries = page["epoch"], page["offset"], page["entries"]
        while "cursor" in page:
            page = await call(self.client, "map.list", channel=self.channel, cursor=page["cursor"])
            entries += page["entries"]
        self.state = {entry["key"]: entry["data"] for entry in entries}

    @property
    def events(self):
        return self.subscription.events

    @property
    def entries(self):
        """By key, in no order."""
        for publication in self.events.publications[self.seen:]:
            self.seen += 1
            # Of a map that is not kept they carry none, and the last one counts.
            if publication.offset:
                if publication.offset <= self.offset:
                    continue
                self.offset = publication.offset
            if publication.tags.get("removed") == "true":
                self.state.pop(publication.tags["key"], None)
            else:
                self.state[publication.tags["key"]] = decode(publication.data)
        return self.state

    def get(self, key):
        return self.entries.get(key, {})

    def __contains__(self, key):
        return key in self.entries

    async def ordered(self):
        """The keys in the channel's order, as the server has it."""
        page = await call(self.client, "map.list", channel=self.channel)
        return [entry["key"] for entry in page["entries"]]


class CuttingProxy:
    """A TCP proxy before the server that cuts what goes through it, and refuses more while it is shut."""

    def __init__(self, url=URL):
        rest = url.split("://", 1)[1]
        address, self.path = rest.split("/", 1)
        self.host, port = address.rsplit(":", 1)
        self.port = int(port)
        self.is_shut = False
        self.writers = set()
        self.tasks = set()

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        port = self.server.sockets[0].getsockname()[1]
        self.url = f"ws://127.0.0.1:{port}/{self.path}"
        return self

    async def __aexit__(self, *_):
        self.cut()
        self.server.close()

    async def accept(self, reader, writer):
        if self.is_shut:
            writer.transport.abort()
            return
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection(self.host, self.port)
        except OSError:
            writer.transport.abort()
            return
        self.writers |= {writer, upstream_writer}
        for source, sink in ((reader, upstream_writer), (upstream_reader, writer)):
            task = asyncio.ensure_future(self.pump(source, sink))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def pump(self, reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    def cut(self):
        """Resets every connection: neither side gets a Close frame."""
        for writer in self.writers:
            writer.transport.abort()
        self.writers = set()
