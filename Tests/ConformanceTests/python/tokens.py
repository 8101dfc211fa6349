"""Tokens: invalid, expired, refreshed in time, and those of single subscriptions."""

import asyncio
import time

from support import (
    SubscriptionEvents, connect, connection_token, encode, expect, new_client, passed, run, subscription_token, until,
)


async def refused(token, what):
    """The code with which the SDK gives up for good."""
    client = new_client(token=token)
    await client.connect()
    ended = await until(lambda: client.events.disconnected, f"the client with {what} is disconnected")
    expect(client.events.connected, [], f"connections with {what}")
    return ended[0].code


async def invalid():
    expect(await refused("not a token", "no token at all"), 3500, "code for what is no token")
    expect(await refused(connection_token("eve", secret="x" * 64), "a foreign signature"), 3500, "code for a forgery")
    unsigned = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJldmUifQ."
    expect(await refused(unsigned, "the algorithm none"), 3500, "code for an unsigned token")
    passed("invalid tokens end with code 3500, for good")


async def expired():
    asked = []

    async def get_token():
        asked.append(1)
        return connection_token("alice")

    client = new_client(token=connection_token("alice", seconds=-60), get_token=get_token)
    await client.connect()
    await until(lambda: client.events.connected, "the client connects with its second token")
    expect(len(asked), 1, "times a token was asked for")
    await client.disconnect()
    passed("an expired token makes the SDK ask for another one")

    code = await refused(connection_token("alice", seconds=-60), "an expired token and no other")
    expect(code, 1, "the SDK's own code for unauthorized")
    passed("an expired token without another one ends as unauthorized")


async def refreshed():
    asked = []

    async def get_token():
        asked.append(1)
        return connection_token("alice", seconds=10)

    client = new_client(get_token=get_token)
    await client.connect()
    await until(lambda: client.events.connected, "the client connects")
    # By then the first token has expired, and the server's grace of 20 s has passed too.
    end = time.monotonic() + 32
    await until(lambda: len(asked) >= 4, "the SDK refreshes its token three times")
    await until(lambda: time.monotonic() > end, "the first token would be over")
    subscription = client.new_subscription("tokens-refresh", SubscriptionEvents())
    await subscription.subscribe()
    await subscription.publish(encode("still here"))
    await until(lambda: subscription.events.values == ["still here"], "a publication after refreshing")
    expect(len(client.events.connected), 1, "connections made while refreshing")
    await client.disconnect()
    passed("a connection whose token is refreshed in time goes on")


async def not_refreshed():
    # Long enough for a busy machine to connect in.
    client = new_client(token=connection_token("alice", seconds=15))
    await client.connect()
    await until(lambda: client.events.connected, "the client connects")
    ended = await until(lambda: client.events.disconnected, "a connection that is not refreshed ends", seconds=120)
    expect(ended[0].code, 1, "the SDK's own code for unauthorized")
    passed("a connection whose token is not refreshed ends")


async def subscriptions():
    client = await connect("alice")

    async def outcome(channel, token):
        subscription = client.new_subscription(channel, SubscriptionEvents(), token=token)
        await subscription.subscribe()
        events = subscription.events
        await until(lambda: events.subscribed or events.unsubscribed, f"an answer for {channel}")
        code = events.unsubscribed[0].code if events.unsubscribed else None
        await subscription.unsubscribe()
        client.remove_subscription(subscription)
        return code

    channel = "$tokens-private"
    expect(await outcome(channel, ""), 103, "code without a subscription token")
    expect(await outcome(channel, subscription_token("alice", "$other")), 103, "code for another channel's token")
    expect(await outcome(channel, subscription_token("bob", channel)), 103, "code for another user's token")
    expect(await outcome(channel, subscription_token("alice", channel)), None, "the right token")
    passed("a $ channel needs a token for this channel and this user")

    asked = []

    async def get_token(wanted):
        asked.append(wanted)
        return subscription_token("alice", wanted, seconds=-60 if len(asked) == 1 else 10)

    subscription = client.new_subscription("$tokens-refresh", SubscriptionEvents(), get_token=get_token)
    await subscription.subscribe()
    await until(lambda: subscription.events.subscribed, "a subscription with its second token")
    await until(lambda: len(asked) >= 4, "the SDK refreshes the subscription's token twice")
    expect(set(asked), {"$tokens-refresh"}, "channels that tokens were asked for")
    expect((len(subscription.events.subscribed), subscription.events.unsubscribed), (1, []), "the subscription goes on")
    await client.disconnect()
    passed("an expired subscription token is replaced, an expiring one refreshed")


async def main():
    # At the same time: they wait for tokens to expire, most of the time.
    await asyncio.gather(invalid(), expired(), refreshed(), not_refreshed(), subscriptions())


run(main)
