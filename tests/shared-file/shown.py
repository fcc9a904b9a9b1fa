# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a word shows, written from around/docs/shared-file.md alone: also of rows that last, which depends on the rules."""

from sharedfile import (
    CLOCK, GUARD, LONGEST, MOST_PERCENT, bits, growth_of, is_written_by_breakers, open_time, state, successes_needed,
)  # fmt: skip

MOST_LASTING = 32_767


def factor_of(percent):
    """Of growth, in 256ths, rounded up."""
    whole, rest = divmod(min(percent, MOST_PERCENT), 100)
    return 256 * whole + (256 * rest + 99) // 100


def own_open_time(rules, trips):
    """That of a trip without jitter and demands."""
    time, growth = rules.get("open_for_ms", 5_000), growth_of(rules)
    factor, step = 256, 0
    if "linear" in rules:
        step = growth["step_ms"]
    elif growth:
        factor = factor_of(growth.get("percent", 100 * growth.get("factor", 0)))
    for _ in range(trips - 1):
        if growth and time < growth["max_ms"]:
            time = min(time * factor // 256 + step, growth["max_ms"])
    return time


def keeps_trips(rules):
    return bool(growth_of(rules)) or "gradual_return" in rules


def length_of_return(rules, trips):
    gradual = rules.get("gradual_return", {"over_ms": 0})["over_ms"]
    return max(gradual, own_open_time(rules, trips) if growth_of(rules) else 0)


def age_unit(rules, trips):
    unit = 1
    while length_of_return(rules, trips) // unit > MOST_LASTING:
        unit *= 2
    return unit


def has_reached(word, rules):
    """Whether it returns, with a row of failures that has reached its number and must last."""
    return state(word) == "returning" and bits(word, 22, 22) and rules.get("lasting_ms") and keeps_trips(rules)


def returning_since(word, rules):
    moment = bits(word, 23, 54)
    if not has_reached(word, rules):
        return moment
    return (moment - bits(word, 7, 21) * age_unit(rules, bits(word, 2, 6))) % CLOCK


def age(now, moment):
    passed = (now - moment) % CLOCK
    return 0 if passed > CLOCK - GUARD - 1 else passed


def snapshot(word, now, rules):
    if not is_written_by_breakers(word):
        word = (bits(word, 55, 63) + 1) % 512 << 55
    moment = bits(word, 23, 54)
    shown = {
        "state": state(word), "epoch": bits(word, 55, 63), "failures": 0, "trips": bits(word, 2, 6), "in_flight": 0,
        "successes": 0, "lost": 0, "percent": None, "opened_at": None, "open_for": None, "demanded": False,
        "wait": None, "due": False,
    }  # fmt: skip

    def left(wait, moment=moment):
        return max(0, wait + GUARD - (now - moment + GUARD) % CLOCK) or None

    match shown["state"]:
        case "closed":
            shown["failures"] = bits(word, 7, 22)
        case "returning":
            reached = has_reached(word, rules)
            shown["failures"] = rules.get("consecutive_failures", 5) if reached else bits(word, 7, 22)
            shown["percent"] = 100
            if back := rules.get("gradual_return"):
                since = returning_since(word, rules)
                length, first = back["over_ms"], back["first_percent"]
                passed = min(age(now, since), length)
                shown["percent"] = (first * (length - passed) + 100 * passed) // length
                shown["wait"] = left(length, since)
        case "open":
            shown["opened_at"], shown["open_for"] = moment, open_time(bits(word, 7, 21))
            shown["demanded"] = bool(bits(word, 22, 22))
            shown["wait"] = left(shown["open_for"])
            shown["due"] = shown["wait"] is None
        case "half-open":
            shown["successes"] = bits(word, 7, 14)
            if bits(word, 0, 1) == 3:
                shown["lost"], shown["in_flight"], slots = bits(word, 15, 21) + 1, bits(word, 22, 22), 1
            else:
                shown["in_flight"] = bits(word, 15, 22)
                slots = min(rules.get("probes", 1), max(1, successes_needed(rules) - shown["successes"]))
            if shown["in_flight"] >= slots:
                lease = rules.get("probe_lease_ms", 30_000)
                shown["wait"] = left(min(lease << shown["lost"], LONGEST))
            shown["due"] = shown["wait"] is None
        case "forced open":
            shown["wait"] = 0
    return shown
