# SPDX-License-Identifier: MIT OR Apache-2.0
"""The specification by itself: for every word that a breaker writes, all rules, permits and times, the cases of an
operation leave nothing out and do not overlap, and lead to words that a breaker writes.

    alone.py [OPERATION ..]
"""

import itertools
import sys
import time

import claripy
from claripy import And, Not, Or

from commands import Specification
from prove import OPERATIONS, World
from rules import GROUPS, Rules
from times import Times
from word import NARROW, WIDE, Word, wide


def check(name, layout, operation):
    begun = time.time()
    rules = Rules(layout, list(GROUPS))

    def number(name, bits=32):
        return wide(claripy.BVS(name, bits))

    # Whatever growth gives: no shorter than the first open time, no longer than the longest.
    grown = number("grown")
    specification = Specification(layout, rules, Times(layout, rules, lambda steps: grown))
    a, world = Word(layout, claripy.BVS("old", layout.bits)), World()
    for field in ("now", "clock", "random", "dice", "started", "ms"):
        setattr(world, field, number(field))
    world.weight = number("weight", 16)
    world.granted = granted = Word(layout, claripy.BVS("granted", layout.bits))
    solver = claripy.Solver()
    solver.add(
        [
            rules.are_well_formed(),
            rules.are_accepted(),
            Not(And(rules.growth == 1, Or(grown.ULT(rules.open_ms), grown.UGT(rules.longest_ms)))),
            a.is_valid(),
            granted.is_valid(),
            Or(granted.counts, And(granted.is_half_open, granted.probes != 0), granted.is_disabled),
        ]
    )

    def can(*constraints):
        return solver.satisfiable(extra_constraints=constraints)

    cases = list(getattr(specification, "p_trip" if operation == "trip" else operation)(a, world))
    faults = []
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


def main():
    operations = sys.argv[1:] or OPERATIONS
    results = [
        check(name, layout, operation)
        for name, layout in (("wide", WIDE), ("narrow", NARROW))
        for operation in operations
    ]
    print(f"{sum(results)} of {len(results)} sound")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
