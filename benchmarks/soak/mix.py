"""What goes on in a soak: publications of clients and of a backend, conversations of Clique, exchanges of State, drops."""

import asyncio
import json
import random
import ssl
import time

from fleet import API_KEY, Fleet
from ledger import Ledger, Subject
from people import FAILURES, TEMPORARY, Person, SlowPerson, visit
from report import key_of
from wire import insecure, token

#: Publications in a conversation of Clique that are there before anything is measured: as many as one keeps.
CLIQUE_KEPT = 10_000


async def ended(tasks):
    """Cancels tasks. One whose answer comes in the same moment hears the answer alone, so it is told again."""
    while waiting := [task for task in tasks if not task.done()]:
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting, timeout=0.5)
    await asyncio.gather(*tasks, return_exceptions=True)


class Refused(Exception):
    """An answer with an error that is not temporary."""


class Backend:
    """A connection to the server API of the broker, which is opened anew when it is gone."""

    def __init__(self, fleet):
        self.fleet, self.reader, self.writer = fleet, None, None

    async def ask(self, method, body):
        try:
            return await asyncio.wait_for(self.exchange(method, json.dumps(body).encode()), 15)
        except BaseException:
            if self.writer:
                self.writer.transport.abort()
            self.writer = None
            raise

    async def exchange(self, method, body):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.fleet.broker.admin_port)
        self.writer.write(f"POST /api/{method} HTTP/1.1\r\nHost: x\r\nX-API-Key: {API_KEY}\r\n"
                          f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        if not head.startswith("http/1.1 200"):
            raise ConnectionError(head.split("\r\n")[0])
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        return json.loads(await self.reader.readexactly(length))


async def upload(target, user, picture, body):
    """Puts a picture of State. Returns the status."""
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port, ssl=insecure())
    try:
        writer.write(f"PUT /state/pictures?id={picture} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                     f"Authorization: Bearer {token(user)}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        return int((await reader.readuntil(b"\r\n\r\n")).split(b" ")[1])
    finally:
        writer.transport.abort()


class Soak:
    """The mix at a load: 1 is some hundred clients, 400 deliveries a second and three visitors a second."""

    def __init__(self, folder, load, is_short):
        self.fleet, self.ledger, self.load = Fleet(folder), Ledger(), load
        self.rooms, self.visitors = max(1, round(20 * load)), 500
        self.kept_of_clique = 200 if is_short else CLIQUE_KEPT
        self.subjects, self.people, self.pens, self.tasks = [], [], [], []
        self.ending, self.backend = asyncio.Event(), Backend(self.fleet)
        many = lambda number: max(1, round(number * load))
        self.lines = [(f"room{number}", f"room:{number}", False, 0.5) for number in range(self.rooms)]
        self.lines += [("busy", "busy:1", False, 10), ("bulk", "bulk:1", False, 10), ("news", "news:1", True, 5)]
        self.lines += [(f"chat{number}", f"chat:{number}", True, 1) for number in range(many(10))]
        for name, channel, is_kept, _ in self.lines:
            self.subjects.append(Subject(name, channel, is_kept))
        for number in range(many(80)):
            channels = [f"room:{number % self.rooms}"]
            channels += ["busy:1"] if number % 8 < 3 else []
            channels += ["news:1"] if number % 8 == 3 else []
            channels += [f"chat:{number // 4}"] if number % 4 < 2 and number // 4 < many(10) else []
            self.people.append(Person(self, f"person{number}", number, channels))
        self.people += [SlowPerson(self, f"slow{number}", number, ["bulk:1"]) for number in range(many(4))]
        self.pens = [Person(self, f"pen{number}", number) for number in range(4)]
        self.talkers = [Person(self, f"talker{number}", number // 2) for number in range(4)]
        self.senders = [Person(self, f"sender{number}", number) for number in range(4)]

    def subjects_of(self, channel):
        return [subject for subject in self.subjects if subject.channel == channel]

    @property
    def is_ending(self):
        return self.ending.is_set()

    @property
    def everybody(self):
        return self.people + self.pens + self.talkers + self.senders

    def begin(self, work):
        """Runs something until the end; what it fails by ends the soak."""
        task = asyncio.create_task(work)
        self.tasks.append(task)
        return task

    async def start(self):
        """Everybody comes, conversations are filled, and the publications begin."""
        for person in self.everybody:
            self.begin(person.run())
        for person in self.everybody:
            await asyncio.wait_for(person.online.wait(), 60)
        for first in (0, 2):
            await self.converse(*self.talkers[first:first + 2])
        for number, (line, subject) in enumerate(zip(self.lines, self.subjects)):
            self.begin(self.publish(subject, self.post(subject, number), line[3]))
        for first in (0, 2):
            self.begin(self.exchange(*self.senders[first:first + 2]))
        for work in (self.visits(), self.drops(), self.watch()):
            self.begin(work)

    # Publications

    def post(self, subject, number):
        """How publications of a line get out: those of the backend by its API, the others by one of the pens."""
        if subject.name == "news":
            return lambda text, key: self.backend.ask("publish", {
                "channel": subject.channel, "data": {"text": text}, "idempotency_key": key})
        fill = "x" * (8000 if subject.name == "bulk" else 100)
        pen = self.pens[number % len(self.pens)]
        return lambda text, key: pen.ask({"publish": {
            "channel": subject.channel, "data": {"text": text, "fill": fill}, "idempotency_key": key}})

    async def publish(self, subject, post, rate):
        """Publishes one number after another at the rate; what is late is sent late and counts from when it was due."""
        due, number = time.monotonic() + random.uniform(0, 1 / rate), 0
        while not self.is_ending:
            await asyncio.sleep(max(0, due - time.monotonic()))
            number += 1
            text = f"{subject.name} {number} {due:.6f}"
            while not await self.attempt(subject, post, text, number):
                await asyncio.sleep(0.2)
            due += 1 / rate

    async def attempt(self, subject, post, text, number):
        """Whether this number is through with. Where keys outlive a broker it is tried until it is acknowledged."""
        try:
            reply = await post(text, f"{subject.name}-{number}")
            if "error" not in reply:
                subject.acknowledged = number
                self.ledger.count("acknowledged")
                return True
            if reply["error"]["code"] in TEMPORARY:
                self.ledger.trouble(f"{subject.name} was refused for now: {reply['error']}")
            else:
                self.ledger.fault("fault", f"{subject.name} was refused: {reply['error']}")
        except FAILURES:
            self.ledger.count("unanswered")
        if subject.is_kept:
            self.ledger.count("repeated")
            return False
        subject.abandoned.append(number)
        self.ledger.count("abandoned")
        return True

    # Apps

    async def call(self, person, method, /, **data):
        """A call of an app, with its answer. Raises `Refused`."""
        reply = await person.ask({"rpc": {"method": method, "data": data}})
        if "error" in reply:
            raise Refused(f"{method}: {reply['error']}")
        return reply["rpc"].get("data", {})

    async def converse(self, one, other):
        """Two people of Clique talk. Their conversation is as full as one gets before anything is measured."""
        chat = (await self.call(one, "clique.send", to=other.user, text="hello"))["conversation"]
        await self.call(other, "clique.accept", person=one.user)
        # Each is as large as what takes its place later, or the database would grow for as long as that goes on: hours.
        for first in range(10_000, 10_000 + self.kept_of_clique, 100):
            await asyncio.gather(*(
                self.call(one, "clique.send", conversation=chat, key=f"{one.user}-{number}x",
                          text=f"{one.user} {number} {time.monotonic():.6f}")
                for number in range(first, first + 100)))
        channel = f"clique.chat:{chat}"
        subjects = [Subject(f"{person.user}", channel, True) for person in (one, other)]
        self.subjects += subjects
        for person, subject in zip((one, other), subjects):
            person.listen(channel)
        for person, subject in zip((one, other), subjects):
            await person.subscribe(person.ears[channel])
            self.begin(self.publish(subject, self.tell(person, chat), 0.5))

    def tell(self, person, chat):
        return lambda text, key: person.ask({"rpc": {"method": "clique.send", "data": {
            "conversation": chat, "text": text, "key": key}}})

    async def exchange(self, one, other):
        """Two people of State exchange pictures again and again."""
        number = 0
        while not self.is_ending:
            number += 1
            try:
                for sender, receiver, phase in ((one, other, "sent"), (other, one, "revealed")):
                    found = await self.send(sender, receiver, number)
                    if found != phase:
                        self.ledger.trouble(f"an exchange of State was {found} and not {phase}")
                for person, with_whom in ((one, other), (other, one)):
                    await self.call(person, "state.seen", **{"with": with_whom.user})
                self.ledger.count("exchanges")
            except (*FAILURES, Refused) as error:
                self.ledger.trouble(f"an exchange of State failed: {type(error).__name__} {error}")
            # Longer than an answer may take and a reveal lasts, so that the next one begins with nothing.
            await asyncio.sleep(9)

    async def send(self, sender, receiver, number):
        """Sends two pictures. Returns the phase that this leads to."""
        await self.call(sender, "state.begin", to=receiver.user)
        pictures = {}
        for side in ("front", "rear"):
            pictures[side] = f"{random.getrandbits(128):032x}"
            target = self.fleet.choose(sender.home).target
            status = await asyncio.wait_for(upload(target, sender.user, pictures[side],
                                                   b"\xff\xd8\xff\xe0" + bytes(20_000)), 15)
            if status != 201:
                raise Refused(f"a picture was answered {status}")
        return (await self.call(sender, "state.send", to=receiver.user, key=f"{sender.user}{number}",
                                **pictures))["phase"]

    # Coming and going

    async def visits(self):
        number, under_way = 0, set()
        while not self.is_ending:
            await asyncio.sleep(random.expovariate(3 * self.load))
            number += 1
            if len(under_way) < 200:
                task = asyncio.create_task(visit(self, number))
                under_way.add(task)
                task.add_done_callback(under_way.discard)
        await asyncio.gather(*under_way)

    async def drops(self):
        """Every now and then a connection breaks, and whoever had it comes back and recovers."""
        while not self.is_ending:
            await asyncio.sleep(random.expovariate(0.5 * self.load))
            person = random.choice(self.people)
            if person.online.is_set():
                self.ledger.count("drops")
                person.leave.set()

    async def watch(self):
        """How late this program itself is."""
        while True:
            due = time.monotonic() + 0.05
            await asyncio.sleep(0.05)
            self.ledger.lateness[key_of(time.monotonic() - due)] += 1

    def look(self):
        """Looks for publications that were acknowledged long ago and have not come. Every ten seconds or less often."""
        for person in self.everybody:
            if person.online.is_set() and not person.is_slow:
                for ear in person.ears.values():
                    ear.look()
        for subject in self.subjects:
            subject.before = [subject.before[1], subject.acknowledged]

    async def finish(self):
        """No more publications; everybody hears what is still to come."""
        self.ending.set()
        end = time.monotonic() + 45
        behind = lambda: [found for person in self.everybody for ear in person.ears.values()
                          for found in ear.behind(lambda subject: subject.acknowledged)]
        await asyncio.sleep(1)
        while behind() and time.monotonic() < end:
            await asyncio.sleep(0.2)
        for subject, number in behind():
            self.ledger.fault("lost", f"somebody has not heard {number} of {subject.name} at the end")

    async def leave(self):
        """Everybody goes, without waiting."""
        await ended(self.tasks)
