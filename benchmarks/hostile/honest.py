"""What an honest client sees for a while, and how much of a difference is too much."""

import asyncio
import time

from wire import Client

HONEST = "127.0.0.7"
# An attacker takes a core of the machine too, so an honest client may notice that much.
LATENCY_FACTOR = 10
# Seconds below which a p99 is as good as none: a shared machine makes such differences by itself.
FLOORS = {"delivery": 0.005, "sign-in": 0.010, "durable": 0.020}
MEMORY_DURING, MEMORY_AFTER = 192 << 20, 64 << 20


class Observation:
    """Seconds that things took, what failed, and bytes of memory."""

    def __init__(self):
        self.times = {"delivery": [], "sign-in": [], "durable": [], "lateness": []}
        self.failures, self.memory = [], 0

    def p99(self, what):
        numbers = sorted(self.times[what])
        return numbers[int(len(numbers) * 0.99)] if numbers else float("inf")


async def observe(server, seconds):
    """Looks at an honest client for so long."""
    seen, end, target = Observation(), time.monotonic() + seconds, server.target

    async def deliveries():
        arrived = {}
        reader = await Client().open(target, HONEST, "reader")
        reader.on_push = lambda push: arrived.pop(push["pub"]["data"], lambda: None)() if "pub" in push else None
        await reader.ask({"subscribe": {"channel": "a:honest"}})
        writer = await Client().open(target, HONEST, "writer")
        number = 0
        while time.monotonic() < end:
            number += 1
            event, start = asyncio.Event(), time.monotonic()
            arrived[number] = event.set
            reply = await writer.ask({"publish": {"channel": "a:honest", "data": number}})
            if "error" in reply:
                seen.failures.append(str(reply["error"]))
            await asyncio.wait_for(event.wait(), 30)
            seen.times["delivery"].append(time.monotonic() - start)
            await asyncio.sleep(0.01)
        reader.close()
        writer.close()

    async def durable():
        writer = await Client().open(target, "127.0.0.8", "keeper")
        while time.monotonic() < end:
            start = time.monotonic()
            reply = await writer.ask({"publish": {"channel": "d:honest", "data": "kept"}})
            if "error" in reply:
                seen.failures.append(f"durable: {reply['error']}")
            seen.times["durable"].append(time.monotonic() - start)
            await asyncio.sleep(0.02)
        writer.close()

    async def sign_ins():
        number = 0
        while time.monotonic() < end:
            number += 1
            start = time.monotonic()
            try:
                client = await Client().open(target, f"127.0.2.{number % 200 + 1}", f"user{number}")
                seen.times["sign-in"].append(time.monotonic() - start)
                client.close()
            except (ConnectionError, OSError, asyncio.TimeoutError) as error:
                seen.failures.append(f"signing in: {error}")
            await asyncio.sleep(0.04)

    async def memory():
        while time.monotonic() < end:
            seen.memory = max(seen.memory, server.memory)
            start = time.monotonic()
            await asyncio.sleep(0.02)
            seen.times["lateness"].append(time.monotonic() - start - 0.02)

    tasks = [deliveries(), durable(), sign_ins(), memory()]
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, Exception):
            seen.failures.append(f"{type(result).__name__}: {result}")
    return seen


def latency_faults(before, during, after):
    """Where an honest client waited too long, in sentences."""
    for when, seen in [("during", during), ("after", after)]:
        for what, floor in FLOORS.items():
            # How late the measuring process itself was is nobody's answer.
            allowed = LATENCY_FACTOR * max(before.p99(what), floor) + seen.p99("lateness")
            if seen.p99(what) > allowed:
                yield (f"p99 of {what} {when} it is {seen.p99(what) * 1000:.1f} ms, "
                       f"more than {allowed * 1000:.1f}")


def other_faults(before, during, after, attack):
    """What failed, and what the server took too much of."""
    kept = attack.kept
    for when, seen in [("before", before), ("during", during), ("after", after)]:
        failures = [text for text in seen.failures if not attack.tells_all or not text.startswith(attack.tells_all)]
        if failures:
            yield f"{len(failures)} failures {when} it, the first: {failures[0]}"
    if during.memory > before.memory + MEMORY_DURING + kept:
        yield f"the server took {(during.memory - before.memory) >> 20} MiB more during it"
    if after.memory > before.memory + MEMORY_AFTER + kept:
        yield f"the server kept {(after.memory - before.memory) >> 20} MiB after it"
