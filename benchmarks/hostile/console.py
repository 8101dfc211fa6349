"""What an open console costs a server with many clients: benchmarks/measure console.

Ten thousand connections with ten channels each wait, and two clients beside them exchange a message now and then, which
`fanfare-bench` measures. In turns nobody looks, or an operator does, as the console's overview has it: one stream of
live numbers. Exit code 1 where the process takes more than 1 % of a core for it, or where the p99 of the two rises by
more than it differs between turns alike.
"""

import argparse
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from server import PROGRAM, Server, plain_environment
from swarm import Swarm, signed_in
from wire import SECRET, message

CHANNELS = 10
ALLOWED_CPU = 0.01
#: Clients say nothing meanwhile: what is measured beside them is the console, not their pings.
SETTINGS = {
    "server.max_connections": 20_000, "server.address.limit_loopback": False, "client.ping_interval": "10m",
}


class Operator:
    """Somebody who is signed in to the console and, while `looks`, has its overview open."""

    def __init__(self, folder, port):
        self.port, self.frames, self.bytes = port, 0, 0
        self.own = {
            "x-fanfare-console": "1", "Origin": f"http://127.0.0.1:{port}", "Sec-Fetch-Site": "same-origin"}
        made = subprocess.run(
            [PROGRAM, "console", "password", "--config", os.path.join(folder, "fanfare.json")],
            capture_output=True, text=True, check=True, env=plain_environment())
        # A running server looks at its password once a second.
        end = time.monotonic() + 30
        while True:
            answer, cookie = self.sign_in(made.stdout.strip())
            if answer == 204:
                break
            if time.monotonic() > end:
                sys.exit(f"the console answered {answer} to its password")
            time.sleep(0.5)
        self.cookie = cookie

    def sign_in(self, password):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", "/console/sign-in", json.dumps({"password": password}), self.own)
        answer = connection.getresponse()
        answer.read()
        return answer.status, (answer.getheader("set-cookie") or "").split(";")[0]

    def look(self):
        """Opens the stream and reads it in a thread. Gives what ends it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", "/console/live", headers={**self.own, "Cookie": self.cookie})
        answer = connection.getresponse()
        if answer.status != 200:
            sys.exit(f"the console answered {answer.status} to its stream")
        is_over = threading.Event()

        def read():
            try:
                while not is_over.is_set():
                    line = answer.readline()
                    if not line:
                        break
                    self.bytes += len(line)
                    self.frames += line.startswith(b"data:")
            except (OSError, ValueError):
                pass

        reader = threading.Thread(target=read)
        reader.start()

        def close():
            is_over.set()
            reader.join()
            connection.close()

        return close


def fill(target, connections):
    """So many connections, each with channels of its own, which stay until the end."""
    swarm = Swarm(target)
    ready = set()

    def script(line):
        yield from signed_in(line)
        before = line.answers
        yield message(*(
            {"id": 2 + place, "subscribe": {"channel": f"a:{line.user}-{place}"}} for place in range(CHANNELS)))
        yield lambda: line.answers >= before + CHANNELS
        ready.add(line.user)
        yield lambda: False

    end = time.monotonic() + 600
    while len(swarm.lines) < connections:
        for number in range(len(swarm.lines), min(connections, len(swarm.lines) + 100)):
            swarm.add(script, user=f"guest{number}", source=f"127.0.6.{number % 200 + 1}")
        swarm.run(lambda: len(ready) >= len(swarm.lines) or time.monotonic() > end)
    if len(ready) < connections:
        sys.exit(f"only {len(ready)} of {connections} connections have their channels: {dict(swarm.seen)}")
    return swarm


def turn(server, folder, duration):
    """The share of a core that the process takes, and p50 and p99 of the two clients in milliseconds."""
    result = os.path.join(folder, "result.json")
    bench = os.environ.get("FANFARE_BENCH", str(pathlib.Path(PROGRAM).with_name("fanfare-bench")))
    port = server.target.port
    done = subprocess.run(
        [bench, "run", "latency", "--url", f"ws://127.0.0.1:{port}/connection/websocket", "--namespace", "a",
         "--secret-file", os.path.join(folder, "secret"), "--pid", str(server.process.pid), "--turns", "1",
         "--warmup", "2", "--duration", str(duration), "--keep-going", "--json", result],
        capture_output=True, text=True, check=False)
    if not os.path.exists(result):
        sys.exit(f"fanfare-bench: {done.stdout}{done.stderr}")
    with open(result, encoding="utf-8") as file:
        report = json.load(file)
    os.remove(result)
    used = report["turns"][0]["server"]
    figures = {one["figure"]: one["median"] / 1e6 for one in report["figures"] if one["unit"] == "nanoseconds"}
    return used["cpuSeconds"] / used["wallSeconds"], figures["p50"], figures["p99"]


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def main():
    """Prints a line for each turn, and what the console adds."""
    parser = argparse.ArgumentParser(prog="benchmarks/measure console", description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=7, help="of turns")
    parser.add_argument("--duration", type=int, default=12, help="seconds of each turn; a survey comes every five")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "secret"), "w", encoding="utf-8", opener=private) as file:
            file.write(SECRET)
        server = Server(folder, SETTINGS)
        try:
            swarm = fill(server.target, arguments.connections)
            print(f"{len(swarm.lines):,} connections with {len(swarm.lines) * CHANNELS:,} channels, "
                  f"{server.memory / (1 << 20):.0f} MiB", flush=True)
            operator = Operator(folder, server.admin_port)
            closed, opened = [], []
            for number in range(2 * arguments.pairs):
                looks = number % 2 == number // 2 % 2
                leave = operator.look() if looks else lambda: None
                before = operator.frames, operator.bytes
                measured = turn(server, folder, arguments.duration)
                frames, size = operator.frames - before[0], operator.bytes - before[1]
                leave()
                (opened if looks else closed).append(measured)
                cpu, p50, p99 = measured
                if looks and frames < arguments.duration // 2:
                    sys.exit(f"the console was told only {frames} frames")
                print(f"{'console open' if looks else 'nobody looks'}: {100 * cpu:5.2f} % of a core, "
                      f"p50 {p50:.3f} ms, p99 {p99:.3f} ms"
                      + (f", {frames} frames of {size // frames:,} bytes" if looks else ""), flush=True)
        finally:
            server.stop()
    judge(closed, opened)


def judge(closed, opened):
    """Says what an open console adds, and ends with it."""
    without, beside = ([one[0] for one in turns] for turns in (closed, opened))
    added = statistics.median(beside) - statistics.median(without)
    quiet, watched = ([one[2] for one in turns] for turns in (closed, opened))
    print(f"an open console takes {100 * added:.2f} % of a core; p99 in ms: {spread(quiet)} without, "
          f"{spread(watched)} with it, {len(opened)} turns each")
    is_light = added <= ALLOWED_CPU
    moves_nobody = statistics.median(watched) <= max(quiet)
    print("weightless" if is_light and moves_nobody else "NOT WEIGHTLESS")
    sys.exit(0 if is_light and moves_nobody else 1)


def private(path, flags):
    return os.open(path, flags, 0o600)


if __name__ == "__main__":
    main()
