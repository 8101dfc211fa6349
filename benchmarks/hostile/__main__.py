"""Measures what an honest client notices of a hostile one: benchmarks/measure hostile [name…].

For each attack the server that was built is started, and an honest client is looked at before, during and after it: how
long a publication takes to arrive, one to be on the disk and a sign-in, and how much memory the server has. What comes
during and after is held against what came before, in the same run on the same machine. That the limit was met is shown
by what the attacker was answered and what the operator was told. Any fault is exit code 1. Uses the standard library and
the openssl command.
"""

import argparse
import asyncio
import multiprocessing
import os
import sys
import tempfile
import time
import types

sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
import apps  # noqa: F401
import doors  # noqa: F401
import rates  # noqa: F401
import stores  # noqa: F401
from catalog import ATTACKS
from honest import FLOORS, latency_faults, observe, other_faults
from server import Server, make_keys
from swarm import Swarm

RETURN = 25  # Seconds in which memory may go back to the system: it is looked at every ten.


def assail(attack, target, pipe):
    """The attacker's process: prepares, begins when it is told to, and ends when it is told to."""
    os.nice(5)
    swarm = Swarm(target)
    steps = attack.run(swarm)
    next(steps)
    pipe.send("ready")
    swarm.run(pipe.poll)
    pipe.recv()
    swarm.seen.clear()
    begin = time.monotonic()
    next(steps, None)
    swarm.run(pipe.poll)
    pipe.send((dict(swarm.seen), time.monotonic() - begin))


class Attacker:
    """The process of an attack, as the measurement sees it."""

    def __init__(self, attack, target):
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=assail, args=(attack, target, other), daemon=True)
        self.process.start()
        self.receive(60)

    def receive(self, seconds):
        if not self.pipe.poll(seconds):
            self.process.kill()
            sys.exit("the attacker did not come to its end")
        return self.pipe.recv()

    def begin(self):
        self.pipe.send("begin")

    def stop(self):
        self.pipe.send("stop")
        seen, seconds = self.receive(30)
        self.process.kill()
        self.process.join()
        return seen, seconds


class Seen(dict):
    """What was not seen was seen no times."""

    def __missing__(self, key):
        return 0


def measure(attack, seconds):
    """One turn: before, during, after, and what was seen of the limit."""
    with tempfile.TemporaryDirectory() as folder:
        make_keys(folder)
        server = Server(folder, attack.settings)
        try:
            attacker = Attacker(attack, server.target)
            asyncio.run(observe(server, 1))
            before = asyncio.run(observe(server, seconds))
            attacker.begin()
            during = asyncio.run(observe(server, max(seconds, attack.seconds)))
            seen, taken = attacker.stop()
            time.sleep(1)
            after = asyncio.run(observe(server, seconds))
            after.memory = server.memory
            end = time.monotonic() + RETURN
            while any("kept" in fault for fault in other_faults(before, during, after, attack)):
                if time.monotonic() > end:
                    break
                time.sleep(0.5)
                after.memory = server.memory
            evidence = types.SimpleNamespace(
                seen=Seen(seen), seconds=taken, causes=server.causes, log=server.log)
        finally:
            server.stop()
    return before, during, after, evidence


def report(attack, before, during, after, evidence):
    """One block of the table."""
    phases = [("before", before), ("during", during), ("after", after)]
    print(f"{attack.name}: {attack.run.__doc__.splitlines()[0]}")
    for when, seen in phases:
        cells = [f"{what} {seen.p99(what) * 1000:7.1f}" for what in FLOORS]
        ratios = [f"{seen.p99(what) / max(before.p99(what), 1e-9):5.1f}×" for what in FLOORS]
        print(f"   {when:7} p99 in ms: " + ", ".join(f"{cell} {ratio}" for cell, ratio in zip(cells, ratios))
              + f"   {seen.memory / (1 << 20):6.1f} MiB   (late {seen.p99('lateness') * 1000:.1f})")
    told = ", ".join(f"{key} {value:,}" for key, value in sorted(evidence.seen.items()))
    print(f"   seen in {evidence.seconds:.1f} s: {told}; causes: {', '.join(sorted(evidence.causes)) or 'none'}")


def run(attack, seconds):
    """Whether the attack costs an honest client nothing. Where only the time was too long, it is measured again: two of
    three turns decide, since a shared machine stands still by itself now and then."""
    bad = 0
    for turn in range(3):
        before, during, after, evidence = measure(attack, seconds)
        report(attack, before, during, after, evidence)
        faults = list(other_faults(before, during, after, attack))
        faults += [f"this does not hold: {proof.name}" for proof in attack.proofs if not proof.holds(evidence)]
        slow = list(latency_faults(before, during, after))
        for fault in faults + slow:
            print(f"   FAULT: {fault}")
        sys.stdout.flush()
        if faults:
            return False
        bad += bool(slow)
        if bad == 2 or turn - bad == 1 or not bad:
            break
    shown = ", ".join(proof.name for proof in attack.proofs)
    print(f"   {'ok' if bad < 2 else 'NOTICED'}: {shown}\n", flush=True)
    return bad < 2


def main():
    """The attacks that were named, or all."""
    parser = argparse.ArgumentParser(prog="benchmarks/measure hostile", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="name", help="attacks; a part of a name names all that have it")
    parser.add_argument("--seconds", type=float, default=8, help="length of each of the three looks")
    parser.add_argument("--list", action="store_true", help="say what there is")
    arguments = parser.parse_args()
    known = [attack.name for attack in ATTACKS]
    for name in arguments.names:
        if not any(name in other for other in known):
            parser.error(f"there is no attack \"{name}\"; there are {', '.join(known)}")
    chosen = [attack for attack in ATTACKS if not arguments.names or any(
        name == attack.name or name not in known and name in attack.name for name in arguments.names)]
    if arguments.list:
        for attack in chosen:
            print(f"{attack.name:22} {attack.run.__doc__.splitlines()[0]}")
        return
    failed = [attack.name for attack in chosen if not run(attack, arguments.seconds)]
    print(f"{len(chosen) - len(failed)} of {len(chosen)} attacks cost an honest client nothing"
          + (f"; not: {', '.join(failed)}" if failed else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
