# SPDX-License-Identifier: MIT OR Apache-2.0
"""Faults for the specification, each of which random histories must find: the module, what stands there once, and what
instead.
"""

FAULTS = [
    # Words and their fields.
    ("word", "code_of(self, ticks):\n", "code_of(self, ticks):\n        ticks = ticks + 1\n"),
    ("word", "lshr(halves[-1], 1) + (halves[-1] & 1)", "lshr(halves[-1], 1)"),
    ("word", "self.lost + 1, number(0))", "self.lost, number(0))"),
    ("word", "self.payload == 2, self.payload == 3)", "self.payload == 2, self.payload == 4)"),
    # Times.
    ("times", 'layout.max["time"], layout.guard,', 'layout.max["time"], layout.guard - 1,'),
    ("times", 'layout.max["time"], layout.guard,', 'layout.max["time"], layout.guard + 1,'),
    ("times", "return lshr((now + self.below) & 0xFFFF_FFFF,", "return lshr(now,"),
    ("times", "(passed.sge(ticks), number(0), ticks - passed)", "(passed.sge(ticks + 1), number(0), ticks + 1 - passed)"),
    ("times", "<< self.shift) - (now & self.below)", "<< self.shift)"),
    ("times", "If(passed.slt(0), number(0), passed)", "passed"),
    ("times", "self.layout.ticks_of(code) - wanted)", "0 * wanted)"),
    ("times", "self.grown(minus(trips, number(1)))", "self.grown(trips)"),
    ("times", "(0xFFFF_FFFF // 100)", "(0xFFFF_FFFF // 101)"),
    ("times", "self.rules.seed, dice)", "dice, self.rules.seed)"),
    ("times", "doubled = lease << a.rounds", "doubled = lease"),
    ("times", "self.ticks(most(over, own))", "self.ticks(over)"),
    ("times", "If(lshr(whole, shift - 1).ugt(top)", "If(lshr(whole, shift).ugt(top)"),
    # Operations.
    ("arrows", "time, a.epoch + 1)", "time, a.epoch + 2)"),
    ("arrows", 'trips = least(a.trips + 1, number(self.layout.max["trips"]))', "trips = a.trips + 1"),
    ("arrows", "Or(a.counts, a.time == granted.time, many)", "TRUE"),
    ("arrows", "self.rules.probes.ugt(1), a.probes.ugt(1)", "self.rules.probes.ugt(1), self.rules.probes.ugt(1)"),
    ("arrows", ", a.epoch == granted.epoch)", ")"),
    ("arrows", "since.ult(a.rounds)", "since.ule(a.rounds)"),
    ("arrows", "most(minus(self.rules.needed, a.successes), number(1))", "self.rules.needed"),
    ("arrows", "least(a.rounds + 1, number(4)) - 1", "least(a.rounds + 1, number(3)) - 1"),
    ("arrows", "self.enter(a, 3, most(a.trips, number(1)), payload", "self.enter(a, 3, a.trips | 1, payload"),
    ("arrows", "(1 << 32) // 100 + 1)", "(1 << 32) // 101)"),
    ("arrows", "lshr(times.left_ms(now, since, over) + 1, 1)", "lshr(times.left_ms(now, since, over), 1)"),
    ("arrows", "number(100))", "number(1_000))"),
    ("arrows", "took.uge(self.rules.slow_ms)", "took.ugt(self.rules.slow_ms)"),
    ("arrows", "took.ule((1 << 31) - 1)", "took.ule((1 << 32) - 1)"),
    ("arrows", "a.payload != 0, Or(rules.rule != WITHIN, is_over)", "a.payload != 0, Or(rules.rule != WITHIN)"),
    ("arrows", "capped = least(more, limit)", "capped = more"),
    ("arrows", "age(now, a.time), times.kept_ticks(a)), time)", "age(now, a.time), times.kept_ticks(a)), number(1))"),
    ("arrows", "a.counts, weight != 0)", "a.counts)"),
    ("arrows", "least(x.ms, self.rules.longest_retry)", "x.ms"),
    ("arrows", 'a.epoch == ((granted.epoch + 1) & self.layout.max["epoch"])', "TRUE"),
    ("arrows", "granted.time).uge(limit)", "granted.time).ugt(limit)"),
    # Commands, and words that outlived their users.
    ("commands", "Case(a.is_held_twice, self.enter(a, 3, 0, DISABLED)", "Case(a.is_held_twice, self.enter(a, 2)"),
    ("commands", "FORCED_OVER_DISABLED = 1, 2, 3, 4", "FORCED_OVER_DISABLED = 1, 2, 4, 3"),
    ("commands", "demanded = Or(a.demanded == 1, shortest != 0)", "demanded = shortest != 0"),
    ("commands", "And(a.is_open, a.demanded == 0)", "a.is_open"),
    ("commands", "And(Not(a.is_disabled), Not(self.waits(a, x)))", "Not(self.waits(a, x))"),
    ("commands", "layout.precision - 1), number(1))", "layout.precision), number(1))"),
    ("commands", "If(is_own, own, stored)", "stored"),
    ("commands", "If(asleep == 0, lshr(stored, 1), slept)", "slept"),
    ("commands", "If(rules.rule == LASTING, window, gone)", "gone"),
    ("commands", "self.enter(a, 2, a.trips, a.successes)", "self.enter(a, 2, a.trips)"),
]
