"""The sockets of an attacker: one thread drives them all, and counts what they are answered.

What a socket does is a generator. It yields bytes to send, seconds to rest, or a function that says whether to go on,
which is asked after each read. A socket that the server closed begins anew a moment later.
"""

import collections
import heapq
import re
import selectors
import socket
import time

from wire import frame, message, token, upgrade

ANSWER = re.compile(rb'\{"id":\d+(?:,"error":\{"code":(\d+))?')
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
ERROR = b',"error":{"code":'
PONG = frame("{}")
AGAIN = 0.05


class Line:
    """One socket, and who it claims to be."""

    def __init__(self, swarm, source, user, script):
        self.swarm, self.source, self.user, self.make = swarm, source, user, script
        self.begin()

    def begin(self):
        self.out, self.rest, self.last, self.waits = memoryview(b""), b"", b"", None
        self.answers = self.heads = 0
        self.reads, self.events = True, 0
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.script = self.make(self)
        try:
            self.socket.bind((self.source, 0))
            self.socket.connect_ex(("127.0.0.1", self.swarm.port))
        except OSError:
            return self.end()
        self.swarm.seen["connections"] += 1
        self.watch(writes=True)

    def watch(self, writes):
        events = (selectors.EVENT_WRITE if writes else 0) | (selectors.EVENT_READ if self.reads else 0)
        if events == self.events:
            return
        selector, before, self.events = self.swarm.selector, self.events, events
        if not before:
            selector.register(self.socket, events, self)
        elif events:
            selector.modify(self.socket, events, self)
        else:
            selector.unregister(self.socket)

    def stop_reading(self):
        """From now on what the server sends stays where it is."""
        self.reads = False

    def write(self):
        """Goes on with the script until the socket is full, or the script waits."""
        for _ in range(16):
            if self.out:
                sent = self.socket.send(self.out)
                self.swarm.seen["bytes sent"] += sent
                self.out = self.out[sent:]
            elif self.waits and not self.waits():
                return self.watch(writes=False)
            else:
                self.waits = None
                step = next(self.script, lambda: False)
                if isinstance(step, bytes):
                    self.out = memoryview(step)
                elif callable(step):
                    self.waits = step
                else:
                    self.swarm.wake(self, step)
                    self.waits = lambda until=time.monotonic() + step: time.monotonic() >= until
        self.watch(writes=True)

    def read(self):
        chunk = self.socket.recv(1 << 18)
        if not chunk:
            raise ConnectionResetError
        self.swarm.seen["bytes received"] += len(chunk)
        self.last = (self.last + chunk[-160:])[-160:]
        self.count(self.rest + chunk)
        if b"\x81\x02{}" in chunk:
            self.out = memoryview(bytes(self.out) + PONG)
        if self.close_code:
            raise ConnectionResetError
        if self.out or self.waits and self.waits():
            self.watch(writes=True)

    @property
    def close_code(self):
        """Of a Close frame, where the stream ends with one."""
        place = self.last.rfind(b"\x88")
        body = self.last[place + 2:]
        is_close = self.heads > 0 and place >= 0 and len(body) >= 2 and self.last[place + 1] == len(body)
        return int.from_bytes(body[:2], "big") if is_close else 0

    def count(self, data):
        """Counts each answer once, also where it comes in pieces."""
        done, seen = 0, self.swarm.seen
        if not self.heads or data.startswith(b"HTTP/1.1 "):
            for found in STATUS.finditer(data):
                self.heads += 1
                seen[f"status {found.group(1).decode()}"] += 1
        for found in ANSWER.finditer(data):
            if found.end() == len(data) or not found.group(1) and ERROR.startswith(data[found.end():]):
                self.rest = data[found.start():]
                return
            done = found.end()
            self.answers += 1
            seen["answers"] += 1
            if found.group(1):
                seen[f"error {found.group(1).decode()}"] += 1
        self.rest = data[max(done, len(data) - 8):]

    def end(self):
        """The server has closed, or this side does; after a moment it begins anew."""
        if self.close_code:
            self.swarm.seen[f"close {self.close_code}"] += 1
        self.swarm.seen["ended"] += 1
        if self.events:
            self.swarm.selector.unregister(self.socket)
        self.events = 0
        self.socket.close()
        self.script = None
        self.swarm.wake(self, AGAIN)


class Swarm:
    """Any number of sockets."""

    def __init__(self, target):
        self.target, self.port = target, target.port
        self.selector, self.seen = selectors.DefaultSelector(), collections.Counter()
        self.alarms, self.lines, self.serial = [], [], 0

    def add(self, script, user="mallory", source="127.0.0.66", count=1):
        """Opens sockets that do what the script says; `user` and `source` may have a place for a number."""
        for number in range(count):
            self.lines.append(Line(self, source.format(number % 200 + 1), user.format(number), script))
        return self.lines[-count:]

    def wake(self, line, seconds):
        self.serial += 1
        heapq.heappush(self.alarms, (time.monotonic() + seconds, self.serial, line))

    def run(self, until):
        """Lets them do it until the function says so."""
        while not until():
            now = time.monotonic()
            while self.alarms and self.alarms[0][0] <= now:
                line = heapq.heappop(self.alarms)[2]
                if line.script is None:
                    line.begin()
                else:
                    line.watch(writes=True)
            timeout = min(0.05, max(0, self.alarms[0][0] - now)) if self.alarms else 0.05
            for key, events in self.selector.select(timeout):
                self.move(key.data, events)

    @staticmethod
    def move(line, events):
        try:
            if events & selectors.EVENT_READ:
                line.read()
            if events & selectors.EVENT_WRITE:
                line.write()
        except BlockingIOError:
            pass
        except OSError:
            line.end()


def signed_in(line):
    """The beginning of every script of somebody who has a token."""
    yield upgrade()
    yield lambda: line.heads > 0
    yield message({"id": 1, "connect": {"token": token(line.user)}})
    yield lambda: line.answers > 0


def pour(*messages):
    """A script: the same messages over and over, as fast as the socket takes them."""

    def script(line):
        yield from signed_in(line)
        while True:
            yield from messages

    return script


def each(make, batch=1):
    """A script: messages of `batch` commands each, the n-th command being what `make` says for n, without an end."""

    def script(line):
        yield from signed_in(line)
        number = 1
        while True:
            yield message(*({"id": n + 1, **make(n)} for n in range(number, number + batch)))
            number += batch

    return script
