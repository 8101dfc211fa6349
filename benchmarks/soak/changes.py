"""What happens to the servers in between: new certificates, and new processes in the places of the old ones."""

import asyncio
import signal
import time

from fleet import shown_certificate

#: Seconds within which a new certificate must be shown: at once after SIGHUP, and after a look at the files.
AFTER_SIGNAL, AFTER_LOOK = 10, 45


class Changes:
    """One change after another, at a fixed rhythm. Each is told to `note` when it is over."""

    def __init__(self, soak, note, settle):
        self.soak, self.fleet, self.ledger, self.note, self.settle = soak, soak.fleet, soak.ledger, note, settle
        self.task = None

    async def run(self, begun, first, every, end):
        """The first so many seconds after the beginning, and none that is due later than `end`."""
        kinds = [("gateways replaced", self.gateways), ("certificate by SIGHUP", self.certificate_by_signal),
                 ("broker replaced", self.broker), ("certificate by its file", self.certificate_by_file)]
        number, due = 0, first
        while due < end:
            await asyncio.sleep(max(0, begun + due - time.monotonic()))
            what, change = kinds[number % len(kinds)]
            started = time.monotonic()
            is_disturbing = "replaced" in what
            self.ledger.is_disturbed = is_disturbing
            await change()
            ended = time.monotonic()
            self.note("event", what=what, begun=started - begun, took=ended - started,
                      settle=self.settle if is_disturbing else 0)
            if is_disturbing:
                await asyncio.sleep(min(self.settle, every / 2))
            self.ledger.is_disturbed = False
            number, due = number + 1, due + every

    async def gateways(self):
        """One gateway after another ends in order, sends its clients away in slots, and is followed by a new process."""
        for gateway in self.fleet.gateways:
            await self.replace(gateway)
            for person in self.soak.everybody:
                person.go_home()
            await asyncio.sleep(6)

    async def broker(self):
        await self.replace(self.fleet.broker)

    async def replace(self, server):
        code = await server.stop()
        if code != 0:
            self.ledger.fault("fault", f"the {server.name} ended with {code}")
        await server.start()

    async def certificate_by_signal(self):
        await self.certificate(AFTER_SIGNAL, is_told=True)

    async def certificate_by_file(self):
        await self.certificate(AFTER_LOOK, is_told=False)

    async def certificate(self, seconds, is_told):
        """New connections must be shown the new certificate; those that are there go on."""
        wanted = await asyncio.to_thread(self.fleet.make_certificate)
        end = time.monotonic() + seconds
        for gateway in self.fleet.gateways:
            if is_told:
                gateway.process.send_signal(signal.SIGHUP)
        for gateway in self.fleet.gateways:
            while await shown_certificate(gateway.target) != wanted:
                if time.monotonic() > end:
                    self.ledger.fault("fault", f"the {gateway.name} shows an old certificate after {seconds} s")
                    return
                await asyncio.sleep(0.5)
