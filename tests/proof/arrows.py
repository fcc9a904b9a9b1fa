# SPDX-License-Identifier: MIT OR Apache-2.0
"""Each operation as a list of cases: when, what becomes of the word, why, and what the caller is told.

To be read beside the drawing of core/src/state.rs, whose arrows are the numbers in the comments. `a` is the word that an
operation finds; `x` has what else it meets: the permit (`granted`, `started`), arguments (`weight`, `ms`), the readings of
the clock (`now`, and `clock` before it, by which a call is slow), and chance.
"""

from collections import namedtuple

from rules import LASTING, WITHIN
from terms import TRUE, And, If, Not, Or, lshr, number
from word import FORCED_OPEN, HALF_OPEN, OPEN, RETURNING, least, minus, most

CAUSES = [
    "FailureLimit",
    "FailureRatio",
    "SlowRatio",
    "TripDemanded",
    "RetryAfter",
    "OpenTimeOver",
    "ProbeFailed",
    "ProbeCancelled",
    "ProbeLost",
    "ProbesSucceeded",
    "TrafficReturned",
    "Manual",
    "Restored",
    "CorruptWord",
]

# `word` is the new word; `cause` is set if this is a transition, of which callers and observers are told.
Case = namedtuple("Case", "when word cause answer", defaults=[None, None])
ADMITTED = ("admitted",)


class Arrows:
    def __init__(self, layout, rules, times):
        self.layout, self.rules, self.times = layout, rules, times

    # Parts of a new word.

    def enter(self, a, state, trips=0, payload=0, time=0):
        """The next epoch, with nothing counted unless said."""
        return self.layout.word(state, trips, payload, time, a.epoch + 1)

    def same(self, a, **fields):
        """The same word but for some fields."""
        word = a.word
        for name, value in fields.items():
            word = self.layout.with_field(word, name, value)
        return word

    def with_probes(self, a, probes, successes):
        lost = self.same(a, busy=probes, successes=successes)
        return If(a.has_lost, lost, self.same(a, in_flight=probes, successes=successes))

    # Who may report.

    def is_same_epoch(self, a, granted):
        return And(a.state == granted.state, a.trips == granted.trips, a.epoch == granted.epoch)

    def holds(self, a, granted):
        """A report counts in its own epoch; that of a probe, where there is one at a time, only if it was the last that
        was admitted."""
        many = And(Not(a.has_lost), Or(self.rules.probes.ugt(1), a.probes.ugt(1)))
        return And(self.is_same_epoch(a, granted), Or(a.counts, a.time == granted.time, many))

    def is_of_lost_round(self, a, granted):
        """A probe that lost its slot in the same half-open time: in one of the rounds that the word counts."""
        since = (a.epoch - granted.epoch - 1) & self.layout.max["epoch"]
        is_same_time = And(
            (a.state & 2) == (granted.state & 2), lshr(a.trips, 1) == lshr(granted.trips, 1)
        )
        return And(is_same_time, since.ult(a.rounds))

    def has_just_opened(self, a, granted):
        """The epoch of the permit was the one before, and it ended by opening."""
        return And(
            granted.is_valid(),
            Or(granted.counts, granted.is_half_open),
            a.is_open,
            a.epoch == ((granted.epoch + 1) & self.layout.max["epoch"]),
            a.trips == least(granted.trips + 1, number(self.layout.max["trips"])),
        )

    def slots(self, a):
        """As many probes at a time as are set, and no more than are still needed; one after a lost round."""
        needed = most(minus(self.rules.needed, a.successes), number(1))
        return If(a.has_lost, number(1), least(needed, self.rules.probes))

    # Opening.

    def trip(self, a, x, shortest=None):
        """1, 2, 5, 10: one trip further in a row, for the own time or what is demanded, whichever is longer."""
        shortest = number(0) if shortest is None else shortest
        trips = least(a.trips + 1, number(self.layout.max["trips"]))
        ms = most(self.times.own_ms(trips), shortest)
        wanted = self.times.wanted(ms, x.now, a.epoch, x.dice)
        return self.times.open_until(wanted, x.now, trips, a.epoch + 1, shortest != 0)

    def later(self, a, x, ms, shortest, epoch, demanded):
        """While open, a deadline can only move later; a demand for a part of the time marks all of it. Returns when it
        moves, and the two words."""
        wanted = self.times.wanted(ms, x.now, a.epoch, x.dice)
        left = self.times.left(self.times.stamp(x.now), a.time, a.open_for)
        moved = self.times.open_until(wanted, x.now, a.trips, epoch, demanded)
        marked = If(shortest != 0, self.same(a, demanded=number(1)), a.word)
        return wanted.ugt(left), moved, marked

    # Asking to pass.

    def acquire(self, a, x):
        rules, times, now = self.rules, self.times, x.now
        yield Case(Or(a.is_closed, a.is_disabled), a.word, None, ADMITTED)
        yield Case(a.is_forced, a.word, None, ("rejected", FORCED_OPEN, number(0xFFFF_FFFF)))

        # Returning: 11 once trips are forgotten; before, a share of the calls passes, which grows in a straight line.
        since = times.returning_since(a)
        age, over = times.age(now, since), times.ticks(rules.over_ms)
        is_done = age.uge(times.kept_ticks(a))
        all_pass = Or(rules.has_return == 0, times.is_over(now, since, over))
        first = rules.first_percent * (over - age) * ((1 << 32) // 100 + 1)
        is_drawn = (x.random * over).ult(first + (age << 32))
        passes = Or(all_pass, is_drawn)
        wait = lshr(times.left_ms(now, since, over) + 1, 1)
        yield Case(And(a.is_returning, is_done), self.enter(a, 0), "TrafficReturned", ADMITTED)
        yield Case(And(a.is_returning, Not(is_done), passes), a.word, None, ADMITTED)
        yield Case(
            And(a.is_returning, Not(is_done), Not(passes)), a.word, None, ("rejected", RETURNING, wait)
        )

        # Open: 3 once the time is over.
        is_due = times.is_over(now, a.time, a.open_for)
        probing = self.enter(a, 2, a.trips, 1 << self.layout.half, times.stamp(now))
        wait = times.left_ms(now, a.time, a.open_for)
        yield Case(And(a.is_open, is_due), probing, "OpenTimeOver", ADMITTED)
        yield Case(And(a.is_open, Not(is_due)), a.word, None, ("rejected", OPEN, wait))

        # Half-open: a free slot, or 6, a round that was lost.
        is_free = a.probes.ult(self.slots(a))
        taken = self.layout.with_field(self.with_probes(a, a.probes + 1, a.successes), "time", times.stamp(now))
        is_lost = times.is_over(now, a.time, times.lease(a))
        rounds = least(a.rounds + 1, number(4)) - 1
        busy = 1 << (self.layout.fields["payload"][1] - 1)
        payload = a.successes | (rounds << self.layout.half) | busy
        again = self.enter(a, 3, most(a.trips, number(1)), payload, times.stamp(now))
        wait = least(times.left_ms(now, a.time, times.lease(a)), number(100))
        yield Case(And(a.is_half_open, is_free), taken, None, ADMITTED)
        yield Case(And(a.is_half_open, Not(is_free), is_lost), again, "ProbeLost", ADMITTED)
        yield Case(
            And(a.is_half_open, Not(is_free), Not(is_lost)), a.word, None, ("rejected", HALF_OPEN, wait)
        )

    # Reports.

    def is_slow(self, x):
        """A call that was measured and took the limit or longer; more than half the range is a step back."""
        took = (x.clock - x.started) & 0xFFFF_FFFF
        return And(
            x.started != 0, self.rules.has_slow == 1, took.uge(self.rules.slow_ms), took.ule((1 << 31) - 1)
        )

    def success(self, a, x):
        is_slow = self.is_slow(x)
        for case in self.failure(a, x, number(1)):
            yield case._replace(when=And(is_slow, case.when))
        for case in self.success_elsewhere(a, x):
            yield case._replace(when=And(Not(is_slow), case.when))

    def success_elsewhere(self, a, x):
        """Without a call, so without its time."""
        rules, times, granted = self.rules, self.times, x.granted
        holds = self.holds(a, granted)
        # 4. The success of a probe that lost its slot counts, too, and frees no slot.
        counts = And(a.is_half_open, Or(holds, self.is_of_lost_round(a, granted)))
        is_enough = (a.successes + 1).uge(rules.needed)
        closed = If(
            rules.keeps_trips,
            self.enter(a, 0, most(a.trips, number(1)), 0, times.stamp(x.now)),
            self.enter(a, 0),
        )
        others = minus(a.probes, If(holds, number(1), number(0)))
        yield Case(And(counts, is_enough), closed, "ProbesSucceeded")
        yield Case(And(counts, Not(is_enough)), self.with_probes(a, others, a.successes + 1))
        # Failures in a row are forgotten; those of a window once it is over, and while traffic returns never.
        is_over = And(a.trips == 0, times.age(x.now, a.time).uge(times.ticks(rules.time_ms)))
        clears = And(a.counts, holds, a.payload != 0, Or(rules.rule != WITHIN, is_over))
        since = If(a.trips == 0, number(0), times.returning_since(a))
        yield Case(clears, self.same(a, payload=number(0), time=since))
        yield Case(And(Not(counts), Not(clears)), a.word)

    def failure(self, a, x, weight=None, shortest=None, demand=None):
        """`shortest` is the pause that it asks for, if it trips."""
        weight = x.weight if weight is None else weight
        holds = self.holds(a, x.granted)
        is_counted = And(holds, a.counts, weight != 0)
        is_reached, counted = self.count(a, x, weight)
        asks = None if shortest is None else shortest != 0
        tripped = self.trip(a, x, shortest)
        yield Case(And(holds, a.is_half_open), tripped, "ProbeFailed")  # 5
        if asks is None:
            yield Case(And(is_counted, is_reached), tripped, "FailureLimit")  # 1
        else:
            yield Case(And(is_counted, is_reached, Not(asks)), tripped, "FailureLimit")
            yield Case(And(is_counted, is_reached, asks), tripped, "RetryAfter")
        yield Case(And(is_counted, Not(is_reached)), counted)
        rest = Or(Not(holds), And(Not(a.is_half_open), Or(Not(a.counts), weight == 0)))
        yield from self.late(a, x, rest, shortest)

    def count(self, a, x, weight):
        """1: whether so many more failures reach the limit, and otherwise the word with them."""
        rules, times, now = self.rules, self.times, x.now
        limit, more = rules.failures, a.payload + weight
        time = times.ticks(rules.time_ms)
        in_a_row = (more.uge(limit), self.same(a, payload=more))

        # A row that lasts counts no further than the limit. Its time begins with its first failure.
        capped = least(more, limit)
        begins = a.payload == 0
        has_lasted = times.has_passed(now, a.time, time)
        first = self.same(a, payload=capped, time=times.stamp(now))
        lasting = (
            And(Not(begins), more.uge(limit), has_lasted),
            If(begins, first, self.same(a, payload=capped)),
        )
        # While traffic returns the time of the word is the return's. So the row lasts from where it reaches the limit.
        top = self.layout.has_reached
        was_reached = a.payload.uge(top)
        age = times.age((now + times.below) & 0xFFFF_FFFF, a.time)
        units = least(lshr(age, times.unit(a)), number(top - 1))
        reached = self.same(a, payload=units | top, time=times.stamp(now))
        returning = (
            And(was_reached, has_lasted),
            If(was_reached, a.word, If(more.ult(limit), self.same(a, payload=more), reached)),
        )
        is_returning = And(rules.keeps_trips, a.trips != 0)

        # A window begins with its first failure, and ends by its time.
        is_first = Or(a.payload == 0, times.age(now, a.time).uge(time))
        window = (
            If(is_first, weight.uge(limit), more.uge(limit)),
            If(is_first, self.same(a, payload=weight, time=times.stamp(now)), self.same(a, payload=more)),
        )
        # While traffic returns: as many as the limit in each window of the time since, which is no longer than the return.
        since = most(least(times.age(now, a.time), times.kept_ticks(a)), time)
        is_dense = (more * time).uge(limit * since)
        dense = (Or(more.uge(self.layout.max["payload"]), is_dense), self.same(a, payload=more))

        def by_rule(k):
            within = If(a.trips == 0, window[k], dense[k])
            lasts = If(is_returning, returning[k], lasting[k])
            return If(rules.rule == WITHIN, within, If(rules.rule == LASTING, lasts, in_a_row[k]))

        return by_rule(0), by_rule(1)

    def late(self, a, x, when, shortest):
        """A failure that does not count: its pause does, if the breaker has just opened by another one."""
        if shortest is None:
            yield Case(when, a.word)
            return
        just = And(Not(self.holds(a, x.granted)), self.has_just_opened(a, x.granted), shortest != 0)
        moves, moved, marked = self.later(a, x, shortest, shortest, a.epoch, TRUE)
        yield Case(And(when, just, moves), moved)
        yield Case(And(when, just, Not(moves)), marked)
        yield Case(And(when, Not(just)), a.word)

    def asked(self, x):
        """The pause that a failure asks for, no longer than is allowed."""
        return least(x.ms, self.rules.longest_retry)

    def slow(self, a, x):
        """Reported as slow: a failure like others, without a tally."""
        return self.failure(a, x, number(1))

    def attempt(self, a, x):
        """Dropped unreported, where that is a failure."""
        return self.failure(a, x, number(1))

    def retry_after(self, a, x):
        return self.failure(a, x, number(1), self.asked(x))

    def tripping(self, a, x):
        return self.at_once(a, x, None, "TripDemanded")

    def tripping_for(self, a, x):
        return self.at_once(a, x, self.asked(x), "RetryAfter")

    def at_once(self, a, x, shortest, cause):
        holds = self.holds(a, x.granted)
        tripped = self.trip(a, x, shortest)
        yield Case(And(holds, a.is_half_open), tripped, "ProbeFailed")  # 5
        yield Case(And(holds, a.counts), tripped, cause)  # 2
        yield from self.late(a, x, Not(And(holds, Or(a.is_half_open, a.counts))), shortest)

    def give_back(self, a, when):
        back = self.with_probes(a, minus(a.probes, number(1)), a.successes)
        yield Case(And(when, a.is_half_open), back)
        yield Case(And(when, Not(a.is_half_open)), a.word)

    def ignored(self, a, x):
        """Only a probe has something to give back."""
        when = And(Not(x.granted.is_closed), self.holds(a, x.granted))
        yield from self.give_back(a, when)
        yield Case(Not(when), a.word)

    def cancel(self, a, x):
        """Dropped unreported: a call that took too long has failed; a probe also after the cancel limit."""
        granted, times = x.granted, self.times
        is_nothing = And(granted.is_closed, x.started == 0)
        is_slow = self.is_slow(x)
        is_probe = And(granted.is_half_open, granted.is_valid())
        fails = And(Not(is_nothing), is_slow, Not(is_probe))
        yield Case(is_nothing, a.word)
        for case in self.failure(a, x, number(1)):
            yield case._replace(when=And(fails, case.when))
        others = And(Not(is_nothing), Not(fails))
        holds = And(others, self.holds(a, granted))
        limit = times.ticks(self.rules.cancel_ms)
        is_late = And(a.is_half_open, Or(is_slow, times.age(x.now, granted.time).uge(limit)))
        yield Case(And(holds, is_late), self.trip(a, x), "ProbeCancelled")  # 5
        yield from self.give_back(a, And(holds, Not(is_late)))
        yield Case(And(others, Not(holds)), a.word)

    drop = cancel

    def renew(self, a, x):
        """The time of a probe begins again."""
        holds = self.holds(a, x.granted)
        renewed = self.same(a, time=self.times.stamp(x.now))
        yield Case(And(holds, a.is_half_open), renewed, None, ("renewed", True))
        yield Case(And(holds, Not(a.is_half_open)), a.word, None, ("renewed", True))
        yield Case(Not(holds), a.word, None, ("renewed", False))
