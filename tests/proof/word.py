# SPDX-License-Identifier: MIT OR Apache-2.0
"""The word, taken apart: which bits hold which field, and which words a breaker writes.

Written from the table and the drawing of core/src/word/mod.rs. All numbers are bit vectors of 64 bits, so that none of
them wraps where one of the code would.
"""

from terms import And, If, Not, Or, extract, lshr, number, widened

STATES = ["closed", "open", "half-open", "returning", "forced open", "disabled"]
CLOSED, OPEN, HALF_OPEN, RETURNING, FORCED_OPEN, DISABLED = range(6)


def least(a, b):
    return If(a.ult(b), a, b)


def most(a, b):
    return If(a.ult(b), b, a)


def minus(a, b):
    """a - b, at least 0."""
    return If(a.ult(b), number(0), a - b)


def wide(value):
    """A bit vector as a number."""
    return widened(value, 64)


class Layout:
    """Where the fields lie, lowest first, and how far a time reaches."""

    def __init__(self, bits, trips, payload, time, epoch, precision, guard, tick_log2):
        self.bits, self.precision, self.guard, self.tick_log2 = bits, precision, guard, tick_log2
        low, half = 2 + trips, payload // 2
        self.fields = {
            "state": (0, 2),
            "trips": (2, trips),
            "payload": (low, payload),
            "time": (low + payload, time),
            "epoch": (low + payload + time, epoch),
            # Half-open.
            "successes": (low, half),
            "in_flight": (low + half, half),
            # Half-open after lost rounds.
            "lost": (low + half, half - 1),
            "busy": (low + payload - 1, 1),
            # Open.
            "code": (low, payload - 1),
            "demanded": (low + payload - 1, 1),
        }
        self.max = {name: (1 << width) - 1 for name, (_, width) in self.fields.items()}
        # Half the range of the time: what can be told from a time before.
        self.max_ticks = 1 << (time - 1)
        self.max_ms = self.max_ticks << tick_log2
        # Failures that must last leave the top bit of the count free.
        self.has_reached = 1 << (payload - 1)
        self.half = half

    def word(self, state, trips=0, payload=0, time=0, epoch=0):
        """The word with these fields; what does not fit is cut off."""
        word = number(0)
        values = {"state": state, "trips": trips, "payload": payload, "time": time, "epoch": epoch}
        for name, value in values.items():
            value = number(value) if isinstance(value, int) else value
            word |= (value & self.max[name]) << self.fields[name][0]
        return extract(word, 0, self.bits)

    def with_field(self, word, name, value):
        low, width = self.fields[name]
        mask = ((1 << width) - 1) << low
        kept = word & number(~mask, self.bits)
        return kept | extract((value & self.max[name]) << low, 0, self.bits)

    def ticks_of(self, code):
        """The open time of a code, in ticks: a float without sign, as in IEEE 754."""
        stored = self.precision - 1
        exponent, mantissa = lshr(code, stored), code & ((1 << stored) - 1)
        return If(exponent == 0, code, (mantissa | (1 << stored)) << ((exponent - 1) & 31))

    def lengths_ms(self):
        """The longest times whose codes are halved as often, in milliseconds."""
        most = (1 << self.precision) - 1
        return [most << halvings << self.tick_log2 for halvings in range(self.fields["time"][1] - self.precision)]

    def code_of(self, ticks):
        """The least code of at least so many ticks, for up to the longest time."""
        if isinstance(ticks, int):
            halvings = 0
            while -(-ticks // (1 << halvings)) >> self.precision:
                halvings += 1
            return number((halvings << (self.precision - 1)) + -(-ticks // (1 << halvings)))
        return self.coded(ticks)[0]

    def coded(self, ticks):
        """The code of so many ticks, and its time: halved, rounded up, until it fits. `alone.py` shows that this is the
        least code of so many ticks, and its time."""
        half = extract(ticks, 0, 32)
        choices = []
        for halvings in range(self.fields["time"][1] - self.precision + 1):
            code = half + (halvings << (self.precision - 1))
            choices.append((half.ult(1 << self.precision), code, half << halvings))
            half = lshr(half, 1) + (half & 1)
        code, time = choices.pop()[1:]
        for fits, this, ticks in reversed(choices):
            code, time = If(fits, this, code), If(fits, ticks, time)
        return wide(code), wide(time)


WIDE = Layout(64, 5, 16, 32, 9, precision=11, guard=1 << 16, tick_log2=0)
NARROW = Layout(32, 3, 8, 15, 4, precision=4, guard=1 << 6, tick_log2=6)


class Word:
    """A word and what it says. Fields that mean something in some states only are named as in the table."""

    def __init__(self, layout, word):
        self.layout, self.word = layout, word
        for name, (low, width) in layout.fields.items():
            setattr(self, name, wide(extract(word, low, width)))
        self.counts = self.state == 0
        self.is_closed = And(self.state == 0, self.trips == 0)
        self.is_returning = And(self.state == 0, self.trips != 0)
        self.is_open = self.state == 1
        self.is_held = And(self.state == 3, self.trips == 0)
        self.has_lost = And(self.state == 3, self.trips != 0)
        self.is_half_open = Or(self.state == 2, self.has_lost)
        # The later command shows; the other waits below it.
        self.is_disabled = And(self.is_held, Or(self.payload == 2, self.payload == 3))
        self.is_forced = And(self.is_held, Not(self.is_disabled))
        self.is_held_twice = And(self.is_held, self.payload.uge(3))
        self.rounds = If(self.has_lost, self.lost + 1, number(0))
        self.probes = If(self.has_lost, self.busy, self.in_flight)
        self.open_for = layout.ticks_of(self.code)
        self.kind = If(
            self.is_closed,
            number(CLOSED),
            If(
                self.is_open,
                number(OPEN),
                If(
                    self.is_half_open,
                    number(HALF_OPEN),
                    If(
                        self.is_returning,
                        number(RETURNING),
                        If(self.is_disabled, number(DISABLED), number(FORCED_OPEN)),
                    ),
                ),
            ),
        )

    def is_valid(self):
        """A breaker may have written it."""
        layout = self.layout
        return And(
            Or(Not(self.is_closed), self.payload != 0, self.time == 0),
            Or(Not(self.is_open), And(self.trips != 0, self.code.ule(layout.code_of(layout.max_ticks)))),
            Or(Not(self.is_held), And(self.payload.uge(1), self.payload.ule(4), self.time == 0)),
            Or(Not(self.has_lost), self.lost.ult(4)),
        )
