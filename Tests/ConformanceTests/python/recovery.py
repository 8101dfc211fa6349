"""Connections that are cut: what was published meanwhile arrives in order and once, or the SDK is told that it cannot."""

from support import CuttingProxy, connect, encode, expect, passed, run, subscribe, until


async def cut_and_publish(proxy, publisher, channel, subscription, values):
    """Publishes while the subscriber cannot reach the server, then lets it back."""
    subscribed_before = len(subscription.events.subscribed)
    proxy.is_shut = True
    proxy.cut()
    for value in values:
        await publisher.publish(channel, encode(value))
    proxy.is_shut = False
    await until(lambda: len(subscription.events.subscribed) > subscribed_before, "the subscription comes back")
    return subscription.events.subscribed[-1]


async def recovers(proxy, publisher):
    channel = "recovery-whole"
    client = await connect("alice", url=proxy.url)
    subscription = await subscribe(client, channel, recoverable=True)
    for value in (1, 2, 3):
        await publisher.publish(channel, encode(value))
    await until(lambda: len(subscription.events.publications) == 3, "three publications before the cut")
    for round_number in range(3):
        start = 4 + round_number * 5
        back = await cut_and_publish(proxy, publisher, channel, subscription, range(start, start + 5))
        expect((back.was_recovering, back.recovered), (True, True), "a recovery that can be whole")
        last = start + 4
        await until(lambda: subscription.events.values[-1:] == [last], f"publication {last} after a cut")
        expect(subscription.events.values, list(range(1, last + 1)), "publications, in order and once")
    await publisher.publish(channel, encode("live"))
    await until(lambda: subscription.events.values[-1] == "live", "a live publication after recovering")
    offsets = [publication.offset for publication in subscription.events.publications]
    expect(offsets, list(range(1, 20)), "offsets without a gap or a repetition")
    passed("three cuts with five publications each: all arrive in order, once, and recovered is true")

    back = await cut_and_publish(proxy, publisher, channel, subscription, [])
    expect((back.was_recovering, back.recovered), (True, True), "a recovery of nothing")
    expect(len(subscription.events.publications), 19, "publications after a recovery of nothing")
    passed("a cut without publications recovers to the same position")
    await client.disconnect()


async def cannot_recover(proxy, publisher):
    # Two publications are kept in this namespace: of five, the first three are gone.
    channel = "brief:recovery"
    client = await connect("alice", url=proxy.url)
    subscription = await subscribe(client, channel, recoverable=True)
    await publisher.publish(channel, encode(0))
    await until(lambda: subscription.events.values == [0], "a publication before the cut")
    back = await cut_and_publish(proxy, publisher, channel, subscription, range(1, 6))
    expect((back.was_recovering, back.recovered), (True, False), "a recovery that cannot be whole")
    expect(back.stream_position.offset, 6, "the position is the stream's top all the same")
    await publisher.publish(channel, encode(6))
    await until(lambda: subscription.events.values[-1] == 6, "a live publication after a failed recovery")
    passed("a position that is too old: recovered is false, and live publications follow")
    await client.disconnect()


async def server_side(proxy):
    # The client's own channel comes with its token, and recovers with the connection.
    channel = "recovery-server-side"
    client = await connect("alice", url=proxy.url, channels=[channel])
    await until(lambda: client.events.server_subscribed == [channel], "a server-side subscription")
    publisher = await connect("carol")
    await subscribe(publisher, channel)
    await publisher.publish(channel, encode(1))
    await until(lambda: client.events.server_publications == [(channel, 1)], "a server-side publication")
    proxy.is_shut = True
    proxy.cut()
    for value in (2, 3):
        await publisher.publish(channel, encode(value))
    proxy.is_shut = False
    expected = [(channel, 1), (channel, 2), (channel, 3)]
    await until(lambda: len(client.events.server_publications) >= 3, "recovered server-side publications")
    expect(client.events.server_publications, expected, "server-side publications, in order and once")
    passed("a server-side subscription recovers with its connection")
    await publisher.disconnect()
    await client.disconnect()


async def main():
    publisher = await connect("bob")
    # Who publishes has to be subscribed in these namespaces.
    await subscribe(publisher, "recovery-whole")
    await subscribe(publisher, "brief:recovery")
    async with CuttingProxy() as proxy:
        await recovers(proxy, publisher)
    async with CuttingProxy() as proxy:
        await cannot_recover(proxy, publisher)
    async with CuttingProxy() as proxy:
        await server_side(proxy)
    await publisher.disconnect()


run(main)
