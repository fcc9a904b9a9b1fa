# SPDX-License-Identifier: MIT OR Apache-2.0
"""The settings: each a number, free or fixed, that lies in memory where the machine code reads it."""

import struct

from terms import And, If, Or, lshr, number, variable
from word import least, wide

CONSECUTIVE, LASTING, WITHIN = range(3)

# Name, bits, default.
SETTINGS = {
    "growth": (32, 0),
    "factor": (32, 0),
    "step_ms": (32, 0),
    "longest_ms": (32, 0),
    "has_seed": (32, 0),
    "seed": (32, 0),
    "has_retry": (32, 0),
    "retry_ms": (32, 0),
    "has_return": (32, 0),
    "over_ms": (32, 0),
    "first_percent": (8, 0),
    "open_ms": (32, 5_000),
    "has_lease": (32, 0),
    "lease_ms": (32, 0),
    "cancel_ms": (32, 250),
    "probes": (16, 1),
    "has_close": (16, 0),
    "close": (16, 0),
    "jitter": (8, 0),
    "has_slow": (32, 0),
    "slow_ms": (32, 0),
    "rule": (32, CONSECUTIVE),
    "failures": (32, 5),
    "time_ms": (32, 0),
}

# What is freed together.
GROUPS = {
    "trip": "rule failures time_ms",
    "open": "open_ms",
    "growth": "growth factor step_ms longest_ms",
    "jitter": "jitter has_seed seed",
    "retry": "has_retry retry_ms",
    "return": "has_return over_ms first_percent",
    "lease": "has_lease lease_ms",
    "cancel": "cancel_ms",
    "probes": "probes has_close close",
    "slow": "has_slow slow_ms",
}


def chosen(steps, times):
    """The time after so many steps."""
    result = times[-1]
    for k in reversed(range(len(times) - 1)):
        result = If(steps == k, times[k], result)
    return result


class Placed:
    """Where the settings lie, found by the numbers of `SAMPLES`, which the code was compiled with."""

    def __init__(self, read):
        """`read(symbol, bytes)` reads the program's memory."""
        at = struct.unpack("<14I", read("OFFSETS", 56))
        (growth, seed, retry, back, open_for, lease, cancel, probes, close, jitter, ratio, slow, trip, size) = at
        samples = [read("SAMPLES", 4 * size)[k * size :][:size] for k in range(4)]
        self.size = size
        self.none = samples[3]

        def find(sample, value, width, begin, end):
            # Within its field, and nowhere else there.
            raw = value.to_bytes(width, "little")
            places = [k for k in range(begin, end) if samples[sample][k : k + width] == raw]
            assert len(places) == 1, (hex(value), places)
            return places[0]

        def tag(sample, width, begin, end, some):
            # The only number of its field that is no value of it, 0 where there is none.
            taken = {k for place, wide in some for k in range(place, place + wide)}
            for k in range(begin, end, width):
                mine = samples[sample][k : k + width]
                if not taken & set(range(k, k + width)) and mine == (1).to_bytes(width, "little"):
                    assert samples[3][k : k + width] == bytes(width)
                    return k
            raise AssertionError("no tag")

        place = {}
        place["step_ms"] = find(0, 0x3303_3303, 4, growth, seed)
        place["longest_ms"] = find(0, 0x4404_4404, 4, growth, seed)
        place["factor"] = find(0, 256, 4, growth, seed)
        place["growth"] = tag(0, 4, growth, seed, [(place[k], 4) for k in ("step_ms", "longest_ms", "factor")])
        place["seed"] = find(0, 0x5505_5505, 4, seed, retry)
        place["has_seed"] = tag(0, 4, seed, retry, [(place["seed"], 4)])
        place["retry_ms"] = find(0, 0x6606_6606, 4, retry, back)
        place["has_retry"] = tag(0, 4, retry, back, [(place["retry_ms"], 4)])
        place["over_ms"] = find(0, 0x0708_0708, 4, back, open_for)
        place["first_percent"] = find(0, 0x77, 1, back, open_for)
        place["has_return"] = tag(0, 4, back, open_for, [(place["over_ms"], 4), (place["first_percent"], 1)])
        place["open_ms"] = find(0, 0x2202_2202, 4, open_for, lease)
        place["lease_ms"] = find(0, 0x0809_0809, 4, lease, cancel)
        place["has_lease"] = tag(0, 4, lease, cancel, [(place["lease_ms"], 4)])
        place["cancel_ms"] = find(0, 0x090A_090A, 4, cancel, probes)
        place["probes"] = find(0, 0xA0B1, 2, probes, close)
        place["close"] = find(0, 0xC0D1, 2, close, jitter)
        place["has_close"] = tag(0, 2, close, jitter, [(place["close"], 2)])
        place["jitter"] = find(0, 0xE5, 1, jitter, ratio)
        place["slow_ms"] = find(0, 0x0F01_0F01, 4, slow, trip)
        place["has_slow"] = tag(0, 4, slow, trip, [(place["slow_ms"], 4)])
        place["failures"] = find(0, 0x1101_1101, 4, trip, size)
        place["time_ms"] = find(1, 0x1301_1301, 4, trip, size)
        assert find(1, 0x1201_1201, 4, trip, size) == place["failures"]
        assert find(2, 0x1401_1401, 4, trip, size) == place["failures"]
        assert find(2, 0x1501_1501, 4, trip, size) == place["time_ms"]
        left = set(range(trip, size)) - {place[k] + n for k in ("failures", "time_ms") for n in range(4)}
        place["rule"] = min(left)
        for rule, sample in enumerate(samples):
            assert struct.unpack_from("<I", sample, place["rule"])[0] == rule
        self.place = place


class Rules:
    """Rules that the constructor accepts. `free` are names of groups, `fixed` numbers of single settings."""

    def __init__(self, layout, free=(), **fixed):
        self.layout, self.raw = layout, {}
        names = set(" ".join(GROUPS[group] for group in free).split()) - fixed.keys()
        for name, (bits, default) in SETTINGS.items():
            if name in names:
                raw = variable(f"rule_{name}", bits)
            else:
                raw = number(fixed.get(name, default), bits)
            self.raw[name] = raw
            setattr(self, name, wide(raw))
        self.needed = If(self.has_close == 1, self.close, self.probes)
        longest = number(layout.max_ms)
        self.lease = If(self.has_lease == 1, self.lease_ms, least(number(30_000), longest))
        self.longest_retry = If(self.has_retry == 1, self.retry_ms, least(number(300_000), longest))
        self.keeps_trips = Or(self.has_return == 1, self.growth == 1)

    def are_well_formed(self):
        """What the compiler promises of any `Config`: tags are tags."""
        flags = [k for k in SETTINGS if k.startswith("has_") or k == "growth"]
        return And(*[getattr(self, flag).ule(1) for flag in flags], self.rule.ule(2))

    def are_accepted(self):
        """What the constructor accepts, for breakers without a tally, but for one thing: that a growing open time
        reaches its maximum, which no proof needs."""
        longest = self.layout.max_ms

        def fits(ms):
            """With jitter."""
            return And(ms.ule(longest), (ms * self.jitter).ule((number(longest) - ms) * 100))

        most_failures = If(
            self.rule == LASTING, number(self.layout.has_reached - 1), number(self.layout.max["payload"])
        )
        grows = Or(self.factor.ugt(256), And(self.factor == 256, self.step_ms != 0))
        return And(
            self.failures.uge(1),
            self.failures.ule(most_failures),
            Or(self.rule == CONSECUTIVE, And(self.time_ms.uge(1), self.time_ms.ule(longest))),
            self.open_ms.ule(longest),
            self.jitter.ule(100),
            If(
                self.growth == 1,
                And(grows, self.longest_ms.uge(self.open_ms), fits(self.longest_ms)),
                fits(self.open_ms),
            ),
            Or(self.has_retry == 0, fits(self.retry_ms)),
            self.probes.uge(1),
            self.probes.ule(self.layout.max["successes"]),
            self.needed.uge(self.probes),
            self.needed.ule(self.layout.max["successes"]),
            self.lease.uge(1),
            self.lease.ule(longest),
            self.cancel_ms.ule(longest),
            Or(
                self.has_return == 0,
                And(
                    self.first_percent.uge(1),
                    self.first_percent.ule(100),
                    self.over_ms.uge(1),
                    self.over_ms.ule(longest),
                ),
            ),
            Or(self.has_slow == 0, And(self.slow_ms.uge(1), self.slow_ms.ule((1 << 31) - 1))),
        )

    def grown(self, steps):
        """The open time after so many steps of growth, as the pages have it, for a number of steps that is known."""
        ms = self.open_ms
        for _ in range(steps):
            next_ms = lshr(ms * self.factor, 8) + self.step_ms
            ms = If(ms.ult(self.longest_ms), least(next_ms, self.longest_ms), ms)
        return ms

    def grown_after(self, steps):
        """Likewise for a number that is not known, up to those of the longest row of trips that a word tells apart."""
        most = self.layout.max["trips"] - 1
        return chosen(steps, [self.grown(k) for k in range(most + 1)])

    def in_memory(self, placed):
        """Their bytes, where the machine code reads them: numbers, and terms by their place."""
        return placed.none, {placed.place[name]: raw for name, raw in self.raw.items()}
