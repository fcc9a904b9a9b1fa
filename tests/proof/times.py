# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times that wrap, durations, and how long a breaker opens. Written from the page of core/src/time.rs and the guide."""

from rules import LASTING
from terms import And, If, is_value, lshr, number
from word import least, minus, most


def scramble(x):
    """The finalizer of MurmurHash3, of 32 bits."""
    for shift, factor in ((16, 0x85EB_CA6B), (13, 0xC2B2_AE35)):
        x = ((x ^ lshr(x, shift)) * factor) & 0xFFFF_FFFF
    return x ^ lshr(x, 16)


class Times:
    """Conversions for one layout and one set of rules."""

    def __init__(self, layout, rules, grown):
        """`grown(steps)` is the open time after so many steps of growth, in milliseconds."""
        self.layout, self.rules, self.grown = layout, rules, grown
        self.mask, self.guard, self.shift = layout.max["time"], layout.guard, layout.tick_log2
        self.below = (1 << self.shift) - 1

    @staticmethod
    def in_ms(seconds, millis, rest):
        """Milliseconds of a duration of 32 bits, where `rest` says that there is a part of one more; those that do not fit
        are the most that do."""
        below = millis + If(rest, number(1), number(0))
        return least(seconds * 1_000 + below, number(0xFFFF_FFFF))

    def stamp(self, now):
        """A reading as the word keeps it: rounded up to a tick. A reading has 32 bits, and wraps."""
        return lshr((now + self.below) & 0xFFFF_FFFF, self.shift) & self.mask

    def stamp_down(self, now):
        return lshr(now, self.shift) & self.mask

    def ticks(self, ms):
        """A duration, rounded up, at most what the word can tell."""
        return least(lshr(ms + self.below, self.shift), number(self.layout.max_ticks))

    def passed(self, tick, then):
        """The ticks from `then`; less than 0 if the clock stepped back, by no more than the guard band."""
        return ((tick - then + self.guard) & self.mask) - self.guard

    def age(self, now, then):
        """The ticks since `then`, 0 after a step back."""
        passed = self.passed(lshr(now, self.shift), then)
        return If(passed.slt(0), number(0), passed)

    def has_passed(self, now, then, ticks):
        return self.passed(lshr(now, self.shift), then).sge(ticks)

    def left(self, tick, then, ticks):
        """The ticks until so many have passed since `then`. A step back is added."""
        passed = self.passed(tick, then)
        return If(passed.sge(ticks), number(0), ticks - passed)

    def is_over(self, now, then, ticks):
        return self.left(lshr(now, self.shift), then, ticks) == 0

    def left_ms(self, now, then, ticks):
        """What a caller is told to wait: the reading was rounded down, so a part of the first tick is over."""
        return (self.left(lshr(now, self.shift), then, ticks) << self.shift) - (now & self.below)

    def earlier(self, time, ticks):
        return (time - ticks) & self.mask

    # How long it opens.

    def own_ms(self, trips):
        """Without any demand: grown with each trip in a row after the first."""
        if is_value(self.rules.growth, 0):
            return self.rules.open_ms
        return If(self.rules.growth == 1, self.grown(minus(trips, number(1))), self.rules.open_ms)

    def wanted(self, ms, now, epoch, dice):
        """In ticks, with a random part of up to the percentage. `dice` are what chance and entropy gave."""
        ticks, jitter = self.ticks(ms), self.rules.jitter
        if is_value(jitter, 0):
            return ticks
        since = now ^ ((epoch << 23) & 0xFFFF_FFFF)
        seed = If(self.rules.has_seed == 1, self.rules.seed, dice)
        part = lshr((jitter * (0xFFFF_FFFF // 100)) * scramble(seed ^ scramble(since)), 32)
        longer = least(ticks + lshr(ticks * part, 32), number(self.layout.max_ticks))
        return If(jitter == 0, ticks, longer)

    def open_until(self, wanted, now, trips, epoch, demanded):
        """Open until exactly `wanted` ticks from now: the time that is kept is rounded up, and what that adds is
        subtracted from the time since when."""
        code, time = self.layout.coded(wanted)
        since = self.earlier(self.stamp(now), time - wanted)
        top = self.layout.fields["payload"][1] - 1
        payload = code | If(demanded, number(1 << top), number(0))
        return self.layout.word(1, trips, payload, since, epoch)

    # Returning.

    def kept_ticks(self, a):
        """How long trips are kept once traffic returns: the return, and as long as it was last open."""
        rules = self.rules
        over = If(rules.has_return == 1, rules.over_ms, number(0))
        own = If(rules.growth == 1, self.own_ms(a.trips), number(0))
        return If(rules.keeps_trips, self.ticks(most(over, own)), number(0))

    def unit(self, a):
        """The smallest power of two, as a shift, in which the whole return fits below the top bit of the count."""
        whole, top, unit = self.kept_ticks(a), self.layout.has_reached - 1, number(0)
        for shift in range(1, self.layout.fields["time"][1]):
            unit = If(lshr(whole, shift - 1).ugt(top), number(shift), unit)
        return unit

    def has_reached(self, a):
        """While traffic returns: the row has reached its limit, and must still last."""
        return And(
            self.rules.rule == LASTING,
            self.rules.keeps_trips,
            a.trips != 0,
            a.payload.uge(self.layout.has_reached),
        )

    def returning_since(self, a):
        units = a.payload & (self.layout.has_reached - 1)
        return If(self.has_reached(a), self.earlier(a.time, units << self.unit(a)), a.time)

    def lease(self, a):
        """Doubled with each lost round, as far as the word reaches."""
        longest, lease = self.layout.max_ms, self.rules.lease
        doubled = lease << a.rounds
        return If(lease.ugt(lshr(number(longest), a.rounds)), number(self.layout.max_ticks), self.ticks(doubled))
