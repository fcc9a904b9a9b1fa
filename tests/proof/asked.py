# SPDX-License-Identifier: MIT OR Apache-2.0
"""Durations that a caller passes: once the code has made milliseconds of one, it is shown that they are the right ones, and from
then on they are a number that may be anything.

Otherwise each question that follows would show it again.
"""

import random

from quotients import Quotients
from terms import TRUE, Not, equal, evaluate, variable, widened
from terms import number as constant

ASKED = "asked"
WHOLE = frozenset({"seconds", "millis"})
NAMES = WHOLE | {"rest"}


MOST = 0xFFFF_FFFF
ANY = (-1, MOST)


def cases(*limits):
    """Durations in groups, as (more than, at most) of milliseconds, between which the code takes other ways: none at all, up to
    each limit, and more than fits. What one way has cut to a limit and another way has not is never the same in both."""
    ends = sorted({0, *limits, MOST - 1, MOST})
    return list(zip([-1, *ends], ends))


def samples(more_than, most):
    """Durations in and around a group."""
    chance = random.Random(1)
    for _ in range(200):
        width = chance.randrange((most - more_than).bit_length() + 1)
        ms = chance.choice([more_than + 1 + chance.getrandbits(width), most - chance.getrandbits(width)])
        # Rounded up or down, or exactly so many.
        ms, rest = chance.choice([(ms - 1, chance.choice([1, chance.randrange(1_000_000), 999_999])), (ms, 0), (ms, 999_999)])
        if 0 <= ms <= MOST:
            yield {"seconds": ms // 1_000, "millis": ms % 1_000, "rest": rest}
    for seconds in (0, 4_294_967, 4_294_968, 1 << 31, MOST):
        for millis in (0, 295, 296, 999):
            yield {"seconds": seconds, "millis": millis, "rest": chance.choice([0, 1, 999_999])}


class Asked:
    """Of one group of durations."""

    def __init__(self, solver, right, case):
        """`right` is a term in the arguments: the number of milliseconds that it should be."""
        self.solver, self.right = solver, right
        self.more_than, self.most = case
        is_one = self.most == self.more_than + 1
        self.asked = constant(self.most, 32) if is_one else variable(ASKED, 32)
        self.known = self.lies(self.asked)
        self.tried, self.quotients = {}, Quotients(solver)
        self.samples = [*samples(self.more_than, self.most)]

    def lies(self, term):
        """The truths that a number of milliseconds lies in this group."""
        above = Not(term.ule(self.more_than)) if self.more_than >= 0 else TRUE
        return [truth for truth in (term.ule(self.most), above) if truth is not TRUE]

    def look(self, state):
        """Replaces the milliseconds wherever they stand."""
        known = tuple(truth for truth in state.known if truth.variables and truth.variables <= NAMES)
        state.known = tuple(
            self.quotients.look(truth, known) if truth.variables & NAMES else truth for truth in state.known
        )
        places = (state.registers, state.memory)
        for bytes_ in places:
            for place, (term, k) in bytes_.at.items():
                if term.variables & NAMES:
                    bytes_.at[place] = (self.quotients.look(term, known), k)
        for bytes_ in places:
            for term, k in list(bytes_.at.values()):
                if k == 0 and term.size in (32, 64) and WHOLE <= term.variables <= NAMES:
                    here = tuple(truth for truth in state.known if truth.variables & NAMES)
                    if self.is_right(term, here):
                        self.replace(state, term)

    def replace(self, state, term):
        asked = widened(self.asked, term.size)
        state.is_asked = True
        # The arguments themselves do not matter any more.
        state.known = tuple(truth for truth in state.known if not truth.variables & NAMES) + tuple(self.known)
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
        known = [truth for truth in known if truth.variables <= NAMES]
        return not self.solver.satisfiable([*known, Not(equal(term, widened(self.right, term.size)))])
