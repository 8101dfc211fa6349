"""What the pages are like while others load the server, and, where MEASURE is set, how soon the console is there.

The demo is used while `fanfare-bench` measures beside it. To measure, the console is opened on a server with 10,000
connections and 100,000 channels: that is a figure of a quiet machine, so no test asserts it.
"""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import pathlib
import resource
import socket
import statistics
import subprocess
import time
import urllib.parse

from clique import talk, write
from harness import expect, run

# The demo looks every second whether its busy channel is listened to, and pings are the crowd's own work for the server.
STILL = ("demo.enabled=false", "client.ping_interval=10m")
CONNECTIONS = 10_000
CHANNELS_EACH = 10
# That two people write while others load their server.
MESSAGES = 25


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signer(server):
    """Signs connection tokens as the server's own commands do."""
    secret = (server.folder / "data" / "secret.key").read_text().strip()
    head = base64url(b'{"alg":"HS256"}')

    def sign(user):
        claims = base64url(json.dumps({"sub": user, "exp": int(time.time()) + 3600}).encode())
        signature = hmac.new(secret.encode(), f"{head}.{claims}".encode(), hashlib.sha256).digest()
        return f"{head}.{claims}.{base64url(signature)}"

    return sign


def frame(text):
    """A masked text frame; the mask is zero, which the server cannot tell from any other."""
    data = text.encode()
    assert 126 <= len(data) < 65_536, len(data)
    return bytes([0x81, 0xFE]) + len(data).to_bytes(2, "big") + bytes(4) + data


@contextlib.contextmanager
def crowd(server):
    """Connections that sit in channels of their own and do nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    address = urllib.parse.urlparse(server.address)
    sign = signer(server)
    request = (
        f"GET /connection/websocket HTTP/1.1\r\nHost: {address.netloc}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
    sockets = []
    try:
        for first in range(0, CONNECTIONS, 500):
            some = [socket.create_connection((address.hostname, address.port)) for _ in range(500)]
            sockets += some
            for one in some:
                one.settimeout(60)
                one.sendall(request.encode())
            for number, one in enumerate(some, first):
                until(one, b"\r\n\r\n")
                commands = [{"id": 1, "connect": {"token": sign(f"guest-{number}")}}]
                commands += [
                    {"id": 2 + index, "subscribe": {"channel": f"room-{number}-{index}"}}
                    for index in range(CHANNELS_EACH)]
                one.sendall(frame("\n".join(json.dumps(command) for command in commands)))
            for one in some:
                until(one, f'"id":{1 + CHANNELS_EACH},'.encode())
        yield
    finally:
        for one in sockets:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def until(one, end):
    seen = b""
    while end not in seen:
        part = one.recv(65_536)
        assert part and b'"error"' not in part, (seen + part)[-400:]
        seen += part


def bench(server, scenario, *options):
    """`fanfare-bench` on this server; the file of its results is in the server's folder."""
    results = server.folder / "bench.json"
    results.unlink(missing_ok=True)
    command = [
        str(pathlib.Path(os.environ["FANFARE"]).with_name("fanfare-bench")), "run", scenario, "--url",
        f"{server.address.replace('http', 'ws')}/connection/websocket", "--secret-file",
        str(server.folder / "data" / "secret.key"), "--pid", str(server.process.pid), "--no-pin", "--turns", "1",
        "--json", str(results), *options,
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(load):
    """What it printed. It exits with an error where anything was lost, came twice or out of order."""
    said, _ = load.communicate(timeout=600)
    assert load.returncode == 0, said
    return said


def is_open(page, server):
    page.goto(f"{server.admin}/console/")
    expect(page.locator(".tile-value").first).to_have_text("10,000")


def measure_first_paint(windows):
    """On 10,000 connections and 100,000 channels the console opens at once. What it costs the server while it is open says
    `benchmarks/measure console`."""
    windows.server.begin_anew(*STILL)
    page = windows.console()
    with crowd(windows.server):
        painted = []
        for _ in range(5):
            page.goto("about:blank")
            is_open(page, windows.server)
            painted.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        windows.look(page, "console-crowd")
        page.evaluate("location.hash = '#/channels'")
        expect(page.locator("main")).to_contain_text("This server has 100,000 channels")
        windows.look(page, "console-crowd-channels")
    print(f"painted after {', '.join(f'{one:.0f}' for one in painted)} ms", flush=True)


def scenario_demo_under_load(windows):
    """Two people talk while `fanfare-bench` loads the same server: nothing is lost, on either side."""
    ada, ben = talk(windows)
    operator = windows.console()
    waits = []

    def exchange():
        text = f"Message {len(waits)}."
        begun = time.monotonic()
        write(ada, text)
        expect(ben.locator(".bubble", has_text=text)).to_be_visible()
        waits.append(1000 * (time.monotonic() - begun))

    # The console names the busiest channel once it has looked at all of them twice while the load lasted, which on a busy
    # machine takes it 30 seconds each: then a longer load is looked at.
    for duration in (15, 75, 240):
        if is_loaded(windows, operator, duration, exchange):
            break
    else:
        raise AssertionError("no load was long enough for the console to name its channel")
    print(f"{len(waits)} messages beside the bench, half of them within {statistics.median(waits):.0f} ms", flush=True)
    for page in (ada, ben):
        expect(page.locator(".bubble", has_text="Message ")).to_have_count(len(waits))
    assert len(waits) > 5, waits


def is_loaded(windows, operator, duration, exchange):
    """Whether the console named the channel that is loaded for so many seconds. Messages are exchanged beside it."""
    load = bench(windows.server, "fanout", "--subscribers", "500", "--duration", str(duration), "--warmup", "1")
    busiest = operator.locator(".busiest", has_text="is the busiest")
    is_seen, sent = False, 0
    try:
        while load.poll() is None and not (is_seen and sent >= MESSAGES):
            if sent < MESSAGES:
                exchange()
                sent += 1
            else:
                # The load may end meanwhile, and what is not seen then is looked for again.
                operator.wait_for_timeout(100)
            if not is_seen and busiest.is_visible():
                is_seen = True
                expect(operator.locator(".tile", has_text="Latency")).to_contain_text("ms")
                windows.picture(operator, "console-loaded", whole=True)
        ended(load)
    finally:
        load.kill()
    return is_seen


if __name__ == "__main__":
    run([measure_first_paint] if "MEASURE" in os.environ else [scenario_demo_under_load])
