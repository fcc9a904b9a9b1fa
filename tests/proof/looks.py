# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations that only look, beside what the specification says of the word that they find."""

from terms import FALSE, TRUE, And, If, Not, Or, divided, equal, is_value, lshr, number
from word import Word, least, wide

LOOKS = ("state", "snapshot", "still_counts", "is_valid", "accepts")


def obligations(proof, operation, state, world):
    """What must hold at the end of a look: its answer, and that nothing was written."""
    events, returned = state.events, wide(proof.returned(state))
    if any(event.kind == "exchange" for event in events):
        return [("a look changes nothing", FALSE)]
    if operation == "accepts":
        accepted = proof.rules.are_accepted()
        # A growing open time must also reach its maximum, which the specification does not say.
        return [
            ("what is accepted may be", Or(returned == 0, accepted)),
            ("what may be is accepted", Or(returned == 1, Not(accepted), proof.rules.growth == 1)),
        ]
    if operation == "is_valid":
        return [("valid words are known", equal(returned == 1, Word(proof.layout, world.bits).is_valid()))]
    loads = [event.values[0] for event in events if event.kind == "load"]
    if len(loads) != 1:
        return [("the word is loaded once", FALSE)]
    found = Word(proof.layout, loads[0])
    now = [wide(event.values[0]) for event in events if event.kind == "now"]
    is_read, world.now = (TRUE, now[0]) if now else (FALSE, number(0))
    if operation == "still_counts":
        return [("counts", equal(returned == 1, proof.specification.still_counts(found, world)))]
    # A damaged word counts as a fresh one.
    a = Word(proof.layout, If(found.is_valid(), found.word, proof.specification.enter(found, 0)))
    shown = proof.specification.state(a, world)
    must = [("the clock is read while open", Or(is_read, Not(a.is_open)))]
    if operation == "state":
        return [*must, ("state", returned == shown)]
    told = fields(proof, a, shown, world)
    return must + [(name, proof.shown(state, k) == value) for k, (name, value) in enumerate(told.items())]


def fields(proof, a, shown, x):
    """A snapshot, in the order of `Shown`; what it does not say is `none`."""
    rules, times, zero, none = proof.rules, proof.specification.times, number(0), number(0xFFFF_FFFF)
    counted = If(times.has_reached(a), rules.failures, a.payload)
    rejects, wait = proof.specification.rejection(a, x)
    # The reading that the stored time was, in ticks: of the last times that it can be, the one that lies no further ahead than
    # a step back of the clock.
    opened = lshr(x.now, times.shift) - times.passed(lshr(x.now, times.shift), a.time)
    return {
        "state": shown,
        "the state that was entered": a.kind,
        "epoch": a.epoch,
        "failures": If(a.counts, counted, zero),
        "trips": a.trips,
        "probes": If(a.is_half_open, a.probes, zero),
        "successes": If(a.is_half_open, a.successes, zero),
        "lost rounds": If(a.is_half_open, a.rounds, zero),
        "share that passes": If(a.is_returning, percent(rules, times, a, x), none),
        "opened at": If(a.is_open, (opened << times.shift) & 0xFFFF_FFFF, none),
        "demanded": If(a.is_open, a.demanded, zero),
        "rejected in": If(rejects, shown, none),
        "a probe is due": If(And(Or(a.is_open, a.is_half_open), Not(rejects)), number(1), zero),
        "wait": If(rejects, wait, none),
        "open for": If(a.is_open, a.open_for << times.shift, none),
    }


def percent(rules, times, a, x):
    """The share on a straight line, rounded down; all where nothing returns gradually."""
    if is_value(rules.has_return, 0):
        return number(100)
    over = times.ticks(rules.over_ms)
    age = least(times.age(x.now, times.returning_since(a)), over)
    share = divided("udiv", rules.first_percent * (over - age) + 100 * age, over)
    return If(rules.has_return == 1, share, number(100))
