"""The table of a run, made of the lines that it has written."""

import json
import math

from series import Blocks, limit, trend

#: Rows that are shown and not judged: what the measuring program itself takes.
OWN = "program"
COUNTS = ("lost", "double", "disorder", "fault")


def quantile(histogram, part):
    """Of a histogram by keys that are logarithms to the base 1.01 of microseconds; in seconds."""
    wanted = sum(histogram.values()) * part
    for key in sorted(histogram):
        wanted -= histogram[key]
        if wanted <= 0:
            return 1.01 ** (key + 0.5) / 1e6
    return None


def key_of(seconds):
    """Where a time belongs in such a histogram."""
    return int(math.log(max(seconds * 1e6, 1), 1.01))


def lines(path):
    """The objects of a file. The last line of a run that was cut off may be half a one."""
    with open(path, encoding="utf-8") as source:
        for line in source:
            try:
                yield json.loads(line)
            except ValueError:
                return


def values_of(sample):
    """The rows of a sample: name, unit, segment, value."""
    for name, process in sample["processes"].items():
        for measure in ("rss", "private", "in use", "descriptors", "threads"):
            unit = "" if measure in ("descriptors", "threads") else "bytes"
            yield f"{name} {measure}", unit, process["pid"], process.get(measure)
    for name, (size, process) in sample["files"].items():
        yield name, "bytes", process, size
    for measure in ("p50", "p99"):
        yield f"delivery {measure}", "seconds", 0, sample["deliveries"][measure]
    yield f"{OWN} lateness", "seconds", 0, sample["late"]


class Run:
    """What a file says."""

    def __init__(self, path):
        self.head, self.end, self.counts, self.faults, self.events = {}, None, {}, [], []
        self.blocks, self.units, self.troubles, self.last, waiting = {}, {}, [], 0.0, []
        for line in lines(path):
            kind = line["kind"]
            if kind == "start":
                self.head = line
            elif kind == "event":
                self.events.append(line)
                if line["settle"]:
                    self.troubles.append((line["begun"], line["at"] + line["settle"]))
            elif kind == "fault":
                self.faults.append(line["text"])
            elif kind == "end":
                self.end = line
            elif kind == "sample":
                self.counts, self.last = line["counts"], line["at"]
                waiting.append(line)
            # An event is written when it is over, so what came meanwhile waits to be told whether it counts.
            while waiting and (kind == "event" or waiting[0]["at"] + 120 < self.last):
                self.take(waiting.pop(0))
        for line in waiting:
            self.take(line)

    def take(self, sample):
        """A sample counts unless the warm-up, a change or its settling touches it."""
        begun = sample["at"] - self.head["sample"]
        self.troubles = [trouble for trouble in self.troubles if trouble[1] + 600 > begun]
        if begun < self.head["warmup"] or any(begun < end and sample["at"] > start for start, end in self.troubles):
            return
        for name, unit, segment, value in values_of(sample):
            if value is not None:
                self.units[name] = unit
                width = max(self.head["sample"], min(600, self.head["duration"] / 120))
                if name not in self.blocks:
                    self.blocks[name] = Blocks(width, max) if name in sample["files"] else Blocks(width)
                self.blocks[name].add(segment, sample["at"], value)

    @property
    def hours(self):
        """The time that is looked at."""
        return max(0, self.last - self.head.get("warmup", 0)) / 3600

    def rows(self):
        """Each row with its trend and its verdict; None where it is not judged."""
        judged = [name for name in self.blocks if not name.startswith(OWN)]
        allowed = limit(self.hours)
        for name, blocks in self.blocks.items():
            found = trend(blocks.taken(), max(1, len(judged)), allowed)
            yield name, found, found.verdict(allowed, self.hours) if name in judged else None

    def status(self, verdicts):
        """0: all is flat; 1: something grows, or something was wrong; 2: there is too little to say."""
        if "grows" in verdicts or self.faults or any(self.counts.get(name) for name in COUNTS):
            return 1
        return 2 if "undecided" in verdicts or "flat" not in verdicts or not self.end else 0


def shown(value, unit):
    """A mean in its unit."""
    if unit == "bytes":
        return f"{value / (1 << 20):.2f} MiB"
    return f"{value * 1000:.2f} ms" if unit == "seconds" else f"{value:.1f}"


def percent(value, mean):
    """A growth per hour as a part of the mean."""
    if value is None:
        return "–"
    if not mean:
        return f"{value:+.2f}"
    return f"{value / abs(mean) * 100:+.2f} %"


def print_report(path, say=print):
    """Says what a file holds, and returns the exit code."""
    run = Run(path)
    if not run.head:
        say(f"{path} has no line of a soak")
        return 2
    say(f"{run.head['command']}\n{run.head['machine']}; commit {run.head['commit']}; begun {run.head['begun']}")
    say(f"{run.last:.0f} s, of which the first {run.head['warmup']:g} s and what follows a change are left out; "
        f"a row may grow by {limit(run.hours) * 100:.3g} % an hour")
    say(f"\n{'':24}{'mean':>12}{'per hour':>11}   {'95 % for all rows':24}{'least seen':>10}  {'blocks':>9}")
    verdicts = []
    for name, found, verdict in run.rows():
        verdicts.append(verdict)
        bounds = f"{percent(found.low, found.mean)} to {percent(found.high, found.mean)}"
        say(f"{name:24}{shown(found.mean, run.units[name]):>12}{percent(found.slope, found.mean):>11}   {bounds:24}"
            f"{percent(found.seeable, found.mean):>10}  {f'{found.blocks}/{found.segments}':>9}  {verdict or ''}")
    changes = {}
    for event in run.events:
        changes.setdefault(event["what"], []).append(event["took"])
    for what, took in changes.items():
        say(f"{what}: {len(took)} times, {min(took):.1f} to {max(took):.1f} s")
    say(", ".join(f"{name} {count:,}" for name, count in run.counts.items()))
    for text in run.faults[:20]:
        say(f"FAULT: {text}")
    status = run.status(verdicts)
    if not run.end:
        say("the run has not come to its end")
    say({0: "flat, and nothing lost, doubled or out of order", 1: "NOT FLAT, or something was wrong: see above",
         2: "too short to say of every row"}[status])
    return status
