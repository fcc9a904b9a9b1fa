# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the functions of the library for C do, in terms of the operations, and the rules that are meant by its settings."""

from arrows import Case
from commands import Specification
from rules import CONSECUTIVE, LASTING, WITHIN, Rules
from terms import And, If, Not, lshr, number
from word import least, wide

# In the order of `ab_settings`.
SETTINGS = {
    "failures": 5,
    "window_ms": 0,
    "lasting_ms": 0,
    "open_ms": 5_000,
    "growth_percent": 0,
    "growth_step_ms": 0,
    "max_open_ms": 0,
    "jitter_percent": 0,
    "seed": 0,
    "max_retry_after_ms": 300_000,
    "probes": 1,
    "close_after": 0,
    "probe_lease_ms": 30_000,
    "cancel_limit_ms": 250,
    "slow_call_ms": 0,
    "return_first_percent": 0,
    "return_over_ms": 0,
}


class CRules(Rules):
    """The rules that are meant by settings."""

    def __init__(self, layout, settings):
        s = {name: wide(value) for name, value in settings.items()}
        byte, half = (lambda x: least(x, number(0xFF))), (lambda x: least(x, number(0xFFFF)))
        is_both = And(s["window_ms"] != 0, s["lasting_ms"] != 0)
        timed = If(s["window_ms"] == 0, number(CONSECUTIVE), number(WITHIN))
        meant = {
            "rule": If(s["lasting_ms"] != 0, number(LASTING), timed),
            "failures": If(is_both, number(0), s["failures"]),
            "time_ms": If(s["lasting_ms"] != 0, s["lasting_ms"], s["window_ms"]),
            "has_return": If(And(s["return_first_percent"] == 0, s["return_over_ms"] == 0), number(0), number(1)),
            "over_ms": s["return_over_ms"],
            "first_percent": byte(s["return_first_percent"]),
            "open_ms": s["open_ms"],
            "cancel_ms": s["cancel_limit_ms"],
            "probes": half(s["probes"]),
            "has_close": If(s["close_after"] == 0, number(0), number(1)),
            "close": half(s["close_after"]),
            "jitter": byte(s["jitter_percent"]),
            "seed": s["seed"],
            "retry_ms": s["max_retry_after_ms"],
            "lease_ms": s["probe_lease_ms"],
            "has_slow": If(s["slow_call_ms"] == 0, number(0), number(1)),
            "slow_ms": s["slow_call_ms"],
        }
        super().__init__(layout, has_seed=1, has_retry=1, has_lease=1)
        for name, value in meant.items():
            setattr(self, name, value)
        # What depends on them.
        self.needed = If(self.has_close == 1, self.close, self.probes)
        self.lease, self.longest_retry = self.lease_ms, self.retry_ms
        self.keeps_trips = self.has_return == 1
        self.raw = settings


class CSpecification(Specification):
    """What the functions of C do, in terms of the operations."""

    def p_trip(self, a, x):
        return self.trip_by_command(a, x, x.ms)

    def report(self, a, x):
        for case in self.success(a, x):
            yield case._replace(when=And(x.succeeded, case.when))
        for case in self.failure(a, x, number(1)):
            yield case._replace(when=And(Not(x.succeeded), case.when))

    def report_failures(self, a, x):
        return self.failure(a, x)

    def report_retry_after(self, a, x):
        return self.retry_after(a, x)

    def report_down(self, a, x):
        """As with and without a time: only the cause is another one, which C is not told."""
        return self.tripping_for(a, x)

    def ignore(self, a, x):
        return self.ignored(a, x)

    # Memory that has lost its content may hold any word, which is replaced unless it is fresh.

    def kept(self, a, x, cases):
        for case in cases:
            yield case._replace(when=And(x.is_marked, case.when))
        is_fresh = And(a.is_closed, a.payload == 0)
        yield Case(Not(x.is_marked), If(is_fresh, a.word, self.enter(a, 0)))

    def restore(self, a, x):
        return self.kept(a, x, super().restore(a, x))

    def restore_after(self, a, x):
        return self.kept(a, x, super().restore_after(a, x))

    def restore_running(self, a, x, when=None):
        cases = super().restore_running(a, x, when)
        return cases if when is not None else self.kept(a, x, cases)


def drawn(now):
    """The number of a millisecond, by which some calls pass while traffic returns."""
    x = (now + 0x9E37_79B9) & 0xFFFF_FFFF
    x = ((x ^ lshr(x, 16)) * 0x21F0_AAAD) & 0xFFFF_FFFF
    x = ((x ^ lshr(x, 15)) * 0x735A_2D97) & 0xFFFF_FFFF
    return x ^ lshr(x, 15)
