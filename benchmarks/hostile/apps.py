"""What people do to an app's other people: threads, blocks, places, searches, pictures."""

import itertools

from catalog import attack, error, logged, none, status
from swarm import each
from wire import token


def call(method, **data):
    """A command that calls a method of an app."""
    return {"rpc": {"method": method, "data": data}}


@attack(error(106), logged("state_max_recorders"))
def recorders(swarm):
    """Opens recorders with everybody."""
    yield
    swarm.add(each(lambda number: call("state.begin", to=f"victim{number}"), batch=50))


@attack(error(111), logged("state_max_changes_per_minute"))
def blocks(swarm):
    """Blocks everybody, which leaves a row for each."""
    yield
    swarm.add(each(lambda number: call("state.block", user=f"victim{number}"), batch=50))


@attack(error(106), logged("clique_max_places"))
def places(swarm):
    """Comes to one place after another."""
    yield
    swarm.add(each(lambda number: call("clique.enter", place=f"place{number}"), batch=50))


@attack(error(106), logged("clique_max_requests_per_day"))
def requests(swarm):
    """Writes to everybody."""
    yield
    swarm.add(each(lambda number: call("clique.send", to=f"victim{number}", text="hello"), batch=50))


@attack(none("ended"), error(111), logged("searches"), settings={"broker.user.max_searches": 2})
def searches(swarm):
    """Searches, from four connections at once."""
    yield
    swarm.add(each(lambda number: call("clique.search", text=f"word{number % 100}"), batch=100), count=4)


def put(line, number, size, body):
    """An upload, of which the body may come later or never."""
    return (f"PUT /state/pictures?id={line.user}{number:032} HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: Bearer {token(line.user)}\r\nContent-Length: {size}\r\n\r\n").encode() + body


@attack(status(429), status(201))
def pictures(swarm):
    """Uploads pictures that nobody sends."""
    picture = b"\xff\xd8\xff\xe0" + bytes(200_000)

    numbers = itertools.count()

    def script(line):
        yield put(line, next(numbers), len(picture), picture)
        yield lambda: False

    yield
    swarm.add(script, count=4)


@attack(status(429), logged("picture_requests_of_user"))
def slow_uploads(swarm):
    """Begins uploads that do not go on."""

    numbers = itertools.count()

    def script(line):
        yield put(line, next(numbers), 8_000_000, b"\xff\xd8\xff\xe0" + bytes(70_000))
        yield lambda: False

    yield
    swarm.add(script, count=60)
