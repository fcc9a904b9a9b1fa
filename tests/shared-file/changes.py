# SPDX-License-Identifier: MIT OR Apache-2.0
"""What changes the word: the two tables of around/docs/shared-file.md, as functions from a word to the next."""

from bisect import bisect_left
from collections import namedtuple

from sharedfile import CLOCK, GUARD, bits, is_written_by_breakers, open_time, state
from shown import MOST_LASTING, age, age_unit, keeps_trips, returning_since

Fields = namedtuple("Fields", "st trips payload time epoch", defaults=(0, 0, 0, 0, 0))

SLOT = 1 << 8
BUSY = 1 << 15


def fields(word):
    return Fields(bits(word, 0, 1), bits(word, 2, 6), bits(word, 7, 22), bits(word, 23, 54), bits(word, 55, 63))


def in_flight(payload):
    return payload >> 8


def with_failures(was, count, time=None):
    return was._replace(payload=count, time=was.time if time is None else time)


HAS_REACHED = MOST_LASTING + 1


def lasting(was, now, weight, rules, since):
    """A failure of a row that must last, if it does not trip."""
    limit = rules.get("consecutive_failures", 5)
    if was.trips == 0:
        name, begun = ("row goes on", was.time) if was.payload else ("row begins", now)
        yield name, with_failures(was, min(was.payload + weight, limit), begun)
    elif was.payload < HAS_REACHED and was.payload + weight < limit:
        yield "failure", with_failures(was, was.payload + weight)
    elif was.payload < HAS_REACHED:
        units = min(age(now, since) // age_unit(rules, was.trips), MOST_LASTING)
        yield "row is reached", with_failures(was, HAS_REACHED + units, now)


def updates(was, now, weight, rules, since):
    """Changes within an epoch: names, and what the word becomes."""
    if was.st == 0:
        closed = was.trips == 0
        if rules.get("lasting_ms"):
            yield from lasting(was, now, weight, rules, since)
        else:
            yield "failure", with_failures(was, was.payload + weight)
        if "failures_within" in rules and closed:
            yield "window begins", with_failures(was, weight, now)
        yield "success", with_failures(was, 0, 0 if closed else since)
    is_half_open = was.st == 2 or was.st == 3 and was.trips > 0
    if is_half_open:
        slot = BUSY if was.st == 3 else SLOT
        yield "renewed", was._replace(time=now)
        yield "probe admitted", was._replace(payload=was.payload + slot, time=now)
        yield "late success", was._replace(payload=was.payload + 1)
        if in_flight(was.payload) >= in_flight(slot):
            yield "probe succeeded", was._replace(payload=was.payload - slot + 1)
            yield "probe ended", was._replace(payload=was.payload - slot)


def transitions(was, now, keeps):
    """Changes into the next epoch, but those that open: an open time depends on the rules."""
    held = was.payload if was.st == 3 and was.trips == 0 else 0
    is_half_open = was.st == 2 or was.st == 3 and not held
    at_least_one = max(was.trips, 1)
    if was.st == 1:
        yield "first probe", Fields(2, was.trips, SLOT, now)
    if was.st == 1 or is_half_open:
        yield "round by command", Fields(2, was.trips)
    if is_half_open:
        successes = was.payload & 0xFF
        lost = 1 if was.st == 2 else (was.payload >> 8 & 0x7F) + 2
        yield "round lost", Fields(3, at_least_one, successes | min(lost - 1, 3) << 8 | BUSY, now)
        if keeps:
            yield "returning", Fields(0, at_least_one, 0, now)
        else:
            yield "closed", Fields()
        yield "restored", Fields(2, was.trips, successes)
    if was.st == 0 and was.trips > 0:
        yield "returned", Fields()
    yield "reset", Fields()
    if held == 2:
        yield "enabled", Fields()
    if held not in (1, 4):
        yield "forced open", Fields(3, 0, 4 if held else 1)
    if held not in (2, 3):
        yield "disabled", Fields(3, 0, 3 if held else 2)
    if held == 1:
        yield "released", Fields(2)
    if held in (3, 4):
        yield "released", Fields(3, 0, 2)
        yield "enabled", Fields(3, 0, 1)


def smallest_code(wanted):
    return bisect_left(range(22_528), wanted, key=open_time)


def opens(was, then, now, own, demand, is_fixed):
    """Changes that set a deadline: by rules that open for that long at first, after a demand, in milliseconds. Fixed if
    there is neither growth nor jitter."""
    if then.st != 1:
        return
    code, demanded = then.payload & 0x7FFF, then.payload >> 15
    wanted = (then.time + open_time(code) - now) % CLOCK

    def is_exact(least):
        return code == smallest_code(wanted) and (wanted == least if is_fixed else wanted >= least)

    least = max(own, demand)
    next_epoch = then.epoch == (was.epoch + 1) % 512
    if was.st != 1 and next_epoch and then.trips == min(was.trips + 1, 31) and is_exact(least):
        if demanded == (demand > 0):
            yield "trip"
    if was.st != 1 or then.trips != was.trips or demanded != (demand > 0 or was.payload >> 15):
        return
    left = open_time(was.payload & 0x7FFF) + GUARD - (now - was.time + GUARD) % CLOCK
    is_later = wanted > max(0, left)
    if next_epoch and is_later and is_exact(least):
        yield "trip again"
    if then.epoch == was.epoch and (then.time, code) == (was.time, was.payload & 0x7FFF):
        yield "demanded"
    if then.epoch == was.epoch and is_later and is_exact(demand):
        yield "moved"


def names_of_change(before, after, now, weight, demand, is_fixed, rules):
    """The events of the tables that lead from one word to the other."""
    if not (is_written_by_breakers(before) and is_written_by_breakers(after)):
        return ["a word that no breaker writes"]
    was, then = fields(before), fields(after)
    since = returning_since(before, rules)
    names = [name for name, found in updates(was, now, weight, rules, since) if found == then]
    risen = (was.epoch + 1) % 512
    changed = transitions(was, now, keeps_trips(rules))
    names += [name for name, found in changed if found._replace(epoch=risen) == then]
    own = rules.get("open_for_ms", 5_000)
    return names + list(opens(was, then, now, own, demand, is_fixed)) + [f"from {state(before)} to {state(after)}"]
