# SPDX-License-Identifier: MIT OR Apache-2.0
"""The specification by itself: it leaves nothing out, no two cases overlap, and valid words lead to valid words.

For every word that a breaker writes, permit, time, argument, and for all rules, of both widths.
"""

import itertools
import sys
import time

from commands import Specification
from rules import GROUPS, Rules
from solvers import Bitwuzla
from terms import And, Not, Or, number, variable
from times import Times
from word import NARROW, WIDE, Word, wide

OPERATIONS = (
    "acquire success failure slow tripping tripping_for retry_after ignored cancel renew trip trip_for force_open "
    "disable release enable reset probe_now probe_early retire restore restore_after restore_running"
).split()


class World:
    pass


def check(name, layout, operation):
    begun = time.time()
    rules = Rules(layout, list(GROUPS))

    def free(name, bits=32):
        return wide(variable(name, bits))

    # Whatever growth gives: no shorter than the first open time, no longer than the longest.
    grown = free("grown")
    specification = Specification(layout, rules, Times(layout, rules, lambda steps: grown))
    a, world = Word(layout, variable("old", layout.bits)), World()
    for field in ("now", "clock", "random", "dice", "started", "ms"):
        setattr(world, field, free(field))
    world.weight = free("weight", 16)
    world.granted = granted = Word(layout, variable("granted", layout.bits))
    solver = Bitwuzla()
    always = [
        rules.are_well_formed(),
        rules.are_accepted(),
        Not(And(rules.growth == 1, Or(grown.ult(rules.open_ms), grown.ugt(rules.longest_ms)))),
        a.is_valid(),
        granted.is_valid(),
        Or(granted.counts, And(granted.is_half_open, granted.probes != 0), granted.is_disabled),
    ]

    def can(*constraints):
        return solver.satisfiable([*always, *constraints])

    cases = list(getattr(specification, "p_trip" if operation == "trip" else operation)(a, world))
    faults = []
    if not can():
        faults.append("nothing is possible")
    if can(Not(Or(*[case.when for case in cases]))):
        faults.append("something is left out")
    for (i, one), (j, other) in itertools.combinations(enumerate(cases), 2):
        if can(one.when, other.when):
            faults.append(f"cases {i} and {j} overlap")
    for i, case in enumerate(cases):
        if not can(case.when):
            # A part of another operation that this one excludes.
            continue
        if can(case.when, Not(Word(layout, case.word).is_valid())):
            faults.append(f"case {i} leads to a word that no breaker writes")
    verdict = "sound" if not faults else "; ".join(faults)
    print(f"{name:6} {operation:18} {len(cases):3} cases {time.time() - begun:6.1f} s  {verdict}", flush=True)
    return not faults


def check_codes(name, layout):
    """The code of an open time is the least whose time is no shorter, for all that a word can tell."""
    begun = time.time()
    ticks, code = wide(variable("ticks", 32)), wide(variable("code", 32))
    longest = number(layout.max_ticks)
    (chosen, its_time), solver = layout.coded(ticks), Bitwuzla()
    is_short = Or(its_time.ult(ticks), its_time != layout.ticks_of(chosen))
    is_known = code.ule(layout.code_of(layout.max_ticks))
    is_longer = And(is_known, code.ult(chosen), layout.ticks_of(code).uge(ticks))
    is_sound = not solver.satisfiable([ticks.ule(longest), Or(is_short, is_longer)])
    is_sound &= solver.satisfiable([ticks.ule(longest)])
    verdict = "sound" if is_sound else "an open time has another code"
    print(f"{name:6} {'codes':18} {'':9} {time.time() - begun:6.1f} s  {verdict}", flush=True)
    return is_sound


def main():
    operations = sys.argv[1:] or OPERATIONS
    results = [check_codes(name, layout) for name, layout in (("wide", WIDE), ("narrow", NARROW))]
    results += [
        check(name, layout, operation)
        for name, layout in (("wide", WIDE), ("narrow", NARROW))
        for operation in operations
    ]
    print(f"{sum(results)} of {len(results)} sound")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
