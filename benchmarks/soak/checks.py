"""Whether the soak would see what it looks for: series with a known leak, flat ones, and publications that go wrong.

    python3 benchmarks/soak/checks.py
"""

import contextlib
import io
import json
import os
import random
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "hostile")]

# pylint: disable=wrong-import-position
from ledger import Ear, Ledger, Subject
from report import print_report
from series import limit, student, trend

ROWS = 30


def series(seed, growth=0.0, noise=0.01, alike=0.0, segments=2, blocks=50):
    """Fifty minutes with a level of 100: growth per hour and noise as parts of it, which hangs on by `alike`."""
    drawn, found, rest = random.Random(seed), [], 0.0
    for segment in range(segments):
        points = []
        for block in range(blocks):
            time = (segment * blocks + block) * 3000 / (segments * blocks)
            rest = alike * rest + drawn.gauss(0, noise * (1 - alike * alike) ** 0.5)
            # A new process begins somewhere else, which is no growth.
            points.append((time, 100 * (1 - 0.3 * segment + growth * time / 3600 + rest)))
        found.append(points)
    return found


def verdict(segments):
    return trend(segments, ROWS, limit(1)).verdict(limit(1), 1)


class Series(unittest.TestCase):
    def test_students_quantiles_are_those_of_the_tables(self):
        for probability, freedom, wanted in ((0.975, 1, 12.706), (0.975, 4, 2.776), (0.995, 10, 3.169),
                                             (0.9, 30, 1.310), (0.975, 1000, 1.960)):
            self.assertAlmostEqual(student(probability, freedom), wanted, delta=0.004 * wanted)

    def test_a_leak_grows(self):
        for seed in range(20):
            self.assertEqual(verdict(series(seed, growth=0.05)), "grows")
            self.assertEqual(verdict(series(seed, growth=0.5, alike=0.8)), "grows")

    def test_a_flat_and_noisy_one_is_flat(self):
        found = [verdict(series(seed, alike=alike)) for alike in (0, 0.5, 0.9) for seed in range(200)]
        self.assertEqual(found.count("grows"), 0)
        self.assertEqual([verdict(series(seed)) for seed in range(200)].count("flat"), 200)

    def test_one_that_never_changes_is_flat(self):
        self.assertEqual(verdict(series(1, noise=0)), "flat")

    def test_the_interval_holds_the_truth_as_often_as_it_says(self):
        for alike in (0, 0.5, 0.8):
            held = 0
            for seed in range(400):
                found = trend(series(seed, growth=0.03, alike=alike), 1, limit(1))
                held += found.low <= 3 <= found.high
            self.assertGreater(held, 0.91 * 400)

    def test_a_leak_of_the_least_size_that_is_seen_is_seen(self):
        least = trend(series(0), ROWS, limit(1)).seeable / 100
        seen = [verdict(series(seed, growth=least)) for seed in range(1, 201)].count("grows")
        self.assertGreater(seen, 0.65 * 200)

    def test_too_little_is_undecided(self):
        self.assertEqual(verdict([series(1, growth=0.5)[0][:3]]), "undecided")
        self.assertEqual(verdict(series(1, noise=5)), "undecided")
        self.assertEqual(verdict([]), "undecided")

    def test_a_long_run_is_judged_more_strictly(self):
        self.assertEqual(limit(1), 0.01)
        self.assertAlmostEqual(limit(168) * 168, 0.05)


class Owner:
    user, is_slow = "ann", False


class Publications(unittest.TestCase):
    def setUp(self):
        self.ledger, self.subject = Ledger(), Subject("s", "chat:1", True)
        self.ear = Ear(Owner(), "chat:1", [self.subject], self.ledger)
        self.ear.is_subscribed({"epoch": "e", "offset": 0})

    def hear(self, *numbers):
        for number in numbers:
            self.ear.take({"data": {"text": f"s {number} 0"}})
        return {name: count for name, count in self.ledger.counts.items()
                if count and name not in ("heard", "recovered")}

    def test_once_and_in_order_is_right(self):
        self.assertEqual(self.hear(1, 2, 3), {})

    def test_loss_doubles_and_disorder_are_told_apart(self):
        self.assertEqual(self.hear(1, 2, 2), {"double": 1})
        self.assertEqual(self.hear(5), {"double": 1, "lost": 2})
        self.assertEqual(self.hear(4), {"double": 1, "lost": 2, "disorder": 1})
        self.assertEqual(len(self.ledger.faults), 4)

    def test_what_had_no_answer_may_come_once_or_never(self):
        self.subject.abandoned.extend([2, 3])
        self.assertEqual(self.hear(1, 4, 2, 5), {})
        self.assertEqual(self.hear(2), {"double": 1})

    def test_what_was_acknowledged_and_does_not_come_is_lost(self):
        self.hear(1)
        self.subject.before = [1, 2]
        self.ear.look()
        self.assertEqual(self.hear(), {})
        self.subject.before = [2, 2]
        self.ear.look()
        self.assertEqual(self.hear(), {"lost": 1})

    def test_so_is_the_first_one(self):
        self.subject.before = [2, 2]
        self.ear.look()
        self.assertEqual(self.hear(), {"lost": 1})

    def test_a_recovery_gives_what_was_missed(self):
        self.hear(1)
        self.ear.is_subscribed({"epoch": "e", "offset": 3, "recovered": True, "publications": [
            {"data": {"text": f"s {number} 0"}, "offset": number} for number in (2, 3)]})
        self.assertEqual(self.hear(4), {})

    def test_one_that_is_none_is_a_fault_but_for_a_new_epoch_in_memory(self):
        self.hear(1)
        self.ear.is_subscribed({"epoch": "f", "offset": 0, "gap": {"reason": "epoch"}})
        self.assertEqual(self.hear(4), {"fault": 1, "told": 2})
        self.subject.is_kept = False
        self.ear.is_subscribed({"epoch": "g", "offset": 0, "gap": {"reason": "epoch"}})
        self.assertEqual(self.hear(6), {"fault": 1, "told": 3})
        self.ear.is_subscribed({"epoch": "g", "offset": 0, "gap": {"reason": "expired"}})
        self.assertEqual(self.hear(), {"fault": 2, "told": 3})


class Files(unittest.TestCase):
    """Whole reports, of lines as a run writes them."""

    def report(self, growth=0.0, lost=0, cut=False, is_short=False):
        drawn, lines = random.Random(1), [{
            "kind": "start", "at": 0, "command": "benchmarks/soak", "machine": "m", "commit": "c", "begun": "b",
            "duration": 3600, "warmup": 600, "sample": 5}]
        for number in range(1, 30 if is_short else 721):
            at = number * 5.0
            # The process is replaced at 1800 s, which is told when it is over, and is twice as large until it settles.
            level = 2.0 if 1800 < at < 1900 else 1.0
            rss = (50 << 20) * level * (1 + growth * at / 3600 + drawn.gauss(0, 0.004))
            process = {"pid": 1 + (at > 1800), "rss": rss, "private": rss, "descriptors": 60, "threads": 8}
            lines.append({"kind": "sample", "at": at, "processes": {"broker": process, "program": process},
                          "files": {"broker wal": [1000, 0]}, "late": 0.001, "counts": {"heard": 1, "lost": lost},
                          "deliveries": {"count": 9, "p50": 0.001, "p99": drawn.lognormvariate(-6, 0.3)}})
            if at == 1820:
                lines.append({"kind": "event", "at": 1820, "begun": 1800, "took": 20, "settle": 100, "what": "replaced"})
        lines.append({"kind": "end", "at": 3600, "counts": {}})
        text = "\n".join(map(json.dumps, lines))
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file, \
                contextlib.redirect_stdout(io.StringIO()) as said:
            file.write(text[:-30] if cut else text)
            file.flush()
            return print_report(file.name), said.getvalue()

    def test_flat_is_0(self):
        status, text = self.report()
        self.assertEqual(status, 0, text)
        self.assertNotIn("grows", text)

    def test_a_leak_is_1_and_named(self):
        status, text = self.report(growth=0.05)
        self.assertEqual(status, 1)
        self.assertRegex(text, r"broker rss .* grows")

    def test_a_loss_is_1(self):
        self.assertEqual(self.report(lost=1)[0], 1)

    def test_one_that_was_cut_off_is_shown_and_never_0(self):
        status, text = self.report(cut=True)
        self.assertEqual(status, 2)
        self.assertIn("has not come to its end", text)

    def test_one_that_was_too_short_is_2(self):
        self.assertEqual(self.report(is_short=True)[0], 2)


if __name__ == "__main__":
    unittest.main()
