"""Attacks on the door: who opens connections, and what comes before a token is checked."""

import json
import ssl

from catalog import attack, close, goes_on, logged, slowed, status
from swarm import pour, signed_in
from wire import base64url, insecure, message, token, upgrade

ADDRESS = "server.address"


def silent(line):
    """Connects, and says nothing."""
    while True:
        yield 60.0


@attack(status(429), logged("address_handshakes"))
def handshakes(swarm):
    """One address takes all sockets that it gets, and tries for more."""
    yield
    swarm.add(silent, count=1500)


@attack(status(408), status(429), logged("address_handshakes"), settings={"server.header_timeout": "2s"}, seconds=5)
def slow_heads(swarm):
    """Requests that come byte by byte and never end."""

    def drip(line):
        yield b"GET /connection/websocket HTTP/1.1\r\n"
        while True:
            yield 0.2
            yield b"x"

    yield
    swarm.add(drip, count=1000)


@attack(status(429), logged("address_unsigned"), close(3502), settings={"client.connect_timeout": "2s"}, seconds=5)
def unsigned(swarm):
    """WebSockets whose owners never sign in."""

    def script(line):
        yield upgrade()
        yield lambda: False

    yield
    swarm.add(script, count=1500)


@attack(status(429), logged("address_connections"))
def connections(swarm):
    """Signs in as often as one address can be connected, and tries for more."""

    def script(line):
        yield from signed_in(line)
        yield lambda: False

    yield
    swarm.add(script, user="mallory{}", count=1300)


@attack(status(429), logged("address_rate"), settings={f"{ADDRESS}.connections_burst": 500})
def connects(swarm):
    """Connects and leaves, over and over."""

    def script(line):
        yield upgrade()
        yield lambda: line.heads > 0
        raise ConnectionResetError

    yield
    swarm.add(script, count=100)


@attack(close(3013), logged("address_sign_ins"),
        settings={f"{ADDRESS}.sign_ins_per_second": 20, f"{ADDRESS}.sign_ins_burst": 100})
def sign_ins(swarm):
    """Signs in and leaves, over and over; a token costs the server more than it costs the client."""

    def script(line):
        yield from signed_in(line)
        raise ConnectionResetError

    yield
    swarm.add(script, count=400)


@attack(close(3500), logged("disconnect_3500"))
def forged_tokens(swarm):
    """Signs in with tokens that are not valid."""

    def script(line):
        yield upgrade()
        yield lambda: line.heads > 0
        yield message({"id": 1, "connect": {"token": token("ada")[:-4] + "AAAA"}})
        yield lambda: False

    yield
    swarm.add(script, count=100)


@attack(close(3504), logged("user_connections"), settings={"client.max_connections_per_user": 20})
def user_connections(swarm):
    """One user from many addresses."""

    def script(line):
        yield from signed_in(line)
        yield lambda: False

    yield
    swarm.add(script, source="127.0.3.{}", count=200)


@attack(logged("address_rate"), goes_on("bytes received"),
        settings={"server.tls.enabled": True, "server.tls.certificate_file": "FOLDER/tls.pem",
                  "server.tls.key_file": "FOLDER/tls.key", f"{ADDRESS}.connections_burst": 1000})
def tls_handshakes(swarm):
    """Begins TLS handshakes and leaves when the server has signed: what it costs is the server's."""
    outgoing = ssl.MemoryBIO()
    session = insecure().wrap_bio(ssl.MemoryBIO(), outgoing)
    try:
        session.do_handshake()
    except ssl.SSLWantReadError:
        hello = outgoing.read()

    def script(line):
        yield hello
        yield lambda: len(line.last) > 100
        raise ConnectionResetError

    yield
    swarm.add(script, count=100)


@attack(logged("token_checks"), slowed("answers", 1000, 20_000),
        settings={"token.ecdsa_public_key_file": "FOLDER/ec.pem"})
def tokens(swarm):
    """Subscribes with tokens whose signatures take the server a millisecond each."""
    head, signature = base64url(b'{"alg":"ES512"}'), base64url(b"\x01" * 132)

    def subscribe(number):
        claims = base64url(json.dumps({"sub": "mallory", "channel": f"a:{number}"}).encode())
        return {"channel": f"a:{number}", "token": f"{head}.{claims}.{signature}"}

    commands = []
    for number in range(100):
        commands.append({"id": 2 * number + 2, "subscribe": subscribe(number)})
        commands.append({"id": 2 * number + 3, "unsubscribe": {"channel": f"a:{number}"}})
    yield
    swarm.add(pour(message(*commands)))


@attack(close(1009), close(3501), logged("disconnect_3501"))
def broken(swarm):
    """Messages that are too large, too many commands in one, and what is no JSON."""
    large = message({"id": 2, "publish": {"channel": "a:x", "data": "x" * 70_000}})
    many = message(*({"id": number + 2, "ping": {}} for number in range(1500)))
    deep = message({"id": 2, "publish": {"channel": "a:x", "data": json.loads("[" * 40 + "]" * 40)}})
    yield
    for text in (large, many, deep):
        swarm.add(pour(text), count=10)
