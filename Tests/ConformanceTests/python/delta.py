"""Delta compression: the SDK rebuilds each publication from patches, whole publications and what it recovers."""

from centrifuge.client import DeltaType

from support import CuttingProxy, connect, encode, expect, passed, run, subscribe, until

CHANNEL = "patched:scores"


def state(number):
    """A payload of which little changes; its texts have characters of two, three and four bytes."""
    teams = [{"team": f"Équipe {place} 漢 😀", "points": place * 7} for place in range(20)]
    teams[number % 20]["points"] += number
    return {"number": number, "teams": teams}


async def cut(proxy, publisher, subscription, numbers):
    before = len(subscription.events.subscribed)
    proxy.is_shut = True
    proxy.cut()
    for number in numbers:
        await publisher.publish(CHANNEL, encode(state(number)))
    proxy.is_shut = False
    await until(lambda: len(subscription.events.subscribed) > before, "the subscription comes back")


async def main():
    async with CuttingProxy() as proxy:
        publisher = await connect("carol")
        whole = await subscribe(publisher, CHANNEL)
        client = await connect("alice", url=proxy.url)
        patched = await subscribe(client, CHANNEL, delta=DeltaType.FOSSIL, recoverable=True)
        expect(patched._delta_negotiated, True, "delta compression")

        for number in range(10):
            await publisher.publish(CHANNEL, encode(state(number)))
        await until(lambda: len(patched.events.values) == 10, "ten publications")
        expect(patched.events.values, [state(number) for number in range(10)], "publications")
        expect([bool(p.delta) for p in patched.events.publications], [False] + [True] * 9, "patches")
        await until(lambda: len(whole.events.values) == 10, "ten publications without patches")
        expect(whole.events.values, patched.events.values, "publications without patches")
        passed("the first publication is whole, the others are patches, and all are rebuilt")

        await publisher.publish(CHANNEL, encode("short"))
        await publisher.publish(CHANNEL, encode(state(11)))
        await publisher.publish(CHANNEL, encode(state(12)))
        await until(lambda: len(patched.events.values) == 13, "three more")
        expect(patched.events.values[10:], ["short", state(11), state(12)], "publications")
        expect([bool(p.delta) for p in patched.events.publications[10:]], [False, False, True], "patches")
        passed("a publication without anything of the one before comes whole, and patches go on from it")

        for numbers in ([20, 21, 22], [], [23]):
            count = len(patched.events.values)
            await cut(proxy, publisher, patched, numbers)
            live = [100 + count, 101 + count, 102 + count]
            for number in live:
                await publisher.publish(CHANNEL, encode(state(number)))
            expected = [state(number) for number in numbers + live]
            await until(lambda: len(patched.events.values) == count + len(expected), "recovered and live ones")
            expect(patched.events.values[count:], expected, "publications")
            flags = [bool(p.delta) for p in patched.events.publications[count:]]
            expect(flags, [False] * (len(numbers) + 1) + [True, True], "patches")
        passed("what is recovered is whole, so is the first live publication, and patches go on from there")

        filtered = await connect("dave")
        other = await subscribe(filtered, "recovery-plain", delta=DeltaType.FOSSIL)
        expect(other._delta_negotiated, False, "delta compression where the namespace has none")
        await filtered.publish("recovery-plain", encode(state(1)))
        await until(lambda: other.events.values == [state(1)], "a publication as it is")
        passed("where the namespace has none, publications come as they are")
        for one in (publisher, client, filtered):
            await one.disconnect()


run(main)
