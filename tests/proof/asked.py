# SPDX-License-Identifier: MIT OR Apache-2.0
"""Durations that a caller passes: once the code has made milliseconds of one, it is shown that they are the right ones, and from
then on they are a number that may be anything.

A compiler divides by a million with products and rotations, which a solver understands only in small steps. Done once, and not
again in each question that follows, it takes seconds.
"""

import random

from terms import Not, equal, evaluate, variable, widened
from terms import number as constant

ASKED = "asked"
NAMES = frozenset({"seconds", "millis", "rest"})


class Asked:
    def __init__(self, solver, right):
        """`right` is a term in the arguments: the number of milliseconds that it should be."""
        self.solver, self.right = solver, right
        self.tried = {}
        chance = random.Random(1)
        seconds = [0, 1, 4_294_967, 4_294_968, 1 << 31, (1 << 32) - 1]
        self.samples = [
            {
                "seconds": chance.choice([*seconds, chance.randrange(4_294_967), chance.randrange(5_000_000)]),
                "millis": chance.choice([0, 295, 296, 999, chance.randrange(1_000)]),
                "rest": chance.choice([0, 1, 999_999, chance.randrange(1_000_000)]),
            }
            for _ in range(60)
        ]

    def look(self, state):
        """Replaces the milliseconds wherever they stand."""
        for bytes_ in (state.registers, state.memory):
            for place, (term, k) in list(bytes_.at.items()):
                if k == 0 and term.size in (32, 64) and term.variables and term.variables <= NAMES:
                    here = tuple(truth for truth in state.known if truth.variables & NAMES)
                    if self.is_right(term, here):
                        self.replace(state, term)

    def replace(self, state, term):
        asked = widened(variable(ASKED, 32), term.size)
        state.is_asked = True
        # What may have been looked at before.
        zero = [equal(name, constant(0, name.size)) for name in (variable(ASKED, 32), self.right)]
        state.known = (*state.known, equal(*zero))
        for bytes_ in (state.registers, state.memory):
            for place, (other, k) in list(bytes_.at.items()):
                if other is term:
                    bytes_.at[place] = (asked, k)

    def is_right(self, term, known):
        key = (term, *known)
        if key not in self.tried:
            self.tried[key] = self.seems_right(term, known) and self.is_shown(term, known)
        return self.tried[key]

    def seems_right(self, term, known):
        right, count = widened(self.right, term.size), 0
        for sample in self.samples:
            if all(evaluate(truth, sample) for truth in known if truth.variables <= NAMES):
                count += 1
                if evaluate(term, sample) != evaluate(right, sample):
                    return False
        return count > 5

    def is_shown(self, term, known):
        """For each number of whole milliseconds by itself."""
        right, millis = widened(self.right, term.size), variable("millis", 10)
        known = [truth for truth in known if truth.variables <= NAMES]
        for first in range(0, 1_000, 40):
            among = [millis.uge(first), millis.ult(first + 40)]
            if self.solver.satisfiable([*known, *among, Not(equal(term, right))]):
                return False
        return True
