# SPDX-License-Identifier: MIT OR Apache-2.0
"""A state of the machine: registers and memory as bytes of terms, what is known, and what has happened."""

from collections import namedtuple

from terms import TRUE, And, If, Not, Or, as_bit, concat, extract, number, variable

Event = namedtuple("Event", "kind values site", defaults=[None])
Frame = namedtuple("Frame", "entry back")

BITS = 8


class Fault(Exception):
    """The machine does something that is not modelled, or must not happen."""


class Bytes:
    """Bytes by place, each a byte of a term."""

    __slots__ = ("at", "name")

    def __init__(self, name, at=None):
        self.name, self.at = name, {} if at is None else at

    def copy(self):
        return Bytes(self.name, dict(self.at))

    def write(self, place, term):
        for k in range(term.size // BITS):
            self.at[place + k] = (term, k)

    def read(self, place, count):
        first = self.at.get(place)
        if first is not None and first[1] == 0 and first[0].size == count * BITS:
            term = first[0]
            if all(self.at.get(place + k, (None, 0))[0] is term and self.at[place + k][1] == k for k in range(1, count)):
                return term
        return concat(*[self.byte(place + k) for k in reversed(range(count))])

    def byte(self, place):
        found = self.at.get(place)
        if found is None:
            return variable(f"{self.name}_{place:x}", BITS)
        term, k = found
        return extract(term, k * BITS, BITS)


def chosen(when, one, other):
    """The bytes of one state or of another one."""
    result = Bytes(one.name, dict(one.at))
    places = one.at.keys() | other.at.keys()
    different = sorted(p for p in places if not same(one.at.get(p), other.at.get(p)))
    done = set()
    for place in different:
        if place in done:
            continue
        for begin in (place & ~7, place & ~3, place & ~1):
            count = max(length(one, begin), length(other, begin))
            if count > place - begin and count > 1:
                result.write(begin, If(when, one.read(begin, count), other.read(begin, count)))
                done.update(range(begin, begin + count))
                break
        else:
            result.write(place, If(when, one.byte(place), other.byte(place)))
    return result


def same(one, other):
    return one is not None and other is not None and one[0] is other[0] and one[1] == other[1]


def length(bytes_, place):
    """How many bytes the whole term has that begins here; 0 if none does."""
    found = bytes_.at.get(place)
    if found is None or found[1] != 0:
        return 0
    count = found[0].size // BITS
    return count if all(same(bytes_.at.get(place + k), (found[0], k)) for k in range(count)) else 0


class State:
    __slots__ = ("at", "index", "registers", "memory", "scratch", "known", "events", "frames", "exchange", "steps", "is_asked")

    def copy(self):
        new = State.__new__(State)
        new.at, new.index, new.known, new.events = self.at, self.index, self.known, self.events
        new.frames, new.exchange, new.steps, new.is_asked = self.frames, self.exchange, self.steps, self.is_asked
        new.registers, new.memory, new.scratch = self.registers.copy(), self.memory.copy(), self.scratch.copy()
        return new

    @property
    def shape(self):
        pending = self.exchange and tuple(value is None for value in self.exchange)
        return tuple((event.kind, event.site) for event in self.events), pending, self.is_asked


MOST_APART = 2
# A turn makes a few.
MOST_EVENTS = 16


def is_near(a, b):
    """Whether two ways parted so lately that one state for both is simpler than two."""
    common = 0
    while common < min(len(a.known), len(b.known)) and a.known[common] is b.known[common]:
        common += 1
    return len(a.known) + len(b.known) - 2 * common <= MOST_APART


def merged(a, b):
    """Two states at one place, as one."""
    common = 0
    while common < min(len(a.known), len(b.known)) and a.known[common] is b.known[common]:
        common += 1
    when, otherwise = And(*a.known[common:]), And(*b.known[common:])
    new = a.copy()
    either = Or(when, otherwise)
    new.known = a.known[:common] + ((either,) if either is not TRUE else ())
    new.registers = chosen(when, a.registers, b.registers)
    new.memory = chosen(when, a.memory, b.memory)
    new.scratch = chosen(when, a.scratch, b.scratch)
    new.events = tuple(
        x._replace(values=tuple(If(when, p, q) for p, q in zip(x.values, y.values)))
        for x, y in zip(a.events, b.events)
    )
    if a.exchange is not None:
        new.exchange = tuple(p if p is None else If(when, p, q) for p, q in zip(a.exchange, b.exchange))
    new.steps = max(a.steps, b.steps)
    return new


def settle(registers, when, value):
    """Flags that hold a truth become its value."""
    for term, bit in ((as_bit(when), value), (as_bit(Not(when)), 1 - value)):
        for place in [p for p, (t, _) in registers.at.items() if t is term]:
            registers.at[place] = (number(bit, BITS), 0)


def add_known(known, when):
    """What is known, with one truth more."""
    todo = [when]
    while todo:
        term = todo.pop()
        if term.op == "band":
            todo += reversed(term.args)
        elif term is not TRUE and not any(term is other for other in known):
            known += (term,)
    return known
