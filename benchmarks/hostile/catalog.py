"""What an attack is, and what must be seen of the limit that it meets."""

import dataclasses
import typing


@dataclasses.dataclass
class Proof:
    """What shows that a limit was met."""

    name: str
    holds: typing.Callable


def error(code):
    """A command was answered with this error."""
    return Proof(f"error {code}", lambda attack: attack.seen[f"error {code}"] > 0)


def close(code):
    """A connection was closed with this code."""
    return Proof(f"close {code}", lambda attack: attack.seen[f"close {code}"] > 0)


def status(code):
    """A request was answered with this status."""
    return Proof(f"status {code}", lambda attack: attack.seen[f"status {code}"] > 0)


def logged(cause):
    """The operator was told of this cause, which is counted under the same name."""
    return Proof(f"cause={cause}", lambda attack: cause in attack.causes)


def says(text):
    """The operator was told something that has no cause."""
    return Proof(f"log: {text}", lambda attack: text in attack.log)


def slowed(what, per_second, burst):
    """No more was done than the rate allows, with a tenth for the edges of the time that was measured."""
    return Proof(
        f"≤ {burst:,} + {per_second:,}/s {what}",
        lambda attack: 0 < attack.seen[what] <= (burst + per_second * attack.seconds) * 1.1)


def passed(per_second, burst):
    """No more commands were done than the rate allows, beside the sign-in of each connection; errors are none."""

    def holds(attack):
        errors = sum(count for what, count in attack.seen.items() if what.startswith("error "))
        return attack.seen["answers"] - attack.seen["connections"] - errors <= (burst + per_second * attack.seconds) * 1.1

    return Proof(f"≤ {burst:,} + {per_second:,}/s done", holds)


def goes_on(what, least=1):
    """The attacker's own work is done: it is not refused, only done in its turn."""
    return Proof(f"≥ {least:,} {what}", lambda attack: attack.seen[what] >= least)


def none(*whats):
    """Nothing of the kind was seen."""
    return Proof("no " + ", ".join(whats), lambda attack: not any(attack.seen[what] for what in whats))


@dataclasses.dataclass
class Attack:
    """A limit, and somebody who goes as far as it lets them."""

    name: str
    run: typing.Callable
    proofs: tuple
    settings: dict
    #: Bytes that the server may hold for it, and keep, by its settings.
    kept: int
    #: Beginning of what the limit tells everybody, by its very nature; "": it concerns the attacker alone.
    tells_all: str
    #: What it takes at least until the limit is met; 0: less than a second or two.
    seconds: float


ATTACKS = []


def attack(*proofs, settings=None, kept=0, tells_all="", seconds=0):
    """Marks a function as an attack. What it does before its `yield` is done before the baseline is measured."""

    def add(function):
        name = function.__name__.replace("_", "-")
        ATTACKS.append(Attack(name, function, proofs, settings or {}, kept, tells_all, seconds))
        return function

    return add
