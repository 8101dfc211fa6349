"""What clients make the server keep, in memory and on the disk, and what it costs to look at."""

from catalog import attack, error, goes_on, logged, none, says
from rates import numbered
from swarm import each, pour, signed_in
from wire import message


def talk(line, *messages):
    """The beginning of a script that says something and waits until all of it is answered."""
    yield from signed_in(line)
    for text in messages:
        before, count = line.answers, text.count(b'{"id":')
        yield text
        yield lambda: line.answers >= before + count


def settle(swarm, lines, answers):
    """Waits until each has been answered so often."""
    swarm.run(lambda: all(line.answers >= answers for line in lines))


@attack(error(111), logged("user_channel_rate"))
def new_channels(swarm):
    """One user opens channels with history, as fast as it goes."""
    yield
    swarm.add(each(lambda number: {"publish": {"channel": f"h:{number}", "data": 1}}, batch=100))


@attack(error(106), logged("user_channels"),
        settings={"broker.user.channels_per_second": 0, "broker.user.max_channels": 2000})
def many_channels(swarm):
    """One user keeps channels with history, as many as it may."""
    yield
    swarm.add(each(lambda number: {"publish": {"channel": f"h:{number}", "data": 1}}, batch=100))


@attack(error(111), logged("user_memory"), settings={"broker.user.memory_bytes": "32MiB"}, kept=48 << 20)
def filled_memory(swarm):
    """One user fills memory through new channels with history."""
    yield
    swarm.add(each(lambda number: {"publish": {"channel": f"h:{number}", "data": "x" * 60_000}}))


@attack(error(100), logged("broker_memory"), settings={"broker.memory_bytes": "96MiB"}, kept=144 << 20)
def full_memory(swarm):
    """Many users fill what all may have together. What keeps nothing goes on, and so does what is on the disk."""

    def script(line):
        yield from signed_in(line)
        number = 1
        while True:
            number += 1
            yield message({"id": number, "publish": {"channel": f"h:{line.user}-{number}", "data": "x" * 60_000}})

    yield
    swarm.add(script, user="mallory{}", count=10)


@attack(error(100), settings={"data.maximum_bytes": "24MiB"}, kept=32 << 20, tells_all="durable:")
def full_disk(swarm):
    """Fills the disk through a namespace that is on it; here the honest client's durable publications go as well."""
    yield
    swarm.add(each(lambda number: {"publish": {"channel": f"d:{number}", "data": "x" * 60_000}}))


@attack(error(111), logged("idempotency_keys"), settings={"broker.user.max_idempotency_keys": 4096})
def idempotency_keys(swarm):
    """A key of its own with each publication."""

    def publish(number):
        return {"publish": {"channel": "h:keys", "data": 1, "idempotency_key": f"{number:0200}"}}

    yield
    swarm.add(each(publish, batch=100), count=2)


@attack(error(106), logged("map_entries"), goes_on("answers", 5_000))
def map_writes(swarm):
    """New keys of an ordered map, each before all others, and a look at all of it after each hundred."""

    def script(line):
        yield from signed_in(line)
        number = 1
        while True:
            yield message(
                *({"id": number + n, "rpc": {"method": "map.set", "data": {
                    "channel": "m:large", "key": f"k{number + n}", "score": -number - n, "data": 1}}}
                  for n in range(1, 100)),
                {"id": number + 100, "rpc": {"method": "map.list", "data": {"channel": "m:large", "limit": 100}}})
            number += 100

    yield
    swarm.add(script)


@attack(none("ended"), goes_on("answers", 20))
def map_reads(swarm):
    """Reads a map of five thousand keys again and again, which comes in one piece."""

    def script(line):
        keys = [[{"id": number + 2, "rpc": {"method": "map.set", "data": {
            "channel": "m:large", "key": f"k{number}", "score": number, "data": 1}}}
            for number in range(first, first + 200)] for first in range(0, 5000, 200)]
        yield from talk(line, *(message(*part) for part in keys))
        yield lambda: False

    settle(swarm, swarm.add(script, user="filler", source="127.0.4.1"), 5001)
    yield
    swarm.add(pour(numbered({"rpc": {"method": "map.list", "data": {"channel": "m:large"}}}, 250)))


@attack(error(106), logged("client_channels"))
def subscriptions(swarm):
    """One connection keeps as many subscriptions as it may, and asks for more."""
    yield
    swarm.add(each(lambda number: {"subscribe": {"channel": f"a:{number}"}}, batch=100))


@attack(error(106), logged("channel_members"), settings={"broker.channel.max_members": 100})
def members(swarm):
    """More come to a channel with presence than it may have."""

    def script(line):
        yield from talk(line, message({"id": 2, "subscribe": {"channel": "p:hall"}}))
        yield lambda: False

    yield
    swarm.add(script, user="member{}", source="127.0.4.{}", count=300)


@attack(none("ended"), goes_on("answers", 20))
def presence(swarm):
    """Asks again and again who is there, where two thousand are."""

    def stay(line):
        yield from talk(line, message({"id": 2, "subscribe": {"channel": "p:hall"}}))
        yield lambda: False

    settle(swarm, swarm.add(stay, user="member{}", source="127.0.4.{}", count=2000), 2)
    yield
    swarm.add(pour(numbered({"presence": {"channel": "p:hall"}}, 250)))


def fill(swarm, pages=18, size=60_000):
    """A channel with so many publications."""
    posts = (message({"id": number + 2, "publish": {"channel": "h:full", "data": "x" * size}})
             for number in range(pages))

    def script(line):
        yield from talk(line, *posts)
        yield lambda: False

    settle(swarm, swarm.add(script, user="filler", source="127.0.4.1"), pages + 1)


HISTORIES = numbered({"history": {"channel": "h:full", "limit": -1}}, 256)


@attack(none("ended"), goes_on("answers", 20), kept=16 << 20)
def history(swarm):
    """256 reads of history in one message, a MiB each."""
    fill(swarm)
    yield
    swarm.add(pour(HISTORIES))


@attack(none("ended"), goes_on("answers", 3), kept=32 << 20,
        settings={"client.history_max_bytes": "16MiB", "broker.memory_bytes": "1GiB",
                  "channel.namespaces": [
                      {"name": "a", "allow_subscribe_for_client": True, "allow_publish_for_client": True},
                      {"name": "d", "allow_subscribe_for_client": True, "allow_publish_for_client": True,
                       "history_size": 100, "history_ttl": "1h", "durability": "durable"},
                      {"name": "h", "allow_publish_for_client": True, "allow_history_for_client": True,
                       "history_size": 1000, "history_ttl": "1h"}]})
def large_history(swarm):
    """The same with pages of 16 MiB."""
    fill(swarm, pages=280)
    yield
    swarm.add(pour(HISTORIES))


@attack(says("more waits for clients than gateway.egress_bytes allows"), settings={"gateway.egress_bytes": "32MiB"},
        kept=32 << 20)
def unread_answers(swarm):
    """Sixty ask for pages and read none."""
    fill(swarm)

    def script(line):
        yield from signed_in(line)
        line.stop_reading()
        yield HISTORIES
        yield lambda: False

    yield
    swarm.add(script, user="mallory{}", source="127.0.4.{}", count=60)


def tree(number):
    """A filter that nobody else has, as large as one may be."""
    leaves = [{"key": f"k{number}-{leaf}", "cmp": "neq", "val": "x" * 60} for leaf in range(90)]
    return {"op": "and", "nodes": leaves}


def with_filters(swarm, count, most):
    """Users who subscribe to the honest client's channel, each with a filter that nobody else has."""

    def script(line):
        number = int(line.user[7:])
        yield from talk(line, message({"id": 2, "subscribe": {"channel": "a:honest", "tf": tree(number)}}))
        while True:
            yield message({"id": 3, "unsubscribe": {"channel": "a:honest"}},
                          {"id": 4, "subscribe": {"channel": "a:honest", "tf": tree(number + most)}})
            yield 1.0

    return swarm.add(script, user="mallory{}", source="127.0.4.{}", count=count)


@attack(error(106), logged("channel_filters"))
def filters(swarm):
    """Distinct filters on the channel of the honest client, of ninety conditions each."""
    yield
    with_filters(swarm, 1100, 2000)
