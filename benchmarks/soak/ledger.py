"""What a soak has seen: counts, times, faults, and lines of publications with what each reader heard of them."""

import collections
import time

from report import key_of, quantile

#: Faults beyond these are counted and not told.
MAX_FAULTS = 200


class Ledger:
    """Counts since the start, and times since the last look. Everything in here is bounded."""

    def __init__(self):
        self.counts = dict.fromkeys(
            ("acknowledged", "abandoned", "heard", "recovered", "told", "lost", "double", "disorder", "fault"), 0)
        self.deliveries, self.lateness = collections.Counter(), collections.Counter()
        self.faults, self.is_disturbed = collections.deque(), False

    def count(self, name, number=1):
        self.counts[name] = self.counts.get(name, 0) + number

    def fault(self, kind, text):
        """Something that must not be."""
        self.count(kind)
        if sum(self.counts[name] for name in ("lost", "double", "disorder", "fault")) <= MAX_FAULTS:
            self.faults.append(text)

    def trouble(self, text):
        """Something that may be while a server is replaced, and must not be at any other time."""
        if self.is_disturbed:
            self.count("troubles")
        else:
            self.fault("fault", text)

    def deliver(self, seconds):
        self.deliveries[key_of(seconds)] += 1

    def look(self):
        """The times since the last look."""
        seen, late = self.deliveries, self.lateness
        self.deliveries, self.lateness = collections.Counter(), collections.Counter()
        return ({"count": sum(seen.values()), "p50": quantile(seen, 0.5), "p99": quantile(seen, 0.99)},
                quantile(late, 0.99))


class Subject:
    """One line of numbered publications on a channel, by one publisher, one after another."""

    def __init__(self, name, channel, is_kept):
        self.name, self.channel, self.is_kept = name, channel, is_kept
        self.acknowledged, self.abandoned = 0, collections.deque(maxlen=2000)
        #: What was acknowledged at the last two looks at who is behind.
        self.before = [0, 0]


class Ear:
    """What one subscriber has heard on one channel. Says what of it is wrong."""

    def __init__(self, owner, channel, subjects, ledger):
        self.owner, self.channel, self.ledger = owner, channel, ledger
        self.subjects = {subject.name: subject for subject in subjects}
        self.heard, self.base, self.excused = {}, {}, set()
        self.missing, self.skipped = collections.deque(maxlen=500), collections.deque(maxlen=500)
        self.epoch, self.offset = None, None

    def is_subscribed(self, result):
        """The answer to a subscribe, with what was missed."""
        if self.epoch is None:
            self.base = {name: subject.acknowledged for name, subject in self.subjects.items()}
        elif not result.get("recovered"):
            self.is_told(result.get("gap", {}).get("reason", "no reason"))
        for publication in result.get("publications", []):
            self.take(publication, is_live=False)
        self.epoch, self.offset = result.get("epoch", ""), result.get("offset", 0)

    def is_told(self, reason):
        """A recovery that is none. A new epoch is what a broker that restarts leaves of channels in memory."""
        is_kept = any(subject.is_kept for subject in self.subjects.values())
        if not self.owner.is_slow and (is_kept or reason != "epoch"):
            self.ledger.fault("fault", f"{self.owner.user} did not recover {self.channel}: {reason}")
        self.excused = set(self.subjects)

    def take(self, publication, is_live=True):
        """A publication; those that are no numbers of a subject are said by apps, or filled a conversation before."""
        self.offset = publication.get("offset", self.offset)
        data = publication.get("data")
        text = data.get("text") if isinstance(data, dict) else None
        words = text.split(" ") if text else []
        if len(words) != 3 or words[0] not in self.subjects:
            return
        name, number, due = words
        self.ledger.count("heard" if is_live else "recovered")
        if is_live and not self.owner.is_slow:
            self.ledger.deliver(time.monotonic() - float(due))
        self.check(self.subjects[name], int(number))

    def check(self, subject, number):
        """Whether this one comes once and in order."""
        last = self.heard.get(subject.name)
        if last is not None and number <= last:
            self.is_late(subject, number)
            return
        self.heard[subject.name] = number
        is_excused = subject.name in self.excused
        self.excused.discard(subject.name)
        for missed in range(number - 1000 if last is None else max(last + 1, number - 1000), number):
            if last is None:
                break
            if missed in subject.abandoned:
                self.skipped.append((subject.name, missed))
            elif is_excused:
                self.ledger.count("told")
            else:
                self.missing.append((subject.name, missed))
                self.ledger.fault("lost", f"{self.owner.user} did not hear {missed} of {subject.name}")

    def is_late(self, subject, number):
        """A number below one that was heard: one without an answer may still come, once; others never."""
        if (subject.name, number) in self.skipped:
            self.skipped.remove((subject.name, number))
        elif (subject.name, number) in self.missing:
            self.missing.remove((subject.name, number))
            self.ledger.fault("disorder", f"{self.owner.user} heard {number} of {subject.name} too late")
        else:
            self.ledger.fault("double", f"{self.owner.user} heard {number} of {subject.name} twice")

    def behind(self, wanted):
        """Subjects of which this one has not heard what was acknowledged, as far as `wanted` says of a subject."""
        if self.epoch is None:
            return
        for name, subject in self.subjects.items():
            number = wanted(subject)
            is_first = name not in self.heard
            if name not in self.excused and number > self.heard.get(name, self.base.get(name, 0) + is_first):
                yield subject, number

    def look(self):
        """What was acknowledged two looks ago must have come by now."""
        for subject, number in list(self.behind(lambda subject: subject.before[0])):
            self.ledger.fault("lost", f"{self.owner.user} has heard nothing of {subject.name} since "
                                      f"{self.heard.get(subject.name)}, and {number} was acknowledged")
            self.heard[subject.name] = number
