#!/usr/bin/env python3
"""Measures the spine of a running Fanfare server from outside, until fanfare-bench does it better.

    measure.py idle    URL PID [--connections N]         memory of the server for each idle connection
    measure.py latency URL [--messages N]                one publisher to one subscriber, one message at a time
    measure.py publish URL --channel C [--publishers N]  acknowledged publications per second over WebSocket
    measure.py fanout  URL PID [--connections N]         CPU of the server for each delivery, 1 -> N
    measure.py service ENDPOINT --channel C [--publishers N]   the same over ZeroMQ (needs pyzmq)

URL is ws://127.0.0.1:PORT/connection/websocket. Tokens are signed here: give the server's secret in MEASURE_SECRET.
`publish` without --subscribed needs --set channel.without_namespace.allow_publish_for_client=true (or the namespace's).
`idle` and `fanout` answer no pings: with many connections give the server --set client.ping_interval=5m.
Only the standard library is used, but for `service`. Generator and server share the machine: read ratios, not figures.
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import select
import socket
import statistics
import struct
import sys
import time
import urllib.parse


def token(user):
    secret = os.environ.get("MEASURE_SECRET", "")
    if not secret:
        sys.exit("set MEASURE_SECRET to the server's secret: the contents of secret.key in its data folder")
    encode = lambda value: base64.urlsafe_b64encode(value).rstrip(b"=")
    head = encode(b'{"alg":"HS256","typ":"JWT"}') + b"." + encode(json.dumps({"sub": user}).encode())
    return (head + b"." + encode(hmac.new(secret.encode(), head, hashlib.sha256).digest())).decode()


class Client:
    """As little of a WebSocket client as the measurement needs; blocking."""

    def __init__(self, url, source=None):
        parts = urllib.parse.urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), source_address=source)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            sys.exit(f"the server refused the WebSocket: {head.decode()}")

    def fill(self):
        data = self.socket.recv(1 << 18)
        if not data:
            sys.exit("the server closed the connection")
        self.buffer += data

    @staticmethod
    def frame(payload):
        # A mask of zeros is a mask: the payload stays as it is, and Python has less to do.
        if len(payload) < 126:
            return struct.pack("!BB", 0x81, 0x80 | len(payload)) + b"\0\0\0\0" + payload
        return struct.pack("!BBH", 0x81, 0x80 | 126, len(payload)) + b"\0\0\0\0" + payload

    def send(self, command):
        self.socket.sendall(self.frame(json.dumps(command).encode()))

    def message(self):
        """The payload of the next whole frame."""
        while True:
            data = self.buffer
            if len(data) >= 2:
                length, start = data[1] & 127, 2
                if length == 126 and len(data) >= 4:
                    length, start = struct.unpack("!H", data[2:4])[0], 4
                elif length == 127 and len(data) >= 10:
                    length, start = struct.unpack("!Q", data[2:10])[0], 10
                if len(data) >= start + length and (data[1] & 127) < 126 or start > 2 and len(data) >= start + length:
                    self.buffer = data[start + length:]
                    return data[start:start + length]
            self.fill()

    def connect(self, user):
        self.send({"id": 1, "connect": {"token": token(user)}})
        reply = json.loads(self.message().split(b"\n")[0])
        if "error" in reply:
            sys.exit(f"connect failed: {reply}")

    def subscribe(self, channel):
        self.send({"id": 2, "subscribe": {"channel": channel}})
        while True:
            for line in self.message().split(b"\n"):
                reply = json.loads(line)
                if reply.get("id") == 2:
                    if "error" in reply:
                        sys.exit(f"subscribe failed: {reply}")
                    return


def resident(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        for line in file:
            if line.startswith("Pss_Anon:") or line.startswith("Private_Dirty:"):
                return int(line.split()[1]) * 1024


def idle(arguments):
    before = resident(arguments.pid)
    clients = []
    started = time.monotonic()
    for number in range(arguments.connections):
        # Loopback has 127.0.0.0/8: another source address for each 10,000, or ports run out.
        client = Client(arguments.url, source=(f"127.0.0.{1 + number // 10000}", 0))
        client.connect(f"u{number}")
        client.subscribe(f"room{number // 10}")
        clients.append(client)
    seconds = time.monotonic() - started
    time.sleep(2)
    after = resident(arguments.pid)
    print(f"{len(clients)} connections, each with a token and one channel, in {seconds:.1f} s")
    print(f"server memory {before >> 10} KiB -> {after >> 10} KiB: {(after - before) / len(clients) / 1024:.1f} KiB each")


def latency(arguments):
    publisher, subscriber = Client(arguments.url), Client(arguments.url)
    publisher.connect("p")
    subscriber.connect("s")
    channel = arguments.channel
    publisher.subscribe(channel)
    subscriber.subscribe(channel)
    times = []
    for number in range(arguments.messages + 200):
        payload = json.dumps({"id": 10 + number, "publish": {"channel": channel, "data": {"n": number, "pad": "x" * 90}}})
        frame = Client.frame(payload.encode())
        started = time.perf_counter()
        publisher.socket.sendall(frame)
        while b'"pub"' not in subscriber.message():
            pass
        times.append(time.perf_counter() - started)
        done = False
        while not done:
            done = any(b'"id":%d,' % (10 + number) in line for line in publisher.message().split(b"\n"))
        time.sleep(0.001)
    times = sorted(times[200:])
    print(f"1 -> 1 at rest, {len(times)} messages of 128 B: median {statistics.median(times) * 1e6:.0f} us, "
          f"p99 {times[int(len(times) * 0.99)] * 1e6:.0f} us, max {times[-1] * 1e6:.0f} us")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fanout(arguments):
    """50 publications of 128 B a second to N subscribers; every byte that arrives is counted."""
    channel = arguments.channel
    publisher = Client(arguments.url)
    publisher.connect("p")
    publisher.subscribe(channel)
    poll = select.epoll()
    readers = {}
    for number in range(arguments.connections):
        client = Client(arguments.url, source=(f"127.0.0.{1 + number // 10000}", 0))
        client.connect(f"u{number}")
        client.subscribe(channel)
        client.socket.setblocking(False)
        poll.register(client.socket, select.EPOLLIN)
        readers[client.socket.fileno()] = client.socket
    time.sleep(1)
    for descriptor, _ in poll.poll(0, 100000):
        readers[descriptor].recv(1 << 20)  # Joins of those who came later.
    data = '{"pad":"' + "x" * 118 + '"}'
    arrived = 0
    cpu, started, sent = cpu_seconds(arguments.pid), time.monotonic(), 0
    count = int(50 * arguments.seconds)
    while sent < count or time.monotonic() < started + arguments.seconds + 1:
        if sent < count and time.monotonic() >= started + sent / 50:
            publisher.socket.sendall(Client.frame(
                ('{"id":%d,"publish":{"channel":"%s","data":%s}}' % (100000 + sent, channel, data)).encode()))
            sent += 1
        for descriptor, _ in poll.poll(0.005, 4096):
            arrived += readers[descriptor].recv(1 << 20).count(b'"pub":{')
    cpu = cpu_seconds(arguments.pid) - cpu
    expected = count * arguments.connections
    print(f"1 -> {arguments.connections}, {count} publications of 128 B at 50/s: {arrived} of {expected} deliveries, "
          f"{cpu / max(1, arrived) * 1e6:.1f} us of server CPU each")


def publish(arguments):
    """Each publisher keeps a window of commands under way; several stand in one frame, as SDKs batch them."""
    clients = []
    for number in range(arguments.publishers):
        client = Client(arguments.url)
        client.connect(f"p{number}")
        if arguments.subscribed:
            client.subscribe(f"{arguments.channel}{number}")
        clients.append(client)
    window, batch = arguments.window, min(arguments.window, 50)
    next_id = [10] * len(clients)
    waiting = [0] * len(clients)
    acknowledged = 0
    started = time.monotonic()
    end = started + arguments.seconds
    sockets = {client.socket: index for index, client in enumerate(clients)}
    while time.monotonic() < end:
        for index, client in enumerate(clients):
            while waiting[index] + batch <= window:
                lines = []
                for _ in range(batch):
                    lines.append('{"id":%d,"publish":{"channel":"%s%d","data":{"pad":"%s"}}}'
                                 % (next_id[index], arguments.channel, index, "x" * 100))
                    next_id[index] += 1
                client.socket.sendall(Client.frame("\n".join(lines).encode()))
                waiting[index] += batch
        readable, _, _ = select.select(list(sockets), [], [], 1)
        for ready in readable:
            index = sockets[ready]
            client = clients[index]
            client.fill()
            count = client.buffer.count(b'"publish":{}')
            if b'"error"' in client.buffer:
                sys.exit(f"an error: {client.buffer[:300]}")
            # What follows the last whole acknowledgement may be the beginning of another.
            if count:
                client.buffer = client.buffer[client.buffer.rfind(b'"publish":{}') + 12:]
            waiting[index] -= count
            acknowledged += count
    seconds = time.monotonic() - started
    print(f"{len(clients)} publisher(s) over WebSocket on {arguments.channel}N, window {window}: "
          f"{acknowledged / seconds:,.0f} acknowledged publications/s")


def service(arguments):
    import zmq

    context = zmq.Context()
    sockets = []
    for _ in range(arguments.publishers):
        dealer = context.socket(zmq.DEALER)
        dealer.connect(arguments.url)
        sockets.append(dealer)
    poller = zmq.Poller()
    for dealer in sockets:
        poller.register(dealer, zmq.POLLIN)
    payload = json.dumps({"pad": "x" * 100}).encode()
    waiting = {dealer: 0 for dealer in sockets}
    acknowledged, number = 0, 0
    started = time.monotonic()
    end = started + arguments.seconds
    while time.monotonic() < end:
        for index, dealer in enumerate(sockets):
            parameters = json.dumps({"channel": f"{arguments.channel}{index}"}).encode()
            while waiting[dealer] < arguments.window:
                number += 1
                dealer.send_multipart([b"%d" % number, b"publish", parameters, payload])
                waiting[dealer] += 1
        for dealer, _ in poller.poll(1000):
            while True:
                try:
                    frames = dealer.recv_multipart(zmq.DONTWAIT)
                except zmq.Again:
                    break
                if frames[1] != b"ok":
                    sys.exit(f"an error: {frames}")
                waiting[dealer] -= 1
                acknowledged += 1
    seconds = time.monotonic() - started
    print(f"{len(sockets)} publisher(s) over ZeroMQ on {arguments.channel}N, window {arguments.window}: "
          f"{acknowledged / seconds:,.0f} acknowledged publications/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", choices=["idle", "latency", "fanout", "publish", "service"])
    parser.add_argument("url")
    parser.add_argument("pid", nargs="?", type=int)
    parser.add_argument("--connections", type=int, default=10000)
    parser.add_argument("--messages", type=int, default=3000)
    parser.add_argument("--publishers", type=int, default=1)
    parser.add_argument("--window", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--channel", default="bench")
    parser.add_argument("--subscribed", action="store_true", help="publishers also get what they publish")
    arguments = parser.parse_args()
    {"idle": idle, "latency": latency, "fanout": fanout, "publish": publish, "service": service}[arguments.scenario](arguments)


main()
