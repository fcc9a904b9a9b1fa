# SPDX-License-Identifier: MIT OR Apache-2.0
"""What an operator does, what becomes of a word that outlived its users, and what those see who only look.

To be read beside the drawing of core/src/state.rs, whose arrows are the numbers in the comments.
"""

from arrows import Arrows, Case
from rules import LASTING, WITHIN
from terms import TRUE, And, If, Not, Or, lshr, number
from word import HALF_OPEN, least, minus, most

MANUAL, RESTORED = "Manual", "Restored"
# Held, by the later of two commands; the other waits below it.
FORCED, DISABLED, DISABLED_OVER_FORCED, FORCED_OVER_DISABLED = 1, 2, 3, 4


class Specification(Arrows):
    def p_trip(self, a, x):
        return self.trip_by_command(a, x, number(0))

    def trip_for(self, a, x):
        return self.trip_by_command(a, x, x.ms)

    def trip_by_command(self, a, x, shortest):
        """10: from open the deadline can only move later, and this is no further trip in a row."""
        ms = most(self.times.own_ms(a.trips), shortest)
        demanded = Or(a.demanded == 1, shortest != 0)
        moves, moved, marked = self.later(a, x, ms, shortest, a.epoch + 1, demanded)
        yield Case(And(a.is_open, moves), moved, MANUAL)
        yield Case(And(a.is_open, Not(moves)), marked)
        yield Case(a.is_held, a.word)
        yield Case(Or(a.counts, a.is_half_open), self.trip(a, x, shortest), MANUAL)

    def force_open(self, a, x):
        yield Case(a.is_forced, a.word)
        yield Case(a.is_disabled, self.enter(a, 3, 0, FORCED_OVER_DISABLED), MANUAL)  # 7
        yield Case(Not(a.is_held), self.enter(a, 3, 0, FORCED), MANUAL)  # 7

    def disable(self, a, x):
        yield Case(a.is_disabled, a.word)
        yield Case(a.is_forced, self.enter(a, 3, 0, DISABLED_OVER_FORCED), MANUAL)  # 7
        yield Case(Not(a.is_held), self.enter(a, 3, 0, DISABLED), MANUAL)  # 7

    def release(self, a, x):
        """Ends one of the two commands, whichever shows: of a breaker that is held twice the disabling stays."""
        yield Case(a.is_held_twice, self.enter(a, 3, 0, DISABLED), MANUAL)
        yield Case(And(a.is_forced, Not(a.is_held_twice)), self.enter(a, 2), MANUAL)  # 9
        yield Case(Not(Or(a.is_held_twice, a.is_forced)), a.word)

    def enable(self, a, x):
        """Likewise: the forced opening stays."""
        yield Case(a.is_held_twice, self.enter(a, 3, 0, FORCED), MANUAL)
        yield Case(And(a.is_disabled, Not(a.is_held_twice)), self.enter(a, 0), MANUAL)  # 8
        yield Case(Not(Or(a.is_held_twice, a.is_disabled)), a.word)

    def reset(self, a, x):
        yield Case(TRUE, self.enter(a, 0), MANUAL)  # 8

    def probe_now(self, a, x):
        """3 and 6 without a probe."""
        applies = Or(a.is_open, a.is_half_open)
        yield Case(applies, self.enter(a, 2, a.trips), MANUAL)
        yield Case(Not(applies), a.word)

    def probe_early(self, a, x):
        """3 without a probe, unless the time was demanded."""
        applies = And(a.is_open, a.demanded == 0)
        yield Case(applies, self.enter(a, 2, a.trips), MANUAL)
        yield Case(Not(applies), a.word)

    def retire(self, a, x):
        """8 without a notice, if nothing is left to wait for."""
        applies = And(Not(a.is_disabled), Not(self.waits(a, x)))
        yield Case(applies, self.enter(a, 0), "retired")
        yield Case(Not(applies), a.word)

    def waits(self, a, x):
        """Whether a caller would be rejected, or while traffic returns, some callers."""
        times, rules, now = self.times, self.rules, x.now
        over = times.ticks(rules.over_ms)
        return Or(
            a.is_forced,
            And(a.is_open, Not(times.is_over(now, a.time, a.open_for))),
            And(
                a.is_half_open,
                a.probes.uge(self.slots(a)),
                Not(times.is_over(now, a.time, times.lease(a))),
            ),
            And(
                a.is_returning,
                rules.has_return == 1,
                Not(times.is_over(now, times.returning_since(a), over)),
            ),
        )

    def rejection(self, a, x):
        """Whether a caller would be rejected, or while traffic returns, some callers; and what they are told to wait."""
        times, now = self.times, x.now
        share = times.left_ms(now, times.returning_since(a), times.ticks(self.rules.over_ms))
        lease = times.left_ms(now, a.time, times.lease(a))
        others = If(a.is_returning, lshr(share + 1, 1), least(lease, number(100)))
        timed = If(a.is_open, times.left_ms(now, a.time, a.open_for), others)
        return self.waits(a, x), If(a.is_forced, number(0xFFFF_FFFF), timed)

    # Words that outlived their users.

    def restore(self, a, x):
        return self.restored(a, x, number(0))

    def restore_after(self, a, x):
        return self.restored(a, x, x.ms)

    def restored(self, a, x, asleep):
        """`asleep` is 0 if it is not known."""
        times, rules, layout, now = self.times, self.rules, self.layout, x.now
        # An open time goes on, shorter each time: by half, or by the sleep, at least to the next that the word can hold.
        # Where the rules alone have set it, they tell how long it was before it was rounded up.
        stored = a.open_for
        least_step = most(lshr(stored, layout.precision - 1), number(1))
        own = times.ticks(times.own_ms(a.trips))
        is_own = And(
            rules.jitter == 0, a.demanded == 0, layout.ticks_of(layout.code_of(own)) == stored
        )
        lasted = If(is_own, own, stored)
        slept = minus(lasted, most(least_step, lshr(asleep, layout.tick_log2)))
        left = If(asleep == 0, lshr(stored, 1), slept)
        top = number(1 << (layout.fields["payload"][1] - 1))
        mark = If(a.demanded == 1, top, number(0))
        at_once = layout.word(1, a.trips, mark, times.stamp_down(now), a.epoch + 1)
        on = times.open_until(left, now, a.trips, a.epoch + 1, a.demanded == 1)
        yield Case(a.is_open, If(left == 0, at_once, on), RESTORED)
        # The word cannot tell how much of a return is over.
        yield Case(a.is_returning, self.enter(a, 0), RESTORED)
        # Failures of a window count from the sleep on; a row has lasted.
        gone = lshr(asleep, layout.tick_log2)
        window = times.ticks(rules.time_ms)
        is_timed = And(a.is_closed, rules.rule != 0, a.payload != 0)
        is_over = And(rules.rule == WITHIN, gone.uge(window))
        began = times.earlier(times.stamp(now), If(rules.rule == LASTING, window, gone))
        kept = self.enter(a, 0, 0, a.payload, began)
        yield Case(is_timed, If(is_over, self.enter(a, 0), kept), RESTORED)
        yield from self.restore_running(a, x, Or(a.is_half_open, a.is_held, And(a.is_closed, Not(is_timed))))

    def restore_running(self, a, x, when=None):
        """Probes in flight are forgotten; those that succeeded count."""
        when = TRUE if when is None else when
        again = self.enter(a, 2, a.trips, a.successes)
        yield Case(And(when, a.is_half_open), again, RESTORED)
        yield Case(And(when, Not(a.is_half_open)), a.word)

    # Who only looks.

    def state(self, a, x):
        """Open only while calls are rejected."""
        is_due = And(a.is_open, self.times.is_over(x.now, a.time, a.open_for))
        return If(is_due, number(HALF_OPEN), a.kind)

    def still_counts(self, a, x):
        """A damaged word counts nothing."""
        return And(a.is_valid(), Or(a.counts, a.is_half_open), self.holds(a, x.granted))
