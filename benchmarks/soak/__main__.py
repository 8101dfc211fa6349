"""Lets Fanfare run for an hour or a week under a realistic mix, and says what grows: benchmarks/soak, or make soak.

Starts a broker and two gateways (TLS, SQLite) and people who use them: rooms with presence, a busy channel, chats and news
that are durable, Clique, State, visitors all the time, slow readers, connections that break and recover. At a fixed
rhythm the gateways are replaced one after another, the certificate, the broker, and the certificate again. Each
publication must be heard once and in order by everybody on its channel. Every few seconds memory, descriptors and threads
of each process, the sizes of files and the p50 and p99 of deliveries go to a file, a line of JSON each; in the end, or with
--report, a table says of each row how much it grows in an hour. Exit code 0: flat, and nothing was wrong; 1: something
grows, was lost, came twice or out of order, or failed; 2: too short to say. Uses the standard library and openssl.
"""

import argparse
import asyncio
import datetime
import gc
import json
import os
import platform
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(1, os.path.join(TOP, "benchmarks", "hostile"))

# pylint: disable=wrong-import-position
from changes import Changes
from fleet import measure
from mix import Soak, ended
from report import print_report

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text):
    """A duration such as 90s, 1h or 7d."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text)
    if not found:
        raise argparse.ArgumentTypeError(f"\"{text}\" is no duration such as 90s, 1h or 7d")
    return float(found[1]) * UNITS[found[2]]


def say(text):
    """Prints, unless the terminal is gone."""
    try:
        print(text, flush=True)
    except OSError:
        pass


class Notes:
    """The file of a run. Each line is written at once."""

    def __init__(self, path):
        self.begun = time.monotonic()
        # pylint: disable=consider-using-with
        self.output = open(path, "w", encoding="utf-8")

    def note(self, kind, **fields):
        line = {"kind": kind, "at": round(time.monotonic() - self.begun, 3), **fields}
        self.output.write(json.dumps(line, separators=(",", ":")) + "\n")
        self.output.flush()


def head(given):
    """What a report says of how a run was made."""
    commit = subprocess.run(["git", "-C", TOP, "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                            check=False).stdout.strip()
    return {"command": "python3 benchmarks/soak " + shlex.join(sys.argv[1:]), "commit": commit,
            "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.release()}",
            "begun": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            **{name: getattr(given, name)
               for name in ("duration", "warmup", "settle", "every", "sample", "load", "seed")}}


async def sampling(soak, notes, every):
    """A line every so many seconds; looks at who is behind every thirty. Ends the soak where a process has ended."""
    due = looked = collected = time.monotonic()
    while True:
        due += every
        await asyncio.sleep(max(0, due - time.monotonic()))
        processes = {"program": measure(os.getpid())}
        for server in soak.fleet.servers:
            if server.is_open and server.process.poll() is not None:
                soak.ledger.fault("fault", f"the {server.name} ended by itself with {server.process.returncode}")
                return
            found = await server.sample()
            if found:
                processes[server.name] = found
        deliveries, late = soak.ledger.look()
        while soak.ledger.faults:
            notes.note("fault", text=soak.ledger.faults.popleft())
        notes.note("sample", processes=processes, files=soak.fleet.files(), deliveries=deliveries, late=late,
                   counts=soak.ledger.counts)
        if time.monotonic() - collected >= 10:
            # A TLS connection that was left is a cycle with a quarter of a MiB in it.
            collected = time.monotonic()
            gc.collect()
        if time.monotonic() - looked >= 30:
            looked = time.monotonic()
            soak.look()


async def measured(soak, notes, given, told):
    """The time that is measured, which ends early where it is told to or something ends that must not."""
    changes = Changes(soak, notes.note, given.settle)
    works = [asyncio.create_task(sampling(soak, notes, given.sample)), asyncio.create_task(told.wait())]
    # No change is begun so late that nothing is seen of what follows.
    last = given.duration - given.every / 2
    changing = asyncio.create_task(changes.run(notes.begun, given.warmup, given.every, last))
    timer = asyncio.create_task(asyncio.sleep(given.duration))
    running = [*works, timer, *soak.tasks]
    try:
        while not timer.done():
            done, _ = await asyncio.wait([*running, changing], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if task.exception():
                    raise task.exception()
            if changing in done and len(done) == 1:
                changing = asyncio.create_task(asyncio.sleep(given.duration * 2))
                continue
            return
    finally:
        await ended([*works, timer, changing])


async def soak_for(given, folder):
    """The whole run. What has happened is in the file, whatever it ends by."""
    told, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, told.set)
    loop.add_signal_handler(signal.SIGTERM, told.set)
    # The end of the terminal is not the end of a run. What SIGHUP does here is not inherited by the servers.
    loop.add_signal_handler(signal.SIGHUP, lambda: None)
    soak = Soak(folder, given.load, given.duration < 600)
    notes = Notes(given.out)
    notes.note("start", **head(given))
    try:
        await soak.fleet.start()
        await soak.start()
        notes.begun = time.monotonic()
        say(f"the soak runs; its lines are in {given.out}")
        await measured(soak, notes, given, told)
        if all(server.process.poll() is None for server in soak.fleet.servers if server.is_open):
            await soak.finish()
    except BaseException as error:
        soak.ledger.fault("fault", f"the soak broke off: {type(error).__name__} {error}")
        raise
    finally:
        await soak.leave()
        await soak.fleet.stop()
        for text in soak.ledger.faults:
            notes.note("fault", text=text)
        notes.note("end", counts=soak.ledger.counts)


def options():
    parser = argparse.ArgumentParser(prog="benchmarks/soak", description=__doc__.splitlines()[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--duration", type=seconds, default="1h", help="such as 90s, 1h or 7d")
    parser.add_argument("--warmup", type=seconds, help="left out of all slopes (a sixth, half an hour at most)")
    parser.add_argument("--every", type=seconds, help="time between changes (a sixth, four hours at most)")
    parser.add_argument("--settle", type=seconds, help="left out after a change (two fifths of --every, 10 minutes at most)")
    parser.add_argument("--sample", type=seconds, help="time between lines (a 720th, from a second to a minute)")
    parser.add_argument("--load", type=float, default=1, help="1 is 100 clients, 400 deliveries/s, 3 visitors/s")
    parser.add_argument("--seed", type=int, default=1, help="of what this program draws; the servers are not seeded")
    parser.add_argument("--out", default="soak.jsonl", help="file of the lines")
    parser.add_argument("--keep", action="store_true", help="keep the servers' folder also where all is well")
    parser.add_argument("--report", metavar="FILE", help="print the table of a file and do nothing else")
    given = parser.parse_args()
    given.warmup = min(given.duration / 6, 1800) if given.warmup is None else given.warmup
    given.every = min(given.duration / 6, 14400) if given.every is None else given.every
    given.settle = min(given.every * 0.4, 600) if given.settle is None else given.settle
    given.sample = min(60, max(1, given.duration / 720)) if given.sample is None else given.sample
    return given


def main():
    """Prints the table and returns the exit code."""
    given = options()
    if given.report:
        return print_report(given.report, say)
    random.seed(given.seed)
    # Modules are there for good: to look through them again and again would make this program late.
    gc.freeze()
    folder = tempfile.mkdtemp(prefix="fanfare-soak-")
    failed = False
    try:
        asyncio.run(soak_for(given, folder))
    except (SystemExit, Exception) as error:  # pylint: disable=broad-exception-caught
        failed = True
        say(f"the soak broke off: {type(error).__name__} {error}")
    status = print_report(given.out, say)
    if given.keep or failed or status == 1:
        say(f"the servers' folder is {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else status


if __name__ == "__main__":
    sys.exit(main())
