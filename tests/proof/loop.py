# SPDX-License-Identifier: MIT OR Apache-2.0
"""The loop: what a lost exchange leaves behind.

A turn of the loop ends with an exchange that is lost, and the next one begins right behind it, with the value that was found.
Whatever depends on other readings of the turn is forgotten there, that is, becomes any number; what a function has read
once, before the loop, may stay: the first load, and the first reading of the clock. Of all states in which one exchange was
lost, only what is the same in all of them stays. When nothing more is forgotten, all further turns are among those that were
followed: paths with any number of lost exchanges. This is how abstract interpreters treat loops (widening).
"""

from collections import namedtuple

from state import Bytes, Event, Fault
from terms import Not, Term, equal, extract, rebuilt, variable

# What is known behind a lost exchange: the bytes of registers, memory and within the instruction (`None` if forgotten), what
# is true, and the first load and reading of the clock (`None` if forgotten, and not there if none was made).
Known = namedtuple("Known", "registers memory scratch truths firsts")

MOST_TURNS = 100


class Turns:
    """All ends of a function, after any number of lost exchanges."""

    def __init__(self, machine, lasting, is_timed=False):
        """`lasting` are the names of what never changes: arguments and rules. `is_timed` keeps turns apart by the place where
        the clock was read first, which is needed if that reading matters in all turns."""
        self.machine, self.lasting, self.is_timed = machine, lasting, is_timed
        self.known, self.count, self.cut = {}, 0, []

    def ends(self, start):
        todo = [start]
        while todo:
            lost = {}
            for kind, state in self.machine.explore(todo):
                if kind == "ended":
                    yield state
                elif self.machine.can(state):
                    place = (state.at, state.index, state.frames, state.is_asked, self.clock_of(state))
                    lost.setdefault(place, []).append(state)
            todo = []
            for place, states in lost.items():
                self.cut += [s for s in states if any(e.kind == "exchange" for e in s.events)]
                turn = self.next_turn(place, states)
                if turn is not None:
                    todo.append(turn)
            self.count += len(todo)
            if self.count > MOST_TURNS:
                raise Fault("the loop does not come to rest")

    def clock_of(self, state):
        """Where the clock was read first."""
        sites = (event.site for event in state.events if event.kind == "now")
        return next(sites, None) if self.is_timed else None

    def next_turn(self, place, states):
        """The state in which the next turn begins; `None` if it was followed already."""
        before = known = self.known.get(place)
        for state in states:
            known = joined(known, self.keep(state))
        if before is not None and is_same(before, known):
            return None
        self.known[place] = known
        turn = states[-1].copy()
        variables = set(self.lasting)
        turn.known = tuple(known.truths)
        for truth in known.truths:
            variables |= truth.variables
        for name in ("registers", "memory", "scratch"):
            bytes_, kept = Bytes(name), getattr(known, name)
            for at, byte in kept.items():
                if byte is None:
                    byte = (variable(f"any_{name}_{at:x}", 8), 0)
                else:
                    variables |= byte[0].variables
                bytes_.at[at] = byte
            setattr(turn, name, bytes_)
        # Of what happened before, only the first of a kind, which may be forgotten.
        events = []
        for kind, value in known.firsts.items():
            if value is None or not value.variables <= variables:
                value = variable(f"any_{kind}", self.machine.layout.bits if kind == "load" else 32)
            events.append(Event(kind, (value,), place[-1] if kind == "now" else None))
        turn.events = (*events, Event("load", (self.anew,)))
        turn.exchange, turn.steps = None, 0
        return turn

    @property
    def anew(self):
        """The word that a turn begins with."""
        return variable("found", self.machine.layout.bits)

    @property
    def missed(self):
        """The word that a lost exchange did not find."""
        return variable("missed", self.machine.layout.bits)

    def keep(self, state):
        """What a state knows that lasts beyond this turn."""
        expected, found = state.exchange or (None, None)
        lasting, firsts = set(self.lasting), {}
        for event in state.events:
            if event.kind in ("load", "now") and event.kind not in firsts:
                firsts[event.kind] = event.values[0]
                lasting |= event.values[0].variables
        lasting -= {"found"}
        firsts = {kind: value if value.variables <= lasting else None for kind, value in firsts.items()}
        names = {}
        if found is not None:
            if found.op != "var":
                # A choice, or a value that came in pieces.
                raise Fault("an exchange finds no plain value")
            names[found.args[0]] = self.anew
            lasting -= found.variables
        substitute = Substitute(names)
        truths = {}
        # Some code compares what was found with what was expected once more, to learn that the exchange was lost.
        past = expected
        if past is not None and not self.machine.can(state, equal(expected, found)):
            truths[Not(equal(self.anew, self.missed))] = None
        else:
            past = None

        def kept(term):
            term = substitute(term)
            return term if term.variables <= lasting | {"found"} and not (
                "found" in term.variables and found is None
            ) else None

        def of(bytes_):
            result, cache = {}, {}
            for at, (term, k) in bytes_.at.items():
                if term not in cache:
                    cache[term] = self.missed if term is past else kept(term)
                if cache[term] is not None:
                    result[at] = (cache[term], k)
                else:
                    # A byte of it may still be known.
                    byte = kept(extract(term, 8 * k, 8))
                    result[at] = None if byte is None else (byte, 0)
            return result

        for truth in state.known:
            term = kept(truth)
            if term is not None:
                truths[term] = None
        return Known(of(state.registers), of(state.memory), of(state.scratch), truths, firsts)


class Substitute:
    """Terms with other terms for some variables."""

    def __init__(self, names):
        self.names, self.known = names, {}

    def __call__(self, term):
        todo = [term]
        while todo:
            this = todo[-1]
            if this in self.known:
                todo.pop()
                continue
            # An old name for the word of a turn must not be taken for the new one.
            if "found" not in this.variables and not this.variables & self.names.keys():
                self.known[this] = this
                continue
            inner = [a for a in this.args if isinstance(a, Term) and a not in self.known]
            if inner:
                todo += inner
                continue
            todo.pop()
            if this.op == "var":
                self.known[this] = self.names.get(this.args[0], variable("before_found", this.size))
                continue
            args = [self.known[a] if isinstance(a, Term) else a for a in this.args]
            self.known[this] = rebuilt(this, args)
        return self.known[term]


def joined(one, other):
    """What both know."""
    if one is None:
        return other

    def common(name):
        a, b, result = getattr(one, name), getattr(other, name), {}
        for at in a.keys() | b.keys():
            # Never written is what was there in the beginning.
            initial = (variable(f"{name}_{at:x}", 8), 0)
            x, y = a.get(at, initial), b.get(at, initial)
            is_kept = x is not None and y is not None and x[0] is y[0] and x[1] == y[1]
            result[at] = x if is_kept else None
        return result

    truths = {truth: None for truth in one.truths if truth in other.truths}
    firsts = {}
    for kind in sorted(one.firsts.keys() | other.firsts.keys()):
        x, y = (known.firsts.get(kind) for known in (one, other))
        firsts[kind] = x if x is y else None
    return Known(common("registers"), common("memory"), common("scratch"), truths, firsts)


def is_same(a, b):
    def unknown(bytes_):
        return {at for at, byte in bytes_.items() if byte is None}

    return (
        len(a.truths) == len(b.truths)
        and a.firsts.keys() == b.firsts.keys()
        and all(a.firsts[kind] is b.firsts[kind] for kind in a.firsts)
        and all(x.keys() == y.keys() and unknown(x) == unknown(y) for x, y in zip(a[:3], b[:3]))
    )
