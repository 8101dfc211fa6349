"""Whether memory stays flat while people come and go: benchmarks/measure churn.

Wave after wave of connections, one after another and each with three channels of its own in a namespace without history,
under a user that never comes back. After each wave everybody is gone, and what the process still holds is looked at.
What is remembered of those who left has bounds (10,000 users' rates, for example), so the first waves may add to it; from
the middle on nothing may. Exit code 1 where something does.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from server import Server
from swarm import Swarm, signed_in
from wire import message

CHANNELS = 3
#: Of a connection in the second half, beyond which memory counts as growing. One that kept its channels would keep 3 KiB.
ALLOWED_BYTES = 128
#: What a process is larger or smaller by from one look to the next: pages of threads, of SQLite, of the allocator.
NOISE_BYTES = 3 << 20
SETTINGS = {"server.address.limit_loopback": False, "broker.idle_channel_timeout": "1s"}


def in_use(process):
    """Bytes that the allocator has given out, asked with gdb; None where there is none."""
    if not shutil.which("gdb"):
        return None
    answer = subprocess.run(
        ["gdb", "-p", str(process.pid), "-batch", "-ex", "print (long long)linuxio_allocated_bytes()"],
        capture_output=True, text=True, check=False).stdout
    found = [line.split("=")[1] for line in answer.splitlines() if line.startswith("$1 = ")]
    return int(found[0]) if found else None


def wave(target, number, connections, at_once):
    """So many come and go, a few at a time."""
    swarm, visits = Swarm(target), iter(range(connections))

    def script(line):
        mine = next(visits, None)
        if mine is None:
            yield lambda: False
        line.user = f"guest{number}-{mine}"
        yield from signed_in(line)
        names = [f"a:{number}-{mine}-{channel}" for channel in range(CHANNELS)]
        commands = [{"id": 2 + place, "subscribe": {"channel": name}} for place, name in enumerate(names)]
        commands += [{"id": 9 + place, "publish": {"channel": name, "data": mine}} for place, name in enumerate(names)]
        before = line.answers
        yield message(*commands)
        yield lambda: line.answers >= before + len(commands)
        swarm.seen["visits"] += 1
        raise ConnectionResetError

    swarm.add(script, source="127.0.5.{}", count=at_once)
    end = time.monotonic() + 300
    swarm.run(lambda: swarm.seen["visits"] >= connections or time.monotonic() > end)
    for line in swarm.lines:
        line.socket.close()
    if swarm.seen["visits"] < connections:
        sys.exit(f"only {swarm.seen['visits']} of {connections} visits came to their end: {dict(swarm.seen)}")


def main():
    """Prints a line for each wave and the growth of the second half."""
    parser = argparse.ArgumentParser(prog="benchmarks/measure churn", description=__doc__.splitlines()[0])
    parser.add_argument("--waves", type=int, default=16)
    parser.add_argument("--connections", type=int, default=3000, help="in each wave")
    parser.add_argument("--rest", type=float, default=14, help="seconds after each; memory goes back every ten")
    arguments = parser.parse_args()
    resident = []
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, SETTINGS)
        try:
            print(f"wave  0: {server.memory / (1 << 20):6.1f} MiB")
            for number in range(1, arguments.waves + 1):
                wave(server.target, number, arguments.connections, at_once=20)
                time.sleep(arguments.rest)
                resident.append(server.memory)
                used = in_use(server.process)
                print(f"wave {number:2}: {resident[-1] / (1 << 20):6.1f} MiB"
                      + (f", {used / (1 << 20):6.1f} in use" if used is not None else ""), flush=True)
        finally:
            server.stop()
    later = resident[len(resident) // 2 - 1:]
    connections = (len(later) - 1) * arguments.connections
    growth = (min(later[-2:]) - later[0]) / connections
    is_flat = min(later[-2:]) - later[0] <= NOISE_BYTES + ALLOWED_BYTES * connections
    print(f"the last {connections:,} connections with {CHANNELS} channels each left {growth:.0f} bytes each: "
          + ("flat" if is_flat else "NOT FLAT"))
    sys.exit(0 if is_flat else 1)


if __name__ == "__main__":
    main()
