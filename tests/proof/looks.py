# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations that only look, beside what the specification says of the word that they find."""

from terms import FALSE, TRUE, If, Not, Or, equal, number
from word import Word, wide

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
    return must + [(name, proof.shown(state, k) == value) for k, (name, value) in enumerate(fields(proof, a, shown))]


def fields(proof, a, shown):
    """The first fields of a snapshot, in the order of `Shown`."""
    rules, zero = proof.rules, number(0)
    counted = If(proof.specification.times.has_reached(a), rules.failures, a.payload)
    return [
        ("state", shown),
        ("the state that was entered", a.kind),
        ("epoch", a.epoch),
        ("failures", If(a.counts, counted, zero)),
        ("trips", a.trips),
        ("probes", If(a.is_half_open, a.probes, zero)),
        ("successes", If(a.is_half_open, a.successes, zero)),
        ("lost rounds", If(a.is_half_open, a.rounds, zero)),
    ]
