"""Connect, subscribe, publish, joins and leaves, presence and history, as the official Python SDK does them."""

import asyncio
import time

from centrifuge import ReplyError, StreamPosition
from support import SubscriptionEvents, connect, decode, encode, expect, passed, run, subscribe, until


async def publications(alice, bob):
    channel = "basics-publications"
    first = await subscribe(alice, channel)
    second = await subscribe(bob, channel)
    for number in range(1, 6):
        await first.publish(encode({"n": number}))
    await first.publish(encode({"text": "é \u2028 \U0001f600 \"quoted\"", "nested": [None, True, 1.5, {"a": []}]}))
    for name, subscription in (("the publisher", first), ("the other subscriber", second)):
        await until(lambda: len(subscription.events.publications) >= 6, f"{name} receives six publications")
        expect([value.get("n") for value in subscription.events.values[:5]], [1, 2, 3, 4, 5], f"order for {name}")
    text = second.events.values[5]
    expect(text["text"], "é \u2028 \U0001f600 \"quoted\"", "text of a payload")
    expect(text["nested"], [None, True, 1.5, {"a": []}], "nesting of a payload")
    publication = second.events.publications[0]
    expect(publication.info.user, "alice", "user who published")
    expect([p.offset for p in second.events.publications], [1, 2, 3, 4, 5, 6], "offsets")
    passed("publications reach both subscribers, in order, with payload, offset and publisher")

    await second.unsubscribe()
    await first.publish(encode({"n": 7}))
    await until(lambda: len(first.events.publications) == 7, "the publisher receives the seventh")
    expect(len(second.events.publications), 6, "publications after unsubscribing")
    passed("nothing is delivered after unsubscribing")


async def joins_and_leaves(alice):
    channel = "basics-joins"
    watcher = await subscribe(alice, channel, join_leave=True)
    bob = await connect("bob", info={"name": "Bob"})
    await subscribe(bob, channel)
    join = await until(
        lambda: next((info for info in watcher.events.joined if info.user == "bob"), None), "bob's join")
    expect(join.client, bob.events.connected[0].client, "client of a join")
    expect(decode(join.conn_info), {"name": "Bob"}, "connection info of a join")
    await bob.disconnect()
    leave = await until(
        lambda: next((info for info in watcher.events.left if info.user == "bob"), None), "bob's leave")
    expect(leave.client, join.client, "client of a leave")
    passed("joins and leaves name user, client and info")


async def presence(alice, bob):
    channel = "basics-presence"
    subscription = await subscribe(alice, channel)
    await subscribe(bob, channel)
    alice_again = await connect("alice")
    await subscribe(alice_again, channel)
    result = await subscription.presence()
    expect(sorted(info.user for info in result.clients.values()), ["alice", "alice", "bob"], "users present")
    expect(all(key == info.client for key, info in result.clients.items()), True, "keys of presence are clients")
    stats = await subscription.presence_stats()
    expect((stats.num_clients, stats.num_users), (3, 2), "presence stats")
    await alice_again.disconnect()

    deadline = time.monotonic() + 90
    while (stats := await subscription.presence_stats()).num_clients != 2 and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    expect((stats.num_clients, stats.num_users), (2, 2), "presence stats after one left")
    passed("presence and presence_stats follow who is there")


async def history(alice):
    channel = "basics-history"
    subscription = await subscribe(alice, channel)
    for number in range(1, 8):
        await subscription.publish(encode(number))
    await until(lambda: len(subscription.events.publications) == 7, "seven publications")

    top = await subscription.history(limit=0)
    expect((top.offset, len(top.publications)), (7, 0), "history with limit 0 is the position alone")
    expect(top.epoch != "", True, "an epoch is given")

    def numbers(page):
        return [decode(publication.data) for publication in page.publications]

    page = await subscription.history(limit=3)
    expect(numbers(page), [1, 2, 3], "oldest first")
    expect((page.offset, page.epoch), (7, top.epoch), "position of a page is the stream's top")
    page = await subscription.history(limit=3, since=StreamPosition(offset=page.publications[-1].offset, epoch=top.epoch))
    expect(numbers(page), [4, 5, 6], "the page after that")
    page = await subscription.history(limit=3, since=StreamPosition(offset=6, epoch=top.epoch))
    expect(numbers(page), [7], "the last page")
    page = await subscription.history(limit=-1)
    expect(numbers(page), [1, 2, 3, 4, 5, 6, 7], "a negative limit asks for all")
    page = await subscription.history(limit=3, reverse=True)
    expect(numbers(page), [7, 6, 5], "newest first")
    page = await subscription.history(limit=3, since=StreamPosition(offset=5, epoch=top.epoch), reverse=True)
    expect(numbers(page), [4, 3, 2], "backwards from a position")
    passed("history pages forwards, from a position, and in reverse")


async def permissions(alice):
    subscription = alice.new_subscription("closed:x", SubscriptionEvents())
    await subscription.subscribe()
    ended = await until(lambda: subscription.events.unsubscribed, "a subscription without permission ends")
    expect(ended[0].code, 103, "code of a subscription without permission")
    try:
        await alice.publish("closed:x", encode(1))
        answer = "accepted"
    except ReplyError as error:
        answer = error.code
    expect(answer, 103, "answer to a publication without permission")
    subscription = alice.new_subscription("nosuchnamespace:x", SubscriptionEvents())
    await subscription.subscribe()
    ended = await until(lambda: subscription.events.unsubscribed, "a subscription to an unknown namespace ends")
    expect(ended[0].code, 102, "code of a subscription to an unknown namespace")
    expect(alice.events.disconnected, [], "disconnects after errors")
    passed("without permission error 103, unknown namespace error 102, and the connection goes on")


async def main():
    alice = await connect("alice")
    bob = await connect("bob")
    passed("connects with a token")
    await publications(alice, bob)
    await joins_and_leaves(alice)
    await presence(alice, bob)
    await history(alice)
    await permissions(alice)
    await alice.disconnect()
    await bob.disconnect()


run(main)
