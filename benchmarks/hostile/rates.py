"""Floods of what clients may do: rates of one connection, of one user, of one channel."""

from catalog import attack, close, error, goes_on, logged, none, passed, slowed
from swarm import each, pour, signed_in
from wire import message


def numbered(command, count, first=2):
    """One message of so many equal commands."""
    return message(*({"id": number, **command} for number in range(first, first + count)))


PINGS = numbered({"ping": {}}, 500)
POSTS = numbered({"publish": {"channel": "a:flood", "data": "x" * 200}}, 100)
LARGE = numbered({"publish": {"channel": "a:flood", "data": "x" * 60_000}}, 1)
COMINGS = message(*(command for number in range(100) for command in (
    {"id": 2 * number + 2, "subscribe": {"channel": f"a:{number}"}},
    {"id": 2 * number + 3, "unsubscribe": {"channel": f"a:{number}"}})))
CROSSINGS = numbered({"rpc": {"method": "clique.crossings", "data": {}}}, 100)
LISTS = numbered({"rpc": {"method": "state.settings", "data": {}}}, 100)
# Where notifications are off they are refused, and counted all the same.
MARKS = numbered({"rpc": {"method": "push.delivered", "data": {"subject": "inbox:#ann"}}}, 100)


@attack(logged("connection_commands"), slowed("answers", 2_000, 20_000), none("ended"))
def commands(swarm):
    """One connection asks for whatever is cheapest."""
    yield
    swarm.add(pour(PINGS))


@attack(logged("connection_publications"), slowed("answers", 1_000, 10_000), none("ended"))
def publications(swarm):
    """One connection publishes."""
    yield
    swarm.add(pour(POSTS))


@attack(logged("connection_bytes"), slowed("bytes sent", 16 << 20, 72 << 20), none("ended"))
def volume(swarm):
    """One connection publishes what is large."""
    yield
    swarm.add(pour(LARGE))


@attack(logged("connection_subscribes"), slowed("answers", 1_000, 20_000), none("ended"))
def subscribes(swarm):
    """One connection comes to channels and leaves them."""
    yield
    swarm.add(pour(COMINGS))


@attack(logged("connection_clique_calls"), slowed("answers", 100, 1_000), none("ended"))
def clique_calls(swarm):
    """One connection asks an app."""
    yield
    swarm.add(pour(CROSSINGS))


@attack(logged("connection_state_calls"), slowed("answers", 50, 500), none("ended"))
def state_calls(swarm):
    """The same of the other app."""
    yield
    swarm.add(pour(LISTS))


@attack(logged("connection_push_calls"), slowed("answers", 50, 500), none("ended"))
def push_calls(swarm):
    """And of notifications."""
    yield
    swarm.add(pour(MARKS))


def of_user(kind, text):
    """So many connections of one user that they owe a whole burst between them, beyond which commands are refused."""

    def user(swarm):
        begun = []

        def script(line):
            yield from signed_in(line)
            yield lambda: begun
            while True:
                yield text

        lines = swarm.add(script, count=250)
        swarm.run(lambda: all(line.answers for line in lines))
        yield
        begun.append(True)
        for line in lines:
            swarm.wake(line, 0)

    user.__name__ = f"user_{kind}"
    user.__doc__ = f"Many connections of one user, beyond client.user_limits.{kind}."
    rate = "4MiB" if kind == "bytes" else 200
    attack(logged(f"user_{kind}"), logged(f"user_{kind}_refused"), error(111),
           settings={f"client.user_limits.{kind}_burst": rate, f"client.user_limits.{kind}_per_second": rate})(user)


for KIND, TEXT in [("commands", PINGS), ("publications", POSTS), ("bytes", LARGE), ("subscribes", COMINGS),
                   ("clique_calls", CROSSINGS), ("state_calls", LISTS), ("push_calls", MARKS)]:
    of_user(KIND, TEXT)


@attack(close(3013), logged("too_many_refusals"), passed(8, 16), seconds=18,
        settings={"client.user_limits.clique_calls_burst": 8, "client.user_limits.clique_calls_per_second": 8})
def stubborn(swarm):
    """A hundred connections of one user that go on however often they are refused."""
    yield
    swarm.add(pour(CROSSINGS), count=100)


@attack(error(111), logged("channel_publications"), logged("connection_publications"),
        settings={"broker.channel.publications_per_second": 1000, "broker.channel.publications_burst": 2000})
def channel_publications(swarm):
    """Two users publish on one channel, to which twenty listen."""

    def listen(line):
        yield from signed_in(line)
        yield message({"id": 2, "subscribe": {"channel": "a:flood"}})
        yield lambda: False

    lines = swarm.add(listen, user="listener{}", source="127.0.4.{}", count=20)
    swarm.run(lambda: all(line.answers > 1 for line in lines))
    yield
    swarm.add(pour(POSTS), user="mallory{}", count=2)


@attack(none("error 111", "error 100", "ended"), goes_on("answers", 10_000))
def pipeline(swarm):
    """Sends five thousand publications at once and waits for no answer, as a client does after a tunnel."""
    backlog = [numbered({"publish": {"channel": "a:flood", "data": "x" * 100}}, 250)] * 20

    def script(line):
        yield from signed_in(line)
        yield from backlog
        yield lambda: line.answers >= 5_001
        yield lambda: False

    yield
    swarm.add(script, user="tunnel{}", count=2)


@attack(none("ended"), logged("connection_subscribes"))
def joins(swarm):
    """Comes and goes where five hundred are told of it."""

    def stay(line):
        yield from signed_in(line)
        yield message({"id": 2, "subscribe": {"channel": "p:hall"}})
        yield lambda: False

    lines = swarm.add(stay, user="member{}", source="127.0.4.{}", count=500)
    swarm.run(lambda: all(line.answers > 1 for line in lines))
    yield
    comings = message(*(command for number in range(50) for command in (
        {"id": 2 * number + 2, "subscribe": {"channel": "p:hall"}},
        {"id": 2 * number + 3, "unsubscribe": {"channel": "p:hall"}})))
    swarm.add(pour(comings))


@attack(logged("slow"), seconds=5)
def slow_readers(swarm):
    """Forty who listen to a busy channel and read nothing."""

    def deaf(line):
        yield from signed_in(line)
        yield message({"id": 2, "subscribe": {"channel": "a:flood"}})
        yield lambda: line.answers > 1
        line.stop_reading()
        yield 1.0
        line.reads = True
        yield lambda: False

    yield
    swarm.add(deaf, user="deaf{}", source="127.0.4.{}", count=40)
    swarm.add(each(lambda number: {"publish": {"channel": "a:flood", "data": "x" * 20_000}}), user="mallory")
