"""Those who connect: people who stay and come back, slow ones, and visitors."""

import asyncio
import random
import socket

from ledger import Ear
from wire import Client, token

FAILURES = (ConnectionError, OSError, asyncio.TimeoutError, asyncio.IncompleteReadError)
TEMPORARY = (100, 111)
#: Seconds after which somebody who is still there gets a new token; those of `wire` hold for an hour.
REFRESH = 2400


class Line(Client):
    """A connection whose answers can be looked at before anything that comes behind them."""

    def __init__(self, on_push):
        super().__init__()
        self.at_once, self.on_push, self.writer, self.task = {}, on_push, None, None

    def take(self, reply):
        look = self.at_once.pop(reply.get("id"), None) if reply else None
        if look:
            look(reply)
        super().take(reply)

    def ask_at_once(self, command, look):
        """Asks, and has the answer looked at as it is read."""
        self.at_once[self.last + 1] = look
        return self.ask(command)

    def end(self):
        """Drops the connection without a word. Whoever waits for an answer is told."""
        if self.task:
            self.task.cancel()
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(ConnectionError("the connection was left"))
        if self.writer:
            self.writer.transport.abort()


class Person:
    """Somebody who is on some channels, and comes back there whenever the connection is gone."""

    is_slow = False

    def __init__(self, soak, user, home, channels=()):
        self.soak, self.ledger, self.user, self.home = soak, soak.ledger, user, home
        self.ears = {}
        for channel in channels:
            self.listen(channel)
        self.line, self.place, self.online, self.leave = None, None, asyncio.Event(), asyncio.Event()
        self.tasks = set()

    def listen(self, channel):
        """One more channel, to which this person is still to be subscribed."""
        self.ears[channel] = Ear(self, channel, self.soak.subjects_of(channel), self.ledger)

    async def run(self):
        """Connects again and again."""
        is_first = True
        while True:
            self.leave.clear()
            line, is_there = Line(self.push), False
            try:
                self.place = self.soak.fleet.choose(self.home)
                await asyncio.wait_for(line.open(self.place.target, "127.0.0.1", self.user, reconnects=True), 15)
                self.line = line
                for ear in self.ears.values():
                    await self.subscribe(ear)
                self.online.set()
                self.ledger.count("connections" if is_first else "returns")
                is_first, is_there = False, True
                await self.stay(line)
            except FAILURES as error:
                # A connection that is there may break, above all that of somebody who did not read.
                if is_there:
                    self.ledger.count("broken")
                else:
                    self.ledger.trouble(f"{self.user} could not connect: {type(error).__name__} {error}")
            finally:
                self.online.clear()
                line.end()
            await asyncio.sleep(random.uniform(0.02, 0.2))

    async def stay(self, line):
        """Until the connection is gone, or left."""
        leaving = asyncio.create_task(self.leave.wait())
        try:
            while not (line.task.done() or leaving.done()):
                await asyncio.wait({line.task, leaving}, timeout=REFRESH, return_when=asyncio.FIRST_COMPLETED)
                if not (line.task.done() or leaving.done()):
                    await self.refresh(line)
        finally:
            leaving.cancel()
        error = line.task.exception() if line.task.done() else None
        if error and not isinstance(error, OSError):
            self.ledger.fault("fault", f"{self.user} was told what is no message: {error}")

    async def refresh(self, line):
        """A new token, before the one that the connection has ends."""
        reply = await line.ask({"refresh": {"token": token(self.user)}})
        self.ledger.count("refreshes")
        if "error" in reply:
            self.ledger.fault("fault", f"{self.user} could not refresh: {reply['error']}")

    async def ask(self, command):
        """Asks as soon as there is a connection."""
        await self.online.wait()
        return await self.line.ask(command)

    async def subscribe(self, ear):
        """Subscribes, and recovers what was missed."""
        line = self.line
        for _ in range(100):
            command = {"channel": ear.channel}
            if ear.epoch is not None:
                command.update(recover=True, epoch=ear.epoch, offset=ear.offset)
            reply = await line.ask_at_once({"subscribe": command}, lambda reply: (
                ear.is_subscribed(reply["subscribe"]) if "subscribe" in reply else None))
            code = reply.get("error", {}).get("code")
            if code in (None, 105):
                return
            if code not in TEMPORARY:
                break
            await asyncio.sleep(0.3)
        self.ledger.fault("fault", f"{self.user} could not subscribe to {ear.channel}: {reply['error']}")

    def push(self, push):
        """What the server says by itself."""
        ear = self.ears.get(push.get("channel"))
        if "pub" in push and ear:
            ear.take(push["pub"])
        elif "reconnect" in push:
            self.ledger.count("slots")
            self.go(push["reconnect"].get("after", 0) / 1000)
        elif "unsubscribe" in push and ear:
            if push["unsubscribe"].get("code") == 2500:
                self.ledger.count("unsubscribes")
                task = asyncio.create_task(self.again(ear))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
            else:
                self.ledger.fault("fault", f"{self.user} was unsubscribed: {push['unsubscribe']}")

    def go(self, seconds):
        """Leaves this connection after a while, if it is still there, and comes again."""
        line = self.line
        asyncio.get_running_loop().call_later(seconds, lambda: line is self.line and self.leave.set())

    def go_home(self):
        """Moves back to the gateway that was away, some time soon, so that both have their share."""
        if self.online.is_set() and self.place is not self.soak.fleet.choose(self.home):
            self.go(random.uniform(0, 5))

    async def again(self, ear):
        try:
            await self.subscribe(ear)
        except FAILURES:
            self.leave.set()


class SlowPerson(Person):
    """Somebody who reads nothing for a while, again and again. Is told of gaps, or of nothing for long."""

    is_slow = True

    async def stay(self, line):
        line.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        staying, ending = asyncio.create_task(super().stay(line)), asyncio.create_task(self.soak.ending.wait())
        try:
            while not staying.done():
                await asyncio.wait({staying}, timeout=random.uniform(2, 10))
                if staying.done() or self.soak.is_ending:
                    break
                line.writer.transport.pause_reading()
                await asyncio.wait({ending}, timeout=random.uniform(2, 25))
                line.writer.transport.resume_reading()
            await staying
        finally:
            staying.cancel()
            ending.cancel()


async def visit(soak, number):
    """A visitor: comes, looks around in a room, says something, and goes, politely or not."""
    user = f"visitor{number % soak.visitors}"
    line = Line(lambda push: None)
    room, own = f"room:{number % soak.rooms}", f"guest:{number % soak.visitors}"
    try:
        place = soak.fleet.choose(number)
        await asyncio.wait_for(line.open(place.target, "127.0.0.1", user), 15)
        replies = [await line.ask({"subscribe": {"channel": room}}), await line.ask({"subscribe": {"channel": own}}),
                   await line.ask({"presence": {"channel": room}}),
                   await line.ask({"history": {"channel": room, "limit": 20}}),
                   await line.ask({"publish": {"channel": own, "data": number}})]
        errors = [reply["error"] for reply in replies if "error" in reply]
        if errors:
            soak.ledger.trouble(f"a visitor was refused: {errors[0]}")
        soak.ledger.count("visits")
        await asyncio.wait({line.task}, timeout=random.expovariate(1))
        if number % 2 and not line.task.done():
            line.close()
            return
    except FAILURES as error:
        soak.ledger.trouble(f"a visitor could not come: {type(error).__name__} {error}")
    line.end()
